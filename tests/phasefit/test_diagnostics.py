from __future__ import annotations

from math import exp, isnan, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phasefit import ModelError, PhaseType
from phasefit.diagnostics import Candidate, FitReport
from phasefit.empirical import Empirical, dependence, ks_distance

LAW = PhaseType.exponential(mean=2.0)
durations = st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 2.5, 7.0, 40.0]), min_size=1, max_size=40)


def report(law=LAW, **fields):
    data = fields.pop(
        "data",
        Empirical.of(LAW.ppf((np.arange(200) + 0.5) / 200))
        if law is None
        else Empirical.of(law.ppf((np.arange(200) + 0.5) / 200)),
    )
    given_fields = {
        "log_likelihood": -300.0,
        "parameters": 1,
        "size": 200.0,
        "label": "hyper-Erlang (1)",
        "converged": True,
        "trace": (-310.0, -300.0),
        "data": data,
    }
    return FitReport(distribution=law, **(given_fields | fields))


class TestTheDatasOwnLaw:
    @given(durations)
    def test_counts_what_is_not_longer(self, values):
        data = Empirical.of(values)
        for value, reached in zip(data.values, data.cdf, strict=True):
            expected = sum(v <= value for v in values) / len(values)
            assert reached == pytest.approx(expected, abs=1e-15)
        assert data.size == len(values)

    @given(durations, st.integers(1, 3))
    def test_takes_weights_as_repetitions(self, values, times):
        weighted = Empirical.of(values, np.full(len(values), times))
        repeated = Empirical.of(values * times)
        assert weighted.values.tolist() == repeated.values.tolist()
        assert weighted.cdf == pytest.approx(repeated.cdf, rel=1e-12)
        assert weighted.size == repeated.size

    @given(durations)
    def test_has_the_moments_of_the_sample(self, values):
        data, x = Empirical.of(values), np.array(values)
        assert data.mean == pytest.approx(x.mean())
        if x.max() > 0.0:
            for k in (1, 2, 3):
                assert data.relative_moment(k) == pytest.approx((x**k).mean() / x.mean() ** k)

    @given(durations, st.floats(0.0, 1.0))
    def test_has_quantiles_that_are_observations(self, values, q):
        assert Empirical.of(values).quantile(q) == np.quantile(
            values, max(q - 1e-12, 0.0), method="inverted_cdf"
        )

    def test_of_censored_data_is_the_product_limit_by_hand(self):
        # deaths at 1, 3 (twice), 6; lost at 2, 3 and 9: at risk 7, 5, 2
        data = Empirical.of([1.0, 3.0, 6.0, 3.0], alive=[2.0, 9.0, 3.0])
        assert data.values.tolist() == [1.0, 3.0, 6.0]
        survival = np.cumprod([6 / 7, 3 / 5, 1 / 2])
        assert 1.0 - data.cdf == pytest.approx(survival, abs=1e-15)
        assert data.mean == pytest.approx(1 / 7 + 3 * 6 / 7 * 2 / 5 + (6 + 9) * survival[1] / 2)
        assert isnan(data.quantile(0.9))
        assert data.size == 7

    @given(durations)
    def test_of_data_censored_after_the_end_is_that_of_the_rest_and_one_more(self, values):
        plain = Empirical.of([*values, 50.0])
        censored = Empirical.of(values, alive=[50.0])
        assert censored.values.tolist() == plain.values[:-1].tolist()
        assert censored.cdf == pytest.approx(plain.cdf[:-1], abs=1e-12)
        assert censored.mean == pytest.approx(plain.mean)

    @pytest.mark.parametrize("bad", [[], [-1.0], [np.nan], [np.inf], [[1.0]], None, ["a"], [1.0, -0.5]])
    def test_refuses_what_is_not_a_list_of_times(self, bad):
        with pytest.raises(ModelError):
            Empirical.of(bad)

    @pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [0.0, 0.0], [1.0, np.nan]])
    def test_refuses_weights_that_do_not_fit(self, weights):
        with pytest.raises(ModelError):
            Empirical.of([1.0, 2.0], weights)

    @pytest.mark.parametrize(
        ("values", "cdf", "size"),
        [
            ([1.0, 2.0], [0.5], 2),
            ([2.0, 1.0], [0.5, 1.0], 2),
            ([1.0, 2.0], [0.5, 1.1], 2),
            ([1.0, 2.0], [0.5, 0.4], 2),
            ([1.0], [1.0], 0),
            ([1.0], [1.0], np.nan),
            ([], [], 1),
        ],
    )
    def test_is_a_step_function_or_nothing(self, values, cdf, size):
        with pytest.raises(ModelError):
            Empirical(values, cdf, size)


