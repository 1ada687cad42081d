from functools import reduce
from math import comb, exp

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
    residual,
    scale,
)
from tests.examples import examples
from tests.phasefit.test_phase_type import phase_types

EXP = PhaseType.exponential(mean=2.0)
H2 = PhaseType.hyperexponential(weights=[0.8, 0.2], means=[0.5, 6.0])
E3 = PhaseType.erlang(phases=3, mean=1.5)
ATOM = PhaseType([0.25, 0.35], [[-2.0, 1.0], [0.5, -1.0]])
TIMES = np.array([0.0, 0.01, 0.5, 2.0, 9.0, 60.0, 400.0])
pairs = pytest.mark.parametrize(("a", "b"), [(EXP, H2), (H2, E3), (E3, ATOM), (ATOM, E3), (ATOM, ATOM)])


def as_cumulants(law):
    """Mean, variance and third central moment: what sums add up."""
    return np.array([law.mean, law.var, law.skewness * law.var**1.5])


@pytest.mark.thorough
@given(st.lists(phase_types(max_phases=4), min_size=1, max_size=4), st.floats(0.01, 10.0))
def test_a_sum_adds_orders_and_cumulants_and_multiplies_transforms(laws, s):
    total = convolve(*laws)
    assert total.order == sum(law.order for law in laws)
    assert as_cumulants(total) == pytest.approx(sum(map(as_cumulants, laws)), rel=1e-8, abs=0)
    assert total.laplace(s) == pytest.approx(np.prod([law.laplace(s) for law in laws]), rel=1e-12, abs=0)
    assert total.atom == pytest.approx(np.prod([law.atom for law in laws]), rel=1e-12, abs=0)


def test_a_sum_of_two_exponentials_has_its_textbook_tail():
    law = convolve(EXP, PhaseType.exponential(mean=0.5))
    for x in TIMES:
        assert law.sf(x) == pytest.approx((4 * exp(-x / 2) - exp(-2 * x)) / 3, rel=1e-12, abs=0)


def test_equal_exponentials_sum_to_an_erlang():
    law = convolve(*[PhaseType.exponential(mean=0.5)] * 3)
    assert law.sf(TIMES) == pytest.approx(E3.sf(TIMES), rel=1e-12, abs=0)
    assert law.pdf(TIMES) == pytest.approx(E3.pdf(TIMES), rel=1e-12, abs=0)


def test_tiny_atoms_survive_a_sum():
    almost = PhaseType([1 - 1e-6], [[-1.0]])
    assert convolve(almost, almost, almost).cdf(0.0) == pytest.approx(1e-18, rel=1e-9, abs=0)
    assert maximum(almost, almost).cdf(0.0) == pytest.approx(1e-12, rel=1e-9, abs=0)


@pairs
def test_the_cdf_of_a_mixture_is_the_mixture_of_the_cdfs(a, b):
    law = mixture([0.3, 0.7], [a, b])
    assert law.order == a.order + b.order
    assert law.cdf(TIMES) == pytest.approx(0.3 * a.cdf(TIMES) + 0.7 * b.cdf(TIMES), rel=1e-13, abs=0)
    assert law.sf(TIMES) == pytest.approx(0.3 * a.sf(TIMES) + 0.7 * b.sf(TIMES), rel=1e-12, abs=0)
    for k in (1, 2, 3):
        wanted = 0.3 * a.moment(k) + 0.7 * b.moment(k)
        assert law.moment(k) == pytest.approx(wanted, rel=1e-13, abs=0)


def test_a_law_of_weight_zero_does_not_matter():
    law = mixture([1.0, 0.0], [E3, H2])
    assert law.sf(TIMES) == pytest.approx(E3.sf(TIMES), rel=1e-13, abs=0)


@pairs
def test_the_sf_of_a_minimum_is_the_product_of_the_sfs(a, b):
    law = minimum(a, b)
    assert law.order == a.order * b.order
    assert law.sf(TIMES) == pytest.approx(a.sf(TIMES) * b.sf(TIMES), rel=1e-11, abs=0)
    assert law.cdf(0.0) == pytest.approx(1 - a.sf(0.0) * b.sf(0.0), rel=1e-14, abs=0)


