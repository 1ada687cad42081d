"""Events per second of the cluster at 32 nodes, over the tasks that share a node."""

import numpy as np
import pytest

from validation.cluster import Cluster, ClusterTrace, SyntheticTraces, simulate_cluster

NODES = 32


@pytest.mark.parametrize("balancer", ["IOCM-PM", "IOCM-RE", "CPU", "NLB"])
@pytest.mark.parametrize(("parallel", "rate"), [(0.0, 1.25), (0.3, 0.8), (0.3, 1.25), (0.6, 1.25)])
def test_events_of_a_figure(benchmark, balancer, parallel, rate):
    traces = SyntheticTraces(jobs=600, nodes=NODES, parallel=parallel, io_rate=rate)
    trace = traces.draw(rng=np.random.default_rng(1))
    run = benchmark(simulate_cluster, Cluster.of(NODES), trace, balancer)
    benchmark.extra_info |= {"events": run.events, "updates": run.updates}


@pytest.mark.parametrize("tasks", [1, 2, 4, 8, 16, 32, 64])
def test_growth_with_the_tasks_on_a_node(benchmark, tasks):
    """Sequential jobs: so many at every node at once, each leaving one after the other."""
    rng = np.random.default_rng(1)
    count = tasks * NODES
    trace = ClusterTrace(
        arrivals=np.sort(rng.random(count)),
        homes=np.arange(count) % NODES,
        tasks=np.ones(count),
        demands=rng.uniform(100.0, 200.0, count),
        memory=np.ones(count),
        io_rates=rng.uniform(0.0, 2.0, count),
    )
    run = benchmark(simulate_cluster, Cluster.of(NODES), trace, "NLB")
    benchmark.extra_info |= {"events": run.events, "updates": run.updates}
