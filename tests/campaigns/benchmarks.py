"""CPU time of the long jobs, each beside a reference of the same kind, and of earlier code.

    python -m tests.campaigns.benchmarks                   # measure, compare with the record
    python -m tests.campaigns.benchmarks --write           # and put it into the record
    python -m tests.campaigns.benchmarks --before TREE     # alternately with another checkout

Seconds on a shared machine mean little, a ratio means something: the reference is arithmetic that
the job cannot do without, done in the same process, before and after it. A ratio more than 20 %
above the one on record is a failure.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
NAME = "benchmarks-chains"
COLUMNS = ("job", "before", "after", "reference", "ratio", "date", "commit", "machine", "load")
#: What a ratio may grow by before it is a failure.
MOST = 1.2
ROUNDS = 3

Work = Callable[[], object]


@dataclass(frozen=True)
class Job:
    """Something that takes long, and what its time is compared with."""

    name: str
    reference: str  #: in words
    prepared: Callable[[], tuple[Work, Work]]  #: the job and its reference, ready to run
    needs: str = ""  #: a package that the reference needs; without it the job is left out
    long: bool = False  #: whether it takes more than a minute of CPU time in three rounds


def _product(order: int, times: int = 1) -> Work:
    a, b = np.random.default_rng(1).random((2, order, order))
    return lambda: [a @ b for _ in range(times)]


def many_servers() -> tuple[Work, Work]:
    """PH/PH/16 at 90 % load: 1,938 phases in a level."""
    from phasefit import PhaseType, match_moments
    from qmodels.networks.many_server import ManyServerQueue

    erlang = PhaseType.erlang(phases=4, mean=1.0)

    def queue(c: int) -> ManyServerQueue:
        return ManyServerQueue(match_moments(1.0, 5.0).scale(1.0 / (0.9 * c)), erlang, servers=c)

    queue(4).solve()
    return queue(16).solve, _product(969)


def hundred_levels() -> tuple[Work, Work]:
    """A finite chain of 100 levels of 500 states, four rates in a row."""
    from scipy.sparse import csr_array, eye_array, random_array

    from qmodels.markov import solve_block_tridiagonal

    rng, size, levels = np.random.default_rng(1), 500, 100
    same = eye_array(size, format="csr") * 0.01
    up, local, down = (
        [csr_array(random_array((size, size), density=4 / size, rng=rng) + same) for _ in range(n)]
        for n in (levels - 1, levels, levels - 1)
    )
    solve_block_tridiagonal(up[:2], local[:3], down[:2])
    return lambda: solve_block_tridiagonal(up, local, down), _product(size, levels)


def hyper_erlang() -> tuple[Work, Work]:
    """A hyper-Erlang law of order 8 fitted to a million lognormal times."""
    from phasefit.em import maximise
    from phasefit.observations import Observations

    x = np.exp(1.27 * np.random.default_rng(1).standard_normal(1_000_000))
    maximise(x[:100], order=2)
    return (
        lambda: maximise(Observations.of(x), order=8, rng=1),
        lambda: [(np.sort(x), np.log(x)) for _ in range(10)],
    )


def fcfs_chain(jobs: int) -> tuple[Work, Work]:
    """A closed network of so many jobs, its disk in order of arrival."""
    from phasefit import PhaseType, match_moments
    from qmodels.networks import ClosedNetwork

    # two Erlang laws of two stages each, one rare and long
    jumps = np.zeros((4, 4))
    jumps[0, 1], jumps[2, 3] = 4.0, 0.5
    delay = PhaseType.from_rates([0.8, 0, 0.2, 0], jumps, [0, 4.0, 0, 0.5])

    def network(n: int) -> ClosedNetwork:
        burst = 0.75 * delay.mean / n
        return ClosedNetwork(n, delay, match_moments(burst, 10.0 * burst**2), "fcfs")

    network(12).solve()
    rates = network(jobs)._chain().rates
    x = np.ones(rates.shape[0])
    return network(jobs).solve, lambda: [rates @ x for _ in range(10)]


def job_log(rows: int) -> tuple[Work, Work]:
    """A job log in the Standard Workload Format."""
    import pandas as pd

    from qmodels.io import read_swf, write_swf

    rng = np.random.default_rng(7)
    size = 2 ** rng.integers(0, 9, rows)
    jobs = {
        "submit": np.cumsum(rng.integers(0, 600, rows)),
        "wait": rng.integers(0, 20_000, rows),
        "run": rng.integers(1, 80_000, rows),
        "processors": size,
        "status": rng.choice([0, 1, 5], rows),
    }
    folder = tempfile.TemporaryDirectory()
    small, large = Path(folder.name, "small.swf"), Path(folder.name, "large.swf")
    write_swf(small, {key: value[:1000] for key, value in jobs.items()})
    write_swf(large, jobs)
    read_swf(small)

    def read() -> object:
        assert folder.name  # kept until the last run
        return read_swf(large)

    return read, lambda: pd.read_csv(large, sep=r"\s+", comment=";", header=None)


def command(*words: str) -> tuple[Work, Work]:
    """A command of this package; of three runs the first may fill caches. Imports to compare."""
    heavy = "import matplotlib.figure, pandas, scipy.stats, scipy.sparse.csgraph, numba"

    def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            argv = [sys.executable, "-m", "qmodels", *words, "-o", f"{folder}/out"]
            subprocess.run(argv, check=True, capture_output=True, cwd=folder)

    return run, lambda: subprocess.run([sys.executable, "-c", heavy], check=True)


def simulated_queue() -> tuple[Work, Work]:
    """200,000 jobs at one server, ours as one partition of a machine, and by SimPy."""
    import simpy

    from qmodels import Phase, Program, SpaceSharing, System, Workload
    from validation import simulate

    machine = System(processors=2, disks=1)
    work = Workload(Program([Phase(io=1e-9, cpu=2.0)]))
    count, rate = 200_000, 0.8

    def ours() -> object:
        return simulate(
            SpaceSharing(1, 1),
            machine,
            work,
            arrival_rate=rate,
            jobs=count // 2,
            warm_up=0,
            replications=2,
            seed=1,
        )

    def theirs() -> object:
        rng = np.random.default_rng(1)
        env, total = simpy.Environment(), 0.0

        def job(server: simpy.Resource, size: float) -> Iterator[object]:
            nonlocal total
            came = env.now
            with server.request() as turn:
                yield turn
                yield env.timeout(size)
            total += env.now - came

        def source() -> Iterator[object]:
            server = simpy.Resource(env)
            for gap, size in zip(
                rng.exponential(1.0 / rate, count), rng.exponential(1.0, count), strict=True
            ):
                yield env.timeout(gap)
                env.process(job(server, size))

        env.process(source())
        env.run()
        return total / count

    ours()
    return ours, theirs


JOBS = (
    Job("PH/PH/16, block of 1,938 phases", "one product of matrices of order 969", many_servers),
    Job("finite chain, 100 levels of 500", "100 products of order 500", hundred_levels),
    Job("EM, 10^6 samples, order 8", "ten sorts and logarithms of 10^6 numbers", hyper_erlang),
    Job("FCFS closed chain, 111,265 states", "10 products with the rates", lambda: fcfs_chain(32)),
    Job(
        "FCFS closed chain, 1,231,041 states", "10 products with the rates", lambda: fcfs_chain(60), long=True
    ),
    Job("job log, 10^6 rows", "pandas reads the same file", lambda: job_log(1_000_000)),
    Job("job log, 10^7 rows", "pandas reads the same file", lambda: job_log(10_000_000), long=True),
    Job("one server, 200,000 jobs simulated", "SimPy 4 at the same queue", simulated_queue, needs="simpy"),
    Job("qmodels demo, warm", "importing numba, pandas, scipy, matplotlib", lambda: command("demo")),
    Job(
        "qmodels recommend --objective p95 --map",
        "importing numba, pandas, scipy, matplotlib",
        lambda: command(
            "recommend", str(ROOT / "validation/study/demo/scenario.toml"), "--objective", "p95", "--map"
        ),
        long=True,
    ),
)


def used() -> float:
    """CPU seconds so far of this process and of the children that it waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def spent(work: Work) -> float:
    """CPU seconds of a piece of work."""
    began = used()
    work()
    return used() - began


