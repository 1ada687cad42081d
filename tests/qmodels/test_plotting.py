from __future__ import annotations

import io

import numpy as np
import pytest
from matplotlib.figure import Figure

from qmodels.errors import ModelError
from qmodels.plotting import signature, surface_3d, surface_heatmap
from qmodels.programs import Burst, Phase, Program, WorkingSet, WorkloadMix, speedup_surface

PROGRAM = Program([Phase(4.0, Burst(96.0, sequential=1.0, per_processor=0.05))], name="solver")
HOSTILE = ["$x^2$ $", "<script>alert(1)</script>", "\x1b[31mred", "a\nb", "x" * 500, "%s {0} \\"]


def drawn(ax):
    """Render the figure, which is when matplotlib finds out what it cannot draw."""
    picture = io.BytesIO()
    ax.figure.savefig(picture, format="png", dpi=50)
    return picture.getvalue()


@pytest.mark.parametrize("draw", [surface_heatmap, surface_3d])
class TestASurface:
    def test_is_labelled_with_allotments_at_powers_of_two(self, draw):
        ax = draw(speedup_surface(PROGRAM, np.arange(1, 129), [1, 2, 3, 4, 6, 8]))
        assert drawn(ax).startswith(b"\x89PNG")
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

    def test_marks_measured_points(self):
        surface = speedup_surface(PROGRAM, [1, 2, 4], [1, 2])
        before = len(surface_heatmap(surface).collections)
        ax = surface_heatmap(surface, points=[(1, 1), (4, 2)])
        assert len(ax.collections) == before + 1
        assert any(
            np.array_equal(c.get_offsets(), [[0.0, 0.0], [2.0, 1.0]]) for c in ax.collections
        )
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
        assert [text.get_text() for text in ax.texts] == ["1", "2", "3", "4"]
        assert [t.get_text() for t in ax.get_legend().get_texts()] == ["I/O", "computation"]

    @pytest.mark.parametrize("name", HOSTILE)
    def test_shows_any_name_as_plain_text(self, name):
        assert drawn(signature(Program([Phase(1.0, 1.0)], name=name)))

    def test_is_not_to_be_had_of_a_mixture(self):
        with pytest.raises(ModelError, match="one by one"):
            signature(WorkloadMix([PROGRAM]))
