"""Whether forecasts of programs that no law of the library fits are right about their doubt.

The truths are those of `tests/naive/outside.py`, listed before the first fit. The gate takes a
small fixed sample, with limits that a right interval breaks once in a thousand; the campaigns in
full are slow, and their figures lie in ``docs/record``.
"""

from __future__ import annotations

import csv
import math
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from qmodels.errors import ModelError
from qmodels.io.runs import RunTable, read_runs
from qmodels.programs import fit_runs
from qmodels.programs.scaling.candidates import runs_within
from qmodels.programs.scaling.discrepancy import BEFOREHAND, learnt
from qmodels.programs.scaling.pooling import pooled
from tests.command import called, result_of
from tests.data import KEPT
from tests.naive.outside import FAMILIES, NOISES, RUNS, Case
from tests.naive.rivals import RIVALS, after_one_more, campaign
from tests.naive.scaling import EIGHT, GRID, SPECIFIED, measured
from tests.naive.steps import departing

RECORD = Path(__file__).parents[2] / "docs" / "record"

#: Cases of each family and number of runs in the campaign of the record, and its seed.
SIZE, SEED = 3, 101

#: The public tables, and the run of each that a forecast is held to.
HELD_OUT = KEPT / "public_runs.csv"


def medians(rows):
    """Median log error of the forecast, and of each rival."""
    return {name: float(np.median([row[name] for row in rows])) for name in ("error", *RIVALS)}


def covered(rows):
    return float(np.mean([row["covered"] for row in rows]))


def test_the_truths_are_twenty_or_more_and_none_imports_the_library():
    assert len(FAMILIES) >= 20
    source = Path(__file__).parents[1].joinpath("naive", "outside.py").read_text(encoding="utf-8")
    assert "scaling" not in source.split('"""', 2)[2].split("FAMILIES")[0]


@pytest.fixture(scope="module")
def few_rows():
    """Return every fourth family, with five and with nine runs."""
    return list(campaign(1, seed=31, families=tuple(FAMILIES)[::4], runs=(5, 9)))


@pytest.fixture(scope="module")
def many_rows():
    """Return the campaign of the record."""
    return list(campaign(SIZE, seed=SEED))


def public_forecasts():
    """Forecasts of the largest run of each public table, four and eight times beyond.

    Name, factor, the runs that were known, the time of the largest, and the forecast of it.
    """
    for name, frame in read_runs(HELD_OUT).frame.groupby("program", sort=False):
        most = frame["p"].max()
        for factor in (4, 8):
            known = frame[frame["p"] <= most / factor]
            if known["p"].nunique() < 3:
                continue
            (fitted,) = fit_runs(RunTable(known)).values()
            seen = float(frame[frame["p"] == most]["seconds"].iloc[0])
            yield name, factor, known, seen, fitted.predict(most, 1)


@pytest.fixture(scope="module")
def public():
    """Return the forecasts of public tables."""
    return list(public_forecasts())


@pytest.fixture(scope="module")
def fitted():
    """Return a fit of eight runs."""
    rng = np.random.default_rng(5)
    (found,) = fit_runs(measured(SPECIFIED["task"], EIGHT, repeats=1, rng=rng)).values()
    return found


@pytest.mark.thorough
class TestInTheGate:
    def test_nine_in_ten_runs_lie_in_their_intervals(self, few_rows):
        size = len(few_rows)
        assert covered(few_rows) >= stats.binom.ppf(0.001, size, 0.85) / size

    def test_nine_in_ten_runs_of_programs_that_collapse_or_leave_a_node_do(self):
        families = tuple(FAMILIES)[1::4]
        rows = list(campaign(1, seed=32, families=families, runs=(7,), departing=departing))
        assert covered(rows) >= stats.binom.ppf(0.001, len(rows), 0.85) / len(rows)

    def test_single_values_are_no_worse_than_the_simplest_forms(self, few_rows):
        """In the mean, within what so few differences may be off once in a thousand."""
        for name in RIVALS:
            gain = np.array([row[name] - row["error"] for row in few_rows])
            assert gain.mean() > -3.1 * gain.std(ddof=1) / len(gain) ** 0.5, name

    def test_the_campaign_would_notice_intervals_that_are_too_narrow(self, few_rows):
        """A tenth of their width holds less than the limit allows."""
        narrow = [row["error"] <= math.log(row["high"] / row["low"]) / 20 for row in few_rows]
        assert np.mean(narrow) < stats.binom.ppf(0.001, len(narrow), 0.85) / len(narrow)


