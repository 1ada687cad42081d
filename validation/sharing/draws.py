"""What the jobs of one replication are: when they come, how big they are, how their bursts fall."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qmodels.errors import ModelError
from qmodels.policies import Workload
from qmodels.programs import Geometric, Program
from validation.analysis.seeding import stream
from validation.jobs.renewal import AbstractJobs, RenewalJobs
from validation.sharing import _kernels
from validation.sharing.layout import Layout, PhaseTimes

Array = NDArray[np.float64]
Counts = Callable[..., NDArray[np.intp]]

#: What the streams of a replication are for: the part of their key after (point, replication).
#: Numbers and no names, so that results keep the bits that they were published with. `RenewalJobs`
#: spawns two below its own, so that no stream may lie at the place itself.
JOBS, PHASES, BURSTS, PAUSES, TURNS = range(5)


@dataclass(frozen=True, eq=False)
class JobSource:
    """Where the jobs of a simulation come from.

    `times` gives the mean bursts on an allotment; `counts` draws the numbers of phases, where
    they differ; `bursts` draws a factor for every single burst, where there is one.
    """

    jobs: AbstractJobs
    times: PhaseTimes
    counts: Counts | None
    bursts: RenewalJobs | None
    scvs: tuple[float, float]  #: of the times between arrivals and of the jobs' total work


@dataclass(frozen=True, eq=False)
class Draw:
    """Jobs of one replication, as the event loop wants them."""

    gaps: Array  #: (jobs,) times between arrivals, mean one
    demand: Array  #: (jobs,) factor of every burst of a job
    first_phase: NDArray[np.int64]  #: (jobs + 1,)
    io_factor: Array  #: (phases of all jobs,), or (1,) if there is none
    cpu_factor: Array
    pauses: Array  #: (laws, changes) seconds
    picks: Array  #: (n,) numbers in [0, 1)


def job_source(
    workload: Workload, jobs: AbstractJobs | None, bursts: Any, draw_phases: bool | None
) -> JobSource:
    """Read a workload and what replaces parts of it; ModelError unless they make a source."""
    if jobs is not None and not isinstance(jobs, AbstractJobs):
        raise ModelError(f"stream_of_jobs must be RenewalJobs or ReplayedJobs, got {jobs!r:.60}")
    if draw_phases is not None and not isinstance(draw_phases, bool):
        raise ModelError(f"draw_phases must be True, False or None, got {draw_phases!r:.60}")
    program = workload.program
    laws = (workload.io_bursts, workload.cpu_bursts) if workload.has_bursts else None
    if bursts is not None:
        laws = bursts if isinstance(bursts, tuple) and len(bursts) == 2 else (bursts, bursts)
    drawn = RenewalJobs(*laws) if laws else None
    if draw_phases is None:
        draw_phases = workload.has_bursts and isinstance(program, Program)
    if jobs is None:
        jobs = RenewalJobs(workload.arrivals, [1.0] if workload.has_bursts else workload.demand)
    times, counts, spread = program.phase_times, None, 0.0
    if draw_phases:
        if not isinstance(program, Program):
            raise ModelError("draw_phases needs a Program; a mix has its mean number of phases")
        times, counts = program.listed_times, program.draw_phase_counts
        if isinstance(program.phase_count, Geometric):
            spread = 1.0 - 1.0 / program.phase_count.mean
    arrivals, demand = jobs.scvs
    if drawn:
        demand += max(drawn.scvs) / program.mean_phases
    return JobSource(jobs, times, counts, drawn, (arrivals, demand + spread))


def draw(source: JobSource, plan: Layout, count: int, *, seed: int, key: tuple[int, ...]) -> Draw:
    """Draw `count` jobs at a place of the study.

    Everything random has a stream of its own, keyed by the place, and none depends on the
    policy: whoever simulates another policy at the same place meets the same jobs, burst by
    burst.
    """
    gaps, demand = source.jobs.draw_apart(count, rng=stream(seed, *key, JOBS))
    phases = plan.io_time.shape[1]
    counts = np.full(count, phases, dtype=np.int64)
    if source.counts is not None:
        counts = np.asarray(source.counts(count, rng=stream(seed, *key, PHASES)), dtype=np.int64)
    first_phase = np.concatenate([[0], np.cumsum(counts)])
    io_factor = cpu_factor = np.ones(1)
    if source.bursts is not None:
        io_factor, cpu_factor = source.bursts.draw_apart(
            int(first_phase[-1]), rng=stream(seed, *key, BURSTS)
        )
    pauses = np.empty((len(plan.pauses), 2 * count if plan.pauses else 0))
    for row, law in enumerate(plan.pauses):
        pauses[row] = law.rvs(pauses.shape[1], random_state=stream(seed, *key, PAUSES, row))
    picks = np.zeros(1)
    if _kernels.SIRO in plan.disciplines:
        picks = stream(seed, *key, TURNS).random(int(first_phase[-1]))
    return Draw(gaps, demand, first_phase, io_factor, cpu_factor, pauses, picks)
