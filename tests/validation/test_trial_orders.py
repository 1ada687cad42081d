"""Which strategies are told apart, and when more runs are asked for: no machine is played here."""

from concurrent.futures import Executor, Future

import numpy as np
import pandas as pd
import pytest

from qmodels.policies import SpeedTable
from validation.papers.trial.campaign import quick_parts
from validation.papers.trial.comparison import (
    MeasuredSpeeds,
    compare_predictions,
    measured_speeds,
    replicated,
)
from validation.papers.trial.comparison import compared as compared_row
from validation.papers.trial.orders import undecided
from validation.trial.replications import Replication
from validation.trial.shared_queue import shared_responses
from validation.trial.size_shares import POWERS

CELL = quick_parts()[0].cell


def rows(simulated, corrected, noise, spread=0.0, load=0.6, measured=0.0):
    """Strategies x, y, ... whose replications differ by `spread` in turn."""
    turns = spread * np.array([-1.0, 1.0, -1.0, 1.0, 0.0])
    values = [(at + sign * turns).tolist() for at, sign in zip(simulated, noise, strict=True)]
    return pd.DataFrame(
        {
            "cell": "a",
            "load": load,
            "strategy": list("xyz")[: len(simulated)],
            "simulated": simulated,
            "corrected": corrected,
            "values": values,
            "measured_half_width": measured,
        }
    )


def test_strategies_are_open_while_three_percent_lies_within_their_interval():
    """Paired differences of ± 1 in turn have an interval of 1.2."""
    for gap, is_open in ((1.0, False), (2.0, True), (3.9, True), (4.5, False), (0.0, False)):
        found = undecided(rows([100.0, 100.0 + gap], [1.0, 2.0], (1, 0), spread=1.0))
        assert found.simulated == ((0, 1) if is_open else ())
        assert found.predicted == ()


def test_their_order_is_open_while_predictions_differ_by_less_than_their_own_noise():
    apart, alike = [100.0, 110.0], [100.0, 101.0]
    for simulated, corrected, noise, is_open in (
        (apart, [100.0, 100.5], 0.01, True),
        (apart, [100.0, 104.0], 0.01, False),
        (alike, [100.0, 100.5], 0.01, False),  # surely closer than 3 %: nobody asks for the order
        (apart, [110.0, 100.0], 0.01, False),  # the wrong way round, but surely so
    ):
        found = undecided(rows(simulated, corrected, (0, 0), measured=noise))
        assert found.predicted == (("x", "y") if is_open else ())


def test_no_error_of_a_prediction_plays_a_part():
    """All predictions twice as long: what is simulated more often stays the same."""
    given = [100.0, 102.5, 140.0]
    once, twice = (
        undecided(rows(given, [k * at for at in given], (1, 0, 0), spread=1.0)) for k in (1.0, 2.0)
    )
    assert once == twice
    assert once.simulated == (0, 1)


def test_a_width_that_says_nothing_leaves_the_order_open():
    found = undecided(rows([100.0, 120.0], [90.0, 130.0], (0, 0), measured=np.inf))
    assert found.predicted == ("x", "y")


class Told(Executor):
    """Answers for the mesh: Random is slower by a little, and every run is off by something."""

    def __init__(self, gap):
        self.gap, self.starts, self.runs = gap, {}, []

    def submit(self, wrapped, function, task):
        told = {measured_speeds: self.speeds, replicated: self.run, compared_row: compared_row}
        done: Future = Future()
        done.set_result(told[function](task))
        return done

    def speeds(self, task):
        self.starts[task.cell.strategy.name] = task.starts
        off = 1.0 + 0.02 * np.random.default_rng(3).normal(size=(task.starts, 1))
        work = off * np.array([1.0, 1.8, 2.4, 2.8])
        scores = np.zeros((task.starts, 1, 4, POWERS.size))
        parts = np.stack([work, np.full_like(work, 1e5)], axis=1)[:, None]
        return MeasuredSpeeds(parts, scores, 1, 0.0, SpeedTable([1e-5, 1.8e-5, 2.4e-5, 2.8e-5]), 0.0)

    def run(self, task):
        point, replication = task
        self.runs.append((point.cell.strategy.name, replication))
        arrival, demand = point.jobs_of(replication)
        played = shared_responses(np.array([1.0, 1.8, 2.4, 2.8]) * 1e-5, 0.0, arrival[None], demand[None])
        mean = played[0, point.measured].mean()
        slower = self.gap if point.cell.strategy.name == "Random" else 1.0
        off = np.random.default_rng([replication, slower > 1.0]).normal()
        return Replication(slower * mean * (1.0 + 0.02 * off), 9, 0.0, np.ones(4), np.ones(4))


@pytest.fixture(scope="module")
def compared():
    def compare(gap, most):
        told = Told(gap)
        frame = compare_predictions(
            CELL,
            ("MC", "Random"),
            (0.6,),
            replications=6,
            jobs=20,
            warm_up=5,
            starts=4,
            loss_jobs=9,
            most=most,
            executor=told,
        )
        return frame, told

    return compare


@pytest.mark.thorough
def test_open_strategies_get_more_runs_until_the_most_and_none_is_run_twice(compared):
    frame, told = compared(1.03, 4)
    assert sorted(told.runs) == [(name, k) for name in ("MC", "Random") for k in range(24)]
    assert [len(values) for values in frame["values"]] == [24, 24]
    assert told.starts == {"MC": 16, "Random": 16}  # one table for both: never told apart
    assert frame["arrival_rate"].nunique() == 1


def test_the_prediction_is_that_of_equal_shares_times_the_factor_of_the_shares(compared):
    frame, _ = compared(1.5, 1)
    ratio = (1.0 + frame["error"]) / (1.0 + frame["error_equal_shares"])
    assert ratio.tolist() == pytest.approx(frame["share_factor"].tolist(), rel=1e-12)


@pytest.mark.thorough
def test_strategies_that_are_told_apart_get_no_more_and_one_time_is_as_before(compared):
    far, told = compared(1.5, 4)
    assert len(told.runs) == 12
    plain, once = compared(1.5, 1)
    assert once.starts == {"MC": 4, "Random": 4}
    assert far["half_width_raw"].tolist() == plain["half_width_raw"].tolist()
    assert far["arrival_rate"].tolist() == plain["arrival_rate"].tolist()
