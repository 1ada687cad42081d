"""Stationary vectors of chains of any size; three families of promises and bugs they catch."""

import tracemalloc

import mpmath
import numpy as np
import pytest
from scipy.sparse import csr_array, diags_array, eye_array, kron, random_array

from phasefit import PhaseType, match_moments
from qmodels.errors import ConvergenceError, MemoryBudgetError, ModelError
from qmodels.markov import (
    _kernels,
    block_tridiagonal,
    chain,
    elimination,
    estimate_bytes,
    solve_chain,
    stationary,
)
from qmodels.markov.sweeps.stationary import Iteration
from tests.naive import chains as naive

EPS = np.finfo(float).eps


def distance(ours, exact):
    """Largest relative error of an entry."""
    return max(abs(float(a / b - 1)) for a, b in zip(ours, exact, strict=True))


def bistable(half):
    """A walk drawn to both ends: between them it is seen about once in 2**half jumps."""
    k = np.arange(2 * half - 1)
    births, deaths = np.where(k < half, 1.0, 2.0), np.where(k < half, 2.0, 1.0)
    deaths[0] = 1.9
    return births, deaths, csr_array(diags_array([births, deaths], offsets=[1, -1]))


def torus(side, rng):
    """A walk on a square with random rates between 1e-3 and 1: no order of it is good."""
    ring = diags_array([1.0, 1.0, 1.0], offsets=[1, -1, 1 - side], shape=(side, side))
    walk = csr_array(kron(ring, eye_array(side)) + kron(eye_array(side), ring))
    walk = csr_array(walk + walk.T)
    walk.data = 10.0 ** rng.uniform(-3, 0, walk.data.size)
    return walk


# ---------------------------------------------------------------- stationary vectors


def check_nearly_decomposable_chains(seed=1, count=60):
    """Every probability of nearly decomposable chains to 2 n^2 u, at most 1e-12."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        rates = naive.nearly_decomposable(rng)
        exact = naive.stationary(rates)
        bound = min(2 * len(rates) ** 2 * EPS, 1e-12)
        assert distance(stationary(rates), exact) <= bound
        for method in ("gth", "direct"):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(chain, "_TOGETHER", 1)  # small levels are levels all the same
                found = solve_chain(rates, method=method)
            assert distance(found.probabilities, exact) <= bound
            assert found.error_estimate <= 1e-12


def check_the_iteration_says_what_it_does_not_know(seed=2, count=40):
    """Whatever the coupling, the iteration's error is below its estimate, or it claims nothing."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        rates = naive.nearly_decomposable(rng)
        try:
            found = solve_chain(rates, method="iterative", max_sweeps=3000)
        except ConvergenceError:
            continue
        off = distance(found.probabilities, naive.stationary(rates))
        assert found.error_estimate == 1.0 or off <= found.error_estimate


def check_strong_drift(levels=400):
    """Hundreds of levels climbed at a thousand to one: no overflow, every digit of the mass."""
    rng = np.random.default_rng(5)
    births = 1e3 * rng.uniform(0.5, 1.0, levels)
    deaths = rng.uniform(0.5, 1.0, levels)
    exact = naive.birth_death(births, deaths)
    seen = [k for k, p in enumerate(exact) if p > 1e-290]
    for up, down, order in ((births, deaths, slice(None)), (deaths, births, slice(None, None, -1))):
        rates = csr_array(diags_array([up[order], down[order]], offsets=[1, -1]))
        for method in ("gth", "direct", "iterative"):
            given = np.arange(levels + 1) if method == "iterative" else None
            pi = solve_chain(rates, method=method, levels=given).probabilities[order]
            assert distance(pi[seen], [exact[k] for k in seen]) < 1e-12
            assert pi.sum() == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize("method", ["gth", "direct", "iterative", "auto"])
