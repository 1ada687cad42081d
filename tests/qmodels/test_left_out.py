"""What every model leaves out is said in words that a user understands."""

import pytest

from phasefit import MAP, PhaseType, match_moments
from qmodels.policies import (
    DynamicPartitioning,
    SpaceSharing,
    System,
    TimeSharing,
    Workload,
    parse_policy,
    predict,
)
from qmodels.programs import Burst, Geometric, Phase, Program

PROGRAM = Program(
    [Phase(io=Burst(8.0, law="min(d, p/2)"), cpu=Burst(24.0, law="p"))], phase_count=Geometric(4)
)
PLAIN = {"demand": match_moments(1.0, 2.5)}
BURSTS = {"io_bursts": match_moments(1.0, 3.0)}
TIDES = MAP.modulated([[0.0, 0.1], [0.1, 0.0]], rates=[1.8, 0.2])
SHARED = "disks taken as shared, though their bursts take turns"
RATE = "as with Poisson arrivals"


def reduction(policy, given, *, disks="ps", arrivals=None, processors=16, count=8, model="auto"):
    system = System(processors, count, min_processors=2, disk_discipline=disks)
    more = {} if arrivals is None else {"arrivals": arrivals}
    found = predict(policy, system, Workload(PROGRAM, **given, **more), load=0.05, model=model)
    return found.method, found.reduction


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("disks", ["fcfs", "siro"])
@pytest.mark.parametrize(
    "policy", [SpaceSharing(4, 2), DynamicPartitioning(2), TimeSharing(4, 2, 2)], ids=str
)
def test_disks_with_another_order_are_said_to_be_taken_as_shared(policy, disks):
    assert SHARED not in reduction(policy, PLAIN)[1]
    in_turns = policy.name == "TS"  # under SP and DP turns at the disks are followed
    assert (SHARED in reduction(policy, PLAIN, disks=disks)[1]) is in_turns
    assert SHARED in reduction(policy, PLAIN, disks=disks, model="speed-scaled")[1]
    assert SHARED in reduction(policy, BURSTS, disks=disks)[1]


def test_private_disks_have_no_order_to_leave_out():
    assert reduction(SpaceSharing(4, 4), PLAIN, disks="fcfs") == ("exact", "")
    assert SHARED not in reduction(SpaceSharing(1, 1), PLAIN, disks="fcfs", model="burst-classes")[1]


@pytest.mark.parametrize("arrivals", [match_moments(1.0, 4.0), TIDES], ids=["law", "process"])
def test_the_spread_over_partitions_is_said_to_know_only_the_rate(arrivals):
    for policy, given in ((SpaceSharing(4, 2), BURSTS), (TimeSharing(4, 2, 2), PLAIN)):
        assert RATE not in reduction(policy, given)[1]
        followed = policy.name == "TS"  # few partitions are followed beside arrivals that come in bursts
        assert (RATE in reduction(policy, given, arrivals=arrivals)[1]) is not followed
    regular = PhaseType.erlang(phases=2, mean=1.0)
    assert RATE in reduction(TimeSharing(4, 2, 2), PLAIN, arrivals=regular)[1]
    # where every job has a disk of its own, or all have one, nothing hangs on the spread
    for disks in (1, 4):
        method, said = reduction(SpaceSharing(4, disks), BURSTS, arrivals=arrivals)
        assert (method, said) == ("exact", "")


@pytest.mark.parametrize(("scv", "said"), [(1.0, False), (2.0, True)])
def test_arrivals_of_two_phases_are_no_poisson_arrivals(scv, said):
    work = Workload.from_scv(Program([Phase(io=4.0, cpu=4.0)]), arrival_scv=scv)
    found = predict(SpaceSharing(4, 2), System(4, 2), work, load=0.3, model="crowded-speeds")
    assert (RATE in found.reduction) is said


def test_the_time_of_dividing_is_said_to_be_left_out_of_the_spread():
    pause = PhaseType.exponential(mean=0.5)
    assert "dividing took no time" in reduction(DynamicPartitioning(2, pause), BURSTS)[1]
    assert reduction(DynamicPartitioning(2), BURSTS)[1] == ""


def test_unequal_partitions_under_time_sharing_are_said_to_be_taken_at_their_mean():
    said = reduction(TimeSharing(4, 2, 2), PLAIN, processors=17, count=7)[1]
    assert "partitions taken at their mean size" in said


@pytest.mark.parametrize(
    ("given", "turns", "said"),
    [(PLAIN, "fcfs", False), (BURSTS, "fcfs", True), (BURSTS, "ps", False), (PLAIN, "ps", False)],
)
def test_bursts_with_a_law_of_their_own_are_said_to_be_exponential_where_they_take_turns(given, turns, said):
    policy = TimeSharing(4, 2, 2, cpu_discipline=turns)
    told = reduction(policy, given, model="time-sharing")[1]
    assert ("taken as exponential where they take turns" in told) is said


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize(("policy", "level"), [("TS(4,2;M=2)", 0), ("TS(8,5;M=6)", 1), ("TS(16,9;M=8)", 2)])
def test_it_is_said_how_jobs_are_taken_to_be_spread_over_many_partitions(policy, level):
    said = reduction(parse_policy(policy), PLAIN, processors=32, count=16)[1]
    assert ("disk partitions taken as evenly loaded" in said) is (level > 0)
    assert ("jobs spread evenly over processor partitions that are nearly full" in said) is (level > 1)
