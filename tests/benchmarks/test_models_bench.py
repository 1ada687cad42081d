"""CPU time of predictions and simulations: ``pytest tests/benchmarks --benchmark-enable``."""

import numpy as np
import pytest

from phasefit import PhaseType
from qmodels.io import load_scenario
from qmodels.policies import SpaceSharing, System, TimeSharing, Workload, capacity, predict
from qmodels.programs import Burst, Geometric, Phase, Program
from tests.validation.test_study import DEMO
from validation import simulate


@pytest.fixture(scope="module")
def demo():
    plan = load_scenario(DEMO / "scenario.toml")
    return plan.system, Workload.from_scv(plan.program, demand_scv=4.0, arrival_scv=4.0)


@pytest.mark.parametrize("policy", [SpaceSharing(16, 4), TimeSharing(16, 4)], ids=str)
def test_a_prediction(benchmark, demo, policy):
    machine, work = demo
    rate = 0.8 * capacity(policy, machine, work)
    found = benchmark(lambda: predict(policy, machine, work, arrival_rate=rate))
    assert np.isfinite(found.mean_response)


@pytest.mark.parametrize(
    ("policy", "model"),
    [
        (SpaceSharing(3, 1), "decomposition"),
        (SpaceSharing(16, 4), "decomposition"),
        (SpaceSharing(3, 1), "exact"),
        (TimeSharing(4, 4), "exact"),
    ],
    ids=str,
)
def test_a_prediction_burst_by_burst(benchmark, policy, model):
    """Building included: nothing is remembered from one round to the next."""
    bursts = Phase(io=Burst(1.0, law="1"), cpu=Burst(2.0, law="1"))
    program = Program([bursts], phase_count=Geometric(4))
    machine = System(processors=16, disks=4)

    def fresh():
        work = Workload(program, io_bursts=PhaseType.exponential(mean=1.0))
        return predict(policy, machine, work, arrival_rate=0.05, model=model)

    found = benchmark(fresh)
    benchmark.extra_info["states"] = found.states
    assert found.model == model


@pytest.mark.parametrize("policy", [SpaceSharing(4, 4), TimeSharing(16, 4)], ids=str)
def test_a_simulation_of_twenty_thousand_jobs(benchmark, demo, policy):
    machine, work = demo
    rate = 0.6 * capacity(policy, machine, work)
    run = benchmark(
        lambda: simulate(policy, machine, work, arrival_rate=rate, jobs=20_000, replications=1, workers=1)
    )
    benchmark.extra_info["events"] = run.events
    assert run.events > 16 * 20_000
