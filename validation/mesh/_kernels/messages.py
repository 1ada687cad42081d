"""The two ends of a message's life: it is put before its injection channel, and it is delivered."""

from __future__ import annotations

import numpy as np
from numba import njit

from validation.mesh._kernels.channels import push
from validation.mesh._kernels.records import FOLLOWS, INLINED, LISTED, UNKNOWN
from validation.mesh._kernels.traffic import destination, random


@njit(**INLINED)
def offer(state, q, t, follows):
    """Put the next message of stream q before its injection channel, at t or when it is made."""
    stream = state.streams[q]
    i = stream.index
    if i >= stream.stop:
        return
    stream.index = i + 1
    job = state.jobs[stream.job]
    phase = state.phases[job.first_phase + job.phase]
    made = t
    if phase.kind == LISTED:
        listed = state.listed[i]
        made, target, flits, key = listed.created, listed.target, listed.flits, listed.number
    else:
        n, m = job.nodes, job.io_nodes
        flits = phase.flits
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
    router = stream.router
    slot = np.uint32(state.counters[0].free_slot)
    state.counters[0].free_slot = state.events[slot].link
    message, born = state.messages[slot], state.born[slot]
    asks = max(t, made)
    message.key, message.came, message.flits = key, asks, flits
    message.source, message.target, message.end, message.head = q, target, router, router
    message.held, message.behind, message.left, message.leg = 0, 0, 0, 0
    message.slow = state.paces[router, 0] > 1.0
    message.window = (flits - 1) // state.timing.buffer + 2
    born.created, born.leaves = made, UNKNOWN
    push(state, slot, asks, router)


@njit(**INLINED)
def deliver(state, slot, granted, delivered):
    """Count a message that was granted its ejection channel, and forget it."""
    counters, message, born = state.counters[0], state.messages[slot], state.born[slot]
    job = state.jobs[state.streams[message.source].job]
    hops = np.int64(message.behind)
    latency = delivered - born.created
    job.messages += 1
    job.latency += latency
    job.network += delivered - born.injected
    # What the header would have taken without waiting is one hop for each channel before the last.
    job.blocking += granted - born.injected - hops * state.timing.hop
    job.longest = max(job.longest, latency)
    job.hops += hops
    job.volume += message.flits
    job.done = max(job.done, delivered)
    job.outstanding -= 1
    counters.header_hops += hops + 1
    if job.outstanding == 0:
        # The ends of messages are known before they come: the job goes on at the last of them.
        job.due = job.done
        counters.due = min(counters.due, job.due)
    if job.recorded:
        row = state.deliveries[counters.recorded]
        counters.recorded += 1
        row.number = message.key & ((1 << 40) - 1)
        row.source, row.destination = state.streams[message.source].router, message.target
        row.created, row.injected, row.delivered = born.created, born.injected, delivered
    message.held = message.behind = 0
    state.events[slot].link = np.uint32(counters.free_slot)
    counters.free_slot = slot
