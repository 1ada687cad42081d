"""Long random histories of boxes: nothing overlaps or leaks, and the busy list is what is held.

`QMODELS_OPERATIONS` sets how many operations the long run makes with each strategy.
"""

import os

import numpy as np
import pytest

from tests.families import BOXES
from validation.allocation import Request
from validation.mesh import Mesh, Occupancy, Sides

PLACES = [
    ((6, 5, 4), False),
    ((4, 4, 4), True),
    ((1, 7, 3), False),
    ((5, 4, 3), True),
    ((8, 8, 8), False),
    ((66, 2, 2), True),
]
STRETCH = 2500  #: operations on one mesh before all its jobs end
LONG = int(os.environ.get("QMODELS_OPERATIONS", "10000000"))


def campaign(name, operations, rng):
    """Make so many requests and releases; how many were given and refused."""
    counts, turn = np.zeros(2, dtype=int), 0
    while counts.sum() < operations:
        sides, torus = PLACES[turn % len(PLACES)]
        counts += stretch(name, Mesh.of_sides(sides, torus=torus), rng)
        turn += 1
    return counts


def stretch(name, place, rng):
    """One history, booked in an array beside the mesh, at the end of which every job ends."""
    held, owner, jobs = Occupancy(place), np.zeros(place.nodes, dtype=np.int64), []
    given = refused = 0
    most = np.maximum(1, (np.array(place.sides) * rng.uniform(0.2, 1.0, (STRETCH, 3))).astype(int))
    shapes = rng.integers(1, most + 1).tolist()
    for job, shape in enumerate(shapes, start=1):
        if jobs and rng.random() < 0.5:
            leave(held, owner, jobs, rng)
        nodes = BOXES[name]().choose(held, Request.of_shape(*shape))
        if nodes is None:
            refused += 1
        else:
            assert not owner[nodes].any(), "a node is given twice"
            owner[nodes] = job
            held.occupy(job, nodes)
            jobs.append(job)
            given += 1
            assert sorted(held.boxes[-1, 3:]) == sorted(shape)
        assert np.count_nonzero(owner) == place.nodes - held.free
        if job % 64 == 0:
            assert np.array_equal(owner > 0, held.busy.ravel())
            assert list(held.jobs) == jobs
            assert held.boxes[:, 3:].prod(axis=1).tolist() == [len(held.jobs[k]) for k in jobs]
    while jobs:
        leave(held, owner, jobs, rng)
    assert not held.busy.any()
    assert len(held.boxes) == 0
    assert BOXES[name]().choose(held, place.nodes).tolist() == list(range(place.nodes))
    return given, refused


def leave(held, owner, jobs, rng):
    """End a job at random; its nodes come back and no others."""
    job = jobs.pop(int(rng.integers(len(jobs))))
    nodes = held.release(job)
    assert (owner[nodes] == job).all()
    owner[nodes] = 0
    assert job not in owner[:: max(1, owner.size // 8)]


@pytest.mark.thorough
@pytest.mark.parametrize("name", BOXES)
def test_thousands_of_operations_neither_overlap_nor_leak(name):
    given, refused = campaign(name, 2 * STRETCH, np.random.default_rng(43))
    assert min(given, refused) > 500


@pytest.mark.slow
@pytest.mark.parametrize("name", BOXES)
def test_ten_million_operations_neither_overlap_nor_leak(name):
    entropy = np.random.SeedSequence().entropy
    try:
        campaign(name, LONG, np.random.default_rng(entropy))
    except AssertionError as error:
        raise AssertionError(f"seed {entropy}: {error}") from error


def test_a_busy_list_is_the_same_whenever_it_is_first_asked_for(rng):
    for torus in (False, True):
        place, jobs = Mesh.of_sides((5, 4, 3), torus=torus), []
        early = Occupancy(place)
        assert len(early.boxes) == 0
        for job in range(200):
            if jobs and rng.random() < 0.5:
                early.release(jobs.pop(int(rng.integers(len(jobs)))))
            nodes = BOXES["TBL"]().choose(early, Request.of_shape(*rng.integers(1, 4, 3).tolist()))
            if nodes is not None:
                early.occupy(job, nodes)
                jobs.append(job)
            late = Occupancy(place)
            for name, own in early.jobs.items():
                late.occupy(name, own)
            assert early.boxes.tolist() == late.boxes.tolist()
    assert isinstance(place.sides, Sides)
