"""Commands that are stopped at any moment: nothing half made, no orphan, and they go on."""

import contextlib
import os
import pty
import random
import re
import select
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from tests.validation.test_executors import _alive, children
from tests.validation.test_sweep_journal import ROOT

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks /proc for processes")
RUNS = ROOT / "docs" / "examples" / "measured-runs.toml"
ALLOCATION = [
    "allocate",
    "--strategies",
    "PLAS,Paging",
    "--mesh",
    "8x8",
    "--jobs",
    "60",
    "--mean-interarrival",
    "60",
    "--replications",
    "12",
]
COMMANDS = {
    "study": ["study", str(RUNS)],
    "demo": ["demo"],
    "allocate": ALLOCATION,
    "validate": ["validate", "rosti-fig6", "--quick"],
    "surface": ["surface", str(RUNS), "--program", "solver"],
}
TABLE_2 = ["validate", "mache-table2", "--quick"]  # the full one takes minutes
#: A test run in the background of a shell, or by nohup, has signals ignored, and so its children.
CODE = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
    "signal.signal(signal.SIGHUP, signal.SIG_DFL);"
    "from qmodels.cli import main; main()"
)
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
#: Exit codes of a command that a signal ended, or that was done before.
ENDS = {signal.SIGTERM: 143, signal.SIGINT: 130, signal.SIGKILL: -signal.SIGKILL}


def started(name, out, workers):
    words = [*COMMANDS[name], "-o", str(out)]
    if name != "surface":
        words += ["-j", str(workers)]
    return subprocess.Popen(
        [sys.executable, "-c", CODE, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=ENVIRONMENT,
    )


def tables(folder):
    """What a folder of results holds, without what tells the time."""
    return {
        file.name: file.read_bytes()
        for file in folder.iterdir()
        if file.suffix == ".csv" or file.name == "earlier"
    }


def stopped(name, out, workers, number, after):
    """Stop a command so long after its start; its exit code and words, and how long it took."""
    running = started(name, out, workers)
    time.sleep(after)
    below = children(running.pid)
    running.send_signal(number)
    began = time.monotonic()
    _, said = running.communicate(timeout=120)
    took = time.monotonic() - began
    while any(map(_alive, below)) and time.monotonic() - began < 30.0:
        time.sleep(0.02)
    assert not any(map(_alive, below)), f"{name}: workers outlived it"
    return running.returncode, said, took, time.monotonic() - began


def finished(name, out, before=""):
    running = started(name, out, 1)
    _, said = running.communicate(timeout=600)
    assert running.returncode in (0, 1), said
    assert before in said
    return tables(out)


def kept_runs(journal):
    """How many runs a journal holds that another process writes; 0 while there is none."""
    try:
        with closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True)) as source:
            return source.execute("SELECT count(*) FROM result").fetchone()[0]
    except sqlite3.Error:  # not there yet, or just being written
        return 0


@pytest.mark.thorough
def test_a_comparison_that_is_stopped_goes_on_and_ends_as_if_it_had_not_been(tmp_path):
    number = signal.SIGTERM
    out, journal = tmp_path / "out", tmp_path / "out.journal"
    running = started("allocate", out, 1)
    try:
        while not kept_runs(journal):
            assert running.poll() is None, "it was done before any of its runs was seen kept"
            time.sleep(0.02)
        running.send_signal(number)
        _, said = running.communicate(timeout=60)
    finally:
        running.kill()
        running.communicate()
    assert running.returncode == ENDS[number]
    assert re.search(rf"finished run(s are| is) kept in {re.escape(str(journal))}", said)
    assert "give the same command again" in said
    assert journal.exists()
    assert not out.exists()
    again = finished("allocate", out, before=f"{journal}: finished runs to go on with: ")
    assert again == finished("allocate", tmp_path / "undisturbed")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["out", "undisturbed"]


