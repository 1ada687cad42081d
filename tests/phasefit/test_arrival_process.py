import pickle

import numpy as np
import pytest
from scipy.linalg import expm

from phasefit import MAP, ModelError, PhaseType, match_moments

TIDES = MAP.modulated([[0.0, 0.3], [0.1, 0.0]], rates=[5.0, 0.4])
LAWS = {
    "exponential": PhaseType.exponential(mean=2.0),
    "erlang": PhaseType.erlang(phases=3, mean=2.0),
    "hyperexponential": match_moments(1.0, 10.0),
    "coxian": PhaseType.coxian(rates=[2.0, 1.0, 0.5], continue_probabilities=[0.7, 0.4]),
    "phase-never-entered": PhaseType([1.0, 0.0], [[-1.0, 0.0], [1.0, -2.0]]),
}
MAPS = {
    "tides": TIDES,
    "on-off": MAP.modulated([[0.0, 0.5], [2.0, 0.0]], rates=[3.0, 0.0]),
    "acyclic": MAP.acyclic(rates=[0.2, 3.0], a=0.6, b=0.9),
    "alternating": MAP.acyclic(rates=[0.2, 3.0], a=0.8, b=0.7, alternating=True),
    "cycle": MAP.from_rates(
        [[0.0, 1.0, 0.2], [0.0, 0.0, 2.0], [0.5, 0.0, 0.0]],
        [[0.1, 0.0, 0.0], [0.3, 0.0, 1.0], [0.0, 4.0, 0.2]],
    ),
}
every_map = pytest.mark.parametrize("process", MAPS.values(), ids=MAPS)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_a_renewal_process_keeps_its_law_and_has_no_correlation(law):
    process = MAP.from_phase_type(law)
    assert process.mean == pytest.approx(law.mean, rel=1e-14)
    assert process.scv == pytest.approx(law.scv, rel=1e-13)
    assert process.moment(3) == pytest.approx(law.moment(3), rel=1e-13)
    assert np.abs(process.autocorrelation([1, 2, 7])).max() < 1e-15
    assert process.dispersion(np.inf) == pytest.approx(law.scv, rel=1e-12)


def test_a_poisson_process_has_a_dispersion_of_one_everywhere():
    poisson = MAP.poisson(rate=3.0)
    assert poisson.rate == pytest.approx(3.0)
    assert np.abs(poisson.dispersion([0.0, 1e-6, 0.1, 1.0, 1e3, 1e9, np.inf]) - 1.0).max() < 1e-14
    # split over two states that say nothing, it is still one
    same = MAP.modulated([[0.0, 1.0], [2.0, 0.0]], rates=[3.0, 3.0])
    assert same.scv == pytest.approx(1.0)
    assert abs(same.autocorrelation(1)) < 1e-15
    assert np.abs(same.dispersion([1e-3, 1.0, 50.0, np.inf]) - 1.0).max() < 1e-13


def test_two_rates_in_turn_have_the_closed_forms_of_an_mmpp():
    s1, s2, r1, r2 = 0.3, 0.1, 5.0, 0.4  # from state 1 to 2 and back; events per second
    both, gap = s1 + s2, (r1 - r2) ** 2
    rate = (r1 * s2 + r2 * s1) / both
    assert TIDES.rate == pytest.approx(rate, rel=1e-14)
    inner = r1 * r2 + r1 * s2 + r2 * s1
    scv = 1.0 + 2.0 * s1 * s2 * gap / (both**2 * inner)
    assert TIDES.scv == pytest.approx(scv, rel=1e-13)
    # H. Heffes, D. M. Lucantoni, IEEE J. Sel. Areas Commun. 4 (1986), 856-868
    at_once = 2.0 * s1 * s2 * gap / (both**2 * (r1 * s2 + r2 * s1))
    for t in (1e-9, 1e-3, 0.05, 1.0, 30.0, 1e5):
        wanted = 1.0 + at_once * (1.0 + np.expm1(-both * t) / (both * t))
        assert TIDES.dispersion(t) - 1.0 == pytest.approx(wanted - 1.0, rel=1e-6, abs=1e-15)
    assert TIDES.dispersion(np.inf) == pytest.approx(1.0 + at_once, rel=1e-13)
    # gaps: the correlation falls by the second eigenvalue of the chain at events, r1 r2 / inner
    decay = r1 * r2 / inner
    seen = TIDES.autocorrelation([1, 2, 3, 10])
    assert seen[1:] / seen[0] == pytest.approx([decay, decay**2, decay**9], rel=1e-12)
    assert seen[0] == pytest.approx(decay * (1.0 - 1.0 / scv) / 2.0, rel=1e-12)


