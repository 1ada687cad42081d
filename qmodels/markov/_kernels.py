"""Compiled kernels for Markov chains: plain arrays in, plain arrays out.

A kernel checks nothing, raises nothing and knows no class of this package. The public wrappers
live next door in `ctmc`, `elimination` and `walk`. No kernel subtracts: what must be positive is a
sum of non-negative numbers, so small results keep full relative accuracy.
"""

from __future__ import annotations

from numba import njit

BIG = 1e100


@njit(cache=True)
def gth(q, pi):
    """Stationary vector of an irreducible generator.

    ``q`` (n, n) is destroyed; only its off-diagonal entries are read. ``pi`` (n,) receives the
    result (Grassmann, Taksar & Heyman 1985).
    """
    n = q.shape[0]
    for k in range(n - 1, 0, -1):  # censor state k out of the chain
        exit_rate = 0.0
        for j in range(k):
            exit_rate += q[k, j]
        for i in range(k):
            q[i, k] /= exit_rate
            share = q[i, k]
            if share > 0.0:
                for j in range(k):
                    q[i, j] += share * q[k, j]
    pi[0] = 1.0
    total = 1.0
    for k in range(1, n):
        acc = 0.0
        for i in range(k):
            acc += pi[i] * q[i, k]
        pi[k] = acc
        total += acc
        if total > BIG:  # a chain that drifts upward for hundreds of states would overflow
            for i in range(k + 1):
                pi[i] /= BIG
            total /= BIG
    for k in range(n):
        pi[k] /= total


@njit(cache=True)
def eliminate(off, excess):
    """Gaussian elimination of the M-matrix with off-diagonal part ``-off`` and row sums ``excess``.

    ``off`` (n, n) and ``excess`` (n,) are non-negative; the diagonal of ``off`` is not read. On
    return ``off`` holds the multipliers below the diagonal, the pivots on it and the eliminated
    rows above; ``excess`` is destroyed. Returns the number of the row that proves the matrix
    singular, or -1. Knowing the row sums instead of the diagonal is what makes the elimination
    free of subtractions (Alfa, Xue & Ye 2002).
    """
    n = excess.shape[0]
    for k in range(n):
        pivot = excess[k]
        for j in range(k + 1, n):
            pivot += off[k, j]
        if not pivot > 0.0:
            return k
        off[k, k] = pivot
        for i in range(k + 1, n):
            if off[i, k] > 0.0:
                share = off[i, k] / pivot
                off[i, k] = share
                for j in range(k + 1, n):
                    off[i, j] += share * off[k, j]
                excess[i] += share * excess[k]
    return -1


@njit(cache=True, nogil=True)
def walk(indptr, indices, rates, unit, stay, out, now, room, alive, leaving, first, last):
    """Steps ``first`` to ``last`` of a chain that is absorbed: what is alive, what leaves.

    Row j of the rates holds those of the jumps *into* state j, and ``unit`` the length of a step;
    ``stay`` and ``out`` (n,) are the probabilities of no jump and of the end in a step. ``now``
    (n,) goes on from step to step, ``room`` (n,) is to work in. Sums are taken in parts, so that
    their rounding does not grow with n.
    """
    n = now.shape[0]
    for k in range(first, last):
        total = 0.0
        ended = 0.0
        for begin in range(0, n, 256):
            here = 0.0
            gone = 0.0
            for i in range(begin, min(begin + 256, n)):
                here += now[i]
                gone += now[i] * out[i]
            total += here
            ended += gone
        alive[k] = total
        leaving[k] = ended
        for i in range(n):
            s = 0.0
            for entry in range(indptr[i], indptr[i + 1]):
                s += rates[entry] * now[indices[entry]]
            room[i] = stay[i] * now[i] + unit * s
        for i in range(n):
            now[i] = room[i]
