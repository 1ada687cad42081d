"""Three moments: met at every order, at the least order, or refused with the way out."""

from math import inf

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from phasefit import (
    InfeasibleMomentsError,
    ModelError,
    PhaseType,
    match_moments,
    moments3,
)
from phasefit.moments import MomentsAdjustedWarning, moment_bounds
from tests.examples import examples
from tests.naive import phase_type as naive

NEAR = [-1e-9, -1e-13, 0.0, 1e-14, 1e-12, 1e-9, 1e-5]
N2_LIMIT = 10001.0


def published_bounds(n, n2):
    """The bounds of n3 as Bobbio, Horvath and Telek print them."""
    with mpmath.workdps(40):
        n2, root = mpmath.mpf(n2), mpmath.sqrt
        if n2 >= mpmath.mpf(n + 4) / (n + 1):
            low = n2 * (n + 1) / n
        else:
            p = (n + 1) * (n2 - 2) / (3 * n2 * (n - 1))
            p *= -2 * root(n + 1) / root(4 * (n + 1) - 3 * n * n2) - 1
            a = (n2 - 2) / (p * (1 - n2) + root(p * p + p * n * (n2 - 2) / (n - 1)))
            low = ((3 + a) * (n - 1) + 2 * a) / ((n - 1) * (1 + a * p))
            low -= 2 * a * (n + 1) / (2 * (n - 1) + a * p * (n * a + 2 * n - 2))
        if n2 > mpmath.mpf(n) / (n - 1):
            return float(low.real), inf
        high = 2 * (n - 2) * (n * n2 - n - 1) * root(1 + n * (n2 - 2) / (n - 1))
        high += (n + 2) * (3 * n * n2 - 2 * n - 2)
        return float(low.real), float(high.real / (n * n * n2))


def normalised_bounds(order, n2):
    low, high = moment_bounds(order, 1.0, n2)
    return low / n2, high / n2


def second_moments(n):
    """Normalised second moments from the least one of order n upward, dense at every corner."""
    least = (n + 1) / n
    corners = [least, n / (n - 1), (n + 4) / (n + 1), 2.0]
    near = [c * (1 + e) for c in corners for e in NEAR]
    spread = np.concatenate([np.linspace(least, 2.2, 9), np.geomspace(2.2, N2_LIMIT, 6)])
    return [float(x) for x in (*near, *spread) if least * (1 - 1e-15) <= x <= N2_LIMIT]


def third_moments(n, n2):
    low, high = normalised_bounds(n, n2)
    inner = np.linspace(low, min(high, low + 2.0), 5)
    near = [low * (1 + e) for e in NEAR[2:]] + [high * (1 - e) for e in NEAR[2:] if high < inf]
    far = [low * 10.0**k for k in (1, 4, 9, 30)] if high == inf else []
    return [x for x in (*inner, *near, *far) if low < x <= high or low == x < 1.5 * n2]


@pytest.mark.thorough
@pytest.mark.parametrize("n", [2, 3, 4, 7, 30, 100])
def test_three_moments_are_met_in_many_digits_all_over_what_an_order_reaches(n):
    m1, met = 1.7, 0
    for n2 in second_moments(n):
        m2 = n2 * m1 * m1
        for n3 in third_moments(n, n2):
            m3 = n3 * m1 * m2
            try:
                law = match_moments(m1, m2, m3)
            except InfeasibleMomentsError:  # the open end at the largest order offered
                assert n == 100
                assert n3 <= normalised_bounds(n, n2)[0] * (1 + 2e-13)
                continue
            first, second, third = naive.moments_in_a_row(law, 3)
            assert abs(first / mpmath.mpf(m1) - 1) < 1e-12
            assert abs(second / mpmath.mpf(m2) - 1) < 1e-12
            assert abs(third / mpmath.mpf(m3) - 1) < 1e-9
            low = normalised_bounds(n, n2)[0]
            assert law.order <= n or n3 <= low * (1 + 2e-13)
            met += 1
    assert met > 150


