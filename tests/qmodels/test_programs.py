from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phasefit import PhaseType
from qmodels.errors import ModelError
from qmodels.programs import (
    Burst,
    Geometric,
    Phase,
    Program,
    Signature,
    WorkingSet,
    WorkloadMix,
    parse_law,
)
from qmodels.programs.laws import OverFedDisks, WithContention
from qmodels.programs.quantities import mean_of

units = st.floats(0.05, 4096.0)
seconds = st.floats(1e-3, 1e6)

NONSENSE = [10**400, math.nan, math.inf, -math.inf, -1.0, None, "3", True, 1j, [[1.0]], [], {}]


@st.composite
def bursts(draw):
    total = draw(seconds)
    law = draw(st.sampled_from(["p", "d", "1", "min(d, p/4)", "p/(1+0.1*(p-1))"]))
    slow = draw(st.none() | st.tuples(st.integers(1, 64), st.floats(0.5, 8.0)))
    return Burst(
        total,
        sequential=total * draw(st.floats(0.0, 1.0)),
        law=law,
        per_processor=draw(st.floats(0.0, 1.0)),
        slowdown=slow,
    )


programs = st.lists(st.builds(Phase, bursts(), bursts()), min_size=1, max_size=4)


def mean_by_hand(phases, survival, p, d, terms):
    """Equation (2) summed term by term."""
    times = [float(phase.io.mean_time(p, d) + phase.cpu.mean_time(p, d)) for phase in phases]
    return sum(survival(n) * times[(n - 1) % len(times)] for n in range(1, terms + 1))


class TestScalingLaws:
    @pytest.mark.parametrize(
        ("text", "h"),
        [
            ("p", lambda p, d: p),
            ("d", lambda p, d: d),
            ("1", lambda p, d: 1.0),
            ("min(d, p/4)", lambda p, d: min(d, p / 4)),
            ("min(d, p/0.25)", lambda p, d: min(d, 4 * p)),
            ("p/(1+0.05*(p-1))", lambda p, d: p / (1 + 0.05 * (p - 1))),
        ],
    )
    def test_say_what_their_text_says(self, text, h):
        law = parse_law(text)
        assert str(law) == text
        for p in (1.0, 3.0, 128 / 3, 512.0):
            for d in (1.0, 2.5, 64.0):
                assert float(law(np.float64(p), np.float64(d))) == pytest.approx(h(p, d), rel=1e-15)

    @given(st.floats(1e-6, 1e6))
    def test_are_read_back_from_their_text(self, r):
        assert parse_law(str(OverFedDisks(r))) == OverFedDisks(r)

    @given(st.floats(1e-18, 1.0) | st.just(0.0))
    def test_with_contention_are_read_back_from_their_text(self, c):
        assert parse_law(str(WithContention(c))) == WithContention(c)

    @pytest.mark.parametrize(
        ("short", "text"), [("p/(1+.1*(p-1))", "p/(1+0.1*(p-1))"), ("min(d, p/.5)", "min(d, p/0.5)")]
    )
    def test_need_no_zero_before_the_point(self, short, text):
        assert parse_law(short) == parse_law(text)

    @pytest.mark.parametrize("text", [" p ", "min( d,p / 4 )", "p / ( 1 + 5e-2 * ( p - 1 ) )"])
    def test_may_have_blanks(self, text):
        assert parse_law(str(parse_law(text))) == parse_law(text)

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "P",
            "2",
            "p*d",
            "min(d,p/R)",
            "min(p/4, d)",
            "min(d, p/-4)",
            "min(d, p/1_0)",
            "min(d, p/.)",
            "min(d, p/\u0664)",
            "min(d, p/4)\n",
            "min(d, p/nan)",
            "__import__('os')",
            "p" * 10**6,
            "min(d, p/" + "1" * 10**6 + ")",
            "p/(1+0.1*(p-1)",
            "min(d, p/4); p",
        ],
    )
    def test_that_are_unknown_are_refused_with_the_grammar(self, text):
        with pytest.raises(ModelError, match=r"write one of: p; d; min\(d, p/R\)") as caught:
            parse_law(text)
        assert len(str(caught.value)) < 300

    @pytest.mark.parametrize("text", ["min(d, p/0)", "min(d, p/1e999)", "p/(1+1.5*(p-1))"])
    def test_whose_number_is_out_of_range_are_refused(self, text):
        with pytest.raises(ModelError, match="must be from"):
            parse_law(text)

    @pytest.mark.parametrize("text", [None, 4, b"p", ["p"]])
    def test_that_are_no_text_are_refused(self, text):
        with pytest.raises(ModelError, match="is a text"):
            parse_law(text)


