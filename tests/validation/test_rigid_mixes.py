"""Mixes of rigid jobs: simulation and formulas against exact chains and laws."""

import math

import numpy as np
import pytest

from phasefit import MAP, PhaseType
from qmodels.errors import ModelError, UnstableError
from qmodels.rigid import RigidMix, rigid_waits, saturate
from tests.naive import rigid_chain
from validation.jobs.disciplines import EASY
from validation.rigid import (
    RigidJobs,
    draw_jobs,
    open_waits,
    saturated_rates,
    simulate_rigid,
    simulate_saturated,
    wait_curve,
)

TWO = RigidMix.of(8, (1, 8), (2 / 3, 1 / 3), (1.0, 1.0))


@pytest.mark.thorough
def test_saturated_simulation_in_order_of_arrival_agrees_with_the_chain():
    mix = RigidMix.of(8, (1, 3, 8), (0.6, 0.3, 0.1), (1, 2, 0.5))
    found = simulate_saturated(mix, jobs=20_000, replications=20, confidence=0.9999)
    exact = saturate(mix)
    assert found.throughput.contains(exact.throughput)
    assert found.utilisation.contains(exact.utilisation)


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize(("backlog", "base", "share"), [(10, None, 0.835), (10, 8, 0.818), (1000, 8, 0.925)])
def test_saturated_backfilling_by_depth_and_rounded_limits(backlog, base, share):
    """Utilisation of a mix of 1 and 8 on 8, in the published manner of rounding limits up to powers."""
    found = []
    for k in range(6):
        jobs = draw_jobs(TWO, 20_000, arrival_rate=1.0, rng=np.random.default_rng([38, 2, k]))
        limit = jobs.run if base is None else base ** np.ceil(np.log(jobs.run) / math.log(base))
        limited = RigidJobs(jobs.submit, jobs.need, jobs.run, limit=limit)
        found.append(saturated_rates(limited, 8, "EASY", backlog=backlog)[1])
    assert np.mean(found) == pytest.approx(share, abs=0.01)


@pytest.mark.thorough
@pytest.mark.parametrize(("base", "load", "response"), [(None, 0.7, 5.426), (2, 0.8, 8.089), (8, 0.5, 2.798)])
def test_waits_under_backfilling_are_those_of_long_runs(base, load, response):
    """Response of the same mix against runs of 3e6 jobs, whose own error is below 1 %."""
    times = []
    for k in range(8):
        rng = np.random.default_rng([38, 3, k])
        jobs = draw_jobs(TWO, 40_000, arrival_rate=load * 8 / TWO.work, rng=rng)
        limit = jobs.run if base is None else base ** np.ceil(np.log(jobs.run) / math.log(base))
        limited = RigidJobs(jobs.submit, jobs.need, jobs.run, limit=limit)
        times.append((simulate_rigid(limited, 8).wait + jobs.run)[4000:].mean())
    error = np.std(times, ddof=1) / len(times) ** 0.5
    assert abs(np.mean(times) - response) < 4 * error + 0.01 * response


@pytest.mark.thorough
def test_two_classes_of_priority_obey_cobham():
    rng = np.random.default_rng([38, 4])
    n = 300_000
    submit, run = np.cumsum(rng.exponential(1 / 0.8, n)), rng.exponential(1.0, n)
    low = (rng.random(n) > 0.3).astype(int)
    wait = simulate_rigid(RigidJobs(submit, np.ones(n, int), run, priority=low), 1, "FCFS").wait
    assert wait[low == 0].mean() == pytest.approx(1.0526, rel=0.05)
    assert wait[low == 1].mean() == pytest.approx(5.2632, rel=0.08)


def test_formula_agrees_with_simulation_where_its_error_is_stated():
    saturated = saturate(TWO)
    found = rigid_waits(saturated, load=0.8)
    wait, by_class = open_waits(TWO, load=0.8, throughput=saturated.throughput, jobs=60_000)
    assert found.mean_wait == pytest.approx(wait.mean, rel=0.08)
    apart = by_class[1].mean - by_class[0].mean
    assert found.by_class[1] - found.by_class[0] == pytest.approx(apart, rel=0.15)


def test_formula_is_exact_for_one_server():
    one = RigidMix.of(1, (1,), (1.0,), (2.0,))
    assert rigid_waits(one, load=0.8).mean_wait == pytest.approx(0.8 * 2.0 / 0.2)


def test_formula_refuses_loads_without_a_stated_error():
    with pytest.raises(ModelError, match=r"the load is 0\.3"):
        rigid_waits(TWO, load=0.3)
    with pytest.raises(UnstableError):
        rigid_waits(TWO, load=1.0)
    with pytest.raises(ModelError, match="one of the two"):
        rigid_waits(TWO)
    with pytest.raises(ModelError, match="dispersion or arrivals"):
        rigid_waits(TWO, load=0.8, dispersion=4.0, arrivals=MAP.poisson(rate=1.0))


