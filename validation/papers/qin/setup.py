"""The cluster and the traces of Qin et al., and what was chosen where the paper is silent."""

from __future__ import annotations

from typing import Final

from validation.cluster import APPLICATIONS, ApplicationTraces, Cluster, SyntheticTraces

NODES: Final = 32
RUNS: Final = 10
#: Jobs of a trace, of the figures on memory, and of the applications.
JOBS, MEMORY_JOBS, APPLICATION_JOBS = 1500, 800, 400
QUICK_JOBS, QUICK_RUNS = 120, 2

#: Mean accesses per CPU-millisecond: figures 1 and 2, below them those that show where the batch
#: system is ahead, and figures 3, 4, 7 and 8.
BATCH_RATES: Final = tuple(round(1.4 + 0.1 * k, 2) for k in range(7))
LOWER_RATES: Final = (0.8, 1.0, 1.2)
RATES: Final = tuple(round(0.8 + 0.05 * k, 2) for k in range(10))
#: Page faults per million instructions: figures 5 and 6.
PAGE_FAULTS: Final = (1.0, 2.0, 4.0, 6.0, 8.0, 10.0)
#: Load of the disks at one access per CPU-millisecond; of the CPUs where memory is short, and
#: where there is hardly any I/O.
DISK_LOAD, MEMORY_CPU_LOAD, CPU_LOAD = 0.75, 0.20, 0.60
LOW_IO, LOW_FAULTS = 0.01, 0.5
#: What the memory of every task is multiplied by where memory is short.
MEMORY_FACTOR: Final = 3.0

SCHEMES: Final = ("IOCM-RE", "memory", "CPU", "NLB")
WITH_PREEMPTION: Final = ("IOCM-PM", "IOCM-RE", "memory", "CPU")


def cluster() -> Cluster:
    """32 nodes that are alike."""
    return Cluster.of(NODES)


def io_traces(rate: float, parallel: float, *, quick: bool) -> SyntheticTraces:
    """Jobs that mostly wait for disks, at a mean rate; page faults are rare."""
    return _traces(JOBS, parallel, quick, io_rate=rate, page_faults=LOW_FAULTS, offered_disk=DISK_LOAD)


def memory_traces(faults: float, parallel: float, *, quick: bool) -> SyntheticTraces:
    """Jobs that want more memory than there is, and hardly do I/O of their own."""
    short = {"page_faults": faults, "memory_factor": MEMORY_FACTOR, "offered_cpu": MEMORY_CPU_LOAD}
    return _traces(MEMORY_JOBS, parallel, quick, io_rate=LOW_IO, **short)


def cpu_traces(parallel: float, *, quick: bool) -> SyntheticTraces:
    """Jobs that compute: little I/O, and no page faults."""
    return _traces(JOBS, parallel, quick, io_rate=LOW_IO, page_faults=0.0, offered_cpu=CPU_LOAD)


def _traces(jobs: int, parallel: float, quick: bool, **asked: float) -> SyntheticTraces:
    jobs = QUICK_JOBS if quick else jobs
    return SyntheticTraces(jobs=jobs, nodes=NODES, parallel=parallel, **asked)  # type: ignore[arg-type]


def application_traces(name: str, *, quick: bool) -> ApplicationTraces:
    """Runs of one application; arrivals are those of all."""
    jobs = QUICK_JOBS if quick else APPLICATION_JOBS
    return ApplicationTraces(application=name, jobs=jobs, nodes=NODES)


APPLICATION_NAMES: Final = tuple(APPLICATIONS)
