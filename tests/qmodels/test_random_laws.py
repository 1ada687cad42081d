from __future__ import annotations

import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from phasefit import PhaseType, match_moments
from qmodels.errors import ModelError
from qmodels.programs import Burst, Phase, Program, WorkloadMix, mean_of_ratios, speedup_surface
from qmodels.programs.quadrature import nodes_of
from qmodels.programs.random_laws import CONTENDED, FED, RandomLaw

ALLOTMENTS = [(1, 1), (2, 1), (1, 4), (7, 3), (128 / 3, 5), (128, 32), (0.5, 1), (4, 64)]

CONTINUOUS = {
    "gamma": stats.gamma(2.0, scale=1.5),
    "lognormal": stats.lognorm(1.0, scale=3.0),
    "uniform": stats.uniform(0.5, 6.0),
    "exponential": PhaseType.exponential(mean=4.0),
    "hyperexponential": match_moments(4.0, 100.0),
    "erlang": PhaseType.erlang(phases=20, mean=4.0),
}

#: Every law on three allotments, every allotment with two laws or three.
LAWS_ON_ALLOTMENTS = [
    pytest.param(law, *ALLOTMENTS[(k + j) % len(ALLOTMENTS)], id=f"{name}-{j}")
    for k, (name, law) in enumerate(CONTINUOUS.items())
    for j in (0, 3, 6)
]


def fed(p, d, r):
    return np.minimum(d, p / r)


def contended(p, d, c):
    return p / (1 + c * (p - 1))


def power(p, d, theta):
    return (p * np.sqrt(d)) ** (1.0 / (1.0 + theta))


BY_HAND = {FED: fed, CONTENDED: contended}


def s_of(h, p, d, theta):
    return h(1.0, 1.0, theta) / h(p, d, theta)


PLACES, WEIGHTS = np.polynomial.legendre.leggauss(20)


def mean_by_quad(s, law, corners=()):
    """E[s(theta)] over the density, by Gauss's rule in forty panels between corners."""
    low, high = float(law.ppf(1e-15)), float(law.isf(1e-15))
    ends = [low, *sorted(x for x in {*corners, 0.01, 0.1, 1.0, 10.0} if low < x < high), high]
    parts = []
    for a, b in itertools.pairwise(ends):
        edges = np.geomspace(a, b, 41)
        half = 0.5 * np.diff(edges)[:, None]
        x = (edges[:-1, None] + half * (1.0 + PLACES)).ravel()
        parts.append(float(np.sum(half * (s(x) * law.pdf(x)).reshape(-1, 20) @ WEIGHTS)))
    return math.fsum(parts)


def mean_fed(law, p, d):
    """E[s] of min(d, p/R) by quadrature over the density."""
    return mean_by_quad(lambda r: s_of(fed, p, d, r), law, corners=(1.0, p / d))


def mean_s(law, p, d):
    """E[s_pd] as a burst of one second has it."""
    return float(Burst(1.0, law=law).mean_time(p, d))


