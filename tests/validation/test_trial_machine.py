"""The trial's machine: known answers by hand, and what must hold on any mesh."""

import numpy as np
import pytest

from qmodels import DynamicPartitioning, SpaceSharing
from qmodels.errors import ModelError
from validation.allocation.mc import MC
from validation.mesh import Mesh
from validation.trial.bursts import alone, demand_of
from validation.trial.carriers import SharedDisks
from validation.trial.machine import play_cell
from validation.trial.scenario import Cell, JobPlan

SP = {"processor_partitions": 2, "disk_partitions": 1}


def cell(policy="SP", options=None, strategy="MC", **changes):
    given = {
        "rows": 4,
        "columns": 4,
        "policy": policy,
        "policy_options": options or SP,
        "strategy": strategy,
        "cpu_to_io": 2.0,
        "io_flits": 2048.0,
        "phases": 3,
    }
    return Cell.of(**given | changes)


POLICIES = [
    ("SP", {"processor_partitions": 4, "disk_partitions": 1}, {}),
    ("SP", {"processor_partitions": 4, "disk_partitions": 2}, {}),
    ("SP", {"processor_partitions": 2, "disk_partitions": 4}, {}),
    ("DP", {"disk_partitions": 1}, {"min_processors": 4}),
    ("DP", {"disk_partitions": 2}, {"min_processors": 2}),
    ("TS", {"processor_partitions": 2, "disk_partitions": 1}, {}),
    ("TS", {"processor_partitions": 2, "disk_partitions": 2, "multiprogramming": 3}, {}),
]


def some_jobs(count, gap, seed=1):
    rng = np.random.default_rng(seed)
    return rng.exponential(gap, count).cumsum(), rng.exponential(1.0, count)


def test_a_job_alone_takes_its_bursts_one_after_the_other():
    """By hand: one node, one disk, 10 flits and 100 cycles of computation, twice."""
    shape = JobPlan(phases=2, io_flits=10, cpu_cycles=100, packet=8)
    one = Cell.of(
        rows=1,
        columns=1,
        policy="SP",
        policy_options={"processor_partitions": 1, "disk_partitions": 1},
        strategy="MC",
        cpu_to_io=1.0,
        disk_pace=2.0,
    ).with_options(shape=shape)
    run = play_cell(one, np.array([0.0]), np.ones(1))
    # 8 flits: two hops and 7 flits, delivered in cycle 10, written by 26; 2 flits: 26 + 4, + 4.
    burst = (10 + 16) + (2 + 1 + 1 + 4)
    assert run.finish[0] == 2 * (burst + 100)
    assert run.bursts()["kind"].tolist() == ["I/O", "computation", "exchange"] * 2


def test_the_time_alone_is_that_of_the_bursts_alone():
    known = cell()
    run = play_cell(known, np.array([0.0]), np.ones(1), links="infinite")
    line = alone(known, 2, "infinite")
    assert run.finish[0] == pytest.approx(line.job(3), rel=0.02)


def test_a_readers_bursts_take_as_long_as_a_writers_on_infinite_links():
    """The same packets pass the same disks; only where they wait differs."""
    times = [alone(cell(io=kind), 2, "infinite").io.at(1.0) for kind in ("write", "read")]
    assert times[0] == pytest.approx(times[1], rel=0.1)


def test_jobs_of_two_partitions_do_not_meet_without_shared_links_and_disks():
    """K_D = K_P: on infinite links each job is alone, so X(k) is k times X(1)."""
    apart = cell(options={"processor_partitions": 2, "disk_partitions": 2})
    one = play_cell(apart, np.array([0.0]), np.ones(1), links="infinite")
    two = play_cell(apart, np.array([0.0, 0.0]), np.ones(2), links="infinite")
    assert two.finish == pytest.approx(one.finish[0], rel=0.01)


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize(("policy", "options", "more"), POLICIES)
@pytest.mark.parametrize("io", ["write", "read"])
def test_every_job_does_all_of_every_burst_once(policy, options, more, io):
    known = cell(policy, options, "Random", io=io, **more)
    arrivals, demands = some_jobs(25, 3000.0)
    run = play_cell(known, arrivals, demands, seed=2)
    assert np.isfinite(run.finish).all()
    frame = run.bursts()
    done = frame.groupby(["job", "phase", "kind"])["share"].sum()
    assert len(done) == 25 * 3 * 3
    assert done.to_numpy() == pytest.approx(1.0, abs=1e-9)
    assert (frame["end"] >= frame["begin"]).all()


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize(("policy", "options", "more"), POLICIES)
def test_no_more_jobs_run_than_may_and_none_waits_beside_a_free_place(policy, options, more):
    known = cell(policy, options, **more)
    arrivals, demands = some_jobs(30, 2000.0)
    run = play_cell(known, arrivals, demands)
    assert run.changes[:, 1].max() <= known.most_running
    order = np.argsort(run.start, kind="stable")
    assert order.tolist() == list(range(30))  # first come, first served
    for job in range(30):
        if run.start[job] > run.arrival[job]:
            before = run.changes[:, 0] < run.start[job]
            assert run.changes[before, 1][-1] >= known.most_running


