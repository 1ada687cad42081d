"""The tables of a run as the kernels take them. Times are seconds, memory and data MB.

Tables of records, not one array for each field: a call hands over a handful of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from phasefit.arrays import record

#: What a job is doing.
ABSENT, WAITING, FROZEN, RUNNING, DONE = 0, 1, 2, 3, 4
NOBODY = -1
#: Places in `State.counts`.
ARRIVED, HEAD, ACTIVE, EVENTS, UPDATES, UNSETTLED, REFUSED, TOUCHED, QUEUED, FIRST, SCALED = range(11)
COUNTS = 11
#: Places in `State.clocks`: now, width of a bin of the time lines, number of the last broadcast,
#: largest utilisation of a disk or a processor so far.
NOW, WIDTH, BROADCAST, PEAK = range(4)
CLOCKS = 4
#: Columns of what a job's time went into, and of what a node's did.
SERVICE, QUEUEING, PAGING, BARRIER, MIGRATION = range(5)
CPU, DISK, TASKS = range(3)
#: Bins of a time line; when they do not reach, two become one.
BINS = 256


class Rules(NamedTuple):
    """What a built-in balancer may look at and do, as the kernels take it."""

    io: bool  # rule 1: balance disk accesses
    memory: bool  # rule 2: balance memory
    cpu: bool  # rule 3: balance tasks
    informed: bool  # rule 3 judges response times by all resources, not by numbers of tasks
    preempt: bool  # move running tasks too
    dedicated: bool  # a job waits until it has nodes to itself
    io_threshold: float  # accesses per CPU-second below which a node counts as without I/O
    crowded: float  # tasks from which a node may be overloaded
    rounds: int  # preemptions at most, of each default node at each arrival


#: A job: `demand` CPU-seconds of each task, of which `left` were left at `since`, at a `pace` in
#: CPU-seconds per second; rates are per CPU-second. `thaw` is when it goes on, `cool` from when it
#: may be moved again; `remote` tasks started away from their default node, `moved` times one was
#: preempted, `present` jobs were in the system when it came. `place` is where it is in `active`,
#: `queued` whether it is in `queue`. `reaccess`, `writes`, `initial`: see `ClusterTrace`.
JOB = record(
    ("home status remote moved present place queued", np.int64),
    ("arrival demand memory io_rate request initial writes reaccess fault_rate", np.float64),
    ("pace left since thaw cool start finish", np.float64),
)
#: A task: its `node`, the default one (`origin`) and that on which it began, the tasks before and
#: after it in the list of its node; seconds of disk that it needs for each CPU-second, and of the
#: access in which such a second lies; its mean shares of time `at_cpu` and `at_disk`, and seconds
#: there for each CPU-second; `scale` is `access` with the waiting of others.
TASK = record(
    ("job node origin began previous next", np.int64),
    ("demand_disk access at_cpu at_disk cpu_time disk_time scale", np.float64),
)
#: A node: seconds of an `access` without its transfer at `rate` MB/s, and of a page `fault`; MB/s
#: of the link (`net`) and of the disk as a monitor sees it. `head` is its first task, `pending`
#: what its means have moved since others were asked, `listed` whether it is in `touched`, `booked`
#: when its integrals were last brought up to date.
NODE = record(
    ("head listed taken", np.int64), ("speed ram access rate fault net bandwidth pending booked", np.float64)
)
#: The load of a node: its tasks, their MB, accesses and faults per CPU-second, and the mean numbers
#: of them at the CPU and at the disk.
LOAD = record(("tasks", np.int64), ("memory io cpu disk", np.float64))


class State(NamedTuple):
    """Everything that a run reads and writes."""

    sync: float  # seconds of synchronisation for each CPU-second of a parallel job
    barrier: float  # CPU-seconds between two barriers
    dispersion: float  # of accesses, see `Cluster.access_dispersion`; 0: no task varies
    remote_cost: float
    preemption_cost: float
    period: float  # seconds between broadcasts of loads; 0: always current
    by_age: bool  # remaining work is not known but guessed from the age
    guess: float  # CPU-seconds expected of a job that has just come, where `by_age`
    tolerance: float
    jobs: Any  # (n,) JOB
    tasks: Any  # (m,) TASK
    nodes: Any  # (k,) NODE
    loads: Any  # (k,) LOAD, as they are
    seen: Any  # (k,) LOAD, as balancers see them; the same table where there are no broadcasts
    first: Any  # (n + 1,) the first task of each job
    spent: Any  # (n, 5) seconds, by what for
    active: Any  # (n,) the jobs that hold nodes, the first `counts[ACTIVE]`
    queue: Any  # (n,) ring of jobs whose pace is to be found anew
    touched: Any  # (k,) nodes that change now
    busy: Any  # (k, 2) utilisation of the CPU and of the disk
    integral: Any  # (k, 3)
    line: Any  # (BINS, k, 3)
    matrix: Any  # (k, k) tasks moved, from and to
    chosen: Any  # (k,) nodes of the tasks of the job that is being placed
    listing: Any  # (k,) scratch, as the next
    waiting: Any  # (k,)
    counts: Any
    clocks: Any
