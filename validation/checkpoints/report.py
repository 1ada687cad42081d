"""The report on ways to write checkpoints: sentences, one page, tables and figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import pandas as pd

from qmodels.pages.report import Grid, Picture, Report, Section
from qmodels.words import in_words, plural
from validation.analysis.comparison import Comparison
from validation.checkpoints.ways import MOST_THAT_FIT, TOLERATED, CheckpointStudy, Way


def findings(study: CheckpointStudy) -> list[str]:
    """What the study says, in sentences; a gain within its intervals is no gain."""
    own = study.ways[0]
    found = [
        f"{_jobs(study.jobs)} that {'writes' if study.jobs == 1 else 'write'} {_bytes(study.job.size)} after "
        f"every {in_words(study.job.interval)} of work, {own.name}, {'does' if study.jobs == 1 else 'do'} "
        f"useful work "
        f"{own.played.goodput.mean:.1%} of the time (simulated, "
        f"± {own.played.goodput.half_width * 100:.1f} points; predicted "
        f"{own.predicted.goodput:.1%}, {own.predicted.method}). A checkpoint stops a job for "
        f"{in_words(own.played.stall.mean)} on average, one in twenty for more than "
        f"{in_words(own.played.percentile(0.95))}."
    ]
    found += [_gain(way, study.gain(way)) for way in study.ways[1:]]
    if own.best is not None:
        found.append(_interval_finding(study, own))
    if study.most is not None:
        up_to = f"Up to {_jobs(study.most)}"
        if study.most >= MOST_THAT_FIT:
            up_to = f"{MOST_THAT_FIT:,} jobs or more"
        found.append(
            f"{up_to} can share this storage before each loses "
            f"{TOLERATED:.0%} of what it would get done alone, writing as now."
            if study.most >= 1
            else "Not even one job reaches what it should alone."
        )
    return found


def _gain(way: Way, gain: Comparison) -> str:
    name = way.name[0].upper() + way.name[1:]
    if gain.verdict == "undecided":
        return f"{name} ({way.says}): no difference that {way.played.replications} runs could show."
    changes = "rises" if gain.verdict == "better" else "falls"
    return (
        f"{name} ({way.says}): useful time {changes} by {abs(gain.mean) * 100:.1f} points "
        f"(± {gain.half_width * 100:.1f}), to {way.played.goodput.mean:.1%}; a checkpoint stops a job for "
        f"{in_words(way.played.stall.mean)} on average."
    )


def _interval_finding(study: CheckpointStudy, own: Way) -> str:
    best = own.best
    assert best is not None
    now = own.predicted.goodput
    if best.low <= study.job.interval <= best.high:
        return (
            f"The interval is a good one: any from {in_words(best.low)} to "
            f"{in_words(best.high, like=best.low)} comes within a thousandth of the best."
        )
    ratio = best.interval / best.daly
    as_daly = "about Daly's" if round(ratio, 1) == 1.0 else f"{ratio:.2g} times Daly's"
    return (
        f"The best interval is {in_words(best.interval)}: useful time would be {best.goodput:.1%} "
        f"instead of {now:.1%} (predicted). It is {as_daly}, which assumes that a job has the "
        f"storage to itself."
    )


def checkpoint_report(study: CheckpointStudy) -> Report:
    """Return the report of a study.

    Parameters
    ----------
    study : CheckpointStudy
        All ways to write.
    """
    from validation.checkpoints import plotting

    ways = study.to_frame()
    rows = list(ways.itertuples(index=False))
    dotted = (
        f" Dotted: the intervals of Young and Daly, which assume that a job has the storage to itself, and "
        f"the best one for {study.ways[0].name}."
        if study.ways[0].best is not None
        else ""
    )
    curves = {"interval": study.intervals} | {way.name: way.curve for way in study.ways}
    return Report(
        title=f"{_jobs(study.jobs)} that {'checkpoints' if study.jobs == 1 else 'checkpoint'} to one storage",
        subtitle=_subtitle(study),
        findings=findings(study),
        notes=study.warnings,
        sections=(
            Section(
                "goodput",
                "Goodput against the interval",
                (
                    Picture(
                        "goodput",
                        f"Lines: predicted. Points with 95 % intervals: simulated, at "
                        f"{in_words(study.job.interval)} of work between two checkpoints.{dotted}",
                        lambda: (
                            plotting.goodput_against_interval(study).get_figure(),
                            _goodput_words(study),
                        ),
                    ),
                    Grid("Goodput: the share of time that is useful work", rows, _GOODPUT, (0, 2)),
                    {way.name: way.says for way in study.ways},
                ),
            ),
            Section(
                "stalls",
                "How long a checkpoint stops a job",
                (
                    Picture(
                        "stalls",
                        "Simulated: median (dot), 95 % (long mark) and 99 % (short mark) of the time "
                        "that one checkpoint keeps the job from working.",
                        lambda: (plotting.stall_percentiles(study).get_figure(), _stall_words(study)),
                    ),
                    Grid("Time that one checkpoint stops the job, simulated", rows, _STALLS, wide=False),
                ),
            ),
        ),
        tables={"ways.csv": ways, "curves.csv": pd.DataFrame(curves)},
        provenance="Predictions are approximate where the table says so; the error stated beside them "
        "comes from simulations of random systems. All numbers are in ways.csv and curves.csv.",
    )


#: Columns of the tables of the page, each said of a row of `CheckpointStudy.to_frame`.
_GOODPUT: Final[Mapping[str, Callable[[Any], str]]] = {
    "way": lambda row: row.way,
    "goodput predicted": lambda row: f"{100 * row.predicted_goodput:.1f} %",
    "model": lambda row: row.method,
    "simulated": lambda row: f"{100 * row.simulated_goodput:.1f} ± {100 * row.half_width:.1f} %",
    "storage used": lambda row: f"{100 * row.utilisation:.0f} %",
    "best interval": lambda row: "-" if np.isnan(row.best_interval) else in_words(row.best_interval),
    "goodput there": lambda row: "-" if np.isnan(row.best_goodput) else f"{100 * row.best_goodput:.1f} %",
}
_STALLS: Final[Mapping[str, Callable[[Any], str]]] = {
    "way": lambda row: row.way,
    "mean": lambda row: in_words(row.stall_mean),
    "median": lambda row: in_words(row.stall_p50),
    "95 %": lambda row: in_words(row.stall_p95),
    "99 %": lambda row: in_words(row.stall_p99),
}


def _goodput_words(study: CheckpointStudy) -> str:
    """The curves of goodput in words."""
    said = []
    for way in study.ways:
        top = int(np.argmax(way.curve))
        said.append(f"{way.name} {float(np.max(way.curve)):.1%} at {in_words(float(study.intervals[top]))}")
    best = max(study.ways, key=lambda way: float(np.max(way.curve)))
    first, last = (in_words(float(study.intervals[i])) for i in (0, -1))
    return (
        f"Goodput against the interval from {first} to {last}; the top of each curve: "
        f"{', '.join(said)}. Highest is {best.name}."
    )


def _stall_words(study: CheckpointStudy) -> str:
    """The percentiles of the stalls in words."""
    said = [
        f"{way.name} {', '.join(in_words(way.played.percentile(q)) for q in (0.5, 0.95, 0.99))}"
        for way in study.ways
    ]
    return f"Median, 95 and 99 % of the time that a checkpoint stops a job: {'; '.join(said)}."


def _subtitle(study: CheckpointStudy) -> str:
    job = study.job
    fails = (
        f"a failure every {in_words(job.mtbf)} of each job, {in_words(job.downtime)} down"
        if np.isfinite(job.mtbf)
        else "no failures"
    )
    alone = in_words(job.write_alone(study.storage))
    return f"{_bytes(study.storage.bandwidth)}/s in all, {alone} for one checkpoint alone, {fails}"


def _jobs(number: int) -> str:
    return f"{number} {plural('job', number)}"


def _bytes(number: float) -> str:
    """Decimal units, three digits: 5.29 TB."""
    for unit, name in ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if number >= unit:
            return f"{number / unit:.3g} {name}"
    return f"{number:.3g} B"
