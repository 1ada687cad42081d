"""Large sparse systems (D - A) x = b of an absorbing chain, solved to a bound of the error."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from scipy.sparse import csr_array

from phasefit.arrays import Array
from qmodels.errors import ConvergenceError
from qmodels.markov.sweeps.system import Sweeps

#: Relative error at which an iteration stops, unless rounding stops it before.
_GOAL: Final = 1e-13
#: How far one run of the Krylov method reduces the residual, and its steps.
_REDUCTION, _STEPS = 1e-6, 600
#: Double sweeps between two runs; rounds without progress that are believed; rounds in all.
_SWEEPS, _PATIENCE, _ROUNDS = 3, 3, 500


class MMatrix:
    """The matrix diag(pivots) - rates of a chain that is absorbed from everywhere.

    Parameters
    ----------
    rates : (n, n) sparse array
        Rates between the states that do not absorb.
    pivots : (n,) ndarray
        Diagonal.

    Notes
    -----
    For b > 0 the exact solution of M x = b lies within ``max |b - M x| / b`` of x, relatively and
    in every entry, because the inverse of M is non-negative [1]_. Rows are solved by a Krylov
    method and Gauss-Seidel sweeps until that bound is small. A direct method would fill a matrix
    of 31 000 states and 160 000 rates with 76 million numbers.

    References
    ----------
    .. [1] A. Berman, R. J. Plemmons, *Nonnegative Matrices in the Mathematical Sciences*, SIAM
       1994, ch. 6.
    """

    def __init__(self, rates: csr_array, pivots: Array) -> None:
        self._rates, self._pivots = rates, pivots
        self._system = Sweeps.of(rates, pivots)

    def solve(self, right: Array) -> tuple[Array, float]:
        """Solve M x = right, with a bound of the relative error in any entry.

        Parameters
        ----------
        right : (n,) ndarray
            Positive right-hand side.

        Returns
        -------
        x : (n,) ndarray
            The solution.
        bound : float
            Of its relative error: 1e-13, what rounding in the residual makes up, or where it comes down no
            further, less than a hundred times that.

        Raises
        ------
        ConvergenceError
            If the bound does not come down.
        """
        system = replace(self._system, right=right)
        x = right / self._pivots
        system.sweep(x, _SWEEPS)
        best, bound, idle, sweeps = x, self._error_bound(right, x), 0, _SWEEPS
        for _ in range(_ROUNDS):
            step, _ = system.krylov(x, _REDUCTION, _STEPS)
            near = x + step.change
            if np.isfinite(near).all() and near.min() > 0.0:
                x, sweeps = near, _SWEEPS
            else:  # of no use: leave it to the sweeps for a while
                x, sweeps = x.copy(), min(2 * sweeps, 200)
            system.sweep(x, sweeps)
            new_bound = self._error_bound(right, x)
            idle = 0 if new_bound < 0.5 * bound else idle + 1
            if new_bound < bound:
                best, bound = x, new_bound
            rounding = self._rounding_share(right, best)
            if bound <= max(_GOAL, rounding) or (idle >= _PATIENCE and bound < 100.0 * rounding):
                return best, bound + float(np.finfo(float).eps)
        raise ConvergenceError("the moments of the sojourn", _ROUNDS, bound, best)

    def _error_bound(self, right: Array, x: Array) -> float:
        rest = right - (self._pivots * x - self._rates @ x)
        return float(np.abs(rest / right).max())

    def _rounding_share(self, right: Array, x: Array) -> float:
        """Return the part of the bound that rounding in the residual makes up."""
        return 8.0 * float(np.finfo(float).eps) * float((self._pivots * x / right).max())
