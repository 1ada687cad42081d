"""Saturated servers of rigid jobs, held against published and independently computed chains."""

import numpy as np
import pytest

from phasefit import PhaseType
from qmodels.errors import MemoryBudgetError, ModelError
from qmodels.rigid import RigidClass, RigidMix, saturate


def law(mean, scv):
    """Return an exponential, an Erlang of two phases or a hyperexponential of balanced means."""
    if scv < 1:
        return PhaseType.erlang(phases=2, mean=mean)
    part = (1 + ((scv - 1) / (scv + 1)) ** 0.5) / 2
    means = [mean / (2 * part), mean / (2 * (1 - part))]
    return PhaseType.hyperexponential(weights=[part, 1 - part], means=means)


KNOWN = {
    "k=4, rates 1/2, 2/3": (RigidMix.of(4, (1, 4), (0.5, 0.5), (2, 1.5)), 0.6906474820, 0.1220433725, None),
    "k=4, rates 1/6, 2": (RigidMix.of(4, (1, 4), (0.5, 0.5), (6, 0.5)), 32 / 75, 0.6353777778, None),
    "k=8, four classes": (
        RigidMix.of(8, (1, 2, 4, 8), (0.25,) * 4, (1, 2, 3, 4)),
        0.5355769879,
        0.7578187228,
        [0, 0.0633845213, 0.4065039474, 2.2442464336],
    ),
    "k=6, phases": (
        RigidMix(
            6, [RigidClass(1, 0.5, law(1, 0.5)), RigidClass(2, 0.3, law(2, 4)), RigidClass(3, 0.2, law(1, 1))]
        ),
        2.3041315073,
        2.1217042102,
        [0, 0.2723593018, 0.6919552620],
    ),
    "k=64, by sweeps": (
        RigidMix.of(64, (1, 4, 16, 64), (0.25,) * 4, (1, 2, 3, 4)),
        0.5720845931,
        1.0792464278,
        [0, 0.0072026351, 0.0924893454, 2.8611498189],
    ),
    "M/G/1": (RigidMix(1, [RigidClass(1, 1.0, law(1, 4))]), 1.0, 1.5, [0]),
    "M/M/4": (RigidMix.of(4, (1,), (1.0,), (1.0,)), 4.0, 0.0, [0]),
}


@pytest.mark.parametrize("name", KNOWN)
def test_saturated_chain_has_the_known_throughput_dispersion_and_blocked_times(name):
    mix, throughput, burstiness, blocked = KNOWN[name]
    found = saturate(mix)
    assert found.throughput == pytest.approx(throughput, abs=1e-9)
    assert found.burstiness == pytest.approx(burstiness, abs=1e-9)
    if blocked is not None:
        assert found.blocked == pytest.approx(np.array(blocked), abs=1e-9)


def test_needs_with_a_common_divisor_are_those_divided_by_it():
    whole = saturate(RigidMix.of(13, (3, 6), (0.5, 0.5), (1.0, 2.0)))
    divided = saturate(RigidMix.of(4, (1, 2), (0.5, 0.5), (1.0, 2.0)))
    assert (whole.throughput, whole.states) == (divided.throughput, divided.states)


def test_chain_too_large_or_mix_that_is_none_is_refused():
    with pytest.raises(MemoryBudgetError, match="more than 100 states"):
        saturate(RigidMix.of(64, (1, 4, 16, 64), (0.25,) * 4, (1, 2, 3, 4)), max_states=100)
    with pytest.raises(ModelError, match="a class needs 9 of 8 servers"):
        RigidMix.of(8, (1, 9), (0.5, 0.5), (1, 1))
    with pytest.raises(ModelError, match=r"sum to 1, got 0\.9"):
        RigidMix.of(8, (1, 2), (0.5, 0.4), (1, 1))


@pytest.mark.thorough
def test_chain_of_58921_states():
    mix = RigidMix.of(64, (1, 2, 4, 8, 16, 32), (1 / 6,) * 6, (1, 2, 3, 4, 5, 6))
    found = saturate(mix)
    assert found.states == 58_921
    assert (found.throughput, found.burstiness) == pytest.approx((1.0137459443, 1.54883049), abs=6e-9)
