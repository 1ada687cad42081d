"""Columns of the simulator's tables: what each number is, in one place for Python and kernels.

Times are cycles; routers and channels are numbered as in `topology`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

#: How the kernels are compiled. They allocate nothing, so they need no reference counts; counting
#: those of the tables at every call made them some thirteen times slower.
COMPILED: Any = {"cache": True, "nogil": True, "error_model": "numpy", "_nrt": False}
#: A call with all tables as arguments would cost as much as the work it does.
INLINED: Any = COMPILED | {"inline": "always"}

FAR = 1 << 60

# Channels: `when` it is free or, while a worm holds it and the end is not known, ~`when` the header
# was granted it; the channel `after` it in its worm; the first message in its `queue`. Sixteen
# bytes, so that those of a large mesh stay in the cache. The totals lie elsewhere: time waited for
# it, flits and messages carried, time held.
CHANNEL = np.dtype([("when", np.int64), ("after", np.int32), ("queue", np.int32)])
WAITED, CARRIED, WORMS, HELD_TIME = range(4)

# Messages in flight, in three tables. Events: LINK in a list, TIME of the request; small, because
# lists are walked one after the other. Messages: KEY that settles ties, channel ASKED for, TAIL and
# HEAD of the channels held, how many are HELD, WINDOW of channels that must be held before the last
# is let go, FLITS, STEP and LEFT of the straight piece of the route, BLOCKED time, channels behind
# the tail (PASSED), when the tail leaves a slow source (LEAVES: UNKNOWN yet, PROMPT if the source
# is not slow), SOURCE stream, END router of the piece, LEG = 2 * dimension + (1 beyond the
# dateline), TARGET. Born: when a message was CREATED and INJECTED.
LINK, TIME = range(2)
(
    KEY, ASKED, TAIL, HEAD, HELD, WINDOW, FLITS, STEP, LEFT, BLOCKED, PASSED, LEAVES, SOURCE, END,
    LEG, TARGET,
) = range(16)  # fmt: skip
MESSAGE_COLUMNS = 16
CREATED, INJECTED = range(2)
PROMPT, UNKNOWN = -2, -1
ALARM = -1  # key of an event that wakes a channel
FOLLOWS = 1 << 62  # added to the key of a message that follows another through its source

# Streams, one for each node of a job and for each I/O node: ROUTER, JOB, RANK, INDEX of the next
# message and where to STOP, COUNT in this phase, SENT in all, STATE of its random numbers,
# OFFSETs at which its destinations begin, MADE: creation time of the last (open traffic).
ROUTER, JOB, RANK, INDEX, STOP, COUNT, SENT, STATE, OFFSET, OTHER, MADE = range(11)
STREAM_COLUMNS = 11

# Jobs.
(
    STATUS, DUE, FIRST, NODES, IO, PHASE0, PHASES, REPEATS, PHASE, REPEAT, STEPS, STEPPED,
    OUTSTANDING, DONE, SEQUENCE, RECORDED, LOG, START, FINISH, MESSAGES, LATENCY, NETWORK, BLOCKING,
    LONGEST, HOPS, VOLUME,
) = range(26)  # fmt: skip
JOB_COLUMNS = 26
IDLE, WAITING, RUNNING, FINISHED = range(4)

# Phases.
KIND, LENGTH, ROUNDS, PAUSE, LOCKSTEP, ROOT, TARGETS = range(7)
PHASE_COLUMNS = 7
(
    LISTED, ALL_TO_ALL, ONE_TO_ALL, ALL_TO_ONE, RANDOM, NEIGHBOUR, RING, N_BODY, FFT, WRITE, READ,
    MIXED,
) = range(12)  # fmt: skip

# What the whole network has: CLOCK, PENDING events, the first FREE_SLOT, RECORDS written, when the
# next job event is DUE_JOB, header HOPS_DONE.
CLOCK, PENDING, FREE_SLOT, RECORDS, DUE_JOB, HOPS_DONE = range(6)
# Timing: HOP of a header, FLOW of a flit, BUFFER flits, CREDIT, RELEASE, SINK and
# RESUME delays, and whether inputs are served IN_TURN instead of first come, first served.
HOP, FLOW, BUFFER, CREDIT, RELEASE, SINK, RESUME, IN_TURN = range(8)
# Grid: ROUTERS, ports for DIRECTIONS and VIRTUAL channels, SIDES, STRIDES, whether it WRAPS.
ROUTERS, DIRECTIONS, VIRTUAL, SIDES, STRIDES, WRAPS = 0, 1, 2, 3, 6, 9

REACHED, COMPLETED, STILL, STUCK = range(4)


class State(NamedTuple):
    """The tables of a network, as the kernels take them."""

    channels: Any
    totals: Any
    messages: Any
    events: Any
    born: Any
    streams: Any
    jobs: Any
    phases: Any
    shares: Any  # (phases, 2): part of the slots that is I/O; mean cycles between messages
    listed: Any  # (messages, 4): created, target router, flits, number
    records: Any  # (messages, 6): number, source, target, created, injected, delivered
    log: Any  # (phases run, 2): begin and end
    wheel: Any
    turns: Any  # (channels,): the input that comes first next time
    dirty: Any
    due: Any
    stack: Any  # (messages, 3)
    whole: Any
    timing: Any
    grid: Any
    coordinates: Any  # (routers, 3)
    paces: Any  # (routers, 2): cycles per flit into and out of the node
