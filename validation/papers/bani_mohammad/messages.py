"""What contiguity costs and buys when jobs send messages; a comparison of our own.

The paper ends a job after its demand, wherever it lies. Here it ends with its last message, under
wormhole routing on an 8 x 8 x 8 mesh with a plane of I/O nodes in the west, and on the torus of the
same size. A job that has to wait for a box pays for fragmentation; one that gets its nodes at once,
scattered, pays for contention. Both are times, and their sum is the turnaround.

Jobs ask for boxes of 1 to 6 nodes along each side, uniform. The contiguous strategies give just
these; the others give as many nodes anywhere. The rates of arrival are those at which the Hilbert
curve keeps 30 % and 60 % of the nodes busy, found by trial runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from validation.jobs import BoxStreams
from validation.machine import (
    AbstractJobTraffic,
    Machine,
    PatternTraffic,
    StrategyComparison,
    compare_strategies,
)
from validation.machine.loads import interarrival_for
from validation.mesh import Mesh, Sides
from validation.papers.bani_mohammad import plotting
from validation.papers.base import Experiment, Finding, Outcome, RunOptions, all_below_zero

if TYPE_CHECKING:
    import pandas as pd

SIDE, LONGEST, JOBS = 8, 6, 150
BOXES: Final = ("FF", "TFF", "TBF", "TBL")
SCATTERED: Final = ("MBS", "hilbert", "snake", "Paging", "Random")
#: The strategy whose utilisation the rates are chosen for.
MEASURE: Final = "hilbert"
TARGETS: Final = (0.3, 0.6)
REPLICATIONS: Final = 10
QUICK_SIDE, QUICK_LONGEST, QUICK_JOBS, QUICK_REPLICATIONS = 4, 3, 30, 2
#: Messages of 8 flits; so many rounds that patterns take times of one order.
TRAFFIC: Final[dict[str, AbstractJobTraffic]] = {
    "all-to-all": PatternTraffic("all-to-all"),
    "halo": PatternTraffic("halo", rounds=16),
    "write": PatternTraffic("write"),
}


@dataclass(frozen=True, eq=False)
class Point:
    """All strategies under one pattern at one rate."""

    pattern: str
    target: float
    interarrival: float
    runs: StrategyComparison


def run(options: RunOptions, *, torus: bool) -> Outcome:
    """Every pattern at both rates; without I/O on the torus, which has no side for it."""
    patterns = [name for name in TRAFFIC if not (torus and name == "write")]
    targets = TARGETS[:1] if options.quick else TARGETS
    found = []
    for pattern in patterns:
        for target in targets:
            found.append(_point(pattern, target, torus, options))
            options.progress("patterns and rates", len(found), len(patterns) * len(targets))
    table = _table(found)
    return Outcome(table, tuple(_findings(found)), lambda: plotting.prices(table))


def _point(pattern: str, target: float, torus: bool, options: RunOptions) -> Point:
    quick = options.quick
    side, longest = (QUICK_SIDE, QUICK_LONGEST) if quick else (SIDE, LONGEST)
    mesh = Mesh.of_sides((side,) * 3, torus=torus, io_side=None if torus else "west")
    machine = Machine(mesh=mesh, strategy=MEASURE, network="worm", traffic=TRAFFIC[pattern])
    streams = BoxStreams(
        mean_interarrival=1.0,
        within=Sides(longest, longest, longest),
        jobs=QUICK_JOBS if quick else JOBS,
        demand=None,
    )
    gap = interarrival_for(
        machine,
        streams,
        target,
        seed=options.seed,
        replications=2 if quick else 4,
        tolerance=0.1 if quick else 0.03,
        **options.by_processes,
    )
    runs = compare_strategies(
        machine,
        (*BOXES, *SCATTERED),
        streams.spaced(gap),
        replications=QUICK_REPLICATIONS if quick else REPLICATIONS,
        seed=options.seed,
        **options.by_processes,
    )
    return Point(pattern, target, gap, runs)


_KEPT: Final = ("wait", "service", "turnaround", "utilisation", "contention")


def _table(found: list[Point]) -> pd.DataFrame:
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for point in found:
        best = point.runs.best("turnaround")
        for name in point.runs.runs:
            row = {
                "pattern": point.pattern,
                "target_utilisation": point.target,
                "interarrival_cycles": point.interarrival,
                "strategy": name,
                "verdict": point.runs.compare(name, best, "turnaround").verdict,
            }
            rows.append(row | point.runs.row(name, dict.fromkeys(_KEPT, "")))
    return pd.DataFrame(rows)


def _findings(found: list[Point]) -> Iterator[Finding]:
    for point in found:
        where = f"{point.pattern}, {point.target:.0%} busy under {MEASURE}"
        for quantity, better, worse in (
            ("service", BOXES, SCATTERED),
            ("wait", SCATTERED, BOXES),
        ):
            gaps = {f"{a} to {b}": point.runs.compare(a, b, quantity) for a in better for b in worse}
            words = [gap.verdict for gap in gaps.values()]
            widest = max(gaps, key=lambda pair: abs(gaps[pair].mean))
            yield Finding(
                "B-24",
                f"{where}: each of {', '.join(better)} has a shorter {quantity} than each of "
                f"{', '.join(worse)}",
                all_below_zero(*(gap.difference for gap in gaps.values())),
                f"{words.count('better')} of {len(words)} pairs, {words.count('worse')} the other "
                f"way; widest {widest} {gaps[widest].interval} cycles",
            )
        gap = point.runs.compare("TFF", MEASURE, "turnaround", relative=True)
        yield Finding(
            "B-24",
            f"{where}: TFF has a shorter turnaround than {MEASURE}",
            all_below_zero(gap.difference),
            f"{gap.interval}; shortest: {', '.join(point.runs.leaders('turnaround'))}",
        )


def _experiment(name: str, torus: bool, place: str) -> Experiment:
    return Experiment(
        name=name,
        source="a comparison of our own; set-up after Bani-Mohammad and others, LNCS 4742 (2007)",
        claim=f"what contiguous allocation costs in waiting and saves in contention, on a {place}",
        run=partial(run, torus=torus),
    )


EXPERIMENTS: Final = (
    _experiment("boxes-mesh", False, "3-D mesh"),
    _experiment("boxes-torus", True, "3-D torus"),
)
