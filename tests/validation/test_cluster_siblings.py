"""Siblings of a parallel job: at every barrier all wait for the one whose accesses took longest."""

import numpy as np
import pytest
from scipy.special import gammainc

from tests.naive.cluster import by_requests
from validation.cluster import Cluster, ClusterTrace, simulate_cluster
from validation.cluster._kernels import state
from validation.cluster._kernels.siblings import expected_slowest
from validation.cluster.history import alone_times


def drawn_alone(tasks, rate, *, scv, barriers, rng):
    """Slowdown of a job alone, and its error: at every barrier all wait for the slowest task."""
    accesses = rng.poisson(rate * 100.0, (barriers, tasks))
    mean, shape = 0.0144, 1.0 / scv
    disk = rng.gamma(np.maximum(shape * accesses, 1e-300)) * mean / shape * (accesses > 0)
    slowest = 0.1 + disk.max(axis=1) + 0.001
    each = 0.1 * (1.0 + 1000.0 * rate * mean + 0.01)
    return slowest.mean() / each, slowest.std(ddof=1) / barriers**0.5 / each


@pytest.mark.parametrize("scv", [1.0, 0.1])
@pytest.mark.parametrize("rate", [0.02, 0.1, 1.0])
@pytest.mark.parametrize("tasks", [2, 4, 8])
def test_tasks_of_a_job_alone_wait_at_barriers_for_the_one_with_the_longest_accesses(tasks, rate, scv):
    trace = ClusterTrace(
        arrivals=[0.0], homes=[0], tasks=[tasks], demands=[20.0], memory=[64.0], io_rates=[rate]
    )
    cluster = Cluster.of(tasks, access_dispersion=1.0 + scv)
    run = simulate_cluster(cluster, trace, "NLB")
    known, error = drawn_alone(tasks, rate, scv=scv, barriers=20_000, rng=np.random.default_rng(5))
    # The largest of Gamma laws by pairs of normal ones is known to a per cent of the whole.
    assert abs(run.slowdown[0] - known) < 4.0 * error + 0.01 * known
    assert known > 1.04
    assert 1.0 + run.part("barrier")[0] == pytest.approx(run.slowdown[0], rel=1e-4)


def test_tasks_that_differ_wait_for_whichever_is_the_slowest():
    """Means of the largest of unlike Gamma laws, by pairs, against their product law."""
    rng = np.random.default_rng(8)
    for _ in range(30):
        tasks = np.zeros(int(rng.integers(2, 17)), state.TASK)
        tasks["cpu_time"] = 1.0 + rng.exponential(0.5, tasks.size)
        tasks["disk_time"] = rng.exponential(1.5, tasks.size)
        tasks["scale"] = tasks["disk_time"] / rng.uniform(2.0, 40.0, tasks.size)
        known = mean_of_the_largest(tasks["cpu_time"], tasks["disk_time"], tasks["scale"])
        found = expected_slowest(tasks, 0, tasks.size, 1.0)
        assert found == pytest.approx(known, rel=0.03)
        assert (tasks["cpu_time"] + tasks["disk_time"]).max() <= found


def mean_of_the_largest(steady, mean, scale):
    """Of a steady time and a Gamma law each: the integral of the chance that one is beyond x."""
    x = np.linspace(0.0, (steady + mean + 12.0 * np.sqrt(mean * scale)).max() + 1.0, 4001)
    below = np.prod(gammainc(mean / scale, np.maximum(x[:, None] - steady, 0.0) / scale), axis=1)
    return np.trapezoid(1.0 - below, x)


@pytest.mark.thorough
def test_siblings_that_share_nodes_with_other_jobs_take_as_long_as_access_by_access():
    """Where they are taken to wait for nobody's accesses slowdowns are a tenth too low."""
    errors = []
    for seed in range(4):
        rng = np.random.default_rng([3, seed])
        trace = ClusterTrace(
            arrivals=np.sort(rng.uniform(0.0, 8.0, 5)),
            homes=rng.integers(0, 4, 5),
            tasks=rng.integers(2, 5, 5),
            demands=rng.uniform(0.55, 2.05, 5),
            memory=np.full(5, 10.0),
            io_rates=rng.uniform(0.05, 0.2, 5),
        )
        alone, _ = alone_times(Cluster.of(4), trace)
        single = [
            (by_requests(Cluster.of(4), trace, np.random.default_rng([seed, k])) - trace.arrivals) / alone
            for k in range(2)
        ]
        known = np.mean(single)
        errors.append(
            [
                simulate_cluster(Cluster.of(4, access_dispersion=d), trace, "NLB").slowdown.mean() / known
                - 1.0
                for d in (2.0, 0.0)
            ]
        )
    with_waits, without = np.array(errors).T
    assert abs(with_waits.mean()) < 4.0 * with_waits.std(ddof=1) / 2.0 + 0.03
    assert without.mean() < -0.08
