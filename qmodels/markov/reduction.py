"""Levels of a quasi-birth-death chain that are all alike: rate matrix, drift, geometric sums."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from phasefit.arrays import Array
from qmodels.errors import UnstableError
from qmodels.markov.doubling import TRAPPED, phases_of_return
from qmodels.markov.elimination import Factors, balance, factor
from qmodels.markov.kinds import Spread, kinds, times
from qmodels.markov.small_levels import FEW, few_returns
from qmodels.markov.sparse_rates import Block, added, as_dense

#: Share of the jumps up below which a kind of them is taken for one that does not recur: near the
#: end of the floats the times at such phases are zero already, as if they could not be left.
HARDLY_EVER = 1e-250


@dataclass(frozen=True, eq=False)
class Levels:
    """Levels without end, solved: pi_{k+1} = pi_k @ spread @ climb, with r columns in spread.

    Rows of the upward rates that are proportional to each other lead to the same place, so that
    r is their number of kinds: with phase-type arrivals, the phases without the arrival stage.
    """

    spread: Spread  #: (n, r), rate of the jumps up of each kind
    lead: Array  #: (r, n), phase one level higher after a jump of each kind
    climb: Array  #: (r, n), time spent one level higher, by phase, after a jump of each kind
    down: Block  #: (n, n), rates to the next lower level
    returns: Array  #: (r, n), phase in which the level is entered again after a jump of each kind
    below: Factors  #: of the chain that stays at or above a level
    phases: Array  #: (n,) stationary phase, were the level not looked at
    upward: float  #: mean rate of jumps up in that phase
    downward: float  #: and of jumps down
    record: Array  #: (n,) time in each phase at the lowest level so far, per jump down
    steps: int  #: doublings that were made

    @property
    def drift(self) -> float:
        """Levels lost per unit of time; the only difference taken."""
        return self.downward - self.upward

    @property
    def example(self) -> NDArray[np.intp]:
        """Phase from which each kind of jump up starts, (r,)."""
        return np.asarray(self.spread.argmax(axis=0))

    @cached_property
    def ratio(self) -> Array:
        """S = climb @ spread, (r, r): R seen from the jumps up."""
        return times(self.climb, self.spread)

    def up_from(self, levels: Array) -> Array:
        """Return the rates of the jumps up of each kind, (..., r).

        Parameters
        ----------
        levels : (..., n) ndarray
            Probabilities of the phases of levels.
        """
        return times(levels, self.spread)

    def ahead(self, jumps: Array, k: int) -> Array:
        """Return the rates of the jumps up `k` levels higher: jumps @ S^k.

        Parameters
        ----------
        jumps : (..., r) ndarray
            Rates of the jumps of each kind.
        k : int
            Number of levels, not negative.
        """
        if k > 4 * len(self.ratio) * k.bit_length():
            return np.asarray(jumps @ np.linalg.matrix_power(self.ratio, k))
        for _ in range(k):
            jumps = jumps @ self.ratio
        return jumps

    def first_passage(self) -> Array:
        """Return G, (n, n): the phase in which the next lower level is entered."""
        return self.below.solve(as_dense(self.down))

    def total(self, level: Array) -> Array:
        """Return the sum of all levels from one on: level @ (I - R)^-1.

        Parameters
        ----------
        level : (..., n) ndarray
            Probabilities of the phases of that level.
        """
        return np.asarray(level + self._total_jumps(self.up_from(level)) @ self.climb)

    def beyond(self, level: Array) -> Array:
        """Return the sum of all levels above one.

        Parameters
        ----------
        level : (..., n) ndarray
            Probabilities of the phases of that level.
        """
        return np.asarray(self._total_jumps(self.up_from(level)) @ self.climb)

    @cached_property
    def _jumps_by_kind(self) -> Array:
        """Upward jumps of each kind in the stationary phase, (r,)."""
        return self.up_from(self.phases)

    @cached_property
    def _transposed_factors(self) -> tuple[NDArray[np.intp], NDArray[np.intp], Factors]:
        """Factors of I - S transposed, on the kinds that recur; those that do and do not."""
        weight = self._jumps_by_kind
        often = weight > HARDLY_EVER * weight.max(initial=0.0)
        kept, rare = np.flatnonzero(often), np.flatnonzero(~often)
        inner = self.ratio[np.ix_(kept, kept)]
        off = inner.T * weight[kept] / weight[kept, None]
        excess = self.drift * self.up_from(self.record)[kept] / weight[kept]
        return kept, rare, factor(off, excess, trapped=TRAPPED)

    def _total_jumps(self, jumps: Array) -> Array:
        """`jumps` @ (I - S)^-1."""
        kept, rare, factors = self._transposed_factors
        result, rates_in = np.zeros(jumps.size), jumps[kept]
        if rare.size:  # phases left for good: no drift, and no need of one
            lost = np.eye(rare.size) - self.ratio[np.ix_(rare, rare)]
            result[rare] = np.linalg.solve(lost.T, jumps[rare])
            rates_in = rates_in + result[rare] @ self.ratio[np.ix_(rare, kept)]
        weight = self._jumps_by_kind[kept]
        result[kept] = weight * factors.solve(rates_in / weight)
        return result

    def summed(self, reward: Array) -> Array:
        """Return (I - S)^-1 @ reward, (r,): the reward of all jumps up to come after one of each kind.

        Parameters
        ----------
        reward : (r,) ndarray
            Reward of a jump of each kind.
        """
        kept, rare, factors = self._transposed_factors
        result, weight = np.zeros(reward.size), self._jumps_by_kind[kept]
        result[kept] = factors.solve_left(weight * reward[kept]) / weight
        if rare.size:
            lost = np.eye(rare.size) - self.ratio[np.ix_(rare, rare)]
            right_side = reward[rare] + self.ratio[np.ix_(rare, kept)] @ result[kept]
            result[rare] = np.linalg.solve(lost, right_side)
        return result

    @cached_property
    def perron(self) -> tuple[float, Array, Array]:
        """Largest eigenvalue of S with its left and right vector, by repeated squaring."""
        power, left = self.ratio, np.ones(len(self.ratio))
        for _ in range(64):
            largest = power.max(initial=0.0)
            if largest == 0.0:
                return 0.0, left, left
            power = power / largest
            before, left = left, power.sum(axis=0)
            left /= left.sum()
            if np.abs(left - before).max() <= 1e-15:
                break
            power = power @ power
        right = power.sum(axis=1)
        return float((left @ self.ratio) @ right / (left @ right)), left, right


def solve_levels(up: Block, local: Block, down: Block, tol: float, max_steps: int) -> Levels:
    """Solve homogeneous levels by cyclic reduction, see `phases_of_return`.

    Parameters
    ----------
    up, local, down : (n, n) matrix
        Rates to the next higher level, within a level and to the next lower one.
    tol : float
        Share of an entry that the levels left out may make up.
    max_steps : int
        Doublings allowed.

    Returns
    -------
    Levels
        The levels, ready to be summed.

    Raises
    ------
    UnstableError
        If the levels drift upward at least as fast as downward.
    """
    phases = balance(up + local + down)
    down_sum = np.asarray(down.sum(axis=1))
    upward, downward = float(phases @ up.sum(axis=1)), float(phases @ down_sum)
    if upward >= downward:
        raise UnstableError("homogeneous levels", upward, downward)
    spread, lead = kinds(up)
    dense = all(isinstance(block, np.ndarray) for block in (spread, local, down))
    solve = few_returns if dense and lead.shape[1] <= FEW else phases_of_return
    returns, steps = solve(spread, lead, local, down, tol, max_steps)
    stay = added(spread @ returns, local)
    below = factor(stay, down_sum, trapped=TRAPPED)
    record = balance(added(stay, down), overwrite=True)
    record /= record @ down_sum
    climb = below.solve_left(lead)
    return Levels(spread, lead, climb, down, returns, below, phases, upward, downward, record, steps)
