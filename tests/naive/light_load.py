"""The PH/PH/c queue at light load in sixty digits: levels cut off one by one from above.

Arbiter for the waits of `ManyServerQueue`: shares the rules of the queue with `tests.naive.qbd`,
and no code with the package. Whatever a subtraction loses, sixty digits have to spare.
"""

from collections import defaultdict

import mpmath as mp

from tests.naive.qbd import many_server_chain

DIGITS = 60


def waiting(arrival, service, servers, *, beyond):
    """P(wait) and the mean wait; `beyond` levels above `servers` are kept."""
    with mp.workdps(DIGITS):
        most = servers + beyond
        number, rates = many_server_chain(arrival, service, [1.0] * servers, most)
        levels = defaultdict(list)
        for state in sorted(number):
            levels[state[0]].append(state)
        place = {number[s]: (k, i) for k, states in levels.items() for i, s in enumerate(states)}
        size = [len(levels[k]) for k in range(most + 1)]
        up = [mp.zeros(size[k], size[min(k + 1, most)]) for k in range(most + 1)]
        down = [mp.zeros(size[k], size[max(k - 1, 0)]) for k in range(most + 1)]
        local = [mp.zeros(n, n) for n in size]
        for a, b, rate in rates:
            (k, i), (m, j) = place[a], place[b]
            block = local[k] if m == k else up[k] if m > k else down[k]
            block[i, j] += mp.mpf(rate)
        for k in range(most + 1):
            for i in range(size[k]):
                out = sum(local[k][i, j] for j in range(size[k]) if j != i)
                for block in (up[k] if k < most else None, down[k] if k else None):
                    if block is not None:
                        out += sum(block[i, j] for j in range(block.cols))
                local[k][i, i] = -out
        # x_{k+1} = x_k R_k, from the top: R_k = up_k (-(local_{k+1} + R_{k+1} down_{k+2}))^-1
        ratio = [None] * most
        inner = local[most]
        for k in range(most - 1, -1, -1):
            ratio[k] = up[k] * mp.inverse(-inner)
            inner = local[k] + ratio[k] * down[k + 1]
        bottom = inner.T
        n = size[0]
        for j in range(n):
            bottom[n - 1, j] = 1
        right = mp.zeros(n, 1)
        right[n - 1] = 1
        pi = [mp.lu_solve(bottom, right).T]
        for k in range(most):
            pi.append(pi[k] * ratio[k])
        total = sum(sum(x) for x in pi)
        exits = [mp.mpf(x) for x in arrival[2]]

        def arriving(k):
            return sum(pi[k][i] * exits[state[1]] for i, state in enumerate(levels[k]))

        flow = sum(arriving(k) for k in range(most + 1))
        chance = sum(arriving(k) for k in range(servers, most + 1)) / flow
        queue = sum((k - servers) * sum(pi[k]) for k in range(servers + 1, most + 1)) / total
        return chance, queue / (flow / total)
