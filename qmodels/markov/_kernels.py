"""Compiled kernels for Markov chains: plain arrays in, plain arrays out.

A kernel checks nothing, raises nothing and knows no class of this package. The public wrappers
live next door in `ctmc`, `elimination`, `kinds`, `small_levels` and `walk`. No kernel that solves
subtracts: what must be positive is a sum of non-negative numbers, so small results keep full
relative accuracy.
"""

from __future__ import annotations

import numpy as np
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


@njit(cache=True)
def connected(q):
    """Whether the rates lead from every state to every other one; the diagonal does not matter."""
    n = q.shape[0]
    stack = np.empty(n, dtype=np.intp)
    for turned in range(2):
        seen = np.zeros(n, dtype=np.bool_)
        seen[0] = True
        stack[0] = 0
        top = count = 1
        while top > 0:
            top -= 1
            i = stack[top]
            for j in range(n):
                if not seen[j] and (q[j, i] if turned else q[i, j]) > 0.0:
                    seen[j] = True
                    stack[top] = j
                    top += 1
                    count += 1
        if count < n:
            return False
    return True


@njit(cache=True)
def kinds_of_rows(up, rounding, speed, kind, lead):
    """Number of kinds of rows of ``up`` (n, m) that are proportional to each other.

    Fills speed (n,), the sums of the rows, kind (n,), and the first rows of lead (n, m), one for
    each kind, which sum to one. ``rounding``: the share of an entry that makes no difference.
    """
    n, m = up.shape
    count = 0
    for i in range(n):
        total = 0.0
        for j in range(m):
            total += up[i, j]
        speed[i] = total
        kind[i] = -1
        if not total > 0.0:
            continue
        for j in range(m):
            lead[count, j] = up[i, j] / total
        for leader in range(count):
            same = True
            for j in range(m):
                if abs(lead[count, j] - lead[leader, j]) > rounding * lead[leader, j]:
                    same = False
                    break
            if same:
                kind[i] = leader
                break
        if kind[i] < 0:
            kind[i] = count
            count += 1
    return count


@njit(cache=True)
def _solve_left(packed, rows):
    """Put the solution x of x M = b in the place of the rows b; M as `eliminate` leaves it."""
    n = packed.shape[0]
    for row in range(rows.shape[0]):
        for k in range(n):
            x = rows[row, k] / packed[k, k]
            rows[row, k] = x
            if x > 0.0:
                for j in range(k + 1, n):
                    rows[row, j] += x * packed[k, j]
        for i in range(n - 1, 0, -1):
            x = rows[row, i]
            if x > 0.0:
                for k in range(i):
                    rows[row, k] += x * packed[i, k]


@njit(cache=True)
def _add_product(a, b, total):
    """Add a @ b to a matrix; zeros of ``a``, of which rates have many, take no time."""
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            x = a[i, k]
            if x > 0.0:
                for j in range(b.shape[1]):
                    total[i, j] += x * b[k, j]


@njit(cache=True)
def _product(a, b):
    total = np.zeros((a.shape[0], b.shape[1]))
    _add_product(a, b, total)
    return total


@njit(cache=True)
def phases_of_return(spread, lead, local, down, tol, max_steps, found):
    """Cyclic reduction of small levels, see `doubling.phases_of_return`.

    Fills found (r, n) and returns the steps taken and what is missing: zero steps if it did not
    converge, minus one minus its number if a phase proves a matrix singular.
    """
    n, r = spread.shape
    stay, fall, jump = local.copy(), down.copy(), lead.copy()
    leads = np.empty(r)
    for k in range(r):
        leads[k] = lead[k].sum()
    mass, chain = leads.copy(), np.zeros((0, 0))
    missing = decline = 1.0
    found[:] = 0.0
    for step in range(1, max_steps + 1):
        out = np.zeros(n)
        for i in range(n):
            for k in range(r):
                out[i] += spread[i, k] * mass[k]
            out[i] += fall[i].sum()
        packed = stay.copy()
        row = eliminate(packed, out)
        if row >= 0:
            return -1 - row, missing
        _solve_left(packed, jump)
        back = _product(jump, fall)
        found += back
        if missing * decline**2 < tol:
            return step, missing
        after_fall = fall.copy()
        _solve_left(packed, after_fall)
        _add_product(spread, back, stay)
        rises, through = _product(after_fall, spread), _product(jump, spread)
        if step > 1:
            rises, through = _product(rises, chain), _product(through, chain)
        _add_product(rises, lead, stay)
        fall, chain = _product(after_fall, fall), through
        decline = missing = 0.0
        for k in range(r):
            before, mass[k] = mass[k], 0.0
            for j in range(r):
                mass[k] += chain[k, j] * leads[j]
            # steps add geometrically less: each factor is the square of the one before
            decline = max(decline, mass[k] / max(before, 1e-300))
            for j in range(n):
                missing = max(missing, back[k, j] / max(found[k, j], 1e-300))
        missing *= decline
        if missing < tol:
            return step, missing
        jump = _product(chain, lead)
    return 0, missing


