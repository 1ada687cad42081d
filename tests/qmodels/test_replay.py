"""Jobs of data played through a queue, and the errors of fitting that are stated by them."""

import numpy as np
import pytest
from scipy import stats

from phasefit import MAP, ModelError, PhaseType, fit_map, match_moments
from qmodels.networks import replay
from qmodels.networks.many_server import ManyServerQueue
from qmodels.networks.replay import FitError, replayed
from tests.naive.shared_queue import shared_responses

ONE = PhaseType.exponential(mean=1.0)
WAVES = MAP.modulated([[0.0, 0.05], [0.05, 0.0]], rates=[1.6, 0.4])
TWO_SCALES = MAP.modulated([[0.0, 1 / 2], [1 / 30, 0.0]], rates=[5.0, 0.3]).superpose(
    MAP.modulated([[0.0, 1 / 300], [1 / 300, 0.0]], rates=[1.2, 0.3])
)


def renewal(gaps):
    """Two moments of gaps, which leave out that they depend on each other."""
    return match_moments(gaps.mean(), (gaps**2).mean()).with_data(gaps)


def queue(arrivals, load, servers=1, service=ONE):
    """A queue at a load, solved."""
    mean = load * servers * arrivals.mean / service.mean
    return ManyServerQueue(arrivals, service.scale(mean), servers=servers).solve()


@pytest.mark.parametrize("speeds", [[1.0], [1.0, 0.9], [1.0, 1.0, 0.7, 0.7, 0.6]])
def test_jobs_are_played_as_one_event_after_the_other_says(speeds, rng):
    n, speeds = 200, np.array(speeds)
    gaps = rng.exponential(size=n)
    work = 0.8 * speeds.size * speeds[-1] * rng.lognormal(size=n)
    # the naive queue has speeds of all jobs together, and plays each round of them once
    twice = np.tile(gaps, 2), np.tile(work, 2)
    together = (speeds * np.arange(1, speeds.size + 1)).tolist()
    arrival = np.cumsum(twice[0]).tolist()
    stays, done = shared_responses(together, [0.0] * speeds.size, arrival, twice[1].tolist())
    starts = {}
    for job, begin, _, _ in done:
        starts.setdefault(job, begin)
    waits = [starts[job] - arrival[job] for job in range(2 * n)]
    found = replayed(gaps, work, speeds)
    assert found[0] == pytest.approx(waits[n:], abs=1e-9)
    assert found[1] == pytest.approx(stays[n:], abs=1e-9)


def test_jobs_that_never_meet_take_as_long_as_alone_however_far_apart_they_come():
    work = np.array([2.0, 3.0, 5.0])
    for gap in (1e3, 1e16, 1e300):
        waits, stays = replayed(np.full(3, gap), work, np.array([0.5]))
        assert waits.tolist() == [0.0, 0.0, 0.0]
        assert stays.tolist() == [4.0, 6.0, 10.0]


def test_a_long_history_of_a_renewal_process_gives_what_the_chain_gives(rng):
    law = PhaseType.hyperexponential(weights=[0.9, 0.1], means=[0.5, 5.5])
    solved = queue(law.with_data(law.rvs(100_000, rng)), 0.7, servers=3)
    error = solved.fit_error()
    assert error.low < solved.mean_wait < error.high
    assert error.on_data == pytest.approx(solved.mean_wait, rel=0.2)
    assert error.error < 1.0


def test_a_queue_of_given_laws_is_exact_and_has_no_error_of_fit():
    solved = queue(WAVES, 0.6)
    assert solved.method == "exact (matrix-geometric)"
    assert solved.fit_error() is None
    assert "fit" not in solved.table()
    assert "mean_wait_low" not in solved.record()


def test_a_queue_of_fitted_laws_says_so_and_shows_what_their_data_give():
    """Issue 32, point 4: "exact" was said of a fitted law's answer without a word."""
    solved = queue(renewal(WAVES.rvs(2_000, 1)), 0.6)
    assert solved.method == "exact (matrix-geometric), for the fitted laws"
    error, row = solved.fit_error(), solved.record()
    assert (row["mean_wait_low"], row["mean_wait_high"]) == (error.low, error.high)
    assert row["interval_of"] == "the process behind the data"
    assert f"{error.on_data:.6g} s" in solved.table()


def test_an_answer_has_one_error_however_often_it_is_asked():
    arrivals = renewal(WAVES.rvs(1_000, 1))
    first, second = (queue(arrivals, 0.6, 4, PhaseType.erlang(phases=2, mean=1.0)) for _ in "12")
    assert first.fit_error() == second.fit_error()


