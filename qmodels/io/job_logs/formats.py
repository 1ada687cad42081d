"""What a format of job logs is: a class with a name, a way to know it and a way to read it."""

from __future__ import annotations

import abc
import datetime
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from qmodels.errors import ModelError, TraceFormatError
from qmodels.io._swf_log import JobLog
from qmodels.io.job_logs.lines import beginning
from qmodels.registry import Registry

#: What one processor of the models may stand for.
UNITS = ("cores", "nodes", "gpus")

Moment = datetime.datetime | str | None


@dataclass(frozen=True)
class Choices:
    """What was asked of a log, checked; see `qmodels.io.read_jobs`."""

    unit: str | None = None
    columns: Mapping[str, str] | Sequence[str] | None = None
    timezone: str | None = None
    partition: object = None
    user: object = None
    status: object = None
    start: Moment = None
    end: Moment = None
    max_bytes: int | None = None
    keep: Collection[str] | None = None  #: columns of the result that are wanted


class AbstractJobFormat(abc.ABC):
    """One format of job logs.

    A class in the registry `FORMATS` can be named wherever a log is read; it needs no instance. The
    first line of its docstring says on the page of formats what it is.
    """

    name: ClassVar[str]
    title: ClassVar[str]  #: what it is, in words
    #: The content of a file is shown to formats in ascending order: first those that nothing else
    #: looks like, last those that take much.
    rank: ClassVar[int] = 70
    #: Whether files of it are comma-separated tables too, of which one column may be wanted.
    is_table: ClassVar[bool] = False

    @classmethod
    @abc.abstractmethod
    def recognises(cls, lines: Sequence[str], choices: Choices) -> bool:
        """Whether a text that begins with these whole lines is of this format."""

    @classmethod
    @abc.abstractmethod
    def read(cls, file: str, choices: Choices) -> JobLog:
        """Read the jobs; TraceFormatError says what is wrong with the file."""


FORMATS: Registry[AbstractJobFormat] = Registry(
    AbstractJobFormat, "format of job logs", order=lambda format: format.rank
)

#: Called with the lines a file begins with where no format knows them; returns advice or "".
ADVICE: list[Callable[[Sequence[str]], str]] = []


def detected(file: str, choices: Choices) -> type[AbstractJobFormat]:
    """The format that the first lines of a file show.

    Raises
    ------
    TraceFormatError
        If the file cannot be read, or no format knows its beginning.
    """
    lines = beginning(file)
    if (found := known_by(lines, choices)) is not None:
        return found
    if not any(line.strip() for line in lines):
        raise TraceFormatError(file, "holds no jobs: it is empty")
    advice = next((said for each in ADVICE if (said := each(lines))), "")
    shown = next(line for line in lines if line.strip())[:60]
    raise TraceFormatError(
        file,
        advice
        or f"begins like no job log that is known here, with {shown!a}; name its format "
        f"(--format): {', '.join(FORMATS)}",
        line=1,
    )


def known_by(lines: Sequence[str], choices: Choices | None = None) -> type[AbstractJobFormat] | None:
    """The first format that recognises a text by these lines, or None."""
    asked = choices or Choices()
    return next((each for each in FORMATS.values() if each.recognises(lines, asked)), None)


def chosen_unit(file: str, unit: str | None, there: Mapping[str, str]) -> str:
    """The unit of sizes: the one asked for, or the only one that the file names.

    Parameters
    ----------
    file : str
    unit : str, optional
    there : mapping
        The units of which the file tells, and where: ``{"cores": "AllocCPUS"}``.

    Raises
    ------
    TraceFormatError
        If the file tells of several units and none was named, or not of the one named.
    """
    told = " and ".join(f"{name} ({where})" for name, where in there.items())
    if unit is None:
        if len(there) == 1:
            return next(iter(there))
        raise TraceFormatError(
            file,
            f"tells of {told}; say which of them a processor of the model stands for: "
            f"{' or '.join(f'--unit {name}' for name in there)} (unit = {next(iter(there))!r} in "
            f"Python and in a [log] table)",
            field="unit",
        )
    if unit not in there:
        raise TraceFormatError(file, f"does not tell of {unit}, only of {told}", field="unit")
    return unit


def column_names(file: str, given: object) -> list[str] | None:
    """Names of columns in their order, for a file without a header; None where none are given."""
    if given is None:
        return None
    if isinstance(given, str | Mapping) or not isinstance(given, Sequence):
        raise ModelError(
            f"{file}: columns must be a list of names in the order of the file, got {given!r:.60}"
        )
    return [str(name) for name in given]


def said_name(path: str) -> str:
    """The last part of a path, for sentences."""
    return Path(path).name
