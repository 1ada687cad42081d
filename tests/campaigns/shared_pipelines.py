"""Hold forecasts of pipelines that share a storage to measured ones: SWarp on Cori's private burst buffer.

``python -m tests.campaigns.shared_pipelines`` writes ``docs/record/shared-pipelines.csv``: a row for every
number of pipelines and stage, known from one pipeline alone and from one and four, beside what the authors of
WRENCH simulated and what no interference would give. What the curves are before any run
(`qmodels.storage.learning`) was set with these rows in view, and with the errors that were published of two
other storages of the same study, whose rows are not here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pandas as pd

from qmodels.io.shared_runs import read_shared_runs
from qmodels.storage import forecast_sharing
from tests.campaigns.production_groups import DATA
from tests.campaigns.record import write_record

STAGES: Final = ("stagein", "resample", "combine", "stageout")
WHERE: Final = {"storage": "cori-private", "campaign": "bb_runs2020-multipipeline-1C"}
NUMBERS: Final = (4, 8, 16, 32)


def rows(file: Path = DATA / "swarp.csv.gz") -> Iterator[dict[str, Any]]:
    """Yield a row for what is known, each number of pipelines, and each stage and the whole."""
    runs = read_shared_runs(file, stages=list(STAGES), where=WHERE)
    table = pd.read_csv(file)
    for name, value in WHERE.items():
        table = table[table[name] == value]
    wrench = table.groupby("pipelines")["wrench_makespan"].mean()
    for known in ((1,), (1, 4)):
        found = forecast_sharing(runs.only(known), NUMBERS)
        for k, n in enumerate(NUMBERS):
            parts = [("makespan", runs.total(n), found.seconds[k], found.low[k], found.high[k])]
            parts += [
                (
                    stage,
                    runs.seconds[stage][n],
                    found.stage_seconds[j, k],
                    found.stage_low[j, k],
                    found.stage_high[j, k],
                )
                for j, stage in enumerate(found.stages)
            ]
            for name, times, seconds, low, high in parts:
                measured = float(times.mean())
                whole = name == "makespan"
                yield {
                    "known": " and ".join(map(str, known)),
                    "pipelines": n,
                    "part": name,
                    "measured": measured,
                    "forecast": float(seconds),
                    "low": float(low),
                    "high": float(high),
                    "error": float(seconds) / measured - 1.0,
                    "covered": bool(low <= measured <= high),
                    "wrench_error": float(wrench[n]) / measured - 1.0 if whole else "",
                    "alone_error": float(runs.total(1).mean()) / measured - 1.0 if whole else "",
                }


def main() -> None:
    """Make the record."""
    found = [{k: float(f"{v:.4g}") if isinstance(v, float) else v for k, v in row.items()} for row in rows()]
    command = "python -m tests.campaigns.shared_pipelines"
    write_record("shared-pipelines", found, command=command, seed="0", data="data/measured/swarp.csv.gz")


if __name__ == "__main__":
    main()
