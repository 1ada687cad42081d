"""A chain of running jobs made to do as much, with k of them running, as a table of speeds says."""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.sparse import csr_array, diags_array

from phasefit.arrays import Array
from qmodels.errors import ConvergenceError
from qmodels.markov import solve_chain
from qmodels.networks.occupancy import Centre

#: Relative change of a factor at which they are found, and steps until then.
_SAME: Final = 1e-8
_STEPS: Final = 200


def level_factors(centre: Centre, work: Array, throughput: Array) -> Array:
    """How many times faster everything must be with k running, so that k do what a table says.

    Parameters
    ----------
    centre : Centre
        The running jobs, 0..c of them.
    work : (states,) ndarray
        Work per second in each state, in mean jobs.
    throughput : (c,) ndarray
        The table: work per second with 1..c running.

    Returns
    -------
    (c + 1,) ndarray
        One for no job.

    Raises
    ------
    ConvergenceError
        If no such factors are found.

    Notes
    -----
    The mean over the states with k running is that of a loss system in which jobs come, while k
    run, at the table's rate of k + 1. That is how a strict `validation.trial.loss_run` measures,
    one in which jobs wait nearly so, and a machine at a medium load spends its time alike. In a
    queue the mix of jobs is another one, so that k jobs need not do the same there; what the table
    corrects is the machine, not the mix.
    """
    level = np.repeat(np.arange(centre.starts.size - 1), np.diff(centre.starts))
    rates = np.append(throughput, 0.0)[level]
    come = diags_array(rates) @ csr_array(centre.enter)
    ends = csr_array(centre.local) + csr_array(centre.leave)
    factors = np.ones(throughput.size + 1)
    wanted = np.concatenate([[1.0], throughput])
    for _ in range(_STEPS):
        law = solve_chain(csr_array(come + diags_array(factors[level]) @ ends)).probabilities
        seen = np.bincount(level, law, minlength=wanted.size)
        done = np.bincount(level, law * work, minlength=wanted.size)
        done[0] = seen[0]
        before, factors = factors, wanted * seen / np.maximum(done, 1e-300)
        if np.abs(factors / before - 1.0).max() < _SAME:
            return factors
    raise ConvergenceError(
        "factors of given speeds", _STEPS, float(np.abs(factors / before - 1.0).max()), factors
    )
