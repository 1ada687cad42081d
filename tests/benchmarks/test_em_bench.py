"""How long fits take; run with --benchmark-enable."""

import numpy as np
import pytest

from phasefit.em import maximise
from phasefit.observations import Observations


def lognormal(size):
    return np.exp(1.27 * np.random.default_rng(1).standard_normal(size))


@pytest.mark.parametrize(("size", "order"), [(10_000, 8), (1_000_000, 8), (1_000_000, 16)])
def test_fitting_a_hyper_erlang_law(benchmark, size, order):
    x = lognormal(size)
    maximise(x[:100], order=2)
    best = benchmark(lambda: maximise(Observations.of(x), order=order, rng=1))[0]
    assert best.distribution.mean == pytest.approx(x.mean(), rel=1e-9)


@pytest.mark.parametrize("family", ["coxian", "general"])
def test_fitting_a_chain_of_four_phases_to_ten_thousand_times(benchmark, family):
    x = lognormal(10_000)
    maximise(x[:100], family=family, order=2, rng=1)
    best = benchmark(lambda: maximise(x, family=family, order=4, rng=1))[0]
    assert best.converged