class TestTheDistance:
    @pytest.mark.parametrize("mean", [0.5, 1.0, 3.0])
    def test_of_one_value_is_what_lies_on_its_longer_side(self, mean):
        below = 1.0 - exp(-1.0 / mean)
        found = ks_distance(PhaseType.exponential(mean=mean), Empirical.of([1.0]))
        assert found == pytest.approx(max(below, 1.0 - below), rel=1e-12)

    @pytest.mark.parametrize("n", [1, 2, 10, 5000])
    def test_of_middle_quantiles_is_half_a_step(self, n):
        data = Empirical.of(LAW.ppf((np.arange(n) + 0.5) / n))
        assert ks_distance(LAW, data) == pytest.approx(0.5 / n, rel=1e-9)

    @pytest.mark.parametrize("n", [1500, 6000, 20_000])
    @pytest.mark.parametrize("mean", [2.0, 2.1, 0.3])
    def test_is_the_one_that_looking_everywhere_finds(self, n, mean, rng):
        from scipy.stats import kstest

        law = PhaseType.exponential(mean=mean)
        values = rng.exponential(2.0, n)
        assert ks_distance(law, Empirical.of(values)) == pytest.approx(
            kstest(values, law.cdf).statistic, rel=1e-9, abs=0
        )

    @pytest.mark.thorough
    def test_finds_a_narrow_gap_between_the_places_looked_at_first(self):
        n = 50_000
        values = LAW.ppf((np.arange(n) + 0.5) / n)
        values[20_010:20_030] = values[20_010]  # 19 values slip down to one
        expected = 19.5 / n  # there the step reaches 20 030 / n
        assert ks_distance(LAW, Empirical.of(values)) == pytest.approx(expected, rel=1e-6)

    def test_does_not_count_an_atom_as_a_difference(self):
        law = PhaseType([0.75], [[-1.0]])
        assert ks_distance(law, Empirical.of([0.0], [1.0])) == pytest.approx(0.75)
        n = 300
        data = Empirical.of(np.append(np.zeros(n), LAW.scale(0.5).ppf((np.arange(3 * n) + 0.5) / (3 * n))))
        assert ks_distance(law, data) == pytest.approx(0.5 / (4 * n), rel=1e-6)

    @pytest.mark.parametrize("pair", [(LAW, None), (None, Empirical.of([1.0])), (1.0, 2.0)])
    def test_needs_a_law_and_data(self, pair):
        with pytest.raises(ModelError):
            ks_distance(*pair)


