"""The arithmetic below the fits: the library, the evidence of a law, the noise, the draws."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from qmodels.io.runs import RunTable
from qmodels.programs import fit_runs
from qmodels.programs.scaling.evidence import SIGMAS, weigh
from qmodels.programs.scaling.pooling import pooled
from qmodels.programs.scaling.posterior import settled
from qmodels.programs.scaling.terms import (
    COMMON_ODDS,
    GROWTH_ODDS,
    SLOW_ODDS,
    Scale,
    library,
    proportional,
    subsets,
)
from tests.naive.scaling import GRID, SPECIFIED, log_evidence, measured


class TestTheLibrary:
    def test_has_the_terms_of_the_specification(self):
        texts = [term.text for term in library("cpu").terms]
        assert texts == [
            "1",
            "1/p",
            "1/p^0.9",
            "1/p^0.8",
            "1/p^0.7",
            "1/p^0.6",
            "1/p^0.5",
            "log2(p)",
            "(sqrt(p)-1)",
            "(p-1)",
            "log2(p)/p",
        ]
        io = {term.text for term in library("io").terms}
        assert io > {*texts, "1/d", "1/d^0.5", "1/(p*d)", "p/d", "(d-1)", "1/min(d, p/0.25)"}
        assert io > {"1/min(d, p/64)", "1/min(d, p/2.828)^0.9", "1/min(d, p/4)^0.5"}
        assert len(io) == len(library("io")) == 11 + 9 + 65 + 17 * 5

    @pytest.mark.parametrize("kind", ["cpu", "io"])
    def test_evaluates_each_term_as_its_text_says(self, kind):
        p, d = np.array([1.0, 3.0, 64.0]), np.array([1.0, 7.0, 5.0])
        names = {"min": np.minimum, "log2": np.log2, "sqrt": np.sqrt, "p": p, "d": d}
        values = library(kind).values(p, d)
        for term, row in zip(library(kind).terms, values, strict=True):
            expected = eval(term.text.replace("^", "**"), {"__builtins__": {}}, names)
            # R is printed to four digits.
            assert row == pytest.approx(np.broadcast_to(expected, 3), rel=5e-4, abs=1e-12)

    @pytest.mark.parametrize("kind", ["cpu", "io"])
    def test_every_law_takes_its_terms_from_different_families(self, kind):
        families = [term.family for term in library(kind).terms]
        for group in subsets(library(kind)):
            for law in group.terms[:: max(1, len(group.terms) // 500)]:
                assert len({families[j] for j in law}) == group.terms.shape[1]

    @pytest.mark.thorough(first=1)
    @pytest.mark.parametrize("kind", ["cpu", "io"])
    def test_every_combination_of_families_is_as_likely_and_shared_by_its_members(self, kind):
        families = np.array([term.family for term in library(kind).terms])
        mass: dict[tuple[str, ...], float] = {}
        for group in subsets(library(kind)):
            for law, log_prior in zip(group.terms.tolist(), group.log_prior, strict=True):
                key = tuple(sorted(families[law]))
                mass[key] = mass.get(key, 0.0) + math.exp(log_prior)
        assert sum(mass.values()) == pytest.approx(1.0, rel=1e-9)
        assert min(mass.values()) == pytest.approx(max(mass.values()), rel=1e-9)
        # Growth alone would take no time on the fewest processors: no law.
        kinds = len(set(families))
        growing = len({term.family for term in library(kind).terms if term.part == "growth"})
        assert len(mass) == sum(math.comb(kinds, k) - math.comb(growing, k) for k in (1, 2, 3))

    def test_runs_that_grow_from_the_first_are_not_fitted_by_growth_alone(self):
        p = np.repeat(24.0 * 2.0 ** np.arange(11), 3)
        off = np.exp(0.3 * np.random.default_rng(8).normal(size=p.size))
        frame = pd.DataFrame({"p": p, "seconds": (1.5 + 0.2 * p**0.7) * off, "repeat": [1, 2, 3] * 11})
        fitted = fit_runs(RunTable(frame.assign(program="a", phase=1, kind="cpu", d=1)))["a"]
        assert fitted.predict(24.0, 1.0).time.data[0] > 0.5

    def test_finds_terms_of_one_direction(self):
        values = np.array([[1.0, 2.0], [0.0, 0.0], [2.0, 4.0], [1.0, 1.0], [3.0, 6.0]])
        assert proportional(values) == [[0, 2, 4], [3]]


def evidence_of(kind, law, runs, sigma):
    """Log evidence of one law at one sigma as `weigh` has it, and its prior."""
    found = weigh(library(kind), runs)
    place = int(np.argmin(np.abs(SIGMAS - sigma)))
    texts = [term.text for term in library(kind).terms]
    wanted = sorted(texts.index(text) for text in law)
    rows = [
        i
        for i in range(len(found.terms))
        if found.sigma[i] == place and sorted(j for j in found.terms[i] if j >= 0) == wanted
    ]
    assert len(rows) == 1
    group = subsets(library(kind))[len(law) - 1]
    (at,) = np.nonzero(np.all(np.sort(group.terms, axis=1) == wanted, axis=1))[0]
    return float(np.logaddexp.reduce(found.log_weight[rows[0]]) - group.log_prior[at])


class TestTheScaleOfALibrary:
    """A table in nodes, in cores or in ranks is the same table."""

    @pytest.mark.parametrize("kind", ["cpu", "io"])
    @pytest.mark.parametrize("factor", [128.0, 36.0, 3.0])
    def test_leaves_the_directions_of_all_terms_as_they_are(self, kind, factor):
        p, d = np.array([1.0, 2.0, 5.0, 64.0]), np.array([1.0, 7.0, 5.0, 2.0])
        nodes = library(kind, Scale(1.0, 2.0)).values(p, d)
        cores = library(kind, Scale(factor, 2.0 * factor)).values(factor * p, d)
        assert nodes.shape == cores.shape
        size = np.max(nodes, axis=1) / np.max(cores, axis=1)
        assert cores * size[:, None] == pytest.approx(nodes, rel=1e-9)

    def test_names_what_growth_counts_from_and_where_a_node_ends(self):
        texts = [term.text for term in library("cpu", Scale(36.0, 72.0)).terms]
        assert texts[7:] == [
            "log2(p/36)",
            "(sqrt(p/36)-1)",
            "(p/36-1)",
            "log2(p/36)/p",
            "[p>72]",
            "[p>72]/p",
            "[p>72]*log2(p/72)/p",
        ]

    def test_has_nothing_beyond_a_node_on_a_node(self):
        values = library("cpu", Scale(1.0, 8.0)).values(np.array([1.0, 8.0, 16.0]), np.ones(3))
        assert values[-3:, :2].tolist() == [[0.0, 0.0]] * 3
        assert values[-3:, 2].tolist() == [1.0, 1 / 16, 1 / 16]

    def test_grows_by_nothing_below_the_fewest_processors(self):
        values = library("cpu", Scale(8.0)).values(np.array([1.0, 4.0, 8.0]), np.ones(3))
        assert not values[7:].any()

    @pytest.mark.parametrize("kind", ["cpu", "io"])
    def test_odds_are_against_growth_and_for_what_is_common(self, kind):
        lib = library(kind)
        odds = dict(zip([term.text for term in lib.terms], np.exp(lib.log_odds()), strict=False))
        assert odds["(p-1)"] == pytest.approx(1 / GROWTH_ODDS)
        assert odds["log2(p)"] == odds["(sqrt(p)-1)"] == pytest.approx(1 / SLOW_ODDS)
        assert odds["1"] == odds["log2(p)/p"] == pytest.approx(COMMON_ODDS)
        assert odds["1/p"] == odds["1/p^0.7"] == 1.0
        assert lib.log_odds().size == len(lib) + 1
        assert lib.log_odds()[-1] == 0.0


class TestTheEvidence:
    @pytest.mark.parametrize(
        ("law", "truth"),
        [
            (["1/p"], lambda p, d: 512 / p),
            (["1", "1/p"], lambda p, d: 20 + 512 / p),
            (["1/p", "(p-1)"], lambda p, d: 512 / p + 0.1 * (p - 1)),
            # A term that is not there: half of its normal is cut off.
            (["1/p", "log2(p)"], lambda p, d: 512 / p),
        ],
    )
    @pytest.mark.parametrize("noise", [0.02, 0.05])
    def test_is_the_integral_of_likelihood_times_prior(self, law, truth, noise, rng):
        """Against a dense grid without linearisation; 32 points and curvature leave .1."""
        runs = measured({"cpu": truth}, [(p, 1) for p in (1, 2, 4, 8, 16)], noise=noise, rng=rng)
        frame = runs.frame
        data = pooled(*(frame[name].to_numpy(float) for name in ("p", "d", "seconds")))
        sigma = float(SIGMAS[np.argmin(np.abs(SIGMAS - noise))])
        texts = [term.text for term in library("cpu").terms]
        columns = library("cpu").values(data.p, data.d)[[texts.index(x) for x in law]]
        scale = np.sqrt(np.mean((columns / np.exp(data.log_time)) ** 2, axis=1))
        naive = log_evidence(columns, scale, data.log_time, data.count, data.within, sigma)
        assert evidence_of("cpu", law, data, sigma) == pytest.approx(naive, abs=0.1)

    def test_is_taken_at_the_fit_to_the_logarithm_not_to_the_times(self, rng):
        """At 30 % noise a single step from the measured times is far from the best fit."""
        runs = measured({"cpu": lambda p, d: 20 + 512 / p}, noise=0.3, rng=rng).frame
        data = pooled(*(runs[name].to_numpy(float) for name in ("p", "d", "seconds")))
        sigma = float(SIGMAS[np.argmin(np.abs(SIGMAS - 0.3))])
        columns = library("cpu").values(data.p, data.d)[:2]
        scale = np.sqrt(np.mean((columns / np.exp(data.log_time)) ** 2, axis=1))
        naive = log_evidence(columns, scale, data.log_time, data.count, data.within, sigma)
        assert evidence_of("cpu", ["1", "1/p"], data, sigma) == pytest.approx(naive, abs=0.1)

    def test_knows_that_one_coefficient_makes_up_for_the_other(self):
        """Points of (1, 1/p) scatter as least squares has it: sigma^2 (X'X)^-1, X = columns/time.

        Noise-free times, and noise so small that neither sign nor prior bends the normal law.
        """
        p = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
        times = 20.0 + 512.0 / p
        runs = pooled(np.repeat(p, 4), np.ones(20), np.repeat(times, 4))
        found = weigh(library("cpu"), replace(runs, within=20 * 1e-3**2))
        texts = [term.text for term in library("cpu").terms]
        both = [texts.index("1"), texts.index("1/p")]
        rows = [i for i, law in enumerate(found.terms.tolist()) if sorted(law[:2]) == both and law[2] == -1]
        assert rows
        columns = np.stack([1 / times, 1 / p / times], axis=1)
        inverse = np.linalg.inv(4 * columns.T @ columns)
        correlation = inverse[0, 1] / math.sqrt(inverse[0, 0] * inverse[1, 1])
        assert correlation < -0.5
        for i in rows:
            order = np.argsort(found.terms[i, :2])
            points = found.coefficients[i][:, :2][:, order]
            expected = SIGMAS[found.sigma[i]] ** 2 * inverse
            # Evenly spread points do no worse than independent ones, two standard errors of n.
            n = len(points)
            assert np.var(points, axis=0) == pytest.approx(np.diag(expected), rel=2 * (2 / n) ** 0.5)
            found_one = np.corrcoef(points.T)[0, 1]
            assert found_one == pytest.approx(correlation, abs=2 * (1 - correlation**2) / n**0.5)

    @pytest.mark.thorough
    def test_does_not_mind_the_order_of_runs_or_how_repeats_are_numbered(self, rng):
        frame = measured(SPECIFIED["task"], rng=rng).frame.query("kind == 'io'")
        shuffled = frame.sample(frac=1.0, random_state=3)
        one, other = (
            weigh(library("io"), pooled(*(x[name].to_numpy(float) for name in ("p", "d", "seconds"))))
            for x in (frame, shuffled)
        )
        assert one.by_sigma()[40:60] == pytest.approx(other.by_sigma()[40:60], rel=1e-9)

    def test_pools_repeats_into_means_and_what_they_scatter(self):
        found = pooled(np.array([1.0, 2.0, 1.0]), np.ones(3), np.exp([1.0, 5.0, 2.0]))
        assert found.p.tolist() == [1.0, 2.0]
        assert found.log_time == pytest.approx([1.5, 5.0])
        assert found.count.tolist() == [2.0, 1.0]
        assert found.within == pytest.approx(0.5)

    @pytest.mark.thorough
    def test_coefficients_are_never_negative(self, rng):
        (fitted,) = fit_runs(measured(SPECIFIED["task"], noise=0.3, rng=rng)).values()
        for component in fitted.components:
            assert component.posterior.draws.min() >= 0
            assert component.posterior.centre.min() >= 0


class TestTheDraws:
    @pytest.fixture
    def timed(self, rng):
        frame = measured(SPECIFIED["peak"], rng=rng).frame.query("kind == 'cpu'")
        return pooled(*(frame[name].to_numpy(float) for name in ("p", "d", "seconds")))

    @pytest.fixture
    def weighed(self, timed):
        return weigh(library("cpu"), timed)

    def test_have_the_law_that_stands_for_them_in_their_middle(self, weighed, timed):
        """Of log T, within a third of its standard deviation; simple laws may move it beyond the runs."""
        (found,) = settled([weighed], [timed], draws=50_000, seed=1)
        p = np.array([1.0, 3.0, 8.0, 16.0])
        drawn = np.log(found.draws @ found.library.values(p, np.ones(p.size)))
        off = np.log(found.seconds(p, np.ones(p.size))) - drawn.mean(axis=0)
        assert np.all(np.abs(off) < drawn.std(axis=0) / 3)

    def test_hold_each_term_as_often_as_it_is_probable(self, weighed, timed):
        (found,) = settled([weighed], [timed], draws=50_000, seed=1)
        assert np.mean(found.draws > 0, axis=0) == pytest.approx(found.present, abs=0.01)
        assert sum(law.probability for law in found.laws) <= 1 + 1e-12
        assert found.laws[0].probability == max(law.probability for law in found.laws)

    def test_have_the_noise_that_its_prior_and_the_evidence_give(self, weighed, timed):
        """Alone in its program: the prior is the average over centres and spreads."""
        (found,) = settled([weighed], [timed], draws=50_000, seed=1)
        logs, prior = np.log(SIGMAS), 0.0
        for spread in (0.05, 0.3, 1.0):
            for centre in logs:
                bell = np.exp(-0.5 * ((logs - centre) / spread) ** 2)
                prior = prior + bell / bell.sum()
        evidence = weighed.by_sigma()
        posterior = prior * np.exp(evidence - evidence.max())
        posterior = posterior / posterior.sum()
        mean = posterior @ logs
        spread = math.sqrt(posterior @ (logs - mean) ** 2)
        assert np.mean(np.log(found.sigmas)) == pytest.approx(mean, abs=5 * spread / 50_000**0.5)
        assert np.std(np.log(found.sigmas)) == pytest.approx(spread, rel=0.02)

    def test_of_a_burst_are_independent_of_those_of_another(self, weighed, timed):
        one, other = settled([weighed, weighed], [timed, timed], draws=2000, seed=1)
        at = one.library.values(np.array([64.0]), np.ones(1))
        correlation = np.corrcoef((one.draws @ at)[:, 0], (other.draws @ at)[:, 0])[0, 1]
        assert abs(correlation) < 4 / math.sqrt(2000)


def test_noise_free_runs_leave_the_least_noise_that_is_tried():
    (fitted,) = fit_runs(measured(SPECIFIED["task"], GRID, repeats=1)).values()
    assert [component.sigma for component in fitted.components] == [SIGMAS[0]] * 2


@pytest.mark.thorough
def test_of_very_many_laws_that_fit_exactly_the_same_are_kept_in_any_unit_of_time():
    """Rounding chose them: a forecast in milliseconds and one in seconds had intervals 6 % apart."""
    p, seconds = (
        np.array([2.0, 4.0, 6.0]),
        np.array([34.38258258078877, 18.667882332853114, 13.471092403865613]),
    )
    kept = [weigh(library("io", Scale(2.0)), pooled(p, np.ones(3), unit * seconds)) for unit in (1.0, 1e-3)]
    assert np.array_equal(kept[0].terms, kept[1].terms)
    assert np.array_equal(kept[0].sigma, kept[1].sigma)
