"""Make ``tests/data/reference`` with the naive twins: ``python -m tests.data.make_reference``.

Chains with every job and stage told apart, dense solutions, matrix exponentials; nothing of
`qmodels` takes part. Some minutes of one processor.
"""

from __future__ import annotations

import json
from math import log, sqrt
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from scipy import stats
from scipy.linalg import expm
from scipy.optimize import brentq

from tests.naive import closed_network, em, qbd

HERE = Path(__file__).parent / "reference"
LEVELS = (0.5, 0.9, 0.95, 0.99)
SEED = 20261121


def law(kind, mean):
    """(alpha, T) of M, E2_scv0.5, E3, H2_scv4 with balanced means ..."""
    if kind == "M":
        return [1.0], [[-1.0 / mean]]
    if kind[0] == "E":
        k = int(kind[1])
        rows = [[0.0] * k for _ in range(k)]
        for i in range(k):
            rows[i][i] = -k / mean
            if i + 1 < k:
                rows[i][i + 1] = k / mean
        return [1.0] + [0.0] * (k - 1), rows
    scv = float(kind.partition("scv")[2])
    share = (1.0 + sqrt((scv - 1.0) / (scv + 1.0))) / 2.0
    return [share, 1.0 - share], [[-2.0 * share / mean, 0.0], [0.0, -2.0 * (1.0 - share) / mean]]


def sojourn(states, rates, pi, discipline):
    """First three moments of job 0's time at the disk; percentiles under FCFS."""
    there = np.array([0 in queue for _, queue in states])
    moments = closed_network.sojourn_moments(states, rates, pi, 3)
    found = {"sojourn_moments": moments, "sojourn_scv": moments[1] / moments[0] ** 2 - 1.0}
    if discipline == "fcfs":
        start = pi[~there] @ rates[np.ix_(~there, there)]
        inside = (rates - np.diag(rates.sum(axis=1)))[np.ix_(there, there)]
        found["sojourn_percentiles"] = percentiles(start / start.sum(), inside, moments[0])
    return found


def percentiles(start, inside, scale):
    """Times by which absorption has come with the probabilities in `LEVELS`."""

    def alive(time):
        return float((start @ expm(inside * time)).sum())

    return {
        str(level): 0.0
        if start.sum() <= 1.0 - level
        else brentq(lambda t, q=level: alive(t) - (1.0 - q), 0.0, 200.0 * scale, xtol=1e-13)
        for level in LEVELS
    }


def lumped(states, discipline):
    """States when jobs have no names: computing stages, jobs at the disk, stages served there."""
    seen = set()
    for where, queue in states:
        cpu = tuple(sorted(stage for place, stage in where if place == "cpu"))
        served = [where[j][1] for j in queue if where[j][0] == "disk"]
        seen.add((cpu, len(queue), tuple(sorted(served))))
    return len(seen)


def closed():
    """Closed network of a delay and one disk."""
    cases = []
    for think, disk, mean, jobs in (
        ("M", "M", 1.0, 3),
        ("E2", "H2_scv10", 0.5, 2),
        ("H2_scv4", "H2_scv4", 0.4, 3),
        ("E2", "M", 0.25, 4),
        ("E3", "E2", 0.5, 2),
        ("H2_scv4", "E2", 0.25, 3),
        ("M", "E2", 1.0, 1),
    ):
        delay, service = law(think, 1.0), law(disk, mean)
        laws = [
            tuple(
                SimpleNamespace(alpha=np.array(a), T=np.array(t), order=len(a)) for a, t in (delay, service)
            )
        ] * jobs
        for discipline in ("fcfs", "ps"):
            states, rates = closed_network.chain(laws, discipline)
            pi = closed_network.steady(rates)
            pk = closed_network.disk_law(states, pi, jobs)
            there = float(pk @ np.arange(jobs + 1))
            throughput, _ = closed_network.averages(states, rates, pi, 0)
            cases.append(
                {
                    "id": f"{discipline}_Y{jobs}_think-{think}_serv{disk}",
                    "input": {
                        "Y": jobs,
                        "sched": discipline.upper(),
                        "think": {"alpha": delay[0], "T": delay[1]},
                        "service": {"alpha": service[0], "T": service[1]},
                    },
                    "output": {
                        "states": lumped(states, discipline),
                        "X": jobs * throughput,
                        "Nq": there,
                        "Nd": jobs - there,
                        "Rq": there / (jobs * throughput),
                        "U": 1.0 - float(pk[0]),
                        "pk": pk.tolist(),
                    }
                    | sojourn(states, rates, pi, discipline),
                }
            )
    return cases


