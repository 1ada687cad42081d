"""Balancers: their contract, both ways of running them, and what each rule does."""

from functools import partial

import numpy as np
import pytest

from qmodels.errors import ModelError
from tests.validation.test_cluster import alike, drawn
from validation.cluster import (
    BALANCERS,
    AbstractBalancer,
    Cluster,
    ClusterTrace,
    Node,
    SyntheticTraces,
    check_balancer,
    compare_balancers,
    find_balancer,
    simulate_cluster,
)
from validation.cluster.balancing import IOCMPM, IOCMRE, Batch, Move, NoBalancing, register

EVERY = pytest.mark.parametrize("name", BALANCERS)


def asked(balancer):
    """A balancer that answers as another one, but has no rules and so is asked about every job."""
    methods = {
        "name": balancer.name,
        "dedicated": balancer.dedicated,
        "place": lambda self, view, job: balancer.place(view, job),
        "moves": lambda self, view, job: balancer.moves(view, job),
    }
    return type("Asked", (AbstractBalancer,), methods)()


@pytest.mark.thorough(first=1, but=["1.0-IOCM-PM"])
@EVERY
@pytest.mark.parametrize("broadcast", [0.0, 1.0])
def test_asked_in_python_a_balancer_does_what_its_rules_do_compiled(name, broadcast):
    cluster = Cluster([Node(), Node(speed=2.0)] * 4, broadcast=broadcast)
    balancer = asked(BALANCERS[name]())
    trace = drawn()
    compiled, python = (simulate_cluster(cluster, trace, b) for b in (name, balancer))
    assert python.finish.tobytes() == compiled.finish.tobytes()
    assert np.array_equal(python.migrations, compiled.migrations) or name == "BS"
    assert python.refusals == compiled.refusals


@pytest.mark.thorough
@EVERY
def test_every_balancer_keeps_the_contract(name):
    check = check_balancer(BALANCERS[name], jobs=60)
    assert check.passed, check.table()
    assert check.questions >= 5 * 60
    assert (check.waits > 0) == (name == "BS")
    assert (check.moves > 0) == (name == "IOCM-PM")


class Fine(AbstractBalancer):
    """The least loaded nodes by tasks, numbers in order."""

    name = "fine"

    def place(self, view, job):
        return np.argsort(view.given, kind="stable")[: job.tasks]


class Doubling(Fine):
    """Puts all tasks on one node."""

    def place(self, view, job):
        return [0] * job.tasks


class Outside(Fine):
    def place(self, view, job):
        return list(range(1, job.tasks + 1)) if view.nodes > 1 else [1]


class Short(Fine):
    def place(self, view, job):
        return [0]


class Floating(Fine):
    def place(self, view, job):
        return np.arange(job.tasks) + 0.5


class Dawdling(Fine):
    def place(self, view, job):
        return None


class Remembering(Fine):
    def __init__(self):
        self.calls = 0

    def place(self, view, job):
        self.calls += 1
        return np.roll(np.arange(view.nodes), self.calls)[: job.tasks]


class Drawing(Fine):
    def place(self, view, job):
        return np.random.default_rng().permutation(view.nodes)[: job.tasks]


class Scribbling(Fine):
    def place(self, view, job):
        view.tasks[0] = 99
        return super().place(view, job)


class Failing(Fine):
    def place(self, view, job):
        raise KeyError("oops")


class Crowding(Fine):
    """Moves a task to where its sibling is."""

    def place(self, view, job):
        return job.default_nodes

    def moves(self, view, job):
        for node in range(view.nodes):
            for one in view.running(node):
                if view.siblings(one.job).size > 1:
                    yield Move(one.task, int(view.siblings(one.job)[0]))


class Restless(Fine):
    """Moves tasks that are still frozen."""

    def moves(self, view, job):
        for node in range(view.nodes):
            for one in view.running(node):
                if not one.movable:
                    free = set(range(view.nodes)) - set(view.siblings(one.job).tolist())
                    if free:
                        yield Move(one.task, free.pop())


