from math import ceil, inf

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phasefit import InfeasibleMomentsError, ModelError, match_moments
from tests.naive import phase_type as naive

BELOW, ABOVE = -1e-9, 1e-9
SCVS = np.concatenate(
    [
        np.geomspace(0.01, 1e4, 101),
        [0.01 * (1 + ABOVE), 1e4 * (1 + BELOW), 1 + ABOVE, 1 + BELOW, np.nextafter(1, 0), 1.0],
        *[[1 / k, np.nextafter(1 / k, 0), 1 / k * (1 + BELOW), 1 / k * (1 + ABOVE)] for k in range(2, 100)],
    ]
)


@pytest.mark.thorough
@pytest.mark.parametrize(("m1", "scvs"), [(1.0, SCVS), (3e-7, SCVS[::9]), (1.7e5, SCVS[1::9])])
def test_both_moments_are_met_to_twelve_digits_over_the_whole_range(m1, scvs):
    for scv in scvs:
        m2 = m1 * m1 * (1 + scv)
        law = match_moments(m1, m2)
        assert law.mean == pytest.approx(m1, rel=1e-12, abs=0)
        assert law.moment(2) == pytest.approx(m2, rel=1e-12, abs=0)


@pytest.mark.parametrize("scv", [0.01, 0.0734, 0.25 - 1e-12, 0.4, 1 - 1e-7, 1 + 1e-7, 37.0, 1e4])
def test_both_moments_are_met_when_counted_in_many_digits(scv):
    law = match_moments(2.5, 6.25 * (1 + scv))
    first, second = naive.moments_in_a_row(law, 2)
    assert abs(first / mpmath.mpf(2.5) - 1) < 1e-12
    assert abs(second / mpmath.mpf(6.25 * (1 + scv)) - 1) < 1e-12


@given(st.floats(0.01, 1e4))
def test_the_order_is_the_least_that_the_family_offers(scv):
    m2 = 1 + scv
    known = m2 - 1  # what is left of scv in the second moment
    order = match_moments(1.0, m2).order
    if abs(known - 1) < 1e-12:
        assert order in (1, 2)
    elif known > 1:
        assert order == 2
    else:
        assert order in {ceil(1 / known - 1e-10), ceil(1 / known + 1e-10)}
        assert order >= 1 / known - 1e-9


@pytest.mark.parametrize("k", [1, 2, 3, 7, 50, 100])
def test_the_scv_of_an_erlang_gives_that_erlang(k):
    law = match_moments(3.0, 9.0 * (1 + 1 / k))
    assert law.order == k
    assert law.alpha[0] == pytest.approx(1.0, abs=1e-9)


def test_one_moment_gives_an_exponential():
    law = match_moments(7.0)
    assert (law.order, law.mean, law.scv) == (1, pytest.approx(7.0), pytest.approx(1.0))


@given(st.floats(1.001, 1e4))
def test_the_two_exponentials_are_in_balance(scv):
    """Each contributes half of the mean; R = p / rate does not depend on the phase."""
    law = match_moments(1.0, 1 + scv)
    assert law.alpha / law.exit == pytest.approx([0.5, 0.5], rel=1e-12, abs=0)


@pytest.mark.parametrize("scv", [2047.0, 5000.0, 6543.0, 7777.0, 9999.0, 1e4])
def test_the_rare_branch_keeps_its_digits(scv):
    with mpmath.workdps(40):
        rare = (1 - mpmath.sqrt((mpmath.mpf(scv) - 1) / (scv + 1))) / 2
    assert match_moments(1.0, 1 + scv).alpha.min() == pytest.approx(float(rare), rel=1e-14, abs=0)


@pytest.mark.parametrize(
    ("m2", "what"),
    [
        (0.9, r"m2 must exceed m1\^2 = 1"),
        (1.0, r"m2 must exceed m1\^2 = 1"),
        (-1.0, "m2 must exceed"),
        (1.004, "scv 0.004 needs order 250, more than the 100 offered"),
        (1.0099, r"needs order 102, .*1.01 m1\^2 = 1.01 to 10001 m1\^2 = 10001"),
        (10002.0, "scv 10001 is above 10000"),
        (1e300, "is above 10000"),
    ],
)
def test_moments_out_of_reach_name_the_range_and_the_order_needed(m2, what):
    with pytest.raises(InfeasibleMomentsError, match=what):
        match_moments(1.0, m2)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, inf, -inf, None, "1", [1.0], True, 1j])
def test_a_mean_that_cannot_be_is_refused(bad):
    for given_too in ((), (2.0,)):
        with pytest.raises(ModelError, match="m1"):
            match_moments(bad, *given_too)


@pytest.mark.parametrize("bad", [np.nan, inf, -inf, "1", [1.0], True])
def test_a_second_moment_that_is_no_number_is_refused(bad):
    with pytest.raises(ModelError, match="m2"):
        match_moments(1.0, bad)


@pytest.mark.parametrize("moments", [(1e-300, 0.0), (1e-110, 2e-220, 0.0)])
def test_moments_below_the_range_of_floats_ask_for_another_unit_of_time(moments):
    with pytest.raises(ModelError, match="change the unit of time"):
        match_moments(*moments)
