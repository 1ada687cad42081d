"""Odd and damaged tables of runs: what each must come to, a refusal or the numbers that are in it."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from qmodels.errors import ModelError
from qmodels.io.runs import read_runs

Cells = list[list[str]]
#: (p, nodes, work, phase, seconds) of every row, in order of size.
Truth = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Odd:
    """A table as a user has it, and what reading it must come to."""

    header: list[str]
    rows: Cells
    columns: dict[str, str]  #: from keys to its own names
    sign: str = ","
    encoding: str = "utf-8"
    end: str = "\n"
    quoted: bool = False
    before: bytes = b""
    refused: bool | None = False  #: True: must be; None: may be, if else it has the numbers of `rows`
    options: dict[str, Any] = field(default_factory=dict)

    def data(self) -> bytes:
        """Return the file."""
        stream = io.StringIO()
        quoting = csv.QUOTE_ALL if self.quoted else csv.QUOTE_MINIMAL
        table = csv.writer(stream, delimiter=self.sign, lineterminator=self.end, quoting=quoting)
        table.writerows([self.header, *self.rows])
        return self.before + stream.getvalue().encode(self.encoding, errors="replace")

    def place(self, key: str) -> int:
        """Return the place of the column that holds `key`."""
        return self.header.index(self.columns[key])

    def truth(self) -> Truth:
        """Return what the rows say, by the plainest reading of their cells."""
        at = {key: self.place(key) for key in self.columns}
        return sorted(
            (
                int(row[at["p"]]),
                int(row[at["nodes"]]) if "nodes" in at else 0,
                float(row[at["work"]]) if "work" in at else 0.0,
                row[at["phase"]] if "phase" in at else "",
                float(row[at["seconds"]]),
            )
            for row in self.rows
        )


def found_in(frame: pd.DataFrame) -> Truth:
    """Return what a table that was read says."""
    ones = pd.Series(0, index=frame.index)
    columns = (
        frame["p"],
        frame.get("nodes", ones),
        frame.get("work", ones.astype(float)),
        frame.get("phase_name", ones.astype(str).replace("0", "")),
        frame["seconds"],
    )
    return sorted(zip(*(column.tolist() for column in columns), strict=True))


def outcome(odd: Odd, path: Path) -> str:
    """Read a table; return "refused", "right", or what is wrong with that."""
    path.write_bytes(odd.data())
    try:
        frame = read_runs(path, columns=odd.columns, **odd.options).frame
    except ModelError as error:
        if odd.refused is not False and str(error).startswith(str(path)):
            return "refused"
        return f"refused without need: {error}" if odd.refused is False else f"names no file: {error}"
    if odd.refused:
        return "accepted"
    return "right" if found_in(frame) == odd.truth() else "read wrongly"


def _with_cell(odd: Odd, key: str, text: str, rng: np.random.Generator, **changes: Any) -> Odd:
    """Return a table with one cell changed."""
    rows = [list(row) for row in odd.rows]
    rows[int(rng.integers(len(rows)))][odd.place(key)] = text
    return replace(odd, rows=rows, **changes)


def _bad_cell(key: str, *texts: str) -> Callable[[Odd, np.random.Generator], Odd | None]:
    """Return an accident that puts one of these into a column, where there is one."""

    def accident(odd: Odd, rng: np.random.Generator) -> Odd | None:
        text = texts[int(rng.integers(len(texts)))]
        return _with_cell(odd, key, text, rng, refused=True) if key in odd.columns else None

    return accident


def _shuffled_columns(odd: Odd, rng: np.random.Generator) -> Odd:
    order = rng.permutation(len(odd.header))
    return replace(
        odd, header=[odd.header[k] for k in order], rows=[[row[k] for k in order] for row in odd.rows]
    )


def _shuffled_rows(odd: Odd, rng: np.random.Generator) -> Odd:
    return replace(odd, rows=[odd.rows[k] for k in rng.permutation(len(odd.rows))])


def _row_again(odd: Odd, rng: np.random.Generator) -> Odd:
    return replace(odd, rows=[*odd.rows, odd.rows[int(rng.integers(len(odd.rows)))]])


def _row_lost(odd: Odd, rng: np.random.Generator) -> Odd:
    lost = int(rng.integers(len(odd.rows)))
    return replace(odd, rows=[row for k, row in enumerate(odd.rows) if k != lost], refused=None)


def _few_allotments(odd: Odd, rng: np.random.Generator) -> Odd:
    at = odd.place("p")
    values = sorted({row[at] for row in odd.rows})
    kept = values[: int(rng.integers(1, 3))]
    return replace(odd, rows=[row for row in odd.rows if row[at] in kept], refused=True)


def _swapped(one: str, other: str) -> Callable[[Odd, np.random.Generator], Odd | None]:
    """Return an accident that names each of two columns for the other."""

    def accident(odd: Odd, rng: np.random.Generator) -> Odd | None:
        if one not in odd.columns or other not in odd.columns:
            return None
        swapped = odd.columns | {one: odd.columns[other], other: odd.columns[one]}
        changed = replace(odd, columns=swapped)
        try:
            changed.truth()
        except ValueError:
            return replace(changed, refused=True)
        return replace(changed, refused=None)  # whole seconds may be processors: then they are read as said

    return accident


def _cut_row(odd: Odd, rng: np.random.Generator) -> Odd:
    rows = [list(row) for row in odd.rows]
    rows[int(rng.integers(len(rows)))].pop()
    return replace(odd, rows=rows, refused=True)


def _long_row(odd: Odd, rng: np.random.Generator) -> Odd:
    rows = [list(row) for row in odd.rows]
    rows[int(rng.integers(len(rows)))].append("7")
    return replace(odd, rows=rows, refused=True)


def _decimal_commas(odd: Odd, rng: np.random.Generator) -> Odd | None:
    at = odd.place("seconds")
    rows = [[cell.replace(".", ",") if k == at else cell for k, cell in enumerate(row)] for row in odd.rows]
    return replace(odd, rows=rows, sign=";", refused=True) if any("," in row[at] for row in rows) else None


def _unit_in_header(odd: Odd, rng: np.random.Generator) -> Odd:
    units = ("time_ms", "walltime [min]", "elapsed (us)", "time_hours", "t_msec", "time in ms")
    name, at = units[int(rng.integers(len(units)))], odd.place("seconds")
    header = [name if k == at else cell for k, cell in enumerate(odd.header)]
    return replace(odd, header=header, columns=odd.columns | {"seconds": name}, refused=True)


def _header_again(odd: Odd, rng: np.random.Generator) -> Odd:
    rows = list(odd.rows)
    rows.insert(int(rng.integers(len(rows))), odd.header)
    return replace(odd, rows=rows, refused=True)


def _spaced(odd: Odd, rng: np.random.Generator) -> Odd:
    return replace(odd, rows=[[f" {cell}  " for cell in row] for row in odd.rows], quoted=True)


def _trimmed_truth(odd: Odd, rng: np.random.Generator) -> Odd:
    return replace(odd, rows=[[cell.strip() for cell in row] for row in _spaced(odd, rng).rows])


def _blank_lines(odd: Odd, rng: np.random.Generator) -> Odd:
    return replace(odd, before=b"\n \n")


def _name_wrong(odd: Odd, rng: np.random.Generator) -> Odd:
    key = list(odd.columns)[int(rng.integers(len(odd.columns)))]
    return replace(odd, columns=odd.columns | {key: odd.columns[key] + "x"}, refused=True)


def _column_twice(odd: Odd, rng: np.random.Generator) -> Odd:
    at = odd.place("seconds")
    return replace(
        odd,
        header=[*odd.header, odd.header[at]],
        rows=[[*row, str(2.0 * float(row[at]))] for row in odd.rows],
        refused=True,
    )


def _phase_by_number(odd: Odd, rng: np.random.Generator) -> Odd | None:
    return _with_cell(odd, "phase", "3", rng, refused=True) if "phase" in odd.columns else None


_ZEROS = ("0", "0.0", "-0", "-3.5", "nan", "NaN", "inf", "-inf", "1e400", "1e30", "1e-30", "", "N/A", "null")
_UNITS = (
    "12.5 s",
    "200ms",
    "3 min",
    "1:30",
    "00:01:30",
    "1_000",
    "1,024.5",
    "0x10",
    "+5",
    "٣",
    "~12",
    "<1",
    "12%",
)
_WHOLE = (
    "0",
    "-4",
    "4.0",
    "1e3",
    "nan",
    "inf",
    "",
    "four",
    "1024 cores",
    "1,024",
    "9999999999",
    "٤",
    "4-8",
    "2x8",
)

ACCIDENTS: dict[str, Callable[[Odd, np.random.Generator], Odd | None]] = {
    "as it is": lambda odd, rng: odd,
    "byte order mark": lambda odd, rng: replace(odd, encoding="utf-8-sig"),
    "semicolons": lambda odd, rng: replace(odd, sign=";"),
    "tabs": lambda odd, rng: replace(odd, sign="\t"),
    "bars": lambda odd, rng: replace(odd, sign="|"),
    "Windows line ends": lambda odd, rng: replace(odd, end="\r\n"),
    "old Macintosh line ends": lambda odd, rng: replace(odd, end="\r", refused=None),
    "all quoted": lambda odd, rng: replace(odd, quoted=True),
    "blank lines first": _blank_lines,
    "columns in another order": _shuffled_columns,
    "rows in another order": _shuffled_rows,
    "a row again": _row_again,
    "a row lost": _row_lost,
    "one or two allotments": _few_allotments,
    "processors and seconds swapped": _swapped("p", "seconds"),
    "processors and nodes swapped": _swapped("p", "nodes"),
    "a row cut short": _cut_row,
    "a row too long": _long_row,
    "decimal commas": _decimal_commas,
    "another unit in the header": _unit_in_header,
    "a unit in a cell": _bad_cell("seconds", *_UNITS),
    "seconds that are none": _bad_cell("seconds", *_ZEROS),
    "processors that are none": _bad_cell("p", *_WHOLE),
    "nodes that are none": _bad_cell("nodes", *_WHOLE),
    "work that is none": _bad_cell("work", *_ZEROS, *_UNITS),
    "a phase by number": _phase_by_number,
    "a phase that is none": _bad_cell("phase", "", "nan", "-", "\x07"),
    "the header again": _header_again,
    "a comment line": lambda odd, rng: replace(odd, before=b"# made on Tuesday\n", refused=True),
    "UTF-16": lambda odd, rng: replace(odd, encoding="utf-16", refused=True),
    "a column named wrongly": _name_wrong,
    "a column twice": _column_twice,
    "a byte lost": lambda odd, rng: replace(odd, before=bytes([int(rng.integers(128, 256))]), refused=True),
}

#: A small table of each kind, for the gate.
SMALL = (
    Odd(
        ["nprocs", "nnodes", "walltime_s"],
        [[str(p), str(p // 16), f"{8 + 400.5 / p:.4f}"] for p in (16, 32, 32, 64, 128)],
        {"p": "nprocs", "nodes": "nnodes", "seconds": "walltime_s"},
    ),
    Odd(
        ["timer", "cores", "cells", "t"],
        [
            [name, str(p), str(1000 * p), f"{s / p + 0.125:.4f}"]
            for name, s in (("io", 9), ("halo", 40))
            for p in (4, 8, 16)
        ],
        {"p": "cores", "phase": "timer", "work": "cells", "seconds": "t"},
    ),
)


def measured_tables(folder: Path) -> Iterator[tuple[str, Odd]]:
    """Yield tables that others measured, as their users might keep them."""
    manifest = pd.read_csv(folder / "manifest.csv")
    for table, file in zip(manifest["table"], manifest["file"], strict=True):
        frame = pd.read_csv(folder / file, dtype=str, keep_default_na=False)
        if table.startswith(("swarp", "tokio")):
            continue
        parts = frame[(frame["phase"] != "total") & (frame["seconds"].astype(float) > 0)]
        total = frame[(frame["phase"] == "total") & (frame["seconds"].astype(float) > 0)]
        for name, rows, phases in ((table, total, False), (f"{table}, parts", parts, True)):
            whole = rows[rows["processors"].str.fullmatch("[0-9]+")]
            if whole["processors"].nunique() < 3 or len(whole) > 300:
                continue
            if phases and whole.groupby("phase")["processors"].nunique().min() < 3:
                continue
            columns = {"p": "processors", "seconds": "seconds"} | ({"phase": "phase"} if phases else {})
            if (
                whole["nodes"].str.fullmatch("[0-9]+").all()
                and (whole["nodes"].astype(int) <= whole["processors"].astype(int)).all()
            ):
                columns["nodes"] = "nodes"
            yield name, Odd(list(whole.columns), whole.to_numpy().tolist(), columns)
