"""Programs that come and go on one storage: so many for ever, or an open stream."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_banded
from scipy.special import gammaincinv

from phasefit import PhaseType
from phasefit.arrays import Array
from phasefit.checks import real_number, share, whole_number
from phasefit.records import Record
from qmodels.errors import ModelError, UnstableError
from qmodels.networks.product_form import birth_death_weights
from qmodels.storage.curves import MOST_PROGRAMS, StageCurve, storage_speed, stretch

#: Phases of a law of responses, and the chance to find more others, up to which they are the numbers of
#: others; beyond, their number is taken to stay.
_MOST_PHASES, _TAIL = 400, 1e-5
#: Programs at a storage that an open stream is followed to.
_MOST_PRESENT = 1 << 20


@dataclass(frozen=True, eq=False)
class SteadySharing(Record):
    """Steady state of programs that share a storage."""

    programs: float  #: in the system on average, those that think left out
    response: float  #: mean seconds from the start of a program to its end
    alone: float  #: the same with nobody else
    throughput: float  #: programs that end per second
    utilisation: float  #: share of the storage's best speed in use
    method: str  #: "exact (product form)" where all stages have the same `streams`, or "approximate"
    private: float  #: seconds of a response away from the storage
    _stay: Callable[[], PhaseType | None] = field(repr=False, default=lambda: None)
    _scv: Callable[[int], float] = field(repr=False, default=lambda count: 1.0 / count)

    def percentile(self, q: float, *, bursts: int = 1) -> float:
        """Return the response that a share `q` of programs does not exceed, seconds.

        Parameters
        ----------
        q : float
            Between 0 and 1.
        bursts : int
            Transfers of a program, exponential, under processor sharing; the rest is constant. The law of
            one is exact, but where 400 others and more are met: then as if their number stayed. That of
            several is a gamma law with the variance of as many that follow each other among the same others.

        Raises
        ------
        ModelError
            If an argument is out of its range.
        """
        q = share("q", q, zero=False, one=False)
        count = whole_number("bursts", bursts, least=1)
        law = self._stay()
        if law is None:
            return self.response
        if count == 1:
            return self.private + float(law.ppf(q))
        shape = 1.0 / self._scv(count)
        return self.private + law.mean * float(gammaincinv(shape, q)) / shape


@dataclass(frozen=True)
class _Station:
    """Demand of all stages on their storage."""

    private: float  #: seconds away from it, nobody else there
    service: float  #: seconds at it at the speed of one stream
    streams: float
    loss: float
    exact: bool  #: whether the steady state is a product form

    def speeds(self, most: int) -> Array:
        """Work that the storage gets done, in streams, with 1, ..., `most` there."""
        return storage_speed(np.arange(1.0, most + 1.0), self.streams, self.loss)


def together(stages: Sequence[StageCurve]) -> tuple[float, float]:
    """Return the streams that fill the storage of all stages together, and what contention takes.

    Parameters
    ----------
    stages : sequence of StageCurve
        Of one program.

    Returns
    -------
    streams, loss : float
        As of `StageCurve`, weighed by what each stage asks of the storage.

    Examples
    --------
    >>> half = {"io_share": 0.5, "loss": 0.2}
    >>> together([StageCurve("a", 4.0, streams=2.0, **half), StageCurve("b", 4.0, streams=6.0, **half)])
    (3.0, 0.2)
    """
    station = _station(stages, 0.0)
    return station.streams, station.loss


def _station(stages: Sequence[StageCurve], others: float) -> _Station:
    """Stages as one visit to one storage, and the rest, stretched by so many others."""
    if not stages or not all(isinstance(stage, StageCurve) for stage in stages):
        raise ModelError("stages must be one or more StageCurve")
    private = sum(stage.seconds * (1.0 - stage.io_share) * stretch(stage, others) for stage in stages)
    used = [stage for stage in stages if stage.io_share > 0.0]
    service = sum(stage.seconds * stage.io_share for stage in used)
    demand = sum(stage.demand for stage in used)
    streams = service / demand if demand > 0.0 else math.inf
    loss = sum(stage.demand * stage.loss for stage in used) / demand if demand > 0.0 else 0.0
    alike = len({(stage.streams, stage.loss) for stage in used}) <= 1
    # The stretch of what is private rests on a mean number of others.
    exact = alike and all(stage.creep == 0.0 for stage in stages)
    return _Station(private, service, streams, loss, exact)


class _Visit(NamedTuple):
    """Encounter of programs with a storage in steady state."""

    response: float  #: mean seconds of a program
    throughput: float  #: programs per second
    others: float  #: that a program finds in the system on average
    seen: Array  #: probability of 0, 1, ... others at the storage when it comes there
    joins: Array  #: rate at which one more comes there, with 0, 1, ... others at it
    between: float = 0.0  #: share of the time away that is between two transfers of one program


def closed_sharing(stages: Sequence[StageCurve], programs: int, *, think: float = 0.0) -> SteadySharing:
    """Return the steady state of so many programs, each begun again when it has ended.

    Parameters
    ----------
    stages : sequence of StageCurve
        Of the program.
    programs : int
        At least one.
    think : float
        Mean seconds from the end of a program until the next one begins in its place.

    Returns
    -------
    SteadySharing
        Exact for processor sharing, and in order of arrival for exponential transfers, where all stages
        have the same `streams` and no stretch; approximate elsewhere.

    Raises
    ------
    ModelError
        If an argument is out of its range.

    References
    ----------
    .. [1] Baskett et al. 1975.

    Examples
    --------
    >>> stage = StageCurve("io", 2.0, io_share=0.5, streams=1.0)
    >>> found = closed_sharing([stage], 2)
    >>> round(found.throughput, 12), round(found.response, 12), found.method
    (0.8, 2.5, 'exact (product form)')
    """
    n = whole_number("programs", programs, least=1, most=MOST_PROGRAMS)
    think = real_number("think", think, least=0.0)
    at = np.arange(1.0, n + 1.0)

    def visit(station: _Station) -> _Visit:
        away = think + station.private
        seen = _repair(station, away, n - 1)
        response = station.private + station.service * float(seen @ (at / station.speeds(n)))
        throughput = n / (think + response)
        others = max(throughput * response * (1.0 - 1.0 / n), 0.0)
        joins, between = (n - at) / (away or math.inf), station.private / (away or math.inf)
        return _Visit(response, throughput, others, seen, joins, between)

    return _settled(stages, float(n - 1), visit)


def open_sharing(stages: Sequence[StageCurve], rate: float) -> SteadySharing:
    """Return the steady state of programs that begin at random times, at a constant rate.

    Parameters
    ----------
    stages : sequence of StageCurve
        Of the program.
    rate : float
        Programs that begin per second, above zero.

    Returns
    -------
    SteadySharing
        As in `closed_sharing`.

    Raises
    ------
    UnstableError
        If the storage cannot carry that many, or only just: a million programs would be there at times.
    ModelError
        If an argument is out of its range.

    Examples
    --------
    >>> found = open_sharing([StageCurve("io", 1.0, io_share=1.0, streams=1.0)], 0.5)
    >>> round(found.response, 9), round(found.percentile(0.5), 2)
    (2.0, 1.13)
    """
    rate = real_number("rate", rate, above=0.0)

    def visit(station: _Station) -> _Visit:
        capacity = station.streams * (1.0 - station.loss) / station.service if station.service else math.inf
        if rate >= capacity:
            raise UnstableError("the storage", rate, capacity)
        present = _open_law(station, rate, capacity)
        response = station.private + float(present @ np.arange(present.size)) / rate
        return _Visit(response, rate, rate * response, present, np.full(present.size, rate))

    return _settled(stages, rate * sum(stage.seconds for stage in stages), visit)


def _settled(
    stages: Sequence[StageCurve], others: float, visit: Callable[[_Station], _Visit]
) -> SteadySharing:
    """Steady state in which the stretch is by as many others as there are, from a first guess of them."""
    for _ in range(200):
        station = _station(stages, others)
        found = visit(station)
        if station.exact or abs(found.others - others) <= 1e-13 * max(found.others, 1.0):
            break
        others = found.others
    return SteadySharing(
        programs=found.throughput * found.response,
        response=found.response,
        alone=sum(stage.seconds for stage in stages),
        throughput=found.throughput,
        utilisation=found.throughput * station.service / station.streams,
        method="exact (product form)" if station.exact else "approximate",
        private=station.private,
        _stay=partial(_stay_law, station, found.seen, found.joins),
        _scv=partial(_scv_of_several, station, found),
    )


def _repair(station: _Station, away: float, jobs: int) -> Array:
    """Probability of 0, ..., `jobs` programs at the storage; the others are away."""
    if jobs == 0 or station.service == 0.0:
        return np.asarray(np.eye(jobs + 1)[0])
    if away == 0.0:
        return np.asarray(np.eye(jobs + 1)[-1])
    here = np.arange(jobs)
    climb = np.log((jobs - here) * station.service / away / station.speeds(jobs))
    weights = birth_death_weights(climb)
    return np.asarray(weights / weights.sum())


def _open_law(station: _Station, rate: float, capacity: float) -> Array:
    """Probability of 0, 1, ... programs at the storage, cut where the rest is negligible."""
    offered = rate * station.service
    if offered == 0.0:
        return np.ones(1)
    size = 64
    while True:
        weights = birth_death_weights(np.log(offered / station.speeds(size)))
        ratio = offered / station.speeds(size)[-1]
        rest = weights[-1] * ratio / (1.0 - ratio) if ratio < 1.0 else math.inf
        if rest <= 1e-15 * weights.sum():
            return np.asarray(weights / weights.sum())
        if size >= _MOST_PRESENT:
            raise UnstableError(
                "the storage",
                rate,
                capacity,
                message=f"the storage: {rate:.9g} programs/s are too near to the {capacity:.9g} that it "
                f"carries, with more than {size:,} of them there at times; lower the rate",
            )
        size *= 2


def _stay_law(station: _Station, found: Array, joins: Array) -> PhaseType | None:
    """Law of one exponential transfer under processor sharing, from what it finds on arrival.

    Its phases are the numbers of others at the storage, and `joins` the rates at which one more comes. None
    without a storage.
    """
    if station.service == 0.0:
        return None
    most = min(_most_met(found, joins), _MOST_PHASES - 1)
    if found[most + 1 :].sum() > _TAIL:  # so many that their number hardly changes meanwhile
        crowd = np.arange(1.0, found.size + 1.0)
        near = (np.log(crowd) / np.log(found.size) * (_MOST_PHASES - 1)).astype(int)
        shares = np.bincount(near, found)
        met = shares > 0.0
        lasts = np.bincount(near, found * crowd / station.speeds(found.size))[met] / shares[met]
        return PhaseType.hyperexponential(
            weights=shares[met] / shares[met].sum(), means=station.service * lasts
        )
    others = np.arange(most + 1)
    each = station.speeds(most + 1) / (others + 1.0) / station.service  # rate of each of i + 1
    rates = np.zeros((most + 1, most + 1))
    for i in others.tolist():
        if i < most:
            rates[i, i + 1] = joins[i]
        if i > 0:
            rates[i, i - 1] = i * each[i]
        rates[i, i] = -(rates[i].sum() + each[i])
    start = np.zeros(most + 1)
    start[: min(found.size, most + 1)] = found[: most + 1]
    return PhaseType(start / start.sum(), rates)


def _most_met(found: Array, joins: Array) -> int:
    """Others at the storage that a program may meet, but for negligible chances."""
    kept = int(np.searchsorted(np.cumsum(found), 1.0 - 1e-12)) + 1
    return min(joins.size - 1, max(kept + 20, 2 * kept))


def _scv_of_several(station: _Station, visit: _Visit, count: int) -> float:
    """Squared coefficient of variation of so many transfers in a row of one program.

    The others come and go meanwhile, so that a program that met many meets many again. Those that are between
    two transfers of their own come `count` times as often, for as much less.
    """
    found, joins = visit.seen, visit.joins
    others = np.arange(_most_met(found, joins) + 1.0)
    each = station.speeds(others.size) / (others + 1.0) / station.service  # rate of each of i + 1
    pace = 1.0 + (count - 1.0) * visit.between
    more, fewer, ends = pace * joins[: others.size - 1], pace * (others * each)[1:], count * each
    rates = np.zeros((3, others.size))
    rates[0, 1:], rates[1], rates[2, :-1] = -more, ends, -fewer
    rates[1, :-1] += more
    rates[1, 1:] += fewer
    mean, square = np.zeros(others.size), np.zeros(others.size)
    for _ in range(count):
        mean = solve_banded((1, 1), rates, 1.0 + ends * mean)
        square = solve_banded((1, 1), rates, 2.0 * mean + ends * square)
    start = found[: others.size] / found[: others.size].sum()
    return float(start @ square) / float(start @ mean) ** 2 - 1.0
