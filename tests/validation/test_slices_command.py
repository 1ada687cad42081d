"""`qmodels slices`: what a user types, what a user reads, and what is refused in words."""

from types import SimpleNamespace

import pandas as pd
import pytest

from qmodels import ModelError, ScenarioError
from qmodels.commands.set_option import over_file
from tests.command import invoked, result_of
from tests.page_checks import problems
from validation.analysis.estimates import Estimate
from validation.commands.slices import register
from validation.slices import report
from validation.slices.scenario import SliceFile, slice_plan
from validation.slices.study import compare_slices

QUICK = ["--jobs", 600, "--replications", 2]


def planned(file=None, **tables):
    """The plan of options given by table."""
    options = {f"{table}.{key}": value for table, keys in tables.items() for key, value in keys.items()}
    return slice_plan(*over_file(SliceFile, file, options, None)[:2])


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A small job log: 400 jobs of up to 48 processors."""
    rows = ["; UnixStartTime: 0"]
    sizes = (1, 2, 3, 5, 8, 17, 48)
    for k in range(400):
        size, run = sizes[k % 7], 100 + 37 * (k % 11)
        rows.append(f"{k + 1} {60 * k} -1 {run} {size} -1 -1 {size} {2 * run} -1 1 1 1 1 1 1 -1 -1")
    file = tmp_path_factory.mktemp("log") / "small.swf"
    file.write_text("\n".join(rows) + "\n")
    return file


@pytest.mark.thorough
def test_a_report_is_written_and_says_what_was_found(tmp_path):
    done = invoked(register, "slices", "--strategies", "any-blocks,TFF,TBF", *QUICK, "-o", tmp_path / "out")
    assert done.exit_code == 0, done.output
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert problems(page) == []
    assert "contiguity costs" in page
    assert page.count("<img") == 2 + 3  # a picture of the pod for each strategy
    rows = pd.read_csv(tmp_path / "out" / "slices.csv")
    assert set(rows.strategy) == {"any-blocks", "TFF", "TBF"}
    assert set(rows.discipline) == {"FCFS", "first-fit", "EASY-places", "loss"}
    assert set(rows["slice"]) == {"all", "1x1x1", "1x1x2", "1x2x2", "2x2x2", "2x2x4", "2x4x4"}
    for line in ("contiguity costs", "Letting jobs overtake", "If nobody could wait"):
        assert line in done.output


def test_json_is_one_object_of_numbers():
    done = invoked(register, "slices", "--strategies", "TFF", "--disciplines", "FCFS", *QUICK, "--json")
    found = result_of(done.stdout)
    assert found["load"] == 0.5
    assert {row["queue"] for row in found["slices"]} == {"full", "at the load"}


def test_times_are_in_words_where_jobs_hold_for_a_time():
    done = invoked(
        register,
        "slices",
        "--hold",
        "6h",
        "--strategies",
        "any-blocks,TBF",
        "--disciplines",
        "FCFS",
        *QUICK,
    )
    assert " min" in done.output
    assert "holding times" not in done.output


def test_times_in_holding_times_have_no_exponents():
    study = SimpleNamespace(unit="holding times")
    assert report._time(study, Estimate(123.4, 10.6, 0.95, 4)) == "120 ± 10 holding times"


def test_a_log_becomes_slices_by_a_rule_that_is_stated(log, tmp_path):
    plan = planned(pod={"blocks": "4x3x2"}, jobs={"log": str(log)})
    assert plan.processors == 2  # the largest job, of 48, just fits
    assert "least box of at least its processors (2 processors a chip)" in plan.notes[-1]
    done = invoked(
        register,
        "slices",
        "--log",
        log,
        "--pod",
        "4x3x2",
        "--strategies",
        "any-blocks,TFF",
        "--disciplines",
        "FCFS,EASY-places",
        "--replications",
        2,
        "-o",
        tmp_path / "out",
    )
    assert done.exit_code == 0, done.output
    assert "Note: Each job of the log" in done.output
    rows = pd.read_csv(tmp_path / "out" / "slices.csv")
    assert {"1x1x1", "3x3x1", "4x3x2"} <= set(rows["slice"])


def test_a_log_can_be_brought_to_a_load(log):
    plan = planned(pod={"blocks": "4x3x2"}, jobs={"log": str(log), "load": 0.3})
    study = compare_slices(
        plan.pod,
        plan.jobs,
        None,
        strategies=["TFF"],
        disciplines=["FCFS"],
        replications=2,
        processors=plan.processors,
        unit="s",
    )
    assert study.load == pytest.approx(0.3, rel=0.05)
    assert any("Times between arrivals" in note for note in plan.notes)


def test_a_file_and_options_over_it(tmp_path):
    file = tmp_path / "pod.toml"
    file.write_text(
        '[pod]\nblocks = "4x4x4"\nwrap = false\n[jobs]\nmix = "1x1x1:3, 2x2x2"\nload = 0.4\n'
        '[study]\nstrategies = ["TFF", "tbf"]\n'
    )
    plan = planned(file, jobs={"load": 0.6})
    assert (plan.load, plan.pod.wrap, plan.jobs.weights) == (0.6, False, (0.75, 0.25))
    assert plan.strategies == ("TFF", "tbf")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pod": {"blocks": "4x4"}}, "three sides such as 4x4x8"),
        ({"pod": {"blocks": "4x4x0"}}, "side of blocks must be >= 1"),
        ({"pod": {"blocks": "4x4x-4"}}, "three sides such as 4x4x8"),
        ({"pod": {"blocks": "99999x99999x99999"}}, "at most 4,096"),
        ({"jobs": {"mix": "5x5x5"}}, "larger than a pod"),
        ({"jobs": {"mix": "1x1x1:-3"}}, "weights"),
        ({"jobs": {"mix": "chaos"}}, "no mix is called"),
        ({"jobs": {"mix": ""}}, "no mix is called"),
        ({"jobs": {"mix": "1x1x1:1e999"}}, "weights"),
        ({"jobs": {"load": float("nan")}}, "finite"),
        ({"jobs": {"hold": "2 fortnights"}}, "is no time"),
        ({"jobs": {"hold": 6}}, "jobs.hold: 6 what. say 6h or 6min"),
        ({"jobs": {"hold": "0"}}, "hold must be > 0"),
        ({"jobs": {"processors": 2}}, "processors belong to a log"),
        ({"jobs": {"load": -1.0}}, "greater than 0"),
        ({"jobs": {"count": 10}}, "greater than or equal to 200"),
        ({"jobs": {"log": "nowhere.swf"}}, "nowhere.swf"),
        ({"study": {"replications": 1}}, "greater than or equal to 2"),
        ({"study": {"replications": 10**18}}, "less than or equal to 10000"),
    ],
)
def test_what_is_missing_or_wrong_is_said(options, message):
    with pytest.raises(ModelError, match=message):
        planned(**options)


@pytest.mark.parametrize(
    ("strategies", "disciplines", "message"),
    [
        (["TFF", "tff"], ["FCFS"], "is named twice"),
        (["worst"], ["FCFS"], "no strategy of slices is called"),
        (["TFF"], ["easy"], "did you mean 'EASY-places'"),
        ([], ["FCFS"], "name at least one"),
        (["TFF"], ["loss"], "played anyway"),
    ],
)
def test_names_that_make_no_comparison_are_refused(strategies, disciplines, message):
    plan = planned()
    with pytest.raises(ModelError, match=message):
        compare_slices(plan.pod, plan.jobs, 0.5, strategies=strategies, disciplines=disciplines)


def test_jobs_that_never_fill_the_pod_are_said_to_be_too_few():
    """It was said that all of them come at one moment."""
    found = planned(pod={"blocks": "2x2x2", "block": "4x4x4"}, jobs={"mix": "1x1x1:1"})
    with pytest.raises(ModelError, match="200 jobs do not keep a pod of 512 chips full"):
        compare_slices(found.pod, found.jobs, 0.5, strategies=["TFF"], count=200, replications=2)


def test_a_file_with_unknown_keys_names_them(tmp_path):
    file = tmp_path / "pod.toml"
    file.write_text("[pod]\nblock_sides = 3\n")
    with pytest.raises(ScenarioError, match=r"pod\.block_sides: unknown key"):
        planned(file)
