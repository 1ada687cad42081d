"""The command line called within the test's own process, which takes no time to start."""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from unittest import mock

import typer
from typer.testing import CliRunner

import qmodels.cli

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result


@dataclass(frozen=True)
class Done:
    """What a command left: its exit code and what it printed."""

    returncode: int
    stdout: str
    stderr: str


def called(*arguments: object, together: bool = False) -> Done:
    """Run ``qmodels`` with these words, as `subprocess.run` would with its console script.

    With `together` standard error is in `Done.stdout` as well, in the order of a terminal.
    """
    out, code = io.StringIO(), 0
    err = out if together else io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["qmodels", *map(str, arguments)]),
        mock.patch.object(sys, "path", sys.path[:]),  # main adds the current folder
        # Every call of main registers all commands again.
        mock.patch.object(qmodels.cli.app, "registered_commands", []),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            qmodels.cli.main()
        except SystemExit as stop:
            code = int(stop.code or 0)
    return Done(code, out.getvalue(), "" if together else err.getvalue())


def result_of(printed: str) -> Any:
    """What a command found, of the JSON that it printed on its last line."""
    answer = json.loads(printed.splitlines()[-1])
    assert list(answer) == ["schema", "version", "command", "result", "warnings"]
    assert (answer["schema"], answer["version"]) == ("qmodels.command", 1)
    return answer["result"]


def invoked(register: Callable[[typer.Typer], None], *arguments: object) -> Result:
    """Call one subcommand by itself, errors left as they are raised; its name comes first."""
    app = typer.Typer()
    app.callback()(lambda: None)
    register(app)
    return CliRunner().invoke(app, [*map(str, arguments)])