def measured(name: str) -> dict[str, float]:
    """CPU seconds of a job and of its reference, and the peak of memory, in this process."""
    job, reference = next(each.prepared for each in JOBS if each.name == name)()
    first = spent(reference)
    taken = spent(job)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return {"job": taken, "reference": min(first, spent(reference)), "gigabytes": peak}


def in_process(name: str, tree: Path) -> dict[str, float]:
    """`measured` in a process of its own, with the packages of a checkout."""
    paths = os.pathsep.join([str(tree), *filter(None, [os.environ.get("PYTHONPATH")])])
    one = {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": ""}
    words = [sys.executable, str(Path(__file__).resolve()), "--one", name]
    done = subprocess.run(words, env=os.environ | one, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def on_record(name: str) -> dict[str, dict[str, str]]:
    """Rows of the record by job; none if there is none."""
    file = ROOT / "docs" / "record" / f"{name}.csv"
    if not file.exists():
        return {}
    with open(file, newline="", encoding="utf-8") as stream:
        return {row["job"]: row for row in csv.DictReader(stream)}


def regressions(old: dict[str, dict[str, str]], rows: list[dict[str, object]]) -> list[str]:
    """What is to be said of the jobs whose ratio grew by more than a fifth."""
    found = []
    for row in rows:
        if (before := old.get(str(row["job"]))) is None:
            continue
        was, now = float(before["ratio"]), float(str(row["ratio"]))
        if now > MOST * was:
            found.append(f"{row['job']}: {now:.3g} times its reference, {was:.3g} on record")
    return found


def _three(value: float) -> float:
    return float(f"{value:.3g}")


def circumstances() -> dict[str, object]:
    """When, of which code and where a row was measured, and beside how many other programs."""
    from tests.campaigns.record import processor

    head = ["git", "rev-parse", "--short=12", "HEAD"]
    commit = subprocess.run(head, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    return {
        "date": datetime.date.today().isoformat(),
        "commit": commit.strip(),
        "machine": processor(),
        "load": _three(os.getloadavg()[0]),
    }


def row_of(job: Job, before: Path | None, kept: dict[str, str] | None, rounds: int) -> dict[str, object]:
    """Measure one job, alternately with an earlier checkout if there is one."""
    ours, theirs = [], []
    for _ in range(rounds):
        if before is not None:
            theirs.append(in_process(job.name, before))
        ours.append(in_process(job.name, ROOT))
    after = statistics.median(each["job"] for each in ours)
    reference = statistics.median(each["reference"] for each in ours)
    earlier = kept["before"] if kept else ""
    if theirs:
        earlier = str(_three(statistics.median(each["job"] for each in theirs)))
    return {
        "job": job.name,
        "before": earlier,
        "after": _three(after),
        "reference": _three(reference),
        "ratio": _three(statistics.median(each["job"] / each["reference"] for each in ours)),
        **circumstances(),
    }


def main() -> None:
    """Measure what is asked for."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    asked.add_argument("--one", help=argparse.SUPPRESS)
    asked.add_argument("--only", help="jobs whose name holds this")
    asked.add_argument("--long", action="store_true", help="the jobs of minutes as well")
    asked.add_argument("--write", action="store_true", help="put the rows into the record")
    asked.add_argument("--before", type=Path, help="another checkout, measured alternately")
    asked.add_argument("--rounds", type=int, default=ROUNDS, help="runs of each, of which medians")
    given = asked.parse_args()
    if given.one:
        print(json.dumps(measured(given.one)))
        return
    from tests.campaigns.record import write_record

    old = on_record(NAME)
    rows: list[dict[str, object]] = []
    for job in JOBS:
        if (given.only or "") not in job.name or (job.long and not given.long):
            continue
        if job.needs and find_spec(job.needs) is None:
            continue
        print(job.name, end=": ", flush=True)
        row = row_of(job, given.before, old.get(job.name), given.rounds)
        rows.append(row)
        print(f"{row['after']} s, {row['ratio']} times {job.reference}", flush=True)
    worse = regressions(old, rows)
    if worse:
        sys.exit("slower than on record:\n" + "\n".join(worse))
    if given.write:
        merged: dict[str, dict[str, object]] = {**old, **{str(row["job"]): row for row in rows}}
        write_record(
            NAME,
            [merged[job.name] for job in JOBS if job.name in merged],
            command="python -m tests.campaigns.benchmarks --write",
            references=[f"{job.name}: {job.reference}" for job in JOBS if job.name in merged],
            cpu_seconds=round(used(), 1),
            remarks=f"medians of {given.rounds} runs, in turn with those of earlier code",
        )


if __name__ == "__main__":
    main()
