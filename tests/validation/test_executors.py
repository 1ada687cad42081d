"""Who runs independent work: threads, processes, or an executor handed in."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from qmodels.errors import ModelError
from qmodels.policies import SpaceSharing, TimeSharing
from tests.workers import killed_always, killed_once
from validation import crossvalidate, simulate, simulate_candidates
from validation.jobs import PoissonStreams
from validation.machine import Machine, compare_strategies
from validation.mesh import Mesh
from validation.papers.rosti.load_sweep import reference_machine, reference_workload
from validation.sweeps.executors import parallel_map, process_pool, thread_pool, worker_count
from validation.sweeps.pools import dask_pool

MACHINE, WORK = reference_machine(), reference_workload()
SHORT = {"load": 0.1, "jobs": 300, "warm_up": 50, "replications": 3, "seed": 4}


class Reversed(Executor):
    """Runs what it is given last first, and in this process: an order that no pool would take."""

    def __init__(self):
        self.waiting, self.done, self.closed = [], 0, False

    def submit(self, function, /, *args, **kwargs):
        future = _Lazy(self)
        self.waiting.append((future, lambda: function(*args, **kwargs)))
        return future

    def run(self):
        while self.waiting:
            future, call = self.waiting.pop()
            future.set_result(call())
            self.done += 1

    def map(self, function, *iterables, **options):
        futures = [self.submit(function, *args) for args in zip(*iterables, strict=True)]
        self.run()
        return iter([future.result() for future in futures])

    def shutdown(self, wait=True, *, cancel_futures=False):
        self.closed = True


class _Lazy(Future):
    def __init__(self, owner):
        super().__init__()
        self.owner = owner

    def result(self, timeout=None):
        self.owner.run()
        return super().result(timeout)


def test_the_number_of_workers_is_resolved_in_one_place():
    assert worker_count(3) == 3
    assert worker_count(None) >= 1
    for wrong in (0, -1, 1.5, True, "2", 10**18):
        with pytest.raises(ModelError, match="workers"):
            worker_count(wrong)
    with thread_pool(2) as threads, process_pool(2) as processes:
        assert isinstance(threads, ThreadPoolExecutor)
        assert isinstance(processes, ProcessPoolExecutor)
        assert threads._max_workers == processes._max_workers == 2


def test_simulate_runs_on_the_executor_it_is_given_and_leaves_it_open():
    alone = simulate(SpaceSharing(4, 4), MACHINE, WORK, workers=1, **SHORT)
    backwards = Reversed()
    found = simulate(SpaceSharing(4, 4), MACHINE, WORK, executor=backwards, **SHORT)
    assert found.responses == alone.responses
    assert found.percentiles == alone.percentiles
    assert backwards.done == 3
    assert not backwards.closed


@pytest.mark.thorough
def test_simulate_gives_the_same_bits_on_threads_and_on_processes():
    alone = simulate(TimeSharing(4, 4, 2), MACHINE, WORK, workers=1, **SHORT)
    with process_pool(2) as pool:
        spread = simulate(TimeSharing(4, 4, 2), MACHINE, WORK, executor=pool, **SHORT)
        assert pool.submit(abs, -1).result() == 1  # still open
    threads = simulate(TimeSharing(4, 4, 2), MACHINE, WORK, workers=3, **SHORT)
    assert spread.responses == threads.responses == alone.responses


def test_an_executor_reaches_the_simulations_of_comparisons_and_trials():
    backwards = Reversed()
    some = [SpaceSharing(4, 4), SpaceSharing(2, 4)]
    simulate_candidates(some, MACHINE, WORK, executor=backwards, **SHORT)
    assert backwards.done == 2 * 3
    crossvalidate(some[0], MACHINE, WORK, executor=backwards, **SHORT)
    assert backwards.done == 3 * 3


def test_machines_run_on_the_executor_they_are_given():
    jobs = PoissonStreams(jobs=10, mean_interarrival=90.0, mean_size=4.0, largest=16)
    machine = Machine(mesh=Mesh(4, 4, io_side="west"))
    alone = compare_strategies(machine, ["MBS"], jobs, replications=3)
    with thread_pool(2) as pool:
        spread = compare_strategies(machine, ["MBS"], jobs, replications=3, executor=pool)
    assert spread.runs["MBS"].values == alone.runs["MBS"].values


def test_results_on_an_executor_come_in_the_order_of_the_tasks():
    seen = []
    with thread_pool(2) as pool:
        found = parallel_map(
            abs, [-3, 2, -1], executor=pool, what="sides", progress=lambda *to: seen.append(to)
        )
        with pytest.raises(TypeError):
            parallel_map(abs, [1, "a", 2], executor=pool)
        assert pool.submit(abs, -1).result() == 1
    assert found == [3, 2, 1]
    assert seen == [("sides", 1, 3), ("sides", 2, 3), ("sides", 3, 3)]


@pytest.mark.parametrize("wrong", [2, "threads", ThreadPoolExecutor])
def test_what_is_no_executor_is_refused(wrong):
    with pytest.raises(ModelError, match="executor"):
        parallel_map(abs, [1, 2], executor=wrong)
    with pytest.raises(ModelError, match="executor"):
        simulate(SpaceSharing(4, 4), MACHINE, WORK, executor=wrong, **SHORT)


def test_progress_of_a_simulation_says_what_is_counted():
    seen = []
    simulate(SpaceSharing(4, 4), MACHINE, WORK, progress=lambda *to: seen.append(to), **SHORT)
    assert seen == [("replications", k, 3) for k in (1, 2, 3)]
    seen.clear()
    simulate_candidates(
        [SpaceSharing(4, 4), SpaceSharing(2, 4)],
        MACHINE,
        WORK,
        progress=lambda *to: seen.append(to),
        **SHORT,
    )
    assert seen == [("candidates", 1, 2), ("candidates", 2, 2)]


# Workers that must not outlive their parent, and parents that outlive their workers


@pytest.mark.thorough
def test_the_work_of_a_lost_worker_is_done_again(tmp_path):
    found = parallel_map(killed_once, [str(tmp_path / "mark")] * 4, workers=2)
    assert len(found) == 4
    assert os.getpid() not in found


@pytest.mark.thorough
def test_workers_that_are_lost_again_and_again_are_told_in_one_line():
    with pytest.raises(ModelError, match=r"lost: .* 0 of 3 tasks were done; try with one worker"):
        parallel_map(killed_always, [1, 2, 3], workers=2)


@pytest.mark.thorough
def test_a_pool_that_is_handed_in_is_left_open_by_an_error():
    with process_pool(1) as pool:
        with pytest.raises(ModelError):
            parallel_map(_refuses, [1, 2], executor=pool)
        assert parallel_map(abs, [-3], executor=pool) == [3]


def _refuses(task):
    raise ModelError(f"no {task}")


def test_only_the_cores_that_this_process_may_use_are_counted(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3}, raising=False)
    assert worker_count(None) == 1


PARENT = """
import signal
import sys
from tests.workers import rests
from validation.sweeps.executors import parallel_map
from validation.sweeps.pools import dask_pool
if __name__ == "__main__":
    def say(what, done, total):
        print("done", done, flush=True)
    # A test run in the background of a shell has its interrupts ignored, and so its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parallel_map(rests, [0.0, 0.0, 60.0, 60.0], workers=2, progress=say)
