"""EM for mixtures of Erlang laws, over every way to share the phases among branches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Final

import numpy as np
from numpy.typing import NDArray

from phasefit.arrays import Array, read_only
from phasefit.em import _kernels
from phasefit.em.held import climb
from phasefit.em.result import EMResult, result
from phasefit.errors import InfeasibleMomentsError
from phasefit.observations import Observations, Sample

# There are many ways to share the phases among branches ("settings"), and most are poor. So the
# field is narrowed: all are looked at on coarse data, the best of them longer, and the best of
# those climb on the fine data.

#: Gain per sample and round of three steps at which a look at coarse data ends.
_LOOK: Final = 1e-7
#: Most steps of the first look, which every setting gets.
_FIRST_STEPS: Final = 100
#: Settings that get a second look, and most steps of it.
_CANDIDATES: Final = 16
_LOOK_STEPS: Final = 600
#: Settings that climb on the fine data, and most steps of each; only the best then climbs on.
_FINALISTS: Final = 4
_FINAL_STEPS: Final = 100
#: Order up to which all settings are looked at for the sake of a start.
FEW_PHASES: Final = 12


@dataclass(eq=False)
class _Mixture:
    """Branches with `phases`, weights and means, in the unit of the data."""

    phases: NDArray[np.int64]
    weights: Array
    means: Array


def partitions(total: int, largest: int | None = None) -> Iterator[tuple[int, ...]]:
    """Yield the ways to write `total` as a sum of whole numbers, largest first.

    Parameters
    ----------
    total : int
        The sum, not negative.
    largest : int, optional
        Largest summand allowed; by default `total`.

    Yields
    ------
    tuple of int
        Summands that do not rise.
    """
    if total == 0:
        yield ()
    for first in range(min(total, largest or total), 0, -1):
        for rest in partitions(total - first, first):
            yield (first, *rest)


def count_settings(order: int) -> tuple[int, int]:
    """Count the ways to share so many phases among branches, and the branches of all of them.

    Parameters
    ----------
    order : int
        Phases of all branches together.

    Returns
    -------
    ways : int
        Number of settings.
    branches : int
        Branches of all settings together.

    Examples
    --------
    Of four phases: 4, 3 + 1, 2 + 2, 2 + 1 + 1, and 1 + 1 + 1 + 1.

    >>> count_settings(4)
    (5, 12)
    """
    ways, branches = [1] + [0] * order, [0] * (order + 1)
    for phases in range(1, order + 1):
        for total in range(phases, order + 1):  # one more branch of so many phases
            ways[total] += ways[total - phases]
            branches[total] += branches[total - phases] + ways[total - phases]
    return ways[order], branches[order]


def fit(
    observations: Observations,
    order: int,
    starts: int,
    rng: np.random.Generator,
    tol: float,
    max_steps: int,
    hold: int,
) -> list[EMResult]:
    """Return fits of hyper-Erlang laws, best first.

    Parameters
    ----------
    observations : Observations
        In units of their mean.
    order : int
        Phases of all branches together.
    starts : int
        Points from which each setting is climbed at the first look.
    rng : numpy.random.Generator
        Draws the starts beyond the first four.
    tol : float
        Gain of the log-likelihood per sample at which a climb counts as converged.
    max_steps : int
        Most steps of the climb of one setting on the fine data.
    hold : int
        How many of the first moments of the data the law is to have: 2 holds them by a climb
        along the surface where they are met; the first alone holds by itself at every step of EM.

    Raises
    ------
    InfeasibleMomentsError
        If two moments are held and no mixture of this order has them.
    """
    coarse, fine = observations.coarse, observations.fine

    looks = []
    for phases in partitions(order):
        first: tuple[float, _Mixture] | None = None
        for start in _starts(coarse, phases, starts, rng):
            climbed = _climbed(observations, coarse, start, _LOOK, _FIRST_STEPS, hold)
            if climbed is None:
                continue
            mixture, trace, _ = climbed
            if first is None or trace[-1] > first[0]:
                first = (float(trace[-1]), mixture)
        if first is not None:
            looks.append(first)
    looks.sort(key=lambda look: -look[0])
    second_looks = []
    for _, start in looks[:_CANDIDATES]:
        climbed = _climbed(observations, coarse, start, _LOOK, _LOOK_STEPS, hold)
        mixture = start if climbed is None else climbed[0]
        second_looks.append((likelihood(fine, mixture), mixture))
    second_looks.sort(key=lambda look: -look[0])
    finals = []
    for _, start in second_looks[:_FINALISTS]:
        climbed = _climbed(observations, fine, start, tol, min(max_steps, _FINAL_STEPS), hold)
        if climbed is not None:
            finals.append(climbed)
    if not finals:
        # One branch of all phases has an scv of 1 / order; of several the longest is shorter.
        mixed = f" or above {1.0 / (order - 1):.6g}" if order > 1 else ""
        raise InfeasibleMomentsError(
            f"no hyper-Erlang law of order {order} was found with the first two moments of the "
            f"data, scv {observations.second - 1.0:.6g}; an scv of {1.0 / order:.6g}{mixed} is "
            f"needed, or a higher order"
        )
    finals.sort(key=lambda final: -final[1][-1])
    mixture, trace, converged = finals[0]
    if not converged and max_steps - trace.size >= 3:
        if hold < 2:  # the long way along a ridge is gone where steps are cheap
            ahead = _Mixture(mixture.phases, mixture.weights.copy(), mixture.means.copy())
            _climb(coarse, ahead, tol, max_steps)
            if likelihood(fine, ahead) > likelihood(fine, mixture):
                mixture = ahead
        further = _climbed(observations, fine, mixture, tol, max_steps - trace.size, hold)
        if further is not None:
            finals[0] = further[0], np.concatenate([trace, further[1]]), further[2]
    results = [_result(observations, *final) for final in finals]
    return sorted(results, key=lambda fitted: -fitted.log_likelihood)


def _result(observations: Observations, mixture: _Mixture, trace: Array, converged: bool) -> EMResult:
    in_bins = likelihood(observations.fine, mixture)
    exact = likelihood(observations.every, mixture)
    part = mixture.weights * np.maximum(1.0, mixture.means) ** 2
    alive = part > 1e-16  # a lighter branch is lost in the rounding of the others
    weights = mixture.weights[alive] / mixture.weights[alive].sum()
    phases, means = mixture.phases[alive], mixture.means[alive]
    rates = _rates(_Mixture(phases, weights, means))
    label = f"hyper-Erlang ({', '.join(map(str, sorted(phases.tolist())))})"
    free = 2 * phases.size - 1
    return result(observations, rates, exact, in_bins, trace, converged, free, label)


def _rates(mixture: _Mixture) -> tuple[Array, Array, Array]:
    """Start, jumps and exits of the phases, branch after branch."""
    ends = np.cumsum(mixture.phases)
    alpha, exits = np.zeros((2, ends[-1]))
    jumps = np.zeros((ends[-1], ends[-1]))
    for end, r, a, m in zip(ends, mixture.phases, mixture.weights, mixture.means, strict=True):
        alpha[end - r], exits[end - 1] = a, r / m
        for i in range(end - r, end - 1):
            jumps[i, i + 1] = r / m
    return alpha, jumps, exits


def first_look(sample: Sample, order: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Return start, jumps and exits of a good hyper-Erlang law, with little effort.

    Parameters
    ----------
    sample : Sample
        Positive times in units of their centre.
    order : int
        Phases of all branches together.
    rng : numpy.random.Generator
        Draws the starts beyond the first four.
    """
    best: tuple[float, _Mixture] | None = None
    for phases in partitions(order):
        for start in _starts(sample, phases, 1, rng):
            trace, _ = _climb(sample, start, 1e-4, 60)
            if best is None or trace[-1] > best[0]:
                best = (float(trace[-1]), start)
    assert best is not None
    return _rates(best[1])


