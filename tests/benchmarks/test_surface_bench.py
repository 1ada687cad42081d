"""CPU time of speedup surfaces: ``pytest tests/benchmarks --benchmark-enable``."""

import time

import numpy as np
import pytest
from scipy import stats

from phasefit import PhaseType, match_moments
from qmodels.programs import Burst, Phase, Program, speedup_surface
from qmodels.programs.allotments import allotment_path
from qmodels.programs.profiles import reference_mix
from qmodels.programs.random_laws import CONTENDED, FED, RandomLaw

PROCESSORS, DISKS = np.arange(1, 129), np.arange(1, 33)


def saturating(p, d, theta):
    return p / (1.0 + theta * p)


def random_program():
    """Twelve different phases: every quantity random, and the scaling of every burst."""
    rng = np.random.default_rng(1)
    phases = []
    for n in range(12):
        kind = n % 3
        seconds = (
            match_moments(40.0 + n, 2.0 * (40.0 + n) ** 2),
            stats.lognorm(1.0, scale=30.0 + n),
            rng.gamma(2.0, 20.0, 1000),
        )[kind]
        r = (
            PhaseType.erlang(phases=4, mean=4.0),
            stats.gamma(4.0, scale=1.0),
            rng.gamma(4, 1, 500),
        )
        c = (stats.beta(2.0, 50.0), rng.beta(2, 50, 500), 0.02)
        io = Burst(seconds, law=RandomLaw(FED, r[kind]))
        if n < 10:
            cpu = Burst(seconds, 0.1 * (kind != 1), RandomLaw(CONTENDED, c[kind]), 0.01, "log2(p)")
        else:
            cpu = Burst(seconds, law=RandomLaw(saturating, stats.expon(scale=0.02)))
        phases.append(Phase(io, cpu))
    return Program(phases)


@pytest.mark.parametrize("make", [random_program, reference_mix])
def test_a_surface_of_128_by_32_allotments(benchmark, make):
    started = time.process_time()
    program = make()
    benchmark.extra_info["construction_seconds"] = time.process_time() - started
    surface = benchmark(lambda: speedup_surface(program, PROCESSORS, DISKS))
    assert np.all(np.isfinite(surface.speedup))


def test_making_a_program_with_random_scaling(benchmark):
    assert benchmark(random_program).method == "quadrature"


def test_a_path_of_a_hundred_budgets(benchmark):
    mix = reference_mix()
    path = benchmark(lambda: allotment_path(mix, np.linspace(5.0, 256.0, 100), disk_price=4.0))
    assert len(path.steps) == 100
