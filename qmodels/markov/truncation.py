"""A chain of unboundedly many levels cut off above one of them."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from scipy.sparse import block_array, csr_array

from phasefit.arrays import Ints
from qmodels.markov.qbd import QBD

#: Probability of a higher level that may be left out.
NOTHING: Final = 1e-12


def levels_above(decay: float) -> int:
    """Return how many levels above another are reached with hardly any probability.

    Parameters
    ----------
    decay : float
        Probability of a level over that of the level below it, far up.

    Examples
    --------
    >>> levels_above(0.5)
    42
    """
    return 2 if decay == 0.0 else math.ceil(math.log(NOTHING) / math.log(decay)) + 2


def cut_off(chain: QBD, top: int) -> tuple[csr_array, Ints]:
    """Return the rates among all states up to a level, and the level of each state.

    Parameters
    ----------
    chain : QBD
        Its last blocks hold for all levels above.
    top : int
        Highest level that is kept; whoever would go higher stays.

    Returns
    -------
    rates : (n, n) sparse array
        The diagonal is not meant.
    levels : (n,) ndarray of int
        Level of each state, not falling.
    """
    highest = len(chain.local) - 1
    at = [min(k, highest) for k in range(top + 1)]
    blocks: list[list[csr_array | None]] = [[None] * (top + 1) for _ in range(top + 1)]
    for k in range(top + 1):
        blocks[k][k] = csr_array(chain.local[at[k]])
        if k < top:
            blocks[k][k + 1] = csr_array(chain.up[at[k]])
            blocks[k + 1][k] = csr_array(chain.down[at[k]])
    sizes = [chain.local[k].shape[0] for k in at]
    return csr_array(block_array(blocks)), np.repeat(np.arange(top + 1), sizes)
