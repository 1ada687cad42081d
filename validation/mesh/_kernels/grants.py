"""A header is granted a channel: it goes on, its tail follows, and others get what it leaves."""

from __future__ import annotations

import numpy as np
from numba import njit

from validation.mesh._kernels.channels import (
    is_ejection,
    last_flit,
    let_go,
    push,
    tail_moves,
)
from validation.mesh._kernels.messages import deliver, leave_disk, offer
from validation.mesh._kernels.records import FOLLOWS, INLINED, ROUNDING
from validation.mesh._kernels.routes import piece


@njit(**INLINED)
def advance_header(state, slot, channel, time):
    """Have a header that was granted `channel` ask for the next of its route at `time`."""
    message = state.messages[slot]
    if message.left > 0:
        message.left -= 1
        asked = np.int64(channel) + message.step
    else:
        detail = state.details[slot]
        asked, message.step, message.left, detail.end, message.leg = piece(
            state.grid, np.int64(detail.end), np.int64(detail.target), np.int64(message.leg)
        )
    push(state, slot, time, asked)


@njit(**INLINED)
def _leave(state, slot, held, pace, top):
    """Let the tail of a message that holds so many channels leave the last of them.

    pace is that of the header's channel. Returns when the tail crosses the channel after it, and
    the top of the stack, where whoever waited for the channel is put.
    """
    channels, timing, message = state.channels, state.timing, state.messages[slot]
    tail, came, flits = message.tail, message.came, np.int64(message.flits)
    behind = np.int64(message.behind)
    granted, after = ~channels[tail].when, channels[tail].after
    tail_crosses = tail_moves(state, slot, tail, after, held, behind, pace)
    free = tail_crosses + (timing.release if behind else timing.resume)
    if behind == 0 and message.slow:
        # A slow source is busy with its last flit until that has left the disk.
        disk = state.paces[state.streams[message.source].router, 0]
        free = max(free, state.details[slot].leaves + last_flit(flits, disk))
    top = let_go(state, tail, flits, came, granted, free, top)
    if behind == 0:
        offer(state, np.int64(message.source), free, np.bool_(True))
    message.tail, message.came, message.behind = after, granted + timing.hop, behind + 1
    return tail_crosses, top


@njit(**INLINED)
def _cut_through(state, slot, channel, time, top):
    """Send a message through a channel that it holds for its own flits only. Returns the top."""
    timing, message, detail = state.timing, state.messages[slot], state.details[slot]
    flits, first = np.int64(message.flits), message.behind == 0
    ejected = is_ejection(state.grid, channel)
    pace = 1.0
    if first:
        detail.injected = time
        # Coming last was for the queue of its source; further on it is one message among others.
        detail.key &= FOLLOWS - 1
        pace = state.paces[state.streams[message.source].router, 0]
    elif ejected:
        pace = state.paces[detail.target, 1]
    # Buffers are unlimited, so nothing holds the flits back but their own number and a slow disk.
    tail_crosses = time + np.int64(np.ceil((flits - 1) * pace - ROUNDING))
    if not first:  # from a slow source the tail may come late
        tail_crosses = max(tail_crosses, detail.leaves + timing.flow)
    detail.leaves = tail_crosses
    last_flit_takes = last_flit(flits, pace)
    free = tail_crosses + last_flit_takes + (timing.resume if first else timing.release)
    top = let_go(state, channel, flits, message.came, time, free, top)
    if ejected:
        deliver(state, slot, time, tail_crosses + timing.sink + last_flit_takes - 1)
        return top
    message.behind += 1
    message.head, message.came = channel, time + timing.hop
    advance_header(state, slot, channel, message.came)
    if first:
        offer(state, np.int64(message.source), free, np.bool_(True))
    return top


@njit(**INLINED)
def _hold(state, slot, channel, time, top):
    """Add a channel to those that a worm holds, and let go of others. Returns the stack's top."""
    channels, timing, message = state.channels, state.timing, state.messages[slot]
    # Until its release is known, a channel keeps the time of the grant instead.
    channels[channel].when = ~time
    if message.held == 0:
        message.tail = channel
        state.details[slot].injected = time
        # Coming last was for the queue of its source; further on it is one message among others.
        state.details[slot].key &= FOLLOWS - 1
    else:
        channels[message.head].after = channel
        slack = timing.buffer - timing.credit
        if slack > timing.hop and time - message.time > slack - timing.hop:
            state.details[slot].rise = message.behind + message.held
    message.head = channel
    held = np.int64(message.held) + 1
    if not is_ejection(state.grid, channel):
        advance_header(state, slot, channel, time + timing.hop)
        # So far ahead of the tail that all flits fit between: from then on only it decides.
        if held == message.window:
            _, top = _leave(state, slot, held, 1.0, top)
            held -= 1
        message.held = held
        return top
    # The header is at its end, so when the tail leaves each channel but this one is known.
    pace = state.paces[state.details[slot].target, 1] if state.paced else 1.0
    tail_crosses = time
    while held > 1:
        tail_crosses, top = _leave(state, slot, held, pace, top)
        held -= 1
    flits = np.int64(message.flits)
    last_flit_takes = last_flit(flits, pace)
    free = tail_crosses + max(timing.flow, last_flit_takes) + timing.release
    top = let_go(state, channel, flits, message.came, time, free, top)
    deliver(state, slot, time, tail_crosses + timing.sink + last_flit_takes - 1)
    return top


@njit(**INLINED)
def _serve(state, slot, disk, time, top):
    """Have a disk write or read a message from `time` on. Returns the stack's top."""
    message = state.messages[slot]
    flits, asked = np.int64(message.flits), message.time
    done = time + np.int64(np.ceil(flits * state.paces[state.details[slot].end, 2] - ROUNDING))
    # In order of arrival, and how long each takes is known: so is when the next one begins.
    top = let_go(state, disk, flits, asked, time, done, top)
    leave_disk(state, slot, done)
    return top


@njit(**INLINED)
def grant(state, slot, time):
    """Give a header the channel it asks for at `time`, and others what becomes free by that."""
    # Whoever waits for a channel that is let go is stacked, not called: no depth can be exceeded.
    stack, top = state.stack, np.int64(0)
    while True:
        channel = state.messages[slot].asked
        if channel >= state.grid.disks:
            top = _serve(state, slot, channel, time, top)
        elif state.timing.cut_through:
            top = _cut_through(state, slot, channel, time, top)
        else:
            top = _hold(state, slot, channel, time, top)
        if top == 0:
            return
        top -= 1
        slot, time = stack[top].link, stack[top].time
