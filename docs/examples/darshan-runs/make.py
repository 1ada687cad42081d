"""Write Darshan logs of a made program, as its runs on several allotments would have left them.

Twelve runs of a program of known laws with 4 % noise: it reads its input, then computes and
writes a checkpoint, eight times. Reading takes 40/min(d, p) seconds, a checkpoint 6/d, the
computation before it 1 + 80/p. Each process has single reads and writes (DXT), its counters, and
a file striped over d targets of Lustre. The logs are written by the library that comes with the
Python package darshan.

    python make.py FOLDER
"""

from __future__ import annotations

import ctypes
import importlib.util
import random
import struct
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

ALLOTMENTS = [(1, 1), (2, 1), (4, 1), (2, 2), (4, 2), (8, 2), (4, 4), (8, 4), (16, 4)]
REPEATED = [(2, 1), (8, 2), (16, 4)]
NOISE = 0.04
CHECKPOINTS = 8

POSIX, LUSTRE, DXT_POSIX = 1, 8, 10  # numbers and versions of modules, in darshan-log-format.h
VERSIONS = {POSIX: 4, LUSTRE: 1, DXT_POSIX: 1}

Operation = tuple[str, float, float, int]  # "read" or "write", start, end, bytes


class Job(ctypes.Structure):
    """The record of a job, struct darshan_job."""

    _fields_ = (
        *(
            (name, ctypes.c_int64)
            for name in ("uid", "start_sec", "start_nsec", "end_sec", "end_nsec", "nprocs", "jobid")
        ),
        ("metadata", ctypes.c_char * 1024),
    )


def library() -> Any:
    """Load the C library of the package darshan."""
    spec = importlib.util.find_spec("darshan")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("writing Darshan logs needs the package darshan: pip install darshan")
    folder = Path(spec.submodule_search_locations[0])
    found = sorted(folder.parent.glob("darshan.libs/libdarshan*"))
    if not found:
        raise SystemExit(f"no C library of darshan beside {folder}")
    lib = ctypes.CDLL(str(found[0]))
    lib.darshan_log_create.restype = ctypes.c_void_p
    return lib


def names(lib: Any, what: str) -> list[str]:
    """Names of the counters of a module, without its own name before them."""
    found = []
    for raw in (ctypes.c_char_p * 1000).in_dll(lib, f"posix_{what}counter_names"):
        if raw is None or raw.endswith(b"NUM_INDICES"):
            return found
        found.append(raw.decode().removeprefix("POSIX_"))
    return found


def write_log(
    lib: Any,
    path: Path,
    *,
    command: str,
    operations: Sequence[Sequence[Operation]],
    seconds: float,
    targets: Sequence[Sequence[int]] = (),
    job: int = 1,
    start: float = 1_700_000_000.0,
    processes: int | None = None,
    whole_seconds: bool = False,
    timeline: bool = True,
) -> None:
    """Write the log of one run: each process has its operations, and a file on its targets."""
    fd = ctypes.c_void_p(lib.darshan_log_create(str(path).encode(), 0, 0))
    if not fd:
        raise SystemExit(f"{path} cannot be written")
    end = start + seconds
    nanoseconds = [0 if whole_seconds else int(t % 1 * 1e9) for t in (start, end)]
    record = Job(
        1000,
        int(start),
        nanoseconds[0],
        int(end),
        nanoseconds[1],
        processes or len(operations),
        job,
        b"lib_ver=3.4.6\n",
    )
    lib.darshan_log_put_job(fd, ctypes.byref(record))
    lib.darshan_log_put_exe(fd, command.encode())
    mount = struct.pack("<3015s3015s", b"lustre", b"/scratch")
    lib.darshan_log_put_mounts(fd, mount, 1)  # without one, the command is not written either
    counted, timed, layout = [], [], []
    whole, real = names(lib, ""), names(lib, "f_")
    for rank, mine in enumerate(operations):
        counted.append(_counters(whole, real, rank, mine))
        timed.append(_segments(rank, mine))
        if targets:
            stripes = targets[rank]
            layout.append(
                struct.pack("<Qq", 100 + rank, rank)
                + struct.pack(f"<5q{len(stripes)}q", 64, 1, 0, 1 << 20, len(stripes), *stripes)
            )
    modules = {POSIX: counted, LUSTRE: layout, DXT_POSIX: timed if timeline else []}
    for module, records in modules.items():
        if content := b"".join(records):
            lib.darshan_log_put_mod(fd, module, content, len(content), VERSIONS[module])
    lib.darshan_log_close(fd)
    path.chmod(0o644)


def _counters(whole: list[str], real: list[str], rank: int, mine: Sequence[Operation]) -> bytes:
    known: dict[str, float] = dict.fromkeys([*whole, *real], 0)
    for kind, start, end, size in mine:
        upper = "READ" if kind == "read" else "WRITTEN"
        known[f"BYTES_{upper}"] += size
        known[f"MAX_BYTE_{upper}"] = known[f"BYTES_{upper}"] - 1
        known["READS" if kind == "read" else "WRITES"] += 1
        known[f"F_{kind.upper()}_TIME"] += end - start
    if mine:
        known["F_OPEN_START_TIMESTAMP"] = min(op[1] for op in mine)
        known["F_CLOSE_END_TIMESTAMP"] = max(op[2] for op in mine)
    head = struct.pack("<Qq", 100 + rank, rank)
    head += struct.pack(f"<{len(whole)}q", *(int(known[name]) for name in whole))
    return head + struct.pack(f"<{len(real)}d", *(known[name] for name in real))


def _segments(rank: int, mine: Sequence[Operation]) -> bytes:
    parts = [[op for op in mine if op[0] == kind] for kind in ("write", "read")]
    head = struct.pack("<Qqq64sqq", 100 + rank, rank, 0, b"node", *map(len, parts))
    packed = [struct.pack("<qqdd", 0, size, start, end) for part in parts for _, start, end, size in part]
    return head + b"".join(packed)


def program(p: int, d: int, noise: Iterable[float]) -> tuple[list[list[Operation]], float]:
    """Operations of each process of one run, and how long it took."""
    factors = iter(noise)
    operations: list[list[Operation]] = [[] for _ in range(p)]
    now = 0.0

    def burst(kind: str, seconds: float, pieces: int) -> None:
        for mine in operations:
            for k in range(pieces):
                start = now + k * seconds / pieces
                mine.append((kind, start, start + 0.97 * seconds / pieces, (4 << 30) // p // pieces))
            last = mine[-1]
            mine[-1] = (kind, last[1], now + seconds, last[3])

    seconds = 40 / min(d, p) * next(factors)
    burst("read", seconds, 8)
    now += seconds + 0.5
    for _ in range(CHECKPOINTS):
        now += (1 + 80 / p) * next(factors)
        seconds = 6 / d * next(factors)
        burst("write", seconds, 4)
        now += seconds
    return operations, now + 0.05


def main(folder: Path) -> None:
    """Write the logs of all runs."""
    folder.mkdir(parents=True, exist_ok=True)
    lib, chance = library(), random.Random(20261122)
    start = 1_700_000_000.0
    for job, (p, d) in enumerate([*ALLOTMENTS, *REPEATED], 4001):
        noise = (chance.gauss(1.0, NOISE) for _ in range(2 * CHECKPOINTS + 1))
        operations, seconds = program(p, d, noise)
        write_log(
            lib,
            folder / f"user_solver_id{job}.darshan",
            command="/apps/bin/solver in.toml",
            operations=operations,
            seconds=seconds,
            targets=[range(d)] * p,
            job=job,
            start=start,
        )
        start += seconds + 60


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
