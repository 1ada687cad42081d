import copy
import pickle
from math import exp, factorial, inf, lgamma, log, log1p

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from phasefit import ModelError, PhaseType, convolve, maximum
from tests.examples import examples
from tests.naive import phase_type as naive

rates = st.floats(0.01, 100.0)


@st.composite
def phase_types(draw, max_phases=6):
    """Any law with up to `max_phases` phases, an exit from each of them and perhaps an atom."""
    n = draw(st.integers(1, max_phases))
    weights = draw(arrays(float, n, elements=rates))
    jumps = draw(arrays(float, (n, n), elements=st.one_of(st.just(0.0), rates)))
    np.fill_diagonal(jumps, 0.0)
    exits = draw(arrays(float, n, elements=rates))
    positive = draw(st.sampled_from([1.0, 0.75, 0.01]))
    return PhaseType.from_rates(positive * weights / weights.sum(), jumps, exits)


def random_law(seed, order, decades, share=1.0):
    """Rates over `decades`, that `share` of the jumps possible."""
    rng = np.random.default_rng(seed)
    jumps = 10.0 ** rng.uniform(-decades, 0, (order, order)) * (rng.random((order, order)) < share)
    np.fill_diagonal(jumps, 0.0)
    exits = 10.0 ** rng.uniform(-decades, 0, order)
    return PhaseType.from_rates(rng.dirichlet(np.ones(order)), jumps, exits)


def two_loosely_coupled_groups(coupling, exit_rate):
    rng = np.random.default_rng(5)
    jumps = rng.random((6, 6))
    jumps[:3, 3:] *= coupling
    jumps[3:, :3] *= coupling / 10
    np.fill_diagonal(jumps, 0.0)
    return PhaseType.from_rates(np.eye(6)[0], jumps, exit_rate * np.eye(6)[1])


LAWS = {
    "random-2": random_law(1, 2, 1),
    "random-8": random_law(2, 8, 1),
    "stiff-5": random_law(3, 5, 8),
    "stiff-20": random_law(4, 20, 8),
    "stiff-sparse-12": random_law(5, 12, 8, share=0.2),
    "erlang-15": PhaseType.erlang(phases=15, mean=3.0),
    "hyperexponential": PhaseType.hyperexponential(
        weights=[0.9, 0.09, 0.01 - 1e-9, 1e-9], means=[1e-4, 1.0, 1e2, 1e4]
    ),
    "coxian": PhaseType.coxian(rates=np.geomspace(1e4, 1e-3, 8), continue_probabilities=[0.999] * 7),
    "loose": two_loosely_coupled_groups(1e-6, 1e-9),
    "very-loose": two_loosely_coupled_groups(1e-10, 1e-13),
    "deficient": PhaseType([0.3, 0.2], [[-2.0, 1.0], [0.5, -1.0]]),
}
every_law = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)


def close(got, wanted, rel):
    return abs(mpmath.mpf(got) / wanted - 1) <= rel


@pytest.mark.thorough(first=1)
@every_law
def test_probabilities_and_densities_keep_relative_accuracy_in_both_tails(law):
    """From 2^-30 means, where little can have happened, to 2^16, where only the logarithm is."""
    first = law.mean * 2.0**-30
    for k, now in enumerate(naive.doublings(law, first, 47)):
        x = first * 2.0**k
        survival, density = naive.survival(law, now), naive.density(law, now)
        if survival > 1e-250:
            assert close(law.sf(x), survival, 1e-10)
        if now[law.order] > 1e-250:
            assert close(law.cdf(x), now[law.order], 1e-10)
        if density > 1e-250:
            assert close(law.pdf(x), density, 1e-10)
        assert law.logpdf(x) == pytest.approx(float(mpmath.log(density)), rel=1e-12, abs=1e-10)


@pytest.mark.parametrize("name", ["random-2", "stiff-5", "loose", "very-loose"])
def test_the_tail_is_followed_to_1e_250(name):
    law = LAWS[name]
    x = law.isf(1e-250)
    assert close(1e-250, naive.survival(law, naive.transient(law, x)), 1e-10)


