"""Jobs of unlike sizes and programs as stages: each class alternates between I/O and computation.

A law of demand is cut into classes of jobs of one size each; how much the time of such a job varies
is that of its bursts, and the sizes make up for the rest of the law's moments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from phasefit import PhaseType
from phasefit.arrays import Array
from qmodels.policies.models.job_stages import JobStages
from qmodels.policies.models.turns import part_in_turns
from qmodels.policies.system import Workload
from qmodels.programs import AbstractProgram, Program
from qmodels.programs.model import parts

#: Rounds of bursts one after the other by which a job of a regular law is made up, at most.
MOST_ROUNDS: Final = 6
#: Share of I/O in a job's time up to which jobs in turns compute in rounds: nearly all have a burst in
#: each, whatever their sizes, so that how many a job has left says when it leaves. Chosen by looking at
#: the points of the record of unlike jobs, see `tests.campaigns.unlike_grid`.
LITTLE: Final = 0.2
#: Transfer over computation that is as good as none.
_LEAST: Final = 1e-9
#: Second moments that differ by less are taken as equal.
ALIKE: Final = 0.02


_EXPONENTIAL: Final = PhaseType.exponential(mean=1.0)


@dataclass(frozen=True)
class SizedClass:
    """Jobs of one program and one size."""

    weight: float  #: probability that a job is of it
    program: int  #: which of the workload's parts
    size: float  #: over that of a mean job of its program
    rounds: int  #: parts of its bursts that follow each other
    phases: float  #: bursts of each kind of a job


def sized_classes(
    workload: Workload, p: float, d: float, least_rounds: int = 1, *, turns: int = 0
) -> tuple[SizedClass, ...] | None:
    """Return the classes of a workload without laws of bursts; None where they are too many.

    Parameters
    ----------
    workload : Workload
    p, d : float
        Processors and disks of a job while all partitions are taken.
    least_rounds : int
        Rounds of bursts that a job is made up of, at least.
    turns : int
        Jobs on a partition that wait for each other's bursts of computation; 0 where they share.

    Returns
    -------
    tuple of SizedClass or None

    Notes
    -----
    Bursts of a class are exponential and independent of each other, those of a true job all as long as its
    demand says. So classes cannot have the moments of both a job and a burst. They have those of a job;
    in turns, where jobs come in one round of n bursts, those of a burst with a weight of 1 - (1 - t)/n,
    if t of their stay is turns of others. Nor can sizes within a class last: the more jobs meet in turns,
    for the larger a part of their stay and again and again, the more the sizes of classes vary as those
    of the demand do. Both were chosen by looking at simulated systems, see `tests.campaigns`.
    """
    found = []
    for at, (weight, program) in enumerate(parts(workload.program)):
        io, cpu = float(program.mean_io(p, d)), float(program.mean_cpu(p, d))
        phases = max(1.0, float(program.mean_phases))
        for rounds in range(min(least_rounds, max(1, int(phases))), MOST_ROUNDS + 1):
            alone = alternating(io, cpu, max(phases, rounds), rounds).law()
            second, third = (alone.moment(k) / alone.mean**k for k in (2, 3))
            if second <= workload.demand.moment(2) * (1.0 + ALIKE) or rounds >= phases:
                break
        else:
            return None
        if second > workload.demand.moment(2) * (1.0 + 5.0 * ALIKE):
            return None
        if turns > 1:
            waiting = part_in_turns(turns, max(io / cpu, _LEAST)) if cpu else 0.0
            if rounds == 1:
                alike = 1.0 - (1.0 - waiting) / phases
                second, third = second ** (1.0 - alike) * 2.0**alike, third ** (1.0 - alike) * 6.0**alike
            # how much of the variance of a class' time is drawn anew with each burst
            passing = 1.0 - (1.0 - 1.0 / phases) * waiting * (turns - 2) / (turns + 4)
            second, third = second**passing, third**passing
        for share, size in two_sizes(workload.demand.moment(2) / second, workload.demand.moment(3) / third):
            found.append(SizedClass(weight * share, at, size, rounds, max(phases, rounds)))
    return tuple(found)


def transfers_little(program: AbstractProgram, p: float, d: float) -> bool:
    """Return whether jobs compute in rounds: their transfers are at most a fifth of their time.

    Parameters
    ----------
    program : AbstractProgram
    p, d : float
        Processors and disks of a job.
    """
    return float(program.mean_io(p, d)) <= LITTLE * float(program.mean_time(p, d))


def most_rounds(workload: Workload, p: float, d: float) -> int:
    """Return in how many rounds jobs that take turns at processors are followed, at most.

    Parameters
    ----------
    workload : Workload
    p, d : float
        Processors and disks of a job.
    """
    program = workload.program
    # where all jobs have as many bursts, those done say how many are left
    if not all(isinstance(x, Program) and x.phase_count is None for _, x in parts(program)):
        return 1
    if workload.has_bursts:
        return min(MOST_ROUNDS, max(1, int(program.mean_phases)))
    if float(program.mean_io(p, d)) == 0.0:
        return MOST_ROUNDS
    return 2 if transfers_little(program, p, d) and float(program.mean_phases) > 2.0 else 1


def two_sizes(second: float, third: float) -> list[tuple[float, float]]:
    """Return probabilities and sizes of two classes with mean one and these moments."""
    if second <= 1.0 + ALIKE:
        return [(1.0, 1.0)]
    third = max(third, second**2 * (1.0 + ALIKE))
    total = (third - second) / (second - 1.0)
    product = total - second
    apart = np.sqrt(total**2 - 4.0 * product)
    small, large = 2.0 * product / (total + apart), 0.5 * (total + apart)
    share = (large - 1.0) / (large - small)
    return [(float(share), float(small)), (float(1.0 - share), float(large))]


def alternating(
    io: float,
    cpu: float,
    phases: float,
    rounds: int,
    io_law: PhaseType = _EXPONENTIAL,
    cpu_law: PhaseType = _EXPONENTIAL,
) -> JobStages:
    """Return the stages of a job whose bursts have these laws; a geometric number of them in each round."""
    laws = [
        (law, mean / phases, disk) for law, mean, disk in ((io_law, io, True), (cpu_law, cpu, False)) if mean
    ]
    kinds = [
        (n, chance, rate / mean, disk)
        for n, (law, mean, disk) in enumerate(laws)
        for chance, rate in zip(law.alpha.tolist(), law.exit.tolist(), strict=True)
    ]
    width, last = len(kinds), len(laws) - 1
    burst, chance, leave = (np.array([kind[x] for kind in kinds]) for x in (0, 1, 2))
    first, m = np.where(burst == 0, chance, 0.0), width * rounds
    alpha, jumps, exits = np.zeros(m), np.zeros((m, m)), np.zeros(m)
    alpha[:width] = first
    on = rounds / phases  # probability that a round ends with a phase
    for r in range(rounds):
        here, after = slice(width * r, width * (r + 1)), slice(width * (r + 1), width * (r + 2))
        inside = np.outer(leave * (burst < last), np.where(burst == last, chance, 0.0))
        ends = leave * (burst == last)
        jumps[here, here] = inside + (1.0 - on) * np.outer(ends, first)
        if r + 1 < rounds:
            jumps[here, after] = on * np.outer(ends, first)
        else:
            exits[here] = on * ends
    np.fill_diagonal(jumps, 0.0)  # a stage of one kind of burst goes on in itself
    return JobStages(alpha, jumps, exits, np.array([kind[3] for kind in kinds] * rounds))


@dataclass(frozen=True, eq=False)
class StageTable:
    """Stages of all classes on one allotment."""

    stages: JobStages
    kind: NDArray[np.intp]  #: (m,) class of each stage, or which kind of burst it is in
    io: Array  #: (classes,) mean of a burst of I/O, seconds
    cpu: Array  #: (classes,) mean of a burst of computation, seconds
    #: (classes,) probability of each kind of a burst of computation, where a job's bursts are drawn
    #: one by one; None where a job's bursts are all of its class
    drawn: Array | None = None
    io_mean: float = 0.0  #: mean of a burst of I/O of any kind, where these are drawn too


def stages_of(classes: tuple[SizedClass, ...], workload: Workload, p: float, d: float) -> StageTable:
    """Return the stages of a job of all classes on p processors and d disks."""
    programs = [program for _, program in parts(workload.program)]
    means = np.array(
        [
            [x.size / x.phases * float(time(p, d)) for time in (program.mean_io, program.mean_cpu)]
            for x, program in ((x, programs[x.program]) for x in classes)
        ]
    )
    blocks = [
        alternating(io * x.phases, cpu * x.phases, x.phases, x.rounds)
        for x, (io, cpu) in zip(classes, means.tolist(), strict=True)
    ]
    orders = [block.order for block in blocks]
    alpha, jumps, exits = np.zeros(sum(orders)), np.zeros((sum(orders),) * 2), np.zeros(sum(orders))
    at = 0
    for each, block in zip(classes, blocks, strict=True):
        here = slice(at, at + block.order)
        alpha[here] = each.weight * block.alpha
        jumps[here, here], exits[here] = block.jumps, block.exits
        at = here.stop
    transfers = np.concatenate([block.transfers for block in blocks])
    kind = np.repeat(np.arange(len(classes)), orders)
    return StageTable(JobStages(alpha, jumps, exits, transfers), kind, means[:, 0], means[:, 1])


def burst_stages(workload: Workload, p: float, d: float, rounds: int) -> StageTable | None:
    """Return the stages of a job whose bursts have laws; None where these are not of branches."""
    io, cpu = workload.io_bursts, workload.cpu_bursts
    if io is None or cpu is None or io.jumps.any() or cpu.jumps.any() or len(parts(workload.program)) > 1:
        return None
    means = float(workload.program.mean_io(p, d)), float(workload.program.mean_cpu(p, d))
    if min(means) == 0.0:
        return None
    phases = max(1.0, float(workload.program.mean_phases))
    rounds = min(rounds, max(1, int(phases)))
    stages = alternating(*means, phases, rounds, io, cpu)
    kind = np.tile(np.concatenate([np.arange(io.order), np.arange(cpu.order)]), rounds)
    bursts = [mean / phases / law.exit for mean, law in zip(means, (io, cpu), strict=True)]
    return StageTable(stages, kind, bursts[0], bursts[1], cpu.alpha, means[0] / phases)