def parts(given):
    """(alpha, jumps, exits) as `tests.naive.qbd` wants it."""
    alpha, t = np.array(given[0]), np.array(given[1])
    jumps = t - np.diag(np.diag(t))
    return alpha, jumps, -t.sum(axis=1)


def queue(arrival, service, speeds):
    """Jobs, waits and decay of PH/PH/c with so much room that it is hardly ever full."""
    most, servers, exits = 60, len(speeds), parts(arrival)[2]
    p = np.ones(most + 1)
    while p[most] > 1e-16:
        most += most // 4
        number, rates = qbd.many_server_chain(parts(arrival), parts(service), speeds, most)
        pi = qbd.stationary(number, rates)
        p = np.zeros(most + 1)
        for (jobs, _, _), chance in pi.items():
            p[jobs] += chance
    n = np.arange(most + 1)
    rate = sum(chance * exits[stage] for (_, stage, _), chance in pi.items())
    met = sum(chance * exits[stage] for (jobs, stage, _), chance in pi.items() if jobs >= servers)
    jobs, waiting = float(p @ n), float(p @ np.maximum(n - servers, 0))
    at = most // 2
    found = {
        "L": jobs,
        "R": jobs / rate,
        "Lq": waiting,
        "Wq": waiting / rate,
        "P_wait": met / rate,
        "p_n": p[:servers].tolist(),
    }
    ratios = p[at + 1] / p[at], p[at] / p[at - 1]
    if abs(ratios[0] / ratios[1] - 1.0) < 1e-12:
        found["decay_rate"] = ratios[0]
    return found, pi, rate, most


def open_queues():
    """PH/PH/c at constant and at varying speeds."""
    plain, varying = [], []
    for arrival, service, c, rho in (
        ("M", "M", 1, 0.6),
        ("M", "H2_scv4", 1, 0.3),
        ("E2_scv0.5", "M", 2, 0.6),
        ("E2_scv0.5", "E3_scv0.333", 1, 0.6),
        ("H2_scv4", "M", 2, 0.5),
        ("H2_scv4", "E2_scv0.5", 1, 0.5),
        ("M", "H2_scv4", 3, 0.5),
        ("E2_scv0.5", "H2_scv4", 2, 0.4),
    ):
        laws = law(arrival, 1.0 / (c * rho)), law(service, 1.0)
        found, *_ = queue(*laws, [1.0] * c)
        plain.append(described(f"{arrival}/{service}/c{c}_rho{rho}", laws, c, found))
    for arrival, service, speeds, rate in (
        ("M", "M", [1.0, 0.7], 0.8),
        ("E2_scv0.5", "E2_scv0.5", [1.0, 0.65], 0.8),
        ("M", "H2_scv4", [1.0, 0.8, 0.5], 0.7),
        ("H2_scv4", "M", [1.0, 0.6], 0.5),
    ):
        laws = law(arrival, 1.0 / rate), law(service, 1.0)
        found, *_ = queue(*laws, speeds)
        name = f"speeds {speeds}/{arrival}/{service}/rate{rate}"
        case = described(name, laws, len(speeds), found)
        case["input"]["speeds"] = speeds
        varying.append(case)
    return plain, varying


def described(name, laws, c, found):
    (a, b), (s, t) = laws
    given = {"c": c, "arrival": {"alpha": a, "T": b}, "service": {"alpha": s, "T": t}}
    return {"id": name, "input": given, "output": found}


