"""Jobs that share disk partitions or lie on unequal ones, and large jobs that block a disk."""

from dataclasses import replace

import numpy as np
import pytest

from phasefit import PhaseType
from qmodels.errors import ModelError
from qmodels.networks.product_form import disk_group_throughput
from qmodels.policies import (
    DynamicPartitioning,
    SpaceSharing,
    System,
    TimeSharing,
    Workload,
    capacity,
    predict,
)
from qmodels.policies.base import running_jobs
from qmodels.policies.models.base import Case
from qmodels.policies.models.blocked_disks import _Blocked, _counted, _more_than, _Moves
from qmodels.policies.models.job_classes import counted_jobs
from qmodels.policies.models.larger_partitions import on_each_kind, on_the_larger
from qmodels.programs import Burst, Phase, Program, WorkingSet, WorkloadMix

FCFS = System(16, 4, disk_discipline="fcfs")
VARIABLE = Workload.from_scv(Program([WorkingSet(2, [Phase(io=1.0, cpu=0.3)])]), demand_scv=20.0)


def case_of(policy, system, workload):
    return Case(policy, system, workload, running_jobs(policy, system, workload))


def test_the_larger_partition_is_taken_first_as_a_first_server_is():
    # of servers that are tried in order, many enough, the first is busy a / (1 + a) of the time
    offered, most = 1.5, 40
    on = on_the_larger(1, most - 1, np.ones((2, most + 1)), offered, most)
    poisson = np.cumprod([1.0, *(offered / np.arange(1, most + 1))])
    assert poisson @ on / poisson.sum() == pytest.approx(offered / (1.0 + offered), rel=1e-9)
    assert on[0] == 0.0
    assert np.all(np.diff(on) > 0.0)


def test_beyond_a_cap_jobs_wait_for_the_larger_partitions():
    """Three of four partitions at most, three of them alike: the small one is taken in passing only."""
    kinds, speeds = (3, 1), np.array([[1.0], [0.5]]).repeat(4, axis=1)
    few, many, always = (on_each_kind(kinds, speeds, rate, 3) for rate in (1.0, 2.9, None))
    assert always[3] == pytest.approx([3.0, 0.0], abs=1e-12)
    for found in (few, many):
        assert found.sum(axis=1) == pytest.approx(np.arange(4))
    assert few[3, 1] == pytest.approx(0.0, abs=1e-12)  # a third job never finds the larger ones taken
    # more than there are partitions are on all of them
    assert on_each_kind((1, 1), speeds, 0.5, 3)[3] == pytest.approx([1.0, 1.0])


def test_two_unequal_processors_are_the_queue_of_a_fast_and_a_slow_server():
    # K_P = 2 on three processors, no disk shared: one job is twice as fast as the other
    program = Program([Phase(io=0.0, cpu=Burst(2.0, law="p"))])
    rate, fast, slow = 0.9, 1.0, 0.5
    found = predict(
        SpaceSharing(2, 2), System(3, 2), Workload(program), arrival_rate=rate, model="crowded-speeds"
    )
    # states: nobody, fast only, slow only, both and more; solved by hand
    rates = np.zeros((4, 4))
    rates[0, 1], rates[1, 3], rates[2, 3] = rate, rate, rate
    rates[1, 0], rates[2, 0], rates[3, 2], rates[3, 1] = fast, slow, fast, slow
    np.fill_diagonal(rates, -rates.sum(axis=1))
    rates[3, 3] += 0.0
    full = rate / (fast + slow)
    system = np.vstack([rates.T, [1.0, 1.0, 1.0, 1.0 / (1.0 - full)]])
    law = np.linalg.lstsq(system, [0.0, 0.0, 0.0, 0.0, 1.0], rcond=None)[0]
    jobs = law[1] + law[2] + law[3] * (2.0 / (1.0 - full) + full / (1.0 - full) ** 2)
    assert found.mean_response == pytest.approx(jobs / rate, rel=1e-9)
    assert found.capacity == pytest.approx(fast + slow, rel=1e-12)


