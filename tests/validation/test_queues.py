"""`simulate_queue`: each discipline against a slow twin or a law, traces, and what is refused."""

import heapq

import numpy as np
import pytest

from phasefit import MAP, PhaseType
from qmodels.errors import ModelError, UnstableError
from qmodels.networks import ManyServerQueue
from qmodels.queues import PriorityClass, PriorityQueue
from validation.queues import DISCIPLINES, simulate_queue

ONE = PhaseType.exponential(mean=1.0)
GIANTS = PhaseType.hyperexponential(weights=[0.9, 0.1], means=[0.5, 5.5])


def twin(times, work, servers, discipline, kinds):
    """Ends of jobs, in small steps from event to event over all jobs, without a heap."""
    left, now, ends, begun = np.array(work, dtype=float), 0.0, np.full(len(work), np.nan), set()
    there: list[int] = []
    arrived = 0
    rank = {
        "fcfs": lambda k: k,
        "lcfs": lambda k: -k,
        "lcfs-pr": lambda k: -k,
        "sjf": lambda k: (work[k], k),
        "srpt": lambda k: (left[k], k),
        "priority": lambda k: (kinds[k], k),
        "priority-pr": lambda k: (kinds[k], k),
    }
    while arrived < len(times) or there:
        if discipline == "ps":
            pace = {k: min(1.0, servers / len(there)) for k in there}
        else:
            order = sorted(there, key=rank[discipline])
            if discipline in ("lcfs-pr", "srpt", "priority-pr"):
                chosen = order[:servers]
            else:
                chosen = [k for k in order if k in begun]
                chosen += [k for k in order if k not in begun][: servers - len(chosen)]
            begun |= set(chosen)
            pace = dict.fromkeys(chosen, 1.0)
        ahead = min((left[k] / p for k, p in pace.items()), default=np.inf)
        until = min(now + ahead, times[arrived] if arrived < len(times) else np.inf)
        for k, p in pace.items():
            left[k] -= p * (until - now)
        now = until
        done = [k for k in there if left[k] <= 1e-9]
        for k in done:
            ends[k] = now
            there.remove(k)
            begun.discard(k)
        if not done and arrived < len(times) and times[arrived] <= now:
            there.append(arrived)
            arrived += 1
    return ends


@pytest.mark.parametrize("servers", [1, 3])
@pytest.mark.parametrize("discipline", [name for name in DISCIPLINES if name != "siro"])
def test_every_job_leaves_when_the_slow_twin_says(discipline, servers):
    rng = np.random.default_rng(5)
    times = np.cumsum(rng.exponential(1.0 / servers, 150))
    work, kinds = rng.exponential(1.2, 150), rng.integers(0, 3, 150)
    given = {"classes": kinds} if "priority" in discipline else {}
    run = simulate_queue(times, work, servers, discipline, **given)
    ends = times + run.response.ravel()
    assert ends == pytest.approx(twin(times, work, servers, discipline, kinds), abs=1e-7)
    assert (run.wait >= 0.0).all()
    assert (run.response >= run.wait - 1e-12).all()


def test_order_of_arrival_is_lindleys_recursion_with_many_servers():
    rng = np.random.default_rng(2)
    times, work = np.cumsum(rng.exponential(0.1, 2000)), rng.exponential(1.0, 2000)
    free, starts = [0.0] * 9, []
    for time, needed in zip(times, work, strict=True):
        starts.append(max(time, heapq.heappop(free)))
        heapq.heappush(free, starts[-1] + needed)
    assert simulate_queue(times, work, 9).wait.ravel() == pytest.approx(np.array(starts) - times, abs=1e-9)


