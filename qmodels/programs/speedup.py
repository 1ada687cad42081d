"""The speedup surface of a program over processors and disks, and what it is worth."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phasefit.arrays import Array, read_only
from phasefit.checks import check_fields, instance_of, one_of, real_array
from phasefit.records import MOST_COLUMNS, MOST_ROWS, Result, brief, data_frame, html_table
from qmodels.errors import MemoryBudgetError, ModelError
from qmodels.programs.laws import MOST_UNITS, checked_point
from qmodels.programs.model import AbstractProgram, Program, WorkloadMix
from qmodels.programs.quantities import SMALLEST, positive
from qmodels.words import of_base

if TYPE_CHECKING:
    import pandas as pd

Weighting = Literal["p*d", "p", "p+d"] | Callable[[Any, Any], Any]

MOST_POINTS = 4_000_000
MOST_DRAWS = 200_000_000
MOST_JOBS = 10_000_000

_WEIGHTINGS: dict[str, Callable[[Array, Array], Array]] = {
    "p*d": lambda p, d: p * d,
    "p": lambda p, d: p + 0.0 * d,
    "p+d": lambda p, d: p + d,
}


class Allotment(NamedTuple):
    """Point of a surface, and the value there of what was maximised."""

    processors: float  #: of the point
    disks: float  #: of the point
    value: float  #: that was maximised


class SampledMean(NamedTuple):
    """Sampled mean and its standard error."""

    mean: float  #: of the sample
    standard_error: float  #: of that mean


@dataclass(frozen=True, eq=False)
class SpeedupSurface(Result):
    """Mean execution times of a program on a grid of allotments, and the ratios made of them.

    Parameters
    ----------
    processors : (n,) array_like
        Increasing, at least 1.
    disks : (m,) array_like
        Increasing, at least 1.
    mean_time : (n, m) array_like
        E[T_pd] in seconds, positive.
    reference : float
        E[T_11] in seconds, the time on one processor and one disk, or that on `base`.
    name : str
        The program's.
    method : str
        ``"exact"``, or ``"quadrature"`` where a random scaling was averaged numerically.
    base : (float, float)
        Processors and disks over whose time speedup stands; efficiency and efficacy weigh an allotment
        against it.

    Raises
    ------
    ModelError
        If shapes do not fit or a number is out of range.

    References
    ----------
    .. [1] Rosti et al. 1998, equation (4) and what follows it.
    """

    processors: Array
    disks: Array
    mean_time: Array
    reference: float
    name: str = ""
    method: str = "exact"
    base: tuple[float, float] = (1.0, 1.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "base", _checked_base(self.base))
        check_fields(self, _checked_axis, "processors", "disks")
        times = read_only(real_array("mean_time", self.mean_time))
        if times.shape != (self.processors.size, self.disks.size):
            raise ModelError(
                f"{self.processors.size} processors and {self.disks.size} disks need "
                f"mean_time of that shape, got {times.shape}"
            )
        if times.min() < 1e-60:
            raise ModelError(f"mean_time must be positive, got {times.min():.6g} s")
        reference = positive("reference", self.reference, least=SMALLEST, most=1e60)
        instance_of("name", self.name, str, "text")
        object.__setattr__(self, "mean_time", times)
        object.__setattr__(self, "reference", reference)

    def __getitem__(self, allotment: tuple[Any, Any]) -> Any:
        """Speedup on an allotment of the grid: ``surface[processors, disks]``.

        Parameters
        ----------
        allotment : tuple
            Processors and disks as they stand on the grid, each a number, a list of numbers or
            ``:`` for all.

        Returns
        -------
        float or ndarray
            A number for two numbers; an axis for each list or ``:``.

        Raises
        ------
        ModelError
            If it is no pair, or a number is not on the grid; nothing is interpolated.

        Examples
        --------
        >>> surface = SpeedupSurface([1, 2, 4], [1, 8], [[8, 6], [5, 3], [4, 2]], reference=8.0)
        >>> surface[4, 8], surface[[1, 4], 8].tolist(), surface[:, 1].shape
        (4.0, [1.3333333333333333, 4.0], (3,))
        """
        if not isinstance(allotment, tuple) or len(allotment) != 2:
            raise ModelError(f"write surface[processors, disks], got {allotment!r:.60}")
        axes = (("processors", self.processors), ("disks", self.disks))
        i, j = (_places(*axis, given) for axis, given in zip(axes, allotment, strict=True))
        part = self.speedup[np.ix_(np.atleast_1d(i), np.atleast_1d(j))]
        shape = np.shape(i) + np.shape(j)
        return float(part[0, 0]) if not shape else part.reshape(shape)

    def part(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> SpeedupSurface:
        """Return the surface on some of its processors and disks.

        Parameters
        ----------
        rows, columns : (k,) and (l,) ndarray of int
            Places of the processors and of the disks that are kept, in order.
        """
        return replace(
            self,
            processors=self.processors[rows],
            disks=self.disks[columns],
            mean_time=self.mean_time[np.ix_(rows, columns)],
        )

    def to_xarray(self) -> Any:
        """Return the surface as a data set of xarray, with coordinates processors and disks.

        Returns
        -------
        xarray.Dataset
            mean_time (seconds), speedup, efficiency and efficacy.

        Raises
        ------
        ModelError
            If xarray is not installed; says how to install it.
        """
        try:
            import xarray
        except ImportError:
            raise ModelError("a data set needs xarray; install the extra: pip install '.[xarray]'") from None
        values = {
            "mean_time": self.mean_time,
            "speedup": self.speedup,
            "efficiency": self.efficiency(),
            "efficacy": self.efficacy(),
        }
        axes = {"processors": self.processors, "disks": self.disks}
        about = {"name": self.name, "method": self.method, "reference_s": self.reference, "base": self.base}
        return xarray.Dataset(
            {name: (tuple(axes), array) for name, array in values.items()}, axes, attrs=about
        )

    def record(self) -> dict[str, Any]:
        """Return axes, mean times in seconds and speedups, as tables with a row for each processors."""
        tables = ("processors", "disks", "mean_time", "speedup")
        return self._by_name("name", "method", "reference", "base", *tables)

    def _repr_html_(self) -> str:
        """Speedups with processors down and disks across, as many as can be looked at."""
        p, d = self.processors[:MOST_ROWS], self.disks[:MOST_COLUMNS]
        rows = [
            [brief(each), *map(brief, row)]
            for each, row in zip(p.tolist(), self.speedup[: p.size, : d.size], strict=True)
        ]
        head = ["processors \\ disks", *map(brief, d.tolist())]
        left = (self.processors.size - p.size, self.disks.size - d.size)
        return html_table(f"{self._heading()}: speedup{of_base(self.base)}", head, rows, left=left)

    @property
    def speedup(self) -> Array:
        """S_pd = E[T_11] / E[T_pd], shape (n, m); over the time on `base` where that is another allotment."""
        return self.reference / self.mean_time

    def efficiency(self, g: Weighting = "p*d") -> Array:
        """Return S_pd / g(p, d), shape (n, m).

        Parameters
        ----------
        g : {"p*d", "p", "p+d"} or callable
            Weight of an allotment.
        """
        return self.speedup / self._weights(g)

    def cost(self, g: Weighting = "p*d") -> Array:
        """Return C_pd = g(p, d) / S_pd, shape (n, m).

        Parameters
        ----------
        g : {"p*d", "p", "p+d"} or callable
            Weight of an allotment.
        """
        return self._weights(g) / self.speedup

    def efficacy(self, g: Weighting = "p*d") -> Array:
        """Return eta_pd = S_pd^2 / g(p, d), speedup per unit of cost, shape (n, m).

        Parameters
        ----------
        g : {"p*d", "p", "p+d"} or callable
            Weight of an allotment.
        """
        return self.speedup**2 / self._weights(g)

    def best(
        self, by: Literal["speedup", "efficiency", "efficacy"] = "speedup", g: Weighting = "p*d"
    ) -> Allotment:
        """Return the allotment of the grid with the largest speedup, efficiency or efficacy.

        Among equals (to 12 digits) the one with the fewest processors, then disks.

        Parameters
        ----------
        by : {"speedup", "efficiency", "efficacy"}
            What is maximised.
        g : {"p*d", "p", "p+d"} or callable
            Weight of an allotment.
        """
        values = self.values(by, g)
        # Sequential parts make plateaus of equal speedup: rounding must not pick their far end.
        i, j = np.argwhere(values >= values.max() * (1.0 - 1e-12))[0]
        return Allotment(float(self.processors[i]), float(self.disks[j]), float(values[i, j]))

    def values(self, by: Literal["speedup", "efficiency", "efficacy"], g: Weighting = "p*d") -> Array:
        """Return one of speedup, efficiency and efficacy by its name, shape (n, m).

        Parameters
        ----------
        by : {"speedup", "efficiency", "efficacy"}
            The name.
        g : {"p*d", "p", "p+d"} or callable
            Weight of an allotment.
        """
        choices = {"speedup": lambda g: self.speedup, "efficiency": self.efficiency}
        choices["efficacy"] = self.efficacy
        one_of("by", by, choices)
        return choices[by](g)

    def to_frame(self) -> pd.DataFrame:
        """Return a row per allotment, with mean_time in seconds, speedup and the rest."""
        p, d = np.meshgrid(self.processors, self.disks, indexing="ij")
        return data_frame(
            {
                "processors": p.ravel(),
                "disks": d.ravel(),
                "mean_time": self.mean_time.ravel(),
                "speedup": self.speedup.ravel(),
                "efficiency": self.efficiency().ravel(),
                "efficacy": self.efficacy().ravel(),
            }
        )

    def table(self) -> str:
        """Return the speedups as text, a line per number of processors."""
        head = [f"{f'{d:g}':>9}" for d in self.disks]
        lines = [f"speedup{of_base(self.base)}; processors down, disks across", " " * 9 + "".join(head)]
        for p, row in zip(self.processors, self.speedup, strict=True):
            lines.append(f"{f'{p:g}':>9}" + "".join(f"{f'{s:.4g}':>9}" for s in row))
        return "\n".join(lines)

    def plot(self, ax: Any = None) -> Any:
        """Draw the surface as a map on matplotlib Axes; see `qmodels.plotting.surface_heatmap`."""
        from qmodels.plotting import surface_heatmap

        return surface_heatmap(self, ax=ax)

    def _weights(self, g: Weighting) -> Array:
        weigh = _WEIGHTINGS.get(g) if isinstance(g, str) else g
        if not callable(weigh):
            raise ModelError(
                f"g must be one of {', '.join(_WEIGHTINGS)} or a function g(p, d), got {g!r:.60}"
            )
        p, d = self.processors[:, None], self.disks[None, :]
        weights = real_array("g(p, d)", weigh(p, d))
        if self.base != (1.0, 1.0):
            # Of the base as much as of one processor and one disk else.
            one = np.ones((1, 1))
            weights = weights * (
                real_array("g(1, 1)", weigh(one, one)) / weigh(*(x * one for x in self.base))
            )
        try:
            weights = np.broadcast_to(weights, self.mean_time.shape)
        except ValueError:
            raise ModelError(
                f"g(p, d) answered shape {weights.shape} for {self.mean_time.shape} allotments"
            ) from None
        if weights.min() < 1e-60 or weights.max() > 1e60:
            worst = weights.min() if weights.min() < 1e-60 else weights.max()
            raise ModelError(f"g(p, d) must be positive, 1e-60 to 1e60, got {worst:.6g}")
        return weights


def speedup_surface(
    program: AbstractProgram,
    processors: ArrayLike,
    disks: ArrayLike,
    *,
    base: tuple[float, float] = (1.0, 1.0),
) -> SpeedupSurface:
    """Return the speedup of a program, or of a mixture of programs, over processors and disks.

    Parameters
    ----------
    program : Program or WorkloadMix
        The program.
    processors : (n,) array_like
        Increasing numbers of processors, at least 1.
    disks : (m,) array_like
        Increasing numbers of disks, at least 1.
    base : (float, float)
        Processors and disks over whose time speedup stands, one of each by default.

    Returns
    -------
    surface : SpeedupSurface
        Mean times (n, m) in seconds; `speedup`, `efficiency`, `cost` and `efficacy` follow.

    Raises
    ------
    ModelError
        If `program` is neither, or an axis is empty, not increasing or below 1.
    MemoryBudgetError
        If the grid has more than 4,000,000 points.

    Notes
    -----
    A ratio of means, equation (4) of [1]_: for a mixture it is not the mean of the classes'
    speedups. `mean_of_ratios` estimates that alternative. Queueing for shared disks is left
    out: that is what the policy models add.

    References
    ----------
    .. [1] Rosti et al. 1998, section 2.2.

    Examples
    --------
    One hour of I/O that divides over the disks and three hours of computation of which six
    minutes are sequential:

    >>> from qmodels.programs import Burst, Phase
    >>> program = Program([Phase(io=3600.0, cpu=Burst(10800.0, sequential=360.0))])
    >>> surface = speedup_surface(program, processors=[1, 16, 128], disks=[1, 8])
    >>> print(surface.table())
    speedup; processors down, disks across
                     1        8
            1        1     1.28
           16    3.122    9.846
          128    3.563    16.15
    """
    instance_of("program", program, AbstractProgram, "Program or WorkloadMix")
    p, d = _checked_axis("processors", processors), _checked_axis("disks", disks)
    if p.size * d.size > MOST_POINTS:
        raise MemoryBudgetError(
            f"{p.size} times {d.size} allotments are more than {MOST_POINTS}; use a coarser grid"
        )
    times = program.mean_time(p[:, None], d[None, :])
    base = _checked_base(base)
    reference = float(program.mean_time(*base))
    return SpeedupSurface(p, d, times, reference, program.name, program.method, base)


def _checked_base(base: object) -> tuple[float, float]:
    """Return an allotment of processors and disks, each at least 1."""
    if not isinstance(base, (tuple, list)) or len(base) != 2:
        raise ModelError(f"base must be processors and disks, got {base!r:.60}")
    p, d = (positive(f"base[{k}]", units, least=1.0, most=1e12) for k, units in enumerate(base))
    return p, d


def mean_of_ratios(
    program: Program | WorkloadMix, p: float, d: float, *, rng: np.random.Generator, size: int
) -> SampledMean:
    """Estimate the alternative speedup E[T_11 / T_pd] of one allotment by sampling.

    Parameters
    ----------
    program : Program or WorkloadMix
        The program.
    p, d : float
        Processors and disks, numbers > 0.
    rng : numpy.random.Generator
        Where randomness comes from.
    size : int
        Jobs to draw, 2 to 10,000,000.

    Returns
    -------
    estimate : SampledMean
        Mean and standard error over the jobs.

    Raises
    ------
    ModelError
        If an argument is out of range, or a drawn sequential part exceeds its burst.
    MemoryBudgetError
        If more than 2e8 bursts would be drawn.

    Notes
    -----
    Each job draws its class, its number of phases and the random parameters of every burst;
    both times of the ratio are of the same job. The answer of `speedup_surface` is the ratio
    of the means instead, which is what a machine's throughput follows: long jobs count by
    their length there and only by their number here.

    Examples
    --------
    Half of the jobs do not scale and last ten times as long:

    >>> from qmodels.programs import Burst, Phase
    >>> jobs = [Program([Phase(0.0, 1.0)]), Program([Phase(0.0, Burst(10.0, law="1"))])]
    >>> mix = WorkloadMix(jobs)
    >>> estimate = mean_of_ratios(mix, 8, 1, rng=np.random.default_rng(1), size=10_000)
    >>> abs(estimate.mean - (8 + 1) / 2) < 4 * estimate.standard_error
    True
    >>> round(float(speedup_surface(mix, [8], [1]).speedup[0, 0]), 2)
    1.09
    """
    instance_of("program", program, (Program, WorkloadMix), "Program or WorkloadMix")
    instance_of("rng", rng, np.random.Generator, "numpy.random.Generator")
    if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or not 2 <= size <= MOST_JOBS:
        raise ModelError(f"size must be a whole number from 2 to {MOST_JOBS}, got {size!r:.60}")
    if size * program.mean_phases > MOST_DRAWS:
        raise MemoryBudgetError(
            f"{size} jobs of {program.mean_phases:.6g} phases are more than {MOST_DRAWS:g} "
            f"bursts; draw fewer jobs"
        )
    p, d = checked_point(p, d)
    ps, ds = np.array([1.0, p]), np.array([1.0, d])
    times = _job_times(program, ps, ds, rng, int(size))
    if times.min() <= 0:
        raise ModelError("a job of 0 s was drawn, whose speedup is not defined; drop zeros of samples")
    ratios = times[0] / times[1]
    return SampledMean(float(ratios.mean()), float(ratios.std(ddof=1)) / math.sqrt(size))


def _job_times(
    program: Program | WorkloadMix, p: Array, d: Array, rng: np.random.Generator, size: int
) -> Array:
    """Draw the times (k, size) of whole jobs, each on all k allotments."""
    if isinstance(program, WorkloadMix):
        counts = rng.multinomial(size, np.asarray(program.weights))
        parts = zip(program.programs, counts.tolist(), strict=True)
        return np.hstack([_job_times(part, p, d, rng, n) for part, n in parts])
    phases = program.draw_phase_counts(size, rng=rng)
    times = np.zeros((p.size, size))
    alive = np.arange(size)
    n = 0
    while alive.size:
        phase = program.phases[n % len(program.phases)]
        for component in ("io", "cpu"):
            burst = phase.burst(component)
            times[:, alive] += burst.draw(p, d, rng=rng, size=alive.size)
        n += 1
        alive = alive[phases[alive] > n]
    return times


def _places(name: str, axis: Array, numbers: Any) -> NDArray[np.intp]:
    """Return where numbers stand on an axis: () for one number, (k,) for several or all."""
    if isinstance(numbers, slice):
        if numbers != slice(None):
            raise ModelError(f"{name}: write : for all of them, or a list of numbers")
        return np.arange(axis.size)
    wanted = real_array(name, numbers)
    if wanted.ndim > 1:
        raise ModelError(f"{name} must be a number or a row of numbers, got {wanted.shape}")
    places = np.searchsorted(axis, wanted).clip(0, axis.size - 1)
    missing = np.atleast_1d(wanted)[np.atleast_1d(axis[places] != wanted)]
    if missing.size:
        near = axis[np.argsort(np.abs(axis - missing[0]))[:2]]
        raise ModelError(
            f"{missing[0]:g} {name} are not on the grid; the nearest are "
            f"{' and '.join(f'{each:g}' for each in np.sort(near))}. Compute a surface with them"
        )
    return np.asarray(places)


def _checked_axis(name: str, values: ArrayLike) -> Array:
    axis = np.atleast_1d(real_array(name, values))
    if axis.ndim != 1 or axis.size == 0:
        raise ModelError(f"{name} must be one row of numbers, got shape {axis.shape}")
    if axis.min() < 1 or axis.max() > MOST_UNITS:
        worst = axis.min() if axis.min() < 1 else axis.max()
        raise ModelError(f"{name} must be from 1 to {MOST_UNITS:g}, got {worst:.6g}")
    if np.any(np.diff(axis) <= 0):
        at = int(np.argmax(np.diff(axis) <= 0))
        raise ModelError(
            f"{name} must increase, but {axis[at + 1]:.6g} follows {axis[at]:.6g}; sort them and drop repeats"
        )
    return read_only(axis.copy())
