import os
import subprocess
import sys

import numpy as np
import pytest

from phasefit import ModelError, PhaseType, fit, match_moments
from phasefit.em import maximise

STEADY = PhaseType.erlang(phases=3, mean=2.0)
LAWS = {
    "exponential": PhaseType.exponential(mean=2.0),
    "erlang": STEADY,
    "erlang-mixture": match_moments(2.0, 4.0 * 1.3),
    "erlang-with-atom": PhaseType([0.5, 0.2], STEADY.T[:2, :2]),
    "row-with-gap": PhaseType([0.5, 0.0, 0.5], STEADY.T),
    "hyperexponential": match_moments(1.0, 10.0),
    "coxian": PhaseType.coxian(rates=[2.0, 1.0, 0.5], continue_probabilities=[0.7, 0.4]),
    "unequal-row": PhaseType.coxian(rates=[2.0, 1.0, 0.5], continue_probabilities=[1.0, 1.0]),
    "general": PhaseType([0.5, 0.2, 0.1], [[-2.0, 1.0, 0.5], [0.2, -0.3, 0.0], [5.0, 0.0, -5.0]]),
    "unreachable-phase": PhaseType([1.0, 0.0], [[-1.0, 0.0], [1.0, -2.0]]),
}
every_law = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)


@every_law
def test_samples_agree_with_the_cdf(law, rng):
    samples = law.rvs(20_000, rng)
    for q in (0.05, 0.3, 0.5, 0.8, 0.99):
        x = law.ppf(q)
        p = law.cdf(x)  # more than q where there is an atom
        standard_error = (p * (1 - p) / samples.size) ** 0.5
        assert abs((samples <= x).mean() - p) < 4 * standard_error


@every_law
def test_sample_means_agree_with_the_mean(law, rng):
    samples = law.rvs(20_000, rng)
    assert abs(samples.mean() - law.mean) < 4 * law.std / samples.size**0.5
    assert (samples == 0.0).mean() == pytest.approx(
        law.atom, abs=4 * (law.atom * (1 - law.atom) / samples.size) ** 0.5
    )


@every_law
def test_the_same_seed_gives_the_same_values(law):
    first = law.rvs(50, 7)
    assert np.array_equal(first, law.rvs(50, 7))
    assert np.array_equal(first, law.rvs(50, np.random.default_rng(7)))
    assert not np.array_equal(first, law.rvs(50, 8))


def test_a_generator_moves_on_from_call_to_call():
    for stream in (np.random.default_rng(7), np.random.RandomState(7)):
        assert STEADY.rvs(random_state=stream) != STEADY.rvs(random_state=stream)
    again = [STEADY.rvs(3, np.random.RandomState(7)) for _ in range(2)]
    assert np.array_equal(*again)


def test_without_a_seed_every_call_differs():
    assert STEADY.rvs() != STEADY.rvs()


def test_the_shape_is_the_one_asked_for():
    assert isinstance(STEADY.rvs(), float)
    assert STEADY.rvs(4).shape == (4,)
    assert STEADY.rvs((2, 3), 1).shape == (2, 3)
    assert STEADY.rvs(0).shape == (0,)
    assert STEADY.rvs((2, 0)).shape == (2, 0)
    assert STEADY.rvs(np.int64(2)).shape == (2,)


@pytest.mark.parametrize("bad", [-1, 2.0, np.nan, "3", (2, -1), (2, None), True])
def test_a_size_that_cannot_be_is_refused(bad):
    with pytest.raises(ModelError, match="size"):
        STEADY.rvs(bad)


@pytest.mark.parametrize("bad", [-1, 1.5, np.nan, "7", [1], True])
def test_a_random_state_that_is_none_is_refused(bad):
    with pytest.raises(ModelError, match="random_state"):
        STEADY.rvs(2, bad)


@pytest.mark.parametrize("fitted", [fit, maximise])
def test_fits_refuse_a_seed_that_is_none_by_the_name_that_they_have_for_it(fitted):
    with pytest.raises(ModelError, match=r"^rng must be None, a whole number"):
        fitted([1.0, 2.0, 4.0], order=1, rng=-1)


@pytest.mark.thorough
def test_the_compiled_walk_is_the_interpreted_walk():
    program = (
        "from phasefit import PhaseType\n"
        "law = PhaseType([0.5, 0.2, 0.1], [[-2, 1, 0.5], [0.2, -0.3, 0], [5, 0, -5]])\n"
        "print(law.rvs(200, 3).tolist())"
    )
    interpreted = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert LAWS["general"].rvs(200, 3) == pytest.approx(eval(interpreted.stdout), rel=1e-14, abs=0)