def in_a_terminal(words, journal, least, end):
    """Run a command in a terminal of its own until the journal has so many runs, then `end` it.

    `end` gets the process and the terminal's other side. What was printed, and how it ended.
    """
    process, screen = pty.fork()
    if not process:
        os.chdir(ROOT)
        os.execve(sys.executable, [sys.executable, "-c", CODE, *words], ENVIRONMENT)
    printed = b""
    while kept_runs(journal) < least:
        if select.select([screen], [], [], 0.05)[0]:
            printed += os.read(screen, 10_000)
        assert os.waitpid(process, os.WNOHANG) == (0, 0), printed.decode()
    end(process, screen)
    status = os.waitpid(process, 0)[1]
    with contextlib.suppress(OSError):
        os.close(screen)
    return printed.decode(), os.waitstatus_to_exitcode(status)


def journal_of(journal):
    """Its runs, how many were computed twice, and its sessions."""
    with closing(sqlite3.connect(journal)) as source:
        numbers = "SELECT count(*), sum(times > 1), (SELECT count(*) FROM session) FROM result"
        return source.execute(numbers).fetchone()


@pytest.mark.slow
def test_table_2_goes_on_when_its_terminal_was_closed_and_then_killed(tmp_path, record_property):
    """The walk of `docs/how-to/run-a-campaign.md`, on the quick form of that campaign."""
    out, journal = tmp_path / "table2", tmp_path / "table2.journal"
    words = [*TABLE_2, "-o", str(out), "-j", "1"]
    _, code = in_a_terminal(words, journal, 4, lambda _, screen: os.close(screen))
    assert code == 128 + signal.SIGHUP
    held = kept_runs(journal)
    assert held >= 4
    _, code = in_a_terminal(words, journal, held + 4, lambda process, _: os.kill(process, signal.SIGKILL))
    assert code == -signal.SIGKILL
    assert not out.exists()
    then = kept_runs(journal)
    done = subprocess.run(
        [sys.executable, "-c", CODE, *words, "--keep-journal"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=ENVIRONMENT,
        check=False,
        timeout=600,
    )
    assert done.returncode in (0, 1), done.stderr  # 1: a finding fails
    assert f"{journal}: finished runs to go on with: {then}" in done.stderr
    runs, twice, sessions = journal_of(journal)
    assert (twice, sessions) == (0, 3)
    assert runs > then
    alone = subprocess.run(
        [sys.executable, "-c", CODE, *words[:-3], str(tmp_path / "alone"), "-j", "1"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=ENVIRONMENT,
        check=False,
        timeout=600,
    )
    assert alone.returncode == done.returncode
    assert tables(out) == tables(tmp_path / "alone")
    for name, number in {"closed at": held, "killed at": then, "runs": runs, "twice": 0}.items():
        record_property(name, number)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(COMMANDS))
def test_twenty_kills_of_each_command_leave_nothing_half_made(tmp_path, name, record_property):
    rng, out = random.Random(name), tmp_path / "out"
    began = time.monotonic()
    right = finished(name, tmp_path / "right")
    long = time.monotonic() - began
    out.mkdir()
    (out / "earlier").write_text("earlier results")
    seen, latest, orphaned = Counter(), 0.0, 0.0
    for _ in range(int(os.environ.get("QMODELS_KILLS", "20"))):
        number = rng.choice(list(ENDS))
        there = {file.name for file in tmp_path.iterdir()}  # a kill -9 before may have left some
        code, said, took, gone = stopped(name, out, rng.choice([1, 2]), number, rng.uniform(0.2, 1.1 * long))
        done = code in (0, 1)
        # before the interpreter listens a signal ends it as it ends any program
        assert done or code in (ENDS[number], -number), said
        held = tables(out)
        assert held.pop("earlier") == b"earlier results"
        assert held in ({}, right)
        assert held == right if done else True
        left = {file.name for file in tmp_path.iterdir()} - {"out", "right", "out.journal"}
        if number != signal.SIGKILL:
            assert left <= there
        assert all(".qmodels-" in each or each.endswith((".lock", "-journal")) for each in left)
        seen["done" if done else number.name] += 1
        if not done and number != signal.SIGKILL:
            latest = max(latest, took)
        orphaned = max(orphaned, gone)
    end = finished(name, out)
    assert end.pop("earlier") == b"earlier results"
    assert end == right
    assert {file.name for file in tmp_path.iterdir()} == {"out", "right"}
    record_property("stopped", dict(seen))
    print(f"{name}: {dict(seen)}; ended within {latest:.2f} s, workers within {orphaned:.2f} s")
