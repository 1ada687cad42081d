"""How many jobs a strategy places per second; run with --benchmark-enable. CPU time counts."""

import time

import numpy as np
import pytest

from validation.allocation import STRATEGIES
from validation.mesh import Mesh, Occupancy


def at_seventy_per_cent(strategy, mesh, rng, mean):
    """Fill the mesh to 70 % and let jobs come and go until it has forgotten its beginning."""
    sizes = iter((rng.exponential(mean, 100_000).astype(int) + 1).clip(max=mesh.nodes // 4))
    churn(strategy, mesh, rng, sizes, mesh.nodes * 2 // mean)
    return sizes


def churn(strategy, mesh, rng, sizes, pairs):
    """Place and release `pairs` jobs, the load staying as near 70 % as the sizes let it."""
    done = 0
    jobs = list(mesh.jobs)
    while done < pairs:
        while mesh.free < 0.3 * mesh.nodes:
            k = int(rng.integers(len(jobs)))
            jobs[k], jobs[-1] = jobs[-1], jobs[k]
            mesh.release(jobs.pop())
        job = object()
        nodes = strategy.choose(mesh, int(next(sizes)))
        if nodes is None:  # a rectangle may be missing although enough nodes are free
            k = int(rng.integers(len(jobs)))
            jobs[k], jobs[-1] = jobs[-1], jobs[k]
            mesh.release(jobs.pop())
            continue
        mesh.occupy(job, nodes)
        jobs.append(job)
        done += 1


@pytest.mark.parametrize("mean", [16, 64])
@pytest.mark.parametrize("name", STRATEGIES)
def test_a_thousand_jobs_on_128_by_128_at_70_per_cent(benchmark, name, mean):
    strategy, rng = STRATEGIES[name](), np.random.default_rng(7)
    mesh = Occupancy(Mesh(128, 128))
    sizes = at_seventy_per_cent(strategy, mesh, rng, mean)
    benchmark._timer = time.process_time
    benchmark.pedantic(churn, args=(strategy, mesh, rng, sizes, 1000), rounds=3)
    benchmark.extra_info["pairs_per_second"] = (
        1000 / benchmark.stats.stats.median if benchmark.stats else None
    )
