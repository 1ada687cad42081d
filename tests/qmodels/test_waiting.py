"""Queues with many servers: means, waiting times, and the reference cases of both."""

import json
import tracemalloc
from fractions import Fraction
from math import exp, log, sqrt

import mpmath
import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import brentq

from phasefit import PhaseType
from qmodels.errors import MemoryBudgetError, ModelError, UnstableError
from qmodels.networks.many_server import ManyServerQueue
from tests.laws import EXPONENTIAL, HYPER

ERLANG = PhaseType.erlang(phases=3, mean=1.0)


def named_law(kind, mean):
    """Laws of the reference cases: M, E2_scv0.5, H2_scv4 with balanced means."""
    if kind == "M":
        return PhaseType.exponential(mean=mean)
    if kind.startswith("E"):
        return PhaseType.erlang(phases=int(kind[1]), mean=mean)
    scv = float(kind.partition("scv")[2])
    share = (1.0 + sqrt((scv - 1.0) / (scv + 1.0))) / 2.0
    means = [mean / (2.0 * share), mean / (2.0 * (1.0 - share))]
    return PhaseType.hyperexponential(weights=[share, 1.0 - share], means=means)


def listed(cases, file):
    return json.loads((cases / "reference" / f"{file}.json").read_text())


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("file", ["ph_ph_c", "ph_ph_c_state_dependent"])
def test_the_reference_queues_come_out_to_1e_9(cases, file):
    for case in listed(cases, file):
        given, expected = case["input"], case["output"]
        arrivals = PhaseType(given["arrival"]["alpha"], given["arrival"]["T"])
        service = PhaseType(given["service"]["alpha"], given["service"]["T"])
        speeds = given.get("speeds", [1.0] * given["c"])
        found = ManyServerQueue(arrivals, service, speeds=speeds).solve()
        for name, value in (
            ("L", found.mean_jobs),
            ("R", found.mean_response),
            ("Lq", found.mean_waiting),
            ("Wq", found.mean_wait),
            ("P_wait", found.wait_probability),
            ("decay", found.chain.decay_rate()),
            ("decay_rate", found.chain.decay_rate()),
        ):
            if expected.get(name):
                assert value == pytest.approx(expected[name], rel=1e-9, abs=0), (case["id"], name)
        # the file holds small probabilities to 1e-15 absolute only
        levels = np.arange(len(expected["p_n"]))
        assert found.pmf(levels) == pytest.approx(np.array(expected["p_n"]), rel=1e-9, abs=1e-15)
        # Little's law, twice: the law of the wait knows nothing of the mean queue
        wait = found.wait_probability * found.positive_wait.mean
        assert wait == pytest.approx(found.mean_wait, rel=1e-10, abs=0), case["id"]


@pytest.mark.thorough
def test_the_percentiles_of_the_reference_waits_come_out_to_1e_8(cases):
    for case in listed(cases, "ph_ph_c_wait_percentiles"):
        arrival, service, _ = case["id"].split("/")
        arrivals = named_law(arrival, 1.0 / (case["c"] * case["rho"]))
        queue = ManyServerQueue(arrivals, named_law(service, 1.0), servers=case["c"])
        found = queue.solve()
        for q, seconds in case["percentiles"].items():
            assert found.wait.ppf(float(q)) == pytest.approx(seconds, rel=1e-8, abs=0), case["id"]
        assert found.wait_probability == pytest.approx(case["P_wait"], rel=1e-9), case["id"]
        assert found.mean_wait == pytest.approx(case["Wq_mean_little"], rel=1e-9), case["id"]
        # these are summed over the file's finite number of levels; the next test has exact ones
        assert found.wait.mean == pytest.approx(case["Wq_mean"], rel=1e-9), case["id"]
        assert found.wait.moment(2) == pytest.approx(case["Wq_m2"], rel=1e-8), case["id"]


@pytest.mark.parametrize("service", [HYPER, ERLANG, named_law("H2_scv20", 1.0)], ids=str)
@pytest.mark.parametrize("rho", [0.2, 0.9, 1 - 1e-6])
def test_with_one_server_and_poisson_arrivals_moments_are_those_of_takacs(service, rho):
    found = ManyServerQueue(PhaseType.exponential(mean=1.0 / rho), service, servers=1).solve()
    first = rho * service.moment(2) / (2.0 * (1.0 - rho))
    second = 2.0 * first**2 + rho * service.moment(3) / (3.0 * (1.0 - rho))
    rel = 20 * 2.3e-16 / (1.0 - rho)
    assert found.wait.mean == pytest.approx(first, rel=rel)
    assert found.wait.moment(2) == pytest.approx(second, rel=2 * rel)
    assert found.wait_probability == pytest.approx(rho, rel=rel)


