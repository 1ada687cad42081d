"""CPU time of closed networks, chain built included: ``pytest ... --benchmark-enable``."""

import pytest

from phasefit import match_moments
from qmodels.networks import ClosedNetwork, JobClass, MultiClassNetwork, flow_equivalent
from tests.qmodels.test_two_centre import h2, h2_erlang_of_order_four


def in_order(jobs):
    """Four stages of computation, two at the disk, about three quarters busy."""
    delay = h2_erlang_of_order_four()
    return ClosedNetwork(jobs, delay, h2(0.75 * delay.mean / jobs, 9.0), "fcfs")


@pytest.mark.parametrize(("jobs", "states"), [(16, 8721), (24, 38025), (32, 111265)])
def test_a_queue_in_order_of_arrival(benchmark, jobs, states):
    network = in_order(jobs)
    found = benchmark(network.solve)
    benchmark.extra_info["error_bound"] = found.error_bound
    assert found.states == states
    assert found.error_bound < 1e-10


@pytest.mark.slow
def test_a_chain_of_more_than_a_million_states(benchmark):
    found = benchmark.pedantic(in_order(60).solve, rounds=1)
    assert found.states == 1_231_041
    assert found.error_bound < 1e-10


@pytest.mark.parametrize("discipline", ["ps", "fcfs", "siro"])
def test_the_law_of_the_sojourn_with_a_percentile(benchmark, discipline):
    delay = h2_erlang_of_order_four()
    network = ClosedNetwork(12, delay, h2(0.75 * delay.mean / 12, 9.0), discipline)
    solution = network.solve()

    def questions():
        law = solution.sojourn_law()
        return law.moment(3), law.ppf(0.99)

    assert min(benchmark(questions)) > 0.0


def test_a_product_form_of_a_thousand_jobs(benchmark):
    network = ClosedNetwork(1000, h2(1000.0, 4.0), h2(1.0, 9.0))
    assert benchmark(network.solve).error_bound < 1e-11


def test_a_fit_of_six_moments(benchmark):
    law = in_order(8).solve().sojourn.to_phase_type()
    assert benchmark(lambda: flow_equivalent(law, 6)).moments == 6


def test_ten_classes_of_fifty_jobs(benchmark):
    one = match_moments(1.0)
    classes = [JobClass(50, one.scale(k + 10.0), one.scale(0.01 * k)) for k in range(1, 11)]
    # so saturated that a float may or may not tell it from one
    found = benchmark(MultiClassNetwork(classes).solve)
    assert found.utilisation == pytest.approx(1.0, rel=1e-12)