@pytest.mark.parametrize(
    ("kind", "promise", "said"),
    [
        (Doubling, "nodes", "no two tasks"),
        (Outside, "nodes", "numbered from 0"),
        (Short, "nodes", "for each task"),
        (Floating, "nodes", "whole number"),
        (Dawdling, "waiting", "empty cluster"),
        (Remembering, "repeatable", "then"),
        (Drawing, "repeatable", "afresh"),
        (Scribbling, "pure", "read-only"),
        (Failing, "made", "KeyError"),
        (Crowding, "moves", "a task of that job is there"),
        (Restless, "moves", "frozen"),
        (object, "made", "no AbstractBalancer"),
        (partial(IOCMRE, crowded=-1.0), "made", "crowded must be >= 0"),
    ],
)
def test_a_broken_promise_is_named_with_its_case(kind, promise, said):
    check = check_balancer(kind, jobs=40)
    assert not check.passed
    assert said in check.failures[promise], check.table()
    assert "BROKEN" in check.table()
    assert not check.to_frame().kept.all()


def test_one_s_own_keeps_the_contract_and_competes():
    assert check_balancer(Fine, jobs=40).passed
    traces = SyntheticTraces(jobs=60, nodes=8)
    found = compare_balancers(Cluster.of(8), traces, [Fine(), "iocm-re"], replications=3, seed=2)
    assert set(found.runs) == {"fine", "IOCM-RE"}
    gap = found.compare("fine", "IOCM-RE")
    ours, theirs = (np.array(found.runs[n].values["slowdown"]) for n in ("fine", "IOCM-RE"))
    assert gap.mean == pytest.approx((ours - theirs).mean())
    assert "fine" in found.table()
    assert found.to_frame().query("quantity == 'slowdown'").shape[0] == 2


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Doubling, "no two tasks of a job may share a node"),
        (Dawdling, "wait although the cluster is empty"),
        (Crowding, "a task of that job is there already"),
    ],
)
def test_a_run_stops_at_an_answer_that_is_none(kind, message):
    with pytest.raises(ModelError, match=message):
        simulate_cluster(Cluster.of(8), drawn(jobs=40), kind())


def test_replications_are_independent_of_each_other_and_of_the_workers():
    traces = SyntheticTraces(jobs=40, nodes=4, parallel=0.0)
    many = compare_balancers(Cluster.of(4), traces, ["NLB"], replications=4, seed=3)
    few = compare_balancers(Cluster.of(4), traces, ["NLB"], replications=2, seed=3)
    assert many.runs["NLB"].values["slowdown"][:2] == few.runs["NLB"].values["slowdown"]
    assert len(set(many.runs["NLB"].values["slowdown"])) == 4


def test_a_log_is_played_once_and_names_are_different():
    trace = drawn(jobs=30)
    found = compare_balancers(Cluster.of(8), trace, ["NLB", "CPU"], replications=9)
    assert found.runs["NLB"].replications == 1
    assert found.compare("NLB", "CPU").verdict == "undecided"
    with pytest.raises(ModelError, match="different names"):
        compare_balancers(Cluster.of(8), trace, ["NLB", "nlb"])


# What the rules do, on states small enough to be worked out by hand.


def then_one(cluster, before, **columns):
    """Jobs that run already, and one more that comes to node 0 a little later."""
    last = {
        "arrivals": 1e-3,
        "homes": 0,
        "tasks": 1,
        "demands": 50.0,
        "memory": 1.0,
        "io_rates": 0.0,
        "initial": 0.0,
        "fault_rates": 0.0,
    } | columns
    names = list(last)
    first = {n: np.asarray(before.get(n, np.zeros(len(before["homes"])))) for n in names}
    return ClusterTrace(**{n: np.append(first[n], last[n]) for n in names})


def loaded(homes, **columns):
    count = len(homes)
    usual = {
        "homes": homes,
        "tasks": np.ones(count),
        "demands": np.full(count, 100.0),
        "memory": np.full(count, 1.0),
    }
    return usual | columns


def rooted(homes):
    """Jobs with so much data that they stay where they come, whatever the load."""
    return loaded(homes, initial=np.full(len(homes), 1e9))


def where_last_goes(name, trace, nodes=4, **options):
    return int(simulate_cluster(Cluster.of(nodes, **options), trace, name).started[-1])


