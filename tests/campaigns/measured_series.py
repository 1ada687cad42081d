"""Series of runs that others measured, and which of them are for fitting and which for checking.

The tables lie in ``../shared/data/measured``. A series is what one program took on one machine for one
problem on at least six allotments. Half of the (program, machine) pairs are for fitting whatever the
forecasts learn across tables; the other half only says how good it is. The halves were drawn by a hash of
the names before the first fit to them: within each kind the pairs are put in the order of their hashes
and go to the two parts in turn.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Array = NDArray[np.float64]
Kind = Literal["strong", "sia"]
Part = Literal["fitting", "checking"]

FOLDER: Final = Path(__file__).parents[3] / "shared" / "data" / "measured"
LEAST_ALLOTMENTS: Final = 6  #: of a series
#: The largest allotment known, as a share of the target's, and how many must be known.
KNOWN: Final = {4: 3, 8: 4}
#: Tables with columns of their own, which are not of runs on allotments.
_OTHERS: Final = ("swarp", "tokio")


@dataclass(frozen=True, eq=False)
class Series:
    """Runs of one program on one machine for one problem, an element a run."""

    kind: Kind
    table: str
    program: str
    machine: str
    name: str
    processors: Array = field(repr=False)
    nodes: Array = field(repr=False)  #: nan where they are not known
    seconds: Array = field(repr=False)


@dataclass(frozen=True, eq=False)
class Task:
    """What is known of a series, and the allotment whose time is asked for."""

    series: Series
    share: int  #: the largest known allotment is at most the target over this
    known: NDArray[np.bool_] = field(repr=False)  #: of the runs of the series

    @property
    def target(self) -> float:
        """Processors of the target."""
        return float(self.series.processors.max())

    @property
    def measured(self) -> Array:
        """Seconds of the target's runs."""
        return self.series.seconds[self.series.processors == self.target]


def read_series(folder: Path = FOLDER) -> list[Series]:
    """Return the series of all tables, in the order of the manifest.

    Strong scaling as printed; training of networks as seconds for a million samples, in two kinds of
    layout: packed (the fewest nodes for each number of GPUs) and spread (a node for each GPU).
    """
    manifest = pd.read_csv(folder / "manifest.csv")
    found: list[Series] = []
    for table, file in zip(manifest["table"], manifest["file"], strict=True):
        if table.startswith(_OTHERS):
            continue
        frame = pd.read_csv(folder / file, dtype={"problem": str, "config": str})
        if "processors" in frame:
            frame = frame.fillna({"problem": "", "config": ""})
            found += _trained(table, frame) if table.startswith("sia-") else _strong(table, frame)
    return found


def tasks(series: list[Series]) -> Iterator[Task]:
    """Yield what a quarter and what an eighth of the largest allotment must foretell."""
    for one in series:
        for share, least in KNOWN.items():
            known = one.processors <= one.processors.max() / share
            if np.unique(one.processors[known]).size >= least:
                yield Task(one, share, known)


def parts(series: list[Series]) -> dict[tuple[str, str, str], Part]:
    """Return the part of each (kind, program, machine): see above."""
    found: dict[tuple[str, str, str], Part] = {}
    for kind in ("strong", "sia"):
        pairs = {(one.program, one.machine) for one in series if one.kind == kind}
        ordered = sorted(pairs, key=lambda pair: hashlib.sha256("|".join(pair).encode()).hexdigest())
        for place, (program, machine) in enumerate(ordered):
            found[kind, program, machine] = "checking" if place % 2 else "fitting"
    return found


def _strong(table: str, frame: pd.DataFrame) -> Iterator[Series]:
    phase = "total"
    if table.startswith("archer-gromacs"):
        phase = "per-ns"  # totals may be of runs of different length
    if table.startswith("archer-castep-dna"):
        phase = "scf-mean"
    rows = frame[(frame["scaling"] == "strong") & (frame["phase"] == phase) & (frame["seconds"] > 0)]
    for (problem, config), runs in rows.groupby(["problem", "config"]):
        yield from _series("strong", table, f"{problem}|{config}", runs, runs["seconds"])


def _trained(table: str, frame: pd.DataFrame) -> Iterator[Series]:
    rows = frame[(frame["phase"] == "total") & (frame["seconds"] > 0)]
    layout = rows["config"].str.extract(r"layout (\d+)")[0]
    nodes = np.where(layout.notna(), layout.fillna("").str.len(), rows["nodes"])
    batch = rows["problem"].str.extract(r"(\d+) samples")[0].astype(float)
    rows = rows.assign(nodes=nodes, seconds=rows["seconds"] / (rows["processors"] * batch) * 1e6)
    for problem, runs in rows.groupby("problem"):
        fewest = runs.groupby("processors")["nodes"].transform("min")
        for layout_kind, chosen in (("packed", fewest), ("spread", runs["processors"])):
            those = runs[runs["nodes"] == chosen]
            yield from _series("sia", table, f"{problem}|{layout_kind}", those, those["seconds"])


def _series(kind: Kind, table: str, name: str, runs: pd.DataFrame, seconds: pd.Series) -> Iterator[Series]:
    if runs["processors"].nunique() >= LEAST_ALLOTMENTS:
        yield Series(
            kind,
            table,
            str(runs["program"].iloc[0]).lower(),
            str(runs["machine"].iloc[0]).lower(),
            name,
            runs["processors"].to_numpy(float),
            runs["nodes"].to_numpy(float),
            seconds.to_numpy(float),
        )
