"""The response of jobs that get on one after the other: the wait, those ahead, and the job itself."""

from __future__ import annotations

import numpy as np

from phasefit import PhaseType
from qmodels.markov import QBDSolution
from qmodels.networks.waiting import ends_by, waiting_rates
from qmodels.policies.models.policy_queue import PolicyQueue


def response_in_order(queue: PolicyQueue, chain: QBDSolution) -> PhaseType:
    """Law of the response of jobs of which each partition computes one at a time, in their order.

    Parameters
    ----------
    queue : PolicyQueue
        Whose running jobs say behind whom a job starts.
    chain : QBDSolution
        Its steady state.

    Returns
    -------
    PhaseType
        In seconds.

    Notes
    -----
    What comes after a job does not matter to it. So its stay on the partition is what is left of the
    first job there, those between them and itself.
    """
    running, process = queue.running, queue.process
    assert running.behind is not None
    law, ahead = running.behind.law, running.behind.ahead
    centre, c = running.centre, running.max_running
    _, most, order = ahead.shape
    found = ahead.reshape(len(ahead), -1)
    arriving = process.D1.sum(axis=1) / process.rate
    first = np.zeros(most * order)
    for k in range(c):
        first += arriving @ chain.boundary[k].reshape(process.order, -1) @ found[centre.slice(k)]
    start, jumps, exits = waiting_rates(chain, queue.busy, process)
    full, fewer = centre.slice(c), centre.slice(c - 1)
    waited = ends_by(exits, centre.leave[full, fewer] @ found[fewer])
    stay = np.kron(np.eye(most), law.jumps)
    stay += np.kron(np.diag(np.ones(most - 1), -1), np.outer(law.exit, law.alpha))
    rates = np.block([[jumps, waited], [np.zeros((len(stay), start.size)), stay]])
    done = np.concatenate([np.zeros(start.size), law.exit, np.zeros((most - 1) * order)])
    return PhaseType.from_rates(np.concatenate([start, first]), rates, done)
