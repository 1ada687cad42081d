"""Queues over time: from a given start, until a backlog is gone, and under arrivals that follow a cycle."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import expm
from scipy.sparse import csr_array

from phasefit import PhaseType
from phasefit.arrays import Array, Ints, read_only
from phasefit.checks import positive_vector, real_vector, whole_number
from phasefit.records import Drawing, Record, Result, data_frame
from qmodels.errors import MemoryBudgetError, ModelError, UnstableError
from qmodels.markov import transient
from qmodels.markov.descent import Descent
from qmodels.markov.truncation import NOTHING, cut_off, levels_above
from qmodels.networks.many_server import ManyServerQueue

if TYPE_CHECKING:
    import pandas as pd

#: States up to which a cycle is solved for: matrices are dense.
_MOST_STATES: Final = 1500
#: Moments of each piece of a cycle at which its mean is taken (Gauss and Legendre).
_POINTS: Final = 12


@dataclass(frozen=True, eq=False)
class QueueOverTime(Result):
    """Numbers of jobs that are expected of a queue at given times."""

    drawing = Drawing("time", "mean_jobs", labels=("time [s]", "mean number of jobs"))

    times: Array  #: seconds, (m,)
    probabilities: Array = field(repr=False)  #: of 0, 1, ... jobs at each time, (m, levels)
    servers: int  #: those that wait are beyond them
    error_bound: float  #: largest sum of errors of the probabilities at any of the times

    @property
    def mean_jobs(self) -> Array:
        """Jobs there on average at each time, (m,)."""
        return np.asarray(self.probabilities @ np.arange(self.probabilities.shape[1]))

    @property
    def mean_waiting(self) -> Array:
        """Jobs that wait on average at each time, (m,)."""
        behind = np.maximum(np.arange(self.probabilities.shape[1]) - self.servers, 0)
        return np.asarray(self.probabilities @ behind)

    @property
    def wait_probability(self) -> Array:
        """Probability that all servers are busy at each time, (m,)."""
        return np.asarray(self.probabilities[:, self.servers :].sum(axis=1))

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each time."""
        return data_frame(
            {"time": self.times, "mean_jobs": self.mean_jobs, "mean_waiting": self.mean_waiting}
        )

    def drawn(self) -> pd.DataFrame:
        """Return the rows of the table."""
        return self.to_frame()

    def record(self) -> dict[str, Any]:
        """Return times and means."""
        return {str(name): values.tolist() for name, values in self.to_frame().items()}


def queue_at(queue: ManyServerQueue, times: ArrayLike, *, jobs: int = 0) -> QueueOverTime:
    """Return the law of the number of jobs at given times, from a start that is known.

    Parameters
    ----------
    queue : ManyServerQueue
        That has a steady state.
    times : (m,) array_like
        Seconds from the start, in any order.
    jobs : int
        There at time zero; those in service have just begun, arrivals are where they are at a random time.

    Returns
    -------
    QueueOverTime
        By uniformisation, with a bound of its error.

    Raises
    ------
    ModelError
        If a time is negative, or `jobs` is no number of jobs.
    UnstableError
        If there is no steady state.

    References
    ----------
    .. [1] Jensen 1953.

    Examples
    --------
    >>> one = PhaseType.exponential(mean=1.0)
    >>> queue = ManyServerQueue(one.scale(2.0), one, servers=1)
    >>> queue_at(queue, [0.0, 1.0, 100.0], jobs=3).mean_jobs.round(4)
    array([3.    , 2.5168, 1.    ])
    """
    jobs, when = whole_number("jobs", jobs, least=0), real_vector("times", times, least=0.0)
    decay = queue.solve().chain.decay_rate()
    top = jobs + queue._speeds.size + levels_above(decay)
    rates, level = cut_off(queue.chain(), top)
    solution = transient(rates, _start(queue, level, jobs), when)
    found = _by_level(solution.probabilities, level)
    # Whoever reached the highest level would have gone higher: what is there bounds what is left out.
    bound = solution.error_bound + float(found[:, -1].max())
    return QueueOverTime(when, found, queue._speeds.size, bound)


