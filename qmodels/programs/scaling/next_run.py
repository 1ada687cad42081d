"""Choice of the next run: the one that leaves the least doubt about the times asked for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from phasefit.arrays import Array
from phasefit.records import Drawing, Result
from qmodels.errors import ModelError
from qmodels.programs.scaling.discrepancy import Margin, doublings_outside
from qmodels.programs.scaling.identifiability import Design
from qmodels.programs.scaling.measured import SHORTEST
from qmodels.programs.scaling.posterior import Posterior
from qmodels.words import counted

if TYPE_CHECKING:
    import pandas as pd

Ranking = Literal["reduction", "per core-second"]

RANKINGS = ("reduction", "per core-second")

_OUTCOMES = 100  # simulated for each candidate
_RESAMPLED = 200  # programs drawn again after each outcome
_FACTOR = 1.5  # from here on an error is told as a factor, for it is not as far to both sides
_LIKELY = 0.1  # posterior probability at which a growing term asks for a run of its own


@dataclass(frozen=True, eq=False)
class NextRun(Result):
    """Candidate runs, the most useful first.

    Parameters
    ----------
    processors, disks : (n,) ndarray
        The allotments.
    core_seconds : (n,) ndarray
        Processors times the predicted seconds of the run, its cost.
    remaining : (n,) numpy.ma.MaskedArray
        Expected variance of log T at the targets after the run, averaged over them; masked
        where the runs do not decide it yet.
    settles : (n,) ndarray of int
        How many of the targets become identifiable by this run that are not so now.
    variance : float
        What `remaining` compares with: the variance of log T now, inf where the runs do not
        decide some target.
    advice : str
        A sentence for whoever will do the run.
    """

    drawing = Drawing("core_seconds", "remaining_variance", log="x")

    processors: Array
    disks: Array
    core_seconds: Array
    remaining: np.ma.MaskedArray[Any, Any]
    settles: NDArray[np.intp]
    variance: float
    advice: str
    method: str = "approximate"  #: how good the answer is

    @property
    def best(self) -> tuple[float, float]:
        """(p, d) of the most useful run."""
        return float(self.processors[0]), float(self.disks[0])

    def to_frame(self) -> pd.DataFrame:
        """Return a row per candidate, the most useful first."""
        import pandas as pd

        left = pd.Series(self.remaining.tolist(), dtype="Float64")
        return pd.DataFrame(
            {
                **self._by_name("processors", "disks", "core_seconds"),
                "remaining_variance": left,
                "settles": self.settles,
            }
        )

    def table(self) -> str:
        """Return the advice and a line per candidate as text."""
        head = ("processors", "disks", "core-seconds", "error after it")
        lines = [self.advice, "".join(f"{word:>16}" for word in head)]
        hidden = np.ma.getmaskarray(self.remaining)
        for i in range(self.processors.size):
            left = "-" if hidden[i] else _factor_text(float(self.remaining.data[i]))
            cells = (
                f"{self.processors[i]:g}",
                f"{self.disks[i]:g}",
                f"{self.core_seconds[i]:.4g}",
                left,
            )
            lines.append("".join(f" {cell:>15}" for cell in cells))
        return "\n".join(lines)


def rank_runs(
    posteriors: Sequence[Posterior],
    designs: Sequence[Design],
    candidates: Array,
    targets: Array,
    *,
    budget: float | None,
    by: Ranking,
    margin: Margin,
    seed: int,
    work: float | None = None,
) -> NextRun:
    """Return candidate runs by what they tell about targets; see `FittedProgram.next_run`.

    Parameters
    ----------
    posteriors : sequence of Posterior
        Laws of each burst.
    designs : sequence of Design
        Allotments on which each burst was timed.
    candidates : (n, 2) ndarray
        Runs that could be done.
    targets : (m, 2) ndarray
        Where the prediction matters.
    budget : float or None
        Most core-seconds that the run may cost.
    by : {"reduction", "per core-second"}
        What to rank by.
    margin : Margin
        Added to the laws.
    seed : int
        Of the draws.
    work : float, optional
        Size of the problem that the laws are of, in the unit of the runs; only said.

    Raises
    ------
    ModelError
        If no candidate can be paid.
    """
    cost = candidates[:, 0] * _typical_time(posteriors, designs, candidates)
    if budget is not None:
        affordable = cost <= budget
        if not affordable.any():
            at = int(np.argmin(cost))
            raise ModelError(
                f"no candidate costs at most {budget:.6g} core-seconds; the cheapest, "
                f"p = {candidates[at, 0]:g} and d = {candidates[at, 1]:g}, takes "
                f"{cost[at]:.4g}"
            )
        candidates, cost = candidates[affordable], cost[affordable]
    decided = _decided(designs, targets)
    after = np.array(
        [_decided([_design_with(one, run) for one in designs], targets).sum() for run in candidates]
    )
    settles = after - int(decided.sum())
    if decided.all():
        variance, left = _variances(posteriors, designs, candidates, targets, margin, seed)
        untold = ~_decided(designs, candidates)  # how much such a run tells is for the prior to say alone
        left = np.where(untold, variance, left)
        gain = variance - left
        order = np.argsort(-(gain if by == "reduction" else gain / cost), kind="stable")
        remaining = np.ma.MaskedArray(left, mask=untold)
    else:
        # The prior must not decide what these runs cannot: first the runs that make it known,
        # then, of those, the ones nearest to what is asked for.
        variance = np.inf
        away = np.abs(np.log2(candidates[:, None] / targets[None])).sum(axis=2).mean(axis=1)
        order = np.lexsort((cost, away if by == "reduction" else cost, -settles))
        remaining = np.ma.MaskedArray(np.full(cost.shape, np.nan), mask=True)
    ranked = NextRun(
        candidates[order, 0],
        candidates[order, 1],
        cost[order],
        remaining[order],
        settles[order],
        float(variance),
        "",
    )
    return replace(ranked, advice=_advice(ranked, posteriors, designs, work))


def _design_with(design: Design, run: Array) -> Design:
    return Design(design.library, np.append(design.p, run[0]), np.append(design.d, run[1]))


def _decided(designs: Sequence[Design], points: Array) -> NDArray[np.bool_]:
    return np.asarray(np.all([one.known(points[:, 0], points[:, 1]) for one in designs], axis=0))


def _typical_time(posteriors: Sequence[Posterior], designs: Sequence[Design], runs: Array) -> Array:
    """Seconds (n,) by the law in the middle; the median of the longest allowed where runs do not decide."""
    middle = np.sum([one.seconds(runs[:, 0], runs[:, 1]) for one in posteriors], axis=0)
    total = np.zeros((len(posteriors[0].sigmas), len(runs)))
    for posterior, design in zip(posteriors, designs, strict=True):
        total = total + np.maximum.reduce(
            [
                posterior.draws @ posterior.library.values(p, d) * most
                for p, d, _, most in design.stand_ins(runs[:, 0], runs[:, 1])
            ]
        )
    return np.where(_decided(designs, runs), middle, np.median(total, axis=0))


def _variances(
    posteriors: Sequence[Posterior],
    designs: Sequence[Design],
    candidates: Array,
    targets: Array,
    margin: Margin,
    seed: int,
) -> tuple[float, Array]:
    """Variance of log T averaged over the targets, now and after each candidate run."""
    rng = np.random.default_rng([seed, len(candidates)])
    points = np.concatenate([candidates, targets]).T
    times = [np.maximum(one.draws @ one.library.values(*points), SHORTEST) for one in posteriors]
    goals = [each[:, len(candidates) :] for each in times]
    boxes = [np.concatenate([one.p for one in designs]), np.concatenate([one.d for one in designs])]
    run = set(zip(boxes[0].tolist(), boxes[1].tolist(), strict=True))
    # No other run tells how far an allotment lies from the law by itself.
    seen = [tuple(goal) in run for goal in targets.tolist()]
    sizes = np.where(seen, 1.0, margin.misfit.unseen**2)
    of_misfit = float(np.mean(margin.misfit.seen**2) * np.mean(sizes))
    now = float(np.mean(np.var(np.log(sum(goals)), axis=0))) + of_misfit
    now += margin.variance(doublings_outside(boxes, targets.T))
    left = np.empty(len(candidates))
    for at, run in enumerate(candidates):
        total: Any = 0.0
        for one, each, goal in zip(posteriors, times, goals, strict=True):
            picked = _places_after(np.log(each[:, at]), one.sigmas, rng)
            total = total + goal[picked]  # (outcomes, resampled, targets)
        left[at] = np.mean(np.var(np.log(total), axis=1)) + of_misfit
        grown = [np.append(box, units) for box, units in zip(boxes, run, strict=True)]
        left[at] += margin.variance(doublings_outside(grown, targets.T))
    return now, left


def _places_after(log_time: Array, sigmas: Array, rng: np.random.Generator) -> NDArray[np.intp]:
    """Places (outcomes, resampled) of draws as they are probable after simulated outcomes."""
    outcomes = min(_OUTCOMES, log_time.size)
    seen = log_time[:outcomes] + sigmas[:outcomes] * rng.standard_normal(outcomes)
    misfit = ((seen[:, None] - log_time) / sigmas) ** 2
    weights = np.exp(-0.5 * (misfit - misfit.min(axis=1, keepdims=True))) / sigmas
    cumulative = np.cumsum(weights, axis=1)
    cumulative /= cumulative[:, -1:]
    # One search through all rows: row i lies between i and i + 1.
    rows = np.arange(outcomes)[:, None]
    at = (np.arange(_RESAMPLED) + rng.random((outcomes, 1))) / _RESAMPLED
    places = np.searchsorted((cumulative + rows).ravel(), (at + rows).ravel())
    picked = places.reshape(at.shape) - rows * log_time.size
    return np.asarray(np.minimum(picked, log_time.size - 1))


def _factor_text(variance: float) -> str:
    """A standard deviation of log T as people say it.

    Examples
    --------
    >>> [_factor_text(sd**2) for sd in (0.028, 0.33, 0.9)]
    ['±2.8 %', '±39 %', 'a factor of 2.5']
    """
    ratio = math.exp(math.sqrt(variance))
    if ratio < _FACTOR:
        return f"±{100 * (ratio - 1.0):.2g} %"
    return f"a factor of {ratio:.2g}"


def _advice(
    ranked: NextRun, posteriors: Sequence[Posterior], designs: Sequence[Design], work: float | None
) -> str:
    p, d = ranked.best
    size = "" if work is None else f"of work {work:.6g} "
    run = (
        f"Make the next run {size}on {counted(p, 'processor')} and {counted(d, 'disk')} "
        f"({ranked.core_seconds[0]:.4g} core-seconds)"
    )
    if ranked.settles[0] > 0:
        return f"{run}: without it these runs cannot answer what is asked for."
    if not np.isfinite(ranked.variance):
        return (
            f"{run}; no single candidate makes identifiable what is asked for: see "
            f"`unidentified` for what to vary."
        )
    before, after = _factor_text(ranked.variance), _factor_text(float(ranked.remaining.data[0]))
    text = (
        f"{run}: it should cut the typical error of the forecast from {before} to {after}."
        if before != after
        else f"{run}, though no run would tell much more: the forecast has an error of {before}."
    )
    for posterior in posteriors:
        growing = [
            f"{term.text} {100 * chance:.0f} %"
            for term, chance in zip(posterior.library.terms, posterior.present, strict=True)
            if term.family.startswith("growth with p") and chance >= _LIKELY
        ]
        most = max(float(design.p.max()) for design in designs)
        if len(growing) > 1 and p > most:
            text += (
                f" As the time may grow in more than one way ({', '.join(growing)}), plan a "
                f"second run on {most:g} to {p:g} processors or more."
            )
            break
    return text