class TestABurst:
    @given(bursts())
    def test_takes_its_seconds_on_one_processor_and_one_disk(self, burst):
        assert float(burst.mean_time(1, 1)) == pytest.approx(burst.seconds, rel=1e-14)

    @given(bursts(), units, units)
    def test_is_its_parallel_and_its_sequential_part(self, burst, p, d):
        parts = burst.parallel_time(p, d) + burst.sequential_time(p, d)
        assert float(burst.mean_time(p, d)) == float(parts)

    def test_with_a_slowdown_is_faster_by_the_factor_beyond_it(self):
        burst = Burst(220.0, sequential=22.0, slowdown=(8, 2.2))
        assert float(burst.mean_time(8, 1)) == pytest.approx(22.0 + 198.0 / 8)
        assert float(burst.mean_time(8.5, 1)) == pytest.approx((22.0 + 198.0 / 8.5) / 2.2)

    def test_takes_any_function_as_its_law(self):
        burst = Burst(10.0, law=lambda p, d: np.sqrt(p * d) * 7.0)
        assert float(burst.mean_time(16, 4)) == pytest.approx(10.0 / 8.0)

    def test_broadcasts_processors_against_disks(self):
        burst = Burst(12.0, sequential=2.0, law="min(d, p/2)")
        p, d = np.array([1.0, 2.0, 8.0]), np.array([1.0, 4.0])
        together = burst.mean_time(p[:, None], d[None, :])
        one_by_one = [[float(burst.mean_time(x, y)) for y in d] for x in p]
        assert together.tolist() == one_by_one

    @pytest.mark.parametrize("name", ["seconds", "sequential", "per_processor"])
    @pytest.mark.parametrize("value", [*NONSENSE, 1e300, [1.0, math.nan], [1.0, -2.0]])
    def test_refuses_nonsense(self, name, value):
        with pytest.raises(ModelError, match=name):
            Burst(**{"seconds": 1.0} | {name: value})

    @pytest.mark.parametrize(
        "slowdown", [3, (8,), (8, 0.0), (0.5, 2.0), (8, math.nan), (None, 2.0), "ab", (8, 1, 2)]
    )
    def test_refuses_a_nonsensical_slowdown(self, slowdown):
        with pytest.raises(ModelError, match="slowdown"):
            Burst(1.0, slowdown=slowdown)

    @pytest.mark.parametrize(
        "law",
        [
            None,
            3,
            "q",
            float,
            lambda p: p,
            lambda p, d: p - 1,
            lambda p, d: np.nan * p,
            lambda p, d: None,
            lambda p, d: np.ones(3),
        ],
    )
    def test_refuses_a_nonsensical_law(self, law):
        with pytest.raises(ModelError, match="law"):
            Burst(1.0, law=law)

    def test_refuses_overheads_larger_than_the_time(self):
        with pytest.raises(ModelError, match=r"sequential = 3 s is more than seconds = 2 s"):
            Burst(2.0, sequential=3.0)

    @pytest.mark.parametrize("value", [*NONSENSE[:8], 0.0, 1e13, [1.0, 0.0]])
    @pytest.mark.parametrize("question", ["mean_time", "parallel_time", "sequential_time"])
    def test_refuses_an_allotment_that_cannot_be(self, value, question):
        ask = getattr(Burst(1.0, sequential=0.5), question)
        with pytest.raises(ModelError, match="processors p"):
            ask(value, 1)
        with pytest.raises(ModelError, match="disks d"):
            ask(1, value)

    def test_refuses_allotments_that_do_not_broadcast(self):
        with pytest.raises(ModelError, match="broadcast"):
            Burst(1.0).mean_time([1, 2], [1, 2, 3])


