"""Slurm's accounting as `sacct --parsable2` prints it: fields parted by bars, nothing quoted.

Names of jobs and command lines may hold bars and newlines, so a row is not always a line.
`_sacct_rows` parts the rows; here stands what their fields mean.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from qmodels.errors import TraceFormatError
from qmodels.io._swf_log import JobLog
from qmodels.io.column_maps import name_column
from qmodels.io.job_logs._sacct_rows import FREE_TEXT, Odd, Rows
from qmodels.io.job_logs.formats import (
    ADVICE,
    FORMATS,
    AbstractJobFormat,
    Choices,
    chosen_unit,
    column_names,
)
from qmodels.io.job_logs.lines import Lines, first_line
from qmodels.io.job_logs.stamps import Clock, duration, zone_of
from qmodels.io.job_logs.states import States, times_of
from qmodels.io.job_logs.table import (
    NEVER_STARTED,
    STEPS,
    JobTable,
    job_number,
    whole_number,
)
from qmodels.io.line_ends import other_end

#: Where the number of each unit is found, the first that is there; a resource of `AllocTRES`.
_SIZES = {
    "cores": (("AllocCPUS", "NCPUS"), ("cpu",)),
    "nodes": (("AllocNodes", "NNodes"), ("node",)),
    "gpus": ((), ("gres/gpu",)),
}
_REQUESTED = {"cores": "ReqCPUS", "nodes": "ReqNodes", "gpus": ""}
_IDS = frozenset({"jobid", "jobidraw"})
_NEEDED = ("Submit", "Start", "End", "State")
_ID = re.compile(r"([0-9]{1,15})(?:_([0-9]{1,15}))?(?:\+([0-9]{1,9}))?", re.ASCII)
_BUNDLE = re.compile(r"[0-9]{1,15}_\[.*", re.ASCII)
_STEP_NAME = re.compile(r"[A-Za-z_]+|[0-9]+(?:\+[0-9]+)?", re.ASCII)
_LONGEST_ID = 48
_AT_JOB = 4  #: where the number of the job stands in what is read of a row
_COUNT = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)([KMG]?)", re.ASCII)
_TIMES = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}
_NO_LIMIT = frozenset({"", "UNLIMITED", "Partition_Limit", "INVALID"})
_STEP = object()  # what a row of a step is read as
_BUNDLED = object()


@FORMATS.register
class Sacct(AbstractJobFormat):
    """Slurm's accounting: `sacct --parsable2` (or `-P`, `-p`), with its header row."""

    name = "sacct"
    rank = 20
    title = "Slurm's accounting, sacct --parsable2"

    @classmethod
    def recognises(cls, lines: Sequence[str], choices: Choices) -> bool:
        """By a header row with JobID, or by the columns that were named."""
        first = first_line(lines)
        if isinstance(choices.columns, Mapping):  # for a table
            return False
        names = {name.lower() for name in first.split(_sign(first))}
        if names & _IDS and names & {"submit", "start", "end"}:
            return True
        return isinstance(choices.columns, list | tuple) and "|" in first

    @classmethod
    def read(cls, file: str, choices: Choices) -> JobLog:
        """See `AbstractJobFormat.read`."""
        lines = Lines(file, choices.max_bytes)
        names, known_by, sign = _header(lines, choices)
        meaning = _Meaning(file, names, choices)
        rows = Rows(lines, len(names), _free(names), meaning.values, meaning.check, meaning.begins, sign)
        table, clock = meaning.table, meaning.clock
        table.numbered = True
        for values in rows:
            if values is _STEP:
                table.left_out[STEPS] += 1
            elif values is _BUNDLED:
                table.left_out[NEVER_STARTED] += 1
            else:
                meaning.enter(values)
        table.notes += rows.notes() + meaning.notes()
        said = (
            f"Read as sacct ({cls.title}), known by {known_by}; sizes are {table.unit}, "
            f"from {meaning.size_from}."
        )
        return table.log(clock, known_as=said, header={"Format": cls.name})


def _sign(header: str) -> str:
    """What parts the fields: a bar, or what sacct --delimiter was given."""
    for sign in ",;\t^~":
        if _IDS & {name.lower() for name in header.split(sign)}:
            return sign if sign in header else "|"
    return "|"


