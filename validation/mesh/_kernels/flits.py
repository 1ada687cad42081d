"""Event loop of networks whose lanes share wires: every flit is moved by itself.

When two worms share a wire, the flits of each depend on when those of the other come, all along
both routes, so no formula for whole worms holds. Headers ask for lanes by the events of `events`;
jobs, streams, routes and the counts are the same. Each cycle goes through the wires of which
something is known to cross soon; one that waits for a flit elsewhere is roused when that crosses.
Channels keep `when` 0, so that the first in a queue has it looked at, and the release of a lane is
an alarm of its channel.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from phasefit.compiled import UNCOUNTED
from validation.mesh._kernels.channels import take_first, take_next, tally, wake_up
from validation.mesh._kernels.events import gather, next_cycle
from validation.mesh._kernels.grants import advance_header
from validation.mesh._kernels.messages import deliver, offer
from validation.mesh._kernels.records import (
    FAR,
    FOLLOWS,
    GOES_ON,
    INLINED,
    LATE,
    NOBODY,
)


@njit(**INLINED)
def _ejects(state, wire):
    """Whether a wire leads out of the network: numbered after those that lead into it."""
    return state.grid.routers <= wire < 2 * state.grid.routers


@njit(**INLINED)
def _ready(state, shared, lane):
    """When the next flit of a lane could cross its wire, were that idle.

    FAR if that waits for a flit to cross elsewhere: whoever moves it rouses the wire.
    """
    lanes, timing = shared.lanes, state.timing
    here, size = lanes[lane], shared.times.shape[1]
    j, before, ready = here.sent, here.before, np.int64(0)
    if here.worm == NOBODY or j == here.flits:
        return FAR
    if j > 0 and before != NOBODY:
        if lanes[before].sent <= j:
            return FAR
        # Any flit of the buffer before crossed at most `buffer` flits ago, so its time is there.
        ready = shared.times[before, j % size] + timing.flow
    if j >= timing.buffer and not _ejects(state, here.wire):  # a node takes all that comes
        if state.messages[here.worm].head == lane:
            return FAR
        after, ahead = state.channels[lane].after, j - timing.buffer
        if lanes[after].sent <= ahead:
            return FAR
        ready = max(ready, shared.times[after, ahead % size] + timing.credit)
    return ready


@njit(**INLINED)
def _rouse(shared, number, time):
    """Have a wire looked at from `time` on."""
    wire = shared.wires[number]
    wire.when = min(wire.when, time)
    if wire.busy == 0:
        wire.busy = 1
        shared.busy[shared.counts[0]] = number
        shared.counts[0] += 1


@njit(**INLINED)
def _wake(state, shared, lane, time):
    """Have the channel of a lane look at its queue at `time`, if anybody waits."""
    here = shared.lanes[lane]
    if state.channels[here.queue].queue != NOBODY and here.alarm != time:
        here.alarm = time
        wake_up(state, here.queue, time)


@njit(**INLINED)
def _let_go(state, shared, lane, slot, time):
    """Release the last lane of a worm, which the tail has left, from `time` on."""
    here, message = shared.lanes[lane], state.messages[slot]
    crossed = here.crossed
    tally(state, lane, crossed - message.came, np.int64(here.flits), time - crossed)
    # An alarm of its last flit has gone off: it may be of this very cycle, before the lane was let go.
    here.worm, here.free, here.alarm = NOBODY, time, -1
    message.came = crossed + state.timing.hop
    message.tail = state.channels[lane].after
    message.behind += 1
    message.held -= 1
    _wake(state, shared, lane, time)


@njit(**INLINED)
def _take_lane(state, shared, lane, t):
    """Give a free lane to the header that comes first in its channel's queue."""
    here = shared.lanes[lane]
    wire, queue = shared.wires[here.wire], here.queue
    slot = take_next(state, queue) if state.timing.in_turn else take_first(state, queue)
    message = state.messages[slot]
    here.worm, here.sent, here.flits, here.crossed = slot, 0, message.flits, t
    if message.held == 0:
        here.before, message.tail = NOBODY, lane
        # Coming last was for the queue of its source; further on it is one message among others.
        state.details[slot].key &= FOLLOWS - 1
    else:
        here.before = message.head
        state.channels[message.head].after = lane
    message.head = lane
    message.held += 1
    wire.granted = 0 if lane == wire.first else 1
    wire.open += 1
    _rouse(shared, here.wire, t)


