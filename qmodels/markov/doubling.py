"""Cyclic reduction of levels that are all alike: how many levels a step spans doubles each time.

Two forms of the same doubling. The first keeps all phases and subtracts nothing. Where a chain has
come down so many levels that it has forgotten how it set out, its returns are mixtures of a few;
from there on the second form works with those few, see `_Slab`.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular
from scipy.sparse import csr_array

from phasefit.arrays import Array
from qmodels.errors import ConvergenceError, ModelError
from qmodels.markov.elimination import Factors, PartFactors, factor, factor_apart
from qmodels.markov.kinds import SMALL, Spread, times
from qmodels.markov.sparse_rates import Block, added, as_dense

TRAPPED: Final = "phase {} can never come down to a lower level again"
#: Phases from which on it pays to look for parts, zeros and few kinds of returns.
_LARGE: Final = 256
#: Least entry, over the mean of its column and then the largest of its row, from which on returns
#: are worth trying as mixtures. What is cut off is a share of the largest; `_Total.vouches` has the
#: last word.
_MIXED: Final = 1e-3
#: Most that what is cut off may change an entry of the returns by, as a share of it.
_CUT: Final = 3e-14
#: Singular values below this share of the first are rounding.
_NOISE: Final = 1e-15
#: Largest difference between a row and the mixture in its place that is rounding.
_ROUNDING: Final = 1e-13


def phases_of_return(
    spread: Spread,
    lead: Array,
    local: Block,
    down: Block,
    tol: float,
    max_steps: int,
    *,
    least: int = _LARGE,
) -> tuple[Array, int]:
    """Find the phase in which a level is entered again after a jump up of each kind.

    Parameters
    ----------
    spread : (n, r) array
        Rate of the jumps up of each kind, see `qmodels.markov.kinds.kinds`.
    lead : (r, n) ndarray
        Phase one level higher after a jump of each kind.
    local, down : (n, n) ndarray or csr_array
        Rates within a level and to the next lower one.
    tol : float
        Share of an entry that what is left out may make up.
    max_steps : int
        Doublings allowed.
    least : int
        Phases from which on parts, zeros and few kinds of returns are looked for.

    Returns
    -------
    returns : (r, n) ndarray
        Probability of each phase on the return.
    steps : int
        Doublings that were made.

    Raises
    ------
    ConvergenceError
        If `max_steps` did not do; it carries the returns found so far.
    ModelError
        If some phase can never come down again.

    Notes
    -----
    Each step removes every second level. What is left are jumps over 2^k levels: up with rates
    ``spread @ chain @ lead``, down with `fall`; the diagonal follows from them. The jumps up keep
    their outer factors, so there are never more kinds of them. The rows and columns of `fall`
    that hold a rate stay the same; only those are stored. Of many phases those that can come down,
    and those in which one can land, are first put side by side.
    """
    large, order, falls, lands = local.shape[0] >= least, None, slice(None), slice(None)
    fall: Spread = as_dense(down)
    if large:  # the first step meets the rates as they were given: mostly zeros
        order, falls, lands = _phase_order(csr_array(down))
        spread, lead = spread[order], lead[:, order]
        local = csr_array(local)[order][:, order]
        fall = csr_array(down)[order[falls]][:, order[lands]]
    few = lead.size > SMALL**2 and np.count_nonzero(lead) < lead.size / 16
    onto: Spread = csr_array(lead) if few else lead
    stay = np.array(as_dense(local))
    chain, jump = np.eye(len(lead)), np.array(lead)  # jumps lead to chain @ onto
    total = _Total(lead, lands, order, tol)
    # new memory for each product would cost as much as the smaller ones of them
    work, wide = np.empty_like(stay), np.zeros((fall.shape[0], len(stay)))
    for step in range(1, max_steps + 1):
        out = np.asarray(spread @ total.mass)
        out[falls] += fall.sum(axis=1)
        factors: Factors | PartFactors
        if large and step == 1:
            factors = factor_apart(stay, out, trapped=TRAPPED, names=order)
        else:
            np.copyto(work, stay)
            factors = factor(work, out, trapped=TRAPPED, overwrite=True, names=order)
        after_jump = factors.solve_left(jump, overwrite=True)
        back = times(after_jump[:, falls], fall)
        if total.add(back):
            return total.returns, step
        after_fall = factors.solve_left(_with_all_columns(fall, lands, wide), overwrite=True)
        stay[:, lands] += spread @ back
        rises, through = times(after_fall, spread), times(after_jump, spread)
        if step > 1:
            rises, through = rises @ chain, through @ chain
        stay[falls] += times(rises, onto)
        fall, chain = times(after_fall[:, falls], fall), through
        if total.grown(chain @ lead.sum(axis=1), back):
            return total.returns, step
        if large and total.far_from_done:
            few_returns = mixtures(fall, fall.shape[0] // 6)
            if few_returns is not None:
                levels = _Levels(spread, lead, stay, chain, fall, falls, lands)
                result = _returns_by_slabs(levels, few_returns, total, step, max_steps)
                if result is not None:
                    return result
        jump = times(chain, onto)
    raise ConvergenceError("cyclic reduction", max_steps, total.missing, total.returns)


class _Total:
    """The returns added up so far, and when to stop."""

    def __init__(self, lead: Array, lands: slice, order: NDArray[np.intp] | None, tol: float) -> None:
        self._shape, self._lands, self._order, self.tol = lead.shape, lands, order, tol
        self._found = np.zeros_like(lead[:, lands])
        self._share = np.empty_like(self._found)
        #: probability that a jump up is followed by as many more as the levels spanned
        self.mass: Array = lead.sum(axis=1)
        self.missing = self.decline = 1.0

    @property
    def returns(self) -> Array:
        """Those found so far, with all phases in the order given."""
        result = np.zeros(self._shape)
        lands = self._lands if self._order is None else self._order[self._lands]
        result[:, lands] = self._found
        return result

    def copy(self) -> _Total:
        """One that can be added to without changing this one."""
        same = copy(self)
        same._found = self._found.copy()
        return same

    def add(self, back: Array) -> bool:
        """Add what a step found; True if that was the last that counts."""
        self._found += back
        return self.missing * self.decline**2 < self.tol

    def grown(self, mass: Array, back: Array) -> bool:
        """Go on to twice the levels; True if all that is to come is next to nothing."""
        before, self.mass = self.mass, mass
        # steps add geometrically less: each factor is the square of the one before
        self.decline = float((mass / before.clip(min=1e-300)).max(initial=0.0))
        share = np.maximum(self._found, 1e-300, out=self._share)
        self.missing = self.decline * float(np.divide(back, share, out=share).max(initial=0.0))
        return self.missing < self.tol

    def vouches(self, error: Array) -> bool:
        """Return whether `error`, in each law of phases after a return, is lost in the returns so far.

        Whatever is still to come climbed farther than all that has been added up.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            share = error * (self.mass[:, None] / self._found)
        return bool((share <= _CUT).all())

    @property
    def far_from_done(self) -> bool:
        """Return whether more than two steps are to come, as far as one can tell."""
        return self.missing**4 > self.tol


