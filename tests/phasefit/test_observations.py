from math import inf, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phasefit import fit
from phasefit.errors import ModelError
from phasefit.observations import Observations

many = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=60)


def heavy(rng, size):
    return np.exp(1.5 * rng.standard_normal(size))


def fields(observations):
    names = ("values", "weights", "lower", "upper", "interval_weights", "zeros")
    return [np.asarray(getattr(observations, name)).tolist() for name in names]


def test_marks_codes_and_intervals_say_the_same():
    times = [1.0, 2.0, 3.0]
    by_mark = Observations.of(times, censored=[False, True, False])
    by_code = Observations.of(times, censored=["exact", "right", "exact"])
    by_ends = Observations.of([[1.0, 1.0], [2.0, inf], [3.0, 3.0]])
    assert fields(by_mark) == fields(by_code) == fields(by_ends)
    left = Observations.of([1.0, 2.0], censored=["exact", "left"])
    assert fields(left) == fields(Observations.of([[1.0, 1.0], [0.0, 2.0]]))


def test_exact_zeros_are_counted_apart():
    data = Observations.of([0.0, 2.0, 4.0], weights=[3.0, 1.0, 1.0])
    assert (data.zeros, data.size, data.atom) == (3.0, 5.0, 0.6)
    assert data.mean == pytest.approx(6.0 / 5.0, rel=1e-15)
    assert data.moment(2) == pytest.approx(4.0, rel=1e-15)
    assert data.unit == 3.0


def test_a_weight_of_zero_leaves_a_time_out():
    assert fields(Observations.of([1.0, 7.0], weights=[2.0, 0.0])) == fields(
        Observations.of([1.0], weights=[2.0])
    )


def test_bins_are_intervals_and_empty_ones_are_dropped():
    data = Observations.binned([0.0, 1.0, 3.0, inf], [4, 0, 2])
    assert fields(data) == [[], [], [0.0, 3.0], [1.0, inf], [4.0, 2.0], 0.0]
    assert data.unit == pytest.approx((4 * 0.5 + 2 * 3.0) / 6, rel=1e-15)


def test_the_arrays_cannot_be_written():
    data = Observations.of([1.0, 2.0])
    with pytest.raises(ValueError, match="read-only"):
        data.values[0] = 5.0


def test_what_is_given_is_not_kept():
    samples = np.array([1.0, 2.0])
    data = Observations.of(samples)
    samples[0] = 9.0
    assert data.values.tolist() == [1.0, 2.0]


def test_condensing_keeps_weight_mean_and_mean_logarithm(rng):
    data = Observations.of(heavy(rng, 20_000), weights=rng.uniform(0.5, 2.0, 20_000))
    for sample in (data.fine, data.middle, data.coarse):
        every = data.every
        assert sample.times.size < 2000
        for power in (every.times, every.logs, np.ones_like(every.logs)):
            kept = {id(every.times): sample.times, id(every.logs): sample.logs}
            mine = sample.weights @ kept.get(id(power), np.ones_like(sample.logs))
            assert mine == pytest.approx(every.weights @ power, rel=1e-11)
        assert (np.log(sample.times) >= sample.logs - 1e-12).all()  # Jensen


@pytest.mark.parametrize("size", [5_000, 50_000])
def test_the_number_of_bins_does_not_grow_with_the_sample(rng, size):
    times = rng.uniform(0.5, 5.0, size)
    assert Observations.of(times).fine.times.size <= log(10.0) / 0.01 + 2


def test_the_spread_inside_bins_is_below_its_bound(rng):
    data = Observations.of(heavy(rng, 50_000))
    assert 0.0 < data.fine.spread <= 0.01**2 / 4
    assert data.middle.spread <= 0.02**2 / 4
    assert data.binning_error(6) == 3.0 * data.fine.spread


def test_a_small_sample_is_not_condensed(rng):
    data = Observations.of(heavy(rng, 900))
    assert data.binning_error(10) == 0.0
    assert np.array_equal(data.fine.times, data.every.times)


def test_condensed_intervals_keep_their_weight_and_their_kind(rng):
    lower = heavy(rng, 4000) * (rng.random(4000) < 0.8)
    upper = np.where(rng.random(4000) < 0.5, inf, lower + 0.1)
    data = Observations.of(np.stack([lower, upper], axis=1))
    for sample in (data.fine, data.coarse):
        assert sample.lower.size < 4000
        assert (sample.lower < sample.upper).all()
        for kind in ("lower", "upper"):
            for end in (0.0, inf):
                full = data.every.interval_weights[getattr(data.every, kind) == end].sum()
                here = sample.interval_weights[getattr(sample, kind) == end].sum()
                assert here == pytest.approx(full, rel=1e-12)


