"""Quasi-birth-death chains: level-dependent boundary, then homogeneous levels without end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from qmodels.errors import ConvergenceError, ModelError, UnstableError
from qmodels.markov import _kernels
from qmodels.markov.ctmc import stationary

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class QBD:
    """Transition rates of a chain that moves by one level at a time.

    Rates only: every diagonal is derived from them, so rows cannot fail to sum to zero and no
    solver has to subtract. A diagonal entry of `local` would be a jump to the same state; it
    changes nothing and is not read.

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
    """

    up: Sequence[Array]
    local: Sequence[Array]
    down: Sequence[Array]

    def __post_init__(self) -> None:
        if not all(isinstance(x, (list, tuple)) for x in (self.up, self.local, self.down)):
            raise ModelError("up, local and down must be lists of matrices, one for each level")
        blocks = {"up": self.up, "local": self.local, "down": self.down}
        if not (len(self.up) == len(self.local) == len(self.down) >= 1):
            raise ModelError(
                "up, local and down must have the same number of levels, at least one; got "
                + ", ".join(f"{len(given)}" for given in blocks.values())
            )
        for name, given in blocks.items():
            object.__setattr__(
                self, name, tuple(_read_only(b, name, k) for k, b in enumerate(given))
            )
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


@dataclass(frozen=True, eq=False)
class QBDSolution:
    """Steady state of a `QBD`: the levels up to b one by one, the rest geometric."""

    boundary: tuple[Array, ...]  #: pi_0 .. pi_b, one vector per level
    rate: Array  #: R, with pi_{k+1} = pi_k @ R for k >= b
    first_passage: Array  #: G, phase in which the next lower level is entered
    drift_ratio: float  #: mean upward over mean downward drift of the homogeneous levels
    steps: int  #: doubling steps taken

    @property
    def tail(self) -> Array:
        """Total probability of the levels from b on, by phase."""
        return _geometric(self.boundary[-1], self.rate)

    @property
    def error_bound(self) -> float:
        """Relative error to expect of a mean: 20 u / (1 - drift ratio)."""
        return 20 * np.finfo(float).eps / (1.0 - self.drift_ratio)

    def mean_level(self) -> float:
        """Mean level: the mean number of jobs, when levels count jobs."""
        return self.mean_of(np.arange(len(self.boundary))) + self.mean_excess()

    def mean_excess(self) -> float:
        """Mean number of levels above b: the mean queue, when b jobs are served at once."""
        return float(_geometric(self.tail @ self.rate, self.rate).sum())

    def mean_of(self, values: Sequence[float] | NDArray[np.generic]) -> float:
        """Mean of a quantity that is ``values[k]`` in level k < b and the last value beyond."""
        masses = [*(float(pi.sum()) for pi in self.boundary[:-1]), float(self.tail.sum())]
        if len(values) != len(masses):
            raise ModelError(f"give {len(masses)} values, one per level 0..b, not {len(values)}")
        return math.fsum(m * float(v) for m, v in zip(masses, values, strict=True))

    def level(self, k: int) -> Array:
        """Probability of each phase of level k."""
        if k < 0:
            raise ModelError(f"levels start at 0, got {k}")
        if k < len(self.boundary):
            return self.boundary[k]
        beyond = k - len(self.boundary) + 1
        return np.asarray(self.boundary[-1] @ np.linalg.matrix_power(self.rate, beyond))

    def decay_rate(self) -> float:
        """Factor by which high levels become rarer from one to the next: spectral radius of R."""
        return float(np.abs(np.linalg.eigvals(self.rate)).max())


def solve_qbd(qbd: QBD, *, tol: float = 1e-30, max_steps: int = 64) -> QBDSolution:
    """Stationary distribution of a quasi-birth-death chain.

    Parameters
    ----------
    qbd : QBD
        Rates of the chain.
    tol : float
        The doubling stops once the probability of still climbing is below `tol`. It converges
        quadratically, so a tiny `tol` costs one step more and also settles the small entries.
    max_steps : int
        Doubling steps allowed; each squares the number of levels looked at.

    Returns
    -------
    QBDSolution

    Raises
    ------
    UnstableError
        If the homogeneous levels drift upward at least as fast as downward.
    ConvergenceError
        If `max_steps` did not do; it carries the last iterate of G.
    ModelError
        If some phase can never come down again.

    Notes
    -----
    Logarithmic reduction [1]_ with every inverse taken by an elimination that knows row sums
    instead of diagonals [2]_, then the boundary censored from the top down the same way: no
    subtraction anywhere before the geometric tail is summed. A boundary that drifts upward for
    hundreds of levels is rescaled on the way.

    References
    ----------
    .. [1] G. Latouche, V. Ramaswami, "A logarithmic reduction algorithm for quasi-birth-death
       processes", *J. Appl. Probab.* 30 (1993) 650-674.
    .. [2] A. S. Alfa, J. Xue, Q. Ye, "Accurate computation of the smallest eigenvalue of a
       diagonally dominant M-matrix", *Math. Comp.* 71 (2002) 217-236.

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
    up, local, down = qbd.up[-1], qbd.local[-1], qbd.down[-1]
    drift_ratio = _drift_ratio(up, local, down)
    g, steps = _first_passage(up, local, down, tol, max_steps)
    down_sum = down.sum(axis=1)
    r = rate = up @ _solve(local + up @ g, down_sum, np.eye(len(up)))

    # Censor the levels from the top down: R_{b-1}, ..., R_0 with pi_{k+1} = pi_k @ R_k.
    climbs: list[Array] = []
    for k in range(len(qbd.local) - 2, -1, -1):
        below = qbd.down[k]
        censored = qbd.local[k + 1] + r @ qbd.down[k + 1]
        r = qbd.up[k] @ _solve(censored, below.sum(axis=1), np.eye(len(below)))
        climbs.append(r)

    bottom = qbd.local[0] + r @ qbd.down[0]
    np.fill_diagonal(bottom, 0.0)
    levels, logs = [stationary(bottom)], [0.0]
    for climb in reversed(climbs):
        above = levels[-1] @ climb
        mass = float(above.sum())
        levels.append(above / mass)
        logs.append(logs[-1] + math.log(mass))

    tail_mass = float(_geometric(levels[-1], rate).sum())
    highest = max(logs)
    weights = [math.exp(log - highest) for log in logs]
    total = math.fsum(weights[:-1]) + weights[-1] * tail_mass
    boundary = tuple(pi * (w / total) for pi, w in zip(levels, weights, strict=True))
    return QBDSolution(boundary, rate, g, drift_ratio, steps)


