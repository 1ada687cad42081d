from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qmodels.errors import MemoryBudgetError, ModelError
from qmodels.io.runs import COLUMNS, RunTable
from qmodels.policies import DynamicPartitioning, System, Workload, capacity
from qmodels.programs import Program, WorkingSet, fit_runs
from qmodels.programs.scaling import PROCESSORS_PER_DISK
from qmodels.programs.scaling.fit import _unweighted
from qmodels.programs.scaling.pooling import Pooled
from qmodels.programs.scaling.screening import _linearised_fits
from qmodels.programs.scaling.sizes import size_asked
from tests.examples import examples
from tests.naive.scaling import GRID, SPECIFIED, TARGETS, measured

coefficients = st.floats(0.5, 100.0)


def table(truth, grid=GRID, name="solver"):
    """Make noise-free runs of one program: `truth` maps (phase, kind) to a function of p and d."""
    rows = [
        (name, phase, kind, p, d, float(time(p, d))) for (phase, kind), time in truth.items() for p, d in grid
    ]
    return RunTable(pd.DataFrame(rows, columns=list(COLUMNS)))


def only(fitted):
    (program,) = fitted.values()
    return program


class TestWithoutNoise:
    @pytest.mark.thorough
    @settings(max_examples=examples(20))
    @given(coefficients, coefficients, coefficients | st.just(0.0))
    def test_computation_is_recovered(self, a, b, c):
        fitted = only(fit_runs(table({(1, "cpu"): lambda p, d: a + b / p + c * (p - 1)})))
        found = fitted.components[0].coefficients
        expected = {"1": a, "1/p": b} | ({"(p-1)": c} if c else {})
        assert found == pytest.approx(expected, rel=1e-6, abs=0)
        far = a + b / 512 + c * 511
        assert float(fitted.program.mean_time(512, 64)) == pytest.approx(far, rel=1e-4)

    @pytest.mark.thorough
    @settings(max_examples=examples(10))
    @given(coefficients | st.just(0.0), coefficients, st.sampled_from(PROCESSORS_PER_DISK))
    def test_io_that_processors_must_feed_is_recovered(self, a, b, r):
        def time(p, d):
            return a + b / min(d, p / r)

        fitted = only(fit_runs(table({(1, "io"): time})))
        for p, d in GRID:
            assert float(fitted.program.mean_io(p, d)) == pytest.approx(time(p, d), rel=1e-5)
        if 1 <= r <= 8:  # both limits are met on the grid, and more than once
            expected = {f"1/min(d, p/{r:.4g})": b} | ({"1": a} if a else {})
            assert fitted.components[0].coefficients == pytest.approx(expected, rel=1e-6, abs=0)
            assert float(fitted.program.mean_io(99, 33)) == pytest.approx(time(99, 33), rel=1e-4)

    @pytest.mark.thorough(first=1)
    @pytest.mark.parametrize(
        ("kind", "time", "formula"),
        [
            ("io", lambda p, d: 3 + 48 / d, "3 + 48/d"),
            ("io", lambda p, d: 7 / d + 0.5 * (d - 1), "7/d + 0.5*(d-1)"),
            ("io", lambda p, d: 64 / (p * d) + 2 * p / d, "64/(p*d) + 2*p/d"),
            ("io", lambda p, d: 9 / min(d, p / 4) ** 0.7, "9/min(d, p/4)^0.7"),
            ("cpu", lambda p, d: 50 / p**0.6 + 0.5 * math.log2(p), "50/p^0.6 + 0.5*log2(p)"),
            ("cpu", lambda p, d: 9 / p + 2 * (math.sqrt(p) - 1), "9/p + 2*(sqrt(p)-1)"),
        ],
    )
    def test_every_kind_of_term_is_found_and_written_out(self, kind, time, formula):
        found = only(fit_runs(table({(1, kind): time}))).components[0]
        assert found.formula == formula
        assert found.probability > 0.99
        assert found.sigma < 2e-6

    def test_the_law_of_contention_is_among_them(self):
        """H = p/(1 + c(p - 1)): time A/p + B."""
        found = only(fit_runs(table({(1, "cpu"): lambda p, d: 90 * (1 + 0.1 * (p - 1)) / p})))
        assert found.components[0].formula == "9 + 81/p"

    @pytest.mark.thorough
    def test_every_program_and_phase_is_fitted_by_itself(self):
        truth = {
            (1, "io"): lambda p, d: 8 / d,
            (1, "cpu"): lambda p, d: 1 + 20 / p,
            (2, "io"): lambda p, d: 5.0,
            (2, "cpu"): lambda p, d: 90 / p,
        }
        one, other = table(truth), table({(1, "cpu"): lambda p, d: 7 / p}, name="other")
        fitted = fit_runs(RunTable(pd.concat([one.frame, other.frame])))
        assert list(fitted) == ["solver", "other"]
        assert [c.formula for c in fitted["solver"].components] == ["8/d", "1 + 20/p", "5", "90/p"]
        assert fitted["solver"].program.name == "solver"
        io, cpu = fitted["solver"].program.phase_times(4, 2)
        assert io == pytest.approx([4.0, 5.0], rel=1e-6)
        assert cpu == pytest.approx([6.0, 22.5], rel=1e-6)

    def test_the_unit_of_time_does_not_matter(self):
        def time(p, d):
            return 2 + 30 / p + 0.25 * (p - 1)

        hours = only(fit_runs(table({(1, "cpu"): lambda p, d: time(p, d) / 3600}))).components[0]
        second = only(fit_runs(table({(1, "cpu"): time}))).components[0]
        for name, value in second.coefficients.items():
            assert hours.coefficients[name] * 3600 == pytest.approx(value, rel=1e-9)


