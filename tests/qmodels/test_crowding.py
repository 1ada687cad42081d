"""`predict(model="crowding")`: golden numbers, its exact cases, and what it says it leaves out."""

from itertools import combinations_with_replacement, pairwise, permutations, product
from math import factorial

import numpy as np
import pytest

from phasefit import PhaseType, match_moments
from qmodels.errors import ModelError, UnstableError
from qmodels.markov import QBD, solve_qbd
from qmodels.policies import (
    DynamicPartitioning,
    SpaceSharing,
    System,
    TimeSharing,
    Workload,
    capacity,
    predict,
)
from qmodels.policies.models.disk_crowding import (
    DiskRooms,
    completions,
    crowding,
    occupancy_law,
)
from qmodels.programs import Burst, Geometric, Phase, Program, WorkingSet

SP, DP = SpaceSharing, DynamicPartitioning
#: The program and the machine of the golden points under dynamic partitioning.
SHRINKING = Program([Phase(io=Burst(8.0, law="min(d, p/2)"), cpu=Burst(24.0, sequential=0.2))])
SIXTEEN = System(processors=16, disks=8, min_processors=2)


def law(scv):
    return match_moments(1.0, 1.0 + scv)


def bursts(program, io, cpu, **more):
    return Workload(program, io_bursts=law(io), cpu_bursts=law(cpu), **more)


def alternating(phases, cpu, io=1.0):
    """A geometric number of phases, none of which gains from processors or disks."""
    phase = Phase(io=Burst(io, law="1"), cpu=Burst(cpu, law="1"))
    return Program([phase], phase_count=Geometric(phases))


@pytest.mark.parametrize(
    ("policy", "phases", "io", "cpu", "think", "fraction", "expected"),
    [
        (SP(3, 1), 4, 4, 1, 1.0, 0.8, 27.5986),
        (SP(4, 2), 1, 4, 4, 0.5, 0.5, 2.00734),
        (SP(6, 2), 1, 4, 1, 2.0, 0.8, 5.56058),
        (SP(6, 2), 1, 1, 4, 0.5, 0.8, 3.44779),
        (SP(8, 4), 1, 1, 4, 0.5, 0.8, 2.43048),
    ],
)
def test_the_golden_points_of_space_sharing_come_out(policy, phases, io, cpu, think, fraction, expected):
    machine = System(policy.processor_partitions, policy.disk_partitions)
    work = bursts(alternating(phases, think), io, cpu)
    # the rates of the specification, of six digits, are these parts of the capacity
    rate = fraction * capacity(policy, machine, work)
    found = predict(policy, machine, work, arrival_rate=rate)
    assert found.model == "crowding"
    assert found.mean_response == pytest.approx(expected, rel=2e-6)


@pytest.mark.parametrize(("disks", "rate", "expected"), [(1, 0.198304, 6.39692), (2, 0.316447, 9.86753)])
def test_the_golden_points_of_dynamic_partitioning_come_out(disks, rate, expected):
    found = predict(DP(disks), SIXTEEN, bursts(SHRINKING, 4, 1), arrival_rate=rate)
    # a rate of six digits leaves five of the response at four fifths of the capacity
    assert found.mean_response == pytest.approx(expected, rel=2e-5)


def test_the_golden_disks_at_work_come_out():
    found = crowding(DiskRooms((2, 2), 4), lambda k: completions(2.0, 1.0, 2), 0.5).at_work()
    assert found[2] == pytest.approx([0.0, 1.0, 1.83766234], abs=5e-9)
    assert found[3] == pytest.approx([0.0, 1.0, 1.5, 2.0])
    assert found[4] == pytest.approx([0.0, 1.0, 1.5, 2.0, 2.0])