@given(phase_types(max_phases=4), st.floats(0.0, 30.0))
@settings(max_examples=examples(30))
def test_any_law_agrees_with_its_twin_in_many_digits(law, x):
    now = naive.transient(law, x)
    for got, wanted in (
        (law.sf(x), naive.survival(law, now)),
        (law.pdf(x), naive.density(law, now)),
        (law.cdf(x), now[law.order]),
    ):
        if wanted > 1e-250:
            assert close(got, wanted, 1e-11)
        else:
            assert 0.0 <= got <= 1e-249


@pytest.mark.parametrize("x", [0.0, 1e-300, 1e-9, 0.3, 2.0, 40.0, 600.0])
def test_an_exponential_is_an_exponential(x):
    law = PhaseType.exponential(mean=2.0)
    assert law.sf(x) == pytest.approx(exp(-x / 2), rel=1e-13, abs=0)
    assert law.pdf(x) == pytest.approx(exp(-x / 2) / 2, rel=1e-13, abs=0)
    assert law.cdf(x) == pytest.approx(-np.expm1(-x / 2), rel=1e-13, abs=0)
    assert law.logpdf(x) == pytest.approx(-x / 2 - log(2), rel=1e-13, abs=0)
    assert law.laplace(x) == pytest.approx(1 / (1 + 2 * x), rel=1e-14, abs=0)


@pytest.mark.thorough
@pytest.mark.parametrize("phases", [1, 2, 5, 50, 400])
def test_an_erlang_has_the_moments_and_the_tail_of_a_gamma_law(phases):
    law = PhaseType.erlang(phases=phases, mean=6.0)
    assert law.order == phases
    assert law.mean == pytest.approx(6.0, rel=1e-13, abs=0)
    assert law.scv == pytest.approx(1 / phases, rel=1e-11, abs=0)
    assert law.var == pytest.approx(36 / phases, rel=1e-11, abs=0)
    assert law.std == pytest.approx(6 / phases**0.5, rel=1e-11, abs=0)
    assert law.skewness == pytest.approx(2 / phases**0.5, rel=1e-8, abs=0)
    for x in (1e-3, 0.6, 6.0, 30.0, 100.0):
        with mpmath.workdps(60):
            t = phases * mpmath.mpf(x) / 6
            tail = mpmath.gammainc(phases, t, regularized=True)
            density = t**phases / mpmath.factorial(phases - 1) * mpmath.exp(-t) / mpmath.mpf(x)
            terms = (t**k / mpmath.factorial(k) for k in range(phases, phases + 600))
            reached = mpmath.exp(-t) * mpmath.fsum(terms)
        if tail > 1e-250:
            assert close(law.sf(x), tail, 1e-10)
        if reached > 1e-250 and x < 6.0:
            assert close(law.cdf(x), reached, 1e-10)
        if (phases, x) in {(400, 30.0), (400, 100.0)}:
            with pytest.raises(ModelError, match="too small for a law of order 400"):
                law.logpdf(x)
        else:
            assert law.logpdf(x) == pytest.approx(float(mpmath.log(density)), rel=1e-12, abs=0)


def test_the_log_density_of_a_sum_too_long_to_follow_is_refused_and_not_made_up():
    """Forty jumps of which each has a chance of 1e-9 in the time of the fastest phase."""
    slow = PhaseType.erlang(phases=40, mean=40e9)
    law = convolve(PhaseType.exponential(mean=1.0), slow)
    assert law.logpdf(40e9) == pytest.approx(slow.logpdf(40e9), abs=1e-8)
    with pytest.raises(ModelError, match=r"density at 0.001 is too small"):
        law.logpdf([40e9, 1e-3])


@pytest.mark.thorough
@pytest.mark.parametrize(("phases", "far"), [(3, 1e40), (5, 1e20), (20, 1e6), (50, 250.0)])
def test_the_log_density_of_an_erlang_is_followed_far_out_or_refused(phases, far):
    law = PhaseType.erlang(phases=phases, mean=1.0)
    for x in np.geomspace(1.0, far, 60):
        wanted = phases * log(phases) + (phases - 1) * log(x) - phases * x - lgamma(phases)
        assert law.logpdf(x) == pytest.approx(wanted, rel=1e-11, abs=1e-11)
    with pytest.raises(ModelError, match="too small"):
        law.logpdf(1e20 * far)


