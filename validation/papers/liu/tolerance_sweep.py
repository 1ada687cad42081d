"""Times over the tolerance, a line for each number of communications: what figures 3 to 5 share."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

from validation.papers.base import Finding, Outcome, RunOptions
from validation.papers.liu import plotting
from validation.papers.liu.campaign import QUICK_RUNS, Campaign, campaign
from validation.papers.liu.claims import TIMES, busy, placed, slope
from validation.papers.liu.setup import RUNS, variants

if TYPE_CHECKING:
    import pandas as pd


def sweep(algorithm: str, options: RunOptions, *, what: str) -> tuple[Campaign, list[Finding]]:
    """Run every parameter of an algorithm under every mixture; how full the mesh is comes too."""
    found = campaign(variants(algorithm), options, what=what)
    runs = QUICK_RUNS * 10 if options.quick else RUNS
    return found, [placed(found.variants, runs=runs, seed=options.seed), busy(found)]


def outcome(found: Campaign, algorithm: str, findings: tuple[Finding, ...]) -> Outcome:
    """Table and figure of a sweep, with what the paper says of each line beside it."""
    table = _with_trends(found, algorithm)
    return Outcome(table, findings, lambda: plotting.tolerance_panels(table))


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
