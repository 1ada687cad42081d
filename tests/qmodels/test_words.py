"""Times, policies and superlinear speedups in words."""

import numpy as np
import pytest

from qmodels.policies import DynamicPartitioning, SpaceSharing, System, TimeSharing
from qmodels.programs import Burst, Phase, Program, speedup_surface
from qmodels.programs.superlinear import superlinear
from qmodels.words import in_words

MACHINE = System(processors=16, disks=4)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.0, "0 s"),
        (0.0042, "4.2 ms"),
        (7.551, "7.55 s"),
        (119.9, "120 s"),
        (120.0, "2 min"),
        (7199.0, "120 min"),
        (7200.0, "2 h"),
        (172_799.0, "48 h"),
        (388_853.0, "4.5 days"),
        (9e7, "2.85 years"),
        (1e12, "31,688 years"),
        (-9085.0, "-2.52 h"),
        (float("inf"), "without end"),
        (float("nan"), "unknown"),
    ],
)
def test_times_are_said_in_the_unit_that_people_use(seconds, said):
    assert in_words(seconds) == said


def test_a_time_beside_another_is_in_its_unit():
    assert in_words(7800.0, like=5838.0) == "130 min"


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (TimeSharing(1, 1), "time sharing: up to 2 jobs take turns on the whole machine"),
        (SpaceSharing(1, 1), "space sharing: one job at a time on the whole machine"),
        (SpaceSharing(4, 4), "each on 4 processors of its own, each with 1 disk of its own"),
        (SpaceSharing(4, 2), "each on 4 processors of its own; every 2 of them share 2 disks"),
        (SpaceSharing(3, 2), "; they share 2 groups of 2 disks"),
        (SpaceSharing(1, 4), "one job at a time on all processors, on 1 disk while 3 disks stay"),
        (SpaceSharing(3, 3), "each on 5 or 6 processors of its own, each with 1 or 2 disks of its own"),
        (SpaceSharing(2, 3), "each with 1 or 2 disks of its own while one disk stays idle"),
        (SpaceSharing(1, 3), "on 2 disks while 2 disks stay idle"),
        (TimeSharing(3, 1), "each of 3 partitions of 5 or 6 processors"),
        (DynamicPartitioning(3), "the disks in 3 groups of 1 or 2 disks"),
        (SpaceSharing(2, 1, sizes=(12, 4)), "processors of its own (12, 4); all share the 4 disks"),
        (TimeSharing(4, 1, ts_cap="min"), "all share the 4 disks, 2 on all together"),
        (DynamicPartitioning(1), "up to 16, divide the processors equally; all disks together"),
    ],
)
def test_a_policy_says_what_its_label_means(policy, said):
    assert said in policy.in_words(MACHINE)


def test_superlinear_speedup_is_explained_by_what_exceeds_the_processors():
    disks = Program([Phase(io=90.0, cpu=10.0)])
    said = superlinear(disks, speedup_surface(disks, [1, 2, 4], [1, 8]))
    assert "the I/O is 8 times as fast on 8 disks" in said
    assert "computation" not in said
    slowed = Burst(400.0, slowdown=(8, 5.78))
    escat = Program([Phase(io=4.0, cpu=slowed)])
    said = superlinear(escat, speedup_surface(escat, [1, 128], [1, 2]))
    assert "5.78 times the processor-seconds on one processor that it takes on 128" in said
    assert "disks" not in said.partition("one disk, and")[2]


def test_fewer_processors_than_the_base_need_no_explanation_for_being_worth_more():
    amdahl = Program([Phase(io=10.0, cpu=Burst(100.0, sequential=10.0))])
    surface = speedup_surface(amdahl, [1, 2, 4], [1], base=(2, 1))
    assert surface.speedup[0, 0] > 0.55
    assert superlinear(amdahl, surface) == ""


def test_a_speedup_of_just_the_processors_needs_no_explanation():
    even = Program([Phase(io=0.0, cpu=100.0)])
    assert superlinear(even, speedup_surface(even, np.arange(1.0, 9.0), [1.0, 2.0])) == ""
    hardly = Program([Phase(io=0.5, cpu=100.0)])  # 0.4 % faster on one processor and more disks
    assert superlinear(hardly, speedup_surface(hardly, [1, 2, 4], [1, 8])) == ""