def test_a_hyperexponential_is_a_weighted_sum_of_exponentials():
    law = PhaseType.hyperexponential(weights=[0.9, 0.1], means=[1.0, 20.0])
    for x in (0.1, 3.0, 400.0):
        assert law.sf(x) == pytest.approx(0.9 * exp(-x) + 0.1 * exp(-x / 20), rel=1e-13, abs=0)
    assert law.mean == pytest.approx(2.9, rel=1e-14, abs=0)
    assert law.moment(2) == pytest.approx(2 * (0.9 + 0.1 * 400), rel=1e-14, abs=0)


def test_a_coxian_that_always_goes_on_adds_its_phases_and_one_that_never_does_is_exponential():
    onward = PhaseType.coxian(rates=[1.0, 0.5, 4.0], continue_probabilities=[1.0, 1.0])
    assert onward.mean == pytest.approx(1 + 2 + 0.25, rel=1e-14, abs=0)
    assert onward.var == pytest.approx(1 + 4 + 1 / 16, rel=1e-13, abs=0)
    ends = PhaseType.coxian(rates=[1.0, 0.5], continue_probabilities=[0.0])
    assert ends.sf(3.0) == pytest.approx(exp(-3.0), rel=1e-13, abs=0)


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("k", [0, 1, 2, 3, 6])
@every_law
def test_moments_agree_with_the_textbook_formula_in_many_digits(law, k):
    # E[X^0] of the textbook's formula leaves out the atom.
    wanted = naive.moment(law, k) if k else 1
    assert close(law.moment(k), wanted, 1e-12)


@every_law
def test_mean_variance_and_skewness_are_those_of_the_moments(law):
    one, two, three = naive.moments(law, 3)
    with mpmath.workdps(40):
        var = two - one**2
        assert close(law.mean, one, 1e-13)
        assert close(law.var, var, 1e-11)
        assert close(law.scv, var / one**2, 1e-11)
        assert close(law.skewness, (three - 3 * one * var - one**3) / var**1.5, 1e-9)


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("s_means", [0.0, 1e-9, 0.01, 1.0, 1e4])
@every_law
def test_the_transform_agrees_with_the_textbook_formula(law, s_means):
    s = s_means / law.mean
    assert close(law.laplace(s), naive.laplace(law, s), 1e-12)


@pytest.mark.thorough(first=1)
@every_law
def test_quantiles_are_where_the_law_says(law):
    q = np.array([1e-200, 1e-12, 0.01, 0.3, 0.5, 0.7, 0.99, 1 - 1e-9])
    # An error of 1e-12 in x moves the probability by as much as the density allows.
    x = law.ppf(q)
    reached = np.maximum(q, law.atom)
    assert (np.abs(law.cdf(x) - reached) <= 1e-12 * law.pdf(x) * x + 1e-13 * q).all()
    assert (x[q <= law.atom] == 0.0).all()
    x = law.isf(q)
    above = np.minimum(q, law.sf(0.0))
    assert (np.abs(law.sf(x) - above) <= 1e-12 * law.pdf(x) * x + 1e-13 * q).all()


def test_quantiles_of_an_exponential_have_twelve_digits():
    law = PhaseType.exponential(mean=3.0)
    q = np.array([1e-300, 1e-15, 0.1, 0.5, 0.9, 1 - 1e-10])
    assert law.ppf(q) == pytest.approx([-3 * log1p(-p) for p in q], rel=1e-12, abs=0)
    assert law.isf(q) == pytest.approx([-3 * log(p) for p in q], rel=1e-12, abs=0)


def test_the_ends_of_the_quantile_function_are_zero_and_infinity():
    law = PhaseType([0.6], [[-1.0]])
    assert law.ppf([0.0, 0.4, 1.0]).tolist() == [0.0, 0.0, inf]
    assert law.isf([1.0, 0.6, 0.0]).tolist() == [0.0, 0.0, inf]
    # P(X <= x) = 0.4 + 0.6 (1 - exp(-x))
    assert law.ppf(0.7) == pytest.approx(log(2.0), rel=1e-13, abs=0)
    just_above = 0.4 + 1e-13
    assert law.ppf(just_above) == pytest.approx((just_above - law.atom) / 0.6, rel=1e-12, abs=0)


def test_an_atom_at_zero_is_seen_in_the_cdf_and_not_in_the_density():
    law = PhaseType([0.25], [[-2.0]])
    assert law.atom == 0.75
    assert (law.cdf(0.0), law.sf(0.0), law.cdf(-1e-9)) == (0.75, 0.25, 0.0)
    assert law.pdf(0.0) == pytest.approx(0.5, rel=1e-14, abs=0)
    assert law.mean == pytest.approx(0.125, rel=1e-14, abs=0)
    assert law.laplace(0.0) == pytest.approx(1.0, rel=1e-14, abs=0)


