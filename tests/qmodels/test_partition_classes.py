"""`predict(model="partition-classes")` and what turns on several partitions make of unlike jobs."""

from itertools import product
from math import factorial, prod

import numpy as np
import pytest

from phasefit import PhaseType, match_moments, mixture
from qmodels.errors import ModelError, UnstableError
from qmodels.policies import SpaceSharing, System, TimeSharing, Workload, capacity, predict
from qmodels.policies.base import work_bound
from qmodels.policies.models.bursts_in_service import chain_size, served
from qmodels.policies.models.job_stages import job_stages, routes
from qmodels.policies.models.merged_classes import MeanClass, merged
from qmodels.policies.models.partition_classes import _ways
from qmodels.policies.models.partition_occupancy import Occupancy, PartitionRooms, disk_slowness
from qmodels.policies.models.sized_jobs import sized_classes
from qmodels.policies.models.turns import _picked, cycles
from qmodels.programs import Burst, Geometric, Phase, Program, WorkingSet, WorkloadMix

ONE = PhaseType.exponential(mean=1.0)


def fixed(io, cpu, bursts):
    """A program of so many pairs of bursts."""
    return Program([WorkingSet(bursts, [Phase(io=io, cpu=cpu)])])


@pytest.mark.parametrize(("partitions", "disks"), [(1, 1), (2, 2), (2, 1)])
def test_turns_of_variable_bursts_on_partitions_are_near_the_exact_chain(partitions, disks):
    """Within a twentieth, where one speed for all is off by a sixth to two fifths."""
    program = Program([Phase(io=1.0, cpu=3.0)], phase_count=Geometric(2.0))
    work = Workload(program, io_bursts=ONE, cpu_bursts=match_moments(1.0, 13.0))
    given = TimeSharing(partitions, disks, 2), System(2 * partitions, disks), work
    rate = 0.6 * capacity(*given, model="exact")
    expected, found, blind = (
        predict(*given, arrival_rate=rate, model=model)
        for model in ("exact", "partition-classes", "time-sharing")
    )
    if disks == partitions:
        assert found.capacity == pytest.approx(expected.capacity, rel=1e-9)
    assert found.mean_response == pytest.approx(expected.mean_response, rel=0.05)
    assert abs(blind.mean_response / expected.mean_response - 1.0) > 0.15


def test_where_no_burst_is_long_the_disk_is_shared_as_the_exact_chain_says():
    """Exponential bursts: within a hundredth, where a disk that nobody else asks is off by four."""
    program = Program([Phase(io=2.0, cpu=2.0)], phase_count=Geometric(4.0))
    given = TimeSharing(3, 1, 2), System(6, 1), Workload(program, io_bursts=ONE, cpu_bursts=ONE)
    found = predict(*given, load=0.5, model="partition-classes")
    expected = predict(*given, arrival_rate=found.arrival_rate, model="exact")
    assert found.mean_response == pytest.approx(expected.mean_response, rel=0.01)


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize(("partitions", "rate", "simulated"), [(2, 0.8, 9.081), (3, 0.85, 5.284)])
def test_large_jobs_of_several_partitions_meet_at_their_disk(partitions, rate, simulated):
    """Simulated to 5 % (60 runs of 250,000 jobs); counts of jobs alone are 13 and 23 % too long."""
    work = Workload(fixed(0.1, 0.1, 8), demand=match_moments(1.0, 40.0))
    found = predict(TimeSharing(partitions, 1, 3), System(partitions, 1), work, arrival_rate=rate)
    assert found.model == "partition-classes"
    assert found.mean_response == pytest.approx(simulated, rel=0.05)


def test_a_shared_disk_serves_as_all_ways_to_mix_its_jobs_say():
    laws = [(0.1, 0.2, 0.7), (0.5, 0.5), (0.0, 0.3, 0.0, 0.7)]
    served, there = np.zeros(3), np.zeros(3)
    for jobs in product(*(range(len(law)) for law in laws)):
        ways = factorial(sum(jobs)) / prod(factorial(h) for h in jobs)
        weight = ways * prod(law[h] for law, h in zip(laws, jobs, strict=True))
        for n, h in enumerate(jobs):
            if h:
                there[n] += weight
                served[n] += weight * h / sum(jobs)
    found = disk_slowness(laws)
    assert [found[law] for law in laws] == pytest.approx((there / served).tolist(), rel=1e-12)


