"""Chains in levels: Rosti et al. 1998, equations (8)-(13), and levels of every kind."""

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.sparse import csr_array, eye_array, random_array

from phasefit import PhaseType, match_moments
from qmodels.errors import MemoryBudgetError, ModelError
from qmodels.markov import block_tridiagonal, solve_block_tridiagonal, stationary
from qmodels.markov.block_tridiagonal import plan_levels
from tests.naive import chains as naive

EPS = np.finfo(float).eps
THINK, DISK = match_moments(2.0, 20.0), match_moments(1.0, 1.5)


def entries(rng, rows, columns, kind):
    """Random rates over eight decades, dense, or sparse with an entry in every row."""
    dense = 10.0 ** rng.uniform(-8, 0, (rows, columns))
    if kind == "dense":
        return dense
    few = dense * (rng.random((rows, columns)) < 0.3)
    few[np.arange(rows), rng.integers(columns, size=rows)] += 10.0 ** rng.uniform(-8, 0, rows)
    return csr_array(few)


def random_levels(rng, kind, levels=6):
    sizes = rng.integers(1, 6, size=levels)
    up = [entries(rng, a, b, kind) for a, b in pairwise(sizes)]
    down = [entries(rng, b, a, kind) for a, b in pairwise(sizes)]
    return up, [entries(rng, n, n, kind) for n in sizes], down


def whole(up, local, down):
    return block_tridiagonal._assembled_rates(up, local, down).toarray()


# ---------------------------------------------------------------- the network of the paper


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_r29_the_generator_from_occupancies_lumps_the_one_from_kronecker_products(jobs):
    mu, m = 1.7, THINK.order
    up, local, down = [], [], []
    for i in range(jobs + 1):
        away = jobs - i
        sums = np.zeros((m**away, m**away))
        leave = np.zeros((m**away, m ** max(away - 1, 0)))
        for k in range(away):  # the jobs that compute are told apart by where they stand in line
            left, right = np.eye(m**k), np.eye(m ** (away - k - 1))
            sums += np.kron(np.kron(left, THINK.jumps), right)
            leave += np.kron(np.kron(left, THINK.exit[:, None]), right)
        local.append(sums)
        if away:
            up.append(leave)
            back = np.kron(np.eye(m ** (away - 1)), mu * THINK.alpha[None, :])
            down.append(back)
    told_apart = solve_block_tridiagonal(up, local, down)
    disk = PhaseType.exponential(mean=1 / mu)
    _, rates, levels = naive.shared_disk(jobs, THINK, disk)
    assert (rates >= 0).all()
    found = solve_block_tridiagonal(*naive.blocks(rates, levels))
    assert found.masses == pytest.approx(told_apart.masses, rel=1e-13)


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("jobs", range(1, 17))
def test_r30_both_directions_gth_and_the_null_space_agree(jobs):
    _, rates, levels = naive.shared_disk(jobs, THINK, DISK)
    order = np.argsort(levels, kind="stable")
    dense = rates[np.ix_(order, order)]
    exact = stationary(dense)
    q = dense - np.diag(dense.sum(axis=1))
    kernel = null_space(q.T)
    assert kernel.shape[1] == 1
    for direction in ("forward", "backward"):
        found = solve_block_tridiagonal(*naive.blocks(rates, levels), direction=direction)
        pi = np.concatenate(found.levels)
        assert found.method == direction
        assert pi == pytest.approx(exact, rel=found.error_estimate, abs=0)
        assert np.abs(pi @ q).max() < 1e-10
        assert pi == pytest.approx(kernel[:, 0] / kernel.sum(), abs=1e-10)
        assert found.residual < 1e-14
        assert found.states == len(exact)


@pytest.mark.parametrize(("jobs", "throughput"), [(1, 1 / 3), (2, 0.6), (4, 0.90476190), (8, 0.99914052)])
def test_exponential_bursts_give_the_golden_throughputs(jobs, throughput):
    one = np.ones((1, 1))
    up = [(jobs - k) / 2.0 * one for k in range(jobs)]
    found = solve_block_tridiagonal(up, [0 * one] * (jobs + 1), [one] * jobs)
    assert 1 - found.masses[0] == pytest.approx(throughput, abs=5e-9)
    assert (jobs - found.moment(1)) / 2.0 == pytest.approx(throughput, abs=5e-9)


# ---------------------------------------------------------------- every kind of level