def test_before_zero_and_at_infinity_the_law_is_certain():
    law = PhaseType.erlang(phases=2, mean=1.0)
    x = [-inf, -1.0, inf]
    assert law.cdf(x).tolist() == [0.0, 0.0, 1.0]
    assert law.sf(x).tolist() == [1.0, 1.0, 0.0]
    assert law.pdf(x).tolist() == [0.0, 0.0, 0.0]
    assert law.logpdf(x).tolist() == [-inf, -inf, -inf]


@pytest.mark.parametrize("question", ["pdf", "logpdf", "cdf", "sf", "ppf", "isf", "laplace"])
def test_answers_have_the_shape_of_the_question(question):
    law = random_law(7, 3, 1)
    ask = getattr(law, question)
    x = np.array([[0.1, 0.7, 0.2], [0.9, 0.3, 0.5]])
    assert ask(x).shape == (2, 3)
    assert ask([]).shape == (0,)
    assert isinstance(ask(0.7), float)
    assert ask(x)[0, 1] == pytest.approx(ask(0.7), rel=1e-13, abs=0)


@pytest.mark.thorough
def test_many_times_at_once_are_answered_as_one_by_one():
    """Unsorted, with repeats, and so many that every way of computing takes part."""
    law = random_law(8, 12, 5)
    x = law.mean * np.random.default_rng(1).permutation(np.repeat(np.geomspace(1e-8, 50, 300), 2))
    for ask in (law.pdf, law.cdf, law.sf):
        assert ask(x) == pytest.approx([ask(float(t)) for t in x], rel=1e-12, abs=0)


def test_windows_and_squaring_agree_where_both_are_possible():
    """A law of a few phases is squared, the same one beside idle phases goes by windows."""
    small = random_law(9, 3, 0.5)
    n = 200
    jumps, exits = np.zeros((n, n)), np.ones(n)
    jumps[:3, :3], exits[:3] = small.jumps, small.exit
    jumps[2, 3] = 1e-300  # keeps them in the chain
    np.fill_diagonal(jumps[3:-1, 4:], 1e-300)
    large = PhaseType.from_rates(np.append(small.alpha, np.zeros(n - 3)), jumps, exits)
    x = small.mean * np.array([50.0, 100.0, 300.0])
    assert large.sf(x) == pytest.approx(small.sf(x), rel=1e-11, abs=0)
    assert large.pdf(x) == pytest.approx(small.pdf(x), rel=1e-11, abs=0)


@pytest.mark.thorough
@given(phase_types(), st.floats(1e-3, 1e3), st.floats(0.01, 20.0))
def test_changing_the_unit_of_time_changes_nothing_else(law, c, x):
    rescaled = law.scale(c)
    for k in (1, 2, 3):
        assert rescaled.moment(k) == pytest.approx(law.moment(k) * c**k, rel=1e-12, abs=0)
    assert rescaled.sf(c * x) == pytest.approx(law.sf(x), rel=1e-9, abs=0)
    assert rescaled.atom == law.atom


@given(phase_types())
def test_scv_is_at_least_one_over_the_number_of_phases(law):
    """Aldous & Shepp 1987: the Erlang is the least variable of its order."""
    assert law.scv >= 1 / law.order - 1e-12


@given(phase_types(), st.floats(1e-3, 1e3))
def test_markovs_inequality_holds(law, means):
    assert law.sf(means * law.mean) <= min(1.0, 1 / means) * (1 + 1e-12)


@pytest.mark.thorough
@given(phase_types(), arrays(float, 20, elements=st.floats(0, 100)))
def test_the_cdf_rises_and_completes_the_sf(law, x):
    x.sort()
    assert (np.diff(law.cdf(x)) >= -1e-14).all()
    assert law.cdf(x) + law.sf(x) == pytest.approx(np.ones(20), rel=1e-13, abs=0)


@given(phase_types())
def test_exit_rates_close_the_rows(law):
    assert law.exit == pytest.approx(-law.T.sum(axis=1), abs=1e-12)
    assert (np.diag(law.jumps) == 0).all()
    assert law.alpha.sum() + law.atom == pytest.approx(1.0, rel=1e-14, abs=0)


