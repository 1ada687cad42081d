"""The cluster without balancing as open queueing networks, one for each node, in closed form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from phasefit.arrays import Array
from phasefit.records import Drawing, Result
from qmodels.errors import ModelError, UnstableError
from validation.cluster.node import TYPICAL_REQUEST, Cluster
from validation.cluster.synthetic import SyntheticTraces


@dataclass(frozen=True, eq=False, kw_only=True)
class OpenPrediction(Result):
    """What jobs meet that stay where they are sent, in a steady state."""

    drawing = Drawing("", ("slowdown", "cpu_utilisation", "disk_utilisation"))

    slowdown: float  #: mean over the jobs
    response: float  #: mean seconds
    cpu_utilisation: Array  #: (nodes,) of the nodes in the order of their popularity
    disk_utilisation: Array  #: (nodes,)
    method: str = "exact for processor sharing at CPU and disk"


def predict_no_balancing(cluster: Cluster, traces: SyntheticTraces) -> OpenPrediction:
    """Predict slowdowns of sequential jobs that nobody balances.

    Parameters
    ----------
    cluster : Cluster
        Of nodes that are alike.
    traces : SyntheticTraces
        Without parallel jobs; page faults are left out.

    Returns
    -------
    OpenPrediction

    Raises
    ------
    UnstableError
        If more work comes to a node than it can do.
    ModelError
        If jobs are parallel, nodes differ, or the traces are for another number of nodes.

    Notes
    -----
    Jobs come to a node as a Poisson process and go to and fro between its CPU and its disk. Where
    both are shared, this open network has a product form whatever the laws of the demands [1]_: a
    job that needs c and d seconds of them takes c / (1 - rho_c) + d / (1 - rho_d) on average. Its
    mean slowdown is therefore that of 1 / (1 - rho_d) + (1 / (1 - rho_c) - 1 / (1 - rho_d)) /
    (1 + d / c), and the I/O rates, uniform from 0 to b times, have E[1 / (1 + d / c)] =
    log(1 + b) / b.

    References
    ----------
    .. [1] F. Baskett, K. M. Chandy, R. R. Muntz, F. G. Palacios, "Open, closed, and mixed networks
       of queues with different classes of customers", *J. ACM* 22 (1975) 248-260.

    Examples
    --------
    >>> traces = SyntheticTraces(parallel=0.0, offered_disk=0.5, skew=0.0)
    >>> found = predict_no_balancing(Cluster.of(32), traces)
    >>> round(found.slowdown, 3), round(float(found.disk_utilisation[0]), 3)
    (1.802, 0.5)
    """
    nodes = len(cluster.nodes)
    if traces.parallel > 0.0:
        raise ModelError("barriers of parallel jobs have no such form; predict with parallel=0")
    if len(set(cluster.nodes)) > 1:
        raise ModelError("the prediction is for nodes that are alike")
    if traces.nodes != nodes:
        raise ModelError(f"the traces are for {traces.nodes} nodes, the cluster has {nodes}")
    node = cluster.nodes[0]
    weights = np.arange(1.0, nodes + 1.0) ** -traces.skew
    weights /= weights.sum()
    most = 2.0 * traces.io_rate * 1000.0 * node.access_time(TYPICAL_REQUEST)  # d / c at most
    cpu = weights * traces.arrival_rate * traces.cpu.mean / node.speed
    disk = cpu * node.speed * (1.0 - traces.io_free) * most / 2.0
    for name, load in (("CPU", cpu), ("disk", disk)):
        if load.max() >= 1.0:
            raise UnstableError(f"{name} of the most popular node", float(load.max()), 1.0)
    slower_cpu, slower_disk = 1.0 / (1.0 - cpu), 1.0 / (1.0 - disk)
    # The share of its time alone that a job spends at the CPU, on average over the I/O rates.
    at_cpu = float(np.log1p(most * node.speed) / (most * node.speed)) if most > 0.0 else 1.0
    at_cpu = traces.io_free + (1.0 - traces.io_free) * at_cpu
    slowdown = float(weights @ (slower_disk + (slower_cpu - slower_disk) * at_cpu))
    mean_disk = traces.cpu.mean * (1.0 - traces.io_free) * most / 2.0
    each = traces.cpu.mean / node.speed * slower_cpu + mean_disk * slower_disk
    return OpenPrediction(
        slowdown=slowdown,
        response=float(weights @ each),
        cpu_utilisation=cpu,
        disk_utilisation=disk,
    )
