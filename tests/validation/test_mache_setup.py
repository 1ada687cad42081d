"""The set-up of Mache, Lo and Garg: M-17 to M-21 and M-29, and why orders differ."""

from dataclasses import replace

import numpy as np
import pytest

from qmodels.errors import ModelError
from qmodels.io import write_swf
from tests.families import PLANE
from validation.allocation import STRATEGIES as ALL
from validation.analysis.seeding import stream
from validation.jobs import JobStream, LogStreams, SurrogateStreams
from validation.machine import Machine, MixedTraffic, compare_strategies, play
from validation.mesh import Mesh, Network, Traffic, TrafficPhase
from validation.mesh.traffic import count_messages, expand
from validation.papers import RunOptions
from validation.papers.mache import campaign as campaign_module
from validation.papers.mache import sdsc
from validation.papers.mache.campaign import Plan, campaign, change
from validation.papers.mache.setup import (
    COLUMNS,
    ROWS,
    STRATEGIES,
    Choices,
    Shared,
    machine,
    synthetic,
)

QUICK = RunOptions(seed=1, quick=True)


# What is run: M-17 to M-21


def test_the_machine_is_the_batch_partition_with_sixteen_io_nodes_in_the_west():
    at = machine(0.4, Choices())
    assert (at.mesh.rows, at.mesh.columns, at.mesh.nodes) == (16, 22, 352)
    assert (at.mesh.io_side, at.mesh.io_nodes.size) == ("west", 16)
    assert at.label == "MC-Elongated, FCFS, worm"
    assert set(STRATEGIES) <= set(ALL)


def test_the_synthetic_jobs_are_a_thousand_with_exponential_sizes_and_gaps():
    drawn = [synthetic(500.0).draw(rng=stream(7, r)) for r in range(50)]
    sizes = np.concatenate([jobs.sizes for jobs in drawn])
    gaps = np.concatenate([np.diff(jobs.arrivals) for jobs in drawn])
    q = np.exp(-1 / 16)
    assert {jobs.jobs for jobs in drawn} == {1000}
    assert (sizes.min(), sizes.max() <= 352) == (1, True)
    assert abs(sizes.mean() - 1 / (1 - q)) < 4 * q**0.5 / (1 - q) / sizes.size**0.5
    assert abs(gaps.mean() - 500.0) < 4 * 500.0 / gaps.size**0.5
    assert abs(np.mean(gaps > 500.0) - np.exp(-1)) < 4 * 0.5 / gaps.size**0.5


def test_without_the_log_jobs_with_the_papers_moments_stand_in(monkeypatch, tmp_path):
    for folder in (None, str(tmp_path)):
        monkeypatch.delenv(sdsc.VARIABLE, raising=False)
        if folder:
            monkeypatch.setenv(sdsc.VARIABLE, folder)
        streams, source = sdsc.paragon()
        assert source == "surrogate"
        assert isinstance(streams, SurrogateStreams)
        assert (streams.jobs, streams.largest) == (6087, 352)
        assert (streams.mean_size, streams.cv_size, streams.cv_interarrival) == (14.5, 1.5, 3.7)


def test_with_the_log_its_jobs_are_replayed_in_their_order(monkeypatch, shared_data):
    monkeypatch.setenv(sdsc.VARIABLE, str(shared_data))
    streams, source = sdsc.paragon()
    assert source == "log"
    assert isinstance(streams, LogStreams)
    jobs = replace(streams, mean_interarrival=100.0).draw(rng=stream(1))
    # 4,787 of the paper's 6,087 jobs: larger and less varied than its 14.5 and 1.5.
    assert jobs.jobs == 4787
    assert jobs.sizes.mean() == pytest.approx(18.2, abs=0.05)
    assert jobs.sizes.std() / jobs.sizes.mean() == pytest.approx(1.26, abs=0.01)
    assert np.diff(jobs.arrivals).mean() == pytest.approx(100.0, rel=1e-9)


@pytest.mark.parametrize("size", [2, 7, 16, 100, 256])
@pytest.mark.parametrize("quota", ["job", "node"])
def test_a_job_sends_the_quota_and_the_ratio_of_it_is_io(size, quota):
    mesh = Mesh(ROWS, COLUMNS, io_side="west")
    each = 16 if quota == "node" else max(1, round(256 / size))
    sent = 0
    for share in (0.0, 0.2, 0.6, 1.0):
        traffic = Shared(share, Choices(quota=quota)).of(mesh, size, 1.0)
        found = expand(mesh, np.arange(size), traffic, seed=4)
        assert found.source.size == size * each == count_messages(traffic, size, 16)
        assert set(found.flits.tolist()) == {5}
        io = np.isin(found.target, mesh.routers_of[mesh.io_nodes]).mean()
        spread = (share * (1 - share) / found.source.size) ** 0.5
        assert abs(io - share) <= 4 * spread
        sent += found.source.size
    assert sent == 4 * size * each


