"""Laws of the response: closed forms, a chain with nothing summed up, and the truncation bound."""

import re
from itertools import combinations_with_replacement
from math import exp, log

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.sparse import csr_array

from phasefit import PhaseType, match_moments
from qmodels.errors import MemoryBudgetError, ModelError, UnstableError
from qmodels.networks.many_server import ManyServerQueue
from qmodels.networks.response import response_law as followed_law
from qmodels.networks.sojourn import SojournLaw
from qmodels.policies import (
    DynamicPartitioning,
    SpaceSharing,
    System,
    TimeSharing,
    Workload,
    capacity,
    predict,
)
from qmodels.policies.models.response import TimeLaw, _held_up, response_of
from qmodels.programs import Geometric, Phase, Program
from tests.laws import EXPONENTIAL, REFERENCE_MACHINE

SP, DP, TS = SpaceSharing, DynamicPartitioning, TimeSharing
MACHINE = REFERENCE_MACHINE
ERLANG = PhaseType.erlang(phases=2, mean=1.0)
HYPER = match_moments(1.0, 3.0)


def response_law(policy, system, work, **options):
    return predict(policy, system, work, **options).response


def wait_law(policy, system, work, **options):
    return predict(policy, system, work, **options).wait


def queue(arrivals, service, speeds, rho):
    rate = rho * len(speeds) * speeds[-1] / service.mean
    return ManyServerQueue(arrivals.scale(1.0 / rate), service, speeds=speeds).solve()


# Closed forms


@pytest.mark.parametrize(("c", "rho"), [(1, 0.5), (3, 0.7), (16, 0.9)])
def test_the_response_of_the_m_m_c_queue_is_its_closed_form(c, rho):
    found = queue(EXPONENTIAL, EXPONENTIAL, [1.0] * c, rho)
    law, bound = followed_law(found)
    offered, waits = c * rho, found.wait_probability
    for t in (0.1, 1.0, 4.0, 12.0):
        more = c - 1.0 - offered
        expected = exp(-t) * (1.0 + waits * (1.0 - exp(-more * t)) / more)
        assert law.sf(t) == pytest.approx(expected, rel=1e-11)
    assert bound == 0.0


@pytest.mark.parametrize("service", [ERLANG, HYPER], ids=str)
@pytest.mark.parametrize("rho", [0.2, 0.9])
def test_the_response_of_the_m_ph_1_queue_has_the_moments_of_takacs(service, rho):
    law, _ = followed_law(queue(EXPONENTIAL, service, [1.0], rho))
    wait = rho * service.moment(2) / (2.0 * (1.0 - rho))
    wait2 = 2.0 * wait**2 + rho * service.moment(3) / (3.0 * (1.0 - rho))
    assert law.mean == pytest.approx(wait + 1.0, rel=1e-12)
    assert law.moment(2) == pytest.approx(wait2 + 2.0 * wait + service.moment(2), rel=1e-12)


@pytest.mark.parametrize("rho", [0.3, 0.5])
def test_equal_shares_of_one_server_give_the_variance_of_processor_sharing(rho):
    """Coffman, Muntz and Trotter 1970; with c = 60 nobody waits, to 1e-18."""
    found = queue(EXPONENTIAL, EXPONENTIAL, [1.0 / k for k in range(1, 61)], rho)
    law, _ = followed_law(found, truncation=1e-14)
    mean = 1.0 / (1.0 - rho)
    assert law.mean == pytest.approx(mean, rel=1e-12)
    assert law.var == pytest.approx(mean**2 * (2.0 + rho) / (2.0 - rho), rel=1e-11)


# A chain with nothing summed up


