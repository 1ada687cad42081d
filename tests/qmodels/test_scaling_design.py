"""What a choice of allotments cannot tell, and which run to do next."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from qmodels.errors import ModelError
from qmodels.programs import fit_runs
from tests.naive.scaling import GRID, SPECIFIED, TARGETS, measured, total

TASK = SPECIFIED["task"]


def fit(truth=TASK, grid=GRID, **options):
    (fitted,) = fit_runs(measured(truth, grid, **options)).values()
    return fitted


def parts(truth, p, d):
    return float(truth["cpu"](p, d)), float(truth["io"](p, d))


@cache
def fit_of_the_task(*grid):
    """The task fitted to runs on a grid; a fit takes long, and several tests look at the same."""
    return fit(grid=grid, rng=np.random.default_rng(20261121))


def test_a_refusal_names_what_the_runs_must_vary_not_what_was_varied_twice():
    """Four processors in every run leave it open; that two numbers of disks were run does not."""
    with pytest.raises(ModelError, match=r"phase 1 io: every run has p = 4.*add runs with another p"):
        _ = fit({"io": TASK["io"]}, [(4, 1), (4, 2)]).program


TOGETHER = tuple((k, k) for k in (1, 2, 4, 8))
ON_ONE_DISK = [(p, 1) for p in (1, 2, 4, 8, 16)]


@pytest.fixture(scope="module")
def fitted():
    return fit_of_the_task(*ON_ONE_DISK)


class TestRunsOnOneDisk:
    @pytest.mark.thorough
    def test_the_verdict_names_disks(self, fitted):
        (verdict,) = fitted.unidentified
        assert "phase 1 io: every run has d = 1, so what more disks do cannot be told" in verdict

    @pytest.mark.thorough
    def test_constants_and_disks_look_alike_and_growth_with_disks_is_invisible(self, fitted):
        io = fitted.components[0]
        assert any({"1", "1/d"} <= set(one) for one in io.alias_classes)
        assert any({"1/p", "1/(p*d)"} <= set(one) for one in io.alias_classes)
        assert io.invisible == ("(d-1)",)
        assert fitted.components[1].alias_classes == ()

    @pytest.mark.thorough
    def test_the_envelope_holds_both_extremes_and_there_is_no_point(self, fitted):
        """T_cpu + T_io(p, 1)/d and T_cpu + T_io(p, 1), as the noise-free runs have them."""
        found = fitted.predict([64, 16], [64, 4])
        assert found.mark.tolist() == ["not identifiable"] * 2
        assert np.ma.getmaskarray(found.time).all()
        assert np.ma.getmaskarray(found.by_formula).all()
        for i, (p, d) in enumerate([(64.0, 64.0), (16.0, 4.0)]):
            cpu, io = parts(TASK, p, 1.0)
            assert found.time_low[i] < cpu + io / d
            assert found.time_high[i] > cpu + io
        row = found.to_frame().iloc[0]
        assert row["time"] is pd.NA
        assert row["time_low"] == found.time_low[0]
        assert found.table().splitlines()[1].count(" - ") == 4  # nor a measured one

    @pytest.mark.thorough
    def test_without_noise_the_envelope_is_the_two_extremes(self):
        truth = {"cpu": lambda p, d: 5 + 90 / p, "io": lambda p, d: 4 + 40 / p}
        (fitted,) = fit_runs(measured(truth, ON_ONE_DISK, repeats=1), discrepancy=0).values()
        found = fitted.predict(16, 64)
        cpu, io = parts(truth, 16.0, 1.0)
        assert found.time_low[0] == pytest.approx(cpu + io / 64, rel=1e-4)
        assert found.time_high[0] == pytest.approx(cpu + io, rel=1e-4)
        # T_11 was measured, so the speedup has the same two ends.
        assert found.speedup_low[0] == pytest.approx(139 / (cpu + io), rel=1e-4)
        assert found.speedup_high[0] == pytest.approx(139 / (cpu + io / 64), rel=1e-4)

    def test_on_one_disk_they_predict_as_usual(self, fitted):
        found = fitted.predict([64, 8], [1, 1])
        assert found.mark.tolist() == ["extrapolated", "measured"]
        assert not np.ma.getmaskarray(found.time).any()

    def test_no_program_follows_and_the_error_says_which_run_is_missing(self, fitted):
        with pytest.raises(ModelError, match=r"phase 1 io: every run has d = 1.*add runs with"):
            _ = fitted.program
        with pytest.raises(ModelError, match="another d"):
            fitted.surface([1, 2], [1, 2])

    def test_computation_alone_does_not_need_disks(self, rng):
        fitted = fit({"cpu": TASK["cpu"]}, ON_ONE_DISK, rng=rng)
        assert fitted.predict(64, 64).mark.tolist() == ["extrapolated"]
        assert float(fitted.program.mean_cpu(64, 64)) > 0

    def test_the_next_run_takes_another_number_of_disks(self, fitted):
        found = fitted.next_run(targets=(64, 64))
        assert found.best[1] > 1
        assert found.settles[0] == 1
        assert found.variance == math.inf
        assert np.ma.getmaskarray(found.remaining).all()
        assert "without it these runs cannot answer" in found.advice
        for p, d, settled in zip(found.processors, found.disks, found.settles, strict=True):
            assert settled == (d != 1), (p, d)


@pytest.mark.thorough
@pytest.mark.parametrize("level", [1, 8])
def test_runs_on_one_number_of_processors_leave_processors_open(level):
    fitted = fit_of_the_task(*((level, d) for d in (1, 2, 4)))
    assert all(f"every run has p = {level}" in text for text in fitted.unidentified)
    assert len(fitted.unidentified) == 2
    cpu = fitted.components[1]
    assert [text.partition(",")[0] for text in cpu.design.doubts(cpu.posterior)] == [
        f"every run has p = {level}"
    ]
    found = fitted.predict([64, level], [4, 8])
    assert found.mark.tolist() == ["not identifiable", "extrapolated"]
    cpu, io = parts(TASK, float(level), 4.0)
    assert found.time_low[0] < (cpu + io) * level / 64
    assert found.time_high[0] > cpu + io
    # Speedups stand over the smallest run: T_11 is not known unless it was run.
    assert found.base == (level, 1)
    assert np.ma.getmaskarray(found.speedup).tolist() == [True, False]
    with pytest.raises(ModelError, match=f"every run has p = {level}"):
        _ = fitted.program
    assert fitted.next_run(targets=(64, 4)).best[0] != level


@pytest.mark.thorough
def test_fewer_processors_than_were_run_take_longer_at_most_in_proportion():
    fitted = fit_of_the_task(*((8, d) for d in (1, 2, 4)))
    found = fitted.predict(2, 4)
    cpu, io = parts(TASK, 8.0, 4.0)
    assert found.time_low[0] < cpu + io
    assert found.time_high[0] > 4 * (cpu + io)


def test_a_single_run_leaves_both_open(rng):
    fitted = fit(grid=[(4, 2)], repeats=1, rng=rng)
    assert len(fitted.unidentified) == 3
    found = fitted.predict([64, 4], [64, 2])
    assert found.mark.tolist() == ["not identifiable", "measured"]
    cpu, io = parts(TASK, 4.0, 2.0)
    assert found.time_low[0] < cpu / 16 + io / 16 / 32
    assert found.time_high[0] > cpu + io
    with pytest.raises(ModelError, match="add runs with another"):
        _ = fitted.program


@pytest.mark.thorough
class TestProcessorsAndDisksThatOnlyGrewTogether:
    def test_cannot_be_told_apart(self):
        fitted = fit_of_the_task(*TOGETHER)
        (verdict,) = fitted.unidentified
        assert "p/d = 1 in every run, so processors and disks cannot be told apart" in verdict
        classes = fitted.components[0].alias_classes
        assert any({"1/p", "1/d"} <= set(one) for one in classes)
        with pytest.raises(ModelError, match="vary one of them alone"):
            _ = fitted.program

    def test_the_envelope_holds_what_each_alone_would_give(self, rng):
        """I/O by the processors or by the disks: 40/p or 40/d beside 5 + 90/p of computation."""
        truth = {"cpu": lambda p, d: 5 + 90 / p, "io": lambda p, d: 40 / np.minimum(p, d)}
        fitted = fit(truth, [(k, k) for k in (1, 2, 4, 8)], rng=rng)
        found = fitted.predict([8, 64, 2], [2, 64, 8])
        assert found.mark.tolist() == ["not identifiable", "extrapolated", "not identifiable"]
        for i, (p, d) in ((0, (8, 2)), (2, (2, 8))):
            assert found.time_low[i] < 5 + 90 / p + 40 / max(p, d)
            assert found.time_high[i] > 5 + 90 / p + 40 / min(p, d)

    def test_with_four_processors_a_disk_the_ratio_is_named(self, rng):
        fitted = fit(grid=[(4 * k, k) for k in (1, 2, 4)], rng=rng)
        assert any("p/d = 4 in every run" in text for text in fitted.unidentified)
        assert fitted.predict(64, 16).mark.tolist() == ["extrapolated"]
        assert fitted.predict(64, 64).mark.tolist() == ["not identifiable"]

    def test_one_run_off_the_line_tells_them_apart(self, rng):
        fitted = fit(grid=[(1, 1), (2, 2), (4, 4), (8, 8), (8, 1)], rng=rng)
        assert fitted.predict(64, 64).mark.tolist() == ["extrapolated"]
        candidates = [(16, 16), (16, 1)]
        assert fit_of_the_task(*TOGETHER).next_run(candidates, targets=(64, 16)).best == (16, 1)


class TestSentences:
    def test_two_levels_show_no_shape(self):
        fitted = fit({"cpu": lambda p, d: 2 + 8 / p}, [(p, d) for p in (2, 8) for d in (1, 2, 4)], repeats=1)
        assert any("p = 2 and 8" in text and "assumed" in text for text in fitted.unidentified)
        assert fitted.predict(64, 1).mark.tolist() == ["extrapolated"]

    @pytest.mark.thorough
    def test_disks_that_never_were_the_limit_are_named(self):
        grid = [(p, d) for p in (1, 2, 4) for d in (1, 2, 4)]
        fitted = fit({"io": lambda p, d: 8 / p}, grid, repeats=1)
        assert any("the disks never were the limit up to p/d = 4" in t for t in fitted.unidentified)
        for p, d in grid:
            assert float(fitted.program.mean_io(p, d)) == pytest.approx(8 / p, rel=1e-5)

    @pytest.mark.thorough
    def test_processors_that_never_were_the_limit_are_named(self):
        grid = [(p, d) for p in (4, 8, 16) for d in (1, 2, 4)]
        fitted = fit({"io": lambda p, d: 8 / d}, grid, repeats=1)
        assert any("the processors never were the limit down to p/d = 1" in t for t in fitted.unidentified)

    @pytest.mark.thorough
    def test_a_burst_timed_on_fewer_allotments_than_the_others_counts_by_itself(self, rng):
        runs = measured(TASK, rng=rng).frame
        few = runs[(runs["kind"] == "cpu") | (runs["d"] == 1)]
        from qmodels.io.runs import RunTable

        (fitted,) = fit_runs(RunTable(few)).values()
        assert [text.startswith("phase 1 io: every run has d = 1") for text in fitted.unidentified]
        assert fitted.predict(8, 8).mark.tolist() == ["not identifiable"]


@pytest.fixture(scope="module")
def peak():
    return fit(SPECIFIED["peak"], rng=np.random.default_rng(20261121))


class TestTheNextRun:
    @pytest.mark.thorough
    def test_is_near_the_target_when_that_can_be_paid(self, peak):
        found = peak.next_run(targets=TARGETS)
        assert found.best[0] >= 32
        assert found.remaining[0] < 0.5 * found.variance
        assert np.all(np.diff(found.remaining) >= 0)
        assert "should cut the typical error of the forecast from " in found.advice

    @pytest.mark.thorough
    def test_is_one_of_two_along_p_when_more_than_one_growth_is_possible(self):
        rising = {"io": TASK["io"], "cpu": lambda p, d: 200 / p + 1.5 * np.sqrt(p)}
        fitted = fit(rising, rng=np.random.default_rng(1))
        growth = [fitted.components[1].posterior.present[j] for j in (7, 8, 9)]
        assert np.sum(np.array(growth) >= 0.1) > 1
        assert "plan a second run on" in fitted.next_run(targets=TARGETS).advice
        linear = fit({"cpu": lambda p, d: 200 / p + 0.5 * p}, rng=np.random.default_rng(1))
        two = r"more than one way \(\(sqrt\(p\)-1\) \d+ %, \(p-1\) \d+ %\), plan a second run on 16 to "
        assert re.search(two, linear.next_run(targets=TARGETS).advice)
        steady = fit({"cpu": lambda p, d: 90 / p}, repeats=1)
        assert "second run" not in steady.next_run(targets=TARGETS).advice

    @pytest.mark.thorough
    def test_an_allotment_that_was_run_lies_from_the_law_as_those_run_do(self, peak):
        """What its distance from the law adds to the doubt is not that of an allotment never run."""
        misfit = peak.margin.misfit
        assert misfit.unseen > 1.01
        for p, d, size in ((8, 2, 1.0), (2, 8, 1.0), (8, 3, misfit.unseen**2)):
            points = np.array([float(p)]), np.array([float(d)])
            posteriors = [each.posterior for each in peak.components]
            seconds = sum(each.draws @ each.library.values(*points) for each in posteriors)
            expected = np.var(np.log(seconds)) + size * np.mean(misfit.seen**2)
            assert peak.next_run([(32, 8)], targets=(p, d)).variance == pytest.approx(expected, rel=1e-9)

    @pytest.mark.thorough
    def test_keeps_to_the_budget(self, peak):
        every = peak.next_run(targets=TARGETS)
        budget = float(np.median(every.core_seconds))
        some = peak.next_run(targets=TARGETS, budget=budget)
        assert 0 < some.processors.size < every.processors.size
        assert np.all(some.core_seconds <= budget)
        assert np.all(some.core_seconds > 0)

    def test_costs_its_processors_times_its_seconds(self, peak):
        found = peak.next_run([(32, 8)], targets=TARGETS)
        assert found.core_seconds[0] == pytest.approx(32 * total(SPECIFIED["peak"], 32, 8), rel=0.15)
        assert found.core_seconds[0] == pytest.approx(32 * peak.predict(32, 8).time[0])

    def test_by_core_second_prefers_the_cheaper_of_two_that_tell_the_same(self, peak):
        found = peak.next_run(targets=TARGETS, by="per core-second")
        gain = (found.variance - found.remaining.data) / found.core_seconds
        assert np.all(np.diff(gain) <= 1e-15)

    def test_a_run_repeated_where_all_is_known_tells_little(self, peak):
        found = peak.next_run([(1, 1), (64, 64)], targets=[(64, 64)])
        assert found.best == (64.0, 64.0)
        assert found.remaining[1] > 0.8 * found.variance
        # What is left at the target itself: a run of 5 % of each burst.
        assert found.remaining[0] < 0.05**2

    def test_lists_its_candidates(self, peak):
        found = peak.next_run([(32, 8), (16, 8), (32, 8)], targets=(64, 64))
        assert found.processors.size == 2
        assert found.to_frame()["remaining_variance"].tolist() == found.remaining.tolist()
        assert len(found.table().splitlines()) == 4
        far = replace(found, remaining=np.ma.masked_array([1e3, 2e3]))
        assert all(re.search(r"\d +a factor of", line) for line in far.table().splitlines()[2:])

    @pytest.mark.parametrize(
        "options",
        [
            {"targets": None},
            {"targets": []},
            {"targets": (0, 1)},
            {"targets": [(1, 2, 3)]},
            {"targets": (math.nan, 1)},
            {"targets": "64,64"},
            {"candidates": []},
            {"candidates": [(0.5, 1)]},
            {"candidates": [(i, 1) for i in range(1, 1002)]},
            {"budget": 0},
            {"budget": -1},
            {"budget": math.inf},
            {"budget": "cheap"},
            {"budget": 1e-9},
            {"budget": True},
            {"by": "price"},
            {"by": None},
        ],
        ids=str,
    )
    def test_refuses_what_cannot_be_asked(self, peak, options):
        with pytest.raises(ModelError):
            peak.next_run(**({"targets": (64, 64)} | options))
