"""The two ends of a message's life: it is put before its injection channel, and it is delivered."""

from __future__ import annotations

import numpy as np
from numba import njit

from validation.mesh._kernels.channels import push
from validation.mesh._kernels.records import (
    FOLLOWS,
    HAS_LEFT,
    INLINED,
    IS_READ,
    LISTED,
    UNKNOWN,
)
from validation.mesh._kernels.traffic import destination, length, random


@njit(**INLINED)
def offer(state, q, t, follows):
    """Put the next message of stream q before its injection channel, at t or when it is made."""
    stream = state.streams[q]
    i = stream.index
    if i >= stream.stop or (follows and stream.after != HAS_LEFT):
        return
    stream.index = i + 1
    job = state.jobs[stream.job]
    phase = state.phases[job.first_phase + job.phase]
    made, router = t, stream.router
    if phase.kind == LISTED:
        listed = state.listed[i]
        made, target, flits, key = listed.created, listed.target, listed.flits, listed.number
    else:
        n, m = job.nodes, job.io_nodes
        flits = length(phase, i, stream.count)
        if stream.after == IS_READ:  # a node asks for it, and an I/O node sends it
            target, router = router, io_router(state, job, stream, i)
        else:
            to = job.first_stream + destination(state.streams, phase, q, i, n, m)
            target = state.streams[to].router
        key = stream.sent * (n + m) + stream.rank
        stream.sent += 1
        if phase.interval > 0.0:  # open traffic: a geometric number of cycles after the last
            gap = 1.0
            if phase.interval > 1.0:
                uniform = random(state.streams, q)
                gap += np.floor(np.log1p(-uniform) / np.log1p(-1.0 / phase.interval))
            made = stream.made + int(gap)
            stream.made = made
    # Ties go to the earlier job; whoever follows through its own injection channel comes last.
    key += job.sequence << 40
    if follows and made <= t:
        key += FOLLOWS
    slot = np.uint32(state.counters[0].free_slot)
    state.counters[0].free_slot = state.messages[slot].link
    message, detail = state.messages[slot], state.details[slot]
    asks = max(t, made)
    message.came, message.flits, message.source, message.head = asks, flits, q, router
    detail.key, detail.target, detail.end = key, target, router
    detail.rise = detail.seen = 0
    message.held, message.behind, message.left, message.leg = 0, 0, 0, 0
    message.slow = state.paced and state.paces[router, 0] > 1.0
    message.window = (flits - 1) // state.timing.buffer + 2
    detail.created, detail.leaves = made, UNKNOWN
    push(state, slot, asks, state.disk_of[router] if stream.after == IS_READ else router)


@njit(**INLINED)
def io_router(state, job, stream, i):
    """Router of the I/O node that the i-th message of a stream goes to or comes from."""
    turn = (stream.io_offset + i) % job.io_nodes
    return state.streams[job.first_stream + job.nodes + turn].router


@njit(**INLINED)
def deliver(state, slot, granted, delivered):
    """Count a message that was granted its ejection channel, and forget it."""
    counters, message, detail = state.counters[0], state.messages[slot], state.details[slot]
    stream = state.streams[message.source]
    job = state.jobs[stream.job]
    hops = np.int64(message.behind)
    latency = delivered - detail.created
    job.messages += 1
    job.latency += latency
    job.network += delivered - detail.injected
    # What the header would have taken without waiting is one hop for each channel before the last.
    job.blocking += granted - detail.injected - hops * state.timing.hop
    job.longest = max(job.longest, latency)
    job.hops += hops
    job.volume += message.flits
    counters.header_hops += hops + 1
    if job.recorded:
        row = state.deliveries[counters.recorded]
        counters.recorded += 1
        row.number = detail.key & ((1 << 40) - 1)
        row.source, row.destination = stream.router, detail.target
        if stream.after == IS_READ:
            row.source = io_router(state, job, stream, stream.index - 1)
        row.created, row.injected, row.delivered = detail.created, detail.injected, delivered
    message.held = message.behind = 0
    if stream.after == HAS_LEFT or stream.after == IS_READ:
        _finish(state, slot, delivered)
    else:
        detail.end = detail.target
        push(state, slot, delivered, state.disk_of[detail.target])


@njit(**INLINED)
def leave_disk(state, slot, time):
    """Go on with a message that a disk has done with at `time`."""
    message = state.messages[slot]
    if state.streams[message.source].after == IS_READ:
        push(state, slot, time, state.details[slot].end)
    else:
        _finish(state, slot, time)


@njit(**INLINED)
def _finish(state, slot, time):
    """Forget a message that is over at `time`, and have its stream send the next if it waits."""
    counters, source = state.counters[0], np.int64(state.messages[slot].source)
    stream = state.streams[source]
    job = state.jobs[stream.job]
    job.done = max(job.done, time)
    job.outstanding -= 1
    if job.outstanding == 0:
        # The ends of messages are known before they come: the job goes on at the last of them.
        job.due = job.done
        counters.due = min(counters.due, job.due)
    state.messages[slot].link = np.uint32(counters.free_slot)
    counters.free_slot = slot
    if stream.after != HAS_LEFT:
        offer(state, source, time, np.bool_(False))
