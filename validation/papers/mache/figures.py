"""Figures 9 and 10 of Mache, Lo and Garg: how far jobs are spread, how unbalanced the system is.

One sweep over the load serves both, and the observations of section 4.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from validation.papers.base import (
    Experiment,
    Finding,
    Outcome,
    RunOptions,
    all_above_zero,
    all_below_zero,
)
from validation.papers.mache import plotting
from validation.papers.mache.campaign import Load, Plan, campaign, change
from validation.papers.mache.setup import JOBS, STRATEGIES, Choices, synthetic

if TYPE_CHECKING:
    import pandas as pd

#: I/O alone, a mixture, communication alone.
PERCENT: Final = (100, 40, 0)
#: Utilisations of MC-Elongated.
LOADS: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
REPLICATIONS, TRIALS = 6, 3
QUICK_LOADS, QUICK_JOBS, QUICK_REPLICATIONS = (0.1, 0.5, 0.8), 80, 2

Sweep = Mapping[int, Sequence[Load]]


def sweep(options: RunOptions) -> Sweep:
    """Every load of each ratio of I/O, by the percentage; loads rising.

    Made once for all experiments with the same `options.shared`.
    """
    key = "mache", "sweep", options.seed, options.quick
    known: Sweep | None = options.shared.known(key)
    if known is None:
        known = _made(options)
        options.shared.keep(key, known)
    return known


def _made(options: RunOptions) -> Sweep:
    quick = options.quick
    plans = [
        Plan(
            io_share=percent / 100,
            streams=synthetic(1.0, QUICK_JOBS if quick else JOBS),
            targets=QUICK_LOADS if quick else LOADS,
            choices=Choices(),
            seed=options.seed,
            replications=QUICK_REPLICATIONS if quick else REPLICATIONS,
            trials=1 if quick else TRIALS,
            tried=("MC-Elongated",),
            tolerance=0.05 if quick else 0.02,
        )
        for percent in PERCENT
    ]
    found = campaign(plans, options, what="loads")
    return {p: [load for load in found if round(100 * load.io_share) == p] for p in PERCENT}


def rows(found: Sweep) -> pd.DataFrame:
    """One row for each strategy at each load."""
    import pandas as pd

    return pd.DataFrame([row for loads in found.values() for load in loads for row in load.rows()])


def run(
    options: RunOptions,
    *,
    quantity: str,
    label: str,
    claims: Callable[[Sweep], Iterator[Finding]],
) -> Outcome:
    """Show one quantity of every strategy at every load."""
    found = sweep(options)
    table = rows(found)
    return Outcome(table, tuple(claims(found)), lambda: plotting.load_panels(table, quantity, label))


def dispersal(found: Sweep) -> Iterator[Finding]:
    """MC-Elongated is less spread than PLAS; every strategy spreads as the load rises."""
    yield _smaller(
        found, "nodes_affected", "PLAS", "jobs of MC-Elongated affect fewer nodes than those of PLAS"
    )
    for name in STRATEGIES:
        moves = {p: change(loads[0], loads[-1], name, "nodes_affected") for p, loads in found.items()}
        yield Finding(
            "M-25",
            f"{name}: dispersal is greater at the heaviest load than at the lightest",
            all_above_zero(*(move.difference for move in moves.values())),
            ", ".join(f"{move.interval} nodes at {p} % I/O" for p, move in moves.items()),
        )


def balance(found: Sweep) -> Iterator[Finding]:
    """MC-Elongated is better balanced than MC; balance comes free on a full machine."""
    yield _smaller(
        found, "system_balance", "MC", "the system is better balanced under MC-Elongated than under MC"
    )
    for name in ("Paging", "MBS", "MC"):
        moves = {}
        for percent, loads in found.items():
            means = [load.mean(name, "system_balance") for load in loads]
            peak = loads[means.index(max(means))]
            moves[percent] = peak, change(loads[0], loads[-1], name, "system_balance")
        yield Finding(
            "M-25",
            f"{name}: the balance factor is smaller at the heaviest load than at the lightest",
            all_below_zero(*(move.difference for _, move in moves.values())),
            ", ".join(
                f"{move.interval} nodes at {p} % I/O, largest at utilisation {peak.target:.1f}"
                for p, (peak, move) in moves.items()
            ),
        )


def _smaller(found: Sweep, quantity: str, other: str, sentence: str) -> Finding:
    """A quantity of MC-Elongated beside that of another strategy, at every load."""
    every = [load for loads in found.values() for load in loads]
    gaps = [load.runs.difference("MC-Elongated", other, quantity) for load in every]
    ratios = [load.mean(other, quantity) / load.mean("MC-Elongated", quantity) for load in every]
    return Finding(
        "M-24",
        f"{sentence}, at every load",
        all_below_zero(*gaps),
        f"{sum(gap.high < 0 for gap in gaps)} of {len(gaps)} loads; {other} over MC-Elongated "
        f"{min(ratios):.2f} to {max(ratios):.2f}",
    )


DISPERSAL: Final = Experiment(
    name="mache-fig9",
    source="Mache, Lo, Garg, IPDPS 2000, figure 9",
    claim="MC-Elongated gives jobs more compact layouts than PLAS, and layouts spread with load",
    run=partial(
        run,
        quantity="nodes_affected",
        label="nodes in a job's enclosing rectangle",
        claims=dispersal,
    ),
)
BALANCE: Final = Experiment(
    name="mache-fig10",
    source="Mache, Lo, Garg, IPDPS 2000, figure 10",
    claim="MC-Elongated balances the machine better than MC, and full machines are balanced anyway",
    run=partial(
        run,
        quantity="system_balance",
        label="system balance factor, time average",
        claims=balance,
    ),
)
