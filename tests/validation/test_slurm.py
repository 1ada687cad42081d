"""A real Slurm as the referee: what is computed around it, and with --full the lab itself."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from qmodels import DynamicPartitioning, SpaceSharing, System, TimeSharing
from qmodels.exports.slurm import as_slurm
from qmodels.io import read_jobs
from tests.campaigns.record import FOLDER
from tests.campaigns.slurm import BEGIN, END, PAGE, page_table
from tests.command import called
from validation.rigid import NodeGroup, RigidJobs, RigidMachine, Weights, simulate_rigid
from validation.slurm.lab import missing
from validation.slurm.prediction import log_of
from validation.slurm.replay import Latencies, replay, responses
from validation.slurm.rows import Measurement, Row, dead_times, measure
from validation.slurm.scheduler import simulate_slurm
from validation.slurm.submission import LabJob, LabRun

EXAMPLE = Path(__file__).parents[2] / "docs/examples/measured-runs.toml"
needs_slurm = pytest.mark.skipif(bool(missing()), reason=missing())


def test_space_sharing_gives_each_job_its_own_nodes_and_time_sharing_lets_several_take_turns():
    space, time = (
        as_slurm(policy, System(16, 4))
        for policy in (SpaceSharing(4, 4), TimeSharing(4, 4, multiprogramming=3))
    )
    assert "MinNodes=4 MaxNodes=4 OverSubscribe=EXCLUSIVE" in space.lines[-1]
    assert "PreemptMode=GANG" in time.lines
    assert "OverSubscribe=FORCE:3" in time.lines[-1]
    assert any("not overlapped" in each for each in time.differences)


def test_a_policy_that_slurm_cannot_run_has_no_lines_but_a_reason():
    told = as_slurm(DynamicPartitioning(1), System(16, 4))
    assert told.lines == ()
    assert "does not divide them anew" in str(told)


def test_partitions_of_unequal_sizes_leave_nodes_idle_and_say_so():
    told = as_slurm(SpaceSharing(3, 1), System(16, 4))
    assert "MinNodes=5 MaxNodes=5" in told.lines[-1]
    assert any("1 of 16 nodes stay idle" in each for each in told.differences)


@pytest.mark.thorough
def test_the_command_prints_the_lines_below_its_advice():
    done = called("recommend", EXAMPLE, "--listed", "--load", "0.3", "--as", "slurm")
    assert done.returncode == 0
    assert "# DP(1): no Slurm runs it" in done.stdout
    assert "PartitionName=sp Nodes=ALL Default=YES MinNodes=64 MaxNodes=64" in done.stdout


def test_a_row_draws_the_same_jobs_again_with_the_load_and_the_variance_that_it_names():
    row = Row("SP(4,1)", 0.7, 3.0, 2.0, jobs=40_000)
    jobs = row.drawn_jobs()
    sizes = np.array([job.size for job in jobs])
    error = sizes.std() / sizes.size**0.5
    assert sizes.mean() == pytest.approx(3.0, abs=4 * error)
    assert jobs[-1].arrival / len(jobs) == pytest.approx(3.0 / (0.7 * 4), rel=4 / len(jobs) ** 0.5)
    assert row.drawn_jobs()[:5] == jobs[:5]


def test_the_time_between_an_end_and_the_next_start_is_found_of_jobs_that_all_wait():
    """Two at once, each followed by the next after a tenth of a second."""
    ends = np.array([1.0, 1.5, 2.2, 2.9, 3.4, 4.1])
    starts = np.concatenate([[0.0, 0.0], ends[:-2] + 0.1])
    runs = [LabRun(0.0, begin, end) for begin, end in zip(starts, ends, strict=True)]
    assert dead_times(runs, 2) == pytest.approx([0.1, 0.1])


def made(row, jobs, starts, latencies=(0.0, 0.0)):
    """Return a row in which jobs begin when they should and end when their bursts do."""
    runs = [
        LabRun(job.arrival, start, start + job.size, tuple(seconds for _, seconds in job.phases))
        for job, start in zip(jobs, starts, strict=True)
    ]
    return Measurement(row, jobs, runs, [latencies[0]], [latencies[1]])


def test_a_replay_adds_what_the_lab_measured_and_nothing_else():
    """Two partitions, three jobs: the third follows the second after a dead time of .2 s."""
    jobs = [LabJob(t, (("c", s),)) for t, s in ((0.0, 5.0), (1.0, 2.0), (2.0, 1.0))]
    row = made(Row("SP(2,1)", 0.5, 2.0), jobs, [0.1, 1.1, 3.3], (0.1, 0.2))
    assert replay(row) == pytest.approx([5.1, 2.1, 2.3])
    assert responses(row) == pytest.approx([5.1, 2.1, 2.3])
    assert replay(row, Latencies()) == pytest.approx([5.0, 2.0, 2.0])


def test_jobs_queue_at_a_disk_that_they_share():
    jobs = [LabJob(0.0, (("c", 1.0), ("d", 2.0))), LabJob(0.5, (("c", 1.0), ("d", 2.0)))]
    row = made(Row("SP(2,1)", 0.5, 3.0, disks=1), jobs, [0.0, 0.5])
    assert replay(row) == pytest.approx([3.0, 4.5])


def test_backfilling_plans_all_that_wait_where_easy_plans_the_first_alone():
    """The fourth job leaves the second its nodes, but not the third: EASY lets it pass, Slurm does not."""
    submit, need = np.arange(4.0), np.array([2, 3, 4, 1])
    run, limits = np.array([10.0, 10.0, 10.0, 50.0]), np.array([10.0, 10.0, 10.0, 100.0])
    easy = simulate_rigid(RigidJobs(submit, need, run, limit=limits), 4, "EASY").start
    slurm = simulate_slurm(submit, need, run, limits, 4, tick=1.0) - run
    assert easy.tolist() == [0.0, 10.0, 53.0, 3.0]
    assert slurm.tolist() == [0.0, 10.0, 20.0, 30.0]


def test_a_new_job_passes_those_of_its_own_class_but_none_above_it():
    widths, run = [3, 2, 1, 1], [10.0, 5.0, 1.0, 1.0]
    alike = simulate_slurm([0, 1, 2, 3], widths, run, run, 4, urgent=[False] * 4) - run
    assert alike.tolist() == [0.0, 10.0, 2.0, 3.0]
    behind = simulate_slurm([0, 1, 2, 3], widths, run, run, 4, urgent=[False, True, False, True]) - run
    assert behind.tolist() == [0.0, 10.0, 10.0, 3.0]


def test_the_log_of_a_row_leaves_out_what_the_lab_measured_before_it():
    head = "JobID|JobName|Submit|Start|End|State|AllocCPUS|NNodes|ElapsedRaw"
    day = "2026-01-01T00:00:"
    lines = [
        f"{k}|job|{day}{k:02}|{day}{k:02}|{day}{k + k % 2:02}|COMPLETED|2|2|{k % 2}" for k in range(1, 6)
    ]
    text = "\n".join([head, *lines])
    row = Measurement(Row("SP(2,1)", 0.5, 1.0), [LabJob(0.0, ())] * 2, [], [], [], sacct=text)
    assert log_of(row).jobs["job"].tolist() == [4, 5]
    assert log_of(row).runtimes.tolist() == [0.0, 1.0]


def test_the_public_log_of_a_real_slurm_is_replayed_by_nodes_and_weights(shared_data):
    """Ten nodes of 12 cores: order and what nodes have carry the answer, cores alone do not."""
    path = shared_data / "slurm" / "micro-cluster-500-jobs.sacct"
    log = read_jobs(path, unit="cores").jobs
    table = pd.read_csv(path, sep="|", dtype=str, keep_default_na=False).set_index("JobID")
    rows = table.loc[log["job"].astype(str)]
    run = np.maximum(log["run"].to_numpy(), 1.0)
    nodes, need = rows.NNodes.to_numpy(int), log["size"].to_numpy(int)
    large = (rows.ReqMem == "500000Mn").to_numpy()
    jobs = RigidJobs(
        log["submit"].to_numpy(),
        need,
        run,
        limit=log["requested_time"].to_numpy(),
        user=log["user"].to_numpy(int) - 1,
        nodes=nodes,
        memory=np.where(large, 500_000, 2_800 * (need // nodes)),
        gpus=rows.ReqGRES.str.extract(r"(\d)$", expand=False).fillna("0").to_numpy(int),
    )
    machine = RigidMachine([NodeGroup(8, 12, 48_000), NodeGroup(1, 12, 48_000, 2), NodeGroup(1, 12, 512_000)])
    weights = Weights(
        size=200_000, age=50_000, fair_share=50_000, age_limit=18_000.0, half_life=14_400.0, dampening=5.0
    )
    by_cores = RigidJobs(jobs.submit, jobs.need, jobs.run, limit=jobs.limit)
    assert log["wait"].mean() == pytest.approx(12_301.354)
    assert simulate_rigid(by_cores, 120, "EASY").mean_wait == pytest.approx(3_095.8, abs=0.1)
    assert simulate_rigid(jobs, machine, "EASY", weights=weights).mean_wait == pytest.approx(7_811.0, abs=0.1)


def test_the_page_shows_the_rows_on_record():
    table = pd.read_csv(FOLDER / "slurm.csv")
    assert f"{BEGIN}\n{page_table(table)}\n{END}" in PAGE.read_text(encoding="utf-8")


@pytest.mark.slow
@needs_slurm
def test_a_lab_runs_jobs_and_leaves_nothing_behind(tmp_path):
    found = measure(
        Row("SP(4,1)", 0.7, 0.5, jobs=12, disks=1, io_share=0.3, bursts=2), folder=tmp_path / "lab"
    )
    assert not (tmp_path / "lab").exists()
    assert all(run.submit < run.begin < run.end for run in found.runs)
    assert found.sacct.count("COMPLETED") == len(found.runs) + len(found.start) + 32
    found.save(tmp_path / "row.json")
    assert Measurement.read(tmp_path / "row.json") == found
