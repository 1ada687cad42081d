"""`qmodels checkpoint`: what a user types, what a user reads, and what is refused in words."""

import os
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from qmodels import ModelError, ScenarioError
from qmodels.checkpoints import Checkpointing, Storage
from qmodels.checkpoints.dilation import dilation
from qmodels.checkpoints.model import EqualJobs
from qmodels.checkpoints.presets import system
from qmodels.commands.set_option import over_file
from tests.command import called, invoked, result_of
from tests.page_checks import problems
from validation.checkpoints import simulator
from validation.checkpoints.scenario import CheckpointFile, checkpoint_plan
from validation.commands.checkpoint import register

POOL = ["--jobs", 6, "--size", "2TB", "--bandwidth", "20GB/s", "--mtbf", "12h"]


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """What the command printed as JSON, and the folder of its report."""
    folder = tmp_path_factory.mktemp("checkpoint") / "out"
    return invoked(register, "checkpoint", *POOL, "--replications", 2, "--json", "-o", folder), folder


@pytest.mark.thorough
def test_a_report_is_written_and_says_what_was_found(ended):
    done, folder = ended
    assert done.exit_code == 0, done.output
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert problems(page) == []
    assert "6 jobs that checkpoint to one storage" in page
    assert page.count("<img") == 2
    ways = pd.read_csv(folder / "ways.csv")
    assert list(ways.way) == ["sharing", "turns", "waiting works", "behind the work"]
    assert (ways.simulated_goodput - ways.predicted_goodput).abs().max() < 0.05
    assert ways.stall_p50.le(ways.stall_p95).all()
    assert ways.stall_p95.le(ways.stall_p99).all()
    curves = pd.read_csv(folder / "curves.csv")
    assert curves.drop(columns="interval").stack().between(0.0, 1.0).all()


@pytest.mark.thorough
def test_json_is_one_object_of_numbers(ended):
    found = result_of(ended[0].stdout)
    assert found["jobs"] == 6
    assert len(found["ways"]) == 4
    assert found["jobs_that_fit"] >= 1


def test_one_job_needs_no_turns():
    done = invoked(
        register,
        "checkpoint",
        "--size",
        "2TB",
        "--bandwidth",
        "20GB/s",
        "--mtbf",
        "12h",
        "--replications",
        2,
        "--json",
    )
    assert [way["way"] for way in result_of(done.stdout)["ways"]] == ["sharing", "behind the work"]


