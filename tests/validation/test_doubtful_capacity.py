"""Loads next to a capacity that is itself in doubt: played, said, and never called the best."""

import json
from math import inf

import numpy as np
import pytest

from phasefit import PhaseType, match_moments
from qmodels.errors import UnstableError
from qmodels.policies import (
    DynamicPartitioning,
    SpaceSharing,
    System,
    TimeSharing,
    Workload,
    capacity,
    predict,
    recommend,
)
from qmodels.programs import Geometric, Phase, Program
from validation import simulate
from validation.sharing import simulate_candidates
from validation.sharing.simulator import _grows

SP, DP, TS = SpaceSharing, DynamicPartitioning, TimeSharing
MACHINE = System(processors=16, disks=4, min_processors=4)
VARIABLE = Workload.from_scv(Program([Phase(io=16.0, cpu=64.0)]), demand_scv=10.0)
STEADY = Workload.from_scv(Program([Phase(io=16.0, cpu=64.0)]), demand_scv=0.5)
ONE = PhaseType.exponential(mean=1.0)
SHORT = {"jobs": 20_000, "warm_up": 2000, "replications": 8, "seed": 1}


def test_time_sharing_with_turns_is_played_next_to_its_stated_capacity_and_says_so():
    most = capacity(TS(1, 1, 2), MACHINE, VARIABLE)
    run = simulate(TS(1, 1, 2), MACHINE, VARIABLE, arrival_rate=1.019 * most, **SHORT)
    assert "101.9% of a capacity" in run.warnings[0]
    assert "warning: the arrival rate" in run.table()
    # and below: nothing is said
    run = simulate(TS(1, 1, 2), MACHINE, STEADY, arrival_rate=0.89 * most, **SHORT)
    assert (run.warnings, run.saturated) == ((), False)


def test_what_product_form_would_refuse_is_played_where_turns_carry_more():
    """Demands that hardly vary: 1 % beyond product form there is a steady state, unquestioned."""
    product = capacity(TS(1, 1, 2), MACHINE, STEADY, model="speed-scaled")
    assert capacity(TS(1, 1, 2), MACHINE, STEADY) > 1.04 * product
    run = simulate(TS(1, 1, 2), MACHINE, STEADY, arrival_rate=1.01 * product, **SHORT)
    assert (run.warnings, run.saturated) == ((), False)


def test_what_product_form_would_carry_is_refused_where_turns_carry_less():
    product = capacity(TS(1, 1, 2), MACHINE, VARIABLE, model="speed-scaled")
    assert capacity(TS(1, 1, 2), MACHINE, VARIABLE) < 0.96 * product
    with pytest.raises(UnstableError):
        simulate(TS(1, 1, 2), MACHINE, VARIABLE, arrival_rate=0.99 * product)


@pytest.mark.thorough
def test_a_run_without_a_steady_state_is_said_to_be_saturated():
    """Bursts with laws of their own, whose capacity under turns is in doubt by 10 %."""
    program = Program([Phase(io=16.0, cpu=64.0)], phase_count=Geometric(3.0))
    work = Workload(program, io_bursts=ONE, cpu_bursts=match_moments(1.0, 9.0))
    most = capacity(TS(1, 1, 2), MACHINE, work)
    run = simulate(TS(1, 1, 2), MACHINE, work, arrival_rate=1.09 * most, **SHORT)
    assert run.saturated
    assert "no steady state" in run.warnings[0]


@pytest.mark.parametrize("policy", [SP(4, 1), DP(1), TS(4, 1, 1), TS(1, 1, 2, cpu_discipline="ps")], ids=str)
def test_a_capacity_that_is_not_in_doubt_is_still_a_limit(policy):
    most = capacity(policy, MACHINE, VARIABLE)
    with pytest.raises(UnstableError):
        simulate(policy, MACHINE, VARIABLE, arrival_rate=most)
    run = simulate(policy, MACHINE, VARIABLE, arrival_rate=0.95 * most, jobs=100, warm_up=0)
    assert run.warnings == ()


def test_far_beyond_a_capacity_in_doubt_time_sharing_is_refused_too():
    most = capacity(TS(1, 1, 2), MACHINE, VARIABLE)
    with pytest.raises(UnstableError):
        simulate(TS(1, 1, 2), MACHINE, VARIABLE, arrival_rate=1.02 * most)


def test_growth_is_told_from_settling_and_from_noise(rng):
    noise = rng.normal(0.0, 1.0, (3, 20))
    growing, settling = np.array([[0.0], [100.0], [200.0]]), np.array([[0.0], [100.0], [120.0]])
    assert _grows(growing + noise)
    assert not _grows(settling + noise)
    assert not _grows(noise)
    assert _grows(growing)
    assert not _grows(settling)


def test_two_replications_that_disagree_do_not_grow():
    assert not _grows(np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 1.0]]))
    assert _grows(np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0001]]))


@pytest.mark.thorough
def test_a_policy_that_turns_out_saturated_is_no_candidate():
    """The stated capacity is that of sharing, which holds; turns carry less."""
    turns, shared = TS(1, 1, 2), TS(1, 1, 2, cpu_discipline="ps")
    rate = 0.99 * capacity(shared, MACHINE, VARIABLE)
    found = simulate_candidates(
        [turns, shared], MACHINE, VARIABLE, arrival_rate=rate, jobs=60_000, replications=12, seed=1
    )
    assert (tuple(found.runs), found.saturated) == ((shared,), (turns,))


def test_beyond_the_recorded_loads_no_error_is_stated():
    for policy in (SP(4, 1), TS(4, 1, 2)):
        busy = predict(policy, MACHINE, VARIABLE, utilisation=0.95)
        assert busy.recorded_error() is None
        assert busy.outside_record()[0].startswith("95% of the capacity (recorded: up to ")
        assert predict(policy, MACHINE, VARIABLE, utilisation=0.5).recorded_error() > 0.0
    assert predict(SP(1, 1), MACHINE, VARIABLE, utilisation=0.99).recorded_error() == 0.0


def test_a_recommendation_is_undecided_where_no_error_can_be_stated():
    rate = 0.95 * capacity(TS(2, 1, 2), MACHINE, VARIABLE)
    found = recommend(MACHINE, VARIABLE, arrival_rate=rate, candidates=[TS(2, 1, 2)])
    assert found.best is None
    assert found.reason.startswith("Undecided at load")
    assert [row.status for row in found.rows] == ["undecided"]
    assert found.rows[0].error == inf
    assert "at 95% of a capacity known within 2%; simulate" in found.table()
    assert json.loads(json.dumps(found.record(), allow_nan=False))["candidates"][0]["error"] is None
    rival = SP(2, 1)
    rate = min(rate, 0.9 * capacity(rival, MACHINE, VARIABLE))
    both = recommend(MACHINE, VARIABLE, arrival_rate=rate, candidates=[TS(2, 1, 2), rival])
    assert both.best is not None
