"""Tasks that share one processor and one disk: product form and chain."""

from itertools import product

import numpy as np
import pytest

from phasefit import PhaseType
from qmodels.errors import ModelError
from qmodels.markov import stationary
from qmodels.networks import disk_group_throughput, fcfs_node_pace, shared_node_paces


def by_chain(cpu, disk):
    """Paces from the chain of who is where, both centres shared and all visits exponential."""
    n = len(cpu)
    states = list(product((0, 1), repeat=n))  # 1: at the disk
    rates = np.zeros((len(states), len(states)))
    for i, state in enumerate(states):
        busy = sum(state)
        for j in range(n):
            other = states.index((*state[:j], 1 - state[j], *state[j + 1 :]))
            here, crowd = (disk[j], busy) if state[j] else (cpu[j], n - busy)
            rates[i, other] = 1.0 / (here * crowd)
    pi = stationary(rates)
    return [
        sum(p / (cpu[j] * (n - sum(state))) for p, state in zip(pi, states, strict=True) if not state[j])
        for j in range(n)
    ]


def test_the_product_form_is_the_stationary_chain(rng):
    for n in (1, 2, 3, 6):
        cpu, disk = rng.uniform(0.1, 3.0, n), rng.uniform(0.1, 30.0, n)
        assert shared_node_paces(cpu, disk) == pytest.approx(by_chain(cpu, disk), rel=1e-11)


def test_two_tasks_are_those_of_mean_value_analysis():
    d1, d2 = 3.0, 0.5
    at_disk_alone = d2 / (1 + d2)
    expected = 1 / (1 + (1 - at_disk_alone) + d1 * (1 + at_disk_alone))
    assert shared_node_paces([1.0, 1.0], [d1, d2])[0] == pytest.approx(expected, rel=1e-14)


@pytest.mark.thorough
@pytest.mark.parametrize("n", [1, 2, 20, 200])
def test_tasks_alike_are_the_group_of_a_disk(n):
    found = shared_node_paces(np.ones(n), np.full(n, 2.5))
    assert n * found[0] == pytest.approx(disk_group_throughput(1.0, 2.5, [n]), rel=1e-12)


def test_a_centre_where_somebody_always_is_never_rests():
    found = shared_node_paces([1.0, 1.0, 1.0], [0.0, 2.0, 40.0])
    assert found.sum() == pytest.approx(1.0, rel=1e-14)
    assert shared_node_paces([0.0, 1.0], [2.0, 2.0]) @ [2.0, 2.0] == pytest.approx(1.0, rel=1e-14)


def test_paces_stay_in_range_for_extreme_times():
    found = shared_node_paces(np.full(60, 1e-200), np.full(60, 1e-180))
    assert found == pytest.approx(np.full(60, 1e180 / 60), rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_in_turn_and_exponential_is_the_product_form(n):
    pace = fcfs_node_pace(n, 0.7, PhaseType.exponential(mean=2.0))
    assert pace == pytest.approx(shared_node_paces([0.7] * n, [2.0] * n)[0], rel=1e-12)


def test_regular_service_in_turn_is_faster_and_irregular_slower():
    paces = [
        fcfs_node_pace(4, 1.0, law)
        for law in (
            PhaseType.erlang(phases=10, mean=1.0),
            PhaseType.exponential(mean=1.0),
            PhaseType.hyperexponential(weights=[0.9, 0.1], means=[0.5, 5.5]),
        )
    ]
    assert paces == sorted(paces, reverse=True)
    assert paces[0] > 1.05 * paces[1] > 1.05**2 * paces[2]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: shared_node_paces([1.0], [1.0, 2.0]), "as many disk times"),
        (lambda: shared_node_paces([0.0], [0.0]), "not both zero"),
        (lambda: shared_node_paces([-1.0], [1.0]), "must be >= 0"),
        (lambda: fcfs_node_pace(2, 0.0, PhaseType.exponential(mean=1.0)), "cpu must be > 0"),
        (lambda: fcfs_node_pace(400, 1.0, PhaseType.erlang(phases=9, mean=1.0)), "3601 states"),
    ],
)
def test_what_is_no_node_is_refused(call, message):
    with pytest.raises(ModelError, match=message):
        call()