@pytest.mark.thorough
class TestPhasesThatRepeat:
    def test_need_to_be_measured_only_once(self):
        """R-22. Noise-free: one instance of the unique phase tells as much as all of them."""

        def io(p, d):
            return 32 / min(d, p / 4)

        def cpu(p, d):
            return 2 + 60 / p

        every = {(n, kind): f for n in (1, 2, 3) for kind, f in (("io", io), ("cpu", cpu))}
        from_all = only(fit_runs(table(every))).program
        (phase,) = only(fit_runs(table({(1, "io"): io, (1, "cpu"): cpu}))).program.phases
        from_one = Program([WorkingSet(3, [phase])])
        for p, d in [(1, 1), (16, 8), (64, 64), (128, 32)]:
            expected = float(from_all.mean_time(p, d))
            assert float(from_one.mean_time(p, d)) == pytest.approx(expected, rel=1e-12)

    def test_gain_from_each_others_noise(self, rng):
        """Twelve phases of two runs each know their noise; one phase of two runs does not."""
        grid = [(1, 1), (2, 1), (4, 1), (8, 1), (16, 1)]
        cpu = {"cpu": lambda p, d: 60 + 512 / p}
        many = only(fit_runs(measured(cpu, grid, repeats=2, rng=rng, phases=12)))
        spread = [np.std(np.log(c.posterior.sigmas)) for c in many.components]
        alone = [
            np.std(
                np.log(only(fit_runs(measured(cpu, grid, repeats=2, rng=rng))).components[0].posterior.sigmas)
            )
            for _ in range(4)
        ]
        assert np.mean(spread) < 0.8 * np.mean(alone)
        assert np.median([c.sigma for c in many.components]) == pytest.approx(0.05, rel=0.25)


@pytest.fixture(scope="module")
def task():
    """Return the program "task" of the specification as fitted from 20 allotments, twice each."""
    return only(fit_runs(measured(SPECIFIED["task"], rng=np.random.default_rng(4))))


