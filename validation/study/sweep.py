"""A sweep over a scenario: which points, and what becomes of them."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from phasefit.checks import one_of, real_number, whole_number
from phasefit.records import Drawing, Record, Result
from qmodels.errors import ModelError
from qmodels.io.scenario import load_scenario, with_settings
from qmodels.io.settings import laid_over
from qmodels.io.toml_tables import unchecked_tables
from qmodels.memory import peak_memory
from qmodels.progress import Progress
from validation.machine.points import plan_of
from validation.machine.scenario import AllocationFile, load_plan
from validation.sharing.points import labels_of, scenario_of
from validation.sweeps.engines import engine
from validation.sweeps.journal import Campaign, Journal
from validation.sweeps.journal_file import JournalReader
from validation.sweeps.plain import digest, from_text, source_hash, to_text
from validation.sweeps.points import (
    Effort,
    Kind,
    Point,
    PointTable,
    combinations,
    file_hash,
    settings_text,
)
from validation.sweeps.results import to_frame
from validation.sweeps.run import run_tasks
from validation.sweeps.tables import files_named, of_strategies
from validation.sweeps.version import code_version

if TYPE_CHECKING:
    import pandas as pd

    from validation.sweeps.journal_file import KeptCampaign

#: What can be computed at the points of a sweep.
KINDS: Final[Mapping[str, Kind]] = {
    kind.name: kind
    for kind in (
        Kind("predict", "validation.sharing.points:predict_one", "mean_response", 1, random=False),
        # 20 replications, as `simulate` begins with: fewer end too often by chance
        Kind("simulate", "validation.sharing.points:run_one", "mean_response", 20),
        Kind("allocate", "validation.machine.points:run_one", "service", 10),
    )
}
#: Modules on which the results of a kind hang.
_COMPUTE: Final = {
    "predict": ("qmodels.policies.prediction", "qmodels.io.scenario"),
    "simulate": ("validation.sharing.points",),
    "allocate": ("validation.machine.points",),
}
REPLICATIONS: Final = 10
#: Points that are tried for the forecast of a dry run, and the seconds after which it stops.
_TRIED, _TRIAL_SECONDS = 12, 10.0


@dataclass(frozen=True, eq=False)
class SweepPlan(Record):
    """The points of a sweep, and how much is to be done at each."""

    kind: Kind
    points: tuple[Point, ...]
    effort: Effort

    @property
    def runs(self) -> int:
        """Replications to begin with."""
        return PointTable(self.kind, self.points, self.effort).total()

    @property
    def campaign(self) -> Campaign:
        """What a journal knows the sweep by: all that it is asked, whatever the code's version."""
        shared = replace(self.points[0], settings=(), version="").key(0)
        points = repr([point.settings for point in self.points])  # fast, and plain data all of it
        return Campaign(f"sweep --kind {self.kind.name}", digest([shared, points, self.effort]))


@dataclass(frozen=True)
class Forecast(Record):
    """What a sweep will take, from points that were tried."""

    points: int
    runs: int
    tried: int
    cpu_seconds: float
    memory_bytes: int  #: of one worker


