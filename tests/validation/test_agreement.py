"""Verdicts on predictions held against simulations: three words, none at any width."""

from dataclasses import dataclass

import pytest

from validation.analysis.estimates import Estimate, estimate
from validation.trial.agreement import DECISIVE_PRECISION, Agreement


@dataclass
class Predicted:
    mean_response: float
    method: str = "exact"


@dataclass
class Simulated:
    mean_response: Estimate


def verdict(predicted, mean, half_width, *, runs=10, method="exact"):
    interval = Estimate(mean, half_width, 0.95, runs)
    return Agreement(prediction=Predicted(predicted, method), simulation=Simulated(interval)).verdict


@pytest.mark.parametrize("method", ["exact", "approximate"])
@pytest.mark.parametrize(
    ("predicted", "mean", "half_width", "expected"),
    [
        (101.0, 100.0, 2.0, "agrees"),
        (104.0, 100.0, 2.0, "differs"),
        (100.0, 100.0, 0.0, "agrees"),
        (100.0, 100.0, 100 * DECISIVE_PRECISION, "agrees"),  # the bound itself is precise enough
        (100.0, 100.0, 100 * DECISIVE_PRECISION + 0.01, "undecided"),
        (101.0, 100.0, 40.0, "undecided"),
        (300.0, 100.0, 40.0, "differs"),  # a wide interval can still exclude
        (2700.0, 2711.0, 11796.0, "undecided"),  # -9,085 to 14,507 s, of two replications
        (90_000.0, 2711.0, 11796.0, "undecided"),  # no time is negative: its ends mean nothing
        (5.0, 5.0, float("inf"), "undecided"),
        (500.0, 5.0, float("inf"), "undecided"),
    ],
)
def test_a_verdict_needs_a_precise_and_possible_interval(method, predicted, mean, half_width, expected):
    assert verdict(predicted, mean, half_width, method=method) == expected


def test_two_heavy_tailed_replications_decide_nothing():
    """Outside the model: Student's law of two lognormal means with scv in the thousands."""
    import numpy as np

    rng = np.random.default_rng(7)
    words = []
    for _ in range(200):
        interval = estimate(rng.lognormal(0.0, 3.0, size=2).tolist())
        truth = float(np.exp(4.5))
        words.append(Agreement(prediction=Predicted(truth), simulation=Simulated(interval)).verdict)
    assert words.count("agrees") == 0
    assert words.count("undecided") > 180


def test_one_run_is_said_in_words_where_its_interval_is_infinite():
    from validation.analysis.comparison import compare

    assert str(estimate([3.0])) == "3 (one run, no interval) (95%, n=1)"
    assert str(compare([9.0], [10.0])) == "-1 (one run, no interval): undecided"
    assert "inf" not in compare([9.0], [10.0], relative=True).interval


def points(half_width, predicted, method):
    import pandas as pd

    row = {
        "method": method,
        "simulated_s": 100.0,
        "simulated_low_s": 100.0 - half_width,
        "simulated_high_s": 100.0 + half_width,
        "predicted_s": predicted,
        "z_score": 1.96 * (predicted - 100.0) / half_width,
        "policy": "SP(1,1)",
        "load_of_capacity": 0.5,
    }
    return pd.DataFrame([row])


@pytest.mark.parametrize("method", ["exact", "approximate"])
@pytest.mark.parametrize(
    ("half_width", "predicted", "expected"),
    [
        (3.0, 101.0, "holds"),
        (3.0, 120.0, "fails"),
        (40.0, 101.0, "undecided"),  # three such intervals would allow any time at all
        (40.0, 300.0, "fails"),
    ],
)
def test_a_finding_on_wide_intervals_is_undecided(method, half_width, predicted, expected):
    from validation.papers.rosti import load_sweep

    (found,) = load_sweep.agreement(points(half_width, predicted, method))
    assert found.verdict == expected
    assert ("known to worse than 10%" in found.detail) == (half_width > 10.0)
