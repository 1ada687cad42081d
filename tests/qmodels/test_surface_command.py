from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import qmodels.cli
from qmodels.commands import surface as surface_command
from qmodels.errors import ModelError
from qmodels.io.extrap import write_extrap
from qmodels.io.runs import read_runs
from qmodels.io.subjects import read_subject
from qmodels.pages import surface as interactive
from qmodels.plotting import fonts
from qmodels.programs import fit_runs, speedup_surface
from qmodels.programs.allotments import best_allotment
from qmodels.programs.profiles import PROFILES, profile
from tests.command import result_of

pytestmark = pytest.mark.usefixtures("kept_fits")

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
TRACE = "rank,start,end,kind\n" + "".join(
    f"{rank},{start + rank / 10},{start + 2 + rank / 10},write\n"
    for start in (0, 20, 40, 60)
    for rank in (0, 1)
)
MACHINE = """
[machine]
processors = 24
disks = 6
min_processors = 1
[[policy]]
kind = "SP"
processor_partitions = [1]
disk_partitions = [1]
[study]
loads = [0.1]
"""
TWO = """
[[program]]
name = "one"
io = { seconds = 1.0 }
cpu = { seconds = 9.0 }
[[program]]
name = "two"
io = { seconds = 5.0 }
cpu = { seconds = 5.0 }
"""


def _register(app):
    surface_command.register(app)
    app.command("other")(lambda: None)  # a lone command would be the whole program


class Plugin:
    """An entry point, whether or not the package was installed with it."""

    def load(self):
        return _register


@pytest.fixture
def run(monkeypatch, capsys):
    """Return what the command prints to both streams, and its exit code."""
    monkeypatch.setattr(qmodels.cli, "entry_points", lambda group: [Plugin()])

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["qmodels", "surface", *map(str, arguments)])
        # Every call of main registers the plugins again, and the parser of all is slow.
        monkeypatch.setattr(qmodels.cli.app, "registered_commands", [])
        with pytest.raises(SystemExit) as stop:
            qmodels.cli.main()
        return *capsys.readouterr(), stop.value.code or 0

    return command


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "run.csv"
    path.write_text(TRACE)
    return path


@pytest.fixture
def runs(tmp_path):
    """I/O of 1.5/min(d, p/2) s in each of two phases and 1 + 90/p s of computation, to 1 %."""
    lines = ["program,phase,kind,p,d,seconds,repeat"]
    noise = iter(np.random.default_rng(5).normal(0.0, 0.01, 100))
    for p in (1, 2, 4, 8):
        for d in (1, 2):
            lines.append(f"solver,1,io,{p},{d},{1.5 / min(d, p / 2) * np.exp(next(noise)):.6g},1")
            lines.append(f"solver,1,cpu,{p},{d},{(1 + 90 / p) * np.exp(next(noise)):.6g},1")
            lines.append(f"solver,2,io,{p},{d},{1.5 / min(d, p / 2) * np.exp(next(noise)):.6g},1")
    path = tmp_path / "runs.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def scenario(tmp_path):
    path = tmp_path / "two.toml"
    path.write_text('title = "two"\n' + MACHINE.replace("[[policy]]", TWO + "[[policy]]", 1))
    return path


def listed(folder):
    return {file.name for file in folder.iterdir()}


class TestAProfile:
    def test_is_said_to_be_synthetic(self, run):
        out, err, code = run("QCRD-2", "--processors", "1,64,128", "--disks", "1,16")
        assert code == 0
        assert "synthetic" in err
        assert out.startswith("QCRD-2: 12 phases, 820.137 s on one processor and one disk")
        rows = [line.split() for line in out.splitlines() if line.lstrip().startswith("64 ")]
        expected = speedup_surface(profile("QCRD-2"), [64], [1, 16]).speedup[0]
        assert [float(x) for x in rows[0][1:]] == pytest.approx(expected, rel=1e-3)

    def test_is_listed(self, run):
        out, _, code = run("--list")
        assert code == 0
        lines = out.splitlines()
        assert [line.split()[0] for line in lines] == list(PROFILES)
        assert all("synthetic" in line for line in lines)

    def test_unknown_is_answered_with_the_nearest(self, run):
        out, err, code = run("QCRD2")
        assert (out, code) == ("", 3)
        assert err == "qmodels: QCRD2: no such file, nor a profile; did you mean QCRD-2?\n"


