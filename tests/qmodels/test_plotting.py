from __future__ import annotations

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from qmodels.errors import ModelError
from qmodels.plotting import (
    allotment_path,
    efficiency_contours,
    execution_diagram,
    signature,
    surface_3d,
    surface_heatmap,
)
from qmodels.programs import (
    Burst,
    Geometric,
    Phase,
    Program,
    WorkingSet,
    WorkloadMix,
    allotments,
    speedup_surface,
)
from tests.pictures import drawn_once

PROGRAM = Program([Phase(4.0, Burst(96.0, sequential=1.0, per_processor=0.05))], name="solver")
HOSTILE = ["$x^2$ $", "<script>alert(1)</script>", "\x1b[31mred", "a\nb", "x" * 500, "%s {0} \\"]


def drawn(ax):
    """Render the figure, which is when matplotlib finds out what it cannot draw."""
    return drawn_once(ax.figure, dpi=50)


@pytest.mark.parametrize("draw", [surface_heatmap, surface_3d, efficiency_contours])
class TestASurface:
    @pytest.mark.thorough
    def test_is_labelled_with_allotments_at_powers_of_two(self, draw):
        ax = draw(speedup_surface(PROGRAM, np.arange(1, 129), [1, 2, 3, 4, 6, 8]))
        assert drawn(ax)
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("processors", "disks")
        labels = [label.get_text() for label in ax.get_xticklabels()]
        assert labels == ["1", "2", "4", "8", "16", "32", "64", "128"]
        assert ax.get_xticks() == pytest.approx(np.arange(8.0))
        assert [label.get_text() for label in ax.get_yticklabels()] == ["1", "2", "4", "8"]
        assert "solver" in ax.get_title()

    def test_of_a_huge_machine_has_few_enough_ticks_to_read(self, draw):
        ax = draw(speedup_surface(PROGRAM, 2.0 ** np.arange(0, 31), [1, 2]))
        assert 4 <= len(ax.get_xticks()) <= 9

    def test_without_relief_is_drawn_all_the_same(self, draw):
        flat = Program([Phase(Burst(1.0, law="1"), Burst(1.0, law="1"))])
        assert drawn(draw(speedup_surface(flat, [1, 2, 4], [1, 3])))

    @pytest.mark.thorough
    @pytest.mark.parametrize("name", HOSTILE)
    def test_shows_any_name_as_plain_text(self, draw, name):
        program = Program([Phase(1.0, 1.0)], name=name)
        ax = draw(speedup_surface(program, [1, 2], [1, 2]))
        assert drawn(ax)
        title = ax.get_title()
        assert all(c.isprintable() or c == "\n" for c in title)
        assert len(title) < 150

    def test_of_one_line_of_allotments_is_refused(self, draw):
        with pytest.raises(ModelError, match="no area"):
            draw(speedup_surface(PROGRAM, [1, 2, 4], [1]))

    @pytest.mark.parametrize("surface", [None, 3, PROGRAM, np.ones((3, 3))])
    def test_is_all_it_draws(self, draw, surface):
        with pytest.raises(ModelError, match="SpeedupSurface"):
            draw(surface)