def test_arrivals_count_by_their_dispersion_at_any_rate():
    renewal = MAP.from_phase_type(PhaseType.erlang(phases=2, mean=7.0))  # dispersion: scv of the gaps
    said = rigid_waits(TWO, load=0.8, arrivals=renewal).mean_wait
    assert said == pytest.approx(rigid_waits(TWO, load=0.8, dispersion=0.5).mean_wait, rel=1e-12)
    poisson = rigid_waits(TWO, load=0.8, arrivals=MAP.poisson(rate=9.0)).mean_wait
    assert poisson == pytest.approx(rigid_waits(TWO, load=0.8).mean_wait, rel=1e-12)


def test_ties_that_wait_cost_a_part_of_the_machine():
    jobs = draw_jobs(TWO, 20_000, arrival_rate=1.0, rng=np.random.default_rng([38, 5]))
    rounded = RigidJobs(jobs.submit, jobs.need, jobs.run, limit=8 ** np.ceil(np.log(jobs.run) / math.log(8)))
    starts = saturated_rates(rounded, 8, EASY(), backlog=200)[1]
    waits = saturated_rates(rounded, 8, EASY(ties="wait"), backlog=200)[1]
    assert waits < starts - 0.2


@pytest.mark.thorough
def test_curve_goes_through_what_was_simulated_and_ends_there():
    mix = RigidMix.of(8, (1, 4, 8), (0.6, 0.3, 0.1), (1.0, 2.0, 1.0))
    curve = wait_curve(mix, loads=(0.6, 0.75, 0.9), jobs=5_000, replications=2)
    assert curve.at(curve.loads) == pytest.approx([each.mean for each in curve.waits], rel=1e-9)
    between = curve.at([0.65, 0.7, 0.8])
    assert (np.diff(between) > 0).all()
    with pytest.raises(ModelError, match=r"from load 0.6 to 0.9; simulate others"):
        curve.at(0.95)
    for wrong in ([0.5], [0.9, 0.6], [0.5, 1.0]):
        with pytest.raises(ModelError, match="ascending"):
            wait_curve(mix, loads=wrong)


@pytest.mark.thorough
def test_curve_on_one_server_is_that_of_the_formula():
    # One server and exact limits: nobody can pass, so W = x / (1 - x) for exponential run times.
    mix = RigidMix.of(1, (1,), (1.0,), (1.0,))
    curve = wait_curve(mix, loads=(0.5, 0.65, 0.8), jobs=100_000)
    for x in (0.55, 0.7):
        assert curve.at(x) == pytest.approx(x / (1 - x), rel=0.05)


@pytest.mark.thorough
def test_wait_of_nobody_is_no_wait():
    # Two jobs on many servers never wait; the curve says nought, not a number of its own making.
    mix = RigidMix.of(400, (1,), (1.0,), (1.0,))
    curve = wait_curve(mix, loads=(0.2, 0.3, 0.4), jobs=2_000, replications=2)
    assert curve.at([0.25, 0.35]) == pytest.approx([0.0, 0.0], abs=1e-12)


def test_batches_on_one_server_wait_as_in_the_books():
    # Batches of 3 with exponential service of mean 1: a job finds (E[B^2]/E[B] - 1) / 2 = 1 of its own ahead.
    one = RigidMix.of(1, (1,), (1.0,), (1.0,))
    assert rigid_waits(one, load=0.8, batches=3.0).mean_wait == pytest.approx((0.8 + 1.0) / 0.2)
    with pytest.raises(ModelError, match="batches come as a Poisson process"):
        rigid_waits(one, load=0.8, batches=3.0, dispersion=2.0)


def test_wait_in_order_of_arrival_is_that_of_the_whole_chain():
    # Needs of 1 and 2 on two servers at half the throughput: exact by a chain that is cut off at 60.
    mix = RigidMix.of(2, (1, 2), (0.5, 0.5), (1.0, 1.0))
    throughput = saturate(mix).throughput
    true, beyond = rigid_chain.mean_wait(2, (1, 2), (0.5, 0.5), (1.0, 1.0), 0.5 * throughput, most=60)
    assert beyond < 1e-12
    found, _ = open_waits(mix, load=0.5, throughput=throughput, jobs=40_000, confidence=0.999)
    assert found.contains(true)


def test_too_few_jobs_to_saturate_and_a_class_without_jobs_are_refused():
    with pytest.raises(ModelError, match="1 jobs are too few to saturate a machine of 1"):
        saturated_rates(RigidJobs([0], [1], [1]), 1, "FCFS", backlog=1)
    rare = RigidMix.of(2, (1, 2), (1.0 - 1e-9, 1e-9), (1.0, 1.0))
    with pytest.raises(ModelError, match="class 1 has jobs in 0 of 4 replications"):
        open_waits(rare, load=0.5, throughput=1.0, jobs=100)
