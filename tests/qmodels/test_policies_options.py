"""Options of the policies: overhead of dividing the processors, unequal sizes, caps."""

import numpy as np
import pytest

from phasefit import PhaseType, match_moments
from qmodels.errors import MemoryBudgetError, ModelError
from qmodels.policies import (
    DynamicPartitioning,
    SpaceSharing,
    System,
    TimeSharing,
    Workload,
    capacity,
    predict,
)
from qmodels.programs import Burst, Phase, Program, WorkloadMix
from tests.naive import policy_chains as naive

SP, DP, TS = SpaceSharing, DynamicPartitioning, TimeSharing
ONE = PhaseType.exponential(mean=1.0)
HYPER = match_moments(1.0, 5.0)
MODELS = ("speed-scaled", "decomposition", "exact")


def workload(io, cpu, *, law="p", **laws):
    phase = Phase(io=Burst(io, law="1"), cpu=Burst(cpu, law=law))
    return Workload(Program([phase]), **laws)


# Dynamic partitioning with overhead


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("disks", [1, 3])
def test_dividing_in_no_time_is_dividing_without_overhead(model, disks):
    """R-40: theta to infinity."""
    machine = System(processors=3, disks=3)
    work = workload(1.0, 4.0, io_bursts=HYPER)
    free = predict(DP(disks), machine, work, arrival_rate=0.3, model=model)
    quick = PhaseType.erlang(phases=2, mean=1e-9)
    found = predict(DP(disks, overhead=quick), machine, work, arrival_rate=0.3, model=model)
    assert found.mean_response == pytest.approx(free.mean_response, rel=1e-7)
    assert found.capacity == pytest.approx(free.capacity, rel=1e-12)
    assert found.method == free.method


@pytest.mark.thorough
def test_the_response_time_grows_with_the_overhead():
    """R-55: no overhead favours dynamic partitioning."""
    machine = System(processors=16, disks=4)
    work = workload(1.0, 32.0, io_bursts=ONE)
    times = [
        predict(
            DP(4, overhead=PhaseType.exponential(mean=mean)), machine, work, arrival_rate=0.3
        ).mean_response
        for mean in (1e-6, 0.01, 0.1, 0.3, 1.0)
    ]
    assert times == sorted(times)
    assert times[-1] > 1.2 * times[0]


def test_an_overhead_that_one_job_bears_alone_is_part_of_its_service():
    """N_P = 1: every start divides, unless the job before left at that moment: M/G/1 with setup.

    A job that finds the machine empty is served for S + C, the others for S.
    """
    machine = System(processors=4, disks=1, min_processors=4)
    work = workload(1.0, 8.0, io_bursts=ONE)
    overhead, rate = PhaseType.erlang(phases=3, mean=0.7), 0.2
    found = predict(DP(1, overhead=overhead), machine, work, arrival_rate=rate, model="exact")
    mean, second = 3.0, 9.0 + 1.0 + 4.0
    c1, c2 = overhead.moment(1), overhead.moment(2)
    setup = (2 * c1 + rate * c2) / (2 * (1 + rate * c1))
    expected = mean + rate * second / (2 * (1 - rate * mean)) + setup
    assert found.mean_response == pytest.approx(expected, rel=1e-12)
    assert found.method == "exact"


@pytest.mark.parametrize("disks", [1, 2])
def test_jobs_stand_still_while_processors_are_divided(disks):
    machine = System(processors=3, disks=2)
    laws = tuple(PhaseType.exponential(mean=0.2 * i) for i in (1, 2, 3))
    work = workload(1.0, 4.0, io_bursts=ONE)
    rate = 0.15
    found = predict(DP(disks, overhead=laws), machine, work, arrival_rate=rate, model="exact")
    expected = naive.mean_jobs(
        rate,
        most=3,
        place=naive.dynamic_place(disks),
        io=lambda job, k: 1.0,
        cpu=lambda job, k: 4.0 * k / 3,
        go_on=[0.0],
        dividing=lambda k: 0.2 * k,
        levels=40,
    )
    assert found.mean_jobs == pytest.approx(expected, rel=1e-9)
    near = predict(DP(disks, overhead=laws), machine, work, arrival_rate=rate)
    assert near.mean_response == pytest.approx(found.mean_response, rel=0.05)


