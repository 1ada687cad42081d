"""Jobs drawn from a mix: waits at a load, and what saturates the machine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from phasefit.arrays import Array
from phasefit.checks import real_number, whole_number
from phasefit.records import Record
from qmodels.errors import ModelError
from qmodels.rigid import RigidMix
from validation.analysis.estimates import Estimate, estimate
from validation.analysis.seeding import stream
from validation.jobs.disciplines import AbstractDiscipline, find_discipline
from validation.rigid.model import RigidJobs, RigidMachine
from validation.rigid.simulator import saturated_starts, simulate_rigid

#: Jobs left out at the beginning of a replication: one of so many.
_WARM = 10


@dataclass(frozen=True)
class SaturatedRun(Record):
    """Servers in front of which jobs always wait, simulated.

    Parameters
    ----------
    throughput : Estimate
        Jobs per second.
    utilisation : Estimate
        Share of the servers that work.
    """

    throughput: Estimate
    utilisation: Estimate


def draw_jobs(mix: RigidMix, jobs: int, *, arrival_rate: float, rng: np.random.Generator) -> RigidJobs:
    """Return jobs of a mix with Poisson arrivals; their limits are their run times.

    Parameters
    ----------
    mix : RigidMix
        The classes; a job's class stands in its column `user`.
    jobs : int
        How many, at least one.
    arrival_rate : float
        Jobs per second, > 0.
    rng : numpy.random.Generator
        Source of randomness.

    Examples
    --------
    >>> mix = RigidMix.of(8, (1, 8), (2 / 3, 1 / 3), (1.0, 1.0))
    >>> draw_jobs(mix, 4, arrival_rate=1.0, rng=np.random.default_rng(1)).need
    array([1, 8, 1, 8])
    """
    count = whole_number("jobs", jobs, least=1)
    rate = real_number("arrival_rate", arrival_rate, above=0.0)
    of = rng.choice(len(mix.classes), count, p=mix.shares / mix.shares.sum())
    run = np.empty(count)
    for c, each in enumerate(mix.classes):
        mine = of == c
        run[mine] = each.law.rvs(int(mine.sum()), random_state=rng)
    submit = np.cumsum(rng.exponential(1.0 / rate, count))
    return RigidJobs(submit, mix.needs[of], np.maximum(run, 1e-12), user=of)


def simulate_saturated(
    mix: RigidMix,
    discipline: AbstractDiscipline | str = "FCFS",
    *,
    backlog: int = 1,
    jobs: int = 40_000,
    replications: int = 10,
    confidence: float = 0.95,
    seed: int = 0,
) -> SaturatedRun:
    """Return what servers do in front of which so many jobs of a mix always wait.

    Parameters
    ----------
    mix : RigidMix
        The jobs and the servers.
    discipline : AbstractDiscipline or str
        As for `simulate_rigid`.
    backlog : int
        Jobs that always wait, at least one; in order of arrival one is as good as many, under
        backfilling it plays the part of the depth.
    jobs, replications : int
        Jobs of a replication, and independent replications, at least two.
    confidence : float
        Level of the intervals.
    seed : int
        Root of all randomness.

    Returns
    -------
    SaturatedRun
        Both with intervals.

    Examples
    --------
    >>> mix = RigidMix.of(8, (1, 8), (2 / 3, 1 / 3), (1.0, 1.0))
    >>> simulate_saturated(mix, jobs=4000).throughput.contains(1.4278918798)
    True
    """
    chosen = find_discipline(discipline)
    whole_number("replications", replications, least=2)
    rates, shares = [], []
    for k in range(replications):
        drawn = draw_jobs(mix, jobs, arrival_rate=1.0, rng=stream(seed, "saturated", k))
        rate, share = saturated_rates(drawn, mix.servers, chosen, backlog=backlog)
        rates.append(rate)
        shares.append(share)
    return SaturatedRun(estimate(rates, confidence=confidence), estimate(shares, confidence=confidence))


def saturated_rates(
    jobs: RigidJobs, machine: RigidMachine | int, discipline: AbstractDiscipline | str, *, backlog: int
) -> tuple[float, float]:
    """Return jobs started per second, and the share of the processors held, while so many always wait.

    Parameters
    ----------
    jobs : RigidJobs
        They come in their order whenever fewer than `backlog` wait; their times are not used.
    machine : RigidMachine or int
        Its nodes, or a number of processors.
    discipline : AbstractDiscipline or str
        As for `simulate_rigid`.
    backlog : int
        Jobs that always wait, at least one.

    Raises
    ------
    ModelError
        If there are too few jobs to leave out a beginning.

    Examples
    --------
    >>> jobs = RigidJobs([0] * 4000, [1, 4] * 2000, [1.0] * 4000)
    >>> _, utilisation = saturated_rates(jobs, 4, "FCFS", backlog=1)
    >>> round(utilisation, 3)
    0.625
    """
    machine = machine if isinstance(machine, RigidMachine) else RigidMachine(machine)
    start = saturated_starts(jobs, machine, discipline, backlog=whole_number("backlog", backlog, least=1))
    times: Array = np.sort(start[~np.isnan(start)])
    if times.size == 0 or not times[-1] > times[times.size // _WARM]:
        raise ModelError(f"{len(jobs):,} jobs are too few to saturate a machine of {machine.processors:,}")
    first, last = times[times.size // _WARM], times[-1]
    begin, end = np.clip(start, first, last), np.clip(start + jobs.run, first, last)
    held = float(np.nansum(jobs.need * (end - begin)))
    started = np.count_nonzero((start >= first) & (start < last))
    return float(started / (last - first)), held / (machine.processors * float(last - first))


def open_waits(
    mix: RigidMix,
    *,
    load: float,
    throughput: float,
    jobs: int = 100_000,
    replications: int = 4,
    discipline: AbstractDiscipline | str = "FCFS",
    confidence: float = 0.95,
    seed: int = 0,
) -> tuple[Estimate, list[Estimate]]:
    """Return the mean wait under Poisson arrivals, of all jobs and of each class.

    Parameters
    ----------
    mix : RigidMix
        The jobs and the servers.
    load, throughput : float
        Jobs come at the product of both per second.
    jobs, replications : int
        Jobs of a replication, the first tenth not counted, and independent replications, at least two.
    discipline : AbstractDiscipline or str
        As for `simulate_rigid`.
    confidence : float
        Level of the intervals.
    seed : int
        Root of all randomness.

    Raises
    ------
    ModelError
        If fewer than two replications have a job of each class.

    Notes
    -----
    Of a class that is rare the replications that have a job of it count.

    Examples
    --------
    >>> one_server = RigidMix.of(1, (1,), (1.0,), (1.0,))
    >>> wait, _ = open_waits(one_server, load=0.5, throughput=1.0, jobs=20_000)
    >>> wait.contains(1.0)
    True
    """
    every, parts = [], []
    for k in range(whole_number("replications", replications, least=2)):
        drawn = draw_jobs(mix, jobs, arrival_rate=load * throughput, rng=stream(seed, "open", k))
        kept = slice(jobs // _WARM, None)
        wait = simulate_rigid(drawn, mix.servers, discipline).wait[kept]
        of = drawn.user[kept]
        every.append(wait.mean())
        sums, counts = (np.bincount(of, x, len(mix.classes)) for x in (wait, None))
        parts.append(np.where(counts > 0, sums / np.maximum(counts, 1), np.nan))
    columns = [column[~np.isnan(column)] for column in np.array(parts).T]
    for c, column in enumerate(columns):
        if column.size < 2:
            raise ModelError(
                f"class {c} has jobs in {column.size} of {replications} replications, and a mean with an "
                f"interval needs two; simulate more jobs than {jobs:,}"
            )
    return estimate(every, confidence=confidence), [estimate(c, confidence=confidence) for c in columns]
