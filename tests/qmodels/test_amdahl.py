from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from qmodels.errors import ModelError
from qmodels.programs import (
    Burst,
    Geometric,
    Phase,
    Program,
    WorkingSet,
    WorkloadMix,
    speedup_surface,
)
from qmodels.programs.amdahl import (
    NUMBERS,
    law_form,
    law_symbols,
    symbolic_growth,
    symbolic_law,
    symbolic_speedup,
    symbolic_time,
)
from qmodels.programs.growth import GROWTHS, parse_growth
from qmodels.programs.laws import parse_law
from qmodels.programs.random_laws import CONTENDED, RandomLaw
from tests.examples import examples

S = law_symbols()
N, P, D = S.n, S.p, S.d
COMPONENTS = ("io", "cpu")


def of(name, x):
    """Look up the symbol of one component."""
    return getattr(S, f"{name}_{x}")


def over_phases(term):
    return sympy.Sum(term * S.F[N], (N, 1, S.N_max))


def split(sums):
    """Write every sum over phases term by term, with what does not depend on n before it."""

    def one_by_one(found):
        total = sympy.Integer(0)
        for term in sympy.Add.make_args(sympy.expand(found.function)):
            before, inside = term.as_independent(N)
            total += before * sympy.Sum(inside, *found.limits)
        return total

    return sums.replace(lambda e: isinstance(e, sympy.Sum), one_by_one)


def same(one, other):
    return sympy.simplify(split(one) - split(other)) == 0


class TestEachFormIsACaseOfTheOneBefore:
    @pytest.mark.thorough
    def test_3_is_2_with_equation_1_and_scaling_independent_of_work(self):
        """T = s (T_n11 - o_11) + o, Z = T_n11 - o_11, E[s Z] = E[s] E[Z]."""
        whole = {x: sympy.IndexedBase(f"whole_{x}") for x in COMPONENTS}
        equation_1 = {
            of("T", x)[N, P, D]: of("s", x)[N, P, D] * (whole[x][N] - of("o", x)[N, 1, 1])
            + of("o", x)[N, P, D]
            for x in COMPONENTS
        }
        parallel = {whole[x][N]: of("Z", x)[N] + of("o", x)[N, 1, 1] for x in COMPONENTS}
        reduced = law_form("2").right.xreplace(equation_1).xreplace(parallel)
        assert same(reduced, law_form("3").right)
        assert not same(law_form("2").right, law_form("3").right)

    def test_3_on_one_processor_and_one_disk_is_the_whole_time(self):
        """Erratum E2: s_11 = 1 gives back the times of the bursts, I/O and computation."""
        at_one = law_form("3").right.subs({P: 1, D: 1})
        unscaled = {of("s", x)[N, 1, 1]: sympy.Integer(1) for x in COMPONENTS}
        whole = {of("Z", x)[N]: of("T", x)[N, 1, 1] - of("o", x)[N, 1, 1] for x in COMPONENTS}
        expected = law_form("2").right.subs({P: 1, D: 1})
        assert same(at_one.xreplace(unscaled).xreplace(whole), expected)

    def test_5_is_the_ratio_of_the_means_of_3(self):
        """Equation (4)."""
        assert same(1 / law_form("5").right, law_form("3").right / S.T11)

    @pytest.mark.thorough
    def test_6_is_5_with_one_scaling_law_for_all_phases(self):
        one_law = {of("s", x)[N, P, D]: of("H", x)(P, D) for x in COMPONENTS}
        fractions = {}
        for x in COMPONENTS:
            fractions[over_phases(of("Z", x)[N])] = of("f_par", x) * S.T11
            fractions[over_phases(of("o", x)[N, P, D])] = of("f_seq", x)(P, D) * S.T11
        reduced = split((1 / law_form("5").right).xreplace(one_law)).xreplace(fractions)
        assert not reduced.has(sympy.Sum)
        assert sympy.simplify(1 / reduced - law_form("6").right) == 0

    def test_7_is_6_with_disks_for_io_and_processors_for_computation(self):
        simple = {S.H_io(P, D): 1 / D, S.H_cpu(P, D): 1 / P}
        reduced = law_form("6").right.xreplace(simple)
        assert sympy.simplify(reduced - law_form("7").right) == 0
        assert law_form("6").right != law_form("7").right

    def test_the_law_of_amdahl_is_7_without_io(self):
        constant = sympy.Symbol("f_seq_cpu", nonnegative=True)
        no_io = {S.f_par_io: 0, S.f_seq_io(P, D): 0, S.f_seq_cpu(P, D): constant}
        sum_to_one = {S.f_par_cpu: 1 - constant}
        reduced = law_form("7").right.subs(no_io).subs(sum_to_one)
        assert sympy.simplify(reduced - law_form("Amdahl").right) == 0


