"""The report on a site: sentences, one page, tables and figures."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from qmodels.pages.report import Grid, Picture, Report, Section
from qmodels.plotting.embedded import page_axes
from qmodels.words import in_words, plain_number
from validation.rigid import plotting
from validation.rigid.months import FEWEST_OF_MONTH
from validation.rigid.site import EXPLAINS, MonthlyFit, SiteReading

if TYPE_CHECKING:
    from validation.rigid.changes import ChangedWaits

#: Part of the waiting beside idle processors from which on absolute waits of the model are not the site's.
_NOT_OURS = 0.5
#: Most use above which a log holds more than its machine.
_MORE_THAN_ONE = 1.1
_NEVER_CHECKED = "the model's ratio; never checked at your site"


def site_findings(reading: SiteReading) -> list[str]:
    """Return what a log says, in sentences.

    Parameters
    ----------
    reading : SiteReading
        From `read_site`.
    """
    log, fit = reading.log, reading.fit
    found = [
        f"Mean wait {in_words(float(log.waits.mean()))} recorded ({_classes(reading)}); "
        f"{'the last months ask' if log.months else 'the jobs ask'} for {reading.load:.0%} of "
        f"{log.processors:,} processors."
    ]
    if not math.isnan(reading.beside_idle):
        held = (
            ""
            if math.isnan(reading.five_users)
            else f" Five users hold {reading.five_users:.0%} of all waiting."
        )
        found.append(
            f"{reading.beside_idle:.0%} of the waiting passed while enough processors for the job were "
            f"idle.{held}"
        )
    found.append(_explanation(fit) if fit else _no_explanation(reading))
    if reading.saturated:
        shares = [f"{each.share:.0%} ± {100 * each.half_width:.1f} {each.name}" for each in reading.saturated]
        found.append(f"This mix saturates the machine at {', '.join(shares)}.")
    for change in reading.changes:
        found.append(f"{change.name[0].upper()}{change.name[1:]}: {_ratio(change)}.")
    if reading.next_month:
        month = reading.next_month
        found.append(
            f"Next month: {in_words(month.mean)}, as last month, times or divided by "
            f"{plain_number(month.factor, 2)} ({month.months} changes from month to month)."
        )
    return found


def site_notes(reading: SiteReading) -> list[str]:
    """Return what to know before using the findings, in sentences.

    Parameters
    ----------
    reading : SiteReading
        From `read_site`.
    """
    log, notes = reading.log, []
    if log.peak > _MORE_THAN_ONE * log.processors:
        notes.append(
            f"Up to {log.peak:,} processors were in use at once, {log.peak / log.processors:.1f} times the "
            f"{log.processors:,} of the machine: the log holds more than one machine, or jobs share nodes. "
            f"Nothing here is sure; choose a partition, or give --processors."
        )
    if reading.beside_idle >= _NOT_OURS:
        notes.append(
            f"At least half of the waiting ({reading.beside_idle:.0%}) was for something else than "
            f"processors: limits per user, partitions or reservations. Absolute waits of the model are not "
            f"those of the site."
        )
    if reading.fit is not None and reading.fit.verdict != EXPLAINS:
        notes.append(f"The model {reading.fit.verdict}.")
    if log.guessed:
        notes.append(
            f"The log does not say how large the machine is; {log.processors:,} is the most that was in use "
            f"at once. Give --processors."
        )
    if not log.has_limits:
        notes.append("The log has no time limits; run times stand in for them, so nothing is said of limits.")
    if not log.has_users:
        notes.append("The log does not tell users apart, so nothing is said of caps per user.")
    if log.left_out:
        notes.append(
            f"Jobs left out: {', '.join(f'{count:,} {words}' for words, count in log.left_out.items())}."
        )
    notes.append(f"What changes would do is {_NEVER_CHECKED}. Intervals are of 90 %, days drawn anew.")
    return notes


def site_report(reading: SiteReading, source: str) -> Report:
    """Return the report on a site.

    Parameters
    ----------
    reading : SiteReading
        From `read_site`.
    source : str
        The log, by name.
    """
    months = Picture(
        "months",
        f"Mean wait of each month, recorded{' and simulated' * bool(np.isfinite(reading.simulated).any())}.",
        lambda: (plotting.months(reading, page_axes()).get_figure(), _months_words(reading)),
    )
    strip = Picture(
        "utilisation",
        "Share of the machine in use, and of the waiting of the jobs submitted then the part beside enough "
        "idle processors.",
        lambda: (plotting.strip(reading, page_axes()).get_figure(), _strip_words(reading)),
    )
    saturation = Picture(
        "saturation",
        "Share of the machine that this mix can use, with 90 % intervals, and the share asked for.",
        lambda: (plotting.saturation(reading, page_axes()).get_figure(), _saturation_words(reading)),
    )
    over_load = Picture(
        "load",
        "Mean wait over the load, by that of today. Where the line ends the queue would grow.",
        lambda: (plotting.loads(reading, page_axes()).get_figure(), _load_words(reading)),
    )
    columns: dict[str, Callable[[Any], str | None]] = {
        "change": lambda change: change.name,
        "all jobs": _ratio,
    }
    columns |= {
        f"{name} processor{'' if name == '1' else 's'}": partial(_part, name)
        for name in reading.log.class_names
    }
    sections = [
        Section("waits", "Waits", [*([months] if np.isfinite(reading.recorded).any() else []), strip]),
    ]
    if reading.saturated:
        sections.append(Section("saturation", "What saturates the machine", [saturation]))
    if reading.changes:
        grid = Grid("Mean wait after a change, by that before", reading.changes, columns, (0, 1))
        words = (
            f"Each ratio is {_NEVER_CHECKED}; multiply the recorded wait by it. By sizes where a class has "
            f"enough jobs."
        )
        pictures = [over_load] if any(not each.note for each in reading.by_load) else []
        sections.append(Section("what-if", "What changes would do", [grid, words, *pictures]))
    rows = [
        {"change": c.name, "sizes": size, "ratio": r, "low": low, "high": high}
        for c in reading.changes
        for size, (r, low, high) in {"all": (c.ratio, c.low, c.high), **c.by_class}.items()
    ]
    saturated = [
        {"discipline": s.name, "share": s.share, "half_width": s.half_width} for s in reading.saturated
    ]
    return Report(
        title=f"What {source} says of its machine",
        subtitle=f"{len(reading.log.jobs):,} jobs, {reading.log.months} months of 28 days, "
        f"{reading.log.processors:,} processors",
        findings=site_findings(reading),
        notes=site_notes(reading),
        notes_title="Before you use this",
        sections=sections,
        tables={
            "months.csv": reading.to_frame(),
            "what-if.csv": pd.DataFrame(rows, columns=["change", "sizes", "ratio", "low", "high"]),
            "saturation.csv": pd.DataFrame(saturated, columns=["discipline", "share", "half_width"]),
        },
        provenance="months.csv, what-if.csv and saturation.csv hold the numbers; report.json all of it.",
    )


def _classes(reading: SiteReading) -> str:
    """Return the mean wait by sizes."""
    log = reading.log
    sums = [log.waits[log.size_class == c] for c in range(len(log.class_names))]
    said = [
        f"{name}: {in_words(float(waits.mean()))}"
        for name, waits in zip(log.class_names, sums, strict=True)
        if waits.size >= 30
    ]
    return f"by processors {', '.join(said)}" if said else "too few jobs to tell sizes apart"


def _explanation(fit: MonthlyFit) -> str:
    """Return the two numbers, their error, and the verdict."""
    cap = "no cap per user" if fit.cap == math.inf else f"at most {fit.cap:g} of the machine for a user"
    return (
        f"Backfilling on {fit.part:.0%} of the machine with {cap}, found on the first half of the months, is "
        f"off by a factor of {math.exp(fit.tested):.2f} in the middle month of the second half "
        f"({math.exp(fit.plain):.2f} on the whole machine without a cap): the model {fit.verdict}."
    )


def _no_explanation(reading: SiteReading) -> str:
    """Return why no two numbers were found."""
    known = int((reading.recorded > 1.0).sum())
    return (
        f"Whether the model explains the site cannot be told: {known} of {reading.log.months} whole months "
        f"have {FEWEST_OF_MONTH} jobs and waits; 4 are needed."
    )


def _ratio(change: ChangedWaits) -> str:
    """Return the ratio of all jobs with its interval, or why there is none."""
    return change.note or _interval(change.ratio, change.low, change.high)


def _part(name: str, change: ChangedWaits) -> str:
    """Return the ratio of a class of sizes."""
    return _interval(*change.by_class[name]) if name in change.by_class else "-"


def _interval(ratio: float, low: float, high: float) -> str:
    """Return a ratio with its interval."""
    shown = "" if low > 1.0 or high < 1.0 else ", no change shown"
    return f"waits x {ratio:.2f} [{low:.2f}, {high:.2f}]{shown}"


def _months_words(reading: SiteReading) -> str:
    """Return the figure of months in words."""
    rows = zip(reading.recorded, reading.simulated, strict=True)
    said = [f"{k}: {_hours(r)} and {_hours(s)}" for k, (r, s) in enumerate(rows, start=1)]
    return f"Mean wait by month, recorded and simulated: {'; '.join(said) or 'no whole month'}."


def _hours(seconds: float) -> str:
    """Return a mean wait in words."""
    return "not known" if math.isnan(seconds) else in_words(seconds)


def _strip_words(reading: SiteReading) -> str:
    """Return the strip in words."""
    _, used, _ = reading.over_time(20)
    return (
        f"In use on average {used.mean():.0%}, between {used.min():.0%} and {used.max():.0%} by twentieths."
    )


def _load_words(reading: SiteReading) -> str:
    """Return the figure of loads in words."""
    said = [f"{each.name}: {each.note or f'{each.ratio:.2f}'}" for each in reading.by_load]
    return f"Mean wait by that of today at {'; '.join(said)}."


def _saturation_words(reading: SiteReading) -> str:
    """Return the figure of saturation in words."""
    shares = [f"{each.name} {each.share:.0%}" for each in reading.saturated]
    return f"Saturated at {', '.join(shares)}; asked for: {reading.load:.0%}."
