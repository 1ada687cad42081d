"""Event loop of the worm-level mesh simulator: arrays in, arrays changed in place.

One event for each channel that a header asks for, and none for releases: when a channel will be
free is known as soon as the header is far enough ahead of the tail, and whoever waits is granted
the channel then and there, possibly in the future. Time is whole cycles on a wheel of lists.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from validation.mesh._kernels.channels import (
    join,
    last_flit,
    let_go,
    push,
    tail_moves,
    take_first,
    take_next,
    tally,
)
from validation.mesh._kernels.columns import (
    ALARM,
    BLOCKING,
    BUFFER,
    CLOCK,
    COMPILED,
    COMPLETED,
    COUNT,
    CUT_THROUGH,
    DONE,
    DUE,
    DUE_JOB,
    FAR,
    FINISH,
    FINISHED,
    FIRST,
    FLOW,
    FOLLOWS,
    FREE_SLOT,
    HOP,
    HOPS,
    HOPS_DONE,
    IN_TURN,
    INDEX,
    INLINED,
    IO,
    JOB,
    KIND,
    LATE,
    LATENCY,
    LENGTH,
    LISTED,
    LOCKSTEP,
    LOG,
    LONGEST,
    MADE,
    MESSAGES,
    NETWORK,
    NOBODY,
    NODES,
    OUTSTANDING,
    PAUSE,
    PENDING,
    PHASE,
    PHASE0,
    PHASES,
    RANK,
    REACHED,
    RECORDED,
    RECORDS,
    RELEASE,
    REPEAT,
    REPEATS,
    RESUME,
    ROUTER,
    ROUTERS,
    RUNNING,
    SENT,
    SEQUENCE,
    SINK,
    STATUS,
    STEPPED,
    STEPS,
    STILL,
    STOP,
    STUCK,
    UNKNOWN,
    VOLUME,
    WAITING,
)  # fmt: skip
from validation.mesh._kernels.routes import piece
from validation.mesh._kernels.traffic import destination, messages_of, random


@njit(**INLINED)
def _offer(state, q, t, follows):
    """Put the next message of stream q before its injection channel, at t or when it is made."""
    stream = state.streams[q]
    i = stream[INDEX]
    if i >= stream[STOP]:
        return
    stream[INDEX] = i + 1
    job = state.jobs[stream[JOB]]
    row = job[PHASE0] + job[PHASE]
    phase, share = state.phases[row], state.shares[row]
    made = t
    if phase[KIND] == LISTED:
        made, target = state.listed[i, 0], state.listed[i, 1]
        flits, key = state.listed[i, 2], state.listed[i, 3]
    else:
        n, m = job[NODES], job[IO]
        flits = phase[LENGTH]
        to = job[FIRST] + destination(state.streams, phase, share, q, i, n, m)
        target = state.streams[to, ROUTER]
        key = stream[SENT] * (n + m) + stream[RANK]
        stream[SENT] += 1
        if share[1] > 0.0:  # open traffic: a geometric number of cycles after the last
            gap = 1.0
            if share[1] > 1.0:
                gap += np.floor(np.log1p(-random(state.streams, q)) / np.log1p(-1.0 / share[1]))
            made = stream[MADE] + int(gap)
            stream[MADE] = made
    key += job[SEQUENCE] << 40
    if follows and made <= t:
        key += FOLLOWS
    router = stream[ROUTER]
    slot = np.uint32(state.whole[FREE_SLOT])
    state.whole[FREE_SLOT] = state.events[slot].link
    message, born = state.messages[slot], state.born[slot]
    asks = max(t, made)
    message.key, message.came, message.flits = key, asks, flits
    message.source, message.target, message.end, message.head = q, target, router, router
    message.held, message.passed, message.left, message.leg = 0, 0, 0, 0
    message.slow = state.paces[router, 0] > 1.0
    message.window = (flits - 1) // state.timing[BUFFER] + 2
    born.created, born.leaves = made, UNKNOWN
    push(state, slot, asks, router)


@njit(**INLINED)
def _arrived(state, slot, granted, delivered):
    """Count a message that was granted its ejection channel, and forget it."""
    whole, message, born = state.whole, state.messages[slot], state.born[slot]
    job = state.jobs[state.streams[message.source, JOB]]
    hops = np.int64(message.passed)
    latency = delivered - born.created
    job[MESSAGES] += 1
    job[LATENCY] += latency
    job[NETWORK] += delivered - born.injected
    job[BLOCKING] += granted - born.injected - hops * state.timing[HOP]
    job[LONGEST] = max(job[LONGEST], latency)
    job[HOPS] += hops
    job[VOLUME] += message.flits
    job[DONE] = max(job[DONE], delivered)
    job[OUTSTANDING] -= 1
    whole[HOPS_DONE] += hops + 1
    if job[OUTSTANDING] == 0:
        job[DUE] = job[DONE]
        whole[DUE_JOB] = min(whole[DUE_JOB], job[DUE])
    if job[RECORDED]:
        record = state.records[whole[RECORDS]]
        whole[RECORDS] += 1
        record[0] = message.key & ((1 << 40) - 1)
        record[1], record[2] = state.streams[message.source, ROUTER], message.target
        record[3], record[4], record[5] = born.created, born.injected, delivered
    message.held = message.passed = 0
    state.events[slot].link = np.uint32(whole[FREE_SLOT])
    whole[FREE_SLOT] = slot


@njit(**INLINED)
def _cut_through(state, slot, channel, time):
    """Send a message through a channel that it holds for its own flits only. Returns the top."""
    timing, message, born = state.timing, state.messages[slot], state.born[slot]
    flits, first = np.int64(message.flits), message.passed == 0
    routers = state.grid[ROUTERS]
    ejected = routers <= channel < 2 * routers
    pace = 1.0
    if first:
        born.injected = time
        message.key &= FOLLOWS - 1
        pace = state.paces[state.streams[message.source, ROUTER], 0]
    elif ejected:
        pace = state.paces[message.target, 1]
    passes = time + np.int64(np.ceil((flits - 1) * pace - 1e-9))
    if not first:  # from a slow source the tail may come late
        passes = max(passes, born.leaves + timing[FLOW])
    born.leaves = passes
    takes = last_flit(flits, pace)
    free = passes + takes + timing[RESUME if first else RELEASE]
    tally(state, channel, time - message.came, flits, free - time)
    top = let_go(state, channel, free, 0)
    if ejected:
        _arrived(state, slot, time, passes + timing[SINK] + takes - 1)
        return top
    message.passed += 1
    message.head, message.came = channel, time + timing[HOP]
    if message.left > 0:
        message.left -= 1
        asked = np.int64(channel) + message.step
    else:
        asked, message.step, message.left, message.end, message.leg = piece(
            state.grid, state.coordinates, np.int64(message.end), np.int64(message.target),
            np.int64(message.leg),
        )  # fmt: skip
    push(state, slot, message.came, asked)
    if first:
        _offer(state, message.source, free, True)
    return top


@njit(**INLINED)
def _grant(state, slot, time):
    """Give a header the channel it asks for at `time`, and others what becomes free by that."""
    channels, timing, stack = state.channels, state.timing, state.stack
    routers = state.grid[ROUTERS]
    top = 0
    while True:
        message, channel = state.messages[slot], state.events[slot].asked
        if timing[CUT_THROUGH]:
            top = _cut_through(state, slot, channel, time)
            if top == 0:
                return
            top -= 1
            slot, time = stack[top].link, stack[top].time
            continue
        channels[channel].when = ~time
        if message.held == 0:
            message.tail = channel
            state.born[slot].injected = time
            message.key &= FOLLOWS - 1
        else:
            channels[message.head].after = channel
        message.head = channel
        held = np.int64(message.held) + 1
        ejected = routers <= channel < 2 * routers
        if ejected:
            keep, pace = np.int64(1), state.paces[message.target, 1]
        else:
            keep, pace = np.int64(message.window) - 1, 1.0
            if message.left > 0:
                message.left -= 1
                asked = np.int64(channel) + message.step
            else:
                asked, message.step, message.left, message.end, message.leg = piece(
                    state.grid, state.coordinates, np.int64(message.end),
                    np.int64(message.target), np.int64(message.leg),
                )  # fmt: skip
            push(state, slot, time + timing[HOP], asked)
        passes = time
        if held > keep:
            # The header is far enough ahead, or at its end: when the tail moves is known.
            tail, came, flits = message.tail, message.came, np.int64(message.flits)
            passed = np.int64(message.passed)
            while held > keep:
                granted, after = ~channels[tail].when, channels[tail].after
                passes = tail_moves(state, slot, tail, after, held, passed, pace)
                free = passes + timing[RELEASE if passed else RESUME]
                if passed == 0 and message.slow:
                    disk = state.paces[state.streams[message.source, ROUTER], 0]
                    free = max(free, state.born[slot].leaves + last_flit(flits, disk))
                tally(state, tail, granted - came, flits, free - granted)
                top = let_go(state, tail, free, top)
                if passed == 0:
                    _offer(state, message.source, free, True)
                came = granted + timing[HOP]
                tail = after
                passed += 1
                held -= 1
            message.tail, message.came, message.passed = tail, came, passed
        message.held = held
        if ejected:
            flits = np.int64(message.flits)
            takes = last_flit(flits, pace)
            free = passes + max(timing[FLOW], takes) + timing[RELEASE]
            tally(state, channel, time - message.came, flits, free - time)
            top = let_go(state, channel, free, top)
            _arrived(state, slot, time, passes + timing[SINK] + takes - 1)
        if top == 0:
            return
        top -= 1
        slot, time = stack[top].link, stack[top].time


@njit(**INLINED)
def _begin(state, j, t):
    """Take a job on to its next step, phase or round at time t. Returns whether it is over."""
    job = state.jobs[j]
    first, n, m = job[FIRST], job[NODES], job[IO]
    while True:
        if job[STEPPED] + 1 < job[STEPS]:
            job[STEPPED] += 1
        else:
            if job[PHASE] >= 0:
                state.log[job[LOG], 1] = t
                job[LOG] += 1
            job[PHASE] += 1
            if job[PHASE] == job[PHASES]:
                job[PHASE] = 0
                job[REPEAT] += 1
            if job[REPEAT] == job[REPEATS]:
                return True
            phase = state.phases[job[PHASE0] + job[PHASE]]
            state.log[job[LOG], 0] = t
            t += phase[PAUSE]
            most = 1
            for rank in range(n + m):
                stream = state.streams[first + rank]
                if phase[KIND] == LISTED:
                    stream[STOP] = stream[COUNT]
                else:
                    stream[COUNT] = messages_of(phase, rank, n, m)
                    stream[INDEX], stream[STOP], stream[MADE] = 0, stream[COUNT], t
                    most = max(most, stream[COUNT])
            job[STEPPED] = 0
            job[STEPS] = most if phase[LOCKSTEP] else 1
        phase = state.phases[job[PHASE0] + job[PHASE]]
        job[OUTSTANDING] = 0
        for q in range(first, first + n + m):
            stream = state.streams[q]
            if phase[LOCKSTEP]:
                stream[STOP] = min(stream[COUNT], stream[INDEX] + 1)
            job[OUTSTANDING] += stream[STOP] - stream[INDEX]
        if job[OUTSTANDING] > 0:
            job[DUE] = FAR
            for q in range(first, first + n + m):
                _offer(state, q, t, False)
            return False
        if phase[PAUSE] > 0:
            job[DUE] = t
            return False


@njit(**INLINED)
def _job_events(state, t):
    """Handle every job event due at t, in order of the jobs; returns how many jobs are over."""
    jobs, over = state.jobs, 0
    soonest = FAR
    for j in range(jobs.shape[0]):
        status = jobs[j, STATUS]
        if status in (WAITING, RUNNING):
            if jobs[j, DUE] <= t:
                jobs[j, STATUS] = RUNNING
                if _begin(state, j, t):
                    jobs[j, STATUS], jobs[j, FINISH], jobs[j, DUE] = FINISHED, t, FAR
                    over += 1
            soonest = min(soonest, jobs[j, DUE])
    state.whole[DUE_JOB] = soonest
    return over


@njit(**COMPILED)
def advance(state, until):
    """Run until a job completes, `until` is reached, or nothing more can happen.

    The cycle that the clock then shows has not been played yet. Returns REACHED, COMPLETED,
    STILL (no job has anything left to do), STUCK (messages wait, and for nothing) or LATE (an event
    lies before the clock, which is a defect of these kernels).
    """
    channels, events, wheel = state.channels, state.events, state.wheel
    whole, dirty = state.whole, state.dirty
    mask, in_turn = wheel.size - 1, state.timing[IN_TURN] > 0
    t = whole[CLOCK]
    while True:
        if whole[PENDING] == 0:
            if whole[DUE_JOB] >= FAR:
                whole[CLOCK] = t
                for j in range(state.jobs.shape[0]):
                    if state.jobs[j, STATUS] == RUNNING:
                        return STUCK
                return STILL
            t = max(t, min(whole[DUE_JOB], until))
        if t >= until:
            whole[CLOCK] = until
            return REACHED
        if whole[DUE_JOB] <= t and _job_events(state, t) > 0:
            whole[CLOCK] = t
            return COMPLETED
        bucket = np.uint32(t & mask)
        again = wheel[bucket] != NOBODY
        while again:
            # All that ask join their queues before any is served.
            slot, now, asking = wheel[bucket], 0, 0
            wheel[bucket] = NOBODY
            while slot != NOBODY:
                event, here = events[slot], slot
                slot = event.link
                if event.time != t:  # another round of the wheel
                    if event.time < t:
                        whole[CLOCK] = t
                        return LATE
                    event.link = wheel[bucket]
                    wheel[bucket] = here
                    continue
                now += 1
                asked = event.asked
                if asked & ALARM:
                    event.link = np.uint32(whole[FREE_SLOT])
                    whole[FREE_SLOT] = here
                    dirty[asking] = asked ^ ALARM
                    asking += 1
                elif join(state, here, t):
                    dirty[asking] = asked
                    asking += 1
            whole[PENDING] -= now
            later = wheel[bucket]
            for k in range(asking):
                channel = dirty[k]
                when = max(t, channels[channel].when)
                slot = take_next(state, channel) if in_turn else take_first(state, channel)
                _grant(state, slot, when)
            # A stream may go on within the cycle that let its injection channel go.
            again = wheel[bucket] != later
        t += 1


@njit(**COMPILED)
def waiting_cycle(state, holder, seen, found):
    """Channels that a cycle of waiting worms asks for, in `found`; returns how many.

    holder (channels,) all -1, seen (messages,) all 0, both destroyed.
    """
    channels, messages, events = state.channels, state.messages, state.events
    for channel in range(channels.shape[0]):
        slot = last = channels[channel].queue
        while slot != NOBODY:
            at = messages[slot].tail
            for _ in range(messages[slot].held):
                holder[at] = slot
                at = channels[at].after
            slot = events[slot].link if events[slot].link != last else NOBODY
    walk = 0
    for channel in range(channels.shape[0]):
        slot = holder[channel]
        if slot < 0 or seen[slot]:
            continue
        walk += 1
        while slot >= 0 and seen[slot] == 0:
            seen[slot] = walk
            slot = holder[events[slot].asked]
        if slot >= 0 and seen[slot] == walk:
            first, count = slot, 0
            while count == 0 or slot != first:
                found[count] = events[slot].asked
                count += 1
                slot = holder[events[slot].asked]
            return count
    return 0


@njit(**COMPILED)
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
            came = granted + state.timing[HOP]
            at = channels[at].after
        hops += message.passed + message.held
    return hops
