"""Jobs in turns that keep their size: how fast they leave a partition, and what of their stay is theirs.

Where computation bursts take turns, each of a partition's jobs has one burst a round, however long.
So all of them leave after as many rounds, large ones get on faster, and while one is there rounds are
long and more jobs come. A partition of many jobs completes fewer than if they shared, one of few
jobs more. With exponential demands, no I/O and room for all, a third more jobs are there at a load
of one half.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np
from scipy.optimize import brentq

from phasefit import MAP, PhaseType
from phasefit.arrays import Array
from qmodels.markov import solve_qbd
from qmodels.networks.sizes import queue_seconds
from qmodels.policies.models.partition_occupancy import PartitionLoads
from qmodels.policies.models.policy_queue import PolicyQueue, RunningChain
from qmodels.policies.models.sized_jobs import two_sizes
from qmodels.policies.models.time_sharing_loads import Machine, Partitions
from qmodels.policies.models.turns import MOST_BY_CLASS, mixed_speeds, part_in_turns, partition_classes

#: Second and third moment of the sizes of one branch, which is exponential, of mean one.
_OF_A_BRANCH: Final = 2.0, 6.0
#: Starts on a partition, over the most on any, below which it is taken to be as good as never full.
_HARDLY: Final = 1e-9
#: Part by which a mean number may be more and still be the same but for rounding.
_SAME: Final = 1.0 + 1e-9
#: Load of full partitions up to which jobs behind them are counted.
_FULL: Final = 1.0 - 1e-6
#: Seconds that solving a chain may take, about, for the bound to be kept in it.
_SECONDS: Final = 0.2
Classes = tuple[tuple[float, float], tuple[float, float]]


def with_lasting_sizes(machine: Machine, demand: PhaseType, step: Partitions) -> Partitions:
    """Return what the partitions do where their jobs keep their sizes from burst to burst.

    Parameters
    ----------
    machine : Machine
        Whose jobs take turns.
    demand : PhaseType
        Law of the sizes.
    step : Partitions
        As jobs that are all alike would leave them.

    Notes
    -----
    The jobs of one partition are counted by two sizes that have the first three moments of the
    demand. What j of them complete in the mean, over what they would if each that ends were replaced,
    is the factor of j; while jobs wait they are replaced, and there it is one. How many jobs the
    partitions hold is found once again with these factors. Jobs of one burst each have no rounds to share:
    the effect is taken as 1 - 1/n of it for n bursts, to which simulated systems of two bursts agree. Of
    jobs of a mix it is taken as far as their stay is turns of others.

    Partitions that hold many jobs at once do so because more came than usual, not because each has a
    large job, which a factor of j alone cannot know. So no more of it is taken than makes the
    delay of jobs longer by what exponential sizes of as many bursts do on one partition with room
    for all (see `_stretch`); that this is the measure was chosen by looking at simulated systems.

    References
    ----------
    .. [1] G. Fayolle, I. Mitrani, R. Iasnogorodski, "Sharing a processor among many job classes",
       *J. ACM* 27 (1980) 519-532.
    """
    sizes = two_sizes(demand.moment(2), demand.moment(3))
    if len(sizes) < 2 or not _in_rounds(machine, step):
        return step
    few, many = sizes
    factor = _factor(machine, step, step.loads, (few, many))
    found = machine.loads(step.cpu, step.arrival_rate, factor)
    # rates without the factor again, which `loss` has
    loads = replace(found, rate=np.concatenate([found.rate[:-1] / factor, found.rate[-1:]]))
    factor = _factor(machine, step, loads, (few, many))
    return replace(_slower(step, factor), loads=loads)


def lasting_in_branches(
    machine: Machine,
    arrivals: PhaseType | MAP,
    step: Partitions,
    made: Callable[[Partitions], RunningChain],
) -> RunningChain:
    """Return the chain of jobs that are told apart by the branches of their demand and keep their sizes.

    Parameters
    ----------
    machine : Machine
        Whose jobs take turns.
    arrivals : PhaseType or MAP
    step : Partitions
        As jobs that are all alike would leave them.
    made : callable
        The chain of the jobs on such partitions.

    Notes
    -----
    What a chain of the branches leaves out are the sizes of the jobs of one branch, which are
    exponential: see `with_lasting_sizes`, whose factor is found once. With unlike branches partitions
    hold more jobs, and the same factor makes delays longer. So the bound on these is kept once more,
    in the chain itself, where solving it takes no longer than `_SECONDS`.
    """
    plain, rate = made(step), step.arrival_rate
    if rate is None or not _in_rounds(machine, step) or rate >= plain.capacity:
        return plain
    few, many = two_sizes(*_OF_A_BRANCH)
    factor = _factor(machine, step, step.loads, (few, many))
    slower = made(_slower(step, factor))
    if queue_seconds(np.multiply(plain.sizes, arrivals.order)) > _SECONDS:
        return slower
    coming = arrivals.scale(1.0 / (rate * arrivals.mean))

    def jobs(chain: RunningChain) -> float:
        return solve_qbd(PolicyQueue(coming, chain).chain()).mean_level()

    alone = rate / float((step.loads.number * step.loads.rate * step.loss)[1].sum())
    least = jobs(plain)
    most = max(alone + (least - alone) * _stretch(rate / plain.capacity, _in_turns(step)), least)
    reached = jobs(slower)
    if reached <= most * _SAME:
        return slower

    def with_part(part: float) -> RunningChain:
        return made(_slower(step, 1.0 + part * (factor - 1.0)))

    # jobs rise ever faster with the part of the factor: a chord ends below the bound, a second one within 2 %
    part = (most - least) / (reached - least)
    below = jobs(with_part(part))
    return with_part(part + (1.0 - part) * (most - below) / (reached - below))


def _in_rounds(machine: Machine, step: Partitions) -> bool:
    """Whether jobs meet the same others again."""
    return step.loads.followed and machine.phases > 1.0 and not step.saturated


def _factor(machine: Machine, step: Partitions, loads: PartitionLoads, sizes: Classes) -> Array:
    """By how much j jobs of these sizes are slower than they would be were each that ends replaced."""
    part = np.full(step.loss.shape[1], 1.0 - 1.0 / machine.phases)
    if machine.programs:
        # jobs of unlike programs meet where they take turns
        part[2:] *= _turns_of_others(loads, step)
    return _bounded(1.0 + part * (_pace(loads, step, sizes) - 1.0), step)


def _slower(step: Partitions, factor: Array) -> Partitions:
    """Partitions of j jobs slower by a factor of j, but while jobs wait."""
    return replace(step, loss=np.concatenate([step.loss[:-1] * factor, step.loss[-1:]]))


def _bounded(factor: Array, step: Partitions) -> Array:
    """As much of a factor by j as stretches the delay of jobs by no more than `_stretch` says."""
    loads, rate = step.loads, step.arrival_rate
    assert rate is not None
    done = loads.number * loads.rate * step.loss

    def jobs(part: float) -> float:
        """Mean number of jobs, were k of them alike whoever they are."""
        changed = 1.0 + part * (factor - 1.0)
        rates = np.append(done[:-1] @ changed, done[-1].sum())
        logs = np.concatenate([[0.0], np.cumsum(np.log(rate / rates[1:]))])
        law, busy = np.exp(logs - logs.max()), min(rate / float(rates[-1]), _FULL)
        waiting = law[-1] * busy / (1.0 - busy)  # probability of more than c, and how many these are
        number = law @ np.arange(law.size) + waiting * (law.size - 1 + 1.0 / (1.0 - busy))
        return float(number / (law.sum() + waiting))

    alone, alike = rate / float(done[1].sum()), jobs(0.0)
    most = alone + (alike - alone) * _stretch(min(rate / float(done[-1].sum()), 1.0), _in_turns(step))
    if jobs(1.0) <= most * _SAME:
        return factor
    part = float(brentq(lambda x: jobs(x) - most, 0.0, 1.0, xtol=1e-9))
    return np.asarray(1.0 + part * (factor - 1.0))


def _stretch(load: float, part: float) -> float:
    """How many times as long as in equal shares jobs are delayed whose weights are exponential sizes.

    On one partition with room for all, at a load: 1 / ((1 - r) (1 - r/2)) - 1 over r / (1 - r), by
    discriminatory processor sharing [1]_ of classes whose weights are their mean sizes. As much of
    it is meant as is `part` of their stay, the turns of others.
    """
    return 1.0 + part * 0.5 / (1.0 - load / 2.0)


def _in_turns(step: Partitions) -> float:
    """Part of the stay of jobs that are not alone that is turns of others."""
    turns = _turns_of_others(step.loads, step)
    there = step.loads.seen.sum(axis=0)[2:] * np.arange(2, turns.size + 2)
    return float(there @ turns) / max(float(there.sum()), 1e-300)


def _turns_of_others(loads: PartitionLoads, step: Partitions) -> Array:
    """The same of 2..M jobs on a partition, (M - 1,), see `part_in_turns`."""
    ratio, _ = _means(loads, step)
    return np.array([part_in_turns(j, r) for j, r in enumerate(ratio[2:].tolist(), start=2)])


def _means(loads: PartitionLoads, step: Partitions) -> tuple[Array, Array]:
    """Ratio of transfer to computation and jobs per second by j, in the mean over k, (M + 1,) each."""
    ratio = np.exp((loads.levels * np.log(step.ratio)).sum(axis=0))
    return np.asarray(ratio), np.asarray((loads.levels * loads.rate * step.loss).sum(axis=0))


def _pace(loads: PartitionLoads, step: Partitions, classes: Classes) -> Array:
    """What j jobs of two classes complete, over what they would were each that ends replaced, (M + 1,)."""
    (first, small), (_, large) = classes
    ratio, done = _means(loads, step)
    means, most = np.array([small, large]), min(done.size - 1, MOST_BY_CLASS)
    ends = np.zeros((most + 1, most + 1, 2))
    for j in np.flatnonzero(done[: most + 1]).tolist():
        own, fresh, _ = mixed_speeds(j, first, (small, large), ratio[[j]])
        ends[j, : j + 1] = own[0] / means * done[j] / fresh[0]
    starts = np.maximum(loads.starts, _HARDLY * loads.starts.max())[:most]
    law = partition_classes(starts, 0.0, ends, first)
    jobs = np.arange(most + 1)
    counts = np.stack([np.broadcast_to(jobs, law.shape), jobs[:, None] - jobs], axis=-1)
    completed = (law[:, :, None] * np.maximum(counts, 0) * ends).sum(axis=(1, 2))
    wanted = law.sum(axis=1) * done[: most + 1]
    followed = np.flatnonzero(wanted > 0.0)
    found, last = np.ones(done.size), int(followed.max(initial=0))
    found[followed] = completed[followed] / wanted[followed]
    found[last + 1 :] = found[last]  # of more jobs as of the most
    return found
