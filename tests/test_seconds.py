"""The seconds that a result says it took: within those of the call, on a clock that starts anywhere."""

import itertools
import time

import pytest

from phasefit import PhaseType
from qmodels import Phase, Program, SpaceSharing, System, Workload, predict, recommend
from qmodels.markov import QBD, solve_absorption, solve_block_tridiagonal, solve_chain, solve_qbd, transient
from qmodels.networks import ClosedNetwork, JobClass, MultiClassNetwork
from qmodels.networks.many_server import ManyServerQueue
from qmodels.networks.station_network import QueueingNetwork
from qmodels.networks.stations import CustomerClass, Station
from qmodels.policies.choice.recommendation import compared
from validation import simulate

ONE = PhaseType.exponential(mean=1.0)
WORK = Workload(Program([Phase(io=1.0, cpu=9.0)]))
SMALL = System(1, 1)
ASKED = SpaceSharing(1, 1), SMALL, WORK


def backlog():
    return predict(*ASKED, load=0.45).backlog(50)


def best_of_given():
    found = predict(*ASKED, load=0.4)
    return compared({ASKED[0]: found}, {}, SMALL, WORK, load=0.4, arrival_rate=found.arrival_rate)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: solve_chain([[0.0, 1.0], [2.0, 0.0]]),
        lambda: solve_qbd(QBD(up=[[[0.5]]], local=[[[0.0]]], down=[[[1.0]]])),
        lambda: solve_block_tridiagonal(up=[[[1.0]]], local=[[[0.0]]] * 2, down=[[[1.0]]]),
        lambda: solve_absorption([[0.0, 1.0], [0.0, 0.0]], targets=1),
        lambda: transient([[0.0, 1.0], [2.0, 0.0]], initial=[0.0, 1.0], times=[1.0]),
        lambda: ClosedNetwork(2, delay=ONE, disk=ONE).solve(),
        lambda: MultiClassNetwork([JobClass(1, ONE, ONE), JobClass(1, ONE, ONE)]).solve(),
        lambda: ManyServerQueue(ONE.scale(2.0), ONE, servers=1).solve(),
        lambda: QueueingNetwork([Station("cpu")], [CustomerClass({"cpu": 0.5}, population=2)]).solve(),
        lambda: predict(*ASKED, load=0.4),
        lambda: predict(*ASKED, load=0.4).sensitivities,
        backlog,
        lambda: recommend(SMALL, WORK, load=0.4),
        best_of_given,
        lambda: simulate(*ASKED, load=0.4, seed=1, jobs=10, warm_up=0, replications=2),
    ],
)
def test_are_those_between_two_looks_at_the_clock(ask, monkeypatch):
    ticks = itertools.count(1_000_000.0, 0.25)
    with monkeypatch.context() as patched:
        patched.setattr(time, "perf_counter", lambda: next(ticks))
        took = ask().seconds
    within = next(ticks) - 1_000_000.0
    assert 0.25 <= took <= within
    assert took % 0.25 == 0.0
