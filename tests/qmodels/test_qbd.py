from math import comb

import mpmath
import numpy as np
import pytest
from scipy.sparse import csr_array, issparse

from phasefit import PhaseType
from qmodels.errors import ConvergenceError, MemoryBudgetError, ModelError, UnstableError
from qmodels.markov import QBD, reduction, solve_qbd, stationary
from qmodels.markov.kinds import kinds, places
from qmodels.networks.many_server import speed_scaled_queue


def birth_death(births, deaths):
    """QBD with one phase; the last birth and death rate hold from there on."""
    one = np.ones((1, 1))
    return QBD([b * one for b in births], [0 * one] * len(births), [d * one for d in deaths])


ERLANG = PhaseType.erlang(phases=3, mean=1.0)


def erlang_c_mean_jobs(c, offered):
    with mpmath.workdps(60):
        a = mpmath.mpf(offered)
        queueing = a**c / mpmath.factorial(c) * c / (c - a)
        empty = sum(a**k / mpmath.factorial(k) for k in range(c)) + queueing
        return a + queueing / empty * a / (c - a)


@pytest.mark.parametrize("rho", [0.01, 0.5, 0.99, 1 - 1e-6])
@pytest.mark.parametrize("phases", [1, 2, 5, 20])
def test_m_erlang_1_matches_pollaczek_khinchine(phases, rho):
    service = PhaseType.erlang(phases=phases, mean=1.0)
    queue = speed_scaled_queue(PhaseType.exponential(mean=1 / rho), service, [1.0])
    solution = solve_qbd(queue)
    expected = rho + rho**2 * (1 + 1 / phases) / (2 * (1 - rho))
    # the load itself is only known to within rounding, which 1 / (1 - rho) magnifies
    assert solution.mean_level() == pytest.approx(expected, rel=max(1e-12, 4e-16 / (1 - rho)))


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
        assert solution.level(k) == pytest.approx(truncated[starts[k] : starts[k + 1]], rel=1e-9, abs=0)


@pytest.mark.thorough
def test_a_small_probability_is_right_where_the_reference_file_is_not():
    """E2/M/16 at 90 %: P(empty) is 2.01753287325e-8; the reference file says 2.01753288647e-8."""
    arrivals, service = PhaseType.erlang(phases=2, mean=1 / 14.4), PhaseType.exponential(mean=1.0)
    solution = solve_qbd(speed_scaled_queue(arrivals, service, np.ones(16)))
    assert solution.level(0).sum() == pytest.approx(erlang_2_m_c_empty(16, "14.4"), rel=1e-13, abs=0)


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


MODULATED = QBD(
    up=[np.diag([0.1, 2.0])],
    local=[np.array([[0.0, 0.01], [0.03, 0.0]])],
    down=[np.eye(2)],
)


def small_boundary():
    """Two levels of other sizes below levels of two phases."""
    return QBD(
        up=[
            np.array([[0.7, 0.1, 0.2]]),
            np.array([[0.2, 0.5], [0.1, 0.3], [0.0, 0.4]]),
            np.eye(2) * 0.5,
        ],
        local=[np.zeros((1, 1)), np.ones((3, 3)), np.ones((2, 2))],
        down=[np.ones((3, 1)), np.ones((2, 3)), np.array([[1.8, 0.4], [0.2, 1.4]])],
    )


@pytest.mark.parametrize("chain", [MODULATED, small_boundary()], ids=["modulated", "boundary"])
def test_all_questions_about_the_level_agree_with_its_probabilities(chain):
    solution = solve_qbd(chain)
    levels = np.arange(4000)
    p = solution.pmf(levels)
    assert p.sum() == pytest.approx(1.0, rel=1e-13)
    assert solution.pmf(7) == pytest.approx(solution.level(7).sum(), rel=1e-15)
    for k in range(5):
        assert solution.moment(k) == pytest.approx(p @ levels.astype(float) ** k, rel=1e-12)
    assert solution.moment(1) == pytest.approx(solution.mean_level(), rel=1e-15)
    beyond = np.cumsum(p[::-1])[::-1]
    assert solution.sf(levels[:500]) == pytest.approx(beyond[1:501], rel=1e-11, abs=0)
    b = len(solution.boundary) - 1
    far = np.array([900, 1000])
    expected = solution.tail_constant() * solution.decay_rate() ** (far - b)
    assert p[far] == pytest.approx(expected, rel=1e-12, abs=0)
    assert solution.mean_excess() == pytest.approx(p @ np.maximum(levels - b, 0), rel=1e-12)
    assert solution.residual < 1e-15
    assert solution.states == sum(len(block) for block in chain.local)


