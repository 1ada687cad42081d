"""Quantiles of an absorption time: Newton's method between brackets, each tail on its own scale."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from phasefit.absorption import Chain, transient
from phasefit.arrays import Array
from phasefit.errors import ConvergenceError

#: Ten steps reach any bracket; then each move is at most half of the last one, or halves the bracket.
_STEPS = 300


def quantile(chain: Chain, chance: Array, upper: NDArray[np.bool_]) -> Array:
    """Find the times, in the unit of `chain`, exceeded with probability `chance` where `upper`.

    Parameters
    ----------
    chain : Chain
        The chain, in its own unit of time.
    chance : (m,) ndarray
        Probabilities, above zero and such that they occur.
    upper : (m,) ndarray of bool
        Whether `chance` is that of exceeding the time; else, that of an absorption after time zero and
        not later.

    Returns
    -------
    (m,) ndarray
        Times in the unit of the chain.

    Raises
    ------
    ConvergenceError
        If Newton's method runs out of steps.
    """
    chain = replace(chain, atom=0.0) if chain.atom else chain
    goal = np.log(chance)
    x = np.ones(chance.size)
    low, high, growth = np.zeros(x.size), np.full(x.size, inf), np.full(x.size, 2.0)
    moved = np.full(x.size, inf)  # in logarithm
    open_ = np.arange(x.size)
    for _ in range(_STEPS):
        here, lo, hi = x[open_], low[open_], high[open_]
        excess, newton = _newton(chain, here, goal[open_], upper[open_])
        lo, hi = np.where(excess < 0.0, here, lo), np.where(excess < 0.0, hi, here)
        low[open_], high[open_] = lo, hi
        inside = (newton > lo) & (newton < hi)
        settled = (excess == 0.0) | (np.abs(newton - here) <= 1e-13 * here)
        middle = np.where(
            hi == inf,
            here * growth[open_],
            np.where(lo == 0.0, here / growth[open_], np.sqrt(lo) * np.sqrt(hi)),
        )
        onward = np.where(inside, newton, middle)
        nearer = inside & (np.abs(np.log(onward) - np.log(here)) <= 0.5 * moved[open_])
        onward = np.where(excess == 0.0, here, np.where(settled | nearer, newton, middle))
        with np.errstate(divide="ignore", over="ignore"):
            moved[open_] = np.abs(np.log(onward) - np.log(here))
            wider = ~settled & ~nearer & ((hi == inf) | (lo == 0.0))
            growth[open_] = np.where(wider, growth[open_] ** 2, growth[open_])
        x[open_] = onward
        open_ = open_[~settled & (hi - lo > 4e-16 * here)]
        if open_.size == 0:
            return x
    raise ConvergenceError("the quantile", _STEPS, float(np.max(high / low - 1.0)), x)


def _newton(chain: Chain, x: Array, goal: Array, upper: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Return how far the logarithm is beyond its goal (negative: x too small), and Newton's next x."""
    phases, shift, absorbed = transient(chain, np.minimum(x, 1e300))
    alive, leaving = phases.sum(axis=1), phases @ chain.exit
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        above = goal - (np.log(alive) + shift * np.log(2.0))
        below = np.log(absorbed) - goal
        onward = x - above * (alive / leaving)
        density = np.ldexp(leaving, np.maximum(shift, -5000.0).astype(np.int64))
        back = x * np.exp(-below * (absorbed / (x * density)))
    return np.where(upper, above, below), np.where(upper, onward, back)
