"""Table 1: how the search grows with the allocated boxes and with the nodes.

The paper states orders, O(m^2) for a busy list of m boxes and O(n^2) for an array of n nodes. Here
operations are counted in states that random arrivals and departures lead to, and powers are fitted
to their means. Such a power is no worst case: an order is not contradicted by a lower one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from phasefit.arrays import Array
from validation.allocation import Request
from validation.analysis.estimates import Estimate, estimate
from validation.analysis.seeding import stream as random_stream
from validation.mesh import Mesh, Occupancy
from validation.papers.bani_mohammad import plotting
from validation.papers.bani_mohammad.counted import CountedStrategy, counted
from validation.papers.bani_mohammad.setup import SOURCE
from validation.papers.base import Experiment, Finding, Outcome, RunOptions, within

#: Boxes on a cube of this side for the busy list; sides of cubes for the array.
BOXES: Final = (8, 16, 32, 64, 128, 256)
LIST_SIDE = 24
#: Share of the nodes that so many boxes of mean size hold: more boxes are smaller ones, and a
#: search for a box of their size finds one about as often.
FULL: Final = 0.35
SIDES: Final = (6, 8, 10, 12, 16, 20)
#: States of each size, in groups whose powers are estimated on their own, and requests in a state.
GROUPS, STATES, REQUESTS = 10, 8, 20
#: What the requirements allow a busy list; what the specification measured of its subtractions.
MOST_POWER, MEASURED = 2.2, (1.4, 1.55)
#: What is counted of a busy list, in the order of the counts.
COUNTS: Final = ("pairs", "subtractions", "rectangles")


def run(options: RunOptions) -> Outcome:
    """Mean operations of one search, and the powers fitted to them."""
    sizes = BOXES[:4] if options.quick else BOXES
    sides = SIDES[:4] if options.quick else SIDES
    groups, states = (3, 2) if options.quick else (GROUPS, STATES)
    lists = _operations(_list_state, sizes, groups, states, options, "busy boxes")
    scans = _operations(_scan_state, sides, groups, states, options, "sides")
    nodes = [side**3 for side in sides]
    table = _table("BL", "m", sizes, lists, COUNTS) + _table(
        "FF", "n", nodes, scans[:, :, :1], ("nodes looked at",)
    )
    import pandas as pd

    frame = pd.DataFrame(table)
    return Outcome(frame, tuple(_findings(sizes, lists, nodes, scans)), lambda: plotting.growth(frame))


def _operations(
    state: Any, sizes: Sequence[int], groups: int, states: int, options: RunOptions, what: str
) -> Array:
    """Mean operations of a search, (groups, sizes, kinds)."""
    means = np.zeros((groups, len(sizes), 3))
    for g in range(groups):
        for k, size in enumerate(sizes):
            draws = [random_stream(options.seed, what, g, size, s) for s in range(states)]
            means[g, k] = np.mean([state(size, rng) for rng in draws], axis=0)
        options.progress(f"table 1, {what}", g + 1, groups)
    return means


def _list_state(boxes: int, rng: np.random.Generator) -> Array:
    """Mean operations of BL with so many boxes on a cube, after random comings and goings."""
    strategy = counted("BL")
    held = Occupancy(Mesh.of_sides((LIST_SIDE,) * 3))
    longest = round(2 * (FULL * held.nodes / boxes) ** (1 / 3) - 1)
    _churn(held, strategy, boxes, longest, rng)
    return _searched(strategy, held, longest, rng)


def _scan_state(side: int, rng: np.random.Generator) -> Array:
    """Mean operations of FF on a cube about half full of boxes in proportion to it."""
    strategy = counted("FF")
    held = Occupancy(Mesh.of_sides((side,) * 3))
    _churn(held, strategy, 12, side // 2, rng)
    return _searched(strategy, held, side // 2, rng)


def _churn(
    held: Occupancy,
    strategy: CountedStrategy,
    boxes: int,
    most: int,
    rng: np.random.Generator,
) -> None:
    """Let boxes come until there are so many, and go and come as often again."""
    job = 0
    for _ in range(20 * boxes):
        if len(held.jobs) == boxes:
            if job >= 2 * boxes:
                return
            held.release(list(held.jobs)[int(rng.integers(boxes))])
        nodes = strategy.choose(held, _request(most, rng))
        if nodes is not None:
            held.occupy(job, nodes)
            job += 1


def _request(most: int, rng: np.random.Generator) -> Request:
    return Request.of_shape(*rng.integers(1, most + 1, 3).tolist())


def _searched(strategy: CountedStrategy, held: Occupancy, most: int, rng: np.random.Generator) -> Array:
    """Mean operations of searches for random boxes, whether they are found or not."""
    before = strategy.counter.of(held).copy()
    for _ in range(REQUESTS):
        strategy.choose(held, _request(most, rng))
    return np.asarray((strategy.counter.of(held) - before)[1:] / REQUESTS, dtype=float)


def power(sizes: Sequence[int], means: Array) -> Estimate:
    """The exponent of a power of the sizes, from the means (groups, sizes) of independent groups.

    Examples
    --------
    >>> power([1, 2, 4], np.array([[3.0, 12.0, 48.0], [5.0, 20.0, 80.0]])).mean.__round__(9)
    2.0
    """
    slopes = [np.polyfit(np.log(sizes), np.log(np.maximum(row, 1e-9)), 1)[0] for row in means]
    return estimate([float(slope) for slope in slopes])


def _table(
    strategy: str, name: str, sizes: Sequence[int], means: Array, counts: Sequence[str]
) -> list[dict[str, Any]]:
    rows = []
    for j, count in enumerate(counts):
        slope = power(sizes, means[:, :, j])
        for k, size in enumerate(sizes):
            known = estimate(means[:, k, j].tolist())
            rows.append(
                {
                    "strategy": strategy,
                    "of": name,
                    "size": size,
                    "count": count,
                    "mean": known.mean,
                    "half_width": known.half_width,
                    "power": slope.mean,
                    "power_half_width": slope.half_width,
                }
            )
    return rows


def _findings(sizes: Sequence[int], lists: Array, nodes: Sequence[int], scans: Array) -> Iterator[Finding]:
    for j, count in enumerate(COUNTS):
        slope = power(sizes, lists[:, :, j])
        yield Finding(
            "B-8",
            f"busy list: the {count} of a search grow no faster than m^{MOST_POWER}",
            within(slope, -9.0, MOST_POWER),
            f"m^({slope.mean:.2f} ± {slope.half_width:.2f}); paper O(m^2)",
        )
    slope = power(sizes, lists[:, :, COUNTS.index("subtractions")])
    yield Finding(
        "B-8",
        f"busy list: the subtractions grow as m^{MEASURED[0]} to m^{MEASURED[1]}, as the "
        "specification measured",
        within(slope, *MEASURED),
        f"m^({slope.mean:.2f} ± {slope.half_width:.2f})",
    )
    slope = power(nodes, scans[:, :, 0])
    yield Finding(
        "B-8",
        "array: the nodes that a search looks at grow with n",
        within(slope, 0.0, 9.0),
        f"n^({slope.mean:.2f} ± {slope.half_width:.2f}); paper O(n^2)",
    )


EXPERIMENT = Experiment(
    name="bani-table1",
    source=f"{SOURCE}, table 1",
    claim="a busy list is searched in O(m^2), an array in O(n^2)",
    run=run,
)
