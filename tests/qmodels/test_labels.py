"""Policies named by their labels, rates by utilisation, and the response of a many-server queue."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest

from phasefit import MAP, PhaseType, convolve
from qmodels import (
    POLICIES,
    DynamicPartitioning,
    ModelError,
    Phase,
    Program,
    SpaceSharing,
    System,
    TimeSharing,
    UnstableError,
    Workload,
    capacity,
    predict,
    recommend,
)
from qmodels.networks import ManyServerQueue
from qmodels.policies import AbstractPolicy, default_candidates, parse_policy
from qmodels.policies.labels import as_policy

MACHINE = System(processors=16, disks=4, min_processors=2)
WORK = Workload(Program([Phase(io=8.0, cpu=64.0)]))
ONE = PhaseType.exponential(mean=1.0)

SHAPES = [
    *(SpaceSharing(k, d) for k, d in product((1, 4, 16), (1, 4))),
    SpaceSharing(3, 1, sizes=(2, 8, 4)),
    *(DynamicPartitioning(d) for d in (1, 4)),
    *(TimeSharing(2, 1, *rest) for rest in product((1, 3), ("product", "min"), ("fcfs", "ps"))),
]


@pytest.mark.parametrize("policy", SHAPES, ids=lambda policy: policy.label)
def test_every_label_leads_back_to_its_policy(policy):
    assert parse_policy(policy.label) == policy
    spread = policy.label.lower().replace(",", " , ").replace("(", " ( ")
    assert parse_policy(f" {spread} ") == policy


def test_so_do_the_labels_of_all_candidates_of_a_machine():
    found = default_candidates(System(64, 16), multiprogramming=(2, 3))
    assert len(found) > 30
    assert [parse_policy(policy.label) for policy in found] == list(found)
    assert {type(policy) for policy in found} == set(POLICIES.values())


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ("SP", "named such as"),
        ("", "named such as"),
        ("(4,4)", "named such as"),
        ("SP(4,4", "named such as"),
        (4, "named such as"),
        ("SP(4)", "give 2 numbers"),
        ("SP(4,4,4)", "give 2 numbers"),
        ("SP(4;4)", "give 2 numbers"),
        ("SP(a,b)", "whole numbers"),
        ("SP(-4,4)", "whole numbers"),
        ("SP(4.0,4)", "whole numbers"),
        ("SP(²,4)", "whole numbers"),
        ("SP(2,1;8+x)", "no sizes"),
        ("XP(4,4)", "no policy is called 'XP'"),
        ("TS(2,1;M=0x3)", "M must be"),
        ("TS(2,1;M=2;M=3)", "once each"),
        ("TS(2,1;disk=ps)", "once each"),
        ("TS(2,1;cap=most)", "ts_cap must be"),
        ("DP(1;overhead=2s)", "does not hold the law"),
        ("SP(9999999999,1)", "whole numbers"),
    ],
)
def test_what_is_no_label_is_refused_by_what_is_wrong_with_it(label, said):
    with pytest.raises(ModelError, match=said.replace("(", r"\(")):
        parse_policy(label)


@dataclass(frozen=True)
class Halves(AbstractPolicy):
    """A policy of the user's own, with two numbers and no parser."""

    left: int
    right: int = 3
    name = "halves"

    @property
    def label(self):
        return f"halves({self.left})"

    def check(self, system):
        """Fits every machine."""

    def arrangement(self, system):
        raise NotImplementedError

    def running(self, system, program):
        raise NotImplementedError


def test_a_policy_of_the_users_own_is_read_by_the_fields_that_have_no_default():
    assert parse_policy(f"{__name__}:Halves(5)") == Halves(5)
    assert as_policy(Halves(2)) == Halves(2)


def test_a_label_gives_the_same_answers_as_the_policy():
    policy = SpaceSharing(4, 4)
    assert predict("sp(4, 4)", MACHINE, WORK, load=0.5).mean_response == (
        predict(policy, MACHINE, WORK, load=0.5).mean_response
    )
    assert capacity("SP(4,4)", MACHINE, WORK) == capacity(policy, MACHINE, WORK)
    ranked = recommend(MACHINE, WORK, load=0.3, candidates=["SP(4,4)", DynamicPartitioning(1)])
    assert {row.policy for row in ranked.rows} == {policy, DynamicPartitioning(1)}
    with pytest.raises(ModelError, match="1 to 8 partitions"):
        predict("SP(16,4)", MACHINE, WORK, load=0.5)


# Utilisation


