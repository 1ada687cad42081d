"""Waits of random queues at light load against sixty digits, as a record.

``python -m tests.campaigns.light_load [COUNT]`` takes about half a second of CPU for each queue.
"""

from __future__ import annotations

import sys

import numpy as np

from phasefit import match_moments
from qmodels.networks.many_server import ManyServerQueue
from tests.campaigns.record import write_record
from tests.naive import light_load

SEED = 20261122


def random_queue(seed):
    """Laws of order 1 or 2 of any variability, 1 to 5 servers, loads of 1e-6 to .3."""
    rng = np.random.default_rng([SEED, seed])
    arrivals, service = (
        match_moments(1.0, 1.0 + scv) for scv in np.exp(rng.uniform(np.log(0.5), np.log(20.0), 2))
    )
    servers = int(rng.integers(1, 6))
    load = float(np.exp(rng.uniform(np.log(1e-6), np.log(0.3))))
    return arrivals.scale(1.0 / (servers * load)), service, servers


def measured(seed):
    """Relative errors of P(wait) and of the mean wait, this by the solution and by the law."""
    arrivals, service, servers = random_queue(seed)
    found = ManyServerQueue(arrivals, service, servers=servers).solve()
    decay = found.chain.decay_rate()
    beyond = max(6, int(np.ceil(np.log(1e-14) / np.log(decay))))
    chance, mean = light_load.waiting(
        *((law.alpha, law.jumps, law.exit) for law in (arrivals, service)),
        servers,
        beyond=beyond,
    )
    return {
        "queue": seed,
        "servers": servers,
        "load": service.mean / (servers * arrivals.mean),
        "arrivals_scv": arrivals.scv,
        "service_scv": service.scv,
        "wait_probability": float(chance),
        "error_of_wait_probability": float(found.wait_probability / chance - 1),
        "error_of_mean_wait": float(found.mean_wait / mean - 1),
        "error_of_mean_of_law": float(found.wait.mean / mean - 1),
    }


def main(count: int) -> None:
    """Measure so many queues, say how far it has come, write the record."""
    rows = []
    for queue in range(count):
        rows.append(measured(queue))
        if (queue + 1) % 100 == 0:
            print(f"{queue + 1} of {count} queues", file=sys.stderr)
    worst = {key: max(abs(row[key]) for row in rows) for key in rows[0] if key.startswith("error")}
    write_record(
        "light-load",
        rows,
        command=f"python -m tests.campaigns.light_load {count}",
        seed=SEED,
        queues=count,
        **{f"largest_{key}": worst[key] for key in worst},
    )
    print(worst)


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 2000)
