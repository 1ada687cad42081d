"""How near simulated columns of table 2 come to its 36 printed times, up to one scale factor.

The paper does not say what a unit of its simulator's time is, so that a reading of the text is
held to the printed times by what no unit changes. The criteria and their bounds are from the paper
and the specification alone, and were written down before the four readings were run side by side:

- The root mean square of the log residuals log(ours / printed), after one scale factor for the
  whole table (their mean is taken off). A reading meets the times if it is at most `RMS_BOUND`,
  what a table would miss that had every column's geometric mean right and all strategies alike:
  whoever misses by more cannot speak of the differences that the table is about.
- MC-Elongated's time at 100 % I/O over that at 0 %, printed 21.6, which no scale changes at all;
  met within the factor `RATIO_BAND` that the specification sets on ratios.
- Little's law: at the printed interarrival times the printed services must leave the jobs no more
  nodes than there are.

Each has an interval by the jackknife over replications and is undecided where that contains its
bound. The interval does not cover the noise of the calibrated interarrival times.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from phasefit.arrays import Array
from validation.analysis.estimates import Estimate, jackknife
from validation.papers.base import Verdict, within
from validation.papers.mache.campaign import Load
from validation.papers.mache.setup import COLUMNS, ROWS, STRATEGIES, published

#: Rms of the 36 printed times' logarithms about the means of their columns.
RMS_BOUND: Final = 0.167
#: The specification's band on ratios, requirements M-22 (iii).
RATIO_BAND: Final = 1.5
#: The caption's utilisations.
CAPTION: Final = (0.60, 0.70)
NODES: Final = ROWS * COLUMNS


def printed_times(loads: Sequence[Load]) -> Array:
    """The paper's services of the columns that were run, (columns, strategies)."""
    return _printed(loads, "service")


def rms(times: Array, printed: Array) -> float:
    """Root mean square of log(times / printed) about its mean, which is the scale factor.

    Examples
    --------
    >>> printed = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> rms(5.0 * printed, printed) < 1e-15
    True
    >>> round(rms(printed * np.array([np.e, 1 / np.e]), printed), 12)
    1.0
    """
    return float(np.std(np.log(times / printed)))


def scale(times: Array, printed: Array) -> float:
    """The factor from printed units to ours that leaves the least squares of the logarithms."""
    return float(np.exp(np.mean(np.log(times / printed))))


def misfit(loads: Sequence[Load]) -> Estimate:
    """`rms` of the columns that were run, with its interval."""
    printed = printed_times(loads)
    return _over_replications(loads, lambda runs: rms(_times(loads, runs), printed))


def nearer(first: Sequence[Load], second: Sequence[Load]) -> Estimate:
    """`rms` of the first reading less that of the second, which plays the same jobs.

    The streams of both have the same seeds: their replications are paired.
    """
    printed = printed_times(first)
    return _over_replications(
        first, lambda runs: rms(_times(first, runs), printed) - rms(_times(second, runs), printed)
    )


def elongated_ratio(loads: Sequence[Load]) -> Estimate:
    """Logarithm of MC-Elongated's time at 100 % I/O over that at 0 %."""
    ends = _ends(loads)

    def log_ratio(runs: Array) -> float:
        with_io, without = _times(ends, runs)[:, STRATEGIES.index("MC-Elongated")]
        return float(np.log(with_io / without))

    return _over_replications(loads, log_ratio)


def printed_ratio() -> float:
    """The paper's: 21.6."""
    table = published().set_index(["io_percent", "strategy"]).service
    return float(table[100, "MC-Elongated"] / table[0, "MC-Elongated"])


def nodes_held(loads: Sequence[Load]) -> Array:
    """Mean size of a job weighted by its service, (columns, strategies).

    Little's law in nodes: utilisation = rate of arrival x E[size x service] / nodes. The
    reading decides how size and service hang together, that is E[size x service] / E[service],
    which is the mean size only if they are uncorrelated.
    """
    return _held(loads, np.ones(_replications(loads)))


def implied(loads: Sequence[Load]) -> Array:
    """Share of the machine that the printed times need under a reading, (columns, strategies).

    Printed service over printed interarrival time, times `nodes_held` over the nodes.
    """
    return _implied(loads, np.ones(_replications(loads)))


def most_needed(loads: Sequence[Load]) -> Estimate:
    """The largest share of the machine in `implied`, with its interval."""
    return _over_replications(loads, lambda runs: float(_implied(loads, runs).max()))


def at_most(found: Estimate, bound: float) -> Verdict:
    """Whether an estimate lies below a bound with all of its interval.

    Examples
    --------
    >>> at_most(Estimate(0.2, 0.01, 0.95, 6), 0.25), at_most(Estimate(0.2, 0.1, 0.95, 6), 0.25)
    ('holds', 'undecided')
    """
    return within(found, -math.inf, bound)


def near_ratio(found: Estimate) -> Verdict:
    """Whether `elongated_ratio` is within `RATIO_BAND` of the printed one."""
    low, high = (math.log(printed_ratio()) + sign * math.log(RATIO_BAND) for sign in (-1, 1))
    return within(found, low, high)


def _printed(loads: Sequence[Load], column: str) -> Array:
    table = published().set_index(["io_percent", "strategy"])[column]
    return np.array(
        [[table[round(100 * load.io_share), name] for name in STRATEGIES] for load in loads],
        dtype=float,
    )


def _ends(loads: Sequence[Load]) -> list[Load]:
    by_percent = {round(100 * load.io_share): load for load in loads}
    return [by_percent[100], by_percent[0]]


def _replications(loads: Sequence[Load]) -> int:
    return len(loads[0].values(STRATEGIES[0], "service"))


def _values(loads: Sequence[Load], quantity: str) -> Array:
    """A quantity of every replication, (columns, strategies, replications)."""
    return np.array([[load.values(name, quantity) for name in STRATEGIES] for load in loads])


def _times(loads: Sequence[Load], runs: Array) -> Array:
    """Mean services, each replication weighted, (columns, strategies)."""
    means: Array = _values(loads, "service") @ runs / runs.sum()
    return means


def _held(loads: Sequence[Load], runs: Array) -> Array:
    # Nodes held by the jobs of a run, times its length, per job: the mean of size x service.
    area = NODES * _values(loads, "utilisation") / _values(loads, "throughput")
    held: Array = (area @ runs) / (_values(loads, "service") @ runs)
    return held


def _implied(loads: Sequence[Load], runs: Array) -> Array:
    rate = 1.0 / _printed(loads, "interarrival")
    share: Array = rate * printed_times(loads) * _held(loads, runs) / NODES
    return share


def _over_replications(loads: Sequence[Load], statistic: Callable[[Array], float]) -> Estimate:
    """One replication is left out of all cells at once: they share its jobs."""
    return jackknife(statistic, _replications(loads))
