"""The stationary vector of a large sparse chain, and how far from the truth it may be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from phasefit.arrays import Array
from qmodels.errors import ConvergenceError, ModelError
from qmodels.markov.sweeps import _kernels
from qmodels.markov.sweeps.system import TINY, Sweeps

#: Double sweeps before the first and after every step of the Krylov method.
_FIRST, _BETWEEN = 10, 5
#: Least share of its value that a step may leave of an entry; sweeps do the rest.
_KEPT: Final = 1e-3
#: How far a step reduces the residual: while some entries are far off, and after that.
_ROUGH, _FINE = 0.3, 1e-4
#: Change of an entry in a double sweep that is rounding.
_ROUNDING: Final = 1e-14
_EPS: Final = float(np.finfo(float).eps)
#: Rounds without progress until rounding is taken to have the last word.
_PATIENCE: Final = 4
#: Double sweeps at once and at most, to see how fast an error dies out.
_LOOK, _LOOKS = 5, 40
#: Errors watched at once where one alone dies out slowly.
_PROBES: Final = 4
#: Growth beyond which slow errors cannot be told apart by watching: nothing is claimed.
_UNKNOWN: Final = 1e7


@dataclass(frozen=True, eq=False)
class StationaryVector:
    """A stationary vector and what is known of its error."""

    pi: Array  #: probability of each state, (n,)
    error: float  #: estimated largest relative error of an entry
    residual: float  #: sum of |in - out| over the sum of the flows
    sweeps: int  #: times that all rates were read


class Iteration:
    """The iteration on one irreducible chain.

    Parameters
    ----------
    into : (n, n) sparse array
        Rates by the state that they lead to.
    out : (n,) ndarray
        Total rate out of each state.
    levels : (n,) ndarray
        Level of each state.
    """

    def __init__(self, into: csr_array, out: Array, levels: NDArray[np.intp] | None) -> None:
        self._into, self._levels = into, levels
        self._system = Sweeps.of(into, out)
        self._passes = 0
        self._amplification = 1.0

    def solve(self, tol: float, most: int) -> StationaryVector:
        """Iterate until the error is estimated below `tol`, or rounding stops it.

        Parameters
        ----------
        tol : float
            Relative error that is good enough.
        most : int
            Sweeps allowed.

        Returns
        -------
        StationaryVector
            The vector and its error.
        """
        x = np.full(self._system.out.size, 1.0 / self._system.out.size)
        self._sweep(x, _FIRST)
        if self._levels is not None:
            self._balance_levels(x)
            self._sweep(x, _FIRST)
        change, x = self._sweep_to_rest(x, tol, most)
        if self._levels is not None:
            change, x = self._settle_levels(x, change, tol, most)
        self._update_error_growth(x)
        error = self._error_of(x, change)
        if error > tol and change > _ROUNDING:  # the goal was set by what was known on the way
            change, x = self._sweep_to_rest(x, tol, most)
            error = self._error_of(x, change)
        off, flow, _ = self._system.residual(x)
        return StationaryVector(x, error, off / flow, self._passes)

    def _sweep_to_rest(self, x: Array, tol: float, most: int) -> tuple[float, Array]:
        """Iterate until a double sweep changes no entry by more than the goal."""
        reduction, sweeps, idle = _ROUGH, _BETWEEN, 0
        best, change, size = np.inf, np.inf, np.inf
        while True:
            goal = max(0.5 * tol / self._amplification, _ROUNDING)
            if self._passes >= most:
                raise ConvergenceError("the stationary vector", self._passes, change, x)
            step, passes = self._system.krylov(x, reduction, 600)
            self._passes += passes
            if np.isfinite(step.amplification) and _ROUNDING < step.size < 1e-3:
                self._amplification = max(self._amplification, step.amplification)
            # A step that was of no use leaves it to the sweeps for a while.
            useful = step.size < 0.9 * size or step.size <= _ROUNDING
            sweeps = _BETWEEN if useful else min(2 * sweeps, 200)
            size = step.size
            low = x + step.change
            with np.errstate(invalid="ignore"):
                short = ~(low >= _KEPT * x)
            low[short] = _KEPT * x[short]
            if np.isfinite(low).all() and step.size > _ROUNDING:
                x = low
            reduction = _ROUGH if short.any() else _FINE
            if step.size <= _ROUNDING:  # only small entries still move
                sweeps = 4 * _BETWEEN
            change = self._sweep(x, sweeps)
            if change <= goal:
                return change, x
            if change < 0.7 * best:
                idle, best = 0, change
            else:
                idle += 1
            if idle >= _PATIENCE and change < 100.0 * _ROUNDING:
                return change, x

    def _sweep(self, x: Array, times: int) -> float:
        """Sweep `x`, bring its sum to one, and return the last double sweep's largest change."""
        if times > 1:
            self._system.sweep(x, times - 1)
        x /= x.sum()
        before = x.copy()
        self._system.sweep(x, 1)
        x /= x.sum()
        self._passes += times + 1
        return _largest_change(before, x)

    def _balance_levels(self, x: Array) -> float:
        """Give every level its weight, as the flows between levels must be equal."""
        levels = self._levels
        assert levels is not None
        count = int(levels.max()) + 1
        up, down = np.zeros((2, count - 1))
        rows = self._into
        far = _kernels.level_flows(rows.indptr, rows.indices, rows.data, levels, x, up, down)
        if far >= 0:
            raise ModelError(
                f"levels: state {int(far)} of level {int(levels[far])} is reached from a level "
                f"that is not a neighbour"
            )
        if not (up.min(initial=1.0) > 0.0 and down.min(initial=1.0) > 0.0):
            return 0.0  # too small for a float: leave them to the sweeps
        mass = np.bincount(levels, x, count)
        rise = np.log(up) - np.log(mass[:-1]) - np.log(down) + np.log(mass[1:])
        log = np.concatenate([[0.0], np.cumsum(rise)])
        weight = np.exp(log - log.max())
        factor = weight / weight.sum() / (mass / mass.sum())
        x *= factor[levels]
        seen = mass > TINY
        return float(np.abs(factor[seen] - 1.0).max())

    def _settle_levels(self, x: Array, change: float, tol: float, most: int) -> tuple[float, Array]:
        """Correct the weights of the levels where sweeps would take too long to do so."""
        last = np.inf
        for _ in range(20):
            trial = x.copy()
            moved = self._balance_levels(trial)
            if moved <= 10.0 * self._amplification * change + 1e-12 or moved > 0.5 * last:
                return change, x
            last = moved
            change, x = self._sweep_to_rest(trial, tol, most)
        return change, x

    def _error_of(self, x: Array, change: float) -> float:
        """Error of an iterate from its last change and from rounding, twice what was seen."""
        imbalance = self._system.residual(x)[2]
        return min(1.0, 2.0 * (change + imbalance + 4.0 * _EPS) * self._amplification)

    def _update_error_growth(self, x: Array) -> None:
        """See how many times its last change the error of `x` may be.

        An error is put into `x` and watched while sweeps remove it: whatever they cannot see,
        such as groups of states that are hardly connected, they cannot have got right.
        """
        plain = self._error_growth(x, None)
        if plain > 1e4 and self._levels is not None:
            # the weights of the levels follow from what the levels look like inside
            within = self._error_growth(x, self._levels) * 2.0 * (1.0 + self._levels.max())
            self._amplification = within if within < plain else max(self._amplification, plain)
        else:
            self._amplification = max(self._amplification, plain)

    def _error_growth(self, x: Array, levels: NDArray[np.intp] | None) -> float:
        """Sum of a geometric series with the ratio at which an error put into `x` dies out."""
        y = x * (1.0 + 0.1 * _disturbance(x.size, 0))
        left, ratio = self._errors_against(x, y, levels), np.zeros(2)
        for look in range(_LOOKS):
            self._sweep_only(y, _LOOK)
            now = self._errors_against(x, y, levels)
            before, ratio = ratio, (now / left) ** (1.0 / _LOOK)
            left = now
            steady = np.abs(ratio - before) <= 0.1 * np.abs(1.0 - ratio)
            if ((now < 1e-9) | ((look > 3) & (steady | (ratio >= 1.0)))).all():
                break
        slowest = float(ratio.max())
        grown = 1.0 / (1.0 - slowest) if slowest < 1.0 - 1.0 / _UNKNOWN else np.inf
        if 20.0 < grown < np.inf:
            grown = max(grown, self._joint_error_growth(x, levels))
        return grown if grown < _UNKNOWN else np.inf

    def _joint_error_growth(self, x: Array, levels: NDArray[np.intp] | None) -> float:
        """The same from several errors at once, to tell apart those that die out slowly."""
        root = np.maximum(np.sqrt(x), TINY)
        before, lost = np.empty((_PROBES, x.size)), np.empty((_PROBES, _PROBES))
        for probe in range(_PROBES):
            y = x * (1.0 + 0.1 * _disturbance(x.size, probe + 1))
            self._sweep_and_record(x, y, levels, root, before[probe])
        gram = before @ before.T
        after = np.empty(x.size)
        for probe in range(_PROBES):  # each goes on from where it was: only one is held twice
            np.multiply(before[probe], root, out=y)
            y += x
            self._sweep_and_record(x, y, levels, root, after)
            np.subtract(before[probe], after, out=after)
            lost[:, probe] = before @ after
        sizes = 1.0 / np.sqrt(np.maximum(gram.diagonal(), TINY))
        gram, lost = gram * np.outer(sizes, sizes), lost * np.outer(sizes, sizes)
        rates = np.abs(np.linalg.eigvals(np.linalg.lstsq(gram, lost, rcond=1e-12)[0]))
        slow = rates[rates > 0.0].min(initial=1.0)
        return _LOOK / float(slow)

    def _sweep_and_record(
        self, x: Array, y: Array, levels: NDArray[np.intp] | None, root: Array, seen: Array
    ) -> None:
        """Sweep `y` on, and put its error, over the root of the probabilities, into `seen`."""
        self._sweep_only(y, _LOOK)
        self._errors_against(x, y, levels)
        np.subtract(y, x, out=seen)
        seen /= root

    def _sweep_only(self, y: Array, times: int) -> None:
        self._system.sweep(y, times)
        self._passes += times + 1

    def _errors_against(self, x: Array, y: Array, levels: NDArray[np.intp] | None) -> Array:
        """Largest and total error of `y`, brought to the weights of `x`, to be more than zero."""
        if levels is None:
            y *= x.sum() / y.sum()
        else:
            mass = np.maximum(np.bincount(levels, y), TINY)
            y *= (np.bincount(levels, x) / mass)[levels]
        return np.maximum([_largest_change(x, y), np.abs(y - x).sum()], 1e-300)


def _disturbance(n: int, seed: int) -> Array:
    """Waves, long and short, and noise: what is slow in a chain is seldom blind to all."""
    rng = np.random.default_rng([n, seed])
    error = rng.uniform(-1.0, 1.0, n)
    place = np.arange(n) / n
    for waves in (0.5, 3.0, 10.0, 31.0):
        error += rng.choice([-1.0, 1.0]) * np.cos(2.0 * np.pi * (waves * place + rng.random()))
    return np.asarray(error)


def _largest_change(before: Array, after: Array) -> float:
    """Largest relative difference of entries that are not next to nothing."""
    seen = (before > TINY) & (after > TINY)
    if seen.all():
        return float(np.abs(after / before - 1.0).max())
    return float(np.abs(after[seen] / before[seen] - 1.0).max(initial=0.0))