@pytest.mark.parametrize("odd", ["x", 3, np.nan, (ONE, None), (), [ONE, 2]])
def test_an_overhead_that_is_no_law_is_refused(odd):
    machine = System(processors=2, disks=1)
    with pytest.raises(ModelError, match="overhead"):
        predict(DP(1, overhead=odd), machine, workload(1.0, 2.0), arrival_rate=0.1)


def test_overheads_come_for_each_number_of_jobs_or_as_one_law():
    machine = System(processors=3, disks=1)
    with pytest.raises(ModelError, match="2 laws of the overhead for 1 to 3"):
        predict(DP(1, overhead=(ONE, ONE)), machine, workload(1.0, 2.0), arrival_rate=0.1)
    one, same = (
        predict(DP(1, overhead=law), machine, workload(1.0, 2.0), arrival_rate=0.1).mean_response
        for law in (ONE, (ONE,) * 3)
    )
    assert one == same
    law = PhaseType.erlang(phases=400, mean=1.0)
    with pytest.raises(MemoryBudgetError, match="overhead"):
        predict(DP(1, overhead=law), System(64, 1), workload(1.0, 2.0), load=0.1, memory=1e8)


# Static partitions of unequal size


@pytest.mark.parametrize("model", ["speed-scaled", "exact"])
def test_partitions_of_unequal_size_are_servers_of_unequal_speed(model):
    """Two exponential servers, the faster one taken first: a chain small enough for paper."""
    machine = System(processors=6, disks=2)
    work = workload(0.0, 12.0, io_bursts=ONE)
    fast, slow, rate = 4 / 12, 2 / 12, 0.35
    found = predict(SP(2, 2, sizes=(2, 4)), machine, work, arrival_rate=rate, model=model)
    both = fast + slow
    # unknowns: fast alone, slow alone, both busy; then geometric with ratio rate / both
    a = np.array(
        [
            [rate + fast, 0.0, -slow],
            [0.0, rate + slow, -fast],
            [fast, slow, 0.0],
        ]
    )
    ones = np.linalg.solve(a, [rate, 0.0, rate])
    ratio = rate / both
    mass = 1.0 + ones[0] + ones[1] + ones[2] / (1 - ratio)
    jobs = (ones[0] + ones[1] + ones[2] * (2 / (1 - ratio) + ratio / (1 - ratio) ** 2)) / mass
    assert found.mean_jobs == pytest.approx(jobs, rel=1e-12)
    assert found.method == "exact"
    assert found.capacity == pytest.approx(both, rel=1e-12)
    assert capacity(SP(2, 2, sizes=(4, 2)), machine, work) == pytest.approx(both, rel=1e-12)


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("disks", [1, 2])
@pytest.mark.parametrize("sizes", [(3, 2, 1), (4, 1, 1), (2, 2, 2)])
def test_unequal_sizes_agree_with_jobs_that_have_names(sizes, disks):
    machine = System(processors=6, disks=2)
    work = workload(1.0, 6.0, io_bursts=ONE)
    found = predict(SP(3, disks, sizes=sizes), machine, work, arrival_rate=0.15, model="exact")
    expected = naive.mean_jobs(
        0.15,
        most=3,
        place=naive.static_place(3, disks),
        io=lambda job, k: 1.0,
        cpu=lambda job, k: 6.0 / sizes[job[0]],
        go_on=[0.0],
        levels=40,
    )
    assert found.mean_jobs == pytest.approx(expected, rel=1e-9)
    for model in ("speed-scaled", "decomposition"):
        near = predict(SP(3, disks, sizes=sizes), machine, work, arrival_rate=0.15, model=model)
        assert near.mean_response == pytest.approx(found.mean_response, rel=0.05)
        assert near.processor_utilisation == pytest.approx(0.15, rel=1e-6)


def test_equal_sizes_are_the_default():
    machine = System(processors=6, disks=2)
    work = workload(1.0, 6.0)
    one, other = (
        predict(policy, machine, work, arrival_rate=0.2) for policy in (SP(3, 2), SP(3, 2, sizes=(2, 2, 2)))
    )
    assert one.mean_response == other.mean_response
    assert other.policy == "SP(3,2;2+2+2)"