@njit(**INLINED)
def _serve(state, shared, channel, t):
    """Grant what is free of the lanes that are asked for at a channel."""
    lanes, routers = shared.lanes, state.grid.routers
    wire = shared.wires[lanes[channel].wire]
    either, start = channel < 2 * routers, wire.granted + 1
    for k in range(2 if either else 1):
        lane = channel
        if either and (start + k) % 2 == 1:
            lane = wire.second
        if lane == NOBODY or lanes[lane].worm != NOBODY or lanes[lane].free > t:
            continue
        if channel < routers and (wire.open > 0 or wire.used == t):
            continue  # a node sends one message after the other
        if state.channels[channel].queue != NOBODY:
            _take_lane(state, shared, lane, t)


@njit(**INLINED)
def _await(state, shared, channel, t):
    """Have a channel look at its queue again when a lane that nobody holds becomes free."""
    wire = shared.wires[shared.lanes[channel].wire]
    for k in range(2):
        lane = wire.second if k else wire.first
        if lane == NOBODY or shared.lanes[lane].queue != channel:
            continue
        if shared.lanes[lane].worm == NOBODY and shared.lanes[lane].free > t:
            _wake(state, shared, lane, shared.lanes[lane].free)


@njit(**INLINED)
def _in_turn(wire):
    """The lane of a wire that did not carry the last flit."""
    return wire.first if wire.last == 1 or wire.second == NOBODY else wire.second


@njit(**INLINED)
def _pick_in_turn(state, shared, t):
    """Pick the flits that can cross on the lane whose turn it is; returns how many.

    Where credits take time, no flit's crossing lets another cross in the same cycle: then those of
    the other lanes are picked at once as well. Wires that wait for others leave the list.
    """
    wires, busy, n, k = shared.wires, shared.busy, 0, 0
    late = state.timing.credit > 0
    while k < shared.counts[0]:
        wire = wires[busy[k]]
        k += 1
        if wire.when > t or wire.used == t:
            continue
        lane = _in_turn(wire)
        other = wire.second if lane == wire.first else wire.first
        ready, soonest = _ready(state, shared, lane), FAR
        if ready > t and other != NOBODY:
            soonest = _ready(state, shared, other)
            if late and soonest <= t:
                lane, ready = other, soonest
        if ready <= t:
            wire.used, wire.when = t, t + 1
            shared.picked[n] = lane
            n += 1
            continue
        wire.when = min(ready, soonest)
        if wire.when == FAR:
            k -= 1
            wire.busy = 0
            shared.counts[0] -= 1
            busy[k] = busy[shared.counts[0]]
    return n


@njit(**INLINED)
def _one_of_each_input(shared, n, t):
    """Keep of `n` flits that are picked one for each input; returns how many.

    Of two that come from the lanes of one input the one goes whose lane did not go last; the wire
    of the other stays idle in this cycle, whatever else it could carry.
    """
    lanes, wires, picked, kept = shared.lanes, shared.wires, shared.picked, 0
    for k in range(n):
        lane = picked[k]
        before = lanes[lane].before
        if before == NOBODY:
            picked[kept] = lane
            kept += 1
            continue
        entry = wires[lanes[before].wire]
        if entry.left != t:
            entry.left, entry.place = t, kept
            picked[kept] = lane
            kept += 1
            continue
        loser = lane
        number = 0 if before == entry.first else 1
        if entry.place != NOBODY and number != entry.served:
            loser = picked[entry.place]
            picked[entry.place] = lane
        wire = wires[lanes[loser].wire]
        wire.used, wire.when = t - 1, t + 1
    return kept


