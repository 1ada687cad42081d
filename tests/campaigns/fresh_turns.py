"""Sixty systems under time sharing that no model was changed for, with percentiles, beside simulation.

``python -m tests.campaigns.fresh_turns`` draws them by the rule of `tests.campaigns.unlike_points`
with a seed of its own, simulates them, predicts them and writes ``fresh-turns.csv``; with ``again`` it
predicts those of the record anew, beside the simulations that are there. Rule, counts and seed were
written down before any of them was simulated.
"""

from __future__ import annotations

import sys
from typing import Any, Final

import pandas as pd

from tests.campaigns.record import FOLDER, write_record
from tests.campaigns.unlike_grid import in_turn, judged, simulated, summary

#: Kinds of points, and how many of each.
FRESH: Final = {"TS demand": 22, "TS mix": 22, "TS without I/O": 8, "TS bursts": 8}
SEED: Final = 361_936


def simulated_before() -> dict[tuple[str, str], dict[str, Any]]:
    """Return what the record says of the simulation of each point; nothing where there is none."""
    path = FOLDER / "fresh-turns.csv"
    if not path.exists():
        return {}
    table = pd.read_csv(path, dtype={"name": str})
    known = table.loc[:, :"simulation_seconds"].to_dict("records")  # what follows was predicted
    return {(row["kind"], row["name"]): {str(name): x for name, x in row.items()} for row in known}


def the_points(*, again: bool) -> list[dict[str, Any]]:
    """Simulate all points, those of all kinds in turn, unless they are only predicted `again`; predict them."""
    systems, old = list(in_turn(FRESH, seed=SEED)), simulated_before()
    rows: list[dict[str, Any]] = []
    for kind, name, point in systems:
        known = old.get((kind, name))
        row = known if again and known is not None else simulated(point, known)
        rows.append({"kind": kind, "name": name} | row)
        print(f"{len(rows)} points, {kind} {name}", file=sys.stderr, flush=True)
    return judged(rows, systems)


if __name__ == "__main__":
    table = the_points(again="again" in sys.argv[1:])
    command = " ".join(["python -m tests.campaigns.fresh_turns", *sys.argv[1:]])
    write_record("fresh-turns", table, command=command, seed=0, grid_seed=SEED)
    for quantity in ("mean", "p50", "p95", "p99"):
        print(quantity, summary(table, quantity).round(4).to_string(), sep="\n")
