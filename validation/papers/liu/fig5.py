"""Figure 5 of Liu, Hsu and Wu: times over the tolerance ratio of d-DBT."""

from __future__ import annotations

from validation.papers.base import Experiment, Outcome, RunOptions
from validation.papers.liu.claims import rises
from validation.papers.liu.tolerance_sweep import outcome, sweep


def run(options: RunOptions) -> Outcome:
    """Play the sixteen tasks for every tolerance and every number of communications."""
    found, full = sweep("d-DBT", options, what="figure 5")
    return outcome(found, "d-DBT", (*full, *rises(found)))


EXPERIMENT = Experiment(
    name="liu-fig5",
    source="Liu, Hsu, Wu, ICPADS 2005, figure 5",
    claim="a larger tolerance ratio of d-DBT costs time, and the more so the more communication",
    run=run,
)
