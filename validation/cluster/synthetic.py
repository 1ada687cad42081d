"""Traces drawn at random, as the paper describes them, and those of its five applications."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from phasefit.arrays import Array, Ints
from phasefit.checks import check_fields, check_given, instance_of, real_number, share, whole_number
from phasefit.records import Record
from qmodels.errors import ModelError
from validation.cluster.node import TYPICAL_REQUEST, Node
from validation.cluster.trace import ClusterTrace
from validation.jobs import BoundedPareto

#: Law of a task's CPU-seconds: short against the cost of migration, with a heavy tail.
CPU_LAW: Final = BoundedPareto(low=0.1, high=100.0, shape=1.0)
#: Of the Gamma law of the MB of one access.
_REQUEST_SHAPE: Final = 2.0
#: MB of a task: mean and coefficient of variation of a lognormal law, and where it is cut.
_MEMORY_MEAN, _MEMORY_CV, _LEAST, _MOST = 64.0, 1.0, 4.0, 512.0
#: Page faults per million instructions are a tenth of that per CPU-millisecond.
_PER_MILLISECOND: Final = 0.1


@dataclass(frozen=True, kw_only=True)
class SyntheticTraces(Record):
    """Jobs of many users: CPU demands with a heavy tail, I/O rates that differ from job to job.

    Parameters
    ----------
    jobs : int
    nodes : int
        Of the cluster; the largest parallel job has a task on each, or 32.
    parallel : float
        Share of the jobs that are parallel, with 2 to 32 tasks each.
    io_rate : float
        Mean disk accesses for each CPU-millisecond of the jobs that do I/O.
    io_free : float
        Share of the jobs without I/O.
    page_faults : float
        Page faults per million instructions of a task without any memory.
    memory_factor : float
        Multiplies the memory of every task.
    offered_disk : float, optional
        Load of the disks that would come at `load_rate` accesses per CPU-millisecond, were all nodes
        like `Node()`; the arrival rate follows from it, whatever the nodes are.
    load_rate : float
    offered_cpu : float, optional
        Instead: load of the CPUs, were all nodes of speed 1.
    skew : float
        Exponent of Zipf's law of the homes; 0 sends as many jobs to every node.
    cpu : BoundedPareto
        Law of a task's CPU-seconds.

    Raises
    ------
    ModelError
        If a parameter is out of its range, or not exactly one load is given.

    Notes
    -----
    Rates are uniform from 0 to twice their mean, the data on disk before a job begins from 0 to
    100 MB, a quarter of the accesses write, and data is accessed four times again. An access has a
    Gamma law of mean 256 KB and shape 2; what enters is the mean over the accesses of a job, which
    has a Gamma law again. Traces of one generator with other rates, page
    faults or memory are made of the same random numbers.

    Examples
    --------
    >>> trace = SyntheticTraces(jobs=200).draw(rng=np.random.default_rng(1))
    >>> trace.jobs, int(trace.parallel.sum()), int((trace.io_rates == 0).sum())
    (200, 60, 20)
    """

    jobs: int = 1500
    nodes: int = 32
    parallel: float = 0.3
    io_rate: float = 1.0
    io_free: float = 0.1
    page_faults: float = 0.5
    memory_factor: float = 1.0
    offered_disk: float | None = None
    load_rate: float = 1.0
    offered_cpu: float | None = None
    skew: float = 0.5
    cpu: BoundedPareto = CPU_LAW

    def __post_init__(self) -> None:
        for name in ("jobs", "nodes"):
            whole_number(name, getattr(self, name), least=1)
        check_fields(self, share, "parallel", "io_free")
        check_fields(self, real_number, "io_rate", "page_faults", "skew", least=0.0)
        check_fields(self, real_number, "memory_factor", "load_rate", above=0.0)
        if self.offered_disk is None and self.offered_cpu is None:
            object.__setattr__(self, "offered_disk", 0.75)
        if self.offered_disk is not None and self.offered_cpu is not None:
            raise ModelError("give offered_disk or offered_cpu, not both")
        check_given(self, real_number, "offered_disk", "offered_cpu", above=0.0)
        instance_of("cpu", self.cpu, BoundedPareto)
        if self.offered_disk is not None and self.io_free == 1.0:
            raise ModelError("no job uses a disk with io_free 1; give offered_cpu instead")
        if self.parallel > 0.0 and self.nodes < 2:
            raise ModelError("parallel jobs need two nodes; set parallel to 0")

    @property
    def mean_tasks(self) -> float:
        """Tasks of a job on average."""
        return 1.0 - self.parallel + self.parallel * (2.0 + min(32, self.nodes)) / 2.0

    @property
    def arrival_rate(self) -> float:
        """Jobs per second."""
        work = self.mean_tasks * self.cpu.mean / self.nodes
        if self.offered_cpu is not None:
            return self.offered_cpu / work
        assert self.offered_disk is not None
        accesses = 1000.0 * self.load_rate * (1.0 - self.io_free)
        return self.offered_disk / (work * accesses * Node().access_time(TYPICAL_REQUEST))

    def draw(self, *, rng: np.random.Generator) -> ClusterTrace:
        """Draw a trace.

        Parameters
        ----------
        rng : numpy.random.Generator

        Returns
        -------
        ClusterTrace
        """
        # A stream for each column: none shifts where another needs more numbers.
        gaps, homes, parallel, tasks, cpu, free, rates, sizes, memory, data = rng.spawn(10)
        n = self.jobs
        size = np.ones(n, np.int64)
        chosen = parallel.permutation(n)[: round(self.parallel * n)]
        size[chosen] = tasks.integers(2, max(2, min(32, self.nodes)) + 1, n)[chosen]
        demand = self.cpu.rvs(n, cpu)
        io = 2.0 * self.io_rate * rates.random(n)
        io[free.permutation(n)[: round(self.io_free * n)]] = 0.0
        spread = np.sqrt(np.log1p(_MEMORY_CV**2))
        megabytes = _MEMORY_MEAN * np.exp(spread * memory.standard_normal(n) - spread**2 / 2.0)
        return ClusterTrace(
            arrivals=np.cumsum(gaps.standard_exponential(n)) / self.arrival_rate,
            homes=_homes(self.nodes, self.skew, n, homes),
            tasks=size,
            demands=demand,
            memory=np.clip(self.memory_factor * megabytes, _LEAST, _MOST),
            io_rates=io,
            requests=_mean_requests(size * demand * io * 1000.0, sizes),
            initial=100.0 * data.random(n),
            writes=np.full(n, 0.25),
            reaccess=np.full(n, 4.0),
            fault_rates=np.full(n, _PER_MILLISECOND * self.page_faults),
        )


def _homes(nodes: int, skew: float, jobs: int, rng: np.random.Generator) -> Ints:
    """Homes by Zipf's law over the nodes in random order."""
    weights = np.arange(1.0, nodes + 1.0) ** -skew
    order = rng.permutation(nodes)
    ranks = np.searchsorted(np.cumsum(weights)[:-1] / weights.sum(), rng.random(jobs), "right")
    found: Ints = order[ranks].astype(np.int64)
    return found


