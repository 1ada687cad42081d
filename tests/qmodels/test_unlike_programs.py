"""Programs of a mix in turns on one partition: known answers, and a saturated machine that was played."""

import numpy as np
import pytest

from phasefit import match_moments
from qmodels import (
    Phase,
    Program,
    System,
    TimeSharing,
    WorkingSet,
    Workload,
    WorkloadMix,
    capacity,
    predict,
)
from qmodels.policies.models.merged_classes import MeanClass
from qmodels.policies.models.unlike_programs import part_left, two_programs

LONG = MeanClass(weight=0.36, io=1.0, cpu=6.3, phases=2.0)
MANY = MeanClass(weight=0.64, io=2.26, cpu=0.69, phases=32.0)


def test_programs_that_are_alike_lose_nothing():
    for jobs in (1, 2, 5):
        assert part_left((LONG, LONG), jobs, 0.7) == pytest.approx(1.0, rel=1e-12)


def test_a_job_alone_loses_nothing_whatever_its_program():
    assert part_left((LONG, MANY), 1, 0.7) == pytest.approx(1.0, rel=1e-12)


def test_two_jobs_are_the_chain_of_who_computes():
    # both at the disk, one or the other computes, or one behind the other, of an A and a B
    (fa, fb), ratio = (LONG.weight, MANY.weight), 0.5
    io, cpu = fa * LONG.io + fb * MANY.io, fa * LONG.cpu + fb * MANY.cpu
    slow = ratio * cpu / io
    burst = {"a": LONG.cpu / LONG.phases, "b": MANY.cpu / MANY.phases}
    away = {"a": slow * LONG.io / LONG.phases, "b": slow * MANY.io / MANY.phases}
    ends = {"a": 1.0 / LONG.phases, "b": 1.0 / MANY.phases}
    # states: the jobs in order at the processors, then those at the disk
    states = [("", p) for p in ("aa", "ab", "bb")]
    states += [(q, d) for q in "ab" for d in "ab"] + [(q, "") for q in ("aa", "ab", "ba", "bb")]
    rates = np.zeros((len(states), len(states)))
    done = np.zeros(len(states))
    for n, (queue, disk) in enumerate(states):
        for who in disk:
            rest = disk.replace(who, "", 1)
            rate = 1.0 / away[who] / len(disk)
            rates[n, states.index((queue + who, rest))] += rate
        if queue:
            who, rest = queue[0], queue[1:]
            for to, part in (("same", 1.0 - ends[who]), ("a", ends[who] * fa), ("b", ends[who] * fb)):
                new = who if to == "same" else to
                rates[n, states.index((rest, "".join(sorted(disk + new))))] += part / burst[who]
            done[n] = ends[who] / burst[who]
    np.fill_diagonal(rates, 0.0)
    balance = (rates - np.diag(rates.sum(axis=1))).T
    law = np.linalg.solve(np.vstack([balance[1:], np.ones(len(states))]), np.eye(len(states))[-1])
    mean_jobs = (1.0 + ratio) / (1.0 + ratio + ratio**2)
    # jobs end slowly beside bursts here, which the chain by composition takes them to
    assert part_left((LONG, MANY), 2, ratio) == pytest.approx(law @ done * cpu / mean_jobs, rel=0.02)


def test_a_capacity_counts_the_rounds_that_programs_have_in_common():
    def program(count, io, cpu):
        return Program([WorkingSet(count, [Phase(io=io / count, cpu=cpu / count)])])

    mix = WorkloadMix([program(2, 1.0, 6.3), program(32, 2.26, 0.69)], weights=[0.36, 0.64])
    policy, machine = TimeSharing(2, 1, 3), System(2, 1)
    stated = capacity(policy, machine, Workload(mix))
    as_mean = capacity(policy, machine, Workload(mix, mix="mean"))
    assert 0.75 * as_mean < stated < 0.85 * as_mean


def test_three_programs_are_taken_as_two():
    def program(seconds):
        return Program([Phase(io=1.0, cpu=seconds)])

    mix = WorkloadMix([program(x) for x in (1.0, 9.0, 10.0)], weights=[0.5, 0.3, 0.2])
    first, second = two_programs(Workload(mix), 1.0, 1.0)
    assert (first.weight, first.cpu) == pytest.approx((0.5, 1.0))
    assert (second.weight, second.cpu) == pytest.approx((0.5, 9.4))
    assert two_programs(Workload(program(1.0)), 1.0, 1.0) == ()
    assert two_programs(Workload(mix, mix="mean"), 1.0, 1.0) == ()


def test_a_program_in_two_halves_is_the_program():
    """Time sharing follows laws of bursts of one program; of several it takes them as exponential."""
    machine, policy = System(4, 2), TimeSharing(2, 2)
    laws = {"cpu_bursts": match_moments(1.0, 6.0)}
    other = Program([Phase(2.0, 9.0)], name="other")
    one, half = (Program([Phase(1.36, 15.6)], name=name) for name in ("one", "half"))
    for whole, split in (
        (one, WorkloadMix([one, half])),
        (WorkloadMix([one, other], [2.0, 1.0]), WorkloadMix([half, other, one], [1.0, 1.0, 1.0])),
    ):
        found, again = (
            predict(policy, machine, Workload(program, **laws), load=0.4) for program in (whole, split)
        )
        assert again.mean_response == pytest.approx(found.mean_response, rel=1e-12)
        assert (again.model, again.doubts) == (found.model, found.doubts)
