"""Machines and programs at the edges: caps, partitions that do not divide, one kind of burst only.

Simulated means are of 12 replications of 150,000 jobs; half-widths are below a third of what an
answer may be off by.
"""

import math
import warnings

import pytest

from phasefit import match_moments
from qmodels.errors import UnstableError
from qmodels.policies import (
    DynamicPartitioning,
    SpaceSharing,
    System,
    TimeSharing,
    Workload,
    capacity,
    predict,
)
from qmodels.programs import Phase, Program, WorkingSet
from tests.campaigns.odd_machines import odd_machine

DP, SP, TS = DynamicPartitioning, SpaceSharing, TimeSharing
READS = Program([WorkingSet(4, [Phase(io=18.0, cpu=0.0)])])
SHORT_READS = Program([WorkingSet(20, [Phase(io=0.5, cpu=0.1)])])
COMPUTES = Program([Phase(io=0.0, cpu=40.0)])
READS_AT_THE_END = Program([WorkingSet(2, [Phase(0.0, 50.0)]), WorkingSet(2, [Phase(20.0, 2.0)])])
TWO_PHASES = Program([Phase(io=2.0, cpu=8.0), Phase(io=0.5, cpu=0.4)])
IN_TURN = {"disk_discipline": "fcfs"}


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize(
    ("program", "scv", "policy", "machine", "rate", "simulated", "within"),
    [
        (COMPUTES, 4.0, TS(4, 3, 1, ts_cap="min"), System(7, 8), 0.105, 44.33, 0.06),
        (Program([Phase(4.0, 40.0)]), 1.0, TS(5, 4, 1, ts_cap="min"), System(13, 8), 0.169, 22.22, 0.02),
        (Program([Phase(0.5, 4.0)]), 1.0, TS(8, 2, 3, ts_cap="min"), System(12, 4), 1.55, 3.161, 0.03),
        (READS, 1.0, TS(7, 1, 8, ts_cap="min", cpu_discipline="ps"), System(64, 2), 0.0194, 118.8, 0.03),
        (READS, 1.0, TS(16, 4, 3), System(16, 4), 0.0111, 72.56, 0.02),
        (READS_AT_THE_END, 8.0, DP(1), System(3, 1, **IN_TURN), 0.0115, 472.6, 0.12),
        (SHORT_READS, 1.0, TS(3, 3, 4), System(12, 5), 0.1, 5.96, 0.02),
        (SHORT_READS, 1.0, TS(3, 3, 4), System(12, 5), 0.35, 10.83, 0.03),
        (Program([Phase(1.0, 0.0)]), 1.0, DP(3), System(4, 5), 1.0, 0.5397, 0.01),
        (TWO_PHASES, 10.0, TS(4, 1, 1), System(8, 4, **IN_TURN), 0.52, 14.18, 0.12),
    ],
)
def test_answers_are_as_simulated(program, scv, policy, machine, rate, simulated, within):
    work = Workload(program, match_moments(1.0, 1.0 + scv))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = predict(policy, machine, work, arrival_rate=rate)
    assert found.mean_response == pytest.approx(simulated, rel=within)


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("discipline", ["ps", "fcfs"])
@pytest.mark.parametrize(("partitions", "disk_partitions"), [(4, 1), (3, 1), (4, 4)])
def test_time_sharing_of_one_job_each_is_space_sharing(partitions, disk_partitions, discipline):
    """With one disk partition, or a disk partition each, no rule of placement matters."""
    machine = System(8, 4, disk_discipline=discipline)
    for law in ({"demand": match_moments(1.0, 11.0)}, {"io_bursts": match_moments(1.0, 5.0)}):
        work = Workload(TWO_PHASES, **law)
        shared = SP(partitions, disk_partitions)
        timed, rate = TS(partitions, disk_partitions, 1), 0.7 * capacity(shared, machine, work)
        one, other = (predict(each, machine, work, arrival_rate=rate) for each in (timed, shared))
        assert one.mean_response == other.mean_response
        assert (one.model, one.method) == (other.model, other.method)


def test_on_several_shared_disks_it_says_what_it_takes_for_the_rule():
    work = Workload(TWO_PHASES, match_moments(1.0, 11.0))
    found = predict(TS(4, 2, 1), System(8, 4, **IN_TURN), work, load=0.2)
    assert found.method == "approximate"
    assert "start where the fewest are" in found.reduction


@pytest.mark.thorough
@pytest.mark.parametrize("policy", [DP(2), SP(32, 8), TS(16, 4, 3)])
def test_jobs_that_all_but_never_wait_have_percentiles(policy):
    """The chance that a job waits is below every float."""
    machine, work = System(64, 8), Workload(Program([Phase(2.0, 5.0)]))
    found = predict(policy, machine, work, arrival_rate=1e-9 * capacity(policy, machine, work))
    assert found.wait.percentile(0.99) == 0.0
    assert found.percentile(0.5) < found.mean_response < found.percentile(0.95)


def test_a_rate_that_only_a_chain_refuses_names_the_policy():
    policy, machine = TS(5, 4, 5), System(8, 8)
    work = Workload(Program([Phase(14.0, 3.0), Phase(0.0, 5.0)]), match_moments(1.0, 35.0))
    with pytest.raises(UnstableError, match=r"TS\(5,4;M=5\): no steady state at load .* below load"):
        predict(policy, machine, work, arrival_rate=0.9999 * capacity(policy, machine, work))


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("number", range(2004, 2016))
def test_every_system_of_the_rule_has_an_answer(number):
    """A dozen that the record does not have."""
    point = odd_machine(number)
    given = point.policy, point.system, point.workload
    most = capacity(*given)
    for part in (1e-9, point.fraction):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = predict(*given, arrival_rate=part * most)
        figures = found.mean_response, found.mean_jobs, found.processor_utilisation, found.disk_utilisation
        assert all(math.isfinite(each) and each >= 0.0 for each in figures)
        assert found.mean_wait <= found.mean_response
        assert max(figures[2:]) <= 1.0 + 1e-9
    slopes = found.sensitivities
    assert all(row.effect is not None or row.note for row in slopes.rows)
    assert slopes.of("arrival rate").slope >= -1e-3 * found.mean_response / found.arrival_rate
