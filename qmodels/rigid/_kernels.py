"""Compiled sweeps over the rates of a chain."""

from __future__ import annotations

from numba import njit

from phasefit.compiled import COMPILED


@njit(**COMPILED)
def sweep(starts, others, rates, out, given, x, sweeps):
    """Repeat ``x[s] = (given[s] + sum of rates x of others) / out[s]``, to and fro; return the last change.

    Gauss-Seidel. The change is that of the last sweep, as a part of the largest entry.
    """
    change, largest = 0.0, 0.0
    for turn in range(sweeps):
        change = largest = 0.0
        for k in range(x.size):
            s = k if turn % 2 == 0 else x.size - 1 - k
            total = given[s]
            for at in range(starts[s], starts[s + 1]):
                total += rates[at] * x[others[at]]
            total /= out[s]
            change = max(change, abs(total - x[s]))
            largest = max(largest, abs(total))
            x[s] = total
    return change / largest if largest > 0.0 else 0.0
