import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.stats import gamma

from phasefit import PhaseType
from qmodels.markov.walk import Walk, entries_by_target, quantile
from qmodels.policies.models.response_bounds import nearly


def walk_of(law):
    return Walk(law.alpha, entries_by_target(law.jumps), law.exit, law.atom)


def percentile(walk, q, near):
    sides = walk.distribution_and_density, walk.survival_and_density
    return quantile(q, 1.0 - q, *sides, near)


@pytest.mark.parametrize("stages", [1, 7, 300])  # in one part of the sums, and in two
def test_stages_in_a_row_end_as_a_gamma_law_says(stages):
    law, exact = PhaseType.erlang(phases=stages, mean=4.0), gamma(stages, scale=4.0 / stages)
    walk = walk_of(law)
    for t in (0.0, 1e-3, 1.0, 4.0, 9.0, 20.0):
        assert walk.survival(t) == pytest.approx(exact.sf(t), rel=1e-12, abs=1e-300)
        ended, density = walk.distribution_and_density(t)
        # so many jumps in so short a time, twelve standard deviations too many, are left out
        assert ended == pytest.approx(exact.cdf(t), rel=1e-11, abs=1e-30)
        assert density == pytest.approx(exact.pdf(t), rel=1e-11, abs=1e-30)


@pytest.mark.parametrize("near", [1e-6, 1.0, 50.0])
@pytest.mark.parametrize("q", [1e-9, 0.05, 0.5, 0.95, 1 - 1e-9])
def test_a_percentile_is_found_wherever_one_looks_first(q, near):
    walk = walk_of(PhaseType.erlang(phases=3, mean=3.0))
    assert percentile(walk, q, near) == pytest.approx(gamma(3).ppf(q), rel=1e-11)


@pytest.mark.parametrize("q", [0.5, 0.9, 0.98999, 0.99, 0.99001, 0.999])
def test_a_tail_with_a_shelf_does_not_mislead_the_search(q):
    """One in a hundred takes ten thousand times as long: about q = 0.99 nothing ends for long."""
    law = PhaseType.hyperexponential(weights=[0.99, 0.01], means=[1.0, 1e4])
    for near in (0.1, 10.0, 1e4):
        t = percentile(walk_of(law), q, near)
        assert law.sf(t) == pytest.approx(1.0 - q, rel=1e-12)


def test_an_atom_has_ended_before_the_first_step():
    law = PhaseType.from_rates([0.25], [[0.0]], [1.0], atom=0.75)
    walk = walk_of(law)
    assert walk.distribution_and_density(0.0)[0] == 0.75
    assert walk.distribution_and_density(2.0)[0] == pytest.approx(1.0 - 0.25 * np.exp(-2.0))
    for side in (False, True):
        assert nearly(law, 0.7, above=side) == 0.0
        assert nearly(law, 0.9, above=side) == pytest.approx(np.log(2.5), rel=2e-9)


def test_a_percentile_that_one_in_a_million_million_exceeds_keeps_nine_digits():
    """The share above has all its digits there; what the share below leaves of them is four."""
    q = 1.0 - 1e-12
    for side in (False, True):
        found = nearly(PhaseType.exponential(mean=1.0), q, above=side)
        assert found == pytest.approx(-np.log(1.0 - q), rel=2e-9)


def test_a_chain_that_outlasts_the_steps_allowed_is_given_up():
    walk = walk_of(PhaseType.exponential(mean=1.0))
    assert walk.until(0.5, 10) == 1
    slow = walk_of(PhaseType.hyperexponential(weights=[0.5, 0.5], means=[1.0, 1e9]))
    assert slow.until(0.1, 500) is None
    assert slow.count == 500


def test_threads_that_ask_one_walk_at_once_get_what_one_would():
    """The loop lets other threads run; what is under way must not be begun by another."""
    n, times = 200, np.linspace(0.2, 3.0, 12)
    rates = np.diag(np.full(n - 1, float(n)), 1)
    parts = np.eye(n)[0], entries_by_target(rates), np.eye(n)[-1] * n
    expected = [Walk(*parts).survival(t) for t in times]
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as pool:
            for _ in range(15):
                walk = pickle.loads(pickle.dumps(Walk(*parts)))
                found = list(pool.map(walk.survival, times))
                assert found == pytest.approx(expected, rel=1e-12)
    finally:
        sys.setswitchinterval(usual)
