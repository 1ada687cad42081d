"""Queues whose arrivals depend on those before: against chains written out, and known cases."""

import numpy as np
import pytest
from scipy.linalg import expm, null_space

from phasefit import MAP, ModelError, PhaseType, match_moments
from qmodels.errors import UnstableError
from qmodels.markov.fluid import first_return
from qmodels.networks.many_server import ManyServerQueue
from qmodels.networks.response import response_law
from qmodels.networks.waiting import waits_by_kind
from qmodels.policies import (
    DynamicPartitioning,
    SpaceSharing,
    System,
    TimeSharing,
    Workload,
    capacity,
    predict,
)
from qmodels.programs import Burst, Geometric, Phase, Program

ONE = PhaseType.exponential(mean=1.0)
TIDES = MAP.modulated([[0.0, 0.2], [0.1, 0.0]], rates=[2.0, 0.3])
LONG = MAP.acyclic(rates=[0.3, 3.0], a=0.6, b=0.9)
# after an arrival it goes on in three ways, with phases between
MIXED = MAP.from_rates(
    [[0.0, 1.0, 0.2], [0.0, 0.0, 2.0], [0.5, 0.0, 0.0]],
    [[0.1, 0.0, 0.0], [0.3, 0.0, 1.0], [0.0, 4.0, 0.2]],
)
PROCESSES = {"tides": TIDES, "long": LONG, "mixed": MIXED}
every_process = pytest.mark.parametrize("process", PROCESSES.values(), ids=PROCESSES)
COX = PhaseType.coxian(rates=[3.0, 0.5], continue_probabilities=[0.2])


LAWS = {
    "erlang": PhaseType.erlang(phases=3, mean=1.0),
    "hyperexponential": match_moments(1.0, 6.0),
    "coxian": COX,
}


def written_out(process, service, servers, most):
    """Every state (jobs, arrival phase, stage of each server in order): a dense chain."""
    from itertools import product

    m = service.order
    states = [
        (k, i, stages)
        for k in range(most + 1)
        for i in range(process.order)
        for stages in product(range(m), repeat=min(k, servers))
    ]
    place = {state: at for at, state in enumerate(states)}
    Q = np.zeros((len(states), len(states)))
    for (k, i, stages), at in place.items():
        for j in range(process.order):
            if j != i:
                Q[at, place[k, j, stages]] += process.D0[i, j]
            if k < servers:
                for new in range(m):
                    to = place[k + 1, j, (*stages, new)]
                    Q[at, to] += process.D1[i, j] * service.alpha[new]
            else:
                Q[at, place[min(k + 1, most), j, stages]] += process.D1[i, j]
        for position, stage in enumerate(stages):
            others = stages[:position] + stages[position + 1 :]
            for b in range(m):
                if b != stage:
                    moved = (*stages[:position], b, *stages[position + 1 :])
                    Q[at, place[k, i, moved]] += service.T[stage, b]
            if k > servers:
                for new in range(m):
                    to = place[k - 1, i, (*others, new)]
                    Q[at, to] += service.exit[stage] * service.alpha[new]
            else:
                Q[at, place[k - 1, i, others]] += service.exit[stage]
    np.fill_diagonal(Q, 0.0)
    np.fill_diagonal(Q, -Q.sum(axis=1))
    pi = np.linalg.solve(np.vstack([Q.T[:-1], np.ones(len(Q))]), np.eye(len(Q))[-1])
    jobs = np.array([k for k, _, _ in states])
    seen = np.array([process.D1[i].sum() for _, i, _ in states]) * pi
    return jobs, pi, seen / seen.sum()


@every_process
@pytest.mark.parametrize(("servers", "service"), [(1, ONE), (2, COX)])
def test_it_agrees_with_a_chain_that_is_written_out(process, servers, service):
    load = 0.4 if servers == 1 else 0.3
    arrivals = process.at_rate(load * servers / service.mean)
    found = ManyServerQueue(arrivals, service, servers=servers).solve()
    # beyond the cut there is less than a thousandth of what is compared
    most = 110 if servers == 2 else 150
    assert found.sf(most) < 1e-8
    jobs, pi, seen = written_out(arrivals, service, servers, most)
    assert found.mean_jobs == pytest.approx(pi @ jobs, rel=1e-6)
    assert found.pmf(np.arange(6)) == pytest.approx(np.bincount(jobs, pi)[:6], rel=1e-7)
    # what arrivals find is not what is there at a random moment
    waits = seen[jobs >= servers].sum()
    assert found.wait_probability == pytest.approx(waits, rel=1e-7)
    assert found.wait_probability > 1.01 * pi[jobs >= servers].sum()


