"""`play_cell`: jobs of I/O and computation on the mesh, under SP, DP or TS and any strategy."""

from __future__ import annotations

import heapq
import math
from collections import deque
from typing import Final

import numpy as np

from phasefit.arrays import Array, Ints
from phasefit.checks import one_of
from qmodels.errors import ModelError
from validation.allocation import Request
from validation.allocation.base import answer
from validation.analysis.seeding import stream, word
from validation.mesh import Occupancy
from validation.trial.bursts import Alone, alone
from validation.trial.carriers import Packets, SharedDisks
from validation.trial.history import (
    COMPUTE,
    DRAINING,
    EXCHANGE,
    QUEUED,
    READY,
    TRANSFER,
    UNDER_WAY,
    Arrivals,
    LossArrivals,
    Played,
    RunningJob,
)
from validation.trial.scenario import Cell

#: How disks serve: packets in order of arrival, or bursts by processor sharing.
DISKS: Final = ("packets", "ps")


class _Run:
    """The machine between two events. Times are whole cycles."""

    def __init__(
        self,
        cell: Cell,
        arrivals: Arrivals | LossArrivals,
        demands: Array,
        *,
        seed: int,
        links: str,
        disks: str,
    ) -> None:
        self.cell, self.arrivals, self.demands = cell, arrivals, demands
        self.packets = Packets(cell, links, word(seed, "messages"))
        self.network = self.packets.network
        self.shared = SharedDisks(cell.policy_disks) if disks == "ps" else None
        self.alone = self._tables(links) if disks == "ps" else {}
        self.strategy = cell.strategy.fresh(stream(seed, "strategy"))
        self.ties = stream(seed, "ties")
        self.pauses = stream(seed, "overheads")
        self.occupancy = Occupancy(cell.mesh)
        self.running: dict[int, RunningJob] = {}
        self.waiting: deque[int] = deque()
        self.timers: list[tuple[int, int, int]] = []  # when, job (-1: dividing is over), serial
        self.on_group = [0] * cell.policy_disks
        self.slots: list[list[int]] = [[] for _ in range(cell.partitions)]  # jobs of each
        self.cpu: list[deque[int]] = [deque() for _ in self.slots]  # the first one computes
        self.transferring = [0] * cell.policy_disks
        self.frozen = 0  # dividing the processors that is under way, by its serial number
        self.divided = 0
        self.carried: set[int] = set()  # bursts that have ended in this very cycle, not yet noted
        self.now = self.arrived = self.finished = 0
        self.awaited = set(range(demands.size))  # jobs whose ends the run goes on for
        self.arrival, self.start, self.finish = np.full((3, demands.size), np.nan)
        self.pieces: list[tuple[int, int, int, int, int, float]] = []
        self.changes: list[tuple[int, int]] = [(0, 0)]

    def _tables(self, links: str) -> dict[int, Alone]:
        """Bursts alone for each number of running jobs by which their size is chosen."""
        counts = range(1, self.cell.most_running + 1) if self.cell.repartitioned else [0]
        where = "infinite" if links == "infinite" else "finite"
        return {k: alone(self.cell, k or self.cell.partitions, where) for k in counts}

    # --- the loop -------------------------------------------------------------------------------

    def until(self, completions: int) -> None:
        """Run until so many jobs have ended, or none that is awaited is left."""
        changed = True
        while self.finished < completions and self.awaited:
            comes = math.inf
            if self.arrived < self.demands.size:
                comes = self.arrivals.soonest(self.now, len(self.running), changed)
            before = len(self.running)
            timer = self.timers[0][0] if self.timers else math.inf
            ends, group, whose = self.shared.next_end() if self.shared else (math.inf, -1, -1)
            soonest = min(comes, timer, math.ceil(ends) if ends < math.inf else ends)
            if soonest == math.inf and not self.network.jobs:
                if self.waiting:
                    raise ModelError(
                        f"strategy {self.strategy.name} finds no {self.cell.nodes_of(1)} nodes for a job "
                        f"on a mesh with {len(self.running)} jobs, and nothing else will happen"
                    )
                return
            until = None if soonest == math.inf else max(int(soonest), self.now)
            done = self.network.advance(until)
            self.now = self.network.clock
            if done:
                self.carried = {self.packets.number_of(end.job) for end in done}
                for number in sorted(self.carried):
                    self.carried.remove(number)
                    self._carried(self.running[number])
            elif timer <= self.now:
                _, job, serial = heapq.heappop(self.timers)
                self._timer(job, serial)
            elif ends <= self.now:
                job_ended = self.running[whose]
                self.shared.stop(whose, group, self.now)  # type: ignore[union-attr]
                self._piece(job_ended, 0.0)
                self._next_burst(job_ended)
            elif comes <= self.now:
                self.arrivals.take()
                self.arrival[self.arrived] = self.now
                self.waiting.append(self.arrived)
                self.arrived += 1
                self._admit()
            changed = len(self.running) != before

    def _timer(self, number: int, serial: int) -> None:
        if number < 0:
            if serial == self.frozen:
                self.frozen = 0
                for running in list(self.running.values()):
                    self._begin(running)
            return
        job = self.running.get(number)  # none if an interrupted one has ended since
        if job is not None and job.serial == serial and job.status == UNDER_WAY:
            self._piece(job, 0.0)
            job.kind, job.status, job.left = EXCHANGE, READY, 1.0
            self._begin(job)

    # --- who runs, and where --------------------------------------------------------------------

    def _admit(self) -> None:
        """Start waiting jobs while there is room."""
        while self.waiting and len(self.running) < self.cell.most_running:
            if not self._start(self.waiting[0]):
                return
            self.waiting.popleft()

    def _start(self, number: int, *, replaces: bool = False) -> bool:
        """Start a job if the strategy finds nodes for it; returns whether it did."""
        cell, job = self.cell, RunningJob(number, float(self.demands[number]))
        count = len(self.running) + 1
        if cell.repartitioned and not replaces:
            job.group = self._group()
            self.running[number] = job
            self._note_start(job)
            self._divide()
            return True
        slot = self._slot()
        held = self.slots[slot]
        if held and not cell.repartitioned:
            nodes: Ints | None = self.running[held[0]].nodes
        else:
            nodes = answer(self.strategy, self.occupancy, Request(cell.nodes_of(count)))
            if nodes is None:
                return False
            self.occupancy.occupy(number if cell.repartitioned else ("slot", slot), nodes)
        assert nodes is not None
        shares = cell.arrangement.placement == "idle-first"
        job.slot, job.nodes = slot, nodes
        job.group = cell.arrangement.disk_of[slot] if shares else self._group()
        held.append(number)
        self.running[number] = job
        self._note_start(job)
        self._begin(job)
        return True

    def _note_start(self, job: RunningJob) -> None:
        """Give a job a layer of its own where there are such, and note that it has begun."""
        if self.packets.free:
            job.layer = self.packets.free.pop()
        self.on_group[job.group] += 1
        self.start[job.number] = self.now
        self.changes.append((self.now, len(self.running)))

    def _group(self) -> int:
        """The disk partition with the fewest jobs, ties at random."""
        fewest = min(self.on_group)
        ties = [k for k, jobs in enumerate(self.on_group) if jobs == fewest]
        return ties[0] if len(ties) == 1 else ties[int(self.ties.integers(len(ties)))]

    def _slot(self) -> int:
        """Where the next job goes: the idle first, if partitions hold several; else a free one."""
        arrangement, best, rank = self.cell.arrangement, -1, (math.inf,) * 3
        for slot, held in enumerate(self.slots):
            if len(held) >= arrangement.multiprogramming:
                continue
            at_work = bool(self.cpu[slot]) + bool(self.transferring[arrangement.disk_of[slot]])
            here = (at_work, len(held), slot) if arrangement.multiprogramming > 1 else (0, 0, slot)
            if here < rank:
                best, rank = slot, here
        return best

    def _depart(self, job: RunningJob) -> None:
        cell, number = self.cell, job.number
        self.finish[number] = self.now
        self.finished += 1
        self.awaited.discard(job.number)
        del self.running[number]
        self.on_group[job.group] -= 1
        self.changes.append((self.now, len(self.running)))
        if job.layer or self.packets.free or cell.most_running == 1:
            self.packets.free.append(job.layer)
        if cell.repartitioned:
            self.occupancy.release(number)
            # a waiting job takes the processors of the one that left: nothing is divided anew
            if self.waiting and self._start(self.waiting[0], replaces=True):
                self.waiting.popleft()
            elif self.running:
                self._divide()
            return
        self.slots[job.slot].remove(number)
        if not self.slots[job.slot]:
            self.occupancy.release(("slot", job.slot))
        self._admit()

    def _divide(self) -> None:
        """Place all running jobs anew, each on its share of the processors."""
        jobs, cell = list(self.running.values()), self.cell
        for job in jobs:
            self._interrupt(job)
            if job.number in self.occupancy.jobs:
                self.occupancy.release(job.number)
        share = cell.nodes_of(len(jobs))
        for job in jobs:
            nodes = answer(self.strategy, self.occupancy, Request(share))
            if nodes is None:
                raise ModelError(
                    f"strategy {self.strategy.name} finds no {share} nodes for one of {len(jobs)} "
                    f"jobs on a mesh of {cell.mesh.nodes}; dynamic partitioning needs one that does"
                )
            self.occupancy.occupy(job.number, nodes)
            job.nodes = nodes
        laws = cell.arrangement.overheads
        if laws:
            self.divided += 1
            self.frozen = self.divided
            law = laws[len(jobs) - 1]
            pause = math.ceil(float(law.rvs(1, random_state=self.pauses)[0]))
            heapq.heappush(self.timers, (self.now + pause, -1, self.frozen))
        for job in jobs:
            self._begin(job)

    def _interrupt(self, job: RunningJob) -> None:
        """Stop a job's burst; packets under way still arrive."""
        # A burst that ends in the cycle in which another job comes or goes is over, not stopped.
        if job.status != UNDER_WAY or job.number in self.carried:
            return
        job.serial += 1
        if job.kind == COMPUTE:
            nodes = job.nodes.size
            whole = self.cell.shape.cpu_cycles * job.demand / nodes
            done = (self.now - job.piece) / whole if whole > 0 else 1.0
            self._piece(job, max(job.left - done, 0.0))
            job.status = READY
        elif job.kind == TRANSFER and self.shared is not None:
            self.transferring[job.group] -= 1
            cycles = self.shared.stop(job.number, job.group, self.now)
            self._piece(job, min(cycles / job.io_alone, job.left) if job.io_alone else 0.0)
            job.status = READY
        else:
            unsent = self.network.withdraw((job.number, job.serial - 1))
            volume = self._volume(job)
            job.left_after = min(unsent / volume, job.left)
            job.status = DRAINING

    # --- bursts ---------------------------------------------------------------------------------

    def _volume(self, job: RunningJob) -> float:
        """Flits of the whole burst of a job."""
        shape = self.cell.shape
        return (shape.io_flits if job.kind == TRANSFER else shape.exchange_flits) * job.demand

    def _begin(self, job: RunningJob) -> None:
        """Begin what is left of a job's burst, if the job may go on now."""
        if job.status not in (READY, QUEUED) or self.frozen:
            return
        shape = self.cell.shape
        if job.kind == COMPUTE and self.cell.arrangement.multiprogramming > 1:
            queue = self.cpu[job.slot]
            if job.status == READY:
                queue.append(job.number)
            if queue[0] != job.number:
                job.status = QUEUED
                return
        job.status, job.piece = UNDER_WAY, self.now
        job.serial += 1
        nodes = job.nodes
        if job.kind == COMPUTE:
            cycles = math.ceil(shape.cpu_cycles * job.demand * job.left / nodes.size)
            heapq.heappush(self.timers, (self.now + cycles, job.number, job.serial))
            return
        if job.kind == TRANSFER:
            self.transferring[job.group] += 1
            if self.shared is not None:
                count = len(self.running) if self.cell.repartitioned else 0
                job.io_alone = self.alone[count].io.at(job.demand)
                self.shared.start(job.number, job.group, job.io_alone * job.left, self.now)
                return
            group = self.cell.groups[job.group]
            traffic = shape.transfer(self._volume(job) * job.left, nodes.size, group.size)
        else:
            group = self.cell.groups[job.group]
            traffic = shape.exchange(self._volume(job) * job.left, nodes.size)
        if traffic is None:
            self._piece(job, 0.0)
            self._next_burst(job)
            return
        draw = (job.number * shape.phases + job.phase) * 3 + job.kind
        self.packets.start((job.number, job.serial), nodes, group, job.layer, traffic, draw)

    def _carried(self, job: RunningJob) -> None:
        """All packets of a burst that were sent have arrived."""
        if job.status == DRAINING:
            if job.kind == TRANSFER:
                self.transferring[job.group] -= 1
            self._piece(job, job.left_after)
            job.status = READY
            if job.left > 0.0:
                self._begin(job)
                return
            if job.kind == TRANSFER:
                self.transferring[job.group] += 1  # `_next_burst` counts it out
        else:
            self._piece(job, 0.0)
        self._next_burst(job)

    def _next_burst(self, job: RunningJob) -> None:
        """Take a job on to its next burst, or out of the machine."""
        job.left, job.status = 1.0, READY
        if job.kind == TRANSFER:
            self.transferring[job.group] -= 1
            job.kind = COMPUTE
        else:
            if self.cell.arrangement.multiprogramming > 1:
                queue = self.cpu[job.slot]
                queue.popleft()
                if queue:
                    self._begin(self.running[queue[0]])
            job.kind = TRANSFER
            job.phase += 1
            if job.phase == self.cell.shape.phases:
                self._depart(job)
                return
        self._begin(job)

    def _piece(self, job: RunningJob, left: float) -> None:
        """Note a piece of a burst that ends now and leaves so much of it."""
        piece = (job.number, job.phase, job.kind, job.piece, self.now, job.left - left)
        self.pieces.append(piece)
        job.left = left

    def _note_under_way(self) -> None:
        """Note what has been done of the bursts that are under way: the run ends here."""
        packet = self.cell.shape.packet
        for job in self.running.values():
            if job.status == UNDER_WAY:
                self._interrupt(job)
            if job.status == DRAINING:
                # A node has one packet on its way, of which half is there in the mean.
                halves = 0.5 * packet * job.nodes.size / self._volume(job)
                self._piece(job, min(job.left_after + halves, job.left))

    def played(self) -> Played:
        """What happened, with what was done of the bursts that are under way."""
        self._note_under_way()
        return Played.of(self)