class TestTheProgram:
    @pytest.mark.thorough
    def test_takes_what_forecasts_say_on_every_allotment(self, task):
        """One estimator: a forecast told medians, and figures of the program showed means."""
        p, d = np.array([1.0, 3.0, 16.0, 64.0]), np.array([1.0, 5.0, 8.0, 64.0])
        found = task.predict(p, d)
        assert task.program.mean_time(p, d) == pytest.approx(found.time.data, rel=1e-12)
        gains = float(task.program.mean_time(1, 1)) / found.time.data
        assert found.speedup.data == pytest.approx(gains, rel=1e-12)

    def test_lies_in_the_middle_of_the_laws_that_the_runs_allow(self, task):
        p, d = np.array([1.0, 3.0, 16.0, 64.0]), np.array([1.0, 5.0, 8.0, 64.0])
        drawn = np.log(sum(c.posterior.draws @ c.posterior.library.values(p, d) for c in task.components))
        off = np.log(task.program.mean_time(p, d)) - np.median(drawn, axis=0)
        assert np.all(np.abs(off) < drawn.std(axis=0) / 2)

    def test_keeps_constant_and_growing_terms_out_of_the_parallel_part(self):
        truth = {
            (1, "io"): lambda p, d: 3 + 48 / d + 0.5 * (d - 1),
            (1, "cpu"): lambda p, d: 2 + 30 / p + 0.25 * (p - 1),
        }
        program = only(fit_runs(table(truth))).program
        p, d = np.array([1.0, 4.0, 16.0]), np.array([1.0, 2.0, 8.0])
        assert program.parallel_cpu(p, d) == pytest.approx(30 / p, rel=1e-4)
        assert program.sequential_cpu(p, d) == pytest.approx(2 + 0.25 * (p - 1), rel=1e-4)
        assert program.parallel_io(p, d) == pytest.approx(48 / d, rel=1e-4)
        assert program.sequential_io(p, d) == pytest.approx(3 + 0.5 * (d - 1), rel=1e-4)

    def test_goes_into_a_policy(self, task):
        machine = System(processors=16, disks=8)
        work = Workload.from_scv(task.program, demand_scv=1.0, arrival_scv=1.0)
        assert capacity(DynamicPartitioning(1), machine, work) > 0
        assert task.program is task.program

    def test_scales_with_its_unit(self, task):
        scaled = task.program.scaled(2.0)
        assert float(scaled.mean_time(5.5, 3.0)) == pytest.approx(
            2 * float(task.program.mean_time(5.5, 3.0)), rel=1e-12
        )


