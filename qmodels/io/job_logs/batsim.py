"""What Batsim reads and writes: a workload in JSON, and the table of jobs that it simulated."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from qmodels.errors import TraceFormatError
from qmodels.io._swf_log import JobLog
from qmodels.io.column_maps import name_column
from qmodels.io.job_logs._tables import Rows, find_columns
from qmodels.io.job_logs.formats import FORMATS, AbstractJobFormat, Choices
from qmodels.io.job_logs.lines import Lines, first_line
from qmodels.io.job_logs.stamps import Clock, zone_of
from qmodels.io.job_logs.states import SLURM, States
from qmodels.io.job_logs.table import (
    JobTable,
    number_in,
    number_in_cell,
    numbers_between,
    whole_number,
)

#: Of a JSON text, which is held in memory with some ten times its size; as of a trace in JSON.
MAX_JSON = 100_000_000
#: Neither says whether a resource is a core or a node.
UNNAMED = "processors"
_DELAYS, _SEQUENCES = ("DelayProfile", "delay"), ("SequentialCompositionProfile", "composed")
_LONGEST = 1e11  # seconds
_MOST_RESOURCES = 2**31
_COLUMNS = (
    "job_id",
    "submission_time",
    "requested_number_of_resources",
    "starting_time",
    "finish_time",
)


def _unit_of(choices: Choices) -> tuple[str, str]:
    """The unit, and a sentence on it."""
    if choices.unit is None:
        return UNNAMED, "sizes are Batsim's resources, cores or nodes, as the platform has it"
    return choices.unit, f"its resources are taken for {choices.unit}, as was said"


@FORMATS.register
class Batsim(AbstractJobFormat):
    """A workload of Batsim in JSON: jobs, and the profiles that say how long they take."""

    name = "batsim"
    rank = 60
    title = "a workload of Batsim in JSON"

    @classmethod
    def recognises(cls, lines: Sequence[str], choices: Choices) -> bool:
        """By a brace and the key "jobs"."""
        first = first_line(lines)
        start = "\n".join(lines)
        return first.lstrip().startswith("{") and '"jobs"' in start and '"params"' not in start

    @classmethod
    def read(cls, file: str, choices: Choices) -> JobLog:
        """See `AbstractJobFormat.read`."""
        workload = _loaded(file, choices.max_bytes or MAX_JSON)
        unit, said = _unit_of(choices)
        table = JobTable(file, choices, unit)
        times = _Times(file, workload.get("profiles"))
        for i, job in enumerate(_list(file, workload, "jobs")):
            _enter(table, times, file, f"jobs[{i}]", job)
        header: dict[str, Any] = {"Format": cls.name}
        if (machine := workload.get("nb_res")) is not None:
            count = table.spared(lambda: _number(file, "nb_res", machine, whole=True), 0.0)
            header |= {"MaxProcs": f"{count:.0f}"} if count else {}
        known_as = f"Read as batsim ({cls.title}), known by its keys; {said}."
        return table.log(Clock(), known_as=known_as, header=header)


def _loaded(file: str, max_bytes: int) -> Mapping[str, Any]:
    """The JSON object of a file."""
    text = "\n".join(Lines(file, max_bytes))
    try:
        found = json.loads(text, parse_constant=_refuse, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        raise TraceFormatError(file, f"is not JSON: {error.msg}", line=error.lineno) from None
    except (ValueError, RecursionError) as error:
        raise TraceFormatError(file, f"is not JSON that can be read: {error!s:.80}") from None
    if not isinstance(found, dict):
        raise TraceFormatError(file, "is no workload of Batsim: it holds no object", line=1)
    return found


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is no number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object none of whose keys is there twice, as of two jobs that ran into one."""
    found = dict(pairs)
    if len(found) < len(pairs):
        key = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"the key {key[:40]!a} is there twice in one object")
    return found


def _list(file: str, found: Mapping[str, Any], key: str) -> Iterator[Mapping[str, Any]]:
    jobs = found.get(key)
    if not isinstance(jobs, list):
        raise TraceFormatError(file, "must be a list of jobs", field=key)
    for i, job in enumerate(jobs):
        if not isinstance(job, dict):
            raise TraceFormatError(file, f"must be a job, got {job!r:.40}", field=f"{key}[{i}]")
        yield job


def _number(file: str, field: str, given: object, *, whole: bool = False) -> float:
    """A number of seconds, or a whole one as of resources; 0 or more."""
    number = given if isinstance(given, int | float) and not isinstance(given, bool) else math.nan
    most = _MOST_RESOURCES if whole else _LONGEST
    if not 0 <= number < most or (whole and number != int(number)):
        kind = "a whole number below 2^31" if whole else "a number of seconds below 1e11"
        what = f"must be {kind}, and not negative, got {given!r:.40}"
        raise TraceFormatError(file, what, field=field)
    return float(number)


