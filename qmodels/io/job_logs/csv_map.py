"""Any table with a header, once it is said which column holds what."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from qmodels.errors import TraceFormatError
from qmodels.io._swf_log import JobLog
from qmodels.io.column_maps import checked_map, delimiter_of, name_column
from qmodels.io.job_logs._tables import Rows, find_columns
from qmodels.io.job_logs.formats import (
    ADVICE,
    FORMATS,
    UNITS,
    AbstractJobFormat,
    Choices,
    chosen_unit,
)
from qmodels.io.job_logs.lines import Lines, beginning, first_line
from qmodels.io.job_logs.stamps import Clock, duration, zone_of
from qmodels.io.job_logs.states import RUNS, WAITS, States
from qmodels.io.job_logs.table import JobTable, number_in_cell, whole_number

_NUMBER = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{0,20})?", re.ASCII)
_EXAMPLE = "submit = 'Created', end = 'Ended', cores = 'CPUs'"

#: What a column may hold.
KEYS = (
    "job",
    "submit",
    "start",
    "end",
    "run",
    *UNITS,
    "requested_time",
    "status",
    "user",
    "partition",
)


@FORMATS.register
class CsvMap(AbstractJobFormat):
    """A table with a header and a map from what is wanted to the names of its columns."""

    name = "csv"
    rank = 90
    title = "a table with a header"
    is_table = True

    @classmethod
    def recognises(cls, lines: Sequence[str], choices: Choices) -> bool:
        """By a map of columns, or by a header that has these very names."""
        if isinstance(choices.columns, Mapping):
            return True
        first = first_line(lines)
        names = set(first.replace(";", ",").replace("\t", ",").split(","))
        return {"submit", "start", "end"} <= names and bool(names & set(UNITS))

    @classmethod
    def read(cls, file: str, choices: Choices) -> JobLog:
        """See `AbstractJobFormat.read`."""
        first = first_line(beginning(file))
        if not first:
            raise TraceFormatError(file, "holds no jobs: it is empty")
        given = checked_map(choices.columns, KEYS, _EXAMPLE)
        names = list(given.values()) if given else list(KEYS)
        rows = Rows(Lines(file, choices.max_bytes), delimiter_of(first, names))
        columns = given or {key: key for key in KEYS if key in rows.header}
        for name in columns.values():
            if name not in rows.header:
                raise name_column(file, name, rows.header)
        _check_enough(file, columns)
        there = {key: columns[key] for key in UNITS if key in columns}
        unit = chosen_unit(file, choices.unit, there)
        place = find_columns(rows.header)
        reader = _Reader(rows, {key: place[name] for key, name in columns.items()}, columns, unit)
        table = JobTable(file, choices, unit)
        reader.clock = Clock(zone_of(choices.timezone), zero=True)
        for fields in rows:
            reader.enter(table, fields)
        table.notes += reader.states.notes()
        said = f"Read as csv ({cls.title}); sizes are {unit}, from {columns[unit]}."
        return table.log(reader.clock, known_as=said, header={"Format": cls.name})


def _check_enough(file: str, columns: Mapping[str, str]) -> None:
    """TraceFormatError where something that a job must have has no column."""
    for key, why in (
        ("submit", "the time of submission"),
        (next((k for k in UNITS if k in columns), "cores"), f"the size ({' or '.join(UNITS)})"),
        ("end" if "run" not in columns else "run", "the end (with start), or the run time (run)"),
        ("start" if "end" in columns else "submit", "the start"),
    ):
        if key not in columns:
            raise TraceFormatError(
                file,
                f"no column is named for {why}: give columns = {{{key} = 'NAME', ...}} "
                f"(--log-columns {key}=NAME,...)",
                field=key,
            )


class _Reader:
    """Reads rows by the places of their columns."""

    def __init__(self, rows: Rows, place: Mapping[str, int], names: Mapping[str, str], unit: str) -> None:
        self.rows, self.place, self.names, self.unit = rows, place, names, unit
        self.clock, self.states = Clock(zero=True), States()

    def enter(self, table: JobTable, fields: Sequence[str]) -> None:
        """Enter the job of a row."""

        def text(key: str) -> str:
            return fields[self.place[key]] if key in self.place else ""

        def read(key: str, how: Any) -> Any:
            return self.rows.read(self.names[key], text(key), how)

        def time(key: str, not_before: float | None = None) -> float | None:
            if key not in self.place:
                return None
            found: float | None = read(key, lambda t: self.clock.seconds(t, not_before))
            return found

        submit = time("submit")
        start = time("start", submit)
        end = time("end", start)
        size = read(self.unit, _size)
        state = self.states.state(text("status"))
        limit = text("requested_time")
        more: dict[str, Any] = {
            "job": read("job", number_in_cell) if text("job") else -1,
            "requested_time": -1.0,
            "status": self.states.code(state) if state else -1,
            "user": text("user"),
            "queue": text("partition"),
        }
        if limit:
            more["requested_time"] = table.spared(lambda: read("requested_time", _seconds), -1.0)
        if "end" not in self.place:
            run = read("run", _seconds) if text("run") else None
            if "start" not in self.place and submit is not None and run is not None:
                if state not in WAITS | RUNS:
                    table.add_run(submit, run, size, **more)
                    return
                start = submit
            if run is None or start is None:
                start = end = None
            else:
                end = start + run
        table.add(submit, *self.states.times(state, start, end), size, **more)


def _size(text: str) -> int:
    """A number of processors, 0 where nothing is given; 4.0 is 4."""
    return whole_number(text.removesuffix(".0")) if text and text.lower() != "nan" else 0


def _seconds(text: str) -> float:
    """A plain number of seconds, or a duration with colons; negative where not known."""
    if ":" in text:
        return duration(text)
    if _NUMBER.fullmatch(text) is None:
        raise ValueError("is no number of seconds such as 90 or 12.5, and no duration such as 1:02:03")
    return float(text)


def _advice(lines: Sequence[str]) -> str:
    """For a table: which columns to name."""
    first = first_line(lines)
    sign = max(",;\t", key=first.count)
    cells = [cell.strip()[:30] for cell in first.split(sign)]
    if len(cells) < 3 or any(cell.replace(".", "").isdigit() for cell in cells):
        return ""
    return (
        f"looks like a table; say which of its columns hold what, such as columns = {{submit = "
        f"..., start = ..., end = ..., cores = ...}} (--log-columns submit=...,start=...); it has "
        f"{', '.join(cells[:20])}"
    )


ADVICE.append(_advice)