class TestPrediction:
    def test_says_where_it_was_measured_and_how_far_it_goes_outside(self, task):
        found = task.predict([16, 3, 64, 128, 16], [8, 3, 64, 1, 32])
        assert found.mark.tolist() == [
            "measured",
            "interpolated",
            "extrapolated",
            "extrapolated",
            "extrapolated",
        ]
        assert found.doublings.tolist() == [0.0, 0.0, 5.0, 3.0, 2.0]
        assert "doublings outside the runs: 5" in found.table()

    def test_on_measured_allotments_is_as_sure_as_the_mean_of_its_runs(self, task):
        """Two runs at 5 % and the smoothing over 20 allotments: narrower than 3.3 * 5 %/sqrt 2."""
        found = task.predict(*np.array(GRID).T, of="mean")
        widths = np.log(found.time_high / found.time_low)
        assert np.all(widths < 2 * 1.645 * 0.05 / math.sqrt(2))
        assert np.all(found.time_low <= found.time)
        assert np.all(found.time <= found.time_high)

    def test_of_one_run_has_the_noise_of_a_run_besides(self, task):
        """At a measured allotment: that of the mean, and 5 % of each run in quadrature."""
        p, d = np.array(GRID).T
        one, mean = task.predict(p, d), task.predict(p, d, of="mean")
        widths = [np.log(each.time_high / each.time_low) for each in (one, mean)]
        expected = np.hypot(2 * 1.645 * 0.05, widths[1])
        assert widths[0] == pytest.approx(expected, rel=0.25)
        assert one.time.tolist() == mean.time.tolist()
        # Speedup is a ratio of means, whichever run is asked about.
        assert one.speedup_low.tolist() == mean.speedup_low.tolist()

    def test_of_the_speedup_at_one_processor_and_one_disk_is_one(self, task):
        found = task.predict(1, 1)
        assert (found.speedup[0], found.speedup_low[0], found.speedup_high[0]) == (1.0, 1.0, 1.0)

    def test_a_higher_level_gives_a_wider_interval(self, task):
        narrow, wide = task.predict(64, 64, 0.5), task.predict(64, 64, 0.99)
        assert wide.time_low[0] < narrow.time_low[0] < narrow.time_high[0] < wide.time_high[0]
        assert wide.time[0] == narrow.time[0]

    def test_doublings_outside_add_the_discrepancy_that_was_asked_for(self):
        """Without noise the interval is the discrepancy alone: 2 * 1.645 of sqrt(3) doublings."""
        runs = table({(1, "cpu"): lambda p, d: 5 + 90 / p})
        sure = only(fit_runs(runs, discrepancy=0)).predict(128, 8)
        assert math.log(sure.time_high[0] / sure.time_low[0]) < 1e-4
        doubtful = only(fit_runs(runs, discrepancy=0.1, draws=20_000)).predict(128, 8)
        width = math.log(doubtful.time_high[0] / doubtful.time_low[0])
        assert width == pytest.approx(2 * 1.645 * 0.1 * math.sqrt(3), rel=0.05)

    def test_is_the_shortest_interval_of_the_draws(self, rng):
        """By hand, the discrepancy left out: about the law in the middle, as its mean logarithm is."""
        (fitted,) = fit_runs(measured(SPECIFIED["peak"], rng=rng), discrepancy=0).values()
        found = fitted.predict(128, 32, of="mean")
        at = np.array([128.0]), np.array([32.0])
        times = np.sort(
            sum(c.posterior.draws @ c.posterior.library.values(*at)[:, 0] for c in fitted.components)
        )
        times *= found.time.data[0] / np.exp(np.log(times).mean())
        spans = [(times[i + 899] / times[i], times[i], times[i + 899]) for i in range(101)]
        low, high = min(spans)[1:]
        assert found.time_low[0] == pytest.approx(low, rel=1e-12)
        assert found.time_high[0] == pytest.approx(high, rel=1e-12)

    def test_gives_the_most_probable_law_beside_the_median(self, task):
        found = task.predict(64, 64)
        by_hand = sum(
            c.posterior.likeliest @ c.posterior.library.values(np.array([64.0]), np.array([64.0]))
            for c in task.components
        )
        assert found.by_formula[0] == pytest.approx(float(by_hand[0]), rel=1e-12)

    def test_is_the_same_bit_for_bit_when_asked_again(self, task):
        again = only(fit_runs(measured(SPECIFIED["task"], rng=np.random.default_rng(4))))
        one, other = task.predict(*np.array(TARGETS).T), again.predict(*np.array(TARGETS).T)
        for name in ("time", "time_low", "time_high", "speedup_low", "speedup_high"):
            assert np.array_equal(getattr(one, name), getattr(other, name))

    @pytest.mark.thorough
    def test_with_another_seed_moves_by_no_more_than_its_draws(self):
        runs = measured(SPECIFIED["task"], rng=np.random.default_rng(4))
        ends = [only(fit_runs(runs, seed=k)).predict(64, 64) for k in range(4)]
        assert len({found.time_high[0] for found in ends}) == 4
        assert np.std([np.log(found.time[0]) for found in ends]) < 0.02
        assert np.std([np.log(found.time_high[0]) for found in ends]) < 0.15

    def test_over_a_surface_agrees_with_single_predictions(self, task):
        surface = task.surface_interval([1, 16, 128], [1, 64])
        assert surface.time.shape == (3, 2)
        single = task.predict(128, 64)
        assert surface.time[2, 1] == pytest.approx(single.time[0], rel=1e-12)
        assert surface.time_high[2, 1] == pytest.approx(single.time_high[0], rel=1e-12)
        mean = task.surface([1, 16, 128], [1, 64])
        assert np.all(mean.mean_time > surface.time_low)
        assert np.all(mean.mean_time < surface.time_high)

    def test_lists_its_numbers(self, task):
        found = task.predict([16, 64], [8, 64])
        frame = found.to_frame()
        assert frame["time_low"].tolist() == found.time_low.tolist()
        assert frame["mark"].tolist() == ["measured", "extrapolated"]
        assert len(found.table().splitlines()) == 3

    @pytest.mark.parametrize(
        ("p", "d", "level"),
        [
            (0, 1, 0.9),
            (1, 0.5, 0.9),
            (math.nan, 1, 0.9),
            (1, math.inf, 0.9),
            (-4, 1, 0.9),
            ("4", 1, 0.9),
            (None, 1, 0.9),
            (True, 1, 0.9),
            (1e13, 1, 0.9),
            ([], [], 0.9),
            ([1, 2], [1, 2, 3], 0.9),
            (1, 1, 0.0),
            (1, 1, 1.0),
            (1, 1, math.nan),
            (1, 1, "90 %"),
            (1, 1, None),
            (1, 1, True),
        ],
    )
    def test_refuses_what_is_no_allotment_or_level(self, task, p, d, level):
        with pytest.raises(ModelError):
            task.predict(p, d, level)

    def test_refuses_a_surface_that_is_too_large(self, task):
        with pytest.raises(MemoryBudgetError):
            task.surface_interval(np.arange(1, 3000), np.arange(1, 3000))


