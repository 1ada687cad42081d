"""Executors that remember: what was done once is not redone, and nothing else changes."""

import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial

import numpy as np
import pytest

from qmodels.errors import ModelError
from qmodels.io.scenario import load_scenario
from qmodels.policies import SpaceSharing
from qmodels.policies.choice.policy_map import best_policies
from qmodels.process import Stopped, all_kept
from tests.command import invoked
from tests.outcomes import one_in_the_gate
from tests.validation.test_executors import MACHINE, SHORT, WORK
from tests.validation.test_sweep_journal import ROOT
from validation import simulate
from validation.commands import recommend
from validation.jobs import PoissonStreams
from validation.machine import Machine, compare_strategies
from validation.mesh import Mesh
from validation.papers import EXPERIMENTS, RunOptions
from validation.sweeps import pools
from validation.sweeps.executors import parallel_map
from validation.sweeps.journal import Journal
from validation.sweeps.keeping import KeepingExecutor, journal_beside, keepers

RUNS = ROOT / "docs" / "examples" / "measured-runs.toml"

SMALL = """
[machine]
processors = 4
disks = 2
[[program]]
name = "one"
io = { total = 2.0 }
cpu = { total = 8.0 }
[[policy]]
kind = "DP"
disk_partitions = [1]
[study]
loads = [0.3]
"""


def test_who_waits_for_what_is_called_off_is_woken(tmp_path):
    began, ends = threading.Event(), threading.Event()
    with keepers(tmp_path / "j", "validation.sweeps.plain", workers=1) as kept:
        first = kept.threads.submit(_held, began, ends)
        others = [kept.threads.submit(abs, -k) for k in range(5)]
        assert began.wait(60)
        kept.threads.shutdown(wait=False, cancel_futures=True)
        ends.set()
        assert len(list(as_completed([first, *others], timeout=60))) == 6
        assert [each.cancelled() for each in others] == [True] * 5
        assert first.result() == "held"


def _held(began, ends):
    began.set()
    ends.wait(60)
    return "held"


class Counting(ThreadPoolExecutor):
    """Counts what it is given, and refuses more than so much of it."""

    def __init__(self, most=10**9):
        super().__init__(2)
        self.count, self.most, self.guard = 0, most, threading.Lock()

    def submit(self, function, /, *args, **kwargs):
        with self.guard:
            self.count += 1
            if self.count > self.most:
                raise KeyboardInterrupt
        return super().submit(function, *args, **kwargs)


def remembered(file, work, most=10**9):
    """What `work(executor)` gives, and how much of it was done."""
    inner = Counting(most)
    with Journal(file, version="1") as journal:
        keeping = KeepingExecutor(lambda: inner, journal)
        try:
            return work(keeping), inner.count
        finally:
            keeping.shutdown()


def simulated(executor):
    return simulate(SpaceSharing(1, 1), MACHINE, WORK, executor=executor, **SHORT).responses


def compared(executor):
    machine = Machine(mesh=Mesh(4, 4, io_side="west"))
    jobs = PoissonStreams(jobs=10, mean_interarrival=40.0, mean_size=3.0, largest=16)
    runs = compare_strategies(machine, ["PLAS", "Random"], jobs, replications=3, executor=executor)
    return {name: dict(run.values) for name, run in runs.runs.items()}


@pytest.mark.parametrize("work", [simulated, compared])
def test_results_are_those_of_any_executor_and_are_not_computed_again(tmp_path, work):
    with ThreadPoolExecutor(1) as plain:
        right = work(plain)
    found, count = remembered(tmp_path / "j", work)
    again, more = remembered(tmp_path / "j", work)
    assert found == right == again
    assert count > 0
    assert more == 0


@pytest.mark.parametrize("work", [simulated, compared])
def test_work_that_is_broken_off_goes_on_where_it_was(tmp_path, work):
    _, count = remembered(tmp_path / "whole", work)
    with pytest.raises(KeyboardInterrupt):
        remembered(tmp_path / "j", work, most=2)
    with Journal(tmp_path / "j", version="1") as journal:
        kept = journal.count()  # what had not begun by then was called off
    found, rest = remembered(tmp_path / "j", work)
    assert found == remembered(tmp_path / "whole", work)[0]
    assert 0 < kept <= 2
    assert rest == count - kept


