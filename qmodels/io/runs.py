"""Reader of measured runs: one line per timed burst, as CSV or as JSON lines."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from qmodels.errors import ModelError, TraceFormatError
from qmodels.io.column_maps import csv_rows
from qmodels.io.extrap import parse_lines
from qmodels.io.extrap_files import is_experiment, parse_experiment
from qmodels.io.files import file_name, open_regular
from qmodels.io.run_columns import RunColumns, minutes_note, unread_note
from qmodels.io.run_table import (
    COLUMNS,
    KINDS,
    LONGEST,
    MAX_NAME,
    NODES,
    OPTIONAL,
    PHASE_NAME,
    SHORTEST,
    WORK,
    MeasuredRun,
    RunTable,
    check_allotments,
    is_name,
    make_table,
)
from qmodels.io.run_words import (
    TOTALS,
    Disks,
    checked_disks,
    checked_phases,
    counted_disks,
    kinds_note,
    numbered_phases,
    parts_of_totals,
)
from qmodels.words import cut

__all__ = ["COLUMNS", "MAX_BYTES", "RunTable", "read_runs"]

MAX_BYTES = 10_000_000

_WHOLE = re.compile(r"[0-9]{1,9}", re.ASCII)
_DECIMAL = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", re.ASCII)


def read_runs(
    path: str | os.PathLike[str],
    *,
    columns: Mapping[str, str] | None = None,
    phases: Sequence[str] | None = None,
    disks: Disks | None = None,
) -> RunTable:
    r"""Read a table of measured runs, CSV or JSON lines.

    Parameters
    ----------
    path : path-like
        UTF-8, at most 10 MB. Either CSV, with commas, semicolons or tabs between the fields and
        the header line ``program,phase,kind,p,d,seconds`` and optionally ``repeat``, ``nodes`` and
        ``work``, in any order, or with the columns that `columns` names; `phase`
        counts from 1 or is a name in every row, `kind` is ``io`` or ``cpu``, `p` and `d` are whole
        numbers of processors and disks, `repeat` numbers the runs on the same allotment, `nodes` is
        on how many nodes the processors were, `work` is the size of the problem in any unit. Or,
        when it begins with a brace, the JSON lines of Extra-P: ``{"params": {"p": 4, "d": 2}, "callpath":
        "phase1->io", "metric": "time", "value": [12.5, 12.7]}``, where `d` is 1 if not given,
        the values are repeats, and a name before the phase (``solver->phase1->io``) is the
        program's; without one it is called like the file. Or a whole experiment of Extra-P with
        parameters p and d and such call paths, as JSON (``{"parameters": ["p", "d"],
        "measurements": {...}}``) or in its text format (``PARAMETER p``), of which the metric
        `time` is read.
    columns : mapping, optional
        For a CSV table with other columns: from ``p`` and ``seconds``, and as many of the other
        names as it has, to its own. Without a program it is called like the file, without a phase
        and a kind a row is a whole run, without `d` all had the same disks, and repeats are
        counted. A table with a column for each phase has ``seconds = "io+comm+solve"``.
    phases : sequence of str, optional
        Of a table with phases by name those that are read; by default all. Of a phase called total and
        its parts the parts are taken, with a rest, or where these do not add up to it the total alone.
    disks : str or mapping, optional
        Where disks are words (``striped``): the one whose runs are read, or how many disks each is.

    Returns
    -------
    runs : RunTable

    Raises
    ------
    TraceFormatError
        If the file cannot be read or is not such a table, or a program was measured on fewer
        than three distinct allotments (p, d), or disks are words and nothing says which is
        meant; it names the line and the field.

    Notes
    -----
    Numbers of a CSV table are plain decimal ASCII: ``1_000``, ``1,5``, ``nan`` and digits of
    other scripts are refused rather than guessed at.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "runs.csv"
    ...     lines = ["program,phase,kind,p,d,seconds"]
    ...     lines += [f"solver,1,io,{p},1,{30 / p}" for p in (1, 2, 4)]
    ...     _ = file.write_text("\n".join(lines), encoding="utf-8")
    ...     read_runs(file).frame["seconds"].tolist()
    [30.0, 15.0, 7.5]
    """
    file, named, counts = file_name(path), RunColumns.given(columns), checked_disks(disks)
    text = _text(file)
    notes: tuple[str, ...] = ()
    if is_experiment(text):
        numbered = list(parse_experiment(file, text))
    elif text.lstrip().startswith("{"):
        numbered = list(parse_lines(file, text))
    else:
        numbered, notes = _rows(file, text, named, checked_phases(phases), counts)
    if text.lstrip().startswith("{") and (phases is not None or disks is not None):
        raise TraceFormatError(file, "is of Extra-P, where phases and disks are numbers, not words")
    rows = [run for _, run in numbered]
    first = {run.program: line for line, run in reversed(numbered)}
    check_allotments(file, rows, first)
    try:
        return make_table(rows, file, notes)
    except ModelError as error:
        raise TraceFormatError(file, str(error)) from None


def _text(file: str) -> str:
    with open_regular(file, what="a CSV table") as stream:
        try:
            raw = stream.read(MAX_BYTES + 1)
        except OSError as error:
            raise TraceFormatError(file, f"cannot be read: {error}") from None
    if len(raw) > MAX_BYTES:
        raise TraceFormatError(file, f"is larger than {MAX_BYTES} bytes; split it by program")
    if raw.startswith(b"PK\x03\x04"):
        what = "is a packed experiment of Extra-P, which keeps no single runs; save it as JSON"
        raise TraceFormatError(file, what)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise TraceFormatError(file, "is not UTF-8 text; save it as UTF-8", line=line) from None


def _rows(
    file: str, text: str, columns: RunColumns, phases: Sequence[str] | None, disks: Disks | None
) -> tuple[list[tuple[int, MeasuredRun]], tuple[str, ...]]:
    """Return the runs of a CSV table by line, and what its reader had to assume."""
    rows = _cells(file, text, columns)
    line, header = next(rows, (0, [""]))
    if not line:
        raise TraceFormatError(file, f"is empty; begin with the line {','.join(COLUMNS)}")
    columns.check(file, header, line)
    lines = list(_as_wide(file, header, rows))
    cells = list(columns.fields(file, header, lines))
    if not cells:
        raise TraceFormatError(file, "has a header but no run")
    cells, notes = counted_disks(file, cells, disks)
    runs = list(_runs(file, numbered_phases(file, cells, phases, kinds=columns.says_kinds()), columns))
    if runs[0][1].phase_name:
        counted = "phase" in columns.names and OPTIONAL not in columns.names
        runs, of_parts = parts_of_totals(runs, counted=counted)
        notes += of_parts if columns.says_kinds() else (*of_parts, *kinds_note(runs))
    if columns.names:
        told = [name for key, name in columns.names.items() if key not in ("seconds", OPTIONAL)]
        notes += unread_note(header, [row for _, row in lines], columns.read(header), told)
        notes += minutes_note(header, columns.parts(header))
    whole = all(run.phase_name.lower() in ("", *TOTALS) for _, run in runs)
    return runs, (*columns.notes(whole=whole), *notes)


def _runs(
    file: str, cells: Sequence[tuple[int, dict[str, str]]], columns: RunColumns
) -> Iterator[tuple[int, MeasuredRun]]:
    """Yield the run of each row, no run twice."""
    first_line: dict[tuple[Any, ...], int] = {}
    way_out = f"; number repeated runs in a column '{OPTIONAL}'"
    if OPTIONAL in columns.names:
        way_out = (
            f", with the same {columns.names[OPTIONAL][:40]!r}; name the column that parts them, such as "
            f"program=NAME or phase=NAME, or leave {OPTIONAL}= out"
        )
    for line, fields in cells:
        run = _run(file, line, fields)
        key = run[:5] + run[6:]
        if key in first_line:
            raise TraceFormatError(file, f"the run of line {first_line[key]} again{way_out}", line=line)
        first_line[key] = line
        yield line, run


def _cells(file: str, text: str, columns: RunColumns) -> Iterator[tuple[int, list[str]]]:
    """Lines that are not blank, by their number."""
    for line, fields in csv_rows(file, text, columns.looked_for()):
        cells = [field.strip(" ") for field in fields]
        if any(cells):
            yield line, cells


def _as_wide(
    file: str, header: list[str], rows: Iterator[tuple[int, list[str]]]
) -> Iterator[tuple[int, list[str]]]:
    """Rows with as many fields as the header."""
    for line, fields in rows:
        if len(fields) != len(header):
            raise TraceFormatError(
                file, f"{len(fields)} fields where the header has {len(header)}", line=line
            )
        yield line, fields


def _run(file: str, line: int, fields: dict[str, str]) -> MeasuredRun:
    def refuse(field: str, what: str) -> TraceFormatError:
        return TraceFormatError(file, f"{what}, got {cut(fields[field], 40)!r}", line=line, field=field)

    def whole(field: str) -> int:
        if not _WHOLE.fullmatch(fields[field]) or int(fields[field]) < 1:
            raise refuse(field, "must be a whole number from 1 to 999999999")
        return int(fields[field])

    name = fields["program"]
    if not is_name(name):
        raise refuse("program", f"must be 1 to {MAX_NAME} printable characters")
    if fields["kind"] not in KINDS:
        raise refuse("kind", "must be io or cpu")

    def decimal(field: str) -> float:
        text = fields[field]
        number = float(text) if _DECIMAL.fullmatch(text) else 0.0
        if not SHORTEST <= number <= LONGEST:
            point = " with a decimal point" if "," in text else ""
            raise refuse(field, f"must be a decimal number{point} from {SHORTEST:g} to {LONGEST:g}")
        return number

    phase, p = whole("phase"), whole("p")
    if NODES in fields and whole(NODES) > p:
        raise refuse(NODES, f"must be at most the {p} processors of the run")
    return MeasuredRun(
        name,
        phase,
        fields["kind"],
        p,
        whole("d"),
        decimal("seconds"),
        whole(OPTIONAL) if OPTIONAL in fields else 1,
        whole(NODES) if NODES in fields else None,
        decimal(WORK) if WORK in fields else None,
        fields.get(PHASE_NAME, ""),
    )
