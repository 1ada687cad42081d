"""Reads one Darshan log through the C library, in a process of its own that may crash.

Run as a script, with the standard library alone, by `qmodels.io.darshan`::

    python -I -S _darshan_child.py LOG MODULE MEMORY SECONDS LIBRARY...

A damaged log may crash the library, hang it or make it eat memory, so the process limits itself
before it loads anything. What it writes to its output is, in this order: the timeline as raw
records of the library, a row of 8 numbers for each record of the timeline or the counters, a
description of both in JSON, and the length of that description. The reader trusts none of it.
"""

from __future__ import annotations

import array
import ctypes
import json
import os
import signal
import struct
import sys
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

#: module: its record of operations, the name of its heatmap, what its counters begin with
NAMES = {
    "POSIX": ("DXT_POSIX", 16592106915301738621, "posix"),
    "MPI-IO": ("DXT_MPIIO", 3668870418325792824, "mpiio"),
    "STDIO": ("", 3989511027826779520, "stdio"),
}
COUNTED = ("BYTES_READ", "BYTES_WRITTEN")
TIMED = ("F_READ_TIME", "F_WRITE_TIME", "F_META_TIME", "F_OPEN_START_TIMESTAMP", "F_CLOSE_END_TIMESTAMP")
ROW = 8  #: numbers of eight bytes in each row
LENGTH = struct.Struct("<q")

_SEGMENT = 32  # bytes: offset, length, start, end
_MOST_NAMES = 1000
_MOST_IDLE = 10_000
_MOST_EXE = 4096  # bytes that the library may write of the command line
_MOST_TARGETS = 10_000  # of a file system, and of the stripes of a file
_MOST_COMPONENTS = 1000


class Damaged(Exception):
    """The log cannot be read; the text says why."""


class _Job(ctypes.Structure):
    _fields_ = (
        *(
            (name, ctypes.c_int64)
            for name in ("uid", "start_sec", "start_nsec", "end_sec", "end_nsec", "nprocs", "jobid")
        ),
        ("metadata", ctypes.c_char * 1024),
    )


class _Module(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("len", ctypes.c_int),
        ("ver", ctypes.c_int),
        ("idx", ctypes.c_int),
        ("partial_flag", ctypes.c_int),
    )


class _Dxt(ctypes.Structure):
    _fields_ = (
        ("id", ctypes.c_uint64),
        ("rank", ctypes.c_int64),
        ("shared", ctypes.c_int64),
        ("hostname", ctypes.c_char * 64),
        ("writes", ctypes.c_int64),
        ("reads", ctypes.c_int64),
    )


class _Heatmap(ctypes.Structure):
    _fields_ = (
        ("id", ctypes.c_uint64),
        ("rank", ctypes.c_int64),
        ("width", ctypes.c_double),
        ("bins", ctypes.c_int64),
        ("write_bins", ctypes.c_void_p),
        ("read_bins", ctypes.c_void_p),
    )


class _LustreComponent(ctypes.Structure):
    _fields_ = (
        *(
            (name, ctypes.c_int64)
            for name in ("stripe_size", "stripes", "pattern", "flags", "from_byte", "to_byte", "mirror")
        ),
        ("pool", ctypes.c_char * 16),
    )


class _Lustre(ctypes.Structure):
    _fields_ = (
        ("id", ctypes.c_uint64),
        ("rank", ctypes.c_int64),
        ("components", ctypes.c_int64),
        ("stripes", ctypes.c_int64),
        ("layout", ctypes.POINTER(_LustreComponent)),
        ("targets", ctypes.POINTER(ctypes.c_int64)),
    )


