"""Drained backlogs: against busy periods, against uniformisation, and the command that says them."""

import math

import numpy as np
import pytest
from scipy.stats import gamma

from phasefit import match_moments
from qmodels import ModelError, Phase, Program, System, Workload, predict
from qmodels.markov import transient
from tests.command import called, result_of
from tests.qmodels.test_histories import busy_weeks, workload_of

PROGRAM = Program([Phase(io=1.0, cpu=9.0)])


def test_one_server_drains_in_busy_periods():
    """Of n busy periods E = n s / (1 - r) and Var = n s^2 (scv + r) / (1 - r)^3."""
    rate, scv, waiting = 0.06, 3.0, 40
    work = Workload(PROGRAM, match_moments(1.0, 1.0 + scv))
    left = predict("SP(1,1)", System(1, 1), work, arrival_rate=rate).backlog(waiting + 1)
    r = 10.0 * rate
    assert left.mean == pytest.approx(waiting * 10.0 / (1 - r), rel=1e-12)
    assert left.std**2 == pytest.approx(waiting * 100.0 * (scv + r) / (1 - r) ** 3, rel=1e-12)


@pytest.mark.parametrize(("r", "waiting"), [(0.05, 10**6), (0.95, 10**6), (0.999, 10**5), (0.999, 1)])
def test_long_backlogs_and_those_next_to_the_capacity_vary_as_busy_periods_do(r, waiting):
    left = predict("SP(1,1)", System(1, 1), Workload(PROGRAM), arrival_rate=0.1 * r).backlog(waiting + 1)
    assert left.mean == pytest.approx(waiting * 10.0 / (1 - r), rel=1e-12)
    assert left.std**2 == pytest.approx(waiting * 100.0 * (1 + r) / (1 - r) ** 3, rel=1e-12)


@pytest.mark.parametrize("q", [0.001, 0.05, 0.5])
def test_percentiles_are_those_of_the_law_where_one_job_waits_next_to_the_capacity(q):
    """They are many times shorter than the standard deviation, of 5 days."""
    left = predict("SP(1,1)", System(1, 1), Workload(PROGRAM), arrival_rate=0.0999).backlog(2)
    assert left.cdf(left.percentile(q)) == pytest.approx(q, rel=1e-5)


@pytest.mark.parametrize("waiting", [1, 5, 30, 1000, 30_000])
def test_without_arrivals_the_time_is_a_sum_of_services(waiting):
    left = predict("SP(1,1)", System(1, 1), Workload(PROGRAM), arrival_rate=1e-13).backlog(waiting + 1)
    assert left.std == pytest.approx(10.0 * math.sqrt(waiting), rel=2e-7)
    times = gamma.ppf([0.03, 0.6, 0.98], waiting)
    assert left.cdf(10.0 * times) == pytest.approx([0.03, 0.6, 0.98], abs=5e-8)
    assert left.cdf([0.1 * left.mean, 9.0 * left.mean]) == pytest.approx(
        gamma.cdf([0.1 * waiting, 9.0 * waiting], waiting), abs=1e-7
    )
    for q in (0.01, 0.5, 0.999):
        assert left.percentile(q) == pytest.approx(10.0 * gamma.ppf(q, waiting), rel=1e-5)


def test_it_is_never_drained_before_time_zero_and_surely_after_all_time():
    left = predict("SP(1,1)", System(1, 1), Workload(PROGRAM), arrival_rate=0.05).backlog(2)
    assert left.cdf([[-1.0, 0.0, math.inf]]).tolist() == [[0.0, 0.0, 1.0]]
    with pytest.raises(ModelError, match="x is nan, not a number"):
        left.cdf(math.nan)


