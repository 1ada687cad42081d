"""Figures 6 and 7: what allocation and deallocation cost, counted in operations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from validation.analysis.comparison import compare
from validation.papers.bani_mohammad.campaign import Campaign
from validation.papers.bani_mohammad.claims import everywhere, published
from validation.papers.bani_mohammad.fig3 import curves
from validation.papers.bani_mohammad.setup import DISCIPLINES, SOURCE, Cell
from validation.papers.base import Experiment, Finding, Outcome, RunOptions, all_above_zero, within

#: What the requirements accept for the printed 9 %.
BAND: Final = (0.01, 0.3)
#: The load that the text names.
NAMED: Final = 0.075


def run(options: RunOptions) -> Outcome:
    """Operations of the curves of figure 3."""
    return curves(options, "operations", "operations for each job", _findings, named=NAMED, log=True)


def _findings(found: Campaign, loads: Sequence[float]) -> Iterator[Finding]:
    ratio = found.ratio(Cell("TBL", "FCFS", NAMED), Cell("TFF", "FCFS", NAMED), "operations")
    printed = published()["6 TBL(FCFS)", f"{NAMED}"]
    yield Finding(
        "B-21",
        f"TBL(FCFS) takes {BAND[0]:.0%} to {BAND[1]:.0%} of the operations of TFF(FCFS) at load {NAMED}",
        within(ratio, *BAND),
        f"{ratio.mean:.1%} ± {100 * ratio.half_width:.1f} %; paper {printed:.0%} of the time",
    )
    for claim, less, more in (
        ("B-21", "TBL", "TFF"),
        ("B-21", "BL", "FF"),
        ("B-22", "BL", "TBL"),
        ("B-22", "FF", "TFF"),
    ):
        yield everywhere(
            found,
            claim,
            f"{less} takes fewer operations than {more}, at every load",
            [(f"{d} at {x}", Cell(less, d, x), Cell(more, d, x)) for d in DISCIPLINES for x in loads],
            "operations",
        )
    for turned, plain in (("TBL", "BL"), ("TFF", "FF")):
        for d in DISCIPLINES:
            gaps = []
            for load in (loads[0], loads[-1]):
                pair = Cell(turned, d, load), Cell(plain, d, load)
                dear, cheap = found.paired(*pair, "operations")
                gaps.append(dear - cheap)
            n = min(gap.size for gap in gaps)
            growth = compare(gaps[1][:n], gaps[0][:n], smaller_is_better=False)
            yield Finding(
                "B-22",
                f"{d}: {turned} takes more operations above {plain} at the heaviest load than at "
                "the lightest",
                all_above_zero(growth.difference),
                f"{gaps[0].mean():.1f} to {gaps[1].mean():.1f} for each job; {growth.interval}",
            )


EXPERIMENT = Experiment(
    name="bani-fig6-7",
    source=f"{SOURCE}, figures 6 and 7",
    claim="busy lists cost far less than arrays to search, and turning costs more than not turning",
    run=run,
)