def test_rates_stored_by_where_they_lead_are_the_same_rates(method, rng):
    rates = torus(25, rng)
    rates.setdiag(3.0)  # jumps to the same state change nothing, either way
    by_source = solve_chain(csr_array(rates), method=method)
    by_target = solve_chain(csr_array(rates).tocsc(), method=method)
    assert by_target.method == by_source.method
    assert by_target.probabilities == pytest.approx(by_source.probabilities, rel=1e-12)
    assert by_target.residual < 1e-14


def test_rates_stored_by_where_they_lead_are_read_as_they_are():
    states, jumps = 20_000, 8 * 20_000
    rng = np.random.default_rng(1)
    place = rng.integers(0, states, (2, jumps))
    ring = np.stack([np.arange(states), np.roll(np.arange(states), 1)])
    source, target = np.concatenate([place, ring], axis=1)
    rates = csr_array((np.ones(source.size), (source, target)), shape=(states, states)).tocsc()
    peaks = []
    for given in (csr_array(rates), rates):
        tracemalloc.start()
        solve_chain(given, method="iterative")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] - 10.0 * rates.nnz


def test_a_wrong_rate_stored_by_where_it_leads_is_named_source_first():
    rates = np.zeros((3, 3))
    rates[0, 1] = rates[1, 2] = rates[2, 0] = 1.0
    rates[0, 2] = -2.0
    for stored in (csr_array(rates), csr_array(rates).tocsc()):
        with pytest.raises(ModelError, match="negative rate -2 from state 0 to state 2"):
            solve_chain(stored)


def test_of_rates_stored_by_where_they_lead_transient_states_have_no_share_either():
    rates = np.zeros((4, 4))
    rates[0, 1] = rates[1, 2] = rates[2, 1] = rates[3, 0] = 1.0
    found = solve_chain(csr_array(rates).tocsc(), method="iterative")
    assert found.probabilities == pytest.approx([0.0, 0.5, 0.5, 0.0], abs=1e-15)
    apart = csr_array(np.array([[0, 1.0, 0, 0], [1.0, 0, 0, 0], [0, 0, 0, 1.0], [0, 0, 1.0, 0]]))
    with pytest.raises(ModelError, match="2 recurrent classes"):
        solve_chain(apart.tocsc(), method="iterative")


def check_memory_is_foreseen(states=20_000):
    """What is allocated is what was foreseen, to a factor of two."""
    rates = random_array((states, states), density=6 / states, rng=np.random.default_rng(1))
    ring = csr_array((np.ones(states), (np.arange(states), np.roll(np.arange(states), 1))))
    rates = csr_array(rates + ring)
    solve_chain(rates[:600][:, :600] + ring[:600][:, :600] + eye_array(600, k=1), method="iterative")
    tracemalloc.start()
    solve_chain(rates, method="iterative")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.5 < peak / estimate_bytes(states, rates.nnz) < 2.0
    dense = np.random.default_rng(1).random((700, 700))
    tracemalloc.start()
    solve_chain(dense, method="gth")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.5 < peak / estimate_bytes(700, dense.size, method="gth") < 2.0


@pytest.mark.thorough
@pytest.mark.parametrize(
    "check",
    [
        check_nearly_decomposable_chains,
        check_the_iteration_says_what_it_does_not_know,
        check_strong_drift,
        check_memory_is_foreseen,
    ],
)
def test_the_promise_holds(check):
    check()


@pytest.mark.slow
def test_ten_thousand_nearly_decomposable_chains_keep_every_digit(record_property):
    record_property("chains", 10_000)
    check_nearly_decomposable_chains(seed=None, count=10_000)


@pytest.mark.slow
def test_on_two_thousand_chains_the_iteration_never_claims_too_much(record_property):
    record_property("chains", 2_000)
    check_the_iteration_says_what_it_does_not_know(seed=None, count=2000)


