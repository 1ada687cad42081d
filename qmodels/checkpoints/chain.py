"""Jobs that share a storage as one Markov chain: phase-type intervals, transfers and downtimes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from phasefit import PhaseType
from phasefit.arrays import Array
from qmodels.checkpoints.intervals import kept_work
from qmodels.checkpoints.model import EqualJobs, of_mean
from qmodels.markov import solve_absorption, solve_chain
from qmodels.networks.sizes import compositions

#: States beyond which the chain is not worth its time.
MOST_STATES = 20_000


@dataclass(frozen=True)
class ChainResult:
    """Stationary means of the chain."""

    goodput: float  #: share of kept work in the time
    write: float  #: seconds of a write that failures spare, mean
    stall: float  #: seconds that a checkpoint keeps the job from working
    utilisation: float  #: used share of the bandwidth
    error: float  #: relative error of the stationary vector


def has_chain(jobs: EqualJobs) -> bool:
    """Return whether all laws are phase-type, all transfers are admitted, and the chain is small.

    Parameters
    ----------
    jobs : EqualJobs
        The jobs and their storage.
    """
    job, never = jobs.job, jobs.never_fail
    return (
        not (job.mode == "asynchronous" and (job.snapshot > 0.0 or not never))
        and job.timer == "work"
        and isinstance(job.jitter, PhaseType)
        and job.size_law is not None
        and (job.downtime == 0.0 or job.downtime_law is not None or never)
        and jobs.share
        and jobs.read > 0.0
        and math.comb(jobs.number + _stages(jobs).count - 1, jobs.number) <= MOST_STATES
    )


@dataclass(frozen=True, eq=False)
class _Stages:
    """The stages of one job: rates of its own, and rates that the storage's speed multiplies."""

    own: Array
    shared: Array
    working: NDArray[np.bool_]
    writing: NDArray[np.bool_]
    moving: NDArray[np.bool_]  #: writing or restoring
    written: Array  #: rate at which a write ends, by stage

    @property
    def count(self) -> int:
        return len(self.written)


def _stages(jobs: EqualJobs) -> _Stages:
    job = jobs.job
    assert isinstance(job.jitter, PhaseType)
    assert job.size_law is not None
    interval = of_mean(job.jitter, job.interval)
    write = of_mean(job.size_law, jobs.write)
    if job.mode == "asynchronous":
        return _stages_behind_work(interval, write)
    laws = [interval, write]
    fails = not jobs.never_fail
    if fails:
        laws.append(of_mean(job.size_law, jobs.read))
        if job.downtime > 0.0:
            assert job.downtime_law is not None
            laws.append(of_mean(job.downtime_law, job.downtime))
    ends = np.cumsum([0, *(law.order for law in laws)])
    part = np.repeat(np.arange(len(laws)), [law.order for law in laws])
    unshared, shared = np.zeros((2, len(part), len(part)))
    written = np.zeros(len(part))
    after = (1, 0, 0, 2)  # the interval, the write, the restore, the downtime
    for which, law in enumerate(laws):
        here = slice(int(ends[which]), int(ends[which + 1]))
        rates = shared if which in (1, 2) else unshared
        rates[here, here] += law.T
        leaves = -law.T.sum(axis=1)
        then = after[which]
        rates[here, slice(int(ends[then]), int(ends[then + 1]))] += np.outer(leaves, laws[then].alpha)
        if which == 1:
            written[here] = leaves
        if fails and which < 3:
            # Into the downtime, or the restore where there is none.
            unshared[here, int(ends[-2]) :] += job.failure_rate * laws[-1].alpha
    np.fill_diagonal(unshared, 0.0)
    np.fill_diagonal(shared, 0.0)
    moving = (part == 1) | (part == 2)
    return _Stages(unshared, shared, part == 0, part == 1, moving, written)


def _stages_behind_work(interval: PhaseType, write: PhaseType) -> _Stages:
    """Works alone; works and writes; stands still until the predecessor is written."""
    a, w = interval.order, write.order
    due, done = -interval.T.sum(axis=1), -write.T.sum(axis=1)
    both, still = slice(a, a + a * w), slice(a + a * w, a + a * w + w)
    size = a + a * w + w
    unshared, shared = np.zeros((2, size, size))
    unshared[:a, :a] = interval.T
    begins = np.kron(interval.alpha, write.alpha)
    unshared[:a, both] = np.outer(due, begins)
    unshared[both, both] = np.kron(interval.T, np.eye(w))
    unshared[both, still] = np.kron(due[:, None], np.eye(w))
    shared[both, both] = np.kron(np.eye(a), write.T)
    shared[both, :a] = np.kron(np.eye(a), done[:, None])
    shared[still, still] = write.T
    shared[still, both] = np.outer(done, begins)
    np.fill_diagonal(unshared, 0.0)
    np.fill_diagonal(shared, 0.0)
    written = np.concatenate((np.zeros(a), np.tile(done, a), done))
    place = np.arange(size)
    writing = place >= a
    return _Stages(unshared, shared, place < a + a * w, writing, writing, written)


