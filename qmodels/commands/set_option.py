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
    options: Mapping[str, Any],
    settings: list[str] | None,
    under: Mapping[str, Any] | None = None,
) -> tuple[Path, File, tuple[str, ...]]:
    """A TOML file, or none, or a job log, with options and settings of a command over it.

    Parameters
    ----------
    file : type
        The declared tables of the file.
    source : Path or None
        A TOML file; any other is a job log, which `jobs.path` then names, where there is such a key.
    options : mapping
        Options that were given, by the dotted key of the file.
    settings : list of str or None
        Words of ``--set``.
    under : mapping, optional
        Values that were found elsewhere, by dotted key: over the file, and under the options.

    Returns
    -------
    name : Path
        To be named in errors.
    spec : Table
        Checked.
    changes : tuple of str
        What was set by ``--set``, in words.
    """
    from qmodels.io.settings import both, checked_with, laid_over, parse_settings, placed, told
    from qmodels.io.toml_tables import declared_at, unchecked_tables

    name, tables, options = Path("options"), {}, dict(options)
    jobs = declared_at(file, {"jobs": {}}, ["jobs"])
    takes_log = jobs is not None and "path" in jobs.model_fields
    if source is not None and (source.suffix.lower() == ".toml" or not takes_log):
        name, tables = source, unchecked_tables(source)
    elif source is not None:
        options |= {"jobs.source": "log", "jobs.path": str(source.resolve())}
    words = placed(file, parse_settings(settings))
    below = laid_over(file, tables, under) if under else tables
    spec = checked_with(name, file, below, both(options, words))
    return name, spec, told(file.written_out(tables), words)
