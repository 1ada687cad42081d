"""How far long work has come: a bar on a terminal, a line for each stage elsewhere."""

import io
import sys

import pytest

from qmodels.commands.progress import progress_shown
from qmodels.progress import no_progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_without_a_terminal_each_stage_is_said_once(capsys):
    with progress_shown() as progress:
        for done in (1, 2, 3):
            progress("runs", done, 3)
        progress("map", 1, 8)
        progress("traces", 0, 0)
    said = capsys.readouterr()
    assert said.err.splitlines() == ["runs: 3 to do", "map: 8 to do"]
    assert said.out == ""


def test_on_a_terminal_a_bar_is_drawn_that_may_grow_and_is_wiped_out_at_the_end(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with progress_shown() as progress:
        progress("replications", 10, 10)
        progress("replications", 11, 22)
    said = terminal.getvalue()
    assert "replications" in said
    assert "50%" in said  # 11 of 22, after the total has grown
    assert said.rstrip("\n").endswith("\x1b[2K")


def test_an_error_in_the_work_ends_the_bar_and_is_passed_on(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with pytest.raises(ZeroDivisionError), progress_shown() as progress:
        progress("runs", 1 // 0, 1)


def test_work_that_nobody_watches_says_nothing(capsys):
    assert no_progress("runs", 1, 2) is None
    assert capsys.readouterr().err == ""
