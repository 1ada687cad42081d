"""The program model of Rosti, Serazzi, Smirni, Squillante 1998, sections 2.1 to 2.5.

One test or class for each requirement R-1 to R-20; R-21 and R-22 are in `test_scaling`. Refusals
and further cases are in the tests of the modules.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from phasefit import PhaseType
from qmodels.programs import (
    Burst,
    Geometric,
    Phase,
    Program,
    WorkingSet,
    WorkloadMix,
    mean_of_ratios,
    speedup_surface,
)
from qmodels.programs.amdahl import symbolic_speedup
from qmodels.programs.profiles import profile
from qmodels.programs.random_laws import CONTENDED, RandomLaw
from tests.examples import examples
from tests.qmodels.test_programs import mean_by_hand, programs, units

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


def figure_2():
    """N = 8, working sets {1}, {2}, {3-5}, {6-7}, {8}; phase 1 half as long as the others."""
    return Program(
        [
            Phase(0.0, 0.5),
            Phase(0.67, 0.33),
            WorkingSet(3, [Phase(0.33, 0.67)]),
            WorkingSet(2, [Phase(0.5, 0.5)]),
            Phase(0.8, 0.2),
        ]
    )


@pytest.mark.thorough
@given(programs)
def test_phases_have_relative_lengths_that_sum_to_one_and_io_fractions(phases):
    """R-1. L_n = T_n/T, F_n = T_n^IO/T_n; F_n T_n + (1 - F_n) T_n = T_n."""
    found = Program(phases).signature()
    assert found.lengths.sum() == pytest.approx(1.0, abs=1e-12)
    assert np.all((found.io_fraction >= 0) & (found.io_fraction <= 1))
    total = sum(phase.seconds for phase in phases)
    assert found.lengths == pytest.approx([phase.seconds / total for phase in phases])
    for phase, fraction in zip(phases, found.io_fraction, strict=True):
        io, cpu = (float(phase.burst(x).mean_time(1, 1)) for x in ("io", "cpu"))
        assert fraction * phase.seconds == pytest.approx(io, rel=1e-12, abs=1e-12 * phase.seconds)
        assert io + cpu == pytest.approx(phase.seconds, rel=1e-12)


class TestWorkingSetsAreRunsOfIdenticalPhases:
    """R-2. A program is a list of working sets; written out it is the list of its phases."""

    def test_the_example_of_figure_2_has_five(self):
        assert [s.repeat for s in figure_2().working_sets] == [1, 1, 3, 2, 1]
        assert figure_2().mean_phases == len(figure_2().phases) == 8

    def test_identical_sets_of_phases_are_repeated_as_a_whole(self):
        a, b, c = Phase(1.0, 0.0), Phase(0.0, 1.0), Phase(1.0, 1.0)
        program = Program([WorkingSet(2, [a, b]), c, WorkingSet(1, [a])])
        assert program.phases == (a, b, a, b, c, a)


def test_figure_2_has_its_io_fractions_and_cumulative_lengths():
    """R-3. F = 0, .67, .33, .33, .33, .5, .5, .8."""
    found = figure_2().signature()
    assert found.io_fraction == pytest.approx([0, 0.67, 0.33, 0.33, 0.33, 0.5, 0.5, 0.8])
    assert found.boundaries == pytest.approx(np.r_[0.0, np.arange(8) + 0.5] / 7.5)


def test_the_phase_signature_draws_io_and_computation_between_its_boundaries():
    """R-4. Cumulative relative time, and in each phase its I/O first."""
    from qmodels.plotting import signature

    found = figure_2().signature()
    assert found.boundaries[0] == 0.0
    assert found.boundaries[-1] == 1.0
    assert np.all(np.diff(found.boundaries) > 0)
    ax = signature(figure_2())
    assert "execution time" in ax.get_xlabel()
    assert ax.patches or ax.collections


class TestABurstFollowsEquation1:
    """R-5. T_npd = s_npd (T_n - o_n11) + o_npd with s = h(1, 1)/h(p, d)."""

    @pytest.mark.parametrize("p", [1.0, 7.0, 42.5])
    @pytest.mark.parametrize("d", [1.0, 3.0])
    def test_on_any_allotment(self, p, d):
        burst = Burst(100.0, sequential=10.0, law="min(d, p/4)", per_processor=0.5)
        s = 0.25 / min(d, p / 4)
        expected = s * 90.0 + 10.0 + 0.5 * (p - 1)
        assert float(burst.mean_time(p, d)) == pytest.approx(expected, rel=1e-14)

    @pytest.mark.thorough
    @given(programs)
    def test_and_takes_its_measured_time_on_one_processor_and_one_disk(self, phases):
        for phase in phases:
            for burst in (phase.burst("io"), phase.burst("cpu")):
                assert float(burst.mean_time(1, 1)) == pytest.approx(burst.seconds, rel=1e-14)


@pytest.mark.parametrize(
    "quantity",
    [
        6.0,
        PhaseType.erlang(phases=3, mean=6.0),
        stats.gamma(2.0, scale=3.0),
        np.array([1.0, 5.0, 12.0]),
    ],
    ids=["number", "phase-type law", "law of scipy", "sample"],
)
def test_every_parameter_may_be_random_and_enters_by_its_mean(quantity):
    """R-6. T, o and the growth of o; what is random in s is averaged as h is (see R-9)."""
    burst = Burst(quantity, per_processor=quantity, law="p")
    assert float(burst.mean_time(4, 1)) == pytest.approx(6.0 / 4 + 6.0 * 3, rel=1e-12)
    whole = Burst(10.0, sequential=quantity, law="p")
    assert float(whole.mean_time(4, 1)) == pytest.approx(4.0 / 4 + 6.0, rel=1e-12)
    scaling = Burst(10.0, law=RandomLaw(lambda p, d, theta: p ** (theta / theta), quantity))
    assert float(scaling.mean_time(4, 1)) == pytest.approx(2.5, rel=1e-12)


@pytest.mark.thorough
class TestAJobTakesThePhasesThatItReaches:
    """R-7. E[T_pd] = sum_n P[N >= n] (E[T_npd^IO] + E[T_npd^CPU])."""

    @given(programs, st.lists(st.floats(0.0, 1.0), min_size=1, max_size=9), units, units)
    def test_when_the_number_of_phases_has_any_law(self, phases, raw, p, d):
        pmf = (np.array(raw) + 1e-3) / (np.array(raw) + 1e-3).sum()
        program = Program(phases, phase_count=pmf)
        expected = mean_by_hand(phases, lambda n: pmf[n - 1 :].sum(), p, d, pmf.size)
        assert float(program.mean_time(p, d)) == pytest.approx(expected, rel=1e-12)
        assert program.mean_phases == pytest.approx(pmf @ np.arange(1, pmf.size + 1))

    @given(programs, st.floats(1.0, 12.0), units, units)
    def test_when_it_is_geometric_without_truncation(self, phases, mean, p, d):
        program = Program(phases, phase_count=Geometric(mean))
        expected = mean_by_hand(phases, lambda n: (1 - 1 / mean) ** (n - 1), p, d, 500)
        assert float(program.mean_time(p, d)) == pytest.approx(expected, rel=1e-11)
        assert program.mean_phases == mean

    def test_when_it_is_a_stopping_time_of_simulated_runs(self, rng):
        """It may look back: here a run stops after its first long phase."""
        n, stop = 100_000, 0.2
        lengths = rng.exponential(3.0, (n, 120))
        phases = 1 + (lengths > -3.0 * math.log(stop)).argmax(axis=1)
        times = np.array([row[:k].sum() for row, k in zip(lengths, phases, strict=True)])
        model = Program([Phase(0.0, 3.0)], phase_count=Geometric(1 / stop))
        standard_error = times.std(ddof=1) / math.sqrt(n)
        assert abs(times.mean() - float(model.mean_time(1, 1))) < 4 * standard_error


class TestEquation3NeedsScalingAndWorkToBeIndependent:
    """R-8. E[s] E[Z] + E[o], for C uniform on (0, 1) and exponential work; p = 4."""

    MODEL = Program([Phase(0.0, Burst(11.0, 1.0, RandomLaw(CONTENDED, stats.uniform(0.0, 1.0))))])

    @staticmethod
    def simulated(work, contention):
        """Naively, equation (1): s (T - o) + o, s = (1 + 3 C)/4; mean and standard error."""
        times = (1 + 3 * contention) / 4 * work + 1.0
        return times.mean(), times.std(ddof=1) / math.sqrt(times.size)

    def test_and_equals_2_when_they_are(self, rng):
        n = 200_000
        mean, standard_error = self.simulated(rng.exponential(10.0, n), rng.uniform(size=n))
        assert abs(mean - float(self.model_time())) < 4 * standard_error
        assert float(self.model_time()) == pytest.approx(0.625 * 10.0 + 1.0, rel=1e-12)

    def test_and_misses_their_covariance_when_long_bursts_scale_worse(self, rng):
        """The same marginals, comonotone; Cov(U, -ln(1 - U)) = 1/4."""
        rank = rng.uniform(size=200_000)
        mean, standard_error = self.simulated(-10.0 * np.log1p(-rank), rank)
        missed = mean - float(self.model_time())
        assert missed > 40 * standard_error
        assert abs(missed - 0.75 * 10.0 / 4) < 4 * standard_error

    def model_time(self):
        return self.MODEL.mean_time(4, 1)


class TestWhereTheyDependTheMeanOfTheirProductIsTaken:
    """R-9. E[sZ] instead of E[s] E[Z]: the case that R-8 shows (3) to miss."""

    def test_exactly_for_measured_rows(self, rng):
        rank = rng.uniform(size=500)
        work, contention = -10.0 * np.log1p(-rank), rank
        burst = Burst(work + 1.0, 1.0, RandomLaw(CONTENDED, contention), paired=True)
        expected = float(np.mean((1 + 3 * contention) / 4 * work)) + 1.0
        assert float(burst.mean_time(4, 1)) == pytest.approx(expected, rel=1e-12)

    def test_for_a_parameter_that_follows_the_length(self):
        """C = 1 - exp(-T/10), the rank of an exponential T: E[s T] = 0.625 x 10 + 0.75 x 2.5."""
        law = RandomLaw(CONTENDED, lambda seconds: -np.expm1(-seconds / 10.0))
        burst = Burst(PhaseType.exponential(mean=10.0), law=law)
        assert float(burst.mean_time(4, 1)) == pytest.approx(6.25 + 1.875, rel=1e-9)

    def test_and_drawn_jobs_follow_it(self, rng):
        law = RandomLaw(CONTENDED, lambda seconds: -np.expm1(-seconds / 10.0))
        burst = Burst(PhaseType.exponential(mean=10.0), law=law)
        drawn = burst.draw(np.array([4.0]), np.array([1.0]), rng=rng, size=40_000)[0]
        assert abs(drawn.mean() - 8.125) < 4 * drawn.std(ddof=1) / 200.0


class TestSpeedupIsARatioOfMeans:
    """R-10. S_pd = E[T_11]/E[T_pd], equation (4); E[T_11/T_pd] is offered as an alternative."""

    @pytest.mark.thorough
    @given(programs, units, units)
    def test_of_times_and_one_at_one_processor_and_one_disk(self, phases, p, d):
        program = Program(phases)
        p, d = max(p, 1.0), max(d, 1.0)
        surface = speedup_surface(program, [p], [d])
        expected = float(program.mean_time(1, 1) / program.mean_time(p, d))
        assert surface.speedup[0, 0] == pytest.approx(expected, rel=1e-14)
        assert speedup_surface(program, [1], [1]).speedup[0, 0] == 1.0

    def test_and_differs_from_the_mean_of_ratios(self, rng):
        """Half of the jobs do not scale and last ten times as long."""
        jobs = [Program([Phase(0.0, 1.0)]), Program([Phase(0.0, Burst(10.0, law="1"))])]
        alternative = mean_of_ratios(WorkloadMix(jobs), 8, 1, rng=rng, size=10_000)
        assert abs(alternative.mean - 4.5) < 4 * alternative.standard_error
        ratio = speedup_surface(WorkloadMix(jobs), [8], [1]).speedup[0, 0]
        assert ratio == pytest.approx(5.5 / 5.0625)


class TestEfficiencyIsSpeedupPerWeightedAllotment:
    """R-11. E_pd = S_pd / g(p, d) for p d (the default), p, p + d or any g."""

    @given(amdahl_programs())
    def test_which_is_at_most_one_on_one_disk(self, program):
        surface = speedup_surface(program, AXIS, [1])
        assert np.all(surface.efficiency() <= 1 + 1e-12)
        assert np.all(surface.efficiency("p") == surface.efficiency("p*d"))

    @given(amdahl_programs(), st.floats(0.1, 10.0))
    def test_for_any_weights(self, program, price):
        surface = speedup_surface(program, AXIS, AXIS)
        p, d = np.meshgrid(AXIS, AXIS, indexing="ij")
        for g, weights in (("p*d", p * d), ("p", p), ("p+d", p + d)):
            assert surface.efficiency(g) == pytest.approx(surface.speedup / weights, rel=1e-14)
        found = surface.efficiency(lambda p, d: p + price * d)
        assert found == pytest.approx(surface.speedup / (p + price * d), rel=1e-14)


@given(amdahl_programs(), st.sampled_from(["p*d", "p", "p+d"]))
def test_cost_and_efficacy_are_what_their_identities_say(program, g):
    """R-12. C = g/S, eta = S^2/g = S E = S/C = E[T_11]^2/(g E[T_pd]^2)."""
    surface = speedup_surface(program, AXIS, AXIS)
    p, d = np.meshgrid(AXIS, AXIS, indexing="ij")
    weights = {"p*d": p * d, "p": p, "p+d": p + d}[g]
    efficacy = surface.efficacy(g)
    assert surface.cost(g) == pytest.approx(weights / surface.speedup, rel=1e-14)
    assert efficacy == pytest.approx(surface.speedup / surface.cost(g), rel=1e-13)
    assert efficacy == pytest.approx(surface.speedup * surface.efficiency(g), rel=1e-13)
    by_times = (surface.reference / surface.mean_time) ** 2 / weights
    assert efficacy == pytest.approx(by_times, rel=1e-13)


class TestTheGeneralizedLawOfAmdahl:
    """R-13. Equation (7); forms (2) to (7) are derived from each other in `test_amdahl`."""

    @given(amdahl_programs())
    def test_is_the_ratio_of_times_built_from_phases(self, program):
        f = program.fractions(1, 1)
        surface = speedup_surface(program, AXIS, AXIS)
        for i, p in enumerate(AXIS):
            for j, d in enumerate(AXIS):
                below = f.sequential_io + f.sequential_cpu + f.parallel_io / d + f.parallel_cpu / p
                assert surface.speedup[i, j] == pytest.approx(1 / float(below), rel=1e-12)

    @settings(max_examples=examples(10))
    @given(amdahl_programs())
    def test_is_the_same_in_symbols(self, program):
        import sympy

        law = sympy.lambdify(sympy.symbols("p d", positive=True), symbolic_speedup(program))
        surface = speedup_surface(program, AXIS, AXIS).speedup
        found = [[float(law(p, d)) for d in AXIS] for p in AXIS]
        assert np.array(found) == pytest.approx(surface, rel=1e-12)

    @given(amdahl_programs())
    def test_has_fractions_that_sum_to_one_at_one_processor_and_one_disk(self, program):
        assert sum(float(f) for f in program.fractions(1, 1)) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("sequential", [0.0, 0.05, 0.5, 1.0])
def test_without_io_it_is_the_law_of_amdahl(sequential):
    """R-14. S = 1/(f_seq + f_par/p); symbolically in `test_amdahl`."""
    program = Program([Phase(0.0, Burst(100.0, sequential=100.0 * sequential))])
    p = np.array([1.0, 2.0, 16.0, 1024.0])
    expected = 1.0 / (sequential + (1 - sequential) / p)
    assert speedup_surface(program, p, [1, 4]).speedup[:, 1] == pytest.approx(expected)


class TestTheLimitsOfTheLaw:
    """R-15. Symbolically in `test_amdahl`."""

    def test_are_the_inverses_of_what_is_left(self):
        """1/(f_seq^IO + f_seq^CPU); with p alone f_par^IO/d is left as well."""
        cpu, io = Burst(60.0, sequential=3.0), Burst(40.0, sequential=2.0, law="d")
        far = speedup_surface(Program([Phase(io, cpu)]), [1, 1e12], [1, 4, 1e12]).speedup
        assert far[1, 2] == pytest.approx(1 / 0.05, rel=1e-9)
        assert far[1, 1] == pytest.approx(1 / (0.05 + 0.38 / 4), rel=1e-9)

    @given(amdahl_programs())
    def test_are_approached_from_below_within_the_bounds(self, program):
        """Constant o: S does not fall, S <= max(p, d), S <= 1/(F/d + (1 - F)/p)."""
        speedup = speedup_surface(program, AXIS, AXIS).speedup
        assert np.all(np.diff(speedup, axis=0) >= -1e-12 * speedup[1:])
        assert np.all(np.diff(speedup, axis=1) >= -1e-12 * speedup[:, 1:])
        p, d = np.meshgrid(AXIS, AXIS, indexing="ij")
        assert np.all(speedup <= np.maximum(p, d) * (1 + 1e-12))
        io = float(program.mean_io(1, 1) / program.mean_time(1, 1))
        assert np.all(speedup <= 1 / (io / d + (1 - io) / p) * (1 + 1e-12))


class TestAWorkloadIsAMixtureOfPrograms:
    """R-16. E[T] = sum_a w_a E_a[T]; its speedup is the ratio of the mixture's means."""

    def test_whose_times_are_averaged_component_by_component(self):
        a = Program([Phase(Burst(8.0, sequential=2.0, law="d"), Burst(40.0, sequential=4.0))])
        b = Program([WorkingSet(3, [Phase(10.0, Burst(20.0, per_processor=1.0))])])
        mix = WorkloadMix([a, b], weights=[1, 3])
        assert float(mix.mean_io(4, 2)) == pytest.approx(0.25 * 5.0 + 0.75 * 15.0)
        assert float(mix.mean_cpu(4, 2)) == pytest.approx(0.25 * 13.0 + 0.75 * (15.0 + 9.0))
        assert float(mix.parallel_cpu(4, 2)) == pytest.approx(0.25 * 9.0 + 0.75 * 15.0)
        assert float(mix.parallel_io(4, 2)) == pytest.approx(0.25 * 3.0 + 0.75 * 15.0)
        assert mix.mean_phases == pytest.approx(0.25 + 0.75 * 3)
        assert sum(float(f) for f in mix.fractions()) == pytest.approx(1.0)

    def test_whose_speedup_is_no_mean_of_speedups(self):
        fast, slow = Program([Phase(0.0, 10.0)]), Program([Phase(0.0, Burst(90.0, law="1"))])
        surface = speedup_surface(WorkloadMix([fast, slow], [3, 1]), [10], [1])
        assert surface.speedup[0, 0] == pytest.approx(30.0 / (0.75 * 1.0 + 0.25 * 90.0))
        assert surface.speedup[0, 0] != pytest.approx(0.75 * 10 + 0.25 * 1)

    def test_whose_variance_is_n_times_that_of_mixing_phase_by_phase(self, rng):
        """N phases of 1 s or 3 s by halves: variance N^2 if drawn per job, N if per phase."""
        n, jobs = 25, 20_000
        classes = [Program([WorkingSet(n, [Phase(0.0, t)])]) for t in (1.0, 3.0)]
        mix = WorkloadMix(classes)
        per_phase = Program([WorkingSet(n, [Phase(0.0, [1.0, 3.0])])])
        assert float(mix.mean_time(1, 1)) == float(per_phase.mean_time(1, 1)) == 50.0
        one = np.array([1.0])
        by_phase = sum(x.burst("cpu").draw(one, one, rng=rng, size=jobs)[0] for x in per_phase.phases)
        which = rng.integers(2, size=jobs)
        by_job = np.array([float(part.mean_time(1, 1)) for part in classes])[which]
        # The standard error of a variance is about its own size times sqrt(2/jobs).
        assert by_phase.var(ddof=1) == pytest.approx(n, rel=4 * math.sqrt(2 / jobs))
        assert by_job.var(ddof=1) == pytest.approx(n * n, rel=4 * math.sqrt(2 / jobs))


