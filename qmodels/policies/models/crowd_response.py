"""The response of one job beside a crowd that is known by its number: its wait, then its stay."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from math import fsum
from typing import Final

import numpy as np
from scipy.linalg import block_diag
from scipy.sparse import csr_array

from phasefit import MomentsAdjustedWarning, PhaseType, match_moments
from phasefit.arrays import Array
from qmodels.markov import QBDSolution
from qmodels.markov.doubling import TRAPPED
from qmodels.markov.elimination import Factors, factor
from qmodels.networks.sojourn import SojournLaw
from qmodels.networks.waiting import ends_by, kinds_of_arrivals, waiting_rates
from qmodels.policies.models.policy_queue import PolicyQueue, RunningChain

#: Rates that agree to this are the same.
_SAME: Final = 1e-9
#: Phases of a wait beyond which its moments have to do, and of a stay beyond which a job is taken to meet
#: the mean crowd.
_MOST_WAITING, _MOST_RUNNING = 600, 1000
#: Phases of both beyond which few of the rates between them are above zero.
_MOST_DENSE: Final = 100


@dataclass(frozen=True, eq=False)
class _Jobs:
    """Jobs of a kind, and what each of them does while 0..c - 1 others run."""

    starts: Array  #: (states,) probability that the next start is of this kind
    running: float  #: mean number of them
    alpha: Array  #: (c, m) stage of one that starts beside so many
    jumps: Array  #: (c, m, m) rates from stage to stage
    exits: Array  #: (c, m) rates of its end
    others: Array  #: (c,) rate at which others end


def crowd_response(
    queue: PolicyQueue, chain: QBDSolution, own: PhaseType | None = None
) -> tuple[PhaseType | SojournLaw, bool]:
    """Law of the time from arrival to departure of a job that meets as many others as there are.

    Parameters
    ----------
    queue : PolicyQueue
        Whose running chain tells how fast single jobs get on.
    chain : QBDSolution
        Its steady state.
    own : PhaseType, optional
        Law of the demand of the job itself, of mean one, where that of the queue is a simpler one.

    Returns
    -------
    law : PhaseType or SojournLaw
        Phases of the wait, then of the stay, for each kind of partition. Its mean is that of the queue.
    whole : bool
        Whether the wait is as the queue has it; of one in too many phases only three moments are.

    Notes
    -----
    In which state a wait ends, and so on which kind of partition a job starts, is known. Then it gets
    on as jobs of its kind and stage do in the mean while so many run. Their number goes up and down
    beside it, without its memory of who they are. In the mean as many run as the queue says (Little's
    law). Where a job that runs does not hang on others that is exact.
    """
    centre, arrivals, c = queue.running.centre, queue.process, queue.running.max_running
    levels = [centre.slice(k) for k in range(c + 1)]
    seen = [level.reshape(arrivals.order, -1) for level in (*chain.boundary[:-1], chain.tail)]
    kinds = _kinds(queue.running, levels, [level.sum(axis=0) for level in seen], own)
    starts = np.stack([jobs.starts for jobs in kinds], axis=1)
    arriving = arrivals.D1.sum(axis=1) / arrivals.rate
    at_once = np.array([arriving @ seen[k] @ starts[levels[k]] for k in range(c)])
    start, jumps, exits = waiting_rates(chain, queue.busy, arrivals)
    leave, whole = centre.leave[levels[c], levels[c - 1]], waits_are_whole(queue)
    ends = ends_by(exits, leave @ starts[levels[c - 1]])
    factors = factor(jumps, exits, trapped=TRAPPED)
    waited = start @ factors.solve(ends)
    if not whole:
        start, jumps, ends = _of_few_phases(start, factors, ends)
    # of the jobs that end while all partitions are taken, those that nobody is behind
    nobody = float(at_once[-1].sum()) * arrivals.rate / float((seen[c] @ leave).sum())
    begin, begun, stays = [start], [], []
    for kind, jobs in enumerate(kinds):
        first = at_once[:, kind, None] * jobs.alpha
        last = np.zeros_like(first)
        last[-1] = jobs.alpha[-1]
        share = float(first.sum() + waited[kind])
        if share <= 0.0:
            continue
        stay = _stay(jobs, (first + waited[kind] * last) / share, arrivals.rate, nobody)
        stays.append(stay.scale(jobs.running / (arrivals.rate * share * stay.mean)))
        if stay.order < first.size:
            first, last = first.sum(axis=0), last.sum(axis=0)
        begin.append(first.ravel())
        begun.append(np.outer(ends[:, kind], last))
    served = block_diag(*(stay.jumps for stay in stays))
    rates = np.block([[jumps, np.hstack(begun)], [np.zeros((len(served), start.size)), served]])
    done = np.concatenate([np.zeros(start.size), *(stay.exit for stay in stays)])
    begins = np.concatenate(begin)
    if begins.size > _MOST_DENSE:
        np.fill_diagonal(rates, 0.0)
        return SojournLaw(begins / fsum(begins), csr_array(rates), done), whole
    return PhaseType.from_rates(begins, rates, done), whole


def waits_are_whole(queue: PolicyQueue) -> bool:
    """Return whether `crowd_response` has waits as the queue has them, not their moments alone.

    Parameters
    ----------
    queue : PolicyQueue
    """
    return len(queue.busy[0]) * len(kinds_of_arrivals(queue.process)[1]) <= _MOST_WAITING


def _of_few_phases(start: Array, factors: Factors, ends: Array) -> tuple[Array, Array, Array]:
    """Begin, moves and ends of waits with the same chances, and three moments, of each way to end."""
    behind = factors.solve(ends)
    moments = [start @ behind]
    for k in (1, 2, 3):
        behind = k * factors.solve(behind)
        moments.append(start @ behind)
    begin, moves, out = [], [], []
    for which, chance in enumerate(moments[0].tolist()):
        if chance > 0.0:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", MomentsAdjustedWarning)
                law = match_moments(*(each[which] / chance for each in moments[1:]), nearest=True)
            begin.append(chance * law.alpha)
            moves.append(law.jumps)
            out.append(np.outer(law.exit, np.arange(ends.shape[1]) == which))
    return np.concatenate(begin), block_diag(*moves), np.vstack(out)


def _stay(jobs: _Jobs, begin: Array, arrival_rate: float, nobody: float) -> PhaseType:
    """Law of a stay by the number of others that run, 0..c - 1, and the stage of the job.

    `begin` says how it begins, (c, m); `nobody`, how many of the places of a full machine that are left
    stay free.
    """
    c, m = jobs.alpha.shape
    alike = all(np.ptp(x, axis=0).max() <= _SAME * x.max() for x in (jobs.jumps, jobs.exits))
    if alike or c * m > _MOST_RUNNING:
        weights = begin.sum(axis=1)
        jumps, exits = (np.tensordot(weights, x, 1) for x in (jobs.jumps, jobs.exits))
        return PhaseType.from_rates(begin.sum(axis=0), jumps, exits)
    fewer = jobs.others.copy()
    fewer[-1] *= nobody
    moves = np.diag(np.full(c - 1, arrival_rate), 1) + np.diag(fewer[1:], -1)
    rates = np.kron(moves, np.eye(m)) + block_diag(*jobs.jumps)
    return PhaseType.from_rates(begin.ravel(), rates, jobs.exits.ravel())


def _kinds(
    running: RunningChain, levels: list[slice], seen: list[Array], own: PhaseType | None
) -> list[_Jobs]:
    """The kinds of jobs, from the law of the running jobs' states at each level."""

    def sums(values: Array) -> Array:
        """Means of what is known of each state, with 0..c running, times the chance of so many."""
        return np.array([level @ values[part] for level, part in zip(seen, levels, strict=True)])

    chance = np.array([level.sum() for level in seen])
    if running.on_partitions is not None:
        where = running.on_partitions
        held, work = sums(where.held), sums(where.work)
        speeds, done = _ratios(work, held), (work.sum(axis=1) / chance)[1:, None]
        return [
            _of_a_law(own or where.demand, where.starts[:, kind], held[:, kind].sum(), *each)
            for kind, each in enumerate(zip(speeds.T, np.maximum(done - speeds, 0.0).T, strict=True))
        ]
    number = np.arange(chance.size)
    every = np.ones(int(running.centre.starts[-1]))
    done = sums(np.asarray(running.centre.leave.sum(axis=1)).ravel()) / chance
    others = (done * (number - 1) / np.maximum(number, 1))[1:]
    if running.at_one_speed is not None:
        law, speeds = running.at_one_speed
        return [_of_a_law(own or law, every, float(chance @ number), speeds, others)]
    staged = running.staged
    assert staged is not None
    there, followed = staged.ways.counts.astype(float), staged.nearer or staged.like_all
    speeds = _ratios(sums(there * staged.speeds), sums(there))[:, followed.like]
    jumps, stages = followed.jumps[1:].copy(), range(followed.like.size)
    jumps[:, stages, stages] = 0.0
    return [
        _Jobs(
            every,
            float(chance @ number),
            followed.alpha[1:],
            speeds[:, :, None] * jumps,
            speeds * followed.exits[1:],
            others,
        )
    ]


def _ratios(work: Array, held: Array) -> Array:
    """Speeds by the number of others, (c, n); where none of a kind are there, those of its kind elsewhere."""
    there = held[1:] > 0.0
    found = np.divide(work[1:], held[1:], out=np.zeros(there.shape), where=there)
    mean = found.sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    return np.asarray(np.where(there, found, np.where(mean > 0.0, mean, 1.0)))


def _of_a_law(law: PhaseType, starts: Array, running: float, speeds: Array, others: Array) -> _Jobs:
    """Jobs of one law of demand, all of whose stages have the same speed."""
    alpha = np.tile(law.alpha, (speeds.size, 1))
    return _Jobs(
        starts, running, alpha, speeds[:, None, None] * law.jumps, speeds[:, None] * law.exit, others
    )
