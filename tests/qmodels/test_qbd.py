import json
from math import comb

import mpmath
import numpy as np
import pytest

from phasefit import PhaseType
from qmodels.errors import ConvergenceError, MemoryBudgetError, ModelError, UnstableError
from qmodels.markov import QBD, solve_qbd, stationary
from qmodels.policies.speed_scaled import speed_scaled_queue


def birth_death(births, deaths):
    """QBD with one phase; the last birth and death rate hold from there on."""
    one = np.ones((1, 1))
    return QBD([b * one for b in births], [0 * one] * len(births), [d * one for d in deaths])


def erlang_c_mean_jobs(c, offered):
    with mpmath.workdps(60):
        a = mpmath.mpf(offered)
        queueing = a**c / mpmath.factorial(c) * c / (c - a)
        empty = sum(a**k / mpmath.factorial(k) for k in range(c)) + queueing
        return a + queueing / empty * a / (c - a)


def mean_level_in_many_digits(qbd, digits=60):
    """Mean level by functional iteration and plain elimination in high precision."""
    with mpmath.workdps(digits):
        up, local, down = (mpmath.matrix(b[-1].tolist()) for b in (qbd.up, qbd.local, qbd.down))
        n = up.rows
        ones = mpmath.matrix([1] * n)
        for i in range(n):
            local[i, i] = 0
        out = (up + local + down) * ones
        inside = local - mpmath.diag(list(out))
        # Logarithmic reduction needs no care for rounding when there are digits to waste.
        inverse = (-inside) ** -1
        climb, fall = inverse * up, inverse * down
        g, still_up = fall, climb
        for _ in range(60):
            both = (mpmath.eye(n) - climb * fall - fall * climb) ** -1
            climb, fall = both * climb * climb, both * fall * fall
            g = g + still_up * fall
            still_up = still_up * climb
            if mpmath.mnorm(still_up, "inf") < mpmath.mpf(10) ** (-digits + 10):
                break
        r = up * (-inside - up * g) ** -1
        # one boundary level of the same size: local[0], down[0] as given
        bottom = mpmath.matrix(qbd.local[0].tolist()) + r * mpmath.matrix(qbd.down[0].tolist())
        for i in range(n):
            bottom[i, i] = 0
        for i in range(n):
            bottom[i, i] = -sum(bottom[i, j] for j in range(n))
        balance = bottom.T
        for j in range(n):
            balance[n - 1, j] = 1
        right = mpmath.matrix(n, 1)
        right[n - 1] = 1
        pi = mpmath.lu_solve(balance, right).T
        geometric = (mpmath.eye(n) - r) ** -1
        mass = (pi * geometric * ones)[0]
        return (pi * r * geometric * geometric * ones)[0] / mass


def random_qbd(rng, phases, target):
    """One boundary level, rates over eight decades, scaled to a drift ratio close to `target`."""
    up, local, down = (10.0 ** rng.uniform(-8, 0, size=(phases, phases)) for _ in range(3))
    np.fill_diagonal(local, 0)
    for _ in range(60):  # the ratio depends on the scale through the phase process
        pi = stationary(np.where(np.eye(phases) == 1, 0, up + local + down))
        up *= target / (pi @ up.sum(axis=1) / (pi @ down.sum(axis=1)))
    return QBD([up], [local], [down])


@pytest.mark.parametrize("rho", [0.01, 0.5, 0.99, 1 - 1e-6])
@pytest.mark.parametrize("phases", [1, 2, 5, 20])
def test_m_erlang_1_matches_pollaczek_khinchine(phases, rho):
    service = PhaseType.erlang(phases=phases, mean=1.0)
    queue = speed_scaled_queue(PhaseType.exponential(mean=1 / rho), service, [1.0])
    solution = solve_qbd(queue)
    expected = rho + rho**2 * (1 + 1 / phases) / (2 * (1 - rho))
    # the load itself is only known to within rounding, which 1 / (1 - rho) magnifies
    assert solution.mean_level() == pytest.approx(expected, rel=max(1e-12, 4e-16 / (1 - rho)))


@pytest.mark.parametrize("c", [1, 4, 64, 256, 1024])
def test_exponential_jobs_on_c_processors_obey_erlang_c(c):
    queue = birth_death([0.7 * c] * (c + 1), [*map(float, range(1, c + 1)), float(c)])
    exact = erlang_c_mean_jobs(c, 0.7 * c)
    assert abs(solve_qbd(queue).mean_level() / exact - 1) < 1e-10