class _Levels(NamedTuple):
    """Levels after some steps of the reduction, see `phases_of_return`."""

    spread: Spread
    lead: Array
    stay: Array
    chain: Array
    fall: Spread
    falls: slice
    lands: slice


class Mixtures(NamedTuple):
    """A non-negative matrix as mixtures of a few laws: ``weights @ laws``."""

    rows: NDArray[np.intp]  #: those that became the laws
    weights: Array  #: (m, k), rates; some may be negative, the sums over a row are not
    laws: Array  #: (k, n), rows that sum to one
    error: Array  #: (n,), by how much a typical row that sums to one differs from its mixture


def mixtures(matrix: Array, most: int) -> Mixtures | None:
    """Return a matrix as mixtures of a few of its rows; None if it is not.

    It is if its rows, beside their mean law, differ little and span no more than `most`
    dimensions, both up to rounding. The rows are chosen by elimination with pivots in a random
    projection [1]_; that the mixtures are the rows is then checked entry by entry.

    Parameters
    ----------
    matrix : (m, n) ndarray
        Non-negative entries.
    most : int
        Number of rows that the mixtures stay below.

    References
    ----------
    .. [1] Halko et al. 2011, sec. 5.2.
    """
    total = matrix.sum(axis=1)
    if most < 2 or not (total.min() > 1e-250 and matrix.max(axis=0).min() > 1e-250):
        return None
    # Beside the largest entry of its column a typical one would be small: a few rows stand out.
    law = (1.0 / total) @ matrix / len(matrix)
    even = matrix / law
    row = even.max(axis=1)
    even /= row[:, None]
    if even.min() < _MIXED:
        return None
    seen = even @ np.random.default_rng(0).standard_normal((even.shape[1], most))
    upper, order = qr(seen.T, mode="r", pivoting=True, check_finite=False)
    size = np.abs(upper.diagonal())
    rank = int(np.count_nonzero(size > _NOISE * size[0]))
    if rank >= most:
        return None
    chosen, others = order[:rank], order[rank:]
    weights = np.zeros((len(matrix), rank))
    weights[chosen] = np.eye(rank)
    weights[others] = solve_triangular(upper[:rank, :rank], upper[:rank, rank:]).T
    off = np.abs(even - weights @ even[chosen]).max(axis=1)
    if off.max() > _ROUNDING:
        return None
    error = float((off * row / total).mean()) * law
    scaled = row[:, None] * weights * (total[chosen] / row[chosen])
    return Mixtures(chosen, scaled, matrix[chosen] / total[chosen, None], error)


