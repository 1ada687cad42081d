"""Evidence of a scaling law by brute force, and programs of known laws that runs are made from."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from qmodels.io.runs import COLUMNS, RunTable
from qmodels.programs.scaling.terms import library

GRID = [(p, d) for p in (1, 2, 4, 8, 16) for d in (1, 2, 4, 8)]
EIGHT = [(1, 1), (1, 8), (2, 4), (4, 1), (8, 8), (16, 1), (16, 4), (16, 8)]
TARGETS = [(64, 64), (128, 32)]


def _fed(p, d):
    return 32 / np.minimum(d, p / 4)


#: The truths of the specification: bursts by kind, seconds on p processors and d disks.
SPECIFIED = {
    "task": {"io": _fed, "cpu": lambda p, d: 0.1 + 512 / p},
    "comm": {"io": _fed, "cpu": lambda p, d: 0.1 + 512 / p + np.log(p)},
    "peak": {"io": _fed, "cpu": lambda p, d: 0.1 + 512 / p + 0.05 * (p - 1)},
    "outside": {
        "io": lambda p, d: 32 / np.minimum(d, p / 3) ** 0.9,
        "cpu": lambda p, d: 512 / p**0.85,
    },
}

#: Others, none of them in the library.
FRESH = {
    "shallow and rising": {"io": _fed, "cpu": lambda p, d: 200 / p**0.6 + 0.8 * np.sqrt(p)},
    "contention and coherence": {
        "io": lambda p, d: 40 / d * (1 + 0.05 * (d - 1) + 0.01 * d * (d - 1)),
        "cpu": lambda p, d: 300 / p * (1 + 0.02 * (p - 1) + 0.0005 * p * (p - 1)),
    },
    "no scaling of the I/O": {
        "io": lambda p, d: 20.0 + 0.0 * p,
        "cpu": lambda p, d: 1 + 512 / p,
    },
    "between the steps, and a tree": {
        "io": lambda p, d: 32 / np.minimum(d, p / 3) + 0.6 * np.log2(p),
        "cpu": lambda p, d: 2 + 300 / p,
    },
    "terms too small to see": {
        "io": lambda p, d: 0.05 + 64 / d + 0.02 * (d - 1),
        "cpu": lambda p, d: 0.3 + 500 / p + 0.01 * (p - 1),
    },
    "a rounded corner": {
        "io": lambda p, d: ((32 / d) ** 3 + (128 / p) ** 3) ** (1 / 3),
        "cpu": lambda p, d: 400 / p + 3 * p**0.33,
    },
    "processors only": {
        "io": lambda p, d: 5 + 50 / p,
        "cpu": lambda p, d: 100 / p**0.7,
    },
}


def total(truth, p, d):
    """Seconds of a whole program."""
    p, d = np.asarray(p, dtype=float), np.asarray(d, dtype=float)
    return sum(time(p, d) for time in truth.values()) + 0.0 * p * d


def random_truth(rng):
    """One to three terms of the library a burst, with shares from dominant to tiny.

    A share is what a term takes of each measured time, averaged over the grid: before they are
    made to add up to one they are log-uniform from 2 % on and about uniform below.
    """
    values = {kind: library(kind).values(*np.array(GRID, dtype=float).T) for kind in ("io", "cpu")}
    truth = {}
    for kind in ("io", "cpu"):
        families = sorted({term.family for term in library(kind).terms})
        while True:
            chosen = rng.choice(families, size=rng.integers(1, 4), replace=False)
            members = [
                rng.choice([j for j, t in enumerate(library(kind).terms) if t.family == family])
                for family in chosen
            ]
            shares = 0.02 * (51.0 ** rng.random(len(members)) - 1.0)
            columns = values[kind][members]
            coefficients = _with_shares(columns, shares / shares.sum())
            if coefficients is not None:
                break
        typical = np.exp(np.mean(np.log(coefficients @ columns)))
        truth[kind] = _terms(kind, members, 10 * math.exp(rng.uniform(-1.6, 1.6)) / typical * coefficients)
    return truth


def _with_shares(columns, shares):
    """Coefficients that give each term its share of every time, on average; None if none do."""
    coefficients = shares / columns.mean(axis=1)
    for _ in range(60):
        times = coefficients @ columns
        if times.min() <= 1e-6 * times.max():  # a share that growth cannot have from p = 1 on
            return None
        parts = coefficients[:, None] * columns / times
        coefficients = coefficients * (shares / parts.mean(axis=1)) ** 0.7
    return coefficients


def _terms(kind, members, coefficients):
    def time(p, d):
        p, d = np.broadcast_arrays(np.asarray(p, dtype=float), np.asarray(d, dtype=float))
        values = library(kind).values(p.ravel(), d.ravel())[members]
        return (coefficients @ values).reshape(p.shape)

    return time


def measured(truth, grid=GRID, *, repeats=2, noise=0.05, rng=None, how="alone", phases=1):
    """Make runs of a truth: noise of each burst alone, common to a run, or with outliers."""
    cells = np.repeat(np.array(grid, dtype=float), repeats, axis=0)
    numbers = np.tile(np.arange(1, repeats + 1), len(grid))
    rows = []
    common = rng.standard_normal(len(cells)) if rng is not None else None
    for phase in range(1, phases + 1):
        for kind, time in truth.items():
            seconds = np.asarray(time(*cells.T), dtype=float) + 0.0 * cells[:, 0]
            if rng is not None:
                z = common if how == "by run" else rng.standard_normal(len(cells))
                seconds = seconds * np.exp(noise * z)
            if how == "outliers":
                factor = rng.choice([1.5, 2.0, 3.0], len(cells))
                seconds = np.where(rng.random(len(cells)) < 0.05, seconds * factor, seconds)
            rows += [
                ("truth", phase, kind, int(p), int(d), float(y), int(k))
                for (p, d), y, k in zip(cells, seconds, numbers, strict=True)
            ]
    return RunTable(pd.DataFrame(rows, columns=[*COLUMNS, "repeat"]))


def log_evidence(columns, scale, log_time, count, within, sigma, *, points=400, width=9.0):
    """Log of the integral over positive shares of likelihood times prior, on a dense grid.

    columns (k, n) of one or two terms; no linearisation: the likelihood is that of log time.
    """
    from scipy.optimize import nnls

    x = columns / scale[:, None]
    y = np.exp(log_time)
    weights = np.sqrt(count) / y
    centre = nnls((x * weights).T, y * weights)[0]
    spread = sigma * np.sqrt(np.diag(np.linalg.inv((x * weights**2) @ x.T * 1.0)))
    axes = []
    for c, s in zip(centre, spread, strict=True):
        low, high = max(c - width * s, 0.0), c + width * s
        axes.append(low + (np.arange(points) + 0.5) / points * (high - low))
    steps = [axis[1] - axis[0] for axis in axes]
    shares = np.stack([a.ravel() for a in np.meshgrid(*axes, indexing="ij")])
    runs = count.sum()
    misfit = np.sum(count[:, None] * (log_time[:, None] - np.log(x.T @ shares)) ** 2, axis=0)
    log_likelihood = -(misfit + within) / (2 * sigma**2) - runs * math.log(sigma)
    log_prior = -np.sum(np.log(math.log(51.0) * (shares + 0.02)), axis=0)
    return float(np.logaddexp.reduce(log_likelihood + log_prior) + sum(math.log(s) for s in steps))
