"""Predict 20,000 points with one process and with two: ``python -m tests.campaigns.sweep_speed``.

On a machine that others use wall times say nothing, so the figures are CPU seconds: of the process
that hands out work and keeps the journal, and of each of its workers. Two free cores would be
faster than one by

    at least  one / (own + workers / 2)    if none of the command's own work overlaps the others',
    at most   one / ((own + workers) / 2)  if all of it does,

`one` being all CPU seconds with one process. Between them lies what the order of things says:
workers begin while the command lays out its points, then all share two cores until the last result
is in, and then the command is alone with the table,

    one / (max(first, (first + starts) / 2) + (middle + workers - starts) / 2 + last),

`first`, `middle` and `last` being what the command spends before it hands out work, from then to
the last result, and after it; `starts` what workers spend beside the points. What the points alone
took stands in the journal. Where others use the machine, the same points take more CPU time in one
run than in the other; so the speed is also given at one pace, that of the run with two: ``one`` is
then the CPU time of that run's points, its first and last part, and what one process spends beside
the points at work. (Compiled code is loaded by each worker, .2 to .3 s, which this counts for one
process too: at most one per cent too favourable.)

What the machine can give at all is told by two sweeps that know nothing of each other, each with
half of the points and one process, side by side. Their points cost more CPU time each than those of
one sweep alone, for two processes slow each other, and no sharing out of work takes that away.

``--wall`` says the ratios of the wall times as well, for a machine on which nothing else runs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.campaigns.record import write_record

ROOT = Path(__file__).parents[2]
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
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
    "load=.03:.98:.05",
    "machine.processors=8,16,24,32,40,48,56,64",
    "machine.disks=8,12,16,20,24,28,32,36",
)
#: The same in two parts, of equal numbers of points and nearly equal work.
HALVES = tuple((AXES[0], AXES[1], f"machine.disks={disks}") for disks in ("8,16,24,32", "12,20,28,36"))
#: The command, and at its end what it computed, by parts, and each of its workers.
_CHILD = """
import atexit, json, os, sys, time
import validation.sweeps.run as run
marks, below = [], []

class Coordinator(run._Coordinator):
    def run(self, executor, workers):
        marks.append(time.process_time())
        try:
            return super().run(executor, workers)
        finally:
            marks.append(time.process_time())

run._Coordinator = Coordinator

def waitpid(pid, options):
    pid, status, used = os.wait4(pid, options)
    if pid:
        below.append(used.ru_utime + used.ru_stime)
    return pid, status

os.waitpid = waitpid

def told():
    first, worked = marks
    print(json.dumps([[first, worked - first], below]), file=sys.stderr)

atexit.register(told)
from qmodels.cli import main
main()
"""


def run_child(words: list[str]) -> tuple[str, float]:
    """Run Python; what it said on standard error, and the CPU time of it and all below it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, *words],
        cwd=ROOT,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stderr, spent


def cpu(words: list[str]) -> tuple[list[float], list[float], float]:
    """CPU seconds of the command by parts and of each process below it, and the wall time."""
    began = time.monotonic()
    said, spent = run_child(["-c", _CHILD, "sweep", *words])
    (first, middle), below = json.loads(said.splitlines()[-1])
    # its end counts as well, of which it can say nothing
    return [first, middle, spent - sum(below) - first - middle], below, time.monotonic() - began


def measured(folder: Path, workers: int) -> dict[str, Any]:
    """One run of the whole sweep."""
    (folder / "s.toml").write_text(SCENARIO, encoding="utf-8")
    out, journal = folder / f"{workers}.csv", folder / f"{workers}.journal"
    words = [str(folder / "s.toml"), "--over", *AXES]
    parts, below, wall = cpu([*words, "-j", str(workers), "-o", str(out), "--journal", str(journal)])
    with sqlite3.connect(journal) as kept:
        count, computing = kept.execute("SELECT count(*), sum(seconds) FROM result").fetchone()
    first, middle, last = parts
    print(
        f"-j {workers}: {sum(parts):.1f} + {sum(below):.1f} s of CPU, {wall:.1f} s",
        file=sys.stderr,
        flush=True,
    )
    return {
        "workers": workers,
        "points": count,
        "cpu_of_command": round(sum(parts), 2),
        "cpu_before_work": round(first, 2),
        "cpu_at_work": round(middle, 2),
        "cpu_after_work": round(last, 2),
        "cpu_of_workers": round(sum(below), 2),
        "cpu_of_longest_worker": round(max(below, default=0.0), 2),
        "wall_seconds": round(wall, 1),
        "seconds_of_points": round(computing, 2),
        "sha256_of_csv": hashlib.sha256(out.read_bytes()).hexdigest()[:16],
    }


