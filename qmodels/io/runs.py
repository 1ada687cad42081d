"""Tables of measured runs: one line per timed burst, as CSV or as JSON lines."""

from __future__ import annotations

import csv
import difflib
import io
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from qmodels.errors import ModelError, TraceFormatError
from qmodels.io._run_fields import (
    COLUMNS,
    KINDS,
    LONGEST,
    MAX_NAME,
    OPTIONAL,
    SHORTEST,
    MeasuredRun,
    check_allotments,
    is_name,
)
from qmodels.io.extrap import parse_lines
from qmodels.io.files import open_regular

if TYPE_CHECKING:
    import pandas as pd

MAX_BYTES = 10_000_000

_WHOLE = re.compile(r"[0-9]{1,9}", re.ASCII)
_DECIMAL = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", re.ASCII)


@dataclass(frozen=True, eq=False)
class RunTable:
    """Measured runs of one or more programs.

    Parameters
    ----------
    frame : pandas.DataFrame
        A row per timed burst: `program` (text), `phase` (1, 2, ...), `kind` (``"io"`` or
        ``"cpu"``), `p` processors, `d` disks, `seconds`, and optionally `repeat` (1, 2, ...),
        which is 1 where it is not given. The table keeps a copy.
    source : str
        Where it comes from, for reports.

    Raises
    ------
    ModelError
        If a column or a value does not fit, a run is there twice, or a program's phases are
        not numbered 1 to N.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [("solver", 1, "cpu", p, 1, 96.0 / p) for p in (1, 2, 4)]
    >>> RunTable(pd.DataFrame(rows, columns=list(COLUMNS))).programs
    ('solver',)
    """

    frame: pd.DataFrame
    source: str = ""

    def __post_init__(self) -> None:
        import pandas as pd

        if not isinstance(self.frame, pd.DataFrame):
            raise ModelError(f"frame must be a pandas.DataFrame, got {type(self.frame).__name__}")
        _check_columns([str(name) for name in self.frame.columns])
        frame = self.frame.reset_index(drop=True)
        if OPTIONAL not in frame:
            frame[OPTIONAL] = 1
        frame = frame[[*COLUMNS, OPTIONAL]]
        _check_values(frame)
        for column in ("phase", "p", "d", OPTIONAL):
            frame[column] = frame[column].astype("int64")
        frame["seconds"] = frame["seconds"].astype("float64")
        _check_design(frame)
        object.__setattr__(self, "frame", frame)

    @property
    def programs(self) -> tuple[str, ...]:
        """Names of the programs, in the order of their first run."""
        return tuple(self.frame["program"].unique())


def read_runs(path: str | os.PathLike[str]) -> RunTable:
    r"""Read a table of measured runs, CSV or JSON lines.

    Parameters
    ----------
    path : path-like
        UTF-8, at most 10 MB. Either CSV: comma-separated, with the header line
        ``program,phase,kind,p,d,seconds`` and optionally ``repeat``, in any order; `phase`
        counts from 1, `kind` is ``io`` or ``cpu``, `p` and `d` are whole numbers of processors
        and disks, `repeat` numbers the runs on the same allotment. Or, when it begins with a
        brace, the JSON lines of Extra-P: ``{"params": {"p": 4, "d": 2}, "callpath":
        "phase1->io", "metric": "time", "value": [12.5, 12.7]}``, where `d` is 1 if not given,
        the values are repeats, and a name before the phase (``solver->phase1->io``) is the
        program's; without one it is called like the file.

    Returns
    -------
    runs : RunTable

    Raises
    ------
    TraceFormatError
        If the file cannot be read or is not such a table, or a program was measured on fewer
        than three distinct allotments (p, d); it names the line and the field.

    Notes
    -----
    Numbers of a CSV table are plain decimal ASCII: ``1_000``, ``1,5``, ``nan`` and digits of
    other scripts are refused rather than guessed at.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "runs.csv"
    ...     lines = ["program,phase,kind,p,d,seconds"]
    ...     lines += [f"solver,1,io,{p},1,{30 / p}" for p in (1, 2, 4)]
    ...     _ = file.write_text("\n".join(lines), encoding="utf-8")
    ...     read_runs(file).frame["seconds"].tolist()
    [30.0, 15.0, 7.5]
    """
    if not isinstance(path, (str, os.PathLike)):
        raise ModelError(f"path must be a path, got {path!r:.60}")
    import pandas as pd

    file = str(path)
    text = _text(file)
    json_lines = text.lstrip().startswith("{")
    numbered = list(parse_lines(file, text) if json_lines else _rows(file, text))
    rows = [run for _, run in numbered]
    first = {run.program: line for line, run in reversed(numbered)}
    check_allotments(file, rows, first)
    try:
        return RunTable(pd.DataFrame(rows, columns=[*COLUMNS, OPTIONAL]), file)
    except ModelError as error:
        raise TraceFormatError(file, str(error)) from None


