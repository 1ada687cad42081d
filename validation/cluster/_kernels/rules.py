"""The rules of the built-in balancers: where the tasks of a job go, and who has to move."""

from __future__ import annotations

import numpy as np
from numba import njit

from phasefit.compiled import UNCOUNTED, UNCOUNTED_WITHIN
from validation.cluster._kernels.fluid import book_job, disk_demand, overload
from validation.cluster._kernels.state import NOBODY, NOW, REFUSED, RUNNING

#: By what nodes are ordered.
_IO, _MEMORY, _TASKS = 1, 2, 3


@njit(**UNCOUNTED)
def remote_cost(s, job, here, there):
    """Seconds that it takes to begin a task on another node, equation (1)."""
    return s.remote_cost + s.jobs[job].initial * _per_megabyte(s, here, there)


@njit(**UNCOUNTED)
def preemption_cost(s, job, age, here, there):
    """Seconds that it takes to move a task of an age in CPU-seconds, equations (3) and (4)."""
    written = (
        age * s.jobs[job].io_rate * s.jobs[job].writes * s.jobs[job].request / (s.jobs[job].reaccess + 1.0)
    )
    link = min(s.nodes[here].net, s.nodes[there].net)
    moved = (s.jobs[job].initial + written) * _per_megabyte(s, here, there)
    return s.preemption_cost + s.jobs[job].memory / link + moved


@njit(**UNCOUNTED_WITHIN)
def _per_megabyte(s, here, there):
    link = min(s.nodes[here].net, s.nodes[there].net)
    return 1.0 / link + 1.0 / s.nodes[here].bandwidth + 1.0 / s.nodes[there].bandwidth


@njit(**UNCOUNTED)
def stretch(s, job, node):
    """Seconds for each CPU-second of a task that would come to a node, as balancers see it."""
    lack = overload(s.seen[node].memory + s.jobs[job].memory, s.nodes[node].ram)
    disk = disk_demand(s, job, node, lack)
    return (1.0 + s.seen[node].cpu) / s.nodes[node].speed + disk * (1.0 + s.seen[node].disk)


@njit(**UNCOUNTED)
def stretch_there(s, job, task):
    """The same of a task that is at its node: without itself among the others."""
    node = s.tasks[task].node
    disk = disk_demand(s, job, node, overload(s.seen[node].memory, s.nodes[node].ram))
    at_cpu = max(s.seen[node].cpu - s.tasks[task].at_cpu, 0.0)
    at_disk = max(s.seen[node].disk - s.tasks[task].at_disk, 0.0)
    return (1.0 + at_cpu) / s.nodes[node].speed + disk * (1.0 + at_disk)


@njit(**UNCOUNTED_WITHIN)
def _before(s, by, one, other):
    """Whether a node comes strictly before another: less loaded."""
    if by == _IO and s.seen[one].io != s.seen[other].io:
        return s.seen[one].io < s.seen[other].io
    if by != _TASKS:
        return s.seen[one].memory < s.seen[other].memory
    return s.seen[one].tasks < s.seen[other].tasks


@njit(**UNCOUNTED_WITHIN)
def _mean_load(s):
    """Tasks and I/O load of a node on average."""
    tasks, io = 0.0, 0.0
    for node in range(s.nodes.size):
        tasks += s.seen[node].tasks
        io += s.seen[node].io
    return tasks / s.nodes.size, io / s.nodes.size


@njit(**UNCOUNTED_WITHIN)
def _rule(s, rules, job):
    """Which rule holds for a job that comes, 0 for none."""
    first, last = s.first[job], s.first[job + 1]
    if rules.io:
        for task in range(first, last):
            if s.seen[s.tasks[task].origin].io > rules.io_threshold:
                return _IO
    if rules.memory:
        for task in range(first, last):
            node = s.tasks[task].origin
            if s.seen[node].memory + s.jobs[job].memory > s.nodes[node].ram:
                return _MEMORY
    if rules.cpu:
        mean = _mean_load(s)[0]
        for task in range(first, last):
            there = s.seen[s.tasks[task].origin].tasks
            if there >= rules.crowded and there > mean:
                return _TASKS
    return 0


