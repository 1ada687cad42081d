"""How far long work has come: a bar on a terminal, a line for each stage elsewhere."""

import contextlib
import errno
import io
import re
import sys
import threading

import pytest

from qmodels.commands import progress as shown_by
from qmodels.commands.progress import at_work, progress_shown
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


@pytest.mark.parametrize("raised", [None, ZeroDivisionError])
def test_a_terminal_that_goes_changes_nothing_of_how_the_work_ends(monkeypatch, raised):
    class Gone(Terminal):
        def write(self, text):
            raise OSError(errno.EIO, "Input/output error")

        def flush(self):
            self.write("")

    monkeypatch.setattr(sys, "stderr", Gone())
    with (
        pytest.raises(raised) if raised else contextlib.nullcontext(),
        progress_shown() as progress,
    ):
        progress("runs", 1, 2)
        if raised:
            raise raised


def test_work_that_nobody_watches_says_nothing(capsys):
    assert no_progress("runs", 1, 2) is None
    assert capsys.readouterr().err == ""


def test_what_is_done_soon_is_not_said(capsys, monkeypatch):
    clock = iter([0.0, 1.0, 1.9, 2.1, 2.2, 2.3])
    monkeypatch.setattr(shown_by.time, "monotonic", lambda: next(clock))
    with progress_shown(after=2.0) as progress:
        progress("predicting", 0, 9)
        progress("predicting", 1, 9)
        assert capsys.readouterr().err == ""
        progress("predicting", 2, 9)
    assert capsys.readouterr().err == "predicting: 9 to do, 2 of them done already\n"


def said_in_time(look):
    """Look until there is something; a busy machine may take long to let another thread speak."""
    for _ in range(400):
        shown_by.time.sleep(0.05)
        if said := look():
            return said
    return look()


def test_work_that_cannot_say_how_far_it_is_says_so_every_minute(capsys, monkeypatch):
    monkeypatch.setattr(shown_by, "EVERY", 0.02)
    with at_work("moving messages"):
        lines = said_in_time(lambda: capsys.readouterr().err).splitlines()
    assert lines
    assert all(line.startswith("moving messages: at work for ") for line in lines)


def test_a_piece_of_work_that_takes_longer_than_a_minute_is_told_of_every_minute(capsys, monkeypatch):
    monkeypatch.setattr(shown_by, "EVERY", 0.02)
    with progress_shown() as progress:
        progress("searches", 1, 6)
        first = capsys.readouterr().err
        lines = said_in_time(lambda: capsys.readouterr().err).splitlines()
        progress("searches", 6, 6)
        capsys.readouterr()
        shown_by.time.sleep(0.1)
        assert capsys.readouterr().err == ""  # all is done
    assert first == "searches: 6 to do\n"
    assert lines
    # how long the rest takes is not known before a search has ended
    assert all(re.fullmatch(r"searches: 1 of 6 done, at work for .+ m?s", line) for line in lines)
    assert not [each for each in threading.enumerate() if each.name == "progress"]


def test_a_log_that_goes_ends_no_work(monkeypatch):
    class Gone(io.StringIO):
        asked = 0

        def write(self, text):
            self.asked += 1
            if self.asked > 2:  # the first line and its end
                raise OSError(errno.EIO, "Input/output error")
            return super().write(text)

    log = Gone()
    monkeypatch.setattr(sys, "stderr", log)
    monkeypatch.setattr(shown_by, "EVERY", 0.02)
    with progress_shown() as progress:
        progress("searches", 1, 6)
        assert said_in_time(lambda: log.asked > 4)
    assert log.getvalue() == "searches: 6 to do\n"


def test_on_a_terminal_something_turns_after_two_seconds_and_is_gone_at_the_end(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with at_work("fitting"):
        pass
    assert terminal.getvalue() == ""
    monkeypatch.setattr(shown_by, "QUIET", 0.01)
    with at_work("fitting"):
        assert said_in_time(lambda: "fitting" in terminal.getvalue())


def test_an_error_ends_what_turns(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(shown_by, "QUIET", 0.01)
    with pytest.raises(ZeroDivisionError), at_work("fitting"):
        shown_by.time.sleep(1 // 0)
