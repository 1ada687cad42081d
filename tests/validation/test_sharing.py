import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core.config import DISABLE_JIT
from scipy.stats import binom

from phasefit import PhaseType
from qmodels.errors import ModelError, UnstableError
from qmodels.policies import (
    DynamicPartitioning,
    SpaceSharing,
    System,
    TimeSharing,
    Workload,
    capacity,
    predict,
)
from qmodels.programs import Burst, Geometric, Phase, Program, WorkloadMix
from tests.naive import sharing as naive
from tests.outcomes import one_in_the_gate
from validation import RenewalJobs, ReplayedJobs, crossvalidate, simulate
from validation.sharing.draws import Draw, job_source
from validation.sharing.event_loop import play_jobs
from validation.sharing.layout import layout

DISCIPLINES = ["ps", "fcfs", "siro"]
SP, DP, TS = SpaceSharing, DynamicPartitioning, TimeSharing


def program(phases=3):
    return Program([Phase(io=Burst(6.0 + n, law="min(d, p/2)"), cpu=20.0 + 5 * n) for n in range(phases)])


OVERHEAD = PhaseType.erlang(phases=2, mean=6.0)


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("disk", DISCIPLINES)
@pytest.mark.parametrize(
    "policy",
    [
        SP(1, 1),
        SP(4, 1),
        SP(4, 2),
        SP(4, 4),
        SP(3, 2),
        SP(2, 4),
        SP(4, 2, sizes=(7, 4, 3, 2)),
        DP(1),
        DP(2),
        DP(3),
        DP(8),
        DP(2, overhead=OVERHEAD),
        DP(1, overhead=(PhaseType.exponential(mean=20.0),) * 3 + (OVERHEAD,) * 5),
        TS(1, 1, 3),
        TS(4, 2, 2),
        TS(3, 2, 2),
        TS(2, 4, 2),
        TS(4, 2, 3, ts_cap="min"),
        TS(2, 2, 3, cpu_discipline="ps"),
        TS(4, 1, 2, cpu_discipline="ps"),
    ],
    ids=str,
)
def test_every_job_leaves_when_the_naive_twin_says(policy, disk, rng):
    machine = System(processors=16, disks=8, min_processors=2, disk_discipline=disk)
    plan = layout(policy, machine, program().phase_times)
    most = capacity(policy, machine, Workload(program()))
    count, phases = 40 if DISABLE_JIT else 120, 3
    arrivals = np.cumsum(rng.exponential(1 / (0.9 * most), count))
    factors = rng.gamma(2.0, 0.5, (count, phases, 2))
    factors[rng.random(factors.shape) < 0.1] = 0.0  # some bursts have no length
    demand, picks = rng.gamma(2.0, 0.5, count), rng.random(2 * count * phases)
    drawn = [law.rvs(2 * count, random_state=rng) for law in plan.pauses]
    pauses = np.array(drawn) if drawn else np.empty((0, 0))
    pause_of = np.zeros(1, int) if plan.pause_of is None else plan.pause_of
    jobs = Draw(
        np.diff(arrivals, prepend=0.0),
        demand,
        np.arange(0, count * phases + 1, phases),
        factors[..., 0].ravel(),
        factors[..., 1].ravel(),
        pauses,
        picks,
    )
    response = play_jobs(plan, jobs, arrivals, (0, count - 1)).response
    expected = naive.played(
        policy,
        machine,
        program().phase_times,
        arrivals.tolist(),
        (demand[:, None, None] * factors).tolist(),
        picks=picks.tolist(),
        pauses=(lambda i, n: pauses[pause_of[i - 1], n]) if plan.pauses else None,
    )
    assert response[: count - 1] == pytest.approx(expected[: count - 1], rel=1e-9)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (SP(3, 2), ("static", 1, 3, [6, 5, 5], [0, 1, 0], [4, 3], "fcfs")),
        (SP(2, 4), ("static", 1, 2, [8, 8], [0, 1], [2, 2], "fcfs")),
        (SP(2, 1, sizes=(12, 4)), ("static", 1, 2, [12, 4], [0, 0], [7], "fcfs")),
        (DP(2), ("dynamic", 5, 5, [16, 8, 16 / 3, 4, 3.2], [], [4, 3], "fcfs")),
        (TS(3, 2, 2), ("timed", 2, 6, [6, 5, 5], [0, 1, 0], [4, 3], "fcfs")),
        (TS(3, 2, 2, ts_cap="min", cpu_discipline="ps"), ("timed", 2, 4, [6, 5, 5], [0, 1, 0], [4, 3], "ps")),
    ],
    ids=str,
)
def test_the_limits_of_the_naive_twin_are_those_of_the_paper(policy, expected):
    """Sixteen processors, at least three for a job, and seven disks; counted by hand."""
    machine = System(processors=16, disks=7, min_processors=3)
    assert naive.limits(policy, machine) == naive.Limits(*expected)


