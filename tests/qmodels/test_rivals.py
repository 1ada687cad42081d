"""Simple forms beside a forecast: known curves are found, and what runs do not tell is not said."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from qmodels.programs.scaling.measured import Measured
from qmodels.programs.scaling.rivals import (
    AMDAHL,
    LINE,
    NORMAL_FORM,
    RIVALS,
    WITH_GROWTH,
    rival_seconds,
    rivals_of,
)
from tests.command import called

P = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
FAR = np.array([64.0, 256.0])


@pytest.mark.parametrize(
    ("name", "law"),
    [
        (AMDAHL, lambda p: 3 + 80 / p),
        (WITH_GROWTH, lambda p: 3 + 80 / p + 0.25 * p),
        (LINE, lambda p: 50 * p**-0.7),
        (NORMAL_FORM, lambda p: 5 + 40 * p**-0.5),
        (NORMAL_FORM, lambda p: 5 + 2 * p ** (2 / 3)),
        (NORMAL_FORM, lambda p: 5 + 2 * np.log2(p) ** 2),
        (NORMAL_FORM, lambda p: 7 + 0 * p),
    ],
)
def test_a_curve_of_the_form_is_found(name, law):
    assert rival_seconds(name, P, law(P), FAR) == pytest.approx(law(FAR), rel=1e-6)


def test_coefficients_of_the_simple_forms_are_not_negative():
    """Times that fall faster than 1/p leave no negative constant: half the time at twice the processors."""
    one, two = rival_seconds(AMDAHL, P, 100 * P**-1.3, np.array([32.0, 64.0]))
    assert one / two == pytest.approx(2.0)


@pytest.mark.parametrize(("name", "least"), [(AMDAHL, 2), (WITH_GROWTH, 3), (LINE, 2), (NORMAL_FORM, 5)])
def test_fewer_allotments_than_a_form_needs_say_nothing(name, least):
    few = np.repeat(P[: least - 1], 3)
    assert np.isnan(rival_seconds(name, few, 90 / few, FAR)).all()
    assert np.isfinite(rival_seconds(name, P[:least], 90 / P[:least], FAR)).all()


def test_a_negative_time_is_not_said():
    """The line through 10, 8, 6, 4, 2 seconds, in log2(p), is below zero at 64."""
    times = rival_seconds(NORMAL_FORM, P, 10 - 2 * np.log2(P), FAR)
    assert np.isnan(times).all()


def test_forms_go_through_the_runs_on_the_same_disks():
    p, d = np.concatenate([P, P]), np.repeat([1.0, 2.0], 5)
    seconds = np.where(d == 1, 3 + 80 / p, 1 + 40 / p)
    measured = Measured(p, d, seconds, np.ones(10), np.zeros(10, dtype=bool))
    found = rivals_of(measured, np.array([64.0, 64.0, 64.0]), np.array([1.0, 2.0, 4.0]))
    assert set(found) == set(RIVALS)
    assert found[AMDAHL][:2] == pytest.approx([3 + 80 / 64, 1 + 40 / 64])
    assert all(math.isnan(times[2]) for times in found.values())


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = [f"solver,1,cpu,{p:g},1,{3 + 80 / p}" for p in P]
    path = tmp_path / "runs.csv"
    path.write_text("\n".join(["program,phase,kind,p,d,seconds", *rows]) + "\n")
    return path


def test_the_command_shows_them_where_asked(table):
    plain = called("surface", table, "--target", "64,1")
    done = called("surface", table, "--target", "64,1", "--rivals")
    assert (plain.returncode, done.returncode) == (0, 0), done.stderr
    assert "simple forms" not in plain.stdout
    block = done.stdout.split("seconds by simple forms through the runs on 1 disk, beside the forecast\n")[1]
    head, *rows = block.split("\n\n")[0].splitlines()
    assert [name in head for name in RIVALS] == [True] * 4
    assert [row.split()[0] for row in rows] == ["1", "2", "4", "8", "16", "32", "64"]
    assert rows[-1].split()[4] == "4.25"
    assert rows[-1].split()[-1] == "-"
    # Nothing else that is printed changes.
    before, after = done.stdout.split("seconds by simple forms")
    assert plain.stdout == before + after.split("\n\n", 1)[1]


def test_as_json_they_are_rows_with_the_forecast(table):
    done = called("surface", table, "--processors", "16,32", "--target", "64,1", "--rivals", "--json")
    rows = json.loads(done.stdout)["result"]["fit"]["rivals"]
    assert [row["processors"] for row in rows] == [16, 32, 64]
    assert [row[AMDAHL] for row in rows] == pytest.approx([8, 5.5, 4.25])
    assert rows[0]["measured_time"] == pytest.approx(8)
    assert rows[2]["measured_time"] is None
    assert rows[2]["time_low"] < rows[2]["time"] < rows[2]["time_high"]


def test_disks_without_runs_have_no_forms(table):
    done = called("surface", table, "--target", "64,4", "--rivals", "--json")
    rows = json.loads(done.stdout)["result"]["fit"]["rivals"]
    assert {row[name] for row in rows for name in RIVALS} == {None}
    done = called("surface", table, "--target", "64,4", "--rivals")
    assert "no simple forms: the runs on 4 disks are on fewer than two numbers of processors\n" in done.stdout


@pytest.mark.thorough
def test_forms_through_runs_of_one_size_say_of_which(tmp_path):
    rows = [f"{p},{w},{3 + w * 80 / p}" for p in (1, 2, 4) for w in (1, 2)]
    table = tmp_path / "runs.csv"
    table.write_text("\n".join(["p,w,s", *rows]) + "\n", encoding="utf-8")
    asked = ("surface", table, "--columns", "p=p,work=w,seconds=s", "--target", "64", "--rivals")
    assert "through the runs of work 2 on 1 disk, beside" in called(*asked).stdout
    other = called(*asked, "--work", "3").stdout
    assert "no simple forms: the runs of work 3 on 1 disk are on fewer" in other


def test_a_profile_has_no_runs_to_put_them_through():
    done = called("surface", "QCRD-2", "--rivals")
    assert done.returncode == 3
    assert "--rivals puts simple forms through measured runs; give a table of runs" in done.stderr
    assert "Traceback" not in done.stderr
