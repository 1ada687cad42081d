"""States of a closed network of two centres, and its rates put together from theirs.

A centre is a chain of its own: how its jobs move while their number stays, where a departure
leads, where an arrival does. The rates of the network are sums and products of these small
tables, so one assembly serves every queue discipline, and the tagged job as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_diag, coo_array, csc_array, csr_array, eye_array, kron

from phasefit import PhaseType
from phasefit.absorption import reached
from phasefit.arrays import Array, Ints
from qmodels.networks import _kernels

#: Entries of a product from which on it is filled block by block.
_MANY = 100_000


@dataclass(frozen=True, eq=False)
class Centre:
    """A centre with 0, 1, ..., N jobs; its states are numbered level by level."""

    starts: Ints  #: first state of each level, and the number of states, (N + 2,)
    local: csr_array  #: rates between states of a level, (n, n)
    leave: csr_array  #: rates to the level below, (n, n)
    enter: csr_array  #: where an arrival leads, probabilities, (n, n)
    ends: Array | None = None  #: rate at which a tagged job's stay ends, (n,)

    def size(self, level: int) -> int:
        """Return the number of states of a level.

        Parameters
        ----------
        level : int
            Number of jobs.
        """
        return int(self.starts[level + 1] - self.starts[level])

    def slice(self, level: int) -> slice:
        """Return the numbers of the states of a level.

        Parameters
        ----------
        level : int
            Number of jobs.
        """
        return slice(int(self.starts[level]), int(self.starts[level + 1]))


@dataclass(frozen=True, eq=False)
class NetworkChain:
    """Rates of a network; its states are numbered by level, the number of jobs at the disk."""

    disk: Centre  #: first centre
    delay: Centre  #: second centre
    jobs: int  #: number of jobs
    base: Ints  #: first state of each level, and the number of states, (jobs + 2,)

    @cached_property
    def rates(self) -> csr_array:
        """Rates by the state that they leave, (n, n)."""
        return _assembled_rates(self.disk, self.delay, self.jobs, self.base)

    def rates_by_target(self) -> csc_array:
        """Return the same rates, stored by the state that they lead to; not kept.

        Backwards in time a job that leaves a centre enters it, so that the same assembly makes
        them, without a copy of the rates in the other order.
        """
        disk, delay = _reversed_centre(self.disk), _reversed_centre(self.delay)
        return _assembled_rates(disk, delay, self.jobs, self.base).T

    @property
    def states(self) -> int:
        """Number of states."""
        return int(self.base[-1])

    @property
    def levels(self) -> Ints:
        """Level of each state, (n,)."""
        return np.repeat(np.arange(self.jobs + 1), np.diff(self.base))

    def level(self, vector: Array, i: int) -> Array:
        """Return the part of a vector that belongs to a level, (disk states, delay states).

        Parameters
        ----------
        vector : (n,) ndarray
            A value for each state.
        i : int
            Number of jobs at the disk.
        """
        shape = self.disk.size(i), self.delay.size(self.jobs - i)
        return vector[self.base[i] : self.base[i + 1]].reshape(shape)

    @property
    def ends(self) -> Array:
        """Rate at which a tagged job's stay ends, (n,)."""
        assert self.disk.ends is not None
        parts = [
            np.repeat(self.disk.ends[self.disk.slice(i)], self.delay.size(self.jobs - i))
            for i in range(self.jobs + 1)
        ]
        return np.concatenate(parts)


def essential(law: PhaseType) -> PhaseType:
    """Return the same law without phases never reached, and in one phase where it is exponential.

    Parameters
    ----------
    law : PhaseType
        Any law.
    """
    kept = np.flatnonzero(reached(law.jumps, law.alpha > 0.0))
    exits = law.exit[kept]
    if exits.min() == exits.max():  # the chance to end is the same whatever the phase
        plain = PhaseType.from_rates([1.0], [[0.0]], exits[:1])
    elif kept.size < law.order:
        plain = PhaseType.from_rates(law.alpha[kept], law.jumps[np.ix_(kept, kept)], exits)
    else:
        return law
    return plain._with_origin(law.fitted_to)


