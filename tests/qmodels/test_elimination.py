import numpy as np
import pytest
from scipy.sparse import csr_array

from qmodels.errors import ModelError
from qmodels.markov import elimination, stationary
from qmodels.markov.elimination import balance, factor
from qmodels.markov.kinds import kronecker_terms
from qmodels.networks.occupancy import kron_sum
from tests.naive import qbd as naive


@pytest.fixture
def in_small_blocks(monkeypatch):
    monkeypatch.setattr(elimination, "_LEAF", 4)


def near_singular(rng, n):
    """Rates over eight decades, row sums of the matrix down to 1e-25."""
    return 10.0 ** rng.uniform(-8, 0, size=(n, n)), 10.0 ** rng.uniform(-25, -10, size=n)


@pytest.mark.parametrize("n", [1, 3, 4, 5, 9, 22])
@pytest.mark.usefixtures("in_small_blocks")
def test_solutions_in_blocks_are_right_to_the_last_digits(rng, n):
    off, excess = near_singular(rng, n)
    whole = naive.fixed(-off)
    for i, known in enumerate(naive.fixed(excess)[0]):
        whole[i, i] = 0
        whole[i, i] = known - sum(whole[i])
    right = rng.random((n, 3))
    factors = factor(off, excess)
    exact = naive.floats(naive.solve(whole, naive.fixed(right)))
    assert factors.solve(right) == pytest.approx(exact, rel=1e-14, abs=0)
    assert factors.solve(right[:, 0]) == pytest.approx(exact[:, 0], rel=1e-14, abs=0)
    exact = naive.floats(naive.solve(whole.T, naive.fixed(right)).T)
    assert factors.solve_left(right.T) == pytest.approx(exact, rel=1e-14, abs=0)
    assert factors.solve_left(right[:, 1]) == pytest.approx(exact[1], rel=1e-14, abs=0)


@pytest.mark.usefixtures("in_small_blocks")
def test_blocks_give_what_one_elimination_gives(rng, monkeypatch):
    off, excess = near_singular(rng, 37)
    in_blocks = factor(off, excess).packed
    monkeypatch.setattr(elimination, "_LEAF", 64)
    assert in_blocks == pytest.approx(factor(off, excess).packed, rel=1e-13, abs=0)


def test_the_arguments_stay_as_they_were(rng):
    off, excess = near_singular(rng, 6)
    before = off.copy(), excess.copy()
    factor(off, excess)
    balance(off)
    assert np.array_equal(off, before[0])
    assert np.array_equal(excess, before[1])


@pytest.mark.parametrize("n", [2, 7, 40])
@pytest.mark.usefixtures("in_small_blocks")
def test_balance_is_the_stationary_vector(rng, n):
    rates = 10.0 ** rng.uniform(-8, 0, size=(n, n))
    np.fill_diagonal(rates, 0.0)
    assert balance(rates) == pytest.approx(stationary(rates), rel=1e-14, abs=0)
    rates[:, -1] = 0.0  # the last state is left for good
    assert balance(rates) == pytest.approx(stationary(rates), rel=1e-14, abs=0)
    assert balance(rates)[-1] == 0.0


@pytest.mark.usefixtures("in_small_blocks")
def test_balance_of_a_chain_that_climbs_by_a_thousand_decades_does_not_overflow():
    rates = np.diag(np.full(399, 1e3), 1) + np.diag(np.ones(399), -1)
    pi = balance(rates)
    assert pi[-1] == pytest.approx(0.999, rel=1e-12)


@pytest.mark.usefixtures("in_small_blocks")
@pytest.mark.parametrize("trapped", [0, 7])
def test_states_without_a_way_out_are_named(trapped):
    off = np.ones((8, 8))
    off[trapped] = 0.0
    excess = np.ones(8)
    excess[trapped] = 0.0
    with pytest.raises(ModelError, match=f"state {trapped} is never left"):
        factor(off, excess)


def test_two_parts_that_move_independently_are_told_from_their_sum(rng):
    first, second = rng.random((3, 3)), rng.random((50, 50))
    np.fill_diagonal(first, 0.0)
    np.fill_diagonal(second, 0.0)
    whole = kron_sum(first, second)
    found = kronecker_terms(whole)
    assert found is not None
    assert (found[0] == first).all()
    assert (found[1] == second).all()
    sparse = kronecker_terms(csr_array(whole))
    assert sparse is not None
    assert (sparse[0] == first).all()
    assert (sparse[1] == second).all()
    assert balance(csr_array(whole)) == pytest.approx(balance(whole), rel=1e-15)
    swapped = np.ix_(np.arange(149, -1, -1), np.arange(149, -1, -1))
    odd = whole[swapped]
    odd[0, 149] += 1e-300  # no sum any more, and the same chain to rounding
    assert kronecker_terms(odd) is None
    assert balance(whole) == pytest.approx(balance(odd)[::-1], rel=1e-13)
    assert balance(csr_array(odd)) == pytest.approx(balance(odd), rel=1e-15)
    np.fill_diagonal(whole, 0.0)
    for i, j in ((0, 1), (0, 50), (0, 53), (149, 3)):
        other = whole.copy()
        other[i, j] += 1e-9
        assert kronecker_terms(other) is None


def test_dense_rates_and_those_of_a_prime_number_of_states_have_no_parts(rng):
    assert kronecker_terms(rng.random((12, 12))) is None
    assert kronecker_terms(np.eye(13, k=1) + np.eye(13, k=-1)) is None


def test_a_sum_of_parts_of_which_one_falls_apart_says_so_by_the_states_of_the_whole():
    ring = np.roll(np.eye(60), 1, axis=1)
    two = np.kron(np.eye(2), np.array([[0.0, 1.0], [1.0, 0.0]]))
    with pytest.raises(ModelError, match=r"2 recurrent classes .state 0 and state 120 never"):
        balance(kron_sum(two, ring))
