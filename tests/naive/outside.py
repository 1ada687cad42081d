"""Programs whose laws are not those of the library, and how their runs are chosen and measured.

Written down before any of them was fitted. `FAMILIES` is the list, a sentence each: a family is a
function of a random generator that returns bursts by kind, seconds on p processors and d disks.
Nothing here imports the library of terms. Each family makes one burst strange and gives the other
a plain law, as programs have: a + b/p of computation, or a + w/min(d, p/r) of I/O.
"""

from __future__ import annotations

import math
from copy import copy

import numpy as np
import pandas as pd

from qmodels.io.runs import COLUMNS, RunTable

FAMILIES = {}

#: Runs of a table, and relative noise of a run, over which coverage is reported.
RUNS = (5, 7, 9, 20)
NOISES = (0.02, 0.05, 0.10, 0.15)

#: How a run differs from the truth: by burst, by run, by node (the slowest counts), with outliers,
#: with a slow first run, or by all of the first two.
DISTURBANCES = ("by burst", "by run", "by node", "outliers", "warm-up", "both")


def family(make):
    """Enter a family; its docstring says what it is."""
    FAMILIES[make.__name__.replace("_", " ")] = make
    return make


def _plain_cpu(rng):
    b, a = 10 ** rng.uniform(1.5, 3), 10 ** rng.uniform(-4, -1)
    return lambda p, d: b * (a + 1 / p)


def _plain_io(rng):
    w, a, r = 10 ** rng.uniform(1, 2.5), 10 ** rng.uniform(-3, -1), 2 ** rng.uniform(-1, 3)
    return lambda p, d: w * (a + 1 / np.minimum(d, p / r))


def _with_io(rng, cpu):
    return {"io": _plain_io(rng), "cpu": cpu}


def _with_cpu(rng, io):
    return {"io": io, "cpu": _plain_cpu(rng)}


@family
def contention_beyond_proportion(rng):
    """Each processor waits for the others more than in proportion: b/p (1 + c (p-1)^1.5)."""
    b, c = 10 ** rng.uniform(1.5, 3), 10 ** rng.uniform(-4, -2.3)
    return _with_io(rng, lambda p, d: b / p * (1 + c * (p - 1) ** 1.5))


@family
def coherence_by_tree(rng):
    """Copies are kept equal along a tree: b/p (1 + c p log2 p / 4)."""
    b, c = 10 ** rng.uniform(1.5, 3), 10 ** rng.uniform(-4, -2)
    return _with_io(rng, lambda p, d: b / p * (1 + c * p * np.log2(p) / 4))


@family
def NUMA_cliff(rng):
    """Beyond the cores of one socket all memory is further away."""
    b, a = 10 ** rng.uniform(1.5, 3), 10 ** rng.uniform(-3, -1.5)
    socket, slower = 2 ** rng.integers(2, 6), rng.uniform(1.15, 1.7)
    return _with_io(rng, lambda p, d: b * (a + 1 / p) * np.where(p > socket, slower, 1.0))


@family
def cache_drop(rng):
    """Each part of the data fits into a cache from so many processors on."""
    b, a = 10 ** rng.uniform(1.5, 3), 10 ** rng.uniform(-3.5, -2)
    at, gain, sharp = 2 ** rng.uniform(1, 5), rng.uniform(1.2, 2.0), rng.uniform(1, 6)
    return _with_io(rng, lambda p, d: b * (a + 1 / p) / (1 + (gain - 1) / (1 + (at / p) ** sharp)))


@family
def divisibility(rng):
    """Equal blocks that are not cut: b ceil(n/p) / n."""
    b, n = 10 ** rng.uniform(1.5, 3), int(2 ** rng.uniform(5, 9))
    return _with_io(rng, lambda p, d: b * np.ceil(n / p) / n)


@family
def log_tree_with_steps(rng):
    """Collectives along a tree of whole levels, whose messages shrink: ceil(log2 p) (c + e/p)."""
    b, c, e = 10 ** rng.uniform(1.5, 3), 10 ** rng.uniform(-3, -1), 10 ** rng.uniform(-2.5, -1)
    return _with_io(rng, lambda p, d: b * (1 / p + np.ceil(np.log2(p)) * (c / 10 + e / p)))


