"""Programs that share a storage, against closed networks, queues with a formula and exact chains."""

from __future__ import annotations

import math

import pytest
from scipy.special import gammaincinv, kv

from phasefit import PhaseType
from qmodels.errors import ModelError, UnstableError
from qmodels.networks import ClosedNetwork
from qmodels.storage import StageCurve, closed_sharing, exact_start, open_sharing


def exponential(mean):
    return PhaseType.exponential(mean=mean)


@pytest.mark.parametrize(
    ("io_share", "servers", "programs"), [(0.5, 1, 2), (0.3, 2, 9), (0.9, 4, 40), (0.2, 8, 5)]
)
def test_a_stage_is_a_closed_network_of_its_two_centres(io_share, servers, programs):
    stage = StageCurve("x", 10.0, io_share=io_share, streams=float(servers))
    network = ClosedNetwork(
        programs,
        delay=exponential(10.0 * (1.0 - io_share)),
        disk=exponential(10.0 * io_share),
        discipline="fcfs",
        servers=servers,
    )
    exact = network.solve("chain")
    found = closed_sharing([stage], programs)
    assert stage.time(programs) == pytest.approx(programs / exact.throughput, rel=1e-9)
    assert found.response == pytest.approx(programs / exact.throughput, rel=1e-9)
    assert found.utilisation == pytest.approx(exact.utilisation, rel=1e-9)


def test_a_stretched_stage_comes_to_the_storage_as_seldom_as_it_does():
    stage = StageCurve("x", 4.0, io_share=0.5, streams=3.0, creep=0.05)
    assert stage.time(12) == pytest.approx(closed_sharing([stage], 12).response, rel=1e-9)
    full = StageCurve("x", 4.0, io_share=0.5, streams=8.0, creep=0.02)
    assert full.time(1000) == pytest.approx(1000 * full.demand)  # its work of its own takes place meanwhile


def test_percentiles_are_those_of_the_sojourn_of_a_closed_network():
    found = closed_sharing([StageCurve("x", 4.0, io_share=0.5, streams=1.0)], 5)
    exact = ClosedNetwork(5, delay=exponential(2.0), disk=exponential(2.0)).solve().sojourn
    for q in (0.5, 0.9, 0.99):
        assert found.percentile(q) == pytest.approx(2.0 + float(exact.ppf(q)), rel=1e-9)


def test_an_open_stream_is_the_queue_with_many_servers_of_erlang():
    rate, service, c = 2.5, 1.0, 4
    offered = rate * service
    tail = offered**c / math.factorial(c) / (1.0 - offered / c)
    waits = tail / (sum(offered**k / math.factorial(k) for k in range(c)) + tail)
    response = service + waits * service / (c - offered)
    found = open_sharing([StageCurve("x", 3.0, io_share=1.0 / 3.0, streams=float(c))], rate)
    assert found.response == pytest.approx(2.0 + response, rel=1e-9)
    assert found.percentile(0.5) > 2.0


def test_a_stream_beyond_the_capacity_is_refused_with_the_capacity():
    with pytest.raises(UnstableError) as refused:
        open_sharing([StageCurve("x", 2.0, io_share=1.0, streams=4.0)], 2.5)
    assert refused.value.capacity == pytest.approx(2.0)


def test_private_programs_end_when_the_longest_does():
    found = exact_start([StageCurve("x", 3.0)], 4)
    assert found.makespan == pytest.approx(3.0 * sum(1.0 / k for k in range(1, 5)), rel=1e-9)


def test_storage_without_anything_else_is_busy_until_the_end():
    found = exact_start(
        [StageCurve("a", 2.0, io_share=1.0, streams=1.0), StageCurve("b", 1.0, io_share=1.0, streams=1.0)], 3
    )
    assert found.makespan == pytest.approx(9.0, rel=1e-9)


def test_one_program_takes_its_time_alone_however_many_bursts():
    stages = [
        StageCurve("a", 2.0, io_share=0.4, streams=3.0, creep=0.1),
        StageCurve("b", 5.0, io_share=0.1, streams=2.0),
    ]
    for bursts in (1.0, 4.0):
        assert exact_start(stages, 1, bursts=bursts).makespan == pytest.approx(7.0, rel=1e-9)


