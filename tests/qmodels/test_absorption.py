"""How long a chain takes to reach certain states."""

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array, diags_array, eye_array, kron

from phasefit import PhaseType, match_moments
from qmodels.errors import MemoryBudgetError, ModelError
from qmodels.markov import absorption, solve_absorption
from tests.naive import chains as naive

EPS = np.finfo(float).eps


def law_as_chain(law):
    """A phase-type law with its end as the last state."""
    n = law.order
    rates = np.zeros((n + 1, n + 1))
    rates[:n, :n], rates[:n, n] = law.jumps, law.exit
    return rates


@pytest.mark.parametrize("method", ["gth", "iterative"])
def test_moments_are_those_of_the_phase_type_law(method):
    for law in (PhaseType.erlang(phases=7, mean=3.0), match_moments(1.0, 30.0, 4000.0)):
        found = solve_absorption(law_as_chain(law), law.order, moments=4, method=method)
        for k in range(1, 5):
            start = np.append(law.alpha, 0.0)
            assert found.moment(k, start) == pytest.approx(law.moment(k), rel=1e-13)


@pytest.mark.thorough
@pytest.mark.parametrize("method", ["gth", "iterative"])
def test_random_chains_agree_with_eighty_digits(method, rng):
    decades = 8 if method == "gth" else 3
    for _ in range(15):
        rates = 10.0 ** rng.uniform(-decades, 0, (8, 8))
        inside, moments, chances = naive.absorption(rates, [2, 5], 3)
        found = solve_absorption(rates, [2, 5], moments=3, method=method)
        for ours, exact in zip(found.moments[:, inside], moments, strict=True):
            for a, b in zip(ours, exact, strict=True):
                assert abs(float(a / b - 1)) <= found.error_bound
        assert found.error_bound < 1e-9
        for j in (0, 1):
            exact = [float(p) for p in chances[j]]
            assert found.probabilities[inside, j] == pytest.approx(exact, rel=1e-9)
        assert found.moments[:, [2, 5]].tolist() == [[0.0, 0.0]] * 3
        assert found.probabilities[[2, 5]].tolist() == [[1.0, 0.0], [0.0, 1.0]]


