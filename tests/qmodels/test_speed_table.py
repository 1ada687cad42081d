"""`predict(running=...)`: speeds from anywhere in the queue of a policy, with their intervals."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest

from phasefit import PhaseType, match_moments
from qmodels import Phase, Program, SpaceSharing, System, TimeSharing, Workload, predict
from qmodels.errors import ModelError, UnstableError
from qmodels.policies import DynamicPartitioning, SpeedTable, capacity
from qmodels.policies.base import running_jobs
from qmodels.policies.models.given_speeds import level_factors

MACHINE = System(processors=16, disks=16, min_processors=4)
WORK = Workload(Program([Phase(io=16.0, cpu=64.0)]))


@pytest.mark.parametrize(
    "policy", [SpaceSharing(4, 1), SpaceSharing(4, 4), DynamicPartitioning(1), TimeSharing(2, 1)]
)
def test_the_policys_own_speeds_give_its_own_answer(policy):
    followed = isinstance(policy, DynamicPartitioning)  # by their bursts, at no speed of all jobs
    usual = predict(policy, MACHINE, WORK, load=0.3, model="speed-scaled" if followed else "auto")
    speeds = usual.solved.queue.running.at_one_speed[1]
    own = speeds * np.arange(1, speeds.size + 1)
    if not isinstance(policy, TimeSharing):
        assert own == pytest.approx(running_jobs(policy, MACHINE, WORK).throughput, rel=1e-12)
    given = predict(policy, MACHINE, WORK, load=0.3, running=own)
    assert given.mean_response == pytest.approx(usual.mean_response, rel=1e-12)
    assert given.processor_utilisation == pytest.approx(usual.processor_utilisation, rel=1e-12)
    assert given.disk_utilisation == pytest.approx(usual.disk_utilisation, rel=1e-12)


BURSTS = Workload(WORK.program, io_bursts=PhaseType.exponential(mean=1.0))
VARIABLE = Workload(WORK.program, demand=match_moments(1.0, 5.0))


@pytest.mark.parametrize(
    ("policy", "work"),
    [
        (SpaceSharing(4, 1), WORK),
        (SpaceSharing(4, 1), BURSTS),
        (DynamicPartitioning(1), BURSTS),
        (TimeSharing(2, 1), WORK),
        (TimeSharing(2, 1), VARIABLE),
        (TimeSharing(2, 1, cpu_discipline="ps"), VARIABLE),
    ],
)
def test_a_machine_of_half_the_speed_takes_twice_the_time(policy, work):
    """Whatever model "auto" takes without a table: it must not go on with speeds of its own."""
    own = running_jobs(policy, MACHINE, work).throughput
    one = predict(policy, MACHINE, work, arrival_rate=0.5 * own[-1], running=own)
    half = predict(policy, MACHINE, work, arrival_rate=0.25 * own[-1], running=0.5 * own)
    assert half.mean_response == pytest.approx(2.0 * one.mean_response, rel=1e-5)
    assert half.capacity == pytest.approx(0.5 * one.capacity, rel=1e-5)
    # next to all of the table's capacity; jobs of two classes are mixed otherwise in a full queue
    assert one.capacity == pytest.approx(own[-1], rel=0.05 if work is VARIABLE else 1e-9)


def test_speeds_of_a_loss_system_of_long_and_short_jobs_give_the_answer_back():
    """Factors of one: the table is what the chain of the classes itself does."""
    policy = TimeSharing(2, 1)
    usual = predict(policy, MACHINE, VARIABLE, load=0.3, model="time-sharing")
    chain = usual.solved.queue.running
    work = chain.processors_busy / (8.0 * 64.0 / 8.0)  # eight processors for 64 / 8 s
    first = chain.centre.starts
    own = np.array([work[a:b].mean() for a, b in pairwise(first[1:])])
    for _ in range(100):
        own = own / level_factors(chain.centre, work, own)[1:]
    given = predict(policy, MACHINE, VARIABLE, load=0.3, running=own)
    assert given.model == "time-sharing"
    assert given.mean_response == pytest.approx(usual.mean_response, rel=1e-4)


def test_long_and_short_jobs_answer_later_than_jobs_of_one_speed_at_the_same_table():
    """Behind a long burst short jobs wait, which no speed of k jobs tells."""
    policy, speeds = TimeSharing(2, 2), np.array([0.1, 0.19, 0.22, 0.24])
    by_class, alike = (
        predict(policy, MACHINE, VARIABLE, arrival_rate=0.17, running=speeds, model=model)
        for model in ("auto", "speed-scaled")
    )
    assert (by_class.model, alike.model) == ("time-sharing", "speed-scaled")
    assert by_class.mean_response > 1.02 * alike.mean_response


@pytest.mark.thorough
def test_uncertain_speeds_of_time_sharing_leave_an_interval():
    """Ten percent more of everything is ten percent less time at ten percent more load."""
    policy, speeds = TimeSharing(2, 2), np.array([0.1, 0.19, 0.22, 0.24])
    table = SpeedTable(speeds, np.outer(speeds, speeds) * 1e-6)
    found = predict(policy, MACHINE, VARIABLE, arrival_rate=0.12, running=table)
    ends = [
        predict(policy, MACHINE, VARIABLE, arrival_rate=0.12, running=speeds * f).mean_response
        for f in (0.999, 1.001)
    ]
    assert found.half_width == pytest.approx(1.96 * (ends[0] - ends[1]) / 2.0, rel=0.02)


@pytest.mark.parametrize("frozen", [[1.0, 1.0], [1.1, 0.9], [3.0, 2.4, 2.0]])
def test_one_server_of_several_speeds_is_m_m_1_of_each_busy_period(frozen):
    """A speed for each busy period: E[N] = sum b_e / (1 - rho_e) / (1 / lambda + sum b_e)."""
    rate, table = 0.15, SpeedTable([0.2], frozen=frozen)
    speeds = 0.2 * table.factors
    busy = 1.0 / (speeds - rate) / speeds.size  # mean busy period, times how often it is drawn
    expected = (busy / (1.0 - rate / speeds)).sum() / (1.0 / rate + busy.sum())
    found = predict(SpaceSharing(1, 1), System(1, 1), WORK, arrival_rate=rate, running=table)
    assert found.mean_jobs == pytest.approx(expected, rel=1e-6)
    assert found.capacity == pytest.approx(speeds.min(), rel=1e-12)


def mean_jobs(rate, speeds):
    """M/M/1 with a speed for each busy period."""
    busy = 1.0 / (speeds - rate) / speeds.size
    return (busy / (1.0 - rate / speeds)).sum() / (1.0 / rate + busy.sum())


@pytest.mark.thorough
def test_the_interval_says_what_other_arrangements_would_have_said():
    """The jackknife by hand; and draws of three speeds cover what all of them make, mostly."""
    speeds, rate = np.array([0.2, 0.2, 0.25, 0.4]), 0.12
    ask = partial(predict, SpaceSharing(1, 1), System(1, 1), WORK, arrival_rate=rate)

    def table(frozen):
        return SpeedTable([1.0 / np.mean(1.0 / frozen)], [[0.0]], frozen=frozen)

    found = ask(running=table(speeds))
    assert found.mean_jobs == pytest.approx(mean_jobs(rate, speeds), rel=1e-6)
    without = np.array([mean_jobs(rate, np.delete(speeds, i)) for i in range(4)]) / rate
    by_hand = 1.96 * np.sqrt(3 / 4 * ((without - without.mean()) ** 2).sum())
    assert found.half_width == pytest.approx(by_hand, rel=1e-3)
    assert ask(running=table(np.full(3, 0.2))).half_width == pytest.approx(0.0, abs=1e-6)

    rng, true = np.random.default_rng(1), mean_jobs(rate, np.array([0.18, 0.25, 0.4])) / rate
    drawn = [ask(running=table(rng.choice([0.18, 0.25, 0.4], 24))) for _ in range(40)]
    hits = sum(abs(each.mean_response - true) <= each.half_width for each in drawn)
    assert hits >= 34  # of 38; 24 draws do not make the estimate quite normal


@pytest.mark.parametrize(("policy", "work"), [(SpaceSharing(4, 1), WORK), (TimeSharing(2, 1), VARIABLE)])
def test_arrangements_alike_change_nothing_and_others_only_cost(policy, work):
    own = running_jobs(policy, MACHINE, work).throughput
    ask = [
        predict(
            policy,
            MACHINE,
            work,
            arrival_rate=0.7 * own[-1],
            running=SpeedTable(own, frozen=frozen),
        ).mean_response
        for frozen in (None, [5.0, 5.0, 5.0], [0.9, 1.0, 1.1])
    ]
    assert ask[1] == pytest.approx(ask[0], rel=1e-7)
    assert ask[2] > 1.01 * ask[0]


def test_a_load_that_only_the_slowest_arrangement_cannot_carry_has_no_steady_state():
    """Outside the mean: 20 % of headroom in the mean, none once the slow one is drawn."""
    table = SpeedTable([0.2], [[1e-6]], 9, frozen=[1.3, 0.7])
    with pytest.raises(UnstableError):
        predict(SpaceSharing(1, 1), System(1, 1), WORK, arrival_rate=0.16, running=table)
    slow = 0.2 * table.factors.min()
    near = predict(SpaceSharing(1, 1), System(1, 1), WORK, arrival_rate=slow - 1e-4, running=table)
    assert near.half_width == float("inf")
    with pytest.raises(ModelError, match="frozen"):
        SpeedTable([0.2], frozen=[1.0, 0.0])


def test_speeds_in_proportion_to_jobs_are_a_queue_of_many_servers():
    """M/M/3 with rates 2 and 1: E[T] = 1.444444 (analytic.md, 8.4)."""
    three = predict(SpaceSharing(3, 1), System(3, 3), WORK, arrival_rate=2.0, running=[1, 2, 3])
    assert three.mean_response == pytest.approx(1.0 + 4.0 / 9.0, abs=1e-8)
    assert three.method == "approximate"
    assert (three.half_width, three.speeds) == (0.0, "given by hand")


def test_one_job_at_a_time_obeys_pollaczek_and_khinchine():
    law = PhaseType.hyperexponential(weights=[0.9, 0.1], means=[0.5, 5.5])
    work = Workload(WORK.program, demand=law)
    found = predict(SpaceSharing(1, 1), System(1, 1), work, arrival_rate=0.5, running=[1.0])
    assert found.mean_response == pytest.approx(1.0 + 0.5 * (1.0 + law.scv) / 2.0 / 0.5, rel=1e-9)


def test_the_interval_of_a_single_server_is_that_of_the_formula():
    """E[T] = 1 / (mu - lambda), so its error is that of mu over (mu - lambda)^2."""
    table = SpeedTable([2.0], [[1e-4]], 9, "measured")
    found = predict(SpaceSharing(1, 1), System(1, 1), WORK, arrival_rate=1.0, running=table)
    assert found.mean_response == pytest.approx(1.0)
    assert found.half_width == pytest.approx(2.2621572 * 0.01, rel=1e-6)
    assert found.speeds == "measured"


def test_errors_that_cancel_leave_a_narrower_interval():
    up, down = (np.array([[1.0, sign], [sign, 1.0]]) * 1e-4 for sign in (0.9, -0.9))
    widths = [
        predict(
            SpaceSharing(2, 1),
            System(2, 2),
            WORK,
            arrival_rate=1.0,
            running=SpeedTable([1.0, 2.0], spread),
        ).half_width
        for spread in (up, down)
    ]
    assert 0.0 < widths[1] < widths[0]


def test_no_finite_interval_where_the_queue_may_be_unstable():
    table = SpeedTable([1.0], [[0.01]], 9)
    near = predict(SpaceSharing(1, 1), System(1, 1), WORK, arrival_rate=0.9, running=table)
    assert np.isfinite(near.mean_response)
    assert near.half_width == np.inf
    with pytest.raises(UnstableError):
        predict(SpaceSharing(1, 1), System(1, 1), WORK, arrival_rate=1.0, running=table)


def test_the_largest_speed_need_not_be_that_of_most_jobs():
    """Outside the model: jobs that hinder each other so much that more of them do less."""
    found = predict(SpaceSharing(3, 1), System(3, 3), WORK, arrival_rate=0.4, running=[1, 0.8, 0.5])
    assert found.capacity == 0.5
    assert np.isfinite(found.mean_response)


def test_the_percentile_follows_the_given_speeds():
    slow, fast = (
        predict(SpaceSharing(2, 1), System(2, 2), WORK, arrival_rate=0.5, running=speeds)
        for speeds in ([1.0, 1.5], [2.0, 3.0])
    )
    assert slow.percentile(0.9) > fast.percentile(0.9)


def test_a_table_shows_its_interval_and_usual_predictions_stay_as_they_are():
    usual = predict(SpaceSharing(1, 1), MACHINE, WORK, load=0.3)
    given = predict(SpaceSharing(1, 1), MACHINE, WORK, load=0.3, running=[usual.capacity])
    assert not {"half_width", "speeds"} & set(usual.to_dict())
    assert given.to_dict()["half_width"] == 0.0
    assert "half_width" in given.table()


@pytest.mark.parametrize(
    ("speeds", "options", "word"),
    [
        ([1.0, 2.0], {}, "1 to 2 jobs"),
        ([0.0], {}, "throughput"),
        ([[1.0]], {}, "running must be a non-empty vector"),
        ("fast", {}, "running must be real numbers"),
        ([1.0], {"model": "exact"}, "speed-scaled"),
        ([1.0], {"model": "decomposition"}, "speed-scaled"),
    ],
)
def test_speeds_that_mean_nothing_here_are_refused(speeds, options, word):
    with pytest.raises(ModelError, match=word):
        predict(SpaceSharing(1, 1), MACHINE, WORK, load=0.1, running=speeds, **options)


def test_unequal_partitions_have_no_common_speed():
    with pytest.raises(ModelError, match="several speeds"):
        predict(SpaceSharing(2, 1, sizes=(12, 4)), MACHINE, WORK, load=0.1, running=[1.0, 2.0])


@pytest.mark.parametrize(
    ("spread", "word"),
    [([[1.0]], "2 x 2"), ([[1.0, 0.5], [0.0, 1.0]], "symmetric"), ([[1.0, 2.0], [2.0, 1.0]], "eigenvalue")],
)
def test_what_is_no_covariance_is_refused(spread, word):
    with pytest.raises(ModelError, match=word):
        SpeedTable([1.0, 2.0], spread)


def test_the_covariance_of_runs_is_that_of_their_mean():
    rng = np.random.default_rng(1)
    runs = rng.normal([1.0, 2.0], 0.1, (12, 2))
    table = SpeedTable.of_runs(runs)
    assert table.covariance == pytest.approx(np.cov(runs.T) / 12)
    assert table.degrees_of_freedom == 11
    with pytest.raises(ModelError, match="two or more"):
        SpeedTable.of_runs([[1.0, 2.0]])


@pytest.mark.thorough
def test_the_stated_interval_covers_as_often_as_it_says():
    """300 tables of ten normal measurements each: 95 % of the intervals hold the true answer."""
    rng, hits, trials = np.random.default_rng(3), 0, 300
    truth = predict(SpaceSharing(1, 1), System(1, 1), WORK, arrival_rate=0.5, running=[1.0])
    for _ in range(trials):
        table = SpeedTable.of_runs(rng.normal(1.0, 0.02, (10, 1)))
        found = predict(SpaceSharing(1, 1), System(1, 1), WORK, arrival_rate=0.5, running=table)
        hits += abs(found.mean_response - truth.mean_response) <= found.half_width
    assert abs(hits / trials - 0.95) < 4 * (0.95 * 0.05 / trials) ** 0.5


def test_each_throughput_has_degrees_of_freedom_of_its_own():
    """Student's quantiles at 95 %: 12.706 of 1 degree, 2.228 of 10; half of each make 20/11."""
    table = SpeedTable([1.0, 2.0], np.diag([1e-4, 4e-4]), [1.0, 10.0])
    assert table.half_widths() == pytest.approx([0.12706, 0.04456], rel=1e-3)
    assert table.quantile(0.95) == pytest.approx(2.22814, rel=1e-4)
    assert table.quantile(0.95, [3.0, 0.0]) == pytest.approx(12.7062, rel=1e-4)
    mixed = SpeedTable([1.0], [[1.0]], 20 / 11).quantile(0.95)
    assert table.quantile(0.95, [1.0, 1.0]) == pytest.approx(mixed)
    unsure = table.less_sure(0.01)  # a variance as large again of each
    assert unsure.degrees_of_freedom == pytest.approx([4.0, 40.0])
    endless = SpeedTable([1.0, 2.0], np.diag([1.0, 1.0]), [np.inf, 5.0])
    assert endless.half_widths() == pytest.approx([1.95996, 2.57058], rel=1e-4)
    known = SpeedTable([1.0, 2.0], np.diag([1.0, 1.0]))
    assert known.quantile(0.95, [1e20, 1e-300]) == pytest.approx(1.959964)  # and no warning