@every_process
@pytest.mark.parametrize(("servers", "service"), [(1, ONE), (2, COX), (5, ONE)])
def test_the_law_of_the_wait_has_the_mean_of_the_queue(process, servers, service):
    arrivals = process.at_rate(0.8 * servers / service.mean)
    found = ManyServerQueue(arrivals, service, servers=servers).solve()
    assert found.wait.mean == pytest.approx(found.mean_wait, rel=1e-10)
    assert found.wait.sf(0.0) == pytest.approx(found.wait_probability, rel=1e-12)
    # by kind of arrival it is the same law, taken apart
    parts = waits_by_kind(found.chain, found.queue._busy, found.queue.process)
    total = 0.0
    for part in parts:
        weight = part.start.sum()
        total += weight
        law = PhaseType.from_rates(part.start / weight, part.jumps, part.exits)
        assert 0.0 < law.mean < np.inf
    assert total == pytest.approx(found.wait_probability, rel=1e-11)
    means = sum(
        part.start.sum() * PhaseType.from_rates(part.start / part.start.sum(), part.jumps, part.exits).mean
        for part in parts
    )
    assert means == pytest.approx(found.mean_wait, rel=1e-10)


@pytest.mark.thorough
@every_process
def test_one_server_gives_the_matrix_geometric_solution_by_hand(process):
    """MAP/M/1: R is the least solution of D1 + R (D0 - mu) + mu R^2 = 0, by iteration."""
    arrivals, mu = process.at_rate(0.7), 1.0
    n = arrivals.order
    inverse, R = np.linalg.inv(mu * np.eye(n) - arrivals.D0), np.zeros((n, n))
    for _ in range(20_000):
        R = (arrivals.D1 + mu * R @ R) @ inverse
    pi0 = null_space((arrivals.D0 + mu * R).T)[:, 0]
    rest = np.linalg.inv(np.eye(n) - R)
    pi0 /= (pi0 @ rest).sum()
    jobs = float((pi0 @ rest @ R @ rest).sum())
    found = ManyServerQueue(arrivals, ONE, servers=1).solve()
    assert found.mean_jobs == pytest.approx(jobs, rel=1e-9)
    # P(wait > t): an arrival that finds n jobs waits for n services
    sees, t, poisson, reach = 0.0, 2.5, np.exp(-2.5), 0.0
    seen = [pi0 @ arrivals.D1.sum(axis=1) / 0.7]
    level = pi0
    for k in range(1, 400):
        level = level @ R
        reach += poisson  # at most k - 1 services in t
        poisson *= t / k
        sees += level @ arrivals.D1.sum(axis=1) / 0.7 * reach
        seen.append(level @ arrivals.D1.sum(axis=1) / 0.7)
    assert sum(seen) == pytest.approx(1.0, abs=1e-9)
    assert found.wait.sf(t) == pytest.approx(sees, rel=1e-9)


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("servers", [1, 3])
def test_arrivals_that_only_look_dependent_give_the_numbers_of_independent_ones(servers):
    """Two states of one rate are a Poisson process, though arrivals are of two kinds."""
    rate = 0.8 * servers / COX.mean
    same = MAP.modulated([[0.0, 0.3], [0.7, 0.0]], rates=[rate, rate])
    plain = PhaseType.exponential(mean=1.0 / rate)
    one, two = (ManyServerQueue(a, COX, servers=servers).solve() for a in (plain, same))
    for name in ("mean_jobs", "mean_wait", "wait_probability"):
        assert getattr(two, name) == pytest.approx(getattr(one, name), rel=1e-12)
    times = np.array([0.1, 1.0, 5.0, 40.0])
    assert two.wait.sf(times) == pytest.approx(one.wait.sf(times), rel=1e-11)
    speeds = np.linspace(1.0, 0.7, servers + 1)
    laws = [response_law(ManyServerQueue(a, COX, speeds=speeds).solve())[0] for a in (plain, same)]
    assert laws[1].mean == pytest.approx(laws[0].mean, rel=1e-10)
    assert laws[1].sf(times) == pytest.approx(laws[0].sf(times), rel=1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_a_renewal_process_gives_the_numbers_of_its_law(law):
    slow = law.scale(1.0 / (2.5 * law.mean))
    for speeds in ([1.0, 1.0, 1.0], [1.0, 0.9, 0.85]):
        one, two = (
            ManyServerQueue(a, COX.scale(1.0 / COX.mean), speeds=speeds).solve()
            for a in (slow, MAP.from_phase_type(slow))
        )
        for name in ("mean_jobs", "mean_wait", "wait_probability", "mean_response"):
            assert getattr(two, name) == pytest.approx(getattr(one, name), rel=1e-12)
        times = [0.5, 3.0, 20.0]
        assert two.wait.sf(times) == pytest.approx(one.wait.sf(times), rel=1e-12)
        assert response_law(two)[0].sf(times) == pytest.approx(response_law(one)[0].sf(times), rel=1e-12)


@pytest.mark.parametrize("process", [TIDES, MIXED], ids=["tides", "mixed"])
def test_responses_at_several_speeds_have_the_mean_of_the_queue(process):
    """A followed job: its law knows how arrivals behind it go on after its own."""
    speeds = [1.0, 0.8, 0.6]
    arrivals = process.at_rate(0.75 * 1.8)
    found = ManyServerQueue(arrivals, ONE, speeds=speeds).solve()
    law, bound = response_law(found)
    assert bound <= 1e-12
    assert law.mean == pytest.approx(found.mean_response, rel=1e-8)


@pytest.mark.parametrize(("servers", "service"), [(1, ONE), (3, LAWS["erlang"])])
def test_a_source_that_is_on_and_off_is_renewal_with_two_branches(servers, service):
    """An interrupted Poisson process (A. Kuczura, Bell Syst. Tech. J. 52 (1973) 437-448)."""
    source = MAP.modulated([[0.0, 0.5], [0.2, 0.0]], rates=[3.0, 0.0]).at_rate(0.8 * servers)
    one, two = (ManyServerQueue(a, service, servers=servers).solve() for a in (source.gaps, source))
    assert two.mean_wait == pytest.approx(one.mean_wait, rel=1e-12)
    assert two.wait.sf([1.0, 9.0]) == pytest.approx(one.wait.sf([1.0, 9.0]), rel=1e-12)
    assert two.wait.order == one.wait.order


def test_phases_that_are_left_for_good_change_nothing():
    begun = MAP.from_rates(
        [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]],
        [[2.0, 0.0, 0.0], [0.0, 5.0, 0.0], [0.0, 1.0, 2.0]],
    ).at_rate(1.2)
    one, two = (ManyServerQueue(a, ONE, speeds=[1.0, 0.8]).solve() for a in (ONE.scale(1 / 1.2), begun))
    assert two.mean_wait == pytest.approx(one.mean_wait, rel=1e-12)
    assert two.wait.sf(1.0) == pytest.approx(one.wait.sf(1.0), rel=1e-12)
    assert response_law(two)[0].mean == pytest.approx(one.mean_response, rel=1e-10)