class TestAMap:
    def test_is_drawn_where_it_is_told(self):
        figure = Figure()
        ax = figure.add_subplot()
        surface = speedup_surface(PROGRAM, [1, 2, 4], [1, 2])
        assert surface_heatmap(surface, ax=ax) is ax
        assert surface.plot(figure.add_subplot()).figure is figure

    def test_marks_the_largest_speedup(self):
        surface = speedup_surface(PROGRAM, np.arange(1, 129), [1, 2, 4, 8])
        ax = surface_heatmap(surface)
        best = surface.best()
        *_, star = ax.collections
        (at,) = np.asarray(star.get_offsets()).tolist()
        assert at == pytest.approx([np.log2(best.processors), np.log2(best.disks)])
        assert f"{best.processors:g} processors, 8 disks" in ax.get_title()

    def test_has_contours_of_its_speedups(self):
        surface = speedup_surface(PROGRAM, np.arange(1, 129), [1, 2, 4, 8])
        labels = {float(text.get_text()) for text in surface_heatmap(surface).texts}
        assert labels
        assert all(1 <= label <= surface.speedup.max() for label in labels)

    def test_of_a_narrow_range_still_has_contours(self):
        program = Program([Phase(Burst(20.0, law="1"), 1.0)])
        ax = surface_heatmap(speedup_surface(program, [1, 2, 4, 8], [1, 2, 3]))
        assert len({text.get_text() for text in ax.texts}) >= 3

    @pytest.mark.thorough
    def test_marks_measured_points(self):
        surface = speedup_surface(PROGRAM, [1, 2, 4], [1, 2])
        before = len(surface_heatmap(surface).collections)
        ax = surface_heatmap(surface, points=[(1, 1), (4, 2)])
        assert len(ax.collections) == before + 1
        assert any(np.array_equal(c.get_offsets(), [[0.0, 0.0], [2.0, 1.0]]) for c in ax.collections)
        assert drawn(ax)

    @pytest.mark.parametrize(
        "points", [[], [1, 2], [(0, 1)], [(1, -1)], [(1, np.nan)], [(1, 2, 3)], "ab", 3, [None]]
    )
    def test_refuses_points_that_are_none(self, points):
        with pytest.raises(ModelError, match="points"):
            surface_heatmap(speedup_surface(PROGRAM, [1, 2], [1, 2]), points=points)

    def test_leaves_no_global_figure_behind(self):
        from matplotlib import pyplot as plt

        surface_heatmap(speedup_surface(PROGRAM, [1, 2], [1, 2]))
        assert plt.get_fignums() == []


class TestTheMeasuredRegion:
    SURFACE = speedup_surface(PROGRAM, [1, 2, 4, 8, 16], [1, 2, 4, 8])
    POINTS = ((1, 1), (4, 1), (1, 2), (4, 2))

    @pytest.mark.thorough
    def test_is_boxed_on_a_map_that_reaches_beyond_it(self):
        ax = surface_heatmap(self.SURFACE, points=self.POINTS)
        (box,) = ax.lines
        x, y = np.asarray(box.get_xdata()), np.asarray(box.get_ydata())
        # A hair's breadth outside the points, which lie from 0 to 2 and from 0 to 1.
        assert -0.1 < x.min() < 0 < 2 < x.max() < 2.1
        assert -0.1 < y.min() < 0 < 1 < y.max() < 1.1
        assert "extrapolated outside the dashed line" in ax.get_title()
        assert ax.get_xlim() == pytest.approx((0, 4))
        assert drawn(ax)

    def test_is_not_boxed_where_it_is_all_there_is(self):
        ax = surface_heatmap(speedup_surface(PROGRAM, [1, 2, 4], [1, 2]), points=self.POINTS)
        assert not ax.lines
        assert "extrapolated" not in ax.get_title()

    def test_of_runs_with_one_number_of_disks_is_a_strip(self):
        ax = surface_heatmap(self.SURFACE, points=[(1, 2), (8, 2)])
        (box,) = ax.lines
        assert 0 < np.ptp(box.get_ydata()) < 0.5

    def test_reaches_beyond_the_map_without_points_outside_its_frame(self):
        ax = surface_heatmap(self.SURFACE, points=[(2, 2), (64, 2), (4, 32)])
        offsets = [np.asarray(c.get_offsets()).tolist() for c in ax.collections]
        assert [[1.0, 1.0]] in offsets
        assert ax.get_xlim() == pytest.approx((0, 4))

    def test_is_solid_on_a_body_that_is_faint_elsewhere(self):
        ax = surface_3d(self.SURFACE, points=self.POINTS)
        assert "faint: extrapolated" in ax.get_title()
        assert drawn(ax)
        (body,) = [c for c in ax.collections if len(np.atleast_2d(c.get_facecolor())) > 1]
        opaque = np.asarray(body.get_facecolor())[:, 3] == 1.0
        assert np.count_nonzero(opaque) == 2 * 1  # cells from 1 to 4 processors, 1 to 2 disks

    def test_joins_a_measured_speedup_to_the_surface(self):
        ax = surface_3d(self.SURFACE, points=[(4, 2, 9.0)])
        (pin,) = ax.lines
        x, y, z = pin.get_data_3d()
        assert (list(x), list(y)) == ([2.0, 2.0], [1.0, 1.0])
        assert list(z) == pytest.approx([self.SURFACE.speedup[2, 1], 9.0])

    def test_leaves_out_points_that_lie_off_the_body(self):
        ax = surface_3d(self.SURFACE, points=[(4, 2), (64, 2)])
        assert len(ax.lines) == 1

    @pytest.mark.parametrize("points", [[], [(1,)], [(0, 1)], [(1, 1, np.nan)], "ab", [None]])
    def test_is_no_nonsense(self, points):
        with pytest.raises(ModelError, match="points"):
            surface_3d(self.SURFACE, points=points)


