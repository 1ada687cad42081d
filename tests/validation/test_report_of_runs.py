"""A report on measured runs with a step: what it tells of them is what the forecast tells."""

from __future__ import annotations

import html
import json
import re

import numpy as np
import pytest

from qmodels.io.scenario import load_scenario
from qmodels.words import plain_number
from tests.qmodels.test_scaling_misfit import stepped
from validation.study.report import write_report
from validation.study.run import run_study

SCENARIO = """
title = "a step"
[machine]
processors = 16
disks = 4
min_processors = 4
[runs]
path = "runs.csv"
[[policy]]
kind = "SP"
processor_partitions = [1]
disk_partitions = [1]
[study]
loads = [0.2]
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The fit, the report and the page that it frames."""
    folder = tmp_path_factory.mktemp("report")
    stepped(0.3)[0].frame.to_csv(folder / "runs.csv", index=False)
    (folder / "step.toml").write_text(SCENARIO)
    study = run_study(load_scenario(folder / "step.toml"))
    text = write_report(study, folder / "out", command="x", interactive=True).read_text("utf-8")
    frame = html.unescape(re.search(r'srcdoc="([^"]*)"', text)[1])
    return study.scenario.fits["solver"], text, frame


@pytest.mark.thorough
def test_the_report_warns_of_steps_as_the_terminal_does(report):
    """Warnings of steps were printed in the terminal alone."""
    fit, text, frame = report
    assert len(fit.warnings) == 2
    for said in fit.warnings:
        assert html.escape(said) in text or said in text
        assert said in html.unescape(frame)


@pytest.mark.thorough
def test_the_report_has_what_was_measured_beside_what_is_fitted(report):
    fit, text, _ = report
    table = text.partition("What was measured beside what was fitted")[2].partition("</table>")[0]
    assert table.count(">contradicts the law<") == int(fit.measured.contradicts.sum()) > 0
    fitted = fit.program.mean_time(fit.measured.processors, fit.measured.disks)
    for seen, law in zip(fit.measured.seconds.tolist(), fitted.tolist(), strict=True):
        assert f"<td>{plain_number(seen)} s</td><td>{plain_number(law)} s</td>" in table


@pytest.mark.thorough
def test_the_surface_in_the_report_is_that_of_the_forecast(report):
    fit, _, frame = report
    text = frame.partition('type="application/json">')[2].partition("</script>")[0]
    data = json.loads(text)
    found = fit.surface_interval(data["processors"], data["disks"])
    for name, expected in (
        ("speedup", found.speedup.data),
        ("low", found.speedup_low),
        ("high", found.speedup_high),
        ("time", found.time.data),
    ):
        assert np.array(data[name]) == pytest.approx(expected, rel=1e-5)
    assert [point[5] for point in data["measured"]] == fit.measured.contradicts.tolist()