@pytest.mark.thorough
@pytest.mark.parametrize(("policy", "options", "more"), POLICIES[:4])
def test_the_disks_are_busy_for_the_bytes_of_the_jobs(policy, options, more):
    known = cell(policy, options, **more)
    arrivals, demands = some_jobs(20, 4000.0)
    run = play_cell(known, arrivals, demands)
    bytes_in_all = 3 * known.shape.io_flits * demands.sum() * known.disk_pace
    # Each pair's share is rounded to whole flits, and so is each packet's time at the disk.
    assert run.disk_busy.sum() == pytest.approx(bytes_in_all, rel=0.03)


def test_one_job_of_a_partition_computes_at_a_time():
    known = cell("TS", {"processor_partitions": 1, "disk_partitions": 1, "multiprogramming": 3})
    run = play_cell(known, np.zeros(6), np.ones(6))
    frame = run.bursts()
    cpu = frame[frame["kind"] != "I/O"].sort_values("begin")
    assert (cpu["begin"].to_numpy()[1:] >= cpu["end"].to_numpy()[:-1]).all()
    io = frame[frame["kind"] == "I/O"].sort_values("begin")
    assert (io["begin"].to_numpy()[1:] < io["end"].to_numpy()[:-1]).any()


def test_under_dp_a_job_that_is_left_alone_gets_the_whole_machine():
    known = cell("DP", {"disk_partitions": 1}, min_processors=4)
    run = play_cell(known, np.array([0.0, 0.0]), np.array([0.2, 5.0]))
    alone_run = play_cell(known, np.array([0.0]), np.array([5.0]))
    half = cell("SP", {"processor_partitions": 2, "disk_partitions": 1})
    halved = play_cell(half, np.array([0.0, 0.0]), np.array([0.2, 5.0]))
    assert alone_run.finish[0] < run.finish[1] < halved.finish[1]


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("disks", ["packets", "ps"])
@pytest.mark.parametrize(("policy", "options", "more"), POLICIES[1:6:2])
def test_a_run_that_stops_early_has_done_what_the_whole_run_had_by_then(policy, options, more, disks):
    """The bursts under way count with what was done: the whole run's, as if each went evenly."""
    known = cell(policy, options, **more)
    arrivals, demands = some_jobs(12, 2000.0)
    whole = play_cell(known, arrivals, demands, disks=disks)
    stopped = play_cell(known, arrivals, demands, disks=disks, completions=5)
    begin, end, share = whole.pieces[:, 3:].T
    lasts = np.maximum(end - begin, 1.0)
    by_then = share * np.clip((stopped.end - begin) / lasts, 0.0, 1.0)
    under_way = (begin < stopped.end) & (end > stopped.end)
    assert under_way.any()
    # No burst goes quite evenly: a tenth of one, for each that is under way, is what that makes.
    assert stopped.pieces[:, 5].sum() == pytest.approx(by_then.sum(), abs=0.1 * under_way.sum())
    assert len(stopped.pieces) >= (end <= stopped.end).sum() + under_way.sum()


@pytest.mark.parametrize("disks", ["packets", "ps"])
@pytest.mark.parametrize(("policy", "options", "more"), POLICIES[1:6:2])
def test_a_run_that_waits_for_the_first_jobs_only_answers_for_them_as_the_whole_run_does(
    policy, options, more, disks
):
    known = cell(policy, options, **more)
    arrivals, demands = some_jobs(12, 2000.0)
    whole = play_cell(known, arrivals, demands, disks=disks)
    part = play_cell(known, arrivals, demands, disks=disks, awaited=5)
    assert part.response[:5].tolist() == whole.response[:5].tolist()
    assert part.end == whole.finish[:5].max() < whole.end


@pytest.mark.parametrize("flits", [8, 400])
def test_under_dp_a_burst_may_end_in_the_cycle_in_which_another_job_leaves(flits):
    """Two jobs alike, on halves alike, with nothing to share: both end as one does."""
    both = Cell(
        mesh=Mesh(4, 4, io_side="west"),
        policy=DynamicPartitioning(1),
        strategy=MC(),
        shape=JobPlan(phases=2, io_flits=0, cpu_cycles=4000, exchange_flits=56 * flits),
        min_processors=8,
    )
    apart = both.with_options(policy=SpaceSharing(2, 2))
    ends = play_cell(both, np.zeros(2), np.ones(2)).finish
    assert ends[0] == ends[1]
    assert ends == pytest.approx(play_cell(apart, np.zeros(2), np.ones(2)).finish, rel=0.01)


def test_io_nodes_are_spread_evenly_over_the_rows():
    spread = Cell.of(
        rows=8, columns=2, policy="SP", policy_options=SP, strategy="MC", cpu_to_io=1.0, io_nodes=2
    )
    rows = spread.mesh.router_coordinates[spread.mesh.routers_of[spread.mesh.io_nodes]][:, 1]
    assert rows.tolist() == [2, 6]
    assert spread.system.disks == 2
    with pytest.raises(ModelError, match="do not fit"):
        cell(io_nodes=5)


