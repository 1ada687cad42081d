"""Tables of runs together on one storage: a row a run with its stages as columns, or a row a stage."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from phasefit.arrays import Array
from phasefit.checks import suggestion
from qmodels.errors import TraceFormatError
from qmodels.io import _trace_text
from qmodels.io.column_maps import csv_rows, name_column
from qmodels.io.files import file_name
from qmodels.storage import SharedRuns
from qmodels.storage.curves import MOST_PROGRAMS

#: What the column with the number of programs is often called, and that of whole runs.
PROGRAMS: Final = ("programs", "pipelines", "jobs", "clients", "copies", "instances", "n")
TOTALS: Final = ("total", "makespan", "seconds", "walltime", "elapsed", "runtime")
RUNS: Final = ("run", "repeat", "repetition")
MAX_BYTES: Final = 50_000_000
#: Settings that are named in a message, and values of each.
_SHOWN: Final = 6


class _Row(NamedTuple):
    line: int
    cells: dict[str, str]


def read_shared_runs(
    path: str | os.PathLike[str],
    *,
    programs: str | None = None,
    stages: Sequence[str] | None = None,
    total: str | None = None,
    where: Mapping[str, str] | None = None,
) -> SharedRuns:
    r"""Read timed runs of a program, alone and several together on one storage.

    Parameters
    ----------
    path : path
        CSV with a header (comma, semicolon, tab or bar; plain or gzip). Either a row a run, with its number
        of programs, one column of seconds for each stage, and one of the whole run; or a row a stage:
        ``programs,stage,seconds`` and optionally ``run``.
    programs : str, optional
        Column with the number of programs; by default the first that is called as usual, such as
        ``programs`` or ``pipelines``.
    stages : sequence of str, optional
        Columns of the stages, in order. Without them the whole run is one stage.
    total : str, optional
        Column of whole runs; by default ``total``, ``makespan``, ``seconds`` or ``walltime``.
    where : mapping of str to str, optional
        Only rows with these values in these columns.

    Returns
    -------
    SharedRuns
        The runs by stage and number.

    Raises
    ------
    TraceFormatError
        If the table is damaged, a column or number is missing, or runs of the same number differ in a
        setting, which would be taken for scatter.
    ModelError
        If stages together take longer than the whole run, or none was timed alone.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "runs.csv"
    ...     _ = file.write_text("programs,read,write,total\n1,2,8,10\n4,2,9,11\n", encoding="utf-8")
    ...     found = read_shared_runs(file, stages=["read", "write"])
    >>> found.stages, found.numbers
    (('read', 'write'), (1, 4))
    """
    file = file_name(path)
    given = (programs or "", total or "", *(stages or ()), *(where or ()))
    header, rows = _table(file, (*PROGRAMS, *TOTALS, *given))
    rows = _chosen(file, header, rows, where or {})
    number = _column(file, header, programs, PROGRAMS, "the number of programs", "--programs")
    if stages is None and "stage" in header and "seconds" in header:
        return _of_long_table(file, rows, header, number)
    whole = _column(file, header, total, TOTALS, "whole runs", "--total", needed=not stages)
    for name in stages or ():
        if name not in header:
            raise name_column(file, name, header)
        if name == whole:
            raise TraceFormatError(file, f"column {name!r} cannot be a stage and the whole run", line=1)
    named = list(stages or ([whole] if whole else []))
    _one_setting(file, header, rows, number, {number, whole or "", *named, *RUNS})
    by_stage: dict[str, dict[int, list[float]]] = {name: {} for name in named}
    totals: dict[int, list[float]] = {}
    for row in rows:
        n = _count(file, row, number)
        for name in named:
            by_stage[name].setdefault(n, []).append(_seconds(file, row, name))
        if whole and stages:
            totals.setdefault(n, []).append(_seconds(file, row, whole))
    return _runs(by_stage, totals, file)


def _runs(
    by_stage: dict[str, dict[int, list[float]]], totals: dict[int, list[float]], file: str
) -> SharedRuns:
    """Runs as arrays."""
    arrays = {name: {n: np.array(x) for n, x in runs.items()} for name, runs in by_stage.items()}
    return SharedRuns(arrays, {n: np.array(x) for n, x in totals.items()} or None, file)


def _table(file: str, looked_for: Sequence[str]) -> tuple[list[str], list[_Row]]:
    """Header and rows of a CSV file."""
    text = _trace_text.whole(file, MAX_BYTES)
    if not text.strip():
        raise TraceFormatError(file, "is empty; begin with the line programs,stage,seconds")
    header: list[str] = []
    rows: list[_Row] = []
    for line, fields in csv_rows(file, text, looked_for):
        cells = [field.strip() for field in fields]
        if not any(cells):
            continue
        if not header:
            header = cells
            twice = next((name for name in header if header.count(name) > 1), None)
            if twice is not None:
                what = f"the column {twice!r:.40} is there {header.count(twice)} times"
                raise TraceFormatError(file, what, line=1)
            continue
        if len(cells) != len(header):
            what = f"{len(cells)} fields where the header has {len(header)}"
            raise TraceFormatError(file, what, line=line)
        rows.append(_Row(line, dict(zip(header, cells, strict=True))))
    if not rows:
        raise TraceFormatError(file, "has a header but no run")
    return header, rows


def _chosen(file: str, header: list[str], rows: list[_Row], where: Mapping[str, str]) -> list[_Row]:
    """Rows with the wanted values."""
    for name, value in where.items():
        if name not in header:
            raise name_column(file, name, header)
        known = {row.cells[name] for row in rows}
        if value not in known:
            raise TraceFormatError(
                file, f"no row has {name} = {value!r:.40}; {suggestion(value, sorted(known)[:200])}"
            )
        rows = [row for row in rows if row.cells[name] == value]
    return rows


def _column(
    file: str,
    header: list[str],
    named: str | None,
    usual: Sequence[str],
    what: str,
    option: str,
    *,
    needed: bool = True,
) -> str:
    """Name of a column: the one that was named, or the first that is called as usual; "" for none."""
    if named is not None:
        if named not in header:
            raise name_column(file, named, header)
        return named
    found = next((name for name in usual if name in header), "")
    if needed and not found:
        raise TraceFormatError(
            file, f"no column is known to hold {what} ({', '.join(usual)}); name it: {option} COLUMN", line=1
        )
    return found


def _one_setting(file: str, header: list[str], rows: list[_Row], number: str, known: set[str]) -> None:
    """Raise TraceFormatError where runs of one number of programs differ in what looks like a setting.

    A setting has few values, each in several rows; a measured quantity has another in every row.
    """
    by_number: dict[str, list[_Row]] = {}
    for row in rows:
        by_number.setdefault(row.cells[number], []).append(row)
    for name in header:
        if name in known:
            continue
        for n, same in by_number.items():
            values = sorted({row.cells[name] for row in same})
            if len(values) > 1 and (2 * len(values) <= len(same) and not _measured(values)):
                shown = ", ".join(value[:30] for value in values[:_SHOWN])
                # Most is learnt from the setting that was timed with most numbers of programs.
                held = {v: len({r.cells[number] for r in rows if r.cells[name] == v}) for v in values}
                best = max(held, key=held.__getitem__)
                raise TraceFormatError(
                    file,
                    f"runs with {n} of {number} differ in {name} ({shown}), which would be taken for "
                    f"scatter; choose with --where {name}={best:.30}",
                )


def _measured(values: Sequence[str]) -> bool:
    """Whether these look measured: most of them have a fraction of three digits or more."""
    fractions = [value for value in values if len(value.partition(".")[2].rstrip("0")) > 2]
    return len(fractions) > len(values) / 2 and all(_is_number(value) for value in fractions)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _of_long_table(file: str, rows: list[_Row], header: list[str], number: str) -> SharedRuns:
    """Runs of a table with a row a stage; a stage ``total`` is the whole run."""
    by_stage: dict[str, dict[int, list[float]]] = {}
    repeat = next((name for name in RUNS if name in header), None)
    seen: dict[tuple[object, ...], int] = {}
    for row in rows:
        n, name = _count(file, row, number), row.cells["stage"]
        if not name:
            raise TraceFormatError(file, "has no name", line=row.line, field="stage")
        if repeat is not None:
            key = (n, name, row.cells[repeat])
            if key in seen:
                what = f"run {row.cells[repeat]:.20} of stage {name:.40} again, first in line {seen[key]}"
                raise TraceFormatError(file, what, line=row.line, field=repeat)
            seen[key] = row.line
        by_stage.setdefault(name, {}).setdefault(n, []).append(_seconds(file, row, "seconds"))
    totals = by_stage.pop("total", {}) if len(by_stage) > 1 else {}
    return _runs(by_stage, totals, file)


def _count(file: str, row: _Row, column: str) -> int:
    text = row.cells[column]
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= MOST_PROGRAMS and len(text) < 10):
        what = f"must be a whole number of programs from 1 to {MOST_PROGRAMS}, got {text[:40]!r}"
        raise TraceFormatError(file, what, line=row.line, field=column)
    return int(text)


def _seconds(file: str, row: _Row, column: str) -> float:
    text = row.cells[column]
    if not _is_number(text) or not 0.0 <= float(text) <= 1e15:
        point = " with a decimal point" if "," in text else ""
        what = f"must be seconds{point} of at least 0, got {text[:40]!r}"
        raise TraceFormatError(file, what, line=row.line, field=column)
    return float(text)


class History(NamedTuple):
    """Past jobs beside production, in order of their rows."""

    seconds: Array
    groups: list[str]
    loads: dict[str, Array]  #: NaN where a cell is empty


def read_history(
    path: str | os.PathLike[str],
    *,
    seconds: str | None = None,
    group: Sequence[str] = (),
    loads: Sequence[str] = (),
    where: Mapping[str, str] | None = None,
) -> History:
    """Read the I/O times of past jobs beside production, with the load of the file system at the time.

    Parameters
    ----------
    path : path
        CSV with a header, plain or gzip, a row a job in order of time.
    seconds : str, optional
        Column of the I/O time; by default one that is called as usual.
    group : sequence of str
        Columns that say which jobs are alike, such as program and size; without any all are.
    loads : sequence of str
        Columns of numbers that say how busy the file system was; an empty cell is not known.
    where : mapping of str to str, optional
        Only rows with these values.

    Returns
    -------
    History
        For `qmodels.storage.learn_production`.

    Raises
    ------
    TraceFormatError
        If the table is damaged, or a column or number is missing.
    """
    file = file_name(path)
    given = (seconds or "", *group, *loads, *(where or ()))
    header, rows = _table(file, (*TOTALS, *given))
    rows = _chosen(file, header, rows, where or {})
    timed = _column(file, header, seconds, TOTALS, "the seconds of a job", "--seconds")
    for name in (*group, *loads):
        if name not in header:
            raise name_column(file, name, header)
    times = np.array([_seconds(file, row, timed) for row in rows])
    if not (times > 0.0).all():
        row = rows[int(np.argmin(times > 0.0))]
        raise TraceFormatError(file, "must be above zero", line=row.line, field=timed)
    known = [" ".join(f"{name}={row.cells[name]}" for name in group) or "all" for row in rows]
    return History(times, known, {name: np.array([_load(file, row, name) for row in rows]) for name in loads})


def _load(file: str, row: _Row, column: str) -> float:
    text = row.cells[column]
    if not text or text.casefold() in ("nan", "na", "none"):
        return math.nan
    if not _is_number(text):
        raise TraceFormatError(file, f"must be a number, got {text[:40]!r}", line=row.line, field=column)
    return float(text)
