"""Compiled kernels of closed networks: plain arrays in, plain arrays out.

A kernel checks nothing, raises nothing and knows no class of this package; the wrappers live
next door in `occupancy`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from qmodels.heaps import put, replace_first, take


@njit(cache=True)
def occupancies(jobs, binomial, starts, counts, more):
    """All ways to place 0, 1, ..., ``jobs`` jobs in m stages, and where one job more leads.

    binomial (jobs + m + 1, m): n over k; starts (jobs + 2,): index of the first occupancy of each
    number of jobs. Fills counts (total, m), in lexicographic order for each number of jobs, and
    more (total, m): the index of the occupancy with one more job in the stage, -1 at the last.
    """
    m = counts.shape[1]
    for n in range(jobs + 1):
        for i in range(starts[n], starts[n + 1]):
            if i == starts[n]:
                for a in range(m):
                    counts[i, a] = 0
                counts[i, m - 1] = n
            else:
                p = m - 1
                while counts[i - 1, p] == 0:
                    p -= 1
                for a in range(m):
                    counts[i, a] = counts[i - 1, a]
                rest = counts[i, p] - 1
                counts[i, p] = 0
                counts[i, p - 1] += 1
                counts[i, m - 1] = rest
            for a in range(m):
                if n == jobs:
                    more[i, a] = -1
                    continue
                rank = 0
                left = n + 1
                for p in range(m - 1):
                    here = counts[i, p] + (1 if p == a else 0)
                    after = m - 1 - p
                    rank += binomial[left + after, after] - binomial[left - here + after, after]
                    left -= here
                more[i, a] = starts[n + 1] + rank


@njit(cache=True)
def assemble(jobs, disk_starts, delay_starts, base, disk, delay, indptr, indices, data):
    """Rates of a network from those of its two centres, in CSR form with sorted columns.

    disk and delay hold (indptr, indices, data) of the moves within a level, of departures and of
    arrivals, in this order; disk_starts and delay_starts (jobs + 2,): the first state of each
    level of a centre; base (jobs + 2,): the first state of the network with that many jobs at the
    disk. Fills indptr (states + 1,), indices and data (entries,).
    """
    dl_ptr, dl_col, dl, dx_ptr, dx_col, dx, de_ptr, de_col, de = disk
    pl_ptr, pl_col, pl, px_ptr, px_col, px, pe_ptr, pe_col, pe = delay
    entry = 0
    indptr[0] = 0
    for i in range(jobs + 1):
        away = jobs - i
        d0, p0 = disk_starts[i], delay_starts[away]
        width = delay_starts[away + 1] - p0
        for d in range(d0, disk_starts[i + 1]):
            for p in range(p0, delay_starts[away + 1]):
                if i > 0:  # a job leaves the disk
                    below = delay_starts[away + 2] - delay_starts[away + 1]
                    for x in range(dx_ptr[d], dx_ptr[d + 1]):
                        row = base[i - 1] + (dx_col[x] - disk_starts[i - 1]) * below
                        row -= delay_starts[away + 1]
                        for y in range(pe_ptr[p], pe_ptr[p + 1]):
                            indices[entry] = row + pe_col[y]
                            data[entry] = dx[x] * pe[y]
                            entry += 1
                x = dl_ptr[d]
                while x < dl_ptr[d + 1] and dl_col[x] < d:
                    indices[entry] = base[i] + (dl_col[x] - d0) * width + p - p0
                    data[entry] = dl[x]
                    entry += 1
                    x += 1
                for y in range(pl_ptr[p], pl_ptr[p + 1]):
                    indices[entry] = base[i] + (d - d0) * width + pl_col[y] - p0
                    data[entry] = pl[y]
                    entry += 1
                while x < dl_ptr[d + 1]:
                    indices[entry] = base[i] + (dl_col[x] - d0) * width + p - p0
                    data[entry] = dl[x]
                    entry += 1
                    x += 1
                if away > 0:  # a job leaves the delay
                    above = delay_starts[away] - delay_starts[away - 1]
                    for x in range(de_ptr[d], de_ptr[d + 1]):
                        row = base[i + 1] + (de_col[x] - disk_starts[i + 1]) * above
                        row -= delay_starts[away - 1]
                        for y in range(px_ptr[p], px_ptr[p + 1]):
                            indices[entry] = row + px_col[y]
                            data[entry] = px[y] * de[x]
                            entry += 1
                indptr[base[i] + (d - d0) * width + p - p0 + 1] = entry


@njit(cache=True)
def replay(gaps, work, speeds, waits, stays):
    """Play jobs one by one through a queue where each of k running ones has ``speeds[k - 1]``.

    gaps, work (n,): the time before each job and its work at speed one; speeds (c,). The jobs that
    run gain work alike, so that a clock of that work tells who ends next, and a heap of the work at
    which each one ends holds them. Fills waits and stays (n,): times from arrival to start and to
    departure. The jobs that are left at the end are played to theirs.
    """
    n, c = gaps.size, speeds.size
    ends, jobs = np.empty(c), np.empty(c, np.int64)
    arrived = np.empty(n)
    now, done, came = 0.0, 0.0, 0.0
    running, first = 0, 0  # first: the next job to start; those up to `last` have come
    for last in range(n + 1):
        if last < n:
            came += gaps[last]
            arrived[last] = came
        while running > 0:
            step = (ends[0] - done) / speeds[running - 1]
            if last < n and now + step > came:
                done += (came - now) * speeds[running - 1]
                break
            now += step
            done = ends[0]
            stays[jobs[0]] = now - arrived[jobs[0]]
            if first < last:  # who waits takes the place of who leaves
                waits[first] = now - arrived[first]
                replace_first(ends, jobs, running, done + work[first], first)
                first += 1
            else:
                take(ends, jobs, running)
                running -= 1
        if last == n:
            return
        now = came
        if running == 0:  # time begins anew: gaps may be so long that a job's own would be rounded off
            now = came = done = arrived[last] = 0.0
        if running < c:
            waits[last] = 0.0
            first = last + 1
            put(ends, jobs, running, done + work[last], last)
            running += 1


@njit(cache=True, error_model="numpy")
def mean_values(jobs, think, demands, throughput, queues):
    """Exact mean value analysis of stations with one server each, slab by slab of the first class.

    jobs, think (classes,); demands (classes, stations). Fills throughput (classes,) and
    queues (classes, stations) at the whole population.
    """
    classes, stations = demands.shape
    size = 1
    for r in range(1, classes):
        size *= jobs[r] + 1
    strides = np.ones(classes, np.int64)
    for r in range(classes - 2, 0, -1):
        strides[r] = strides[r + 1] * (jobs[r + 1] + 1)
    before = np.zeros((size, stations))  # of one job less of the first class
    present = np.zeros((size, stations))
    counts = np.zeros(classes, np.int64)
    for first in range(jobs[0] + 1):
        counts[:] = 0
        counts[0] = first
        for at in range(size):
            if at:
                _count_on(counts, jobs)
            here = present[at]
            for k in range(stations):
                here[k] = 0.0
            for r in range(classes):
                if counts[r] == 0:
                    continue
                fewer = before[at] if r == 0 else present[at - strides[r]]
                away = think[r]
                for k in range(stations):
                    away += demands[r, k] * (1.0 + fewer[k])
                flow = counts[r] / away
                for k in range(stations):
                    here[k] += flow * demands[r, k] * (1.0 + fewer[k])
                if first == jobs[0] and at == size - 1:
                    throughput[r] = flow
                    for k in range(stations):
                        queues[r, k] = flow * demands[r, k] * (1.0 + fewer[k])
        before, present = present, before


@njit(cache=True)
def _count_on(counts, jobs):
    """Go from one population to the next, the last class fastest."""
    r = counts.size - 1
    while counts[r] == jobs[r]:
        counts[r] = 0
        r -= 1
    counts[r] += 1


@njit(cache=True, error_model="numpy")
def weighted_shift(values, jobs, strides, log_demands, coefficient, base, closes, result):
    """Logarithm of ``coefficient * base + sum_r demand_r shifted_r``, cell by cell.

    With `closes` what is shifted is `result` itself, as for the series 1 / (1 - sum_r demand_r x_r);
    else it is `values`. values, base, result (cells,), logarithms; the coefficient's as well.
    """
    classes = jobs.size
    counts = np.zeros(classes, np.int64)
    terms = np.empty(classes + 1)
    for at in range(result.size):
        if at:
            _count_on(counts, jobs)
        highest = coefficient + base[at]
        terms[classes] = highest
        for r in range(classes):
            terms[r] = -np.inf
            if counts[r]:
                source = result if closes else values
                terms[r] = log_demands[r] + source[at - strides[r]]
                highest = max(highest, terms[r])
        if highest == -np.inf:
            result[at] = -np.inf
            continue
        total = 0.0
        for r in range(classes + 1):
            if terms[r] > -np.inf:
                total += np.exp(terms[r] - highest)
        result[at] = highest + np.log(total)


@njit(cache=True, error_model="numpy")
def estimated_queues(
    jobs, shares, demands, service, away, left, other_work, in_turn, limits, throughput, queues
):
    """Settle queues (classes, stations) for which what an arriving customer finds is estimated.

    shares (classes r, classes s, stations): change of the share of s at a station with one of r less;
    left, other_work, in_turn (stations,); limits (2,): most steps, and the change at which it has settled.
    Fills throughput; returns the last change.
    """
    classes, stations = demands.shape
    new = np.empty_like(queues)
    moved = np.inf
    for _ in range(int(limits[0])):
        for r in range(classes):
            throughput[r] = 0.0
            if jobs[r] <= 0.0:
                new[r, :] = 0.0
                continue
            total = away[r]
            for k in range(stations):
                ahead, work = 0.0, other_work[k]
                for s in range(classes):
                    fewer = jobs[s] - 1.0 if s == r else jobs[s]
                    if fewer > 0.0:
                        here = fewer * max(queues[s, k] / jobs[s] + shares[r, s, k], 0.0)
                        ahead += here
                        work += here * service[s, k]
                if demands[r, k] == 0.0:
                    new[r, k] = 0.0
                elif in_turn[k]:
                    new[r, k] = demands[r, k] * (1.0 + work / left[k] / service[r, k])
                else:
                    new[r, k] = demands[r, k] * (1.0 + ahead) / left[k]
                total += new[r, k]
            throughput[r] = jobs[r] / max(total, 1e-300)
            for k in range(stations):
                new[r, k] *= throughput[r]
        moved = 0.0
        for r in range(classes):
            for k in range(stations):
                moved = max(moved, abs(new[r, k] - queues[r, k]))
                queues[r, k] = new[r, k]
        if moved <= limits[1]:
            break
    return moved
