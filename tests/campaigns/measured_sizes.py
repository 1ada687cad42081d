"""Hold forecasts for another size of the problem to runs that others measured.

``python -m tests.campaigns.measured_sizes``: a row for every task in ``docs/record/measured-sizes.csv``, and
what they come to by kind in ``docs/record/measured-sizes-summary.csv``. Weak scaling (vlasiator, specfem,
benchio): runs on up to a quarter of the processors, for the largest with its own size. Training of networks:
all batches on up to a quarter of the GPUs, for every batch on all. Several sizes (heat, atmospheres,
molecules): problems of up to a quarter of the largest, for the largest on its most processors, and the same
with processors up to a quarter of those. Nothing was learnt of these tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pandas as pd

from qmodels.io.runs import RunTable
from qmodels.programs import fit_runs
from tests.campaigns.measured_series import FOLDER
from tests.campaigns.record import write_record

Row = dict[str, Any]

LEVEL: Final = 0.9
LEAST_ALLOTMENTS: Final = 3
_TEXTS: Final = ("problem", "config", "disks")
_COLUMNS: Final = ["p", "work", "nodes", "seconds"]


def _tables(prefix: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the tables whose names begin so, with the names of the columns that are used here."""
    manifest = pd.read_csv(FOLDER / "manifest.csv")
    for table, file in zip(manifest["table"], manifest["file"], strict=True):
        if table.startswith(prefix):
            frame = pd.read_csv(FOLDER / file, dtype=dict.fromkeys(_TEXTS, str))
            frame = frame[frame["seconds"] > 0].fillna(dict.fromkeys(_TEXTS, ""))
            yield table, frame.rename(columns={"processors": "p"})


def weak_series() -> Iterator[tuple[str, str, str, pd.DataFrame]]:
    """Yield tables of weak scaling: code, table, series and runs with their work."""
    for table, runs in _tables("vlasiator-weak"):
        total = runs[runs["phase"] == "total"]
        yield "vlasiator", table, "total", total.assign(work=total["p"])
    for table, runs in _tables("specfem-weak"):
        each = runs["problem"].str.extract(r"(\d+) elements")[0].astype(float)
        yield "specfem", table, "total", runs.assign(work=each * runs["p"])
    for table, runs in _tables("benchio"):
        work = runs["problem"].str.extract(r"; ([\d.]+) MiB")[0].astype(float)
        each = runs["problem"].str.partition(" ")[0]
        for (cube, disks), chosen in runs.assign(work=work, each=each).groupby(["each", "disks"]):
            yield "benchio", table, f"{cube}|{disks}", chosen


def trained_series() -> Iterator[tuple[str, str, str, pd.DataFrame]]:
    """Yield tables of training with all their batches, packed on the fewest nodes."""
    for table, runs in _tables("sia-"):
        runs = runs[runs["phase"] == "total"]
        layout = runs["config"].str.extract(r"layout (\d+)")[0]
        nodes = np.where(layout.notna(), layout.fillna("").str.len(), runs["nodes"])
        batch = runs["problem"].str.extract(r"(\d+) samples")[0].astype(float)
        runs = runs.assign(nodes=nodes, work=batch * runs["p"])
        packed = runs["nodes"] == runs.groupby("p")["nodes"].transform("min")
        yield "sia", table, "packed", runs[packed]


def sized_series() -> Iterator[tuple[str, str, str, pd.DataFrame]]:
    """Yield tables with several sizes, of one table or of several of one code on one machine."""
    for table, runs in _tables("heat"):
        cells = runs["problem"].str.partition("^")[0].astype(float) ** 2
        for config, chosen in runs.assign(work=cells).groupby("config"):
            yield "heat", table, str(config), chosen
    joined: dict[tuple[str, str, str], list[pd.DataFrame]] = {}
    for _, runs in _tables("e3sm-nhxx"):
        side = runs["problem"].str.extract(r"ne(\d+)")[0].astype(float)
        found = runs[runs["phase"] == "total"].assign(work=6.0 * side**2)
        steps = found["problem"].str.extract(r"nmax(\d+)")[0].astype(float)
        levels = found["problem"].str.extract(r"qsize(\d+)")[0]
        found = found.assign(seconds=found["seconds"] / steps * 4096.0)
        for (config, level), chosen in found.assign(levels=levels).groupby(["config", "levels"]):
            joined.setdefault(("homme", "e3sm-nhxx", f"{config}|q{level}"), []).append(chosen)
    for table, runs in _tables("hecbiosim"):
        code = table.split("-")[1]
        atoms = runs["problem"].str.extract(r"(\d+)k")[0].astype(float)
        total = runs[runs["phase"] == "total"].assign(work=atoms)
        for config, chosen in total.groupby("config"):
            joined.setdefault((code, f"hecbiosim-{code}", str(config)), []).append(chosen)
    for (code, table, name), frames in joined.items():
        yield code, table, name, pd.concat(frames, ignore_index=True)


