"""Long random histories: nothing overlaps, leaks or depends on how a state came about.

`QMODELS_OPERATIONS` sets how many operations the long run makes with each strategy.
"""

import os
from dataclasses import dataclass

import numpy as np
import pytest

from tests.families import GRID
from validation.mesh import Mesh, Occupancy

POWERS = [(1, 1), (1, 8), (2, 2), (4, 4), (16, 1), (4, 8), (8, 4), (8, 8), (32, 8)]
OTHERS = [(1, 1), (3, 5), (4, 4), (1, 9), (9, 1), (5, 7), (7, 5), (8, 8), (16, 22)]
STRETCH = 5000  #: operations on one mesh before all its jobs end
LONG = int(os.environ.get("QMODELS_OPERATIONS", "10000000"))


@dataclass
class Tally:
    """What a campaign has done."""

    given: int = 0
    refused: int = 0
    released: int = 0
    rebuilt: int = 0  #: states built afresh and asked again

    @property
    def operations(self):
        return self.given + self.refused + self.released


def campaign(make, operations, rng, sides=None):
    """Make so many requests and releases, booked in an array beside the mesh."""
    strategy, tally = make(), Tally()
    if sides is None:
        sides = POWERS if strategy.name.endswith("BT") else OTHERS
    turn = 0
    while tally.operations < operations:
        stretch(make, sides[turn % len(sides)], min(STRETCH, operations), rng, tally)
        turn += 1
    return tally


def stretch(make, sides, operations, rng, tally):
    """One history on one mesh, at the end of which every job ends, in random order."""
    strategy, mesh = make(), Occupancy(Mesh(*sides))
    owner, held, jobs, taken = np.zeros(mesh.nodes, dtype=np.int64), {}, [], 0
    sizes = np.exp(rng.uniform(0.0, np.log(mesh.nodes + 1), operations)).astype(int).tolist()
    coins, picks = rng.random(operations).tolist(), rng.random(operations).tolist()
    for job in range(1, operations + 1):
        if jobs and coins[job - 1] < 0.5:
            k = int(picks[job - 1] * len(jobs))
            jobs[k], jobs[-1] = jobs[-1], jobs[k]
            taken -= leave(mesh, owner, held, jobs.pop())
            tally.released += 1
        else:
            size = sizes[job - 1]
            nodes = strategy.choose(mesh, size)
            if job % 64 == 0 and strategy.name != "Random":
                asked_afresh(make, owner, sides, size, nodes)
                tally.rebuilt += 1
            if nodes is None:
                assert strategy.kind != "exact" or size > mesh.nodes - taken, f"{size} refused"
                tally.refused += 1
                continue
            assert nodes.size == size
            assert not owner[nodes].any(), "a node is given twice"
            owner[nodes] = job
            mesh.occupy(job, nodes)
            held[job] = nodes.tolist()
            jobs.append(job)
            taken += size
            tally.given += 1
        assert np.count_nonzero(owner) == taken == mesh.nodes - mesh.free
        if job % 64 == 0:
            assert np.array_equal(owner > 0, mesh.busy.ravel())
    for k in rng.permutation(len(jobs)).tolist():
        taken -= leave(mesh, owner, held, jobs[k])
        tally.released += 1
        assert np.count_nonzero(owner) == taken == mesh.nodes - mesh.free
    assert not mesh.jobs
    assert not mesh.busy.any()
    assert strategy.choose(mesh, mesh.nodes).tolist() == list(range(mesh.nodes))


def leave(mesh, owner, held, job):
    """End a job; returns how many nodes come back."""
    nodes = mesh.release(job)
    assert nodes.tolist() == held.pop(job)
    assert (owner[nodes] == job).all()
    owner[nodes] = 0
    return nodes.size


def asked_afresh(make, owner, sides, size, nodes):
    """A fresh strategy on a fresh mesh, busy in the same places, answers the same."""
    mesh = Occupancy(Mesh(*sides))
    if owner.any():
        mesh.occupy("all", np.flatnonzero(owner))
    again = make().choose(mesh, size)
    assert (again is None) == (nodes is None)
    assert nodes is None or np.array_equal(again, nodes), "the past shows in the answer"


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("name", GRID)
def test_thousands_of_operations_neither_overlap_nor_leak_nor_leave_a_trace(name):
    tally = campaign(GRID[name], 4500, np.random.default_rng(41))
    assert tally.operations >= 4500
    assert min(tally.given, tally.released) > 1000


@pytest.mark.slow
@pytest.mark.parametrize("name", GRID)
def test_ten_million_operations_neither_overlap_nor_leak_nor_leave_a_trace(name):
    entropy = np.random.SeedSequence().entropy
    try:
        campaign(GRID[name], LONG, np.random.default_rng(entropy))
    except AssertionError as error:
        raise AssertionError(f"seed {entropy}: {error}") from error
