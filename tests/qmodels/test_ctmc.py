import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qmodels.errors import ModelError
from qmodels.markov import stationary
from qmodels.markov.sparse_rates import checked_levels


def exact_stationary(rates):
    """Solve the balance equations in 80 digits."""
    n = len(rates)
    with mpmath.workdps(80):
        q = mpmath.matrix(n, n)
        for i in range(n):
            for j in range(n):
                if i != j:
                    q[j, i] = mpmath.mpf(float(rates[i, j]))
                    q[i, i] -= mpmath.mpf(float(rates[i, j]))
        for j in range(n):
            q[n - 1, j] = 1
        right = mpmath.matrix(n, 1)
        right[n - 1] = 1
        return list(mpmath.lu_solve(q, right))


@given(st.integers(2, 7), st.integers(0, 10**6))
def test_every_probability_is_right_to_its_last_digits_however_small(n, seed):
    rng = np.random.default_rng(seed)
    rates = 10.0 ** rng.uniform(-8, 0, size=(n, n))
    np.fill_diagonal(rates, 0)
    exact = exact_stationary(rates)
    for ours, theirs in zip(stationary(rates), exact, strict=True):
        assert abs(ours / theirs - 1) < 2 * n**2 * np.finfo(float).eps


@pytest.mark.parametrize("coupling", [1e-6, 1e-10, 1e-14])
def test_two_nearly_separate_halves_keep_their_relative_accuracy(coupling):
    rates = np.array([[0, 1, coupling, 0], [2, 0, 0, 0], [0, 0, 0, 3], [0, coupling, 1, 0.0]])
    for ours, theirs in zip(stationary(rates), exact_stationary(rates), strict=True):
        assert abs(ours / theirs - 1) < 1e-14


def test_a_chain_that_drifts_upward_for_hundreds_of_states_does_not_overflow():
    rates = np.diag(np.full(499, 1000.0), 1) + np.diag(np.full(499, 1.0), -1)
    pi = stationary(rates)
    assert pi[-1] == pytest.approx(0.999, rel=1e-12)
    assert pi[-2] == pytest.approx(0.000999, rel=1e-12, abs=0)


def test_transient_states_have_no_share():
    pi = stationary([[0, 1, 0], [0, 0, 2], [0, 3, 0]])
    assert pi[0] == 0.0
    assert pi[1:] == pytest.approx([0.6, 0.4], rel=1e-15)


def test_the_diagonal_of_a_generator_may_be_given_and_changes_nothing():
    assert stationary([[-1, 1], [3, -3]]).tolist() == stationary([[0, 1], [3, 0]]).tolist()


@pytest.mark.parametrize(
    ("rates", "said"),
    [
        ([[0, 1, 2]], "square"),
        ([], "square"),
        ([[0, -1], [1, 0]], "negative rate -1 from state 0 to state 1"),
        ([[0, np.nan], [1, 0]], "nan"),
        ([[0, np.inf], [1, 0]], "inf"),
        ([[-2, 1], [3, -3]], "diagonal entry 0"),
        ([[0, 0], [0, 0]], "2 recurrent classes"),
        ("abc", "numbers"),
    ],
)
def test_what_is_no_chain_is_refused_and_the_reason_given(rates, said):
    with pytest.raises(ModelError, match=said):
        stationary(rates)


def test_levels_below_zero_are_refused_as_levels():
    with pytest.raises(ModelError, match="with none left out"):
        checked_levels([-1, 0], 2)
