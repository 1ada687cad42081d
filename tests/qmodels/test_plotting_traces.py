from __future__ import annotations

import io
from types import SimpleNamespace

import numpy as np
import pytest

from qmodels.errors import ModelError
from qmodels.plotting import execution_diagram, gap_sensitivity, trace_diagram
from qmodels.programs.bursts import find_bursts
from qmodels.programs.bursts import gap_sensitivity as sensitivity_of
from qmodels.programs.traces import Trace

BURSTS = SimpleNamespace(start=np.array([0.0, 6.0]), end=np.array([2.0, 7.0]), gap=1.5)


def trace(**changes):
    given = {
        "rank": [0, 1, 0, 1],
        "start": [0.0, 1.0, 6.0, 6.5],
        "end": [1.0, 2.0, 7.0, 7.0],
        "kind": ["read", "read", "write", "compute"],
        "processes": 2,
        "duration": 10.0,
        "source": "/some/where/run.csv",
    }
    return Trace(**given | changes)


def drawn(ax):
    picture = io.BytesIO()
    ax.figure.savefig(picture, format="png", dpi=50)
    return picture.getvalue()


def boxes(ax):
    """Left, right and lane of every bar."""
    found = [path.get_extents() for box in ax.collections for path in box.get_paths()]
    return sorted((round(b.x0, 9), round(b.x1, 9), round((b.y0 + b.y1) / 2, 9)) for b in found)


class TestATraceDiagram:
    def test_has_a_bar_for_each_segment_in_the_lane_of_its_rank(self):
        ax = trace_diagram(trace())
        assert boxes(ax) == [(0, 1, 0), (1, 2, 1), (6, 7, 0), (6.5, 7, 1)]
        assert [t.get_text() for t in ax.get_legend().get_texts()] == ["read", "write", "compute"]
        assert ax.get_xlim() == (0, 10)
        assert ax.get_title() == "run.csv\n4 segments on 2 ranks"
        assert drawn(ax)

    def test_shades_the_bursts_and_names_their_threshold(self):
        ax = trace_diagram(trace(), bursts=BURSTS)
        spans = [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in ax.patches]
        assert spans == [(0, 2), (6, 7)]
        assert "2 bursts with gaps over 1.5 s" in ax.get_title()
        assert drawn(ax)

    def test_closes_gaps_that_cannot_be_seen(self):
        start = np.arange(0, 9, 0.001)
        many = trace(
            rank=np.zeros(start.size, int), start=start, end=start + 0.0005, kind=["read"] * start.size
        )
        assert boxes(trace_diagram(many)) == [(0, pytest.approx(9, abs=10 / 500), 0)]

    def test_does_not_join_segments_of_different_ranks(self):
        touching = trace(
            rank=[0, 1, 2],
            start=[0.0, 0.5, 1.0],
            end=[1.0, 1.5, 2.0],
            kind=["read"] * 3,
            processes=3,
        )
        assert boxes(trace_diagram(touching)) == [(0, 1, 0), (0.5, 1.5, 1), (1, 2, 2)]

    def test_keeps_overlapping_segments_of_a_rank_whole(self):
        nested = trace(rank=[0, 0], start=[0.0, 1.0], end=[5.0, 2.0], kind=["read"] * 2)
        assert boxes(trace_diagram(nested)) == [(0, 5, 0)]

    def test_shows_an_instant(self):
        instant = trace(rank=[0], start=[3.0], end=[3.0], kind=["read"])
        ((left, right, _),) = boxes(trace_diagram(instant))
        assert left == 3.0
        assert right > left

    def test_folds_thousands_of_ranks_into_few_lanes(self):
        ranks = np.arange(10_000)
        wide = trace(
            rank=ranks,
            start=np.zeros(ranks.size),
            end=np.ones(ranks.size),
            kind=["write"] * ranks.size,
            processes=10_000,
        )
        ax = trace_diagram(wide)
        assert len(boxes(ax)) == 200
        assert ax.get_yticklabels()[-1].get_text() == "9950"

    def test_of_totals_only_is_refused(self):
        nothing = trace(rank=[], start=[], end=[], kind=[])
        with pytest.raises(ModelError, match="no segments"):
            trace_diagram(nothing)

    @pytest.mark.parametrize("what", [None, 3, "run.csv", SimpleNamespace(start=[1])])
    def test_is_all_it_draws(self, what):
        with pytest.raises(ModelError, match="Trace"):
            trace_diagram(what)
        with pytest.raises(ModelError, match="Bursts"):
            trace_diagram(trace(), bursts=SimpleNamespace(start=3))

    @pytest.mark.thorough
    @pytest.mark.parametrize("name", ["$x^2$ $", "\x1b[31mred", "a\nb", "x" * 500])
    def test_shows_any_file_name_as_plain_text(self, name):
        ax = trace_diagram(trace(source=name))
        assert drawn(ax)
        assert all(c.isprintable() or c == "\n" for c in ax.get_title())


class TestTheBurstsOfATrace:
    def test_are_drawn_over_its_segments(self):
        ax = execution_diagram(find_bursts(trace(), gap=1.0))
        assert [patch.get_x() for patch in ax.patches] == [0, 6]
        assert "2 bursts with gaps over 1 s" in ax.get_title()
        assert execution_diagram(trace()).get_title() == "run.csv\n4 segments on 2 ranks"

    def test_of_single_ranks_are_drawn_in_their_lanes(self):
        ax = execution_diagram(find_bursts(trace(), gap=1.0, by="rank"))
        shades = ax.collections[0].get_paths()
        assert len(shades) == 3
        assert drawn(ax)


class TestGapSensitivity:
    TABLE = SimpleNamespace(gaps=[0.01, 0.1, 1.0, 5.0], bursts=[47, 13, 9, 5])

    @pytest.mark.thorough
    def test_shows_the_counts_and_the_chosen_threshold(self):
        ax = gap_sensitivity(self.TABLE, chosen=0.5)
        counts, chosen = ax.lines
        assert counts.get_xydata().tolist() == [[0.01, 47], [0.1, 13], [1, 9], [5, 5]]
        assert list(chosen.get_xdata()) == [0.5, 0.5]
        assert drawn(ax)

    def test_of_counts_far_apart_is_logarithmic(self):
        table = SimpleNamespace(gaps=[0.01, 1.0], bursts=[40_000, 2])
        assert gap_sensitivity(table).get_yscale() == "log"
        assert gap_sensitivity(self.TABLE).get_yscale() == "linear"

    @pytest.mark.parametrize(
        "table",
        [None, SimpleNamespace(gaps=[1, 2], bursts=[1]), SimpleNamespace(gaps=[0], bursts=[1])],
    )
    def test_needs_thresholds_and_counts(self, table):
        with pytest.raises(ModelError, match="gaps"):
            gap_sensitivity(table)

    @pytest.mark.thorough
    def test_of_a_trace_shades_its_plateau(self):
        found = sensitivity_of(trace(), [0.0, 0.5, 2.0, 5.0])
        ax = gap_sensitivity(found, chosen=2.0)
        assert ax.lines[0].get_xydata().tolist() == [[0.5, 2], [2, 2], [5, 1]]
        assert found.plateau == (1.0, 4.0)
        assert [t.get_text() for t in ax.get_legend().get_texts()] == ["widest plateau: 2 bursts"]
        assert drawn(ax)
