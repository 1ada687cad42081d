"""`what_if`: predictions of every policy on machines thought of, under the same jobs."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import inf, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from phasefit.records import Drawing, Result
from qmodels.errors import ModelError, ScenarioError
from qmodels.io.scenario import Scenario, load_scenario, make_scenario, with_settings
from qmodels.policies import AbstractPolicy, System, Workload, predict, work_bound
from qmodels.policies.choice.against_data import fit_error_of
from qmodels.policies.choice.judging import judged
from qmodels.policies.choice.objectives import Quantity, objective_of
from qmodels.policies.choice.ranking import (
    BEST,
    SATURATED,
    SLOWER,
    UNKNOWN,
    RankedPolicy,
    ranked,
)
from qmodels.policies.models.build import built_model
from qmodels.policies.models.recorded_errors import MOST_BUSY
from qmodels.progress import Progress, no_progress
from validation.sharing.points import labels_of, policy_of
from validation.study.what_if.advice import advice, text_of
from validation.study.what_if.axes import POLICY, Axis, axes_of, listed_values, loads_of, prices_of
from validation.study.what_if.cells import Cell, Curve, Machine
from validation.study.what_if.nearby import nearby

if TYPE_CHECKING:
    import pandas as pd

#: Points that one grid may have.
MOST_POINTS: Final = 1_000_000
#: Shares of its capacity at which a curve has points of its own; the last is the largest of which
#: errors are recorded.
ENDS: Final = (0.8, MOST_BUSY)


@dataclass(frozen=True, eq=False, repr=False)
class WhatIf(Result):
    """Predictions over a grid of machines, jobs, loads and policies."""

    scenario: Scenario
    axes: tuple[Axis, ...]
    loads: tuple[float, ...]  #: of today's machine, whose rates all machines meet
    bound: float  #: jobs per second at load 1: what no policy on today's machine can exceed
    prices: Mapping[str, float]  #: of one unit, by name of the axis
    objective: Quantity
    machines: tuple[Machine, ...]  #: the last axis fastest
    seconds: float  #: time it took

    def __repr__(self) -> str:
        names = ", ".join(axis.name for axis in self.axes) or "nothing"
        return (
            f"<what if: {len(self.machines)} machines over {names}, {len(self.loads)} loads, "
            f"{self.predictions:,} predictions of {self.objective.label}>"
        )

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """Every machine at every load, the load fastest."""
        return tuple(
            self._cell(machine, place) for machine in self.machines for place in range(len(self.loads))
        )

    def cell(self, load: float, **setting: Any) -> Cell:
        """The cell of a load and of values by name of the axis; today's for what is not named.

        Raises
        ------
        ModelError
            If the grid has no such point.
        """
        wanted = dict(self.today) | setting
        for cell in self.cells:
            if cell.load == load and cell.machine.setting == wanted:
                return cell
        raise ModelError(f"the grid has no point at load {load:g} with {wanted}")

    @property
    def remarks(self) -> tuple[str, ...]:
        """What has to be known of all answers, a sentence each."""
        scenario = self.scenario
        found = [f"Not as in the scenario's file: {text}." for text in scenario.changes]
        found += [scenario.mix_note] if scenario.mix_note else []
        if scenario.fits:
            found.append(
                "The programs were learnt from timed runs. On more processors or disks than were "
                "run their times are extrapolated, and the stated errors do not count that."
            )
        return (*found, *self._of_the_data)

    @cached_property
    def _of_the_data(self) -> tuple[str, ...]:
        """What laws fitted to a log leave out, by today's machine and the load in the middle."""
        plan = self.scenario
        if not plan.workload.fitted or any(axis.today is None for axis in self.axes):
            return ()
        here = [cell for cell in self.cells if cell.machine.setting == self.today]
        able = [cell for cell in here if cell.best is not None]
        if not able:
            return ()
        cell = able[len(able) // 2]
        best = cell.best
        assert best is not None
        found = predict(best.policy, plan.system, plan.workload, load=cell.load, model=plan.model)
        error = fit_error_of(found, self.objective, best.value)
        if error is None:
            return ()
        where = f"{best.label} on today's machine at load {cell.load:.3g}"
        return (f"{error.sentence(where)} That is common to all answers here.",)

    @cached_property
    def nearby(self) -> tuple[str, ...]:
        """What small changes of today's machine and jobs do to its best mean response."""
        if self.objective.name != "mean_response":
            return ()
        here = [cell for cell in self.cells if cell.machine.setting == self.today]
        return tuple(nearby(self.scenario, here))

    @property
    def today(self) -> dict[str, Any]:
        """The scenario's own value of each axis that has one."""
        return {axis.name: axis.values[axis.today] for axis in self.axes if axis.today is not None}

    def money(self, setting: Mapping[str, Any]) -> float | None:
        """What a machine costs beyond today's; None without prices."""
        if not self.prices:
            return None
        gap = sum(p * (setting[name] - self.today[name]) for name, p in self.prices.items())
        return float(gap)

    def _cell(self, machine: Machine, place: int) -> Cell:
        rows = ranked([curve.rows[place] for curve in machine.curves]) if machine.curves else ()
        return Cell(machine, self.loads[place], self.money(machine.setting), rows)

    @property
    def predictions(self) -> int:
        """How many points have a prediction."""
        return sum(
            row.value == row.value
            for machine in self.machines
            for curve in machine.curves
            for row in (*curve.rows, *curve.ends)
        )

    def records(self) -> Iterator[dict[str, Any]]:
        """Plain values: a record for each machine, load and policy; what is not known is None."""
        for cell in self.cells:
            head = dict(cell.machine.setting) | {"load": cell.load, "money": cell.money}
            if cell.machine.refused:
                yield head | {"policy": None, "status": "refused", "note": cell.machine.refused}
            for row in cell.rows:
                yield head | {
                    "policy": row.label,
                    "status": row.status,
                    self.objective.name: _known(row.value),
                    "error": _known(row.error),
                    "capacity_load": _known(row.capacity / self.bound),
                    "method": row.method,
                    "note": row.note,
                }
            for label in cell.machine.misfits:
                yield head | {"policy": label, "status": "does not fit", "note": ""}

    def to_frame(self) -> pd.DataFrame:
        """A row for each machine, load and policy."""
        import pandas as pd

        return pd.DataFrame(list(self.records()))

    def drawn(self) -> pd.DataFrame:
        """The best of every machine and load, the cheapest first; with prices the best for each sum."""
        frame = self.to_frame()
        best = frame[frame["status"] == BEST]
        best = best.assign(
            at=[f"load {load:.3g}" for load in best["load"]],
            half_width=best[self.objective.name] * best["error"].astype(float),
        )
        if self.prices:
            best = best.sort_values(self.objective.name).drop_duplicates(["load", "money"])
        return best.sort_values(["load", "money"])

    def plot(self, ax: Any = None) -> Any:
        """Draw what the best policies make of the money, or without prices of the load."""
        from phasefit.plotting import columns

        name = self.objective.name
        label = (
            f"{self.objective.label} [{self.objective.unit}]" if self.objective.unit else self.objective.label
        )
        money = "money spent beyond today's machine"
        priced = Drawing("money", name, by="at", half_width="half_width", labels=(money, label))
        across = Drawing("load", name, by="machine", half_width="half_width", labels=("load", label))
        if self.prices:
            return columns(self.drawn(), priced, ax=ax)
        told = self.drawn().sort_values([*(axis.name for axis in self.axes), "load"])
        machine = told.apply(lambda row: ", ".join(f"{row[a.name]} {a.name}" for a in self.axes), axis=1)
        return columns(told.assign(machine=machine if self.axes else ""), across, ax=ax)

    def record(self) -> dict[str, Any]:
        """Axes, prices, findings, and a record for each machine, load and policy."""
        return {
            "set": list(self.scenario.changes),
            "remarks": list(self.remarks),
            "objective": self.objective.name,
            "load_1_rate": self.bound,
            "today": self.today,
            "prices": dict(self.prices),
            "axes": {axis.name: list(axis.values) for axis in self.axes},
            "loads": list(self.loads),
            "findings": advice(self),
            "nearby": list(self.nearby),
            "points": list(self.records()),
            "seconds": self.seconds,
        }

    def table(self) -> str:
        """The best policy of every machine and load, and what follows from it, as text."""
        return "\n".join([text_of(self), *(f"- {text}" for text in self.nearby)])


def _known(value: float) -> float | None:
    return float(value) if abs(value) < inf else None


def what_if(
    scenario: Scenario | str | Path,
    over: Mapping[str, Sequence[Any]] | None = None,
    prices: Mapping[str, float] | None = None,
    *,
    objective: str = "mean_response",
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> WhatIf:
    """Predict every policy on machines of other sizes, under other loads and other jobs.

    Parameters
    ----------
    scenario : Scenario, str or Path
        From `qmodels.io.load_scenario`, or its file: today's machine and jobs. Other machines are
        made of its `tables`, which `load_scenario(settings=)` changes and `replace` does not.
    over : mapping
        Values by what takes them: "processors", "disks", "scv" (of the demand, variance /
        mean^2), "load", "policy" (labels), or a key of the scenario such as
        "program.0.io.total". Today's values are added. Without "load" or "policy" the scenario's
        own are taken.
    prices : mapping, optional
        Of one more unit of what is varied in numbers, in any money.
    objective : str
        What is to be small, as in `recommend`: mean_response, p95, ...
    executor : concurrent.futures.Executor, optional
        Who predicts instead of this thread; it is left open. One that remembers goes on where an
        earlier run was broken off.
    progress : callable
        Called as ``progress("predicting", done, total)``, also before the first.

    Returns
    -------
    WhatIf

    Raises
    ------
    ScenarioError, ModelError
        If the scenario or an argument is at fault, or no point of the grid is a machine.

    Notes
    -----
    A load is that of today's machine: the same jobs arrive at all machines, as fast as makes that
    load there. (In a sweep it is the load of each machine, which a larger one reaches by more
    jobs.) Programs that are scaled to a log are scaled as for today's machine, on which the log
    was written. Two answers are a tie where their predicted values, each with its stated error,
    overlap; that the errors of one model on two machines are likely to be alike is not counted on,
    because it is not recorded how alike.

    Nothing is simulated.

    Examples
    --------
    >>> from validation.study import demo
    >>> file = Path(demo.__file__).with_name("scenario.toml")
    >>> found = what_if(
    ...     file, {"load": [0.4], "disks": [64], "processors": [256], "policy": ["SP(4,4)"]},
    ...     prices={"disks": 4.0, "processors": 1.0},
    ... )
    >>> [(*cell.machine.setting.values(), cell.money) for cell in found.cells]
    [(32, 128, 0.0), (32, 256, 128.0), (64, 128, 128.0), (64, 256, 256.0)]
    >>> [round(cell.best.value, 1) for cell in found.cells]
    [22.6, 12.3, 22.6, 10.2]
    """
    started = time.perf_counter()
    base = scenario if isinstance(scenario, Scenario) else load_scenario(scenario)
    chosen = dict(over or {})
    wanted = objective_of(objective)
    axes, loads = axes_of(base, chosen), loads_of(base, chosen)
    charged = prices_of(axes, prices)
    labels = _labels(base, chosen)
    count = len(loads) * len(labels)
    for axis in axes:
        count *= len(axis.values)
    if count > MOST_POINTS:
        raise ModelError(f"a grid of {count:,} points; at most {MOST_POINTS:,}")
    bound = work_bound(base.system, base.program)
    plans = [
        _planned(base, axes, place)
        for place in itertools.product(*(range(len(axis.values)) for axis in axes))
    ]
    if all(isinstance(plan, ModelError) for _, plan in plans):
        raise next(plan for _, plan in plans if isinstance(plan, ModelError))
    rates = tuple(load * bound for load in loads)
    machines = _predicted(base, axes, plans, labels, rates, wanted, executor, progress)
    return WhatIf(
        scenario=base,
        axes=axes,
        loads=loads,
        bound=bound,
        prices=charged,
        objective=wanted,
        machines=machines,
        seconds=time.perf_counter() - started,
    )


def _labels(base: Scenario, over: Mapping[str, Sequence[Any]]) -> tuple[str, ...]:
    given = over.get(POLICY)
    if given is None:
        return tuple(policy.label for policy in base.policies)
    return tuple(labels_of(base, listed_values("policy", given)))


def _planned(
    base: Scenario, axes: Sequence[Axis], place: tuple[int, ...]
) -> tuple[tuple[int, ...], Scenario | ModelError]:
    """The scenario of one combination, or why there is none."""
    settings: dict[str, Any] = {}
    for axis, at in zip(axes, place, strict=True):
        settings |= axis.settings(at, base)
    if not settings:
        return place, base
    tables = with_settings(base.tables, settings)
    for name in ("validation", "surface"):
        tables.pop(name, None)
    try:
        made = make_scenario(base.path, tables, only_fitting=True, like=base)
        return place, made if base.model == made.model else made.with_model(base.model)
    except ScenarioError as error:
        return place, ModelError("; ".join(f"{key}: {text}" for key, text in error.problems))
    except ModelError as error:
        return place, error


def _predicted(
    base: Scenario,
    axes: Sequence[Axis],
    plans: Sequence[tuple[tuple[int, ...], Scenario | ModelError]],
    labels: Sequence[str],
    rates: tuple[float, ...],
    objective: Quantity,
    executor: Executor | None,
    progress: Progress | None,
) -> tuple[Machine, ...]:
    """All machines, each with a curve for every policy that fits it."""
    policies = {label: _any_policy(plans, label) for label in labels}
    known: list[tuple[Machine, list[AbstractPolicy], list[Any]]] = []
    count = 0
    for place, plan in plans:
        setting = {a.name: a.values[i] for a, i in zip(axes, place, strict=True)}
        if isinstance(plan, ModelError):
            known.append((Machine(place, setting, None, (), (), str(plan)), [], []))
            continue
        fitting = [p for p in policies.values() if _fits(p, plan.system)]
        misfits = tuple(p.label for p in policies.values() if p not in fitting)
        # One partial call for all policies, of which an executor that remembers makes one key.
        of_policy = partial(curve_of, plan.system, plan.workload, rates, objective.name, base.model)
        asked: list[Callable[[], Any]]
        if executor is None:
            asked = [partial(of_policy, policy) for policy in fitting]
        else:
            asked = [executor.submit(of_policy, policy).result for policy in fitting]
        count += len(asked)
        known.append((Machine(place, setting, plan.system, (), misfits), fitting, asked))
    report = no_progress if progress is None else progress
    report("predicting", 0, count)
    done, found = 0, []
    for machine, fitting, asked in known:
        curves = []
        for policy, answer in zip(fitting, asked, strict=True):
            curves.append(_curve(policy, answer()))
            done += 1
            report("predicting", done, count)
        found.append(replace(machine, curves=tuple(curves)))
    return tuple(found)


def _any_policy(plans: Sequence[tuple[Any, Scenario | ModelError]], label: str) -> AbstractPolicy:
    """The policy of a label on the first machine that it fits; ModelError if on none."""
    last: ModelError | None = None
    for _, plan in plans:
        if isinstance(plan, Scenario):
            try:
                return policy_of(plan, label)
            except ModelError as error:
                last = error
    raise last or ModelError(f"no policy {label}")


def _fits(policy: AbstractPolicy, system: System) -> bool:
    try:
        policy.check(system)
    except ModelError:
        return False
    return True


PlainRow = tuple[str, float, float, float, str, str, float, bool]


def curve_of(
    system: System,
    workload: Workload,
    rates: Sequence[float],
    objective: str,
    model: str,
    policy: AbstractPolicy,
) -> tuple[float, tuple[PlainRow, ...]]:
    """Capacity of a policy, and what is predicted at each rate, then at `ENDS` of the capacity.

    Plain values, so that a journal can keep them: status, value, error, capacity, method, note,
    least and doubtful.
    """
    wanted = objective_of(objective)
    try:
        most = built_model(policy, system, workload, model).capacity
    except ModelError as error:
        blank = (UNKNOWN, nan, nan, nan, "", str(error), nan, False)
        return nan, (blank,) * (len(rates) + len(ENDS))
    found: list[PlainRow] = []
    for rate in (*rates, *(share * most for share in ENDS)):
        if rate >= most:
            found.append((SATURATED, nan, nan, most, "", "", nan, False))
            continue
        try:
            row = judged(policy, system, workload, rate, wanted, (), model)
        except ModelError as error:
            found.append((UNKNOWN, nan, nan, nan, "", str(error), nan, False))
        else:
            plain = row.status, row.value, row.error, row.capacity, row.method, row.note
            found.append((*plain, row.least, row.doubtful))
    return most, tuple(found)


def _curve(policy: AbstractPolicy, plain: tuple[float, Sequence[PlainRow]]) -> Curve:
    most, rows = plain
    made = [
        RankedPolicy(
            policy=policy,
            status=status,
            value=value,
            error=error,
            quantities={} if status != SLOWER else {"value": value},
            capacity=most,
            method=method,
            note=note,
            least=least,
            doubtful=doubtful,
        )
        for status, value, error, _, method, note, least, doubtful in rows
    ]
    return Curve(policy, most, tuple(made[: -len(ENDS)]), tuple(made[-len(ENDS) :]))
