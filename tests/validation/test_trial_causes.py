"""Agreement over anything with a mean response, and why a prediction differs."""

import numpy as np
import pytest

from phasefit import PhaseType
from qmodels import (
    Phase,
    Program,
    SpaceSharing,
    System,
    Workload,
    WorkloadMix,
    predict,
)
from validation.analysis.estimates import Estimate
from validation.jobs.renewal import ReplayedJobs
from validation.trial import Agreement, Cause, Measured, explain
from validation.trial.agreement import DEPENDENCE, DISCIPLINE, REDUCTION

WORK = Workload(Program([Phase(io=16.0, cpu=64.0)]))
MACHINE = System(processors=16, disks=16)


def test_any_measured_mean_can_be_held_against_a_prediction():
    found = predict(SpaceSharing(1, 1), MACHINE, WORK, load=0.5)
    log = Measured(Estimate(found.mean_response * 1.3, 0.5, 0.95, 30), "a machine's own log")
    held = Agreement(prediction=found, simulation=log)
    assert held.verdict == "differs"
    assert held.gap == pytest.approx(1 / 1.3 - 1)
    assert held.why() == ""
    part = Agreement(
        prediction=found,
        simulation=log,
        causes=(Cause("links", Estimate(0.2 * found.mean_response, 0.1, 0.95, 9)),),
    )
    assert part.unexplained == pytest.approx(0.1 * found.mean_response)
    assert "links: +15.4%" in part.why()
    assert part.causes[0].verdict == "slower"


def test_nothing_to_explain_where_the_model_is_exact():
    held = explain(SpaceSharing(1, 1), MACHINE, WORK, arrival_rate=0.1, jobs=500)
    assert held.causes == ()
    assert held.verdict != "differs"


@pytest.mark.parametrize(
    ("factor", "verdict"),
    [
        # Long stretches of short and of long gaps: queues that an independent stream has not.
        (np.where(np.arange(4000) // 200 % 2, 0.4, 1.6), "slower"),
        # Exactly every tenth gap is long, so that bursts of jobs never come close together.
        (np.where(np.arange(4000) % 10 == 0, 9.0, 0.1), "faster"),
    ],
)
def test_dependence_that_is_put_in_is_found(factor, verdict):
    gaps = factor * np.random.default_rng(2).exponential(1.0, 4000)
    held = explain(
        SpaceSharing(4, 4),
        MACHINE,
        WORK,
        arrival_rate=0.14,
        replications=20,
        jobs=2000,
        seed=1,
        stream_of_jobs=ReplayedJobs(gaps, np.ones(4000)),
    )
    [cause] = held.causes
    assert (cause.name, cause.verdict) == (DEPENDENCE, verdict)


def test_a_shuffled_log_has_no_dependence_to_find():
    rng = np.random.default_rng(3)
    log = ReplayedJobs(rng.exponential(1.0, 3000), rng.exponential(1.0, 3000))
    held = explain(
        SpaceSharing(4, 4),
        MACHINE,
        WORK,
        arrival_rate=0.1,
        stream_of_jobs=log,
        replications=12,
        jobs=1000,
        seed=1,
    )
    effect = held.causes[0].effect
    assert abs(effect.mean) <= 4 * effect.standard_error


def test_the_order_of_service_at_a_disk_is_named():
    work = Workload(WORK.program, demand=PhaseType.hyperexponential(weights=[0.9, 0.1], means=[0.4, 6.4]))
    system = System(processors=16, disks=16, disk_discipline="fcfs")
    held = explain(SpaceSharing(4, 1), system, work, arrival_rate=0.12, replications=12, jobs=1500, seed=1)
    [cause] = held.causes
    assert (cause.name, cause.verdict) == (DISCIPLINE, "slower")


def test_a_law_that_was_too_large_for_the_model_is_named():
    short, long = Program([Phase(io=16.0, cpu=64.0)]), Program([Phase(io=32.0, cpu=512.0)])
    mix = WorkloadMix([short, long], weights=[0.5, 0.5])
    work = Workload(mix, demand=PhaseType.erlang(phases=12, mean=1.0))
    held = explain(SpaceSharing(8, 8), System(16, 16), work, arrival_rate=0.01, replications=10, jobs=300)
    assert held.prediction.reduction
    assert [cause.name for cause in held.causes] == [REDUCTION]