@pytest.mark.parametrize("n", [2, 3, 4, 5, 10, 99, 100, 4000])
def test_the_bounds_are_the_published_ones(n):
    least, corner = (n + 1) / n * (1 + 1e-10), n / (n - 1) * (1 - 1e-10)
    for n2 in [*np.linspace(least, corner, 20), *np.linspace(least, 2.3, 20)]:
        assert normalised_bounds(n, float(n2)) == pytest.approx(
            published_bounds(n, float(n2)), rel=1e-9, abs=0
        )


@pytest.mark.parametrize("n", [3, 4, 7, 40, 100])
def test_the_order_is_the_least_whose_published_bounds_hold_the_moments(n):
    checked = 0
    for n2 in np.linspace((n + 1) / n, 2.4, 25)[1:]:
        orders = range(2, n + 1)
        bounds = {k: published_bounds(k, float(n2)) for k in orders if n2 >= (k + 1) / k}
        low = max(bounds[n][0], 1e-9)
        for n3 in low * np.array([1 + 1e-6, 1.003, 1.05, 1.3, 1.9]):
            inside = [k for k, (a, b) in bounds.items() if a < n3 < b]
            if inside and min(abs(n3 / x - 1) for pair in bounds.values() for x in pair) > 1e-9:
                assert match_moments(1.0, n2, n3 * n2).order == min(inside)
                checked += 1
    assert checked > 40


def series(rates, alpha):
    """Normalised moments of phases in a row, entered anywhere: every acyclic law is one."""
    v, moments = np.ones(rates.size), []
    for k in (1, 2, 3):
        v = np.cumsum((k * v / rates)[::-1])[::-1]
        moments.append(alpha @ v)
    m1, m2, m3 = moments
    return m2 / m1**2, m3 / m1 / m2


@pytest.mark.thorough
@pytest.mark.parametrize("n", [2, 3, 4, 6])
def test_no_random_acyclic_law_leaves_the_bounds_of_its_order(n, rng):
    closest = inf
    for _ in range(3000):
        rates = np.sort(np.exp(rng.normal(scale=rng.choice([0.05, 0.5, 3.0]), size=n)))
        n2, n3 = series(rates, rng.dirichlet(np.full(n, rng.choice([0.05, 0.5, 3.0]))))
        low, high = normalised_bounds(n, n2)
        assert low * (1 - 1e-11) <= n3 <= high * (1 + 1e-11)
        closest = min(closest, n3 / low - 1)
    assert closest < 0.01


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("n", "n2", "n3", "reached"),
    [
        (2, 1.7, 2.53, False),  # above u_2 = 2.4706
        (2, 1.7, 2.3, False),  # below l_2 = 2.3513
        (2, 1.7, 2.44, True),
        (2, 2.6, 3.75, False),  # below 1.5 n2
        (2, 2.6, 4.2, True),
        (3, 1.45, 1.8, False),
        (3, 1.45, 1.9, True),
        (3, 1.45, 2.06, False),
        (3, 1.7, 2.15, False),
        (3, 1.7, 2.35, True),
        (3, 3.0, 3.9, False),  # below 4 n2 / 3
        (3, 3.0, 4.1, True),
        (3, 1.6, 9.0, True),
    ],
)
def test_a_search_over_all_laws_of_an_order_finds_what_the_bounds_say(n, n2, n3, reached, rng):
    def miss(x):
        rates, weights = np.exp(np.clip(x[:n], -12.0, 12.0)), np.exp(np.clip(x[n:], -30.0, 3.0))
        found = series(rates, weights / weights.sum())
        return abs(found[0] / n2 - 1) + abs(found[1] / n3 - 1)

    best = inf
    for _ in range(examples(12)):
        start = np.concatenate([rng.normal(size=n), 2.0 * rng.normal(size=n)])
        for _ in range(2):  # a second descent where the first simplex collapsed
            result = minimize(miss, start, method="Nelder-Mead", options={"maxfev": 1500})
            start = result.x
        best = min(best, result.fun)
        if best < 2e-3:
            break
    low, high = published_bounds(n, n2)
    assert reached == (low < n3 < high)
    assert best < 2e-3 if reached else best > 5e-3
    assert (match_moments(1.0, n2, n2 * n3).order <= n) == reached


