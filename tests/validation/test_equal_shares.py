"""EQUI: its birth-death chain, and simulation beside it."""

import pytest

from qmodels import Burst, Phase, Program, System, UnstableError, Workload, predict
from validation.malleable import random_jobs, simulate_jobs
from validation.malleable.jobs import power
from validation.malleable.policies.equal_shares import EqualShares, equal_shares_response


@pytest.mark.parametrize(("exponent", "golden"), [(0.5, 1.081178814408), (0.9, 0.739401553407)])
def test_has_the_response_of_its_birth_death_chain(exponent, golden):
    assert equal_shares_response(6.4, 8, power(exponent)) == pytest.approx(golden, rel=1e-12)


@pytest.mark.thorough
def test_is_simulated_as_predicted():
    jobs = random_jobs(6.4, [(1.0, [(1.0, 0)])], [power(0.5)], replications=40, jobs=600, seed=39, key=(1,))
    run = simulate_jobs(EqualShares(), jobs, 8.0, confidence=0.999)
    assert run.mean_response.contains(1.081178814408)


def test_says_when_it_is_too_much():
    with pytest.raises(UnstableError, match="EQUI"):
        equal_shares_response(8.0, 8, power(0.5))


def test_is_dynamic_partitioning_where_both_mean_the_same():
    """Of a job that computes alone DP(1) has the same speeds up to as many jobs as processors."""
    program = Program([Phase(io=0.0, cpu=Burst(1.0, law="p/(1+0.2*(p-1))"))])
    for rate in (1.0, 3.0, 3.9):
        dynamic = predict("DP(1)", System(4, 1), Workload(program), arrival_rate=rate)
        equal = equal_shares_response(rate, 4, lambda x: x / (1.0 + 0.2 * (x - 1.0)))
        assert dynamic.mean_response == pytest.approx(equal, rel=1e-12)
