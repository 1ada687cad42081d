"""Checkpoints predicted: modern.md part A, its golden numbers, limits and published figures."""

import math
from dataclasses import replace

import numpy as np
import pytest

from phasefit import PhaseType, match_moments
from qmodels import Checkpointing, ModelError, Storage, best_interval, jobs_that_fit
from qmodels import predict_checkpoints as predict
from qmodels.checkpoints import best_alone, daly, waste_bound, young
from qmodels.checkpoints.dilation import _log_odds
from qmodels.networks import ClosedNetwork

ONE = PhaseType.exponential(mean=1.0)
POOL = Checkpointing(5.29e12, interval=6689.4675, mtbf=89080.668, downtime=600.0)
FILES = Storage(20e9)


def staged(tau, phases, downtime, mtbf, **more):
    return Checkpointing(
        1.0,
        tau,
        mtbf,
        downtime,
        jitter=PhaseType.erlang(phases=phases, mean=1.0),
        size_law=ONE,
        downtime_law=ONE,
        **more,
    )


def test_one_job_is_known_in_closed_form():
    found = predict(Checkpointing(300.0, 2400.0, 10800.0, 600.0), Storage(1.0))
    assert found.goodput == pytest.approx(0.72091730, abs=5e-9)
    assert found.method == "exact (closed form)"
    behind = Checkpointing(60.0, 100.0, 1000.0, 20.0, "asynchronous", snapshot=2.0)
    assert predict(behind, Storage(1.0)).goodput == pytest.approx(0.80974272, abs=5e-9)


def test_the_best_interval_of_one_job_and_the_classical_ones():
    assert best_alone(300.0, 10800.0) == pytest.approx(2349.637938, abs=5e-7)
    assert best_alone(3600.0, 7200.0) == pytest.approx(5027.691149, abs=5e-7)
    assert daly(300.0, 10800.0) == pytest.approx(2349.512783, abs=5e-7)
    assert daly(3600.0, 7200.0) == 5000.0
    assert daly(20000.0, 7200.0) == 7200.0
    assert young(300.0, 10800.0) == math.sqrt(2 * 300.0 * 10800.0)
    # Far below Young's range of doubt all of them agree, whatever the digits of W0.
    assert best_alone(1e-9, 1.0) == pytest.approx(young(1e-9, 1.0), rel=1e-4)
    assert best_alone(1.01e-6, 1.0) == pytest.approx(best_alone(0.99e-6, 1.0), rel=0.011)


def test_the_best_interval_is_where_the_goodput_is_largest():
    job = Checkpointing(300.0, 1.0, 10800.0, 600.0)
    best = best_interval(job, Storage(1.0))
    at = [
        predict(Checkpointing(300.0, best.interval * f, 10800.0, 600.0), Storage(1.0)).goodput
        for f in (0.9, 1.0, 1.1)
    ]
    assert max(at) == at[1] == best.goodput
    assert best.low < best.interval < best.high


@pytest.mark.parametrize("mode", ["blocking", "asynchronous"])
def test_the_best_interval_reckons_with_sizes_that_vary(mode):
    """The closed form is of constant ones: at its interval writes behind the work did .63 instead of .80."""
    snapshot = 0.5 if mode == "asynchronous" else 0.0
    varied = match_moments(1.0, 4.0)
    job = Checkpointing(13.8, 1.0, 342.0, mode=mode, snapshot=snapshot, size_law=varied)
    best = best_interval(job, Storage(0.5))
    for factor in (0.5, 0.8, 1.25, 2.0):
        assert predict(replace(job, interval=factor * best.interval), Storage(0.5)).goodput < best.goodput


@pytest.mark.parametrize(
    ("jobs", "job", "goodput", "used"),
    [
        (3, staged(10, 2, 2, 60), 0.73971208, 0.28783468),
        (6, staged(12, 3, 0.5, 100), 0.79383159, None),
    ],
)
def test_phase_type_jobs_have_an_exact_chain(jobs, job, goodput, used):
    found = predict(job, Storage(1.0), jobs)
    assert found.method == "exact (chain)"
    assert found.goodput == pytest.approx(goodput, abs=5e-9)
    if used:
        assert found.utilisation == pytest.approx(used, abs=5e-9)


