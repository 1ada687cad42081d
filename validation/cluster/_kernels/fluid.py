"""The fluid state: how fast every job gets on, given who shares its nodes."""

from __future__ import annotations

from numba import njit

from phasefit.compiled import UNCOUNTED, UNCOUNTED_WITHIN
from validation.cluster._kernels.siblings import expected_slowest
from validation.cluster._kernels.state import (
    ACTIVE,
    BARRIER,
    BINS,
    CPU,
    DISK,
    FIRST,
    FROZEN,
    MIGRATION,
    NOBODY,
    NOW,
    PAGING,
    PEAK,
    QUEUED,
    QUEUEING,
    RUNNING,
    SCALED,
    SERVICE,
    TOUCHED,
    UNSETTLED,
    UPDATES,
    WIDTH,
)

#: Updates of a job, as a multiple of the jobs there are, after which steps are halved, and after
#: which the state is taken as it is.
_PATIENCE, _LIMIT = 200, 2000
#: How far beyond what a job's own equation says its shares of time are moved: a third fewer updates
#: than without.
_STRIDE = 1.2


@njit(**UNCOUNTED)
def overload(load, ram):
    """Share of the memory asked for that a node does not have."""
    return (load - ram) / load if load > ram else 0.0


@njit(**UNCOUNTED_WITHIN)
def book_node(s, node):
    """Add what held at a node since it was last booked to its integrals and its time line."""
    now, since = s.clocks[NOW], s.nodes[node].booked
    if now <= since:
        return
    held = (s.busy[node, CPU], s.busy[node, DISK], float(s.loads[node].tasks))
    for what in range(3):
        s.integral[node, what] += held[what] * (now - since)
    width = s.clocks[WIDTH]
    first, last = min(int(since / width), BINS - 1), min(int(now / width), BINS - 1)
    for place in range(first, last + 1):
        begin = since if place == first else place * width
        end = now if place == last else (place + 1) * width
        for what in range(3):
            s.line[place, node, what] += held[what] * (end - begin)
    s.nodes[node].booked = now


@njit(**UNCOUNTED_WITHIN)
def halve_lines(s):
    """Make one bin of two until the time lines reach beyond now."""
    while s.clocks[NOW] >= BINS * s.clocks[WIDTH]:
        for place in range(BINS):
            for node in range(s.nodes.size):
                for what in range(3):
                    total = 0.0
                    if 2 * place + 1 < BINS:
                        total = s.line[2 * place, node, what] + s.line[2 * place + 1, node, what]
                    s.line[place, node, what] = total
        s.clocks[WIDTH] *= 2.0


@njit(**UNCOUNTED_WITHIN)
def touch_node(s, node):
    """Note that a node changes now."""
    if not s.nodes[node].listed:
        book_node(s, node)
        s.nodes[node].listed = True
        s.touched[s.counts[TOUCHED]] = node
        s.counts[TOUCHED] += 1


@njit(**UNCOUNTED_WITHIN)
def book_job(s, job):
    """Bring the work left of a job, and what its time went into, up to now."""
    now = s.clocks[NOW]
    dt = now - s.jobs[job].since
    if dt <= 0.0:
        return
    s.jobs[job].since = now
    if s.jobs[job].status == FROZEN:
        s.spent[job, MIGRATION] += dt
        return
    pace = s.jobs[job].pace
    s.jobs[job].left = max(s.jobs[job].left - pace * dt, 0.0)
    first, last = s.first[job], s.first[job + 1]
    service, paging, present = 0.0, 0.0, 0.0
    for task in range(first, last):
        node = s.tasks[task].node
        own = pace * s.jobs[job].io_rate * (s.nodes[node].access + s.jobs[job].request / s.nodes[node].rate)
        cpu, disk = pace / s.nodes[node].speed, pace * s.tasks[task].demand_disk
        service += cpu + own
        paging += disk - own
        present += s.tasks[task].at_cpu + s.tasks[task].at_disk
    share = dt / (last - first)
    sync = s.sync * pace * dt if last - first > 1 else 0.0
    # What no task spends at CPU or disk is waiting for others; shares of time are known to the
    # tolerance only, and alone there is nobody to wait for.
    barrier = dt - sync - present * share
    if barrier < 0.0 or last - first == 1:
        barrier = 0.0
    s.spent[job, SERVICE] += service * share + sync
    s.spent[job, PAGING] += paging * share
    s.spent[job, BARRIER] += barrier
    s.spent[job, QUEUEING] += dt - barrier - sync - (service + paging) * share