@pytest.mark.thorough
def test_stated_errors_hold_where_waves_are_left_out():
    """Gaps taken as independent give less than half of the true wait, which the data show.

    Of forty histories 34 or more have the truth within the error stated, of 90 % nominal.
    """
    truth = queue(WAVES, 0.7).mean_wait
    held, off = 0, []
    for seed in range(40):
        solved = queue(renewal(WAVES.rvs(3_000, seed)), 0.7)
        scaled = solved.mean_wait * WAVES.mean / solved.queue.arrivals.mean
        off.append(scaled / truth)
        held += abs(np.log(scaled / truth)) <= np.log1p(solved.fit_error().error)
    assert np.median(off) < 0.5
    assert held >= 34


def test_a_process_fitted_to_two_scales_is_off_within_the_error_that_is_stated():
    """Issue 32, point 4: such processes were off by 34 to 178 %, "exact" without a word."""
    truth = queue(TWO_SCALES.at_rate(1.0), 0.5).mean_wait
    gaps = TWO_SCALES.at_rate(1.0).rvs(5_000, 1)
    solved = queue(fit_map(gaps, scales=1).process.at_rate(1.0), 0.5)
    error = solved.fit_error()
    off = solved.mean_wait / truth
    assert off > 1.2
    assert error.low < truth < error.high
    assert off < 1.0 + error.error


def test_what_is_far_from_its_own_data_is_not_within_the_interval():
    """A process of two phases by three moments and one correlation, which lasts too long."""
    gaps = TWO_SCALES.at_rate(1.0).rvs(20_000, 2)
    lasting = MAP.modulated([[0.0, 1e-6], [1e-6, 0.0]], rates=[1.7, 0.3]).with_data(gaps)
    solved = queue(lasting, 0.7)
    error = solved.fit_error()
    assert solved.mean_wait > 20.0 * error.high
    assert error.ratio < 0.01


@pytest.mark.thorough
@pytest.mark.parametrize(("of", "q"), [("wait", 0.95), ("response", None), ("response", 0.95)])
def test_errors_are_stated_of_percentiles_and_responses_too(of, q):
    """Of twenty histories 14 or more hold the truth: four standard errors below 90 %."""
    right = queue(WAVES, 0.7, servers=2)
    law = right.wait if of == "wait" else right.response
    truth = law.mean if q is None else float(law.ppf(q))
    held = 0
    for seed in range(20):
        solved = queue(renewal(WAVES.rvs(3_000, seed)), 0.7, servers=2)
        error = solved.fit_error(of, q)
        scaled = truth * solved.queue.arrivals.mean / WAVES.mean
        held += abs(np.log(error.predicted / scaled)) <= np.log1p(error.error)
        assert of in error.of
        assert (q is None) == ("mean" in error.of)
    assert held >= 14


@pytest.mark.parametrize(
    ("arrivals", "load"),
    [
        (MAP.modulated([[0.0, 0.002], [0.002, 0.0]], rates=[1.7, 0.3]), 0.9),
        (PhaseType.exponential(mean=1.0), 0.97),
    ],
)
def test_next_to_a_load_that_the_data_do_not_know_no_upper_end_is_stated(arrivals, load):
    """The load may be that of a queue that never empties, if only just."""
    error = queue(renewal(arrivals.rvs(2_000, 3)), load).fit_error()
    assert error.high == np.inf
    assert error.error == np.inf
    assert "or more" in str(error)


def test_gaps_and_work_of_one_source_are_played_together(rng):
    """Large jobs that come after long gaps wait less than such that come at any time."""
    gaps = rng.exponential(size=4_000)
    work = 0.7 * gaps * rng.uniform(0.9, 1.1, gaps.size)

    def asked(source):
        arrivals = match_moments(1.0, 2.0).with_data(gaps / gaps.mean(), source=source)
        service = match_moments(0.7, 1.0).with_data(0.7 * work / work.mean(), source="log")
        return ManyServerQueue(arrivals, service, servers=1).solve().fit_error()

    assert asked("log").on_data < 0.6 * asked("another log").on_data


def test_gaps_and_work_of_one_source_but_of_unlike_many_jobs_are_not_played_together(rng):
    """As where some jobs never started: who had which work is not known then."""
    gaps, work = rng.exponential(size=4_000), rng.exponential(size=3_000)

    def asked(source):
        arrivals = ONE.with_data(gaps / gaps.mean(), source=source)
        service = ONE.with_data(work / work.mean(), source="log").scale(0.6)
        return ManyServerQueue(arrivals, service, servers=1).solve().fit_error()

    together, apart = asked("log"), asked("another log")
    assert together.jobs == 4_000
    assert together.on_data == apart.on_data


def of_one_log(gaps, work, load, servers=1):
    """A queue whose gaps and sizes are of the same jobs, by two moments, at a load."""
    arrivals, service = (
        match_moments(x.mean(), (x**2).mean()).with_data(x, source="jobs.swf") for x in (gaps, work)
    )
    return queue(arrivals, load, servers, service)