def test_the_law_is_that_of_uniformisation():
    """The same chain with the levels of no waiting job made one state without return."""
    work = Workload.from_scv(PROGRAM, demand_scv=0.5, arrival_scv=3.0)
    solved = predict("DP(2)", System(4, 2), work, utilisation=0.6).solved
    b, jobs, top = 4, 12, 90
    left = predict("DP(2)", System(4, 2), work, utilisation=0.6).backlog(jobs)
    chain = solved.queue.chain()
    up, local, down = (np.asarray(blocks[-1]) for blocks in (chain.up, chain.local, chain.down))
    n = len(local)
    rates = np.zeros((n * (top - b) + 1,) * 2)
    for k in range(top - b):
        here = slice(1 + n * k, 1 + n * (k + 1))
        rates[here, here] = local
        if k + 1 < top - b:
            rates[here, 1 + n * (k + 1) : 1 + n * (k + 2)] = up
        if k:
            rates[here, 1 + n * (k - 1) : 1 + n * k] = down
        else:
            rates[here, 0] = down.sum(axis=1)
    np.fill_diagonal(rates, 0.0)
    start = np.zeros(len(rates))
    start[1 + n * (jobs - b - 1) : 1 + n * (jobs - b)] = left.descent.start
    times = left.mean * np.array([0.5, 1.0, 2.0])
    assert left.cdf(times) == pytest.approx(transient(rates, start, times).probabilities[:, 0], abs=2e-7)


def test_the_way_back_begins_at_the_backlog_and_ends_in_the_steady_state():
    answer = predict("SP(2,2)", System(2, 2), Workload(PROGRAM), utilisation=0.5)
    back = answer.backlog(9).over_time([0.0, 2000.0])
    assert back["mean_jobs"].tolist() == pytest.approx([9.0, answer.mean_jobs], rel=1e-6)
    # the ninth and eight behind it: eight completions of two servers until a tenth starts
    assert back["mean_wait"].tolist() == pytest.approx([8 * 5.0 * 10 / 10, answer.mean_wait], rel=1e-6)


@pytest.mark.thorough
def test_it_is_said_that_jobs_arrive_independently_where_the_prediction_draws_them_from_a_log():
    answer = predict("SP(1,1)", System(16, 8), workload_of(busy_weeks(1)), load=0.4)
    assert answer.backlog(50).sentence.endswith("are independent, as those of the log are not")


def test_a_backlog_that_starts_at_once_is_refused():
    answer = predict("SP(2,2)", System(2, 2), Workload(PROGRAM), utilisation=0.5)
    with pytest.raises(ModelError, match=r"none under SP\(2,2\), which runs 2 at once; give more than 2"):
        answer.backlog(2)
    with pytest.raises(ModelError, match="q must be at most"):
        answer.backlog(3).percentile(0.9999999)


def test_the_command_says_how_long(tmp_path):
    from tests.objects import SCENARIO

    site = tmp_path / "site.toml"
    site.write_text(SCENARIO)
    words = ("predict", str(site), "--policy", "sp(1,1)", "--load", "0.3", "--backlog", "30")
    assert "a backlog of 30 jobs drains in" in called(*words).stdout
    (row,) = result_of(called(*words, "--json").stdout)
    low, middle, high = row["backlog"]["percentiles"].values()
    assert low < middle < high


def test_the_command_says_which_policies_start_all_of_it_at_once(tmp_path):
    from tests.objects import SCENARIO

    site = tmp_path / "site.toml"
    site.write_text(SCENARIO)
    words = ("predict", str(site), "--load", "0.3", "--backlog", "2")
    one, two = result_of(called(*words, "--policy", "SP(1,1)", "--policy", "SP(2,1)", "--json").stdout)
    assert one["backlog"]["jobs"] == 2
    assert (two["backlog"], "runs 2 at once" in two["backlog_note"]) == (None, True)
    text = called(*words, "--policy", "SP(1,1)", "--policy", "SP(2,1)").stdout
    assert f"SP(2,1) at load 0.3: {two['backlog_note']}" in text
    assert called(*words, "--policy", "SP(2,1)").returncode == 3
