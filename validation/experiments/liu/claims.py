"""What the paper says about its figures: each sentence is checked on the runs of a campaign.

Makespans decide ("total simulating time"); the verdict on the mean time of a task, from its
submission to its end, stands beside it. A verdict is "yes" where the 95 % interval of every
paired difference lies on the side of zero that the sentence says, "no" where one lies on the other
side, and "undecided" otherwise (where ranks decide, by bootstrap); only "yes" makes a finding hold.
Intervals are not widened for being many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from validation.analysis.estimates import Estimate, estimate
from validation.experiments.base import Finding
from validation.experiments.liu.campaign import Campaign, placed_at_once, relative
from validation.experiments.liu.setup import MUCH, RUNS, Variant

Array = NDArray[np.float64]

#: Quantities and what they are called; the first decides.
TIMES = {"makespan": "makespan", "turnaround": "mean task time"}
#: Relative range of a line that the specification still calls flat (L-22).
FLAT = 0.05
#: Share of the mesh that the first tasks get together, on the average (L-19).
PLACED = (0.55, 0.80)
#: The paper's range of "system utilisation"; what that is, it does not say.
BUSY = (0.60, 0.75)
YES, NO, UNDECIDED = "yes", "no", "undecided"
INDEPENDENT = ("ind-BT", "ind-SBT", "ind-DBT")
DEPENDENT = ("d-BT", "d-SBT", "d-DBT")
CONTIGUOUS = ("BT", "SBT", "DBT")
IN_PIECES = (*INDEPENDENT, *DEPENDENT)
#: Bootstrap samples where ranks decide.
RESAMPLES = 200


@dataclass(frozen=True)
class Judgement(Finding):
    """A finding that may also be undecided, which does not hold either."""

    verdict: str


def placed(variants: Sequence[Variant], *, runs: int = RUNS, seed: int = 0) -> Finding:
    """L-19: whether the first tasks fill as much of the mesh as the specification expects."""
    shares = {v.label: float(placed_at_once(v, runs=runs, seed=seed).mean()) for v in variants}
    low, high = PLACED
    return Finding(
        "L-19",
        f"tasks placed at once fill {low:.0%} to {high:.0%} of the mesh on the average",
        all(low <= share <= high for share in shares.values()),
        ", ".join(f"{label} {share:.1%}" for label, share in shares.items()) + f"; {runs} runs",
    )


def busy(found: Campaign) -> Finding:
    """L-19: whether the mesh is as busy over the time of a run as the paper says."""
    low, high = BUSY
    least, *_, most = sorted(
        (found.mean(v, c, "utilisation"), f"{v.label} at c = {c}") for v, c in found.cells
    )
    return Finding(
        "L-19",
        f"utilisation over the time of a run ranges from {low:.0%} to {high:.0%}",
        low <= least[0] and most[0] <= high,
        f"{least[0]:.1%} ({least[1]}) to {most[0]:.1%} ({most[1]}), {len(found.cells)} cells",
    )


def flat(found: Campaign, algorithm: str) -> Judgement:
    """L-22: with I/O alone the parameter makes little difference."""

    def level(quantity: str) -> tuple[str, str]:
        means = [found.mean(v, 0, quantity) for v in found.of(algorithm)]
        spread = (max(means) - min(means)) / min(means)
        return _whether(spread < FLAT), f"{spread:.1%}"

    return _decided(
        "L-22",
        f"{algorithm}: with I/O alone the line is flat, its relative range below {FLAT:.0%}",
        level,
    )


def lowest(found: Campaign, algorithm: str) -> Judgement:
    """L-22: the line of I/O alone is "the last line down below", which tells what was measured."""

    def last(quantity: str) -> tuple[str, str]:
        levels = {
            c: float(np.mean([found.mean(v, c, quantity) for v in found.of(algorithm)]))
            for c in found.communications
        }
        said = ", ".join(f"{level:.1f} s at c = {c}" for c, level in levels.items())
        return _whether(min(levels, key=levels.__getitem__) == 0), said

    return _decided("L-22", f"{algorithm}: the line of I/O alone is the lowest", last)


def falls(found: Campaign, algorithm: str, claim: str) -> Judgement:
    """L-23, L-24: a larger parameter is faster where there is much communication."""
    much = [c for c in found.communications if c >= MUCH]

    def faster(quantity: str) -> tuple[str, str]:
        slopes = {c: slope(found, algorithm, c, quantity) for c in much}
        ends = {c: last_to_first(found, algorithm, c, quantity) for c in much}
        return below(
            *slopes.values(), *ends.values()
        ), f"{_by_c(slopes)} for each step, {_by_c(ends)} from first to last"

    return _decided(
        claim, f"{algorithm}: with {MUCH} communications or more a larger parameter is faster",
        faster,
    )  # fmt: skip


def rises(found: Campaign) -> Iterator[Judgement]:
    """L-25: a larger ratio makes d-DBT slower, and the more so the more communication."""
    much = [c for c in found.communications if c >= MUCH]
    algorithm = "d-DBT"

    def slower(quantity: str) -> tuple[str, str]:
        slopes = {c: slope(found, algorithm, c, quantity) for c in much}
        return above(*slopes.values()), f"{_by_c(slopes)} for each step"

    def growing(quantity: str) -> tuple[str, str]:
        first, *_, last = found.of(algorithm)
        penalty = [
            found.values(last, c, quantity) - found.values(first, c, quantity)
            for c in (much[0], much[-1])
        ]
        grows = estimate((penalty[1] - penalty[0]).tolist())
        return above(grows), (
            f"{penalty[0].mean():+.3f} s at c = {much[0]}, {penalty[1].mean():+.3f} s at "
            f"c = {much[-1]}, {_pm(grows, 3)} s more"
        )

    yield _decided(
        "L-25", f"{algorithm}: with {MUCH} communications or more a larger ratio is slower", slower
    )
    yield _decided("L-25", f"{algorithm}: the penalty of a large ratio grows with communication",
                   growing)  # fmt: skip


def leads(found: Campaign) -> Iterator[Judgement]:
    """L-26: DBT is fastest under heavy communication, by a margin that grows with it."""
    most = found.communications[-1]
    for rival in ("d-DBT", "MBS", "PLAS"):

        def faster(quantity: str, rival: str = rival) -> tuple[str, str]:
            here, there = found.best("DBT", quantity), found.best(rival, quantity)
            gap = relative(found.values(here, most, quantity), found.values(there, most, quantity))
            return below(gap), f"{here.label} to {there.label} {_pm(gap)} %"

        yield _decided("L-26", f"with {most} communications DBT is faster than {rival}", faster)

    def growing(quantity: str) -> tuple[str, str]:
        here = found.best("DBT", quantity)
        slopes = {
            rival: _advantage(found, here, found.best(rival, quantity), quantity)
            for rival in ("d-DBT", "MBS", "PLAS")
        }
        said = ", ".join(f"{_pm(x, 4)} s over {rival}" for rival, x in slopes.items())
        return above(*slopes.values()), f"{said} for each communication"

    yield _decided("L-26", "DBT's advantage grows with the number of communications", growing)


def robust(found: Campaign) -> Judgement:
    """L-27: d-DBT has the best mean rank of the strategies in pieces."""
    every = tuple(dict.fromkeys(v.algorithm for v in found.variants))

    def best(quantity: str) -> tuple[str, str]:
        verdict, share = _often(found, quantity, partial(_ranks_first, quantity=quantity))
        said, overall = (
            ", ".join(
                f"{name} {rank:.2f}"
                for name, rank in sorted(mean_ranks(found, names, quantity).items(), key=_second)
            )
            for names in (IN_PIECES, every)
        )
        return verdict, f"{share}; {said}; among all: {overall}"

    return _decided(
        "L-27",
        "d-DBT has the best mean rank over the mixtures among the strategies in pieces",
        best,
    )


def _ranks_first(found: Campaign, quantity: str) -> bool:
    ranks = mean_ranks(found, IN_PIECES, quantity)
    return min(ranks, key=ranks.__getitem__) == "d-DBT"


def tolerant(found: Campaign) -> Iterator[Judgement]:
    """L-28: SBT and DBT are faster than BT."""
    for name in ("SBT", "DBT"):

        def faster(quantity: str, name: str = name) -> tuple[str, str]:
            here, (there,) = found.best(name, quantity), found.of("BT")
            gap = _over_all(found, [here], [there], quantity)
            each = {
                c: relative(found.values(here, c, quantity), found.values(there, c, quantity))
                for c in found.communications
            }
            return below(gap), f"{here.label} {_pm(gap)} % over all mixtures; {_by_c(each)}"

        yield _decided("L-28", f"{name} is faster than BT", faster)


def suited(found: Campaign) -> Iterator[Judgement]:
    """L-29: pieces together suit DBT, pieces apart suit SBT."""
    for better, worse in (("d-DBT", "ind-DBT"), ("ind-SBT", "d-SBT")):

        def faster(quantity: str, better: str = better, worse: str = worse) -> tuple[str, str]:
            gap = _over_all(found, found.of(better), found.of(worse), quantity)
            each = {c: _mean_gap(found, better, worse, c, quantity) for c in found.communications}
            return below(gap), f"{_pm(gap)} % over all mixtures and parameters; {_by_c(each)}"

        yield _decided("L-29", f"{better} is faster than {worse}", faster)


def dominated(found: Campaign) -> Judgement:
    """L-30: among the nine, SBT or DBT is fastest only where communication dominates."""

    def only(quantity: str) -> tuple[str, str]:
        verdict, share = _often(found, quantity, partial(_leads_late_only, quantity=quantity))
        first = _fastest(found, quantity)
        said = ", ".join(f"{v.label} at c = {c}" for c, v in first.items())
        return verdict, f"{share}; {said}"

    return _decided(
        "L-30",
        "of the nine tree strategies SBT or DBT is fastest only where communication dominates",
        only,
    )


def _leads_late_only(found: Campaign, quantity: str) -> bool:
    """Never again lost once won, won at the last mixture and not at the first."""
    wins = [v.algorithm in ("SBT", "DBT") for v in _fastest(found, quantity).values()]
    return wins == sorted(wins) and wins[-1] and not wins[0]


def _fastest(found: Campaign, quantity: str) -> dict[int, Variant]:
    """Fastest of the nine, each with its best parameter, at each number of communications."""
    nine = [found.best(name, quantity) for name in (*CONTIGUOUS, *IN_PIECES)]
    return {
        c: min(nine, key=lambda v, c=c: found.mean(v, c, quantity))  # type: ignore[misc]
        for c in found.communications
    }


def _often(found: Campaign, quantity: str, holds: Callable[[Campaign], bool]) -> tuple[str, str]:
    """Verdict on a statement without an interval: how often it holds for runs drawn anew."""
    drawn = np.random.default_rng(0).integers(found.runs, size=(RESAMPLES, found.runs))
    times = {cell: values[quantity][drawn].mean(axis=1) for cell, values in found.cells.items()}
    hits = sum(
        holds(
            replace(
                found, runs=1, cells={cell: {quantity: t[k : k + 1]} for cell, t in times.items()}
            )
        )
        for k in range(RESAMPLES)
    )
    share = hits / RESAMPLES
    word = YES if share >= 0.975 else NO if share <= 0.025 else UNDECIDED
    seen = "holds" if holds(found) else "fails"
    return word, f"{seen}, and holds in {share:.0%} of {RESAMPLES} resamples of the runs"


def below(*differences: Estimate) -> str:
    """Whether all of them are below zero: yes, no, or undecided."""
    if all(x.high < 0 for x in differences):
        return YES
    return NO if any(x.low > 0 for x in differences) else UNDECIDED


def above(*differences: Estimate) -> str:
    """Whether all of them are above zero: yes, no, or undecided."""
    if all(x.low > 0 for x in differences):
        return YES
    return NO if any(x.high < 0 for x in differences) else UNDECIDED


def slope(found: Campaign, algorithm: str, communications: int, quantity: str) -> Estimate:
    """Change of a quantity from one parameter to the next, in per cent of the line's mean."""
    lines = [found.values(v, communications, quantity) for v in found.of(algorithm)]
    steps = np.arange(len(lines)) - (len(lines) - 1) / 2.0
    trend = (steps / (steps @ steps)) @ np.array(lines)
    return estimate((trend * (100.0 / np.mean(lines))).tolist())