@pytest.mark.slow
class TestInFull:
    def test_intervals_of_90_per_cent_hold_85_to_95(self, many_rows):
        for key, values in (("runs", RUNS), ("noise", NOISES)):
            for value in values:
                chosen = [row for row in many_rows if row[key] == value]
                print(f"{key} {value}: covered {covered(chosen):.3f} of {len(chosen)}")
                # A cell has 72 cases: the limits, and what so few may be off once in a hundred.
                assert covered(chosen) >= stats.binom.ppf(0.01, len(chosen), 0.85) / len(chosen)
                assert covered(chosen) <= stats.binom.ppf(0.99, len(chosen), 0.95) / len(chosen)
        assert 0.85 <= covered(many_rows) <= 0.95

    def test_single_values_are_nearer_than_those_of_every_simple_form(self, many_rows):
        for runs in RUNS:
            found = medians([row for row in many_rows if row["runs"] == runs])
            print(runs, {name: round(value, 3) for name, value in found.items()})
            assert found["error"] <= min(found[name] for name in RIVALS)

    def test_after_the_advised_run_the_target_is_better_known_than_after_others(self):
        names, found = list(FAMILIES), []
        for k in range(100):
            rng = np.random.default_rng([202, k])
            case = Case(names[k % len(names)], rng, (5, 7, 9)[k % 3], NOISES[(k // 3) % 4])
            found.append(after_one_more(case, rng))
        error = {how: float(np.median([rows[how]["error"] for rows in found])) for how in found[0]}
        share = covered([rows["advised"] for rows in found])
        print(error, f"covered after it {share:.2f}")
        assert error["advised"] < min(error["at random"], error["D-optimal"])
        assert share >= stats.binom.ppf(0.01, 100, 0.85) / 100


@pytest.mark.parametrize("name", ["forecasts", "next-run"])
def test_the_record_says_where_its_figures_come_from(name):
    about = tomllib.loads((RECORD / f"{name}.toml").read_text(encoding="utf-8"))
    assert {"commit", "command", "date", "seed", "cpu_seconds", "processor"} <= set(about)
    with (RECORD / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) >= 4
    assert all(0.0 <= float(row["covered"]) <= 1.0 for row in rows)


@pytest.mark.thorough
class TestPublicTables:
    """Runs of real codes, held out: nothing was chosen by them. See tests/data/README.md."""

    def test_lie_in_their_intervals_as_often_as_they_should(self, public):
        inside = [f.time_low[0] <= seen <= f.time_high[0] for *_, seen, f in public]
        for (name, factor, _, seen, f), held in zip(public, inside, strict=True):
            ends = f"{f.time_low[0]:.4g} to {f.time_high[0]:.4g}"
            print(f"{name}, {factor} times beyond: {seen:.4g} s, forecast {f.time.data[0]:.4g} s")
            print(f"    {ends}{'' if held else ', MISSED'}")
        assert sum(inside) >= stats.binom.ppf(0.01, len(inside), 0.85)

    def test_come_with_a_warning_where_few_runs_carry_a_far_target(self, public):
        assert all("times beyond them" in " ".join(f.warnings) for *_, f in public)


class TestTheDiscrepancy:
    def test_is_what_is_assumed_where_no_more_was_run_than_a_law_can_fit(self):
        few = pooled(*np.array(EIGHT[:6], dtype=float).T, np.full(6, 3.0))
        found = learnt(few, np.full(6, math.log(3.0)), 1000)
        quarters = np.array([0.25, 0.5, 0.75])
        expected = BEFOREHAND * stats.norm.ppf(0.5 + 0.5 * quarters)
        assert np.quantile(found, quarters) == pytest.approx(expected, rel=0.05)

    def test_shrinks_where_many_runs_bear_a_law_out_and_grows_where_they_do_not(self):
        p, d = np.repeat(np.array(GRID, dtype=float), 2, axis=0).T
        rng = np.random.default_rng(1)
        noise = 0.03 * rng.standard_normal(p.size)
        wavy = 0.3 * np.sin(3 * np.log2(p) + 2 * np.log2(d))
        medians = []
        for misfit in (0.0, wavy):
            totals = pooled(p, d, np.exp(noise + misfit))
            medians.append(np.median(learnt(totals, np.zeros(totals.p.size), 500)))
        assert medians[0] < 0.05
        assert medians[1] > 0.2

    def test_without_repeats_noise_and_misfit_share_the_residuals(self):
        """All of them could be noise, so less is ruled in than where repeats show it small."""
        p, d = np.array(GRID, dtype=float).T
        off = 0.1 * np.resize([1.0, -1.0], p.size)
        alone = learnt(pooled(p, d, np.exp(off)), np.zeros(p.size), 500)
        twice = pooled(np.tile(p, 2), np.tile(d, 2), np.exp(np.tile(off, 2)))
        assert np.median(alone) < np.median(learnt(twice, np.zeros(p.size), 500))


class TestWarnings:
    @pytest.mark.thorough
    def test_are_there_below_ten_runs_from_four_times_beyond(self, rng):
        (few,) = fit_runs(measured(SPECIFIED["task"], EIGHT, repeats=1, rng=rng)).values()
        assert few.predict(63, 8).warnings == ()
        assert "8 runs and a target 4 times beyond them" in few.predict(64, 8).warnings[0]
        (many,) = fit_runs(measured(SPECIFIED["task"], rng=rng)).values()
        assert many.predict(128, 64).warnings == ()
        assert "8 runs" in few.predict(64, 8).table()

    def test_name_a_cliff_among_the_runs(self, rng):
        truth = {"cpu": lambda p, d: (2 + 300 / p) * np.where(p > 8, 1.6, 1.0)}
        grid = [(p, 1) for p in (1, 2, 3, 4, 6, 8, 10, 12, 16, 24, 32)]
        (fitted,) = fit_runs(measured(truth, grid, repeats=3, noise=0.02, rng=rng)).values()
        (said,) = fitted.cliffs
        # 60 % by truth, about the law of runs that count by their processors.
        told = re.match(r"phase 1 cpu: from 10 processors on it took (\d+) % longer", said)
        assert told
        assert 52 <= int(told[1]) <= 68
        assert "than the trend up to 8 predicts; probably a limit was reached" in said
        assert said in fitted.predict(64, 1).warnings
        assert said in fitted.table()

    @pytest.mark.thorough
    @pytest.mark.parametrize(("odd", "seconds", "told"), [(2, 30.0, 0), (32, 8.0, 1)])
    def test_name_no_cliff_after_the_first_number_which_alone_has_no_trend(self, rng, odd, seconds, told):
        """Of disks, one and 14: 'from 14 disks on it took 79 % longer than the trend up to 1 predicts'."""
        truth = {"cpu": lambda p, d: np.where(p == odd, seconds, 90 / p)}
        runs = measured(truth, [(p, 1) for p in (2, 4, 8, 16, 32)], repeats=3, noise=0.01, rng=rng)
        (fitted,) = fit_runs(runs, draws=100).values()
        assert len(fitted.cliffs) == told

    @pytest.mark.thorough
    def test_name_no_cliff_where_the_law_is_right(self):
        said = []
        for child in np.random.SeedSequence(12).spawn(8):
            runs = measured(SPECIFIED["task"], EIGHT, repeats=2, rng=np.random.default_rng(child))
            (fitted,) = fit_runs(runs, draws=100).values()
            said += fitted.cliffs
        assert len(said) <= stats.binom.ppf(0.999, 16, 0.02)


class TestRunsThatCanBeMade:
    @pytest.mark.thorough
    def test_are_the_only_ones_advised(self, fitted):
        found = fitted.next_run(targets=(128, 32), within=((1, 24), (2, 4)))
        assert found.processors.min() >= 1
        assert found.processors.max() == 24
        assert set(found.disks) == {2.0, 4.0}

    def test_hold_the_ends_the_powers_of_two_and_the_target(self):
        found = runs_within(((3, 40), (1, 2)), np.array([[5.0, 1.0]]), np.array([[20.0, 8.0]]))
        assert sorted(set(found[:, 0])) == [3, 4, 5, 8, 16, 20, 32, 40]
        assert sorted(set(found[:, 1])) == [1, 2]

    def test_stay_few_on_the_largest_machine(self):
        most = ((1, 1e9), (1, 1e9))
        assert len(runs_within(most, np.ones((1, 2)), np.ones((1, 2)))) <= 1000

    @pytest.mark.thorough
    @pytest.mark.parametrize(
        "within",
        [((8, 1), (1, 2)), ((0, 4), (1, 2)), ((1, 2),), "1-8,1-4", ((1, math.nan), (1, 2))],
    )
    def test_refuse_ranges_that_are_none(self, fitted, within):
        with pytest.raises(ModelError):
            fitted.next_run(targets=(64, 8), within=within)

    @pytest.mark.thorough
    def test_come_from_the_command_with_what_they_may_cost(self):
        runs = "docs/examples/runs.csv"
        path = Path(__file__).parents[2] / runs
        arguments = (
            "surface",
            path,
            "--target",
            "64,32",
            "--can-run",
            "1-24,1-8",
            "--json",
            "--program",
            "render",
        )
        every = result_of(called(*arguments).stdout)["fit"]["next_run"]["candidates"]
        assert max(row["processors"] for row in every) == 24
        budget = sorted(row["core_seconds"] for row in every)[len(every) // 2]
        some = result_of(called(*arguments, "--run-budget", budget).stdout)
        costs = [row["core_seconds"] for row in some["fit"]["next_run"]["candidates"]]
        assert 0 < len(costs) < len(every)
        assert max(costs) <= budget

    @pytest.mark.parametrize("text", ["32,4-1", "1-32", "a-b,1-2", "0-4,1-2", "1-2,1-2,1-2"])
    def test_refuse_other_words_on_the_command_line(self, text):
        path = Path(__file__).parents[2] / "docs/examples/runs.csv"
        done = called("surface", path, "--can-run", text)
        assert done.returncode == 3
        assert "--can-run" in done.stderr
