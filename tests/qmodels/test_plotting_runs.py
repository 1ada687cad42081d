from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest

from qmodels.errors import ModelError
from qmodels.io.runs import COLUMNS, RunTable
from qmodels.plotting import fitted_times
from qmodels.programs import fit_runs


def fitted(disks, name="solver"):
    rows = [
        (name, 1, kind, p, d, seconds)
        for p in (1, 2, 4, 8)
        for d in disks
        for kind, seconds in (("io", 8 / min(d, p)), ("cpu", 1 + 90 / p))
    ]
    return fit_runs(RunTable(pd.DataFrame(rows, columns=list(COLUMNS))), draws=200)[name]


@pytest.fixture(scope="module")
def known():
    return fitted((1, 2, 4))


@pytest.fixture(scope="module")
def one_disk():
    return fitted((1,))


def drawn(ax):
    picture = io.BytesIO()
    ax.figure.savefig(picture, format="png", dpi=50)
    return picture.getvalue()


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


class TestFittedTimes:
    @pytest.mark.thorough
    def test_have_a_line_and_a_band_for_each_number_of_disks(self, known):
        ax = fitted_times(known)
        assert labels(ax) == ["1 disk", "2 disks", "4 disks"]
        assert len(ax.collections) == 3
        assert drawn(ax)

    def test_are_those_that_the_fit_predicts(self, known):
        ax = fitted_times(known, disks=[2], level=0.8)
        solid, dashed = (line for line in ax.lines if line.get_linestyle() in ("-", "--"))
        p = 2.0 ** np.concatenate([solid.get_xdata(), dashed.get_xdata()])
        shown = np.ma.concatenate([solid.get_ydata(), dashed.get_ydata()]).filled(0.0)
        assert shown == pytest.approx(known.predict(p, 2.0, 0.8).time.filled(-1.0))
        assert (p.min(), p.max()) == pytest.approx((1, 32))

    @pytest.mark.thorough
    def test_of_runs_of_several_sizes_say_of_which(self):
        rows = [("solver", 1, "cpu", p, 1, w * 90 / p, w) for p in (1, 2, 4) for w in (1, 2)]
        table = RunTable(pd.DataFrame(rows, columns=[*COLUMNS, "work"]))
        ax = fitted_times(fit_runs(table, work=1.5, draws=200)["solver"])
        assert "solver, work 1.5\n" in ax.get_title()

    def test_have_the_band_that_the_fit_predicts(self, known):
        (band,) = fitted_times(known, disks=[16], level=0.8).collections
        corners = band.get_paths()[0].vertices
        sure = known.predict(32.0, 16.0, 0.8)
        at_end = np.unique(corners[corners[:, 0] == corners[:, 0].max()][:, 1])
        assert at_end == pytest.approx([sure.time_low[0], sure.time_high[0]])
        assert sure.time_low[0] < sure.time_high[0]

    def test_are_dashed_where_no_run_reaches(self, known):
        ax = fitted_times(known, disks=[2, 16])
        inside, outside, beyond_in_p, beyond_in_d = (line for line in ax.lines if len(line.get_xdata()) > 2)
        assert [x.get_linestyle() for x in (inside, outside, beyond_in_p, beyond_in_d)] == [
            "-",
            "--",
            "--",
            "--",
        ]
        assert max(inside.get_xdata()) == pytest.approx(3)
        assert min(outside.get_xdata()) == pytest.approx(3)

    @pytest.mark.thorough
    def test_have_no_line_where_the_runs_do_not_tell(self, one_disk):
        ax = fitted_times(one_disk, disks=[1, 4])
        assert labels(ax) == ["1 disk", "4 disks: the runs do not tell"]
        assert len(ax.collections) == 2
        drawn_lines = [line for line in ax.lines if np.ma.count(line.get_ydata(orig=True)) > 2]
        assert len(drawn_lines) == 2
        assert drawn(ax)

    def test_show_the_measured_times_of_their_disks(self, known):
        ax = fitted_times(known, measured=[(4, 2, 30.0), (4, 4, 25.0), (64, 2, 9.0)], disks=[2])
        (points,) = (line for line in ax.lines if line.get_marker() == "s" or line.get_marker() == "o")
        assert points.get_xydata().tolist() == [[2.0, 30.0]]

    def test_of_many_disks_are_thinned(self):
        assert len(labels(fitted_times(fitted(range(1, 9))))) <= 4

    @pytest.mark.thorough
    @pytest.mark.parametrize("name", ["$x^2$ $", "<b>", "%s {0}"])
    def test_show_any_name_as_plain_text(self, name):
        assert drawn(fitted_times(fitted((1, 2), name)))

    @pytest.mark.parametrize(
        "given",
        [
            {"disks": []},
            {"disks": [0]},
            {"disks": [np.nan]},
            {"disks": "ab"},
            {"disks": [1, 2, 3, 4, 5]},
            {"most": 1},
            {"most": np.nan},
            {"most": -3},
            {"level": 1.0},
            {"level": np.nan},
            {"measured": [(1, 1)]},
            {"measured": [(1, 1, 0)]},
        ],
    )
    def test_refuse_nonsense(self, known, given):
        with pytest.raises(ModelError):
            fitted_times(known, **given)

    @pytest.mark.parametrize("what", [None, 3, {"solver": 1}])
    def test_are_of_a_fit(self, what):
        with pytest.raises(ModelError, match="FittedProgram"):
            fitted_times(what)
