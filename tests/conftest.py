"""Shared fixtures: strict floats, fixed seeds, and where the shared data lies."""

from __future__ import annotations

import gc
import os
import sys
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import numpy as np
import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings
from hypothesis.internal.conjecture import providers

from tests.data import KEPT

# The first call of a kernel compiles it; `derandomize` makes every run the same run.
settings.register_profile("full", deadline=None, derandomize=True)
# A quarter of the examples; where a test has its own number, `tests.examples.examples`.
settings.register_profile("gate", settings.get_profile("full"), max_examples=25)
# Else Hypothesis parses every module of the packages, in each process, for constants to try; what
# a test draws would change with a number anywhere in the code. (Not a public setting, so it may be gone.)
if hasattr(providers, "is_local_module_file"):
    providers.is_local_module_file = lambda path: False


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run the long campaigns as well")
    parser.addoption("--quick", action="store_true", help="leave out the thorough cases, as `make test` does")
    parser.addoption("--campaign", help="what to call what is run in the record")
    parser.addoption("--record", type=Path, help="folder into which its record is written")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Without a clock a benchmark shows only that it runs."""
    wanted = config.getoption("--full") or config.getoption("--benchmark-enable")
    return True if collection_path.name == "benchmarks" and not wanted else None


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Examples stand in the packages and pages, none in the tests."""
    return [found for found in (yield) if not isinstance(found, DoctestModule)]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--full"):
        skip = pytest.mark.skip(reason="a long campaign; run with --full")
        for item in items:
            if "slow" in item.keywords:
                item.add_marker(skip)
    if config.getoption("--quick"):
        _leave_out_thorough(config, items)


def _leave_out_thorough(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip the thorough cases, but for the `first` ones of a test and those it names in `but`."""
    skip = pytest.mark.skip(reason="a thorough case; run without --quick")
    cases: Counter[str] = Counter()
    named: set[tuple[str, str]] = set()
    for item in items:
        if marker := item.get_closest_marker("thorough"):
            of, _, case = item.nodeid.partition("[")
            if not cases[of]:
                named |= {(of, name) for name in marker.kwargs.get("but", ())}
            cases[of] += 1
            if (of, case[:-1]) in named:
                named.remove((of, case[:-1]))
            elif cases[of] > marker.kwargs.get("first", 0):
                item.add_marker(skip)
    if named and config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        raise pytest.UsageError(f"no case of a thorough test is called {sorted(named)}")


def pytest_collection_finish() -> None:
    """Thirteen thousand cases stay to the end: the collector of garbage need not visit them."""
    gc.freeze()


def pytest_configure(config: pytest.Config) -> None:
    chosen = config.getoption("--hypothesis-profile", None)
    settings.load_profile(chosen or ("full" if config.getoption("--full") else "gate"))
    if config.getoption("--record") and config.getoption("--campaign"):
        from tests.recording import Recorder

        config.pluginmanager.register(Recorder(config))


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


SHARED = Path(os.environ.get("QMODELS_DATA", KEPT.parents[2] / "shared" / "data"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of real logs and larger reference cases; skip where it is absent."""
    if not SHARED.is_dir():
        pytest.skip(f"no shared data at {SHARED}; set QMODELS_DATA to its folder")
    return SHARED


@pytest.fixture(scope="session", params=["kept", "shared"] if SHARED.is_dir() else ["kept"])
def cases(request: pytest.FixtureRequest) -> Path:
    """Return a folder of reference cases: the small ones kept here, and the larger where they are.

    What lies in ``tests/data`` was made by the scripts there, see its README.
    """
    return KEPT if request.param == "kept" else SHARED
