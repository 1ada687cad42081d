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

NOBODY = np.uint32(0xFFFFFFFF)

# Channels: `when` it is free or, while a worm holds it and the end is not known, ~`when` the header
# was granted it; the channel `after` it in its worm; the last message in its `queue`, a ring of
# links, so that the first is the link of the last. Then what was counted when worms let it go: time
# `waited` for it, flits `carried`, `worms`, time `held`. All in half a line of the cache, so that
# those of a large mesh stay there: before one of these counts overflows, all go to its totals.
COUNTS = ("waited", "carried", "worms", "held")
CHANNEL = np.dtype(
    [("when", np.int64), ("after", np.uint32), ("queue", np.uint32)]
    + [(name, np.uint32) for name in COUNTS]
)
TOTAL = np.dtype([(name, np.int64) for name in COUNTS])

# Messages in flight, in three tables. Events: `time` of the request, `link` in a list, channel
# `asked` for (with ALARM added if the channel itself is to look at its queue then).
EVENT = np.dtype([("time", np.int64), ("link", np.uint32), ("asked", np.uint32)])
ALARM = np.uint32(1 << 31)
# Messages: `key` that settles ties, when the header `came` to the tail channel, `tail` and `head`
# of the channels held, how many are `held`, `window` of channels of which the last is let go, when
# so many are held, `flits`, `step` and `left` of the straight piece of the route, channels behind
# the tail (`passed`), `source` stream, `target` and `end` router of the piece, `leg` = 2 *
# dimension + (1 beyond the dateline), whether the source is `slow`. One line of the cache; unsigned
# numbers need no look at whether they count from the end of a table.
MESSAGE = np.dtype(
    [("key", np.int64), ("came", np.int64)]
    + [(name, np.uint32) for name in ("tail", "head", "source", "target", "end")]
    + [(name, np.int32) for name in ("held", "window", "flits", "step", "left", "passed")]
    + [("leg", np.int16), ("slow", np.int16)]
)
# Born: when a message was created and injected, when its tail leaves a slow source (or UNKNOWN).
BORN = np.dtype([(name, np.int64) for name in ("created", "injected", "leaves")])
UNKNOWN = -1
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
HOP, FLOW, BUFFER, CREDIT, RELEASE, SINK, RESUME, CUT_THROUGH, IN_TURN = range(9)
# Grid: ROUTERS, ports for DIRECTIONS and VIRTUAL channels, SIDES, STRIDES, whether it WRAPS.
ROUTERS, DIRECTIONS, VIRTUAL, SIDES, STRIDES, WRAPS = 0, 1, 2, 3, 6, 9

REACHED, COMPLETED, STILL, STUCK, LATE = range(5)


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
    inputs: Any  # (channels,): which input it is of the router that it leads to
    dirty: Any
    stack: Any  # (messages,): whom to grant next (`link`), and when
    whole: Any
    timing: Any
    grid: Any
    coordinates: Any  # (routers, 3)
    paces: Any  # (routers, 2): cycles per flit into and out of the node