def test_other_arguments_another_function_or_version_are_not_mixed_up(tmp_path):
    def both(executor):
        calls = [(pow, 2, 3), (pow, 3, 2), (divmod, 2, 3), (partial(pow, 2), 3), (pow, 2.0, 3)]
        return [executor.submit(*call).result() for call in calls]

    assert remembered(tmp_path / "j", both) == ([8, 9, (0, 2), 8, 8.0], 5)
    assert remembered(tmp_path / "j", both)[1] == 0
    with pytest.raises(ModelError, match="another version"):
        Journal(tmp_path / "j", version="2")


def test_what_has_no_text_is_done_and_not_kept(tmp_path):
    def odd(executor):
        one = executor.submit(lambda: 1).result()
        return one, executor.submit(re.compile, "a").result().pattern

    assert remembered(tmp_path / "j", odd) == ((1, "a"), 2)
    assert remembered(tmp_path / "j", odd) == ((1, "a"), 2)


def busy(seconds, _):
    """Use the processor for so long."""
    began = time.thread_time()
    while time.thread_time() < began + seconds:
        pass


def test_what_is_not_kept_has_its_time_counted(tmp_path):
    """A replay of a log was not kept, and its record told a tenth of its time."""
    with Journal(tmp_path / "j", version="1") as journal:
        executor = KeepingExecutor(lambda: ThreadPoolExecutor(1), journal)
        executor.submit(busy, 0.02, lambda: 0).result()
        executor.shutdown()
        assert executor.cpu_seconds >= 0.02
        assert journal.count() == 0


def test_an_error_is_passed_on_and_not_kept(tmp_path):
    def wrong(executor):
        with pytest.raises(ZeroDivisionError):
            executor.submit(divmod, 1, 0).result()

    assert remembered(tmp_path / "j", wrong)[1] == remembered(tmp_path / "j", wrong)[1] == 1


def test_a_journal_that_cannot_be_written_is_told_to_who_waits(tmp_path, monkeypatch):
    def full(self, results):
        raise ModelError("the disk is full")

    monkeypatch.setattr(Journal, "add", full)

    def work(executor):
        with pytest.raises(ModelError, match="the disk is full"):
            executor.submit(pow, 2, 3).result()

    remembered(tmp_path / "j", work)


def test_the_journal_goes_when_the_work_is_done_and_stays_when_it_is_not(tmp_path):
    out = tmp_path / "out"
    file = journal_beside(out)

    def stopped():
        with keepers(file, "phasefit.checks", workers=1) as working:
            assert working.threads.submit(pow, 2, 3).result() == 8
            raise Stopped(2)

    with pytest.raises(Stopped):
        stopped()
    assert file.exists()
    assert any("1 finished run is kept in" in said for said in all_kept())
    with keepers(file, "phasefit.checks", workers=1) as working:
        assert working.before == 1
        assert working.threads.submit(pow, 2, 3).result() == 8
        assert working.threads.new_seconds == 0.0
        assert file.exists()
    assert [*tmp_path.iterdir()] == []
    with keepers(file, "phasefit.checks", workers=1, keep=True):
        pass
    assert file.exists()
    with keepers(None, workers=1) as nothing:
        assert (nothing.threads, nothing.processes, nothing.cpu_seconds) == (None, None, 0.0)


def test_where_nothing_is_kept_workers_begin_once_and_not_before_there_is_work(monkeypatch):
    begun = []

    class Threads(ThreadPoolExecutor):
        def __init__(self, workers):
            begun.append(workers)
            super().__init__(workers)

        def let_go(self):
            begun.append("let go")

    monkeypatch.setattr(pools, "LeashedPool", Threads)
    with keepers(None, workers=2) as working:
        assert begun == []
        for _ in range(3):
            assert parallel_map(abs, [-1, -2], executor=working.processes) == [1, 2]
    assert begun == [2]

    def stopped():
        with keepers(None, workers=2) as working:
            working.processes.submit(abs, -1).result()
            raise Stopped(2)

    with pytest.raises(Stopped):
        stopped()
    assert begun == [2, 2, "let go"]


