"""Compiled kernels of time sharing: plain arrays in, plain arrays out.

They are asked thousands of times for a handful of numbers each, where the calls of numpy cost more
than the arithmetic; and one of them plays some 100,000 bursts. The wrappers that check and explain are
in `turns`, `partition_occupancy`, `time_sharing_loads` and `played_turns`.
"""

from __future__ import annotations

from math import exp, expm1, inf, log

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def computing(jobs, ratio):
    """Share of the time that a private partition computes; see `turns.private_computing`."""
    x = 1.0 / ratio if ratio > 1.0 else ratio  # the sums of r and of 1 / r are mirrored
    at = log(min(max(x, 1e-300), 1.0 - 1e-15))
    share = expm1(jobs * at) / expm1((jobs + 1.0) * at)
    return x * share if ratio > 1.0 else share


@njit(cache=True, nogil=True)
def computing_shares(jobs, ratio, found):
    """Fill ``found`` (n,) with `computing` of ``jobs`` (n,) and ``ratio`` (n,)."""
    for i in range(found.size):
        found[i] = computing(jobs[i], ratio[i])


@njit(cache=True, nogil=True)
def ratios_between(jobs, wanted, transferring, found):
    """Fill ``found`` (n,) with the ratios at which partitions compute, or transfer, so much.

    A bisection in the logarithm of the ratio, until its steps are below rounding.
    """
    for i in range(found.size):
        low, high = -60.0, 60.0
        for _ in range(60):
            middle = 0.5 * (low + high)
            r = exp(middle)
            share = computing(jobs[i], r)
            if (r * share < wanted[i]) if transferring else (share > wanted[i]):
                low = middle
            else:
                high = middle
        found[i] = exp(0.5 * (low + high))


@njit(cache=True, nogil=True)
def _factorials(found):
    """Fill ``found`` with 0!, 1!, 2!, ..."""
    found[0] = 1.0
    for h in range(1, found.size):
        found[h] = found[h - 1] * h


@njit(cache=True, nogil=True)
def _beside(i, jobs, alike, work, others, product):
    """Fill ``others`` with the coefficients of all partitions but one of kind i, and return their degree."""
    others[0], degree = 1.0, 0
    for m in range(jobs.size):
        for _ in range(alike[m] - (m == i)):
            for h in range(degree + jobs[m] + 1):
                product[h] = 0.0
            for h in range(degree + 1):
                for g in range(jobs[m] + 1):
                    product[h + g] += others[h] * work[m, g]
            degree += jobs[m]
            for h in range(degree + 1):
                others[h] = product[h]
    return degree


@njit(cache=True, nogil=True)
def rates_beside(jobs, alike, io, cpu, work, found):
    """Fill ``found`` (n,) with the rates of `partition_occupancy.partition_rates`.

    ``jobs`` (n,) are the different numbers of jobs of the processor partitions, ``alike`` (n,) how
    many of these hold so many, ``cpu`` (M + 1,) the computation by jobs. ``work`` (n + 3, jobs + 1)
    is room for as many coefficients as there are jobs at the disk.
    """
    n = jobs.size
    factorial, others, product = work[n], work[n + 1], work[n + 2]
    scale = max(io, cpu.max())
    _factorials(factorial)
    for i in range(n):
        at_disk, base = 1.0, cpu[jobs[i]] / scale
        for h in range(jobs[i] + 1):
            work[i, h] = at_disk * base ** (jobs[i] - h)
            at_disk *= io / scale / (h + 1.0)
    every = 0.0
    for i in range(n):
        found[i] = 0.0
        if jobs[i] == 0:
            continue
        degree = _beside(i, jobs, alike, work, others, product)
        # weight of h jobs of this partition at the disk: what they make of the others' factorials
        busy = whole = 0.0
        for h in range(jobs[i] + 1):
            total = 0.0
            for g in range(degree + 1):
                total += others[g] * factorial[g + h]
            whole += work[i, h] * total
            if h < jobs[i]:  # all of them at the disk: nobody computes
                busy += work[i, h] * total
        if every == 0.0:
            every = whole
        found[i] = busy / every / cpu[jobs[i]]


@njit(cache=True, nogil=True)
def slowness_beside(jobs, alike, work, found):
    """Fill ``found`` (n,) with what `partition_occupancy.disk_slowness` says.

    ``jobs`` (n,) are the most jobs at the disk by kind of partition, ``alike`` (n,) how many there are of a
    kind. ``work`` (n + 3, all jobs + 1) comes with the laws of the kinds in its first rows.
    """
    n = jobs.size
    factorial, others, product = work[n], work[n + 1], work[n + 2]
    _factorials(factorial)
    for i in range(n):
        for h in range(jobs[i] + 1):
            work[i, h] /= factorial[h]
    for i in range(n):
        degree = _beside(i, jobs, alike, work, others, product)
        served = there = 0.0
        for h in range(1, jobs[i] + 1):
            for g in range(degree + 1):
                weight = work[i, h] * others[g] * factorial[h + g]
                there += weight
                served += weight * h / (h + g)
        found[i] = there / served if served > 0.0 else 1.0


@njit(cache=True, nogil=True)
def _first_class(base, there, by):
    """Jobs of the first class on all partitions if the weights are tilted so much."""
    step, mean = exp(by), 0.0
    for j in range(1, there.size):
        if there[j] == 0.0:
            continue
        power, total, first = 1.0, 0.0, 0.0
        for a in range(j + 1):
            total += base[j, a] * power
            first += a * base[j, a] * power
            power *= step
        mean += there[j] * first / total
    return mean


