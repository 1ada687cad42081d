"""The command line: owns the parser, loads every package's subcommands, turns errors into words."""

from __future__ import annotations

import os
import sys
from importlib.metadata import entry_points
from typing import Annotated

import typer

from qmodels.errors import ConvergenceError, ModelError

BAD_INPUT, PRECISION_NOT_REACHED = 3, 4

app = typer.Typer(
    name="qmodels",
    help="How does my I/O-intensive parallel program scale, and what response time will my "
    "machine give under this scheduling policy?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"qmodels {installed('qmodels-hpc')}")
        raise typer.Exit


def main() -> None:
    """Run the command line; errors of the input come out as one line each, not as tracebacks."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # many small solves: threads only cost
    for plugin in entry_points(group="qmodels.commands"):
        plugin.load()(app)
    try:
        app()
    except (ModelError, OSError) as error:
        for line in (str(error) or type(error).__name__).splitlines():
            print(f"qmodels: {_printable(line)}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except ConvergenceError as error:
        print(f"qmodels: {_printable(str(error))}", file=sys.stderr)
        sys.exit(PRECISION_NOT_REACHED)
    except BrokenPipeError:
        sys.exit(0)


def _printable(text: str) -> str:
    """Without control characters, so that a file name cannot drive the terminal."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