def likelihood(sample: Sample, mixture: _Mixture) -> float:
    """Return the log-likelihood of `sample`.

    Parameters
    ----------
    sample : Sample
        Positive times, in the unit of `mixture`.
    mixture : _Mixture
        The law.
    """
    return _expect(sample, mixture)[0]


def _columns(sample: Sample) -> tuple[Array, Array, Array, Array, Array, Array]:
    """Return what kernels read of a sample; never to be written to, or each would be compiled for both."""
    columns = sample.times, sample.logs, sample.weights, sample.lower, sample.upper, sample.interval_weights
    times, logs, weights, lower, upper, interval_weights = (read_only(column.view()) for column in columns)
    return times, logs, weights, lower, upper, interval_weights


def _expect(sample: Sample, mixture: _Mixture) -> tuple[float, Array, Array]:
    """Log-likelihood, and the weight and weighted time that fall to each branch."""
    count, total = np.empty((2, mixture.phases.size))
    value: float = _kernels.hyper_erlang_pass(
        *_columns(sample),
        mixture.phases,
        mixture.weights,
        mixture.means,
        count,
        total,
    )
    return value, count, total


def _climbed(
    observations: Observations,
    sample: Sample,
    start: _Mixture,
    tol: float,
    max_steps: int,
    hold: int,
) -> tuple[_Mixture, Array, bool] | None:
    """Climb on `sample`: the mixture, the trace, and whether it stopped by itself.

    With two moments held it is a new mixture, or None where these branches cannot have them;
    else `start` itself is moved.
    """
    if hold == 2:
        return _climb_held(observations, sample, start, tol, max_steps)
    return (start, *_climb(sample, start, tol, max_steps))


