"""Flows of whole phases: how long a phase holds each channel, and who runs how fast."""

from __future__ import annotations

from numba import njit

from validation.mesh._kernels.columns import (
    BUFFER,
    COMPILED,
    COUNT,
    CREDIT,
    FLOW,
    HOP,
    KIND,
    LENGTH,
    LOCKSTEP,
    MIXED,
    RANDOM,
    RELEASE,
    RESUME,
    ROUNDS,
    ROUTER,
    ROUTERS,
    SINK,
)
from validation.mesh._kernels.routes import route
from validation.mesh._kernels.traffic import destination, messages_of

# Work table, one row for each channel: cycles HELD in this step, the least TRIP to it and the
# least REST after it, cycles held in the WHOLE phase, MESSAGES through it.
HELD, TRIP, REST, WHOLE, MESSAGES = range(5)
# Sums over a phase: cycles that its busiest channel is held, BUSY; cycles that it takes ALONE;
# how many messages are SENT; the zero-load latency of all, DIRECT, and of all beyond their hold of
# the injection channel, the last of each source left out, BEYOND, and the longest such, FARTHEST;
# channels passed, HOPS; sources at work, SENDERS, and the LONGEST turn of a message, averaged over
# and as part of the time alone.
BUSY, ALONE, SENT, DIRECT, BEYOND, FARTHEST, HOPS, SENDERS, LONGEST = range(9)


@njit(**COMPILED)
def _stream(timing, flits, pace):
    """Cycles from the first to the last of so many further flits through one channel."""
    size, credit = timing[BUFFER], timing[FLOW] + timing[CREDIT]
    if pace <= 1.0 and size >= credit:
        return float(flits)
    return flits // size * max(float(credit), size * pace) + flits % size * pace


