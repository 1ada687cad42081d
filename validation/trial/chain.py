"""The chain of approximations from the analytic model to the mesh machine, each switched alone.

`try_on_mesh` does all that a study asks of the mesh for one policy.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from phasefit import PhaseType
from phasefit.arrays import Array
from phasefit.records import Result
from qmodels.errors import MemoryBudgetError, ModelError, UnstableError
from qmodels.policies import SpeedTable, Workload, predict
from qmodels.programs import Geometric, Phase, Program
from qmodels.progress import Progress, no_progress
from validation.analysis.estimates import Estimate
from validation.analysis.seeding import stream, word
from validation.sharing.event_loop import play_jobs
from validation.sharing.layout import layout
from validation.trial.agreement import Cause
from validation.trial.bursts import MeasuredProgram, alone, workload
from validation.trial.loss_run import loss_run
from validation.trial.machine import play_cell
from validation.trial.replications import (
    TrialPoint,
    control_mean,
    controlled,
    drawn,
    speed_scaled_responses,
)
from validation.trial.scenario import Cell
from validation.trial.shared_queue import ShareFactor, corrected_response, share_factor, speeds_at

if TYPE_CHECKING:
    import pandas as pd

#: Simulated stages from the model's own assumptions to the machine, and what each step adds.
SIMULATED: Final = {
    "M0": "job-level simulation of the model's own assumptions",
    "S1": "mesh machine, infinite links, disks by processor sharing",
    "S2": "S1 with packets at the disks in order of arrival",
    "S3": "S2 with links, a copy for each job: contention inside a job",
    "S4": "everything: jobs share the links",
}
#: What each step from one simulated stage to the next is.
STEPS: Final = {
    "S1": "bytes in whole flits and an exchange of packets",
    "S2": "order of service at the disks",
    "S3": "link contention inside a job",
    "S4": "link contention between jobs",
}
#: What each stage and prediction of a figure is, in the few words that it has room for.
_IN_SHORT: Final = {
    "M0": "the model's\nassumptions",
    "S1": "whole\nflits",
    "S2": "order at\nthe disks",
    "S3": "links, each\njob alone",
    "S4": "links,\nall jobs",
}
_LINES: Final = {"M3": "without links", "M3'": "a job alone", "X": "after calibration"}
#: Stages beside the chain.
BESIDE: Final = {
    "S3'": "job-level simulation with bursts as measured alone on the mesh",
}
PREDICTED: Final = {
    "M1": "exact chain, exponential bursts, geometric number of phases",
    "M2": "decomposition, of the same bursts",
    "M3": "speed-scaled model, bursts alone on infinite links",
    "M3'": "speed-scaled model, bursts as measured alone on the mesh (uncorrected)",
    "X": "speed-scaled model at the speeds and shares of the loss run (corrected)",
}
_MACHINE: Final = {
    "S1": ("infinite", "ps"),
    "S2": ("infinite", "packets"),
    "S3": ("private", "packets"),
    "S4": ("shared", "packets"),
}
#: Jobs of a start of the loss run, at least, and for each pair of numbers of running jobs: the
#: machine wanders through them all.
_LEAST_JOBS, _JOBS_EACH_PAIR = 40, 2


@dataclass(frozen=True, eq=False)
class Chain(Result):
    """Mean response of every stage at one load, in cycles."""

    label: str
    arrival_rate: float
    simulated: dict[str, Estimate]  #: by stage, of `SIMULATED` and `BESIDE`
    predicted: dict[str, float]  #: by stage, of `PREDICTED`; infinite where it is not stable
    missing: dict[str, str]  #: stages that could not be computed, and why
    #: paired differences of each simulated stage of the chain from the one before it
    steps: dict[str, Estimate]

    def to_frame(self) -> pd.DataFrame:
        """One row for each stage: mean, interval, and relative to everything (S4)."""
        import pandas as pd

        whole, rows = self.simulated["S4"].mean, []
        for name, text in (PREDICTED | SIMULATED | BESIDE).items():
            if name in self.predicted:
                mean, half = self.predicted[name], 0.0
            elif name in self.simulated:
                mean, half = self.simulated[name].mean, self.simulated[name].half_width
            else:
                rows.append((name, text, np.nan, np.nan, np.nan, self.missing.get(name, "")))
                continue
            rows.append((name, text, mean, half, mean / whole, ""))
        columns = ["stage", "what", "mean_response", "half_width", "relative", "missing"]
        return pd.DataFrame(rows, columns=columns)

    def causes(self) -> tuple[Cause, ...]:
        """What each step from the model's own assumptions to the machine adds to the response."""
        return tuple(Cause(STEPS[name], step) for name, step in self.steps.items())

    def plot(self, ax: Any = None, *, seconds: float | None = None) -> Any:
        """Draw the waterfall from the model to the machine, in cycles or seconds of so long."""
        from validation.trial.plotting import draw_waterfall

        unit = 1.0 if seconds is None else seconds
        stages = [
            (f"{name}\n{_IN_SHORT[name]}", at.mean * unit, at.half_width * unit)
            for name in SIMULATED
            for at in [self.simulated[name]]
        ]
        lines = [
            (f"{name}, {words}", self.predicted[name] * unit)
            for name, words in _LINES.items()
            if name in self.predicted
        ]
        words = "cycles" if seconds is None else "s"
        return draw_waterfall(self.label, stages, lines, ax, unit=words)


