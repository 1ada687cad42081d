"""Algorithms side by side, each with its best parameter: what figure 6 and section 6 share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from validation.papers.base import Finding, Outcome
from validation.papers.liu import plotting
from validation.papers.liu.campaign import Campaign
from validation.papers.liu.claims import TIMES

if TYPE_CHECKING:
    import pandas as pd


def outcome(found: Campaign, algorithms: Sequence[str], findings: Sequence[Finding]) -> Outcome:
    """Every cell in the table; in the figure, the variants with the least makespan."""
    table = _with_best(found, algorithms)
    best = table[table.best]
    return Outcome(table, tuple(findings), lambda: plotting.rival_panels(best))


def _with_best(found: Campaign, algorithms: Sequence[str]) -> pd.DataFrame:
    """The campaign's table, which rows are the best parameter's, and their paired differences."""
    table = found.cells()
    table["best"] = False
    first = found.best_of(algorithms[0])
    for variant in map(found.best_of, algorithms):
        own = (table.algorithm == variant.algorithm) & (table.parameter == variant.parameter)
        table.loc[own, "best"] = True
        for c in found.communications:
            row = own & (table.communications == c)
            for quantity in TIMES:
                gap = found.compare((variant, c), (first, c), quantity, relative=True)
                for column, value in gap.columns(f"{quantity}_above_first").items():
                    table.loc[row, column] = value
    return table