class TestTheReport:
    def test_is_a_table_and_a_frame(self):
        fitted = only(fit_runs(table({(1, "cpu"): lambda p, d: 3 + 8 / p})))
        assert "phase 1 cpu: 3 + 8/p s (probability 1)" in fitted.table()
        assert fitted.to_frame()["formula"].tolist() == ["3 + 8/p"]
        assert fitted.allotments.tolist() == sorted([float(p), float(d)] for p, d in GRID)

    def test_says_that_a_burst_was_never_timed(self):
        fitted = only(fit_runs(table({(1, "cpu"): lambda p, d: 3 + 8 / p})))
        assert "phase 1 io: never timed, taken as 0 s" in fitted.unidentified

    def test_has_nothing_to_add_when_the_runs_tell_all(self):
        truth = {(1, "io"): lambda p, d: 32 / min(d, p / 4), (1, "cpu"): lambda p, d: 1 + 512 / p}
        assert only(fit_runs(table(truth))).unidentified == ()

    def test_names_the_noise_that_repeats_show(self, rng):
        cpu = {"cpu": lambda p, d: 60 + 512 / p}
        found = only(fit_runs(measured(cpu, repeats=5, noise=0.2, rng=rng))).components[0]
        # 100 runs: the deviation of their root mean square is 1/sqrt(200) of it; the grid of
        # sigma has steps of a quarter.
        assert found.sigma == pytest.approx(0.2, rel=4 / math.sqrt(200) + 0.125)
        assert found.relative_rms == pytest.approx(0.2, rel=4 / math.sqrt(200))


@pytest.mark.parametrize("runs", [None, 3, "runs.csv", [], {}])
def test_what_is_no_table_of_runs_is_refused(runs):
    with pytest.raises(ModelError, match="RunTable"):
        fit_runs(runs)


@pytest.mark.parametrize(
    "options",
    [
        {"discrepancy": -0.1},
        {"discrepancy": 2},
        {"discrepancy": math.nan},
        {"discrepancy": math.inf},
        {"discrepancy": True},
        {"discrepancy": "2 %"},
        {"draws": 10},
        {"draws": 10**9},
        {"draws": 1000.0},
        {"draws": None},
        {"seed": -1},
        {"seed": 2**40},
        {"seed": None},
        {"seed": True},
    ],
    ids=str,
)
def test_options_out_of_range_are_refused(options):
    runs = table({(1, "cpu"): lambda p, d: 3 + 8 / p}, GRID[:6])
    with pytest.raises(ModelError, match=next(iter(options))):
        fit_runs(runs, **options)