def test_rule_one_takes_the_node_with_least_io_and_least_memory_among_equals():
    busy = loaded(
        [0, 1, 2, 3], io_rates=np.array([2.0, 1.0, 0.0, 0.0]), memory=np.array([1.0, 1.0, 9.0, 5.0])
    )
    trace = then_one(None, busy, io_rates=1.0)
    assert where_last_goes("IOCM-RE", trace) == 3
    # Blind to disks, the others see one task everywhere.
    assert where_last_goes("CPU", trace) == where_last_goes("memory", trace) == 0


def test_a_load_below_the_threshold_is_no_io():
    busy = loaded([0, 1], io_rates=np.array([0.04, 0.0]))
    trace = then_one(None, busy, io_rates=1.0)
    assert where_last_goes("IOCM-RE", trace) == 0
    assert where_last_goes(IOCMRE(io_threshold=0.03), trace) != 0


def test_rule_two_leaves_a_node_that_would_run_out_of_memory():
    busy = loaded([0, 1, 2, 3], memory=np.array([600.0, 300.0, 100.0, 200.0]))
    trace = then_one(None, busy, memory=50.0, fault_rates=1.0)
    assert where_last_goes("memory", trace) == where_last_goes("IOCM-RE", trace) == 2
    assert where_last_goes("CPU", trace) == 0
    assert where_last_goes("memory", then_one(None, busy, memory=40.0, fault_rates=1.0)) == 0


def test_rule_three_needs_four_tasks_and_more_than_the_mean():
    three = then_one(None, loaded([0, 0, 0, 1, 2]))
    four = then_one(None, loaded([0, 0, 0, 0, 1, 2]))
    all_over = then_one(None, loaded([n for n in range(4) for _ in range(4)]))
    for name in ("CPU", "memory", "IOCM-RE"):
        assert where_last_goes(name, three) == 0
        assert where_last_goes(name, four) == 3
        assert where_last_goes(name, all_over) == 0


def test_nobody_goes_where_the_gain_is_less_than_the_cost():
    busy = loaded([0, 0, 0, 0])
    # It gains 3 to 4 times its CPU time: 4 x 2 s against 9.7 s for 50 MB, or 0.1 s for nothing.
    assert where_last_goes("CPU", then_one(None, busy, demands=2.0, initial=50.0)) == 0
    assert where_last_goes("CPU", then_one(None, busy, demands=3.0, initial=50.0)) == 1
    assert where_last_goes("CPU", then_one(None, busy, demands=0.02)) == 0
    assert where_last_goes("CPU", then_one(None, busy, demands=0.03)) == 1


def test_a_job_that_went_elsewhere_starts_after_its_cost():
    trace = then_one(None, loaded([0, 0, 0, 0]), demands=3.0, initial=50.0)
    run = simulate_cluster(Cluster.of(2), trace, "CPU")
    assert run.spent["migration"][-1] == pytest.approx(0.1 + 50 * (1 / 12.5 + 2 * 14.4 / 256))
    assert run.finish[-1] == pytest.approx(1e-3 + run.spent["migration"][-1] + 3.0)


def test_preemption_moves_the_task_that_gains_and_freezes_it_for_the_cost():
    # A long job alone at a disk; a short one comes and stays, and the long one goes.
    busy = loaded([0], io_rates=np.array([1.0]), demands=np.array([50.0]))
    trace = then_one(None, busy, io_rates=1.0, demands=0.01, initial=100.0)
    run = simulate_cluster(Cluster.of(2), trace, "IOCM-PM")
    assert run.started.tolist() == [0, 0]
    assert run.preempted.tolist() == [1, 0]
    assert run.migrations.tolist() == [[0, 1], [0, 0]]
    assert run.spent["migration"] == pytest.approx([0.3 + 1.0 / 12.5, 0.0])
    assert simulate_cluster(Cluster.of(2), trace, IOCMPM(rounds=0)).preempted.sum() == 0


