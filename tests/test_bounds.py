"""An argument may be the last number of its range, and none beyond it."""

from types import SimpleNamespace

import pandas as pd
import pytest

from phasefit import PhaseType
from qmodels import DynamicPartitioning, Phase, Program, SpaceSharing, System, Workload, predict
from qmodels.errors import ConvergenceError, ModelError
from qmodels.markov import QBD, solve_absorption, solve_chain, solve_qbd, transient
from qmodels.markov.chain import estimate_bytes
from qmodels.networks import ClosedNetwork, JobClass, MultiClassNetwork
from qmodels.networks.flow_equivalents import flow_equivalent
from qmodels.networks.many_server import ManyServerQueue
from qmodels.networks.product_form import disk_group_throughput, machine_repair
from qmodels.networks.shared_node import fcfs_node_pace
from qmodels.networks.station_network import QueueingNetwork, flow_equivalent_station
from qmodels.networks.stations import CustomerClass, Station
from qmodels.policies import TimeSharing, default_candidates
from qmodels.programs import Burst, Geometric, WorkingSet, best_allotment, fit_runs, speedup_surface
from qmodels.programs.laws import OverFedDisks, WithContention
from qmodels.programs.profiles import profile
from validation.allocation.base import Request
from validation.allocation.binary_tree import DBT, SBT
from validation.allocation.curves import hilbert_curve
from validation.allocation.paging import Paging
from validation.analysis.estimates import Stopping, jackknife, replicate
from validation.analysis.seeding import word
from validation.machine.machine import Machine
from validation.machine.traffic import Alternating, MixedTraffic, PatternTraffic
from validation.mesh import Mesh

ONE = PhaseType.exponential(mean=1.0)
QUEUE = QBD(up=[[[0.5]]], local=[[[0.0]]], down=[[[1.0]]])
THERE, BACK = [[0.0, 1.0], [0.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]]
PROGRAM = Program([Phase(1.0, 9.0)])
NO_RUNS = SimpleNamespace(frame=pd.DataFrame(columns=["program", "phase", "kind"]))  # as of a table
CPU = QueueingNetwork([Station("cpu")], [CustomerClass({"cpu": 0.5}, population=1)])
CLASSES = MultiClassNetwork([JobClass(1, ONE, ONE), JobClass(1, ONE, ONE)])


@pytest.fixture(scope="module")
def solved():
    """A queue, an absorbing chain and a closed network, solved."""
    chain = solve_absorption(THERE, targets=1)
    return solve_qbd(QUEUE), chain, ClosedNetwork(1, delay=ONE, disk=ONE).solve()


def refuses(ask, value):
    try:
        ask(value)
    except ModelError as error:
        return "must be" in str(error)
    except ConvergenceError:
        return False
    return False