@njit(**UNCOUNTED_WITHIN)
def ask(s, job):
    """Have the pace of a job found anew."""
    if s.jobs[job].status == RUNNING and not s.jobs[job].queued:
        s.jobs[job].queued = True
        s.queue[(s.counts[FIRST] + s.counts[QUEUED]) % s.queue.size] = job
        s.counts[QUEUED] += 1


@njit(**UNCOUNTED_WITHIN)
def ask_all(s, node):
    """Have the pace of all jobs at a node found anew."""
    task = s.nodes[node].head
    while task != NOBODY:
        ask(s, s.tasks[task].job)
        task = s.tasks[task].next


@njit(**UNCOUNTED_WITHIN)
def recount(s, node):
    """Sum up the tasks of a node afresh, so that no rounding stays behind when they go."""
    touch_node(s, node)
    memory, io, faults, cpu, disk = 0.0, 0.0, 0.0, 0.0, 0.0
    task = s.nodes[node].head
    while task != NOBODY:
        job = s.tasks[task].job
        memory += s.jobs[job].memory
        io += s.jobs[job].io_rate
        faults += s.jobs[job].fault_rate
        cpu += s.tasks[task].at_cpu
        disk += s.tasks[task].at_disk
        task = s.tasks[task].next
    lack = overload(memory, s.nodes[node].ram)
    s.loads[node].memory = memory
    s.loads[node].io = io + lack * faults
    s.loads[node].cpu, s.loads[node].disk = cpu, disk
    task = s.nodes[node].head
    while task != NOBODY:
        job = s.tasks[task].job
        if s.jobs[job].status == RUNNING:
            book_job(s, job)  # before what it needs of the disk changes
        s.tasks[task].demand_disk = disk_demand(s, job, node, lack)
        s.tasks[task].access = typical_access(s, job, node, lack)
        task = s.tasks[task].next
    ask_all(s, node)


@njit(**UNCOUNTED_WITHIN)
def disk_demand(s, job, node, lack):
    """Seconds of disk for each CPU-second of a job's task at a node that lacks so much memory."""
    access = s.nodes[node].access + s.jobs[job].request / s.nodes[node].rate
    return s.jobs[job].io_rate * access + s.jobs[job].fault_rate * lack * s.nodes[node].fault


@njit(**UNCOUNTED_WITHIN)
def typical_access(s, job, node, lack):
    """Seconds of the access in which a second of a task's disk time lies, on average."""
    access = s.nodes[node].access + s.jobs[job].request / s.nodes[node].rate
    fault, faults = s.nodes[node].fault, s.jobs[job].fault_rate * lack
    whole = s.jobs[job].io_rate * access + faults * fault
    if whole <= 0.0:
        return 0.0
    return (s.jobs[job].io_rate * access * access + faults * fault * fault) / whole


@njit(**UNCOUNTED_WITHIN)
def put(s, task, node):
    """Put a task on a node."""
    touch_node(s, node)
    s.tasks[task].node = node
    s.tasks[task].at_cpu = 0.0
    s.tasks[task].at_disk = 0.0
    s.tasks[task].previous = NOBODY
    s.tasks[task].next = s.nodes[node].head
    if s.nodes[node].head != NOBODY:
        s.tasks[s.nodes[node].head].previous = task
    s.nodes[node].head = task
    s.loads[node].tasks += 1
    recount(s, node)


@njit(**UNCOUNTED_WITHIN)
def take(s, task):
    """Take a task from its node; its job is booked already."""
    node = s.tasks[task].node
    touch_node(s, node)
    before, after = s.tasks[task].previous, s.tasks[task].next
    if before == NOBODY:
        s.nodes[node].head = after
    else:
        s.tasks[before].next = after
    if after != NOBODY:
        s.tasks[after].previous = before
    s.loads[node].tasks -= 1
    s.tasks[task].node = NOBODY
    recount(s, node)