def test_processors_that_no_partition_has_change_nothing():
    programs = [Program([Phase(io=1.0, cpu=Burst(100.0, sequential=part))]) for part in (0.0, 95.0)]
    mix, partitions = Workload(WorkloadMix(programs, [1.0, 1.0])), SP(2, 2, sizes=(2, 2))
    full, idle = (predict(partitions, System(p, 2), mix, arrival_rate=0.015) for p in (4, 64))
    assert idle.method == "exact"
    assert idle.mean_response == pytest.approx(full.mean_response, rel=1e-12)


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ((3, 3), "2 sizes for 3"),
        ((4, 2, 1), "at most 6 together"),
        ((4, 1, 0), ">= 1"),
        ((2.5, 2, 1), "whole number"),
        ("abc", "sizes"),
        ((), "sizes"),
        (7, "sizes"),
        (np.nan, "sizes"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(sizes, said):
    machine = System(processors=6, disks=2)
    with pytest.raises(ModelError, match=said):
        predict(SP(3, 2, sizes=sizes), machine, workload(1.0, 6.0), arrival_rate=0.1)


def test_sizes_below_the_least_allotment_are_refused():
    machine = System(processors=8, disks=2, min_processors=2)
    with pytest.raises(ModelError, match="at least 2 each"):
        predict(SP(2, 2, sizes=(4, 1)), machine, workload(1.0, 6.0), arrival_rate=0.1)


@pytest.mark.parametrize(
    ("pairs", "disks"), [(1, 1), (2, 1), (3, 2), (4, 3), (5, 2), (7, 4), (16, 8), (2, 8)]
)
def test_partitions_use_the_machine_up_and_disks_are_shared_evenly(pairs, disks):
    """R-39: sizes sum to P, and at most ceil(K_P / K_D) jobs ever share a disk partition."""
    frame = SP(pairs, disks).arrangement(System(processors=128, disks=32))
    counts = np.sum(frame.slots, axis=0)
    sizes = [frame.processors(kind, 1) for kind in range(counts.size)]
    assert counts @ sizes == 128
    assert counts.sum() == pairs == frame.max_running
    assert max(sizes) - min(sizes) <= 1
    assert max(sum(slots) for slots in frame.slots) == -(-pairs // disks)
    assert len(frame.slots) == min(pairs, disks)


@pytest.mark.thorough
def test_the_machine_of_the_paper_takes_every_policy_of_its_figures():
    """R-23, R-42: P = 128, D = 32, M_P = 8, M_D = 1."""
    machine = System(processors=128, disks=32, min_processors=8, min_disks=1)
    assert (machine.max_processor_partitions, machine.max_disk_partitions) == (16, 32)
    laws = {"demand_scv": 2.0, "arrival_scv": 4.0}
    cpu = Burst(512.1, sequential=0.1, law="p")
    program = Program([Phase(io=Burst(128.0, law="min(d, p/4)"), cpu=cpu)])
    work = Workload.from_scv(program, **laws)
    for disks in (1, 4, 32):
        policies = [p(k, disks) for k in (1, 2, 8) for p in (SP, TS)] + [SP(16, disks), DP(disks)]
        for policy in policies:
            rate = 0.5 * capacity(policy, machine, work)
            found = predict(policy, machine, work, arrival_rate=rate)
            assert 0.0 < found.mean_response < np.inf
            assert found.load == pytest.approx(rate * 4.0, rel=1e-12)


# Time sharing, disks


@pytest.mark.parametrize("odd", [None, "sum", 2, np.nan, ["min"]])
def test_odd_options_are_refused(odd):
    with pytest.raises(ModelError, match="ts_cap"):
        TS(1, 1, ts_cap=odd)
    with pytest.raises(ModelError, match="cpu_discipline"):
        TS(1, 1, cpu_discipline=odd)
    with pytest.raises(ModelError, match="disk_discipline"):
        System(processors=1, disks=1, disk_discipline=odd)
    with pytest.raises(ModelError, match="model"):
        predict(SP(1, 1), System(1, 1), workload(1.0, 2.0), load=0.1, model=odd)


@pytest.mark.parametrize("odd", ["x", 0, -1, np.nan, np.inf, True])
def test_odd_memory_is_refused(odd):
    with pytest.raises(ModelError, match="memory"):
        predict(SP(1, 1), System(1, 1), workload(1.0, 2.0), load=0.1, memory=odd)
