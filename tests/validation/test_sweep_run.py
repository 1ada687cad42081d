"""Sweeps carried out: the same bytes whoever works, after any resume, and nothing done twice."""

import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from dataclasses import replace

import pytest

from qmodels.errors import ModelError
from tests.sweep_child import table
from tests.validation.test_executors import Reversed, _alive, children, command
from tests.validation.test_sweep_journal import ROOT, csv_of, done
from validation.analysis.estimates import estimate, until_precise
from validation.analysis.seeding import stream
from validation.sweeps.engines import engine
from validation.sweeps.journal import Journal
from validation.sweeps.journal_file import JournalReader
from validation.sweeps.pools import MendedPool, WorkerLostError
from validation.sweeps.run import run_tasks, work_on


def with_executor(journal, points, executor, **options):
    with Journal(journal, version="1") as opened, engine(executor=executor, **options) as chosen:
        run_tasks(points, opened, executor=chosen.executor, workers=chosen.workers)
    return csv_of(points)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    return done(tmp_path_factory.mktemp("undisturbed") / "j", table(30, 1.0))


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_any_number_of_workers_gives_the_same_bytes(tmp_path, undisturbed, workers):
    assert done(tmp_path / "j", table(30, 1.0), workers) == undisturbed


@pytest.mark.thorough
def test_any_executor_gives_the_same_bytes_in_whatever_order_it_works(tmp_path, undisturbed):
    with ThreadPoolExecutor(3) as threads:
        assert with_executor(tmp_path / "a", table(30, 1.0), threads) == undisturbed
    with MendedPool(2) as processes:
        assert with_executor(tmp_path / "b", table(30, 1.0), processes, workers=2) == undisturbed


@pytest.mark.thorough
def test_a_resume_gives_the_same_bytes_and_does_nothing_twice(tmp_path, undisturbed):
    with Journal(tmp_path / "j", version="1") as journal:
        assert not run_tasks(table(30, 1.0), journal, budget=0.02)
    with JournalReader(tmp_path / "j") as reader:
        some = len(reader.results())
    assert 0 < some < 60
    assert done(tmp_path / "j", table(30, 1.0), 2) == undisturbed
    with JournalReader(tmp_path / "j") as reader:
        assert (len(reader.results()), reader.repeated()) == (60, 0)


def test_progress_begins_with_what_was_done_before(tmp_path):
    said = []
    done(tmp_path / "j", table(5, 0.0))
    done(tmp_path / "j", table(6, 0.0), progress=lambda *told: said.append(told))
    assert said[0] == ("runs", 10, 12)
    assert said[-1] == ("runs", 12, 12)


def test_a_task_that_fails_is_told_and_the_others_are_done(tmp_path):
    with Journal(tmp_path / "j", version="1") as journal:
        assert not run_tasks(table(9, 0.0, odd=3), journal)
        failed = journal.failures()
        assert journal.count() == 12
    assert sorted(set(failed.values())) == [f"ValueError: {n} is odd" for n in (3, 6, 9)]
    assert len(failed) == 6


@pytest.mark.thorough
def test_a_task_that_kills_its_workers_is_given_up_and_the_others_are_done(tmp_path):
    """It is tried three times, at last alone, so that no other task is blamed for it."""
    with Journal(tmp_path / "j", version="1") as journal, engine(workers=2) as chosen:
        points = table(12, 1.0, replications=1, fatal=7)
        assert not run_tasks(points, journal, executor=chosen.executor, workers=chosen.workers)
        [what] = journal.failures().values()
        assert journal.count() == 11
    assert "lost 3 times" in what
    assert [row["status"] for row in points.rows()].count("not done") == 1


@pytest.mark.thorough
def test_workers_that_are_killed_lose_nothing(tmp_path, undisturbed):
    killed = []

    def kill(what, count, total):
        below = [pid for pid in children(os.getpid()) if "spawn_main" in command(pid)]
        if below and count < total and len(killed) < 2:
            os.kill(random.Random(count).choice(below), signal.SIGKILL)
            killed.append(count)

    assert done(tmp_path / "j", table(30, 1.0), 2, progress=kill) == undisturbed
    assert killed
    with JournalReader(tmp_path / "j") as reader:
        assert reader.repeated() == 0


@pytest.mark.thorough
def test_a_pool_says_which_task_costs_workers_their_life():
    with MendedPool(2) as pool:
        fine = [pool.submit(abs, -k) for k in range(6)]
        bad = pool.submit(os._exit, 1)
        assert [future.result() for future in fine] == list(range(6))
        with pytest.raises(WorkerLostError, match="3 times"):
            bad.result()
        assert pool.submit(abs, -1).result() == 1
        with pytest.raises(ZeroDivisionError):
            pool.submit(divmod, 1, 0).result()
    with pytest.raises(RuntimeError, match="shut down"):
        pool.submit(abs, 1)