@st.composite
def acyclic(draw):
    n = draw(st.integers(1, 6))
    logs = draw(st.lists(st.floats(-3.0, 3.0), min_size=n, max_size=n))
    weights = draw(st.lists(st.floats(0.01, 1.0), min_size=n, max_size=n))
    rates = np.exp(np.array(logs))
    exits = np.where(np.arange(n) == n - 1, rates, 0.0)
    return PhaseType.from_rates(np.array(weights) / sum(weights), np.diag(rates[:-1], 1), exits, atom=0.0)


@given(acyclic(), st.sampled_from([1e-9, 1.0, 3e5]))
def test_the_moments_of_an_acyclic_law_are_met_in_no_more_phases_than_it_has(law, unit):
    law = law.scale(unit)
    moments = [law.moment(k) for k in (1, 2, 3)]
    matched = match_moments(*moments)
    assert matched.order <= law.order
    assert matched.mean == pytest.approx(moments[0], rel=1e-12, abs=0)
    assert matched.moment(2) == pytest.approx(moments[1], rel=1e-12, abs=0)
    assert matched.moment(3) == pytest.approx(moments[2], rel=1e-9, abs=0)


@given(st.floats(1.01, 1e4), st.floats(1.0 + 1e-6, 1e6))
def test_above_scv_one_two_exponentials_meet_every_third_moment_above_theirs(scv, factor):
    m2 = 1.0 + scv
    m3 = 1.5 * m2 * m2 * factor
    law = match_moments(1.0, m2, m3)
    assert (law.order, law.jumps.any()) == (2, False)
    assert law.moment(2) == pytest.approx(m2, rel=1e-12, abs=0)
    assert law.moment(3) == pytest.approx(m3, rel=1e-9, abs=0)


def test_the_moments_of_two_exponentials_give_them_back():
    law = PhaseType.hyperexponential(weights=[0.9, 0.1], means=[0.5, 20.0])
    found = match_moments(*(law.moment(k) for k in (1, 2, 3)))
    assert found.alpha == pytest.approx(law.alpha, rel=1e-10, abs=0)
    assert found.exit == pytest.approx(law.exit, rel=1e-10, abs=0)


@pytest.mark.parametrize("k", [1, 2, 3, 10, 57, 100])
def test_the_moments_of_an_erlang_law_give_it_back(k):
    law = match_moments(3.0, 9.0 * (1 + 1 / k), 27.0 * (1 + 1 / k) * (1 + 2 / k))
    assert law.order == k
    assert law.sf(np.array([0.3, 3.0, 9.0])) == pytest.approx(
        PhaseType.erlang(phases=k, mean=3.0).sf(np.array([0.3, 3.0, 9.0])), rel=1e-6, abs=0
    )


@pytest.mark.parametrize("n3", [2.7, 2.99, 3.01, 3.5, 40.0])
@pytest.mark.parametrize("n2", [np.nextafter(2, 1), 2.0, np.nextafter(2, 3), 2 + 1e-14])
def test_a_second_moment_within_rounding_of_the_exponential_makes_no_absurd_law(n2, n3):
    law = match_moments(1.0, n2, n2 * n3)
    assert law.order == 3
    assert law.moment(2) == pytest.approx(n2, rel=1e-12, abs=0)
    assert law.moment(3) == pytest.approx(n2 * n3, rel=1e-9, abs=0)
    assert law.alpha[law.alpha > 0].min() > 1e-5


def test_order_one_has_the_moments_of_the_exponential_only():
    assert moment_bounds(1, 2.0, 8.0) == (48.0, 48.0)
    with pytest.raises(InfeasibleMomentsError, match=r"m2 = 2 m1\^2 = 8.*order 3 would do"):
        moment_bounds(1, 2.0, 5.6)
    with pytest.raises(InfeasibleMomentsError, match="order 2 would do"):
        moment_bounds(1, 2.0, 9.0)


