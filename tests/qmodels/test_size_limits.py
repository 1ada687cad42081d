"""Laws of high order and many jobs: solved within seconds, or refused with a size that does."""

import re
import time

import numpy as np
import pytest

from phasefit import PhaseType, fit
from qmodels.errors import MemoryBudgetError, ModelError
from qmodels.memory import MOST_SECONDS
from qmodels.networks import ClosedNetwork, JobClass, MultiClassNetwork
from qmodels.networks.many_server import ManyServerQueue
from qmodels.networks.occupancy import Occupancies
from qmodels.networks.sizes import (
    _RATE,
    _STATE,
    most_that,
    occupancy_counts,
    queue_seconds,
    tagged_size,
)
from qmodels.policies import (
    DynamicPartitioning,
    SpaceSharing,
    System,
    TimeSharing,
    Workload,
    predict,
)
from qmodels.policies.models.crowding import Disks
from qmodels.policies.models.disk_counts import _ways
from qmodels.policies.models.job_stages import Route, job_stages
from qmodels.policies.models.time_sharing_loads import Machine
from qmodels.programs import Burst, Phase, Program
from tests.laws import EXPONENTIAL
from tests.little_work import little_work

SP, DP, TS = SpaceSharing, DynamicPartitioning, TimeSharing
ONE = Program([Phase(io=Burst(1.0), cpu=Burst(9.0))])
TWO = Program([Phase(io=Burst(1.0), cpu=Burst(9.0)), Phase(io=Burst(2.0), cpu=Burst(3.0))])
MACHINE = System(processors=128, disks=16)


def erlang(phases, mean=1.0):
    return PhaseType.erlang(phases=phases, mean=mean)


def varied(phases, mean=1.0):
    """As many exponentials of different means, from a tenth to ten of the same."""
    law = PhaseType.hyperexponential(
        weights=np.full(phases, 1.0 / phases), means=np.geomspace(0.1, 10.0, phases)
    )
    return law.scale(mean / law.mean)


def queue(arrivals, service, servers):
    return ManyServerQueue(
        arrivals.scale(1.0 / arrivals.mean), service.scale(0.7 * servers / service.mean), servers
    )


def predicted(policy, processors=128, disks=16, model="auto", **laws):
    return predict(
        policy,
        System(processors=processors, disks=disks),
        Workload(ONE, **laws),
        model=model,
        arrival_rate=1e-4,
    )


REFUSED = {
    "PH60/PH60/1": (lambda: queue(erlang(60), erlang(60), 1).solve(), "service law.* at most 38"),
    "PH60/PH60/4": (lambda: queue(erlang(60), erlang(60), 4).solve(), "service law.* at most 4"),
    "M/PH100/2": (lambda: queue(EXPONENTIAL, erlang(100), 2).solve(), "at most 6[0-9], or fewer"),
    "10^9 servers": (lambda: queue(EXPONENTIAL, EXPONENTIAL, 10**9), "than the 100,000"),
    "DP of 3,000 servers and order 2": (
        lambda: predicted(DP(1), 3000, 4, demand=varied(2)),
        "at most 1, or fewer .* at most",
    ),
    "arrivals of order 60": (
        lambda: predicted(DP(1), 128, 16, demand=varied(2), arrivals=varied(60, 1e4)),
        "at most 1, or fewer .* at most",
    ),
    "bursts of order 90, exact": (
        lambda: predicted(SP(2, 1), model="exact", io_bursts=erlang(90), cpu_bursts=varied(90)),
        "states would do",
    ),
    "three classes of 10^4 jobs": (
        lambda: MultiClassNetwork(
            [JobClass(10**4, EXPONENTIAL, EXPONENTIAL, str(i)) for i in range(3)]
        ).solve(),
        "take some [0-9,]+ jobs",
    ),
    "mean values of 10^9 vectors": (
        lambda: MultiClassNetwork([JobClass(999, EXPONENTIAL, EXPONENTIAL, str(i)) for i in range(3)]).solve(
            "mva"
        ),
        "use convolution",
    ),
}
SOLVED = {
    "PH30/PH30/1": lambda: queue(erlang(30), erlang(30), 1).solve().mean_response,
    "M/PH1000/1": lambda: queue(EXPONENTIAL, varied(1000), 1).solve().mean_response,
    "M/PH40/2": lambda: queue(EXPONENTIAL, erlang(40), 2).solve().mean_response,
    "M/M/50000": lambda: queue(EXPONENTIAL, EXPONENTIAL, 50_000).solve().mean_response,
    "bursts of order 30": lambda: (
        predicted(SP(16, 4), io_bursts=erlang(30), cpu_bursts=varied(30)).mean_response
    ),
    "bursts of order 30, decomposed": lambda: (
        predicted(SP(16, 4), model="decomposition", io_bursts=erlang(30), cpu_bursts=varied(30)).mean_response
    ),
    "512 jobs that take turns": lambda: predicted(TS(128, 16, 4), demand=erlang(10)).mean_response,
    "more phases than floats can count": lambda: predicted(DP(1), 3000, 4, demand=erlang(400)).mean_response,
    "DP of 500 servers and order 10": lambda: predicted(DP(1), 500, 4, demand=erlang(10)).mean_response,
    "DP of 430 servers and order 2": lambda: predicted(DP(1), 430, 4, demand=varied(2)).mean_response,
}


