"""The models of the policies against played machines: capacities, turns, stated errors."""

import warnings
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import erf

from phasefit import MAP, PhaseType, match_moments
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
from qmodels.policies.models.recorded_errors import recorded_error, regime, regimes
from qmodels.policies.models.turns import _table as turns_table
from qmodels.policies.models.turns import private_computing
from qmodels.programs import Burst, Geometric, Phase, Program, WorkloadMix
from tests.campaigns import played_turns
from tests.campaigns.played_turns import played_capacity
from tests.campaigns.policy_errors import compared, stated, write_domain, write_errors
from tests.campaigns.policy_points import KINDS, drawn, grid
from tests.campaigns.recorded_errors import rows_on_record
from tests.campaigns.recorded_points import RECORDED, WAYS, point_outside, recorded_point

SP, DP, TS = SpaceSharing, DynamicPartitioning, TimeSharing
ONE = PhaseType.exponential(mean=1.0)
#: Of the systems on which capacities are compared; not that of the campaign.
SEED = 60_601
RECORD = Path(__file__).parents[2] / "docs" / "record"


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


@pytest.mark.thorough
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
        int(np.argmin(np.abs(axis - x))) for axis, x in zip(axes, (scv, phases, held, ratio), strict=True)
    )
    kept = table[at] * private_computing(held, ratio)
    mean, error = played_turns.played(scv, phases, held, ratio, jobs=40_000, seed=99)
    assert abs(mean - kept) < 5.0 * error + 0.001


@pytest.mark.thorough
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


def test_a_stated_error_is_a_bound_of_the_ninetieth_percentile_not_its_estimate():
    """Of n errors, in nine of ten drawings at least nine in ten more are below it."""
    assert stated([0.1] * 21) is None  # .9^21 > .1: too few to tell
    assert stated([0.01 * k for k in range(1, 23)]) == pytest.approx(0.22)
    assert stated([float("nan")] * 40) is None
    rng, kept = np.random.default_rng(8), 0
    for _ in range(400):
        bound = stated(rng.normal(size=60))
        kept += 2.0 * 0.5 * (1.0 + erf(bound / np.sqrt(2.0))) - 1.0 >= 0.9
    assert kept >= 0.9 * 400 - 4.0 * np.sqrt(400 * 0.09)


def a_row(k, **more):
    return {
        "model": "crowding",
        "policy": "SP(4,2)",
        "fraction": 0.5,
        "method": "approximate",
        "reduction": "",
        "arrival_scv": 1.0,
        "demand_scv": float("nan"),
        "mean_error": 0.001 * k,
        "wait_error": -0.002 * k,
        "p50_error": 0.002 * k,
        "p95_error": float("nan"),
        "p99_error": -0.003 * k,
        **more,
    }


def test_a_campaign_becomes_the_table_that_is_read(tmp_path):
    rows = [a_row(k) for k in range(1, 23)]
    rows += [a_row(50, model="speed-scaled")] * 5  # too few to state anything
    write_errors(pd.DataFrame(rows), tmp_path / "errors.csv")
    lines = (tmp_path / "errors.csv").read_text().splitlines()
    assert lines[1] == "regime;points;mean;wait;p50;p95;p99;worst"
    cells = "22;0.022;0.044;0.044;;0.066;0.022"
    assert lines[2:] == [
        f"crowding, as given{more};{cells}" for more in ("", ", regular", ", regular, moderate")
    ]


def test_the_ranges_of_a_campaign_are_the_domain_that_is_read(tmp_path):
    rows = [a_row(k, load=0.05 * k, io_share=0.1 * k, jobs_at_once=k) for k in range(1, 5)]
    write_domain(pd.DataFrame(rows), tmp_path / "domain.csv")
    lines = (tmp_path / "domain.csv").read_text().splitlines()[1:]
    assert lines == [
        "family;trait;low;high",
        "crowding;load;;0.92",
        "crowding;arrival_scv;1;1",
        "crowding;io_share;;0.4",
        "crowding;jobs_at_once;;4",
    ]


