import heapq
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from qmodels.errors import ModelError
from tests.examples import examples
from validation.mesh import (
    PATTERNS,
    Mesh,
    Messages,
    Network,
    Router,
    Traffic,
    TrafficPhase,
    expand,
    link_load,
    route,
)
from validation.mesh.job_flows import LAST_TIME, FlowNetwork

WEST = Mesh(4, 4, io_side="west")
ROUTERS = [Router(), Router(hop=4), Router.pipelined(), Router.pipelined(buffer=2)]
NAMES = ["ideal", "hop 4", "pipelined", "short buffers"]


def finish(network):
    done = []
    while network.jobs:
        done += network.advance()
    return {job.job: job for job in done}


def traffic(pattern, **options):
    return Traffic.of(TrafficPhase(pattern=pattern, **options))


def scattered(mesh, seed, size):
    return np.random.default_rng(seed).permutation(mesh.nodes)[:size]


def some_jobs(mesh, seed, count, patterns, span, **options):
    """Jobs on overlapping nodes: nodes, traffic and start of each."""
    rng = np.random.default_rng(seed)
    jobs = []
    for _ in range(count):
        pattern = str(rng.choice(patterns))
        phases = [
            TrafficPhase(
                pattern=pattern,
                flits=int(rng.integers(1, 30)),
                rounds=int(rng.integers(1, 4)),
                pause=int(rng.integers(0, 2) * rng.integers(0, 90)),
                lockstep=bool(rng.integers(0, 2)),
                io_share=0.4,
                **options,
            ),
            TrafficPhase(pattern="ring", flits=int(rng.integers(1, 30))),
        ][: int(rng.integers(1, 3))]
        plan = Traffic.of(*phases, repeat=int(rng.integers(1, 3)))
        nodes = rng.permutation(mesh.nodes)[: int(rng.integers(1, 8))]
        jobs.append((nodes, plan, float(rng.integers(0, span + 1))))
    return jobs


# A twin in plain Python: every message and every channel one by one, all maxima in full.


def stretch(router, flits, pace):
    loop = max(router.buffer * pace, router.flow + router.credit)
    if pace == 1.0 and router.buffer >= router.flow + router.credit:
        loop = router.buffer
    return flits // router.buffer * loop + flits % router.buffer * pace


def tail_crosses(router, flits, ahead, last_pace, pace=1.0):
    """From the header's crossing of a channel to the tail's, nobody being in the way."""
    latest = 0.0
    for m in range(ahead + 1):
        left = flits - 1 - m * router.buffer
        if left < 0:
            break
        here = max(pace, last_pace) if m == ahead else pace
        passed = m * (router.hop + router.credit) + stretch(router, left, here)
        latest = max(latest, passed)
    return latest


def message_holds(router, flits, last, pace_in, pace_out):
    """For each channel of a route, how long it is held, and grant to delivery."""
    held, rest = [], []
    for k in range(last + 1):
        ahead = last - k
        if ahead:
            own = router.hop + tail_crosses(router, flits, ahead - 1, pace_out)
        else:
            own = stretch(router, flits - 1, pace_out) + max(router.flow, pace_out)
        beyond = ahead * router.hop + stretch(router, flits - 1, pace_out)
        kept_back = flits - 1 - k * router.buffer
        if pace_in > 1.0 and kept_back >= 0:
            made = stretch(router, kept_back, pace_in)
            if k == 0:
                made = tail_crosses(router, flits, last, pace_out, pace_in)
            crossing = max(router.flow, pace_in) if k == 0 else router.flow
            own = max(own, made + k * router.flow + crossing)
            beyond = max(beyond, made + last * router.flow)
        held.append(own + (router.resume if k == 0 else router.release))
        rest.append(beyond + router.sink)
    return held, rest


