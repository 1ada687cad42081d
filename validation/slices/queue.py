"""Slices of any blocks, first come first served: the exact queue."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from phasefit.checks import real_number
from phasefit.records import Drawing, Result
from qmodels.errors import MemoryBudgetError, ModelError, UnstableError
from validation.slices.chains import stationary_law
from validation.slices.pod import Pod, SliceMix

_Running = tuple[int, ...]
_Blocked = tuple[_Running, int]

#: States of a level, and sets of slices that run together: some seconds.
_MOST_PHASES, _MOST_SETS = 1500, 3000


@dataclass(frozen=True, eq=False)
class SliceQueue(Result):
    """First come, first served, any blocks; times in seconds, None where no load was given."""

    drawing = Drawing("", ("utilisation", "largest_utilisation"))

    pod: Pod
    mix: SliceMix
    load: float | None
    largest_utilisation: float  #: with a full queue: the load below which there is a steady state
    wait: float | None  #: mean time from arrival to start
    waiting: float | None  #: mean number of jobs that wait
    utilisation: float | None
    method: str = "exact"


def slice_queue(pod: Pod, mix: SliceMix | str, load: float | None = None) -> SliceQueue:
    """The queue of jobs that take any free blocks in order of arrival: exact.

    Parameters
    ----------
    pod : Pod
        Its number of blocks is all that counts.
    mix : SliceMix or str
        Slices of whole blocks; arrivals are Poisson, times exponential.
    load : float, optional
        Share of all chips asked for; without it only the largest utilisation is found.

    Returns
    -------
    SliceQueue

    Raises
    ------
    ModelError
        If a slice does not fit or is a part of a block.
    UnstableError
        If the load is not below the largest utilisation.
    MemoryBudgetError
        If the chain is too large: many blocks, and slices of many sizes. Simulate then.

    Notes
    -----
    A state is who runs, the slice of the first that waits, and how many are behind it: of those
    nothing need be known before they are first. One end can start several, so that the number
    behind falls by up to m at once; m levels together make a quasi-birth-death chain.

    References
    ----------
    .. [1] M. F. Neuts, *Matrix-Geometric Solutions in Stochastic Models*, Johns Hopkins University
       Press 1981, chs. 1 and 3.

    Examples
    --------
    >>> found = slice_queue(Pod((2, 1, 1)), "1x1x1, 2x1x1", 0.5)
    >>> round(found.largest_utilisation, 8), round(found.wait, 8)
    (0.85714286, 1.27860564)
    """
    mix = SliceMix.of(mix, pod)
    if any(pod.is_small(shape) for shape in mix.shapes):
        raise ModelError("a part of a block has no exact answer here; simulate it")
    chain = _Chain(pod, mix)
    most = chain.largest_utilisation()
    if load is None:
        return SliceQueue(pod, mix, None, most, None, None, None)
    asked = real_number("load", load, above=0.0)
    rate, capacity = mix.arrival_rate(pod, asked), mix.arrival_rate(pod, most)
    if asked >= most:
        raise UnstableError("first come, first served", rate, capacity, load=asked, largest_load=most)
    waiting = chain.mean_waiting(rate)
    return SliceQueue(pod, mix, asked, most, waiting / rate, waiting, asked)


class _Chain:
    """Who runs and who is first, and what an end or an arrival makes of it."""

    def __init__(self, pod: Pod, mix: SliceMix) -> None:
        blocks = np.array([np.prod(pod.turns(s, anywhere=True)[0]) for s in mix.shapes])
        sizes, kind = np.unique(blocks, return_inverse=True)
        if len({(s, m) for s, m in zip(blocks, mix.means, strict=True)}) > sizes.size:
            # Shapes of as many blocks may end at different rates: they stay apart.
            sizes, kind = blocks, np.arange(blocks.size)
        self.pod, self.mix = pod, mix
        self.sizes: list[int] = sizes.tolist()
        self.shares = np.bincount(kind, mix.weights)
        self.rates = np.array([1.0 / mix.means[int(np.argmax(kind == k))] for k in range(len(sizes))])
        self.cascade = lru_cache(maxsize=None)(self._cascade)

    def free(self, running: _Running) -> int:
        return self.pod.count - sum(n * s for n, s in zip(running, self.sizes, strict=True))

    def with_one(self, running: _Running, c: int, more: int = 1) -> _Running:
        return (*running[:c], running[c] + more, *running[c + 1 :])

    def every(self) -> list[_Running]:
        """All that can run together."""
        found: list[_Running] = [()]
        for c, size in enumerate(self.sizes):
            longer = []
            for part in found:
                left = self.pod.count - sum(n * s for n, s in zip(part, self.sizes[:c], strict=True))
                longer += [(*part, n) for n in range(left // size + 1)]
                if len(longer) > _MOST_SETS:
                    raise MemoryBudgetError(
                        f"more than {_MOST_SETS:,} sets of slices can run together: too many for "
                        "an exact answer. Simulate instead"
                    )
            found = longer
        return found

    def _cascade(self, running: _Running, behind: int) -> dict[tuple[int, _Running, int], float]:
        """What starts when the first has just started and `behind` wait, at most.

        Returns the probability of (how many more have left the queue, who runs, who is first); -1
        where nobody is left.
        """
        if behind == 0:
            return {(0, running, -1): 1.0}
        found: dict[tuple[int, _Running, int], float] = {}
        for c, part in enumerate(self.shares.tolist()):
            if self.sizes[c] > self.free(running):
                key = (1, running, c)
                found[key] = found.get(key, 0.0) + part
                continue
            for (gone, then, first), more in self.cascade(self.with_one(running, c), behind - 1).items():
                key = (gone + 1, then, first)
                found[key] = found.get(key, 0.0) + part * more
        return found

    def blocked(self) -> list[_Blocked]:
        """Who runs and who is first where the first does not fit."""
        return [
            (running, c)
            for running in self.every()
            for c, size in enumerate(self.sizes)
            if size > self.free(running)
        ]

    def ends(self, state: _Blocked, behind: int) -> Iterator[tuple[float, int, _Running, int]]:
        """Rate, how many leave the queue, who runs and who is first (-1: nobody) after an end."""
        running, first = state
        for c, n in enumerate(running):
            if n == 0:
                continue
            rate, left = n * float(self.rates[c]), self.with_one(running, c, -1)
            if self.sizes[first] > self.free(left):
                yield rate, 0, left, first
                continue
            started = self.with_one(left, first)
            for (gone, then, head), part in self.cascade(started, behind).items():
                # Who is first still waits: one more has left than have started behind it.
                yield rate * part, gone + (head < 0), then, head

    def largest_utilisation(self) -> float:
        states = {state: i for i, state in enumerate(self.blocked())}
        moves = [
            (i, states[then, head], rate)
            for state, i in states.items()
            for rate, _, then, head in self.ends(state, self.pod.count)
        ]
        pi = stationary_law(moves, len(states))
        used = np.array([self.pod.count - self.free(running) for running, _ in states])
        return float(pi @ used) / self.pod.count

    def mean_waiting(self, arrivals: float) -> float:
        from qmodels.markov import QBD, solve_qbd

        phases, empty = self.blocked(), self.every()
        index = {state: i for i, state in enumerate(phases)}
        free = {state: i for i, state in enumerate(empty)}
        p, m = len(phases), self.pod.count // min(self.sizes)
        if p * m > _MOST_PHASES:
            raise MemoryBudgetError(
                f"{p * m:,} states to a level are too many for an exact answer; at most "
                f"{_MOST_PHASES:,} are solved. Simulate instead"
            )
        n = p * m  # level J >= 1 holds r = 1..m of (J - 1) m + r that wait

        def at(waiting: int, state: _Blocked) -> int:
            return (waiting - 1) % m * p + index[state]

        up0, local0, down0 = (
            np.zeros((len(empty), n)),
            np.zeros((len(empty),) * 2),
            np.zeros((n, len(empty))),
        )
        up, local, first, down = (np.zeros((n, n)) for _ in range(4))
        for running, i in free.items():
            for c, part in enumerate(self.shares.tolist()):
                if self.sizes[c] <= self.free(running):
                    local0[i, free[self.with_one(running, c)]] += arrivals * part
                else:
                    up0[i, at(1, (running, c))] += arrivals * part
            for c, k in enumerate(running):
                if k:
                    local0[i, free[self.with_one(running, c, -1)]] += k * self.rates[c]
        for state in phases:
            for r in range(1, m + 1):
                i = at(r, state)
                (up if r == m else local)[i, at(r + 1, state)] += arrivals
                if r < m:
                    first[i, at(r + 1, state)] += arrivals
                for rate, gone, then, head in self.ends(state, r - 1):
                    if head < 0:
                        down0[i, free[then]] += rate
                    else:
                        first[i, at(r - gone, (then, head))] += rate
                for rate, gone, then, head in self.ends(state, self.pod.count):
                    to = local if gone < r else down
                    to[i, at(r - gone + m, (then, head))] += rate
        chain = QBD([up0, up, up], [local0, first, local], [down0, down, down])
        solution = solve_qbd(chain)
        within = np.repeat(np.arange(1, m + 1), p)
        beyond = solution.tail  # by phase, of all levels from 2 on
        return float(
            within @ solution.level(1) + within @ beyond + m * (beyond.sum() + solution.mean_excess())
        )
