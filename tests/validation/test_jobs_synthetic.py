"""Streams drawn from laws, held against the moments and the laws they are made of."""

import numpy as np
import pytest
from scipy import stats

from phasefit import match_moments
from validation.analysis.seeding import stream
from validation.jobs import BatchStreams, PoissonStreams, SurrogateStreams

JOBS = 200_000
LEVEL = 0.001  # of each test below: chance that it fails where all is right


def within(values, mean, sd):
    """Whether a sample mean lies where one of that mean and deviation may lie."""
    return abs(np.mean(values) - mean) <= stats.norm.isf(LEVEL / 2) * sd / len(values) ** 0.5


def geometric(mean_size, largest):
    """Probabilities (largest,) of 1, 2, ... under an exponential that is rounded up and cut."""
    tail = np.exp(-np.arange(largest) / mean_size)
    return np.append(tail[:-1] - tail[1:], tail[-1])


def rounded_lognormal(mean, cv, largest):
    """Probabilities (largest,) of 1, 2, ... under a lognormal that is rounded and cut."""
    variance = np.log1p(cv**2)
    law = stats.lognorm(variance**0.5, scale=mean * np.exp(-variance / 2))
    below = law.cdf(np.arange(1, largest) + 0.5)
    return np.diff(np.concatenate([[0.0], below, [1.0]]))


def moments(chances):
    k = np.arange(1, chances.size + 1)
    mean = float(chances @ k)
    return mean, float(chances @ (k - mean) ** 2) ** 0.5


def agrees(sizes, chances):
    """Whether a sample of sizes follows these chances, by chi square over cells of 20 or more."""
    expected = chances * sizes.size
    cell = (np.cumsum(expected) // 20).astype(int)
    seen = np.bincount(cell, np.bincount(sizes, minlength=chances.size + 1)[1:])
    wanted = np.bincount(cell, expected)
    seen, wanted = seen[wanted > 0], wanted[wanted > 0]
    return ((seen - wanted) ** 2 / wanted).sum() < stats.chi2.isf(LEVEL, wanted.size - 1)


@pytest.mark.parametrize(("mean_size", "largest"), [(16.0, 352), (16.0, 20), (0.3, 4), (900.0, 64)])
def test_sizes_are_exponentials_rounded_up_and_cut(mean_size, largest):
    chances = geometric(mean_size, largest)
    streams = PoissonStreams(mean_interarrival=1.0, jobs=JOBS, mean_size=mean_size, largest=largest)
    sizes = streams.draw(rng=stream(11)).sizes
    assert within(sizes, *moments(chances))
    assert agrees(sizes, chances)


@pytest.mark.parametrize(("largest", "mean"), [(352, 16.5052), (256, 16.5052), (16, 10.4333)])
def test_rounding_up_adds_half_a_node_and_cutting_takes_some_off(largest, mean):
    q = np.exp(-1 / 16)
    assert (1 - q**largest) / (1 - q) == pytest.approx(mean, abs=1e-4)
    assert moments(geometric(16.0, largest))[0] == pytest.approx(mean, abs=1e-4)


def test_gaps_of_poisson_streams_are_exponential():
    gaps = np.diff(PoissonStreams(mean_interarrival=500.0, jobs=JOBS).draw(rng=stream(12)).arrivals)
    assert within(gaps, 500.0, 500.0)
    assert stats.kstest(gaps, stats.expon(scale=500.0).cdf).pvalue > LEVEL


def test_gaps_and_sizes_have_nothing_to_do_with_each_other():
    jobs = SurrogateStreams(mean_interarrival=1.0, jobs=JOBS).draw(rng=stream(13))
    gaps = np.diff(jobs.arrivals)
    for sizes in (jobs.sizes[1:], jobs.sizes[:-1]):
        assert stats.spearmanr(gaps, sizes).pvalue > LEVEL
    assert stats.spearmanr(gaps[1:], gaps[:-1]).pvalue > LEVEL


def test_a_batch_has_the_jobs_of_a_poisson_stream_all_at_once():
    batch = BatchStreams().draw(rng=stream(14))
    poisson = PoissonStreams(mean_interarrival=9.0, jobs=16, largest=256).draw(rng=stream(14))
    assert batch.jobs == 16
    assert not batch.arrivals.any()
    assert np.array_equal(batch.sizes, poisson.sizes)


def test_surrogate_sizes_are_lognormals_rounded_and_cut():
    chances = rounded_lognormal(14.5, 1.5, 352)
    sizes = SurrogateStreams(mean_interarrival=1.0, jobs=JOBS).draw(rng=stream(15)).sizes
    assert within(sizes, *moments(chances))
    assert agrees(sizes, chances)


def test_surrogate_sizes_have_the_moments_their_description_gives():
    mean, deviation = moments(rounded_lognormal(14.5, 1.5, 352))
    assert (round(mean, 2), round(deviation / mean, 2)) == (14.47, 1.45)


@pytest.mark.thorough
@pytest.mark.parametrize("cv", [1.0, 3.7, 20.0])
def test_surrogate_gaps_are_two_exponentials_with_balanced_means(cv):
    law = match_moments(1.0, 1.0 + cv**2)
    streams = SurrogateStreams(mean_interarrival=1657.0, jobs=JOBS, cv_interarrival=cv)
    gaps = np.diff(streams.draw(rng=stream(16)).arrivals) / 1657.0
    assert within(gaps, 1.0, cv)
    assert within(gaps**2, law.moment(2), (law.moment(4) - law.moment(2) ** 2) ** 0.5)
    assert stats.kstest(gaps, law.cdf).pvalue > LEVEL


def test_the_largest_variation_still_gives_gaps():
    streams = SurrogateStreams(mean_interarrival=1.0, cv_interarrival=1000.0, cv_size=1000.0)
    jobs = streams.draw(rng=stream(17))
    assert np.isfinite(jobs.arrivals).all()
    assert jobs.sizes.max() <= 352


def test_extreme_sizes_are_cut_and_never_overflow():
    for kind in (PoissonStreams, SurrogateStreams):
        for mean, size in ((1e-300, 1), (1.7e308, 7)):
            streams = kind(mean_interarrival=1.0, mean_size=mean, largest=7, jobs=100)
            assert set(streams.draw(rng=stream(18)).sizes.tolist()) == {size}


def test_the_defaults_are_those_of_the_papers():
    poisson, batch = PoissonStreams(mean_interarrival=1.0), BatchStreams()
    assert (poisson.jobs, poisson.mean_size, poisson.largest) == (1000, 16.0, 16 * 22)
    assert (batch.jobs, batch.mean_size, batch.largest) == (16, 16.0, 16 * 16)
    real = SurrogateStreams(mean_interarrival=1.0)
    assert (real.jobs, real.mean_size, real.cv_size) == (6087, 14.5, 1.5)
    assert (real.cv_interarrival, real.largest) == (3.7, 352)
