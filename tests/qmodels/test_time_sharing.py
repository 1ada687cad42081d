"""Time sharing: its exact chain, its capacities in product form, its cap."""

from itertools import product
from math import factorial

import pytest

from phasefit import PhaseType, match_moments
from qmodels.errors import ModelError
from qmodels.policies import SpaceSharing, System, TimeSharing, Workload, capacity, predict
from qmodels.policies.models.build import built_model
from qmodels.policies.models.time_sharing_chain import Held, _Rules
from qmodels.programs import Burst, Geometric, Phase, Program

SP, TS = SpaceSharing, TimeSharing
ONE = PhaseType.exponential(mean=1.0)
HYPER = match_moments(1.0, 5.0)
MACHINE = System(processors=4, disks=4)


def workload(io, cpu, *, mean=5.0, cpu_bursts=ONE, io_bursts=ONE, disks_speed="1"):
    phase = Phase(io=Burst(io, law=disks_speed), cpu=Burst(cpu, law="1"))
    program = Program([phase], phase_count=Geometric(mean))
    return Workload(program, io_bursts=io_bursts, cpu_bursts=cpu_bursts)


def generating_function(cpu, io, held):
    """Specification 8.3: X_c = G(m - e_c) / G(m), G(m) = sum_J J! [x^J] prod_c g(x)."""

    def normaliser(jobs):
        total = 0.0
        for at_disk in product(*(range(m + 1) for m in jobs)):
            term = float(factorial(sum(at_disk)))
            for m, j in zip(jobs, at_disk, strict=True):
                term *= cpu ** (m - j) * io**j / factorial(j)
            total += term
        return total

    full, found = normaliser(held), 0.0
    for c, m in enumerate(held):
        if m:
            found += normaliser([x - (i == c) for i, x in enumerate(held)]) / full
    return found


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("discipline", ["fcfs", "ps"])
@pytest.mark.parametrize(
    ("pairs", "disks", "level"), [(1, 1, 1), (1, 1, 2), (1, 1, 4), (2, 1, 2), (2, 2, 2), (3, 1, 2)]
)
@pytest.mark.parametrize(("io", "cpu"), [(1.0, 2.0), (3.0, 0.5)])
def test_three_ways_to_the_capacity_agree(pairs, disks, level, io, cpu, discipline):
    """The chain saturated, the closed network, the generating function."""
    policy = TS(pairs, disks, level, cpu_discipline=discipline)
    work = workload(io, cpu)
    closed = 0.0
    for disk in range(disks):
        share = len(range(disk, pairs, disks))
        closed += generating_function(cpu, io, [level] * share) / 5.0
    assert capacity(policy, MACHINE, work) == pytest.approx(closed, rel=1e-10)
    built = built_model(policy, MACHINE, work, "exact")
    assert built.capacity == pytest.approx(closed, rel=1e-10)


@pytest.mark.parametrize("held", [[3, 1], [2, 0, 1], [5], [4, 3, 2, 1], [2] * 6])
def test_any_counts_have_the_capacity_of_the_generating_function(held):
    from qmodels.networks import disk_group_throughput

    for cpu, io in ((2.0, 1.0), (0.1, 3.0), (1.0, 1.0)):
        expected = generating_function(cpu, io, held)
        assert disk_group_throughput(cpu, io, held) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("ratio", [0.01, 0.2, 0.5, 1.0, 3.0, 40.0])
def test_the_gain_of_a_second_job_is_largest_at_equal_computation_and_transfer(ratio):
    """R-57: X_2 / X_1 = (1 + r)^2 / (1 + r + r^2) <= 4/3, with equality at r = 1."""
    work = workload(1.0, ratio)
    gain = capacity(TS(1, 1, 2), MACHINE, work) / capacity(TS(1, 1, 1), MACHINE, work)
    assert gain == pytest.approx((1 + ratio) ** 2 / (1 + ratio + ratio**2), rel=1e-12)
    assert gain <= 4 / 3 + 1e-12
    assert ratio == 1.0 or gain < 4 / 3 - 1e-4


@pytest.mark.thorough
def test_more_jobs_at_a_time_never_carry_less():
    for work in (workload(1.0, 2.0), workload(3.0, 0.5)):
        for pairs, disks in ((1, 1), (2, 1), (2, 2), (4, 2)):
            found = [capacity(TS(pairs, disks, m), MACHINE, work) for m in range(1, 7)]
            assert found == sorted(found)
            assert found[0] == pytest.approx(capacity(SP(pairs, disks), MACHINE, work), rel=1e-12)


def test_the_exact_chain_with_one_job_at_a_time_is_that_of_space_sharing():
    """With one disk partition, or one each, both rules start a job on the same partition."""
    for pairs, disks in ((1, 1), (2, 1), (3, 1), (2, 2)):
        rate = 0.6 * capacity(SP(pairs, disks), MACHINE, workload(1.0, 2.0))
        space, timed = (
            predict(policy, MACHINE, workload(1.0, 2.0), arrival_rate=rate, model="exact")
            for policy in (SP(pairs, disks), TS(pairs, disks, 1))
        )
        assert timed.mean_response == pytest.approx(space.mean_response, rel=1e-11)