@pytest.mark.parametrize("phases", [3, 40])
def test_the_residual_is_what_the_flows_of_all_states_are_out_of_balance_by(phases, rng):
    """Of an answer that was broken off early, so that they are."""
    up, local, down = (scale * rng.random((2, phases, phases)) for scale in (0.6, 1.0, 1.0))
    found = solve_qbd(QBD(up=list(up), local=list(local), down=list(down)), tol=0.5)
    pi = np.stack([found.level(k) for k in range(4)])
    into = [
        pi[0] @ local[0] + pi[1] @ down[0],
        pi[0] @ up[0] + pi[1] @ local[1] + pi[2] @ down[1],
        pi[1] @ up[1] + pi[2] @ local[1] + pi[3] @ down[1],
    ]
    rates = [up[0] + local[0], up[1] + local[1] + down[0], up[1] + local[1] + down[1]]
    out = [pi[k] * rates[k].sum(axis=1) for k in range(3)]
    expected = np.abs(np.subtract(into, out)).sum() / np.sum(out)
    assert expected > 1e-4
    assert found.residual == pytest.approx(expected, rel=1e-9)


def test_pmf_and_sf_keep_the_shape_asked_for():
    solution = solve_qbd(birth_death([0.5], [1.0]))
    assert isinstance(solution.pmf(3), float)
    assert solution.pmf([[0, 1], [5, 5]]).shape == (2, 2)
    assert solution.sf([[4], [2]]) == pytest.approx(np.array([[2.0**-5], [2.0**-3]]), rel=1e-14)
    assert solution.pmf([]).shape == (0,)


def test_levels_far_out_keep_their_digits():
    solution = solve_qbd(birth_death([0.999], [1.0]))
    for k in (10, 10_000, 500_000):
        with mpmath.workdps(30):
            exact = mpmath.mpf(0.999) ** (k + 1)
        # each factor of R carries half a unit of rounding
        assert solution.sf(k) == pytest.approx(float(exact), rel=(k + 10) * 2.3e-16, abs=0)
    assert solution.pmf(10**15) == 0.0


@pytest.mark.parametrize("k", range(1, 12))
def test_moments_of_a_geometric_level_have_their_closed_form(k):
    """The k-th moment of the geometric law with ratio r is Li_{-k}(r) (1 - r)."""
    solution = solve_qbd(birth_death([0.25], [1.0]))
    with mpmath.workdps(40):
        exact = mpmath.polylog(-k, mpmath.mpf(0.25)) * 0.75
    assert solution.moment(k) == pytest.approx(float(exact), rel=1e-13)


def test_phase_type_arrivals_leave_r_with_the_rank_of_the_occupancies():
    arrivals, demand = PhaseType.hyperexponential(weights=[0.2, 0.8], means=[3.0, 0.5]), ERLANG
    solution = solve_qbd(speed_scaled_queue(arrivals, demand, np.ones(5)))
    assert solution.levels.climb.shape == (comb(7, 2), 2 * comb(7, 2))
    assert np.linalg.matrix_rank(solution.rate) <= comb(7, 2)


