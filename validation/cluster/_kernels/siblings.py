"""How long a job takes whose tasks wait for each other: the mean of the slowest of them."""

from __future__ import annotations

from math import erfc, exp, pi, sqrt

from numba import njit

from phasefit.compiled import UNCOUNTED

#: Standard deviations by which one task has to be behind another to count as never the slower.
_NEVER = 4.0
_ROOT_2, _ROOT_2_PI = sqrt(2.0), sqrt(2.0 * pi)


@njit(**UNCOUNTED)
def expected_slowest(tasks, first, last, spread):
    """Mean seconds for each CPU-second of the slowest of some tasks, at every barrier anew.

    Parameters
    ----------
    tasks : (m,) TASK
        Of which `cpu_time`, `disk_time` and `scale` are read.
    first, last : int
        Which of them are the job's.
    spread : float
        Dispersion of accesses over the CPU-seconds between two barriers; 0 if all tasks always
        take their means.

    Returns
    -------
    float

    Notes
    -----
    A task takes `cpu_time` and, at the disk, a sum of a random number of random accesses, taken for
    a Gamma law of mean `disk_time` and scale theta = `spread` times `scale`. The mean and the
    variance of the largest are those of normal laws, two by two [1]_. What the skewness adds is by
    the expansion of Cornish and Fisher [2]_ of a Gamma law, x = m + sigma z + theta (z^2 - 1) / 3 +
    theta^2 (z^3 - 7 z) / (36 sigma), with m, sigma and theta weighted by which task is the slowest.
    It is no less than the mean of any task, and no more than if all accesses came one after the
    other.

    References
    ----------
    .. [1] C. E. Clark, "The greatest of a finite set of random variables", *Operations Research* 9
       (1961) 145-162.
    .. [2] R. A. Fisher, E. A. Cornish, "The percentile points of distributions having known
       cumulants", *Technometrics* 2 (1960) 209-225.
    """
    slowest, cpu, disk = 0.0, 0.0, 0.0
    mean, variance = 0.0, 0.0  # of the largest so far
    own_mean, own_variance, theta = 0.0, 0.0, 0.0  # of the task that it is, on average
    for place in range(first, last):
        task = tasks[place]
        its_mean = task.cpu_time + task.disk_time
        its_theta = spread * task.scale
        its_variance = task.disk_time * its_theta
        slowest = max(slowest, its_mean)
        cpu, disk = max(cpu, task.cpu_time), disk + task.disk_time
        apart = sqrt(variance + its_variance)
        if place == first or its_mean - mean > _NEVER * apart:
            mean, variance = its_mean, its_variance
            own_mean, own_variance, theta = its_mean, its_variance, its_theta
            continue
        if mean - its_mean >= _NEVER * apart:
            continue
        z = (mean - its_mean) / apart
        stays = 0.5 * erfc(-z / _ROOT_2)
        goes, density = 1.0 - stays, exp(-0.5 * z * z) / _ROOT_2_PI
        square = (mean * mean + variance) * stays + (its_mean * its_mean + its_variance) * goes
        square += (mean + its_mean) * apart * density
        mean = mean * stays + its_mean * goes + apart * density
        variance = max(square - mean * mean, 0.0)
        own_mean = stays * own_mean + goes * its_mean
        own_variance = stays * own_variance + goes * its_variance
        theta = stays * theta + goes * its_theta
    if own_variance <= 0.0:
        return slowest
    sigma = sqrt(own_variance)
    z, v = (mean - own_mean) / sigma, variance / own_variance
    mean += theta / 3.0 * (z * z + v - 1.0)
    mean += theta * theta / (36.0 * sigma) * (z * z * z + 3.0 * z * v - 7.0 * z)
    return max(min(mean, cpu + disk), slowest)
