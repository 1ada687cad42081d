"""Make the timed runs of two releases, of which the second computes a fifth longer in phase 1.

    python make.py

Three runs on each of three allotments, each burst with 3 % noise: `old.csv` and `new.csv` beside
this file. They are made, not measured, so that the answer can be checked.
"""

import csv
from pathlib import Path

import numpy as np

ALLOTMENTS = [(2, 1), (4, 1), (8, 2)]


def runs(slower: float, rng: np.random.Generator) -> list[tuple[object, ...]]:
    """Rows of a table: program, phase, kind, p, d, seconds, repeat."""
    rows: list[tuple[object, ...]] = []
    for p, d in ALLOTMENTS:
        seconds = {(1, "io"): 20 / d, (1, "cpu"): slower * 160 / p + 2, (2, "cpu"): 120 / p}
        for repeat in (1, 2, 3):
            for (phase, kind), mean in seconds.items():
                timed = mean * rng.normal(1.0, 0.03)
                rows.append(("solver", phase, kind, p, d, round(timed, 3), repeat))
    return rows


if __name__ == "__main__":
    rng = np.random.default_rng(20261122)
    for name, slower in (("old", 1.0), ("new", 1.2)):
        with open(Path(__file__).with_name(f"{name}.csv"), "w", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(["program", "phase", "kind", "p", "d", "seconds", "repeat"])
            writer.writerows(runs(slower, rng))
