"""Options of commands that take a job log: its format, its unit, its columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import typer

from qmodels.commands import answers
from qmodels.commands.choices import LOG_FORMATS, STATUSES, UNITS, choice
from qmodels.commands.options import each_once
from qmodels.errors import ModelError

LogFormat = Annotated[
    str | None,
    choice(LOG_FORMATS, "--format", help="Of a job log; by default the content tells."),
]
LogUnit = Annotated[
    str | None,
    choice(
        UNITS,
        "--unit",
        help="Of a job log: what a processor stands for, where the log tells of several.",
    ),
]
LogColumns = Annotated[
    str | None,
    typer.Option(
        "--log-columns",
        help="Of a table of jobs: what its columns hold, such as "
        "submit=Created,start=Began,end=Ended,cores=CPUs. Of sacct without a header: its columns.",
    ),
]
LogZone = Annotated[
    str | None,
    typer.Option(
        "--timezone",
        help="Of a job log: the zone of times that name none, such as Europe/Berlin.",
    ),
]
LogStatus = Annotated[
    str | None, choice(STATUSES, "--status", help="Of a job log: only the jobs that ended so.")
]
LogPartition = Annotated[
    list[str] | None,
    typer.Option("--partition", help="Of a job log: only this partition or queue; repeatable."),
]


def columns_given(text: str | None) -> dict[str, str] | list[str] | None:
    """Read ``submit=Created,cores=CPUs`` as a map, ``JobID,Submit`` as a list; None for None.

    Raises
    ------
    ModelError
        If some parts have an equals sign and others have none, a part is empty, or a key is there
        twice.

    Examples
    --------
    >>> columns_given("submit=Created at,cores=CPUs"), columns_given("JobID,Submit")
    ({'submit': 'Created at', 'cores': 'CPUs'}, ['JobID', 'Submit'])
    """
    if text is None:
        return None
    pairs = [part.partition("=") for part in text.split(",")]
    signs = {bool(sign) for _, sign, _ in pairs}
    if len(signs) > 1 or not all(key.strip() and (name or not sign) for key, sign, name in pairs):
        raise ModelError(
            f"--log-columns: {text[:60]!r} is no map such as submit=Created,cores=CPUs and no "
            f"list such as JobID,Submit,Start"
        )
    if signs == {False}:
        return [key.strip() for key, _, _ in pairs]
    return each_once("--log-columns", [(key.strip(), name.strip()) for key, _, name in pairs])


def log_choices(
    format: str | None, unit: str | None, columns: str | None, timezone: str | None, **more: Any
) -> dict[str, Any]:
    """The options that were given, as `read_jobs` and a ``[log]`` table call them."""
    given = {
        "format": format,
        "unit": unit,
        "columns": columns_given(columns),
        "timezone": timezone,
    } | more
    return {name: value for name, value in given.items() if value is not None}


def say_of_log(remarks: Iterable[str]) -> None:
    """Say what the reader of a log noticed."""
    answers.remarks(remarks)