def plan_sweep(
    path: str | Path,
    over: Mapping[str, Sequence[Any]] | None = None,
    *,
    kind: str | None = None,
    replications: int | None = None,
    precision: float | None = None,
    at_most: int = 1000,
    seed: int | None = None,
    settings: Mapping[str, Any] | None = None,
) -> SweepPlan:
    """Read a scenario and lay out the points of a sweep over it.

    Parameters
    ----------
    path : str or Path
        A scenario of policies, or one of allocation strategies.
    over : mapping
        Values by the key that takes them: "load", "policy", "model" or "strategy", or a key of
        the scenario such as "machine.disks". Without "policy", "load" or "strategy" the scenario's
        own are taken.
    kind : {"predict", "simulate", "allocate"}, optional
        By default predictions of a scenario of policies, runs of one of strategies.
    replications : int, optional
        Of each point, where it is random; by default the scenario's, or 10.
    precision : float, optional
        Instead: half-width of the 95 % interval of the mean response (the mean service) relative
        to the mean, at which to stop.
    at_most : int
        Replications at which a precision is given up.
    seed : int, optional
        Instead of the scenario's.
    settings : mapping, optional
        Values in place of what the scenario holds, the same at all points; by dotted key.

    Returns
    -------
    SweepPlan

    Raises
    ------
    ScenarioError, ModelError
        If the scenario or an argument is at fault.

    Examples
    --------
    >>> from validation.study import demo
    >>> scenario = Path(demo.__file__).with_name("scenario.toml")
    >>> plan = plan_sweep(scenario, {"load": [0.1, 0.2], "machine.disks": [8, 16, 32]})
    >>> plan.kind.name, len(plan.points)
    ('predict', 198)
    """
    source = Path(path)
    tables = unchecked_tables(source)
    strategies = of_strategies(tables)
    chosen = KINDS[one_of("kind", kind or ("allocate" if strategies else "predict"), list(KINDS))]
    if (chosen.name == "allocate") != strategies:
        what = "strategies" if strategies else "policies"
        raise ModelError(f"{source}: is a scenario of {what}; {chosen.name} needs another")
    axes: dict[str, Sequence[Any]] = dict(over or {})
    last: dict[str, Sequence[Any]]
    own = REPLICATIONS
    given = dict(settings or {})
    tables = laid_over(AllocationFile, tables, given) if strategies else with_settings(tables, given)
    if strategies:
        plan = load_plan(source, settings=given)
        last = {"strategy": [strategy.name for strategy in plan.strategies]}
        own, own_seed = plan.replications, plan.seed
    else:
        scenario = load_scenario(source, settings=given)
        last = {"policy": [p.label for p in scenario.policies], "load": list(scenario.loads)}
        own_seed = scenario.seed
    for name, values in last.items():  # they vary fastest: what is built of the rest is shared
        axes[name] = axes.pop(name, values)
    if not strategies:
        axes["policy"] = labels_of(scenario, axes["policy"])
    effort = Effort(
        replications=whole_number("replications", replications or own, least=1),
        precision=None if precision is None else real_number("precision", precision, above=0.0),
        at_most=whole_number("at_most", at_most, least=2),
    )
    folder = source.absolute().parent
    one = Point(
        kind=chosen.name,
        tables=to_text(tables),
        settings=(),
        seed=own_seed if seed is None else whole_number("seed", seed, least=0),
        version=code_version(*_COMPUTE[chosen.name]),
        inputs=(
            *((name, file_hash(folder / name)) for name in files_named(tables, folder)),
            *((name, source_hash(name)) for name in _modules_named([tables, axes])),
        ),
        file=str(source.absolute()),
    )
    for name in axes:
        if name not in (*last, "model"):
            _check_axis(one, name, axes[name])
    points = tuple(replace(one, settings=settings) for settings in combinations(axes))
    return SweepPlan(chosen, points, effort)


def _modules_named(value: Any) -> list[str]:
    """Modules of the user's own classes, which are named module:Class."""
    if isinstance(value, str):
        own = re.fullmatch(r"([\w.]+):\w+", value, re.ASCII)
        return [own[1]] if own else []
    if isinstance(value, Mapping):
        value = list(value.values())
    if not isinstance(value, (list, tuple)):
        return []
    return sorted({name for each in value for name in _modules_named(each)})


def _check_axis(one: Point, name: str, values: Sequence[Any]) -> None:
    """Refuse a key that the scenario cannot have with any of its values; before the work."""
    last: ModelError | None = None
    for value in values:
        point = replace(one, settings=((name, value),))
        try:
            plan_of(point) if one.kind == "allocate" else scenario_of(point)
        except ModelError as error:
            last = error
        else:
            return
    if last is not None:
        raise last


