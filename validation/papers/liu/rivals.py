"""Figure 6 and section 6 of Liu, Hsu and Wu: algorithms side by side, each with its best parameter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

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
    leads,
    placed,
    robust,
    suited,
    tolerant,
)
from validation.papers.liu.setup import RUNS, variants

if TYPE_CHECKING:
    import pandas as pd


RIVALS = ("DBT", "d-DBT", "MBS", "PLAS")
ALL = (*CONTIGUOUS, *INDEPENDENT, *DEPENDENT, "MBS", "PLAS")
#: Runs of each of 174 cells of section 6; the paper gives no figure for these.
_RUNS = 250


def run_rivals(options: RunOptions) -> Outcome:
    """Run every parameter of four; the one with the least mean makespan stands for each."""
    found = campaign(variants(*RIVALS), options, what="figure 6")
    runs = QUICK_RUNS * 10 if options.quick else RUNS
    best = [found.best_of(name) for name in RIVALS]
    findings = (placed(best, runs=runs, seed=options.seed), busy(found), *leads(found))
    return _outcome(found, RIVALS, findings)


def run_all(options: RunOptions) -> Outcome:
    """Run every strategy with every parameter; L-27 to L-30."""
    found = campaign(variants(*ALL), options, what="conclusions", runs=_RUNS)
    return _outcome(found, ALL, (robust(found), *tolerant(found), *suited(found), dominated(found)))


def _outcome(found: Campaign, algorithms: Sequence[str], findings: Sequence[Finding]) -> Outcome:
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


EXPERIMENTS = (
    Experiment(
        name="liu-fig6",
        source="Liu, Hsu, Wu, ICPADS 2005, figure 6",
        claim="DBT is fastest where communication dominates, by a margin that grows with it",
        run=run_rivals,
    ),
    Experiment(
        name="liu-conclusions",
        source="Liu, Hsu, Wu, ICPADS 2005, section 6",
        claim="d-DBT is the most robust of nine tree strategies, SBT and DBT beat BT, pieces together "
        "suit DBT and pieces apart SBT",
        run=run_all,
    ),
)
