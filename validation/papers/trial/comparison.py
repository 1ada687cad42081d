"""Cells of the trial: predicted, corrected and simulated side by side, and judged.

Speeds, replications and predictions are tasks of their own, each a function of plain records at the
top of this module: so they may run anywhere, and be kept and taken up again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from phasefit.arrays import Array
from phasefit.records import Record
from qmodels.errors import UnstableError
from qmodels.policies import SpeedTable, predict
from qmodels.policies.prediction import CONFIDENCE, Prediction
from qmodels.progress import Progress, no_progress
from validation.allocation.base import find_strategy
from validation.analysis.estimates import estimate
from validation.analysis.seeding import stream
from validation.papers.trial.link_speeds import link_speeds
from validation.papers.trial.orders import (
    Undecided,
    groups,
    mean_sign,
    mean_tau,
    pairs_of,
    undecided,
)
from validation.sweeps.executors import parallel_map
from validation.trial.arrangements import (
    ARRANGEMENTS,
    FrozenSpeeds,
    arrangement_lasts,
    frozen_speeds,
    with_arrangements,
)
from validation.trial.bursts import workload
from validation.trial.loss_run import STARTS, WAITING, loss_run, model_error, speeds_of_parts
from validation.trial.replications import (
    JOBS,
    WARM_UP,
    Replication,
    TrialPoint,
    control_mean,
    controlled,
    run_one,
)
from validation.trial.scenario import Cell
from validation.trial.shared_queue import (
    ShareFactor,
    corrected_response,
    share_factor,
    shared_responses,
    speeds_at,
)
from validation.trial.size_shares import SizeShares, shares_of_parts

if TYPE_CHECKING:
    import pandas as pd

#: Seed and share of the cells that no decision may look at; see `kept_out`.
KEPT_OUT_SEED, KEPT_OUT_SHARE = 20260, 0.25
#: What `cause_of` says.
NOISE: Final = "within both intervals"
SPEEDS: Final = "speeds in the queue other than in the loss run"
SHARES: Final = "no mean of speeds: some jobs get on faster, or an arrangement stays"
#: What `acceptance` asks of corrected predictions (specification of the trial, section 5).
MEDIAN, NINE_TENTHS, WORST, COVERAGE, TAU = 0.02, 0.06, 0.12, 0.85, 0.9


def kept_out(names: Sequence[str]) -> list[bool]:
    """Which cells are kept out of all tuning: a quarter, drawn by their names alone.

    The rule was written before the first cell was run: a cell is kept out if the first uniform
    variate of the stream that its name keys is below `KEPT_OUT_SHARE`. So no cell changes sides
    when others are added.
    """
    return [bool(stream(KEPT_OUT_SEED, name).random() < KEPT_OUT_SHARE) for name in names]


@dataclass(frozen=True, kw_only=True)
class SpeedTask(Record):
    """What is asked of the loss run of a cell."""

    cell: Cell
    starts: int = STARTS
    loss_jobs: int | None = None
    seed: int = 0
    arrangements: int = 0  #: of a full machine that are measured too; 0 for none


@dataclass(frozen=True, eq=False)
class MeasuredSpeeds(Record):
    """What was measured of a cell: a loss run in its parts, the loads of links, and the costs."""

    parts: Array
    part_scores: Array
    jobs: int
    seconds: float  #: of a processor
    by_loads: SpeedTable  #: what the loads of links alone say, see `link_speeds`
    seconds_link_loads: float
    frozen: FrozenSpeeds | None = None

    @property
    def table(self) -> SpeedTable:
        """The speeds of k running jobs, those of a full machine by arrangement where measured."""
        table = speeds_of_parts(self.parts, f"loss run of {len(self.parts)} starts")
        return table if self.frozen is None else with_arrangements(table, self.frozen)

    @property
    def shares(self) -> SizeShares:
        """By what power of their demand the running jobs share those speeds."""
        return shares_of_parts(self.part_scores)


@dataclass(frozen=True, eq=False)
class RowTask(Record):
    """All that a row of the comparison is made of."""

    point: TrialPoint
    load: float
    speeds: MeasuredSpeeds
    runs: list[Replication]


def compare_predictions(
    cell: Cell,
    strategies: Sequence[str],
    loads: Sequence[float],
    *,
    replications: int = 8,
    jobs: int = JOBS,
    warm_up: int = WARM_UP,
    starts: int = STARTS,
    loss_jobs: int | None = None,
    most: int = 1,
    seed: int = 0,
    workers: int | None = 1,
    executor: Executor | None = None,
    progress: Progress = no_progress,
) -> pd.DataFrame:
    """Predict and simulate one cell under several strategies and loads.

    Parameters
    ----------
    cell : Cell
        Its own strategy plays no part.
    strategies : sequence of str
    loads : sequence of float
        Arrival rates over the smallest corrected capacity among the strategies.
    replications, jobs, warm_up
        Of each simulated point.
    starts, loss_jobs
        Of each loss run.
    most : int
        By how many times replications and starts may grow for strategies whose order is open, in
        steps of two; see `validation.papers.trial.orders.undecided`. With 1 they stay as they are.
    seed : int
    workers, executor
        Who does the loss runs, the replications and the predictions; see
        `validation.sweeps.executors`. One that remembers lets a comparison go on where it was
        broken off.
    progress : callable
        Called as ``progress("loss runs", done, total)``, and so for "runs" and "predictions".

    Returns
    -------
    DataFrame
        One row for each strategy and load, see the reference page; "values" holds what each
        replication found, for paired differences.
    """
    import pandas as pd

    spread = partial(parallel_map, workers=workers, executor=executor, progress=progress)
    cells = {name: cell.with_options(strategy=find_strategy(name)) for name in strategies}
    many = ARRANGEMENTS if arrangement_lasts(cell) else 0

    def measure(count: dict[str, int]) -> dict[str, MeasuredSpeeds]:
        ask = partial(SpeedTask, loss_jobs=loss_jobs, seed=seed, arrangements=many)
        tasks = [ask(cell=cells[name], starts=n) for name, n in count.items()]
        return dict(zip(count, spread(measured_speeds, tasks, what="loss runs"), strict=True))

    speeds = measure(dict.fromkeys(cells, starts))
    # Where arrangements stay, the capacity is that of the slowest. Rates stay those of the first
    # loss runs, so that what was simulated goes on being of use.
    least = min(each.table.capacity for each in speeds.values())
    at = partial(TrialPoint, jobs=jobs, warm_up=warm_up, seed=seed)
    places = [(load, name) for load in loads for name in cells]
    points = [at(cell=cells[name], arrival_rate=load * least) for load, name in places]
    runs: list[list[Replication]] = [[] for _ in points]
    wanted, times = dict.fromkeys(range(len(points)), replications), 1
    changed, rows = set(wanted), dict[int, dict[str, Any]]()
    while True:
        tasks = [(n, r) for n, count in wanted.items() for r in range(len(runs[n]), count)]
        found = spread(replicated, [(points[n], r) for n, r in tasks], what="runs")
        for (n, _), run in zip(tasks, found, strict=True):
            runs[n].append(run)
        asked = {n: RowTask(points[n], places[n][0], speeds[places[n][1]], runs[n]) for n in changed}
        rows |= zip(asked, spread(compared, list(asked.values()), what="predictions"), strict=True)
        frame = pd.DataFrame([rows[n] for n in range(len(points))])
        times *= 2
        more = undecided(frame) if times <= most else Undecided((), ())
        if not (more.simulated or more.predicted):
            return frame
        wanted = {n: 2 * len(runs[n]) for n in more.simulated}
        count = {name: 2 * len(speeds[name].parts) for name in more.predicted}
        speeds |= measure(count)
        changed = {n for n, (_, name) in enumerate(places) if n in wanted or name in count}


def measured_speeds(task: SpeedTask) -> MeasuredSpeeds:
    """Measure the speeds of a cell by a loss run and by link loads, and of arrangements where asked.

    With arrangements the loss run is a strict one: waiting would count slow ones for longer, and so
    does the queue of several.
    """
    cell, jobs, seed = task.cell, task.loss_jobs, task.seed
    many, waiting = task.arrangements, 0.0 if task.arrangements else WAITING
    run = loss_run(cell, starts=task.starts, jobs=jobs, waiting=waiting, seed=seed)
    began, frozen = time.process_time(), None
    if many:
        few = None if jobs is None else max(jobs // 4, 1)
        frozen = frozen_speeds(cell, arrangements=many, jobs=few, seed=seed)
    seconds = run.seconds + time.process_time() - began
    return MeasuredSpeeds(run.parts, run.part_scores, run.jobs, seconds, *link_speeds(cell), frozen)


def replicated(task: tuple[TrialPoint, int]) -> Replication:
    """Simulate a replication of a point; both are one argument."""
    return run_one(*task)


def compared(task: RowTask) -> dict[str, Any]:
    """Predict one strategy at one load, and hold the prediction against its replications."""
    point, loss, runs = task.point, task.speeds, task.runs
    cell, rate, table = point.cell, point.arrival_rate, loss.table
    # under TS every loss run is a queue
    table = speeds_at(cell, table, rate, WAITING * float(table.throughput[-1]))
    ask = partial(predict, cell.policy, cell.system, workload(cell), arrival_rate=rate)
    began = time.process_time()
    factor = _factor(cell, table, loss.shares, rate)
    corrected, width = _corrected(cell, table.less_sure(model_error(cell)), rate, factor)
    once = time.process_time() - began
    known_spread = replace(table, degrees_of_freedom=float("inf"))
    _, own = _corrected(cell, table, rate, factor)
    _, noise = _corrected(cell, known_spread, rate, factor)
    equal = _corrected(cell, table, rate, None)[0]
    seen = observed_speeds(runs, table.throughput)
    plain, by_loads = (_answer(ask, speeds)[0] for speeds in (None, loss.by_loads))
    at_seen = _corrected(cell, SpeedTable(seen), rate, factor)[0]
    responses = [run.response for run in runs]
    known = control_mean(cell, table.throughput, rate)
    simulated, values = controlled(
        responses,
        _controls(point, table, loss.shares.powers, len(runs)),
        known * factor.mean,
        known_error=factor.played_error * known,
    )
    raw = estimate(responses)
    mean, half = simulated.mean, simulated.half_width
    error = corrected / mean - 1.0
    within = abs(error) * mean <= float(np.hypot(width, half))
    return {
        "cell": cell.name,
        "policy": cell.policy.label,
        "strategy": cell.strategy.name,
        "load": task.load,
        "rho": rate / table.throughput[-1],
        "arrival_rate": rate,
        "simulated": mean,
        "half_width": half / mean,
        "half_width_raw": raw.half_width / raw.mean,
        "corrected": corrected,
        "corrected_half_width": width / mean,
        "measured_half_width": own / mean,
        "noise": float(np.hypot(noise / known_spread.quantile(CONFIDENCE), simulated.standard_error)) / mean,
        "slope": slope_of(ask, table, rate),
        "error": error,
        "share_factor": factor.mean,
        "share_error": factor.standard_error,
        "error_equal_shares": equal / mean - 1.0,
        "error_uncorrected": plain / mean - 1.0,
        "error_link_loads": by_loads / mean - 1.0,
        "error_seen_speeds": at_seen / mean - 1.0,
        "covers": abs(error) * mean <= width < float("inf"),  # which would say nothing
        "within_both": within,
        "cause": cause_of(error, at_seen / mean - 1.0, within),
        "jobs": sum(run.jobs for run in runs),
        "loss_jobs": loss.jobs,
        "seconds_simulation": sum(run.seconds for run in runs),
        "seconds_loss_run": loss.seconds,
        "seconds_prediction": once,
        "seconds_link_loads": loss.seconds_link_loads,
        "values": values.tolist(),
    }


def _controls(point: TrialPoint, table: SpeedTable, powers: Array, count: int) -> Array:
    """Mean response of the queue by speeds and shares on the jobs of each replication, (count,)."""
    arrival, demand = np.stack([point.jobs_of(replication) for replication in range(count)], 1)
    played = shared_responses(table.throughput, powers, arrival, demand)
    means: Array = played[:, point.measured].mean(axis=1)
    return means


def _answer(ask: Callable[..., Prediction], running: SpeedTable | Array | None) -> tuple[float, float]:
    """Mean response and its half-width; infinite where there is no steady state."""
    try:
        made = ask(running=running)
    except UnstableError:
        return float("inf"), float("inf")
    return made.mean_response, made.half_width or 0.0


def _factor(cell: Cell, table: SpeedTable, shares: SizeShares, rate: float) -> ShareFactor:
    """What the shares make of a response; nothing is claimed where there is no steady state."""
    if rate >= table.throughput[-1]:
        return ShareFactor(1.0, 0.0)
    return share_factor(cell, table.throughput, shares, rate)


def _corrected(cell: Cell, table: SpeedTable, rate: float, factor: ShareFactor | None) -> tuple[float, float]:
    """Mean response by speeds and shares, and its half-width; infinite without a steady state."""
    try:
        return corrected_response(cell, table, rate, factor)
    except UnstableError:
        return float("inf"), float("inf")


def slope_of(ask: Callable[..., Prediction], table: SpeedTable, rate: float) -> float:
    """By how much a share of all speeds changes a share of the mean response; 0 if it has none."""
    step = min(1e-4, 0.5 * (1.0 - rate / float(table.throughput[-1] * table.factors.min())))
    if step <= 0.0:
        return 0.0
    known = replace(table, covariance=None)
    fast, slow = (
        _answer(ask, replace(known, throughput=table.throughput * (1.0 + sign * step)))[0] for sign in (1, -1)
    )
    return float(np.log(slow / fast) / (2.0 * step))


def observed_speeds(runs: Sequence[Replication], known: Array) -> Array:
    """Speeds of k running jobs in the replications themselves, (c,).

    Where k was hardly ever seen, in less than a thousandth of the time, those that are known.
    """
    done: Array = sum(run.done for run in runs)  # type: ignore[assignment]
    spent: Array = sum(run.cycles for run in runs)  # type: ignore[assignment]
    enough = (spent > 1e-3 * spent.sum()) & (done > 0.0)
    return np.where(enough, done / np.maximum(spent, 1.0), known)


def cause_of(error: float, at_seen_speeds: float, within: bool) -> str:
    """Why a corrected prediction is off, as far as the runs themselves tell.

    The prediction is made again at the speeds that were seen in the queue. What that mends came
    from the speeds; what it does not, from how the running jobs share them.

    Examples
    --------
    >>> cause_of(-0.2, -0.02, False)
    'speeds in the queue other than in the loss run'
    >>> cause_of(-0.06, -0.05, False)
    'no mean of speeds: some jobs get on faster, or an arrangement stays'
    """
    if within:
        return NOISE
    return SPEEDS if abs(at_seen_speeds) <= 0.5 * abs(error) else SHARES


def acceptance(frame: pd.DataFrame) -> dict[str, float]:
    """What the specification asks of corrected predictions, measured on rows of a comparison.

    Returns
    -------
    dict
        "median", "nine_tenths" and "worst" of the absolute errors; "coverage", the share of rows
        whose predicted interval holds the simulated mean; "tau", the mean rank correlation of the
        strategies over cells and loads; "separable" pairs, and how many of them are "ordered"
        right. A pair is separable if its simulated difference is beyond its paired interval and
        3 %. "unknown" pairs are those whose simulated difference is within that interval, so that
        the simulation does not say which is the faster; with all of these ordered wrongly and all
        rightly the mean tau is "tau_least" and "tau_most". "tau_known" is that of the others.
    """
    errors = frame["error"].abs().to_numpy()
    pairs = [pair for group in groups(frame) for pair in pairs_of(group)]
    separable = [pair for pair in pairs if pair.known and pair.apart]
    return {
        "rows": float(len(frame)),
        "median": float(np.median(errors)),
        "nine_tenths": float(np.quantile(errors, 0.9)),
        "worst": float(errors.max()),
        "coverage": float(frame["covers"].mean()),
        "tau": mean_tau(frame),
        "tau_known": mean_sign(frame, lambda pair: pair.sign if pair.known else 0),
        "tau_least": mean_sign(frame, lambda pair: pair.sign if pair.known else -1),
        "tau_most": mean_sign(frame, lambda pair: pair.sign if pair.known else 1),
        "pairs": float(len(pairs)),
        "unknown": float(sum(not pair.known for pair in pairs)),
        "separable": float(len(separable)),
        "ordered": float(sum(pair.sign > 0 for pair in separable)),
    }
