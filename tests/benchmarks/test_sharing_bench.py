"""Events per second of the job-level simulator on one core: ``pytest ... --benchmark-enable``.

Promised: 5 million for each policy, drawing the jobs included.
"""

import time

import pytest

from phasefit import PhaseType
from qmodels.policies import (
    DynamicPartitioning,
    SpaceSharing,
    System,
    TimeSharing,
    Workload,
    capacity,
)
from validation import simulate
from validation.papers.rosti.load_sweep import reference_machine, reference_workload

JOBS = 50_000
ONE = PhaseType.exponential(mean=1.0)


@pytest.mark.parametrize("bursts", [None, ONE], ids=["scaled", "drawn"])
@pytest.mark.parametrize("disk", ["ps", "fcfs", "siro"])
@pytest.mark.parametrize(
    "policy",
    [
        SpaceSharing(4, 4),
        SpaceSharing(16, 4),
        DynamicPartitioning(4),
        DynamicPartitioning(4, overhead=PhaseType.exponential(mean=0.05)),
        TimeSharing(4, 4),
        TimeSharing(16, 4),
        TimeSharing(16, 16, cpu_discipline="ps"),
    ],
    ids=str,
)
def test_events_per_second(benchmark, policy, disk, bursts):
    calm = reference_machine()
    machine = System(calm.processors, calm.disks, calm.min_processors, disk_discipline=disk)
    work = Workload(reference_workload().program)
    rate = 0.6 * capacity(policy, calm, work)
    cpu = []

    def run():
        before = time.process_time()
        found = simulate(
            policy,
            machine,
            work,
            arrival_rate=rate,
            jobs=JOBS,
            replications=1,
            workers=1,
            bursts=bursts,
        )
        cpu.append((time.process_time() - before) / found.events)
        return found

    run()
    found = benchmark(run)
    benchmark.extra_info["events_per_cpu_second"] = 1.0 / sorted(cpu)[len(cpu) // 2]
    assert found.events > 16 * JOBS