@njit(**INLINED)
def _pick_others(state, shared, t):
    """Pick the flits that can cross where the lane in turn has none; returns how many."""
    wires, busy, n = shared.wires, shared.busy, 0
    for k in range(shared.counts[0]):
        wire = wires[busy[k]]
        if wire.used == t or wire.when > t or wire.second == NOBODY:
            continue
        lane = wire.second if wire.last == 1 else wire.first
        if _ready(state, shared, lane) <= t:
            wire.used, wire.when = t, t + 1
            shared.picked[n] = lane
            n += 1
    return n


@njit(**INLINED)
def _cross(state, shared, lane, t):
    """Move one flit over its wire; the wire is already marked as used."""
    timing, here = state.timing, shared.lanes[lane]
    wire, slot = shared.wires[here.wire], here.worm
    message = state.messages[slot]
    wire.last = 0 if lane == wire.first else 1
    j = here.sent
    shared.times[lane, j % shared.times.shape[1]] = t
    here.sent = j + 1
    ejects = _ejects(state, here.wire)
    before = here.before
    if timing.input_speedup == 1 and before != NOBODY:
        entry = shared.wires[shared.lanes[before].wire]
        entry.served, entry.place = 0 if before == entry.first else 1, NOBODY
    if before != NOBODY and shared.lanes[before].sent == j + timing.buffer:
        _rouse(shared, shared.lanes[before].wire, t + timing.credit)
    if message.head != lane:
        after = state.channels[lane].after
        if shared.lanes[after].sent == j:
            _rouse(shared, shared.lanes[after].wire, t + timing.flow)
    if j == 0:
        here.crossed = t
        if here.before == NOBODY:
            state.details[slot].injected = t
        if not ejects:
            advance_header(state, slot, lane, t + timing.hop)
    if here.sent < here.flits:
        return
    wire.open -= 1
    if here.before == NOBODY:
        # The node may put its next message on the wire, whether or not this lane is free again.
        _wake(state, shared, lane, t + 1)
        offer(state, np.int64(message.source), t + 1, np.bool_(True))
    else:
        first = message.behind == 0
        _let_go(state, shared, here.before, slot, t + (timing.resume if first else timing.release))
    if ejects:
        free = t + timing.flow + timing.release
        tally(state, lane, here.crossed - message.came, np.int64(here.flits), free - here.crossed)
        here.worm, here.free = NOBODY, free
        _wake(state, shared, lane, free)
        deliver(state, slot, here.crossed, t + timing.sink)


@njit(**INLINED)
def _move(state, shared, t):
    """Move every flit that can cross a wire at t.

    The lane in turn comes first; it has its chance also where a crossing further on makes room in
    the same cycle, before lanes out of turn are looked at.
    """
    lanes, picked = shared.lanes, shared.picked
    n = _pick_in_turn(state, shared, t)
    if state.timing.input_speedup == 1:
        n = _one_of_each_input(shared, n, t)
    while True:
        if n == 0:
            n = _pick_others(state, shared, t) if state.timing.credit == 0 else 0
            if n == 0:
                return
        many, n = n, 0
        for k in range(many):
            lane = picked[k]
            before = lanes[lane].before
            _cross(state, shared, lane, t)
            if state.timing.credit > 0 or before == NOBODY:
                continue
            wire = shared.wires[lanes[before].wire]
            free = wire.used < t and before == _in_turn(wire)
            if free and _ready(state, shared, before) <= t:
                wire.used, wire.when = t, t + 1
                picked[n] = before
                n += 1


@njit(**UNCOUNTED)
def advance(state, shared, until):
    """Run until a job completes, `until` is reached, or nothing more can happen.

    As `events.advance`, whose codes it returns.
    """
    wheel, counters, dirty = state.wheel, state.counters[0], state.dirty
    mask, t = wheel.size - 1, counters.clock
    while True:
        t, code = next_cycle(state, t, until, counters.pending == 0 and shared.counts[0] == 0)
        if code != GOES_ON:
            return code
        bucket, again = np.uint32(t & mask), True
        while again:
            asking, late = gather(state, t)
            if late:
                return LATE
            later = wheel[bucket]
            for k in range(asking):
                _serve(state, shared, dirty[k], t)
                _await(state, shared, dirty[k], t)
            _move(state, shared, t)
            # A lane that was let go may be granted within the cycle.
            again = wheel[bucket] != later
        t += 1
