"""Levels of few phases each: their rates side by side in three vectors, solved in compiled loops.

Small matrices cost more to check, copy and hand over one by one than to reckon with.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from phasefit.arrays import Array, read_only
from qmodels.errors import ConvergenceError, ModelError
from qmodels.markov import _kernels
from qmodels.markov.doubling import TRAPPED
from qmodels.markov.elimination import balance
from qmodels.markov.sparse_rates import read_only_view

#: Phases of a level up to which loops are quicker than products of matrices: at 24 phases they take
#: .6 of the time, at 40 1.1 times as long.
FEW = 32


class SmallLevels(NamedTuple):
    """Rates of levels 0..b, row by row, level after level; read-only."""

    sizes: NDArray[np.int64]  #: phases of each level, (b + 1,)
    up: Array  #: rates to the next higher level
    local: Array  #: rates within a level
    down: Array  #: rates to the next lower level


def packed(blocks: Sequence[Array]) -> tuple[Array, tuple[Array, ...]]:
    """Put matrices into one vector that nobody can write to.

    Parameters
    ----------
    blocks : sequence of ndarray
        Matrices of any shape.

    Returns
    -------
    whole : (m,) ndarray
        All entries, matrix by matrix.
    views : tuple of ndarray
        The matrices as they are seen there.
    """
    whole = read_only(np.concatenate([block.ravel() for block in blocks]))
    views, first = [], 0
    for block in blocks:
        views.append(whole[first : first + block.size].reshape(block.shape))
        first += block.size
    return whole, tuple(views)


def few_returns(
    spread: Array, lead: Array, local: Array, down: Array, tol: float, max_steps: int
) -> tuple[Array, int]:
    """Find for few phases what `doubling.phases_of_return` does for any number.

    Parameters
    ----------
    spread : (n, r) ndarray
        Rate of the jumps up of each kind.
    lead : (r, n) ndarray
        Phase one level higher after a jump of each kind.
    local, down : (n, n) ndarray
        Rates within a level and to the next lower one.
    tol : float
        Share of an entry that what is left out may make up.
    max_steps : int
        Doublings allowed.

    Returns
    -------
    returns : (r, n) ndarray
        Probability of each phase on the return.
    steps : int
        Doublings that were made.

    Raises
    ------
    ModelError
        If some phase can never come down again.
    ConvergenceError
        If `max_steps` did not do.
    """
    returns = np.empty(lead.shape)
    spread, lead, local, down = (read_only_view(block) for block in (spread, lead, local, down))
    steps, missing = _kernels.phases_of_return(spread, lead, local, down, tol, max_steps, returns)
    if steps < 0:
        raise ModelError(TRAPPED.format(-1 - steps))
    if steps == 0:
        raise ConvergenceError("cyclic reduction", max_steps, missing, returns)
    return returns, steps


def censored(levels: SmallLevels, stay: Array) -> tuple[list[Array], list[float]]:
    """Return the probabilities of each level, which sum to one, and logarithms of the levels' weights.

    Parameters
    ----------
    levels : SmallLevels
        Rates of levels 0 to b.
    stay : (n, n) ndarray
        Rates within level b of the chain at it and above; it is destroyed.

    Raises
    ------
    ModelError
        If some state is never left.
    """
    sizes = levels.sizes
    climbs, logs = np.empty_like(levels.up), np.zeros(sizes.size)
    lowest, row = _kernels.censor(sizes, levels.up, levels.local, levels.down, stay, climbs)
    if row >= 0:
        raise ModelError(TRAPPED.format(row))
    probabilities = np.empty(int(sizes.sum()))
    probabilities[: sizes[0]] = balance(lowest, overwrite=True)
    _kernels.rise(sizes, climbs, probabilities, logs)
    return np.split(probabilities, np.cumsum(sizes[:-1])), logs.tolist()


def imbalance(levels: SmallLevels, pi: Sequence[Array]) -> float:
    """Return the sum of absolute (flow in - flow out) over the sum of the flows, levels 0 .. b + 1.

    Parameters
    ----------
    levels : SmallLevels
        Rates of levels 0 to b.
    pi : sequence of ndarray
        Probabilities of the levels 0 to b + 2.
    """
    off, flow = _kernels.imbalance(*levels, np.concatenate(pi))
    return off / flow if flow > 0.0 and math.isfinite(flow) else 0.0
