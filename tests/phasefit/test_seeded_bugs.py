"""The checks of two families of promises, each shown to fail when a bug is put in."""

import numpy as np
import pytest

from phasefit import ModelError, PhaseType, fit, match_moments, moments, phase_type


def check_fitted_moments():
    """PH fits: both moments to 1e-12 for every scv in [0.01, 1e4], the third to 1e-9."""
    for scv in np.geomspace(0.01, 1e4, 61):
        law = match_moments(3.0, 9.0 * (1.0 + scv))
        assert law.moment(1) == pytest.approx(3.0, rel=1e-12, abs=0)
        assert law.moment(2) == pytest.approx(9.0 * (1.0 + scv), rel=1e-12, abs=0)
    for m2, m3 in ((12.0, 70.0), (40.0, 900.0), (400.0, 1e5)):
        law = match_moments(3.0, m2, m3)
        assert law.moment(3) == pytest.approx(m3, rel=1e-9, abs=0)


def check_numbers_that_are_none():
    """Non-finite arguments: a typed error in every place that takes a number, never an answer."""
    law = PhaseType.erlang(phases=2, mean=1.0)
    for bad in (np.nan, None, "x"):
        for question in (
            law.sf,
            law.cdf,
            law.pdf,
            law.ppf,
            law.laplace,
            law.moment,
            law.scale,
            match_moments,
            lambda x: PhaseType.exponential(mean=x),
            lambda x: PhaseType([x], [[-1.0]]),
            lambda x: PhaseType([1.0], [[x]]),
            lambda x: fit([1.0, x, 2.0], order=1),
        ):
            try:
                answer = question(bad)
            except ModelError:
                continue
            raise AssertionError(f"{bad!r} was answered by {answer!r}")


@pytest.mark.parametrize("check", [check_fitted_moments, check_numbers_that_are_none])
def test_the_promise_holds(check):
    check()


def test_an_unbalanced_hyperexponential_is_caught(monkeypatch):
    def unbalanced(mean, scv):
        share = (1.0 + (scv - 1.0) / (scv + 1.0)) / 2.0  # the square root is missing
        means = [mean / (2.0 * share), mean / (2.0 * (1.0 - share))]
        return PhaseType.hyperexponential(weights=[share, 1.0 - share], means=means)

    monkeypatch.setattr(moments, "_balanced_hyperexponential", unbalanced)
    with pytest.raises(AssertionError):
        check_fitted_moments()


def test_an_erlang_mixture_of_the_wrong_share_is_caught(monkeypatch):
    right = moments._erlang_mixture
    monkeypatch.setattr(moments, "_erlang_mixture", lambda mean, scv: right(mean, scv * (1 + 1e-9)))
    with pytest.raises(AssertionError):
        check_fitted_moments()


def test_a_check_of_arguments_that_lets_nan_through_is_caught(monkeypatch):
    def lenient(name, value, **_):
        return np.array(value, dtype=float)

    monkeypatch.setattr(phase_type, "real_array", lenient)
    with pytest.raises((AssertionError, FloatingPointError, ValueError)) as caught:
        check_numbers_that_are_none()
    assert not isinstance(caught.value, ModelError)
