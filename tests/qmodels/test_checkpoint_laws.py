"""Turns, starts and percentiles of checkpoints: against chains counted by hand and known sums."""

import math

import numpy as np
import pytest

from phasefit import PhaseType
from qmodels import Checkpointing, Storage
from qmodels import predict_checkpoints as predict
from qmodels.checkpoints.intervals import size_share, timer_share
from qmodels.checkpoints.model import EqualJobs
from qmodels.checkpoints.starts import from_start, range_of_starts
from tests.naive.checkpoint_chain import mean_write

ONE = PhaseType.exponential(mean=1.0)
TWO, FOUR = (PhaseType.erlang(phases=k, mean=1.0) for k in (2, 4))
WIDE = PhaseType.hyperexponential(weights=[0.2, 0.8], means=[3.0, 0.5])


@pytest.mark.parametrize(
    ("jobs", "timer", "size", "writers"),
    [
        (2, ONE, TWO, 1),
        (2, TWO, FOUR, 1),
        (3, TWO, WIDE, 1),
        (3, WIDE, TWO, 2),
        (4, ONE, TWO, 2),
        (3, FOUR, TWO, 1),
    ],
)
@pytest.mark.parametrize("mode", ["blocking", "waiting-works"])
def test_turns_of_staged_jobs_are_those_of_the_chain_counted_by_hand(jobs, timer, size, writers, mode):
    job = Checkpointing(1.0, 5.0, mode=mode, jitter=timer, size_law=size)
    found = predict(job, Storage(float(writers), per_job=1.0, writers=writers), jobs)
    law = timer.scale(5.0 / timer.mean)
    own = size.scale(1.0 / size.mean)
    right = mean_write(jobs, (law.alpha, law.T), (own.alpha, own.T), writers)
    assert found.method.startswith("exact")
    assert found.write == pytest.approx(right, rel=1e-9)
    cycle = 5.0 + right
    assert found.goodput == pytest.approx((5.0 if mode == "blocking" else cycle - 1.0) / cycle)
    assert found.stall == pytest.approx(right if mode == "blocking" else 1.0)
    assert found.utilisation == pytest.approx(jobs / cycle / writers)


def test_eight_jobs_in_turns_with_staged_transfers_agree_with_their_own_percentiles():
    """The mean was that of exponential transfers, 2.09, and the law had 1.79."""
    job = Checkpointing(1.0, 10.0, jitter=ONE, size_law=FOUR)
    found = predict(job, Storage(1.0, writers=1), 8)
    assert found.write == found.stall == pytest.approx(1.7914, abs=5e-5)
    assert mean_of(found) == pytest.approx(found.stall, rel=2e-3)


