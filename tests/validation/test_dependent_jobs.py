"""Arrivals that depend on those before, in the simulator and in the models."""

import numpy as np
import pytest

from phasefit import MAP, PhaseType, match_moments
from qmodels.errors import ModelError
from qmodels.policies import SpaceSharing, System, Workload, predict
from qmodels.programs import Burst, Geometric, Phase, Program
from validation import simulate
from validation.jobs import DependentJobs, RenewalJobs

TIDES = MAP.modulated([[0.0, 0.1], [0.05, 0.0]], rates=[2.0, 0.3])
WORK = Workload(Program([Phase(io=1.0, cpu=9.0)]), match_moments(1.0, 3.0), TIDES)


def test_jobs_keep_the_correlation_across_any_number_of_them():
    gaps, demands = DependentJobs(TIDES, WORK.demand).draw(200_000, rng=np.random.default_rng(3))
    groups = gaps.reshape(100, -1)
    pairs = (groups[:, 1:] * groups[:, :-1]).mean(axis=1)
    wanted = TIDES.autocorrelation(1) * TIDES.scv + 1.0
    assert abs(pairs.mean() - wanted) < 4.0 * pairs.std(ddof=1) / 10.0
    assert abs(demands.mean() - 1.0) < 4.0 * (2.0 / demands.size) ** 0.5
    longer, _ = DependentJobs(TIDES, WORK.demand).draw(9_000, rng=np.random.default_rng(3))
    assert np.array_equal(longer, gaps[:9_000])


def test_another_law_of_demand_leaves_the_arrivals_alone():
    one, two = (
        DependentJobs(TIDES, law).draw_apart(500, rng=np.random.default_rng(8))
        for law in (WORK.demand, [1.0, 2.0])
    )
    assert np.array_equal(one[0], two[0])
    assert not np.array_equal(one[1], two[1])


def test_runs_are_as_long_as_the_dispersion_of_the_arrivals_asks():
    dependent, renewal = DependentJobs(TIDES, [1.0]), RenewalJobs(TIDES.gaps, [1.0])
    assert dependent.scvs[0] == pytest.approx(TIDES.dispersion(np.inf))
    assert dependent.scvs[0] > 3.0 * renewal.scvs[0]
    with pytest.raises(ModelError, match="must be a MAP"):
        DependentJobs(PhaseType.exponential(mean=1.0), [1.0])


@pytest.mark.thorough
@pytest.mark.parametrize("policy", [SpaceSharing(1, 1), SpaceSharing(4, 4)])
def test_the_simulator_and_the_model_agree_where_the_model_is_exact(policy):
    machine = System(processors=4, disks=4)
    found = predict(policy, machine, WORK, load=0.4)
    assert found.method == "exact"
    run = simulate(
        policy,
        machine,
        WORK,
        load=0.4,
        seed=11,
        replications=12,
        jobs=40_000,
        percentiles=(0.5, 0.95),
    )
    for seen, wanted in (
        (run.mean_response, found.mean_response),
        (run.mean_wait, found.mean_wait),
        (run.percentile(0.5), found.percentile(0.5)),
        (run.percentile(0.95), found.percentile(0.95)),
    ):
        assert abs(seen.mean - wanted) < 4.0 * seen.half_width / 2.2  # t at 95 %, 11 degrees
    # the law of the gaps alone predicts far too little
    alone = predict(policy, machine, Workload(WORK.program, WORK.demand, TIDES.gaps), load=0.4)
    assert alone.mean_wait < 0.8 * found.mean_wait
    assert not run.mean_response.contains(alone.mean_response)


@pytest.mark.thorough
def test_percentiles_of_bursts_on_one_disk_are_those_of_the_simulator():
    """The chain by stage is exact on one disk partition, and follows what comes behind a job."""
    program = Program(
        [Phase(io=Burst(8.0, law="min(d, p/2)"), cpu=Burst(24.0, law="p"))],
        phase_count=Geometric(3),
    )
    machine, policy = System(8, 2, min_processors=2), SpaceSharing(4, 1)
    work = Workload(program, io_bursts=match_moments(1.0, 3.0), arrivals=TIDES)
    found = predict(policy, machine, work, load=0.35)
    assert (found.method, found.model) == ("exact", "crowding")
    shares = (0.5, 0.95, 0.99)
    run = simulate(
        policy,
        machine,
        work,
        load=0.35,
        seed=3,
        replications=12,
        jobs=15_000,
        percentiles=shares,
    )
    seen = [run.mean_response, *(run.percentile(q) for q in shares)]
    wanted = [found.mean_response, *(found.percentile(q) for q in shares)]
    for one, other in zip(seen, wanted, strict=True):
        assert abs(one.mean - other) < 4.0 * one.half_width / 2.2  # t at 95 %, 11 degrees