def test_dividing_that_takes_time_delays_everybody():
    from phasefit import PhaseType

    law = PhaseType.erlang(phases=400, mean=5000.0)
    known = cell("DP", {"disk_partitions": 1}, min_processors=4)
    slow = cell("DP", {"disk_partitions": 1, "overhead": law}, min_processors=4)
    arrivals, demands = np.array([0.0, 30_000.0]), np.array([2.0, 2.0])
    plain, paused = (play_cell(c, arrivals, demands) for c in (known, slow))
    extra = paused.finish - plain.finish
    assert (extra > 5000.0).all()
    assert (extra < 25_000.0).all()


def test_private_links_leave_nothing_between_jobs_but_the_disks():
    """K_D = K_P and a copy of the links each: two jobs are as fast as one, wherever they are."""
    apart = cell(options={"processor_partitions": 2, "disk_partitions": 2}, strategy="Random")
    one = play_cell(apart, np.array([0.0]), np.ones(1), links="private", seed=4)
    two = play_cell(apart, np.array([0.0, 0.0]), np.ones(2), links="private", seed=4)
    assert two.finish[0] == pytest.approx(one.finish[0], rel=0.02)


@pytest.mark.thorough
def test_more_is_slower_stage_by_stage():
    known = cell(options={"processor_partitions": 4, "disk_partitions": 1}, cpu_to_io=0.5)
    arrivals, demands = some_jobs(60, 6000.0)
    means = [
        play_cell(known, arrivals, demands, links=links).response.mean()
        for links in ("infinite", "private", "shared")
    ]
    assert means == sorted(means)


@pytest.mark.parametrize("disk", ["buffer", "ejection"])
def test_a_run_can_be_repeated(disk):
    known = cell(strategy="Random", disk=disk)
    arrivals, demands = some_jobs(15, 3000.0)
    first, again, other = (play_cell(known, arrivals, demands, seed=seed).finish for seed in (1, 1, 2))
    assert first.tolist() == again.tolist() != other.tolist()


@pytest.mark.thorough
def test_a_slow_ejection_channel_backs_up_into_the_links():
    arrivals, demands = some_jobs(40, 6000.0)
    options = {"processor_partitions": 4, "disk_partitions": 1}
    buffer, ejection = (
        play_cell(cell(options=options, cpu_to_io=0.5, disk=disk), arrivals, demands)
        for disk in ("buffer", "ejection")
    )
    assert ejection.response.mean() > buffer.response.mean()


def test_a_job_too_small_to_move_a_flit_still_ends():
    run = play_cell(cell(), np.zeros(2), np.array([1e-6, 1.0]))
    assert run.finish[0] < 100 < run.finish[1]


def test_bursts_alone_grow_in_a_straight_line():
    known = cell(io_flits=32_768.0)
    line = alone(known, 2)
    demands = np.array([0.25, 1.0, 4.0])
    times = [play_cell(known, np.zeros(1), np.array([d])).finish[0] for d in demands]
    assert [line.job(3, d) for d in demands] == pytest.approx(times, rel=0.06)


def test_a_fixed_part_makes_jobs_vary_less_than_their_factor():
    known = cell(demand_scv=4.0)
    law = demand_of(known, alone(known, 2))
    assert law.mean == pytest.approx(1.0)
    assert 3.0 < law.scv <= 4.0


def test_shared_disks_serve_in_equal_shares():
    """By hand: 10 alone from 0, 4 from 2; together at half speed the second ends at 10."""
    disks = SharedDisks(1)
    disks.start(1, 0, 10.0, 0.0)
    disks.start(2, 0, 4.0, 2.0)
    assert disks.next_end() == (10.0, 0, 2)
    disks.stop(2, 0, 10.0)
    assert disks.next_end() == (14.0, 0, 1)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"options": {"processor_partitions": 3, "disk_partitions": 1}}, "equal sizes"),
        ({"options": {"processor_partitions": 2, "disk_partitions": 3}}, "equal sizes"),
        ({"disk": "fast"}, "disk"),
        ({"strategy": "none"}, "strategy"),
        ({"policy": "XX"}, "policy"),
        ({"phases": 0}, "phases"),
        ({"io": "both"}, "io"),
        ({"demand_scv": 0.0}, "scv|SCV|moment"),
    ],
)
def test_what_is_no_cell_is_refused(changes, word):
    with pytest.raises(ModelError, match=word):
        cell(**changes)


def test_a_cell_needs_io_nodes():
    with pytest.raises(ModelError, match="I/O nodes"):
        cell().with_options(mesh=Mesh(4, 4))


def test_unknown_links_and_disks_are_refused():
    for options in ({"links": "none"}, {"disks": "none"}):
        with pytest.raises(ModelError):
            play_cell(cell(), np.zeros(1), np.ones(1), **options)
