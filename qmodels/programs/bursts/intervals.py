"""Intervals of time: which belong together, what they cover, how many are open."""

from __future__ import annotations

import numpy as np

from phasefit.arrays import Array, Ints


def runs(owner: Ints, start: Array, end: Array, gap: float) -> tuple[Ints, Ints]:
    """Order intervals by owner and start, and find where a new run begins.

    Parameters
    ----------
    owner : (n,) ndarray of int
        Owner of each interval.
    start, end : (n,) ndarray
        Seconds.
    gap : float
        A longer pause after the latest end so far parts two runs, seconds.

    Returns
    -------
    order : (n,) ndarray of int
        Places by owner and start.
    first : (m,) ndarray of int
        Places in that order at which a run begins.
    """
    order = np.lexsort((end, start, owner))
    n = order.size
    if n == 0:
        return order, order
    owner, start, end = owner[order], start[order], end[order]
    changes = np.concatenate([[True], owner[1:] != owner[:-1]])
    # The running maximum of the ends, begun anew with each owner: maximum of (owner, rank of end).
    by_end = np.argsort(end, kind="stable")
    place = np.empty(n, dtype=np.int64)
    place[by_end] = np.arange(n)
    latest = end[by_end[np.maximum.accumulate(np.cumsum(changes) * n + place) % n]]
    apart = np.concatenate([[True], start[1:] - latest[:-1] > gap])
    return order, np.flatnonzero(changes | apart)


def running_ends(end: Array, first: Ints) -> Array:
    """Return the latest end of each run.

    Parameters
    ----------
    end : (n,) ndarray
        Seconds, in order.
    first : (m,) ndarray of int
        Places at which a run begins.
    """
    return np.maximum.reduceat(end, first) if first.size else end[:0]


def unions(owner: Ints, start: Array, end: Array) -> tuple[tuple[Ints, Array, Array], Array]:
    """Return the stretches (owner, start, end) that an owner's intervals cover, and their lengths.

    Parameters
    ----------
    owner : (n,) ndarray of int
        Owner of each interval.
    start, end : (n,) ndarray
        Seconds.
    """
    order, first = runs(owner, start, end, 0.0)
    begins, ends = start[order][first], running_ends(end[order], first)
    return (owner[order][first], begins, ends), ends - begins


def work_done(begins: Array, ends: Array, start: Array, end: Array) -> Array:
    """Return the integral of the number of open intervals over each of some stretches.

    Parameters
    ----------
    begins, ends : (n,) ndarray
        The intervals, seconds.
    start, end : (m,) ndarray
        The stretches, seconds.
    """
    if not begins.size:
        return np.zeros(start.size)
    times = np.concatenate([begins, ends])
    order = np.argsort(times, kind="stable")
    times = times[order]
    depth = np.cumsum(np.where(order < begins.size, 1, -1))
    work = np.concatenate([[0.0], np.cumsum(depth[:-1] * np.diff(times))])
    return np.asarray(np.interp(end, times, work) - np.interp(start, times, work))
