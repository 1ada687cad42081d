"""The trial of a study: predictions held against a simulated mesh, and how far to trust them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from phasefit import PhaseType
from phasefit.records import Drawing, Result
from qmodels.errors import ModelError, ScenarioError, UnstableError
from qmodels.io.mesh_trial import TrialPlan
from qmodels.io.scenario import Scenario
from qmodels.policies import AbstractPolicy, predict
from qmodels.policies.models.demand import demand_law
from qmodels.progress import Progress, no_progress
from qmodels.words import in_words
from validation.analysis.estimates import Estimate
from validation.sweeps.executors import parallel_map
from validation.trial.agreement import DECISIVE_PRECISION
from validation.trial.chain import STEPS, MeshFound, MeshTask, try_on_mesh
from validation.trial.scenario import DISK_PACE, PACKET, Cell

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class MeshTrial(Result):
    """One policy of a study on the mesh: predicted, corrected and simulated, in seconds."""

    drawing = Drawing("stage", "mean_response_s", half_width="half_width_s")

    policy: AbstractPolicy
    strategy: str
    task: MeshTask
    found: MeshFound
    cycle: float  #: seconds that one cycle of the mesh stands for
    own: float  #: mean response by the study's own model of the programs, infinite if not stable

    @property
    def predicted(self) -> float:
        """Mean response by the model of bursts as they are alone; infinite if not stable."""
        return self.found.chain.predicted["M3'"] * self.cycle

    @property
    def corrected(self) -> float:
        """Mean response by the model at the speeds of the loss run."""
        return self.found.corrected * self.cycle

    @property
    def corrected_half_width(self) -> float:
        """What the loss run leaves uncertain of it."""
        return self.found.corrected_half_width * self.cycle

    @property
    def simulated(self) -> Estimate:
        """Mean response on the mesh."""
        whole = self.found.chain.simulated["S4"]
        return Estimate(
            whole.mean * self.cycle,
            whole.half_width * self.cycle,
            whole.confidence,
            whole.replications,
        )

    def to_frame(self) -> pd.DataFrame:
        """Every stage, in seconds: mean, half-width of its interval (0 if predicted), over S4."""
        frame = self.found.chain.to_frame()
        for name in ("mean_response", "half_width"):
            frame[f"{name}_s"] = frame.pop(name) * self.cycle
        frame.insert(0, "policy", self.policy.label)
        return frame

    @property
    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """The table of the report: stage, what it is, mean, interval and share of S4, as text."""
        unit = self.simulated.mean
        own = ("", "the study's own prediction, by the times of the programs (uncorrected)")
        rows = [(*own, in_words(self.own, like=unit), "", f"{self.own / unit - 1.0:+.1%}")]
        for row in self.to_frame().to_dict("records"):
            mean, stage = row["mean_response_s"], row["stage"]
            if np.isnan(mean):
                rows.append((stage, row["what"], "", row["missing"], ""))
                continue
            half = self.corrected_half_width if stage == "X" else row["half_width_s"]
            shown = f"± {half / unit:.1%}" if half or stage in self.found.chain.simulated else ""
            time = in_words(mean, like=unit)
            rows.append((stage, row["what"], time, shown, f"{row['relative'] - 1.0:+.1%}"))
        return rows

    def trust(self) -> str:
        """How far to trust the prediction, and what it would cost to be surer, in plain words."""
        return " ".join(self._sentences())

    @property
    def arrival_rate(self) -> float:
        """Jobs per second that came to the mesh."""
        return self.found.chain.arrival_rate / self.cycle

    def in_short(self) -> str:
        """What was simulated, what was predicted of it, and the verdict."""
        first, _, verdict, *_ = self._sentences()
        return f"{first} {verdict}"

    def _sentences(self) -> Iterator[str]:
        mean, half = self.simulated.mean, self.simulated.half_width
        mesh = self.task.cell.mesh
        yield (
            f"{self.policy.label} on a simulated mesh of {mesh.rows} x {mesh.columns} nodes that "
            f"places jobs by {self.strategy}, at "
            f"{self.task.fraction:.0%} of the capacity measured there: "
            f"simulated {in_words(mean)} ± {half / mean:.1%}; predicted "
            f"{self._against(self.corrected)} after calibration by a loss run on that mesh "
            f"(known to {self.corrected_half_width / mean:.1%}), {self._against(self.own)} before, "
            f"by the times of the programs."
        )
        yield (f"By the bursts of a job alone on the mesh the prediction is {self._against(self.predicted)}.")
        yield self._verdict()
        yield self._largest_step()
        found = self.found
        yield (
            f"To be twice as sure takes four times the runs: some "
            f"{in_words(3.0 * found.seconds_loss_run)} of a processor more for the corrected "
            f"prediction, which then serves all loads, and "
            f"{in_words(3.0 * found.seconds_simulated)} for the simulation of this one."
        )

    def _against(self, time: float) -> str:
        """A prediction beside the simulated mean."""
        if not np.isfinite(time):
            return "no steady state"
        mean = self.simulated.mean
        return f"{in_words(time, like=mean)} ({time / mean - 1.0:+.1%})"

    def _verdict(self) -> str:
        mean, half = self.simulated.mean, self.simulated.half_width
        both = float(np.hypot(half, self.corrected_half_width))
        gap = abs(self.corrected - mean)
        if not both <= DECISIVE_PRECISION * mean:
            return (
                f"Both together are known to no better than {both / mean:.0%}, too little to say "
                f"whether they agree: nothing is confirmed."
            )
        if gap <= both:
            return (
                f"The corrected prediction and the simulation agree within both intervals, so at "
                f"this load the prediction is confirmed to within {(gap + both) / mean:.1%}, and "
                f"no better."
            )
        return (
            f"The corrected prediction and the simulation differ by more than both intervals: "
            f"trust the prediction to {(gap + both) / mean:.0%} here, and the simulation rather "
            f"than it."
        )

    def _largest_step(self) -> str:
        steps = self.found.chain.steps
        mean = self.found.chain.simulated["S4"].mean
        name = max(steps, key=lambda each: abs(steps[each].mean))
        step = steps[name]
        sure = abs(step.mean) > step.half_width
        said = (
            f"{STEPS[name]} ({step.mean / mean:+.1%} of the time on the mesh, ± {step.half_width / mean:.1%})"
        )
        if not sure:
            return f"No step from the model to the mesh is surely more than nothing; most is {said}."
        return f"Of the steps from the model to the mesh {said} counts most."


def study_trial(
    scenario: Scenario,
    *,
    workers: int | None = 1,
    executor: Executor | None = None,
    progress: Progress = no_progress,
) -> tuple[MeshTrial, ...]:
    """Hold the predictions of a study against its mesh; () if the scenario has none.

    Parameters
    ----------
    scenario : Scenario
    workers, executor
        See `validation.sweeps.executors.parallel_map`; a task for each policy.
    progress : callable
        Called as ``progress("on the mesh", done, policies)``.

    Raises
    ------
    ScenarioError
        If there is no such strategy, or a policy cannot be tried on that mesh.

    Notes
    -----
    A job of the trial has as many phases as the mean of the programs, all alike. In each it moves
    bytes and computes in the proportion in which the programs keep disks and processors busy on
    the policy's allotment. The mesh has an I/O node for each disk, or one on every row that stands
    for several disks. A burst is `TrialPlan.packets` packets from each node to each I/O node of
    its partition, and a cycle of the mesh stands for so much time that the disks are busy as long
    as in the programs; how contention changes with more packets is not looked at.
    """
    plan = scenario.trial
    if plan is None:
        return ()
    asked = [_task(scenario, plan, policy, place) for place, policy in enumerate(plan.policies)]
    found = parallel_map(
        try_on_mesh,
        [task for task, _ in asked],
        workers=workers,
        executor=executor,
        progress=progress,
        what="on the mesh",
    )
    return tuple(
        MeshTrial(
            policy,
            plan.strategy,
            task,
            answer,
            cycle,
            _own_prediction(scenario, policy, answer.chain.arrival_rate / cycle),
        )
        for policy, (task, cycle), answer in zip(plan.policies, asked, found, strict=True)
    )


def check_trial(scenario: Scenario) -> None:
    """ScenarioError if a study's trial cannot be made; seconds before rather than minutes after."""
    if scenario.trial is not None:
        for place, policy in enumerate(scenario.trial.policies):
            _task(scenario, scenario.trial, policy, place)


