"""Rows of the comparison: a policy, its jobs, and what a real Slurm did with them.

What is measured of one row is kept whole in a file, so that a campaign goes on where it was
broken off and its comparisons can be made anew without a Slurm.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from phasefit.arrays import Array
from qmodels.exports.slurm import as_slurm, rigid_lines
from qmodels.policies import System, parse_policy
from qmodels.whole_files import write_whole
from validation.analysis.seeding import stream
from validation.slurm.lab import Lab
from validation.slurm.service import Phases
from validation.slurm.submission import LabJob, LabRun, run_jobs

#: Nodes that jobs of rigid rows ask for, and how often.
WIDTHS, WIDTH_SHARES = (1, 2, 4, 8), (0.4, 0.3, 0.2, 0.1)
#: Minutes that jobs of rigid rows may run, each as often: users overestimate.
LIMITS = (1, 2, 3)
#: Qualities of service, their priorities, and the share of the jobs that name the higher.
QOS, URGENT = {"urgent": 100}, 0.3
#: Seconds of a slice under gang scheduling, and between two looks of the backfill scheduler.
SLICE, TICK = 5, 1


@dataclass(frozen=True)
class Row:
    """One comparison: what is asked of Slurm."""

    policy: str  #: label of a policy, or "FCFS", "backfill", "FCFS with priorities"
    load: float  #: of the jobs alone, without what Slurm adds
    mean: float  #: seconds of a job alone
    scv: float = 1.0  #: of it, at least 1
    seed: int = 0  #: of its jobs
    nodes: int = 8  #: of its lab
    disks: int = 0  #: that jobs share
    disk_discipline: Literal["fcfs", "ps"] = "fcfs"  #: how a disk serves requests
    io_share: float = 0.0  #: of a job's time alone, in bursts between its bursts of computation
    bursts: int = 1  #: of either kind
    jobs: int = 300  #: their number

    @property
    def name(self) -> str:
        """Short name for files and tables."""
        disks = f" {self.disks} {self.disk_discipline} disks" if self.disks else ""
        return f"{self.policy}{disks} {self.load:g} seed {self.seed}"

    @property
    def rigid(self) -> bool:
        """True if jobs ask for widths of their own."""
        return "(" not in self.policy

    @property
    def gang(self) -> bool:
        """True if Slurm stops jobs for others' turns."""
        return self.policy.startswith("TS")

    @property
    def system(self) -> System:
        """The machine as models have it."""
        return System(self.nodes, max(self.disks, 1))

    @property
    def servers(self) -> float:
        """Jobs that run at once: partitions, or nodes by the mean width."""
        if self.rigid:
            return self.nodes / float(np.dot(WIDTHS, WIDTH_SHARES))
        return float(parse_policy(self.policy).arrangement(self.system).processor_partitions)

    @property
    def lines(self) -> tuple[str, ...]:
        """Lines of slurm.conf."""
        if self.rigid:
            order: Literal["fcfs", "backfill"] = "backfill" if "backfill" in self.policy else "fcfs"
            return rigid_lines(order, priorities="priorities" in self.policy, tick=TICK)
        return as_slurm(parse_policy(self.policy), self.system, slice_seconds=SLICE).lines

    def drawn_jobs(self) -> list[LabJob]:
        """Return the jobs of this row: Poisson arrivals, hyperexponential sizes of balanced means."""
        key = (self.policy, self.disks, self.disk_discipline, round(self.load * 1000))
        rng = stream(self.seed, "slurm", *key)
        arrivals = np.cumsum(rng.exponential(self.mean / (self.load * self.servers), self.jobs))
        long = 0.5 * (1.0 - np.sqrt((self.scv - 1.0) / (self.scv + 1.0)))
        of_long = rng.random(self.jobs) < long
        means = self.mean / (2.0 * np.where(of_long, long, 1.0 - long))
        sizes = np.maximum(rng.exponential(means), 0.05)
        widths = rng.choice(WIDTHS, self.jobs, p=WIDTH_SHARES)
        limits = rng.choice(LIMITS, self.jobs)
        urgent = rng.random(self.jobs) < URGENT
        jobs = []
        for k in range(self.jobs):
            nodes, limit = int(widths[k]), int(max(limits[k], np.ceil(sizes[k] / 60.0)))
            phases = self._phases(float(sizes[k]), rng)
            jobs.append(
                LabJob(
                    float(arrivals[k]),
                    phases,
                    nodes=nodes if self.rigid else 0,
                    limit=limit if self.rigid else 0,
                    qos="urgent" if "priorities" in self.policy and urgent[k] else "",
                )
            )
        return jobs

    def _phases(self, size: float, rng: np.random.Generator) -> Phases:
        """Bursts of a job: of exponential lengths, in proportion to its size."""
        if not self.disks:
            return (("c", size),)
        lengths = rng.exponential(size / self.bursts, (self.bursts, 2))
        lengths *= (1.0 - self.io_share, self.io_share)
        return tuple(("cd"[kind], float(lengths[k, kind])) for k in range(self.bursts) for kind in (0, 1))