@pytest.mark.parametrize("alternating", [False, True])
def test_the_canonical_processes_of_order_two_have_their_correlations(alternating):
    """rho_k = gamma^k (1 - 1/scv) / 2 with gamma = a b, or -a b (Bodrog et al. 2008)."""
    a, b = 0.7, 0.6
    process = MAP.acyclic(rates=[0.3, 2.0], a=a, b=b, alternating=alternating)
    gamma = -a * b if alternating else a * b
    lags = np.array([1, 2, 5])
    wanted = gamma**lags * (1.0 - 1.0 / process.scv) / 2.0
    assert process.autocorrelation(lags) == pytest.approx(wanted, rel=1e-12)


@every_map
def test_counts_agree_with_the_chain_of_counts(process):
    """P(n events in t) from the chain of (count, phase), cut off far out."""
    t, most = 3.0, 80
    n = process.order
    whole = np.kron(np.eye(most), process.D0) + np.kron(np.eye(most, k=1), process.D1)
    law = (np.kron(np.eye(most)[0], process.phases) @ expm(t * whole)).reshape(most, n).sum(axis=1)
    count = np.arange(most)
    mean = law @ count
    assert mean == pytest.approx(t * process.rate, rel=1e-10)
    assert process.dispersion(t) == pytest.approx(law @ (count - mean) ** 2 / mean, rel=1e-8)


@every_map
def test_the_two_ways_to_the_dispersion_meet(process):
    """Below and above one change of phase it is found in two ways."""
    t = 1.0 / np.abs(process.D0 + process.D1).max()
    near, far = process.dispersion([t * (1 - 1e-9), t * (1 + 1e-9)])
    assert near == pytest.approx(far, rel=1e-8)
    assert process.dispersion(0.0) == 1.0
    assert process.dispersion(1e9 * t) == pytest.approx(process.dispersion(np.inf), rel=1e-6)


@every_map
def test_gaps_that_are_drawn_have_the_moments_and_correlations(process):
    groups = process.rvs((200, 1000), 5)
    for seen, wanted in (
        (groups.mean(axis=1), process.mean),
        ((groups**2).mean(axis=1), process.moment(2)),
        (
            (groups[:, 1:] * groups[:, :-1]).mean(axis=1),
            process.autocorrelation(1) * process.gaps.var + process.mean**2,
        ),
    ):
        error = seen.std(ddof=1) / np.sqrt(seen.size)
        # neighbouring groups are nearly independent: their edges are one gap in a thousand
        assert abs(seen.mean() - wanted) < 4.5 * error


def test_a_longer_stream_begins_with_the_shorter_one():
    assert np.array_equal(TIDES.rvs(300, 4)[:100], TIDES.rvs(100, 4))
    assert isinstance(TIDES.rvs(random_state=1), float)
    assert TIDES.rvs((2, 3), 1).shape == (2, 3)
    assert MAP.poisson(rate=2.0).rvs(5, 1).shape == (5,)
    with pytest.raises(ModelError, match="size"):
        TIDES.rvs(-1)


def test_independent_streams_add_their_rates_and_their_variances():
    other = MAPS["acyclic"]
    both = TIDES.superpose(other)
    assert both.order == 4
    assert both.rate == pytest.approx(TIDES.rate + other.rate, rel=1e-13)
    for t in (0.1, 7.0, np.inf):
        wanted = TIDES.rate * TIDES.dispersion(t) + other.rate * other.dispersion(t)
        assert both.dispersion(t) == pytest.approx(wanted / both.rate, rel=1e-10)
    poisson = MAP.poisson(rate=1.0).superpose(MAP.poisson(rate=2.0), MAP.poisson(rate=0.5))
    assert (poisson.order, poisson.rate) == (1, 3.5)


@pytest.mark.parametrize("window", [1e16, 1e20, 1e60, 1e308])
def test_the_dispersion_in_a_very_long_window_is_that_of_the_long_run(window):
    for rates in ([14.0, 0.016], [2.8e7, 117.0]):
        process = MAP.modulated([[0.0, 0.0023], [0.058, 0.0]], rates=rates)
        assert process.dispersion(window) == pytest.approx(process.dispersion(np.inf), rel=1e-10)


