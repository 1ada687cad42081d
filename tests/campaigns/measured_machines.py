"""Hold forecasts to runs that others measured: tables of real codes on real machines.

``python -m tests.campaigns.measured_machines``: a row for every series and task of
`tests.campaigns.measured_series`, failures too, in ``docs/record/measured-machines.csv``, and what they come
to by kind, task and part, with and without nodes, in ``docs/record/measured-machines-summary.csv``. What the
forecasts learnt across tables was learnt from the part called fitting; the part called checking was looked at
when the code stood: claim F-13 says how often.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pandas as pd

from qmodels.io.runs import RunTable
from qmodels.programs import fit_runs
from qmodels.programs.scaling.rivals import NORMAL_FORM, RIVALS, rival_seconds
from tests.campaigns.measured_series import Task, parts, read_series, tasks
from tests.campaigns.record import write_record

Row = dict[str, Any]

LEVEL: Final = 0.9


def table_of(task: Task, *, nodes: bool, kind: str = "cpu") -> RunTable:
    """Return what is known of a task as a table of runs of one burst."""
    series = task.series
    frame = pd.DataFrame({"p": series.processors[task.known], "seconds": series.seconds[task.known]})
    frame = frame.assign(program="program", phase=1, kind=kind, d=1)
    frame["repeat"] = frame.groupby("p").cumcount() + 1
    if nodes:
        frame["nodes"] = np.minimum(series.nodes[task.known], frame["p"])
    return RunTable(frame)


def forecast_of(task: Task, *, nodes: bool, kind: str = "cpu") -> Row:
    """Return what is said of a task's target, and what was measured there."""
    (fitted,) = fit_runs(table_of(task, nodes=nodes, kind=kind)).values()
    found = fitted.predict(task.target, 1, LEVEL)
    low, high = float(np.log(found.time_low[0])), float(np.log(found.time_high[0]))
    seen = np.log(task.measured)
    middle = float(np.median(seen))
    series = task.series
    p, seconds = series.processors[task.known], series.seconds[task.known]
    return {
        "kind": series.kind,
        "share": task.share,
        "nodes": nodes,
        "table": series.table,
        "program": series.program,
        "machine": series.machine,
        "series": series.name,
        "target": task.target,
        "measured": float(np.exp(middle)),
        "forecast": float(found.time.data[0]),
        "low": math.exp(low),
        "high": math.exp(high),
        "error": abs(math.log(float(found.time.data[0])) - middle),
        "covered": float(np.mean((seen >= low) & (seen <= high))),
        "score": high - low + 20.0 * (max(low - middle, 0.0) + max(middle - high, 0.0)),
        "slower_than_known": bool(middle > np.log(seconds[p == p.max()]).mean()),
        "last_slope": fitted.measured.last_slope(),
        **{
            name: abs(math.log(float(rival_seconds(name, p, seconds, np.array([task.target]))[0])) - middle)
            for name in RIVALS
        },
    }


def rows() -> Iterator[Row]:
    """Yield a row for every task, with nodes and without."""
    series = read_series()
    of_pair = parts(series)
    for task in tasks(series):
        one = task.series
        for nodes in (True, False):
            yield {"part": of_pair[one.kind, one.program, one.machine], **forecast_of(task, nodes=nodes)}


def summary(every: pd.DataFrame) -> Iterator[Row]:
    """Yield what rows come to: by kind, share, nodes and part; each figure by series, table and machine."""
    for part in ("fitting", "checking", "all"):
        chosen = every if part == "all" else every[every["part"] == part]
        for (kind, share, nodes), group in chosen.groupby(["kind", "share", "nodes"], sort=False):
            tables = group.groupby("table")
            machines = group.groupby(["program", "machine"])
            ahead = tables["error"].median() - tables["a + b/p"].median()
            yield {
                "part": part,
                "kind": kind,
                "share": f"1/{share}",
                "nodes": nodes,
                "series": len(group),
                "tables": tables.ngroups,
                "machines": machines.ngroups,
                "error": group["error"].median(),
                "error_by_table": tables["error"].median().median(),
                "error_by_machine": machines["error"].median().median(),
                "covered": group["covered"].mean(),
                "covered_by_table": tables["covered"].mean().mean(),
                "covered_by_machine": machines["covered"].mean().mean(),
                "score": group["score"].mean(),
                **{name: group[name].median() for name in RIVALS},
                "normal_form_of": int(group[NORMAL_FORM].notna().sum()),  # series; it needs five allotments
                "less_than_a_b_p": ahead.mean(),
                "half_width": 1.96 * ahead.std() / math.sqrt(len(ahead)) if len(ahead) > 1 else math.nan,
            }


def main() -> None:
    """Make both tables of the record."""
    every = pd.DataFrame(rows())
    command = "python -m tests.campaigns.measured_machines"
    for name, frame in (
        ("measured-machines", every),
        ("measured-machines-summary", pd.DataFrame(summary(every))),
    ):
        numbers = frame.select_dtypes(float).columns
        frame[numbers] = frame[numbers].map(lambda x: float(f"{x:.4g}"))
        write_record(name, frame.to_dict("records"), command=command, seed="none", data="data/measured")


if __name__ == "__main__":
    main()
