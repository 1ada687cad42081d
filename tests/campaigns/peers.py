"""Hold what we answer beside what others answer: ``python -m tests.campaigns.peers``.

Each peer is installed from the package index into an environment that is thrown away, or left out where it
does not install. Its program below gets the task as JSON and answers with JSON: numbers and the processor
seconds of solving alone, imports apart; ours does the same task in this process, warmed up.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from phasefit import PhaseType
from qmodels.networks import CustomerClass, QueueingNetwork, Station
from qmodels.queues import PriorityClass, PriorityQueue
from tests.campaigns.record import write_record
from validation.analysis.seeding import stream
from validation.queues import simulate_queue

SEED, NETWORKS, JOBS = 406, 2000, 200_000
PEERS = {"LINE": "line-solver", "most-queue": "most-queue", "Ciw": "ciw", "SimPy": "simpy"}
ONE = PhaseType.exponential(mean=1.0)

LINE = """
from line_solver import *
found = []
spent = 0.0
for task in tasks:
    model = Network("m")
    stations = [Queue(model, f"s{i}", SchedStrategy.PS) for i in range(len(task["service"][0]))]
    classes = [ClosedClass(model, f"c{k}", n, stations[0]) for k, n in enumerate(task["population"])]
    for k, c in enumerate(classes):
        for i, s in enumerate(stations):
            s.setService(c, Exp(1.0 / task["service"][k][i]))
    moves = model.initRoutingMatrix()
    for c in classes:
        moves.set(c, c, Network.serialRouting(*stations))
    model.link(moves)
    before = time.process_time()
    table = SolverMVA(model, method="exact").getAvgTable()
    spent += time.process_time() - before
    found.append([float(x) for x in table["Tput"]][: len(classes)])
answer = {"values": found, "seconds": spent}
"""
MOST_QUEUE = """
from most_queue.theory.priority import MG1NonPreemptiveCalc
before = time.process_time()
calc = MG1NonPreemptiveCalc()
calc.set_sources(tasks["rates"])
calc.set_servers(tasks["moments"])
found = [float(each[0]) for each in calc.run().v]
answer = {"values": found, "seconds": time.process_time() - before}
"""
CIW = """
import ciw
net = ciw.create_network(
    arrival_distributions=[ciw.dists.Exponential(2.0)], service_distributions=[ciw.dists.Exponential(1.0)],
    number_of_servers=[3])
before = time.process_time()
ciw.seed(1)
run = ciw.Simulation(net)
run.simulate_until_max_customers(tasks["jobs"], method="Finish")
records = run.get_all_records()
times = [r.exit_date - r.arrival_date for r in records]
answer = {"values": [sum(times) / len(times)], "seconds": time.process_time() - before}
"""
SIMPY = """
import random
import simpy
env, times, rng = simpy.Environment(), [], random.Random(1)
servers = simpy.Resource(env, 3)
def job():
    came = env.now
    with servers.request() as asked:
        yield asked
        yield env.timeout(rng.expovariate(1.0))
    times.append(env.now - came)
def source():
    for _ in range(tasks["jobs"]):
        yield env.timeout(rng.expovariate(2.0))
        env.process(job())
before = time.process_time()
env.process(source())
env.run()
answer = {"values": [sum(times) / len(times)], "seconds": time.process_time() - before}
"""
FRAME = (
    "import json, sys, time\ntasks = json.load(open(sys.argv[1]))\n{}\nprint('ANSWER' + json.dumps(answer))\n"
)


def installed(folder: Path, package: str) -> tuple[Path, str] | None:
    """Return the interpreter and the version of a peer in an environment of its own, or nothing."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    done = subprocess.run([python, "-m", "pip", "install", "-q", package], capture_output=True, check=False)
    if done.returncode:
        return None
    code = f"import importlib.metadata as m; print(m.version({package!r}))"
    return python, subprocess.run([python, "-c", code], capture_output=True, text=True).stdout.strip()