class TestTheFractions:
    @pytest.mark.thorough
    def test_sum_to_one_just_where_the_sequential_parts_are_those_of_one_and_one(self):
        """Erratum E5: their sum exceeds one by what the sequential parts have grown."""
        whole = sum(of("Z", x)[N] + of("o", x)[N, 1, 1] for x in COMPONENTS)
        fractions = sum(of("Z", x)[N] + of("o", x)[N, P, D] for x in COMPONENTS)
        grown = sum(of("o", x)[N, P, D] - of("o", x)[N, 1, 1] for x in COMPONENTS)
        excess = over_phases(fractions) - over_phases(whole)
        assert same(excess, over_phases(grown))
        assert same(excess.subs({P: 1, D: 1}), sympy.Integer(0))
        assert not same(excess, sympy.Integer(0))


class TestTheLimits:
    CONSTANT = sympy.symbols("f_io f_cpu", positive=True)

    def law(self):
        constant = dict(zip((S.f_seq_io(P, D), S.f_seq_cpu(P, D)), self.CONSTANT, strict=True))
        return law_form("7").right.subs(constant)

    def test_of_many_processors_and_disks_is_the_inverse_of_the_sequential_fractions(self):
        far = sympy.limit(sympy.limit(self.law(), P, sympy.oo), D, sympy.oo)
        assert sympy.simplify(far - 1 / sum(self.CONSTANT)) == 0

    def test_of_many_processors_alone_keeps_the_io(self):
        far = sympy.limit(self.law(), P, sympy.oo)
        assert sympy.simplify(far - 1 / (sum(self.CONSTANT) + S.f_par_io / D)) == 0

    def test_of_many_disks_alone_keeps_the_computation(self):
        far = sympy.limit(self.law(), D, sympy.oo)
        assert sympy.simplify(far - 1 / (sum(self.CONSTANT) + S.f_par_cpu / P)) == 0

    def test_grows_in_both_directions(self):
        positive = {S.f_par_io: sympy.Symbol("a", positive=True)}
        positive[S.f_par_cpu] = sympy.Symbol("b", positive=True)
        for unit in (P, D):
            assert sympy.simplify(sympy.diff(self.law().subs(positive), unit)).is_positive