def last_to_first(found: Campaign, algorithm: str, communications: int, quantity: str) -> Estimate:
    """The largest parameter against the smallest, in per cent."""
    first, *_, last = found.of(algorithm)
    return relative(
        found.values(last, communications, quantity), found.values(first, communications, quantity)
    )


def mean_ranks(found: Campaign, algorithms: Sequence[str], quantity: str) -> dict[str, float]:
    """Mean over the mixtures of each algorithm's rank, each with its best parameter."""
    chosen = [found.best(name, quantity) for name in algorithms]
    means = np.array([[found.mean(v, c, quantity) for c in found.communications] for v in chosen])
    ranks = 1 + means.argsort(axis=0).argsort(axis=0)
    return dict(zip(algorithms, ranks.mean(axis=1).tolist(), strict=True))


def _advantage(found: Campaign, here: Variant, there: Variant, quantity: str) -> Estimate:
    """Slope over the communications of how much longer the second takes, seconds for each."""
    gaps = [
        found.values(there, c, quantity) - found.values(here, c, quantity)
        for c in found.communications
    ]
    steps = np.array(found.communications) - np.mean(found.communications)
    return estimate(((steps / (steps @ steps)) @ np.array(gaps)).tolist())


def _over_all(
    found: Campaign, here: Sequence[Variant], there: Sequence[Variant], quantity: str
) -> Estimate:
    """Paired difference, per cent at each mixture, averaged over mixtures and parameters."""
    gaps = []
    for c in found.communications:
        ours, theirs = (
            np.mean([found.values(v, c, quantity) for v in side], axis=0) for side in (here, there)
        )
        gaps.append((ours - theirs) * (100.0 / theirs.mean()))
    return estimate(np.mean(gaps, axis=0).tolist())


def _mean_gap(found: Campaign, here: str, there: str, c: int, quantity: str) -> Estimate:
    """Paired difference of two algorithms at one mixture, averaged over their parameters."""
    sides = [
        np.mean([found.values(v, c, quantity) for v in found.of(name)], axis=0)
        for name in (here, there)
    ]
    return relative(*sides)


def _decided(claim: str, sentence: str, verdict: Callable[[str], tuple[str, str]]) -> Judgement:
    """A finding that the makespan decides, with the verdict on the other time beside it."""
    found = {words: verdict(quantity) for quantity, words in TIMES.items()}
    detail = "; ".join(f"{words}: {word}, {said}" for words, (word, said) in found.items())
    first = found[TIMES["makespan"]][0]
    return Judgement(claim, sentence, first == YES, detail, first)


def _whether(holds: bool) -> str:
    return YES if holds else NO


def _by_c(estimates: dict[int, Estimate]) -> str:
    return ", ".join(f"c = {c}: {_pm(x)} %" for c, x in estimates.items())


def _pm(x: Estimate, digits: int = 1) -> str:
    return f"{x.mean:+.{digits}f} ± {x.half_width:.{digits}f}"


def _second(pair: tuple[str, float]) -> float:
    return pair[1]
