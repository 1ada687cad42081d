"""Coverage of predictions by short loss runs, from two starts on, on machines that no rule saw.

Meshes of sides that the grid of the trial has not, each cell and its load drawn. A cell is
simulated once; then as many loss runs predict it as its starts make, and one of the campaigns'
effort. Each prediction is judged by the interval that it states and by the one that was stated
before parts of starts were looked at: the spread of whole starts, with one degree of freedom less
than these. Of time sharing every prediction of a cell has the same arrangements of a full machine.
DP on the two largest machines is left out: a job of it takes ten times as long to simulate.

``python -m tests.campaigns.short_loss_runs`` takes about ten minutes of CPU. With a
folder's name it takes the rows of a cell from there where they are, and puts them there if not.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from qmodels.errors import ModelError
from qmodels.policies import SpeedTable
from tests.campaigns.record import write_record
from validation.papers.trial.comparison import SpeedTask, compare_predictions, measured_speeds
from validation.papers.trial.grid import kinds
from validation.trial.arrangements import (
    ARRANGEMENTS,
    FrozenSpeeds,
    arrangement_lasts,
    with_arrangements,
)
from validation.trial.loss_run import WAITING, model_error, speeds_of_parts
from validation.trial.scenario import Cell
from validation.trial.shared_queue import ShareFactor, corrected_response, share_factor, speeds_at
from validation.trial.size_shares import SizeShares, shares_of_parts, shares_of_scores

SEED = 20261123
#: Sides, and the cells of each; the large ones cost five times as much.
MACHINES = {(10, 6): 5, (12, 6): 4, (10, 10): 3, (12, 20): 2, (24, 8): 2}
LARGE = 150  #: nodes
JOBS, PACKETS, LOADS = (60, 80, 100), (16, 32, 64), (0.3, 0.6, 0.8)
STARTS, ALL_STARTS = (2, 3, 4, 6, 8), 16
REPLICATIONS, REPLICATION_JOBS, WARM_UP = 8, 110, 30


class Drawn(NamedTuple):
    """A cell, its load, and the jobs of its short loss runs."""

    cell: Cell
    load: float
    loss_jobs: int


def drawn_cells() -> list[Drawn]:
    """All cells, drawn."""
    found: list[Drawn] = []
    for (rows, columns), count in MACHINES.items():
        policies = list(kinds(rows, columns))
        for k in range(count):
            rng = np.random.default_rng([SEED, rows, columns, k])
            while True:
                kind = policies[rng.integers(len(policies))]
                given = {
                    "rows": rows,
                    "columns": columns,
                    **kind,
                    "strategy": str(rng.choice(["MC", "Random", "Paging"])),
                    "cpu_to_io": float(rng.choice([0.5, 2.0, 8.0])),
                    "phases": 2,
                    "packet": int(rng.choice(PACKETS)),
                    "demand_scv": float(rng.choice([1.0, 1.0, 1.0, 4.0])),
                }
                if rows * columns > LARGE and kind["policy"].name == "DP":
                    continue
                try:
                    cell = Cell.of(**given)
                except ModelError:
                    continue
                break
            load, jobs = float(rng.choice(LOADS)), int(rng.choice(JOBS))
            found.append(Drawn(cell, load, jobs))
    return found


def as_before(parts: np.ndarray) -> SpeedTable:
    """Speeds with the interval that was stated until whole starts were cut in parts."""
    done, lasted = np.moveaxis(parts.sum(axis=1), 1, 0)
    runs, speeds = len(done), done.sum(axis=0) / lasted.sum(axis=0)
    errors = (done - speeds * lasted) / lasted.mean(axis=0)
    return SpeedTable(speeds, errors.T @ errors / (runs * (runs - 1)), runs - 1.0)


def predicted(
    cell: Cell, table: SpeedTable, shares: SizeShares, rate: float, frozen: FrozenSpeeds | None
) -> tuple[float, float]:
    """Mean response and half-width, as `compare_predictions` has them."""
    if frozen is not None:
        table = with_arrangements(table, frozen)
    table = speeds_at(cell, table, rate, WAITING * float(table.throughput[-1]))
    factor = ShareFactor(1.0, 0.0)
    if rate < table.throughput[-1]:
        factor = share_factor(cell, table.throughput, shares, rate)
    try:
        return tuple(corrected_response(cell, table.less_sure(model_error(cell)), rate, factor))
    except ModelError:  # no steady state at these speeds
        return float("inf"), float("inf")


def rows_of(task: Drawn) -> list[dict[str, Any]]:
    """One row for each prediction of a cell."""
    began = time.process_time()
    cell, load, jobs = task
    strategy, seed = cell.strategy.name, SEED + 1
    whole = compare_predictions(
        cell,
        [strategy],
        [load],
        replications=REPLICATIONS,
        jobs=REPLICATION_JOBS,
        warm_up=WARM_UP,
        seed=seed,
    ).iloc[0]
    many = ARRANGEMENTS if arrangement_lasts(cell) else 0
    asked = {"loss_jobs": jobs, "seed": seed + 1, "starts": ALL_STARTS, "arrangements": many}
    measured = measured_speeds(SpeedTask(cell=cell, **asked))
    parts, scores = measured.parts, measured.part_scores
    rate, truth = float(whole["arrival_rate"]), float(whole["simulated"])
    half = float(whole["half_width"]) * truth
    common = {
        "cell": cell.name,
        "strategy": strategy,
        "packet": cell.shape.packet,
        "load": load,
        "simulated": f"{truth:.6g}",
        "half_width": f"{half / truth:.4f}",
    }

    def row(effort: str, jobs: int, now: tuple[float, float], before: Any) -> dict[str, Any]:
        found: dict[str, Any] = {**common, "starts": effort, "jobs": jobs}
        for when, answer in (("", now), ("_before", before)):
            mean, width = (float("nan"),) * 2 if answer is None else answer
            off = abs(mean - truth)
            found |= {
                f"error{when}": f"{mean / truth - 1.0:.4f}",
                f"stated{when}": f"{width / truth:.4f}",
                f"covers{when}": bool(off <= width < np.inf),
                f"within_both{when}": bool(off <= np.hypot(width, half) < np.inf),
            }
        return found

    def once(own: np.ndarray, score: np.ndarray, before: bool) -> tuple[float, float] | None:
        try:
            if before:
                speeds, shares = as_before(own), shares_of_scores(score.sum(axis=1))
            else:
                speeds, shares = speeds_of_parts(own), shares_of_parts(score)
        except ModelError:  # some number of jobs was not seen often enough
            return None
        return predicted(cell, speeds, shares, rate, measured.frozen)

    rows = []
    for starts in STARTS:
        for first in range(0, ALL_STARTS - starts + 1, starts):
            of = slice(first, first + starts)
            now, before = (once(parts[of], scores[of], old) for old in (False, True))
            rows.append(row(str(starts), jobs, now or (np.nan, np.nan), before))
    own = float(whole["corrected"]), float(whole["corrected_half_width"]) * truth
    rows.append(row("campaign", 0, own, None))
    rows[-1]["cpu_seconds"] = round(time.process_time() - began, 1)
    return rows


def _kept(task: tuple[Drawn, Path | None]) -> list[dict[str, Any]]:
    """The rows of a cell from its file, or played and put there."""
    drawn, path = task
    if path is not None and path.exists():
        kept: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
        return kept
    rows = rows_of(drawn)
    if path is not None:
        path.write_text(json.dumps(rows), encoding="utf-8")
    print(rows[-1], file=sys.stderr, flush=True)
    return rows


def judged(row: Mapping[str, Any], best: tuple[float, float], when: str) -> dict[str, bool | float]:
    """What one prediction kept of its word: against the simulation, and the campaign's effort.

    Where the simulation is known no better than the prediction, a miss may be that of either. So
    both intervals count, and the prediction's own only where the simulation is twice as sharp.
    """
    error, stated = float(row["error" + when]), float(row["stated" + when])
    half = float(row["half_width"])
    finite = bool(np.isfinite(stated))
    return {
        "none or infinite": not finite,
        "within both intervals": finite and bool(abs(error) <= np.hypot(stated, half)),
        "covers a simulation twice as sharp": (
            bool(abs(error) <= stated) if finite and half <= stated / 2 else float("nan")
        ),
        "with the campaign's prediction": finite and bool(abs(error - best[0]) <= np.hypot(stated, best[1])),
        "median": stated if finite else float("nan"),
    }


def summary(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Coverage by number of starts, before and now."""
    best = {
        (row["cell"], row["strategy"], row["load"]): (float(row["error"]), float(row["stated"]))
        for row in rows
        if row["starts"] == "campaign"
    }
    for effort in dict.fromkeys(row["starts"] for row in rows):
        own = [row for row in rows if row["starts"] == effort]
        yield f"{effort} starts: {len(own)} predictions"
        for when in ("_before", "") if effort != "campaign" else ("",):
            each = [judged(row, best[row["cell"], row["strategy"], row["load"]], when) for row in own]
            shares = []
            for what in each[0]:
                values = np.array([one[what] for one in each], dtype=float)
                known = values[~np.isnan(values)]
                found = np.median(known) if what == "median" else known.mean()
                shares.append(f"{what} {found:.1%} of {known.size}")
            yield f"    {when[1:] or 'now'}: " + ", ".join(shares)


def main() -> None:
    """Play all cells and write the record."""
    # one of each machine first, so that a run which is broken off has seen them all
    cells = drawn_cells()
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    tasks = [(given, None if folder is None else folder / f"{k}.json") for k, given in enumerate(cells)]
    rank = [k for count in MACHINES.values() for k in range(count)]
    order = sorted(range(len(cells)), key=lambda n: rank[n])
    with ProcessPoolExecutor(2) as pool:
        rows = [row for some in pool.map(_kept, [tasks[n] for n in order]) for row in some]
    spent = sum(row.pop("cpu_seconds", 0.0) for row in rows)
    print("\n".join(summary(rows)))
    write_record(
        "short-loss-runs",
        rows,
        command="python -m tests.campaigns.short_loss_runs",
        seed=SEED,
        cpu_seconds=round(spent, 1),
    )


if __name__ == "__main__":
    main()