class TestDependence:
    def test_is_seen_in_runs_and_not_in_shuffled_values(self, rng):
        runs = np.repeat(rng.exponential(1.0, 200), 5)
        assert "not independent" in dependence(runs)
        assert dependence(rng.permutation(runs)) is None

    def test_is_seen_by_ranks_when_one_value_hides_it(self, rng):
        runs = np.repeat(rng.exponential(1.0, 200), 5)
        runs[500] = 1e9
        assert "0.0" in dependence(runs).split("autocorrelation is")[1][:7]

    def test_by_ranks_gives_equal_values_the_middle_of_their_ranks(self, rng):
        from scipy.stats import rankdata

        x = np.repeat(rng.choice([1.0, 2.0, 3.0], 100, p=[0.8, 0.1, 0.1]), 3)
        ranks = rankdata(x) - (x.size + 1) / 2
        assert f"({ranks[1:] @ ranks[:-1] / (ranks @ ranks):.3f} by ranks" in dependence(x)

    def test_of_alternating_values_is_seen_too(self):
        assert "-0.9" in dependence(np.tile([1.0, 2.0], 50))

    def test_is_claimed_of_one_in_a_hundred_independent_series(self, rng):
        # The two figures together: between 1 % and 2 %. Binomial, five standard errors above.
        seen = sum(dependence(rng.exponential(1.0, 100)) is not None for _ in range(1000))
        assert seen <= 20 + 5 * sqrt(1000 * 0.02 * 0.98)

    @pytest.mark.parametrize("values", [np.arange(19.0), np.ones(50), np.zeros(50)])
    def test_is_not_judged_from_few_or_equal_values(self, values):
        assert dependence(values) is None


