"""Percentiles computed where they can matter: the same answer as computing all, and its bounds."""

from functools import cache
from math import inf, isfinite, isnan

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.stats import poisson

from phasefit import MAP, PhaseType, convolve, match_moments
from qmodels.errors import ModelError, UnstableError
from qmodels.networks.response import most_arrivals
from qmodels.policies import (
    DynamicPartitioning,
    SpaceSharing,
    System,
    TimeSharing,
    Workload,
    capacity,
    predict,
)
from qmodels.policies.choice import contest
from qmodels.policies.choice.policy_map import best_policies
from qmodels.policies.choice.ranking import BEST, SLOWER, TIE, UNDECIDED
from qmodels.policies.choice.recommendation import recommend
from qmodels.policies.models.fitted import own_demand
from qmodels.policies.models.response import least_percentile, percentile_of, response_of
from qmodels.policies.models.response_bounds import fastest, nearly, slowest
from qmodels.programs import Geometric, Phase, Program

SP, DP, TS = SpaceSharing, DynamicPartitioning, TimeSharing
SMALL = System(processors=16, disks=4, min_processors=4)
TURNS = System(processors=16, disks=4, min_processors=4, disk_discipline="fcfs")
PROGRAM = Program([Phase(io=16.0, cpu=64.0)])
JOBS = Workload.from_scv(PROGRAM, demand_scv=2.0)
FEW = [SP(1, 1), SP(2, 2), SP(4, 1), SP(4, 4), DP(2), DP(1), TS(1, 1, 2), TS(2, 2, 2), TS(4, 2, 2)]
#: One job in two hundred is a giant: the mean is above the 95th percentile.
GIANTS = Workload(PROGRAM, PhaseType.hyperexponential(weights=[0.995, 0.005], means=[0.2, 160.2]).scale(1.0))
TIDES = Workload(PROGRAM, arrivals=MAP.modulated([[0.0, 0.2], [0.1, 0.0]], rates=[2.0, 0.3]))
PHASES = Program([Phase(io=1.0, cpu=6.0)], phase_count=Geometric(3.0))
BURSTS = Workload(PHASES, io_bursts=PhaseType.exponential(mean=1.0))

QUESTIONS = {
    "p95": (SMALL, JOBS, {"load": 0.4, "objective": "p95"}),
    "light load": (SMALL, JOBS, {"load": 0.05, "objective": "p95"}),
    "next to capacities": (SMALL, JOBS, {"load": 0.7, "objective": "p95"}),
    "median": (SMALL, JOBS, {"load": 0.4, "objective": "p50"}),
    "p99.9": (SMALL, JOBS, {"load": 0.3, "objective": "p99.9"}),
    "limit on another": (SMALL, JOBS, {"load": 0.4, "objective": "p90", "constraint": "p99 < 400"}),
    "limit on p95": (SMALL, JOBS, {"load": 0.3, "objective": "mean", "constraint": "p95 < 90"}),
    "limit of nobody": (SMALL, JOBS, {"load": 0.3, "objective": "p95", "constraint": "p95 < 1"}),
    "wait": (SMALL, JOBS, {"load": 0.4, "objective": "wait_p95"}),
    "giants": (SMALL, GIANTS, {"load": 0.3, "objective": "p90"}),
    "dependent arrivals": (SMALL, TIDES, {"load": 0.3, "objective": "p95"}),
    "disks in order": (TURNS, JOBS, {"load": 0.4, "objective": "p95"}),
    "bursts": (SMALL, BURSTS, {"load": 0.3, "objective": "p95"}),
    "two that are equal": (
        SMALL,
        JOBS,
        {"load": 0.3, "objective": "p95", "candidates": [TS(2, 4, 1), SP(2, 4), DP(1)]},
    ),
}


