"""CPU time and memory of finite chains: ``pytest tests/benchmarks --benchmark-enable``."""

import time

import numpy as np
import pytest
from scipy.sparse import csr_array, eye_array, random_array

from phasefit import PhaseType, match_moments
from qmodels.markov import solve_block_tridiagonal, solve_chain, stationary
from qmodels.networks import ClosedNetwork
from tests.naive import chains as naive

THINK = {
    "erlang": PhaseType.erlang(phases=4, mean=1.0),
    "hyperexponential": PhaseType.hyperexponential(
        weights=[0.6, 0.3, 0.08, 0.02], means=[0.3, 0.8, 3.0, 10.0]
    ),
}


@pytest.fixture(scope="module")
def hundred_levels():
    rng, size, levels = np.random.default_rng(1), 500, 100
    same = eye_array(size, format="csr") * 0.01
    up, local, down = (
        [csr_array(random_array((size, size), density=4 / size, rng=rng) + same) for _ in range(n)]
        for n in (levels - 1, levels, levels - 1)
    )
    return up, local, down


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_a_hundred_levels_of_five_hundred_states(benchmark, hundred_levels, direction):
    if not benchmark.enabled:
        pytest.skip("seconds of work; only where time is measured")
    found = benchmark.pedantic(
        solve_block_tridiagonal, args=hundred_levels, kwargs={"direction": direction}, rounds=3
    )
    assert found.residual < 1e-13


def two_centres(jobs):
    """Rates of the closed network as one matrix, and as blocks of the jobs at the disk."""
    _, rates, levels = naive.shared_disk(jobs, match_moments(2.0, 20.0), match_moments(1.0, 1.5))
    return rates, naive.blocks(rates, levels)


@pytest.mark.parametrize("jobs", [4, 8, 12, 16])
@pytest.mark.parametrize("solver", ["levels", "dense"])
def test_the_recursion_and_a_dense_elimination_find_the_same_law(benchmark, solver, jobs):
    rates, blocks = two_centres(jobs)
    if solver == "levels":
        found = np.concatenate(benchmark(solve_block_tridiagonal, *blocks).levels)
        other = stationary(rates)
    else:
        found = benchmark(stationary, rates)
        other = np.concatenate(solve_block_tridiagonal(*blocks).levels)
    assert found == pytest.approx(other, rel=1e-11)
    assert found.sum() == pytest.approx(1.0)


def test_r31_the_recursion_is_cheaper_than_a_dense_elimination_for_many_jobs(benchmark):
    """The time of the dense elimination over that of the recursion grows, and passes one."""
    if not benchmark.enabled:
        pytest.skip("a claim about time; only where time is measured")

    def seconds(solve, *given):
        """Least processor time of seven runs."""
        spent = []
        for _ in range(7):
            began = time.process_time()
            for _ in range(20):
                solve(*given)
            spent.append((time.process_time() - began) / 20)
        return min(spent)

    def measured():
        ratios = []
        for jobs in (4, 8, 12, 16):
            rates, blocks = two_centres(jobs)
            ratios.append(seconds(stationary, rates) / seconds(solve_block_tridiagonal, *blocks))
        return ratios

    ratios = benchmark.pedantic(measured, rounds=1)
    benchmark.extra_info["dense over recursion"] = ratios
    assert ratios[-1] > 2 * ratios[0]
    assert ratios[-1] > 1 > ratios[0]


@pytest.mark.parametrize("jobs", [8, 16, 24, 32, 60])
@pytest.mark.parametrize("law", THINK)
def test_the_chain_of_a_network_of_a_thousand_to_a_million_states(benchmark, law, jobs):
    if not benchmark.enabled and jobs > 16:
        pytest.skip("seconds of work; only where time is measured")
    think = THINK[law].scale(0.5 * jobs)
    chain = ClosedNetwork(jobs, delay=think, disk=match_moments(1.0, 11.0), discipline="fcfs")._chain()
    found = benchmark.pedantic(solve_chain, args=(chain.rates,), kwargs={"levels": chain.levels}, rounds=1)
    benchmark.extra_info |= {"states": found.states, "error": found.error_estimate}
    assert found.residual < 1e-13
