"""Changes of a site and what they would do to its waits: ratios of simulated waits, days drawn anew."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from phasefit.arrays import Array
from phasefit.checks import check_given, real_number
from phasefit.records import Record
from qmodels.errors import ModelError
from qmodels.progress import Progress, no_progress
from qmodels.units import quantity, seconds
from qmodels.words import in_words
from validation.analysis.seeding import stream
from validation.jobs.disciplines import EASY, AbstractDiscipline, Conservative, find_discipline
from validation.rigid.model import RigidJobs
from validation.rigid.months import DAY, FEWEST_OF_CLASS, SiteLog
from validation.rigid.simulator import simulate_rigid


@dataclass(frozen=True)
class ChangedWaits(Record):
    """Ratio of simulated mean waits, after a change and before.

    Parameters
    ----------
    name : str
        The change, in words.
    ratio : float
        Median over days drawn anew; NaN where the machine could not do the work.
    low, high : float
        90 % interval over these days.
    by_class : dict
        By sizes in words: ratio, low and high of the jobs of a class that has enough of them.
    note : str
        Why there is no ratio; else empty.
    """

    name: str
    ratio: float
    low: float
    high: float
    by_class: dict[str, tuple[float, float, float]]
    note: str = ""


def days_drawn(jobs: RigidJobs, rng: np.random.Generator) -> RigidJobs:
    """Return as many days as the jobs have, each one of theirs, drawn with replacement.

    Parameters
    ----------
    jobs : RigidJobs
        The jobs.
    rng : numpy.random.Generator
        Source of randomness.
    """
    first = jobs.submit[0]
    day = ((jobs.submit - first) // DAY).astype(np.int64)
    count = int(day[-1]) + 1
    bounds = np.searchsorted(day, np.arange(count + 1))
    chosen = rng.integers(0, count, count)
    rows = np.concatenate([np.arange(bounds[d], bounds[d + 1]) for d in chosen])
    if not rows.size:
        return jobs
    place = np.repeat(np.arange(count), bounds[chosen + 1] - bounds[chosen])
    submit = jobs.submit[rows] + (place - day[rows]) * DAY - first
    return RigidJobs(
        submit, jobs.need[rows], jobs.run[rows], limit=jobs.limit[rows], user=jobs.user[rows],
        priority=jobs.priority[rows],
    )  # fmt: skip


@dataclass(frozen=True)
class SiteChange(Record):
    """A change of a site's load, machine or rules; what is left out stays as it is.

    Parameters
    ----------
    name : str
        The change, in words.
    load, nodes : float
        Jobs per second, and processors, each by those of today, > 0.
    limits : float, optional
        Limits are at most so many times the run time, >= 1; 1 for exact ones.
    depth : int, optional
        Jobs looked at behind the first, >= 0.
    cap : float, optional
        Part of the machine that a user may hold, > 0; infinite for no cap.
    short : float, optional
        Jobs with limits up to so many seconds are in a queue of their own that comes first.
    backfilling : str, optional
        Queue discipline, such as "FCFS" or "conservative"; EASY if left out.

    Raises
    ------
    ModelError
        If a value is out of its range.

    Examples
    --------
    >>> change = SiteChange.of("nodes=+5%, queue=30min")
    >>> change.nodes, change.short
    (1.05, 1800.0)
    """

    name: str
    load: float = 1.0
    nodes: float = 1.0
    limits: float | None = None
    depth: int | None = None
    cap: float | None = None
    short: float | None = None
    backfilling: str = EASY.name

    def __post_init__(self) -> None:
        check_given(self, real_number, "load", "nodes", "short", above=0.0)
        check_given(self, real_number, "limits", least=1.0)
        if self.cap is not None and not self.cap > 0.0:
            raise ModelError(f"cap must be a part of the machine above 0, got {self.cap!r}")
        self.rule()

    @classmethod
    def of(cls, text: str) -> SiteChange:
        """Return the change that a text such as ``load=+10%, limits=exact`` names.

        Parameters
        ----------
        text : str
            ``KEY=VALUE`` with commas: load and nodes (``1.1`` or ``+10%``), depth (a number), cap (a
            part of the machine, or none), limits (``exact``, or times the run time), queue (the
            limit up to which jobs come first: ``30min``, ``4h``), backfilling (a discipline).

        Raises
        ------
        ModelError
            If a key is not known, or its value cannot be read.
        """
        values: dict[str, Any] = {}
        for part in text.split(","):
            key, sign, value = (word.strip() for word in part.partition("="))
            if not sign or key not in _READ:
                raise ModelError(
                    f"{part.strip()!r} is no change of a site; write KEY=VALUE with a key of "
                    f"{', '.join(_READ)}"
                )
            name, read = _READ[key]
            if name in values:
                raise ModelError(f"{key} stands twice in {text!r}")
            try:
                values[name] = read(value)
            except ModelError:
                raise
            except ValueError:
                raise ModelError(f"{key}={value} cannot be read; write {_WRITTEN[key]}") from None
        return cls(text.strip(), **values)

    def rule(self) -> AbstractDiscipline:
        """Return the queue discipline, with its depth.

        Raises
        ------
        ModelError
            If there is none of this name, or it looks at all that wait.
        """
        found = find_discipline(self.backfilling)
        if self.depth is None:
            return found
        if not isinstance(found, EASY | Conservative):
            raise ModelError(f"depth is for EASY and conservative, got backfilling {found.name}")
        return replace(found, depth=self.depth)

    def needs(self) -> list[str]:
        """Return what a log must hold for it, of "limits" and "users"."""
        limits = self.limits is not None or self.short is not None
        return ["limits"] * limits + ["users"] * (self.cap is not None)

    def waits(self, log: SiteLog, jobs: RigidJobs, part: float, cap: float) -> Array:
        """Return the waits of jobs after the change.

        Parameters
        ----------
        log : SiteLog
            Gives the machine.
        jobs : RigidJobs
            The jobs.
        part, cap : float
            Usable part of the machine, and cap per user as a part of it, of today.
        """
        limit = jobs.limit if self.limits is None else np.minimum(jobs.limit, self.limits * jobs.run)
        late = np.zeros(len(jobs), np.int64) if self.short is None else (limit > self.short).astype(np.int64)
        need = np.minimum(jobs.need, whole_part(log, part))  # jobs do not grow with the machine
        changed = replace(jobs, submit=jobs.submit / self.load, need=need, limit=limit, priority=late)
        cap = cap if self.cap is None else self.cap
        return replayed(log, part * self.nodes, cap, changed, self.rule())


def whole_part(log: SiteLog, part: float) -> int:
    """Return the whole processors of a part of the machine, at least one.

    Parameters
    ----------
    log : SiteLog
        Gives the machine.
    part : float
        Of it; .29 of 100 are 29, whatever their product rounds to.
    """
    return max(int(part * log.processors + 1e-9), 1)


def replayed(log: SiteLog, part: float, cap: float, jobs: RigidJobs | None = None, rule: Any = None) -> Array:
    """Return the waits of jobs on a part of the machine with a cap per user.

    Parameters
    ----------
    log : SiteLog
        Gives the machine.
    part, cap : float
        Of the machine; an infinite cap is none. Jobs larger than the part take all of it.
    jobs : RigidJobs, optional
        Others than those of the log.
    rule : AbstractDiscipline, optional
        By default EASY.
    """
    jobs = jobs or log.jobs
    processors = whole_part(log, part)
    most = whole_part(log, cap) if cap < math.inf else None
    narrowed = replace(jobs, need=np.minimum(jobs.need, processors))
    return simulate_rigid(narrowed, processors, rule or EASY(), cap=most).wait


def _factor(text: str) -> float:
    """Return a factor written as such, or as a change in percent, whose sign tells it from a part."""
    if text.endswith("%") and text[0] in "+-":
        return 1.0 + float(text[:-1]) / 100.0
    return float(text)


def _limit(text: str) -> float:
    """Return a limit on the run time, above zero."""
    return real_number("queue", quantity("queue", seconds, text), above=0.0)


#: Loads of the curve over the load, by that of today.
LOADS: Final = (0.7, 0.8, 0.9, 1.1, 1.2, 1.3)
#: By key: the field it gives, and how it is read; and how it is written.
_READ: Final[dict[str, tuple[str, Callable[[str], Any]]]] = {
    "load": ("load", _factor),
    "nodes": ("nodes", _factor),
    "depth": ("depth", int),
    "cap": ("cap", lambda text: math.inf if text.casefold() == "none" else float(text)),
    "limits": ("limits", lambda text: 1.0 if text.casefold() == "exact" else float(text)),
    "queue": ("short", _limit),
    "backfilling": ("backfilling", str),
}
_WRITTEN: Final = {
    "load": "1.1 or +10%",
    "nodes": "1.05 or +5%",
    "depth": "a whole number",
    "cap": "a part of the machine such as 0.25, or none",
    "limits": "exact, or a number of times the run time",
    "backfilling": "the name of a discipline",
}


def usual_changes(log: SiteLog, cap: float) -> list[SiteChange]:
    """Return the changes that every site is told of, as far as its log can say something of them.

    Parameters
    ----------
    log : SiteLog
        The jobs.
    cap : float
        Cap per user of today, as a part of the machine; infinite for none.
    """
    changes = [
        SiteChange("load +10 %", load=1.1),
        SiteChange("load -10 %", load=0.9),
        SiteChange("5 % more nodes", nodes=1.05),
        SiteChange("only 10 jobs looked at behind the first", depth=10),
        SiteChange("a planned start for all that wait, as Slurm does", backfilling=Conservative.name),
        SiteChange("exact limits", limits=1.0),
        SiteChange("limits at most twice the run time", limits=2.0),
        SiteChange("jobs with limits up to 1 h first", short=3600.0),
    ]
    if cap < math.inf:
        changes.append(SiteChange("no cap per user", cap=math.inf))
    if cap > 0.25:
        changes.append(SiteChange("at most a quarter of the machine for a user", cap=0.25))
    return [change for change in changes if _lacks(log, change) == ""]


def _lacks(log: SiteLog, change: SiteChange) -> str:
    """Return what a change needs and a log does not hold, or nothing."""
    held = {"limits": log.has_limits, "users": log.has_users}
    return " and no ".join(each for each in change.needs() if not held[each])


def site_changes(
    log: SiteLog,
    recent: RigidJobs,
    fit: tuple[float, float] | None,
    saturation: Callable[[SiteChange], float],
    changes: Sequence[SiteChange],
    *,
    resamples: int,
    seed: int,
    progress: Progress = no_progress,
) -> tuple[ChangedWaits, ...]:
    """Return what changes would do to the waits of the last months.

    Parameters
    ----------
    log : SiteLog
        Gives the machine and the classes of sizes.
    recent : RigidJobs
        The jobs of the last months.
    fit : tuple of float or None
        Usable part and cap; None for the whole machine without a cap.
    saturation : callable
        Share of the machine that the mix can use at most under the rule of a change; NaN if not known.
    changes : sequence of SiteChange
        The changes.
    resamples : int
        Times that days are drawn anew.
    seed : int
        Root of all randomness.
    progress : Progress
        Hears of the changes that are done.
    """
    part, cap = fit or (1.0, math.inf)
    if len(recent) < FEWEST_OF_CLASS:
        return ()
    draws = [days_drawn(recent, stream(seed, "what-if days", k)) for k in range(resamples)]
    before = [_by_class(log, jobs, SiteChange("as it is").waits(log, jobs, part, cap)) for jobs in draws]
    span = max(float(recent.submit[-1] - recent.submit[0]), DAY)
    offered = recent.work / (part * log.processors * span)
    found = []
    for done, change in enumerate(changes):
        progress("changes", done, len(changes))
        if _lacks(log, change):
            note = f"the log has no {_lacks(log, change)}, so nothing is known of this"
            found.append(ChangedWaits(change.name, math.nan, math.nan, math.nan, {}, note))
            continue
        load = offered * change.load / change.nodes
        most = saturation(change)
        if load >= most:
            growth = (load - most) * 24 * part * change.nodes * log.processors
            note = (
                f"the jobs would ask for {load:.0%} of the machine, and the mix can use {most:.0%}: "
                f"the queue would grow by {growth:,.0f} processor-hours a day"
            )
            found.append(ChangedWaits(change.name, math.nan, math.nan, math.nan, {}, note))
            continue
        after = [_by_class(log, jobs, change.waits(log, jobs, part, cap)) for jobs in draws]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.array(after) / np.array(before)
        every, *classes = [_interval(column) for column in ratios.T]
        if every is None:
            today, then = (float(np.median([mean for mean, *_ in rows])) for rows in (before, after))
            if today < 1.0:
                why = "hardly anybody waits today"
            else:
                why = f"the waits of today, {in_words(today)}, are of few days, which gives no ratio"
            note = f"{why}; then {in_words(then)}"
            found.append(ChangedWaits(change.name, math.nan, math.nan, math.nan, {}, note))
            continue
        names = log.class_names
        by_class = {name: each for name, each in zip(names, classes, strict=True) if each is not None}
        found.append(ChangedWaits(change.name, *every, by_class))
    return tuple(found)


def _by_class(log: SiteLog, jobs: RigidJobs, waits: Array) -> list[float]:
    """Return the mean wait of all jobs, then of each class; NaN where there are too few."""
    classes = np.searchsorted(log.bounds, jobs.need, side="left")
    means: list[Any] = [float(waits.mean())]
    for c in range(len(log.class_names)):
        mine = classes == c
        means.append(float(waits[mine].mean()) if mine.sum() >= FEWEST_OF_CLASS else math.nan)
    return means


def _interval(ratios: Array) -> tuple[float, float, float] | None:
    """Return a ratio and its 90 % interval; None where a mean was zero or not known."""
    if not np.isfinite(ratios).all():
        return None
    middle, low, high = np.quantile(ratios, (0.5, 0.05, 0.95))
    return float(middle), float(low), float(high)
