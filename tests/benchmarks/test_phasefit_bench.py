"""How fast laws are drawn from and evaluated; run with --benchmark-enable."""

import numpy as np
import pytest

from phasefit import PhaseType, match_moments

RATES = np.random.default_rng(1).uniform(0.1, 1.0, (8, 9))
GENERAL = PhaseType.from_rates(np.full(8, 1 / 8), RATES[:, :8] * (1 - np.eye(8)), RATES[:, 8])
LAWS = {
    "exponential": PhaseType.exponential(mean=1.0),
    "erlang-50": PhaseType.erlang(phases=50, mean=1.0),
    "hyperexponential": match_moments(1.0, 10.0),
    "general-8": GENERAL,
}


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_drawing_a_hundred_thousand_values(benchmark, law):
    rng = np.random.default_rng(1)
    law.rvs(1, rng)
    assert benchmark(law.rvs, 100_000, rng).shape == (100_000,)


@pytest.mark.parametrize("means", [1.0, 200.0])
def test_the_survival_function_at_ten_thousand_times(benchmark, means):
    x = np.linspace(0.0, means * GENERAL.mean, 10_000)
    assert benchmark(GENERAL.sf, x)[0] == pytest.approx(1.0)