@njit(**UNCOUNTED_WITHIN)
def _update(s, job, step):
    """Find the pace of one job, given the others; ask for those whom the change concerns."""
    book_job(s, job)
    first, last = s.first[job], s.first[job + 1]
    slowest = 0.0
    for task in range(first, last):
        node = s.tasks[task].node
        at_cpu = max(s.loads[node].cpu - s.tasks[task].at_cpu, 0.0)
        at_disk = max(s.loads[node].disk - s.tasks[task].at_disk, 0.0)
        s.tasks[task].cpu_time = (1.0 + at_cpu) / s.nodes[node].speed
        s.tasks[task].disk_time = s.tasks[task].demand_disk * (1.0 + at_disk)
        s.tasks[task].scale = s.tasks[task].access * (1.0 + at_disk)
        slowest = max(slowest, s.tasks[task].cpu_time + s.tasks[task].disk_time)
    if last - first > 1:
        if s.dispersion > 0.0:
            spread = s.dispersion / min(s.barrier, s.jobs[job].demand)
            slowest = expected_slowest(s.tasks, first, last, spread)
        slowest += s.sync
    pace = 1.0 / slowest
    s.jobs[job].pace = pace
    for task in range(first, last):
        node = s.tasks[task].node
        more_cpu = step * (pace * s.tasks[task].cpu_time - s.tasks[task].at_cpu)
        more_disk = step * (pace * s.tasks[task].disk_time - s.tasks[task].at_disk)
        s.tasks[task].at_cpu += more_cpu
        s.tasks[task].at_disk += more_disk
        s.loads[node].cpu += more_cpu
        s.loads[node].disk += more_disk
        touch_node(s, node)
        s.nodes[node].pending += abs(more_cpu) + abs(more_disk)
        if s.nodes[node].pending > s.tolerance * (1.0 + s.loads[node].cpu + s.loads[node].disk):
            s.nodes[node].pending = 0.0
            ask_all(s, node)  # itself too, which went too far


@njit(**UNCOUNTED_WITHIN)
def solve(s):
    """Find the paces of all jobs that what happened concerns, by sweeps over those alone.

    A job's tasks spend R_c = (1 + C') / speed at the CPU and R_d = D (1 + A') at the disk for each
    CPU-second, C' and A' being the mean numbers of other tasks there; its pace is 1 / (sync + the
    mean of the slowest), see `expected_slowest`. Whoever shares a node whose C and A have moved by
    more than the tolerance is asked again.
    """
    updates, crowd = 0, max(s.counts[ACTIVE], 1)
    while s.counts[QUEUED] > 0:
        job = s.queue[s.counts[FIRST]]
        s.counts[FIRST] = (s.counts[FIRST] + 1) % s.queue.size
        s.counts[QUEUED] -= 1
        s.jobs[job].queued = False
        if s.jobs[job].status != RUNNING or updates > _LIMIT * crowd:
            continue
        updates += 1
        _update(s, job, _STRIDE if updates <= _PATIENCE * crowd else 0.5)
    if updates > _LIMIT * crowd:
        s.counts[UNSETTLED] += 1
    s.counts[UPDATES] += updates
    _within_capacity(s)


@njit(**UNCOUNTED_WITHIN)
def _within_capacity(s):
    """Slow jobs down where a node would do more than it can, and note how busy nodes are.

    At a fixed point no node is more than fully used; an iterate may be by about the tolerance.
    """
    place = 0
    while place < s.counts[TOUCHED]:  # grows while it is read
        node = s.touched[place]
        place += 1
        most = _utilisation(s, node)
        if most > 1.0:
            s.counts[SCALED] += 1
            task = s.nodes[node].head
            while task != NOBODY:
                job = s.tasks[task].job
                if s.jobs[job].status == RUNNING:
                    book_job(s, job)
                    s.jobs[job].pace /= most
                    for own in range(s.first[job], s.first[job + 1]):
                        touch_node(s, s.tasks[own].node)
                task = s.tasks[task].next
    for k in range(s.counts[TOUCHED]):
        node = s.touched[k]
        s.clocks[PEAK] = max(s.clocks[PEAK], _utilisation(s, node))
        s.nodes[node].listed = False
    s.counts[TOUCHED] = 0


@njit(**UNCOUNTED_WITHIN)
def _utilisation(s, node):
    """Set how busy the CPU and the disk of a node are; returns the larger."""
    cpu, disk = 0.0, 0.0
    task = s.nodes[node].head
    while task != NOBODY:
        job = s.tasks[task].job
        if s.jobs[job].status == RUNNING:
            cpu += s.jobs[job].pace / s.nodes[node].speed
            disk += s.jobs[job].pace * s.tasks[task].demand_disk
        task = s.tasks[task].next
    s.busy[node, CPU], s.busy[node, DISK] = cpu, disk
    return max(cpu, disk)
