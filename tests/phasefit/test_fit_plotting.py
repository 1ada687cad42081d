from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.integrate import trapezoid

from phasefit import ModelError, PhaseType
from phasefit.diagnostics import FitReport
from phasefit.empirical import Empirical
from phasefit.plotting import ccdf, density, fit_figure, likelihood, quantiles
from tests.figure_checks import problems
from tests.pictures import drawn_once

PANELS = [density, ccdf, quantiles, likelihood]
LAW = PhaseType.hyperexponential(weights=[0.8, 0.2], means=[10.0, 3000.0])
SAMPLES = {
    "many": LAW.rvs(20_000, random_state=3),
    "one": [2.0],
    "equal": [2.0] * 50,
    "two": [1.0, 1e6],
    "zeros": [0.0] * 30 + [1.0, 5.0, 60.0],
    "only zeros beside one": [0.0] * 30 + [1.0],
    "whole seconds": np.round(LAW.rvs(3000, random_state=4)),
    "tiny": LAW.rvs(300, random_state=5) * 1e-200,
    "huge": LAW.rvs(300, random_state=5) * 1e200,
}


def report(samples=SAMPLES["many"], law=LAW, **fields):
    data = None if samples is None else Empirical.of(samples)
    size = 100.0 if data is None else data.size
    return FitReport(
        **{
            "distribution": law,
            "log_likelihood": -5.0,
            "parameters": 3,
            "size": size,
            "label": "hyper-Erlang (1, 1)",
            "converged": True,
            "data": data,
            "trace": tuple(-5.0 - 2.0 ** -np.arange(30.0)),
        }
        | fields
    )


def drawn(figure):
    """Render the figure, which is when matplotlib finds out what it cannot draw."""
    return drawn_once(figure, dpi=40)


@pytest.mark.parametrize("draw", PANELS)
class TestEachPanel:
    def test_draws_into_the_axes_it_is_given(self, draw):
        ax = Figure().add_subplot()
        assert draw(report(), ax=ax) is ax
        assert ax.get_title()
        assert ax.get_xlabel()
        assert ax.get_ylabel()

    def test_makes_a_figure_of_its_own_where_it_is_given_none(self, draw):
        assert isinstance(draw(report()).figure, Figure)


class TestTheFigure:
    @pytest.mark.thorough
    def test_has_four_panels_and_says_what_was_fitted(self):
        figure = report().figure()
        assert len(figure.axes) == 4
        assert "hyper-Erlang (1, 1), n = 20,000, KS" in figure.get_suptitle()
        assert drawn(figure)

    @pytest.mark.thorough
    @pytest.mark.parametrize("samples", SAMPLES.values(), ids=SAMPLES)
    def test_can_be_drawn_of_whatever_was_observed(self, samples):
        law = LAW.scale(max(np.mean(samples) / LAW.mean, 1e-300))
        figure = report(samples, law).figure()
        figure.set_layout_engine("none")  # that room is made for the labels is seen above
        assert drawn(figure)

    @pytest.mark.thorough
    def test_does_without_data(self):
        assert drawn(report(None).figure())

    def test_does_not_touch_the_state_of_pyplot(self):
        import matplotlib.pyplot as plt

        fit_figure(report())
        assert not plt.get_fignums()


class TestTheDensity:
    @pytest.mark.parametrize("name", ["many", "whole seconds", "zeros", "two", "equal"])
    def test_of_the_data_has_the_area_of_the_positive_share(self, name):
        ax = density(report(SAMPLES[name]))
        height, edges, _ = ax.patches[0].get_data()
        area = float(height @ np.diff(np.log10(edges)))
        assert area == pytest.approx(np.mean(np.array(SAMPLES[name]) > 0.0), rel=1e-9)

    def test_of_the_law_has_area_one(self):
        x, y = density(report()).lines[0].get_data()
        area = trapezoid(y, np.log10(x))
        # The axis ends where the data do: 1/20 000 and the first 1e-3 or so are beyond it.
        assert area == pytest.approx(1.0, abs=0.01)

    def test_of_whole_seconds_has_no_empty_bars_among_the_short_ones(self):
        height, edges, _ = density(report(SAMPLES["whole seconds"])).patches[0].get_data()
        assert (height[edges[:-1] < 20.0] > 0.0).all()
        between = edges[1:-1][edges[1:-1] < 1000.0]
        assert between.size > 10
        assert (between != np.round(between)).all()


class TestTheCcdf:
    @pytest.mark.thorough
    def test_shows_a_band_only_after_a_bootstrap(self):
        assert not ccdf(report()).collections
        replicas = tuple(LAW.scale(c) for c in np.linspace(0.9, 1.1, 40))
        band = ccdf(report(replicas=replicas))
        assert len(band.collections) == 1
        assert "95% band" in [text.get_text() for text in band.get_legend().get_texts()]

    def test_keeps_the_steps_of_the_data_within_one_picture(self):
        line = ccdf(report(np.arange(1.0, 100_001.0))).lines[0]
        assert 1000 < len(line.get_xdata()) <= 4000
        assert np.unique(line.get_ydata())[1] == pytest.approx(1e-5)  # the last value leaves none

    @pytest.mark.parametrize("level", [0.0, 1.0, np.nan, -1.0, np.inf])
    def test_refuses_a_level_outside_zero_to_one(self, level):
        with pytest.raises(ModelError):
            ccdf(report(), level=level)


class TestTheQuantiles:
    def test_of_the_law_itself_lie_on_the_diagonal(self):
        n = 2000
        exact = report(LAW.ppf((np.arange(n) + 0.5) / n))
        x, y = np.asarray(quantiles(exact).collections[0].get_offsets()).T
        assert x.size > 100
        assert y == pytest.approx(x, rel=1e-6)


class TestTheLikelihood:
    def test_shows_what_each_step_still_lacked(self):
        x, y = likelihood(report(size=10.0, trace=(-8.0, -6.0, -5.5, -5.0))).lines[0].get_data()
        assert x.tolist() == [1, 2, 3]
        assert y == pytest.approx([0.3, 0.1, 0.05])

    def test_says_that_there_was_nothing_to_iterate(self):
        for trace in ((), (-5.0,), (-5.0, -5.0)):
            assert likelihood(report(trace=trace)).texts


def test_data_that_are_all_alike_are_seen_and_have_numbers_that_can_be_read():
    found = report([3.0] * 3, law=PhaseType.erlang(phases=8, mean=3.0))
    (line, _) = ccdf(found).lines
    assert set(line.get_xdata()) == {3.0}
    assert line.get_ydata()[0] == 1.0
    assert line.get_ydata()[-1] < 0.2  # none above it
    for draw in (density, ccdf, quantiles):
        ax = draw(found)
        assert problems(ax.figure) == []
        assert not any(each.get_text() for each in ax.get_xticklabels(minor=True))