def waits_by_recursion(gaps, work, load):
    """Mean wait at one server, in mean gaps, of jobs that come round and round."""
    gaps, work = gaps / gaps.mean(), load * work / work.mean()
    waited = 0.0
    for _ in range(2):
        waits = []
        for i in range(gaps.size):
            waited = max(waited + work[i - 1] - gaps[i], 0.0)
            waits.append(waited)
    return np.mean(waits)


def test_the_interval_of_a_log_is_of_another_period_by_its_halves_quarters_and_eighths(rng):
    gaps, work = (
        rng.exponential(size=1600) / np.repeat(rng.uniform(0.5, 2.0, 16), 100),
        rng.lognormal(size=1600),
    )
    error = of_one_log(gaps, work, 0.7).fit_error()
    squares = 0.0
    for parts in (2, 4, 8):
        cut = zip(np.split(gaps, parts), np.split(work, parts), strict=True)
        logs = np.log([waits_by_recursion(*part, 0.7) for part in cut])
        squares += ((logs - logs.mean()) ** 2).sum()
    expected = stats.t.ppf(0.95, 11) * np.sqrt(2.0 * squares / 11)
    assert error.on_data == pytest.approx(waits_by_recursion(gaps, work, 0.7) * gaps.mean(), rel=1e-9)
    assert np.log(error.high / error.on_data) == pytest.approx(expected, rel=1e-3)
    assert np.log(error.on_data / error.low) == pytest.approx(expected, rel=1e-3)
    assert error.sentence("It").endswith("s nine times in ten.")
    assert f"s in {replay.PERIOD}" in str(error)


def test_the_interval_of_a_log_is_the_same_in_other_units(rng):
    gaps, work = rng.exponential(size=400), rng.lognormal(size=400)
    one, other = (
        of_one_log(gaps, work, 0.6).fit_error(),
        of_one_log(3.6e3 * gaps, work / 64.0, 0.6).fit_error(),
    )
    for end in ("low", "on_data", "high"):
        assert getattr(other, end) == pytest.approx(3.6e3 * getattr(one, end), rel=1e-9)


def test_jobs_that_do_not_wait_in_a_part_of_a_log_bound_no_wait_from_below(rng):
    gaps, work = rng.exponential(size=400), rng.uniform(0.7, 1.3, 400)
    gaps[:100] = 1.0  # like clockwork
    error = of_one_log(gaps, work, 0.6).fit_error()
    assert error.low == 0.0 < error.on_data < error.high < np.inf
    gaps[:60] = 0.0  # all at once: that part has no load
    error = of_one_log(gaps, work, 0.6).fit_error()
    assert (error.low, error.high) == (0.0, np.inf)


def test_work_that_was_fitted_is_played_with_arrivals_that_were_given():
    sizes = PhaseType.hyperexponential(weights=[0.9, 0.1], means=[0.5, 5.5])
    service = match_moments(1.0, 1.0 + sizes.scv).with_data(sizes.rvs(4_000, 1))
    error = queue(PhaseType.exponential(mean=1.0), 0.6, service=service).fit_error()
    assert error.low < queue(PhaseType.exponential(mean=1.0), 0.6, service=sizes).mean_wait
    assert error.high > queue(PhaseType.exponential(mean=1.0), 0.6, service=sizes).mean_wait
    assert error.jobs == 4_000


def test_data_that_are_too_few_or_not_known_any_more_leave_the_error_unknown():
    few = queue(ONE.with_data([1.0, 0.5, 1.5]), 0.5).fit_error()
    thinned = queue(MAP.from_phase_type(ONE.with_data(np.ones(99))).thin(0.5), 0.5).fit_error()
    for error in (few, thinned):
        assert error.error == np.inf
        assert "not known" in str(error)
        assert error.record()["on_data"] is None


def test_only_the_wait_and_the_response_have_errors_of_fit():
    solved = queue(ONE.with_data(np.ones(99)), 0.5)
    with pytest.raises(ModelError, match="of must be"):
        solved.fit_error("jobs")
    with pytest.raises(ModelError, match="q must be"):
        solved.fit_error(q=1.0)


def test_the_error_of_a_time_that_is_zero_is_zero_or_unknown():
    both = {"of": "p50 of the wait", "predicted": 0.0, "on_data": 0.0, "low": 0.0, "jobs": 9}
    assert FitError(**both, high=0.0).error == 0.0
    assert FitError(**both, high=1.0).error == np.inf
    assert np.isnan(FitError(**both, high=1.0).ratio)


def test_laws_that_are_drawn_give_what_their_chain_gives():
    solved = queue(WAVES, 0.6, servers=2)
    speeds = np.ones(2)
    found = replay.drawn(WAVES, solved.queue.service, speeds, replay.mean_wait)
    assert found == pytest.approx(solved.mean_wait, rel=0.05)