@dataclass(frozen=True, eq=False)
class Occupancies:
    """All ways to place 0..N jobs in m stages, and their neighbours."""

    starts: Ints  #: (N + 2,)
    counts: NDArray[np.int32]  #: jobs in each stage, (n, m)
    more: Ints  #: the occupancy with one more job in the stage, -1 if there is none, (n, m)
    fewer: Ints  #: the one with one job fewer, -1 if there is none, (n, m)

    @classmethod
    def of(cls, jobs: int, stages: int) -> Occupancies:
        """Enumerate the ways to place jobs in stages.

        Parameters
        ----------
        jobs : int
            Largest number of jobs.
        stages : int
            Number of stages.

        Returns
        -------
        Occupancies
            All of them, by the number of jobs.
        """
        binomial = _binomials(jobs + stages, stages)
        sizes = binomial[stages - 1 : stages + jobs, stages - 1]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        counts = np.empty((starts[-1], stages), dtype=np.int32)
        more = np.empty((starts[-1], stages), dtype=np.int64)
        _kernels.occupancies(jobs, binomial, starts, counts, more)
        fewer = np.full_like(more, -1)
        for a in range(stages):
            inside = np.flatnonzero(more[:, a] >= 0)
            fewer[more[inside, a], a] = inside
        return cls(starts, counts, more, fewer)


def _binomials(most: int, below: int) -> NDArray[np.int64]:
    """Binomial coefficients, (n, k) for n = 0..most and k < below, by Pascal's rule, up to 2^62."""
    table = np.zeros((most + 1, below), dtype=np.uint64)
    table[:, 0] = 1
    for n in range(1, most + 1):  # two of at most 2^62 do not overflow
        table[n, 1:] = np.minimum(table[n - 1, 1:] + table[n - 1, :-1], 2**62)
    return table.astype(np.int64)


def sharing_centre(law: PhaseType, jobs: int, speeds: Array) -> Centre:
    """Return the centre in which all jobs present are served, each at ``speeds[k]`` while there are k.

    Parameters
    ----------
    law : PhaseType
        Of the service, seconds at speed one.
    jobs : int
        Largest number of jobs.
    speeds : (jobs + 1,) ndarray
        Speed of each job while there are k.
    """
    ways, m = Occupancies.of(jobs, law.order), law.order
    speed = np.broadcast_to(np.repeat(speeds, np.diff(ways.starts))[:, None], (int(ways.starts[-1]), m))
    alpha, exits = (np.broadcast_to(x, (jobs + 1, m)) for x in (law.alpha, law.exit))
    return staged_centre(ways, alpha, np.broadcast_to(law.jumps, (jobs + 1, m, m)), exits, speed)


def staged_centre(ways: Occupancies, alpha: Array, jumps: Array, exits: Array, speeds: Array) -> Centre:
    """Return the centre of 0..c jobs that are counted by their stage, of m stages.

    Parameters
    ----------
    ways : Occupancies
        The counts, numbered by the jobs there.
    alpha : (c + 1, m) ndarray
        Where a job begins that is the k-th there.
    jumps : (c + 1, m, m) ndarray
        Rates from stage to stage while k are there.
    exits : (c + 1, m) ndarray
        Rates of ends while k are there.
    speeds : (states, m) ndarray
        What the rates of a job in each stage are multiplied with.
    """
    local, leave, enter = Entries(), Entries(), Entries()
    jobs = np.repeat(np.arange(ways.starts.size - 1), np.diff(ways.starts))
    for a in range(alpha.shape[1]):
        here = np.flatnonzero(ways.counts[:, a])
        k, without = jobs[here], ways.fewer[here, a]
        served = ways.counts[here, a] * speeds[here, a]
        for b in np.flatnonzero(jumps[:, a].max(axis=0)).tolist():
            if b != a:
                local.add(here, ways.more[without, b], served * jumps[k, a, b])
        if exits[:, a].max() > 0.0:
            leave.add(here, without, served * exits[k, a])
        if alpha[:, a].max() > 0.0:
            room = np.flatnonzero(ways.more[:, a] >= 0)
            enter.add(room, ways.more[room, a], alpha[jobs[room] + 1, a])
    n = int(ways.starts[-1])
    return Centre(ways.starts, local.matrix(n), leave.matrix(n), enter.matrix(n))


