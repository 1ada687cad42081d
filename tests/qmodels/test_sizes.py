"""Sizes are judged before the work: whatever the numbers, an answer or one line, and soon."""

from __future__ import annotations

import re
import signal
import time

import numpy as np
import pandas as pd
import pytest

from qmodels.errors import MemoryBudgetError, ModelError
from qmodels.io.runs import RunTable
from qmodels.policies import (
    DynamicPartitioning,
    SpaceSharing,
    System,
    TimeSharing,
    Workload,
    capacity,
    predict,
    recommend,
    work_bound,
)
from qmodels.policies.base import _check_running
from qmodels.policies.choice.candidates import default_candidates, too_many_jobs
from qmodels.programs import Burst, Phase, Program, WorkingSet, WorkloadMix, fit_runs
from qmodels.programs.side_by_side import times_of_parts
from tests.forked import Forked
from tests.little_work import little_work

SP, DP, TS = SpaceSharing, DynamicPartitioning, TimeSharing
ONE = Program([Phase(io=Burst(1.0), cpu=Burst(9.0))])

SCENARIO = """title = "sizes"
seed = 1
[machine]
processors = 128
disks = 16
min_processors = 4
[[program]]
name = "a"
io = { total = 10.0 }
cpu = { total = 100.0 }
repeat = 10
[demand]
scv = 2.0
[[policy]]
kind = "SP"
processor_partitions = 4
disk_partitions = 2
[[policy]]
kind = "DP"
disk_partitions = 2
[[policy]]
kind = "TS"
processor_partitions = 2
disk_partitions = 2
multiprogramming = 2
[study]
loads = [0.3]
"""
STRATEGIES = """title = "sizes"
seed = 1
[mesh]
rows = 8
columns = 12
depth = 1
io_side = "west"
[machine]
strategies = ["PLAS", "MC-Elongated", "Paging"]
hop = 1
buffer = 1
disk_pace = 1
[jobs]
count = 60
mean_size = 10.0
mean_interarrival = 60.0
[traffic]
flits = 5
io_share = 0.5
slots = 4
[study]
replications = 2
completions = 50
times = [50, 100]
"""
NUMBER = re.compile(r"(?<![\w.])\d+(\.\d+)?(?![\w.])")
HUGE = ("0", "1000000", "1000000000", "1000000000000000000")
#: Seconds of processor time that a command may work; those that imports take come on top.
MOST = 5.0
IMPORTS = """
import qmodels.cli, qmodels.commands.recommend, qmodels.policies.choice.recommendation
import qmodels.io.scenario, qmodels.commands.surface, qmodels.commands.predict
import qmodels.io.subjects, qmodels.io.outputs, qmodels.policies.models.response
import validation.commands.simulate, validation.sharing.simulator, validation.machine.play
import validation.study.run, validation.study.report, validation.machine.scenario
import validation.papers, pandas, sympy, matplotlib.pyplot, qmodels.plotting
"""


@pytest.mark.parametrize(
    ("policy", "system", "says"),
    [
        (SP(4000, 1), System(processors=4000, disks=4), "3,000"),
        (DP(1), System(processors=10**6, disks=4), "min_processors of 334"),
        (TS(500, 1, 4), System(processors=1000, disks=4), "at most about"),
    ],
    ids=["SP", "DP", "TS"],
)
def test_more_jobs_than_a_model_can_follow_are_refused_with_the_number_that_would_do(policy, system, says):
    with little_work(), pytest.raises(MemoryBudgetError, match=says):
        predict(policy, system, Workload(ONE), load=0.3)


def test_the_number_that_is_said_to_do_does():
    system = System(processors=10**6, disks=4, min_processors=334)
    _check_running(DP(1), system)
    refused = TS(500, 1, 4)
    with pytest.raises(MemoryBudgetError) as raised:
        capacity(refused, System(processors=1000, disks=4), Workload(ONE))
    fewer = int(re.search(r"at most about ([0-9,]+)", str(raised.value))[1].replace(",", ""))
    assert 100 < fewer < 500
    _check_running(TS(fewer, 1, 4), System(processors=1000, disks=4))  # some seconds to solve