def test_bounds_of_a_second_moment_out_of_reach_name_the_range_and_the_order():
    with pytest.raises(InfeasibleMomentsError, match=r"m2 >= 1.5 m1\^2 = 6; order 5 would do"):
        moment_bounds(2, 2.0, 4.8)
    with pytest.raises(InfeasibleMomentsError, match=r"m2 >= 1.5 m1\^2 = 6$"):
        moment_bounds(2, 2.0, 3.9)


@pytest.mark.parametrize(
    ("m2", "m3", "what"),
    [
        (3.0, 9.0, r"no variable has it: m3 must exceed m2\^2 / m1 = 9"),
        (3.0, -1.0, "no variable has it"),
        (3.0, 9.0001, r"needs order \d{5}, more than the 100 .*above 3.03 m1 m2 = 9.09 to 1e\+50"),
        (3.0, 9.045, "needs order 201, more"),
        (3.0, 1e52, r"m3 is above 1e\+50 m1 m2"),
        (
            1.01,
            1.0405,
            r"needs order 10[12], .*range is 1.02 m1 m2 = 1.0302 to 1.02 m1 m2 = 1.0302",
        ),
        (1.0, 2.0, "second moment 1 with mean 1: no variable has it"),
        (1.005, 2.0, "scv 0.005 needs order 200, more than the 100"),
    ],
)
def test_a_third_moment_out_of_reach_names_the_range_and_the_order_needed(m2, m3, what):
    with pytest.raises(InfeasibleMomentsError, match=what):
        match_moments(1.0, m2, m3)


def test_the_order_named_by_an_error_would_do():
    with pytest.raises(InfeasibleMomentsError, match="order 201"):
        match_moments(1.0, 3.0, 9.045 - 1e-9)
    assert moment_bounds(200, 1.0, 3.0)[0] > 9.045 - 1e-9
    assert moment_bounds(201, 1.0, 3.0)[0] < 9.045 - 1e-9


def nearest(*asked):
    with pytest.warns(MomentsAdjustedWarning) as record:
        law = match_moments(*asked, nearest=True)
    (warning,) = record
    assert warning.message.asked == asked
    met = warning.message.met
    for k, moment in enumerate(met):
        assert law.moment(k + 1) == pytest.approx(moment, rel=1e-9, abs=0)
    return law, met, str(warning.message)


def test_the_nearest_third_moment_is_a_millionth_above_what_can_only_be_approached():
    law, met, text = nearest(2.0, 12.0, 10.0)
    assert met == (2.0, 12.0, pytest.approx(1.01 * 3.0 * 24.0 * (1 + 1e-6), rel=1e-12))
    assert law.order == 100
    assert "m3 = 72.7201 in place of 10; third moment 10 with" in text
    assert "m2 =" not in text.split(";")[0]


def test_the_nearest_third_moment_lies_on_a_bound_that_can_be_met():
    _, met, _ = nearest(1.0, 1.0101, 5.0)
    assert met[2] == pytest.approx(moment_bounds(100, 1.0, 1.0101)[1], rel=1e-14)
    _, met, _ = nearest(1.0, 1.02, 1.0)
    assert met[2] == pytest.approx(moment_bounds(100, 1.0, 1.02)[0], rel=1e-14)


def test_the_nearest_second_moment_comes_before_the_third():
    law, met, text = nearest(1.0, 0.5, 7.0)
    assert met[:2] == (1.0, 1.01)
    assert met[2] == pytest.approx(1.01 * 1.02, rel=1e-12)
    assert law.order == 100
    assert "m2 = 1.01 in place of 0.5 and m3 = 1.0302 in place of 7" in text


def test_the_nearest_two_moments_keep_the_mean():
    law, met, _ = nearest(3.0, 1e9)
    assert met == (3.0, 9.0 * 10001.0)
    assert law.order == 2
    assert nearest(3.0, -4.0)[1] == (3.0, 9.0 * 1.01)