def approximation_chain(
    cell: Cell,
    arrival_rate: float,
    speeds: SpeedTable,
    *,
    replications: int = 8,
    jobs: int = 400,
    warm_up: int = 100,
    seed: int = 0,
    factor: ShareFactor | None = None,
    progress: Progress = no_progress,
) -> Chain:
    """Switch the approximations one by one, on the same jobs.

    Parameters
    ----------
    cell : Cell
    arrival_rate : float
        Jobs per cycle.
    speeds : SpeedTable
        Of a loss run: for the corrected prediction, and for the control variate of all stages.
    replications, jobs, warm_up, seed
        Of the simulated stages; at least 4 replications.
    factor : ShareFactor, optional
        Of `share_factor`, for the corrected prediction: which of the running jobs get on. None for
        equal shares.
    progress : callable
        Called as ``progress("chain", done, replications)``.

    Returns
    -------
    Chain

    Raises
    ------
    UnstableError
        If the arrival rate is beyond the capacity that `speeds` states.

    Notes
    -----
    Common random numbers: all stages meet the same arrivals and demands, so a step is known better
    than either of its ends. M0 and S1 are two programs for one model, so their difference is to
    contain zero but for rounding to flits: the check of the whole. M1 and M2 need bursts with laws
    of their own, and are of another law of demand than the rest; see `PREDICTED`.
    """
    rows: dict[str, list[float]] = {}
    controls: list[float] = []
    known = control_mean(cell, speeds.throughput, arrival_rate)
    point = TrialPoint(cell=cell, arrival_rate=arrival_rate, jobs=jobs, warm_up=warm_up, seed=seed)
    inside = point.measured
    for replication in range(replications):
        arrival, demand = point.jobs_of(replication)
        control = speed_scaled_responses(speeds.throughput, arrival, demand)[inside].mean()
        controls.append(float(control))
        for name in (*SIMULATED, *BESIDE):
            response = stage_responses(
                cell, name, arrival, demand, word(seed, "trial", replication), awaited=inside.stop
            )
            rows.setdefault(name, []).append(float(response[inside].mean()))
        progress("chain", replication + 1, replications)
    steps, names = {}, list(SIMULATED)
    for before, after in pairwise(names):
        paired = np.array(rows[after]) - np.array(rows[before])
        steps[after] = controlled(paired, controls, known)[0]
    predicted, missing = _predictions(cell, arrival_rate, speeds, factor)
    return Chain(
        cell.label,
        arrival_rate,
        {name: controlled(values, controls, known)[0] for name, values in rows.items()},
        predicted,
        missing,
        steps,
    )


