"""Figure 9 of Mache, Lo and Garg: how far jobs are spread, over the load."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from validation.papers.base import (
    Experiment,
    Finding,
    Outcome,
    RunOptions,
    all_above_zero,
    all_below_zero,
)
from validation.papers.mache import plotting
from validation.papers.mache.campaign import change
from validation.papers.mache.setup import STRATEGIES
from validation.papers.mache.sweep import Sweep, rows, sweep

QUANTITY: Final = "nodes_affected"


def run(options: RunOptions) -> Outcome:
    """Nodes affected by a job, for every strategy at every load."""
    found = sweep(options)
    table = rows(found)
    return Outcome(
        table,
        tuple(claims(found)),
        lambda: plotting.load_panels(table, QUANTITY, "nodes in a job's enclosing rectangle"),
    )


def claims(found: Sweep) -> Iterator[Finding]:
    """MC-Elongated is less spread than PLAS; every strategy spreads as the load rises."""
    gaps = [
        (load.runs.difference("MC-Elongated", "PLAS", QUANTITY), load)
        for loads in found.values()
        for load in loads
    ]
    ratios = [load.mean("PLAS", QUANTITY) / load.mean("MC-Elongated", QUANTITY) for _, load in gaps]
    yield Finding(
        "M-24",
        "jobs of MC-Elongated affect fewer nodes than those of PLAS, at every load",
        all_below_zero(*(gap for gap, _ in gaps)),
        f"{sum(gap.high < 0 for gap, _ in gaps)} of {len(gaps)} loads; PLAS over MC-Elongated "
        f"{min(ratios):.2f} to {max(ratios):.2f}",
    )
    for name in STRATEGIES:
        moves = {p: change(loads[0], loads[-1], name, QUANTITY) for p, loads in found.items()}
        yield Finding(
            "M-25",
            f"{name}: dispersal is greater at the heaviest load than at the lightest",
            all_above_zero(*(move.difference for move in moves.values())),
            ", ".join(f"{move.interval} nodes at {p} % I/O" for p, move in moves.items()),
        )


EXPERIMENT = Experiment(
    name="mache-fig9",
    source="Mache, Lo, Garg, IPDPS 2000, figure 9",
    claim="MC-Elongated gives jobs more compact layouts than PLAS, and layouts spread with load",
    run=run,
)
