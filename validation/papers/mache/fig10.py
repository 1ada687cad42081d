"""Figure 10 of Mache, Lo and Garg: how unbalanced the system is, over the load."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from validation.papers.base import Experiment, Finding, Outcome, RunOptions, all_below_zero
from validation.papers.mache import plotting
from validation.papers.mache.campaign import change
from validation.papers.mache.sweep import Sweep, rows, sweep

QUANTITY: Final = "system_balance"


def run(options: RunOptions) -> Outcome:
    """Average system balance factor, for every strategy at every load."""
    found = sweep(options)
    table = rows(found)
    return Outcome(
        table,
        tuple(claims(found)),
        lambda: plotting.load_panels(table, QUANTITY, "system balance factor, time average"),
    )


def claims(found: Sweep) -> Iterator[Finding]:
    """MC-Elongated is better balanced than MC; balance comes free on a full machine."""
    gaps = [
        (load.runs.difference("MC-Elongated", "MC", QUANTITY), load)
        for loads in found.values()
        for load in loads
    ]
    ratios = [load.mean("MC", QUANTITY) / load.mean("MC-Elongated", QUANTITY) for _, load in gaps]
    yield Finding(
        "M-24",
        "the system is better balanced under MC-Elongated than under MC, at every load",
        all_below_zero(*(gap for gap, _ in gaps)),
        f"{sum(gap.high < 0 for gap, _ in gaps)} of {len(gaps)} loads; MC over MC-Elongated "
        f"{min(ratios):.2f} to {max(ratios):.2f}",
    )
    for name in ("Paging", "MBS", "MC"):
        moves = {}
        for percent, loads in found.items():
            means = [load.mean(name, QUANTITY) for load in loads]
            peak = loads[means.index(max(means))]
            moves[percent] = peak, change(loads[0], loads[-1], name, QUANTITY)
        yield Finding(
            "M-25",
            f"{name}: the balance factor is smaller at the heaviest load than at the lightest",
            all_below_zero(*(move.difference for _, move in moves.values())),
            ", ".join(
                f"{move.interval} nodes at {p} % I/O, largest at utilisation {peak.target:.1f}"
                for p, (peak, move) in moves.items()
            ),
        )


EXPERIMENT = Experiment(
    name="mache-fig10",
    source="Mache, Lo, Garg, IPDPS 2000, figure 10",
    claim="MC-Elongated balances the machine better than MC, and full machines are balanced anyway",
    run=run,
)
