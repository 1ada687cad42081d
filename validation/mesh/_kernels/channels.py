"""One channel and one worm: queues, releases, and when a tail crosses."""

from __future__ import annotations

import numpy as np
from numba import njit

from validation.mesh._kernels.records import ALARM, INLINED, NEAR, NOBODY, ROUNDING, UNKNOWN


@njit(**INLINED)
def is_ejection(grid, channel):
    """Whether a channel leads out of the network: numbered after those that lead into it."""
    return grid.routers <= channel < 2 * grid.routers


@njit(**INLINED)
def push(state, slot, time, asked):
    """Have `slot` ask for a channel at `time`."""
    wheel, message, counters = state.wheel, state.messages[slot], state.counters[0]
    message.time, message.asked = time, asked
    if 0 <= time - counters.clock < state.nearby:
        row = np.uint32(time & (NEAR - 1))
        due = np.uint32(state.due[row])
        state.near[row, due] = slot
        state.due[row] = due + 1
    else:
        bucket = np.uint32(time & (wheel.size - 1))
        message.link = wheel[bucket]
        wheel[bucket] = slot
    counters.pending += 1


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
def latest_flit(state, slot, at, place):
    """What `tail_passes` takes the maximum of, beside the flits, where they come one each cycle.

    at is the channel in that place of the route, which the tail is about to cross; `place` counts
    from 0. A channel that the header took g cycles after the one before adds g - slack to what is
    waited for, so only one that it waited for longer than that can outdo the first: mostly none,
    and else one that goes on deciding until the tail comes there.
    """
    channels, detail = state.channels, state.details[slot]
    first = ~channels[at].when
    if detail.rise <= place:
        return first
    slack = state.timing.buffer - state.timing.credit
    if detail.seen != detail.rise or detail.peak < place:
        detail.seen, detail.peak, detail.top = detail.rise, place, first - place * slack
        for further in range(place + 1, detail.rise + 1):
            at = channels[at].after
            value = ~channels[at].when - further * slack
            if value >= detail.top:
                detail.peak, detail.top = further, value
    return detail.top + place * slack


@njit(**INLINED)
def wake_up(state, channel, time):
    """Have a channel look at its queue at `time`."""
    slot = np.uint32(state.counters[0].free_slot)
    state.counters[0].free_slot = state.messages[slot].link
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
def let_go(state, channel, flits, asked, granted, time, top):
    """Count a message, and release its channel at `time`, to the first in its queue if any.

    Returns the stack's top.
    """
    tally(state, channel, granted - asked, flits, time - granted)
    here = state.channels[channel]
    if here.queue == NOBODY:
        here.when = time
        return top
    if state.timing.in_turn:
        here.when = time
        wake_up(state, channel, time)
        return top
    first = take_first(state, channel)
    state.stack[top].link = first
    state.stack[top].time = time
    return top + 1


@njit(**INLINED)
def take_first(state, channel):
    """Take from a channel's queue whoever asked first."""
    here, messages = state.channels[channel], state.messages
    last = here.queue
    first = messages[last].link
    if first == last:
        here.queue = NOBODY
    else:
        messages[last].link = messages[first].link
    return first


@njit(**INLINED)
def take_next(state, channel):
    """Take from a channel's queue the one whose input comes next in turn."""
    here, messages = state.channels[channel], state.messages
    last = here.queue
    best_before, before, slot = last, last, messages[last].link
    best = slot
    inputs = (state.grid.directions + 1) * state.grid.virtual
    place = np.int64(state.inputs[messages[slot].head])
    turn = np.int64(state.turns[channel])
    if slot == last:
        here.queue = NOBODY
    else:
        best_wait = place - turn + (inputs if place < turn else 0)
        while slot != last:
            before, slot = slot, messages[slot].link
            other = np.int64(state.inputs[messages[slot].head])
            wait = other - turn + (inputs if other < turn else 0)
            if wait < best_wait:
                best, best_before, best_wait, place = slot, before, wait, other
        messages[best_before].link = messages[best].link
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
    elif last_pace <= 1.0 and timing.buffer >= timing.flow + timing.credit:
        crosses = flits - 1 + latest_flit(state, slot, after, behind + 1)
    else:
        crosses = tail_passes(channels, timing, flits, after, head, last_pace, 1.0)
    if message.slow:
        detail = state.details[slot]
        if detail.leaves == UNKNOWN:
            in_pace = state.paces[state.streams[message.source].router, 0]
            slower = max(last_pace, in_pace)
            detail.leaves = tail_passes(channels, timing, flits, tail, head, slower, in_pace)
        crosses = max(crosses, detail.leaves + (behind + 1) * timing.flow)
    return crosses


@njit(**INLINED)
def join(state, slot, t):
    """Queue at a channel by time of request, then key. Returns whether it is to be looked at."""
    messages, details = state.messages, state.details
    channel = messages[slot].asked
    here = state.channels[channel]
    last = here.queue
    if last == NOBODY:
        messages[slot].link = slot
        here.queue = slot
        if here.when < 0:
            return False
        if state.timing.in_turn and here.when > t:
            wake_up(state, channel, here.when)
            return False
        return True
    key = details[slot].key
    if messages[last].time == t and details[last].key > key:
        before, after = last, messages[last].link
        while messages[after].time < t or details[after].key < key:
            before, after = after, messages[after].link
        messages[before].link = slot
        messages[slot].link = after
    else:
        messages[slot].link = messages[last].link
        messages[last].link = slot
        here.queue = slot
    return False
