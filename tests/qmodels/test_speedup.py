from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qmodels.errors import MemoryBudgetError, ModelError
from qmodels.programs import (
    Burst,
    Geometric,
    Phase,
    Program,
    SpeedupSurface,
    WorkingSet,
    WorkloadMix,
    mean_of_ratios,
    speedup_surface,
)

AXIS = [1.0, 2.0, 3.0, 8.0, 64.0]

shares = st.floats(0.0, 1.0)


@st.composite
def amdahl_programs(draw):
    """Programs of form (7): sequential parts fixed, I/O over disks, computation over processors."""
    phases = []
    for _ in range(draw(st.integers(1, 3))):
        io, cpu = draw(st.floats(0.1, 100.0)), draw(st.floats(0.1, 100.0))
        phases.append(
            Phase(
                Burst(io, sequential=io * draw(shares), law="d"),
                Burst(cpu, sequential=cpu * draw(shares), law="p"),
            )
        )
    return Program(phases)


def reference_programs():
    """Seven invented programs (names are labels): name, phases, Z_CPU and Z_IO of a job.

    Z_IO is the time with one disk that is fed by enough processors, so on one processor it is
    four times as long. Overheads are in proportion to Z_CPU and sum to 0.1 s in the mixture.
    """
    rows = [
        ("QCRD-2", 12, 700, 30), ("QCRD-4", 12, 500, 24), ("MESSKIT-SCF", 5, 300, 48),
        ("MESSKIT-ARGOS", 4, 240, 60), ("ESCAT-2", 8, 900, 22), ("ESCAT-4", 8, 644, 20),
        ("RENDER", 10, 300, 20),
    ]  # fmt: skip
    # The slow-down of ESCAT-2 alone that makes the mixture 2.2 times as slow; 5.78 in short.
    factor = 1.0 + 1.2 * sum(z for _, _, z, _ in rows) / 900
    for name, n, z_cpu, z_io in rows:
        slow = factor if name == "ESCAT-2" else 1.0
        overhead = 0.1 * z_cpu / 512
        cpu = Burst(
            slow * (z_cpu + overhead) / n,
            sequential=slow * overhead / n,
            slowdown=(8, slow) if slow > 1 else None,
        )
        yield Program([WorkingSet(n, [Phase(Burst(4 * z_io / n, law="min(d, p/4)"), cpu)])], name)


class TestTheReferenceMixture:
    def test_has_the_means_of_its_one_line_form(self):
        mix = WorkloadMix(list(reference_programs()))
        assert mix.mean_phases == pytest.approx(59 / 7)
        for p in (1, 2, 7, 8, 8.001, 128 / 3, 128):
            for d in (1, 2, 32):
                slow = 2.2 if p <= 8 else 1.0
                assert float(mix.mean_cpu(p, d)) == pytest.approx(slow * (0.1 + 512 / p), rel=1e-12)
                assert float(mix.mean_io(p, d)) == pytest.approx(32 / min(d, p / 4), rel=1e-12)

    def test_carries_the_whole_slowdown_in_one_program(self):
        slowdowns = [p.phases[0].cpu.slowdown for p in reference_programs()]
        factors = [slowdown[1] for slowdown in slowdowns if slowdown is not None]
        assert factors == [pytest.approx(5.78, abs=0.005)]

    def test_slows_the_sequential_part_too(self):
        """Sixteen undisturbed jobs on 8 processors and 2 disks each: .1019 jobs/s, 157.02 s.

        Slowing the parallel part alone would give 156.90 s and .1020 jobs/s.
        """
        mix = WorkloadMix(list(reference_programs()))
        alone = float(mix.mean_time(8, 2))
        assert round(alone, 2) == 157.02
        assert round(16 / alone, 4) == 0.1019
        other = float(mix.mean_io(8, 2)) + 0.1 + 2.2 * 512 / 8
        assert (round(other, 2), round(16 / other, 4)) == (156.90, 0.1020)

    def test_has_the_tabulated_times_without_slowdown(self):
        """Eight jobs on 16 processors and 2 disks each: 48.10 s and .1663 jobs/s."""
        alone = float(WorkloadMix(list(reference_programs())).mean_time(16, 2))
        assert round(alone, 2) == 48.10
        assert round(8 / alone, 4) == 0.1663


