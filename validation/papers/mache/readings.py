"""The four readings of table 2 of Mache, Lo and Garg, each alone and all side by side.

The paper says both that it models wormhole switching and that "all message-passing is modeled at
the packet-level", and not how many messages a job sends. So there are four readings:

- *worms*: flit for flit, a message that waits holds its channels and blocks others; or *packets*:
  a link is busy for the flits of each message, and a message that waits blocks no other.
- *per job*: every job sends 256 messages, shared by its nodes; or *per node*: every node sends 16,
  a full cycle over the I/O nodes, whatever the size of its job.

None of them is the plain one. `mache-table2` sets all four side by side and holds each to the 36
printed times by the criteria of `printed_times`. Interarrival times are calibrated by the same rule
in all. That the orders agree under one of them was seen before it was kept: whatever is said of
that one, it was chosen afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from validation.mesh import Router
from validation.papers.base import (
    Experiment,
    Finding,
    Outcome,
    RunOptions,
    all_below_zero,
    all_hold,
    within,
)
from validation.papers.mache import plotting, printed_times, table2
from validation.papers.mache.campaign import Load
from validation.papers.mache.printed_times import CAPTION, RATIO_BAND, RMS_BOUND
from validation.papers.mache.setup import STRATEGIES, Choices

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Reading:
    """One way to take what the paper says of messages."""

    name: str
    words: str
    choices: Choices


READINGS: Final = tuple(
    Reading(
        f"{network}-per-{quota}",
        f"{network}, messages per {quota}",
        Choices(quota=quota, router=Router(cut_through=network == "packets")),
    )
    for network in ("worms", "packets")
    for quota in ("job", "node")
)

#: Four readings cost four times as much: half the jobs, six replications, three trials each.
SIDE_BY_SIDE: Final = table2.Effort(jobs=500, replications=6, trials=3, tolerance=0.02)


def run_one(options: RunOptions, *, reading: Reading) -> Outcome:
    """One reading at length."""
    return table2.outcome(table2.columns(options, reading.choices))


def run(options: RunOptions) -> Outcome:
    """All four readings side by side."""
    found = {reading: table2.columns(options, reading.choices, SIDE_BY_SIDE) for reading in READINGS}
    table = cells(found)
    return Outcome(table, tuple(claims(found)), lambda: plotting.readings_panels(table))


def cells(found: Mapping[Reading, Sequence[Load]]) -> pd.DataFrame:
    """One row for each cell of each reading: the paper's time beside ours, put to scale."""
    import pandas as pd

    parts = []
    for reading, loads in found.items():
        part = table2.cells(loads)
        order = [(round(100 * load.io_share), name) for load in loads for name in STRATEGIES]
        held = pd.Series(printed_times.nodes_held(loads).ravel(), pd.MultiIndex.from_tuples(order)).reindex(
            pd.MultiIndex.from_frame(part[["io_percent", "strategy"]])
        )
        part["nodes_held"] = held.to_numpy()
        part["paper_utilisation_needed"] = (
            part.paper_service / part.paper_interarrival * part.nodes_held / printed_times.NODES
        )
        logs = np.log(part.service_cycles / part.paper_service)
        part["cycles_per_printed_unit"] = np.exp(logs.mean())
        part["log_residual"] = logs - logs.mean()
        part.insert(0, "reading", reading.name)
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def claims(found: Mapping[Reading, Sequence[Load]]) -> Iterator[Finding]:
    """What the criteria say of each reading, and of the table as a whole."""
    orders = {}
    for reading, loads in found.items():
        yield from _criteria(reading, loads)
        judged = [f for f in table2.claims(loads) if f.claim == "M-22"]
        orders[reading] = table2.meets_specification(judged)
        missed = [f for f in judged if not f.holds]
        yield Finding(
            "M-22",
            f"{reading.words}: the orders meet all that the specification asks",
            orders[reading],
            "not borne out: " + "; ".join(f"{f.sentence} ({f.verdict})" for f in missed)
            if missed
            else "all borne out",
        )
    yield Finding(
        "M-22",
        "the orders of table 2 are found under whichever reading",
        all_hold(orders.values()),
        ", ".join(f"{reading.words}: {verdict}" for reading, verdict in orders.items()),
    )
    yield _nearest(found)