@cache
def answered(name, every=False):
    """The answer to a question, without a percentile for those who lead in the mean."""
    system, work, question = QUESTIONS[name]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("qmodels.policies.choice.contest.LEADERS", 0)
        return recommend(system, work, every=every, **{"candidates": FEW} | question)


@pytest.mark.thorough
@pytest.mark.parametrize("name", QUESTIONS)
def test_the_answer_is_that_of_computing_every_percentile(name):
    found, full = answered(name), answered(name, every=True)
    assert found.reason == full.reason
    assert (found.best, found.ties, found.method) == (full.best, full.ties, full.method)
    known = {row.policy: row for row in full.rows}
    assert {row.policy for row in found.rows} == set(known)
    for row in found.rows:
        same = known[row.policy]
        if row.status in (BEST, TIE, UNDECIDED) or same.status in (BEST, TIE, UNDECIDED):
            assert row.status == same.status
        if isfinite(row.value):
            assert row.value == same.value
            continue
        assert isnan(row.value) == isnan(same.value) or row.status == SLOWER
        if row.status == SLOWER:
            assert 0.0 < row.least <= same.value
            assert "not computed: cannot be among the best" in row.note
    assert not any(row.least > row.value for row in full.rows)


@pytest.mark.thorough
def test_most_percentiles_are_not_computed():
    """Which the test above would not notice: it holds if all of them are."""
    # where errors are not known, only what a job alone would be too slow for is left out
    least = {"p95": 0.3, "median": 0.3, "bursts": 0.3, "giants": 0.1, "disks in order": 0.1}
    for name, part in least.items():
        rows = [row for row in answered(name).rows if row.method]
        assert sum(isnan(row.value) for row in rows) >= part * len(rows), name


def test_behind_the_best_and_the_next_none_is_computed(monkeypatch):
    """A percentile of the next one says how much the best is better by; nobody asked for the others."""
    monkeypatch.setattr("qmodels.policies.choice.contest.LEADERS", 0)
    found = recommend(SMALL, JOBS, load=0.3, objective="p95", candidates=[SP(4, 1), SP(1, 1), SP(4, 4)])
    assert [row.status for row in found.rows] == [BEST, SLOWER, SLOWER]
    assert [isfinite(row.value) for row in found.rows] == [True, True, False]


@pytest.mark.thorough
def test_a_percentile_below_the_mean_is_found_on_a_map_as_well():
    """Giants: taking a high percentile for no less than the mean would lose the best one."""
    loads, scv = [0.05, 0.3], 400.0
    drawn = best_policies(SMALL, JOBS, loads=loads, scvs=[scv], objective="p90", candidates=FEW)
    work = Workload(PROGRAM, match_moments(1.0, 1.0 + scv))
    below = 0
    for j, load in enumerate(loads):
        full = recommend(SMALL, work, load=load, objective="p90", every=True, candidates=FEW)
        assert drawn.best[0, j] == full.best.label
        assert drawn.value[0, j] == full.value
        assert set(drawn.ties[0][j]) == {policy.label for policy in full.ties}
        below += full.value < full.rows[0].quantities["mean_response"]
    assert below > 0


def test_a_map_predicts_no_policy_under_which_a_job_alone_would_be_too_slow(monkeypatch):
    """A job takes four times as long on a quarter of the machine as on all of it, even alone."""
    asked = []

    def counted(policy, *rest):
        asked.append(policy)
        return predicted(policy, *rest)

    predicted = contest.predicted
    monkeypatch.setattr(contest, "predicted", counted)
    found = best_policies(
        SMALL, JOBS, loads=[0.1], scvs=[1.0], objective="mean", candidates=[SP(1, 1), SP(4, 4)]
    )
    assert found.best[0, 0] == "SP(1,1)"
    assert asked == [SP(1, 1)]


