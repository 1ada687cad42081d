"""Finite chains that move by one level at a time: one elimination per level."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import block_array, csr_array, issparse

from phasefit.arrays import Array, read_only
from phasefit.checks import one_of, real_array
from phasefit.records import Drawing, Result, data_frame
from qmodels.errors import ModelError
from qmodels.markov.elimination import balance, factor
from qmodels.markov.sparse_rates import Block, checked_block, recurrent_states, without_diagonal
from qmodels.markov.sweeps import _kernels
from qmodels.memory import check_memory, memory_limit

if TYPE_CHECKING:
    import pandas as pd


DIRECTIONS: Final = ("auto", "forward", "backward")
_EPS: Final = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class BlockTridiagonalSolution(Result):
    """Stationary distribution of a chain in levels, and how far to trust it."""

    drawing = Drawing("level", "probability")

    levels: tuple[Array, ...]  #: probability of each state of each level
    method: str  #: "forward" or "backward"
    residual: float  #: sum of absolute (flow in - flow out) of the states over the sum of the flows
    error_estimate: float  #: largest relative error of a probability to expect, 4 n u
    states: int  #: number of states of the chain
    seconds: float  #: time that the solution took

    @property
    def masses(self) -> Array:
        """Probability of each level, (number of levels,)."""
        return np.array([math.fsum(pi) for pi in self.levels])

    def moment(self, k: int) -> float:
        """Return the mean of the k-th power of the level.

        Parameters
        ----------
        k : int
            Order of the moment, not negative.
        """
        return math.fsum(mass * float(i) ** k for i, mass in enumerate(self.masses))

    def table(self) -> str:
        """Return the probability of each level, as lines of text."""
        rows = [f"{i:>6}  {mass:.6e}" for i, mass in enumerate(self.masses)]
        return "\n".join(["level   probability", *rows])

    def to_frame(self) -> pd.DataFrame:
        """Return one row per level: its number of states and its probability."""
        sizes = [pi.size for pi in self.levels]
        return data_frame({"level": range(len(sizes)), "states": sizes, "probability": self.masses})


def solve_block_tridiagonal(
    up: Sequence[ArrayLike | csr_array],
    local: Sequence[ArrayLike | csr_array],
    down: Sequence[ArrayLike | csr_array],
    *,
    direction: str = "auto",
    memory: float | None = None,
) -> BlockTridiagonalSolution:
    """Return the stationary distribution of a finite chain that moves by one level at a time.

    Parameters
    ----------
    up : sequence of (n_k, n_{k+1}) arrays
        ``up[k]``: rates from level k to level k + 1, one matrix fewer than levels.
    local : sequence of (n_k, n_k) arrays
        ``local[k]``: rates within level k. Rates only: the diagonal is derived, and what is
        given on it, a jump to the same state, is not read.
    down : sequence of (n_{k+1}, n_k) arrays
        ``down[k]``: rates from level k + 1 to level k, one matrix fewer than levels.
    direction : {"auto", "forward", "backward"}
        Whether to eliminate from level 0 upward or from the last level downward; "auto" takes
        the one with less work. The result is the same to rounding.
    memory : float, optional
        Bytes that may be taken beside the blocks; by default half of the machine's.

    Returns
    -------
    BlockTridiagonalSolution
        Probabilities level by level, and how far to trust them.

    Raises
    ------
    ModelError
        If shapes do not fit, a rate is negative or not finite, or the chain has several
        recurrent classes.
    MemoryBudgetError
        If the elimination would not fit; nothing has been allocated then.

    Notes
    -----
    Equations (9)-(13) of [1]_, the levels eliminated in one direction all the way: R_k, the
    rates of the chain watched at level k and beyond, is factorised once per level and
    ``pi_k = pi_{k+1} down_k (-R_k)^-1``. Row sums of R_k are known to be the rates of leaving
    upward, so that its diagonal is derived and nothing is subtracted [2]_; levels are scaled by
    powers of two, whatever the drift. Blocks may be sparse.

    References
    ----------
    .. [1] Rosti et al. 1998, sec. 3.2.
    .. [2] Grassmann et al. 1985.

    Examples
    --------
    Two processors that compute for 2 s between bursts of 1 s at one disk:

    >>> found = solve_block_tridiagonal(up=[[[1.0]], [[0.5]]], local=[[[0.0]]] * 3,
    ...                                 down=[[[1.0]], [[1.0]]])
    >>> [round(float(pi[0]), 6) for pi in found.levels]
    [0.4, 0.4, 0.2]
    """
    one_of("direction", direction, DIRECTIONS)
    limit = memory_limit(memory)
    started = time.perf_counter()
    blocks = _checked_blocks(up, local, down)
    sizes = [block.shape[0] for block in blocks[1]]
    plan = plan_levels(sizes, _row_counts(blocks[0]), _row_counts(blocks[2]), direction)
    check_memory(
        f"the elimination of {len(sizes)} levels of up to {max(sizes)} states",
        plan.bytes,
        limit,
        "take solve_chain, which iterates, or raise memory",
    )
    levels = eliminate_levels(*blocks, plan.direction)
    for pi in levels:
        read_only(pi)
    states = sum(pi.size for pi in levels)
    return BlockTridiagonalSolution(
        levels,
        plan.direction,
        _residual(*blocks, levels),
        4.0 * states * _EPS,
        states,
        time.perf_counter() - started,
    )


class Plan(NamedTuple):
    """Cost of an elimination of levels."""

    direction: str  #: "forward" or "backward"
    bytes: float  #: at the peak, beside the blocks
    work: float  #: multiplications


def plan_levels(
    sizes: Sequence[int], up_rows: Sequence[int], down_rows: Sequence[int], direction: str
) -> Plan:
    """Return the cost of eliminating levels of given sizes.

    Parameters
    ----------
    sizes : sequence of int
        Number of states of each level.
    up_rows, down_rows : sequence of int
        Number of states of each level that lead one level up, or down.
    direction : {"auto", "forward", "backward"}
        As for `solve_block_tridiagonal`; "auto" takes the one with less work.
    """
    forward = Plan("forward", *_cost(sizes, down_rows))
    backward = Plan("backward", *_cost(sizes[::-1], up_rows[::-1]))
    if direction == "auto":
        return forward if forward.work <= backward.work else backward
    return forward if direction == "forward" else backward


def _cost(sizes: Sequence[int], rows: Sequence[int]) -> tuple[float, float]:
    """Bytes and multiplications; ``rows[k]`` states lead back to the k-th level."""
    n = [float(size) for size in sizes]
    kept = sum(a * float(r) for a, r in zip(n, rows, strict=False))
    work = sum(a**3 / 3.0 + a * a * float(r) for a, r in zip(n, rows, strict=False))
    return 8.0 * (kept + 6.0 * max(n) ** 2), work + n[-1] ** 3 / 3.0


def eliminate_levels(
    up: Sequence[Block], local: Sequence[Block], down: Sequence[Block], direction: str
) -> tuple[Array, ...]:
    """Return the probabilities of the states of each level; the blocks are checked already.

    Parameters
    ----------
    up, local, down : sequence of matrices
        Rates to the next level, within a level and to the one before.
    direction : {"forward", "backward"}
        From which end levels are eliminated.
    """
    try:
        if direction == "forward":
            return _forward_elimination(up, local, down)
        return _forward_elimination(down[::-1], local[::-1], up[::-1])[::-1]
    except ModelError:  # some states are transient, or there are several recurrent classes
        return _recurrent_levels(up, local, down, direction)


def _forward_elimination(
    up: Sequence[Block], local: Sequence[Block], down: Sequence[Block]
) -> tuple[Array, ...]:
    """Eliminate the levels from the first on and come back from the last."""
    stay = _fresh_dense(local[0])
    returns: list[tuple[NDArray[np.intp], Array]] = []  # pi_k = pi_{k+1}[rows] @ matrix
    for k, (onward, back) in enumerate(zip(up, down, strict=True)):
        factors = factor(stay, np.asarray(onward.sum(axis=1)))
        rows, leading = _rows_of(back)
        visits = factors.solve_left(leading)
        del factors
        stay = _fresh_dense(local[k + 1])
        _add_product(visits, onward, rows, stay)
        returns.append((rows, visits))
    levels, scales = [balance(stay)], [0]
    for rows, visits in reversed(returns):
        below = levels[-1][rows] @ visits
        # powers of two, not logarithms: those of small levels would lose digits
        exponent = math.frexp(float(below.sum()))[1]
        levels.append(np.ldexp(below, -exponent))
        scales.append(scales[-1] + exponent)
    highest = max(scales)
    levels = [np.ldexp(pi, scale - highest) for pi, scale in zip(levels, scales, strict=True)]
    total = math.fsum(float(pi.sum()) for pi in levels)
    return tuple(pi / total for pi in levels)[::-1]


def _recurrent_levels(
    up: Sequence[Block], local: Sequence[Block], down: Sequence[Block], direction: str
) -> tuple[Array, ...]:
    """Solve among the recurrent states; the others have no share."""
    sizes = np.array([block.shape[0] for block in local])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    inside = recurrent_states(_assembled_rates(up, local, down))
    if inside.size == starts[-1]:
        raise ModelError("a rate is too small beside the others of its level for a float")
    kept = [inside[(inside >= a) & (inside < b)] - a for a, b in pairwise(starts)]
    held = [k for k, states in enumerate(kept) if states.size]
    first, last = held[0], held[-1] + 1
    part = eliminate_levels(
        [csr_array(up[k])[kept[k]][:, kept[k + 1]] for k in range(first, last - 1)],
        [csr_array(local[k])[kept[k]][:, kept[k]] for k in range(first, last)],
        [csr_array(down[k])[kept[k + 1]][:, kept[k]] for k in range(first, last - 1)],
        direction,
    )
    levels = [np.zeros(size) for size in sizes]
    for k, pi in zip(range(first, last), part, strict=True):
        levels[k][kept[k]] = pi
    return tuple(levels)


def _assembled_rates(up: Sequence[Block], local: Sequence[Block], down: Sequence[Block]) -> csr_array:
    """Rates of the whole chain."""
    count = len(local)
    grid: list[list[csr_array | None]] = [[None] * count for _ in range(count)]
    for k in range(count):
        grid[k][k] = csr_array(local[k])
        if k + 1 < count:
            grid[k][k + 1], grid[k + 1][k] = csr_array(up[k]), csr_array(down[k])
    whole = csr_array(block_array(grid))
    whole.eliminate_zeros()
    return without_diagonal(whole)


def _residual(
    up: Sequence[Block], local: Sequence[Block], down: Sequence[Block], levels: Sequence[Array]
) -> float:
    """Sum of absolute (flow in - flow out) over the sum of the flows."""
    off = flow = 0.0
    for k, pi in enumerate(levels):
        same = local[k].diagonal()  # jumps to the same state
        rate, into = local[k].sum(axis=1) - same, pi @ local[k] - pi * same
        if k + 1 < len(levels):
            rate, into = rate + up[k].sum(axis=1), into + levels[k + 1] @ down[k]
        if k:
            rate, into = rate + down[k - 1].sum(axis=1), into + levels[k - 1] @ up[k - 1]
        off += float(np.abs(into - pi * rate).sum())
        flow += float((pi * rate).sum())
    return off / flow if flow > 0.0 else 0.0


def _rows_of(block: Block) -> tuple[NDArray[np.intp], Array]:
    """Rows of a block that hold a rate, and those rows, dense."""
    if issparse(block):
        rows = np.flatnonzero(np.diff(block.indptr))
        return rows, np.asarray(block[rows].toarray())
    rows = np.flatnonzero(block.any(axis=1))
    return rows, block if rows.size == len(block) else block[rows]


def _add_product(visits: Array, onward: Block, rows: NDArray[np.intp], stay: Array) -> None:
    """Add ``visits @ onward`` to the `rows` of `stay`."""
    if issparse(onward):
        sparse = onward.indptr, onward.indices, onward.data
        _kernels.add_product(visits, *sparse, rows, stay)
    elif rows.size == len(stay):
        stay += visits @ onward
    else:
        stay[rows] += visits @ onward


def _row_counts(blocks: Sequence[Block]) -> list[int]:
    """Number of rows of each block that hold a rate."""
    return [int(np.count_nonzero(np.diff(b.indptr) if issparse(b) else b.any(axis=1))) for b in blocks]


def _fresh_dense(block: Block) -> Array:
    """A fresh dense copy."""
    return np.asarray(block.toarray()) if issparse(block) else np.array(block)


def _checked_blocks(
    up: Sequence[Any], local: Sequence[Any], down: Sequence[Any]
) -> tuple[list[Block], list[Block], list[Block]]:
    by_name = {"up": up, "local": local, "down": down}
    for name, blocks in by_name.items():
        if not isinstance(blocks, (list, tuple)):
            raise ModelError(f"{name} must be a list of matrices, one for each level")
    count = len(local)
    if count == 0 or len(up) != count - 1 or len(down) != count - 1:
        raise ModelError(
            f"{count} levels need one matrix fewer in up and in down, at least one in local; got "
            f"{len(up)} and {len(down)}"
        )
    checked = {
        name: [_checked_block(f"{name}[{k}]", block) for k, block in enumerate(blocks)]
        for name, blocks in by_name.items()
    }
    sizes = [block.shape[0] for block in checked["local"]]
    for k, n in enumerate(sizes):
        wanted = [("local", (n, n))]
        if k + 1 < count:
            wanted += [("up", (n, sizes[k + 1])), ("down", (sizes[k + 1], n))]
        for name, shape in wanted:
            if checked[name][k].shape != shape or n == 0:
                raise ModelError(
                    f"{name}[{k}] has shape {checked[name][k].shape}, it must have {shape}, "
                    f"and no level may be empty"
                )
    return checked["up"], checked["local"], checked["down"]


def _checked_block(name: str, block: Any) -> Block:
    if issparse(block):
        return checked_block(name, block)
    array = block if isinstance(block, np.ndarray) and block.dtype == float else None
    if array is None or array.ndim != 2 or not np.isfinite(array).all():
        array = real_array(name, block)
    if array.ndim != 2:
        raise ModelError(f"{name} must be a matrix, got shape {array.shape}")
    if array.size and array.min() < 0.0:
        i, j = np.unravel_index(array.argmin(), array.shape)
        raise ModelError(
            f"{name}: negative rate {array[i, j]:.6g} at {int(i)}, {int(j)}; give rates, the "
            f"diagonal is derived"
        )
    return array
