"""Jobs that take turns at the processors of one partition: how fast each of them gets on.

All times are in units of a mean job's computation; `ratio` is its transfer over its computation,
as slow as the disk is for this partition.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from phasefit.arrays import Array, read_only
from qmodels.policies.models._kernels import computing_shares, ratios_between
from qmodels.policies.models.bursts_in_service import served

#: Most jobs on a partition whose order of turns is followed by class, and most that are followed by
#: class at all.
MOST_IN_ORDER: Final = 6
MOST_BY_CLASS: Final = 24
#: Ratios, in logarithms, between those at which turns of many jobs are looked at.
_RATIO_STEP: Final = 0.25


def private_computing(jobs: ArrayLike, ratio: ArrayLike) -> Array:
    """Share of the time that a partition of j jobs computes, in product form.

    ``(1 + r + ... + r^(j-1)) / (1 + r + ... + r^j)``, which is also its throughput.

    Examples
    --------
    >>> private_computing(2, [1.0, 0.5]).round(6)
    array([0.666667, 0.857143])
    """
    (j, r), found = _flat(jobs, ratio)
    computing_shares(j, r, found.reshape(-1))
    return found


def ratio_of_computing(jobs: ArrayLike, computing: ArrayLike) -> Array:
    """The ratio at which a private partition of j jobs computes for this share of the time.

    Examples
    --------
    >>> ratio_of_computing([1, 2], [0.5, 2 / 3]).round(9)
    array([1., 1.])
    """
    (j, wanted), found = _flat(jobs, computing)
    ratios_between(j, wanted, False, found.reshape(-1))
    return found


def own_part(jobs: int, ratio: ArrayLike) -> Array:
    """Part of a job's stay on a partition of j jobs that is its own bursts', in product form.

    The rest are turns of the others at the processors, which last as long for a short job as for a
    long one. At the disk, which is shared, a job's time is longer by its own transfers.

    Examples
    --------
    >>> own_part(2, [1e-9, 1.0, 1e9]).round(6)
    array([0.5     , 0.833333, 1.      ])
    """
    there, log = np.arange(jobs + 1), np.log(np.asarray(ratio, float))[..., None]
    weights = np.exp((jobs - there) * log - jobs * np.maximum(log, 0.0))
    law = weights / weights.sum(axis=-1, keepdims=True)
    waiting = law @ there - (1.0 - law[..., 0])
    return np.asarray(1.0 - waiting / jobs)


def part_in_turns(jobs: int, ratio: float) -> float:
    """Part of a job's stay that is turns of others, over what it is where nobody transfers.

    Parameters
    ----------
    jobs : int
        On the partition, at least 2.
    ratio : float
        Transfer over computation of a job, above zero.

    Examples
    --------
    >>> round(part_in_turns(2, 1e-9), 6), round(part_in_turns(2, 1.0), 6)
    (1.0, 0.333333)
    """
    return (1.0 - float(own_part(jobs, ratio))) / (1.0 - 1.0 / jobs)


def computation_of_rate(jobs: ArrayLike, transfer: ArrayLike, rate: ArrayLike) -> Array:
    """Computation of a job with which a private partition completes jobs at this rate.

    Parameters
    ----------
    jobs : array_like
        On the partition.
    transfer : array_like
        Mean transfer of a job alone.
    rate : array_like
        Jobs per unit of time.
    """
    (j, y, wanted), found = _flat(jobs, transfer, rate)
    ratios_between(j, wanted * y, True, found.reshape(-1))
    return np.asarray(y.reshape(found.shape) / found)


def _flat(*values: ArrayLike) -> tuple[list[Array], Array]:
    """These numbers as the kernels take them, (n,), and room for a result of their shape."""
    whole = np.broadcast_arrays(*(np.asarray(x, float) for x in values))
    return [np.array(x).ravel() for x in whole], np.empty(whole[0].shape)


@lru_cache(maxsize=1)  # 3,000 numbers
def _table() -> tuple[list[Array], Array]:
    """Axes scv, phases, jobs and ratio of the played table, and computing over product form."""
    text = files("qmodels.policies.models").joinpath("turns.csv").read_text("utf-8")
    rows = np.array([line.split(",") for line in text.splitlines()[2:]], dtype=float)
    axes = [np.unique(rows[:, n]) for n in range(4)]
    gain = rows[:, 4] / private_computing(rows[:, 2], rows[:, 3])
    at = [np.searchsorted(axis, rows[:, n]) for n, axis in enumerate(axes)]
    table = np.full([axis.size for axis in axes], np.nan)
    table[tuple(at)] = gain
    return axes, table


def played_gain(scv: float, phases: float, jobs: ArrayLike, ratio: ArrayLike) -> Array:
    """What turns make of the throughput of a private partition: theirs over the product form's.

    Parameters
    ----------
    scv : float
        Squared coefficient of variation of the jobs' sizes.
    phases : float
        Bursts of computation of a job.
    jobs, ratio : array_like
        On the partition, and transfer over computation of a job.

    Returns
    -------
    ndarray

    Notes
    -----
    Interpolated in a table that was played by `tests.campaigns.played_turns` for the laws of
    `match_moments`: linear in the logarithms of scv, phases and ratio and in 1 / jobs, constant
    beyond its ends (scv .1 to 20, 1 to 8 phases, 2 to 8 jobs, ratio 1/32 to 32). Sizes persist
    from burst to burst, which helps, and jobs wait behind long ones, which costs.
    """
    axes, table = _table()
    j, r = np.broadcast_arrays(np.asarray(jobs, float), np.asarray(ratio, float))
    with np.errstate(divide="ignore"):
        points = [
            np.log(np.full(j.shape, scv)),
            np.log(np.full(j.shape, phases)),
            -1 / j,
            np.log(r),
        ]
    scales = [np.log(axes[0]), np.log(axes[1]), -1.0 / axes[2], np.log(axes[3])]
    found, shares = np.zeros(j.shape), []
    for x, scale in zip(points, scales, strict=True):
        x = np.clip(x, scale[0], scale[-1])
        low = np.clip(np.searchsorted(scale, x, side="right") - 1, 0, scale.size - 2)
        shares.append((low, (x - scale[low]) / (scale[low + 1] - scale[low])))
    for corner in np.ndindex(2, 2, 2, 2):
        weight, at = np.ones(j.shape), []
        for bit, (low, share) in zip(corner, shares, strict=True):
            weight = weight * (share if bit else 1.0 - share)
            at.append(low + bit)
        found = found + weight * table[tuple(at)]
    return np.asarray(np.where(j < 1.5, 1.0, found))


def cycles(ones: int, twos: int, means: tuple[float, float], ratio: Array) -> Array:
    """Cycles per unit of time of a job of each of two classes that take turns together.

    Parameters
    ----------
    ones, twos : int
        Jobs of the classes.
    means : tuple of float
        Mean size of the jobs of each class; bursts are exponential.
    ratio : (n,) ndarray

    Returns
    -------
    (n, 2) ndarray
        Zero for a class without jobs.

    Examples
    --------
    >>> cycles(2, 1, (0.52506281, 10.47493719), np.ones(1)).round(8)
    array([[0.33437661, 0.03165049]])
    """
    if ones + twos > MOST_IN_ORDER:
        return _picked(ones, twos, means, ratio)
    fixed, moving, ends = _turns(ones, twos, means)
    found = _stationary(fixed + moving / ratio[:, None, None])
    return np.asarray(found @ ends / np.maximum([ones, twos], 1))


def _picked(ones: int, twos: int, means: tuple[float, float], ratio: Array) -> Array:
    """As `cycles`, where the next one is picked at random: of as many classes, and far fewer states.

    Found at ratios a step apart, between which the logarithms are joined.
    """
    place = np.log(ratio) / _RATIO_STEP
    low = np.floor(place)
    nodes = np.unique(np.concatenate([low, low + 1.0]))
    jobs, slower = np.maximum([ones, twos], 1), np.exp(_RATIO_STEP * nodes).tolist()
    rows = [
        served((ones, twos), means, tuple(mean * slow for mean in means), False).always for slow in slower
    ]
    each = np.array(rows) / np.array(means) / jobs
    at, share = np.searchsorted(nodes, low), (place - low)[:, None]
    return np.asarray(np.maximum((1.0 - share) * each[at] + share * each[at + 1], 0.0))


# A sweep of loads asks for the same few again and again; at most 80 kB each.
@lru_cache(maxsize=64)
def _turns(ones: int, twos: int, means: tuple[float, float]) -> tuple[Array, Array, Array]:
    """Rates of turns that end, of transfers at a ratio of one, and of cycles by class."""
    queues = _queues(ones, twos)
    place = {queue: n for n, queue in enumerate(queues)}
    size = len(queues)
    fixed, moving, ends = np.zeros((size, size)), np.zeros((size, size)), np.zeros((size, 2))
    for n, queue in enumerate(queues):
        away = (ones - queue.count(0), twos - queue.count(1))
        for kind in (0, 1):
            if away[kind]:
                rate = away[kind] / sum(away) / means[kind]
                moving[n, place[(*queue, kind)]] += rate
        if queue:
            fixed[n, place[queue[1:]]] += 1.0 / means[queue[0]]
            ends[n, queue[0]] = 1.0 / means[queue[0]]
    return read_only(fixed), read_only(moving), read_only(ends)


def _queues(ones: int, twos: int) -> list[tuple[int, ...]]:
    """Orders in which any of the jobs may stand at the processors."""
    found: list[tuple[int, ...]] = [()]
    level = found
    for _ in range(ones + twos):
        level = [
            (*queue, kind) for queue in level for kind in (0, 1) if queue.count(kind) < (ones, twos)[kind]
        ]
        found = [*found, *level]
    return found


def _stationary(rates: Array) -> Array:
    """Stationary laws of small chains, (n, states), by elimination without subtractions."""
    q = rates.copy()
    size = q.shape[1]
    for k in range(size - 1, 0, -1):
        leave = q[:, k, :k].sum(axis=1)[:, None]  # 0 of a state that none leads to
        q[:, :k, k] = np.divide(q[:, :k, k], leave, out=np.zeros((len(q), k)), where=leave > 0.0)
        q[:, :k, :k] += q[:, :k, k, None] * q[:, None, k, :k]
    law = np.zeros(q.shape[:2])
    law[:, 0] = 1.0
    for k in range(1, size):
        law[:, k] = np.einsum("ni,ni->n", law[:, :k], q[:, :k, k])
    return np.asarray(law / law.sum(axis=1, keepdims=True))


def mixed_speeds(
    jobs: int, alpha: float, means: tuple[float, float], ratio: Array
) -> tuple[Array, Array, Array]:
    """Speeds of the classes in every mix of j jobs, and the throughput of fresh ones.

    Parameters
    ----------
    jobs : int
    alpha : float
        Probability that a job is of the first class.
    means : tuple of float
    ratio : (n,) ndarray

    Returns
    -------
    speeds : (n, j + 1, 2) ndarray
        Work per unit of time of each job, by the number of jobs of the first class.
    throughput : (n,) ndarray
        Jobs per unit of time where each that ends is replaced by a fresh one.
    law : (n, j + 1) ndarray
        Probabilities of the mixes then.
    """
    cycling = np.stack([cycles(a, jobs - a, means, ratio) for a in range(jobs + 1)], axis=1)
    ones = np.arange(jobs + 1.0)
    leave = cycling * np.stack([ones, jobs - ones], axis=1)
    law = law_of_replaced(leave, alpha)
    throughput = np.asarray((law[:, :, None] * leave).sum(axis=(1, 2)))
    return cycling * np.array(means), throughput, law


def law_of_replaced(leave: Array, alpha: float) -> Array:
    """Law of how many of j jobs are of the first class, where each that ends is replaced by a fresh one.

    Parameters
    ----------
    leave : (n, j + 1, 2) ndarray
        Ends per unit of time of the jobs of each class, by the number of the first.
    alpha : float
        Probability that a fresh one is of the first class.

    Returns
    -------
    (n, j + 1) ndarray

    Examples
    --------
    >>> law_of_replaced(np.array([[[0.0, 2.0], [1.0, 0.0]]]), 0.5)
    array([[0.33333333, 0.66666667]])
    """
    size = leave.shape[1]
    rates = np.zeros((len(leave), size, size))
    for a in range(size - 1):
        rates[:, a, a + 1] = leave[:, a, 1] * alpha
        rates[:, a + 1, a] = leave[:, a + 1, 0] * (1.0 - alpha)
    return _stationary(rates)


def partition_classes(starts: Array, replaced: float, ends: Array, alpha: float) -> Array:
    """Law of the jobs of one partition, by their number and how many are of the first class.

    Parameters
    ----------
    starts : (M,) ndarray
        Starts per second on a partition that holds j jobs.
    replaced : float
        Share of the jobs that leave a full partition whose place is taken at once.
    ends : (M + 1, M + 1, 2) ndarray
        Ends per second of one job of each class, by j and by the jobs of the first class.
    alpha : float
        Probability that a job is of the first class.

    Returns
    -------
    (M + 1, M + 1) ndarray
    """
    most = starts.size
    states = [(j, a) for j in range(most + 1) for a in range(j + 1)]
    place = {state: n for n, state in enumerate(states)}
    rates = np.zeros((1, len(states), len(states)))
    classes = ((0, alpha), (1, 1.0 - alpha))
    for (j, a), here in place.items():
        if j < most:
            for kind, chance in classes:
                rates[0, here, place[j + 1, a + (kind == 0)]] += starts[j] * chance
        for kind, held in ((0, a), (1, j - a)):
            if not held:
                continue
            rate, rest = held * float(ends[j, a, kind]), a - (kind == 0)
            again = replaced if j == most else 0.0
            rates[0, here, place[j - 1, rest]] += rate * (1.0 - again)
            for other, chance in classes:
                if j == most and other != kind:
                    rates[0, here, place[j, rest + (other == 0)]] += rate * again * chance
    found = np.zeros((most + 1, most + 1))
    for state, probability in zip(states, _stationary(rates)[0], strict=True):
        found[state] = probability
    return found