def test_the_naive_twin_agrees_with_a_queue_done_by_hand():
    """Two jobs share a disk: 2 s and 4 s of I/O from time 0 and 1, then 1 s of computation."""
    responses = naive.simulate(
        "static",
        1,
        [0.0, 1.0],
        [[(2.0, 1.0)], [(4.0, 1.0)]],
        [[1.0], [1.0]],
        [[1.0], [1.0]],
        [0, 0],
        1,
    )
    # alone until 1, shared until 3 (job 0 has done 2), job 1 has 3 left: ends at 6, computes to 7
    assert responses == pytest.approx([4.0, 6.0])


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("disk", ["ps", "fcfs"])
@pytest.mark.parametrize(
    "policy",
    [SP(4, 2), SP(3, 3), DP(2), DP(2, overhead=OVERHEAD), TS(2, 2, 2), TS(4, 1, 2, cpu_discipline="ps")],
    ids=str,
)
def test_processors_and_disks_are_busy_with_the_work_that_arrives(policy, disk):
    """Whatever the policy: linear computation and I/O take the same processor- and disk-seconds."""
    machine = System(processors=12, disks=6, min_processors=2, disk_discipline=disk)
    work = Workload(Program([Phase(io=3.0, cpu=24.0), Phase(io=0.0, cpu=6.0)]))
    rate = 0.12
    run = simulate(policy, machine, work, arrival_rate=rate, seed=8, jobs=4000, warm_up=500)
    # five quantities of twelve runs: 99.99 % intervals
    assert abs(run.processor_utilisation.z_score(rate * 30.0 / 12)) < 4
    assert abs(run.disk_utilisation.z_score(rate * 3.0 / 6)) < 4
    assert run.disk_utilisation.half_width < 0.05 * run.disk_utilisation.mean
    within = 4 * run.mean_jobs.half_width
    assert run.mean_jobs.mean == pytest.approx(rate * run.mean_response.mean, abs=within)
    running = rate * (run.mean_response.mean - run.mean_wait.mean)
    assert run.mean_running.mean == pytest.approx(running, rel=0.05)


@pytest.mark.parametrize("scv", [0.25, 1.0, 4.0])
def test_one_partition_obeys_pollaczek_khinchine(scv):
    machine = System(processors=4, disks=1)
    work = Workload.from_scv(Program([Phase(io=1.0, cpu=4.0)]), demand_scv=scv)
    run = simulate(SP(1, 1), machine, work, arrival_rate=0.3, seed=3, replications=20)
    service, rho = 2.0, 0.6
    exact = service + rho * service * (1 + scv) / (2 * (1 - rho))
    assert run.mean_response.contains(exact)
    assert run.mean_response.half_width < 0.1 * exact
    assert run.mean_jobs.contains(0.3 * exact)
    assert run.processor_utilisation.contains(0.3 * 1.0)
    assert run.disk_utilisation.contains(0.3 * 1.0)


def coverage(policies, machine, work, fractions, seeds):
    hits = total = 0
    for policy in policies:
        for place, fraction in enumerate(fractions):
            rate = fraction * capacity(policy, machine, work)
            for seed in range(seeds):
                found = crossvalidate(
                    policy, machine, work, arrival_rate=rate, seed=seed, point=place, replications=8
                )
                assert found.prediction.method == "exact"
                hits += found.covered
                total += 1
    return hits, total


@pytest.mark.thorough
def test_where_the_model_is_exact_the_interval_covers_it_as_often_as_it_says():
    """Ten seeds at three loads; fewer hits than this would come once in a thousand times."""
    machine = System(processors=16, disks=8, min_processors=4)
    work = Workload.from_scv(program(), demand_scv=2.0)
    hits, total = coverage([SP(4, 4)], machine, work, (0.3, 0.6, 0.8), seeds=10)
    assert hits >= binom.ppf(0.001, total, 0.95)


