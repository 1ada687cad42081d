"""Who of the running jobs gets on: shares by size, measured in runs and played in a queue."""

import numpy as np
import pytest

from qmodels.errors import ModelError
from qmodels.policies import SpeedTable, predict
from tests.naive.shared_queue import shared_responses as one_by_one
from validation.trial.bursts import workload
from validation.trial.history import Played
from validation.trial.replications import control_mean, speed_scaled_responses
from validation.trial.scenario import Cell
from validation.trial.shared_queue import (
    ShareFactor,
    corrected_response,
    share_factor,
    shared_responses,
)
from validation.trial.size_shares import (
    POWERS,
    SizeShares,
    scores_in_parts,
    share_scores,
    shares_of_parts,
    shares_of_scores,
)

SPEEDS = np.array([1.0, 1.7, 2.2, 2.5])
BY_SIZE = np.array([0.0, 0.2, 0.4, 0.6])
GIVEN = {
    "rows": 4,
    "columns": 4,
    "policy": "SP",
    "strategy": "MC",
    "cpu_to_io": 2.0,
    "policy_options": {"processor_partitions": 4, "disk_partitions": 1},
    "io_flits": 4096.0,
}


def jobs(rng, queues, count, rate=2.0):
    arrival = np.cumsum(rng.exponential(1.0 / rate, (queues, count)), axis=1)
    return arrival, rng.exponential(1.0, (queues, count))


def played(powers, count=400, seed=3):
    """A run of the naive queue as the machine notes one, and what its pieces are worth."""
    [arrival], [demand] = jobs(np.random.default_rng(seed), 1, count)
    response, done = one_by_one(SPEEDS, powers, arrival.tolist(), demand.tolist())
    finish = arrival + response
    start = np.full(count, np.inf)
    for job, begin, _, _ in done:
        start[job] = min(start[job], begin)
    at = np.concatenate([start, finish])
    change = np.repeat([1.0, -1.0], count)
    order = np.lexsort((change, at))
    changes = np.column_stack([at[order], np.cumsum(change[order])])
    pieces = np.array([(job, 0, 0, begin, end, 1.0) for job, begin, end, _ in done])
    run = Played(arrival, start, finish, pieces, changes, float(finish.max()), np.zeros(1))
    return run, np.array([work for *_, work in done]), demand


def test_the_queues_side_by_side_are_one_queue_after_the_other(rng):
    arrival, demand = jobs(rng, 3, 50)
    found = shared_responses(SPEEDS, BY_SIZE, arrival, demand)
    for row in range(3):
        naive, _ = one_by_one(SPEEDS, BY_SIZE, arrival[row].tolist(), demand[row].tolist())
        assert found[row] == pytest.approx(naive, rel=1e-9)


def test_equal_shares_are_the_speed_scaled_queue_of_the_control_variate(rng):
    arrival, demand = jobs(rng, 2, 80)
    found = shared_responses(SPEEDS, np.zeros(4), arrival, demand)
    for row in range(2):
        known = speed_scaled_responses(SPEEDS, arrival[row], demand[row])
        assert found[row] == pytest.approx(known, rel=1e-9)


def test_parts_of_a_run_hold_what_was_done_in_them_and_come_to_the_whole():
    """Piece by piece and stretch by stretch, with no sums over time."""
    run, credits, demand = played(BY_SIZE, count=30)
    cuts = np.linspace(0.0, run.end, 4)
    times = np.append(run.changes[:, 0], run.end)
    expected = np.zeros((3, 2, 5))
    for (begin, end), running in zip(
        np.column_stack([times[:-1], times[1:]]), run.changes[:, 1], strict=True
    ):
        for part in range(3):
            low, high = max(begin, cuts[part]), min(end, cuts[part + 1])
            if low < high:
                expected[part, 1, int(running)] += high - low
                for piece, worth in zip(run.pieces, credits, strict=True):
                    inside = max(0.0, min(high, piece[4]) - max(low, piece[3]))
                    expected[part, 0, int(running)] += worth * inside / (piece[4] - piece[3])
    found = run.in_parts(credits, 4, 3)
    found[:, 1, 0], expected[:, 1, 0] = 0.0, 0.0  # before the first job nothing is noted
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    scores = scores_in_parts(run, credits, demand, 4, 3)
    np.testing.assert_allclose(scores.sum(axis=0), share_scores(run, credits, demand, 4), atol=1e-9)
    assert (np.abs(scores).sum(axis=(1, 2)) > 0.0).all()
    halves = [scores_in_parts(*played(BY_SIZE, seed=seed), 4, 2) for seed in (1, 2)]
    assert shares_of_parts(halves).powers == pytest.approx(BY_SIZE, abs=2e-3)


