"""What the jobs of one replication are: when they come, how big they are, how their bursts fall."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from phasefit.arrays import Array, Ints
from qmodels.errors import ModelError
from qmodels.policies import Workload
from qmodels.programs import AbstractProgram, Geometric, Program
from qmodels.programs.model import parts
from validation.analysis.seeding import stream
from validation.jobs.renewal import AbstractJobs, RenewalJobs, drawn_jobs
from validation.sharing import _kernels
from validation.sharing.layout import Layout, PhaseTimes

Counts = Callable[..., NDArray[np.intp]]

#: What the streams of a replication are for: the part of their key after (point, replication).
#: Numbers and no names, so that results keep the bits that they were published with. `RenewalJobs`
#: spawns two below its own, so that no stream may lie at the place itself.
JOBS, PHASES, BURSTS, PAUSES, TURNS = range(5)
#: Those that came later have names. Numbers of phases of the programs of a mix are below PHASES.
PROGRAMS: Final = "programs of the jobs"


@dataclass(frozen=True, eq=False)
class JobKind:
    """One of the programs that a job may be."""

    weight: float  #: its probability
    times: PhaseTimes  #: mean bursts on an allotment
    counts: Counts | None  #: draws the numbers of phases, where they differ

    @cached_property
    def phases(self) -> int:
        """Columns of its bursts in the tables, which are as many on all allotments."""
        return int(self.times(1.0, 1.0)[0].size)


@dataclass(frozen=True, eq=False)
class JobSource:
    """Where the jobs of a simulation come from.

    `bursts` draws a factor for every single burst, where there is one.
    """

    jobs: AbstractJobs
    kinds: tuple[JobKind, ...]
    bursts: RenewalJobs | None
    scvs: tuple[float, float]  #: of the times between arrivals and of the jobs' total work

    def times(self, p: float, d: float) -> tuple[Array, Array]:
        """Mean I/O and computation of the phases of all programs, one program after the other."""
        io, cpu = zip(*(kind.times(p, d) for kind in self.kinds), strict=True)
        return np.concatenate(io), np.concatenate(cpu)


@dataclass(frozen=True, eq=False)
class Draw:
    """Jobs of one replication, as the event loop wants them."""

    gaps: Array  #: (jobs,) times between arrivals, mean one
    demand: Array  #: (jobs,) factor of every burst of a job
    first_phase: Ints  #: (jobs + 1,)
    #: (phases of all jobs,), or (1,) if there is none
    io_factor: Array = field(default_factory=lambda: np.ones(1))
    cpu_factor: Array = field(default_factory=lambda: np.ones(1))
    pauses: Array = field(default_factory=lambda: np.empty((0, 0)))  #: (laws, changes) seconds
    picks: Array = field(default_factory=lambda: np.zeros(1))  #: (n,) numbers in [0, 1)
    #: (jobs,) which program each job is, or (1,) if all are of one
    program_of: Ints = field(default_factory=lambda: np.zeros(1, np.int64))
    #: (programs + 1,) first column of each program in the tables of mean bursts; None for one
    columns: Ints | None = None


def job_source(
    workload: Workload,
    jobs: AbstractJobs | None,
    bursts: Any,
    draw_phases: bool | None,
    allotment: tuple[float, float] = (1.0, 1.0),
) -> JobSource:
    """Read a workload and what replaces parts of it; ModelError unless they make a source.

    `allotment`, processors and disks, says where the programs of a mix are compared, which
    decides only how long a run has to be.
    """
    if jobs is not None and not isinstance(jobs, AbstractJobs):
        raise ModelError(
            f"stream_of_jobs must be RenewalJobs, DependentJobs or ReplayedJobs, got {jobs!r:.60}"
        )
    if draw_phases is not None and not isinstance(draw_phases, bool):
        raise ModelError(f"draw_phases must be True, False or None, got {draw_phases!r:.60}")
    laws = (workload.io_bursts, workload.cpu_bursts) if workload.has_bursts else None
    if bursts is not None:
        laws = bursts if isinstance(bursts, tuple) and len(bursts) == 2 else (bursts, bursts)
    drawn = RenewalJobs(*laws) if laws else None
    if jobs is None:
        jobs = drawn_jobs(workload.arrivals, [1.0] if workload.has_bursts else workload.demand)
    given = [(1.0, workload.program)] if workload.mix == "mean" else parts(workload.program)
    kinds = tuple(_kind(weight, each, workload, draw_phases) for weight, each in given)
    # seen from its length alone, a job whose phases are drawn varies like their number
    spreads = [_spread(each, kind, drawn) for (_, each), kind in zip(given, kinds, strict=True)]
    arrivals, demand = jobs.scvs
    if len(kinds) == 1:
        return JobSource(jobs, kinds, drawn, (arrivals, demand + spreads[0]))
    second = 0.0
    for (weight, each), spread in zip(given, spreads, strict=True):
        ratio = float(each.mean_time(*allotment) / workload.program.mean_time(*allotment))
        second += weight * ratio**2 * (1.0 + demand + spread)
    return JobSource(jobs, kinds, drawn, (arrivals, max(second - 1.0, 0.0)))


def _kind(weight: float, program: AbstractProgram, workload: Workload, draw_phases: bool | None) -> JobKind:
    """A program as jobs go through it, with its phases as listed or as many as the mean says."""
    if draw_phases is None:
        draw_phases = workload.has_bursts and isinstance(program, Program)
    if not draw_phases:
        return JobKind(weight, program.phase_times, None)
    if not isinstance(program, Program):
        raise ModelError("draw_phases needs programs; the mean of a mix has its mean number of phases")
    return JobKind(weight, program.listed_times, program.draw_phase_counts)


def _spread(program: AbstractProgram, kind: JobKind, bursts: RenewalJobs | None) -> float:
    """Roughly what the number of phases and their single bursts add to the scv of a job."""
    spread = max(bursts.scvs) / program.mean_phases if bursts else 0.0
    count = program.phase_count if kind.counts and isinstance(program, Program) else None
    if isinstance(count, Geometric):
        spread += 1.0 - 1.0 / count.mean
    return spread


def draw(source: JobSource, plan: Layout, count: int, *, seed: int, key: tuple[int, ...]) -> Draw:
    """Draw `count` jobs at a place of the study.

    Everything random has a stream of its own, keyed by the place, and none depends on the
    policy: whoever simulates another policy at the same place meets the same jobs, burst by
    burst.
    """
    gaps, demand = source.jobs.draw_apart(count, rng=stream(seed, *key, JOBS))
    sizes = [kind.phases for kind in source.kinds]
    program_of = np.zeros(1, dtype=np.int64)
    if len(sizes) > 1:
        weights = np.array([kind.weight for kind in source.kinds])
        rng = stream(seed, *key, PROGRAMS)
        program_of = rng.choice(weights.size, count, p=weights / weights.sum())
    counts = np.empty(count, dtype=np.int64)
    for number, (kind, size) in enumerate(zip(source.kinds, sizes, strict=True)):
        place = () if len(sizes) == 1 else (number,)
        drawn: Any = size
        if kind.counts is not None:
            # of all jobs, whoever they are, so that a job's number does not hang on the others'
            drawn = kind.counts(count, rng=stream(seed, *key, PHASES, *place))
        np.copyto(counts, drawn, where=program_of == number)
    first_phase = np.concatenate([[0], np.cumsum(counts)])
    io_factor = cpu_factor = np.ones(1)
    if source.bursts is not None:
        io_factor, cpu_factor = source.bursts.draw_apart(int(first_phase[-1]), rng=stream(seed, *key, BURSTS))
    pauses = np.empty((len(plan.pauses), 2 * count if plan.pauses else 0))
    for row, law in enumerate(plan.pauses):
        pauses[row] = law.rvs(pauses.shape[1], random_state=stream(seed, *key, PAUSES, row))
    picks = np.zeros(1)
    if _kernels.SIRO in plan.disciplines:
        picks = stream(seed, *key, TURNS).random(int(first_phase[-1]))
    columns = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Draw(gaps, demand, first_phase, io_factor, cpu_factor, pauses, picks, program_of, columns)
