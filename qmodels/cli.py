"""The command line: owns the parser, loads every package's subcommands, turns errors into words."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from contextlib import suppress
from copy import copy
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
    add_completion=True,
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
    from qmodels.process import Stopped, collect_seldom, open_standard_streams, stoppable

    collect_seldom()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # many small solves: threads only cost
    open_standard_streams()
    _quiet_fonts()
    _look_here_last()
    for plugin in entry_points(group="qmodels.commands"):
        plugin.load()(app)
    try:
        with stoppable(_farewell):
            _run()
    except Stopped as stopped:
        _farewell(stopped.number)
        os._exit(stopped.exit_code)  # threads that still compute must not hold it up
    except (SystemExit, BrokenPipeError) as ended:
        if not isinstance(ended.__context__ or ended, BrokenPipeError):
            raise
        # Whoever read the output has had enough; the parser makes exit code 1 of that.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(0)
    except (ModelError, OSError) as error:
        for line in (str(error) or type(error).__name__).splitlines():
            _say(line)
        sys.exit(BAD_INPUT)
    except MemoryError as error:
        _say(f"out of memory{f' ({error})' if str(error) else ''}; ask for less at a time")
        sys.exit(BAD_INPUT)
    except ConvergenceError as error:
        _say(str(error))
        sys.exit(PRECISION_NOT_REACHED)
    finally:
        _release_outputs()
        _say_what_has_no_font()


def _quiet_fonts() -> None:
    """Have matplotlib say nothing of fonts: figures take others, and names without one are told."""
    warnings.filterwarnings("ignore", r"Glyph \d+ .*missing from")
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)


def _say_what_has_no_font() -> None:
    """Name once what stands as numbers in pictures."""
    fonts = sys.modules.get("qmodels.plotting.fonts")
    if fonts is not None and (names := fonts.numbered()):
        told = ", ".join(f"[{number}] is {name}" for name, number in names.items())
        _say(f"no font here has the letters of some names; in pictures (.png) {told}")


def _look_here_last() -> None:
    """Let module:Class name a class in the current folder; nothing there hides a package."""
    with suppress(OSError):  # the folder may be gone
        if os.getcwd() not in sys.path:
            sys.path.append(os.getcwd())


def _run() -> None:
    """The command, and giving up what it claimed while a signal still ends that in order."""
    from qmodels.process import Stopped

    try:
        _with_what_is_asked()()
    except BaseException as ended:  # the parser ends every command by SystemExit
        if not isinstance(ended, Stopped):  # the farewell says first what was claimed
            _release_outputs()
        raise


def _with_what_is_asked() -> typer.Typer:
    """The parser with the one command that is asked for, or with all: each takes milliseconds."""
    asked = [each for each in app.registered_commands if each.name in sys.argv[1:2]]
    if len(asked) != 1:
        return app
    alone = copy(app)
    alone.registered_commands = asked
    return alone


def _release_outputs() -> None:
    if outputs := sys.modules.get("qmodels.io.outputs"):
        outputs.release_outputs()


def _farewell(number: int) -> None:
    """Say that a signal ended the command and what is kept; what was half made is removed."""
    from qmodels.process import SIGNALS, all_kept

    outputs = sys.modules.get("qmodels.io.outputs")
    clauses = [*(outputs.outputs_in_words() if outputs else []), *all_kept()]
    _release_outputs()
    if locks := sys.modules.get("qmodels.locks"):
        locks.remove_lock_files()  # of whatever else was open or being opened, such as a journal
    kept = "; ".join(clauses) or "nothing was written"
    _say(f"{SIGNALS[number]}; {kept}. To go on, give the same command again.")  # type: ignore[index]
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()


def _say(line: str) -> None:
    """One line on standard error, without control characters: a name cannot drive the terminal."""
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)
    with suppress(OSError):  # the terminal may have gone, which must not change how the command ends
        print(f"qmodels: {shown}", file=sys.stderr)