def every_state(found, t, ahead_most, behind_most):
    """P(response > t) from all (ahead, behind, arrival stage, stages of each running job)."""
    arrivals, service, v = found.queue.arrivals, found.queue.service, found.queue._speeds
    c, m = v.size, service.order
    index, rows = {}, []

    def state(*key):
        return index.setdefault(key, len(index))

    start = {}
    for n in range(c + ahead_most):
        level = found.chain.level(n).reshape(arrivals.order, -1)
        share = arrivals.exit @ level / found.queue.arrival_rate
        here = found.queue._centre.slice(min(n, c))
        from qmodels.networks.occupancy import Occupancies

        counts = Occupancies.of(c, m).counts[here]
        for stages, p in zip(counts, share, strict=True):
            others = tuple(s for s in range(m) for _ in range(stages[s]))
            for a in range(arrivals.order):
                q = p * arrivals.alpha[a]
                if n >= c:
                    key = ("wait", n - c, 0, a, others)
                    start[key] = start.get(key, 0.0) + q
                else:
                    for s in range(m):
                        key = ("run", 0, 0, a, others, s)
                        start[key] = start.get(key, 0.0) + q * service.alpha[s]
    todo = [key for key in start if not state(*key) < 0]
    seen = set(todo)

    def go(source, rate, target):
        if rate <= 0.0:
            return
        if target is not None and target not in seen:
            seen.add(target)
            todo.append(target)
        rows.append((source, rate, target))

    while todo:
        key = todo.pop()
        kind, ahead, behind, a, others = key[:5]
        tagged = key[5] if kind == "run" else None
        speed = v[len(others) + (kind == "run") - 1] if others or kind == "run" else 0.0

        def put(ahead, behind, a, others, tagged, source=key):
            name = ("wait" if tagged is None else "run", ahead, behind, a, tuple(sorted(others)))
            return name if tagged is None else (*name, tagged)

        for b in range(arrivals.order):
            go(key, arrivals.jumps[a, b], put(ahead, behind, b, others, tagged))
            rate = arrivals.exit[a] * arrivals.alpha[b]
            if kind == "run" and len(others) < c - 1:
                for s in range(m):
                    more = (*others, s)
                    go(key, rate * service.alpha[s], put(ahead, behind, b, more, tagged))
            else:
                go(key, rate, put(ahead, min(behind + 1, behind_most), b, others, tagged))
        if kind == "run":
            for s in range(m):
                go(key, speed * service.jumps[tagged, s], put(ahead, behind, a, others, s))
            go(key, speed * service.exit[tagged], None)
        for i, stage in enumerate(others):
            rest = others[:i] + others[i + 1 :]
            for s in range(m):
                moved = (*rest, s)
                go(key, speed * service.jumps[stage, s], put(ahead, behind, a, moved, tagged))
            done = speed * service.exit[stage]
            if kind == "wait" and ahead == 0:
                for s in range(m):
                    go(key, done * service.alpha[s], put(0, behind, a, rest, s))
            elif kind == "wait":
                for s in range(m):
                    more = (*rest, s)
                    go(key, done * service.alpha[s], put(ahead - 1, behind, a, more, None))
            elif behind:
                for s in range(m):
                    more = (*rest, s)
                    go(key, done * service.alpha[s], put(0, behind - 1, a, more, tagged))
            else:
                go(key, done, put(0, 0, a, rest, tagged))
    for key in seen:
        state(*key)
    matrix = np.zeros((len(index), len(index)))
    for source, rate, target in rows:
        i = state(*source)
        matrix[i, i] -= rate
        if target is not None:
            matrix[i, state(*target)] += rate
    begin = np.zeros(len(index))
    for key, p in start.items():
        begin[state(*key)] += p
    return float((begin @ expm(matrix * t)).sum())


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize(
    ("arrivals", "service", "speeds"),
    [
        (EXPONENTIAL, EXPONENTIAL, [1.0, 0.8]),
        (EXPONENTIAL, HYPER, [1.0, 0.6]),
        (ERLANG, EXPONENTIAL, [1.0, 0.9, 0.5]),
        (HYPER, EXPONENTIAL, [0.5, 1.0]),
    ],
)
def test_the_response_is_that_of_the_chain_with_nothing_summed_up(arrivals, service, speeds):
    found = queue(arrivals, service, speeds, 0.2)
    law, bound = followed_law(found)
    for t in (0.5, 2.0, 6.0):
        assert law.sf(t) == pytest.approx(every_state(found, t, 14, 14), abs=1e-8, rel=1e-7)
    assert 0.0 < bound <= 1e-12


# The law and what else is known


POLICIES = [SP(1, 1), SP(4, 16), SP(4, 1), SP(16, 4), DP(4), TS(2, 2, 2), TS(4, 1, 2), TS(16, 4, 2)]


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.label)
@pytest.mark.parametrize("fraction", [0.3, 0.9])
def test_the_means_of_the_laws_are_those_predicted(reference, policy, fraction):
    rate = fraction * capacity(policy, MACHINE, reference)
    expected = predict(policy, MACHINE, reference, arrival_rate=rate)
    law = response_law(policy, MACHINE, reference, arrival_rate=rate)
    wait = wait_law(policy, MACHINE, reference, arrival_rate=rate)
    assert law.mean == pytest.approx(expected.mean_response, rel=1e-9)
    # at light load a wait is rarer than one in 10^9, and Little's law knows it no better
    assert wait.mean == pytest.approx(expected.mean_wait, rel=1e-9, abs=1e-12)
    assert law.method == wait.method == expected.method
    assert wait.truncation == 0.0
    # of jobs in turns, which are played, ten take longer than the largest that is told
    assert law.truncation <= (1e-10 if not isinstance(policy, TS) else 2e-6)