@dataclass(frozen=True)
class Measurement:
    """Jobs of a row as Slurm ran them, and what the lab measured of Slurm before."""

    row: Row  #: what was asked
    jobs: list[LabJob]  #: as they were submitted
    runs: list[LabRun]  #: as they ran
    start: list[float]  #: seconds from submission to the job's first moment on an idle machine
    dead: list[float]  #: seconds from a job's end to the start of the next one that waits
    slices: list[LabRun] = field(default_factory=list)  #: jobs that only take turns
    sacct: str = ""  #: its log, as text
    cpu_seconds: float = 0.0  #: of the daemons and clients, without the jobs
    load_average: float = 0.0  #: of the machine at the end

    def save(self, path: Path) -> None:
        """Write all of it as JSON, whole or not at all.

        Parameters
        ----------
        path : Path
            The file.
        """
        write_whole(path, json.dumps(asdict(self)).encode())

    @classmethod
    def read(cls, path: Path) -> Measurement:
        """Read what `save` wrote.

        Parameters
        ----------
        path : Path
            The file.
        """
        known: dict[str, Any] = json.loads(path.read_text())
        known["row"] = Row(**known["row"])
        known["jobs"] = [_job(each) for each in known["jobs"]]
        for name in ("runs", "slices"):
            known[name] = [_run(each) for each in known[name]]
        return cls(**known)


def _job(known: dict[str, Any]) -> LabJob:
    return LabJob(**{**known, "phases": tuple((kind, seconds) for kind, seconds in known["phases"])})


def _run(known: dict[str, Any]) -> LabRun:
    stops = tuple((off, on) for off, on in known["stops"])
    return LabRun(known["submit"], known["begin"], known["end"], tuple(known["bursts"]), stops)


def measure(row: Row, *, folder: Path | None = None) -> Measurement:
    """Run the jobs of a row on a lab of its own, after measuring the lab itself.

    Parameters
    ----------
    row : Row
        What is asked of Slurm.
    folder : path_like, optional
        Of the lab; by default a temporary one.

    Returns
    -------
    Measurement
        All that is known of the row, so that it can be compared without a Slurm.

    Raises
    ------
    ModelError
        If Slurm is not installed, a daemon does not start or a job does not end.
    """
    with Lab(row.nodes, row.lines, QOS if "priorities" in row.policy else {}, folder) as lab:
        start, dead, slices, before_row = _latencies(lab, row)
        jobs = row.drawn_jobs()
        runs = run_jobs(lab, jobs, disks=row.disks, disk_discipline=row.disk_discipline, batch=row.gang)
        log = lab.sacct(len(jobs) + before_row)
        cpu = lab.cpu_seconds() + lab.client_seconds
    return Measurement(row, jobs, runs, start, dead, slices, log, cpu, os.getloadavg()[0])


def _latencies(lab: Lab, row: Row) -> tuple[list[float], list[float], list[LabRun], int]:
    """Measure what Slurm adds, by jobs that tell nothing of the row; the last is their number."""
    rng = stream(row.seed, "slurm latencies")
    width = 2 if row.rigid else 0
    at_once = row.nodes // 2 if row.rigid else round(row.servers)
    apart = np.cumsum(rng.uniform(0.7, 1.2, 16))
    alone = run_jobs(lab, [LabJob(float(t), (("c", 0.1),), width) for t in apart], batch=row.gang)
    start = [each.begin - each.submit for each in alone]
    if row.gang:
        turns = run_jobs(lab, [LabJob(0.0, (("c", 12.0),)) for _ in range(2 * at_once)], batch=True)
        return start, [], turns, len(start) + len(turns)
    sizes = rng.uniform(0.4, 1.2, 4 * at_once + 16)
    waiting = run_jobs(lab, [LabJob(0.0, (("c", float(size)),), width) for size in sizes])
    return start, dead_times(waiting, at_once), [], len(start) + len(waiting)


def dead_times(runs: Sequence[LabRun], at_once: int) -> list[float]:
    """Return the times from an end to the start of a job that waited for it.

    Parameters
    ----------
    runs : sequence of LabRun
        Of jobs that were all there from the beginning.
    at_once : int
        Jobs that run at once.

    Returns
    -------
    list of float
        Seconds, without the jobs that began while others were still submitted.
    """
    starts, ends = np.sort([each.begin for each in runs]), np.sort([each.end for each in runs])
    gaps: Array = starts[at_once:] - ends[:-at_once]
    return [float(gap) for gap in gaps[at_once:]]
