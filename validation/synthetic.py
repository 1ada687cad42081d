"""Synthetic measurements of programs: the times of a model with random noise added."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from phasefit.checks import instance_of, real_number, whole_number
from qmodels.errors import MemoryBudgetError, ModelError
from qmodels.io import RunTable
from qmodels.programs import AbstractProgram, Program, WorkloadMix
from qmodels.programs.phases import Burst, Component
from qmodels.programs.quantities import SMALLEST
from validation.jobs.renewal import AbstractJobs

if TYPE_CHECKING:
    import pandas as pd

PARTITIONS = tuple(2**k for k in range(7))  #: 1 to 64, as on the Paragon of the source

MOST_RUNS = 1_000_000

_COLUMNS = ("program", "phase", "kind", "p", "d", "seconds", "repeat")


def synthetic_runs(
    program: Program | WorkloadMix,
    allotments: Sequence[tuple[int, int]] | None = None,
    *,
    repeats: int = 1,
    noise: float = 0.05,
    rng: np.random.Generator,
) -> RunTable:
    """Time every burst of a program on every allotment, as single-user runs with noise would.

    Parameters
    ----------
    program : Program or WorkloadMix
        Of a mixture, each of its programs is measured.
    allotments : sequence of (int, int), optional
        Processors and disks of each run. By default the partitions of the Intel Paragon XP/S
        that the source measured on: 1, 2, 4, ..., 64 processors by as many disks, 49 in all.
    repeats : int
        Runs on each allotment.
    noise : float
        Coefficient of variation of a timing, 0 to 10: each is the burst's time multiplied by a
        lognormal factor of mean one.
    rng : numpy.random.Generator
        Source of all noise.

    Returns
    -------
    runs : RunTable
        What `qmodels.io.read_runs` reads from a file; `qmodels.programs.fit_runs` takes it.

    Raises
    ------
    ModelError
        If an argument is out of range, an allotment is there twice, two programs have the same
        name, or a burst of 0 s was drawn.
    MemoryBudgetError
        If there would be more than 1,000,000 timings.

    Notes
    -----
    Every phase that the program lists is timed once per run. What is random in the program is
    drawn anew for each run. A burst that takes no time is not timed.

    References
    ----------
    .. [1] E. Rosti, G. Serazzi, E. Smirni, M. S. Squillante, "The impact of I/O on program
       behavior and parallel scheduling", *Proc. ACM SIGMETRICS* 1998, section 2.5.

    Examples
    --------
    >>> from qmodels.programs import Phase, fit_runs
    >>> program = Program([Phase(io=8.0, cpu=64.0)], name="solver")
    >>> runs = synthetic_runs(program, noise=0.0, rng=np.random.default_rng(1))
    >>> len(runs.frame), fit_runs(runs)["solver"].components[1].formula
    (98, '64/p')
    """
    import pandas as pd

    instance_of("program", program, (Program, WorkloadMix), "Program or WorkloadMix")
    instance_of("rng", rng, np.random.Generator, "numpy.random.Generator")
    repeats = whole_number("repeats", repeats, least=1)
    noise = real_number("noise", noise, least=0.0)
    if noise > 10.0:
        raise ModelError(f"noise must be from 0 to 10, got {noise:.6g}")
    where = _checked_allotments(allotments)
    programs = list(program.programs) if isinstance(program, WorkloadMix) else [program]
    names = [part.name or f"program {i}" for i, part in enumerate(programs, start=1)]
    if len(set(names)) < len(names):
        raise ModelError(f"programs must have different names, got {', '.join(names)}")
    timings = 2 * sum(len(part.phases) for part in programs) * len(where) * repeats
    if timings > MOST_RUNS:
        raise MemoryBudgetError(f"{timings} timings are more than {MOST_RUNS}; measure fewer")
    rows = []
    components: tuple[Component, Component] = ("io", "cpu")
    for name, part in zip(names, programs, strict=True):
        for number, phase in enumerate(part.phases, start=1):
            for kind in components:
                burst = phase.burst(kind)
                if float(burst.mean_time(1.0, 1.0)) < SMALLEST:
                    continue
                for p, d in where:
                    times = _timed(burst, p, d, repeats, noise, rng)
                    rows += [(name, number, kind, p, d, t, r) for r, t in enumerate(times, start=1)]
    return RunTable(pd.DataFrame(rows, columns=list(_COLUMNS)), "synthetic")


def _timed(burst: Burst, p: int, d: int, repeats: int, noise: float, rng: np.random.Generator) -> list[float]:
    times = burst.draw(np.array([float(p)]), np.array([float(d)]), rng=rng, size=repeats)[0]
    if times.min() < SMALLEST:
        raise ModelError("a burst of 0 s was drawn, which cannot be timed; drop zeros of samples")
    spread = math.sqrt(math.log1p(noise * noise))
    factors = np.exp(spread * rng.standard_normal(repeats) - 0.5 * spread**2)
    return [float(t) for t in times * factors]


def _checked_allotments(given: Sequence[tuple[int, int]] | None) -> list[tuple[int, int]]:
    if given is None:
        return [(p, d) for p in PARTITIONS for d in PARTITIONS]
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ModelError(f"allotments must be a list of pairs (p, d), got {given!r:.60}")
    where = []
    for i, pair in enumerate(given):
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise ModelError(f"allotments[{i}] must be a pair (p, d), got {pair!r:.60}")
        p, d = (whole_number(f"allotments[{i}]", units, least=1) for units in pair)
        where.append((p, d))
    if len(set(where)) < len(where):
        raise ModelError("allotments must be different; ask for repeats instead")
    return where


def synthetic_log(
    jobs: AbstractJobs,
    program: AbstractProgram,
    count: int,
    *,
    arrival_rate: float,
    sizes: Sequence[int],
    disks: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Draw a job log as a machine running these programs might have written it.

    Parameters
    ----------
    jobs : AbstractJobs
        Shapes of the times between arrivals and of the demand.
    program : Program or WorkloadMix
        Gives the run time of a job of mean demand on its processors and all `disks`.
    count : int
        Jobs in the log.
    arrival_rate : float
        Jobs per second.
    sizes : sequence of int
        Processor counts, drawn from with equal chances.
    disks : int
        Disks of the machine.
    rng : numpy.random.Generator
        Source of arrivals, demands, sizes and users.

    Returns
    -------
    pandas.DataFrame
        Columns job, submit, run, processors, status, user, partition; for `qmodels.io.write_swf`.
        Times in seconds, rounded to hundredths; every job is completed.
    """
    import pandas as pd

    gaps, demands = jobs.draw(count, rng=rng)
    processors = rng.choice(np.asarray(sizes), size=count)
    alone = {p: float(program.mean_io(p, disks) + program.mean_cpu(p, disks)) for p in set(sizes)}
    run = demands * np.array([alone[int(p)] for p in processors])
    submit = np.concatenate([[0.0], np.cumsum(gaps)[:-1]]) / arrival_rate
    return pd.DataFrame(
        {
            "job": np.arange(1, count + 1),
            "submit": submit.round(2),
            "run": np.maximum(run.round(2), 0.01),
            "processors": processors,
            "status": 1,
            "user": rng.integers(1, 30, size=count),
            "partition": 1,
        }
    )
