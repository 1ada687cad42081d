"""Networks of stations as plain Markov chains: every vector of customers by class and station is a state."""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.linalg import spsolve


def chain_figures(speed, service, routing, population, rates, most):
    """Throughput (classes,) of passages and mean customers (classes, stations), by the chain.

    speed(k, n) of station k with n customers; service (classes, stations), routing
    (classes, stations + 1, stations + 1): the last place is outside, which for a closed class nobody sees;
    population of closed classes; rates of open ones, of which at most `most` are let in at a time. A passage
    ends with a visit of station 0 (closed) or outside.
    """
    classes, stations = service.shape
    start = np.zeros((classes, stations), dtype=int)
    start[:, 0] = population
    index, fresh, moves = {start.tobytes(): 0}, [start], []
    while fresh:
        state = fresh.pop()
        here = index[state.tobytes()]
        for r in range(classes):
            sources = [(stations, rates[r])] if rates[r] and state[r].sum() < most else []
            for k in range(stations):
                if state[r, k]:
                    n = state[:, k].sum()
                    sources.append((k, speed(k, n) * state[r, k] / n / service[r, k]))
            for k, rate in sources:
                for target in range(stations + 1):
                    chance = routing[r, k, target]
                    if chance == 0.0 or target == k:
                        continue
                    after = state.copy()
                    if k < stations:
                        after[r, k] -= 1
                    if target < stations:
                        after[r, target] += 1
                    key = after.tobytes()
                    if key not in index:
                        index[key] = len(index)
                        fresh.append(after)
                    moves.append((here, index[key], rate * chance))
    i, j, rate = (np.array(column) for column in zip(*moves, strict=True))
    size = len(index)
    generator = coo_array((rate, (i, j)), shape=(size, size)).tocsc()
    out = np.asarray(generator.sum(axis=1)).ravel()
    balance = (generator - coo_array((out, (np.arange(size), np.arange(size))), shape=(size, size))).T.tocsc()
    pi = np.ones(size)  # of the first state one; the rest follow from their own balance
    pi[1:] = spsolve(balance[1:, 1:], -balance[1:, [0]].toarray().ravel())
    pi /= pi.sum()
    states = np.array([np.frombuffer(key, dtype=int).reshape(classes, stations) for key in index])
    queues = np.einsum("s,srk->rk", pi, states)
    total = states.sum(axis=1)
    flow = np.array(rates, dtype=float)
    for r in np.flatnonzero(np.array(population) > 0):
        busy = [
            speed(0, n[0]) * at[r, 0] / n[0] if at[r, 0] else 0.0 for at, n in zip(states, total, strict=True)
        ]
        flow[r] = pi @ np.array(busy) / service[r, 0]
    return flow, queues
