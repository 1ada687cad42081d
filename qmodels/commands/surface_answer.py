"""What `qmodels surface` answers: the surface of a subject and what it is worth."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qmodels.io.subjects import Subject
from qmodels.programs import (
    AbstractProgram,
    FittedProgram,
    Program,
    SpeedupSurface,
    speedup_surface,
)
from qmodels.programs.allotments import (
    AllotmentPath,
    MarginalValue,
    PricedAllotment,
    allotment_path,
    best_allotment,
    marginal_value,
)
from qmodels.programs.scaling import Forecast, NextRun

Array = NDArray[np.float64]

_BUDGETS = 40  # points of a path
_MOST_SEARCHED = 1_000_000


@dataclass(frozen=True, eq=False)
class Wanted:
    """What is asked of a surface: the grid, what may be spent, and the allotment in question."""

    processors: Array
    disks: Array
    #: Whether only these numbers are to be had, or all whole numbers up to the largest.
    only_these_processors: bool = False
    only_these_disks: bool = False
    budget: float | None = None
    processor_price: float = 1.0
    disk_price: float = 1.0
    target: tuple[float, float] | None = None
    level: float = 0.9
    can_run: tuple[tuple[float, float], ...] | None = None  #: where the next run may be
    run_budget: float | None = None  #: core-seconds that it may cost

    @property
    def prices(self) -> dict[str, Any]:
        """The prices by the names that `best_allotment` knows."""
        return {"processor_price": self.processor_price, "disk_price": self.disk_price}


@dataclass(frozen=True, eq=False)
class Answer:
    """A surface and what is read from it; what the subject cannot tell is None.

    Parameters
    ----------
    subject : Subject
    wanted : Wanted
    surface : SpeedupSurface or None
    best : PricedAllotment or None
        For the budget, or the cheapest of the largest speedup.
    path : AllotmentPath or None
        Best allotments up to the budget.
    marginal : MarginalValue or None
        Of one more processor and disk, at the target or else at the best allotment.
    forecast : Forecast or None
        Of measured runs: times and speedups of the grid with their intervals and marks.
    at_best, at_target : Forecast or None
        The same of the best allotment and of the target.
    next_run : NextRun or None
        Of measured runs: which run tells most about the target, or else the best allotment.
    tried : int
        Allotments among which the best was sought.
    every : bool
        Whether those are all that are to be had.
    """

    subject: Subject
    wanted: Wanted
    surface: SpeedupSurface | None
    best: PricedAllotment | None
    path: AllotmentPath | None
    marginal: MarginalValue | None
    forecast: Forecast | None = None
    at_best: Forecast | None = None
    at_target: Forecast | None = None
    next_run: NextRun | None = None
    tried: int = 0
    every: bool = True

    def record(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        subject, surface = self.subject, self.surface
        record: dict[str, Any] = {
            "kind": subject.kind,
            "name": subject.name,
            "remarks": list(subject.remarks),
            "processors": self.wanted.processors.tolist(),
            "disks": self.wanted.disks.tolist(),
            "seconds_on_one": None if surface is None else surface.reference,
            "mean_time": None if surface is None else surface.mean_time.tolist(),
            "speedup": None if surface is None else surface.speedup.tolist(),
            "best": None if self.best is None else asdict(self.best),
            "tried": {"allotments": self.tried, "every": self.every},
            "marginal": None if self.marginal is None else asdict(self.marginal),
            "path": None if self.path is None else [asdict(step) for step in self.path.steps],
        }
        if subject.run is not None:
            record["trace"] = _traced(subject)
        if subject.fit is not None and self.forecast is not None and self.next_run is not None:
            record["fit"] = _fitted(subject.fit, self.forecast, self.next_run)
            if self.at_target is not None:
                record["fit"]["target"] = _rows(self.at_target)[0]
        return record


def answer(subject: Subject, wanted: Wanted) -> Answer:
    """Work out a surface and what is read from it.

    Raises
    ------
    ModelError
        If the grid, the budget, a price or the target is out of range.
    """
    program = subject.program
    if program is None:
        return Answer(subject, wanted, None, None, None, None, **_learnt(subject, wanted, None))
    surface = speedup_surface(program, wanted.processors, wanted.disks)
    searched, every = _searched(program, surface, wanted)
    most = _most(wanted)
    best = best_allotment(searched, budget=most, **wanted.prices)
    path = allotment_path(searched, _budgets(searched, wanted, most), **wanted.prices)
    at = wanted.target or (best.processors, best.disks)
    marginal = marginal_value(program, *at, **wanted.prices)
    learnt = _learnt(subject, wanted, best)
    if subject.fit is not None:
        best, path, marginal = _as_forecast(subject.fit, wanted, best, path, marginal)
    tried = searched.speedup.size
    return Answer(
        subject, wanted, surface, best, path, marginal, tried=tried, every=every, **learnt
    )


def _as_forecast(
    fit: FittedProgram,
    wanted: Wanted,
    best: PricedAllotment,
    path: AllotmentPath,
    marginal: MarginalValue,
) -> tuple[PricedAllotment, AllotmentPath, MarginalValue]:
    """The same allotments with the medians that the forecast gives, where the runs decide.

    Allotments are searched by the program's mean times, which are quick to compute. What is told
    of them is one estimator, the one that has intervals: else one allotment had two speedups.
    """
    p, d = marginal.processors, marginal.disks
    steps = (best, *path.steps)
    asked = [(step.processors, step.disks) for step in steps]
    asked += [(p, d), (p + 1, d), (p, d + 1)]
    processors, disks = np.array(asked).T
    found = fit.predict(processors, disks, wanted.level)
    if np.ma.getmaskarray(found.speedup).any() or np.ma.getmaskarray(found.time).any():
        return best, path, marginal
    told = [
        replace(step, speedup=speedup, mean_time=seconds)
        for step, speedup, seconds in zip(
            steps, found.speedup.data.tolist(), found.time.data.tolist(), strict=False
        )
    ]
    here, wider, deeper = found.speedup.data[-3:].tolist()
    by_processor, by_disk = wider - here, deeper - here
    gained = MarginalValue(
        p, d, here, by_processor, by_disk, by_processor / wanted.processor_price,
        by_disk / wanted.disk_price,
    )  # fmt: skip
    return told[0], replace(path, steps=tuple(told[1:])), gained


def _learnt(subject: Subject, wanted: Wanted, best: PricedAllotment | None) -> dict[str, Any]:
    """What runs say beyond a single program: intervals, and which run to do next."""
    fit = subject.fit
    if fit is None:
        return {}
    largest = float(wanted.processors[-1]), float(wanted.disks[-1])
    most_wanted = largest if best is None else (best.processors, best.disks)
    found: dict[str, Any] = {
        "forecast": fit.surface_interval(wanted.processors, wanted.disks, wanted.level),
        "next_run": fit.next_run(
            targets=[wanted.target or most_wanted],
            within=wanted.can_run,
            budget=wanted.run_budget,
        ),
    }
    if best is not None:
        found["at_best"] = fit.predict(best.processors, best.disks, wanted.level)
    if wanted.target is not None:
        found["at_target"] = fit.predict(*wanted.target, wanted.level)
    return found


def _searched(
    program: AbstractProgram, surface: SpeedupSurface, wanted: Wanted
) -> tuple[SpeedupSurface, bool]:
    """The allotments among which the best is sought, and whether those are all there are.

    Where all are too many, as many whole numbers as can be tried, in even steps of their
    logarithms, and then those next to the best of them.
    """
    shown = surface.processors, surface.disks
    only = wanted.only_these_processors, wanted.only_these_disks
    if all(only):
        return surface, True
    counts = [x.size if fixed else int(x[-1]) for x, fixed in zip(shown, only, strict=True)]
    if counts[0] * counts[1] <= _MOST_SEARCHED:
        whole = (
            x if fixed else np.arange(1.0, n + 1)
            for x, fixed, n in zip(shown, only, counts, strict=True)
        )  # fmt: skip
        return speedup_surface(program, *whole), True
    rooms = _rooms(counts, only)
    coarse = [
        x if fixed else _spread(x, room) for x, fixed, room in zip(shown, only, rooms, strict=True)
    ]
    first = speedup_surface(program, *coarse)
    best = best_allotment(first, budget=_most(wanted), **wanted.prices)
    finer = [
        x if fixed else np.union1d(x, _between(x, at, room // 3))
        for x, fixed, at, room in zip(
            coarse, only, (best.processors, best.disks), rooms, strict=True
        )
    ]
    return speedup_surface(program, *finer), False


def _rooms(counts: list[int], only: tuple[bool, bool]) -> tuple[int, int]:
    """How many numbers of processors and of disks can be tried together."""
    even = int(_MOST_SEARCHED**0.5)
    for own, other in ((0, 1), (1, 0)):
        if only[own] or counts[own] <= even:  # one that is not thinned leaves the other the rest
            rest = max(1, _MOST_SEARCHED // counts[own])
            rooms = {own: counts[own], other: rest}
            return rooms[0], rooms[1]
    return even, even


def _spread(shown: Array, room: int) -> Array:
    """All whole numbers up to the largest shown, or two thirds of `room` and those shown."""
    if room >= shown[-1]:
        return np.arange(1.0, shown[-1] + 1)
    return np.union1d(shown, np.rint(np.geomspace(1.0, shown[-1], max(2, 2 * room // 3))))


def _between(values: Array, at: float, room: int) -> Array:
    """So many whole numbers around `at`, as far as its neighbours in `values`."""
    i = int(np.searchsorted(values, at))
    low, high = values[max(0, i - 1)], values[min(values.size - 1, i + 1)]
    return np.rint(np.linspace(low, high, int(min(room, high - low) + 1)))


def _most(wanted: Wanted) -> float:
    """What may be spent: the budget, or what the largest allotment costs."""
    if wanted.budget is not None:
        return wanted.budget
    return float(
        wanted.processors[-1] * wanted.processor_price + wanted.disks[-1] * wanted.disk_price
    )


def _budgets(surface: SpeedupSurface, wanted: Wanted, most: float) -> Array:
    least = float(surface.processors[0] * wanted.processor_price)
    least += float(surface.disks[0] * wanted.disk_price)
    if most <= least:
        return np.array([most])
    amounts = np.geomspace(least, most, _BUDGETS)
    amounts[[0, -1]] = least, most
    return amounts


def _traced(subject: Subject) -> dict[str, Any]:
    run = subject.run
    assert run is not None
    record: dict[str, Any] = {
        "processes": run.trace.processes,
        "seconds": run.trace.duration,
        "processors": run.traced.processors,
        "disks": run.traced.disks,
        "io_law": str(run.traced.io_law),
        "cpu_law": str(run.traced.cpu_law),
        "working_sets": [
            {"repeat": s.repeat, "phases": len(s.phases)} for s in _sets(run.traced.program)
        ],
    }
    if run.bursts is not None and run.sensitivity is not None:
        record |= {
            "gap": run.bursts.gap,
            "bursts": len(run.bursts),
            "sensitivity": {
                "gaps": run.sensitivity.gaps.tolist(),
                "bursts": run.sensitivity.bursts.tolist(),
                "io_share": run.sensitivity.io_share.tolist(),
            },
        }
    return record


def _fitted(fit: FittedProgram, forecast: Forecast, next_run: NextRun) -> dict[str, Any]:
    return {
        "level": forecast.level,
        "components": _plain(fit.to_frame()),
        "unidentified": list(fit.unidentified),
        "cliffs": list(fit.cliffs),
        "warnings": list(forecast.warnings),
        "discrepancy": fit.discrepancy,
        "forecast": _rows(forecast),
        "next_run": {"advice": next_run.advice, "candidates": _plain(next_run.to_frame())},
    }


def _rows(forecast: Forecast) -> list[dict[str, Any]]:
    return _plain(forecast.to_frame())


def _plain(frame: Any) -> list[dict[str, Any]]:
    """Rows of a frame as plain values; empty cells are None."""
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return [
        {key: x.item() if isinstance(x, np.generic) else x for key, x in row.items()}
        for row in rows
    ]


def _sets(program: Program) -> Any:
    return program.working_sets
