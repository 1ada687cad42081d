"""Slopes of predictions: against formulas, higher-order differences, and the command that prints them."""

from dataclasses import replace

import numpy as np
import pytest

from phasefit import MAP, PhaseType, match_moments
from qmodels import ModelError, Phase, Program, System, Workload, WorkloadMix, predict
from qmodels.markov import QBD, solve_qbd
from qmodels.markov.level_slopes import level_slopes
from qmodels.policies import TimeSharing
from qmodels.policies.models.speed_scaled import SpeedScaled
from qmodels.policies.sensitivities import _Neighbours
from tests.command import called, result_of
from tests.qmodels.test_histories import busy_weeks, workload_of

MACHINE = System(16, 8, min_processors=2)
PROGRAM = Program([Phase(io=16.0, cpu=64.0), Phase(io=4.0, cpu=80.0)])
TWO_STATES = MAP([[-1.2, 0.2], [0.1, -4.1]], [[1.0, 0.0], [0.0, 4.0]])


def slope_by_differences(mean, at, step):
    """Central difference of order four: its error is step^4 / 30 times the fifth derivative."""
    near, far = (mean(at + k * step) - mean(at - k * step) for k in (1, 2))
    return (8.0 * near - far) / (12.0 * step)


def test_the_slope_of_the_mean_queue_follows_pollaczek_and_khinchine():
    """E[T] = s + r s (1 + c) / (2 (1 - r)) with one server, r = rate * s."""
    rate, scv = 0.012, 4.0
    answer = predict(
        "SP(1,1)",
        System(1, 1),
        Workload.from_scv(Program([Phase(8.0, 40.0)]), demand_scv=scv),
        arrival_rate=rate,
    )
    r = rate * 48.0
    assert answer.sensitivities.of("scv of demand").slope == pytest.approx(48.0 * r / (2 * (1 - r)), rel=1e-6)
    by_rate = 48.0**2 * (1 + scv) / (2 * (1 - r) ** 2)
    assert answer.sensitivities.of("arrival rate").slope == pytest.approx(by_rate, rel=1e-6)


@pytest.mark.thorough
def test_the_slope_upward_is_not_a_jump_of_what_is_simplified():
    """The bursts of a job are followed where they are exponential; with one more phase its whole time."""
    mix = WorkloadMix([Program([Phase(0.0, 0.03)] * 12), Program([Phase(20.0, 0.5)] * 6)])

    def answer(scv):
        io, cpu = match_moments(1.0, 3.11), match_moments(1.0, 1.0 + scv)
        return predict("SP(2,1)", System(6, 2), Workload(mix, io_bursts=io, cpu_bursts=cpu), load=0.5)

    near, far = answer(1.001), answer(1.002)
    assert near.reduction != answer(1.0).reduction
    slope = (far.mean_response - near.mean_response) / 0.001
    *_, found = _Neighbours(answer(1.0).solved).variability()
    assert found.parameter == "scv of computation bursts"
    assert found.slope == pytest.approx(slope, rel=0.01, abs=1e-3)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("label", "scv", "arrivals"),
    [
        ("SP(4,4)", 2.5, PhaseType.exponential(mean=1.0)),
        ("SP(8,2)", 0.4, match_moments(1.0, 3.0)),
        ("DP(8)", 3.0, TWO_STATES),
        ("DP(2)", 1.0, PhaseType.exponential(mean=1.0)),
    ],
)
def test_slopes_are_those_of_higher_order_differences(label, scv, arrivals):
    rate = 0.05

    def mean(rate=rate, scv=scv, io=1.0, cpu=1.0):
        second = PROGRAM.phases[1]
        phases = [Phase(16.0 * io, 64.0 * cpu), second]
        work = Workload(Program(phases), match_moments(1.0, 1.0 + scv), arrivals)
        return predict(label, MACHINE, work, arrival_rate=rate, model="speed-scaled").mean_response

    work = Workload(PROGRAM, match_moments(1.0, 1.0 + scv), arrivals)
    found = predict(label, MACHINE, work, arrival_rate=rate, model="speed-scaled").sensitivities
    for name, by_differences in (
        ("arrival rate", slope_by_differences(lambda x: mean(rate=x), rate, 1e-3 * rate)),
        ("phase 1: I/O", slope_by_differences(lambda x: mean(io=x), 1.0, 1e-3) / 16.0),
        ("phase 1: computation", slope_by_differences(lambda x: mean(cpu=x), 1.0, 1e-3) / 64.0),
    ):
        assert found.of(name).slope == pytest.approx(by_differences, rel=1e-6), name
    if scv != 1.0:
        by_scv = slope_by_differences(lambda x: mean(scv=x), scv, 1e-3 * scv)
    else:  # upward only
        by_scv = (-3.0 * mean(scv=1.0) + 4.0 * mean(scv=1.001) - mean(scv=1.002)) / 0.002
    assert found.of("scv of demand").slope == pytest.approx(by_scv, rel=2e-6)
    assert found.of("disks").effect == pytest.approx(
        predict(label, replace(MACHINE, disks=9), work, arrival_rate=rate, model="speed-scaled").mean_response
        - mean(),
        rel=1e-12,
    )