@pytest.mark.parametrize("sizes", [(4, 3, 3), (4, 4, 3)])
def test_with_all_partitions_taken_there_is_a_job_on_each_of_every_size(sizes):
    work = Workload(Program([Phase(io=4.0, cpu=16.0)]))
    found = capacity(SpaceSharing(3, 1), System(sum(sizes), 2), work, model="crowded-speeds")
    alike = {p: disk_group_throughput(16.0 / p, 4.0 / 2, [1, 1, 1]) for p in sizes}
    assert found == pytest.approx(sum(alike[p] / 3 for p in sizes), rel=1e-12)


def test_jobs_crowd_on_equal_disk_partitions_too():
    # two jobs on one of two disks hold each other up, though one of the disks is free
    program = Program([Phase(io=1.0, cpu=1.0)])
    given = SpaceSharing(4, 2), System(4, 2), Workload(program)
    crowded = predict(*given, load=0.5)
    even = predict(*given, load=0.5, model="speed-scaled")
    assert crowded.model == "crowded-speeds"
    assert crowded.mean_response > 1.01 * even.mean_response
    assert crowded.capacity == pytest.approx(even.capacity, rel=1e-12)


def test_where_no_disk_is_shared_and_all_are_alike_it_is_refused():
    program = Program([Phase(io=1.0, cpu=1.0)])
    for policy in (SpaceSharing(2, 2), SpaceSharing(4, 1), SpaceSharing(2, 2, sizes=(3, 1))):
        with pytest.raises(ModelError, match="crowded-speeds"):
            predict(policy, System(4, 2), Workload(program), load=0.5, model="crowded-speeds")
    with pytest.raises(ModelError, match="crowded-speeds"):
        predict(TimeSharing(2, 2, 2), System(4, 2), Workload(program), load=0.5, model="crowded-speeds")


def test_processors_that_are_divided_anew_crowd_on_disks_as_well():
    program = Program([Phase(io=1.0, cpu=Burst(4.0, law="p"))])
    crowded, even = (
        predict(DynamicPartitioning(2), System(4, 2), Workload(program), load=0.6, model=model)
        for model in ("crowded-speeds", "speed-scaled")
    )
    assert 1.0 < crowded.mean_response / even.mean_response < 1.1


def test_like_jobs_in_classes_on_their_disks_are_the_jobs_without_classes():
    # so many bursts that all together are exponential, as a job's demand is
    program = Program([WorkingSet(200, [Phase(io=0.005, cpu=0.01)])])
    mix = WorkloadMix([program, program])
    given = SpaceSharing(4, 2), FCFS
    found = predict(*given, Workload(mix), arrival_rate=0.5, model="disk-classes")
    expected = predict(*given, Workload(program), arrival_rate=0.5, model="crowded-speeds")
    assert found.mean_response == pytest.approx(expected.mean_response, rel=1e-6)


def test_large_jobs_are_cut_by_working_set_where_others_wait_for_them():
    sets = [WorkingSet(4, [Phase(io=1.0, cpu=0.1)]), WorkingSet(2, [Phase(io=0.2, cpu=3.0)])]
    work = Workload.from_scv(Program(sets), demand_scv=30.0)
    classes = counted_jobs(case_of(SpaceSharing(4, 1), FCFS, work))[0].classes
    small, *large = classes
    assert [(x.first, x.last) for x in classes] == [(True, True), (True, False), (False, True)]
    assert [x.phases for x in large] == [4.0, 2.0]
    assert large[0].weight == large[1].weight == pytest.approx(1.0 - small.weight)
    whole = np.sum([x.times(1.0, 1.0) for x in large], axis=0)
    assert whole == pytest.approx(np.array([4.4, 6.4]) * large[0].size)
    # the mean of both sizes is that of a job
    mean = small.weight * small.size + large[0].weight * large[0].size
    assert mean == pytest.approx(1.0)


