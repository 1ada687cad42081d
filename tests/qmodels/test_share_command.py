"""`qmodels share`, its page, and `predict` on a measured storage."""

from __future__ import annotations

import json

import numpy as np
import pytest

from qmodels.policies import SpaceSharing, System, Workload, predict
from qmodels.policies.models.storage_speeds import storage_speeds
from qmodels.programs import Phase, Program
from qmodels.storage import SharedRuns, StageCurve, closed_sharing, forecast_sharing
from tests.command import called, result_of
from tests.objects import SCENARIO
from tests.page_checks import problems


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    stage = StageCurve("io", 10.0, io_share=1.0, streams=2.0)
    lines = ["programs,stage,run,seconds"]
    lines += [f"{n},io,{k},{stage.time(n) * (1.0 + 0.01 * k):.3f}" for n in (1, 2, 4, 8) for k in (1, 2, 3)]
    file = tmp_path_factory.mktemp("share") / "runs.csv"
    file.write_text("\n".join(lines))
    return file


def test_an_interval_of_one_number_is_not_told(tmp_path):
    (tmp_path / "runs.csv").write_text("programs,total\n1,10\n1,10.1\n4,100\n4,103\n8,300\n8,290\n")
    assert "The time doubles at 2 programs." in called("share", tmp_path / "runs.csv", "--of", "8").stdout


def test_the_command_says_the_same_in_words_in_json_and_on_its_page(table, tmp_path):
    words = ("share", str(table), "--together", "16", "--think", "5", "--rate", "0.1")
    said = called(*words, "-o", str(tmp_path / "out"))
    found = result_of(called(*words, "--json").stdout)
    last = found["forecast"][-1]
    assert last["programs"] == 16
    assert last["seconds"] == pytest.approx(80.0, rel=0.15)
    assert f"{last['seconds']:.4g}" in said.stdout
    assert last["low"] < last["seconds"] < last["high"]
    assert [one["programs"] for one in found["steady"]] == [16, None]
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert problems(page) == []
    assert f"{last['seconds']:.4g}" in page


def test_what_is_known_alone_is_said_to_be_a_guess(table):
    said = called("share", str(table), "--known", "1", "--together", "16").stdout
    assert "Capacity is not identified by runs alone" in said
    assert "One run of 8 together would cut the uncertainty of 16 together from" in said


def test_an_interval_is_never_said_to_be_sure_and_one_program_is_one(table):
    said = called("share", str(table), "--together", "1", "--think", "5", "--level", ".9995").stdout
    assert " 99.95% interval " in said
    assert "- 1 program takes " in said
    assert "- 1 program that comes and goes takes " in said
    assert "100%" not in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--known", "3"), "the table has runs with 1, 2, 4, 8 programs together only"),
        (("--at", "x=1"), "go with --beside only"),
        (("--beside", "x"), "no column 'x'"),
        (("--beside", "run", "--of", "4", "-o", "out"), "--of, --output cannot go with --beside"),
        (("--beside", "run", "--at", "y=1"), "--at y: no load of that name"),
        (("--beside", "run", "--at", "run=z"), "--at: could not convert"),
    ],
)
def test_wrong_words_are_named(table, words, said):
    done = called("share", str(table), *words)
    assert done.returncode == 3
    assert said in done.stderr


def test_jobs_beside_production_follow_the_load(tmp_path):
    rng = np.random.default_rng(2)
    busy = rng.uniform(size=80)
    rows = [f"w,{b:.3f},{10 * np.exp(b + 0.05 * rng.normal()):.3f}" for b in busy]
    file = tmp_path / "past.csv"
    file.write_text("\n".join(["program,busy,seconds", *rows]))
    words = ("share", str(file), "--beside", "busy", "--group", "program", "--at", "busy=1.0", "--json")
    (group,) = json.loads(called(*words).stdout)["result"]["groups"]
    assert group["at_load"]["p50"] == pytest.approx(10 * np.exp(1.0), rel=0.1)
    assert group["history"]["p50"] < group["at_load"]["p10"]


def test_policies_on_a_measured_storage_are_closed_networks_on_it():
    stage = StageCurve("io", 10.0, io_share=1.0, streams=2.0)
    runs = SharedRuns({"io": {n: [stage.time(n)] * 3 for n in (1, 2, 3, 4, 6, 8)}})
    system, work = System(8, 4), Workload(Program([Phase(io=8.0, cpu=16.0)]))
    speeds = storage_speeds(SpaceSharing(4, 1), system, work, forecast_sharing(runs, [8]))
    cpu, io = (float(f(2.0, 4.0)) for f in (work.program.mean_cpu, work.program.mean_io))
    exact = [
        closed_sharing([StageCurve("j", cpu + io, io_share=io / (cpu + io), streams=2.0)], k).throughput
        for k in (1, 2, 3, 4)
    ]
    assert speeds.throughput == pytest.approx(exact, rel=0.05)
    found = predict(SpaceSharing(4, 1), system, work, load=0.3, running=speeds)
    assert found.half_width > 0.0
    assert "learnt from runs of 1, 2, 3, 4, 6, 8 programs" in found.speeds
    given = SpaceSharing(4, 1, sizes=(2, 2, 2, 2))  # on a machine that they leave half idle
    idle = storage_speeds(given, System(16, 4), work, forecast_sharing(runs, [8]))
    assert idle.throughput == pytest.approx(speeds.throughput, rel=1e-12)


def test_predict_takes_the_storage_and_says_what_cannot_stand_on_it(table, tmp_path):
    site = tmp_path / "site.toml"
    site.write_text(SCENARIO + '[[policy]]\nkind = "SP"\nprocessor_partitions = 2\ndisk_partitions = 2\n')
    done = called("predict", str(site), "--storage", str(table), "--load", "0.2", "--json")
    rows = json.loads(done.stdout)["result"]
    assert {row["policy"] for row in rows} == {"SP(1,1)", "SP(2,1)"}
    assert "Left out, for a measured storage is shared by all jobs that run: SP(2,2)" in done.stderr
