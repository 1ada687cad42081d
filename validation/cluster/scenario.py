"""Files that describe a comparison of balancers: nodes, jobs, who competes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, ClassVar, Final

from pydantic import Field

from phasefit.records import Record
from qmodels.errors import ModelError, TraceFormatError
from qmodels.io.study_file import StudyFile, StudyTable, made_once
from qmodels.io.toml_tables import Count, Positive, Table, at_key, fail
from validation.cluster.balancing import BALANCERS, AbstractBalancer
from validation.cluster.node import MOST_NODES, Cluster, Node
from validation.cluster.runs import SameTrace, Traces
from validation.cluster.synthetic import CPU_LAW, ApplicationTraces, SyntheticTraces
from validation.cluster.trace import read_cluster_trace

NotNegative = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]

_MOST_JOBS: Final = 2_000_000  #: of a run, whose memory is their number times a kilobyte


class ClusterTable(Table):
    """What it costs to run a job elsewhere, and what balancers know."""

    remote_cost: NotNegative = Cluster.remote_cost
    preemption_cost: NotNegative = Cluster.preemption_cost
    barrier: Positive = Cluster.barrier
    barrier_cost: NotNegative = Cluster.barrier_cost
    access_dispersion: NotNegative = Cluster.access_dispersion
    broadcast: NotNegative = Cluster.broadcast
    remaining_known: bool = Cluster.remaining_known


class NodesTable(Table):
    """Nodes of one kind."""

    count: Count = 32
    speed: Positive = Node.speed
    memory: Positive = Node.memory
    access: NotNegative = Node.access
    disk_rate: Positive = Node.disk_rate
    fault: NotNegative = Node.fault
    link: Positive = Node.link


class JobsTable(Table):
    """What arrives when, and what it asks for."""

    instead: ClassVar = (("disk_load",), ("cpu_load",))

    source: str = "synthetic"
    count: Annotated[int, Field(ge=1, le=_MOST_JOBS)] | None = None
    parallel: Share | None = None
    io_rate: NotNegative | None = None
    io_free: Share | None = None
    page_faults: NotNegative | None = None
    memory_factor: Positive | None = None
    disk_load: Positive | None = None
    load_rate: Positive | None = None
    cpu_load: Positive | None = None
    skew: NotNegative | None = None
    shortest: Positive | None = None
    longest: Positive | None = None
    shape: Positive | None = None
    application: str | None = None
    path: str | None = None


class RuleTable(Table):
    """What the built-in balancers go by."""

    io_threshold: NotNegative | None = None
    crowded: NotNegative | None = None
    rounds: Annotated[int, Field(ge=0)] | None = None


class BalanceTable(StudyTable):
    """Who competes, and how much to compute."""

    balancers: list[str] = Field(default=["IOCM-PM", "IOCM-RE", "memory", "CPU", "NLB"], min_length=1)


class ClusterFile(StudyFile):
    """The whole file."""

    short: ClassVar = {**StudyFile.short, "balancers": "study.balancers"}

    title: str = "Balancers of a cluster"
    cluster: ClusterTable = ClusterTable()
    nodes: list[NodesTable] = Field(default=[NodesTable()], min_length=1)
    jobs: JobsTable = JobsTable()
    rules: RuleTable = RuleTable()
    study: BalanceTable = BalanceTable()


#: Keys of [jobs] that a source reads, and the fields that they fill.
_KEYS: Final[dict[str, dict[str, str]]] = {
    "synthetic": {
        "count": "jobs",
        "parallel": "parallel",
        "io_rate": "io_rate",
        "io_free": "io_free",
        "page_faults": "page_faults",
        "memory_factor": "memory_factor",
        "disk_load": "offered_disk",
        "load_rate": "load_rate",
        "cpu_load": "offered_cpu",
        "skew": "skew",
        "shortest": "low",
        "longest": "high",
        "shape": "shape",
    },
    "application": {
        "application": "application",
        "count": "jobs",
        "disk_load": "offered_disk",
        "skew": "skew",
    },
    "log": {"path": "path"},
}


@dataclass(frozen=True, eq=False)
class BalancePlan(Record):
    """A comparison of balancers, ready to run."""

    title: str
    seed: int
    cluster: Cluster
    traces: Traces
    balancers: tuple[AbstractBalancer, ...]
    replications: int


def load_balance(path: str | Path) -> BalancePlan:
    """Read a comparison of balancers from a TOML file.

    Parameters
    ----------
    path : str or Path
        Its keys are described in docs/reference/cluster-scenario.md; relative paths in it are taken
        from its own folder.

    Returns
    -------
    BalancePlan

    Raises
    ------
    ScenarioError
        If the file is missing, is no TOML, has an unknown key, or holds a value out of range;
        every fault found is listed, with its key and what would do.
    TraceFormatError
        If the job log is damaged.
    """
    source = Path(path)
    return plan_of(source, ClusterFile.read(source))


def plan_of(source: Path, spec: ClusterFile) -> BalancePlan:
    """The objects that the tables speak of; errors name `source` and the key."""
    nodes: list[Node] = []
    for i, kind in enumerate(spec.nodes):
        values = kind.model_dump(exclude={"count"})
        if len(nodes) + kind.count > MOST_NODES:
            asked = len(nodes) + kind.count
            fail(source, "nodes", f"a cluster may have {MOST_NODES:,} nodes, got {asked:,}")
        nodes += [at_key(source, f"nodes[{i}]", Node, **values)] * kind.count
    cluster = at_key(source, "nodes", Cluster, nodes, **spec.cluster.model_dump())
    traces = _traces(source, spec.jobs, len(nodes))
    if isinstance(traces, SameTrace):
        at_key(source, "jobs.path", traces.trace.fits, cluster)
    return BalancePlan(
        title=spec.title,
        seed=spec.study.seed,
        cluster=cluster,
        traces=traces,
        balancers=_balancers(source, spec),
        replications=1 if isinstance(traces, SameTrace) else spec.study.replications,
    )


def _balancers(source: Path, spec: ClusterFile) -> tuple[AbstractBalancer, ...]:
    options = spec.rules.model_dump(exclude_none=True)

    def make(name: str) -> AbstractBalancer:
        kind = BALANCERS.find(name)
        return kind(**options if kind.name in BALANCERS else {})

    return made_once(source, "study.balancers", "balancer", spec.study.balancers, make)


def _traces(source: Path, spec: JobsTable, nodes: int) -> Traces:
    """Where jobs come from."""
    if spec.source not in _KEYS:
        fail(source, "jobs.source", f"must be one of {', '.join(_KEYS)}, got {spec.source!r:.60}")
    known = _KEYS[spec.source]
    given = spec.model_dump(exclude={"source"}, exclude_none=True)
    for key in given:
        if key not in known:
            fail(source, f"jobs.{key}", f"is not for source {spec.source!r}; drop it")
    values = {known[key]: value for key, value in given.items()}
    if spec.source == "log":
        if "path" not in values:
            fail(source, "jobs.path", "this key is missing; name the job log")
        try:
            return SameTrace(read_cluster_trace(source.parent / values["path"]))
        except TraceFormatError:  # says where in the log
            raise
        except ModelError as error:
            fail(source, "jobs.path", str(error))
    if spec.source == "application":
        if "application" not in values:
            fail(source, "jobs.application", "this key is missing; name one, such as Dmine")
        return at_key(source, "jobs", ApplicationTraces, nodes=nodes, **values)
    law = {key: values.pop(key) for key in ("low", "high", "shape") if key in values}
    if law:
        values["cpu"] = at_key(source, "jobs", partial(replace, CPU_LAW), **law)
    if nodes == 1:
        values.setdefault("parallel", 0.0)
    return at_key(source, "jobs", SyntheticTraces, nodes=nodes, **values)
