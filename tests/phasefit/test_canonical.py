"""Canonical forms and shorter representations: the same law, told otherwise."""

from math import inf

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phasefit import (
    ModelError,
    PhaseType,
    convolve,
    equilibrium,
    maximum,
    minimum,
    mixture,
    random_sum,
)
from phasefit.canonical import canonical_form, reduce_order
from tests.examples import examples
from tests.naive import phase_type as naive
from tests.phasefit.test_phase_type import phase_types

TIMES = np.array([0.0, 1e-3, 0.05, 0.3, 1.0, 3.0, 8.0, 25.0])  # in means
EXP = PhaseType.exponential(mean=2.0)
FAST = PhaseType.exponential(mean=0.5)
E3 = PhaseType.erlang(phases=3, mean=1.5)
H2 = PhaseType.hyperexponential(weights=[0.8, 0.2], means=[0.5, 6.0])
COXIAN = PhaseType.coxian(rates=[3.0, 1.0, 0.2], continue_probabilities=[0.7, 0.4])


def assert_same_law(law, other, moments=8):
    times = TIMES * law.mean
    assert np.abs(law.sf(times) - other.sf(times)).max() <= 1e-12
    for k in range(1, moments + 1):
        assert other.moment(k) == pytest.approx(law.moment(k), rel=1e-10, abs=0)
    assert other.atom == law.atom


def transform_degree(law):
    """Number of poles of the transform: rank of the Hankel matrix of the reduced moments."""
    n = law.order
    with mpmath.workdps(60):
        found = naive.moments(law, 2 * n - 1)
        moments = [mpmath.mpf(1)] + [
            moment / mpmath.factorial(k) / found[0] ** k for k, moment in enumerate(found, 1)
        ]
        hankel = mpmath.matrix(n, n)
        for i in range(n):
            for j in range(n):
                hankel[i, j] = moments[i + j] / mpmath.sqrt(moments[2 * i] * moments[2 * j])
        values = sorted((abs(x) for x in mpmath.eigsy(hankel, eigvals_only=True)), reverse=True)
        return sum(value > values[0] * mpmath.mpf(10) ** -13 for value in values)


@st.composite
def acyclic(draw, max_phases=7):
    """Any acyclic chain, its phases shuffled; rates over six decades, some of them equal."""
    n = draw(st.integers(1, max_phases))
    some = st.one_of(st.just(0.0), st.floats(1e-3, 1e3), st.sampled_from([0.5, 1.0, 2.0]))
    jumps = np.array([[draw(some) if j > i else 0.0 for j in range(n)] for i in range(n)])
    exits = np.array([draw(some) for _ in range(n)])
    exits[(jumps.sum(axis=1) + exits == 0.0)] = 1.0
    weights = np.array([draw(st.floats(0.0, 1.0)) for _ in range(n)]) + 1e-3
    mixed = draw(st.permutations(range(n)))
    return PhaseType.from_rates(
        (weights / weights.sum())[mixed], jumps[np.ix_(mixed, mixed)], exits[mixed], atom=0.0
    )


def rates_of(law):
    return -law.T.diagonal()


@pytest.mark.thorough
@given(acyclic())
def test_the_canonical_form_is_the_same_law_in_a_row_of_rising_rates(law):
    form = canonical_form(law)
    assert (np.diff(rates_of(form)) >= 0.0).all()
    fast = np.sort(rates_of(law))[law.order - form.order :]
    assert rates_of(form) == pytest.approx(fast, rel=1e-15, abs=0)
    assert form.alpha[0] > 0.0
    assert (form.jumps == np.diag(rates_of(form)[:-1], 1)).all()
    assert not form.exit[:-1].any()
    for k in range(1, 7):
        assert form.moment(k) == pytest.approx(law.moment(k), rel=1e-12, abs=0)
    times = TIMES * law.mean
    assert np.abs(form.sf(times) - law.sf(times)).max() < 1e-13


@settings(max_examples=examples(15))
@given(acyclic(max_phases=5))
def test_the_canonical_form_has_the_transform_of_the_law_in_many_digits(law):
    form = canonical_form(law)
    for s in (1e-3, 0.7, 40.0):
        s /= law.mean
        assert abs(naive.laplace(form, s) / naive.laplace(law, s) - 1) < 1e-14


@pytest.mark.thorough
@given(acyclic())
def test_a_canonical_form_is_its_own(law):
    form = canonical_form(law)
    again = canonical_form(form)
    assert again.alpha == pytest.approx(form.alpha, rel=1e-15, abs=0)
    assert (again.T == form.T).all()


def test_two_exponentials_enter_a_row_as_worked_out_by_hand():
    """The slower is the faster one with probability 1/3, else both in a row."""
    form = canonical_form(PhaseType.hyperexponential(weights=[0.25, 0.75], means=[1.0, 3.0]))
    assert form.alpha == pytest.approx([0.75 * 2 / 3, 0.25 + 0.75 / 3], rel=1e-15)
    assert rates_of(form) == pytest.approx([1 / 3, 1.0], rel=1e-15)


