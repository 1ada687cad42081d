import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qmodels.errors import MemoryBudgetError, ModelError
from tests.examples import examples
from validation.mesh import (
    FIDELITIES,
    PATTERNS,
    DeadlockError,
    Mesh,
    Messages,
    Network,
    Router,
    Traffic,
    TrafficPhase,
    contend,
    expand,
    fluid,
    latency_curve,
    link_load,
    route,
)

WEST = Mesh(4, 4, io_side="west")


def finish(network):
    done = []
    while network.jobs:
        done += network.advance()
    return done


def traffic(pattern, **options):
    return Traffic.of(TrafficPhase(pattern=pattern, **options))


class TestExampleOfFigure2:
    """Mache et al.: a write of 4 nodes to 4 I/O nodes on a 4x4 mesh."""

    def middle(self, mesh, nodes):
        load = link_load(mesh, {"job": (nodes, traffic("write", flits=1))})
        numbers, begins, ends = mesh.link_ends()
        names = {
            (mesh.node_name(a), mesh.node_name(b)): c for c, a, b in zip(numbers, begins, ends, strict=True)
        }
        down = load.flits[names["I/O (1, -1)", "I/O (2, -1)"]]
        up = load.flits[names["I/O (2, -1)", "I/O (1, -1)"]]
        return int(down), int(up), int(load.flits[load.worst_link])

    def test_a_block_sends_eight_messages_over_the_middle_io_link(self):
        assert self.middle(WEST, WEST.rectangle(0, 0, 2, 2)) == (8, 0, 8)

    def test_a_parallel_layout_sends_four(self):
        assert self.middle(WEST, WEST.rectangle(0, 0, 4, 1)) == (4, 4, 4)

    @pytest.mark.parametrize("side", [4, 8, 16])
    def test_whole_columns_load_the_middle_link_with_jk_over_4_each_way(self, side):
        mesh = Mesh(side, side, io_side="west")
        nodes = mesh.rectangle(0, 0, side, 2)
        load = link_load(mesh, {"job": (nodes, traffic("write", flits=1))})
        assert load.flits[load.worst_link] == 2 * side * side // 4

    def test_a_row_of_four_loads_its_west_link_most(self):
        down, _, worst = self.middle(WEST, WEST.rectangle(0, 0, 1, 4))
        assert (down, worst) == (8, 16)

    @pytest.mark.thorough
    def test_the_least_worst_link_is_four_exactly_for_one_node_in_each_row(self):
        write = traffic("write", flits=1)
        for nodes in itertools.combinations(range(16), 4):
            load = link_load(WEST, {"job": (list(nodes), write)})
            worst = load.flits[load.worst_link]
            assert worst >= 4
            assert (worst == 4) == (len({node // 4 for node in nodes}) == 4)

    def test_the_simulator_carries_the_same_flits(self):
        run = contend(WEST, {"job": (WEST.rectangle(0, 0, 2, 2), traffic("write", flits=1))})
        assert run.channel_flits[run.worst_link] == 8


def test_a_message_that_never_waits_takes_the_zero_load_latency():
    mesh = Mesh(8, 8)
    for router in (Router(), Router(hop=4), Router.pipelined(), Router.pipelined(buffer=2)):
        for target, flits in ((0, 1), (7, 8), (63, 20)):
            network = Network(mesh, router)
            network.start("m", None, Messages([5], [0], [target], [flits]))
            [done] = network.advance()
            hops = target // 8 + target % 8
            assert done.finish == 5 + router.zero_load(hops=hops, flits=flits)
            assert done.mean_blocking == 0


def test_the_zero_load_latency_of_the_pipelined_router_is_that_of_the_flit_level_simulator():
    for hops, flits in ((0, 1), (4, 8), (14, 20)):
        assert Router.pipelined().zero_load(hops=hops, flits=flits) == 3 * (hops + 1) + 2 + flits - 1


@settings(max_examples=examples(25))
@given(pattern=st.sampled_from(sorted(PATTERNS)), lockstep=st.booleans(), seed=st.integers(0, 99))
def test_flits_in_are_flits_out_and_every_channel_carries_what_its_routes_say(pattern, lockstep, seed):
    mesh = Mesh(5, 4, io_side="west", io_places=[0, 2, 3])
    nodes = np.random.default_rng(seed).permutation(mesh.nodes)[:7]
    plan = traffic(pattern, flits=3 + seed % 5, rounds=3, lockstep=lockstep, io_share=0.4)
    load = link_load(mesh, {"a": (nodes, plan)}, seed=seed)
    router = Router(cut_through=seed % 2 == 1)
    network = Network(mesh, router, seed=seed, disk_pace=1 + seed % 3)
    network.start("a", nodes, plan)
    [done] = finish(network)
    use = network.channel_use()
    assert use.flits.tolist() == load.flits.tolist()
    injected, ejected = use.flits[: mesh.routers], use.flits[mesh.routers : 2 * mesh.routers]
    assert injected.sum() == ejected.sum() == done.flits
    assert done.messages == load.messages == expand(mesh, nodes, plan, seed=seed).source.size
    assert network.in_flight == 0


def test_a_channel_counts_a_whole_worm_from_its_grant_and_only_those_it_was_granted():
    mesh = Mesh(1, 6)
    network = Network(mesh)
    network.start("m", None, Messages([0, 0], [0, 1], [5, 5], [10, 7]))
    network.advance(until=3)
    # Number 1 takes the link from 1 in cycle 1 and number 0, that asks in cycle 2, waits.
    path = route(mesh, 0, 5)
    use = network.channel_use()
    assert use.flits[path].tolist() == [10, 10, 7, 7, 0, 0, 0]
    assert use.messages[path].tolist() == [1, 1, 1, 1, 0, 0, 0]
    assert network.header_hops == use.messages.sum() == 5
    assert use.waited.sum() == 0
    assert network.in_flight == 2
    [done] = finish(network)
    use = network.channel_use()
    assert use.flits[path].tolist() == [10, 10, 17, 17, 17, 17, 17]
    assert network.header_hops == use.messages.sum() == 7 + 6
    assert done.mean_hops == (6 + 5) / 2
    # Number 1's tail leaves the link from 1 when it crosses the next, seven cycles after its grant.
    assert use.waited[path].tolist() == [0, 0, 6, 0, 0, 0, 0]
    assert done.mean_blocking == 6 / 2


def test_messages_that_cut_through_cannot_deadlock_on_any_torus():
    mesh = Mesh(1, 8, torus=True, virtual_channels=1)
    far = Messages([0] * 8, range(8), [(k + 4) % 8 for k in range(8)], [50] * 8)
    for router, dies in ((Router(), True), (Router(cut_through=True), False)):
        network = Network(mesh, router)
        network.start("a", None, far)
        if dies:
            with pytest.raises(DeadlockError):
                finish(network)
        else:
            [done] = finish(network)
            assert done.messages == 8


def test_messages_that_cut_through_have_room_however_many_wait():
    # All to one: its ejection channel takes them one after the other.
    mesh = Mesh(8, 8)
    network = Network(mesh, Router(cut_through=True))
    for k in range(3):
        plan = Traffic.of(TrafficPhase(pattern="all-to-one", flits=5, rounds=200), repeat=2)
        network.start(k, range(64), plan)
    done = finish(network)
    assert sum(job.messages for job in done) == 3 * 2 * 200 * 63
    assert network.clock >= 3 * 2 * 200 * 63 * 5
    with pytest.raises(MemoryBudgetError, match="fewer rounds"):
        network.start("x", range(64), traffic("all-to-one", rounds=200_000))


def test_a_message_that_cuts_through_keeps_no_other_from_the_links_behind_it():
    mesh = Mesh(2, 4)
    # From 0 and 2 to 3, so that one waits before the last link; from 1 to 6 over the links behind.
    messages = Messages([0, 0, 4], [2, 0, 1], [3, 3, 6], [100, 100, 3])
    times = {}
    for cut_through in (False, True):
        network = Network(mesh, Router(cut_through=cut_through), record=True)
        network.start("a", None, messages)
        finish(network)
        frame = network.messages().set_index("number")
        times[cut_through] = int(frame.delivered[2])
    assert times[True] < 120 < times[False]


def test_a_link_under_cut_through_is_busy_for_the_flits_of_each_message():
    mesh = Mesh(1, 2)
    network = Network(mesh, Router(cut_through=True))
    network.start("a", None, Messages([0] * 9, [0] * 9, [1] * 9, [7] * 9))
    [done] = finish(network)
    assert done.finish == Router(cut_through=True).zero_load(hops=1, flits=7) + 8 * 7


@pytest.mark.parametrize("pace", [1.0, 2.0, 2.563, 7.5])
@pytest.mark.parametrize("flits", [1, 5, 12])
@pytest.mark.parametrize("pattern", ["write", "read"])
def test_a_disk_that_is_kept_busy_takes_its_time_for_every_flit(pattern, flits, pace):
    mesh = Mesh(1, 3, io_side="west")
    network = Network(mesh, disk_pace=pace)
    network.start("a", [0, 1, 2], traffic(pattern, flits=flits, rounds=100))
    [done] = finish(network)
    busy = 300 * np.ceil(flits * pace)
    # Before the first message and after the last there is the way, and what was made unseen.
    assert busy <= done.response + pace
    if pattern == "write":
        assert done.response <= busy + 10


def test_totals_of_a_channel_go_beyond_four_thousand_million():
    """They are counted in 32 bits, near whose end they begin here: 2^32 cycles take half a minute."""
    mesh = Mesh(1, 1, io_side="west")
    network = Network(mesh, disk_pace=1e4)
    disk = mesh.routers + mesh.routers_of[1]
    counted = network._state.channels[network._tables.places[disk] :][:1]
    nearly = (1 << 32) - 1
    counted["held"] = counted["carried"] = counted["waited"] = nearly
    flits = 3
    network.start("a", None, Messages([0, 0], [0, 0], [1, 1], [flits, flits]))
    finish(network)
    use = network.channel_use()
    each = flits * 10_000
    assert use.held[disk] == nearly + 2 * each
    assert use.flits[disk] == nearly + 2 * flits
    assert use.messages[disk] == 2
    assert use.waited[disk] > nearly + 1


@pytest.mark.parametrize("ahead", [4096, 8192])
def test_a_channel_known_to_be_free_whole_rounds_of_the_wheel_ahead_is_not_forgotten(ahead):
    # When the first message ends is known from its last grant on; the second asks for the same
    # channel exactly so many cycles before.
    mesh = Mesh(1, 2)
    router = Router(in_turn=True)
    flits = ahead + 50
    free = 2 + flits  # granted in cycle 2, let go when the last flit has crossed
    asks = free - ahead
    network = Network(mesh, router, record=True)
    network.start("a", None, Messages([0, asks - 1], [0, 1], [1, 1], [flits, 3]))
    [done] = finish(network)
    second = network.messages().iloc[1]
    assert (second.injected, second.delivered) == (asks - 1, free + 3)
    assert done.finish == free + 3


@pytest.mark.parametrize(("side", "depth"), [(4, 1), (5, 1), (8, 1), (4, 4), (3, 3)])
def test_messages_on_an_idle_torus_go_the_closed_form_number_of_hops_in_zero_load_time(side, depth):
    mesh = Mesh(side, side, depth, torus=True)
    pairs = np.array(list(itertools.product(range_of(mesh.nodes), repeat=2)))
    flits = 4
    apart = 10 * side + flits
    network = Network(mesh, Router.pipelined())
    created = apart * range_of(len(pairs))
    network.start("a", None, Messages(created, *pairs.T, flits + 0 * created))
    [done] = finish(network)
    # Mean distance in a ring of k nodes, oneself included: k / 4, or (k - 1/k) / 4 if k is odd.
    ring = side / 4 if side % 2 == 0 else (side - 1 / side) / 4
    hops = ring * mesh.dimensions
    assert done.mean_hops - 1 == pytest.approx(hops, rel=1e-12)
    assert done.flits == flits * len(pairs)
    assert done.mean_blocking == 0
    latency = 3 * (hops + 1) + flits - 1 + 2
    assert done.mean_latency == pytest.approx(latency, rel=1e-12)
    # Every link carries the same: all hops over all links.
    links, begins, ends = mesh.link_ends()
    carried = {}
    for link, flow in zip(
        zip(begins, ends, links // 2, strict=True), network.channel_use().flits[links], strict=True
    ):
        carried[link] = carried.get(link, 0) + flow
    each = flits * hops * mesh.nodes / (2 * mesh.dimensions)
    assert list(carried.values()) == pytest.approx([each] * len(carried), rel=1e-12)


@pytest.mark.thorough
def test_messages_between_the_same_two_nodes_arrive_in_the_order_in_which_they_left():
    mesh = Mesh(6, 6)
    network = Network(mesh, Router.pipelined(), record=True)
    network.start("a", range_of(36), traffic("all-to-all", rounds=5))
    finish(network)
    for _, pair in network.messages().groupby(["source", "destination"]):
        pair = pair.sort_values("number")
        assert (np.diff(pair["injected"]) > 0).all()
        assert (np.diff(pair["delivered"]) > 0).all()


def range_of(n):
    return np.arange(n)


@pytest.mark.parametrize("load", [0.05, 0.12])
def test_mean_number_under_way_is_throughput_times_mean_latency(load):
    mesh = Mesh(8, 8)
    network = Network(mesh, Router.pipelined(), seed=4, record=True)
    plan = traffic("random", flits=8, rounds=100_000, interval=8 / load, targets=64)
    network.start("a", range_of(64), plan)
    network.advance(until=5_000)
    seen = []
    # In flight: from the injection to the grant of the ejection channel.
    for t in range(5_000, 65_000, 20):
        network.advance(until=t)
        seen.append(network.in_flight)
    frame = network.messages()
    inside = frame[(frame.injected >= 5_000) & (frame.injected < 65_000)]
    ejected = inside["delivered"] - (8 - 1 + network.router.sink)
    expected = (ejected - inside["injected"]).sum() / 60_000
    # The sample mean of 3000 looks, 20 cycles apart, is known to about 2 % at this load.
    assert np.mean(seen) == pytest.approx(expected, rel=0.03)


class TestResuming:
    def work(self, network):
        for k in range(6):
            nodes = np.random.default_rng(k).permutation(64)[:10]
            plan = Traffic.of(
                TrafficPhase(pattern="all-to-all", flits=5 + k),
                TrafficPhase(pattern="mixed", rounds=8, io_share=0.5, pause=40),
                repeat=2,
            )
            network.start(k, nodes, plan, time=37 * k)

    def test_stopping_on_the_way_changes_nothing(self):
        mesh = Mesh(8, 8, io_side="west")
        through, halting = Network(mesh, seed=3), Network(mesh, seed=3)
        self.work(through)
        self.work(halting)
        whole, parts = finish(through), []
        while halting.jobs:
            parts += halting.advance(until=halting.clock + 11)
        assert parts == whole
        assert halting.channel_use().flits.tolist() == through.channel_use().flits.tolist()

    def test_completions_come_in_order_of_time_each_at_the_clock(self):
        network = Network(Mesh(8, 8, io_side="west"))
        self.work(network)
        last = 0
        while network.jobs:
            for done in network.advance():
                assert done.finish == network.clock >= last
                last = done.finish

    def test_a_job_that_starts_at_a_completion_starts_in_that_cycle(self):
        network = Network(Mesh(4, 4))
        network.start("a", [0, 1], traffic("ring"))
        [first] = network.advance()
        network.start("b", [0, 1], traffic("ring"))
        [second] = network.advance()
        assert second.start == first.finish
        assert second.response == first.response

    def test_rooms_of_finished_jobs_are_used_again(self):
        network = Network(Mesh(4, 4))
        for k in range(300):
            network.start(k, range_of(16), traffic("ring"))
            network.advance()
        assert len(network._state.streams) <= 512
        assert len(network._state.jobs) <= 16

    def test_an_idle_network_lets_time_pass(self):
        network = Network(Mesh(2, 2))
        assert network.advance(until=10**12) == []
        assert network.clock == 10**12
        network.start("a", [0, 1], traffic("ring"), time=10**13)
        assert network.advance(until=10**13) == []
        assert network.advance()[0].start == 10**13

    def test_a_job_alone_with_nothing_to_send_is_over_after_its_pauses(self):
        network = Network(Mesh(2, 2))
        plan = Traffic.of(TrafficPhase(pattern="all-to-all", pause=5), repeat=3)
        network.start("a", [0], plan, time=2)
        [done] = network.advance()
        assert (done.start, done.finish, done.messages) == (2, 17, 0)
        assert done.phases == (("all-to-all", 2, 7), ("all-to-all", 7, 12), ("all-to-all", 12, 17))


def test_the_same_seed_gives_the_same_bits_and_another_does_not():
    def run(seed):
        network = Network(WEST, seed=seed, record=True)
        network.start("a", range_of(16), traffic("mixed", rounds=50, io_share=0.5))
        finish(network)
        return network.messages().to_numpy().tolist()

    assert run(1) == run(1)
    assert run(1) != run(2)


@pytest.mark.parametrize("pattern", ["random", "mixed", "write"])
def test_a_job_with_a_draw_of_its_own_sends_the_same_whatever_starts_before_it(pattern):
    def sent(order, **draws):
        network = Network(WEST, seed=3, record=True)
        places = {"a": range_of(8), "b": range_of(8) + 8}
        for job in order:
            plan = traffic(pattern, rounds=20, io_share=0.5)
            draw = {"draw": draws[job]} if job in draws else {}
            network.start(job, places[job], plan, **draw)
        finish(network)
        frame = network.messages()
        frame = frame[frame["source"].isin(WEST.routers_of[places["b"]])]
        pairs = frame.sort_values(["source", "number"])[["source", "destination"]]
        return pairs.to_numpy().tolist()

    assert sent("ab", a=7, b=4) == sent("ba", a=7, b=4) == sent("b", b=4)
    assert sent("b", b=4) != sent("b", b=5)
    # By default: the number of jobs started before.
    assert sent("ab") == sent("b", b=1)
    assert sent("ba") == sent("b", b=0)


def test_reflecting_the_mesh_does_not_change_when_a_lone_job_ends():
    # No ties of different messages for one channel: one message at a time.
    mesh = Mesh(6, 6)
    rng = np.random.default_rng(2)
    ends = rng.integers(0, 36, (2, 30))
    mirror = ends // 6 * 6 + 5 - ends % 6
    created = np.arange(30) * 100
    flits = rng.integers(1, 9, 30)
    runs = []
    for pair in (ends, mirror):
        network = Network(mesh, record=True)
        network.start("a", None, Messages(created, *pair, flits))
        finish(network)
        runs.append(network.messages()["delivered"].tolist())
    assert runs[0] == runs[1]


class TestDeadlock:
    @pytest.mark.parametrize("side", [5, 7])
    def test_everybody_two_ahead_on_a_ring_without_a_dateline_deadlocks(self, side):
        mesh = Mesh(1, side, torus=True, virtual_channels=1)
        source = range_of(side)
        network = Network(mesh)
        network.start("a", None, Messages(0 * source, source, (source + 2) % side, 0 * source + 9))
        with pytest.raises(DeadlockError, match="virtual_channels=2") as error:
            finish(network)
        assert len(error.value.cycle) == side
        assert all(name.startswith("link") for name in error.value.cycle)
        assert error.value.clock < 100

    @pytest.mark.parametrize("side", [5, 7])
    def test_with_the_dateline_it_does_not(self, side):
        mesh = Mesh(1, side, torus=True)
        source = range_of(side)
        network = Network(mesh)
        network.start("a", None, Messages(0 * source, source, (source + 2) % side, 0 * source + 9))
        assert finish(network)[0].messages == side

    @settings(max_examples=examples(20))
    @given(seed=st.integers(0, 10**6), buffer=st.integers(1, 4))
    def test_floods_drain_on_meshes_and_on_tori_with_datelines(self, seed, buffer):
        for mesh in (Mesh(4, 3, 2), Mesh(4, 5, torus=True), Mesh(3, 3, 3, torus=True)):
            network = Network(mesh, Router(hop=2, buffer=buffer, credit=1, release=1), seed=seed)
            network.start("a", range_of(mesh.nodes), traffic("random", flits=12, rounds=6))
            assert finish(network)[0].messages == 6 * mesh.nodes


class TestFidelities:
    @pytest.mark.thorough(first=1)
    @pytest.mark.parametrize("pattern", sorted(PATTERNS))
    @pytest.mark.parametrize("pace", [1.0, 2.5])
    def test_static_is_at_most_fluid_is_at_most_worm(self, pattern, pace):
        mesh = Mesh(8, 8, io_side="west")
        jobs = {}
        for k in range(3):
            nodes = np.random.default_rng(k).permutation(64)[:12]
            plan = Traffic.of(
                TrafficPhase(pattern=pattern, flits=64, rounds=3, io_share=0.5, pause=20),
                TrafficPhase(pattern="ring", flits=64),
            )
            jobs[k] = nodes, plan
        static, flow, worm = (contend(mesh, jobs, fidelity=f, disk_pace=pace, seed=5) for f in FIDELITIES)
        assert static.makespan <= flow.makespan * (1 + 1e-9)
        # Not a theorem: two fluids through one link both end late, of two worms one ends early
        # and its job goes on.
        assert flow.makespan <= worm.makespan * 1.1
        assert static.messages == flow.messages == worm.messages
        assert static.channel_flits.tolist() == worm.channel_flits.tolist()

    def test_two_fluids_through_one_link_take_twice_as_long_and_a_third_elsewhere_does_not(self):
        mesh = Mesh(1, 6)
        plan = traffic("one-to-all", flits=100)
        jobs = {"a": ([0, 2], plan), "b": ([1, 3], plan), "c": ([4, 5], plan)}
        assert fluid(mesh, jobs).finish == {"a": 200.0, "b": 200.0, "c": 100.0}

    def test_fluids_share_fairly_as_in_the_textbook(self):
        # Two links in a row; one flow over both, one over the first, two over the second.
        mesh = Mesh(1, 3)
        plan = traffic("one-to-all", flits=60)
        jobs = {"both": ([0, 2], plan), "first": ([0, 1], plan), "second": ([1, 2], plan)}
        run = fluid(mesh, jobs)
        # The injection at 0 and the ejection at 2 are shared by two flows: rates of a half.
        assert set(run.finish.values()) == {120.0}

    @pytest.mark.parametrize(("lockstep", "end"), [(True, 300.0), (False, 200.0)])
    def test_fluids_in_lockstep_wait_for_the_slowest_of_a_step(self, lockstep, end):
        """Butterfly of three ranks: 0 sends to 1 and 2, both of which send to 0.

        Ranks 1 and 2 share the ejection at 0: their messages take 200 cycles, those of rank 0 take
        100 each. Only in lockstep does the second of them wait for the end of the first step.
        """
        plan = traffic("fft", flits=100, lockstep=lockstep)
        run = fluid(Mesh(1, 3), {"a": ([0, 1, 2], plan)})
        assert run.messages == 4
        assert run.finish == {"a": end}
        assert run.mean_latency == pytest.approx(150.0, rel=1e-12)

    def test_listed_messages_load_the_channels_on_their_way(self):
        mesh = Mesh(1, 3)
        sent = {"source": [0, 2, 1], "destination": [2, 0, 2], "flits": [5, 3, 4]}
        load = link_load(mesh, Messages(created=[0, 0, 0], **sent))
        numbers, begins, ends = mesh.link_ends()
        links = {(a, b): load.flits[c] for c, a, b in zip(numbers, begins, ends, strict=True)}
        assert links == {(0, 1): 5, (1, 2): 9, (2, 1): 3, (1, 0): 3}
        # and once more where they are put in and taken out
        assert load.flits.sum() == sum(links.values()) + 2 * (5 + 3 + 4)
        assert (load.bound, load.messages) == (9.0, 3)
        assert load.flits.max() == 9

    def test_listed_messages_may_go_to_the_last_node_and_no_further(self):
        mesh = Mesh(1, 3)
        assert link_load(mesh, Messages([0], [0], [2], [5])).bound == 5.0
        assert link_load(mesh, Messages([0], [2], [0], [5])).bound == 5.0
        for source, destination in ((0, 3), (3, 0)):
            with pytest.raises(ModelError, match=r"must be <= 2, got 3"):
                link_load(mesh, Messages([0], [source], [destination], [5]))

    def test_a_long_list_is_for_worms_only(self):
        plan = traffic("all-to-all", rounds=10**7)
        for fidelity in ("static", "fluid"):
            with pytest.raises(MemoryBudgetError, match="worm"):
                contend(Mesh(4, 4), {"a": (range(16), plan)}, fidelity=fidelity)

    def test_fluids_know_no_intervals(self):
        plan = traffic("random", interval=5.0)
        with pytest.raises(ModelError, match="interval"):
            contend(Mesh(2, 2), {"a": (range(4), plan)}, fidelity="fluid")


@pytest.mark.parametrize(
    ("pattern", "nodes", "pairs"),
    [
        ("all-to-all", 3, [(0, 1), (0, 2), (1, 2), (1, 0), (2, 0), (2, 1)]),
        ("one-to-all", 3, [(0, 1), (0, 2)]),
        ("all-to-one", 3, [(1, 0), (2, 0)]),
        ("ring", 3, [(0, 1), (1, 2), (2, 0)]),
        ("n-body", 4, [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (2, 0), (3, 0), (3, 1)]),
        ("fft", 3, [(0, 1), (0, 2), (1, 0), (2, 0)]),
        ("nearest-neighbour", 3, [(0, 1), (0, 2), (1, 0), (2, 0)]),
    ],
)
def test_a_pattern_sends_exactly_these_messages(pattern, nodes, pairs):
    listed = expand(Mesh(1, nodes), range_of(nodes), traffic(pattern))
    assert list(zip(listed.source.tolist(), listed.target.tolist(), strict=True)) == pairs


@pytest.mark.parametrize("pattern", ["write", "read"])
def test_io_is_complete_bipartite(pattern):
    mesh = Mesh(3, 3, io_side="east", io_places=[0, 2])
    listed = expand(mesh, [0, 4, 8], traffic(pattern))
    computing = set(mesh.routers_of[[0, 4, 8]].tolist())
    disks = set(mesh.routers_of[9:].tolist())
    pairs = list(zip(listed.source.tolist(), listed.target.tolist(), strict=True))
    wanted = itertools.product(computing, disks)
    if pattern == "read":
        wanted = itertools.product(disks, computing)
    assert sorted(pairs) == sorted(wanted)


def test_the_share_of_io_among_mixed_slots_is_binomial():
    listed = expand(WEST, range_of(16), traffic("mixed", rounds=1000, io_share=0.3), seed=1)
    to_disk = np.isin(listed.target, WEST.routers_of[16:]).sum()
    assert abs(to_disk - 4800) < 4 * np.sqrt(16_000 * 0.3 * 0.7)


def test_lockstep_waits_for_everybody_after_each_message():
    mesh = Mesh(4, 4)
    alone = contend(mesh, {"a": (range(16), traffic("all-to-all", lockstep=True))})
    free = contend(mesh, {"a": (range(16), traffic("all-to-all"))})
    assert alone.makespan > free.makespan


def test_slow_disks_are_the_bottleneck_at_their_pace():
    run = contend(WEST, {"a": (range(16), traffic("write", flits=100))}, disk_pace=2.5)
    assert run.makespan >= 16 * 100 * 2.5


NONSENSE = [None, -1, 0.5, float("nan"), float("inf"), True, "8", [], 10**30]


@pytest.mark.parametrize("value", NONSENSE, ids=repr)
@pytest.mark.parametrize("name", ["flits", "rounds", "pause", "root", "targets", "interval"])
def test_a_phase_refuses_nonsense(name, value):
    with pytest.raises(ModelError):
        TrafficPhase(pattern="random", **{name: value if (name, value) != ("interval", True) else "x"})


@pytest.mark.parametrize("value", NONSENSE, ids=repr)
def test_everything_else_refuses_nonsense_too(value):
    number = "x" if value in (None, 10**30) else value  # these two are good
    plan = traffic("ring")
    calls = [
        lambda: Traffic(value),
        lambda: Traffic.of(TrafficPhase(pattern="ring"), repeat=value),
        lambda: Network(value),
        lambda: Network(WEST, value if value is not None else 1),
        lambda: Network(WEST, disk_pace=value),
        lambda: Router(hop=value),
        lambda: Router(buffer=value),
        lambda: contend(WEST, value),
        lambda: contend(WEST, {"a": value}),
        lambda: contend(WEST, {"a": (value, plan)}),
        lambda: contend(WEST, {"a": ([0, 1], value)}),
        lambda: contend(WEST, {"a": ([0, 1], plan)}, fidelity=value),
        lambda: latency_curve(WEST, value),
        lambda: latency_curve(WEST, [0.1], flits=value),
        lambda: Messages(value, [0], [1], [1]),
        lambda: Messages([0], [0], [1], value),
        lambda: Network(WEST).advance(until=value if value is not None else "x"),
        lambda: Network(WEST).start("a", [0, 1], plan, time=value if value is not None else "x"),
        lambda: Network(WEST).start("a", [0, 1], plan, draw=number),
    ]
    for k, call in enumerate(calls):
        try:
            call()
        except ModelError:
            continue
        pytest.fail(f"call {k} took {value!r}")


def test_a_refused_job_leaves_the_network_as_it_was():
    network = Network(Mesh(2, 2))
    network.start("a", [0, 1], traffic("ring"))
    for job, nodes, plan in (
        ("a", [2, 3], traffic("ring")),
        ("b", [2, 9], traffic("ring")),
        ("b", [2, 3], traffic("write")),
        ("b", [2, 3], traffic("one-to-all", root=2)),
        ([], [2, 3], traffic("ring")),
        ("b", None, Messages([0], [0], [99], [1])),
        ("b", [0], Messages([0], [0], [1], [1])),
    ):
        with pytest.raises(ModelError):
            network.start(job, nodes, plan)
    assert network.jobs == ("a",)
    assert finish(network)[0].messages == 2


def test_a_list_that_goes_back_in_time_at_one_source_is_refused():
    with pytest.raises(ModelError, match="sort"):
        Messages([5, 4], [0, 0], [1, 1], [1, 1])
    Messages([5, 4], [0, 1], [1, 1], [1, 1])