def _enter(table: JobTable, times: _Times, file: str, field: str, job: Mapping[str, Any]) -> None:
    for key in ("subtime", "res", "profile"):
        if key not in job:
            raise TraceFormatError(file, "is missing", field=f"{field}.{key}")
    submit = _number(file, f"{field}.subtime", job["subtime"])
    size = _number(file, f"{field}.res", job["res"], whole=True)
    run = times.of(job["profile"], f"{field}.profile")
    wall = job.get("walltime")
    limit = -1.0 if wall in (None, -1) else _number(file, f"{field}.walltime", wall)
    ended = 0 <= limit < run
    table.add_run(
        submit,
        limit if ended else run,
        int(size),
        job=number_in(str(job.get("id", ""))),
        requested_time=limit,
        status=SLURM["TIMEOUT" if ended else "COMPLETED"],
    )


class _Times:
    """Run times of profiles; only delays, and sequences of them, say theirs."""

    def __init__(self, file: str, profiles: object) -> None:
        if not isinstance(profiles, dict):
            raise TraceFormatError(file, "must be a table of profiles", field="profiles")
        self.file, self.profiles = file, profiles
        self.known: dict[str, float] = {}

    def of(self, name: object, field: str, within: tuple[str, ...] = ()) -> float:
        """Seconds that a profile takes by itself."""
        if isinstance(name, str) and name in self.known:
            return self.known[name]
        profile = self.profiles.get(name) if isinstance(name, str) else None
        if not isinstance(name, str) or not isinstance(profile, dict):
            raise TraceFormatError(self.file, f"names no profile: {name!r:.40}", field=field)
        here = f"profiles.{name[:40]}"
        kind = profile.get("type")
        if kind in _DELAYS:
            seconds = _number(self.file, f"{here}.delay", profile.get("delay"))
        elif kind in _SEQUENCES:
            seconds = self._sequence(profile, here, (*within, name))
        else:
            raise TraceFormatError(
                self.file,
                f"is of type {kind!r:.40}, whose run time only a simulation tells; known are "
                f"{_DELAYS[0]} and {_SEQUENCES[0]}. Read the jobs.csv that Batsim writes instead",
                field=here,
            )
        self.known[name] = _number(self.file, here, seconds)
        return self.known[name]

    def _sequence(self, profile: Mapping[str, Any], here: str, within: tuple[str, ...]) -> float:
        parts = profile.get("seq")
        if not isinstance(parts, list) or len(within) > 100:
            raise TraceFormatError(self.file, "must be a list of profiles", field=f"{here}.seq")
        for part in parts:
            if part in within:
                raise TraceFormatError(self.file, f"contains itself: {part!r:.40}", field=here)
        repeat = _number(self.file, f"{here}.repeat", profile.get("repeat", 1), whole=True)
        return repeat * math.fsum(self.of(part, f"{here}.seq", within) for part in parts)


@FORMATS.register
class BatsimJobs(AbstractJobFormat):
    """The table `jobs.csv` of jobs that Batsim simulated."""

    name = "batsim-csv"
    rank = 60
    title = "Batsim's jobs.csv"
    is_table = True

    @classmethod
    def recognises(cls, lines: Sequence[str], choices: Choices) -> bool:
        """By a header with the columns of Batsim, in any order."""
        first = first_line(lines)
        return set(_COLUMNS) <= {name.strip() for name in first.split(",")}

    @classmethod
    def read(cls, file: str, choices: Choices) -> JobLog:
        """See `AbstractJobFormat.read`."""
        rows = Rows(Lines(file, choices.max_bytes), ",")
        for name in _COLUMNS:
            if name not in rows.header:
                raise name_column(file, name, rows.header)
        place = find_columns(rows.header)
        unit, said = _unit_of(choices)
        table = JobTable(file, choices, unit)
        clock, states = Clock(zone_of(choices.timezone), zero=True), States()
        for fields in rows:
            _enter_row(table, clock, states, rows, {n: fields[i] for n, i in place.items()})
        table.notes += states.notes()
        known_as = f"Read as batsim-csv ({cls.title}), known by its header; {said}."
        return table.log(clock, known_as=known_as, header={"Format": cls.name})


def _enter_row(table: JobTable, clock: Clock, states: States, rows: Rows, of: Mapping[str, str]) -> None:
    submit, start, end = (
        rows.read(name, of[name], clock.seconds)
        for name in ("submission_time", "starting_time", "finish_time")
    )
    name, asked = "requested_number_of_resources", -1
    if of[name]:
        asked = rows.read(name, of[name], whole_number)
    size, name = asked, "allocated_resources"
    if of.get(name):
        size = rows.read(name, of[name], _allocated)
    limit, name = -1.0, "requested_time"
    if (text := of.get(name)) and not text.startswith("-"):  # -1: none
        limit = table.spared(lambda: rows.read(name, text, clock.seconds), -1.0)
    state = of.get("final_state", "")
    start, end = states.times(state.upper(), start, end)
    table.add(
        submit,
        start,
        end,
        size,
        requested_processors=asked,
        requested_time=-1.0 if limit is None else limit,
        job=rows.read("job_id", of["job_id"], number_in_cell),
        status=states.code(state) if state else -1,
    )


def _allocated(text: str) -> int:
    """How many resources ``0-3 7`` are."""
    total = sum(map(numbers_between, text.split()))
    if total >= 2**31:
        raise ValueError("tells of more than 2^31 resources")
    return total
