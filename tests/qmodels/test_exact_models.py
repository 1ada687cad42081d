"""`predict(model="exact")`: every running job in a stage of a burst, nothing taken apart."""

import numpy as np
import pytest

from phasefit import PhaseType, match_moments
from qmodels.errors import MemoryBudgetError, ModelError, UnstableError
from qmodels.policies import (
    DynamicPartitioning,
    SpaceSharing,
    System,
    TimeSharing,
    Workload,
    capacity,
    predict,
)
from qmodels.policies.models import build, exact
from qmodels.policies.models.build import built_model
from qmodels.policies.models.policy_queue import _rounded
from qmodels.programs import Burst, Geometric, Phase, Program, WorkloadMix
from tests.naive import policy_chains as naive

SP, DP, TS = SpaceSharing, DynamicPartitioning, TimeSharing
ONE = PhaseType.exponential(mean=1.0)
HYPER = match_moments(1.0, 5.0)


def workload(phases, *, mean=None, io_bursts=ONE, cpu_bursts=ONE, arrivals=ONE, law="1"):
    """Jobs of phases (io, cpu) in seconds, on any allotment unless a law says otherwise."""
    listed = [Phase(io=Burst(io, law="1"), cpu=Burst(cpu, law=law)) for io, cpu in phases]
    count = None if mean is None else Geometric(mean)
    return Workload(
        Program(listed, phase_count=count),
        arrivals=arrivals,
        io_bursts=io_bursts,
        cpu_bursts=cpu_bursts,
    )


GEOMETRIC = workload([(1.0, 2.0)], mean=5.0)


@pytest.mark.parametrize(
    ("policy", "capacity_", "responses"),
    [
        (SP(1, 1), 1 / 15, (18.583333, 29.333333, 72.333333, 287.333333)),
        (SP(2, 1), 0.12, (16.132759, 21.171429, 44.326829, 163.070455)),
        (SP(4, 1), 0.18095238, (16.115216, 19.601800, 35.012512, 114.906942)),
        (TS(1, 1, 2), 0.08571429, (17.713320, 26.035714, 59.770764, 229.001605)),
        (TS(1, 1, 3), 0.09333333, (17.830868, 25.914263, 57.456304, 214.465102)),
    ],
)
def test_the_exact_goldens_come_out(policy, capacity_, responses):
    """Specification 9.7: C = 2, I = 1, geometric number of phases with mean 5."""
    machine = System(processors=4, disks=1)
    for fraction, expected in zip((0.2, 0.5, 0.8, 0.95), responses, strict=True):
        rate = fraction * built_model(policy, machine, GEOMETRIC, "exact").capacity
        found = predict(policy, machine, GEOMETRIC, arrival_rate=rate, model="exact")
        assert found.capacity == pytest.approx(capacity_, abs=5e-9)
        assert found.mean_response == pytest.approx(expected, abs=5e-7)
        assert found.method == found.model == "exact"
        assert found.error_bound < 1e-12


CASES = {
    "SP(2,1), geometric": (SP(2, 1), [(1.0, 2.0)], 3.0),
    "SP(3,2), two phases": (SP(3, 2), [(1.0, 2.0), (3.0, 0.5)], None),
    "SP(4,2), one phase": (SP(4, 2), [(2.0, 1.0)], None),
    "SP(2,2), private disks": (SP(2, 2), [(1.0, 2.0)], 2.0),
    "SP(1,2), idle disks": (SP(1, 2), [(1.0, 2.0)], None),
    "DP(1)": (DP(1), [(1.0, 2.0)], 3.0),
    "DP(2), two phases": (DP(2), [(1.0, 2.0), (3.0, 0.5)], None),
    "TS(2,1,2)": (TS(2, 1, 2), [(1.0, 2.0)], 3.0),
    "TS(2,2,2), two phases": (TS(2, 2, 2), [(1.0, 2.0), (3.0, 0.5)], None),
    "TS(2,1,2), at most two": (TS(2, 1, 2, ts_cap="min"), [(1.0, 2.0)], 3.0),
    "TS(1,1,3), two phases": (TS(1, 1, 3), [(1.0, 2.0), (3.0, 0.5)], None),
}


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("case", CASES)
def test_the_chain_is_that_of_jobs_with_names(case):
    policy, phases, mean = CASES[case]
    machine = System(processors=4, disks=2)
    work = workload(phases, mean=mean, law="p")
    fraction, levels = 0.25, 24
    rate = fraction * built_model(policy, machine, work, "exact").capacity
    found = predict(policy, machine, work, arrival_rate=rate, model="exact")
    go_on = [1.0] * (len(phases) - 1) + [0.0] if mean is None else [1 - 1 / mean]

    def processors(k):
        return 4 / (k if isinstance(policy, DP) else policy.processor_partitions)

    if isinstance(policy, DP):
        most, place = 4, naive.dynamic_place(policy.disk_partitions)
    else:
        pairs = policy.processor_partitions
        disks = min(policy.disk_partitions, pairs)
        most, place = pairs, naive.static_place(pairs, disks)
        if isinstance(policy, TS):
            most = policy.max_running
            place = naive.timed_place(pairs, disks, policy.multiprogramming)
    whole = [2.0, 1.0, 1.0]  # four processors on three partitions, larger ones first

    def cpu(job, k):
        p = whole[job[0]] if policy.label.startswith("SP(3") else processors(k)
        return phases[job[2]][1] / p

    expected = naive.mean_jobs(
        rate,
        most=most,
        place=place,
        io=lambda job, k: phases[job[2]][0],
        cpu=cpu,
        go_on=go_on,
        in_turn=isinstance(policy, TS),
        levels=levels,
    )
    # a quarter of the capacity: less than 4^-20 of the time is spent above the last level
    assert found.mean_jobs == pytest.approx(expected, rel=1e-9)
    assert found.mean_jobs == pytest.approx(rate * found.mean_response, rel=1e-13)
    assert found.method == "exact"