@family
def halo_exchange(rng):
    """Surfaces of cubes: b/p + c p^(-2/3) + latency of six neighbours once p > 1."""
    b, c, f = 10 ** rng.uniform(1.5, 3), rng.uniform(0.05, 0.5), 10 ** rng.uniform(-4, -2.5)
    return _with_io(rng, lambda p, d: b * (1 / p + (c * p ** (-2 / 3) + f) * np.where(p > 1, 1.0, 0.0)))


@family
def two_dimensional_blocks(rng):
    """The nearest divisors a x b of p: b/p + c (a + b)/p, bad for primes."""
    b, c = 10 ** rng.uniform(1.5, 3), rng.uniform(0.03, 0.25)

    def sides(p):
        return np.array(
            [next(k for k in range(math.isqrt(int(n)), 0, -1) if n % k == 0) for n in np.ravel(p)]
        ).reshape(np.shape(p))

    return _with_io(rng, lambda p, d: b * (1 + c * (sides(p) + p / sides(p) - 2)) / p)


@family
def superlinear_power(rng):
    """Faster than in proportion throughout: b p^-1.05 .. p^-1.25."""
    b, a, e = 10 ** rng.uniform(1.5, 3), 10 ** rng.uniform(-4, -2.5), rng.uniform(1.05, 1.25)
    return _with_io(rng, lambda p, d: b * (a + p**-e))


@family
def Amdahl_with_growing_serial_part(rng):
    """What is not parallel grows slowly: b/p + s p^(.2 .. .45)."""
    b, s, e = 10 ** rng.uniform(1.5, 3), 10 ** rng.uniform(-3, -1.5), rng.uniform(0.2, 0.45)
    return _with_io(rng, lambda p, d: b * (1 / p + s * p**e))


@family
def best_of_two_algorithms(rng):
    """The program takes the faster of two methods: min(b/p + a, c p^-.5)."""
    b, a = 10 ** rng.uniform(1.5, 3), 10 ** rng.uniform(-2.5, -1)
    at = 2 ** rng.uniform(1, 6)
    return _with_io(rng, lambda p, d: b * np.minimum(1 / p + a, (at**-0.5 + a * at**0.5) * p**-0.5))


@family
def memory_bandwidth_of_nodes(rng):
    """Nodes of 16 or 32 cores whose memory feeds only some of them at full speed."""
    b, a = 10 ** rng.uniform(1.5, 3), 10 ** rng.uniform(-4, -2)
    node, fed, bound = 2 ** rng.integers(4, 6), rng.uniform(4, 12), rng.uniform(0.2, 0.9)

    def cpu(p, d):
        nodes = np.ceil(p / node)
        return b * (a + (1 - bound) / p + bound * np.maximum(1 / p, 1 / (nodes * fed)))

    return _with_io(rng, cpu)


@family
def shallow_powers(rng):
    """Computation as p^-(.55 .. .95), I/O as p^-x d^-y: products of powers."""
    b, e = 10 ** rng.uniform(1.5, 3), rng.uniform(0.55, 0.95)
    w, x, y = 10 ** rng.uniform(1, 2.5), rng.uniform(0.1, 0.5), rng.uniform(0.2, 0.8)
    return {"io": lambda p, d: w * p**-x * d**-y, "cpu": lambda p, d: b * p**-e}


@family
def random_load_imbalance(rng):
    """The slowest of p random parts: b/p (1 + s sqrt(2 ln p))."""
    b, a, s = 10 ** rng.uniform(1.5, 3), 10 ** rng.uniform(-4, -2), rng.uniform(0.05, 0.4)
    return _with_io(rng, lambda p, d: b * (a + (1 + s * np.sqrt(2 * np.log(p))) / p))


@family
def network_congestion(rng):
    """All send to all through links that fill: b/p + c p log2 p."""
    b, c = 10 ** rng.uniform(1.5, 3), 10 ** rng.uniform(-5.5, -3.5)
    return _with_io(rng, lambda p, d: b * (1 / p + c * p * np.log2(p)))


@family
def IO_interference(rng):
    """Streams that meet at a disk break each other's order: w/d (1 + c (p/d)^.7)."""
    w, c = 10 ** rng.uniform(1, 2.5), 10 ** rng.uniform(-2, -0.7)
    return _with_cpu(rng, lambda p, d: w / d * (1 + c * (p / d) ** 0.7))