@pytest.mark.parametrize("crowd", [(3,), (2, 1), (3, 3), (4, 2, 2, 1), (200, 150)])
def test_the_disks_at_work_are_those_of_the_configurations(crowd):
    """Every way to choose who transfers, with its weight in product form, counted out."""
    from qmodels.policies.models.disk_crowding import _at_work

    weights = np.zeros(sum(crowd) + 1)
    busy = np.zeros(sum(crowd) + 1)
    some = product(*(range(x + 1) if x < 100 else (0, 1, x - 1, x) for x in crowd))
    if max(crowd) >= 100:  # beyond the range of the factorials: bounds only
        found = _at_work(crowd)
        assert found[:2] == pytest.approx([0.0, 1.0])
        assert found[-1] == pytest.approx(2.0)
        assert np.all(np.diff(found) >= -1e-12)
        return
    for moving in some:
        weight = 1.0
        for x, n in zip(crowd, moving, strict=True):
            weight /= factorial(x - n)
        weights[sum(moving)] += weight
        busy[sum(moving)] += weight * sum(n > 0 for n in moving)
    assert _at_work(crowd) == pytest.approx(busy / weights, rel=1e-12)


@pytest.mark.parametrize("rooms", [(1,), (2, 2), (3, 2, 2), (2, 1), (4, 4, 4, 4)])
@pytest.mark.parametrize("most", [2, 5, 16])
def test_the_ways_to_lie_are_counted_before_they_are_made(rooms, most):
    disks = DiskRooms(rooms, min(most, sum(rooms)))
    levels = disks.crowds()
    assert disks.count() == sum(len(level) for level in levels)
    for k, level in enumerate(levels):
        assert len(set(level)) == len(level)
        for crowd in level:
            assert sum(crowd) == k
            if k < disks.max_running:
                assert disks.joined(crowd) in levels[k + 1]


def test_jobs_lie_as_a_chain_of_every_disk_partition_apart_says():
    """The same occupancy with partitions told apart and the queue cut off far away."""
    own, rate, cut = [0.0, 0.4, 0.6, 0.7], 0.9, 400
    states = list(product(range(4), repeat=2))
    full = (3, 3)
    number = {s: n for n, s in enumerate(states)} | {("w", n): 15 + n for n in range(1, cut)}
    rates = np.zeros((15 + cut, 15 + cut))
    for state in states:
        at = number[state]
        if state != full:
            best = min((x for x in (0, 1) if state[x] < 3), key=lambda x: (state[x], x))
            after = tuple(n + (i == best) for i, n in enumerate(state))
            rates[at, number[after]] += rate
        for i in (0, 1):
            if state[i]:
                after = tuple(n - (j == i) for j, n in enumerate(state))
                rates[at, number[after]] += own[state[i]]
    for n in range(cut - 1):
        low = number[full] if n == 0 else number[("w", n)]
        high = number[("w", n + 1)]
        rates[low, high], rates[high, low] = rate, 2 * own[3]
    generator = rates - np.diag(rates.sum(axis=1))
    system = np.vstack([generator.T, np.ones(len(rates))])
    pi = np.linalg.lstsq(system, np.append(np.zeros(len(rates)), 1.0), rcond=None)[0]
    found = crowding(DiskRooms((3, 3), 6), lambda k: np.array(own), rate)
    for k in range(1, 6):
        total = sum(pi[number[s]] for s in states if sum(s) == k)
        for crowd, share in zip(found.crowds[k], found.probabilities[k], strict=True):
            same = sum(pi[number[s]] for s in set(permutations(crowd)))
            assert share == pytest.approx(same / total, rel=1e-8)


