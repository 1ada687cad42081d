"""How near predictions come and how often intervals hold the truth.

The gate runs a small fixed sample of each campaign; its limits are those of the acceptance
list (numbers 1 to 4, 7, 8), moved by what so few replications may be off with a probability of
one in a thousand. The campaigns in full are slow.
"""

from __future__ import annotations

import copy
import math
from functools import cache

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import nnls

from qmodels.io.runs import RunTable
from qmodels.programs import fit_runs
from tests.naive.scaling import (
    EIGHT,
    FRESH,
    GRID,
    SPECIFIED,
    TARGETS,
    measured,
    random_truth,
    total,
)

P, D = np.array(TARGETS, dtype=float).T
#: Truths that are least like what the library has; the others are for the campaign in full.
FARTHEST = (
    "shallow and rising",
    "contention and coherence",
    "between the steps, and a tree",
    "a rounded corner",
)


class Campaign:
    """Fits of simulated runs, and what they say at the two targets against the truth."""

    def __init__(self, truth, size, *, seed=20261121, discrepancy=None, **options):
        self.fits = []
        for child in np.random.SeedSequence(seed).spawn(size):
            rng = np.random.default_rng(child)
            here = truth(rng) if callable(truth) else truth
            runs = measured(here, rng=rng, **options)
            (fitted,) = fit_runs(runs, discrepancy=discrepancy).values()
            self.fits.append((here, runs, fitted))
        self.judge(0.9)

    def judge(self, level):
        """Compare intervals of a level with the truth."""
        self.errors, self.covered, self.widths, self.differences = [], [], [], []
        for here, runs, fitted in self.fits:
            found = fitted.predict(P, D, level, of="mean")  # the truth is one without noise
            times = total(here, P, D)
            gains = total(here, 1, 1) / times
            self.errors.append(np.abs(found.time.data / times - 1))
            self.widths.append(found.time_high / found.time_low)
            self.covered.append(
                [
                    (found.time_low <= times) & (times <= found.time_high),
                    (found.speedup_low <= gains) & (gains <= found.speedup_high),
                ]
            )
            self.differences.append(
                [self.errors[-1] - np.abs(on_totals(runs, form) / times - 1) for form in (1, 2)]
            )

    @property
    def error(self):
        """Mean absolute relative error at the targets."""
        return np.mean(self.errors, axis=0)

    def error_with_doubt(self):
        """The same less three of its standard errors."""
        return self.error - 3.1 * np.std(self.errors, axis=0, ddof=1) / len(self.errors) ** 0.5

    @property
    def coverage(self):
        """Share of intervals that hold the truth: T and S down, targets across."""
        return np.mean(self.covered, axis=0)

    def paired(self, form):
        """Mean difference of errors to a fit on totals, over both targets, and its half-width."""
        difference = np.array(self.differences)[:, form - 1].mean(axis=1)
        half = stats.t.ppf(0.975, len(difference) - 1) * difference.std(ddof=1)
        return difference.mean(), half / len(difference) ** 0.5

    def report(self, name):
        """Print what the documentation of claims quotes."""
        lines = [f"{name}: error {self.error.round(3)}, coverage of T {self.coverage[0].round(3)}"]
        lines.append(f"and S {self.coverage[1].round(3)}, width {np.median(self.widths, axis=0).round(2)}")
        for form in (1, 2):
            mean, half = self.paired(form)
            lines.append(f"less form {form} on totals {mean:.3f} +- {half:.3f}")
        print("; ".join(lines))


@cache
def few(name):
    """A small campaign of a truth of the specification."""
    return Campaign(SPECIFIED[name], 8)


def on_totals(runs, form):
    """Predict by a + b/p, or a + b/p + c/d, fitted to whole runs by relative least squares."""
    totals = runs.frame.groupby(["p", "d", "repeat"], as_index=False)["seconds"].sum()
    y = totals["seconds"].to_numpy()

    def columns(p, d):
        return np.stack([np.ones(len(p)), 1 / p, 1 / d][: form + 1], axis=1)

    x = columns(totals["p"].to_numpy(float), totals["d"].to_numpy(float))
    return columns(P, D) @ nnls(x / y[:, None], np.ones(len(y)))[0]


def by_simplest_forms(runs):
    """Predict by a + b/p for computation and a + c/d for I/O, each fitted by itself."""
    frame, found = runs.frame, 0.0
    for kind, unit, target in (("cpu", "p", P), ("io", "d", D)):
        part = frame[frame["kind"] == kind]
        x = np.stack([np.ones(len(part)), 1 / part[unit].to_numpy(float)], axis=1)
        y = part["seconds"].to_numpy()
        found = found + np.stack([np.ones(2), 1 / target], axis=1) @ nnls(x / y[:, None], np.ones(len(y)))[0]
    return found


def at_least(share, size):
    """Share that a sample falls below with probability 1/1000 when the true one is `share`."""
    return float(stats.binom.ppf(0.001, size, share)) / size


