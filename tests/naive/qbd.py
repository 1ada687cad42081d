"""Quasi-birth-death chains in five hundred bits: textbook formulas on Python's whole numbers.

Arbiter for `qmodels.markov.qbd`: every subtraction the textbook asks for is done, and none matters.
A number x is kept as the whole number x * 2**BITS, in arrays of objects.
"""

import numpy as np

BITS = 512
ONE = 1 << BITS


def fixed(block):
    """Whole numbers for floats, exactly (down to 2**-BITS)."""
    return np.array([[_whole(float(x)) for x in row] for row in np.atleast_2d(block)], dtype=object)


def floats(block):
    return np.array([[x / ONE for x in row] for row in np.atleast_2d(block)])


def _whole(x):
    top, bottom = x.as_integer_ratio()
    return (top << BITS) // bottom


def times(a, b):
    return (a @ b) >> BITS


def identity(n):
    return np.array([[ONE if i == j else 0 for j in range(n)] for i in range(n)], dtype=object)


def solve(a, b):
    """Gauss and Jordan, largest pivot first."""
    a, b = a.copy(), b.copy()
    n = len(a)
    for k in range(n):
        p = max(range(k, n), key=lambda i: abs(a[i, k]))
        a[[k, p]], b[[k, p]] = a[[p, k]], b[[p, k]]
        inverse = (ONE << BITS) // a[k, k]
        a[k], b[k] = (a[k] * inverse) >> BITS, (b[k] * inverse) >> BITS
        for i in range(n):
            if i != k and a[i, k]:
                share = a[i, k]
                a[i] = a[i] - ((share * a[k]) >> BITS)
                b[i] = b[i] - ((share * b[k]) >> BITS)
    return b


def generator(local, *others):
    """Local rates with the diagonal that the rows need."""
    q = local.copy()
    for i in range(len(q)):
        q[i, i] = 0
        q[i, i] = -(sum(q[i]) + sum(sum(block[i]) for block in others))
    return q


def rate_matrix(up, local, down):
    """R and G by logarithmic reduction (Latouche & Ramaswami 1993), in fixed point."""
    up, local, down = fixed(up), fixed(local), fixed(down)
    n = len(up)
    inside = generator(local, up, down)
    steps = solve(-inside, np.hstack([up, down]))
    climb, fall = steps[:, :n], steps[:, n:]
    g, still_up = fall, climb
    while max(still_up.ravel()) > ONE >> (BITS - 140):
        rest = identity(n) - times(climb, fall) - times(fall, climb)
        steps = solve(rest, np.hstack([times(climb, climb), times(fall, fall)]))
        climb, fall = steps[:, :n], steps[:, n:]
        g, still_up = g + times(still_up, fall), times(still_up, climb)
    below = -inside - times(up, g)
    return solve(below.T, up.T).T, g


def mean_level(qbd):
    """Mean level of a chain with one boundary level, in fixed point, and its rate matrix."""
    r, _ = rate_matrix(qbd.up[0], qbd.local[0], qbd.down[0])
    n = len(r)
    up, local, down = fixed(qbd.up[0]), fixed(qbd.local[0]), fixed(qbd.down[0])
    bottom = generator(local, up) + times(r, down)
    equations = bottom.T.copy()
    equations[n - 1] = ONE
    right = np.array([[0]] * (n - 1) + [[ONE]], dtype=object)
    pi = solve(equations, right).T
    rest = (identity(n) - r).T
    tail = solve(rest, pi.T).T
    above = solve(rest, times(tail, r).T).T
    return (sum(above[0]) << BITS) // sum(tail[0]), r


def many_server_chain(arrival, service, speeds, most):
    """States and rates of the PH/PH/c queue with room for `most` jobs, straight from its rules.

    arrival, service: (alpha, jumps, exits). A state is (jobs, arrival stage, jobs in each service
    stage); arrivals that find no room are lost.
    """
    (a_start, a_jumps, a_exits), (s_start, s_jumps, s_exits) = arrival, service
    servers = len(speeds)

    def successors(state):
        jobs, stage, busy = state
        for other, rate in enumerate(a_jumps[stage]):
            yield rate, (jobs, other, busy)
        for other, chance in enumerate(a_start):
            if jobs < most:
                rate = a_exits[stage] * chance
                if jobs < servers:
                    for b, begin in enumerate(s_start):
                        yield rate * begin, (jobs + 1, other, _changed(busy, None, b))
                else:
                    yield rate, (jobs + 1, other, busy)
        for a, count in enumerate(busy):
            if not count:
                continue
            speed = speeds[min(jobs, servers) - 1]
            for b, rate in enumerate(s_jumps[a]):
                yield count * speed * rate, (jobs, stage, _changed(busy, a, b))
            leave = count * speed * s_exits[a]
            if jobs > servers:
                for b, begin in enumerate(s_start):
                    yield leave * begin, (jobs - 1, stage, _changed(busy, a, b))
            else:
                yield leave, (jobs - 1, stage, _changed(busy, a, None))

    start = (0, int(np.argmax(a_start)), (0,) * len(s_start))
    number, todo, rates = {start: 0}, [start], []
    while todo:
        state = todo.pop()
        for rate, target in successors(state):
            if rate > 0 and target != state:
                if target not in number:
                    number[target] = len(number)
                    todo.append(target)
                rates.append((number[state], number[target], rate))
    return number, rates


def _changed(busy, leaves, enters):
    busy = list(busy)
    if leaves is not None:
        busy[leaves] -= 1
    if enters is not None:
        busy[enters] += 1
    return tuple(busy)


def stationary(states, rates):
    """Censor the highest states first (Grassmann, Taksar & Heyman 1985); as a dictionary."""
    order = sorted(states)
    place = {states[s]: i for i, s in enumerate(order)}
    q = np.zeros((len(order), len(order)))
    for i, j, rate in rates:
        q[place[i], place[j]] += rate
    for k in range(len(q) - 1, 0, -1):
        q[:k, k] /= q[k, :k].sum()
        into = np.flatnonzero(q[:k, k])
        q[into, :k] += np.outer(q[into, k], q[k, :k])
    pi = np.zeros(len(q))
    pi[0] = 1.0
    for k in range(1, len(q)):
        pi[k] = pi[:k] @ q[:k, k]
    return dict(zip(order, pi / pi.sum(), strict=True))
