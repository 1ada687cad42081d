"""Figures 9 and 10 of Mache, Lo and Garg: how jobs are spread and the system unbalanced, over the load."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from validation.papers.base import Experiment, Finding, Outcome, RunOptions, all_above_zero, all_below_zero
from validation.papers.mache import plotting
from validation.papers.mache.campaign import change
from validation.papers.mache.setup import STRATEGIES
from validation.papers.mache.sweep import Sweep, rows, sweep

SPREAD: Final = "nodes_affected"
BALANCE: Final = "system_balance"


def run(
    options: RunOptions, *, quantity: str, label: str, claims: Callable[[Sweep], Iterator[Finding]]
) -> Outcome:
    """One quantity for every strategy at every load."""
    found = sweep(options)
    table = rows(found)
    return Outcome(table, tuple(claims(found)), lambda: plotting.load_panels(table, quantity, label))


def spread_claims(found: Sweep) -> Iterator[Finding]:
    """MC-Elongated is less spread than PLAS; every strategy spreads as the load rises."""
    yield _less(found, "PLAS", SPREAD, "jobs of MC-Elongated affect fewer nodes than those of PLAS")
    for name in STRATEGIES:
        moves = {p: change(loads[0], loads[-1], name, SPREAD) for p, loads in found.items()}
        yield Finding(
            "M-25",
            f"{name}: dispersal is greater at the heaviest load than at the lightest",
            all_above_zero(*(move.difference for move in moves.values())),
            ", ".join(f"{move.interval} nodes at {p} % I/O" for p, move in moves.items()),
        )


def balance_claims(found: Sweep) -> Iterator[Finding]:
    """MC-Elongated is better balanced than MC; balance comes free on a full machine."""
    yield _less(found, "MC", BALANCE, "the system is better balanced under MC-Elongated than under MC")
    for name in ("Paging", "MBS", "MC"):
        moves = {p: change(loads[0], loads[-1], name, BALANCE) for p, loads in found.items()}
        peaks = {p: max(loads, key=lambda load: load.mean_of(name, BALANCE)) for p, loads in found.items()}
        yield Finding(
            "M-25",
            f"{name}: the balance factor is smaller at the heaviest load than at the lightest",
            all_below_zero(*(move.difference for move in moves.values())),
            ", ".join(
                f"{move.interval} nodes at {p} % I/O, largest at utilisation {peaks[p].target:.1f}"
                for p, move in moves.items()
            ),
        )


def _less(found: Sweep, other: str, quantity: str, sentence: str) -> Finding:
    """Whether MC-Elongated has less of a quantity than another strategy, at every load."""
    every = [load for loads in found.values() for load in loads]
    gaps = [load.runs.difference("MC-Elongated", other, quantity) for load in every]
    ratios = [load.mean_of(other, quantity) / load.mean_of("MC-Elongated", quantity) for load in every]
    return Finding(
        "M-24",
        f"{sentence}, at every load",
        all_below_zero(*gaps),
        f"{sum(gap.high < 0 for gap in gaps)} of {len(gaps)} loads; {other} over MC-Elongated "
        f"{min(ratios):.2f} to {max(ratios):.2f}",
    )


EXPERIMENTS: Final = (
    Experiment(
        name="mache-fig9",
        source="Mache, Lo, Garg, IPDPS 2000, figure 9",
        claim="MC-Elongated gives jobs more compact layouts than PLAS, and layouts spread with load",
        run=partial(run, quantity=SPREAD, label="nodes in a job's enclosing rectangle", claims=spread_claims),
    ),
    Experiment(
        name="mache-fig10",
        source="Mache, Lo, Garg, IPDPS 2000, figure 10",
        claim="MC-Elongated balances the machine better than MC, and full machines are balanced anyway",
        run=partial(
            run, quantity=BALANCE, label="system balance factor, time average", claims=balance_claims
        ),
    ),
)
