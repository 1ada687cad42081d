"""Disks behind the memory of the I/O nodes, infinite links, and jobs that stop sending."""

import numpy as np
import pytest

from qmodels.errors import ModelError
from tests.naive import disks as naive
from tests.naive import wormhole as naive_wormhole
from validation.mesh import Mesh, Network, Router
from validation.mesh.job_flows import FlowNetwork
from validation.mesh.traffic import Traffic, TrafficPhase, stream_rows


def burst(pattern="write", **options):
    return Traffic.of(TrafficPhase(pattern=pattern, **options))


def test_one_message_to_one_disk_takes_its_route_and_then_its_service():
    """By hand: two hops and 7 more flits to delivery in cycle 10, then 8 flits of 3 cycles."""
    network = Network(Mesh(4, 4, io_side="west"), disk="buffer", disk_pace=3.0)
    network.start("job", [0], burst(flits=8), io_nodes=[16])
    assert network.advance()[0].finish == 10 + 24
    assert network.disk_busy().tolist() == [24, 0, 0, 0]


def test_the_next_message_waits_until_the_disk_has_done_with_the_last():
    """By hand: sent at 34, its 3 flits delivered at 39, written by 48."""
    network = Network(Mesh(4, 4, io_side="west"), disk="buffer", disk_pace=3.0, record=True)
    network.start("job", [0], burst(flits=8, rounds=2, last_flits=3), io_nodes=[16])
    assert network.advance()[0].finish == 48
    assert network.messages()["created"].tolist() == [0, 34]


def test_a_read_asks_the_disk_first_and_ends_with_the_last_delivery():
    network = Network(Mesh(4, 4, io_side="west"), disk="buffer", disk_pace=3.0, record=True)
    network.start("job", [0], burst("read", flits=8, rounds=2, last_flits=3), io_nodes=[16])
    assert network.advance()[0].finish == 48
    frame = network.messages()
    assert frame["injected"].tolist() == [24, 43]
    assert frame["source"].tolist() == [network.mesh.routers_of[16]] * 2


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("pattern", ["write", "read"])
@pytest.mark.parametrize(
    ("router", "pace"),
    [(Router(), 2.0), (Router(hop=3, flow=2, buffer=2, credit=1), 1.3), (Router(cut_through=True), 5.0)],
)
def test_every_message_waits_as_in_the_flit_level_twin(pattern, router, pace):
    mesh, group, nodes = Mesh(4, 4, io_side="west"), [16, 18, 19], [0, 5, 6, 11, 15]
    rounds, packets = 2, [5, 5, 5, 2, 2, 2]
    network = Network(mesh, router, disk="buffer", disk_pace=pace, seed=3, record=True)
    network.start("job", nodes, burst(pattern, flits=5, rounds=rounds, last_flits=2), io_nodes=group)
    [done] = network.advance()
    rows = stream_rows(mesh, np.array(nodes), seed=3, job=0, io_nodes=np.array(group))
    io = [[group[(int(row["io_offset"]) + i) % 3] for i in range(6)] for row in rows[: len(nodes)]]

    def place(node):
        return tuple(int(v) for v in mesh.router_coordinates[mesh.routers_of[node]])

    def route(node):
        def to(disk):
            ends = (place(node), place(disk)) if pattern == "write" else (place(disk), place(node))
            links = naive_wormhole.links((5, 4, 1), False, *ends)
            return [("in", ends[0]), *links, ("out", ends[1])]

        return to

    timing = {name: getattr(router, name) for name in router.__dataclass_fields__}
    end, made, _ = naive.play(
        [route(node) for node in nodes],
        io,
        packets=packets,
        pace=pace,
        reading=pattern == "read",
        **timing,
    )
    assert done.finish == end
    ours = sorted(network.messages()["created"].tolist())
    assert ours == sorted(made.values())


def test_infinite_links_leave_injection_ejection_and_the_disk():
    """Two far nodes write at once to one disk: one hop, 8 flits each, in turn at its channel."""
    mesh = Mesh(8, 8, io_side="west")
    network = Network(mesh, links="infinite", disk="buffer", disk_pace=1.0)
    network.start("job", [63, 56], burst(flits=8), io_nodes=[64])
    # Granted in cycle 1 and 9, delivered in 9 and 17, written in 17 and 25.
    assert network.advance()[0].finish == 25


def test_with_infinite_links_jobs_do_not_meet_outside_their_disks():
    mesh = Mesh(8, 8, io_side="west")
    times = []
    for others in (0, 3):
        network = Network(mesh, links="infinite", disk="buffer", disk_pace=2.5)
        for k in range(1 + others):
            nodes, group = np.arange(16) + 16 * k, [64 + 2 * k, 65 + 2 * k]
            network.start(k, nodes, burst(flits=16, rounds=3), io_nodes=group, draw=k)
        done = []
        while len(done) <= others:
            done += network.advance()
        times.append(next(end.finish for end in done if end.job == 0))
    assert times[0] == times[1]