@pytest.mark.parametrize("arrival_scv", [0.5, 4.0])
def test_the_mean_holds_for_arrivals_in_bursts_as_well(reference, arrival_scv):
    work = Workload.from_scv(reference.program, demand_scv=4.0, arrival_scv=arrival_scv)
    rate = 0.8 * capacity(SP(8, 2), MACHINE, work)
    law = response_law(SP(8, 2), MACHINE, work, arrival_rate=rate)
    expected = predict(SP(8, 2), MACHINE, work, arrival_rate=rate).mean_response
    assert law.mean == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("truncation", [1e-2, 1e-4, 1e-6])
def test_what_the_cut_changes_is_within_its_bound_and_not_nothing(truncation):
    found = queue(EXPONENTIAL, HYPER, [1.0 / (1.0 + 0.2 * k) for k in range(12)], 0.5)
    fine, _ = followed_law(found, truncation=1e-13)
    coarse, bound = followed_law(found, truncation=truncation)
    times = np.linspace(0.5, 40.0, 40)
    change = np.abs(fine.sf(times) - coarse.sf(times)).max()
    # eleven others must finish all that wait while the job runs, so few notice
    assert 1e-5 * bound < change <= bound <= truncation
    assert coarse.mean < fine.mean
    assert coarse.order < fine.order


@pytest.mark.parametrize("policy", [SP(4, 1), SP(2, 8), DP(2)], ids=str)
def test_percentiles_are_the_inverse_of_the_law_and_rise(reference, policy):
    rate = 0.7 * capacity(policy, MACHINE, reference)
    law = response_law(policy, MACHINE, reference, arrival_rate=rate)
    times = law.percentile([0.0, 0.1, 0.5, 0.95, 0.99])
    assert times[0] == 0.0
    assert np.all(np.diff(times) > 0.0)
    assert law.cdf(times[1:]) == pytest.approx([0.1, 0.5, 0.95, 0.99], rel=1e-9)
    assert law.ppf(0.95) == law.percentile(0.95) == times[3]


def test_a_change_of_the_unit_of_time_changes_every_time_by_it():
    found = queue(EXPONENTIAL, HYPER, [1.0, 0.6], 0.7)
    slower = queue(EXPONENTIAL, HYPER.scale(60.0), [1.0, 0.6], 0.7)
    once, sixty = followed_law(found)[0], followed_law(slower)[0]
    assert sixty.ppf(0.9) == pytest.approx(60.0 * once.ppf(0.9), rel=1e-10)


def test_more_load_never_makes_a_percentile_smaller(reference):
    most = capacity(SP(4, 1), MACHINE, reference)
    times = [
        response_law(SP(4, 1), MACHINE, reference, arrival_rate=f * most).percentile(0.95)
        for f in (0.01, 0.3, 0.6, 0.9, 0.97)
    ]
    assert times == sorted(times)


def test_exponential_jobs_on_one_partition_have_an_exponential_response():
    work = Workload(Program([Phase(io=16.0, cpu=1024.0)]))
    law = response_law(SP(1, 1), System(16, 16), work, load=0.5)
    mean = 65.0 / (1.0 - 65.0 / 128.0)
    for q in (0.5, 0.95, 0.999):
        assert law.percentile(q) == pytest.approx(-mean * log(1.0 - q), rel=1e-10)
    assert law.method == "exact"
    assert law.truncation == 0.0


# What is refused


def test_a_percentile_is_a_share_and_not_a_number_of_percent(reference):
    law = wait_law(SP(1, 1), MACHINE, reference, load=0.1)
    for q in (95, -0.1, np.nan, None, "half", 1.0):
        with pytest.raises(ModelError):
            law.percentile(q)
    with pytest.raises(ModelError, match=r"95th percentile is q = 0\.95"):
        law.percentile(95)


def test_a_percentile_beyond_the_cut_is_refused(reference):
    law = response_of(predict(SP(4, 1), MACHINE, reference, load=0.1).solved, truncation=1e-4)
    assert law.percentile(0.98) > law.percentile(0.95)
    with pytest.raises(ModelError, match="cut of the queue"):
        law.percentile(0.9999)


def test_an_overload_is_refused_with_the_largest_load(reference):
    with pytest.raises(UnstableError, match="stable only below"):
        response_law(SP(16, 1), MACHINE, reference, load=0.9)


