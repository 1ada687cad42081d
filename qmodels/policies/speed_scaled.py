"""The queue under every policy: c jobs run at a common speed that depends on how many run."""

from __future__ import annotations

from numpy.typing import ArrayLike

from phasefit import PhaseType
from qmodels.markov import QBD
from qmodels.networks.many_server import ManyServerQueue


def speed_scaled_queue(
    arrivals: PhaseType, demand: PhaseType, speeds: ArrayLike, *, memory_budget: float = 2e9
) -> QBD:
    """Queue in which each of k running jobs proceeds at ``speeds[k - 1]``.

    Parameters
    ----------
    arrivals : PhaseType
        Time between arrivals, in seconds, without an atom at zero.
    demand : PhaseType
        Work of a job, without an atom at zero; at speed v its rates are multiplied by v.
    speeds : (c,) array_like
        Work done per second on each job while k = 1..c jobs run; with more in the system the
        rest wait in order of arrival.
    memory_budget : float
        Bytes that the blocks may take.

    Returns
    -------
    QBD
        The level counts jobs; a phase is an arrival stage and how many running jobs are in each
        stage of their demand.

    Raises
    ------
    ModelError
        If a law has an atom at zero or a speed is not positive.
    MemoryBudgetError
        If the blocks would not fit; nothing has been allocated then.

    References
    ----------
    .. [1] M. S. Squillante, "Matrix-analytic methods in stochastic parallel-server scheduling
       models", in *Advances in Matrix-Analytic Methods for Stochastic Models*, 1998.

    Examples
    --------
    >>> one = PhaseType.exponential(mean=1.0)
    >>> queue = speed_scaled_queue(one.scale(2.0), one, [1.0, 0.8])
    >>> [block.shape for block in queue.local]
    [(1, 1), (1, 1), (1, 1)]
    """
    return ManyServerQueue(arrivals, demand, speeds=speeds).chain(memory=memory_budget)