def forecast(plan: SweepPlan) -> Forecast:
    """Try some points, spread over all, and say what the sweep will take."""
    run_one = plan.kind.run_one()
    step = max(1, len(plan.points) // _TRIED)
    run_one(plan.points[0], 0)  # what is compiled and read once does not count
    began, tried = time.process_time(), 0
    for point in plan.points[:: max(step, 1)][:_TRIED]:
        run_one(point, 0)
        tried += 1
        if time.process_time() - began > _TRIAL_SECONDS:
            break
    each = (time.process_time() - began) / tried
    return Forecast(len(plan.points), plan.runs, tried, each * plan.runs, peak_memory())


def run_sweep(
    plan: SweepPlan,
    journal: str | Path | Journal,
    *,
    workers: int | None = None,
    cluster: Any = None,
    executor: Executor | None = None,
    reuse: bool = False,
    budget: float | None = None,
    command: str = "",
    progress: Progress | None = None,
) -> Sweep:
    """Do what the journal does not hold yet, and give the results.

    Parameters
    ----------
    plan : SweepPlan
    journal : str or Path or Journal
        File of the journal, made if it is not there; or one that is open, left open.
    workers, cluster, executor
        Who works, see `validation.sweeps.engines.engine`.
    reuse : bool
        Accept results that another version of the code has written.
    budget : float, optional
        Seconds after which nothing new is begun.
    command : str
        By which the campaign is gone on with; kept in the journal.
    progress : callable
        Called as ``progress("runs", done, total)``.

    Returns
    -------
    Sweep

    Raises
    ------
    ModelError
        If the journal belongs to another process or version, cannot be written, or the workers
        are lost as a whole.
    """
    points, version = plan.points, plan.points[0].version
    with ExitStack() as until_done:
        if not isinstance(journal, Journal):
            own = Journal(
                Path(journal), version=version, campaign=plan.campaign, reuse=reuse, command=command
            )
            journal = until_done.enter_context(own)
        if journal.key_version != version:
            points = tuple(replace(point, version=journal.key_version) for point in points)
        _describe(journal, plan.kind, points, plan.effort)
        table = PointTable(plan.kind, points, plan.effort)
        with engine(workers=workers, cluster=cluster, executor=executor) as chosen:
            complete = run_tasks(
                table,
                journal,
                executor=chosen.executor,
                workers=chosen.workers,
                progress=progress,
                budget=budget,
            )
        return Sweep(table, complete, journal.failures())


@dataclass(frozen=True, eq=False)
class Sweep(Result):
    """What a sweep has found out so far."""

    points: PointTable
    complete: bool
    failures: Mapping[str, str]  #: by key, what could not be computed and why

    def record(self) -> dict[str, Any]:
        """A row for each point, and what could not be done."""
        return {
            "complete": self.complete,
            "rows": self.points.rows(),
            "failures": sorted(set(self.failures.values())),
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw the mean response time over the first axis of numbers; of allocation the turnaround.

        Every combination of the other settings has a line. ModelError where no point is done yet.
        """
        from phasefit.plotting import columns

        frame = self.to_frame()
        axes = [name for name, _ in self.points.points[0].settings if name in frame]
        across = next((name for name in axes if frame[name].dtype.kind in "iuf"), "")
        found = next((name for name in ("mean_response", "turnaround") if name in frame), "")
        if not (across and found):
            raise ModelError("draw from to_frame(): no point is done yet, or no axis has numbers")
        others = [name for name in axes if name != across]
        if not others:
            return columns(frame, Drawing(across, found), ax=ax)
        told = frame.assign(setting=frame[others].astype(str).agg(", ".join, axis=1))
        return columns(told, Drawing(across, found, by="setting"), ax=ax)

    def to_frame(self) -> pd.DataFrame:
        """A row for each point, in the order of the points."""
        return to_frame(self.points.rows())

    def runs_frame(self) -> pd.DataFrame:
        """A row for each replication of each point."""
        return to_frame(self.points.runs())


def _describe(journal: Journal, kind: Kind, points: Sequence[Point], effort: Effort) -> None:
    """Have the journal hold all that its results are to be told by."""
    shared = replace(points[0], settings=())
    told = to_text({"kind": kind.name, "point": shared, "effort": effort})
    journal.describe(told, map(settings_text, points))


def kept_sweeps(file: str | Path) -> list[KeptCampaign]:
    """The sweeps of which a journal holds results, the one that was worked on last first.

    Raises
    ------
    ModelError
        If there is no such journal, or it has results of other commands alone.
    """
    with JournalReader(Path(file)) as journal:
        found = [each for each in journal.campaigns() if each.told is not None]
    if not found:
        raise ModelError(f"{file}: belongs to another command than sweep; that command goes on with it")
    return found


def read_sweep(file: str | Path, number: int | None = None) -> Sweep:
    """The results in a journal, also while a sweep goes on.

    Parameters
    ----------
    file : str or Path
    number : int, optional
        Which of the sweeps in it, from `kept_sweeps`; by default the one worked on last.

    Raises
    ------
    ModelError
        If there is no such journal, or no such sweep in it.
    """
    held = {each.number: each for each in kept_sweeps(file)}
    if number is not None and number not in held:
        raise ModelError(f"{file}: has no sweep {number}; it has {', '.join(map(str, held))}")
    chosen = held[next(iter(held)) if number is None else number]
    with JournalReader(Path(file)) as journal:
        told = from_text(chosen.told or "")
        kind, results = KINDS[told["kind"]], journal.results()
        points = [
            replace(told["point"], settings=from_text(settings)) for settings in journal.points(chosen.number)
        ]
    table = PointTable(kind, points, told["effort"])
    todo = list(table.first())[::-1]
    complete = True
    while todo:
        task = todo.pop()
        if (value := results.get(task.key)) is None:
            complete = False
        else:
            todo += table.after(task, value)
    return Sweep(table, complete, {})