EXACT = [
    (SP(3, 1), System(3, 1), alternating(1, 2.0)),
    (SP(4, 1), System(4, 1), alternating(3, 0.5)),
    (DP(1), System(8, 4, min_processors=2), SHRINKING),
    (DP(3), System(3, 3), SHRINKING),
    (SP(2, 1), System(2, 1), Program([Phase(io=1.0, cpu=2.0), Phase(io=0.0, cpu=1.0)])),
]


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize(("policy", "machine", "program"), EXACT)
@pytest.mark.parametrize("arrivals", [1.0, 4.0])
def test_one_disk_partition_or_private_ones_are_the_exact_chain(policy, machine, program, arrivals):
    work = bursts(program, 4.0, 2.0, arrivals=law(arrivals))
    rate = 0.8 * predict(policy, machine, work, arrival_rate=1e-6, model="crowding").capacity
    one, other = (
        predict(policy, machine, work, arrival_rate=rate, model=model) for model in ("crowding", "exact")
    )
    assert one.method == other.method == "exact"
    for name in ("mean_response", "mean_wait", "capacity", "disk_utilisation"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-9)
    assert one.processor_utilisation == pytest.approx(other.processor_utilisation, rel=1e-9)


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("policy", [SP(4, 2), SP(6, 2), SP(5, 3), SP(6, 4)])
@pytest.mark.parametrize("think", [0.5, 2.0])
def test_it_is_within_the_stated_error_of_the_exact_chain(policy, think):
    """Exponential bursts, no simulation needed: specification part 1 asks for 3 % at worst."""
    machine = System(policy.processor_partitions, policy.disk_partitions)
    work = bursts(alternating(1, think), 1.0, 1.0)
    for fraction in (0.3, 0.6, 0.9):
        rate = fraction * capacity(policy, machine, work)
        one, other = (
            predict(policy, machine, work, arrival_rate=rate, model=model) for model in ("crowding", "exact")
        )
        assert one.method == "approximate"
        assert one.mean_response == pytest.approx(other.mean_response, rel=0.02)


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("policy", [SP(3, 2), SP(8, 3), DP(2), DP(3)])
def test_its_capacity_is_that_of_the_closed_network_and_is_approached(policy):
    machine = SIXTEEN if isinstance(policy, DP) else System(24, 6)
    program = SHRINKING if isinstance(policy, DP) else alternating(2, 1.0)
    work = bursts(program, 2.0, 2.0)
    most = predict(policy, machine, work, arrival_rate=1e-3).capacity
    assert most == pytest.approx(capacity(policy, machine, work), rel=1e-9)
    near = predict(policy, machine, work, arrival_rate=(1.0 - 1e-6) * most)
    assert 1e4 < near.mean_jobs < 1e8
    with pytest.raises(UnstableError):
        predict(policy, machine, work, arrival_rate=most)


@pytest.mark.parametrize("policy", [SP(6, 4), DP(3)])
def test_disks_and_processors_do_what_the_jobs_bring(policy):
    machine = System(12, 12, min_processors=2)
    work = bursts(alternating(2, 1.5), 4.0, 0.5)
    found = predict(policy, machine, work, arrival_rate=0.5)
    assert found.disk_utilisation * policy.disk_partitions == pytest.approx(0.5 * 2.0, rel=1e-9)
    if policy.name == "SP":
        assert found.processor_utilisation * 6 == pytest.approx(0.5 * 3.0, rel=1e-9)


def test_light_load_is_the_time_of_a_job_alone():
    work = bursts(alternating(3, 2.0), 4.0, 4.0)
    assert predict(SP(6, 4), System(6, 4), work, arrival_rate=1e-12).mean_response == (
        pytest.approx(9.0, rel=1e-9)
    )


def test_what_it_leaves_out_is_said():
    many = Program([WorkingSet(8, [Phase(io=Burst(1.0, law="1"), cpu=Burst(1.0, law="1"))])])
    found = predict(SP(16, 4), System(16, 4), bursts(many, 1.0, 1.0), arrival_rate=0.1)
    assert "taken as one law" in found.reduction
    uneven = predict(SP(3, 2), System(16, 4), bursts(alternating(1, 1.0), 1.0, 1.0), load=0.1)
    assert "mean size" in uneven.reduction
    wide = bursts(alternating(1, 1.0), 1.0, 1.0)
    large = predict(SP(64, 24), System(64, 24), wide, arrival_rate=5.0)
    assert "spread evenly" in large.reduction