@pytest.mark.slow
@pytest.mark.parametrize(("demand_scv", "arrival_scv"), [(0.5, 1.0), (2.0, 1.0), (2.0, 4.0)])
@pytest.mark.parametrize("policy", [SP(1, 1), SP(4, 4), DP(4)], ids=lambda policy: policy.label)
def test_the_interval_covers_the_exact_model_in_a_hundred_seeds(policy, demand_scv, arrival_scv):
    machine = System(processors=16, disks=8, min_processors=4)
    computing = Program([Phase(io=0.0, cpu=20.0), Phase(io=0.0, cpu=40.0)])
    asked = computing if isinstance(policy, DP) else program()
    work = Workload.from_scv(asked, demand_scv=demand_scv, arrival_scv=arrival_scv)
    hits, total = coverage([policy], machine, work, (0.3, 0.6, 0.8), seeds=100)
    assert binom.ppf(0.001, total, 0.95) <= hits <= binom.ppf(0.999, total, 0.95), hits


#: Specification 9.7: exact chain of job places, exponential bursts, geometric phases of mean 5.
EXACT = {
    SP(1, 1): (18.583333, 29.333333, 72.333333),
    SP(2, 1): (16.132759, 21.171429, 44.326829),
    SP(4, 1): (16.115216, 19.601800, 35.012512),
    TS(1, 1, 2): (17.713320, 26.035714, 59.770764),
    TS(1, 1, 3): (17.830868, 25.914263, 57.456304),
}


@pytest.mark.thorough
@pytest.mark.parametrize("policy", EXACT, ids=lambda policy: policy.label)
def test_shared_disks_agree_with_the_exact_chain_of_job_places(policy):
    alternating = Program(
        [Phase(io=Burst(1.0, law="1"), cpu=Burst(2.0, law="1"))], phase_count=Geometric(mean=5.0)
    )
    machine = System(processors=4, disks=1)
    one = PhaseType.exponential(mean=1.0)
    jobs = RenewalJobs(one, [1.0])
    most = capacity(policy, machine, Workload(alternating), model="speed-scaled")
    for fraction, exact in zip((0.2, 0.5, 0.8), EXACT[policy], strict=True):
        run = simulate(
            policy,
            machine,
            Workload(alternating),
            arrival_rate=fraction * most,
            stream_of_jobs=jobs,
            bursts=one,
            draw_phases=True,
            seed=11,
            replications=10,
            jobs=10_000,
            warm_up=1000,
        )
        # five policies at three loads: 99.9 % intervals, and narrow ones
        wide = run.mean_response.half_width * 4.78 / 2.26
        assert abs(run.mean_response.mean - exact) < wide
        assert run.mean_response.half_width < 0.08 * exact


def test_the_gap_of_the_approximate_model_is_what_the_exact_chain_says():
    """At half of capacity the flow-equivalent server is 1.2 % high for SP(2,1)."""
    phase = Phase(io=Burst(1.0, law="1"), cpu=Burst(2.0, law="1"))
    machine, program = (
        System(processors=4, disks=1),
        Program([phase], phase_count=Geometric(mean=5.0)),
    )
    one = PhaseType.exponential(mean=1.0)
    alone = Workload(program, io_bursts=one, cpu_bursts=one)
    rate = 0.5 * capacity(SP(2, 1), machine, alone)
    rough = predict(SP(2, 1), machine, Workload(program), arrival_rate=rate).mean_response
    exact = predict(SP(2, 1), machine, alone, arrival_rate=rate, model="exact").mean_response
    assert exact == pytest.approx(EXACT[SP(2, 1)][1], abs=5e-7)
    assert rough / exact - 1 == pytest.approx(0.0121, abs=1e-4)


def test_the_same_seed_gives_the_same_bits_for_any_number_of_workers():
    machine = System(processors=16, disks=8, min_processors=4)
    work = Workload(program())
    runs = [simulate(SP(4, 2), machine, work, load=0.4, seed=5, jobs=800, workers=w) for w in (1, 2, 7)]
    assert len({(r.mean_response, r.processor_utilisation, r.events) for r in runs}) == 1
    other = simulate(SP(4, 2), machine, work, load=0.4, seed=6, jobs=800)
    assert other.mean_response != runs[0].mean_response


def test_policies_with_the_same_seed_meet_the_same_jobs():
    """Common random numbers: the difference is known better than either."""
    machine = System(processors=16, disks=8, min_processors=4)
    work = Workload.from_scv(program(), demand_scv=4.0)
    values = []
    for policy in (SP(2, 2), SP(2, 1)):
        common = {"arrival_rate": 0.05, "jobs": 2000, "warm_up": 500, "replications": 1}
        runs = [simulate(policy, machine, work, seed=seed, **common) for seed in range(12)]
        values.append([run.mean_response.mean for run in runs])
    first, second = np.array(values)
    assert np.std(second - first) < 0.5 * np.hypot(np.std(first), np.std(second))