@pytest.mark.parametrize("load", [1e-6, 1e-3, 0.3, 0.9, 0.9999])
def test_waits_keep_their_digits_at_any_load(load):
    """Modulation ten thousand times as slow as the jobs: the law beside the chain by Little."""
    slow = MAP.modulated([[0.0, 1e-4], [1e-4, 0.0]], rates=[1.8, 0.2]).at_rate(4.0 * load)
    found = ManyServerQueue(slow, LAWS["erlang"], servers=4).solve()
    assert found.wait.mean == pytest.approx(found.mean_wait, rel=1e-12)
    mean = found.positive_wait.mean * found.wait_probability
    assert mean == pytest.approx(found.mean_wait, rel=1e-12)


def test_the_return_of_a_fluid_solves_its_equation(rng):
    rising, falling = rng.random((4, 4)), rng.random((3, 3))
    turn, back = 2.0 * rng.random((4, 3)), 0.3 * rng.random((3, 4))
    for rates in (rising, falling):
        np.fill_diagonal(rates, 0.0)
    psi = first_return(rising, turn, falling, back)
    U = rising - np.diag(rising.sum(axis=1) + turn.sum(axis=1))
    D = falling - np.diag(falling.sum(axis=1) + back.sum(axis=1))
    assert np.abs(turn + U @ psi + psi @ D + psi @ back @ psi).max() < 1e-13
    assert psi.sum(axis=1) == pytest.approx(np.ones(4), rel=1e-12)
    assert np.isfinite(expm(U + psi @ back)).all()