def _header(lines: Lines, choices: Choices) -> tuple[list[str], str, str]:
    """Names of the columns, what they are known by, and the sign that parts them."""
    first = first_line(lines)
    given = column_names(lines.file, choices.columns)
    if given is not None:
        sign = _sign(first)
        if [name.lower() for name in first.split(sign)] == [name.lower() for name in given]:
            return given, "the columns named", sign
        lines.put_back([first])
        return given, "the columns named", "|"
    sign = _sign(first)
    names = first.split(sign)
    for name in names:
        if (end := other_end(name)) is not None and end != other_end(sign):
            raise lines.fault(f"holds {end}: is its line end lost?", name[:40])
    if len(names) > 1 and not names[-1]:  # sacct -p ends every line with a bar
        names[-1] = " "
    if not _IDS & {name.lower() for name in names}:
        raise lines.fault(
            "the first line names no JobID: let sacct print its header row, or name the columns "
            "in their order (columns = ['JobID', 'Submit', ...])",
            "JobID",
        )
    return names, "its header row", sign


def _free(names: Sequence[str]) -> list[int]:
    """Columns of free text, where a bar or a newline may stand."""
    lower = [name.lower() for name in names]
    return [i for i, name in enumerate(lower) if name in FREE_TEXT]


class _Meaning:
    """What the fields of a row say."""

    def __init__(self, file: str, names: Sequence[str], choices: Choices) -> None:
        self.file, self.names = file, list(names)
        self.place: dict[str, int] = {}
        for i, name in enumerate(names):
            if self.place.setdefault(name.lower(), i) != i and name.lower() not in FREE_TEXT:
                raise TraceFormatError(file, f"has two columns {name[:40]!r}", line=1, field=name[:40])
        for name in _NEEDED:
            if name.lower() not in self.place:
                raise name_column(file, name, names)
        if not _IDS & set(self.place):
            raise name_column(file, "JobID", names)
        self.id = self.place.get("jobid", self.place.get("jobidraw", -1))
        self.raw_id = self._at("JobIDRaw") if "jobid" in self.place else -1
        self.unit = chosen_unit(file, choices.unit, self._units())
        self.size, self.resource, self.size_from = self._size()
        self.asked = self._at(_REQUESTED[self.unit])
        self.submit, self.start, self.end, self.state = (self._at(name) for name in _NEEDED)
        self.limit_raw, self.limit = self._at("TimelimitRaw"), self._at("Timelimit")
        self.elapsed_raw, self.elapsed = self._at("ElapsedRaw"), self._at("Elapsed")
        self.total_cpu = self._at("TotalCPU")
        self.user, self.queue = self._at("User"), self._at("Partition")
        self.table = JobTable(file, choices, self.unit)
        self.clock, self.states = Clock(zone_of(choices.timezone)), States()
        self.differ = 0
        self.least, self.most = 2**53, 0  # number of a job so far
        self.typed = {i: _CHECKS[name] for name, i in self.place.items() if name in _CHECKS}

    def _at(self, name: str) -> int:
        return self.place.get(name.lower(), -1)

    def enter(self, values: tuple[Any, ...]) -> None:
        """Enter what was read of a row in the table."""
        (
            submit,
            start,
            end,
            size,
            job,
            task,
            part,
            asked,
            limit,
            cpu,
            state,
            user,
            queue,
            differs,
            stamped,
        ) = values
        self.differ += differs
        self.states.without_end += stamped
        if not self.least <= job <= self.most:
            self.least, self.most = min(self.least, job), max(self.most, job)
        self.table.add(
            submit,
            start,
            end,
            size,
            job=job,
            task=task,
            part=part,
            requested_processors=asked,
            requested_time=limit,
            cpu_time=cpu,
            status=self.states.code(state),
            user=user,
            queue=queue,
        )

    def _units(self) -> dict[str, str]:
        there = {}
        for unit, (columns, _) in _SIZES.items():
            named = [name for name in columns if self._at(name) >= 0]
            named += ["AllocTRES"] * (self._at("AllocTRES") >= 0)
            if named:
                there[unit] = named[0]
        if not there:
            known = ", ".join(name for columns, _ in _SIZES.values() for name in columns)
            raise TraceFormatError(
                self.file,
                f"tells no sizes: add one of {known}, AllocTRES to sacct --format",
                line=1,
                field="AllocCPUS",
            )
        return there

    def _size(self) -> tuple[int, str, str]:
        """Column of the size, the resource in it where it is a list of them, and the words."""
        columns, (resource,) = _SIZES[self.unit]
        for name in columns:
            if self._at(name) >= 0:
                return self._at(name), "", name
        return self._at("AllocTRES"), resource, f"{resource} of AllocTRES"

    def values(self, f: Sequence[str]) -> Any:
        """What is read of a row; Odd names the field that is wrong."""
        text = f[self.id]
        task = part = -1
        if text.isascii() and text.isdigit() and len(text) < 16:
            job = int(text)
        elif match := _ID.fullmatch(text):
            job = int(match[1])
            task, part = int(match[2] or -1), int(match[3] or -1)
        elif _BUNDLE.fullmatch(text):
            return _BUNDLED
        elif _is_step(text):
            return _STEP
        else:
            raise Odd(self.names[self.id], text, "is no number of a job such as 123 or 123_4")
        if self.raw_id >= 0 and task >= 0 and f[self.raw_id].isdigit():
            job = self._read(self.raw_id, f, job_number)
        submit = self._time(self.submit, f, None)
        start = self._time(self.start, f, submit)
        end = self._time(self.end, f, start)
        state = self.states.state(f[self.state])
        stamped = end is not None
        start, end = times_of(state, start, end)
        size, differs = 0, False
        if start is not None and end is not None:
            size = self._read(self.size, f, self._count)
            differs = end > start and self._differs(f, end - start)
        asked = self._read(self.asked, f, _plain_count) if self.asked >= 0 else -1
        cpu = -1.0
        if self.total_cpu >= 0 and size > 0 and f[self.total_cpu] not in _NO_LIMIT:
            cpu = self._read(self.total_cpu, f, duration) / size
        return (
            submit,
            start,
            end,
            size,
            job,
            task,
            part,
            asked or -1,
            self._limit(f),
            cpu,
            state,
            f[self.user] if self.user >= 0 else "",
            f[self.queue] if self.queue >= 0 else "",
            differs,
            stamped and end is None,
        )

    def _read(self, at: int, f: Sequence[str], how: Any) -> Any:
        try:
            return how(f[at])
        except ValueError as error:
            raise Odd(self.names[at], f[at], str(error)) from None

    def _time(self, at: int, f: Sequence[str], not_before: float | None) -> float | None:
        try:
            return self.clock.seconds(f[at], not_before)
        except ValueError as error:
            what = "is no time such as 2024-03-01T12:00:00, seconds of the epoch or Unknown"
            told = str(error)
            raise Odd(self.names[at], f[at], told if told.startswith("is") else what) from None

    def _count(self, text: str) -> int:
        return _resource(text, self.resource) if self.resource else _plain_count(text)

    def _limit(self, f: Sequence[str]) -> float:
        """Seconds that were asked for; -1 for none."""
        at = self.limit_raw
        if at >= 0 and f[at].isdigit():
            return 60.0 * float(self._read(at, f, whole_number))
        at = self.limit
        if at < 0 or f[at] in _NO_LIMIT:
            return -1.0
        return float(self._read(at, f, duration))

    def _differs(self, f: Sequence[str], run: float) -> bool:
        """Whether Slurm's own time differs from that between the stamps."""
        if self.elapsed_raw >= 0:
            told = f[self.elapsed_raw]
            return told.isdecimal() and len(told) < 16 and abs(int(told) - run) > 1
        if self.elapsed < 0 or f[self.elapsed] in _NO_LIMIT:
            return False
        return bool(abs(self._read(self.elapsed, f, duration) - run) > 1)

    def check(self, f: Sequence[str]) -> bool:
        """Whether every field of a known kind holds such a thing or nothing, in a step too."""
        try:
            return all(not f[at] or how(f[at]) is not False for at, how in self.typed.items())
        except (ValueError, Odd):
            return False

    def begins(self, text: str, known: Any) -> list[str]:
        """The first fields that a row may have which begins at the end of a text.

        The number of a job counts only where it is of the size of those of the log so far, and of
        the job that the row is read as otherwise: else a name such as ``run_2|x`` could not be
        told from the beginning of job 2.
        """
        if self.id:
            return [text[at:] for at in range(max(len(text) - _LONGEST_ID, 0), len(text) + 1)]
        seen = [self.least, self.most] if self.most else []
        seen += [known[_AT_JOB]] if isinstance(known, tuple) else []
        found = []
        for at in range(max(len(text) - _LONGEST_ID, 0), len(text)):
            if text[at] not in "123456789" or not _is_id(text[at:]):
                continue
            number = int(re.split(r"[_+.]", text[at:])[0])
            if not seen or min(seen) / 2 <= number <= 2 * max(seen):
                found.append(text[at:])
        return found

    def notes(self) -> list[str]:
        """Sentences on states and times."""
        found = self.states.notes()
        if self.differ:
            found.append(
                f"Jobs whose Elapsed differs from End - Start, which is used: {self.differ:,} "
                f"(suspended for a while, or a change of the clock)."
            )
        return found


