"""Learning how programs share a storage: measured pipelines, bad tables, and what intervals promise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from qmodels.errors import ModelError, TraceFormatError
from qmodels.io.shared_runs import read_history, read_shared_runs
from qmodels.storage import (
    SharedRuns,
    StageCurve,
    batches,
    forecast_sharing,
    learn_production,
    next_run,
)
from qmodels.storage.come_and_go import come_and_go
from tests.campaigns.shared_pipelines import rows

RECORD = Path(__file__).parents[2] / "docs" / "record"
TABLE = """programs,node,read,write,total
1,a,2.0,8.0,10.1
1,a,2.1,8.1,10.2
4,a,2.0,9.0,11.1
4,a,2.1,9.2,11.3
"""


@pytest.fixture(scope="module")
def pipelines(shared_data):
    return list(rows(shared_data / "measured" / "swarp.csv.gz"))


@pytest.mark.thorough
def test_makespans_of_measured_pipelines_are_forecast_from_one_and_four(pipelines):
    errors = [
        abs(row["error"])
        for row in pipelines
        if (row["known"], row["part"]) == ("1 and 4", "makespan") and row["pipelines"] > 4
    ]
    assert np.mean(errors) < 0.08
    assert max(errors) < 0.15


def test_intervals_from_one_pipeline_alone_cover_and_are_wide(pipelines):
    alone = [row for row in pipelines if (row["known"], row["part"]) == ("1", "makespan")]
    assert all(row["covered"] for row in alone)
    assert alone[-1]["high"] > 3.0 * alone[-1]["low"]


def test_the_record_has_what_the_pages_say():
    systems = pd.read_csv(RECORD / "storage-systems.csv")
    assert len(systems) == 200
    assert systems["kept"].mean() >= 0.9
    assert systems["makespan_kept"].mean() >= 0.9
    production = pd.read_csv(RECORD / "production.csv")
    assert production["pinball"].sum() < 0.88 * production["pinball_empirical"].sum()
    assert production[["p10_error", "p50_error"]].median().max() < 0.05


def runs_of(stage, numbers, scatter=0.01, count=5):
    rng = np.random.default_rng(1)
    return SharedRuns(
        {stage.name: {n: stage.time(n) * np.exp(scatter * rng.normal(size=count)) for n in numbers}}
    )


def test_one_run_together_narrows_the_interval_as_much_as_was_said():
    stage = StageCurve("x", 20.0, io_share=0.8, streams=6.0)
    alone = forecast_sharing(runs_of(stage, [1]), [32])
    advised = next_run(alone, 32)
    assert advised is not None
    then = forecast_sharing(runs_of(stage, [1, advised.programs]), [32])
    widths = [float(np.log(f.high[0] / f.low[0])) for f in (alone, then)]
    assert widths[1] < 0.5 * widths[0]
    assert then.low[0] < stage.time(32) < then.high[0]
    assert f"± {advised.before:.0%} to ± {advised.after:.0%}" in str(advised)


def test_families_follow_the_evidence():
    def probability(stage):
        (learnt,) = forecast_sharing(runs_of(stage, [1, 2, 4, 8, 16, 32], scatter=0.002), [32]).learnt
        return learnt.families

    assert probability(StageCurve("none", 10.0))["no sharing"] > 0.8
    full = probability(StageCurve("queue", 10.0, io_share=0.9, streams=3.0))
    assert sum(p for name, p in full.items() if name.startswith("queue")) > 0.99
    lossy = probability(StageCurve("loss", 10.0, io_share=1.0, streams=3.0, loss=0.55))
    assert sum(p for name, p in lossy.items() if "loss" in name) > 0.8


def test_odd_runs_do_not_make_a_slowdown():
    odd = SharedRuns({"x": {1: [6.0, 6.1, 5.9, 6.0, 6.2], 4: [5.9, 6.1, 6.0, 6.1, 45.0]}})
    assert forecast_sharing(odd, [4]).seconds[0] < 6.3


def test_stages_that_are_slow_in_the_same_runs_leave_more_open_than_others():
    size = np.exp(0.2 * np.random.default_rng(2).normal(size=(2, 12)))
    same, apart = (SharedRuns({"a": {1: 10.0 * size[0]}, "b": {1: 10.0 * size[k]}}) for k in (0, 1))
    assert same.stages_alike() == pytest.approx(1.0)
    assert apart.stages_alike() < 0.5
    wide, narrow = (float(np.ptp(forecast_sharing(runs, [1]).percentiles)) for runs in (same, apart))
    assert wide > 1.1 * narrow
    assert SharedRuns({"a": {1: size[0]}}).stages_alike() == 0.0


def test_turns_have_their_rest_and_are_the_sum_of_theirs():
    found = forecast_sharing(runs_of(StageCurve("x", 10.0, io_share=1.0, streams=4.0), [1, 2, 4, 8]), [10])
    by_size = {one.at_once: one for one in batches(found, 10)}
    parts = forecast_sharing(runs_of(StageCurve("x", 10.0, io_share=1.0, streams=4.0), [1, 2, 4, 8]), [2, 4])
    assert by_size[4].seconds == pytest.approx(2.0 * parts.seconds[1] + parts.seconds[0])
    assert set(by_size) == {1, 2, 4, 5, 8, 10}


def test_streams_have_an_interval_and_double_somewhere():
    found = forecast_sharing(runs_of(StageCurve("x", 10.0, io_share=0.8, streams=4.0), [1, 4, 8, 16]), [16])
    closed, stream = come_and_go(found, programs=16), come_and_go(found, rate=0.2)
    assert closed.low <= closed.response <= closed.high
    assert closed.percentiles[0] < closed.percentiles[1] < closed.percentiles[2]
    assert 4 < closed.doubles_at <= 16
    assert 0.2 < stream.doubles_at < 0.6
    with pytest.raises(ModelError, match="either"):
        come_and_go(found, programs=2, rate=1.0)


def test_both_forms_of_a_table_give_the_same_runs(tmp_path):
    wide, long = tmp_path / "wide.csv", tmp_path / "long.csv"
    wide.write_text(TABLE)
    lines = ["programs,stage,run,seconds"]
    for n, k, read, write in ((1, 1, 2.0, 8.0), (1, 2, 2.1, 8.1), (4, 1, 2.0, 9.0), (4, 2, 2.1, 9.2)):
        lines += [f"{n},read,{k},{read}", f"{n},write,{k},{write}"]
    long.write_text("\n".join(lines))
    a, b = read_shared_runs(wide, stages=["read", "write"]), read_shared_runs(long)
    assert a.stages == b.stages
    assert {n: x.tolist() for n, x in a.seconds["write"].items()} == {
        n: x.tolist() for n, x in b.seconds["write"].items()
    }


def test_semicolons_are_found_by_columns_that_are_only_named(tmp_path):
    file = tmp_path / "runs.csv"
    file.write_text("Anzahl;gesamt_s;Ort\n1;8;a\n4;11;a\n4;99;b\n")
    found = read_shared_runs(file, programs="Anzahl", total="gesamt_s", where={"Ort": "a"})
    assert found.numbers == (1, 4)
    past = read_history(file, seconds="gesamt_s", where={"Ort": "a"})
    assert past.seconds.tolist() == [8.0, 11.0]


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("", {}, "is empty"),
        ("programs,total\n", {}, "no run"),
        ("programs,total\n1,2\n1,2,3\n", {}, "3 fields where the header has 2"),
        ("programs,total\n1.5,2\n", {}, "whole number of programs"),
        ("programs,total\n1,abc\n", {}, "must be seconds"),
        ("programs,total\n1,-3\n", {}, "must be seconds"),
        ("p,total\n1,3\n", {}, "name it: --programs COLUMN"),
        ("programs,total\n4,3\n", {}, "never timed with one program"),
        (TABLE, {"stages": ["red"]}, "no column 'red'"),
        (TABLE, {"stages": ["total"]}, "cannot be a stage and the whole run"),
        (TABLE, {"where": {"node": "b"}}, "no row has node = 'b'"),
        (TABLE + "1,b,4.0,8.0,12.0\n1,b,4.1,8.0,12.0\n", {}, "--where node=a"),
        ("programs,a,b,total\n1,8,8,10\n", {"stages": ["a", "b"]}, "do not add up"),
        ("programs,stage,run,seconds\n1,a,1,3\n1,a,1,4\n", {}, "again, first in line 2"),
    ],
)
def test_bad_tables_are_named(tmp_path, text, options, said):
    file = tmp_path / "runs.csv"
    file.write_text(text)
    with pytest.raises((TraceFormatError, ModelError), match=said):
        read_shared_runs(file, **options)


@pytest.mark.parametrize(
    ("seconds", "totals", "said"),
    [
        (
            {"x": {1: [5.0, 5.1, 5.2], 4: [6.0]}},
            None,
            "Repeats are missing: 3 runs at most, but 1 with 4 programs",
        ),
        ({"x": {1: [5.0], 4: [6.0]}}, None, "No run was repeated"),
        ({"x": {1: [9.0, 9.1, 9.0], 4: [6.0, 6.1, 6.0]}}, None, "no sharing makes it faster"),
        (
            {"x": {1: [5.0, 5.0], 4: [6.0, 6.0]}, "y": {1: [1.0, 1.0]}},
            None,
            "Stage y was not timed with 4 programs",
        ),
        (
            {"x": {1: [9.6, 9.6], 4: [9.0, 9.0]}},
            {1: [10.0, 10.0], 4: [10.0, 10.0]},
            "Stages do not add up",
        ),
    ],
)
def test_doubtful_runs_are_named(seconds, totals, said):
    assert any(said in each for each in SharedRuns(seconds, totals).doubts())


def test_what_a_run_has_beyond_its_stages_is_a_stage():
    runs = SharedRuns({"x": {1: [5.0, 5.0]}}, {1: [8.0, 8.0]})
    assert runs.stages == ("x", "rest")
    assert runs.seconds["rest"][1].tolist() == [3.0, 3.0]


def test_laws_beside_production_follow_the_load_and_say_how_much_they_cover():
    rng = np.random.default_rng(5)
    load = rng.exponential(size=400)
    seconds = 10.0 * np.exp(0.4 * load + 0.1 * rng.normal(size=400))
    law = learn_production(seconds, ["w"] * 400, {"load": load})
    low, middle, high = law.quantiles("w")
    at = law.quantiles("w", at={"load": 2.0})
    assert low < middle < high
    assert at[1] == pytest.approx(10.0 * np.exp(0.8), rel=0.1)
    assert at[2] / at[0] < 0.7 * high / low
    assert 0.65 < law.groups["w"].covered < 0.95
    with pytest.raises(ModelError, match="group"):
        law.quantiles("v")
    with pytest.raises(ModelError, match="no group has"):
        learn_production([1.0, 2.0], ["a", "b"])
