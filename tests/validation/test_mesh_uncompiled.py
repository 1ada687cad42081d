"""The kernels of the mesh are plain Python too: without their compiler they say the same bits."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from validation.mesh import FlowNetwork, Mesh, Network, Router, Traffic, TrafficPhase

WEST = Mesh(3, 4, io_side="west")
PLACES = {
    "ideal": (Network, WEST, Router(), 1.0),
    "pipelined": (Network, WEST, Router.pipelined(buffer=2), 2.5),
    "cut through": (Network, WEST, Router(cut_through=True), 2.5),
    "torus": (Network, Mesh(3, 4, torus=True), Router(hop=2), 1.0),
    "flows": (FlowNetwork, WEST, Router(hop=2, buffer=3, credit=1), 2.5),
}


def phases(name, mesh):
    sent = [
        TrafficPhase(pattern="all-to-all", flits=3, pause=7),
        TrafficPhase(pattern="random", flits=5, rounds=4),
        TrafficPhase(pattern="fft", flits=4, lockstep=True, rounds=2),
    ]
    if mesh.io_nodes.size:
        sent += [
            TrafficPhase(pattern="write", flits=9),
            TrafficPhase(pattern="mixed", rounds=6, io_share=0.5),
        ]
    if name != "flows":
        sent.append(TrafficPhase(pattern="random", rounds=5, interval=12.0))
    # Flits of a torus take several times as long without the compiler.
    return Traffic.of(*sent, repeat=1 if mesh.torus else 2)


def outcome(name):
    """All that two jobs which share the mesh tell of themselves."""
    make, mesh, router, pace = PLACES[name]
    network = make(mesh, router, disk_pace=pace, seed=4)
    for job in (0, 1):
        network.start(job, list(range(job, mesh.nodes, 2)), phases(name, mesh), time=11 * job)
    done = []
    while network.jobs:
        done += network.advance()
    return [
        [
            job.job,
            job.finish,
            job.mean_latency,
            job.mean_network_latency,
            job.mean_blocking,
            job.longest_latency,
            job.mean_hops,
            job.messages,
            job.flits,
            list(map(list, job.phases)),
        ]
        for job in done
    ]


@pytest.fixture(scope="module")
def uncompiled():
    done = subprocess.run(
        [sys.executable, __file__],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.thorough
@pytest.mark.parametrize("name", PLACES)
def test_the_mesh_says_the_same_without_its_compiler(name, uncompiled):
    assert uncompiled["compiled"] is False
    assert outcome(name) == uncompiled[name]


if __name__ == "__main__":
    from validation.mesh._kernels import events

    found = {name: outcome(name) for name in PLACES}
    print(json.dumps(found | {"compiled": hasattr(events.advance, "py_func")}))