def _returns_by_slabs(
    levels: _Levels, returns: Mixtures, total: _Total, step: int, most: int
) -> tuple[Array, int] | None:
    """Go on with few kinds of returns; None, with `total` as it was, if that does not hold."""
    kept = total.copy()
    try:
        slab = _Slab.of(levels, returns, kept.mass)
        first = step + 1
        while step < most:
            step += 1
            back = slab.back
            if back.min() < 0.0:
                return None
            last = kept.add(back)
            if last or kept.grown(levels.chain @ slab.up.sum(axis=1), back):
                return kept.returns, step
            if step == first and not kept.vouches(returns.error):
                return None
            slab = slab.doubled(levels.chain)
    except ModelError:  # rounding took away a way out
        return None
    raise ConvergenceError("cyclic reduction", step, kept.missing, kept.returns)


@dataclass(frozen=True, eq=False)
class _Slab:
    """As many levels as the reduction spans so far, seen from its two ends.

    It is entered from below after a jump of each of r kinds and from above in each of k laws of
    phases; it is left upward in a kind or downward in a law. All numbers are probabilities. Two
    slabs on top of each other make one of twice the height, as two layers of glass do [1]_: light
    passes, is thrown back, or goes to and fro between them. Only what leaves downward at all is
    held as ``left @ laws``, with k columns in `left`, and never by itself. What leaves upward comes
    to be held so too, as ``up @ onward``, once the chain forgets on its way up as well: later,
    since it climbs fast.

    The way to and fro is an M-matrix of order r whose row sums are known, so that the elimination
    subtracts nothing that matters close to saturation.

    References
    ----------
    .. [1] C.-H. Guo, B. Iannazzo, B. Meini, "On the doubling algorithm for a (shifted)
       nonsymmetric algebraic Riccati equation", *SIAM J. Matrix Anal. Appl.* 29 (2007) 1083-1100.
    """

    back: Array  #: (r, n), what the last doubling adds to the returns
    up: Array  #: (r, m), entered from below and left upward, before `onward`
    between: Array  #: (r, r), to and fro once: down out of the upper slab, up out of the lower one
    through: Array  #: (r, k), down out of the upper slab and through the lower one, before `laws`
    rebound: Array  #: (k, r), entered from above in one of `laws` and left upward
    core: Array  #: (k, k), entered from above in one of `laws`: left downward, before `laws`
    laws: Array  #: (k, n), phases in which a slab that was crossed downward is left
    onward: Array | None = None  #: (m, r), laws of kinds; None: the kinds themselves, m = r

    @classmethod
    def of(cls, levels: _Levels, returns: Mixtures, mass: Array) -> _Slab:
        """The slab of one level of what the reduction left."""
        spread, lead, stay, chain, fall, falls, lands = levels
        rates = returns.weights.sum(axis=1)
        out = np.asarray(spread @ mass)
        out[falls] += rates
        factors = factor(stay, out, trapped=TRAPPED)
        below = factors.solve_left(lead)
        wide = np.empty((len(returns.laws), len(stay)))
        above = factors.solve_left(_with_all_columns(returns.laws, lands, wide), overwrite=True)
        bounce = below[:, falls] @ returns.weights
        rebound = times(above, spread) @ chain
        core = above[:, falls] @ returns.weights
        # returns from so few levels are uneven yet: these are added as they are, not as mixtures
        return cls(
            chain @ times(below[:, falls], fall),
            times(below, spread) @ chain,
            bounce @ rebound,
            bounce @ core,
            rebound,
            core,
            returns.laws,
        )

    def doubled(self, chain: Array) -> _Slab:
        """Two of these, one on top of the other; `chain` leads to the lower one."""
        excess = self.up.sum(axis=1) + self.through.sum(axis=1)
        fro = factor(self.between, excess, trapped=TRAPPED)
        passes, falls_through = fro.solve(self.up), fro.solve(self.through)
        added = self._seen_from_below(falls_through)
        rises = self.rebound @ passes
        if self.onward is not None:
            rises = rises @ self.onward
        crossed = self.core + self.rebound @ falls_through
        through = self.through + added @ self.core
        between = self.between + added @ self.rebound + through @ rises
        rebound = self.rebound + self.core @ rises
        back, up, onward = (chain @ added) @ self.laws, self._seen_from_below(passes), self.onward
        if onward is None and (upward := mixtures(up, len(up) // 4)) is not None:
            up, onward = upward.weights, upward.laws
        fewer = mixtures(crossed @ self.laws, len(crossed) // 2)
        if fewer is None:
            core = self.core @ crossed
            return _Slab(back, up, between, through @ crossed, rebound, core, self.laws, onward)
        # the same in terms of fewer laws: crossed @ laws is weights @ fewer.laws
        sums = crossed[fewer.rows].sum(axis=1)
        chosen = crossed[fewer.rows] / sums[:, None]
        return _Slab(
            back,
            up,
            between,
            through @ fewer.weights,
            chosen @ rebound,
            chosen @ self.core @ fewer.weights,
            fewer.laws,
            onward,
        )

    def _seen_from_below(self, columns: Array) -> Array:
        """`columns` (r, ...) as seen from below the slab that is crossed before."""
        return self.up @ (columns if self.onward is None else self.onward @ columns)


def _phase_order(down: csr_array) -> tuple[NDArray[np.intp], slice, slice]:
    """An order of the phases, the place in it of those with a way down, and of those one lands in.

    The phases of either sort stand side by side, so that rows and columns need no copies.
    """
    falls, lands = np.diff(down.indptr) > 0, np.bincount(down.indices, minlength=down.shape[1]) > 0
    group = np.where(lands, 3 - falls.astype(int), falls)  # neither; only falls; both; only lands
    first, both, last = np.searchsorted(np.sort(group), [1, 2, 3]).tolist()
    return np.argsort(group, kind="stable"), slice(first, last), slice(both, len(group))


def _with_all_columns(rows: Spread, lands: slice, wide: Array) -> Array:
    """`rows` with all columns again, in `wide`."""
    wide.fill(0.0)
    added(wide[:, lands], rows)
    return wide
