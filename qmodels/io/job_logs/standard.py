"""The Standard Workload Format as one of the formats; its reader is `qmodels.io.swf`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from qmodels.errors import ModelError
from qmodels.io import swf
from qmodels.io._swf_log import JobLog
from qmodels.io._swf_parse import FIELDS
from qmodels.io.job_logs.formats import FORMATS, AbstractJobFormat, Choices
from qmodels.io.job_logs.lines import first_line

_NUMBERS = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)
_CODE = re.compile(r"-?[0-9]{1,18}", re.ASCII)


@FORMATS.register
class StandardFormat(AbstractJobFormat):
    """The Standard Workload Format of the Parallel Workloads Archive."""

    name = "swf"
    rank = 10
    title = "the Standard Workload Format"

    @classmethod
    def recognises(cls, lines: Sequence[str], choices: Choices) -> bool:
        """By a first line that begins with a semicolon or has 18 numbers."""
        first = first_line(lines)
        parts = first.split()
        return first.lstrip().startswith(";") or (
            len(parts) == len(FIELDS) and all(_NUMBERS.fullmatch(part) for part in parts)
        )

    @classmethod
    def read(cls, file: str, choices: Choices) -> JobLog:
        """See `AbstractJobFormat.read`."""
        if choices.columns is not None or choices.timezone is not None:
            raise ModelError(
                f"{file} is in the Standard Workload Format, which names its columns and its time "
                f"zone itself; leave columns and timezone out"
            )
        names = ("partition", "user", "status", "start", "end")
        given: dict[str, Any] = {name: getattr(choices, name) for name in names}
        given |= {name: _numbers(given[name]) for name in ("partition", "user")}
        most = swf.MAX_BYTES if choices.max_bytes is None else choices.max_bytes
        log = swf.read_swf(file, **given, max_bytes=most, columns=choices.keep)
        unit = "processors, whatever the site counts" if choices.unit is None else choices.unit
        said = f"Read as swf ({cls.title}); sizes are {unit}."
        object.__setattr__(log, "warnings", (said, *log.warnings))  # not yet seen by anybody
        return log


def _numbers(given: Any) -> Any:
    """Codes that are written as text, as the words of a command are, as numbers."""
    if isinstance(given, str):
        return int(given) if _CODE.fullmatch(given) else given
    return [_numbers(each) for each in given] if isinstance(given, list | tuple) else given
