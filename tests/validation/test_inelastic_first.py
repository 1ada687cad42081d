"""Inelastic-First: its chain, simulation beside it, and what the reverse costs."""

import numpy as np
import pytest

from qmodels.errors import UnstableError
from validation.malleable import random_jobs, simulate_jobs
from validation.malleable.jobs import inelastic, power
from validation.malleable.policies.inelastic_first import (
    ElasticFirst,
    InelasticFirst,
    inelastic_first_response,
)

CURVES = (inelastic, power(1.0))


@pytest.mark.parametrize(
    ("elastic_rate", "elastic_work", "elastic", "mean"),
    [(1.2, 1.0, 0.8108239180, 0.9120279845), (0.6, 2.0, 1.4595387525, 1.1620009515)],
)
def test_has_the_responses_of_its_chain(elastic_rate, elastic_work, elastic, mean):
    found = inelastic_first_response(1.2, elastic_rate, 4, elastic_work=elastic_work)
    assert found.inelastic == pytest.approx(1.0132320510, abs=6e-11)
    assert found.elastic == pytest.approx(elastic, abs=6e-11)
    assert found.mean == pytest.approx(mean, abs=6e-11)


@pytest.mark.thorough
def test_is_simulated_as_predicted_and_its_reverse_is_later():
    jobs = random_jobs(
        2.4, [(1.0, [(1.0, 0)]), (1.0, [(1.0, 1)])], CURVES, replications=40, jobs=600, seed=39, key=(3,)
    )
    first = simulate_jobs(InelasticFirst(), jobs, 4.0, confidence=0.999)
    assert first.mean_response.contains(0.9120279845)
    gain = np.array(simulate_jobs(ElasticFirst(), jobs, 4.0).responses) - np.array(first.responses)
    assert gain.mean() > 3.0 * gain.std(ddof=1) / np.sqrt(gain.size)


def test_says_when_it_is_too_much():
    with pytest.raises(UnstableError, match="IF"):
        inelastic_first_response(2.0, 2.0, 4)
