"""Section 4.3 and the conclusions of Mache, Lo and Garg: what the load changes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from validation.analysis.estimates import estimate
from validation.experiments.base import Experiment, Finding, Outcome, RunOptions
from validation.experiments.mache import plotting
from validation.experiments.mache.campaign import Load, change, paired
from validation.experiments.mache.setup import STRATEGIES
from validation.experiments.mache.sweep import Sweep, rows, sweep

#: Bounds of the requirements: the greatest ratio at least, the greatest loss at most.
LEAST_GAIN, MOST_LOSS = 1.5, 1.25


def run(options: RunOptions) -> Outcome:
    """Service and turnaround times of every strategy at every load."""
    found = sweep(options)
    table = rows(found)
    return Outcome(
        table,
        (*_turnarounds(found), *_spreads(found), *_service(found)),
        lambda: plotting.load_panels(table, "service", "mean service time [cycles]", log=True),
    )


def _turnarounds(found: Sweep) -> Iterator[Finding]:
    every = [load for loads in found.values() for load in loads]
    gain, where, name = max(
        ((_ratio(load, name, "MC-Elongated"), load, name)
         for load in every for name in ("MBS", "Paging")),
        key=lambda item: item[0],
    )  # fmt: skip
    yield Finding(
        "M-23",
        f"MC-Elongated has a turnaround up to {LEAST_GAIN} times shorter or more than MBS or "
        "Paging",
        gain >= LEAST_GAIN,
        f"up to {gain:.3f} ({name}, {_place(where)}); paper 3.834",
    )
    wrong = [(p, name) for p, name in ((100, "MC"), (0, "PLAS")) if p in found]
    gain, where, name = max(
        ((_ratio(load, name, "MC-Elongated"), load, name) for p, name in wrong
         for load in found[p]),
        key=lambda item: item[0],
    )  # fmt: skip
    yield Finding(
        "M-23",
        "MC-Elongated has a shorter turnaround than the strategy for the opposite traffic, at some "
        "load",
        gain > 1.0,
        f"up to {gain:.3f} ({name}, {_place(where)}); paper 1.537",
    )
    for percent, name in ((100, "PLAS"), (0, "MC")):
        losses = [(_ratio(load, "MC-Elongated", name), load) for load in found[percent]]
        loss, where = max(losses, key=lambda item: item[0])
        yield Finding(
            "M-23",
            f"at {percent} % I/O the turnaround of MC-Elongated is at most "
            f"{MOST_LOSS - 1:.0%} longer than that of {name}",
            loss <= MOST_LOSS,
            f"at most {loss - 1:+.1%} ({_place(where)}); paper +13.7 %",
        )


def _ratio(load: Load, name: str, to: str) -> float:
    return load.mean(name, "turnaround") / load.mean(to, "turnaround")


def _place(load: Load) -> str:
    return f"{load.io_share:.0%} I/O, utilisation {load.target:.1f}"


def _spreads(found: Sweep) -> Iterator[Finding]:
    for percent, sign, word in ((100, -1, "falls"), (0, 1, "rises")):
        loads = found[percent]
        move = estimate((loads[-1].spread() - loads[0].spread()).tolist())
        spreads = [float(load.spread().mean()) for load in loads]
        widest = loads[int(np.argmax(spreads))]
        yield Finding(
            "M-26",
            f"{percent} % I/O: the spread of the strategies' service times (largest over smallest) "
            f"{word} from the lightest load to the heaviest",
            (move.high < 0) if sign < 0 else (move.low > 0),
            f"{', '.join(f'{x:.2f}' for x in spreads)}; change {paired(move)}; widest at "
            f"utilisation {widest.target:.1f}",
        )


def _service(found: Sweep) -> Iterator[Finding]:
    for name in STRATEGIES:
        falls, rises = [], []
        for percent, loads in found.items():
            rises.append(change(loads[0], loads[-1], name, "service").low > 0)
            falls += [
                f"{percent} % I/O, {a.target:.1f} to {b.target:.1f}"
                for a, b in pairwise(loads)
                if change(a, b, name, "service").high < 0
            ]
        yield Finding(
            "M-28",
            f"{name}: service times rise with the load, and fall at no step of it",
            all(rises) and not falls,
            f"{sum(rises)} of {len(rises)} ratios rise; falls: {'; '.join(falls) or 'none'}",
        )


EXPERIMENT = Experiment(
    name="mache-load",
    source="Mache, Lo, Garg, IPDPS 2000, sections 4.3 and 5",
    claim="service times rise with the load; layout matters more to I/O at low load and to "
    "communication at high load",
    run=run,
)
