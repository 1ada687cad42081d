"""CPU time of fits and predictions: ``pytest tests/benchmarks --benchmark-enable``.

The limits of the specification: one component of 20 points and 5 repeats .3 s; 12 phases with
two components each 5 s; the mean surface of 128 x 32 in 50 ms, with intervals 1 s; 20 candidates
for the next run .3 s.
"""

import time

import numpy as np
import pytest

from qmodels.programs import fit_runs
from tests.naive.scaling import SPECIFIED, TARGETS, measured

CPU_TIME = pytest.mark.benchmark(timer=time.process_time)


@pytest.fixture(scope="module")
def task():
    (fitted,) = fit_runs(measured(SPECIFIED["task"], rng=np.random.default_rng(1))).values()
    return fitted


@CPU_TIME
@pytest.mark.parametrize("kind", ["io", "cpu"])
def test_one_component_of_a_hundred_runs(benchmark, kind):
    runs = measured({kind: SPECIFIED["task"][kind]}, repeats=5, rng=np.random.default_rng(1))
    assert benchmark(lambda: fit_runs(runs))["truth"].components[0].runs == 100


@CPU_TIME
def test_twelve_phases_of_two_components(benchmark):
    runs = measured(SPECIFIED["task"], repeats=2, rng=np.random.default_rng(1), phases=12)
    fitted = benchmark.pedantic(lambda: fit_runs(runs), rounds=3)
    assert len(fitted["truth"].components) == 24


@CPU_TIME
def test_the_mean_surface(benchmark, task):
    surface = benchmark(lambda: task.surface(np.arange(1, 129), np.arange(1, 33)))
    assert surface.speedup.shape == (128, 32)


@CPU_TIME
def test_the_surface_with_intervals(benchmark, task):
    found = benchmark(lambda: task.surface_interval(np.arange(1, 129), np.arange(1, 33)))
    assert found.time.shape == (128, 32)


@CPU_TIME
def test_twenty_candidates_for_the_next_run(benchmark, task):
    runs = [(p, d) for p in (16, 32, 48, 64) for d in (4, 8, 16, 24, 32)]
    found = benchmark(lambda: task.next_run(runs, targets=TARGETS))
    assert found.processors.size == 20
