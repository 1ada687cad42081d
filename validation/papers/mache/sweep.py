"""One sweep over the load for figures 9 and 10 and the observations of section 4.3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from validation.papers.base import RunOptions
from validation.papers.mache.campaign import Load, Plan, campaign
from validation.papers.mache.setup import JOBS, Choices, synthetic

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
    made: Sweep = options.shared.all_of({key: key}, lambda missing: [_made(options) for _ in missing])[key]
    return made


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