@pytest.mark.parametrize("truncation", [0.0, -1e-9, 0.1, 1.0, np.nan, None, "small", True])
def test_a_truncation_that_is_none_is_refused(truncation):
    with pytest.raises(ModelError, match="truncation"):
        followed_law(queue(EXPONENTIAL, HYPER, [1.0, 0.6], 0.7), truncation=truncation)


def test_a_chain_too_large_is_refused_before_it_is_built(reference):
    rate = (1.0 - 1e-6) * capacity(SP(4, 1), MACHINE, reference)
    with pytest.raises(MemoryBudgetError, match="larger truncation"):
        response_of(predict(SP(4, 1), MACHINE, reference, arrival_rate=rate).solved, memory=1e9)


def test_a_job_that_would_be_followed_among_too_many_states_is_told_how_many():
    """All ways in which others may be in the stages, listed one by one."""
    work = Workload(Program([Phase(io=1.0, cpu=6.0)], phase_count=Geometric(3.0)), io_bursts=EXPONENTIAL)
    solved = predict(SP(3, 1), System(processors=12, disks=3, min_processors=2), work, load=0.3).solved
    with pytest.raises(MemoryBudgetError) as refused:
        response_of(solved, memory=1e4)
    places, c, m, states = (int(number) for number in re.findall(r"\d+", str(refused.value))[:4])
    assert c == 3
    one, two, three = (len(list(combinations_with_replacement(range(m), k))) for k in (1, 2, 3))
    served = m * (1 + one + two * (1 + places))  # beside none, one, or two others with some behind
    assert states == served + (1 + places) * three


@pytest.mark.parametrize("below", [1e-6, 1e-9, 1e-12, 2.3e-16])
def test_next_to_its_capacity_a_policy_is_refused_and_not_searched_without_end(reference, below):
    rate = (1.0 - below) * capacity(SP(2, 1), MACHINE, reference)
    with pytest.raises((MemoryBudgetError, UnstableError)):
        response_of(predict(SP(2, 1), MACHINE, reference, arrival_rate=rate).solved, memory=5e7)


@pytest.mark.thorough
def test_near_its_capacity_a_policy_has_a_law(reference):
    rate = 0.99 * capacity(SP(2, 1), MACHINE, reference)
    found = predict(SP(2, 1), MACHINE, reference, arrival_rate=rate)
    assert found.response.mean == pytest.approx(found.mean_response, rel=1e-9)
    assert 0.0 < found.percentile(0.5) < found.percentile(0.95) < np.inf


@pytest.mark.parametrize("model", ["exact", "speed-scaled"])
@pytest.mark.parametrize("policy", [SP(2, 1), SP(2, 2), DP(1)], ids=str)
def test_the_wait_has_the_mean_of_every_model(policy, model):
    program = Program([Phase(io=1.0, cpu=6.0)], phase_count=Geometric(3.0))
    work = Workload(program, io_bursts=EXPONENTIAL)
    machine = System(processors=6, disks=2, min_processors=2)
    found = predict(policy, machine, work, load=0.3, model=model)
    assert found.wait.mean == pytest.approx(found.mean_wait, rel=1e-9)


def test_a_model_that_follows_no_single_job_offers_the_simulator():
    program = Program([Phase(io=1.0, cpu=6.0)], phase_count=Geometric(3.0))
    work = Workload(program, io_bursts=EXPONENTIAL)
    machine = System(processors=6, disks=2, min_processors=2)
    found = predict(SP(2, 1), machine, work, load=0.3, model="decomposition")
    with pytest.raises(ModelError, match=r"validation\.simulate"):
        found.percentile(0.95)


@pytest.mark.parametrize(
    "law",
    [
        PhaseType.exponential(mean=1.0),
        SojournLaw(np.ones(1), csr_array((1, 1)), np.ones(1)),
    ],
    ids=["phase-type", "sojourn"],
)
def test_a_part_of_the_jobs_may_be_held_up(law):
    """One job in five stands still for another four seconds in the mean."""
    found = _held_up(TimeLaw(law, "approximate", 0.0), (0.2, 4.0))
    t = np.array([0.5, 3.0, 20.0])
    both = (4.0 * np.exp(-t / 4.0) - np.exp(-t)) / 3.0
    assert found.sf(t) == pytest.approx(0.8 * np.exp(-t) + 0.2 * both, rel=1e-12)
    assert found.mean == pytest.approx(1.8, rel=1e-12)
    assert found.method == "approximate"