@pytest.mark.thorough(first=1, but=["DP of 3,000 servers and order 2"])
@pytest.mark.parametrize("case", list(REFUSED))
def test_what_takes_long_is_refused_at_once_with_a_size_that_would_do(case):
    work, says = REFUSED[case]
    with little_work(calls=2_000_000), pytest.raises(MemoryBudgetError, match=says):
        work()


@pytest.mark.slow
@pytest.mark.parametrize("case", list(SOLVED))
def test_what_is_begun_ends_within_some_seconds(case):
    began = time.process_time()
    assert SOLVED[case]() > 0.0
    assert time.process_time() - began < MOST_SECONDS


@pytest.mark.parametrize(("order", "servers"), [(60, 2), (7, 12), (200, 1)])
def test_the_sizes_that_are_named_are_the_largest_that_are_begun(order, servers):
    asked = queue(EXPONENTIAL, erlang(order), servers)
    try:
        asked.chain()
    except MemoryBudgetError as error:
        named = {
            what: int(number.replace(",", ""))
            for what, number in re.findall(r"(lower order|partitions), at most ([0-9,]+)", str(error))
        }
        assert set(named) == {"lower order", "partitions"}
        for more, fits in ((0, True), (1, False)):
            sizes = [
                occupancy_counts(servers, named["lower order"] + more),
                occupancy_counts(named["partitions"] + more, order),
            ]
            assert [queue_seconds(each) <= MOST_SECONDS for each in sizes] == [fits, fits]
    else:
        assert queue_seconds(asked._sizes) <= MOST_SECONDS


@pytest.mark.thorough
def test_whoever_gives_memory_is_not_held_up():
    asked = queue(EXPONENTIAL, erlang(80), 2)
    with pytest.raises(MemoryBudgetError, match="give memory"):
        asked.chain()
    assert len(asked.chain(memory=1e10).local) == 3


def test_the_largest_that_fits_is_found():
    for most in (0, 1, 2, 7, 100):
        for last in range(most + 2):
            assert most_that(lambda n, last=last: n <= last, most) == min(last, most)


def test_ways_to_place_jobs_are_those_counted_one_by_one():
    for slots, order, most in (((2, 3), 2, 6), ((1,), 3, 2), ((0, 4), 1, 4)):
        by_hand = [0] * (most + 1)
        for jobs in np.ndindex(*(room + 1 for room in slots)):
            if sum(jobs) <= most:
                ways = [int(occupancy_counts(k, order)[k]) for k in jobs]
                by_hand[sum(jobs)] += int(np.prod(ways))
        assert _ways(slots, order, most) == by_hand


def test_the_occupancies_of_a_law_of_high_order_are_enumerated_in_time():
    """A table of all binomials up to order 1,000 would be half a million numbers of its own."""
    with little_work():
        ways = Occupancies.of(1, 1000)
    assert ways.starts.tolist() == [0, 1, 1001]
    assert (ways.counts[1:].sum(axis=1) == 1).all()


def sample(size=20_000):
    return np.random.default_rng(1).lognormal(size=size)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"order": 30}, "order 2[4-9] would do"),
        ({"max_order": 30}, "max_order (1[5-9]|2[0-9]) would do"),
        ({"order": 30, "family": "general"}, r"order [5-9] would do"),
        ({"order": 100, "family": "coxian"}, r"order [5-9] would do"),
        ({"order": 30, "hold_moments": 2}, r"order 1[0-2] would do"),
        ({"order": 2, "bootstrap": 10**9}, r"bootstrap [0-9,]+ would do"),
        ({"order": 20, "bootstrap": 20}, r"order [0-9]+ or bootstrap [0-9]+ would do"),
    ],
)
def test_a_fit_that_takes_long_is_refused_at_once_with_the_order_that_would_do(options, says):
    data = sample()
    with little_work(), pytest.raises(ModelError, match=says):
        fit(data, seconds=5.0, rng=1, **options)


