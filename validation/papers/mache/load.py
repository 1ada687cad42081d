"""Section 4.3 and the conclusions of Mache, Lo and Garg: what the load changes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from validation.analysis.comparison import compare
from validation.papers.base import (
    FAILS,
    HOLDS,
    UNDECIDED,
    Experiment,
    Finding,
    Outcome,
    RunOptions,
    Verdict,
    all_above_zero,
    all_below_zero,
    all_hold,
    whether,
)
from validation.papers.mache import plotting
from validation.papers.mache.campaign import Load, change
from validation.papers.mache.setup import STRATEGIES
from validation.papers.mache.sweep import Sweep, rows, sweep

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
        ((_ratio(load, name, "MC-Elongated"), load, name) for load in every for name in ("MBS", "Paging")),
        key=lambda item: item[0],
    )
    yield Finding(
        "M-23",
        f"MC-Elongated has a turnaround up to {LEAST_GAIN} times shorter or more than MBS or Paging",
        whether(gain >= LEAST_GAIN),
        f"up to {gain:.3f} ({name}, {_place(where)}); paper 3.834",
    )
    wrong = [(load, name) for p, name in ((100, "MC"), (0, "PLAS")) if p in found for load in found[p]]
    gain, where, name = max(
        ((_ratio(load, name, "MC-Elongated"), load, name) for load, name in wrong),
        key=lambda item: item[0],
    )
    gaps = [load.runs.compare("MC-Elongated", name, "turnaround") for load, name in wrong]
    yield Finding(
        "M-23",
        "MC-Elongated has a shorter turnaround than the strategy for the opposite traffic, at some load",
        _at_some([gap.verdict for gap in gaps]),
        f"up to {gain:.3f} ({name}, {_place(where)}); paper 1.537; shorter beyond noise at "
        f"{sum(gap.verdict == 'better' for gap in gaps)} of {len(gaps)} loads",
    )
    for percent, name in ((100, "PLAS"), (0, "MC")):
        losses = [(_ratio(load, "MC-Elongated", name), load) for load in found[percent]]
        loss, where = max(losses, key=lambda item: item[0])
        yield Finding(
            "M-23",
            f"at {percent} % I/O the turnaround of MC-Elongated is at most "
            f"{MOST_LOSS - 1:.0%} longer than that of {name}",
            whether(loss <= MOST_LOSS),
            f"at most {loss - 1:+.1%} ({_place(where)}); paper +13.7 %",
        )


def _at_some(verdicts: list[str]) -> Verdict:
    """Whether one comparison at least is "better"; that fails only if all are "worse"."""
    if "better" in verdicts:
        return HOLDS
    return FAILS if set(verdicts) == {"worse"} else UNDECIDED


def _ratio(load: Load, name: str, to: str) -> float:
    return load.mean_of(name, "turnaround") / load.mean_of(to, "turnaround")


def _place(load: Load) -> str:
    return f"{load.io_share:.0%} I/O, utilisation {load.target:.1f}"


def _spreads(found: Sweep) -> Iterator[Finding]:
    for percent, word in ((100, "falls"), (0, "rises")):
        loads = found[percent]
        move = compare(loads[-1].spread(), loads[0].spread())
        spreads = [float(load.spread().mean()) for load in loads]
        widest = loads[int(np.argmax(spreads))]
        yield Finding(
            "M-26",
            f"{percent} % I/O: the spread of the strategies' service times (largest over smallest) "
            f"{word} from the lightest load to the heaviest",
            (all_below_zero if word == "falls" else all_above_zero)(move.difference),
            f"{', '.join(f'{x:.2f}' for x in spreads)}; change {move.interval}; widest at "
            f"utilisation {widest.target:.1f}",
        )


def _service(found: Sweep) -> Iterator[Finding]:
    for name in STRATEGIES:
        rises = [change(loads[0], loads[-1], name, "service") for loads in found.values()]
        steps = {
            f"{percent} % I/O, {a.target:.1f} to {b.target:.1f}": change(a, b, name, "service")
            for percent, loads in found.items()
            for a, b in pairwise(loads)
        }
        falls = [where for where, step in steps.items() if step.high < 0]
        yield Finding(
            "M-28",
            f"{name}: service times rise with the load, and fall at no step of it",
            all_hold([all_above_zero(*(x.difference for x in rises)), whether(not falls)]),
            f"{sum(x.low > 0 for x in rises)} of {len(rises)} ratios rise; falls: "
            f"{'; '.join(falls) or 'none'}",
        )


EXPERIMENT = Experiment(
    name="mache-load",
    source="Mache, Lo, Garg, IPDPS 2000, sections 4.3 and 5",
    claim="service times rise with the load; layout matters more to I/O at low load and to "
    "communication at high load",
    run=run,
)