@pytest.mark.thorough
def test_an_experiment_goes_on_where_it_was_broken_off(tmp_path):
    def work(executor):
        options = RunOptions(quick=True, seed=3, workers=1, processes=executor)
        return EXPERIMENTS["liu-fig4"].run(options).table

    whole, count = remembered(tmp_path / "whole", work)
    with pytest.raises(KeyboardInterrupt):
        remembered(tmp_path / "j", work, most=5)
    with Journal(tmp_path / "j", version="1") as journal:
        kept = journal.count()  # what had not begun by then was called off
    found, rest = remembered(tmp_path / "j", work)
    assert found.equals(whole)
    assert 0 < kept <= 5
    assert rest == count - kept


@pytest.mark.thorough
def test_a_map_goes_on_where_it_was_broken_off(tmp_path):
    plan = load_scenario(RUNS)

    def work(executor):
        return best_policies(
            plan.system,
            plan.workload,
            loads=[0.1, 0.5],
            scvs=[1.0, 4.0],
            candidates=plan.policies,
            executor=executor,
        ).records()

    with pytest.raises(KeyboardInterrupt):
        remembered(tmp_path / "j", work, most=3)
    found, rest = remembered(tmp_path / "j", work)
    assert (found, rest) == (work(None), 1)


@pytest.mark.thorough
def test_recommend_draws_the_same_map_with_a_journal_and_leaves_none_behind(tmp_path):
    source = tmp_path / "small.toml"
    source.write_text(SMALL)
    words = ["recommend", source, "--listed", "--load", "0.3", "--map"]
    plain = invoked(recommend.register, *words)
    kept = invoked(recommend.register, *words, "-o", tmp_path / "out")
    assert plain.exit_code == kept.exit_code == 0
    assert kept.stdout.startswith(plain.stdout)
    left = {file.name for file in tmp_path.iterdir()}
    assert left - {".out.qmodels-lock"} == {"out", "small.toml"}


def test_numbers_of_a_replication_come_back_to_the_last_bit(tmp_path, rng):
    values = rng.normal(size=100) * 10.0 ** rng.integers(-300, 300, size=100)
    found, _ = remembered(tmp_path / "j", lambda executor: executor.submit(np.abs, values).result())
    assert found.tolist() == np.abs(values).tolist()


@pytest.mark.thorough(but=["qin-fig1"])
@pytest.mark.parametrize(
    "name", one_in_the_gate(["bani-fig4", "qin-fig1", "boxes-torus"], {"bani-fig4", "qin-fig1"})
)
def test_an_experiment_that_is_broken_off_goes_on_where_it_was(tmp_path, name):
    def work(executor):
        return EXPERIMENTS[name].run(RunOptions(quick=True, processes=executor)).table

    with pytest.raises(KeyboardInterrupt):
        remembered(tmp_path / "j", work, most=3)
    with Journal(tmp_path / "j", version="1") as journal:
        kept = journal.count()  # what had not begun by then was called off
    found, rest = remembered(tmp_path / "j", work)
    again, nothing = remembered(tmp_path / "j", work)
    assert found.equals(again)
    assert kept > 0 == nothing
    with Journal(tmp_path / "j", version="1") as journal:
        assert journal.count() == kept + rest


@pytest.mark.thorough
def test_a_process_that_was_begun_and_asked_for_nothing_ends_with_the_block(tmp_path):
    import multiprocessing

    before = set(multiprocessing.active_children())
    module = "validation.analysis.seeding"
    with keepers(tmp_path / "journal", module, workers=2, begin=module):
        begun = set(multiprocessing.active_children()) - before
        assert len(begun) == 1
    assert set(multiprocessing.active_children()) == before
    with keepers(tmp_path / "journal", module, workers=1, begin=module):
        assert set(multiprocessing.active_children()) == before  # one worker is this process
