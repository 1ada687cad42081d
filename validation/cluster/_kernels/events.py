"""The event loop of the cluster: jobs come, start, move, thaw and go."""

from __future__ import annotations

import numpy as np
from numba import njit

from phasefit.compiled import UNCOUNTED, UNCOUNTED_WITHIN
from validation.cluster._kernels.fluid import ask, book_job, book_node, halve_lines, put, recount, solve, take
from validation.cluster._kernels.rules import choose_nodes, whom_to_move
from validation.cluster._kernels.state import (
    ACTIVE,
    ARRIVED,
    BROADCAST,
    DONE,
    EVENTS,
    FROZEN,
    HEAD,
    NOBODY,
    NOW,
    RUNNING,
    WAITING,
)

#: What `advance` stopped for.
OVER, DECISION, PAUSE = 0, 1, 2


@njit(**UNCOUNTED_WITHIN)
def broadcast(s, upto):
    """Let balancers see the loads as they have been since the last event, if it is time."""
    if s.period > 0.0:
        number = np.floor(upto / s.period)
        if number <= s.clocks[BROADCAST]:
            return
        s.clocks[BROADCAST] = number
        for node in range(s.nodes.size):
            s.seen[node] = s.loads[node]


@njit(**UNCOUNTED_WITHIN)
def _next_event(s):
    """When a job thaws or ends next, and which."""
    then, who = np.inf, NOBODY
    for k in range(s.counts[ACTIVE]):
        job = s.active[k]
        at = s.jobs[job].thaw
        if s.jobs[job].status == RUNNING:
            at = s.jobs[job].since + s.jobs[job].left / s.jobs[job].pace
        if at < then:
            then, who = at, job
    return then, who


@njit(**UNCOUNTED_WITHIN)
def _go_to(s, then):
    broadcast(s, then)
    s.clocks[NOW] = max(s.clocks[NOW], then)
    s.counts[EVENTS] += 1
    halve_lines(s)


@njit(**UNCOUNTED)
def admit(s, job, delay):
    """Start the next waiting job on the nodes in `chosen`, after a delay."""
    now = s.clocks[NOW]
    s.counts[HEAD] += 1
    s.active[s.counts[ACTIVE]] = job
    s.jobs[job].place = s.counts[ACTIVE]
    s.counts[ACTIVE] += 1
    s.jobs[job].start, s.jobs[job].since = now, now
    s.jobs[job].left = s.jobs[job].demand
    s.jobs[job].thaw = now + delay
    s.jobs[job].status = FROZEN if delay > 0.0 else RUNNING
    first = s.first[job]
    for task in range(first, s.first[job + 1]):
        node = s.chosen[task - first]
        if node != s.tasks[task].origin:
            s.jobs[job].remote += 1
            s.matrix[s.tasks[task].origin, node] += 1
        s.tasks[task].began = node
        put(s, task, node)
    ask(s, job)
    solve(s)


@njit(**UNCOUNTED)
def move(s, task, there, cost):
    """Preempt a running task: its whole job is frozen while it moves."""
    job, now = s.tasks[task].job, s.clocks[NOW]
    book_job(s, job)
    s.jobs[job].status = FROZEN
    s.jobs[job].pace = 0.0
    s.jobs[job].thaw, s.jobs[job].cool = now + cost, now + 2.0 * cost
    s.jobs[job].moved += 1
    s.matrix[s.tasks[task].node, there] += 1
    for own in range(s.first[job], s.first[job + 1]):
        s.tasks[own].at_cpu = 0.0
        s.tasks[own].at_disk = 0.0
    take(s, task)
    put(s, task, there)
    for own in range(s.first[job], s.first[job + 1]):
        if own != task:
            recount(s, s.tasks[own].node)
    solve(s)


@njit(**UNCOUNTED_WITHIN)
def _relieve(s, rules, job):
    """Move running tasks off the default nodes of a job that has just come."""
    for task in range(s.first[job], s.first[job + 1]):
        for _ in range(rules.rounds):
            who, there, cost = whom_to_move(s, rules, s.tasks[task].origin)
            if who == NOBODY:
                break
            move(s, who, there, cost)


@njit(**UNCOUNTED_WITHIN)
def _end(s, job):
    """End a job and free its nodes."""
    s.jobs[job].left = 0.0
    s.jobs[job].pace = 0.0
    s.jobs[job].status = DONE
    s.jobs[job].finish = s.clocks[NOW]
    last = s.active[s.counts[ACTIVE] - 1]
    s.active[s.jobs[job].place] = last
    s.jobs[last].place = s.jobs[job].place
    s.counts[ACTIVE] -= 1
    for task in range(s.first[job], s.first[job + 1]):
        take(s, task)
    solve(s)


@njit(**UNCOUNTED_WITHIN)
def _start_dedicated(s):
    """Start waiting jobs in their order as long as there are nodes without tasks."""
    while s.counts[HEAD] < s.counts[ARRIVED]:
        job = s.counts[HEAD]
        many, found = s.first[job + 1] - s.first[job], 0
        for node in range(s.nodes.size):
            if s.loads[node].tasks == 0 and found < many:
                s.chosen[found] = node
                found += 1
        if found < many:
            return
        admit(s, job, 0.0)


@njit(**UNCOUNTED)
def advance(s, rules, own, events):
    """Run until all jobs are done, `events` more have happened, or a decision is wanted.

    Parameters
    ----------
    s : State
    rules : Rules
        Those of a built-in balancer; not read where `own` is True.
    own : bool
        Whether the caller decides where the waiting job `counts[HEAD]` goes.
    events : int

    Returns
    -------
    int
        OVER, DECISION or PAUSE.
    """
    until = s.counts[EVENTS] + events
    while s.counts[ACTIVE] > 0 or s.counts[ARRIVED] < s.jobs.size:
        if s.counts[EVENTS] >= until:
            return PAUSE
        then, who = _next_event(s)
        job = s.counts[ARRIVED]
        if job < s.jobs.size and s.jobs[job].arrival < then:
            _go_to(s, s.jobs[job].arrival)
            s.counts[ARRIVED] += 1
            s.jobs[job].status = WAITING
            s.jobs[job].present = s.counts[ACTIVE] + s.counts[ARRIVED] - s.counts[HEAD]
            if own:
                return DECISION
            if rules.dedicated:
                _start_dedicated(s)
            else:
                admit(s, job, choose_nodes(s, rules, job))
                if rules.preempt:
                    _relieve(s, rules, job)
            continue
        _go_to(s, then)
        book_job(s, who)
        if s.jobs[who].status == FROZEN:
            s.jobs[who].status = RUNNING
            ask(s, who)
            solve(s)
            continue
        _end(s, who)
        if own and s.counts[HEAD] < s.counts[ARRIVED]:
            return DECISION
        if not own and rules.dedicated:
            _start_dedicated(s)
    for node in range(s.nodes.size):
        book_node(s, node)
    return OVER