@pairs
def test_the_cdf_of_a_maximum_is_the_product_of_the_cdfs(a, b):
    law = maximum(a, b)
    assert law.order == a.order * b.order + a.order + b.order
    assert law.cdf(TIMES) == pytest.approx(a.cdf(TIMES) * b.cdf(TIMES), rel=1e-11, abs=0)
    assert minimum(a, b).mean + law.mean == pytest.approx(a.mean + b.mean, rel=1e-12, abs=0)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_the_largest_of_n_exponentials_takes_the_harmonic_number(n):
    one = PhaseType.exponential(mean=1.0)
    assert maximum(*[one] * n).mean == pytest.approx(sum(1 / k for k in range(1, n + 1)), rel=1e-13, abs=0)
    assert minimum(*[one] * n).mean == pytest.approx(1 / n, rel=1e-13, abs=0)


def test_minimum_and_maximum_of_three_multiply_three():
    laws = [EXP, H2, ATOM]
    survive = reduce(np.multiply, [law.sf(TIMES) for law in laws])
    reach = reduce(np.multiply, [law.cdf(TIMES) for law in laws])
    assert minimum(*laws).sf(TIMES) == pytest.approx(survive, rel=1e-11, abs=0)
    assert maximum(*laws).cdf(TIMES) == pytest.approx(reach, rel=1e-11, abs=0)


def generating_function(z, pmf, none):
    return none + sum(p * z**k for k, p in enumerate(pmf, start=1))


counts = st.lists(st.floats(0, 1), min_size=1, max_size=5).filter(lambda w: sum(w) > 0.01)


@pytest.mark.thorough
@given(phase_types(max_phases=3), counts, st.floats(0, 0.9), st.floats(0.01, 10.0))
def test_a_finite_random_sum_obeys_wald_and_its_generating_function(law, weights, none, s):
    pmf = np.array(weights) / sum(weights) * (1 - none)
    total = random_sum(law, pmf=pmf, none=none)
    k = np.arange(1, pmf.size + 1)
    mean, second = pmf @ k, pmf @ k**2
    assert total.order == law.order * (np.flatnonzero(pmf)[-1] + 1)
    assert total.mean == pytest.approx(mean * law.mean, rel=1e-10, abs=0)
    wanted = mean * law.var + (second - mean**2) * law.mean**2
    assert total.var == pytest.approx(wanted, rel=1e-9, abs=0)
    assert total.laplace(s) == pytest.approx(generating_function(law.laplace(s), pmf, none), rel=1e-10, abs=0)
    assert total.atom == pytest.approx(generating_function(law.atom, pmf, none), abs=1e-12)


@given(phase_types(max_phases=4), st.floats(1e-6, 1.0), st.floats(0, 0.9), st.floats(0.01, 10.0))
def test_a_geometric_random_sum_obeys_wald_and_its_generating_function(law, stop, none, s):
    total = random_sum(law, stop=stop, none=none)
    assert total.order == law.order
    assert total.mean == pytest.approx((1 - none) / stop * law.mean, rel=1e-10, abs=0)
    z = law.laplace(s)
    wanted = none + (1 - none) * stop * z / (1 - (1 - stop) * z)
    assert total.laplace(s) == pytest.approx(wanted, rel=1e-8, abs=0)


def test_a_geometric_sum_of_exponentials_is_exponential():
    law = random_sum(EXP, stop=1e-9)
    for x in (1e3, 2e9, 1e12):
        assert law.sf(x) == pytest.approx(exp(-x / 2e9), rel=1e-11, abs=0)


def test_a_sum_of_exactly_n_is_a_convolution():
    law = random_sum(ATOM, pmf=[0.0, 0.0, 1.0])
    assert law.cdf(TIMES) == pytest.approx(convolve(ATOM, ATOM, ATOM).cdf(TIMES), rel=1e-12, abs=0)
    binomial = [comb(3, k) * 0.4 ** (3 - k) * 0.6**k for k in range(4)]
    assert law.atom == pytest.approx(binomial[0], rel=1e-12, abs=0)


@given(phase_types(), st.floats(0, 20.0), st.floats(0, 20.0))
@settings(max_examples=examples(50))
def test_what_is_left_has_the_conditional_tail(law, age, x):
    left = residual(law, age)
    assert left.order == law.order
    assert left.atom == 0.0
    if law.sf(age + x) > 1e-280:
        assert left.sf(x) == pytest.approx(law.sf(age + x) / law.sf(age), rel=1e-9, abs=0)


