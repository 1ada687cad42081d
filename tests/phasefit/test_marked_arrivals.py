"""Arrivals of several kinds: rates, one kind alone, processes side by side, draws, and what is refused."""

import pickle

import numpy as np
import pytest

from phasefit import MAP, MarkedMAP, ModelError, PhaseType

TURNS = MarkedMAP([[-2.0, 1.0], [1.0, -3.0]], [[[1.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 2.0]]])


def test_kinds_add_up_to_the_whole():
    assert TURNS.rates.sum() == pytest.approx(TURNS.all_events.rate, rel=1e-14)
    for k in range(2):
        assert TURNS.of_kind(k).rate == pytest.approx(TURNS.rates[k], rel=1e-14)


def test_processes_side_by_side_are_what_they_are_alone():
    tides = MAP.modulated([[-0.1, 0.1], [0.2, -0.2]], rates=[1.0, 0.1])
    gaps = PhaseType.erlang(phases=3, mean=0.7)
    both = MarkedMAP.separate([tides, gaps])
    assert both.order == 6
    joined = tides.superpose(MAP.from_phase_type(gaps))
    assert np.allclose(both.all_events.D0, joined.D0, atol=1e-14)
    for kind, alone in ((0, tides), (1, MAP.from_phase_type(gaps))):
        found = both.of_kind(kind)
        assert found.scv == pytest.approx(alone.scv, rel=1e-12)
        assert found.autocorrelation(1) == pytest.approx(alone.autocorrelation(1), abs=1e-12)


def test_a_copy_made_by_pickle_cannot_be_written_either():
    kinds = MarkedMAP.separate([MAP.poisson(rate=1.0), MAP.poisson(rate=2.0)])
    again = pickle.loads(pickle.dumps(kinds))
    assert not any(array.flags.writeable for array in (again.D0, *again.marks, again.all_events.D1))


def test_draws_have_their_rates_and_their_order():
    gaps, kinds = TURNS.rvs(40_000, random_state=3)
    shares = np.bincount(kinds) / kinds.size
    assert gaps.mean() == pytest.approx(1.0 / TURNS.rates.sum(), rel=0.03)
    assert shares == pytest.approx(TURNS.rates / TURNS.rates.sum(), abs=0.02)
    # after an urgent event the next one is urgent if it comes before the phase turns (1 : 1), or later
    urgent = np.flatnonzero(kinds[:-1] == 0)
    assert (kinds[urgent + 1] == 0).mean() == pytest.approx(0.6, abs=0.02)
    again = TURNS.rvs(40_000, random_state=3)
    assert (again[0] == gaps).all()
    assert (again[1] == kinds).all()


@pytest.mark.parametrize(
    ("action", "why"),
    [
        (lambda: MarkedMAP([[-1.0]], []), "one or more matrices"),
        (lambda: MarkedMAP([[-1.0]], [[[1.0]], [[0.0]]]), "kind 1 never come"),
        (lambda: MarkedMAP([[-1.0]], [[[2.0]], [[-1.0]]]), "must be >= 0"),
        (lambda: MarkedMAP([[-1.0]], [[[1.0, 0.0]]]), "shape of D0"),
        (lambda: MarkedMAP([[-2.0]], [[[1.0]]]), "sum to 0"),
        (lambda: MarkedMAP.separate([]), "one or more"),
        (lambda: MarkedMAP.separate([1.0]), "MAPs or laws"),
        (lambda: TURNS.of_kind(2), "2 kinds"),
        (lambda: TURNS.rvs(-1), "size"),
    ],
)
def test_what_is_refused(action, why):
    with pytest.raises(ModelError, match=why):
        action()