@pytest.mark.parametrize(("c", "rho"), [(1, 0.5), (3, 0.7), (64, 0.9), (64, 0.3)])
def test_with_exponential_laws_the_wait_is_exponential_with_an_atom(c, rho):
    found = ManyServerQueue(EXPONENTIAL.scale(1.0 / (c * rho)), EXPONENTIAL, servers=c).solve()
    with mpmath.workdps(50):
        a = mpmath.mpf(1.0 / found.queue.arrivals.mean)
        last = a**c / mpmath.factorial(c) * c / (c - a)
        erlang_c = last / (last + sum(a**k / mpmath.factorial(k) for k in range(c)))
    assert found.wait_probability == pytest.approx(float(erlang_c), rel=1e-12, abs=0)
    rest = found.positive_wait
    for t in (0.1, 1.0, 5.0):
        assert rest.sf(t) == pytest.approx(exp(-(c - float(a)) * t), rel=1e-12)
    assert found.wait.sf(0.3) == pytest.approx(found.wait_probability * rest.sf(0.3), rel=1e-9)


@pytest.mark.parametrize("arrivals", [HYPER, ERLANG], ids=str)
@pytest.mark.parametrize("rho", [0.3, 0.95])
def test_with_exponential_services_arrivals_find_a_geometric_queue(arrivals, rho):
    """GI/M/1: sigma = E[exp(-mu (1 - sigma) A)] wait, exponentially with rate mu (1 - sigma)."""
    arrivals = arrivals.scale(1.0 / rho)
    found = ManyServerQueue(arrivals, EXPONENTIAL, servers=1).solve()
    sigma = brentq(lambda s: arrivals.laplace(1.0 - s) - s, 1e-9, 1.0 - 1e-4, xtol=1e-15)
    assert found.wait_probability == pytest.approx(sigma, rel=1e-12)
    assert found.positive_wait.mean == pytest.approx(1.0 / (1.0 - sigma), rel=1e-11)
    assert found.positive_wait.scv == pytest.approx(1.0, rel=1e-11)


def wait_by_following_the_departures(found, t, most):
    """P(wait > t) from the levels an arrival may find, each a chain that only comes down."""
    queue, c = found.queue, found.queue.servers
    inner, completed = queue._busy
    n = len(inner)
    total = np.zeros((most * n, most * n))
    stay = inner - np.diag(inner.sum(axis=1) + completed.sum(axis=1))
    start = np.zeros(most * n)
    for j in range(most):
        here = slice(j * n, (j + 1) * n)
        total[here, here] = stay
        if j:
            total[here, (j - 1) * n : j * n] = completed
        phases = found.chain.level(c + j).reshape(queue.arrivals.order, n)
        start[here] = queue.arrivals.exit @ phases / queue.arrival_rate
    return float((start @ expm(total * t)).sum())


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("arrivals", "service", "speeds"),
    [(HYPER, ERLANG, [1.0, 0.8]), (ERLANG, HYPER, [1.0, 0.6, 0.5]), (HYPER, HYPER, [2.0])],
)
def test_the_wait_is_what_following_the_departures_gives(arrivals, service, speeds):
    rate = 0.5 * len(speeds) * speeds[-1]
    found = ManyServerQueue(arrivals.scale(1.0 / rate), service, speeds=speeds).solve()
    most = int(np.ceil(log(1e-13) / log(found.chain.decay_rate()))) + 1
    for t in (0.0, 0.5, 3.0, 10.0):
        expected = wait_by_following_the_departures(found, t, most)
        assert found.wait.sf(t) == pytest.approx(expected, rel=1e-10, abs=1e-13)


def test_a_wait_that_hardly_anybody_has_keeps_its_digits():
    """64 servers at 10 %: one arrival in 10^38 waits."""
    found = ManyServerQueue(EXPONENTIAL.scale(1 / 6.4), EXPONENTIAL, servers=64).solve()
    with mpmath.workdps(50):
        a = mpmath.mpf(1.0) / mpmath.mpf(found.queue.arrivals.mean)
        last = a**64 / mpmath.factorial(64) * 64 / (64 - a)
        exact = last / (last + sum(a**k / mpmath.factorial(k) for k in range(64)))
    assert found.wait_probability == pytest.approx(float(exact), rel=1e-13, abs=0)
    assert found.wait_probability < 1e-37
    assert found.positive_wait.mean == pytest.approx(1.0 / (64.0 - float(a)), rel=1e-13)


@pytest.mark.parametrize("k", range(1, 9))
def test_close_to_saturation_the_wait_has_a_law(k):
    rho = 1.0 - 10.0**-k
    found = ManyServerQueue(HYPER.scale(1.0 / (2 * rho)), ERLANG, servers=2).solve()
    assert found.wait.mean == pytest.approx(found.mean_wait, rel=1e-10)
    assert 0.0 < found.wait.ppf(0.5) < found.wait.ppf(0.99) < np.inf


