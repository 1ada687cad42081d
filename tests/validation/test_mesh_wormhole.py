import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.naive import wormhole as naive
from validation.mesh._kernels.records import NEAR
from validation.mesh.results import Completion
from validation.mesh.router import Router
from validation.mesh.topology import Mesh
from validation.mesh.traffic import Messages
from validation.mesh.wormhole import Network

SHAPES = [(1, 4, 1), (2, 2, 1), (3, 4, 1), (6, 6, 1), (3, 3, 3), (2, 4, 2)]


def play(mesh, router, messages, **options):
    network = Network(mesh, router, record=True, **options)
    network.start("job", None, messages)
    [done] = network.advance()
    frame = network.messages().sort_values("number").reset_index(drop=True)
    return network, done, frame


def play_naively(mesh, router, messages, *, disk_pace=1):
    sides = (mesh.columns + (mesh.io_side is not None), mesh.rows, mesh.depth)

    def place(node):
        return tuple(int(v) for v in mesh.router_coordinates[mesh.routers_of[node]])

    listed = []
    for created, source, target, flits in zip(
        messages.created.tolist(),
        messages.source.tolist(),
        messages.destination.tolist(),
        messages.flits.tolist(),
        strict=True,
    ):
        links = naive.links(sides, mesh.torus, place(source), place(target))
        route = [("in", place(source)), *links, ("out", place(target))]
        listed.append((created, place(source), route, flits))
    ports = 2 * (2 if mesh.depth == 1 else 3)
    lanes = mesh.virtual_channels

    def inputs(worm, i):
        many = (ports + 1) * lanes
        if i <= 1:
            return many - 1, many
        _, port, lane = worm.route[i - 1]
        return (port ^ 1) * lanes + lane, many

    disks = [place(node) for node in mesh.io_nodes.tolist()]
    return naive.simulate(
        listed,
        **{name: getattr(router, name) for name in router.__dataclass_fields__},
        pace_in=dict.fromkeys(disks, disk_pace),
        pace_out={("out", place): disk_pace for place in disks},
        inputs=inputs,
    )


def some_messages(rng, nodes, count, span, longest):
    created = np.sort(rng.integers(0, span + 1, count))
    ends = rng.integers(0, nodes, (2, count))
    return Messages(created, *ends, rng.integers(1, longest + 1, count))


def same_times(frame, worms):
    assert frame["injected"].tolist() == [worm.injected for worm in worms]
    assert frame["delivered"].tolist() == [worm.delivered for worm in worms]


@pytest.mark.thorough
@settings(max_examples=examples(60))
@given(shape=st.sampled_from(SHAPES), seed=st.integers(0, 10**6), span=st.integers(0, 60))
def test_an_ideal_mesh_equals_its_flit_level_twin_message_by_message(shape, seed, span):
    mesh = Mesh(*shape)
    rng = np.random.default_rng(seed)
    messages = some_messages(rng, mesh.nodes, 40, span, 12)
    _, _, frame = play(mesh, Router(), messages)
    same_times(frame, play_naively(mesh, Router(), messages))


@pytest.mark.thorough
@settings(max_examples=examples(60))
@given(
    shape=st.sampled_from(SHAPES),
    seed=st.integers(0, 10**6),
    span=st.integers(0, 60),
    hop=st.integers(1, 4),
    shorter=st.integers(0, 3),
    buffer=st.integers(1, 9),
    credit=st.integers(0, 3),
    release=st.integers(0, 3),
    sink=st.integers(1, 3),
    resume=st.integers(0, 2),
    in_turn=st.booleans(),
)
def test_any_router_equals_its_flit_level_twin_message_by_message(
    shape, seed, span, hop, shorter, in_turn, **delays
):
    mesh = Mesh(*shape)
    router = Router(hop=hop, flow=max(1, hop - shorter), in_turn=in_turn, **delays)
    messages = some_messages(np.random.default_rng(seed), mesh.nodes, 40, span, 20)
    _, _, frame = play(mesh, router, messages)
    same_times(frame, play_naively(mesh, router, messages))