class TestAnIndependentParameter:
    @pytest.mark.thorough(first=1)
    @pytest.mark.parametrize(("law", "p", "d"), LAWS_ON_ALLOTMENTS)
    def test_of_fed_disks_is_averaged_as_over_its_density(self, law, p, d):
        expected = mean_fed(law, p, d)
        # A uniform law has corners of its own, where a spline is of lower order.
        rel = 1e-6 if law is CONTINUOUS["uniform"] else 1e-8
        assert mean_s(RandomLaw(FED, law), p, d) == pytest.approx(expected, rel=rel)

    def test_of_fed_disks_and_an_exponential_law_has_a_closed_form(self):
        """E[s] on p = 8, d = 2 from exponential integrals, in thirty digits."""
        import mpmath

        law = RandomLaw(FED, PhaseType.exponential(mean=4.0))
        with mpmath.workdps(30):
            x, rate = mpmath.mpf(4), mpmath.mpf(1) / 4
            inside = rate * (mpmath.e1(rate) - mpmath.e1(rate * x))
            expected = (1 - mpmath.exp(-rate)) / 2 + inside / 2 + mpmath.exp(-rate * x) / 8
        assert mean_s(law, 8, 2) == pytest.approx(float(expected), rel=1e-9)

    @pytest.mark.thorough(first=1)
    @pytest.mark.parametrize(("law", "p", "d"), LAWS_ON_ALLOTMENTS)
    def test_of_a_smooth_function_is_averaged_as_over_its_density(self, law, p, d):
        expected = mean_by_quad(lambda x: s_of(power, p, d, x), law)
        assert mean_s(RandomLaw(power, law), p, d) == pytest.approx(expected, rel=1e-9)

    @pytest.mark.thorough(first=1)
    @pytest.mark.parametrize("law", CONTINUOUS.values(), ids=CONTINUOUS)
    def test_of_a_function_with_a_corner_is_averaged_within_the_stated_error(self, law):
        burst = Burst(1.0, law=RandomLaw(fed, law))
        for p, d in ALLOTMENTS:
            expected = mean_fed(law, p, d)
            assert float(burst.mean_time(p, d)) == pytest.approx(expected, rel=1e-4)

    @pytest.mark.parametrize("contention", [0.3, [0.0, 0.2, 0.7], stats.beta(2.0, 5.0)])
    @pytest.mark.parametrize("p", [1.0, 4.0, 42.5])
    def test_of_contention_enters_by_its_mean(self, contention, p):
        """The ratio s = (1 + C (p - 1)) / p is linear in C."""
        mean = {float: 0.3, list: 0.3}.get(type(contention), 2.0 / 7.0)
        burst = Burst(1.0, law=RandomLaw(CONTENDED, contention))
        assert float(burst.mean_time(p, 3)) == pytest.approx((1 + mean * (p - 1)) / p, rel=1e-14)
        assert burst.method == "exact"

    @given(st.lists(st.floats(0.01, 50.0), min_size=1, max_size=6), st.sampled_from(ALLOTMENTS))
    def test_that_is_a_sample_is_averaged_exactly(self, sample, allotment):
        p, d = allotment
        for form, h in ((FED, fed), (fed, fed), (power, power)):
            burst = Burst(1.0, law=RandomLaw(form, sample))
            expected = math.fsum(s_of(h, p, d, x) for x in sample) / len(sample)
            assert float(burst.mean_time(p, d)) == pytest.approx(expected, rel=1e-12)
            assert burst.method == "exact"
            assert float(burst.mean_error(p, d)) == 0.0

    def test_that_is_a_discrete_law_is_averaged_over_its_values(self):
        burst = Burst(1.0, law=RandomLaw(FED, stats.randint(1, 5)))
        expected = sum(s_of(fed, 6, 2, r) for r in (1, 2, 3, 4)) / 4
        assert float(burst.mean_time(6, 2)) == pytest.approx(expected, rel=1e-13)
        assert burst.method == "exact"

    @pytest.mark.parametrize(
        "law",
        [
            stats.poisson(3.0),
            stats.poisson(1000.0),
            stats.nbinom(1, 0.1),  # from 0, and beyond 200 once in a thousand million
            stats.geom(0.2),
            stats.binom(300, 0.5),
            stats.randint(5, 9),
        ],
    )
    def test_that_is_a_discrete_law_is_held_with_its_mean_and_variance(self, law):
        nodes = nodes_of("theta", law)
        assert nodes.exact
        assert nodes.values @ nodes.weights == pytest.approx(law.mean(), rel=1e-11)
        assert (nodes.values - law.mean()) ** 2 @ nodes.weights == pytest.approx(law.var(), rel=1e-9)

    def test_that_is_discrete_may_have_a_hundred_thousand_values(self):
        def mean(values):
            return Burst(8.0, law=RandomLaw(FED, stats.randint(1, values + 1))).mean_time(p=4, d=2)

        # 4 processors make it four times as fast, but with R = 1, where 2 disks let it be twice
        assert mean(100_000) == pytest.approx(8.0 * (1 / 4 + (1 / 2 - 1 / 4) / 100_000), rel=1e-9)
        with pytest.raises(ModelError, match="100,001 values, more than 100,000"):
            mean(100_001)

    def test_that_is_a_poisson_law_is_summed(self):
        """From h = (1 + p)^(k + 1), s = (2/9)^(k + 1) on 8 processors: a generating function."""
        law = RandomLaw(lambda p, d, k: (1.0 + p) ** (k + 1.0), stats.poisson(3.0))
        expected = (2 / 9) * math.exp(3.0 * (2 / 9 - 1))
        assert mean_s(law, 8, 1) == pytest.approx(expected, rel=1e-12)

    def test_that_is_a_number_is_the_law_with_that_number(self):
        for p, d in ALLOTMENTS:
            for text, form, x in (("min(d, p/4)", FED, 4), ("p/(1+0.1*(p-1))", CONTENDED, 0.1)):
                expected = float(Burst(1.0, law=text).mean_time(p, d))
                assert mean_s(RandomLaw(form, x), p, d) == pytest.approx(expected, rel=1e-14)

    @pytest.mark.thorough
    def test_says_that_it_is_averaged_by_quadrature_and_how_well(self):
        for law in (CONTINUOUS["lognormal"], CONTINUOUS["uniform"], CONTINUOUS["exponential"]):
            for form in (FED, fed):
                burst = Burst(50.0, sequential=1.0, law=RandomLaw(form, law))
                assert burst.method == "quadrature"
                for p, d in ALLOTMENTS:
                    exact = 49.0 * mean_fed(law, p, d) + 1.0
                    missed = abs(float(burst.mean_time(p, d)) - exact)
                    assert missed <= float(burst.mean_error(p, d)) + 1e-9

    @pytest.mark.parametrize("form", [FED, CONTENDED, power])
    def test_leaves_one_processor_and_one_disk_as_measured(self, form):
        for law in (stats.beta(2.0, 3.0), stats.uniform(0.1, 0.8), [0.2, 0.9]):
            burst = Burst(7.0, sequential=2.0, law=RandomLaw(form, law))
            assert float(burst.mean_time(1, 1)) == pytest.approx(7.0, rel=1e-12)

    @pytest.mark.parametrize("form", [FED, CONTENDED, power])
    def test_broadcasts_processors_against_disks(self, form):
        burst = Burst(9.0, sequential=1.0, law=RandomLaw(form, stats.beta(2.0, 3.0)))
        p, d = np.array([1.0, 2.0, 8.0]), np.array([1.0, 4.0])
        together = burst.mean_time(p[:, None], d[None, :])
        one_by_one = [[float(burst.mean_time(x, y)) for y in d] for x in p]
        assert together == pytest.approx(np.array(one_by_one), rel=1e-13)

    def test_far_out_of_the_range_of_its_law_has_its_limits(self):
        """R from 2 to 3: with a disk for every processor s = 1/p, with one disk E[1/R]..."""
        law = RandomLaw(FED, stats.uniform(2.0, 1.0))
        assert mean_s(law, 8, 64) == pytest.approx(1 / 8, rel=1e-12)
        assert mean_s(law, 1e6, 1) == pytest.approx(math.log(1.5), rel=1e-7)
        slow = RandomLaw(FED, stats.uniform(0.02, 0.01))
        assert mean_s(slow, 1, 1000) == pytest.approx(0.025, rel=1e-7)
        assert mean_s(slow, 8, 4) == pytest.approx(1 / 4, rel=1e-12)

    def test_slows_down_and_relieves_as_any_law(self):
        law = RandomLaw(FED, [2.0, 4.0])
        plain, slow = Burst(20.0, law=law), Burst(20.0, law=law, slowdown=(8, 2.0))
        assert float(slow.mean_time(8, 1)) == float(plain.mean_time(8, 1))
        assert float(slow.mean_time(9, 1)) == pytest.approx(float(plain.mean_time(9, 1)) / 2)


