"""Event loop of the worm-level mesh simulator: arrays in, arrays changed in place.

One event for each channel that a header asks for, and none for releases: when a channel will be
free is known as soon as the header is far enough ahead of the tail, and whoever waits is granted
the channel then and there, possibly in the future. Time is whole cycles on a wheel of lists.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from validation.mesh._channel_kernels import join, let_go, push, tail_moves, take_first, take_next
from validation.mesh._columns import (
    ALARM,
    ASKED,
    BLOCKED,
    BLOCKING,
    BUFFER,
    CARRIED,
    CLOCK,
    COMPILED,
    COMPLETED,
    COUNT,
    CREATED,
    DONE,
    DUE,
    DUE_JOB,
    END,
    FAR,
    FINISH,
    FINISHED,
    FIRST,
    FLITS,
    FLOW,
    FOLLOWS,
    FREE_SLOT,
    HEAD,
    HELD,
    HOP,
    HOPS,
    HOPS_DONE,
    IN_TURN,
    INDEX,
    INJECTED,
    INLINED,
    IO,
    JOB,
    KEY,
    KIND,
    LATENCY,
    LEAVES,
    LEFT,
    LEG,
    LENGTH,
    LINK,
    LISTED,
    LOCKSTEP,
    LOG,
    LONGEST,
    MADE,
    MESSAGES,
    NETWORK,
    NODES,
    OUTSTANDING,
    PASSED,
    PAUSE,
    PENDING,
    PHASE,
    PHASE0,
    PHASES,
    PROMPT,
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
    SOURCE,
    STATUS,
    STEP,
    STEPPED,
    STEPS,
    STILL,
    STOP,
    STUCK,
    TAIL,
    TARGET,
    TIME,
    UNKNOWN,
    VOLUME,
    WAITED,
    WAITING,
    WINDOW,
    WORMS,
)  # fmt: skip
from validation.mesh._route_kernels import piece
from validation.mesh._traffic_kernels import destination, messages_of, random


@njit(**INLINED)
def _offer(state, q, t, follows):
    """Put the next message of stream q before its injection channel, at t or when it is made."""
    streams = state.streams
    i = streams[q, INDEX]
    if i >= streams[q, STOP]:
        return
    streams[q, INDEX] = i + 1
    job = state.jobs[streams[q, JOB]]
    row = job[PHASE0] + job[PHASE]
    phase, share = state.phases[row], state.shares[row]
    made = t
    if phase[KIND] == LISTED:
        made, target = state.listed[i, 0], state.listed[i, 1]
        flits, key = state.listed[i, 2], state.listed[i, 3]
    else:
        n, m = job[NODES], job[IO]
        flits = phase[LENGTH]
        target = streams[job[FIRST] + destination(streams, phase, share, q, i, n, m), ROUTER]
        key = streams[q, SENT] * (n + m) + streams[q, RANK]
        streams[q, SENT] += 1
        if share[1] > 0.0:  # open traffic: a geometric number of cycles after the last
            gap = 1.0
            if share[1] > 1.0:
                gap += np.floor(np.log1p(-random(streams, q)) / np.log1p(-1.0 / share[1]))
            made = streams[q, MADE] + int(gap)
            streams[q, MADE] = made
    key += job[SEQUENCE] << 40
    if follows and made <= t:
        key += FOLLOWS
    messages = state.messages
    slot = state.whole[FREE_SLOT]
    message = messages[slot]
    state.whole[FREE_SLOT] = state.events[slot, LINK]
    message[KEY], message[FLITS], message[TARGET] = key, flits, target
    state.born[slot, CREATED], message[SOURCE], message[ASKED] = made, q, streams[q, ROUTER]
    message[HELD], message[BLOCKED], message[PASSED] = 0, 0, 0
    message[LEFT], message[LEG], message[END] = 0, 0, streams[q, ROUTER]
    message[LEAVES] = UNKNOWN if state.paces[streams[q, ROUTER], 0] > 1.0 else PROMPT
    message[WINDOW] = (flits - 1) // state.timing[BUFFER] + 2
    push(state, slot, max(t, made))


@njit(**INLINED)
def _let_tail_go(state, message, time, top):
    """Let go the last channel of a worm, whose tail leaves it at `time`; at the source, go on."""
    channel = message[TAIL]
    time += state.timing[RELEASE] if message[PASSED] else state.timing[RESUME]
    top = let_go(state, channel, time, top)
    if message[PASSED] == 0:
        _offer(state, message[SOURCE], time, True)
    message[TAIL] = state.channels[channel].after
    message[PASSED] += 1
    message[HELD] -= 1
    return top


@njit(**INLINED)
def _arrive(state, slot, top):
    """The header has its ejection channel: all that the worm will do is known."""
    channels, timing, whole = state.channels, state.timing, state.whole
    message = state.messages[slot]
    last = message[HEAD]
    pace = state.paces[message[TARGET], 1]
    source = message[SOURCE]
    passes = ~channels[last].when
    while message[HELD] > 1:
        passes = tail_moves(state, message, pace)
        top = _let_tail_go(state, message, passes, top)
    delivered = passes + timing[SINK]
    top = let_go(state, last, passes + timing[FLOW] + timing[RELEASE], top)

    j = state.streams[source, JOB]
    job = state.jobs[j]
    latency = delivered - state.born[slot, CREATED]
    job[MESSAGES] += 1
    job[LATENCY] += latency
    job[NETWORK] += delivered - state.born[slot, INJECTED]
    job[BLOCKING] += message[BLOCKED]
    job[LONGEST] = max(job[LONGEST], latency)
    job[HOPS] += message[PASSED]
    job[VOLUME] += message[FLITS]
    job[DONE] = max(job[DONE], delivered)
    job[OUTSTANDING] -= 1
    if job[OUTSTANDING] == 0:
        job[DUE] = job[DONE]
        whole[DUE_JOB] = min(whole[DUE_JOB], job[DUE])
    if job[RECORDED]:
        record = state.records[whole[RECORDS]]
        whole[RECORDS] += 1
        record[0] = message[KEY] & ((1 << 40) - 1)
        record[1], record[2] = state.streams[source, ROUTER], message[TARGET]
        record[3], record[4], record[5] = (
            state.born[slot, CREATED],
            state.born[slot, INJECTED],
            delivered,
        )
    state.events[slot, LINK], message[HELD] = whole[FREE_SLOT], 0
    whole[FREE_SLOT] = slot
    return top


@njit(**INLINED)
def _grant(state, slot, channel, time):
    """Give a channel to a header at `time`, and to others what becomes free by that."""
    channels, totals, timing, whole = state.channels, state.totals, state.timing, state.whole
    stack = state.stack
    routers = state.grid[ROUTERS]
    stack[0, 0], stack[0, 1], stack[0, 2] = slot, channel, time
    top = 1
    while top > 0:
        top -= 1
        slot, channel, time = stack[top, 0], stack[top, 1], stack[top, 2]
        message = state.messages[slot]
        waited = time - state.events[slot, TIME]
        totals[channel, WAITED] += waited
        totals[channel, CARRIED] += message[FLITS]
        totals[channel, WORMS] += 1
        channels[channel].when = ~time
        whole[HOPS_DONE] += 1
        if message[HELD] == 0:
            message[TAIL] = channel
            state.born[slot, INJECTED] = time
            message[KEY] &= FOLLOWS - 1
        else:
            channels[message[HEAD]].after = channel
            message[BLOCKED] += waited
        message[HEAD] = channel
        message[HELD] += 1
        if routers <= channel < 2 * routers:
            top = _arrive(state, slot, top)
            continue
        if message[LEFT] > 0:
            message[LEFT] -= 1
            message[ASKED] += message[STEP]
        else:
            (
                message[ASKED], message[STEP], message[LEFT], message[END], message[LEG],
            ) = piece(
                state.grid, state.coordinates, message[END], message[TARGET], message[LEG]
            )  # fmt: skip
        push(state, slot, time + timing[HOP])
        if message[HELD] >= message[WINDOW]:
            passes = tail_moves(state, message, 1.0)
            top = _let_tail_go(state, message, passes, top)


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
    STILL (no job has anything left to do) or STUCK (messages wait, and for nothing).
    """
    channels, messages, wheel = state.channels, state.messages, state.wheel
    whole, dirty, due = state.whole, state.dirty, state.due
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
        bucket = t & mask
        again = wheel[bucket] >= 0
        while again:
            slot, later, now = wheel[bucket], -1, 0
            while slot >= 0:
                following = state.events[slot, LINK]
                if state.events[slot, TIME] == t:
                    due[now] = slot
                    now += 1
                else:
                    state.events[slot, LINK] = later
                    later = slot
                slot = following
            whole[PENDING] -= now
            count = 0
            for k in range(now):
                slot = due[k]
                alarm = messages[slot, KEY] == ALARM
                if alarm or join(state, slot, t):
                    dirty[count] = messages[slot, ASKED]
                    count += 1
                if alarm:
                    state.events[slot, LINK] = whole[FREE_SLOT]
                    whole[FREE_SLOT] = slot
            # One at a time: a grant may push messages into this same cycle's bucket.
            wheel[bucket] = later
            for k in range(count):
                channel = dirty[k]
                slot = take_next(state, channel) if in_turn else take_first(state, channel)
                _grant(state, slot, channel, max(t, channels[channel].when))
            # A stream may go on within the cycle that let its injection channel go.
            again = count > 0 and _any_due(state, bucket, t)
        t += 1


