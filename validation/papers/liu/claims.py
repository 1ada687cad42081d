"""What the paper says about its figures: each sentence is checked on the runs of a campaign.

Makespans decide ("total simulating time"); the verdict on the mean time of a task, from its
submission to its end, stands beside it. A sentence that compares holds where the 95 % interval of
every paired difference lies on the side of zero that it says, fails where one lies on the other
side, and is undecided otherwise (where ranks decide, by bootstrap). Relative differences have the
interval of the delta method. Intervals are not widened for being many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import itemgetter

import numpy as np

from phasefit.arrays import Array
from validation.analysis.comparison import Comparison, compare, ratios, relative_differences
from validation.analysis.estimates import Estimate, estimate, plus_minus
from validation.analysis.seeding import stream as random_stream
from validation.papers.base import (
    FAILS,
    HOLDS,
    UNDECIDED,
    Finding,
    Verdict,
    all_above_zero,
    all_below_zero,
    whether,
)
from validation.papers.liu.campaign import Campaign, placed_at_once
from validation.papers.liu.setup import MUCH, RUNS, Variant

#: Quantities and what they are called; the first decides.
TIMES = {"makespan": "makespan", "turnaround": "mean task time"}
#: Relative range of a line that the specification still calls flat (L-22).
FLAT = 0.05
#: Share of the mesh that the first tasks get together, on the average (L-19).
PLACED = (0.55, 0.80)
#: The paper's range of "system utilisation"; what that is, it does not say.
BUSY = (0.60, 0.75)
INDEPENDENT = ("ind-BT", "ind-SBT", "ind-DBT")
DEPENDENT = ("d-BT", "d-SBT", "d-DBT")
CONTIGUOUS = ("BT", "SBT", "DBT")
IN_PIECES = (*INDEPENDENT, *DEPENDENT)
#: Bootstrap samples where ranks decide, and the seed of which runs are drawn for them.
RESAMPLES = 200
_RESAMPLING = 0


def placed(variants: Sequence[Variant], *, runs: int = RUNS, seed: int = 0) -> Finding:
    """L-19: whether the first tasks fill as much of the mesh as the specification expects."""
    shares = {v.label: float(placed_at_once(v, runs=runs, seed=seed).mean()) for v in variants}
    low, high = PLACED
    return Finding(
        "L-19",
        f"tasks placed at once fill {low:.0%} to {high:.0%} of the mesh on the average",
        whether(all(low <= share <= high for share in shares.values())),
        ", ".join(f"{label} {share:.1%}" for label, share in shares.items()) + f"; {runs} runs",
    )


def busy(found: Campaign) -> Finding:
    """L-19: whether the mesh is as busy over the time of a run as the paper says."""
    low, high = BUSY
    idlest, *_, busiest = sorted(
        (found.mean_of((v, c), "utilisation"), f"{v.label} at c = {c}") for v, c in found.runs
    )
    return Finding(
        "L-19",
        f"utilisation over the time of a run ranges from {low:.0%} to {high:.0%}",
        whether(low <= idlest[0] and busiest[0] <= high),
        f"{idlest[0]:.1%} ({idlest[1]}) to {busiest[0]:.1%} ({busiest[1]}), {len(found.runs)} cells",
    )


def flat(found: Campaign, algorithm: str) -> Finding:
    """L-22: with I/O alone the parameter makes little difference."""

    def level(quantity: str) -> tuple[Verdict, str]:
        means = [found.mean_of((v, 0), quantity) for v in found.of(algorithm)]
        spread = (max(means) - min(means)) / min(means)
        return whether(spread < FLAT), f"{spread:.1%}"

    return _decided(
        "L-22",
        f"{algorithm}: with I/O alone the line is flat, its relative range below {FLAT:.0%}",
        level,
    )


def lowest(found: Campaign, algorithm: str) -> Finding:
    """L-22: the line of I/O alone is "the last line down below", which tells what was measured."""

    def below_the_others(quantity: str) -> tuple[Verdict, str]:
        lines = {
            c: np.mean([found.values((v, c), quantity) for v in found.of(algorithm)], axis=0)
            for c in found.communications
        }
        gaps = [compare(lines[0], line) for c, line in lines.items() if c != 0]
        said = ", ".join(f"{line.mean():.1f} s at c = {c}" for c, line in lines.items())
        return all_below_zero(*(gap.difference for gap in gaps)), said

    return _decided("L-22", f"{algorithm}: the line of I/O alone is the lowest", below_the_others)


def falls(found: Campaign, algorithm: str, claim: str) -> Finding:
    """L-23, L-24: a larger parameter is faster where there is much communication."""
    much = [c for c in found.communications if c >= MUCH]

    def faster(quantity: str) -> tuple[Verdict, str]:
        slopes = {c: slope(found, algorithm, c, quantity) for c in much}
        ends = {c: last_to_first(found, algorithm, c, quantity) for c in much}
        verdict = all_below_zero(*slopes.values(), *ends.values())
        return verdict, f"{_by_c(slopes)} for each step, {_by_c(ends)} from first to last"

    return _decided(
        claim,
        f"{algorithm}: with {MUCH} communications or more a larger parameter is faster",
        faster,
    )


def rises(found: Campaign) -> Iterator[Finding]:
    """L-25: a larger ratio makes d-DBT slower, and the more so the more communication."""
    much = [c for c in found.communications if c >= MUCH]
    algorithm = "d-DBT"

    def slower(quantity: str) -> tuple[Verdict, str]:
        slopes = {c: slope(found, algorithm, c, quantity) for c in much}
        return all_above_zero(*slopes.values()), f"{_by_c(slopes)} for each step"

    def growing(quantity: str) -> tuple[Verdict, str]:
        first, *_, last = found.of(algorithm)
        penalty = [
            found.values((last, c), quantity) - found.values((first, c), quantity)
            for c in (much[0], much[-1])
        ]
        grows = compare(penalty[1], penalty[0]).difference
        return all_above_zero(grows), (
            f"{penalty[0].mean():+.3f} s at c = {much[0]}, {penalty[1].mean():+.3f} s at "
            f"c = {much[-1]}, {_plus_minus(grows, 3)} s more"
        )

    yield _decided(
        "L-25", f"{algorithm}: with {MUCH} communications or more a larger ratio is slower", slower
    )
    yield _decided("L-25", f"{algorithm}: the penalty of a large ratio grows with communication", growing)


def leads(found: Campaign) -> Iterator[Finding]:
    """L-26: DBT is fastest under heavy communication, by a margin that grows with it."""
    heaviest = found.communications[-1]
    for rival in ("d-DBT", "MBS", "PLAS"):

        def faster(quantity: str, rival: str = rival) -> tuple[Verdict, str]:
            here, there = found.best_of("DBT", quantity), found.best_of(rival, quantity)
            gap = _gap(found, here, there, heaviest, quantity)
            return all_below_zero(gap), f"{here.label} to {there.label} {_percent(gap)}"

        yield _decided("L-26", f"with {heaviest} communications DBT is faster than {rival}", faster)

    def growing(quantity: str) -> tuple[Verdict, str]:
        here = found.best_of("DBT", quantity)
        slopes = {
            rival: _advantage(found, here, found.best_of(rival, quantity), quantity)
            for rival in ("d-DBT", "MBS", "PLAS")
        }
        said = ", ".join(f"{_plus_minus(x, 4)} s over {rival}" for rival, x in slopes.items())
        return all_above_zero(*slopes.values()), f"{said} for each communication"

    yield _decided("L-26", "DBT's advantage grows with the number of communications", growing)


def robust(found: Campaign) -> Finding:
    """L-27: d-DBT has the best mean rank of the strategies in pieces."""
    every = tuple(dict.fromkeys(v.algorithm for v in found.variants))

    def best(quantity: str) -> tuple[Verdict, str]:
        verdict, share = _often(found, quantity, partial(_ranks_first, quantity=quantity))
        said, overall = (
            ", ".join(
                f"{name} {rank:.2f}"
                for name, rank in sorted(mean_ranks(found, names, quantity).items(), key=itemgetter(1))
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


def tolerant(found: Campaign) -> Iterator[Finding]:
    """L-28: SBT and DBT are faster than BT."""
    for name in ("SBT", "DBT"):

        def faster(quantity: str, name: str = name) -> tuple[Verdict, str]:
            here, (there,) = found.best_of(name, quantity), found.of("BT")
            gap = _over_all(found, [here], [there], quantity)
            each = {c: _gap(found, here, there, c, quantity) for c in found.communications}
            said = f"{here.label} {_percent(gap)} over all mixtures; {_by_c(each)}"
            return all_below_zero(gap), said

        yield _decided("L-28", f"{name} is faster than BT", faster)


def suited(found: Campaign) -> Iterator[Finding]:
    """L-29: pieces together suit DBT, pieces apart suit SBT."""
    for better, worse in (("d-DBT", "ind-DBT"), ("ind-SBT", "d-SBT")):

        def faster(quantity: str, better: str = better, worse: str = worse) -> tuple[Verdict, str]:
            gap = _over_all(found, found.of(better), found.of(worse), quantity)
            each = {c: _mean_gap(found, better, worse, c, quantity) for c in found.communications}
            said = f"{_percent(gap)} over all mixtures and parameters; {_by_c(each)}"
            return all_below_zero(gap), said

        yield _decided("L-29", f"{better} is faster than {worse}", faster)


def dominated(found: Campaign) -> Finding:
    """L-30: among the nine, SBT or DBT is fastest only where communication dominates."""

    def only(quantity: str) -> tuple[Verdict, str]:
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
    nine = [found.best_of(name, quantity) for name in (*CONTIGUOUS, *IN_PIECES)]
    return {
        c: min(nine, key=lambda v, c=c: found.mean_of((v, c), quantity))  # type: ignore[misc]
        for c in found.communications
    }


def _often(found: Campaign, quantity: str, holds: Callable[[Campaign], bool]) -> tuple[Verdict, str]:
    """Verdict on a statement without an interval: how often it holds for runs drawn anew."""
    drawn = random_stream(_RESAMPLING).integers(found.replications, size=(RESAMPLES, found.replications))
    times = {cell: found.values(cell, quantity)[drawn].mean(axis=1) for cell in found.runs}
    hits = sum(
        holds(Campaign.of_values({cell: {quantity: t[k : k + 1]} for cell, t in times.items()}))
        for k in range(RESAMPLES)
    )
    share = hits / RESAMPLES
    verdict: Verdict = HOLDS if share >= 0.975 else FAILS if share <= 0.025 else UNDECIDED
    seen = "true" if holds(found) else "false"
    return verdict, f"{seen} of the means, true in {share:.0%} of {RESAMPLES} resamples of the runs"


def slope(found: Campaign, algorithm: str, communications: int, quantity: str) -> Estimate:
    """Change of a quantity from one parameter to the next, as a fraction of the line's mean."""
    lines = np.array([found.values((v, communications), quantity) for v in found.of(algorithm)])
    steps = np.arange(len(lines)) - (len(lines) - 1) / 2.0
    trend = (steps / (steps @ steps)) @ lines
    return estimate(ratios(trend, lines.mean(axis=0)).tolist())


