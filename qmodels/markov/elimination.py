"""Systems with an M-matrix given by its off-diagonal part and its row sums, at the speed of BLAS.

Whoever knows the row sums need not know the diagonal, and whoever does not use the diagonal need
not subtract: every entry of a solution with a non-negative right side then has a small relative
error, however small the entry and however close to singular the matrix.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dtrsm
from scipy.sparse import csr_array, issparse
from scipy.sparse.csgraph import connected_components

from phasefit.arrays import Array
from qmodels.errors import ModelError
from qmodels.markov import _kernels
from qmodels.markov.ctmc import recurrent_class
from qmodels.markov.kinds import kronecker_terms
from qmodels.markov.sparse_rates import Block, as_dense, without_diagonal

#: Largest block eliminated row by row; above, two halves and a product of matrices. Threads of
#: BLAS wait for each other in small products on a busy machine, hence not smaller.
_LEAF = 96


@dataclass(frozen=True, eq=False)
class Factors:
    """LU factors of an M-matrix: both triangles in one matrix, pivots on the diagonal."""

    packed: Array  #: (n, n), the unit diagonal of L left out

    def solve(self, b: Array) -> Array:
        """Return the solution x of M x = b.

        Parameters
        ----------
        b : (n, m) or (n,) ndarray
            Right-hand sides, not negative.
        """
        columns = b if b.ndim == 2 else b[:, None]
        x = _solve_upper(self.packed, _solve_unit_lower(self.packed, columns))
        return x if b.ndim == 2 else x[:, 0]

    def solve_left(self, b: Array, *, overwrite: bool = False) -> Array:
        """Return the solution x of x M = b.

        Parameters
        ----------
        b : (m, n) or (n,) ndarray
            Left-hand sides, not negative.
        overwrite : bool
            Whether the solution may take the place of `b`.
        """
        rows = b if b.ndim == 2 else b[None, :]
        half = _solve_right_of_upper(self.packed, rows, overwrite=overwrite)
        x = dtrsm(1.0, self.packed.T, half.T, lower=0, diag=1, overwrite_b=1).T
        return np.asarray(x if b.ndim == 2 else x[0])


def factor(
    off: Array,
    excess: Array,
    *,
    trapped: str = "state {} is never left",
    overwrite: bool = False,
    names: NDArray[np.intp] | None = None,
) -> Factors:
    """Factor the M-matrix with off-diagonal part ``-off`` and row sums `excess`.

    Parameters
    ----------
    off : (n, n) ndarray
        Non-negative; the diagonal is not read.
    excess : (n,) ndarray
        Non-negative row sums of the matrix.
    trapped : str
        What to say, of which state, if the matrix is singular.
    overwrite : bool
        Whether the factors may take the place of `off`, a matrix of the caller's own.
    names : (n,) ndarray, optional
        Numbers by which the states are called there.

    Returns
    -------
    Factors
        Of the matrix, ready to solve with.

    Raises
    ------
    ModelError
        If a set of states has no excess and no way out: the matrix is singular.

    Notes
    -----
    Recursive elimination without subtractions [1]_: the pivots of the first half need the sums
    of the rows to its right, and those are eliminated like one more column. All other work is
    multiplying and adding non-negative matrices, 2/3 n^3 operations.

    References
    ----------
    .. [1] Alfa et al. 2002.

    Examples
    --------
    A matrix whose determinant, 1e-20, drowns in the rounding of its diagonal:

    >>> factors = factor(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([1e-20, 0.0]))
    >>> factors.solve(np.array([1.0, 1.0])) * 1e-20
    array([2., 2.])
    """
    packed = off if overwrite and off.flags.c_contiguous else np.array(off, dtype=float, order="C")
    row = _eliminate(packed, np.array(excess, dtype=float))
    if row >= 0:
        raise ModelError(trapped.format(row if names is None else names[row]))
    return _factors_of_packed(packed)


@dataclass(frozen=True, eq=False)
class PartFactors:
    """Factors of an M-matrix whose states fall into parts that do not lead to each other."""

    #: states of each part, and the factors of their rates
    parts: tuple[tuple[NDArray[np.intp], Factors], ...]

    def solve_left(self, b: Array, *, overwrite: bool = False) -> Array:
        """Return the solution x of x M = b, leaving out rows that are zero in a part.

        Parameters
        ----------
        b : (m, n) ndarray
            Left-hand sides, not negative.
        overwrite : bool
            Whether the solution may take the place of `b`.
        """
        x = b if overwrite else b.copy()
        for states, factors in self.parts:
            rows = np.flatnonzero(x[:, states].any(axis=1))
            place = np.ix_(rows, states)
            x[place] = factors.solve_left(x[place], overwrite=True)
        return x


def factor_apart(
    off: Array,
    excess: Array,
    *,
    trapped: str = "state {} is never left",
    names: NDArray[np.intp] | None = None,
) -> PartFactors:
    """Factor an M-matrix part by part, where no entry connects one part of the states to another.

    Parameters
    ----------
    off : (n, n) ndarray
        Non-negative; the diagonal is not read.
    excess : (n,) ndarray
        Non-negative row sums of the matrix.
    trapped : str
        Message for a state from which no way leads out.
    names : (n,) ndarray, optional
        Numbers by which the states are called there.

    Returns
    -------
    PartFactors
        Factors of each part.

    Raises
    ------
    ModelError
        If a set of states has no excess and no way out: the matrix is singular.
    """
    count, label = connected_components(csr_array(off), directed=False)
    parts = []
    for part in range(count):
        states = np.flatnonzero(label == part)
        named = states if names is None else names[states]
        inner = np.ascontiguousarray(off[np.ix_(states, states)])
        parts.append((states, factor(inner, excess[states], trapped=trapped, overwrite=True, names=named)))
    return PartFactors(tuple(parts))


def balance(off: Block, *, overwrite: bool = False) -> Array:
    """Return the stationary vector of the chain with given rates.

    The work of `qmodels.markov.stationary` on numbers known to be rates, faster for large n; a
    dense `off` may be overwritten if so wanted.

    Parameters
    ----------
    off : (n, n) matrix
        Rates; the diagonal is not read.
    overwrite : bool
        Whether a dense `off` may be overwritten.
    """
    if issparse(off):
        off = without_diagonal(csr_array(off))
        rates = off
    else:
        rates = off if overwrite else np.array(off, dtype=float, order="C")
        np.fill_diagonal(rates, 0.0)
    if rates.shape[0] > _LEAF and (terms := kronecker_terms(rates)) is not None:
        with suppress(ModelError):  # several classes: say so by the states of the whole
            return np.asarray(np.kron(balance(terms[0]), balance(terms[1])))
    rates = as_dense(rates)
    inside = recurrent_class(rates)
    if inside.size < len(rates):
        rates = np.ascontiguousarray(rates[np.ix_(inside, inside)])
    part = _balance_in_blocks(rates) if inside.size > _LEAF else None
    if part is None:
        part = np.empty(inside.size)
        _kernels.gth(rates, part)
    pi = np.zeros(off.shape[0])
    pi[inside] = part
    return pi


def _balance_in_blocks(rates: Array) -> Array | None:
    """`balance` of an irreducible chain; None if its probabilities span more than the floats do."""
    packed, excess = np.array(rates[1:, 1:], order="C"), np.array(rates[1:, 0])
    if _eliminate(packed, excess) >= 0:  # an exit too small for a float
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        rest = _factors_of_packed(packed).solve_left(rates[0, 1:])
        total = 1.0 + rest.sum()
    return np.append(1.0, rest) / total if np.isfinite(total) else None


def _factors_of_packed(eliminated: Array) -> Factors:
    np.negative(eliminated, out=eliminated)
    np.fill_diagonal(eliminated, -eliminated.diagonal())
    return Factors(eliminated)


def _eliminate(off: Array, excess: Array) -> int:
    """Do what `_kernels.eliminate` does, for any size."""
    n = excess.size
    if n <= _LEAF:
        block = np.array(off, order="C")
        row = int(_kernels.eliminate(block, excess))
        off[:] = block
        return row
    h = n // 2
    corner, right, below, rest = off[:h, :h], off[:h, h:], off[h:, :h], off[h:, h:]
    row = _eliminate(corner, excess[:h] + right.sum(axis=1))
    if row >= 0:
        return row
    packed = -corner
    np.fill_diagonal(packed, corner.diagonal())
    eliminated = _solve_unit_lower(packed, np.column_stack([right, excess[:h]]))
    right[:] = eliminated[:, :-1]
    below[:] = _solve_right_of_upper(packed, below)
    rest += below @ right
    excess[h:] += below @ eliminated[:, -1]
    row = _eliminate(rest, excess[h:])
    return h + row if row >= 0 else -1


# BLAS stores by columns: it is given transposes, so that lower reads upper and left right.


def _solve_unit_lower(packed: Array, b: Array) -> Array:
    return np.asarray(dtrsm(1.0, packed.T, b.T, side=1, lower=0, diag=1).T)


def _solve_upper(packed: Array, b: Array) -> Array:
    return np.asarray(dtrsm(1.0, packed.T, b.T, side=1, lower=1).T)


def _solve_right_of_upper(packed: Array, b: Array, *, overwrite: bool = False) -> Array:
    return np.asarray(dtrsm(1.0, packed.T, b.T, lower=1, overwrite_b=overwrite).T)