class TestBlockedDisks:
    case = case_of(SpaceSharing(8, 2), FCFS, VARIABLE)

    def jobs(self):
        return _Blocked(_counted(self.case), self.case)

    def test_every_start_goes_somewhere(self):
        moves = _Moves(self.jobs(), 0.2, 3)
        todo, seen = [(0, (0, 0, 0, 0))], set()
        while todo:
            k, state = todo.pop()
            if state in seen:
                continue
            seen.add(state)
            assert sum(state) == k
            assert min(state) >= 0
            steps = list(moves(state, k))
            starts = [chance for to, _, chance in steps if to == k + 1]
            if k < 8:
                assert sum(starts) == pytest.approx(1.0, abs=1e-9)
            else:
                assert not starts
            todo += [(to, other) for to, other, _ in steps]
        # as many large jobs as are followed are seen, and small ones beside them
        assert max(gi + gc for _, _, gi, gc in seen) == 3
        assert max(s for _, s, _, _ in seen) > 1

    def test_small_jobs_beside_a_transfer_of_a_large_one_stand_still(self):
        moves = _Moves(self.jobs(), 0.2, 3)
        assert not [1 for to, _, _ in moves((0, 2, 1, 0), 3) if to == 2]
        assert [1 for to, _, _ in moves((0, 2, 0, 1), 3) if to == 2]

    def test_among_few_jobs_it_is_near_to_the_model_that_follows_all_of_them(self):
        given = SpaceSharing(4, 2), FCFS, VARIABLE
        near, full = (
            predict(*given, arrival_rate=0.3, model=model) for model in ("blocked-disks", "disk-classes")
        )
        without = predict(*given, arrival_rate=0.3, model="job-classes")
        assert near.mean_response == pytest.approx(full.mean_response, rel=0.06)
        assert near.mean_response > 1.03 * without.mean_response

    def test_too_many_large_jobs_are_those_of_the_model_of_classes(self):
        work = Workload.from_scv(Program([WorkingSet(2, [Phase(io=1.0, cpu=0.2)])]), demand_scv=80.0)
        case = case_of(SpaceSharing(16, 3), System(16, 12, disk_discipline="fcfs"), work)
        jobs, rate = _Blocked(_counted(case), case), 0.95 * case.capacity
        one = jobs.chance * jobs.phases * (jobs.transfer + jobs.computation)
        assert jobs.offered(rate) == pytest.approx(rate * one)
        assert _more_than(8, jobs.offered(rate)) > 1e-4
        assert jobs.chain(rate).sizes == jobs.counted.running(rate).sizes
        assert jobs.chain(0.1 * rate).sizes != jobs.counted.running(0.1 * rate).sizes

    def test_more_than_a_number_by_poisson(self):
        assert _more_than(0, 0.5) == pytest.approx(1.0 - np.exp(-0.5))
        assert _more_than(2, 0.5) == pytest.approx(1.0 - np.exp(-0.5) * (1.0 + 0.5 + 0.125))

    def test_other_jobs_are_refused(self):
        mild = replace(VARIABLE, demand=PhaseType.exponential(mean=1.0))
        for policy, work in ((SpaceSharing(4, 1), VARIABLE), (SpaceSharing(8, 2), mild)):
            with pytest.raises(ModelError, match="blocked-disks"):
                predict(policy, FCFS, work, arrival_rate=0.1, model="blocked-disks")

    @pytest.mark.thorough
    def test_percentiles_are_those_of_the_model_of_classes_with_few_jobs_held_up(self):
        program = Program([WorkingSet(2, [Phase(io=1.0, cpu=0.1)])])
        work = Workload.from_scv(program, demand_scv=80.0)
        given = SpaceSharing(16, 3), System(16, 12, disk_discipline="fcfs"), work
        found = predict(*given, arrival_rate=0.5)
        assert found.model == "blocked-disks"
        other = predict(*given, arrival_rate=0.5, model="job-classes")
        assert found.percentile(0.5) == pytest.approx(other.percentile(0.5), rel=0.05)
        longer, held_up = found.mean_response - other.mean_response, found.solved.built.held_up
        assert 0.0 < longer < 0.05 * held_up
        t = float(found.percentile(0.99))
        behind = longer / held_up * np.exp(-t / held_up)  # are held up for longer than that
        assert other.response.sf(t) + 0.5 * behind < 0.01 < other.response.sf(t) + 2.0 * behind
