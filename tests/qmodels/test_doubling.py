"""Returns as mixtures of a few: the same answer, entry by entry, or the long way."""

import numpy as np
import pytest
from scipy.sparse import issparse

from phasefit import PhaseType, match_moments
from qmodels.errors import ConvergenceError, ModelError
from qmodels.markov.doubling import mixtures, phases_of_return
from qmodels.markov.kinds import kinds
from qmodels.networks.many_server import ManyServerQueue

NEVER = 10**9
H2 = match_moments(1.0, 5.0)
ERLANG = PhaseType.erlang(phases=4, mean=1.0)
H3 = PhaseType.hyperexponential(weights=[0.7, 0.25, 0.05], means=[0.5, 1.5, 5.0])


def homogeneous(arrivals, service, c, load):
    queue = ManyServerQueue(arrivals.scale(service.mean / (load * c)), service, servers=c)
    chain = queue.chain()
    spread, lead = kinds(chain.up[-1])
    return spread, lead, chain.local[-1], chain.down[-1]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("arrivals", "service", "c", "load"),
    [
        (H2, ERLANG, 8, 0.9),
        (H2, ERLANG, 8, 0.999999),
        (H2, ERLANG, 8, 0.01),
        # arrival stages in a row: no parts to take one by one
        (PhaseType.erlang(phases=3, mean=1.0), H3, 12, 0.9),
    ],
    ids=["busy", "saturated", "idle", "stages in a row"],
)
def test_few_mixtures_of_returns_give_every_entry_of_the_full_doubling(arrivals, service, c, load):
    levels = homogeneous(arrivals, service, c, load)
    full, _ = phases_of_return(*levels, 1e-18, 64, least=NEVER)
    found, _ = phases_of_return(*levels, 1e-18, 64)
    held = full > 0.0
    assert (found[~held] == 0.0).all()
    assert found[held] == pytest.approx(full[held], rel=1e-14)
    assert found.sum(axis=1) == pytest.approx(1.0, rel=1e-14)


def two_worlds(leak):
    """Phases of two kinds that hardly ever change: a return tells how the chain set out."""
    rng = np.random.default_rng(5)
    n = 12
    up, down, local = (np.zeros((2 * n, 2 * n)) for _ in range(3))
    for world in (slice(0, n), slice(n, 2 * n)):
        up[world, world] = 0.7 * rng.random((n, n)) / n
        down[world, world] = rng.random((n, n)) / n
        local[world, world] = rng.random((n, n))
    local[0, n] = local[n, 0] = leak
    return *kinds(up), local, down


@pytest.mark.parametrize("leak", [1e-4, 1e-13])
def test_a_chain_that_never_forgets_is_solved_the_long_way(leak):
    levels = two_worlds(leak)
    full, steps = phases_of_return(*levels, 1e-18, 64, least=NEVER)
    found, same = phases_of_return(*levels, 1e-18, 64, least=2)
    assert same == steps
    assert found == pytest.approx(full, rel=1e-13)


def test_a_chain_that_hardly_forgets_has_a_law_for_each_of_its_worlds():
    levels = two_worlds(1e-3)
    full, _ = phases_of_return(*levels, 1e-18, 64, least=NEVER)
    found, _ = phases_of_return(*levels, 1e-18, 64, least=2)
    assert found == pytest.approx(full, rel=1e-13)


def test_uneven_returns_are_added_as_they_are_before_they_count_as_mixed():
    """Of 8 servers after 8 levels down an entry may be a sixtieth of its column's typical one."""
    queue = homogeneous(H2, ERLANG, 8, 0.9)
    full, _ = phases_of_return(*queue, 1e-18, 64, least=NEVER)
    found, _ = phases_of_return(*queue, 1e-18, 64)
    small = (full > 0.0) & (full < 1e-4 * full.max(axis=1)[:, None])
    assert small.sum() > 1000
    assert found[small] == pytest.approx(full[small], rel=5e-15)


@pytest.mark.thorough
def test_too_few_steps_are_an_error_that_carries_the_returns_found_so_far():
    levels = homogeneous(H2, ERLANG, 8, 0.9)
    with pytest.raises(ConvergenceError, match="did not converge in 6 steps") as caught:
        phases_of_return(*levels, 1e-18, 6)
    mass = caught.value.last.sum(axis=1)
    assert ((mass > 0.5) & (mass < 1.0)).all()
    # phase by phase in the order given, though another was worked in
    found = []
    for least in (NEVER, 2):
        with pytest.raises(ConvergenceError) as caught:
            phases_of_return(*levels, 1e-18, 3, least=least)
        found.append(caught.value.last)
    assert found[1] == pytest.approx(found[0], rel=1e-13, abs=0)


def test_rates_given_are_not_changed_by_working_in_place():
    levels = [block.toarray() if issparse(block) else block for block in homogeneous(H2, ERLANG, 5, 0.9)]
    before = [block.copy() for block in levels]
    for least in (2, NEVER):
        phases_of_return(*levels, 1e-18, 64, least=least)
        assert all((a == b).all() for a, b in zip(levels, before, strict=True))


def test_rows_that_are_mixtures_of_three_laws_are_found_to_be_so():
    rng = np.random.default_rng(1)
    matrix = rng.uniform(0.5, 1.0, (40, 3)) @ rng.uniform(0.5, 1.0, (3, 50)) * 10.0 ** -np.arange(50)
    found = mixtures(matrix, 10)
    assert found.laws.shape == (3, 50)
    assert found.laws.sum(axis=1) == pytest.approx(1.0, rel=1e-15)
    assert found.weights @ found.laws == pytest.approx(matrix, rel=1e-13)


def test_rows_without_a_common_ground_are_not_made_mixtures():
    rng = np.random.default_rng(1)
    uneven = rng.uniform(0.5, 1.0, (40, 3)) @ rng.uniform(0.5, 1.0, (3, 50))
    uneven[3, 4] = 1e-9  # small beside its row and column: its digits would be lost
    assert mixtures(uneven, 10) is None
    assert mixtures(rng.uniform(0.5, 1.0, (40, 50)), 10) is None  # as many laws as rows
    assert mixtures(np.zeros((4, 4)), 3) is None


def test_a_phase_that_never_comes_down_is_named_by_its_own_number():
    """The parts are eliminated one by one; the number is that of the whole chain."""
    up, local, down = 0.5 * np.eye(4), np.zeros((4, 4)), np.diag([1.0, 1.0, 1.0, 0.0])
    up[3] = 0.0
    local[0, 1] = local[1, 0] = 1.0
    for least in (2, NEVER):
        with pytest.raises(ModelError, match="phase 3 can never come down"):
            phases_of_return(*kinds(up), local, down, 1e-18, 64, least=least)