class TestAParameterThatBelongsToTheBurst:
    SECONDS = np.array([20.0, 50.0, 200.0])
    SEQUENTIAL = np.array([1.0, 5.0, 30.0])
    GROWTH = np.array([0.1, 0.0, 0.5])
    R = np.array([0.5, 2.0, 6.0])

    def burst(self, form=FED, **changes):
        given = {
            "seconds": self.SECONDS,
            "sequential": self.SEQUENTIAL,
            "per_processor": self.GROWTH,
            "paired": True,
        }
        return Burst(**given | changes, law=RandomLaw(form, self.R))

    @pytest.mark.parametrize(("p", "d"), ALLOTMENTS)
    @pytest.mark.parametrize(("form", "h"), [(FED, fed), (power, power)])
    def test_row_by_row_is_the_mean_of_the_rows(self, form, h, p, d):
        """E[sZ] is the mean of the products, E[o_pd] that of the sequential parts."""
        rows = [
            s_of(h, p, d, r) * (t - o) + o + g * max(p - 1, 0)
            for t, o, g, r in zip(self.SECONDS, self.SEQUENTIAL, self.GROWTH, self.R, strict=True)
        ]
        found = float(self.burst(form).mean_time(p, d))
        assert found == pytest.approx(math.fsum(rows) / 3, rel=1e-13)

    def test_differs_from_independence_by_the_covariance(self):
        """E[sZ] = E[s] E[Z] + Cov(s, Z)."""
        p, d = 8.0, 2.0
        s, z = s_of(fed, p, d, self.R), self.SECONDS - self.SEQUENTIAL
        covariance = float(np.mean(s * z) - s.mean() * z.mean())
        together, apart = self.burst(), self.burst(paired=False)
        difference = float(together.mean_time(p, d) - apart.mean_time(p, d))
        assert abs(covariance) > 1.0
        assert difference == pytest.approx(covariance, rel=1e-12)

    def test_draws_whole_rows(self, rng):
        p, d = np.array([1.0, 8.0]), np.array([1.0, 2.0])
        drawn = self.burst().draw(p, d, rng=rng, size=300)
        rows = {
            (t, s_of(fed, 8, 2, r) * (t - o) + o + g * 7)
            for t, o, g, r in zip(self.SECONDS, self.SEQUENTIAL, self.GROWTH, self.R, strict=True)
        }
        assert {(round(a, 9), round(b, 9)) for a, b in drawn.T.tolist()} == {
            (round(a, 9), round(b, 9)) for a, b in rows
        }

    def test_needs_no_random_law_to_draw_whole_rows(self, rng):
        """Each burst is all sequential, which independent draws would contradict."""
        burst = Burst([1.0, 5.0], sequential=[1.0, 5.0], paired=True)
        drawn = burst.draw(np.array([1.0, 8.0]), np.array([1.0, 1.0]), rng=rng, size=50)
        assert np.array_equal(drawn[0], drawn[1])

    def test_may_mix_numbers_with_rows(self):
        burst = Burst(self.SECONDS, sequential=2.0, law=RandomLaw(FED, self.R), paired=True)
        expected = np.mean(s_of(fed, 8, 2, self.R) * (self.SECONDS - 2.0)) + 2.0
        assert float(burst.mean_time(8, 2)) == pytest.approx(expected, rel=1e-13)

    def test_that_is_all_sequential_does_not_scale(self):
        burst = Burst(self.SECONDS, self.SECONDS, law=RandomLaw(FED, self.R), paired=True)
        assert float(burst.mean_time(8, 2)) == pytest.approx(90.0)

    @pytest.mark.parametrize(
        "wrong",
        [
            {"sequential": [1.0, 2.0]},
            {"seconds": stats.uniform(100.0, 1.0)},
            {"per_processor": PhaseType.exponential(mean=1.0)},
            {"sequential": [1.0, 60.0, 5.0]},
            {"paired": 1},
            {"paired": None},
        ],
    )
    def test_refuses_rows_that_do_not_fit(self, wrong):
        with pytest.raises(ModelError, match="paired"):
            self.burst(**wrong)