@pytest.mark.parametrize("mean", [1.0, 1.5, 7.0, 1e6, 1e12])
def test_a_job_of_identical_phases_obeys_wald(mean):
    """R-17. E[T] = E[N] (E[T^IO] + E[T^CPU]), to the last digits even for 1e12 phases."""
    program = Program([Phase(2.0, 6.0)], phase_count=Geometric(mean))
    assert float(program.mean_time(1, 1)) == pytest.approx(8.0 * mean, rel=1e-14)


@pytest.mark.thorough
def test_the_testbed_has_partitions_from_1_to_64(rng):
    """R-18. Synthetic single-user runs on them; more in `tests/validation/test_synthetic`."""
    from validation.synthetic import synthetic_runs

    frame = synthetic_runs(profile("QCRD-2"), noise=0.0, rng=rng).frame
    partitions = [1, 2, 4, 8, 16, 32, 64]
    assert sorted(set(frame["p"])) == sorted(set(frame["d"])) == partitions
    assert len(frame) == 7 * 7 * 12 * 2


@pytest.mark.parametrize(("name", "phases"), [("QCRD-2", 12), ("MESSKIT-SCF", 5)])
def test_two_programs_have_12_and_5_phases_in_one_working_set(name, phases):
    """R-19. Synthetic profiles under their names; all seven in `test_profiles`."""
    program = profile(name)
    assert len(program.phases) == phases
    assert [group.repeat for group in program.working_sets] == [phases]


@pytest.mark.parametrize("name", ["QCRD-2", "QCRD-4", "MESSKIT-SCF"])
def test_speedup_need_not_grow_with_processors_and_disks(name):
    """R-20. Communication of .02 s per phase and processor: the maximum lies inside 128 by 32."""
    surface = speedup_surface(profile(name), np.arange(1, 129), np.arange(1, 33))
    best = surface.best()
    assert 1 < best.processors < 128
    assert 1 < best.disks < 32
    assert surface.speedup[-1, -1] < best.value
    assert surface.speedup[0, 0] < best.value
    # Without communication the far corner is as good as any.
    plain = speedup_surface(profile(name, messages=0.0), np.arange(1, 129), np.arange(1, 33))
    assert plain.speedup[-1, -1] == pytest.approx(plain.speedup.max(), rel=1e-12)
