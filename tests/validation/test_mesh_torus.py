"""Tori, whose two lanes share each wire, against a simulator of their flits.

Cases that break what the mesh's formula for whole worms takes for granted, written down before the
first run: worms much longer than their route's buffers; sides of two, where both ways round lead to
the same neighbour; a ring alone; one node to which all send; unequal lengths; messages half-way
round, all at once; messages to oneself; buffers shorter than a credit's way; routers in which all
that happens in one cycle depends on each other (no credit delay, no release); loads beyond
saturation.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qmodels.errors import MemoryBudgetError, ModelError
from tests.examples import examples
from tests.naive import allocators, tori
from tests.naive import wormhole as naive
from tests.validation.test_mesh_wormhole import play, play_naively, same_times, some_messages
from validation.mesh import (
    Mesh,
    Messages,
    Network,
    Router,
    Traffic,
    TrafficPhase,
    contend,
    latency_curve,
    link_load,
    route,
)

SHAPES = [(1, 6, 1), (2, 2, 1), (3, 4, 1), (5, 5, 1), (2, 7, 1), (3, 3, 3), (2, 4, 3)]


def any_router(hop, shorter, credit, ways, **delays):
    """A router; one way into the crossbar for each input only where credits take time."""
    return Router(
        hop=hop,
        flow=max(1, hop - shorter),
        credit=credit,
        input_speedup=ways if credit else 2,
        **delays,
    )


ROUTERS = st.builds(
    any_router,
    ways=st.sampled_from([1, 2]),
    hop=st.integers(1, 4),
    shorter=st.integers(0, 3),
    buffer=st.integers(1, 9),
    credit=st.integers(0, 3),
    release=st.integers(0, 3),
    sink=st.integers(1, 3),
    resume=st.integers(0, 2),
    in_turn=st.booleans(),
)


@pytest.mark.thorough
@settings(max_examples=examples(30))
@given(
    shape=st.sampled_from(SHAPES),
    seed=st.integers(0, 10**6),
    span=st.integers(0, 60),
    router=ROUTERS,
)
def test_the_twin_equals_that_with_one_lane_to_a_wire_on_meshes(shape, seed, span, router):
    mesh = Mesh(*shape)
    messages = some_messages(np.random.default_rng(seed), mesh.nodes, 40, span, 20)
    ours, theirs = tori.play(mesh, router, messages), play_naively(mesh, router, messages)
    for name in ("injected", "delivered"):
        assert [getattr(w, name) for w in ours] == [getattr(w, name) for w in theirs]


@pytest.mark.thorough
@settings(max_examples=examples(60))
@given(
    shape=st.sampled_from(SHAPES),
    seed=st.integers(0, 10**6),
    span=st.integers(0, 60),
    router=st.one_of(
        st.just(Router()),
        st.just(Router.pipelined()),
        st.just(Router.pipelined(input_speedup=1)),
        ROUTERS,
    ),
)
def test_any_router_on_a_torus_equals_its_flit_level_twin_message_by_message(shape, seed, span, router):
    mesh = Mesh(*shape, torus=True)
    messages = some_messages(np.random.default_rng(seed), mesh.nodes, 50, span, 20)
    _, _, frame = play(mesh, router, messages)
    same_times(frame, tori.play(mesh, router, messages))


@pytest.mark.thorough
def test_lanes_that_share_a_way_into_the_crossbar_wait_as_in_a_router_with_allocators():
    """At 60 % of saturation. With a way for each lane a torus is some per cent too fast."""
    mesh, rng = Mesh(5, 5, torus=True), np.random.default_rng(12)
    created, source = np.nonzero(rng.random((500, 25)) < 0.28 / 8)
    messages = Messages(created, source, rng.integers(0, 25, source.size), 0 * source + 8)
    judge = allocators.delivery_times(mesh, messages, 1)
    one, two = (
        tori.delivery_times(mesh, Router.pipelined(input_speedup=ways), messages) - judge for ways in (1, 2)
    )
    latency = (judge - created).mean()
    assert abs(one.mean()) < 0.01 * latency
    assert two.mean() < -0.02 * latency
    assert two.mean() < -4.0 * two.std(ddof=1) / two.size**0.5


def test_one_way_from_each_input_needs_credits_that_take_time():
    with pytest.raises(ModelError, match="credit >= 1"):
        Router(input_speedup=1)
    with pytest.raises(ModelError, match="1 or 2, got 3"):
        Router.pipelined(input_speedup=3)


def far(mesh):
    """Everybody to the node half-way round every ring, all at once, with long messages."""
    half = np.array([mesh.columns // 2, mesh.rows // 2, mesh.depth // 2])
    place = (mesh.router_coordinates + half) % [mesh.columns, mesh.rows, mesh.depth]
    target = place @ [1, mesh.columns, mesh.columns * mesh.rows]
    nodes = np.arange(mesh.nodes)
    return Messages(0 * nodes, nodes, target, 0 * nodes + 60)


def to_one(mesh):
    rng = np.random.default_rng(7)
    source = np.repeat(np.arange(mesh.nodes), 3)
    flits = rng.choice([1, 2, 31], source.size)
    created = np.tile([0, 4, 8], mesh.nodes)
    return Messages(created, source, 0 * source + 5, flits)


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("shape", [(1, 8, 1), (2, 4, 1), (4, 6, 1), (4, 4, 2)])
@pytest.mark.parametrize(
    "router",
    [
        Router(),
        Router(buffer=2, credit=3),
        Router.pipelined(),
        Router.pipelined(input_speedup=1),
    ],
)
@pytest.mark.parametrize("send", [far, to_one])
def test_long_worms_and_one_hot_node_equal_their_twin(shape, router, send):
    mesh = Mesh(*shape, torus=True)
    messages = send(mesh)
    _, _, frame = play(mesh, router, messages)
    same_times(frame, tori.play(mesh, router, messages))


def test_two_worms_that_share_a_wire_on_two_lanes_take_turns_flit_by_flit():
    mesh = Mesh(1, 8, torus=True)
    # Number 0 crosses the dateline 7 -> 0 and keeps to lane 1, number 1 starts behind it on lane 0.
    # Both pass the link 0 -> 1, their last: 100 flits each, so both need 200 cycles of it.
    messages = Messages([0, 0], [7, 0], [1, 1], [100, 100])
    assert [route(mesh, a, 1)[-2] - route(mesh, 0, 1)[-2] for a in (7, 0)] == [1, 0]
    _, _, frame = play(mesh, Router(buffer=4, credit=1), messages)
    # Number 1 has the wire first, from 1 on, number 0 from 2 on, and then turn by turn.
    assert sorted(frame["delivered"]) == [201, 202]


def test_a_node_sends_the_next_message_while_the_last_still_waits_for_its_lane():
    mesh = Mesh(1, 8, torus=True)
    # All three of node 0 are short enough for the buffers; node 1 keeps the way to 2 busy.
    messages = Messages([0, 5, 5], [1, 0, 0], [3, 2, 7], [100, 4, 4])
    _, _, frame = play(mesh, Router(buffer=8, credit=1), messages)
    assert frame["injected"].tolist() == [0, 5, 9]
    assert frame["delivered"][2] < frame["delivered"][1]


@pytest.mark.thorough
@settings(max_examples=examples(40))
@given(shape=st.sampled_from(SHAPES[:4]), seed=st.integers(0, 10**6), router=ROUTERS)
def test_jobs_that_share_nodes_equal_their_twin_message_by_message(shape, seed, router):
    rng, mesh = np.random.default_rng(seed), Mesh(*shape, torus=True)
    network = Network(mesh, router, record=True)
    lists = [some_messages(rng, min(mesh.nodes, 4), 12, 20, 9) for _ in range(3)]
    for job, messages in enumerate(lists):
        network.start(job, None, messages)
    while network.jobs:
        network.advance()
    columns = (np.concatenate([getattr(m, name) for m in lists]) for name in Messages.__dataclass_fields__)
    together = SimpleNamespace(**dict(zip(Messages.__dataclass_fields__, columns, strict=True)))
    worms = tori.play(mesh, router, together, job=np.repeat(range(3), 12))
    frame = network.messages()
    ours = zip(frame["number"], frame["injected"], frame["delivered"], strict=True)
    assert sorted(ours) == sorted((w.number % 12, w.injected, w.delivered) for w in worms)


def test_jobs_that_share_a_node_take_a_lane_in_the_cycle_in_which_the_tail_leaves_it():
    network = Network(Mesh(1, 8, torus=True), record=True)
    network.start("in the way", None, Messages([0], [1], [4], [40]))
    # The first of "a" waits on its lane for the link 2 -> 3. The other lane is that of "b" from 11 to
    # 13, when its tail crosses to node 1.
    network.start("a", None, Messages([10, 10], [2, 2], [4, 1], [1, 2]))
    network.start("b", None, Messages([10], [2], [1], [2]))
    while network.jobs:
        network.advance()
    frame = network.messages()
    assert sorted(frame["injected"][frame["source"] == 2]) == [10, 11, 13]


def test_a_last_round_of_longer_messages_waits_for_room_in_buffers_as_all_long_ones_do():
    mesh, router = Mesh(1, 4, torus=True), Router(buffer=2, credit=2, hop=2)

    def finish(**lengths):
        network = Network(mesh, router)
        network.start("a", [0, 3, 2], Traffic.of(TrafficPhase(pattern="fft", **lengths)))
        return network.advance()[0].finish

    assert finish(flits=1, last_flits=11) == finish(flits=11)


@settings(max_examples=examples(20))
@given(seed=st.integers(0, 10**6), shape=st.sampled_from(SHAPES), in_turn=st.booleans())
def test_messages_that_cut_through_a_torus_keep_to_one_lane_and_equal_their_twin(seed, shape, in_turn):
    mesh, router = Mesh(*shape, torus=True), Router(cut_through=True, hop=2, in_turn=in_turn)
    messages = some_messages(np.random.default_rng(seed), mesh.nodes, 50, 30, 12)
    network, _, frame = play(mesh, router, messages)
    plain = naive.links

    def on_lane_0(*args):
        return [(begin, port, 0) for begin, port, _ in plain(*args)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(naive, "links", on_lane_0)
        same_times(frame, play_naively(mesh, router, messages))
    assert network.channel_use().flits[2 * mesh.routers + 1 :: 2].sum() == 0


def test_what_channels_counted_on_a_torus_is_what_their_messages_carried():
    mesh = Mesh(4, 5, torus=True)
    rng = np.random.default_rng(3)
    messages = some_messages(rng, mesh.nodes, 400, 100, 20)
    network, done, frame = play(mesh, Router.pipelined(), messages)
    use, load = network.channel_use(), link_load(mesh, messages)
    assert use.flits.tolist() == load.flits.tolist()
    routes = [route(mesh, a, b) for a, b in zip(messages.source, messages.destination, strict=True)]
    assert use.messages.sum() == sum(map(len, routes)) == network.header_hops
    assert network.in_flight == 0
    waits = use.waited[mesh.routers :].sum()  # at the source it waits before injection
    assert done.mean_blocking == pytest.approx(waits / 400, rel=1e-12)
    assert done.mean_latency == pytest.approx((frame.delivered - frame.created).mean())


def test_looking_at_a_torus_under_way_changes_nothing_and_misses_no_channel():
    mesh = Mesh(4, 4, torus=True)
    plan = Traffic.of(TrafficPhase(pattern="all-to-all", flits=9))
    runs = []
    for step in (10**6, 7):
        network, done = Network(mesh, Router(hop=2, buffer=3, credit=1)), []
        network.start("a", range(16), plan)
        network.start("b", range(16), plan, time=40)
        hops = [0]
        while network.jobs:
            done += network.advance(until=network.clock + step)
            hops.append(network.header_hops)
            assert network.channel_use().messages.sum() == hops[-1]
        assert hops == sorted(hops)
        runs.append([(job.job, job.finish, job.mean_latency) for job in done])
    assert runs[0] == runs[1]


def test_static_is_at_most_fluid_is_at_most_worm_where_lanes_share_wires():
    mesh = Mesh(1, 8, torus=True)
    # To the node half-way round: ring links carry four messages each, whichever their lanes.
    plan = Traffic.of(TrafficPhase(pattern="all-to-all", flits=400))
    static, fluid, worm = (
        contend(mesh, {"a": (range(8), plan)}, fidelity=name).makespan for name in ("static", "fluid", "worm")
    )
    # Each way round, messages go 1, 2, 3 hops and half of those that go 4: 8 on every wire.
    assert static == 8 * 400
    assert static <= fluid <= worm * 1.1


def test_longer_messages_may_come_later():
    mesh, router = Mesh(3, 3, torus=True), Router.pipelined()
    short = Messages([0] * 9, range(9), [(k + 4) % 9 for k in range(9)], [2] * 9)
    long = Messages([4] * 9, range(9), [(k + 5) % 9 for k in range(9)], [25] * 9)
    network = Network(mesh, router, record=True)
    network.start("short", None, short)
    assert network.advance(until=5) == []  # flits are under way when the buffers' times grow
    network.start("long", None, long, time=5)
    while network.jobs:
        network.advance()
    both = Messages(
        *(
            np.concatenate([getattr(short, f), getattr(long, f) + (5 if f == "created" else 0)])
            for f in ("created", "source", "destination", "flits")
        )
    )
    _, _, together = play(mesh, router, both)
    apart = network.messages()
    assert sorted(apart["delivered"]) == sorted(together["delivered"])


def test_buffers_whose_flits_would_not_fit_the_memory_are_refused_and_nothing_changes():
    mesh = Mesh(4, 4, torus=True)
    network = Network(mesh, Router(buffer=1 << 20))
    huge = Messages([0], [0], [5], [1 << 20])
    with pytest.raises(MemoryBudgetError, match="use shorter buffers"):
        network.start("huge", None, huge)
    assert network.jobs == ()
    network.start("small", None, Messages([0], [0], [5], [3]))
    [done] = network.advance()
    assert done.messages == 1


def test_a_saturated_torus_carries_no_more_than_its_wires_can():
    # Uniform traffic on a ring of 8: 8/4 hops on average, over 2 wires for each node.
    [flood] = latency_curve(Mesh(1, 8, torus=True), [1.0], flits=8, warm_up=2000, window=4000)
    assert 0.3 < flood.accepted <= 1.0


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [2, 3])
def test_a_sample_of_the_family_equals_its_twin(seed):
    for _, _, _, _, _, others, others_one_way, *_ in tori.measure(seed, cycles=100):
        assert others == others_one_way == 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_twenty_random_tori_equal_their_twin_to_saturation(seed):
    for _, _, _, _, messages, *others_and_values in tori.measure(seed, cycles=300):
        others, others_one_way, ours, theirs, ours_one_way, theirs_one_way = others_and_values
        assert messages > 0
        assert others == others_one_way == 0
        assert (ours, ours_one_way) == (theirs, theirs_one_way)