def test_a_write_behind_the_work_has_an_exact_chain_without_failures():
    job = Checkpointing(1.0, 5.0, mode="asynchronous", jitter=ONE, size_law=ONE)
    found = predict(job, Storage(1.0), 4)
    assert found.goodput == pytest.approx(0.89481360, abs=5e-9)
    assert found.write == pytest.approx(1.94234268, abs=5e-9)


def test_stalls_of_sharing_and_of_turns():
    job = Checkpointing(1.0, 10.0, jitter=ONE, size_law=ONE)
    sharing, turns = (predict(job, Storage(1.0, writers=k), 8) for k in (None, 1))
    assert sharing.write == pytest.approx(2.09040783, abs=5e-9)
    assert turns.write == pytest.approx(2.09040783, abs=5e-9)
    levels = (0.5, 0.95, 0.99)
    assert [sharing.percentile(q) for q in levels] == pytest.approx([1.246458, 6.995074, 11.630166], abs=5e-7)
    assert [turns.percentile(q) for q in levels] == pytest.approx([1.568704, 5.838796, 8.424457], abs=5e-7)
    assert "exact" in sharing.method
    assert "exact" in turns.method


def test_the_chain_without_failures_is_the_closed_network_whatever_the_laws():
    job = Checkpointing(
        1.0,
        10.0,
        jitter=PhaseType.erlang(phases=2, mean=1.0),
        size_law=PhaseType.hyperexponential(weights=[0.4, 0.6], means=[2.0, 1 / 3]),
    )
    by_chain = predict(job, Storage(2.0, per_job=1.0), 4)
    network = ClosedNetwork(
        4, delay=PhaseType.exponential(mean=10.0), disk=ONE, discipline="ps", servers=2
    ).solve()
    assert by_chain.write == pytest.approx(network.mean_sojourn, rel=1e-12)
    assert by_chain.goodput == pytest.approx(10.0 * network.throughput / 4, rel=1e-12)


def test_the_bound_of_several_classes():
    names = (1024, 256, 2048, 1875)
    times = (1310.72, 378.88, 5734.4, 1275.0)
    counts = (8.16664893, 11.16108688, 1.96587326, 1.35360257)
    classes = [(Checkpointing(c, 1.0, nodes=q), n) for c, q, n in zip(times, names, counts, strict=True)]
    found = waste_bound(classes, Storage(1.0), nodes=17784, mtbf=2 * 365 * 86400.0)
    assert found.pressure == pytest.approx(0.173300, abs=5e-7)
    assert found.waste == pytest.approx(0.393487, abs=5e-7)
    alone = (327.68, 94.72, 1433.6, 318.75)
    for bandwidth, waste in ((160.0, 0.1386), (40.0, 0.3304)):
        classes = [
            (Checkpointing(c * 160.0, 1.0, nodes=q), n)
            for c, q, n in zip(alone, names, (11, 4, 1, 1), strict=True)
        ]
        bound = waste_bound(classes, Storage(bandwidth), nodes=16211, mtbf=63062064.0)
        assert bound.waste == pytest.approx(waste, abs=5e-5)


@pytest.mark.parametrize(
    ("n", "tau", "mtbf", "downtime", "full", "formula"),
    [
        (4, 10, 200, 2, 1, 0.84402),
        (16, 10, 200, 2, 2, 0.82410),
        (8, 5, 100, 1, 1, 0.52649),
    ],
)
def test_sharing_with_failures(n, tau, mtbf, downtime, full, formula):
    job = Checkpointing(1.0, tau, mtbf, downtime)
    found = predict(job, Storage(float(full), per_job=1.0), n)
    assert found.goodput == pytest.approx(formula, abs=5e-6)
    assert found.method == "approximate"
    assert found.low < found.goodput < found.high