def test_an_exponential_does_not_age_and_an_old_burst_is_a_long_one():
    assert residual(EXP, 1e5).mean == pytest.approx(2.0, rel=1e-13, abs=0)
    assert residual(H2, 1e6).mean == pytest.approx(6.0, rel=1e-13, abs=0)
    assert residual(ATOM, 0.0).mean == pytest.approx(ATOM.mean / 0.6, rel=1e-13, abs=0)


@pytest.mark.thorough
@given(phase_types(), st.floats(0, 30.0))
def test_the_equilibrium_law_has_density_sf_over_mean(law, x):
    left = equilibrium(law)
    assert left.order == law.order
    assert left.pdf(x) == pytest.approx(law.sf(x) / law.mean, rel=1e-9, abs=1e-280)
    assert left.mean == pytest.approx(law.moment(2) / (2 * law.mean), rel=1e-12, abs=0)


def test_scale_is_the_method_as_a_function():
    assert scale(E3, 3.0).moment(2) == pytest.approx(9 * E3.moment(2), rel=1e-13, abs=0)
    assert scale(ATOM, 1e-3).sf(TIMES * 1e-3) == pytest.approx(ATOM.sf(TIMES), rel=1e-11, abs=0)


@pytest.mark.parametrize("operation", [convolve, minimum, maximum])
def test_an_operation_on_no_law_or_no_law_at_all_is_refused(operation):
    with pytest.raises(ModelError, match="at least one PhaseType"):
        operation()
    for bad in (None, 1.0, [E3]):
        with pytest.raises(ModelError, match="must be a PhaseType"):
            operation(E3, bad)


@pytest.mark.thorough
@pytest.mark.parametrize("operation", [convolve, minimum, maximum])
def test_an_order_too_large_for_memory_is_refused_before_it_is_built(operation):
    large = PhaseType.erlang(phases=2001, mean=1.0)
    with pytest.raises(ModelError, match="largest order allowed is 4000"):
        operation(large, large)


@pytest.mark.parametrize(
    ("weights", "laws"),
    [
        ([0.5, 0.4], [E3, H2]),
        ([1.5, -0.5], [E3, H2]),
        ([np.nan, 1.0], [E3, H2]),
        ([1.0], [E3, H2]),
        ([1.0], E3),
        ([1.0], None),
        ([1.0], [None]),
        ([], []),
        (None, [E3]),
    ],
)
def test_mixtures_that_do_not_fit_together_are_refused(weights, laws):
    with pytest.raises(ModelError):
        mixture(weights, laws)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"stop": 0.5, "pmf": [1.0]},
        {"stop": 0.0},
        {"stop": 1.0000001},
        {"stop": np.nan},
        {"stop": "1"},
        {"stop": [0.5]},
        {"pmf": [0.5, 0.4]},
        {"pmf": [1.5, -0.5]},
        {"pmf": [np.nan]},
        {"pmf": []},
        {"pmf": 1.0},
        {"pmf": [1.0], "none": 0.5},
        {"pmf": [0.0], "none": 1.0},
        {"stop": 0.5, "none": -0.1},
        {"stop": 0.5, "none": None},
        {"pmf": np.append(np.zeros(1400), 1.0)},
    ],
)
def test_counts_that_are_no_law_are_refused(given):
    with pytest.raises(ModelError):
        random_sum(E3, **given)


@pytest.mark.parametrize("bad", [None, 1.0, "law", [E3]])
def test_what_is_not_a_law_has_no_residual_and_no_sum(bad):
    for ask in (
        lambda: residual(bad, 1.0),
        lambda: equilibrium(bad),
        lambda: scale(bad, 1.0),
        lambda: random_sum(bad, stop=0.5),
    ):
        with pytest.raises(ModelError, match="must be a PhaseType"):
            ask()


@pytest.mark.parametrize("bad", [-1e-9, np.nan, np.inf, None, "1", [1.0]])
def test_an_age_that_cannot_be_is_refused(bad):
    with pytest.raises(ModelError, match="age"):
        residual(E3, bad)