class TestASurface:
    @given(amdahl_programs())
    def test_follows_the_generalized_law_of_amdahl(self, program):
        """Equation (7), with fractions that are computed apart."""
        f = program.fractions(1, 1)
        surface = speedup_surface(program, AXIS, AXIS)
        for i, p in enumerate(AXIS):
            for j, d in enumerate(AXIS):
                below = f.sequential_io + f.sequential_cpu + f.parallel_io / d + f.parallel_cpu / p
                assert surface.speedup[i, j] == pytest.approx(1 / float(below), rel=1e-12)

    @pytest.mark.parametrize("sequential", [0.0, 0.05, 0.5, 1.0])
    def test_without_io_is_the_law_of_amdahl(self, sequential):
        program = Program([Phase(0.0, Burst(100.0, sequential=100.0 * sequential))])
        p = np.array([1.0, 2.0, 16.0, 1024.0])
        expected = 1.0 / (sequential + (1 - sequential) / p)
        assert speedup_surface(program, p, [1, 4]).speedup[:, 1] == pytest.approx(expected)

    def test_tends_to_the_inverse_of_the_sequential_fractions(self):
        cpu, io = Burst(60.0, sequential=3.0), Burst(40.0, sequential=2.0, law="d")
        program = Program([Phase(io, cpu)])
        far = speedup_surface(program, [1, 1e12], [1, 4, 1e12]).speedup
        assert far[1, 2] == pytest.approx(1 / 0.05, rel=1e-9)
        assert far[1, 1] == pytest.approx(1 / (0.05 + 0.38 / 4), rel=1e-9)

    @given(amdahl_programs())
    def test_never_falls_nor_exceeds_its_bounds_when_overheads_are_constant(self, program):
        speedup = speedup_surface(program, AXIS, AXIS).speedup
        assert np.all(np.diff(speedup, axis=0) >= -1e-12 * speedup[1:])
        assert np.all(np.diff(speedup, axis=1) >= -1e-12 * speedup[:, 1:])
        p, d = np.meshgrid(AXIS, AXIS, indexing="ij")
        assert np.all(speedup <= np.maximum(p, d) * (1 + 1e-12))
        io = float(program.mean_io(1, 1) / program.mean_time(1, 1))
        assert np.all(speedup <= 1 / (io / d + (1 - io) / p) * (1 + 1e-12))

    def test_is_one_at_one_processor_and_one_disk(self):
        mix = WorkloadMix(list(reference_programs()))
        assert speedup_surface(mix, [1, 2], [1]).speedup[0, 0] == 1.0

    def test_of_a_mixture_is_the_ratio_of_its_means(self):
        fast, slow = Program([Phase(0.0, 10.0)]), Program([Phase(0.0, Burst(90.0, law="1"))])
        surface = speedup_surface(WorkloadMix([fast, slow], [3, 1]), [10], [1])
        assert surface.speedup[0, 0] == pytest.approx(30.0 / (0.75 * 1.0 + 0.25 * 90.0))

    def test_may_have_its_maximum_inside(self):
        """Communication of 0.02 s per phase and further processor, 12 phases."""
        phase = Phase(
            Burst(4 * 30 / 12, law="min(d, p/4)"),
            Burst(700 / 12, per_processor=0.02),
        )
        surface = speedup_surface(
            Program([WorkingSet(12, [phase])]), np.arange(1, 129), np.arange(1, 33)
        )
        best = surface.best()
        fastest = min(range(1, 129), key=lambda p: 700 / p + 0.24 * p + 120 / min(p, 128))
        assert best.processors == fastest == round(math.sqrt((700 + 120) / 0.24))
        assert best.disks == math.ceil(fastest / 4)
        assert surface.speedup[-1, -1] < best.value
        assert surface.speedup[0, 0] < best.value

    @given(amdahl_programs(), st.sampled_from(["p*d", "p", "p+d"]))
    def test_has_efficiency_cost_and_efficacy_that_agree(self, program, g):
        surface = speedup_surface(program, AXIS, AXIS)
        p, d = np.meshgrid(AXIS, AXIS, indexing="ij")
        weights = {"p*d": p * d, "p": p, "p+d": p + d}[g]
        assert surface.efficiency(g) == pytest.approx(surface.speedup / weights, rel=1e-14)
        assert surface.cost(g) == pytest.approx(weights / surface.speedup, rel=1e-14)
        assert surface.efficacy(g) == pytest.approx(surface.speedup / surface.cost(g), rel=1e-13)
        by_times = (surface.reference / surface.mean_time) ** 2 / weights
        assert surface.efficacy(g) == pytest.approx(by_times, rel=1e-13)

    @given(amdahl_programs())
    def test_has_an_efficiency_of_at_most_one_on_one_disk(self, program):
        surface = speedup_surface(program, AXIS, [1])
        assert np.all(surface.efficiency() <= 1 + 1e-12)
        assert np.all(surface.efficiency("p") == surface.efficiency("p*d"))

    def test_weighs_allotments_by_any_function(self):
        surface = speedup_surface(Program([Phase(1.0, 3.0)]), [1, 2], [1, 4])
        assert surface.cost(lambda p, d: p + 10 * d)[1, 1] == pytest.approx(
            42 / surface.speedup[1, 1]
        )

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
            ([[1.0, 1.0]], 1.0), ([[0.0], [1.0]], 1.0), ([[math.nan], [1.0]], 1.0),
            ([[1.0], [1.0]], 0.0), ([[1.0], [1.0]], math.nan), ([[1.0], [1.0]], None),
            (None, 1.0), ([[1.0], [1.0]], [1.0, 2.0]),
        ],
    )  # fmt: skip
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
            {"program": None}, {"p": 0}, {"p": math.nan}, {"p": [1, 2]}, {"d": None}, {"size": 1},
            {"size": 2.5}, {"size": None}, {"size": 10**9}, {"rng": None}, {"rng": 3},
        ],
    )  # fmt: skip
    def test_refuses_nonsense(self, wrong, rng):
        good = {"program": Program([Phase(1.0, 1.0)]), "p": 2, "d": 1, "rng": rng, "size": 10}
        with pytest.raises(ModelError):
            mean_of_ratios(**good | wrong)

    def test_refuses_more_draws_than_it_should_make(self, rng):
        program = Program([Phase(1.0, 1.0)], phase_count=Geometric(1e9))
        with pytest.raises(MemoryBudgetError):
            mean_of_ratios(program, 2, 1, rng=rng, size=1000)
