"""Queues whose jobs have priorities: waits and responses by class, with percentiles for one server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from phasefit import MAP, MarkedMAP, PhaseType, match_moments
from phasefit.arrays import Array
from phasefit.checks import real_array, real_number, shaped, share, whole_number
from phasefit.records import Record
from qmodels.errors import ModelError, UnstableError
from qmodels.markov.inversion import tail_of
from qmodels.networks.many_server import ManyServerQueue
from qmodels.queues._priority_waits import PriorityWaits
from qmodels.queues.textbook import Queue

#: Servers up to which the chain of jobs of two moments is solved for their ratio, not that of Erlang's.
_MANY: Final = 60


@dataclass(frozen=True, eq=False)
class PriorityClass(Record):
    """Jobs of one priority: how they come, and the law of their service.

    Parameters
    ----------
    arrivals : float, PhaseType or MAP
        Poisson arrivals per second, the law of the gaps in seconds, or a process.
    service : PhaseType
        Seconds at speed one, without an atom at zero.
    name : str
        What users call it.

    Examples
    --------
    >>> PriorityClass(0.5, PhaseType.exponential(mean=1.0), "urgent").load
    0.5
    """

    arrivals: float | PhaseType | MAP
    service: PhaseType
    name: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.arrivals, PhaseType | MAP):
            real_number("arrivals", self.arrivals, above=0.0)
        if not isinstance(self.service, PhaseType):
            raise ModelError(f"service must be a PhaseType, got {self.service!r:.60}")
        if self.service.atom > 0.0:
            raise ModelError("service: a part of the law lies at zero; take the law of the positive values")

    @property
    def arrival_rate(self) -> float:
        """Jobs per second."""
        return 1.0 / self.arrivals.mean if isinstance(self.arrivals, PhaseType | MAP) else self.arrivals

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
        Servers at speed one. One server is exact; several are approximate, have means only, and take
        Poisson arrivals.
    together : MarkedMAP, optional
        One process that all classes come from, its kinds being the classes; by default they are
        independent. `of_marked` fills it.

    Raises
    ------
    ModelError
        If there is no class, or one is none, or several servers have arrivals that are not Poisson.
    UnstableError
        If the classes together ask for more than the servers have.

    Notes
    -----
    Means of one server with Poisson arrivals are Cobham's [1]_; other means and all laws come from the
    work before a job and the busy periods of higher classes [2]_, by phase of the arrivals [4]_. Laws are
    inverted numerically to some 1e-8. With several servers the mean waits of one server that
    is as fast as all of them are scaled by the ratio of waits in order of arrival [3]_ of jobs with the
    first two moments (Erlang's ratio where they vary less than exponential ones): exact for exponential
    services of one mean, else an approximation.

    References
    ----------
    .. [1] A. Cobham, "Priority assignment in waiting line problems", *Oper. Res.* 2 (1954) 70-76.
    .. [2] R. W. Conway, W. L. Maxwell, L. W. Miller, *Theory of Scheduling*, Addison-Wesley 1967, ch. 8.
    .. [3] A. B. Bondi, J. P. Buzen, "The response times of priority classes under preemptive resume in
       M/G/m queues", *ACM SIGMETRICS* 1984, 195-201.
    .. [4] Horváth 2015.

    Examples
    --------
    >>> one = PhaseType.exponential(mean=1.0)
    >>> queue = PriorityQueue([PriorityClass(0.3, one), PriorityClass(0.5, one)])
    >>> queue.mean_wait.round(6), queue.method
    (array([1.142857, 5.714286]), 'exact')
    >>> round(queue.wait_ppf(0, 0.95), 4)
    3.9608

    Arrivals of the urgent class that come in tides:

    >>> tides = MAP.modulated([[-0.1, 0.1], [0.1, -0.1]], rates=[0.55, 0.05])
    >>> PriorityQueue([PriorityClass(tides, one), PriorityClass(0.5, one)]).mean_wait.round(4)
    array([1.6023, 7.6637])
    """

    classes: Sequence[PriorityClass]
    preemptive: bool = False
    servers: int = 1
    together: MarkedMAP | None = field(default=None, repr=False)

    @classmethod
    def of_marked(
        cls, arrivals: MarkedMAP, services: Sequence[PhaseType], preemptive: bool = False
    ) -> PriorityQueue:
        """Return the queue whose classes come from one process, so that they may come together.

        Parameters
        ----------
        arrivals : MarkedMAP
            Its kinds are the classes, the most urgent first.
        services : sequence of PhaseType
            Service of each class, in seconds.
        preemptive : bool
            As in the class.

        Raises
        ------
        ModelError
            If there are not as many services as kinds.
        UnstableError
            If the classes together ask for more than one server has.
        """
        if not isinstance(arrivals, MarkedMAP) or len(services) != len(arrivals.marks):
            raise ModelError("arrivals must be a MarkedMAP, with one service for each of its kinds")
        classes = [PriorityClass(arrivals.of_kind(k), law) for k, law in enumerate(services)]
        return cls(classes, preemptive, together=arrivals)

    def __post_init__(self) -> None:
        classes = tuple(self.classes)
        if not classes or any(not isinstance(each, PriorityClass) for each in classes):
            raise ModelError("classes must be one or more PriorityClass, the most urgent first")
        object.__setattr__(self, "classes", classes)
        object.__setattr__(self, "servers", whole_number("servers", self.servers, least=1))
        if self.servers > 1 and not self._is_poisson:
            raise ModelError(
                "with several servers arrivals must be Poisson; take one server, or simulate the queue"
            )
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
    def _is_poisson(self) -> bool:
        return all(not isinstance(each.arrivals, PhaseType | MAP) for each in self.classes)

    @cached_property
    def _waits(self) -> PriorityWaits:
        """The work before each class, by phase of the arrivals."""
        arrivals = self.together
        if arrivals is None:
            arrivals = MarkedMAP.separate(
                [
                    each.arrivals
                    if isinstance(each.arrivals, PhaseType | MAP)
                    else MAP.poisson(rate=each.arrivals)
                    for each in self.classes
                ]
            )
        return PriorityWaits(arrivals, [each.service for each in self.classes], self.preemptive)

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
        if not self._is_poisson:
            return np.array([self._waits.mean_response(k) for k in range(len(self.classes))]) - self._services
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
        return self._sf(k, t, served=False)

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
        return self._sf(k, t, served=True)

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
        return self._ppf(k, q, served=False)

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
        return self._ppf(k, q, served=True)

    def _check(self, k: int) -> int:
        if self.servers > 1:
            raise ModelError(
                "the laws of waits are known for one server; with several take the means, or simulate"
            )
        if whole_number("k", k, least=0) >= len(self.classes):
            raise ModelError(f"there are {len(self.classes)} classes, 0 the most urgent; got {k}")
        return int(k)

    def _sf(self, k: int, t: ArrayLike, served: bool) -> Any:
        k, times = self._check(k), real_array("t", t, least=0.0)
        found = np.array([self._at(k, float(each), served) for each in times.ravel()])
        return shaped(found.reshape(times.shape))

    def _at(self, k: int, t: float, served: bool) -> float:
        if t == 0.0:  # a job that finds nothing before it does not wait
            return 1.0 if served else 1.0 - self._waits.no_wait(k)
        return tail_of(lambda s: self._waits.transform(k, s, served), t)[0]

    def _ppf(self, k: int, q: float, served: bool) -> float:
        k, q = self._check(k), share("q", q, one=False)
        if self._at(k, 0.0, served) <= 1.0 - q:
            return 0.0
        high = float(self.mean_response[k])
        while self._at(k, high, served) > 1.0 - q:
            high *= 2.0
        return float(brentq(lambda t: self._at(k, t, served) - (1.0 - q), 0.0, high, xtol=1e-12, rtol=1e-12))
