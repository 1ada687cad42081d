"""Bursts, phases and working sets: the pieces of a program, and how each piece scales.

T_n^x is the time of component x (I/O or computation) of phase n on one processor and one disk,
o_npd^x its sequential part, s_npd^x = h(1, 1) / h(p, d) the scaling factor of the rest.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from phasefit.arrays import Array
from phasefit.checks import boolean, check_fields
from phasefit.records import Record
from qmodels.errors import ModelError
from qmodels.programs.growth import AnyGrowth, checked_growth, evaluate_growth
from qmodels.programs.laws import (
    LEAST_UNITS,
    MOST_UNITS,
    AnyLaw,
    checked_allotment,
    checked_law,
    evaluate,
)
from qmodels.programs.mean_ratios import AbstractMeanRatio
from qmodels.programs.quadrature import Nodes, nodes_of
from qmodels.programs.quantities import (
    SMALLEST,
    ByValue,
    Quantity,
    as_sample,
    drawn,
    kept,
    mean_of,
    positive,
    scaled,
)
from qmodels.programs.random_laws import RandomLaw

Component = Literal["io", "cpu"]
COMPONENTS: tuple[Component, ...] = ("io", "cpu")

MOST_PHASES = 1_000_000


@dataclass(frozen=True, eq=False)
class Burst(ByValue, Record):
    """One burst of a phase, of I/O or of computation, and how it scales.

    Parameters
    ----------
    seconds : float, (n,) array_like or law
        T, the time on one processor and one disk: a number, measured values or a law with a
        mean (`phasefit.PhaseType`, a frozen law of scipy.stats).
    sequential : float, (n,) array_like or law
        The part of `seconds` that does not scale, o_11.
    law : str, callable or RandomLaw
        h(p, d), the speed of the rest: ``p``, ``d``, ``min(d, p/R)``, ``p/(1+C*(p-1))``, ``1``
        (see `parse_law`), any function of two arrays, or one with a random parameter
        (`RandomLaw`). Only ratios of h matter.
    per_processor : float, (n,) array_like or law
        Growth of the sequential part, in seconds per unit of `growth`; by default with each
        further processor: o_pd = sequential + per_processor (p - 1).
    growth : str or callable
        g(p, d) of o_pd = sequential + per_processor g(p, d): ``p-1``, ``log2(p)``,
        ``sqrt(p)-1``, ``d-1`` (see `parse_growth`), or any function of two arrays that is
        0 at (1, 1) and never negative.
    slowdown : (float, float), optional
        (up_to_processors, factor): on at most that many processors the whole burst takes
        `factor` times as long as the law says for more. As `seconds` is the time on one
        processor, it includes the factor, and more processors are faster by it.
    paired : bool
        Whether entries of samples in the same place belong to the same burst.

    Raises
    ------
    ModelError
        If a parameter is negative or not finite, or the sequential part exceeds the whole.

    Notes
    -----
    Equation (1) of the source: T_pd = s_pd (T - o_11) + o_pd with s_11 = 1. Random parameters
    enter the means by their means, which supposes s and T - o_11 independent, as in (3).

    References
    ----------
    .. [1] Rosti et al. 1998, equation (1).

    Examples
    --------
    >>> burst = Burst(100.0, sequential=4.0, law="min(d, p/4)")
    >>> float(burst.mean_time(p=1, d=1)), float(burst.mean_time(p=32, d=2))
    (100.0, 16.0)
    """

    seconds: Quantity
    sequential: Quantity = 0.0
    law: AnyLaw | RandomLaw | str = "p"
    per_processor: Quantity = 0.0
    growth: AnyGrowth | str = "p-1"
    slowdown: tuple[float, float] | None = None
    paired: bool = False
    _means: tuple[float, float, float] = field(init=False, repr=False)
    _mean_ratio: AbstractMeanRatio | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        names = ("seconds", "sequential", "per_processor")
        for name in names:
            object.__setattr__(self, name, kept(name, getattr(self, name)))
        total, fixed, growth = (mean_of(getattr(self, name), name) for name in names)
        if fixed > total:
            raise ModelError(
                f"sequential = {fixed:.6g} s is more than seconds = {total:.6g} s; it is a part of it"
            )
        object.__setattr__(self, "_means", (total, fixed, growth))
        if not isinstance(self.law, RandomLaw):
            check_fields(self, checked_law, "law")
        check_fields(self, boolean, "paired")
        check_fields(self, checked_growth, "growth")
        object.__setattr__(self, "slowdown", _checked_slowdown(self.slowdown))
        object.__setattr__(self, "_mean_ratio", self._averaging())
        self.scaling(*checked_allotment(1.0, 1.0))

    def record(self) -> dict[str, Any]:
        """Return the mean seconds, the parts of them, and how they scale."""
        total, fixed, growth = self._means
        fields: dict[str, Any] = {
            "seconds": total,
            "sequential": fixed,
            "law": self.law,
            "per_processor": growth,
            "growth": self.growth,
            "slowdown": self.slowdown,
            "paired": self.paired,
        }
        parts = ("seconds", "sequential", "per_processor")
        return fields | {
            f"law_of_{name}": value
            for name, value in self._by_name(*parts).items()
            if not isinstance(value, (int, float, np.number))
        }

    @property
    def method(self) -> str:
        """``"exact"``, or ``"quadrature"`` where a law had to be averaged numerically."""
        return "exact" if self._mean_ratio is None or self._mean_ratio.exact else "quadrature"

    @property
    def growth_seconds(self) -> float:
        """Mean of `per_processor`, in seconds for each unit of `growth`."""
        return self._means[2]

    def mean_error(self, p: ArrayLike, d: ArrayLike) -> Array:
        """Return an estimate of the quadrature error of `mean_time`, in seconds; 0 if exact.

        Parameters
        ----------
        p, d : array_like
            Processors and disks, above zero.
        """
        total, fixed, _ = self._means
        p, d = checked_allotment(p, d)
        if self._mean_ratio is None:
            return np.zeros(np.broadcast_shapes(p.shape, d.shape))[()]
        return np.asarray((total - fixed) * self._slowdown_relief(p) * self._mean_ratio.error(p, d))[()]

    def mean_time(self, p: ArrayLike, d: ArrayLike) -> Array:
        """Return E[T_pd] in seconds.

        Parameters
        ----------
        p, d : array_like
            Processors and disks, above zero.
        """
        return np.asarray(self.parallel_time(p, d) + self.sequential_time(p, d))[()]

    def parallel_time(self, p: ArrayLike, d: ArrayLike) -> Array:
        """Return E[s_pd (T - o_11)] in seconds, the part that scales.

        Parameters
        ----------
        p, d : array_like
            Processors and disks, above zero.
        """
        return self.scaling(*checked_allotment(p, d)) * self.mean_parts[0]

    def sequential_time(self, p: ArrayLike, d: ArrayLike) -> Array:
        """Return E[o_pd] in seconds, the part that does not scale.

        Parameters
        ----------
        p, d : array_like
            Processors and disks, above zero.
        """
        return self.overhead(*checked_allotment(p, d), *self.mean_parts[1:])

    @property
    def mean_parts(self) -> tuple[float, float, float]:
        """Mean seconds that scale, that do not, and of these per unit of `growth`."""
        total, fixed, growth = self._means
        return total - fixed, fixed, growth

    @property
    def scaling_kind(self) -> Hashable:
        """Equal for bursts whose parallel times are proportional on all allotments."""
        if self._mean_ratio is not None:
            return self  # an average over what is particular to the burst
        return _law_key(self.law), self.slowdown

    @property
    def overhead_kind(self) -> Hashable:
        """Equal for bursts whose sequential parts grow alike."""
        return _law_key(self.growth) if self._means[2] else None, self.slowdown

    def overhead(self, p: Array, d: Array, fixed: float, growth: float) -> Array:
        """Return the seconds of a sequential part that grows as that of this burst.

        Parameters
        ----------
        p, d : ndarray
            Processors and disks, checked.
        fixed : float
            Sequential seconds on one processor and one disk.
        growth : float
            Seconds per unit of growth.
        """
        seconds = fixed + growth * self._growth_on(p, d) if growth else np.asarray(fixed)
        return np.asarray(self._slowdown_relief(p) * seconds + 0.0 * d)[()]

    def draw(self, p: Array, d: Array, *, rng: np.random.Generator, size: int) -> Array:
        """Draw the times of bursts, each on all of k allotments.

        Parameters
        ----------
        p, d : (k,) ndarray
            Processors and disks.
        rng : numpy.random.Generator
            Where randomness comes from.
        size : int
            Number of bursts.

        Returns
        -------
        (k, size) ndarray
            Seconds.

        Raises
        ------
        ModelError
            If `p` and `d` are not two rows of one length, or a drawn sequential part exceeds its burst.
        """
        p, d = checked_allotment(p, d)
        if p.ndim != 1 or p.shape != d.shape:
            raise ModelError(f"p and d must be rows of one length, got {p.shape} and {d.shape}")
        total, fixed, growth, theta = self._drawn_parameters(rng, size)
        if np.any(fixed > total):
            at = int(np.argmax(fixed - total))
            raise ModelError(
                f"a drawn sequential part of {fixed[at]:.6g} s exceeds its burst of "
                f"{total[at]:.6g} s; give sequential as a number below every value of seconds"
            )
        relief = self._slowdown_relief(p)[:, None]
        if isinstance(self.law, RandomLaw):
            factor = relief * self.law.ratios(p, d, theta)
        else:
            factor = self.scaling(p, d)[:, None]
        return factor * (total - fixed) + relief * (fixed + growth * self._growth_on(p, d)[:, None])

    def scaled(self, factor: float) -> Burst:
        """Return the burst with every time multiplied by a factor.

        Parameters
        ----------
        factor : float
            Above zero.
        """
        return Burst(
            scaled(self.seconds, factor),
            scaled(self.sequential, factor),
            self.law.in_unit(factor) if isinstance(self.law, RandomLaw) else self.law,
            scaled(self.per_processor, factor),
            self.growth,
            self.slowdown,
            self.paired,
        )

    def scaling(self, p: Array, d: Array) -> Array:
        """Return E[s_pd], s = h(1, 1) / h(p, d), less the slowdown that p has left behind.

        Where s and the length depend on each other, a mean that weighs each burst by T - o_11.

        Parameters
        ----------
        p, d : ndarray
            Processors and disks, checked.
        """
        if self._mean_ratio is not None:
            return (self._slowdown_relief(p) * self._mean_ratio(p, d))[()]
        law: Any = self.law
        one = np.asarray(1.0)
        return (self._slowdown_relief(p) * evaluate(law, one, one) / evaluate(law, p, d))[()]

    def _averaging(self) -> AbstractMeanRatio | None:
        """Say how E[s_pd] is averaged, with weights T - o_11 where s depends on them."""
        rows = self._paired_rows() if self.paired else None
        if not isinstance(self.law, RandomLaw):
            return None
        if rows is None and not self.law.follows_length:
            return self.law.mean_ratio
        if rows is None:
            lengths = nodes_of("seconds", self.seconds)
            theta = self.law.at_length(lengths.values)
            parallel = lengths.values - self._means[1]
            if parallel.min() < 0:
                raise ModelError(
                    f"seconds reaches down to {lengths.values.min():.6g} s, below sequential = "
                    f"{self._means[1]:.6g} s; where the law follows the length of a burst, "
                    f"every burst must be longer than its sequential part"
                )
        else:
            total, fixed, _, theta = rows
            parallel = total - fixed
            lengths = Nodes(total, np.full(total.size, 1.0 / total.size), exact=True)
        weights = lengths.weights * parallel
        if weights.sum() <= 0:
            weights = lengths.weights
        return self.law.mean_ratio_over(Nodes(theta, weights / weights.sum(), lengths.exact))

    def _paired_rows(self) -> tuple[Array, Array, Array, Array]:
        """Total, sequential part, growth and theta of paired samples, each (n,)."""
        by_name: dict[str, Any] = {
            "seconds": self.seconds,
            "sequential": self.sequential,
            "per_processor": self.per_processor,
            "the parameter of law": 0.0,
        }
        follows = isinstance(self.law, RandomLaw) and self.law.follows_length
        if isinstance(self.law, RandomLaw) and not follows:
            by_name["the parameter of law"] = self.law.parameter
        columns = {}
        for name, value in by_name.items():
            column = as_sample(name, value)
            if column is None:
                raise ModelError(f"paired: {name} is a law, which has no rows; give a sample or a number")
            columns[name] = column
        size = max(column.size for column in columns.values())
        for name, column in columns.items():
            if column.size not in (1, size):
                raise ModelError(f"paired: {name} has {column.size} rows, another has {size}")
        total, fixed, growth, theta = (np.broadcast_to(x, (size,)) for x in columns.values())
        if np.any(fixed > total):
            row = int(np.argmax(fixed - total))
            raise ModelError(
                f"paired: in row {row} sequential = {fixed[row]:.6g} s is more than seconds = "
                f"{total[row]:.6g} s; it is a part of it"
            )
        if isinstance(self.law, RandomLaw) and follows:
            theta = self.law.at_length(total)
        return total, fixed, growth, theta

    def _drawn_parameters(self, rng: np.random.Generator, size: int) -> tuple[Array, Array, Array, Array]:
        """Draw total, sequential part, growth and theta of `size` bursts from their joint law."""
        if self.paired:
            rows = self._paired_rows()
            chosen = rng.integers(rows[0].size, size=size)
            total, fixed, growth, theta = (column[chosen] for column in rows)
            return total, fixed, growth, theta
        total, fixed, growth = (
            drawn(x, rng=rng, size=size) for x in (self.seconds, self.sequential, self.per_processor)
        )
        if not isinstance(self.law, RandomLaw):
            return total, fixed, growth, np.zeros(size)
        return total, fixed, growth, self.law.drawn_at(total, rng=rng)

    def _growth_on(self, p: Array, d: Array) -> Array:
        growth: Any = self.growth
        return evaluate_growth(growth, p, d)

    def _slowdown_relief(self, p: Array) -> Array:
        if self.slowdown is None:
            return np.ones(p.shape)
        return np.where(p <= self.slowdown[0], 1.0, 1.0 / self.slowdown[1])


@dataclass(frozen=True, eq=False)
class Phase(ByValue, Record):
    """A burst of I/O and then a burst of computation.

    Parameters
    ----------
    io, cpu : Burst or number, sample, law
        A bare quantity is a `Burst` without sequential part that scales with the disks (`io`)
        or with the processors (`cpu`); seconds on one processor and one disk.

    Raises
    ------
    ModelError
        If neither burst takes any time.

    References
    ----------
    .. [1] Rosti et al. 1998, sec. 2.1.

    Examples
    --------
    >>> phase = Phase(io=1.0, cpu=3.0)
    >>> phase.seconds, phase.io_fraction
    (4.0, 0.25)
    """

    io: Burst | Quantity
    cpu: Burst | Quantity

    def __post_init__(self) -> None:
        for name, law in (("io", "d"), ("cpu", "p")):
            value = getattr(self, name)
            burst = value if isinstance(value, Burst) else _as_burst(value, law, name)
            object.__setattr__(self, name, burst)
        if self.seconds < SMALLEST:
            raise ModelError(
                f"a phase must take some time, at least {SMALLEST:g} s; io and cpu together "
                f"take {self.seconds:.6g} s"
            )

    @property
    def seconds(self) -> float:
        """T_n in seconds on one processor and one disk."""
        return self.burst("io")._means[0] + self.burst("cpu")._means[0]

    @property
    def io_fraction(self) -> float:
        """F_n, the share of I/O in the phase on one processor and one disk."""
        return self.burst("io")._means[0] / self.seconds

    def burst(self, component: Component) -> Burst:
        """Return the burst of I/O (``"io"``) or of computation (``"cpu"``).

        Parameters
        ----------
        component : {"io", "cpu"}
            Which of the two.
        """
        burst = self.io if component == "io" else self.cpu
        assert isinstance(burst, Burst)
        return burst


@dataclass(frozen=True, eq=False)
class WorkingSet(ByValue, Record):
    """Consecutive, statistically identical (groups of) phases.

    Parameters
    ----------
    repeat : int
        How many times `phases` is gone through, 1 to 1,000,000.
    phases : sequence of Phase
        At least one.

    Raises
    ------
    ModelError
        If there is no phase or `repeat` is out of range.

    References
    ----------
    .. [1] Rosti et al. 1998, sec. 2.1.

    Examples
    --------
    >>> len(WorkingSet(3, [Phase(1.0, 2.0)]).flat)
    3
    """

    repeat: int
    phases: Sequence[Phase]

    def __post_init__(self) -> None:
        if (
            isinstance(self.repeat, bool)
            or not isinstance(self.repeat, (int, np.integer))
            or not 1 <= self.repeat <= MOST_PHASES
        ):
            raise ModelError(
                f"repeat must be a whole number from 1 to {MOST_PHASES}, got {self.repeat!r:.60}"
            )
        object.__setattr__(self, "phases", checked_items(self.phases, Phase, "phases"))
        if self.repeat * len(self.phases) > MOST_PHASES:
            raise ModelError(
                f"{self.repeat} times {len(self.phases)} phases are more than {MOST_PHASES}; "
                f"use longer phases"
            )

    @property
    def flat(self) -> tuple[Phase, ...]:
        """The phases, repeated."""
        return tuple(self.phases) * self.repeat


def checked_items(items: object, kind: Any, name: str) -> tuple[Any, ...]:
    """Return a non-empty sequence of objects of one kind as a tuple.

    Parameters
    ----------
    items : sequence
        The objects.
    kind : type or tuple of type
        Of each.
    name : str
        Name of the argument, for the message.

    Raises
    ------
    ModelError
        If it is no sequence, empty, or holds something else.
    """
    if isinstance(items, (str, bytes)) or not isinstance(items, Sequence):
        raise ModelError(f"{name} must be a sequence, got {items!r:.60}")
    if len(items) == 0:
        raise ModelError(f"{name} is empty; give at least one")
    for i, item in enumerate(items):
        if not isinstance(item, kind):
            raise ModelError(f"{name}[{i}] is a {type(item).__name__}, which does not belong there")
    return tuple(items)


def _law_key(law: object) -> Hashable:
    """A law of ours by its value, somebody's function by what it is."""
    return law if isinstance(law, Hashable) else id(law)


def _as_burst(quantity: Quantity, law: str, name: str) -> Burst:
    try:
        return Burst(quantity, law=law)
    except ModelError as error:
        raise ModelError(f"{name}: {error}") from None


def _checked_slowdown(slowdown: object) -> tuple[float, float] | None:
    if slowdown is None:
        return None
    if not isinstance(slowdown, (tuple, list)) or len(slowdown) != 2:
        raise ModelError(f"slowdown must be (up_to_processors, factor), got {slowdown!r:.60}")
    return (
        positive("slowdown: up to processors", slowdown[0], least=1.0, most=MOST_UNITS),
        positive("slowdown: factor", slowdown[1], least=LEAST_UNITS, most=1e6),
    )