def check_rare_ends():
    """A chain that ends once in 1e18 jumps: the mean time is known to every digit."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        rates = rng.random((6, 6))
        rates[:, 5] = 0.0
        rates[0, 5] = 1e-18
        inside, moments, _ = naive.absorption(rates, [5], 1)
        found = solve_absorption(rates, 5, moments=1)
        for a, b in zip(found.mean[inside], moments[0], strict=True):
            assert abs(float(a / b - 1)) < 1e-13


def test_the_time_to_a_rare_end_keeps_its_digits():
    check_rare_ends()


def test_an_elimination_that_subtracts_is_caught(monkeypatch):
    def textbook(off, excess):
        rates = off - np.diag(np.diag(off))
        matrix = np.diag(rates.sum(axis=1) + excess) - rates

        class Factors:
            def solve(self, right):
                return np.linalg.solve(matrix, right)

        return Factors()

    monkeypatch.setattr(absorption, "factor", textbook)
    with pytest.raises((AssertionError, FloatingPointError, np.linalg.LinAlgError)):
        check_rare_ends()


def test_a_gambler_is_ruined_as_often_as_de_moivre_says():
    n, p = 40, 0.45
    rates = np.diag(np.full(n, p), 1) + np.diag(np.full(n, 1 - p), -1)
    found = solve_absorption(rates, [0, n])
    i, r = np.arange(1, n), (1 - p) / p
    assert found.probabilities[1:n, 1] == pytest.approx((r**i - 1) / (r**n - 1), rel=1e-12)


def test_a_large_chain_is_swept_to_the_bound_it_states():
    """Machines that fail and are mended until all are down, against the chain of their number."""
    machines, mend = 11, 0.6
    one = csr_array([[0, 1.0], [mend, 0]])
    rates = csr_array((1, 1))
    for _ in range(machines):
        rates = csr_array(kron(rates, eye_array(2)) + kron(eye_array(rates.shape[0]), one))
    found = solve_absorption(rates, rates.shape[0] - 1)
    assert found.method == "iterative"
    down = np.arange(machines)
    counted = diags_array([machines - down, mend * (down + 1)], offsets=[1, -1]).toarray()
    exact = solve_absorption(counted, machines)
    assert exact.method == "gth"
    for k in (1, 2):
        ours, theirs = found.moments[k - 1][0], exact.moments[k - 1][0]
        assert ours == pytest.approx(theirs, rel=found.error_bound + exact.error_bound)
    assert found.error_bound < 1e-9


def test_the_bound_of_a_chance_counts_what_rounding_hides():
    """Flows of 1000 per second are known to their last digit only, and what that lacks may last 1000 s."""
    rates = np.zeros((4, 4))
    rates[0, 2:], rates[1, 2:] = 500.0, 0.0005
    found = solve_absorption(rates, [2, 3], method="iterative")
    assert found.probabilities[:2].tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert 500.0 * 1000.0 * EPS <= found.error_bound < 1e-9


def test_only_targets_leaves_nothing_to_wait_for():
    found = solve_absorption([[0, 1.0], [1.0, 0]], [0, 1])
    assert found.mean.tolist() == [0.0, 0.0]


def test_a_frame_has_a_row_for_each_state():
    found = solve_absorption([[0, 1.0, 0], [1.0, 0, 1.0], [0, 0, 0]], 2)
    assert found.to_frame()["moment 1"].tolist() == pytest.approx([3.0, 2.0, 0.0])
    assert found.to_frame()["reaches 2"].tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(ModelError, match="only 2 moments"):
        found.moment(3, [1, 0, 0])
    with pytest.raises(ModelError, match="3 entries"):
        found.moment(1, [1.0])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (([[0, 1.0], [1.0, 0]], 2), "from 0 to 1"),
        (([[0, 1.0], [1.0, 0]], -1), "targets"),
        (([[0, 1.0], [1.0, 0]], []), "at least one"),
        (([[0, 1.0], [1.0, 0]], [0, 0]), "different"),
        (([[0, 1.0], [1.0, 0]], "a"), "whole number"),
        (([[0, 1.0], [1.0, 0]], None), "whole number"),
        (([[0, 1.0], [1.0, 0]], 0.5), "whole number"),
        (([[0, 0, 0], [1.0, 0, 0], [0, 1.0, 0]], 2), "state 0 never reaches"),
        (([[0, np.inf], [1.0, 0]], 0), "inf"),
    ],
)
@pytest.mark.parametrize("method", ["gth", "iterative"])
def test_what_cannot_be_answered_is_refused(arguments, said, method):
    with pytest.raises(ModelError, match=said):
        solve_absorption(*arguments, method=method)


@pytest.mark.parametrize("wrong", [{"moments": 0}, {"method": "lu"}, {"memory": np.nan}])
def test_arguments_out_of_range_are_named(wrong):
    with pytest.raises(ModelError, match=next(iter(wrong))):
        solve_absorption([[0, 1.0], [1.0, 0]], 0, **wrong)


def test_the_memory_that_is_asked_for_is_what_a_dense_solution_takes():
    """Neither half of it nor three times as much."""
    rates = csr_array(diags_array([np.ones(599)] * 2, offsets=[1, -1]))
    solve_absorption(rates, 0, method="gth")
    tracemalloc.start()
    solve_absorption(rates, 0, method="gth")
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    solve_absorption(rates, 0, method="gth", memory=3.0 * taken)
    with pytest.raises(MemoryBudgetError):
        solve_absorption(rates, 0, method="gth", memory=0.5 * taken)


def test_a_chain_too_large_is_refused():
    rates = csr_array(diags_array([np.ones(9999)] * 2, offsets=[1, -1]))
    with pytest.raises(MemoryBudgetError, match="GB allowed"):
        solve_absorption(rates, 0, method="gth", memory=1e7)
