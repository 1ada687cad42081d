"""Networks of any stations: exact solutions against chains of all states, approximations against exact ones.

The seed and the rule were committed before the first run. ``python -m tests.campaigns.station_networks
[CHAINS] [NETWORKS]`` takes about a tenth of a second of CPU for a chain, and a hundredth for a network.
"""

from __future__ import annotations

import sys
from collections import defaultdict

import numpy as np

from qmodels.networks import CustomerClass, QueueingNetwork, Station
from tests.campaigns.record import write_record
from tests.naive.station_network import chain_figures

SEED = 20261126
CHAINS, NETWORKS = 1000, 5_000
#: Open customers that a chain lets in, and jobs of closed classes.
MOST_OPEN, MOST_CLOSED = 24, 5


def random_network(rng):
    """A small network of any stations, and what the naive chain of it asks for."""
    k, r = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    opened = rng.random(r) < 0.25
    stations = []
    for i in range(k):
        kind = rng.integers(4)
        name = f"s{i}"
        if kind == 0 and i:
            stations.append(Station(name, "delay"))
        elif kind == 1:
            stations.append(Station(name, servers=int(rng.integers(2, 4))))
        elif kind == 2:
            stations.append(Station(name, speeds=rng.uniform(0.5, 2.0, int(rng.integers(1, 4)))))
        else:
            stations.append(Station(name, "lcfs-pr"))
    routing = np.zeros((r, k + 1, k + 1))
    population, rates = np.zeros(r, dtype=int), np.zeros(r)
    service = rng.uniform(0.2, 1.5, (r, k))
    names = [s.name for s in stations]
    classes = []
    for c in range(r):
        routing[c, :k, :k] = (0.6 if opened[c] else 1.0) * rng.dirichlet(np.ones(k), k)
        if opened[c]:
            rates[c] = 0.05
            routing[c, :k, k], routing[c, k, 0] = 0.4, 1.0
        else:
            population[c] = int(rng.integers(1, 4))
        rows = {n: dict(zip(names, routing[c, i, :k].tolist(), strict=True)) for i, n in enumerate(names)}
        kind = {"arrival_rate": rates[c]} if opened[c] else {"population": int(population[c])}
        classes.append(CustomerClass(dict(zip(names, service[c], strict=True)), routing=rows, **kind))
    return QueueingNetwork(stations, classes), (service, routing, population, rates)


def small_networks(rng, count):
    """So many of them whose chain has a few thousand states at most."""
    while count:
        network, asked = random_network(rng)
        opened = int((network.rates > 0).sum())
        if opened <= (len(network.stations) == 2) and network.populations.sum() <= MOST_CLOSED:
            count -= 1
            yield network, asked


def chain_error(network, asked):
    """Largest relative difference of a throughput or a mean queue from those of the chain of all states."""
    table = [[float(station.speed_with(n)) for n in range(60)] for station in network.stations]
    flow, queues = chain_figures(lambda k, n: table[k][n], *asked, MOST_OPEN)
    solution = network.solve("exact")
    there = queues > 0
    differences = [solution.throughput / flow - 1.0, solution.queues[there] / queues[there] - 1.0]
    return max(float(np.abs(each).max()) for each in differences)


def large_network(rng):
    """A closed network of 2 to 10 stations and 1 to 3 classes that can be solved exactly, and its regime."""
    k, r = int(rng.integers(2, 11)), int(rng.integers(1, 4))
    servers = bool(rng.integers(2))
    stations = [
        Station(f"s{i}", servers=int(rng.integers(2, 9)) if servers and rng.random() < 0.3 else 1)
        for i in range(k)
    ]
    most = {1: 200, 2: 40, 3: 12}[r]
    classes = [
        CustomerClass(
            {s.name: float(rng.exponential()) for s in stations},
            population=int(rng.integers(1, most + 1)),
            think=float(rng.choice([0.0, 10.0])),
        )
        for _ in range(r)
    ]
    kind = "several servers" if any(station.servers > 1 for station in stations) else "one server"
    return QueueingNetwork(stations, classes), f"{kind}, {r} class{'es' * (r > 1)}"


def roomy_network(rng):
    """A closed network of 2 to 5 stations with as many servers as customers, or nearly, and its regime."""
    stations = [Station(f"s{i}", servers=int(rng.integers(1, 13))) for i in range(int(rng.integers(2, 6)))]
    classes = [
        CustomerClass(
            {s.name: float(10 ** rng.uniform(-2, 1)) for s in stations},
            population=int(rng.integers(1, 9)),
            think=float(rng.choice([0.0, 1.0])),
        )
        for _ in range(int(rng.integers(1, 3)))
    ]
    network = QueueingNetwork(stations, classes)
    enough = max(station.servers for station in stations) >= network.populations.sum()
    return network, f"few customers, {'as many servers somewhere' if enough else 'more than servers'}"


def main() -> None:
    """Measure and write the record."""
    chains, networks = [int(a) for a in sys.argv[1:]] or [CHAINS, NETWORKS]
    exact = [chain_error(*case) for case in small_networks(np.random.default_rng([SEED, 1]), chains)]
    rng = np.random.default_rng([SEED, 2])
    errors = defaultdict(list)
    for place in range(2 * networks):
        network, regime = (large_network if place < networks else roomy_network)(rng)
        response = network.solve("exact").response
        for method in ("linearizer", "bard-schweitzer"):
            off = np.abs(network.solve(method).response / response - 1.0)
            errors[regime, method].append(float(off.max()))
    errors["small, against the chain", "exact"] = exact
    rows = []
    for (regime, method), found in sorted(errors.items()):
        figures = [float(f"{q:.3g}") for q in np.quantile(found, [0.5, 0.9, 0.99, 1.0])]
        row = {"regime": regime, "method": method, "networks": len(found)}
        rows.append(row | dict(zip(("median", "p90", "p99", "worst"), figures, strict=True)))
    command = f"python -m tests.campaigns.station_networks {chains} {networks}"
    write_record("station-networks", rows, command=command, seed=SEED)


if __name__ == "__main__":
    main()