class TestTheBestAllotment:
    def test_is_that_of_all_whole_numbers_within_the_budget(self, run):
        out, _, _ = run("QCRD-2", "--budget", 64, "--disk-price", 4, "--json")
        best = result_of(out)["best"]
        known = best_allotment(profile("QCRD-2"), budget=64, disk_price=4)
        assert (best["processors"], best["disks"]) == (known.processors, known.disks)
        assert best["speedup"] == pytest.approx(known.speedup)

    def test_is_one_of_those_offered_where_some_are(self, run):
        asked = ("--processors", "1,16,32", "--disks", "1,4")
        out, _, _ = run("QCRD-2", "--budget", 40, "--disk-price", 4, *asked, "--json")
        best = result_of(out)["best"]
        grid = speedup_surface(profile("QCRD-2"), [1, 16, 32], [1, 4])
        known = best_allotment(grid, budget=40, disk_price=4)
        assert (best["processors"], best["disks"]) == (known.processors, known.disks)
        whole = best_allotment(profile("QCRD-2"), budget=40, disk_price=4)
        assert (best["processors"], best["disks"]) != (whole.processors, whole.disks)

    @pytest.mark.parametrize("asked", [("--processors", "1-128"), ("--disks", "1-32")])
    def test_of_numbers_given_for_one_kind_is_sought_among_all_of_the_other(self, run, asked):
        out, _, _ = run("QCRD-2", "--budget", 45, *asked, "--json")
        free = result_of(run("QCRD-2", "--budget", 45, "--json")[0])["best"]
        assert result_of(out)["best"] == free
        assert (free["processors"], free["disks"]) == (36, 9)

    def test_says_among_which_it_was_sought(self, run):
        some, more = ("--processors", "1,16,100"), ("--disks", "2")
        assert "best of those processors and up to 32 disks:" in run("QCRD-2", *some)[0]
        assert "best of up to 128 processors and those disks:" in run("QCRD-2", *more)[0]
        assert "best of those:" in run("QCRD-2", *some, *more)[0]
        assert "best of up to 128 processors and 32 disks:" in run("QCRD-2")[0]

    @pytest.mark.thorough(but=["None"])
    @pytest.mark.parametrize("budget", [700, 3000, None])
    def test_among_very_many_is_near_the_best_and_says_that_not_all_were_tried(self, run, tmp_path, budget):
        path = tmp_path / "large.toml"
        large = MACHINE.replace("= 24", "= 3000").replace("= 6", "= 900")
        path.write_text(
            large
            + """
[[program]]
name = "one"
io = { seconds = 50.0, law = "min(d, p/4)" }
cpu = { seconds = 500.0, per_processor = 0.0002 }
"""
        )
        asked = () if budget is None else ("--budget", budget)
        best = result_of(run(path, *asked, "--json")[0])
        assert not best["tried"]["every"]
        program = read_subject(str(path)).program
        grid = speedup_surface(program, np.arange(1, 3001), np.arange(1, 901))
        known = best_allotment(grid, budget=best["best"]["budget"])
        assert best["best"]["speedup"] == pytest.approx(known.speedup, rel=1e-5)
        assert "allotments tried, not all, of up to 3000 processors and 900 disks" in run(path, *asked)[0]

    def test_comes_with_what_one_more_is_worth(self, run):
        out, _, _ = run("QCRD-2", "--target", "16,4", "--json")
        marginal = result_of(out)["marginal"]
        s = speedup_surface(profile("QCRD-2"), [16, 17], [4, 5]).speedup
        assert marginal["by_processor"] == pytest.approx(s[1, 0] - s[0, 0])
        assert marginal["by_disk"] == pytest.approx(s[0, 1] - s[0, 0], abs=1e-12)
        text, _, _ = run("QCRD-2", "--target", "16,4")
        assert f"one more processor {s[1, 0] - s[0, 0]:+.3g}" in text

    def test_is_shown_as_the_budget_grows(self, run):
        out, _, _ = run("QCRD-2", "--budget", 64)
        rows = [line.split() for line in out.partition("budget grows\n")[2].splitlines()]
        assert rows[0] == ["budget", "processors", "disks", "speedup", "seconds"]
        numbers = np.array(rows[1:], dtype=float)
        assert 3 <= len(numbers) <= 12
        assert np.all(np.diff(numbers[:, 0]) > 0)
        assert np.all(np.diff(numbers[:, 3]) > 0)
        assert np.all(numbers[:, 0] <= 64)

    def test_too_dear_is_refused(self, run):
        _, err, code = run("QCRD-2", "--budget", 1, "--disk-price", 4)
        assert code == 3
        assert "budget" in err