class TestAQuantity:
    def test_may_be_a_frozen_law_of_scipy(self):
        from scipy import stats

        law = stats.gamma(2.0, scale=3.0)
        burst = Burst(law, sequential=stats.uniform(0.0, 2.0), law="p")
        assert burst.seconds is law
        assert float(burst.mean_time(5, 1)) == pytest.approx(1.0 + 5.0 / 5)

    def test_may_be_a_law_whose_mean_is_a_number(self):
        """As with `phasefit.PhaseType`."""

        class Erlang:
            mean = 7.0

        law = Erlang()
        burst = Burst(law)
        assert burst.seconds is law
        assert float(burst.mean_time(7, 1)) == 1.0

    def test_may_be_a_sample_that_cannot_be_edited_afterwards(self):
        sample = np.array([1.0, 3.0, 8.0])
        burst = Burst(sample)
        sample[:] = 100.0
        assert float(burst.mean_time(1, 1)) == pytest.approx(4.0)
        with pytest.raises(ValueError, match="read-only"):
            burst.seconds[0] = 5.0

    def test_without_a_finite_mean_is_refused(self):
        from scipy import stats

        with pytest.raises(ModelError, match="mean inf"):
            mean_of(stats.pareto(0.9))

    def test_that_reaches_below_zero_is_refused(self):
        from scipy import stats

        with pytest.raises(ModelError, match="reaches down to"):
            mean_of(stats.norm(5.0, 1.0))

    @pytest.mark.parametrize("value", [*NONSENSE, float, np.array(["a"]), np.ones((2, 2))])
    def test_that_is_nonsense_is_refused(self, value):
        with pytest.raises(ModelError):
            mean_of(value)


