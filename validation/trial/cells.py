"""Cells of the trial: predicted, corrected and simulated side by side, and judged."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qmodels.errors import UnstableError
from qmodels.policies import SpeedTable, predict
from qmodels.policies.prediction import CONFIDENCE, Prediction
from qmodels.progress import Progress, no_progress
from validation.analysis.estimates import estimate
from validation.analysis.seeding import stream
from validation.sweeps.executors import parallel_map
from validation.trial.bursts import workload
from validation.trial.control import control_mean, controlled
from validation.trial.grid import load_points
from validation.trial.link_speeds import link_speeds
from validation.trial.loss_run import (
    STARTS,
    WAITING,
    arrangement_lasts,
    frozen_speeds,
    loss_run,
)
from validation.trial.model_error import model_error
from validation.trial.replications import JOBS, WARM_UP, cell_of, run_one
from validation.trial.scenario import Cell
from validation.trial.shared_queue import ShareFactor, corrected_response, share_factor
from validation.trial.size_shares import SizeShares, shares_of_scores
from validation.trial.speed_estimates import speeds_of_runs

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]

#: Seed and share of the cells that no decision may look at; see `kept_out`.
KEPT_OUT_SEED, KEPT_OUT_SHARE = 20260, 0.25
#: What `cause_of` says.
NOISE: Final = "within both intervals"
SPEEDS: Final = "speeds in the queue other than in the loss run"
SHARES: Final = "no mean of speeds: some jobs get on faster, or an arrangement stays"
#: What `acceptance` asks of corrected predictions (specification of the trial, section 5).
MEDIAN, NINE_TENTHS, WORST, COVERAGE, TAU, SEPARABLE = 0.02, 0.06, 0.12, 0.85, 0.9, 0.03


def kept_out(names: Sequence[str]) -> list[bool]:
    """Which cells are kept out of all tuning: a quarter, drawn by their names alone.

    The rule was written before the first cell was run: a cell is kept out if the first uniform
    variate of the stream that its name keys is below `KEPT_OUT_SHARE`. So no cell changes sides
    when others are added.
    """
    return [bool(stream(KEPT_OUT_SEED, name).random() < KEPT_OUT_SHARE) for name in names]


def compare_strategies(
    given: Mapping[str, Any],
    strategies: Sequence[str],
    loads: Sequence[float],
    *,
    replications: int = 8,
    jobs: int = JOBS,
    warm_up: int = WARM_UP,
    starts: int = STARTS,
    loss_jobs: int | None = None,
    seed: int = 0,
    workers: int | None = 1,
    executor: Executor | None = None,
    progress: Progress = no_progress,
) -> pd.DataFrame:
    """Predict and simulate one cell under several strategies and loads.

    Parameters
    ----------
    given : mapping
        Arguments of `Cell.of` but the strategy, plain data.
    strategies : sequence of str
    loads : sequence of float
        Arrival rates over the smallest corrected capacity among the strategies.
    replications, jobs, warm_up
        Of each simulated point.
    starts, loss_jobs
        Of each loss run.
    seed : int
    workers, executor
        Who does the loss runs and the replications; see `validation.sweeps.executors`. One that
        remembers lets a comparison go on where it was broken off.
    progress : callable
        Called as ``progress("loss runs", done, total)`` and ``progress("runs", done, total)``.

    Returns
    -------
    DataFrame
        One row for each strategy and load, see the reference page; "values" holds what each
        replication found, for paired differences.
    """
    import pandas as pd

    spread = partial(parallel_map, workers=workers, executor=executor, progress=progress)
    asked = [
        {**given, "strategy": name, "starts": starts, "loss_jobs": loss_jobs, "seed": seed}
        for name in strategies
    ]
    measured = spread(measured_speeds, asked, what="loss runs")
    tables = {name: _table(found) for name, found in zip(strategies, measured, strict=True)}
    points = load_points(given, tables, loads, jobs=jobs, warm_up=warm_up, seed=seed)
    tasks = [(point, replication) for point in points for replication in range(replications)]
    found = spread(_replicated, tasks, what="runs")
    loss = dict(zip(strategies, measured, strict=True))
    rows = []
    for number, point in enumerate(points):
        name, load = point["strategy"], loads[number // len(strategies)]
        runs = found[number * replications : (number + 1) * replications]
        rows.append(_row(point, tables[name], load, runs, loss[name]))
    return pd.DataFrame(rows)


def measured_speeds(asked: Mapping[str, Any]) -> dict[str, Any]:
    """What a loss run of a cell given as plain data did, each (starts, c, ...), and what it cost.

    Where an arrangement lasts for a busy period several are measured, (E,), as "frozen". The loss
    run is then a strict one: waiting would count slow arrangements for longer, and so does the
    queue of several.
    """
    own = {name: asked[name] for name in ("starts", "loss_jobs", "seed")}
    cell = cell_of({name: value for name, value in asked.items() if name not in own})
    lasting, jobs, seed = arrangement_lasts(cell), own["loss_jobs"], own["seed"]
    run = loss_run(
        cell, starts=own["starts"], jobs=jobs, waiting=0.0 if lasting else WAITING, seed=seed
    )
    found = {"work": run.work, "spans": run.spans, "scores": run.scores}
    found = {name: value.tolist() for name, value in found.items()}
    if lasting:
        began = time.process_time()
        half = None if jobs is None else jobs // 2
        found["frozen"] = frozen_speeds(cell, jobs=half, seed=seed).tolist()
        return {**found, "jobs": run.jobs, "seconds": run.seconds + time.process_time() - began}
    return {**found, "jobs": run.jobs, "seconds": run.seconds}


def _table(found: Mapping[str, Any]) -> SpeedTable:
    """The speeds of what `measured_speeds` returned."""
    source = f"loss run of {len(found['work'])} starts"
    table = speeds_of_runs(found["work"], found["spans"], source)
    return replace(table, frozen=found["frozen"]) if "frozen" in found else table


def _replicated(task: tuple[Mapping[str, Any], int]) -> dict[str, float]:
    return run_one(*task)


def _row(
    point: Mapping[str, Any],
    table: SpeedTable,
    load: float,
    found: Sequence[Mapping[str, float]],
    loss: Mapping[str, Any],
) -> dict[str, Any]:
    """Everything about one strategy at one load."""
    cell, rate = cell_of(point), float(point["arrival_rate"])
    work = workload(cell)
    ask = partial(predict, cell.policy, cell.system, work, arrival_rate=rate)
    began = time.process_time()
    factor = _factor(cell, table, shares_of_scores(loss["scores"]), rate)
    corrected, width = _corrected(cell, table.less_sure(model_error(cell)), rate, factor)
    once = time.process_time() - began
    _, own = _corrected(cell, table, rate, factor)
    equal = _corrected(cell, table, rate, None)[0]
    cheap, link_seconds = link_speeds(cell)
    seen = observed_speeds(found, table.throughput)
    plain, by_loads = (_answer(ask, speeds)[0] for speeds in (None, cheap))
    at_seen = _corrected(cell, SpeedTable(seen), rate, factor)[0]
    known = control_mean(cell, table.throughput, rate)
    responses = [row["response"] for row in found]
    simulated, values = controlled(responses, [row["control"] for row in found], known)
    raw = estimate(responses)
    mean, half = simulated.mean, simulated.half_width
    error = corrected / mean - 1.0
    within = abs(error) * mean <= float(np.hypot(width, half))
    return {
        "cell": cell_name(point), "policy": cell.policy.label, "strategy": cell.strategy.name,
        "load": load, "rho": rate / table.throughput[-1], "arrival_rate": rate,
        "simulated": mean, "half_width": half / mean, "half_width_raw": raw.half_width / raw.mean,
        "corrected": corrected, "corrected_half_width": width / mean,
        "measured_half_width": own / mean,
        "noise": float(np.hypot(own / table.quantile(CONFIDENCE), simulated.standard_error)) / mean,
        "slope": slope_of(ask, table, rate), "error": error,
        "share_factor": factor.mean, "share_error": factor.standard_error,
        "error_equal_shares": equal / mean - 1.0,
        "error_uncorrected": plain / mean - 1.0,
        "error_link_loads": by_loads / mean - 1.0,
        "error_seen_speeds": at_seen / mean - 1.0,
        "covers": abs(error) * mean <= width < float("inf"),  # which would say nothing
        "within_both": within,
        "cause": cause_of(error, at_seen / mean - 1.0, within),
        "jobs": int(sum(row["jobs"] for row in found)), "loss_jobs": int(loss["jobs"]),
        "seconds_simulation": sum(row["seconds"] for row in found),
        "seconds_loss_run": loss["seconds"],
        "seconds_prediction": once, "seconds_link_loads": link_seconds,
        "values": values.tolist(),
    }  # fmt: skip


def _answer(
    ask: Callable[..., Prediction], running: SpeedTable | Array | None
) -> tuple[float, float]:
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


def _corrected(
    cell: Cell, table: SpeedTable, rate: float, factor: ShareFactor | None
) -> tuple[float, float]:
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
        _answer(ask, replace(known, throughput=table.throughput * (1.0 + sign * step)))[0]
        for sign in (1, -1)
    )
    return float(np.log(slow / fast) / (2.0 * step))


def observed_speeds(found: Sequence[Mapping[str, float]], known: Array) -> Array:
    """Speeds of k running jobs in the replications themselves, (c,).

    Where k was hardly ever seen, in less than a thousandth of the time, those that are known.
    """
    numbers = range(1, known.size + 1)
    done, spent = (
        np.array([sum(row[f"{what}{k}"] for row in found) for k in numbers])
        for what in ("done", "time")
    )
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


def cell_name(point: Mapping[str, Any]) -> str:
    """Name of a cell without its strategy, which also decides whether it is kept out."""
    cell = cell_of(point)
    parts = [
        f"{cell.mesh.rows}x{cell.mesh.columns}", cell.policy.label,
        f"{point['cpu_to_io']:g}:1", f"N={cell.shape.phases}",
        f"scv={point.get('demand_scv', 1.0):g}", cell.shape.io,
    ]  # fmt: skip
    return " ".join([*parts, *([cell.disk] if cell.disk != "buffer" else [])])


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
    pairs = [pair for group in _groups(frame) for pair in _pairs(group)]
    separable = [pair for pair in pairs if pair.known and pair.apart]
    return {
        "rows": float(len(frame)),
        "median": float(np.median(errors)),
        "nine_tenths": float(np.quantile(errors, 0.9)),
        "worst": float(errors.max()),
        "coverage": float(frame["covers"].mean()),
        "tau": mean_tau(frame),
        "tau_known": _mean_sign(frame, lambda pair: pair.sign if pair.known else 0),
        "tau_least": _mean_sign(frame, lambda pair: pair.sign if pair.known else -1),
        "tau_most": _mean_sign(frame, lambda pair: pair.sign if pair.known else 1),
        "pairs": float(len(pairs)),
        "unknown": float(sum(not pair.known for pair in pairs)),
        "separable": float(len(separable)),
        "ordered": float(sum(pair.sign > 0 for pair in separable)),
    }


def mean_tau(frame: pd.DataFrame) -> float:
    """Rank correlation of simulated and corrected strategies, mean over cells and loads.

    Strategies that are equal on either side, such as two that place all jobs alike, count neither
    for nor against; NaN where nowhere two can be compared.
    """
    return _mean_sign(frame.assign(values=None), lambda pair: pair.sign)


class _Pair(NamedTuple):
    """Two strategies of one cell at one load that are not equal on either side."""

    sign: int  #: 1 if they are predicted in the order in which they are simulated, else -1
    known: bool  #: their simulated difference is beyond its paired interval
    apart: bool  #: and it is beyond 3 % of the faster


def _groups(frame: pd.DataFrame) -> list[list[dict[Any, Any]]]:
    """Rows of each cell and load."""
    groups = frame.groupby(["cell", "load"], sort=False)
    return [group.to_dict("records") for _, group in groups]


def _pairs(rows: Sequence[Mapping[Any, Any]]) -> list[_Pair]:
    """All pairs of strategies of a cell and load that can be compared."""
    found = []
    for one, other in combinations(rows, 2):
        measured = one["simulated"] - other["simulated"]
        sign = int(np.sign(one["corrected"] - other["corrected"]) * np.sign(measured))
        if not sign:
            continue
        known = True
        if one["values"] is not None:
            paired = estimate((np.array(one["values"]) - np.array(other["values"])).tolist())
            known = abs(measured) > paired.half_width
        least = SEPARABLE * min(one["simulated"], other["simulated"])
        found.append(_Pair(sign, known, abs(measured) > least))
    return found


def _mean_sign(frame: pd.DataFrame, sign: Callable[[_Pair], int]) -> float:
    """Mean over cells and loads of the mean sign of their pairs, of those that have one."""
    told = [[sign(pair) for pair in _pairs(group)] for group in _groups(frame)]
    means = [np.mean([each for each in signs if each]) for signs in told if any(signs)]
    return float(np.mean(means)) if means else float("nan")