class TestAReport:
    def test_weighs_likelihood_against_parameters(self):
        fitted = report(parameters=3, size=200.0)
        assert fitted.aic == 606.0
        assert fitted.bic == pytest.approx(600.0 + 3 * log(200))

    @pytest.mark.thorough
    @given(st.floats(0.2, 5.0))
    def test_tells_how_far_moments_and_tails_are_off(self, factor):
        fitted = report(law=LAW.scale(factor), data=Empirical.of(LAW.ppf((np.arange(200) + 0.5) / 200)))
        own = report()
        for k, (error, base) in enumerate(zip(fitted.moment_errors, own.moment_errors, strict=True)):
            assert 1 + error == pytest.approx((1 + base) * factor ** (k + 1), rel=1e-9)
        for error, base in zip(fitted.tail_errors, own.tail_errors, strict=True):
            assert 1 + error == pytest.approx((1 + base) * factor, rel=1e-9)

    def test_takes_tail_quantiles_from_the_observations(self):
        data = Empirical.of(np.arange(1.0, 1001.0))
        errors = report(data=data).tail_errors
        for q, x, error in zip((0.9, 0.95, 0.99, 0.999), (900, 950, 990, 999), errors, strict=True):
            assert error == pytest.approx(-2.0 * log(1 - q) / x - 1, rel=1e-9)

    def test_is_not_swayed_by_the_unit_of_time(self):
        tiny, huge = (
            report(law=LAW.scale(c), data=Empirical.of(c * LAW.ppf((np.arange(200) + 0.5) / 200)))
            for c in (1e-120, 1e120)
        )
        assert tiny.moment_errors == pytest.approx(huge.moment_errors, rel=1e-9)
        assert tiny.ks == pytest.approx(huge.ks, rel=1e-6)
        for fitted in (tiny, huge):  # E[X^3] is beyond the range of a float
            assert "E[X^3]" in fitted.table()
            assert fitted.to_frame()["fitted"].notna().sum() == 9

    def test_offers_to_hold_the_moments_that_likelihood_missed(self):
        data = Empirical.of(LAW.ppf((np.arange(200) + 0.5) / 200) * 1.1)
        missed = [w for w in report(data=data).warnings if "hold_moments=2" in w]
        assert len(missed) == 1
        assert f"{report(data=data).moment_errors[1]:+.1%}" in missed[0]
        # Of an exponential law E[X^4] = 6 E[X^2]^2; of its middle quantiles, a little less.
        x = data.values
        known = np.sqrt(((x**4).mean() / (x**2).mean() ** 2 - 1) / 200)
        assert known == pytest.approx(np.sqrt(5 / 200), rel=0.2)
        assert f"know it to {known:.1%}" in missed[0]
        assert not report(data=data, held=2).warnings
        assert not report().warnings

    def test_says_that_it_did_not_converge(self):
        assert "still rising after 2 steps" in report(converged=False).warnings[0]

    def test_keeps_the_doubts_about_the_data(self):
        assert report(remarks=["Doubtful."]).warnings == ("Doubtful.",)

    def test_of_data_without_a_law_of_their_own_knows_no_distance(self):
        blind = report(data=None)
        assert isnan(blind.ks)
        assert all(map(isnan, (*blind.moment_errors, *blind.tail_errors)))
        assert "not identified" in blind.table()
        assert blind.to_frame()["error"].isna().all()

    def test_compares_data_and_law_in_a_frame(self):
        frame = report(data=Empirical.of([1.0, 2.0, 3.0])).to_frame()
        assert frame.loc["mean"].tolist() == pytest.approx([2.0, 2.0, 0.0], abs=1e-12)
        assert frame.loc["E[X^2]"].tolist() == pytest.approx([14 / 3, 8.0, 24 / 14 - 1])
        assert frame.loc["scv"].tolist() == pytest.approx([1 / 6, 1.0, 5.0])
        assert frame.loc["quantile 0.5"].tolist() == pytest.approx([2.0, 2 * log(2), log(2) - 1])

    def test_writes_its_table_without_stray_blanks(self):
        lines = report(remarks=["Doubtful."]).table().splitlines()
        assert lines[0] == "hyper-Erlang (1): PhaseType(order=1, mean=2, scv=1)"
        assert lines[-1] == "- Doubtful."
        assert all(line == line.rstrip() for line in lines)

    def test_lists_as_many_candidates_as_it_is_asked_to(self):
        tried = [Candidate(f"law {i}", i, i, -9.0, 1.0, 2.0, None, 3, True) for i in range(1, 6)]
        text = report(candidates=tried).table(most=2)
        assert "law 2" in text
        assert "law 3" not in text
        assert "... and 3 more" in text
        for most in (0, None, 1.5, np.nan):
            with pytest.raises(ModelError):
                report().table(most=most)

    def test_takes_its_bands_from_the_replicas(self):
        replicas = [LAW.scale(c) for c in np.linspace(0.5, 1.5, 101)]
        low, high = report(replicas=replicas).bands([[1.0, 4.0]], level=0.9)
        assert low.shape == high.shape == (1, 2)
        assert low[0] == pytest.approx([exp(-1 / 1.1), exp(-4 / 1.1)], rel=1e-9)
        assert high[0] == pytest.approx([exp(-1 / 2.9), exp(-4 / 2.9)], rel=1e-9)

    def test_says_when_replicas_are_few(self):
        assert "20 replicas are few" in report(replicas=[LAW] * 20).warnings[0]
        assert not report(replicas=[LAW] * 39).warnings

    @pytest.mark.parametrize("level", [0.0, 1.0, -1.0, np.nan, np.inf, None, "a", [0.9]])
    def test_refuses_a_level_outside_zero_to_one(self, level):
        with pytest.raises(ModelError):
            report(replicas=[LAW] * 40).bands(1.0, level=level)

    @pytest.mark.parametrize("x", [np.nan, None, "a", [1.0, np.nan]])
    def test_refuses_a_time_that_is_none(self, x):
        with pytest.raises(ModelError):
            report(replicas=[LAW] * 40).bands(x)

    def test_has_no_bands_without_bootstrap(self):
        with pytest.raises(ModelError, match="bootstrap=200"):
            report().bands(1.0)

    @pytest.mark.parametrize(
        "field",
        [
            {"law": None},
            {"log_likelihood": np.nan},
            {"log_likelihood": None},
            {"size": 0.0},
            {"data": [1.0, 2.0]},
            {"ks_pvalue": 1.5},
            {"ks_pvalue": np.nan},
            {"parameters": -1},
            {"parameters": 1.5},
            {"trace": (np.nan,)},
            {"trace": ("a",)},
        ],
    )
    def test_is_refused_when_its_fields_do_not_go_together(self, field):
        fields = {"data": Empirical.of([1.0])} | field
        with pytest.raises(ModelError):
            report(**fields)
