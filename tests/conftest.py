"""Shared fixtures: strict floats, fixed seeds, and where the shared data lies."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

# The first call of a kernel compiles it; `derandomize` makes every run the same run.
settings.register_profile("project", deadline=None, derandomize=True)
settings.load_profile("project")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run the long campaigns as well")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--full"):
        skip = pytest.mark.skip(reason="a long campaign; run with --full")
        for item in items:
            if "slow" in item.keywords:
                item.add_marker(skip)


@pytest.fixture(autouse=True)
def _strict_floats():
    """Overflow, division by zero and NaN are errors, not warnings in a log."""
    with np.errstate(all="raise", under="ignore"):
        yield


@pytest.fixture(autouse=True)
def _no_claims():
    """Commands that run within a test keep their folders no longer than it."""
    yield
    if outputs := sys.modules.get("qmodels.io.outputs"):
        outputs.release_outputs()


@pytest.fixture
def rng() -> np.random.Generator:
    """Return a generator with a fixed seed: a red test stays red when run again."""
    return np.random.default_rng(20261121)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of real logs and reference cases; skip where it is absent."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("QMODELS_DATA", beside))
    if not folder.is_dir():
        pytest.skip(f"no shared data at {folder}; set QMODELS_DATA to its folder")
    return folder
