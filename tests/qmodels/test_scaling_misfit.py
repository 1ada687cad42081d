"""Single allotments that part from the smooth law of a program: steps, and what is told of them."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from qmodels.io.runs import COLUMNS, RunTable
from qmodels.programs import fit_runs
from qmodels.programs.scaling.centre import centre_of
from qmodels.programs.scaling.misfit import learnt_misfit
from qmodels.programs.scaling.pooling import pooled
from qmodels.programs.scaling.terms import library

RECORD = Path(__file__).parents[2] / "docs" / "record" / "steps.csv"
CELLS = [(p, d) for p in (1, 2, 4, 8, 16) for d in (1, 2, 4)]
NOISE = 0.01


def seconds(p, d, height):
    """Mean seconds of I/O and of computation with a step between 4 and 8 processors."""
    step = np.where(np.asarray(p) > 4, 1 + height, 1.0)
    return 120 / np.minimum(d, np.asarray(p) / 1.5) * step, (5 + 400 / np.asarray(p)) * step


def stepped(height):
    """Runs, two on each allotment, and what was learnt from them."""
    rng = np.random.default_rng(3)
    rows = [
        ("solver", 1, kind, p, d, float(time) * np.exp(NOISE * rng.standard_normal()), repeat)
        for p, d in CELLS
        for repeat in (1, 2)
        for kind, time in zip(("io", "cpu"), seconds(p, d, height), strict=True)
    ]
    table = RunTable(pd.DataFrame(rows, columns=[*COLUMNS, "repeat"]))
    return table, fit_runs(table)["solver"]


@pytest.fixture(scope="module")
def step():
    return stepped(0.3)


@pytest.fixture(scope="module")
def steady():
    return stepped(0.0)


def at(cells):
    return np.array(cells, dtype=float).T


class TestIntervalsOfSpeedups:
    @pytest.mark.thorough
    def test_hold_what_was_measured_on_both_sides_of_a_step(self, step):
        """Nine in ten, as they say: with misfit that cancels in the ratio three in ten were held."""
        found = step[1].predict(*at(CELLS))
        held = (found.speedup_low <= found.measured_speedup) & (found.measured_speedup <= found.speedup_high)
        assert held.mean() >= 0.9

    def test_are_narrow_where_runs_follow_their_law(self, step, steady):
        wide, narrow = (one.predict(*at(CELLS)) for _, one in (step, steady))
        assert steady[1].margin.misfit.lawful > 0.5
        assert step[1].margin.misfit.lawful < 0.01
        ratio = np.log(wide.speedup_high / wide.speedup_low)[1:]
        assert np.all(ratio > 2 * np.log(narrow.speedup_high / narrow.speedup_low)[1:])

    def test_on_one_processor_and_one_disk_are_one(self, step):
        found = step[1].predict(1.0, 1.0)
        assert (found.speedup_low[0], found.speedup_high[0]) == (1.0, 1.0)

    def test_add_the_misfit_of_both_ends_of_the_ratio(self, step):
        """A time has one misfit of its own; a ratio has two, and noise of a run has neither."""
        found = step[1].predict(*at(CELLS), of="mean")
        times = np.log(found.time_high / found.time_low)[1:]
        gains = np.log(found.speedup_high / found.speedup_low)[1:]
        assert np.median(gains / times) == pytest.approx(np.sqrt(2), rel=0.15)


class TestWhatWasMeasured:
    def test_stands_beside_what_is_fitted(self, step):
        table, fit = step
        runs = table.frame.groupby(["p", "d", "kind"])["seconds"].mean().groupby(["p", "d"]).sum()
        found = fit.predict(*at([*CELLS, (3, 3)]))
        assert found.measured_time[:-1].tolist() == pytest.approx(runs.tolist())
        assert found.measured_time.mask.tolist() == [False] * len(CELLS) + [True]
        gains = runs.iloc[0] / runs
        assert found.measured_speedup[:-1].tolist() == pytest.approx(gains.tolist())

    def test_is_marked_where_it_contradicts_the_law(self, step, steady):
        found = step[1].predict(*at(CELLS))
        off = np.abs(np.log(found.measured_time.data / found.time.data))
        assert found.contradicts.any()
        assert off[found.contradicts].min() > np.median(off[~found.contradicts])
        assert not steady[1].predict(*at(CELLS)).contradicts.any()

    def test_is_told_in_a_sentence_and_warned_of(self, step, steady):
        (said,) = step[1].contradictions
        assert said.startswith("Runs contradict every smooth law: ")
        assert said in step[1].predict(4.0, 4.0).warnings
        assert said in str(step[1].record()["contradictions"])
        assert any("from 8 processors on" in text for text in step[1].warnings)
        assert steady[1].warnings == ()


@pytest.mark.thorough
def test_runs_none_of_which_is_whole_contradict_nothing():
    """Bursts that were timed on different allotments: there is nothing to stand beside the fit."""
    rows = [("a", 1, "io", p, d, 30 / p / d) for p in (2, 4, 8) for d in (1, 2)]
    rows += [("a", 1, "cpu", p, 1, 90 / p) for p in (3, 6, 12)]
    fit = fit_runs(RunTable(pd.DataFrame(rows, columns=list(COLUMNS))))["a"]
    assert fit.measured.processors.size == 0
    assert fit.contradictions == ()
    assert fit.predict(4.0, 2.0).measured_time.mask.all()


class TestTheMisfit:
    def totals(self, factors, seed):
        """Two runs on each of twelve allotments that a constant law leaves as they are."""
        rng = np.random.default_rng(seed)
        p = np.repeat(np.arange(1.0, 13.0), 2)
        logs = np.repeat(np.log(factors), 2) + NOISE * rng.standard_normal(24)
        return pooled(p, np.ones(24), np.exp(logs)), rng

    def learnt(self, factors, seed=8):
        totals, rng = self.totals(factors, seed)
        residual = totals.log_time - totals.log_time.mean()
        scatter = np.full(4000, np.sqrt(np.mean(residual**2) + NOISE**2))
        return learnt_misfit(totals, residual, np.ones((12, 1)), scatter, rng)

    def test_is_none_where_repeats_scatter_as_much_as_allotments(self):
        """What is true is more probable afterwards, on average, than it was before."""
        found = [self.learnt(np.ones(12), seed) for seed in range(10)]
        assert np.mean([one.lawful for one in found]) > 0.5
        assert np.mean([np.median(one.seen) for one in found]) < 0.3 * NOISE

    def test_is_all_where_repeats_agree_and_allotments_do_not(self):
        factors = np.where(np.arange(12) % 3 == 0, 1.3, 1.0)
        found = self.learnt(factors)
        assert found.lawful < 1e-6
        assert np.median(found.noise) == pytest.approx(NOISE, rel=0.5)
        assert np.median(found.seen) == pytest.approx(np.log(factors).std(), rel=0.4)

    def test_is_larger_where_nothing_was_measured(self):
        assert self.learnt(np.where(np.arange(12) < 6, 1.0, 1.3)).unseen >= 1


class TestTheLawInTheMiddle:
    def test_of_one_law_is_that_law(self):
        law = np.zeros(len(library("cpu")))
        law[[0, 1]] = 3.0, 90.0
        p = np.array([1.0, 4.0, 16.0])
        runs = pooled(p, np.ones(3), law @ library("cpu").values(p, np.ones(3)))
        found = centre_of(library("cpu"), law, np.tile(law, (50, 1)), runs)
        assert found == pytest.approx(law, abs=1e-6)

    def test_lies_between_laws_that_part_far_outside(self):
        """A mean of seconds follows the few that grow most; the middle is of their logarithms."""
        names = [term.text for term in library("cpu").terms]
        laws = np.zeros((2, len(names)))
        laws[:, names.index("1/p")] = 100.0
        laws[1, names.index("(p-1)")] = 1.0
        p = np.array([1.0, 2.0])  # too few for simple laws to have a say
        runs = pooled(p, np.ones(2), 100.0 / p)
        found = centre_of(library("cpu"), laws.mean(axis=0), laws, runs)
        far = library("cpu").values(np.array([256.0]), np.ones(1))
        low, high = (laws @ far)[:, 0]
        assert low < (found @ far)[0] < (low + high) / 4
        assert np.all(found >= 0)


def test_the_record_of_steps_holds_its_intervals():
    """Of speedups on measured allotments and others, with steps of 0 to 30 %, 85 % at least."""
    with open(RECORD, newline="", encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream) if row["of"] == "step" and not row["by"]]
    assert {row["value"] for row in rows} == {"0.0", "0.1", "0.2", "0.3"}
    assert {row["where"] for row in rows} == {"measured", "inside", "outside"}
    assert min(float(row["speedup"]) for row in rows) >= 0.85