def mean_of(found):
    """Mean of the percentiles, by Gauss's rule, denser towards the longest."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    left = 0.5 * (1.0 - nodes)
    return sum(w * x * found.percentile(1.0 - x * x) for w, x in zip(weights, left, strict=True))


def after_each_completion(jobs, away, service):
    """Mean time at one server of constant services, by the jobs left when one is done."""
    leaves = np.zeros((jobs, jobs))
    for left in range(jobs):
        others = jobs - max(left, 1)  # who is away while the next one is served
        back = 1.0 - math.exp(-service / away)
        for come in range(others + 1):
            chance = math.comb(others, come) * back**come * (1.0 - back) ** (others - come)
            leaves[left, max(left, 1) - 1 + come] += chance
    system = np.vstack([leaves.T - np.eye(jobs), np.ones(jobs)])
    pi = np.linalg.lstsq(system, np.append(np.zeros(jobs), 1.0), rcond=None)[0]
    between = service + pi[0] * away / jobs  # who leaves nobody waits for the first to come back
    return jobs * between - away


@pytest.mark.parametrize("jobs", [2, 5, 8, 20])
def test_constant_transfers_after_exponential_intervals_wait_as_one_server_has_it(jobs):
    job = Checkpointing(1.0, 10.0, jitter=ONE)
    found = predict(job, Storage(1.0, writers=1), jobs)
    assert found.method == "exact (closed form)"
    assert found.write == pytest.approx(after_each_completion(jobs, 10.0, 1.0), rel=1e-8)


def test_eight_jobs_with_an_exponential_timer():
    """Play says 1.67 +- .01; it was 1.6525."""
    found = predict(Checkpointing(1.0, 10.0, jitter=ONE), Storage(1.0, writers=1), 8)
    assert found.write == pytest.approx(1.673429, abs=5e-7)


def test_jobs_that_start_together_stay_together():
    for n in range(2, 9):
        job = Checkpointing(1.0, 10.0, stagger="together")
        found = predict(job, Storage(1.0), n)
        assert found.method == "exact (closed form)"
        assert found.goodput == found.low == found.high == pytest.approx(10.0 / (10.0 + n))
        assert found.write == found.stall == found.percentile(0.3) == float(n)
        assert found.utilisation == pytest.approx(n / (10.0 + n))
    assert predict(Checkpointing(1.0, 10.0, stagger="together"), Storage(1.0), 2).goodput == (
        pytest.approx(0.8333, abs=5e-5)
    )


def test_what_is_said_of_a_start_names_that_others_may_differ():
    sharing = predict(Checkpointing(1.0, 10.0, stagger="even"), Storage(1.0), 8)
    assert sharing.goodput == pytest.approx(10 / 11)
    assert "another start gives another mean" in sharing.notes[0]
    turns = predict(Checkpointing(1.0, 10.0), Storage(1.0, writers=1), 8)
    assert (turns.goodput, turns.notes) == (pytest.approx(10 / 11), ())


def test_clocks_that_strike_together_or_evenly_spread():
    sharing, spread = (
        predict(Checkpointing(1.0, 10.0, timer="clock", stagger=stagger), Storage(1.0), 8)
        for stagger in ("together", "even")
    )
    assert (sharing.goodput, sharing.stall) == (pytest.approx(0.2), 8.0)
    assert (spread.goodput, spread.stall) == (pytest.approx(0.9), 1.0)
    turns = predict(Checkpointing(1.0, 10.0, timer="clock", stagger="together"), Storage(1.0, writers=1), 8)
    assert (turns.goodput, turns.write) == (pytest.approx(0.55), 4.5)
    assert [turns.percentile(q) for q in (0.125, 0.5, 0.95)] == [1.0, 4.0, 8.0]


@pytest.mark.thorough
def test_a_known_start_lies_within_the_range_of_all_starts():
    for n in (3, 8):
        for mode in ("blocking", "waiting-works", "asynchronous"):
            for timer in ("work", "clock"):
                for writers, full in ((None, 1.0), (None, 2.5), (1, 1.0), (2, 1.0), (3, 2.0)):
                    storage = Storage(full, per_job=1.0, writers=writers)
                    job = Checkpointing(1.0, 4.0, mode=mode, timer=timer)
                    low, high = range_of_starts(EqualJobs(job, storage, n))
                    for stagger in ("together", "even", "random"):
                        given = Checkpointing(1.0, 4.0, mode=mode, timer=timer, stagger=stagger)
                        found = from_start(EqualJobs(given, storage, n))
                        if found is not None:
                            assert low - 1e-12 <= found.goodput <= high + 1e-12
                        whole = predict(given, storage, n)
                        assert whole.low - 1e-12 <= whole.goodput <= whole.high + 1e-12


def test_a_job_that_meets_nobody_is_stopped_for_its_own_transfer():
    """The median of one constant transfer was extrapolated to be .998 s, its 95 % to be 1.46."""
    for n, storage in ((1, Storage(1.0)), (4, Storage(4.0, per_job=1.0))):
        found = predict(Checkpointing(1.0, 10.0, 80.0), storage, n)
        assert [found.percentile(q) for q in (0.05, 0.5, 0.99)] == [1.0] * 3


def test_whoever_meets_nobody_under_sharing_is_done_in_its_own_time():
    """Three in four of two jobs' checkpoints meet nobody; the quartile was 30 % too long."""
    found = predict(Checkpointing(1.0, 10.0, jitter=ONE), Storage(1.0), 2)
    alone = 10.0 / 11.0 * math.exp(-0.1)  # the other away, and for another second
    assert found.percentile(alone - 1e-6) == 1.0 < found.percentile(alone + 1e-3)
    assert mean_of(found) == pytest.approx(found.stall, rel=5e-3)


@pytest.mark.thorough(first=1, but=["waiting-works-1-2"])
@pytest.mark.parametrize("jobs", [1, 2, 4, 8])
@pytest.mark.parametrize("writers", [None, 1, 2])
@pytest.mark.parametrize("mode", ["blocking", "waiting-works"])
def test_every_law_of_a_stall_has_the_mean_that_is_stated(jobs, writers, mode):
    storage = Storage(float(writers or 1), per_job=1.0, writers=writers)
    for timer in (0.3, ONE, WIDE):
        for size in (None, ONE, FOUR):
            if size is None and writers is not None and mode == "blocking":
                continue  # no law is known
            found = predict(Checkpointing(1.0, 10.0, mode=mode, jitter=timer, size_law=size), storage, jobs)
            law = found._stall_law
            near = 1e-9 if found.method.startswith("exact") else 0.1
            assert law.mean == pytest.approx(found.stall, rel=near)


def test_shares_of_waits_keep_their_limits():
    """Small steps by the random walk, exponential laws by the product form."""
    narrow = Checkpointing(1.0, 10.0, jitter=0.01 * math.sqrt(3.0))
    assert timer_share(narrow, 1.0, 0.1) == pytest.approx(2 * 0.1**2, rel=0.02)
    assert timer_share(Checkpointing(1.0, 10.0, jitter=ONE), 1.0, 0.5) == 1.0
    assert size_share(Checkpointing(1.0, 10.0, size_law=ONE)) == pytest.approx(1.0)
    assert size_share(Checkpointing(1.0, 10.0)) == 0.0


def test_staged_transfers_of_constant_timers_wait_less_than_by_chance():
    """Play says 1.370 +- .008 and 1.656 +- .022; both were 2.09."""
    for jitter, played in ((0.0, 1.370), (0.3, 1.656)):
        job = Checkpointing(1.0, 10.0, jitter=jitter, size_law=FOUR)
        found = predict(job, Storage(1.0, writers=1), 8)
        assert found.write == pytest.approx(played, rel=0.05)
        assert found.low < 10.0 / (10.0 + played) < found.high