def waits():
    """The time until a server is free, job by job: services only, no arrivals."""
    cases = []
    for arrival, service, c, rho in (
        ("M", "H2_scv4", 1, 0.3),
        ("E2_scv0.5", "M", 2, 0.6),
        ("M", "E2_scv0.5", 2, 0.6),
        ("H2_scv4", "E2_scv0.5", 1, 0.5),
    ):
        laws = law(arrival, 1.0 / (c * rho)), law(service, 1.0)
        found, pi, rate, most = queue(*laws, [1.0] * c)
        exits, (begin, jumps, ends) = parts(laws[0])[2], parts(laws[1])
        number: dict[tuple[int, tuple[int, ...]], int] = {}
        for (jobs, _, busy), _chance in pi.items():
            if c <= jobs < most:
                number.setdefault((jobs, busy), len(number))
        start, inside = np.zeros(len(number)), np.zeros((len(number), len(number)))
        for (jobs, stage, busy), chance in pi.items():
            if c <= jobs < most:
                start[number[jobs, busy]] += chance * exits[stage] / rate
        for (jobs, busy), i in number.items():
            for a, count in enumerate(busy):
                if not count:
                    continue
                left = [n - (k == a) for k, n in enumerate(busy)]
                inside[i, i] -= count * (jumps[a].sum() + ends[a])
                for b in range(len(busy)):
                    after = tuple(n + (k == b) for k, n in enumerate(left))
                    inside[i, number[jobs, after]] += count * jumps[a, b]
                    if jobs > c:
                        inside[i, number[jobs - 1, after]] += count * ends[a] * begin[b]
        v, moments = np.ones(len(number)), []
        for k in (1, 2):
            v = k * np.linalg.solve(-inside, v)
            moments.append(float(start @ v))
        cases.append(
            {
                "id": f"{arrival}/{service}/c{c}_rho{rho}",
                "c": c,
                "rho": rho,
                "Wq_mean": moments[0],
                "Wq_m2": moments[1],
                "Wq_mean_little": found["Wq"],
                "P_wait": found["P_wait"],
                "percentiles": percentiles(start, inside, max(moments[0], 0.1)),
            }
        )
    return cases


def partitions(n, largest=None):
    """Ways to write n as a sum of numbers in falling order."""
    if n == 0:
        yield []
    for first in range(min(n, largest or n), 0, -1):
        for rest in partitions(n - first, first):
            yield [first, *rest]


def samples(name, size, rng):
    """Times of a law, scaled to mean one, and the mean logarithm of their true density."""
    if name == "lognormal_scv4":
        true = stats.lognorm(log(5.0) ** 0.5)
    elif name == "weibull_k0.5":
        true = stats.weibull_min(0.5)
    elif name == "uniform_0.5_1.5":
        true = stats.uniform(0.5, 1.0)
    else:
        low, high = 15.0, 4241.0
        x = low / (1.0 - rng.random(size) * (1.0 - low / high))
        density = log(low / (1.0 - low / high)) - 2.0 * np.log(x)
        return x / x.mean(), float(density.mean() + log(x.mean()))
    x = true.rvs(size, random_state=rng)
    return x / x.mean(), float(true.logpdf(x).mean() + log(x.mean()))


def fits():
    """Best branches of each order by plain EM from spread starts; 400 steps."""
    cases, size = [], 10_000
    for name in ("lognormal_scv4", "weibull_k0.5", "uniform_0.5_1.5", "bpareto_k15_q4241_a1"):
        x, truth = samples(name, size, np.random.default_rng([SEED, len(name)]))
        for order in (2, 4, 8):
            best = (-np.inf, [])
            for phases in partitions(order):
                if order == 8 and len(phases) not in (1, 3, 4, 5):
                    continue
                means = np.quantile(x, (np.arange(len(phases)) + 0.5) / len(phases))
                value = em.plain_hyper_erlang(x, phases, np.sort(means), 400) / size
                best = max(best, (value, phases))
            cases.append(
                {
                    "data": name,
                    "n": size,
                    "order": order,
                    "orders": best[1],
                    "ll_exact_samples": best[0],
                    "ll_true_density": truth,
                }
            )
    return cases


def write(name, content):
    (HERE / name).write_text(json.dumps(content, separators=(",", ":")) + "\n", encoding="ascii")


def main():
    HERE.mkdir(exist_ok=True)
    write("closed_two_centre.json", closed())
    plain, varying = open_queues()
    write("ph_ph_c.json", plain)
    write("ph_ph_c_state_dependent.json", varying)
    write("ph_ph_c_wait_percentiles.json", waits())
    write("hyper_erlang_fits.json", fits())


if __name__ == "__main__":
    main()