def drain_time(queue: ManyServerQueue, backlog: int) -> Descent:
    """Return the law of the time until no job of a backlog, or that came since, waits any more.

    Parameters
    ----------
    queue : ManyServerQueue
        That has a steady state.
    backlog : int
        Jobs there at time zero, more than servers; those in service have just begun.

    Returns
    -------
    Descent
        With `mean`, `std`, `cdf` and `percentile`, in seconds.

    Raises
    ------
    ModelError
        If nobody waits.
    UnstableError
        If there is no steady state.

    References
    ----------
    .. [1] Neuts 1981, ch. 3.

    Examples
    --------
    Nine jobs wait, and each takes a busy period of 1 / (1 - .5) seconds:

    >>> one = PhaseType.exponential(mean=1.0)
    >>> left = drain_time(ManyServerQueue(one.scale(2.0), one, servers=1), 10)
    >>> round(left.mean, 9), round(left.percentile(0.95), 3)
    (18.0, 38.065)
    """
    backlog, c = whole_number("backlog", backlog, least=1), queue._speeds.size
    if backlog <= c:
        raise ModelError(f"of {backlog} jobs none waits before {c} servers; give more")
    solved = queue.solve()
    start = _phases(queue, backlog)
    return Descent(queue.chain(), start, backlog - c, np.asarray(solved.chain.first_passage))


def _phases(queue: ManyServerQueue, jobs: int) -> Array:
    """Probability of each phase of a level while all in service have just begun."""
    centre, states = queue._centre, np.ones(1)
    for k in range(min(jobs, queue._speeds.size)):
        states = states @ centre.enter[centre.slice(k), centre.slice(k + 1)]
    return np.asarray(np.kron(queue.process.phases, states))


def _start(queue: ManyServerQueue, level: Ints, jobs: int) -> Array:
    initial = np.zeros(level.size)
    initial[level == jobs] = _phases(queue, jobs)
    return initial


def _by_level(probabilities: Array, level: Ints) -> Array:
    """Add up the states of each level; (m, levels)."""
    firsts = np.flatnonzero(np.diff(level, prepend=-1))
    return np.asarray(np.add.reduceat(probabilities, firsts, axis=-1))


