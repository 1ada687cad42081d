"""Row II of table 1 of Mache, Lo and Garg: the same comparison on jobs of the SDSC Paragon.

The log is read from the folder that the environment variable QMODELS_DATA names; without it the
surrogate with the paper's moments stands in.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from validation.jobs import AbstractStreams, LogStreams, SurrogateStreams
from validation.papers.base import Experiment, Finding, Outcome, RunOptions, whether
from validation.papers.mache import plotting
from validation.papers.mache.campaign import Load, Plan, campaign, kendall
from validation.papers.mache.setup import COLUMNS, JOBS, ROWS, STRATEGIES, TARGET, Choices, synthetic
from validation.papers.mache.table2 import LEAST_MEAN_TAU, LEAST_TAU

PERCENT: Final = (100, 75, 50, 25, 0)
LOADS: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
#: The log is one stream of jobs; replications differ in their messages and Random's draws.
REPLICATIONS, SYNTHETIC_REPLICATIONS = 1, 4
QUICK_PERCENT, QUICK_LOADS, QUICK_JOBS = (100, 0), (0.3, 0.7), 80
VARIABLE, FILE = "QMODELS_DATA", "swf/derived_SDSC-Par-1996Q4-batch-completed.swf.gz"


def run(options: RunOptions) -> Outcome:
    """Replay the log over the load, and the synthetic jobs at the load of table 2."""
    import pandas as pd

    streams, source = paragon(QUICK_JOBS if options.quick else None)
    percents = QUICK_PERCENT if options.quick else PERCENT
    replay = _campaign(options, streams, percents, QUICK_LOADS if options.quick else LOADS)
    jobs = QUICK_JOBS if options.quick else JOBS
    drawn = _campaign(options, synthetic(1.0, jobs), percents, (TARGET,))
    table = pd.DataFrame(
        [
            row | {"jobs": label}
            for label, loads in ((source, replay), ("synthetic", drawn))
            for load in loads
            for row in load.rows()
        ]
    )
    shown = table[table.jobs == source]
    return Outcome(
        table,
        tuple(_claims(replay, drawn, source)),
        lambda: plotting.load_panels(shown, "service", "mean service time [cycles]", log=True),
    )


def paragon(jobs: int | None = None) -> tuple[AbstractStreams, str]:
    """Jobs of the log where it is, else of the surrogate; and which of them."""
    from qmodels.io import read_swf

    folder = os.environ.get(VARIABLE)
    path = Path(folder) / FILE if folder else None
    if path is not None and path.is_file():
        log = read_swf(path)
        streams: AbstractStreams = LogStreams(log, jobs=jobs, mean_interarrival=1.0, largest=ROWS * COLUMNS)
        return streams, "log"
    given = {} if jobs is None else {"jobs": jobs}
    return SurrogateStreams(mean_interarrival=1.0, largest=ROWS * COLUMNS, **given), "surrogate"


def _campaign(
    options: RunOptions,
    streams: AbstractStreams,
    percents: Sequence[int],
    targets: tuple[float, ...],
) -> list[Load]:
    log = len(targets) > 1
    plans = [
        Plan(
            io_share=percent / 100,
            streams=streams,
            targets=targets,
            choices=Choices(),
            seed=options.seed,
            replications=REPLICATIONS if log or options.quick else SYNTHETIC_REPLICATIONS,
            trials=1 if log or options.quick else SYNTHETIC_REPLICATIONS,
            tried=("MC-Elongated",),
            tolerance=0.05 if options.quick else 0.02,
        )
        for percent in percents
    ]
    return campaign(plans, options, what="log" if log else "synthetic jobs")


def _claims(replay: Sequence[Load], drawn: Sequence[Load], source: str) -> Iterator[Finding]:
    means = []
    for own in drawn:
        percent = round(100 * own.io_share)
        here = [load for load in replay if load.io_share == own.io_share]
        there = [own.mean_of(name, "service") for name in STRATEGIES]
        taus = {
            load.target: kendall([load.mean_of(name, "service") for name in STRATEGIES], there)
            for load in here
        }
        middle = [tau for target, tau in taus.items() if abs(target - TARGET) < 0.06]
        means += middle
        yield Finding(
            "M-22",
            f"{percent} % I/O: the order of the strategies on the {source} is near that on the "
            f"synthetic jobs, both at utilisation {TARGET}, tau >= {LEAST_TAU}",
            whether(float(np.mean(middle)) >= LEAST_TAU),
            f"tau at {', '.join(f'{x:.1f}: {tau:.2f}' for x, tau in taus.items())}; on average "
            f"{np.mean(list(taus.values())):.2f}",
        )
    yield Finding(
        "M-22",
        f"the mean of these tau is at least {LEAST_MEAN_TAU}",
        whether(float(np.mean(means)) >= LEAST_MEAN_TAU),
        f"mean tau {np.mean(means):.2f}",
    )


EXPERIMENT = Experiment(
    name="mache-sdsc",
    source="Mache, Lo, Garg, IPDPS 2000, table 1 row II and section 4.2",
    claim="a replay of the SDSC Paragon's log (from the folder in QMODELS_DATA, else a surrogate) "
    "gives results very similar to the synthetic jobs'",
    run=run,
)
