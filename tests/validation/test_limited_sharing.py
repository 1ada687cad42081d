"""Limited sharing: its band, and simulation where it is exact."""

import pytest

from qmodels.errors import UnstableError
from validation.malleable import random_jobs, simulate_jobs
from validation.malleable.jobs import power
from validation.malleable.policies.limited_sharing import LimitedSharing, limited_sharing_response


def test_its_ends_are_first_come_first_served_and_processor_sharing():
    assert limited_sharing_response(0.7, 5.0, 1) == pytest.approx(1.0 + 0.7 * 3.0 / 0.3, rel=1e-14)
    assert limited_sharing_response(0.7, 5.0, 1000) == pytest.approx(1.0 / 0.3, rel=1e-14)
    assert limited_sharing_response(0.7, 1.0, 3) == pytest.approx(1.0 / 0.3, rel=1e-14)
    with pytest.raises(UnstableError, match="LPS"):
        limited_sharing_response(1.0, 1.0, 3)


@pytest.mark.thorough
def test_exponential_jobs_are_simulated_as_predicted():
    jobs = random_jobs(0.7, [(1.0, [(1.0, 0)])], [power(1.0)], replications=40, jobs=600, seed=39, key=(5,))
    run = simulate_jobs(LimitedSharing(3), jobs, 1.0, confidence=0.999)
    assert run.mean_response.contains(limited_sharing_response(0.7, 1.0, 3))
