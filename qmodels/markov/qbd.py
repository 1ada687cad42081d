"""Quasi-birth-death chains: level-dependent boundary, then homogeneous levels without end."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array, issparse

from phasefit.arrays import Array, read_only
from phasefit.checks import real_number, whole_number
from phasefit.records import Record
from qmodels.errors import ModelError
from qmodels.markov.doubling import TRAPPED
from qmodels.markov.elimination import balance, factor
from qmodels.markov.kinds import SMALL, Spread, kinds, places, times
from qmodels.markov.qbd_solution import QBDSolution
from qmodels.markov.reduction import Levels, solve_levels
from qmodels.markov.small_levels import FEW, SmallLevels, censored, imbalance, packed
from qmodels.markov.sparse_rates import Block, added, as_dense, checked_block


@dataclass(frozen=True, eq=False)
class QBD(Record):
    """Transition rates of a chain that moves by one level at a time.

    Rates only: every diagonal is derived from them, so rows cannot fail to sum to zero and no
    solver has to subtract. A diagonal entry of `local` would be a jump to the same state; it
    changes nothing and is not read. Blocks may be sparse, which saves time where they are large.

    Parameters
    ----------
    up : sequence of (n_k, n_{k+1}) arrays
        ``up[k]``: rates from level k to level k + 1, for k = 0..b. The last one, square, holds
        for every level from b on.
    local : sequence of (n_k, n_k) arrays
        ``local[k]``: rates within level k, for k = 0..b; the last one from b on.
    down : sequence of (n_{k+1}, n_k) arrays
        ``down[k]``: rates from level k + 1 to level k, for k = 0..b; the last one, square, from
        level b + 1 on.

    Raises
    ------
    ModelError
        If a shape does not fit its neighbours or a rate is negative or not finite.

    References
    ----------
    .. [1] Neuts 1981, ch. 3.
    """

    up: Sequence[Block]
    local: Sequence[Block]
    down: Sequence[Block]

    #: rates up, within and down, row by row, where all levels have few phases
    _small: ClassVar[tuple[Array, Array, Array] | None] = None

    def __post_init__(self) -> None:
        if not all(isinstance(x, (list, tuple)) for x in (self.up, self.local, self.down)):
            raise ModelError("up, local and down must be lists of matrices, one for each level")
        blocks = {"up": self.up, "local": self.local, "down": self.down}
        if not (len(self.up) == len(self.local) == len(self.down) >= 1):
            raise ModelError(
                "up, local and down must have the same number of levels, at least one; got "
                + ", ".join(f"{len(matrices)}" for matrices in blocks.values())
            )
        if not self._pack():
            for name, matrices in blocks.items():
                object.__setattr__(self, name, tuple(_kept(b, name, k) for k, b in enumerate(matrices)))
        sizes = [block.shape[0] for block in self.local]
        sizes.append(sizes[-1])
        for k, (n, above) in enumerate(pairwise(sizes)):
            for name, block, shape in (
                ("up", self.up[k], (n, above)),
                ("local", self.local[k], (n, n)),
                ("down", self.down[k], (above, n)),
            ):
                if block.shape != shape:
                    raise ModelError(f"{name}[{k}] has shape {block.shape}, it must have {shape}")
        largest = max(_largest_rate(b) for b in (self._small or (*self.up, *self.local, *self.down)))
        if largest > 1e290 or 0.0 < largest < 1e-290:
            raise ModelError(
                f"the largest rate is {largest:.3g}, too near the end of the floats to be reckoned "
                f"with; change the unit of time"
            )

    @property
    def small_levels(self) -> SmallLevels | None:
        """Rates side by side, where all levels have few phases."""
        if self._small is None:
            return None
        return SmallLevels(np.array([block.shape[0] for block in self.local]), *self._small)

    def _pack(self) -> bool:
        """Keep small blocks side by side, if all of them are and nothing is wrong with them."""
        all_blocks = (*self.up, *self.local, *self.down)
        if not all(type(b) is np.ndarray and b.dtype == float and b.ndim == 2 for b in all_blocks):
            return False
        if max(max(b.shape) for b in all_blocks) > FEW or min(b.size for b in all_blocks) == 0:
            return False
        parts = []
        for name in ("up", "local", "down"):
            whole, blocks = packed(getattr(self, name))
            if not (whole.min() >= 0.0 and whole.max() < np.inf):
                return False  # is found, and said, block by block
            parts.append((name, whole, blocks))
        for name, _, blocks in parts:
            object.__setattr__(self, name, blocks)
        object.__setattr__(self, "_small", tuple(whole for _, whole, _ in parts))
        return True


def solve_qbd(qbd: QBD, *, tol: float = 1e-18, max_steps: int = 64) -> QBDSolution:
    """Return the stationary distribution of a quasi-birth-death chain.

    Parameters
    ----------
    qbd : QBD
        Rates of the chain.
    tol : float
        The doubling stops once all later steps together would change no entry of R by more than
        this share of it, judged by how fast they decline.
    max_steps : int
        Doubling steps allowed; each doubles the number of levels looked at.

    Returns
    -------
    QBDSolution
        The levels below b, and the recursion that gives all others.

    Raises
    ------
    UnstableError
        If the homogeneous levels drift upward at least as fast as downward.
    ConvergenceError
        If `max_steps` did not do; it carries the returns to a level found so far.
    ModelError
        If some phase can never come down again.

    Notes
    -----
    Cyclic reduction [1]_, logarithmic reduction [2]_ in other words, with every inverse taken by an
    elimination that knows row sums instead of diagonals [3]_; then the boundary censored from the
    top down the same way. The only difference taken is that of the mean drifts, see
    `QBDSolution`. A boundary that drifts upward for hundreds of levels is rescaled on the way.

    Rows of the last `up` that are proportional to each other are found and give R a low rank: with
    phase-type arrivals of order m, each doubling does about half the work of a chain without
    structure. Once the phase after so many levels down hardly depends on the phase before, a few
    mixtures stand for all returns [4]_, and a doubling costs a tenth of that. For n phases it takes
    time O(n^3) at the speed of matrix products, and ten matrices (n, n).

    References
    ----------
    .. [1] D. A. Bini, B. Meini, "On the solution of a nonlinear matrix equation arising in
       queueing problems", *SIAM J. Matrix Anal. Appl.* 17 (1996) 906-926.
    .. [2] Latouche and Ramaswami 1993.
    .. [3] Alfa et al. 2002.
    .. [4] Halko et al. 2011.

    Examples
    --------
    The M/M/1 queue at load 0.5 has one job on average:

    >>> one = np.ones((1, 1))
    >>> queue = QBD(up=[0.5 * one], local=[0 * one], down=[one])
    >>> round(solve_qbd(queue).mean_level(), 12)
    1.0
    """
    if not isinstance(qbd, QBD):
        raise ModelError(f"solve_qbd takes a QBD, got {qbd!r:.60}")
    tol = real_number("tol", tol, above=0.0)
    max_steps = whole_number("max_steps", max_steps, least=1)
    started = time.perf_counter()
    levels = solve_levels(qbd.up[-1], qbd.local[-1], qbd.down[-1], tol, max_steps)
    boundary = _boundary_probabilities(qbd, levels)
    return QBDSolution(
        boundary=boundary,
        levels=levels,
        states=sum(pi.size for pi in boundary),
        residual=_residual(qbd, levels, boundary),
        method="exact (matrix-geometric)",
        seconds=time.perf_counter() - started,
    )


def _boundary_probabilities(qbd: QBD, levels: Levels) -> tuple[Array, ...]:
    """Probabilities of the levels 0..b, those above summed up already."""
    small = qbd.small_levels
    stay = added(levels.spread @ levels.returns, qbd.local[-1])
    by_level, logs = _level_probabilities(qbd, levels, stay) if small is None else censored(small, stay)
    tail_mass = float(levels.total(by_level[-1]).sum())
    highest = max(logs)
    weights = [math.exp(log - highest) for log in logs]
    total = math.fsum(weights[:-1]) + weights[-1] * tail_mass
    return tuple(read_only(pi * (w / total)) for pi, w in zip(by_level, weights, strict=True))


def _level_probabilities(qbd: QBD, levels: Levels, stay: Array) -> tuple[list[Array], list[float]]:
    """Probabilities of each level, which sum to one, and logarithms of the levels' weights.

    `stay` holds the rates within level b of the chain at it and above, and is destroyed.
    """
    # Censor the levels from the top down: pi_{k+1} = pi_k @ spread_k @ climb_k.
    climbs: list[tuple[Spread | None, Array]] = []
    top = len(qbd.local) - 2
    for k in range(top, -1, -1):
        below = qbd.down[k]
        excess, large = np.asarray(below.sum(axis=1)), below.shape[0] > SMALL
        if k == top and large and _same_sums(excess, levels.down.sum(axis=1)):
            factors = levels.below
        else:
            factors = factor(stay, excess, trapped=TRAPPED, overwrite=True)
        if large:
            spread, lead = kinds(qbd.up[k])
            same_kinds = places(lead, levels.lead) if factors is levels.below else None
            climb = factors.solve_left(lead) if same_kinds is None else levels.climb[same_kinds]
            if not issparse(below) and np.count_nonzero(below) < below.size / 16:
                below = csr_array(below)
            stay = added(spread @ times(climb, below), qbd.local[k])
            climbs.append((spread, climb))
        else:
            climb = factors.solve_left(as_dense(qbd.up[k]))
            stay = added(climb @ below, qbd.local[k])
            climbs.append((None, climb))

    by_level, logs = [balance(stay)], [0.0]
    for spread, climb in reversed(climbs):
        jumps = by_level[-1] if spread is None else times(by_level[-1], spread)
        above = jumps @ climb
        mass = float(above.sum())
        by_level.append(above / mass if mass > 0.0 else above)
        logs.append(logs[-1] + math.log(mass) if mass > 0.0 else -math.inf)
    return by_level, logs


def _largest_rate(block: Block) -> float:
    return float((block.data if issparse(block) else block).max(initial=0.0))


def _same_sums(first: Array, second: Array) -> bool:
    """Return whether sums over rows of rates differ by no more than their rounding."""
    return bool((np.abs(first - second) <= 1e-15 * second).all())


def _residual(qbd: QBD, levels: Levels, boundary: tuple[Array, ...]) -> float:
    """Sum of absolute (flow in - flow out) over the sum of the flows, levels 0 .. b + 1."""
    b = len(boundary) - 1
    first = levels.up_from(boundary[-1])
    pi = [*boundary, first @ levels.climb, levels.ahead(first, 1) @ levels.climb]
    if (small := qbd.small_levels) is not None:
        return imbalance(small, pi)
    off = flow = 0.0
    for k in range(b + 2):
        same, here = min(k, b), pi[k]
        local, down = qbd.local[same], qbd.down[same]
        out = qbd.up[same].sum(axis=1) + local.sum(axis=1)
        into = here @ local + pi[k + 1] @ down
        if k:
            lower = min(k - 1, b)
            out = out + qbd.down[lower].sum(axis=1)
            into = into + pi[k - 1] @ qbd.up[lower]
        off += float(np.abs(into - here * out).sum())
        flow += float((here * out).sum())
    return off / flow if flow > 0.0 else 0.0


def _kept(block: Block, name: str, k: int) -> Block:
    if issparse(block):
        checked = checked_block(f"{name}[{k}]", block)
        # a caller who goes on with the matrix given must not change this one
        kept = checked.copy() if checked.data.flags.writeable else checked
        read_only(kept.data)
        return kept
    array = block if _cannot_change(block) else np.array(block, dtype=float)
    if array.ndim != 2:
        raise ModelError(f"{name}[{k}] must be a matrix, got shape {array.shape}")
    if not np.isfinite(array).all() or (array.size and array.min() < 0):
        raise ModelError(
            f"{name}[{k}] holds a negative or non-finite entry; give rates, the diagonal is derived"
        )
    return read_only(array)


def _cannot_change(block: Array) -> bool:
    """Return whether a block, of floats, can be kept as it is: nobody may write to it."""
    if type(block) is not np.ndarray or block.dtype != float or block.flags.writeable:
        return False
    return block.base is None or not getattr(getattr(block.base, "flags", None), "writeable", True)