def test_the_unit_of_load_is_found_a_part_of_the_allotments_at_a_time(monkeypatch):
    program = Program([Phase(io=Burst(1.0, law="min(d, p/4)"), cpu=Burst(9.0, sequential=1.0))])
    system = System(processors=64, disks=8, min_processors=3, min_disks=2)
    whole = work_bound(system, program)
    monkeypatch.setattr("qmodels.policies.base._AT_ONCE", 10)
    work_bound.cache_clear()
    assert work_bound(system, program) == whole
    work_bound.cache_clear()


def test_too_many_allotments_are_refused_with_the_number_that_would_do():
    system = System(processors=10**9, disks=16)
    with pytest.raises(MemoryBudgetError, match="at most 2,500,000 processors"):
        work_bound(system, ONE)
    with pytest.raises(ModelError, match="min_processors of at least 977"):
        recommend(System(processors=10**6, disks=16), Workload(ONE), load=0.3)


@pytest.mark.slow
def test_three_thousand_programs_are_predicted_under_dynamic_partitioning():
    """It took more than 95 s: each program was asked for each share of the processors."""
    mix = WorkloadMix([Program([Phase(io=Burst(1.0 + i / 3000), cpu=Burst(9.0))]) for i in range(3000)])
    began = time.process_time()
    found = predict(DP(16), System(processors=128, disks=16), Workload(mix), load=0.3)
    assert found.mean_response > 0
    assert time.process_time() - began < MOST


def test_bursts_that_scale_alike_are_one_term_of_the_sum():
    """20,000 different phases were refused, and 2,000 took as long as their number."""
    phases = [
        Phase(
            io=Burst(1.0 + i / 7, sequential=0.1 * (i % 3), law="min(d, p/4)" if i % 2 else "d"),
            cpu=Burst(9.0 + i, per_processor=0.01 * (i % 2), slowdown=(4, 2.0) if i % 5 else None),
        )
        for i in range(60)
    ]
    program = Program([WorkingSet(3, phases)])
    p, d = np.array([1.0, 3.0, 12.5]), 2.0
    for kind, whole in (("io", program.mean_io), ("cpu", program.mean_cpu)):
        one_by_one = sum(3.0 * phase.burst(kind).mean_time(p, d) for phase in phases)
        assert whole(p, d) == pytest.approx(one_by_one, rel=1e-13)
        assert len(program.sums[kind].parallel) == 2  # two laws of I/O; slowed down or not
    mix = WorkloadMix([Program([phase]) for phase in phases], weights=range(1, 61))
    by_hand = sum((i + 1) / 1830 * each.mean_time(p, d) for i, each in enumerate(mix.programs))
    assert mix.mean_time(p, d) == pytest.approx(by_hand, rel=1e-13)
    each = times_of_parts(mix, p, np.full(3, d))
    assert each == pytest.approx(np.array([x.mean_time(p, d) for x in mix.programs]), rel=1e-13)


def test_functions_and_random_laws_are_terms_of_their_own():
    def law(p, d):
        return p**0.9

    def other(p, d):
        return p**0.8

    one = Program([Phase(0.0, Burst(5.0, law=each)) for each in (law, other, law)])
    assert len(one.sums["cpu"].parallel) == 2
    assert one.mean_cpu(4.0, 1.0) == pytest.approx(10.0 / 4.0**0.9 + 5.0 / 4.0**0.8, rel=1e-13)


@pytest.mark.slow
def test_twenty_thousand_phases_are_predicted():
    began = time.process_time()
    program = Program([Phase(Burst(1.0 + i / 20000), Burst(9.0 + i / 7000)) for i in range(20000)])
    found = predict(DP(16), System(processors=128, disks=16), Workload(program), load=0.3)
    assert found.mean_response > 0
    assert time.process_time() - began < MOST


