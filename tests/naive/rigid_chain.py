"""Rigid jobs of two classes in order of arrival under Poisson arrivals: the whole chain, written out.

Arbiter for `validation.rigid.open_waits`: shares no code with it, nor with `qmodels.rigid`.
"""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.linalg import spsolve


def mean_wait(servers, needs, shares, rates, arrival_rate, most):
    """Mean wait by Little's law, and the probability that `most` wait, beyond which jobs are lost."""
    states, rows = {}, []

    def number(state):
        return states.setdefault(state, len(states))

    def fits(serving, c):
        return sum(s * n for s, n in zip(serving, needs, strict=True)) + needs[c] <= servers

    def with_one(serving, c, by):
        return tuple(s + by * (k == c) for k, s in enumerate(serving))

    def revealed(serving, waiting, head, chance):
        """States after those that fit have started: (state, chance)."""
        if waiting == 0:
            yield (serving, 0, -1), chance
        elif head < 0:
            for c, share in enumerate(shares):
                yield from revealed(serving, waiting, c, chance * share)
        elif fits(serving, head):
            yield from revealed(with_one(serving, head, 1), waiting - 1, -1, chance)
        else:
            yield (serving, waiting, head), chance

    to_do, done = [((0, 0), 0, -1)], set()
    while to_do:
        state = to_do.pop()
        if state in done:
            continue
        done.add(state)
        serving, waiting, head = state
        moves = [(arrival_rate, revealed(serving, waiting + 1, head, 1.0))] if waiting < most else []
        for c, s in enumerate(serving):
            if s:
                moves.append((s * rates[c], revealed(with_one(serving, c, -1), waiting, head, 1.0)))
        for rate, reached in moves:
            for then, chance in reached:
                rows.append((number(state), number(then), rate * chance))
                to_do.append(then)
    at, to, rate = (np.array(column) for column in zip(*rows, strict=True))
    n = len(states)
    generator = coo_array((rate, (to, at)), shape=(n, n)).tolil()
    generator.setdiag(-np.bincount(at, rate, n))
    generator[0, :] = 1.0
    law = spsolve(generator.tocsc(), np.eye(1, n)[0])
    waiting = np.array([state[1] for state in states])
    return float(law @ waiting) / arrival_rate, float(law[waiting == most].sum())