def test_jobs_that_transfer_nothing_are_not_said_to_be_slowed_at_a_disk():
    work = Workload(fixed(0.0, 1.0, 6), demand=match_moments(1.0, 6.0))
    found = predict(TimeSharing(4, 1, 3), System(4, 1), work, load=0.4)
    assert (found.model, found.reduction) == ("partition-classes", "")


@pytest.mark.parametrize(
    ("partitions", "rooms"), [(2, [5, 4, 3]), (3, [7, 6, 5, 4, 3]), (4, [3, 2, 1]), (2, [4, 3, 2])]
)
def test_under_a_cap_room_is_given_up_down_to_an_even_number_before_memory_is(partitions, rooms):
    at = TimeSharing(partitions, 1, rooms[0], ts_cap="min").arrangement(System(12, 1))
    assert at.max_running == rooms[0]
    tried = [(way.multiprogramming, remembers) for way, remembers in _ways(at)]
    assert tried == [*((most, True) for most in rooms), (rooms[0], False)]


def test_one_partition_gives_up_memory_before_room():
    ways = _ways(TimeSharing(1, 1, 14).arrangement(System(2, 1)))
    tried = [(way.multiprogramming, remembers) for way, remembers in ways]
    assert tried == [(most, remembers) for most in (14, 13, 12) for remembers in (True, False)]


def test_who_computes_is_drawn_anew_where_it_cannot_be_remembered():
    work = Workload(fixed(1.0, 1.0, 8), demand=match_moments(1.0, 40.0), arrivals=match_moments(1.0, 3.0))
    found = predict(TimeSharing(3, 3, 4), System(3, 3), work, load=0.3)
    assert found.model == "partition-classes"
    assert "drawn anew" in found.reduction


@pytest.mark.parametrize("of", ["io_bursts", "cpu_bursts"])
def test_bursts_of_stages_in_a_row_are_not_followed_whichever_kind_has_them(of):
    laws = dict.fromkeys(("io_bursts", "cpu_bursts"), match_moments(1.0, 5.0))
    program = Program([Phase(io=1.0, cpu=3.0)], phase_count=Geometric(2.0))
    given = TimeSharing(2, 2, 2), System(4, 2)
    predict(*given, Workload(program, **laws), load=0.2, model="partition-classes")
    work = Workload(program, **laws | {of: PhaseType.erlang(phases=2, mean=1.0)})
    with pytest.raises(ModelError, match="not too regular"):
        predict(*given, work, load=0.2, model="partition-classes")


def test_on_one_partition_of_one_job_each_it_is_the_queue_of_one_server():
    """Without I/O jobs of one burst are served in order of arrival, whoever is on the partition."""
    program = Program([Phase(io=0.0, cpu=1.0)])
    work = Workload(program, demand=match_moments(1.0, 5.0))
    found = predict(TimeSharing(1, 1, 2), System(1, 1), work, load=0.5, model="partition-classes")
    # M/G/1: half the second moment over the idle share
    assert found.mean_response == pytest.approx(1.0 + 0.5 * 5.0 / 2.0 / 0.5, rel=1e-9)
    assert found.capacity == pytest.approx(1.0, rel=1e-9)


@pytest.mark.thorough
def test_a_mix_with_a_large_program_is_followed_by_partition():
    mix = WorkloadMix([fixed(1.0, 30.0, 6), fixed(2.0, 0.5, 6)], weights=[0.1, 0.9])
    work = Workload(mix, demand=match_moments(1.0, 3.0))
    found = predict(TimeSharing(2, 2, 2), System(4, 2), work, load=0.4)
    assert found.model == "partition-classes"
    alone = float(mix.mean_time(2.0, 1.0))
    assert found.mean_jobs == pytest.approx(found.arrival_rate * found.mean_response, rel=1e-9)
    assert found.mean_response > alone


def test_work_that_is_done_is_work_that_arrives():
    mix = WorkloadMix([fixed(1.0, 30.0, 6), fixed(2.0, 0.5, 6)], weights=[0.1, 0.9])
    work = Workload(mix, demand=match_moments(1.0, 3.0))
    machine = System(4, 2)
    found = predict(TimeSharing(2, 2, 2), machine, work, load=0.4, model="partition-classes")
    assert found.processor_utilisation == pytest.approx(
        found.arrival_rate * float(mix.mean_cpu(2.0, 1.0)) * 2.0 / machine.processors, rel=1e-6
    )


