from __future__ import annotations

from math import exp, inf, isnan, log, nan, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from phasefit import InfeasibleMomentsError, ModelError, PhaseType
from phasefit.diagnostics import log_likelihood
from phasefit.empirical import empirical, ks_distance
from phasefit.fitting import CRITERIA, FAMILIES, fit
from phasefit.observations import Observations
from tests.examples import examples

TIMES = np.array([0.5, 1.0, 1.5, 2.0, 4.0, 5.0, 0.1, 9.0, 3.0, 0.7])
ERLANG = PhaseType.erlang(phases=3, mean=6.0).rvs(1500, random_state=1)
BURSTY = PhaseType.hyperexponential(weights=[0.9, 0.1], means=[1.0, 40.0]).rvs(1500, random_state=2)


class TestALikelihood:
    def test_of_the_exponential_law_is_its_closed_form(self):
        law = PhaseType.exponential(mean=2.0)
        expected = -TIMES.size * log(2.0) - TIMES.sum() / 2.0
        assert log_likelihood(law, Observations.of(TIMES)) == pytest.approx(expected, rel=1e-12)

    def test_counts_weights_and_each_kind_of_censoring(self):
        law = PhaseType.exponential(mean=2.0)
        seen = Observations.of([[1.0, 1.0], [3.0, inf], [0.0, 1.0], [4.0, 6.0]], weights=[2.0, 3.0, 0.5, 1.0])
        expected = (
            2.0 * (-log(2.0) - 0.5) + 3.0 * -1.5 + 0.5 * log(1.0 - exp(-0.5)) + log(exp(-2.0) - exp(-3.0))
        )
        assert log_likelihood(law, seen) == pytest.approx(expected, rel=1e-12)

    def test_keeps_its_digits_far_out_on_both_sides(self):
        law = PhaseType.exponential(mean=1.0)
        far = Observations.of([[600.0, 601.0], [0.0, 1e-12]])
        expected = -600.0 + log(1.0 - exp(-1.0)) + log(1e-12)
        assert log_likelihood(law, far) == pytest.approx(expected, rel=1e-12)

    def test_counts_zeros_by_the_atom(self):
        law = PhaseType([0.75], [[-0.5]])
        seen = Observations.of([0.0, 1.0, 2.0])
        expected = log(0.25) + 2.0 * log(0.75 * 0.5) - 1.5
        assert log_likelihood(law, seen) == pytest.approx(expected, rel=1e-12)

    def test_is_refused_where_the_law_excludes_the_data(self):
        with pytest.raises(ModelError, match="no chance"):
            log_likelihood(PhaseType.exponential(mean=1.0), Observations.of([0.0, 1.0]))

    @pytest.mark.parametrize("pair", [(None, None), (1.0, Observations.of([1.0])), ("a", [1.0])])
    def test_needs_a_law_and_observations(self, pair):
        with pytest.raises(ModelError):
            log_likelihood(*pair)


class TestOneOrder:
    def test_of_one_phase_is_the_exponential_law_of_the_mean(self):
        report = fit(TIMES, order=1)
        assert report.distribution.mean == pytest.approx(TIMES.mean(), rel=1e-12)
        expected = -TIMES.size * (log(TIMES.mean()) + 1.0)
        assert report.log_likelihood == pytest.approx(expected, rel=1e-12)
        assert report.aic == pytest.approx(2.0 - 2.0 * expected)
        assert report.bic == pytest.approx(log(TIMES.size) - 2.0 * expected)
        assert report.converged
        assert report.ks == pytest.approx(ks_distance(report.distribution, report.data))

    @pytest.mark.parametrize("family", ["hyper-erlang", "coxian", "general"])
    def test_reports_the_likelihood_of_the_law_it_gives(self, family):
        report = fit(BURSTY, order=2, family=family, rng=3)
        total = float(np.sum(report.distribution.logpdf(BURSTY)))
        assert report.log_likelihood == pytest.approx(total, rel=1e-9)
        assert report.distribution.order == 2

    def test_takes_the_most_likely_form_whatever_the_parameters(self):
        report = fit(BURSTY, order=4, rng=3)
        likelihoods = [candidate.log_likelihood for candidate in report.candidates]
        assert len(likelihoods) > 1
        assert report.log_likelihood == max(likelihoods) == likelihoods[0]
        assert report.criterion == "likelihood"

    def test_in_right_censored_data_is_events_over_total_time(self):
        lost = TIMES > 3.5
        report = fit(TIMES, order=1, censored=lost)
        assert report.distribution.mean == pytest.approx(TIMES.sum() / 7, rel=1e-6)
        assert report.data.values.tolist() == sorted(TIMES[~lost].tolist())
        assert report.data.last == 9.0
        assert isnan(report.tail_errors[0])
        assert 0.0 < report.ks < 0.5

    def test_knows_no_distance_from_intervals(self):
        report = fit(np.column_stack([TIMES * 0.9, TIMES * 1.1]), order=1)
        assert report.distribution.mean == pytest.approx(TIMES.mean(), rel=0.01)
        assert report.data is None
        assert any("do not identify" in sentence for sentence in report.warnings)

    def test_takes_counts_in_bins(self):
        rate, edges = 0.5, np.append(np.arange(0.0, 20.0, 0.5), inf)
        shares = -np.diff(np.exp(-rate * edges))
        report = fit(Observations.binned(edges, 1000.0 * shares), order=1)
        assert report.distribution.mean == pytest.approx(1.0 / rate, rel=1e-5)
        assert report.size == pytest.approx(1000.0)


