"""What a job costs when its phases flow; run with --benchmark-enable. CPU time counts."""

import time

import numpy as np
import pytest

from validation.mesh import Mesh, Network, Traffic, TrafficPhase
from validation.mesh.job_flows import FlowNetwork

MIXED = Traffic.of(TrafficPhase(pattern="mixed", flits=5, rounds=16, io_share=0.5))
ALTERNATING = Traffic.of(
    TrafficPhase(pattern="all-to-all", flits=5, rounds=4), TrafficPhase(pattern="write", flits=13)
)
LONG = Traffic(ALTERNATING.phases, repeat=20)


def play(cls, mesh, plan, jobs, interarrival):
    """First come, first served, the first free nodes, sizes geometric with mean 16."""
    network, rng = cls(mesh), np.random.default_rng(1)
    arrivals = np.cumsum(rng.exponential(interarrival, jobs)).round().astype(int).tolist()
    sizes = np.minimum(rng.geometric(1 / 16, jobs), mesh.nodes).tolist()
    free, held, queue, come, messages = np.ones(mesh.nodes, bool), {}, [], 0, 0
    while come < jobs or network.jobs:
        done = network.advance(until=arrivals[come] if come < jobs else None)
        for job in done:
            free[held.pop(job.job)] = True
            messages += job.messages
        if not done:
            queue.append(come)
            come += 1
        while queue and np.count_nonzero(free) >= sizes[queue[0]]:
            job = queue.pop(0)
            held[job] = np.flatnonzero(free)[: sizes[job]]
            free[held[job]] = False
            network.start(job, held[job], plan)
    return messages


@pytest.fixture
def cpu_benchmark(benchmark):
    for cls in (FlowNetwork, Network):
        play(cls, Mesh(4, 4, io_side="west"), MIXED, 5, 100)
    benchmark._timer = time.process_time
    return benchmark


@pytest.mark.parametrize("cls", [FlowNetwork, Network], ids=["flows", "worms"])
@pytest.mark.parametrize(
    ("plan", "jobs"),
    [(MIXED, 1000), (ALTERNATING, 1000), (LONG, 100)],
    ids=["mixed", "alternating", "long"],
)
def test_jobs_that_come_and_go_on_16_by_22(cpu_benchmark, cls, plan, jobs):
    mesh = Mesh(16, 22, io_side="west")
    messages = cpu_benchmark.pedantic(play, args=(cls, mesh, plan, jobs, 500.0), rounds=5)
    cpu_benchmark.extra_info.update(jobs=jobs, messages=messages)
