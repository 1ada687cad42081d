"""heSRPT: its formula, simulation equal to it, and its ends."""

import numpy as np
import pytest

from qmodels.errors import ModelError
from tests.validation.test_malleable import at_once
from validation.malleable import simulate_jobs
from validation.malleable.policies.hesrpt import HighEfficiencySRPT, total_flow_time

GOLDENS = [
    ((3, 2, 1), 0.5, 8.700169592637543),
    ((5, 1), 0.5, 6.732050807568877),
    ((1, 1, 1, 1), 0.5, 7.613870096133256),
    ((10, 4, 3, 1), 0.3, 22.71107770158831),
    ((10, 4, 3, 1), 0.9, 30.960370427872924),
]


@pytest.mark.parametrize(("sizes", "exponent", "golden"), GOLDENS)
def test_formula_and_simulation_are_one_number(sizes, exponent, golden):
    assert total_flow_time(sizes, exponent) == pytest.approx(golden, rel=1e-14)
    run = simulate_jobs(HighEfficiencySRPT(exponent), at_once(*sizes, exponent=exponent), 1.0)
    assert run.response.sum() == pytest.approx(golden, rel=1e-12)


def test_simulation_is_the_formula_of_many_jobs_on_many_processors(rng):
    sizes = rng.lognormal(sigma=1.5, size=60)
    run = simulate_jobs(HighEfficiencySRPT(0.7), at_once(*sizes, exponent=0.7), 16.0)
    assert run.response.sum() == pytest.approx(total_flow_time(sizes, 0.7, processors=16.0), rel=1e-12)


def test_it_is_the_shortest_job_first_for_linear_speed_and_equal_shares_for_none():
    assert total_flow_time([3.0, 2.0, 1.0], 0.999) == pytest.approx(10.0, rel=1e-2)
    assert np.isfinite(total_flow_time([3.0, 2.0, 1.0], 1e-9))
    with pytest.raises(ModelError, match="below 1"):
        HighEfficiencySRPT(1.0)
