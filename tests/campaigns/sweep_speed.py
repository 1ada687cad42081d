"""Predict 20,000 points with one process and with two: ``python -m tests.campaigns.sweep_speed``.

On a machine that others use wall times say nothing, so the figures are CPU seconds: of the process
that hands out work and keeps the journal, and of its workers. Two free cores would be faster than
one by

    at least  one / (own + workers / 2)    if none of the command's own work overlaps the others',
    at most   one / ((own + workers) / 2)  if all of it does,

`one` being all CPU seconds with one process. What the points alone took stands in the journal.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.campaigns.record import write_record

ROOT = Path(__file__).parents[2]
SCENARIO = """
[machine]
processors = 64
disks = 32
[[program]]
name = "p"
repeat = 4
io = { total = 64.0 }
cpu = { total = 1024.0 }
[[policy]]
kind = "SP"
processor_partitions = [1, 2, 4, 8]
disk_partitions = [1, 2, 4, 8]
[study]
loads = [0.5]
"""
#: 20 loads, 8 by 8 machines and 16 policies.
AXES = (
    "load=.03:.98:.05", "machine.processors=8,16,24,32,40,48,56,64",
    "machine.disks=8,12,16,20,24,28,32,36",
)  # fmt: skip
#: The command, and at its end what it and its workers computed.
_CHILD = """
import atexit, json, resource, sys
def told():
    own, below = (resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(json.dumps([own.ru_utime + own.ru_stime, below.ru_utime + below.ru_stime]),
          file=sys.stderr)
atexit.register(told)
from qmodels.cli import main
main()
"""


def cpu(words: list[str]) -> tuple[float, float, float]:
    """CPU seconds of the command and of its workers, and the wall time."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, "sweep", *words], cwd=ROOT, env=os.environ | {
            "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(done.stderr)
    own, below = json.loads(done.stderr.splitlines()[-1])
    return own, below, time.monotonic() - began


def measured(folder: Path, workers: int) -> dict[str, Any]:
    """One run of the whole sweep."""
    (folder / "s.toml").write_text(SCENARIO, encoding="utf-8")
    out, journal = folder / f"{workers}.csv", folder / f"{workers}.journal"
    words = [str(folder / "s.toml"), "--over", *AXES]
    own, below, wall = cpu([*words, "-j", str(workers), "-o", str(out), "--journal", str(journal)])
    with sqlite3.connect(journal) as kept:
        count, computing = kept.execute("SELECT count(*), sum(seconds) FROM result").fetchone()
    print(f"-j {workers}: {own:.1f} + {below:.1f} s of CPU", file=sys.stderr, flush=True)
    return {
        "workers": workers, "points": count, "cpu_of_command": round(own, 2),
        "cpu_of_workers": round(below, 2), "wall_seconds": round(wall, 1),
        "seconds_of_points": round(computing, 2),
        "sha256_of_csv": hashlib.sha256(out.read_bytes()).hexdigest()[:16],
    }  # fmt: skip


def main() -> None:
    """Compare one process with two, and say what two free cores make of it."""
    with tempfile.TemporaryDirectory() as name:
        rows = [measured(Path(name), workers) for workers in (1, 2)]
    alone, shared = rows
    one = alone["cpu_of_command"] + alone["cpu_of_workers"]
    own, workers = shared["cpu_of_command"], shared["cpu_of_workers"]
    write_record(
        "sweep-speed", rows, command="python -m tests.campaigns.sweep_speed",
        speed_at_least=round(one / (own + workers / 2), 3),
        speed_at_most=round(one / ((own + workers) / 2), 3),
        beside_the_points=round(one / alone["seconds_of_points"] - 1, 4),
        same_bytes=alone["sha256_of_csv"] == shared["sha256_of_csv"],
    )  # fmt: skip


if __name__ == "__main__":
    main()