def stage_responses(
    cell: Cell, stage: str, arrival: Array, demand: Array, seed: int, *, awaited: int
) -> Array:
    """Play given jobs in one stage of the chain.

    Parameters
    ----------
    cell : Cell
    stage : str
        One of `SIMULATED` or `BESIDE`.
    arrival, demand : (jobs,) ndarray
        Cycles, and factors of demand.
    seed : int
    awaited : int
        The run may end when so many jobs, the first to come, have left.

    Returns
    -------
    (jobs,) ndarray
        Response times in cycles; NaN, perhaps, of jobs after the awaited ones.
    """
    if stage in _MACHINE:
        links, disks = _MACHINE[stage]
        # Jobs that come later load the machine, but nobody asks for their own responses.
        played = play_cell(cell, arrival, demand, seed=seed, awaited=awaited, links=links, disks=disks)
        return played.response
    links = "infinite" if stage == "M0" else "finite"
    bursts = alone(cell, cell.partitions, links)
    # Every burst grows with the job's whole time, which is not quite in proportion to its factor.
    fixed = (bursts.io.fixed + bursts.cpu.fixed) * cell.shape.phases / bursts.job(cell.shape.phases)
    factor = np.maximum(fixed + (1.0 - fixed) * demand, 1e-9)
    plan = layout(cell.policy, cell.system, MeasuredProgram(cell, links).phase_times)
    pauses = np.empty((len(plan.pauses), 2 * arrival.size))
    for row, law in enumerate(plan.pauses):
        pauses[row] = law.rvs(pauses.shape[1], random_state=stream(seed, "overheads", row))
    work = drawn(arrival, factor, cell.shape.phases, pauses)
    return play_jobs(plan, work, arrival, (0, arrival.size)).response


def _predictions(
    cell: Cell, rate: float, speeds: SpeedTable, factor: ShareFactor | None
) -> tuple[dict[str, float], dict[str, str]]:
    """What the models say, and which of them say nothing."""
    bursts = alone(cell, cell.partitions, "infinite")
    ask = partial(predict, cell.policy, cell.system, arrival_rate=rate)
    found: dict[str, float] = {}
    missing: dict[str, str] = {}
    plain, measured = workload(cell, "infinite"), workload(cell)
    calls: dict[str, Callable[[], float]] = {
        "M3": lambda: ask(plain).mean_response,
        "M3'": lambda: ask(measured).mean_response,
        "X": lambda: corrected_response(cell, speeds, rate, factor).mean,
    }
    if cell.repartitioned:
        missing |= dict.fromkeys(("M1", "M2"), "bursts with laws were measured on one size only")
    else:
        p, d = float(cell.nodes_of(1)), cell.arrangement.disks
        phase = Phase(io=bursts.io.at(1.0) * d, cpu=bursts.cpu.at(1.0) * p)
        program = Program([phase], phase_count=Geometric(max(cell.shape.phases, 1)))
        one = PhaseType.exponential(mean=1.0)
        random = Workload(program, io_bursts=one, cpu_bursts=one)
        calls["M1"] = lambda: ask(random, model="exact").mean_response
        calls["M2"] = lambda: ask(random, model="decomposition").mean_response
    for name, call in calls.items():
        try:
            found[name] = call()
        except UnstableError:
            found[name] = float("inf")
        except (MemoryBudgetError, ModelError) as error:
            missing[name] = str(error)
    return found, missing


@dataclass(frozen=True)
class MeshTask:
    """What is asked of the mesh for one policy: a task for a process."""

    cell: Cell
    fraction: float  #: of the capacity measured there
    replications: int
    jobs: int
    seed: int


@dataclass(frozen=True, eq=False)
class MeshFound:
    """What the mesh answered; times in cycles."""

    speeds: SpeedTable  #: of the loss run, at the load of interest
    chain: Chain
    corrected: float
    corrected_half_width: float
    seconds_loss_run: float  #: of a processor
    seconds_simulated: float  #: of a processor, all stages


def try_on_mesh(task: MeshTask) -> MeshFound:
    """Measure the speeds of running jobs, predict with them, and simulate every stage."""
    cell = task.cell
    jobs = max(_LEAST_JOBS, task.jobs, _JOBS_EACH_PAIR * cell.most_running**2)
    run = loss_run(cell, starts=task.replications, jobs=jobs, seed=task.seed)
    rate = task.fraction * float(run.table.throughput[-1])
    speeds = speeds_at(cell, run.table, rate, float(run.rates[0]))
    factor = share_factor(cell, speeds.throughput, run.shares, rate)
    began = time.thread_time()
    chain = approximation_chain(
        cell,
        rate,
        speeds,
        replications=task.replications,
        jobs=task.jobs,
        warm_up=max(5, task.jobs // 4),
        seed=task.seed,
        factor=factor,
    )
    spent = time.thread_time() - began
    corrected = corrected_response(cell, speeds, rate, factor)
    return MeshFound(speeds, chain, corrected.mean, corrected.half_width, run.seconds, spent)
