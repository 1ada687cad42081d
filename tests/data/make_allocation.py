"""Make ``tests/data/allocation`` with naive strategies: ``python -m tests.data.make_allocation``.

Nothing of `validation.allocation` takes part: the answers come from `tests.naive.allocation` and
`tests.naive.boxes`, and the measures of a state from their definitions, written out below.
"""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path

from tests.naive import allocation as naive
from tests.naive import boxes

HERE = Path(__file__).parent / "allocation"
ANY, POWERS = [(4, 8), (5, 7)], [(4, 8), (8, 8)]
SEQUENCES = [
    *((name, {}, ANY) for name in ("MC", "MC-Elongated", "PLAS", "MBS")),
    *(("Paging", {"s": s}, POWERS) for s in (0, 1)),
    *((name, {"fit": fit}, ANY) for name in ("hilbert", "snake") for fit in ("ff", "bf", "ss")),
    *((name, {}, POWERS) for name in ("BT", "SCBT", "d-BT", "ind-BT")),
    ("d-BT", {"anchor": "last"}, POWERS),
    *((f"{kind}SBT", {"alpha": alpha}, POWERS) for kind in ("", "d-", "ind-") for alpha in (4.0, 16.0)),
    *((f"{kind}DBT", {"ratio": ratio}, POWERS) for kind in ("", "d-", "ind-") for ratio in (0.0625, 0.25)),
]
OPERATIONS, STATES = 60, 60
#: Strategies for boxes, and the meshes (x, y, z) for all of them; True of a torus.
BOXES = ("FF", "BF", "BL", "TFF", "TBF", "TBL")
SPACES = [((4, 3, 5), False), ((5, 4, 3), True)]


def sequence(name, params, rows, columns, chance):
    """Jobs come and go at random; a refused one leaves no trace."""
    free = {(r, c) for r in range(rows) for c in range(columns)}
    held, operations = {}, []
    for number in range(OPERATIONS):
        if held and chance.random() < 0.4:
            job = chance.choice(sorted(held))
            free |= held.pop(job)
            operations.append({"op": "release", "id": job})
            continue
        size = min(1 + int(chance.expovariate(1 / 6)), rows * columns)
        nodes = naive.choose(name, set(free), rows, columns, size, **params)
        operations.append({"op": "allocate", "id": number, "size": size, "nodes": nodes})
        if nodes is not None:
            held[number] = {divmod(node, columns) for node in nodes}
            free -= held[number]
    return operations


def boxed_sequence(name, sides, torus, chance):
    """The same with boxes; the order of allocation is what a busy list goes by."""
    (wide, deep, _), held, operations = sides, {}, []

    def number(cell):
        return cell[0] + wide * (cell[1] + deep * cell[2])

    for job in range(OPERATIONS):
        if held and chance.random() < 0.4:
            gone = chance.choice(sorted(held))
            del held[gone]
            operations.append({"op": "release", "id": gone})
            continue
        shape = [chance.randint(1, (side + 1) // 2 + (chance.random() < 0.3)) for side in sides]
        busy = set().union(*(cells for _, _, cells in held.values()))
        running = [(base, box) for base, box, _ in held.values()]
        found = boxes.chosen(name, busy, sides, shape, torus=torus, boxes=running)
        operation = {"op": "allocate", "id": job, "shape": shape, "nodes": None}
        if found is not None:
            base, box = found
            cells = boxes.cells(base, box, sides)
            held[job] = base, box, cells
            operation |= {"nodes": sorted(map(number, cells)), "base": base, "oriented": box}
        operations.append(operation)
    return operations


def imbalance(cells, rows):
    """Nodes above less nodes below the middle; the middle row of an odd number is on neither."""
    above = sum(2 * r + 1 < rows for r, _ in cells)
    return abs(above - sum(2 * r + 1 > rows for r, _ in cells))


def span(cells, order):
    """Last less first place on a curve."""
    places = [order.index(cell) for cell in cells]
    return max(places) - min(places)


def state(rows, columns, chance):
    """Measures of a random job among others."""
    every = [(r, c) for r in range(rows) for c in range(columns)]
    busy = chance.sample(every, chance.randint(2, len(every) - 1))
    job = chance.sample(busy, chance.randint(2, len(busy)))
    height = max(r for r, _ in job) - min(r for r, _ in job) + 1
    width = max(c for _, c in job) - min(c for _, c in job) + 1
    found = {
        "mesh": {"rows": rows, "columns": columns},
        "busy": sorted(r * columns + c for r, c in busy),
        "job": sorted(r * columns + c for r, c in job),
        "nodes_affected": height * width,
        "balance_job": imbalance(job, rows),
        "balance_system": imbalance(busy, rows),
        "dispersal": 1 - len(job) / (height * width),
        "pairwise_l1": sum(abs(r - i) + abs(c - k) for (r, c), (i, k) in itertools.combinations(job, 2)),
        "span_hilbert": span(job, naive.hilbert(rows, columns)),
        "span_snake": span(job, naive.snake(rows, columns)),
    }
    free = set(every) - set(busy)
    found["free_squares_D"] = len(naive.free_squares(free, rows, columns))
    if rows & (rows - 1) or columns & (columns - 1):
        return found | {"free_tree_blocks": None}
    blocks = naive.free_tree_blocks(free, rows, columns)
    return found | {
        "free_tree_blocks": sorted(naive.Tree.size(block) for block in blocks),
        "spatially_compact": naive.spatially_compact(free, rows, columns),
        "lemma1": naive.lemma_1(free, rows, columns),
    }


def write(name, content):
    (HERE / name).write_text(json.dumps(content, separators=(",", ":")) + "\n", encoding="ascii")


def main():
    HERE.mkdir(exist_ok=True)
    for name, params, meshes in SEQUENCES:
        for rows, columns in meshes:
            chance = random.Random(f"{name} {params} {rows}x{columns}")
            made = "".join(f"_{key}{value}" for key, value in params.items()).replace(".", "p")
            operations = sequence(name, params, rows, columns, chance)
            given = {"strategy": name, "params": params}
            given |= {"mesh": {"rows": rows, "columns": columns}, "ops": operations}
            write(f"{name}{made}_{rows}x{columns}.json", given)
    for name in BOXES:
        for sides, torus in SPACES:
            label = "x".join(map(str, sides)) + ("_torus" if torus else "")
            operations = boxed_sequence(name, sides, torus, random.Random(f"{name} {label}"))
            mesh = dict(zip("WDH", sides, strict=True)) | ({"torus": True} if torus else {})
            given = {"strategy": name, "params": {}, "mesh": mesh, "ops": operations}
            write(f"{name}_{label}.json", given)
    chance = random.Random("states")
    sides = [(4, 4), (4, 8), (8, 8), (5, 7)]
    write("metrics.json", [state(*sides[k % len(sides)], chance) for k in range(STATES)])
    curves = {}
    for curve, (rows, columns) in itertools.product(
        (naive.hilbert, naive.snake), [(2, 2), (4, 4), (4, 8), (8, 4), (5, 7), (16, 22)]
    ):
        order = [r * columns + c for r, c in curve(rows, columns)]
        curves[f"{curve.__name__}_{rows}x{columns}"] = order
    write("curves.json", curves)


if __name__ == "__main__":
    main()
