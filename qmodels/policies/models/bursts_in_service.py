"""Bursts of unlike length that are served in turn: who is in service, given who is there.

A fixed number of jobs of each class goes back and forth between one server and elsewhere. The chain
knows the class in service and the counts of those that wait; the next one is picked at random, as
likely to be of each class as in order of arrival. The mean of many such visits is all that a
chain of the running jobs needs: completions per second of each class, given the counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import comb
from typing import Final

import numpy as np
from numpy.typing import NDArray

from phasefit.arrays import Array, read_only
from qmodels.markov.ctmc import stationary
from qmodels.networks.product_form import log_factorials

#: States of the largest chain that is solved, and of all for one machine.
MOST_IN_CHAIN: Final = 600
MOST_IN_ALL: Final = 30_000


def chain_size(jobs: tuple[int, ...]) -> int:
    """Return the number of states of the chain of so many jobs of each class."""
    return 1 + sum(sum(x > 0 for x in d) for d in product(*(range(j + 1) for j in jobs)))


@dataclass(frozen=True, eq=False)
class InService:
    """Which class is in service at one server of bursts in turn."""

    given: dict[tuple[int, ...], Array]  #: probability of each class, by the counts at the server
    there: dict[tuple[int, ...], float]  #: probability of these counts
    always: Array  #: (classes,) probability of each class, of all times
    after: Array  #: (classes, classes) ends of bursts of a class, per unit of time, by who is next


# A few hundred numbers each; a sweep of loads asks for the same again and again.
@lru_cache(maxsize=4096)
def served(
    jobs: tuple[int, ...],
    bursts: tuple[float, ...],
    away: tuple[float, ...],
    alone: bool,
    drawn: tuple[float, ...] | None = None,
) -> InService:
    """Return how likely each class is to be in service.

    Parameters
    ----------
    jobs : tuple of int
        Of each class; or one number of all where the class of a burst is `drawn`.
    bursts : tuple of float
        Mean service of each class, exponential.
    away : tuple of float
        Mean time elsewhere of each class, of a job alone.
    alone : bool
        Whether the jobs elsewhere do not disturb each other; else they share one server.
    drawn : tuple of float, optional
        Probability that a burst is of each class, where jobs have no class of their own.

    Returns
    -------
    InService
        Counts that are all zero are left out.

    Examples
    --------
    A long burst is seldom behind a short one, though both are begun equally often:

    >>> both = served((1, 1), (1.0, 100.0), (1.0, 1.0), True).given[1, 1]
    >>> both.round(4)
    array([0.0067, 0.9933])
    """
    classes, total = range(len(bursts)), sum(jobs)
    room = jobs if drawn is None else jobs * len(bursts)
    counts = [d for d in product(*(range(j + 1) for j in room)) if sum(d) <= total]
    states = [(d, s) for d in counts for s in ([r for r in classes if d[r]] or [-1])]
    place = {state: n for n, state in enumerate(states)}
    rates = np.zeros((len(states), len(states)))
    for (d, s), here in place.items():
        gone = total - sum(d)
        for r in classes:
            if room[r] > d[r] and gone:
                joined = (*d[:r], d[r] + 1, *d[r + 1 :])
                if drawn is None:
                    rate = (jobs[r] - d[r]) / away[r] / (1 if alone else gone)
                else:
                    rate = drawn[r] * (gone if alone else 1) / away[0]
                rates[here, place[joined, r if s < 0 else s]] += rate
        if s >= 0:
            left = (*d[:s], d[s] - 1, *d[s + 1 :])
            waiting = sum(left)
            if waiting == 0:
                rates[here, place[left, -1]] += 1.0 / bursts[s]
            for r in classes:
                if left[r]:
                    rates[here, place[left, r]] += left[r] / waiting / bursts[s]
    law = stationary(rates)
    found, always = {d: np.zeros(len(bursts)) for d in counts if any(d)}, np.zeros(len(bursts))
    after = np.zeros((len(bursts), len(bursts)))
    for (d, s), probability in zip(states, law.tolist(), strict=True):
        if s >= 0:
            found[d][s] = probability
            always[s] += probability
            waiting = sum(d) - 1
            for r in classes:
                if waiting:
                    after[s, r] += probability / bursts[s] * (d[r] - (r == s)) / waiting
    there = {d: float(each.sum()) for d, each in found.items()}
    for d, each in found.items():
        if there[d] > 0.0:
            each /= there[d]
        else:  # never seen: by what there is to do
            work = np.array(d) * np.array(bursts)
            each += work / work.sum()
        read_only(each)
    return InService(found, there, always, after)


def affordable(most: int, classes: int) -> bool:
    """Return whether the chains of all counts of up to `most` jobs of so many classes are solved soon.

    Parameters
    ----------
    most, classes : int
    """
    largest = chain_size(tuple(most // classes + (r < most % classes) for r in range(classes)))
    return largest <= MOST_IN_CHAIN and comb(most + classes, classes) * largest <= MOST_IN_ALL


def drawn(given: NDArray[np.int64], wanted: NDArray[np.int64]) -> Array:
    """Return the probability to draw counts by class from others, none put back, (given, wanted).

    Parameters
    ----------
    given : (n, S) ndarray
        Jobs of each class to draw from.
    wanted : (m, S) ndarray
        Jobs of each class among those that are drawn.
    """
    log = log_factorials(int(max(given.sum(axis=1).max(initial=0), wanted.max(initial=0))) + 1)
    n, size = given.sum(axis=1)[:, None], wanted.sum(axis=1)[None]
    left = given[:, None, :] - wanted[None]
    ways = (log[given][:, None, :] - log[wanted][None] - log[np.maximum(left, 0)]).sum(axis=2)
    ways -= log[n] - log[np.minimum(size, log.size - 1)] - log[np.maximum(n - size, 0)]
    return np.where((left >= 0).all(axis=2), np.exp(np.minimum(ways, 0.0)), 0.0)