def test_a_third_moment_kept_with_an_adjusted_second_is_not_called_adjusted():
    _, met, text = nearest(1.0, 1e5, 1e15)
    assert met == (1.0, 10001.0, 1e15)
    assert "m3 =" not in text.split(";")[0]


def test_moments_within_reach_are_met_without_a_warning():
    assert match_moments(1.0, 3.0, 10.0, nearest=True).moment(3) == pytest.approx(10.0)
    assert match_moments(1.0, 1.5, nearest=True).order == 2
    assert match_moments(1.0, nearest=True).order == 1


@pytest.mark.parametrize("bad", [np.nan, inf, -inf, "1", [1.0], True, 1j])
def test_what_is_no_number_is_refused(bad):
    for call in (
        lambda: match_moments(1.0, 3.0, bad),
        lambda: match_moments(1.0, bad, 10.0, nearest=True),
        lambda: match_moments(bad, 3.0, 10.0),
        lambda: moment_bounds(2, bad, 3.0),
        lambda: moment_bounds(2, 1.0, bad),
    ):
        with pytest.raises(ModelError, match=r"m[123] "):
            call()
    with pytest.raises(ModelError, match="order must be a whole number"):
        moment_bounds(bad, 1.0, 3.0)


@pytest.mark.parametrize("bad", [None, 1, "yes", [True]])
def test_nearest_is_a_truth_value(bad):
    with pytest.raises(ModelError, match="nearest must be True or False"):
        match_moments(1.0, 3.0, 10.0, nearest=bad)


def test_odd_arguments_are_refused():
    with pytest.raises(ModelError, match="m3 must come with m2"):
        match_moments(1.0, m3=6.0)
    with pytest.raises(ModelError, match="order must be >= 1, got 0"):
        moment_bounds(0, 1.0, 2.0)
    with pytest.raises(ModelError, match="order must be <= 4000, got 5000"):
        moment_bounds(5000, 1.0, 2.0)
    for m1, m2 in ((None, 2.0), (1.0, None)):
        with pytest.raises(ModelError, match="must be"):
            moment_bounds(2, m1, m2)


@pytest.mark.parametrize("unit", [1e-100, 1e-60, 1e60, 1e100])
def test_the_unit_of_time_does_not_matter(unit):
    for n2, n3 in ((1.4, 2.0), (1.4, 7.0), (3.0, 3.5), (3.0, 9.0)):
        m2 = n2 * unit * unit
        law = match_moments(unit, m2, n3 * unit * m2)
        assert law.order == match_moments(1.0, n2, n3 * n2).order
        assert law.moment(3) == pytest.approx(n3 * unit * m2, rel=1e-9, abs=0)


@pytest.mark.parametrize("m1", [5e-324, 1e-310, 1e-200, 1e200, 1.7e308])
def test_moments_at_the_ends_of_the_floats_are_refused_in_words(m1):
    for m2, m3 in ((0.0, 1.0), (5e-324, 5e-324), (1e308, 1e308), (1.0, 1.0)):
        for nearest_too in (False, True):
            with pytest.raises(ModelError, match=r"moment|mean|rate"):
                match_moments(m1, m2, m3, nearest=nearest_too)
        with pytest.raises(ModelError, match="moment"):
            moment_bounds(3, m1, m2)


@pytest.mark.parametrize(
    ("order", "n2", "n3"),
    [(2, 1.2, 2.0), (1, 2.0, 2.9), (1, 3.0, 5.0), (3, 1.6, 1.0), (2, 3.0, 4.4), (2, 1.8, 9.0)],
)
def test_an_order_that_does_not_reach_the_moments_gives_no_law_of_others(order, n2, n3):
    assert not moments3.contains(order, n2, n3)
    with pytest.raises(InfeasibleMomentsError, match=f"of order {order} has n2"):
        moments3.law_of_order(order, 1.0, n2, n3)


@pytest.mark.parametrize("n2", [1.0, 0.5, 0.0, -1.0, float("nan")])
def test_no_order_has_no_variation(n2):
    assert moments3.least_order(n2, 2.0, 100) is None
