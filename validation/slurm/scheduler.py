"""Slurm's schedulers in small: what they do with jobs of fixed widths, limits and classes of priority.

The main scheduler starts jobs in order, as long as the first fits. A new job is also tried at once,
unless one of a higher class waits: where priorities are equal it so passes those that wait. The
backfill scheduler is not EASY. At each look every waiting job, in order, is planned for the earliest
time at which so many nodes are free by the limits of those that run and of those planned before it,
on nodes that are named; only a job whose time is now starts.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from math import inf, nan

import numpy as np
from numpy.typing import ArrayLike

from phasefit.arrays import Array


def simulate_slurm(
    arrival: ArrayLike,
    widths: ArrayLike,
    run: ArrayLike,
    limits: ArrayLike,
    nodes: int,
    *,
    urgent: ArrayLike | None = None,
    tick: float = inf,
    phase: float = 0.0,
) -> Array:
    """Return when each job ends under Slurm's schedulers.

    Parameters
    ----------
    arrival : (jobs,) array_like
        Seconds, not falling.
    widths : (jobs,) array_like of int
        Nodes that a job needs, at most `nodes`.
    run, limits : (jobs,) array_like
        Seconds.
    nodes : int
        Of the machine, alike and in a row: a job gets the shortest row of free ones that holds it.
    urgent : (jobs,) array_like of bool, optional
        Whether a job is of the higher of two classes of priority. By default priorities fall from
        job to job, so that none passes.
    tick : float
        Seconds between two looks of the backfill scheduler (``bf_interval``); infinite for none.
    phase : float
        Seconds from the beginning to the first look.

    Returns
    -------
    (jobs,) ndarray
        Seconds.

    References
    ----------
    .. [1] Slurm documentation, "Scheduling Configuration Guide" (slurm.schedmd.com), on the main
       and the backfill scheduler.

    Examples
    --------
    The third job is planned behind the second, which it would delay; the fourth is not in the way:

    >>> simulate_slurm([0, 1, 2, 3], [3, 4, 1, 1], [10, 5, 4, 7], [10, 6, 9, 7], 4, tick=1.0)
    array([10., 15., 19., 10.])
    """
    times = [np.asarray(each, dtype=float).tolist() for each in (arrival, run, limits)]
    classes = None if urgent is None else np.where(np.asarray(urgent), 0, 1).tolist()
    scheduler = _Scheduler(times, np.asarray(widths).tolist(), classes, nodes)
    return scheduler.until_all_ended(tick, phase if tick < inf else inf)


class _Scheduler:
    """Nodes as bits of whole numbers, jobs by their numbers."""

    def __init__(
        self, times: list[list[float]], widths: list[int], classes: list[int] | None, nodes: int
    ) -> None:
        self.arrival, self.run, self.limits = times
        self.widths, self.classes = widths, classes
        self.free = (1 << nodes) - 1
        self.now = 0.0
        self.waiting: list[int] = []
        self.running: dict[int, tuple[float, int]] = {}  # when its limit ends, and its nodes
        self.ends: list[tuple[float, int]] = []
        self.end = [nan] * len(widths)

    def until_all_ended(self, tick: float, phase: float) -> Array:
        """Go from event to event; return when each job ended."""
        arrived, look = 0, phase
        while arrived < len(self.arrival) or self.ends:
            then = self.arrival[arrived] if arrived < len(self.arrival) else inf
            then = min(then, self.ends[0][0]) if self.ends else then
            if self.waiting and look < then:
                self.now, look = look, look + tick
                self._plan()
                continue
            while look < then and not self.waiting:
                look += tick
            self.now = then
            if self.ends and self.ends[0][0] <= then:
                _, job = heapq.heappop(self.ends)
                self.free |= self.running.pop(job)[1]
            else:
                self._submit(arrived)
                arrived += 1
            while self.waiting and self.widths[self.waiting[0]] <= self.free.bit_count():
                first = self.waiting.pop(0)
                self._start(first, _chosen(self.free, self.widths[first]))
        return np.array(self.end)

    def _submit(self, job: int) -> None:
        """Try a new job at once if no other comes before it by its class, else let it wait."""
        if self.classes is None:
            self.waiting.append(job)
            return
        classes = self.classes
        own = classes[job]
        first = not self.waiting or classes[self.waiting[0]] >= own
        if first and self.widths[job] <= self.free.bit_count():
            self._start(job, _chosen(self.free, self.widths[job]))
        else:
            insort(self.waiting, job, key=lambda each: (classes[each], each))

    def _start(self, job: int, nodes: int) -> None:
        self.free &= ~nodes
        self.running[job] = (self.now + self.limits[job], nodes)
        self.end[job] = self.now + self.run[job]
        heapq.heappush(self.ends, (self.end[job], job))

    def _plan(self) -> None:
        """Plan all that wait, and start those whose time is now."""
        times, free = [self.now], [self.free]
        for end, nodes in sorted(self.running.values()):
            if end > times[-1]:
                times.append(end)
                free.append(free[-1])
            free[-1] |= nodes
        for job in list(self.waiting):
            begin, nodes = self._earliest(job, times, free)
            if begin <= self.now:
                self.waiting.remove(job)
                self._start(job, nodes)
            end = begin + self.limits[job]
            at = bisect_left(times, end)
            if at == len(times) or times[at] != end:
                times.insert(at, end)
                free.insert(at, free[at - 1])
            for k in range(bisect_left(times, begin), at):
                free[k] &= ~nodes

    def _earliest(self, job: int, times: list[float], free: list[int]) -> tuple[float, int]:
        """Return when enough nodes are free for all of the job's limit, and which it gets."""
        for k, begin in enumerate(times):
            throughout, end = free[k], begin + self.limits[job]
            for later in range(k + 1, len(times)):
                if times[later] >= end:
                    break
                throughout &= free[later]
            if throughout.bit_count() >= self.widths[job]:
                return begin, _chosen(throughout, self.widths[job])
        raise AssertionError("all nodes are free after the last end")


def _chosen(free: int, width: int) -> int:
    """Return the nodes that a job gets: of the shortest row that holds it, else of the longest ones."""
    # Bits that differ from the one before begin a row of free nodes or end it.
    changes = free ^ (free << 1)
    edges = [at for at in range(changes.bit_length()) if changes >> at & 1]
    rows = [(stop - start, start) for start, stop in zip(edges[::2], edges[1::2], strict=True)]
    nodes = 0
    while width:
        fits = [row for row in rows if row[0] >= width]
        row = min(fits) if fits else max(rows, key=lambda each: each[0])
        rows.remove(row)
        taken = min(row[0], width)
        nodes |= ((1 << taken) - 1) << row[1]
        width -= taken
    return nodes
