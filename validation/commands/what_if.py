"""Subcommand `qmodels what-if`: processors or disks, and which policy when the load grows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.core import TyperCommand

from qmodels.commands import answers
from qmodels.commands.answers import AsJson, Workers, print_json
from qmodels.commands.options import MaxBytes
from qmodels.commands.set_option import SetOption, say_changes
from qmodels.errors import ModelError
from validation.commands.axes import Varied
from validation.commands.kept_work import KeepJournal, Reuse, kept_work

if TYPE_CHECKING:
    from validation.study.what_if import WhatIf

#: What may be written, by the ending of the file's name.
_PAGE: Final = (".html", ".htm")
_COMPUTES: Final = "validation.study.what_if.grid"


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    app.command("what-if", cls=_Command)(_what_if)


class _Command(TyperCommand):
    """The subcommand; several words may follow --over and --price."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """See `click.Command.parse_args`."""
        return super().parse_args(ctx, list(_spread(args)))


def _spread(words: Iterable[str]) -> Iterator[str]:
    """Words of a command, the option repeated before each of the words that follow it.

    Examples
    --------
    >>> list(_spread(["--over", "disks=8", "load=.4", "--price", "disks=4"]))
    ['--over', 'disks=8', '--over', 'load=.4', '--price', 'disks=4']
    """
    option, first = "", False
    for word in words:
        if word in ("--over", "--price"):
            option, first = word, True
        elif option and "=" in word and not word.startswith("-"):
            yield from (option, word)
            first = False
        else:
            if first:  # nothing followed it: the parser says so
                yield option
            option, first = "", False
            yield word
    if first:
        yield option


def _what_if(
    scenario: Annotated[Path, typer.Argument(help="TOML file; see docs/reference/scenario.md.")],
    axes: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[KEY=VALUES]...",
            help="Values for a key: processors=64:256 (doubling) disks=8,32 load=.2:.8:.2 "
            "scv=1,4 policy='DP(1),SP(4,4)', or a key of the scenario.",
        ),
    ] = None,
    over: Varied = None,
    price: Annotated[
        list[str] | None,
        typer.Option("--price", help="Of one unit, such as disks=400; may be repeated."),
    ] = None,
    objective: Annotated[
        str, typer.Option(help="What is to be small, such as mean, wait, p95, p99.9, wait_p95.")
    ] = "mean",
    workers: Workers = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="A page with sliders (.html), or the table of all points (.csv, .parquet).",
        ),
    ] = None,
    as_json: AsJson = False,
    max_bytes: MaxBytes = None,
    settings: SetOption = None,
    reuse: Reuse = False,
    keep_journal: KeepJournal = False,
) -> None:
    """Predict every policy on machines of other sizes, under other loads; nothing is simulated.

    Loads are those of today's machine: all machines meet the same jobs. A page takes usual values
    of what is not given. With -o the same command goes on where it was broken off.

    For example: qmodels what-if site.toml --over processors=64:256 disks=8:64 -o whatif.html
    """
    from qmodels.commands.progress import progress_shown
    from qmodels.io.scenario import load_scenario
    from qmodels.io.settings import parse_settings
    from validation.commands.axes import parsed_axes
    from validation.study.what_if import what_if
    from validation.study.what_if.page import check_size, page_axes
    from validation.sweeps.engines import engine

    paged = output is not None and output.suffix.lower() in _PAGE
    if output is not None:
        _check_output(output, paged)
    varied: dict[str, Sequence[Any]] = dict(parsed_axes([*(over or []), *(axes or [])]))
    prices = {key: _price(key, values) for key, values in parsed_axes(price or []).items()}
    if not varied and not paged:
        raise ModelError(
            "say what to vary, such as --over processors=64:256 disks=8:64, or -o whatif.html for "
            "a page of all that is usual"
        )
    plan = load_scenario(scenario, max_bytes=max_bytes, settings=parse_settings(settings))
    if paged:
        varied = page_axes(plan, varied)
        check_size(plan, varied)
    with (
        progress_shown() as progress,
        kept_work(output, _COMPUTES, workers=workers, reuse=reuse, keep=keep_journal) as working,
        engine(workers=workers if output is None else 1) as chosen,
    ):
        found = what_if(
            plan,
            varied,
            prices,
            objective=objective,
            executor=working.processes or chosen.executor,
            progress=progress,
        )
        if output is not None:  # within the block: what cannot be written is kept in the journal
            _write(found, output, paged)
    if as_json:
        print_json(found.record())
    elif not paged:
        say_changes(plan.changes)
        typer.echo(found.table())
    answers.remarks(found.remarks[len(plan.changes) :])
    if output is not None:
        typer.echo(f"{output}: {found.predictions:,} predictions", err=True)


def _check_output(output: Path, paged: bool) -> None:
    """Refuse before the work what could not be written after it."""
    if not paged:
        from validation.sweeps.results import check_writer

        check_writer(output)
    if not output.resolve().parent.is_dir():
        raise ModelError(f"{output}: there is no such folder; make it or name another")


def _price(key: str, values: list[Any]) -> float:
    if len(values) != 1:
        raise ModelError(f"--price {key}: give one price for each unit")
    value: float = values[0]
    return value


def _write(found: WhatIf, output: Path, paged: bool) -> None:
    if not paged:
        from validation.sweeps.results import write_table

        write_table(found.to_frame(), output)
        return
    from validation.study.what_if.page import what_if_page

    made = output.with_name(f".{output.name}.part")
    try:
        made.write_text(what_if_page(found), encoding="utf-8")
        made.replace(output)
    except OSError as error:
        raise ModelError(f"{output}: cannot be written ({error.strerror or error})") from None
    finally:
        made.unlink(missing_ok=True)
