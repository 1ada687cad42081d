from contextlib import nullcontext

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import gamma

from qmodels.errors import ConvergenceError, MemoryBudgetError, ModelError
from qmodels.markov.sweeps.m_matrix import MMatrix
from qmodels.networks import ClosedNetwork, SojournLaw, sojourn, solution, tagged
from tests.data import KEPT
from tests.naive import closed_network as naive
from tests.qmodels.test_two_centre import CASES, E3, ONE, PAIRS, h2, reference_cases


def check_little(network, method="auto"):
    found = network.solve(method)
    assert found.sojourn.mean == pytest.approx(found.mean_sojourn, rel=1e-10)


@pytest.mark.thorough(first=1)
def test_the_reference_moments_and_percentiles_come_out(cases):
    seen = 0
    for case, network, expected in reference_cases(cases):
        law = network.solve().sojourn
        for k, moment in enumerate(expected.get("sojourn_moments", []), 1):
            assert law.moment(k) == pytest.approx(moment, rel=1e-9), case
            seen += 1
        if "sojourn_scv" in expected:
            assert law.scv == pytest.approx(expected["sojourn_scv"], rel=1e-9), case
        for level, time in expected.get("sojourn_percentiles", {}).items():
            assert law.ppf(float(level)) == pytest.approx(time, rel=1e-8), case
            seen += 1
    assert seen > (60 if cases == KEPT else 200)


@pytest.mark.parametrize(
    ("laws", "discipline", "jobs", "moments"),
    [
        ("exp/exp", "ps", 2, (1.33333333, 3.73333333, 16.0)),
        ("exp/exp", "ps", 4, (2.42105263, 12.54145397, 99.386412)),
        ("exp/exp", "ps", 8, (6.00688172, 73.32338040, 1346.866130)),
        ("H2/E2", "ps", 4, (2.42105263, 9.57630175)),
        ("E3/H2", "ps", 4, (2.42105263, 60.76351926)),
        ("exp/exp", "fcfs", 2, (1.33333333, 3.33333333, 12.0)),
        ("exp/exp", "fcfs", 4, (2.42105263, 9.26315789, 46.736842)),
        ("H2/E2", "fcfs", 4, (2.34644742, 7.51033137)),
        ("E3/H2", "fcfs", 4, (2.76990634, 41.75884489)),
    ],
)
def test_r35_the_printed_moments_of_the_sojourn_come_out(laws, discipline, jobs, moments):
    for method in ("auto", "chain"):
        law = ClosedNetwork(jobs, *PAIRS[laws], discipline).solve(method).sojourn
        for k, (moment, digits) in enumerate(zip(moments, (8, 8, 6), strict=False), 1):
            assert law.moment(k) == pytest.approx(moment, abs=0.51 * 10.0**-digits)


@pytest.mark.parametrize(("jobs", "scv"), [(2, 1.1), (4, 1.139634)])
def test_r35_the_printed_scv_of_sharing_comes_out(jobs, scv):
    law = ClosedNetwork(jobs, *PAIRS["exp/exp"]).solve().sojourn
    assert law.scv == pytest.approx(scv, abs=5.1e-7)
    in_order = ClosedNetwork(2, *PAIRS["exp/exp"], "fcfs").solve().sojourn
    assert in_order.scv == pytest.approx(0.875, rel=1e-13)


def test_r35_tagged_chains_have_the_printed_orders():
    assert ClosedNetwork(4, *PAIRS["H2/E2"]).solve().sojourn.order == 40
    assert ClosedNetwork(4, *PAIRS["E3/H2"]).solve().sojourn.order == 70
    assert ClosedNetwork(4, *PAIRS["E3/H2"], "fcfs").solve().sojourn.order == 4 * 2


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize(("discipline", "servers"), CASES)
@pytest.mark.parametrize("laws", PAIRS)
@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_littles_law_holds_for_every_sojourn(laws, discipline, servers, jobs):
    for method in ("auto", "chain"):
        check_little(ClosedNetwork(jobs, *PAIRS[laws], discipline, servers), method)


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize(("discipline", "servers"), CASES)
@pytest.mark.parametrize("laws", PAIRS)
def test_three_moments_agree_with_a_chain_that_tells_all_jobs_apart(laws, discipline, servers):
    delay, disk = PAIRS[laws]
    states, rates = naive.chain([(delay, disk)] * 3, discipline, servers)
    expected = naive.sojourn_moments(states, rates, naive.steady(rates), 3)
    for method in ("auto", "chain"):
        law = ClosedNetwork(3, delay, disk, discipline, servers).solve(method).sojourn
        assert [law.moment(k) for k in (1, 2, 3)] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("discipline", ["ps", "fcfs", "siro", "lcfs-pr"])
