"""CPU time of quasi-birth-death chains: ``pytest tests/benchmarks --benchmark-enable``."""

import numpy as np
import pytest

from phasefit import PhaseType, match_moments
from qmodels.markov import QBD, solve_qbd
from qmodels.networks.many_server import ManyServerQueue

ERLANG = PhaseType.erlang(phases=4, mean=1.0)
QUEUES = {
    "M/PH/64, order 2": (PhaseType.exponential(mean=1.0), match_moments(1.0, 5.0), 64),
    "PH/PH/8, orders 2 and 4": (match_moments(1.0, 5.0), ERLANG, 8),
    "PH/PH/12, orders 2 and 4": (match_moments(1.0, 5.0), ERLANG, 12),
    "PH/PH/16, orders 2 and 4": (match_moments(1.0, 5.0), ERLANG, 16),
}


@pytest.mark.parametrize("name", QUEUES)
def test_a_queue_at_ninety_per_cent(benchmark, name):
    if not benchmark.enabled and "16" in name:
        pytest.skip("seconds of work; only where time is measured")
    arrivals, service, c = QUEUES[name]
    queue = ManyServerQueue(arrivals.scale(1.0 / (0.9 * c)), service, servers=c)
    found = benchmark.pedantic(queue.solve, rounds=1 if "16" in name else 3)
    benchmark.extra_info["block"] = len(found.chain.levels.phases)
    assert np.isfinite(found.mean_response)


def test_a_birth_death_chain_of_a_thousand_levels(benchmark):
    one = np.ones((1, 1))
    births, deaths = [717.0 * one] * 1025, [min(k, 1024) * one for k in range(1, 1026)]
    chain = QBD(births, [0.0 * one] * 1025, deaths)
    assert benchmark(solve_qbd, chain).mean_level() > 716.0