@pytest.mark.thorough
@settings(max_examples=examples(60))
@given(
    shape=st.sampled_from(SHAPES),
    seed=st.integers(0, 10**6),
    span=st.integers(0, 60),
    hop=st.integers(1, 4),
    shorter=st.integers(0, 3),
    release=st.integers(0, 3),
    sink=st.integers(1, 3),
    resume=st.integers(0, 2),
    in_turn=st.booleans(),
    pace=st.integers(1, 4),
)
def test_messages_that_cut_through_equal_their_flit_level_twin_message_by_message(
    shape, seed, span, hop, shorter, pace, **options
):
    mesh = Mesh(*shape, io_side="west")
    router = Router(hop=hop, flow=max(1, hop - shorter), cut_through=True, **options)
    nodes = mesh.nodes + mesh.io_nodes.size
    messages = some_messages(np.random.default_rng(seed), nodes, 40, span, 20)
    network, _, frame = play(mesh, router, messages, disk_pace=pace)
    same_times(frame, play_naively(mesh, router, messages, disk_pace=pace))
    assert network.in_flight == 0


@settings(max_examples=examples(30))
@given(seed=st.integers(0, 10**6), pace=st.integers(1, 4), pipelined=st.booleans())
def test_slow_disks_equal_their_flit_level_twin(seed, pace, pipelined):
    mesh = Mesh(3, 3, io_side="west")
    router = Router.pipelined() if pipelined else Router()
    rng = np.random.default_rng(seed)
    messages = some_messages(rng, mesh.nodes + mesh.io_nodes.size, 40, 30, 12)
    _, _, frame = play(mesh, router, messages, disk_pace=pace)
    same_times(frame, play_naively(mesh, router, messages, disk_pace=pace))


def test_the_table_of_a_job_names_every_value_but_its_phases():
    done = Completion(
        job="a",
        start=2.0,
        finish=12.5,
        messages=3,
        flits=24,
        mean_latency=4.25,
        mean_network_latency=4.0,
        mean_blocking=0.125,
        longest_latency=7.0,
        mean_hops=2.5,
        phases=(("ring", 2.0, 12.5),),
    )
    assert done.response == 10.5
    assert [line.split() for line in done.table().splitlines()] == [
        ["job", "a"],
        ["start", "2"],
        ["finish", "12.5"],
        ["messages", "3"],
        ["flits", "24"],
        ["mean_latency", "4.25"],
        ["mean_network_latency", "4"],
        ["mean_blocking", "0.125"],
        ["longest_latency", "7"],
        ["mean_hops", "2.5"],
    ]
    assert {line.index(line.split()[1], 22) for line in done.table().splitlines()} == {23}


@pytest.mark.thorough
@pytest.mark.parametrize(
    "router",
    [
        Router(),
        Router.pipelined(),
        Router(hop=NEAR, flow=2, in_turn=True),  # the first that does not fit into the rows
        Router(hop=NEAR - 1, resume=2, release=1),
        Router(cut_through=True),
    ],
    ids=["ideal", "pipelined", "just beyond", "just within", "cut through"],
)
def test_requests_kept_in_rows_are_served_in_the_order_of_the_wheel(router):
    # Rows are for large meshes, where a twin would take hours; so a small one is made to have them.
    mesh, rng = Mesh(5, 6, io_side="west"), np.random.default_rng(23)
    messages = some_messages(rng, mesh.nodes + mesh.io_nodes.size, 400, 300, 40)
    seen = []
    for nearby in (0, NEAR):
        network = Network(mesh, router, record=True, disk_pace=2)
        network._tables.state = network._state._replace(nearby=nearby)
        network.start("job", None, messages)
        done, paused = [], 0
        while network.jobs:
            paused += 1
            done += network.advance(network.clock + 3 if paused < 50 else None)
        use = network.channel_use()
        counts = [use.flits, use.messages, use.waited, use.held]
        seen.append((done, network.messages().values.tolist(), np.array(counts).tolist()))
    assert seen[0] == seen[1]
    twin = play_naively(mesh, router, messages, disk_pace=2)
    same_times(network.messages().sort_values("number"), twin)


@pytest.mark.parametrize(("side", "nearby"), [(32, 0), (64, NEAR)])
def test_a_mesh_whose_channels_exceed_a_cache_keeps_requests_in_rows(side, nearby):
    assert Network(Mesh(side, side))._state.nearby == nearby
    assert Network(Mesh(side, side, torus=True))._state.nearby == 0


@pytest.mark.thorough
@pytest.mark.parametrize("buffer", [6, 9, 20])
def test_the_tail_of_a_long_worm_that_was_held_up_several_times_equals_its_twin(buffer):
    # On one row every message crosses many others, and long ones wait while their tail moves.
    mesh = Mesh(1, 24)
    router = Router(hop=2, flow=1, buffer=buffer, credit=1, in_turn=buffer == 9)
    rng = np.random.default_rng(buffer)
    messages = some_messages(rng, mesh.nodes, 120, 200, 90)
    _, _, frame = play(mesh, router, messages)
    same_times(frame, play_naively(mesh, router, messages))
