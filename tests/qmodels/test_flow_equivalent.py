from dataclasses import replace

import numpy as np
import pytest

from phasefit import PhaseType, convolve
from qmodels.errors import InfeasibleMomentsError, ModelError
from qmodels.networks import ClosedNetwork, flow_equivalent, flow_equivalents
from tests.qmodels.test_two_centre import E3, ONE, PAIRS, h2

SOJOURNS = {
    "ps exp/exp": ClosedNetwork(8, *PAIRS["exp/exp"]),
    "ps E3/H2": ClosedNetwork(4, *PAIRS["E3/H2"]),
    "fcfs H2/E2": ClosedNetwork(8, *PAIRS["H2/E2"], "fcfs"),
    "fcfs E3/H2": ClosedNetwork(8, *PAIRS["E3/H2"], "fcfs"),
}


def check_moments(law, moments, quantiles=0):
    found = flow_equivalent(law, moments, quantiles=quantiles)
    for k in range(1, moments + 1):
        assert found.distribution.moment(k) == pytest.approx(law.moment(k), rel=1e-9)
        assert abs(found.moment_errors[k - 1]) < 1e-9
    return found


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("name", SOJOURNS)
@pytest.mark.parametrize("moments", [1, 2, 3, 4, 5, 6])
def test_r36_as_many_moments_as_asked_for_are_met(name, moments):
    check_moments(SOJOURNS[name].solve().sojourn, moments)


@pytest.mark.parametrize("name", SOJOURNS)
def test_quantiles_asked_for_bring_the_law_closer(name):
    law = SOJOURNS[name].solve().sojourn
    few = check_moments(law, 3)
    close = check_moments(law, 3, quantiles=20)
    assert close.ks < 0.1 * few.ks or close.ks < 1e-3
    assert np.abs(close.quantile_errors[:3]).max() < 0.01


@pytest.mark.thorough
@pytest.mark.parametrize("name", SOJOURNS)
def test_the_distance_told_is_the_distance_there_is(name):
    law = SOJOURNS[name].solve().sojourn
    for moments, quantiles in ((2, 0), (4, 0)):
        found = flow_equivalent(law, moments, quantiles=quantiles)
        levels = np.linspace(0.0005, 0.9995, 300)
        fitted = found.distribution.cdf(law.ppf(levels))
        apart = np.abs(fitted - levels).max()
        assert apart <= found.ks * (1 + 1e-6) + 1e-12
        assert apart >= 0.9 * found.ks - 1e-4
        for level, error in zip(flow_equivalents.LEVELS, found.quantile_errors, strict=True):
            there = found.distribution.ppf(level) / law.ppf(level) - 1.0
            assert error == pytest.approx(there, abs=1e-8)


def test_a_sojourn_that_is_small_enough_needs_no_fit():
    law = SOJOURNS["fcfs H2/E2"].solve().sojourn
    exact = law.to_phase_type()
    assert exact.order == 16
    assert exact.sf(20.0) == pytest.approx(law.sf(20.0), rel=1e-11)
    assert flow_equivalent(exact, 3).ks == pytest.approx(flow_equivalent(law, 3).ks, rel=1e-6)


def test_an_exponential_is_met_by_one_moment():
    found = flow_equivalent(PhaseType.exponential(mean=3.0), 1)
    assert found.ks < 1e-14
    assert np.abs(found.moment_errors).max() < 1e-14


def test_r36_the_composite_law_takes_the_fitted_sojourn():
    """Computation and fitted sojourn in a row: means and variances add."""
    network = SOJOURNS["ps E3/H2"]
    solution = network.solve()
    phase = convolve(network.delay, flow_equivalent(solution.sojourn, 2).distribution)
    assert phase.mean == pytest.approx(network.delay.mean + solution.mean_sojourn, rel=1e-10)
    assert phase.var == pytest.approx(network.delay.var + solution.sojourn.var, rel=1e-9)


@pytest.mark.parametrize(
    "bad",
    [
        {"moments": 0},
        {"moments": 13},
        {"moments": 2.0},
        {"moments": None},
        {"quantiles": -1},
        {"quantiles": 101},
        {"quantiles": 1.5},
    ],
)
def test_numbers_of_moments_that_make_no_sense_are_refused(bad):
    with pytest.raises(ModelError):
        flow_equivalent(ClosedNetwork(2, ONE, ONE).solve().sojourn, **bad)


@pytest.mark.parametrize("bad", [None, 2.0, "law"])
def test_what_is_no_law_is_refused(bad):
    with pytest.raises(ModelError, match="SojournLaw or a PhaseType"):
        flow_equivalent(bad)


@pytest.mark.thorough
def test_moments_out_of_reach_are_told():
    steady = PhaseType.erlang(phases=200, mean=1.0)
    with pytest.raises(InfeasibleMomentsError):
        flow_equivalent(steady, 2)
    with pytest.raises(InfeasibleMomentsError, match="fewer moments"):
        flow_equivalent(PhaseType.erlang(phases=60, mean=1.0), 12)


def test_the_errors_are_told_in_words_and_in_a_frame():
    found = flow_equivalent(ClosedNetwork(4, E3, h2(1.0, 9.0)).solve().sojourn, 2)
    assert "2 moments matched" in found.table()
    frame = found.to_frame()
    assert frame["quantity"].tolist()[-1] == "quantile 0.999"
    assert len(frame) == 10


def test_weights_that_miss_a_moment_are_caught(monkeypatch):
    law = SOJOURNS["ps E3/H2"].solve().sojourn
    check_moments(law, 4)
    right = flow_equivalents._corrected_weights
    monkeypatch.setattr(
        flow_equivalents,
        "_corrected_weights",
        lambda shares, weights: right(shares, weights) * (1 + 1e-7 * shares[1]),
    )
    with pytest.raises((AssertionError, InfeasibleMomentsError)):
        check_moments(law, 4)


def test_the_table_numbers_the_moments_from_one_and_names_the_quantiles():
    """An exponential law keeps the moments of an exponential law; the rest is layout."""
    exact = PhaseType.exponential(mean=3.0)
    found = flow_equivalent(exact, 1)
    lines = found.table().splitlines()
    assert lines[0] == f"{found.method}, 1 moments matched"
    assert [line.split()[:2] for line in lines[2:]] == [
        *(["moment", str(k)] for k in (1, 2, 3, 4, 5)),
        *(["quantile", level] for level in ("0.5", "0.9", "0.95", "0.99", "0.999")),
    ]
    made_up = replace(found, moment_errors=np.array([0.0, 0.25, -0.5]), quantile_errors=np.array([0.1] * 5))
    assert made_up.table().splitlines()[2:6] == [
        "moment 1  +0.00e+00",
        "moment 2  +2.50e-01",
        "moment 3  -5.00e-01",
        "quantile 0.5  +1.00e-01",
    ]
