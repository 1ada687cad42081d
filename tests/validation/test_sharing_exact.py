"""The exact chains and the simulator against each other, on named cases and on random ones."""

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import kstest

from phasefit import PhaseType, match_moments
from qmodels.errors import MemoryBudgetError
from qmodels.policies import DynamicPartitioning, SpaceSharing, System, TimeSharing, Workload
from qmodels.programs import Burst, Geometric, Phase, Program
from validation import crossvalidate

SP, DP, TS = SpaceSharing, DynamicPartitioning, TimeSharing
ONE = PhaseType.exponential(mean=1.0)


def alternating(cpu=2.0, io=1.0, count=None):
    """Specification 9.7: the same bursts on any allotment, geometric phases of mean 5."""
    phase = Phase(io=Burst(io, law="1"), cpu=Burst(cpu, law="1"))
    return Program([phase], phase_count=count or Geometric(mean=5.0))


@pytest.mark.thorough
@pytest.mark.parametrize("policy", [TS(1, 1, 2), TS(2, 1, 2), TS(2, 2, 2)], ids=str)
def test_the_exact_chain_of_time_sharing_is_what_the_simulator_sees(policy):
    work = Workload(alternating(), io_bursts=ONE, cpu_bursts=ONE)
    machine = System(processors=4, disks=2)
    found = crossvalidate(
        policy,
        machine,
        work,
        arrival_rate=0.06,
        model="exact",
        replications=20,
        jobs=10_000,
        warm_up=1000,
        seed=7,
    )
    assert found.prediction.method == "exact"
    # three comparisons: 99.9 % intervals, and narrow ones
    assert abs(found.z_score) < 3.3
    assert found.resolution < 0.03


def _law(rng):
    kind = rng.integers(3)
    if kind == 0:
        return ONE
    return PhaseType.erlang(phases=2, mean=1.0) if kind == 1 else match_moments(1.0, 4.0)


def configuration(number):
    """One of four kinds of systems whose chains are exact and small, with a fraction of capacity.

    Private disks and a demand of its own; shared disks; time sharing; dynamic partitioning.
    """
    rng = np.random.default_rng([1998, number])
    fraction, kind = float(rng.uniform(0.2, 0.85)), number % 4
    if kind == 0:
        phases = [
            Phase(io=Burst(rng.gamma(2.0), law="min(d, p/2)"), cpu=Burst(rng.gamma(2.0) * 5))
            for _ in range(rng.integers(1, 4))
        ]
        work = Workload.from_scv(
            Program(phases),
            demand_scv=float(rng.choice([0.5, 1.0, 2.0, 4.0])),
            arrival_scv=float(rng.choice([0.5, 1.0, 3.0])),
        )
        k = int(rng.choice([1, 2, 4]))
        return SP(k, int(rng.choice([d for d in (1, 2, 4, 8) if d >= k]))), 8, work, fraction
    count = Geometric(mean=float(rng.uniform(1.0, 6.0))) if rng.random() < 0.5 else None
    cpu, io = (float(rng.gamma(2.0)) + 0.1 for _ in range(2))
    work = Workload(alternating(cpu, io, count), io_bursts=_law(rng), cpu_bursts=_law(rng))
    if kind == 1:
        return SP(*(int(k) for k in rng.choice([(2, 1), (3, 1), (3, 2)]))), 6, work, fraction
    if kind == 2:
        chosen = tuple(int(k) for k in rng.choice([(1, 1, 2), (1, 1, 3), (2, 1, 2), (2, 2, 2)]))
        simple = Workload(alternating(cpu, io, count), io_bursts=ONE, cpu_bursts=ONE)
        return TS(*chosen), 8, simple, fraction
    overhead = PhaseType.exponential(mean=0.2 * io) if rng.random() < 0.5 else None
    disks, units = rng.choice([(1, 2), (2, 2), (1, 3), (3, 3)])
    return DP(int(disks), overhead=overhead), int(units), work, fraction


def agreement(number, **options):
    """Compare one random configuration; None where its chain is too large."""
    from qmodels.policies import capacity

    policy, units, work, fraction = configuration(number)
    machine = System(processors=units, disks=units, min_processors=1)
    rate = fraction * capacity(policy, machine, work)
    model = "exact" if work.has_bursts else "auto"
    try:
        return crossvalidate(
            policy,
            machine,
            work,
            arrival_rate=rate,
            model=model,
            seed=number,
            replications=20,
            memory=2e8,
            **options,
        )
    except MemoryBudgetError:
        return None


def scores(numbers, **options):
    found = [agreement(number, **options) for number in numbers]
    assert all(a.prediction.method == "exact" for a in found if a)
    return np.array([a.z_score for a in found if a])


@pytest.mark.thorough
def test_a_sample_of_random_configurations_is_exact_within_the_simulators_noise():
    z = scores(range(16), jobs=3000)
    assert z.size >= 12
    assert np.abs(z).max() < -ndtri(0.0005 / z.size)


@pytest.mark.slow
def test_scores_of_three_hundred_configurations_are_standard_normal(record_property):
    z = scores(range(320))
    record_property("configurations", z.size)
    for name, value in (("mean", z.mean()), ("sd", z.std()), ("largest", np.abs(z).max())):
        record_property(f"z_{name}", float(value))
    assert z.size >= 300
    assert np.abs(z).max() < -ndtri(0.0005 / z.size)
    assert kstest(z, "norm").pvalue > 0.001