class TestAProgram:
    @pytest.mark.thorough
    @given(programs, units, units)
    def test_is_the_sum_of_its_phases(self, phases, p, d):
        program = Program(phases)
        io, cpu = program.phase_times(p, d)
        assert io.shape == cpu.shape == (len(phases),)
        assert io == pytest.approx([float(x.io.mean_time(p, d)) for x in phases], rel=1e-13)
        assert float(program.mean_io(p, d)) == pytest.approx(io.sum(), rel=1e-12)
        assert float(program.mean_cpu(p, d)) == pytest.approx(cpu.sum(), rel=1e-12)
        expected = mean_by_hand(phases, lambda n: 1.0, p, d, len(phases))
        assert float(program.mean_time(p, d)) == pytest.approx(expected, rel=1e-12)

    @pytest.mark.parametrize("mean", [1.0, 1.5, 7.0, 1e6, 1e12])
    def test_of_two_alternating_phases_agrees_with_the_geometric_series(self, mean):
        import mpmath

        program = Program([Phase(1.0, 0.0), Phase(0.0, 1.0)], phase_count=Geometric(mean))
        with mpmath.workdps(50):
            r = 1 - 1 / mpmath.mpf(mean)
            first, second = 1 / (1 - r**2), r / (1 - r**2)
        # P[N >= n] itself is rounded, which is relative to r and not to the small 1 - r.
        assert float(program.mean_io(1, 1)) == pytest.approx(float(first), rel=1e-14)
        assert float(program.mean_cpu(1, 1)) == pytest.approx(float(second), rel=1e-14)

    @pytest.mark.thorough
    @given(programs)
    def test_has_fractions_that_sum_to_one_at_one_processor_and_one_disk(self, phases):
        assert sum(float(f) for f in Program(phases).fractions()) == pytest.approx(1.0, abs=1e-12)

    def test_has_sequential_fractions_that_grow_with_the_overhead(self):
        program = Program([Phase(10.0, Burst(30.0, sequential=4.0, per_processor=2.0))])
        assert float(program.fractions(1, 1).sequential_cpu) == pytest.approx(0.1)
        assert float(program.fractions(6, 1).sequential_cpu) == pytest.approx(14.0 / 40.0)
        assert program.fractions(6, 1).parallel_cpu == pytest.approx(26.0 / 40.0)

    @pytest.mark.thorough
    @given(programs, st.floats(1e-3, 1e3), units, units)
    def test_in_another_unit_of_time_is_the_same_program(self, phases, factor, p, d):
        program = Program(phases, phase_count=[0.5, 0.5])
        other = program.scaled(factor)
        expected = factor * float(program.mean_time(p, d))
        assert float(other.mean_time(p, d)) == pytest.approx(expected, rel=1e-12)
        assert other.mean_phases == program.mean_phases

    def test_of_laws_and_samples_can_be_scaled(self):
        from scipy import stats

        program = Program([Phase(stats.expon(scale=4.0), np.array([1.0, 3.0]))]).scaled(2.0)
        assert float(program.mean_io(1, 1)) == pytest.approx(8.0)
        assert float(program.mean_cpu(1, 1)) == pytest.approx(4.0)

    def test_of_random_length_gives_the_simulator_equal_phases(self):
        program = Program([Phase(1.0, 2.0), Phase(3.0, 4.0)], phase_count=Geometric(4.4))
        io, cpu = program.phase_times(2, 2)
        assert io.shape == cpu.shape == (4,)
        assert io.sum() == pytest.approx(float(program.mean_io(2, 2)))
        assert cpu.sum() == pytest.approx(float(program.mean_cpu(2, 2)))
        assert np.ptp(io) == np.ptp(cpu) == 0

    def test_of_a_hundred_thousand_phases_is_answered_at_once(self):
        program = Program([WorkingSet(100_000, [Phase(1.0, 2.0)])])
        assert float(program.mean_time(1, 1)) == 300_000.0

    @pytest.mark.parametrize("parts", [[], None, 3, "phases", [None], [1.0], [Phase(1, 1), "x"]])
    def test_refuses_what_is_no_list_of_phases(self, parts):
        with pytest.raises(ModelError, match="working_sets"):
            Program(parts)

    @pytest.mark.parametrize(
        "count", [0.5, 3, "ab", [], [0.5, 0.4], [-0.1, 1.1], [math.nan], [[1.0]], {"a": 1}, True]
    )
    def test_refuses_a_phase_count_that_is_no_law(self, count):
        with pytest.raises(ModelError, match="phase_count"):
            Program([Phase(1.0, 1.0)], phase_count=count)

    @pytest.mark.parametrize("mean", [0.99, math.nan, math.inf, None, "3", True])
    def test_refuses_a_geometric_law_with_fewer_than_one_phase(self, mean):
        with pytest.raises(ModelError, match="mean number of phases"):
            Geometric(mean)

    @pytest.mark.parametrize("repeat", [0, -1, 1.5, None, True, 10**9, math.nan])
    def test_refuses_a_working_set_that_cannot_be_repeated(self, repeat):
        with pytest.raises(ModelError, match="repeat"):
            WorkingSet(repeat, [Phase(1.0, 1.0)])

    def test_refuses_phases_without_any_time(self):
        with pytest.raises(ModelError, match="must take some time"):
            Phase(0.0, 0.0)

    @pytest.mark.parametrize("value", NONSENSE)
    def test_refuses_a_phase_of_nonsense_by_name(self, value):
        with pytest.raises(ModelError, match="io: seconds"):
            Phase(value, 1.0)

    @pytest.mark.parametrize("n", [0, -1, 1.5, math.nan, None, "2"])
    def test_refuses_to_say_how_likely_a_phase_is_that_cannot_be(self, n):
        with pytest.raises(ModelError, match=r"n (must be|is nan)"):
            Program([Phase(1.0, 1.0)]).survival(n)

    def test_names_the_number_of_phases_that_is_no_such_number(self):
        with pytest.raises(ModelError, match=r"got 0\.5"):
            Program([Phase(1.0, 1.0)] * 3).survival([2.0, 0.5])

    @pytest.mark.parametrize("factor", [0.0, -1.0, math.nan, math.inf, None, "2", True])
    def test_refuses_a_scale_that_is_not_positive(self, factor):
        with pytest.raises(ModelError, match="factor"):
            Program([Phase(1.0, 1.0)]).scaled(factor)

    @pytest.mark.parametrize("count", [None, [0.5, 0.5]])
    @pytest.mark.parametrize("p", [0, None, math.nan, [1, 2]])
    def test_refuses_phase_times_of_what_is_no_single_allotment(self, count, p):
        program = Program([Phase(1.0, 1.0)], phase_count=count)
        for allotment in ((p, 1), (1, p)):
            with pytest.raises(ModelError):
                program.phase_times(*allotment)

    @pytest.mark.parametrize(
        ("boundaries", "io_fraction"),
        [
            ([0, 1], [1.1]),
            ([0, 1], [-0.1]),
            ([0, 0.5], [0.5]),
            ([0.1, 1], [0.5]),
            (None, [0.5]),
            ([0, 0.8, 0.5, 1], [0, 0, 0]),
            ([0, 1], [0.5, 0.5]),
            ([0, math.nan], [0.5]),
            (1.0, [0.5]),
        ],
    )
    def test_refuses_a_signature_that_cannot_be(self, boundaries, io_fraction):
        with pytest.raises(ModelError):
            Signature(boundaries, io_fraction)


