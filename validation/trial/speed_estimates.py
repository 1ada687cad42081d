"""Speeds of k running jobs from what independent runs did while k ran, with an interval."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phasefit.checks import real_array
from qmodels.errors import ModelError
from qmodels.policies import SpeedTable

Array = NDArray[np.float64]


def speeds_of_runs(work: ArrayLike, spans: ArrayLike, source: str = "") -> SpeedTable:
    """X(k) as work over time of all runs together, with the covariance of their spread.

    Parameters
    ----------
    work, spans : (runs, c) array_like
        Demand done while k = 1..c jobs ran, in mean jobs, and for how long; a number of jobs that
        some run did not see has 0 in both.
    source : str
        Where they come from, for `SpeedTable`.

    Returns
    -------
    SpeedTable

    Raises
    ------
    ModelError
        If there are fewer than two runs, or fewer than two saw some number of jobs.

    Notes
    -----
    A mean of quotients would be off by the order of one over the jobs of a run, and a response
    time is several times as sensitive; a quotient of sums, as in renewal reward processes, is off
    only by one over all jobs. Its errors are those of ``work - X spans``, linearised [1]_. The
    variance of these is taken to grow with the time, so that their squares come to 1 - sum h^2 of
    what they stand for, h being the share of each run in the time with k jobs. Where few runs saw
    most of it that is much less than 1 - 1 / runs. The degrees of freedom are 1 / sum h^2 - 1 for
    each number of jobs: one less than the runs where all saw it alike.

    References
    ----------
    .. [1] W. G. Cochran, *Sampling Techniques*, 3rd ed., Wiley 1977, ch. 6.

    Examples
    --------
    Ten jobs in a hundred seconds, and two in ten; each second counts alike, whoever saw it:

    >>> found = speeds_of_runs([[10.0], [2.0]], [[100.0], [10.0]])
    >>> round(float(found.throughput[0]), 4)
    0.1091
    """
    done, lasted = real_array("work", work), real_array("spans", spans)
    if done.ndim != 2 or len(done) < 2 or done.shape != lasted.shape:
        raise ModelError(
            f"work and spans must have a row for each of two or more runs; got {done.shape} and "
            f"{lasted.shape}"
        )
    seen = (lasted > 0.0).sum(axis=0)
    if seen.min() < 2:
        raise ModelError(
            f"all runs but {int(seen.min())} never had {1 + int(seen.argmin())} jobs running; use "
            f"more jobs, or rates that lead there"
        )
    whole = lasted.sum(axis=0)
    speeds, share = done.sum(axis=0) / whole, lasted / whole
    crowding = (share**2).sum(axis=0)  # 1 / runs where all saw it alike, 1 where only one did
    errors = (done - speeds * lasted) / whole / np.sqrt(1.0 - crowding)
    return SpeedTable(speeds, errors.T @ errors, np.maximum(1.0 / crowding - 1.0, 1.0), source)


def speeds_of_parts(parts: ArrayLike, source: str = "") -> SpeedTable:
    """The same of runs that are cut into parts as good as independent, (runs, parts, 2, c)."""
    rows = real_array("parts", parts)
    work, spans = np.moveaxis(rows, 2, 0).reshape(2, -1, rows.shape[-1])
    return speeds_of_runs(work, spans, source)