def solve_checkpoints(jobs: EqualJobs) -> ChainResult:
    """Solve the chain of how many jobs are in each stage.

    Parameters
    ----------
    jobs : EqualJobs
        Those for which `has_chain` holds.

    Returns
    -------
    ChainResult
        Stationary means.

    Notes
    -----
    A completed interval is shorter than the mean, because long ones are hit more often; work is
    kept at ``X E[W e^{-lW}] / E[e^{-lW}]``, with X writes completed per second.
    """
    (job, storage, number), stages = jobs, _stages(jobs)
    states = compositions(number, stages.count)
    moving = states @ stages.moving
    speed = np.minimum(1.0, storage.full_at / np.maximum(moving, 1))
    steps = _steps(stages, states, speed)
    rows, columns, rates = [], [], []
    for a, _, some, to, each in steps:
        rows.append(some)
        columns.append(to)
        rates.append(states[some, a] * each)
    chain = solve_chain(_matrix(rates, rows, columns, len(states)))
    pi = chain.probabilities
    writes = float(pi @ ((states @ stages.written) * speed))
    writing, rate = states @ stages.writing, job.failure_rate
    # Little's law of the writes that will end, of all that are under way
    ending = writing if rate == 0.0 else _ending(stages, states, speed, steps)
    write = float(pi @ ending) / writes
    used = float(pi @ np.minimum(moving, storage.full_at)) / storage.full_at
    if job.mode == "asynchronous":  # nothing fails: all work is kept
        goodput = float(pi @ (states @ stages.working)) / number
        stall = (1.0 - goodput) * number / writes
    else:
        goodput, stall = writes * kept_work(job, rate) / number, write
    return ChainResult(goodput, write, stall, used, chain.error_estimate)


#: A move of one job from a stage to another: the stages, the states that have one there, those after
#: it, and the rate of each such job.
_Step = tuple[int, int, NDArray[np.intp], NDArray[np.intp], Array]


def _steps(stages: _Stages, states: NDArray[np.int64], speed: Array) -> list[_Step]:
    place = (states[0].sum() + 1) ** np.arange(stages.count, dtype=np.int64)
    keys = states @ place
    order = np.argsort(keys)
    found = []
    for a, b in zip(*np.nonzero(stages.own + stages.shared), strict=True):
        some = np.flatnonzero(states[:, a])
        to = order[np.searchsorted(keys, keys[some] - place[a] + place[b], sorter=order)]
        found.append((int(a), int(b), some, to, stages.own[a, b] + stages.shared[a, b] * speed[some]))
    return found


def _matrix(
    rates: list[Array], rows: list[NDArray[np.intp]], columns: list[NDArray[np.intp]], size: int
) -> csr_array:
    where = (np.concatenate(rows), np.concatenate(columns))
    return csr_array((np.concatenate(rates), where), shape=(size, size))


def _ending(stages: _Stages, states: NDArray[np.int64], speed: Array, steps: list[_Step]) -> Array:
    """Mean number of the writes under way in each state that will end before their job fails.

    One job in a stage of its write is followed, among the others, until its write ends or is hit.
    """
    at = np.full((stages.count, len(states)), -1, dtype=np.int64)  # of the job followed, by its stage
    here = np.nonzero((states.T > 0) & stages.writing[:, None])
    ended, hit = len(here[0]), len(here[0]) + 1
    at[here] = np.arange(ended)
    stage, state = here
    rows, columns = [at[here], at[here]], [np.full(ended, ended), np.full(ended, hit)]
    rates = [stages.written[stage] * speed[state], stages.own[:, ~stages.writing].sum(axis=1)[stage]]
    for s in np.flatnonzero(stages.writing):
        for a, b, some, to, rate in steps:
            others = states[some, a] - (a == s)
            moves = (at[s, some] >= 0) & (others > 0)
            rows.append(at[s, some[moves]])
            columns.append(at[s, to[moves]])
            rates.append((others * rate)[moves])
            if a == s and stages.writing[b]:  # on to the next stage of the same write
                rows.append(at[s, some])
                columns.append(at[b, to])
                rates.append(rate)
    chance = solve_absorption(_matrix(rates, rows, columns, ended + 2), (ended, hit), moments=1)
    found = np.zeros(len(states))
    np.add.at(found, state, states[state, stage] * chance.probabilities[:ended, 0])
    return found
