"""`read_site`: what a job log says of its machine, and how far a model of rigid jobs explains it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy.stats import spearmanr, t

from phasefit.arrays import Array
from phasefit.records import Drawing, Record, Result
from qmodels.errors import ModelError
from qmodels.progress import Progress, no_progress
from validation.analysis.seeding import stream
from validation.rigid.changes import (
    LOADS,
    ChangedWaits,
    SiteChange,
    days_drawn,
    replayed,
    site_changes,
    usual_changes,
)
from validation.rigid.mixes import saturated_rates
from validation.rigid.model import RigidJobs
from validation.rigid.months import SiteLog, in_use, waited_beside_idle

if TYPE_CHECKING:
    import pandas as pd

#: Usable parts of the machine and caps per user, as parts of the machine, that are tried; infinity is no cap.
PARTS: Final = (1.0, 0.95, 0.9, 0.85, 0.8)
CAPS: Final = (math.inf, 0.5, 0.25, 0.125)
#: Fewest whole months of which two numbers are found and tested.
_FEWEST_MONTHS = 4
#: Fewest months of a second half whose order counts: three are in the right one once in six by chance.
_FEWEST_RANKED = 5
#: Median error (natural logarithm) up to which the model explains a site; rank correlation from which
#: it explains the order of its months.
EXPLAINED, ORDERED = 0.35, 0.5
#: Months of the mix of today.
_RECENT = 3
EXPLAINS: Final = "explains the waits of months"
ORDERS: Final = "explains the order of months"
_IN_ORDER, _SHALLOW, _DEEP = "in order of arrival", "EASY, 10 jobs looked at", "EASY, 200 jobs looked at"
DOES_NOT: Final = "does not: limits per user, partitions or reservations decide"


@dataclass(frozen=True, eq=False)
class MonthlyFit(Record):
    """Usable part of a machine and cap per user, found on the first months of a log and tested on the others.

    Parameters
    ----------
    part : float
        Of the machine that jobs can use.
    cap : float
        Processors that a user may hold, as a part of the machine; infinite for no cap.
    found, tested : float
        Median of the absolute error of a month's mean wait (natural logarithm), first half, second half.
    tested_mean, tested_class : float
        Its mean over the second half, and the median over months and classes of sizes.
    plain : float
        Median over the second half with the whole machine and no cap.
    order : float
        Rank correlation of simulated and recorded months of the second half; NaN for fewer than five.
    verdict : str
        Whether the model explains the site, in words.
    waits : (n,) ndarray
        Simulated waits of all jobs, seconds.
    """

    part: float
    cap: float
    found: float
    tested: float
    tested_mean: float
    tested_class: float
    plain: float
    order: float
    verdict: str
    waits: Array = field(repr=False)


@dataclass(frozen=True)
class SaturatedSite(Record):
    """Share of the machine that its mix can use under a discipline.

    Parameters
    ----------
    name : str
        The discipline, in words.
    share : float
        Mean over days drawn anew.
    half_width : float
        Of its 90 % interval.
    """

    name: str
    share: float
    half_width: float


@dataclass(frozen=True)
class NextMonth(Record):
    """Mean wait of the month after a log: as last month.

    Parameters
    ----------
    mean : float
        Seconds.
    factor : float
        By which it may be more or less, at 90 %.
    months : int
        Pairs of months of the log from whose changes the factor is.
    """

    mean: float
    factor: float
    months: int


@dataclass(frozen=True, eq=False)
class SiteReading(Result):
    """Waits of a site, recorded and simulated, what would saturate it, and what changes would do.

    Parameters
    ----------
    log : SiteLog
        The jobs.
    load : float
        Share of the machine that the jobs of the last months ask for.
    beside_idle : float
        Part of all waiting that passed while enough processors for the job were idle; NaN if nobody waited.
    five_users : float
        Part of all waiting that the five users who waited most hold.
    recorded : (m,) ndarray
        Mean recorded wait of each whole month, seconds; NaN where it has too few jobs.
    fit : MonthlyFit or None
        None where there are too few months.
    saturated : tuple of SaturatedSite
        By discipline.
    changes : tuple of ChangedWaits
        What changes would do.
    by_load : tuple of ChangedWaits
        The same of the loads of `LOADS`; empty where there are too few jobs.
    next_month : NextMonth or None
        None where there are too few months.
    beside : (n,) ndarray
        How long each job waited beside enough idle processors, seconds.
    """

    drawing = Drawing("month", "recorded wait [h]")

    log: SiteLog
    load: float
    beside_idle: float
    five_users: float
    recorded: Array
    fit: MonthlyFit | None
    saturated: tuple[SaturatedSite, ...]
    changes: tuple[ChangedWaits, ...]
    by_load: tuple[ChangedWaits, ...]
    next_month: NextMonth | None
    beside: Array = field(repr=False)

    def over_time(self, columns: int) -> tuple[Array, Array, Array]:
        """Return edges of stretches of time, the share in use in each, and that of waiting beside idle.

        Parameters
        ----------
        columns : int
            Stretches, at least one. Edges are in seconds; waiting counts where a job was submitted,
            NaN where none waited.
        """
        jobs, waits = self.log.jobs, self.log.waits
        start = jobs.submit + waits
        edges = np.linspace(0.0, float(jobs.submit[-1]) or 1.0, columns + 1)
        times, busy = in_use(jobs, waits)
        held = np.concatenate([[0.0], np.cumsum(busy[:-1] * np.diff(times))])
        used = np.diff(np.interp(edges, times, held)) / (np.diff(edges) * self.log.processors)
        column = np.minimum((jobs.submit / edges[-1] * columns).astype(int), columns - 1)
        waited, beside = (np.bincount(column, x, columns) for x in (start - jobs.submit, self.beside))
        return edges, used, np.where(waited > 0, beside / np.where(waited > 0, waited, 1.0), np.nan)

    @property
    def simulated(self) -> Array:
        """Mean simulated wait of each whole month (m,), seconds; NaN where there is none."""
        return np.full(self.recorded.size, np.nan) if self.fit is None else self.log.means(self.fit.waits)

    def record(self) -> dict[str, Any]:
        """Return all but the jobs."""
        log, fit = self.log, self.fit
        return {
            "jobs": len(log.jobs),
            "processors": log.processors,
            "processors_guessed": log.guessed,
            "peak_use": log.peak,
            "has_limits": log.has_limits,
            "has_users": log.has_users,
            "left_out": log.left_out,
            "months": log.months,
            "load": self.load,
            "mean_wait": float(log.waits.mean()),
            "waited_beside_idle": self.beside_idle,
            "five_users_hold": self.five_users,
            "recorded_months": self.recorded,
            "simulated_months": self.simulated,
            "fit": None if fit is None else {n: getattr(fit, n) for n in fit.__annotations__ if n != "waits"},
            "saturated": [each.to_dict() for each in self.saturated],
            "what_if": [each.to_dict() for each in self.changes],
            "by_load": [
                {"factor": factor, **each.to_dict()}
                for factor, each in zip(LOADS, self.by_load, strict=False)
            ],
            "next_month": None if self.next_month is None else self.next_month.to_dict(),
        }

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each whole month."""
        import pandas as pd

        hours = {"recorded wait [h]": self.recorded / 3600.0, "simulated wait [h]": self.simulated / 3600.0}
        return pd.DataFrame({"month": np.arange(1, self.recorded.size + 1), **hours})


