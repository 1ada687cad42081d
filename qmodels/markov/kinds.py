"""Structure found in rates: jumps that lead to the same place, parts that move independently."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Spread: TypeAlias = Array | csr_array

#: Up to this many phases, structure costs more than it saves.
SMALL = 64


def kinds(up: Array) -> tuple[Spread, Array]:
    """Factors of `up` (n, m): how fast each phase jumps up (n, r), where each kind leads (r, m).

    Rows proportional to each other up to rounding are of one kind; a kind's row sums to one.
    """
    speed = up.sum(axis=1)
    rows = np.flatnonzero(speed > 0.0)
    if np.count_nonzero(up) == rows.size:  # one jump from each phase: its kind is where it leads
        lead, kind = _places(up[rows].argmax(axis=1), up.shape[1])
    else:
        lead, kind = _proportional(up[rows] / speed[rows, None])
    if len(up) > SMALL:
        ends = np.concatenate([[0], np.cumsum(speed > 0.0)])
        return csr_array((speed[rows], kind, ends), shape=(len(up), len(lead))), lead
    spread = np.zeros((len(up), len(lead)))
    spread[rows, kind] = speed[rows]
    return spread, lead


def _places(columns: Indices, count: int) -> tuple[Array, Indices]:
    """Leads of the kinds (r, count) where each row has one place, and the kind of each row."""
    places, first, kind = np.unique(columns, return_index=True, return_inverse=True)
    order = np.argsort(first)  # as they are met, row by row
    lead = np.zeros((places.size, count))
    lead[np.arange(places.size), places[order]] = 1.0
    number = np.empty_like(order)
    number[order] = np.arange(order.size)
    return lead, number[kind]


def _proportional(lead: Array) -> tuple[Array, Indices]:
    """Leads of the kinds, of leads (rows, m) of which some are the same but for rounding."""
    # proportional rows agree in any weighted sum; irrational weights make others differ
    mark = lead @ (0.5 + np.arange(1, lead.shape[1] + 1) * 0.6180339887498949 % 1.0)
    order = np.argsort(mark, kind="stable")
    run = np.cumsum(np.diff(mark[order], prepend=-1.0) > 1e-13)
    first = order[np.searchsorted(run, run)]  # the leader of each row in that order
    close = np.abs(lead[order] - lead[first]) <= 2e-15 * lead[first]
    leader = np.empty(len(lead), dtype=np.intp)
    leader[order] = np.where(close.all(axis=1), first, order)
    kept, kind = np.unique(leader, return_inverse=True)
    return lead[kept], kind


def kronecker_terms(rates: Array) -> tuple[Array, Array] | None:
    """Rates of two parts of a state that move independently, (p, p) and (q, q), pq = n, or None.

    `rates` (n, n), with a zero diagonal, are then the Kronecker sum of the two: arrivals beside
    services, for one. Entries must agree to the last bit.
    """
    n = len(rates)
    rows, columns = np.nonzero(rates)
    if rows.size > n * (n // 2):
        return None
    values = rates[rows, columns]
    for q in range(n // 2, 1, -1):
        if n % q:
            continue
        (i, a), (j, b) = np.divmod(rows, q), np.divmod(columns, q)
        inner = i == j
        outer = ~inner
        first, second = rates[::q, ::q], rates[:q, :q]
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
    """Product of a vector or matrix and a spread."""
    if isinstance(spread, np.ndarray):
        return np.asarray(dense @ spread)
    return np.ascontiguousarray((spread.T @ dense.T).T)