def _task(scenario: Scenario, plan: TrialPlan, policy: AbstractPolicy, place: int) -> tuple[MeshTask, float]:
    """What is asked of the mesh for a policy, and seconds that a cycle stands for."""
    key = f"trial.policies[{place}]"
    system, program = scenario.system, scenario.program
    io_nodes = min(system.disks, plan.rows)
    if system.disks % io_nodes:
        why = f"{system.disks} disks cannot be spread evenly over the I/O nodes of {plan.rows} rows"
        _refuse(scenario, "machine.mesh", f"{why}; give a number of rows that divides them")
    arrangement = policy.arrangement(system)
    if arrangement.overheads:
        _refuse(scenario, key, f"{policy.label}: the trial divides processors in no time")
    p, d = policy.allotment(system)
    # Disk-seconds of a job that keeps its disks busy: of the number of them that costs least.
    disks = np.arange(1, system.disks + 1, dtype=float)
    disk_work = float(np.min(disks * program.mean_io(float(system.processors), disks)))
    if disk_work <= 0.0:
        _refuse(scenario, key, "the programs transfer nothing, so that no link matters")
    phases = max(1, round(float(program.mean_phases)))
    group = max(1, io_nodes // arrangement.disk_partitions)
    flits = plan.packets * PACKET * p * group
    law, _ = demand_law(policy, system, scenario.workload)
    try:
        cell = Cell.of(
            rows=plan.rows,
            columns=plan.columns,
            strategy=plan.strategy,
            policy=policy,
            cpu_to_io=p * float(program.mean_cpu(p, d)) / system.processors * system.disks / disk_work,
            io_flits=flits,
            phases=phases,
            demand_scv=law.scv,
            min_processors=system.min_processors,
            io_nodes=io_nodes,
        )
    except ModelError as error:
        _refuse(scenario, "machine.strategy" if "strategy" in str(error) else key, str(error))
    cycle = disk_work / system.disks / (phases * flits * DISK_PACE / io_nodes)
    task = MeshTask(cell, plan.capacity_fraction, plan.replications, plan.jobs, scenario.seed)
    return task, cycle


def _refuse(scenario: Scenario, key: str, why: str) -> NoReturn:
    raise ScenarioError(str(scenario.path), [(key, why)])


def _own_prediction(scenario: Scenario, policy: AbstractPolicy, rate: float) -> float:
    """What the study predicts by the programs' own times at a rate of Poisson arrivals."""
    poisson = replace(scenario.workload, arrivals=PhaseType.exponential(mean=1.0))
    try:
        return predict(
            policy, scenario.system, poisson, arrival_rate=rate, model=scenario.model
        ).mean_response
    except UnstableError:
        return float("inf")