@given(many, st.floats(1e-3, 1e3))
def test_the_scaled_times_do_not_know_the_unit(samples, factor):
    one, two = Observations.of(samples), Observations.of(np.array(samples) * factor)
    assert two.unit == pytest.approx(one.unit * factor, rel=1e-12)
    np.testing.assert_allclose(one.every.times, two.every.times, rtol=1e-12)
    shift = len(samples) * log(factor)
    assert two.total(-3.0) == pytest.approx(one.total(-3.0) - shift, rel=1e-9, abs=1e-9)


NONSENSE = {
    "nothing": {"samples": []},
    "none": {"samples": None},
    "text": {"samples": ["a"]},
    "ragged": {"samples": [[1.0], [1.0, 2.0]]},
    "three columns": {"samples": [[1.0, 2.0, 3.0]]},
    "a number": {"samples": 3.0},
    "nan": {"samples": [1.0, np.nan]},
    "infinite": {"samples": [1.0, inf]},
    "negative": {"samples": [1.0, -1.0]},
    "zeros only": {"samples": [0.0, 0.0]},
    "all right-censored": {"samples": [1.0], "censored": [True]},
    "weights short": {"samples": [1.0, 2.0], "weights": [1.0]},
    "weights negative": {"samples": [1.0, 2.0], "weights": [1.0, -1.0]},
    "weights nan": {"samples": [1.0, 2.0], "weights": [1.0, np.nan]},
    "weights all zero": {"samples": [1.0, 2.0], "weights": [0.0, 0.0]},
    "censored short": {"samples": [1.0, 2.0], "censored": [True]},
    "censored numbers": {"samples": [1.0, 2.0], "censored": [0, 1]},
    "censored code": {"samples": [1.0, 2.0], "censored": ["exact", "up"]},
    "all left-censored": {"samples": [1.0, 2.0], "censored": ["left", "left"]},
    "interval reversed": {"samples": [[2.0, 1.0]]},
    "intervals twice": {"samples": [[1.0, 2.0]], "censored": ["right"]},
    "both ends infinite": {"samples": [[inf, inf]]},
}


@pytest.mark.parametrize("given_", NONSENSE.values(), ids=NONSENSE)
def test_nonsense_is_named_and_refused(given_):
    with pytest.raises(ModelError):
        Observations.of(**given_)


@pytest.mark.parametrize(
    ("edges", "counts"),
    [
        ([0.0, 1.0], [1, 2]),
        ([1.0, 1.0], [1]),
        ([-1.0, 1.0], [1]),
        ([0.0, 1.0], [-1]),
        ([0.0, 1.0], [0]),
        ([0.0, np.nan], [1]),
        (None, [1]),
        ([0.0, inf], [5]),
    ],
)
def test_bins_that_say_nothing_are_refused(edges, counts):
    with pytest.raises(ModelError):
        Observations.binned(edges, counts)


def test_sums_that_leave_the_range_of_floats_are_refused():
    with pytest.raises(ModelError, match="too large"):
        _ = Observations.of([1e308, 1e308]).unit
    with pytest.raises(ModelError, match="too large"):
        _ = Observations.of([1.0, 1.0], weights=[1e308, 1e308]).size
    with pytest.raises(ModelError, match="too large"):
        Observations.of([1e200]).moment(2)
    with pytest.raises(ModelError, match="too far apart"):
        _ = Observations.of([1e-300, 1e300]).every


@pytest.mark.parametrize("k", [0, -1, 1.5, None, True])
def test_a_moment_that_is_none_is_refused(k):
    with pytest.raises(ModelError):
        Observations.of([1.0]).moment(k)
    with pytest.raises(ModelError):
        Observations.of([1.0]).binning_error(k)


def test_censored_data_have_no_moments():
    with pytest.raises(ModelError, match="1 of the times are censored"):
        _ = Observations.of([1.0, 2.0], censored=[False, True]).mean


def test_table_of_one_column_is_that_column():
    times = [1.0, 2.0, 4.0, 3.0, 0.5]
    column, plain = fit([[x] for x in times], order=1), fit(times, order=1)
    assert column.distribution.mean == plain.distribution.mean
    assert Observations.of([[x] for x in times]).size == 5
    assert fit([[x, x] for x in times], order=1).distribution.mean == plain.distribution.mean
