"""Stations of any kind and the classes of customers that visit them: what a network is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from phasefit.arrays import Array, read_only
from phasefit.checks import check_fields, named, one_of, positive_vector, real_number, whole_number
from phasefit.records import Record
from qmodels.errors import ModelError
from qmodels.markov.ctmc import stationary
from qmodels.networks.arguments import count

DISCIPLINES: Final = ("ps", "fcfs", "lcfs-pr", "delay")


@dataclass(frozen=True, eq=False)
class Station(Record):
    """A station: one queue, its servers, and who is served first.

    Parameters
    ----------
    name : str
        What customers call it.
    discipline : {"ps", "fcfs", "lcfs-pr", "delay"}
        Processor sharing, order of arrival, last come first served preemptively, or no waiting at all.
    servers : int
        Servers at speed one.
    speeds : (m,) array_like, optional
        Instead of `servers`: speed of the station with 1, 2, ..., m customers; the last one holds
        beyond. A flow-equivalent server of a part of a network is one, see `flow_equivalent_station`.

    Raises
    ------
    ModelError
        If an argument is out of its range.

    Examples
    --------
    >>> Station("disks", servers=4).speed_with(np.array([1, 3, 9])).tolist()
    [1.0, 3.0, 4.0]
    """

    name: str
    discipline: str = "ps"
    servers: int = 1
    speeds: ArrayLike | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ModelError(f"name of a station must be a text, got {self.name!r:.60}")
        one_of("discipline", self.discipline, DISCIPLINES)
        check_fields(self, count, "servers")
        if self.speeds is not None:
            if self.servers != 1 or self.discipline == "delay":
                raise ModelError(f"station {self.name}: give speeds, servers or a delay, one of the three")
            object.__setattr__(self, "speeds", read_only(positive_vector("speeds", self.speeds)))
        elif self.discipline == "delay" and self.servers != 1:
            raise ModelError(
                f"station {self.name}: a delay has a server for each customer; leave servers out"
            )
        if self.discipline == "lcfs-pr" and (self.servers > 1 or self.speeds is not None):
            raise ModelError(f'station {self.name}: "lcfs-pr" has one server; use "ps"')

    @property
    def is_delay(self) -> bool:
        """True if nobody ever waits here."""
        return self.discipline == "delay"

    @property
    def is_single(self) -> bool:
        """True if it is one server at speed one."""
        return (
            not self.is_delay
            and self.servers == 1
            and (self.speeds is None or bool(np.all(self._speeds == 1)))
        )

    @property
    def last_speed(self) -> float:
        """Speed with very many customers; infinite for a delay."""
        return float("inf") if self.is_delay else float(self.speed_table(None)[-1])

    @property
    def _speeds(self) -> Array:
        return np.asarray(self.speeds, dtype=float)

    def speed_table(self, most: int | None) -> Array:
        """Return the speeds with 1, 2, ... customers up to where they stay, at most `most` of them.

        Parameters
        ----------
        most : int or None
            Customers that can ever be here; None for any number.
        """
        if self.speeds is not None:
            return self._speeds
        servers = self.servers if most is None else max(1, min(self.servers, most))
        return np.arange(1, servers + 1, dtype=float)

    def speed_with(self, customers: ArrayLike) -> Array:
        """Return the speed with so many customers.

        Parameters
        ----------
        customers : (...) array_like of int
            Numbers of customers, at least 0.
        """
        numbers = np.asarray(customers)
        if self.is_delay:
            return numbers.astype(float)
        table = np.append(0.0, self.speed_table(None))
        return np.asarray(table[np.minimum(numbers, table.size - 1)])


@dataclass(frozen=True, eq=False)
class CustomerClass(Record):
    """Customers of one kind: how many, or how often they come, and what they ask of each station.

    Parameters
    ----------
    service : mapping of str to float
        Mean service of a visit, by the name of the station, in seconds at speed one. Without
        `visits` and `routing` each of these is visited once: the figures are service demands.
    population : int, optional
        Customers that are always in the network (a closed class). Give this or `arrival_rate`.
    arrival_rate : float, optional
        Customers that come from outside, per second (an open class; Poisson).
    think : float
        Seconds that a customer of a closed class spends outside between two passages.
    visits : mapping of str to float, optional
        Mean number of visits of a passage, by station.
    routing : mapping of str to mapping of str to float, optional
        Probability of each next station, by station. For a closed class they add up to one, and a
        passage goes from one visit of the first station of `service` to the next; for an open class
        what is missing to one leaves.
    entry : str, optional
        Station at which an open class with `routing` enters; by default the first of `service`.
    name : str
        What to call it in tables.

    Raises
    ------
    ModelError
        If an argument is out of its range, or the routing leads nowhere.

    Examples
    --------
    A program that computes for .1 s between requests, of which three in four go to the fast disk:

    >>> job = CustomerClass(
    ...     {"cpu": 0.1, "fast": 0.2, "slow": 0.5},
    ...     population=4,
    ...     routing={"cpu": {"fast": 0.75, "slow": 0.25}, "fast": {"cpu": 1.0}, "slow": {"cpu": 1.0}},
    ... )
    >>> {name: round(value, 6) for name, value in job.demands().items()}
    {'cpu': 0.1, 'fast': 0.15, 'slow': 0.125}
    """

    service: Mapping[str, float]
    population: int | None = None
    arrival_rate: float | None = None
    think: float = 0.0
    visits: Mapping[str, float] | None = None
    routing: Mapping[str, Mapping[str, float]] | None = None
    entry: str | None = None
    name: str = ""
    _ratios: dict[str, float] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.service, Mapping) or not self.service:
            raise ModelError(f"service must map names of stations to seconds, got {self.service!r:.60}")
        service = {str(k): real_number(f"service at {k}", v, least=0.0) for k, v in self.service.items()}
        object.__setattr__(self, "service", service)
        if (self.population is None) == (self.arrival_rate is None):
            raise ModelError("give population (a closed class) or arrival_rate (an open one), and not both")
        if self.population is not None:
            check_fields(self, whole_number, "population", least=0)
        else:
            rate = real_number("arrival_rate", self.arrival_rate, least=0.0)  # type: ignore[arg-type]
            object.__setattr__(self, "arrival_rate", rate)
        check_fields(self, real_number, "think", least=0.0)
        if self.think > 0.0 and self.is_open:
            raise ModelError("customers of an open class leave and do not think; leave think out")
        if self.visits is not None and self.routing is not None:
            raise ModelError("give visits or routing, and not both")
        if self.entry is not None and (self.routing is None or not self.is_open):
            raise ModelError("entry is for an open class with routing")
        self._ratios.update(self._visit_ratios(list(service)))
        if not self.is_open and self.think == 0.0 and not any(self.demands().values()):
            raise ModelError("a closed class must think, or ask some station for service")

    @property
    def is_open(self) -> bool:
        """True if customers come from outside."""
        return self.arrival_rate is not None

    def demands(self) -> dict[str, float]:
        """Return visits times service, by station, in seconds a passage."""
        return {name: self._ratios[name] * seconds for name, seconds in self.service.items()}

    def _visit_ratios(self, names: Sequence[str]) -> dict[str, float]:
        """Return the mean number of visits of a passage, by station."""
        if self.routing is not None:
            return dict(zip(names, self._solved_traffic(names).tolist(), strict=True))
        if self.visits is None:
            return dict.fromkeys(names, 1.0)
        for name in self.visits:
            named("station of visits", name, names)
        return {n: real_number(f"visits at {n}", self.visits.get(n, 0.0), least=0.0) for n in names}

    def _solved_traffic(self, names: Sequence[str]) -> Array:
        """Solve the traffic equations, as the chain of one customer: nothing is subtracted."""
        routing: Mapping[str, Mapping[str, float]] = self.routing or {}
        outside = len(names)  # of an open class; where it goes from there is where it enters
        moves = np.zeros((outside + 1, outside + 1))
        for source, targets in routing.items():
            row = names.index(named("station of routing", source, names))
            for target, chance in targets.items():
                column = names.index(named(f"station behind {source}", target, names))
                moves[row, column] = real_number(f"routing from {source} to {target}", chance, least=0.0)
        sums = moves[:outside].sum(axis=1)
        for name, total in zip(names, sums.tolist(), strict=True):
            if total > 1.0 + 1e-9 or (not self.is_open and total < 1.0 - 1e-9):
                wanted = "at most one" if self.is_open else "one"
                raise ModelError(f"routing from {name} must add up to {wanted}, got {total:.6g}")
        if self.is_open:
            moves[:outside, outside] = np.maximum(1.0 - sums, 0.0)
            moves[outside, names.index(named("entry", self.entry or names[0], names))] = 1.0
        else:
            moves = moves[:outside, :outside]
        first = outside if self.is_open else 0
        seen = _reached(moves, first)
        visits = np.zeros(moves.shape[0])
        if seen.sum() > 1:
            visits[seen] = stationary(
                np.where(np.eye(int(seen.sum()), dtype=bool), 0.0, moves[np.ix_(seen, seen)])
            )
        else:
            visits[first] = 1.0
        if visits[first] == 0.0:
            where = "leave" if self.is_open else f"come back to {names[0]}, the first station of service"
            raise ModelError(f"routing: customers do not {where}; mend it so that they do")
        return np.asarray(visits[:outside] / visits[first])


def _reached(moves: Array, start: int) -> np.ndarray:
    """Return which places a customer who starts at one of them ever sees."""
    seen = np.zeros(moves.shape[0], dtype=bool)
    seen[start], fresh = True, [start]
    while fresh:
        fresh = [int(k) for k in np.flatnonzero((moves[fresh] > 0.0).any(axis=0) & ~seen)]
        seen[fresh] = True
    return seen
