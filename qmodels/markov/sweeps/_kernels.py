"""Compiled sweeps over sparse rows: plain arrays in, plain arrays out.

The equations are ``out[i] * x[i] = right[i] + sum_j rates[i, j] * x[j]``, all numbers
non-negative. Row i holds its entries left of the diagonal from ``indptr[i]`` to ``middle[i]`` and
those right of it up to ``indptr[i + 1]``; the diagonal is not stored.
"""

from __future__ import annotations

from numba import njit

BIG = 1e200


@njit(cache=True)
def split(indptr, indices, middle):
    """Fill ``middle`` (n,): where the entries right of the diagonal begin, columns in order."""
    for i in range(middle.shape[0]):
        k = indptr[i]
        while k < indptr[i + 1] and indices[k] < i:
            k += 1
        middle[i] = k


@njit(cache=True)
def double_sweeps(indptr, middle, indices, rates, out, right, x, low, high, times):
    """Sweep Gauss-Seidel forward and backward over ``x``, as often as ``times``.

    Half of each row's sum is the same in the next sweep and is kept, in ``low`` and ``high``
    (n,), so that a double sweep reads every rate once (Conrad & Wallach 1979). Where ``right``
    is zero, ``x`` is only determined up to a factor and is scaled down if it would overflow.
    """
    n = out.shape[0]
    for i in range(n):
        s = 0.0
        for k in range(middle[i], indptr[i + 1]):
            s += rates[k] * x[indices[k]]
        high[i] = s
        low[i] = 0.0
    for _ in range(times):
        for i in range(n):
            s = right[i]
            for k in range(indptr[i], middle[i]):
                s += rates[k] * x[indices[k]]
            low[i] = s
            x[i] = (s + high[i]) / out[i]
            if x[i] > BIG:
                _scale_down(x, low, high)
        for i in range(n - 1, -1, -1):
            s = 0.0
            for k in range(middle[i], indptr[i + 1]):
                s += rates[k] * x[indices[k]]
            high[i] = s
            x[i] = (s + low[i]) / out[i]
            if x[i] > BIG:
                _scale_down(x, low, high)


@njit(cache=True)
def _scale_down(x, low, high):
    """Divide all three by ``BIG``, place by place."""
    for j in range(x.shape[0]):
        x[j] /= BIG
        low[j] /= BIG
        high[j] /= BIG


@njit(cache=True)
def imbalance(indptr, middle, indices, rates, out, right, x, y):
    """Fill ``y`` (n,) with the residual of ``x``, per rate out, after a forward sweep."""
    for i in range(out.shape[0]):
        s = right[i]
        for k in range(indptr[i], indptr[i + 1]):
            s += rates[k] * x[indices[k]]
        r = s / out[i] - x[i]
        s = 0.0
        for k in range(indptr[i], middle[i]):
            s += rates[k] * y[indices[k]]
        y[i] = r + s / out[i]


@njit(cache=True)
def backward(indptr, middle, indices, rates, out, t, w):
    """Fill ``w`` (n,) with what a backward sweep makes of ``t``."""
    for i in range(out.shape[0] - 1, -1, -1):
        s = 0.0
        for k in range(middle[i], indptr[i + 1]):
            s += rates[k] * w[indices[k]]
        w[i] = t[i] + s / out[i]


@njit(cache=True)
def swept(indptr, middle, indices, rates, out, t, w, y):
    """Fill ``y`` (n,): the equations between a backward and a forward sweep, applied to ``t``.

    Every rate is read once (Eisenstat 1981); ``w`` (n,) is room to work in.
    """
    backward(indptr, middle, indices, rates, out, t, w)
    for i in range(out.shape[0]):
        s = 0.0
        for k in range(indptr[i], middle[i]):
            s += rates[k] * y[indices[k]]
        y[i] = t[i] - w[i] + s / out[i]
    for i in range(out.shape[0]):
        y[i] += w[i]


@njit(cache=True)
def residual(indptr, indices, rates, out, right, x):
    """Return sum of |in - out|, sum of the flows, and the largest |in - out| / out of a row."""
    off, flow, worst = 0.0, 0.0, 0.0
    for i in range(out.shape[0]):
        s = right[i]
        for k in range(indptr[i], indptr[i + 1]):
            s += rates[k] * x[indices[k]]
        left = out[i] * x[i]
        off += abs(s - left)
        flow += left
        if left > 1e-290:
            worst = max(worst, abs(s - left) / left)
    return off, flow, worst


@njit(cache=True)
def level_flows(indptr, indices, rates, levels, x, up, down):
    """Add up the flows between neighbouring levels; return a state reached from farther, or -1.

    Row i of the rates holds what flows *into* state i; ``up[k]`` is the flow from level k to
    k + 1 and ``down[k]`` the flow back, (number of levels - 1,).
    """
    for i in range(levels.shape[0]):
        here = levels[i]
        for k in range(indptr[i], indptr[i + 1]):
            there = levels[indices[k]]
            if there == here:
                continue
            flow = rates[k] * x[indices[k]]
            if there == here - 1:
                up[there] += flow
            elif there == here + 1:
                down[here] += flow
            else:
                return i
    return -1


@njit(cache=True)
def reach(indptr, indices, seen, stack):
    """Mark in ``seen`` (n,) all that ``stack[:count]``, the marked ones, lead to."""
    count = 0
    for i in range(seen.shape[0]):
        if seen[i]:
            stack[count] = i
            count += 1
    while count > 0:
        count -= 1
        i = stack[count]
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            if not seen[j]:
                seen[j] = True
                stack[count] = j
                count += 1


@njit(cache=True)
def distances(indptr, indices, start, level, queue):
    """Fill ``level`` (n,), all -1, with the number of steps from ``start``."""
    level[start] = 0
    queue[0] = start
    first, last = 0, 1
    while first < last:
        i = queue[first]
        first += 1
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            if level[j] < 0:
                level[j] = level[i] + 1
                queue[last] = j
                last += 1


@njit(cache=True)
def add_product(left, indptr, indices, data, rows, total):
    """Add ``left @ right`` to the ``rows`` of ``total``; ``right`` is sparse, by rows."""
    for i in range(left.shape[0]):
        row = rows[i]
        for k in range(left.shape[1]):
            share = left[i, k]
            for e in range(indptr[k], indptr[k + 1]):
                total[row, indices[e]] += share * data[e]
