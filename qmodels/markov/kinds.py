"""Structure found in rates: jumps that lead to the same place, parts that move independently."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from phasefit.arrays import Array
from qmodels.markov import _kernels
from qmodels.markov.sparse_rates import Block, as_dense, read_only_view

Spread: TypeAlias = Array | csr_array

#: Up to this many phases, structure costs more than it saves.
SMALL = 64
#: Share of an entry by which it may differ from another, and still be the same up to rounding.
_ROUNDING = 2e-15
#: Least difference between the marks of rows that are not the same.
_APART = 1e-13


def kinds(up: Block) -> tuple[Spread, Array]:
    """Factor upward rates into how fast each phase jumps up and where each kind of jump leads.

    Rows proportional to each other up to rounding are of one kind; a kind's row sums to one.

    Parameters
    ----------
    up : (n, m) matrix
        Rates of the jumps up.

    Returns
    -------
    spread : (n, r) matrix
        Rate of the jumps of each kind.
    lead : (r, m) ndarray
        Phase one level higher after a jump of each kind.
    """
    n = up.shape[0]
    if n <= SMALL and isinstance(up, np.ndarray):
        return _kinds_of_few(up)
    speed = np.asarray(up.sum(axis=1))
    rows = np.flatnonzero(speed > 0.0)
    lead: Block
    if issparse(up):
        lead = csr_array(up)[rows]
        lead.data /= np.repeat(speed[rows], np.diff(lead.indptr))
    else:
        lead = up[rows] / speed[rows, None]
    mark = _row_marks(lead)
    order = np.argsort(mark, kind="stable")
    run = np.cumsum(np.diff(mark[order], prepend=-1.0) > _APART)
    first = order[np.searchsorted(run, run)]  # the leader of each row in that order
    leader = np.empty(rows.size, dtype=np.intp)
    leader[order] = np.where(_same_rows(lead[order], lead[first]), first, order)
    kept, kind = np.unique(leader, return_inverse=True)
    onto = as_dense(lead[kept])
    if n > SMALL:
        return csr_array((speed[rows], (rows, kind)), shape=(n, kept.size)), onto
    spread = np.zeros((n, kept.size))
    spread[rows, kind] = speed[rows]
    return spread, onto


def _kinds_of_few(up: Array) -> tuple[Array, Array]:
    """`kinds` of a small matrix, row by row beside all those found before."""
    n = len(up)
    speed, kind, lead = np.empty(n), np.empty(n, dtype=np.int64), np.empty(up.shape)
    count = _kernels.kinds_of_rows(read_only_view(up), _ROUNDING, speed, kind, lead)
    rows = np.flatnonzero(kind >= 0)
    spread = np.zeros((n, count))
    spread[rows, kind[rows]] = speed[rows]
    return spread, lead[:count].copy()


def places(lead: Array, among: Array) -> NDArray[np.intp] | None:
    """Return the row of `among` that equals each of `lead` up to rounding; None if one has none.

    Parameters
    ----------
    lead : (s, m) ndarray
        Rows to look for.
    among : (r, m) ndarray
        Rows to look among.
    """
    if lead.shape[1] != among.shape[1]:
        return None
    mark, wanted = _row_marks(among), _row_marks(lead)
    order = np.argsort(mark, kind="stable")
    at = np.searchsorted(mark[order], wanted - _APART)
    if at.max(initial=0) >= order.size:
        return None
    rows = order[at]
    return rows if _same_rows(lead, among[rows]).all() else None


def _row_marks(rows: Block) -> Array:
    """A number for each row; irrational weights make those of different rows differ."""
    weights = 0.5 + np.arange(1, rows.shape[1] + 1) * 0.6180339887498949 % 1.0
    return np.asarray(rows @ weights)


def _same_rows(first: Block, second: Block) -> NDArray[np.bool_]:
    """Return which rows of two matrices are the same up to rounding, entry by entry."""
    if issparse(first):
        beyond = abs(first - second) - _ROUNDING * second
        return np.asarray(beyond.max(axis=1).toarray().ravel() <= 0.0)
    return np.asarray((np.abs(first - second) <= _ROUNDING * second).all(axis=1))


def kronecker_terms(rates: Block) -> tuple[Array, Array] | None:
    """Return the rates of two parts of a state that move independently, or None.

    `rates` (n, n), with a zero diagonal, are then the Kronecker sum of the two: arrivals beside
    services, for one. Entries must agree to the last bit.

    Parameters
    ----------
    rates : (n, n) matrix
        With a zero diagonal.

    Returns
    -------
    tuple of ndarray or None
        Rates (p, p) and (q, q), with p q = n, whose Kronecker sum `rates` is.
    """
    n = rates.shape[0]
    if issparse(rates):
        entries = rates.tocoo()
        rows, columns, values = entries.row, entries.col, entries.data
    else:
        rows, columns = np.nonzero(rates)
        values = rates[rows, columns]
    if rows.size > n * (n // 2):
        return None
    for q in range(n // 2, 1, -1):
        if n % q:
            continue
        (i, a), (j, b) = np.divmod(rows, q), np.divmod(columns, q)
        inner = i == j
        outer = ~inner
        first, second = as_dense(rates[::q, ::q]), as_dense(rates[:q, :q])
        if (
            (a[outer] == b[outer]).all()
            and np.count_nonzero(outer) == q * np.count_nonzero(first)
            and np.count_nonzero(inner) == n // q * np.count_nonzero(second)
            and (values[outer] == first[i[outer], j[outer]]).all()
            and (values[inner] == second[a[inner], b[inner]]).all()
        ):
            return first, second
    return None


def times(dense: Array, spread: Spread) -> Array:
    """Return the product of a vector or matrix and a spread.

    Parameters
    ----------
    dense : (..., n) ndarray
        The left factor.
    spread : (n, r) matrix
        The right factor, as `kinds` returns it.
    """
    if isinstance(spread, np.ndarray):
        return np.asarray(dense @ spread)
    columns, width = spread.indices, spread.shape[1]
    if dense.ndim == 2 and np.bincount(columns, minlength=width).max(initial=0) == 1:
        # each column is one of the dense matrix: no need of its transpose, and of its memory
        source, factor = np.zeros(width, dtype=np.intp), np.zeros(width)
        source[columns] = np.repeat(np.arange(spread.shape[0]), np.diff(spread.indptr))
        factor[columns] = spread.data
        return np.multiply(product := np.take(dense, source, axis=1), factor, out=product)
    return np.ascontiguousarray((spread.T @ dense.T).T)