def test_the_shipped_table_states_errors_of_all_models_that_simplify():
    names = recorded_table()
    families = {"crowding", "speed-scaled", "time-sharing, shared", "time-sharing, turns"}
    families |= {"burst-classes", "sized-bursts"}
    assert families == {", ".join(n.split(", ")[: 1 + n.startswith("time")]) for n in names}
    for cells in names.values():
        assert cells["points"] >= 22
        assert all(x > 0.0 for x in cells.values())
        assert cells["mean"] <= cells["worst"] < 0.5
    known = regime("time-sharing, turns", scv=4.0, load=0.8)
    assert recorded_error(known) == next(names[n]["mean"] for n in regimes(known) if n in names)
    assert recorded_error("no such model, as given, busy") is None


@pytest.mark.thorough
def test_the_shipped_tables_are_those_of_the_record(tmp_path):
    table = rows_on_record()
    assert len(pd.read_csv(RECORD / "recorded-errors.csv")) == sum(RECORDED.values())
    known = table[table.method.notna()]
    shipped = files("qmodels.policies.models")
    for write, name in (
        (write_errors, "recorded_errors.csv"),
        (write_domain, "recorded_domain.csv"),
    ):
        write(known, tmp_path / name)
        assert (tmp_path / name).read_text() == shipped.joinpath(name).read_text("utf-8")


def test_stated_errors_hold_on_nine_in_ten_fresh_points_and_none_is_far_off_without_a_word():
    """Issue 32, point 1, on 324 systems; their seed was committed before the first was run."""
    fresh = pd.read_csv(RECORD / "recorded-errors-fresh.csv", comment="#")
    assert len(fresh) == 324
    assert (fresh.way.notna()).sum() == 120
    assert set(fresh.way.dropna()) == set(WAYS)
    for name in ("mean", "p50", "p95", "p99"):
        some = fresh[fresh[f"{name}_held"].notna()]
        noise = some[f"{name}_half_width"] / some[f"{name}_simulated"]
        held = some[f"{name}_error"].abs() <= some[f"{name}_stated"] + noise
        assert len(some) > 140
        assert held.mean() >= 0.9
    beyond = fresh.mean_error.abs() - fresh.mean_half_width / fresh.mean_simulated
    far = fresh[(beyond > 0.2) & (fresh.method == "approximate")]
    assert len(far) > 0
    assert far.doubts.notna().all()


def test_points_of_the_record_and_outside_are_drawn_as_they_were():
    assert recorded_point("SP bursts", 0).policy.label == "SP(3,3)"
    assert recorded_point("TS turns", 479).fraction == pytest.approx(0.37932189027437985, rel=1e-12)
    assert [point_outside(n)[0] for n in range(12)] == list(WAYS)


def test_partitions_that_are_never_full_make_no_warning():
    """Issue 32, point 12: jobs are capped before a partition has two of them."""
    point = point_outside(100)[1]
    assert point.policy.label == "TS(2,1;M=2;cap=min)"
    given = point.policy, point.system, point.workload
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answer = predict(*given, arrival_rate=point.fraction * capacity(*given))
    assert 0.0 < answer.mean_response < np.inf


def jobs(io, cpu, phases, *, scv=1.0, **laws):
    """F(i,c,n): n phases of i s of I/O and c s of computation in all, law "1"."""
    phase = Phase(io=Burst(io / phases, law="1"), cpu=Burst(cpu / phases, law="1"))
    program = Program([phase] * phases)
    if laws:
        return Workload(program, **laws)
    return Workload.from_scv(program, demand_scv=scv)