@pytest.mark.thorough
def test_what_was_not_computed_is_said_and_is_no_number(monkeypatch):
    monkeypatch.setattr("qmodels.policies.choice.contest.LEADERS", 0)
    found = recommend(SMALL, JOBS, load=0.4, objective="p95", candidates=FEW)
    left = [row for row in found.rows if row.method and isnan(row.value)]
    assert left
    record = left[0].record()
    assert "p95" not in record
    assert record["at_least"] == left[0].least
    line = next(x for x in found.table(99).splitlines() if x.startswith(left[0].label + " "))
    assert f">= {left[0].least:.6g}" in line
    assert "slower (p95 not computed: cannot be among the best)" in line
    assert len(found.drawn()) == sum(isfinite(row.value) for row in found.rows)
    frame = found.to_frame().set_index("policy")
    assert np.isnan(frame.loc[left[0].label, "p95"])
    # the first dozen have their percentiles where that takes little
    monkeypatch.undo()
    usual = recommend(SMALL, JOBS, load=0.4, objective="p95")
    assert all(isfinite(row.value) for row in usual.rows[:12])


# Bounds

POLICIES = [SP(2, 1), SP(4, 1), SP(2, 2), DP(2), DP(1)]


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("work", [JOBS, GIANTS, TIDES, BURSTS], ids=["jobs", "giants", "tides", "bursts"])
@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_a_percentile_lies_between_those_at_the_greatest_and_the_least_speed(policy, work):
    many = work is TIDES and isinstance(policy, DP)  # states at the higher load
    for fraction in (0.2,) if work is GIANTS else (0.2, 0.5 if many else 0.7):
        rate = fraction * capacity(policy, SMALL, work)
        solved = predict(policy, SMALL, work, arrival_rate=rate).solved
        law, running = response_of(solved).law, solved.queue.running
        own = own_demand(solved)
        low, high = (side(solved_wait(solved), running, own) for side in (fastest, slowest))
        for q in (0.5, 0.95):
            found = percentile_of(solved, q)
            assert 0.0 < least_percentile(solved, q) <= found
            assert low.ppf(q) <= found * (1.0 + 1e-8)
            assert found <= high.ppf(q) * (1.0 + 1e-8)
            # the chain that is cut off for one percentile answers as the one for all of them
            assert found == pytest.approx(law.ppf(q), rel=1e-7)


def solved_wait(solved):
    from qmodels.policies.models.response import wait_of

    return wait_of(solved).law


@pytest.mark.thorough
def test_near_a_capacity_a_percentile_asks_for_fewer_behind_a_job_than_the_whole_law(monkeypatch):
    from qmodels.policies.models import response

    solved = predict(DP(4), SMALL, JOBS, arrival_rate=0.9 * capacity(DP(4), SMALL, JOBS)).solved
    horizon = 1.1 * percentile_of(solved, 0.95)
    whole = response_of(solved).law
    monkeypatch.setattr(response, "_horizon", lambda *_: horizon)
    cut = response._response(solved, response.TRUNCATION, None, 0.95).law
    assert cut.order < 0.5 * whole.order
    times = np.linspace(0.1, 1.0, 7) * horizon
    assert np.abs(cut.cdf(times) - whole.cdf(times)).max() <= 2.0 * response.TRUNCATION
    # beyond the horizon it is only a job that is not slower
    assert (cut.sf(8.0 * horizon * np.ones(1)) <= whole.sf(8.0 * horizon) + 1e-12).all()


@pytest.mark.parametrize("mean", [0.01, 3.0, 40.0, 1000.0])
def test_arrivals_within_a_time_are_no_more_than_poisson_tails_say(mean):
    for chance in (1e-4, 1e-10):
        found = most_arrivals(MAP.poisson(rate=2.0), 0.5 * mean, chance)
        least = poisson.isf(chance, mean)
        assert poisson.sf(found, mean) <= chance
        assert found <= least + 0.06 * least + 5.0


