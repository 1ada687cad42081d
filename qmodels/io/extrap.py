"""JSON lines of measured runs, as the performance modeller Extra-P reads and writes them."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from phasefit.checks import suggestion
from qmodels.errors import ModelError, TraceFormatError
from qmodels.io.files import file_name
from qmodels.io.run_table import (
    LONGEST,
    MAX_NAME,
    MOST,
    SHORTEST,
    MeasuredRun,
    RunTable,
    is_name,
    is_number,
)
from qmodels.whole_files import write_whole

KEYS = ("params", "callpath", "metric", "value")
METRIC = "time"

_CALLPATH = re.compile(r"(?:(?P<program>.+)->)?phase(?P<phase>[1-9][0-9]{0,8})->(?P<kind>io|cpu)")


def parse_lines(file: str, text: str) -> Iterator[tuple[int, MeasuredRun]]:
    """Read runs out of JSON lines, each with the number of its line; see `read_runs`.

    Raises
    ------
    TraceFormatError
        If a line is no such measurement; it names the line and the field.
    """
    lines = enumerate(text.split("\n"), start=1)
    return number_repeats(file, ((number, line) for number, line in lines if line.strip()))


def write_extrap(runs: RunTable, path: str | os.PathLike[str]) -> None:
    """Write measured runs as JSON lines that Extra-P and `read_runs` read.

    Parameters
    ----------
    runs : RunTable
    path : path-like
        The file to write; one that is there is replaced, whole or not at all.

    Raises
    ------
    ModelError
        If `runs` is no table of runs, has nodes or several sizes, a program's name holds ``->``, or
        the file cannot be written.

    Notes
    -----
    One line for each burst on each allotment, in the order of the table, seconds to the last
    digit: ``{"params": {"p": 4, "d": 2}, "callpath": "solver->phase1->io", "metric": "time",
    "value": [12.5, 12.7]}``. The repeats are listed by their number; read back, they count
    from 1.

    Examples
    --------
    >>> import pandas as pd, tempfile
    >>> from qmodels.io.runs import COLUMNS, RunTable, read_runs
    >>> rows = [("solver", 1, "cpu", p, 1, 96.0 / p) for p in (1, 2, 4)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "runs.jsonl"
    ...     write_extrap(RunTable(pd.DataFrame(rows, columns=list(COLUMNS))), file)
    ...     read_runs(file).frame["seconds"].tolist()
    [96.0, 48.0, 24.0]
    """
    frame = getattr(runs, "frame", None)
    if frame is None or not hasattr(frame, "itertuples"):
        raise ModelError(f"runs must be a RunTable (see read_runs), got {type(runs).__name__}")
    if "work" in frame and frame["work"].nunique() > 1:
        raise ModelError("the runs are of several sizes (column work), which call paths do not tell apart")
    if "nodes" in frame:
        raise ModelError(
            "the runs have a column nodes, which call paths have no place for; drop it to write them without"
        )
    values: dict[tuple[Any, ...], list[tuple[int, float]]] = {}
    for run in frame.itertuples(index=False):
        if "->" in run.program:
            raise ModelError(
                f"the program {run.program!r:.60} cannot be a call path, which '->' divides; rename it"
            )
        key = (run.program, int(run.phase), run.kind, int(run.p), int(run.d))
        values.setdefault(key, []).append((int(run.repeat), float(run.seconds)))
    lines = []
    for (program, phase, kind, p, d), repeats in values.items():
        line = {
            "params": {"p": p, "d": d},
            "callpath": f"{program}->phase{phase}->{kind}",
            "metric": METRIC,
            "value": [seconds for _, seconds in sorted(repeats)],
        }
        lines.append(json.dumps(line, ensure_ascii=False) + "\n")
    write_whole(file_name(path), "".join(lines).encode())


def parsed_json(file: str, text: str, line: int | None) -> Any:
    """Parse a text strictly: no key twice, no NaN."""
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        at = getattr(error, "lineno", None) if line is None else line
        raise TraceFormatError(file, f"is not JSON: {str(error)[:80]}", line=at) from None


def number_repeats(
    file: str, measurements: Iterable[tuple[int, str | dict[str, Any]]]
) -> Iterator[tuple[int, MeasuredRun]]:
    """Check measurements and give their runs, those on the same allotment numbered."""
    repeats: Counter[tuple[object, ...]] = Counter()
    own_name = _name_from(file)
    for number, given in measurements:
        for run in _measurement(file, number, given, own_name):
            repeats[run[:5]] += 1
            yield number, run._replace(repeat=repeats[run[:5]])


def _measurement(file: str, number: int, line: str | dict[str, Any], own_name: str) -> Iterator[MeasuredRun]:
    def refuse(what: str, field: str | None = None, value: object = None) -> TraceFormatError:
        shown = "" if field is None else f", got {repr(value)[:40]}"
        return TraceFormatError(file, what + shown, line=number, field=field)

    given = line if isinstance(line, dict) else parsed_json(file, line, number)
    if not isinstance(given, dict):
        raise refuse('must be a measurement like {"params": {"p": 4, "d": 2}, ...}')
    for key in given:
        if key not in KEYS:
            raise refuse(f"unknown key {key[:40]!r}; {suggestion(key, KEYS)}")
    for key in ("params", "callpath", "value"):
        if key not in given:
            raise refuse(f"the key {key} is missing; needed are params, callpath and value")
    if given.get("metric", METRIC) != METRIC:
        raise refuse(f"must be {METRIC!r}; leave other metrics out", "metric", given["metric"])
    path = given["callpath"]
    match = _CALLPATH.fullmatch(path) if isinstance(path, str) else None
    if match is None:
        raise refuse("must end in phaseN->io or phaseN->cpu, N = 1, 2, ...", "callpath", path)
    name = match["program"] or own_name
    if not is_name(name):
        raise refuse(
            f"must name the program by 1 to {MAX_NAME} printable characters",
            "callpath",
            path,
        )
    params = given["params"]
    if not isinstance(params, dict) or "p" not in params or not set(params) <= {"p", "d"}:
        raise refuse(
            "must have p, and may have d (1 if not given), nothing else",
            "params",
            params,
        )
    p, d = params["p"], params.get("d", 1)
    for field, units in (("p", p), ("d", d)):
        if not _is_whole(units):
            raise refuse(f"must be a whole number from 1 to {MOST}", field, units)
    seconds = given["value"] if isinstance(given["value"], list) else [given["value"]]
    if not seconds:
        raise refuse("must hold at least one time", "value", seconds)
    for time in seconds:
        if not is_number(time) or not SHORTEST <= time <= LONGEST:
            raise refuse(f"must be seconds from {SHORTEST:g} to {LONGEST:g}", "value", time)
        phase, kind = int(match["phase"]), match["kind"]
        yield MeasuredRun(name, phase, kind, int(p), int(d), float(time), 1)


def _is_whole(value: Any) -> bool:
    return is_number(value) and 1 <= value <= MOST and value == int(value)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is there twice")
    return found


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number of JSON")


def _name_from(file: str) -> str:
    name = "".join(c for c in Path(file).stem if c.isprintable())[:MAX_NAME]
    return name or "program"
