"""Processes on this machine's own kernel, and the closed network beside them."""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import nullcontext
from itertools import count, pairwise
from pathlib import Path

import numpy as np
import pytest

from qmodels.errors import ModelError
from tests.figure_checks import problems
from validation.kernel import comparison, worker
from validation.kernel.comparison import KernelRow, joined, predicted_turns
from validation.kernel.processes import Mix, Turns, file_on_disk, run_turns
from validation.papers import RunOptions, kernel
from validation.papers.kernel import outcome_of


def turns(rate: float, cpu: float) -> Turns:
    seconds = 10.0
    return Turns(np.linspace(0.0, seconds, round(rate * seconds), endpoint=False), seconds, cpu, 0.0)


def test_one_process_is_predicted_as_it_was_measured():
    assert predicted_turns(turns(20.0, 0.03), np.array([1.0, 1.7]), 1, 1) == pytest.approx(20.0, rel=1e-12)


def test_balanced_network_has_its_textbook_throughput():
    # Two equal single servers with n customers: n / (n + 1) of either's rate.
    assert predicted_turns(turns(10.0, 0.05), np.array([1.0]), 4, 1) == pytest.approx(0.8 * 20.0, rel=1e-12)


def test_parts_add_up_to_the_throughput():
    ran = turns(20.0, 0.03)
    assert ran.in_parts().mean() == pytest.approx(ran.throughput)


def row(measured: float, *, others: float = 0.0) -> KernelRow:
    return KernelRow(1, 0.5, 2, measured, 0.1, 60.0, 40.0, others)


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        ([row(60.0), row(59.0)], "holds"),
        ([row(60.0), row(40.0)], "fails"),
        ([row(60.0), row(40.0, others=0.2)], "holds"),
        ([row(60.0, others=0.2)], "undecided"),
    ],
    ids=["near", "far", "far but disturbed", "nothing left"],
)
def test_rows_that_others_disturbed_are_left_out_and_counted(rows, verdict):
    (finding,) = outcome_of(rows).findings
    assert finding.verdict == verdict
    assert f"{sum(each.others > 0 for each in rows)} rows left out" in finding.detail


@pytest.mark.thorough
def test_processes_run_on_the_processors_they_were_given(tmp_path):
    with file_on_disk(tmp_path) as path:
        ran = run_turns(path, Mix(computing=0.005, blocks=1.0), 2, 1, 0.5, 3)
        with pytest.raises(ModelError, match="processors asked for"):
            run_turns(path, Mix(0.0, 1.0), 1, 1 + len(os.sched_getaffinity(0)), 0.1, 0)
    assert ran.ends.size > 0
    assert ran.cpu > 0.0
    assert ran.throughput * ran.cpu < 1.1  # one processor has no more time
    assert not list(tmp_path.iterdir())


def test_a_file_system_without_direct_access_is_refused():
    if not os.path.ismount("/sys"):
        pytest.skip("no such file system")
    with pytest.raises((ModelError, OSError)), file_on_disk(Path("/sys")):
        pass


def test_counts_of_the_same_are_one_after_the_other():
    both = joined([turns(20.0, 0.03), turns(10.0, 0.06)])
    assert both.seconds == 20.0
    assert both.throughput == pytest.approx(15.0)
    assert both.cpu == pytest.approx((200 * 0.03 + 100 * 0.06) / 300)
    assert both.ends.max() < both.seconds


def test_turns_of_a_textbook_network_are_predicted_from_one_process(monkeypatch):
    """A disk of a hundred blocks a second and a processor, both as long for a turn: n / (n + 1) of either."""

    def played(path, mix, processes, cores, seconds, seed):
        io = mix.blocks / 100.0
        busy = 1.0 if mix.computing == 0.0 else processes / (processes + 1)
        return turns(busy / io, mix.computing)

    monkeypatch.setattr(comparison, "run_turns", played)
    monkeypatch.setattr(kernel, "file_on_disk", nullcontext)
    outcome = kernel.EXPERIMENT.run(RunOptions(quick=True))
    assert outcome.table.processes.tolist() == [1, 2, 4]
    assert outcome.table.io_share.to_numpy() == pytest.approx(0.5)
    assert outcome.table.measured.to_numpy() == pytest.approx([50.0, 200 / 3, 80.0], rel=2e-3)
    assert outcome.table.error.abs().max() < 2e-3
    assert outcome.findings[0].holds
    assert problems(outcome.figure()) == []


def test_a_process_ends_turns_from_its_start_on_and_one_after_its_end(tmp_path, monkeypatch, capsys):
    (tmp_path / "blocks").write_bytes(bytes(worker.BLOCK))
    start, looks = time.monotonic(), count()
    words = [tmp_path / "blocks", 5, 0.001, 0.5, start, start + 0.01]
    monkeypatch.setattr(sys, "argv", ["worker", *map(str, words)])
    # A clock that goes on by a millisecond when it is looked at: another process may take all of these ten.
    monkeypatch.setattr(worker.time, "monotonic", lambda: start + 1e-3 * next(looks))
    worker.main()
    told = json.loads(capsys.readouterr().out)
    assert all(a < b for a, b in pairwise([start, *told["ends"]]))
    assert told["ends"][-1] >= start + 0.01
    assert told["cpu"] > 0.0
