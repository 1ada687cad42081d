"""Worth of an allotment: the best one for a budget, and the next processor or disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from phasefit.arrays import Array
from phasefit.checks import instance_of, real_vector
from phasefit.records import Drawing, Result, data_frame
from qmodels.errors import MemoryBudgetError, ModelError
from qmodels.programs.laws import checked_point
from qmodels.programs.model import AbstractProgram
from qmodels.programs.quantities import positive
from qmodels.programs.speedup import MOST_POINTS, SpeedupSurface, Weighting, speedup_surface

if TYPE_CHECKING:
    import pandas as pd

Criterion = Literal["speedup", "efficiency", "efficacy"]

MOST_BUDGETS = 10_000
CHEAPEST, DEAREST = 1e-12, 1e12

_TIE = 1e-12  # values that agree to twelve digits are equal: plateaus are rounded


@dataclass(frozen=True)
class PricedAllotment(Result):
    """The best allotment that a budget buys; among equals the cheapest."""

    drawing = Drawing("", ("mean_time", "speedup"))

    budget: float  #: what may be spent
    price: float  #: of the allotment, in the unit of the budget
    processors: float  #: of the allotment
    disks: float  #: of the allotment
    mean_time: float  #: seconds
    speedup: float  #: on it, over one processor and one disk (or the base of the surface)
    value: float  #: of what was maximised
    by: str  #: what was maximised

    def table(self) -> str:
        """Return name, value and unit as text, one to a line."""
        return _lines_of_text(self, {"mean_time": "s"})

    def to_frame(self) -> pd.DataFrame:
        """Return one row with a column per quantity; mean_time in seconds."""
        return AllotmentPath((self,)).to_frame()


@dataclass(frozen=True)
class AllotmentPath(Result):
    """The best allotment for each of several budgets, in increasing order.

    Parameters
    ----------
    steps : tuple of PricedAllotment
        One per budget.
    """

    steps: tuple[PricedAllotment, ...]

    def table(self) -> str:
        """Return a line per budget."""
        head = f"{'budget':>10} {'price':>10} {'processors':>10} {'disks':>8} {'speedup':>10}"
        lines = [
            f"{x.budget:>10.6g} {x.price:>10.6g} {x.processors:>10g} {x.disks:>8g} {x.speedup:>10.5g}"
            for x in self.steps
        ]
        return "\n".join([head, *lines])

    def to_frame(self) -> pd.DataFrame:
        """Return a row per budget; mean_time in seconds."""
        names = [f.name for f in fields(PricedAllotment)]
        return data_frame([[getattr(x, n) for n in names] for x in self.steps], columns=names)

    def plot(self, ax: Any = None) -> Any:
        """Draw the path on matplotlib Axes; see `qmodels.plotting.allotment_path`."""
        from qmodels import plotting

        return plotting.allotment_path(self, ax=ax)


@dataclass(frozen=True)
class MarginalValue(Result):
    """Speedup gained by one more processor and by one more disk; negative where it is lost."""

    drawing = Drawing("", ("by_processor", "by_disk"), labels=("", "speedup gained"))

    processors: float  #: of the allotment
    disks: float  #: of the allotment
    speedup: float  #: on that allotment
    by_processor: float  #: S(p + 1, d) - S(p, d)
    by_disk: float  #: S(p, d + 1) - S(p, d)
    by_processor_per_price: float  #: by_processor over the price of a processor
    by_disk_per_price: float  #: by_disk over the price of a disk

    def table(self) -> str:
        """Return name and value as text, one to a line."""
        return _lines_of_text(self, {})

    def to_frame(self) -> pd.DataFrame:
        """Return one row with a column per quantity."""
        return data_frame([{f.name: getattr(self, f.name) for f in fields(self)}])


def best_allotment(
    program: AbstractProgram | SpeedupSurface,
    *,
    budget: float,
    processor_price: float = 1.0,
    disk_price: float = 1.0,
    by: Criterion = "speedup",
    g: Weighting | None = None,
) -> PricedAllotment:
    """Find the best allotment whose price is within a budget.

    Parameters
    ----------
    program : Program, WorkloadMix or SpeedupSurface
        Of a program every whole number of processors and disks is tried; of a surface the
        points of its grid.
    budget : float
        What may be spent, in any unit.
    processor_price, disk_price : float
        Price of a processor and of a disk in that unit, above 0.
    by : {"speedup", "efficiency", "efficacy"}
        What is maximised.
    g : {"p*d", "p", "p+d"} or callable, optional
        Weights of efficiency and efficacy; by default the price of the allotment, so that
        efficacy is S^2 over money.

    Returns
    -------
    best : PricedAllotment
        Among allotments of equal value (to 12 digits) the cheapest; among those the one with
        the fewest processors.

    Raises
    ------
    ModelError
        If an argument is out of range, or the budget does not buy the least allotment.
    MemoryBudgetError
        If more than 4,000,000 allotments would have to be tried; give a surface then.

    Notes
    -----
    By enumeration: speedup is no monotone function of p and d where overhead grows.

    Examples
    --------
    A disk costs as much as four processors:

    >>> from qmodels.programs import Burst, Phase, Program
    >>> program = Program([Phase(Burst(120.0, law="min(d, p/4)"), Burst(700.0))])
    >>> best = best_allotment(program, budget=48, disk_price=4)
    >>> best.processors, best.disks, best.price, round(best.speedup, 3)
    (32.0, 4.0, 48.0, 27.915)
    """
    budgets = [positive("budget", budget, least=CHEAPEST, most=DEAREST)]
    path = _path(program, np.array(budgets), processor_price, disk_price, by, g)
    return path.steps[0]


def allotment_path(
    program: AbstractProgram | SpeedupSurface,
    budgets: ArrayLike,
    *,
    processor_price: float = 1.0,
    disk_price: float = 1.0,
    by: Criterion = "speedup",
    g: Weighting | None = None,
) -> AllotmentPath:
    """Follow the best allotment as the budget grows.

    Parameters
    ----------
    program : Program, WorkloadMix or SpeedupSurface
        As for `best_allotment`.
    budgets : (n,) array_like
        Increasing; at most 10,000.
    processor_price, disk_price : float
        As for `best_allotment`.
    by : {"speedup", "efficiency", "efficacy"}
        As for `best_allotment`.
    g : {"p*d", "p", "p+d"} or callable, optional
        As for `best_allotment`.

    Returns
    -------
    path : AllotmentPath
        A `PricedAllotment` per budget. Its value never falls; processors and disks may.

    Raises
    ------
    ModelError, MemoryBudgetError
        As for `best_allotment`, or if the budgets do not increase.

    Examples
    --------
    >>> from qmodels.programs import Burst, Phase, Program
    >>> program = Program([Phase(Burst(120.0, law="min(d, p/4)"), Burst(700.0))])
    >>> print(allotment_path(program, [5, 20, 80], disk_price=4).table())
        budget      price processors    disks    speedup
             5          5          1        1          1
            20         20         12        2     11.182
            80         80         56        6     46.857
    """
    amounts = real_vector("budgets", budgets)
    if amounts.size > MOST_BUDGETS:
        raise ModelError(f"{amounts.size} budgets are more than {MOST_BUDGETS}; take fewer")
    for amount in (amounts.min(), amounts.max()):
        positive("budgets", float(amount), least=CHEAPEST, most=DEAREST)
    if np.any(np.diff(amounts) <= 0):
        at = int(np.argmax(np.diff(amounts) <= 0))
        raise ModelError(f"budgets must increase, but {amounts[at + 1]:.6g} follows {amounts[at]:.6g}")
    return _path(program, amounts, processor_price, disk_price, by, g)


def marginal_value(
    program: AbstractProgram,
    p: float,
    d: float,
    *,
    processor_price: float = 1.0,
    disk_price: float = 1.0,
    base: tuple[float, float] = (1.0, 1.0),
) -> MarginalValue:
    """Return the speedup gained by one more processor and by one more disk.

    Parameters
    ----------
    program : Program or WorkloadMix
        The program.
    p, d : float
        The allotment, at least 1 of each.
    processor_price, disk_price : float
        Above 0.
    base : (float, float)
        Processors and disks over whose time speedup stands.

    Returns
    -------
    gained : MarginalValue
        The gains, as they are and by price.

    Raises
    ------
    ModelError
        If an argument is out of range.

    Examples
    --------
    Sixteen processors feed four disks: a fifth disk gains nothing without more processors.

    >>> from qmodels.programs import Burst, Phase, Program
    >>> program = Program([Phase(Burst(120.0, law="min(d, p/4)"), Burst(700.0))])
    >>> gained = marginal_value(program, 16, 4)
    >>> round(gained.by_processor, 3), gained.by_disk
    (0.846, 0.0)
    """
    instance_of("program", program, AbstractProgram, "Program or WorkloadMix")
    p, d = checked_point(p, d)
    for name, units in (("processors p", p), ("disks d", d)):
        positive(name, units, least=1.0, most=DEAREST - 1)
    prices = _checked_prices(processor_price, disk_price)
    reference = float(program.mean_time(*checked_point(*base)))
    here, wider, deeper = (reference / float(program.mean_time(*x)) for x in ((p, d), (p + 1, d), (p, d + 1)))
    by_processor, by_disk = wider - here, deeper - here
    return MarginalValue(p, d, here, by_processor, by_disk, by_processor / prices[0], by_disk / prices[1])


def _path(
    program: AbstractProgram | SpeedupSurface,
    budgets: Array,
    processor_price: float,
    disk_price: float,
    by: Criterion,
    g: Weighting | None,
) -> AllotmentPath:
    of_processor, of_disk = _checked_prices(processor_price, disk_price)
    if isinstance(program, SpeedupSurface):
        surface = program
    else:
        surface = _affordable_surface(program, float(budgets[-1]), of_processor, of_disk)
    weights: Weighting = g if g is not None else lambda p, d: of_processor * p + of_disk * d
    values = surface.values(by, weights).ravel()
    p, d = (x.ravel() for x in np.meshgrid(surface.processors, surface.disks, indexing="ij"))
    prices = of_processor * p + of_disk * d
    # In order of price, then of processors: the first of equal values is the one to take.
    order = np.lexsort((p, prices))
    p, d, prices, values = p[order], d[order], prices[order], values[order]
    best = np.maximum.accumulate(values)
    speedup = surface.speedup.ravel()[order]
    steps = []
    for budget in budgets.tolist():
        # A budget that was added up from prices may fall short of them by rounding.
        bought = int(np.searchsorted(prices, budget * (1.0 + _TIE), side="right"))
        if bought == 0:
            raise ModelError(
                f"a budget of {budget:.6g} does not buy the least allotment, which costs "
                f"{prices[0]:.6g} ({p[0]:g} processors and {d[0]:g} disks)"
            )
        at = int(np.searchsorted(best, best[bought - 1] * (1.0 - _TIE)))
        steps.append(
            PricedAllotment(
                budget=budget,
                price=float(prices[at]),
                processors=float(p[at]),
                disks=float(d[at]),
                mean_time=surface.reference / float(speedup[at]),
                speedup=float(speedup[at]),
                value=float(values[at]),
                by=by,
            )
        )
    return AllotmentPath(tuple(steps))


def _affordable_surface(
    program: AbstractProgram, budget: float, processor_price: float, disk_price: float
) -> SpeedupSurface:
    """Every whole allotment up to what the budget buys of either kind."""
    counts = []
    for price, other in ((processor_price, disk_price), (disk_price, processor_price)):
        counts.append(max(1, int((budget * (1.0 + _TIE) - other) / price)))
    if counts[0] * counts[1] > MOST_POINTS:
        raise MemoryBudgetError(
            f"a budget of {budget:.6g} buys up to {counts[0]} processors or {counts[1]} disks, "
            f"more than {MOST_POINTS} allotments to try; give the speedup_surface of a coarser grid"
        )
    return speedup_surface(program, np.arange(1, counts[0] + 1), np.arange(1, counts[1] + 1))


def _checked_prices(processor_price: float, disk_price: float) -> tuple[float, float]:
    return (
        positive("processor_price", processor_price, least=CHEAPEST, most=DEAREST),
        positive("disk_price", disk_price, least=CHEAPEST, most=DEAREST),
    )


def _lines_of_text(record: PricedAllotment | MarginalValue, units: dict[str, str]) -> str:
    lines: Sequence[str] = [
        f"{f.name:<24} {_shown(getattr(record, f.name))} {units.get(f.name, '')}".rstrip()
        for f in fields(record)
    ]
    return "\n".join(lines)


def _shown(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
