"""Figure 5: how many boxes are allocated at a time, on cubes of three sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from validation.papers.bani_mohammad import plotting
from validation.papers.bani_mohammad.campaign import Campaign, campaign
from validation.papers.bani_mohammad.claims import everywhere
from validation.papers.bani_mohammad.fig3 import by_discipline, loaded
from validation.papers.bani_mohammad.setup import DISCIPLINES, LARGER, SIDE, SOURCE, Cell
from validation.papers.base import Experiment, Finding, Outcome, RunOptions, all_hold, within

#: How far the numbers on larger cubes may lie from that on the smallest.
NEAR: Final = 0.15


def same_work(load: float, side: int) -> float:
    """The load at which a cube is offered the share of its nodes that the smallest is at `load`.

    A box has on average ((L + 1) / 2 L)^3 of the nodes of a cube of side L.
    """
    return load * (((SIDE + 1) / SIDE) / ((side + 1) / side)) ** 3


def run(options: RunOptions) -> Outcome:
    """TBL on cubes of side 8, 10 and 12; at equal rates, as the figure, and at equal work."""
    loads = loaded(options)
    sides = LARGER[::2] if options.quick else LARGER
    drawn = [Cell("TBL", d, load, side) for side in sides for d in DISCIPLINES for load in loads]
    equal = [
        Cell("TBL", d, same_work(load, side), side)
        for side in sides
        for d in DISCIPLINES
        for load in (loads[0], loads[-1])
    ]
    found = campaign(list(dict.fromkeys(drawn + equal)), options, what="cubes")
    table = found.cells()
    rows = table[table.load.isin(loads)]
    return Outcome(table, tuple(_findings(found, loads, sides)), lambda: plotting.allocated_boxes(rows))


def _findings(found: Campaign, loads: Sequence[float], sides: Sequence[int]) -> Iterator[Finding]:
    counts = {cell: found.estimate(cell, "running") for cell in found.runs}
    most = max(counts, key=lambda cell: counts[cell].mean)
    yield Finding(
        "B-20",
        "the mean number of allocated boxes is below one in a hundred nodes, everywhere",
        all_hold(within(known, 0.0, cell.side**3 / 100) for cell, known in counts.items()),
        f"at most {counts[most].mean:.2f} ± {counts[most].half_width:.2f} ({most.label}, cube of "
        f"side {most.side}, load {most.load:.3g})",
    )
    for load in (loads[0], loads[-1]):
        for side in sides[1:]:
            ratios = {
                d: found.ratio(Cell("TBL", d, same_work(load, side), side), Cell("TBL", d, load), "running")
                for d in DISCIPLINES
            }
            yield Finding(
                "B-20",
                f"on a cube of side {side}, with the work of load {load}, as many boxes as on side "
                f"{SIDE}, within {NEAR:.0%}",
                all_hold(within(x, 1 - NEAR, 1 + NEAR) for x in ratios.values()),
                ", ".join(f"{d} {x.mean:.3f} ± {x.half_width:.3f}" for d, x in ratios.items()),
            )
    for side in sides:
        yield everywhere(
            found,
            "B-20",
            f"side {side}: more boxes under SSD than under FCFS, at every load",
            by_discipline("TBL", loads, side),
            "running",
        )


EXPERIMENT = Experiment(
    name="bani-fig5",
    source=f"{SOURCE}, figure 5",
    claim="few boxes are allocated at a time, and no more on larger machines",
    run=run,
)