def _text(file: str) -> str:
    try:
        with open_regular(file, what="a CSV table") as stream:
            raw = stream.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise TraceFormatError(file, f"is larger than {MAX_BYTES} bytes; split it by program")
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise TraceFormatError(file, "is not UTF-8 text; save it as UTF-8", line=line) from None
    except (OSError, ValueError) as error:
        if isinstance(error, TraceFormatError):
            raise
        raise TraceFormatError(file, f"cannot be read: {error}") from None


def _rows(file: str, text: str) -> Iterator[tuple[int, MeasuredRun]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] | None = None
    first_line: dict[tuple[Any, ...], int] = {}
    while True:
        try:
            fields = next(reader, None)
        except csv.Error as error:
            raise TraceFormatError(file, f"is not CSV: {error}", line=reader.line_num) from None
        if fields is None:
            break
        fields = [field.strip(" ") for field in fields]
        if not any(fields):
            continue
        line = reader.line_num
        if header is None:
            header = fields
            try:
                _check_columns(header)
            except ModelError as error:
                raise TraceFormatError(file, str(error), line=line) from None
            continue
        if len(fields) != len(header):
            raise TraceFormatError(
                file,
                f"{len(fields)} fields where the header has {len(header)}",
                line=line,
            )
        run = _run(file, line, dict(zip(header, fields, strict=True)))
        key = run[:5] + run[6:]
        if key in first_line:
            raise TraceFormatError(
                file,
                f"the run of line {first_line[key]} again; number repeated runs in a column "
                f"'{OPTIONAL}'",
                line=line,
            )
        first_line[key] = line
        yield line, run
    if header is None:
        raise TraceFormatError(file, f"is empty; begin with the line {','.join(COLUMNS)}")
    if not first_line:
        raise TraceFormatError(file, "has a header but no run")


def _run(file: str, line: int, fields: dict[str, str]) -> MeasuredRun:
    def refuse(field: str, what: str) -> TraceFormatError:
        shown = fields[field] if len(fields[field]) <= 40 else fields[field][:37] + "..."
        return TraceFormatError(file, f"{what}, got {shown!r}", line=line, field=field)

    def whole(field: str) -> int:
        if not _WHOLE.fullmatch(fields[field]) or int(fields[field]) < 1:
            raise refuse(field, "must be a whole number from 1 to 999999999")
        return int(fields[field])

    name = fields["program"]
    if not is_name(name):
        raise refuse("program", f"must be 1 to {MAX_NAME} printable characters")
    if fields["kind"] not in KINDS:
        raise refuse("kind", "must be io or cpu")
    text = fields["seconds"]
    seconds = float(text) if _DECIMAL.fullmatch(text) else 0.0
    if not SHORTEST <= seconds <= LONGEST:
        raise refuse("seconds", f"must be a decimal number from {SHORTEST:g} to {LONGEST:g}")
    repeat = whole(OPTIONAL) if OPTIONAL in fields else 1
    return MeasuredRun(
        name, whole("phase"), fields["kind"], whole("p"), whole("d"), seconds, repeat
    )


def _check_columns(names: list[str]) -> None:
    known = (*COLUMNS, OPTIONAL)
    for name in names:
        if name not in known:
            close = difflib.get_close_matches(name.lower(), known, n=1)
            hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}"
            raise ModelError(f"unknown column {name[:40]!r}; {hint}")
        if names.count(name) > 1:
            raise ModelError(f"the column {name} is there {names.count(name)} times")
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise ModelError(f"the column {missing[0]} is missing; needed are {', '.join(COLUMNS)}")


def _check_values(frame: pd.DataFrame) -> None:
    """Raise ModelError for the first value of a frame that no run can have."""
    tests: dict[str, Callable[[Any], bool]] = {
        "program": is_name,
        "kind": lambda x: isinstance(x, str) and x in KINDS,
        "seconds": lambda x: _is_number(x) and SHORTEST <= x <= LONGEST,
    }
    for column in frame.columns:
        test = tests.get(column, _is_count)
        for row, value in enumerate(frame[column].tolist()):
            if not test(value):
                raise ModelError(f"row {row}: {column} must not be {value!r:.60}")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return _is_number(value) and 1 <= value <= 1e9 and value == int(value)


def _check_design(frame: pd.DataFrame) -> None:
    """Raise ModelError for runs that are there twice, and for phases left out."""
    again = frame.duplicated([name for name in frame if name != "seconds"])
    if again.any():
        row = int(again.to_numpy().argmax())
        raise ModelError(f"row {row} repeats a run; number repeated runs in '{OPTIONAL}'")
    for name, runs in frame.groupby("program", sort=False):
        phases = set(runs["phase"].tolist())
        gap = next(n for n in range(1, len(phases) + 2) if n not in phases)
        if gap <= max(phases):
            raise ModelError(
                f"program {name!r} has a phase {max(phases)} but no phase {gap}; number the "
                f"phases 1 to N"
            )
    if frame.empty:
        raise ModelError("there is no run in the table")
