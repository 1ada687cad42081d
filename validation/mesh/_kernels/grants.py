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
    tally,
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
        asked, message.step, message.left, message.end, message.leg = piece(
            state.grid, np.int64(message.end), np.int64(message.target), np.int64(message.leg)
        )
    push(state, slot, time, asked)


@njit(**INLINED)
def _pass_tail(state, slot, held, keep, pace, tail_crosses, top):
    """Let the tail leave channels until the message holds `keep`; whoever waits is stacked.

    pace is that of the header's channel, tail_crosses when the tail crossed the last so far.
    Returns how many channels are held, when the tail crossed last, and the top of the stack.
    """
    channels, timing, message = state.channels, state.timing, state.messages[slot]
    tail, came, flits = message.tail, message.came, np.int64(message.flits)
    behind = np.int64(message.behind)
    while held > keep:
        granted, after = ~channels[tail].when, channels[tail].after
        tail_crosses = tail_moves(state, slot, tail, after, held, behind, pace)
        free = tail_crosses + (timing.release if behind else timing.resume)
        if behind == 0 and message.slow:
            # A slow source is busy with its last flit until that has left the disk.
            disk = state.paces[state.streams[message.source].router, 0]
            free = max(free, state.born[slot].leaves + last_flit(flits, disk))
        tally(state, tail, granted - came, flits, free - granted)
        top = let_go(state, tail, free, top)
        if behind == 0:
            offer(state, message.source, free, True)
        came = granted + timing.hop
        tail = after
        behind += 1
        held -= 1
    message.tail, message.came, message.behind = tail, came, behind
    return held, tail_crosses, top


@njit(**INLINED)
def _cut_through(state, slot, channel, time, top):
    """Send a message through a channel that it holds for its own flits only. Returns the top."""
    timing, message, born = state.timing, state.messages[slot], state.born[slot]
    flits, first = np.int64(message.flits), message.behind == 0
    ejected = is_ejection(state.grid, channel)
    pace = 1.0
    if first:
        born.injected = time
        # Coming last was for the queue of its source; further on it is one message among others.
        message.key &= FOLLOWS - 1
        pace = state.paces[state.streams[message.source].router, 0]
    elif ejected:
        pace = state.paces[message.target, 1]
    # Buffers are unlimited, so nothing holds the flits back but their own number and a slow disk.
    tail_crosses = time + np.int64(np.ceil((flits - 1) * pace - ROUNDING))
    if not first:  # from a slow source the tail may come late
        tail_crosses = max(tail_crosses, born.leaves + timing.flow)
    born.leaves = tail_crosses
    last_flit_takes = last_flit(flits, pace)
    free = tail_crosses + last_flit_takes + (timing.resume if first else timing.release)
    tally(state, channel, time - message.came, flits, free - time)
    top = let_go(state, channel, free, top)
    if ejected:
        deliver(state, slot, time, tail_crosses + timing.sink + last_flit_takes - 1)
        return top
    message.behind += 1
    message.head, message.came = channel, time + timing.hop
    advance_header(state, slot, channel, message.came)
    if first:
        offer(state, message.source, free, True)
    return top


@njit(**INLINED)
def _hold(state, slot, channel, time, top):
    """Add a channel to those that a worm holds, and let go of others. Returns the stack's top."""
    channels, timing, message = state.channels, state.timing, state.messages[slot]
    # Until its release is known, a channel keeps the time of the grant instead.
    channels[channel].when = ~time
    if message.held == 0:
        message.tail = channel
        state.born[slot].injected = time
        # Coming last was for the queue of its source; further on it is one message among others.
        message.key &= FOLLOWS - 1
    else:
        channels[message.head].after = channel
    message.head = channel
    held = np.int64(message.held) + 1
    ejected = is_ejection(state.grid, channel)
    if ejected:
        # The header is at its end, so when the tail leaves each channel but this one is known.
        keep, pace = np.int64(1), state.paces[message.target, 1]
    else:
        # So far ahead of the tail that all flits fit between: from then on only it decides.
        keep, pace = np.int64(message.window) - 1, 1.0
        advance_header(state, slot, channel, time + timing.hop)
    tail_crosses = time
    if held > keep:
        held, tail_crosses, top = _pass_tail(state, slot, held, keep, pace, tail_crosses, top)
    message.held = held
    if ejected:
        flits = np.int64(message.flits)
        last_flit_takes = last_flit(flits, pace)
        free = tail_crosses + max(timing.flow, last_flit_takes) + timing.release
        tally(state, channel, time - message.came, flits, free - time)
        top = let_go(state, channel, free, top)
        deliver(state, slot, time, tail_crosses + timing.sink + last_flit_takes - 1)
    return top


@njit(**INLINED)
def _serve(state, slot, disk, time, top):
    """Have a disk write or read a message from `time` on. Returns the stack's top."""
    message = state.messages[slot]
    flits, asked = np.int64(message.flits), state.events[slot].time
    done = time + np.int64(np.ceil(flits * state.paces[message.end, 2] - ROUNDING))
    # In order of arrival, and how long each takes is known: so is when the next one begins.
    tally(state, disk, time - asked, flits, done - time)
    top = let_go(state, disk, done, top)
    leave_disk(state, slot, done)
    return top


@njit(**INLINED)
def grant(state, slot, time):
    """Give a header the channel it asks for at `time`, and others what becomes free by that."""
    # Whoever waits for a channel that is let go is stacked, not called: no depth can be exceeded.
    stack, top = state.stack, 0
    while True:
        channel = state.events[slot].asked
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