def textbook_gth(q, pi):
    """Elimination with a diagonal, which is subtracted from."""
    q -= np.diag(q.sum(axis=1))
    for k in range(len(q) - 1, 0, -1):
        q[:k, k] /= -q[k, k]
        q[:k, :k] += np.outer(q[:k, k], q[k, :k])
    pi[0] = 1.0
    for k in range(1, len(q)):
        pi[k] = pi[:k] @ q[:k, k]
    pi /= pi.sum()


def textbook_factor(off, excess, **_):
    """Factors by LAPACK of the matrix with its diagonal."""
    rates = off - np.diag(np.diag(off))
    matrix = np.diag(rates.sum(axis=1) + excess) - rates

    class Factors:
        def solve_left(self, rows):
            return np.linalg.solve(matrix.T, rows.T).T

    return Factors()


def test_an_elimination_that_subtracts_is_caught(monkeypatch):
    monkeypatch.setattr(_kernels, "gth", textbook_gth)
    with pytest.raises((AssertionError, FloatingPointError)):
        check_nearly_decomposable_chains()


def test_a_factorisation_that_subtracts_is_caught(monkeypatch):
    monkeypatch.setattr(block_tridiagonal, "factor", textbook_factor)
    with pytest.raises((AssertionError, FloatingPointError, np.linalg.LinAlgError)):
        check_nearly_decomposable_chains()


def test_an_iteration_that_trusts_its_last_change_is_caught(monkeypatch):
    monkeypatch.setattr(Iteration, "_update_error_growth", lambda self, x: None)
    with pytest.raises(AssertionError):
        check_the_iteration_says_what_it_does_not_know()


def test_levels_that_are_not_rescaled_are_caught(monkeypatch):
    monkeypatch.setattr(block_tridiagonal.math, "frexp", lambda x: (x, 0))
    with pytest.raises((AssertionError, FloatingPointError)):
        check_strong_drift()


def test_memory_that_is_forgotten_is_caught(monkeypatch):
    monkeypatch.setattr(chain, "_VECTORS", 2.0)
    monkeypatch.setattr(chain, "_RATE", 4.0)
    with pytest.raises(AssertionError):
        check_memory_is_foreseen()


# ---------------------------------------------------------------- methods


@pytest.mark.parametrize("think_scv", [0.25, 4.0])
@pytest.mark.parametrize("disk_scv", [0.5, 10.0])
def test_all_methods_agree_on_a_network_within_what_they_claim(think_scv, disk_scv):
    think = match_moments(6.0, 36.0 * (1 + think_scv))
    disk = match_moments(1.0, 1 + disk_scv)
    _, rates, levels = naive.shared_disk(7, think, disk)
    pi = stationary(rates)
    for method, given in (
        ("gth", None),
        ("direct", None),
        ("direct", levels),
        ("iterative", None),
        ("iterative", levels),
        ("auto", levels),
    ):
        found = solve_chain(csr_array(rates), method=method, levels=given)
        off = distance(found.probabilities, pi)
        assert off <= found.error_estimate + 4 * len(pi) * EPS
        assert found.error_estimate < 1e-11
        assert found.residual < 1e-14
        assert found.states == len(pi)
        assert (found.sweeps > 0) == ("iterative" in found.method)


def test_a_large_network_comes_out_to_the_last_digits_that_rounding_leaves():
    think = PhaseType.hyperexponential(weights=[0.6, 0.3, 0.1], means=[0.3, 1.0, 10.0]).scale(5.0)
    _, rates, levels = naive.shared_disk(12, think, match_moments(1.0, 6.0))
    sparse = csr_array(rates)
    found = solve_chain(sparse, levels=levels)
    assert found.method == "iterative"
    exact = solve_chain(sparse, levels=levels, method="direct")
    assert exact.method.startswith("direct")
    assert distance(found.probabilities, exact.probabilities) <= found.error_estimate
    assert found.error_estimate < 1e-11


def test_a_stricter_run_moves_the_result_by_no_more_than_was_claimed(rng):
    walk = torus(60, rng)
    rough, strict = (solve_chain(walk, method="iterative", tol=tol) for tol in (1e-6, 1e-13))
    assert 1e-13 < distance(rough.probabilities, strict.probabilities) <= rough.error_estimate
    assert rough.error_estimate < 1e-5
    assert rough.sweeps < strict.sweeps


