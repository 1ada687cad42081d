"""Flows of whole phases: how long a phase holds each channel, and who runs how fast."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from phasefit.arrays import record
from phasefit.compiled import UNCOUNTED
from validation.mesh._kernels.records import INLINED, MIXED, RANDOM, Grid, Timing
from validation.mesh._kernels.routes import route
from validation.mesh._kernels.traffic import destination, messages_of

# Work table, one row for each channel: cycles `held` in this step, the least `trip` to it and the
# least `rest` after it, cycles held in the `whole` phase, `messages` through it.
WORK = record(("held trip rest whole messages", np.float64))
# A flow: where its channels `begin` in the list of all and how many they are (`length`), cycles
# `left` at speed 1, its `speed` and `since` when, and when it will `finish`.
FLOW = record(("begin length", np.int64), ("left speed since finish", np.float64))


class Place(NamedTuple):
    """The network that phases are routed through, and room to work in."""

    timing: Timing
    grid: Grid
    paces: Any  # (routers, 2): cycles per flit into and out of the node
    way: Any  # (longest route,)
    holds: Any  # (2, longest route)
    work: Any  # (channels,) WORK, all 0 before and after
    fresh: Any  # (channels,)


class Sums(NamedTuple):
    """Sums over the messages of a phase."""

    busy: float  # cycles that its busiest channel is held
    alone: float  # cycles that it takes alone
    sent: float  # messages
    direct: float  # zero-load latency of all messages
    beyond: float  # that beyond their hold of the source, the last message of each left out
    farthest: float  # the longest such
    hops: float  # channels passed
    senders: float  # sources at work, averaged over the time alone
    longest: float  # turn of a message, as part of the time alone


SUMS = record((" ".join(Sums._fields), np.float64))


class Loads(NamedTuple):
    """What a phase asks of the channels it uses, the first so many of each column."""

    channels: Any  # numbers
    held: Any  # cycles
    carried: Any  # flits
    sums: Any  # (1,) SUMS


class Shares(NamedTuple):
    """Room to work in for `share_out`."""

    total: Any  # (channels,), all 0 before and after, as `full` and `number`
    full: Any  # (channels,)
    number: Any  # (channels,)
    crowded: Any  # (channels,)
    first: Any  # (flows + 1,)
    channel: Any  # (channels of all flows,), as `part`
    part: Any
    fresh: Any  # (flows,)


@njit(**UNCOUNTED)
def _stream(timing, flits, pace):
    """Cycles from the first to the last of so many further flits through one channel."""
    size, credit = timing.buffer, timing.flow + timing.credit
    if pace <= 1.0 and size >= credit:
        return float(flits)
    return flits // size * max(float(credit), size * pace) + flits % size * pace


@njit(**UNCOUNTED)
def _tail(timing, flits, ahead, pace, last_pace):
    """Cycles from the header's to the tail's crossing of a channel with so many ahead of it.

    A flit that has to wait for another m buffers further on waits for m hops of the header and m
    credits; what that gives is linear in m, so its greatest value is at one of the ends.
    """
    passes = _stream(timing, flits - 1, last_pace if ahead == 0 else pace)
    m = min(ahead, (flits - 1) // timing.buffer)
    far = _stream(timing, flits - 1 - m * timing.buffer, last_pace if m == ahead else pace)
    return max(passes, m * (timing.hop + timing.credit) + far)


@njit(**UNCOUNTED)
def _fill_holds(timing, flits, disk, holds):
    """Cycles that a worm that never waits holds a channel, less its release.

    holds (2, channels ahead): for nodes and for disks at the end of the route. That is until its
    tail has crossed the next channel or, from the last one, has been taken in.
    """
    for slow in range(2):
        pace = disk if slow else 1.0
        holds[slow, 0] = _tail(timing, flits, 0, 1.0, pace) + max(float(timing.flow), pace)
        for ahead in range(1, holds.shape[1]):
            holds[slow, ahead] = timing.hop + _tail(timing, flits, ahead - 1, 1.0, pace)


@njit(**UNCOUNTED)
def _send(place, flits, pace, last_pace, hold, last, n_fresh):
    """Add a message to the work table of the channels on its way, `last` + 1 of them.

    pace and last_pace are those of source and target, hold (k,) by channels ahead. Returns how
    many channels are fresh now, its zero-load latency, and for how long it holds its source.
    """
    timing, size, fresh = place.timing, place.timing.buffer, place.fresh
    # From the first grant to the delivery, counted by the header.
    direct = last * timing.hop + _tail(timing, flits, 0, 1.0, last_pace) + timing.sink
    latency = chain = 0.0
    for k in range(last + 1):
        own, trip = hold[last - k], float(k * timing.hop)
        rest = direct - trip
        if pace > 1.0 and k * size < flits:
            # Of a slow source's flits no more than k buffers have gone ahead.
            made, leaving = _stream(timing, flits - 1 - k * size, pace), float(timing.flow)
            if k == 0:
                made = _tail(timing, flits, last, pace, max(pace, last_pace))
                leaving = max(leaving, pace)
            own = max(own, made + k * timing.flow + leaving)
            rest = max(rest, made + last * timing.flow + timing.sink)
        own += timing.resume if k == 0 else timing.release
        if k == 0:
            latency, chain = rest, own
        # The flow of a channel can begin after the shortest way to it, and what comes after it
        # takes at least the shortest rest: a phase is no faster than the three together.
        row = place.work[place.way[k]]
        if row.held == 0.0:
            fresh[n_fresh] = place.way[k]
            n_fresh += 1
            row.trip, row.rest = trip, rest - own
        else:
            row.trip, row.rest = min(row.trip, trip), min(row.rest, rest - own)
        row.held += own
        row.messages += 1.0
    return n_fresh, latency, chain


@njit(**INLINED)
def _count_messages(place, streams, phase, n, m):
    """Count the messages of every stream; returns the most, the least but 0, and the worst pace."""
    disk, most, least = 1.0, 0, 1 << 60
    for rank in range(n + m):
        count = messages_of(phase, rank, n, m)
        streams[rank].count = count
        most = max(most, count)
        least = min(least, count) if count > 0 else least
        disk = max(disk, place.paces[streams[rank].router, 1])
    return most, least, disk


@njit(**INLINED)
def _send_all(place, streams, phase, rank, nodes, begin, end, rounds, again, n_fresh, sums):
    """Route messages begin to end of one rank, each standing for `rounds`.

    `nodes` are how many nodes and I/O nodes there are. Returns how many channels are fresh now,
    and the least time from the first grant of the rank to its last delivery.
    """
    source, paces = streams[rank].router, place.paces
    chain, beyond, pace = 0.0, 0.0, paces[source, 0]
    for i in range(begin, end):
        where = destination(streams, phase, rank, i, *nodes)
        target = streams[where].router
        last = route(place.grid, source, target, place.way) - 1
        hold = place.holds[1 if paces[target, 1] > 1.0 else 0]
        n_fresh, latency, own = _send(place, phase.flits, pace, paces[target, 1], hold, last, n_fresh)
        chain += own
        beyond = latency - own
        sums.direct += latency * rounds
        sums.beyond += beyond * again
        sums.hops += last * rounds
        if i + 1 < end or again > 1:
            sums.farthest = max(sums.farthest, beyond)
    sums.sent += (end - begin) * rounds
    # What the last message takes beyond its hold of the source is part of the phase, not after it.
    sums.beyond -= beyond
    return n_fresh, chain * again + beyond


@njit(**INLINED)
def _close_step(place, found, used, n_fresh, again, alone):
    """Add the step's holds to those of the phase.

    Returns channels used by now, cycles of the busiest one, and what the step takes alone.
    """
    busy = 0.0
    for k in range(n_fresh):
        channel = place.fresh[k]
        row = place.work[channel]
        whole = row.held * again
        busy = max(busy, whole)
        if channel >= place.grid.routers:  # of injection channels the last message is known
            alone = max(alone, row.trip + whole + row.rest)
        if row.whole == 0.0:
            found.channels[used] = channel
            used += 1
        row.whole += row.held
        row.held = 0.0
    return used, busy, max(alone, busy)


@njit(**UNCOUNTED)
def phase_flow(streams, phases, number, n, m, plain_place, plain_found):
    """Route all messages of a run of phase `number` of n nodes and m I/O nodes.

    streams (n + m,) move on as when the messages are sent. plain_place and plain_found are a
    `Place` and the `Loads` to be filled as plain tuples, whose types are told much faster at a
    call than those of named ones. Returns how many channels are used.
    """
    timing, grid = Timing(*plain_place[0]), Grid(*plain_place[1])
    place, found = Place(timing, grid, *plain_place[2:]), Loads(*plain_found)
    phase, sums, work = phases[number], found.sums[0], place.work
    sums.busy = sums.alone = sums.sent = sums.direct = sums.beyond = 0.0
    sums.farthest = sums.hops = sums.senders = sums.longest = 0.0
    locked = phase.lockstep > 0
    most, least, disk = _count_messages(place, streams, phase, n, m)
    # All patterns but two send the same in every round; in lockstep, though, a rank that sends
    # less than others in a round is ahead of them in the next.
    alike = phase.kind not in (RANDOM, MIXED) and not (locked and least < most)
    rounds = phase.rounds if alike else 1
    again = 1 if locked else rounds  # rounds of which each step consists
    turns = rounds if locked else 1  # and rounds of such steps
    most //= rounds
    _fill_holds(place.timing, phase.flits, disk, place.holds)
    used = np.int64(0)
    for step in range(most if locked else 1):
        n_fresh, senders, fewest, alone = np.int64(0), 0, 1 << 60, 0.0
        for rank in range(n + m):
            count = streams[rank].count // rounds
            begin, end = (step, min(step + 1, count)) if locked else (0, count)
            if begin >= end:
                continue
            n_fresh, chain = _send_all(
                place, streams, phase, rank, (n, m), begin, end, rounds, again, n_fresh, sums
            )
            alone = max(alone, chain)
            senders += 1
            fewest = min(fewest, (end - begin) * again)
        used, busy, alone = _close_step(place, found, used, n_fresh, again, alone)
        sums.busy += busy * turns
        sums.alone += alone * turns
        # Weighed by the time of the step, for a mean over the phase.
        sums.senders += alone * turns * senders
        if senders > 0:
            sums.longest = max(sums.longest, alone / fewest)
    for k in range(used):
        row = work[found.channels[k]]
        found.held[k] = row.whole * rounds
        found.carried[k] = int(row.messages) * rounds * phase.flits
        row.whole, row.messages = 0.0, 0.0
    if sums.alone > 0.0:
        sums.senders /= sums.alone
        sums.longest /= sums.alone
    return used


@njit(**INLINED)
def _list_crowded(flows, slots, channels, parts, room):
    """List the channels that all flows at full speed would overfill, and who uses them.

    Returns how many there are. Of flow k they are channel[first[k] : first[k + 1]]; a flow through
    none runs at full speed.
    """
    total, number = room.total, room.number
    for f in slots:
        flow = flows[f]
        for i in range(flow.begin, flow.begin + flow.length):
            total[channels[i]] += parts[i]
    n_crowded = at = 0
    for k in range(slots.size):
        flow = flows[slots[k]]
        room.first[k], room.fresh[k] = at, 1.0
        for i in range(flow.begin, flow.begin + flow.length):
            channel = channels[i]
            if total[channel] > 1.0:
                if number[channel] == 0:
                    room.crowded[n_crowded] = channel
                    n_crowded += 1
                number[channel] += 1
                room.channel[at], room.part[at] = channel, parts[i]
                at += 1
        if room.first[k] < at:
            room.fresh[k] = -1.0  # not known yet
    room.first[slots.size] = at
    return n_crowded


@njit(**INLINED)
def _narrowest(room, n_crowded, level):
    """Find the crowded channel that fills first while all speeds grow alike from `level`.

    Returns it, or -1 where all reach full speed, the level at which it is full, and how many
    channels are still crowded: those that nobody's speed hangs on any more leave the list.
    """
    least, narrow, k = 1.0, -1, 0
    while k < n_crowded:
        channel = room.crowded[k]
        if room.number[channel] == 0:
            n_crowded -= 1
            room.crowded[k] = room.crowded[n_crowded]
            room.full[channel] = 0.0
            continue
        # Rounding must not bring a level below those of channels that were full before.
        reached = max(level, (1.0 - room.full[channel]) / room.total[channel])
        if reached < least:
            least, narrow = reached, channel
        k += 1
    return narrow, least, n_crowded


@njit(**INLINED)
def _stop_growing(room, flows, narrow, level):
    """Keep the flows through a full channel at `level`, and take them out of what still grows."""
    for k in range(flows):
        if room.fresh[k] >= 0.0:
            continue
        for i in range(room.first[k], room.first[k + 1]):
            if room.channel[i] == narrow:
                room.fresh[k] = level
                break
        if room.fresh[k] >= 0.0:
            for i in range(room.first[k], room.first[k + 1]):
                channel = room.channel[i]
                room.full[channel] += room.part[i] * level
                # Not zero, by which another channel's level would be divided.
                room.total[channel] = max(room.total[channel] - room.part[i], 1e-300)
                room.number[channel] -= 1


@njit(**UNCOUNTED)
def share_out(now, slots, flows, channels, parts, plain_room):
    """Give every flow its speed from now on, and return when the first of them will be over.

    Flow f in slots (k,) uses channel channels[i] at parts[i] of its capacity when it runs at
    speed 1, for i from its `begin` on. Speeds grow alike up to 1 or until a channel is full; those
    through it stay, the others grow on. plain_room are `Shares` as a plain tuple, see `phase_flow`.
    """
    room = Shares(*plain_room)
    n_crowded, level = _list_crowded(flows, slots, channels, parts, room), 0.0
    while True:
        narrow, least, n_crowded = _narrowest(room, n_crowded, level)
        if narrow < 0:
            break
        level = least
        _stop_growing(room, slots.size, narrow, level)
    for k in range(n_crowded):
        room.full[room.crowded[k]], room.number[room.crowded[k]] = 0.0, 0
    soonest = 1e300
    for k in range(slots.size):
        flow = flows[slots[k]]
        for i in range(flow.begin, flow.begin + flow.length):
            room.total[channels[i]] = 0.0
        new = room.fresh[k] if room.fresh[k] >= 0.0 else 1.0
        if new != flow.speed:
            # Only a change of speed changes when a flow ends; else rounding would add up.
            flow.left = max(flow.left - (now - flow.since) * flow.speed, 0.0)
            flow.speed, flow.since = new, now
            flow.finish = now + flow.left / new
        soonest = min(soonest, flow.finish)
    return soonest