@pytest.mark.thorough
def test_who_waits_for_what_a_closed_pool_calls_off_is_woken():
    """`as_completed` waited for ever for a future that was only cancelled."""
    with MendedPool(1) as pool:
        under_way = pool.submit(_exit_after, 0.5)
        waiting = [pool.submit(abs, -k) for k in range(4)]
        pool.shutdown(wait=False, cancel_futures=True)
        done = list(as_completed([under_way, *waiting], timeout=60))
        assert len(done) == 5
        assert under_way.cancelled()  # its worker was lost, and there will be no other
        assert waiting[-1].cancelled()


def _exit_after(seconds):
    time.sleep(seconds)
    os._exit(1)


class AtOnce(Executor):
    """Does a piece when it is handed in, and is out of memory where a task says so."""

    def __init__(self, bad=None):
        self.bad, self.pieces = bad, []

    def submit(self, function, /, tasks):
        self.pieces.append([task.point["n"] for task in tasks])
        future = Future()
        if self.bad in self.pieces[-1]:
            future.set_exception(MemoryError())
        else:
            future.set_result(function(tasks))
        return future


def test_a_piece_that_is_lost_is_halved_until_its_one_bad_task_is_alone(tmp_path):
    """A piece of 32 in 5 halvings, whatever became of the size of pieces meanwhile."""
    points, worker = table(256, 0.0, replications=1), AtOnce(bad=20)
    with Journal(tmp_path / "j", version="1") as journal:
        assert not run_tasks(points, journal, executor=worker)
        assert list(journal.failures().values()) == ["out of memory"]
        assert journal.count() == 255
    lost = [len(piece) for piece in worker.pieces if 20 in piece]
    assert lost == [32, 16, 8, 4, 2, 1]


class Late:
    """A hundred tasks; each asks for one more, which may wait until these have been done."""

    def __init__(self):
        self.tasks = list(table(200, 0.0, replications=1).first())
        self.laid_out, self.before, self.done = 0, [], []

    def first(self):
        for task in self.tasks[:100]:
            self.laid_out += 1
            yield task

    def after(self, task, value):
        self.before.append(self.laid_out)
        self.done.append(self.tasks.index(task))
        again = self.tasks[self.done[-1] + 100 :][:1]
        return [replace(task, priority=1.0) for task in again]

    def total(self):
        return 200


def test_work_begins_before_all_is_laid_out_and_what_is_asked_for_waits_for_the_first(tmp_path):
    source, worker = Late(), AtOnce()
    source.tasks[100:] = [replace(task, priority=1.0) for task in source.tasks[100:]]
    with Journal(tmp_path / "j", version="1") as journal:
        assert run_tasks(source, journal, executor=worker)
    # two pieces, and one task that told that there are more
    assert sum(map(len, worker.pieces[:2])) == 64 <= source.before[0] <= 65
    # once each: where the machine stalls, what was not begun in time is handed out again
    handed_out = list(dict.fromkeys(n for piece in worker.pieces for n in piece))
    assert sorted(handed_out[:100]) == list(range(1, 101))
    assert sorted(handed_out[100:]) == list(range(101, 201))
    assert sorted(source.done) == list(range(200))


@pytest.mark.thorough
def test_workers_begin_before_there_is_work():
    with MendedPool(1) as pool:
        pool.begin(5, "colorsys")
        assert len(pool._pool._processes) == 1
        assert pool.submit(_imported, "colorsys").result()
        pool.begin(1, "no.such_module")  # whoever needs it will be told
        assert pool.submit(abs, -2).result() == 2


def _imported(name):
    return name in sys.modules


def test_a_piece_of_work_ends_in_time_and_leaves_the_rest():
    tasks = list(table(50, 5.0).first())
    assert 1 <= len(work_on(tasks, 0.02)) < 20
    assert len(work_on(tasks, 0.0)) == 1


def test_an_engine_is_one_thing_only():
    with pytest.raises(ModelError, match="not both"), engine(cluster="x", executor=Reversed()):
        pass
    with pytest.raises(ModelError, match=r"concurrent\.futures"), engine(executor="threads"):
        pass


