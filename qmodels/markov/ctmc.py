"""Continuous-time Markov chains on a finite state space."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components

from phasefit.arrays import Array
from qmodels.errors import ModelError
from qmodels.markov import _kernels
from qmodels.markov.sparse_rates import only_closed_class

#: States up to which a loop over a matrix is quicker than to search it as a graph.
_FEW: Final = 96


def stationary(rates: ArrayLike) -> Array:
    """Return the stationary distribution of a chain with one recurrent class.

    Parameters
    ----------
    rates : (n, n) array_like
        Rate from state i to state j, in events per unit time; non-negative and finite. The
        diagonal is derived from the rest: leave it zero, or give that of the generator (it is
        checked, and not used).

    Returns
    -------
    pi : (n,) ndarray
        Long-run fraction of time in each state; zero in transient states.

    Raises
    ------
    ModelError
        If `rates` is not square, holds a negative or non-finite rate, contradicts itself on
        the diagonal, or has more than one recurrent class.

    Notes
    -----
    Elimination by Grassmann, Taksar & Heyman [1]_: O(n^3) time, O(n^2) memory, and small
    probabilities come out with full relative accuracy.

    References
    ----------
    .. [1] Grassmann et al. 1985.

    Examples
    --------
    A machine that breaks once a day and takes two hours to mend (rates per hour):

    >>> stationary([[0, 1 / 24], [1 / 2, 0]]).round(4)
    array([0.9231, 0.0769])
    """
    q = _checked_rates(rates)
    recurrent = recurrent_class(q)
    pi = np.zeros(len(q))
    inside = np.ascontiguousarray(q[np.ix_(recurrent, recurrent)])
    part = np.empty(recurrent.size)
    _kernels.gth(inside, part)
    pi[recurrent] = part
    return pi


def recurrent_class(q: Array) -> NDArray[np.intp]:
    """Return the states of the only class that the chain cannot leave.

    Parameters
    ----------
    q : (n, n) ndarray
        Rates from state to state.

    Raises
    ------
    ModelError
        If there are several such classes.
    """
    if len(q) <= _FEW and _kernels.connected(q):
        return np.arange(len(q))
    count = 1
    # what an elimination leaves often leads from everywhere to everywhere: nothing to search for
    if np.count_nonzero(q) - np.count_nonzero(q.diagonal()) < q.size - len(q):
        count, label = connected_components(q > 0, connection="strong")
    if count == 1:
        return np.arange(len(q))
    source, target = np.nonzero(q > 0)
    return only_closed_class(label, label[source], label[target])


def _checked_rates(rates: ArrayLike) -> Array:
    """Off-diagonal rates as a fresh array with a zero diagonal."""
    try:
        q = np.array(rates, dtype=float)
    except (TypeError, ValueError) as error:
        raise ModelError(f"rates must be a square matrix of numbers: {error}") from None
    if q.ndim != 2 or q.shape[0] != q.shape[1] or q.size == 0:
        raise ModelError(f"rates must be a non-empty square matrix, got shape {q.shape}")
    if not np.isfinite(q).all():
        i, j = np.argwhere(~np.isfinite(q))[0]
        raise ModelError(f"rate from state {i} to state {j} is {q[i, j]}, not a finite number")
    diagonal = q.diagonal().copy()
    np.fill_diagonal(q, 0.0)
    if q.min() < 0:
        i, j = np.unravel_index(q.argmin(), q.shape)
        raise ModelError(f"negative rate {q[i, j]:.6g} from state {i} to state {j}")
    gap = np.abs(diagonal + q.sum(axis=1))
    if diagonal.any() and (gap > 1e-8 * np.maximum(np.abs(diagonal), q.sum(axis=1))).any():
        worst = int(gap.argmax())
        raise ModelError(
            f"diagonal entry {worst} is {diagonal[worst]:.6g}, but the rates of that row sum to "
            f"{q[worst].sum():.6g}; leave the diagonal zero, it is derived"
        )
    return q
