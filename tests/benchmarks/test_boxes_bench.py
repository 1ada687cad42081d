"""Boxes placed and released per second; run with --benchmark-enable. CPU time counts."""

import time

import numpy as np
import pytest

from tests.families import BOXES
from validation.allocation import Request
from validation.mesh import Mesh, Occupancy


def churn(strategy, held, rng, requests, pairs):
    """Place and release so many boxes, the load staying as near 70 % as the sizes let it."""
    jobs, done = list(held.jobs), 0

    def release_one():
        k = int(rng.integers(len(jobs)))
        jobs[k], jobs[-1] = jobs[-1], jobs[k]
        held.release(jobs.pop())

    while done < pairs:
        while held.free < 0.3 * held.nodes:
            release_one()
        nodes = strategy.choose(held, next(requests))
        if nodes is None:
            release_one()
            continue
        job = object()
        held.occupy(job, nodes)
        jobs.append(job)
        done += 1


@pytest.mark.parametrize("part", [4, 2])  # of a side is the longest side of a box
@pytest.mark.parametrize("side", [16, 32])
@pytest.mark.parametrize("name", BOXES)
def test_boxes_on_a_cube_at_70_per_cent(benchmark, name, side, part):
    strategy, rng, pairs = BOXES[name](), np.random.default_rng(7), 64_000 // side
    held = Occupancy(Mesh.of_sides((side,) * 3))
    sides = rng.integers(1, side // part + 1, (100_000, 3)).tolist()
    requests = (Request.of_shape(*box) for box in sides)
    churn(strategy, held, rng, requests, pairs // 2)
    benchmark._timer = time.process_time
    benchmark.pedantic(churn, args=(strategy, held, rng, requests, pairs), rounds=3)
    benchmark.extra_info["pairs_per_second"] = (
        pairs / benchmark.stats.stats.median if benchmark.stats else None
    )
