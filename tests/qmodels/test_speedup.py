from __future__ import annotations

import math

import numpy as np
import pytest

from qmodels.errors import MemoryBudgetError, ModelError
from qmodels.programs import (
    Burst,
    Geometric,
    Phase,
    Program,
    SpeedupSurface,
    WorkloadMix,
    mean_of_ratios,
    speedup_surface,
)
from qmodels.programs.mean_ratios import ContentionRatio, FedDisksByValues
from qmodels.programs.quadrature import Nodes
from qmodels.programs.sums import unlike


class TestASurface:
    def test_weighs_allotments_by_any_function(self):
        surface = speedup_surface(Program([Phase(1.0, 3.0)]), [1, 2], [1, 4])
        assert surface.cost(lambda p, d: p + 10 * d)[1, 1] == pytest.approx(42 / surface.speedup[1, 1])

    def test_finds_the_best_allotment_by_efficacy(self):
        """Perfect scaling in p, S^2 / p = p: the most; no scaling in d: the fewest disks."""
        surface = speedup_surface(Program([Phase(0.0, 1.0)]), [1, 2, 4], [1, 2])
        assert surface.best("efficacy") == (4.0, 1.0, pytest.approx(4.0))
        assert surface.best("efficiency") == (1.0, 1.0, pytest.approx(1.0))

    def test_becomes_a_frame_with_a_row_per_allotment(self):
        surface = speedup_surface(Program([Phase(1.0, 3.0)]), [1, 2], [1, 4, 8])
        frame = surface.to_frame()
        assert len(frame) == 6
        row = frame[(frame["processors"] == 2) & (frame["disks"] == 4)].iloc[0]
        assert row["mean_time"] == pytest.approx(0.25 + 1.5)
        assert row["speedup"] == pytest.approx(4.0 / 1.75)
        assert row["efficacy"] == pytest.approx((4.0 / 1.75) ** 2 / 8)

    def test_cannot_be_edited(self):
        surface = speedup_surface(Program([Phase(1.0, 3.0)]), [1, 2], [1])
        for array in (surface.processors, surface.disks, surface.mean_time):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 7.0

    @pytest.mark.parametrize(
        "axis",
        [[], [0.5], [1, 1], [2, 1], [math.nan], [math.inf], [1e13], None, "12", [[1, 2]], [-1], {}],
    )
    def test_refuses_an_axis_that_is_not_increasing_from_one(self, axis):
        program = Program([Phase(1.0, 1.0)])
        with pytest.raises(ModelError, match="processors"):
            speedup_surface(program, axis, [1])
        with pytest.raises(ModelError, match="disks"):
            speedup_surface(program, [1], axis)

    @pytest.mark.parametrize("program", [None, 3, Phase(1.0, 1.0), [Phase(1.0, 1.0)], Program])
    def test_refuses_what_is_no_program(self, program):
        with pytest.raises(ModelError, match="program"):
            speedup_surface(program, [1], [1])

    def test_refuses_a_grid_that_would_not_fit(self):
        with pytest.raises(MemoryBudgetError):
            speedup_surface(Program([Phase(1.0, 1.0)]), np.arange(1, 1e5), np.arange(1, 1e5))

    @pytest.mark.parametrize(
        "g", [None, "d", 3, lambda p, d: p - d, lambda p, d: np.nan * p, lambda p, d: np.ones(7)]
    )
    def test_refuses_a_weighting_that_is_not_positive(self, g):
        surface = speedup_surface(Program([Phase(1.0, 1.0)]), [1, 2], [1, 2])
        for ask in (surface.efficiency, surface.cost, surface.efficacy):
            with pytest.raises(ModelError, match="g"):
                ask(g)

    @pytest.mark.parametrize("by", [None, "cost", 3])
    def test_refuses_to_rank_by_what_it_does_not_know(self, by):
        with pytest.raises(ModelError, match="by must be"):
            speedup_surface(Program([Phase(1.0, 1.0)]), [1], [1]).best(by)

    @pytest.mark.parametrize(
        ("times", "reference"),
        [
            ([[1.0, 1.0]], 1.0),
            ([[0.0], [1.0]], 1.0),
            ([[math.nan], [1.0]], 1.0),
            ([[1.0], [1.0]], 0.0),
            ([[1.0], [1.0]], math.nan),
            ([[1.0], [1.0]], None),
            (None, 1.0),
            ([[1.0], [1.0]], [1.0, 2.0]),
        ],
    )
    def test_refuses_times_that_cannot_be(self, times, reference):
        with pytest.raises(ModelError):
            SpeedupSurface([1, 2], [1], times, reference)