@pytest.mark.parametrize("policy", [SP(3, 1), SP(4, 4), DP(1)])
def test_without_io_the_chain_is_an_erlang_c_queue(policy):
    work = workload([(0.0, 1.0)])
    found = predict(policy, System(processors=4, disks=4), work, arrival_rate=2.1, model="exact")
    c = 4 if isinstance(policy, DP) else policy.processor_partitions
    assert found.mean_jobs == pytest.approx(erlang_c(c, 2.1), rel=1e-11)


def erlang_c(c, a):
    terms = np.cumprod([1.0, *(a / k for k in range(1, c + 1))])
    queue = terms[c] * c / (c - a)
    waits = queue / (terms[:c].sum() + queue)
    return a + waits * a / (c - a)


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("policy", [SP(1, 1), SP(2, 2), SP(3, 4), SP(4, 4)])
def test_private_disks_give_the_m_ph_c_queue_of_the_whole_job(policy):
    """R-47: exact three ways where nothing is shared."""
    machine = System(processors=12, disks=12)
    work = workload([(1.0, 2.0), (0.5, 3.0)], io_bursts=HYPER, arrivals=match_moments(1.0, 3.0))
    rate = 0.7 * capacity(policy, machine, work)
    found = [
        predict(policy, machine, work, arrival_rate=rate, model=model)
        for model in ("speed-scaled", "decomposition", "exact")
    ]
    assert {each.method for each in found} == {"exact"}
    assert [each.reduction for each in found] == [""] * 3
    for each in found:
        assert each.mean_response == pytest.approx(found[0].mean_response, rel=1e-10)
        assert each.processor_utilisation == pytest.approx(found[0].processor_utilisation, rel=1e-9)
        assert each.disk_utilisation == pytest.approx(found[0].disk_utilisation, rel=1e-9)


def test_one_disk_and_one_partition_obey_pollaczek_and_khinchine():
    """Specification 9.7: SP(1,1) is M/G/1 with E[S] = 15 and E[S^2] = 430."""
    machine = System(processors=4, disks=1)
    for rate in (0.01, 0.05, 0.066):
        found = predict(SP(1, 1), machine, GEOMETRIC, arrival_rate=rate, model="exact")
        expected = 15 + rate * 430 / (2 * (1 - 15 * rate))
        assert found.mean_response == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("policy", [SP(2, 1), SP(4, 2), DP(1), TS(2, 1, 2)])
def test_the_chain_saturates_at_the_capacity_of_the_product_form(policy):
    """Equal jobs one after the other: with exponential bursts a network of product form."""
    machine = System(processors=4, disks=2)
    chain = built_model(policy, machine, GEOMETRIC, "exact").capacity
    assert chain == pytest.approx(capacity(policy, machine, GEOMETRIC), rel=1e-10)


@pytest.mark.parametrize("io_bursts", [ONE, HYPER, PhaseType.erlang(phases=2, mean=1.0)])
def test_processor_sharing_makes_the_capacity_insensitive_to_the_law_of_transfers(io_bursts):
    """R-34: and to that of computation, as nobody waits for processors."""
    machine = System(processors=4, disks=1)
    for cpu_bursts in (ONE, HYPER):
        work = workload([(1.0, 2.0)], mean=5.0, io_bursts=io_bursts, cpu_bursts=cpu_bursts)
        found = built_model(SP(3, 1), machine, work, "exact").capacity
        assert found == pytest.approx(capacity(SP(3, 1), machine, work), rel=1e-11)


