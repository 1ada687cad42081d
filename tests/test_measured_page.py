"""docs/measured.md, its picture and the words in the README: what the record makes of itself."""

from pathlib import Path

import pandas as pd
import pytest

from tests.campaigns.measured_page import (
    MARKERS,
    PICTURE,
    measured_page,
    measured_picture,
    reason,
    with_measured,
)
from tests.figure_checks import problems

DOCS = Path(__file__).resolve().parents[1] / "docs"


def test_page_and_readme_are_what_the_record_makes_today():
    """After a change of the record: ``make claims``."""
    assert (DOCS / "measured.md").read_text() == measured_page(DOCS / "record")
    readme = (DOCS.parent / "README.md").read_text()
    assert readme.count(MARKERS[0]) == readme.count(MARKERS[1]) == 1
    assert with_measured(readme, DOCS / "record") == readme
    assert (DOCS / PICTURE).exists()


@pytest.mark.thorough
def test_the_picture_has_every_forecast_and_is_read_as_it_is_meant():
    rows = pd.read_csv(DOCS / "record" / "measured-machines.csv").query("nodes")
    figure = measured_picture(rows)
    assert sum(
        len(line.get_xdata()) for ax in figure.axes for line in ax.lines if line.get_marker() == "."
    ) == len(rows)
    assert problems(figure) == []


@pytest.mark.parametrize(
    ("forecast", "slower", "slope", "says"),
    [
        (9.0, False, -0.9, "gained more"),
        (1.0, False, -0.9, "gains less"),
        (1.0, True, -0.9, "no sign before"),
        (1.0, True, -0.1, "after a flat last step"),
    ],
)
def test_a_miss_has_the_reason_that_its_runs_show(forecast, slower, slope, says):
    row = {"forecast": forecast, "measured": 3.0, "slower_than_known": slower, "last_slope": slope}
    assert says in reason(pd.Series(row))