class TestAParameterThatFollowsTheLength:
    def test_weighs_every_sample_by_its_own_scaling(self):
        seconds = np.array([1.0, 4.0, 9.0])
        burst = Burst(seconds, sequential=0.5, law=RandomLaw(FED, lambda t: 1.0 + t))
        expected = np.mean(s_of(fed, 8, 2, 1.0 + seconds) * (seconds - 0.5)) + 0.5
        assert float(burst.mean_time(8, 2)) == pytest.approx(expected, rel=1e-13)
        assert burst.method == "exact"

    @pytest.mark.parametrize("law", CONTINUOUS.values(), ids=CONTINUOUS)
    def test_of_a_law_is_averaged_as_over_its_density(self, law):
        """C = 1 - exp(-T): E[(1 + C (p - 1)) / p T]."""
        burst = Burst(law, law=RandomLaw(CONTENDED, lambda t: -np.expm1(-t)))
        expected = mean_by_quad(lambda t: s_of(contended, 8.0, 1.0, -np.expm1(-t)) * t, law)
        found = float(burst.mean_time(8, 1))
        assert found == pytest.approx(expected, rel=1e-9)
        assert abs(found - expected) <= float(burst.mean_error(8, 1)) + 1e-9 * found
        assert burst.method == "quadrature"

    def test_draws_the_parameter_of_each_length(self, rng):
        burst = Burst([2.0, 10.0], law=RandomLaw(CONTENDED, lambda t: t > 5.0))
        drawn = burst.draw(np.array([1.0, 4.0]), np.array([1.0, 1.0]), rng=rng, size=100)
        assert set(map(tuple, drawn.T.tolist())) == {(2.0, 0.5), (10.0, 10.0)}

    @pytest.mark.parametrize("factor", [60.0, 1e-3])
    def test_in_another_unit_of_time_is_the_same_burst(self, factor):
        for seconds in ([2.0, 10.0], stats.gamma(2.0, scale=3.0)):
            burst = Burst(seconds, law=RandomLaw(CONTENDED, lambda t: t > 5.0))
            other = burst.scaled(factor).scaled(2.0)
            expected = 2.0 * factor * float(burst.mean_time(6, 1))
            assert float(other.mean_time(6, 1)) == pytest.approx(expected, rel=1e-12)

    @pytest.mark.parametrize(
        "function",
        [
            lambda t: -t,
            lambda t: np.nan * t,
            lambda t: None,
            lambda t: np.ones(7),
            lambda: 1.0,
            lambda t: "long",
            lambda t: 2.0 * t,
        ],
    )
    def test_refuses_a_function_that_answers_nonsense(self, function):
        with pytest.raises(ModelError, match=r"parameter|contention"):
            Burst([1.0, 2.0], law=RandomLaw(CONTENDED, function))

    def test_refuses_bursts_shorter_than_their_sequential_part(self):
        law = RandomLaw(CONTENDED, lambda t: t > 5.0)
        for seconds in ([1.0, 9.0], PhaseType.exponential(mean=5.0)):
            with pytest.raises(ModelError, match="longer than its sequential part"):
                Burst(seconds, sequential=2.0, law=law)