@pytest.mark.thorough
@pytest.mark.parametrize("direction", ["auto", "forward", "backward"])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_levels_of_their_own_sizes_keep_every_digit(kind, direction, rng):
    for _ in range(12):
        blocks = random_levels(rng, kind)
        exact = naive.stationary(whole(*blocks))
        found = solve_block_tridiagonal(*blocks, direction=direction)
        pi = np.concatenate(found.levels)
        worst = max(abs(float(p / e - 1)) if e else p for p, e in zip(pi, exact, strict=True))
        assert worst <= min(2 * len(exact) ** 2 * EPS, 1e-12)


def check_climbing_levels():
    """Five hundred levels, each two states, climbed at a million to one."""
    rng = np.random.default_rng(3)
    levels = 500
    up = [1e6 * rng.uniform(0.5, 1.0, (2, 2)) for _ in range(levels - 1)]
    down = [rng.uniform(0.5, 1.0, (2, 2)) for _ in range(levels - 1)]
    local = [rng.uniform(0.5, 1.0, (2, 2)) for _ in range(levels)]
    upward = [solve_block_tridiagonal(up, local, down, direction=d) for d in ("forward", "backward")]
    downward = solve_block_tridiagonal(down[::-1], local[::-1], up[::-1], direction="forward")
    for one, two, turned in zip(upward[0].levels, upward[1].levels, downward.levels[::-1], strict=True):
        for a, b, c in zip(one, two, turned, strict=True):
            if a > 1e-290:
                assert a == pytest.approx(b, rel=1e-12, abs=0)
                assert a == pytest.approx(c, rel=1e-12, abs=0)
    assert upward[0].masses.sum() == pytest.approx(1.0, rel=1e-13)
    assert upward[0].masses[-1] > 1 - 1e-5


@pytest.mark.thorough
def test_hundreds_of_levels_with_a_strong_drift_agree_both_ways():
    check_climbing_levels()


def test_levels_that_are_not_rescaled_are_caught(monkeypatch):
    monkeypatch.setattr(block_tridiagonal.math, "frexp", lambda x: (x, 0))
    with pytest.raises((AssertionError, FloatingPointError)):
        check_climbing_levels()


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("c", [64, 256, 1024])
def test_a_hundred_processors_at_seventy_per_cent_lose_what_erlang_b_says(c):
    one, offered = np.ones((1, 1)), 0.7 * c
    deaths = np.arange(1.0, c + 1)
    exact = naive.birth_death([offered] * c, deaths)
    for direction in ("forward", "backward"):
        found = solve_block_tridiagonal(
            [offered * one] * c, [0 * one] * (c + 1), [k * one for k in deaths], direction=direction
        )
        for p, e in zip(found.masses, exact, strict=True):
            if e > 1e-290:
                assert abs(float(p / e - 1)) < 1e-10


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_states_and_levels_that_are_left_for_good_have_no_share(direction):
    # level 0 is never entered again; of level 2 the second state is never left, nor entered
    up = [np.ones((1, 2)), np.array([[1.0, 0.0], [2.0, 0.0]])]
    down = [np.zeros((2, 1)), np.array([[1.0, 0.0], [0.0, 1.0]])]
    local = [np.zeros((1, 1)), np.array([[0.0, 1.0], [1.0, 0.0]]), np.zeros((2, 2))]
    found = solve_block_tridiagonal(up, local, down, direction=direction)
    pi = np.concatenate(found.levels)
    assert pi[[0, 4]].tolist() == [0.0, 0.0]
    assert pi == pytest.approx(stationary(whole(up, local, down)), abs=1e-15)


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_levels_below_a_dead_end_hold_everything(direction):
    one = np.ones((1, 1))
    up, down = [one, 0 * one, one], [one, one, one]
    found = solve_block_tridiagonal(up, [0 * one] * 4, down, direction=direction)
    with pytest.raises(ModelError, match="2 recurrent classes"):
        solve_block_tridiagonal([0 * one], [0 * one] * 2, [0 * one], direction=direction)
    assert found.masses.tolist() == [0.5, 0.5, 0.0, 0.0]


def test_a_single_level_is_a_chain():
    found = solve_block_tridiagonal([], [[[0.0, 2.0], [3.0, 0.0]]], [])
    assert found.levels[0] == pytest.approx([0.6, 0.4], rel=1e-15)


def test_jumps_to_the_same_state_change_nothing(rng):
    up, local, down = random_levels(rng, "dense")
    with_loops = [block + np.diag(rng.random(len(block))) for block in local]
    one, two = (solve_block_tridiagonal(up, b, down) for b in (local, with_loops))
    for a, b in zip(one.levels, two.levels, strict=True):
        assert a == pytest.approx(b, rel=1e-14)
    assert two.residual < 1e-14


