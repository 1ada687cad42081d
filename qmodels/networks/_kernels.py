"""Compiled kernels of closed networks: plain arrays in, plain arrays out.

A kernel checks nothing, raises nothing and knows no class of this package; the wrappers live
next door in `occupancy`.
"""

from __future__ import annotations

import numpy as np
from numba import njit


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
                _sift_down(ends, jobs, running, done + work[first], first)
                first += 1
            else:
                running -= 1
                if running > 0:
                    _sift_down(ends, jobs, running, ends[running], jobs[running])
        if last == n:
            return
        now = came
        if running == 0:  # time begins anew: gaps may be so long that a job's own would be rounded off
            now = came = done = arrived[last] = 0.0
        if running < c:
            waits[last] = 0.0
            first = last + 1
            running += 1
            _sift_up(ends, jobs, running - 1, done + work[last], last)


@njit(cache=True)
def _sift_down(ends, jobs, size, end, job):
    """Put a job at the top of a heap of that size, in place of what was there."""
    k = 0
    while True:
        child = 2 * k + 1
        if child >= size:
            break
        if child + 1 < size and ends[child + 1] < ends[child]:
            child += 1
        if ends[child] >= end:
            break
        ends[k], jobs[k] = ends[child], jobs[child]
        k = child
    ends[k], jobs[k] = end, job


@njit(cache=True)
def _sift_up(ends, jobs, k, end, job):
    """Put a job at the end of a heap whose last place is k."""
    while k > 0 and ends[(k - 1) // 2] > end:
        ends[k], jobs[k] = ends[(k - 1) // 2], jobs[(k - 1) // 2]
        k = (k - 1) // 2
    ends[k], jobs[k] = end, job