def test_exit_rates_given_as_such_keep_all_their_digits():
    law = PhaseType.from_rates([1.0, 0.0], [[0.0, 1.0], [1.0, 0.0]], [1e-30, 0.0])
    assert law.mean == pytest.approx(2e30, rel=1e-13, abs=0)
    assert law.sf(2e30) == pytest.approx(exp(-1.0), rel=1e-11, abs=0)


def test_row_sums_that_are_rounding_are_no_exits():
    rates_out = np.array([0.1, 0.2, 0.3])
    T = np.diag([-1.0, -1.0, -1.0])
    T[0, 1:] = [0.4, 0.6 - 1e-16]
    T[1, 2], T[2, 0] = 1.0, 0.5
    law = PhaseType([1.0, 0.0, 0.0], T)
    assert law.exit.tolist() == [0.0, 0.0, 0.5]
    assert PhaseType([1.0], [[-rates_out.sum()]]).exit.tolist() == [rates_out.sum()]


def test_the_law_cannot_be_changed_behind_ones_back():
    law = PhaseType.erlang(phases=2, mean=1.0)
    alpha, T = np.array([1.0]), np.array([[-1.0]])
    other = PhaseType(alpha, T)
    alpha[0], T[0, 0] = 0.5, -7.0
    assert (other.mean, other.atom) == (1.0, 0.0)
    for copied in (law, pickle.loads(pickle.dumps(law)), copy.deepcopy(law)):
        assert np.array_equal(copied.T, law.T)
        for array in (copied.alpha, copied.T, copied.exit):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 3.0
    with pytest.raises(AttributeError):
        law.alpha = alpha


def test_a_law_tells_its_order_mean_scv_and_atom():
    assert repr(PhaseType([0.5], [[-1.0]])) == "PhaseType(order=1, mean=0.5, scv=3, atom=0.5)"


@pytest.mark.parametrize("unit", [1e-250, 1e250])
def test_any_unit_of_time_that_floats_can_hold_will_do(unit):
    law = PhaseType.erlang(phases=3, mean=6.0).scale(unit)
    assert law.mean == pytest.approx(6.0 * unit, rel=1e-12, abs=0)
    assert law.scv == pytest.approx(1 / 3, rel=1e-12, abs=0)
    assert law.sf(6.0 * unit) == pytest.approx(exp(-3) * (1 + 3 + 4.5), rel=1e-12, abs=0)
    assert law.ppf(law.cdf(6.0 * unit)) == pytest.approx(6.0 * unit, rel=1e-12, abs=0)
    with pytest.raises(ModelError, match="change the unit of time"):
        law.moment(2)
    with pytest.raises(ModelError, match="change the unit of time"):
        _ = law.var


def test_moments_of_high_order_need_not_pass_through_numbers_too_large():
    law = PhaseType.exponential(mean=1e-5)
    assert law.moment(60) == pytest.approx(float(factorial(60)) * 1e-300, rel=1e-11, abs=0)


@pytest.mark.parametrize(
    ("alpha", "T", "what"),
    [
        ([1.0], [[0.0]], r"T\[0, 0\] must be < 0"),
        ([1.0], [[1.0]], r"T\[0, 0\] must be < 0, got 1"),
        ([0.0], [[-1.0]], "alpha must sum to more than 0"),
        ([0.6, 0.5], [[-1.0, 0.0], [0.0, -1.0]], "got 1.1"),
        ([1.5, -0.5], [[-1.0, 0.0], [0.0, -1.0]], r"alpha\[1\] must be >= 0, got -0.5"),
        ([1.0, 0.0], [[-1.0, -0.5], [0.0, -1.0]], "negative rate -0.5 from phase 0 to phase 1"),
        ([1.0, 0.0], [[-1.0, 1.5], [0.0, -1.0]], "row 0 of T must sum to at most 0, got 0.5"),
        ([1.0, 0.0], [[-1.0, 0.5], [0.0, -np.nan]], r"T\[1, 1\] is nan"),
        ([1.0, np.inf], [[-1.0, 0.5], [0.0, -1]], r"alpha\[1\] is inf"),
        ([1.0], [[-1.0, 0.0]], r"T must be \(1, 1\)"),
        ([[1.0]], [[-1.0]], "non-empty vector"),
        ([], np.zeros((0, 0)), "non-empty vector"),
        (None, [[-1.0]], "real numbers"),
        ([1.0], None, "real numbers"),
        ("1", [[-1.0]], "real numbers"),
        ([1.0], [[-1.0], [2.0, 3.0]], "array of numbers"),
        ([1.0, 0.0, 0.0], [[-1, 0.5, 0.4], [0, -1, 1], [0, 2, -2]], "phase 1 cannot reach"),
        ([1.0, 0.0], [[-1e308, 1e308], [1e308, -1e308]], "cannot reach absorption"),
    ],
)
def test_what_is_no_phase_type_law_is_refused_with_the_number_at_fault(alpha, T, what):
    with pytest.raises(ModelError, match=what):
        PhaseType(alpha, T)


