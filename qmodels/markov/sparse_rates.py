"""Rates of a large chain as a sparse matrix: checked, without a diagonal, split into classes."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csc_array, csr_array, issparse
from scipy.sparse.csgraph import connected_components

from phasefit.arrays import Array, Indices, read_only
from phasefit.checks import real_array
from qmodels.errors import ModelError
from qmodels.markov.sweeps import _kernels

Block: TypeAlias = Any  # a dense array or a csr_array: what one can do, the other can


def checked_rates(rates: ArrayLike | csr_array, name: str = "rates") -> csr_array:
    """Return `rates` as a square sparse matrix of finite numbers >= 0 without a diagonal.

    Parameters
    ----------
    rates : (n, n) array_like or sparse array
        Rate from state i to state j; the diagonal is dropped.
    name : str
        Name of the argument, for the message.

    Raises
    ------
    ModelError
        If it is no such matrix.
    """
    matrix = checked_block(name, rates)
    n, m = matrix.shape
    if n != m or n == 0:
        raise ModelError(f"{name} must be a non-empty square matrix, got shape {matrix.shape}")
    return without_diagonal(matrix)


def checked_block(name: str, block: ArrayLike | csr_array) -> csr_array:
    """Return `block` as a sparse matrix of finite numbers >= 0, rows in order, without stored zeros.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    block : (n, m) array_like or sparse array
        Rates.

    Raises
    ------
    ModelError
        If it is no such matrix; the message names the first bad entry.
    """
    if issparse(block):
        matrix_in: Any = block
        if matrix_in.ndim != 2:
            raise ModelError(f"{name} must be a matrix, got shape {matrix_in.shape}")
        if matrix_in.dtype.kind not in "iuf":
            raise ModelError(f"{name} must be real numbers, got entries of type {matrix_in.dtype}")
        matrix = csr_array(matrix_in, dtype=float)
        if not matrix.has_canonical_format:
            matrix = matrix.copy()  # what is tidied up must not be the caller's
            matrix.sum_duplicates()
    else:
        dense = real_array(name, block)
        if dense.ndim != 2:
            raise ModelError(f"{name} must be a square matrix, got shape {dense.shape}")
        matrix = csr_array(dense)
    data = matrix.data
    bad = ~np.isfinite(data)
    bad |= data < 0.0
    if bad.any():
        k = int(bad.argmax())
        i = int(np.searchsorted(matrix.indptr, k, side="right")) - 1
        j, rate = int(matrix.indices[k]), float(data[k])
        if not np.isfinite(rate):
            raise ModelError(f"{name}: entry {i}, {j} is {rate}, not a finite number")
        hint = "; leave the diagonal out, it is derived" if i == j else ""
        raise ModelError(f"{name}: negative rate {rate:.6g} from state {i} to state {j}{hint}")
    if not data.all():
        matrix = matrix.copy()
        matrix.eliminate_zeros()
    return matrix


def as_dense(block: Block) -> Array:
    """Return a block as a dense array, which may be the block itself.

    Parameters
    ----------
    block : matrix
        Dense or sparse.
    """
    return np.asarray(block.toarray() if issparse(block) else block)


def read_only_view(dense: Array) -> Array:
    """Return a view that nobody can write to, so that compiled loops meet one type of rates only.

    Parameters
    ----------
    dense : ndarray
        Any shape.
    """
    return read_only(np.ascontiguousarray(dense).view())


def added(dense: Array, block: Block) -> Array:
    """Return the sum of a matrix, whose place it takes, and a block.

    Parameters
    ----------
    dense : (n, m) ndarray
        Overwritten.
    block : (n, m) matrix
        Dense or sparse.
    """
    if issparse(block):
        entries = block.tocoo()
        dense[entries.row, entries.col] += entries.data
    else:
        dense += block
    return dense


def without_diagonal(matrix: csr_array) -> csr_array:
    """Return the matrix without its diagonal: a jump to the same state changes nothing.

    Parameters
    ----------
    matrix : (n, n) sparse array
        Rates.
    """
    if not matrix.diagonal().any():
        return matrix
    # In place of a detour over lists of rows and columns, which took four times the memory.
    starts, columns = matrix.indptr, matrix.indices
    rows = np.repeat(np.arange(len(starts) - 1, dtype=columns.dtype), np.diff(starts))
    off = rows != columns
    gone = np.bincount(rows[~off], minlength=len(starts) - 1)
    del rows
    left = starts.copy()
    left[1:] -= np.cumsum(gone, dtype=starts.dtype)
    return csr_array((matrix.data[off], columns[off], left), shape=matrix.shape)


def recurrent_states(rates: csr_array) -> Indices:
    """Return the states of the only class that the chain cannot leave.

    Parameters
    ----------
    rates : (n, n) sparse array
        Rates, without stored zeros.

    Raises
    ------
    ModelError
        If there are several such classes.
    """
    count, label = connected_components(rates, connection="strong")
    if count == 1:
        return np.arange(rates.shape[0])
    return only_closed_class(label, np.repeat(label, np.diff(rates.indptr)), label[rates.indices])


def only_closed_class(label: Indices, source: Indices, target: Indices) -> Indices:
    """Return the states of the only class that no rate leaves.

    Parameters
    ----------
    label : (n,) ndarray of int
        Class of each state.
    source, target : (m,) ndarray of int
        Classes that the rates lead from and to.

    Raises
    ------
    ModelError
        If there are several such classes.
    """
    leaving = np.unique(source[source != target])
    closed = np.setdiff1d(np.arange(label.max() + 1), leaving)
    if closed.size > 1:
        examples = [int(np.flatnonzero(label == c)[0]) for c in closed[:2]]
        raise ModelError(
            f"the chain has {closed.size} recurrent classes (state {examples[0]} and state "
            f"{examples[1]} never reach each other): its stationary distribution is not unique"
        )
    return np.flatnonzero(label == closed[0])


def inflow(rates: csr_array) -> csc_array:
    """Return the rates by where they lead: column j holds what flows into state j.

    Parameters
    ----------
    rates : (n, n) sparse array
        Rates.
    """
    into = rates.tocsc()
    into.sort_indices()
    return into


def levels_by_distance(rates: csr_array) -> Indices:
    """Return the level of each state: its distance from one at the edge, in either direction.

    Parameters
    ----------
    rates : (n, n) sparse array
        Rates of a connected chain.
    """
    both = csr_array(rates + rates.T)
    level = _distance(both, 0)
    for _ in range(4):  # from one edge to the other, as long as that makes more levels
        last = np.flatnonzero(level == level.max())
        farther = _distance(both, int(last[np.diff(both.indptr)[last].argmin()]))
        if farther.max() <= level.max():
            break
        level = farther
    return level


def _distance(both: csr_array, start: int) -> Indices:
    level = np.full(both.shape[0], -1, dtype=np.intp)
    _kernels.distances(both.indptr, both.indices, start, level, np.empty_like(level))
    return level


def checked_levels(levels: ArrayLike, states: int) -> Indices:
    """Return `levels` as whole numbers from zero on, none left out.

    Parameters
    ----------
    levels : (n,) array_like
        Level of each state.
    states : int
        Number of states.

    Raises
    ------
    ModelError
        If these are no such levels.
    """
    try:
        array = np.asarray(levels)
    except ValueError as error:
        raise ModelError(f"levels must be whole numbers: {error}") from None
    if array.dtype.kind not in "iu" or array.shape != (states,):
        raise ModelError(
            f"levels must be {states} whole numbers, one for each state; got "
            f"{array.dtype} of shape {array.shape}"
        )
    if array.min() != 0 or array.max() >= states or not np.bincount(array).all():
        raise ModelError(f"levels must be 0, 1, 2, ... with none left out; got {np.unique(array)[:5]} ...")
    return np.asarray(array, dtype=np.intp)