def test_structure_found_or_not_the_answer_is_the_same(monkeypatch):
    arrivals = PhaseType.hyperexponential(weights=[0.2, 0.8], means=[3.0, 0.5])
    chain = speed_scaled_queue(arrivals, ERLANG, np.ones(5))
    with_structure = solve_qbd(chain)
    monkeypatch.setattr(reduction, "kinds", lambda up: (np.eye(len(up)), up))
    without = solve_qbd(chain)
    assert len(without.levels.climb) == 2 * len(with_structure.levels.climb)
    assert without.rate == pytest.approx(with_structure.rate, rel=1e-13, abs=0)
    assert without.mean_level() == pytest.approx(with_structure.mean_level(), rel=1e-13)
    assert without.moment(3) == pytest.approx(with_structure.moment(3), rel=1e-12)


@pytest.mark.thorough
def test_a_large_queue_keeps_sparse_blocks_and_is_solved_as_with_dense_ones():
    laws = PhaseType.hyperexponential(weights=[0.2, 0.8], means=[1.0, 0.2]), ERLANG
    sparse = speed_scaled_queue(*laws, np.ones(15))  # 272 phases with all servers busy
    dense = QBD(*([as_dense(b) for b in part] for part in (sparse.up, sparse.local, sparse.down)))
    kept = [issparse(block) for block in (*sparse.up, *sparse.local, *sparse.down)]
    assert kept.count(True) == 6
    assert not any(issparse(block) for block in dense.local)
    found, expected = solve_qbd(sparse), solve_qbd(dense)
    assert found.rate == pytest.approx(expected.rate, rel=1e-13, abs=0)
    assert found.first_passage == pytest.approx(expected.first_passage, rel=1e-13, abs=0)
    for ours, theirs in zip(found.boundary, expected.boundary, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-13, abs=0)
    assert found.residual < 1e-15


def as_dense(block):
    return block.toarray() if issparse(block) else block


def test_small_blocks_may_be_sparse_too():
    chain = small_boundary()
    sparse = QBD(*([csr_array(b) for b in part] for part in (chain.up, chain.local, chain.down)))
    found, expected = solve_qbd(sparse), solve_qbd(chain)
    assert found.pmf(np.arange(9)) == pytest.approx(expected.pmf(np.arange(9)), rel=1e-14, abs=0)
    assert found.first_passage == pytest.approx(expected.first_passage, rel=1e-14)


def test_a_sparse_block_is_checked_and_kept_from_later_changes():
    given = csr_array([[0.5]])
    chain = QBD([given], [csr_array((1, 1))], [csr_array([[1.0]])])
    given.data[0] = 9.0
    assert solve_qbd(chain).mean_level() == pytest.approx(1.0, rel=1e-14)
    with pytest.raises(ModelError, match=r"up\[0\]: negative rate -0.5"):
        QBD([csr_array([[-0.5]])], [[[0.0]]], [[[1.0]]])
    with pytest.raises(ModelError, match=r"down\[0\]: entry 0, 0 is nan"):
        QBD([[[0.5]]], [[[0.0]]], [csr_array([[np.nan]])])
    with pytest.raises(ModelError, match=r"up\[0\] has shape \(1, 2\)"):
        QBD([csr_array([[1.0, 1.0]])], [[[0.0]]], [[[1.0]]])


@pytest.mark.thorough
def test_kinds_of_sparse_rates_are_those_of_dense_ones(rng):
    up = np.kron([[0.3], [1.1], [0.7]], rng.random((40, 90)) * (rng.random((40, 90)) < 0.1))
    up[5] *= 1.0 + 1e-15
    for given in (up, csr_array(up)):
        spread, lead = kinds(given)
        assert lead.shape == (40, 90)
        assert lead.sum(axis=1) == pytest.approx(1.0, rel=1e-15)
        assert spread @ lead == pytest.approx(up, rel=3e-15, abs=0)


def test_rows_are_found_among_others_only_if_all_are_there(rng):
    among = rng.random((20, 7))
    assert places(among[[3, 19, 0, 3]], among).tolist() == [3, 19, 0, 3]
    assert places(among[[3]] * (1.0 + 1e-15), among).tolist() == [3]
    assert places(np.vstack([among[3], among[4] + 1e-9]), among) is None
    assert places(among[[3]] + 9.0, among) is None  # its mark is beyond all others
    swapped = among[[3]]
    swapped[0, :2] += [1e-9, -1e-9 * 1.1180339887498949 / 0.7360679774997898]
    assert places(swapped, among) is None  # of nearly the same mark
    assert places(among[:, :6], among) is None


