"""Accounting of PBS Pro, OpenPBS and Torque: a line for each event, of which the ends are jobs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from qmodels.io._swf_log import JobLog
from qmodels.io.job_logs.formats import FORMATS, AbstractJobFormat, Choices
from qmodels.io.job_logs.lines import Lines, Rejected, first_line
from qmodels.io.job_logs.stamps import Clock, duration
from qmodels.io.job_logs.states import SLURM
from qmodels.io.job_logs.table import JobTable, begun, job_number, numbers_between, whole_number

_LINE = re.compile(
    r"[0-9]{2}/[0-9]{2}/[0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2};([A-Za-z]);([^;]*);(.*)",
    re.ASCII | re.DOTALL,
)
_BEGIN = re.compile(r"[0-9]{2}/[0-9]{2}/[0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2};[A-Za-z];", re.ASCII)
_ID = re.compile(r"([0-9]{1,15})(?:\[([0-9]{0,15})\]|-([0-9]{1,15}))?(?:\..*)?", re.ASCII)
_WHOLE_ARRAYS = "Rows for whole arrays of jobs"
_UNITS = {"cores": "exec_host", "nodes": "hosts of exec_host", "gpus": "ngpus"}


@FORMATS.register
class Pbs(AbstractJobFormat):
    """Accounting logs of PBS Pro, OpenPBS and Torque."""

    name = "pbs"
    rank = 30
    title = "accounting of PBS or Torque"

    @classmethod
    def recognises(cls, lines: Sequence[str], choices: Choices) -> bool:
        """By a first line ``MM/DD/YYYY HH:MM:SS;TYPE;ID;...``."""
        first = first_line(lines)
        return _LINE.fullmatch(first) is not None

    @classmethod
    def read(cls, file: str, choices: Choices) -> JobLog:
        """See `AbstractJobFormat.read`."""
        lines, table, clock = begun(file, choices, _UNITS)
        table.numbered = True
        broken = Rejected(
            lines,
            "Records that were cut short, or hold values of two jobs",
            "is a record cut short, or holds values of two jobs, like most of this file; does each "
            "record stand on a line of its own?",
        )
        ends = 0
        for line in lines:
            match = _LINE.fullmatch(line)
            if match is None or ";" in match[3]:
                if not line.strip():
                    continue
                match = _last_record(lines, line, match, broken)
            if match[1] != "E":
                continue
            if (keys := _keys(match[3])) is None:
                broken.add()
            else:
                ends += 1
                _enter(table, clock, lines, match[2], keys)
        broken.check(ends)
        table.notes += broken.notes()
        said = (
            f"Read as pbs ({cls.title}), known by its first line; sizes are {table.unit}, from "
            f"{_UNITS[table.unit]} or else from what was asked for."
        )
        return table.log(clock, known_as=said, header={"Format": cls.name})


def _last_record(lines: Lines, line: str, match: re.Match[str] | None, broken: Rejected) -> re.Match[str]:
    """The record that ends a line; those before it on the line were cut short."""
    begins = [begin.start() for begin in _BEGIN.finditer(line)]
    last = None if not begins else _LINE.fullmatch(line[begins[-1] :])
    if last is None:
        if match is not None:
            return match
        raise lines.fault("is no line MM/DD/YYYY HH:MM:SS;TYPE;ID;key=value ... of PBS")
    broken.add(len(begins) - (begins[0] == 0))
    return last


def _keys(message: str) -> dict[str, str] | None:
    """The values by key; None where a key has two of them, as of two records run into one."""
    pairs = [word.split("=", 1) for word in message.split(" ") if "=" in word]
    keys: dict[str, str] = dict(pairs)
    if len(keys) < len(pairs) and any(keys[key] != value for key, value in pairs):
        return None
    return keys


def _enter(table: JobTable, clock: Clock, lines: Lines, text: str, keys: Mapping[str, str]) -> None:
    match = _ID.fullmatch(text)
    if match is None:
        raise lines.fault(f"{text[:40]!a} is no job such as 123.host or 123[4].host", "job")
    if match[2] == "":
        table.left_out[_WHOLE_ARRAYS] += 1
        return

    def read(key: str, how: Any, missing: Any) -> Any:
        if key not in keys:
            return missing
        return lines.value(key, keys[key], how)

    submit, queued, start, end = (
        read(key, clock.seconds, None) for key in ("ctime", "qtime", "start", "end")
    )
    used = {"cores": 0, "nodes": 0, "gpus": 0}
    used["cores"], used["nodes"] = read("exec_host", _of_hosts, (0, 0))
    if keys.get("exec_gpus"):
        used["gpus"] = keys["exec_gpus"].count("+") + 1
    unit = table.unit
    # What was asked for is what users wrote; a job may be told without it.
    limit = table.spared(lambda: read("Resource_List.walltime", _wall, -1.0), -1.0)
    nothing: dict[str, int] = {}
    asked = table.spared(lambda: _asked(read), nothing) if used[unit] else _asked(read)
    table.add(
        queued if submit is None else submit,
        start,
        end,
        used[unit] or asked.get(unit, 0),
        job=int(match[1]),
        task=int(match[2] or match[3] or -1),
        requested_processors=asked.get(unit) or -1,
        requested_time=limit,
        status=read("Exit_status", _status, -1),
        user=keys.get("user", ""),
        queue=keys.get("queue", ""),
    )


def _asked(read: Callable[[str, Any, Any], Any]) -> dict[str, int]:
    """How much of each unit was asked for."""
    asked: dict[str, int] | None = read("Resource_List.select", _of_select, None)
    if asked is None:
        asked = read("Resource_List.nodes", _of_nodes, None)
    if asked is None:
        asked = {"nodes": read("Resource_List.nodect", whole_number, 0)}
    for name, resource in (("cores", "ncpus"), ("cores", "procs"), ("gpus", "ngpus")):
        if not asked.get(name):  # ncpus may say 1 where the selection says more
            asked[name] = read(f"Resource_List.{resource}", whole_number, 0)
    return asked


def _of_hosts(text: str) -> tuple[int, int]:
    """Processors and nodes of ``n1/7+n1/6`` (one each), ``n1/0*13`` or ``n1/0-7,9``."""
    hosts, processors = set(), 0
    for part in text.split("+"):
        host, slash, places = part.partition("/")
        if not host:
            raise ValueError("is no list of hosts such as n1/0+n1/1 or n1/0*8")
        hosts.add(host)
        processors += sum(map(_places, places.split(","))) if slash else 1
    if processors >= 2**31:
        raise ValueError("tells of more than 2^31 processors")
    return processors, len(hosts)


def _places(text: str) -> int:
    first, star, count = text.partition("*")
    if star:
        job_number(first)
        return whole_number(count)
    return numbers_between(text)


def _of_select(text: str) -> dict[str, int]:
    """What ``5:ncpus=13:ngpus=1+1:ncpus=2`` asks for."""
    asked = {"cores": 0, "nodes": 0, "gpus": 0}
    for chunk in text.split("+"):
        count, *resources = chunk.split(":")
        times = whole_number(count) if count.isdigit() else 1
        if not count.isdigit():  # one chunk of what is named
            resources.insert(0, count)
        of = dict(each.partition("=")[::2] for each in resources)
        asked["nodes"] += times
        asked["cores"] += times * whole_number(of.get("ncpus", "1"))
        asked["gpus"] += times * whole_number(of.get("ngpus", "0"))
    return asked


def _of_nodes(text: str) -> dict[str, int]:
    """What ``4:ppn=8+1:ppn=2:gpus=1`` of Torque asks for; a name of a node stands for one."""
    asked = {"cores": 0, "nodes": 0, "gpus": 0}
    for chunk in text.partition("#")[0].split("+"):
        count, *properties = chunk.split(":")
        times = whole_number(count) if count.isdigit() else 1
        of = dict(each.partition("=")[::2] for each in properties)
        asked["nodes"] += times
        asked["cores"] += times * whole_number(of.get("ppn", "1"))
        asked["gpus"] += times * whole_number(of.get("gpus", "0"))
    return asked


def _wall(text: str) -> float:
    return duration(text) if ":" in text else float(job_number(text))


def _status(text: str) -> int:
    """0 is success; else the program's code, or 256 and a signal's number."""
    job_number(text.removeprefix("-"))
    return SLURM["COMPLETED"] if text == "0" else SLURM["FAILED"]
