"""Figure 6 of Liu, Hsu and Wu: DBT, d-DBT, MBS and PLAS, each with its best parameter."""

from __future__ import annotations

from validation.papers.base import Experiment, Outcome, RunOptions
from validation.papers.liu.campaign import QUICK_RUNS, campaign
from validation.papers.liu.claims import busy, leads, placed
from validation.papers.liu.rivals import outcome
from validation.papers.liu.setup import RUNS, variants

RIVALS = ("DBT", "d-DBT", "MBS", "PLAS")


def run(options: RunOptions) -> Outcome:
    """Play every parameter of the four; the one with the least mean makespan stands for each."""
    found = campaign(variants(*RIVALS), options, what="figure 6")
    runs = QUICK_RUNS * 10 if options.quick else RUNS
    findings = (
        placed([found.best_of(name) for name in RIVALS], runs=runs, seed=options.seed),
        busy(found),
        *leads(found),
    )
    return outcome(found, RIVALS, findings)


EXPERIMENT = Experiment(
    name="liu-fig6",
    source="Liu, Hsu, Wu, ICPADS 2005, figure 6",
    claim="DBT is fastest where communication dominates, by a margin that grows with it",
    run=run,
)
