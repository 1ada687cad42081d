"""Event loop of the worm-level mesh simulator: arrays in, arrays changed in place.

One event for each channel that a header asks for, and none for releases: when a channel will be
free is known as soon as the header is far enough ahead of the tail, and whoever waits is granted
the channel then and there, possibly in the future. Time is whole cycles on a wheel of lists.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from validation.mesh._kernels.channels import join, take_first, take_next
from validation.mesh._kernels.grants import grant
from validation.mesh._kernels.jobs import job_events
from validation.mesh._kernels.records import (
    ALARM,
    COMPILED,
    COMPLETED,
    FAR,
    INLINED,
    LATE,
    NOBODY,
    REACHED,
    RUNNING,
    STILL,
    STUCK,
)


@njit(**INLINED)
def gather(state, bucket, t):
    """Take what is due at t off the wheel and into the queues of the channels it asks for.

    Returns how many channels are to be looked at, listed in `state.dirty`, and whether an event
    lies before t. All that ask in one cycle join their queues before any of them is served.
    """
    events, wheel, dirty, counters = state.events, state.wheel, state.dirty, state.counters[0]
    slot, due, asking, late = wheel[bucket], 0, 0, False
    wheel[bucket] = NOBODY
    while slot != NOBODY:
        event, here = events[slot], slot
        slot = event.link
        if event.time != t:  # another round of the wheel
            if event.time < t:
                late = True
                break
            event.link = wheel[bucket]
            wheel[bucket] = here
            continue
        due += 1
        asked = event.asked
        if asked & ALARM:
            event.link = np.uint32(counters.free_slot)
            counters.free_slot = here
            dirty[asking] = asked ^ ALARM
            asking += 1
        elif join(state, here, t):
            dirty[asking] = asked
            asking += 1
    counters.pending -= due
    return asking, late


@njit(**COMPILED)
def advance(state, until):
    """Run until a job completes, `until` is reached, or nothing more can happen.

    The cycle that the clock then shows has not been played yet. Returns REACHED, COMPLETED,
    STILL (no job has anything left to do), STUCK (messages wait, and for nothing) or LATE (an event
    lies before the clock, which is a defect of these kernels).
    """
    channels, wheel, counters, dirty = state.channels, state.wheel, state.counters[0], state.dirty
    mask, in_turn = wheel.size - 1, state.timing.in_turn > 0
    disks = state.grid.disks
    t = counters.clock
    while True:
        if counters.pending == 0:
            if counters.due >= FAR:
                counters.clock = t
                for j in range(state.jobs.shape[0]):
                    if state.jobs[j].status == RUNNING:
                        return STUCK
                return STILL
            t = max(t, min(counters.due, until))
        if t >= until:
            counters.clock = until
            return REACHED
        if counters.due <= t and job_events(state, t) > 0:
            counters.clock = t
            return COMPLETED
        bucket = np.uint32(t & mask)
        again = wheel[bucket] != NOBODY
        while again:
            asking, late = gather(state, bucket, t)
            if late:
                counters.clock = t
                return LATE
            later = wheel[bucket]
            for k in range(asking):
                channel = dirty[k]
                when = max(t, channels[channel].when)
                turns = in_turn and channel < disks  # a disk has no inputs to take turns among
                slot = take_next(state, channel) if turns else take_first(state, channel)
                grant(state, slot, when)
            # A stream may go on within the cycle that let its injection channel go.
            again = wheel[bucket] != later
        t += 1