@dataclass(frozen=True, eq=False)
class CyclicQueue(Record):
    """Servers under Poisson arrivals whose rate follows a cycle, such as a day, piece by piece.

    Parameters
    ----------
    rates : (m,) array_like
        Jobs per second that arrive in each piece of the cycle; zero where none do.
    seconds : (m,) array_like
        Length of each piece.
    service : PhaseType
        Seconds of a service at speed one.
    servers : int
        Servers at speed one.

    Raises
    ------
    ModelError
        If an argument is out of range.
    UnstableError
        If more work comes in a cycle than can be done in it.

    Notes
    -----
    Exact but for a cut-off whose probability stays below 1e-12: the chain is followed through one cycle, and
    its state at the beginning is the one that comes back. The pointwise-stationary approximation
    [1]_ has the steady state of each rate all at once; it has none where a rate is above the capacity.

    References
    ----------
    .. [1] L. Green, P. Kolesar, "The pointwise stationary approximation for queues with nonstationary
       arrivals", *Management Science* 37 (1991) 84-97.

    Examples
    --------
    Twelve busy hours and twelve quiet ones, jobs of an hour:

    >>> hour = 3600.0
    >>> service = PhaseType.exponential(mean=hour)
    >>> day = CyclicQueue([1.8 / hour, 0.2 / hour], [12 * hour, 12 * hour], service, servers=2)
    >>> round(day.mean_jobs, 4), round(day.mean_wait / hour, 4), round(day.pointwise_jobs, 4)
    (1.9814, 0.9814, 4.8379)
    """

    rates: ArrayLike
    seconds: ArrayLike
    service: PhaseType
    servers: int = 1

    def __post_init__(self) -> None:
        rates, seconds = real_vector("rates", self.rates), positive_vector("seconds", self.seconds)
        if rates.size != seconds.size or rates.min() < 0.0 or rates.max() == 0.0:
            raise ModelError("rates must be >= 0, not all zero, one for each of seconds")
        for name, value in (("rates", rates), ("seconds", seconds)):
            object.__setattr__(self, name, read_only(value))
        one = ManyServerQueue(PhaseType.exponential(mean=1.0), self.service, servers=self.servers)
        object.__setattr__(self, "servers", one._speeds.size)
        if self.mean_rate >= one.capacity:
            raise UnstableError("queue", self.mean_rate, one.capacity)

    @property
    def cycle(self) -> float:
        """Seconds of a cycle."""
        return float(np.sum(self.seconds))

    @property
    def mean_rate(self) -> float:
        """Jobs per second that arrive on average."""
        return float(np.dot(self.rates, self.seconds) / self.cycle)

    @cached_property
    def _solved(self) -> tuple[list[csr_array], Ints, Array]:
        """Rates of each piece, the level of each state, and the state at the beginning of each piece."""
        unit = ManyServerQueue(PhaseType.exponential(mean=1.0), self.service, servers=self.servers).chain()
        mean = float(np.max(self.rates) * self.service.mean)
        top = self.servers + int(8.0 * mean) + 40
        while True:
            whole, level = cut_off(unit, top)
            if level.size > _MOST_STATES:
                raise MemoryBudgetError(
                    f"the queue grows so long that its chain needs more than {_MOST_STATES:,} states; "
                    "use a service law of fewer phases, or shorter pieces above the capacity"
                )
            entries = whole.tocoo()
            rises = level[entries.coords[1]] > level[entries.coords[0]]
            pieces = [
                csr_array((np.where(rises, rate, 1.0) * entries.data, entries.coords), shape=whole.shape)
                for rate in np.asarray(self.rates)
            ]
            steps = [
                expm(_generator(each) * s) for each, s in zip(pieces, np.asarray(self.seconds), strict=True)
            ]
            cycle = np.linalg.multi_dot(steps) if len(steps) > 1 else steps[0]
            begins = [_returning(cycle)]
            for step in steps[:-1]:
                begins.append(begins[-1] @ step)
            highest = max(float(each[level == top].sum()) for each in begins)
            if highest < NOTHING:
                return pieces, level, np.array(begins)
            top *= 2

    def at(self, times: ArrayLike) -> QueueOverTime:
        """Return the law of the number of jobs at times of the cycle.

        Parameters
        ----------
        times : (m,) array_like
            Seconds since a cycle began; later ones are taken into the first.

        Raises
        ------
        ModelError
            If a time is negative.
        MemoryBudgetError
            If the queue grows too long in a cycle.
        """
        when = real_vector("times", times, least=0.0)
        pieces, level, begins = self._solved
        ends = np.cumsum(self.seconds)
        inside = np.mod(when, self.cycle)
        piece = np.minimum(np.searchsorted(ends, inside, side="right"), ends.size - 1)
        found, bound = np.zeros((when.size, int(level[-1]) + 1)), 0.0
        for k in np.unique(piece).tolist():
            some = piece == k
            start = begins[k] / begins[k].sum()
            solution = transient(pieces[k], start, inside[some] - (ends[k] - np.asarray(self.seconds)[k]))
            found[some] = _by_level(solution.probabilities, level)
            bound = max(bound, solution.error_bound)
        return QueueOverTime(when, found, self.servers, bound + float(found[:, -1].max()))

    @cached_property
    def _means(self) -> tuple[float, float]:
        """Jobs there and jobs that wait, over the cycle."""
        points, weights = np.polynomial.legendre.leggauss(_POINTS)
        jobs = waiting = 0.0
        begin = 0.0
        for seconds in np.asarray(self.seconds).tolist():
            # What happens after a change of the rate is fast at first: a piece is cut where services end.
            cuts = np.unique(np.concatenate([[0.0], self.service.mean * 2.0 ** np.arange(-3, 40), [seconds]]))
            cuts = cuts[cuts <= seconds]
            for low, high in pairwise(cuts.tolist()):
                times = begin + low + (high - low) * (points + 1.0) / 2.0
                there = self.at(times)
                jobs += (high - low) / 2.0 * float(weights @ there.mean_jobs)
                waiting += (high - low) / 2.0 * float(weights @ there.mean_waiting)
            begin += seconds
        return jobs / self.cycle, waiting / self.cycle

    @property
    def mean_jobs(self) -> float:
        """Jobs there, averaged over the cycle."""
        return self._means[0]

    @property
    def mean_wait(self) -> float:
        """Seconds until service begins, averaged over the jobs of a cycle (Little's law)."""
        return self._means[1] / self.mean_rate

    @property
    def mean_response(self) -> float:
        """Seconds from arrival to departure, averaged over the jobs of a cycle (Little's law)."""
        return self._means[0] / self.mean_rate

    @property
    def pointwise_jobs(self) -> float:
        """Jobs there by the pointwise-stationary approximation; infinite with a rate above capacity."""
        jobs = []
        for rate in np.asarray(self.rates).tolist():
            if rate == 0.0:
                jobs.append(0.0)
                continue
            queue = ManyServerQueue(
                PhaseType.exponential(mean=1.0 / rate), self.service, servers=self.servers
            )
            jobs.append(queue.solve().mean_jobs if rate < queue.capacity else float("inf"))
        return float(np.dot(jobs, self.seconds) / self.cycle)


def _generator(rates: csr_array) -> Array:
    dense = rates.toarray()
    np.fill_diagonal(dense, 0.0)
    return np.asarray(dense - np.diag(dense.sum(axis=1)))


def _returning(cycle: Array) -> Array:
    """Return the state that a cycle leads back to."""
    n = len(cycle)
    system = np.vstack([cycle.T - np.eye(n), np.ones(n)])
    found, *_ = np.linalg.lstsq(system, np.append(np.zeros(n), 1.0))
    return np.asarray(np.maximum(found, 0.0) / np.maximum(found, 0.0).sum())