class TestAScenario:
    def test_of_several_programs_is_their_mixture_or_one_of_them(self, run, scenario):
        out, err, _ = run(scenario)
        assert "mixture of 2" in err
        assert out.startswith("two: 1 phase, 10 s")
        out, err, _ = run(scenario, "--program", "one")
        assert err == ""
        assert out.startswith("one: 1 phase, 10 s on one processor and one disk, 10 % of it I/O")

    def test_gives_the_largest_allotment_by_its_machine(self, run, scenario):
        found = result_of(run(scenario, "--json")[0])
        assert found["processors"] == [1, 2, 4, 8, 16, 24]
        assert found["disks"] == [1, 2, 4, 6]

    def test_without_such_a_program_names_the_nearest(self, run, scenario):
        _, err, code = run(scenario, "--program", "on")
        assert code == 3
        assert "did you mean one?" in err

    def test_damaged_is_told_by_its_key(self, run, scenario):
        scenario.write_text(scenario.read_text().replace("disks = 6", "disk = 6"))
        out, err, code = run(scenario)
        assert (out, code) == ("", 3)
        assert "machine.disk" in err

    def test_shipped_with_the_package_is_drawn(self, run):
        assert run(EXAMPLES / "paragon.toml", "--program", "RENDER")[2] == 0


