"""The models of the policies against played machines: capacities, turns, stated errors."""

import numpy as np
import pytest

from phasefit import MAP, PhaseType
from qmodels.policies import (
    DynamicPartitioning,
    SpaceSharing,
    System,
    TimeSharing,
    Workload,
    capacity,
    predict,
)
from qmodels.policies.models.recorded_errors import _table as recorded_table
from qmodels.policies.models.recorded_errors import recorded_error, regime
from qmodels.policies.models.turns import _table as turns_table
from qmodels.policies.models.turns import private_computing
from qmodels.programs import Burst, Geometric, Phase, Program
from validation.trial import played_turns
from validation.trial.policy_errors import compared, stated, write_errors
from validation.trial.policy_grid import KINDS, drawn, grid
from validation.trial.saturation import played_capacity

SP, DP, TS = SpaceSharing, DynamicPartitioning, TimeSharing
ONE = PhaseType.exponential(mean=1.0)
#: Of the systems on which capacities are compared; not that of the campaign.
SEED = 60_601


@pytest.mark.parametrize("policy", [SP(3, 1), SP(4, 2), DP(2), TS(2, 1, 3, cpu_discipline="ps")])
def test_a_played_capacity_is_that_of_product_form_where_this_is_exact(policy):
    phase = Phase(io=Burst(1.0, law="1"), cpu=Burst(2.0, law="1"))
    work = Workload(Program([phase], phase_count=Geometric(2.0)), io_bursts=ONE)
    machine = System(8, 4, min_processors=2)
    mean, error = played_capacity(policy, machine, work, jobs=40_000, seed=3)
    assert error < 0.01 * mean
    assert abs(mean - capacity(policy, machine, work)) < 4.5 * error


def systems(count):
    for n in range(count):
        point = drawn(list(KINDS)[n % len(KINDS)], n // len(KINDS), seed=SEED)
        yield point.policy, point.system, point.workload


def off(given, jobs):
    """How far a stated capacity is from a played one, beyond two standard errors of that."""
    mean, error = played_capacity(*given, jobs=jobs, seed=5)
    return max(abs(capacity(*given) / mean - 1.0) - 2.0 * error / mean, 0.0)


def test_stated_capacities_are_those_of_played_machines_within_one_per_cent():
    assert max(off(given, 40_000) for given in systems(12)) < 0.01


@pytest.mark.slow
def test_stated_capacities_of_sixty_systems_are_those_of_played_machines():
    assert max(off(given, 160_000) for given in systems(60)) < 0.01


@pytest.mark.parametrize(
    ("scv", "phases", "held", "ratio"),
    [(0.1, 8, 2, 1.0), (1.0, 1, 3, 0.5), (8.0, 1, 2, 1.0), (12.0, 4, 4, 2.0)],
)
def test_the_table_of_turns_is_what_is_played_again(scv, phases, held, ratio):
    axes, table = turns_table()
    at = tuple(
        int(np.argmin(np.abs(axis - x)))
        for axis, x in zip(axes, (scv, phases, held, ratio), strict=True)
    )
    kept = table[at] * private_computing(held, ratio)
    mean, error = played_turns.played(scv, phases, held, ratio, jobs=40_000, seed=99)
    assert abs(mean - kept) < 5.0 * error + 0.001


def test_the_grid_is_drawn_as_it_was():
    points = grid()
    assert len(points) == 160
    assert len({(p.policy.label, p.facts["ratio"]) for p in points}) == 160
    first = drawn("SP bursts", 0)
    assert first.policy.label == "SP(3,3)"
    assert first.facts["ratio"] == pytest.approx(4.189659253590507, rel=1e-12)
    for point in points:
        point.policy.check(point.system)
        assert 0.3 <= point.fraction <= 0.92


def test_an_error_is_stated_of_nine_points_and_no_fewer():
    assert stated([0.1] * 8) is None
    assert stated([0.01 * k for k in range(1, 10)]) == pytest.approx(0.09)
    assert stated([0.01 * k for k in range(1, 30)]) == pytest.approx(0.27)
    assert stated([float("nan")] * 20) is None


def test_a_campaign_becomes_the_table_that_is_read(tmp_path):
    import pandas as pd

    rows = [
        {
            "model": "crowding", "policy": "SP(4,2)", "fraction": 0.5, "method": "approximate",
            "reduction": float("nan"), "mean_error": 0.001 * k, "p50_error": 0.002 * k,
            "p95_error": float("nan"), "p99_error": -0.003 * k,
        }
        for k in range(1, 11)
    ]  # fmt: skip
    write_errors(pd.DataFrame(rows), tmp_path / "errors.csv")
    lines = (tmp_path / "errors.csv").read_text().splitlines()
    assert lines[1] == "regime;points;mean;p50;p95;p99"
    assert lines[2:] == ["crowding;10;0.01;0.02;;0.03", "crowding, moderate;10;0.01;0.02;;0.03"]


def test_the_shipped_table_states_errors_of_the_new_models():
    names = recorded_table()
    assert {name.split(",")[0] for name in names} >= {"crowding", "time-sharing"}
    for cells in names.values():
        assert cells["points"] >= 9
        assert all(0.0 < x < 1.0 for name, x in cells.items() if name != "points")
    known = regime("time-sharing", turns=True, scv=4.0, load=0.8)
    assert recorded_error(known) == names.get(known, names[known.rsplit(", ", 1)[0]])["mean"]
    assert recorded_error("no such model, busy") is None


def test_a_prediction_states_nothing_where_it_is_exact_and_where_nothing_is_known():
    work = Workload.from_scv(Program([Phase(io=1.0, cpu=9.0)]), demand_scv=3.0)
    machine = System(8, 4)
    assert predict(SP(2, 2), machine, work, load=0.3).recorded_error() == 0.0
    assert 0.0 < predict(SP(4, 1), machine, work, load=0.3).recorded_error() < 0.1
    # the recorded points of this model were of one job to a partition, shared disks, one program,
    # and no points had arrivals that depend on those before
    turns = predict(TS(2, 2), machine, work, load=0.2, model="speed-scaled")
    assert turns.recorded_error() is None
    in_order = System(8, 4, disk_discipline="fcfs")
    assert predict(SP(4, 1), in_order, work, load=0.3).recorded_error() is None
    tides = MAP.modulated([[0.0, 0.1], [0.1, 0.0]], rates=[1.8, 0.2])
    dependent = Workload(work.program, work.demand, tides)
    assert predict(SP(4, 1), machine, dependent, load=0.3).recorded_error() is None
    assert predict(TS(2, 2), machine, dependent, load=0.2).recorded_error() is None
    near = predict(TS(2, 2), machine, work, load=0.3)
    assert 0.0 < near.recorded_error() < 0.5
    assert 0.0 < near.recorded_error(0.95) < 0.6


@pytest.mark.slow
def test_stated_errors_hold_on_nine_in_ten_fresh_points():
    """Other points by the same rule; fewer than this would be seen once in a hundred times."""
    from scipy.stats import binom

    held = tried = 0
    for kind in KINDS:
        for number in range(8):
            point = drawn(kind, number, seed=777)
            row = compared(point)
            most = capacity(point.policy, point.system, point.workload)
            found = predict(
                point.policy, point.system, point.workload, arrival_rate=point.fraction * most
            )
            stated_error = found.recorded_error()
            if stated_error:
                tried += 1
                noise = row["mean_half_width"] / row["mean_simulated"]
                held += abs(row["mean_error"]) <= stated_error + noise
    assert held >= binom.ppf(0.01, tried, 0.9)
