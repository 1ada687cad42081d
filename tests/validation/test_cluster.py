"""The cluster: laws that every run keeps, under whatever balancer and whatever jobs."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qmodels.errors import MemoryBudgetError, ModelError
from tests.examples import examples
from validation.cluster import (
    BALANCERS,
    ApplicationTraces,
    Cluster,
    ClusterTrace,
    Node,
    SyntheticTraces,
    simulate_cluster,
)
from validation.cluster import simulator as engine
from validation.cluster._kernels import events, fluid, rules, state

EVERY = pytest.mark.parametrize("name", BALANCERS)
UNCOUPLED = ("NLB", "CPU", "memory", "IOCM-RE")


def drawn(seed=1, **options):
    kept = {
        "jobs": 150,
        "nodes": 8,
        "parallel": 0.4,
        "offered_disk": 1.2,
        "page_faults": 5.0,
        "memory_factor": 3.0,
    }
    return SyntheticTraces(**kept | options).draw(rng=np.random.default_rng(seed))


def alike(count, **columns):
    """Some sequential jobs that all come at once to node 0, with some columns of their own."""
    usual = {"arrivals": 0.0, "homes": 0, "tasks": 1, "demands": 1.0, "memory": 1.0}
    table = {name: np.full(count, value) for name, value in usual.items()}
    return ClusterTrace(**table | {name: np.asarray(v) for name, v in columns.items()})


def test_what_rounding_leaves_is_no_paging():
    paging = simulate_cluster(Cluster.of(8), drawn(memory_factor=1.0), "NLB").part("paging")
    assert np.all((paging == 0.0) | (np.abs(paging) > 1e-9))
    assert np.any(paging == 0.0)


@st.composite
def traces(draw):
    """Small traces, extreme ones among them: no rates, memory ten times over, all at once."""
    nodes = draw(st.integers(1, 6))
    count = draw(st.integers(1, 25))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rate = draw(st.sampled_from([0.0, 0.05, 1.0, 50.0]))
    faults = draw(st.sampled_from([0.0, 0.5, 10.0]))
    return nodes, ClusterTrace(
        arrivals=np.sort(rng.uniform(0.0, draw(st.sampled_from([0.0, 1.0, 1e4])), count)),
        homes=rng.integers(0, nodes, count),
        tasks=rng.integers(1, nodes + 1, count),
        demands=10.0 ** rng.uniform(-3.0, 3.0, count),
        memory=rng.uniform(0.0, draw(st.sampled_from([10.0, 640.0, 6400.0])), count),
        io_rates=rate * rng.random(count),
        initial=rng.uniform(0.0, 100.0, count),
        writes=rng.random(count),
        reaccess=rng.uniform(0.0, 5.0, count),
        fault_rates=faults * rng.random(count),
    )


@settings(max_examples=examples(60))
@given(
    case=traces(),
    name=st.sampled_from(list(BALANCERS)),
    late=st.sampled_from([0.0, 0.5]),
    known=st.booleans(),
)
def test_every_run_keeps_the_laws_of_the_specification(case, name, late, known):
    nodes, trace = case
    cluster = Cluster.of(nodes, broadcast=late, remaining_known=known)
    run = simulate_cluster(cluster, trace, name)
    keeps_the_laws(run, trace)


def keeps_the_laws(run, trace):
    assert np.isfinite(run.finish).all()
    assert run.slowdown.min() >= 1.0 - 1e-9
    assert run.peak_utilisation <= 1.0 + 1e-6
    assert run.unsettled == 0
    # Every node's CPU was busy for as long as the tasks asked for it.
    asked = float(np.asarray(trace.tasks) @ np.asarray(trace.demands))
    assert run.busy[:, 0].sum() == pytest.approx(asked, rel=1e-9)
    # The time lines hold the same, and the parts of a job's time add up.
    bins = np.append(np.full(run.lines.shape[0] - 1, run.bin_width), np.nan)
    bins[-1] = run.end - run.bin_width * (bins.size - 1)
    assert np.einsum("bnk,b->nk", run.lines, bins) == pytest.approx(run.busy, rel=1e-9, abs=1e-9)
    extra = sum(run.part(p) for p in run.spent if p != "service")
    assert 1.0 + extra == pytest.approx(run.slowdown, rel=1e-6)
    for part in ("queueing", "paging", "barrier", "migration"):
        assert run.part(part).min() >= -1e-3
    assert all(math.isfinite(value) for value in run.summary().values())


@EVERY
def test_the_laws_hold_on_nodes_that_differ(name):
    cluster = Cluster([Node(), Node(speed=3.0, memory=200.0), Node(disk_rate=5.0, link=1.0)] * 3)
    trace = drawn(nodes=9)
    run = simulate_cluster(cluster, trace, name)
    assert np.isfinite(run.finish).all()
    assert run.slowdown.min() >= 1.0 - 1e-9  # alone means on the nodes that suit the job best
    assert run.peak_utilisation <= 1.0 + 1e-6
    extra = sum(run.part(p) for p in run.spent if p != "service")
    assert 1.0 + extra == pytest.approx(run.slowdown, rel=1e-6)


@EVERY
def test_ledgers_return_to_zero(name):
    s = played(Cluster.of(8), drawn(), name)
    assert not s.loads["tasks"].any()
    for column in ("memory", "io", "cpu", "disk"):
        assert (s.loads[column] == 0.0).all()  # sums are made afresh, so that nothing stays behind
    assert (s.nodes["head"] == state.NOBODY).all()
    assert (s.jobs["status"] == state.DONE).all()
    assert not s.jobs["queued"].any()


def played(cluster, trace, name, look=None):
    """The tables of a run; `look` is called after every event."""
    s = engine._tables(cluster, trace, engine.TOLERANCE)
    chosen = BALANCERS[name]().rules()
    while events.advance(s, chosen, False, 1 if look else 10**9) != events.OVER:
        if look:
            look(s)
    return s


@pytest.mark.thorough(first=1)
@EVERY
def test_siblings_never_share_a_node_and_frozen_jobs_stand_still(name):
    frozen = 0

    def look(s):
        nonlocal frozen
        for job in s.active[: s.counts[state.ACTIVE]].tolist():
            own = s.tasks[s.first[job] : s.first[job + 1]]
            assert np.unique(own["node"]).size == own.size
            if s.jobs[job].status == state.FROZEN:
                frozen += 1
                assert s.jobs[job].pace == 0.0
                assert not own["at_cpu"].any()
                assert not own["at_disk"].any()
            else:
                assert s.jobs[job].pace > 0.0
        for node in range(8):
            there = s.tasks["node"] == node
            assert s.loads[node].tasks == there.sum()
            assert s.loads[node].memory == pytest.approx(s.jobs["memory"][s.tasks["job"][there]].sum())

    played(Cluster.of(8), drawn(jobs=60), name, look)
    assert (frozen > 0) == (name not in ("NLB", "BS"))


def test_on_one_node_all_balancers_that_move_nothing_are_one():
    trace = drawn(nodes=1, parallel=0.0)
    first = simulate_cluster(Cluster.of(1), trace, "NLB")
    for name in (*UNCOUPLED, "IOCM-PM"):
        assert simulate_cluster(Cluster.of(1), trace, name).finish.tobytes() == (first.finish.tobytes())


def test_without_balancing_neither_names_of_nodes_nor_the_unit_of_time_matter():
    trace = drawn()
    columns = {name: getattr(trace, name) for name in trace.__dataclass_fields__}
    base = simulate_cluster(Cluster.of(8), trace, "NLB", tolerance=1e-9)
    turned = ClusterTrace(**columns | {"homes": (trace.homes + 3) % 8})
    other = simulate_cluster(Cluster.of(8), turned, "NLB", tolerance=1e-9)
    assert other.finish == pytest.approx(base.finish, rel=1e-7)
    # Twice as slow throughout: half as many accesses per CPU-second, each of twice the length.
    slow = ClusterTrace(
        **columns
        | {
            "arrivals": 2 * trace.arrivals,
            "demands": 2 * trace.demands,
            "io_rates": trace.io_rates / 2,
            "fault_rates": trace.fault_rates / 2,
        }
    )
    disks = Node(access=16.0, disk_rate=20.0, fault=16.2)
    long = Cluster.of(8, disks, barrier=200.0, barrier_cost=2.0)
    later = simulate_cluster(long, slow, "NLB", tolerance=1e-9)
    assert later.finish == pytest.approx(2.0 * base.finish, rel=1e-7)
    assert later.slowdown == pytest.approx(base.slowdown, rel=1e-7)


@EVERY
def test_the_same_jobs_give_the_same_bits(name):
    one, other = (simulate_cluster(Cluster.of(8), drawn(), name) for _ in range(2))
    assert one.finish.tobytes() == other.finish.tobytes()


@EVERY
def test_the_tolerance_decides_nothing_that_is_seen(name):
    fine, usual = (
        simulate_cluster(Cluster.of(8), drawn(), name, tolerance=t) for t in (1e-9, engine.TOLERANCE)
    )
    assert usual.slowdown.mean() == pytest.approx(fine.slowdown.mean(), rel=1e-3)


def test_a_job_alone_takes_its_time_alone_and_its_barriers():
    trace = ClusterTrace(
        arrivals=[0.0, 1e3],
        homes=[0, 1],
        tasks=[1, 3],
        demands=[2.0, 2.0],
        memory=[64.0, 64.0],
        io_rates=[0.5, 0.5],
    )
    run = simulate_cluster(Cluster.of(4, access_dispersion=0.0), trace, "IOCM-PM")
    access = 8.0 + 256 / 40
    assert run.alone == pytest.approx([2 * (1 + 0.5 * access), 2 * (1 + 0.5 * access + 0.01)])
    assert run.slowdown == pytest.approx([1.0, 1.0], rel=1e-12)


def test_jobs_that_only_compute_share_the_processor():
    run = simulate_cluster(Cluster.of(1), alike(4, demands=[1.0, 2.0, 3.0, 4.0]), "NLB")
    assert run.finish == pytest.approx([4.0, 7.0, 9.0, 10.0], rel=1e-4)


def test_ten_times_the_memory_pages_with_nine_tenths_of_the_rate():
    trace = alike(1, memory=[6400.0], fault_rates=[2.0])
    run = simulate_cluster(Cluster.of(1), trace, "NLB")
    assert run.alone[0] == pytest.approx(1.0 + 2.0 * 0.9 * 8.1, rel=1e-12)
    assert run.slowdown[0] == pytest.approx(1.0, rel=1e-12)


# Costs: equations (1) to (4).


def costs(**columns):
    trace = alike(1, **columns)
    return engine._tables(Cluster.of(2), trace, 1e-4)


def test_the_costs_have_their_unit_values():
    s = costs(initial=[50.0])
    assert rules.remote_cost(s, 0, 0, 1) == pytest.approx(0.1 + 50 * (1 / 12.5 + 2 * 14.4 / 256))
    assert f"{rules.remote_cost(s, 0, 0, 1):.1f}" == "9.7"
    s = costs(initial=[0.0], memory=[64.0], io_rates=[1.0], writes=[0.25], reaccess=[4.0])
    written = 2000 * 1.0 * 0.25 * 0.256 / 5  # CPU-ms, per ms, share, MB, accessed 4 times again
    assert rules.preemption_cost(s, 0, 2.0, 0, 1) == pytest.approx(
        0.3 + 64 / 12.5 + written * (1 / 12.5 + 2 * 14.4 / 256)
    )


@given(data=st.floats(0.0, 1e3), more=st.floats(0.1, 1e3), faster=st.floats(1.1, 10.0))
def test_costs_grow_with_data_and_fall_with_bandwidth(data, more, faster):
    less, greater = costs(initial=[data]), costs(initial=[data + more])
    assert rules.remote_cost(less, 0, 0, 1) < rules.remote_cost(greater, 0, 0, 1)
    for age in (0.0, 10.0):
        assert rules.preemption_cost(less, 0, age, 0, 1) < (rules.preemption_cost(greater, 0, age, 0, 1))
    better = Cluster.of(2, Node(link=12.5 * faster))
    quick = engine._tables(better, alike(1, initial=[data + more]), 1e-4)
    assert rules.remote_cost(quick, 0, 0, 1) < rules.remote_cost(greater, 0, 0, 1)


def test_paging_is_bounded_and_begins_at_the_boundary():
    assert fluid.overload(640.0, 640.0) == 0.0
    assert fluid.overload(1280.0, 640.0) == 0.5
    assert fluid.overload(1e12, 640.0) < 1.0
    assert fluid.overload(0.0, 640.0) == 0.0


# Traces.


def test_synthetic_traces_are_what_the_specification_draws():
    traces = SyntheticTraces(jobs=20_000, io_rate=1.25)
    trace = traces.draw(rng=np.random.default_rng(5))
    assert trace.parallel.mean() == 0.3
    assert set(np.unique(trace.tasks)) == set(range(1, 33))
    assert (trace.io_rates == 0).mean() == 0.1
    assert trace.io_rates.max() <= 2.5
    busy = trace.io_rates[trace.io_rates > 0]
    assert abs(busy.mean() - 1.25) < 4 * 2.5 / math.sqrt(12 * busy.size)
    assert trace.memory.min() >= 4.0
    assert trace.memory.max() <= 512.0
    assert 0.1 <= trace.demands.min() < 0.101
    assert 80.0 < trace.demands.max() <= 100.0
    # At one access per CPU-ms the disks would be offered 0.75; the rate here is 1.25.
    work = traces.mean_tasks * traces.cpu.mean * 0.9 * 1250 * 0.0144
    assert traces.arrival_rate * work / 32 == pytest.approx(0.75 * 1.25)
    counts = np.bincount(trace.homes, minlength=32)
    law = np.arange(1, 33.0) ** -0.5
    assert np.sort(counts)[::-1] == pytest.approx(20_000 * law / law.sum(), rel=0.15)


def test_along_a_sweep_only_the_rate_changes():
    one, other = (drawn(io_rate=rate, jobs=400) for rate in (0.8, 1.6))
    for name in ("arrivals", "homes", "tasks", "demands", "memory", "initial"):
        assert np.array_equal(getattr(one, name), getattr(other, name))
    assert other.io_rates == pytest.approx(2.0 * one.io_rates)


def test_requests_of_a_job_average_like_a_gamma_law():
    short = SyntheticTraces(jobs=20_000, parallel=0.0, io_rate=0.01).draw(rng=np.random.default_rng(3))
    accesses = np.maximum(short.demands * short.io_rates * 1000, 1.0)
    z = (short.requests / 0.256 - 1.0) * np.sqrt(2.0 * accesses)  # standard, if shape 2 per access
    assert abs(z.mean()) < 4 / math.sqrt(z.size) + 0.02  # of the cube-root approximation
    assert z.std() == pytest.approx(1.0, abs=0.03)


def test_applications_have_the_specification_s_shares_of_io():
    trace = ApplicationTraces(application="LU").draw(rng=np.random.default_rng(1))
    share = trace.io_rates * 14.4 / (1 + trace.io_rates * 14.4)
    assert share.mean() == pytest.approx(0.80, abs=0.005)
    assert set(np.unique(trace.tasks)) == set(range(2, 9))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"tasks": [0, 1]}, r"tasks\[0\] must be a whole number >= 1, got 0"),
        ({"tasks": [1, 1.5]}, r"tasks\[1\] must be a whole number >= 1, got 1.5"),
        ({"demands": [1.0, 0.0]}, r"demands\[1\] must be > 0, got 0"),
        ({"memory": [1.0, -1.0]}, r"memory\[1\] must be >= 0, got -1"),
        ({"writes": [0.0, 1.5]}, r"writes\[1\] must be from 0 to 1, got 1.5"),
        ({"arrivals": [1.0, 0.0]}, "arrivals must not decrease.*sort"),
        ({"demands": [1.0]}, "demands has 1 entries, but there are 2 jobs"),
        ({"demands": [1.0, 1e300]}, r"demands\[1\] must be at most 1e\+12"),
        ({"io_rates": [0.0, math.nan]}, r"io_rates\[1\] is nan"),
    ],
)
def test_a_damaged_trace_is_refused_with_place_and_reason(columns, message):
    with pytest.raises(ModelError, match=message):
        alike(2, **columns)


def test_jobs_that_do_not_fit_are_refused_before_the_run():
    with pytest.raises(ModelError, match=r"tasks\[0\] is 3, but no two tasks .* there are 2"):
        simulate_cluster(Cluster.of(2), alike(1, tasks=[3]), "NLB")
    with pytest.raises(ModelError, match=r"homes\[0\] is 2, but nodes are numbered from 0 to 1"):
        simulate_cluster(Cluster.of(2), alike(1, homes=[2]), "NLB")


def test_a_run_that_would_not_fit_into_memory_is_refused(monkeypatch):
    monkeypatch.setattr(engine, "memory_limit", lambda: 1000.0)
    with pytest.raises(MemoryBudgetError, match="fewer jobs or nodes"):
        simulate_cluster(Cluster.of(2), alike(100), "NLB")


def test_too_much_work_is_said():
    heavy = simulate_cluster(Cluster.of(8), drawn(offered_disk=3.0), "NLB")
    assert any("no steady state" in text for text in heavy.warnings)
    light = drawn(offered_disk=0.05, page_faults=0.0)
    assert simulate_cluster(Cluster.of(8), light, "NLB").warnings == ()


@pytest.mark.slow
def test_a_thousand_nodes_and_a_hundred_thousand_jobs_take_minutes_and_little_memory():
    import resource
    import time

    traces = SyntheticTraces(jobs=100_000, nodes=1000, offered_disk=0.6)
    trace = traces.draw(rng=np.random.default_rng(1))
    began = time.process_time()
    run = simulate_cluster(Cluster.of(1000), trace, "IOCM-RE")
    assert time.process_time() - began < 600.0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 2_000_000  # KB
    keeps_the_laws(run, trace)
