"""Jobs that checkpoint to one storage, the slow way: plain objects, every time looked at anew.

All intervals, transfers and downtimes are constant, offsets and failure times are given, and
nothing is shared with the kernel. Transfers are moved on in real time from event to event.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field


@dataclass
class Job:
    """One job; `failures` are the absolute times at which it fails unless it is down."""

    offset: float
    failures: list[float] = field(default_factory=list)
    state: str = "working"
    work: float = 0.0  # not yet saved
    due: float = 0.0
    until: float = math.inf
    transfer: str | None = None  # "write" or "read"
    left: float | None = None  # bytes; None while it waits for admission
    captured: float = 0.0
    asked: float = 0.0
    stood: float = 0.0
    owed: bool = False
    saved: float = 0.0
    stalls: list[float] = field(default_factory=list)
    writes: list[float] = field(default_factory=list)


class Play:
    """Everything at one storage until a time."""

    def __init__(
        self,
        jobs,
        *,
        size,
        interval,
        restore,
        downtime,
        mode,
        snapshot,
        clock,
        bandwidth,
        per_job,
        writers,
        order,
    ):
        self.jobs, self.size, self.interval, self.restore = jobs, size, interval, restore
        self.downtime, self.mode, self.snapshot, self.clock = downtime, mode, snapshot, clock
        self.bandwidth, self.per_job, self.writers, self.order = bandwidth, per_job, writers, order
        self.now, self.queue, self.used = 0.0, [], 0.0
        for job in jobs:
            job.due = job.offset

    def moving(self):
        return [job for job in self.jobs if job.left is not None]

    def run(self, end):
        while True:
            active = self.moving()
            rate = min(self.per_job, self.bandwidth / len(active)) if active else 0.0
            times = [(self.now + job.left / rate, 1, i, "ends") for i, job in self.each(active)]
            for i, job in enumerate(self.jobs):
                if job.failures and job.state != "down":
                    times.append((job.failures[0], 0, i, "fails"))
                if job.state == "working":
                    times.append((job.due, 0, i, "due"))
                if job.state in ("down", "copying"):
                    times.append((job.until, 0, i, job.state))
            time, _, i, what = min(times, default=(math.inf, 0, 0, ""))
            step = min(time, end) - self.now
            for job in self.jobs:
                if job.state == "working":
                    job.work += step
            for job in active:
                job.left -= step * rate
            self.used += step * rate * len(active) / self.bandwidth
            self.now = min(time, end)
            if time >= end:
                return
            getattr(self, "_" + what)(self.jobs[i])

    def each(self, some):
        return [(i, job) for i, job in enumerate(self.jobs) if job in some]

    def _due(self, job):
        if self.mode == "waiting-works":
            job.due = math.inf
            self._ask(job, "write")
            return
        job.stood, job.state = self.now, "still"
        if self.mode == "blocking":
            job.captured = job.work
            self._ask(job, "write")
        elif job.transfer:
            job.owed = True
        else:
            self._copy(job)

    def _copy(self, job):
        job.state, job.until = "copying", self.now + self.snapshot
        if self.snapshot == 0:
            self._copying(job)

    def _copying(self, job):
        job.stalls.append(self.now - job.stood)
        job.captured = job.work
        self._ask(job, "write")
        self._work(job)

    def _work(self, job):
        job.state = "working"
        job.due = self.now + self.interval
        if self.clock:
            job.due = job.offset
            while job.due <= self.now + 1e-9 * self.interval:
                job.due += self.interval

    def _ask(self, job, what):
        job.transfer, job.left, job.asked = what, None, self.now
        self.queue.append(job)
        self._admit()

    def _admit(self):
        while self.queue and len(self.moving()) < self.writers:
            first = self.queue[0]
            if self.order == "reads-first":
                first = next((job for job in self.queue if job.transfer == "read"), first)
            self.queue.remove(first)
            first.left = self.restore if first.transfer == "read" else self.size
            if first.transfer == "write" and self.mode == "waiting-works":
                first.captured, first.stood, first.state = first.work, self.now, "still"

    def _ends(self, job):
        what, job.transfer, job.left = job.transfer, None, None
        if what == "read":
            job.work = 0.0
            self._work(job)
        else:
            job.saved += job.captured
            job.work -= job.captured
            job.writes.append(self.now - job.asked)
            if self.mode != "asynchronous":
                job.stalls.append(self.now - job.stood)
                self._work(job)
            elif job.owed:
                job.owed = False
                self._copy(job)
        self._admit()

    def _fails(self, job):
        while job.failures and job.failures[0] <= self.now:
            job.failures.pop(0)
        job.transfer, job.left, job.owed, job.work = None, None, False, 0.0
        if job in self.queue:
            self.queue.remove(job)
        job.state, job.until = "down", self.now + self.downtime
        self._admit()

    def _down(self, job):
        while job.failures and job.failures[0] <= self.now:
            job.failures.pop(0)
        job.state = "restoring"
        self._ask(job, "read")