class TestRuns:
    @pytest.mark.thorough
    def test_come_with_intervals_marks_and_the_next_run(self, run, runs):
        out, err, code = run(runs, "--target", "64,8", "--disks", "1,2,8")
        assert code == 0
        assert "learnt from 24 timed bursts" in err
        for said in (
            "phase 1 io:",
            "speedup with 90 % intervals",
            "* extrapolated",
            "outside the runs",
            "Make the next run on ",
            "core-seconds",
        ):
            assert said in out, said

    def test_inside_the_measured_box_carry_no_star(self, run, runs):
        out, _, _ = run(runs, "--processors", "2,4", "--disks", "1,2")
        table = out.partition("disks across\n")[2].partition("\n\n")[0]
        assert "*" not in table

    @pytest.mark.thorough
    def test_predict_what_the_fit_predicts(self, run, runs):
        record = result_of(run(runs, "--target", "64,8", "--level", ".8", "--json")[0])["fit"]
        fitted = fit_runs(read_runs(runs))["solver"]
        expected = fitted.predict(64, 8, 0.8)
        assert record["target"]["time"] == pytest.approx(float(expected.time[0]))
        assert record["target"]["time_low"] == pytest.approx(expected.time_low[0])
        assert record["target"]["mark"] == "extrapolated"
        assert record["level"] == 0.8
        known = fitted.next_run(targets=[(64, 8)])
        rows = record["next_run"]["candidates"]
        assert [(x["processors"], x["disks"]) for x in rows] == list(
            zip(known.processors, known.disks, strict=True)
        )
        assert [x["remaining_variance"] for x in rows] == pytest.approx(known.remaining.data)

    @pytest.mark.thorough
    def test_reach_four_times_beyond_what_was_run(self, run, runs):
        found = result_of(run(runs, "--json")[0])
        assert (found["processors"][-1], found["disks"][-1]) == (32, 8)

    @pytest.mark.thorough
    def test_on_one_disk_say_that_they_do_not_tell_of_more(self, run, runs, tmp_path):
        lines = runs.read_text().splitlines()
        runs.write_text("\n".join(x for x in lines if x.split(",")[4] != "2") + "\n")
        out, err, code = run(runs, "--target", "16,4", "-o", tmp_path / "out")
        assert code == 0
        assert "do not tell" in out
        assert "d = 1" in err
        assert "no surface to draw" in err
        assert listed(tmp_path / "out") == {"times.png", "forecast.csv", "measured.csv"}
        record = result_of(run(runs, "--target", "16,4", "--json")[0])
        assert record["best"] is None
        assert record["speedup"] is None
        target = record["fit"]["target"]
        assert target["time"] is None
        assert target["time_low"] < target["time_high"]
        assert target["mark"] == "not identifiable"

    def test_of_several_programs_want_one_named(self, run):
        _, err, code = run(EXAMPLES / "runs.csv")
        assert code == 3
        assert "solver, render" in err
        _, err, code = run(EXAMPLES / "runs.csv", "--program", "solvr")
        assert code == 3
        assert "did you mean solver?" in err

    @pytest.mark.thorough
    def test_named_by_a_scenario_are_read_on_its_machine(self, run):
        out, _, code = run(EXAMPLES / "measured-runs.toml", "--program", "render", "--json")
        found = result_of(out)
        assert code == 0
        assert (found["processors"][-1], found["disks"][-1]) == (64, 8)
        assert found["fit"]["components"]

    @pytest.mark.thorough
    def test_as_json_lines_are_read_too(self, run, runs, tmp_path):
        path = tmp_path / "runs.jsonl"
        write_extrap(read_runs(runs), path)
        found = [result_of(run(file, "--json")[0]) for file in (runs, path)]
        assert found[0]["speedup"] == pytest.approx(np.array(found[1]["speedup"]))

    @pytest.mark.thorough
    def test_of_which_bursts_are_missing_are_no_whole_runs(self, runs):
        lines = runs.read_text().splitlines()
        runs.write_text("\n".join(x for x in lines if not x.startswith("solver,1,io,4,2")) + "\n")
        subject = read_subject(str(runs))
        assert [tuple(row[:2]) for row in subject.measured] == [
            (p, d) for p in (1, 2, 4, 8) for d in (1, 2) if (p, d) != (4, 2)
        ]
        assert subject.measured[0, 2] == pytest.approx(2 * 3.0 + 91.0, rel=0.03)

    def test_of_which_none_is_whole_are_drawn_without_points(self, run, tmp_path, monkeypatch):
        monkeypatch.setattr(fonts, "DPI", 30)
        lines = ["program,phase,kind,p,d,seconds"]
        lines += [f"a,1,io,{p},{d},{30 / p / d}" for p in (2, 4, 8) for d in (1, 2)]
        lines += [f"a,1,cpu,{p},1,{90 / p}" for p in (3, 6, 12)]
        (tmp_path / "parts.csv").write_text("\n".join(lines))
        asked = ("--processors", "1,8", "--disks", "1,2", "--budget", 4, "-o", tmp_path / "out")
        out, _, code = run(tmp_path / "parts.csv", *asked)
        assert code == 0
        assert "measured beside fitted" not in out
        assert "measured.csv" not in listed(tmp_path / "out")

    @pytest.mark.thorough
    def test_are_drawn_with_their_points(self, run, runs, tmp_path, monkeypatch):
        monkeypatch.setattr(fonts, "DPI", 40)
        run(runs, "-o", tmp_path / "out")
        assert {"times.png", "forecast.csv", "surface.html"} <= listed(tmp_path / "out")
        page = (tmp_path / "out" / "surface.html").read_text()
        text = page.partition('type="application/json">')[2].partition("</script>")[0]
        measured = np.array(json.loads(text)["measured"])
        seconds = read_subject(str(runs)).measured[:, 2]
        assert measured[:, 2].astype(float) == pytest.approx(seconds[0] / seconds)
        assert json.loads(text)["low"] is not None