@pytest.mark.thorough
def test_bursts_with_laws_of_their_own_and_mixes_have_a_row_each():
    laws = {"io_bursts": match_moments(1.0, 3.0), "cpu_bursts": match_moments(1.0, 1.5)}
    found = predict("SP(4,1)", MACHINE, Workload(PROGRAM, **laws), load=0.5).sensitivities
    assert [row.parameter for row in found.rows][-2:] == ["scv of I/O bursts", "scv of computation bursts"]
    mix = WorkloadMix([Program([Phase(1.0, 20.0)], name="a"), Program([Phase(9.0, 30.0)], name="b")])
    found = predict("SP(4,4)", MACHINE, Workload(mix), load=0.5).sensitivities
    names = [row.parameter for row in found.rows]
    assert "program a, phase 1: I/O" in names
    assert "program b, phase 1: computation" in names
    many = Program([Phase(1.0 + k, 20.0 + k) for k in range(6)])
    found = predict("SP(4,4)", MACHINE, Workload(many), load=0.5).sensitivities
    assert [row.parameter for row in found.rows][3:5] == ["all I/O", "all computation"]


def test_programs_of_a_mix_without_names_are_counted_from_one():
    mix = WorkloadMix([Program([Phase(1.0, 20.0)]), Program([Phase(9.0, 30.0)])])
    names = [row.parameter for row in predict("SP(4,4)", MACHINE, Workload(mix), load=0.5).sensitivities.rows]
    assert {name.split(",")[0] for name in names if "phase" in name} == {"program 1", "program 2"}


def test_programs_of_one_name_have_slopes_of_their_own():
    phases = [Phase(1.0, 20.0), Phase(9.0, 30.0)]
    alike, unlike = (
        predict(
            "SP(1,1)",
            System(4, 2),
            Workload(WorkloadMix([Program([phase], name=n) for phase, n in zip(phases, names, strict=True)])),
            load=0.5,
        ).sensitivities.rows
        for names in ("pp", "pq")
    )
    assert [row.slope for row in alike] == [row.slope for row in unlike]
    assert len({row.parameter for row in alike}) == len(alike)


def test_what_is_not_known_says_why():
    odd = PhaseType([0.7, 0.3], [[-3.0, 1.0], [0.0, -1.0]])
    found = predict("SP(4,4)", MACHINE, Workload(PROGRAM, odd), utilisation=0.95).sensitivities
    assert "not one of two moments" in found.of("scv of demand").note
    assert found.of("scv of demand").slope is None
    assert "more than SP(4,4) can carry" in found.of("arrival rate").note
    with pytest.raises(ModelError, match="parameter must be one of arrival rate, processors"):
        found.of("disk")
    given = predict("SP(2,2)", MACHINE, Workload(PROGRAM), arrival_rate=0.01, running=[0.1, 0.2])
    with pytest.raises(ModelError, match="does not say how"):
        _ = given.sensitivities


def test_chains_of_other_shapes_are_refused():
    one = np.ones((1, 1))
    queue = QBD(up=[0.5 * one], local=[0 * one], down=[one])
    other = QBD(up=[0.5 * one] * 2, local=[0 * one] * 2, down=[one] * 2)
    with pytest.raises(ModelError, match="other numbers of levels"):
        level_slopes(queue, solve_qbd(queue)).along(queue, other)
    two = QBD(up=[np.eye(2)], local=[np.zeros((2, 2))], down=[3 * np.eye(2)])
    with pytest.raises(ModelError, match="other phases"):
        level_slopes(queue, solve_qbd(queue)).along(two, two)


def test_the_command_prints_them(tmp_path):
    from tests.objects import SCENARIO

    site = tmp_path / "site.toml"
    site.write_text(SCENARIO)
    done = called("predict", str(site), "--policy", "sp(1,1)", "--load", "0.3", "--sensitivities")
    assert "one more disk: -" in done.stdout
    done = called("predict", site, "--policy", "sp(1,1)", "--load", "0.3", "--sensitivities", "--json")
    (row,) = result_of(done.stdout)
    assert {"parameter", "slope", "effect"} <= set(row["sensitivities"][0])


@pytest.mark.parametrize("description", ["dispersion", "days"])
def test_jobs_of_a_log_keep_what_is_said_of_their_arrivals(description):
    work = workload_of(busy_weeks(5), description=description)
    answer = predict("SP(1,1)", System(1, 1), work, load=0.6)
    found = answer.sensitivities
    # one job at a time stays as long as its bursts are together, whichever of them is longer
    read, computed = (row.slope for row in found.rows if row.unit == "s")
    assert read == pytest.approx(computed, rel=1e-5)
    assert read > 0.0
    if description == "dispersion":
        assert (found.note, found.mean_response) == ("", pytest.approx(answer.mean_response))
    else:
        assert "independent jobs" in found.table().splitlines()[-1]
        assert found.mean_response < answer.mean_response


def test_more_disks_or_processors_under_a_cap_on_unlike_partitions_have_an_answer():
    work = Workload(Program([Phase(io=0.5, cpu=4.0)]))
    capped = TimeSharing(8, 2, 3, ts_cap="min")
    found = predict(capped, System(12, 4), work, load=0.4).sensitivities
    one_more = predict(capped, System(13, 4), work, arrival_rate=found.of("arrival rate").value)
    assert found.of("processors").effect == pytest.approx(one_more.mean_response - found.mean_response)


class OwnSpeeds(SpeedScaled):
    """A model of a package of one's own, which is in no registry."""

    name = "own-speeds"


def test_a_model_that_is_in_no_registry_has_the_slopes_of_the_one_that_it_is_like():
    work = Workload(PROGRAM)
    own, known = (
        predict("SP(4,4)", MACHINE, work, load=0.5, model=model).sensitivities
        for model in (f"{__name__}:OwnSpeeds", "speed-scaled")
    )
    assert [row.slope for row in own.rows] == [row.slope for row in known.rows]
