import math

import numpy as np
import pytest
from scipy.stats import binom

from qmodels.errors import ModelError
from validation.analysis.estimates import Stopping, estimate, jackknife, replicate
from validation.analysis.seeding import stream


def test_the_interval_is_that_of_student():
    found = estimate([1.0, 2.0, 3.0, 4.0])
    assert found.mean == 2.5
    assert found.half_width == pytest.approx(3.182446305284263 * np.sqrt(5 / 3) / 2, rel=1e-12)
    assert (found.low, found.high) == (2.5 - found.half_width, 2.5 + found.half_width)


@pytest.mark.thorough
def test_the_interval_covers_the_true_mean_as_often_as_it_says():
    covered = sum(estimate(stream(seed).normal(5.0, size=6).tolist()).contains(5.0) for seed in range(2000))
    assert binom.ppf(0.001, 2000, 0.95) <= covered <= binom.ppf(0.999, 2000, 0.95)


@pytest.mark.thorough
def test_stopping_on_precision_still_covers():
    runs = [replicate(lambda rng: rng.normal(5.0), seed=seed, precision=0.1) for seed in range(400)]
    covered = sum(run.contains(5.0) for run in runs)
    assert covered >= binom.ppf(0.001, 400, 0.95)
    assert all(run.half_width <= 0.1 * abs(run.mean) for run in runs if run.replications < 1000)


def test_precision_that_is_out_of_reach_is_given_up_at_the_bound():
    assert replicate(lambda rng: rng.normal(), seed=1, precision=1e-9, at_most=20).replications == 20


def test_one_observation_claims_nothing():
    assert estimate([3.0]).half_width == np.inf


def test_observations_that_are_all_the_same_have_no_spread():
    assert estimate([0.1] * 3).half_width == 0.0


def test_a_place_in_a_study_has_its_own_stream_whoever_asks():
    assert stream(1, 2, 3).random() == stream(1, 2, 3).random()
    assert len({stream(1, *key).random() for key in [(), (0,), (1,), (0, 0), (0, 1)]}) == 5


@pytest.mark.parametrize("values", [[], [np.nan], [[1.0]], [np.inf, 1.0]])
def test_what_is_no_sample_is_refused(values):
    with pytest.raises(ModelError):
        estimate(values)


@pytest.mark.parametrize("confidence", [0, 1, -1, 95, np.nan])
def test_a_confidence_outside_zero_to_one_is_refused(confidence):
    with pytest.raises(ModelError, match="confidence"):
        estimate([1.0, 2.0], confidence=confidence)


@pytest.mark.parametrize("seed", [-1, 1.5, None, True])
def test_a_seed_that_is_no_whole_number_is_refused(seed):
    with pytest.raises(ModelError, match="seed"):
        stream(seed)


def test_the_jackknife_of_a_mean_is_its_student_interval():
    rng = np.random.default_rng(11)
    for n in (2, 3, 10, 40):
        x = rng.exponential(size=n)
        found = jackknife(lambda w, x=x: float(w @ x / w.sum()), n)
        assert found.mean == pytest.approx(estimate(x).mean, rel=1e-12)
        assert found.half_width == pytest.approx(estimate(x).half_width, rel=1e-9)


@pytest.mark.thorough
def test_the_jackknife_of_a_ratio_covers_it_as_often_as_it_says():
    """Ratio of means 2 of correlated pairs; 95 % of 2000 intervals, four standard errors."""
    rng = np.random.default_rng(12)
    covered = 0
    for _ in range(2000):
        b = 5.0 + rng.standard_normal(20)
        a = 2.0 * b + rng.standard_normal(20)
        covered += jackknife(lambda w, a=a, b=b: float(w @ a / (w @ b)), 20).contains(2.0)
    assert abs(covered / 2000 - 0.95) < 4 * (0.95 * 0.05 / 2000) ** 0.5


def test_the_jackknife_refuses_what_has_no_interval():
    assert jackknife(lambda w: 3.0, 1).half_width == math.inf
    with pytest.raises(ModelError, match="n must be >= 1"):
        jackknife(lambda w: 3.0, 0)
    with pytest.raises(ModelError, match="finite values"):
        jackknife(lambda w: float("nan") if w[0] == 0 else 1.0, 3)


def test_the_next_look_is_where_the_interval_would_be_narrow_enough():
    """Half-widths fall with the root: one that is 1.3 times too wide asks for 1.69 times as many."""
    values = np.arange(40.0, 60.0)
    known = estimate(values)
    rule = Stopping(precision=known.half_width / known.mean / 1.3, at_least=20)
    assert rule.look(values)
    assert rule.wanted == 33
