"""Jobs submitted to a lab at their times, and what came of each: stamps by the jobs themselves."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from qmodels.errors import ModelError
from validation.slurm.lab import Lab
from validation.slurm.service import Phases, Service


@dataclass(frozen=True)
class LabJob:
    """A job as it is submitted."""

    arrival: float  #: seconds from the first
    phases: Phases  #: its bursts
    nodes: int = 0  #: that it asks for; 0 leaves that to the partition
    limit: int = 0  #: minutes that it may run; 0 for no limit of its own
    qos: str = ""  #: its quality of service, if it names one

    @property
    def size(self) -> float:
        """Seconds of all its bursts alone."""
        return sum(seconds for _, seconds in self.phases)


@dataclass(frozen=True)
class LabRun:
    """A job as it ran; seconds of one clock."""

    submit: float  #: when the client was started
    begin: float  #: first moment of the job itself
    end: float  #: its last
    bursts: tuple[float, ...] = ()  #: seconds of each, without waits at a disk or for a turn
    stops: tuple[tuple[float, float], ...] = ()  #: when Slurm stopped it and when it went on

    @property
    def stopped(self) -> float:
        """Seconds that Slurm had it stopped."""
        return sum(on - off for off, on in self.stops)


def run_jobs(
    lab: Lab,
    jobs: Sequence[LabJob],
    *,
    disks: int = 0,
    disk_discipline: Literal["fcfs", "ps"] = "fcfs",
    batch: bool = False,
    patience: float = 180.0,
) -> list[LabRun]:
    """Run jobs: submit each at its time and wait until all have ended.

    Parameters
    ----------
    lab : Lab
        That is running.
    jobs : sequence of LabJob
        In order of arrival.
    disks : int
        Disks that the jobs ask; none by default.
    disk_discipline : {"fcfs", "ps"}
    batch : bool
        Whether jobs are submitted by sbatch, so that each is a process on its first node, which
        the node's daemon can stop and continue. Otherwise by salloc: Slurm gives a job its nodes
        and takes them back, and its work is run where it was submitted.
    patience : float
        Seconds without a job that ends, after the last was submitted, at which to give up.

    Returns
    -------
    list of LabRun
        In the order of the jobs.

    Raises
    ------
    ModelError
        If a client fails, or a job does not end.
    """
    folder = lab.place / f"jobs-{time.monotonic_ns()}"
    with Service(folder, [job.phases for job in jobs], disks, disk_discipline) as service:

        def batch_command(number: int) -> list[str]:
            words = " ".join(f"'{word}'" for word in service.batch_command(number))
            return ["-o", "/dev/null", "--wrap", f"exec {words}"]

        command = batch_command if batch else service.command
        submits, clients = _submit(lab, jobs, "sbatch" if batch else "salloc", command)
        _wait(lambda: len(service.ends), len(jobs), patience)
        lab.client_seconds += _end(clients)
        return [
            LabRun(
                submit,
                service.begins[k],
                service.ends[k],
                tuple(service.bursts[k]),
                tuple((off, on) for off, on in service.stops[k]),
            )
            for k, submit in enumerate(submits)
        ]


def _submit(
    lab: Lab, jobs: Sequence[LabJob], client: str, command: Callable[[int], list[str]]
) -> tuple[list[float], list[subprocess.Popen[bytes]]]:
    """Start a client for each job at its time; return when each was, and the clients."""
    submits, clients = [], []
    zero = time.time() + 0.2
    for number, job in enumerate(jobs):
        words = [*lab.first_words, client, "-Q", "-J", f"job{number}"]
        words += ["-N", str(job.nodes)] if job.nodes else []
        words += ["-t", str(job.limit)] if job.limit else []
        words += ["--qos", job.qos] if job.qos else []
        time.sleep(max(zero + job.arrival - time.time(), 0.0))
        submits.append(time.time())
        clients.append(
            subprocess.Popen(
                [*words, *command(number)],
                env=lab.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                cwd=lab.place,
            )
        )
    return submits, clients


def _wait(ended: Callable[[], int], count: int, patience: float) -> None:
    """Wait until all jobs have ended; ModelError if none does for so many seconds."""
    last, known = time.monotonic(), 0
    while (now := ended()) < count:
        if now > known:
            known, last = now, time.monotonic()
        if time.monotonic() - last > patience:
            raise ModelError(f"{count - now} of {count} jobs have not ended, and none did for {patience:g} s")
        time.sleep(0.25)


def _end(clients: Sequence[subprocess.Popen[bytes]]) -> float:
    """Wait for clients and return their processor seconds; ModelError with the words of one that failed."""
    seconds = 0.0
    for process in clients:
        assert process.stderr is not None
        with process.stderr as pipe:
            message = pipe.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds += used.ru_utime + used.ru_stime
        if process.returncode:
            raise ModelError(f"a client of Slurm failed: {message.decode().strip()[-300:]}")
    return seconds
