"""Sweeps on a Dask cluster: the same bytes as elsewhere, whoever of the cluster is killed."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

from qmodels.errors import ModelError
from tests.sweep_child import table
from tests.validation.test_executors import _alive, children, command
from tests.validation.test_sweep_journal import ROOT, done
from validation.sweeps.engines import engine
from validation.sweeps.journal_file import JournalReader

ENVIRONMENT = os.environ | {
    "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
    "OPENBLAS_NUM_THREADS": "1",
}


class Cluster:
    """A scheduler and a nanny with two workers, each a process that can be killed."""

    def __init__(self, folder):
        self.file = folder / "scheduler.json"
        self.file.unlink(missing_ok=True)
        self.log = (folder / "cluster.log").open("ab")
        self.scheduler = self.start("scheduler", "--port", "0", "--no-show", "--no-dashboard")
        self.nanny = self.start(
            "worker",
            "--nworkers",
            "2",
            "--nthreads",
            "1",
            "--no-dashboard",
            "--local-directory",
            str(folder),
            "--death-timeout",
            "120",
        )

    def start(self, part, *options):
        return subprocess.Popen(
            [
                sys.executable,
                "-m",
                f"distributed.cli.dask_{part}",
                "--scheduler-file",
                str(self.file),
                *options,
            ],
            stdout=self.log,
            stderr=self.log,
            cwd=ROOT,
            env=ENVIRONMENT,
        )

    def workers(self):
        return [pid for pid in children(self.nanny.pid) if "spawn_main" in command(pid)]

    def close(self):
        below = [*children(self.nanny.pid), *children(self.scheduler.pid)]
        for process in (self.nanny, self.scheduler):
            if process.poll() is None:
                process.terminate()
        for process in (self.nanny, self.scheduler):
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for pid in filter(_alive, below):
            os.kill(pid, signal.SIGKILL)
        self.log.close()


@pytest.fixture
def cluster(tmp_path):
    pytest.importorskip("distributed")
    running = [Cluster(tmp_path)]
    yield running
    running[0].close()


def test_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ModelError, match=r"'\.\[distributed\]'"), engine(cluster="tcp://a:1"):
        pass


@pytest.mark.slow
def test_where_no_scheduler_answers_it_is_said(tmp_path):
    pytest.importorskip("distributed")
    with (
        pytest.raises(ModelError, match="no Dask scheduler answers"),
        engine(cluster="tcp://127.0.0.1:9"),
    ):
        pass


@pytest.mark.slow
def test_a_cluster_and_processes_give_the_same_bytes(tmp_path, cluster):
    def on_cluster(journal):
        return subprocess.run(
            [
                sys.executable,
                "-m",
                "tests.sweep_child",
                str(journal),
                "--count",
                "60",
                "--ms",
                "5",
                "--cluster",
                str(cluster[0].file),
            ],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env=ENVIRONMENT,
            check=True,
            timeout=1200,
        ).stdout

    wait_for(cluster[0].file)
    there = on_cluster(tmp_path / "a")
    assert there == done(tmp_path / "b", table(60, 5.0)) == done(tmp_path / "c", table(60, 5.0), 2)


def wait_for(file):
    for _ in range(600):
        if file.exists():
            return
        time.sleep(0.1)
    raise AssertionError(f"{file} did not appear")


@pytest.mark.slow
def test_twenty_kills_of_scheduler_worker_and_client_lose_nothing(tmp_path, cluster, record_property):
    """The scheduler's death ends the command in words; the next one goes on."""
    rng, journal, kills, ends, killed = random.Random(3), tmp_path / "j", 0, [], Counter()
    count, ms = 1200, 20.0
    while True:
        wait_for(cluster[0].file)
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
                "--cluster",
                str(cluster[0].file),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=ENVIRONMENT,
        )
        with running:
            if kills < 20:
                running.stderr.readline()
                time.sleep(rng.uniform(0.5, 2.0))
                who = ("worker", "client", "scheduler")[kills % 3]
                if running.poll() is not None:
                    raise AssertionError(f"done after {kills} kills: give it more to do")
                if who == "worker":
                    workers = cluster[0].workers()
                    if not workers:
                        running.kill()
                        # it gives up where the scheduler is slow to start: without it no work
                        assert cluster[0].nanny.poll() is None, "the workers have given up"
                        continue
                    os.kill(rng.choice(workers), signal.SIGKILL)
                    time.sleep(rng.uniform(0.5, 2.0))
                    running.kill()  # so that there is something left for the next kill
                elif who == "client":
                    running.kill()
                else:
                    cluster[0].scheduler.kill()
                kills += 1
                killed[who] += 1
            text, _ = running.communicate(timeout=1200)
            ends.append((kills, running.returncode))
            if running.returncode == 0:
                break
            if running.returncode == 3:
                assert "results are kept" in text
                cluster[0].close()
                cluster[0] = Cluster(tmp_path)
    assert kills == 20
    assert sum(code == 3 for _, code in ends) >= 6
    assert text == done(tmp_path / "undisturbed", table(count, ms), 2)
    with JournalReader(journal) as reader:
        results, repeated, sessions = len(reader.results()), reader.repeated(), reader.sessions()
    assert (results, repeated) == (2 * count, 0)
    below = children(cluster[0].nanny.pid)
    cluster[0].close()
    ending = time.monotonic() + 60.0  # killed, and a loaded machine may take its time
    while any(map(_alive, below)):
        assert time.monotonic() < ending
        time.sleep(0.02)
    found = {"results": results, "repeated": repeated, "sessions": len(sessions), "orphans": 0}
    for name, number in (dict(killed) | found).items():
        record_property(name, number)
