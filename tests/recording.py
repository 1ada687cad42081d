"""A long campaign of tests put on record: what each test measured, and how long it took."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.campaigns import CAMPAIGNS
from validation.papers.record import write_record
from validation.sweeps.results import to_frame

if TYPE_CHECKING:
    import pytest


def spent() -> float:
    """CPU time of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


class Recorder:
    """Collects what tests report with ``record_property``, and writes the record at the end."""

    def __init__(self, config: pytest.Config) -> None:
        self.campaign = CAMPAIGNS[config.getoption("--campaign")]
        self.folder: Path = config.getoption("--record")
        self.rows: list[dict[str, Any]] = []
        self.began = self.last = spent()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A row for each test that was run."""
        if report.when != "call":
            return
        now = spent()
        row = {"test": report.nodeid.split("::", 1)[1], "outcome": report.outcome}
        row |= {str(name): value for name, value in report.user_properties}
        if report.capstdout.strip():
            row["figures"] = " ".join(report.capstdout.split())
        self.rows.append(row | {"cpu_seconds": round(now - self.last, 1)})
        self.last = now

    def pytest_sessionfinish(self) -> None:
        """Write what was found; a test that fails is found too."""
        if self.rows:
            write_record(
                self.folder,
                self.campaign.name,
                to_frame(self.rows),
                command=f"python -m pytest --full {self.campaign.tests}",
                modules=self.campaign.modules,
                seed=0,
                cpu_seconds=spent() - self.began,
            )
