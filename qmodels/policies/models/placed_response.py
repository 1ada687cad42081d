"""The response of a job on partitions that are unlike: its wait, then its stay on the one it is given."""

from __future__ import annotations

import warnings
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from phasefit import MomentsAdjustedWarning, PhaseType, match_moments
from qmodels.markov import QBDSolution
from qmodels.markov.doubling import TRAPPED
from qmodels.markov.elimination import Factors, factor
from qmodels.networks.waiting import waiting_rates
from qmodels.policies.models.policy_queue import PolicyQueue

Array = NDArray[np.float64]

#: Speeds that agree to this are one speed.
_SAME: Final = 1e-9
#: Phases of a stay beyond which a job is taken to get on at one speed, and of a wait beyond which its
#: moments have to do.
_MOST: Final = 600


def placed_response(
    queue: PolicyQueue, chain: QBDSolution, own: PhaseType | None = None
) -> tuple[PhaseType, bool]:
    """Law of the time from arrival to departure.

    Parameters
    ----------
    queue : PolicyQueue
        Whose running jobs are counted by the kind of their partition.
    chain : QBDSolution
        Its steady state.
    own : PhaseType, optional
        Law of the demand of the job itself, of mean one, where that of the queue is a simpler one.

    Returns
    -------
    law : PhaseType
        Phases of the wait, then for each kind of partition those of the stay. Its mean is that of
        the queue.
    whole : bool
        Whether the wait is as the queue has it; of one in too many phases only the moments are.

    Notes
    -----
    In which state a wait ends, and so on which kind of partition a job starts, is known; the stay is
    exact where no disk is shared. Elsewhere a job goes as fast as those of its kind do in the mean
    while so many run, whose number goes up and down beside it; in the mean as many of its kind run
    as the queue says (Little's law).
    """
    centre, arrivals, c = queue.running.centre, queue.process, queue.running.max_running
    where, levels = queue.running.on_partitions, [queue.running.centre.slice(k) for k in range(c + 1)]
    assert where is not None
    seen = [level.reshape(arrivals.order, -1) for level in (*chain.boundary[:-1], chain.tail)]
    arriving = arrivals.D1.sum(axis=1) / arrivals.rate
    at_once = np.array([arriving @ seen[k] @ where.starts[levels[k]] for k in range(c)])
    start, jumps, exits = waiting_rates(chain, queue.busy, arrivals)
    whole = exits.size <= _MOST
    leave = centre.leave[levels[c], levels[c - 1]]
    ends = np.tile(leave @ where.starts[levels[c - 1]], (exits.size // leave.shape[0], 1))
    ends *= (exits / ends.sum(axis=1).clip(min=1e-300))[:, None]
    factors = factor(jumps, exits, trapped=TRAPPED)
    waited = start @ factors.solve(ends)
    if not whole:
        start, jumps, ends = _of_few_phases(start, factors, ends)

    jobs, work = (
        np.array([level.sum(axis=0) @ each[part] for level, part in zip(seen, levels, strict=True)])
        for each in (where.held, where.work)
    )
    others = work.sum(axis=1) / [level.sum() for level in seen]
    # of the jobs that end while all partitions are taken, those that nobody is behind
    others[c] *= at_once[-1].sum() * arrivals.rate / float((seen[c] @ leave).sum())
    kinds = np.flatnonzero(at_once.sum(axis=0) + waited > 0.0)
    law = own or where.demand
    last = np.concatenate([np.zeros(c * law.order - law.order), law.alpha])
    alpha, begun, stays = [start], [], []
    for kind in kinds.tolist():
        begin = at_once[:, kind].copy()
        begin[-1] += waited[kind]
        mean = jobs[:, kind].sum() / (arrivals.rate * begin.sum())
        speeds = np.divide(work[1:, kind], jobs[1:, kind], out=np.zeros(c), where=jobs[1:, kind] > 0.0)
        stay = _stay(law, begin / begin.sum(), speeds, arrivals.rate, others[1:], mean)
        apart = stay.order > law.order
        first = at_once[:, kind] if apart else at_once[:, kind].sum()
        alpha.append(np.kron(first, law.alpha))
        begun.append(np.outer(ends[:, kind], last[-stay.order :]))
        stays.append(stay)
    served = block_diag(*(stay.jumps for stay in stays))
    rates = np.block([[jumps, np.hstack(begun)], [np.zeros((len(served), start.size)), served]])
    done = np.concatenate([np.zeros(start.size), *(stay.exit for stay in stays)])
    return PhaseType.from_rates(np.concatenate(alpha), rates, done), whole


def _of_few_phases(start: Array, factors: Factors, ends: Array) -> tuple[Array, Array, Array]:
    """Begin, moves and ends of waits with the same chances, and three moments, of each way to end."""
    chance = factors.solve(ends)
    moments, behind = [start @ chance], chance
    for k in (1, 2, 3):
        behind = k * factors.solve(behind)
        moments.append(start @ behind)
    begin, moves, out = [], [], []
    for which, p in enumerate(moments[0].tolist()):
        if p > 0.0:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", MomentsAdjustedWarning)
                law = match_moments(*(each[which] / p for each in moments[1:]), nearest=True)
            begin.append(p * law.alpha)
            moves.append(law.jumps)
            out.append(np.outer(law.exit, np.arange(ends.shape[1]) == which))
    return np.concatenate(begin), block_diag(*moves), np.vstack(out)


def _stay(
    law: PhaseType, begin: Array, speeds: Array, arrival_rate: float, done: Array, mean: float
) -> PhaseType:
    """Law of a stay of a mean, by the number of others that run, 0..c - 1, and the stage of the job.

    `begin` says how many others there are at its start, `speeds` how fast it is beside them, `done`
    how many per second all that run complete.
    """
    there = speeds > 0.0
    if np.ptp(speeds[there]) <= _SAME * speeds.max() or speeds.size * law.order > _MOST:
        return law.scale(mean / law.mean)
    speeds = np.where(there, speeds, speeds[there].mean())
    moves = np.diag(np.full(speeds.size - 1, arrival_rate), 1)
    moves += np.diag(np.maximum(done - speeds, 0.0)[1:], -1)
    rates = np.kron(moves, np.eye(law.order)) + np.kron(np.diag(speeds), law.jumps)
    found = PhaseType.from_rates(np.kron(begin, law.alpha), rates, np.kron(speeds, law.exit))
    return found.scale(mean / found.mean)