def test_utilisation_is_what_the_jobs_bring():
    machine = System(processors=12, disks=4)
    work = workload([(1.0, 2.0), (0.5, 3.0)], law="p")
    for policy in (SP(3, 1), SP(4, 2), TS(2, 1, 2)):
        p = 12 / policy.processor_partitions
        rate = 0.6 * built_model(policy, machine, work, "exact").capacity
        found = predict(policy, machine, work, arrival_rate=rate, model="exact")
        d = 4 / policy.disk_partitions
        busy = rate * float(work.program.mean_cpu(p, d)) * p / 12
        assert found.processor_utilisation == pytest.approx(busy, rel=1e-10)
        moving = rate * float(work.program.mean_io(p, d)) * d / 4
        assert found.disk_utilisation == pytest.approx(moving, rel=1e-10)


def test_a_mix_of_programs_and_a_list_of_probabilities_are_laid_out_job_by_job():
    """M/G/1: the second moment tells whether jobs keep their class and their number of phases."""
    bursts = [Phase(io=Burst(1.0, law="1"), cpu=Burst(2.0, law="1"))]
    short = Program(bursts, phase_count=[0.25, 0.75])
    long = Program([Phase(io=Burst(4.0, law="1"), cpu=Burst(10.0, law="1"))])
    work = Workload(WorkloadMix([short, long], weights=[3, 1]), io_bursts=ONE)
    # phases of mean 3 and variance 1 + 4; one long phase of mean 14 and variance 16 + 100
    second = 0.75 * (0.25 * (5 + 9) + 0.75 * (10 + 36)) + 0.25 * (116 + 14**2)
    mean, rate = 0.75 * 3 * 1.75 + 0.25 * 14, 0.08
    found = predict(SP(1, 1), System(processors=1, disks=1), work, arrival_rate=rate, model="exact")
    expected = mean + rate * second / (2 * (1 - rate * mean))
    assert found.mean_response == pytest.approx(expected, rel=1e-12)


def test_dynamic_partitioning_on_private_disks_is_exact_burst_by_burst():
    """A computation burst gains from processors and a transfer does not: no common speed."""
    machine = System(processors=3, disks=3)
    work = workload([(1.0, 2.0)], law="p")
    one, other = (
        predict(DP(3), machine, work, arrival_rate=0.5, model=model) for model in ("decomposition", "exact")
    )
    assert one.method == other.method == "exact"
    assert one.mean_response == pytest.approx(other.mean_response, rel=1e-12)
    expected = naive.mean_jobs(
        0.5,
        most=3,
        place=naive.dynamic_place(3),
        io=lambda job, k: 1.0,
        cpu=lambda job, k: 2.0 * k / 3,
        go_on=[0.0],
    )
    assert other.mean_jobs == pytest.approx(expected, rel=1e-8)
    scaled = predict(DP(3), machine, work, arrival_rate=0.5, model="speed-scaled")
    assert scaled.method == "approximate"


def test_a_workload_without_laws_of_bursts_is_solved_where_they_do_not_matter():
    machine = System(processors=4, disks=4)
    work = Workload(Program([Phase(io=1.0, cpu=8.0)]), HYPER)
    found = predict(SP(2, 2), machine, work, load=0.3, model="exact")
    assert found.mean_response == predict(SP(2, 2), machine, work, load=0.3).mean_response
    with pytest.raises(ModelError, match="io_bursts"):
        predict(SP(2, 1), machine, work, load=0.3, model="exact")
    with pytest.raises(ModelError, match="io_bursts"):
        predict(SP(2, 1), machine, work, load=0.3, model="decomposition")


@pytest.mark.thorough
def test_large_machines_forget_the_order_of_their_disk_partitions_and_say_so(monkeypatch):
    machine = System(processors=16, disks=4)
    large = predict(SP(16, 4), machine, GEOMETRIC, arrival_rate=0.4, model="exact")
    assert large.states == 70  # instead of 5^4
    assert large.method == "approximate"
    assert "picked at random" in large.reduction
    # whether the first or any of equal disk partitions is taken matters little, but it does
    work = workload([(2.0, 0.5)])
    rate = 0.7 * capacity(SP(4, 2), machine, work)
    ordered = predict(SP(4, 2), machine, work, arrival_rate=rate, model="exact")
    assert ordered.method == "exact"
    for kept in (build._built, build._built_small):
        kept.cache_clear()  # else the queue that was built in order is taken again
    with monkeypatch.context() as patched:
        patched.setattr(exact, "MOST_ORDERED", 0)
        lumped = predict(SP(4, 2), machine, work, arrival_rate=rate, model="exact")
    for kept in (build._built, build._built_small):
        kept.cache_clear()
    assert lumped.mean_response == pytest.approx(ordered.mean_response, rel=1e-3)
    assert lumped.mean_response != ordered.mean_response


