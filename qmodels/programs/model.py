"""Demands of a job: programs of working sets, and mixtures of programs.

Symbols as in E. Rosti, G. Serazzi, E. Smirni, M. S. Squillante, "The impact of I/O on program
behavior and parallel scheduling", *Proc. ACM SIGMETRICS* 1998, section 2: T_pd is the time of a
job on p processors and d disks, N its number of phases; those of a burst are in `phases`.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phasefit.arrays import Array, read_only
from phasefit.checks import instance_of, real_array
from phasefit.records import Drawing, Record, Result, data_frame, short_text
from qmodels.errors import ModelError
from qmodels.programs.laws import checked_point
from qmodels.programs.phases import (
    COMPONENTS,
    MOST_PHASES,
    Component,
    Phase,
    WorkingSet,
    checked_items,
)
from qmodels.programs.quantities import ByValue, positive
from qmodels.programs.sums import Sum

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Geometric(Record):
    """Number of phases N with P[N >= n] = (1 - 1/mean)^(n - 1), n = 1, 2, ...

    Parameters
    ----------
    mean : float
        E[N], from 1 to 1e12.

    Raises
    ------
    ModelError
        If `mean` is out of range.
    """

    mean: float

    def __post_init__(self) -> None:
        mean = positive("mean number of phases", self.mean, least=1.0, most=1e12)
        object.__setattr__(self, "mean", mean)


class Fractions(NamedTuple):
    """Shares of E[T_11]: the parallel ones, and the sequential ones on some allotment."""

    parallel_io: float  #: share that scales, of I/O
    sequential_io: Array  #: share that does not, by allotment
    parallel_cpu: float  #: share that scales, of computation
    sequential_cpu: Array  #: share that does not, by allotment


@dataclass(frozen=True, eq=False)
class Signature(Result):
    """Phase signature: a program's phases over its relative execution time.

    Parameters
    ----------
    boundaries : (N + 1,) ndarray
        Cumulative relative lengths, from 0 to 1; phase n lies between entries n - 1 and n.
    io_fraction : (N,) ndarray
        F_n, the share of I/O at the beginning of each phase.

    References
    ----------
    .. [1] Rosti et al. 1998, sec. 2.1, figure 2.
    """

    drawing = Drawing("phase", "io_fraction")

    boundaries: Array
    io_fraction: Array

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each phase: where it begins, how long it is, its share of I/O."""
        return data_frame(
            {
                "phase": np.arange(1, self.io_fraction.size + 1),
                "begins": self.boundaries[:-1],
                "length": self.lengths,
                "io_fraction": self.io_fraction,
            }
        )

    def __post_init__(self) -> None:
        for name in ("boundaries", "io_fraction"):
            object.__setattr__(self, name, read_only(real_array(name, getattr(self, name))))
        if self.io_fraction.ndim != 1 or self.boundaries.shape != (self.io_fraction.size + 1,):
            raise ModelError(
                f"{self.io_fraction.shape} fractions need one boundary more, "
                f"got shape {self.boundaries.shape}"
            )
        ends = self.boundaries
        if ends[0] != 0 or abs(ends[-1] - 1.0) > 1e-9 or np.any(np.diff(ends) < 0):
            raise ModelError(f"boundaries must rise from 0 to 1, got {ends[0]:g} to {ends[-1]:g}")
        if self.io_fraction.size and not 0 <= self.io_fraction.min() <= self.io_fraction.max() <= 1:
            raise ModelError("io_fraction must be from 0 to 1")

    @property
    def lengths(self) -> Array:
        """L_n, relative lengths of the phases (N,); they sum to one."""
        return np.diff(self.boundaries)