@njit(**UNCOUNTED_WITHIN)
def _worth(s, rules, by, job, here, there):
    """Seconds that a task gains on another node, its cost taken off."""
    work = s.guess if s.by_age else s.jobs[job].demand
    if by == _TASKS and not rules.informed:
        at_home = (1.0 + s.seen[here].tasks) / s.nodes[here].speed
        away = (1.0 + s.seen[there].tasks) / s.nodes[there].speed
    else:
        at_home, away = stretch(s, job, here), stretch(s, job, there)
    return work * (at_home - away) - remote_cost(s, job, here, there)


@njit(**UNCOUNTED_WITHIN)
def _first_nodes(s, by, many):
    """List the nodes that are least loaded, `many` of them, by rising load, then number."""
    for node in range(s.nodes.size):
        s.nodes[node].taken = False
    for k in range(many):
        best = NOBODY
        for node in range(s.nodes.size):
            if not s.nodes[node].taken and (best == NOBODY or _before(s, by, node, best)):
                best = node
        s.nodes[best].taken = True
        s.listing[k] = best


@njit(**UNCOUNTED)
def choose_nodes(s, rules, job):
    """Write the nodes of a job's tasks into `chosen`, by rules 1, 2 and 3.

    Returns
    -------
    float
        Seconds until the job can start: the largest cost of its tasks.
    """
    first = s.first[job]
    many = s.first[job + 1] - first
    for k in range(many):
        s.chosen[k] = s.tasks[first + k].origin
    by = _rule(s, rules, job)
    if by == 0:
        return 0.0
    _first_nodes(s, by, many)
    # Below, `taken` says of a listed node that nobody has it yet.
    for node in range(s.nodes.size):
        s.nodes[node].taken = False
    for k in range(many):
        s.nodes[s.listing[k]].taken = True
    waiting, left = s.waiting, np.int64(0)
    for k in range(many):
        node = s.tasks[first + k].origin
        if s.nodes[node].taken:
            s.nodes[node].taken = False
        else:
            waiting[left] = k
            left += 1
    _most_loaded_first(s, by, first, left)
    delay = 0.0
    for place in range(left):
        here = s.tasks[first + waiting[place]].origin
        stays = True
        for k in range(many):
            there = s.listing[k]
            if not s.nodes[there].taken or not _before(s, by, there, here):
                continue
            if _worth(s, rules, by, job, here, there) > 0.0:
                s.nodes[there].taken = False
                s.chosen[waiting[place]] = there
                delay = max(delay, remote_cost(s, job, here, there))
                stays = False
                break
        if stays:
            s.counts[REFUSED] += 1
    return delay


@njit(**UNCOUNTED_WITHIN)
def _most_loaded_first(s, by, first, many):
    """Sort waiting tasks by falling load of their default node, alike ones as they are."""
    waiting = s.waiting
    for k in range(1, many):
        one, place = waiting[k], k
        while place > 0 and _before(
            s, by, s.tasks[first + waiting[place - 1]].origin, s.tasks[first + one].origin
        ):
            waiting[place] = waiting[place - 1]
            place -= 1
        waiting[place] = one


@njit(**UNCOUNTED)
def whom_to_move(s, rules, here):
    """The task that gains most by leaving an overloaded node, where to, and what it costs.

    Returns
    -------
    tuple
        Task or -1, node, seconds.
    """
    io = rules.io and s.seen[here].io > rules.io_threshold and s.seen[here].io > _mean_load(s)[1]
    if not io and s.seen[here].memory <= s.nodes[here].ram:
        return NOBODY, NOBODY, 0.0
    _first_nodes(s, _IO if io else _MEMORY, np.int64(1))
    there = s.listing[0]
    if there == here:
        return NOBODY, NOBODY, 0.0
    now = s.clocks[NOW]
    best, most, price = NOBODY, 0.0, 0.0
    task = s.nodes[here].head
    while task != NOBODY:
        job = s.tasks[task].job
        if s.jobs[job].status == RUNNING and s.jobs[job].cool <= now and not _has_sibling(s, job, there):
            book_job(s, job)
            age = s.jobs[job].demand - s.jobs[job].left
            cost = preemption_cost(s, job, age, here, there)
            work = age if s.by_age else s.jobs[job].left
            gain = work * (stretch_there(s, job, task) - stretch(s, job, there)) - cost
            if gain > most:
                best, most, price = task, gain, cost
        task = s.tasks[task].next
    if best == NOBODY:
        s.counts[REFUSED] += 1
    return best, there, price


@njit(**UNCOUNTED_WITHIN)
def _has_sibling(s, job, node):
    found = False
    for task in range(s.first[job], s.first[job + 1]):
        found |= s.tasks[task].node == node
    return found
