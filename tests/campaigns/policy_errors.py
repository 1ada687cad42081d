"""How far the models of the policies are off: points of the grid predicted and simulated."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy.special import bdtr

from qmodels.errors import ConvergenceError, ModelError
from qmodels.policies import capacity, predict
from qmodels.policies.models.base import MODELS
from qmodels.policies.models.demand import demand_law
from qmodels.policies.models.recorded_domain import TRAITS, traits, unbounded_below
from qmodels.policies.models.recorded_errors import MOST_BUSY, SHARES, regime, regimes
from tests.campaigns.policy_points import GridPoint
from validation.sharing import simulate
from validation.sharing.simulator import MEASURED, relaxation_jobs

if TYPE_CHECKING:
    import pandas as pd

#: Independent runs of a point, and jobs measured in each at least: a percentile of fewer is biased.
REPLICATIONS, JOBS = 12, 10_000
#: Jobs in each run at most; points that would want more have a wide interval instead.
MOST_JOBS: Final = 60_000
#: Seconds of a percentile after which higher ones of that point are left out.
LONGEST: Final = 1.0
#: Share of further points that keep to a stated error, and how sure that is.
SHARE, CONFIDENCE = 0.9, 0.9


def compared(
    point: GridPoint,
    *,
    model: str = "auto",
    seed: int = 0,
    least_jobs: int = JOBS,
    most_jobs: int = MOST_JOBS,
) -> dict[str, Any]:
    """One point predicted and simulated, as a row of a table.

    Parameters
    ----------
    point : GridPoint
    model : str
        As for `qmodels.predict`; the rate is that fraction of the capacity of "auto" in any case.
    seed : int
        Of the simulation.
    least_jobs, most_jobs : int
        Jobs measured in each run; between these as many as its relaxation time asks for.

    Returns
    -------
    dict
        What the point is, and for the mean and each percentile the predicted and the simulated
        value, the half-width of its interval (95 %) and the relative error of the prediction.
    """
    given = point.policy, point.system, point.workload
    most = capacity(*given)
    rate = point.fraction * most
    began = time.process_time()
    found = predict(*given, arrival_rate=rate, model=model)
    spent = time.process_time() - began
    scvs = point.workload.arrivals.scv, demand_law(*given)[0].scv
    relaxation = relaxation_jobs(point.fraction, found.solved.queue.running.max_running, *scvs)
    jobs = min(max(least_jobs, math.ceil(MEASURED * relaxation)), most_jobs)
    run = simulate(
        *given,
        arrival_rate=rate,
        replications=REPLICATIONS,
        jobs=jobs,
        percentiles=SHARES,
        seed=seed,
        point=point.number,
        workers=1,
    )
    row: dict[str, Any] = {
        "kind": point.kind,
        "number": point.number,
        "policy": point.policy.label,
        **point.facts,
        "model": found.model,
        "method": found.method,
        "reduction": found.reduction,
        "capacity": most,
        "rate": rate,
        "cpu_seconds": spent,
    }
    row |= _beside("mean", found.mean_response, run.mean_response)
    # a wait may be next to nothing, so its error is a share of the response
    row["wait"], row["wait_simulated"] = found.mean_wait, run.mean_wait.mean
    row["wait_half_width"] = run.mean_wait.half_width
    row["wait_error"] = (found.mean_wait - run.mean_wait.mean) / run.mean_response.mean
    row |= traits(*given, point.fraction)
    worth_it = True
    for q in SHARES:
        began = time.process_time()
        try:
            value = float(found.percentile(q)) if worth_it else float("nan")
        except (ModelError, ConvergenceError):  # no such law, or one too large to be followed
            value = float("nan")
        worth_it = worth_it and time.process_time() - began < LONGEST
        row |= _beside(f"p{100 * q:g}", value, run.percentile(q))
    return row


def _beside(name: str, value: float, run: Any) -> dict[str, float]:
    return {
        name: value,
        f"{name}_simulated": run.mean,
        f"{name}_half_width": run.half_width,
        f"{name}_error": value / run.mean - 1.0,
    }


def summary(table: pd.DataFrame, quantity: str = "mean") -> pd.DataFrame:
    """Median, 90th percentile and largest absolute error of each kind of points.

    `beyond_noise` is the largest part of an error that the interval of the simulation leaves.
    """
    import pandas as pd

    known = table[table[f"{quantity}_error"].notna()]
    size = known[f"{quantity}_error"].abs()
    noise = known[f"{quantity}_half_width"] / known[f"{quantity}_simulated"]
    frame = pd.DataFrame({"kind": known.kind, "error": size, "beyond": (size - noise).clip(lower=0.0)})
    by = frame.groupby("kind", sort=False)
    return pd.DataFrame(
        {
            "points": by.error.size(),
            "median": by.error.median(),
            "p90": by.error.quantile(0.9),
            "worst": by.error.max(),
            "beyond_noise": by.beyond.max(),
        }
    )


def stated(errors: Sequence[float]) -> float | None:
    """Return an error that nine in ten further points keep to, at 90 % confidence; None for few.

    Parameters
    ----------
    errors : sequence of float
        Relative errors of points, in any order; NaN where there is none.

    Notes
    -----
    The r-th smallest of n, with the least r for which a binomial number of n trials of .9 is
    below r with a probability of .9 or more: a distribution-free tolerance limit [1]_. It takes 22
    points.

    References
    ----------
    .. [1] S. S. Wilks, "Determination of sample sizes for setting tolerance limits", *Ann. Math.
       Statist.* 12 (1941) 91-96.

    Examples
    --------
    >>> stated([0.01] * 21) is None, stated([k / 1000 for k in range(1, 101)])
    (True, 0.095)
    """
    known = sorted(abs(x) for x in errors if x == x)
    ranks = np.arange(1, len(known) + 1)
    enough = bdtr(ranks - 1, len(known), SHARE) >= CONFIDENCE
    return known[int(np.argmax(enough))] if enough.any() else None


def write_errors(table: pd.DataFrame, file: Path) -> None:
    """Write the table that `qmodels` states errors from, out of a campaign's rows."""
    names = ["mean", "wait", *(f"p{100 * q:g}" for q in SHARES)]
    approximate = table[table.method == "approximate"]
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in records_of(approximate):
        for name in regimes(regime_of(row)):
            groups.setdefault(name, []).append(row)
    lines = [
        f"# errors of {len(approximate)} points by regime; tests.campaigns.policy_errors",
        ";".join(["regime", "points", *names, "worst"]),
    ]
    for name, rows in sorted(groups.items()):
        errors = {each: [row[f"{each}_error"] for row in rows] for each in names}
        stated_of = {each: stated(values) for each, values in errors.items()}
        if stated_of["mean"] is not None:
            worst = max(abs(x) for x in errors["mean"])
            cells = [_rounded_up(x) for x in (*stated_of.values(), worst)]
            lines.append(";".join([name, str(len(rows)), *cells]))
    file.write_text("\n".join([*lines, ""]), encoding="utf-8")


