"""What became of the jobs of one run, and of the nodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from phasefit.arrays import Array, Ints
from phasefit.checks import one_of
from phasefit.records import Result
from validation.cluster._kernels.state import (
    BARRIER,
    CPU,
    DISK,
    EVENTS,
    MIGRATION,
    NOW,
    PAGING,
    PEAK,
    QUEUEING,
    REFUSED,
    SERVICE,
    TASKS,
    UNSETTLED,
    UPDATES,
    WIDTH,
    State,
)
from validation.cluster.node import Cluster
from validation.cluster.trace import ClusterTrace

if TYPE_CHECKING:
    import pandas as pd

#: What `ClusterRun.summary` holds, with units; a part of the slowdown is what it adds.
QUANTITIES: Final = {
    "slowdown": "1",
    "slowdown_geometric": "1",
    "slowdown_p50": "1",
    "slowdown_p95": "1",
    "slowdown_p99": "1",
    "slowdown_sequential": "1",
    "slowdown_parallel": "1",
    "queueing": "1",
    "paging": "1",
    "barrier": "1",
    "migration": "1",
    "slower_nodes": "1",
    "response": "s",
    "makespan": "s",
    "cpu_utilisation": "1",
    "disk_utilisation": "1",
    "imbalance_cpu": "1",
    "imbalance_disk": "1",
    "imbalance_tasks": "1",
    "started_elsewhere": "tasks",
    "preemptions": "tasks",
    "refusals": "tasks",
    "frozen": "s",
}
#: Lines of a node over time, and the unit of each.
LINES: Final = {"cpu": CPU, "disk": DISK, "tasks": TASKS}
#: Slowdowns at which tails are kept.
TAIL: Final = np.geomspace(1.0, 1e6, 121)
#: Jobs in the system grow where there are so many times more at the end of the arrivals than in
#: the middle.
_GROWTH: Final = 1.5
#: Share of a job's time alone that sums of its rounded pieces may be off.
_ROUNDING: Final = 1e-12


@dataclass(frozen=True, eq=False, kw_only=True)
class ClusterRun(Result):
    """One run of a cluster.

    Times are seconds. A job's slowdown is the time from its arrival to its end, over the time that
    its work takes alone on the nodes that suit it best, its tasks waiting for nobody: of a parallel
    job with random accesses, which wait for each other's at barriers, it is above 1 even alone.
    """

    balancer: str
    trace: ClusterTrace = field(repr=False)
    start: Array = field(repr=False)  #: (jobs,) when the job was let in
    finish: Array = field(repr=False)  #: (jobs,)
    alone: Array = field(repr=False)  #: (jobs,) what its work takes alone, without any waiting
    spent: dict[str, Array] = field(repr=False)  #: (jobs,) what its time went into, by what for
    started: Ints = field(repr=False)  #: (tasks,) the node on which each began
    elsewhere: Ints = field(repr=False)  #: (jobs,) tasks that began away from their default node
    preempted: Ints = field(repr=False)  #: (jobs,) times that one of its tasks was moved
    present: Ints = field(repr=False)  #: (jobs,) jobs in the system when it came, itself included
    migrations: Ints = field(repr=False)  #: (nodes, nodes) tasks moved, from and to
    busy: Array = field(repr=False)  #: (nodes, 3) seconds of CPU and of disk, and task-seconds
    lines: Array = field(repr=False)  #: (bins, nodes, 3) means over successive stretches of time
    bin_width: float  #: seconds of such a stretch
    end: float  #: when the last job ended
    refusals: int  #: tasks that should have gone or moved, but would not have gained
    events: int
    updates: int  #: of the pace of one job
    unsettled: int  #: times that the fluid state was not within the tolerance
    peak_utilisation: float  #: the largest of a CPU or a disk at any time
    offered: tuple[float, float]  #: load of the CPUs and the disks that came

    @classmethod
    def of(cls, cluster: Cluster, trace: ClusterTrace, balancer: str, s: State) -> ClusterRun:
        """Read the tables of a run that is over."""
        alone, paging = alone_times(cluster, trace)
        spent = {
            name: s.spent[:, column]
            for name, column in (
                ("service", SERVICE),
                ("queueing", QUEUEING),
                ("paging", PAGING),
                ("barrier", BARRIER),
                ("migration", MIGRATION),
            )
        }
        # Waiting to be let in is queueing too; a job that lacks memory alone pages alone.
        spent["queueing"] = spent["queueing"] + (s.jobs["start"] - np.asarray(trace.arrivals))
        spent["slower_nodes"] = _beyond(spent["service"], alone - paging, alone)
        spent["paging"] = _beyond(spent["paging"], paging, alone)
        end, width = float(s.clocks[NOW]), float(s.clocks[WIDTH])
        bins = max(int(np.ceil(end / width)), 1)
        long = np.minimum(end - width * np.arange(bins), width)
        return cls(
            balancer=balancer,
            trace=trace,
            start=s.jobs["start"].copy(),
            finish=s.jobs["finish"].copy(),
            alone=alone,
            spent=spent,
            started=s.tasks["began"].copy(),
            elsewhere=s.jobs["remote"].copy(),
            preempted=s.jobs["moved"].copy(),
            present=s.jobs["present"].copy(),
            migrations=s.matrix,
            busy=s.integral,
            lines=s.line[:bins] / np.maximum(long, 1e-300)[:, None, None],
            bin_width=width,
            end=end,
            refusals=int(s.counts[REFUSED]),
            events=int(s.counts[EVENTS]),
            updates=int(s.counts[UPDATES]),
            unsettled=int(s.counts[UNSETTLED]),
            peak_utilisation=float(s.clocks[PEAK]),
            offered=trace.offered(cluster),
        )

    @property
    def response(self) -> Array:
        """Seconds from arrival to end, (jobs,)."""
        times: Array = self.finish - np.asarray(self.trace.arrivals)
        return times

    @property
    def slowdown(self) -> Array:
        """Response over the time alone, (jobs,)."""
        return self.response / self.alone

    def part(self, name: str) -> Array:
        """What one kind of delay adds to the slowdown of each job, (jobs,).

        Parameters
        ----------
        name : str
            "queueing" (at CPU and disk, and for being let in), "paging", "barrier", "migration",
            or "slower_nodes"; one and the five of them make the slowdown.
        """
        one_of("part", name, [key for key in self.spent if key != "service"])
        return self.spent[name] / self.alone

    def imbalance(self, what: str) -> float:
        """Standard deviation over the nodes of their "cpu", "disk" or "tasks", over the mean.

        Both are averaged over time; 0 if all nodes are always alike.
        """
        column = LINES[one_of("what", what, LINES)]
        lines = self.lines[:, :, column]
        mean = float(lines.mean())
        return float(lines.std(axis=1).mean()) / mean if mean > 0.0 else 0.0

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before using the numbers."""
        said = []
        for name, load in zip(("CPUs", "disks"), self.offered, strict=True):
            if load >= 1.0:
                said.append(
                    f"{load:.3g} times as much comes as the {name} could do: no steady state, "
                    f"slowdowns depend on the number of jobs"
                )
        n = self.present.size
        middle, last = self.present[n // 3 : 2 * n // 3], self.present[-max(n // 10, 1) :]
        if n >= 100 and not said and last.mean() > _GROWTH * middle.mean():
            said.append(
                f"{last.mean():.3g} jobs in the system at the end of the arrivals, after "
                f"{middle.mean():.3g} in the middle: it may not be in a steady state"
            )
        if self.unsettled:
            said.append(f"the fluid state missed its tolerance at {self.unsettled} events")
        return tuple(said)

    def summary(self) -> dict[str, float]:
        """Every quantity of `QUANTITIES` that this run has: no class without jobs."""
        slow, parallel = self.slowdown, self.trace.parallel
        found = {
            "slowdown": slow.mean(),
            "slowdown_geometric": np.exp(np.log(slow).mean()),
            **{f"slowdown_p{q}": np.quantile(slow, q / 100) for q in (50, 95, 99)},
        }
        for name, chosen in (("sequential", ~parallel), ("parallel", parallel)):
            if chosen.any():
                found[f"slowdown_{name}"] = slow[chosen].mean()
        for name in ("queueing", "paging", "barrier", "migration", "slower_nodes"):
            found[name] = self.part(name).mean()
        found["response"] = self.response.mean()
        found["makespan"] = self.end
        for k, name in enumerate(("cpu", "disk")):
            found[f"{name}_utilisation"] = self.busy[:, k].mean() / self.end
        for name in LINES:
            found[f"imbalance_{name}"] = self.imbalance(name)
        found["started_elsewhere"] = self.elsewhere.sum()
        found["preemptions"] = self.preempted.sum()
        found["refusals"] = self.refusals
        found["frozen"] = self.spent["migration"].sum()
        return {name: float(value) for name, value in found.items()}

    def record(self) -> dict[str, Any]:
        """What the run came to; its jobs are in `to_frame`."""
        return {"balancer": self.balancer} | self.summary()

    def plot(self, ax: Any = None) -> Any:
        """Draw the loads of the nodes over time; see `validation.cluster.plotting.timeline`."""
        from validation.cluster.plotting import timeline

        return timeline(self, ax=ax)

    def to_frame(self) -> pd.DataFrame:
        """One row for each job."""
        table = self.trace.to_frame()
        table["start_s"], table["finish_s"] = self.start, self.finish
        table["alone_s"], table["slowdown"] = self.alone, self.slowdown
        for name, seconds in self.spent.items():
            table[f"{name}_s"] = seconds
        table["started_elsewhere"], table["preemptions"] = self.elsewhere, self.preempted
        return table

    def timeline(self) -> pd.DataFrame:
        """One row for each node and stretch of time: utilisations, and tasks."""
        import pandas as pd

        bins, nodes, _ = self.lines.shape
        times = self.bin_width * np.arange(bins)
        return pd.DataFrame(
            {
                "from_s": np.repeat(times, nodes),
                "until_s": np.repeat(np.minimum(times + self.bin_width, self.end), nodes),
                "node": np.tile(np.arange(nodes), bins),
                **{name: self.lines[:, :, column].ravel() for name, column in LINES.items()},
            }
        )


def tails_of(run: ClusterRun) -> dict[str, Array]:
    """Share of the jobs of each class ("all", "sequential", "parallel") above each of `TAIL`."""
    slow, parallel = run.slowdown, run.trace.parallel
    classes = {"all": np.ones(slow.size, bool), "sequential": ~parallel, "parallel": parallel}
    return {
        name: 1.0 - np.searchsorted(np.sort(slow[chosen]), TAIL, "right") / chosen.sum()
        for name, chosen in classes.items()
        if chosen.any()
    }


def _beyond(spent: Array, own: Array, alone: Array) -> Array:
    """Time spent beyond a job's own part; none where it is what rounding leaves of the job's time alone."""
    beyond = spent - own
    return np.where(np.abs(beyond) <= _ROUNDING * alone, 0.0, beyond)


def alone_times(cluster: Cluster, trace: ClusterTrace) -> tuple[Array, Array]:
    """What every job takes on an otherwise empty cluster, and how much of it is paging.

    Parameters
    ----------
    cluster : Cluster
    trace : ClusterTrace

    Returns
    -------
    tuple of (jobs,) ndarray
        Seconds, on the nodes on which the job gets on fastest; as many as it has tasks.
    """
    kinds = {node: cluster.nodes.count(node) for node in dict.fromkeys(cluster.nodes)}
    rates, requests = 1000.0 * np.asarray(trace.io_rates), np.asarray(trace.requests)
    memory, faults = np.asarray(trace.memory), 1000.0 * np.asarray(trace.fault_rates)
    whole, paging = [], []
    for node in kinds:
        lack = np.maximum(memory - node.memory, 0.0) / np.maximum(memory, node.memory)
        paging.append(faults * lack * node.fault / 1000.0)
        own = rates * (node.access / 1000.0 + requests / node.disk_rate)
        whole.append(1.0 / node.speed + own + paging[-1])
    order = np.argsort(whole, axis=0, kind="stable")
    counts = np.array(list(kinds.values()))[order].cumsum(axis=0)
    # The slowest of the best nodes, as many as there are tasks, sets the pace.
    place = (counts < np.asarray(trace.tasks)).sum(axis=0)
    last = order[place, np.arange(trace.jobs)]
    each = np.arange(trace.jobs)
    sync = np.where(trace.parallel, cluster.sync, 0.0)
    demands = np.asarray(trace.demands)
    return (
        demands * (np.array(whole)[last, each] + sync),
        demands * np.array(paging)[last, each],
    )