def waiting_centre(law: PhaseType, jobs: int, servers: int, speeds: Array | None = None) -> Centre:
    """Return the centre in which at most `servers` jobs are served and the others wait.

    A job that waits has no stage yet.

    Parameters
    ----------
    law : PhaseType
        Of the service, seconds at speed one.
    jobs : int
        Largest number of jobs.
    servers : int
        Jobs served at once.
    speeds : (servers + 1,) ndarray, optional
        Speed of each job while k are served; one by default.
    """
    busy = min(servers, jobs)
    served = sharing_centre(law, busy, np.ones(busy + 1) if speeds is None else speeds)
    queues = jobs - busy
    if queues == 0:
        return served
    full = served.slice(busy)
    below, width, n = int(served.starts[busy]), served.size(busy), int(served.starts[-1])
    # with somebody waiting, whoever leaves is followed at once by a new start
    followed = (served.leave @ served.enter)[full, full]
    total = n + queues * width
    shape = (total, total)
    local = block_diag([served.local, kron(eye_array(queues), served.local[full, full])])
    steps = kron(eye_array(queues), followed).tocoo()
    leave = Entries.of(served.leave)
    leave.add(steps.row + n, steps.col + n - width, steps.data)
    enter = Entries.of(served.enter)
    joining = np.arange(below, total - width)
    enter.add(joining, joining + width, np.ones(joining.size))
    starts = np.concatenate([served.starts, n + width * np.arange(1, queues + 1)])
    return Centre(
        starts.astype(np.int64),
        sorted_csr(csr_array(local, shape=shape)),
        leave.matrix(total),
        enter.matrix(total),
    )


def stack_centre(law: PhaseType, jobs: int) -> Centre:
    """Return the centre in which the last job to arrive is served.

    Those it interrupted remember their stages.

    Parameters
    ----------
    law : PhaseType
        Of the service, seconds.
    jobs : int
        Largest number of jobs.
    """
    m = law.order
    starts = np.concatenate([[0], np.cumsum([m**k for k in range(jobs + 1)])]).astype(np.int64)
    n = int(starts[-1])
    level = np.repeat(np.arange(jobs + 1), np.diff(starts))
    inside = np.arange(n) - starts[level]  # stages as digits, that of the last arrival at the end
    local, leave, enter = Entries(), Entries(), Entries()
    busy, room = np.flatnonzero(level > 0), np.flatnonzero(level < jobs)
    top, under = inside[busy] % m, inside[busy] // m
    for b in range(m):
        local.add(busy, busy - top + b, law.jumps[top, b])
        above = starts[level[room] + 1] + inside[room] * m + b
        enter.add(room, above, np.full(room.size, law.alpha[b]))
    leave.add(busy, starts[level[busy] - 1] + under, law.exit[top])
    return Centre(starts, local.matrix(n), leave.matrix(n), enter.matrix(n))


def assembled(disk: Centre, delay: Centre, jobs: int) -> NetworkChain:
    """Return the chain of the network in which jobs move between two centres.

    Parameters
    ----------
    disk, delay : Centre
        The centres.
    jobs : int
        Number of jobs.
    """
    sizes = np.array([disk.size(i) * delay.size(jobs - i) for i in range(jobs + 1)])
    base = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return NetworkChain(disk, delay, jobs, base)


def _reversed_centre(centre: Centre) -> Centre:
    """The centre with every move the other way round: departures have become arrivals."""
    local, leave, enter = (
        sorted_csr(csr_array(moves.T)) for moves in (centre.local, centre.enter, centre.leave)
    )
    return Centre(centre.starts, local, leave, enter)


def _assembled_rates(disk: Centre, delay: Centre, jobs: int, base: Ints) -> csr_array:
    """Rates of the network, by the state that they leave."""
    entries = sum(_rates_out(disk, i, delay, jobs - i) for i in range(jobs + 1))
    kind = np.int32 if max(entries, base[-1]) < 2**31 else np.int64
    indptr, indices = np.empty(base[-1] + 1, kind), np.empty(entries, kind)
    data = np.empty(entries)
    _kernels.assemble(
        jobs, disk.starts, delay.starts, base, _tables(disk), _tables(delay), indptr, indices, data
    )
    rates = csr_array((data, indices, indptr), shape=(base[-1], base[-1]))
    rates.has_sorted_indices = True
    return rates