@pytest.mark.thorough
def test_the_training_pool():
    shares = [predict(POOL, FILES, n).goodput for n in (16, 32)]
    assert shares == pytest.approx([0.87376, 0.68867], abs=5e-6)
    best = best_interval(POOL, FILES, 32)
    assert best.interval / best.daly == pytest.approx(2.22, abs=5e-3)
    assert best.goodput == pytest.approx(0.86906, abs=5e-6)
    # Table A5, within its .01.
    table = {
        ("blocking", 1, 0): (0.912, 0.716),
        ("waiting-works", 1, 0): (0.915, 0.896),
        ("asynchronous", None, 5): (0.944, 0.687),
        ("asynchronous", 1, 5): (0.946, 0.720),
    }
    for (mode, writers, snapshot), goodputs in table.items():
        job = Checkpointing(5.29e12, 6689.4675, 89080.668, 600.0, mode, snapshot=float(snapshot))
        found = [predict(job, Storage(20e9, writers=writers), n).goodput for n in (16, 32)]
        assert found == pytest.approx(goodputs, abs=0.01)


def test_llama_3_at_its_best_interval():
    job = Checkpointing(65.5e12, 1.0, 3.093 * 3600.0)
    assert best_interval(job, Storage(2e12)).goodput == pytest.approx(0.9225, abs=5e-4)
    job = Checkpointing(65.5e12, 1.0, 3.093 * 3600.0, 279.0)
    assert best_interval(job, Storage(2e12)).goodput == pytest.approx(0.90, abs=5e-4)


@pytest.mark.thorough
def test_limits():
    alone = predict(POOL, FILES, 1)
    assert predict(POOL, FILES, 1, model="dilation").goodput == pytest.approx(alone.goodput, rel=1e-9)
    wide = Storage(20e9 * 16, per_job=20e9)
    assert predict(POOL, wide, 16).goodput == alone.goodput
    assert predict(POOL, wide, 16, model="dilation").goodput == pytest.approx(alone.goodput, rel=1e-9)
    # Rare failures leave the closed network.
    rare = Checkpointing(1.0, 10.0, 1e12, 2.0)
    never = Checkpointing(1.0, 10.0, jitter=0.5)
    assert predict(rare, Storage(1.0), 8).goodput == pytest.approx(
        predict(never, Storage(1.0), 8).goodput, rel=1e-6
    )
    goodputs = [predict(POOL, FILES, n).goodput for n in range(1, 60)]
    assert np.all(np.diff(goodputs) < 0.0)


def test_constant_timers_depend_on_the_start():
    job = Checkpointing(1.0, 10.0)
    sharing, turns = (predict(job, Storage(1.0, writers=k), 8) for k in (None, 1))
    assert sharing.method == "depends on the start"
    assert turns.method == "exact (closed form)"  # from any start, after a while
    assert (sharing.low, sharing.high) == pytest.approx((10 / 18, 10 / 11))
    assert (turns.low, turns.high) == pytest.approx((10 / 11, 10 / 11))
    assert "exact" not in predict(Checkpointing(1.0, 10.0, timer="clock"), Storage(1.0), 8).method


def test_jobs_that_fit():
    most = jobs_that_fit(POOL, FILES, goodput=0.85)
    assert predict(POOL, FILES, most).goodput >= 0.85 > predict(POOL, FILES, most + 1).goodput
    assert jobs_that_fit(POOL, FILES, goodput=0.95) == 0
    assert jobs_that_fit(POOL, FILES, goodput=0.5, at_most=3) == 3


def test_more_jobs_that_reach_a_goodput_again_do_not_count_where_fewer_miss_it():
    clock = Checkpointing(1.0, 24.73, mtbf=8307.0, mode="waiting-works", timer="clock")
    turns = Storage(1.0, writers=1)
    most = jobs_that_fit(clock, turns, goodput=0.957, at_most=80)
    reached = [predict(clock, turns, n).goodput >= 0.957 for n in range(most - 1, most + 2)]
    assert reached == [True, True, False]