def test_an_arriving_job_finds_the_network_as_it_is_with_one_job_less(discipline):
    """The arrival theorem, against the flows of the chain."""
    laws = PAIRS["Cox/loop" if discipline in ("ps", "lcfs-pr") else "exp/exp"]
    network = ClosedNetwork(4, *laws, discipline)
    flows, theorem = network.solve("chain"), network.solve("product-form")
    for chain, formula in zip(flows._arrivals, theorem._arrivals_in_product_form(), strict=True):
        if discipline != "ps":  # the stages of those in the stack do not matter, nor who computes
            chain, formula = chain.sum(axis=0), formula.sum(axis=0)
        if discipline == "fcfs":
            chain, formula = chain.sum(), formula.sum()
        assert chain == pytest.approx(formula, rel=1e-11, abs=0)


@pytest.mark.thorough
@pytest.mark.parametrize(("discipline", "servers"), CASES)
def test_functions_of_time_agree_with_the_dense_law(discipline, servers):
    law = ClosedNetwork(3, *PAIRS["E3/H2"], discipline, servers).solve().sojourn
    dense = law.to_phase_type()
    times = np.array([0.0, 1e-7, 0.1, 1.0, 5.0, 30.0, 200.0])
    assert law.sf(times) == pytest.approx(dense.sf(times), rel=1e-10, abs=0)
    assert law.cdf(times) == pytest.approx(dense.cdf(times), rel=1e-10, abs=0)
    assert law.pdf(times) == pytest.approx(dense.pdf(times), rel=1e-10, abs=0)
    levels = np.array([1e-9, 0.05, 0.5, 0.9, 0.999, 1 - 1e-9])
    assert law.ppf(levels) == pytest.approx(dense.ppf(levels), rel=1e-9, abs=0)
    assert law.isf(levels[:3]) == pytest.approx(dense.isf(levels[:3]), rel=1e-9, abs=0)
    assert [law.moment(k) for k in (1, 2, 7)] == pytest.approx(
        [dense.moment(k) for k in (1, 2, 7)], rel=1e-11
    )
    assert law.var == pytest.approx(dense.var, rel=1e-10)
    assert law.std == pytest.approx(dense.std, rel=1e-10)


def test_both_ends_of_the_law_keep_their_digits():
    law = ClosedNetwork(6, *PAIRS["H2/E2"], "fcfs").solve().sojourn
    for chance in (1e-30, 1e-120, 1e-280):
        assert law.sf(law.isf(chance)) == pytest.approx(chance, rel=1e-9, abs=0)
    assert law.cdf(law.ppf(1e-12)) == pytest.approx(1e-12, rel=1e-9, abs=0)
    assert (law.sf(-1.0), law.cdf(-1.0), law.pdf(-1.0)) == (1.0, 0.0, 0.0)
    assert (law.sf(np.inf), law.cdf(np.inf), law.pdf(np.inf)) == (0.0, 1.0, 0.0)
    assert (law.ppf(0.0), law.ppf(1.0), law.isf(1.0), law.isf(0.0)) == (0.0, np.inf, 0.0, np.inf)


def test_shapes_are_kept_and_numbers_stay_numbers():
    law = ClosedNetwork(2, ONE, ONE).solve().sojourn
    assert law.sf(np.ones((2, 3))).shape == law.ppf(np.full((2, 3), 0.5)).shape == (2, 3)
    assert isinstance(law.sf(1.0), float)
    assert isinstance(law.ppf(0.5), float)
    assert law.moment(0) == 1.0


