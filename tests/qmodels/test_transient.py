"""Where a chain is after a given time."""

import numpy as np
import pytest
from scipy.sparse import csr_array, diags_array, eye_array, kron

from phasefit import match_moments
from qmodels.errors import ConvergenceError, MemoryBudgetError, ModelError
from qmodels.markov import stationary, transient, transients
from tests.naive import chains as naive

DAYS = [[0, 1 / 24], [1 / 2, 0]]


def error(ours, exact):
    return sum(abs(float(a - b)) for a, b in zip(ours, exact, strict=True))


def test_two_states_follow_the_exponential_of_the_textbook():
    times = np.array([0.0, 0.5, 3.0, 100.0])
    found = transient(DAYS, [0, 1], times)
    up = 12 / 13 * (1 - np.exp(-(1 / 24 + 1 / 2) * times))
    assert found.probabilities[:, 0] == pytest.approx(up, rel=1e-14)
    assert found.probabilities.sum(axis=1) == pytest.approx(1.0, rel=1e-15)


@pytest.mark.thorough
@pytest.mark.parametrize("path", ["dense", "sparse"])
def test_random_stiff_chains_agree_with_eighty_digits(path, rng, monkeypatch):
    monkeypatch.setattr(transients, "_DENSE", 200 if path == "dense" else 0)
    for _ in range(6):
        rates = 10.0 ** rng.uniform(-3, 0, (6, 6)) * (rng.random((6, 6)) < 0.6)
        rates += np.roll(np.diag(10.0 ** rng.uniform(-3, 0, 6)), 1, axis=1)
        initial = rng.dirichlet(np.ones(6))
        times = 10.0 ** rng.uniform(-1, 3, 4)
        found = transient(rates, initial, times)
        for row, time in zip(found.probabilities, times, strict=True):
            assert error(row, naive.transient(rates, initial, time)) <= found.error_bound
        assert found.error_bound < 1e-10


@pytest.mark.parametrize(("path", "horizon"), [("dense", 1e12), ("sparse", 1e15)])
def test_a_long_horizon_ends_in_the_steady_state(path, horizon, monkeypatch):
    monkeypatch.setattr(transients, "_DENSE", 200 if path == "dense" else 0)
    _, rates, _ = naive.shared_disk(4, match_moments(4.0, 40.0), match_moments(1.0, 4.0))
    start = np.eye(len(rates))[0]
    found = transient(rates, start, [horizon])
    pi = stationary(rates)
    assert np.abs(found.probabilities[0] - pi).sum() <= found.error_bound
    if path == "sparse":
        assert found.method == "uniformisation and steady state"
        assert found.steps < 1e5
        assert found.settled < 1e5


def test_a_time_before_and_beyond_the_steady_state_has_all_its_weights(monkeypatch):
    """After 64 jumps this chain is at rest; of 50 on average, some are fewer and some are more."""
    monkeypatch.setattr(transients, "_DENSE", 0)
    rates = np.array([[0, 0.18, 0.001], [0.18, 0, 0], [1.0, 0, 0]])
    start = [0.0, 1.0, 0.0]
    found = transient(rates, start, [50.0, 1e4])
    assert (found.steps, found.error_bound < 1e-11) == (65, True)
    assert error(found.probabilities[0], naive.transient(rates, start, 50.0)) <= found.error_bound


def test_a_large_chain_agrees_with_the_small_one_it_is_made_of():
    """Independent machines: the product of their laws, here 3^6 states against 3."""
    one = np.array([[0, 1.0, 0], [0.3, 0, 0.7], [2.0, 0, 0]])
    rates = csr_array((1, 1))
    for _ in range(6):
        rates = kron(rates, eye_array(3)) + kron(eye_array(rates.shape[0]), csr_array(one))
    start = np.eye(729)[0]
    found = transient(csr_array(rates), start, [0.3, 2.0])
    single = transient(one, [1, 0, 0], [0.3, 2.0])
    for row, p in zip(found.probabilities, single.probabilities, strict=True):
        product = np.ones(1)
        for _ in range(6):
            product = np.kron(product, p)
        assert np.abs(row - product).sum() < 1e-12


