"""How many disk partitions are at work, from how the running jobs crowd on them.

With k jobs running, n of them transferring, the disk partitions complete transfers as fast as
those do that hold at least one of the n. Which that are depends on how the k jobs lie on the disk
partitions, and that follows from a small chain of its own: the occupancy.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import pairwise
from typing import Final

import numpy as np

from phasefit.arrays import Array
from qmodels.markov import QBD, solve_chain, solve_qbd
from qmodels.networks.product_form import log_convolve, log_factorials
from qmodels.policies.system import spread

#: Jobs on each disk partition, in falling order within each group of like partitions.
Crowd = tuple[int, ...]

#: Probability below which a level counts as reached too seldom to tell its states apart.
_SELDOM: Final = 1e-290


@dataclass(frozen=True)
class DiskRooms:
    """Disk partitions by how many jobs each takes, and how many run altogether.

    Examples
    --------
    >>> DiskRooms((2, 2), 4).crowds()[2]
    [(1, 1), (2, 0)]
    """

    rooms: tuple[int, ...]  #: most jobs on each disk partition, in falling order
    max_running: int  #: most jobs that run on all of them
    kinds: tuple[Hashable, ...] = ()  #: what tells them apart besides, one for each

    @property
    def groups(self) -> list[slice]:
        """Disk partitions next to each other that are alike."""
        kinds = list(zip(self.rooms, self.kinds or self.rooms, strict=True))
        edges = [n for n in range(1, len(kinds)) if kinds[n] != kinds[n - 1]]
        return [slice(a, b) for a, b in pairwise([0, *edges, len(self.rooms)])]

    def crowds(self) -> list[list[Crowd]]:
        """Ways in which 0..c jobs may lie, each list in lexical order."""
        found: list[Crowd] = [()]
        for group in self.groups:
            room, alike = self.rooms[group.start], group.stop - group.start
            found = [
                (*before, *own)
                for before in found
                for own in _falling(alike, min(room, self.max_running - sum(before)))
                if sum(before) + sum(own) <= self.max_running
            ]
        levels: list[list[Crowd]] = [[] for _ in range(self.max_running + 1)]
        for crowd in found:
            levels[sum(crowd)].append(crowd)
        return [sorted(level) for level in levels]

    def count(self) -> int:
        """Number of all these ways, counted without making them."""
        levels = np.zeros(self.max_running + 1)
        levels[0] = 1.0
        for group in self.groups:
            levels = _choose(levels, self.rooms[group.start], group.stop - group.start)
        return int(min(levels.sum(), 1e18))

    def joined(self, crowd: Crowd) -> Crowd:
        """Where the next job starts: on the least loaded, the one with most room among equals."""
        free = [at for at, jobs in enumerate(crowd) if jobs < self.rooms[at]]
        return self._with(crowd, min(free, key=lambda at: (crowd[at], at)), 1)

    def left(self, crowd: Crowd) -> list[tuple[int, Crowd]]:
        """Each disk partition that a job may leave, and how the others lie afterwards."""
        return [(at, self._with(crowd, at, -1)) for at, jobs in enumerate(crowd) if jobs]

    def _with(self, crowd: Crowd, at: int, more: int) -> Crowd:
        changed = [*crowd]
        changed[at] += more
        parts = (sorted(changed[group], reverse=True) for group in self.groups)
        return tuple(jobs for part in parts for jobs in part)


def _falling(size: int, most: int) -> list[Crowd]:
    """Sequences of `size` counts from `most` down to 0, none larger than the one before."""
    found: list[Crowd] = [()]
    for _ in range(size):
        found = [(*own, n) for own in found for n in range((own[-1] if own else most) + 1)]
    return found


def _choose(levels: Array, room: int, alike: int) -> Array:
    """Ways once `alike` more disk partitions have been filled with at most `room` jobs each."""
    most = levels.size - 1
    table: Array = np.zeros((alike + 1, most + 1))
    table[0] = levels
    # partitions of a number into at most `alike` parts: add parts of one size after the other
    for part in range(room + 1):
        for used in range(1, alike + 1):
            if part <= most:
                table[used, part:] += table[used - 1, : most + 1 - part]
    return np.asarray(table[alike])


@dataclass(frozen=True, eq=False)
class Crowding:
    """Law of how k running jobs lie on the disk partitions, for k = 0..c."""

    crowds: list[list[Crowd]]
    probabilities: list[Array]  #: by k, given that k jobs run

    @classmethod
    def even(cls, rooms: DiskRooms) -> Crowding:
        """All jobs spread as evenly as can be."""
        used = len(rooms.rooms)
        crowds = [[tuple(spread(k, used))] for k in range(rooms.max_running + 1)]
        return cls(crowds, [np.ones(1)] * len(crowds))

    def together(self, k: int, each: Array) -> float:
        """Mean of what all disk partitions do while k jobs run, by what each does with its jobs.

        That is one row for all of them, (y,), or a row for each, (partitions, y).
        """
        crowds = self.crowds[k]
        rows, every = _of_each(each, len(crowds[0])), np.arange(len(crowds[0]))
        return float(self.probabilities[k] @ [rows[every, list(crowd)].sum() for crowd in crowds])

    def at_work(self) -> list[Array]:
        """B(n, k), disk partitions at work while n of k jobs transfer; entry k is (k + 1,).

        Given how the jobs lie, x_l of them on partition l, the n that transfer lie there as in
        equilibrium: with weights prod 1 / (x_l - n_l)!.
        """
        return [
            np.asarray(law @ np.array([_at_work(crowd) for crowd in own]))
            for own, law in zip(self.crowds, self.probabilities, strict=True)
        ]


def _of_each(rates: Array, partitions: int) -> Array:
    """Return a row for each disk partition, given one for all or a row each."""
    rows = np.atleast_2d(rates)
    return np.broadcast_to(rows, (partitions, rows.shape[1]))


# Of a few numbers each; the same crowds come again with every arrival rate and every policy.
@lru_cache(maxsize=20_000)
def _at_work(crowd: Crowd) -> Array:
    """Disk partitions at work while n = 0..k of the jobs that lie like this transfer, (k + 1,)."""
    held = [x for x in crowd if x]
    found = np.zeros(sum(held) + 1)
    factorial = log_factorials(max(crowd, default=0))
    # where products of factorials leave the range of the floats, their logarithms do not
    small = float(factorial[held].sum()) < 600.0
    weights = {x: -factorial[: x + 1][::-1] for x in set(held)}
    if small:
        weights = {x: np.exp(w) for x, w in weights.items()}
    product = np.convolve if small else log_convolve

    def lying(jobs: list[int]) -> Array:
        """Weights of n = 0, 1, ... transfers among these, or their logarithms."""
        return reduce(product, (weights[x] for x in jobs), np.ones(1) if small else np.zeros(1))

    together = lying(held)
    for x in weights:
        others = [*held]
        others.remove(x)
        rest = lying(others)
        idle = np.zeros(found.size)
        if small:
            idle[: rest.size] = rest * weights[x][0] / together[: rest.size]
        else:
            idle[: rest.size] = np.exp(np.minimum(rest + weights[x][0] - together[: rest.size], 0))
        found += held.count(x) * (1.0 - np.minimum(idle, 1.0))
    found[0] = 0.0
    return found


#: Transfers and completions: jobs per second that a disk partition with y jobs completes, for
#: y = 0, 1, ..., while k jobs run altogether; one row for all of them, or a row for each.
Completions = Callable[[int], Array]


def completions(cpu: float, io: float, most: int) -> Array:
    """Jobs per second completed by y = 0..most jobs that share a disk; (most + 1,).

    The machine-repair model of whole jobs, by the recursion R_y = I (1 + Q_{y-1}).
    """
    if io == 0.0:
        return np.arange(most + 1) / cpu
    if cpu == 0.0:
        return np.concatenate([[0.0], np.full(most, 1.0 / io)])
    found = [0.0]
    queue = 0.0
    for y in range(1, most + 1):
        stay = io * (1.0 + queue)
        found.append(y / (cpu + stay))
        queue = found[-1] * stay
    return np.array(found)


def crowding(rooms: DiskRooms, rates: Completions, arrival_rate: float | None) -> Crowding:
    """How the running jobs lie while jobs arrive at a rate, or always wait (None).

    Parameters
    ----------
    rooms : DiskRooms
    rates : callable
        ``rates(k)[y]``, or ``rates(k)[l, y]`` on disk partition l, see `Completions`.
    arrival_rate : float, optional
        Jobs per second, taken as a Poisson stream. None: there is always a job waiting, and only
        the law with all partitions taken is meant; the others are left even.

    Returns
    -------
    Crowding
    """
    crowds, c = rooms.crowds(), rooms.max_running
    place = [{crowd: at for at, crowd in enumerate(level)} for level in crowds]
    down: list[Array] = []
    for k in range(1, c + 1):
        own = _of_each(rates(k), len(rooms.rooms))
        block = np.zeros((len(crowds[k]), len(crowds[k - 1])))
        for row, crowd in enumerate(crowds[k]):
            for at, left in rooms.left(crowd):
                block[row, place[k - 1][left]] += own[at, crowd[at]]
        down.append(block)
    up: list[Array] = []
    for k in range(c):
        block = np.zeros((len(crowds[k]), len(crowds[k + 1])))
        for row, crowd in enumerate(crowds[k]):
            block[row, place[k + 1][rooms.joined(crowd)]] = 1.0
        up.append(block)
    again = down[-1] @ up[-1]  # with a job waiting, the next starts at once
    if arrival_rate is None:
        even = [np.full(len(level), 1.0 / len(level)) for level in crowds]
        even[-1] = saturated_law(again)
        return Crowding(crowds, even)
    laws = occupancy_law(up, down, again, arrival_rate)
    return Crowding(crowds, [law / law.sum() for law in laws])


def saturated_law(again: Array) -> Array:
    """Law of the states with all partitions taken while every job that leaves is replaced.

    `again` holds the rates of these replacements; some states may be left for good.
    """
    if len(again) == 1:
        return np.ones(1)
    return np.asarray(solve_chain(again).probabilities)


def occupancy_law(
    up: Sequence[Array], down: Sequence[Array], again: Array, arrival_rate: float
) -> list[Array]:
    """Law of who lies where, as a queue of its own: level k counts jobs, those beyond c wait.

    Parameters
    ----------
    up : sequence of (n_k, n_{k+1}) ndarray
        Where a start leads with k = 0..c - 1 jobs running, probabilities.
    down : sequence of (n_{k+1}, n_k) ndarray
        Rates of completions with k + 1 jobs running.
    again : (n_c, n_c) ndarray
        Rates of completions after which a waiting job starts.
    arrival_rate : float
        Jobs per second.

    Returns
    -------
    list of (n_k,) ndarray
        Probabilities for k = 0..c; those of the last level with and without jobs waiting.
    """
    if len(again) == 1 and arrival_rate < again[0, 0]:
        return within_floats(_law_by_levels(up, down, arrival_rate))
    full: Array = np.eye(len(again))
    found = solve_qbd(
        QBD(
            up=[*(arrival_rate * block for block in up), arrival_rate * full],
            local=[np.zeros((len(block), len(block))) for block in (*up, again)],
            down=[*down, again],
        )
    )
    return within_floats([*found.boundary[:-1], found.tail])


def within_floats(laws: Sequence[Array]) -> list[Array]:
    """The laws of the levels, even on those that are reached too seldom for a float to say how."""
    return [law if law.sum() > _SELDOM else np.full(law.size, _SELDOM / law.size) for law in laws]


def _law_by_levels(up: Sequence[Array], down: Sequence[Array], arrival_rate: float) -> list[Array]:
    """The law where only one state has all partitions taken, as `occupancy_law` returns it.

    Behind that state jobs queue as at one server. What lies before is left one level at a time:
    seen only while at most k jobs run, an arrival leads from level k to where k + 1 jobs come down
    to k. The diagonals are sums of rates, so that small probabilities are as accurate as large.
    """
    comes_down = np.ones((1, 1))  # where level k comes down to from each of its states
    passed: list[Array] = []  # mean time in the states of level k before it comes down
    for k in range(len(down), 0, -1):
        rates = -arrival_rate * (up[k] @ comes_down) if k < len(up) else np.zeros((1, 1))
        np.fill_diagonal(rates, 0.0)
        np.fill_diagonal(rates, down[k - 1].sum(axis=1) - rates.sum(axis=1))
        # by columns the largest entries are on the diagonal, which elimination then keeps to
        passed.append(np.asarray(np.linalg.inv(rates.T).T, dtype=float))
        comes_down = passed[-1] @ down[k - 1]
    laws = [np.ones(1)]
    for start, times in zip(up, reversed(passed), strict=True):
        laws.append(arrival_rate * (laws[-1] @ start) @ times)
        if laws[-1].sum() > 1e100:  # the sums stay within the range of the floats
            laws = [law / laws[-1].sum() for law in laws]
    laws[-1] = laws[-1] / (1.0 - arrival_rate / float(down[-1].sum()))
    total = sum(float(law.sum()) for law in laws)
    return [law / total for law in laws]
