"""Figure 4 of Liu, Hsu and Wu: times over the tolerance ratio of DBT."""

from __future__ import annotations

from validation.papers.base import Experiment, Outcome, RunOptions
from validation.papers.liu.claims import falls, flat, lowest
from validation.papers.liu.tolerance_sweep import outcome, sweep


def run(options: RunOptions) -> Outcome:
    """Play the sixteen tasks for every tolerance and every number of communications."""
    found, full = sweep("DBT", options, what="figure 4")
    return outcome(
        found, "DBT", (*full, flat(found, "DBT"), lowest(found, "DBT"), falls(found, "DBT", "L-24"))
    )


EXPERIMENT = Experiment(
    name="liu-fig4",
    source="Liu, Hsu, Wu, ICPADS 2005, figure 4",
    claim="a larger tolerance ratio of DBT pays where there is much communication and changes "
    "little with I/O alone",
    run=run,
)
