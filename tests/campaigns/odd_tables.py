"""Read odd and damaged tables of real runs: each is refused in words or read rightly.

``python -m tests.campaigns.odd_tables``: every accident of `tests.odd_tables` on every table of measured
runs, with two seeds; what came of them by accident in ``docs/record/odd-tables.csv``. One accepted table in
250 is fitted and answered by `qmodels surface` as well, with warnings as errors.
"""

from __future__ import annotations

import tempfile
import warnings
from collections import Counter, defaultdict
from pathlib import Path
from typing import Final

import numpy as np

from qmodels.io.runs import read_runs
from tests.campaigns.measured_series import FOLDER
from tests.campaigns.record import write_record
from tests.command import called
from tests.odd_tables import ACCIDENTS, SMALL, Odd, measured_tables, outcome

SEEDS: Final = (0, 1)
EVERY: Final = 250  #: accepted tables of which one is fitted


def answered(odd: Odd, path: Path) -> str:
    """Ask `qmodels surface` about a table that was read; return "answered" or what is wrong."""
    columns = ",".join(f"{key}={name}" for key, name in odd.columns.items())
    most = int(read_runs(path, columns=odd.columns, **odd.options).frame["p"].max())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = called("surface", path, "--columns", columns, "--target", f"{2 * most},1", "--json")
    if done.returncode:
        return f"refused: {done.stderr[-200:]}"
    wrong = [word for word in ("NaN", "Infinity") if word in done.stdout]
    return f"says {wrong[0]}" if wrong else "answered"


def main() -> None:
    """Make the record."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    first: dict[tuple[str, str], str] = {}
    read = 0
    tables = [*((f"small {k}", odd) for k, odd in enumerate(SMALL)), *measured_tables(FOLDER)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.csv"
        for seed in SEEDS:
            for number, (name, odd) in enumerate(tables):
                rng = np.random.default_rng([seed, number])
                for accident, happen in ACCIDENTS.items():
                    changed = happen(odd, rng)
                    if changed is None:
                        continue
                    try:
                        found = outcome(changed, path)
                        if found == "right":
                            read += 1
                            if read % EVERY == 0:
                                asked = answered(changed, path)
                                counts[accident][asked.partition(":")[0]] += 1
                                first.setdefault((accident, asked), name)
                    except Exception as error:  # what is looked for: anything but a refusal
                        found = f"{type(error).__name__}: {error}"
                    kind = found if found in ("right", "refused") else "wrong"
                    counts[accident][kind] += 1
                    if kind == "wrong":
                        print(f"{name}, {accident}: {found[:300]}", flush=True)
    for (accident, asked), name in first.items():
        if asked != "answered":
            print(f"{name}, {accident}: {asked}", flush=True)
    kinds = ("right", "refused", "wrong", "answered", "says NaN", "says Infinity")
    rows = [{"accident": name, **{kind: each[kind] for kind in kinds}} for name, each in counts.items()]
    write_record(
        "odd-tables",
        rows,
        command="python -m tests.campaigns.odd_tables",
        seed=str(SEEDS),
        data="data/measured",
        tables=sum(each[kind] for each in counts.values() for kind in kinds[:3]),
    )


if __name__ == "__main__":
    main()