def read_site(
    log: SiteLog,
    *,
    what_ifs: Sequence[SiteChange] = (),
    resamples: int = 20,
    seed: int = 0,
    progress: Progress | None = None,
) -> SiteReading:
    """Return how a site waits, what saturates it, what changes would do, and whether a model explains it.

    Parameters
    ----------
    log : SiteLog
        The jobs, from `site_log`.
    what_ifs : sequence of SiteChange
        Changes to be looked at, before the usual ones.
    resamples : int
        Times that days are drawn anew for the intervals, at least 5.
    seed : int
        Root of all randomness.
    progress : Progress, optional
        Hears of what is done.

    Returns
    -------
    SiteReading
        With 90 % intervals.

    Raises
    ------
    ModelError
        If fewer than five resamples are asked for.

    Notes
    -----
    Jobs are replayed by EASY backfilling on a part of the machine, with a cap per user: two numbers
    that make the median error of a month's mean wait the least over the first half of the months.
    The second half tests them. Months are of 28 days. Days of the last three months are drawn anew
    for intervals, whole, so that jobs stay with their times.

    Examples
    --------
    >>> from qmodels.io import JobLog
    >>> from validation.rigid.months import site_log
    >>> jobs = {"submit": range(0, 4000, 10), "wait": [5] * 400, "run": [30] * 400, "processors": [1] * 400}
    >>> reading = read_site(site_log(JobLog("made", jobs), processors=4), resamples=5)
    >>> reading.fit is None, round(reading.beside_idle, 6)
    (True, 1.0)
    """
    if resamples < 5:
        raise ModelError(f"resamples must be at least 5, got {resamples!r}")
    jobs, waits = log.jobs, log.waits
    beside = waited_beside_idle(jobs, waits, log.processors)
    of_user = np.sort(np.bincount(jobs.user, waits))[::-1]
    waited = float(waits.sum())
    recorded = log.means(waits)
    fit = fit_months(log)
    recent = _recent(log)
    saturated = _saturated(log, recent, resamples, seed)
    shares = {each.name: each.share for each in saturated}
    asked = [*what_ifs, *usual_changes(log, math.inf if fit is None else fit.cap)]
    changed = site_changes(
        log,
        recent,
        None if fit is None else (fit.part, fit.cap),
        lambda change: shares.get(_case(change), math.nan),
        [*asked, *(SiteChange(f"load x {factor:g}", load=factor) for factor in LOADS)],
        resamples=resamples,
        seed=seed,
        progress=progress or no_progress,
    )
    span = max(float(recent.submit[-1] - recent.submit[0]), float(recent.run.max()))
    return SiteReading(
        log=log,
        load=recent.work / (log.processors * span),
        beside_idle=float(beside.sum()) / waited if waited else math.nan,
        five_users=float(of_user[:5].sum()) / waited if waited and log.has_users else math.nan,
        recorded=recorded,
        fit=fit,
        saturated=saturated,
        changes=changed[: len(asked)],
        by_load=changed[len(asked) :],
        next_month=forecast(recorded),
        beside=beside,
    )