def _climb(sample: Sample, mixture: _Mixture, tol: float, max_steps: int) -> tuple[Array, bool]:
    """Move `mixture` up by EM; the trace, and whether it stopped by itself."""
    trace = np.empty(max(max_steps, 3))
    steps, converged = _kernels.hyper_erlang_climb(
        *_columns(sample),
        mixture.phases,
        mixture.weights,
        mixture.means,
        tol,
        trace,
    )
    return trace[:steps], bool(converged)


def _climb_held(
    observations: Observations, sample: Sample, start: _Mixture, tol: float, max_steps: int
) -> tuple[_Mixture, Array, bool] | None:
    """Climb with the first two moments of the data held; None if the branches cannot have them."""
    r = start.phases.astype(float)
    second = observations.second
    if second < 1.0 + 1.0 / r.max() and r.size > 1:
        return None

    def at(theta: Array) -> _Mixture:
        weights, means = np.exp(theta.reshape(2, -1))
        return _Mixture(start.phases, weights, means)

    def expect(theta: Array) -> tuple[float, Array, Array]:
        mixture = at(theta)
        value, count, total = _expect(sample, mixture)
        floor = 1e-9 * sample.size
        gradient = np.concatenate([count, r * (total / mixture.means - count)])
        return value, gradient, np.concatenate([count, r * count]) + floor

    def held(theta: Array) -> tuple[Array, Array]:
        mixture = at(theta)
        shares = np.stack(
            [
                mixture.weights,
                mixture.weights * mixture.means,
                mixture.weights * mixture.means**2 * (1.0 + 1.0 / r),
            ]
        )
        sums = shares.sum(axis=1)
        relative = shares / sums[:, None]
        slope = np.concatenate([relative, np.array([[0.0], [1.0], [2.0]]) * relative], axis=1)
        return np.log(sums), slope

    theta = np.log(np.maximum(np.concatenate([start.weights, start.means]), 1e-30))
    goal = np.array([0.0, 0.0, np.log(second)])
    climbed = climb(expect, held, theta, goal, tol * sample.size, max_steps)
    return None if climbed is None else (at(climbed[0]), *climbed[1:])


def _starts(
    sample: Sample, phases: tuple[int, ...], count: int, rng: np.random.Generator
) -> Iterator[_Mixture]:
    """Means where the data are: long branches at short times, at long times, and at random."""
    times, weights = located(sample)
    share = (np.cumsum(weights) - 0.5 * weights) / weights.sum()
    k = len(phases)
    equal = np.interp((np.arange(k) + 0.5) / k, share, times)
    low, high = np.interp([0.02, 0.995], share, times)
    spread = np.geomspace(low, max(high, 1.0001 * low), k) if k > 1 else np.ones(1)
    even = np.full(k, 1.0 / k)
    plans = [(phases, spread), (phases[::-1], equal), (phases, equal), (phases[::-1], spread)]
    seen = set()
    for n in range(count if k > 1 else 1):
        if n < len(plans):
            form, means = plans[n]
        else:
            form = tuple(rng.permutation(phases).tolist())
            means = np.sort(np.interp(rng.random(k), share, times))
        key = (tuple(form), tuple(means.tolist()))
        if key not in seen:
            seen.add(key)
            yield _Mixture(np.array(form, dtype=np.int64), even.copy(), np.maximum(means, 1e-12))


def located(sample: Sample) -> tuple[Array, Array]:
    """Return about where the times lie, in order, and their weights.

    A censored time lies at its nearer end.

    Parameters
    ----------
    sample : Sample
        Positive times in units of their centre.
    """
    middle = np.where(sample.upper < inf, 0.5 * (sample.lower + sample.upper), sample.lower)
    times = np.concatenate([sample.times, middle])
    weights = np.concatenate([sample.weights, sample.interval_weights])
    order = np.argsort(times, kind="stable")
    return times[order], weights[order]