def test_what_it_cannot_follow_is_refused_with_a_way_out():
    work = bursts(alternating(1, 1.0), 1.0, 1.0)
    fcfs = System(4, 2, disk_discipline="fcfs")
    with pytest.raises(ModelError, match='model="decomposition"'):
        predict(SP(4, 2), fcfs, work, arrival_rate=0.1, model="crowding")
    with pytest.raises(ModelError, match="one size"):
        predict(SP(2, 1, (3, 1)), System(4, 2), work, arrival_rate=0.1, model="crowding")
    with pytest.raises(ModelError, match="follows the bursts"):
        predict(SP(2, 1), System(4, 2), Workload(SHRINKING), load=0.1, model="crowding")
    with pytest.raises(ModelError, match="no chain of this kind"):
        predict(TimeSharing(2, 1), System(4, 2), work, arrival_rate=0.1, model="crowding")
    assert predict(SP(4, 2), fcfs, work, arrival_rate=0.1).model == "crowded-speeds"


def test_bursts_of_high_order_and_arrivals_of_any_law_are_followed():
    phases = PhaseType.erlang(phases=3, mean=1.0)
    work = Workload(alternating(2, 1.0), arrivals=law(0.4), io_bursts=phases, cpu_bursts=law(3.0))
    machine = System(3, 2)
    one, other = (
        predict(SP(3, 2), machine, work, arrival_rate=0.3, model=model).mean_response
        for model in ("crowding", "exact")
    )
    assert one == pytest.approx(other, rel=0.02)


def test_every_way_to_lie_is_found():
    for most, size in ((2, 2), (3, 3)):
        found = DiskRooms((most,) * size, most * size).crowds()
        every = combinations_with_replacement(range(most, -1, -1), size)
        assert sorted(x for level in found for x in level) == sorted(every)


@pytest.mark.thorough
@pytest.mark.parametrize("arrivals", [0.5, 1.0, 3.0])
def test_on_private_disks_the_followed_job_has_the_law_of_wait_and_service(arrivals):
    """An M/PH/c queue, whose response is known otherwise: the wait and then the whole job."""
    work = bursts(alternating(2, 2.0), 3.0, 0.5, arrivals=law(arrivals))
    machine, rate = System(3, 3), 0.35
    one, other = (
        predict(SP(3, 3), machine, work, arrival_rate=rate, model=model)
        for model in ("crowding", "speed-scaled")
    )
    assert one.method == other.method == "exact"
    for k in (1, 2, 3):
        assert one.response.moment(k) == pytest.approx(other.response.moment(k), rel=1e-7)
    shares = [0.01, 0.5, 0.95, 0.99, 0.9999]
    assert one.percentile(shares) == pytest.approx(other.percentile(shares), rel=1e-6)


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("policy", [SP(1, 1), SP(4, 1), SP(4, 2), SP(5, 3), DP(1), DP(2), DP(3)])
@pytest.mark.parametrize("arrivals", [1.0, 3.0])
def test_the_followed_job_stays_as_long_as_little_says(policy, arrivals):
    machine = SIXTEEN if isinstance(policy, DP) else System(10, 6)
    program = SHRINKING if isinstance(policy, DP) else alternating(2, 1.0)
    work = bursts(program, 2.0, 1.0, arrivals=law(arrivals))
    found = predict(
        policy, machine, work, arrival_rate=0.8 * capacity(policy, machine, work), model="crowding"
    )
    assert found.response.mean == pytest.approx(found.mean_response, rel=1e-9)
    assert found.wait.mean == pytest.approx(found.mean_wait, rel=1e-9)
    assert found.response.truncation < 1e-9