class TestPrecision:
    @pytest.mark.thorough
    def test_replications_hang_on_a_points_own_results_only(self, tmp_path):
        tables = [table(6, 0.0, precision=0.2) for _ in range(3)]
        done(tmp_path / "a", tables[0])
        done(tmp_path / "b", tables[1], 2)
        with Journal(tmp_path / "c", version="1") as journal:
            run_tasks(table(6, 0.0, precision=0.2), journal, budget=1e-4)
        done(tmp_path / "c", tables[2])
        assert csv_of(tables[0]) == csv_of(tables[1]) == csv_of(tables[2])
        counts = [row["replications"] for row in tables[0].rows()]
        assert len(set(counts)) > 3
        assert all(row["precise"] for row in tables[0].rows())

    @pytest.mark.thorough
    def test_the_rule_is_that_of_until_precise(self, tmp_path):
        points = table(4, 0.0, precision=0.15)
        done(tmp_path / "j", points)
        from tests.sweep_child import run_one

        for place, row in enumerate(points.rows()):
            looks = []

            def observe(n, place=place, looks=looks):
                looks.append(n)
                return [run_one(points.points[place], r)["value"] for r in range(n)]

            until_precise(observe, precision=0.15, at_least=2, at_most=400)
            assert row["replications"] == looks[-1]
            known = estimate(observe(looks[-1]))
            assert (row["value"], row["value_half_width"]) == (known.mean, known.half_width)

    def test_the_widest_interval_is_served_first(self):
        """With a budget, what there is time for goes where it is needed most."""
        points = table(2, 0.0, precision=0.01)
        tasks = list(points.first())
        values = {1: (10.0, 10.4), 2: (10.0, 30.0)}
        asked = []
        for task in tasks:
            text = f'{{"value": {values[task.point["n"]][task.replication]}}}'
            asked += points.after(task, text)
        first = max(asked, key=lambda task: task.priority)
        assert first.point["n"] == 2

    @pytest.mark.slow
    def test_intervals_at_which_a_sweep_stops_cover_the_mean(self):
        """Exponential observations: 1,000 points, each stopped by the rule of sweeps."""
        from validation.analysis.estimates import Stopping

        covered = 0
        for point in range(1000):
            drawn = stream(11, point).exponential(1.0, size=1000)
            rule = Stopping(precision=0.1, at_least=20, at_most=1000)
            while rule.look(drawn[: rule.wanted].tolist()):
                pass
            covered += estimate(drawn[: rule.wanted].tolist()).contains(1.0)
        assert 930 <= covered <= 970


def killed_and_gone_on_with(tmp_path, kills, seed, count, ms):
    """Kill -9 a sweep at random moments until it was killed so often; its final table."""
    rng, journal, done_kills, rounds = random.Random(seed), tmp_path / "j", 0, 0
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    while True:
        workers = 1 + rounds % 2
        rounds += 1
        running = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.sweep_child",
                str(journal),
                "--count",
                str(count),
                "--ms",
                str(ms),
                "--workers",
                str(workers),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=environment,
        )
        with running:
            if done_kills == kills:
                text, _ = running.communicate(timeout=600)
                assert running.returncode == 0
                return text, done_kills
            running.stderr.readline()  # at work
            time.sleep(rng.uniform(0.0, 0.7))
            below = children(running.pid)
            running.kill()
            running.wait()
            if running.returncode == -signal.SIGKILL:
                done_kills += 1
        ending = time.monotonic() + 60.0  # a loaded machine may take its time
        while any(_alive(pid) for pid in below):
            assert time.monotonic() < ending
            time.sleep(0.02)


def check_kills(tmp_path, kills, seed, count, ms):
    """Kill and go on; what came of it in numbers, for the record."""
    text, done_kills = killed_and_gone_on_with(tmp_path, kills, seed, count, ms)
    assert done_kills == kills
    assert text == done(tmp_path / "undisturbed", table(count, ms))
    with JournalReader(tmp_path / "j") as reader:
        results, repeated, sessions = len(reader.results()), reader.repeated(), reader.sessions()
    assert (results, repeated) == (2 * count, 0)
    assert len(sessions) >= kills
    return {
        "kills": done_kills,
        "results": results,
        "repeated": repeated,
        "sessions": len(sessions),
        "orphans": 0,
    }


needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="asks /proc for processes")


@pytest.mark.thorough
@needs_proc
def test_a_sweep_that_is_killed_goes_on_and_ends_as_if_it_had_not_been(tmp_path):
    check_kills(tmp_path, 4, seed=1, count=100, ms=10.0)


@needs_proc
@pytest.mark.slow
def test_a_hundred_kills_at_random_moments_lose_nothing(tmp_path, record_property):
    for name, count in check_kills(tmp_path, 100, seed=2, count=2000, ms=10.0).items():
        record_property(name, count)
