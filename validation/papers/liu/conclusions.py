"""Section 6 of Liu, Hsu and Wu: the nine tree strategies held against each other."""

from __future__ import annotations

from validation.papers.base import Experiment, Outcome, RunOptions
from validation.papers.liu.campaign import campaign
from validation.papers.liu.claims import (
    CONTIGUOUS,
    DEPENDENT,
    INDEPENDENT,
    dominated,
    robust,
    suited,
    tolerant,
)
from validation.papers.liu.rivals import outcome
from validation.papers.liu.setup import variants

#: Runs of each of 174 cells; the paper gives no figure for these.
RUNS = 250
ALL = (*CONTIGUOUS, *INDEPENDENT, *DEPENDENT, "MBS", "PLAS")


def run(options: RunOptions) -> Outcome:
    """Play every strategy with every parameter; L-27 to L-30."""
    found = campaign(variants(*ALL), options, what="conclusions", runs=RUNS)
    findings = (robust(found), *tolerant(found), *suited(found), dominated(found))
    return outcome(found, ALL, findings)


EXPERIMENT = Experiment(
    name="liu-conclusions",
    source="Liu, Hsu, Wu, ICPADS 2005, section 6",
    claim="d-DBT is the most robust of nine tree strategies, SBT and DBT beat BT, pieces together "
    "suit DBT and pieces apart SBT",
    run=run,
)