def test_a_sum_within_rounding_of_one_is_one_and_a_smaller_one_is_an_atom():
    T = [[-1.0, 0.0], [0.0, -1.0]]
    assert PhaseType([0.5, 0.5 - 1e-11], T).atom == 0.0
    assert PhaseType([0.5, 0.5 - 1e-11], T).alpha.sum() == pytest.approx(1.0, abs=1e-15)
    assert PhaseType([0.5, 0.5 + 1e-11], T).alpha.sum() == pytest.approx(1.0, abs=1e-15)
    assert PhaseType([0.5, 0.5 - 1e-9], T).atom == pytest.approx(1e-9, rel=1e-6, abs=0)


NO_NUMBERS = [np.nan, inf, -inf, None, "1", [1.0, 2.0], 1j]


@pytest.mark.parametrize("bad", [*NO_NUMBERS, 0.0, -1.0])
def test_a_mean_or_factor_that_is_not_above_zero_is_refused(bad):
    for make in (
        lambda: PhaseType.exponential(mean=bad),
        lambda: PhaseType.erlang(phases=2, mean=bad),
        lambda: PhaseType.exponential(mean=1.0).scale(bad),
        lambda: PhaseType.hyperexponential(weights=[0.5, 0.5], means=[1.0, bad]),
        lambda: PhaseType.coxian(rates=[1.0, bad], continue_probabilities=[0.5]),
    ):
        with pytest.raises(ModelError):
            make()


@pytest.mark.parametrize("bad", [*NO_NUMBERS, -0.1, 1.1])
def test_a_probability_out_of_range_is_refused(bad):
    law = PhaseType.exponential(mean=1.0)
    for make in (
        lambda: PhaseType.hyperexponential(weights=[0.5, bad], means=[1.0, 2.0]),
        lambda: PhaseType.coxian(rates=[1.0, 1.0], continue_probabilities=[bad]),
        lambda: law.ppf([0.5, bad]),
        lambda: law.isf([0.5, bad]),
    ):
        with pytest.raises(ModelError):
            make()


@pytest.mark.parametrize("bad", [0, -1, 2.0, 2.5, np.nan, None, "2", True, 4001])
def test_a_number_of_phases_that_cannot_be_is_refused(bad):
    with pytest.raises(ModelError):
        PhaseType.erlang(phases=bad, mean=1.0)


@pytest.mark.parametrize("bad", [-1, 1.0, None, np.nan, "1", True, 151])
def test_an_order_of_moment_that_cannot_be_is_refused(bad):
    with pytest.raises(ModelError):
        PhaseType.exponential(mean=1.0).moment(bad)


@pytest.mark.parametrize("question", ["pdf", "logpdf", "cdf", "sf", "laplace"])
@pytest.mark.parametrize("bad", [np.nan, [1.0, np.nan], None, [None], "1", 1j, [[1.0], [1.0, 2.0]]])
def test_a_time_that_is_no_number_is_refused(question, bad):
    with pytest.raises(ModelError):
        getattr(PhaseType.erlang(phases=2, mean=1.0), question)(bad)


@pytest.mark.parametrize("bad", [-1e-9, inf, -inf])
def test_the_transform_is_asked_for_at_finite_points_that_are_not_negative(bad):
    with pytest.raises(ModelError):
        PhaseType.exponential(mean=1.0).laplace(bad)


