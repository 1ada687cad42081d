"""Speeds from work over time: quotients by hand, and intervals that cover as they say."""

import numpy as np
import pytest

from qmodels.errors import ModelError
from validation.trial.loss_run import speeds_of_parts, speeds_of_runs


def drawn(rng, runs):
    """Runs of random length at 2 and 3 jobs per second, with noise."""
    spans = rng.uniform(50.0, 150.0, (runs, 2))
    return [2.0, 3.0] * spans + rng.normal(0.0, 5.0, (runs, 2)), spans


def test_work_over_time_is_of_all_runs_together():
    """Not the mean of 1 and 4: by hand, 12 jobs in 6 seconds."""
    found = speeds_of_runs([[4.0], [8.0]], [[4.0], [2.0]])
    assert found.throughput.tolist() == [2.0]
    # Residuals -4 and +4 over 6 seconds; their squares stand for 1 - (4/9 + 1/9) of the variance.
    assert found.covariance == pytest.approx(np.array([[32.0 / 36.0 / (4.0 / 9.0)]]))
    assert found.degrees_of_freedom == [1.0]  # .8, were it not for the least that there is
    alike = speeds_of_runs([[4.0], [8.0], [6.0]], [[3.0], [3.0], [3.0]])
    assert alike.covariance == pytest.approx(np.array([[np.var([4 / 3, 8 / 3, 2], ddof=1) / 3]]))
    assert alike.degrees_of_freedom == pytest.approx([2.0])


def test_intervals_cover_as_often_as_they_say():
    rng, hits, errors = np.random.default_rng(3), np.zeros(2), []
    for _ in range(500):
        found = speeds_of_runs(*drawn(rng, 8))
        errors.append(found.throughput - [2.0, 3.0])
        hits += np.abs(errors[-1]) <= found.half_widths(0.95)
    # Taylor's series of a quotient of 8 spans that vary by a third leaves a percent.
    assert (np.abs(hits / 500 - 0.95) < 4 * (0.95 * 0.05 / 500) ** 0.5 + 0.01).all()
    assert (np.abs(np.mean(errors, axis=0)) < 4 * np.std(errors, axis=0) / 500**0.5).all()


@pytest.mark.parametrize("runs", [2, 3, 4])
def test_few_runs_of_which_one_saw_most_cover_as_often_as_they_say(runs):
    """Spans of a Gamma law of shape 1/2, noise that grows with them: 85 % at n - 1 degrees."""
    rng, hits, tries = np.random.default_rng(5), np.zeros(2), 400
    for _ in range(tries):
        spans = rng.gamma(0.5, 200.0, (runs, 2))
        work = [2.0, 3.0] * spans + 2.0 * rng.normal(size=(runs, 2)) * np.sqrt(spans)
        found = speeds_of_runs(work, spans)
        hits += np.abs(found.throughput - [2.0, 3.0]) <= found.half_widths(0.95)
    assert (hits / tries >= 0.95 - 4 * (0.95 * 0.05 / tries) ** 0.5).all()


def short_run(rng, parts, stretches=60):
    """A run through 1 to 3 jobs for random times, at 1, 2 and 3 per second times a random factor.

    In parts of equal time: work and seconds, (parts, 2, 3).
    """
    level, lasts = rng.integers(0, 3, stretches), rng.exponential(1.0, stretches)
    work = (1.0 + level) * lasts * rng.normal(1.0, 0.3, stretches)
    begin = np.cumsum(lasts) - lasts
    part = (parts * begin / lasts.sum()).astype(int)
    rows = np.zeros((parts, 2, 3))
    np.add.at(rows, (part, 0, level), work)
    np.add.at(rows, (part, 1, level), lasts)
    return rows


@pytest.mark.thorough
@pytest.mark.parametrize("starts", [2, 3, 4])
def test_parts_of_few_starts_cover_as_often_as_they_say_and_tell_more_than_whole_starts(starts):
    rng, hits, tries, widths = np.random.default_rng(7), np.zeros(3), 400, []
    for _ in range(tries):
        parts = np.array([short_run(rng, 4) for _ in range(starts)])
        found = speeds_of_parts(parts)
        whole = speeds_of_runs(*np.moveaxis(parts.sum(axis=1), 1, 0))
        np.testing.assert_allclose(found.throughput, whole.throughput)
        hits += np.abs(found.throughput - [1.0, 2.0, 3.0]) <= found.half_widths(0.95)
        widths.append([found.half_widths(0.95), whole.half_widths(0.95)])
    # a part holds five stretches at each level, so a quotient's linear error is a percent off
    assert (hits / tries >= 0.95 - 4 * (0.95 * 0.05 / tries) ** 0.5 - 0.01).all()
    by_parts, by_starts = np.mean(widths, axis=0)
    assert (by_parts < (0.5 if starts == 2 else 1.0) * by_starts).all()


def test_a_run_that_never_saw_a_number_of_jobs_says_nothing_of_it():
    three = speeds_of_runs([[4.0], [8.0], [0.0]], [[4.0], [2.0], [0.0]])
    assert three.throughput.tolist() == [2.0]
    with pytest.raises(ModelError, match="but 1 never had 2 jobs"):
        speeds_of_runs([[1.0, 0.0], [1.0, 1.0]], [[1.0, 0.0], [1.0, 1.0]])


@pytest.mark.parametrize(
    ("work", "spans"), [([[1.0]], [[1.0]]), ([1.0, 1.0], [1.0, 1.0]), ([[1.0]] * 2, [[1.0, 2.0]])]
)
def test_what_is_no_two_runs_is_refused(work, spans):
    with pytest.raises(ModelError, match="row for each"):
        speeds_of_runs(work, spans)
