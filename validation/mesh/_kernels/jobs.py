"""What jobs do at times of their own: begin a phase, a round or a step of lockstep, and end."""

from __future__ import annotations

import numpy as np
from numba import njit

from validation.mesh._kernels.messages import offer
from validation.mesh._kernels.records import (
    FAR,
    FINISHED,
    HAS_LEFT,
    INLINED,
    IS_READ,
    IS_WRITTEN,
    LISTED,
    READ,
    RUNNING,
    WAITING,
    WRITE,
)
from validation.mesh._kernels.traffic import messages_of


@njit(**INLINED)
def _plan_phase(state, job, phase, t):
    """Set every stream of a job to the start of a phase; returns the most messages of one."""
    n, m, most, after = job.nodes, job.io_nodes, 1, HAS_LEFT
    if state.buffered and phase.kind == WRITE:
        after = IS_WRITTEN
    elif state.buffered and phase.kind == READ:
        after = IS_READ
    for rank in range(n + m):
        stream = state.streams[job.first_stream + rank]
        if phase.kind == LISTED:
            stream.stop = stream.count
        else:
            stream.count, stream.after = messages_of(phase, rank, n, m), after
            if after == IS_READ:  # what a node reads it asks for, message by message
                stream.count = phase.rounds * m if rank < n else 0
            stream.index, stream.stop, stream.made = 0, stream.count, t
            most = max(most, stream.count)
    return most


@njit(**INLINED)
def _begin(state, j, t):
    """Take a job on to its next step, phase or round at time t. Returns whether it is over."""
    job = state.jobs[j]
    first, streams = job.first_stream, job.nodes + job.io_nodes
    while True:
        if job.step + 1 < job.steps:
            job.step += 1
        else:
            if job.phase >= 0:
                state.phase_runs[job.run].end = t
                job.run += 1
            job.phase += 1
            if job.phase == job.phases:
                job.phase = 0
                job.repetition += 1
            if job.repetition == job.repetitions:
                return True
            phase = state.phases[job.first_phase + job.phase]
            state.phase_runs[job.run].begin = t
            t += phase.pause
            most = _plan_phase(state, job, phase, t)
            job.step = 0
            job.steps = most if phase.lockstep else 1
        phase = state.phases[job.first_phase + job.phase]
        job.outstanding = 0
        for q in range(first, first + streams):
            stream = state.streams[q]
            if phase.lockstep:  # one message of each, until all have been delivered
                stream.stop = min(stream.count, stream.index + 1)
            job.outstanding += stream.stop - stream.index
        if job.outstanding > 0:
            job.due = FAR
            for q in range(first, first + streams):
                offer(state, q, t, np.bool_(False))
            return False
        # Nothing to send in this step: after a pause the job is due by then, else it goes on now.
        if phase.pause > 0:
            job.due = t
            return False


@njit(**INLINED)
def job_events(state, t):
    """Handle every job event due at t, in order of the jobs; returns how many jobs are over."""
    jobs, over, soonest = state.jobs, 0, FAR
    for j in range(jobs.shape[0]):
        job = jobs[j]
        if job.status in (WAITING, RUNNING):
            if job.due <= t:
                job.status = RUNNING
                if _begin(state, j, t):
                    job.status, job.finish, job.due = FINISHED, t, FAR
                    over += 1
            soonest = min(soonest, job.due)
    state.counters[0].due = soonest
    return over