def _mean_requests(accesses: Array, rng: np.random.Generator) -> Array:
    """Mean MB of so many accesses, at least one, each with the Gamma law."""
    shape = _REQUEST_SHAPE * np.maximum(accesses, 1.0)
    # By a normal approximation of the cube root, to the same random number whatever the shape:
    # traces with other rates stay comparable (Wilson and Hilferty 1931).
    normal = rng.standard_normal(accesses.size)
    root = 1.0 - 1.0 / (9.0 * shape) + normal / (3.0 * np.sqrt(shape))
    mean: Array = TYPICAL_REQUEST * np.maximum(root, 0.05) ** 3
    return mean


@dataclass(frozen=True)
class Application(Record):
    """A parallel program of which all jobs of a trace are runs."""

    name: str
    cpu: float  #: CPU-seconds of a task
    io_share: float  #: share of the time that a task alone spends at the disk

    @property
    def io_rate(self) -> float:
        """Disk accesses for each CPU-millisecond."""
        odds = self.io_share / (1.0 - self.io_share)
        return odds / (1000.0 * Node().access_time(TYPICAL_REQUEST))


#: Relative only: the measured traces of the applications are not at hand.
APPLICATIONS: Final = {
    app.name: app
    for app in (
        Application("Dmine", 60.0, 0.55),
        Application("Pgrep", 40.0, 0.60),
        Application("LU", 40.0, 0.80),
        Application("Titan", 50.0, 0.60),
        Application("Cholesky", 80.0, 0.50),
    )
}


@dataclass(frozen=True, kw_only=True)
class ApplicationTraces(Record):
    """Jobs that are all runs of one application, arriving alike for every application.

    Parameters
    ----------
    application : str
        A name in `APPLICATIONS`.
    jobs, nodes : int
    offered_disk : float
        Load of the disks that Dmine would bring; the arrival rate of all applications follows.
    skew : float
        As in `SyntheticTraces`.

    Raises
    ------
    ModelError
        If a parameter is out of its range.

    Notes
    -----
    Two to eight tasks of 40 MB without data on disk; CPU demands and rates within 5 % of the
    application's own; 5 % of the accesses write.
    """

    application: str
    jobs: int = 400
    nodes: int = 32
    offered_disk: float = 0.45
    skew: float = 0.5

    def __post_init__(self) -> None:
        if self.application not in APPLICATIONS:
            raise ModelError(f"application must be one of {', '.join(APPLICATIONS)}")
        whole_number("jobs", self.jobs, least=1)
        whole_number("nodes", self.nodes, least=2)
        real_number("offered_disk", self.offered_disk, above=0.0)
        real_number("skew", self.skew, least=0.0)

    @property
    def arrival_rate(self) -> float:
        """Jobs per second."""
        dmine = APPLICATIONS["Dmine"]
        tasks = (2.0 + min(8, self.nodes)) / 2.0
        work = tasks * dmine.cpu * dmine.io_share / (1.0 - dmine.io_share) / self.nodes
        return self.offered_disk / work

    def draw(self, *, rng: np.random.Generator) -> ClusterTrace:
        """Draw a trace; see `SyntheticTraces.draw`."""
        gaps, homes, tasks, cpu, rates = rng.spawn(5)
        app, n = APPLICATIONS[self.application], self.jobs
        return ClusterTrace(
            arrivals=np.cumsum(gaps.standard_exponential(n)) / self.arrival_rate,
            homes=_homes(self.nodes, self.skew, n, homes),
            tasks=tasks.integers(2, min(8, self.nodes) + 1, n),
            demands=app.cpu * cpu.uniform(0.95, 1.05, n),
            memory=np.full(n, 40.0),
            io_rates=app.io_rate * rates.uniform(0.95, 1.05, n),
            writes=np.full(n, 0.05),
            reaccess=np.full(n, 4.0),
        )
