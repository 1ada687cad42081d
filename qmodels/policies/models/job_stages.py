"""A job as the stages it passes through: bursts of I/O and computation in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from phasefit import PhaseType
from phasefit.arrays import Array
from qmodels.errors import MemoryBudgetError, ModelError
from qmodels.policies.system import Arrangement, Workload
from qmodels.programs import AbstractProgram, Geometric, Program, WorkloadMix

#: More stages than any chain of running jobs could be built of.
MOST_STAGES: Final = 2000


@dataclass(frozen=True, eq=False)
class JobStages:
    """Stages of a job on one allotment; a job is in one of them."""

    alpha: Array  #: (m,) probability of each stage to begin with
    jumps: Array  #: (m, m) rates from stage to stage
    exits: Array  #: (m,) rates at which the job ends
    transfers: NDArray[np.bool_]  #: (m,) whether the stage is one of an I/O burst
    disk_share: float = 1.0  #: of its disks that a transferring job keeps busy
    #: of its processors that a transferring job keeps busy, where stages are of both kinds
    processor_share: float = 0.0

    @property
    def order(self) -> int:
        """Number of stages, m."""
        return int(self.alpha.size)

    def law(self) -> PhaseType:
        """Law of the time from the first stage to the end."""
        jumps = self.jumps.copy()
        np.fill_diagonal(jumps, 0.0)
        return PhaseType.from_rates(self.alpha, jumps, self.exits)


@dataclass(frozen=True, eq=False)
class Route:
    """Phases of one program: the bursts' mean times, and how likely another phase follows."""

    weight: float  #: probability that a job is of this program
    io: Array  #: (phases,) seconds
    cpu: Array  #: (phases,) seconds
    go_on: Array  #: (phases,) probability that another phase follows
    follows: NDArray[np.intp]  #: (phases,) which one that would be


def routes(program: AbstractProgram, p: float, d: float) -> list[Route]:
    """Phases of each program of a workload, on p processors and d disks."""
    if isinstance(program, WorkloadMix):
        weights = np.asarray(program.weights)
        return [
            _route(float(w), each, p, d)
            for w, each in zip(weights.tolist(), program.programs, strict=True)
            if w > 0.0
        ]
    if isinstance(program, Program):
        return [_route(1.0, program, p, d)]
    raise ModelError(f"the bursts of {program!r:.60} are not known; give a Program or WorkloadMix")


def _route(weight: float, program: Program, p: float, d: float) -> Route:
    io, cpu = program.listed_times(p, d)
    count = program.phase_count
    if count is None:
        go_on = np.append(np.ones(io.size - 1), 0.0)
    elif isinstance(count, Geometric):
        go_on = np.full(io.size, 1.0 - 1.0 / count.mean)
    else:
        most = len(count)
        alive = program.survival(np.arange(1, most + 2))
        last = int(np.count_nonzero(alive)) if alive[-1] == 0.0 else most
        turn = np.arange(last) % io.size
        io, cpu = io[turn], cpu[turn]
        go_on = np.clip(alive[1 : last + 1] / alive[:last], 0.0, 1.0)
    follows = (np.arange(io.size) + 1) % io.size
    return Route(weight, io, cpu, go_on, follows)


def averaged(program: AbstractProgram, p: float, d: float, phases: int | None) -> list[Route]:
    """The same mean times in equal phases: a fixed number, or geometric (None)."""
    io, cpu = float(program.mean_io(p, d)), float(program.mean_cpu(p, d))
    if phases is None:
        mean = program.mean_phases
        one, follows = np.ones(1), np.zeros(1, dtype=np.intp)
        return [Route(1.0, one * io / mean, one * cpu / mean, one * (1.0 - 1.0 / mean), follows)]
    each, turn = np.full(phases, 1.0 / phases), np.arange(phases)
    go_on = np.append(np.ones(phases - 1), 0.0)
    return [Route(1.0, io * each, cpu * each, go_on, (turn + 1) % phases)]


def count_stages(given: Sequence[Route], io: PhaseType, cpu: PhaseType) -> int:
    """Stages that `job_stages` would have."""
    return int(sum(np.count_nonzero(r.io) * io.order + np.count_nonzero(r.cpu) * cpu.order for r in given))


def job_stages(
    given: Sequence[Route], io: PhaseType, cpu: PhaseType, *, disk_share: float = 1.0
) -> JobStages:
    """Chain of the stages of a job whose bursts have these laws, of mean one, times their means."""
    order = count_stages(given, io, cpu)
    if order > MOST_STAGES:
        raise MemoryBudgetError(
            f"a job of {order} stages is more than any chain of running jobs could hold "
            f"({MOST_STAGES}); use fewer phases, or phase_count = Geometric(mean), whose phases "
            f"need no stages of their own"
        )
    alpha, jumps, exits = np.zeros(order), np.zeros((order, order)), np.zeros(order)
    transfers = np.zeros(order, dtype=np.bool_)
    at = 0
    for route in given:
        phases: list[list[tuple[slice, PhaseType, float]]] = []
        for io_mean, cpu_mean in zip(route.io.tolist(), route.cpu.tolist(), strict=True):
            bursts = []
            for law, mean, disk in ((io, io_mean, True), (cpu, cpu_mean, False)):
                if mean > 0.0:
                    bursts.append((slice(at, at + law.order), law, mean))
                    transfers[at : at + law.order] = disk
                    at += law.order
            if not bursts:
                raise ModelError("a phase neither transfers nor computes; leave it out")
            phases.append(bursts)
        first, law, _ = phases[0][0]
        alpha[first] = route.weight * law.alpha
        for n, bursts in enumerate(phases):
            for i, (here, law, mean) in enumerate(bursts):
                jumps[here, here] += law.jumps / mean
                leave = law.exit / mean
                go_on = 1.0
                if i + 1 < len(bursts):
                    there, following, _ = bursts[i + 1]
                else:
                    go_on = float(route.go_on[n])
                    exits[here] = (1.0 - go_on) * leave
                    there, following, _ = phases[int(route.follows[n])][0]
                if go_on > 0.0:
                    jumps[here, there] += go_on * np.outer(leave, following.alpha)
    return JobStages(alpha, jumps, exits, transfers, disk_share)


def burst_laws(workload: Workload, model: str) -> tuple[PhaseType, PhaseType]:
    """Laws of the bursts of I/O and computation; ModelError if the workload has none."""
    io, cpu = workload.io_bursts, workload.cpu_bursts
    if io is None or cpu is None:
        raise ModelError(
            f'model="{model}" follows the bursts of a job, whose laws this workload does not tell; '
            f"give Workload(program, io_bursts=..., cpu_bursts=...) instead of demand, or [bursts] "
            f"in a scenario"
        )
    return io, cpu


def check_disks_shared(arrangement: Arrangement, model: str) -> None:
    """ModelError if jobs that share a disk partition have it one after the other."""
    if arrangement.disks_in_turn:
        raise ModelError(
            f'model="{model}" needs processor sharing at the disks; for disk_discipline = '
            f'"{arrangement.system.disk_discipline}" use model="decomposition", or simulate'
        )