@pytest.mark.thorough
@pytest.mark.parametrize("seconds", [1e-18, 1e18])
def test_extreme_units_and_allotments_stay_finite(seconds):
    rows = [
        ("a", 1, kind, p, d, seconds)
        for kind in ("io", "cpu")
        for p, d in [(1, 1), (10**9, 10**9), (10**9, 1), (1, 10**9)]
    ]
    fitted = only(fit_runs(RunTable(pd.DataFrame(rows, columns=list(COLUMNS)))))
    found = fitted.predict([1, 1000, 10**12], [1, 7, 10**12])
    assert np.all(np.isfinite(found.time_low))
    assert np.all(np.isfinite(found.time_high))


def test_the_size_of_a_forecast_is_the_largest_where_most_processors_are():
    """Where larger machines were given smaller problems, too."""
    runs = pd.DataFrame({"p": [2.0, 2.0, 8.0, 8.0], "work": [100.0, 90.0, 10.0, 30.0]})
    assert size_asked("made", runs, None).work == 30.0


def test_work_per_processor_that_differs_by_less_than_one_differs():
    frame = pd.DataFrame({"p": [4.0, 4.0], "d": [1.0, 1.0], "work": [4.0, 7.0]})
    assert size_asked("x", frame, 5.0).together is False
    weak = pd.DataFrame({"p": [2.0, 4.0], "d": [1.0, 1.0], "work": [3.0, 6.0]})
    assert size_asked("x", weak, 4.0).together is True


def test_weights_by_processors_never_make_runs_look_less_noisy():
    """Runs that scatter less when all count alike leave the noise as it is; more, and it grows by that."""

    def totals(count, heavy):
        return SimpleNamespace(
            count=np.array(count), within=0.0, by_processors=lambda: SimpleNamespace(count=heavy, within=0.0)
        )

    residual = np.array([0.1, 0.3])
    assert _unweighted(totals([1.0, 1.0], np.array([0.5, 2.0])), residual) == 1.0
    wider = _unweighted(totals([1.0, 1.0], np.array([1.5, 0.25])), residual)
    assert wider == pytest.approx((0.1 / (1.5 * 0.01 + 0.25 * 0.09)) ** 0.5)


def test_terms_in_unlike_units_are_fitted_as_by_least_squares(rng):
    columns, runs = 1.0 + rng.random((3, 6)), rng.integers(1, 4, 6).astype(float)
    unit = np.array([1.0, 1e-9, 1e9])
    about, log_time = np.full(6, 2.0), rng.normal(0.7, 0.1, 6)
    data = Pooled(np.arange(6.0), np.ones(6), log_time, runs, 0.0, int(runs.sum()))
    terms = np.array([[0, 1, 2], [0, 1, 2]])
    found = _linearised_fits(columns * unit[:, None], terms, about, data)
    target, root = 1.0 + log_time - np.log(2.0), np.sqrt(runs)
    expected, squares, *_ = np.linalg.lstsq((columns / about * root).T, target * root, rcond=None)
    assert found.shares * unit == pytest.approx(np.stack([expected, expected]), rel=1e-8)
    assert found.squares == pytest.approx(np.full(2, squares[0]), rel=1e-8)


def test_the_order_of_rows_of_phases_by_name_does_not_matter():
    rows = [("s", p, 1, y, name) for name, y in (("solve", 9.0), ("io", 2.0)) for p in (1, 2, 4, 8)]
    frame = pd.DataFrame(rows, columns=["program", "p", "d", "seconds", "phase_name"])
    frame["seconds"] = frame["seconds"] / frame["p"] + [0.3, 0.2, 0.5, 0.1] * 2
    said = []
    for names in (["solve", "io"], ["io", "solve"]):
        numbered = frame.assign(phase=[names.index(name) + 1 for name in frame["phase_name"]], kind="cpu")
        found = fit_runs(RunTable(numbered.sort_values("phase")), draws=100)["s"].predict(64, 1)
        said.append([found.time.data[0], found.time_low[0], found.time_high[0]])
    assert said[1] == pytest.approx(said[0], rel=1e-9)
