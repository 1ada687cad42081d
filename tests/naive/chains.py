"""Markov chains by the textbook in many digits, and a network with its states written out."""

from __future__ import annotations

from itertools import pairwise

import mpmath
import numpy as np

DIGITS = 80


def generator(rates):
    """Generator in many digits; the diagonal of `rates` is not read."""
    n = len(rates)
    q = mpmath.zeros(n)
    for i in range(n):
        for j in range(n):
            if i != j:
                q[i, j] = mpmath.mpf(float(rates[i, j]))
        q[i, i] = -mpmath.fsum(q[i, j] for j in range(n) if j != i)
    return q


def stationary(rates):
    """Solve the balance equations, one of them replaced by the sum of the probabilities."""
    with mpmath.workdps(DIGITS):
        balance = generator(rates).T
        n = balance.rows
        for j in range(n):
            balance[n - 1, j] = 1
        right = mpmath.zeros(n, 1)
        right[n - 1] = 1
        return list(mpmath.lu_solve(balance, right))


def transient(rates, initial, time):
    """Exponential of the generator by squaring a Taylor polynomial."""
    with mpmath.workdps(DIGITS):
        step = generator(rates) * mpmath.mpf(float(time))
        halvings = 10 + max(0, int(mpmath.ceil(mpmath.log(mpmath.mnorm(step, 1) + 1, 2))))
        step = step / mpmath.mpf(2) ** halvings
        term = total = mpmath.eye(len(rates))
        for k in range(1, 40):
            term = term * step / k
            total = total + term
        for _ in range(halvings):
            total = total * total
        return list(mpmath.matrix([[float(p) for p in initial]]) * total)


def absorption(rates, targets, moments):
    """Raw moments of the time to the targets, and chances of each, from the other states."""
    with mpmath.workdps(DIGITS):
        inside = [i for i in range(len(rates)) if i not in targets]
        free = rates.copy()
        q = generator(free)
        t = mpmath.matrix([[-q[i, j] for j in inside] for i in inside])
        found, m = [], mpmath.matrix([1] * len(inside))
        for k in range(1, moments + 1):
            m = mpmath.lu_solve(t, k * m)
            found.append(list(m))
        chances = [list(mpmath.lu_solve(t, mpmath.matrix([q[i, j] for i in inside]))) for j in targets]
        return inside, found, chances


def birth_death(births, deaths):
    """Stationary vector of a birth-death chain, by the product formula."""
    with mpmath.workdps(DIGITS):
        weights = [mpmath.mpf(1)]
        for up, down in zip(births, deaths, strict=True):
            weights.append(weights[-1] * mpmath.mpf(float(up)) / mpmath.mpf(float(down)))
        total = mpmath.fsum(weights)
        return [w / total for w in weights]


def nearly_decomposable(rng):
    """Groups of states, connected inside by rates over four decades, outside by one rare jump."""
    sizes = rng.integers(1, 5, size=rng.integers(2, 5))
    n, first = int(sizes.sum()), np.concatenate([[0], np.cumsum(sizes)[:-1]])
    rates = np.zeros((n, n))
    for a, size in zip(first, sizes, strict=True):
        inside = 10.0 ** rng.uniform(-4, 0, (size, size)) * (rng.random((size, size)) < 0.6)
        inside += np.roll(np.diag(10.0 ** rng.uniform(-4, 0, size)), 1, axis=1)
        rates[a : a + size, a : a + size] = inside
    coupling = 10.0 ** -rng.uniform(0, 14)
    for k, (a, size) in enumerate(zip(first, sizes, strict=True)):
        after = (k + 1) % len(sizes)
        i, j = a + rng.integers(size), first[after] + rng.integers(sizes[after])
        rates[i, j] += coupling * 10.0 ** rng.uniform(-1, 0)
    np.fill_diagonal(rates, 0.0)
    return rates


def shared_disk(jobs, think, disk):
    """One disk, first come first served: states (at the disk, stage there, thinking by stage).

    Returns the states, the dense matrix of rates and the level (jobs at the disk) of each state,
    in the order of the levels.
    """

    def moves(state):
        here, stage, thinking = state
        for a, count in enumerate(thinking):
            if not count:
                continue
            for b in range(think.order):
                if b != a:
                    yield count * think.jumps[a, b], (here, stage, moved(thinking, a, b))
            left = moved(thinking, a, None)
            if here:
                yield count * think.exit[a], (here + 1, stage, left)
            else:
                for b, p in enumerate(disk.alpha):
                    yield count * think.exit[a] * p, (1, b, left)
        if here:
            for b in range(disk.order):
                if b != stage:
                    yield disk.jumps[stage, b], (here, b, thinking)
            for a, p in enumerate(think.alpha):
                back = moved(thinking, None, a)
                for b, start in enumerate(disk.alpha if here > 1 else [1.0]):
                    yield disk.exit[stage] * p * start, (here - 1, b if here > 1 else 0, back)

    start = (0, 0, moved((0,) * think.order, None, 0, jobs))
    found, stack, rates = {start}, [start], {}
    while stack:
        state = stack.pop()
        for rate, after in moves(state):
            if rate > 0.0:
                rates[state, after] = rates.get((state, after), 0.0) + rate
                if after not in found:
                    found.add(after)
                    stack.append(after)
    states = sorted(found)
    index = {state: i for i, state in enumerate(states)}
    matrix = np.zeros((len(states), len(states)))
    for (state, after), rate in rates.items():
        matrix[index[state], index[after]] = rate
    return states, matrix, np.array([state[0] for state in states])


def moved(thinking, a, b, jobs=1):
    counts = list(thinking)
    if a is not None:
        counts[a] -= jobs
    if b is not None:
        counts[b] += jobs
    return tuple(counts)


def blocks(rates, levels):
    """Rates up, within and down, as `solve_block_tridiagonal` takes them."""
    groups = [np.flatnonzero(levels == k) for k in range(levels.max() + 1)]
    up = [rates[np.ix_(a, b)] for a, b in pairwise(groups)]
    down = [rates[np.ix_(b, a)] for a, b in pairwise(groups)]
    return up, [rates[np.ix_(a, a)] for a in groups], down
