"""The promises about quasi-birth-death chains, each shown to fail when a bug is put in."""

from math import comb, log

import mpmath
import numpy as np
import pytest

from phasefit import PhaseType, match_moments
from qmodels.errors import ModelError, UnstableError
from qmodels.markov import QBD, qbd, qbd_solution, reduction, solve_qbd
from qmodels.networks import many_server
from qmodels.networks.many_server import ManyServerQueue
from tests.naive import qbd as naive

# ---------------------------------------------------------------- QBD


def random_chain(rng, most_phases):
    """One boundary level, rates over eight decades, drift ratio up to 1 - 1e-6.

    Three kinds: all rates positive; few rates, some phases without a way up or down; slow changes
    between phases that differ in load (a modulated queue, overloaded for long times).
    """
    n = int(np.exp(rng.uniform(np.log(2), np.log(most_phases + 1))))
    up, local, down = (10.0 ** rng.uniform(-8, 0, size=(n, n)) for _ in range(3))
    kind = rng.integers(3)
    if kind == 1:
        up, local, down = (block * (rng.random((n, n)) < 2.5 / n) for block in (up, local, down))
        local += np.roll(np.diag(10.0 ** rng.uniform(-8, 0, n)), 1, axis=1)
        up[0, 0] += 1e-3
        down[rng.integers(n)] += 1e-3
    if kind == 2:
        up, down = np.diag(up.diagonal()), np.diag(down.diagonal())
        local *= 1e-2
    np.fill_diagonal(local, 0.0)
    target, factor = 1.0 - 10.0 ** -rng.uniform(0.1, 6.0), 0.0
    for _ in range(300):  # the ratio depends on the scale through the phase process
        phase = up + local + down
        np.fill_diagonal(phase, 0.0)
        pi = reduction.balance(phase)
        factor = target / ((pi @ up.sum(axis=1)) / (pi @ down.sum(axis=1)))
        up = up * factor
        if not 1e-16 < up.max() < 1e8:
            break
    if abs(factor - 1.0) > 0.1 * (1.0 - target):  # no scale near this one has that ratio
        return random_chain(rng, most_phases)
    return QBD([up], [local], [down])