def records_of(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table by the names of its columns."""
    return [dict(zip(table.columns, row, strict=True)) for row in table.itertuples(index=False)]


def regime_of(row: Mapping[str, Any]) -> str:
    """Return the regime of a row of `compared`; see `qmodels`' table of recorded errors."""
    scv = row.get("demand_scv")
    reduction = row["reduction"]
    return regime(
        _family(row),
        reduction=reduction if isinstance(reduction, str) else "",
        arrival_scv=float(row["arrival_scv"]),
        load=float(row["fraction"]),
        scv=None if scv is None or scv != scv else float(scv),
    )


def _family(row: Mapping[str, Any]) -> str:
    """Return the name under which the errors of a row's model are recorded."""
    return MODELS.made(row["model"]).family(
        turns=row["policy"].startswith("TS(") and "cpu=ps" not in row["policy"]
    )


def _rounded_up(error: float | None) -> str:
    return "" if error is None else f"{math.ceil(error * 1000) / 1000:g}"


def write_domain(table: pd.DataFrame, file: Path) -> None:
    """Write the ranges beyond which `qmodels` states no errors, out of a campaign's rows."""
    import pandas as pd

    approximate = table[table.method == "approximate"]
    families = [_family(row) for row in records_of(approximate)]
    lines = [f"# ranges of {len(approximate)} simulated points; tests.campaigns.policy_errors"]
    lines.append("family;trait;low;high")
    for name, rows in approximate.groupby(pd.Series(families, index=approximate.index)):
        for trait in TRAITS:
            if trait not in rows or (values := rows[trait].dropna()).empty:
                continue
            low = "" if trait in unbounded_below(str(name)) else f"{values.min():.6g}"
            high = MOST_BUSY if trait == "load" else values.max()
            lines.append(f"{name};{trait};{low};{high:.6g}")
    file.write_text("\n".join([*lines, ""]), encoding="utf-8")