def test_percentiles_that_nobody_knows_are_refused_with_what_to_do():
    with pytest.raises(ModelError, match=r"simulate_checkpoints"):
        predict(POOL, Storage(20e9, writers=1), 16).percentile(0.95)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"size": 0.0}, "size must be > 0"),
        ({"interval": math.nan}, "interval is nan"),
        ({"mtbf": -1.0}, "mtbf must be > 0"),
        ({"mode": "Blocking!"}, "mode"),
        ({"snapshot": 5.0}, 'for mode "asynchronous"'),
        ({"jitter": 1.0}, r"jitter must be in \[0, 1\)"),
        ({"jitter": 0.1, "timer": "clock"}, "clock"),
        ({"downtime": math.inf}, "downtime"),
        ({"nodes": 1.5}, "nodes must be a whole number"),
    ],
)
def test_bad_jobs_are_refused_in_words(wrong, message):
    with pytest.raises(ModelError, match=message):
        Checkpointing(**({"size": 1.0, "interval": 10.0} | wrong))


@pytest.mark.parametrize("wrong", [{"bandwidth": 0.0}, {"writers": 0}, {"order": "lifo"}])
def test_bad_storages_are_refused(wrong):
    with pytest.raises(ModelError):
        Storage(**({"bandwidth": 1.0} | wrong))


def test_extreme_inputs_give_numbers():
    for tau, mtbf, n in ((1e-3, 1e9, 500), (1e9, 1.0, 3), (10.0, 1e-3, 2), (1.0, 5.0, 400)):
        found = predict(Checkpointing(1.0, tau, mtbf, 1.0), Storage(1.0), n)
        assert 0.0 <= found.goodput <= 1.0
        assert 0.0 <= found.utilisation <= 1.0 + 1e-9


def test_odds_of_a_time_that_is_surely_over_are_those_of_its_transform():
    # An Erlang law of two stages: 1 / phi(x) = (1 + x / 2)^2, where 1 - phi rounds to one.
    found = _log_odds(np.array([1.0, 1e9]), PhaseType.erlang(phases=2, mean=3.0))
    assert found == pytest.approx([np.log(1.25), 2.0 * np.log1p(5e8)], rel=1e-12)


@pytest.mark.parametrize("size", [ONE, PhaseType.erlang(phases=2, mean=1.0)], ids=["M", "E2"])
def test_a_chain_knows_the_mean_of_the_writes_that_failures_spare(size):
    # of one job: E[W e^(-W/M)] / E[e^(-W/M)], k / (k / C + 1 / M) for k stages of a mean of C in all
    job = Checkpointing(1.0, interval=2.0, mtbf=1.0, jitter=ONE, size_law=size)
    found = predict(job, Storage(1.0))
    k = size.order
    assert found.method == "exact (chain)"
    assert found.write == found.stall == pytest.approx(k / (k + 1.0), rel=1e-12)


def test_of_two_jobs_as_well():
    tau, mtbf = 3.0, 4.0
    job = Checkpointing(1.0, interval=tau, mtbf=mtbf, jitter=ONE, size_law=ONE)
    # stages of a job that is named: works, writes, restores
    states = [(a, b) for a in range(3) for b in range(3)]
    rates = np.zeros((9, 9))
    for here, state in enumerate(states):
        speed = 1.0 / max(1, sum(stage > 0 for stage in state))
        for who, stage in enumerate(state):
            leave = {0: ((1, 1.0 / tau), (2, 1.0 / mtbf)), 1: ((0, speed), (2, 1.0 / mtbf)), 2: ((0, speed),)}
            for to, rate in leave[stage]:
                there = (to, state[1]) if who == 0 else (state[0], to)
                rates[here, states.index(there)] += rate
    balance = (rates - np.diag(rates.sum(axis=1))).T
    law = np.linalg.solve(np.vstack([balance[1:], np.ones(9)]), np.r_[np.zeros(8), 1.0])
    ours = [n for n, (a, _) in enumerate(states) if a == 1]
    ends = [1.0 / max(1, sum(stage > 0 for stage in states[n])) for n in ours]
    inside = np.diag(rates[ours].sum(axis=1)) - rates[np.ix_(ours, ours)]
    chance = np.linalg.solve(inside, ends)
    found = predict(job, Storage(1.0), jobs=2)
    assert found.write == pytest.approx(law[ours] @ chance / (law[ours] @ ends), rel=1e-10)