@pytest.mark.parametrize("free", [[1.0], [0.5, 2.0], [np.nan, 2.0], 0.5, np.nan])
def test_what_are_no_degrees_of_freedom_is_refused(free):
    with pytest.raises(ModelError, match="degrees_of_freedom"):
        SpeedTable([1.0, 2.0], None, free)


def test_the_capacity_of_the_policy_itself_is_untouched():
    before = capacity(SpaceSharing(1, 1), MACHINE, WORK)
    predict(SpaceSharing(1, 1), MACHINE, WORK, arrival_rate=0.01, running=[0.02])
    assert capacity(SpaceSharing(1, 1), MACHINE, WORK) == before


def test_a_factor_that_is_known_only_so_well_widens_the_interval():
    """One server: R = 1 / (X - rate), so a share s of X makes q s X / (X - rate)^2 of it."""
    table = SpeedTable([0.2], [[1e-6]], 9)
    unsure = table.less_sure(0.01)
    # Variances 1e-6 and 4e-6: nine degrees of freedom times (5 / 1)^2.
    assert unsure.covariance == pytest.approx(np.array([[5e-6]]))
    assert unsure.degrees_of_freedom == pytest.approx(225.0)
    known = SpeedTable([0.2]).less_sure(0.01)
    one = predict(SpaceSharing(1, 1), MACHINE, WORK, arrival_rate=0.15, running=known)
    assert one.mean_response == pytest.approx(20.0)
    assert one.half_width == pytest.approx(1.959964 * 0.002 / 0.05**2, rel=1e-4)
    assert table.less_sure(0.0).half_widths() == pytest.approx(table.half_widths())
    with pytest.raises(ModelError, match="share"):
        table.less_sure(-0.1)


def test_degrees_of_freedom_of_one_number_are_those_of_the_last_speed():
    table = SpeedTable([1.0, 2.0], covariance=np.diag([0.04, 0.01]), degrees_of_freedom=3.0)
    less = table.less_sure(0.2)
    assert less.degrees_of_freedom == pytest.approx(3.0 * ((0.01 + 0.2**2 * 4.0) / 0.01) ** 2, rel=1e-12)
