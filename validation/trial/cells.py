"""Cells of the trial: predicted, corrected and simulated side by side, and judged."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qmodels.errors import UnstableError
from qmodels.policies import predict
from qmodels.progress import Progress, no_progress
from validation.analysis.estimates import estimate
from validation.analysis.seeding import stream
from validation.trial.bursts import workload
from validation.trial.control import control_mean, controlled
from validation.trial.link_speeds import link_speeds
from validation.trial.loss_run import STARTS, LossRun, loss_run
from validation.trial.replications import JOBS, WARM_UP, cell_of, run_one

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]

#: Seed and share of the cells that no decision may look at; see `kept_out`.
KEPT_OUT_SEED, KEPT_OUT_SHARE = 20260, 0.25
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
    progress : callable
        Called as ``progress("points", done, points)``.

    Returns
    -------
    DataFrame
        One row for each strategy and load, see the reference page; "values" holds what each
        replication found, for paired differences.
    """
    import pandas as pd

    runs = {
        name: loss_run(
            cell_of({**given, "strategy": name}), starts=starts, jobs=loss_jobs, seed=seed
        )
        for name in strategies
    }
    least = min(run.table.throughput[-1] for run in runs.values())
    rows, total = [], len(loads) * len(strategies)
    for load in loads:
        for name in strategies:
            point = {
                **given, "strategy": name, "arrival_rate": load * least, "jobs": jobs,
                "speeds": runs[name].table.throughput.tolist(), "warm_up": warm_up, "seed": seed,
            }  # fmt: skip
            rows.append(_row(point, runs[name], load, replications))
            progress("points", len(rows), total)
    return pd.DataFrame(rows)


def _row(point: Mapping[str, Any], run: LossRun, load: float, replications: int) -> dict[str, Any]:
    """Everything about one strategy at one load."""
    cell, rate = cell_of(point), float(point["arrival_rate"])
    work = workload(cell)
    began = time.process_time()
    corrected = predict(cell.policy, cell.system, work, arrival_rate=rate, running=run.table)
    once = time.process_time() - began
    table, link_seconds = link_speeds(cell)
    answers = {}
    for name, speeds in (("uncorrected", None), ("link_loads", table)):
        try:
            answers[name] = predict(
                cell.policy, cell.system, work, arrival_rate=rate, running=speeds
            ).mean_response
        except UnstableError:
            answers[name] = float("inf")
    began = time.process_time()
    found = [run_one(point, replication) for replication in range(replications)]
    spent = time.process_time() - began
    known = control_mean(cell, run.table.throughput, rate)
    responses = [row["response"] for row in found]
    simulated, values = controlled(responses, [row["control"] for row in found], known)
    raw = estimate(responses)
    mean, half = simulated.mean, simulated.half_width
    width = corrected.half_width or 0.0
    return {
        "cell": cell_name(point), "policy": cell.policy.label, "strategy": cell.strategy.name,
        "load": load, "rho": rate / run.table.throughput[-1], "arrival_rate": rate,
        "simulated": mean, "half_width": half / mean, "half_width_raw": raw.half_width / raw.mean,
        "corrected": corrected.mean_response, "corrected_half_width": width / mean,
        "error": corrected.mean_response / mean - 1.0,
        "error_uncorrected": answers["uncorrected"] / mean - 1.0,
        "error_link_loads": answers["link_loads"] / mean - 1.0,
        "covers": abs(corrected.mean_response - mean) <= width,
        "within_both": abs(corrected.mean_response - mean) <= float(np.hypot(width, half)),
        "jobs": int(sum(row["jobs"] for row in found)), "loss_jobs": run.jobs,
        "seconds_simulation": spent, "seconds_loss_run": run.seconds,
        "seconds_prediction": once, "seconds_link_loads": link_seconds,
        "values": values.tolist(),
    }  # fmt: skip


def cell_name(point: Mapping[str, Any]) -> str:
    """Name of a cell without its strategy, which also decides whether it is kept out."""
    cell = cell_of(point)
    parts = [
        f"{cell.mesh.rows}x{cell.mesh.columns}", cell.policy.label,
        f"{point['cpu_to_io']:g}:1", f"N={cell.shape.phases}",
        f"scv={point.get('demand_scv', 1.0):g}", cell.shape.io,
    ]  # fmt: skip
    return " ".join(parts)


def acceptance(frame: pd.DataFrame) -> dict[str, float]:
    """What the specification asks of corrected predictions, measured on rows of a comparison.

    Returns
    -------
    dict
        "median", "nine_tenths" and "worst" of the absolute errors; "coverage", the share of rows
        whose predicted interval holds the simulated mean; "tau", the mean rank correlation of the
        strategies over cells and loads; "separable" pairs, and how many of them are "ordered"
        right. A pair is separable if its simulated difference is beyond its paired interval and
        3 %.
    """
    errors = frame["error"].abs().to_numpy()
    taus, separable, ordered = [], 0, 0
    for _, group in frame.groupby(["cell", "load"], sort=False):
        concordant = pairs = 0
        rows = list(group.to_dict("records"))
        for one, other in combinations(rows, 2):
            predicted = one["corrected"] - other["corrected"]
            measured = one["simulated"] - other["simulated"]
            pairs += 1
            concordant += 1 if predicted * measured > 0 else -1
            paired = estimate((np.array(one["values"]) - np.array(other["values"])).tolist())
            least = SEPARABLE * min(one["simulated"], other["simulated"])
            if abs(measured) > max(paired.half_width, least):
                separable += 1
                ordered += predicted * measured > 0
        if pairs:
            taus.append(concordant / pairs)
    return {
        "rows": float(len(frame)),
        "median": float(np.median(errors)),
        "nine_tenths": float(np.quantile(errors, 0.9)),
        "worst": float(errors.max()),
        "coverage": float(frame["covers"].mean()),
        "tau": float(np.mean(taus)) if taus else float("nan"),
        "separable": float(separable),
        "ordered": float(ordered),
    }
