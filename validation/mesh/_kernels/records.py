"""The simulators' tables: what each field of their rows is, in one place for Python and kernels.

A table is an array of records; what a network has only one of is a named tuple. Times are cycles;
routers and channels are numbered as in `topology`.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from phasefit.arrays import record
from phasefit.compiled import UNCOUNTED_WITHIN

# A number that begins as `np.int64(0)` and is handed on has one type. Beginning as a literal it has two, the
# literal's own being another: whoever it is handed to would be compiled twice. So with flags.
#: A call with all tables as arguments would cost as much as the work it does.
INLINED: Final = UNCOUNTED_WITHIN | {"forceinline": True}

FAR = 1 << 60

NOBODY = np.uint32(0xFFFFFFFF)

# Channels: `when` it is free or, while a worm holds it and the end is not known, ~`when` the header
# was granted it; the channel `after` it in its worm; the last message in its `queue`, a ring of
# links, so that the first is the link of the last. Then what was counted when worms let it go: time
# `waited` for it, flits `carried`, `worms`, time `held`. All in half a line of the cache, so that
# those of a large mesh stay there: before one of these counts overflows, all go to its totals.
_COUNTS = "waited carried worms held"
CHANNEL = record(("when", np.int64), ("after queue", np.uint32), (_COUNTS, np.uint32))
TOTAL = record((_COUNTS, np.int64))

# Messages in flight, in two tables whose rows are one line of the cache each. What every hop needs:
# `time` of the request, when the header `came` to the tail channel, `link` in a list, channel
# `asked` for (with ALARM added if the row is no message, but a channel that is to look at its queue
# then), `tail` and `head` of the channels held, how many are `held`, `window` of channels of which
# the last is let go, when so many are held, `flits`, `step` and `left` of the straight piece of the
# route, channels behind the tail (`behind`), `source` stream, `leg` = 2 * dimension + (1 beyond the
# dateline), whether the source is `slow`. Unsigned numbers need no look at whether they count from
# the end of a table.
MESSAGE = record(
    ("time came", np.int64),
    ("link asked tail head", np.uint32),
    ("held window flits step left behind", np.int32),
    ("source", np.uint32),
    ("leg slow", np.int16),
)
ALARM = np.uint32(1 << 31)
# Details, which few hops need: `key` that settles ties, when the message was `created` and
# `injected`, and when its tail `leaves`: of a worm its slow source (UNKNOWN until that is asked),
# under cut-through the last channel that it was granted; `target` and `end` router of the piece.
# Then, of `channels.latest_flit`: the last place in the route at which the header waited long
# (`rise`), and which place decides when the tail moves (`peak`), by how much (`top`), as far as
# found out up to the rise that was `seen`.
DETAIL = record(
    ("key created injected leaves top", np.int64),
    ("target end", np.uint32),
    ("rise seen peak spare", np.int32),
)
# Whom to grant a channel next, and when.
GRANT = record(("time", np.int64), ("link spare", np.uint32))
#: Cycles whose requests are kept in rows on a large mesh: this one and the next; a power of two.
NEAR = 4
UNKNOWN = -1
#: A number of flits times a pace may exceed a whole number of cycles by so much, by rounding.
ROUNDING = 1e-9
FOLLOWS = 1 << 62  # added to the key of a message that follows another through its source

# Streams, one for each node of a job and for each I/O node: its `router`, `job` and `rank`, the
# `index` of the next message and where to `stop`, the `count` of this phase, how many were `sent`
# in all, the `draws` it has made (the state of its random numbers), at which destinations it begins
# (`io_offset`, `other_offset`), when the last message was `made` (open traffic), and what comes
# before the next message (`after`): the last one has left its node, or a disk has done with it.
STREAM = record(("router job rank index stop count sent draws io_offset other_offset made after", np.int64))
HAS_LEFT, IS_WRITTEN, IS_READ = range(3)

# Jobs: where its streams, its phases and its phase runs begin (`first_stream`, `first_phase`,
# `run`); when it is `due` to go on; in which `phase`, `repetition` and `step` (of lockstep) it is;
# messages `outstanding` in that step, and when those delivered were all `done`; its place in the
# `sequence` of starts; then what its messages went through.
JOB = record(
    ("status due start finish first_stream nodes io_nodes first_phase phases repetitions", np.int64),
    ("phase repetition steps step outstanding done sequence recorded run", np.int64),
    ("messages latency network blocking longest hops volume", np.int64),
)
IDLE, WAITING, RUNNING, FINISHED = range(4)

# Phases, see `TrafficPhase`. `flits` is the length of a message, `last_flits` of those of the last
# round (0: as of the others).
PHASE = record(
    ("kind flits last_flits rounds pause lockstep root targets wide deep", np.int64),
    ("io_share interval", np.float64),
)
(
    LISTED,
    ALL_TO_ALL,
    ONE_TO_ALL,
    ALL_TO_ONE,
    RANDOM,
    NEIGHBOUR,
    RING,
    N_BODY,
    FFT,
    WRITE,
    READ,
    MIXED,
    HALO,
) = range(13)
# When each run of a phase of a job began and ended.
PHASE_RUN = record(("begin end", np.int64))
# A message of a list; `target` is a router.
LISTED_MESSAGE = record(("created target flits number", np.int64))
# A message of an expansion; `source` and `target` are routers.
EXPANDED_MESSAGE = record(("run step source target flits", np.int64))
# A message that was delivered; `source` and `destination` are routers.
DELIVERY = record(("number source destination created injected delivered", np.int64))

# What the whole network counts: the `clock`, `pending` events, the first `free_slot`, deliveries
# `recorded`, when the next job is `due`, `header_hops` done.
COUNTERS = record(("clock pending free_slot recorded due header_hops", np.int64))

# Where lanes share wires, flit by flit. Lanes have the numbers of channels; after those come the
# second lanes of injection and of ejection. Of each: the `worm` that holds it (NOBODY: none), how
# many of its `flits` crossed the wire (`sent`), the lane `before` it in the worm (NOBODY: none),
# the `wire`, at which `queue` headers ask for it, from when it is `free`, when its channel is to
# look at the queue then (`alarm`), when the header `crossed`.
LANE = record(
    ("worm before wire queue", np.uint32),
    ("sent flits", np.int32),
    ("free alarm crossed", np.int64),
)
# Wires: their `first` and `second` lane (NOBODY: none), which of these carried `last` (0 or 1) and
# which was `granted` last, the cycle of the last flit (`used`), before `when` no other can cross,
# lanes held whose flits have not all crossed (`open`), whether it is in the list of the `busy`. Of
# the buffers at its end, where these have one way into the crossbar together: when a flit `left`
# them last, of which lane (`served`), and its `place` among the flits that are picked.
WIRE = record(
    ("used when left", np.int64),
    ("first second last granted open busy served place", np.uint32),
)

# Of one dimension of the grid: its `side`, the `stride` from router to router, the `step` from a
# channel to the one after it, and from the link up to the link `down`.
DIMENSION = record(("side stride step down", np.int64))

GOES_ON, REACHED, COMPLETED, STILL, STUCK, LATE = range(6)


class Timing(NamedTuple):
    """Delays of every router and how it serves, see `Router`."""

    hop: int
    flow: int
    buffer: int
    credit: int
    release: int
    sink: int
    resume: int
    input_speedup: int
    cut_through: int
    in_turn: int


class Grid(NamedTuple):
    """What routing needs to know of a mesh, and how the channels are numbered."""

    routers: int
    directions: int  # ports to other routers
    virtual: int  # channels of each link
    wraps: int
    datelines: int  # whether messages that cross a ring's end keep to lane 1
    disks: int  # the first number beyond the channels: disks, at which messages queue alike
    dimensions: Any  # (3,) DIMENSION
    coordinates: Any  # (routers, 3)
    upwards: Any  # (routers, 3): the first channel of the link up each dimension


class Lanes(NamedTuple):
    """The tables of a network whose lanes share wires, besides its state."""

    lanes: Any  # (channels + 2 routers,) LANE
    wires: Any  # (wires,) WIRE: injection, ejection, links
    times: Any  # (lanes, last flits): when each crossed, flit j in column j modulo their number
    busy: Any  # (wires,): those known to carry something soon
    picked: Any  # (wires,): lanes whose flit crosses next in this cycle
    counts: Any  # (1,): how many wires are busy


class State(NamedTuple):
    """The tables of a network, as the kernels take them."""

    channels: Any  # (channels,) CHANNEL
    totals: Any  # (channels,) TOTAL
    messages: Any  # (slots,) MESSAGE
    details: Any  # (slots,) DETAIL
    streams: Any
    jobs: Any
    phases: Any
    listed: Any
    deliveries: Any
    phase_runs: Any
    wheel: Any  # (times,): the first request due then, modulo the length of the wheel
    near: Any  # (NEAR, slots): the requests of the next cycles, each in the row of its time
    due: Any  # (NEAR,): how many
    nearby: int  # how many cycles ahead requests go there: NEAR or none
    turns: Any  # (channels,): the input that comes first next time
    inputs: Any  # (channels,): which input it is of the router that it leads to
    dirty: Any  # (channels,): those to look at in this cycle
    stack: Any  # (slots,) GRANT
    counters: Any  # (1,) COUNTERS
    timing: Timing
    grid: Grid
    paces: Any  # (routers, 3): cycles per flit into and out of the node, and of a disk behind it
    paced: int  # whether any node is slower than a link
    disk_of: Any  # (routers,): number of the disk behind a router's memory
    buffered: int  # whether I/O nodes take messages at link rate into memory