class TestDrawnJobs:
    @pytest.mark.parametrize(
        "burst",
        [
            Burst(10.0, law=RandomLaw(FED, PhaseType.exponential(mean=4.0))),
            Burst(stats.gamma(2.0, scale=4.0), law=RandomLaw(CONTENDED, stats.beta(2.0, 5.0))),
            Burst(stats.gamma(2.0, scale=4.0), law=RandomLaw(power, [0.1, 3.0])),
            Burst(stats.gamma(2.0, scale=4.0), law=RandomLaw(FED, lambda t: t)),
            Burst([3.0, 30.0], [1.0, 20.0], law=RandomLaw(FED, [1.0, 8.0]), paired=True),
        ],
        ids=["R", "C", "callable", "of the length", "paired"],
    )
    def test_have_the_mean_that_the_model_gives(self, burst, rng):
        p, d = np.array([1.0, 8.0, 6.0]), np.array([1.0, 2.0, 6.0])
        drawn = burst.draw(p, d, rng=rng, size=40_000)
        missed = np.abs(drawn.mean(axis=1) - burst.mean_time(p, d))
        assert np.all(missed < 4 * drawn.std(axis=1, ddof=1) / 200.0 + 1e-9)

    def test_of_a_program_have_the_mean_of_ratios(self, rng):
        """R = 1 or 8 by halves, 8 s of I/O; on p = 8, d = 2 s is 1/2 or 1/8."""
        program = Program([Phase(Burst(8.0, law=RandomLaw(FED, [1.0, 8.0])), 0.0)])
        estimate = mean_of_ratios(program, 8, 2, rng=rng, size=20_000)
        assert abs(estimate.mean - (2.0 + 8.0) / 2) < 4 * estimate.standard_error
        assert speedup_surface(program, [8], [2]).speedup[0, 0] == pytest.approx(1 / 0.3125)