def test_correlated_arrivals_cost_waits_that_their_law_does_not_show():
    renewal = ManyServerQueue(LONG.at_rate(1.4).gaps, ONE, servers=2).solve()
    dependent = ManyServerQueue(LONG.at_rate(1.4), ONE, servers=2).solve()
    assert dependent.mean_wait > 1.5 * renewal.mean_wait
    with pytest.raises(UnstableError):
        ManyServerQueue(LONG.at_rate(2.0), ONE, servers=2).solve()
    with pytest.raises(ModelError, match="a PhaseType or a MAP"):
        ManyServerQueue("poisson", ONE, servers=2)
    with pytest.raises(ModelError, match="service must be a PhaseType"):
        ManyServerQueue(ONE, LONG, servers=2)


BURSTY = Program([Phase(io=Burst(1.0, law="1"), cpu=Burst(2.0, law="1"))], phase_count=Geometric(2))
MACHINE = System(processors=8, disks=4, min_processors=2)
CASES = {
    "speed-scaled": (SpaceSharing(4, 2), Workload(BURSTY)),
    "crowding": (SpaceSharing(4, 2), Workload(BURSTY, io_bursts=match_moments(1.0, 3.0))),
    "exact": (SpaceSharing(2, 1), Workload(BURSTY, io_bursts=match_moments(1.0, 3.0))),
    "decomposition": (SpaceSharing(4, 2), Workload(BURSTY, io_bursts=match_moments(1.0, 3.0))),
    "time-sharing": (TimeSharing(2, 2, 2), Workload.from_scv(BURSTY, demand_scv=4.0)),
    "auto": (DynamicPartitioning(2), Workload.from_scv(BURSTY, demand_scv=2.0)),
}


@pytest.mark.parametrize("name", ["arrivals", "demand", "io_bursts"])
def test_a_phase_that_no_job_meets_is_no_phase_of_a_workload(name):
    """Models are chosen by numbers of phases, and two of them differ."""
    law = match_moments(1.0, 3.0)
    unmet = PhaseType([*law.alpha, 0.0], [[*law.T[0], 0.0], [*law.T[1], 0.0], [1.0, 0.0, -4.0]])
    assert getattr(Workload(BURSTY, **{name: unmet}), name).order == law.order
    left = MAP.from_rates([*(([0.0, 0.0, 0.0],) * 2), [1.0, 0.0, 0.0]], [[1, 2, 0], [1, 4, 0], [0, 0, 0]])
    assert Workload(BURSTY, arrivals=left).arrivals == MAP.from_rates(
        np.zeros((2, 2)), [[1, 2], [1, 4]]
    ).at_rate(1.0)


@pytest.mark.thorough
@pytest.mark.parametrize("model", CASES)
def test_every_model_of_a_policy_takes_a_process(model):
    """A renewal process gives the numbers of its law, others more or less waiting."""
    policy, work = CASES[model]
    law = match_moments(1.0, 3.0)
    given = {"arrivals": law}, {"arrivals": MAP.from_phase_type(law)}, {"arrivals": TIDES}
    found = []
    for each in given:
        kinds = {"demand": work.demand}
        if work.has_bursts:
            kinds = {"io_bursts": work.io_bursts, "cpu_bursts": work.cpu_bursts}
        workload = Workload(work.program, **kinds, **each)
        rate = 0.6 * capacity(policy, MACHINE, workload, model=model)
        found.append(predict(policy, MACHINE, workload, arrival_rate=rate, model=model))
    renewal, same, other = found
    assert same.mean_response == pytest.approx(renewal.mean_response, rel=1e-12)
    assert same.wait.sf(1.0) == pytest.approx(renewal.wait.sf(1.0), rel=1e-11)
    assert other.mean_response != pytest.approx(renewal.mean_response, rel=1e-3)
    assert other.wait.mean == pytest.approx(other.mean_wait, rel=1e-8)
    assert other.capacity == pytest.approx(renewal.capacity)
    if model in ("speed-scaled", "crowding", "time-sharing", "auto"):
        assert same.percentile(0.95) == pytest.approx(renewal.percentile(0.95), rel=1e-9)
        assert other.response.mean == pytest.approx(other.mean_response, rel=1e-6)
