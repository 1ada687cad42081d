"""Policies under jobs whose laws were fitted to a log: what is said of how far these are off."""

import numpy as np
import pytest

from phasefit import PhaseType, match_moments
from qmodels.io import load_scenario, read_swf, write_swf
from qmodels.networks.many_server import ManyServerQueue
from qmodels.networks.replay import replayed
from qmodels.networks.response import response_law
from qmodels.policies import (
    DynamicPartitioning,
    SpaceSharing,
    System,
    TimeSharing,
    Workload,
    predict,
)
from qmodels.policies.choice.against_data import TURNED
from qmodels.policies.choice.recommendation import recommend
from qmodels.policies.methods import APPROXIMATE, EXACT, EXACT_FOR_FITTED
from qmodels.programs import Phase, Program, WorkloadMix
from tests.command import called, result_of

MACHINE = System(processors=16, disks=16)
PROGRAM = Program([Phase(io=1.0, cpu=63.0)])


def two_moments(values, source="log"):
    return match_moments(values.mean(), (values**2).mean()).with_data(values, source=source)


@pytest.fixture(scope="module")
def jobs():
    """Gaps and work of 4,000 jobs: some are giants, and a night follows each of these."""
    rng = np.random.default_rng(1)
    work, gaps = rng.exponential(size=4_000), rng.exponential(size=4_000)
    giant = rng.random(4_000) < 0.02
    work[giant] *= 30.0
    gaps[1:][giant[:-1]] += 40.0
    return gaps, work


@pytest.fixture(scope="module")
def fitted(jobs):
    gaps, work = jobs
    return Workload(PROGRAM, two_moments(work), two_moments(gaps))


@pytest.fixture(scope="module")
def given(jobs):
    """The same laws, as numbers."""
    gaps, work = (values / values.mean() for values in jobs)
    return Workload(PROGRAM, *(match_moments(1.0, (x**2).mean()) for x in (work, gaps)))


@pytest.fixture(scope="module")
def crowds():
    """Jobs of much the same size that come in crowds, and all wait longer for it."""
    rng = np.random.default_rng(3)
    crowd = np.where(np.arange(4_000) // 50 % 2, 0.2, 1.8)
    gaps, work = crowd * rng.exponential(size=4_000), rng.gamma(4.0, 0.25, 4_000)
    return Workload(PROGRAM, two_moments(work), two_moments(gaps))


# One prediction


def test_exact_is_said_bare_of_given_laws_alone(fitted, given):
    bare, of_log = (predict("SP(4,4)", MACHINE, each, load=0.5) for each in (given, fitted))
    assert bare.method == EXACT == "exact"
    assert of_log.method == EXACT_FOR_FITTED == "exact for the fitted laws"
    assert bare.mean_response == pytest.approx(of_log.mean_response, rel=1e-9)
    assert bare.fit_error() is None
    assert "mean_response_low" not in bare.record()
    assert of_log.wait.method == of_log.method
    approximate = predict("TS(1,1;M=2)", MACHINE, fitted, load=0.5)
    assert approximate.method == APPROXIMATE
    assert approximate.fit_error() is not None


def test_the_error_of_fit_of_a_policy_is_that_of_the_jobs_of_the_log_on_its_partitions(fitted, jobs):
    found = predict("SP(4,4)", MACHINE, fitted, load=0.5)
    gaps, work = (x / x.mean() for x in jobs)
    # four partitions on which the program takes 64 / 4 seconds
    waits, stays = replayed(gaps / found.arrival_rate, 16.0 * work, np.ones(4))
    assert found.fit_error().on_data == pytest.approx(stays.mean(), rel=1e-9)
    assert found.fit_error("wait").on_data == pytest.approx(waits.mean(), rel=1e-9)
    assert found.fit_error(q=0.9).on_data == pytest.approx(np.quantile(stays, 0.9), rel=1e-9)
    row = found.record()
    assert row["mean_response_of_data"] == found.fit_error().on_data
    assert row["mean_response_low"] < stays.mean() < row["mean_response_high"]
    assert "mean_response_low" in found.table()


@pytest.mark.thorough
@pytest.mark.parametrize("policy", [TimeSharing(1, 1, 2), DynamicPartitioning(1)])
def test_an_approximate_model_is_off_its_data_as_the_laws_are_in_its_queue(policy, fitted):
    found = predict(policy, MACHINE, fitted, load=0.4)
    error = found.fit_error()
    assert 0.2 < error.ratio < 0.9  # the nights after the giants
    assert error.predicted == found.mean_response
    assert error.low < error.on_data < error.high
    tail = found.fit_error(q=0.95)
    assert tail.low < tail.on_data < tail.high


def test_jobs_of_several_programs_have_no_data_that_could_be_played(fitted):
    other = Program([Phase(io=64.0, cpu=128.0)])
    mix = Workload(WorkloadMix([PROGRAM, other]), fitted.demand, fitted.arrivals)
    error = predict("SP(4,4)", MACHINE, mix, load=0.3).fit_error()
    assert error.error == np.inf
    assert "not known" in error.sentence("SP(4,4)")
    bursts = Workload(PROGRAM, arrivals=fitted.arrivals, io_bursts=fitted.demand)
    found = predict("SP(1,1)", MACHINE, bursts, load=0.3)
    assert found.method == EXACT_FOR_FITTED
    assert found.record()["mean_response_of_data"] is None


# The tail that is asked for


@pytest.mark.thorough
def test_a_percentile_goes_by_the_tail_of_the_log_and_not_by_two_moments():
    rng = np.random.default_rng(7)
    sizes = rng.lognormal(sigma=2.2, size=20_000)
    work = Workload(PROGRAM, two_moments(sizes))
    plain = Workload(PROGRAM, match_moments(1.0, (sizes**2).mean() / sizes.mean() ** 2))
    for policy in (SpaceSharing(16, 16), DynamicPartitioning(1)):
        found = predict(policy, MACHINE, work, load=0.3)
        own = found.fit_error(q=0.95).on_data
        assert found.percentile(0.95) == pytest.approx(own, rel=0.12)
        assert predict(policy, MACHINE, plain, load=0.3).percentile(0.95) < 0.6 * own
        # the mean is that of the chain, and of the law of the response
        assert found.response.mean == pytest.approx(found.mean_response, rel=0.02)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["SDSC-Par-1996-3.1-cln", "KTH-SP2-1996-2.1-cln"])
