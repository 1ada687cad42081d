"""The simulator of programs that share a storage, against chains and closed networks."""

from __future__ import annotations

import numpy as np
import pytest

from phasefit import PhaseType
from qmodels.errors import ModelError
from qmodels.networks import ClosedNetwork
from qmodels.storage import StageCurve, closed_sharing, exact_start
from validation.storage import Neighbours, simulate_closed, simulate_start

READ = StageCurve("read", 4.0, io_share=0.8, streams=2.0, creep=0.05, level=3.0)
WRITE = StageCurve("write", 6.0, io_share=0.3, streams=1.5, loss=0.4)


@pytest.mark.parametrize(("bursts", "programs"), [(1, 3), (3, 4)])
def test_a_start_agrees_with_its_exact_chain(bursts, programs):
    exact = exact_start([READ, WRITE], programs, bursts=bursts)
    found = simulate_start(
        [READ, WRITE], programs, bursts=bursts, geometric=True, replications=800, seed=3, confidence=0.999
    )
    assert found.seconds.contains(exact.makespan)


@pytest.mark.parametrize("order", ["ps", "fcfs"])
def test_programs_that_come_and_go_agree_with_the_closed_network(order):
    stage = StageCurve("x", 3.0, io_share=2.0 / 3.0, streams=2.0)
    exact = closed_sharing([stage], 6, think=1.0)
    found = simulate_closed([stage], 6, think=1.0, order=order, repeats=600, seed=5, confidence=0.999)
    assert found.seconds.contains(exact.response)


def test_who_begins_again_is_stretched_by_all_who_are_there_and_who_thinks_by_nobody():
    """Without a queue: by the nine others, however often each has begun; then by those that do not think."""
    stage = StageCurve("x", 2.0, io_share=0.5, creep=0.1)
    for think in (0.0, 3.0):
        found = simulate_closed([stage], 10, think=think, repeats=600, seed=4, confidence=0.999)
        assert found.seconds.contains(closed_sharing([stage], 10, think=think).response)


def test_a_stage_without_storage_waits_for_no_transfer_in_order_of_arrival():
    compute, write = StageCurve("compute", 3.0), StageCurve("write", 5.0, io_share=1.0, streams=1.0)
    # Each is at the storage from second 3 on, one after the other, and computes again at its end.
    run = simulate_start([compute, write, compute], 3, bursts=1, scv=0.0, order="fcfs", replications=2)
    assert run.seconds.mean == pytest.approx(21.0)
    assert run.response.mean == pytest.approx(16.0)
    many = [StageCurve("compute", 3.0), StageCurve("all", 5.0, io_share=0.5, streams=1.0)]
    mean = [
        simulate_start(many, 3, bursts=4, geometric=True, order=order, replications=400, seed=seed).response
        for seed, order in enumerate(("ps", "fcfs"))
    ]
    assert abs(mean[0].mean - mean[1].mean) < 4 / 1.96 * np.hypot(mean[0].half_width, mean[1].half_width)


def test_constant_transfers_in_order_of_arrival_agree_with_a_chain_of_many_phases():
    stage = StageCurve("x", 2.0, io_share=0.5, streams=1.0)
    law = PhaseType.erlang(phases=4, mean=1.0)
    exact = ClosedNetwork(3, delay=law, disk=law, discipline="fcfs").solve()
    found = simulate_closed([stage], 3, scv=0.25, order="fcfs", repeats=600, seed=7, confidence=0.999)
    assert found.seconds.contains(3.0 / exact.throughput)


def test_a_stage_of_many_bursts_takes_what_its_curve_says():
    stage = StageCurve("x", 10.0, io_share=0.4, streams=2.0)
    found = simulate_start([stage], 12, bursts=400, replications=20, seed=2)
    assert found.response.mean < stage.time(12) < found.seconds.mean
    assert found.seconds.mean < 1.06 * found.response.mean


def test_neighbours_that_are_nearly_always_there_halve_a_full_storage():
    stage = StageCurve("x", 10.0, io_share=1.0, streams=1.0)
    alone = simulate_start([stage], 1, replications=2, scv=0.0)
    beside = simulate_start([stage], 1, scv=0.0, neighbours=Neighbours(1.0, on=1e9, off=1e-9), replications=2)
    assert beside.seconds.mean == pytest.approx(2.0 * alone.seconds.mean)


def test_neighbours_that_leave_a_hundredth_of_the_time_come_until_the_program_ends():
    stage, others = StageCurve("x", 100.0, io_share=1.0, streams=1.0), Neighbours(1000.0, on=9.9, off=0.1)
    found = simulate_start([stage], 1, bursts=1, scv=0.0, neighbours=others, seed=1, confidence=0.999)
    assert found.seconds.contains(100.0 / (0.01 + 0.99 / 1001.0))


@pytest.mark.parametrize(
    "others", [Neighbours(1e300, on=1.0, off=1e-9), Neighbours(1.0, on=1e-300, off=1e-9)]
)
def test_neighbours_that_come_too_often_to_be_followed_are_refused(others):
    stage = StageCurve("x", 1.0, io_share=1.0, streams=1.0)
    with pytest.raises(ModelError, match=r"neighbours come and go too often, .* give longer on and off"):
        simulate_start([stage], 1, bursts=1, scv=0.0, neighbours=others, replications=2)


def test_who_waits_for_neighbours_in_order_of_arrival_is_admitted_when_they_leave():
    # 50 s of work, then 10 s in the mean until they leave, then half of the storage for 50 s alone.
    stage, others = StageCurve("x", 100.0, io_share=0.5, streams=1.0), Neighbours(1.0, on=10.0, off=1e-9)
    found = simulate_start(
        [stage], 1, bursts=1, scv=0.0, order="fcfs", neighbours=others, replications=200, confidence=0.999
    )
    assert found.seconds.contains(160.0)