@pytest.mark.parametrize("discipline", [name for name in DISCIPLINES if "priority" not in name])
def test_one_server_is_busy_as_long_whoever_goes_first(discipline):
    rng = np.random.default_rng(3)
    times, work = np.cumsum(rng.exponential(1.3, 400)), rng.exponential(1.0, 400)
    by_order = simulate_queue(times, work)
    run = simulate_queue(times, work, discipline=discipline, seed=4)
    last = times + run.response.ravel()
    assert last.max() == pytest.approx((times + by_order.response.ravel()).max(), rel=1e-9)
    idle = np.sort(last)  # in each busy period the work is done whoever is first
    assert np.isfinite(idle).all()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("discipline", "mean"), [("fcfs", None), ("ps", 10.0 / 3.0), ("lcfs-pr", 10.0 / 3.0)]
)
def test_means_are_those_of_the_laws(discipline, mean):
    solved = ManyServerQueue(ONE.scale(1.0 / 0.7), GIANTS, servers=1).solve()
    run = simulate_queue(ONE.scale(1.0 / 0.7), GIANTS, 1, discipline, jobs=40_000, replications=20, seed=8)
    known = run.mean_response
    assert abs(known.z_score(mean or solved.mean_response)) < 3.9
    if discipline == "fcfs":
        assert abs(run.wait_percentile(0.95).z_score(solved.wait.ppf(0.95))) < 3.9


@pytest.mark.thorough
@pytest.mark.parametrize("discipline", ["priority", "priority-pr"])
def test_classes_wait_as_cobham_says(discipline):
    classes = [PriorityClass(0.3, ONE), PriorityClass(0.2, GIANTS)]
    solved = PriorityQueue(classes, preemptive=discipline == "priority-pr")
    arrivals, laws = [ONE.scale(1.0 / c.arrival_rate) for c in classes], [c.service for c in classes]
    run = simulate_queue(arrivals, laws, 1, discipline, jobs=40_000, replications=20, seed=9)
    for k in range(2):
        assert abs(run.mean_response_of(k).z_score(solved.mean_response[k])) < 3.9
        assert abs(run.response_percentile(0.9, k).z_score(solved.response_ppf(k, 0.9))) < 3.9
        assert abs(run.wait_percentile(0.9, k).z_score(solved.wait_ppf(k, 0.9))) < 3.9


def test_dependent_arrivals_wait_longer():
    tides = MAP.modulated([[0.0, 0.01], [0.01, 0.0]], rates=[0.9, 0.3])
    tidal = simulate_queue(tides, ONE, jobs=5000, seed=1).mean_wait
    assert tidal.low > simulate_queue(ONE.scale(1.0 / 0.6), ONE, jobs=5000, seed=1).mean_wait.high


def test_the_same_seed_gives_the_same_jobs():
    first, second, other = (simulate_queue(ONE.scale(2.0), ONE, jobs=50, seed=s) for s in (1, 1, 2))
    assert (first.response == second.response).all()
    assert (first.response != other.response).any()


@pytest.mark.parametrize(
    ("words", "options", "why"),
    [
        ((ONE, ONE, 1, "best"), {}, "discipline"),
        (([1.0, 0.0], [1.0, 1.0]), {}, "must not fall"),
        (([0.0, 1.0], [1.0]), {}, "one of each"),
        (([0.0, 1.0], [1.0, -1.0]), {}, "service must be"),
        (([0.0, 1.0], ONE), {}, "laws for both"),
        (([0.0, 1.0], [1.0, 1.0], 1, "priority"), {}, "needs classes"),
        (([0.0, 1.0], [1.0, 1.0], 1, "priority"), {"classes": [0.5, 1.0]}, "whole number"),
        (([ONE, ONE], [ONE, ONE], 3, "fcfs"), {}, "several classes"),
        (([ONE, ONE], [ONE], 3, "priority"), {}, "as many of each"),
        ((ONE.scale(2.0), ONE), {"jobs": 3}, "jobs"),
        ((ONE.scale(2.0), ONE), {"classes": [1]}, "classes are for"),
        (([0.0, float("nan")], [1.0, 1.0]), {}, "arrivals"),
    ],
)
def test_what_is_refused(words, options, why):
    with pytest.raises(ModelError, match=why):
        simulate_queue(*words, **options)


def test_too_much_work_is_unstable_for_laws_and_played_for_traces():
    with pytest.raises(UnstableError):
        simulate_queue(ONE, ONE)
    run = simulate_queue(np.arange(100.0), np.full(100, 2.0))
    assert run.of_trace
    assert run.utilisation > 0.9
    assert run.response.max() == pytest.approx(101.0)


def test_a_class_without_jobs_has_no_mean():
    run = simulate_queue([0.0, 1.0], [1.0, 1.0], discipline="priority", classes=[0, 0])
    with pytest.raises(ModelError, match="no jobs of class 1"):
        run.mean_wait_of(1)
