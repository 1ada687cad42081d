"""What a command answers: the JSON that all commands share, remarks beside it, who works, and seeds."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

import typer

#: What the answer of a command in JSON says it is. The version grows when a name goes away or
#: changes its meaning; what is in `result` is the command's own.
SCHEMA: Final = "qmodels.command"
VERSION: Final = 1


@dataclass
class _Call:
    """The command that runs, and what it has remarked on."""

    command: str = ""
    given: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


_call: Final = _Call()


def _begin(context: typer.Context, value: bool) -> bool:
    """Note which command begins; a program may call several, one after the other."""
    _call.command, _call.given, _call.warnings = str(context.info_name), context.params, []
    return value


def running_command() -> tuple[str, dict[str, Any]]:
    """Name of the command that runs, and what it was given for each of its parameters."""
    return _call.command, _call.given


AsJson = Annotated[
    bool,
    typer.Option(
        "--json",
        callback=_begin,
        help="Print one JSON object on one line: schema, version, command, result, warnings.",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option("-j", "--workers", min=1, max=1000, help="So many at a time; by default one per core."),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")]
OtherSeed = Annotated[int | None, typer.Option(min=0, help="Instead of the scenario's seed.")]


def remark(text: str, *, mark: str = "- ") -> None:
    """Say something beside the answer: on standard error, and among its warnings in JSON."""
    _call.warnings.append(text)
    typer.echo(f"{mark}{text}", err=True)


def remarks(texts: Iterable[str]) -> None:
    """Say several such things."""
    for text in texts:
        remark(text)


def print_json(result: Any) -> None:
    """Print the answer of the running command as one JSON object (RFC 8259: without NaN).

    Parameters
    ----------
    result : object
        Whatever `phasefit.records.plain` takes. NaN becomes null, what is infinite the text
        "Infinity" or "-Infinity".
    """
    from phasefit.records import plain

    told = {
        "schema": SCHEMA,
        "version": VERSION,
        "command": _call.command,
        "result": plain(result),
        "warnings": _call.warnings,
    }
    typer.echo(json.dumps(told, allow_nan=False))


def with_changes(result: dict[str, Any], changes: Iterable[str]) -> dict[str, Any]:
    """The result with what is not as in the file, where anything is."""
    said = list(changes)
    return result | {"set": said} if said else result
