"""`predict(model="decomposition")`: the paper's model, and how far it is from the exact chain."""

import numpy as np
import pytest

from phasefit import PhaseType, match_moments
from qmodels.errors import ModelError, UnstableError
from qmodels.networks import ClosedNetwork
from qmodels.policies import (
    DynamicPartitioning,
    SpaceSharing,
    System,
    TimeSharing,
    Workload,
    capacity,
    predict,
)
from qmodels.policies.models.build import built_model
from qmodels.policies.models.decomposition import MOST_STATES, JobShape, Slowdowns, _moments
from qmodels.policies.models.disk_counts import (
    DiskPartitions,
    count_states,
    running_on_disks,
)
from qmodels.policies.models.job_stages import JobStages, job_stages, routes
from qmodels.programs import Burst, Geometric, Phase, Program

SP, DP, TS = SpaceSharing, DynamicPartitioning, TimeSharing
ONE = PhaseType.exponential(mean=1.0)
HYPER = match_moments(1.0, 5.0)
MACHINE = System(processors=12, disks=1)


def workload(io, cpu, phases, *, mean=None, io_bursts=ONE, cpu_bursts=ONE):
    listed = [Phase(io=Burst(io, law="1"), cpu=Burst(cpu, law="1"))] * phases
    count = None if mean is None else Geometric(mean)
    return Workload(Program(listed, phase_count=count), io_bursts=io_bursts, cpu_bursts=cpu_bursts)


def error(policy, work, fraction, machine=MACHINE):
    """Relative error of the mean response, at a fraction of the capacity."""
    rate = fraction * built_model(policy, machine, work, "exact").capacity
    near, exact = (
        predict(policy, machine, work, arrival_rate=rate, model=model).mean_response
        for model in ("decomposition", "exact")
    )
    return near / exact - 1.0


#: Relative errors in per cent as docs/explanation/policies.md prints them: C = 2, I = 1,
#: exponential bursts, at loads .5 and .8 of the capacity.
TABLE = {
    (2, 1): (-0.06, 0.43),
    (2, 2): (-0.07, 0.21),
    (2, 4): (-0.06, 0.09),
    (3, 1): (-1.21, -1.74),
    (3, 2): (-0.67, -0.96),
    (3, 4): (-0.37, -0.52),
}


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize(("partitions", "phases"), TABLE)
def test_the_errors_are_those_of_the_documentation(partitions, phases):
    work = workload(1.0, 2.0, phases)
    for fraction, percent in zip((0.5, 0.8), TABLE[partitions, phases], strict=True):
        assert 100 * error(SP(partitions, 1), work, fraction) == pytest.approx(percent, abs=0.006)


#: The largest errors in per cent that the documentation prints for N = 1, with C, I and load.
LARGEST = {
    "exponential": (ONE, ONE, 1.0, 2.0, -7.7),
    "computation of scv 4": (ONE, HYPER, 2.0, 1.0, 8.7),
    "transfers of scv 4": (HYPER, ONE, 1.0, 1.0, -19.9),
    "both of scv 4": (HYPER, HYPER, 1.0, 2.0, -15.2),
}


@pytest.mark.parametrize("case", LARGEST)
def test_the_largest_errors_are_those_of_the_documentation(case):
    io_bursts, cpu_bursts, cpu, io, percent = LARGEST[case]
    work = workload(io, cpu, 1, io_bursts=io_bursts, cpu_bursts=cpu_bursts)
    assert 100 * error(SP(3, 1), work, 0.8) == pytest.approx(percent, abs=0.06)


@pytest.mark.thorough
@pytest.mark.parametrize("io_bursts", [ONE, HYPER])
def test_the_error_falls_with_the_number_of_phases(io_bursts):
    """A job with more bursts meets the disk in equilibrium more nearly."""
    errors = [abs(error(SP(3, 1), workload(2.0, 1.0, n, io_bursts=io_bursts), 0.8)) for n in (1, 2, 4)]
    assert errors == sorted(errors, reverse=True)
    assert errors[2] < 0.6 * errors[0]


@pytest.mark.parametrize("policy", [SP(2, 1), SP(3, 1), SP(4, 2), DP(1), DP(2)])
def test_the_capacity_is_that_of_the_closed_network(policy):
    """With all partitions taken the flow equivalents make a job as long as the network does."""
    machine = System(processors=4, disks=2)
    work = workload(1.0, 2.0, 2)
    found = built_model(policy, machine, work, "decomposition").capacity
    if policy.label in ("SP(2,1)", "SP(3,1)", "DP(1)"):
        assert found == pytest.approx(capacity(policy, machine, work), rel=1e-10)
    else:  # two jobs on each disk partition most of the time, not always
        assert found == pytest.approx(capacity(policy, machine, work), rel=0.01)