@pytest.mark.parametrize("tol", [1e-4, 1e-12, 1e-100])
def test_what_is_left_out_on_both_sides_stays_below_the_tolerance(tol):
    for mean in (0.0, 1e-9, 0.3, 30.0, 1e6):
        first, weights = transients._poisson_window(mean, tol)
        k = first + np.arange(weights.size)
        assert weights.sum() == pytest.approx(1.0, rel=1e-13)
        assert weights @ k == pytest.approx(mean, rel=max(1e-12, tol), abs=tol)
        if tol < 1e-4 and mean:
            assert weights @ (k - mean) ** 2 == pytest.approx(mean, rel=1e-10)


@pytest.mark.thorough
def test_weights_cut_off_too_early_are_caught(monkeypatch, rng):
    right = transients._poisson_window

    def cut(mean, tol):
        first, weights = right(mean, tol)
        return first, weights[:-4] / weights[:-4].sum()

    monkeypatch.setattr(transients, "_poisson_window", cut)
    with pytest.raises(AssertionError):
        test_random_stiff_chains_agree_with_eighty_digits("sparse", rng, monkeypatch)


@pytest.mark.parametrize("path", ["dense", "sparse"])
def test_what_does_not_move_stays(path, monkeypatch):
    monkeypatch.setattr(transients, "_DENSE", 200 if path == "dense" else 0)
    found = transient(np.zeros((2, 2)), [0.25, 0.75], [0.0, 7.0])
    assert found.probabilities.tolist() == [[0.25, 0.75]] * 2
    assert found.steps == 0
    trapped = transient([[0, 0], [1.0, 0]], [1.0, 0.0], [5.0])
    assert trapped.probabilities.tolist() == [[1.0, 0.0]]


@pytest.mark.thorough
def test_several_recurrent_classes_need_no_steady_state(monkeypatch):
    monkeypatch.setattr(transients, "_DENSE", 0)
    found = transient([[0, 1.0, 3.0], [0, 0, 0], [0, 0, 0]], [1, 0, 0], [1e3, 1e4])
    assert found.probabilities[1] == pytest.approx([0, 0.25, 0.75], abs=1e-11)


def test_a_horizon_of_too_many_jumps_is_refused(monkeypatch):
    monkeypatch.setattr(transients, "_DENSE", 0)
    with pytest.raises(ConvergenceError):
        transient([[0, 1.0, 3.0], [0, 0, 0], [0, 0, 0]], [1, 0, 0], [1e9])


def test_means_and_a_frame():
    found = transient(DAYS, [0, 1], [0.0, 1.0])
    assert found.mean_of([0.0, 10.0]) == pytest.approx([10.0, 6.139], rel=1e-4)
    assert found.to_frame().index.tolist() == [0.0, 1.0]
    with pytest.raises(ModelError, match="one value for each of 2 states"):
        found.mean_of([1.0])


def test_all_states_are_drawn_where_there_are_ten_at_most_the_likeliest_first():
    found = transient([[0.0, 1.0, 0.0], [0.0, 0.0, 4.0], [0.0, 0.0, 0.0]], [0.0, 1.0, 0.0], [0.0, 9.0])
    assert set(found.drawn().state) == {"state 0", "state 1", "state 2"}
    assert found.drawn().state.iloc[-1] == "state 0"  # which is never reached


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((DAYS, [0, 1, 0], [1.0]), "2 entries"),
        ((DAYS, [0, 2], [1.0]), "sum to 1"),
        ((DAYS, [-1, 2], [1.0]), ">= 0"),
        ((DAYS, [0, 1], [-1.0]), "times"),
        ((DAYS, [0, 1], []), "times"),
        ((DAYS, [0, 1], 1.0), "times"),
        ((DAYS, [0, 1], [np.nan]), "nan"),
        ((DAYS, None, [1.0]), "initial"),
        (([[0, -1], [1, 0]], [0, 1], [1.0]), "negative rate"),
    ],
)
def test_arguments_out_of_range_are_named(arguments, said):
    with pytest.raises(ModelError, match=said):
        transient(*arguments)


@pytest.mark.thorough
def test_too_many_times_are_refused_before_anything_is_allocated():
    rates = csr_array(diags_array([np.ones(9999)] * 2, offsets=[1, -1]))
    with pytest.raises(MemoryBudgetError, match="10000 states at 1000 times"):
        transient(rates, np.eye(10_000)[0], np.arange(1000.0), memory=1e7)


def test_what_was_found_cannot_be_written_to():
    found = transient([[0.0, 1.0], [1.0, 0.0]], initial=[1.0, 0.0], times=[1.0])
    for array in (found.times, found.probabilities):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 2.0
