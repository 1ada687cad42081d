"""One EM step by the textbook: loops over single times, integrals by quadrature."""

from __future__ import annotations

from math import exp, factorial, log

import numpy as np
from scipy.linalg import expm


def _nodes(lo, hi):
    points, weights = np.polynomial.legendre.leggauss(60)
    half = (hi - lo) / 2
    return zip(lo + half * (points + 1), half * weights, strict=True)


def _erlang(r, mean, x):
    rate = r / mean
    return rate**r * x ** (r - 1) / factorial(r - 1) * exp(-rate * x)


def hyper_erlang_step(phases, weights, means, times, intervals):
    """New weights and means, and the log-likelihood of the old ones.

    times: pairs (time, weight); intervals: triples (lower, finite upper, weight).
    """
    branches = range(len(phases))
    count, total, likelihood = [0.0 for _ in branches], [0.0 for _ in branches], 0.0
    for x, w in times:
        parts = [weights[i] * _erlang(phases[i], means[i], x) for i in branches]
        likelihood += w * log(sum(parts))
        for i in branches:
            count[i] += w * parts[i] / sum(parts)
            total[i] += w * parts[i] / sum(parts) * x
    for lo, hi, w in intervals:
        zeroth, first = [0.0 for _ in branches], [0.0 for _ in branches]
        for x, dx in _nodes(lo, hi):
            for i in branches:
                zeroth[i] += weights[i] * _erlang(phases[i], means[i], x) * dx
                first[i] += weights[i] * _erlang(phases[i], means[i], x) * x * dx
        likelihood += w * log(sum(zeroth))
        for i in branches:
            count[i] += w * zeroth[i] / sum(zeroth)
            total[i] += w * first[i] / sum(zeroth)
    size = sum(count)
    new = [c / size for c in count], [t / c for t, c in zip(total, count, strict=True)]
    return (*new, likelihood)


def phase_type_step(alpha, jumps, exits, times, alive, intervals):
    """New alpha, jumps and exits, and the log-likelihood of the old ones.

    times and alive: pairs (time, weight); intervals: triples (lower, finite upper, weight). The
    integral over the past of a time is a corner of the exponential of a matrix twice as large.
    """
    n = len(alpha)
    T = jumps - np.diag(jumps.sum(axis=1) + exits)

    def past(x, last):
        block = np.zeros((2 * n, 2 * n))
        block[:n, :n], block[n:, n:] = T, T
        block[:n, n:] = np.outer(last, alpha)
        whole = expm(block * x)
        return whole[:n, n:], whole[:n, :n] @ last, alpha @ whole[:n, :n]

    begun, met, ended, likelihood = np.zeros(n), np.zeros((n, n)), np.zeros(n), 0.0
    cases = [([(x, 1.0)], exits, w) for x, w in times]
    cases += [([(x, 1.0)], np.ones(n), w) for x, w in alive]
    cases += [(list(_nodes(lo, hi)), exits, w) for lo, hi, w in intervals]
    for nodes, last, w in cases:
        chance, met_here, begun_here, ended_here = 0.0, 0.0, 0.0, 0.0
        for x, dx in nodes:
            between, ahead, now = past(x, last)
            chance += dx * float(alpha @ ahead)
            met_here = met_here + dx * between
            begun_here = begun_here + dx * alpha * ahead
            if last is exits:
                ended_here = ended_here + dx * now * exits
        likelihood += w * log(chance)
        begun = begun + w / chance * begun_here
        met = met + w / chance * met_here
        ended = ended + w / chance * ended_here
    spent = np.diag(met)
    return (
        begun / begun.sum(),
        jumps * met.T / spent[:, None],
        ended / spent,
        likelihood,
    )


def plain_hyper_erlang(x, phases, means, steps):
    """Log-likelihood after so many plain steps of EM, on every sample."""
    r = np.array(phases, dtype=float)
    a = np.full(r.size, 1.0 / r.size)
    factorials = np.array([sum(log(k) for k in range(1, p)) for p in phases])
    for _ in range(steps):
        level = (
            np.log(np.maximum(a, 1e-300))
            + r * np.log(r / means)
            - factorials
            + (r - 1.0) * np.log(x)[:, None]
            - r / means * x[:, None]
        )
        top = level.max(axis=1)
        part = np.exp(level - top[:, None])
        value = float((top + np.log(part.sum(axis=1))).sum())
        part /= part.sum(axis=1)[:, None]
        count = part.sum(axis=0)
        a, means = count / x.size, np.maximum(part.T @ x / np.maximum(count, 1e-290), 1e-9)
    return value