def _recent(log: SiteLog) -> RigidJobs:
    """Return the jobs of the last whole months; all where there is none."""
    if log.months < 1:
        return log.jobs
    first = max(log.months - _RECENT, 0)
    inside = (log.month >= first) & (log.month < log.months)
    return log.jobs.of(inside) if inside.any() else log.jobs


def fit_months(log: SiteLog) -> MonthlyFit | None:
    """Return the two numbers found on the first half of the months, and how they do on the second.

    Parameters
    ----------
    log : SiteLog
        The jobs.

    Returns
    -------
    MonthlyFit or None
        None where fewer than four whole months have enough jobs and waits.
    """
    recorded, by_class = log.means(log.waits), log.means_by_class(log.waits)
    usable = np.flatnonzero(recorded > 1.0)
    if usable.size < _FEWEST_MONTHS:
        return None
    first, second = np.array_split(usable, 2)
    if first.size > second.size:
        first, second = usable[: second.size], usable[second.size :]
    best: tuple[float, float, float, Array] | None = None
    plain = math.nan
    for part in PARTS:
        for cap in CAPS if log.has_users else CAPS[:1]:
            waits = replayed(log, part, cap)
            errors = _errors(log.means(waits), recorded)
            if part == 1.0 and cap == math.inf:
                plain = float(np.median(errors[second]))
            found = float(np.median(errors[first]))
            if best is None or found < best[0]:
                best = found, part, cap, waits
    assert best is not None
    found, part, cap, waits = best
    simulated = log.means(waits)
    tested = _errors(simulated, recorded)[second]
    known = by_class[second] > 1.0
    classes = _errors(log.means_by_class(waits)[second], by_class[second])[known]
    order = math.nan
    if second.size >= _FEWEST_RANKED and np.ptp(simulated[second]) > 0 and np.ptp(recorded[second]) > 0:
        order = float(spearmanr(simulated[second], recorded[second]).statistic)
    median = float(np.median(tested))
    verdict = EXPLAINS if median <= EXPLAINED else ORDERS if order >= ORDERED else DOES_NOT
    return MonthlyFit(
        part=part, cap=cap, found=found, tested=median, tested_mean=float(tested.mean()),
        tested_class=float(np.median(classes)) if classes.size else math.nan,
        plain=plain, order=order, verdict=verdict, waits=waits,
    )  # fmt: skip