def test_two_io_nodes_may_share_one_disk():
    mesh = Mesh(4, 4, io_side="west")
    for disks, finish in (([0, 1, 2, 3], 34), ([0, 0, 2, 3], 34 + 24)):
        network = Network(mesh, disk="buffer", disk_pace=3.0, disks=disks)
        network.start("a", [0], burst(flits=8), io_nodes=[16])
        network.start("b", [4], burst(flits=8), io_nodes=[17])
        ends = [*network.advance(), *network.advance()]
        assert max(end.finish for end in ends) == finish


def test_all_bytes_are_written_once_and_each_disk_is_busy_for_its_own():
    mesh = Mesh(8, 8, io_side="west")
    network = Network(mesh, disk="buffer", disk_pace=2.5)
    for k in range(4):
        network.start(k, np.arange(16) * 4 + k, burst(flits=16, rounds=3, last_flits=4))
    flits = 0
    while network.jobs:
        flits += sum(end.flits for end in network.advance())
    each = 4 * 16 * (16 + 16 + 4)
    assert flits == 8 * each
    assert network.disk_busy().tolist() == [2.5 * each] * 8


def test_a_job_that_is_withdrawn_ends_with_what_is_under_way():
    mesh = Mesh(4, 4, io_side="west")
    network = Network(mesh, disk="buffer", disk_pace=3.0)
    network.start("job", [0, 1, 2], burst(flits=8, rounds=5, last_flits=3))
    network.advance(until=200)
    unsent = network.withdraw("job")
    [done] = network.advance()
    assert unsent > 0
    assert done.flits + unsent == 3 * 4 * (4 * 8 + 3)
    assert done.finish >= 200


def test_a_job_with_nothing_under_way_is_withdrawn_at_once():
    network = Network(Mesh(4, 4, io_side="west"), disk="buffer", disk_pace=3.0)
    network.start("job", [0], burst(flits=8), io_nodes=[16])
    network.advance(until=20)
    assert network.withdraw("job") == 0  # the only message is at the disk
    assert network.advance()[0].finish == 34


@pytest.mark.parametrize("pattern", ["all-to-all", "write", "read"])
def test_a_job_that_is_withdrawn_before_it_begins_sends_nothing(pattern):
    network = Network(Mesh(4, 4, io_side="west"), disk="buffer", disk_pace=3.0)
    for _ in range(3):
        network.start("job", [0, 1], burst(pattern, flits=8, rounds=2, last_flits=3))
        pairs = 2 if pattern == "all-to-all" else 8
        assert network.withdraw("job") == pairs * 11
        [done] = network.advance()
        assert (done.flits, network.jobs, network.clock) == (0, (), 0)


@pytest.mark.parametrize("pattern", ["all-to-all", "write", "read"])
def test_the_last_round_of_packets_may_be_short(pattern):
    mesh = Mesh(4, 4, io_side="west")
    network = Network(mesh)
    network.start("job", [0, 1, 2], burst(pattern, flits=8, rounds=3, last_flits=2))
    pairs = 6 if pattern == "all-to-all" else 12
    assert network.advance()[0].flits == pairs * (8 + 8 + 2)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"disk": "slow"}, "disk"),
        ({"links": "none"}, "links"),
        ({"disk": "buffer", "disks": [0, 1]}, "disks"),
        ({"disk": "buffer", "disks": [-1] * 4}, "disks"),
    ],
)
def test_what_makes_no_network_is_refused(options, word):
    with pytest.raises(ModelError, match=word):
        Network(Mesh(4, 4, io_side="west"), **options)


def test_what_makes_no_burst_is_refused():
    mesh = Mesh(4, 4, io_side="west")
    network = Network(mesh, disk="buffer")
    with pytest.raises(ModelError, match="mixed"):
        network.start("a", [0], burst("mixed"))
    with pytest.raises(ModelError, match="io_nodes"):
        network.start("a", [0], burst(), io_nodes=[3])
    with pytest.raises(ModelError, match="not under way"):
        network.withdraw("a")
    network.start("a", [0, 1], Traffic.of(TrafficPhase(pattern="write", pause=10)))
    with pytest.raises(ModelError, match="plain run"):
        network.withdraw("a")
    with pytest.raises(ModelError, match="one length"):
        FlowNetwork(mesh).start("a", [0], burst(last_flits=2))
    assert network.jobs == ("a",)
