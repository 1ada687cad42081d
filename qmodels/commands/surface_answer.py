"""What `qmodels surface` answers: the surface of a subject and what it is worth."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from phasefit.arrays import Array
from qmodels.commands.surface_search import ROUNDING, Sought, Wanted, sought, within
from qmodels.io.subjects import Subject
from qmodels.programs import (
    FittedProgram,
    Program,
    SpeedupSurface,
    speedup_surface,
)
from qmodels.programs.allotments import MarginalValue, marginal_value
from qmodels.programs.scaling import Forecast, NextRun
from qmodels.programs.scaling.candidates import usual_runs
from qmodels.programs.scaling.rivals import rivals_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Answer:
    """A surface and what is read from it; what the subject cannot tell is None.

    Parameters
    ----------
    subject : Subject
    wanted : Wanted
    surface : SpeedupSurface or None
    sought : Sought or None
        The best allotment for the budget, and the way there.
    marginal : MarginalValue or None
        Of one more processor and disk, at the target or else at the best allotment.
    forecast : Forecast or None
        Of measured runs: times and speedups of the grid with their intervals and marks.
    at_measured : Forecast or None
        The same of all allotments that were measured, with what was measured there.
    at_best, at_beyond, at_target : Forecast or None
        The same of the best allotments within the runs and beyond them, and of the target.
    next_run : NextRun or None
        Of measured runs: which run tells most about the target, or else the best allotment; None
        where the budget buys no run that would.
    beside : Forecast or None
        Where simple forms are asked for: the forecast of the processors of the grid, on the disks of the
        target or else of the largest run.
    rivals : dict of str to ndarray or None
        Seconds by each simple form on the allotments of `beside`.
    """

    subject: Subject
    wanted: Wanted
    surface: SpeedupSurface | None
    sought: Sought | None
    marginal: MarginalValue | None
    forecast: Forecast | None = None
    at_measured: Forecast | None = None
    at_best: Forecast | None = None
    at_beyond: Forecast | None = None
    at_target: Forecast | None = None
    next_run: NextRun | None = None
    beside: Forecast | None = None
    rivals: dict[str, Array] | None = None

    def record(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        subject, surface = self.subject, self.surface
        record: dict[str, Any] = {
            "kind": subject.kind,
            "name": subject.name,
            "remarks": list(subject.remarks),
            "processors": self.wanted.processors.tolist(),
            "disks": self.wanted.disks.tolist(),
            "seconds_on_one": None if surface is None or surface.base != (1.0, 1.0) else surface.reference,
            "speedup_over": dict(zip(("processors", "disks"), subject.base, strict=True)),
            "mean_time": None if surface is None else surface.mean_time.tolist(),
            "speedup": None if surface is None else surface.speedup.tolist(),
            "best": None,
            "tried": None,
            "marginal": None if self.marginal is None else asdict(self.marginal),
            "path": None,
        }
        if self.sought is not None:
            record |= self._best()
        if subject.run is not None:
            record["trace"] = _traced(subject)
        if subject.fit is not None and self.forecast is not None:
            record["fit"] = _fitted(subject.fit, self.forecast, self.next_run)
            record["fit"]["measured"] = _rows(self.at_measured)
            if self.beside is not None and self.rivals is not None:
                record["fit"]["rivals"] = _plain(rivals_frame(self.beside, self.rivals))
            for name in ("target", "best", "beyond"):
                if getattr(self, f"at_{name}") is not None:
                    record["fit"][name] = _rows(getattr(self, f"at_{name}"))[0]
        return record

    def _best(self) -> dict[str, Any]:
        """The best allotments and the way there."""
        found = self.sought
        assert found is not None
        record: dict[str, Any] = {
            "best": None if found.best is None else asdict(found.best),
            "tried": {"allotments": found.tried, "every": found.every},
            "path": [asdict(step) for step in found.path.steps],
        }
        if self.subject.fit is not None:
            record["beyond"] = None if found.beyond is None else asdict(found.beyond)
            for step, outside in zip(record["path"], self.outside(), strict=True):
                step["extrapolated"] = outside
        return record

    def outside(self) -> list[bool]:
        """Whether each step of the path lies outside of the runs."""
        fit, found = self.subject.fit, self.sought
        assert fit is not None
        assert found is not None
        return [not within(fit.allotments, step.processors, step.disks) for step in found.path.steps]


def answer(subject: Subject, wanted: Wanted) -> Answer:
    """Work out a surface and what is read from it.

    Raises
    ------
    ModelError
        If the grid, the budget, a price or the target is out of range.
    """
    program, fit = subject.program, subject.fit
    if program is None:
        return Answer(subject, wanted, None, None, None, **_learnt(subject, wanted, None))
    surface = speedup_surface(program, wanted.processors, wanted.disks, base=subject.base)
    found = sought(program, surface, wanted, None if fit is None else fit.allotments)
    best = found.best or found.beyond
    assert best is not None
    at = wanted.target or (best.processors, best.disks)
    marginal = marginal_value(program, *at, **wanted.prices, base=subject.base)
    return Answer(subject, wanted, surface, found, marginal, **_learnt(subject, wanted, found))


def _learnt(subject: Subject, wanted: Wanted, found: Sought | None) -> dict[str, Any]:
    """What runs say beyond a single program: intervals, and which run to do next."""
    fit = subject.fit
    if fit is None:
        return {}
    learnt: dict[str, Any] = {
        "forecast": fit.surface_interval(wanted.processors, wanted.disks, wanted.level),
        "at_measured": fit.predict(fit.measured.processors, fit.measured.disks, wanted.level)
        if fit.measured.processors.size
        else None,
    }
    goal = float(wanted.processors[-1]), float(wanted.disks[-1])
    for name, one in () if found is None else (("best", found.best), ("beyond", found.beyond)):
        if one is not None:
            goal = one.processors, one.disks
            learnt[f"at_{name}"] = fit.predict(*goal, wanted.level)
    if wanted.target is not None:
        goal = wanted.target
        learnt["at_target"] = fit.predict(*goal, wanted.level)
    if wanted.rivals:
        learnt |= _rivals(fit, wanted)
    return learnt | {"next_run": _next_run(fit, wanted, goal)}


def _rivals(fit: FittedProgram, wanted: Wanted) -> dict[str, Any]:
    """The forecast along the processors of the grid and of the target, and what simple forms say there."""
    processors, disks = wanted.processors, fit.allotments[np.argmax(fit.allotments[:, 0]), 1]
    if wanted.target is not None:
        processors, disks = np.union1d(processors, wanted.target[0]), wanted.target[1]
    along = np.full(processors.shape, float(disks))
    return {
        "beside": fit.predict(processors, along, wanted.level),
        "rivals": rivals_of(fit.measured, processors, along),
    }


def rivals_frame(beside: Forecast, rivals: dict[str, Array]) -> pd.DataFrame:
    """Return a row per allotment: the forecast and each simple form in seconds, and what was measured."""
    columns = ["processors", "disks", "time", "time_low", "time_high", "measured_time"]
    return beside.to_frame()[columns].assign(**rivals)


def _next_run(fit: FittedProgram, wanted: Wanted, goal: tuple[float, float]) -> NextRun | None:
    """The run that tells most about `goal`, among those that can be made and paid.

    Where a budget says what an allotment may cost and nothing says what can be run, a run needs
    no more than that buys.
    """
    candidates = None
    if wanted.can_run is None and wanted.budget is not None:
        usual = usual_runs(fit.allotments, np.array([goal]))
        price = usual @ [wanted.processor_price, wanted.disk_price]
        affordable = usual[price <= wanted.budget * (1.0 + ROUNDING)]
        if not len(affordable):
            return None
        candidates = [(p, d) for p, d in affordable.tolist()]
    return fit.next_run(candidates, targets=[goal], within=wanted.can_run, budget=wanted.run_budget)


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
        "working_sets": [{"repeat": s.repeat, "phases": len(s.phases)} for s in _sets(run.traced.program)],
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


def _fitted(fit: FittedProgram, forecast: Forecast, next_run: NextRun | None) -> dict[str, Any]:
    return {
        "level": forecast.level,
        "work": None if fit.size is None else fit.size.work,
        "components": _plain(fit.to_frame()),
        "unidentified": list(fit.unidentified),
        "cliffs": list(fit.cliffs),
        "contradictions": list(fit.contradictions),
        "warnings": list(forecast.warnings),
        "discrepancy": fit.discrepancy,
        "forecast": _rows(forecast),
        "next_run": None
        if next_run is None
        else {"advice": next_run.advice, "candidates": _plain(next_run.to_frame())},
    }


def _rows(forecast: Forecast | None) -> list[dict[str, Any]]:
    return [] if forecast is None else _plain(forecast.to_frame())


def _plain(frame: Any) -> list[dict[str, Any]]:
    """Rows of a frame as plain values; empty cells are None."""
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return [{key: x.item() if isinstance(x, np.generic) else x for key, x in row.items()} for row in rows]


def _sets(program: Program) -> Any:
    return program.working_sets
