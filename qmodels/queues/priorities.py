"""Queues whose jobs have priorities: waits and responses by class, with percentiles for one server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from phasefit import PhaseType, match_moments
from phasefit.arrays import Array
from phasefit.checks import real_array, real_number, share, whole_number
from phasefit.records import Record
from qmodels.errors import ModelError, UnstableError
from qmodels.markov.inversion import Complex, tail_of
from qmodels.networks.many_server import ManyServerQueue
from qmodels.queues.textbook import Queue

#: Servers up to which the chain of jobs of two moments is solved for their ratio, not that of Erlang's.
_MANY: Final = 60
#: Steps of the equation of busy periods; it converges as fast as the load of higher classes allows.
_STEPS: Final = 100_000


@dataclass(frozen=True, eq=False)
class PriorityClass(Record):
    """Jobs of one priority: Poisson arrivals and the law of their service.

    Examples
    --------
    >>> PriorityClass(0.5, PhaseType.exponential(mean=1.0), "urgent").load
    0.5
    """

    arrival_rate: float  #: jobs per second
    service: PhaseType  #: seconds at speed one, without an atom at zero
    name: str = ""  #: what users call it

    def __post_init__(self) -> None:
        real_number("arrival_rate", self.arrival_rate, above=0.0)
        if not isinstance(self.service, PhaseType):
            raise ModelError(f"service must be a PhaseType, got {self.service!r:.60}")
        if self.service.atom > 0.0:
            raise ModelError("service: a part of the law lies at zero; take the law of the positive values")

    @property
    def load(self) -> float:
        """Servers that its jobs keep busy."""
        return float(self.arrival_rate * self.service.mean)


@dataclass(frozen=True, eq=False)
class PriorityQueue(Record):
    """Classes of jobs before one or several servers, the first class first, each in order of arrival.

    Parameters
    ----------
    classes : sequence of PriorityClass
        The most urgent first.
    preemptive : bool
        True if an arriving job takes the server of a lower class, whose job goes on later where it
        stopped; False if a service once begun is ended.
    servers : int
        Servers at speed one. One server is exact; several are approximate, and have means only.

    Raises
    ------
    ModelError
        If there is no class, or one is none.
    UnstableError
        If the classes together ask for more than the servers have.

    Notes
    -----
    Means of one server are Cobham's [1]_; the laws come from transforms with the busy periods of higher
    classes [2]_, inverted numerically to some 1e-8. With several servers the mean waits of one server that
    is as fast as all of them are scaled by the ratio of waits in order of arrival [3]_ of jobs with the
    first two moments (Erlang's ratio where they vary less than exponential ones): exact for exponential
    services of one mean, else an approximation.

    References
    ----------
    .. [1] A. Cobham, "Priority assignment in waiting line problems", *Oper. Res.* 2 (1954) 70-76.
    .. [2] R. W. Conway, W. L. Maxwell, L. W. Miller, *Theory of Scheduling*, Addison-Wesley 1967, ch. 8.
    .. [3] A. B. Bondi, J. P. Buzen, "The response times of priority classes under preemptive resume in
       M/G/m queues", *ACM SIGMETRICS* 1984, 195-201.

    Examples
    --------
    >>> one = PhaseType.exponential(mean=1.0)
    >>> queue = PriorityQueue([PriorityClass(0.3, one), PriorityClass(0.5, one)])
    >>> queue.mean_wait.round(6), queue.method
    (array([1.142857, 5.714286]), 'exact')
    >>> round(queue.wait_ppf(0, 0.95), 4)
    3.9608
    """

    classes: Sequence[PriorityClass]
    preemptive: bool = False
    servers: int = 1

    def __post_init__(self) -> None:
        classes = tuple(self.classes)
        if not classes or any(not isinstance(each, PriorityClass) for each in classes):
            raise ModelError("classes must be one or more PriorityClass, the most urgent first")
        object.__setattr__(self, "classes", classes)
        object.__setattr__(self, "servers", whole_number("servers", self.servers, least=1))
        if self.load >= self.servers:
            capacity = self.servers * float(self._rates.sum()) / self.load
            raise UnstableError("queue", float(self._rates.sum()), capacity)

    @property
    def load(self) -> float:
        """Servers that all classes keep busy."""
        return float(sum(each.load for each in self.classes))

    @property
    def method(self) -> str:
        """Name of the solution: "exact", or whose approximation the means are."""
        return "exact" if self.servers == 1 else "approximation: Bondi and Buzen"

    @property
    def _rates(self) -> Array:
        return np.array([each.arrival_rate for each in self.classes])

    @property
    def _services(self) -> Array:
        return np.array([each.service.mean for each in self.classes])

    @cached_property
    def _one_fast_server(self) -> Array:
        """Mean wait by class, until departure less the service, of one server that is as fast as all."""
        second = np.array([each.service.moment(2) for each in self.classes]) / self.servers**2
        means = self._services / self.servers
        upto = np.cumsum(self._rates * means)
        before = np.concatenate([[0.0], upto[:-1]])
        left = np.cumsum(self._rates * second) / 2.0
        if not self.preemptive:
            return np.asarray(left[-1] / ((1.0 - before) * (1.0 - upto)))
        return np.asarray((means + left / (1.0 - upto)) / (1.0 - before) - means)

    @cached_property
    def mean_wait(self) -> Array:
        """Seconds of a response without the service, by class; (classes,)."""
        if self.servers == 1:
            return self._one_fast_server
        slower = np.array([self._slower(k) for k in range(len(self.classes))])
        return np.asarray(self._one_fast_server * slower)

    @property
    def mean_response(self) -> Array:
        """Seconds from arrival to departure, by class; (classes,)."""
        return self.mean_wait + self._services

    def _slower(self, k: int) -> float:
        """Wait in order of arrival with all servers over that with one as fast: of who counts for a class."""
        some = self.classes[: k + 1] if self.preemptive else self.classes
        rates = np.array([each.arrival_rate for each in some])
        chances, rate = rates / rates.sum(), float(rates.sum())
        first, second = (float(chances @ [each.service.moment(j) for each in some]) for j in (1, 2))
        if second <= 2.0 * first**2 or self.servers > _MANY:
            many = Queue(f"M/M/{self.servers}", rate, first).mean_wait
            return many / Queue("M/M/1", rate, first / self.servers).mean_wait
        arrivals, service = PhaseType.exponential(mean=1.0 / rate), match_moments(first, second)
        solved = ManyServerQueue(arrivals, service, servers=self.servers).solve()
        one = Queue("M/G/1", rate, first / self.servers, service_scv=second / first**2 - 1.0)
        return solved.mean_wait / one.mean_wait

    def wait_sf(self, k: int, t: ArrayLike) -> Any:
        """Return the probability that a job waits for longer until its service first begins.

        Parameters
        ----------
        k : int
            Class, 0 the most urgent.
        t : array_like
            Seconds, not negative, any shape.

        Raises
        ------
        ModelError
            If there are several servers, or an argument is out of range.
        """
        return self._sf(k, t, self._wait_transform)

    def response_sf(self, k: int, t: ArrayLike) -> Any:
        """Return the probability that a job stays for longer.

        Parameters
        ----------
        k : int
            Class, 0 the most urgent.
        t : array_like
            Seconds, not negative, any shape.

        Raises
        ------
        ModelError
            If there are several servers, or an argument is out of range.
        """
        return self._sf(k, t, self._response_transform)

    def wait_ppf(self, k: int, q: float) -> float:
        """Return the time by which so many of a class have begun service for the first time.

        Parameters
        ----------
        k : int
            Class, 0 the most urgent.
        q : float
            Probability, below 1.

        Returns
        -------
        float
            Seconds; zero where so many do not wait at all.
        """
        return self._ppf(k, q, self._wait_transform)

    def response_ppf(self, k: int, q: float) -> float:
        """Return the time by which so many of a class have left.

        Parameters
        ----------
        k : int
            Class, 0 the most urgent.
        q : float
            Probability, below 1.

        Returns
        -------
        float
            Seconds.
        """
        return self._ppf(k, q, self._response_transform)

    def _check(self, k: int) -> int:
        if self.servers > 1:
            raise ModelError(
                "the laws of waits are known for one server; with several take the means, or simulate"
            )
        if whole_number("k", k, least=0) >= len(self.classes):
            raise ModelError(f"there are {len(self.classes)} classes, 0 the most urgent; got {k}")
        return int(k)

    def _sf(self, k: int, t: ArrayLike, transform: Callable[[int, Complex], Complex]) -> Any:
        k, times = self._check(k), real_array("t", t)
        if times.size and times.min() < 0.0:
            raise ModelError(f"t must be >= 0, got {times.min():.6g}")
        found = np.array([self._at(k, float(each), transform) for each in times.ravel()]).reshape(times.shape)
        return float(found) if found.ndim == 0 else found

    def _at(self, k: int, t: float, transform: Callable[[int, Complex], Complex]) -> float:
        if t == 0.0:  # the limit of s times the transform: a job that finds all idle does not wait
            if transform == self._response_transform:
                return 1.0
            return self.load if not self.preemptive else sum(each.load for each in self.classes[: k + 1])
        return tail_of(partial(transform, k), t)

    def _ppf(self, k: int, q: float, transform: Callable[[int, Complex], Complex]) -> float:
        k, q = self._check(k), share("q", q, one=False)
        if self._at(k, 0.0, transform) <= 1.0 - q:
            return 0.0
        high = float(self.mean_response[k])
        while self._at(k, high, transform) > 1.0 - q:
            high *= 2.0
        return float(
            brentq(lambda t: self._at(k, t, transform) - (1.0 - q), 0.0, high, xtol=1e-12, rtol=1e-12)
        )

    def _slowed(self, k: int, s: Complex) -> Complex:
        """Return s with the time added that higher classes take: what a second of service becomes."""
        higher = self.classes[:k]
        rate = sum(each.arrival_rate for each in higher)
        if not higher:
            return s
        busy = np.zeros_like(s)
        for _ in range(_STEPS):
            now = s + rate * (1.0 - busy)
            parts = [each.arrival_rate / rate * _transform(each.service, now) for each in higher]
            again = np.sum(parts, axis=0)
            done = np.max(np.abs(again - busy)) <= 1e-15
            busy = again
            if done:
                break
        return s + rate * (1.0 - busy)

    def _wait_transform(self, k: int, s: Complex) -> Complex:
        slowed, own = self._slowed(k, s), self.classes[k]
        lower = () if self.preemptive else self.classes[k + 1 :]
        idle = 1.0 - sum(each.load for each in self.classes[: k + 1 + len(lower)])
        top = idle * slowed
        for each in lower:
            top = top + each.arrival_rate * (1.0 - _transform(each.service, slowed))
        below = s - own.arrival_rate + own.arrival_rate * _transform(own.service, slowed)
        return np.asarray(top / below)

    def _response_transform(self, k: int, s: Complex) -> Complex:
        served = self._slowed(k, s) if self.preemptive else s
        return np.asarray(self._wait_transform(k, s) * _transform(self.classes[k].service, served))


def _transform(law: PhaseType, s: Complex) -> Complex:
    """Return the Laplace transform of a law at complex places; (n,)."""
    shifted = s[:, None, None] * np.eye(law.order) - np.asarray(law.T)
    solved = np.linalg.solve(shifted, np.broadcast_to(law.exit[:, None], (s.size, law.order, 1)))
    return np.asarray(solved[:, :, 0] @ law.alpha)
