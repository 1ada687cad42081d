"""Two classes of jobs on one server as a plain Markov chain: jobs, phases of services and of arrivals."""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.linalg import spsolve


def mean_jobs(silent, marks, laws, preemptive, most):
    """Mean numbers of both classes, with at most `most` jobs let in.

    silent, marks: rates of phases without an arrival and with one of either class; laws: (start, rates,
    exit) of the services. A state is (urgent jobs, others, phase of the urgent job's service or -1, phase
    of the other's or -1, phase of arrivals); under preemption both services may have begun.
    """

    def begun(state, rate):
        urgent, other, u, o, j = state
        if preemptive:
            kind = 0 if urgent and u < 0 else 1 if other and o < 0 and not urgent else None
        else:
            kind = None if max(u, o) >= 0 else 0 if urgent else 1 if other else None
        if kind is None:
            return [(state, rate)]
        starts = enumerate(laws[kind][0])
        return [
            ((urgent, other, i, o, j) if kind == 0 else (urgent, other, u, i, j), rate * p)
            for i, p in starts
            if p > 0.0
        ]

    def moves(state):
        urgent, other, u, o, j = state
        for to in range(len(silent)):
            if to != j:
                yield (urgent, other, u, o, to), silent[j][to]
            if urgent + other < most:
                yield from begun((urgent + 1, other, u, o, to), marks[0][j][to])
                yield from begun((urgent, other + 1, u, o, to), marks[1][j][to])
            elif to != j:
                yield (*state[:4], to), marks[0][j][to] + marks[1][j][to]
        if u >= 0:
            _, rates, ends = laws[0]
            yield from (((urgent, other, i, o, j), rates[u][i]) for i in range(len(ends)) if i != u)
            yield from begun((urgent - 1, other, -1, o, j), ends[u])
        elif o >= 0:
            _, rates, ends = laws[1]
            yield from (((urgent, other, u, i, j), rates[o][i]) for i in range(len(ends)) if i != o)
            yield from begun((urgent, other - 1, u, -1, j), ends[o])

    index, fresh, entries = {(0, 0, -1, -1, 0): 0}, [(0, 0, -1, -1, 0)], []
    while fresh:
        state = fresh.pop()
        for to, rate in moves(state):
            if rate > 0.0:
                if to not in index:
                    index[to] = len(index)
                    fresh.append(to)
                entries.append((index[state], index[to], rate))
    rows, columns, rates = np.array(entries).T
    n = len(index)
    matrix = coo_array((rates, (columns.astype(int), rows.astype(int))), shape=(n, n)).tocsc()
    matrix = matrix - coo_array((matrix.sum(axis=0), (range(n), range(n))), shape=(n, n)).tocsc()
    # the chance of the empty state is set to one, and all are divided by their sum
    found = np.append(1.0, spsolve(matrix[1:, 1:], -matrix[1:, [0]].toarray().ravel()))
    counts = np.array([state[:2] for state in index])
    return found @ counts / found.sum()