def step_loads(mesh, router, pace, listed, members):
    """Cycles that some messages hold each channel, and how long they take alone."""
    total, first, after, chain, tail = {}, {}, {}, {}, {}
    disks = set(mesh.routers_of[mesh.io_nodes].tolist())
    node_of = {int(at): node for node, at in enumerate(mesh.routers_of.tolist())}
    for i in members:
        source, target = int(listed.source[i]), int(listed.target[i])
        way = route(mesh, node_of[source], node_of[target]).tolist()
        paces = (pace if end in disks else 1.0 for end in (source, target))
        held, rest = message_holds(router, int(listed.flits[i]), len(way) - 1, *paces)
        for k, channel in enumerate(way):
            total[channel] = total.get(channel, 0.0) + held[k]
            first[channel] = min(first.get(channel, inf), k * router.hop)
            after[channel] = min(after.get(channel, inf), rest[k] - held[k])
        chain[source] = chain.get(source, 0.0) + held[0]
        tail[source] = rest[0] - held[0]  # of the last message
    alone = [chain[source] + tail[source] for source in chain]
    alone += [total[c] + first[c] + after[c] for c in total if c >= mesh.routers]
    return total, max([*alone, *total.values()], default=0.0)


def run_loads(mesh, router, pace, listed, plan, run):
    """Hold of each channel, busiest channel and time alone of a phase run."""
    inside = np.flatnonzero(listed.run == run)
    keys = listed.step[inside] if plan.phases[run % len(plan.phases)].lockstep else 0 * inside
    total, busy, alone = {}, 0.0, 0.0
    for key in np.unique(keys):
        held, takes = step_loads(mesh, router, pace, listed, inside[keys == key].tolist())
        for channel, cycles in held.items():
            total[channel] = total.get(channel, 0.0) + cycles
        busy, alone = busy + max(held.values()), alone + takes
    return total, busy, alone


def fair_speeds(parts):
    """Weighted progressive filling in dictionaries."""
    speed, growing, level = dict.fromkeys(parts, 0.0), set(parts), 0.0
    while growing:
        used, wanted = {}, {}
        for flow in parts:
            for channel, part in parts[flow].items():
                into = wanted if flow in growing else used
                into[channel] = into.get(channel, 0.0) + part * (speed[flow] or 1.0)
        levels = {c: (1.0 - used.get(c, 0.0)) / wanted[c] for c in wanted}
        level = max(level, min([1.0, *levels.values()]))
        full = {c for c in levels if levels[c] <= level + 1e-9}
        for flow in [f for f in growing if level >= 1.0 or full & set(parts[f])]:
            speed[flow] = level
            growing.discard(flow)
    return speed


def play_naively(mesh, router, pace, jobs, seed):
    """When each job ends."""
    plans = []
    for number, (nodes, plan, _) in enumerate(jobs):
        listed = expand(mesh, nodes, plan, seed=seed, job=number)
        plans.append([run_loads(mesh, router, pace, listed, plan, r) for r in range(plan.runs)])
    due = [(start, number, -1, "over") for number, (_, _, start) in enumerate(jobs)]
    heapq.heapify(due)
    left, parts, runs, ends, now = {}, {}, {}, {}, 0.0
    while due or left:
        speed = fair_speeds(parts)
        soonest = min([now + left[flow] / speed[flow] for flow in left], default=inf)
        then = min(soonest, due[0][0] if due else inf)
        for flow in list(left):
            left[flow] -= (then - now) * speed[flow]
            _, busy, alone = plans[flow][runs[flow]]
            if left[flow] <= 1e-9 * busy:
                heapq.heappush(due, (then + alone - busy, flow, runs[flow], "over"))
                del left[flow], parts[flow]
        now = then
        while due and due[0][0] <= now:
            _, job, run, what = heapq.heappop(due)
            plan = jobs[job][1]
            if what == "over":
                run += 1
                if run == plan.runs:
                    ends[job] = now
                else:
                    pause = plan.phases[run % len(plan.phases)].pause
                    heapq.heappush(due, (now + pause, job, run, "go"))
                continue
            held, busy, _ = plans[job][run]
            if not held:
                heapq.heappush(due, (now, job, run, "over"))
                continue
            runs[job], left[job] = run, busy
            parts[job] = {channel: cycles / busy for channel, cycles in held.items()}
    return ends


def started(mesh, jobs, router=None, cls=FlowNetwork, **options):
    network = cls(mesh, router, **options)
    for number, (nodes, plan, start) in enumerate(jobs):
        network.start(number, nodes, plan, time=start if cls is FlowNetwork else int(start))
    return network


def alone(mesh, nodes, plan, router=None, cls=FlowNetwork, **options):
    return finish(started(mesh, [(nodes, plan, 0)], router, cls, **options))[0]