def test_rows_that_are_nearly_proportional_are_not_taken_for_one():
    up = np.array([[0.1, 0.2], [0.2, 0.4 * (1 + 1e-13)]])
    assert reduction.kinds(up)[0].shape == (2, 2)
    up[1] = up[0] / 3.0
    assert reduction.kinds(up)[0].shape == (2, 1)


@pytest.mark.parametrize("phases", [3, 60, 90])  # stored as a matrix, and by its rates alone
def test_jumps_to_one_place_each_are_of_one_kind_for_each_place(phases):
    rng = np.random.default_rng(phases)
    leads = rng.integers(0, phases, phases)
    rates = rng.uniform(0.1, 9.0, phases) * (rng.random(phases) < 0.8)  # some never jump
    up = np.zeros((phases, phases))
    up[np.arange(phases), leads] = rates
    spread, lead = reduction.kinds(up)
    assert np.array_equal(lead, np.eye(phases)[list(dict.fromkeys(leads[rates > 0.0]))])
    assert np.array_equal(spread @ lead, up)
    two = np.vstack([up, np.ones(phases)])  # one row to several places: looked at in full
    other, leads_of_all = reduction.kinds(two)
    assert np.array_equal(leads_of_all[:-1], lead)
    assert np.allclose(other @ leads_of_all, two, rtol=1e-15, atol=0.0)


def test_phases_that_are_left_for_good_do_no_harm():
    """Phase 0 is only entered at the boundary; it is overloaded, but left at last."""
    up, down = np.diag([3.0, 0.5]), np.eye(2)
    chain = QBD(
        up=[np.array([[1.0, 1.0]]), up],
        local=[np.zeros((1, 1)), np.array([[0.0, 0.8], [0.0, 0.0]])],
        down=[np.ones((2, 1)), down],
    )
    solution = solve_qbd(chain)
    p = solution.pmf(np.arange(3000))
    assert p.sum() == pytest.approx(1.0, rel=1e-13)
    assert solution.mean_level() == pytest.approx(p @ np.arange(3000), rel=1e-13)
    # in phase 0, r solves 3 - 4.8 r + r^2 = 0
    assert solution.rate[0, 0] == pytest.approx(2.4 - np.sqrt(2.76), rel=1e-13)


def test_a_chain_that_never_climbs_stays_at_its_boundary():
    solution = solve_qbd(birth_death([0.5, 0.0], [1.0, 1.0]))
    assert solution.pmf([0, 1, 2]) == pytest.approx(np.array([2 / 3, 1 / 3, 0.0]), rel=1e-15)
    assert (solution.decay_rate(), solution.tail_constant(), solution.sf(1)) == (0.0, 0.0, 0.0)
    idle = solve_qbd(birth_death([0.0, 0.5], [1.0, 1.0]))
    assert idle.pmf([0, 1, 5]).tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("unit", [1e-280, 1e-3, 1e280])
def test_the_unit_of_time_does_not_matter(unit):
    blocks = ([unit * b for b in given] for given in (MODULATED.up, MODULATED.local, MODULATED.down))
    solution, expected = solve_qbd(QBD(*blocks)), solve_qbd(MODULATED)
    assert solution.mean_level() == pytest.approx(expected.mean_level(), rel=1e-13)
    assert solution.moment(3) == pytest.approx(expected.moment(3), rel=1e-12)