def play_cell(
    cell: Cell,
    arrivals: Array | LossArrivals,
    demands: Array,
    *,
    seed: int = 0,
    completions: int | None = None,
    awaited: int | None = None,
    links: str = "shared",
    disks: str = "packets",
) -> Played:
    """Let jobs arrive at an empty machine, run, and leave.

    Parameters
    ----------
    cell : Cell
    arrivals : (jobs,) ndarray or LossArrivals
        Cycles, not decreasing; rounded up to whole ones.
    demands : (jobs,) ndarray
        The factor of each job.
    seed : int
        Of the strategy's draws, of ties among disk groups, and of where nodes begin their packets.
    completions : int, optional
        Stop when so many jobs have ended; by default when all have. Bursts that are then under way
        are noted with the share of them that has been done.
    awaited : int, optional
        Stop when so many of the first jobs have ended, whatever later ones do; by default all. Up
        to then the run is the whole one, bit for bit.
    links : {"shared", "private", "infinite"}
        "private": each running job has its own copy of the links, and the disks are shared.
    disks : {"packets", "ps"}
        "ps": each disk partition serves the bursts at it by processor sharing, each taking alone
        what `alone` measured.

    Returns
    -------
    Played

    Raises
    ------
    ModelError
        If the strategy finds no place where there must be one.

    Notes
    -----
    Jobs wait in order of arrival. A job's I/O goes to the I/O nodes of its disk partition: under
    SP and DP the one with the fewest jobs, ties at random, under TS that of its processor
    partition. Under DP a change of the number of jobs places all anew: what a burst has done is
    kept, packets under way still arrive, and only then does the burst go on from the new nodes.
    Under TS one job of a partition computes or exchanges at a time.

    Examples
    --------
    >>> cell = Cell.of(rows=4, columns=4, policy="SP", policy_options={"processor_partitions": 2,
    ...     "disk_partitions": 1}, strategy="MC", cpu_to_io=2.0)
    >>> run = play_cell(cell, np.array([0.0, 10.0, 20.0]), np.ones(3))
    >>> bool((run.finish[2] > run.finish[:2]).all()), len(run.bursts())
    (True, 45)
    """
    one_of("disks", disks, DISKS)
    source = arrivals if isinstance(arrivals, LossArrivals) else Arrivals(arrivals)
    run = _Run(cell, source, demands, seed=seed, links=links, disks=disks)
    if awaited is not None:
        run.awaited = set(range(awaited))
    run.until(demands.size if completions is None else completions)
    return run.played()
