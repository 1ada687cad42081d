"""One channel and one worm: queues, releases, and when a tail crosses."""

from __future__ import annotations

import numpy as np
from numba import njit

from validation.mesh._kernels.records import ALARM, INLINED, NOBODY, ROUNDING, UNKNOWN


@njit(**INLINED)
def is_ejection(grid, channel):
    """Whether a channel leads out of the network: numbered after those that lead into it."""
    return grid.routers <= channel < 2 * grid.routers


@njit(**INLINED)
def push(state, slot, time, asked):
    """Have `slot` ask for a channel at `time`."""
    wheel, event = state.wheel, state.events[slot]
    bucket = np.uint32(time & (wheel.size - 1))
    event.time, event.asked, event.link = time, asked, wheel[bucket]
    wheel[bucket] = slot
    state.counters[0].pending += 1


@njit(**INLINED)
def stream_out(timing, flits, pace):
    """Cycles from the first to the last of so many further flits through one channel."""
    if pace <= 1.0 and timing.buffer >= timing.flow + timing.credit:
        return flits
    buffers, rest = flits // timing.buffer, flits % timing.buffer
    loop = max(float(timing.flow + timing.credit), timing.buffer * pace)
    return int(np.ceil(buffers * loop + rest * pace - ROUNDING))


@njit(**INLINED)
def last_flit(flits, pace):
    """Cycles that a disk needs for the last of a worm's flits; one where there is no disk."""
    if pace <= 1.0:
        return np.int64(1)
    return np.int64(np.ceil(flits * pace - ROUNDING) - np.ceil((flits - 1) * pace - ROUNDING))


@njit(**INLINED)
def tail_passes(channels, timing, flits, at, last, last_pace, pace):
    """When the tail crosses channel `at`, the header being far enough ahead in channel `last`.

    The tail waits for every flit ahead of it; a flit that is m channels further on is m buffers
    ahead, and its place comes back with m credits.
    """
    credit, size = timing.credit, timing.buffer
    left, back, latest = flits - 1, 0, -1
    while left >= 0:
        speed = last_pace if at == last else pace
        crosses = ~channels[at].when + back + stream_out(timing, left, speed)
        latest = max(latest, crosses)
        if at == last:
            break
        at = channels[at].after
        left -= size
        back += credit
    return latest


@njit(**INLINED)
def wake_up(state, channel, time):
    """Have a channel look at its queue at `time`."""
    slot = np.uint32(state.counters[0].free_slot)
    state.counters[0].free_slot = state.events[slot].link
    push(state, slot, time, channel | ALARM)


@njit(**INLINED)
def tally(state, channel, waited, flits, held):
    """Add a worm to what a channel has counted."""
    here = state.channels[channel]
    waited += here.waited
    carried = np.int64(here.carried) + flits
    worms = np.int64(here.worms) + 1
    held += here.held
    if (waited | carried | held) >> 32:  # there are no more worms than flits
        total = state.totals[channel]
        total.waited += waited
        total.carried += carried
        total.worms += worms
        total.held += held
        waited = carried = worms = held = np.int64(0)
    here.waited, here.carried, here.worms, here.held = waited, carried, worms, held


@njit(**INLINED)
def let_go(state, channel, time, top):
    """Release a channel at `time`, to the first in its queue if any. Returns the stack's top."""
    here = state.channels[channel]
    if here.queue == NOBODY:
        here.when = time
        return top
    if state.timing.in_turn:
        here.when = time
        wake_up(state, channel, time)
        return top
    state.stack[top].link = take_first(state, channel)
    state.stack[top].time = time
    return top + 1


@njit(**INLINED)
def take_first(state, channel):
    """Take from a channel's queue whoever asked first."""
    here, events = state.channels[channel], state.events
    last = here.queue
    first = events[last].link
    if first == last:
        here.queue = NOBODY
    else:
        events[last].link = events[first].link
    return first


@njit(**INLINED)
def take_next(state, channel):
    """Take from a channel's queue the one whose input comes next in turn."""
    here, events, messages = state.channels[channel], state.events, state.messages
    last = here.queue
    best_before, before, slot = last, last, events[last].link
    best = slot
    inputs = (state.grid.directions + 1) * state.grid.virtual
    place = np.int64(state.inputs[messages[slot].head])
    turn = np.int64(state.turns[channel])
    if slot == last:
        here.queue = NOBODY
    else:
        best_wait = place - turn + (inputs if place < turn else 0)
        while slot != last:
            before, slot = slot, events[slot].link
            other = np.int64(state.inputs[messages[slot].head])
            wait = other - turn + (inputs if other < turn else 0)
            if wait < best_wait:
                best, best_before, best_wait, place = slot, before, wait, other
        events[best_before].link = events[best].link
        if best == last:
            here.queue = best_before
    state.turns[channel] = 0 if place + 1 == inputs else place + 1
    return best


@njit(**INLINED)
def tail_moves(state, slot, tail, after, held, behind, last_pace):
    """When the tail of a worm that holds so many channels crosses `after`, the one after `tail`."""
    channels, timing, message = state.channels, state.timing, state.messages[slot]
    flits, head = np.int64(message.flits), message.head
    if timing.buffer <= timing.hop + timing.credit:
        # Every channel further on weighs more than the one before: only the last counts.
        m = held - 2
        crosses = ~channels[head].when + m * timing.credit
        crosses += stream_out(timing, flits - 1 - m * timing.buffer, last_pace)
    else:
        crosses = tail_passes(channels, timing, flits, after, head, last_pace, 1.0)
    if message.slow:
        born = state.born[slot]
        if born.leaves == UNKNOWN:
            in_pace = state.paces[state.streams[message.source].router, 0]
            slower = max(last_pace, in_pace)
            born.leaves = tail_passes(channels, timing, flits, tail, head, slower, in_pace)
        crosses = max(crosses, born.leaves + (behind + 1) * timing.flow)
    return crosses


@njit(**INLINED)
def join(state, slot, t):
    """Queue at a channel by time of request, then key. Returns whether it is to be looked at."""
    events, messages = state.events, state.messages
    channel = events[slot].asked
    here = state.channels[channel]
    last = here.queue
    if last == NOBODY:
        events[slot].link = slot
        here.queue = slot
        if here.when < 0:
            return False
        if state.timing.in_turn and here.when > t:
            wake_up(state, channel, here.when)
            return False
        return True
    key = messages[slot].key
    if events[last].time == t and messages[last].key > key:
        before, after = last, events[last].link
        while events[after].time < t or messages[after].key < key:
            before, after = after, events[after].link
        events[before].link = slot
        events[slot].link = after
    else:
        events[slot].link = events[last].link
        events[last].link = slot
        here.queue = slot
    return False