def test_three_partitions_keep_the_one_disk_that_they_share_busy_and_no_more():
    """A transfer of a second for each job: with six of them there, nearly one job a second."""
    work = Workload(Program([Phase(io=1.0, cpu=1.0)]), demand=match_moments(1.0, 3.0))
    most = capacity(TimeSharing(3, 1, 2), System(3, 1), work, model="partition-classes")
    assert 0.9 < most < 1.0


def test_a_program_of_a_mix_that_transfers_nothing_is_as_one_that_transfers_next_to_nothing():
    found, near = (
        predict(
            TimeSharing(1, 1, 2),
            System(1, 1),
            Workload(WorkloadMix([fixed(io, 0.5, 6), fixed(2.0, 30.0, 6)], weights=[0.9, 0.1])),
            load=0.4,
            model="partition-classes",
        )
        for io in (0.0, 1e-7)
    )
    assert found.mean_response == pytest.approx(near.mean_response, rel=1e-6)


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize(("partitions", "jobs"), [(1, 2), (2, 4)])
def test_long_jobs_that_never_transfer_are_as_those_that_transfer_next_to_nothing(partitions, jobs):
    """Where all of a partition's jobs are such, one of them computes at any time."""

    def answer(io):
        mix = WorkloadMix([fixed(io, 30.0, 1), fixed(2.0, 0.5, 6)], weights=[0.1, 0.9])
        work = Workload(mix, demand=match_moments(1.0, 4.0))
        given = TimeSharing(partitions, 1, jobs), System(partitions, 1), work
        return predict(*given, arrival_rate=0.037 * partitions, model="partition-classes")

    never, *nearly = map(answer, (0.0, 1e-9, 1e-5, 1e-3))
    for seconds, found in zip((1e-9, 1e-5, 1e-3), nearly, strict=True):
        assert found.mean_response == pytest.approx(never.mean_response, rel=1e-5 + seconds)


@pytest.mark.parametrize("model", ["partition-classes", "time-sharing"])
def test_no_capacity_is_beyond_the_work_that_the_machine_can_do(model):
    """Four partitions on one disk, by classes, came to half a per cent more."""
    given = TimeSharing(4, 1, 2), System(4, 1), Workload(fixed(1.0, 3.0, 1), match_moments(1.0, 3.0))
    assert capacity(*given, model=model) <= work_bound(System(4, 1), given[2].program)
    with pytest.raises(UnstableError):
        predict(*given, load=1.0, model=model)


def test_a_machine_of_too_many_allotments_for_a_bound_has_a_capacity():
    work = Workload(fixed(1.0, 3.0, 2), match_moments(1.0, 3.0))
    assert capacity(TimeSharing(2, 2, 2), System(200_000, 20_000), work, model="time-sharing") > 0.0


def test_too_many_jobs_are_refused_in_words():
    mix = WorkloadMix([fixed(1.0, 30.0, 6), fixed(2.0, 0.5, 6)], weights=[0.1, 0.9])
    work = Workload(mix, demand=match_moments(1.0, 3.0))
    with pytest.raises(ModelError, match="simulate"):
        predict(TimeSharing(16, 4, 8), System(64, 8), work, load=0.3, model="partition-classes")


def test_classes_that_become_one_keep_the_mean_job():
    mix = WorkloadMix([fixed(1.0, 30.0, 6), fixed(2.0, 0.5, 3)], weights=[0.1, 0.9])
    work = Workload(mix, demand=match_moments(1.0, 6.0))
    classes = sized_classes(work, 1.0, 1.0)
    steps = list(merged(classes, work, 1.0, 1.0))
    assert [len(step) for step in steps] == [4, 3, 2]
    for step in steps:
        means = [MeanClass.of(each, work, 1.0, 1.0) for each in step]
        assert sum(x.weight for x in means) == pytest.approx(1.0)
        assert sum(x.weight * x.cpu for x in means) == pytest.approx(float(mix.mean_cpu(1.0, 1.0)))
        assert sum(x.weight * x.io for x in means) == pytest.approx(float(mix.mean_io(1.0, 1.0)))


def test_who_is_next_is_as_often_as_bursts_end_with_others_waiting():
    """The ends of a class's bursts that leave nobody waiting are the rest."""
    found = served((2, 1), (1.0, 20.0), (2.0, 2.0), False)
    ended = found.always / [1.0, 20.0]
    assert (found.after >= 0.0).all()
    assert (found.after.sum(axis=1) < ended).all()
    # one job of the second class is never next after itself
    assert found.after[1, 1] == 0.0
    alone = served((1,), (3.0,), (1.0,), True)
    assert alone.after.sum() == 0.0
    assert alone.always[0] == pytest.approx(0.75)