def test_first_come_first_served_disks_carry_less_than_shared_ones():
    """R-54: processor sharing underestimates contention for transfers of scv above one."""
    work = workload(
        1.0,
        2.0,
        1,
        mean=5.0,
        io_bursts=match_moments(1.0, 10.0),
        cpu_bursts=PhaseType.erlang(phases=3, mean=1.0),
    )
    capacities = {}
    for discipline in ("ps", "fcfs", "siro"):
        machine = System(processors=4, disks=1, disk_discipline=discipline)
        capacities[discipline] = 5 * built_model(SP(4, 1), machine, work, "decomposition").capacity
    # throughputs of the closed network of four jobs, specification sections 4 and R-54
    assert capacities["ps"] == pytest.approx(0.90476190, abs=5e-9)
    assert capacities["fcfs"] == pytest.approx(0.83859089, abs=5e-9)
    assert capacities["siro"] == pytest.approx(capacities["fcfs"], rel=1e-9)


@pytest.mark.parametrize("disk", [ONE, HYPER, PhaseType.erlang(phases=2, mean=1.0)])
def test_the_sojourn_at_the_disk_is_matched_in_two_moments(disk):
    """One phase on one disk partition: a job is a sojourn of the closed network, then a burst."""
    work = workload(1.0, 2.0, 1, io_bursts=disk)
    frame = SP(3, 1).arrangement(MACHINE).at_mean_sizes()
    slowed = Slowdowns(work.program, frame, disk, ONE)
    assert slowed.moments == (2, 1)
    shape = JobShape(lambda p, d: routes(work.program, p, d), disk, ONE)
    for jobs in (1, 2, 3):
        sojourn = ClosedNetwork(jobs, delay=ONE.scale(2.0), disk=disk).solve().sojourn
        law = slowed.stages(shape, 2, False)(0, jobs, jobs).law()
        assert law.mean == pytest.approx(sojourn.mean + 2.0, rel=1e-12)
        variance = sojourn.moment(2) - sojourn.mean**2 + 4.0
        assert law.var == pytest.approx(variance, rel=1e-10)


@pytest.mark.parametrize("mean", [None, 4.5])
def test_a_whole_program_has_the_moments_of_its_stages(mean):
    laws = HYPER, PhaseType.erlang(phases=3, mean=1.0)
    listed = [Phase(io=Burst(1.0, law="1"), cpu=Burst(2.0, law="1")), Phase(io=3.0, cpu=0.5)]
    program = Program(listed, phase_count=None if mean is None else Geometric(mean))
    (route,) = routes(program, 1, 1)
    law = job_stages([route], *laws).law()
    assert _moments(route, *laws) == pytest.approx((law.mean, law.moment(2)), rel=1e-12)


@pytest.mark.thorough
def test_disk_counts_are_kept_where_they_fit_and_told_where_they_do_not():
    machine = System(processors=32, disks=8)
    small = workload(1.0, 2.0, 1, mean=4.0)
    assert predict(SP(4, 2), machine, small, arrival_rate=0.05, model="decomposition").reduction == ""
    more = workload(1.0, 2.0, 1, mean=4.0, io_bursts=HYPER)
    large = predict(SP(16, 4), machine, more, arrival_rate=0.05, model="decomposition")
    assert "spread evenly" in large.reduction
    assert large.method == "approximate"
    assert large.states <= MOST_STATES


def test_the_counts_of_the_specification_come_out():
    """Specification 8.1: 16 jobs on 4 disk partitions of 4 are 70 multisets of counts in all."""
    frame = SP(16, 4).arrangement(System(processors=16, disks=4))
    on_disks = DiskPartitions.of(frame, shared=False, lumped=True)
    one = JobStages(np.ones(1), np.zeros((1, 1)), np.ones(1), np.ones(1, dtype=bool))
    counted = count_states(on_disks, 1)
    assert sum(counted) == 70
    assert counted == running_on_disks(on_disks, lambda kind, jobs, running: one).sizes


@pytest.mark.thorough
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("policy", [SP(4, 2), SP(5, 2), SP(3, 3), DP(2), SP(4, 2, sizes=(5, 3, 2, 2))])
@pytest.mark.parametrize("lumped", [True, False])
def test_states_are_counted_before_they_are_built(policy, order, lumped):
    frame = policy.arrangement(System(processors=12, disks=6, min_processors=2))
    on_disks = DiskPartitions.of(frame, shared=False, lumped=lumped)
    stages = JobStages(
        np.full(order, 1 / order),
        np.ones((order, order)),
        np.ones(order),
        np.ones(order, dtype=bool),
    )
    built = running_on_disks(on_disks, lambda kind, jobs, running: stages)
    counted = count_states(on_disks, order)
    if isinstance(policy, SP):
        assert counted == built.sizes
    else:  # no more than so many jobs ever meet on a disk partition
        assert all(a >= b for a, b in zip(counted, built.sizes, strict=True))