class TestInNumbers:
    @pytest.mark.thorough
    @given(
        st.lists(st.floats(0.1, 100.0), min_size=2, max_size=2),
        st.lists(st.floats(0.0, 1.0), min_size=2, max_size=2),
        st.floats(1.0, 1000.0),
        st.floats(1.0, 1000.0),
    )
    def test_form_7_is_the_surface(self, seconds, shares, p, d):
        io, cpu = (
            Burst(t, sequential=t * x, law=law) for t, x, law in zip(seconds, shares, "dp", strict=True)
        )
        program = Program([Phase(io, cpu)])
        f = program.fractions()
        constant = sympy.symbols("a b")
        form = law_form("7")
        expression = form.right.subs({S.f_seq_io(P, D): constant[0], S.f_seq_cpu(P, D): constant[1]})
        law = type(form)("7", form.left, expression).function(P, D, S.f_par_io, S.f_par_cpu, *constant)
        found = law(p, d, f.parallel_io, f.parallel_cpu, f.sequential_io, f.sequential_cpu)
        expected = float(program.mean_time(1, 1) / program.mean_time(p, d))
        assert found == pytest.approx(expected, rel=1e-12)

    def test_amdahl_has_its_textbook_values(self):
        law = law_form("Amdahl").function(P, sympy.Symbol("f_seq_cpu", nonnegative=True))
        assert law(10.0, 0.1) == pytest.approx(1 / 0.19, rel=1e-14)
        assert law(1.0, 0.7) == pytest.approx(1.0, rel=1e-14)

    @pytest.mark.parametrize("text", ["p", "d", "1", "min(d, p/4)", "p/(1+0.05*(p-1))"])
    def test_scaling_laws_are_those_of_the_numeric_code(self, text):
        symbolic = sympy.lambdify((P, D), symbolic_law(text), modules="numpy")
        for p in (1.0, 3.0, 128 / 3, 512.0):
            for d in (1.0, 2.5, 64.0):
                expected = float(parse_law(text)(np.float64(p), np.float64(d)))
                assert float(symbolic(p, d)) == pytest.approx(expected, rel=1e-12)

    @pytest.mark.parametrize("text", GROWTHS)
    def test_growth_laws_are_those_of_the_numeric_code(self, text):
        symbolic = sympy.lambdify((P, D), symbolic_growth(text), modules="numpy")
        for p in (1.0, 3.0, 128 / 3, 512.0):
            for d in (1.0, 2.5, 64.0):
                expected = float(parse_growth(text)(np.float64(p), np.float64(d)))
                assert float(symbolic(p, d)) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@st.composite
def bursts(draw):
    total = draw(st.floats(0.1, 1e3))
    return Burst(
        total,
        sequential=total * draw(st.sampled_from([0.0, 0.01, 0.5])),
        law=draw(st.sampled_from(["p", "d", "1", "min(d, p/4)", "p/(1+0.1*(p-1))"])),
        per_processor=draw(st.sampled_from([0.0, 0.25])),
        growth=draw(st.sampled_from(GROWTHS)),
        slowdown=draw(st.none() | st.just((8, 2.2))),
    )


class TestAProgram:
    AXIS = np.array([1.0, 2.0, 7.5, 8.0, 8.5, 64.0, 500.0])

    @pytest.mark.thorough
    @settings(max_examples=examples(25))
    @given(
        st.lists(st.builds(Phase, bursts(), bursts()), min_size=1, max_size=3),
        st.sampled_from([None, Geometric(4.0), [0.5, 0.25, 0.25]]),
    )
    def test_in_symbols_is_the_program_in_numbers(self, phases, count):
        program = Program(phases, phase_count=count)
        mix = WorkloadMix([program, Program([Phase(1.0, 2.0)])], [2, 1])
        for jobs in (program, mix):
            law = sympy.lambdify((P, D), symbolic_speedup(jobs), modules="numpy")
            surface = speedup_surface(jobs, self.AXIS, self.AXIS)
            p, d = np.meshgrid(self.AXIS, self.AXIS, indexing="ij")
            found = np.broadcast_to(law(p, d), p.shape)
            assert found == pytest.approx(surface.speedup, rel=1e-12)

    def test_with_communication_has_its_best_point_where_the_slope_vanishes(self):
        """I/O fed by 4 processors per disk, 700/p + .24 (p - 1) of computation."""
        program = Program([Phase(Burst(120.0, law="min(d, p/4)"), Burst(700.0, per_processor=0.24))])
        slope = sympy.lambdify(P, symbolic_time(program).subs(D, P / 4).diff(P))
        best = optimize.brentq(slope, 1.0, 1000.0, xtol=1e-12)
        assert best == pytest.approx((820 / 0.24) ** 0.5, rel=1e-12)
        surface = speedup_surface(program, np.arange(1, 129), np.arange(1, 33))
        assert surface.best().processors == round(best)

    def test_of_which_a_law_is_a_function_or_random_has_no_expression(self):
        def root(p, d):
            return np.sqrt(p)

        for burst in (
            Burst(1.0, law=root),
            Burst(1.0, law=RandomLaw(CONTENDED, stats.beta(2.0, 3.0))),
            Burst(1.0, per_processor=1.0, growth=lambda p, d: p - 1.0),
        ):
            with pytest.raises(ModelError, match="has no expression"):
                symbolic_time(Program([Phase(1.0, burst)]))

    @pytest.mark.thorough
    def test_of_very_many_different_phases_is_refused(self):
        program = Program([Phase(1.0, 1.0 + k) for k in range(1001)])
        with pytest.raises(ModelError, match="WorkingSet"):
            symbolic_time(program)
        assert symbolic_time(Program([WorkingSet(1001, [Phase(1.0, 1.0)])])).has(P)

    @pytest.mark.parametrize("program", [None, 3, Phase(1.0, 1.0)])
    def test_that_is_none_is_refused(self, program):
        with pytest.raises(ModelError, match="program"):
            symbolic_time(program)