def test_a_task_that_was_moved_cools_down_before_it_moves_again():
    # Short jobs follow it to the other node at once: it stays until twice the cost has passed.
    cost = 0.3 + 1.0 / 12.5
    for later, moves in ((1.5 * cost, 1), (2.5 * cost, 2)):
        trace = ClusterTrace(
            arrivals=[0.0, 1e-3, later],
            homes=[0, 0, 1],
            tasks=[1, 1, 1],
            demands=[50.0, 0.01, 0.2],
            memory=[1.0, 1.0, 1.0],
            io_rates=[1.0, 1.0, 5.0],
            initial=[0.0, 100.0, 1e4],
        )
        run = simulate_cluster(Cluster.of(2), trace, "IOCM-PM")
        assert run.preempted.tolist() == [moves, 0, 0]


def test_the_batch_system_serves_in_order_on_nodes_of_their_own():
    trace = ClusterTrace(
        arrivals=[0.0, 1.0, 2.0, 3.0],
        homes=[0, 0, 0, 0],
        tasks=[1, 3, 1, 2],
        demands=[10.0, 4.0, 1.0, 1.0],
        memory=np.ones(4),
    )
    run = simulate_cluster(Cluster.of(3), trace, "BS")
    # The wide job waits for all three nodes, and those behind it for their turn.
    assert run.start == pytest.approx([0.0, 10.0, 14.04, 14.04])
    assert run.finish == pytest.approx([10.0, 14.04, 15.04, 15.05])
    assert run.part("queueing") == pytest.approx((run.start - trace.arrivals) / run.alone)


def test_a_node_with_as_many_tasks_as_the_mean_is_not_overloaded():
    trace = then_one(None, rooted([0] * 4 + [1] * 8 + [3] * 4))
    for name in ("CPU", "memory", "IOCM-RE"):
        assert where_last_goes(name, trace) == 0
    trace = then_one(None, rooted([0] * 5 + [1] * 7 + [3] * 4))
    for name in ("CPU", "memory", "IOCM-RE"):
        assert where_last_goes(name, trace) == 2


def test_a_parallel_job_starts_after_the_largest_cost_of_its_tasks():
    slow, fast = Node(link=1.0), Node()
    cluster = Cluster([fast, fast, fast, slow])
    trace = then_one(None, rooted([0] * 6 + [1] * 6), tasks=2, demands=1e3, initial=50.0)
    run = simulate_cluster(cluster, trace, "CPU")
    assert sorted(run.started[-2:].tolist()) == [2, 3]
    dearest = 0.1 + 50.0 * (1.0 + 2 * 14.4 / 256)  # over the link of 1 MB/s; not the sum
    assert run.spent["migration"][-1] == pytest.approx(dearest)


def test_balancers_that_hear_nothing_yet_leave_everybody_where_they_are():
    trace = then_one(None, loaded([0, 0, 0, 0]))
    assert where_last_goes("CPU", trace, broadcast=100.0) == 0
    assert where_last_goes("CPU", trace) == 1
    assert where_last_goes("CPU", trace, broadcast=1e-3 / 1.5) == 1


def test_parameters_are_checked_and_names_found_in_any_case():
    assert find_balancer("iocm-pm") == IOCMPM()
    assert find_balancer(Batch()) == Batch()
    assert find_balancer(f"{NoBalancing.__module__}:NoBalancing").name == "NLB"
    with pytest.raises(ModelError, match="did you mean 'IOCM-RE'"):
        find_balancer("IOCM-RA")
    with pytest.raises(ModelError, match="rounds must be >= 0"):
        IOCMPM(rounds=-1)
    with pytest.raises(ModelError, match="lacks place"):
        register(type("Half", (AbstractBalancer,), {"name": "half"}))


def test_the_same_memory_load_moves_nobody_by_rule_one(rng):
    """Where nobody does I/O and memory suffices, IOCM-RE and CPU decide alike but for the price."""
    trace = drawn(io_rate=0.0, offered_disk=None, offered_cpu=0.5, memory_factor=0.1)
    both = [simulate_cluster(Cluster.of(8), trace, name) for name in ("IOCM-RE", "memory")]
    assert (both[0].elsewhere > 0).sum() == pytest.approx((both[1].elsewhere > 0).sum(), abs=5)
    assert alike(1).jobs == 1
