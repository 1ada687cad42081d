"""Figures 3 to 5 of Liu, Hsu and Wu: times over the tolerance, a line for each number of communications."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING

from validation.papers.base import Experiment, Outcome, RunOptions, published_table
from validation.papers.liu import plotting
from validation.papers.liu.campaign import QUICK_RUNS, Campaign, campaign
from validation.papers.liu.claims import TIMES, busy, falls, flat, lowest, placed, rises, slope
from validation.papers.liu.setup import RUNS, variants

if TYPE_CHECKING:
    import pandas as pd


def run(options: RunOptions, *, algorithm: str, number: int, falling: str = "") -> Outcome:
    """Run every parameter of an algorithm under every mixture.

    `falling` is the row of the claim that a larger one is faster; where there is none, it is slower.
    """
    found = campaign(variants(algorithm), options, what=f"figure {number}")
    runs = QUICK_RUNS * 10 if options.quick else RUNS
    findings = [placed(found.variants, runs=runs, seed=options.seed), busy(found)]
    if falling:
        findings += [flat(found, algorithm), lowest(found, algorithm), falls(found, algorithm, falling)]
    else:
        findings += rises(found)
    table = _with_trends(found, algorithm)
    return Outcome(table, tuple(findings), lambda: plotting.tolerance_panels(table))


def said_of(algorithm: str, communications: int) -> str:
    """What the paper's text says of a line: "flat", "falls", "rises" or nothing."""
    for least, word in _published(algorithm):
        if communications == least or 0 < least <= communications:
            return word
    return ""


@lru_cache
def _published(algorithm: str) -> tuple[tuple[int, str], ...]:
    """Least number of communications of each kind of line, and what is said of it."""
    said = published_table("liu_trends.csv")
    own = said[said.strategy == algorithm]
    return tuple(zip(own.least_communications.tolist(), own.makespan.tolist(), strict=True))


def _with_trends(found: Campaign, algorithm: str) -> pd.DataFrame:
    """The campaign's table with the trend of each line, the paper's word and ours."""
    table = found.cells()
    for c in found.communications:
        line = table.communications == c
        table.loc[line, "paper"] = said_of(algorithm, c)
        for quantity in TIMES:
            trend = slope(found, algorithm, c, quantity)
            word = "falls" if trend.high < 0 else "rises" if trend.low > 0 else "no trend"
            table.loc[line, f"{quantity}_trend"] = word
            table.loc[line, f"{quantity}_slope_percent"] = 100 * trend.mean
            table.loc[line, f"{quantity}_slope_half_width_percent"] = 100 * trend.half_width
    return table


_PAYS = "pays where there is much communication and changes little with I/O alone"

EXPERIMENTS = tuple(
    Experiment(
        name=f"liu-fig{number}",
        source=f"Liu, Hsu, Wu, ICPADS 2005, figure {number}",
        claim=claim,
        run=partial(run, algorithm=algorithm, number=number, falling=falling),
    )
    for number, algorithm, falling, claim in (
        (3, "SBT", "L-23", f"a larger tolerance of SBT {_PAYS}"),
        (4, "DBT", "L-24", f"a larger tolerance ratio of DBT {_PAYS}"),
        (
            5,
            "d-DBT",
            "",
            "a larger tolerance ratio of d-DBT costs time, and the more so the more communication",
        ),
    )
)