@njit(cache=True, nogil=True)
def draw_classes(number, mixes, ones, twos, log_factorial, found):
    """Fill ``found`` (states, M + 1, M + 1) as `time_sharing_loads._drawn` says.

    ``number`` (c + 1, M + 1) partitions by k and j, ``mixes`` (M + 1, M + 1) logarithms, ``ones``
    and ``twos`` (states,) jobs of the classes. ``found`` comes as zeros.
    """
    for q in range(ones.size):
        base, there = found[q], number[ones[q] + twos[q]].copy()
        for j in range(there.size):
            top = -inf
            least, most = max(0, j - twos[q]), min(j, ones[q])
            for a in range(least, most + 1):
                base[j, a] = mixes[j, a] - log_factorial[a] - log_factorial[j - a]
                base[j, a] -= log_factorial[ones[q] - a] + log_factorial[twos[q] - (j - a)]
                top = max(top, base[j, a])
            for a in range(least, most + 1):
                base[j, a] = exp(base[j, a] - top)
            if most < least:
                there[j] = 0.0
        high = min(60.0, 690.0 / (there.size - 1))  # its powers stay within the floats
        low = -high
        for _ in range(45):
            middle = 0.5 * (low + high)
            if _first_class(base, there, middle) < ones[q]:
                low = middle
            else:
                high = middle
        step = exp(0.5 * (low + high))
        for j in range(there.size):
            power, total = 1.0, 0.0
            for a in range(j + 1):
                base[j, a] *= power
                total += base[j, a]
                power *= step
            for a in range(j + 1):
                base[j, a] *= there[j] / max(total, 1e-300)


@njit(cache=True, nogil=True)
def _next_burst(job, after, bursts, burst, stage):
    """Next burst of a job that has any length, beginning at this one: its number and stage; the end if none.

    Stage 0 is the transfer, 1 the computation; ``bursts`` (b, 2) are their seconds.
    """
    while burst < after[job + 1] and bursts[burst, stage] == 0.0:
        burst, stage = burst + stage, 1 - stage
    return burst, stage


@njit(cache=True, nogil=True)
def play_partition(first, bursts, gaps, picks, units, room, most, chance, others, slower, waits, stays):
    """Fill ``waits`` and ``stays`` (n,), NaN at first, with those of jobs in turns on one partition.

    See `played_turns`. Job i has the ``bursts`` (b, 2) from ``first[i]`` to ``first[i + 1]``; jobs of the
    whole machine come after ``gaps`` and start while fewer than ``most`` run, on this partition, while it
    has fewer than ``room``, with a ``chance``, for which ``picks`` in [0, 1) are used in turn. ``others``
    is the rate at which jobs elsewhere end, after ``units`` of a mean of one, and ``slower`` how many times
    slower than alone the disk is; all three (c + 1, M + 1) by the jobs that run and those here, or (1, 1)
    where these do not matter.
    """
    last, last_here = chance.shape[0] - 1, chance.shape[1] - 1
    who, burst, turn = np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros(room, np.int64)
    left, since = np.zeros(room), np.zeros(room)
    arrived = np.empty(gaps.size)
    here = running = came = begun = own = turns = used = picked = 0
    now, coming, unit = 0.0, gaps[0], units[0]
    while came < gaps.size and own < stays.size:
        # turn is 0 of those at the disk; the least other one computes
        computing, moving = -1, 0
        for n in range(here):
            if turn[n] == 0:
                moving += 1
            elif computing < 0 or turn[n] < turn[computing]:
                computing = n
        at = min(running, last), min(here, last_here)
        pace = slower[at] * moving
        step, ends = coming, -1  # an arrival
        if running > here and unit / others[at] < step:
            step, ends = unit / others[at], -2  # a job elsewhere
        for n in range(here):
            if turn[n] == 0 and left[n] * pace < step:
                step, ends = left[n] * pace, n
        if computing >= 0 and left[computing] < step:
            step, ends = left[computing], computing
        now += step
        coming -= step
        if running > here:
            unit -= step * others[at]
        for n in range(here):
            if turn[n] == 0:
                left[n] -= step / pace
        if computing >= 0:
            left[computing] -= step
        if ends == -1:
            arrived[came] = now
            came += 1
            if came < gaps.size:
                coming = gaps[came]
        elif ends == -2:
            running -= 1
            used = (used + 1) % units.size
            unit = units[used]
        else:
            stage = 0 if turn[ends] == 0 else 1
            number, stage = _next_burst(who[ends], first, bursts, burst[ends] + stage, 1 - stage)
            if number < first[who[ends] + 1]:
                turns += stage
                burst[ends], left[ends], turn[ends] = number, bursts[number, stage], turns * stage
            else:
                stays[who[ends]] = now - since[ends]
                here, running = here - 1, running - 1
                for each in (who, burst, turn):
                    each[ends] = each[here]
                left[ends], since[ends] = left[here], since[here]
        while begun < came and running < most and own < stays.size:
            placed = here < room and picks[picked] < chance[min(running, last), min(here, last_here)]
            picked = (picked + 1) % picks.size
            if placed:
                number, stage = _next_burst(own, first, bursts, first[own], 0)
                waits[own] = now - arrived[begun]
                if number == first[own + 1]:  # nothing to do
                    stays[own] = 0.0
                else:
                    turns += stage
                    who[here], burst[here], since[here] = own, number, now
                    left[here], turn[here] = bursts[number, stage], turns * stage
                    here, running = here + 1, running + 1
                own += 1
            else:
                running += 1
            begun += 1
