"""Ordering claims of Rosti et al. 1998, section 4.1, on the reference workload W*."""

import numpy as np
import pytest

from qmodels.policies import (
    DynamicPartitioning,
    SpaceSharing,
    capacity,
    predict,
)
from tests.laws import REFERENCE_MACHINE, reference_workload

MACHINE = REFERENCE_MACHINE
SIZES = (1, 2, 4, 8, 16)
SP, DP = SpaceSharing, DynamicPartitioning


def response(policy, work, rate):
    """Mean response time, infinite where the policy is saturated."""
    if rate >= capacity(policy, MACHINE, work):
        return np.inf
    return predict(policy, MACHINE, work, arrival_rate=rate).mean_response


def best_static(work, disks, rate, sizes=SIZES):
    return min(sizes, key=lambda k: response(SP(k, disks), work, rate))


def test_sixteen_partitions_are_worse_than_eight_at_every_load_because_of_one_program(reference):
    """R-46: and only because of it: without its discontinuity they overtake at high load."""
    top = capacity(SP(8, 16), MACHINE, reference)
    for fraction in np.linspace(0.02, 0.98, 25):
        rate = fraction * top
        eight, sixteen = (response(SP(k, 16), reference, rate) for k in (8, 16))
        assert eight < sixteen
    smooth = reference_workload(slowdown=1.0)
    rate = 0.98 * capacity(SP(8, 16), MACHINE, smooth)
    assert response(SP(16, 16), smooth, rate) < response(SP(8, 16), smooth, rate)


@pytest.mark.thorough
def test_with_eight_disk_partitions_the_best_static_size_still_grows_with_load(reference):
    """R-48."""
    top = max(capacity(SP(k, 8), MACHINE, reference) for k in (1, 2, 4, 8))
    rates = np.linspace(0.005, 0.98, 50) * top
    best = [best_static(reference, 8, rate, (1, 2, 4, 8)) for rate in rates]
    assert best == sorted(best)
    assert best[-1] > best[0]


def test_contention_falls_as_the_disks_are_divided(reference):
    """R-50: a full machine of eight partitions inflates its jobs less, the more disk partitions.

    Strictly; and two jobs on one disk partition are inflated by 1 + 1 / (1 + r)^2, r the ratio
    of computation to I/O: a machine repair model of two machines.
    """
    inflation = []
    for disks in (1, 2, 4, 8):
        alone = float(reference.program.mean_time(128 / 8, 32 / disks))
        inflation.append(8 / capacity(SP(8, disks), MACHINE, reference) / alone)
    assert np.diff(inflation).max() < 0
    assert inflation[-1] == pytest.approx(1.0, rel=1e-12)
    cpu = float(reference.program.mean_cpu(64, 32))
    io = float(reference.program.mean_io(64, 32))
    pair = 2 / capacity(SP(2, 1), MACHINE, reference) / (cpu + io)
    assert pair == pytest.approx(1 + 1 / (1 + cpu / io) ** 2, rel=1e-12)


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("disks", [1, 4, 8, 16])
def test_dynamic_partitioning_is_best_at_light_load(reference, disks):
    """R-51: the specification expects it up to a load of .2 or .3."""
    for load in (0.01, 0.05, 0.1, 0.2):
        rate = load * 0.25
        static = min(response(SP(k, disks), reference, rate) for k in SIZES)
        assert response(DP(disks), reference, rate) <= static


@pytest.mark.parametrize("disks", [1, 4])
def test_some_static_policy_beats_dynamic_partitioning_at_heavier_load(reference, disks):
    """R-53."""
    rate = 0.5 * 0.25
    best = SP(best_static(reference, disks, rate), disks)
    assert response(best, reference, rate) < response(DP(disks), reference, rate)