@pytest.mark.parametrize(("discipline", "jobs"), [("ps", 7), ("siro", 12)])
def test_a_large_chain_is_iterated_to_its_error_bound(discipline, jobs):
    """The dense elimination and the iteration, held to the iteration's own bound."""
    found = ClosedNetwork(jobs, *PAIRS["E3/H2"], discipline).solve().sojourn
    assert found.order > 400
    x, bound = MMatrix(found.rates, found._pivots).solve(np.ones(found.order))
    exact = found.to_phase_type()
    assert bound < 1e-11
    assert found.error_bound == bound
    assert abs(float(found.start @ x) / exact.mean - 1.0) <= bound
    assert found.moment(3) == pytest.approx(exact.moment(3), rel=4 * bound + 1e-12)


@pytest.mark.parametrize(("times", "believed"), [(99.5, True), (100.5, False)])
def test_a_bound_that_comes_down_no_further_is_believed_up_to_a_hundred_roundings(times, believed):
    class Stuck(MMatrix):
        def _error_bound(self, right, x):
            return times * self._rounding_share(right, x)

    rates = csr_array(np.array([[0.0, 1.0], [2.0, 0.0]]))
    stuck = Stuck(rates, np.array([3.0, 4.0]))
    with nullcontext() if believed else pytest.raises(ConvergenceError, match="moments of the sojourn"):
        x, bound = stuck.solve(np.ones(2))
        assert x == pytest.approx([0.5, 0.5], rel=0.01)
        assert bound == pytest.approx(99.5 * 8.0 * 2.0**-52 * 2.0, rel=0.01)


def test_stiff_chains_are_still_solved_to_their_bound():
    """Stages that last a thousand times as long as others."""
    for discipline in ("ps", "siro"):
        network = ClosedNetwork(7, h2(2.0, 500.0), h2(1.0, 1000.0), discipline)
        found = network.solve("chain")
        law = found.sojourn
        assert law.mean == pytest.approx(found.mean_sojourn, rel=1e-10)
        assert law.error_bound < 1e-8


def test_times_too_long_for_steps_are_left_to_the_dense_law(monkeypatch):
    law = ClosedNetwork(3, E3, h2(1.0, 9.0), "fcfs").solve().sojourn
    expected = law.sf([0.5, 40.0]), law.cdf(0.5), law.pdf(3.0), law.ppf(0.99)
    monkeypatch.setattr(sojourn, "_AFFORDABLE", 1.0)
    again = ClosedNetwork(3, E3, h2(1.0, 9.0), "fcfs").solve().sojourn
    got = again.sf([0.5, 40.0]), again.cdf(0.5), again.pdf(3.0), again.ppf(0.99)
    for a, b in zip(got, expected, strict=True):
        assert a == pytest.approx(b, rel=1e-10, abs=0)
    monkeypatch.setattr(sojourn, "_SQUARED", 1)
    with pytest.raises(MemoryBudgetError, match="which is too long; ask for a shorter time"):
        ClosedNetwork(3, E3, h2(1.0, 9.0), "fcfs").solve().sojourn.sf(1.0)


def stages_in_a_row(count):
    """A law of so many stages, each of mean 1 / count: its percentiles are those of a gamma law."""
    n = np.arange(count - 1)
    rates = csr_array((np.full(count - 1, float(count)), (n, n + 1)), shape=(count, count))
    return SojournLaw(np.eye(count)[0], rates, np.eye(count)[-1] * count)


@pytest.mark.parametrize("count", [401, 2000])
def test_a_percentile_of_many_states_does_not_solve_for_their_mean(count):
    law = stages_in_a_row(count)
    for q in (1e-6, 0.05, 0.5, 0.95, 0.999999):
        assert law.ppf(q) == pytest.approx(gamma.ppf(q, count, scale=1.0 / count), rel=1e-10)
        assert law.isf(q) == pytest.approx(gamma.isf(q, count, scale=1.0 / count), rel=1e-10)
    assert "_backward" not in law.__dict__


