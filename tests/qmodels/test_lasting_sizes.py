"""Jobs in turns that keep their size from burst to burst: known answers and simulated systems."""

from itertools import product

import numpy as np
import pytest

from phasefit import match_moments
from qmodels.markov.ctmc import stationary
from qmodels.policies import System, TimeSharing, Workload, capacity, predict
from qmodels.policies.models.lasting_sizes import _pace, _stretch, with_lasting_sizes
from qmodels.policies.models.sized_jobs import two_sizes
from qmodels.policies.models.time_sharing_loads import Machine
from qmodels.policies.models.turns import own_part
from qmodels.programs import Burst, Phase, Program, WorkingSet

TS = TimeSharing


def equal_bursts(bursts, io, cpu):
    phase = Phase(io=Burst(io / bursts, law="1"), cpu=Burst(cpu / bursts, law="1"))
    return Program([WorkingSet(bursts, [phase])])


def machine_of(policy, system, work):
    return Machine.of(policy.arrangement(system).at_mean_sizes(), work, work.demand.scv)


@pytest.mark.parametrize("load", [0.2, 0.4])
def test_exponential_sizes_in_rounds_are_more_jobs_than_shared_ones(load):
    # discriminatory processor sharing with weights like the sizes, which the rounds come to:
    # E[T] = (1 + load / 2 * E[D^2] / (1 - load)) / (1 - load / 2)
    work = Workload(equal_bursts(1000, 0.0, 1.0))
    found = predict(TS(1, 1, 12), System(1, 1), work, arrival_rate=load, model="time-sharing")
    known = (1.0 + load / (1.0 - load)) / (1.0 - 0.5 * load)
    assert found.mean_response == pytest.approx(known, rel=0.01)
    assert known > 1.1 / (1.0 - load)  # what jobs that share would take


def test_the_pace_is_that_of_a_chain_of_one_partition():
    policy, system, rate = TS(1, 1, 3), System(1, 1), 0.6
    work = Workload(equal_bursts(50, 0.0, 1.0), match_moments(1.0, 2.5))
    step = machine_of(policy, system, work).partitions(rate)
    (share, small), (rest, large) = two_sizes(work.demand.moment(2), work.demand.moment(3))
    states = [(a, b) for a, b in product(range(4), range(4)) if a + b <= 3]
    place = {state: n for n, state in enumerate(states)}
    rates, ends = np.zeros((len(states),) * 2), np.zeros(len(states))
    for (a, b), here in place.items():
        if a + b < 3:
            rates[here, place[a + 1, b]] = rate * share
            rates[here, place[a, b + 1]] = rate * rest
        for count, to in ((a, (a - 1, b)), (b, (a, b - 1))):
            if count:  # a round takes as long as all of them together
                rates[here, place[to]] = count / (a * small + b * large)
                ends[here] += rates[here, place[to]]
    law = stationary(rates)
    jobs = np.array([a + b for a, b in states])
    known = [float(law[jobs == j] @ ends[jobs == j] / law[jobs == j].sum()) for j in (1, 2, 3)]
    assert _pace(step.loads, step, ((share, small), (rest, large)))[1:] == pytest.approx(known, rel=1e-9)
    assert known[0] > 1.2
    assert known[2] < 0.8


@pytest.mark.parametrize("bursts", [1, 2, 40])
def test_jobs_of_one_burst_have_no_rounds_to_share(bursts):
    work = Workload(equal_bursts(bursts, 0.2, 0.8))
    machine = machine_of(TS(2, 1, 3), System(2, 1), work)
    step = machine.partitions(1.0)
    found = with_lasting_sizes(machine, work.demand, step)
    if bursts == 1:
        assert found is step
        return
    assert np.abs(found.loss[1:-1, 1:] / step.loss[1:-1, 1:] - 1.0).max() > 0.05 * (1.0 - 1.0 / bursts)
    assert np.array_equal(found.loss[-1], step.loss[-1])  # while jobs wait
    saturated = machine.partitions(None)
    assert with_lasting_sizes(machine, work.demand, saturated) is saturated


#: Transfer of a job, scv of its demand, policy, disks, rate, and what eight runs of 100,000 jobs gave: mean
#: and 50th, 95th and 99th percentile, known to .4 to 1.4 %. The model of before erred by up to 16 % in the
#: mean and 24 % in the median.
SIMULATED = [
    (0.0, 1.0, TS(2, 1, 4), 1, 1.2, (2.011, 1.385, 6.025, 8.653)),
    (0.05, 1.0, TS(2, 1, 4), 1, 1.3333, (1.850, 1.295, 5.477, 7.829)),
    (0.05, 1.0, TS(4, 2, 3), 2, 2.6667, (1.335, 0.934, 3.954, 5.836)),
    (0.0, 0.3, TS(4, 2, 3), 2, 2.4, (1.302, 1.118, 2.908, 3.919)),
    (0.15, 0.5, TS(3, 1, 4), 1, 3.2581, (1.097, 0.933, 2.569, 3.496)),
]


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize(("io", "scv", "policy", "disks", "rate", "simulated"), SIMULATED)
def test_plain_systems_in_turns_are_as_simulated(io, scv, policy, disks, rate, simulated):
    work = Workload(
        equal_bursts(10, io, 1.0 - io * policy.processor_partitions / disks), match_moments(1.0, 1.0 + scv)
    )
    found = predict(policy, System(policy.processor_partitions, disks), work, arrival_rate=rate)
    assert found.mean_response == pytest.approx(simulated[0], rel=0.06)
    percentiles = [float(found.percentile(q)) for q in (0.5, 0.95, 0.99)]
    assert percentiles == pytest.approx(simulated[1:], rel=0.09)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("partitions", "level", "scv", "rate", "simulated"),
    # 12 runs of 100,000 jobs, known to 1 %; without a bound on the stretch the answers were up to four times
    # as large, and without lasting sizes 13 to 20 % too small
    [(6, 8, 1.6, 0.105, 56.19), (4, 8, 1.6, 0.07, 69.24), (8, 5, 2.9, 0.14, 53.74)],
)
def test_many_jobs_on_many_partitions_are_not_stretched_without_end(partitions, level, scv, rate, simulated):
    program = Program([WorkingSet(20, [Phase(io=0.1, cpu=1.9)])])
    work = Workload(program, match_moments(1.0, 1.0 + scv))
    found = predict(TS(partitions, 2, level), System(partitions, partitions), work, arrival_rate=rate)
    assert found.mean_response == pytest.approx(simulated, rel=0.15)


