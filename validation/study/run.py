"""A study: one scenario carried from its inputs to predictions, simulations and findings."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from phasefit.records import Drawing, Record, Result
from qmodels.errors import MemoryBudgetError, ModelError, ScenarioError
from qmodels.io.scenario import Scenario
from qmodels.policies import (
    AbstractPolicy,
    Prediction,
    Workload,
    capacity,
    predict,
    work_bound,
)
from qmodels.policies.choice.judging import error_of
from qmodels.policies.choice.objectives import objective_of
from qmodels.policies.choice.overload import overload
from qmodels.policies.choice.recommendation import Recommendation, compared
from qmodels.policies.models.build import built_model
from qmodels.programs import SpeedupSurface, speedup_surface
from qmodels.progress import Progress, no_progress
from validation.malleable.worth import Unrunnable, check_asked, unrunnable
from validation.study.checks import Check, Simulator
from validation.study.dependence import dependent_arrivals
from validation.study.headlines import headlines
from validation.study.trial import MeshTrial, check_trial, study_trial
from validation.sweeps.executors import worker_count

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")

#: Fractions of a policy's own capacity that are predicted too, so that its curve shows its end.
NEAR_SATURATION = (0.8, 0.9, 0.95, 0.98)


@dataclass(frozen=True, eq=False)
class Point(Record):
    """One policy at one load; without a prediction where the policy is saturated."""

    policy: AbstractPolicy
    load: float
    prediction: Prediction | None


@dataclass(frozen=True, eq=False)
class Study(Result):
    """Everything that a study found out."""

    drawing = Drawing("load", "mean_response_s", by="policy", labels=("load", "mean response time [s]"))

    scenario: Scenario
    workload: Workload
    bound: float  #: jobs per second that no policy can exceed: load 1
    log_load: float | None  #: load of the log's own arrivals
    surface: SpeedupSurface
    capacities: dict[str, float]  #: largest stable arrival rate of each policy, jobs per second
    loads: tuple[float, ...]  #: of the sweep, increasing; the log's own among them
    points: tuple[Point, ...]  #: every policy at every load, and close to its own saturation
    checks: tuple[Check, ...]
    warnings: tuple[str, ...]  #: first those that may change the answer most
    grave: int  #: how many of them may change it; the others tell of single jobs or the file
    seconds: float
    trials: tuple[MeshTrial, ...] = ()  #: predictions held against the mesh, if there is one
    beyond: tuple[Unrunnable, ...] = ()  #: policies that no site runs today, at `beside_load`

    def ranking(self, load: float) -> list[Prediction]:
        """Predictions at one load of the sweep, fastest first; saturated policies are left out."""
        here = [p.prediction for p in self.points if p.load == load and p.prediction]
        return sorted(here, key=lambda prediction: prediction.mean_response)

    def recommendation(self, load: float) -> Recommendation:
        """All policies ranked at one load of the sweep, ties marked; see `recommend`."""
        if load not in self._recommendations:
            here = [point for point in self.points if point.load == load]
            self._recommendations[load] = compared(
                {p.policy: p.prediction for p in here if p.prediction},
                {p.policy: self.capacities[p.policy.label] for p in here if not p.prediction},
                self.scenario.system,
                self.workload,
                load=load,
                arrival_rate=load * self.bound,
            )
        return self._recommendations[load]

    @property
    def beside_load(self) -> float:
        """The load of `beyond`: the log's own, else the one in the middle of those spoken of."""
        spoken, _ = headlines(self)
        loads = [each.load for each in spoken] or list(self.loads)
        return self.log_load if self.log_load in loads else loads[len(loads) // 2]

    def check(self, policy: AbstractPolicy, arrival_rate: float) -> Check | None:
        """What was simulated of a policy at an arrival rate; None if nothing was."""
        return next((each for each in self.checks if each.is_of(policy, arrival_rate)), None)

    @cached_property
    def _recommendations(self) -> dict[float, Recommendation]:
        """Those asked for so far: the findings, a figure and a table of the report need each."""
        return {}

    def record(self) -> dict[str, Any]:
        """Points, checks, capacities and warnings; what follows is in `findings`."""
        return {
            "title": self.scenario.title,
            "load_1_rate": self.bound,
            "log_load": self.log_load,
            "loads": self.loads,
            "capacities": self.capacities,
            "points": self.to_frame(),
            "warnings": self.warnings,
            "seconds": self.seconds,
        }

    def drawn(self) -> pd.DataFrame:
        """Predictions of the policies that are fastest at some load of the sweep."""
        best = {self.ranking(load)[0].policy for load in self.loads if self.ranking(load)}
        table = self.to_frame()
        return table[table["policy"].isin(best) & table["load"].isin(self.loads)]

    def to_frame(self) -> pd.DataFrame:
        """Long form: a row per policy and load of the sweep, then a row per simulated check."""
        import pandas as pd

        rows = [self._row(p.policy, p.load, p.prediction) for p in self.points]
        for check in self.checks:
            prediction, simulation = check.agreement.prediction, check.agreement.simulation
            row = self._row(check.policy, prediction.load, prediction)
            rows.append(
                row
                | {
                    "simulated_mean_response_s": simulation.mean_response.mean,
                    "simulated_low_s": simulation.mean_response.low,
                    "simulated_high_s": simulation.mean_response.high,
                    "replications": simulation.replications,
                    "log_replayed_mean_response_s": (
                        check.replay.mean_response.mean if check.replay else np.nan
                    ),
                }
            )
        return pd.DataFrame(rows)

    def _row(self, policy: AbstractPolicy, load: float, found: Prediction | None) -> dict[str, object]:
        error = np.nan
        if found is not None:
            error = error_of(found, objective_of("mean_response"))
        told = {} if found is None else found.record()
        of_data = {
            f"{name}_s": told.get(name, np.nan)
            for name in ("mean_response_of_data", "mean_response_low", "mean_response_high")
            if self.workload.fitted
        }
        return {
            "policy": policy.label,
            "kind": policy.name,
            "processor_partitions": getattr(policy, "processor_partitions", None),
            "disk_partitions": getattr(policy, "disk_partitions", None),
            "multiprogramming": getattr(policy, "multiprogramming", None),
            "load": load,
            "arrival_rate_per_s": load * self.bound,
            "capacity_per_s": self.capacities[policy.label],
            "status": "stable" if found else "saturated",
            "mean_response_s": found.mean_response if found else np.nan,
            "stated_error": error,
            **of_data,
            "mean_wait_s": found.mean_wait if found else np.nan,
            "mean_jobs": found.mean_jobs if found else np.nan,
            "processor_utilisation": found.processor_utilisation if found else np.nan,
            "disk_utilisation": found.disk_utilisation if found else np.nan,
            "method": found.method if found else "",
        }


def run_study(
    scenario: Scenario,
    *,
    workers: int | None = None,
    executor: Executor | None = None,
    processes: Executor | None = None,
    progress: Progress | None = None,
    meanwhile: Callable[[Study], object] | None = None,
) -> Study:
    """Carry out a scenario: surface, predictions of every policy over the loads, simulations.

    Parameters
    ----------
    scenario : Scenario
        From `qmodels.io.load_scenario`.
    workers : int
        Threads of the simulator; by default one per core. With more than one, simulations run
        while this thread predicts. Results do not depend on it.
    executor : concurrent.futures.Executor, optional
        Who simulates instead; it is left open. One that remembers lets a study go on.
    processes : concurrent.futures.Executor, optional
        Who plays the mesh of the trial, which holds the interpreter's lock and would keep the
        predictions waiting; by default `executor`. It is left open, too.
    progress : callable
        Called as ``progress(what, done, total)``, by several threads where there are several.
    meanwhile : callable, optional
        Called once with the study as it is after the predictions, without checks and trials, by
        this thread, which would otherwise wait for the simulations.

    Returns
    -------
    Study

    Raises
    ------
    ScenarioError
        If a load of the sweep is beyond every policy; names the largest that is not. If a policy
        cannot be tried on the mesh of the machine.
    """
    started = time.perf_counter()
    report = no_progress if progress is None else progress
    workload = scenario.workload
    check_trial(scenario)
    check_asked(scenario.validation.beside if scenario.validation else (), workload)
    bound = work_bound(scenario.system, scenario.program)
    log_load = scenario.log_load
    given = processes or executor

    def on_mesh() -> Iterator[tuple[MeshTrial, ...]]:
        yield study_trial(scenario, workers=1 if given is None else workers, executor=given, progress=report)

    with _beside(workers) as begin:
        trials = begin(on_mesh())  # it needs nothing of what follows
        surface = speedup_surface(
            scenario.program, scenario.surface_processors, scenario.surface_disks, base=_common_base(scenario)
        )
        capacities = {p.label: _capacity(p, scenario, workload) for p in scenario.policies}
        loads = _sweep(scenario, log_load, max(capacities.values()) / bound, capacities)
        simulator = Simulator(scenario, capacities, workers, executor, report)
        checks = begin(simulator.asked_for())
        points = tuple(_predict_all(scenario, workload, bound, capacities, loads, report))
        predicted = _with_warnings(
            Study(
                scenario=scenario,
                workload=workload,
                bound=bound,
                log_load=log_load,
                surface=surface,
                capacities=capacities,
                loads=tuple(loads),
                points=points,
                checks=(),
                warnings=(),
                grave=0,
                seconds=time.perf_counter() - started,
            )
        )
        named = begin(simulator.named(headlines(predicted)[0]))
        if meanwhile is not None:
            meanwhile(predicted)
        checked, [tried] = (*checks(), *named()), trials()
    beyond = _beyond(predicted)
    seconds = time.perf_counter() - started
    return replace(predicted, checks=checked, trials=tried, beyond=beyond, seconds=seconds)


def _beyond(study: Study) -> tuple[Unrunnable, ...]:
    """Simulate the policies that stand beside those of the site, if the scenario names any."""
    scenario = study.scenario
    if scenario.validation is None or not scenario.validation.beside:
        return ()
    return unrunnable(
        scenario.system,
        study.workload,
        study.beside_load * study.bound,
        policies=scenario.validation.beside,
        seed=scenario.seed,
    )


def _common_base(scenario: Scenario) -> tuple[float, float]:
    """Return over what speedups stand: the smallest run of the one program, where it is learnt from runs."""
    bases = [fit.base for fit in scenario.fits.values()]
    return bases[0] if len(bases) == 1 else (1.0, 1.0)


def _with_warnings(study: Study) -> Study:
    """The same with all that is to be known of its scenario."""
    scenario, log_load = study.scenario, study.log_load
    grave, light = _warnings(scenario, log_load)
    here = log_load if log_load in study.loads else study.loads[len(study.loads) // 2]
    at_load = [(p.policy, p.prediction) for p in study.points if p.load == here and p.prediction]
    # It multiplies times more than most; only whether there is an answer at all comes before.
    place = int(log_load is not None and log_load >= 1)
    if log_load is not None and log_load * study.bound >= max(study.capacities.values()):
        grave[:place] = [_overloaded(study, log_load)]
        place = 1
    grave[place:place] = dependent_arrivals(scenario, at_load)
    return replace(study, warnings=(*grave, *light), grave=len(grave))


def _overloaded(study: Study, log_load: float) -> str:
    """What keeps every policy from carrying the log's own load, and what would do."""
    scenario = study.scenario
    said = f"The log's own load of {log_load:.3g} is beyond what any policy can carry."
    try:
        found = overload(
            scenario.system,
            study.workload,
            arrival_rate=log_load * study.bound,
            policies=scenario.policies,
            model=scenario.model,
        )
    except ModelError:  # by a hair: the simulator alone does not take it for stable
        return said
    return f"{said} {found.sentence}"


@contextmanager
def _beside(workers: int | None) -> Iterator[Callable[[Iterator[T]], Callable[[], tuple[T, ...]]]]:
    """What goes through an iterator beside this thread, and returns what waits for all of it.

    With one worker it is gone through when it is waited for. Where the block fails, it ends with
    the step that is under way.
    """
    if worker_count(workers) == 1:
        yield lambda steps: lambda: tuple(steps)
        return
    failed = threading.Event()

    def through(steps: Iterator[T]) -> tuple[T, ...]:
        return tuple(takewhile(lambda _: not failed.is_set(), steps))

    pool = ThreadPoolExecutor(3)
    try:
        yield lambda steps: pool.submit(through, steps).result
    except BaseException:
        failed.set()
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def _capacity(policy: AbstractPolicy, scenario: Scenario, workload: Workload) -> float:
    """Largest arrival rate that both the simulator and the study's model take for stable."""
    speeds = capacity(policy, scenario.system, workload)
    of_speeds = scenario.model in ("auto", "speed-scaled")
    if of_speeds and policy.arrangement(scenario.system).sizes is None:
        return speeds
    try:
        built = built_model(policy, scenario.system, workload, scenario.model)
    except ModelError as error:
        raise ScenarioError(str(scenario.path), [(policy.label, str(error))]) from None
    return min(speeds, built.capacity)


def _sweep(
    scenario: Scenario, log_load: float | None, largest: float, capacities: dict[str, float]
) -> list[float]:
    """Loads of the sweep, with the log's own among them; each stable under some policy."""
    for i, load in enumerate(scenario.loads):
        if load >= largest:
            best = max(capacities, key=capacities.__getitem__)
            raise ScenarioError(
                str(scenario.path),
                [
                    (
                        f"study.loads[{i}]",
                        f"load {load:g} is unstable under every policy of this study; the largest "
                        f"stable load is just below {largest:.4g}, under {best}",
                    )
                ],
            )
    own = [log_load] if log_load is not None and log_load < largest else []
    return sorted({*scenario.loads, *own})


def _predict_all(
    scenario: Scenario,
    workload: Workload,
    bound: float,
    capacities: dict[str, float],
    loads: list[float],
    report: Progress,
) -> Iterator[Point]:
    total = len(scenario.policies)
    for i, policy in enumerate(scenario.policies):
        own = [fraction * capacities[policy.label] / bound for fraction in NEAR_SATURATION]
        for load in sorted({*loads, *own}):
            stable = load * bound < capacities[policy.label]
            try:
                prediction = (
                    predict(policy, scenario.system, workload, load=load, model=scenario.model)
                    if stable
                    else None
                )
            except MemoryBudgetError as error:
                raise ScenarioError(str(scenario.path), [(policy.label, str(error))]) from None
            yield Point(policy, load, prediction)
        report("predicting", i + 1, total)


def _warnings(scenario: Scenario, log_load: float | None) -> tuple[list[str], list[str]]:
    """Warnings that may change the answer, the worst first, and the rest.

    Worst is what decides whether there is an answer at all; then what scales every time, or the
    way in which times depend on the machine; then what the fitted laws leave out of the waits;
    then how a mix was read; last what was laid over the file by whoever ran the study.
    """
    grave = []
    if log_load is not None and log_load >= 1:
        grave.append(f"The log's own load of {log_load:.3g} is beyond what any policy can carry.")
    if scenario.time_scale != 1.0:
        grave.append(
            f"The programs' times were multiplied by {scenario.time_scale:.4g} so that their mean "
            f"work on the log's job sizes is the log's: the programs give the scaling, the log "
            f"the scale."
        )
    for name, fit in scenario.fits.items():
        grave += [f"Program {name}: {text}" for text in (*fit.unidentified, *fit.warnings)]
    grave += scenario.log.doubts() if scenario.log else []
    if scenario.mix_note:
        grave.append(scenario.mix_note)
    grave += [f"Not as in the scenario's file: {line}." for line in scenario.changes]
    return grave, list(scenario.log.warnings) if scenario.log else []