def test_the_order_of_phases_in_a_sum_does_not_show():
    parts = [FAST, EXP, E3]
    forms = [canonical_form(convolve(*parts)), canonical_form(convolve(*parts[::-1]))]
    for form in forms:
        assert form.alpha == pytest.approx([1.0, 0, 0, 0, 0], abs=1e-15)
        assert rates_of(form) == pytest.approx([0.5, 2, 2, 2, 2], rel=1e-14)


def test_an_atom_at_zero_stays():
    law = PhaseType([0.25, 0.35], [[-2.0, 1.0], [0.0, -1.0]])
    form = canonical_form(law)
    assert form.atom == law.atom
    assert form.moment(3) == pytest.approx(law.moment(3), rel=1e-13)


def test_entrances_keep_their_digits_however_small():
    rare = 1e-150
    law = PhaseType.from_rates([1 - rare, rare], np.zeros((2, 2)), [1.0, 1e-9], atom=0.0)
    assert canonical_form(law).alpha[0] == pytest.approx(rare * (1 - 1e-9), rel=1e-14, abs=0)


def test_phases_out_of_reach_do_not_enter_the_canonical_form():
    law = PhaseType([1.0, 0.0, 0.0], [[-1.0, 0.0, 0.0], [1.0, -5.0, 2.0], [0.0, 2.0, -3.0]])
    assert canonical_form(law).order == 1


def test_a_law_with_a_cycle_is_refused_by_the_phase_it_comes_back_to():
    jumps = np.zeros((4, 4))
    jumps[0, 1] = jumps[1, 2] = jumps[2, 1] = jumps[2, 3] = 1.0
    law = PhaseType.from_rates([1.0, 0, 0, 0], jumps, [0, 0, 0, 1.0])
    with pytest.raises(ModelError, match=r"has a cycle through phase [12]: only an acyclic law"):
        canonical_form(law)


@pytest.mark.parametrize("bad", [None, 1.0, np.nan, "law", [1.0]])
def test_what_is_no_law_is_refused(bad):
    for function in (canonical_form, reduce_order):
        with pytest.raises(ModelError, match="law must be a PhaseType"):
            function(bad)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, inf, None, "1", [1e-12], 1e-3])
def test_a_tolerance_that_cannot_be_is_refused(bad):
    with pytest.raises(ModelError, match="tol"):
        reduce_order(EXP, tol=bad)


REDUNDANT = {
    "two copies of an exponential": (mixture([0.3, 0.7], [EXP, EXP]), 1),
    "two copies of an Erlang law": (mixture([0.3, 0.7], [E3, E3]), 3),
    "two copies of a Coxian law": (mixture([0.5, 0.5], [COXIAN, COXIAN]), 3),
    "three copies of two exponentials": (mixture([0.2, 0.3, 0.5], [H2, H2, H2]), 2),
    "a copy and its canonical form": (mixture([0.4, 0.6], [COXIAN, canonical_form(COXIAN)]), 3),
    "shorter and longer Erlang laws": (
        mixture([0.4, 0.6], [E3, PhaseType.erlang(phases=2, mean=1.0)]),
        3,
    ),
    "the minimum of exponentials": (minimum(EXP, FAST), 1),
    "the minimum of Erlang laws": (minimum(E3, E3), 5),
    "the maximum of two equal ones": (maximum(EXP, EXP), 2),
    "the maximum of four equal ones": (maximum(maximum(EXP, EXP), maximum(EXP, EXP)), 4),
    "the maximum of two others": (maximum(EXP, FAST), 3),
    "the maximum of equal Erlang laws": (maximum(E3, E3), 8),
    "a geometric sum of exponentials": (random_sum(EXP, stop=0.2), 1),
    "the equilibrium of an Erlang law": (equilibrium(E3), 3),
    "equal heads of different tails": (
        mixture([0.5, 0.5], [convolve(EXP, FAST), convolve(EXP, E3)]),
        4,
    ),
    "the sum of a mixture's halves": (
        mixture([0.5, 0.5], [convolve(EXP, H2), convolve(H2, EXP)]),
        3,
    ),
}


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("name", REDUNDANT)
def test_redundant_representations_shrink_to_the_poles_of_their_transform(name):
    law, order = REDUNDANT[name]
    short = reduce_order(law)
    assert_same_law(law, short)
    assert short.order == order == transform_degree(law)


@pytest.mark.thorough
@given(acyclic(max_phases=4), st.floats(1.5, 20.0))
def test_a_pole_that_was_put_in_is_struck_out(law, faster):
    """A law and its own form with one rate more: X = X (s + d) / d L(d), every term positive."""
    law = reduce_order(law)
    form = canonical_form(law)
    rates = rates_of(form)
    d = rates[-1] * faster
    longer = np.zeros(law.order + 1)
    longer[:-1] = form.alpha * (1 - rates / d)
    longer[1:] += form.alpha * rates / d
    exits = np.append(np.zeros(law.order), d)
    padded = PhaseType.from_rates(longer, np.diag(rates, 1), exits, atom=0.0)
    short = reduce_order(padded)
    assert_same_law(padded, short)
    assert short.order <= law.order


