"""One channel and one worm: queues, releases, and when a tail passes."""

from __future__ import annotations

import numpy as np
from numba import njit

from validation.mesh._columns import (
    ALARM,
    ASKED,
    BUFFER,
    CREDIT,
    DIRECTIONS,
    FLITS,
    FLOW,
    FREE_SLOT,
    HEAD,
    HELD,
    HELD_TIME,
    HOP,
    IN_TURN,
    INLINED,
    KEY,
    LEAVES,
    LINK,
    PASSED,
    PENDING,
    ROUTER,
    ROUTERS,
    SOURCE,
    TAIL,
    TIME,
    UNKNOWN,
    VIRTUAL,
)  # fmt: skip


@njit(**INLINED)
def push(state, slot, time):
    wheel = state.wheel
    state.events[slot, TIME] = time
    bucket = time & (wheel.size - 1)
    state.events[slot, LINK] = wheel[bucket]
    wheel[bucket] = slot
    state.whole[PENDING] += 1


@njit(**INLINED)
def stream_out(timing, flits, pace):
    """Cycles from the first to the last of so many further flits through one channel."""
    if pace <= 1.0 and timing[BUFFER] >= timing[FLOW] + timing[CREDIT]:
        return flits
    buffers, rest = flits // timing[BUFFER], flits % timing[BUFFER]
    loop = max(float(timing[FLOW] + timing[CREDIT]), timing[BUFFER] * pace)
    return int(np.ceil(buffers * loop + rest * pace - 1e-9))


@njit(**INLINED)
def tail_passes(channels, timing, message, at, last_pace, pace):
    """When the tail crosses channel `at`, the header being far enough ahead.

    The tail waits for every flit ahead of it; a flit that is m channels further on is m buffers
    ahead, and its place comes back with m credits.
    """
    last, credit, size = message[HEAD], timing[CREDIT], timing[BUFFER]
    left, m, latest = message[FLITS] - 1, 0, -1
    while left >= 0:
        speed = last_pace if at == last else pace
        passes = ~channels[at].when + m * credit + stream_out(timing, left, speed)
        latest = max(latest, passes)
        if at == last:
            break
        at = np.int64(channels[at].after)
        left -= size
        m += 1
    return latest


@njit(**INLINED)
def wake_up(state, channel, time):
    """Have a channel look at its queue at `time`."""
    slot = state.whole[FREE_SLOT]
    state.whole[FREE_SLOT] = state.events[slot, LINK]
    state.messages[slot, KEY], state.messages[slot, ASKED] = ALARM, channel
    push(state, slot, time)


@njit(**INLINED)
def let_go(state, channel, time, top):
    """Release a channel at `time`, to the first in its queue if any. Returns the stack's top."""
    channels = state.channels
    state.totals[channel, HELD_TIME] += time - ~channels[channel].when
    waiting = np.int64(channels[channel].queue)
    if waiting < 0 or state.timing[IN_TURN]:
        channels[channel].when = time
        if waiting >= 0:
            wake_up(state, channel, time)
        return top
    channels[channel].queue = state.events[waiting, LINK]
    state.stack[top, 0], state.stack[top, 1], state.stack[top, 2] = waiting, channel, time
    return top + 1


@njit(**INLINED)
def take_first(state, channel):
    """Take from a channel's queue whoever asked first."""
    slot = np.int64(state.channels[channel].queue)
    state.channels[channel].queue = state.events[slot, LINK]
    return slot


@njit(**INLINED)
def take_next(state, channel):
    """Take from a channel's queue the one whose input comes next in turn."""
    channels, messages = state.channels, state.messages
    routers, ports = state.grid[ROUTERS], state.grid[DIRECTIONS]
    lanes = state.grid[VIRTUAL]
    inputs = (ports + 1) * lanes
    nobody = np.int64(-1)
    best, best_before, best_wait, best_input = nobody, nobody, inputs, 0
    before, slot = nobody, np.int64(channels[channel].queue)
    while slot >= 0:
        head = messages[slot, HEAD]
        place = inputs - 1
        if messages[slot, HELD] > 0 and head >= 2 * routers:
            wire = (head - 2 * routers) % (ports * lanes)
            place = ((wire // lanes) ^ 1) * lanes + wire % lanes  # west before east, and so on
        wait = (place - state.turns[channel]) % inputs
        if wait < best_wait:
            best, best_before, best_wait, best_input = slot, before, wait, place
        before, slot = slot, state.events[slot, LINK]
    if best_before < 0:
        channels[channel].queue = state.events[best, LINK]
    else:
        state.events[best_before, LINK] = state.events[best, LINK]
    state.turns[channel] = (best_input + 1) % inputs
    return best


@njit(**INLINED)
def tail_moves(state, message, last_pace):
    """When the tail crosses the channel after its last one."""
    channels, timing = state.channels, state.timing
    after = np.int64(channels[message[TAIL]].after)
    if timing[BUFFER] <= timing[HOP] + timing[CREDIT]:
        # Every channel further on weighs more than the one before: only the last counts.
        m = message[HELD] - 2
        left = message[FLITS] - 1 - m * timing[BUFFER]
        passes = ~channels[message[HEAD]].when + m * timing[CREDIT]
        passes += stream_out(timing, left, last_pace)
    else:
        passes = tail_passes(channels, timing, message, after, last_pace, 1.0)
    if message[LEAVES] >= UNKNOWN:
        if message[LEAVES] == UNKNOWN:
            in_pace = state.paces[state.streams[message[SOURCE], ROUTER], 0]
            message[LEAVES] = tail_passes(
                channels, timing, message, message[TAIL], max(last_pace, in_pace), in_pace
            )
        passes = max(passes, message[LEAVES] + (message[PASSED] + 1) * timing[FLOW])
    return passes


@njit(**INLINED)
def join(state, slot, t):
    """Queue at a channel by time of request, then key. Returns whether it is to be looked at."""
    channels, messages = state.channels, state.messages
    message = messages[slot]
    channel, key = message[ASKED], message[KEY]
    before, after = np.int64(-1), np.int64(channels[channel].queue)
    first = after < 0 and channels[channel].when >= 0
    while after >= 0 and not (state.events[after, TIME] == t and messages[after, KEY] > key):
        before, after = after, state.events[after, LINK]
    state.events[slot, LINK] = after
    if before < 0:
        channels[channel].queue = slot
    else:
        state.events[before, LINK] = slot
    if first and state.timing[IN_TURN] and channels[channel].when > t:
        wake_up(state, channel, channels[channel].when)
        return False
    return first
