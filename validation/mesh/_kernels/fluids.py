"""Max-min fair rates by progressive filling."""

from __future__ import annotations

from numba import njit

from phasefit.compiled import UNCOUNTED


@njit(**UNCOUNTED)
def fair_rates(first, channels, flows, capacity, left, count, used, rates):
    """Fill rates (flows,) in flits per cycle.

    The channels of message i are channels[first[i] : first[i + 1]]; flows (k,) are the messages
    under way, capacity (channels,) flits per cycle. left, count (channels,) and used (hops,) are
    room to work in; count is all 0 before and after.
    """
    n_used = 0
    for f in range(flows.size):
        rates[f] = -1.0
        for at in range(first[flows[f]], first[flows[f] + 1]):
            channel = channels[at]
            if count[channel] == 0:
                used[n_used] = channel
                n_used += 1
                left[channel] = capacity[channel]
            count[channel] += 1
    open_flows = flows.size
    while open_flows > 0:
        share = 1e300
        for u in range(n_used):
            channel = used[u]
            if count[channel] > 0:
                share = min(share, left[channel] / count[channel])
        limit = share * (1.0 + 1e-12)
        for f in range(flows.size):
            if rates[f] >= 0.0:
                continue
            begin, end = first[flows[f]], first[flows[f] + 1]
            for at in range(begin, end):
                if left[channels[at]] <= limit * count[channels[at]]:
                    rates[f] = -2.0  # met a full channel; frozen below, when all have been seen
                    break
        for f in range(flows.size):
            if rates[f] == -2.0:
                rates[f] = share
                open_flows -= 1
                for at in range(first[flows[f]], first[flows[f] + 1]):
                    channel = channels[at]
                    left[channel] = max(left[channel] - share, 0.0)
                    count[channel] -= 1
