"""How far the models of the policies are off: points of the grid predicted and simulated."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from qmodels.errors import ConvergenceError, ModelError
from qmodels.policies import capacity, predict
from qmodels.policies.models.build import demand_law
from qmodels.policies.models.recorded_errors import SHARES, regime
from qmodels.progress import Progress, no_progress
from validation.sharing import simulate
from validation.sharing.simulator import MEASURED, relaxation_jobs
from validation.trial.policy_grid import GridPoint

if TYPE_CHECKING:
    import pandas as pd

#: Independent runs of a point, and jobs measured in each at least: a percentile of fewer is biased.
REPLICATIONS, JOBS = 12, 10_000
#: Jobs in each run at most; points that would want more have a wide interval instead.
MOST_JOBS: Final = 60_000


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
        *given, arrival_rate=rate, replications=REPLICATIONS, jobs=jobs, percentiles=SHARES,
        seed=seed, point=point.number, workers=1,
    )  # fmt: skip
    row: dict[str, Any] = {
        "kind": point.kind, "number": point.number, "policy": point.policy.label, **point.facts,
        "model": found.model, "method": found.method, "reduction": found.reduction,
        "capacity": most, "rate": rate, "cpu_seconds": spent,
    }  # fmt: skip
    row |= _beside("mean", found.mean_response, run.mean_response)
    for q in SHARES:
        try:
            value = float(found.percentile(q))
        except (ModelError, ConvergenceError):  # no such law, or one too large to be followed
            value = float("nan")
        row |= _beside(f"p{100 * q:g}", value, run.percentile(q))
    return row


def _beside(name: str, value: float, run: Any) -> dict[str, float]:
    return {
        name: value,
        f"{name}_simulated": run.mean,
        f"{name}_half_width": run.half_width,
        f"{name}_error": value / run.mean - 1.0,
    }


def campaign(
    points: Sequence[GridPoint], *, seed: int = 0, progress: Progress = no_progress
) -> pd.DataFrame:
    """All points, a row each; see `compared`."""
    import pandas as pd

    rows = []
    for done, point in enumerate(points, start=1):
        rows.append(compared(point, seed=seed))
        progress("points", done, len(points))
    return pd.DataFrame(rows)


def summary(table: pd.DataFrame, quantity: str = "mean") -> pd.DataFrame:
    """Median, 90th percentile and largest absolute error of each kind of points.

    `beyond_noise` is the largest part of an error that the interval of the simulation leaves.
    """
    import pandas as pd

    known = table[table[f"{quantity}_error"].notna()]
    size = known[f"{quantity}_error"].abs()
    noise = known[f"{quantity}_half_width"] / known[f"{quantity}_simulated"]
    frame = pd.DataFrame(
        {"kind": known.kind, "error": size, "beyond": (size - noise).clip(lower=0.0)}
    )
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
    """Return the error that a further point exceeds with probability .1 at most; None for few.

    Examples
    --------
    >>> stated([0.01] * 8) is None, stated([k / 100 for k in range(1, 20)])
    (True, 0.18)
    """
    known = sorted(abs(x) for x in errors if x == x)
    at = math.ceil(0.9 * (len(known) + 1) - 1e-9)
    return known[at - 1] if at <= len(known) else None


def write_errors(table: pd.DataFrame, file: Path) -> None:
    """Write the table that `qmodels` states errors from, out of a campaign's rows."""
    import pandas as pd

    regimes = [
        regime(
            row["model"],
            turns="cpu=ps" not in row["policy"],
            scv=float(row.get("demand_scv", 1.0)),
            load=float(row["fraction"]),
        )
        for row in table.to_dict("records")
    ]
    names = ["mean", *(f"p{100 * q:g}" for q in SHARES)]
    lines = [f"# errors by regime of {len(table)} simulated points; validation.trial.policy_errors"]
    lines.append(";".join(["regime", "points", *names]))
    approximate = table.assign(regime=regimes)[table.method == "approximate"]
    # by load as well where there are points enough, and all loads together
    wider = approximate.assign(regime=[name.rsplit(", ", 1)[0] for name in approximate.regime])
    for name, rows in pd.concat([approximate, wider]).groupby("regime"):
        found = [stated(rows[f"{each}_error"].tolist()) for each in names]
        if found[0] is not None:
            cells = ["" if x is None else f"{math.ceil(x * 1000) / 1000:g}" for x in found]
            lines.append(";".join([str(name), str(len(rows)), *cells]))
    file.write_text("\n".join([*lines, ""]), encoding="utf-8")