def test_io_is_complete_bipartite_and_communication_all_to_all():
    mesh = Mesh(ROWS, COLUMNS, io_side="west")
    nodes = np.arange(16)
    io = expand(mesh, nodes, Shared(1.0, Choices()).of(mesh, 16, 1.0))
    pairs = set(zip(io.source.tolist(), io.target.tolist(), strict=True))
    assert len(pairs) == io.source.size == 16 * 16
    talk = expand(mesh, nodes, Shared(0.0, Choices()).of(mesh, 16, 1.0))
    pairs = set(zip(talk.source.tolist(), talk.target.tolist(), strict=True))
    assert len(pairs) == 16 * 15
    assert all(a != b for a, b in pairs)


def test_a_job_of_one_node_has_nobody_to_communicate_with():
    mesh = Mesh(ROWS, COLUMNS, io_side="west")
    for share, messages in ((0.0, 0), (0.2, 51), (1.0, 256)):
        traffic = Shared(share, Choices()).of(mesh, 1, 1.0)
        assert count_messages(traffic, 1, 16) == messages
    lone = machine(0.0, Choices())
    run = play(lone, JobStream(arrivals=[3.0, 3.0], sizes=[1, 2]))
    assert run.start[0] == run.finish[0] == 3.0
    assert run.finish[1] > 3.0


@pytest.mark.thorough
def test_the_interarrival_time_is_found_that_gives_the_utilisation():
    plan = Plan(
        io_share=0.4,
        streams=synthetic(1.0, 120),
        targets=(0.2, 0.5),
        choices=Choices(),
        seed=2,
        replications=2,
        trials=2,
        tried=("PLAS",),
        tolerance=0.02,
    )
    light, heavy = campaign([plan], QUICK, what="x")
    assert light.trial == pytest.approx(0.2, abs=0.02)
    assert heavy.trial == pytest.approx(0.5, abs=0.02)
    assert light.interarrival > heavy.interarrival
    for found in (light, heavy):
        for name in ("service", "turnaround", "throughput", "utilisation"):
            assert found.mean_of("PLAS", name) > 0
    # The runs of record have jobs of their own.
    assert light.mean_of("PLAS", "utilisation") != light.trial
    assert change(light, heavy, "PLAS", "utilisation").mean > 0.1


@pytest.mark.thorough
def test_a_fine_search_follows_a_rough_one_where_there_are_many_trials(monkeypatch):
    looked = {}
    seen = campaign_module.one_run

    def watched(machine, streams, *, seed, replication):
        looked.setdefault(streams.mean_interarrival, []).append(replication)
        return seen(machine, streams, seed=seed, replication=replication)

    monkeypatch.setattr(campaign_module, "one_run", watched)
    plan = Plan(
        io_share=1.0,
        streams=synthetic(1.0, 30),
        targets=(0.3,),
        choices=Choices(),
        seed=2,
        replications=1,
        trials=9,
        tried=("PLAS",),
        tolerance=0.02,
    )
    [found] = campaign([plan], QUICK, what="x")
    rough = [gap for gap, runs in looked.items() if runs[:4] == [0, 1, 2, 3]]
    fine = [gap for gap, runs in looked.items() if runs == list(range(9))]
    assert set(map(len, looked.values())) == {4, 9}
    assert len(rough) >= 2
    # The rough search ends where the fine one begins: what was run there is not run again.
    assert fine[0] in rough
    assert found.interarrival in fine
    assert found.trial == pytest.approx(0.3, abs=0.02)


@pytest.mark.thorough
@pytest.mark.parametrize("trials", [2, 3])
def test_the_utilisation_of_the_trials_is_that_of_a_comparison_on_the_same_jobs(trials):
    tried = ("PLAS", "Random")
    plan = Plan(
        io_share=0.4,
        streams=synthetic(1.0, 30),
        targets=(0.3,),
        choices=Choices(),
        seed=2,
        replications=1,
        trials=trials,
        tried=tried,
        tolerance=0.2,
    )
    [found] = campaign([plan], QUICK, what="x")
    compared = compare_strategies(
        machine(0.4, Choices()),
        tried,
        synthetic(found.interarrival, 30),
        replications=trials,
        seed=int(stream(2, 1).integers(1 << 48)),
    )
    uses = [run["utilisation"].mean for run in compared.runs.values()]
    assert found.trial == pytest.approx(np.mean(uses), rel=1e-12)


def test_the_same_can_be_played_with_fluids():
    plan = Plan(
        io_share=0.4,
        streams=synthetic(1.0, 40),
        targets=(0.3,),
        choices=Choices(network="fluid"),
        seed=2,
        replications=1,
        trials=1,
        tried=("PLAS",),
        tolerance=0.1,
    )
    [found] = campaign([plan], QUICK, what="x")
    assert found.runs.runs["PLAS"].label == "PLAS, FCFS, fluid"
    assert found.mean_of("PLAS", "completed") == 40


