"""The skeleton of commands that compare: a file, options laid over it, kept work, one answer.

Such a command names its options beside the keys of the file that they stand for, and says how the
file becomes a plan and what is compared. All else is said here: ``--set``, ``--json``, the journal
of runs that are finished, progress, the folder of the report.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar, get_origin, get_type_hints

import typer
from typer.core import TyperCommand

from qmodels.commands.answers import AsJson, Workers, print_json, with_changes
from qmodels.commands.set_option import SetOption, over_file, say_changes
from validation.commands.kept_work import KeepJournal, Reuse, kept_work

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from qmodels.io.study_file import StudyFile
    from qmodels.pages.report import Report
    from qmodels.progress import Progress

Plan = TypeVar("Plan")

Output = Annotated[Path | None, typer.Option("-o", "--output", help="Folder for the report and its tables.")]


@dataclass(frozen=True)
class Over:
    """An option that stands for a key of the file."""

    key: str  #: dotted; where it ends in a dot, `read` gives the keys of that table
    annotation: Any  #: of typer
    read: Callable[[Any], Any] | None = None  #: what the file would hold for what was typed
    #: Names that the help lists; a registry is read only when the help is asked for.
    names: Callable[[], str] | None = None


def over(
    key: str,
    kind: Any = str,
    *flags: str,
    read: Callable[[Any], Any] | None = None,
    names: Callable[[], str] | None = None,
    **details: Any,
) -> Over:
    """Return an option that stands for a key of the file.

    Parameters
    ----------
    key : str
        See `Over`.
    kind : type
        Of what is typed; or an option of several commands, as it is annotated there.
    *flags : str
        Where they are not made of the option's name.
    read, names : callable, optional
        See `Over`.
    **details : object
        For `typer.Option`, such as help.

    Returns
    -------
    Over
        The option.
    """
    if get_origin(kind) is Annotated:
        return Over(key, kind, read, names)
    return Over(key, Annotated[kind | None, typer.Option(*flags, **details)], read, names)


def split_names(text: str) -> list[str]:
    """Read names between commas.

    Parameters
    ----------
    text : str
        As it was typed.

    Returns
    -------
    list of str
        The names, without blanks.
    """
    return [name.strip() for name in text.split(",") if name.strip()]


#: What all files of studies say alike.
STUDY: Final[Mapping[str, Over]] = {
    "replications": over("study.replications", int, min=1, max=10_000, help="Independent replications."),
    "seed": over("study.seed", int, min=0, help="Seed of all random numbers."),
}
#: What all of these commands take besides, with its value where nothing is said.
_SHARED: Final[dict[str, tuple[Any, Any]]] = {
    "workers": (Workers, None),
    "output": (Output, None),
    "as_json": (AsJson, False),
    "reuse": (Reuse, False),
    "keep_journal": (KeepJournal, False),
    "settings": (SetOption, None),
}


@dataclass(frozen=True)
class Working:
    """Workers of a comparison, and who hears how far it is."""

    workers: int | None  #: so many at a time; None for one per core
    processes: Executor | None  #: for work in Python
    threads: Executor | None  #: for compiled work
    progress: Progress  #: shown on standard error

    @property
    def python(self) -> dict[str, Any]:
        """Return workers, executor and progress of work in Python, as simulators take them."""
        return {"workers": self.workers, "executor": self.processes, "progress": self.progress}

    @property
    def compiled(self) -> dict[str, Any]:
        """Return those of compiled work."""
        return {"workers": self.workers, "executor": self.threads, "progress": self.progress}


@dataclass(frozen=True, eq=False)
class Call:
    """A call of a command that compares: what it was given, and how it answers."""

    source: Path | None  #: the file
    options: Mapping[str, Any]  #: those given, by key of the file
    workers: int | None  #: so many at a time; None for one per core
    output: Path | None  #: folder for the report
    as_json: bool  #: whether to answer in JSON
    reuse: bool  #: whether to go on with runs of another version of the code
    keep_journal: bool  #: whether the journal stays
    settings: list[str] | None  #: words of ``--set``
    changes: list[str] = field(default_factory=list, init=False)  #: what is not as in the file

    def plan(
        self,
        file: type[StudyFile],
        make: Callable[[Path, Any], Plan],
        under: Mapping[str, Any] | None = None,
    ) -> Plan:
        """Return what the file and the options make; the output folder is claimed before.

        Parameters
        ----------
        file : type
            Declared tables.
        make : callable
            Makes a plan of the file's name and its tables.
        under : mapping, optional
            Values by key that go over the file and under the options.
        """
        from qmodels.io.outputs import claim_output

        if self.output is not None:
            claim_output(self.output)
        name, spec, self.changes[:] = over_file(file, self.source, self.options, self.settings, under)
        plan = make(name, spec)
        say_changes(self.changes, err=self.as_json)
        return plan

    @contextmanager
    def working(self, *modules: str, begin: str | None = None) -> Iterator[Working]:
        """Yield who works; with an output folder what they finish is kept beside it until that is there.

        Parameters
        ----------
        *modules : str
            Those whose source the results hang on.
        begin : str, optional
            A module that a process is to import at once; see `validation.sweeps.keeping.keepers`.

        Yields
        ------
        Working
            Executors, and progress on standard error.
        """
        from qmodels.commands.progress import progress_shown

        keep: Any = {"workers": self.workers, "reuse": self.reuse, "keep": self.keep_journal}
        with (
            progress_shown() as progress,
            kept_work(self.output, *modules, begin=begin, **keep) as kept,
        ):
            yield Working(self.workers, kept.processes, kept.threads, progress)

    def write(self, report: Report, command: Sequence[object] | None = None) -> Report:
        """Write the report where there is an output folder, and return it.

        Parameters
        ----------
        report : Report
            Of what was compared.
        command : sequence, optional
            What to type to get it again, without the program's name; by default what was typed.

        Returns
        -------
        Report
            The same.
        """
        write_report(report, self.output, command)
        return report

    def answer(self, report: Report, record: Mapping[str, Any], *, table: str | None = None) -> None:
        """Print what was found, and where the report is.

        Parameters
        ----------
        report : Report
            Of what was compared.
        record : mapping
            The answer in JSON; where `table` is None, the findings go with it.
        table : str, optional
            What a terminal shows instead of the findings.
        """
        from qmodels.pages.report import PAGE

        if not self.as_json:
            typer.echo(report.text() if table is None else table)
        elif table is None:
            print_json(with_changes({**record, "findings": report.findings}, self.changes))
        else:
            print_json(record)
        if self.output is not None:
            typer.echo(str(self.output / PAGE), err=self.as_json)


def write_report(report: Report, output: Path | None, command: Sequence[object] | None = None) -> None:
    """Write a report where there is an output folder; see `Call.write`."""
    from qmodels.commands.shell import shell_line
    from qmodels.io.outputs import output_folder

    if output is not None:
        with output_folder(output) as folder:
            report.write(folder, command=shell_line(["qmodels", *(command or sys.argv[1:])]))


def by_name(found: Any, quantity: str, **more: Callable[[Any], Any]) -> dict[str, Any]:
    """Return what is known of every alternative, as plain data.

    Parameters
    ----------
    found : comparison
        With `runs`, `best` and `compare`.
    quantity : str
        By which they are held against the best.
    **more
        Further values, by their names, of the runs under an alternative.
    """

    def plain(known: Any, wide: bool) -> dict[str, Any]:
        return {"mean": known.mean, "half_width": known.half_width if wide else None}

    best, record = found.best(quantity), {}
    for name, run in found.runs.items():
        gap, wide = found.compare(name, best, quantity), run.replications > 1
        record[name] = {
            **{key: plain(run[key], wide) for key in run.values},
            f"{quantity}_minus_best": plain(gap, wide) | {"verdict": gap.verdict},
            **{key: value(run) for key, value in more.items()},
        }
    return record


def add_comparison(
    app: typer.Typer,
    name: str,
    command: Callable[..., None],
    file: str | None,
    options: Mapping[str, Over],
    *,
    required: bool = False,
    output: Path | None = None,
) -> None:
    """Add a subcommand that compares.

    Parameters
    ----------
    app : typer.Typer
        Where to.
    name : str
        Of the subcommand.
    command : callable
        Takes a `Call`, and what it has of options that stand for no key; its docstring is the help.
    file : str or None
        Help of the file; None where it takes none.
    options : mapping
        Those that stand for keys, by their names in Python; `STUDY` is among them.
    required : bool
        Whether there has to be a file.
    output : Path, optional
        Folder for the report where none is named; by default there is none then.
    """
    own = list(inspect.signature(command).parameters.values())[1:]
    hints = get_type_hints(command, include_extras=True)
    about = typer.Argument(help=file)
    source: Any = Annotated[Path, about] if required else Annotated[Path | None, about]
    shared = _SHARED | {"output": (_SHARED["output"][0], output)}
    parameters = [
        *([("scenario", source, inspect.Parameter.empty if required else None)] if file else ()),
        *((option, each.annotation, None) for option, each in options.items()),
        *((each.name, hints[each.name], each.default) for each in own),
        *((option, annotation, default) for option, (annotation, default) in shared.items()),
    ]

    def run(scenario: Path | None = None, **given: Any) -> None:
        laid: dict[str, Any] = {}
        for option, each in options.items():
            typed = given.pop(option)
            if typed is not None:
                value = typed if each.read is None else each.read(typed)
                laid |= (
                    {each.key + k: v for k, v in value.items()}
                    if each.key.endswith(".")
                    else {each.key: value}
                )
        how = {option: given.pop(option) for option in shared}
        command(Call(scenario, laid, **how), **given)

    keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(n, keyword, default=default, annotation=a) for n, a, default in parameters]
    )
    run.__annotations__ = {n: a for n, a, _ in parameters}
    run.__doc__ = command.__doc__
    names = {option: each.names for option, each in options.items() if each.names is not None}
    app.command(name, cls=type("Comparison", (_Comparison,), {"names": names}))(run)


class _Comparison(TyperCommand):
    """A subcommand whose help names what is in registries."""

    names: Mapping[str, Callable[[], str]]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Read the registries only here: loading them takes longer than any other command's help."""
        for option in self.params:
            if option.name in self.names:
                option.help = self.names[option.name]()  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)