@pytest.mark.parametrize(
    "given",
    [
        {"weights": [1.0], "means": [1.0, 2.0]},
        {"weights": [0.5, 0.4], "means": [1.0, 2.0]},
        {"weights": [], "means": []},
        {"weights": [0.5, 0.5], "means": [1.0, 1e-320]},
    ],
)
def test_hyperexponentials_that_do_not_fit_together_are_refused(given):
    with pytest.raises(ModelError):
        PhaseType.hyperexponential(**given)


def test_a_coxian_needs_one_probability_less_than_rates():
    with pytest.raises(ModelError, match=r"shape \(1,\)"):
        PhaseType.coxian(rates=[1.0, 1.0], continue_probabilities=[0.5, 0.5])


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"jumps": [[0.0, -1.0], [0.0, 0.0]]}, "negative rate -1"),
        ({"jumps": [[0.0, 1.0]]}, "jumps must be"),
        ({"jumps": [[1.0, 0.0], [0.0, 0.0]]}, "it is derived"),
        ({"exits": [1.0, -1.0]}, "negative exit rate -1 from phase 1"),
        ({"exits": [1.0, 0.0]}, "phase 1 cannot reach"),
        ({"exits": [1e308, 1.0], "jumps": [[0.0, 1e308], [0.0, 0.0]]}, "longer unit of time"),
        ({"exits": [1.0, inf]}, "inf"),
        ({"atom": 0.5}, "that is not one"),
        ({"atom": -0.5}, "atom must be >= 0"),
        ({"atom": np.nan}, "atom"),
    ],
)
def test_rates_that_make_no_law_are_refused(given, what):
    valid = {"alpha": [0.5, 0.5], "jumps": np.zeros((2, 2)), "exits": [1.0, 1.0]}
    with pytest.raises(ModelError, match=what):
        PhaseType.from_rates(**(valid | given))


@pytest.mark.parametrize("mass", [1e-3, 1e-10, 1e-16, 1e-20, 1e-100, 1e-300])
def test_a_variable_that_is_nearly_always_zero_keeps_its_digits(mass):
    law = PhaseType.from_rates([mass], [[0.0]], [2.0], atom=1.0 - mass)
    x = np.array([0.0, 0.5, 3.0])
    assert law.mean == pytest.approx(mass / 2.0, rel=1e-14)
    assert law.moment(3) == pytest.approx(mass * 6.0 / 8.0, rel=1e-14)
    assert law.sf(x) == pytest.approx(mass * np.exp(-2.0 * x), rel=1e-13)
    assert law.isf(mass / 10.0) == pytest.approx(np.log(10.0) / 2.0, rel=1e-12)
    assert law.var == pytest.approx(mass / 2.0 - mass**2 / 4.0, rel=1e-12)
    assert law.scv == pytest.approx(2.0 / mass - 1.0, rel=1e-12)
    assert law.ppf(0.5) == 0.0
    assert (law.rvs(100, random_state=1) >= 0.0).all()
    assert "atom" in repr(law)


def test_moments_come_in_one_call():
    law = PhaseType.erlang(phases=3, mean=2.0)
    assert law.moments(4).tolist() == [law.moment(k) for k in (1, 2, 3, 4)]
    with pytest.raises(ModelError, match="k must be"):
        law.moments(0)


def test_an_exit_rate_that_rounding_put_below_zero_is_zero():
    law = PhaseType.from_rates([1.0, 0.0], [[0.0, 3.0], [0.0, 0.0]], [-3e-16, 2.0])
    assert law.exit[0] == 0.0
    assert law.mean == pytest.approx(1 / 3 + 1 / 2)
    with pytest.raises(ModelError, match="negative exit rate"):
        PhaseType.from_rates([1.0, 0.0], [[0.0, 3.0], [0.0, 0.0]], [-1e-8, 2.0])


@pytest.mark.parametrize(
    "law",
    [
        PhaseType.exponential(mean=2.0),
        PhaseType.hyperexponential(weights=[0.9, 0.1], means=[1.0, 30.0]),
        maximum(PhaseType.erlang(phases=3, mean=1.0), PhaseType.exponential(mean=1.0)),
    ],
)
def test_median_and_interval_are_quantiles(law):
    assert law.cdf(law.median) == pytest.approx(0.5)
    low, high = law.interval(0.8)
    assert (law.cdf(low), law.sf(high)) == (pytest.approx(0.1), pytest.approx(0.1))
    for wrong in (0.0, 1.0, -0.5, float("nan")):
        with pytest.raises(ModelError, match="confidence"):
            law.interval(wrong)
