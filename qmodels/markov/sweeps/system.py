"""Large sparse M-matrix equations by Gauss-Seidel sweeps, and a Krylov method between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from phasefit.arrays import Array, read_only
from qmodels.markov.sweeps import _kernels

Indices: TypeAlias = NDArray[np.unsignedinteger]

#: Below this size a number counts as zero: its reciprocal is still a float.
TINY = 1e-290
#: A number whose square has a reciprocal.
_SMALL = 1e-140
#: Residual, relative to the solution, that rounding leaves of a Krylov method.
_FLOOR = 4e-15


class Step(NamedTuple):
    """Result of a few steps of the Krylov method."""

    change: Array  #: to be added to x
    size: float  #: of the residual before, relative to x
    amplification: float  #: size of the change over that of one double sweep


@dataclass(frozen=True, eq=False)
class Sweeps:
    """Equations ``out * x = right + rates @ x`` in non-negative numbers, row by row."""

    indptr: Indices  #: rows of `rates` as `scipy.sparse.csr_array` has them
    indices: Indices  #: columns of `rates`
    rates: Array  #: entries
    out: Array  #: (n,)
    right: Array  #: (n,)
    middle: Indices  #: where the entries right of the diagonal begin, (n,)
    low: Array  #: room for the sweeps
    high: Array  #: more room

    @classmethod
    def of(cls, rates: csr_array, out: Array, right: Array | None = None) -> Sweeps:
        """Return the equations with the rows of `rates`, columns in order, and nothing on the diagonal.

        Parameters
        ----------
        rates : (n, n) sparse array
            Rates.
        out : (n,) ndarray
            Diagonal of the equations.
        right : (n,) ndarray, optional
            Right-hand side; zero by default.
        """
        middle = np.empty(out.size, rates.indptr.dtype)
        _kernels.split(rates.indptr, rates.indices, middle)
        right_side = np.zeros(out.size) if right is None else right
        low, high = np.empty((2, out.size))
        # Unsigned, a place cannot count from the end: kernels that need not ask are faster.
        places = (_as_unsigned(rates.indptr), _as_unsigned(rates.indices))
        # Read-only, as some are: for writable ones all kernels would be compiled a second time.
        return cls(*places, read_only(rates.data.view()), out, right_side, _as_unsigned(middle), low, high)

    def sweep(self, x: Array, times: int) -> None:
        """Improve `x` in place by double sweeps, without a subtraction.

        Parameters
        ----------
        x : (n,) ndarray
            The iterate, not negative; overwritten.
        times : int
            Number of double sweeps.
        """
        _kernels.double_sweeps(*self._row_places, self.right, x, self.low, self.high, times)

    def residual(self, x: Array) -> tuple[float, float, float]:
        """Return the sum of |in - out|, the sum of the flows, and the largest |in - out| / out of a row.

        Parameters
        ----------
        x : (n,) ndarray
            The iterate.
        """
        sums = _kernels.residual(self.indptr, self.indices, self.rates, self.out, self.right, x)
        return float(sums[0]), float(sums[1]), float(sums[2])

    def krylov(self, x: Array, reduction: float, most: int) -> tuple[Step, int]:
        """Find a change that brings the residual of `x` down by a factor.

        Parameters
        ----------
        x : (n,) ndarray
            The iterate.
        reduction : float
            The factor, below one.
        most : int
            Passes allowed.

        Returns
        -------
        step : Step
            The change and its size.
        passes : int
            Passes over the rates that it took.

        Notes
        -----
        BiCGSTAB [1]_ on the equations between a backward and a forward sweep; sizes are
        relative to `x`, so that small entries count as much as large ones.

        References
        ----------
        .. [1] van der Vorst 1992.
        """
        with np.errstate(all="ignore"):
            return self._bicgstab(x, reduction, most)

    def _bicgstab(self, x: Array, reduction: float, most: int) -> tuple[Step, int]:
        n = x.size
        weight = 1.0 / np.maximum(x, _SMALL) ** 2
        scale = float(np.sqrt(n))

        def dot(a: Array, b: Array) -> np.float64:  # no Python float: that cannot be divided by 0
            return np.float64(np.dot(a, b))

        # weighted vectors are made once each: those of a large chain do not stay in the cache
        r, room, change = np.empty(n), np.empty(n), np.zeros(n)
        _kernels.imbalance(*self._row_places, self.right, x, r)
        _kernels.backward(*self._row_places, r, room)
        one_sweep = np.sqrt(dot(room * weight, room))
        shadow = r * weight
        first = np.sqrt(dot(shadow, r))
        goal = max(reduction * first, _FLOOR * scale)
        p, rho = r.copy(), first * first
        v, t = np.empty(n), np.empty(n)
        passes = 2
        size = first
        while size > goal and passes < most:
            _kernels.swept(*self._row_places, p, room, v)
            alpha = rho / dot(shadow, v)
            change += alpha * p
            r -= alpha * v
            _kernels.swept(*self._row_places, r, room, t)
            passes += 2
            np.multiply(t, weight, out=room)
            square = dot(room, t)
            omega = dot(room, r) / square if square > 0.0 else 0.0
            change += omega * r
            r -= omega * t
            np.multiply(r, weight, out=room)
            size, before, rho = np.sqrt(dot(room, r)), rho, dot(shadow, r)
            beta = rho / before * alpha / omega if omega != 0.0 else np.nan
            if not (np.isfinite(beta) and size < 1e6 * first):
                break
            p -= omega * v
            p *= beta
            p += r
        _kernels.backward(*self._row_places, change, room)
        grown = np.sqrt(dot(room * weight, room)) / one_sweep if one_sweep > 0.0 else 1.0
        return Step(room, float(first / scale), float(grown)), passes

    @property
    def _row_places(self) -> tuple[Indices, Indices, Indices, Array, Array]:
        return self.indptr, self.middle, self.indices, self.rates, self.out


def _as_unsigned(places: NDArray[np.signedinteger]) -> Indices:
    """The same whole numbers, none of them negative, without a copy."""
    return places.view(np.dtype(f"u{places.dtype.itemsize}"))
