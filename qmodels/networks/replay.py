"""Jobs of data replayed through a queue: how far an answer for fitted laws is off the data.

What is computed of a law is exact for that law. The data that it was fitted to are at hand, so
what the law leaves out need not be guessed: their own jobs, in their own order, meet the same
queue at the same load. An interval says what other jobs would give: where a log has both when they
came and what they brought, those of another period; else the process that one history is of.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, hypot, inf, log, sqrt
from pathlib import PurePath
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from phasefit import MAP, FittedTo, PhaseType
from phasefit.arrays import Array
from phasefit.records import Record
from qmodels.networks import _kernels

#: Numbers of parts of a history, side by side, that are taken as independent of each other: waves
#: longer than an eighth of it show between its quarters.
PARTS: Final = (8, 4)
#: Standard errors to either side: by Student's law 95 % are within of eight normal parts, 90 % of
#: four.
REACH: Final = 2.36
#: Numbers of parts of a log that tell how far another period may be from it.
PERIODS: Final = (2, 4, 8)
#: Standard deviations of a part to either side: of the difference of two, and 90 % by Student's law
#: with the 1 + 3 + 7 degrees of freedom of these parts.
APART: Final = 1.796 * sqrt(2.0)
#: What an interval is of, in words.
PROCESS, PERIOD = "the process behind the data", "another period as long, at the same load"
#: What the intervals are meant to cover; what they did is in docs/record/fit-errors.csv and
#: docs/record/log-descriptions.csv.
CONFIDENCE: Final = 0.9
#: Fewest jobs of a history that anything is said of.
FEWEST: Final = 16
#: Jobs from the end of a history that are replayed before it, so that it does not begin empty.
_BEFORE: Final = 100_000
#: Jobs that are replayed where a column has to be drawn, and how many histories at most.
_DRAWN_JOBS, _MOST_DRAWN = 200_000, 8
#: Seed of the columns that are drawn: the same question has the same answer.
_SEED: Final = 20_320_004

#: What is asked of the waits and of the times in the queue of jobs, (n,) each.
Asked = Callable[[Array, Array], float]


@dataclass(frozen=True, kw_only=True)
class FitError(Record):
    """Distance that an answer for fitted laws may have from the data they were fitted to.

    Examples
    --------
    >>> found = FitError(of="mean wait", predicted=12.0, on_data=8.0, low=4.0, high=15.0, jobs=900)
    >>> found.error, str(found)
    (2.0, 'mean wait 12 s by the fitted laws, 8 s by their own data (4 to 15 s)')
    """

    of: str  #: what was asked for, in words
    predicted: float  #: seconds, by the fitted laws
    #: seconds, by the data in their own order at the same load; NaN where that cannot be had
    on_data: float
    low: float  #: end of the interval of what other jobs would give, see `interval_of`, seconds
    high: float  #: the other end, infinite where the data do not bound it
    jobs: int  #: that the data have; 0 where they are not known
    source: str = ""  #: where the data come from
    confidence: float = CONFIDENCE  #: of the interval
    described: str = ""  #: what jobs drawn from the data the answer is of; "" for the fitted laws
    interval_of: str = PROCESS  #: which other jobs these are: `PROCESS` or `PERIOD`, "" where not known

    @property
    def error(self) -> float:
        """Relative error within which the prediction is to be trusted; infinite for none.

        The prediction and the truth are within a factor of one plus this, up or down.
        """
        if self.predicted <= 0.0:
            return 0.0 if self.high <= 0.0 else inf
        if self.low <= 0.0 or self.high == inf:
            return inf
        return max(self.predicted / self.low, self.high / self.predicted) - 1.0

    @property
    def ratio(self) -> float:
        """Value by the data over that by the fitted laws; NaN where that cannot be had."""
        return self.on_data / self.predicted if self.predicted > 0.0 else float("nan")

    def record(self) -> dict[str, Any]:
        """Return the interval and its origin; None for what is not known."""

        def known(value: float) -> float | None:
            return value if np.isfinite(value) else None

        return {
            "of": self.of,
            "predicted": self.predicted,
            "on_data": known(self.on_data),
            "low": known(self.low),
            "high": known(self.high),
            "error": known(self.error),
            **self._by_name("jobs", "source", "confidence", "described", "interval_of"),
        }

    def __str__(self) -> str:
        by = "jobs drawn from the data" if self.described else "the fitted laws"
        text = f"{self.of} {self.predicted:.4g} s by {by}"
        if np.isnan(self.on_data):
            return f"{text}; how far that is from their data is not known here"
        text = f"{text}, {self.on_data:.4g} s by their own data"
        if self.interval_of == PERIOD:
            return f"{text}, {self._interval_text} in {PERIOD}"
        return f"{text} ({self._interval_text})"

    @property
    def _interval_text(self) -> str:
        if self.high == inf:
            return f"{self.low:.4g} s or more"
        return f"{self.low:.4g} to {self.high:.4g} s"

    def sentence(self, subject: str) -> str:
        """Return what a reader has to know of an answer.

        Parameters
        ----------
        subject : str
            Owner of the answer in the sentence, such as a policy's name.
        """
        data = self.source or "data"
        if np.isnan(self.on_data):
            return (
                f"Laws were fitted to {data}; how far the {self.of} of {subject} is from what "
                f"these say themselves is not known."
            )
        begin, by = f"Laws were fitted to {data}", "the laws"
        if self.described:
            begin, by = f"Jobs are drawn from {data} as {self.described}", "those drawn"
        text = (
            f"{begin}. Its own {self.jobs:,} jobs in their own order give "
            f"{subject} a {self.of} of {self.on_data:.4g} s, {by} {self.predicted:.4g} s"
        )
        if self.high == inf:
            return f"{text}; so short a history puts no upper end to it."
        if self.interval_of == PERIOD:
            return f"{text}; {PERIOD}, gives {self.low:.4g} to {self.high:.4g} s nine times in ten."
        return f"{text}; one history bounds it to {self.low:.4g} to {self.high:.4g} s."


def unknown_error(of: str, predicted: float) -> FitError:
    """Return the error of an answer whose laws were fitted to data that cannot be replayed.

    Parameters
    ----------
    of : str
        Name of the answer.
    predicted : float
        The answer, seconds.
    """
    return FitError(
        of=of, predicted=predicted, on_data=float("nan"), low=0.0, high=inf, jobs=0, interval_of=""
    )


def replayed(gaps: Array, work: Array, speeds: Array) -> tuple[Array, Array]:
    """Send jobs through a queue that was filled before, as if they came round and round.

    Parameters
    ----------
    gaps : (n,) ndarray
        Time before each job, seconds; the first is that after the last job.
    work : (n,) ndarray
        What each one brings, in seconds at speed one.
    speeds : (c,) ndarray
        Speed of each job that runs, while k = 1..c do; the others wait in order.

    Returns
    -------
    waits, stays : (n,) ndarray
        Seconds from arrival to start and to departure. Up to 100,000 jobs from the end of the
        history are replayed before it.

    Examples
    --------
    >>> waits, stays = replayed(np.array([1.0, 3.0]), np.array([2.0, 1.5]), np.ones(1))
    >>> waits, stays
    (array([0.5, 0. ]), array([2.5, 1.5]))
    """
    before = min(gaps.size, _BEFORE)
    came, brought = (np.concatenate([x[-before:], x]) for x in (gaps, work))
    waits, stays = np.zeros(came.size), np.zeros(came.size)
    _kernels.replay(came, brought, np.ascontiguousarray(speeds, dtype=float), waits, stays)
    return waits[before:], stays[before:]


def mean_wait(waits: Array, stays: Array) -> float:
    """Return the mean of the waits; see `Asked`.

    Parameters
    ----------
    waits, stays : (n,) ndarray
        Seconds from arrival to start and to departure.
    """
    return float(waits.mean())


def mean_stay(waits: Array, stays: Array) -> float:
    """Return the mean of the times in the queue, service included; see `Asked`.

    Parameters
    ----------
    waits, stays : (n,) ndarray
        Seconds from arrival to start and to departure.
    """
    return float(stays.mean())


def percentile(of_waits: bool, q: float, waits: Array, stays: Array) -> float:
    """Return a percentile of the waits, or of the times in the queue; see `Asked`.

    Parameters
    ----------
    of_waits : bool
        Whether it is one of the waits.
    q : float
        Share that does not exceed it.
    waits, stays : (n,) ndarray
        Seconds from arrival to start and to departure.
    """
    return float(np.quantile(waits if of_waits else stays, q))


def drawn(arrivals: PhaseType | MAP, service: PhaseType, speeds: Array, asked: Asked) -> float:
    """Return the value for jobs drawn from the laws, as many as are replayed of data.

    Parameters
    ----------
    arrivals : PhaseType or MAP
        See `fit_error`.
    service : PhaseType
        See `fit_error`.
    speeds : (c,) ndarray
        See `fit_error`.
    asked : callable
        See `fit_error`.
    """
    size = _DRAWN_JOBS // 2
    times = []
    for place in range(4):
        rng = np.random.default_rng([_SEED, place])
        times.append(replayed(arrivals.rvs(size, rng), service.rvs(size, rng), speeds))
    waits, stays = (np.concatenate([pair[i] for pair in times]) for i in (0, 1))
    return asked(waits, stays)


def is_fitted(*laws: PhaseType | MAP) -> bool:
    """Return whether any of the laws was fitted to data.

    Parameters
    ----------
    *laws : PhaseType or MAP
        The laws.
    """
    return any(law.fitted_to is not None for law in laws)


def fit_error(
    arrivals: PhaseType | MAP,
    service: PhaseType,
    speeds: Array,
    *,
    of: str,
    asked: Asked,
    predicted: float,
    by_laws: float | None = None,
    interval: bool = True,
    described: str = "",
) -> FitError:
    """Return the distance that an answer for a queue with fitted laws may have from their data.

    Parameters
    ----------
    arrivals : PhaseType or MAP
        Of the gaps, or of how jobs come.
    service : PhaseType
        Of the work of a job, in seconds at speed one. At least one of both was fitted.
    speeds : (c,) ndarray
        See `replayed`.
    of : str
        What is asked for, in words.
    asked : callable
        Computes it of the waits and stays of jobs.
    predicted : float
        The answer, seconds.
    by_laws : float, optional
        What this queue gives with the fitted laws, if the answer is another model's; the ratio of
        the data to that is then applied to the answer.
    interval : bool
        Whether to find the interval too, which takes three times as long; else it has no ends.
    described : str
        See `FitError`.

    Returns
    -------
    FitError
        The value by the data, and an interval.

    Notes
    -----
    The jobs of the data are replayed in their own order, gaps and work of one source together. Where
    one of the two was given as a law, it is drawn from that, eight times at most.

    Where gaps and work are of the same jobs, as of a log, the load is taken for the one that is asked
    about, and the interval is of another period as long. Halves, quarters and eighths of the log are
    replayed one by one at that load, and the logarithms of what they give differ with a standard
    deviation that another period is taken to differ with, too: in some public logs it falls with the
    length of the parts, in others it grows, and no log tells which. The interval is around the answer
    where this is of jobs drawn from the log, as their own order is one of many, else around what the
    log gives.

    Else two things are uncertain. The load: a process that goes by long waves has a long-run rate that
    one history tells badly, and a wait grows as 1 / (1 - load). So the jobs are replayed again at
    loads as far up and down as the jackknife of work over time says [1]_. And the mean or the
    percentile of the times itself, by the jackknife of its logarithm. The jackknife leaves out each
    eighth of the history in turn, then each quarter, and the larger standard error counts. Both
    sources together, as the root of the sum of their squares, upward and downward, make the
    interval. Where the load can be one or more, no upper end is stated. Waves of which the history
    holds no more than part of one cannot be seen in it.

    References
    ----------
    .. [1] R. G. Miller, "The jackknife - a review", *Biometrika* 61 (1974) 1-15.
    """
    histories = _histories(arrivals.fitted_to, service.fitted_to, arrivals, service)
    if histories is None:
        return unknown_error(of, predicted)

    def at(factor: float) -> list[tuple[Array, Array]]:
        return [replayed(gaps / factor, work, speeds) for gaps, work in histories]

    def of_jobs(gaps: Array, work: Array) -> float:
        return asked(*replayed(gaps, work, speeds))

    def value(times: list[tuple[Array, Array]]) -> float:
        waits, stays = (np.concatenate([pair[i] for pair in times]) for i in (0, 1))
        return asked(waits, stays)

    once, size = at(1.0), histories[0][0].size
    by_data, low, high = value(once), 0.0, inf
    paired = _same_jobs(arrivals.fitted_to, service.fitted_to)
    if interval and paired:
        centre = by_data
        if described:
            centre = predicted if by_laws is None else by_laws
        low, high = _other_period(*histories[0], of_jobs, centre)
    elif interval:
        deviation = _jackknife(lambda kept: value([(w[kept], s[kept]) for w, s in once]), size)
        spread = _load_spread(*histories[0], arrivals, service)
        more, less = exp(REACH * spread), exp(-REACH * spread)
        load = service.mean / arrivals.mean / float(speeds.size * speeds[-1])
        if load * more < 1.0:
            above = value(at(more))
            high = by_data * exp(_joint_distance(above, by_data, deviation)) if by_data > 0.0 else above
        if by_data > 0.0:
            low = by_data * exp(-_joint_distance(by_data, value(at(less)), deviation))
    ratio = 1.0
    if by_laws is not None:
        ratio = predicted / by_laws if by_laws > 0.0 else float("nan")
    return FitError(
        of=of,
        predicted=predicted,
        on_data=ratio * by_data,
        low=ratio * low,
        high=ratio * high,
        jobs=size,
        source=_source_name(arrivals, service),
        described=described,
        interval_of=PERIOD if paired else PROCESS,
    )


def _source_name(*laws: PhaseType | MAP) -> str:
    """Name of the data of fitted laws, without folders; "" where they have none or several."""
    names = {law.fitted_to.source for law in laws if law.fitted_to is not None}
    return PurePath(names.pop()).name if len(names) == 1 else ""


def _joint_distance(above: float, below: float, spread: float) -> float:
    """Distance in logarithms of two sources: from one value up to another, and a standard error."""
    if below <= 0.0:
        return inf
    return hypot(max(log(above / below), 0.0), REACH * spread)


def _histories(
    came: FittedTo | None, brought: FittedTo | None, arrivals: PhaseType | MAP, service: PhaseType
) -> list[tuple[Array, Array]] | None:
    """Gaps and work of the same jobs, as often as it takes; None where the data are not known."""
    sources = [data for data in (came, brought) if data is not None]
    if not sources or any(data.size < FEWEST for data in sources):
        return None
    if came is not None and brought is not None and _same_jobs(came, brought):
        return [(came.times, brought.times)]
    size = (came or sources[0]).size
    histories = []
    for place in range(max(1, min(_MOST_DRAWN, _DRAWN_JOBS // size))):
        rng = np.random.default_rng([_SEED, place])
        gaps = came.times if came is not None else arrivals.rvs(size, rng)
        if brought is None:
            work = service.rvs(size, rng)
        elif came is None:
            work = brought.times
        else:  # of other jobs than the gaps
            work = rng.choice(brought.times, size)
        histories.append((gaps, work))
    return histories


def _same_jobs(came: FittedTo | None, brought: FittedTo | None) -> bool:
    """True if gaps and work are those of the same jobs."""
    if came is None or brought is None:
        return False
    return came.size == brought.size and (came.source == brought.source != "")


def _other_period(
    gaps: Array, work: Array, value: Callable[[Array, Array], float], centre: float
) -> tuple[float, float]:
    """Ends of the interval of another period, by how far parts of this one differ at its load.

    A part that gives zero has no logarithm: then the interval is from zero to the largest.
    """
    groups = []
    for parts in PERIODS:
        pairs = [*zip(np.array_split(gaps, parts), np.array_split(work, parts), strict=True)]
        if any(not came.any() or not brought.any() for came, brought in pairs):
            return 0.0, inf  # a part without a load
        groups.append([value(_as_much(came, gaps), _as_much(brought, work)) for came, brought in pairs])
    values = np.concatenate(groups)
    if values.min() <= 0.0:
        return 0.0, max(centre, float(values.max()))
    squares = sum(float(np.var(np.log(group))) * len(group) for group in groups)
    distance = APART * sqrt(squares / (values.size - len(groups)))
    return centre * exp(-distance), centre * exp(distance)


def _as_much(part: Array, whole: Array) -> Array:
    """A part in a unit in which its mean is that of the whole."""
    ratio = float(whole.mean() / part.mean())
    return part * ratio


def _load_spread(gaps: Array, work: Array, arrivals: PhaseType | MAP, service: PhaseType) -> float:
    """Standard error of the logarithm of the load, as far as the data decide it."""
    if arrivals.fitted_to is None:
        gaps = np.ones(work.size)
    if service.fitted_to is None:
        work = np.ones(gaps.size)
    return _jackknife(lambda kept: float(work[kept].sum() / gaps[kept].sum()), gaps.size)


def _jackknife(value: Callable[[NDArray[np.bool_]], float], size: int) -> float:
    """Standard error of the logarithm of a value, each part of the history left out in turn."""
    largest = 0.0
    for parts in PARTS:
        part = np.arange(size) * parts // size
        values = np.array([value(part != left_out) for left_out in range(parts)])
        if values.min() <= 0.0:
            return inf
        logs = np.log(values)
        spread = float(((logs - logs.mean()) ** 2).sum())
        largest = max(largest, sqrt((parts - 1) / parts * spread))
    return largest
