"""Tori against routers with separable allocators, with one and two ways from each input.

Six tori with uniform traffic, at saturation and at shares of what the stricter of those routers
carries then; the same messages for all. The judge is `tests.naive.allocators`, which completes the
messages of the traces of BookSim 2 on a mesh in BookSim's own cycles (`test_mesh_calibration`).

``python -m tests.campaigns.torus_routers`` takes about five minutes of CPU.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np

from tests.campaigns.record import write_record
from tests.naive import allocators
from tests.naive.tori import delivery_times, throughput
from validation.mesh import Mesh, Messages, Router

SEED = 99
#: Sides, and flits of a message.
TORI = (((5, 5), 8), ((6, 6), 20), ((7, 7), 8), ((9, 9), 4), ((4, 4, 4), 16), ((5, 5, 5), 8))
SHARES = (0.2, 0.4, 0.6, 0.8)
#: Cycles in which messages are made; those of the first are not counted below saturation.
CYCLES, LARGE_CYCLES, WARM_UP = 5000, 2500, 400
WAYS = (2, 1)


def uniform(mesh: Mesh, load: float, flits: int, cycles: int, rng: np.random.Generator) -> Messages:
    """Messages of all nodes to anywhere, at a load of flits per node and cycle."""
    created, source = np.nonzero(rng.random((cycles, mesh.nodes)) < load / flits)
    target = rng.integers(0, mesh.nodes, source.size)
    return Messages(created, source, target, np.full(source.size, flits))


def rows_of(shape: tuple[int, ...], flits: int) -> Iterator[dict[str, object]]:
    """Throughput at saturation, and mean latencies below it, of one torus."""
    mesh = Mesh(*shape, torus=True)
    rng = np.random.default_rng([SEED, flits, len(shape), shape[0]])
    cycles = CYCLES if mesh.nodes < 50 else LARGE_CYCLES
    full = 1.0
    for share in ("saturation", *SHARES):
        load = 1.0 if share == "saturation" else float(share) * full
        messages = uniform(mesh, load, flits, cycles, rng)
        until = cycles if share == "saturation" else None

        def measured(times: np.ndarray, messages: Messages = messages, until: int | None = until) -> float:
            if until is not None:
                return float(throughput(mesh, messages, times, until))
            return float((times - messages.created)[messages.created >= WARM_UP].mean())

        ours = [
            measured(delivery_times(mesh, Router.pipelined(input_speedup=ways), messages, until))
            for ways in WAYS
        ]
        judge = [measured(allocators.delivery_times(mesh, messages, ways, until)) for ways in WAYS]
        if until is not None:
            full = judge[1]
        yield {
            "torus": "x".join(map(str, shape)),
            "flits": flits,
            "share_of_saturation": share,
            "measure": "latency" if until is None else "throughput",
            "messages": messages.created.size,
            **{
                f"{who}_{ways}": f"{value:.6g}"
                for who, values in (("ours", ours), ("allocators", judge))
                for ways, value in zip(WAYS, values, strict=True)
            },
            "error_2_against_2": f"{ours[0] / judge[0] - 1.0:.4f}",
            "error_2_against_1": f"{ours[0] / judge[1] - 1.0:.4f}",
            "error_1_against_1": f"{ours[1] / judge[1] - 1.0:.4f}",
        }


def main() -> None:
    """Play all tori and write the record."""
    found = []
    for shape, flits in TORI:
        for row in rows_of(shape, flits):
            found.append(row)
            print(row, file=sys.stderr, flush=True)
    write_record("torus-routers", found, command="python -m tests.campaigns.torus_routers", seed=SEED)


if __name__ == "__main__":
    main()