def test_a_start_agrees_with_the_chain_written_out_by_hand():
    # Two programs, private 1 then storage 1 (one stream): states by (at work, at storage).
    # From (2,0): 1/2; from (1,1): rates 1 and 1; from (0,2): 1; from (1,0) and (0,1): 1.
    after_11 = 0.5 + 0.5 * (1.0 + 1.0) + 0.5 * 2.0  # to (0,2): 1 + 1; to (1,0): 1 + 1
    found = exact_start([StageCurve("x", 2.0, io_share=0.5, streams=1.0)], 2)
    assert found.makespan == pytest.approx(0.5 + after_11, rel=1e-12)


def test_a_stage_without_storage_takes_the_same_with_any_number():
    assert StageCurve("x", 3.0).time(1000) == 3.0


def test_a_full_storage_takes_its_demand_from_each():
    stage = StageCurve("x", 8.0, io_share=1.0, streams=8.0)
    assert stage.time(8) == pytest.approx(8.0)
    assert stage.time(32) == pytest.approx(32 * stage.demand)


@pytest.mark.parametrize(
    "wrong", [{"seconds": 0.0}, {"io_share": 1.2}, {"streams": 0.5}, {"creep": -1.0}, {"level": 0.0}]
)
def test_a_curve_that_cannot_be_is_refused(wrong):
    with pytest.raises(ModelError):
        StageCurve(**{"name": "x", "seconds": 1.0} | wrong)


@pytest.mark.thorough
def test_percentiles_of_a_stream_near_the_capacity_are_those_of_processor_sharing():
    """Their ratio to the mean is a smooth function of the load, and in its end sqrt(4 x) K1(sqrt(4 x))."""
    alone = StageCurve("io", 1.0, io_share=1.0, streams=1.0)

    def over_mean(load: float, q: float) -> float:
        found = open_sharing([alone], load)
        return found.percentile(q) / found.response

    for q in (0.5, 0.9, 0.99):
        assert over_mean(0.88, q) == pytest.approx(over_mean(0.87, q), rel=0.02)
        x = over_mean(0.999, q)
        assert 2.0 * math.sqrt(x) * kv(1, 2.0 * math.sqrt(x)) == pytest.approx(1.0 - q, rel=0.02)


def test_a_stream_all_but_at_the_capacity_is_refused_where_its_law_would_be_cut():
    """A twentieth of the response was said at one part in ten million below."""
    alone = StageCurve("io", 1.0, io_share=1.0, streams=1.0)
    assert open_sharing([alone], 1.0 - 1e-4).response == pytest.approx(1e4, rel=1e-9)
    with pytest.raises(UnstableError, match="too near to the 1 that it carries"):
        open_sharing([alone], 1.0 - 1e-7)


def test_many_transfers_of_a_stream_meet_the_same_others():
    """As of a job of one length in M/M/1 under processor sharing, of known variance (Coffman et al.)."""
    alone, load = StageCurve("io", 1.0, io_share=1.0, streams=1.0), 0.8
    left = 1.0 - load
    variance = 2.0 * load / left**3 - 2.0 * load * -math.expm1(-left) / left**4
    found = open_sharing([alone], load)
    shape = found.response**2 / variance
    for q in (0.5, 0.9, 0.99):
        gamma_law = found.response * float(gammaincinv(shape, q)) / shape
        assert found.percentile(q, bursts=500) == pytest.approx(gamma_law, rel=3e-3)


@pytest.mark.parametrize(("programs", "think", "io_share"), [(1, 5.0, 0.5), (4, 30.0, 1.0), (6, 0.0, 0.5)])
def test_several_transfers_that_are_one_have_its_law(programs, think, io_share):
    stage = StageCurve("io", 10.0, io_share=io_share, streams=2.0)
    found = closed_sharing([stage], programs, think=think)
    assert found._scv(1) == pytest.approx(found._stay().scv, rel=1e-9)
    # independent ones vary least
    assert found._scv(20) > found._scv(1) / 20.0 * (1.0 - 1e-9)


def test_programs_that_think_long_meet_the_same_others_again():
    """Played, one in ten of four programs that only transfer takes more than 32.5 s; independent, 27 s."""
    found = closed_sharing([StageCurve("io", 10.0, io_share=1.0, streams=1.0)], 4, think=30.0)
    assert found.percentile(0.9, bursts=20) == pytest.approx(32.5, rel=0.03)
