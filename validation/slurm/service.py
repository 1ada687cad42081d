"""What jobs of a lab do: they compute and ask disks, all in one process that keeps the time.

A job that has its nodes is a shell that says so through one pipe and waits for a word from another.
Between the two this process lets its bursts pass, so that many virtual nodes take little of the
real processors and a job takes as long as it should.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Self, TypeAlias

#: Bursts of a job: ("c", seconds) of computation or ("d", seconds) of a disk's service.
Phases: TypeAlias = tuple[tuple[str, float], ...]


class Service:
    """Bursts of the jobs of a lab, and its disks.

    Parameters
    ----------
    folder : Path
        A new folder for its pipes.
    jobs : sequence of Phases
        Bursts of each job.
    disks : int
        A job that begins gets the disk with the fewest jobs.
    discipline : {"fcfs", "ps"}
        Whether requests of a disk are served in turn, or all at once at equal shares.
    """

    def __init__(
        self, folder: Path, jobs: Sequence[Phases], disks: int, discipline: Literal["fcfs", "ps"]
    ) -> None:
        self.folder, self.jobs = folder, jobs
        self.begins: dict[int, float] = {}
        self.ends: dict[int, float] = {}
        self.bursts: dict[int, list[float]] = {}
        self._jobs_of = [0] * disks
        self._disks = [_InTurn() if discipline == "fcfs" else _Shared() for _ in range(disks)]
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._begun: set[asyncio.Task[None]] = set()

    def command(self, number: int) -> list[str]:
        """Return what the job of a number runs."""
        return ["/bin/sh", "-c", f"echo {number} >{self.folder}/begun; read word <{self.folder}/{number}"]

    def __enter__(self) -> Self:
        self.folder.mkdir()
        os.mkfifo(self.folder / "begun")
        for number in range(len(self.jobs)):
            os.mkfifo(self.folder / str(number))
        self._begun_pipe = os.open(self.folder / "begun", os.O_RDWR | os.O_NONBLOCK)
        self._loop.add_reader(self._begun_pipe, self._read)
        self._thread.start()
        return self

    def __exit__(self, *unused: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        for task in self._begun:
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()
        os.close(self._begun_pipe)

    def _read(self) -> None:
        for line in os.read(self._begun_pipe, 65536).split():
            number = int(line)
            self.begins[number] = time.time()
            task = self._loop.create_task(self._run(number))
            self._begun.add(task)
            task.add_done_callback(self._begun.discard)

    async def _run(self, number: int) -> None:
        pipe = os.open(self.folder / str(number), os.O_RDWR | os.O_NONBLOCK)
        place = min(range(len(self._disks)), key=self._jobs_of.__getitem__, default=0)
        if self._disks:
            self._jobs_of[place] += 1
        bursts = self.bursts[number] = []
        try:
            for kind, seconds in self.jobs[number]:
                began = time.monotonic()
                if kind == "d":
                    await self._disks[place].serve(seconds)
                else:
                    await asyncio.sleep(seconds)
                bursts.append(time.monotonic() - began)
            self.ends[number] = time.time()
            os.write(pipe, b"served\n")
            await asyncio.sleep(2.0)  # until the job has read it
        finally:
            if self._disks:
                self._jobs_of[place] -= 1
            os.close(pipe)


class _InTurn:
    """Requests one after the other, in order of arrival."""

    def __init__(self) -> None:
        self.free = 0.0

    async def serve(self, seconds: float) -> None:
        self.free = max(time.monotonic(), self.free) + seconds
        await asyncio.sleep(max(self.free - time.monotonic(), 0.0))


class _Shared:
    """All requests at once, at equal shares: each ends at a virtual time of its own."""

    def __init__(self) -> None:
        self.virtual, self.seen = 0.0, time.monotonic()
        self.waiting: list[tuple[float, asyncio.Event]] = []
        self.timer: asyncio.TimerHandle | None = None

    async def serve(self, seconds: float) -> None:
        self._advance()
        done = asyncio.Event()
        self.waiting.append((self.virtual + seconds, done))
        self._set_timer()
        await done.wait()

    def _advance(self) -> None:
        now = time.monotonic()
        if self.waiting:
            self.virtual += (now - self.seen) / len(self.waiting)
        self.seen = now

    def _set_timer(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
        if self.waiting:
            left = min(end for end, _ in self.waiting) - self.virtual
            loop = asyncio.get_running_loop()
            self.timer = loop.call_later(max(left, 0.0) * len(self.waiting), self._end_served)

    def _end_served(self) -> None:
        self._advance()
        for end, done in self.waiting:
            if end <= self.virtual + 1e-6:
                done.set()
        self.waiting = [each for each in self.waiting if not each[1].is_set()]
        self._set_timer()