@pytest.mark.thorough
def test_a_table_of_twenty_thousand_phases_is_refused_with_the_number_that_would_do():
    rows = pd.DataFrame(
        [("a", i, kind, p, 1, 1.0 / p) for i in range(1, 20001) for kind in ("io",) for p in (1, 2)]
        + [("a", 1, "io", 4, 1, 0.25)],
        columns=["program", "phase", "kind", "p", "d", "seconds"],
    )
    table = RunTable(rows)
    with little_work(), pytest.raises(MemoryBudgetError, match="at most 100 phases"):
        fit_runs(table)


def test_policies_of_very_many_jobs_are_not_proposed():
    system = System(processors=1000, disks=16)
    left, kept = too_many_jobs(system), default_candidates(system)
    assert {policy.arrangement(system).max_running <= 200 for policy in kept} == {True}
    assert DP(1) in left
    assert TS(128, 1, 2) in left
    assert SP(128, 1) in kept
    assert not too_many_jobs(System(processors=256, disks=16, min_processors=4))


def spoilt(given):
    """A file with one of its numbers at a time set to each of `HUGE`, and the line changed."""
    lines = given.splitlines()
    for i, line in enumerate(lines):
        for match in NUMBER.finditer(line):
            for value in HUGE:
                new = value + (".0" if match[1] else "")
                changed = line[: match.start()] + new + line[match.end() :]
                yield "\n".join([*lines[:i], changed, *lines[i + 1 :]]), changed


COMMANDS = {
    "predict": SCENARIO,
    "recommend": SCENARIO,
    "surface": SCENARIO,
    "simulate": SCENARIO,
    "study": SCENARIO,
    "sweep": SCENARIO,
    "allocate": STRATEGIES,
}
#: What is given beside the file, so that a file with its numbers as they were takes a second.
OPTIONS = {
    "simulate": ["--jobs", "200"],
    "study": ["-j", "1", "-o", "out"],
    "sweep": ["machine.disks=8,16", "--dry-run", "-j", "1"],
    "allocate": ["-j", "1"],
}
SIMULATING = ("simulate", "allocate", "study", "sweep")
LONGEST = 30.0  #: processor seconds
CASES = [(command, text, changed) for command, given in COMMANDS.items() for text, changed in spoilt(given)]
#: In the gate those that took all memory or minutes; the others with --full.
GATE = {
    ("predict", "processors = 1000000000"),
    ("allocate", "rows = 1000000000"),
}


@pytest.fixture(scope="module")
def forked(tmp_path_factory):
    server = Forked(IMPORTS, tmp_path_factory.mktemp("commands"))
    yield server
    server.close()


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize(
    ("command", "text"),
    [
        pytest.param(
            command,
            text,
            id=f"{command}-{changed}",
            marks=[] if (command, changed) in GATE else pytest.mark.slow,
        )
        for command, text, changed in CASES
    ],
)
def test_any_number_of_a_scenario_may_be_absurd(tmp_path, forked, command, text):
    done = ended(forked, tmp_path, command, text)
    assert "Traceback" not in done.err
    assert done.megabytes < 3000
    # What is simulated takes as long as it says, and can be broken off and gone on with.
    if command in SIMULATING and "to do" in done.err:
        assert done.code in (0, 1, 2, 4, -signal.SIGXCPU)
        return
    # One that went on would be ended by a signal: `LONGEST` is many times what each takes.
    assert done.code in (0, 1, 2, 3, 4), done.err
    if done.code:
        assert done.err.strip()


def ended(forked, folder, command, text=None):
    """A command on a text, or on its file as it is."""
    (folder / "s.toml").write_text(text or COMMANDS[command], encoding="utf-8")
    options = [str(folder / word) if word == "out" else word for word in OPTIONS.get(command, [])]
    code = "from qmodels.cli import main; main()"
    return forked.run(code, command, str(folder / "s.toml"), *options, most=LONGEST)
