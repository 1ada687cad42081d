"""Cells of the figures, each a variant with a number of communications, run once for all."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from phasefit.arrays import Array, read_only
from validation.analysis.alternatives import Alternatives, Replications
from validation.analysis.seeding import stream as random_stream
from validation.machine import compare_machines
from validation.mesh import Mesh, Occupancy
from validation.papers.base import RunOptions
from validation.papers.liu.setup import (
    COLUMNS,
    COMMUNICATIONS,
    ROWS,
    RUNS,
    Choices,
    Variant,
    machine,
    strategy,
    tasks,
)

if TYPE_CHECKING:
    import pandas as pd

#: What is kept of each run; times in seconds.
KEPT = ("makespan", "turnaround", "service", "utilisation", "contention")
_TIMES = ("makespan", "turnaround", "service")
#: Numbers of communications and runs when there is little time.
QUICK_COMMUNICATIONS, QUICK_RUNS = (0, 4, 16), 2

#: What the streams of `placed_at_once` are for, below the seed.
_PLACED = "tasks placed at once"

Cell = tuple[Variant, int]


class Campaign(Alternatives[Cell, Replications]):
    """Every variant under every number of communications, on the same tasks."""

    kind = "cell"
    schema = "validation.liu-campaign"

    @property
    def variants(self) -> tuple[Variant, ...]:
        """The variants."""
        return tuple(dict.fromkeys(variant for variant, _ in self.runs))

    @property
    def communications(self) -> tuple[int, ...]:
        """Numbers of communications."""
        return tuple(dict.fromkeys(c for _, c in self.runs))

    @property
    def replications(self) -> int:
        """Runs of each cell."""
        return next(iter(self.runs.values())).replications

    def of(self, algorithm: str) -> list[Variant]:
        """The variants of an algorithm, in the order of its parameter."""
        return [v for v in self.variants if v.algorithm == algorithm]

    def best_of(self, algorithm: str, quantity: str = "makespan") -> Variant:
        """The parameter with the least mean, geometrically averaged over the communications."""
        return min(
            self.of(algorithm),
            key=lambda v: sum(math.log(self.mean_of((v, c), quantity)) for c in self.communications),
        )

    def cells(self) -> pd.DataFrame:
        """One row for each cell; times in seconds, changes paired with the first variant in %."""
        import pandas as pd

        rows: list[dict[str, Any]] = []
        for variant, c in product(self.variants, self.communications):
            row = {
                "algorithm": variant.algorithm,
                "parameter": variant.parameter,
                "communications": c,
                "runs": self.replications,
            } | self.row((variant, c), {name: "_s" if name in _TIMES else "" for name in KEPT})
            for name in ("makespan", "turnaround"):
                base = self.of(variant.algorithm)[0]
                change = self.compare((variant, c), (base, c), name, relative=True)
                row |= change.columns(f"{name}_change")
            rows.append(row)
        return pd.DataFrame(rows)


def campaign(
    variants: Sequence[Variant],
    options: RunOptions,
    *,
    what: str,
    runs: int = RUNS,
    communications: Sequence[int] = COMMUNICATIONS,
    choices: Choices | None = None,
) -> Campaign:
    """Run every cell that experiments with these options have not run yet.

    Parameters
    ----------
    variants : sequence of Variant
    options : RunOptions
        A quick run has two runs for each cell and three numbers of communications. Cells are
        kept in `options.shared`, by their choices and seed.
    what : str
        What progress is reported under.
    runs : int
        For each cell.
    communications : sequence of int
    choices : Choices, optional

    Returns
    -------
    Campaign
        Run r of every cell has the same tasks, so that differences are paired.
    """
    choices = Choices() if choices is None else choices
    if options.quick:
        communications, runs = QUICK_COMMUNICATIONS, QUICK_RUNS
    shared, keys = options.shared, {}
    for cell in ((variant, c) for c in communications for variant in variants):
        keys[cell] = ("liu", cell, choices, options.seed)
    missing = {
        f"{variant.label}, c = {c}": (variant, c)
        for (variant, c), key in keys.items()
        if _runs_of(shared.known(key)) < runs
    }
    if missing:
        found = compare_machines(
            {label: machine(variant, c, choices) for label, (variant, c) in missing.items()},
            tasks(),
            replications=runs,
            seed=options.seed,
            **options.by_processes,
            progress=lambda _, done, total: options.progress(what, done, total),
        )
        for label, cell in missing.items():
            values = found.runs[label].values
            shared.keep(
                keys[cell],
                {name: _frozen(values[name], choices.cycle if name in _TIMES else 1.0) for name in KEPT},
            )
    return Campaign.of_values(
        {
            cell: {name: values[:runs] for name, values in shared.known(key).items()}
            for cell, key in keys.items()
        }
    )


def _runs_of(cell: Mapping[str, Array] | None) -> int:
    return 0 if cell is None else cell["makespan"].size


def _frozen(values: ArrayLike, factor: float) -> Array:
    return read_only(np.array(values) * factor)


def placed_at_once(variant: Variant, *, runs: int = RUNS, seed: int = 0) -> Array:
    """Share of the mesh that tasks get before the first has to wait, (runs,).

    Tasks are placed in order until one is refused; the network plays no part.
    """
    place, streams = strategy(variant, Choices()), tasks()
    shares = np.empty(runs)
    for run in range(runs):
        held = Occupancy(Mesh(ROWS, COLUMNS, io_side="west"))
        for task, size in enumerate(streams.draw(rng=random_stream(seed, _PLACED, run)).sizes.tolist()):
            nodes = place.choose(held, size)
            if nodes is None:
                break
            held.occupy(task, nodes)
        shares[run] = 1.0 - held.free / held.mesh.nodes
    return shares