class TestEfficiency:
    @pytest.mark.thorough
    def test_is_drawn_for_any_price(self):
        surface = speedup_surface(PROGRAM, 2.0 ** np.arange(8), [1, 2, 4, 8])
        for g in ("p*d", "p", "p+d", lambda p, d: p + 4 * d):
            ax = efficiency_contours(surface, g=g)
            knee = surface.best("efficacy", g)
            (at,) = np.asarray(ax.collections[-1].get_offsets()).tolist()
            assert at == pytest.approx([np.log2(knee.processors), np.log2(knee.disks)])
            assert f"largest efficacy {knee.value:.4g}" in ax.get_title()
            assert drawn(ax)

    def test_has_its_star_where_it_was_measured(self):
        """Issue 32, point 9: the first answer is no extrapolation."""
        surface = speedup_surface(PROGRAM, 2.0 ** np.arange(8), [1, 2, 4, 8])
        assert surface.best("efficacy").processors > 8
        ax = efficiency_contours(surface, points=[(2, 1), (8, 2)])
        (at,) = np.asarray(ax.collections[-1].get_offsets()).tolist()
        assert 1.0 <= at[0] <= 3.0
        assert at[1] <= 1.0
        assert "largest efficacy within the runs" in ax.get_title()

    def test_has_lines_of_round_efficiencies_only(self):
        surface = speedup_surface(PROGRAM, 2.0 ** np.arange(8), [1, 2, 4, 8])
        texts = [text.get_text() for text in efficiency_contours(surface).texts]
        assert all(text.endswith(" %") for text in texts)
        labels = {float(text.removesuffix(" %")) for text in texts}
        assert labels <= {1, 2, 5, *range(10, 100, 10)}
        assert len(labels) >= 3

    def test_refuses_an_unknown_price(self):
        with pytest.raises(ModelError, match="g must be"):
            efficiency_contours(speedup_surface(PROGRAM, [1, 2], [1, 2]), g="q")


def steps(budgets, processors, disks):
    rows = zip(budgets, processors, disks, strict=True)
    return SimpleNamespace(
        steps=[SimpleNamespace(budget=b, price=b, processors=p, disks=d) for b, p, d in rows]
    )


