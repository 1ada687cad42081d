"""A pytest plugin: how long each test took, as JSON, in the file that MUTANTS_DURATIONS names."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from pathlib import Path

import pytest

_seconds: dict[str, float] = defaultdict(float)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up set-up, call and tear-down; with xdist the reports of all workers arrive here."""
    if report.outcome != "skipped":
        _seconds[report.nodeid] += report.duration


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the file, unless this is a worker of xdist."""
    if not hasattr(session.config, "workerinput"):
        Path(os.environ["MUTANTS_DURATIONS"]).write_text(json.dumps(_seconds), encoding="utf-8")
