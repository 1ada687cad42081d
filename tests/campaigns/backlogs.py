"""Hold predicted times until a backlog is drained against simulated ones.

``python -m tests.campaigns.backlogs JOURNAL 0 50`` measures (in pieces side by side, if numbers are divided),
``... JOURNAL`` writes the record. Every system is drawn from [SEED, number]: a policy whose
model is exact, laws of demand and of arrivals of two moments, a utilisation, and a backlog. A simulated
machine begins with the backlog, at a random time of its arrivals, and is watched until no job waits.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from scipy.stats import binomtest, t

from qmodels import Phase, Program, System, Workload, predict
from qmodels.policies.labels import as_policy
from tests.campaigns.pieces import COLLECTED, journal_rows, measured_rows
from tests.campaigns.record import write_record
from validation.sharing.draws import draw, job_source
from validation.sharing.event_loop import play_jobs
from validation.sharing.layout import layout

SEED, REPLICATIONS = 3606, 400
#: Mean gaps after which the arrivals no longer know how they began.
SETTLED = 200


def system_of(number):
    """Return policy, machine, workload, utilisation and backlog of a system."""
    rng = np.random.default_rng([SEED, number])
    k = int(rng.choice([1, 2, 4, 8]))
    label = f"SP({k},{k})" if rng.random() < 0.6 else "DP(8)"
    machine = System(16, 8, min_processors=2)
    io = 10.0 ** rng.uniform(0.0, 1.5)
    program = Program([Phase(io=io, cpu=100.0)] if label.startswith("SP") else [Phase(io=0.0, cpu=100.0)])
    demand, arrivals = 10.0 ** rng.uniform(-0.5, 1.0), float(rng.choice([0.5, 1.0, 1.0, 4.0]))
    if label == "DP(8)":  # eight jobs of few stages each
        demand = max(demand, 0.5)
    work = Workload.from_scv(program, demand_scv=demand, arrival_scv=arrivals)
    utilisation = rng.uniform(0.3, 0.9)
    running = as_policy(label).arrangement(machine).max_running
    return label, machine, work, utilisation, running + int(rng.integers(5, 200))


def simulated(label, machine, work, rate, backlog, expected, number):
    """Return seconds until no job waits, one for each replication."""
    policy = as_policy(label)
    source = job_source(work, None, None, None, policy.allotment(machine))
    plan = layout(policy, machine, source.times)
    times = []
    for replication in range(REPLICATIONS):
        total = backlog + int(rate * expected) + 50
        while True:
            jobs = draw(source, plan, total, seed=SEED, key=(number, replication))
            gaps = draw(source, plan, total + 2 * SETTLED, seed=SEED, key=(number, replication, 1)).gaps
            later = np.cumsum(gaps)
            later = (later[later > SETTLED] - SETTLED)[: total - backlog] / rate
            arrival = np.concatenate([np.zeros(backlog), later])
            _, wait, _, _ = play_jobs(plan, jobs, arrival, (0, arrival.size))
            starts = (arrival + wait)[backlog - 1 : -1]
            ends = np.flatnonzero(arrival[backlog:] > np.maximum.accumulate(starts))
            if ends.size:
                times.append(float(starts[ends[0]]))
                break
            total *= 2
    return np.array(times)


def measured(number):
    """Return the row of one system."""
    label, machine, work, utilisation, backlog = system_of(number)
    answer = predict(label, machine, work, utilisation=utilisation)
    left = answer.backlog(backlog)
    times = simulated(label, machine, work, answer.arrival_rate, backlog, left.mean + 4.0 * left.std, number)
    half = float(t.ppf(0.9995, times.size - 1) * times.std(ddof=1) / np.sqrt(times.size))
    row = {
        "number": number,
        "policy": label,
        "method": answer.method,
        "demand_scv": work.demand.scv,
        "arrival_scv": work.arrivals.scv,
        "utilisation": utilisation,
        "backlog": backlog,
        "mean": left.mean,
        "simulated": float(times.mean()),
        "half_width_999": half,
        "inside": bool(abs(left.mean - times.mean()) <= half),
    }
    for share in (0.5, 0.95):
        within = int((times <= left.percentile(share)).sum())
        ends = binomtest(within, times.size).proportion_ci(0.999)
        row[f"share_within_{share:g}"] = within / times.size
        row[f"inside_{share:g}"] = bool(ends.low <= share <= ends.high)
    return row


def main(journal: str, first: str = "", last: str = "") -> None:
    """Measure systems into a journal, or write the record of it."""
    if first:
        measured_rows(Path(f"{journal}.{first}"), measured, range(int(first), int(last)))
        return
    rows = journal_rows(Path(journal))
    counts = {key: sum(row[key] for row in rows) for key in ("inside", "inside_0.5", "inside_0.95")}
    facts = {key.replace("0.", "p"): value for key, value in counts.items()}
    facts["exact"] = sum(row["method"] == "exact" for row in rows)
    command = "python -m tests.campaigns.backlogs JOURNAL FIRST LAST, then JOURNAL"
    facts |= {"seed": SEED, "systems": len(rows), "replications": REPLICATIONS, "note": COLLECTED}
    write_record("backlogs", rows, command=command, **facts)
    print(facts)


if __name__ == "__main__":
    main(*sys.argv[1:])