@njit(**INLINED)
def _any_due(state, bucket, t):
    slot = state.wheel[bucket]
    while slot >= 0:
        if state.events[slot, TIME] == t:
            return True
        slot = state.events[slot, LINK]
    return False


@njit(**COMPILED)
def waiting_cycle(state, holder, seen, found):
    """Channels that a cycle of waiting worms asks for, in `found`; returns how many.

    holder (channels,) all -1, seen (messages,) all 0, both destroyed.
    """
    channels, messages = state.channels, state.messages
    for channel in range(channels.shape[0]):
        slot = np.int64(channels[channel].queue)
        while slot >= 0:
            at = messages[slot, TAIL]
            for _ in range(messages[slot, HELD]):
                holder[at] = slot
                at = np.int64(channels[at].after)
            slot = state.events[slot, LINK]
    walk = 0
    for channel in range(channels.shape[0]):
        slot = holder[channel]
        if slot < 0 or seen[slot]:
            continue
        walk += 1
        while slot >= 0 and seen[slot] == 0:
            seen[slot] = walk
            slot = holder[messages[slot, ASKED]]
        if slot >= 0 and seen[slot] == walk:
            first, count = slot, 0
            while count == 0 or slot != first:
                found[count] = messages[slot, ASKED]
                count += 1
                slot = holder[messages[slot, ASKED]]
            return count
    return 0
