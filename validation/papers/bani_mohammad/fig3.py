"""Figure 3: turnaround against the load, both disciplines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from validation.analysis.comparison import Comparison
from validation.papers.bani_mohammad import plotting
from validation.papers.bani_mohammad.campaign import Campaign, campaign
from validation.papers.bani_mohammad.claims import everywhere, published
from validation.papers.bani_mohammad.setup import DISCIPLINES, LOADS, SIDE, SOURCE, STRATEGIES, Cell
from validation.papers.base import Experiment, Finding, Outcome, RunOptions, all_below_zero, all_hold, within

QUICK_LOADS: Final = (0.025, 0.105)
#: The printed order, best first: strategies whose curves are said to coincide stand together.
ORDER: Final = (
    (("TBL", "TFF"), "SSD"),
    (("BL", "FF"), "SSD"),
    (("TBL", "TFF"), "FCFS"),
    (("BL", "FF"), "FCFS"),
)
#: How far two such may lie apart; what the requirements accept for the two printed increases.
NEAR: Final = 0.05
BANDS: Final = {0.025: (0.1, 0.9), 0.105: (0.35, 0.9)}


def loaded(options: RunOptions) -> tuple[float, ...]:
    """Loads of the figures over the load."""
    return QUICK_LOADS if options.quick else LOADS


def cells(loads: Sequence[float]) -> list[Cell]:
    """The eight curves of figures 3, 4, 6 and 7."""
    return [Cell(s, d, load) for load in loads for s in STRATEGIES for d in DISCIPLINES]


def curves(
    options: RunOptions,
    quantity: str,
    label: str,
    findings: Callable[[Campaign, Sequence[float]], Iterable[Finding]],
    *,
    named: float | None = None,
    log: bool = False,
) -> Outcome:
    """A quantity of the eight curves, at a load that the text names too, and what is said of it."""
    loads = sorted({*loaded(options), *(() if named is None else (named,))})
    found = campaign(cells(loads), options, what="curves over the load")
    table = found.cells()
    return Outcome(
        table, tuple(findings(found, loads)), lambda: plotting.curves(table, quantity, label, log=log)
    )


def run(options: RunOptions) -> Outcome:
    """Turnaround of the eight curves."""
    return curves(options, "turnaround", "mean turnaround [time units]", _findings, log=True)


def _findings(found: Campaign, loads: Sequence[float]) -> Iterator[Finding]:
    yield from _order(found, loads)
    yield from _pairs(found, loads)
    yield from _increase(found)
    yield from _disciplines(found, loads)


def _order(found: Campaign, loads: Sequence[float]) -> Iterator[Finding]:
    for (better, own), (worse, other) in pairwise(ORDER):
        yield everywhere(
            found,
            "B-16",
            f"{' and '.join(better)} ({own}) have shorter turnarounds than {' and '.join(worse)} "
            f"({other}), at every load",
            [
                (f"{a} to {b} at {x}", Cell(a, own, x), Cell(b, other, x))
                for x in loads
                for a in better
                for b in worse
            ],
        )


def _pairs(found: Campaign, loads: Sequence[float]) -> Iterator[Finding]:
    for (one, other), discipline in ORDER:
        gaps = {
            load: found.compare(Cell(one, discipline, load), Cell(other, discipline, load), relative=True)
            for load in loads
        }
        yield Finding(
            "B-16",
            f"{one}({discipline}) and {other}({discipline}) differ by less than {NEAR:.0%}, at every load",
            all_hold(within(c.difference, -NEAR, NEAR) for c in gaps.values()),
            _listed(gaps),
        )
        yield Finding(
            "B-23",
            f"{one}({discipline}) has a shorter turnaround than {other}({discipline}), as the "
            "printed order has it, at every load",
            all_below_zero(*(c.difference for c in gaps.values())),
            _listed(gaps),
        )


def _listed(gaps: dict[float, Comparison]) -> str:
    return ", ".join(f"{c.interval} at {load}" for load, c in gaps.items())


def _increase(found: Campaign) -> Iterator[Finding]:
    for load, (low, high) in BANDS.items():
        gap = found.compare(Cell("BL", "SSD", load), Cell("TBL", "SSD", load), relative=True)
        printed = published()["3 BL(SSD)", f"{load}"]
        yield Finding(
            "B-17",
            f"at load {load} BL(SSD) has a turnaround {low:+.0%} to {high:+.0%} of TBL(SSD)'s",
            within(gap.difference, low, high),
            f"{gap.interval}; paper {printed:+.0%}",
        )
        yield Finding(
            "B-17",
            f"at load {load} the increase is that of the paper, {printed:+.0%}",
            within(gap.difference, printed - 0.005, printed + 0.005),
            gap.interval,
        )


def _disciplines(found: Campaign, loads: Sequence[float]) -> Iterator[Finding]:
    for strategy in STRATEGIES:
        yield everywhere(
            found,
            "B-19",
            f"{strategy}: a shorter turnaround under SSD than under FCFS, at every load",
            by_discipline(strategy, loads),
        )


def by_discipline(strategy: str, loads: Sequence[float], side: int = SIDE) -> list[tuple[str, Cell, Cell]]:
    """Cells under SSD and under FCFS, for `everywhere`."""
    return [(f"load {x}", Cell(strategy, "SSD", x, side), Cell(strategy, "FCFS", x, side)) for x in loads]


EXPERIMENT = Experiment(
    name="bani-fig3",
    source=f"{SOURCE}, figure 3",
    claim="turning and SSD shorten turnarounds; busy lists do as well as arrays",
    run=run,
)
