"""How fast worms move: two working trees and a program in C, turn by turn, in CPU time.

``python -m tests.benchmarks.mesh --before TREE --reference worms.c`` runs every job by the code of
TREE, by that of this tree and, where the router is ideal, by both engines of the reference, in
turns, so that whatever else the machine does falls on all alike. It writes the medians of the CPU
seconds and of their ratios within a turn to ``docs/record/benchmarks-mesh.csv``. Without a
reference, which is no part of this repository, its columns stay empty.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

#: Rows, columns, rounds of all-to-all and router of each job.
JOBS = {
    "16x22 ideal": (16, 22, 100, "ideal"),
    "16x22 pipelined": (16, 22, 100, "pipelined"),
    "32x32 ideal": (32, 32, 20, "ideal"),
    "64x64 ideal": (64, 64, 8, "ideal"),
    "128x128 ideal": (128, 128, 1, "ideal"),
    "128x128 pipelined": (128, 128, 1, "pipelined"),
}
Job = tuple[int, int, int, str]


def nodes_of(rows: int, columns: int) -> np.ndarray:
    """The nodes of jobs of sixteen, one job after the other."""
    return np.random.default_rng(1).permutation(rows * columns).astype(np.int64)


def play(job: Job) -> tuple[float, int, int]:
    """CPU seconds, messages and header hops of a job by the code that is imported."""
    from validation.mesh import Mesh, Network, Router, Traffic, TrafficPhase

    rows, columns, rounds, router = job
    network = Network(Mesh(rows, columns), Router() if router == "ideal" else Router.pipelined())
    nodes = nodes_of(rows, columns)
    for k in range(nodes.size // 16):
        phase = TrafficPhase(pattern="all-to-all", flits=16 * (1 + k % 4), rounds=rounds)
        network.start(k, nodes[16 * k : 16 * k + 16], Traffic.of(phase))
    messages, began = 0, time.process_time()
    while network.jobs:
        messages += sum(done.messages for done in network.advance())
    return time.process_time() - began, messages, network.header_hops


def serve() -> None:
    """Play the jobs that are named on standard input."""
    play((4, 4, 1, "ideal"))  # compiles
    for line in sys.stdin:
        print(*play(JOBS[line.strip()]), flush=True)


def player(tree: Path) -> Callable[[str], tuple[float, int, int]]:
    """A process that plays jobs by the code of a working tree."""
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).resolve()), "--serve"],
        cwd=tree,
        env=os.environ | {"PYTHONPATH": str(tree)},
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )

    def ask(name: str) -> tuple[float, int, int]:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(name + "\n")
        process.stdin.flush()
        seconds, messages, hops = process.stdout.readline().split()
        return float(seconds), int(messages), int(hops)

    return ask


def built(source: Path, folder: str) -> Iterator[ctypes.CDLL]:
    """Both engines of the reference: with linked lists, and with arrays."""
    table = np.ctypeslib.ndpointer(np.int64, flags="C")
    for flags in ([], ["-DARRAYS"]):
        out = f"{folder}/worms{len(flags)}.so"
        call = ["gcc", "-O3", "-march=native", "-shared", "-fPIC", "-w", *flags]
        subprocess.run([*call, "-o", out, str(source)], check=True)
        library = ctypes.CDLL(out)
        library.worms_new.restype = ctypes.c_void_p
        library.worms_new.argtypes = [ctypes.c_int] * 4 + [table, table, ctypes.c_int64]
        library.worms_run.argtypes = library.worms_free.argtypes = [ctypes.c_void_p]
        yield library


def refer(library: ctypes.CDLL, job: Job) -> float:
    """CPU seconds of the reference for a job with the ideal router."""
    rows, columns, rounds, _ = job
    count = rows * columns // 16
    flits = 16 * (1 + np.arange(count) % 4)
    net = library.worms_new(rows, columns, count, 16, nodes_of(rows, columns), flits, rounds)
    began = time.process_time()
    library.worms_run(net)
    seconds = time.process_time() - began
    library.worms_free(net)
    return seconds


def measure(name: str, before: Callable, after: Callable, engines: list, turns: int) -> dict:
    """The row of a job: medians of CPU seconds, and of their ratios within a turn."""
    seen = []
    for _ in range(turns):
        old, messages, hops = before(name)
        new, *same = after(name)
        assert same == [messages, hops], f"{name}: {same} instead of {messages}, {hops}"
        ideal = JOBS[name][3] == "ideal" and engines
        seen.append((old, new, min(refer(e, JOBS[name]) for e in engines) if ideal else None))
    known = [turn for turn in seen if turn[2] is not None]

    def median(values: list[float]) -> float | str:
        return float(f"{statistics.median(values):.4g}") if values else ""

    return {
        "job": name,
        "before": median([old for old, _, _ in seen]),
        "after": median([new for _, new, _ in seen]),
        "reference": median([c for _, _, c in known]),
        "ratio": median([new / c for _, new, c in known]),
        "ratio_before": median([old / c for old, _, c in known]),
        "after_to_before": median([new / old for old, new, _ in seen]),
        "messages": messages,
        "header_hops": hops,
        "nanoseconds_per_hop": median([1e9 * new / hops for _, new, _ in seen]),
    }


def main() -> None:
    """Measure all jobs and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", action="store_true", help="play jobs named on standard input")
    parser.add_argument("--before", type=Path, help="a working tree to compare with")
    parser.add_argument("--reference", type=Path, help="source of the program in C")
    parser.add_argument("--turns", type=int, default=5)
    given = parser.parse_args()
    if given.serve:
        serve()
        return
    from tests.campaigns.benchmarks import circumstances
    from tests.campaigns.record import write_record

    here = Path(__file__).resolve().parents[2]
    before, after = player((given.before or here).resolve()), player(here)
    with tempfile.TemporaryDirectory() as folder:
        engines = list(built(given.reference, folder)) if given.reference else []
        rows = []
        for name in JOBS:
            row = measure(name, before, after, engines, given.turns)
            rows.append(row | circumstances())
            print(rows[-1], flush=True)
    cost = {row["job"]: row["nanoseconds_per_hop"] for row in rows}
    write_record(
        "benchmarks-mesh",
        rows,
        command="python -m tests.benchmarks.mesh --before TREE --reference worms.c",
        seed=1,
        turns=given.turns,
        references=["the same messages in C, the faster of two engines"],
        cost_per_hop_of_128_to_32=round(cost["128x128 ideal"] / cost["32x32 ideal"], 3),
        speed_of_pipelined_to_ideal_16x22=round(cost["16x22 ideal"] / cost["16x22 pipelined"], 3),
        speed_of_pipelined_to_ideal_128x128=round(cost["128x128 ideal"] / cost["128x128 pipelined"], 3),
    )


if __name__ == "__main__":
    main()
