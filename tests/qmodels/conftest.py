"""What many tests of the models share."""

import importlib.util
import sys
from pathlib import Path

import pytest

from qmodels.io import subjects
from qmodels.policies import Workload
from tests.laws import reference_workload


@pytest.fixture(scope="session")
def reference() -> Workload:
    """W* of the specification as one program of one phase, demand of scv 2, Poisson arrivals."""
    return reference_workload()


@pytest.fixture(scope="module")
def kept_fits():
    """Commands find what an earlier one of the same file was told by the same measured runs."""
    known = {}
    fit_runs = subjects.fit_runs

    def fitted(table, **options):
        key = table.frame.to_csv() + repr(options)
        if key not in known:
            known[key] = fit_runs(table, **options)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subjects, "fit_runs", fitted)
        yield


@pytest.fixture(scope="session")
def maker():
    """Return the script of the examples that writes Darshan logs."""
    file = Path(__file__).parents[2] / "docs" / "examples" / "darshan-runs" / "make.py"
    spec = importlib.util.spec_from_file_location("darshan_maker", file)
    module = importlib.util.module_from_spec(spec)
    sys.modules["darshan_maker"] = module
    spec.loader.exec_module(module)
    return module