class TestTheChoiceOfTheOrder:
    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_finds_the_erlang_law_that_made_the_data(self, criterion):
        report = fit(ERLANG, max_order=4, criterion=criterion, rng=5)
        assert report.distribution.order >= 3
        if criterion == "bic":
            assert report.label == "hyper-Erlang (3)"

    @pytest.mark.parametrize("criterion", ["aic", "bic"])
    def test_puts_the_best_of_all_that_was_tried_first(self, criterion):
        report = fit(BURSTY, max_order=4, criterion=criterion, rng=5)
        figures = [getattr(candidate, criterion) for candidate in report.candidates]
        assert figures == sorted(figures)
        assert getattr(report, criterion) == pytest.approx(figures[0], rel=1e-12)
        assert report.label == report.candidates[0].label
        assert {candidate.order for candidate in report.candidates} == {1, 2, 3, 4}
        labels = [candidate.label for candidate in report.candidates]
        assert len(set(labels)) == len(labels)
        for candidate in report.candidates:
            k, total = candidate.parameters, candidate.log_likelihood
            assert candidate.aic == pytest.approx(2 * k - 2 * total)
            assert candidate.bic == pytest.approx(k * log(BURSTY.size) - 2 * total)

    def test_by_cross_validation_scores_what_was_left_out(self):
        report = fit(BURSTY, max_order=2, criterion="cv", rng=5)
        one, two = sorted(report.candidates, key=lambda candidate: candidate.order)
        assert two.cv > one.cv
        assert report.distribution.order == 2
        assert one.cv < one.log_likelihood / BURSTY.size  # judged on other data than those fitted

    def test_by_cross_validation_knows_the_score_of_equal_times(self):
        report = fit(np.full(20, 3.0), max_order=2, criterion="cv", rng=5)
        two, one = report.candidates
        assert one.cv == pytest.approx(-log(3.0) - 1.0, rel=1e-9)
        assert two.cv == pytest.approx(log(4.0 / 3.0) - 2.0, rel=1e-9)

    def test_by_cross_validation_needs_enough_times_for_its_folds(self):
        with pytest.raises(ModelError, match="at least 10"):
            fit(TIMES[:9], criterion="cv")
        assert fit(TIMES, criterion="cv", max_order=2, rng=1).criterion == "cv"

    def test_passes_over_orders_that_cannot_hold_the_moments(self):
        # Branches of at most n - 1 phases have an scv above 1 / (n - 1); one of n has just 1 / n.
        assert 1 / 4 < np.var(ERLANG) / np.mean(ERLANG) ** 2 < 1 / 3
        report = fit(ERLANG, hold_moments=2, max_order=5, rng=5)
        assert {candidate.order for candidate in report.candidates} == {5}
        assert np.abs(report.moment_errors[:2]).max() < 1e-9
        with pytest.raises(InfeasibleMomentsError):
            fit(ERLANG, hold_moments=2, max_order=4)

    @pytest.mark.thorough
    def test_is_the_same_for_the_same_seed(self):
        first, second = (
            fit(BURSTY[:200], max_order=2, family="general", criterion="cv", rng=11) for _ in range(2)
        )
        assert first.candidates == second.candidates
        assert first.distribution.T.tolist() == second.distribution.T.tolist()


