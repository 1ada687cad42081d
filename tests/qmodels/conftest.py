"""What many tests of the models share."""

import pytest

from qmodels.policies import Workload
from tests.laws import reference_workload


@pytest.fixture(scope="session")
def reference() -> Workload:
    """W* of the specification as one program of one phase, demand of scv 2, Poisson arrivals."""
    return reference_workload()