@pytest.mark.thorough
def test_orders_that_nobody_asked_for_are_left_out_and_it_is_said():
    report = fit(sample(300), family="coxian", seconds=1.0, rng=1)
    assert 1 <= report.distribution.order < 8
    assert any("were tried: higher ones would take more" in said for said in report.warnings)
    assert not any("were tried" in said for said in fit(sample(300), seconds=9.0).warnings)


def test_a_limit_that_is_not_met_changes_nothing():
    free, limited = (fit(sample(300), seconds=given, rng=1) for given in (None, 5.0))
    assert free.table() == limited.table()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "options"),
    [("hyper-erlang", {}), ("hyper-erlang", {"hold_moments": 2}), ("general", {}), ("coxian", {})],
)
def test_the_order_that_is_said_to_do_does(family, options):
    data = sample()
    with pytest.raises(ModelError) as raised:
        fit(data, family=family, order=30, seconds=5.0, **options)
    order = int(re.search(r"order (\d+) would do", str(raised.value))[1])
    began = time.process_time()
    fit(data, family=family, order=order, seconds=5.0, rng=1, **options)
    assert time.process_time() - began < 1.5 * MOST_SECONDS  # an estimate, of a shared machine


def test_six_thousand_ways_to_lie_are_still_followed():
    """55 jobs on 3 disk partitions for three of them and 23 for two: (6 over 3) (25 over 2) ways."""
    at = SP(55, 26).arrangement(System(55, 26))
    assert not Disks(at, Workload(ONE)).even
    machine = Machine(at, 1.0, 1.0, phases=1.0, scv=1.0, persistent=False, sharing="ps")
    assert machine.rooms.count() == 6000
    assert machine.level_of_detail == 0


def test_one_stage_more_than_the_limit_is_refused():
    def stages(count):
        follows = np.arange(1, count + 1) % count
        times, go_on = np.ones(count), np.append(np.ones(count - 1), 0.0)
        return Route(1.0, times, 0.0 * times, go_on, follows)

    assert job_stages([stages(2000)], EXPONENTIAL, EXPONENTIAL).order == 2000
    with pytest.raises(MemoryBudgetError, match="a job of 2001 stages"):
        job_stages([stages(2001)], EXPONENTIAL, EXPONENTIAL)


def test_the_first_population_whose_levels_fill_20_gb_is_refused_before_their_states_are_counted():
    """Levels of 0 to n jobs, n + 1 of them, of 100 stages and 150 bytes each."""
    jobs, law = 1_333_333, erlang(100)
    assert 150 * jobs * 100 < 20e9 < 150 * (jobs + 1) * 100
    with pytest.raises(MemoryBudgetError, match=f"a chain of {jobs} levels would take 20 GB"):
        ClosedNetwork(jobs, delay=law, disk=law, discipline="fcfs").solve()


@pytest.mark.parametrize("discipline", ["ps", "siro"])
@pytest.mark.parametrize(("delay", "disk"), [(1, 4), (4, 1), (2, 3), (3, 2)])
def test_the_bytes_of_a_tagged_job_are_those_of_its_rates_to_a_factor_of_three(delay, disk, discipline):
    network = ClosedNetwork(5, varied(delay), varied(disk), discipline)
    states, needed = tagged_size(network.disk, network.delay, 5, discipline, 1)
    chain = network.solve("chain").sojourn
    assert chain.order == pytest.approx(states, rel=0.0 if discipline == "ps" else 1.0)
    assert 0.8 < (needed - _STATE * states) / (_RATE * chain.rates.nnz) < 3.0


def test_a_chain_of_places_is_too_large_by_its_fullest_level_already():
    """Four jobs of five stages on one large and three small partitions, 5 * 5 * 15 states, of 250."""
    work = Workload(ONE, demand=erlang(5))
    assert predict(SP(4, 2), System(5, 2), work, arrival_rate=1e-4).model == "crowded-speeds"


def test_bursts_are_summed_up_where_the_fullest_level_alone_is_too_large():
    """Three jobs of 16 stages: 18 over 3 states of 800, though all levels have but 969 of 30,000."""
    work = Workload(ONE, io_bursts=erlang(15), cpu_bursts=EXPONENTIAL)
    found = predict(SP(3, 1), System(3, 1), work, arrival_rate=1e-4, model="crowding")
    assert "merged into one exponential burst" in found.reduction
