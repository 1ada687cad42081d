"""Event loop of the worm-level mesh simulator: arrays in, arrays changed in place.

One event for each channel that a header asks for, and none for releases: when a channel will be
free is known as soon as the header is far enough ahead of the tail, and whoever waits is granted
the channel then and there, possibly in the future. Time is whole cycles: requests of the next few
are kept in rows, later ones in the lists of a wheel.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from phasefit.compiled import UNCOUNTED
from validation.mesh._kernels.channels import join, take_first, take_next
from validation.mesh._kernels.grants import grant
from validation.mesh._kernels.jobs import job_events
from validation.mesh._kernels.records import (
    ALARM,
    COMPLETED,
    FAR,
    GOES_ON,
    INLINED,
    LATE,
    NEAR,
    NOBODY,
    REACHED,
    RUNNING,
    STILL,
    STUCK,
)


@njit(**INLINED)
def _ask(state, slot, t, asking):
    """Queue a request, or end an alarm; returns how many channels are to be looked at by now."""
    asked, counters = state.messages[slot].asked, state.counters[0]
    if asked & ALARM:
        state.messages[slot].link = np.uint32(counters.free_slot)
        counters.free_slot = slot
        state.dirty[asking] = asked ^ ALARM
        return asking + 1
    if join(state, slot, t):
        state.dirty[asking] = asked
        return asking + 1
    return asking


@njit(**INLINED)
def gather(state, t):
    """Take what is due at t into the queues of the channels that it asks for.

    Returns how many channels are to be looked at, listed in `state.dirty`, and whether a request
    lies before t. All that ask in one cycle join their queues before any of them is served.
    """
    messages, wheel, counters = state.messages, state.wheel, state.counters[0]
    row, asking, late = np.uint32(t & (NEAR - 1)), np.int64(0), False
    due = np.int64(state.due[row])
    for k in range(due - 1, -1, -1):  # the last one first, as in the lists of the wheel
        asking = _ask(state, state.near[row, np.uint32(k)], t, asking)
    state.due[row] = 0
    bucket = np.uint32(t & (wheel.size - 1))
    slot = wheel[bucket]
    wheel[bucket] = NOBODY
    while slot != NOBODY:
        message, here = messages[slot], slot
        slot = message.link
        if message.time != t:  # another round of the wheel
            if message.time < t:
                late = True
                break
            message.link = wheel[bucket]
            wheel[bucket] = here
            continue
        due += 1
        asking = _ask(state, here, t, asking)
    counters.pending -= due
    return asking, late


@njit(**INLINED)
def next_cycle(state, t, until, idle):
    """Go on to the cycle that is played next, at t or, with `idle`, where nothing is due before.

    Returns it and GOES_ON, or what ends the run before it; see `advance`.
    """
    counters = state.counters[0]
    if idle:
        if counters.due >= FAR:
            counters.clock = t
            for j in range(state.jobs.shape[0]):
                if state.jobs[j].status == RUNNING:
                    return t, STUCK
            return t, STILL
        t = max(t, min(counters.due, until))
    if t >= until:
        counters.clock = until
        return t, REACHED
    counters.clock = t
    if counters.due <= t and job_events(state, t) > 0:
        return t, COMPLETED
    return t, GOES_ON


@njit(**UNCOUNTED)
def advance(state, until):
    """Run until a job completes, `until` is reached, or nothing more can happen.

    The cycle that the clock then shows has not been played yet. Returns REACHED, COMPLETED,
    STILL (no job has anything left to do), STUCK (messages wait, and for nothing) or LATE (an event
    lies before the clock, which is a defect of these kernels).
    """
    channels, counters, dirty = state.channels, state.counters[0], state.dirty
    in_turn, disks = state.timing.in_turn > 0, state.grid.disks
    wheel, mask = state.wheel, state.wheel.size - 1
    t = counters.clock
    while True:
        t, code = next_cycle(state, t, until, counters.pending == 0)
        if code != GOES_ON:
            return code
        bucket, row = np.uint32(t & mask), np.uint32(t & (NEAR - 1))
        again = True
        while again:
            asking, late = gather(state, t)
            if late:
                return LATE
            later = wheel[bucket]
            for k in range(asking):
                channel = dirty[k]
                when = max(t, channels[channel].when)
                turns = in_turn and channel < disks  # a disk has no inputs to take turns among
                slot = take_next(state, channel) if turns else take_first(state, channel)
                grant(state, slot, when)
            # A stream may go on within the cycle that let its injection channel go.
            again = wheel[bucket] != later or state.due[row] > 0
        t += 1
