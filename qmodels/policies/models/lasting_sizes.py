"""Jobs in turns that keep their size: how fast they leave a partition, and what of their stay is theirs.

Where computation bursts take turns, each of a partition's jobs has one burst a round, however long.
So all of them leave after as many rounds, large ones get on faster, and while one is there rounds are
long and more jobs come. A partition of many jobs completes fewer than if they shared, one of few
jobs more. With exponential demands, no I/O and room for all, a third more jobs are there at a load
of one half.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from phasefit import PhaseType
from qmodels.policies.models.partition_occupancy import PartitionLoads
from qmodels.policies.models.sized_jobs import two_sizes
from qmodels.policies.models.time_sharing_loads import Machine, Partitions
from qmodels.policies.models.turns import mixed_speeds, partition_classes

Array = NDArray[np.float64]

#: Demands of a larger scv are followed by their branches alone: how partitions get on then goes by which
#: of them have a large job, for long. Chosen by looking at simulated systems, see `tests.campaigns`.
_MOST_VARIABLE: Final = 3.0
#: Starts on a partition, over the most on any, below which it is taken to be as good as never full.
_HARDLY: Final = 1e-9
#: Part by which a mean number may be more and still be the same but for rounding.
_SAME: Final = 1.0 + 1e-9
#: Load of full partitions up to which jobs behind them are counted.
_FULL: Final = 1.0 - 1e-6
Classes = tuple[tuple[float, float], tuple[float, float]]


def with_lasting_sizes(
    machine: Machine, demand: PhaseType, followed: PhaseType | None, step: Partitions
) -> Partitions:
    """Return what the partitions do where their jobs keep their sizes from burst to burst.

    Parameters
    ----------
    machine : Machine
        Whose jobs take turns and have one program.
    demand : PhaseType
        Law of the sizes.
    followed : PhaseType or None
        The two branches by which the jobs are told apart afterwards, which say a part of this.
    step : Partitions
        As jobs that are all alike would leave them.

    Notes
    -----
    The jobs of one partition are counted by two sizes that have the first three moments of the
    demand. What j of them complete in the mean, over what they would if each that ends were replaced,
    is the factor of j; while jobs wait they are replaced, and there it is one. How many jobs the
    partitions hold is found once again with these factors, where all jobs have one speed. Jobs of
    one burst each have no rounds to share: the effect is taken as 1 - 1/n of it for n bursts, to which
    simulated systems of two bursts agree.

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
    few_bursts, unlike = machine.phases <= 1.0, demand.scv > _MOST_VARIABLE
    if len(sizes) < 2 or machine.level_of_detail > 1 or few_bursts or unlike or step.saturated:
        return step
    part = 1.0 - 1.0 / machine.phases
    few, many = sizes
    lasting: Classes = (few, many)
    loads, factor = step.loads, 1.0 + part * (_pace(step.loads, step, lasting) - 1.0)
    if followed is None:
        factor = _bounded(factor, step)
        found = machine.loads(step.cpu, step.arrival_rate, factor)
        # rates without the factor again, which `loss` has
        loads = replace(found, rate=np.concatenate([found.rate[:-1] / factor, found.rate[-1:]]))
        factor = 1.0 + part * (_pace(loads, step, lasting) - 1.0)
    else:
        factor = factor / (1.0 + part * (_pace(loads, step, _branches(followed)) - 1.0))
    factor = _bounded(factor, step)
    loss = np.concatenate([step.loss[:-1] * factor, step.loss[-1:]])
    return replace(step, loads=loads, loss=loss)


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
    most = alone + (alike - alone) * _stretch(min(rate / float(done[-1].sum()), 1.0))
    if jobs(1.0) <= most * _SAME:
        return factor
    part = float(brentq(lambda x: jobs(x) - most, 0.0, 1.0, xtol=1e-9))
    return np.asarray(1.0 + part * (factor - 1.0))


def _stretch(load: float) -> float:
    """How many times as long as in equal shares jobs are delayed whose weights are exponential sizes.

    On one partition with room for all, at a load: 1 / ((1 - r) (1 - r/2)) - 1 over r / (1 - r), by
    discriminatory processor sharing [1]_ of classes whose weights are their mean sizes.
    """
    return (1.5 - load / 2.0) / (1.0 - load / 2.0)


def _branches(law: PhaseType) -> Classes:
    """The probabilities and means of the two branches of a law."""
    (a, b), (first, second) = law.alpha.tolist(), (1.0 / law.exit).tolist()
    return (a, first), (b, second)


def _means(loads: PartitionLoads, step: Partitions) -> tuple[Array, Array]:
    """Ratio of transfer to computation and jobs per second by j, in the mean over k, (M + 1,) each."""
    ratio = np.exp((loads.levels * np.log(step.ratio)).sum(axis=0))
    return np.asarray(ratio), np.asarray((loads.levels * loads.rate * step.loss).sum(axis=0))


def _pace(loads: PartitionLoads, step: Partitions, classes: Classes) -> Array:
    """What j jobs of two classes complete, over what they would were each that ends replaced, (M + 1,)."""
    (first, small), (_, large) = classes
    ratio, done = _means(loads, step)
    means, most = np.array([small, large]), done.size - 1
    ends = np.zeros((most + 1, most + 1, 2))
    for j in np.flatnonzero(done).tolist():
        own, fresh, _ = mixed_speeds(j, first, (small, large), ratio[[j]])
        ends[j, : j + 1] = own[0] / means * done[j] / fresh[0]
    starts = np.maximum(loads.starts, _HARDLY * loads.starts.max())
    law = partition_classes(starts, 0.0, ends, first)
    jobs = np.arange(most + 1)
    counts = np.stack([np.broadcast_to(jobs, law.shape), jobs[:, None] - jobs], axis=-1)
    completed = (law[:, :, None] * np.maximum(counts, 0) * ends).sum(axis=(1, 2))
    wanted = law.sum(axis=1) * done
    return np.asarray(np.divide(completed, wanted, out=np.ones(most + 1), where=wanted > 0.0))
