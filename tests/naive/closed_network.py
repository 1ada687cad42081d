"""Closed network with every job told apart: states in a dict, rules in words, dense solves."""

from __future__ import annotations

import numpy as np


def moves(state, laws, discipline, servers):
    """Pairs of rate and next state; `state` is where each job is, and who is at the disk.

    `laws` holds the computation and the disk law of each job.
    """
    where, queue = state
    serving = [j for j in queue if where[j][0] == "disk"]
    for j, (place, stage) in enumerate(where):
        if place == "wait":
            continue
        delay, disk = laws[j]
        law, speed = (delay, 1.0) if place == "cpu" else (disk, 1.0)
        if place == "disk" and discipline == "ps":
            speed = min(len(queue), servers) / len(queue)
        if place == "disk" and discipline == "lcfs-pr":
            speed = 1.0 if j == queue[-1] else 0.0
        for b in range(law.order):
            if b != stage:
                yield speed * law.T[stage, b], (put(where, j, (place, b)), queue)
        ending = speed * -law.T[stage].sum()
        if place == "cpu":
            if discipline in ("fcfs", "siro") and len(serving) >= servers:
                yield ending, (put(where, j, ("wait", 0)), (*queue, j))
            else:
                for b, p in enumerate(disk.alpha):
                    yield ending * p, (put(where, j, ("disk", b)), (*queue, j))
            continue
        left = tuple(k for k in queue if k != j)
        waiting = [k for k in left if where[k][0] == "wait"]
        if discipline == "fcfs":
            waiting = waiting[:1]
        for a, g in enumerate(delay.alpha):
            gone = put(where, j, ("cpu", a))
            if not waiting:
                yield ending * g, (gone, left)
            for k in waiting:
                for b, p in enumerate(laws[k][1].alpha):
                    yield ending * g * p / len(waiting), (put(gone, k, ("disk", b)), left)


def put(where, j, what):
    return (*where[:j], what, *where[j + 1 :])


def chain(laws, discipline, servers=1):
    """All states reached from all jobs computing, and the dense matrix of rates."""
    stages = [int(np.flatnonzero(delay.alpha)[0]) for delay, _ in laws]
    index = {(tuple(("cpu", stage) for stage in stages), ()): 0}
    found, entries = list(index), []
    for state in found:
        for rate, after in moves(state, laws, discipline, servers):
            if rate > 0:
                if after not in index:
                    index[after] = len(found)
                    found.append(after)
                entries.append((index[state], index[after], rate))
    rates = np.zeros((len(found), len(found)))
    for i, j, rate in entries:
        rates[i, j] += rate
    return found, rates


def steady(rates):
    """Stationary vector by replacing one balance equation with the sum."""
    q = rates - np.diag(rates.sum(axis=1))
    q[:, -1] = 1.0
    right = np.zeros(len(q))
    right[-1] = 1.0
    return np.linalg.solve(q.T, right)


def disk_law(states, pi, jobs):
    """Probability of 0, 1, ... jobs at the disk."""
    law = np.zeros(jobs + 1)
    for (_, queue), p in zip(states, pi, strict=True):
        law[len(queue)] += p
    return law


def sojourn_moments(states, rates, pi, count):
    """Moments of job 0's time at the disk: start where it arrives, stop when it leaves."""
    there = np.array([0 in queue for _, queue in states])
    start = (pi[~there] @ rates[np.ix_(~there, there)]) / (pi[~there] @ rates[np.ix_(~there, there)]).sum()
    inside = rates - np.diag(rates.sum(axis=1))
    t, v = inside[np.ix_(there, there)], np.ones(there.sum())
    found = []
    for k in range(1, count + 1):
        v = np.linalg.solve(-t, v) * k
        found.append(float(start @ v))
    return found


def averages(states, rates, pi, job):
    """Throughput of one job through the disk, and the share of time that it is there."""
    there = np.array([job in queue for _, queue in states])
    return float((pi[~there] @ rates[np.ix_(~there, there)]).sum()), float(pi[there].sum())