@pytest.mark.parametrize(
    "process",
    [
        TIDES.arrivals,
        MAP.from_phase_type(PhaseType.erlang(phases=3, mean=1.0)),
        MAP.from_phase_type(match_moments(1.0, 30.0)),
    ],
    ids=["tides", "erlang", "hyper"],
)
def test_arrivals_that_depend_are_counted_from_the_worst_phase(process):
    """P(N > n) by a chain that counts up to n, from every phase."""
    horizon, chance = 6.0, 1e-5
    n = int(most_arrivals(process, horizon, chance))
    m, room = process.order, n + 1
    Q = np.kron(np.eye(room), process.D0) + np.kron(np.eye(room, k=1), process.D1)
    within = expm(Q * horizon)[:m].sum(axis=1)
    assert (1.0 - within).max() <= chance
    assert most_arrivals(process, inf, chance) == inf


@pytest.mark.parametrize("q", [0.0, 0.05, 0.5, 0.95, 0.9999])
def test_a_time_near_a_percentile_is_on_its_side(q):
    laws = [
        PhaseType.exponential(mean=3.0),
        match_moments(1.0, 101.0),
        PhaseType.erlang(phases=30, mean=2.0),
        GIANTS.demand,
        convolve(match_moments(5.0, 200.0), PhaseType.erlang(phases=4, mean=50.0)),
    ]
    for law in laws:
        exact = float(law.ppf(q))
        below, above = (nearly(law, q, above=side) for side in (False, True))
        assert below <= exact * (1.0 + 1e-12)
        assert exact <= above * (1.0 + 1e-12)
        if 0.05 < q < 0.99 and law is not GIANTS.demand:
            assert below > 0.9 * exact
            assert above < 1.1 * exact


def test_a_model_without_a_law_of_the_response_is_refused_as_before():
    with pytest.raises(ModelError, match=r"validation\.simulate"):
        recommend(SMALL, BURSTS, load=0.2, objective="p95", model="decomposition", candidates=[SP(2, 1)])
    with pytest.raises(UnstableError, match="No policy can carry these jobs"):
        recommend(SMALL, JOBS, load=5.0, objective="p95")


@pytest.mark.parametrize("question", [{"objective": "p95"}, {"constraint": "p95 < 1000"}])
def test_a_policy_without_a_law_of_the_response_has_its_means_beside_the_others(question):
    costly = DP(1, overhead=PhaseType.exponential(mean=0.01))
    found = recommend(SMALL, JOBS, load=0.3, candidates=[costly, SP(1, 1)], **question)
    best, other = found.rows
    assert (best.policy, other.policy, other.status) == (SP(1, 1), costly, "not computed")
    assert other.quantities["mean_response"] == predict(costly, SMALL, JOBS, load=0.3).mean_response
    assert (other.error_in_words, "nan" in found.table()) == ("unknown", False)
    assert "no law of the response" in other.note
    found = recommend(SMALL, JOBS, load=0.4, candidates=[costly, SP(1, 4)], objective="p95")  # saturated
    assert found.best is None
    assert other.note in found.reason


def test_why_nothing_could_be_computed_is_said_beside_what_is_saturated(monkeypatch):
    monkeypatch.setattr(contest.Contest.judged, "__kwdefaults__", {"memory": 1.0})
    asked = [SP(1, 4), SP(4, 1)]
    found = recommend(SMALL, JOBS, load=0.4, candidates=asked, objective="p95", every=True)
    assert [row.status for row in found.rows] == ["saturated", "not computed"]
    assert found.rows[1].note in found.reason


@pytest.mark.parametrize("limits", [("p90 <= 1", "mean_wait <= 0.01"), ("mean_wait <= 0.01", "p90 <= 1")])
def test_of_several_limits_that_are_not_kept_the_first_is_named(limits):
    found = recommend(SMALL, JOBS, load=0.4, constraint=limits, candidates=[SP(1, 1)])
    assert found.rows[0].note.startswith(f"{limits[0].split()[0]} is ")