def test_percentiles_of_one_shared_disk_are_those_of_the_chain_with_nothing_summed_up():
    """Two partitions, one disk, exponential bursts: one job followed in a chain written out."""
    from scipy.linalg import expm

    rate, think, io, cut = 0.25, 2.0, 1.0, 60
    work = bursts(alternating(1, think, io), 1.0, 1.0)
    found = predict(SP(2, 1), System(2, 1), work, arrival_rate=rate)
    # a job is a transfer and then a computation; (mine, other, behind); other None: nobody
    states = [
        (m, o, w) for m in "IC" for o in ("I", "C", None) for w in range(cut) if o is not None or w == 0
    ]
    place = {state: n for n, state in enumerate(states)}
    moves, ends = np.zeros((len(states),) * 2), np.zeros(len(states))
    for (mine, other, behind), here in place.items():
        sharing = 1 + (mine == "I" and other == "I")
        if mine == "I":
            moves[here, place["C", other, behind]] += 1.0 / io / sharing
        else:
            ends[here] += 1.0 / think
        if other == "I":
            moves[here, place[mine, "C", behind]] += 1.0 / io / sharing
        elif other == "C":
            after = (mine, "I", behind - 1) if behind else (mine, None, 0)
            moves[here, place[after]] += 1.0 / think
        if other is None:
            moves[here, place[mine, "I", 0]] += rate
        elif behind + 1 < cut:
            moves[here, place[mine, other, behind + 1]] += rate
    generator = moves - np.diag(moves.sum(axis=1) + ends)
    # those that start at once, given that they do
    empty, one = found.solved.chain.boundary[0], found.solved.chain.boundary[1]
    begin = np.zeros(len(states))
    begin[place["I", None, 0]] = float(empty[0])
    transfers = found.solved.queue.running.staged
    for share, counts in zip(one, transfers.ways.counts[1:3], strict=True):
        begin[place["I", "I" if counts[0] else "C", 0]] += share
    at_once = begin.sum()
    late = found.wait.sf(0.0)
    assert at_once == pytest.approx(1.0 - late, rel=1e-12)
    # the mean of all is that of those that start at once and of those that wait
    stay = -np.linalg.solve(generator, np.ones(len(states)))
    assert (begin @ stay) / at_once < found.mean_response
    for x in (0.5, 2.0, 5.0):
        gone = at_once - begin @ expm(generator * x) @ np.ones(len(states))
        assert gone < found.response.cdf(x) < gone + late


@pytest.mark.parametrize("load", [1e-9, 0.02, 0.6, 0.999])
def test_the_law_found_level_by_level_is_that_of_the_general_solver(rng, load):
    """Also where starts are drawn and some completions are a million times slower than others."""
    sizes = [1, 3, 5, 2, 4, 1]
    up = [rng.dirichlet(np.ones(n), size=m) for m, n in pairwise(sizes)]
    down = [10.0 ** rng.uniform(-6, 0, (n, m)) for m, n in pairwise(sizes)]
    again = down[-1] @ up[-1]
    rate = load * float(again[0, 0])
    found = occupancy_law(up, down, again, rate)
    still = [np.zeros((n, n)) for n in sizes]
    queue = QBD([*(rate * x for x in up), np.full((1, 1), rate)], still, [*down, again])
    expected = solve_qbd(queue)
    for law, other in zip(found, [*expected.boundary[:-1], expected.tail], strict=True):
        assert law == pytest.approx(other, rel=1e-10, abs=0.0)


def test_the_law_found_level_by_level_is_that_of_many_servers():
    """Erlang's, with more servers than e to the power of can be written in a float."""
    servers, load = 900, 890.0
    up = [np.ones((1, 1))] * servers
    down = [np.full((1, 1), k) for k in range(1, servers + 1)]
    found = np.concatenate(occupancy_law(up, down, down[-1], load))
    logs = np.cumsum(np.log(load / np.arange(1.0, servers + 1)))
    logs[-1] -= np.log(1.0 - load / servers)
    expected = np.exp(np.concatenate([[0.0], logs]) - logs.max())
    assert found == pytest.approx(expected / expected.sum(), rel=1e-9)


def test_one_more_job_than_is_served_has_no_law():
    with pytest.raises(UnstableError):
        occupancy_law([np.ones((1, 1))], [np.ones((1, 1))], np.ones((1, 1)), 1.0)