class TestTheMeanOfRatios:
    def test_equals_the_ratio_of_means_when_nothing_is_random(self, rng):
        program = Program([Phase(2.0, Burst(8.0, sequential=1.0))])
        estimate = mean_of_ratios(program, 4, 2, rng=rng, size=10)
        expected = speedup_surface(program, [4], [2]).speedup[0, 0]
        assert estimate.mean == pytest.approx(expected)
        assert estimate.standard_error == pytest.approx(0.0, abs=1e-14)

    def test_of_a_random_burst_agrees_with_its_integral(self, rng):
        """T = 1 + X, X uniform on (0, 9), on 10 processors 1 + X/10: E[(1 + X)/(1 + X/10)]."""
        from scipy import stats

        program = Program([Phase(0.0, Burst(stats.uniform(1.0, 9.0), sequential=1.0))])
        estimate = mean_of_ratios(program, 10, 1, rng=rng, size=50_000)
        expected = 10 - 9 * (10 / 9) * math.log(1.9)  # (1 + x)/(1 + x/10) = 10 - 9/(1 + x/10)
        assert abs(estimate.mean - expected) < 4 * estimate.standard_error
        assert estimate.standard_error < 0.02

    def test_of_a_mixture_counts_every_job_once(self, rng):
        fast, slow = Program([Phase(0.0, 10.0)]), Program([Phase(0.0, Burst(90.0, law="1"))])
        mix = WorkloadMix([fast, slow], [3, 1])
        estimate = mean_of_ratios(mix, 10, 1, rng=rng, size=20_000)
        assert abs(estimate.mean - (0.75 * 10 + 0.25)) < 4 * estimate.standard_error

    def test_draws_the_number_of_phases(self, rng):
        """One sequential phase, then, half of the times, one that scales."""
        phases = [Phase(0.0, Burst(1.0, law="1")), Phase(0.0, 3.0)]
        program = Program(phases, phase_count=[0.5, 0.5])
        estimate = mean_of_ratios(program, 3, 1, rng=rng, size=20_000)
        assert abs(estimate.mean - (0.5 * 1.0 + 0.5 * 4.0 / 2.0)) < 4 * estimate.standard_error

    def test_draws_geometric_numbers_of_unequal_phases(self, rng):
        """P[N = n] = 2^-n, sequential and scaling phases in turn; summed to 2^-60."""
        phases = [Phase(0.0, Burst(1.0, law="1")), Phase(0.0, 3.0)]
        program = Program(phases, phase_count=Geometric(2.0))
        estimate = mean_of_ratios(program, 3, 1, rng=rng, size=20_000)
        expected = sum(2.0**-n * ((n + 1) // 2 + 3 * (n // 2)) / n for n in range(1, 61))
        assert abs(estimate.mean - expected) < 4 * estimate.standard_error

    def test_draws_geometric_numbers_of_phases(self, rng):
        """Equal phases: the ratio is the same for every number of them."""
        program = Program([Phase(1.0, 3.0)], phase_count=Geometric(5.0))
        estimate = mean_of_ratios(program, 3, 1, rng=rng, size=500)
        assert estimate.mean == pytest.approx(2.0, rel=1e-12)

    def test_draws_from_samples(self, rng):
        program = Program([Phase(0.0, Burst([2.0, 10.0], sequential=1.0))])
        estimate = mean_of_ratios(program, 9, 1, rng=rng, size=20_000)
        expected = (2.0 / (1 + 1 / 9) + 10.0 / (1 + 9 / 9)) / 2
        assert abs(estimate.mean - expected) < 4 * estimate.standard_error

    def test_refuses_sequential_parts_that_exceed_their_burst(self, rng):
        program = Program([Phase(0.0, Burst([1.0, 5.0], sequential=2.0))])
        with pytest.raises(ModelError, match="exceeds its burst"):
            mean_of_ratios(program, 2, 1, rng=rng, size=100)

    def test_refuses_jobs_without_time(self, rng):
        program = Program([Phase(0.0, [0.0, 1.0])])
        with pytest.raises(ModelError, match="0 s"):
            mean_of_ratios(program, 2, 1, rng=rng, size=100)

    def test_refuses_laws_that_cannot_be_drawn_from(self, rng):
        class OnlyMean:
            mean = 3.0

        with pytest.raises(ModelError, match="no rvs"):
            mean_of_ratios(Program([Phase(0.0, OnlyMean())]), 2, 1, rng=rng, size=10)

    @pytest.mark.parametrize(
        "wrong",
        [
            {"program": None},
            {"p": 0},
            {"p": math.nan},
            {"p": [1, 2]},
            {"d": None},
            {"size": 1},
            {"size": 2.5},
            {"size": None},
            {"size": 10**9},
            {"rng": None},
            {"rng": 3},
        ],
    )
    def test_refuses_nonsense(self, wrong, rng):
        good = {"program": Program([Phase(1.0, 1.0)]), "p": 2, "d": 1, "rng": rng, "size": 10}
        with pytest.raises(ModelError):
            mean_of_ratios(**good | wrong)

    def test_refuses_more_draws_than_it_should_make(self, rng):
        program = Program([Phase(1.0, 1.0)], phase_count=Geometric(1e9))
        with pytest.raises(MemoryBudgetError):
            mean_of_ratios(program, 2, 1, rng=rng, size=1000)


def test_the_first_number_that_is_not_on_the_grid_is_named():
    surface = speedup_surface(Program([Phase(1.0, 9.0)]), processors=[1, 2, 4, 8], disks=[1, 2])
    with pytest.raises(ModelError, match=r"^3 processors are not on the grid; the nearest are 2 and 4"):
        surface[[3, 7], 1]


def test_bursts_whose_times_are_proportional_are_of_one_kind():
    """Those of no length are of one kind, whatever their law."""
    bursts = [Burst(1.0), Burst(2.0), Burst(1.0, law="1"), Burst(0.0), Burst(0.0, law="1")]
    assert list(unlike(bursts)) == [bursts[0], bursts[2], bursts[3]]


def test_the_error_of_a_mean_contention_is_carried_to_the_ratio():
    """(1 + C (p - 1)) / p is linear in C: its slope is (p - 1) / p."""
    ratio = ContentionRatio(contention=0.2, contention_error=0.1, exact=False)
    p, d = np.array([1.0, 4.0]), np.ones(2)
    assert ratio(p, d) == pytest.approx([1.0, 0.4])
    assert ratio.error(p, d) == pytest.approx([0.0, 0.075])


@pytest.mark.parametrize(("processors", "worst"), [([0.5, 1e30], "0.5"), ([1.0, 1e30], "1e\\+30")])
def test_the_number_of_processors_that_cannot_be_is_the_one_that_is_named(processors, worst):
    with pytest.raises(ModelError, match=f"got {worst}$"):
        SpeedupSurface(processors, [1.0], [[2.0], [1.0]], reference=2.0)


def test_disks_fed_at_values_known_are_the_mean_over_these_without_an_error():
    values, weights = np.array([5.0, 0.5, 2.0]), np.array([0.5, 0.2, 0.3])
    found = FedDisksByValues(Nodes(values, weights, exact=True))
    p, d = np.array([1.0, 8.0, 2.0, 1024.0]), np.array([1.0, 2.0, 4.0, 128.0])

    def time(r):
        """Over that on one processor and disk, where h = min(d, p / r) disks are fed."""
        return np.minimum(1.0, 1.0 / r) / np.minimum(d, p / r)

    each = sum(w * time(r) for r, w in zip(values, weights, strict=True))
    assert found(p, d) == pytest.approx(each)
    assert (found.error(p, d) == 0.0).all()
