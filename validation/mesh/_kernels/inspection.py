"""Looking at a network without changing it: who waits for whom, and what is under way."""

from __future__ import annotations

from numba import njit

from phasefit.compiled import UNCOUNTED
from validation.mesh._kernels.records import NOBODY


@njit(**UNCOUNTED)
def waiting_cycle(state, holder, seen, found):
    """Channels that a cycle of waiting worms asks for, in `found`; returns how many.

    holder (channels,) all -1, seen (messages,) all 0, both destroyed.
    """
    channels, messages = state.channels, state.messages
    for channel in range(channels.shape[0]):
        slot = last = channels[channel].queue
        while slot != NOBODY:
            at = messages[slot].tail
            for _ in range(messages[slot].held):
                holder[at] = slot
                at = channels[at].after
            slot = messages[slot].link if messages[slot].link != last else NOBODY
    walk = 0
    for channel in range(channels.shape[0]):
        slot = holder[channel]
        if slot < 0 or seen[slot]:
            continue
        walk += 1
        while slot >= 0 and seen[slot] == 0:
            seen[slot] = walk
            slot = holder[messages[slot].asked]
        if slot >= 0 and seen[slot] == walk:
            first, count = slot, 0
            while count == 0 or slot != first:
                found[count] = messages[slot].asked
                count += 1
                slot = holder[messages[slot].asked]
            return count
    return 0


@njit(**UNCOUNTED)
def under_way(state, totals):
    """Bring `totals` up to date, with the channels that worms hold now; returns how many channels.

    Of these, holding times are left out, and channels let go already are counted.
    """
    channels, hops = state.channels, 0
    for channel in range(channels.shape[0]):
        here, total = channels[channel], totals[channel]
        total.waited += here.waited
        total.carried += here.carried
        total.worms += here.worms
        total.held += here.held
    for slot in range(state.messages.shape[0]):
        message = state.messages[slot]
        at, came = message.tail, message.came
        for _ in range(message.held):
            granted = ~channels[at].when
            totals[at].waited += granted - came
            totals[at].carried += message.flits
            totals[at].worms += 1
            came = granted + state.timing.hop
            at = channels[at].after
        hops += message.behind + message.held
    return hops
