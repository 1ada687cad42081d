"""A real Slurm as the referee: what is computed around it, and with --full the lab itself."""

import numpy as np
import pytest

from qmodels import DynamicPartitioning, SpaceSharing, System, TimeSharing
from qmodels.exports.slurm import as_slurm
from validation.slurm.lab import missing
from validation.slurm.rows import Measurement, Row, dead_times, measure
from validation.slurm.submission import LabRun

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