class TestAProgramWithRandomScaling:
    def program(self):
        io = Burst(40.0, law=RandomLaw(FED, stats.gamma(2.0, scale=2.0)))
        cpu = Burst([50.0, 90.0], 5.0, law=RandomLaw(CONTENDED, [0.0, 0.1]), paired=True)
        return Program([Phase(io, cpu), Phase(1.0, 2.0)])

    def test_says_how_its_surface_was_averaged(self):
        random, plain = self.program(), Program([Phase(1.0, 2.0)])
        assert (random.method, plain.method) == ("quadrature", "exact")
        assert WorkloadMix([plain, random]).method == "quadrature"
        assert WorkloadMix([plain, plain]).method == "exact"
        assert speedup_surface(random, [1, 2], [1]).method == "quadrature"
        assert speedup_surface(plain, [1, 2], [1]).method == "exact"

    def test_has_fractions_that_sum_to_one(self):
        assert sum(float(f) for f in self.program().fractions()) == pytest.approx(1.0, abs=1e-12)

    def test_in_another_unit_of_time_is_the_same_program(self):
        program = self.program()
        for p, d in ALLOTMENTS:
            expected = 7.0 * float(program.mean_time(p, d))
            assert float(program.scaled(7.0).mean_time(p, d)) == pytest.approx(expected, rel=1e-12)

    def test_gives_the_simulator_its_means(self):
        program = self.program()
        io, cpu = program.phase_times(8, 2)
        assert io.sum() == pytest.approx(float(program.mean_io(8, 2)), rel=1e-12)
        assert cpu.sum() == pytest.approx(float(program.mean_cpu(8, 2)), rel=1e-12)

    def test_can_be_pickled(self):
        program = self.program()
        again = pickle.loads(pickle.dumps(program))
        assert float(again.mean_time(8, 2)) == float(program.mean_time(8, 2))

    def test_cannot_be_edited_through_its_samples(self):
        sample = np.array([1.0, 2.0])
        law = RandomLaw(FED, sample)
        sample[:] = 100.0
        assert mean_s(law, 8, 2) == mean_s(RandomLaw(FED, [1.0, 2.0]), 8, 2)


class TestARandomLawOfNonsense:
    @pytest.mark.parametrize("form", [None, 3, "p", "min(d, p/4)", "R", "x" * 10**6, float, ["p"], True])
    def test_is_refused_by_its_form(self, form):
        with pytest.raises(ModelError, match="form") as caught:
            RandomLaw(form, 0.5)
        assert len(str(caught.value)) < 300

    @pytest.mark.parametrize(
        "parameter",
        [
            None,
            "3",
            True,
            math.nan,
            math.inf,
            -1.0,
            10**400,
            [],
            [1.0, -1.0],
            [math.nan],
            [[1.0]],
            float,
            stats.norm(5.0, 1.0),
            stats.pareto(0.9),
            1j,
            {},
        ],
    )
    @pytest.mark.parametrize("form", [FED, power])
    def test_is_refused_by_its_parameter(self, form, parameter):
        with pytest.raises(ModelError, match="parameter"):
            RandomLaw(form, parameter)

    @pytest.mark.parametrize(
        "contention", [1.01, [0.5, 2.0], stats.uniform(0, 2), PhaseType.exponential(mean=0.1)]
    )
    def test_is_refused_when_its_contention_exceeds_one(self, contention):
        with pytest.raises(ModelError, match="contention C must be from 0 to 1"):
            RandomLaw(CONTENDED, contention)

    @pytest.mark.parametrize("r", [0.0, [0.0, 1.0], stats.poisson(2.0), PhaseType([0.5], [[-1.0]])])
    def test_is_refused_when_a_disk_may_need_no_processor(self, r):
        with pytest.raises(ModelError, match="R must be above 0"):
            RandomLaw(FED, r)

    def test_is_refused_when_only_its_mean_is_known(self):
        class OnlyMean:
            mean = 0.5

        for form in (FED, CONTENDED, power):
            with pytest.raises(ModelError, match="without ppf"):
                Burst(1.0, law=RandomLaw(form, OnlyMean()))

    @pytest.mark.parametrize(
        "form",
        [
            lambda p, d: p,
            lambda p, d, x: None,
            lambda p, d, x: np.nan * x,
            lambda p, d, x: np.ones(5),
            lambda p, d, x: 0.0 * x,
            lambda p, d, x: 1 // 0,
        ],
    )
    def test_is_refused_when_its_function_answers_nonsense(self, form):
        with pytest.raises(ModelError, match="random law"):
            Burst(1.0, law=RandomLaw(form, [0.5, 1.0]))

    def test_may_have_blanks(self):
        assert RandomLaw(" min( d,p / R )", 2.0).form == FED
        assert RandomLaw(f"min(d,{' ' * 100}p / R)", 2.0).form == FED
        assert str(RandomLaw(FED, 2.0)) == "min(d, p/R), random"


def test_lengths_and_randomness_of_a_random_law_are_given_by_name():
    law, seconds = RandomLaw("min(d, p/R)", 3.0), np.array([1.0, 2.0])
    found = law.drawn_at(seconds=seconds, rng=np.random.default_rng(1))
    assert found.tolist() == [3.0, 3.0]
    with pytest.raises(TypeError):
        law.drawn_at(seconds, np.random.default_rng(1))
