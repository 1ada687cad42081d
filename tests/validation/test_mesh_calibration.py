"""Against the per-message times and sweeps of a flit-level simulator."""

import gzip
import json

import numpy as np
import pytest

from tests.naive import allocators
from validation.mesh import Mesh, Messages, Network, Router, latency_curve

# Name, mesh. The burst ran with x over 16 columns.
TRACES = [
    ("uni8_0.01", Mesh(8, 8)),
    ("uni8_0.1", Mesh(8, 8)),
    ("uni20_0.1", Mesh(8, 8)),
    ("a2as8", Mesh(22, 16)),
]


@pytest.fixture
def booksim(shared_data):
    folder = shared_data / "booksim"
    if not folder.is_dir():
        pytest.skip(f"no flit-level traces at {folder}")
    return folder


def read(path):
    with gzip.open(path) as file:
        return np.loadtxt(file, dtype=np.int64)


@pytest.mark.parametrize(("name", "mesh"), TRACES, ids=[name for name, _ in TRACES])
def test_every_message_of_a_trace_completes_in_the_flit_level_simulators_cycle(booksim, name, mesh):
    messages = Messages(*read(booksim / "traces" / f"{name}.txt.gz").T)
    source, target, _, created, injected, delivered = read(
        booksim / "traces" / f"{name}.booksim_vc1_b8_wtc1.lat.gz"
    ).T
    network = Network(mesh, Router.pipelined(), record=True)
    network.start("trace", None, messages)
    [done] = network.advance()
    ours = network.messages().sort_values(["source", "number"])
    theirs = np.lexsort((injected, created, source))
    assert ours["destination"].tolist() == target[theirs].tolist()
    assert ours["injected"].tolist() == injected[theirs].tolist()
    assert ours["delivered"].tolist() == delivered[theirs].tolist()
    assert done.finish == delivered.max()


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "mesh"), TRACES[1:3], ids=[name for name, _ in TRACES[1:3]])
def test_the_naive_router_with_allocators_is_the_flit_level_simulators(booksim, name, mesh):
    """Its judge of tori: the first 300 cycles of two traces, which later messages cannot change."""
    until = 300
    sent = read(booksim / "traces" / f"{name}.txt.gz")
    messages = Messages(*sent[sent[:, 0] < until].T)
    source, target, _, created, _, delivered = read(
        booksim / "traces" / f"{name}.booksim_vc1_b8_wtc1.lat.gz"
    ).T
    theirs = sorted(zip(delivered, source, target, created, strict=True))
    times = allocators.delivery_times(mesh, messages, 1, until)
    columns = (times, messages.source, messages.destination, messages.created)
    ours = sorted(zip(*(column[times >= 0] for column in columns), strict=True))
    # What leaves its last router in the last cycles is on its way to the node.
    complete = [one for one in theirs if one[0] < until]
    assert [one for one in ours if one[0] < until] == complete
    assert len(complete) > 50


SWEEPS = [
    ("8x8_uni_vc1_b8_p8_wtc", Mesh(8, 8), {}),
    ("8x8_uni_vc1_b8_p20_wtc", Mesh(8, 8), {"flits": 20}),
    ("4x4x4mesh_uni_vc1_b8_p8_wtc", Mesh(4, 4, 4), {}),
    ("8x8_westhot_vc1_b8_p8_wtc", Mesh(8, 8), {"targets": np.arange(0, 64, 8)}),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "mesh", "options"), SWEEPS, ids=[sweep[0] for sweep in SWEEPS])
def test_latency_against_load_follows_the_flit_level_simulators_sweep(booksim, name, mesh, options):
    sweep = json.loads((booksim / f"bs_{name}.json").read_text())
    full = sweep["saturated_throughput_flits_node_cycle"]
    [flooded] = latency_curve(mesh, [1.0], window=20_000, **options)
    assert flooded.accepted == pytest.approx(full, rel=0.05)
    rates = sorted({run["rate"] for run in sweep["runs"]})
    for rate, point in zip(rates, latency_curve(mesh, rates, window=40_000, seed=1, **options), strict=True):
        theirs = [run["packet_latency"] for run in sweep["runs"] if run["rate"] == rate]
        # Their runs are short (two to three thousand cycles of measurement) and their own random
        # messages: at light load a run of a hundred messages is known to some 5 %, and close to
        # saturation three seeds of one load differ by a factor of 1.8.
        tolerance = 0.06 if rate < 0.75 * full else 0.12 if rate < 0.85 * full else 0.4
        assert point.mean_latency == pytest.approx(np.mean(theirs), rel=tolerance)
