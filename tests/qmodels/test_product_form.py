import numpy as np
import pytest

from qmodels.errors import ModelError
from qmodels.markov import stationary
from qmodels.networks import disk_group_throughput


def mean_value_analysis(cpu, io, jobs):
    """Machine repair by the recursion of Reiser and Lavenberg."""
    queue = 0.0
    for y in range(1, jobs + 1):
        sojourn = io * (1 + queue)
        throughput = y / (cpu + sojourn)
        queue = throughput * sojourn
    return throughput


def exponential_chain(cpu, io, jobs):
    """Throughput from the chain of job counts at each processor partition; the rest transfer."""
    from itertools import product

    states = list(product(*(range(m + 1) for m in jobs)))
    index = {s: i for i, s in enumerate(states)}
    rates = np.zeros((len(states), len(states)))
    finishing = np.zeros(len(states))
    for s, i in index.items():
        away = [m - n for m, n in zip(jobs, s, strict=True)]
        for c in range(len(jobs)):
            if s[c]:
                to = (*s[:c], s[c] - 1, *s[c + 1 :])
                rates[i, index[to]] += 1 / cpu
                finishing[i] += 1 / cpu
            if away[c]:
                to = (*s[:c], s[c] + 1, *s[c + 1 :])
                rates[i, index[to]] += away[c] / sum(away) / io
    return float(stationary(rates) @ finishing)


@pytest.mark.parametrize(
    ("jobs", "throughput"),
    [(1, 1 / 3), (2, 0.6), (4, 0.90476190), (8, 0.99914052)],
)
def test_the_printed_throughputs_of_machine_repair_come_out(jobs, throughput):
    assert disk_group_throughput(2.0, 1.0, [1] * jobs) == pytest.approx(throughput, abs=5e-9)


@pytest.mark.parametrize("jobs", [1, 3, 16, 200, 1000])
@pytest.mark.parametrize("io", [1e-6, 0.3, 5.0, 1e6])
def test_one_job_per_partition_is_machine_repair(jobs, io):
    ours = disk_group_throughput(1.0, io, [1] * jobs)
    assert ours == pytest.approx(mean_value_analysis(1.0, io, jobs), rel=1e-11)


@pytest.mark.parametrize("jobs", [(2,), (3,), (1, 2), (2, 2, 1), (3, 2)])
def test_several_jobs_per_partition_agree_with_the_chain(jobs):
    assert disk_group_throughput(1.3, 0.7, jobs) == pytest.approx(
        exponential_chain(1.3, 0.7, jobs), rel=1e-12
    )


def test_a_second_job_gains_a_third_when_both_bursts_are_equal():
    """R-57: X_2 / X_1 = (1 + r)^2 / (1 + r + r^2), at most 4/3."""
    for r in (0.1, 0.5, 1.0, 2.0, 10.0):
        gain = disk_group_throughput(r, 1.0, [2]) / disk_group_throughput(r, 1.0, [1])
        assert gain == pytest.approx((1 + r) ** 2 / (1 + r + r**2), rel=1e-13)


def test_a_centre_that_is_not_used_sets_no_limit():
    assert disk_group_throughput(2.0, 0.0, [1, 3]) == 1.0
    assert disk_group_throughput(0.0, 2.0, [1, 3]) == 0.5
    assert disk_group_throughput(2.0, 1.0, []) == disk_group_throughput(2.0, 1.0, [0]) == 0.0


@pytest.mark.parametrize(
    ("cpu", "io", "jobs"),
    [(0, 0, [1]), (-1, 1, [1]), (np.nan, 1, [1]), (1, np.inf, [1]), (1, 1, [-1]), (1, 1, [0.5])],
)
def test_times_and_counts_out_of_range_are_refused(cpu, io, jobs):
    with pytest.raises(ModelError):
        disk_group_throughput(cpu, io, jobs)
