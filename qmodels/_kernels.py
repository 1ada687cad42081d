"""Compiled heaps: which of those that wait or run comes next.

A heap is two arrays, its keys and what has them; the caller knows its size.
"""

from __future__ import annotations

from numba import njit

from phasefit.compiled import WITHIN


@njit(**WITHIN)
def put(keys, jobs, size, key, job):
    """Put a job into a heap of `size` others."""
    at = size
    while at > 0 and keys[(at - 1) // 2] > key:
        keys[at], jobs[at] = keys[(at - 1) // 2], jobs[(at - 1) // 2]
        at = (at - 1) // 2
    keys[at], jobs[at] = key, job


@njit(**WITHIN)
def replace_first(keys, jobs, size, key, job):
    """Put a job into a heap of `size`, in place of the one of the least key."""
    at, below = 0, 1
    while below < size:
        if below + 1 < size and keys[below + 1] < keys[below]:
            below += 1
        if keys[below] >= key:
            break
        keys[at], jobs[at] = keys[below], jobs[below]
        at, below = below, 2 * below + 1
    keys[at], jobs[at] = key, job


@njit(**WITHIN)
def take(keys, jobs, size):
    """Take the job of the least key out of a heap of `size`."""
    first = jobs[0]
    replace_first(keys, jobs, size - 1, keys[size - 1], jobs[size - 1])
    return first