def test_the_powers_by_which_a_run_shared_its_work_are_found_again():
    """Exactly, but for the grid on which scores are kept: the shares have no noise here."""
    scores = [share_scores(*played(BY_SIZE, seed=seed), 4) for seed in (1, 2)]
    found = shares_of_scores(scores)
    assert found.powers == pytest.approx(BY_SIZE, abs=2e-3)
    assert found.error < 0.01
    equal = shares_of_scores([share_scores(*played(np.zeros(4), seed=s), 4) for s in (1, 2)])
    assert equal.powers == pytest.approx(np.zeros(4), abs=1e-9)


def test_shares_by_lot_have_no_power(rng):
    """Outside the model: who gets how much is drawn anew each time, whatever the sizes."""
    scores = []
    for seed in range(16):
        run, credits, demand = played(np.zeros(4), count=150, seed=seed)
        lots = credits * rng.exponential(1.0, credits.size)
        scores.append(share_scores(run, lots, demand, 4)[1:, np.argmin(np.abs(POWERS))])
    errors = np.std(scores, axis=0, ddof=1) / 16**0.5
    assert (np.abs(np.mean(scores, axis=0)) <= 4 * errors).all()


def test_jobs_of_one_size_share_alike_whatever_the_power(rng):
    arrival, _ = jobs(rng, 2, 60)
    alike = [shared_responses(SPEEDS, powers, arrival, np.ones((2, 60))) for powers in (0, BY_SIZE)]
    assert alike[0] == pytest.approx(alike[1], rel=1e-9)
    scores = np.zeros((2, 4, POWERS.size))
    assert shares_of_scores(scores).powers.tolist() == [0.0] * 4


@pytest.mark.thorough
def test_shares_that_grow_with_size_make_responses_longer_by_what_more_queues_say():
    cell = Cell.of(**GIVEN)
    few = share_factor(cell, SPEEDS, SizeShares(BY_SIZE), 2.0)
    many = share_factor(cell, SPEEDS, SizeShares(BY_SIZE), 2.0, queues=400, seed=1)
    assert few.mean > 1.02
    assert abs(few.mean - many.mean) <= 4 * np.hypot(few.standard_error, many.standard_error)
    assert share_factor(cell, SPEEDS, SizeShares(np.zeros(4), 0.5), 2.0) == ShareFactor(1.0, 0.0)
    unsure = share_factor(cell, SPEEDS, SizeShares(BY_SIZE, 0.5), 2.0)
    assert unsure.mean == few.mean
    assert unsure.standard_error >= 0.5 * (few.mean - 1.0)


@pytest.mark.thorough
def test_the_queue_by_size_has_the_mean_that_the_factor_says(rng):
    """As a control variate it is taken for known: the exact mean at equal shares times the factor.

    Other jobs than those of which the factor was made.
    """
    cell = Cell.of(**GIVEN)
    factor = share_factor(cell, SPEEDS, SizeShares(BY_SIZE), 1.7)
    arrival, demand = jobs(rng, 64, 700, rate=1.7)
    found = shared_responses(SPEEDS, BY_SIZE, arrival, demand)[:, 150:650].mean(axis=1)
    known = factor.mean * control_mean(cell, SPEEDS, 1.7)
    error = np.hypot(found.std(ddof=1) / 8.0, factor.played_error * known / factor.mean)
    assert abs(found.mean() - known) <= 4 * error
    assert 0.0 < factor.played_error <= factor.standard_error


def test_a_response_by_speeds_and_shares_is_that_by_speeds_times_the_factor():
    cell = Cell.of(**GIVEN)
    table = SpeedTable(SPEEDS, np.diag([1e-4] * 4), 9.0)
    plain = predict(cell.policy, cell.system, workload(cell), arrival_rate=2.0, running=table)
    alone = corrected_response(cell, table, 2.0)
    assert alone == pytest.approx((plain.mean_response, plain.half_width), rel=1e-9)
    mean, half = corrected_response(cell, table, 2.0, ShareFactor(1.1, 0.02))
    assert mean == pytest.approx(1.1 * alone.mean)
    wide = table.quantile(0.95) * 0.02 * alone.mean
    assert half == pytest.approx(np.hypot(1.1 * alone.half_width, wide))


def test_what_is_no_share_is_refused():
    cell = Cell.of(**GIVEN)
    with pytest.raises(ModelError, match="powers"):
        SizeShares([])
    with pytest.raises(ModelError, match="two or more runs"):
        shares_of_scores(np.zeros((1, 4, POWERS.size)))
    with pytest.raises(ModelError, match="3 powers"):
        share_factor(cell, SPEEDS, SizeShares([0.0, 0.1, 0.2]), 1.0)
    with pytest.raises(ModelError, match="positive"):
        shared_responses(SPEEDS, BY_SIZE, np.zeros((1, 2)), np.array([[1.0, 0.0]]))
    with pytest.raises(ModelError, match="no more than"):
        share_factor(cell, SPEEDS, SizeShares(BY_SIZE), 2.5)