class TestATrace:
    def test_comes_with_the_thresholds_and_what_was_assumed(self, run, trace):
        out, err, code = run(trace, "--gap", 5, "--run-on", "2,1")
        assert code == 0
        assert "which gives 4 of them: the threshold decides" in err
        assert "assumed, not measured" in err
        assert "gap [s]" in out
        assert "4 bursts of the program at a gap of 5 s" in out
        assert "working set 1" in out

    def test_of_another_threshold_has_other_bursts(self, run, trace):
        counts = [result_of(run(trace, "--gap", g, "--json")[0])["trace"] for g in (5, 30)]
        assert [found["bursts"] for found in counts] == [4, 1]
        assert counts[0]["sensitivity"]["gaps"]

    def test_only_takes_options_of_traces(self, run, scenario):
        for given in (["--gap", "1"], ["--run-on", "2,1"], ["--io-law", "d"]):
            _, err, code = run(scenario, *given)
            assert code == 3
            assert "no trace" in err
        assert run("QCRD-2", "--gap", "1")[2] == 3

    @pytest.mark.parametrize(
        "given",
        [
            ["--gap", "-1"],
            ["--gap", "nan"],
            ["--gap", "inf"],
            ["--run-on", "2"],
            ["--run-on", "0,1"],
            ["--run-on", "a,b"],
            ["--run-on", "1,1,1"],
            ["--io-law", "q"],
            ["--cpu-law", "__import__('os')"],
            ["--program", "x"],
        ],
    )
    def test_with_nonsense_is_refused_in_one_line(self, run, trace, given):
        out, err, code = run(trace, *given)
        assert (out, code) == ("", 3)
        assert len(err.splitlines()) == 1

    def test_damaged_is_told_by_its_line(self, run, trace):
        trace.write_text(TRACE + "0,5,4,read\n")
        _, err, code = run(trace)
        assert code == 3
        assert f"{trace}:10:end" in err

    def test_in_a_real_log_is_read(self, run, shared_data):
        pytest.importorskip("darshan")
        log = shared_data / "darshan" / "pyd_dxt.darshan"
        found = result_of(run(log, "--gap", 1, "--json")[0])
        assert found["trace"]["bursts"] == 9


@pytest.mark.parametrize(
    "given",
    [
        ["--processors", ""],
        ["--processors", "0"],
        ["--processors", "1,,2"],
        ["--processors", "1_0"],
        ["--processors", "1.5"],
        ["--processors", "4-2"],
        ["--processors", "1-99999999"],
        ["--processors", "-3"],
        ["--processors", "²"],
        ["--disks", "nan"],
        ["--disks", "9" * 30],
        ["--budget", "nan"],
        ["--budget", "-1"],
        ["--budget", "inf"],
        ["--disk-price", "0"],
        ["--processor-price", "-2"],
        ["--target", "1,2,3"],
        ["--target", "0,4"],
        ["--level", "1"],
        ["--level", "nan"],
    ],
)
def test_nonsense_is_refused_in_one_line(run, given):
    out, err, code = run("QCRD-2", *given)
    assert (out, code) == ("", 3)
    assert len(err.splitlines()) <= 2
    assert "Traceback" not in err


def test_a_range_of_one_number_is_that_number(run):
    asked = ("--disks", "1,2", "--json")
    one, also = (run("QCRD-2", "--processors", text, *asked)[0] for text in ("5-5", "5"))
    assert one == also


@pytest.mark.thorough
def test_a_range_holds_the_most_numbers_it_says_and_no_more(run):
    numbers = result_of(run("QCRD-2", "--processors", "2-100001", "--disks", "1", "--json")[0])["processors"]
    assert len(numbers) == 100_000
    _, err, code = run("QCRD-2", "--processors", "1-100001", "--disks", "1")
    assert code == 3
    assert "100001 numbers are more than 100000" in err