@family
def disks_fed_in_whole_numbers(rng):
    """Aggregators, one for r processors, each at one disk: w / min(d, ceil(p/r)), up to a limit."""
    w, r, most = 10 ** rng.uniform(1, 2.5), rng.integers(2, 13), 2 ** rng.uniform(2, 6)
    return _with_cpu(rng, lambda p, d: w / np.minimum(np.minimum(d, np.ceil(p / r)), most))


@family
def a_saturating_link_to_the_disks(rng):
    """Disks, clients and one link in turn limit smoothly: (x^3 + y^3 + z^3)^(1/3)."""
    w, r, most = 10 ** rng.uniform(1, 2.5), 2 ** rng.uniform(-1, 3), 2 ** rng.uniform(2, 5)
    return _with_cpu(rng, lambda p, d: w * (d**-3.0 + (r / p) ** 3 + most**-3.0 + 0 * p) ** (1 / 3))


@family
def a_file_for_each_process(rng):
    """Creating files is serial at one server: w/min(d, 8)^.7 + c p."""
    w, c = 10 ** rng.uniform(1, 2.5), 10 ** rng.uniform(-4, -2.3)
    return _with_cpu(rng, lambda p, d: w * (np.minimum(d, 8.0) ** -0.7 + c * p))


@family
def locks_of_a_shared_file(rng):
    """Stripes change hands: w/d + c sqrt(p) / d^.3."""
    w, c = 10 ** rng.uniform(1, 2.5), 10 ** rng.uniform(-2.5, -1)
    return _with_cpu(rng, lambda p, d: w * (1 / d + c * np.sqrt(p) * d**-0.3))


@family
def heterogeneous_nodes(rng):
    """The first so many processors are faster than all that come after them."""
    b, a = 10 ** rng.uniform(1.5, 3), 10 ** rng.uniform(-4, -2)
    first, slower = 2 ** rng.integers(2, 6), rng.uniform(0.4, 0.85)

    def cpu(p, d):
        speed = np.minimum(p, first) + slower * np.maximum(p - first, 0)
        return b * (a + 1 / speed)

    return _with_io(rng, cpu)


@family
def clock_falls_with_busy_cores(rng):
    """Turbo: a node's cores are slower the more of them work, up to 16."""
    b, a, fall = 10 ** rng.uniform(1.5, 3), 10 ** rng.uniform(-4, -2), rng.uniform(0.1, 0.4)
    return _with_io(rng, lambda p, d: b * (a + 1 / p) * (1 + fall * np.minimum(p, 16) / 16))


@family
def start_of_processes(rng):
    """Starting takes longer with more of them: b/p + c p^.7, and reads the program from disk."""
    b, c = 10 ** rng.uniform(1.5, 3), 10 ** rng.uniform(-4, -2.3)
    w, e = 10 ** rng.uniform(1, 2.5), 10 ** rng.uniform(-3, -1.5)
    return {
        "io": lambda p, d: w * (1 / np.minimum(d, p) + e * np.log2(1 + p) / d),
        "cpu": lambda p, d: b * (1 / p + c * p**0.7),
    }


@family
def strong_then_flat(rng):
    """A smooth end of scaling: b ((1/p)^2 + (1/most)^2)^.5, and disks likewise."""
    b, most = 10 ** rng.uniform(1.5, 3), 2 ** rng.uniform(3, 8)
    w, some = 10 ** rng.uniform(1, 2.5), 2 ** rng.uniform(1, 5)
    return {
        "io": lambda p, d: w * np.sqrt(d**-2.0 + some**-2.0 + 0 * p),
        "cpu": lambda p, d: b * np.sqrt(p**-2.0 + most**-2.0),
    }