@pytest.mark.parametrize("c", [64, 256])
def test_the_speed_scaled_queue_at_speed_one_obeys_erlang_c(c):
    laws = PhaseType.exponential(mean=1 / (0.7 * c)), PhaseType.exponential(mean=1.0)
    solution = solve_qbd(speed_scaled_queue(*laws, np.ones(c)))
    assert abs(solution.mean_level() / erlang_c_mean_jobs(c, 0.7 * c) - 1) < 1e-10


def test_a_boundary_that_drifts_upward_for_hundreds_of_levels_does_not_overflow():
    births, deaths = [1e3] * 400 + [0.5], [1.0] * 401
    solution = solve_qbd(birth_death(births, deaths))
    # almost all the mass lies from level 400 on, geometric with ratio 1/2
    assert solution.mean_level() == pytest.approx(401 - 1e-3, abs=2e-3)
    assert np.isfinite(solution.boundary[0]).all()


@pytest.mark.parametrize("k", range(1, 9))
def test_close_to_saturation_the_mean_stays_within_its_error_bound(k):
    rho = 1 - 10.0**-k
    solution = solve_qbd(birth_death([rho], [1.0]))
    with mpmath.workdps(40):
        exact = mpmath.mpf(rho) / (1 - mpmath.mpf(rho))
    assert abs(solution.mean_level() / exact - 1) <= solution.error_bound
    assert solution.drift_ratio == pytest.approx(rho, rel=1e-15)


@pytest.mark.parametrize("target", [0.3, 0.9, 0.999, 1 - 1e-6])
def test_random_chains_agree_with_sixty_digits(target):
    rng = np.random.default_rng(7)
    for phases in (2, 3, 5):
        qbd = random_qbd(rng, phases, target)
        solution = solve_qbd(qbd)
        assert solution.drift_ratio == pytest.approx(target, rel=1e-6)
        exact = mean_level_in_many_digits(qbd)
        assert abs(solution.mean_level() / exact - 1) <= solution.error_bound


@pytest.mark.slow
def test_a_thousand_random_chains_agree_with_sixty_digits():
    rng = np.random.default_rng()
    for _ in range(1000):
        qbd = random_qbd(rng, int(rng.integers(2, 12)), 1 - 10.0 ** -rng.uniform(0.1, 6))
        solution = solve_qbd(qbd)
        exact = mean_level_in_many_digits(qbd)
        assert abs(solution.mean_level() / exact - 1) <= solution.error_bound


def test_the_truncated_chain_gives_the_same_levels(rng):
    arrivals = PhaseType.hyperexponential(weights=[0.3, 0.7], means=[2.0, 0.7])
    demand = PhaseType.erlang(phases=2, mean=1.0)
    queue = speed_scaled_queue(arrivals, demand, [1.0, 0.8, 0.7])
    solution = solve_qbd(queue)
    sizes = [b.shape[0] for b in queue.local] + [queue.local[-1].shape[0]] * 100
    starts = np.concatenate([[0], np.cumsum(sizes)])
    whole = np.zeros((starts[-1], starts[-1]))
    b = len(queue.local) - 1
    for k in range(len(sizes)):
        here = slice(starts[k], starts[k + 1])
        whole[here, here] = queue.local[min(k, b)]
        if k + 1 < len(sizes):
            above = slice(starts[k + 1], starts[k + 2])
            whole[here, above] = queue.up[min(k, b)]
            whole[above, here] = queue.down[min(k, b)]
    np.fill_diagonal(whole, 0.0)
    truncated = stationary(whole)
    for k in range(20):
        assert solution.level(k) == pytest.approx(
            truncated[starts[k] : starts[k + 1]], rel=1e-9, abs=0
        )


@pytest.mark.parametrize("file", ["ph_ph_c", "ph_ph_c_state_dependent"])
def test_the_reference_cases_come_out_to_1e_9(shared_data, file):
    for case in json.loads((shared_data / "reference" / f"{file}.json").read_text()):
        given, expected = case["input"], case["output"]
        arrivals = PhaseType(given["arrival"]["alpha"], given["arrival"]["T"])
        service = PhaseType(given["service"]["alpha"], given["service"]["T"])
        speeds = given.get("speeds", [1.0] * given["c"])
        solution = solve_qbd(speed_scaled_queue(arrivals, service, speeds))
        mean_jobs, rate = solution.mean_level(), expected["lam"]
        assert mean_jobs == pytest.approx(expected["L"], rel=1e-9), case["id"]
        assert mean_jobs / rate == pytest.approx(expected["R"], rel=1e-9), case["id"]
        assert solution.mean_excess() == pytest.approx(expected["Lq"], rel=1e-9), case["id"]
        for k, p in enumerate(expected["p_n"]):
            # the file holds small probabilities to 1e-15 absolute only; see the next test
            assert solution.level(k).sum() == pytest.approx(p, rel=1e-9, abs=1e-15), case["id"]
        if decay := expected.get("decay", expected.get("decay_rate")):
            assert solution.decay_rate() == pytest.approx(decay, rel=1e-9), case["id"]