@pytest.mark.thorough
def test_rates_over_twelve_decades_keep_small_probabilities(rng):
    walk = torus(26, rng)
    walk.data = 10.0 ** rng.uniform(-12, 0, walk.data.size)
    pi = stationary(walk.toarray())
    found = solve_chain(walk)
    assert distance(found.probabilities, pi) <= found.error_estimate + 4 * pi.size * EPS
    assert found.error_estimate < 1e-9  # the iteration could not say so, an elimination can


def test_two_ends_that_hardly_see_each_other_need_levels_or_an_elimination():
    births, deaths, rates = bistable(300)
    exact = naive.birth_death(births, deaths)
    assert solve_chain(rates, method="iterative").error_estimate == 1.0
    for method, levels in (("iterative", np.arange(600)), ("direct", None), ("auto", None)):
        found = solve_chain(rates, method=method, levels=levels)
        assert distance(found.probabilities, exact) <= found.error_estimate < 1e-10


@pytest.mark.parametrize("coupling", [1e-8, 1e-14, 1e-20])
def test_large_halves_hardly_connected_are_right_or_admitted_not_to_be(coupling, rng):
    half = torus(20, rng)
    bridge = csr_array(([coupling, 2 * coupling], ([3, 500], [700, 40])), shape=(800, 800))
    rates = csr_array(kron(eye_array(2), half) + bridge)
    pi = stationary(rates.toarray())
    swept = solve_chain(rates, method="iterative")
    off = distance(swept.probabilities, pi)
    assert swept.error_estimate == 1.0 or off <= swept.error_estimate
    found = solve_chain(rates)
    assert distance(found.probabilities, pi) <= 1e-12
    assert found.method.startswith("direct")


def test_where_no_elimination_is_affordable_the_estimate_tells(monkeypatch):
    rates = bistable(300)[2]
    monkeypatch.setattr(chain, "_WORK", 0.0)
    found = solve_chain(rates)
    assert (found.method, found.error_estimate) == ("iterative", 1.0)


@pytest.mark.parametrize("method", ["gth", "direct", "iterative"])
def test_transient_states_have_no_share(method):
    rates = np.zeros((9, 9))
    rates[0, 1] = rates[8, 7] = 1.0  # nothing leads back to 0 and 8
    rates[range(1, 7), range(2, 8)], rates[range(2, 8), range(1, 7)] = 2.0, 1.0
    found = solve_chain(rates, method=method, levels=np.arange(9))
    assert found.probabilities[[0, 8]].tolist() == [0.0, 0.0]
    assert found.probabilities[1:8] == pytest.approx(2.0 ** np.arange(7) / 127, rel=1e-12)


def test_one_state_holds_all_the_probability():
    assert solve_chain([[0.0]]).probabilities.tolist() == [1.0]
    assert solve_chain(csr_array((1, 1)), method="direct").probabilities.tolist() == [1.0]


def test_a_blocked_elimination_equals_the_one_by_states(rng):
    rates = 10.0 ** rng.uniform(-10, 0, (450, 450))
    plain = rates.copy()
    np.fill_diagonal(plain, 0.0)
    assert distance(elimination.balance(rates), stationary(plain)) < 4 * 450 * EPS


# ---------------------------------------------------------------- faces


def test_rates_given_are_not_touched():
    given = csr_array(([1.0, 1.0, 3.0, 5.0, 0.0], ([0, 0, 1, 1, 0], [1, 1, 0, 1, 0])), shape=(2, 2))
    before = given.data.copy(), given.indices.copy()
    found = solve_chain(given, method="iterative")
    assert found.probabilities == pytest.approx([0.6, 0.4], rel=1e-13)
    assert (given.data == before[0]).all()
    assert (given.indices == before[1]).all()
    assert not found.probabilities.flags.writeable