#: A long transfer, then a long burst of computation, and a short one of each: capacity .43 played, .47 here.
LONG_AND_SHORT = Program(
    [Phase(io=Burst(io, law="1"), cpu=Burst(cpu, law="1")) for io, cpu in ((1.33, 1.25), (0.017, 0.33))]
)
SMALL, IN_ORDER = System(8, 2), System(8, 2, disk_discipline="fcfs")
MIXED = Workload(
    WorkloadMix([Program([Phase(io=1.0, cpu=50.0)]), Program([Phase(io=5.0, cpu=0.2)])], [0.1, 0.9]),
    mix="each",
)
WILD = {"cpu_bursts": match_moments(1.0, 21.0), "io_bursts": ONE}


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize(
    ("policy", "system", "work", "busy", "doubt"),
    [
        (TS(1, 1, 4), SMALL, jobs(1.0, 2.0, 4, scv=100.0), 0.3, "a demand of scv 100"),
        (TS(1, 1, 10), SMALL, jobs(1.0, 1.5, 4, scv=20.0), 0.6, "10 jobs on a partition"),
        (TS(1, 1, 12), SMALL, jobs(1.0, 2.0, 1, **WILD), 0.5, "bursts on partitions of several"),
        (TS(1, 1, 2), SMALL, Workload.from_scv(LONG_AND_SHORT, demand_scv=1.0), 0.8, "phases of a job that"),
        (SP(4, 1), IN_ORDER, jobs(3.0, 1.0, 2, scv=10.0), 0.5, "disks that serve their jobs in"),
        (SP(4, 1), SMALL, MIXED, 0.8, "a mix of programs"),
        (DP(1), SMALL, MIXED, 0.8, "a mix of programs"),
        (TS(1, 1, 2), SMALL, MIXED, 0.8, "a mix of programs"),
        (
            SP(4, 1, sizes=(13, 1, 1, 1)),
            System(16, 4),
            jobs(1.0, 4.0, 2, scv=2.0),
            0.85,
            "partitions of unequal sizes",
        ),
    ],
)
def test_no_error_is_stated_of_what_lies_outside_of_the_record(policy, system, work, busy, doubt):
    """The cases of issue 32: off by -82 to +173 % where 4.9 to 19.6 % had been stated."""
    answer = predict(policy, system, work, utilisation=busy)
    assert answer.method == "approximate"
    assert answer.recorded_error() is answer.recorded_error(0.95) is None
    assert answer.record()["stated_error"] is None
    assert any(doubt in text for text in answer.doubts), answer.doubts
    assert "not known" in answer.table()


def test_a_prediction_states_nothing_where_it_is_exact_and_where_nothing_is_known():
    work = Workload.from_scv(Program([Phase(io=1.0, cpu=9.0)]), demand_scv=3.0)
    machine = System(8, 4)
    assert predict(SP(2, 2), machine, work, load=0.3).recorded_error() == 0.0
    assert 0.0 < predict(SP(4, 1), machine, work, load=0.3).recorded_error() < 0.1
    turns = predict(TS(2, 2), machine, work, load=0.2, model="speed-scaled")
    assert turns.recorded_error() is None
    tides = MAP.modulated([[0.0, 0.1], [0.1, 0.0]], rates=[1.8, 0.2])
    dependent = Workload(work.program, work.demand, tides)
    assert predict(SP(4, 1), machine, dependent, load=0.3).recorded_error() is None
    assert predict(TS(2, 2), machine, dependent, load=0.2).recorded_error() is None
    near = predict(TS(2, 2), machine, work, load=0.3)
    assert 0.0 < near.recorded_error() < 0.5
    assert 0.0 < near.recorded_error(0.95) < 0.6
    assert near.recorded_error(0.999) is None


@pytest.mark.slow
def test_stated_errors_hold_on_points_simulated_now():
    """Other points by the same rule; fewer than this would be seen once in a hundred times."""
    from scipy.stats import binom

    held = tried = 0
    for kind in RECORDED:
        for number in range(8):
            point = recorded_point(kind, number, seed=777)
            row = compared(point)
            most = capacity(point.policy, point.system, point.workload)
            found = predict(point.policy, point.system, point.workload, arrival_rate=point.fraction * most)
            stated_error = found.recorded_error()
            if stated_error:
                tried += 1
                noise = row["mean_half_width"] / row["mean_simulated"]
                held += abs(row["mean_error"]) <= stated_error + noise
    assert held >= binom.ppf(0.01, tried, 0.9)