def main(arguments: list[str]) -> int:
    """Read the log named on the command line; return the exit status."""
    log, module, memory, seconds, *libraries = arguments
    _limit(int(memory), float(seconds))
    out = os.fdopen(os.dup(1), "wb")
    silent = os.open(os.devnull, os.O_WRONLY)
    for noisy in (1, 2):
        os.dup2(silent, noisy)
    with out:
        try:
            rows, found = _read(_load(libraries), os.fsencode(log), module, out, int(memory))
        except (Damaged, MemoryError) as error:
            rows, found = array.array("d"), {"error": str(error) or "it needs too much memory"}
        out.write(rows.tobytes())
        description = json.dumps(found).encode()
        out.write(description + LENGTH.pack(len(description)))
    return 0


def _limit(memory: int, seconds: float) -> None:
    # The parent kills this process in time; the alarm is for a parent that died itself. The
    # answer is kept smaller than the memory because the parent needs several times its size.
    try:
        import resource
    except ImportError:  # not on this platform
        return
    signal.setitimer(signal.ITIMER_REAL, seconds + 1.0)
    cpu = int(seconds) + 1
    for what, most in (("AS", memory), ("CPU", cpu), ("CORE", 0), ("FSIZE", memory // 4)):
        kind = getattr(resource, f"RLIMIT_{what}")
        hard = resource.getrlimit(kind)[1]
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(kind, (allowed, allowed))
        except (OSError, ValueError):  # some systems do not know every limit
            continue


def _load(libraries: list[str]) -> Any:
    for name in libraries:
        try:
            lib = ctypes.CDLL(name)
        except OSError:
            continue
        lib.darshan_log_get_lib_version.restype = ctypes.c_char_p
        lib.darshan_log_open.restype = ctypes.c_void_p
        lib.darshan_log_open.argtypes = [ctypes.c_char_p]
        lib.darshan_log_get_job.argtypes = [ctypes.c_void_p, ctypes.POINTER(_Job)]
        pointer = ctypes.POINTER(ctypes.c_double)
        lib.darshan_log_get_job_runtime.argtypes = [ctypes.c_void_p, _Job, pointer]
        lib.darshan_log_get_exe.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
        lib.darshan_log_get_modules.argtypes = [ctypes.c_void_p] * 3
        lib.darshan_log_get_modules.restype = None
        lib.darshan_log_get_record.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
        lib.darshan_free.argtypes = [ctypes.c_void_p]
        lib.darshan_free.restype = None
        version = lib.darshan_log_get_lib_version().decode("ascii", "replace")
        numbers = version.split("-")[0].split(".")[:2]
        if not all(n.isdigit() for n in numbers) or tuple(map(int, numbers)) < (3, 4):
            raise Damaged(f"library too old: {version}")
        return lib
    raise Damaged("no library")


def _read(
    lib: Any, log: bytes, module: str, out: BinaryIO, memory: int
) -> tuple[array.array[float], dict[str, Any]]:
    handle = lib.darshan_log_open(log)
    if not handle:
        raise Damaged("it is no Darshan log that the library can open")
    job = _Job()
    if lib.darshan_log_get_job(handle, ctypes.byref(job)) < 0:
        raise Damaged("its job record is damaged")
    runtime = ctypes.c_double()
    if lib.darshan_log_get_job_runtime(handle, job, ctypes.byref(runtime)) < 0:
        raise Damaged("its run time is damaged")
    modules = _modules(lib, handle)
    found: dict[str, Any] = {
        "nprocs": job.nprocs,
        "run_time": repr(runtime.value),
        "command": _command(lib, handle),
        "job": str(job.jobid),
        "start": [job.start_sec, job.start_nsec],
        "whole_seconds": job.start_nsec == 0 == job.end_nsec,
        "modules": {name: bool(m["partial"]) for name, m in modules.items()},
        "timeline": "none",
    }
    dxt, heatmap, prefix = NAMES[module]
    rows = array.array("d")
    records = 0

    def each(name: str) -> Iterator[int]:
        return _records(lib, handle, modules[name]["idx"], name)

    if dxt in modules:
        found["timeline"] = "dxt"
        idle = 0
        for record in each(dxt):
            row = _segments(record, out, memory)
            idle += not row[1] + row[2]
            if idle > _MOST_IDLE:  # a block of zeros unpacks to any number of them
                raise Damaged(f"more than {_MOST_IDLE} of its files hold no operation")
            rows.extend(row)
            records += 1
    if not records and "HEATMAP" in modules:
        if found["timeline"] == "none":
            found["timeline"] = "heatmap"
        for record in each("HEATMAP"):
            row = _bins(record, heatmap, out, memory)
            found["timeline"] = "heatmap"
            rows.extend(row)
            records += bool(row)
    found["records"] = records
    counters = 0
    if module in modules:
        take = _taker(lib, prefix)
        for record in each(module):
            rows.extend(take(record))
            counters += 1
    found["counters"] = counters
    # Libraries before 3.4.6 give records of another form, without components.
    if "LUSTRE" in modules and hasattr(lib, "lustre_comp_counter_names"):
        found["targets"], found["elsewhere"] = _targets(lib, handle, modules, module)
    return rows, found


def _command(lib: Any, handle: int) -> str:
    text = ctypes.create_string_buffer(2 * _MOST_EXE)
    if lib.darshan_log_get_exe(handle, text) < 0:
        return ""
    return text.value[:_MOST_EXE].decode("utf-8", "replace")


def _targets(
    lib: Any, handle: int, modules: dict[str, dict[str, int]], module: str
) -> tuple[list[list[int]], int]:
    """Bytes moved to and from each storage target, and those on files of no known target.

    The bytes of a file count as spread evenly over its stripes.
    """
    moved: dict[int, tuple[int, int]] = {}  # by file: bytes, size
    # MPI-IO goes through POSIX, where the same bytes are counted again.
    layer = module if module != "MPI-IO" else "POSIX"
    if layer in modules:
        counters = _counter_names(lib, NAMES[layer][2], "")
        at = [counters.index(f"{layer}_{name}") for name in (*COUNTED, "MAX_BYTE_READ", "MAX_BYTE_WRITTEN")]
        for record in _records(lib, handle, modules[layer]["idx"], layer):
            file = ctypes.c_uint64.from_address(record).value
            read, written, *ends = (
                max(ctypes.c_int64.from_address(record + 16 + 8 * k).value, 0) for k in at
            )
            before = moved.get(file, (0, 0))
            moved[file] = before[0] + read + written, max(before[1], *(end + 1 for end in ends))
    totals: dict[int, int] = {}
    seen: set[int] = set()
    for record in _records(lib, handle, modules["LUSTRE"]["idx"], "LUSTRE"):
        file = ctypes.c_uint64.from_address(record).value
        bytes_moved, size = moved.get(file, (0, 0))
        if file in seen or not bytes_moved:  # each process has a record of a shared file
            continue
        used = _used_targets(record, size)
        if used:
            seen.add(file)
        for number in used:
            totals[number] = totals.get(number, 0) + bytes_moved // len(used)
    if len(totals) > _MOST_TARGETS:
        raise Damaged("the number of its storage targets is impossible")
    elsewhere = sum(count for file, (count, _) in moved.items() if file not in seen)
    return [[number, total] for number, total in sorted(totals.items())], elsewhere


def _used_targets(record: int, size: int) -> list[int]:
    """The targets of one file's layout that hold a part of its first `size` bytes."""
    head = _Lustre.from_address(record)
    if not 0 <= head.components <= _MOST_COMPONENTS or not 0 <= head.stripes <= _MOST_TARGETS:
        raise Damaged("the number of stripes of a file is impossible")
    used: list[int] = []
    first = 0
    for k in range(head.components):
        part = head.layout[k]
        # A target is -1 where a component has no object yet, or an old log does not know it.
        count = max(part.stripes, 0)
        if first + count > head.stripes:
            raise Damaged("the stripes of a file do not add up to their number")
        begin, end = max(part.from_byte, 0), size if part.to_byte < 0 else min(part.to_byte, size)
        width = part.stripe_size if part.stripe_size > 0 else 1  # not known: on all
        filled = range(begin // width, -(-end // width))[:count]  # stripes count from the file's begin
        used += [n for n in (head.targets[first + k % count] for k in filled) if n >= 0]
        first += count
    return used


def _modules(lib: Any, handle: int) -> dict[str, dict[str, int]]:
    listed = ctypes.POINTER(_Module)()
    count = ctypes.c_int()
    lib.darshan_log_get_modules(handle, ctypes.byref(listed), ctypes.byref(count))
    if not 0 <= count.value <= _MOST_NAMES or not all(m.name for m in listed[: count.value]):
        raise Damaged("its table of modules is damaged")
    return {
        m.name.decode("ascii", "replace"): {"idx": m.idx, "partial": m.partial_flag}
        for m in listed[: count.value]
    }


def _records(lib: Any, handle: int, index: int, name: str) -> Iterator[int]:
    while True:
        record = ctypes.c_void_p()
        status = lib.darshan_log_get_record(handle, index, ctypes.byref(record))
        if status < 0:
            raise Damaged(f"its module {name} is damaged")
        if status == 0 or not record.value:
            return
        yield record.value
        lib.darshan_free(record)


def _segments(record: int, out: BinaryIO, memory: int) -> list[float]:
    head = _Dxt.from_address(record)
    reads, writes = head.reads, head.writes
    if reads < 0 or writes < 0 or (reads + writes) * _SEGMENT > memory:
        raise Damaged("the number of operations of a file is impossible")
    first = record + ctypes.sizeof(_Dxt)
    out.write((ctypes.c_char * ((reads + writes) * _SEGMENT)).from_address(first))
    return [_whole(head.rank), float(writes), float(reads), 0.0, 0.0, 0.0, 0.0, 0.0]


def _bins(record: int, heatmap: int, out: BinaryIO, memory: int) -> list[float]:
    head = _Heatmap.from_address(record)
    if head.id != heatmap:
        return []
    if head.bins < 0 or 16 * head.bins > memory:
        raise Damaged("the number of bins of its heatmap is impossible")
    for bins in (head.write_bins, head.read_bins):
        if head.bins:
            out.write((ctypes.c_char * (8 * head.bins)).from_address(bins))
    return [_whole(head.rank), float(head.bins), head.width, 0.0, 0.0, 0.0, 0.0, 0.0]


def _taker(lib: Any, prefix: str) -> Callable[[int], list[float]]:
    """Return a function that takes rank, bytes and times out of a record of counters."""
    counters = _counter_names(lib, prefix, "")
    timers = _counter_names(lib, prefix, "f_")
    wanted = [counters.index(f"{prefix.upper()}_{name}") for name in COUNTED]
    timed = [len(counters) + timers.index(f"{prefix.upper()}_{name}") for name in TIMED]

    def take(record: int) -> list[float]:
        rank = ctypes.c_int64.from_address(record + 8).value
        at = record + 16
        return [
            _whole(rank),
            *(_whole(ctypes.c_int64.from_address(at + 8 * k).value) for k in wanted),
            *(ctypes.c_double.from_address(at + 8 * k).value for k in timed),
        ]

    return take


def _counter_names(lib: Any, prefix: str, kind: str) -> list[str]:
    names = (ctypes.c_char_p * _MOST_NAMES).in_dll(lib, f"{prefix}_{kind}counter_names")
    end = f"{prefix}_{kind}NUM_INDICES".upper()
    found: list[str] = []
    for raw in names:
        name = raw.decode("ascii", "replace") if raw else end
        if name == end:
            return found
        found.append(name)
    raise Damaged("library too old: its counters have no end")


def _whole(number: int) -> float:
    if abs(number) > 2**53:
        raise Damaged("a counter is impossibly large")
    return float(number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