@pytest.mark.parametrize(
    "given",
    [
        ["--processors", "0"],
        ["--disks", "4-2"],
        ["--budget", "-1"],
        ["--target", "1,2,3"],
        ["--level", "2"],
        ["--run-on", "2"],
    ],
)
def test_options_are_checked_before_the_input_is_read(run, tmp_path, given):
    _, err, code = run(tmp_path / "missing.csv", *given)
    assert code == 3
    assert given[0] in err


class TestInputs:
    def test_that_are_no_files_are_refused(self, run, tmp_path):
        fifo = tmp_path / "pipe.csv"
        os.mkfifo(fifo)
        loop = tmp_path / "loop.csv"
        loop.symlink_to(loop)
        for path in (tmp_path, fifo, loop, Path("/dev/zero")):
            out, err, code = run(path)
            assert (out, code) == ("", 3), path
            assert len(err.splitlines()) == 1

    @pytest.mark.thorough(first=1)
    @pytest.mark.parametrize(
        "content", [b"", b"\x00" * 3000, b"\xff\xfe\x00", b"{}", b"[", b"a,b\n1,2\n", b"[" * 5000]
    )
    def test_of_no_known_kind_are_refused(self, run, tmp_path, content):
        for name in ("some.csv", "some.json", "some"):
            path = tmp_path / name
            path.write_bytes(content)
            out, err, code = run(path)
            assert (out, code) == ("", 3)
            assert "Traceback" not in err

    def test_are_asked_for(self, run):
        _, err, code = run()
        assert code == 3
        assert "--list" in err

    @pytest.mark.parametrize("name", ["\x1b[31m", "x" * 5000, "a\nb", "../../etc", "%s{0}"])
    def test_of_any_name_are_answered_in_plain_text(self, run, name):
        _, err, code = run(name)
        assert code == 3
        assert "\x1b" not in err
        assert len(err) < 1000


class TestTheFolder:
    @pytest.fixture(autouse=True)
    def _coarse(self, monkeypatch):
        monkeypatch.setattr(fonts, "DPI", 40)

    @pytest.mark.thorough
    def test_holds_the_figures_the_tables_and_the_page(self, run, tmp_path):
        out, err, code = run("QCRD-2", "--processors", "1,4,16", "-o", tmp_path / "deep" / "out")
        folder = tmp_path / "deep" / "out"
        assert code == 0
        assert out.startswith("QCRD-2")
        assert listed(folder) == {
            "surface.png",
            "surface3d.png",
            "efficiency.png",
            "path.png",
            "signature.png",
            "execution.png",
            "surface.csv",
            "path.csv",
            "surface.html",
        }
        assert all(str(folder / name) in err for name in listed(folder))
        for file in folder.glob("*.png"):
            assert file.read_bytes().startswith(b"\x89PNG")
        rows = list(csv.DictReader((folder / "surface.csv").read_text().splitlines()))
        assert len(rows) == 3 * 6
        assert float(rows[0]["speedup"]) == 1.0

    @pytest.mark.thorough
    def test_of_a_trace_holds_its_bursts_and_thresholds(self, run, trace, tmp_path):
        run(trace, "--gap", 5, "-o", tmp_path / "out")
        assert {"execution.png", "gaps.png", "signature.png"} <= listed(tmp_path / "out")

    def test_of_a_single_row_leaves_the_surface_out_and_says_so(self, run, tmp_path):
        _, err, code = run("QCRD-2", "--disks", "4", "-o", tmp_path)
        assert code == 0
        assert "no area" in err
        assert listed(tmp_path) == {"signature.png", "execution.png", "surface.csv", "path.csv"}

    @pytest.mark.thorough
    def test_stays_as_it_was_when_something_fails(self, run, tmp_path, monkeypatch):
        (tmp_path / "surface.csv").write_text("earlier")
        monkeypatch.setattr(interactive, "surface_page", _failing)
        _, _, code = run("QCRD-2", "-o", tmp_path)
        assert code == 3
        assert listed(tmp_path) == {"surface.csv"}
        assert (tmp_path / "surface.csv").read_text() == "earlier"

    def test_that_cannot_be_written_is_refused_before_any_work(self, run, tmp_path):
        (tmp_path / "file").write_text("")
        _, err, code = run("QCRD-2", "-o", tmp_path / "file")
        assert code == 3
        assert "is a file" in err

    @pytest.mark.thorough
    def test_keeps_a_hostile_name_a_text(self, run, scenario, tmp_path):
        name = "</script><img src=x onerror=alert(1)>"
        scenario.write_text(scenario.read_text().replace('"one"', json.dumps(name)))
        run(scenario, "--program", name, "-o", tmp_path / "out")
        tags = []

        class Tags(HTMLParser):
            def handle_starttag(self, tag, attrs):
                tags.append(tag)

        Tags().feed((tmp_path / "out" / "surface.html").read_text())
        assert "img" not in tags
        assert tags.count("script") == 3


