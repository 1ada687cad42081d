"""The law of Amdahl for processors and disks, in symbols: its forms, and that of a program.

sympy is imported when a function here is called, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from phasefit.checks import instance_of, one_of
from qmodels.errors import ModelError
from qmodels.programs.growth import NamedGrowth, checked_growth
from qmodels.programs.laws import (
    OverDisks,
    OverFedDisks,
    OverProcessors,
    Unscaled,
    WithContention,
    checked_law,
)
from qmodels.programs.model import AbstractProgram, Program, WorkloadMix
from qmodels.programs.phases import Burst

if TYPE_CHECKING:
    import sympy

NUMBERS = ("2", "3", "5", "6", "7", "Amdahl")  #: of the forms, each a case of the one before

_MOST_BURSTS = 2_000  # of one expression; sympy takes about a millisecond for each


@dataclass(frozen=True, eq=False)
class Form:
    """One form of the law: an equation in the symbols of `law_symbols`."""

    number: str  #: as in the paper, or "Amdahl"
    left: sympy.Expr  #: E[T_pd] or S_pd
    right: sympy.Expr  #: side of the equation

    @property
    def latex(self) -> str:
        """The equation for a LaTeX display."""
        import sympy

        return str(sympy.latex(sympy.Eq(self.left, self.right)))

    def function(self, *arguments: sympy.Expr) -> Callable[..., Any]:
        """Return the right-hand side as a function of numbers or numpy arrays.

        Parameters
        ----------
        *arguments : sympy.Expr
            In the order in which the function takes them: symbols, or a whole term such as
            ``f_seq_io(p, d)``, of which the function then takes the value. Everything that the
            form depends on must be among them; what it does not depend on may be.

        Raises
        ------
        ModelError
            If the form depends on something else too; if it is a sum over the phases, as (2), (3)
            and (5) are, for which `symbolic_time` of a program stands; or if an argument is no
            symbol.

        Examples
        --------
        >>> s = law_symbols()
        >>> sequential = s.f_seq_io(s.p, s.d), s.f_seq_cpu(s.p, s.d)
        >>> speedup = law_form("7").function(s.p, s.d, s.f_par_io, s.f_par_cpu, *sequential)
        >>> round(float(speedup(16, 4, 0.25, 0.5, 0.0, 0.25)), 6)
        2.909091
        """
        import sympy
        from sympy.core.function import AppliedUndef

        for argument in arguments:
            if not isinstance(argument, (sympy.Symbol, sympy.Indexed, AppliedUndef)):
                raise ModelError(f"an argument must be a symbol of law_symbols(), got {argument!r:.60}")
        if self.right.has(sympy.Sum):
            raise ModelError(
                f"form ({self.number}) sums over the phases of any program, which has no value; "
                f"take symbolic_time or symbolic_speedup of a program"
            )
        rest = self.right.xreplace({argument: sympy.Dummy() for argument in arguments})
        missing = rest.atoms(AppliedUndef, sympy.Indexed) or rest.atoms(sympy.Symbol)
        names = sorted(str(each) for each in missing if not isinstance(each, sympy.Dummy))
        if names:
            raise ModelError(
                f"form ({self.number}) depends on {', '.join(names)} as well; name it among the "
                f"arguments, as law_symbols() has it"
            )
        function: Callable[..., Any] = sympy.lambdify(arguments, self.right, modules="numpy")
        return function


def law_symbols() -> SimpleNamespace:
    r"""Return the symbols of the law, x being ``io`` or ``cpu``; everything that is random is a mean.

    Returns
    -------
    symbols : SimpleNamespace
        ``p``, ``d``: processors and disks; ``n``, ``N_max``: a phase, the most phases there can
        be;
        ``F[n]``: P[N >= n]; ``T_x[n, p, d]``: time of a burst; ``s_x[n, p, d]``: its scaling
        factor; ``Z_x[n]``: T_n11 - o_n11, its parallel part on (1, 1); ``o_x[n, p, d]``: its
        sequential part; ``H_x(p, d)``: E[1/h_x]; ``T11``: E[T_11]; ``f_par_x`` and
        ``f_seq_x(p, d)``: the fractions; ``time(p, d)`` and ``speedup(p, d)``: E[T_pd] and S_pd.

    Notes
    -----
    ``f_seq_x`` depends on (p, d), since the sequential part does. The four fractions sum to one
    where it is that of (1, 1).

    Examples
    --------
    >>> symbols = law_symbols()
    >>> symbols.T_io[symbols.n, symbols.p, symbols.d]
    T_io[n, p, d]
    """
    import sympy

    s = SimpleNamespace()
    s.p, s.d = sympy.symbols("p d", positive=True)
    s.n, s.N_max = sympy.symbols("n N_max", integer=True, positive=True)
    s.T11 = sympy.Symbol("T_11", positive=True)
    s.F = sympy.IndexedBase("F")
    s.time, s.speedup = sympy.Function("T"), sympy.Function("S")
    for x in ("io", "cpu"):
        for name in ("T", "s", "Z", "o"):
            setattr(s, f"{name}_{x}", sympy.IndexedBase(f"{name}_{x}"))
        setattr(s, f"H_{x}", sympy.Function(f"H_{x}"))
        setattr(s, f"f_par_{x}", sympy.Symbol(f"f_par_{x}", nonnegative=True))
        setattr(s, f"f_seq_{x}", sympy.Function(f"f_seq_{x}"))
    return s


def law_form(number: str) -> Form:
    """Return one form of the law: equations (2), (3), (5), (6), (7) of [1]_, or Amdahl's.

    Parameters
    ----------
    number : str
        One of `NUMBERS`.

    Returns
    -------
    form : Form
        (2): means summed over the phases; (3): with equation (1) for the bursts, s and Z
        independent; (5): the speedup E[T_11]/E[T_pd]; (6): one scaling law for all bursts of a
        kind; (7): 1/d for I/O, 1/p for computation; Amdahl's: no I/O, constant sequential part.

    Raises
    ------
    ModelError
        If there is no such form.

    Notes
    -----
    As corrected: (2) and (3) have an I/O and a computation term each.

    References
    ----------
    .. [1] Rosti et al. 1998, sections 2.1 to 2.3.
    .. [2] Amdahl 1967.

    Examples
    --------
    >>> law_form("7").right
    1/(f_par_cpu/p + f_seq_cpu(p, d) + f_seq_io(p, d) + f_par_io/d)
    >>> law_form("Amdahl").right
    1/(f_seq_cpu + (1 - f_seq_cpu)/p)
    """
    one_of("form", number, NUMBERS)
    import sympy

    s = law_symbols()
    n, p, d = s.n, s.p, s.d

    def over_phases(io: sympy.Expr, cpu: sympy.Expr) -> sympy.Expr:
        return sympy.Sum((io + cpu) * s.F[n], (n, 1, s.N_max))

    by_equation_1 = over_phases(
        s.s_io[n, p, d] * s.Z_io[n] + s.o_io[n, p, d],
        s.s_cpu[n, p, d] * s.Z_cpu[n] + s.o_cpu[n, p, d],
    )
    sequential = s.f_seq_io(p, d) + s.f_seq_cpu(p, d)
    constant = sympy.Symbol("f_seq_cpu", nonnegative=True)
    rights = {
        "2": lambda: over_phases(s.T_io[n, p, d], s.T_cpu[n, p, d]),
        "3": lambda: by_equation_1,
        "5": lambda: 1 / (by_equation_1 / s.T11),
        "6": lambda: 1 / (sequential + s.f_par_io * s.H_io(p, d) + s.f_par_cpu * s.H_cpu(p, d)),
        "7": lambda: 1 / (sequential + s.f_par_io / d + s.f_par_cpu / p),
        "Amdahl": lambda: 1 / (constant + (1 - constant) / p),
    }
    left = s.time(p, d) if number in ("2", "3") else s.speedup(p, d)
    return Form(number, left, rights[number]())


def symbolic_time(program: AbstractProgram) -> sympy.Expr:
    """Return E[T_pd] of a program in seconds, as an expression in p and d.

    Parameters
    ----------
    program : Program or WorkloadMix
        Its laws must have a text: ``p``, ``d``, ``min(d, p/R)``, ``p/(1+C*(p-1))``, ``1``, and
        ``p-1``, ``log2(p)``, ``sqrt(p)-1``, ``d-1`` for the growth of overhead.

    Returns
    -------
    time : sympy.Expr
        In the symbols p and d of `law_symbols`, for p, d >= 1.

    Raises
    ------
    ModelError
        If a law is a function or random, which has no expression, or the program has more than
        2000 different bursts.

    Examples
    --------
    Communication makes the best number of processors finite, here 40:

    >>> from qmodels.programs import Phase
    >>> program = Program([Phase(8.0, Burst(100.0, sequential=4.0, per_processor=0.06))])
    >>> slope = symbolic_time(program).diff(law_symbols().p)
    >>> slope
    0.06 - 96.0/p**2
    """
    import sympy

    s = law_symbols()
    if isinstance(program, WorkloadMix):
        weights: Any = program.weights
        parts = zip(weights.tolist(), program.programs, strict=True)
        return sympy.Add(*(w * symbolic_time(part) for w, part in parts))
    program = instance_of("program", program, Program, "Program or WorkloadMix")
    visits = program.visits
    if 2 * len(visits) > _MOST_BURSTS:
        raise ModelError(
            f"{2 * len(visits)} different bursts are more than {_MOST_BURSTS}; repeat phases in "
            f"a WorkingSet instead of making each anew"
        )
    times = []
    for phase, count in visits:
        times += [count * _burst_time(phase.burst(x), s.p, s.d) for x in ("io", "cpu")]
    return sympy.Add(*times)


def symbolic_speedup(program: AbstractProgram) -> sympy.Expr:
    """Return S_pd = E[T_11]/E[T_pd] of a program, as an expression in p and d; see `symbolic_time`.

    Parameters
    ----------
    program : Program or WorkloadMix
        As for `symbolic_time`.

    Examples
    --------
    >>> from qmodels.programs import Phase
    >>> symbolic_speedup(Program([Phase(Burst(20.0, law="d"), Burst(80.0, sequential=4.0))]))
    100.0/(4.0 + 76.0/p + 20.0/d)
    """
    return float(program.mean_time(1.0, 1.0)) / symbolic_time(program)


def symbolic_law(law: object) -> sympy.Expr:
    """Return h(p, d) of a scaling law that has a text, in the symbols of `law_symbols`.

    Parameters
    ----------
    law : object
        The scaling law.

    Raises
    ------
    ModelError
        If the law has no text.

    Examples
    --------
    >>> symbolic_law("min(d, p/4)"), symbolic_law("p/(1+0.1*(p-1))")
    (Min(d, 0.25*p), p/(0.1*p + 0.9))
    """
    import sympy

    s, scaling = law_symbols(), law
    if isinstance(law, str):
        scaling = checked_law("law", law)
    if isinstance(scaling, OverProcessors):
        return s.p
    if isinstance(scaling, OverDisks):
        return s.d
    if isinstance(scaling, OverFedDisks):
        return sympy.Min(s.d, s.p / scaling.processors_per_disk)
    if isinstance(scaling, WithContention):
        return s.p / (1 + scaling.contention * (s.p - 1))
    if isinstance(scaling, Unscaled):
        return sympy.Integer(1)
    raise ModelError(f"the scaling law {law!r:.60} has no expression; use one that has a text")


def symbolic_growth(growth: object) -> sympy.Expr:
    """Return g(p, d) of a growth law that has a text, in the symbols of `law_symbols`; p, d >= 1.

    Parameters
    ----------
    growth : object
        The growth law.

    Raises
    ------
    ModelError
        If the law has no text.

    Examples
    --------
    >>> symbolic_growth("log2(p)")
    log(p)/log(2)
    """
    import sympy

    s = law_symbols()
    named = checked_growth("growth", growth) if isinstance(growth, str) else growth
    if not isinstance(named, NamedGrowth):
        raise ModelError(f"the growth law {growth!r:.60} has no expression; use one with a text")
    return {
        "p-1": s.p - 1,
        "log2(p)": sympy.log(s.p) / sympy.log(2),
        "sqrt(p)-1": sympy.sqrt(s.p) - 1,
        "d-1": s.d - 1,
    }[named.text]


def _burst_time(burst: Burst, p: Any, d: Any) -> sympy.Expr:
    """E[T_pd] of one burst by equation (1)."""
    import sympy

    parallel, fixed = (float(f(1.0, 1.0)) for f in (burst.parallel_time, burst.sequential_time))
    time: Any = sympy.Float(fixed) if fixed else sympy.Integer(0)
    if parallel:
        h = symbolic_law(burst.law)
        time += parallel * h.subs({p: 1, d: 1}) / h
    if burst.growth_seconds:
        time += burst.growth_seconds * symbolic_growth(burst.growth)
    if burst.slowdown is None:
        return time
    up_to, factor = burst.slowdown
    return sympy.Piecewise((time, p <= up_to), (time / factor, True))