def test_a_solution_tells_what_it_is():
    found = ManyServerQueue(EXPONENTIAL.scale(0.5), EXPONENTIAL, servers=3).solve()
    assert found.mean_response == pytest.approx(13.0 / 9.0, rel=1e-14)  # the oracle M/M/3
    assert "mean_response    1.44444 s" in found.table()
    assert found.to_frame().loc[0, "mean_wait"] == found.mean_wait
    assert found.method == "exact (matrix-geometric)"
    assert found.states == 4
    assert found.residual < 1e-15
    assert found.error_bound == pytest.approx(20 * 2.2e-16 * 3, rel=0.1)
    assert found.pmf(2) + found.sf(2) + found.pmf([0, 1]).sum() == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "give servers"),
        ({"servers": 2, "speeds": [1.0]}, "give servers"),
        ({"servers": 0}, "servers must be >= 1"),
        ({"servers": 2.0}, "servers must be a whole number"),
        ({"servers": True}, "servers must be a whole number"),
        ({"speeds": []}, "speeds must be positive"),
        ({"speeds": [1.0, 0.0]}, "speeds must be positive"),
        ({"speeds": [1.0, np.nan]}, "speeds"),
        ({"speeds": [[1.0]]}, "speeds must be positive"),
        ({"speeds": "fast"}, "speeds must be real numbers"),
        ({"servers": 1, "arrivals": None}, "arrivals must be a PhaseType"),
        ({"servers": 1, "service": 3.0}, "service must be a PhaseType"),
        ({"servers": 1, "service": PhaseType([0.9], [[-1.0]])}, "service: 0.1 of the law lies"),
        ({"servers": 1, "arrivals": PhaseType([0.9], [[-1.0]])}, "arrivals: 0.1 of the law lies"),
    ],
)
def test_arguments_that_make_no_queue_are_named(options, said):
    laws = {"arrivals": HYPER, "service": ERLANG}
    with pytest.raises(ModelError, match=said):
        ManyServerQueue(**(laws | options))


@pytest.mark.parametrize("memory", [0, -1.0, np.nan, "much"])
def test_a_budget_that_is_none_is_refused(memory):
    with pytest.raises(ModelError, match="memory"):
        ManyServerQueue(HYPER.scale(2.0), ERLANG, servers=1).solve(memory=memory)


def test_a_chain_too_large_is_refused_before_it_is_built():
    service = PhaseType.erlang(phases=20, mean=1.0)
    with pytest.raises(MemoryBudgetError, match="lower order"):
        ManyServerQueue(EXPONENTIAL.scale(0.05), service, servers=40).solve()
    with pytest.raises(MemoryBudgetError, match="GB allowed"):
        ManyServerQueue(HYPER.scale(0.5), ERLANG, servers=8).chain(memory=1e5)


@pytest.mark.parametrize(("servers", "load"), [(12, 10), (60, 20), (100, 40)])
def test_a_wait_however_rare_is_as_erlangs_recursion_in_fractions_has_it(servers, load):
    lost = Fraction(1)
    for k in range(1, servers + 1):
        lost = load * lost / (k + load * lost)
    waits = lost / (1 - Fraction(load, servers) * (1 - lost))
    solved = ManyServerQueue(EXPONENTIAL.scale(1.0 / load), EXPONENTIAL, servers=servers).solve()
    assert abs(solved.wait_probability / float(waits) - 1.0) < solved.wait_error_bound < 1e-12


@pytest.mark.thorough
@pytest.mark.parametrize("c", [8, 10])
def test_the_memory_counted_beforehand_is_within_twice_of_what_is_taken(c):
    queue = ManyServerQueue(HYPER.scale(1.25 / c), PhaseType.erlang(phases=4, mean=1.0), servers=c)
    ManyServerQueue(HYPER.scale(2.0), ERLANG, servers=1).solve()  # compiles
    tracemalloc.start()
    queue.solve()
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert taken / 2 < queue.memory_needed < taken * 2


@pytest.mark.parametrize("rate", [2.0, 2.0000001, 5.0])
def test_a_queue_that_cannot_keep_up_is_refused(rate):
    with pytest.raises(UnstableError) as caught:
        ManyServerQueue(EXPONENTIAL.scale(1.0 / rate), EXPONENTIAL, servers=2).solve()
    assert caught.value.capacity == 2.0


@pytest.mark.parametrize("rare", [1e-5, 1e-6, 1e-9])
def test_phases_rarer_than_floats_can_tell_are_no_trap(rare):
    """Two branches of one mean are one exponential law; 50 jobs of the second hardly ever meet."""
    law = PhaseType.hyperexponential(weights=[1.0 - rare, rare], means=[1.0, 1.0])
    found, one = (
        ManyServerQueue(EXPONENTIAL.scale(1 / 60), service, servers=70).solve()
        for service in (law, EXPONENTIAL)
    )
    assert found.mean_wait == pytest.approx(one.mean_wait, rel=1e-12)
    assert found.wait_probability == pytest.approx(one.wait_probability, rel=1e-12)


@pytest.mark.thorough
def test_many_servers_of_a_law_of_unequal_stages_are_no_trap():
    """`phase 182 can never come down to a lower level again` was said of a fine queue."""
    law = PhaseType.hyperexponential(weights=[0.5, 0.5], means=[0.1, 10.0]).scale(1.0 / 5.05)
    waits = [
        ManyServerQueue(EXPONENTIAL.scale(1.0 / (0.75 * c)), law, servers=c).solve().mean_wait
        for c in (150, 220)
    ]
    assert 0.0 < waits[1] < waits[0] < 1e-4