@pytest.mark.thorough(but=["policy2-work2-exponential", "policy1-work1-taken as one law"])
@pytest.mark.parametrize(
    ("policy", "work", "said"),
    [
        (SP(16, 4), workload(1.0, 2.0, 4), "taken as one law"),
        (SP(16, 16), workload(1.0, 2.0, 4), "taken as one law"),
        (DP(4), workload(1.0, 2.0, 1, mean=3.0, io_bursts=match_moments(1.0, 1.1)), "exponential"),
        (SP(8, 1), workload(1.0, 2.0, 12), "taken as one law"),
    ],
)
def test_what_is_simplified_is_told_and_the_means_are_kept(policy, work, said):
    machine = System(processors=16, disks=16)
    rate = 0.3 * capacity(policy, machine, work)
    found = predict(policy, machine, work, arrival_rate=rate, model="decomposition")
    assert said in found.reduction
    assert found.method == "approximate"
    assert found.error_bound is None
    assert found.states <= MOST_STATES
    if isinstance(policy, SP):
        p = 16 / policy.processor_partitions
        busy = rate * float(work.program.mean_cpu(p, 1)) * p / 16
        assert found.processor_utilisation == pytest.approx(busy, rel=1e-9)
    assert found.capacity == pytest.approx(capacity(policy, machine, work), rel=0.02)


@pytest.mark.thorough
def test_disks_transfer_for_as_long_as_the_jobs_bring():
    """Nearly so: in equilibrium with the jobs there, which a disk is not quite."""
    work = workload(1.0, 2.0, 2)
    machine = System(processors=4, disks=2)
    for policy in (SP(3, 1), SP(4, 2)):
        rate = 0.7 * capacity(policy, machine, work)
        found = predict(policy, machine, work, arrival_rate=rate, model="decomposition")
        moving = rate * 2.0 / policy.disk_partitions
        assert found.disk_utilisation == pytest.approx(moving, rel=0.01)


@pytest.mark.thorough
def test_light_load_gives_the_time_of_a_job_alone():
    for policy in (SP(3, 1), SP(4, 2), DP(2)):
        work = workload(1.0, 2.0, 2, io_bursts=HYPER)
        machine = System(processors=4, disks=2)
        found = predict(policy, machine, work, arrival_rate=1e-12, model="decomposition")
        assert found.mean_response == pytest.approx(6.0, rel=1e-9)


def test_time_sharing_has_no_decomposition_and_says_what_it_has():
    work = workload(1.0, 2.0, 1)
    with pytest.raises(ModelError, match="speed-scaled"):
        predict(TS(1, 1, 2), MACHINE, work, arrival_rate=0.01, model="decomposition")
    with pytest.raises(UnstableError, match="stable only below"):
        predict(SP(2, 1), MACHINE, work, arrival_rate=9.0, model="decomposition")


@pytest.mark.parametrize("policy", [SP(3, 1), SP(4, 4), DP(1)])
def test_programs_without_transfers_or_without_computation_have_answers(policy):
    machine = System(processors=4, disks=4)
    for io, cpu in ((0.0, 2.0), (2.0, 0.0)):
        work = workload(io, cpu, 2)
        rate = 0.6 * capacity(policy, machine, work)
        found = predict(policy, machine, work, arrival_rate=rate, model="decomposition")
        assert np.isfinite(found.mean_response)
        assert found.capacity == pytest.approx(capacity(policy, machine, work), rel=1e-9)


def test_route_of_a_job_goes_on_as_the_law_of_its_phases_says():
    # One, two or three phases with chances of 1/4, 1/4 and 1/2: 3/4 go on, then 2/3 of these, then none.
    phases = [Phase(io=Burst(1.0), cpu=Burst(2.0)), Phase(io=Burst(3.0), cpu=Burst(4.0))]
    (route,) = routes(Program(phases, phase_count=(0.25, 0.25, 0.5)), 1.0, 1.0)
    assert route.go_on == pytest.approx([0.75, 2 / 3, 0.0])
    assert (route.io.tolist(), route.cpu.tolist()) == ([1.0, 3.0, 1.0], [2.0, 4.0, 2.0])
    assert route.follows.tolist() == [1, 2, 0]