@pytest.mark.thorough
@given(phase_types(max_phases=5))
def test_reduction_never_changes_a_law_nor_lengthens_it(law):
    short = reduce_order(law)
    assert short.order <= law.order
    assert_same_law(law, short)


@pytest.mark.thorough
@given(phase_types(max_phases=4), st.floats(0.05, 0.95))
def test_a_mixture_of_a_law_with_itself_is_no_longer_than_the_law(law, weight):
    twice = mixture([weight, 1.0 - weight], [law, law])
    short = reduce_order(twice)
    assert short.order <= law.order
    assert_same_law(twice, short)


def test_unreachable_phases_are_dropped():
    law = PhaseType([1.0, 0.0], [[-1.0, 0.5], [0.0, -2.0]])
    apart = PhaseType([1.0, 0.0], [[-1.0, 0.0], [0.5, -2.0]])
    assert reduce_order(apart).order == 1
    assert reduce_order(law).order == 2


@pytest.mark.parametrize("law", [EXP, E3, H2, COXIAN, maximum(EXP, FAST)])
def test_a_law_without_redundancy_is_given_back_itself(law):
    assert reduce_order(law) is law


def test_rates_that_differ_by_more_than_the_tolerance_are_kept_apart():
    def pair(gap):
        return PhaseType.hyperexponential(weights=[0.5, 0.5], means=[1.0, 1.0 + gap])

    assert reduce_order(pair(1e-13)).order == 1
    assert reduce_order(pair(1e-4)).order == 2
    assert reduce_order(pair(1e-8), tol=1e-7).order == 1


def test_a_rare_slow_branch_is_not_taken_for_rounding():
    """It is less likely than `tol` but makes the third moment."""
    law = PhaseType.hyperexponential(weights=[1 - 1e-14, 1e-14], means=[1.0, 1e9])
    assert reduce_order(law) is law


def test_reduction_does_not_depend_on_the_unit_of_time():
    for unit in (1e-200, 1e-9, 1e200):
        law = mixture([0.3, 0.7], [COXIAN, COXIAN]).scale(unit)
        short = reduce_order(law)
        assert short.order == 3
        assert short.mean == pytest.approx(law.mean, rel=1e-12, abs=0)
        assert canonical_form(law).mean == pytest.approx(law.mean, rel=1e-12, abs=0)


def test_an_unlikely_fast_branch_is_kept_as_it_shows_in_the_distribution():
    """Less than the moments tell apart, but ten times more likely than `tol`."""
    law = PhaseType.hyperexponential(weights=[1 - 1e-11, 1e-11], means=[1.0, 1e-3])
    assert reduce_order(law) is law
    assert reduce_order(law, tol=1e-10).order == 1


CYCLIC = PhaseType.from_rates([0.7, 0.3], [[0.0, 2.0], [0.5, 0.0]], [0.2, 3.0], atom=0.0)


def test_jumps_between_phases_that_end_alike_do_not_matter():
    law = PhaseType.from_rates([0.5, 0.5], [[0.0, 5.0], [2.0, 0.0]], [1.0, 1.0], atom=0.0)
    short = reduce_order(law)
    assert short.order == 1
    assert_same_law(law, short)


def test_equal_beginnings_are_merged_where_the_chain_has_a_cycle():
    law = mixture([0.25, 0.75], [convolve(EXP, CYCLIC), convolve(EXP, FAST)])
    short = reduce_order(law)
    assert short.order == 4 == transform_degree(law)
    assert_same_law(law, short)


def test_poles_that_differ_by_rounding_are_one():
    twin = canonical_form(COXIAN.scale(1 + 1e-15))
    law = mixture([0.4, 0.6], [COXIAN, twin])
    short = reduce_order(law)
    assert short.order == 3
    assert_same_law(law, short)


def test_phases_too_rare_for_a_float_are_borne_with():
    jumps = np.diag([1e-200, 1e-200], 1)
    law = PhaseType.from_rates([1.0, 0, 0], jumps, [1.0, 2.0, 3.0], atom=0.0)
    assert reduce_order(law).mean == pytest.approx(1.0, rel=1e-12)
    slow = PhaseType.from_rates([0.5, 0.5], np.zeros((2, 2)), [1e-300, 1.0], atom=0.0)
    assert reduce_order(slow) is slow
    assert canonical_form(slow).mean == pytest.approx(5e299, rel=1e-12)
    jumps[2, 0] = 1.0
    law = PhaseType.from_rates([1.0, 0, 0], jumps, [1.0, 2.0, 3.0], atom=0.0)
    assert reduce_order(law) is law