def at_most(share, size):
    return float(stats.binom.ppf(0.999, size, share)) / size


@pytest.mark.thorough
def test_with_the_simplest_forms_phases_predict_no_better_than_totals():
    """R-21 fails without min(d, p/R): a finding, see docs/claims.md."""
    errors = []
    for child in np.random.SeedSequence(21).spawn(100):
        runs = measured(SPECIFIED["task"], rng=np.random.default_rng(child))
        times = total(SPECIFIED["task"], P, D)
        found = [by_simplest_forms(runs), on_totals(runs, 1), on_totals(runs, 2)]
        errors.append([np.abs(one / times - 1) for one in found])
    # Two means of a hundred samples, four standard errors apart at most, and half a digit.
    apart = 4 * np.sqrt(2) * np.std(errors, axis=0, ddof=1) / 10 + 0.005
    phases, amdahl, three_terms = zip(np.mean(errors, axis=0), apart, strict=True)
    for (found, near), row in (
        (phases, [0.50, 1.28]),
        (amdahl, [0.50, 1.01]),
        # By chance 128/p is what min(d, p/4) looks like on most of the grid.
        (three_terms, [0.024, 0.057]),
    ):
        assert np.all(np.abs(found - row) < near), (found, row)
    assert np.all(apart < 0.1)
    # Paired: from phases is no better at the first target, and worse at the second.
    gap = np.array([each[0] - each[1] for each in errors])
    half = stats.t.ppf(0.999, 99) * gap.std(axis=0, ddof=1) / 10
    assert gap.mean(axis=0)[0] > -half[0]
    assert gap.mean(axis=0)[1] > half[1]


@pytest.mark.thorough
class TestInTheGate:
    def test_the_task_is_predicted_within_its_limits_and_far_better_than_by_amdahl(self):
        """R-21, and number 1 of the specification."""
        found = Campaign(SPECIFIED["task"], 12)
        assert np.all(found.error_with_doubt() <= [0.10, 0.20])
        mean, half = found.paired(1)
        assert mean + half < -0.5
        assert np.all(found.coverage >= at_least(0.80, 12))

    def test_random_programs_are_predicted_within_their_limits_and_covered(self):
        """Numbers 2 and 3."""
        found = Campaign(random_truth, 20)
        assert np.all(found.error_with_doubt() <= [0.15, 0.25])
        assert found.paired(1)[0] < 0
        assert found.paired(2)[0] < 0
        assert np.all(found.coverage >= at_least(0.86, 20))
        assert np.all(found.coverage <= at_most(0.96, 20))
        assert np.all(np.median(found.widths, axis=0) <= [2.0, 3.0])

    @pytest.mark.parametrize("name", ["comm", "peak", "outside"])
    def test_intervals_hold_what_shows_only_outside_the_measured_box(self, name):
        assert np.all(few(name).coverage >= at_least(0.80, 8))

    def test_intervals_stay_honest_for_programs_outside_the_library(self):
        for name in FARTHEST:
            found = Campaign(FRESH[name], 4)
            assert found.coverage.mean() >= at_least(0.80, 4), name

    def test_eight_runs_without_repeats_do(self):
        """Number 4."""
        found = Campaign(SPECIFIED["task"], 8, grid=EIGHT, repeats=1)
        assert np.all(found.error_with_doubt() <= [0.15, 0.30])
        assert np.all(found.coverage >= at_least(0.85, 8))

    def test_the_disks_that_processors_feed_are_found_within_a_step_of_the_grid(self, rng):
        """Number 7."""
        io = {"io": SPECIFIED["task"]["io"]}
        found = [fed(measured(io, rng=rng)) for _ in range(10)]
        assert np.mean(found) >= at_least(0.95, 10)


def fed(runs):
    """Whether 1/min(d, p/R) with R within a step of 4 is in the most probable law."""
    (fitted,) = fit_runs(runs, draws=100).values()
    near = [f"1/min(d, p/{4 * step:.4g})" for step in (2**-0.5, 1, 2**0.5)]
    return any(term in near for term in fitted.components[0].coefficients)


def after_one_run(truth, runs, ranked, rng, at):
    """Width at the targets and variance of log T after the run in place `at` of the ranking."""
    cell = (int(ranked.processors[at]), int(ranked.disks[at]))
    more = measured(truth, [cell], repeats=1, rng=rng).frame.assign(repeat=3)
    from pandas import concat

    (fitted,) = fit_runs(RunTable(concat([runs.frame, more]))).values()
    found = fitted.predict(P, D, of="mean")
    again = fitted.next_run([cell], targets=TARGETS)
    times = total(truth, P, D)
    return {
        "width": float(np.mean(np.log(found.time_high / found.time_low))),
        "predicted": float(ranked.remaining[at]),
        "realised": again.variance,
        "covered": float(np.mean((found.time_low <= times) & (times <= found.time_high))),
    }


