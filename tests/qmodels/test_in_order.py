"""Jobs of one burst that wait for each other: what queueing theory says of them, to the last digit."""

from __future__ import annotations

import numpy as np
import pytest

from phasefit import PhaseType, match_moments
from qmodels import Phase, Program, SpaceSharing, System, TimeSharing, Workload, WorkloadMix, predict
from qmodels.errors import ModelError
from validation.sharing import simulate

ONE = Program([Phase(io=0.0, cpu=8.0)])  # on two processors 4 s
MACHINE = System(processors=2, disks=1)
REGULAR = PhaseType.erlang(phases=4, mean=1.0)


@pytest.mark.parametrize("most", [2, 5])
def test_one_partition_is_a_queue_in_order_of_arrival(most):
    """Pollaczek and Khinchine's mean; it was 10 % too long where jobs were regular."""
    found = predict(TimeSharing(1, 1, most), MACHINE, Workload(ONE, REGULAR), load=0.7)
    assert (found.model, found.method) == ("in-order", "exact")
    wait = 0.7 / 0.3 * (1.0 + REGULAR.scv) / 2.0
    assert found.mean_response == pytest.approx(4.0 * (1.0 + wait), rel=1e-10)
    behind = predict(SpaceSharing(1, 1), MACHINE, Workload(ONE, REGULAR), load=0.7)
    for q in (0.5, 0.99):
        assert found.response.percentile(q) == pytest.approx(behind.response.percentile(q), rel=1e-8)


def naive_mean(rate, served, most, longest=400):
    """Mean number of jobs on two partitions, the next on the shorter one, with a queue in front."""
    states = [(a, b, 0) for a in range(most + 1) for b in range(most + 1)]
    states += [(most, most, n) for n in range(1, longest)]
    place = {state: n for n, state in enumerate(states)}
    rates = np.zeros((len(states), len(states)))
    for (a, b, waiting), here in place.items():
        if a == b == most:
            after = (a, b, min(waiting + 1, longest - 1))
        else:
            after = (a + 1, b, 0) if a <= b else (a, b + 1, 0)
        rates[here, place[after]] += rate
        gone = (a, b, waiting - 1)
        for busy, left in ((a, (a - 1, b, 0)), (b, (a, b - 1, 0))):
            if busy:
                rates[here, place[gone if waiting else left]] += served
    np.fill_diagonal(rates, 0.0)
    equations = np.vstack([(rates - np.diag(rates.sum(axis=1))).T, np.ones(len(states))])
    law = np.linalg.lstsq(equations, np.append(np.zeros(len(states)), 1.0), rcond=None)[0]
    return float(law @ [sum(state) for state in states])


def test_two_partitions_are_queues_of_which_the_shorter_is_joined():
    one = Program([Phase(io=0.0, cpu=1.0)])
    found = predict(TimeSharing(2, 1, 3), MACHINE, Workload(one), load=0.8)
    assert (found.model, found.method) == ("in-order", "exact")
    assert found.mean_jobs == pytest.approx(naive_mean(1.6, 1.0, 3), rel=1e-8)


def test_a_law_of_the_burst_is_the_law_of_the_job():
    alone = PhaseType.exponential(mean=1.0)
    of_bursts = Workload(ONE, io_bursts=alone, cpu_bursts=REGULAR)
    one, other = (
        predict(TimeSharing(2, 1, 2), MACHINE, x, load=0.6) for x in (Workload(ONE, REGULAR), of_bursts)
    )
    assert one.mean_response == pytest.approx(other.mean_response, rel=1e-12)


@pytest.mark.parametrize(
    "program", [Program([Phase(io=1.0, cpu=8.0)]), Program([Phase(io=0.0, cpu=4.0)] * 2)]
)
def test_jobs_that_transfer_or_have_several_bursts_are_refused(program):
    with pytest.raises(ModelError, match="one burst of computation in turns"):
        predict(TimeSharing(1, 1, 2), MACHINE, Workload(program), load=0.5, model="in-order")
    assert predict(TimeSharing(1, 1, 2), MACHINE, Workload(program), load=0.5).model != "in-order"


@pytest.mark.parametrize(
    ("policy", "machine", "demand"),
    [
        (TimeSharing(4, 2, 2, ts_cap="min"), System(8, 2), REGULAR),
        (TimeSharing(6, 1, 2), System(6, 1), match_moments(1.0, 3.0)),
        (TimeSharing(2, 1, 3), MACHINE, "mix"),
    ],
)
def test_means_and_percentiles_are_those_of_a_simulation(policy, machine, demand):
    work = Workload(ONE, demand) if demand != "mix" else None
    if work is None:
        long = Program([Phase(io=0.0, cpu=32.0)])
        work = Workload(WorkloadMix([ONE, long], weights=[0.7, 0.3]), REGULAR)
    found = predict(policy, machine, work, load=0.7)
    assert found.model == "in-order"
    asked = (0.5, 0.95)
    played = simulate(
        policy,
        machine,
        work,
        arrival_rate=found.arrival_rate,
        replications=10,
        jobs=20_000,
        warm_up=4000,
        seed=11,
        percentiles=asked,
    )
    said = [(found.mean_response, played.mean_response), (found.mean_wait, played.mean_wait)]
    said += [(found.response.percentile(q), played.percentile(q)) for q in asked]
    for value, estimate in said:
        assert abs(value - estimate.mean) < 2.0 * estimate.half_width