def _failing(*args, **options):
    raise ModelError("no more ink")


@pytest.mark.thorough
def test_help_imports_nothing_heavy():
    code = (
        "import sys, typer; from typer.testing import CliRunner; app = typer.Typer()\n"
        "from qmodels.commands.surface import register\n"
        "register(app); app.command('other')(lambda: None)\n"
        "assert CliRunner().invoke(app, ['surface', '--help']).exit_code == 0\n"
        "print(sorted({'numpy', 'scipy', 'matplotlib', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


RUNS = str(Path(__file__).parents[2] / "docs" / "examples" / "runs.csv")


@pytest.mark.thorough
def test_what_is_told_of_measured_runs_is_one_estimator(run, tmp_path):
    """A target had two speedups, by posterior means and medians, and a time by one formula."""
    target = ("--target", "128,8", "--processors", "1,8,128", "--disks", "1,8", "--budget", "136")
    out, _, code = run(RUNS, "--program", "solver", *target)
    assert code == 0
    told = read_subject(RUNS, program="solver").fit.predict(128.0, 8.0)
    median, seconds = float(told.speedup.data[0]), float(told.time.data[0])
    assert f"on 128 processors and 8 disks the speedup over 4 processors and 1 disk is {median:.4g};" in out
    both = f"speedup {median:.4g}, {seconds:.4g} s"
    assert f"on the target, 128 processors and 8 disks: {both}" in out
    assert f"128 processors and 8 disks at a price of 136: {both}" in out
    assert f"{median:.4g} (" in out  # the table
    assert "by formula" not in out
    record = result_of(run(RUNS, "--program", "solver", *target, "--json")[0])
    assert record["beyond"]["speedup"] == pytest.approx(median, rel=1e-12)
    assert record["marginal"]["speedup"] == pytest.approx(median, rel=1e-12)
    assert record["fit"]["target"]["speedup"] == median
    assert record["path"][-1]["speedup"] == pytest.approx(median, rel=1e-12)


def test_a_superlinear_speedup_is_explained_below_the_table(run):
    out, _, _ = run("ESCAT-2", "--processors", "1,128", "--disks", "1,32")
    said = out.count("is more than the processors alone could give")
    record = result_of(run("ESCAT-2", "--processors", "1,128", "--disks", "1,32", "--json")[0])
    assert said == (max(record["speedup"][1]) > 128)


@pytest.mark.thorough
def test_target_of_processors_alone_is_on_the_disks_that_all_runs_had(run, tmp_path):
    table = tmp_path / "one.csv"
    rows = [f"{p},{2 + 60 / p}" for p in (1, 2, 4, 8)]
    table.write_text("\n".join(["p,seconds", *rows]) + "\n")
    given = ("--columns", "p=p,seconds=seconds", "--json")
    alone, both = (result_of(run(table, "--target", at, *given)[0]) for at in ("16", "16,1"))
    assert alone["fit"]["target"] == both["fit"]["target"]
    assert alone["disks"] == [1.0]  # more of them say nothing


def test_target_of_processors_alone_is_refused_where_disks_differ(run, runs):
    for source in (runs, "QCRD-2"):
        out, err, code = run(source, "--target", "16")
        assert (out, code) == ("", 3)
        assert "--target must be processors,disks such as 64,8 where runs differ in disks" in err