def chosen(rng, runs, *, odd=False):
    """Allotments that somebody might have run: both ends of p and of d, and others between.

    `odd` takes any whole numbers of processors instead of powers of two. Of 20 runs half are
    repeats of ten allotments, every second time.
    """
    most_p, most_d = 2 ** int(rng.integers(3, 6)), 2 ** int(rng.integers(1, 4))
    ps = 2 ** np.arange(int(math.log2(most_p)) + 1)
    if odd:
        inner = rng.choice(np.arange(2, most_p), size=min(5, most_p - 2), replace=False)
        ps = np.unique([1, *inner, most_p])
    ds = 2 ** np.arange(int(math.log2(most_d)) + 1)
    repeats = 2 if runs == 20 and rng.random() < 0.5 else 1
    cells = [(p, d) for p in ps.tolist() for d in ds.tolist()]
    need = min(runs // repeats, len(cells))
    corners = [(most_p, most_d), (1, 1), (most_p, 1)]
    while True:
        others = [cell for cell in cells if cell not in corners]
        picked = rng.choice(len(others), size=need - len(corners), replace=False)
        found = corners + [others[i] for i in picked]
        if len({p for p, _ in found}) >= 3 and len({d for _, d in found}) >= 2:
            break
    found = found * repeats
    while len(found) < runs:  # a small grid: the rest are repeats
        found.append(found[int(rng.integers(need))])
    return found[:runs]


def target(rng, cells):
    """Four or eight times as many processors as were run, and one to eight times the disks."""
    most_p, most_d = np.max(cells, axis=0)
    return int(most_p * rng.choice([4, 8])), int(most_d * rng.choice([1, 2, 4, 8]))


def disturbed(rng, seconds, cells, noise, how):
    """Measured times (bursts, runs) of true ones."""
    bursts, runs = seconds.shape
    z = rng.standard_normal((bursts, runs))
    if how == "by run":
        z = np.repeat(rng.standard_normal((1, runs)), bursts, axis=0)
    elif how == "both":
        z = (z + rng.standard_normal((1, runs))) / math.sqrt(2)
    elif how == "by node":
        # The slowest of up to 16 nodes, and what a run has by itself.
        nodes = np.array([min(16, math.ceil(p / 8)) for p, _ in cells])
        slow = np.array([rng.standard_normal(n).max() for n in nodes])
        z = 0.5 * z + math.sqrt(0.75) * slow
    factor = np.exp(noise * z)
    if how == "outliers":
        hit = rng.random(runs) < 0.05
        factor = factor * np.where(hit, rng.choice([1.3, 1.6, 2.0], runs), 1.0)
    if how == "warm-up" and runs > 1:
        factor[:, 0] *= 1.0 + 3 * noise
    return seconds * factor


def times_of(truth, cells):
    """Seconds (bursts, allotments) of a truth."""
    p, d = np.array(cells, dtype=float).T
    return np.array([np.asarray(time(p, d), dtype=float) + 0 * p for time in truth.values()])


def table(truth, cells, seconds):
    """A table of runs of measured times (bursts, runs)."""
    seen: dict[tuple[int, int], int] = {}
    rows = []
    for place, cell in enumerate(cells):
        seen[cell] = seen.get(cell, 0) + 1
        rows += [
            ("truth", 1, kind, int(cell[0]), int(cell[1]), float(seconds[k, place]), seen[cell])
            for k, kind in enumerate(truth)
        ]
    return RunTable(pd.DataFrame(rows, columns=[*COLUMNS, "repeat"]))


class Case:
    """A truth of a family with its runs, and the run at the target that a forecast is held to."""

    def __init__(self, name, rng, runs, noise, how=None, departing=None):
        self.family, self.noise = name, noise
        self.truth = FAMILIES[name](rng)
        self.how = rng.choice(DISTURBANCES) if how is None else how
        self.cells = chosen(rng, runs, odd=name == "two dimensional blocks" or rng.random() < 0.2)
        if departing is not None:
            self.truth = departing(self.truth, self.cells, rng)
        self.target = target(rng, self.cells)
        self.seconds = disturbed(rng, times_of(self.truth, self.cells), self.cells, noise, self.how)
        self.runs = table(self.truth, self.cells, self.seconds)
        exact = times_of(self.truth, [self.target])
        self.exact = float(exact.sum())
        self.seen = float(disturbed(rng, exact, [self.target], noise, self.how).sum())

    def with_run(self, cell, rng):
        """Return the same case with one more run; the run at its target is the same."""
        more = copy(self)
        cell = (int(cell[0]), int(cell[1]))
        # The first run of a table is the slow one where there is a warm-up, so this is not.
        how = "by run" if self.how == "warm-up" else self.how
        seconds = disturbed(rng, times_of(self.truth, [cell]), [cell], self.noise, how)
        more.cells = [*self.cells, cell]
        more.seconds = np.concatenate([self.seconds, seconds], axis=1)
        more.runs = table(self.truth, more.cells, more.seconds)
        return more
