import pickle

import numpy as np
import pytest

from phasefit import (
    MAP,
    FittedTo,
    ModelError,
    Observations,
    PhaseType,
    canonical_form,
    convolve,
    fit,
    fit_map,
    match_moments,
    mixture,
    random_sum,
    tail_law,
)
from phasefit.tails import NEAR, tail_misfit
from qmodels.io import read_swf
from tests.conftest import SHARED

TIDES = MAP.modulated([[0.0, 0.02], [0.02, 0.0]], rates=[1.8, 0.2])
TWO = PhaseType.hyperexponential(weights=[0.5, 0.5], means=[1.0, 4.0])


@pytest.fixture
def sizes(rng):
    return rng.lognormal(sigma=1.5, size=2_000)


def test_a_law_that_was_given_was_fitted_to_nothing():
    assert TWO.fitted_to is None
    assert TIDES.fitted_to is None
    assert match_moments(1.0, 5.0).fitted_to is None


def test_a_fitted_law_remembers_its_data_in_the_order_of_time(sizes):
    found = fit(sizes, order=2, rng=1)
    assert np.array_equal(found.distribution.fitted_to.times, sizes)
    assert found.distribution.fitted_to.how == found.label
    gaps = TIDES.rvs(500, 1)
    assert np.array_equal(fit_map(gaps, scales=1).process.fitted_to.times, gaps)


def test_the_data_go_along_with_every_change_of_unit(sizes):
    law = fit(sizes, family="moments").distribution
    assert law.scale(60.0).scale(0.5).fitted_to.times == pytest.approx(30.0 * sizes)
    process = MAP.from_phase_type(law).at_rate(2.0)
    assert process.fitted_to.times.mean() == pytest.approx(0.5)
    assert process.gaps.fitted_to.size == sizes.size
    assert canonical_form(law).fitted_to is law.fitted_to
    # the values themselves are there once
    assert law.scale(60.0).fitted_to.values is law.fitted_to.values


def test_what_is_made_of_a_fitted_law_is_known_to_be_but_not_from_which_data(sizes):
    law = fit(sizes, family="moments").distribution
    process = MAP.from_phase_type(law)
    made = [
        convolve(law, TWO),
        mixture([0.5, 0.5], [TWO, law]),
        random_sum(law, stop=0.5),
        process.thin(0.5),
        TIDES.superpose(process),
    ]
    for each in made:
        assert each.fitted_to.values is None
        assert each.fitted_to.size == 0
        with pytest.raises(ModelError, match="not known any more"):
            _ = each.fitted_to.times
    assert process.superpose().fitted_to.size == sizes.size


def test_observations_without_an_order_of_time_are_not_kept(sizes):
    for report in (
        fit(Observations.of(sizes), order=1, rng=1),
        fit(sizes[:50], order=1, weights=np.ones(50), rng=1),
        fit(sizes[:50], order=1, censored=[True] + 49 * [False], rng=1),
    ):
        assert report.distribution.fitted_to is not None
        assert report.distribution.fitted_to.values is None


def test_copies_by_pickle_keep_the_data(sizes):
    law = fit(sizes, family="moments").distribution
    for each in (law, MAP.from_phase_type(law)):
        again = pickle.loads(pickle.dumps(each))
        assert np.array_equal(again.fitted_to.times, sizes)
    assert pickle.loads(pickle.dumps(TWO)).fitted_to is None


def test_data_that_are_no_times_are_refused():
    with pytest.raises(ModelError, match="values must be >= 0"):
        TWO.with_data([1.0, -1.0])
    with pytest.raises(ModelError, match="non-empty"):
        FittedTo([])


# Tails


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: rng.lognormal(sigma=2.0, size=5_000),
        lambda rng: rng.pareto(1.5, 5_000),
        lambda rng: rng.weibull(0.4, 5_000),
        lambda rng: rng.exponential(size=5_000),
    ],
    ids=["log-normal", "Pareto", "Weibull", "exponential"],
)
def test_a_tail_law_has_the_percentiles_and_the_mean_of_its_data(draw, rng):
    values = draw(rng)
    for order in (None, 5):
        law = tail_law(values, order=order)
        assert law.mean == pytest.approx(values.mean(), rel=1e-9)
        assert tail_misfit(law, values) < (NEAR if order is None else 0.3)
        assert order is None or law.order <= order
        assert law.fitted_to.size == 5_000


def test_a_tail_of_few_phases_has_none_that_is_much_shorter_than_the_mean(rng):
    """Short phases make a chain stiff, and a tail does not need them."""
    values = rng.lognormal(sigma=2.5, size=5_000)
    law = tail_law(values, order=5)
    assert law.exit.max() * law.mean < 11.0
    assert tail_law(values).exit.max() > 5.0 * law.exit.max()


def test_times_that_vary_little_have_a_tail_law_too(rng):
    values = rng.gamma(4.0, 0.25, 2_000)
    law = tail_law(values)
    assert law.scv < 0.5
    assert tail_misfit(law, values) < NEAR
    assert tail_law(np.full(40, 3.0)).mean == pytest.approx(3.0)


def test_zeros_are_an_atom_of_a_tail_law(rng):
    values = np.where(rng.random(3_000) < 0.4, 0.0, rng.exponential(5.0, 3_000))
    law = tail_law(values)
    assert law.atom == pytest.approx((values == 0.0).mean())
    assert law.mean == pytest.approx(values.mean(), rel=1e-9)


@pytest.mark.parametrize(
    ("values", "words"),
    [([1.0] * 5, "at least 20"), ([-1.0] * 30, ">= 0"), ([0.0] * 30, "no tail")],
)
def test_what_has_no_tail_is_refused(values, words):
    with pytest.raises(ModelError, match=words):
        tail_law(values)


@pytest.mark.parametrize("name", ["SDSC-Par-1996-3.1-cln", "KTH-SP2-1996-2.1-cln"])
def test_the_sizes_of_a_log_have_the_tail_that_two_moments_miss_by_more_than_half(name):
    """Issue 32, point 4: two moments are 57 to 61 % below the 95th percentile of the sizes."""
    path = SHARED / "swf" / f"{name}.swf.gz"
    if not path.exists():
        pytest.skip("needs the shared data")
    work = read_swf(path).with_work.work
    mean, own = work.mean(), np.quantile(work, 0.95)
    assert match_moments(mean, (work / mean) @ work / work.size * mean).ppf(0.95) < 0.45 * own
    assert tail_law(work).ppf(0.95) == pytest.approx(own, rel=0.06)