class TestAPath:
    PATH = steps([2, 3, 6, 12, 13, 24], [1, 1, 4, 8, 8, 16], [1, 1, 2, 4, 4, 8])

    def test_turns_where_the_allotment_changes_and_says_from_which_budget(self):
        surface = speedup_surface(PROGRAM, [1, 2, 4, 8, 16], [1, 2, 4, 8])
        ax = allotment_path(self.PATH, surface=surface)
        assert drawn(ax)
        (line,) = ax.lines
        assert line.get_xydata().tolist() == [[0, 0], [2, 1], [3, 2], [4, 3]]
        assert [text.get_text() for text in ax.texts] == ["24", "2", "6", "12"]
        assert "solver" in ax.get_title()

    def test_is_drawn_without_a_surface_too(self):
        ax = allotment_path(self.PATH)
        assert [text.get_text() for text in ax.texts] == ["24", "2", "6", "12"]
        assert [t.get_text() for t in ax.get_xticklabels()] == ["1", "2", "4", "8", "16"]

    def test_leaves_labels_out_that_would_cover_each_other(self):
        crowd = steps(np.arange(1, 201), np.arange(1, 201), np.ones(200))
        ax = allotment_path(crowd)
        spots = sorted(text.xy[0] for text in ax.texts)
        assert 3 < len(spots) < 15
        assert np.diff(spots).min() > 0.5

    def test_has_no_label_on_that_of_its_end(self):
        ax = allotment_path(steps([2, 34, 1020, 1600], [1, 16, 77, 128], [1, 32, 32, 32]))
        renderer = FigureCanvasAgg(ax.figure).get_renderer()
        boxes = [text.get_window_extent(renderer) for text in ax.texts]
        assert len(boxes) > 2
        assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))

    def test_that_stays_where_it_is_can_be_drawn(self):
        assert drawn(allotment_path(steps([5, 6], [4, 4], [2, 2])))

    def test_of_a_program_is_drawn_as_it_is_found(self):
        found = allotments.allotment_path(PROGRAM, [3, 8, 32, 128], disk_price=2.0)
        (line,) = allotment_path(found).lines
        at = 2.0 ** line.get_xydata()
        assert at.tolist() == [
            [pytest.approx(step.processors), pytest.approx(step.disks)] for step in found.steps
        ]

    @pytest.mark.parametrize("path", [None, 3, PROGRAM, steps([], [], [])])
    def test_is_all_it_draws(self, path):
        with pytest.raises(ModelError, match="path"):
            allotment_path(path)


@pytest.mark.parametrize("ax", [3, "ax", Figure()])
def test_figures_are_drawn_on_axes_only(ax):
    with pytest.raises(ModelError, match="Axes"):
        surface_heatmap(speedup_surface(PROGRAM, [1, 2], [1, 2]), ax=ax)


def test_a_measured_point_lies_on_the_label_of_a_line_not_under_it():
    surface = speedup_surface(Program([Phase(io=1.0, cpu=10.0)]), [1, 2, 4, 8], [1, 2, 4])
    ax = surface_heatmap(surface, points=[(2, 2)])
    points = next(each for each in ax.collections if np.array_equal(each.get_offsets(), [[1.0, 1.0]]))
    assert ax.texts
    assert max(text.get_zorder() for text in ax.texts) < points.get_zorder()


def test_a_body_is_not_drawn_on_a_flat_axes():
    with pytest.raises(ModelError, match="flat"):
        surface_3d(speedup_surface(PROGRAM, [1, 2], [1, 2]), ax=Figure().add_subplot())


class TestASignature:
    def test_shows_io_and_computation_of_every_phase(self):
        program = Program([Phase(0.0, 1.0), WorkingSet(2, [Phase(1.0, 2.0)]), Phase(3.0, 0.0)])
        ax = signature(program)
        assert drawn(ax)
        io, cpu = (np.array([bar.get_height() for bar in box]) for box in ax.containers)
        assert io == pytest.approx([0.0, 1 / 3, 1 / 3, 1.0])
        assert io + cpu == pytest.approx(np.ones(4))
        widths = [bar.get_width() for bar in ax.containers[0]]
        assert widths == pytest.approx([0.1, 0.3, 0.3, 0.3])
        assert [text.get_text() for text in ax.texts] == [
            "1",
            "2",
            "3",
            "4",
            "working set of 2 phases",
        ]
        assert [t.get_text() for t in ax.get_legend().get_texts()] == ["I/O", "computation"]

    @pytest.mark.thorough(first=1)
    @pytest.mark.parametrize("name", HOSTILE)
    def test_shows_any_name_as_plain_text(self, name):
        assert drawn(signature(Program([Phase(1.0, 1.0)], name=name)))

    def test_is_not_to_be_had_of_a_mixture(self):
        with pytest.raises(ModelError, match="one by one"):
            signature(WorkloadMix([PROGRAM]))

    @pytest.mark.thorough
    def test_brackets_working_sets_of_several_phases(self):
        """Figure 2 of the source: three phases alike, then two, between single ones."""
        sets = [
            Phase(0, 4),
            Phase(8, 4),
            WorkingSet(3, [Phase(4, 8)]),
            WorkingSet(2, [Phase(5, 5)]),
        ]
        program = Program([*sets, Phase(8, 2)])
        for ax in (signature(program), execution_diagram(program)):
            ends = [line.get_xdata()[[0, -1]] for line in map(with_arrays, ax.lines)]
            assert np.concatenate(ends) == pytest.approx(np.array([16, 52, 52, 72]) / 82, abs=0.003)
            texts = [text.get_text() for text in ax.texts]
            assert texts[-2:] == ["working set of 3 phases", "2 phases"]
            assert drawn(ax)

    def test_names_the_turns_of_a_group_of_phases(self):
        ax = signature(Program([WorkingSet(3, [Phase(1, 1), Phase(2, 1)]), Phase(1, 0)]))
        assert ax.texts[-1].get_text() == "working set of 3 \u00d7 2 phases"

    def test_is_not_bracketed_where_the_number_of_phases_is_random(self):
        program = Program([WorkingSet(2, [Phase(1.0, 1.0)])], "", Geometric(3.0))
        assert not signature(program).lines


