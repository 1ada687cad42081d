"""A small phase-type law in place of the sojourn at the disk, and how far it is from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
from scipy.special import gammainc, gammaincc, gammaln

from phasefit import PhaseType, match_moments, mixture
from phasefit.arrays import Array
from phasefit.checks import whole_number
from phasefit.records import Drawing, Result, data_frame
from qmodels.errors import InfeasibleMomentsError, ModelError

if TYPE_CHECKING:
    import pandas as pd


#: Probabilities at which the quantiles of the two laws are compared.
LEVELS: Final = (0.5, 0.9, 0.95, 0.99, 0.999)
#: Moments met to this count as met; double precision leaves less for many moments.
_MET: Final = 1e-9
_MOST_MOMENTS: Final = 12


class ExactLaw(Protocol):
    """Exact law that is approached: a `SojournLaw` or a `PhaseType`."""

    @property
    def mean(self) -> float:
        """E[X] in seconds."""

    @property
    def scv(self) -> float:
        """Var[X] / E[X]^2."""

    def moment(self, k: int) -> float:
        """E[X^k]."""

    def sf(self, x: Any) -> Any:
        """P(X > x)."""

    def ppf(self, q: Any) -> Any:
        """Quantile function."""


@dataclass(frozen=True, eq=False)
class FlowEquivalent(Result):
    """A law fitted to the sojourn at the disk, with its distance from it."""

    drawing = Drawing("quantity", "relative_error")

    distribution: PhaseType  #: the fitted law, seconds
    moments: int  #: moments matched
    moment_errors: Array  #: relative error of moments 1, 2, ..., at least five of them
    ks: float  #: largest distance of the two distribution functions
    quantile_errors: Array  #: relative error of the quantiles at `LEVELS`
    method: str  #: family and order

    def table(self) -> str:
        """Return the errors as text, one to a line."""
        lines = [
            f"{self.method}, {self.moments} moments matched",
            f"largest distance of the distribution functions  {self.ks:.2e}",
        ]
        lines += [f"moment {k}  {error:+.2e}" for k, error in enumerate(self.moment_errors.tolist(), 1)]
        lines += [
            f"quantile {level:g}  {error:+.2e}"
            for level, error in zip(LEVELS, self.quantile_errors.tolist(), strict=True)
        ]
        return "\n".join(lines)

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each moment and quantile, with its relative error."""
        names = [f"moment {k + 1}" for k in range(self.moment_errors.size)]
        names += [f"quantile {level:g}" for level in LEVELS]
        errors = np.concatenate([self.moment_errors, self.quantile_errors])
        return data_frame({"quantity": names, "relative_error": errors})


def flow_equivalent(law: ExactLaw, moments: int = 3, *, quantiles: int = 0) -> FlowEquivalent:
    """Return a phase-type law with the first moments of a sojourn, and its distance from the exact law.

    Parameters
    ----------
    law : SojournLaw or PhaseType
        The exact law, for example `ClosedSolution.sojourn`.
    moments : int
        Moments to match, from 1 to 12.
    quantiles : int
        So many quantiles, evenly spread, are to be approached as well as possible beside the
        moments, at the price of a higher order; 0 to 100.

    Returns
    -------
    FlowEquivalent
        The law and its errors.

    Raises
    ------
    ModelError
        If an argument is out of its range.
    InfeasibleMomentsError
        If no law was found with these moments to 1e-9; fewer moments will do.

    Notes
    -----
    Up to three moments without quantiles the law is that of `phasefit.match_moments`, in the
    fewest phases. Beyond, it is a mixture of Erlang laws from a grid of means and phases, found by
    a linear programme: all moments as equations, and the mean number of phases, or the distance
    at the quantiles, as what is to be small. By the theory of linear programmes it needs no more
    branches than there are equations. Nothing is approximate about a sojourn kept as it is:
    ``sojourn.to_phase_type()`` is the exact law, of an order that may be large.

    References
    ----------
    .. [1] Chandy et al. 1975.

    Examples
    --------
    >>> from qmodels.networks import ClosedNetwork
    >>> cpu = PhaseType.erlang(phases=3, mean=2.0)
    >>> disk = match_moments(1.0, 10.0)
    >>> exact = ClosedNetwork(4, delay=cpu, disk=disk).solve().sojourn
    >>> for k in (1, 2, 4):
    ...     fitted = flow_equivalent(exact, moments=k)
    ...     print(k, fitted.distribution.order, f"{fitted.ks:.3f}")
    1 1 0.207
    2 2 0.032
    4 5 0.007
    """
    if not all(hasattr(law, name) for name in ("moment", "sf", "ppf", "scv")):
        raise ModelError(f"law must be a SojournLaw or a PhaseType, got {law!r:.60}")
    count = whole_number("moments", moments, least=1)
    points = whole_number("quantiles", quantiles, least=0)
    if count > _MOST_MOMENTS or points > 100:
        raise ModelError(f"moments must be <= {_MOST_MOMENTS} and quantiles <= 100, got {count} and {points}")
    exact = np.array([law.moment(k) for k in range(1, max(count, 5) + 1)])
    if count <= 3 and points == 0:
        fitted = match_moments(*exact[:count].tolist())
        tail = fitted.sf
        method = f"least order, {fitted.order} phases"
    else:
        equivalent = _erlang_mixture(law, count, points)
        fitted, tail = equivalent.law(), equivalent.sf
        method = f"mixture of {equivalent.weights.size} Erlang laws, {fitted.order} phases"
    errors = np.array([fitted.moment(k + 1) / m - 1.0 for k, m in enumerate(exact.tolist())])
    if np.abs(errors[:count]).max() > _MET:
        raise InfeasibleMomentsError(
            f"{count} moments could be met to {np.abs(errors[:count]).max():.1e} only; ask for fewer"
        )
    return FlowEquivalent(
        distribution=fitted,
        moments=count,
        moment_errors=errors,
        ks=_distance(tail, law),
        quantile_errors=np.array([_quantile_error(tail, law, p) for p in LEVELS]),
        method=method,
    )


