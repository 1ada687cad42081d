"""Figures 3 to 6 of Liu, Hsu and Wu: times over the tolerance; and section 6: all side by side."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from validation.analysis.comparison import compare
from validation.papers.base import Experiment, Finding, Outcome, RunOptions
from validation.papers.liu import plotting
from validation.papers.liu.campaign import QUICK_RUNS, Campaign, campaign
from validation.papers.liu.claims import (
    CONTIGUOUS,
    DEPENDENT,
    INDEPENDENT,
    TIMES,
    busy,
    dominated,
    falls,
    flat,
    leads,
    lowest,
    placed,
    rises,
    robust,
    slope,
    suited,
    tolerant,
)
from validation.papers.liu.setup import RUNS, variants

if TYPE_CHECKING:
    import pandas as pd

RIVALS: Final = ("DBT", "d-DBT", "MBS", "PLAS")
ALL: Final = (*CONTIGUOUS, *INDEPENDENT, *DEPENDENT, "MBS", "PLAS")
#: Runs of each of 174 cells of section 6; the paper gives no figure for these.
CONCLUSION_RUNS: Final = 250


def sweep(options: RunOptions, *, algorithm: str, what: str, falling: str = "") -> Outcome:
    """Simulate the sixteen tasks for every tolerance and every number of communications.

    `falling` names the claim that a larger tolerance helps where there is much communication;
    without one it is said to cost time.
    """
    found = campaign(variants(algorithm), options, what=what)
    findings = [placed(found.variants, runs=_runs(options), seed=options.seed), busy(found)]
    if falling:
        findings += [flat(found, algorithm), lowest(found, algorithm), falls(found, algorithm, falling)]
    else:
        findings += rises(found)
    table = _with_trends(found, algorithm)
    return Outcome(table, tuple(findings), lambda: plotting.tolerance_panels(table))


def _runs(options: RunOptions) -> int:
    """Runs that say how full the mesh is."""
    return QUICK_RUNS * 10 if options.quick else RUNS


def said_of(algorithm: str, communications: int) -> str:
    """What the paper's text says of a line: "flat", "falls", "rises" or nothing."""
    for least, word in _published(algorithm):
        if communications == least or 0 < least <= communications:
            return word
    return ""


@lru_cache
def _published(algorithm: str) -> tuple[tuple[int, str], ...]:
    """Least number of communications of each kind of line, and what is said of it."""
    import pandas as pd

    path = files("validation.papers") / "published" / "liu_trends.csv"
    with path.open(encoding="utf-8") as file:
        said = pd.read_csv(file, comment="#")
    own = said[said.strategy == algorithm]
    return tuple(zip(own.least_communications.tolist(), own.makespan.tolist(), strict=True))


def _with_trends(found: Campaign, algorithm: str) -> pd.DataFrame:
    """The campaign's table with the trend of each line, the paper's word and ours."""
    table = found.table()
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


def rivals(options: RunOptions) -> Outcome:
    """Simulate every parameter of the four; the one with the least mean makespan stands for each."""
    found = campaign(variants(*RIVALS), options, what="figure 6")
    findings = (
        placed([found.best(name) for name in RIVALS], runs=_runs(options), seed=options.seed),
        busy(found),
        *leads(found),
    )
    return _side_by_side(found, RIVALS, findings)


def conclusions(options: RunOptions) -> Outcome:
    """Simulate every strategy with every parameter; L-27 to L-30."""
    found = campaign(variants(*ALL), options, what="conclusions", runs=CONCLUSION_RUNS)
    findings = (robust(found), *tolerant(found), *suited(found), dominated(found))
    return _side_by_side(found, ALL, findings)


def _side_by_side(found: Campaign, algorithms: Sequence[str], findings: Sequence[Finding]) -> Outcome:
    """Every cell in the table; in the figure, the variants with the least makespan."""
    table = _with_best(found, algorithms)
    best = table[table.best]
    return Outcome(table, tuple(findings), lambda: plotting.rival_panels(best))


def _with_best(found: Campaign, algorithms: Sequence[str]) -> pd.DataFrame:
    """The campaign's table, which rows are the best parameter's, and their paired differences."""
    table = found.table()
    table["best"] = False
    first = found.best(algorithms[0])
    for variant in map(found.best, algorithms):
        own = (table.algorithm == variant.algorithm) & (table.parameter == variant.parameter)
        table.loc[own, "best"] = True
        for c in found.communications:
            row = own & (table.communications == c)
            for quantity in TIMES:
                gap = compare(
                    found.values(variant, c, quantity),
                    found.values(first, c, quantity),
                    relative=True,
                )
                above = f"{quantity}_above_first"
                table.loc[row, f"{above}_percent"] = 100 * gap.mean
                table.loc[row, f"{above}_half_width_percent"] = 100 * gap.half_width
                table.loc[row, f"{above}_verdict"] = gap.verdict
    return table


FIGURES: Final = tuple(
    Experiment(name=f"liu-{name}", source=f"Liu, Hsu, Wu, ICPADS 2005, {place}", claim=claim, run=run)
    for name, place, claim, run in (
        (
            "fig3",
            "figure 3",
            "a larger tolerance of SBT pays where there is much communication and changes "
            "little with I/O alone",
            partial(sweep, algorithm="SBT", what="figure 3", falling="L-23"),
        ),
        (
            "fig4",
            "figure 4",
            "a larger tolerance ratio of DBT pays where there is much communication and changes "
            "little with I/O alone",
            partial(sweep, algorithm="DBT", what="figure 4", falling="L-24"),
        ),
        (
            "fig5",
            "figure 5",
            "a larger tolerance ratio of d-DBT costs time, and the more so the more communication",
            partial(sweep, algorithm="d-DBT", what="figure 5"),
        ),
        (
            "fig6",
            "figure 6",
            "DBT is fastest where communication dominates, by a margin that grows with it",
            rivals,
        ),
        (
            "conclusions",
            "section 6",
            "d-DBT is the most robust of nine tree strategies, SBT and DBT beat BT, pieces together "
            "suit DBT and pieces apart SBT",
            conclusions,
        ),
    )
)
