"""Machines and programs that nobody would lay out like this: caps, odd counts, bursts of one kind.

``python -m tests.campaigns.odd_machines`` draws `COUNT` of them, simulates them, predicts them and
writes ``odd-machines.csv``; with ``again`` they are predicted anew beside the simulations that are
there. Rule, count and seed were written down before any of them was simulated, after others of the rule
had led to a dozen repairs. `tests/qmodels/test_odd_machines.py` asks for an answer to more of them.
"""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from typing import Any, Final

import numpy as np

from phasefit import PhaseType, match_moments
from qmodels.policies import (
    AbstractPolicy,
    DynamicPartitioning,
    SpaceSharing,
    System,
    TimeSharing,
    Workload,
)
from qmodels.programs import Phase, Program, WorkingSet
from tests.campaigns.policy_points import GridPoint
from tests.campaigns.record import write_record
from tests.campaigns.unlike_grid import judged, simulated, simulations, summary

COUNT: Final = 48
SEED: Final = 366_036
NAME: Final = "odd-machines"
KIND: Final = "odd machine"


def odd_machine(number: int, *, seed: int = SEED) -> GridPoint:
    """Return a system by its number.

    Parameters
    ----------
    number : int
        0, 1, 2, ...
    seed : int
        The default is that of the record.

    Notes
    -----
    Processors and disks of odd and even counts, partitions of any number, half of them under time
    sharing of up to eight jobs, a third of these under the smaller cap. A program has one to three
    working sets of 1 to 20 phases; half have no I/O, one in three that has any no computation.
    Half of the demands are exponential, the others have an scv of .3 to 6; a fifth have laws of
    bursts instead. A third of the arrivals are no Poisson stream. The load is .1 to .85.

    Examples
    --------
    >>> odd_machine(0).policy.label
    'TS(4,2;M=1;cpu=ps)'
    """
    rng = np.random.default_rng([seed, number])

    def law() -> PhaseType:
        return match_moments(1.0, 1.0 + float(np.exp(rng.uniform(np.log(0.3), np.log(6.0)))))

    sets = []
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        io = 0.0 if rng.random() < 0.5 else float(rng.uniform(0.01, rng.choice([2.0, 30.0])))
        cpu = 0.0 if io and rng.random() < 1 / 3 else float(rng.uniform(0.1, 60.0))
        sets.append(WorkingSet(int(rng.choice([1, 1, 2, 5, 20])), [Phase(io, cpu)]))
    arrivals = law() if rng.random() < 1 / 3 else PhaseType.exponential(mean=1.0)
    if rng.random() < 0.2:
        work = Workload(Program(sets), arrivals=arrivals, io_bursts=law(), cpu_bursts=law())
    else:
        demand = law() if rng.random() < 0.5 else PhaseType.exponential(mean=1.0)
        work = Workload(Program(sets), demand, arrivals)
    processors = int(rng.choice([1, 2, 3, 4, 5, 7, 8, 12, 16, 33]))
    disks = int(rng.choice([1, 2, 3, 4, 5, 8, 16]))
    system = System(processors, disks, disk_discipline="ps" if rng.random() < 0.75 else "fcfs")
    partitions = int(rng.integers(1, min(processors, int(rng.choice([2, 4, 8]))) + 1))
    shared = int(rng.integers(1, min(disks, partitions) + 1))
    policies: list[AbstractPolicy] = [
        SpaceSharing(partitions, shared),
        DynamicPartitioning(int(rng.integers(1, disks + 1))),
        TimeSharing(
            partitions,
            shared,
            int(rng.integers(1, 9)),
            "min" if rng.random() < 1 / 3 else "product",
            "ps" if rng.random() < 0.25 else "fcfs",
        ),
    ]
    policy = policies[int(rng.choice([0, 1, 2, 2]))]
    fraction = float(rng.uniform(0.1, 0.85))
    return GridPoint(KIND, number, policy, system, work, fraction, {"fraction": fraction})


def rows_of(numbers: list[int]) -> list[dict[str, Any]]:
    """Simulate some of the systems."""
    with ProcessPoolExecutor(2) as pool:
        found = pool.map(simulated, map(odd_machine, numbers))
        rows = []
        for number, row in zip(numbers, found, strict=True):
            rows.append({"kind": KIND, "name": str(number)} | row)
            print(f"{len(rows)} of {len(numbers)}", file=sys.stderr, flush=True)
    return rows


if __name__ == "__main__":
    again = "again" in sys.argv[1:]
    table = simulations(NAME) if again else rows_of(list(range(COUNT)))
    table = judged(table, [(KIND, str(n), odd_machine(n)) for n in range(COUNT)])
    write_record(NAME, table, command="python -m tests.campaigns.odd_machines", seed=0, grid_seed=SEED)
    for quantity in ("mean", "p50", "p95", "p99"):
        print(quantity, summary(table, quantity).round(4).to_string(), sep="\n")
