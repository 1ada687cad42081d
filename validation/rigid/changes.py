"""Changes of a site and what they would do to its waits: ratios of simulated waits, days drawn anew."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from phasefit.arrays import Array
from phasefit.records import Record
from validation.analysis.seeding import stream
from validation.jobs.disciplines import EASY
from validation.rigid.model import RigidJobs
from validation.rigid.months import DAY, FEWEST_OF_CLASS, SiteLog
from validation.rigid.simulator import simulate_rigid

#: Limit up to which a job is short, seconds.
_SHORT = 3600.0


@dataclass(frozen=True)
class SiteChange(Record):
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


@dataclass(frozen=True, eq=False)
class _Change:
    """A change: what becomes of jobs, machine, rule and cap."""

    name: str
    load: float = 1.0
    nodes: float = 1.0
    limit: Callable[[RigidJobs], Array] | None = None
    depth: int | None = None
    cap: float | None = None
    short_first: bool = False

    def waits(self, log: SiteLog, jobs: RigidJobs, part: float, cap: float) -> Array:
        """Return the waits of jobs after the change."""
        processors = max(int(part * log.processors * self.nodes + 1e-9), 1)
        largest = max(int(part * log.processors + 1e-9), 1)  # jobs do not grow with the machine
        limit = jobs.limit if self.limit is None else self.limit(jobs)
        late = (limit > _SHORT).astype(np.int64) if self.short_first else np.zeros(len(jobs), np.int64)
        changed = RigidJobs(
            jobs.submit / self.load, np.minimum(jobs.need, largest), jobs.run, limit=limit, user=jobs.user,
            priority=late,
        )  # fmt: skip
        cap = cap if self.cap is None else self.cap
        most = max(int(cap * log.processors), 1) if cap < math.inf else None
        return simulate_rigid(changed, processors, EASY(depth=self.depth), cap=most).wait


def _changes(log: SiteLog, cap: float) -> list[_Change]:
    """Return the changes that a log can say something of."""
    changes = [
        _Change("load +10 %", load=1.1),
        _Change("load -10 %", load=0.9),
        _Change("5 % more nodes", nodes=1.05),
        _Change("only 10 jobs looked at behind the first", depth=10),
    ]
    if log.has_limits:
        changes += [
            _Change("exact limits", limit=lambda jobs: jobs.run),
            _Change(
                "limits at most twice the run time", limit=lambda jobs: np.minimum(jobs.limit, 2 * jobs.run)
            ),
            _Change("jobs with limits up to 1 h first", short_first=True),
        ]
    if log.has_users:
        if cap < math.inf:
            changes.append(_Change("no cap per user", cap=math.inf))
        if cap > 0.25:
            changes.append(_Change("at most a quarter of the machine for a user", cap=0.25))
    return changes


def site_changes(
    log: SiteLog,
    recent: RigidJobs,
    fit: tuple[float, float] | None,
    saturation: float,
    *,
    resamples: int,
    seed: int,
) -> tuple[SiteChange, ...]:
    """Return what changes would do to the waits of the last months.

    Parameters
    ----------
    log : SiteLog
        Gives the machine and the classes of sizes.
    recent : RigidJobs
        The jobs of the last months.
    fit : tuple of float or None
        Usable part and cap; None for the whole machine without a cap.
    saturation : float
        Share of the machine that the mix can use at most.
    resamples : int
        Times that days are drawn anew.
    seed : int
        Root of all randomness.
    """
    part, cap = fit or (1.0, math.inf)
    if len(recent) < FEWEST_OF_CLASS:
        return ()
    draws = [days_drawn(recent, stream(seed, "what-if days", k)) for k in range(resamples)]
    before = [_by_class(log, jobs, _Change("as it is").waits(log, jobs, part, cap)) for jobs in draws]
    span = max(float(recent.submit[-1] - recent.submit[0]), DAY)
    offered = recent.work / (part * log.processors * span)
    found = []
    for change in _changes(log, cap):
        asked = offered * change.load / change.nodes
        if asked >= saturation:
            growth = (asked - saturation) * 24 * part * change.nodes * log.processors
            note = (
                f"the jobs would ask for {asked:.0%} of the machine, and the mix can use {saturation:.0%}: "
                f"the queue would grow by {growth:,.0f} processor-hours a day"
            )
            found.append(SiteChange(change.name, math.nan, math.nan, math.nan, {}, note))
            continue
        after = [_by_class(log, jobs, change.waits(log, jobs, part, cap)) for jobs in draws]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.array(after) / np.array(before)
        every, *classes = [_interval(column) for column in ratios.T]
        if every is None:
            found.append(SiteChange(change.name, math.nan, math.nan, math.nan, {}, "hardly anybody waits"))
            continue
        names = log.class_names
        by_class = {name: each for name, each in zip(names, classes, strict=True) if each is not None}
        found.append(SiteChange(change.name, *every, by_class))
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