def test_exponential_sizes_stretch_delays_as_discriminatory_sharing_does():
    for load in (0.1, 0.5, 0.9):
        shared, weighted = 1.0 / (1.0 - load), 1.0 / ((1.0 - load) * (1.0 - load / 2.0))
        assert _stretch(load, 1.0) == pytest.approx((weighted - 1.0) / (shared - 1.0))
        assert _stretch(load, 0.0) == 1.0


def test_own_part_of_a_stay():
    assert own_part(5, 1e-12) == pytest.approx(0.2)  # a fifth of the rounds
    assert own_part(5, 1e12) == pytest.approx(1.0)  # all are at the disk, which they share
    assert own_part(40, 1e12) == pytest.approx(1.0)
    # 2, 1 or 0 of two jobs at the processors are as likely; the second of two waits
    assert own_part(2, 1.0) == pytest.approx(1.0 - (1.0 / 3.0) / 2.0)


def test_exponential_jobs_on_one_partition_take_rounds():
    work = Workload(equal_bursts(10, 0.1, 0.9))
    found = predict(TS(1, 1, 4), System(1, 1), work, load=0.6)
    assert found.model == "burst-classes"


#: Bursts, part of I/O, scv, rate, and the mean of 32 runs of 60,000 jobs, known to .5 %. With as much as
#: exponential bursts complete, or with jobs of one speed, answers were 20 to 42 % long, or up to 16 % short.
PLAIN = [
    (2, 0.1, 1.0, 0.6, 2.2508),
    (6, 0.4, 2.0, 0.65, 1.6585),
    (16, 0.3, 1.0, 0.7, 1.8837),
    (4, 0.5, 4.0, 0.6, 1.6365),
    (6, 0.4, 0.5, 0.7, 1.5091),
]


@pytest.mark.parametrize(("bursts", "io", "scv", "rate", "simulated"), PLAIN)
def test_plain_jobs_on_one_partition_complete_what_was_played(bursts, io, scv, rate, simulated):
    program = Program([WorkingSet(bursts, [Phase(io=io / bursts, cpu=(1.0 - io) / bursts)])])
    given = TS(1, 1, 4), System(1, 1), Workload(program, match_moments(1.0, 1.0 + scv))
    found = predict(*given, arrival_rate=rate)
    assert found.model == "burst-classes"
    assert found.capacity == pytest.approx(capacity(*given, model="time-sharing"), rel=1e-9)
    assert found.mean_response == pytest.approx(simulated, rel=0.065)


#: Partitions, jobs on each, scv, rate, and the mean of eight runs of 40,000 jobs, known to 1 to 5 %. The
#: model of before, which told only branches apart, was 14 to 27 % low; bounded by jobs all alike 19 % high.
UNLIKE = [(2, 6, 6.0, 0.044444, 35.40), (4, 6, 6.0, 0.155556, 53.73), (8, 6, 15.0, 0.311111, 40.78)]


@pytest.mark.parametrize(("partitions", "level", "scv", "rate", "simulated"), UNLIKE)
def test_the_sizes_of_one_branch_last_as_well(partitions, level, scv, rate, simulated):
    program = Program([WorkingSet(10, [Phase(io=0.2, cpu=1.8)])])
    work = Workload(program, match_moments(1.0, 1.0 + scv))
    given = TS(partitions, 2, level), System(partitions, partitions), work
    found = predict(*given, arrival_rate=rate, model="time-sharing")
    assert found.mean_response == pytest.approx(simulated, rel=0.09)


#: Jobs on one partition, scv, bursts, part of I/O, rate, and the mean of 48 runs of 100,000 jobs, to 3 %.
#: With classes of the moments of whole jobs the answers were 15, 28 and 12 % low.
ALONE = [(8, 6.6, 48, 0.0, 0.6, 8.091), (8, 2.4, 48, 0.05, 0.66, 4.846), (6, 19.0, 8, 0.4, 0.8, 4.216)]


@pytest.mark.parametrize(("level", "scv", "bursts", "io", "rate", "simulated"), ALONE)
def test_sizes_within_a_class_last_on_one_partition(level, scv, bursts, io, rate, simulated):
    work = Workload(
        Program([WorkingSet(bursts, [Phase(io=io / bursts, cpu=(1.0 - io) / bursts)])]),
        match_moments(1.0, 1.0 + scv),
    )
    found = predict(TS(1, 1, level), System(1, 1), work, arrival_rate=rate)
    assert found.model in ("burst-classes", "partition-classes")
    assert found.mean_response == pytest.approx(simulated, rel=0.08)