def test_other_sparse_formats_and_whole_numbers_are_welcome():
    given = csr_array([[0, 2], [3, 0]])
    for rates in (given.tocoo(), given.tocsc(), given.astype(int), [[0, 2], [3, 0]]):
        assert solve_chain(rates).probabilities == pytest.approx([0.6, 0.4], rel=1e-14)


def test_a_solution_says_how_it_was_found():
    found = solve_chain([[0, 2], [3, 0]])
    assert "method          gth" in found.table()
    assert found.to_frame()["states"].tolist() == [2]


@pytest.mark.parametrize(
    ("rates", "said"),
    [
        ([[0, 1, 2]], "square"),
        ([], "matrix"),
        (None, "numbers"),
        ("abc", "numbers"),
        ([[0, True], [1j, 0]], "real numbers"),
        ([[0, -1], [1, 0]], "negative rate -1 from state 0 to state 1"),
        ([[-1, 1], [1, -1]], "diagonal out"),
        ([[0, np.nan], [1, 0]], "entry 0, 1 is nan|nan"),
        (csr_array([[0, np.inf], [1, 0]]), "entry 0, 1 is inf"),
        (csr_array([[0, 1, 0], [1, 0, 0]]), "square"),
        (csr_array([[0, 1], [1, 0]], dtype=bool), "real numbers"),
        ([[0, 0], [0, 0]], "2 recurrent classes"),
    ],
)
@pytest.mark.parametrize("method", ["gth", "iterative"])
def test_what_is_no_chain_is_refused_and_the_reason_given(rates, said, method):
    with pytest.raises(ModelError, match=said):
        solve_chain(rates, method=method)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"method": "svd"}, "method must be one of"),
        ({"method": None}, "method must be one of"),
        ({"tol": 0.0}, "tol"),
        ({"tol": np.nan}, "tol"),
        ({"memory": -1.0}, "memory"),
        ({"max_sweeps": 1.5}, "max_sweeps"),
        ({"levels": [0]}, "levels must be 2 whole numbers"),
        ({"levels": [0.0, 1.0]}, "whole numbers"),
        ({"levels": [0, 2]}, "none left out"),
        ({"levels": [[0], [1, 2]]}, "whole numbers"),
    ],
)
def test_arguments_out_of_range_are_named(arguments, said):
    with pytest.raises(ModelError, match=said):
        solve_chain([[0, 2], [3, 0]], **arguments)


@pytest.mark.parametrize("method", ["direct", "iterative"])
def test_a_jump_over_a_level_is_refused(method):
    ring = np.roll(np.eye(5), 1, axis=1)
    with pytest.raises(ModelError, match="level"):
        solve_chain(ring, method=method, levels=np.arange(5))


@pytest.mark.thorough
def test_a_chain_too_large_is_refused_before_anything_is_allocated():
    rates = csr_array(diags_array([np.ones(99_999)] * 2, offsets=[1, -1]))
    for method in ("gth", "direct", "iterative"):
        tracemalloc.start()
        with pytest.raises(MemoryBudgetError, match="GB allowed"):
            solve_chain(rates, method=method, memory=1e4)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        # checks and classes of the given rates only
        assert peak < 250 * rates.shape[0]


def test_too_few_sweeps_hand_over_what_there_is(rng):
    with pytest.raises(ConvergenceError) as caught:
        solve_chain(torus(40, rng), method="iterative", max_sweeps=30)
    assert caught.value.last.sum() == pytest.approx(1.0)
    assert caught.value.steps >= 30


def test_bytes_are_estimated_for_what_is_known():
    with mpmath.workdps(20):
        assert estimate_bytes(10**6, 10**7) == pytest.approx(248e6)
    for wrong in (-1, 1.5, None):
        with pytest.raises(ModelError):
            estimate_bytes(wrong, 10)
    with pytest.raises(ModelError, match="method"):
        estimate_bytes(10, 10, method="direct")
