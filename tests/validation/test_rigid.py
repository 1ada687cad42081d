"""Rigid jobs: schedules start by start, held against a simulator over plain lists."""

import numpy as np
import pytest

from qmodels.errors import MemoryBudgetError, ModelError
from tests.naive import rigid as naive
from validation import Machine, Mesh
from validation.jobs import JobStream
from validation.jobs.disciplines import EASY, Conservative, FirstFit
from validation.machine.play import play
from validation.rigid import Drain, NodeGroup, RigidJobs, RigidMachine, Weights, simulate_rigid

PRINTED = {
    "submit": [0, 1, 2, 3, 4, 5],
    "need": [3, 4, 1, 1, 2, 1],
    "run": [10, 5, 4, 12, 3, 2],
    "limit": [10, 6, 8, 12, 6, 9],
}


@pytest.mark.parametrize(
    ("discipline", "starts"),
    [
        ("EASY", [0, 10, 2, 15, 15, 15]),
        ("FCFS", [0, 10, 15, 15, 15, 18]),
        ("conservative", [0, 10, 2, 15, 15, 15]),
    ],
)
def test_schedule_of_six_jobs(discipline, starts):
    assert simulate_rigid(RigidJobs(**PRINTED), 4, discipline).start.tolist() == starts


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("ties", ["start", "wait"])
@pytest.mark.parametrize("discipline", ["FCFS", "EASY", "conservative"])
@pytest.mark.parametrize("depth", [None, 0, 2])
def test_every_start_is_that_of_the_naive_simulator(discipline, ties, depth):
    rng = np.random.default_rng([38, len(discipline), len(ties), 9 if depth is None else depth])
    for classes, cap in ((1, None), (3, None), (1, 5), (2, 4)):
        for _ in range(5):
            n, processors = 60, int(rng.integers(4, 12))
            submit = np.sort(rng.integers(0, 100, n))
            need, run = rng.integers(1, processors + 1, n), rng.integers(1, 12, n)
            need = np.where(rng.random(n) < 0.7, 1 + need // 4, need)
            limit = 2 ** np.ceil(np.log2(run + rng.integers(0, 6, n)))
            user, priority = rng.integers(0, 4, n), rng.integers(0, classes, n)
            rules = {"FCFS": "FCFS", "EASY": EASY(ties=ties, depth=depth)}
            rule = rules.get(discipline, Conservative(depth=depth))
            jobs = RigidJobs(submit, need, run, limit=limit, user=user, priority=priority)
            found = simulate_rigid(jobs, processors, rule, cap=cap).start
            columns = (submit.tolist(), need.tolist(), run.tolist(), np.maximum(limit, run).tolist())
            assert (
                found.tolist()
                == naive.starts(
                    *columns, processors, discipline=discipline, ties=ties, depth=depth,
                    priority=priority.tolist(), user=user.tolist(), cap=cap or np.inf,
                )
            )  # fmt: skip


@pytest.mark.thorough
def test_machine_of_places_and_rigid_jobs_have_one_backfilling():
    rng = np.random.default_rng([38, 1])
    arrivals, sizes = np.cumsum(rng.exponential(5.0, 300)), rng.integers(1, 13, 300)
    demands = rng.exponential(12.0, 300)
    limits = 2.0 ** np.ceil(np.log2(demands))
    stream = JobStream(arrivals=arrivals, sizes=sizes, demands=demands, estimates=limits)
    for rule in (EASY(), EASY(depth=3), FirstFit(), Conservative(), Conservative(depth=3)):
        machine = Machine(mesh=Mesh(4, 4), strategy="random", discipline=rule, network="none")
        found = simulate_rigid(RigidJobs(arrivals, sizes, demands, limit=limits), 16, rule)
        assert found.start == pytest.approx(play(machine, stream).start, abs=1e-9)


def test_heaviest_first_and_age_stops_counting():
    # Two wait for the whole machine: the larger is heavier unless the other is older by the limit.
    jobs = RigidJobs([0, 1, 30], [4, 1, 4], [40, 5, 5])
    large_first = Weights(size=10.0, age=5.0, age_limit=20.0)
    assert simulate_rigid(jobs, 4, "FCFS", weights=large_first).start.tolist() == [0, 45, 40]
    old_first = Weights(size=10.0, age=20.0, age_limit=20.0)
    assert simulate_rigid(jobs, 4, "FCFS", weights=old_first).start.tolist() == [0, 40, 45]


def test_fair_share_puts_first_who_has_used_least():
    jobs = RigidJobs([0, 1, 2], [4, 4, 4], [9, 9, 9], user=[0, 0, 1])
    assert simulate_rigid(jobs, 4, weights=Weights(fair_share=1.0)).start.tolist() == [0, 18, 9]


def test_nodes_with_memory_cards_and_features():
    groups = [NodeGroup(2, 4, memory=10), NodeGroup(1, 4, memory=99, gpus=1, features=("big",))]
    jobs = RigidJobs(
        [0, 1, 2, 3, 4], [4, 1, 1, 8, 1], [10, 10, 10, 10, 10], nodes=[1, 1, 1, 2, 1],
        memory=[10, 50, 50, 1, 1], gpus=[0, 1, 0, 0, 1], place=["", "", "", "", "big"],
    )  # fmt: skip
    # The two with 50 MB must have the large node; whoever wants its card waits for that.
    starts = simulate_rigid(jobs, RigidMachine(groups), "first-fit").start
    assert starts.tolist() == [0, 1, 11, 10, 11]
    with pytest.raises(ModelError, match="job 0 asks for 3 nodes with 2 cores each"):
        simulate_rigid(RigidJobs([0], [6], [1], nodes=[3], gpus=[1]), RigidMachine(groups))


def test_planned_job_keeps_its_cores_or_its_whole_node():
    # The third is planned for 10 on two of the first node's four cores; the fourth wants one of the others.
    jobs = RigidJobs([0, 1, 2, 3], [3, 4, 2, 1], [10, 20, 10, 30])
    machine = RigidMachine([NodeGroup(2, 4)])
    assert simulate_rigid(jobs, machine, "conservative").start.tolist() == [0, 1, 10, 3]
    by_nodes = Conservative(whole_nodes=True)
    assert simulate_rigid(jobs, machine, by_nodes).start.tolist() == [0, 1, 10, 10]


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("seed", range(40))
def test_plans_on_nodes_are_those_of_the_naive_simulator(seed):
    rng = np.random.default_rng([38, 9, seed])
    n, plain = int(rng.integers(4, 14)), int(rng.integers(1, 4))
    have = [(4, 8, 0)] * plain + [(4, 20, 1)]
    groups = [NodeGroup(plain, 4, memory=8), NodeGroup(1, 4, memory=20, gpus=1, features=("big",))]
    submit, run = np.sort(rng.integers(0, 20, n)), rng.integers(1, 12, n)
    limit, cores, memory = run + rng.integers(0, 8, n), rng.integers(1, 5, n), rng.integers(0, 9, n)
    nodes = np.where(rng.random(n) < 0.6, 1, rng.integers(1, plain + 2, n))
    big = (nodes == 1) & (rng.random(n) < 0.2)
    memory = np.where(big, 2 * memory, memory)
    wanted = np.stack([cores, memory, big], axis=1).tolist()
    admitted = [[plain] if big[j] else list(range(plain + 1)) for j in range(n)]
    jobs = RigidJobs(
        submit, cores * nodes, run, limit=limit, nodes=nodes, memory=memory, gpus=big.astype(int),
        place=["big" if each else "" for each in big],
    )  # fmt: skip
    whole = bool(seed % 2)
    found = simulate_rigid(jobs, RigidMachine(groups), Conservative(whole_nodes=whole)).start.tolist()
    columns = [column.tolist() for column in (submit, run, limit, nodes)]
    assert found == naive.planned_on_nodes(*columns, wanted, admitted, have, whole=whole)


@pytest.mark.thorough
def test_plan_that_does_not_fit_in_memory_is_refused_with_a_depth():
    n = 30_000
    jobs = RigidJobs(np.arange(n), np.ones(n, int), np.ones(n))
    machine = RigidMachine([NodeGroup(4000, 1)])
    with pytest.raises(MemoryBudgetError, match=r"takes [0-9]+ GB; plan fewer: Conservative\(depth=1000\)"):
        simulate_rigid(jobs, machine, "conservative")
    few = jobs.of(np.arange(50))
    assert simulate_rigid(few, machine, Conservative(depth=5)).mean_wait == 0.0


def test_nobody_planned_is_delayed():
    # EASY lets the last pass the second that waits; planned for 15 to 20, it would be.
    jobs = RigidJobs([0, 1, 2, 3], [3, 4, 4, 1], [10, 5, 5, 9], limit=[10, 5, 5, 30])
    assert simulate_rigid(jobs, 5, "EASY").start.tolist() == [0, 10, 15, 3]
    assert simulate_rigid(jobs, 5, "conservative").start.tolist() == [0, 10, 15, 3]
    wider = RigidJobs([0, 1, 2, 3], [3, 4, 5, 1], [10, 5, 5, 9], limit=[10, 5, 5, 30])
    assert simulate_rigid(wider, 5, "EASY").start.tolist() == [0, 10, 15, 3]
    assert simulate_rigid(wider, 5, "conservative").start.tolist() == [0, 10, 15, 20]


def test_drained_processors_take_no_new_job_and_come_back():
    jobs = RigidJobs([0, 3, 4], [2, 2, 2], [10, 4, 4])
    machine = RigidMachine(4, (Drain(2.0, 6.0, 2),))
    assert simulate_rigid(jobs, machine).start.tolist() == [0, 6, 10]
    for_good = RigidMachine(4, (Drain(2.0, np.inf, 4),))
    assert np.isnan(simulate_rigid(jobs, for_good).start).tolist() == [False, True, True]


def test_drained_node_on_which_a_job_still_runs_hides_no_other_node():
    jobs = RigidJobs([0, 0, 3], [4, 4, 4], [2, 10, 1])
    machine = RigidMachine([NodeGroup(2, 4)], (Drain(1.0, np.inf, 1),))
    assert simulate_rigid(jobs, machine).start.tolist() == [0, 0, 3]


def test_a_job_whose_node_was_taken_may_pass_on_another_at_the_next_event():
    """The fourth would hold back the third on the first node, until the fifth fills that."""
    jobs = RigidJobs(
        [1, 1, 4, 7, 7, 8], [1, 2, 3, 1, 1, 1], [5, 10, 8, 10, 3, 10], limit=[5, 15, 13, 11, 8, 10]
    )
    machine = RigidMachine([NodeGroup(1, 3), NodeGroup(1, 2)])
    assert simulate_rigid(jobs, machine).start.tolist() == [1, 1, 11, 8, 7, 8]


def test_job_that_leaves_keeps_nobody_back():
    jobs = RigidJobs([0, 1, 2], [3, 4, 2], [10, 5, 5], leave=[np.inf, 4.0, np.inf])
    assert simulate_rigid(jobs, 4, "FCFS").start.tolist() == pytest.approx([0, np.nan, 10], nan_ok=True)
    small = RigidJobs([0, 1, 2], [3, 4, 1], [10, 5, 5], leave=[np.inf, 4.0, np.inf])
    assert simulate_rigid(small, 4, "FCFS").start.tolist() == pytest.approx([0, np.nan, 4], nan_ok=True)


def test_a_withdrawal_of_a_job_that_has_started_is_no_event():
    """One job behind the first is looked at: the last is in sight at the event after the third started."""
    jobs = RigidJobs([0, 1, 1, 1], [3, 5, 1, 1], [9, 5, 7, 3], leave=[4.0, np.inf, np.inf, np.inf])
    kept = RigidJobs(jobs.submit, jobs.need, jobs.run)
    assert simulate_rigid(kept, 5, EASY(depth=1)).start.tolist() == [0, 9, 1, 14]
    assert simulate_rigid(jobs, 5, EASY(depth=1)).start.tolist() == [0, 9, 1, 14]


def test_users_of_any_number_take_no_memory():
    jobs = RigidJobs([0, 0], [1, 1], [5, 5], user=[0, 2**31 - 1])
    assert simulate_rigid(jobs, 2, cap={2**31 - 1: 0}, weights=Weights(age=1.0)).start.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"need": [0]}, r"need must hold whole numbers of at least 1 below 2\^31, got need\[0\] = 0"),
        ({"run": [0.0]}, r"run times must be above 0, got run\[0\] = 0"),
        ({"submit": [1, 0], "need": [1, 1], "run": [1, 1]}, r"submit\[1\] is 0"),
        ({"limit": [1.0, 2.0]}, "limit has 2 values for 1 jobs"),
        ({"nodes": [3]}, "needs 2 processors on 3 nodes"),
        ({"leave": [0.0]}, r"leave must be after submit, got leave\[0\] = 0 and submit\[0\] = 0"),
        ({"leave": ["never"]}, r"leave must be real numbers, got \['never'\]"),
        ({"leave": 5.0, "submit": [0, 1], "need": [1, 1], "run": [1, 1]}, "leave has 1 values for 2 jobs"),
    ],
)
def test_impossible_jobs_are_refused_with_number_and_place(columns, message):
    with pytest.raises(ModelError, match=message):
        RigidJobs(**{"submit": [0.0], "need": [2], "run": [5.0]} | columns)
