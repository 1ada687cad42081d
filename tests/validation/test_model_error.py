"""What a corrected prediction is off beyond the noise of what it was made of."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

from qmodels.errors import ModelError
from validation.papers.trial.model_error import errors_of_rows, excess_error
from validation.trial.loss_run import DIVIDED, SPACE, TURNS, model_error
from validation.trial.scenario import Cell

RECORD = Path(__file__).resolve().parents[2] / "docs" / "record" / "trial.csv"
PLACE = {"rows": 4, "columns": 4, "strategy": "MC", "cpu_to_io": 1.0, "io_flits": 4096.0}


@pytest.mark.parametrize("share", [0.0, 0.01])
def test_the_factor_behind_errors_is_found_again(share):
    rng = np.random.default_rng(1)
    found = []
    for _ in range(200):
        noise, slopes = rng.uniform(0.005, 0.03, 40), rng.uniform(1.0, 6.0, 40)
        errors = slopes * rng.normal(0.0, share, 40) + rng.normal(0.0, noise)
        found.append(excess_error(errors, noise, slopes) ** 2)
    # Cut off at zero, an estimate of nothing is a little more than nothing.
    assert np.mean(found) == pytest.approx(share**2, abs=4e-6)


def test_rows_that_hang_on_no_speed_tell_nothing():
    assert excess_error([0.5, 0.05], [0.01, 0.03], [0.0, 4.0]) == pytest.approx(0.01)
    assert excess_error([0.5], [0.01], [0.0]) == 0.0
    for bad in (([0.1], [0.0], [1.0]), ([0.1, 0.2], [0.1], [1.0])):
        with pytest.raises(ModelError, match="three rows"):
            excess_error(*bad)


def test_the_record_does_not_contradict_errors_that_were_fixed_before_it():
    """With its factor the sum of squares over variances is as chance has it, at 95 %."""
    rows = pd.read_csv(RECORD)
    usable = ~rows["kept_out"] & np.isfinite(rows["noise"])
    usable &= ~rows.duplicated(["cell", "load", "simulated", "corrected"])
    found = errors_of_rows(rows)

    def chance(kind, share):
        some = rows[usable & (rows["policy"].str.slice(0, 2) == kind)]
        variance = some["noise"] ** 2 + (some["slope"] * share) ** 2
        return chi2.sf((some["error"] ** 2 / variance).sum(), len(some))

    for kind, name, value in (
        ("SP", "SPACE", SPACE),
        ("DP", "DIVIDED", DIVIDED),
        ("TS", "TURNS", TURNS),
    ):
        assert 0.025 < chance(kind, value) < 0.975
        assert 0.3 < chance(kind, found[name]) < 0.7
        # what is far from it would be seen
        assert chance(kind, 2 * value) > 0.975
        assert chance(kind, value / 2) < (0.1 if kind == "DP" else 0.025)


def test_every_kind_of_policy_has_a_recorded_error_below_two_percent():
    kinds = (
        {"policy": "SP", "policy_options": {"processor_partitions": 4, "disk_partitions": 1}},
        {"policy": "DP", "policy_options": {"disk_partitions": 1}, "min_processors": 4},
        {"policy": "TS", "policy_options": {"processor_partitions": 2, "disk_partitions": 1}},
    )
    for kind in kinds:
        assert 0.0 <= model_error(Cell.of(**{**PLACE, **kind})) < 0.02