def test_turns_of_many_jobs_are_those_in_order_where_order_does_not_matter():
    """Of bursts of one length, or one class; unlike ones behind each other differ by up to 12 %."""
    ratio = np.exp([-1.0, 0.0, 0.5, 2.0])  # at these nothing is joined
    for ones, twos in ((4, 1), (2, 2), (3, 0)):
        exact, found = (each(ones, twos, (1.0, 1.0), ratio) for each in (cycles, _picked))
        assert found == pytest.approx(exact, rel=1e-9)
    unlike = (0.5, 10.5)
    exact, found = (each(3, 3, unlike, ratio) for each in (cycles, _picked))
    assert found == pytest.approx(exact, rel=0.12)


def test_the_occupancy_beside_a_poisson_stream_is_that_of_its_rate():
    found = Occupancy(PartitionRooms((2,), 2, 4))

    def rates(held, k):
        return {j: 1.0 - 0.5**j for j in set(held) if j}

    one = found.solved(rates, 0.7)
    two = found.solved(rates, 0.7, ONE)
    for name in ("number", "rate", "starts", "replaced", "seen"):
        assert getattr(two, name) == pytest.approx(getattr(one, name), rel=1e-9), name
    bursty = found.solved(rates, 0.7, match_moments(1.0, 9.0))
    assert bursty.seen.sum() == pytest.approx(one.seen.sum())
    assert bursty.seen[4].sum() > one.seen[4].sum()


@pytest.mark.parametrize("scv", [1.0, 8.0])
def test_few_jobs_are_on_the_larger_of_unlike_partitions(scv):
    """With one job at a time each is on the partition with two processors more."""
    program = Program([Phase(io=1.0, cpu=Burst(8.0, law="p"))])
    work = Workload(program, demand=match_moments(1.0, 1.0 + scv))
    found = predict(TimeSharing(2, 1, 2), System(3, 1), work, arrival_rate=1e-5)
    assert found.mean_response == pytest.approx(float(program.mean_time(2, 1)), rel=1e-3)
    busier = predict(TimeSharing(2, 1, 2), System(3, 1), work, load=0.3)
    assert busier.mean_response > found.mean_response


@pytest.mark.thorough
@pytest.mark.parametrize("policy", [TimeSharing(4, 2, 4), TimeSharing(8, 4, 3, cpu_discipline="ps")], ids=str)
def test_percentiles_of_a_mix_know_its_programs(policy):
    """Of short and long jobs that hardly meet the median is that of a short one alone, nearly."""
    mix = WorkloadMix([fixed(0.5, 0.5, 8), fixed(50.0, 50.0, 8)], weights=[0.9, 0.1])
    for demand in (PhaseType.erlang(phases=3, mean=1.0), match_moments(1.0, 3.0)):
        work = Workload(mix, demand=demand)
        found = predict(policy, System(16, 8), work, load=0.02)
        law = mixture([0.9, 0.1], [demand.scale(1.0), demand.scale(100.0)])
        slower = found.mean_response / (0.9 * 1.0 + 0.1 * 100.0)
        assert found.percentile(0.5) == pytest.approx(slower * float(law.ppf(0.5)), rel=0.05)
        assert found.response.percentile(0.5) == pytest.approx(found.percentile(0.5), rel=1e-6)
        assert found.response.mean == pytest.approx(found.mean_response, rel=0.01)


@pytest.mark.thorough
def test_percentiles_of_bursts_follow_a_job_by_more_than_the_law_of_the_others():
    """A job of 24 regular bursts alone on a machine takes a time that hardly varies."""
    erlang = PhaseType.erlang(phases=2, mean=1.0)
    program = fixed(1.0, 4.0, 6)
    work = Workload(program, io_bursts=erlang, cpu_bursts=erlang)
    found = predict(SpaceSharing(32, 16), System(32, 16), work, load=0.01)
    assert "taken as" in found.reduction
    alone = job_stages(routes(program, 1.0, 1.0), erlang, erlang).law()
    slower = found.mean_response / alone.mean
    assert found.percentile(0.95) == pytest.approx(slower * float(alone.ppf(0.95)), rel=0.02)


@pytest.mark.parametrize(("jobs", "states"), [((1,), 2), ((0, 2), 3), ((2, 1), 8)])
def test_states_of_turns_are_how_many_transfer_and_which_class_computes(jobs, states):
    """One with nobody at the processor; else one for each class there that may be served."""
    assert chain_size(jobs) == states