def test_the_cap_of_section_3_5_is_an_option():
    """E17: M K_P jobs by default, M min(K_P, K_D) as printed."""
    work = workload(1.0, 2.0)
    assert TS(2, 1, 2).max_running == 4
    assert TS(2, 1, 2, ts_cap="min").max_running == 2
    for pairs, disks in ((1, 1), (2, 2), (2, 4)):
        one, other = (
            predict(TS(pairs, disks, 2, ts_cap=cap), MACHINE, work, arrival_rate=0.05)
            for cap in ("product", "min")
        )
        assert one.mean_response == other.mean_response
    most = [capacity(TS(4, 1, 2, ts_cap=cap), MACHINE, work) for cap in ("product", "min")]
    assert most[1] < most[0]
    assert TS(2, 1, 2, ts_cap="min").label == "TS(2,1;M=2;cap=min)"
    assert capacity(TS(4, 1, 2, ts_cap="min"), MACHINE, work) == pytest.approx(
        generating_function(2.0, 1.0, [1, 1, 0, 0]) / 5.0, rel=1e-12
    )


MOVING, COMPUTING = Held((0,), ()), Held((), (1,))
EMPTY = Held((), ())


@pytest.mark.parametrize(
    ("state", "disks", "expected"),
    [
        ((EMPTY, EMPTY), 2, 0),  # both idle, the first one
        ((COMPUTING, EMPTY), 2, 1),  # (1) the pair that is idle throughout
        ((COMPUTING, EMPTY), 1, 1),
        ((MOVING, EMPTY), 2, 1),
        ((MOVING, EMPTY), 1, 1),  # (2) one idle each: the one with fewer jobs
        ((MOVING, COMPUTING), 2, 0),  # (2) one idle each, one job each: the first one
        ((MOVING, COMPUTING), 1, 0),  # (2) before (3): the disk is busy for both
        ((Held((0,), (1,)), COMPUTING), 2, 1),  # (2): the second disk is idle
        ((Held((), (1, 1)), Held((0, 0), ())), 2, None),  # (4)
        ((Held((0,), (1,)), COMPUTING), 1, 1),  # (3): both busy, room on the second
        ((COMPUTING, MOVING), 1, 1),  # (2) goes before (3), whatever the order
    ],
)
def test_the_four_cases_of_the_placement(state, disks, expected):
    """R-41."""
    policy = TS(2, disks, 2)
    rules = _Rules(policy.arrangement(System(2, 2)), workload(1.0, 2.0), ONE, ONE)
    if expected is None:
        assert sum(len(h.moving) + len(h.computing) for h in state) == policy.max_running
    else:
        assert rules.place(state) == expected


def test_no_partition_ever_holds_more_than_its_level():
    policy = TS(2, 1, 2)
    rules = _Rules(policy.arrangement(System(2, 2)), workload(1.0, 2.0, cpu_bursts=HYPER), ONE, HYPER)
    todo, seen = [((EMPTY, EMPTY), 0)], set()
    while todo:
        state, k = todo.pop()
        if state in seen:
            continue
        seen.add(state)
        held = [len(h.moving) + len(h.computing) for h in state]
        assert max(held) <= 2
        assert sum(held) == k <= 4
        todo += [(other, to) for to, other, _ in rules.moves(state, k)]
    counted = rules.count_states(4)
    assert len(seen) == sum(counted)


@pytest.mark.thorough
def test_states_are_counted_before_they_are_built():
    for discipline in ("fcfs", "ps"):
        policy = TS(2, 2, 3, cpu_discipline=discipline)
        rules = _Rules(policy.arrangement(System(2, 2)), workload(1.0, 2.0, cpu_bursts=HYPER), HYPER, HYPER)
        built = built_model(
            policy, System(2, 2), workload(1.0, 2.0, io_bursts=HYPER, cpu_bursts=HYPER), "exact"
        )
        assert rules.count_states(6) == built.running.sizes


def test_turns_cost_time_where_bursts_vary_and_none_where_they_are_exponential():
    """In order of arrival a short burst waits for a long one; sharing lets it pass."""
    for bursts, same in ((ONE, True), (HYPER, False)):
        work = workload(1.0, 2.0, mean=2.0, cpu_bursts=bursts)
        rate = 0.6 * built_model(TS(1, 1, 3), MACHINE, work, "exact").capacity
        turns, sharing = (
            predict(
                TS(1, 1, 3, cpu_discipline=x), MACHINE, work, arrival_rate=rate, model="exact"
            ).mean_response
            for x in ("fcfs", "ps")
        )
        if same:
            assert turns == pytest.approx(sharing, rel=1e-11)
        else:
            assert turns > 1.01 * sharing


def test_the_scalable_model_is_near_the_exact_chain():
    """Specification 9.7: at most 4.5 per cent on TS(1,1) with exponential bursts."""
    work = workload(1.0, 2.0)
    program = Program([Phase(io=Burst(5.0, law="1"), cpu=Burst(10.0, law="1"))])
    for policy in (TS(1, 1, 2), TS(1, 1, 3), TS(2, 1, 2), TS(2, 2, 2)):
        for fraction in (0.2, 0.5, 0.8, 0.95):
            rate = fraction * capacity(policy, MACHINE, work)
            exact = predict(policy, MACHINE, work, arrival_rate=rate, model="exact")
            near = predict(policy, MACHINE, Workload(program), arrival_rate=rate, model="speed-scaled")
            assert near.method == "approximate"
            assert near.mean_response == pytest.approx(exact.mean_response, rel=0.045)


def test_the_order_of_turns_needs_a_transfer_between_bursts():
    phases = [Phase(io=1.0, cpu=2.0), Phase(io=0.0, cpu=1.0)]
    work = Workload(Program(phases), io_bursts=ONE)
    with pytest.raises(ModelError, match='cpu_discipline="ps"'):
        predict(TS(1, 1, 2), MACHINE, work, arrival_rate=0.1, model="exact")
    found = predict(TS(1, 1, 2, cpu_discipline="ps"), MACHINE, work, arrival_rate=0.1, model="exact")
    assert found.method == "exact"