def _rates_out(disk: Centre, i: int, delay: Centre, away: int) -> int:
    """Number of rates out of the states with i jobs at the disk."""

    def held(matrix: csr_array, rows: slice) -> int:
        return int(matrix.indptr[rows.stop]) - int(matrix.indptr[rows.start])

    d, p = disk.slice(i), delay.slice(away)
    count = held(disk.local, d) * delay.size(away) + held(delay.local, p) * disk.size(i)
    if i:
        count += held(disk.leave, d) * held(delay.enter, p)
    if away:
        count += held(delay.leave, p) * held(disk.enter, d)
    return count


def _tables(centre: Centre) -> tuple[NDArray[np.generic], ...]:
    tables: list[NDArray[np.generic]] = []
    for matrix in (centre.local, centre.leave, centre.enter):
        tables += [matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data]
    return tuple(tables)


def sorted_csr(matrix: csr_array) -> csr_array:
    """Return the matrix without explicit zeros, columns in order.

    Parameters
    ----------
    matrix : sparse array
        Changed in place.
    """
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix


class Entries:
    """Rows, columns and values of a sparse matrix in the making; equal places add up."""

    def __init__(self) -> None:
        self.parts: list[tuple[NDArray[np.integer], NDArray[np.integer], Array]] = []

    @classmethod
    def of(cls, matrix: csr_array) -> Entries:
        """Return the entries of a matrix.

        Parameters
        ----------
        matrix : sparse array
            The matrix.
        """
        entries, coordinates = cls(), matrix.tocoo()
        entries.add(coordinates.row, coordinates.col, coordinates.data)
        return entries

    def add(self, rows: NDArray[np.integer], columns: NDArray[np.integer], values: Array) -> None:
        """Add entries.

        Parameters
        ----------
        rows, columns : (k,) ndarray of int
            Places.
        values : (k,) ndarray
            Values.
        """
        self.parts.append((rows, columns, values))

    def matrix(self, n: int) -> csr_array:
        """Return the matrix, (n, n); entries of equal places add up.

        Parameters
        ----------
        n : int
            Rows of the matrix.
        """
        if not self.parts:
            return csr_array((n, n))
        rows, columns, values = (np.concatenate(part) for part in zip(*self.parts, strict=True))
        return sorted_csr(coo_array((values, (rows, columns)), shape=(n, n)).tocsr())


def dense_kron(a: Array, b: Array) -> Array:
    """Return the Kronecker product; `numpy.kron` takes ten times as long for small matrices.

    Parameters
    ----------
    a, b : (n, m) ndarray
        Matrices of any shapes.
    """
    if a.size * b.size < _MANY:
        whole = a[:, None, :, None] * b[None, :, None, :]
    else:  # zeros that are never written take no time
        whole = np.zeros((a.shape[0], b.shape[0], a.shape[1], b.shape[1]))
        rows, columns = np.nonzero(b)
        entries = b[rows, columns]
        for i, j in np.argwhere(a).tolist():
            if 16 * rows.size < b.size:
                whole[i, rows, j, columns] = a[i, j] * entries
            else:
                np.multiply(b, a[i, j], out=whole[i, :, j, :])
    return whole.reshape(a.shape[0] * b.shape[0], a.shape[1] * b.shape[1])


def kron_sum(a: Array, b: Array) -> Array:
    """Return the Kronecker sum of two square matrices that each move one part of a state.

    Parameters
    ----------
    a, b : (n, n) ndarray
        Square matrices, of different sizes or the same.
    """
    n = len(b)
    if a.size * b.size < _MANY:
        return dense_kron(a, np.eye(n)) + dense_kron(np.eye(len(a)), b)
    whole = dense_kron(np.eye(len(a)), b)
    moves = np.arange(n)
    for i, j in np.argwhere(a).tolist():
        whole[i * n + moves, j * n + moves] += a[i, j]
    return whole