class TestAMixture:
    @pytest.mark.thorough
    @given(programs, programs, st.floats(0.01, 100.0), units, units)
    def test_lies_between_its_programs(self, one, other, weight, p, d):
        parts = [Program(one), Program(other)]
        times = [float(part.mean_time(p, d)) for part in parts]
        mixed = float(WorkloadMix(parts, weights=[1.0, weight]).mean_time(p, d))
        assert min(times) * (1 - 1e-12) <= mixed <= max(times) * (1 + 1e-12)

    def test_gives_the_simulator_phases_that_add_up_to_its_means(self):
        mix = WorkloadMix([Program([WorkingSet(n, [Phase(1.0, 2.0)])]) for n in (2, 5)])
        io, cpu = mix.phase_times(4, 1)
        assert io.size == round(3.5)
        assert io.sum() == pytest.approx(float(mix.mean_io(4, 1)))
        assert cpu.sum() == pytest.approx(float(mix.mean_cpu(4, 1)))

    def test_of_too_many_phases_has_no_list_of_them(self):
        mix = WorkloadMix([Program([Phase(1.0, 2.0)], phase_count=Geometric(2e6))] * 2)
        with pytest.raises(ModelError, match="2000000 phases per job are more than 1000000"):
            mix.phase_times(1, 1)

    def test_in_another_unit_of_time_is_the_same_mixture(self):
        mix = WorkloadMix([Program([Phase(1.0, 2.0)]), Program([Phase(5.0, 2.0)])], [0.9, 0.1])
        expected = 60.0 * float(mix.mean_time(3, 2))
        assert float(mix.scaled(60.0).mean_time(3, 2)) == pytest.approx(expected)

    @pytest.mark.parametrize(
        "weights",
        [[1.0], [0.0, 0.0], [-1.0, 2.0], [math.nan, 1.0], [math.inf, 1.0], "ab", 1.0, [[1, 1]]],
    )
    def test_refuses_weights_that_do_not_fit(self, weights):
        programs = [Program([Phase(1.0, 1.0)])] * 2
        with pytest.raises(ModelError, match="weights"):
            WorkloadMix(programs, weights)

    @pytest.mark.parametrize("given", [[], None, [None], Program([Phase(1.0, 1.0)])])
    def test_refuses_what_is_no_list_of_programs(self, given):
        with pytest.raises(ModelError, match="programs"):
            WorkloadMix(given)


def test_a_class_in_the_place_of_a_law_has_no_mean():
    with pytest.raises(ModelError, match=r"io: seconds must be from 0 .* got mean nan"):
        Phase(io=PhaseType, cpu=1.0)


def test_times_of_one_allotment_are_the_same_when_asked_again_and_nonsense_stays_refused():
    program = Program([Phase(io=Burst(8.0, law="d"), cpu=Burst(24.0, sequential=2.0, law="p"))])
    for p in (4, 4.0, np.float64(4.0), 2.5):
        whole = program.mean_time(np.array([p]), np.array([2.0]))
        for _ in range(2):
            assert program.mean_time(p, 2) == whole[0]
    for p in (10**400, 0, float("nan")):
        for _ in range(2):
            with pytest.raises(ModelError, match="processors p"):
                program.mean_time(p, 2)
