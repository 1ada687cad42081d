"""How fast worms move; run with --benchmark-enable. CPU time counts."""

import time

import numpy as np
import pytest

from validation.mesh import Mesh, Network, Router, Traffic, TrafficPhase


def jobs_of_sixteen(mesh, router, rounds):
    """Every node in a random job of 16, all-to-all, messages of 16 to 64 flits."""
    network = Network(mesh, router)
    nodes = np.random.default_rng(1).permutation(mesh.nodes)
    for k in range(mesh.nodes // 16):
        phase = TrafficPhase(pattern="all-to-all", flits=16 * (1 + k % 4), rounds=rounds)
        network.start(k, nodes[16 * k : 16 * k + 16], Traffic.of(phase))
    return network


def finish(network):
    messages = 0
    while network.jobs:
        messages += sum(done.messages for done in network.advance())
    return messages


@pytest.fixture
def cpu_benchmark(benchmark):
    finish(jobs_of_sixteen(Mesh(4, 4), Router(), 1))
    benchmark._timer = time.process_time
    return benchmark


@pytest.mark.parametrize("router", [Router(), Router.pipelined()], ids=["ideal", "pipelined"])
def test_half_a_million_messages_on_16_by_22(cpu_benchmark, router):
    def made():
        return (jobs_of_sixteen(Mesh(16, 22), router, 100),), {}

    messages = cpu_benchmark.pedantic(finish, setup=made, rounds=3)
    assert messages == 528_000


@pytest.mark.parametrize("side", [8, 16, 32, 64, 128])
def test_cost_per_hop_from_64_to_16384_nodes(cpu_benchmark, side):
    networks = []

    def made():
        networks.append(jobs_of_sixteen(Mesh(side, side), Router(), max(2, 51_200 // side**2)))
        return (networks[-1],), {}

    cpu_benchmark.pedantic(finish, setup=made, rounds=3)
    cpu_benchmark.extra_info["header_hops"] = networks[-1].header_hops