def last_to_first(found: Campaign, algorithm: str, communications: int, quantity: str) -> Estimate:
    """The largest parameter against the smallest, a relative difference."""
    first, *_, last = found.of(algorithm)
    return _gap(found, last, first, communications, quantity)


def mean_ranks(found: Campaign, algorithms: Sequence[str], quantity: str) -> dict[str, float]:
    """Mean over the mixtures of each algorithm's rank, each with its best parameter."""
    chosen = [found.best_of(name, quantity) for name in algorithms]
    means = np.array([[found.mean_of((v, c), quantity) for c in found.communications] for v in chosen])
    ranks = 1 + means.argsort(axis=0).argsort(axis=0)
    return dict(zip(algorithms, ranks.mean(axis=1).tolist(), strict=True))


def _advantage(found: Campaign, here: Variant, there: Variant, quantity: str) -> Estimate:
    """Slope over the communications of how much longer the second takes, seconds for each."""
    gaps = [
        found.values((there, c), quantity) - found.values((here, c), quantity) for c in found.communications
    ]
    steps = np.array(found.communications) - np.mean(found.communications)
    return estimate(((steps / (steps @ steps)) @ np.array(gaps)).tolist())


def _gap(found: Campaign, here: Variant, there: Variant, c: int, quantity: str) -> Estimate:
    """Relative difference of two variants at one mixture."""
    return found.compare((here, c), (there, c), quantity, relative=True).difference