def _plain_count(text: str) -> int:
    """A number of processors; sacct shortens 2048 to 2K. Nothing is none."""
    if text.isascii() and text.isdigit():
        return whole_number(text)
    match = _COUNT.fullmatch(text)
    if match is None:
        if not text:
            return 0
        raise ValueError("is no number of processors or nodes")
    value = float(match[1]) * _TIMES[match[2]]
    if not value.is_integer() or value >= 2**31:
        raise ValueError("is no whole number below 2^31")
    return int(value)


def _resource(text: str, name: str) -> int:
    """How much of a resource a list such as ``cpu=256,gres/gpu:a100=2`` tells; 0 for none."""
    total, kinds = 0, 0
    for entry in filter(None, text.split(",")):
        key, equals, value = entry.partition("=")
        if not equals:
            raise ValueError("is no list of resources such as cpu=4,node=1")
        if key == name:
            total = _plain_count(value)
        elif key.startswith(name + ":"):
            kinds += _plain_count(value)
    return total or kinds


def _is_state(text: str) -> bool:
    return re.fullmatch(r"[A-Za-z_]+\+?( by \S+)?", text) is not None


def _is_step(text: str) -> bool:
    job, dot, name = text.partition(".")
    return bool(dot and _ID.fullmatch(job) and _STEP_NAME.fullmatch(name))