def arbitrated(seed, count, most_phases):
    """Random chains, each with its mean level and rate matrix from five hundred bits."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        chain = random_chain(rng, most_phases)
        mean, rate = naive.mean_level(chain)
        yield chain, mean / naive.ONE, naive.floats(rate)


@pytest.fixture(scope="module")
def sample():
    return [*arbitrated(seed=4, count=50, most_phases=7), *arbitrated(1, 1, 30)]


def check_random_chains(cases):
    """R entrywise to 1e-12, means to the bound stated."""
    for chain, mean, rate in cases:
        solution = solve_qbd(chain)
        seen = rate > 1e-100  # below, fixed point runs out of digits
        assert np.all(np.abs(solution.rate[seen] / rate[seen] - 1.0) <= 1e-12)
        assert abs(solution.mean_level() / mean - 1.0) <= solution.error_bound


@pytest.mark.thorough
def test_random_chains_come_out_to_twelve_digits(sample):
    check_random_chains(sample)


@pytest.mark.slow
def test_ten_thousand_random_chains_come_out_to_twelve_digits(record_property, monkeypatch):
    """In compiled loops, and the smaller ones in products of matrices, too."""
    worst = {reduction.FEW: [], 0: []}
    means = []
    for chain, mean, rate in arbitrated(seed=19, count=10_000, most_phases=30):
        seen = rate > 1e-100
        for few, found in worst.items():
            for module in (reduction, qbd):
                monkeypatch.setattr(module, "FEW", few)
            solution = solve_qbd(QBD(list(chain.up), list(chain.local), list(chain.down)))
            found.append(np.abs(solution.rate[seen] / rate[seen] - 1.0).max(initial=0.0))
            means.append(abs(solution.mean_level() / mean - 1.0) / solution.error_bound)
    for name, found in zip(("", "_in_matrices"), worst.values(), strict=True):
        record_property(f"chains{name}", len(found))
        record_property(f"beyond_1e-12{name}", int(np.sum(np.array(found) > 1e-12)))
        record_property(f"largest{name}", float(f"{max(found):.2e}"))
    assert max(means) <= 1.0
    assert max(map(max, worst.values())) <= 1e-12


@pytest.mark.thorough
def test_row_sums_taken_from_the_diagonal_are_caught(monkeypatch, sample):
    right = reduction.factor

    def by_the_diagonal(off, excess, **options):
        rates = off.sum(axis=1) - off.diagonal()
        diagonal = rates + excess
        return right(off, np.maximum(diagonal - rates, 0.0), **options)

    monkeypatch.setattr(reduction, "factor", by_the_diagonal)
    with pytest.raises((AssertionError, ModelError)):
        check_random_chains(sample)


@pytest.mark.thorough
def test_a_tail_summed_with_subtractions_is_caught(monkeypatch, sample):
    def by_the_textbook(levels, jumps):
        return np.linalg.solve((np.eye(len(levels.ratio)) - levels.ratio).T, jumps)

    monkeypatch.setattr(reduction.Levels, "_total_jumps", by_the_textbook)
    with pytest.raises(AssertionError):
        check_random_chains(sample)


@pytest.mark.thorough
def test_stopping_one_step_early_is_caught(monkeypatch, sample):
    solve = reduction.solve_levels
    monkeypatch.setattr(
        qbd, "solve_levels", lambda up, local, down, tol, steps: solve(up, local, down, 1e-8, steps)
    )
    with pytest.raises(AssertionError):
        check_random_chains(sample)


# ---------------------------------------------------------------- edge of stability


def queues_at(load):
    """Queues of all kinds with the given load."""
    hyper, erlang = match_moments(1.0, 5.0), PhaseType.erlang(phases=3, mean=1.0)
    poisson = PhaseType.exponential(mean=1.0)
    slow = np.array([[0.0, 1e-3], [2e-3, 0.0]])
    yield QBD([[[load]]], [[[0.0]]], [[[1.0]]])
    yield QBD([np.diag([0.2, 2.6]) * load], [slow], [np.eye(2)])
    for arrivals, service, c in ((hyper, erlang, 1), (erlang, hyper, 3), (poisson, hyper, 8)):
        yield ManyServerQueue(arrivals.scale(1.0 / (load * c)), service, servers=c).chain()


def check_the_edge_of_stability():
    """Loads 1 - 10^-k: an answer within its bound or UnstableError, never NaN; monotone."""
    loads = [1.0 - j * 10.0**-k for k in range(1, 9) for j in (9.0, 5.0, 1.0)]
    means = []
    for load in loads:
        means.append([])
        for chain in queues_at(load):
            solution = solve_qbd(chain)
            assert np.isfinite(solution.boundary[0]).all()
            means[-1].append(solution.mean_level())
        with mpmath.workdps(40):
            exact = mpmath.mpf(load) / (1 - mpmath.mpf(load))
        assert abs(means[-1][0] / exact - 1) <= 20 * np.finfo(float).eps / (1 - load)
    assert np.isfinite(means).all()
    assert (np.diff(means, axis=0) > 0.0).all()
    # heavy traffic: (1 - load) mean tends to a limit, so a decade of load is a decade of jobs
    last = np.array(means)[-1] / np.array(means)[-4]
    assert last == pytest.approx(np.full(last.size, 10.0), rel=1e-4)
    for load in (1.0, 1.0 + 1e-15, 1.0 + 1e-8, 2.0, 1e6):
        chains = queues_at(load)
        for chain in chains:
            try:
                solution = solve_qbd(chain)
            except UnstableError:
                continue
            # rounding in the load itself: the answer must be that of a load below one
            assert load <= 1.0 + 1e-15
            assert solution.mean_level() > 1e13


@pytest.mark.thorough
def test_queues_close_to_saturation_have_an_answer_and_saturated_ones_an_error():
    check_the_edge_of_stability()


@pytest.mark.thorough
def test_a_saturated_queue_that_is_answered_is_caught(monkeypatch):
    right = reduction.solve_levels

    def lenient(up, *others):
        try:
            return right(up, *others)
        except UnstableError:
            return right(0.1 * up, *others)

    monkeypatch.setattr(qbd, "solve_levels", lenient)
    with pytest.raises(AssertionError):
        check_the_edge_of_stability()


def test_a_drift_that_is_off_in_the_tenth_digit_is_caught(monkeypatch):
    blurred = property(lambda levels: levels.downward - levels.upward * (1.0 - 1e-10))
    monkeypatch.setattr(reduction.Levels, "drift", blurred)
    with pytest.raises(AssertionError):
        check_the_edge_of_stability()


# ---------------------------------------------------------------- strong upward drift


def erlang_c_mean_jobs(c, offered):
    with mpmath.workdps(60):
        a = mpmath.mpf(offered)
        queueing = a**c / mpmath.factorial(c) * c / (c - a)
        empty = sum(a**k / mpmath.factorial(k) for k in range(c)) + queueing
        return a + queueing / empty * a / (c - a)


def check_strong_upward_drift():
    """M/M/c with 64, 256 and 1024 servers at 70 % equals Erlang C to 1e-10, empty or not."""
    one = np.ones((1, 1))
    for c in (64, 256, 1024):
        offered = 0.7 * c
        rates = [*map(float, range(1, c + 1)), float(c)]
        chain = QBD([offered * one] * (c + 1), [0 * one] * (c + 1), [r * one for r in rates])
        solution = solve_qbd(chain)
        assert abs(solution.mean_level() / erlang_c_mean_jobs(c, offered) - 1) < 1e-10
        with mpmath.workdps(400):
            a = mpmath.mpf(offered)
            weights = sum(a**k / mpmath.factorial(k) for k in range(c))
            empty = 1 / (weights + a**c / mpmath.factorial(c) * c / (c - a))
        assert mpmath.almosteq(mpmath.mpf(float(solution.pmf(0))), empty, 1e-10)


def test_many_servers_obey_erlang_c():
    check_strong_upward_drift()


def test_levels_that_are_not_rescaled_are_caught(monkeypatch):
    def unscaled(chain, levels):
        births = [float(up.sum()) for up in chain.up[:-1]]
        deaths = [float(down.sum()) for down in chain.down[:-1]]
        weights = np.cumprod([1.0, *np.divide(births, deaths)])
        tail = weights[-1] / (1.0 - levels.upward / levels.downward)
        return tuple(weights[:, None] / (weights[:-1].sum() + tail))

    monkeypatch.setattr(qbd, "_boundary_probabilities", unscaled)
    with pytest.raises((AssertionError, FloatingPointError)):
        check_strong_upward_drift()


# ---------------------------------------------------------------- two solvers


def random_law(rng, most):
    n = int(rng.integers(1, most + 1))
    alpha = rng.dirichlet(np.ones(n))
    jumps = rng.random((n, n)) * (rng.random((n, n)) < 0.6) * 10.0 ** rng.uniform(-1, 1)
    np.fill_diagonal(jumps, 0.0)
    exits = rng.uniform(0.2, 3.0, n)
    law = PhaseType.from_rates(alpha, jumps, exits)
    return law.scale(1.0 / law.mean)


def check_two_solvers(seed, count):
    """Random queues: matrix-geometric and a truncated chain by GTH agree to 1e-9."""
    rng = np.random.default_rng(seed)
    done = 0
    while done < count:
        c = int(rng.integers(1, 4))
        service = random_law(rng, 3 if c < 3 else 2)
        speeds = np.sort(rng.uniform(0.3, 1.0, c))[::-1].copy()
        capacity = c * speeds[-1]
        load = rng.uniform(0.1, 0.6)
        arrivals = random_law(rng, 2).scale(1.0 / (load * capacity))
        found = solve_qbd(ManyServerQueue(arrivals, service, speeds=speeds).chain())
        decay = found.decay_rate()
        most = c + int(np.ceil(log(1e-13) / log(decay)))
        if most > 90:  # thousands of states
            continue
        done += 1
        states, rates = naive.many_server_chain(
            (arrivals.alpha, arrivals.jumps, arrivals.exit),
            (service.alpha, service.jumps, service.exit),
            speeds,
            most,
        )
        pi = naive.stationary(states, rates)
        by_level = np.zeros(most + 1)
        for (jobs, _, _), p in pi.items():
            by_level[jobs] += p
        mean = by_level @ np.arange(most + 1)
        assert abs(found.mean_level() / mean - 1.0) <= 1e-9
        near = np.arange(c + 4)
        assert found.pmf(near) == pytest.approx(by_level[near], rel=1e-9, abs=0)


@pytest.mark.thorough
def test_the_geometric_and_the_truncated_solution_agree():
    check_two_solvers(seed=3, count=25)


@pytest.mark.slow
def test_two_thousand_geometric_and_truncated_solutions_agree(record_property):
    record_property("chains", 2_000)
    check_two_solvers(seed=None, count=2_000)


def test_a_speed_in_the_wrong_place_is_caught(monkeypatch):
    right = many_server.sharing_centre

    def shifted(law, jobs, speeds):
        return right(law, jobs, np.roll(speeds[1:], 1)[np.r_[0, 0:jobs]] * (np.arange(jobs + 1) > 0))

    monkeypatch.setattr(many_server, "sharing_centre", shifted)
    with pytest.raises(AssertionError):
        check_two_solvers(seed=3, count=25)


def test_a_boundary_that_ignores_what_is_above_is_caught(monkeypatch):
    right = qbd._boundary_probabilities

    def blind(chain, levels):
        object.__setattr__(levels, "returns", 0.999 * levels.returns)
        return right(chain, levels)

    monkeypatch.setattr(qbd, "_boundary_probabilities", blind)
    with pytest.raises(AssertionError):
        check_two_solvers(seed=3, count=25)


def test_moments_with_a_wrong_number_of_partitions_are_caught(monkeypatch):
    def check():
        solution = solve_qbd(QBD([[[0.5]]], [[[0.0]]], [[[1.0]]]))
        for k, exact in ((1, 1.0), (2, 3.0), (3, 13.0), (4, 75.0)):  # sum of j^k / 2^(j+1)
            assert solution.moment(k) == pytest.approx(exact, rel=1e-14)

    check()
    wrong = lambda k: [[comb(i, j) for j in range(i + 1)] for i in range(k + 1)]  # noqa: E731
    monkeypatch.setattr(qbd_solution, "_stirling", wrong)
    with pytest.raises(AssertionError):
        check()