def test_the_95th_percentile_of_a_log_on_sixteen_partitions_is_that_of_its_jobs(name, shared_data):
    """Issue 32, point 4: it was 56 to 60 % low, "exact" without a word."""
    log = read_swf(shared_data / "swf" / f"{name}.swf.gz").with_work
    work = Workload(PROGRAM, two_moments(log.work_by_job[1:], name), two_moments(log.interarrivals, name))
    found = predict("SP(16,16)", MACHINE, work, load=0.4)
    error = found.fit_error(q=0.95)
    assert found.percentile(0.95) == pytest.approx(error.on_data, rel=0.1)
    quarters = zip(*(np.array_split(x.fitted_to.times, 4) for x in (work.arrivals, work.demand)), strict=True)
    for gaps, sizes in quarters:
        speeds = np.full(16, found.capacity / 16.0)
        stays = replayed(gaps / gaps.mean() / found.arrival_rate, sizes / sizes.mean(), speeds)[1]
        assert error.low < np.quantile(stays, 0.95) < error.high
    law = found.solved.queue.running.at_one_speed[0]
    two = law.scale(found.response.mean).ppf(0.95)  # hardly any job waits
    assert two < 0.5 * error.on_data


@pytest.mark.thorough
def test_a_job_that_is_followed_with_the_law_of_the_others_has_the_same_response():
    law = PhaseType.hyperexponential(weights=[0.9, 0.1], means=[0.5, 5.5])
    solved = ManyServerQueue(law.scale(0.8), law, speeds=[1.0, 0.7]).solve()
    common, _ = response_law(solved)
    own, _ = response_law(solved, service=law)
    other, _ = response_law(solved, service=PhaseType.erlang(phases=3, mean=1.0))
    times = [0.5, 2.0, 20.0]
    assert own.sf(times) == pytest.approx(common.sf(times), rel=1e-12)
    assert other.mean == pytest.approx(common.mean, rel=0.05)
    assert other.ppf(0.99) < common.ppf(0.99)


def test_a_job_alone_responds_by_the_law_of_its_own():
    solved = ManyServerQueue(
        PhaseType.exponential(mean=1e5), PhaseType.exponential(mean=1.0), speeds=[2.0, 1.0]
    ).solve()
    own = PhaseType.erlang(phases=3, mean=1.0)
    found, _ = response_law(solved, service=own)
    assert found.sf([0.2, 1.0]) == pytest.approx(own.scale(0.5).sf([0.2, 1.0]), rel=1e-3)


# Which policy


def test_candidates_whose_order_the_jobs_of_the_log_turn_round_are_a_tie(fitted, given):
    """By the laws giants block an undivided machine; in the log nobody comes after them."""
    labels = ["SP(1,1)", "SP(2,2)", "SP(4,4)"]
    by_numbers = recommend(MACHINE, given, load=0.5, candidates=labels)
    by_log = recommend(MACHINE, fitted, load=0.5, candidates=labels)
    assert by_numbers.best.label == by_log.best.label == "SP(4,4)"
    assert by_numbers.ties == ()
    assert by_numbers.fit is None
    assert {policy.label for policy in by_log.ties} == {"SP(1,1)", "SP(2,2)"}
    assert [row.note for row in by_log.rows[1:]] == [TURNED] * 2
    assert "with the jobs of the log in their own order" in by_log.reason
    assert by_numbers.method == EXACT
    assert by_log.method == EXACT_FOR_FITTED


