"""One job followed through the disk: the absorbing chain that starts as it arrives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_array, csr_array

from phasefit import PhaseType
from phasefit.arrays import Array
from qmodels.networks.occupancy import (
    Centre,
    Entries,
    assembled,
    sharing_centre,
    sorted_csr,
    waiting_centre,
)

#: What an arriving job finds: for each number of others at the disk, the probability of every
#: state of the disk and of the delay, (disk states, delay states).
Arrivals = Sequence[Array]


@dataclass(frozen=True, eq=False)
class Stay:
    """The stay of a tagged job: where it starts, how it moves, how it ends."""

    start: Array  #: (n,)
    rates: csr_array  #: (n, n)
    ends: Array  #: (n,)


def shared(on_arrival: Arrivals, disk: PhaseType, delay: Centre, speeds: Array) -> Stay:
    """Return the stay of a job where everybody is served at ``speeds[k]`` while there are k.

    Parameters
    ----------
    on_arrival : tuple of ndarray
        Rate of arrivals by what they find.
    disk : PhaseType
        Of the service, seconds.
    delay : Centre
        The other centre.
    speeds : (n + 1,) ndarray
        Speed of each job while k are at the disk.
    """
    jobs, m = len(on_arrival) - 1, disk.order
    others = sharing_centre(disk, jobs, speeds[1:])
    sizes = np.diff(others.starts)
    level = np.repeat(np.arange(jobs + 1), sizes)
    inside = np.arange(int(others.starts[-1])) - others.starts[level]

    def place(state: NDArray[np.integer], stage: int) -> NDArray[np.integer]:
        here = level[state]
        return np.asarray(m * others.starts[here] + stage * sizes[here] + inside[state])

    n = m * int(others.starts[-1])
    tables = []
    for matrix in (others.local, others.leave, others.enter):
        entries, entries_in = Entries(), matrix.tocoo()
        for b in range(m):
            entries.add(place(entries_in.row, b), place(entries_in.col, b), entries_in.data)
        tables.append(entries)
    every, speed = np.arange(inside.size), speeds[1:][level]
    ends = np.empty(n)
    for b in range(m):
        ends[place(every, b)] = speed * disk.exit[b]
        for c in np.flatnonzero(disk.jumps[b]):
            tables[0].add(place(every, b), place(every, int(c)), speed * disk.jumps[b, c])
    local, leave, enter = (entries.matrix(n) for entries in tables)
    tagged = Centre(m * others.starts, local, leave, enter, ends)
    chain = assembled(tagged, delay, jobs)
    start = np.concatenate([np.kron(disk.alpha, seen.ravel()) for seen in on_arrival])
    return Stay(start, chain.rates, chain.ends)


def in_order_of_arrival(on_arrival: Arrivals, disk: PhaseType, servers: int) -> Stay:
    """Return the stay of a job where those that came first are served first.

    What comes after the tagged job does not concern it.

    Parameters
    ----------
    on_arrival : tuple of ndarray
        Rate of arrivals by what they find.
    disk : PhaseType
        Of the service, seconds.
    servers : int
        Jobs served at once.
    """
    jobs = len(on_arrival) - 1
    ahead = waiting_centre(disk, jobs, servers)
    if servers > jobs:
        return Stay(disk.alpha, csr_array(disk.jumps), disk.exit)
    first, width = int(ahead.starts[servers]), ahead.size(servers)
    rates = ahead.local[first:, first:] + ahead.leave[first:, first:]
    called = np.asarray(ahead.leave[first:].sum(axis=1))
    called[width:] = 0.0  # others are still ahead
    seen = np.concatenate([here.sum(axis=1) for here in on_arrival[servers:]])
    return _then_served(Stay(seen, csr_array(rates), called), disk, on_arrival[:servers])


def in_random_order(on_arrival: Arrivals, disk: PhaseType, delay: Centre, servers: int) -> Stay:
    """Return the stay of a job where each that waits is as likely as the others to be next.

    Parameters
    ----------
    on_arrival : tuple of ndarray
        Rate of arrivals by what they find.
    disk : PhaseType
        Of the service, seconds.
    delay : Centre
        The other centre.
    servers : int
        Jobs served at once.
    """
    jobs = len(on_arrival) - 1
    if servers > jobs:
        return in_order_of_arrival(on_arrival, disk, servers)
    others = waiting_centre(disk, jobs, servers)
    first = int(others.starts[servers])
    levels = np.repeat(np.arange(jobs + 1), np.diff(others.starts))[first:]
    waiting = levels - servers + 1.0  # the tagged job among them
    leaving = np.asarray(others.leave[first:].sum(axis=1))
    passed_over = others.leave[first:, first:].multiply(((waiting - 1.0) / waiting)[:, None])
    centre = Centre(
        np.maximum(others.starts - first, 0),
        sorted_csr(csr_array(others.local[first:, first:])),
        sorted_csr(csr_array(passed_over)),
        sorted_csr(csr_array(others.enter[first:, first:])),
        leaving / waiting,
    )
    chain = assembled(centre, delay, jobs)
    seen = np.concatenate([here.ravel() for here in on_arrival[servers:]])
    return _then_served(Stay(seen, chain.rates, chain.ends), disk, on_arrival[:servers])


def interrupted(on_arrival: Arrivals, disk: PhaseType, delay: Centre) -> Stay:
    """Return the stay of a job where the last to arrive is served.

    Those below the tagged job stay below it.

    Parameters
    ----------
    on_arrival : tuple of ndarray
        Rate of arrivals by what they find.
    disk : PhaseType
        Of the service, seconds.
    delay : Centre
        The other centre.
    """
    jobs, m = len(on_arrival) - 1, disk.order
    # within level k: a = 0..k jobs above the tagged one, and the stages of those a + 1
    offsets = np.concatenate([[0], np.cumsum([m ** (a + 1) for a in range(jobs + 1)])])
    starts = np.concatenate([[0], np.cumsum(offsets[1:])]).astype(np.int64)
    local, leave, enter = Entries(), Entries(), Entries()
    n = int(starts[-1])
    ends, start = np.zeros(n), []
    for k in range(jobs + 1):
        states = np.arange(int(offsets[k + 1]))
        above = np.repeat(np.arange(k + 1), np.diff(offsets[: k + 2]))
        digits = states - offsets[above]
        here, top = starts[k] + states, digits % m
        ends[here] = np.where(above == 0, disk.exit[top], 0.0)
        popped = above > 0
        if popped.any():
            to = starts[k - 1] + offsets[above[popped] - 1] + digits[popped] // m
            leave.add(here[popped], to, disk.exit[top[popped]])
        for b in range(m):
            local.add(here, here - top + b, disk.jumps[top, b])
            if k < jobs:
                to = starts[k + 1] + offsets[above + 1] + digits * m + b
                enter.add(here, to, np.full(states.size, disk.alpha[b]))
        first = np.zeros(states.size)
        first[:m] = disk.alpha
        start.append(np.kron(first, on_arrival[k].sum(axis=0)))
    centre = Centre(starts, local.matrix(n), leave.matrix(n), enter.matrix(n), ends)
    chain = assembled(centre, delay, jobs)
    return Stay(np.concatenate(start), chain.rates, chain.ends)


def _then_served(waiting: Stay, disk: PhaseType, free: Arrivals) -> Stay:
    """A wait, unless a server is free on arrival, and then the tagged job's own service."""
    straight = fsum(float(here.sum()) for here in free)
    start = np.concatenate([waiting.start, straight * disk.alpha])
    called = csr_array(np.outer(waiting.ends, disk.alpha))
    rates = csr_array(block_array([[waiting.rates, called], [None, csr_array(disk.jumps)]]))
    ends = np.concatenate([np.zeros(waiting.start.size), disk.exit])
    return Stay(start, sorted_csr(rates), ends)
