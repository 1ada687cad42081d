"""Hold queues with priorities, over time and in a cycle to simulation.

``python -m tests.campaigns.queues`` does; with ``textbook`` formulas of two moments meet exact queues, with
``marked`` classes come from one chain, and ``costs`` takes the time.

Systems are drawn by a rule and a seed that stood before the first run. One server is exact, and so are
cycles: their z scores are to be those of noise. Several servers are approximate: the error is on record.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from phasefit import MAP, MarkedMAP, PhaseType
from qmodels.networks import CustomerClass, ManyServerQueue, QueueingNetwork, Station
from qmodels.queues import CyclicQueue, PriorityClass, PriorityQueue, Queue, drain_time
from qmodels.queues.textbook import APPROXIMATIONS
from tests.campaigns.record import write_record
from validation.analysis.estimates import Estimate, estimate
from validation.analysis.seeding import stream
from validation.queues import simulate_queue

SEED, SINGLE, MARKED, SEVERAL, CYCLES, BACKLOGS, TEXTBOOK = 40, 200, 100, 60, 50, 50, 100


def random_law(rng: np.random.Generator, mean: float) -> PhaseType:
    """Return a law with a scv of a quarter to six."""
    if rng.random() < 0.3:
        return PhaseType.erlang(phases=int(rng.integers(2, 5)), mean=mean)
    if rng.random() < 0.4:
        return PhaseType.exponential(mean=mean)
    p = rng.uniform(0.05, 0.4)
    law = PhaseType.hyperexponential(weights=[1.0 - p, p], means=[1.0, rng.uniform(3.0, 12.0)])
    return law.scale(mean / law.mean)


def random_classes(rng: np.random.Generator, servers: int) -> list[PriorityClass]:
    """Return two to four classes at a load of .3 to .9."""
    count = int(rng.integers(2, 5))
    shares = rng.dirichlet(np.full(count, 2.0)) * rng.uniform(0.3, 0.9) * servers
    means = np.exp(rng.uniform(np.log(0.3), np.log(3.0), count))
    laws = [random_law(rng, float(m)) for m in means]
    return [PriorityClass(float(x / law.mean), law) for x, law in zip(shares, laws, strict=True)]


def simulated(classes: list[PriorityClass], preemptive: bool, servers: int, seed: int) -> Any:
    """Simulate so many jobs that means are known to a few percent."""
    return simulate_queue(
        [PhaseType.exponential(mean=1.0 / each.arrival_rate) for each in classes],
        [each.service for each in classes],
        servers,
        "priority-pr" if preemptive else "priority",
        jobs=100_000,
        replications=15,
        seed=seed,
    )


def row(part: str, number: int, what: str, said: float, known: Estimate) -> dict[str, Any]:
    """Return a row of the record."""
    half = known.half_width
    return {
        "part": part,
        "system": number,
        "quantity": what,
        "said": said,
        "simulated": known.mean,
        "half_width": half,
        "error": said / known.mean - 1.0 if known.mean else 0.0,
        "z": known.z_score(said) if half > 0.0 else 0.0,
    }


def single(rows: list[dict[str, Any]]) -> None:
    """One server: means and percentiles of each class."""
    for number in range(SINGLE):
        rng = stream(SEED, "single", number)
        classes, preemptive = random_classes(rng, 1), bool(rng.random() < 0.5)
        queue, run = PriorityQueue(classes, preemptive), simulated(classes, preemptive, 1, number)
        for k in range(len(classes)):
            about = f"class {k} of {len(classes)}{', preemptive' if preemptive else ''}"
            mean = row(
                "one server", number, f"mean, {about}", queue.mean_response[k], run.mean_response_of(k)
            )
            rows.append(mean)
            for q in (0.5, 0.95, 0.99):
                known = run.response_percentile(q, k)
                rows.append(
                    row("one server", number, f"p{q * 100:g}, {about}", queue.response_ppf(k, q), known)
                )
        print(number, rows[-1]["z"], file=sys.stderr, flush=True)


def random_marked(rng: np.random.Generator, services: list[PhaseType]) -> MarkedMAP:
    """Return arrivals of all classes from one chain of two or three phases, at a load of .3 to .85."""
    phases = int(rng.integers(2, 4))
    pace = np.exp(rng.uniform(np.log(0.02), np.log(3.0), phases))
    silent = rng.exponential(size=(phases, phases)) * pace[:, None]
    marks = [rng.exponential(size=(phases, phases)) * (rng.random((phases, phases)) < 0.5) for _ in services]
    for mark in marks:
        mark[rng.integers(phases), rng.integers(phases)] += 1.0  # each class comes at least somewhere
    np.fill_diagonal(silent, 0.0)
    out = silent.sum(axis=1) + sum(mark.sum(axis=1) for mark in marks)
    drawn = MarkedMAP(silent - np.diag(out), marks)
    load = sum(rate * law.mean for rate, law in zip(drawn.rates, services, strict=True))
    slower = rng.uniform(0.3, 0.85) / load
    return MarkedMAP(drawn.D0 * slower, [mark * slower for mark in drawn.marks])


def marked(rows: list[dict[str, Any]]) -> None:
    """One server whose classes come from one process: means and percentiles of each class."""
    for number in range(MARKED):
        rng = stream(SEED, "marked", number)
        laws = [each.service for each in random_classes(rng, 1)]
        arrivals, preemptive = random_marked(rng, laws), bool(rng.random() < 0.5)
        queue = PriorityQueue.of_marked(arrivals, laws, preemptive)
        run = simulate_queue(
            arrivals,
            laws,
            discipline="priority-pr" if preemptive else "priority",
            jobs=100_000,
            replications=15,
            seed=number,
        )
        for k in range(len(laws)):
            about = f"class {k} of {len(laws)}{', preemptive' if preemptive else ''}"
            rows.append(
                row("marked", number, f"mean, {about}", queue.mean_response[k], run.mean_response_of(k))
            )
            for q in (0.5, 0.95, 0.99):
                said, known = queue.response_ppf(k, q), run.response_percentile(q, k)
                rows.append(row("marked", number, f"p{q * 100:g}, {about}", said, known))
        print(number, rows[-1]["z"], file=sys.stderr, flush=True)


def several(rows: list[dict[str, Any]]) -> None:
    """Several servers: means only, and approximate."""
    for number in range(SEVERAL):
        rng = stream(SEED, "several", number)
        servers = int(rng.choice([2, 3, 4, 6]))
        classes, preemptive = random_classes(rng, servers), bool(rng.random() < 0.5)
        queue = PriorityQueue(classes, preemptive, servers)
        run = simulated(classes, preemptive, servers, 1000 + number)
        for k in range(len(classes)):
            about = f"class {k}, {servers} servers{', preemptive' if preemptive else ''}"
            rows.append(
                row("several servers", number, about, queue.mean_response[k], run.mean_response_of(k))
            )


def cycles(rows: list[dict[str, Any]]) -> None:
    """Arrivals that follow a cycle: responses over many cycles, and the pointwise-stationary number."""
    for number in range(CYCLES):
        rng = stream(SEED, "cycle", number)
        pieces, servers = int(rng.integers(2, 5)), int(rng.integers(1, 5))
        rates, seconds = rng.uniform(0.0, 1.0, pieces), rng.uniform(2.0, 30.0, pieces)
        service = random_law(rng, 1.0) if servers < 3 else PhaseType.exponential(mean=1.0)
        rates *= rng.uniform(0.3, 0.85) * servers / service.mean / (rates @ seconds / seconds.sum())
        day = CyclicQueue(rates, seconds, service, servers)
        means = []
        for replication in range(15):
            draw = stream(SEED, "played", number, replication)
            repeats = max(40, int(60_000 / (day.mean_rate * day.cycle)))
            begins = np.concatenate([[0.0], np.cumsum(np.tile(seconds, repeats))])
            counts = draw.poisson(np.tile(rates * seconds, repeats))
            at = np.repeat(np.arange(counts.size), counts)
            times = np.sort(begins[at] + draw.random(at.size) * np.tile(seconds, repeats)[at])
            run = simulate_queue(times, service.rvs(times.size, draw), servers)
            skip = times.size // 10
            means.append(float(run.response.ravel()[skip:].mean()))
        known = estimate(means)
        rows.append(row("cycle", number, "mean response", day.mean_response, known))
        if np.isfinite(day.pointwise_jobs):
            rows.append(
                row(
                    "pointwise stationary", number, "mean response", day.pointwise_jobs / day.mean_rate, known
                )
            )


def backlogs(rows: list[dict[str, Any]]) -> None:
    """A backlog that drains: mean and 95th percentile."""
    for number in range(BACKLOGS):
        rng = stream(SEED, "backlog", number)
        servers, jobs = int(rng.integers(1, 5)), int(rng.integers(20, 120))
        service = random_law(rng, 1.0) if servers < 3 else PhaseType.exponential(mean=1.0)
        rate = rng.uniform(0.3, 0.8) * servers
        gaps = PhaseType.exponential(mean=1.0 / rate)
        left = drain_time(ManyServerQueue(gaps, service, servers=servers), jobs)
        ends = [
            _drained(servers, jobs, rate, service, stream(SEED, "drained", number, k)) for k in range(1500)
        ]
        known = estimate(ends)
        rows.append(row("backlog", number, "mean", left.mean, known))
        parts = np.array(ends).reshape(15, 100)
        share = estimate([float(np.mean(part <= left.percentile(0.95))) for part in parts])
        rows.append(row("backlog", number, "share within the 95th percentile", 0.95, share))


def _drained(servers: int, jobs: int, rate: float, service: PhaseType, rng: np.random.Generator) -> float:
    """Play one backlog job by job: until when a job waits."""
    free = np.sort(service.rvs(servers, rng))
    waiting, next_arrival = jobs - servers, rng.exponential(1.0 / rate)
    while True:
        now = free[0]
        while next_arrival <= now:
            waiting += 1
            next_arrival += rng.exponential(1.0 / rate)
        waiting -= 1
        free[0] = now + service.rvs(None, rng)
        free.sort()
        if waiting == 0:
            return float(now)


def textbook() -> None:
    """Record three formulas of two moments beside exact PH/PH/c, by load and number of servers."""
    rows: list[dict[str, Any]] = []
    for number in range(TEXTBOOK):
        rng = stream(SEED, "textbook", number)
        servers, load = int(rng.choice([1, 2, 3, 4])), float(rng.uniform(0.3, 0.95))
        service = random_law(rng, 1.0)
        gaps = random_law(rng, 1.0 / (load * servers))
        truth = ManyServerQueue(gaps, service, servers=servers).solve().mean_wait
        for rule in APPROXIMATIONS:
            scvs = {"arrival_scv": gaps.scv, "service_scv": service.scv}
            queue = Queue(f"G/G/{servers}", load * servers, 1.0, approximation=rule, **scvs)
            rows.append(
                {
                    "system": number,
                    "servers": servers,
                    "load": load,
                    **scvs,
                    "formula": rule,
                    "said": queue.mean_wait,
                    "exact": truth,
                    "error": queue.mean_wait / truth - 1.0,
                }
            )
    write_record("textbook-queues", rows, command="python -m tests.campaigns.queues textbook", seed=SEED)
    for rule in APPROXIMATIONS:
        for low, high in ((0.3, 0.7), (0.7, 0.95)):
            errors = [
                abs(each["error"]) for each in rows if each["formula"] == rule and low <= each["load"] < high
            ]
            print(rule, low, high, len(errors), np.quantile(errors, [0.5, 0.9, 1.0]).round(3))


def costs() -> None:
    """Processor seconds of means and percentiles, medians of five, each after one that is not counted."""
    two = PhaseType.hyperexponential(weights=[0.9, 0.1], means=[0.5, 5.5])
    three = PhaseType.hyperexponential(weights=[0.6, 0.3, 0.1], means=[0.4, 1.0, 4.6]).scale(1.0)
    tides = MAP.modulated([[-0.1, 0.1], [0.1, -0.1]], rates=[1.8, 0.2])
    queues = {
        "PH/PH/1": ManyServerQueue(PhaseType.erlang(phases=3, mean=0.8), two.scale(0.7), servers=1),
        "PH/PH/4": ManyServerQueue(PhaseType.erlang(phases=3, mean=0.27), two.scale(0.7), servers=4),
        "M/PH/2": ManyServerQueue(PhaseType.exponential(mean=0.6), two.scale(0.7), servers=2),
        "MAP/PH/8": ManyServerQueue(tides.scale(1 / 8), two.scale(0.7), servers=8),
        "MAP/PH/16": ManyServerQueue(tides.scale(1 / 16), two.scale(0.7), servers=16),
        "MAP/PH/32, order 3": ManyServerQueue(tides.scale(1 / 25.6), three.scale(1 / three.mean), servers=32),
    }
    rows = []
    for name, queue in queues.items():
        spent = []
        for _ in range(6 if queue.servers != 32 else 2):
            times = [time.process_time()]
            solved = queue.solve()
            for what, q in (("mean", 0.0), ("wait", 0.95), ("response", 0.99)):
                solved.mean_response if what == "mean" else getattr(solved, what).ppf(q)
                times.append(time.process_time())
            spent.append(np.diff(times))
        mean, wait, response = np.median(spent[1:], axis=0)
        rows.append(
            {
                "what": name,
                "mean": mean,
                "p95_of_wait": wait,
                "p99_of_response": response,
                "ratio": wait / mean,
            }
        )
    rng = stream(SEED, "costs")
    spent = []
    for _ in range(6):
        stations = [Station(f"s{i}") for i in range(10)]
        classes = [
            CustomerClass({s.name: float(rng.exponential()) for s in stations}, population=n, think=3.0)
            for n in (167, 167, 166)
        ]
        before = time.process_time()
        QueueingNetwork(stations, classes).solve("exact")
        spent.append(time.process_time() - before)
    rows.append({"what": "10 stations, 3 classes, 500 customers, exact", "mean": float(np.median(spent[1:]))})
    write_record("queue-costs", rows, command="python -m tests.campaigns.queues costs", seed=SEED)


def main(names: list[str]) -> None:
    """Run the parts and write the record."""
    if names in (["textbook"], ["costs"]):
        {"textbook": textbook, "costs": costs}[names[0]]()
        return
    parts = {each.__name__: each for each in (single, several, cycles, backlogs)}
    rows: list[dict[str, Any]] = []
    if names == ["marked"]:
        marked(rows)
        write_record("marked-queues", rows, command="python -m tests.campaigns.queues marked", seed=SEED)
    else:
        for name in names or list(parts):
            parts[name](rows)
            print(name, "done", file=sys.stderr, flush=True)
            write_record("queues", rows, command="python -m tests.campaigns.queues", seed=SEED)
    for part in dict.fromkeys(each["part"] for each in rows):
        own = [each for each in rows if each["part"] == part]
        inside = np.mean([abs(each["z"]) <= 3.29 for each in own])
        errors = np.abs([each["error"] for each in own])
        print(part, len(own), f"inside 99.9 %: {inside:.4f}", np.quantile(errors, [0.5, 0.9, 1.0]).round(4))


if __name__ == "__main__":
    main(sys.argv[1:])