def _first_passage(
    up: Array, local: Array, down: Array, tol: float, max_steps: int
) -> tuple[Array, int]:
    """G of the homogeneous levels by logarithmic reduction, and the steps it took."""
    out = up.sum(axis=1) + down.sum(axis=1)
    climb, fall = np.hsplit(_solve(local, out, np.hstack([up, down])), 2)
    g, still_up = fall.copy(), climb.copy()
    for step in range(1, max_steps + 1):
        there_and_back = climb @ fall + fall @ climb
        climb, fall = climb @ climb, fall @ fall
        out = climb.sum(axis=1) + fall.sum(axis=1)
        climb, fall = np.hsplit(_solve(there_and_back, out, np.hstack([climb, fall])), 2)
        g += still_up @ fall
        still_up = still_up @ climb
        if still_up.sum(axis=1).max() < tol:
            return g, step
    raise ConvergenceError("logarithmic reduction", max_steps, float(still_up.sum(1).max()), g)


def _drift_ratio(up: Array, local: Array, down: Array) -> float:
    phase = up + local + down
    np.fill_diagonal(phase, 0.0)
    pi = stationary(phase)
    upward, downward = float(pi @ up.sum(axis=1)), float(pi @ down.sum(axis=1))
    if upward >= downward:
        raise UnstableError("homogeneous levels", upward, downward)
    return upward / downward


def _solve(off: Array, excess: Array, b: Array) -> Array:
    """Solve for the M-matrix with off-diagonal part -off and row sums `excess`."""
    x = np.array(b, dtype=float, order="C")
    row = _kernels.solve_m_matrix(np.array(off, order="C"), np.array(excess), x)
    if row >= 0:
        raise ModelError(f"phase {row} can never come down to a lower level again")
    return x


def _geometric(start: Array, r: Array) -> Array:
    """Start (I - R)^-1."""
    return np.asarray(np.linalg.solve((np.eye(len(r)) - r).T, start))


def _read_only(block: Array, name: str, k: int) -> Array:
    array = np.array(block, dtype=float)
    if array.ndim != 2:
        raise ModelError(f"{name}[{k}] must be a matrix, got shape {array.shape}")
    if not np.isfinite(array).all() or (array.size and array.min() < 0):
        raise ModelError(
            f"{name}[{k}] holds a negative or non-finite entry; give rates, the diagonal is derived"
        )
    array.setflags(write=False)
    return array