@pytest.mark.parametrize(
    ("ask", "least"),
    [
        (lambda n: solve_qbd(QUEUE, max_steps=n), 1),
        (lambda n: solve_chain(BACK, max_sweeps=n), 1),
        (lambda n: solve_absorption(THERE, targets=n), 0),
        (lambda n: solve_absorption(THERE, targets=1, moments=n), 1),
        (lambda n: estimate_bytes(n, 0), 0),
        (lambda n: estimate_bytes(1, n), 0),
        (lambda n: CLASSES.solve("chain", max_states=n), 1),
        (lambda n: ClosedNetwork(n, delay=ONE, disk=ONE), 1),
        (lambda n: ManyServerQueue(ONE.scale(2.0), ONE, servers=n), 1),
        (lambda n: flow_equivalent(ONE, n), 1),
        (lambda n: flow_equivalent(ONE, 1, quantiles=n), 0),
        (lambda n: CustomerClass({"cpu": 1.0}, population=n), 0),
        (lambda n: Station("cpu", servers=n), 1),
        (lambda n: flow_equivalent_station(CPU, "both", n), 1),
        (lambda n: fcfs_node_pace(n, 1.0, ONE), 1),
        (lambda n: disk_group_throughput(1.0, 1.0, [n]), 0),
        (lambda n: machine_repair(1.0, 1.0, 1, servers=n), 1),
        (lambda n: machine_repair(1.0, 1.0, n), 0),
        (lambda n: System(n, 1), 1),
        (lambda n: System(1, n), 1),
        (lambda n: System(1, 1, min_processors=n), 1),
        (lambda n: System(1, 1, min_disks=n), 1),
        (lambda n: SpaceSharing(2, 1, sizes=(1, n)), 1),
        (lambda n: SpaceSharing(n, 1).arrangement(System(2, 1)), 1),
        (lambda n: DynamicPartitioning(n).arrangement(System(2, 2)), 1),
        (lambda n: TimeSharing(1, 1, multiprogramming=n).check(System(1, 1)), 1),
        (lambda n: default_candidates(System(2, 1), multiprogramming=(n,)), 2),
        (lambda n: WorkingSet(n, [Phase(1.0, 1.0)]), 1),
        (lambda n: Request(n), 1),
        (lambda n: Request.of_shape(1, n), 1),
        (lambda n: hilbert_curve(n, 1), 1),
        (lambda n: hilbert_curve(1, n), 1),
        (lambda n: Paging(s=n), 0),
        (lambda n: MixedTraffic(slots=n), 1),
        (lambda n: MixedTraffic(flits=n), 1),
        (lambda n: Alternating(communications=n), 0),
        (lambda n: Alternating(flits=n), 1),
        (lambda n: Alternating(io_flits=n), 1),
        (lambda n: Alternating(repeat=n), 1),
        (lambda n: PatternTraffic(rounds=n), 1),
        (lambda n: Stopping(precision=0.5, at_least=n), 2),
        (lambda n: Stopping(precision=0.5, at_least=2, at_most=n), 2),
        (lambda n: replicate(lambda rng: 1.0, seed=1, precision=0.5, at_least=n, at_most=3), 2),
        (lambda n: jackknife(lambda weights: 1.0, n), 1),
        (lambda n: word(n, "name"), 0),
        (lambda n: word(1, n), 0),
        (lambda n: word(1, "name", bits=n), 1),
    ],
)
def test_a_whole_number_is_at_least_the_last_that_makes_sense(ask, least):
    assert (refuses(ask, least), refuses(ask, least - 1)) == (False, True)


@pytest.mark.parametrize(
    ("ask", "least", "most"),
    [
        (lambda one: one[0].moment, 0, 100),
        (lambda one: one[0].level, 0, None),
        (lambda one: one[2].disk_moment, 0, 100),
        (lambda one: lambda k: one[1].moment(k, [1.0, 0.0]), 1, 2),
        (lambda one: one[2].sojourn.moment, 0, 150),
    ],
)
def test_an_order_of_a_solution_is_in_its_range(ask, least, most, solved):
    asked = ask(solved)
    for end, beyond in ((least, least - 1), (most, most and most + 1)):
        if end is not None:
            asked(end)
            with pytest.raises(ModelError, match=r"must be|only 2 moments"):
                asked(beyond)


