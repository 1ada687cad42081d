"""The option ``--set machine.disks=64``, and what is said of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

if TYPE_CHECKING:
    from qmodels.io.toml_tables import Table

File = TypeVar("File", bound="Table")

SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Take this value instead of the file's, such as machine.disks=64 or "
        "'study.loads=[0.2, 0.4]'; may be repeated.",
    ),
]


def say_changes(changes: Iterable[str], *, err: bool = False) -> None:
    """Say what is not as in the file: with the answer, or beside it where that is for a program."""
    for line in changes:
        typer.echo(f"- {line}" if err else f"set: {line}", err=err)


def over_file(
    file: type[File],
    source: Path | None,
    given: Mapping[str, Mapping[str, Any]],
    settings: list[str] | None,
) -> tuple[Path, File, tuple[str, ...]]:
    """A TOML file, or none, or a job log, with options and settings of a command over it.

    Parameters
    ----------
    file : type
        The declared tables of the file.
    source : Path or None
        A TOML file; any other is a job log, which `jobs.path` then names.
    given : mapping
        Options by table, see `qmodels.io.settings.given_options`.
    settings : list of str or None
        Words of ``--set``.

    Returns
    -------
    name : Path
        To be named in errors.
    spec : Table
        Checked.
    changes : tuple of str
        What was set by ``--set``, in words.
    """
    from qmodels.io.settings import both, checked_with, given_options, parse_settings, told
    from qmodels.io.toml_tables import unchecked_tables

    name, tables, options = Path("options"), {}, given_options(given)
    if source is not None and source.suffix.lower() == ".toml":
        name, tables = source, unchecked_tables(source)
    elif source is not None:
        options |= {"jobs.source": "log", "jobs.path": str(source.resolve())}
    words = parse_settings(settings)
    return name, checked_with(name, file, tables, both(options, words)), told(tables, words)
