"""Processes that take turns on processors of this machine, and how many turns they end in a second."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from phasefit.arrays import Array
from phasefit.records import Record
from qmodels.errors import ModelError
from validation.kernel import worker

#: Seconds that processes need to start, and that are not counted while the first turns run.
STARTING, WARM_UP = 1.0, 0.5
#: Blocks of the file that is read and written.
FILE_BLOCKS: Final = 512


@dataclass(frozen=True)
class Mix(Record):
    """A turn of a process: it computes, then reads or writes.

    Examples
    --------
    >>> Mix(computing=0.02, blocks=0.0)
    Mix(computing=0.02, blocks=0.0)
    """

    computing: float  #: mean seconds of processor time of a turn, exponentially distributed
    blocks: float  #: mean number of blocks that it reads or writes after that


@dataclass(frozen=True, eq=False)
class Turns(Record):
    """Turns that processes ended side by side, and what they took."""

    ends: Array  #: seconds since counting began at which turns ended, in order
    seconds: float  #: of counting
    cpu: float  #: processor seconds of a turn
    others: float  #: share of the processors that was not these processes', nor idle

    @property
    def throughput(self) -> float:
        """Turns in a second."""
        return self.ends.size / self.seconds

    def in_parts(self, parts: int = 10) -> Array:
        """Return the turns in a second of equal parts of the time, side by side.

        Parameters
        ----------
        parts : int
            Their number.
        """
        counts, _ = np.histogram(self.ends, parts, (0.0, self.seconds))
        return counts / (self.seconds / parts)


@contextmanager
def file_on_disk(folder: Path | None = None) -> Iterator[Path]:
    """Make the file that processes read and write, and remove it.

    Parameters
    ----------
    folder : path_like, optional
        On the disk that is meant; by default that of temporary files that last.

    Yields
    ------
    Path
        The file.

    Raises
    ------
    ModelError
        If the disk gives no direct access, as a file system in memory does not.
    """
    with tempfile.TemporaryDirectory(dir=folder or Path("/var/tmp"), prefix="qmodels-") as place:
        path = Path(place) / "blocks"
        with path.open("wb") as out:
            for _ in range(FILE_BLOCKS):
                out.write(os.urandom(worker.BLOCK))
            out.flush()
            os.fsync(out.fileno())
        try:
            os.close(os.open(path, os.O_RDWR | os.O_DIRECT))
        except OSError as error:
            raise ModelError(
                f"{place}: no direct I/O here ({error.strerror}); name a folder on a disk"
            ) from None
        yield path


def run_turns(path: Path, mix: Mix, processes: int, cores: int, seconds: float, seed: int) -> Turns:
    """Run processes side by side on some of the processors.

    Parameters
    ----------
    path : path_like
        File that all of them read and write.
    mix : Mix
        What a turn is.
    processes : int
        Their number.
    cores : int
        Processors that they may use: the last ones of this machine.
    seconds : float
        Of counting, after all have begun.
    seed : int
        Of their bursts.

    Returns
    -------
    Turns
        Of all of them together.

    Raises
    ------
    ModelError
        If there are fewer processors, or a process fails.
    """
    allowed = sorted(os.sched_getaffinity(0))
    if cores > len(allowed):
        raise ModelError(f"{cores} processors asked for, {len(allowed)} may be used here")
    used = allowed[-cores:]
    start = time.monotonic() + STARTING + 0.05 * processes
    begin, end = start + WARM_UP, start + WARM_UP + seconds
    running = [
        subprocess.Popen(
            [sys.executable, "-I", "-S", worker.__file__, str(path)]
            + [str(each) for each in (seed * 1000 + k, mix.computing, mix.blocks, start, end)],
            stdout=subprocess.PIPE,
            preexec_fn=lambda: os.sched_setaffinity(0, used),
        )
        for k in range(processes)
    ]
    time.sleep(max(0.0, start - time.monotonic()))
    before, at = _busy(used), time.monotonic()
    time.sleep(max(0.0, end - time.monotonic()))
    busy, took = _busy(used) - before, time.monotonic() - at
    told = [process.communicate()[0] for process in running]
    if any(process.returncode for process in running):
        raise ModelError("a process that takes turns failed; what it printed stands above")
    ran = [json.loads(text) for text in told]
    all_ends = np.sort(np.concatenate([np.asarray(each["ends"], dtype=float) for each in ran]))
    cpu = float(sum(each["cpu"] for each in ran))
    counted = all_ends[(all_ends >= begin) & (all_ends < end)] - begin
    return Turns(counted, seconds, cpu / max(1, all_ends.size), max(0.0, busy - cpu) / (took * cores))


def _busy(cores: list[int]) -> float:
    """Return the seconds that processors were not idle, time taken by other machines included."""
    total = 0.0
    for line in Path("/proc/stat").read_text(encoding="ascii").splitlines():
        name, *ticks = line.split()
        if name in {f"cpu{core}" for core in cores}:
            user, nice, system, _idle, _iowait, irq, soft, steal = map(int, ticks[:8])
            total += user + nice + system + irq + soft + steal
    return total / os.sysconf("SC_CLK_TCK")
