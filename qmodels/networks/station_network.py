"""Networks of any stations and classes, closed, open or mixed: exact, approximate and bounded."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from phasefit.arrays import Array, Ints
from phasefit.checks import named, one_of, whole_number
from phasefit.records import Record
from qmodels.errors import ModelError, UnstableError
from qmodels.memory import check_memory, check_seconds, memory_limit
from qmodels.networks._kernels import mean_values
from qmodels.networks._normaliser import PopulationSeries, StationSeries, station_series
from qmodels.networks.mean_value import approximate
from qmodels.networks.network_solution import NetworkBounds, NetworkSolution
from qmodels.networks.stations import CustomerClass, Station

METHODS: Final = ("auto", "exact", "mva", "convolution", "linearizer", "bard-schweitzer")
#: Seconds for a population, class and station of mean value analysis, and of convolution, as measured.
_MEAN_VALUE, _SERIES = 2e-9, 3e-8
#: Seconds of an exact solution that "auto" spends before it turns to the linearizer.
_PATIENCE: Final = 2.0
_EPS: Final = float(np.finfo(float).eps)
_FEWER = 'take fewer customers or classes, or method="linearizer"'


@dataclass(frozen=True, eq=False)
class QueueingNetwork(Record):
    """Stations that classes of customers visit.

    Parameters
    ----------
    stations : sequence of Station
        At least one; names differ.
    classes : sequence of CustomerClass
        At least one, closed or open.

    Raises
    ------
    ModelError
        If names are unknown or given twice.
    UnstableError
        If open classes bring more work to a station than it can do.

    References
    ----------
    .. [1] Baskett et al. 1975.

    Examples
    --------
    Ten users who think for 5 s; a processor, and a file system of two servers:

    >>> network = QueueingNetwork(
    ...     [Station("cpu"), Station("files", servers=2)],
    ...     [CustomerClass({"cpu": 0.5, "files": 0.8}, population=10, think=5.0)],
    ... )
    >>> solution = network.solve()
    >>> solution.throughput.round(6), solution.response.round(6), solution.method
    (array([1.390163]), array([2.193402]), 'exact (convolution)')
    """

    stations: Sequence[Station]
    classes: Sequence[CustomerClass]

    def __post_init__(self) -> None:
        for name, kind in (("stations", Station), ("classes", CustomerClass)):
            given = getattr(self, name)
            held = tuple(given) if isinstance(given, (list, tuple)) else ()
            if not held or not all(isinstance(one, kind) for one in held):
                raise ModelError(f"{name} must be a list of {kind.__name__}, got {given!r:.60}")
            object.__setattr__(self, name, held)
        names = [station.name for station in self.stations]
        for name in names:
            if names.count(name) > 1:
                raise ModelError(f"two stations are called {name}")
        for customers in self.classes:
            for name in customers.service:
                named("station of a class", name, names)
        for station, load in zip(self.stations, self.open_load.tolist(), strict=True):
            if load >= station.last_speed:
                raise UnstableError(
                    f"station {station.name}",
                    load,
                    station.last_speed,
                    message=f"station {station.name}: open classes bring {load:.6g} s of work a second, not "
                    f"below its speed of {station.last_speed:g}; lower arrival_rate or add servers",
                )

    @cached_property
    def demands(self) -> Array:
        """Seconds of service at speed one that a passage asks, (classes, stations)."""
        names = [station.name for station in self.stations]
        asked = [customers.demands() for customers in self.classes]
        return np.array([[each.get(name, 0.0) for name in names] for each in asked])

    @cached_property
    def rates(self) -> Array:
        """Customers of open classes that come per second, zero for closed classes, (classes,)."""
        return np.array([c.arrival_rate or 0.0 for c in self.classes])

    @cached_property
    def populations(self) -> Array:
        """Customers of closed classes, zero for open ones, (classes,)."""
        return np.array([c.population or 0 for c in self.classes], dtype=np.int64)

    @property
    def open_load(self) -> Array:
        """Work that open classes bring to each station, in seconds a second, (stations,)."""
        return np.asarray(self.rates @ self.demands)

    @property
    def unlike_at(self) -> tuple[str, ...]:
        """Stations without a product form: services that differ, in order of arrival."""
        found, there = [], (self.rates > 0.0) | (self.populations > 0)
        for k, station in enumerate(self.stations):
            means = [
                c.service[station.name]
                for c, asks in zip(self.classes, (self.demands[:, k] > 0.0) & there, strict=True)
                if asks
            ]
            if station.discipline == "fcfs" and means and max(means) > min(means) * (1.0 + 1e-12):
                found.append(station.name)
        return tuple(found)

    def solve(self, method: str = "auto", *, memory: float | None = None) -> NetworkSolution:
        """Solve for the steady state.

        Parameters
        ----------
        method : {"auto", "exact", "mva", "convolution", "linearizer", "bard-schweitzer"}
            "exact" is mean value analysis where each queue has one server, and convolution elsewhere;
            "auto" is exact where that takes some two seconds at most and the product form holds, and
            the linearizer elsewhere.
        memory : float, optional
            Bytes that the solution may take; by default a share of the machine's memory.

        Returns
        -------
        NetworkSolution
            The steady state by class and station.

        Raises
        ------
        MemoryBudgetError
            If the populations would not fit, or take too long.
        ModelError
            If the method does not apply.

        Notes
        -----
        Services are exponential at stations in order of arrival, any law elsewhere. Exact methods
        visit every population up to the given one [1]_, [2]_; open classes are summed out. The
        linearizer and Bard's and Schweitzer's approximation [3]_ estimate what one customer less
        would see; a station of c servers is one of c times the speed behind a delay there [4]_. What
        an arriving customer finds in order of arrival takes each class by its own service.

        References
        ----------
        .. [1] Reiser and Lavenberg 1980.
        .. [2] Buzen 1973.
        .. [3] K. M. Chandy, D. Neuse, "Linearizer: a heuristic algorithm for queueing network models
           of computing systems", *Commun. ACM* 25 (1982) 126-134.
        .. [4] A. Seidmann, P. J. Schweitzer, S. Shalev-Oren, "Computerized closed queueing network
           models of flexible manufacturing systems", *Large Scale Systems* 12 (1987) 91-107.
        """
        one_of("method", method, METHODS)
        started = time.perf_counter()
        single = all(station.is_single or station.is_delay for station in self.stations)
        if method == "auto":
            quick = self._exact_seconds("mva" if single else "convolution") <= _PATIENCE
            method = "exact" if not self.unlike_at and (quick or self._varied) else "linearizer"
        if method == "exact":
            method = "mva" if single else "convolution"
        if method in ("mva", "convolution"):
            if self.unlike_at:
                raise ModelError(
                    f"no product form: {self.unlike_at[0]} serves in order of arrival customers whose "
                    f'services differ; use method="linearizer", or "ps" there'
                )
            self._check_cost(method, memory)
        if method == "mva":
            if not single:
                raise ModelError('mva is for stations of one server and delays; use method="convolution"')
            throughput, queues = self._mean_values()
        elif method == "convolution":
            throughput, queues = self._convolution()
        else:
            if self._varied:
                raise ModelError(f'station {self._varied[0]} has speeds of its own; use method="exact"')
            throughput, queues = approximate(
                self.demands,
                self._services(),
                self.populations,
                self.rates,
                self._thinks(),
                np.array([np.inf if s.is_delay else s.servers for s in self.stations], dtype=float),
                np.array([s.name in self.unlike_at for s in self.stations]),
                linearized=method == "linearizer",
            )
        exact = method in ("mva", "convolution")
        label = (
            f"exact ({method.replace('mva', 'mean value analysis')})" if exact else f"approximate ({method})"
        )
        # logarithms of the normaliser are as large as that of a factorial
        size = float(self.populations.sum()) + 4.0
        # an error of a load is larger by so much in what the load leaves
        left = min(1.0 - load / s.last_speed for s, load in zip(self.stations, self.open_load, strict=True))
        return NetworkSolution(
            stations=self.stations,
            classes=self.classes,
            demands=self.demands,
            throughput=throughput,
            queues=queues,
            method=label,
            error_bound=64.0 * size * math.log(size) * _EPS / float(left) if exact else None,
            caveats=tuple(
                f"{name}: unlike services in order of arrival have no product form" for name in self.unlike_at
            ),
            seconds=time.perf_counter() - started,
        )

    def bounds(self) -> NetworkBounds:
        """Return bounds of the throughput of each closed class.

        Returns
        -------
        NetworkBounds
            Asymptotic bounds, and balanced-job bounds where they hold: one closed class, one server at
            each queue, product form.

        Raises
        ------
        ModelError
            If there is no closed class, or there are open ones beside it.

        Notes
        -----
        The upper asymptotic bound holds for any laws. The lower one has every other customer ahead at the
        largest demand; it and the balanced-job bounds [1]_ are those of the product form.

        References
        ----------
        .. [1] J. Zahorjan, K. C. Sevcik, D. L. Eager, B. Galler, "Balanced job bound analysis of queueing
           networks", *Commun. ACM* 25 (1982) 134-141.

        Examples
        --------
        >>> network = QueueingNetwork(
        ...     [Station("cpu"), Station("disk")], [CustomerClass({"cpu": 0.5, "disk": 0.8}, population=10)]
        ... )
        >>> bounds = network.bounds()
        >>> bounds.lower.round(4), bounds.upper.round(4)
        (array([1.1765]), array([1.25]))
        """
        if self.rates.any() or not self.populations.any():
            raise ModelError("bounds are for networks whose classes are all closed")
        jobs, think = self.populations.astype(float), self._thinks()
        delays = np.array([s.is_delay for s in self.stations])
        asked, away = self.demands[:, ~delays], think + self.demands[:, delays].sum(axis=1)
        away[jobs == 0.0] = 1.0  # any, of nobody, who may ask for nothing
        tables = [s.speed_table(None) for s in self.stations if not s.is_delay]
        slowest, fastest = (np.array([each(table) for table in tables]) for each in (np.min, np.max))
        # at best with so many there that each of them is served faster than one alone would be
        each_at_best = np.array([(table / np.arange(1, table.size + 1)).max() for table in tables])
        with np.errstate(divide="ignore"):
            at_most = np.min(fastest / asked, axis=1, initial=np.inf)
            upper = np.minimum(jobs / (away + (asked / each_at_best).sum(axis=1)), at_most)
        behind = (jobs.sum() - 1.0) * (asked / slowest).max(axis=1, initial=0.0)
        lower = jobs / (away + (asked / slowest).sum(axis=1) + behind)
        kind = "asymptotic"
        single = all(s.is_single for s in self.stations if not s.is_delay)
        if len(self.classes) == 1 and single and asked.sum() > 0:
            n, total, largest, mean = jobs[0], asked.sum(), asked.max(), asked.mean()
            lower = np.maximum(lower, n / (total + away + (n - 1) * largest / (1 + away / (n * total))))
            upper = np.minimum(upper, n / (total + away + (n - 1) * mean / (1 + away / total)))
            kind = "balanced-job"
        return NetworkBounds(classes=self.classes, lower=lower, upper=upper, method=kind)

    @property
    def _varied(self) -> tuple[str, ...]:
        """Stations whose speeds are not those of a number of servers."""
        return tuple(s.name for s in self.stations if s.speeds is not None)

    def _services(self) -> Array:
        """Return the mean service of a visit, (classes, stations)."""
        return np.array([[c.service.get(s.name, 0.0) for s in self.stations] for c in self.classes])

    def _thinks(self) -> Array:
        return np.array([c.think for c in self.classes])

    def _closed(self) -> Ints:
        """Return the indices of classes with customers of their own, the largest first."""
        closed = np.flatnonzero(self.populations > 0)
        return closed[np.argsort(-self.populations[closed], kind="stable")]

    def _exact_seconds(self, method: str) -> float:
        closed = self._closed()
        cells = float(np.prod(self.populations[closed] + 1.0))
        queues = sum(not s.is_delay for s in self.stations)
        if method == "mva":
            return _MEAN_VALUE * cells * max(1, closed.size) * (queues + 4)
        most = int(self.populations.sum())
        tables = [s.speed_table(most) for s in self.stations]
        heads = [most if t.max() > t[-1] else min(t.size - 1, most) for t in tables]
        # a head is passed for all queues, without each of them, and twice in a derivative
        steps = queues * 2 + sum(heads) * (queues + 2)
        return _SERIES * cells * (closed.size + 1) * steps

    def _check_cost(self, method: str, memory: float | None) -> None:
        closed = self._closed()
        cells = float(np.prod(self.populations[closed] + 1.0))
        largest = float(self.populations.max(initial=0)) + 1.0
        held = 16.0 * cells / largest * len(self.stations) if method == "mva" else 48.0 * cells
        what = f"{cells:,.0f} populations of {closed.size} closed classes"
        check_memory(what, held, memory_limit(memory), _FEWER)
        check_seconds(what, self._exact_seconds(method), memory, _FEWER)

    def _filled(self, closed: Ints, flow: Array, at: Array) -> tuple[Array, Array]:
        """Return throughputs and queues of all classes from those of closed ones."""
        throughput = self.rates.copy()
        queues = np.zeros_like(self.demands)
        throughput[closed] = flow
        queues[closed] = at
        delays = np.array([s.is_delay for s in self.stations])
        queues[:, delays] = throughput[:, None] * self.demands[:, delays]
        return throughput, queues

    def _mean_values(self) -> tuple[Array, Array]:
        closed = self._closed()
        delays = np.array([s.is_delay for s in self.stations])
        left = 1.0 - self.open_load[~delays]
        demands = self.demands[np.ix_(closed, ~delays)] / left
        think = self._thinks()[closed] + self.demands[np.ix_(closed, delays)].sum(axis=1)
        flow, at = np.zeros(closed.size), np.zeros((closed.size, int((~delays).sum())))
        if closed.size:
            mean_values(self.populations[closed], think, demands, flow, at)
        queues = np.zeros((closed.size, len(self.stations)))
        queues[:, ~delays] = at
        throughput, queues = self._filled(closed, flow, queues)
        for r in np.flatnonzero(self.rates > 0).tolist():
            queues[r, ~delays] = self.rates[r] * self.demands[r, ~delays] * (1.0 + at.sum(axis=0)) / left
        return throughput, queues

    def _convolution(self) -> tuple[Array, Array]:
        closed, most = self._closed(), int(self.populations.sum())
        space = PopulationSeries(self.populations[closed])
        # each class in a unit of its own: logarithms far from zero have fewer digits behind the point
        units = self._thinks()[closed] + self.demands[closed].sum(axis=1)
        demands = self.demands[closed] / units[:, None]
        with np.errstate(divide="ignore"):
            logs = np.log(demands)
            delays = np.array([s.is_delay for s in self.stations])
            away = self._thinks()[closed] / units + demands[:, delays].sum(axis=1)
            start = space.of_thinking(np.log(away))
        series = {
            k: station_series(
                s.speed_table(None if self.open_load[k] else most), float(self.open_load[k]), most
            )
            for k, s in enumerate(self.stations)
            if not s.is_delay and self.demands[:, k].any()
        }
        # what closes a series is common to all that is asked for; polynomials are left out one by one
        shared = start
        for k, each in series.items():
            tail = StationSeries(np.zeros(1), each.speed, each.closings)
            shared = space.times(shared, tail, logs[:, k])
        with_all = self._with_heads(space, shared, series, logs, None)
        whole = with_all[-1]
        flow = np.array([np.exp(with_all[-1 - int(stride)] - whole) for stride in space.strides]) / units
        at = np.zeros((closed.size, len(self.stations)))
        found = np.zeros(len(self.stations))
        for k, each in series.items():
            rest = self._with_heads(space, shared, series, logs, k)
            total = np.full(rest.size, -np.inf)
            for part in each.derivative():
                more = StationSeries(part.head, each.speed, part.closings - each.closings)
                total = np.logaddexp(total, space.times(rest, more, logs[:, k]))
            found[k] = np.exp(total[-1] - whole)
            for r, stride in enumerate(space.strides.tolist()):
                at[r, k] = demands[r, k] * np.exp(total[-1 - stride] - whole)
        throughput, queues = self._filled(closed, flow, at)
        for r in np.flatnonzero(self.rates > 0).tolist():
            queues[r, ~delays] = self.rates[r] * self.demands[r, ~delays] * found[~delays]
        return throughput, queues

    @staticmethod
    def _with_heads(
        space: PopulationSeries,
        shared: Array,
        series: dict[int, StationSeries],
        logs: Array,
        without: int | None,
    ) -> Array:
        """Return the product of `shared` with the polynomials of all stations but one."""
        product = shared
        for k, each in series.items():
            if (k != without and each.head.size > 1) or (k != without and each.head[0] != 0.0):
                product = space.times(product, StationSeries(each.head, 1.0, 0), logs[:, k])
        return product


def flow_equivalent_station(network: QueueingNetwork, name: str, most: int) -> tuple[Station, float]:
    """Return one station that works as fast as a network of one closed class does with 1, 2, ... customers.

    Parameters
    ----------
    network : QueueingNetwork
        One closed class that does not think; its population does not matter.
    name : str
        Name of the station.
    most : int
        Customers up to which its speeds are told; beyond, the last speed holds.

    Returns
    -------
    station : Station
        With speeds relative to one customer.
    service : float
        Seconds of service there, those of a passage of the network alone.

    Raises
    ------
    ModelError
        If the network has several or open classes, or its class thinks.

    Notes
    -----
    Exact in a network in product form (Norton's theorem [1]_), an approximation elsewhere.

    References
    ----------
    .. [1] Chandy et al. 1975.

    Examples
    --------
    >>> disks = QueueingNetwork(
    ...     [Station("a"), Station("b")], [CustomerClass({"a": 0.5, "b": 0.5}, population=1)]
    ... )
    >>> station, service = flow_equivalent_station(disks, "disks", most=3)
    >>> station.speeds.round(6).tolist(), service
    ([1.0, 1.333333, 1.5], 1.0)
    """
    if len(network.classes) != 1 or network.classes[0].is_open or network.classes[0].think > 0.0:
        raise ModelError("a flow-equivalent station needs a network of one closed class that does not think")
    most = whole_number("most", most, least=1)
    (only,) = network.classes
    flows = []
    for jobs in range(1, most + 1):
        held = CustomerClass(only.service, population=jobs, visits=only.visits, routing=only.routing)
        flows.append(float(QueueingNetwork(network.stations, [held]).solve("exact").throughput[0]))
    return Station(name, speeds=np.array(flows) / flows[0]), 1.0 / flows[0]
