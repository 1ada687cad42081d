"""EM for Coxian and general phase-type laws, by uniformisation over sorted times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from math import inf
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from phasefit import absorption
from phasefit.arrays import Array
from phasefit.em import _kernels, erlang
from phasefit.em.held import climb
from phasefit.em.result import EMResult, result
from phasefit.errors import ConvergenceError, InfeasibleMomentsError
from phasefit.observations import Observations, Sample

#: Starts that are climbed to the top on the fine data after a first look at all of them.
_FINALISTS: Final = 2
_LOOK: Final = 1e-8
_LOOK_STEPS: Final = 500
#: Steps of all but the best of them.
_FINAL_STEPS: Final = 100
#: Largest rate, in units of the data: a phase of no length.
_FASTEST: Final = 1e12
#: Width of the bins, in log time, in which the likelihood of a fitted law is reported.
_REPORT: Final = 2e-4


@dataclass(frozen=True, eq=False)
class _Grid:
    """A sample as the kernel wants it: increasing times, and what ended or was last seen at each."""

    times: Array
    observed: Array
    censored: Array
    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    interval_weights: Array

    @property
    def size(self) -> float:
        """Total weight."""
        return float(self.observed.sum() + self.censored.sum() + self.interval_weights.sum())

    @classmethod
    def of(cls, sample: Sample) -> _Grid:
        """Sort and merge the times of `sample`; what is known of nothing is left out."""
        right = sample.upper == inf
        within = ~right
        stops = [sample.times, sample.lower[right], sample.lower[within], sample.upper[within]]
        times = np.unique(np.concatenate(stops))
        if times.size and times[0] == 0.0:
            times = times[1:]
        exact = right & (sample.lower > 0.0)
        observed, censored = np.zeros((2, times.size))
        np.add.at(observed, np.searchsorted(times, sample.times), sample.weights)
        at = np.searchsorted(times, sample.lower[exact])
        np.add.at(censored, at, sample.interval_weights[exact])
        lower = np.searchsorted(times, sample.lower[within], side="right")
        upper = np.searchsorted(times, sample.upper[within], side="right")
        return cls(
            times,
            observed,
            censored,
            lower.astype(np.int64),
            upper.astype(np.int64),
            sample.interval_weights[within],
        )


@dataclass(frozen=True, eq=False)
class _ChainRates:
    """Start, jumps and exits, in the unit of the data; a rate of zero stays zero."""

    alpha: Array
    jumps: Array
    exits: Array

    @property
    def flat(self) -> Array:
        return np.concatenate([self.alpha, self.jumps.ravel(), self.exits])

    @classmethod
    def folded(cls, flat: Array) -> _ChainRates:
        """Inverse of `flat`, for the n that solves n^2 + 2 n = len(flat)."""
        n = round((1.0 + flat.size) ** 0.5) - 1
        return cls(flat[:n], flat[n:-n].reshape(n, n), flat[-n:])


def fit(
    observations: Observations,
    family: Literal["coxian", "general"],
    order: int,
    starts: int,
    rng: np.random.Generator,
    tol: float,
    max_steps: int,
    hold: int,
    also: Sequence[tuple[Array, Array, Array]] = (),
) -> list[EMResult]:
    """Return fits from several starts, best first.

    Parameters
    ----------
    observations : Observations
        In units of their mean.
    family : {"coxian", "general"}
        Phases in a row that can each be the last; or any chain.
    order : int
        Number of phases.
    starts : int
        Points to climb from.
    rng : numpy.random.Generator
        Draws the starts beyond the first ones.
    tol : float
        Gain of the log-likelihood per sample at which a climb counts as converged.
    max_steps : int
        Most steps of a climb.
    hold : int
        Number of the first moments of the data that the law is to have.
    also : sequence of tuple of ndarray
        alpha, jumps and exits of laws of narrower families: climbs begin beside each as well, and where
        none comes as high, the narrower law itself is an answer.

    Raises
    ------
    InfeasibleMomentsError
        If two moments are held and no law of this order has them.
    ConvergenceError
        If no start leads anywhere.
    """
    coarse, fine = _Grid.of(observations.coarse), _Grid.of(observations.middle)
    climb_of = partial(_climb_held, observations) if hold == 2 else _climb
    looks = []
    beside = (_loosened(law, rng) for law in also)
    for start in chain(_starts(observations, family, order, starts, rng), beside):
        climbed = climb_of(coarse, start, _LOOK, _LOOK_STEPS)
        if climbed is not None:
            looks.append((_expect(fine, climbed[0])[0], climbed[0]))
    looks.sort(key=lambda look: -look[0])
    results = []

    def known(law: _ChainRates, trace: Array | None, converged: bool) -> EMResult:
        in_bins = exact = _expect(fine, law)[0]
        if observations.values.size > observations.middle.times.size:
            near = _Grid.of(observations.every.condensed(_REPORT, beyond=20_000))
            exact = _expect(near, law)[0]
        name = "Coxian" if family == "coxian" else "general phase-type"
        return result(
            observations,
            (law.alpha, law.jumps, law.exits),
            exact,
            in_bins,
            np.array([in_bins]) if trace is None else trace,
            converged,
            2 * order - 1,
            f"{name} ({order})",
        )

    for rank, (_, start) in enumerate(looks[:_FINALISTS]):
        steps = min(max_steps, _FINAL_STEPS) if rank else max_steps
        climbed = climb_of(fine, start, tol, steps)
        if climbed is None:
            continue
        law, trace, converged = climbed
        if hold == 1:  # a climb stopped by rounding may have left the mean a little off
            mean = float(law.alpha @ _mean_times(law))
            law = _ChainRates(law.alpha, law.jumps * mean, law.exits * mean)
        results.append(known(law, trace, converged))
    narrower = [known(_ChainRates(*law), None, True) for law in also]
    best = max((each.log_likelihood for each in results), default=-inf)
    results += [each for each in narrower if each.log_likelihood > best]
    if not results and hold == 2:
        raise InfeasibleMomentsError(
            f"no {family} law of order {order} was found with the first two moments of the data, "
            f"scv {observations.second - 1.0:.6g}; an scv of at least {1.0 / order:.6g} is needed, "
            f"or a higher order or more starts"
        )
    if not results:
        raise ConvergenceError("every start of the EM fit", 0, inf, observations.fine.times)
    return sorted(results, key=lambda fitted: -fitted.log_likelihood)


def _expect(grid: _Grid, law: _ChainRates) -> tuple[float, _ChainRates, Array]:
    """Log-likelihood; expected starts, jumps and exits; expected time in each phase."""
    n = law.alpha.size
    begun, spent, ended, moved = np.empty(n), np.empty(n), np.empty(n), np.empty((n, n))
    value: float = _kernels.phase_pass(
        grid.times,
        grid.observed,
        grid.censored,
        grid.lower,
        grid.upper,
        grid.interval_weights,
        law.alpha,
        law.jumps,
        law.exits,
        begun,
        moved,
        spent,
        ended,
    )
    return value, _ChainRates(begun, moved, ended), spent


def _mean_times(law: _ChainRates) -> Array:
    """Mean time to absorption from each phase."""
    factors = absorption.eliminate(law.jumps, law.exits)
    return absorption.solve(factors, np.ones(law.alpha.size))


def _improved(law: _ChainRates, counts: _ChainRates, spent: Array) -> _ChainRates:
    """M-step: rates are counts over time; what has died out keeps a trace, zero stays zero."""
    trace = 1e-100 * counts.alpha.sum()
    time = np.maximum(spent, 1e-250)
    alpha = np.where(law.alpha > 0.0, np.maximum(counts.alpha, trace), 0.0)
    exits = np.where(law.exits > 0.0, np.maximum(counts.exits, trace), 0.0)
    rates = np.concatenate([counts.jumps, exits[:, None]], axis=1)
    rates = np.minimum(np.minimum(rates, _FASTEST * time[:, None]) / time[:, None], _FASTEST)
    return _ChainRates(alpha / alpha.sum(), rates[:, :-1].copy(), rates[:, -1].copy())


def _climb(
    grid: _Grid, law: _ChainRates, tol: float, max_steps: int
) -> tuple[_ChainRates, Array, bool] | None:
    """EM with squared steps [1]_, taken back where they lower the likelihood.

    References
    ----------
    .. [1] R. Varadhan, C. Roland, "Simple and globally convergent methods for accelerating the
       convergence of any EM algorithm", *Scand. J. Stat.* 35 (2008) 335-353.
    """
    size = grid.size
    trace: list[float] = []
    best = law
    back: _ChainRates | None = None  # where to go on from if the long step just taken does not pay
    while True:
        value, counts, spent = _expect(grid, law)
        if trace and not value >= trace[-1]:
            if back is None:  # no rise is left that a float could show
                return best, np.array(trace), True
            law, back = back, None
            continue
        if not value > -1e299:
            return None
        trace.append(value)
        best = one = _improved(law, counts, spent)  # after an M-step the mean is that of the data
        if len(trace) > 3 and trace[-1] - trace[-3] <= tol * size:
            return one, np.array(trace), True
        if len(trace) + 2 > max_steps:
            return one, np.array(trace), False
        value, counts, spent = _expect(grid, one)
        if not value >= trace[-1]:
            return (one if value >= trace[-1] - 1e-9 * size else law), np.array(trace), True
        trace.append(value)
        back = _improved(one, counts, spent)
        law = _extrapolated(law, one, back)


def _extrapolated(zero: _ChainRates, one: _ChainRates, two: _ChainRates) -> _ChainRates:
    """Squared step through three laws, in the logarithms of their parameters."""
    flats = [law.flat for law in (zero, one, two)]
    free = np.minimum.reduce(flats) > 0.0
    x, y, z = (np.log(flat[free]) for flat in flats)
    speed, bend = y - x, z - 2.0 * y + x
    norm = float(bend @ bend)
    if norm < 1e-24:
        return two
    stride = min(max(float(speed @ speed) / norm, 1.0) ** 0.5, 1e3)
    far = np.exp(np.clip(x + 2.0 * stride * speed + stride**2 * bend, -80.0, np.log(_FASTEST)))
    flat = flats[2].copy()
    flat[free] = far
    law = _ChainRates.folded(flat)
    return _ChainRates(law.alpha / law.alpha.sum(), law.jumps, law.exits)


def _climb_held(
    observations: Observations, grid: _Grid, start: _ChainRates, tol: float, max_steps: int
) -> tuple[_ChainRates, Array, bool] | None:
    """Climb with the first two moments of the data held; None if that cannot be done."""
    template = start.flat
    free = template > 0.0
    n = start.alpha.size
    second = observations.second

    def at(theta: Array) -> _ChainRates:
        flat = np.zeros_like(template)
        flat[free] = np.exp(theta)
        return _ChainRates.folded(flat)

    def expect(theta: Array) -> tuple[float, Array, Array]:
        law = at(theta)
        value, counts, spent = _expect(grid, law)
        likely = np.concatenate(
            [
                counts.alpha,
                (law.jumps * spent[:, None]).ravel(),
                law.exits * spent,
            ]
        )
        gradient = counts.flat - likely
        gradient[:n] = counts.alpha
        return value, gradient[free], likely[free] + 1e-9 * grid.size

    def held(theta: Array) -> tuple[Array, Array]:
        law = at(theta)
        factors = absorption.eliminate(law.jumps, law.exits)
        once = absorption.solve(factors, np.ones(n))
        twice = absorption.solve(factors, once)
        visits = absorption.solve_left(factors, law.alpha)
        revisits = absorption.solve_left(factors, visits)
        first, square = float(law.alpha @ once), 2.0 * float(law.alpha @ twice)
        slopes = []
        for start_, jump, exit_ in (
            (np.ones(n), np.zeros((n, n)), np.zeros(n)),
            (once, visits[:, None] * (once - once[:, None]), -visits * once),
            (
                2.0 * twice,
                2.0 * visits[:, None] * (twice - twice[:, None])
                + 2.0 * revisits[:, None] * (once - once[:, None]),
                -2.0 * (visits * twice + revisits * once),
            ),
        ):
            slopes.append(_ChainRates(start_, jump, exit_).flat * law.flat)
        values = np.array([law.alpha.sum(), first, square])
        return np.log(values), (np.stack(slopes) / values[:, None])[:, free]

    theta = np.log(np.maximum(template[free], 1e-25))
    goal = np.array([0.0, 0.0, np.log(second)])
    climbed = climb(expect, held, theta, goal, tol * grid.size, max_steps)
    return None if climbed is None else (at(climbed[0]), *climbed[1:])


def _starts(
    observations: Observations,
    family: Literal["coxian", "general"],
    order: int,
    count: int,
    rng: np.random.Generator,
) -> Iterator[_ChainRates]:
    """Laws to climb from: the first ones where the data suggest, the others at random."""
    times, weights = erlang.located(observations.coarse)
    share = (np.cumsum(weights) - 0.5 * weights) / weights.sum()
    low, high = np.maximum(np.interp([0.1, 0.99], share, times), 1e-9)
    spread = np.geomspace(low, max(high, 1.001 * low), order)
    for n in range(count):
        if family == "coxian":
            if n == 0:  # fast phases first, as in the canonical form of a mixture
                rates, onward = 1.0 / spread, np.full(order, 0.5)
            elif n == 1:
                rates, onward = np.full(order, float(order)), np.full(order, 0.95)
            else:
                rates = order * np.exp(rng.normal(0.0, 1.5, order))
                onward = rng.uniform(0.1, 0.99, order)
            onward[-1] = 0.0
            chain = np.diag((rates * onward)[:-1], 1) if order > 1 else np.zeros((1, 1))
            yield _ChainRates(np.eye(order)[0], chain, rates * (1.0 - onward))
            continue
        if n == 0 and order <= erlang.FEW_PHASES:
            yield _loosened(erlang.first_look(observations.coarse, order, rng), rng)
            continue
        rates = rng.permutation(1.0 / spread) * np.exp(rng.normal(0.0, 0.5, order))
        moves = rng.dirichlet(np.ones(order + 1), order)
        jumps = rates[:, None] * moves[:, :-1]
        np.fill_diagonal(jumps, 0.0)
        yield _ChainRates(rng.dirichlet(np.ones(order)), jumps, rates * (moves[:, -1] + 0.05))


def _loosened(law: tuple[Array, Array, Array], rng: np.random.Generator) -> _ChainRates:
    """The law with a little of every jump it lacks, which EM could not add by itself."""
    alpha, jumps, exits = law
    n = alpha.size
    rates = jumps.sum(axis=1) + exits
    more = 0.02 / n * rates[:, None] * rng.uniform(0.5, 1.5, (n, n))
    np.fill_diagonal(more, 0.0)
    return _ChainRates((alpha + 0.01 / n) / 1.01, jumps + more, exits + 0.02 / n * rates)