@pytest.mark.parametrize(
    ("ask", "within", "beyond"),
    [
        (lambda x: solve_qbd(QUEUE, tol=x), 0.1, 0.0),
        (lambda x: solve_chain(BACK, tol=x), 0.1, 0.0),
        (lambda x: transient(BACK, initial=[1.0, 0.0], times=[1.0], tol=x), 0.1, 0.0),
        (lambda x: ClosedNetwork(1, delay=ONE, disk=ONE).solve(tol=x), 0.1, 0.0),
        (lambda x: CustomerClass({"cpu": x}, population=1), 0.0, -0.5),
        (lambda x: CustomerClass({"cpu": 1.0}, population=1, think=x), 0.0, -0.5),
        (lambda x: CustomerClass({"cpu": 1.0}, arrival_rate=x), 0.0, -0.5),
        (lambda x: CustomerClass({"cpu": 1.0}, population=1, visits={"cpu": x}), 0.0, -0.5),
        (lambda x: disk_group_throughput(x, 1.0, [1]), 0.0, -0.5),
        (lambda x: disk_group_throughput(1.0, x, [1]), 0.0, -0.5),
        (lambda x: machine_repair(x, 1.0, 1), 0.5, 0.0),
        (lambda x: machine_repair(1.0, x, 1), 0.5, 0.0),
        (lambda x: fcfs_node_pace(1, x, ONE), 0.5, 0.0),
        (lambda x: predict(SpaceSharing(1, 1), System(1, 1), Workload(PROGRAM), load=x), 0.5, 0.0),
        (lambda x: predict(SpaceSharing(1, 1), System(1, 1), Workload(PROGRAM), arrival_rate=x), 0.05, 0.0),
        (lambda x: Workload.from_scv(PROGRAM, demand_scv=x), 0.5, 0.0),
        (lambda x: Workload.from_scv(PROGRAM, arrival_scv=x), 0.5, 0.0),
        (Geometric, 1.0, 0.999),
        (Geometric, 1e12, 1.001e12),
        (PROGRAM.scaled, 1e-17, 9.9e-19),
        (PROGRAM.scaled, 1e17, 1.1e18),
        (OverFedDisks, 1e-6, 9.9e-7),
        (OverFedDisks, 1e6, 1.001e6),
        (WithContention, 1e-18, 9.9e-19),
        (WithContention, 1.0, 1.001),
        (lambda x: profile("QCRD-2", messages=x), 1e-18, 9.9e-19),
        (lambda x: Burst(1.0, slowdown=(x, 2.0)), 1.0, 0.999),
        (lambda x: Burst(1.0, slowdown=(x, 2.0)), 1e12, 1.001e12),
        (lambda x: Burst(1.0, slowdown=(2.0, x)), 1e-6, 9.9e-7),
        (lambda x: Burst(1.0, slowdown=(2.0, x)), 1e6, 1.001e6),
        (lambda x: best_allotment(PROGRAM, budget=8, disk_price=x), 1e-12, 9.9e-13),
        (lambda x: best_allotment(PROGRAM, budget=8, processor_price=x), 1e-12, 9.9e-13),
        (lambda x: speedup_surface(PROGRAM, [1], [1], base=(x, 1)), 1.0, 0.999),
        (lambda x: speedup_surface(PROGRAM, [1], [1], base=(1, x)), 1.0, 0.999),
        (lambda n: fit_runs(NO_RUNS, seed=n), 0, -1),
        (lambda n: fit_runs(NO_RUNS, seed=n), 2**32 - 1, 2**32),
        (lambda n: fit_runs(NO_RUNS, draws=n), 100, 99),
        (lambda n: fit_runs(NO_RUNS, draws=n), 100_000, 100_001),
        (lambda x: fit_runs(NO_RUNS, discrepancy=x), 1e-12, 9.9e-13),
        (lambda x: fit_runs(NO_RUNS, discrepancy=x), 1.0, 1.001),
        (lambda x: fit_runs(NO_RUNS, cores_per_node=x), 1.0, 0.999),
        (lambda x: fit_runs(NO_RUNS, cores_per_node=x), 1e9, 1.001e9),
        (lambda x: fit_runs(NO_RUNS, work=x), 1e-18, 9.9e-19),
        (lambda x: fit_runs(NO_RUNS, work=x), 1e18, 1.001e18),
        (lambda x: Machine(mesh=Mesh(2, 2), strategy="MC", disk_pace=x), 1.0, 0.999),
        (lambda x: MixedTraffic(io_share=x), 0.0, -0.001),
        (lambda x: MixedTraffic(io_share=x), 1.0, 1.001),
        (lambda x: SBT(alpha=x), 0.0, -0.5),
        (lambda x: DBT(ratio=x), 0.0, -0.5),
        (lambda x: Stopping(precision=x), 0.5, 0.0),
        (lambda x: replicate(lambda rng: 1.0, seed=1, precision=x, at_least=2, at_most=3), 0.5, 0.0),
    ],
)
def test_a_number_is_within_its_range(ask, within, beyond):
    assert (refuses(ask, within), refuses(ask, beyond)) == (False, True)