class TestTheData:
    def test_weigh_as_often_as_they_are_repeated(self):
        counts = np.arange(1, TIMES.size + 1)
        weighted = fit(TIMES, weights=counts, order=2, rng=1)
        repeated = fit(np.repeat(TIMES, counts), order=2, rng=1)
        assert weighted.log_likelihood == pytest.approx(repeated.log_likelihood, rel=1e-6)
        assert weighted.size == repeated.size
        assert weighted.bic == pytest.approx(repeated.bic, rel=1e-6)

    def test_keep_their_zeros_as_an_atom_and_say_so(self):
        report = fit(np.append(TIMES, [0.0, 0.0]), order=1)
        assert report.distribution.atom == pytest.approx(2 / 12, rel=1e-12)
        assert report.distribution.sf(0.0) == pytest.approx(10 / 12)
        assert any("16.67% of the values are 0" in sentence for sentence in report.warnings)

    def test_in_runs_are_called_dependent_and_shuffled_ones_are_not(self, rng):
        runs = np.repeat(rng.exponential(1.0, 200), 5)
        told = [
            any("not independent" in sentence for sentence in fit(x, order=1, weights=w).warnings)
            for x, w in ((runs, None), (rng.permutation(runs), None), (runs, np.ones(1000)))
        ]
        assert told == [True, False, False]

    def test_of_great_variability_are_fitted_with_a_word_on_the_second_moment(self):
        x = np.exp(2.0 * np.random.default_rng(4).standard_normal(2000))
        plain = fit(x, order=2, rng=1)
        held = fit(x, order=2, hold_moments=2, rng=1)
        assert abs(plain.moment_errors[1]) > 0.05
        assert any("hold_moments=2" in sentence for sentence in plain.warnings)
        assert not any("hold_moments=2" in sentence for sentence in held.warnings)
        assert np.abs(held.moment_errors[:2]).max() < 1e-9
        assert held.log_likelihood < plain.log_likelihood

    @pytest.mark.parametrize("samples", [BURSTY, ERLANG, np.append(BURSTY, np.zeros(200))])
    def test_are_met_in_two_moments_by_the_family_of_moments(self, samples):
        report = fit(samples, family="moments")
        assert np.abs(report.moment_errors[:2]).max() < 1e-9
        assert not any("hold_moments" in sentence for sentence in report.warnings)
        assert report.log_likelihood == pytest.approx(
            log_likelihood(report.distribution, Observations.of(samples)), rel=1e-12
        )

    def test_when_censored_have_no_moments_to_match(self):
        with pytest.raises(ModelError, match="censored"):
            fit(TIMES, family="moments", censored=TIMES > 3.0)

    def test_have_a_law_of_their_own_unless_they_are_intervals(self):
        assert empirical(Observations.of([1.0, 2.0])).values.tolist() == [1.0, 2.0]
        assert empirical(Observations.of([[1.0, 2.0], [1.0, 1.0]])) is None
        with pytest.raises(ModelError):
            empirical([1.0, 2.0])

    @pytest.mark.thorough
    @given(st.lists(st.floats(1e-3, 1e5), min_size=1, max_size=30), st.sampled_from([0.0, 1e-4, 1e3]))
    @settings(max_examples=examples(25))
    def test_of_any_kind_give_a_report_that_can_be_read(self, values, extra):
        report = fit([*values, extra, 1.0], max_order=3, rng=1)
        assert report.distribution.mean == pytest.approx(report.data.mean, rel=1e-6)
        assert 0.0 <= report.ks <= 1.0
        assert report.table().startswith(report.label)


class TestTheBootstrap:
    @pytest.mark.thorough
    def test_agrees_with_the_tables_for_the_exponential_law_of_unknown_mean(self):
        # M. A. Stephens, J. Am. Stat. Assoc. 69 (1974) 730-737, the table for that case.
        n, replicas, modified, pvalue = 40, 600, 0.990, 0.10
        even = -np.log1p(-(np.arange(n) + 0.5) / n)

        def excess(shape):
            x = even**shape
            far = ks_distance(PhaseType.exponential(mean=x.mean()), empirical(Observations.of(x)))
            return (far - 0.2 / n) * (sqrt(n) + 0.26 + 0.5 / sqrt(n)) - modified

        shape = brentq(excess, 1.0, 4.0)
        report = fit(even**shape, order=1, bootstrap=replicas, rng=1)
        error = sqrt(pvalue * (1.0 - pvalue) / replicas)
        # Four standard errors, and a tenth for the interpolation formula.
        assert abs(report.ks_pvalue - pvalue) < 4.0 * error + 0.1 * pvalue

    @pytest.mark.thorough
    def test_bands_of_the_exponential_law_are_those_of_its_mean(self):
        n, replicas = 400, 600
        even = -np.log1p(-(np.arange(n) + 0.5) / n)
        report = fit(even, order=1, bootstrap=replicas, rng=2)
        mean, error = even.mean(), even.std() / sqrt(n)
        spread = np.std([law.mean for law in report.replicas])
        assert spread == pytest.approx(error, rel=4.0 / sqrt(2.0 * replicas))
        x = np.array([0.5, 1.0, 3.0])
        for found, side in zip(report.bands(x), (-1.0, 1.0), strict=True):
            # The mean that the end of the band belongs to, within four errors of a 2.5 % quantile.
            z = (-x / np.log(found) - mean) / error
            tolerance = 4.0 * sqrt(0.025 * 0.975 / replicas) / 0.0584
            assert np.abs(z - side * 1.96).max() < tolerance + 3.0 / sqrt(n)

    def test_gives_no_p_value_for_censored_data_but_bands(self):
        report = fit(TIMES, order=1, censored=TIMES > 3.5, bootstrap=10, rng=1)
        assert report.ks_pvalue is None
        assert len(report.replicas) == 10
        low, high = report.bands(2.0)
        assert low < report.distribution.sf(2.0) < high

    @pytest.mark.thorough
    def test_resamples_zeros_and_moments_too(self):
        x = np.append(BURSTY[:200], np.zeros(50))
        report = fit(x, family="moments", bootstrap=40, rng=1)
        atoms = np.array([law.atom for law in report.replicas])
        assert atoms.std() == pytest.approx(sqrt(0.2 * 0.8 / 250), rel=0.5)
        assert len({law.mean for law in report.replicas}) == 40
        assert 1 / 41 <= report.ks_pvalue <= 1.0

    @pytest.mark.thorough
    def test_leaves_out_replicas_that_cannot_hold_the_moments(self):
        # An scv just above 1/3: most orders of 3 and 1 phases have it, many a resampling has not.
        x = PhaseType.erlang(phases=3, mean=1.0).ppf((np.arange(60) + 0.5) / 60)
        x *= 1.0 + 0.04 * (x > 2.0)
        report = fit(x, order=4, hold_moments=2, bootstrap=20, rng=1)
        assert 0 < len(report.replicas) < 20
        assert f"{20 - len(report.replicas)} of 20 replicas" in " ".join(report.warnings)

    def test_needs_weights_that_count(self):
        with pytest.raises(ModelError, match="counts"):
            fit(TIMES, weights=np.full(10, 0.1), order=1, bootstrap=10)