@pytest.mark.thorough
def test_the_trials_of_a_seed_are_the_same_again():
    plan = Plan(
        io_share=1.0,
        streams=synthetic(1.0, 60),
        targets=(0.3,),
        choices=Choices(),
        seed=5,
        replications=1,
        trials=1,
        tried=("PLAS",),
        tolerance=0.05,
    )
    once, again = (campaign([plan], QUICK, what="x")[0] for _ in range(2))
    other = campaign([replace(plan, seed=6)], QUICK, what="x")[0]
    assert once.interarrival == again.interarrival != other.interarrival
    assert once.mean_of("MBS", "service") == again.mean_of("MBS", "service")


# Why our orders differ from the paper's where they do


def finished(nodes_of_jobs, pattern):
    """When each of some jobs that start together has ended, and their messages."""
    network = Network(Mesh(ROWS, COLUMNS, io_side="west"), record=True)
    plan = Traffic.of(TrafficPhase(pattern=pattern, flits=5))
    for job, nodes in enumerate(nodes_of_jobs):
        network.start(job, nodes, plan)
    ends = {}
    while network.jobs:
        ends |= {done.job: done.finish for done in network.advance()}
    return np.array([ends[job] for job in sorted(ends)]), network.messages()


def test_on_a_saturated_io_line_outer_rows_end_last_and_so_do_jobs_that_reach_into_them():
    grid = np.arange(ROWS * COLUMNS).reshape(ROWS, COLUMNS)
    blocks = [grid[4 * i : 4 * i + 4, 4 * j : 4 * j + 4] for j in range(5) for i in range(4)]
    in_columns, sent = finished([grid[:, c] for c in range(20)], "write")
    in_blocks, _ = finished([block.ravel() for block in blocks], "write")
    mesh = Mesh(ROWS, COLUMNS, io_side="west")
    row = np.searchsorted(np.sort(mesh.routers_of[: mesh.nodes]), sent.source) // COLUMNS
    last = sent.delivered.groupby(row).max()
    assert last[0] > 2 * last[7]
    assert last[15] > 2 * last[8]
    # The line is as busy, yet the mean job is slower: each column has a node in every row.
    assert in_columns.max() == pytest.approx(in_blocks.max(), rel=0.03)
    assert in_columns.mean() > 1.15 * in_blocks.mean()
    # A job alone is faster in a column than in a block, wherever that is.
    alone = [finished([nodes.ravel()], "write")[0][0] for nodes in (grid[:, 0], *blocks[:4])]
    assert alone[0] < 0.8 * min(alone[1:])


def test_all_to_all_takes_four_times_as_long_in_a_column_as_in_a_block():
    """Sixteen nodes send 64 messages across the middle, over one link or over four."""
    grid = np.arange(ROWS * COLUMNS).reshape(ROWS, COLUMNS)
    column = finished([grid[:, 0]], "all-to-all")[0][0]
    block = finished([grid[:4, :4].ravel()], "all-to-all")[0][0]
    assert column >= 64 * 5
    assert 3.0 < column / block < 5.0


# M-29: higher dimensions and tori


@pytest.mark.parametrize("name", ALL)
def test_a_two_dimensional_strategy_runs_on_a_torus_and_refuses_three_dimensions(name):
    """The paper says that extension is straightforward; ours takes a torus for a mesh."""
    jobs = JobStream(arrivals=[0.0, 5.0, 9.0], sizes=[4, 6, 8])
    traffic = MixedTraffic(0.0)
    chosen = {}
    for torus in (False, True):
        at = Machine(mesh=Mesh(8, 8, torus=torus), strategy=name, traffic=traffic)
        run = play(at, jobs)
        assert run.completed.all()
        chosen[torus] = [nodes.tolist() for nodes in run.nodes]
    if name != "Random":
        assert chosen[True][0] == chosen[False][0]
    layered = Machine(mesh=Mesh(4, 4, 4), strategy=name, traffic=traffic)
    if name not in PLANE:
        assert play(layered, jobs).completed.all()
        return
    with pytest.raises(ModelError, match="works on 2-D meshes"):
        play(layered, jobs)


def test_a_log_of_the_papers_name_is_replayed_whatever_it_holds(monkeypatch, tmp_path):
    """Five made jobs, one larger than the mesh, in the order of the log and sped up as asked."""
    file = tmp_path / sdsc.FILE
    file.parent.mkdir()
    sizes = [16, 1, 400, 352, 2]
    jobs = {"submit": [0, 30, 90, 300, 400], "run": [5, 6, 7, 8, 9], "processors": sizes}
    write_swf(file, jobs, header={"MaxProcs": 400})
    monkeypatch.setenv(sdsc.VARIABLE, str(tmp_path))
    streams, source = sdsc.paragon()
    assert source == "log"
    assert isinstance(streams, LogStreams)
    drawn = replace(streams, mean_interarrival=10.0).draw(rng=stream(1))
    assert drawn.sizes.tolist() == [16, 1, 352, 352, 2]
    assert drawn.arrivals == pytest.approx([0.0, 3.0, 9.0, 30.0, 40.0], rel=1e-12)
