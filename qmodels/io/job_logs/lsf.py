"""Accounting of LSF (`lsb.acct`): fields parted by blanks, text in quotes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from qmodels.io._swf_log import JobLog
from qmodels.io.job_logs.formats import FORMATS, AbstractJobFormat, Choices
from qmodels.io.job_logs.lines import Lines, Rejected, first_line
from qmodels.io.job_logs.stamps import Clock
from qmodels.io.job_logs.states import SLURM
from qmodels.io.job_logs.table import JobTable, begun, job_number, whole_number

_FIELD = re.compile(r'"([^"]*(?:""[^"]*)*)"|([^ \t\n"]+)')
_BEGIN = re.compile(r'\s*"?(?:JOB|EVENT)_[A-Z_]+[0-9]?"?[ \t]+"[^" ]*"[ \t]+[0-9]+[ \t]')
#: A record that begins within a line; in text of another its quotes would be doubled.
_WITHIN = re.compile(r'"?(?:JOB|EVENT)_[A-Z_]+[0-9]?" "[^" ]*" [0-9]+ ')
_END, _JOB, _PROCESSORS, _SUBMIT, _START, _USER, _QUEUE, _ASKED = 2, 3, 6, 7, 10, 11, 12, 22
_INDEX = 29  #: fields behind the status: of the job in its array
_NAMES = {
    _END: "end time",
    _JOB: "job",
    _PROCESSORS: "numProcessors",
    _SUBMIT: "submitTime",
    _START: "startTime",
    _ASKED: "numAskedHosts",
}
_DONE, _EXIT = 64, 32  # bits of the status, beside that of what ran afterwards
_UNITS = {"cores": "its processors", "nodes": "the hosts that ran it"}
_MOST_LINES = 200  # of one record: a command over several lines


@FORMATS.register
class Lsf(AbstractJobFormat):
    """LSF's accounting file, lsb.acct."""

    name = "lsf"
    rank = 40
    title = "LSF's accounting, lsb.acct"

    @classmethod
    def recognises(cls, lines: Sequence[str], choices: Choices) -> bool:
        """By a first line that begins with an event such as ``"JOB_FINISH"``."""
        first = first_line(lines)
        return _BEGIN.match(first + " ") is not None

    @classmethod
    def read(cls, file: str, choices: Choices) -> JobLog:
        """See `AbstractJobFormat.read`."""
        lines, table, clock = begun(file, choices, _UNITS)
        table.numbered = True
        broken = Rejected(
            lines,
            "Records that were cut short, with the next one on their line",
            "is a record cut short, with the next one on its line, like most of this file",
        )
        differ = count = 0
        for line in lines:
            if not line.strip():
                continue
            if (begin := _last_begin(line)) > 0:
                # What goes before is a record without its end, or the end of one.
                broken.add()
                line = line[begin:]
            elif _BEGIN.match(line) is None:
                what = 'begins with no event of LSF such as "JOB_FINISH" "10.1" 1709284200'
                raise lines.fault(what, "event")
            at = lines.number
            whole = _whole(lines, line)
            if whole is None:
                broken.add()
                continue
            count += 1
            if line.split(None, 1)[0].strip('"') == "JOB_FINISH":
                differ += _enter(table, clock, lines, _fields(whole), at)
        broken.check(count)
        table.notes += broken.notes()
        if differ:
            table.notes.append(
                f"Jobs that held more processors than numProcessors, by the hosts that ran them, "
                f"which are taken: {differ:,}."
            )
        said = f"Read as lsf ({cls.title}), known by its first line; sizes are {table.unit}: "
        said += f"{_UNITS[table.unit]}."
        return table.log(clock, known_as=said, header={"Format": cls.name})


def _last_begin(line: str) -> int:
    """Where the last record of a line begins; 0 where there is one alone."""
    if line.find("JOB_", 2) < 0 and line.find("EVENT_", 2) < 0:
        return 0
    begins = [found.start() for found in _WITHIN.finditer(line, 2)]
    return begins[-1] if begins else 0


def _whole(lines: Lines, line: str) -> str | None:
    """The record that begins with a line: as many lines as it takes to close its quotes.

    None where another record begins in one of them, and is left to be read.
    """
    if line.count('"') % 2 == 0:
        return line
    taken = [line]
    while len(taken) <= _MOST_LINES and (following := next(lines, None)) is not None:
        taken.append(following)
        if _BEGIN.match(following) is not None:
            break
        if begin := _last_begin(following):
            lines.put_back([following[begin:]])
            return None
        if following.count('"') % 2:
            return "\n".join(taken)
    lines.put_back(taken[1:])
    raise lines.fault("has a quote that is not closed")


def _fields(line: str) -> list[str]:
    return [a.replace('""', '"') if a else b for a, b in _FIELD.findall(line)]


def _enter(table: JobTable, clock: Clock, lines: Lines, f: Sequence[str], line: int) -> bool:
    """Enter a job; whether its hosts hold more processors than it is said to have."""

    def read(at: int, how: Any, name: str = "") -> Any:
        named = name or _NAMES.get(at, f"field {at}")
        if at >= len(f):
            what = f"is missing: the line has {len(f)} fields"
            raise lines.fault(what, named, line=line)
        return lines.value(named, f[at], how, line=line)

    submit, start, end = (read(at, clock.seconds) for at in (_SUBMIT, _START, _END))
    said = read(_PROCESSORS, whole_number)
    at = _ASKED + 1 + read(_ASKED, whole_number)
    count = read(at, whole_number, "numExHosts")
    hosts = f[at + 1 : at + 1 + count]
    status_at = at + 1 + count
    status = read(status_at, _status, "jStatus")
    index = f[status_at + _INDEX] if status_at + _INDEX < len(f) else ""
    table.numbered &= index.isdecimal()  # else all of an array have one number
    task = lines.value("idx", index, job_number, line=line) if index.isdecimal() else -1
    slots, names = 0, set()
    for host in hosts:
        times, star, name = host.partition("*")
        if star and times.isdecimal() and times.isascii() and len(times) < 10:
            slots += int(times)
        else:
            slots, name = slots + 1, host
        names.add(name)
    more = start is not None and slots > said
    table.add(
        submit,
        start,
        end,
        len(names) if table.unit == "nodes" else max(said, slots),
        job=read(_JOB, job_number),
        task=task,
        status=status,
        requested_processors=said if table.unit == "cores" and said else -1,
        user=f[_USER],
        queue=f[_QUEUE],
    )
    return bool(more)


def _status(text: str) -> int:
    status = whole_number(text, most=4096)
    if not status & (_DONE | _EXIT):
        raise ValueError("is no status of a job that has ended, as 64 (done) or 32 (exit)")
    return SLURM["COMPLETED" if status & _DONE else "FAILED"]
