"""Fluid that rises and falls at unit speed as a chain of states tells it: where it returns."""

from __future__ import annotations

import numpy as np

from phasefit.arrays import Array
from qmodels.markov.reduction import solve_levels

#: Changes of an entry of the result that count no more, and doubling steps allowed.
_TOL, _STEPS = 1e-18, 64


def first_return(rising: Array, turn: Array, falling: Array, turn_back: Array) -> Array:
    """Return the state in which a fluid first falls below the height at which it began.

    Parameters
    ----------
    rising : (u, u) ndarray
        Rates among the states in which it rises by one in a unit of time; the diagonal is not
        read.
    turn : (u, d) ndarray
        Rates from these to the states in which it falls by one.
    falling : (d, d) ndarray
        Rates among the latter; the diagonal is not read.
    turn_back : (d, u) ndarray
        Rates from these to the former.

    Returns
    -------
    (u, d) ndarray
        Probability of coming back in each state, from each state in which the rise begins.

    Raises
    ------
    UnstableError
        If the fluid rises for ever.

    Notes
    -----
    The result Psi solves ``turn + U Psi + Psi D + Psi turn_back Psi = 0``, U and D the rates with
    their diagonals. It is a corner of G of a quasi-birth-death chain [1]_, which `solve_levels`
    solves without subtractions; the one taken here is of numbers that differ by half at least.

    References
    ----------
    .. [1] A. da Silva Soares, G. Latouche, "Further results on the similarity between fluid queues
       and QBDs", in *Matrix-Analytic Methods: Theory and Applications*, World Scientific 2002,
       89-106.

    Examples
    --------
    Rises end at rate 2, falls at rate 1, so that every rise is undone:

    >>> one = np.ones((1, 1))
    >>> first_return(0 * one, 2 * one, 0 * one, one).round(12)
    array([[1.]])
    """
    u, d = turn.shape
    within_up, within_down = rising.copy(), falling.copy()
    np.fill_diagonal(within_up, 0.0)
    np.fill_diagonal(within_down, 0.0)
    out_up = within_up.sum(axis=1) + turn.sum(axis=1)
    out_down = within_down.sum(axis=1) + turn_back.sum(axis=1)
    step = 2.0 * max(float(out_up.max()), float(out_down.max()))
    up, local, down = np.zeros((3, u + d, u + d))
    up[:u, :u] = 0.5 * np.eye(u)
    local[:u, :u], local[u:, :u] = 0.5 * within_up / step, turn_back / step
    down[:u, u:] = 0.5 * turn / step
    down[u:, u:] = within_down / step + np.diag(1.0 - out_down / step)
    levels = solve_levels(up, local, down, _TOL, _STEPS)
    return np.asarray(levels.first_passage()[:u, u:])