def test_a_small_probability_is_right_where_the_reference_file_is_not():
    """E2/M/16 at 90 %: P(empty) is 2.01753287325e-8; the reference file says 2.01753288647e-8."""
    arrivals, service = PhaseType.erlang(phases=2, mean=1 / 14.4), PhaseType.exponential(mean=1.0)
    solution = solve_qbd(speed_scaled_queue(arrivals, service, np.ones(16)))
    assert solution.level(0).sum() == pytest.approx(
        erlang_2_m_c_empty(16, "14.4"), rel=1e-13, abs=0
    )


def erlang_2_m_c_empty(c, rate, levels=900):
    """P(no job) in an E2/M/c queue by censoring a long truncated chain in fifty digits."""
    with mpmath.workdps(50):
        stage = 2 * mpmath.mpf(rate)
        up, local = mpmath.matrix([[0, 0], [stage, 0]]), mpmath.matrix([[0, stage], [0, 0]])
        climbs, back = [], up  # at the last level arrivals are turned away
        for n in range(levels, 0, -1):
            leaving = mpmath.diag([stage + min(n, c)] * 2)
            climbs.append(up * (leaving - local - back) ** -1)
            back = climbs[-1] * min(n, c)
        bottom = mpmath.diag([stage] * 2) - local - back
        pi = mpmath.matrix([[1, -bottom[0, 0] / bottom[1, 0]]])
        empty = total = pi[0] + pi[1]
        for climb in reversed(climbs):
            pi = pi * climb
            total += pi[0] + pi[1]
        return float(empty / total)


def test_a_phase_space_counts_arrival_stages_times_occupancies():
    arrivals, demand = PhaseType.erlang(phases=2, mean=1.0), PhaseType.erlang(phases=3, mean=0.5)
    queue = speed_scaled_queue(arrivals, demand, [1.0] * 4)
    assert [b.shape[0] for b in queue.local] == [2 * comb(k + 2, 2) for k in range(5)]


def test_a_queue_that_cannot_keep_up_is_refused_with_both_drifts():
    with pytest.raises(UnstableError, match="stable only below rate 1") as caught:
        solve_qbd(birth_death([1.5], [1.0]))
    assert (caught.value.rate, caught.value.capacity) == (1.5, 1.0)
    with pytest.raises(UnstableError):
        solve_qbd(birth_death([1.0], [1.0]))


def test_too_few_doubling_steps_hand_over_what_there_is():
    with pytest.raises(ConvergenceError) as caught:
        solve_qbd(birth_death([0.999], [1.0]), max_steps=2)
    assert 0 < caught.value.last[0, 0] < 1


@pytest.mark.parametrize(
    ("blocks", "said"),
    [
        (([], [], []), "same number of levels"),
        ((5, 5, 5), "lists of matrices"),
        (([None], [None], [None]), "matrix"),
        (([np.ones((1, 2))], [np.zeros((1, 1))], [np.ones((1, 1))]), r"up\[0\] has shape \(1, 2\)"),
        (([-np.ones((1, 1))], [np.zeros((1, 1))], [np.ones((1, 1))]), "negative"),
        (([np.full((1, 1), np.nan)], [np.zeros((1, 1))], [np.ones((1, 1))]), "non-finite"),
        (([np.ones(1)], [np.zeros((1, 1))], [np.ones((1, 1))]), "matrix"),
    ],
)
def test_blocks_that_do_not_fit_are_named(blocks, said):
    with pytest.raises(ModelError, match=said):
        QBD(*blocks)


def test_a_chain_too_large_for_memory_is_refused_before_it_is_built():
    demand = PhaseType.erlang(phases=10, mean=1.0)
    with pytest.raises(MemoryBudgetError, match="order 10"):
        speed_scaled_queue(PhaseType.exponential(mean=1.0), demand, np.ones(64))


@pytest.mark.parametrize("speeds", [[], [0.0], [-1.0], [np.nan], [[1.0]]])
def test_speeds_must_be_positive(speeds):
    one = PhaseType.exponential(mean=1.0)
    with pytest.raises(ModelError, match="speeds"):
        speed_scaled_queue(one, one, speeds)
