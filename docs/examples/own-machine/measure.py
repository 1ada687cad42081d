"""A small parallel program timed burst by burst on 1 and 2 processes; writes two CSV files.

Two phases. The first writes 960 MB and then transforms signals; the second reads the data back
and then sorts, a tenth of it in one process alone. ``p`` is the number of processes, ``d`` the
number of files that the data is spread over (and of threads that move it): on a machine with one
disk, ``d`` is the number of streams to it, not of disks. Needs Python 3.11 and numpy.

    python measure.py FOLDER [REPEATS]

FOLDER/runs.csv has the seconds of every burst on every allotment, FOLDER/trace.csv when each
process did what in one run with p = 2 and d = 1.
"""

from __future__ import annotations

import csv
import multiprocessing
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

for library in ("OPENBLAS", "OMP", "MKL"):  # one thread in each process, or p means nothing
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

import numpy as np  # noqa: E402

MEGABYTE = 1 << 20
DATA = 960  # MB, over all files
TRANSFORMS, SORTS = 1200, 900  # over all processes
ALONE = 90  # of the sorts, which only process 0 does
PROCESSES, FILES = (1, 2), (1, 2, 4)


def write_part(path: Path, megabytes: int) -> None:
    """Write to a file of one's own and wait until it is on the disk."""
    block = np.random.default_rng(1).bytes(MEGABYTE)
    with open(path, "wb") as stream:
        for _ in range(megabytes):
            stream.write(block)
        stream.flush()
        os.fsync(stream.fileno())


def read_part(path: Path, megabytes: int) -> None:
    """Read a file that is not in memory any more."""
    with open(path, "rb") as stream:
        os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        for _ in range(megabytes):
            stream.read(MEGABYTE)


def move(rank: int, p: int, d: int, folder: Path, how: Callable[[Path, int], None]) -> None:
    """Move one's share of the data through d files, one thread for each."""
    parts = [threading.Thread(target=how, args=(folder / f"{rank}-{i}", DATA // p // d)) for i in range(d)]
    for part in parts:
        part.start()
    for part in parts:
        part.join()


def transform(times: int) -> None:
    """Compute: Fourier transforms of noise."""
    signal = np.random.default_rng(2).random(1 << 17)
    for _ in range(times):
        np.fft.rfft(signal)


def sort(times: int) -> None:
    """Compute: sort noise."""
    noise = np.random.default_rng(3).random(1 << 18)
    for _ in range(times):
        np.sort(noise)


def work(rank: int, p: int, d: int, folder: Path, barrier: Any, out: Any) -> None:
    """Run the program as one of p processes; put (phase, kind, rank, start, end) into a queue."""
    spans = []

    def burst(phase: int, kind: str, *steps: Callable[[], None]) -> None:
        barrier.wait()
        start = time.monotonic()
        for step in steps:
            step()
        spans.append((phase, kind, rank, start, time.monotonic()))

    burst(1, "write", lambda: move(rank, p, d, folder, write_part))
    burst(1, "compute", lambda: transform(TRANSFORMS // p))
    burst(2, "read", lambda: move(rank, p, d, folder, read_part))
    burst(
        2,
        "compute",
        lambda: sort(ALONE if rank == 0 else 0),
        barrier.wait,
        lambda: sort((SORTS - ALONE) // p),
    )
    out.put(spans)


def run(p: int, d: int, scratch: Path) -> list[tuple[int, str, int, float, float]]:
    """One run of the program: the bursts of every process, seconds since it began."""
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        barrier, out = multiprocessing.Barrier(p), multiprocessing.Queue()
        processes = [
            multiprocessing.Process(target=work, args=(rank, p, d, Path(folder), barrier, out))
            for rank in range(p)
        ]
        for process in processes:
            process.start()
        spans = [span for _ in processes for span in out.get(timeout=600)]
        for process in processes:
            process.join()
    zero = min(start for *_, start, _ in spans)
    return sorted((n, kind, rank, a - zero, b - zero) for n, kind, rank, a, b in spans)


def bursts(spans: list[tuple[int, str, int, float, float]]) -> dict[tuple[int, str], float]:
    """Seconds of each burst, from its first process's start to its last one's end."""
    found: dict[tuple[int, str], float] = {}
    for phase, kind in {(n, kind) for n, kind, *_ in spans}:
        mine = [(a, b) for n, k, _, a, b in spans if (n, k) == (phase, kind)]
        name = "cpu" if kind == "compute" else "io"
        found[phase, name] = max(b for _, b in mine) - min(a for a, _ in mine)
    return found


def main(folder: Path, repeats: int) -> None:
    """Time every allotment, in an order that changes from repeat to repeat."""
    folder.mkdir(parents=True, exist_ok=True)
    run(1, 1, folder)  # warm up: the first run loads libraries and grows the file system
    allotments = [(p, d) for p in PROCESSES for d in FILES]
    order = np.random.default_rng(4)
    rows = []
    for repeat in range(1, repeats + 1):
        for i in order.permutation(len(allotments)):
            p, d = allotments[i]
            spans = run(p, d, folder)
            for (phase, kind), seconds in sorted(bursts(spans).items()):
                rows.append(("own", phase, kind, p, d, f"{seconds:.4f}", repeat))
            print(f"repeat {repeat}: p = {p}, d = {d}", file=sys.stderr)
    with open(folder / "runs.csv", "w", newline="", encoding="utf-8") as stream:
        lines = csv.writer(stream, lineterminator="\n")
        lines.writerow(("program", "phase", "kind", "p", "d", "seconds", "repeat"))
        lines.writerows(sorted(rows, key=lambda row: (*row[1:5], row[6])))
    with open(folder / "trace.csv", "w", newline="", encoding="utf-8") as stream:
        lines = csv.writer(stream, lineterminator="\n")
        lines.writerow(("rank", "start", "end", "kind"))
        for _, kind, rank, start, end in sorted(run(2, 1, folder), key=lambda span: span[3]):
            lines.writerow((rank, f"{start:.6f}", f"{end:.6f}", kind))


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) == 3 else 5)