def _is_id(text: str) -> bool:
    return bool(_ID.fullmatch(text) or _is_step(text) or _BUNDLE.fullmatch(text))


def _is_time(text: str) -> bool:
    Clock().seconds(text)
    return True


def _is_limit(text: str) -> bool:
    return text in _NO_LIMIT or duration(text) >= 0


def _is_resources(text: str) -> bool:
    return all("=" in entry for entry in text.split(","))


_CHECKS: dict[str, Any] = (
    dict.fromkeys(("jobid", "jobidraw"), _is_id)
    | dict.fromkeys(("submit", "start", "end", "eligible"), _is_time)
    | dict.fromkeys(("elapsed", "cputime", "totalcpu", "usercpu", "systemcpu"), duration)
    | dict.fromkeys(("ncpus", "alloccpus", "reqcpus", "nnodes", "allocnodes", "reqnodes"), _plain_count)
    | dict.fromkeys(("elapsedraw", "cputimeraw", "ntasks", "uid", "gid"), job_number)
    | dict.fromkeys(("alloctres", "reqtres"), _is_resources)
    | {
        "state": _is_state,
        "timelimit": _is_limit,
        "exitcode": lambda text: re.fullmatch(r"[0-9]+:[0-9]+", text) is not None,
    }
)


def _advice(lines: Sequence[str]) -> str:
    """What to do about sacct's other ways to print."""
    first = first_line(lines)
    if first.lower().split()[:1] in (["jobid"], ["jobidraw"]) and "|" not in first:
        return (
            "is sacct's table for people, whose fields are cut; have it printed by "
            "sacct --parsable2 --format=JobID,Submit,Start,End,State,AllocCPUS,NNodes,User"
        )
    if first.count("|") > 2 and re.match(r"[0-9]+(_[0-9]+)?\|", first):
        return (
            "looks like sacct without its header row (-n); name the columns in their order "
            "(columns = ['JobID', 'Submit', ...], --log-columns JobID,Submit,...)"
        )
    return ""


ADVICE.append(_advice)