def asked(python: Path, program: str, task: Any) -> dict[str, Any]:
    """Return what a peer answers."""
    with tempfile.TemporaryDirectory() as folder:
        given, code = Path(folder) / "task.json", Path(folder) / "program.py"
        given.write_text(json.dumps(task))
        code.write_text(FRAME.format(program))
        done = subprocess.run([python, code, given], capture_output=True, text=True, check=False)
    if "ANSWER" not in done.stdout:
        return {"failed": (done.stderr or done.stdout).strip().splitlines()[-1][:200]}
    return dict(json.loads(done.stdout.split("ANSWER")[1]))


def timed(function: Callable[[], Any]) -> tuple[Any, float]:
    """Return the answer and the processor seconds of the second call."""
    function()
    before = time.process_time()
    found = function()
    return found, time.process_time() - before


def networks() -> tuple[Any, Callable[[], Any]]:
    """Closed networks of one server a station: two to ten stations, one to four classes."""
    tasks = []
    for number in range(NETWORKS):
        rng = stream(SEED, "network", number)
        classes, stations = int(rng.integers(1, 5)), int(rng.integers(2, 11))
        service = np.exp(rng.uniform(-2.0, 1.0, (classes, stations))).tolist()
        tasks.append(
            {"service": service, "population": rng.integers(1, 12 if classes < 3 else 5, classes).tolist()}
        )

    def ours() -> Any:
        found = []
        for task in tasks:
            names = [f"s{i}" for i in range(len(task["service"][0]))]
            classes = [
                CustomerClass(dict(zip(names, own, strict=True)), population=n)
                for own, n in zip(task["service"], task["population"], strict=True)
            ]
            solved = QueueingNetwork([Station(name) for name in names], classes).solve()
            found.append(solved.throughput.tolist())
        return found

    return tasks, ours


def priorities() -> tuple[Any, Callable[[], Any]]:
    """Three classes before one server, without preemption: mean responses."""
    laws = [ONE.scale(0.5), PhaseType.erlang(phases=2, mean=1.0), ONE.scale(2.0)]
    rates = [0.3, 0.2, 0.15]
    moments = [[law.moment(k) for k in (1, 2, 3, 4)] for law in laws]
    classes = [PriorityClass(rate, law) for rate, law in zip(rates, laws, strict=True)]
    return {"rates": rates, "moments": moments}, lambda: PriorityQueue(classes).mean_response.tolist()


def simulation() -> tuple[Any, Callable[[], Any]]:
    """One run of M/M/3 at two thirds of its capacity: mean response, 1.444 s."""

    def ours() -> Any:
        run = simulate_queue(ONE.scale(0.5), ONE, 3, jobs=JOBS, replications=1, warm_up=0.0, seed=1)
        return [run.mean_response.mean]

    return {"jobs": JOBS}, ours


TASKS = (
    (f"{NETWORKS:,} closed networks, exact", networks, {"LINE": LINE}),
    ("three priorities, M/G/1", priorities, {"most-queue": MOST_QUEUE}),
    (f"M/M/3 simulated, {JOBS:,} jobs", simulation, {"Ciw": CIW, "SimPy": SIMPY}),
)


def main() -> None:
    """Install the peers, ask them and us, write the record."""
    rows = []
    with tempfile.TemporaryDirectory() as top:
        for what, task, programs in TASKS:
            given, ours = task()
            found, seconds = timed(ours)
            for peer, program in programs.items():
                there = installed(Path(top) / peer, PEERS[peer])
                row: dict[str, Any] = {"task": what, "peer": peer, "version": there[1] if there else ""}
                answer = asked(there[0], program, given) if there else {"failed": "does not install here"}
                row["difference"] = row["their_seconds"] = row["our_seconds"] = ""
                if "failed" not in answer:
                    pairs = zip(np.ravel(_flat(found)), np.ravel(_flat(answer["values"])), strict=True)
                    row["difference"] = max(abs(a / b - 1.0) for a, b in pairs)
                    row["their_seconds"], row["our_seconds"] = answer["seconds"], seconds
                row["remark"] = answer.get("failed", "")
                rows.append(row)
                print(row, file=sys.stderr, flush=True)
    write_record("peers", rows, command="python -m tests.campaigns.peers", seed=SEED)


def _flat(values: Any) -> list[float]:
    return [x for each in values for x in (each if isinstance(each, list) else [each])]


if __name__ == "__main__":
    main()