@pytest.mark.thorough
def test_a_percentile_that_takes_too_many_steps_is_left_to_the_dense_law_or_refused(monkeypatch):
    monkeypatch.setattr(sojourn, "_AFFORDABLE", 1e5)
    assert stages_in_a_row(401).ppf(0.5) == pytest.approx(gamma.ppf(0.5, 401, scale=1 / 401))
    with pytest.raises(MemoryBudgetError, match="which is too long; ask for a shorter time"):
        stages_in_a_row(2000).ppf(0.5)


def test_order_of_service_spreads_the_sojourn_as_theory_says():
    """Means agree for exponential services; the order in which jobs are called decides the rest."""
    scv = {
        d: ClosedNetwork(6, *PAIRS["exp/exp"], d).solve().sojourn.scv
        for d in ("fcfs", "siro", "ps", "lcfs-pr")
    }
    assert scv["fcfs"] < scv["siro"] < scv["ps"] < scv["lcfs-pr"]


@pytest.mark.parametrize("bad", [np.nan, None, "x", True])
def test_times_and_levels_that_are_none_are_refused(bad):
    law = ClosedNetwork(2, ONE, ONE).solve().sojourn
    for question in (law.sf, law.cdf, law.pdf, law.ppf, law.isf, law.moment):
        with pytest.raises(ModelError):
            question(bad)
    for level in (-0.1, 1.1, np.inf):
        with pytest.raises(ModelError):
            law.ppf(level)
    for k in (-1, 1.0, 151):
        with pytest.raises(ModelError):
            law.moment(k)


def test_a_chain_of_a_tagged_job_that_would_not_fit_is_refused():
    found = ClosedNetwork(60, PAIRS["E3/H2"][0], h2(1.0, 9.0)).solve()
    with pytest.raises(MemoryBudgetError, match="tagged job"):
        found.sojourn_law(memory=1e6)
    with pytest.raises(MemoryBudgetError, match="flow_equivalent"):
        SojournLaw(np.ones(5000) / 5000, csr_array((5000, 5000)), np.ones(5000)).to_phase_type()


@pytest.mark.parametrize(
    "change",
    [
        {"start": [0.5, 0.4]},
        {"start": [1.5, -0.5]},
        {"start": [1.0]},
        {"ends": [0.0, 0.0]},
        {"ends": [np.nan, 1.0]},
        {"ends": [-1.0, 1.0]},
        {"rates": [[0.0, -1.0], [0.0, 0.0]]},
        {"rates": [[0.0, np.inf], [0.0, 0.0]]},
    ],
)
def test_a_law_that_is_none_is_refused(change):
    given = {"start": [0.5, 0.5], "rates": [[0.0, 1.0], [0.0, 0.0]], "ends": [0.0, 2.0]} | change
    with pytest.raises(ModelError):
        SojournLaw(**given)


# Bugs put in on purpose.


def test_a_tagged_job_that_is_always_called_next_is_caught(monkeypatch):
    """Random order taken for the order of arrival: the mean still obeys Little's law."""
    delay, disk = PAIRS["E3/H2"]
    monkeypatch.setattr(
        tagged,
        "in_random_order",
        lambda found, disk, delay, servers: tagged.in_order_of_arrival(found, disk, servers),
    )
    check_little(ClosedNetwork(3, delay, disk, "siro"))
    with pytest.raises(AssertionError):
        test_three_moments_agree_with_a_chain_that_tells_all_jobs_apart("E3/H2", "siro", 1)


def test_an_arrival_that_finds_a_slightly_busier_disk_is_caught(monkeypatch):
    network, right = ClosedNetwork(4, *PAIRS["H2/E2"]), solution.machine_repair
    check_little(network)
    monkeypatch.setattr(
        solution,
        "machine_repair",
        lambda think, service, *jobs: right(think, service * (1 + 1e-8), *jobs),
    )
    with pytest.raises(AssertionError):
        check_little(network)