def test_a_replayed_log_keeps_its_order_and_its_means(rng):
    gaps, work = rng.exponential(3.0, 50), rng.exponential(7.0, 50)
    drawn_gaps, drawn_work = ReplayedJobs(gaps, work).draw(120, rng=rng)
    start = int(np.argmin(abs(gaps / gaps.mean() - drawn_gaps[0])))
    order = (start + np.arange(120)) % 50
    assert drawn_gaps == pytest.approx(gaps[order] / gaps.mean())
    assert drawn_work == pytest.approx(work[order] / work.mean())


def test_general_laws_are_drawn_with_mean_one(rng):
    from scipy.stats import lognorm

    gaps, demands = RenewalJobs(lognorm(s=0.5), [2.0, 4.0, 6.0]).draw(20_000, rng=rng)
    assert gaps.mean() == pytest.approx(1.0, abs=4 * gaps.std() / 20_000**0.5)
    assert set(np.unique(demands)) == {0.5, 1.0, 1.5}


@pytest.mark.parametrize("bad", [[], [-1.0, 2.0], [np.nan], [[1.0]], None, "law", [0.0, 0.0]])
def test_what_no_job_stream_can_be_drawn_from_is_refused(bad):
    with pytest.raises(ModelError):
        RenewalJobs(PhaseType.exponential(mean=1.0), bad)


def test_an_unstable_load_is_refused_before_anything_is_simulated():
    machine = System(processors=16, disks=8, min_processors=4)
    with pytest.raises(UnstableError, match="stable only below load"):
        simulate(SP(4, 1), machine, Workload(program()), load=0.99)


@pytest.mark.parametrize(
    "given",
    [
        {"replications": 0},
        {"replications": 2.5},
        {"jobs": 0},
        {"jobs": 2.5},
        {"warm_up": -1},
        {"seed": -1},
        {"seed": 1.5},
        {"seed": None},
        {"point": -1},
        {"workers": 0},
        {"confidence": 2},
        {"confidence": None},
        {"bursts": "x"},
        {"stream_of_jobs": 5},
        {"load": None},
        {"load": np.nan},
        {"draw_phases": True},
        {"draw_phases": 1},
        {"precision": 0},
        {"precision": np.nan},
        {"precision": "x"},
        {"at_most": 0},
        {"precision": 0.1, "replications": 1},
        {"percentiles": (95,)},
        {"percentiles": (0.5, 1)},
        {"percentiles": (0.0, 0.5)},
        {"percentiles": "x"},
        {"percentiles": None},
        {"percentiles": [np.nan]},
    ],
    ids=str,
)
def test_nonsense_in_any_argument_is_a_typed_error(given):
    machine = System(processors=16, disks=8, min_processors=4)
    work = Workload(WorkloadMix([program()]), mix="mean")
    with pytest.raises(ModelError):
        simulate(SP(4, 4), machine, work, **({"load": 0.2} | given))


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("disk", one_in_the_gate(DISCIPLINES, {"siro"}))
def test_the_event_loop_says_the_same_without_its_compiler(disk):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-k", f"naive_twin_says and {disk}", __file__],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert "20 passed" in done.stdout


def test_the_load_of_a_run_is_its_rate_over_what_the_machine_could_do_at_most():
    """16 s of I/O and 1024 s of computation on 16 disks and processors: 64 s a job at least."""
    machine = System(processors=16, disks=16)
    work = Workload(Program([Phase(io=16.0, cpu=1024.0)]))
    given = {"seed": 1, "jobs": 100, "warm_up": 10, "replications": 2}
    run = simulate(SP(1, 1), machine, work, arrival_rate=1 / 256, **given)
    assert run.load == pytest.approx(0.25, rel=1e-12)
    assert run.arrival_rate == 1 / 256
    again = simulate(SP(1, 1), machine, work, load=0.25, **given)
    assert again.arrival_rate == pytest.approx(1 / 256, rel=1e-12)


@pytest.mark.parametrize(("drawn", "scv"), [(None, 1.0), (False, 1.0), (True, 1.75)])
def test_a_job_varies_like_the_number_of_its_phases_where_that_is_drawn(drawn, scv):
    """Which says how long a run has to be: one of a geometric number of mean 4 has 1 - 1/4 more."""
    program = Program([Phase(io=1.0, cpu=2.0)], phase_count=Geometric(4.0))
    assert job_source(Workload(program), None, None, drawn).scvs == pytest.approx((1.0, scv))