class AbstractProgram(Result, abc.ABC):
    """Mean demands of a job: a `Program`, or a `WorkloadMix` of programs.

    Every time is in seconds per job, for `p` processors and `d` disks: real numbers > 0
    (a mean partition may be 128/3 processors) or arrays of them that broadcast.
    """

    drawing = Drawing("phase", ("io", "cpu"), labels=("phase", "seconds"))

    name: str  #: shown in figures and tables

    def _summary_fields(self) -> str:
        """Name, phases, and seconds of both components; not for a program that has to measure."""
        told = [("name", self.name), ("phases", self.mean_phases)]
        told += [("io", float(self.mean_io(1.0, 1.0))), ("cpu", float(self.mean_cpu(1.0, 1.0)))]
        return short_text(type(self).__name__, told if self.name else told[1:])

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each phase on one processor and one disk: mean seconds of its bursts."""
        io, cpu = self.phase_times(1.0, 1.0)
        return data_frame({"phase": np.arange(1, io.size + 1), "io": io, "cpu": cpu})

    @property
    @abc.abstractmethod
    def mean_phases(self) -> float:
        """E[N], phases per job."""

    @property
    @abc.abstractmethod
    def method(self) -> str:
        """``"exact"``, or ``"quadrature"`` if the mean of some burst is (see `Burst.method`)."""

    @abc.abstractmethod
    def parallel_io(self, p: ArrayLike, d: ArrayLike) -> Array:
        """Return the mean I/O without its sequential part, seconds.

        Parameters
        ----------
        p, d : array_like
            Processors and disks, above zero.
        """

    @abc.abstractmethod
    def parallel_cpu(self, p: ArrayLike, d: ArrayLike) -> Array:
        """Return the mean computation without its sequential part, seconds.

        Parameters
        ----------
        p, d : array_like
            Processors and disks, above zero.
        """

    @abc.abstractmethod
    def sequential_io(self, p: ArrayLike, d: ArrayLike) -> Array:
        """Return the mean sequential part of the I/O, seconds.

        Parameters
        ----------
        p, d : array_like
            Processors and disks, above zero.
        """

    @abc.abstractmethod
    def sequential_cpu(self, p: ArrayLike, d: ArrayLike) -> Array:
        """Return the mean sequential part of the computation, seconds.

        Parameters
        ----------
        p, d : array_like
            Processors and disks, above zero.
        """

    @abc.abstractmethod
    def phase_times(self, p: float, d: float) -> tuple[Array, Array]:
        """Return the mean I/O and computation of phases 1 to N on one allotment, two arrays (N,).

        Parameters
        ----------
        p, d : float
            Processors and disks, above zero.
        """

    def mean_io(self, p: ArrayLike, d: ArrayLike) -> Array:
        """Return the mean I/O, queueing apart, seconds.

        Parameters
        ----------
        p, d : array_like
            Processors and disks, above zero.
        """
        return np.asarray(self.parallel_io(p, d) + self.sequential_io(p, d))[()]

    def mean_cpu(self, p: ArrayLike, d: ArrayLike) -> Array:
        """Return the mean computation, seconds.

        Parameters
        ----------
        p, d : array_like
            Processors and disks, above zero.
        """
        return np.asarray(self.parallel_cpu(p, d) + self.sequential_cpu(p, d))[()]

    def mean_time(self, p: ArrayLike, d: ArrayLike) -> Array:
        """Return E[T_pd] of a job that has the allotment for itself, equations (2) and (3), seconds.

        Parameters
        ----------
        p, d : array_like
            Processors and disks, above zero.
        """
        return np.asarray(self.mean_io(p, d) + self.mean_cpu(p, d))[()]

    def fractions(self, p: ArrayLike = 1.0, d: ArrayLike = 1.0) -> Fractions:
        """Return f_par and f_seq of both components; at (1, 1) the four sum to one.

        Parameters
        ----------
        p, d : array_like
            Processors and disks, above zero.
        """
        total = float(self.mean_time(1.0, 1.0))
        return Fractions(
            float(self.parallel_io(1.0, 1.0)) / total,
            self.sequential_io(p, d) / total,
            float(self.parallel_cpu(1.0, 1.0)) / total,
            self.sequential_cpu(p, d) / total,
        )


class _ProgramOfSums(AbstractProgram):
    """Program whose bursts are added up, each kind once."""

    @property
    @abc.abstractmethod
    def sums(self) -> dict[Component, Sum]:
        """Sum of all bursts of I/O, and of computation."""

    def parallel_io(self, p: ArrayLike, d: ArrayLike) -> Array:
        """See `AbstractProgram.parallel_io`."""
        return self.sums["io"].parallel_time(p, d)

    def parallel_cpu(self, p: ArrayLike, d: ArrayLike) -> Array:
        """See `AbstractProgram.parallel_cpu`."""
        return self.sums["cpu"].parallel_time(p, d)

    def sequential_io(self, p: ArrayLike, d: ArrayLike) -> Array:
        """See `AbstractProgram.sequential_io`."""
        return self.sums["io"].sequential_time(p, d)

    def sequential_cpu(self, p: ArrayLike, d: ArrayLike) -> Array:
        """See `AbstractProgram.sequential_cpu`."""
        return self.sums["cpu"].sequential_time(p, d)


@dataclass(frozen=True, eq=False)
class Program(ByValue, _ProgramOfSums):
    """A program: I/O working sets one after the other.

    Parameters
    ----------
    working_sets : sequence of WorkingSet or Phase
        A bare phase is a working set of its own.
    name : str
        Shown in figures and tables.
    phase_count : Geometric or sequence of float, optional
        Law of the number of phases N of a run. None: every phase, once. `Geometric`, or the
        probabilities of N = 1, 2, ...: the first N phases of the list, which is gone through
        again from its start when N exceeds it.

    Raises
    ------
    ModelError
        If there is no phase, or `phase_count` is no probability law.

    Notes
    -----
    E[T_pd] = sum_n P[N >= n] E[T_npd], where N may depend on the past of the run but not on
    what is to come (a stopping time). For a geometric N the sum over the endless list is
    closed cycle by cycle, without truncation.

    References
    ----------
    .. [1] Rosti et al. 1998, equations (1) to (3).

    Examples
    --------
    Twelve equal phases of 2 s of I/O and 8 s of computation, on 4 processors and 2 disks:

    >>> program = Program([WorkingSet(12, [Phase(io=2.0, cpu=8.0)])])
    >>> float(program.mean_io(4, 2)), float(program.mean_cpu(4, 2))
    (12.0, 24.0)
    """

    working_sets: Sequence[WorkingSet | Phase]
    name: str = ""
    phase_count: Geometric | Sequence[float] | None = None
    phases: tuple[Phase, ...] = field(init=False, repr=False)  #: the list, written out
    #: every different phase, and how often a job goes through it on average
    visits: tuple[tuple[Phase, float], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        items = checked_items(self.working_sets, (WorkingSet, Phase), "working_sets")
        sets = tuple(x if isinstance(x, WorkingSet) else WorkingSet(1, [x]) for x in items)
        length = sum(s.repeat * len(s.phases) for s in sets)
        if length > MOST_PHASES:
            raise ModelError(f"{length} phases are more than {MOST_PHASES}; use longer phases")
        instance_of("name", self.name, str, "text")
        object.__setattr__(self, "working_sets", sets)
        object.__setattr__(self, "phases", tuple(phase for s in sets for phase in s.flat))
        if not (self.phase_count is None or isinstance(self.phase_count, Geometric)):
            object.__setattr__(self, "phase_count", _checked_pmf(self.phase_count))
        visits: dict[Phase, list[float]] = {}
        for phase, visit in zip(self.phases, self._visits().tolist(), strict=True):
            visits.setdefault(phase, []).append(visit)
        shares = [(phase, math.fsum(parts)) for phase, parts in visits.items()]
        object.__setattr__(self, "visits", tuple(shares))

    def __repr__(self) -> str:
        return self._summary_fields()

    @property
    def mean_phases(self) -> float:
        """E[N], phases per job."""
        if self.phase_count is None:
            return float(len(self.phases))
        if isinstance(self.phase_count, Geometric):
            return self.phase_count.mean
        return float(np.sum(self.survival(np.arange(1, len(self.phase_count) + 1))))

    @property
    def method(self) -> str:
        """See `AbstractProgram.method`."""
        methods = {phase.burst(x).method for phase, _ in self.visits for x in ("io", "cpu")}
        return "exact" if methods == {"exact"} else "quadrature"

    def survival(self, n: ArrayLike) -> Array:
        """Return P[N >= n].

        Parameters
        ----------
        n : array_like of int
            At least 1, any shape.

        Raises
        ------
        ModelError
            If one is no such number.
        """
        n = real_array("n", n)
        if np.any(n < 1) or np.any(n != np.floor(n)):
            raise ModelError(f"n must be whole numbers >= 1, got {n[(n < 1) | (n % 1 != 0)].flat[0]:g}")
        if self.phase_count is None:
            return np.where(n <= len(self.phases), 1.0, 0.0)[()]
        if isinstance(self.phase_count, Geometric):
            return ((1.0 - 1.0 / self.phase_count.mean) ** (n - 1.0))[()]
        tail = np.append(np.cumsum(self.phase_count[::-1])[::-1], 0.0)
        return tail[np.minimum(n - 1.0, tail.size - 1.0).astype(np.intp)]

    def phase_times(self, p: float, d: float) -> tuple[Array, Array]:
        """Return the mean I/O and computation of phases 1 to N on one allotment, two arrays (N,).

        When N is random, round(E[N]) equal phases that add up to the means of a job.
        """
        if self.phase_count is not None:
            return _equal_phases(self, p, d)
        return self.listed_times(p, d)

    def listed_times(self, p: float, d: float) -> tuple[Array, Array]:
        """Return the mean I/O and computation of the phases as listed, whatever the law of N.

        Parameters
        ----------
        p, d : float
            Processors and disks, above zero.
        """
        p, d = checked_point(p, d)
        once = {phase: _burst_times(phase, p, d) for phase, _ in self.visits}
        io, cpu = np.array([once[phase] for phase in self.phases]).T
        return io, cpu

    def draw_phase_counts(self, size: int, *, rng: np.random.Generator) -> NDArray[np.intp]:
        """Draw the number of phases N of jobs.

        Parameters
        ----------
        size : int
            Number of jobs.
        rng : numpy.random.Generator
            Where randomness comes from.

        Returns
        -------
        (size,) ndarray of int
            At least 1 each.
        """
        count = self.phase_count
        if count is None:
            return np.full(size, len(self.phases))
        if isinstance(count, Geometric):
            return rng.geometric(1.0 / count.mean, size)
        return 1 + rng.choice(len(count), size, p=np.asarray(count))

    def signature(self) -> Signature:
        """Return the relative lengths and I/O fractions of the phases on one processor and one disk.

        Examples
        --------
        >>> Program([Phase(0.0, 1.0), Phase(2.0, 1.0)]).signature().boundaries
        array([0.  , 0.25, 1.  ])
        """
        ends = np.cumsum([phase.seconds for phase in self.phases])
        boundaries = np.concatenate([[0.0], ends / ends[-1]])
        return Signature(boundaries, np.array([phase.io_fraction for phase in self.phases]))

    def plot(self, ax: Any = None) -> Any:
        """Draw the phase signature; see `qmodels.plotting.signature`."""
        from qmodels.plotting import signature

        return signature(self, ax=ax)

    def scaled(self, factor: float) -> Program:
        """Return the program with every time multiplied by a factor.

        Parameters
        ----------
        factor : float
            Above zero.
        """
        factor = positive("factor", factor, least=1e-18, most=1e18)
        once = {
            phase: Phase(phase.burst("io").scaled(factor), phase.burst("cpu").scaled(factor))
            for phase, _ in self.visits
        }
        sets = [
            WorkingSet(s.repeat, [once[phase] for phase in s.phases])
            for s in self.working_sets
            if isinstance(s, WorkingSet)
        ]
        return Program(sets, self.name, self.phase_count)

    @cached_property
    def sums(self) -> dict[Component, Sum]:
        """Bursts of a job, those that scale alike as one term."""
        return {
            kind: Sum.of((phase.burst(kind), visits) for phase, visits in self.visits) for kind in COMPONENTS
        }

    def _visits(self) -> Array:
        """Return the expected visits to each entry of the list: P[N >= n] over all its turns."""
        size = len(self.phases)
        if not isinstance(self.phase_count, Geometric):
            last = size if self.phase_count is None else len(self.phase_count)
            turns = -(-last // size)
            alive = self.survival(np.arange(1, turns * size + 1))
            return np.asarray(alive.reshape(turns, size).sum(axis=0))
        first = self.survival(np.arange(1, size + 1))
        if self.phase_count.mean == 1.0:
            return first
        again = size * math.log1p(-1.0 / self.phase_count.mean)  # log of P[N > size]
        return np.asarray(first / -math.expm1(again))


@dataclass(frozen=True, eq=False)
class WorkloadMix(ByValue, _ProgramOfSums):
    """Jobs of several classes: each job is one of the programs, chosen at random.

    Parameters
    ----------
    programs : sequence of Program
        The classes, at least one.
    weights : (n,) array_like, optional
        Relative frequencies >= 0; equal by default. They are kept normalised to sum one.
    name : str
        Shown in figures and tables.

    Raises
    ------
    ModelError
        If there is no program, or the weights do not fit.

    Warnings
    --------
    The class is drawn once per *job*. Drawing it anew for every *phase* gives the same means
    when all classes have equally many phases, but much smaller higher moments: the phases of a
    job are then independent, while here they are long or short together.

    References
    ----------
    .. [1] Rosti et al. 1998, sec. 2.4.

    Examples
    --------
    >>> short, long = Program([Phase(1.0, 9.0)]), Program([Phase(10.0, 50.0)])
    >>> float(WorkloadMix([short, long], weights=[3, 1]).mean_time(1, 1))
    22.5
    """

    programs: Sequence[Program]
    weights: ArrayLike | None = None
    name: str = ""

    def __post_init__(self) -> None:
        programs = checked_items(self.programs, Program, "programs")
        frequencies = np.ones(len(programs)) if self.weights is None else self.weights
        weights = real_array("weights", frequencies)
        if weights.shape != (len(programs),):
            raise ModelError(f"{len(programs)} programs need as many weights, got shape {weights.shape}")
        if weights.min() < 0 or not 0 < weights.max() <= 1e100:
            raise ModelError(
                f"weights must be >= 0, one of them > 0 and none above 1e100; "
                f"they go from {weights.min():.6g} to {weights.max():.6g}"
            )
        instance_of("name", self.name, str, "text")
        object.__setattr__(self, "programs", programs)
        object.__setattr__(self, "weights", read_only(weights / weights.sum()))

    def __repr__(self) -> str:
        return self._summary_fields()

    @property
    def mean_phases(self) -> float:
        """E[N], phases per job."""
        return math.fsum(w * program.mean_phases for w, program in self._parts())

    @property
    def method(self) -> str:
        """See `AbstractProgram.method`."""
        methods = {program.method for program in self.programs}
        return "exact" if methods == {"exact"} else "quadrature"

    def phase_times(self, p: float, d: float) -> tuple[Array, Array]:
        """Return round(E[N]) equal phases that add up to the means of a job, two arrays."""
        return _equal_phases(self, p, d)

    def scaled(self, factor: float) -> WorkloadMix:
        """Return the mixture with every time multiplied by a factor.

        Parameters
        ----------
        factor : float
            Above zero.
        """
        return WorkloadMix([x.scaled(factor) for x in self.programs], self.weights, self.name)

    @cached_property
    def sums(self) -> dict[Component, Sum]:
        """Bursts of the mean job, those that scale alike as one term."""
        return {
            kind: Sum.mixed((program.sums[kind], weight) for weight, program in self._parts())
            for kind in COMPONENTS
        }

    def _parts(self) -> list[tuple[float, Program]]:
        weights: Any = self.weights
        return list(zip(weights.tolist(), self.programs, strict=True))

    @cached_property
    def distinct(self) -> AbstractProgram:
        """The same jobs, programs that are alike but for their names as one; itself where none are."""
        weights: dict[Program, list[float]] = {}
        for weight, program in self._parts():
            weights.setdefault(replace(program, name=""), []).append(weight)
        if len(weights) == len(self.programs):
            return self
        named = {replace(program, name=""): program for program in reversed(self.programs)}
        programs = [named[each] for each in weights]
        mix = WorkloadMix(programs, [math.fsum(alike) for alike in weights.values()], self.name)
        return mix if len(programs) > 1 else programs[0]


def parts(program: AbstractProgram) -> list[tuple[float, AbstractProgram]]:
    """Return the programs that a job may be, each with its probability; one alone if it is no mix.

    Parameters
    ----------
    program : Program or WorkloadMix
        The program.
    """
    if not isinstance(program, WorkloadMix):
        return [(1.0, program)]
    return [(weight, each) for weight, each in program._parts() if weight > 0.0]


def _burst_times(phase: Phase, p: float, d: float) -> tuple[float, float]:
    return float(phase.burst("io").mean_time(p, d)), float(phase.burst("cpu").mean_time(p, d))


def _equal_phases(program: AbstractProgram, p: float, d: float) -> tuple[Array, Array]:
    count = round(program.mean_phases)
    if count > MOST_PHASES:
        raise ModelError(f"{count} phases per job are more than {MOST_PHASES}; use longer phases")
    p, d = checked_point(p, d)
    io, cpu = float(program.mean_io(p, d)), float(program.mean_cpu(p, d))
    return np.full(count, io / count), np.full(count, cpu / count)


def _checked_pmf(probabilities: Any) -> Array:
    p = real_array("phase_count", probabilities)
    if p.ndim != 1 or not 1 <= p.size <= MOST_PHASES:
        raise ModelError(
            f"phase_count must be Geometric(mean=...) or the probabilities of N = 1, 2, ..., "
            f"at most {MOST_PHASES} of them; got shape {p.shape}"
        )
    if p.min() < 0 or abs(float(p.sum()) - 1.0) > 1e-10:
        raise ModelError(
            f"phase_count must be probabilities that sum to 1; the least is {p.min():.6g}, "
            f"the sum {p.sum():.12g}"
        )
    return read_only(np.asarray(p / p.sum()))
