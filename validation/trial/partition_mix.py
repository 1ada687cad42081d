"""How running jobs lie on the partitions at a load, and what that makes of measured speeds."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from phasefit import PhaseType
from qmodels.policies import SpeedTable
from qmodels.policies.models.build import built_model
from validation.trial.bursts import workload
from validation.trial.scenario import Cell

Array = NDArray[np.float64]

#: Nearest that a load may come to the capacity, for how jobs lie there.
_FULL: Final = 0.99


def speeds_at(cell: Cell, table: SpeedTable, rate: float, measured_rate: float) -> SpeedTable:
    """The speeds of k running jobs at a rate of arrival, measured at another.

    Parameters
    ----------
    cell : Cell
    table : SpeedTable
        As measured while jobs came at `measured_rate`, whoever ran.
    rate, measured_rate : float
        Jobs per cycle.

    Returns
    -------
    SpeedTable
        `table` itself where each partition has one job.

    Notes
    -----
    Under time sharing k jobs may lie on k partitions, or in pairs on fewer. The busier the machine
    is, the more often it comes to k from above, with pairs left over, so that at load .3 two jobs
    are up to 7 % faster than in a loss run at .75. The model of time sharing follows how jobs lie
    on the partitions. What it says of k jobs at both loads is put on the measured speeds; how fast
    they are at all is not taken from it.

    Examples
    --------
    >>> options = {"processor_partitions": 2, "disk_partitions": 2}
    >>> cell = Cell.of(rows=4, columns=4, policy="TS", policy_options=options, strategy="MC",
    ...     cpu_to_io=8.0)
    >>> table = SpeedTable([1e-5, 1.8e-5, 2e-5, 2.1e-5])
    >>> seldom = speeds_at(cell, table, 0.3 * 2.1e-5, 0.75 * 2.1e-5)
    >>> (seldom.throughput / table.throughput).round(3).tolist()
    [1.0, 1.053, 1.0, 1.0]
    """
    if cell.arrangement.multiprogramming == 1:
        return table
    capacity = float(table.throughput[-1])
    factors = _work(cell, rate / capacity) / _work(cell, measured_rate / capacity)
    spread = table.covariance
    return replace(
        table,
        throughput=table.throughput * factors,
        covariance=None if spread is None else spread * np.outer(factors, factors),
    )


# A row of a comparison asks for the same ones for each strategy; a few numbers each.
@lru_cache(maxsize=256)
def _work(cell: Cell, load: float) -> Array:
    """Work per cycle of 1..c running jobs at a share of the capacity, as the model has it, (c,)."""
    # which jobs are long does not matter for how they lie
    jobs = replace(workload(cell), demand=PhaseType.exponential(mean=1.0))
    built = built_model(cell.policy, cell.system, jobs, "time-sharing")
    running = built.running_at(min(load, _FULL) * built.capacity)
    return np.array([level.mean() for level in running.by_level(running.processors_busy)[1:]])