def test_sizes_that_vary_are_spared_more_often_than_their_mean():
    # a renewal process, as for constant sizes, with the transforms of the law in place of exponentials
    tau, size, mtbf, down = 2.0, 1.5, 3.0, 0.5
    job = Checkpointing(size, interval=tau, mtbf=mtbf, downtime=down, size_law=ONE)
    spared, restored = math.exp(-tau / mtbf) / (1.0 + size / mtbf), 1.0 / (1.0 + size / mtbf)
    found = predict(job, Storage(1.0))
    assert found.goodput == pytest.approx(tau * restored / ((1.0 / spared - 1.0) * (down + mtbf)), rel=1e-9)
    assert found.write == pytest.approx(size / (1.0 + size / mtbf), rel=1e-9)


def test_jobs_that_begin_together_may_stay_so_where_failures_are_rare():
    def predicted(stagger):
        return predict(Checkpointing(0.05, 1.0, mtbf=1e3, stagger=stagger), Storage(1.0), jobs=8)

    together, random = predicted("together"), predicted("random")
    assert together.goodput == random.goodput
    assert together.low < 1.0 / 1.4 < random.low  # all eight write for .4 s at once
    assert together.high == random.high
    assert "begin together" in " ".join(together.notes)


@pytest.mark.parametrize("writers", [None, 1])
@pytest.mark.parametrize("mode", ["waiting-works", "asynchronous"])
def test_clocks_that_fill_a_storage_to_the_brim_have_an_answer(mode, writers):
    job = Checkpointing(180.0, interval=3600.0, timer="clock", mode=mode, mtbf=1e6)
    found = predict(job, Storage(1.0, writers=writers), 20)
    assert found.low <= found.goodput <= found.high
    assert found.utilisation == pytest.approx(1.0, abs=0.002)


@pytest.mark.parametrize(("mode", "jobs"), [("blocking", 150), ("waiting-works", 150), ("blocking", 400)])
def test_jobs_that_mostly_fail_before_it_is_their_turn_have_an_answer(mode, jobs):
    job = Checkpointing(5e12, interval=7.27 * 3600, mtbf=86400.0, mode=mode)
    found = predict(job, Storage(1e9, writers=1), jobs)
    assert found.utilisation == pytest.approx(1.0, abs=1e-6)
    simulated, half_width = {150: (195_300.0, 2_900.0), 400: (275_700.0, 1_400.0)}[jobs]
    assert abs(found.write - simulated) < 4 * half_width


@pytest.mark.parametrize("mtbf", [1e17, 1e30])
def test_failures_that_hardly_ever_come_are_none(mtbf):
    """The survived part of a wait was one less next to nothing: a tenth of the stall was left."""
    law = PhaseType.erlang(phases=3, mean=1.0)
    job = Checkpointing(0.95, interval=6.24, mtbf=mtbf, size_law=law)
    storage = Storage(1.0, per_job=0.1, writers=2)
    rare, never = (predict(each, storage, 16) for each in (job, replace(job, mtbf=math.inf)))
    assert (rare.goodput, rare.stall) == pytest.approx((never.goodput, never.stall), rel=1e-6)


def test_no_more_than_the_bandwidth_is_used():
    """A third job waits behind two that write all the time: 104 % of the storage were said to be used."""
    job = Checkpointing(57.5, 9.1, 4860.0, mode="asynchronous", jitter=match_moments(1.0, 4.0))
    assert predict(job, Storage(1.0, per_job=0.5, writers=2), 3).utilisation == 1.0