@pytest.mark.parametrize("label", ["SP(1,1)", "SP(4,4)", "SP(4,1)", "DP(1)", "TS(2,1;M=2)"])
@pytest.mark.parametrize("share", [0.1, 0.9])
def test_utilisation_is_the_share_of_the_policys_own_capacity(label, share):
    found = predict(label, MACHINE, WORK, utilisation=share)
    assert found.arrival_rate == pytest.approx(share * found.capacity, rel=1e-14)
    same = predict(label, MACHINE, WORK, arrival_rate=found.arrival_rate)
    assert same.mean_response == found.mean_response


def test_one_partition_at_a_utilisation_is_the_queue_of_the_textbook():
    """M/M/1 on the whole machine: E[R] = E[S] / (1 - rho)."""
    service = 8.0 / 4 + 64.0 / 16
    for share in (0.2, 0.5, 0.95):
        found = predict("SP(1,1)", MACHINE, WORK, utilisation=share)
        assert found.mean_response == pytest.approx(service / (1.0 - share), rel=1e-12)


@pytest.mark.parametrize("share", [0.0, 1.0, 1.5, -0.1, np.nan, np.inf])
def test_a_utilisation_out_of_range_is_refused(share):
    with pytest.raises(ModelError, match="utilisation"):
        predict("SP(1,1)", MACHINE, WORK, utilisation=share)


@pytest.mark.parametrize(
    "given", [{}, {"load": 0.5, "utilisation": 0.5}, {"arrival_rate": 0.1, "utilisation": 0.5}]
)
def test_a_rate_is_said_in_one_way(given):
    with pytest.raises(ModelError, match="give either arrival_rate, load or utilisation"):
        predict("SP(1,1)", MACHINE, WORK, **given)


# The response of a many-server queue


def test_the_response_of_m_m_1_is_exponential():
    rate, x = 0.8, np.linspace(0.0, 30.0, 31)
    law = ManyServerQueue(ONE.scale(1.0 / rate), ONE, servers=1).solve().response
    assert law.sf(x) == pytest.approx(np.exp(-(1.0 - rate) * x), rel=1e-10)


def test_the_response_of_m_m_c_is_that_of_erlang():
    """P(R > t) of M/M/c: an exponential wait with probability C, and an exponential service."""
    c, rate = 3, 2.4
    found = ManyServerQueue(ONE.scale(1.0 / rate), ONE, servers=c).solve()
    wait, slack, t = found.wait_probability, c - rate, np.linspace(0.0, 12.0, 25)
    known = (1.0 - wait) * np.exp(-t) + wait * (np.exp(-t) * slack - np.exp(-slack * t)) / (slack - 1.0)
    assert found.response.sf(t) == pytest.approx(known, rel=1e-9)


BURSTY = MAP.modulated([[-0.1, 0.1], [0.1, -0.1]], rates=[2.0, 0.4])


@pytest.mark.parametrize("arrivals", [PhaseType.erlang(phases=3, mean=0.6), BURSTY])
def test_its_mean_is_that_of_littles_law(arrivals):
    service = PhaseType.hyperexponential(weights=[0.9, 0.1], means=[0.5, 3.0])
    found = ManyServerQueue(arrivals, service, servers=2).solve()
    assert found.response.mean == pytest.approx(found.mean_response, rel=1e-9)
    assert found.response.var == pytest.approx(found.wait.var + service.var, rel=1e-9)


def test_equal_speeds_make_services_shorter_and_unequal_ones_are_refused():
    fast = ManyServerQueue(ONE, ONE, speeds=[2.0, 2.0]).solve()
    same = ManyServerQueue(ONE, ONE.scale(0.5), servers=2).solve()
    assert fast.response.mean == pytest.approx(fast.mean_response, rel=1e-12)
    assert fast.response.sf(3.0) == pytest.approx(same.response.sf(3.0), rel=1e-10)
    slower = ManyServerQueue(ONE, ONE, speeds=[1.0, 0.8]).solve()
    with pytest.raises(ModelError, match="ask mean_response"):
        _ = slower.response


def test_where_hardly_any_job_waits_the_response_is_the_service():
    found = ManyServerQueue(ONE.scale(1e60), PhaseType.erlang(phases=2, mean=1.0), servers=6).solve()
    assert found.wait_probability < 1e-290
    assert found.response.mean == pytest.approx(1.0, rel=1e-14)
    ordinary = ManyServerQueue(ONE.scale(4.0), ONE, servers=2).solve()
    assert ordinary.response.cdf(1.0) == pytest.approx(convolve(ordinary.wait, ONE).cdf(1.0))


def test_no_queue_without_a_steady_state_has_a_response():
    with pytest.raises(UnstableError):
        ManyServerQueue(ONE.scale(0.5), ONE, servers=2).solve()
