"""Simple laws that have a say, beside the average over all, in what lies beyond the runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from phasefit.arrays import Array
from qmodels.programs.scaling.pooling import Pooled
from qmodels.programs.scaling.terms import Scale

#: Misfit of a simple law, standard deviation of log T over the runs, at which its vote counts half.
MISFIT = 0.05

FARTHEST = 3.0  #: standard deviations of what the laws leave open: no vote leads farther from their middle

#: What log T falls by over log p in the first doublings of nodes: .9 of what is proportional, in training
#: of networks and in eleven (code, machine) of the fitting half of 180 published tables
#: (`tests/campaigns/measured_series.py`), which the laws of each case were chosen on as well.
STEADY = 0.9

#: What the slope of log T over log p rises by in each doubling where it bends: Amdahl's law at its most.
BEND = math.log(2.0) / 4.0

_FEWEST = 3  # numbers of processors through which a simple law is drawn
_LEAST = 1e-300  # seconds

#: Log seconds on the runs and on processors (n,) that are asked for, of runs that count by shares (k,).
_Law = Callable[[Pooled, Array, Array], tuple[Array, Array]]


def voted(middle: Array, spread: Array, p: Array, runs: Pooled, scale: Scale) -> Array:
    """Return the log seconds (n,) that the average law and two simple ones agree on, beyond the runs.

    Parameters
    ----------
    middle : (n,) ndarray
        Log seconds by the average over all laws.
    spread : (n,) ndarray
        Standard deviation of log seconds over the laws that the runs allow.
    p : (n,) ndarray
        Processors asked for.
    runs : Pooled
        Runs of the burst.
    scale : Scale
        Processors of a node, and whether runs lie within one.

    Notes
    -----
    The weighted median of three: the average and two others, by what the runs can show.

    - Runs on several parts of a node, asked beyond it: what bends within a node is the node's own, and more
      nodes bring more of it. a + b/p within the node, all of it over p beyond and longer by a step; and the
      largest run, which each doubling makes 2^.9 times as fast.
    - Runs on whole nodes alone: their last doubling, bent on as by Amdahl's law, and as quickly as that does
      at its most.
    - Nodes unknown, runs of several sizes of the problem, or asked within a node: a + b/p + c log2(p)/p, and
      a straight line of log T over log p.

    Coefficients are at least 0. A median of few different forecasts is hard to beat by weights that
    were learnt [1]_; so it was here (`tests/campaigns/measured_series.py`): weights by what each foretold
    of the largest known run were no better than equal ones.

    References
    ----------
    .. [1] R. T. Clemen, "Combining forecasts: a review and annotated bibliography", *Int. J. Forecasting*
       5 (1989) 559-583.
    """
    beyond_a_node = runs.p > scale.node
    if scale.inside is None and np.unique(runs.p[beyond_a_node]).size >= _FEWEST:
        runs = runs.only(np.flatnonzero(beyond_a_node))
    if np.unique(runs.p).size < _FEWEST:
        return middle
    on_nodes = (p > scale.node) & (scale.inside is not None)
    agreed = middle.copy()
    for here, laws in ((on_nodes, _laws_on_nodes(scale)), (~on_nodes, (_plain, _line))):
        if here.any():
            agreed[here] = _agreed(middle[here], spread[here], p[here], runs, laws)
    return agreed


def _agreed(middle: Array, spread: Array, p: Array, runs: Pooled, laws: tuple[_Law, ...]) -> Array:
    """Median (n,) of the average and of simple laws, each weighted by how well it fits the runs."""
    share = runs.count / runs.count.sum()
    at_runs, asked = (np.stack(both) for both in zip(*(law(runs, share, p) for law in laws), strict=True))
    squares = np.sum(share * (at_runs - runs.log_time) ** 2, axis=1)
    weights = np.append(1.0, 1.0 / (1.0 + squares / MISFIT**2))
    away = np.clip(asked - middle, -FARTHEST * spread, FARTHEST * spread)
    return middle + _weighted_median(np.vstack([np.zeros(p.size), away]), weights)


def _laws_on_nodes(scale: Scale) -> tuple[_Law, ...]:
    if scale.inside:
        return partial(_own_of_a_node, scale.node), partial(_steady, scale.node)
    return _amdahl, _bent


def _own_of_a_node(node: float, runs: Pooled, share: Array, p: Array) -> tuple[Array, Array]:
    """The law a + b/p within a node; beyond it what a node took, over the nodes, and a step c/p."""

    def columns(q: Array) -> Array:
        return np.stack([1.0 / q, 1.0 / np.maximum(q, node), (q > node) / q], axis=1)

    return _least_squares(columns, runs, share, p)


def _steady(node: float, runs: Pooled, share: Array, p: Array) -> tuple[Array, Array]:
    """The largest run, and from there a steady gain for each doubling; judged by the runs beyond a node."""
    largest, level, _ = _last_doubling(runs)
    at_runs, asked = (level - STEADY * np.log(q / largest) for q in (runs.p, p))
    return np.where(runs.p > node, at_runs, runs.log_time), asked


def _amdahl(runs: Pooled, share: Array, p: Array) -> tuple[Array, Array]:
    """The law a + b/p through the last doubling of the runs."""
    largest, level, slope = _last_doubling(runs)
    shared = min(max(2.0**-slope - 1.0, 0.0), 1.0)
    return runs.log_time, level + np.log(1.0 - shared + shared * largest / p)


def _bent(runs: Pooled, share: Array, p: Array) -> tuple[Array, Array]:
    """The last doubling, with a slope that rises on."""
    largest, level, slope = _last_doubling(runs)
    doublings = np.log2(p / largest)
    return runs.log_time, level + (slope + BEND * (doublings + 1.0) / 2.0) * doublings * math.log(2.0)


def _last_doubling(runs: Pooled) -> tuple[float, float, float]:
    """The most processors run, log seconds there, and the slope from at most half as many."""
    p, place = np.unique(runs.p, return_inverse=True)
    level = np.bincount(place, runs.count * runs.log_time) / np.bincount(place, runs.count)
    before = max(int(np.searchsorted(2.0 * p, p[-1], side="right")) - 1, 0)
    return float(p[-1]), float(level[-1]), float((level[-1] - level[before]) / np.log(p[-1] / p[before]))


def _plain(runs: Pooled, share: Array, p: Array) -> tuple[Array, Array]:
    """The law a + b/p + c log2(p)/p."""
    first = runs.p.min()

    def columns(q: Array) -> Array:
        return np.stack([np.ones_like(q), first / q, np.log2(q / first) * first / q], axis=1)

    return _least_squares(columns, runs, share, p)


def _line(runs: Pooled, share: Array, p: Array) -> tuple[Array, Array]:
    """A straight line of log T over log p."""
    slope, level = np.polyfit(np.log(runs.p), runs.log_time, 1, w=np.sqrt(share))
    return level + slope * np.log(runs.p), level + slope * np.log(p)


def _least_squares(
    columns: Callable[[Array], Array], runs: Pooled, share: Array, p: Array
) -> tuple[Array, Array]:
    """Sum of columns, with coefficients of at least 0, that is nearest to the runs by relative errors."""
    from scipy.optimize import nnls

    rows = columns(runs.p) * np.exp(-runs.log_time)[:, None] * np.sqrt(share)[:, None]
    coefficients, _ = nnls(rows, np.sqrt(share))
    at_runs, asked = (np.log(np.maximum(columns(q) @ coefficients, _LEAST)) for q in (runs.p, p))
    return at_runs, asked


def _weighted_median(values: Array, weights: Array) -> Array:
    """Median (n,) of values (k, n) of k weights."""
    order = np.argsort(values, axis=0, kind="stable")
    reached = np.cumsum(weights[order], axis=0) >= 0.5 * weights.sum()
    return np.asarray(
        np.take_along_axis(values, order, 0)[np.argmax(reached, axis=0), np.arange(values.shape[1])]
    )