def test_g_is_stochastic_and_r_solves_its_equation():
    solution = solve_qbd(MODULATED)
    up, local, down = MODULATED.up[0], MODULATED.local[0].copy(), MODULATED.down[0]
    np.fill_diagonal(local, -(up + local + down).sum(axis=1))
    r, g = solution.rate, solution.first_passage
    assert g.sum(axis=1) == pytest.approx(np.ones(2), rel=1e-14)
    assert up + r @ local + r @ r @ down == pytest.approx(np.zeros((2, 2)), abs=1e-15)
    assert down + local @ g + up @ g @ g == pytest.approx(np.zeros((2, 2)), abs=1e-15)


def test_a_solution_tells_what_it_is():
    solution = solve_qbd(MODULATED)
    assert solution.method == "exact (matrix-geometric)"
    bound = 20 * np.finfo(float).eps / (1 - solution.drift_ratio)
    assert solution.error_bound == pytest.approx(bound, rel=1e-12, abs=0)
    assert solution.table().startswith("mean_level")
    frame = solution.to_frame()
    assert frame.loc[0, "mean_level"] == solution.mean_level()
    assert frame.loc[0, "residual"] == solution.residual


@pytest.mark.parametrize("bad", [-1, 0.5, None, True, "x", np.nan, [0, -3], 2**63, [[1], [2, 3]]])
def test_levels_that_are_none_are_refused(bad):
    solution = solve_qbd(MODULATED)
    for question in (solution.pmf, solution.sf):
        with pytest.raises(ModelError, match="levels"):
            question(bad)
    if not isinstance(bad, (list, int)) or bad == -1 or bad is True:
        for question in (solution.level, solution.moment):
            with pytest.raises(ModelError):
                question(bad)


def test_a_moment_too_large_for_a_float_is_refused():
    with pytest.raises(ModelError, match="moment 90"):
        solve_qbd(birth_death([1 - 1e-6], [1.0])).moment(90)
    with pytest.raises(ModelError, match="<= 100"):
        solve_qbd(MODULATED).moment(101)
    assert solve_qbd(birth_death([0.5], [1.0])).moment(20) == pytest.approx(
        sum(j**20 / 2 ** (j + 1) for j in range(400)), rel=1e-13
    )


@pytest.mark.parametrize("values", [[1.0], [1.0, np.nan], ["x", "y"], None, [[1.0, 2.0]]])
def test_a_mean_takes_one_finite_value_for_each_level(values):
    with pytest.raises(ModelError, match="values"):
        solve_qbd(birth_death([0.5, 0.5], [1.0, 1.0])).mean_of(values)


@pytest.mark.parametrize("options", [{"tol": 0.0}, {"tol": np.nan}, {"max_steps": 0}])
def test_options_out_of_range_are_refused(options):
    with pytest.raises(ModelError, match=next(iter(options))):
        solve_qbd(MODULATED, **options)


def test_a_phase_that_never_comes_down_is_named():
    with pytest.raises(ModelError, match=r"phase 1 can never come down|recurrent"):
        solve_qbd(QBD([np.eye(2) * 0.1], [np.zeros((2, 2))], [np.diag([1.0, 0.0])]))


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
        (([[[1e300]]], [[[0.0]]], [[[1e305]]]), "change the unit of time"),
        (([[[1e-300]]], [[[0.0]]], [[[1e-299]]]), "change the unit of time"),
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


def test_the_last_step_allowed_is_taken_and_none_beyond():
    """Cyclic reduction that needs n steps: n are enough, with n - 1 it gives up and says so."""
    queue = birth_death([0.999], [1.0])
    needed = solve_qbd(queue).steps
    assert needed > 2
    assert solve_qbd(queue, max_steps=needed).steps == needed
    with pytest.raises(ConvergenceError, match=f"in {needed - 1} steps"):
        solve_qbd(queue, max_steps=needed - 1)


def test_one_step_follows_the_paths_of_one_jump():
    """Arrivals at rate a, service at rate b: after one jump up the next is down with b/(a+b)."""
    with pytest.raises(ConvergenceError, match="in 1 steps") as found:
        solve_qbd(birth_death([0.5], [1.0]), max_steps=1)
    assert found.value.last == pytest.approx(np.array([[1.0 / 1.5]]), rel=1e-15)
