"""Accounting of Grid Engine (SGE, UGE and kin): fields parted by colons, without a header."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from qmodels.io._swf_log import JobLog
from qmodels.io.job_logs.formats import FORMATS, AbstractJobFormat, Choices
from qmodels.io.job_logs.lines import Lines
from qmodels.io.job_logs.stamps import LATEST, Clock
from qmodels.io.job_logs.states import SLURM
from qmodels.io.job_logs.table import JobTable, begun, job_number, whole_number

_QUEUE, _OWNER, _JOB, _SUBMIT, _START, _END, _FAILED, _EXIT = 0, 3, 5, 8, 9, 10, 11, 12
_SLOTS, _TASK, _PE_TASK = 34, 35, 41
_NAMES = {
    _JOB: "job_number",
    _SUBMIT: "submission_time",
    _START: "start_time",
    _END: "end_time",
    _FAILED: "failed",
    _EXIT: "exit_status",
    _SLOTS: "slots",
    _TASK: "task_number",
}
_UNITS = {"cores": "its slots"}
#: The task of a parallel job on one of its hosts, whose slots the job's own row holds already.
_SLAVE = re.compile(r"[0-9]+\.[A-Za-z].*")
_PE_TASKS = "Rows for the parts of parallel jobs on single hosts"
_MILLISECONDS = 1e14
#: From the owner to the exit status, of which a record has one. That the owner is no number tells
#: it from the rusage fields, which may look like times.
_OF_ONE_JOB = re.compile(
    r":[^:]*[A-Za-z_][^:]*:[^:]*:[0-9]+:[^:]*:-?[0-9]+"
    r":[0-9]{9,14}:(?:0|[0-9]{9,14}):(?:0|[0-9]{9,14}):[0-9]+:[0-9]+(?=:)",
    re.ASCII,
)


@FORMATS.register
class Sge(AbstractJobFormat):
    """Grid Engine's accounting file: SGE, UGE, OGS."""

    name = "sge"
    rank = 50
    title = "Grid Engine's accounting"

    @classmethod
    def recognises(cls, lines: Sequence[str], choices: Choices) -> bool:
        """By 36 or more fields parted by colons, those of the job's times all numbers."""
        first = next((line for line in lines if line.strip() and not line.startswith("#")), "")
        f = first.split(":")
        numbers = (_JOB, _SUBMIT, _START, _END)
        return len(f) > _SLOTS and all(f[at].isascii() and f[at].isdecimal() for at in numbers)

    @classmethod
    def read(cls, file: str, choices: Choices) -> JobLog:
        """See `AbstractJobFormat.read`."""
        lines, table, clock = begun(file, choices, _UNITS)
        table.numbered = True
        most = 0
        for line in lines:
            comment = line.startswith("#")
            fields = line.split(":")
            if len(fields) > most:
                if sum(1 for _ in _OF_ONE_JOB.finditer(line)) > (not comment):
                    raise lines.fault(
                        "holds a second record: was what goes before it cut short, or its line "
                        "end lost? Part them"
                    )
                most = max(most, 0 if comment else len(fields))
            if not comment and line.strip():
                if not fields[_QUEUE].isprintable():
                    raise lines.fault("holds what does not print; is a line end lost?", "qname")
                _enter(table, clock, lines, fields)
        said = f"Read as sge ({cls.title}), known by its fields; sizes are {table.unit}: "
        said += f"{_UNITS[table.unit]}."
        return table.log(clock, known_as=said, header={"Format": cls.name})


def _enter(table: JobTable, clock: Clock, lines: Lines, f: Sequence[str]) -> None:
    def read(at: int, how: Any) -> Any:
        if at >= len(f):
            raise lines.fault(f"is missing: the line has {len(f)} fields", _NAMES[at])
        return lines.value(_NAMES[at], f[at], how)

    def seconds(text: str) -> float | None:
        """UGE writes milliseconds, which no second of the epoch is before the year 5138."""
        number = whole_number(text, most=int(_MILLISECONDS))
        return clock.seconds(text) if number < LATEST else _absolute(clock, number / 1000)

    submit, start, end = (read(at, seconds) for at in (_SUBMIT, _START, _END))
    if len(f) > _PE_TASK and _SLAVE.fullmatch(f[_PE_TASK]):
        table.left_out[_PE_TASKS] += 1
        return
    failed = [read(at, job_number) for at in (_FAILED, _EXIT)]
    table.add(
        submit,
        start,
        end,
        read(_SLOTS, whole_number),
        job=read(_JOB, job_number),
        task=read(_TASK, job_number),
        status=SLURM["FAILED" if any(failed) else "COMPLETED"],
        user=f[_OWNER],
        queue=f[_QUEUE],
    )


def _absolute(clock: Clock, seconds: float) -> float:
    clock.absolute = True
    return seconds