@pytest.mark.thorough
def test_what_the_chain_cannot_hold_is_refused_before_it_is_built():
    machine = System(processors=128, disks=32)
    work = workload([(1.0, 2.0)] * 8, io_bursts=HYPER)
    for policy in (SP(16, 1), SP(16, 4), DP(4), TS(8, 4, 2)):
        with pytest.raises(MemoryBudgetError, match="speed-scaled"):
            predict(policy, machine, work, arrival_rate=0.01, model="exact")
    many = workload([(1.0, 2.0)] * 1100)
    with pytest.raises(MemoryBudgetError, match="Geometric"):
        predict(SP(1, 1), machine, many, arrival_rate=1e-5, model="exact")
    with pytest.raises(MemoryBudgetError):
        predict(SP(3, 1), machine, work, arrival_rate=0.01, model="exact", memory=1e4)


def test_what_the_chain_does_not_know_is_refused_with_a_way_out():
    work = workload([(1.0, 2.0)])
    queues = System(processors=4, disks=1, disk_discipline="fcfs")
    for policy in (SP(2, 1), TS(2, 1, 2)):
        with pytest.raises(ModelError, match=r"processor sharing.*simulate"):
            predict(policy, queues, work, arrival_rate=0.01, model="exact")
    skips = workload([(1.0, 2.0), (0.0, 1.0)])
    with pytest.raises(ModelError, match="cpu_discipline"):
        predict(TS(1, 1, 2), System(4, 1), skips, arrival_rate=0.01, model="exact")
    with pytest.raises(UnstableError, match="stable only below"):
        predict(SP(2, 1), System(4, 1), work, arrival_rate=5.0, model="exact")


@pytest.mark.parametrize("odd", [None, 3, "x", np.nan, [ONE], PhaseType([0.9], [[-1.0]])])
def test_laws_of_bursts_that_are_none_are_refused(odd):
    program = Program([Phase(io=1.0, cpu=2.0)])
    if odd is not None:
        with pytest.raises(ModelError, match="io_bursts"):
            Workload(program, io_bursts=odd)
        with pytest.raises(ModelError, match="cpu_bursts"):
            Workload(program, cpu_bursts=odd)
    with pytest.raises(ModelError, match="not both"):
        Workload(program, HYPER, io_bursts=ONE)


@pytest.mark.thorough
def test_a_chain_that_takes_disk_partitions_at_their_mean_size_is_not_called_exact():
    """Three disks in two partitions: two and one in the simulator, one and a half each here."""
    found = predict(SP(2, 2), System(4, 3), GEOMETRIC, arrival_rate=0.01, model="exact")
    assert found.method == "approximate"
    assert found.reduction == "disk partitions taken at their mean size"
    even = predict(SP(2, 2), System(4, 4), GEOMETRIC, arrival_rate=0.01, model="exact")
    assert (even.method, even.reduction) == ("exact", "")
    both = predict(SP(16, 4), System(16, 6), GEOMETRIC, arrival_rate=0.01, model="exact")
    assert both.method == "approximate"
    assert both.reduction == (
        "among disk partitions with equally many jobs one is picked at random; "
        "disk partitions taken at their mean size"
    )


def test_a_burst_in_stages_keeps_its_turn_at_the_processor():
    """Two jobs, bursts of two stages in order of arrival: five states, written out.

    Jobs at the processor and the stage of the one that computes: 0, 1:1, 1:2, 2:1, 2:2. One that went to
    the end of the queue between its stages would let the other overtake it.
    """
    rates = np.zeros((5, 5))
    for here, there, rate in (
        (0, 1, 1.0),
        (1, 2, 2.0),
        (1, 3, 1.0),
        (2, 0, 2.0),
        (2, 4, 1.0),
        (3, 4, 2.0),
        (4, 1, 2.0),
    ):
        rates[here, there] = rate
        rates[here, here] -= rate
    balance = np.vstack([rates.T, np.ones(5)])
    chances = np.linalg.lstsq(balance, [0.0] * 5 + [1.0])[0]
    work = workload([(1.0, 1.0)], cpu_bursts=PhaseType.erlang(phases=2, mean=1.0))
    found = capacity(TS(1, 1, 2), System(1, 1), work, model="exact")
    assert found == pytest.approx(1.0 - chances[0], rel=1e-12)


def test_the_table_of_a_prediction_has_a_value_in_every_line():
    text = predict(SP(2, 2), System(2, 2), workload([(1.0, 1.0)]), load=0.2).table()
    assert all(len(line.split()) > 1 for line in text.splitlines())


@pytest.mark.parametrize(("number", "rounded"), [(58_921.0, 58_000), (109.9, 100), (7.6, 7)])
def test_how_many_states_would_do_is_said_in_two_digits(number, rounded):
    assert _rounded(number) == rounded
