"""Speeds from work over time: quotients by hand, and intervals that cover as they say."""

import numpy as np
import pytest

from qmodels.errors import ModelError
from validation.trial.speed_estimates import speeds_of_runs


def drawn(rng, runs):
    """Runs of random length at 2 and 3 jobs per second, with noise."""
    spans = rng.uniform(50.0, 150.0, (runs, 2))
    return [2.0, 3.0] * spans + rng.normal(0.0, 5.0, (runs, 2)), spans


def test_work_over_time_is_of_all_runs_together():
    """Not the mean of 1 and 4: by hand, 12 jobs in 6 seconds."""
    found = speeds_of_runs([[4.0], [8.0]], [[4.0], [2.0]])
    assert found.throughput.tolist() == [2.0]
    # Residuals -4 and +4 over a mean of 3 seconds: (16 + 16) / 9 / (2 * 1).
    assert found.covariance == pytest.approx(np.array([[32.0 / 18.0]]))
    assert found.degrees_of_freedom == 1.0


def test_intervals_cover_as_often_as_they_say():
    rng, hits, errors = np.random.default_rng(3), np.zeros(2), []
    for _ in range(500):
        found = speeds_of_runs(*drawn(rng, 8))
        errors.append(found.throughput - [2.0, 3.0])
        hits += np.abs(errors[-1]) <= found.half_widths(0.95)
    # Taylor's series of a quotient of 8 spans that vary by a third leaves a percent.
    assert (np.abs(hits / 500 - 0.95) < 4 * (0.95 * 0.05 / 500) ** 0.5 + 0.01).all()
    assert (np.abs(np.mean(errors, axis=0)) < 4 * np.std(errors, axis=0) / 500**0.5).all()


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
