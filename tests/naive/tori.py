"""Random tori and their traffic, played by `validation.mesh` and flit by flit by `lanes`.

``python -m tests.naive.tori FILE`` plays twenty and writes one row for each load of each.
"""

import csv
import sys
from time import process_time

import numpy as np

from tests.naive import lanes, wormhole
from validation.mesh import Mesh, Messages, Network, Router

TRAFFIC = ("uniform", "neighbour", "transpose", "hot spot")
SHARES = (0.2, 0.4, 0.6)  # of saturation


def play(mesh, router, messages, job=None, **options):
    """Worms of a list of messages, in its order, moved flit by flit; `job` numbers who sends each."""

    def place(node):
        return tuple(int(v) for v in mesh.router_coordinates[mesh.routers_of[node]])

    listed = []
    for sender, created, source, target, flits in zip(
        np.zeros(messages.created.size, int) if job is None else job,
        messages.created.tolist(),
        messages.source.tolist(),
        messages.destination.tolist(),
        messages.flits.tolist(),
        strict=True,
    ):
        sides = (mesh.columns, mesh.rows, mesh.depth)
        links = wormhole.links(sides, mesh.torus, place(source), place(target))
        inner = [((begin, port), lane) for begin, port, lane in links]
        route = [(("in", place(source)), None), *inner, (("out", place(target)), None)]
        listed.append((created, (sender, place(source)), route, flits))
    ports, many = 2 * mesh.dimensions, mesh.virtual_channels

    def inputs(worm, i):
        every = (ports + 1) * many
        if i == 0:
            return every - 1, every
        if i == 1:
            return ports * many + worm.lanes[0], every
        (_, port), lane = worm.route[i - 1]
        return (port ^ 1) * many + lane, every

    delays = {name: getattr(router, name) for name in router.__dataclass_fields__}
    return lanes.simulate(listed, lanes=many, inputs=inputs, **delays, **options)


def targets(mesh, traffic, source, rng):
    """Where messages of these sources go."""
    x, y, z = mesh.router_coordinates[source].T
    if traffic == "neighbour":
        return (x + 1) % mesh.columns + mesh.columns * (y + mesh.rows * z)
    if traffic == "transpose":  # as far as the sides allow it
        return y % mesh.columns + mesh.columns * (x % mesh.rows + mesh.rows * z)
    target = rng.integers(0, mesh.nodes, source.size)
    if traffic == "hot spot":  # every eighth to one node
        target[rng.random(source.size) < 1 / 8] = mesh.nodes // 2
    return target


def messages_at(mesh, traffic, load, longest, cycles, rng):
    """Messages that all nodes make at random times, of 1 to so many flits, at a load per node."""
    made = rng.random((cycles, mesh.nodes)) < load / ((1 + longest) / 2)
    created, source = np.nonzero(made)
    flits = rng.integers(1, longest + 1, source.size)
    return Messages(created, source, targets(mesh, traffic, source, rng), flits)


def random_torus(seed):
    """A torus, a traffic, and the length of its longest message."""
    rng = np.random.default_rng((14, seed))
    while True:
        shape = rng.integers(3, 11, 2 + seed % 2)
        if np.prod(shape) <= 125:
            break
    mesh = Mesh(*shape.tolist(), torus=True)
    return mesh, TRAFFIC[seed // 2 % 4], int(rng.integers(1, 33)), rng


def delivery_times(mesh, router, messages, until=None):
    """Ours: delivery times by message, -1 where later than `until`."""
    network = Network(mesh, router, record=True)
    network.start("all", None, messages)
    network.advance(until)
    ours = np.full(messages.created.size, -1)
    frame = network.messages()
    ours[frame["number"]] = frame["delivered"]
    return ours


def compare(mesh, messages, router, until=None):
    """Ours and the twin's: delivery times by message, -1 where later."""
    worms = play(mesh, router, messages, until=until or float("inf"))
    twins = np.array([-1 if w.delivered is None else w.delivered for w in worms])
    return delivery_times(mesh, router, messages, until), twins


def throughput(mesh, messages, delivered, cycles):
    """Flits per node and cycle that arrive in the second half of so many cycles."""
    arrived = (delivered >= cycles // 2) & (delivered < cycles)
    return messages.flits[arrived].sum() / (mesh.nodes * (cycles - cycles // 2))


def measure(seed, *, cycles):
    """One row for each share of saturation and one at saturation."""
    mesh, traffic, longest, rng = random_torus(seed)
    both = [Router.pipelined(input_speedup=ways) for ways in (2, 1)]
    flood = messages_at(mesh, traffic, 1.0, longest, cycles, rng)
    played = [compare(mesh, flood, router, until=cycles) for router in both]
    full = [throughput(mesh, flood, times, cycles) for pair in played for times in pair]
    rows = [("saturation", flood.created.size, *differences(played), *full)]
    for share in SHARES:
        sent = messages_at(mesh, traffic, share * full[1], longest, cycles, rng)
        played = [compare(mesh, sent, router) for router in both]
        latency = [float((times - sent.created).mean()) for pair in played for times in pair]
        rows.append((share, sent.created.size, *differences(played), *latency))
    name = "x".join(map(str, mesh.shape))
    return [(name, traffic, longest, *row) for row in rows]


def differences(played):
    """Messages that the twin delivers at another time, for each router."""
    return [int((ours != twins).sum()) for ours, twins in played]


if __name__ == "__main__":
    begin = process_time()
    with open(sys.argv[1], "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(
            [
                "torus",
                "traffic",
                "longest message",
                "share of saturation",
                "messages",
                "at another time",
                "at another time, one from each input",
                "ours",
                "flit by flit",
                "ours, one from each input",
                "flit by flit, one from each input",
            ]
        )
        for seed in range(20):
            for row in measure(seed, cycles=300):
                out.writerow([f"{v:.6g}" if isinstance(v, float) else v for v in row])
            file.flush()
            print(f"{seed + 1} of 20 tori, {process_time() - begin:.0f} s of CPU", file=sys.stderr)