def _criteria(reading: Reading, loads: Sequence[Load]) -> Iterator[Finding]:
    times = len(loads) * len(STRATEGIES)
    misfit = printed_times.misfit(loads)
    yield Finding(
        "M-22",
        f"{reading.words}: up to one scale factor the rms of the log residuals of the printed "
        f"times is at most {RMS_BOUND}",
        within(misfit, -math.inf, RMS_BOUND),
        f"{misfit.mean:.3f} ± {misfit.half_width:.2g}, {times} times, "
        f"{_scale(loads):.3g} cycles to a printed unit",
    )
    ratio = printed_times.elongated_ratio(loads)
    low, middle, high = np.exp([ratio.low, ratio.mean, ratio.high])
    printed = printed_times.printed_ratio()
    yield Finding(
        "M-22",
        f"{reading.words}: MC-Elongated's time at 100 % I/O over that at 0 % is {printed:.1f} "
        f"within a factor of {RATIO_BAND}",
        printed_times.near_ratio(ratio),
        f"{middle:.3g}, 95 % from {low:.3g} to {high:.3g}",
    )
    need, held = printed_times.implied(loads), printed_times.nodes_held(loads)
    most = printed_times.most_needed(loads)
    column, strategy = divmod(int(need.argmax()), len(STRATEGIES))
    inside = int(((need >= CAPTION[0]) & (need <= CAPTION[1])).sum())
    yield Finding(
        "E44",
        f"{reading.words}: by Little's law no printed time needs more than the whole machine",
        within(most, -math.inf, 1.0),
        f"at most {most.mean:.2f} ± {most.half_width:.2g} ({STRATEGIES[strategy]}, "
        f"{loads[column].io_share:.0%} I/O); {int((need > 1.0).sum())} of {times} need more, "
        f"{inside} between {CAPTION[0]:.2f} and {CAPTION[1]:.2f}; nodes of a job weighted by its "
        f"service {held.min():.1f} to {held.max():.1f}",
    )


def _scale(loads: Sequence[Load]) -> float:
    ours = np.array([[load.mean_of(name, "service") for name in STRATEGIES] for load in loads])
    return printed_times.scale(ours, printed_times.printed_times(loads))


def _nearest(found: Mapping[Reading, Sequence[Load]]) -> Finding:
    """Whether one reading is nearer to the printed times than each of the others."""
    best = min(found, key=lambda reading: printed_times.misfit(found[reading]).mean)
    gaps = {other: printed_times.nearer(found[best], found[other]) for other in found if other != best}
    return Finding(
        "M-22",
        "one reading is nearer to the printed times than each of the others, by the rms",
        all_below_zero(*gaps.values()),
        f"{best.words}; less "
        + ", ".join(f"{other.words} {x.mean:.3f} ± {x.half_width:.2g}" for other, x in gaps.items()),
    )


EXPERIMENTS: Final = (
    Experiment(
        name="mache-table2",
        source="Mache, Lo, Garg, IPDPS 2000, table 2 and section 4.1",
        claim="the four readings of what the paper says of messages ("
        + ", ".join(reading.name for reading in READINGS)
        + "), held to the 36 printed times",
        run=run,
    ),
    *(
        Experiment(
            name=f"mache-table2-{reading.name}",
            source="Mache, Lo, Garg, IPDPS 2000, table 2",
            claim="MC-Elongated, compact and balanced, is best where jobs both communicate and do "
            f"I/O, and near the best where they do one of them; read as {reading.words}",
            run=partial(run_one, reading=reading),
        )
        for reading in READINGS
    ),
)