@dataclass(frozen=True, eq=False)
class _Erlangs:
    """A mixture of Erlang laws: weights, phases and means of the branches, (k,) each."""

    weights: Array
    phases: Array
    means: Array

    def law(self) -> PhaseType:
        parts = [
            PhaseType.erlang(phases=int(n), mean=m)
            for n, m in zip(self.phases.tolist(), self.means.tolist(), strict=True)
        ]
        return mixture(self.weights, parts)

    def sf(self, x: Any) -> Any:
        """P(X > x) without the matrix of all phases."""
        at = np.asarray(x)[..., None] * (self.phases / self.means)
        return gammaincc(self.phases, at) @ self.weights


def _erlang_mixture(law: ExactLaw, count: int, points: int) -> _Erlangs:
    """Mixture of Erlang laws with `count` moments of `law`."""
    mean = law.mean
    wanted = np.array([law.moment(k) / mean**k for k in range(count + 1)])
    chance = (np.arange(points) + 0.5) / max(points, 1)
    times = np.asarray(law.ppf(chance)) / mean if points else chance
    reach = max(3.0, 2.0 * float(wanted[count] / (count * wanted[count - 1])))
    most = max(16.0, 3.0 / law.scv)
    for stages, finer in ((8, 40), (12, 80), (16, 160)):
        grid = np.unique(np.geomspace(1.0, most, stages).round())
        phases, means = (a.ravel() for a in np.meshgrid(grid, np.geomspace(0.05, reach, finer)))
        k = np.arange(count + 1)[:, None]
        logs = k * np.log(means / phases) + gammaln(phases + k) - gammaln(phases)
        shares = np.exp(logs) / wanted[:, None]
        weights = _branch_weights(shares, phases, means, times, chance)
        if weights is None:
            continue
        used = np.flatnonzero(weights > 1e-13)
        settled = _corrected_weights(shares[:, used], weights[used])
        if np.abs(shares[:, used] @ settled - 1.0).max() > 0.1 * _MET:
            continue
        return _Erlangs(settled / settled.sum(), phases[used], means[used] * mean)
    raise InfeasibleMomentsError(
        f"no mixture of Erlang laws of up to {most:.0f} phases was found with {count} moments of "
        f"a law with scv {law.scv:.4g}; ask for fewer moments"
    )


def _branch_weights(shares: Array, phases: Array, means: Array, times: Array, chance: Array) -> Array | None:
    """Weights of the branches that meet the moments; None if the programme has no solution."""
    from scipy.optimize import linprog  # of no use to most who import this, and slow

    count, points = phases.size, times.size
    moments = np.hstack([shares, np.zeros((shares.shape[0], 2 * points))])
    if points == 0:
        cost, equations, right = phases, moments, np.ones(shares.shape[0])
    else:
        below = gammainc(phases, times[:, None] * (phases / means))
        slack = np.eye(points)
        equations = np.vstack([moments, np.hstack([below, slack, -slack])])
        right = np.concatenate([np.ones(shares.shape[0]), chance])
        cost = np.concatenate([1e-5 * phases, np.full(2 * points, 1.0 / points)])
    for method, presolve in (("highs-ds", True), ("highs-ipm", True), ("highs-ds", False)):
        solution = linprog(
            cost,
            A_eq=equations,
            b_eq=right,
            bounds=(0, None),
            method=method,
            options={"presolve": presolve},
        )
        if solution.status == 0:
            return np.asarray(solution.x[:count])
    return None


def _corrected_weights(shares: Array, weights: Array) -> Array:
    """Weights after the rest of the moment equations has been taken off, if none turns negative."""
    for _ in range(3):
        rest = 1.0 - shares @ weights
        better = weights + np.linalg.lstsq(shares, rest, rcond=None)[0]
        if better.min() < 0.0 or np.abs(1.0 - shares @ better).max() >= np.abs(rest).max():
            break
        weights = better
    return weights


def _distance(tail: Callable[[Any], Any], law: ExactLaw) -> float:
    """Largest distance of two distribution functions: on a grid, then around its worst point."""
    from scipy.optimize import minimize_scalar

    ends = np.asarray(law.ppf(np.array([1e-4, 1.0 - 1e-6])))
    grid = np.concatenate([[0.0], np.geomspace(ends[0], ends[1], 300)])

    def apart(x: Any) -> Any:
        return np.abs(tail(x) - law.sf(x))

    largest = apart(grid)
    worst = int(largest.argmax())
    around = grid[max(worst - 1, 0)], grid[min(worst + 1, grid.size - 1)]
    best = minimize_scalar(lambda t: -float(apart(t)), bounds=around, method="bounded")
    return max(float(largest.max()), -float(best.fun))


def _quantile_error(tail: Callable[[Any], Any], law: ExactLaw, level: float) -> float:
    """Relative error of a quantile."""
    from scipy.optimize import brentq

    low = high = exact = float(law.ppf(level))
    while tail(low) < 1.0 - level:
        low /= 1.5
    while tail(high) > 1.0 - level:
        high *= 1.5
    if low == high:
        return 0.0
    return float(brentq(lambda t: float(tail(t)) - (1.0 - level), low, high)) / exact - 1.0
