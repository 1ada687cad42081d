"""Simple laws that have a say, beside the average over all, in what lies beyond the runs."""

from __future__ import annotations

import numpy as np

from phasefit.arrays import Array
from qmodels.programs.scaling.pooling import Pooled

#: Misfit of a simple law, standard deviation of log T over the runs, at which its vote counts half.
MISFIT = 0.05

FARTHEST = 3.0  #: standard deviations of what the laws leave open: no vote leads farther from their middle

_FEWEST = 3  # numbers of processors through which a simple law is drawn
_LEAST = 1e-300  # seconds


def voted(middle: Array, spread: Array, p: Array, runs: Pooled, node: float) -> Array:
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
    node : float
        Most processors of a single node, inf where it is not known.

    Notes
    -----
    The weighted median of three: the average, a + b/p + c log2(p)/p with coefficients of at least 0, and a
    straight line of log T over log p. The simple ones are fitted to the runs beyond one node where three
    numbers of processors lie there. A median of few different forecasts is hard to beat by weights that
    were learnt [1]_; so it was here (`tests/campaigns/measured_series.py`): weights by what each foretold
    of the largest known run were no better than equal ones.

    References
    ----------
    .. [1] R. T. Clemen, "Combining forecasts: a review and annotated bibliography", *Int. J. Forecasting*
       5 (1989) 559-583.
    """
    beyond_a_node = runs.p > node
    if np.unique(runs.p[beyond_a_node]).size >= _FEWEST:
        runs = runs.only(np.flatnonzero(beyond_a_node))
    if np.unique(runs.p).size < _FEWEST:
        return middle
    share = runs.count / runs.count.sum()
    at_runs, asked = (
        np.stack(both) for both in zip(_plain(runs, share, p), _line(runs, share, p), strict=True)
    )
    squares = np.sum(share * (at_runs - runs.log_time) ** 2, axis=1)
    weights = np.append(1.0, 1.0 / (1.0 + squares / MISFIT**2))
    away = np.clip(asked - middle, -FARTHEST * spread, FARTHEST * spread)
    return middle + _weighted_median(np.vstack([np.zeros(p.size), away]), weights)


def _plain(runs: Pooled, share: Array, p: Array) -> tuple[Array, Array]:
    """Log seconds on the runs and on `p` by a + b/p + c log2(p)/p."""
    from scipy.optimize import nnls

    def columns(processors: Array) -> Array:
        times = processors / runs.p.min()
        return np.stack([np.ones_like(times), 1.0 / times, np.log2(times) / times], axis=1)

    rows = columns(runs.p) * np.exp(-runs.log_time)[:, None] * np.sqrt(share)[:, None]
    coefficients, _ = nnls(rows, np.sqrt(share))
    at_runs, asked = (np.log(np.maximum(columns(q) @ coefficients, _LEAST)) for q in (runs.p, p))
    return at_runs, asked


def _line(runs: Pooled, share: Array, p: Array) -> tuple[Array, Array]:
    """Log seconds on the runs and on `p` by a straight line of log T over log p."""
    slope, level = np.polyfit(np.log(runs.p), runs.log_time, 1, w=np.sqrt(share))
    return level + slope * np.log(runs.p), level + slope * np.log(p)


def _weighted_median(values: Array, weights: Array) -> Array:
    """Median (n,) of values (k, n) of k weights."""
    order = np.argsort(values, axis=0, kind="stable")
    reached = np.cumsum(weights[order], axis=0) >= 0.5 * weights.sum()
    return np.asarray(
        np.take_along_axis(values, order, 0)[np.argmax(reached, axis=0), np.arange(values.shape[1])]
    )
