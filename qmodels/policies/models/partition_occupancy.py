"""How many jobs the processor partitions hold under time sharing, and how fast these get on.

The state lists the jobs on every processor partition of every disk partition; like partitions are
not told apart. Completions are those of the closed network of one disk partition in product form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from phasefit import MAP, PhaseType
from phasefit.arrays import Array
from qmodels.markov import QBD, solve_qbd
from qmodels.networks.many_server import arrival_process
from qmodels.policies.models._kernels import rates_beside, slowness_beside
from qmodels.policies.models.disk_crowding import occupancy_law, saturated_law, within_floats

Indices = NDArray[np.intp]
#: Jobs on the processor partitions of one disk partition, in falling order.
Held = tuple[int, ...]
#: The disk partitions, in falling order within each group of like ones.
State = tuple[Held, ...]

#: Jobs at one disk partition beyond which factorials leave the range of the floats.
MOST_AT_DISK = 150


@dataclass(frozen=True)
class PartitionRooms:
    """Processor partitions by the disk partition that they work on, each with room for M jobs."""

    sizes: tuple[int, ...]  #: processor partitions of each disk partition, in falling order
    multiprogramming: int  #: M
    max_running: int  #: most jobs that run

    def count(self) -> int:
        """Number of states, at most, counted without making them."""
        total = 1
        for size in set(self.sizes):
            own = comb(size + self.multiprogramming, self.multiprogramming)
            alike = self.sizes.count(size)
            total *= comb(own + alike - 1, alike)
        return total

    @property
    def empty(self) -> State:
        """No job anywhere."""
        return tuple((0,) * size for size in self.sizes)

    def start(self, state: State) -> tuple[int, int]:
        """Disk partition and jobs of the processor partition where the next job starts.

        On the one with the fewest jobs, then where the disk partition has the fewest.
        """
        jobs, _, at = min((held[-1], sum(held), at) for at, held in enumerate(state))
        return at, jobs

    def joined(self, state: State) -> State:
        """The state after the next start."""
        at, jobs = self.start(state)
        return _put(state, at, jobs, jobs + 1)

    def left(self, state: State, at: int, jobs: int) -> State:
        """The state after one of so many jobs has left a processor partition."""
        return _put(state, at, jobs, jobs - 1)


def _put(state: State, at: int, before: int, after: int) -> State:
    held = [*state[at]]
    held[held.index(before)] = after
    held.sort(reverse=True)
    changed = (*state[:at], tuple(held), *state[at + 1 :])
    if len(changed) == 1:
        return changed
    # disk partitions of one size stand together, larger ones first
    return tuple(sorted(changed, key=lambda each: (len(each), each), reverse=True))


def partition_rates(held: Held, io: float, cpu: Sequence[float]) -> dict[int, float]:
    """Jobs per second of a processor partition with so many jobs, beside the others of its disk.

    Parameters
    ----------
    held : tuple of int
        Jobs on each processor partition of the disk partition.
    io : float
        Transfer of a whole job alone, in seconds.
    cpu : sequence of float
        ``cpu[j]``: computation of a whole job on a partition that holds j, in seconds.

    Returns
    -------
    dict
        From j to the rate of one partition with j jobs.

    Notes
    -----
    ``G = sum_s s! [z^s] prod_i f_i(z)`` with ``f_i(z) = sum_h cpu^(n_i - h) (io z)^h / h!``, and a
    partition completes ``(1 - G with all n_i at the disk / G) / cpu`` jobs per second.

    Examples
    --------
    >>> {j: round(x, 6) for j, x in sorted(partition_rates((2, 1), 1.0, [1.0] * 3).items())}
    {1: 0.333333, 2: 0.555556}
    """
    if max(cpu) == 0.0:  # all jobs are at the disk, which they share
        return {n: n / (sum(held) * io) for n in set(held) - {0}}
    different = sorted(set(held))
    jobs = np.array(different)
    alike = np.array([held.count(n) for n in different])
    found = np.empty(jobs.size)
    work = np.empty((jobs.size + 3, sum(held) + 1))
    rates_beside(jobs, alike, float(io), np.array(cpu, dtype=float), work, found)
    return {n: rate for n, rate in zip(different, found.tolist(), strict=True) if n}


def disk_slowness(laws: Sequence[tuple[float, ...]]) -> dict[tuple[float, ...], float]:
    """How many times slower than alone a disk serves each of the partitions that share it.

    Parameters
    ----------
    laws : sequence of tuple of float
        Of each partition the probabilities of 0, 1, ... jobs at the disk, were it alone there.

    Returns
    -------
    dict
        By law.

    Notes
    -----
    Numbers h_i of all partitions are as likely as in product form, the product of their laws times the
    ways to mix the jobs, all of which the disk serves alike: a partition that has some there gets
    h_i / sum(h) of it. `partition_rates` is the case of exponential bursts.

    Examples
    --------
    >>> disk_slowness([(0.0, 1.0), (0.5, 0.5)])
    {(0.0, 1.0): 1.5, (0.5, 0.5): 2.0}
    """
    kinds = list(dict.fromkeys(laws))
    jobs, alike = np.array([len(law) - 1 for law in kinds]), np.array([laws.count(law) for law in kinds])
    work, found = np.zeros((len(kinds) + 3, int(jobs @ alike) + 1)), np.empty(len(kinds))
    for row, law in zip(work, kinds, strict=False):
        row[: len(law)] = law
    slowness_beside(jobs, alike, work, found)
    return dict(zip(kinds, found.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class PartitionLoads:
    """What the processor partitions hold with k = 0..c jobs running, and how fast that is."""

    number: Array  #: (c + 1, M + 1) E[m_j | k], partitions that hold j jobs
    rate: Array  #: (c + 1, M + 1) X(j | k), jobs per second of one of them; 0 where there is none
    onto: Array  #: (c + 1, M + 1) starts per second on partitions that hold j while k jobs run
    replaced: float  #: share of the departures from full partitions that find a job waiting
    seen: Array  #: (c + 1, M + 1) long-run mean of the number of partitions by k and j
    followed: bool = True  #: whether jobs are not simply spread evenly

    @property
    def starts(self) -> Array:
        """Starts per second on a partition that holds j, (M,)."""
        return np.asarray(self.onto.sum(axis=0) / np.maximum(self.seen.sum(axis=0), 1e-300))[:-1]

    @property
    def next_start(self) -> Array:
        """Probability that the next start is on a partition that holds j while k run, (c + 1, M + 1).

        Where that never is, as if the others were as even as can be.
        """
        c, most = (n - 1 for n in self.seen.shape)
        partitions = self.number[0].sum()
        running, here = np.arange(c + 1)[:, None], np.arange(most + 1)
        fewest = running // partitions
        found = np.where(here < fewest, 1.0, (here == fewest) / (partitions * (1.0 + fewest) - running))
        found[:, most] = 0.0
        all_starts, all_seen = (x.sum(axis=1, keepdims=True) for x in (self.onto, self.seen))
        known = (self.seen > 0.0) & (all_starts > 0.0)
        of_one = np.divide(self.onto, self.seen, out=np.zeros(found.shape), where=known)
        share = of_one * all_seen / np.maximum(partitions * all_starts, 1e-300)
        return np.where(known, np.minimum(share, 1.0), found)

    @property
    def levels(self) -> Array:
        """Probability of k jobs running while a partition holds j, (c + 1, M + 1); 0 where none does."""
        return np.asarray(self.seen / np.maximum(self.seen.sum(axis=0), 1e-300))

    def among(self, more: PartitionLoads) -> PartitionLoads:
        """The same, with what others say of more jobs and of more on a partition."""
        c, most = (n - 1 for n in self.number.shape)
        number, rate = more.number.copy(), more.rate.copy()
        seen, onto = np.zeros(number.shape), np.zeros(number.shape)
        number[: c + 1], rate[: c + 1] = 0.0, 0.0
        here = slice(c + 1), slice(most + 1)
        number[here], rate[here], seen[here], onto[here] = self.number, self.rate, self.seen, self.onto
        return PartitionLoads(number, rate, onto, 0.0, seen)


#: Rates of a disk partition's processor partitions by their jobs, while k jobs run altogether.
Rates = Callable[[Held, int], dict[int, float]]


class _Completions(NamedTuple):
    """Ways in which one of k running jobs may leave, one entry each."""

    held: tuple[Held, ...]  #: what the disk partitions hold, each once
    place: Indices  #: which of these
    alike: Indices  #: processor partitions of it that hold as many jobs as the one of the job
    jobs: Indices  #: how many
    row: Indices  #: state before
    column: Indices  #: state after, of k - 1 jobs

    @classmethod
    def of(cls, leaving: Sequence[tuple[int, Held, int, int]]) -> _Completions:
        """From state, jobs of the disk partition, jobs of the processor partition, and state."""
        held = tuple(dict.fromkeys(each[1] for each in leaving))
        at = {each: place for place, each in enumerate(held)}
        columns = [(at[h], h.count(jobs), jobs, row, to) for row, h, jobs, to in leaving]
        return cls(held, *np.array(columns, dtype=np.intp).reshape(-1, 5).T)


def _with_arrivals(
    up: Sequence[Array],
    down: Sequence[Array],
    again: Array,
    arrival_rate: float,
    arrivals: PhaseType | MAP | None,
) -> tuple[list[Array], list[Array]]:
    """As `occupancy_law`, and the jobs per second that arrive in each state, by k."""
    if arrivals is None:
        laws = occupancy_law(up, down, again, arrival_rate)
        return laws, [arrival_rate * law for law in laws]
    process = arrival_process(arrivals.scale(1.0 / (arrival_rate * arrivals.mean)))
    stages = np.eye(process.order)
    found = solve_qbd(
        QBD(
            up=[np.kron(process.D1, block) for block in (*up, np.eye(len(again)))],
            local=[np.kron(process.jumps, np.eye(len(block))) for block in (*up, again)],
            down=[np.kron(stages, block) for block in (*down, again)],
        )
    )
    laws = within_floats([*found.boundary[:-1], found.tail])
    both = [law.reshape(process.order, -1) for law in laws]
    rates = process.D1.sum(axis=1)
    return [law.sum(axis=0) for law in both], [rates @ law for law in both]


def _added(values: Array, rows: Indices, columns: Indices, shape: tuple[int, int]) -> Array:
    """A matrix with these entries; equal places add up."""
    found = np.bincount(rows * shape[1] + columns, values, shape[0] * shape[1])
    return np.asarray(found.reshape(shape), dtype=float)


class Occupancy:
    """All states of the processor partitions, found once, solved for any rates."""

    def __init__(self, rooms: PartitionRooms) -> None:
        self.rooms = rooms
        levels: list[list[State]] = [[] for _ in range(rooms.max_running + 1)]
        place: list[dict[State, int]] = [{} for _ in levels]
        todo: list[tuple[int, State]] = []

        def reached(k: int, state: State) -> int:
            if state not in place[k]:
                place[k][state] = len(levels[k])
                levels[k].append(state)
                todo.append((k, state))
            return place[k][state]

        reached(0, rooms.empty)
        leaving: list[list[tuple[int, Held, int, int]]] = [[] for _ in levels]
        starts: list[dict[int, tuple[int, int]]] = [{} for _ in levels]
        while todo:
            k, state = todo.pop()
            row = place[k][state]
            if k < rooms.max_running:
                jobs = rooms.start(state)[1]
                starts[k][row] = jobs, reached(k + 1, rooms.joined(state))
            for at, held in enumerate(state):
                for jobs in set(held) - {0}:
                    column = reached(k - 1, rooms.left(state, at, jobs))
                    leaving[k].append((row, held, jobs, column))
        self.completions = [_Completions.of(each) for each in leaving]
        most = rooms.multiprogramming
        #: (states, M + 1) processor partitions that hold j jobs, by k
        self.counts = [
            np.array([[sum(held.count(j) for held in x) for j in range(most + 1)] for x in level])
            for level in levels
        ]
        #: (states,) jobs on the partition of the next start
        self.start_on = [np.array([x[n][0] for n in range(len(x))]) for x in starts[:-1]]
        self._onto = [np.array([x[n][1] for n in range(len(x))]) for x in starts[:-1]]

    def up(self) -> list[Array]:
        """Where starts lead, (states, states of k + 1) by k; made anew, for these are the bulk."""
        blocks = []
        for k, onto in enumerate(self._onto):
            block = np.zeros((len(onto), len(self.counts[k + 1])))
            block[np.arange(onto.size), onto] = 1.0
            blocks.append(block)
        return blocks

    @property
    def sizes(self) -> list[int]:
        """States with 0..c jobs running."""
        return [len(counts) for counts in self.counts]

    def solved(
        self, rates: Rates, arrival_rate: float | None, arrivals: PhaseType | MAP | None = None
    ) -> PartitionLoads:
        """Loads while jobs arrive at a rate, or always wait (None: only k = c is meant).

        Parameters
        ----------
        rates : callable
            ``rates(held, k)[j]``: jobs per second of one processor partition with j jobs.
        arrival_rate : float, optional
            Jobs per second.
        arrivals : PhaseType or MAP, optional
            How they come, in any unit of time; as a Poisson stream by default.
        """
        c, most = self.rooms.max_running, self.rooms.multiprogramming
        done, down = [np.zeros(self.counts[0].shape)], []
        for k in range(1, c + 1):
            ends, shape = self.completions[k], self.counts[k].shape
            table = np.zeros((len(ends.held), most + 1))
            for place, held in enumerate(ends.held):
                for jobs, rate in rates(held, k).items():
                    table[place, jobs] = rate
            each = ends.alike * table[ends.place, ends.jobs]
            done.append(_added(each, ends.row, ends.jobs, shape))
            down.append(_added(each, ends.row, ends.column, (shape[0], len(self.counts[k - 1]))))
        up = self.up()
        again = down[-1] @ up[-1]
        if arrival_rate is None:
            laws = [np.full(len(counts), 1.0 / len(counts)) for counts in self.counts]
            laws[-1] = saturated_law(again)
        else:
            laws, arriving = _with_arrivals(up, down, again, arrival_rate, arrivals)
        seen = np.array([law @ count for law, count in zip(laws, self.counts, strict=True)])
        flow = np.array([law @ each for law, each in zip(laws, done, strict=True)])
        onto, replaced = np.zeros((c + 1, most + 1)), 1.0
        if arrival_rate is not None:
            for row, flow_in, at in zip(onto, arriving, self.start_on, strict=False):
                np.add.at(row, at, flow_in)
            # beyond c jobs the probabilities fall by the load of the last level at each step
            busy = min(float(arriving[-1].sum() / flow[c].sum()), 1.0)
            replaced = float(busy * flow[c, most] / max(flow[:, most].sum(), 1e-300))
        mass = np.array([law.sum() for law in laws])
        return PartitionLoads(
            number=seen / mass[:, None],
            rate=np.divide(flow, seen, out=np.zeros_like(flow), where=seen > 0.0),
            onto=onto,
            replaced=min(replaced, 1.0),
            seen=seen,
        )
