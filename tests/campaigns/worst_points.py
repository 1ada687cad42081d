"""Why the ten worst points of the policy grid are off: each played again with one thing changed.

``python -m tests.campaigns.worst_points`` takes the ten largest errors of
``docs/record/policy-models.csv`` and writes ``worst-points.csv``: the error of the mean with turns
replaced by sharing, with exponential demands, at half the load, with disks of its own for each
processor partition, and as it is with another seed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace

import pandas as pd

from phasefit import PhaseType
from qmodels.policies import System, TimeSharing, Workload
from tests.campaigns.policy_errors import compared
from tests.campaigns.policy_points import GridPoint, drawn
from tests.campaigns.record import FOLDER, write_record

COUNT, SEED = 10, 1


def sharing(point: GridPoint) -> GridPoint | None:
    """Computation bursts that share their processors instead of taking turns."""
    policy = point.policy
    if not isinstance(policy, TimeSharing) or policy.cpu_discipline == "ps":
        return None
    return replace(point, policy=replace(policy, cpu_discipline="ps"))


def exponential(point: GridPoint) -> GridPoint:
    """Demands of scv 1."""
    work = point.workload
    demand = PhaseType.exponential(mean=1.0)
    return replace(point, workload=Workload(work.program, demand, work.arrivals))


def half_load(point: GridPoint) -> GridPoint:
    """Half the rate."""
    return replace(point, fraction=0.5 * point.fraction)


def own_disks(point: GridPoint) -> GridPoint | None:
    """As many disk partitions as processor partitions, of one disk each."""
    policy = point.policy
    if not isinstance(policy, TimeSharing) or policy.disk_partitions == policy.processor_partitions:
        return None
    wider = replace(policy, disk_partitions=policy.processor_partitions)
    machine = System(point.system.processors, policy.processor_partitions)
    return replace(point, policy=wider, system=machine)


CHANGES: dict[str, Callable[[GridPoint], GridPoint | None]] = {
    "as it is": lambda point: point,
    "sharing": sharing,
    "exponential": exponential,
    "half load": half_load,
    "own disks": own_disks,
}


def rows() -> Iterator[dict[str, object]]:
    """One row for each of the worst points."""
    table = pd.read_csv(FOLDER / "policy-models.csv")
    worst = table.reindex(table.mean_error.abs().sort_values(ascending=False).index)[:COUNT]
    for known in worst.to_dict("records"):
        point = drawn(str(known["kind"]), int(known["number"]))
        row: dict[str, object] = {
            "kind": known["kind"],
            "number": known["number"],
            "policy": known["policy"],
            "of capacity": round(float(known["fraction"]), 3),
            "demand scv": round(float(known["demand_scv"]), 2),
            "error": round(float(known["mean_error"]), 4),
        }
        for name, change in CHANGES.items():
            changed = change(point)
            if changed is None:
                row |= {name: "", f"{name} half-width": ""}
                continue
            found = compared(changed, seed=SEED, least_jobs=30_000)
            width = found["mean_half_width"] / found["mean_simulated"]
            row |= {name: round(found["mean_error"], 4), f"{name} half-width": round(width, 4)}
        print(row, file=sys.stderr, flush=True)
        yield row


if __name__ == "__main__":
    write_record("worst-points", list(rows()), command="python -m tests.campaigns.worst_points", seed=SEED)
