"""What the paper says about its figures: each sentence is checked on the runs of a sweep.

A sentence that compares balancers holds where the 95 % interval of every paired difference over the
seeds lies on the side of zero that it says, fails where one lies on the other side, and is
undecided otherwise. Intervals are not widened for being many.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from validation.analysis.comparison import compare
from validation.analysis.estimates import Estimate, estimate, plus_minus
from validation.papers.base import Finding, all_above_zero, all_below_zero, all_hold, whether, within
from validation.papers.qin.campaign import Sweep, X

#: Q-9: loads of the disks below which a batch system should be ahead, and above which behind.
CROSSOVER: Final = (0.95, 1.05)
#: Q-12: bands of the specification for the largest ratio of a slowdown to that of IOCM-PM, and what
#: the paper says.
BANDS: Final = {"IOCM-RE": (1.2, 4.0), "memory": (1.3, 4.0), "CPU": (1.3, 4.0)}
PRINTED: Final = {"IOCM-RE": 2.128, "memory": 2.426, "CPU": 2.461}
#: Q-11, set before the first run: "about the same" is within this factor, "much less" below it.
ALIKE, MUCH_LESS = 1.3, 2.0 / 3.0
#
LEAST_GAIN, LU_GAIN, SAME_GAIN, NO_LOSS = 0.15, 0.6, 0.10, 0.05


def rise(found: Sweep, claim: str, balancers: Sequence[str]) -> Iterator[Finding]:
    """Slowdowns rise along the axis: the mean slope over the seeds is positive."""
    for name in balancers:
        slope = estimate(found.slope(name).tolist())
        yield Finding(
            claim,
            f"{name}: the mean slowdown rises with the {found.axis}",
            all_above_zero(slope),
            f"slope {_number(slope)}; {found.mean_of((found.xs[0], name)):.3g} at {found.xs[0]:g} to "
            f"{found.mean_of((found.xs[-1], name)):.3g} at {found.xs[-1]:g}",
        )


def lowest(found: Sweep, claim: str, best: str, rivals: Sequence[str]) -> Iterator[Finding]:
    """One balancer is better than each rival, on average along the axis and at every point."""
    for rival in rivals:
        gaps = [found.gap(x, best, rival) for x in found.xs]
        over_all = np.mean([found.values((x, best)) for x in found.xs], axis=0)
        theirs = np.mean([found.values((x, rival)) for x in found.xs], axis=0)
        whole = compare(over_all, theirs, relative=True)
        counts = {word: sum(gap.verdict == word for gap in gaps) for word in ("better", "worse")}
        yield Finding(
            claim,
            f"{best} has a lower mean slowdown than {rival}, averaged along the axis",
            all_below_zero(whole.difference),
            whole.interval,
        )
        yield Finding(
            claim,
            f"{best} has a lower mean slowdown than {rival} at every point",
            all_below_zero(*(gap.difference for gap in gaps)),
            f"better at {counts['better']}, worse at {counts['worse']} of {len(gaps)} points; "
            f"{gaps[0].interval} at the first, {gaps[-1].interval} at the last",
        )


def more_parallel(few: Sweep, many: Sweep, balancers: Sequence[str]) -> Iterator[Finding]:
    """Q-10: more parallel jobs make all slower."""
    for name in balancers:
        gaps = [compare(few.values((x, name)), many.values((x, name)), relative=True) for x in few.xs]
        yield Finding(
            "Q-10",
            f"{name}: slower with 60 % than with 30 % of parallel jobs, at every rate",
            all_below_zero(*(gap.difference for gap in gaps)),
            f"30 % against 60 %: {gaps[0].interval} at {few.xs[0]:g}, {gaps[-1].interval} at {few.xs[-1]:g}",
        )


def crossover(found: Sweep, load: float) -> Finding:
    """Q-9: the specification's bound on where the paper's sentence is true, for sequential jobs."""
    gaps = {load * float(x): found.gap(x, "BS", "IOCM-RE") for x in found.xs}
    return Finding(
        "Q-9",
        f"BS is ahead where the load of the disks is below {CROSSOVER[0]}, IOCM-RE above {CROSSOVER[1]}",
        all_hold(
            [
                all_below_zero(*(g.difference for at, g in gaps.items() if at < CROSSOVER[0])),
                all_above_zero(*(g.difference for at, g in gaps.items() if at > CROSSOVER[1])),
            ]
        ),
        "BS is " + ", ".join(f"{gap.verdict} at {at:.2f}" for at, gap in gaps.items()),
    )


def wider_gap(sequential: Sweep, parallel: Sweep) -> Finding:
    """Q-9: the batch system is further behind where there are parallel jobs."""
    gaps = []
    for x in sequential.xs:
        alone, together = (
            np.log(found.values((x, "BS")) / found.values((x, "IOCM-RE"))) for found in (sequential, parallel)
        )
        gaps.append(compare(alone, together).difference)
    factors = [math.exp(-gap.mean) for gap in gaps]
    return Finding(
        "Q-9",
        "the slowdown of BS over that of IOCM-RE is larger with 30 % of parallel jobs",
        all_below_zero(*gaps),
        f"by factors of {min(factors):.3g} to {max(factors):.3g} (geometric means)",
    )


def memory_pays(found: Sweep) -> Iterator[Finding]:
    """Q-11: where pages are short, who looks at memory is far ahead."""
    last = found.xs[-1]

    def factor(one: str, other: str) -> Estimate:
        logs = np.log(found.values((last, one)) / found.values((last, other)))
        return estimate(logs.tolist())

    for one in ("IOCM-RE", "memory"):
        for other in ("CPU", "NLB"):
            known = factor(one, other)
            below = math.log(MUCH_LESS)
            yield Finding(
                "Q-11",
                f"{one} has a lower slowdown than {other} at {last:g} page faults per million "
                f"instructions (geometric means over the seeds)",
                all_below_zero(known),
                _factor(known),
            )
            yield Finding(
                "Q-11",
                f"{one} has less than {MUCH_LESS:.2f} times the slowdown of {other} at {last:g} "
                f"page faults per million instructions (geometric means over the seeds)",
                within(known, -math.inf, below),
                _factor(known),
            )
    known = factor("IOCM-RE", "memory")
    inside = math.log(ALIKE)
    yield Finding(
        "Q-11",
        f"IOCM-RE and memory are alike at {last:g} page faults: within a factor of {ALIKE}",
        within(known, -inside, inside),
        _factor(known),
    )


def preemption_pays(found: Sweep) -> Iterator[Finding]:
    """Q-12: how far IOCM-PM is ahead at most."""
    for rival, (low, high) in BANDS.items():
        at = max(found.xs, key=lambda x: found.gain(x, "IOCM-PM", rival).mean)
        known = found.gain(at, "IOCM-PM", rival)
        ratio = 1.0 + known.mean
        yield Finding(
            "Q-12",
            f"the largest slowdown of {rival} over that of IOCM-PM is between {low:g} and {high:g}",
            within(known, low - 1.0, high - 1.0),
            f"{ratio:.3f} at {at:g}, interval {1 + known.low:.2f} to {1 + known.high:.2f}",
        )
        yield Finding(
            "Q-12",
            f"IOCM-PM improves on {rival} by up to {100 * (PRINTED[rival] - 1):.1f} %, as printed",
            whether(known.low <= PRINTED[rival] - 1.0 <= known.high),
            f"up to {100 * known.mean:.1f} % at {at:g}",
        )


def least_sensitive(found: Sweep) -> Iterator[Finding]:
    """Q-17: the slowdown of IOCM-PM rises least."""
    for rival in ("IOCM-RE", "memory", "CPU"):
        gap = compare(found.slope("IOCM-PM"), found.slope(rival)).difference
        yield Finding(
            "Q-17",
            f"the slowdown of IOCM-PM rises less with the rate than that of {rival}",
            all_below_zero(gap),
            f"slopes differ by {_number(gap)}",
        )


def gains_of(found: Sweep, balancer: str) -> dict[str, Estimate]:
    """What a balancer takes off the slowdown of the better of CPU and memory, by application."""
    gains = {}
    for app in found.xs:
        other = min(("CPU", "memory"), key=lambda name: found.mean_of((app, name)))
        gap = found.gap(app, balancer, other).difference
        gains[str(app)] = Estimate(-gap.mean, gap.half_width, gap.confidence, gap.replications)
    return gains


def applications(found: Sweep) -> Iterator[Finding]:
    """Q-13, Q-14, Q-15: one application at a time."""
    for balancer in ("IOCM-RE", "IOCM-PM"):
        gains = gains_of(found, balancer)
        said = ", ".join(f"{app} {_number(gain)}" for app, gain in gains.items())
        others = {app: gain for app, gain in gains.items() if app != "LU"}
        least = min(others, key=lambda app: others[app].mean)
        yield Finding(
            "Q-13",
            f"{balancer} gains on the schemes blind to I/O in every application",
            all_above_zero(*gains.values()),
            said,
        )
        yield Finding(
            "Q-13",
            f"{balancer} gains more than {LEAST_GAIN} in all applications but LU",
            all_hold(within(g, LEAST_GAIN, math.inf) for g in others.values()),
            said,
        )
        lu = gains["LU"]
        ratio = lu.mean / others[least].mean
        # what LU gains less than the others, with both their intervals
        short = (
            replace(g, mean=LU_GAIN * g.mean - lu.mean, half_width=LU_GAIN * g.half_width + lu.half_width)
            for g in others.values()
        )
        yield Finding(
            "Q-13",
            f"{balancer} gains least in LU: less than {LU_GAIN} of the smallest other",
            all_above_zero(*short),
            f"LU {_number(lu)}, {ratio:.2f} of {least}",
        )
    for app in found.xs:
        yield _as_fast("Q-14", found, app, "IOCM-PM", "IOCM-RE", SAME_GAIN, f"{app}: ")
    for name in found.balancers:
        gaps = [
            compare(found.values((app, name)), found.values(("LU", name))).difference
            for app in found.xs
            if app != "LU"
        ]
        yield Finding(
            "Q-15",
            f"{name}: the slowdown of LU is the largest",
            all_below_zero(*gaps),
            ", ".join(f"{app} {found.mean_of((app, name)):.3g}" for app in found.xs),
        )


def no_loss(found: Sweep) -> Iterator[Finding]:
    """Q-16: without I/O to balance, IOCM-RE loses nothing."""
    for x in found.xs:
        where = f"{float(x):.0%} parallel: with hardly any I/O, "
        yield _as_fast("Q-16", found, x, "IOCM-RE", "CPU", NO_LOSS, where)


def _as_fast(claim: str, found: Sweep, x: X, one: str, other: str, margin: float, where: str) -> Finding:
    """One balancer is as fast as another at a point, but for a margin."""
    gap = found.gap(x, one, other)
    verdict = within(gap.difference, -margin, margin)
    return Finding(claim, f"{where}{one} is within {margin:.0%} of {other}", verdict, gap.interval)


def _number(known: Estimate) -> str:
    return f"{known.mean:+.3g}{plus_minus(known.half_width)}"


def _factor(known: Estimate) -> str:
    """A difference of logarithms as a factor with its interval."""
    if not math.isfinite(known.half_width):
        return f"{math.exp(known.mean):.3g}{plus_minus(known.half_width)}"
    low, middle, high = (math.exp(x) for x in (known.low, known.mean, known.high))
    return f"{middle:.3g}, interval {low:.3g} to {high:.3g}"