@every_map
def test_thinning_brings_the_dispersion_near_to_one(process):
    """Var of a thinned count: p^2 Var + p (1 - p) mean, so I - 1 is multiplied by p."""
    thin = process.thin(0.3)
    assert thin.rate == pytest.approx(0.3 * process.rate, rel=1e-13)
    for t in (0.5, 40.0, np.inf):
        wanted = 0.3 * (process.dispersion(t) - 1.0)
        assert thin.dispersion(t) - 1.0 == pytest.approx(wanted, rel=1e-8, abs=1e-12)
    assert process.thin(1.0) == process


@every_map
def test_another_unit_of_time_changes_nothing_else(process):
    slow = process.scale(1000.0)
    assert slow.mean == pytest.approx(1000.0 * process.mean, rel=1e-13)
    assert slow.scv == pytest.approx(process.scv, rel=1e-13)
    assert slow.autocorrelation(2) == pytest.approx(process.autocorrelation(2), rel=1e-11)
    assert slow.dispersion(5000.0) == pytest.approx(process.dispersion(5.0), rel=1e-11)
    assert process.at_rate(0.01).rate == pytest.approx(0.01, rel=1e-13)


def test_a_slow_phase_keeps_its_digits_beside_a_fast_one():
    s1, s2, r1, r2 = 1e-9, 3e-9, 1e6, 1e-3
    process = MAP.modulated([[0.0, s1], [s2, 0.0]], rates=[r1, r2])
    assert process.phases == pytest.approx([0.75, 0.25], rel=1e-13)
    limit = 1.0 + 2.0 * s1 * s2 * (r1 - r2) ** 2 / ((s1 + s2) ** 2 * (r1 * s2 + r2 * s1))
    assert process.dispersion(np.inf) == pytest.approx(limit, rel=1e-9)


def test_processes_are_equal_by_their_matrices_and_survive_pickling():
    again = pickle.loads(pickle.dumps(TIDES))
    assert again == TIDES
    assert hash(again) == hash(TIDES)
    assert again.scale(2.0) != TIDES
    assert TIDES != "tides"
    for array in (again.D0, again.D1, again.jumps, TIDES.D0):
        assert not array.flags.writeable
    assert MAP(TIDES.D0, TIDES.D1) == TIDES
    assert repr(MAP.poisson(rate=4.0)) == "MAP(order=1, mean=0.25, scv=1, lag1=0)"


def test_phases_that_are_left_for_good_have_no_weight():
    process = MAP.from_rates([[0.0, 1.0], [0.0, 0.0]], [[2.0, 0.0], [0.0, 5.0]])
    assert process.phases.tolist() == [0.0, 1.0]
    assert process.mean == pytest.approx(0.2)
    assert process.rvs(1000, 1).max() < 5.0


@pytest.mark.parametrize(
    ("D0", "D1", "words"),
    [
        ([[-1.0]], [[2.0]], "must sum to 0"),
        ([[-1.0, 1.0]], [[0.0]], "square"),
        ([[-1.0]], [[0.5, 0.5], [0.0, 1.0]], "one shape"),
        ([[-2.0, -1.0], [0.0, -1.0]], [[3.0, 0.0], [0.0, 1.0]], r"D0\[0, 1\] must be >= 0"),
        ([[-1.0]], [[np.nan]], "finite"),
        ([[-1.0, 0.5], [0.0, -1.0]], [[0.5, -0.0], [2.0, -1.0]], r"D1\[1, 1\] must be >= 0"),
        ([[-2.0, 1.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]], "phase 1 can never see an event"),
        ([[-1.0, 0.0], [0.0, -1.0]], np.eye(2), "never meet"),
    ],
)
def test_what_is_no_process_is_refused(D0, D1, words):
    with pytest.raises(ModelError, match=words):
        MAP(D0, D1)


def test_arguments_out_of_range_are_refused():
    with pytest.raises(ModelError, match="p must be in"):
        TIDES.thin(0.0)
    with pytest.raises(ModelError, match="atom"):
        MAP.from_phase_type(PhaseType([0.5], [[-1.0]]))
    with pytest.raises(ModelError, match="PhaseType"):
        MAP.from_phase_type(TIDES)
    with pytest.raises(ModelError, match="lag"):
        TIDES.autocorrelation(0)
    with pytest.raises(ModelError, match="window"):
        TIDES.dispersion(-1.0)
    with pytest.raises(ModelError, match="rates"):
        MAP.acyclic(rates=[2.0, 1.0], a=0.5, b=0.5)
    with pytest.raises(ModelError, match="as many rates"):
        MAP.modulated([[0.0, 1.0], [1.0, 0.0]], rates=[1.0])