@njit(**COMPILED)
def _tail(timing, flits, ahead, pace, last_pace):
    """Cycles from the header's to the tail's crossing of a channel with so many ahead of it.

    A flit that has to wait for another m buffers further on waits for m hops of the header and m
    credits; what that gives is linear in m, so its greatest value is at one of the ends.
    """
    passes = _stream(timing, flits - 1, last_pace if ahead == 0 else pace)
    m = min(ahead, (flits - 1) // timing[BUFFER])
    far = _stream(timing, flits - 1 - m * timing[BUFFER], last_pace if m == ahead else pace)
    return max(passes, m * (timing[HOP] + timing[CREDIT]) + far)


@njit(**COMPILED)
def _fill_holds(timing, flits, disk, holds):
    """Cycles that a worm that never waits holds a channel, less its release.

    holds (2, channels ahead): for nodes and for disks at the end of the route. That is until its
    tail has crossed the next channel or, from the last one, has been taken in.
    """
    for slow in range(2):
        pace = disk if slow else 1.0
        holds[slow, 0] = _tail(timing, flits, 0, 1.0, pace) + max(float(timing[FLOW]), pace)
        for ahead in range(1, holds.shape[1]):
            holds[slow, ahead] = timing[HOP] + _tail(timing, flits, ahead - 1, 1.0, pace)


@njit(**COMPILED)
def _send(timing, flits, pace, last_pace, hold, way, work, fresh, n_fresh):
    """Add a message to the work table of the channels on its way (k,).

    pace and last_pace are those of source and target, hold (k,) by channels ahead. Returns how
    many channels are fresh now, its zero-load latency, and for how long it holds its source.
    """
    last, size = way.size - 1, timing[BUFFER]
    # From the first grant to the delivery, counted by the header.
    direct = last * timing[HOP] + _tail(timing, flits, 0, 1.0, last_pace) + timing[SINK]
    latency = chain = 0.0
    for k in range(last + 1):
        own, trip = hold[last - k], float(k * timing[HOP])
        rest = direct - trip
        if pace > 1.0 and k * size < flits:
            # Of a slow source's flits no more than k buffers have gone ahead.
            made, leaving = _stream(timing, flits - 1 - k * size, pace), float(timing[FLOW])
            if k == 0:
                made = _tail(timing, flits, last, pace, max(pace, last_pace))
                leaving = max(leaving, pace)
            own = max(own, made + k * timing[FLOW] + leaving)
            rest = max(rest, made + last * timing[FLOW] + timing[SINK])
        own += timing[RESUME] if k == 0 else timing[RELEASE]
        if k == 0:
            latency, chain = rest, own
        row = work[way[k]]
        if row[HELD] == 0.0:
            fresh[n_fresh] = way[k]
            n_fresh += 1
            row[TRIP], row[REST] = trip, rest - own
        else:
            row[TRIP], row[REST] = min(row[TRIP], trip), min(row[REST], rest - own)
        row[HELD] += own
        row[MESSAGES] += 1.0
    return n_fresh, latency, chain


@njit(**COMPILED)
def phase_flow(
    streams, phase, share, n, m, timing, grid, coordinates, paces, room, holds, work, fresh,
    channels, held, carried, sums,
):  # fmt: skip
    """Route all messages of a phase run of n nodes and m I/O nodes; returns channels used.

    Those are listed in channels, with the cycles that they are held and the flits carried.
    streams (n + m, columns) move on as when the messages are sent. timing and grid as in
    `_columns`, paces (routers, 2) cycles per flit into and out of the node; sums (9,) is filled.
    To work in: room and holds (longest route, and times 2), work (channels, 5), all 0 before and
    after, fresh (channels,).
    """
    routers, flits = grid[ROUTERS], phase[LENGTH]
    locked = phase[LOCKSTEP] > 0
    disk, most, least = 1.0, 0, 1 << 60
    sums[:] = 0.0
    for rank in range(n + m):
        count = messages_of(phase, rank, n, m)
        streams[rank, COUNT] = count
        most = max(most, count)
        least = min(least, count) if count > 0 else least
        disk = max(disk, paces[streams[rank, ROUTER], 1])
    # All patterns but two send the same in every round; in lockstep, though, a rank that sends
    # less than others in a round is ahead of them in the next.
    alike = phase[KIND] not in (RANDOM, MIXED) and not (locked and least < most)
    rounds = phase[ROUNDS] if alike else 1
    again = 1 if locked else rounds  # rounds of which each step consists
    most //= rounds
    _fill_holds(timing, flits, disk, holds)
    used = 0
    for step in range(most if locked else 1):
        n_fresh, senders, fewest, alone, busy = 0, 0, 1 << 60, 0.0, 0.0
        for rank in range(n + m):
            source, count = streams[rank, ROUTER], streams[rank, COUNT] // rounds
            begin, end = (step, min(step + 1, count)) if locked else (0, count)
            if begin >= end:
                continue
            chain, beyond, pace = 0.0, 0.0, paces[source, 0]
            for i in range(begin, end):
                where = destination(streams, phase, share, rank, i, n, m)
                target = streams[where, ROUTER]
                last = route(grid, coordinates, source, target, room) - 1
                hold = holds[1 if paces[target, 1] > 1.0 else 0]
                n_fresh, latency, own = _send(
                    timing, flits, pace, paces[target, 1], hold, room[: last + 1], work,
                    fresh, n_fresh,
                )  # fmt: skip
                chain += own
                beyond = latency - own
                sums[DIRECT] += latency * rounds
                sums[BEYOND] += beyond * again
                sums[HOPS] += last * rounds
                if i + 1 < end or again > 1:
                    sums[FARTHEST] = max(sums[FARTHEST], beyond)
            sums[SENT] += (end - begin) * rounds
            sums[BEYOND] -= beyond
            alone = max(alone, chain * again + beyond)
            senders += 1
            fewest = min(fewest, (end - begin) * again)
        for k in range(n_fresh):
            channel = fresh[k]
            row = work[channel]
            whole = row[HELD] * again
            busy = max(busy, whole)
            if channel >= routers:  # of injection channels the last message is known: `chain`
                alone = max(alone, row[TRIP] + whole + row[REST])
            if row[WHOLE] == 0.0:
                channels[used] = channel
                used += 1
            row[WHOLE] += row[HELD]
            row[HELD] = 0.0
        alone = max(alone, busy)
        turns = rounds if locked else 1
        sums[BUSY] += busy * turns
        sums[ALONE] += alone * turns
        sums[SENDERS] += alone * turns * senders
        if senders > 0:
            sums[LONGEST] = max(sums[LONGEST], alone / fewest)
    for k in range(used):
        row = work[channels[k]]
        held[k], carried[k] = row[WHOLE] * rounds, int(row[MESSAGES]) * rounds * flits
        row[WHOLE], row[MESSAGES] = 0.0, 0.0
    if sums[ALONE] > 0.0:
        sums[SENDERS] /= sums[ALONE]
        sums[LONGEST] /= sums[ALONE]
    return used


@njit(**COMPILED)
def share_out(
    now, slots, begin, size, channels, parts, left, speed, since, finish, total, full, number,
    crowded, first, place, part, fresh,
):  # fmt: skip
    """Give every flow its speed from now on, and return when the first of them will be over.

    Flow f in slots (k,) uses channel channels[i] at parts[i] of its capacity when it runs at
    speed 1, for i from begin[f] on, size[f] of them. Speeds grow alike up to 1 or until a channel
    is full; those through it stay, the others grow on. left (cycles at speed 1), speed, since when
    and finish are kept for each flow. To work in: total, full, number (channels,), all 0 before
    and after, crowded (channels,), first (k + 1,), place and part (sum of sizes,), fresh (k,).
    """
    for f in slots:
        for i in range(begin[f], begin[f] + size[f]):
            total[channels[i]] += parts[i]
    n_crowded = at = 0
    for k in range(slots.size):
        f = slots[k]
        first[k], fresh[k] = at, 1.0
        for i in range(begin[f], begin[f] + size[f]):
            channel = channels[i]
            if total[channel] > 1.0:
                if number[channel] == 0:
                    crowded[n_crowded] = channel
                    n_crowded += 1
                number[channel] += 1
                place[at], part[at] = channel, parts[i]
                at += 1
        if first[k] < at:
            fresh[k] = -1.0  # not known yet
    first[slots.size] = at
    level = 0.0
    while True:
        least, narrow, k = 1.0, -1, 0
        while k < n_crowded:
            channel = crowded[k]
            if number[channel] == 0:
                n_crowded -= 1
                crowded[k] = crowded[n_crowded]
                full[channel] = 0.0
                continue
            # Rounding must not bring a level below those of channels that were full before.
            reached = max(level, (1.0 - full[channel]) / total[channel])
            if reached < least:
                least, narrow = reached, channel
            k += 1
        if narrow < 0:
            break
        level = least
        for k in range(slots.size):
            if fresh[k] >= 0.0:
                continue
            for i in range(first[k], first[k + 1]):
                if place[i] == narrow:
                    fresh[k] = level
                    break
            if fresh[k] >= 0.0:
                for i in range(first[k], first[k + 1]):
                    channel = place[i]
                    full[channel] += part[i] * level
                    total[channel] = max(total[channel] - part[i], 1e-300)
                    number[channel] -= 1
    for k in range(n_crowded):
        full[crowded[k]], number[crowded[k]] = 0.0, 0
    soonest = 1e300
    for k in range(slots.size):
        f = slots[k]
        for i in range(begin[f], begin[f] + size[f]):
            total[channels[i]] = 0.0
        new = fresh[k] if fresh[k] >= 0.0 else 1.0
        if new != speed[f]:
            left[f] = max(left[f] - (now - since[f]) * speed[f], 0.0)
            speed[f], since[f] = new, now
            finish[f] = now + left[f] / new
        soonest = min(soonest, finish[f])
    return soonest
