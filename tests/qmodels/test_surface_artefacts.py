"""One number for one thing: every artefact of a surface of measured runs is read, and compared."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

from qmodels import plotting
from qmodels.commands import surface_files
from qmodels.plotting import fonts
from tests.command import called, result_of
from tests.qmodels.test_scaling_misfit import stepped

BUDGET = 44
ASKED = ("--processors", "1,4,8,16,64", "--disks", "1,4,8", "--budget", BUDGET, "--target", "64,8")


@pytest.fixture(scope="module", params=[0.3, 0.0], ids=["step", "no step"])
def artefacts(kept_fits, tmp_path_factory, request):
    """Text, JSON, tables, page and titles of the figures of a program with a step, or none."""
    folder = tmp_path_factory.mktemp("surface")
    stepped(request.param)[0].frame.to_csv(folder / "runs.csv", index=False)
    titles = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fonts, "DPI", 30)
        drawn = surface_files._figures

        def noted(found):
            for name, ax in drawn(found):
                titles[name] = ax.get_title()
                yield name, ax

        patch.setattr(surface_files, "_figures", noted)
        done = called("surface", folder / "runs.csv", *ASKED, "-o", folder / "out")
    assert done.returncode == 0, done.stderr
    record = result_of(called("surface", folder / "runs.csv", *ASKED, "--json").stdout)
    page = (folder / "out" / "surface.html").read_text(encoding="utf-8")
    data = json.loads(page.partition('type="application/json">')[2].partition("</script>")[0])
    tables = {path.stem: pd.read_csv(path) for path in (folder / "out").glob("*.csv")}
    return {
        "text": done.stdout,
        "record": record,
        "page": page,
        "data": data,
        "titles": titles,
        "step": request.param,
        **tables,
    }


def grid(frame, column):
    return frame.pivot_table(index="processors", columns="disks", values=column).to_numpy()


def cells(text, title):
    """Rows of numbers of a block of the text, by its first line."""
    block = text.partition(title)[2].partition("\n\n")[0].splitlines()[1:]
    return [[float(x) for x in re.findall(r"-?\d+\.?\d*(?:e[-+]?\d+)?", row)] for row in block]


@pytest.mark.thorough
class TestSpeedups:
    def test_are_one_number_in_every_artefact(self, artefacts):
        """(64,8) was 12.35 in the terminal and in forecast.csv, 12.27 on the page and drawn."""
        expected = grid(artefacts["forecast"], "speedup")
        assert grid(artefacts["surface"], "speedup") == pytest.approx(expected, rel=1e-9)
        assert np.array(artefacts["record"]["speedup"]) == pytest.approx(expected, rel=1e-9)
        assert np.array(artefacts["data"]["speedup"]) == pytest.approx(expected, rel=1e-5)
        told = cells(artefacts["text"], "processors down, disks across")
        rows = [row for row in told if len(row) == 1 + 3 * expected.shape[1]]
        # of each cell the speedup and the ends of its interval
        assert np.array(rows)[:, 1::3] == pytest.approx(expected, rel=6e-4)

    def test_have_one_interval_in_every_artefact(self, artefacts):
        for end in ("low", "high"):
            expected = grid(artefacts["forecast"], f"speedup_{end}")
            assert np.array(artefacts["data"][end]) == pytest.approx(expected, rel=1e-5)

    def test_of_the_target_and_the_best_are_those_of_the_surface(self, artefacts):
        record, forecast = artefacts["record"], artefacts["forecast"]
        at = forecast.set_index(["processors", "disks"]).loc[(64, 8)]
        for name in ("time", "time_low", "time_high", "speedup", "speedup_low", "speedup_high"):
            assert record["fit"]["target"][name] == pytest.approx(at[name], rel=1e-9)
        assert f"disks: speedup {at['speedup']:.4g}, {at['time']:.4g} s" in artefacts["text"]
        assert record["marginal"]["speedup"] == pytest.approx(at["speedup"], rel=1e-9)
        best, last = record["best"], artefacts["path"].iloc[-1]
        assert f"speedup {best['speedup']:.4g}, {best['mean_time']:.4g} s" in artefacts["text"]
        assert best["speedup"] == pytest.approx(record["fit"]["best"]["speedup"], rel=1e-9)
        assert last["speedup"] == pytest.approx(record["path"][-1]["speedup"], rel=1e-9)

    def test_of_the_figure_are_those_of_the_tables(self, artefacts):
        surface = artefacts["surface"]
        inside = surface[(surface["processors"] <= 16) & (surface["disks"] <= 4)]["speedup"].max()
        said = artefacts["titles"]["surface"]
        assert f"within the runs {inside:.4g} at 16 processors, 4 disks" in said
        assert f"if the law holds, {surface['speedup'].max():.4g} at" in said


@pytest.mark.thorough
def test_the_time_on_one_processor_is_one_number(artefacts):
    on_one = artefacts["forecast"].iloc[0]
    assert (on_one["processors"], on_one["disks"]) == (1, 1)
    assert f"phase, {on_one['time']:.6g} s on one processor" in artefacts["text"]
    assert artefacts["record"]["seconds_on_one"] == pytest.approx(on_one["time"], rel=1e-9)
    assert artefacts["data"]["time"][0][0] == pytest.approx(on_one["time"], rel=1e-5)


@pytest.mark.thorough
class TestWhatWasMeasured:
    def test_stands_beside_what_is_fitted_in_every_artefact(self, artefacts):
        measured = artefacts["measured"]
        rows = artefacts["record"]["fit"]["measured"]
        for name in ("time", "measured_time", "speedup", "measured_speedup"):
            assert [row[name] for row in rows] == pytest.approx(measured[name].tolist(), rel=1e-9)
        page = [point[4] for point in artefacts["data"]["measured"]]
        assert page == pytest.approx(measured["measured_time"].tolist(), rel=1e-9)
        table = cells(artefacts["text"], "measured beside fitted")[1:]
        known = measured.set_index(["processors", "disks"])
        assert len(table) == 12
        for p, d, seen, fitted, *_ in table:
            assert seen == pytest.approx(known.loc[(p, d), "measured_time"], rel=6e-4)
            assert fitted == pytest.approx(known.loc[(p, d), "time"], rel=6e-4)

    def test_is_marked_alike_where_it_contradicts_the_law(self, artefacts):
        measured = artefacts["measured"]
        odd = measured["contradicts"].tolist()
        assert any(odd) == (artefacts["step"] > 0.0)
        assert [row["contradicts"] for row in artefacts["record"]["fit"]["measured"]] == odd
        assert [point[5] for point in artefacts["data"]["measured"]] == odd
        assert artefacts["text"].count("! contradicts the law") == sum(odd)
        assert artefacts["page"].count(">contradicts the law</td>") == sum(odd)
        assert ("red: contradicts the law" in artefacts["titles"]["surface"]) == any(odd)

    def test_is_warned_of_on_the_page_as_in_the_terminal(self, artefacts):
        fit = artefacts["record"]["fit"]
        warnings = [*fit["cliffs"], *fit["contradictions"]]
        assert len(warnings) == (2 if artefacts["step"] > 0.0 else 0)
        for text in warnings:
            assert text in artefacts["text"]
            assert f"<li>{text}</li>" in artefacts["page"]


@pytest.mark.thorough
class TestAFirstAnswer:
    def test_is_within_the_runs(self, artefacts):
        """It led with 28 processors and 16 disks, where the runs had at most 4 disks."""
        text = artefacts["text"]
        assert text.index("best within the runs") < text.index("beyond the runs, if the law holds")
        assert artefacts["record"]["best"]["disks"] <= 4
        assert artefacts["record"]["beyond"]["disks"] > 4

    def test_asks_for_a_run_that_the_budget_buys(self, artefacts):
        rows = artefacts["record"]["fit"]["next_run"]["candidates"]
        assert max(row["processors"] + row["disks"] for row in rows) <= BUDGET

    def test_marks_the_steps_of_the_path_that_are_beyond(self, artefacts):
        path = artefacts["path"]
        beyond = (path["processors"] > 16) | (path["disks"] > 4)
        assert path["extrapolated"].tolist() == beyond.tolist()
        assert [step["extrapolated"] for step in artefacts["record"]["path"]] == beyond.tolist()
        assert "* beyond the runs" in artefacts["text"]
        assert "outside the dashed line" in artefacts["titles"]["path"]


def test_contradictions_are_one_for_each_point():
    from qmodels.errors import ModelError
    from qmodels.programs import Phase, Program, speedup_surface

    surface = speedup_surface(Program([Phase(1.0, 9.0)]), [1, 4, 16], [1, 2, 4])
    with pytest.raises(ModelError, match="1 of True and False"):
        plotting.surface_heatmap(surface, points=[(4, 2)], contradicted=[True, False])