def tasks() -> Iterator[tuple[str, str, str, str, pd.DataFrame, pd.DataFrame]]:
    """Yield kind, code, table and series, what is known, and the runs to be foretold."""
    for kind, series in (("weak", weak_series()), ("trained", trained_series()), ("size", sized_series())):
        for code, table, name, runs in series:
            most = runs["p"].max()
            if kind != "size":
                known, asked = runs[runs["p"] <= most / 4], runs[runs["p"] == most]
                yield kind, code, table, name, known, asked
                continue
            largest = runs[runs["work"] == runs["work"].max()]
            smaller = runs[runs["work"] <= runs["work"].max() / 4]
            if smaller["work"].nunique() < 2:
                smaller = runs[runs["work"] < runs["work"].max()]
            asked = largest[largest["p"] == largest["p"].max()]
            yield "size", code, table, name, smaller, asked
            few = smaller[smaller["p"] <= asked["p"].max() / 4]
            if len(few) < len(smaller):
                yield "size and processors", code, table, name, few, asked


def rows() -> Iterator[Row]:
    """Yield a row for each task and size asked for; those with too few runs are left out."""
    for kind, code, table, name, known, asked in tasks():
        if known["p"].nunique() < LEAST_ALLOTMENTS or known["work"].nunique() < 2 or asked.empty:
            continue
        frame = known[[column for column in _COLUMNS if not known[column].isna().any()]].reset_index(
            drop=True
        )
        if "nodes" in frame:
            frame["nodes"] = np.minimum(frame["nodes"], frame["p"])
        frame = frame.assign(program="program", phase=1, kind="cpu", d=1)
        frame["repeat"] = frame.groupby(["p", "work"]).cumcount() + 1
        for work, runs in asked.groupby("work"):
            yield {
                "kind": kind,
                "code": code,
                "table": table,
                "series": name,
                **_foretold(RunTable(frame), float(runs["p"].iloc[0]), float(work), np.log(runs["seconds"])),
            }


def _foretold(table: RunTable, p: float, work: float, seen: pd.Series) -> Row:
    """Return what is said of one allotment and size, and what was measured."""
    (fitted,) = fit_runs(table, work=work).values()
    found = fitted.predict(p, 1, LEVEL)
    low, high = float(np.log(found.time_low[0])), float(np.log(found.time_high[0]))
    middle = float(seen.median())
    known = table.frame
    columns = np.stack([np.ones(len(known)), np.log(known["p"]), np.log(known["work"])], axis=1)
    line = np.linalg.lstsq(columns, np.log(known["seconds"].to_numpy()), rcond=None)[0]
    size = fitted.size
    return {
        "target": p,
        "work": work,
        "doublings": 0.0 if size is None else size.doublings,
        "exponent": math.nan if size is None else size.exponent[0],
        "measured": math.exp(middle),
        "forecast": float(found.time.data[0]),
        "low": math.exp(low),
        "high": math.exp(high),
        "error": abs(math.log(float(found.time.data[0])) - middle),
        "covered": float(np.mean((seen >= low) & (seen <= high))),
        "score": high - low + 20.0 * (max(low - middle, 0.0) + max(middle - high, 0.0)),
        "a p^b w^c": abs(float(line @ [1.0, math.log(p), math.log(work)]) - middle),
    }


def summary(every: pd.DataFrame) -> Iterator[Row]:
    """Yield what rows come to by kind and code."""
    groups = [*every.groupby(["kind", "code"], sort=False), *((k, g) for k, g in every.groupby(["kind"]))]
    for key, group in groups:
        tables = group.groupby("table")
        yield {
            "kind": key[0],
            "code": key[1] if len(key) > 1 else "all",
            "forecasts": len(group),
            "tables": tables.ngroups,
            "error": group["error"].median(),
            "error_by_table": tables["error"].median().median(),
            "covered": group["covered"].mean(),
            "covered_by_table": tables["covered"].mean().mean(),
            "score": group["score"].mean(),
            "a p^b w^c": group["a p^b w^c"].median(),
        }


def main() -> None:
    """Make both tables of the record."""
    every = pd.DataFrame(rows())
    for name, frame in (("measured-sizes", every), ("measured-sizes-summary", pd.DataFrame(summary(every)))):
        numbers = frame.select_dtypes(float).columns
        frame[numbers] = frame[numbers].map(lambda x: float(f"{x:.4g}"))
        command = "python -m tests.campaigns.measured_sizes"
        write_record(name, frame.to_dict("records"), command=command, seed="none", data="data/measured")


if __name__ == "__main__":
    main()