# ---------------------------------------------------------------- memory


def big_levels(levels, size):
    rng = np.random.default_rng(1)
    same = eye_array(size, format="csr") * 0.01
    up, local, down = (
        [csr_array(random_array((size, size), density=4 / size, rng=rng) + same) for _ in range(n)]
        for n in (levels - 1, levels, levels - 1)
    )
    return up, local, down


def check_memory_of_levels():
    """What is allocated is what was foreseen, to a factor of two."""
    blocks = big_levels(20, 120)
    sizes = [120] * 20
    tracemalloc.start()
    solve_block_tridiagonal(*blocks, direction="forward")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.5 < peak / plan_levels(sizes, sizes[:-1], sizes[:-1], "forward").bytes < 2.0


def test_memory_is_foreseen_to_a_factor_of_two():
    check_memory_of_levels()


@pytest.mark.parametrize(
    ("direction", "taken", "work"),
    [
        ("forward", "forward", 6**3 / 3 + 6**2 + 3**3 / 3),
        ("backward", "backward", 3**3 / 3 + 2 * 3**2 + 6**3 / 3),
        ("auto", "backward", 99.0),
    ],
)
def test_the_direction_with_fewer_multiplications_is_taken(direction, taken, work):
    """A level of n states costs n^3/3, and n^2 for each state that leads back to it."""
    plan = plan_levels([6, 3], [2], [1], direction)
    assert plan.direction == taken
    assert plan.work == pytest.approx(work, rel=1e-12)
    assert plan_levels([3, 6], [1], [2], "auto").direction == "forward"


def test_memory_that_is_forgotten_is_caught(monkeypatch):
    right = block_tridiagonal._cost
    monkeypatch.setattr(block_tridiagonal, "_cost", lambda sizes, rows: right(sizes[-2:], rows[-1:]))
    with pytest.raises(AssertionError):
        check_memory_of_levels()


def test_levels_too_large_are_refused_before_anything_is_allocated():
    blocks = big_levels(3, 300)
    tracemalloc.start()
    with pytest.raises(MemoryBudgetError, match="3 levels of up to 300 states"):
        solve_block_tridiagonal(*blocks, memory=1e5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e5


# ---------------------------------------------------------------- faces


def test_a_solution_tells_its_levels():
    one = np.ones((1, 1))
    found = solve_block_tridiagonal([one], [0 * one] * 2, [3 * one])
    assert found.to_frame()["probability"].tolist() == pytest.approx([0.75, 0.25])
    assert "     1  2.500000e-01" in found.table()
    assert found.moment(2) == pytest.approx(0.25)
    assert not found.levels[0].flags.writeable


ONE = np.ones((1, 1))


@pytest.mark.parametrize(
    ("blocks", "said"),
    [
        (([], [], []), "at least one in local"),
        (([ONE], [ONE], [ONE]), "one matrix fewer"),
        ((5, [ONE], []), "up must be a list"),
        (([ONE], [ONE, None], [ONE]), r"local\[1\] must be real numbers"),
        (([np.ones((1, 2))], [ONE, ONE], [ONE]), r"up\[0\] has shape \(1, 2\)"),
        (([ONE], [ONE, np.ones(1)], [ONE]), r"local\[1\] must be a matrix"),
        (([-ONE], [ONE, ONE], [ONE]), r"up\[0\]: negative rate -1 at 0, 0"),
        (([ONE], [ONE, -ONE], [ONE]), "the diagonal is derived"),
        (([ONE], [csr_array(-ONE), ONE], [ONE]), "it is derived"),
        (([ONE], [np.nan * ONE, ONE], [ONE]), "nan"),
        (([csr_array([[np.inf]])], [ONE, ONE], [ONE]), "inf"),
        (([np.ones((0, 1))], [np.ones((0, 0)), ONE], [np.ones((1, 0))]), "no level may be empty"),
    ],
)
def test_blocks_that_do_not_fit_are_named(blocks, said):
    with pytest.raises(ModelError, match=said):
        solve_block_tridiagonal(*blocks)


@pytest.mark.parametrize("direction", ["up", None, 1])
def test_a_direction_is_forward_or_backward(direction):
    with pytest.raises(ModelError, match="direction must be one of"):
        solve_block_tridiagonal([], [ONE], [], direction=direction)
