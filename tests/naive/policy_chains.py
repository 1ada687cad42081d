"""Exact chains of SP, DP and TS written to be read: every job by name of its partition and phase.

Arbiter for `qmodels.policies` with exponential bursts: no lumping, the queue cut off at a level.
"""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.linalg import spsolve


def mean_jobs(rate, *, most, place, io, cpu, go_on, in_turn=False, dividing=None, levels=60, moments=(1,)):
    """Mean number of jobs in the system.

    place(running) -> (partition, disk); io, cpu(job, k) -> mean burst; go_on[n]: probability that
    a phase follows phase n (phase 0 again after the last); in_turn: computation bursts of a
    partition one at a time; dividing(k): mean of an exponential standstill whenever k changes.
    A job is (partition, disk, phase, what); computing jobs stay in order of arrival there.
    """
    empty = (0, False, ())
    index, todo, entries = {empty: 0}, [empty], []
    while todo:
        state = todo.pop()
        for other, speed in _moves(state, rate, most, place, io, cpu, go_on, in_turn, dividing):
            if other[0] > levels or other == state:
                continue
            if other not in index:
                index[other] = len(index)
                todo.append(other)
            entries.append((index[state], index[other], speed))
    rows, columns, values = map(np.array, zip(*entries, strict=True))
    n = len(index)
    q = coo_array((values, (rows, columns)), shape=(n, n)).tocsr()
    q = q - coo_array((np.asarray(q.sum(axis=1)).ravel(), (range(n), range(n)))).tocsr()
    # Relative to the empty system: a row of ones, as the sum is one, would fill the factors.
    balance = q.T.tocsc()
    pi = np.append(1.0, spsolve(balance[1:, 1:], -balance[1:, [0]].toarray().ravel()))
    jobs = np.array([state[0] for state in index])
    return float(pi @ jobs / pi.sum())


def _moves(state, rate, most, place, io, cpu, go_on, in_turn, dividing):
    total, still, running = state
    k = len(running)
    if k < most:
        partition, disk = place(running)
        joined = _in_order((*running, (partition, disk, 0, "io")))
        yield (total + 1, dividing is not None, joined), rate
    else:
        yield (total + 1, still, running), rate
    if still:
        yield (total, False, running), 1 / dividing(k)
        return
    for job in running:
        partition, disk, phase, what = job
        others = list(running)
        others.remove(job)
        if what == "io":
            sharers = sum(j[1] == disk and j[3] == "io" for j in running)
            yield (
                (total, False, _in_order((*others, (partition, disk, phase, "cpu")))),
                1 / (sharers * io(job, k)),
            )
            continue
        if in_turn and next(j for j in running if j[0] == partition and j[3] == "cpu") is not job:
            continue
        speed = 1 / cpu(job, k)
        again = (partition, disk, (phase + 1) % len(go_on), "io")
        if go_on[phase] > 0:
            yield (total, False, _in_order((*others, again))), speed * go_on[phase]
        if go_on[phase] < 1:
            left = _in_order(others)
            freeze = dividing is not None and total <= most and total > 1
            if total > most:
                partition, disk = place(left)
                left = _in_order((*left, (partition, disk, 0, "io")))
            yield (total - 1, freeze, left), speed * (1 - go_on[phase])


def _in_order(jobs):
    """Transferring jobs sorted, computing ones as they came."""
    moving = sorted(j for j in jobs if j[3] == "io")
    return (*moving, *(j for j in jobs if j[3] == "cpu"))


def static_place(partitions, disks):
    """Disk with the fewest jobs, then the first free processor partition on it."""

    def place(running):
        taken = {j[0] for j in running}
        free = [c for c in range(partitions) if c not in taken]
        c = min(free, key=lambda c: (sum(j[1] == c % disks for j in running), c % disks, c))
        return c, c % disks

    return place


def dynamic_place(disks):
    """Disk with the fewest jobs."""

    def place(running):
        return 0, min(range(disks), key=lambda d: sum(j[1] == d for j in running))

    return place


def timed_place(partitions, disks, multiprogramming):
    """The four cases of the paper's section 3.5."""

    def place(running):
        def rank(c):
            computing = any(j[0] == c and j[3] == "cpu" for j in running)
            moving = any(j[1] == c % disks and j[3] == "io" for j in running)
            return computing + moving, sum(j[0] == c for j in running), c

        room = [c for c in range(partitions) if sum(j[0] == c for j in running) < multiprogramming]
        c = min(room, key=rank)
        return c, c % disks

    return place