def _over_all(found: Campaign, here: Sequence[Variant], there: Sequence[Variant], quantity: str) -> Estimate:
    """Relative difference at each mixture, averaged over mixtures and parameters."""
    gaps = [relative_differences(*_lines(found, here, there, c, quantity)) for c in found.communications]
    return estimate(np.mean(gaps, axis=0).tolist())


def _mean_gap(found: Campaign, here: str, there: str, c: int, quantity: str) -> Estimate:
    """Relative difference of two algorithms at one mixture, averaged over their parameters."""
    lines = _lines(found, found.of(here), found.of(there), c, quantity)
    return compare(*lines, relative=True).difference


def _lines(
    found: Campaign, here: Sequence[Variant], there: Sequence[Variant], c: int, quantity: str
) -> tuple[Array, Array]:
    """A quantity of every run, averaged over the variants of each side."""
    ours, theirs = (np.mean([found.values((v, c), quantity) for v in side], axis=0) for side in (here, there))
    return ours, theirs


def _decided(claim: str, sentence: str, judge: Callable[[str], tuple[Verdict, str]]) -> Finding:
    """A finding that the makespan decides, with the verdict on the other time beside it."""
    found = {words: judge(quantity) for quantity, words in TIMES.items()}
    detail = "; ".join(f"{words}: {verdict}, {said}" for words, (verdict, said) in found.items())
    return Finding(claim, sentence, found[TIMES["makespan"]][0], detail)


def _by_c(differences: dict[int, Estimate]) -> str:
    return ", ".join(f"c = {c}: {_percent(x)}" for c, x in differences.items())


def _percent(x: Estimate) -> str:
    return Comparison(x, relative=True).interval


def _plus_minus(x: Estimate, digits: int) -> str:
    return f"{x.mean:+.{digits}f}{plus_minus(x.half_width, f'.{digits}f')}"
