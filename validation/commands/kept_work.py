"""Work of a command that is kept beside its output until that is there."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from qmodels.commands.answers import running_command

if TYPE_CHECKING:
    from validation.sweeps.journal import Campaign
    from validation.sweeps.keeping import Keepers

#: Options that say how work is done and what is printed of it, and not what it is.
_HOW: Final = frozenset({"workers", "output", "record", "reuse", "keep_journal", "as_json", "max_bytes"})

Reuse = Annotated[bool, typer.Option("--reuse", help="Go on with runs of another version of the code.")]
KeepJournal = Annotated[
    bool, typer.Option("--keep-journal", help="Leave the journal of the runs beside OUTPUT.")
]


@contextmanager
def kept_work(
    output: Path | None,
    *modules: str,
    workers: int | None = None,
    reuse: bool = False,
    keep: bool = False,
    begin: str | None = None,
) -> Iterator[Keepers]:
    """Executors whose work the same command finds done; see `validation.sweeps.keeping.keepers`.

    Without an output folder nothing is kept. What was done before is said on standard error: the
    stages of the work count anew, and would look as if it were lost; so is what other commands
    have left in the journal, which stays there.
    """
    from qmodels.commands.shell import shell_line
    from validation.sweeps.keeping import journal_beside, keepers

    file = None if output is None else journal_beside(output)
    command = shell_line(["qmodels", *sys.argv[1:]])
    with keepers(
        file,
        *modules,
        campaign=_campaign(file),
        workers=workers,
        reuse=reuse,
        keep=keep,
        command=command,
        begin=begin,
    ) as working:
        if working.before:
            print(f"{file}: finished runs to go on with: {working.before:,}", file=sys.stderr)
        yield working
    if file is not None:
        say_others(file, working.others)


def say_others(file: Path, others: Iterable[tuple[int, str]]) -> None:
    """Say on standard error which runs of other commands a journal keeps."""
    for count, command in others:
        print(f"- {file} keeps finished runs of another command, {count:,}: {command}", file=sys.stderr)


def _campaign(file: Path | None) -> Campaign:
    """The command that runs, with what it was given; of a file what it holds, not its name."""
    from validation.sweeps.journal import ALONE, Campaign
    from validation.sweeps.plain import digest

    if file is None:
        return ALONE
    command, given = running_command()
    work = {name: _held(value) for name, value in given.items() if name not in _HOW}
    return Campaign(command, digest(work))


def _held(value: Any) -> Any:
    """A parameter of a command as plain data."""
    if isinstance(value, list | tuple):
        return [_held(each) for each in value]
    if isinstance(value, str | Path):
        with suppress(OSError, ValueError):  # a name that is too long, or is none
            if Path(value).is_file():
                return _content(Path(value))
        return str(value)
    return value


def _content(file: Path) -> list[str]:
    """Hashes of a file and, where it is a scenario, of the files that it names."""
    from qmodels.errors import ModelError
    from qmodels.io.toml_tables import unchecked_tables
    from validation.sweeps.points import file_hash
    from validation.sweeps.tables import files_named

    named: list[Path] = []
    if file.suffix.lower() == ".toml":
        with suppress(ModelError):  # whoever reads it will say what is wrong
            named = [file.parent / n for n in files_named(unchecked_tables(file), file.parent)]
    return [file_hash(each) for each in (file, *named)]
