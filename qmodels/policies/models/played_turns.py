"""The response of jobs that take turns: played on one partition, beside counts of those on the others.

A job in turns waits for bursts of others, as many of them as it has bursts itself and each as long as
its owner is large. So a small one stays nearly as long as a large one, and no chain of a few stages says
how long. One partition alone is soon played with all its bursts. What comes to it from the machine around
it, and how slow that makes its disk, the model knows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from phasefit import MAP, MomentsAdjustedWarning, PhaseType, match_moments
from phasefit.arrays import Array
from qmodels.networks.waiting import kinds_of_arrivals
from qmodels.policies.models._kernels import play_partition
from qmodels.policies.models.base import SolvedQueue
from qmodels.policies.models.described import DrawnTimes
from qmodels.policies.models.lasting_sizes import with_lasting_sizes
from qmodels.policies.models.time_sharing_loads import Machine
from qmodels.policies.system import Workload
from qmodels.programs.model import Program, parts

Ints = NDArray[np.int64]

#: Jobs that are played, at most, at least, and bursts of all of them, about; bursts of a job, at most.
_MOST, _FEWEST, _BURSTS, _OF_A_JOB = 60_000, 12_000, 2_000_000, 64
#: Jobs of the whole machine, at most.
_ALL: Final = 1_000_000
#: Part of the jobs, from the first, that are not counted, for they meet an empty machine.
_WARM_UP: Final = 0.05
#: Points of a law between which its quantiles are joined, each nearer to its end by the same factor.
_POINTS, _POINTS_OF_WAIT = 400, 200
#: The first of these times of a wait, over the last.
_NEAR: Final = 1e-6
#: Phases of a wait beyond which its moments have to do: its tail then takes a second and more.
_MOST_PHASES: Final = 256
#: Jobs that have to take longer for a percentile to be told.
_BEYOND: Final = 10
#: Seed of what is drawn: the same question has the same answer.
_SEED: Final = 20_373_036
#: Least pace of jobs elsewhere, over their mean, in states that the model hardly ever sees.
_HARDLY_SEEN: Final = 0.2


def played_response(solved: SolvedQueue, wait: PhaseType) -> tuple[DrawnTimes, float]:
    """Times from arrival to departure of jobs that take turns.

    Parameters
    ----------
    solved : SolvedQueue
        Of time sharing.
    wait : PhaseType
        The law of the time until a job starts there, seconds.

    Returns
    -------
    times : DrawnTimes
        Seconds.
    beyond : float
        Probability of larger times below which the jobs are too few to tell.

    Notes
    -----
    Of the other partitions only the number of their jobs is followed. It falls at the rate, and the next
    start is on the partition that is played with the probability, that the model has for so many running
    jobs and so many here. Gaps and sizes are the quantiles of their laws in random order. The longest waits
    of the model are those of the jobs that waited longest. Stays on several partitions, or beside an exact
    mean, are as much longer as makes the mean that of the model. With one partition nothing is left out, so
    that they are left as they are: the mean of the times is then not that of the model, but nearer.
    """
    workload, rng = solved.workload, np.random.default_rng(_SEED)
    at = solved.policy.arrangement(solved.system).at_mean_sizes()
    partitions, machine = at.processor_partitions, Machine.of(at, workload, 1.0)
    bursts = 2.0 * min(machine.phases, _OF_A_JOB)
    jobs = int(np.clip(_BURSTS / bursts, _FEWEST, min(_MOST, _ALL / partitions)))
    first, seconds = _bursts(workload, (at.system.processors / partitions, at.disks), jobs, rng)
    gaps = _shuffled(solved.queue.arrivals, jobs * partitions, rng)
    units = _shuffled(PhaseType.exponential(mean=1.0), _MOST, rng)
    around = _around(machine, workload.demand, solved.queue.arrival_rate)
    room = min(at.multiprogramming, at.max_running)
    waits, stays = np.full(jobs, np.nan), np.full(jobs, np.nan)
    play_partition(
        first, seconds, gaps, rng.random(_MOST), units, room, at.max_running, *around, waits, stays
    )
    ended = np.flatnonzero(~np.isnan(stays))
    ended = ended[int(_WARM_UP * ended.size) :]
    rate = solved.queue.arrival_rate
    mean_wait, mean = solved.chain.mean_excess() / rate, solved.chain.mean_level() / rate
    times = stays[ended]
    if partitions > 1 or solved.built.exact:
        times *= (mean - mean_wait) / times.mean()
    in_order = np.lexsort((rng.random(ended.size), waits[ended]))
    times[in_order] += _waits(_of_few_phases(wait), ended.size, mean_wait)
    return DrawnTimes(np.sort(times)), _BEYOND / times.size


def _of_few_phases(wait: PhaseType) -> PhaseType:
    """The law, or if it has many phases one with as many that do not wait and three moments of the rest."""
    some = 1.0 - wait.atom
    if wait.order <= _MOST_PHASES or some <= 0.0:
        return wait
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MomentsAdjustedWarning)
        law = match_moments(*(wait.moment(k) / some for k in (1, 2, 3)), nearest=True)
    return PhaseType.from_rates(some * law.alpha, law.jumps, law.exit, atom=wait.atom)


def _shares(count: int) -> Array:
    """Shares of which so many equally likely values are the quantiles, in rising order."""
    return (np.arange(count) + 0.5) / count


def _of_mean(values: Array, mean: float) -> Array:
    """Values as many times as large as gives them this mean; zeros as they are."""
    total = float(values.mean())
    return values * (mean / total) if total > 0.0 else values


def _waits(law: PhaseType, count: int, mean: float) -> Array:
    """So many quantiles of a wait in rising order, with this mean, by its tail at some times.

    Of many phases that takes a part of the time of as many quantiles that are searched for.
    """
    tails = _shares(count)[::-1]
    times = np.append(0.0, float(law.isf(tails[-1])) * np.geomspace(_NEAR, 1.0, _POINTS_OF_WAIT))
    found: Array = np.interp(-np.log(tails), -np.log(law.sf(times)), times)
    return _of_mean(found, mean)


def _quantiles(ppf: Callable[[Array], Array], count: int, mean: float) -> Array:
    """So many quantiles of a law in rising order, most of them joined between points, with this mean."""
    shares = _shares(count)
    above = np.geomspace(0.5, 0.5 / count, _POINTS)
    at = np.concatenate([np.linspace(0.0, 0.5, _POINTS // 4)[:-1], 1.0 - above])
    at = np.unique(np.clip(at, shares[0], shares[-1]))
    return _of_mean(np.interp(shares, at, ppf(at)), mean)


def _shuffled(law: PhaseType | MAP, count: int, rng: np.random.Generator) -> Array:
    """So many times of a law in random order, or of a process as they come."""
    if isinstance(law, MAP):
        if len(kinds_of_arrivals(law)[1]) > 1:
            return np.asarray(law.rvs(count, random_state=rng))
        law = law.gaps  # renewal
    return np.asarray(rng.permutation(_quantiles(law.ppf, count, law.mean)))


def _demands(law: PhaseType, count: int, rng: np.random.Generator) -> Array:
    """Sizes of so many jobs, of mean one: by the data that the law was fitted to, where there are any."""
    data = law.fitted_to
    if data is None or data.values is None:
        return _shuffled(law.scale(1.0 / law.mean), count, rng)
    sizes = np.quantile(data.values, _shares(count), method="inverted_cdf")
    return np.asarray(rng.permutation(_of_mean(sizes, 1.0)))


def _bursts(
    workload: Workload, allotment: tuple[float, float], count: int, rng: np.random.Generator
) -> tuple[Ints, Array]:
    """The first burst of each of so many jobs, (count + 1,), and the seconds of all, (bursts, 2)."""
    given = [(1.0, workload.program)] if workload.mix == "mean" else parts(workload.program)
    weights = np.cumsum([weight for weight, _ in given])
    program_of = rng.permutation(np.searchsorted(weights, _shares(count) * weights[-1]))
    tables, numbers, merged = [], np.zeros(count, dtype=np.int64), np.ones(count)
    for number, (_, program) in enumerate(given):
        table = np.stack(program.phase_times(*allotment), axis=1)
        bursts = np.full(count, len(table))
        if workload.has_bursts and isinstance(program, Program):
            table = np.stack(program.listed_times(*allotment), axis=1)
            bursts = program.draw_phase_counts(count, rng=rng)
        # so many bursts in turns are as good as any number, whatever their order
        together = -(-int(bursts.mean()) // _OF_A_JOB)
        if together > 1:
            table, bursts = together * table.mean(axis=0)[None, :], -(-bursts // together)
        tables.append(table)
        for values, value in ((numbers, bursts), (merged, together)):
            np.copyto(values, value, where=program_of == number)
    first = np.concatenate([[0], np.cumsum(numbers)])
    burst = np.arange(first[-1]) - np.repeat(first[:-1], numbers)
    sizes = np.array([len(table) for table in tables])
    of_job = np.repeat(program_of, numbers)
    rows = np.cumsum(sizes)[of_job] - sizes[of_job] + burst % sizes[of_job]
    seconds = np.concatenate(tables)[rows]
    if not workload.has_bursts:
        return first, seconds * np.repeat(_demands(workload.demand, count, rng), numbers)[:, None]
    for stage, law in enumerate((workload.io_bursts, workload.cpu_bursts)):
        if law is not None:
            factors = _shuffled(law.scale(1.0 / law.mean), len(seconds), rng)
            seconds[:, stage] *= 1.0 + (factors - 1.0) / np.sqrt(np.repeat(merged, numbers))
    return first, seconds


def _around(machine: Machine, demand: PhaseType, arrival_rate: float) -> tuple[Array, Array, Array]:
    """What comes to a partition from around it, by the jobs that run and those here, (c + 1, M + 1) each.

    The probability that the next start is here, the rate at which jobs elsewhere end, and how many times
    slower than alone the disk is; (1, 1) of one partition.
    """
    at = machine.arrangement
    if at.processor_partitions == 1:
        return np.ones((1, 1)), np.zeros((1, 1)), np.ones((1, 1))
    step = machine.partitions(arrival_rate)
    if machine.persistent:
        step = with_lasting_sizes(machine, demand, step)
    running, here = np.arange(at.max_running + 1)[:, None], np.arange(at.multiprogramming + 1)
    done = step.loads.rate * step.loss
    work = step.work[:, None]
    elsewhere = np.maximum(work - done, _HARDLY_SEEN * work * (1.0 - here / np.maximum(running, 1)))
    slower = (
        np.maximum(step.ratio * (machine.cpu / machine.io), 1.0) if machine.io > 0.0 else np.ones(done.shape)
    )
    return step.loads.next_start, elsewhere, slower