def _errors(simulated: Array, recorded: Array) -> Array:
    """Return absolute errors on the scale of natural logarithms, with a second as the least wait."""
    errors: Array = np.abs(np.log(np.maximum(simulated, 1.0)) - np.log(np.maximum(recorded, 1.0)))
    return errors


def _case(change: SiteChange) -> str:
    """Return the saturated discipline that is nearest to that of a change."""
    if change.rule().passes == "nobody":
        return _IN_ORDER
    return _SHALLOW if change.depth is not None and change.depth <= 10 else _DEEP


def _saturated(log: SiteLog, recent: RigidJobs, resamples: int, seed: int) -> tuple[SaturatedSite, ...]:
    """Return the share of the machine that the mix can use, by discipline."""
    exact = RigidJobs(recent.submit, recent.need, recent.run, user=recent.user)
    cases: list[tuple[str, Any, int, RigidJobs]] = [
        (_IN_ORDER, "FCFS", 1, recent),
        (_SHALLOW, "EASY", 10, recent),
        (_DEEP, "EASY", 200, recent),
    ]
    if log.has_limits:
        cases.append(("EASY, 200 jobs, exact limits", "EASY", 200, exact))
    found = []
    for name, rule, backlog, jobs in cases:
        shares = []
        for k in range(resamples):
            drawn = days_drawn(jobs, stream(seed, "saturated days", k))
            if len(drawn) < 3 * backlog + 100:
                break
            shares.append(saturated_rates(drawn, log.processors, rule, backlog=backlog)[1])
        if len(shares) == resamples:
            half = float(t.ppf(0.95, resamples - 1) * np.std(shares, ddof=1))
            found.append(SaturatedSite(name, float(np.mean(shares)), half))
    return tuple(found)


def forecast(means: Array, level: float = 0.9) -> NextMonth | None:
    """Return next month's mean wait: as last month, by the changes of a log's own months.

    Parameters
    ----------
    means : (m,) array_like
        Mean waits of the months, seconds; NaN where not known.
    level : float
        Of the interval.

    Returns
    -------
    NextMonth or None
        None where fewer than three changes from one month to the next are known.

    Examples
    --------
    >>> forecast(np.array([100.0, 200.0, 100.0, 200.0])).mean
    200.0
    """
    logs = np.log(np.maximum(np.asarray(means, dtype=float), 1.0))
    changes = np.diff(logs)
    changes = changes[~np.isnan(changes)]
    if changes.size < 3 or np.isnan(logs[-1]):
        return None
    spread = math.sqrt(float((changes**2).mean()) * (1.0 + 1.0 / changes.size))
    factor = math.exp(float(t.ppf(0.5 + level / 2.0, changes.size)) * spread)
    return NextMonth(float(means[-1]), factor, changes.size)
