"""Waits that hardly ever happen: their probability and their law to the last digits."""

import mpmath as mp
import pytest

from phasefit import PhaseType
from qmodels.errors import ModelError
from qmodels.networks.many_server import ManyServerQueue
from tests.campaigns.light_load import measured

ONE = PhaseType.exponential(mean=1.0)


def erlang_c(servers, load):
    """P(wait) of M/M/c, in sixty digits (A. K. Erlang 1917)."""
    with mp.workdps(60):
        offered = mp.mpf(load) * servers
        blocked = mp.mpf(1)
        for k in range(1, servers + 1):
            blocked = offered * blocked / (k + offered * blocked)
        return blocked / (1 - mp.mpf(load) * (1 - blocked))


@pytest.mark.parametrize(
    ("servers", "load"),
    [
        (1, 1e-6),
        (4, 1e-6),
        (16, 1e-6),
        (16, 0.05),
        (64, 0.01),
        (64, 0.2),
        (256, 0.3),
        (1024, 0.3),
        (1024, 0.9),
    ],
)
def test_the_wait_of_m_m_c_is_erlangs(servers, load):
    found = ManyServerQueue(ONE.scale(1.0 / (servers * load)), ONE, servers=servers).solve()
    chance, spare = erlang_c(servers, load), servers * (1 - mp.mpf(load))
    assert float(found.wait_probability / chance - 1) == pytest.approx(0.0, abs=1e-11)
    wait, positive = found.wait, found.positive_wait
    assert float(wait.mean * spare / chance - 1) == pytest.approx(0.0, abs=1e-10)
    assert float(wait.moment(2) * spare**2 / (2 * chance) - 1) == pytest.approx(0.0, abs=1e-10)
    assert positive.mean * float(spare) == pytest.approx(1.0, rel=1e-10)
    for x in (0.0, 0.3, 2.0):
        exact = chance * mp.exp(-x)
        assert float(wait.sf(x / float(spare)) / exact - 1) == pytest.approx(0.0, abs=1e-10)
    assert wait.cdf(1.0) <= 1.0
    assert (wait.rvs(50, random_state=1) >= 0.0).all()


def test_a_chance_below_the_range_of_floats_is_said_to_be():
    found = ManyServerQueue(ONE.scale(1.0 / 51.2), ONE, servers=1024).solve()
    assert found.wait_probability == 0.0
    for law in ("wait", "positive_wait"):
        with pytest.raises(ModelError, match="too small for a float"):
            getattr(found, law)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "seed", [*range(8), pytest.param(range(8, 2000), marks=pytest.mark.slow, id="1992-more")]
)
def test_random_waits_at_light_load_are_those_of_sixty_digits(seed):
    for each in [seed] if isinstance(seed, int) else seed:
        found = measured(each)
        errors = [value for key, value in found.items() if key.startswith("error")]
        assert len(errors) == 3
        assert errors == pytest.approx([0.0] * 3, abs=1e-9), each