@pytest.mark.thorough
def test_a_caption_speaks_of_no_lines_that_are_not_drawn(tmp_path):
    asked = ["--size", "2TB", "--bandwidth", "20GB/s", "--interval", "2h", "--replications", 2]
    done = invoked(register, "checkpoint", *asked, "-o", tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "1 job that checkpoints to one storage" in page
    assert "1 job that writes 2 TB" in done.output
    assert "of work between two checkpoints.<" in page


@pytest.mark.thorough
def test_few_writers_are_warned_about_where_they_leave_bandwidth_idle():
    # Without failures: the warning does not hang on them, and no best interval is looked for.
    few = [*POOL[:6], "--interval", "2h", "--per-job", "5GB/s", "--writers", 1, "--replications", 2]
    done = invoked(register, "checkpoint", *few)
    assert "1 at a time leave bandwidth idle: it takes 4 transfers" in done.output


def test_a_file_and_options_over_it(tmp_path):
    file = tmp_path / "pool.toml"
    file.write_text(
        '[job]\njobs = 16\nmodel = "llama3-405b"\nmtbf = "24.7h"\ndowntime = "600s"\n'
        '[storage]\nbandwidth = "20GB/s"\n'
    )
    plan = planned(file, {"size": "1TB", "jobs": 3})
    assert (plan.jobs, plan.job.size, plan.job.mtbf) == (3, 1e12, 88920.0)
    assert plan.job.downtime == 600.0


@pytest.mark.parametrize(
    ("job", "storage", "message"),
    [
        ({}, {}, "give the bandwidth"),
        ({}, {"bandwidth": "20GB/s"}, "give the size"),
        ({"size": "5TB"}, {"bandwidth": "20GB/s"}, "give the interval"),
        ({"size": "5TB", "interval": "2 fortnights"}, {"bandwidth": "20GB/s"}, "is no time"),
        ({"size": "5TB", "interval": "-2h"}, {"bandwidth": "20GB/s"}, "is no time"),
        ({"size": "5TB", "interval": "0"}, {"bandwidth": "20GB/s"}, "interval must be > 0"),
        ({"size": "800"}, {"bandwidth": "1GB/s"}, "job.size: 800 what. say 800GB or 800GiB"),
        (
            {"size": 2e12},
            {"bandwidth": "1GB/s"},
            "job.size: 2000000000000 what. say 2000000000000B",
        ),
        ({"size": "5TB", "mtbf": 12}, {"system": "llama3"}, "job.mtbf: 12 what. say 12h or 12min"),
        (
            {"size": "5TB", "downtime": 600},
            {"system": "llama3"},
            "job.downtime: 600 what. say 600s",
        ),
        ({"size": "5TB", "interval": "7200"}, {"system": "llama3"}, "job.interval: 7200 what"),
        (
            {"size": "5TB", "snapshot": 5.5},
            {"system": "llama3"},
            "job.snapshot: 5.5 what. say 5.5h",
        ),
        ({"size": "5TB"}, {"bandwidth": "20"}, "storage.bandwidth: 20 what. say 20GB/s or 20MB/s"),
        ({"size": "5TB"}, {"system": "llama3", "per_job": 5e9}, "storage.per_job: 5000000000 what"),
        ({"size": "lots", "interval": "2h"}, {"bandwidth": "20GB/s"}, "is no size"),
        ({"size": "5TB", "interval": "2h"}, {"bandwidth": "20Gbit/s"}, "in bits"),
        ({"size": "5TB", "interval": "2h"}, {"bandwidth": "20GB/h"}, "is no rate"),
        ({"size": "5TB", "interval": "2h"}, {"bandwidth": "nan"}, "is no rate"),
        ({"model": "llama3-404b", "interval": "2h"}, {"bandwidth": "20GB/s"}, "llama3-405b"),
        ({"size": "5TB", "interval": "2h", "mode": "block"}, {"system": "llama3"}, "blocking"),
        ({"size": "5TB", "interval": "1e400"}, {"bandwidth": "20GB/s"}, "is no time"),
    ],
)
def test_what_is_missing_or_wrong_is_said(job, storage, message):
    with pytest.raises(ModelError, match=message):
        planned(None, job, storage)


def test_a_file_with_unknown_keys_names_them(tmp_path):
    file = tmp_path / "pool.toml"
    file.write_text("[job]\nsizes = 3\n")
    with pytest.raises(ScenarioError, match=r"job\.sizes: unknown key; did you mean size"):
        planned(file)
    with pytest.raises(ScenarioError, match="cannot be read"):
        planned(Path(tmp_path / "none.toml"))


def planned(file, job=(), storage=(), found=None):
    """The plan of a file with options over it, by table."""
    options = {f"job.{key}": value for key, value in dict(job).items()}
    options |= {f"storage.{key}": value for key, value in dict(storage).items()}
    return checkpoint_plan(over_file(CheckpointFile, file, options, None, found)[1])


def made_timeline(folder):
    """Twelve checkpoints of 24 GB, each after 580 s of work and written in 20 s; a small log."""
    rows = ["rank,start,end,kind,bytes"]
    for k in range(1, 13):
        start = 600 * k + 0.1 * k / 3  # no round numbers
        rows += [f"{rank},{start},{start + 20},write,12000000000" for rank in (0, 1)]
        rows.append(f"0,{600 * k + 300},{600 * k + 301},write,1000")
    file = folder / "run.csv"
    file.write_text("\n".join(rows) + "\n")
    return file


def test_checkpoints_found_in_a_trace_take_the_place_of_options(tmp_path):
    words = [
        "checkpoint",
        "--trace",
        made_timeline(tmp_path),
        "--jobs",
        4,
        "--replications",
        2,
        "--json",
    ]
    done = called(*words)
    assert done.returncode == 0, done.stderr
    assert "12 checkpoints of 24 GB, each after 9.67 min of work and written in 20 s, at 1.2 GB/s" in (
        done.stderr
    )
    assert result_of(done.stdout)["jobs"] == 4
    assert called("checkpoint", "--module", "STDIO").returncode == 3


@pytest.mark.parametrize(
    ("job", "storage", "size", "interval", "bandwidth"),
    [
        ({}, {}, 2e9, 500.0, 1e9),
        ({"size": "5GB"}, {}, 5e9, 500.0, 1e9),
        ({"interval": "1h"}, {"bandwidth": "20GB/s"}, 2e9, 3600.0, 2e10),
        ({"model": "llama3-405b"}, {"system": "llama3"}, 5.29e12, 500.0, None),
    ],
)
def test_options_go_before_what_a_trace_shows_and_that_before_a_file(
    tmp_path, job, storage, size, interval, bandwidth
):
    file = tmp_path / "pool.toml"
    file.write_text('[job]\nsize = "1GB"\ninterval = "2h"\n[storage]\nbandwidth = "7GB/s"\n')
    found = {"job.size": "2GB", "job.interval": "500s", "storage.bandwidth": "1GB/s"}
    if "system" in storage:
        found["storage.bandwidth"] = None  # as the command has it
    plan = planned(file, job, storage, found)
    assert plan.job.size == pytest.approx(size, rel=0.02)
    assert plan.job.interval == interval
    assert plan.storage.bandwidth == (system("llama3").storage.bandwidth if bandwidth is None else bandwidth)


class TestHostileNumbers:
    """Numbers that made it compute for ever, or end with a word about something else."""

    @pytest.mark.parametrize(
        ("options", "says"),
        [
            (["--bandwidth", "1B/s"], "hardly any ever would be; both together may take 5 days"),
            (["--bandwidth", "1MB/s"], "more bandwidth or a longer mtbf"),
            (["--mtbf", "1ms"], "a job fails every 1 ms"),
            (["--mtbf", "0"], "mtbf must be > 0, got 0"),
            (["--set", "job.restore_size=800"], "job.restore_size: 800 what? say 800GB or 800GiB"),
            (["--interval", "1000000h"], "give a shorter interval"),
            (["--jobs", 10**6], "job.jobs: input should be less than or equal to 10000"),
        ],
    )
    def test_are_refused_with_what_would_do(self, options, says):
        done = called("checkpoint", *POOL, *options)
        assert done.returncode == 3
        assert says in done.stderr

    def test_under_which_no_checkpoint_is_completed_are_refused(self):
        done = called("checkpoint", "--jobs", 3, "--size", "5TB", "--bandwidth", "1GB/s", "--mtbf", "10min")
        assert done.returncode == 3
        assert "sharing: 3 jobs completed no checkpoint in" in done.stderr
        assert "let fewer jobs share the storage" in done.stderr

    def test_of_replications_are_refused(self):
        done = called("checkpoint", *POOL, "--replications", 10**18)
        assert done.returncode == 2
        assert "less than or equal to 10000" in done.stderr

    def test_a_pipe_without_a_writer_is_not_waited_for(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        done = called("checkpoint", tmp_path / "pipe")
        assert done.returncode == 3
        assert "is a pipe into which nobody writes" in done.stderr

    def test_a_scenario_without_an_end_is_refused(self):
        with pytest.raises(ScenarioError, match="more than the 1,000,000 bytes"):
            planned(Path("/dev/zero"))

    def test_a_scenario_comes_through_a_pipe_that_has_a_writer(self):
        reads, writes = os.pipe()
        text = '[job]\nsize = "1TB"\nmtbf = "12h"\n[storage]\nbandwidth = "20GB/s"\n'
        with os.fdopen(writes, "wb") as stream:
            stream.write(text.encode())
        try:
            assert planned(Path(f"/dev/fd/{reads}")).job.size == 1e12
        finally:
            os.close(reads)

    def test_rare_failures_are_not_waited_for(self, monkeypatch):
        """A thousand intervals of each job, not the 4 * 10^9 in which it would fail 30 times."""
        monkeypatch.setattr(simulator, "_MOST_INTERVALS", 20_000)
        rare = Checkpointing(1.0, interval=1.0, mtbf=3e9)
        found = simulator.simulate_checkpoints(rare, Storage(200.0, per_job=10.0), 20, replications=2)
        assert found.seconds == pytest.approx(1000 * 1.1)
        assert found.goodput.mean == pytest.approx(1 / 1.1, rel=0.01)

    def test_a_storage_that_is_just_full_has_a_prediction(self):
        """Four writes take an interval and a write: the fixed point was not reached."""
        job = Checkpointing(2.645, interval=10.575353722322777, mtbf=11134.8, mode="asynchronous")
        found = dilation(EqualJobs(job, Storage(1.0, writers=1), 4))
        # Between its neighbours, of which the iteration without jumps finds the fixed points.
        around = [
            dilation(EqualJobs(replace(job, interval=factor * job.interval), Storage(1.0, writers=1), 4))
            for factor in (0.98, 1.02)
        ]
        assert around[0].wait > found.wait > around[1].wait
        assert around[0].goodput < found.goodput < around[1].goodput

    @pytest.mark.thorough
    def test_no_more_jobs_are_said_to_fit_than_were_tried(self):
        done = called(
            "checkpoint",
            "--size",
            "1B",
            "--bandwidth",
            "1GB/s",
            "--mtbf",
            "1h",
            "--interval",
            "1h",
            "--replications",
            2,
        )
        assert done.returncode == 0, done.stderr
        assert "100,000 jobs or more can share this storage" in done.stdout