@njit(cache=True)
def censor(sizes, up, local, down, stay, climbs):
    """Censor levels from the top down: rates within level 0, or the row that has no way out.

    sizes (b + 1,): states of each level; up, local, down and climbs: their matrices row by row,
    one after the other. ``stay`` holds the rates within level b of the chain up to it, and is
    destroyed. Fills climbs: time spent one level higher, for each state, per unit of time in it.
    """
    b = sizes.size - 1
    end_up = end_local = end_down = 0
    for k in range(b):
        end_up += sizes[k] * sizes[k + 1]
        end_local += sizes[k] * sizes[k]
    end_down = end_up
    for k in range(b - 1, -1, -1):
        n, m = sizes[k], sizes[k + 1]
        below = down[end_down - n * m : end_down].reshape((m, n))
        excess = np.empty(m)
        for i in range(m):
            excess[i] = below[i].sum()
        row = eliminate(stay, excess)
        if row >= 0:
            return stay, row
        climb = climbs[end_up - n * m : end_up].reshape((n, m))
        climb[:] = up[end_up - n * m : end_up].reshape((n, m))
        _solve_left(stay, climb)
        stay = local[end_local - n * n : end_local].reshape((n, n)).copy()
        _add_product(climb, below, stay)
        end_up, end_local, end_down = end_up - n * m, end_local - n * n, end_down - n * m
    return stay, -1


@njit(cache=True)
def rise(sizes, climbs, found, logs):
    """Probabilities of each level, which sum to one, and logarithms of what the levels weigh.

    found holds those of level 0, level after level; logs (b + 1,) its weight.
    """
    at = first = 0
    for k in range(sizes.size - 1):
        n, m = sizes[k], sizes[k + 1]
        above = found[at + n : at + n + m]
        above[:] = 0.0
        for i in range(n):
            x = found[at + i]
            for j in range(m):
                above[j] += x * climbs[first + i * m + j]
        mass = above.sum()
        logs[k + 1] = -np.inf
        if mass > 0.0:
            above /= mass
            logs[k + 1] = logs[k] + np.log(mass)
        at, first = at + n, first + n * m


@njit(cache=True)
def _flow(block, first, there, out, into):
    """Add the flows by a block of rates, row by row from ``first`` on, to those of two levels."""
    m = into.size
    for i in range(there.size):
        for j in range(m):
            rate = block[first + i * m + j]
            out[i] += rate
            into[j] += there[i] * rate


@njit(cache=True)
def imbalance(sizes, up, local, down, pi):
    """Sums of absolute (flow in - flow out) and of the flows, levels 0 .. b + 1.

    pi holds the levels 0 .. b + 2, those from b on of the same size; for the others see `censor`.
    """
    b = sizes.size - 1
    out, into = np.zeros(pi.size), np.zeros(pi.size)
    at = at_local = at_up = at_down = np.int64(0)
    for k in range(b + 2):
        n, m = sizes[min(k, b)], sizes[min(k + 1, b)]
        here, above = slice(at, at + n), slice(at + n, at + n + m)
        _flow(local, at_local, pi[here], out[here], into[here])
        _flow(up, at_up, pi[here], out[here], into[above])
        _flow(down, at_down, pi[above], out[above], into[here])
        at += n
        if k < b:
            at_local, at_up, at_down = at_local + n * n, at_up + n * m, at_down + n * m
    off = flow = 0.0
    for i in range(at):
        off += abs(into[i] - pi[i] * out[i])
        flow += pi[i] * out[i]
    return off, flow
