"""A small one of every public record, as cheap as it can be made, for tests that walk them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import phasefit
import qmodels
import validation
from phasefit import MAP, MarkedMAP, PhaseType
from phasefit.arrival_fitting import MapFit, Target
from phasefit.em.result import EMResult
from qmodels import Burst, Phase, Program, SpaceSharing, System, Workload, WorkloadMix
from qmodels.checkpoints import Checkpointing, Storage

ONE = PhaseType.exponential(mean=1.0)
TWO = PhaseType.erlang(phases=2, mean=2.0)
PROGRAM = Program([Phase(io=Burst(4.0, sequential=0.5, law="min(d, p/4)"), cpu=12.0)], name="a<b>")
MACHINE = System(processors=4, disks=2)
WORK = Workload(PROGRAM)
SCENARIO = """
title = "small"
[machine]
processors = 8
disks = 2
min_processors = 4
[[program]]
name = "job"
io = {total = 8.0, law = "d"}
cpu = {total = 80.0, law = "p"}
[arrivals]
scv = 1.0
[[policy]]
kind = "SP"
processor_partitions = [1, 2]
disk_partitions = 1
[study]
loads = [0.2, 0.4]
"""


def laws() -> Iterator[Any]:
    """Of `phasefit`."""
    times = TWO.rvs(60, random_state=1)
    report = phasefit.fit(times, order=2, rng=1)
    tides = MAP.modulated([[-0.1, 0.1], [0.1, -0.1]], rates=[1.8, 0.2])
    yield from (ONE, TWO, tides, MarkedMAP.separate([tides, TWO]))
    yield phasefit.Extreme([ONE, TWO], largest=True)
    yield report
    yield report.distribution.fitted_to
    yield report.candidates[0]
    yield phasefit.Observations.of([2.0, 5.0], censored=[False, True])
    yield MapFit(MAP.from_phase_type(TWO), "renewal", 60, (Target("mean", 2.0, 2.0, True),))
    yield EMResult(TWO, -1.0, (-2.0, -1.0), 2, True, 1, "Erlang", 0.0)


def programs() -> Iterator[Any]:
    """Of `qmodels.programs`."""
    from qmodels import programs as p
    from qmodels.io import RunTable
    from qmodels.io.traced_runs import RunChoices
    from qmodels.programs.bursts.checkpoints import FoundCheckpoints
    from qmodels.programs.comparison import compare_runs

    mix = WorkloadMix([PROGRAM, Program([Phase(1.0, 2.0)])])
    yield from (PROGRAM, mix, PROGRAM.phases[0], PROGRAM.phases[0].io, PROGRAM.working_sets[0])
    yield from (PROGRAM.signature(), p.Geometric(3.0), p.RandomLaw("p/(1+C*(p-1))", [0.0, 1.0]))
    surface = p.speedup_surface(PROGRAM, [1, 2, 4], [1, 2])
    yield surface
    yield p.best_allotment(surface, budget=6.0)
    yield p.allotment_path(surface, [2.0, 6.0])
    yield p.marginal_value(PROGRAM, 2, 1)
    yield p.profile("QCRD-2")
    rows = [
        ("solver", 1, kind, n, d, t / n + 0.1 * d + 0.01 * repeat, repeat)
        for kind, t in (("io", 32.0), ("cpu", 96.0))
        for n in (1, 2, 4, 8)
        for d in (1, 2)
        for repeat in (1, 2)
    ]
    table = RunTable(pd.DataFrame(rows, columns=["program", "phase", "kind", "p", "d", "seconds", "repeat"]))
    yield table
    fitted = p.fit_runs(table, draws=100)["solver"]
    yield from (fitted, fitted.components[0], fitted.predict([1, 16], [1, 4]))
    yield fitted.next_run([(16, 1), (16, 4)], targets=(32, 4))
    compared = compare_runs(table, table)
    limit = p.Limit.parse("slowdown > 5% with 95%")
    yield from (compared, compared.changes[0], limit, compared.judge(limit)[0])
    trace = p.Trace(
        [0, 1, 0, 1],
        [1.0, 1.0, 5.0, 5.0],
        [2.0, 2.5, 6.0, 6.5],
        ["write"] * 4,
        processes=2,
        duration=8.0,
        bytes=[100] * 4,
    )
    bursts = p.find_bursts(trace, 1.0)
    phases = p.find_phases(bursts)
    sets = p.find_working_sets(phases)
    yield from (trace, bursts, phases, sets, p.gap_sensitivity(trace, [0.5, 5.0]))
    yield p.to_program(trace, 1.0, disks=1)
    yield p.IOTotals([0], [1.0], [0.5], [0.25], [10], [5], [0.0], [3.0])
    yield p.StorageTargets([3, 5], [100, 50])
    yield p.RunOrigin("solver")
    yield p.CommonPhases(np.ones((2, 1)), np.ones((2, 1)), ())
    at = np.array([1.0, 5.0])
    yield FoundCheckpoints(at, at + 1.0, np.array([100, 100]), 3.0, 100.0, 1.0, 0, ())
    yield RunChoices()


def networks() -> Iterator[Any]:
    """Of `qmodels.markov` and `qmodels.networks`."""
    from qmodels import markov, networks

    rates = np.array([[0.0, 1.0], [2.0, 0.0]])
    block = np.ones((1, 1))
    yield markov.solve_chain(rates)
    yield markov.transient(rates, [1.0, 0.0], [0.0, 1.0])
    yield markov.solve_absorption(np.array([[0.0, 1.0], [0.0, 0.0]]), [1])
    yield markov.solve_block_tridiagonal([block], [0 * block, 0 * block], [block])
    chain = markov.QBD(up=[0.5 * block], local=[0 * block], down=[block])
    yield from (chain, markov.solve_qbd(chain))
    queue = networks.ManyServerQueue(TWO, ONE, servers=2)
    yield from (queue, queue.solve())
    fitted = networks.ManyServerQueue(TWO.with_data(TWO.rvs(60, 1)), ONE, servers=2)
    yield fitted.solve().fit_error()
    closed = networks.ClosedNetwork(3, TWO, ONE)
    solved = closed.solve()
    yield from (closed, solved, solved.sojourn, networks.flow_equivalent(solved.sojourn))
    kind = networks.JobClass(2, TWO, ONE, "one")
    several = networks.MultiClassNetwork([kind, networks.JobClass(1, ONE, ONE)])
    yield from (kind, several, several.solve())
    passage = networks.CustomerClass({"a<b>": 1.0}, population=2, think=3.0)
    general = networks.QueueingNetwork([networks.Station("a<b>")], [passage])
    yield from (passage, general, general.stations[0], general.solve(), general.bounds())
    from qmodels import queues

    urgent = queues.PriorityClass(0.25, ONE, "a<b>")
    yield from (urgent, queues.PriorityQueue([urgent]), queues.Queue("M/M/2", 1.0, 1.0))
    yield queues.BreakdownQueue(TWO, ONE.scale(0.2), 0.1, ONE)
    plain = networks.ManyServerQueue(TWO, ONE, servers=1)
    yield from (queues.queue_at(plain, [0.0, 1.0]), queues.drain_time(plain, 3))
    yield queues.CyclicQueue([0.5, 0.0], [2.0, 2.0], ONE)


def policies() -> Iterator[Any]:
    """Of `qmodels.policies` and `qmodels.checkpoints`."""
    from qmodels.checkpoints.presets import SYSTEMS
    from qmodels.policies import DynamicPartitioning, SpeedTable, TimeSharing, best_policies
    from qmodels.policies.choice.overload import overload

    yield from (MACHINE, WORK, SpaceSharing(2, 1), DynamicPartitioning(1), TimeSharing(2, 1))
    yield SpaceSharing(2, 1).arrangement(MACHINE)
    yield SpaceSharing(2, 1).running(MACHINE, PROGRAM)
    found = qmodels.predict(SpaceSharing(2, 1), MACHINE, WORK, load=0.4)
    yield from (found, found.response, found.sensitivities, found.sensitivities.rows[0], found.backlog(6))
    ranked = qmodels.recommend(
        MACHINE, WORK, load=0.4, candidates=["SP(1,1)", "SP(2,1)"], constraint="p95_s < 100"
    )
    yield from (ranked, ranked.rows[0], ranked.objective, ranked.constraints[0])
    yield overload(MACHINE, WORK, arrival_rate=9.0, policies=[SpaceSharing(2, 1)])
    yield best_policies(MACHINE, WORK, loads=[0.3], scvs=[1.0], candidates=["SP(1,1)", "SP(2,1)"])
    yield SpeedTable([0.1, 0.18], np.diag([1e-6, 4e-6]), 9, "own machine")
    job, storage = Checkpointing(1.0, interval=10.0, mtbf=100.0), Storage(1.0)
    yield from (job, storage, qmodels.predict_checkpoints(job, storage, jobs=2))
    yield qmodels.best_interval(job, storage)
    yield qmodels.checkpoints.waste_bound([(job, 2.0)], storage, nodes=2.0, mtbf=100.0)
    yield SYSTEMS["llama3"]


def storages() -> Iterator[Any]:
    """Of `qmodels.storage`."""
    from qmodels import storage as s
    from qmodels.storage.come_and_go import come_and_go
    from validation.storage import Neighbours, simulate_start

    stage = s.StageCurve("a<b>", 4.0, io_share=0.5, streams=2.0)
    runs = s.SharedRuns({stage.name: {n: [stage.time(n)] * 2 for n in (1, 4)}})
    found = s.forecast_sharing(runs, [1, 8])
    yield from (stage, runs, found, found.learnt[0], s.next_run(found, 8), s.batches(found, 8)[0])
    yield from (s.closed_sharing([stage], 2), s.exact_start([stage], 2), come_and_go(found, programs=2))
    law = s.learn_production(np.linspace(1.0, 2.0, 40), ["w"] * 40, {"load": np.linspace(0.0, 1.0, 40)})
    yield from (law, law.groups["w"], Neighbours(0.5, on=1.0, off=2.0))
    yield simulate_start([stage], 2, bursts=1, replications=2)


def files(folder: Path) -> Iterator[Any]:
    """Of `qmodels.io`."""
    from qmodels.io import JobLog, load_scenario

    source = folder / "site.toml"
    source.write_text(SCENARIO)
    plan = load_scenario(source)
    yield plan
    yield JobLog("made", {"submit": [0, 60, 180], "run": [30, 20, 40], "processors": [4, 8, 2]})
    yield validation.what_if(plan, {"disks": [1, 2]}, {"disks": 2.0})


def simulations() -> Iterator[Any]:
    """Of the simulators of SP, DP and TS, of the mesh and the machine on it."""
    from validation.analysis import Alternatives, Quantity, Replications
    from validation.jobs import PoissonStreams
    from validation.jobs.renewal import DependentJobs
    from validation.machine import compare_strategies
    from validation.mesh import Completion, LoadPoint, Router, Traffic, TrafficPhase, contend
    from validation.mesh.link_load import link_load
    from validation.queues import simulate_queue
    from validation.trial.agreement import Cause, Measured
    from validation.trial.size_shares import SizeShares

    few = {"replications": 2, "jobs": 40, "seed": 1}
    yield simulate_queue(ONE.scale(2.0), ONE, jobs=40, replications=2)
    yield validation.simulate("SP(2,1)", MACHINE, WORK, load=0.4, **few)
    agreed = validation.crossvalidate("SP(2,1)", MACHINE, WORK, load=0.4, **few)
    yield from (agreed, Measured(agreed.simulation.mean_response), SizeShares([0.0, 0.3], 0.1))
    yield Cause("links", agreed.simulation.mean_response)
    both = validation.simulate_candidates(
        [SpaceSharing(1, 1), SpaceSharing(2, 1)], MACHINE, WORK, load=0.4, **few
    )
    alone = {name: Replications(values={"wait": (1.0, 1.5)}) for name in ("a", "b")}
    yield from (alone["a"], Alternatives(alone, {"wait": Quantity("s")}))
    yield from (both, both.estimate(both.best()), both.compare(*both.runs))
    mesh = validation.Mesh(4, 4)
    phase = TrafficPhase(pattern="ring", flits=4)
    jobs = {"a": ([0, 1, 2], Traffic((phase,)))}
    run = contend(mesh, jobs)
    yield from (mesh, Router(), phase, Traffic((phase,)), run, run.completions[0])
    yield from (
        link_load(mesh, jobs),
        LoadPoint(offered=0.1, accepted=0.1, mean_latency=9.0, mean_network_latency=8.0, messages=5),
    )
    assert isinstance(run.completions[0], Completion)
    machine = validation.Machine(mesh=mesh, strategy="FF", network="none")
    streams = PoissonStreams(mean_interarrival=2.0, jobs=12, mean_size=3.0, largest=8, demand=ONE)
    found = compare_strategies(machine, ["FF", "BF"], streams, replications=2, seed=1, workers=1)
    first = next(iter(found.runs.values()))
    yield from (machine, streams, found, first, first.first)
    yield validation.BoundedPareto(1.0, 10.0, 1.5)
    yield from (validation.RenewalJobs(ONE, TWO), validation.ReplayedJobs([1.0, 2.0], [1.0, 3.0]))
    yield DependentJobs(MAP.from_phase_type(TWO), ONE)


def pods() -> Iterator[Any]:
    """Of slices, clusters and checkpoints."""
    from validation.cluster import Cluster, SyntheticTraces, compare_balancers
    from validation.slices.study import compare_slices

    pod = validation.Pod((2, 1, 1))
    mix = validation.SliceMix.of("1x1x1, 2x1x1", pod)
    yield from (
        pod,
        mix,
        validation.slice_losses(pod, mix, 0.5),
        validation.slice_queue(pod, mix, 0.3),
    )
    yield validation.slice_availability(pod, 1)
    study = compare_slices(
        pod, mix, 0.4, strategies=["TFF"], disciplines=["FCFS"], count=100, replications=2, workers=1
    )
    yield from (study, study.ways[0], study.ways[0].loaded, study.ways[0].loaded.shapes[0])
    job = Checkpointing(1.0, interval=10.0, mtbf=100.0)
    played = validation.simulate_checkpoints(job, Storage(1.0), 2, intervals=60, replications=2)
    yield from (played, played.classes[0])
    traces = SyntheticTraces(jobs=20, nodes=4, parallel=0.0)
    found = compare_balancers(Cluster.of(4), traces, ["NLB"], replications=2, seed=1, workers=1)
    yield from (traces, Cluster.of(4), Cluster.of(4).nodes[0], found, found.runs["NLB"])


def sites() -> Iterator[Any]:
    """Of rigid jobs and of a site that runs them."""
    from qmodels.io import JobLog
    from qmodels.rigid import RigidMix, rigid_waits, saturate
    from validation import rigid
    from validation.rigid.changes import ChangedWaits, SiteChange
    from validation.rigid.months import site_log
    from validation.rigid.site import MonthlyFit, NextMonth, SaturatedSite, read_site

    mix = RigidMix.of(4, (1, 4), (0.5, 0.5), (2.0, 1.5))
    jobs = rigid.RigidJobs([0, 1], [3, 4], [10, 5])
    yield from (mix, mix.classes[0], saturate(mix), rigid_waits(mix, load=0.8), jobs)
    groups = [rigid.NodeGroup(1, 4)]
    yield from (groups[0], rigid.Drain(0.0, 1.0, 1), rigid.RigidMachine(groups), rigid.Weights())
    yield from (rigid.simulate_rigid(jobs, 4), rigid.simulate_saturated(mix, jobs=200))
    columns = {"submit": np.arange(240) * 10_800.0, "wait": [60.0] * 240, "run": [90.0] * 240}
    log = site_log(JobLog("made", columns | {"processors": [1] * 240}), processors=4)
    yield from (log, read_site(log, resamples=5), SaturatedSite("EASY", 0.9, 0.01), NextMonth(9.0, 1.5, 3))
    yield rigid.wait_curve(mix, jobs=200, loads=(0.5, 0.6), replications=2)
    yield SiteChange.of("load=+10%, depth=3")
    yield ChangedWaits("load +10 %", 1.5, 1.2, 1.9, {"1": (1.4, 1.1, 1.8)})
    yield MonthlyFit(0.9, 0.25, 0.1, 0.2, 0.2, 0.3, 0.9, 0.5, "explains", np.zeros(3))


def every(folder: Path) -> Iterator[Any]:
    """All of them."""
    yield from laws()
    yield from programs()
    yield from networks()
    yield from policies()
    yield from storages()
    yield from files(folder)
    yield from simulations()
    yield from pods()
    yield from sites()
