"""Slopes of the mean level of a chain in its rates, all of them for about one more solution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.linalg import lu_factor, lu_solve
from scipy.sparse import issparse

from phasefit.arrays import Array
from qmodels.errors import ModelError
from qmodels.markov.qbd import QBD
from qmodels.markov.qbd_solution import QBDSolution
from qmodels.markov.sparse_rates import Block, as_dense

#: Doublings that sum up the levels without end; each doubles how many are summed.
_DOUBLINGS: Final = 64


@dataclass(frozen=True, eq=False)
class LevelSlopes:
    """Slopes of the mean level of a chain in its rates, block by block.

    Entry (i, j) of a block holds P(i) (g_j - g_i): what one more unit of the rate from i to j
    does, with g the relative values of the states. Make it with `level_slopes`.
    """

    up: tuple[Array, ...]  #: for each block of `QBD.up`
    local: tuple[Array, ...]  #: for each block of `QBD.local`
    down: tuple[Array, ...]  #: for each block of `QBD.down`

    def along(self, less: QBD, more: QBD) -> float:
        """Return the change of the mean level, to first order, between two neighbouring chains.

        Parameters
        ----------
        less, more : QBD
            With levels and phases as those of the chain that the slopes are of.

        Returns
        -------
        float
            Of the mean level; divide it by the step of whatever parameter separates the two.

        Raises
        ------
        ModelError
            If the chains have other levels or phases.
        """
        total = 0.0
        for name in ("up", "local", "down"):
            blocks = getattr(self, name), getattr(less, name), getattr(more, name)
            if len({len(each) for each in blocks}) > 1:
                raise ModelError("the chains have other numbers of levels; their slopes are not known")
            for slope, one, other in zip(*blocks, strict=True):
                if not slope.shape == one.shape == other.shape:
                    raise ModelError("the chains have other phases; their slopes are not known")
                total += _weighted(slope, one, other)
        return total


def level_slopes(qbd: QBD, solution: QBDSolution) -> LevelSlopes:
    """Return the slopes of the mean level of a chain in each of its rates.

    Parameters
    ----------
    qbd : QBD
        The chain.
    solution : QBDSolution
        Its steady state, from `solve_qbd`.

    Returns
    -------
    LevelSlopes
        For any number of parameters at once.

    Notes
    -----
    With N the level and g the solution of Poisson's equation ``Q g = E[N] - N``, a change dQ of the
    rates changes the mean by ``pi dQ g`` [1]_. From level b on g follows the levels down:
    ``g_k = G g_{k-1} + u + (k - E[N]) t`` with t the mean time until the next lower level and u the
    mean sum of the levels above k meanwhile. The sum over the levels without end takes a few
    doublings. Close to saturation it is as accurate as E[N], and less by another factor
    1 / (1 - load).

    References
    ----------
    .. [1] Cao and Chen 1997.

    Examples
    --------
    The mean of the M/M/1 queue at load r is r / (1 - r), so its slope at .5 is 4:

    >>> from qmodels.markov import solve_qbd
    >>> def queue(load):
    ...     one = np.ones((1, 1))
    ...     return QBD(up=[load * one], local=[0 * one], down=[one])
    >>> slopes = level_slopes(queue(0.5), solve_qbd(queue(0.5)))
    >>> round(slopes.along(queue(0.5), queue(0.501)) / 0.001, 9)
    4.0
    """
    mean, b = solution.mean_level(), len(qbd.local) - 1
    returns = np.asarray(solution.first_passage)
    time, above = _until_lower(qbd, returns)
    values = _values(qbd, returns, above + (b + 1.0 - mean) * time, mean)
    pi = solution.boundary
    # Level k >= b by (g_k, 1, k + 1 - E[N]); one step up is a product with `step`.
    n = time.size
    step = np.zeros((n + 2, n + 2))
    step[:n, :n], step[:n, n], step[:n, n + 1] = returns, above, time
    step[n, n] = step[n + 1, n] = step[n + 1, n + 1] = 1.0
    start = np.concatenate([values[b], [1.0, b + 1.0 - mean]])
    high = _summed(np.outer(start, pi[b]), step, np.asarray(solution.rate))
    here, higher = high[:n], (step @ high)[:n]
    lower = (high @ solution.rate)[:n]  # g_{k-1} beside P(level k), for k > b
    own = np.diagonal(here)
    own_above = own - values[b] * pi[b]

    up = [_differences(pi[k], values[k], values[k + 1]) for k in range(b)]
    local = [_differences(pi[k], values[k], values[k]) for k in range(b)]
    down = [_differences(pi[k + 1], values[k + 1], values[k]) for k in range(b)]
    up.append(higher.T - own[:, None])
    inside = here.T - own[:, None]
    np.fill_diagonal(inside, 0.0)
    local.append(inside)
    down.append(lower.T - own_above[:, None])
    return LevelSlopes(tuple(up), tuple(local), tuple(down))


def _until_lower(qbd: QBD, returns: Array) -> tuple[Array, Array]:
    """Mean time from a high level to the next lower, and mean sum of the levels above it meanwhile."""
    up, local, down = (as_dense(blocks[-1]) for blocks in (qbd.up, qbd.local, qbd.down))
    rates_out = up.sum(axis=1) + _off_diagonal(local).sum(axis=1) + down.sum(axis=1)
    factors = lu_factor(np.diag(rates_out) - _off_diagonal(local) - up @ returns - up)
    time = lu_solve(factors, np.ones(len(up)))
    return time, lu_solve(factors, up @ time)


def _values(qbd: QBD, returns: Array, beyond: Array, mean: float) -> list[Array]:
    """Relative values g of the states of levels 0..b; `beyond` is what level b + 1 adds to G g_b."""
    steps: list[tuple[Array, Array]] = []
    b = len(qbd.local) - 1
    for k in range(b, -1, -1):
        up, local = as_dense(qbd.up[k]), _off_diagonal(as_dense(qbd.local[k]))
        below = as_dense(qbd.down[k - 1]) if k else np.zeros((len(local), 0))
        rates_out = up.sum(axis=1) + local.sum(axis=1) + below.sum(axis=1)
        matrix = np.diag(rates_out) - local - up @ returns
        right = (k - mean) + up @ beyond
        if k == 0:
            # Values are known but for a constant, which no difference of them holds.
            values = [np.asarray(np.linalg.lstsq(matrix, right, rcond=None)[0])]
            break
        solved = lu_solve(lu_factor(matrix), np.column_stack([below, right]))
        returns, beyond = solved[:, :-1], solved[:, -1]
        steps.append((returns, beyond))
    for returns, beyond in reversed(steps):
        values.append(returns @ values[-1] + beyond)
    return values


def _summed(first: Array, left: Array, right: Array) -> Array:
    """Sum of left^j first right^j over j >= 0."""
    total = first
    for _ in range(_DOUBLINGS):
        term = left @ total @ right
        total = total + term
        if np.abs(term).max() <= 1e-17 * np.abs(total).max():
            break
        left, right = left @ left, right @ right
    return total


def _differences(probabilities: Array, own: Array, other: Array) -> Array:
    """P(i) (g_j - g_i) for states i of a level and j of another."""
    return np.asarray(probabilities[:, None] * (other[None, :] - own[:, None]))


def _off_diagonal(matrix: Array) -> Array:
    return np.asarray(matrix - np.diag(np.diagonal(matrix)))


def _weighted(slope: Array, one: Block, other: Block) -> float:
    """Sum over the entries of slopes times the differences of two blocks."""
    difference = other - one
    if issparse(difference):
        entries = difference.tocoo()
        return float(slope[entries.row, entries.col] @ entries.data)
    return float(np.vdot(slope, difference))