def next_runs(truth, size, seed):
    """Compare the best run with one of the others at random, on the same data."""
    found = []
    for child in np.random.SeedSequence(seed).spawn(size):
        pick = int(np.random.default_rng(child).integers(1, 10_000))
        rng = np.random.default_rng(child)
        runs = measured(truth, rng=rng)
        (before,) = fit_runs(runs).values()
        ranked = before.next_run(targets=TARGETS)
        both = (0, copy.deepcopy(rng)), (pick % ranked.processors.size, rng)
        found.append([after_one_run(truth, runs, ranked, noise, at) for at, noise in both])
    return zip(*found, strict=True)


class TestTheNextRun:
    @pytest.mark.thorough
    def test_leaves_narrower_intervals_than_a_run_at_random(self):
        """Number 8, on few replications: the median width, and what was promised of it."""
        best, other = next_runs(SPECIFIED["peak"], 5, seed=8)
        median = [np.median([one["width"] for one in runs]) for runs in (best, other)]
        assert median[0] <= 0.85 * median[1]
        promised, kept = (np.mean([one[k] for one in best]) for k in ("predicted", "realised"))
        assert 0.5 <= promised / kept <= 2.0


@pytest.mark.slow
class TestInFull:
    def test_number_1_the_task(self):
        found = Campaign(SPECIFIED["task"], 200)
        found.report("task")
        assert np.all(found.error <= [0.10, 0.20])
        mean, half = found.paired(1)
        assert mean + half < -0.5

    def test_numbers_2_and_3_random_programs(self):
        found = Campaign(random_truth, 300)
        found.report("random")
        assert np.all(found.error <= [0.15, 0.25])
        for form in (1, 2):
            mean, half = found.paired(form)
            assert mean + half < 0
        assert np.all(found.coverage >= 0.86)
        assert np.all(np.median(found.widths, axis=0) <= [2.0, 3.0])
        # What is learnt of the discrepancy makes room for programs that follow no law, and these
        # do: so the upper limit is that of intervals that know as much.
        assert np.all(Campaign(random_truth, 300, discrepancy=0.02).coverage <= 0.96)

    @pytest.mark.parametrize("name", SPECIFIED)
    def test_number_3_truths_of_the_specification(self, name):
        found = Campaign(SPECIFIED[name], 200)
        found.report(name)
        assert np.all(found.coverage >= 0.80)

    @pytest.mark.parametrize("name", FRESH)
    def test_number_3_truths_outside_the_library(self, name):
        found = Campaign(FRESH[name], 100)
        found.report(name)
        assert np.all(found.coverage >= 0.80)

    @pytest.mark.parametrize("truth", [SPECIFIED["task"], random_truth], ids=["task", "random"])
    @pytest.mark.parametrize("how", ["by run", "outliers"])
    def test_number_3_other_noise(self, truth, how):
        found = Campaign(truth, 150, how=how)
        found.report(how)
        assert np.all(found.coverage >= 0.85)

    @pytest.mark.parametrize("truth", [SPECIFIED["task"], random_truth], ids=["task", "random"])
    def test_number_4_eight_runs(self, truth):
        found = Campaign(truth, 200, grid=EIGHT, repeats=1)
        found.report("eight runs")
        assert np.all(found.error <= [0.15, 0.30])
        assert np.all(found.coverage >= 0.85)

    def test_number_7_the_disks_that_processors_feed(self):
        rng = np.random.default_rng(7)
        io = {"io": SPECIFIED["task"]["io"]}
        found = np.mean([fed(measured(io, rng=rng)) for _ in range(200)])
        print(f"found within a step: {found}")
        assert found >= 0.95

    @pytest.mark.parametrize("name", ["task", "peak"])
    def test_number_8_the_next_run(self, name):
        best, other = next_runs(SPECIFIED[name], 60, seed=88)
        median = [np.median([one["width"] for one in runs]) for runs in (best, other)]
        promised, kept = (np.mean([one[k] for one in best]) for k in ("predicted", "realised"))
        covered = np.mean([one["covered"] for one in best])
        print(
            f"{name}: width {median[0]:.3f} against {median[1]:.3f}; promised {promised:.5f}, "
            f"kept {kept:.5f}; covered after it {covered:.2f}"
        )
        assert median[0] <= 0.85 * median[1]
        assert 0.5 <= promised / kept <= 2.0


@pytest.mark.thorough
def test_the_campaign_would_notice_intervals_that_are_too_narrow():
    """Intervals of 50 % hold less than the gate allows."""
    found = copy.copy(few("peak"))
    found.judge(0.5)
    assert np.any(found.coverage < at_least(0.80, 8))


def test_the_grid_of_targets_is_outside_what_is_measured():
    assert max(p for p, _ in GRID) < min(P)
    assert max(d for _, d in GRID) < min(D)
    assert math.prod((len(GRID), 2)) == 40
