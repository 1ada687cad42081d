"""Systems of unlike jobs that no model was changed for, with percentiles, beside simulation.

``python -m tests.campaigns.fresh_unlike turns`` draws sixty under time sharing by the rule of
`tests.campaigns.unlike_points` with a seed of its own, simulates them, predicts them and writes
``fresh-turns.csv``; ``spaces`` and ``others`` do so under space sharing and dynamic partitioning, the
latter drawn after the models had been changed for two of the former; ``rounds`` draws under time
sharing again, half of them ordinary; ``percentiles`` draws after those of unequal partitions and of
mixes in turns were found in another way, ``sizes`` after the sizes of one branch of a demand were made
to last, ``mixes`` after those of mixes were, ``last`` after those within a class were, ``played`` before
percentiles of jobs in turns were those of jobs that are played, ``laws`` before the job that is followed
kept a law of its own beside classes and beside mixes of many phases. With
``again`` those of the record are predicted anew, beside the simulations that are there. Rule, counts
and seed were written down before any of them was simulated.
"""

from __future__ import annotations

import sys
from typing import Any, Final

from tests.campaigns.record import write_record
from tests.campaigns.unlike_grid import in_turn, judged, simulated, simulations, summary

#: Kinds of points of each set, how many of each, and their seed.
FRESH: Final = {
    "turns": ({"TS demand": 22, "TS mix": 22, "TS without I/O": 8, "TS bursts": 8}, 361_936),
    "spaces": ({"SP demand": 32, "SP mix": 32, "DP demand": 16, "DP mix": 16}, 362_036),
    "others": (
        {"SP demand": 16, "SP mix": 16, "SP unequal": 8, "SP indivisible": 12, "DP demand": 8, "DP mix": 8},
        363_036,
    ),
    "rounds": ({"TS ordinary": 24, "TS without I/O": 12, "TS demand": 6, "TS mix": 6}, 364_036),
    "sizes": ({"TS demand": 20, "TS without I/O": 20}, 367_036),
    "mixes": ({"TS mix": 40}, 368_036),
    "last": ({"TS ordinary": 20, "TS without I/O": 16, "TS demand": 16, "TS mix": 8}, 369_036),
    "disks": ({"TS demand": 40, "TS mix": 12, "TS bursts": 8}, 370_036),
    "singles": ({"TS demand": 24, "TS mix": 16, "TS ordinary": 12, "TS without I/O": 8}, 371_036),
    "rooms": ({"TS demand": 20, "TS mix": 20, "TS ordinary": 12, "TS without I/O": 8}, 372_036),
    "played": (
        {"TS demand": 20, "TS mix": 20, "TS bursts": 12, "TS ordinary": 10, "TS without I/O": 10},
        373_036,
    ),
    "laws": ({"SP mix": 16, "DP mix": 16, "SP variable bursts": 8, "DP bursts": 8}, 374_036),
    "percentiles": ({"SP unequal": 20, "TS mix": 20, "SP demand": 10, "DP demand": 10}, 366_036),
}


def simulated_before(name: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Return what the record says of the simulation of each point; nothing where there is none."""
    return {(row["kind"], row["name"]): row for row in simulations(f"fresh-{name}")}


def the_points(name: str, *, again: bool) -> list[dict[str, Any]]:
    """Simulate all points of a set, kinds in turn, unless they are only predicted `again`; predict them."""
    counts, seed = FRESH[name]
    systems, old = list(in_turn(counts, seed=seed)), simulated_before(name)
    rows: list[dict[str, Any]] = []
    for kind, number, point in systems:
        known = old.get((kind, number))
        row = known if again and known is not None else simulated(point, known)
        rows.append({"kind": kind, "name": number} | row)
        print(f"{len(rows)} points, {kind} {number}", file=sys.stderr, flush=True)
    return judged(rows, systems)


if __name__ == "__main__":
    chosen = sys.argv[1]
    table = the_points(chosen, again="again" in sys.argv[2:])
    command = " ".join(["python -m tests.campaigns.fresh_unlike", *sys.argv[1:]])
    write_record(f"fresh-{chosen}", table, command=command, seed=0, grid_seed=FRESH[chosen][1])
    for quantity in ("mean", "p50", "p95", "p99"):
        print(quantity, summary(table, quantity).round(4).to_string(), sep="\n")
