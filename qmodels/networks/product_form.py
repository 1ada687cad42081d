"""Processor partitions that share one processor-sharing disk, in product form."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from phasefit.arrays import Array, read_only
from phasefit.checks import real_number, whole_number
from qmodels.errors import ModelError

#: Coefficients up to which polynomials are multiplied one by one, and products held at a time.
_FEW, _AT_ONCE = 3, 4_000_000


def disk_group_throughput(cpu: float, io: float, jobs: Sequence[int]) -> float:
    """Return the throughput of processor partitions that share one disk partition.

    A job alternates between its processor partition, where computation bursts are served one
    at a time, and the disk, which is shared by processor sharing.

    Parameters
    ----------
    cpu, io : float
        Mean computation and mean I/O of a job when nothing else runs, in seconds; only their
        sum over the phases matters. Not both zero.
    jobs : sequence of int
        Jobs held by each processor partition of the group.

    Returns
    -------
    float
        Jobs completed per second.

    Raises
    ------
    ModelError
        If a time is negative or not finite, both are zero, or a count is negative.

    Notes
    -----
    The state probability of a closed network with one queue per processor partition and one
    shared disk has product form [1]_; summing over the states with J jobs at the disk gives
    ``G = sum_J J! [x^J] prod_c sum_j cpu^(m_c - j) (io x)^j / j!`` and the throughput of
    partition c is ``G(m - e_c) / G(m)``. With one job per partition this is the machine-repair
    model. Processor sharing makes the result insensitive to the laws of the I/O bursts; where a
    processor partition holds several jobs, its bursts are taken as exponential.

    References
    ----------
    .. [1] Baskett et al. 1975.

    Examples
    --------
    Two jobs that compute for 2 s and use the disk for 1 s:

    >>> round(disk_group_throughput(2.0, 1.0, [1, 1]), 12)
    0.6
    """
    cpu, io = real_number("cpu", cpu, least=0.0), real_number("io", io, least=0.0)
    if cpu == 0 and io == 0:
        raise ModelError("a job must use the processors or the disk: cpu and io are both zero")
    held = list(jobs)
    if set(map(type, held)) - {int} or min(held, default=0) < 0:  # thousands are looked at together
        held = [whole_number("jobs of a partition", m, least=0) for m in held]
    return _throughput(cpu, io, tuple(sorted([m for m in held if m > 0])))


@lru_cache(maxsize=4096)
def _throughput(cpu: float, io: float, jobs: tuple[int, ...]) -> float:
    if not jobs:
        return 0.0
    if io == 0.0:
        return len(jobs) / cpu
    if cpu == 0.0:
        return 1.0 / io
    if jobs[-1] == 1:
        return float(machine_repair(cpu, io, len(jobs))[1:].sum()) / io
    scale = max(cpu, io)  # keeps the powers of the times within range
    log_g = _log_normaliser(cpu / scale, io / scale, jobs)
    total = 0.0
    for held in sorted(set(jobs)):
        one_fewer = list(jobs)
        one_fewer[one_fewer.index(held)] = held - 1
        fewer = _log_normaliser(cpu / scale, io / scale, tuple(one_fewer))
        total += jobs.count(held) * float(np.exp(fewer - log_g))
    return total / scale


def machine_repair(think: float, service: float, jobs: int, servers: int = 1) -> Array:
    """Return the probability of 0, 1, ..., `jobs` jobs at a shared centre; the others think on their own.

    Parameters
    ----------
    think, service : float
        Mean time away from the centre and mean service there, in seconds, both above zero.
    jobs : int
        Jobs in the network.
    servers : int
        So many jobs are served at full speed, more share it.

    Returns
    -------
    (jobs + 1,) ndarray
        Every entry to full relative accuracy: the products run outward from the largest one.

    Raises
    ------
    ModelError
        If a time is not above zero and finite, or a count is out of its range.

    Notes
    -----
    ``p(i) ~ think^(jobs - i) service^i / ((jobs - i)! prod_{k <= i} min(k, servers))`` [1]_, for
    processor sharing or preemption by the last to arrive whatever the laws, and in order of
    arrival or at random for exponential services.

    References
    ----------
    .. [1] Baskett et al. 1975.

    Examples
    --------
    >>> machine_repair(2.0, 1.0, jobs=2)
    array([0.4, 0.4, 0.2])
    """
    think = real_number("think", think, above=0.0)
    service = real_number("service", service, above=0.0)
    servers = min(whole_number("servers", servers, least=1), max(jobs, 1))
    return repair_law(think, service, whole_number("jobs", jobs, least=0), servers)


def repair_law(think: float, service: float, jobs: int, speed: float) -> Array:
    """Return `machine_repair` where the centre works at any speed, a whole number or not.

    Parameters
    ----------
    think, service : float
        Mean time away from the centre and mean service there by one server, in seconds.
    jobs : int
        Jobs in the network.
    speed : float
        Jobs that are served at full speed; more share it. None of these is checked.

    Returns
    -------
    (jobs + 1,) ndarray
        Probabilities of 0, 1, ..., `jobs` jobs at the centre.
    """
    with np.errstate(over="ignore", divide="ignore"):
        climb = _away_over_speed(jobs, speed) * (np.float64(service) / think)
        mode = int(np.count_nonzero(climb > 1.0))
        weights = np.ones(jobs + 1)
        weights[:mode] = (1.0 / climb[:mode][::-1]).cumprod()[::-1]
        weights[mode + 1 :] = climb[mode:].cumprod()
    return np.asarray(weights / weights.sum())


# Whoever looks for a fixed point asks for the same few jobs and speed again and again.
@lru_cache(maxsize=4)
def _away_over_speed(jobs: int, speed: float) -> Array:
    """With 0, 1, ..., `jobs` - 1 at the centre: jobs away over the speed with one more there."""
    below = np.arange(jobs)
    return read_only(np.asarray((jobs - below) / np.minimum(below + 1, speed)))


def _log_normaliser(cpu: float, io: float, jobs: tuple[int, ...]) -> float:
    """Logarithm of G; all terms are positive, so logarithms lose nothing."""
    product = np.zeros(1)
    for held in sorted(set(jobs)):
        product = log_convolve(product, _log_power(cpu, io, held, jobs.count(held)))
    return float(np.logaddexp.reduce(product + log_factorials(sum(jobs))))


# Policies ask for one number of partitions after the other, with the same few times.
@lru_cache(maxsize=256)
def _log_power(cpu: float, io: float, held: int, partitions: int) -> Array:
    """Logarithms of the coefficients of so many partitions that hold equally many jobs."""
    if held == 1:  # the binomial theorem
        j = np.arange(partitions + 1)
        ways = log_factorials(partitions)
        found = (partitions - j) * np.log(cpu) + j * np.log(io) + (ways[-1] - ways - ways[::-1])
    elif partitions > 1:
        half = _log_power(cpu, io, held, partitions // 2)
        found = log_convolve(half, half)
        if partitions % 2:
            found = log_convolve(found, _log_power(cpu, io, held, 1))
    else:
        j = np.arange(held + 1)
        found = (held - j) * np.log(cpu) + j * np.log(io) - log_factorials(held)
    return read_only(np.asarray(found))


def birth_death_weights(climb: Array) -> Array:
    """Return the probabilities of 0, 1, ..., n over the largest of them: no power overflows.

    Parameters
    ----------
    climb : (..., n) ndarray
        Logarithms of the rate up from 0, 1, ..., n - 1 over the rate down again.

    Returns
    -------
    (..., n + 1) ndarray
        Of each chain along the last axis.

    Examples
    --------
    >>> birth_death_weights(np.log([2.0, 0.5]))
    array([0.5, 1. , 0.5])
    """
    logs = np.concatenate([np.zeros((*climb.shape[:-1], 1)), np.cumsum(climb, axis=-1)], axis=-1)
    return np.asarray(np.exp(logs - logs.max(axis=-1, keepdims=True)))


def log_factorials(most: int) -> Array:
    """Return the logarithms of 0!, 1!, ..., most!.

    Parameters
    ----------
    most : int
        The largest number, at least 0.

    Returns
    -------
    (most + 1,) ndarray
        Of 0! first.
    """
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, most + 1)))])


def log_convolve(a: Array, b: Array) -> Array:
    """Return the product of two polynomials of positive coefficients, all by their logarithms.

    Parameters
    ----------
    a, b : (n,) and (m,) array
        Logarithms of the coefficients, of the lowest power first; -inf for a coefficient of zero.

    Returns
    -------
    (n + m - 1,) ndarray
        Logarithms of the coefficients of the product.
    """
    short, long = (a, b) if a.size < b.size else (b, a)
    if short.size <= _FEW or short.size * long.size > _AT_ONCE:
        result = np.full(a.size + b.size - 1, -np.inf)
        for shift, term in enumerate(short.tolist()):
            window = result[shift : shift + long.size]
            np.logaddexp(window, long + term, out=window)
        return result
    # each row holds all the products that make up one coefficient
    edge = np.full(short.size - 1, -np.inf)
    padded = np.concatenate([edge, long, edge])
    products = np.lib.stride_tricks.sliding_window_view(padded, short.size) + short[::-1]
    largest = products.max(axis=1, keepdims=True)
    largest[np.isneginf(largest)] = 0.0  # a coefficient of zero
    np.exp(products - largest, out=products)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(products.sum(axis=1)) + largest[:, 0])
