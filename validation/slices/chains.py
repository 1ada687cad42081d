"""Chains of slices, told move by move."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from phasefit.arrays import Array


def stationary_law(moves: Iterable[tuple[int, int, float]], states: int) -> Array:
    """Return the probability of each state, (states,).

    Parameters
    ----------
    moves : iterable of (int, int, float)
        From where, to where, and at which rate; those that lead nowhere else do not count.
    states : int
        Number of states.
    """
    from scipy.sparse import coo_array

    from qmodels.markov import solve_chain

    source, target, rates = (np.array(column) for column in zip(*moves, strict=True))
    away = source != target
    rates = rates[away].astype(float)
    chain = coo_array((rates, (source[away], target[away])), shape=(states, states))
    return solve_chain(chain.tocsr()).probabilities
