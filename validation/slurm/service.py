"""Work of the jobs of a lab: they compute and ask disks, all in one process that keeps the time.

A job that has its nodes says so through one pipe and waits for a word from another. Between the
two this process lets its bursts pass, so that many virtual nodes take little of the real
processors and a job takes as long as it should.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, Self, TypeAlias

_WORKER = Path(__file__).with_name("worker.py")

#: Bursts of a job: ("c", seconds) of computation or ("d", seconds) of a disk's service.
Phases: TypeAlias = tuple[tuple[str, float], ...]


class Service:
    """Bursts of the jobs of a lab, and its disks.

    Parameters
    ----------
    folder : Path
        A new folder for its pipes.
    jobs : sequence of Phases
        Bursts of each job. A job that Slurm may stop computes once.
    disks : int
        A job that begins gets the disk with the fewest jobs.
    discipline : {"fcfs", "ps"}
        Whether requests of a disk are served in turn, or all at once at equal shares.

    Notes
    -----
    Jobs that Slurm may stop share the processor of their node equally with those on it that run at
    the same time, as under the kernel of a real node.
    """

    def __init__(
        self, folder: Path, jobs: Sequence[Phases], disks: int = 0, discipline: Literal["fcfs", "ps"] = "fcfs"
    ) -> None:
        self.folder, self.jobs = folder, jobs
        self.begins: dict[int, float] = {}
        self.ends: dict[int, float] = {}
        self.bursts: dict[int, list[float]] = {}
        self.stops: dict[int, list[list[float]]] = {}
        self._jobs_of = [0] * disks
        self._disks = [InTurn() if discipline == "fcfs" else Shared() for _ in range(disks)]
        self._nodes: defaultdict[str, Shared] = defaultdict(Shared)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._tasks: set[asyncio.Task[None]] = set()

    def command(self, number: int) -> list[str]:
        """Return what a job runs where Slurm only gives it nodes.

        Parameters
        ----------
        number : int
            Of the job.
        """
        return ["/bin/sh", "-c", f"echo begin {number} - >{self._told}; read word <{self._own(number)}"]

    def batch_command(self, number: int) -> list[str]:
        """Return what a job runs where Slurm runs and may stop it.

        Parameters
        ----------
        number : int
            Of the job.
        """
        return [
            sys.executable,
            "-I",
            "-S",
            str(_WORKER),
            str(self._told),
            str(self._own(number)),
            str(number),
        ]

    @property
    def _told(self) -> Path:
        return self.folder / "told"

    def _own(self, number: int) -> Path:
        return self.folder / str(number)

    def __enter__(self) -> Self:
        self.folder.mkdir()
        os.mkfifo(self._told)
        for number in range(len(self.jobs)):
            os.mkfifo(self._own(number))
        self._pipe = os.open(self._told, os.O_RDWR | os.O_NONBLOCK)
        self._loop.add_reader(self._pipe, self._read)
        self._thread.start()
        return self

    def __exit__(self, *unused: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        for task in self._tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()
        os.close(self._pipe)

    def _read(self) -> None:
        now = time.time()
        for line in os.read(self._pipe, 65536).decode().splitlines():
            word, text, node = line.split()
            number = int(text)
            if word == "begin":
                self.begins[number] = now
                self.stops[number] = []
                task = self._loop.create_task(self._run(number, node))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            elif word == "stop" and number not in self.ends:
                self.stops[number].append([now, now])
                self._nodes[node].pause(number)
            elif word == "go" and number not in self.ends:
                self.stops[number][-1][1] = now
                self._nodes[node].resume(number)

    async def _run(self, number: int, node: str) -> None:
        pipe = os.open(self._own(number), os.O_RDWR | os.O_NONBLOCK)
        place = min(range(len(self._disks)), key=self._jobs_of.__getitem__, default=0)
        if self._disks:
            self._jobs_of[place] += 1
        bursts = self.bursts[number] = []
        try:
            for kind, seconds in self.jobs[number]:
                began = time.monotonic()
                if kind == "d":
                    bursts.append(await self._disks[place].serve(seconds, number))
                elif node != "-":
                    bursts.append(await self._nodes[node].serve(seconds, number))
                else:
                    await asyncio.sleep(seconds)
                    bursts.append(time.monotonic() - began)
            self.ends[number] = time.time()
            if self._disks:
                self._jobs_of[place] -= 1
            os.write(pipe, b"served\n")
            await asyncio.sleep(2.0)  # until the job has read it
        finally:
            os.close(pipe)


class InTurn:
    """Requests one after the other, in order of arrival."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()

    async def serve(self, seconds: float, key: int) -> float:
        """Serve a request; return the seconds that its service took, its wait left out."""
        async with self.lock:
            began = time.monotonic()
            await asyncio.sleep(seconds)
            return time.monotonic() - began


class Shared:
    """All requests at once, at equal shares, but those that are stopped.

    Parameters
    ----------
    clock : callable
        Seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock, self.seen = clock, clock()
        self.left: dict[int, float] = {}
        self.paused: set[int] = set()
        self.done: dict[int, asyncio.Future[float]] = {}
        self.timer: asyncio.TimerHandle | None = None

    async def serve(self, seconds: float, key: int) -> float:
        """Serve a request; return the seconds of service that it got, more than asked by its lateness."""
        self.advance()
        self.left[key], self.done[key] = seconds, asyncio.get_running_loop().create_future()
        self._set_timer()
        return seconds - await self.done[key]

    def pause(self, key: int) -> None:
        """Stop the service of a request for now.

        Parameters
        ----------
        key : int
            Of the request.
        """
        self.advance()
        self.paused.add(key)
        self._set_timer()

    def resume(self, key: int) -> None:
        """Begin the service of a stopped request again.

        Parameters
        ----------
        key : int
            Of the request.
        """
        self.advance()
        self.paused.discard(key)
        self._set_timer()

    def advance(self) -> None:
        """Count what was served since the last event."""
        now = self.clock()
        running = [key for key in self.left if key not in self.paused]
        for key in running:
            self.left[key] -= (now - self.seen) / len(running)
        self.seen = now

    def _set_timer(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
        running = [left for key, left in self.left.items() if key not in self.paused]
        if running:
            wait = max(min(running), 0.0) * len(running)
            self.timer = asyncio.get_running_loop().call_later(wait, self._end_served)

    def _end_served(self) -> None:
        self.advance()
        served = [key for key, left in self.left.items() if left <= 1e-6 and key not in self.paused]
        for key in served:
            self.done.pop(key).set_result(self.left.pop(key))
        self._set_timer()
