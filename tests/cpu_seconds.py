"""CPU seconds by test file, those of ended children among them: ``pytest -p tests.cpu_seconds``.

Wall time on a busy machine says little; processor time says what a file costs. Compiling kernels
and building a fixture count for the file whose test comes first to them.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Generator

import pytest

_KEY = "cpu_seconds"
_STARTED = pytest.StashKey[float]()
_seconds: defaultdict[str, float] = defaultdict(float)
_cases: defaultdict[str, int] = defaultdict(int)


def _used() -> float:
    """Return the processor seconds of this process and of its children that it waited for."""
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Note where the clock stood before a test and its fixtures."""
    item.stash[_STARTED] = _used()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Send the seconds along with the report, which is how they come back from a worker."""
    report = yield
    if report.when == "teardown":
        report.user_properties.append((_KEY, _used() - item.stash[_STARTED]))
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add a test's seconds to those of its file."""
    for key, value in report.user_properties:
        if key == _KEY and report.when == "teardown":
            file = report.nodeid.partition("::")[0]
            _seconds[file] += float(value)
            _cases[file] += 1


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the files, the dearest first."""
    terminalreporter.section("CPU seconds by file")
    for file in sorted(_seconds, key=_seconds.__getitem__, reverse=True):
        terminalreporter.write_line(f"{_seconds[file]:8.2f} {_cases[file]:6d}  {file}")
    terminalreporter.write_line(f"{sum(_seconds.values()):8.2f} {sum(_cases.values()):6d}  in all")
