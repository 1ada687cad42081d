"""Commands that are stopped at any moment: nothing half made, no orphan, and they go on."""

import os
import random
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

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="asks /proc for processes"
)
RUNS = ROOT / "docs" / "examples" / "measured-runs.toml"
ALLOCATION = ["allocate", "--strategies", "PLAS,Paging", "--mesh", "8x8", "--jobs", "60",
              "--mean-interarrival", "60", "--replications", "12"]  # fmt: skip
COMMANDS = {
    "study": ["study", str(RUNS)],
    "demo": ["demo"],
    "allocate": ALLOCATION,
    "validate": ["validate", "rosti-fig6", "--quick"],
    "surface": ["surface", str(RUNS), "--program", "solver"],
}
#: Exit codes of a command that a signal ended, or that was done before.
ENDS = {signal.SIGTERM: 143, signal.SIGINT: 130, signal.SIGKILL: -signal.SIGKILL}


def started(name, out, workers):
    words = [*COMMANDS[name], "-o", str(out)]
    if name != "surface":
        words += ["-j", str(workers)]
    # A test run in the background of a shell has its interrupts ignored, and so its children.
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "from qmodels.cli import main; main()"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
    )  # fmt: skip


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


def finished(name, out):
    running = started(name, out, 1)
    _, said = running.communicate(timeout=600)
    assert running.returncode in (0, 1), said
    return tables(out)


def kept_runs(journal):
    """How many runs a journal holds that another process writes; 0 while there is none."""
    try:
        with closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True)) as source:
            return source.execute("SELECT count(*) FROM result").fetchone()[0]
    except sqlite3.Error:  # not there yet, or just being written
        return 0


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
    assert f"finished runs are kept in {journal}" in said
    assert "give the same command again" in said
    assert journal.exists()
    assert not out.exists()
    again = finished("allocate", out)
    assert again == finished("allocate", tmp_path / "undisturbed")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["out", "undisturbed"]


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
        code, said, took, gone = stopped(
            name, out, rng.choice([1, 2]), number, rng.uniform(0.2, 1.1 * long)
        )
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