class TestAForm:
    @pytest.mark.parametrize("number", NUMBERS)
    def test_has_latex(self, number):
        latex = law_form(number).latex
        assert latex.count("{") == latex.count("}")
        assert latex.startswith(("T{", "S{"))
        assert (r"\sum" in latex) == (number in ("2", "3", "5"))

    @pytest.mark.parametrize("number", NUMBERS)
    def test_is_a_function_of_what_it_depends_on_or_says_that_it_cannot_be(self, number):
        """Each by arithmetic, with fractions .1, .2, .3 and .4."""
        form = law_form(number)
        sequential = S.f_seq_io(P, D), S.f_seq_cpu(P, D)
        fractions = *sequential, S.f_par_io, S.f_par_cpu
        shares = 0.1, 0.2, 0.3, 0.4
        cases = {
            "6": ((*fractions, S.H_io(P, D), S.H_cpu(P, D)), (*shares, 0.5, 0.25), 1 / 0.55),
            "7": ((P, D, *fractions), (8.0, 2.0, *shares), 1 / 0.5),
            "Amdahl": ((P, sympy.Symbol("f_seq_cpu", nonnegative=True)), (4.0, 0.2), 1 / 0.4),
        }
        if number not in cases:
            with pytest.raises(ModelError, match="symbolic_time"):
                form.function(P, D)
            return
        arguments, values, expected = cases[number]
        assert form.function(*arguments)(*values) == pytest.approx(expected, rel=1e-14)
        with pytest.raises(ModelError, match=r"depends on .* as well"):
            form.function(*arguments[:-1])
        with pytest.raises(ModelError, match="must be a symbol"):
            form.function("p", *arguments)
        unused = sympy.Symbol("unused")
        assert form.function(unused, *arguments)(0.0, *values) == pytest.approx(expected)

    def test_is_a_function_of_whole_arrays(self):
        law = law_form("Amdahl").function(P, sympy.Symbol("f_seq_cpu", nonnegative=True))
        assert law(np.array([1.0, 10.0]), 0.1) == pytest.approx([1.0, 1 / 0.19], rel=1e-14)

    def test_does_not_take_a_symbol_of_the_same_name_for_its_own(self):
        with pytest.raises(ModelError, match="depends on p as well"):
            law_form("Amdahl").function(sympy.Symbol("p"), sympy.Symbol("f_seq_cpu", nonnegative=True))

    @pytest.mark.parametrize("number", ["4", "1", 7, None, "", "7" * 10**6])
    def test_that_does_not_exist_is_refused(self, number):
        with pytest.raises(ModelError, match="form must be one of"):
            law_form(number)


@pytest.mark.thorough
def test_symbols_cost_nothing_until_they_are_used():
    code = (
        "import sys, qmodels, qmodels.programs, qmodels.programs.amdahl, qmodels.policies; "
        "sys.exit('sympy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
