"""Rates put together from those of parts that move side by side, as rows, columns and values.

A large chain is a sum of Kronecker products of small matrices. As lists of entries each of these is
a sum and a product of numbers; only their sum is made a matrix.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from phasefit.arrays import Array
from qmodels.networks.occupancy import Entries, sorted_csr


class Moves(NamedTuple):
    """Entries of a sparse matrix (n, m), in any order; those of equal places add up."""

    rows: NDArray[np.integer]  #: row of each entry, (k,)
    columns: NDArray[np.integer]  #: column of each entry, (k,)
    values: Array  #: value of each entry, (k,)
    shape: tuple[int, int]  #: of the matrix

    @classmethod
    def of(cls, matrix: Array | csr_array) -> Moves:
        """Return the entries of a matrix, dense or sparse.

        Parameters
        ----------
        matrix : (n, m) ndarray or sparse array
            The matrix.
        """
        if isinstance(matrix, np.ndarray):
            rows, columns = np.nonzero(matrix)
            return cls(rows, columns, matrix[rows, columns], matrix.shape)
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        return cls(rows, matrix.indices, matrix.data, matrix.shape)

    @classmethod
    def collected(cls, entries: Entries, n: int) -> Moves:
        """Return entries of a square matrix that were collected.

        Parameters
        ----------
        entries : Entries
            The collection.
        n : int
            Rows of the matrix.
        """
        if not entries.parts:
            return cls(np.arange(0), np.arange(0), np.zeros(0), (n, n))
        rows, columns, values = (np.concatenate(part) for part in zip(*entries.parts, strict=True))
        return cls(rows, columns, values, (n, n))

    @classmethod
    def diagonal(cls, values: Array) -> Moves:
        """Return the entries of a diagonal matrix.

        Parameters
        ----------
        values : (n,) ndarray
            The diagonal.
        """
        every = np.arange(values.size)
        return cls(every, every, values, (values.size, values.size))

    @classmethod
    def none(cls, n: int) -> Moves:
        """Return the identity: a part that stays as it is.

        Parameters
        ----------
        n : int
            Rows of the matrix.
        """
        return cls.diagonal(np.ones(n))

    def beside(self, other: Moves) -> Moves:
        """Return the Kronecker product: two parts of a state, each with its move.

        Parameters
        ----------
        other : Moves
            Of the second part.
        """
        n, m = other.shape
        return Moves(
            (self.rows[:, None] * n + other.rows).ravel(),
            (self.columns[:, None] * m + other.columns).ravel(),
            (self.values[:, None] * other.values).ravel(),
            (self.shape[0] * n, self.shape[1] * m),
        )

    def placed(self, row: int, column: int) -> Moves:
        """Return the same moves of states that are numbered from other ones on.

        Parameters
        ----------
        row, column : int
            Number of the first state before and after the move.
        """
        return self._replace(rows=self.rows + row, columns=self.columns + column)


def rates_of(moves: Iterable[Moves], n: int) -> csr_array:
    """Return the rates of n states, whose moves add up; jumps that lead nowhere are dropped.

    Parameters
    ----------
    moves : iterable of Moves
        The moves.
    n : int
        Number of states.
    """
    parts = list(moves)
    rows, columns, values = (np.concatenate([part[i] for part in parts]) for i in range(3))
    there = rows != columns
    if not there.all():
        rows, columns, values = rows[there], columns[there], values[there]
    return sorted_csr(coo_array((values, (rows, columns)), shape=(n, n)).tocsr())