def with_arrays(line):
    line.set_data(*map(np.asarray, line.get_data()))
    return line


class TestAnExecutionDiagram:
    def test_shows_the_bursts_in_turn_on_the_allotment(self):
        program = Program([Phase(4.0, 12.0), Phase(2.0, 8.0)])
        ax = execution_diagram(program, p=4, d=2)
        assert drawn(ax)
        io, cpu = ([path.get_extents() for path in box.get_paths()] for box in ax.collections[:2])
        assert [(b.x0, b.x1) for b in io] == [(0, 2), (5, 6)]
        assert [(b.x0, b.x1) for b in cpu] == [(2, 5), (6, 8)]
        assert all(b.y0 > 0.5 for b in io)
        assert all(b.y1 < 0.5 for b in cpu)
        assert ax.get_xlabel() == "execution time on 4 processors and 2 disks [s]"
        assert "2 phases, 38% of 8 s in I/O" in ax.get_title()

    def test_leaves_out_bursts_that_take_no_time(self):
        ax = execution_diagram(Program([Phase(0.0, 1.0), Phase(1.0, 0.0)]))
        assert [len(box.get_paths()) for box in ax.collections[:2]] == [1, 1]

    def test_of_very_many_phases_stays_small(self):
        ax = execution_diagram(Program([WorkingSet(100_000, [Phase(1.0, 1.0)])]))
        assert sum(len(box.get_paths()) for box in ax.collections) <= 4000
        assert drawn(ax)

    @pytest.mark.thorough(first=1)
    @pytest.mark.parametrize("name", HOSTILE)
    def test_shows_any_name_as_plain_text(self, name):
        assert drawn(execution_diagram(Program([Phase(1.0, 1.0)], name=name)))

    @pytest.mark.parametrize("what", [None, 3, WorkloadMix([PROGRAM])])
    def test_is_not_to_be_had_of_anything_else(self, what):
        with pytest.raises(ModelError, match="only a Program"):
            execution_diagram(what)

    @pytest.mark.parametrize("p", [0, -1, np.nan, np.inf, None, "2", True])
    def test_is_for_an_allotment(self, p):
        with pytest.raises(ModelError):
            execution_diagram(PROGRAM, p=p)


def test_a_panel_without_curves_has_no_legend_and_one_with_patches_of_its_own_has():
    from matplotlib.patches import Patch

    from qmodels.plotting import response_curves
    from qmodels.plotting.style import set_legend

    ax = response_curves({})
    assert ax.get_legend() is None
    set_legend(ax, handles=[Patch(label="$x$")])
    (text,) = ax.get_legend().get_texts()
    assert (text.get_text(), text.get_parse_math()) == ("$x$", False)
