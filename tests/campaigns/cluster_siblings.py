"""Slowdowns of parallel jobs by the fluid model, against a simulation of every single disk access.

Jobs alone on nodes of their own, and jobs of one to eight tasks that share eight nodes from light
load to overload, at several I/O rates, with three kinds of accesses: exponential ones at random
times that share the disk, which is what the model assumes; the disk's own (8 ms and a random
transfer) at random times in turn; and regular ones in turn, which never vary. The fluid is taken
thrice: with tasks that wait for no slow sibling, as it was before (`access_dispersion` 0), with the
default (2), and with the dispersion of those very accesses.

``python -m tests.campaigns.cluster_siblings`` takes about ten minutes of CPU.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np

from tests.campaigns.record import write_record
from tests.naive.cluster import by_requests
from validation.cluster import Cluster, ClusterTrace, simulate_cluster
from validation.cluster.history import alone_times

SEED = 20_317
#: Name, options of `by_requests`, and dispersion.
ACCESSES = (
    ("exponential, shared", {}, 2.0),
    ("the disk's own, in turn", {"discipline": "fcfs", "service": "disk"}, 1.1),
    ("regular, in turn", {"discipline": "fcfs", "service": "fixed", "burst": "fixed"}, 0.0),
)
ALONE_TASKS, ALONE_RATES, ALONE_RUNS = (1, 2, 3, 4, 6, 8), (0.01, 0.03, 0.1, 0.3, 1.0), 4
NODES, JOBS, TRACES = 8, 20, 4
RATES, LOADS = (0.03, 0.1, 0.3, 1.0), (0.3, 0.6, 0.9, 1.5, 4.0)


def job_alone(tasks: int, rate: float) -> tuple[int, ClusterTrace]:
    """A job on as many nodes as it has tasks; more barriers where these cost little."""
    demand = 20.0 if rate < 0.3 else 5.0
    return tasks, ClusterTrace(
        arrivals=[0.0], homes=[0], tasks=[tasks], demands=[demand], memory=[10.0], io_rates=[rate]
    )


def jobs_that_share(rate: float, load: float, number: int) -> tuple[int, ClusterTrace]:
    """Jobs that come while the busier of CPUs and disks could do 1 / `load` times their work."""
    rng = np.random.default_rng([SEED, number])  # the same jobs at every rate and load
    tasks = rng.integers(1, NODES + 1, JOBS)
    demands, rates = rng.uniform(0.55, 2.05, JOBS), rate * rng.uniform(0.0, 2.0, JOBS)
    homes, times = rng.integers(0, NODES, JOBS), np.sort(rng.uniform(0.0, 1.0, JOBS))
    cpu = float((tasks * demands).sum())
    disk = float((tasks * demands * rates).sum()) * 14.4
    return NODES, ClusterTrace(
        arrivals=times * max(cpu, disk) / NODES / load,
        homes=homes,
        tasks=tasks,
        demands=demands,
        memory=np.full(JOBS, 10.0),
        io_rates=rates,
    )


def cells() -> Iterator[tuple[str, float, float, list[tuple[int, ClusterTrace]]]]:
    """Tasks, I/O rate, load (0 for a job alone), and the traces of a cell."""
    for tasks in ALONE_TASKS:
        for rate in ALONE_RATES:
            yield str(tasks), rate, 0.0, [job_alone(tasks, rate)] * ALONE_RUNS
    for rate in RATES:
        for load in LOADS:
            yield "1 to 8", rate, load, [jobs_that_share(rate, load, k) for k in range(TRACES)]


def fluid(nodes: int, trace: ClusterTrace, dispersion: float) -> float:
    """Mean slowdown by the fluid model."""
    cluster = Cluster.of(nodes, access_dispersion=dispersion)
    return float(simulate_cluster(cluster, trace, "NLB").slowdown.mean())


def rows() -> Iterator[dict[str, object]]:
    """One row for each cell and kind of accesses."""
    for tasks, rate, load, traces in cells():
        for kind, (name, options, own) in enumerate(ACCESSES):
            known = []
            for k, (nodes, trace) in enumerate(traces):
                rng = np.random.default_rng([SEED, 1, kind, k])
                finish = np.array(by_requests(Cluster.of(nodes), trace, rng, **options))
                alone, _ = alone_times(Cluster.of(nodes), trace)
                known.append(float(((finish - trace.arrivals) / alone).mean()))
            found = np.array([[fluid(*one, d) for d in (0.0, 2.0, own)] for one in traces])
            single = float(np.mean(known))
            # of the paired ratios: traces differ by more than what is drawn in one of them
            off = found / np.array(known)[:, None]
            error = off.std(axis=0, ddof=1) / len(known) ** 0.5
            before, default, fitting = found.mean(axis=0) / single - 1.0
            yield {
                "tasks": tasks,
                "io_rate": rate,
                "load": load,
                "accesses": name,
                "slowdown": f"{single:.4f}",
                "error_before": f"{before:.4f}",
                "error": f"{default:.4f}",
                "error_at_their_dispersion": f"{fitting:.4f}",
                "standard_error": f"{error[1]:.4f}",
            }


def main() -> None:
    """Play all cells and write the record."""
    found = []
    for row in rows():
        found.append(row)
        print(row, file=sys.stderr, flush=True)
    write_record("cluster-siblings", found, command="python -m tests.campaigns.cluster_siblings", seed=SEED)


if __name__ == "__main__":
    main()
