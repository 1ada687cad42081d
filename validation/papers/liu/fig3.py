"""Figure 3 of Liu, Hsu and Wu: times over the global tolerance of SBT."""

from __future__ import annotations

from validation.papers.base import Experiment, Outcome, RunOptions
from validation.papers.liu.claims import falls, flat, lowest
from validation.papers.liu.tolerance_sweep import outcome, sweep


def run(options: RunOptions) -> Outcome:
    """Play the sixteen tasks for every tolerance and every number of communications."""
    found, full = sweep("SBT", options, what="figure 3")
    return outcome(
        found, "SBT", (*full, flat(found, "SBT"), lowest(found, "SBT"), falls(found, "SBT", "L-23"))
    )


EXPERIMENT = Experiment(
    name="liu-fig3",
    source="Liu, Hsu, Wu, ICPADS 2005, figure 3",
    claim="a larger tolerance of SBT pays where there is much communication and changes "
    "little with I/O alone",
    run=run,
)
