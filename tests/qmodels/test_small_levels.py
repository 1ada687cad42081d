import numpy as np
import pytest

from qmodels.errors import ConvergenceError, ModelError
from qmodels.markov import QBD, qbd, reduction, solve_qbd
from qmodels.markov.doubling import phases_of_return
from qmodels.markov.kinds import kinds
from qmodels.markov.small_levels import FEW, few_returns, packed


def random_chain(rng, sizes, share):
    """Levels of these sizes, a share of whose rates is not zero; the last one drifts down."""

    def rates(n, m, scale):
        return scale * rng.exponential(size=(n, m)) * (rng.random((n, m)) < share)

    last = sizes[-1]
    above = [*sizes[1:], last]
    return (
        [*(rates(n, m, 2.0) + 1e-6 for n, m in zip(sizes[:-1], above, strict=False)), rates(last, last, 0.2)],
        [rates(n, n, 10.0 ** rng.uniform(-6, 3)) for n in sizes],
        [rates(m, n, 1.0) + 1e-3 for n, m in zip(sizes, above, strict=True)],
    )


CASES = [[1], [3], [1, 2, 3], [5, 1, 7], [FEW, 2, FEW], [4] * 12]


@pytest.mark.parametrize("sizes", CASES, ids=str)
@pytest.mark.parametrize("share", [0.2, 1.0])
def test_loops_over_small_levels_find_what_products_of_matrices_find(sizes, share, rng, monkeypatch):
    chain = random_chain(rng, sizes, share)
    found = solve_qbd(QBD(*chain))
    monkeypatch.setattr(qbd, "FEW", 0)
    monkeypatch.setattr(reduction, "FEW", 0)
    large = QBD(*chain)
    assert large.small_levels is None
    expected = solve_qbd(large)
    for ours, theirs in zip(found.boundary, expected.boundary, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-13, abs=0)
    assert found.rate == pytest.approx(expected.rate, rel=1e-13, abs=0)
    assert found.steps == expected.steps
    assert found.residual < 1e-14


def test_a_phase_that_cannot_come_down_and_too_few_steps_are_said_alike():
    up, local = np.array([[0.1, 0.1], [0.0, 0.0]]), np.zeros((2, 2))
    for solve in (few_returns, phases_of_return):
        with pytest.raises(ModelError, match="phase 1 can never come down"):
            solve(*kinds(up), local, np.array([[1.0, 0.0], [0.0, 0.0]]), 1e-18, 64)
        with pytest.raises(ConvergenceError) as caught:
            solve(*kinds(0.999 * np.eye(2)), local, np.eye(2), 1e-18, 3)
        assert caught.value.steps == 3
        assert 0.0 < caught.value.residual < 1.0
        assert caught.value.last.shape == (2, 2)


def test_small_blocks_are_kept_from_later_changes_and_checked_one_by_one():
    given = np.array([[0.5]])
    chain = QBD([given], [np.zeros((1, 1))], [np.ones((1, 1))])
    given[0, 0] = 9.0
    assert chain.up[0][0, 0] == 0.5
    with pytest.raises(ValueError, match="read-only"):
        chain.up[0][0, 0] = 2.0
    for bad in (np.nan, -1.0, np.inf):
        with pytest.raises(ModelError, match=r"down\[0\] holds a negative or non-finite entry"):
            QBD([np.ones((1, 1))], [np.zeros((1, 1))], [np.full((1, 1), bad)])
        with pytest.raises(ModelError, match=r"up\[0\] holds a negative or non-finite entry"):
            QBD(*([np.full((1, 1), bad)] for _ in range(3)))
    assert chain.small_levels is not None
    turned = np.asfortranarray([[1.0, 2.0], [3.0, 4.0]])
    whole, views = packed([turned, np.zeros((0, 3)), np.ones((1, 2))])
    assert whole.tolist() == [1.0, 2.0, 3.0, 4.0, 1.0, 1.0]
    assert np.array_equal(views[0], turned)