"""


def children(pid):
    """Processes below this one, from what the system says of all."""
    parents = {}
    for entry in Path("/proc").iterdir():
        try:
            text = (entry / "stat").read_text() if entry.name.isdigit() else ""
        except OSError:
            continue
        if text:
            parents[int(entry.name)] = int(text.rpartition(")")[2].split()[1])
    found, todo = [], [pid]
    while todo:
        below = [child for child, parent in parents.items() if parent == todo[-1]]
        todo.pop()
        found += below
        todo += below
    return found


def command(pid):
    """The command line of a process; "" of one that has gone."""
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8") as words:
            return words.read()
    except OSError:
        return ""


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks /proc for processes")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_no_worker_outlives_a_parent_that_is_stopped(tmp_path, number):
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    root = Path(__file__).resolve().parents[2]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])}
    parent = subprocess.Popen(
        [sys.executable, script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    with parent:
        assert parent.stdout.readline() == "done 1\n"
        below = children(parent.pid)
        assert len(below) >= 2
        parent.send_signal(number)
        parent.wait(timeout=60)
        # Counted in looks, not in seconds: a loaded machine may take its time.
        for _ in range(600):
            left = [pid for pid in below if _alive(pid)]
            if not left:
                break
            time.sleep(0.05)
        assert not left
        # who clears up what it left in the system says nothing after its last word
        assert "leaked" not in parent.stderr.read()


def test_what_clears_up_is_started_in_silence_and_leaves_the_environment_as_it_was(monkeypatch):
    from multiprocessing import resource_tracker

    asked = []
    monkeypatch.setattr(
        resource_tracker, "ensure_running", lambda: asked.append(os.environ["PYTHONWARNINGS"])
    )
    monkeypatch.delenv("PYTHONWARNINGS", raising=False)
    process_pool(1).shutdown()
    assert "PYTHONWARNINGS" not in os.environ
    monkeypatch.setenv("PYTHONWARNINGS", "error")
    process_pool(1).shutdown()
    assert os.environ["PYTHONWARNINGS"] == "error"
    silent = "ignore:resource_tracker:UserWarning"
    assert {silent, f"error,{silent}"} <= set(asked)


def _alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_a_client_of_a_cluster_is_closed_if_it_was_opened_here(monkeypatch):
    """With a class that stands for Dask's."""

    class Client:
        def __init__(self, **where):
            if where.get("address") == "tcp://nobody:1":
                raise OSError("refused")
            self.where, self.threads, self.closed = where, {"a": 2, "b": 1}, False

        def get_executor(self, *, pure):
            return self, pure

        def nthreads(self):
            return self.threads

        def close(self, timeout):
            self.closed = True

    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(Client=Client))
    (client, pure), threads, close = dask_pool("cluster.json")
    assert client.where == {"scheduler_file": "cluster.json", "timeout": 20, "set_as_default": False}
    assert (pure, threads()) == (False, 3)
    client.threads = None  # as of a scheduler that has gone
    assert threads() == 1
    close()
    assert client.closed
    mine = Client()
    dask_pool(mine)[2]()
    assert not mine.closed
    with pytest.raises(ModelError, match="no Dask scheduler answers at tcp://nobody:1: refused"):
        dask_pool("tcp://nobody:1")
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ModelError, match=r"a cluster needs .*; install the extra"):
        dask_pool(mine)