class TestAlone:
    @pytest.mark.parametrize("pattern", sorted(PATTERNS))
    def test_a_job_takes_the_static_bound_and_the_way_of_a_header(self, pattern):
        mesh = Mesh(8, 8, io_side="west")
        nodes = scattered(mesh, 5, 12)
        plan = traffic(pattern, flits=40, rounds=3, io_share=0.5)
        took = alone(mesh, nodes, plan, seed=2).response
        bound = link_load(mesh, {0: (nodes, plan)}, seed=2).bound
        listed = expand(mesh, nodes, plan, seed=2)
        assert run_loads(mesh, Router(), 1.0, listed, plan, 0)[1:] == (bound, took)
        # From a corner to the disk in the other: 15 links and an ejection.
        assert bound < took <= bound + 16

    def test_phases_pauses_and_repeats_add_up(self):
        ring, write = (
            TrafficPhase(pattern="ring", flits=30, pause=7),
            TrafficPhase(pattern="write", flits=20),
        )
        parts = [alone(WEST, range(6), Traffic.of(phase)).response for phase in (ring, write)]
        plan = Traffic.of(ring, write, repeat=3)
        done = finish(started(WEST, [(range(6), plan, 11)]))[0]
        assert done.response == 3 * sum(parts)
        assert [phase[0] for phase in done.phases] == ["ring", "write"] * 3
        assert [end - begin for _, begin, end in done.phases] == parts * 3
        assert done.phases[0][1] == done.start == 11
        assert done.phases[-1][2] == done.finish
        assert all(a[2] == b[1] for a, b in zip(done.phases, done.phases[1:], strict=False))

    def test_lockstep_takes_the_sum_of_its_steps(self):
        mesh = Mesh(1, 4)
        plan = traffic("all-to-all", flits=50, lockstep=True)
        done = alone(mesh, range(4), plan)
        # Rank r sends to r + 1, r + 2, r + 3. In the first and the last step one message goes over
        # three links, 3 -> 0 and 0 -> 3. In the second two go over the middle link, one that begins
        # beside it and one that ends beside it.
        assert done.response == (50 + 4) + (100 + 2) + (50 + 4)
        assert alone(mesh, range(4), plan, None, Network).response == done.response
        free = alone(mesh, range(4), traffic("all-to-all", flits=50))
        assert free.response < done.response

    @pytest.mark.parametrize("router", ROUTERS, ids=NAMES)
    def test_a_message_takes_its_zero_load_latency(self, router):
        mesh = Mesh(6, 6)
        for target in (1, 5, 35):
            for flits in (1, 7, 40):
                done = alone(mesh, [0, target], traffic("one-to-all", flits=flits), router)
                expected = router.zero_load(hops=target // 6 + target % 6, flits=flits)
                assert done.response == done.mean_latency == done.longest_latency == expected
                assert done.mean_blocking == 0

    @pytest.mark.parametrize("hop", [1, 4])
    def test_a_source_without_competition_takes_as_long_as_its_worms(self, hop):
        mesh = Mesh(6, 6)
        for seed in range(10):
            nodes, plan = scattered(mesh, seed, 9), traffic("one-to-all", flits=30, rounds=2)
            flow, worm = (alone(mesh, nodes, plan, Router(hop=hop), cls) for cls in (FlowNetwork, Network))
            assert flow.response == worm.response
            assert flow.mean_latency == pytest.approx(worm.mean_latency, rel=1e-12)
            assert flow.mean_hops == pytest.approx(worm.mean_hops, rel=1e-12)

    @settings(max_examples=examples(60))
    @given(
        pattern=st.sampled_from(sorted(PATTERNS)),
        seed=st.integers(0, 10**6),
        lockstep=st.booleans(),
        hop=st.integers(1, 4),
        shorter=st.integers(0, 3),
        buffer=st.integers(1, 9),
        credit=st.integers(0, 3),
        release=st.integers(0, 1),
        in_turn=st.booleans(),
    )
    def test_a_job_is_never_slower_than_its_worms(self, pattern, seed, lockstep, hop, shorter, **delays):
        mesh = Mesh(4, 5, io_side="west")
        router = Router(hop=hop, flow=max(1, hop - shorter), **delays)
        plan = traffic(pattern, flits=1 + seed % 40, rounds=2, lockstep=lockstep, io_share=0.5, pause=3)
        nodes = scattered(mesh, seed, 1 + seed % 13)
        flow, worm = (alone(mesh, nodes, plan, router, cls, seed=seed) for cls in (FlowNetwork, Network))
        assert flow.response <= worm.response * (1 + 1e-12)
        assert (flow.messages, flow.flits) == (worm.messages, worm.flits)
        assert flow.mean_hops == pytest.approx(worm.mean_hops, rel=1e-12)

    @settings(max_examples=examples(40))
    @given(
        pattern=st.sampled_from(["write", "read", "mixed"]),
        seed=st.integers(0, 10**6),
        router=st.sampled_from(ROUTERS),
        pace=st.sampled_from([1.5, 2.0, 6.0]),
    )
    def test_with_slow_disks_it_is_slower_than_its_worms_by_a_flit_of_each_read_at_most(
        self, pattern, seed, router, pace
    ):
        mesh = Mesh(4, 5, io_side="west")
        flits = 1 + seed % 60
        plan = traffic(pattern, flits=flits, rounds=3, io_share=0.5)
        nodes = scattered(mesh, seed, 1 + seed % 13)
        flow, worm = (
            alone(mesh, nodes, plan, router, cls, seed=seed, disk_pace=pace) for cls in (FlowNetwork, Network)
        )
        # A worm's last flit is on its way while the disk makes the next message's first.
        longer = 1.0 if pattern == "write" else flits * pace / ((flits - 1) * pace + 1)
        assert flow.response <= worm.response * longer * (1 + 1e-12)

    def test_a_slow_disk_takes_every_flit_at_its_pace(self):
        # One node, one disk two links away.
        mesh = Mesh(1, 3, io_side="west")
        done = alone(mesh, [1], traffic("write", flits=20, rounds=10), disk_pace=3.0)
        # Three channels before the disk; the message counts as delivered one cycle after its last
        # flit has come, which the disk is then busy with for three.
        assert done.response == 10 * 20 * 3.0 + 3 - 3 + 1

    def test_a_worm_before_a_slow_disk_keeps_the_channels_behind_it(self):
        # Injection, two links, disk. The disk needs 4 cycles for each of 100 flits; the tail leaves
        # the channel before it when the disk begins with the last flit, and each channel further
        # back one flit (4 cycles) earlier, after a grant one cycle earlier.
        held, rest = message_holds(Router(), 100, 3, 1.0, 4.0)
        assert held == [391, 394, 397, 400]
        assert rest[0] == 3 + 99 * 4 + 1
        mesh = Mesh(2, 1, io_side="west", io_places=[1])
        plan = traffic("write", flits=100)
        assert alone(mesh, [0], plan, disk_pace=4.0).response == 400


@pytest.mark.thorough
@settings(max_examples=examples(60))
@given(
    seed=st.integers(0, 10**6),
    span=st.sampled_from([0, 100, 1000]),
    router=st.sampled_from(ROUTERS),
    pace=st.sampled_from([1.0, 2.5]),
    patterns=st.sampled_from([["write", "read", "mixed"], sorted(PATTERNS)]),
)
def test_any_set_of_jobs_equals_its_twin_in_plain_python(seed, span, router, pace, patterns):
    mesh = Mesh(3, 4, io_side="west", io_places=[0, 2])
    jobs = some_jobs(mesh, seed, 5, patterns, span)
    done = finish(started(mesh, jobs, router, disk_pace=pace, seed=seed))
    expected = play_naively(mesh, router, pace, jobs, seed)
    assert {k: job.finish for k, job in done.items()} == pytest.approx(expected, rel=1e-6)


@settings(max_examples=examples(15))
@given(seed=st.integers(0, 10**6), lanes=st.sampled_from([1, 2]))
def test_tori_and_piles_equal_their_twin_too(seed, lanes):
    for mesh in (Mesh(4, 5, torus=True, virtual_channels=lanes), Mesh(2, 3, 3, io_side="front")):
        jobs = some_jobs(mesh, seed, 4, ["all-to-all", "random"], 50)
        done = finish(started(mesh, jobs, seed=seed))
        expected = play_naively(mesh, Router(), 1.0, jobs, seed)
        assert {k: job.finish for k, job in done.items()} == pytest.approx(expected, rel=1e-6)


class TestSharing:
    def test_two_equal_jobs_over_one_link_take_twice_as_long_and_a_third_elsewhere_does_not(self):
        mesh, plan = Mesh(1, 6), traffic("one-to-all", flits=100)
        jobs = [([0, 2], plan, 0), ([1, 3], plan, 0), ([4, 5], plan, 0)]
        done = finish(started(mesh, jobs))
        # After the flow: two links and an ejection, or one and an ejection.
        assert [done[k].finish for k in range(3)] == [2 * 100 + 3, 2 * 100 + 3, 100 + 2]

    def test_a_job_that_comes_later_shares_only_while_both_are_there(self):
        mesh, plan = Mesh(1, 4), traffic("one-to-all", flits=100)
        done = finish(started(mesh, [([0, 2], plan, 0), ([1, 3], plan, 60)]))
        # 60 alone, then 40 at half the speed; the other has 60 left then.
        assert done[0].finish == 60 + 80 + 3
        assert done[1].finish == 60 + 80 + 60 + 3

    def test_jobs_are_slowed_alike_until_a_channel_is_full_and_the_others_go_on(self):
        mesh, plan = Mesh(1, 6), traffic("one-to-all", flits=300)
        # Link 1 -> 2 is used by three, full when each has a third; link 3 -> 4 by one of them and
        # one more, who then has two thirds for itself until the first three are over.
        jobs = [([0, 2], plan, 0), ([1, 5], plan, 0), ([1, 2], plan, 0), ([3, 4], plan, 0)]
        done = finish(started(mesh, jobs))
        assert done[3].finish == pytest.approx(450 + 2, rel=1e-12)
        for k, links in ((0, 2), (1, 4), (2, 1)):
            assert done[k].finish == pytest.approx(900 + links + 1, rel=1e-12)

    def test_a_job_that_needs_little_of_the_shared_link_is_slowed_like_the_others(self):
        # Per 8 rounds of its busiest channel (the ejection at 1, from 0 and 2) the first job has
        # half over the link 0 -> 1; the second fills it. 1.5 wanted: both at two thirds.
        mesh = Mesh(1, 3)
        half = traffic("all-to-one", flits=60, root=1)
        full = traffic("one-to-all", flits=120)
        done = finish(started(mesh, [([0, 1, 2], half, 0), ([0, 1], full, 0)]))
        # The ejection at 1 is shared as well and wanted twice: one half each.
        assert done[0].finish == pytest.approx(240 + 2, rel=1e-12)
        away = finish(started(mesh, [([0, 1, 2], half, 0), ([0, 2], full, 0)]))
        assert away[0].finish == pytest.approx(180 + 2, rel=1e-12)
        assert away[1].finish == pytest.approx(180 + 3, rel=1e-12)

    def test_jobs_on_disjoint_channels_do_not_feel_each_other(self):
        mesh = Mesh(6, 8)
        plan = Traffic.of(TrafficPhase(pattern="random", flits=7, rounds=9), repeat=3)
        rows = [mesh.rectangle(row, 0, 1, 8) for row in range(6)]

        def play(*numbers):
            network = FlowNetwork(mesh, Router.pipelined(), seed=8)
            for row in numbers:
                network.start(row, rows[row], plan, time=13.7 * row, draw=row)
            return finish(network)

        together = play(3, 0, 5, 2, 1, 4)
        assert together == {row: play(row)[row] for row in range(6)}

    @settings(max_examples=examples(40))
    @given(seed=st.integers(0, 10**6), pace=st.sampled_from([1.0, 2.5, 4.545]))
    def test_jobs_are_never_faster_than_the_loads_of_their_channels_allow(self, seed, pace):
        jobs = some_jobs(WEST, seed, 6, sorted(PATTERNS), 0)
        done = finish(started(WEST, jobs, disk_pace=pace, seed=seed))
        listed = {k: job[:2] for k, job in enumerate(jobs)}
        load = link_load(WEST, listed, disk_pace=pace, seed=seed)
        # Sums of floats in another order: 1e-12.
        assert max(job.finish for job in done.values()) >= load.bound * (1 - 1e-12)
        for k, (nodes, plan, _) in enumerate(jobs):
            single = alone(WEST, nodes, plan, disk_pace=pace, seed=seed)
            if k == 0:  # the only one whose draw is the same alone
                assert done[k].response >= single.response * (1 - 1e-12)

    @settings(max_examples=examples(30))
    @given(seed=st.integers(0, 10**6), pace=st.sampled_from([1.0, 2.0]))
    def test_flits_carried_are_flits_sent(self, seed, pace):
        mesh = Mesh(5, 4, io_side="west", io_places=[0, 2, 3])
        jobs = some_jobs(mesh, seed, 6, sorted(PATTERNS), 200)
        network = started(mesh, jobs, Router.pipelined(), disk_pace=pace, seed=seed)
        done = finish(network)
        load = link_load(mesh, {k: job[:2] for k, job in enumerate(jobs)}, seed=seed)
        carried = network.channel_flits
        assert carried.tolist() == load.flits.tolist()
        injected, ejected = carried[: mesh.routers], carried[mesh.routers : 2 * mesh.routers]
        assert injected.sum() == ejected.sum() == sum(job.flits for job in done.values())
        assert sum(job.messages for job in done.values()) == load.messages


class TestAgainstWorms:
    """No theorem holds for several jobs; tested is that flows tell which jobs take long."""

    @pytest.mark.parametrize("router", ROUTERS[::2], ids=NAMES[::2])
    @pytest.mark.parametrize("io_share", [0.0, 0.2])
    def test_jobs_that_take_long_among_worms_take_long_among_flows(self, router, io_share):
        mesh = Mesh(16, 22, io_side="west")
        plan = traffic("mixed", flits=5, rounds=16, io_share=io_share)
        rng = np.random.default_rng(7)
        # All of one size, or their sizes would be enough to tell.
        places = [rng.permutation(mesh.nodes)[:16] for _ in range(80)]
        # 13 I/O messages of a job over the middle link of the I/O column, held 9 cycles each when
        # pipelined: a quarter of the time. Where jobs flood it, responses are alike for neither.
        starts = np.cumsum(rng.integers(0, 900, 80)).tolist()
        jobs = [(nodes, plan, start) for nodes, start in zip(places, starts, strict=True)]
        flow, worm = (finish(started(mesh, jobs, router, cls)) for cls in (FlowNetwork, Network))
        responses = [[done[k].response for k in range(80)] for done in (flow, worm)]
        # Were they independent, a rank correlation this large would have probability .001.
        assert spearmanr(*responses)[0] > 3.09 / np.sqrt(79)

    def test_jobs_that_never_meet_are_no_slower_than_worms(self):
        mesh, plan = Mesh(8, 8), traffic("random", flits=9, rounds=20)
        jobs = [(mesh.rectangle(row, 0, 1, 8), plan, 30.0 * row) for row in range(8)]
        flow, worm = (finish(started(mesh, jobs, None, cls)) for cls in (FlowNetwork, Network))
        assert all(flow[k].finish <= worm[k].finish for k in range(8))

    @pytest.mark.parametrize("pattern", ["random", "mixed", "write", "read"])
    def test_both_draw_the_same_messages(self, pattern):
        def carried(cls, draw):
            network = cls(WEST, seed=4)
            plan = traffic(pattern, flits=3, rounds=11, io_share=0.5)
            network.start("a", range(5), Traffic.of(*plan.phases, repeat=3), draw=draw)
            network.start("b", range(7), plan)
            finish(network)
            flows = cls is FlowNetwork
            return (network.channel_flits if flows else network.channel_use().flits).tolist()

        assert carried(FlowNetwork, 17) == carried(Network, 17)
        if pattern in ("random", "mixed"):
            assert carried(FlowNetwork, 17) != carried(FlowNetwork, 18)


class TestResuming:
    @settings(max_examples=examples(25))
    @given(seed=st.integers(0, 10**6), stride=st.sampled_from([0.3, 11, 1000]))
    def test_stopping_on_the_way_changes_nothing(self, seed, stride):
        jobs = some_jobs(WEST, seed, 6, ["mixed", "all-to-all", "write"], 300)
        through, halting = (started(WEST, jobs, seed=seed) for _ in range(2))
        whole, parts = finish(through), {}
        while halting.jobs:
            until = halting.clock + stride
            done = halting.advance(until=until)
            assert halting.clock == (done[0].finish if done else until)
            parts |= {job.job: job for job in done}
        assert parts == whole
        assert halting.channel_flits.tolist() == through.channel_flits.tolist()

    def test_completions_come_in_order_of_time_all_of_one_time_at_once(self):
        mesh = Mesh(8, 8, io_side="west")
        network = started(mesh, some_jobs(mesh, 1, 12, sorted(PATTERNS), 400))
        last = -1.0
        while network.jobs:
            done = network.advance()
            assert {job.finish for job in done} == {network.clock}
            assert network.clock > last
            last = network.clock

    def test_equal_jobs_complete_together_in_order_of_their_start(self):
        mesh, plan = Mesh(3, 4), traffic("ring", flits=30)
        network = FlowNetwork(mesh)
        for row in (2, 0, 1):
            network.start(row, mesh.rectangle(row, 0, 1, 4), plan)
        assert [job.job for job in network.advance()] == [2, 0, 1]

    def test_what_happens_at_until_is_left_for_the_next_call(self):
        network = FlowNetwork(Mesh(1, 2))
        network.start("a", [0, 1], traffic("one-to-all", flits=8), time=2)
        assert network.advance(until=2) == []
        assert network.advance(until=12) == []
        assert network.jobs == ("a",)
        assert network.advance(until=12.5)[0].finish == 12 == network.clock

    def test_an_idle_network_lets_time_pass(self):
        network = FlowNetwork(Mesh(2, 2))
        assert network.advance() == []
        assert network.clock == 0
        assert network.advance(until=10**12) == []
        assert network.clock == 10**12
        network.start("a", [0, 1], traffic("ring"), time=10**13)
        assert network.advance(until=10**13) == []
        assert network.advance()[0].start == 10**13

    def test_rooms_of_finished_flows_are_used_again(self):
        network, rng = FlowNetwork(WEST), np.random.default_rng(0)
        for k in range(400):
            nodes = rng.permutation(16)[: 2 + k % 9]
            network.start(k, nodes, traffic("mixed", rounds=4, io_share=0.5))
            while len(network.jobs) > 12:
                network.advance()
        finish(network)
        assert network._flows._flows.size <= 16
        assert network._flows._channels.size <= 2 * 13 * WEST.channels
        assert not network._by_number

    def test_the_same_seed_gives_the_same_bits_and_another_does_not(self):
        jobs = some_jobs(WEST, 3, 6, ["mixed", "random"], 100)
        runs = [finish(started(WEST, jobs, seed=seed)) for seed in (1, 1, 2)]
        assert runs[0] == runs[1]
        assert runs[0] != runs[2]


class TestOddJobs:
    def test_a_job_with_nothing_to_send_is_over_after_its_pauses(self):
        plan = Traffic.of(TrafficPhase(pattern="all-to-all", pause=5), repeat=3)
        done = finish(started(Mesh(2, 2), [([0], plan, 2)]))[0]
        assert (done.start, done.finish, done.messages) == (2, 17, 0)
        assert (done.mean_latency, done.mean_blocking, done.mean_hops) == (0, 0, 0)
        assert done.phases == (("all-to-all", 2, 7), ("all-to-all", 7, 12), ("all-to-all", 12, 17))

    def test_a_job_with_nothing_at_all_to_do_is_over_at_once(self):
        network = started(Mesh(2, 2), [([0], traffic("ring"), 2)])
        [done] = network.advance()
        assert done.finish == done.start == network.clock == 2

    def test_a_single_node_writes_reads_and_talks_to_itself(self):
        for pattern, count, options in (("write", 4, {}), ("read", 4, {}), ("random", 1, {"targets": 1})):
            done = alone(WEST, [5], traffic(pattern, flits=9, **options))
            assert done.messages == count
            assert done.response > 9

    @pytest.mark.parametrize("lockstep", [False, True])
    def test_a_million_rounds_take_a_million_times_as_long(self, lockstep):
        one, many = (
            alone(Mesh(1, 4), range(4), traffic("all-to-all", flits=50, rounds=rounds, lockstep=lockstep))
            for rounds in (1, 10**6)
        )
        assert many.messages == 12 * 10**6
        more = 210 if lockstep else 200  # see above; four messages over the middle link
        assert many.response == one.response + (10**6 - 1) * more

    def test_sources_have_a_message_on_its_way_all_the_time(self):
        mesh, plan = Mesh(1, 2), traffic("ring", flits=50, rounds=4)
        done = alone(mesh, [0, 1], plan)
        assert done.mean_latency == pytest.approx(52, rel=1e-12)
        assert done.longest_latency >= done.mean_latency
        assert done.mean_blocking == pytest.approx(0, abs=1e-12)
        slowed = finish(started(mesh, [([0, 1], plan, 0)] * 2))[0]
        # In 400 cycles and the last one's way, two sources send four messages each.
        assert slowed.response == 402
        assert slowed.mean_latency == pytest.approx((402 + 3 * 2) / 4, rel=1e-12)
        assert slowed.mean_blocking == pytest.approx(50, rel=1e-12)


NONSENSE = [None, -1, 0.5, float("nan"), float("inf"), True, "8", [], 10**30, [[1], [1, 2]]]


@pytest.mark.parametrize("value", NONSENSE, ids=repr)
def test_nonsense_is_refused(value):
    plan = traffic("ring")
    time = "x" if value in (None, 0.5) else value  # these are good times
    number = "x" if value in (None, 10**30) else value  # these are good seeds
    calls = [
        lambda: FlowNetwork(value),
        lambda: FlowNetwork(WEST, value if value is not None else 1),
        lambda: FlowNetwork(WEST, disk_pace=value),
        lambda: FlowNetwork(WEST, seed=number),
        lambda: FlowNetwork(WEST).start("a", value, plan),
        lambda: FlowNetwork(WEST).start("a", [0, 1], value),
        lambda: FlowNetwork(WEST).start("a", [0, 1], plan, time=time),
        lambda: FlowNetwork(WEST).start("a", [0, 1], plan, draw=number),
        lambda: FlowNetwork(WEST).advance(until=time),
    ]
    for k, call in enumerate(calls):
        try:
            call()
        except ModelError:
            continue
        pytest.fail(f"call {k} took {value!r}")


def test_lists_and_intervals_are_refused_with_what_to_use_instead():
    network = FlowNetwork(WEST)
    with pytest.raises(ModelError, match="use Network"):
        network.start("a", [0, 1], Messages([0], [0], [1], [1]))
    with pytest.raises(ModelError, match="interval=0"):
        network.start("a", [0, 1], traffic("random", interval=5.0))
    assert network.jobs == ()


def test_a_refused_job_leaves_the_network_as_it_was():
    long = Traffic.of(TrafficPhase(pattern="ring", rounds=1 << 24), repeat=1 << 24)
    network, other = (FlowNetwork(Mesh(2, 2)) for _ in range(2))
    network.start("a", [0, 1], traffic("ring"))
    for job, nodes, plan, options in (
        ("a", [2, 3], traffic("ring"), {}),
        ("b", [2, 9], traffic("ring"), {}),
        ("b", [2, 2], traffic("ring"), {}),
        ("b", [2, 3], traffic("write"), {}),
        ("b", [2, 3], traffic("one-to-all", root=2), {}),
        ([], [2, 3], traffic("ring"), {}),
        ("b", [2, 3], traffic("ring"), {"time": -1}),
        ("b", [2, 3], traffic("ring"), {"draw": -1}),
        ("b", [2, 3], long, {}),
    ):
        with pytest.raises(ModelError):
            network.start(job, nodes, plan, **options)
    assert network.jobs == ("a",)
    other.start("a", [0, 1], traffic("ring"))
    for each in (network, other):
        each.start("b", [0, 1, 2, 3], traffic("random", rounds=9))
    assert finish(network) == finish(other)


def test_a_job_that_would_not_end_in_time_is_an_error_and_not_an_endless_loop():
    network = FlowNetwork(Mesh(1, 2))
    plan = traffic("ring", flits=1 << 20, rounds=1 << 24)
    network.start("a", [0, 1], plan, time=LAST_TIME * (1 - 1e-3))
    with pytest.raises(ModelError, match="no job ends"):
        network.advance()
    assert network.advance(until=LAST_TIME) == []
    assert network.jobs == ("a",)