class TestRefusals:
    @pytest.mark.parametrize(
        "samples",
        [
            [],
            None,
            "text",
            [nan],
            [1.0, inf],
            [1.0, -1.0],
            [0.0, 0.0],
            [[1.0, 2.0, 3.0]],
            [1.0, None],
            5.0,
            [True, False],
            [1j],
        ],
    )
    def test_of_samples_that_are_not_times(self, samples):
        with pytest.raises(ModelError):
            fit(samples)

    @pytest.mark.parametrize(
        "option",
        [
            {"order": 0},
            {"order": -1},
            {"order": 1.5},
            {"order": nan},
            {"order": "2"},
            {"order": [1]},
            {"max_order": 0},
            {"max_order": inf},
            {"max_order": 10**9},
            {"order": 10**9},
            {"order": 31, "family": "general"},
            {"family": "erlang"},
            {"family": None},
            {"family": 3},
            {"family": np.ones(2)},
            {"criterion": "ml"},
            {"criterion": None},
            {"criterion": ["bic"]},
            {"hold_moments": 3},
            {"hold_moments": -1},
            {"hold_moments": None},
            {"hold_moments": 1.0},
            {"bootstrap": -1},
            {"bootstrap": None},
            {"bootstrap": 2.5},
            {"rng": -1},
            {"rng": "seed"},
            {"rng": 1.5},
            {"weights": [1.0]},
            {"weights": -np.ones(10)},
            {"weights": np.full(10, nan)},
            {"weights": np.zeros(10)},
            {"weights": "w"},
            {"censored": [True]},
            {"censored": "right"},
            {"censored": np.full(10, 2)},
            {"censored": np.ones(10, bool)},
            {"family": "moments", "order": 2},
        ],
        ids=str,
    )
    def test_of_options_out_of_their_range(self, option):
        with pytest.raises(ModelError):
            fit(TIMES, **option)

    @pytest.mark.thorough
    def test_name_the_nearest_family(self):
        with pytest.raises(ModelError, match="did you mean 'hyper-erlang'"):
            fit(TIMES, family="hypererlan")
        assert fit(TIMES, family="HyperErlang", order=1).label == "hyper-Erlang (1)"
        assert all(fit(TIMES, family=family, max_order=2).label for family in FAMILIES)

    def test_of_weights_beside_observations(self):
        with pytest.raises(ModelError, match="their own"):
            fit(Observations.of(TIMES), weights=np.ones(10))


def test_the_share_of_zeros_counts_as_a_parameter():
    """AIC is 2 k - 2 log L: mean, scv and, where times are zero, their share."""
    for samples, parameters in ((BURSTY, 2), (np.append(BURSTY, np.zeros(200)), 3)):
        report = fit(samples, family="moments")
        likelihood = report.log_likelihood
        assert report.aic == pytest.approx(2 * parameters - 2 * likelihood, rel=1e-14)
        weight = parameters * np.log(len(samples))
        assert report.bic == pytest.approx(weight - 2 * likelihood, rel=1e-14)