def side_by_side(folder: Path) -> dict[str, float]:
    """What two sweeps of half the points each take at once: wall, CPU and points, in seconds."""
    before = os.times()
    (folder / "s.toml").write_text(SCENARIO, encoding="utf-8")
    journals = [folder / f"half-{number}.journal" for number in range(len(HALVES))]
    began = time.monotonic()
    running = [
        subprocess.Popen(
            [
                sys.executable,
                "-c",
                "from qmodels.cli import main; main()",
                "sweep",
                str(folder / "s.toml"),
                "--over",
                *axes,
                "-j",
                "1",
                "--journal",
                str(journal),
                "-o",
                str(journal.with_suffix(".csv")),
            ],
            cwd=ROOT,
            env=ENVIRONMENT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for axes, journal in zip(HALVES, journals, strict=True)
    ]
    ended = [each.wait() for each in running]  # of both, whatever the first says
    if any(ended):
        raise SystemExit("a sweep of half the points failed")
    wall, after, points = time.monotonic() - began, os.times(), 0.0
    spent = sum(after[2:4]) - sum(before[2:4])  # of children, in both modes
    for journal in journals:
        with sqlite3.connect(journal) as kept:
            points += kept.execute("SELECT sum(seconds) FROM result").fetchone()[0]
    print(f"two halves: {spent:.1f} s of CPU, {wall:.1f} s", file=sys.stderr, flush=True)
    return {"wall": wall, "cpu": spent, "points": points}


def short_tasks(folder: Path, count: int) -> tuple[float, float]:
    """CPU time of a sweep of tasks of 10 ms with two processes, and that of its tasks."""
    journal = folder / f"{count}.journal"
    options = ["--count", str(count), "--ms", "10", "--workers", "2"]
    _, spent = run_child(["-m", "tests.sweep_child", str(journal), *options])
    with sqlite3.connect(journal) as kept:
        [computing] = kept.execute("SELECT sum(seconds) FROM result").fetchone()
    return spent, computing


def main() -> None:
    """Compare one process with two, and say what two free cores make of it."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--wall", action="store_true", help="say what the wall times make of it")
    wall = parser.parse_args().wall
    with tempfile.TemporaryDirectory() as name:
        rows = [measured(Path(name), workers) for workers in (1, 2)]
        apart = side_by_side(Path(name))
        (few, of_few), (many, of_many) = (short_tasks(Path(name), count) for count in (10, 1000))
    alone, shared = rows
    one, points = alone["cpu_of_command"], shared["seconds_of_points"]
    own, workers, longest = (shared[f"cpu_of_{name}"] for name in ("command", "workers", "longest_worker"))
    first, starts = shared["cpu_before_work"], workers - points
    both = shared["cpu_at_work"] + points
    on_two = max(first, (first + starts) / 2) + both / 2 + shared["cpu_after_work"]
    pace = points / alone["seconds_of_points"]
    beside = (alone["cpu_at_work"] - alone["seconds_of_points"]) * pace
    at_one_pace = first + points + beside + shared["cpu_after_work"]
    told = {
        "speed_at_least": one / (own + workers / 2),
        "speed_at_most": one / ((own + workers) / 2),
        "speed_of_two_free_cores": one / on_two,
        "speed_of_two_free_cores_at_one_pace": at_one_pace / on_two,
        "pace": pace,
        "one_over_the_longest_process": one / max(own, longest),
        "pace_of_two_halves_side_by_side": apart["points"] / alone["seconds_of_points"],
        "cpu_over_that_of_two_halves": (own + workers) / apart["cpu"],
        "beside_the_points": one / alone["seconds_of_points"] - 1,
        "beside_the_points_with_two": (own + workers) / points - 1,
        "beside_2000_tasks_of_10_ms": many / of_many - 1,
        "beside_them_without_the_start": (many - few) / (of_many - of_few) - 1,
    }
    if wall:
        told["speed_by_the_wall"] = alone["wall_seconds"] / shared["wall_seconds"]
        told["speed_of_two_halves_side_by_side"] = alone["wall_seconds"] / apart["wall"]
    write_record(
        "sweep-speed",
        rows,
        command="python -m tests.campaigns.sweep_speed",
        cpu_seconds=round(one + own + workers + apart["cpu"], 1),
        same_bytes=alone["sha256_of_csv"] == shared["sha256_of_csv"],
        **{name: round(value, 3) for name, value in told.items()},
    )


if __name__ == "__main__":
    main()