def test_a_ranking_that_the_jobs_of_the_log_agree_with_is_sure_though_its_times_are_not(crowds):
    """What the laws leave out is common to all."""
    found = recommend(MACHINE, crowds, load=0.6, candidates=["SP(1,1)", "SP(4,4)"])
    assert found.best.label == "SP(1,1)"
    assert found.fit.ratio > 1.5
    assert found.ties == ()


def test_a_recommendation_says_what_the_log_gives_and_in_json_too(fitted, given):
    found = recommend(MACHINE, fitted, load=0.5, candidates=["SP(4,4)", "DP(1)"])
    last = found.table().splitlines()[-1]
    assert last.startswith("Laws were fitted to log. Its own 4,000 jobs")
    assert f"{found.rows[0].label} at load 0.5" in last
    assert "  fitted  tie" in found.table()  # the error of DP(1) is not known
    assert found.record()["fit_error"]["jobs"] == 4_000
    assert recommend(MACHINE, given, load=0.5, candidates=["DP(1)"]).record()["fit_error"] is None


def test_a_limit_that_the_log_may_break_is_told(crowds):
    options = {"load": 0.6, "candidates": ["SP(4,4)"], "objective": "p95"}
    free = recommend(MACHINE, crowds, **options)
    assert free.value < free.fit.high
    for limit, near in ((1.01 * free.value, True), (1.01 * free.fit.high, False)):
        found = recommend(MACHINE, crowds, **options, constraint=f"p95_s < {limit:.6g}")
        assert ("error of the fitted laws" in found.rows[0].note) == near


# Scenarios

BASE = """
[machine]
processors = 8
disks = 8
[log]
path = "jobs.swf"
[[program]]
name = "job"
io = { seconds = 8.0, law = "d" }
cpu = { seconds = 800.0, law = "p" }
[demand]
scale_to_log = true
[[policy]]
kind = "SP"
processor_partitions = [1, 2]
disk_partitions = [2]
[study]
loads = [0.4]
"""


@pytest.fixture
def scenario(tmp_path, jobs):
    gaps, work = jobs
    columns = {
        "submit": np.cumsum(1000.0 * gaps).round(),
        "run": (200.0 * work).round() + 1,
        "processors": np.full(gaps.size, 2),
        "status": np.ones(gaps.size, int),
    }
    write_swf(tmp_path / "jobs.swf", columns)
    path = tmp_path / "scenario.toml"
    path.write_text(BASE, encoding="utf-8")
    return path


@pytest.mark.thorough
def test_laws_of_a_scenario_remember_the_jobs_of_its_log_side_by_side(scenario):
    plan = load_scenario(scenario)
    gaps, work = plan.arrivals.fitted_to, plan.demand.fitted_to
    assert gaps.size == work.size == 3_999
    assert gaps.source == work.source != ""
    assert np.array_equal(work.times, plan.log.with_work.work_by_job[1:])
    assert plan.workload.fitted
    counts = load_scenario(scenario, settings={"arrivals.dependence": "counts"})
    assert counts.arrivals.fitted_to.source == work.source
    numbers = {"arrivals.scv": 2.0, "demand.scv": 3.0}
    assert not load_scenario(scenario, settings=numbers).workload.fitted


@pytest.mark.thorough
def test_predict_prints_what_the_jobs_of_the_log_give(scenario):
    shown = called("predict", scenario).stdout
    header, first, *rest = shown.splitlines()
    assert "of the data [s]" in header
    assert " to " in first
    assert first.endswith("exact for jobs drawn from the log")
    assert any(line.startswith("jobs of the log are taken for days of it") for line in rest)
    said = [line for line in rest if line.startswith("of the data [s]: ")]
    assert said
    assert said[0].endswith("in brackets, nine times in ten, of another period as long, at the same load")
    row = result_of(called("predict", scenario, "--json").stdout)[0]
    assert row["mean_response_low"] < row["mean_response_of_data"] < row["mean_response_high"]
    assert row["fit_error"] > 0.0
    assert row["interval_of"] == "another period as long, at the same load"
    bare = ["--set", "arrivals.scv=2", "--set", "demand.scv=3"]
    shown = called("predict", scenario, *bare).stdout
    assert "of the data" not in shown
    assert any(line.endswith(" exact") for line in shown.splitlines())
