"""Strategies as their papers tell them: lists, recursion and sorting, nothing shared or fast.

`free` is a set of (row, column); the answer is a set of the same, or None.
"""

from __future__ import annotations

import itertools
from math import inf


def paging(free, rows, columns, size, s=0):
    """Whole pages in row-major order."""
    side, taken = 2**s, set()
    for r, c in itertools.product(range(0, rows, side), range(0, columns, side)):
        page = {(r + i, c + k) for i in range(side) for k in range(side)}
        if len(taken) < size and page <= free:
            taken |= page
    return taken if len(taken) >= size else None


def plas(free, rows, columns, size):
    """Columns from the west, rows from the middle."""
    return set(sorted(free, key=lambda p: (p[1], abs(2 * p[0] - rows + 1), p[0]))[:size])


def _initial_squares(row, column, height, width):
    if not height or not width:
        return []
    side = 1
    while 2 * side <= min(height, width):
        side *= 2
    return [
        (side, row, column),
        *_initial_squares(row, column + side, height, width - side),
        *_initial_squares(row + side, column, height - side, side),
    ]


def _quarters(square):
    side, r, c = square
    half = side // 2
    return [(half, r, c), (half, r, c + half), (half, r + half, c), (half, r + half, c + half)]


def _cells(square):
    side, r, c = square
    return {(r + i, c + k) for i in range(side) for k in range(side)}


def free_squares(free, rows, columns):
    """Maximal free squares of the quad-trees."""
    found, todo = [], _initial_squares(0, 0, rows, columns)
    while todo:
        square = todo.pop()
        if _cells(square) <= free:
            found.append(square)
        elif square[0] > 1:
            todo += _quarters(square)
    return found


def mbs(free, rows, columns, size):
    """Lists of free squares by size, split on demand."""
    blocks = free_squares(free, rows, columns)
    side = max(square[0] for square in _initial_squares(0, 0, rows, columns))
    wanted, rest = [], size
    while side:
        wanted += [side] * (rest // side**2)
        rest %= side**2
        side //= 2
    taken = set()
    while wanted:
        side = wanted.pop(0)
        larger = [square for square in blocks if square[0] >= side]
        if not larger:
            wanted = [side // 2] * 4 + wanted
            wanted.sort(reverse=True)
            continue
        square = min(larger)
        blocks.remove(square)
        while square[0] > side:
            square, *others = _quarters(square)
            blocks += others
        taken |= _cells(square)
    return taken


class Tree:
    """The bisection tree over a set of free cells."""

    def __init__(self, free, rows, columns):
        self.free, self.root = set(free), (0, 0, rows, columns)

    @staticmethod
    def size(node):
        return node[2] * node[3]

    @staticmethod
    def children(node):
        r, c, height, width = node
        if width >= height:
            return (r, c, height, width // 2), (r, c + width // 2, height, width // 2)
        return (r, c, height // 2, width), (r + height // 2, c, height // 2, width)

    @staticmethod
    def cells(node):
        r, c, height, width = node
        return [(i, k) for k in range(c, c + width) for i in range(r, r + height)]

    def count(self, node):
        return sum(cell in self.free for cell in self.cells(node))

    def leaves(self, node):
        if self.size(node) == 1:
            return [node[:2]]
        left, right = self.children(node)
        return self.leaves(left) + self.leaves(right)

    def visit(self, node, block, amount, tolerance):
        """Depth first with real backtracking; `tolerance` is None or a function of a size."""
        if self.size(node) < block or self.count(node) < amount:
            return None
        if self.size(node) == block:
            return node
        left, right = self.children(node)
        order = [left, right]
        if tolerance is not None and self.count(left) != self.count(right):
            heavy, light = sorted(order, key=self.count)
            delta = self.count(light) - self.count(heavy) + amount
            order = [heavy, light] if delta <= tolerance(self.size(node)) else [light, heavy]
        for child in order:
            found = self.visit(child, block, amount, tolerance)
            if found is not None:
                return found
        return None

    def path(self, node):
        """From the root down to a node, both included."""
        path = [self.root]
        while path[-1] != node:
            path += [
                child for child in self.children(path[-1]) if set(self.cells(node)) <= set(self.cells(child))
            ]
        return path


def _tolerance(name, alpha, ratio):
    if name.endswith("SBT"):
        return lambda size: alpha
    return (lambda size: ratio * size) if name.endswith("DBT") else None


def tree(free, rows, columns, size, name="BT", alpha=16.0, ratio=0.25, anchor="first"):
    """BT, SBT, DBT and their versions in pieces."""
    t, tolerance = Tree(free, rows, columns), _tolerance(name, alpha, ratio)
    if "-" not in name:
        block = next(2**i for i in range(40) if 2**i >= size)
        found = t.visit(t.root, block, size, tolerance)
        return found and set([cell for cell in t.cells(found) if cell in free][:size])
    wanted = [2**i for i in reversed(range(40)) if size & 2**i]
    taken, first = set(), None
    while wanted:
        piece, found = wanted.pop(0), None
        starts = [t.root]
        if name.startswith("d-") and first:
            path = t.path(first)
            starts = [
                next(child for child in t.children(parent) if child != below)
                for parent, below in reversed(list(itertools.pairwise(path)))
            ]
        for start in starts:
            found = found or t.visit(start, piece, piece, tolerance)
        if found is None:
            wanted = sorted([piece // 2, piece // 2, *wanted], reverse=True)
            continue
        if first is None or anchor == "last":
            first = found
        taken |= set(t.cells(found))
        t.free -= set(t.cells(found))
    return taken


def scbt(free, rows, columns, size):
    """The first free leaves of the tree."""
    t = Tree(free, rows, columns)
    return set([cell for cell in t.leaves(t.root) if cell in free][:size])


def free_tree_blocks(free, rows, columns):
    """Maximal wholly free nodes of the tree."""
    t = Tree(free, rows, columns)
    found, todo = [], [t.root]
    while todo:
        node = todo.pop()
        if t.count(node) == t.size(node):
            found.append(node)
        elif t.size(node) > 1:
            todo += t.children(node)
    return found


def spatially_compact(free, rows, columns):
    """Definition 2 of Liu, Hsu and Wu, sibling by sibling."""
    t = Tree(free, rows, columns)

    def fine(node):
        if t.size(node) == 1:
            return True
        left, right = t.children(node)
        partly = [0 < t.count(child) < t.size(child) for child in (left, right)]
        return not all(partly) and fine(left) and fine(right)

    return fine(t.root)


def lemma_1(free, rows, columns):
    """At most one free block per size, and the parent of the larger above the smaller."""
    t, blocks = Tree(free, rows, columns), free_tree_blocks(free, rows, columns)
    sizes = [t.size(block) for block in blocks]
    if len(set(sizes)) < len(sizes):
        return False
    for p, q in itertools.permutations(blocks, 2):
        if t.size(p) > t.size(q) and t.path(p)[-2] not in t.path(q):
            return False
    return True


def hilbert(rows, columns):
    """Cells along Hilbert's curve, quarter by quarter."""
    side = 1
    while side < max(rows, columns):
        side *= 2

    def curve(side):
        if side == 1:
            return [(0, 0)]
        sub, h = curve(side // 2), side // 2
        return (
            [(c, r) for r, c in sub]
            + [(r, c + h) for r, c in sub]
            + [(r + h, c + h) for r, c in sub]
            + [(2 * h - 1 - c, h - 1 - r) for r, c in sub]
        )

    cells = curve(side)
    if columns < rows:
        cells = [(c, r) for r, c in cells]
    return [(r, c) for r, c in cells if r < rows and c < columns]


def snake(rows, columns):
    """Rows to and fro."""
    return [(r, c) for r in range(rows) for c in (range(columns) if r % 2 == 0 else reversed(range(columns)))]


def _intervals(ranks):
    runs = []
    for rank in ranks:
        if runs and runs[-1][-1] + 1 == rank:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    return runs


def on_curve(free, rows, columns, size, curve=hilbert, fit="ff"):
    """First fit, best fit, sum of squares; else the window with the least span."""
    cells = curve(rows, columns)
    ranks = [i for i, cell in enumerate(cells) if cell in free]
    candidates = [run for run in _intervals(ranks) if len(run) >= size]

    def squares(run):
        left = _intervals(sorted(set(ranks) - set(run[:size])))
        lengths = [len(other) for other in left]
        return sum(lengths.count(g) ** 2 for g in set(lengths))

    if candidates:
        key = {"ff": lambda run: 0, "bf": len, "ss": squares}[fit]
        chosen = min(candidates, key=key)[:size]
    else:
        windows = [ranks[i : i + size] for i in range(len(ranks) - size + 1)]
        chosen = min(windows, key=lambda window: window[-1] - window[0])
    return {cells[rank] for rank in chosen}


def mc(free, rows, columns, size, shape=None):
    """Sort the free cells round every centre and add up their rings."""
    if shape is None:
        fits = [
            (h * w - size, w - h, h, w)
            for h in range(1, size + 1)
            for w in range(h, 2 * h + 1)
            if h * w >= size
        ]
        h, w = min(fits)[2:]
        shapes = [(h, w)] if h == w else [(h, w), (w, h)]
    else:
        shapes = [shape]
    best, layout = (inf,), None
    for (r, c), (turn, (h, w)) in itertools.product(free, enumerate(shapes)):
        top, left = r - (h - 1) // 2, c - (w - 1) // 2
        taken = sorted(free, key=lambda cell: _ring_key(cell, top, left, h, w))[:size]
        cost = sum(_ring_key(cell, top, left, h, w)[0] for cell in taken)
        if (cost, c, r, turn) < best:
            best, layout = (cost, c, r, turn), set(taken)
    return layout


def _ring_key(cell, top, left, h, w):
    """Ring of a cell, and its turn in that ring."""
    r, c = cell
    bottom, right = top + h - 1, left + w - 1
    s = max(top - r, r - bottom, left - c, c - right, 0)
    if s == 0:
        return 0, c, r
    top, bottom, left, right = top - s, bottom + s, left - s, right + s
    corners = [(top, left), (bottom, left), (top, right), (bottom, right)]
    if cell in corners:
        return s, 4, corners.index(cell)
    upright_first = h <= w
    if c in (left, right):
        side = (0 if c == left else 1) + (0 if upright_first else 2)
        return s, side, abs(2 * r - top - bottom), r
    side = (0 if r == top else 1) + (2 if upright_first else 0)
    return s, side, abs(2 * c - left - right), c


def elongated_cost(free, rows, columns, size, column):
    """Cost and layout round one column, and the shells in order."""
    width = max(1, size // rows)
    low = column - (width - 1) // 2
    upper = sum(r < rows / 2 - 0.5 for r, _ in free)
    lower = sum(r > rows / 2 - 0.5 for r, _ in free)
    sign = -1 if upper < lower else 1

    def key(cell):
        r, c = cell
        return max(low - c, c - low - width + 1, 0), abs(2 * r - rows + 1), c, sign * r

    taken = sorted(free, key=key)[:size]
    shells = [key(cell)[0] for cell in taken]
    return sum(shells), set(taken), shells


def mc_elongated(free, rows, columns, size):
    """The cheapest column, the westernmost of equals."""
    return min((elongated_cost(free, rows, columns, size, i) for i in range(columns)), key=lambda x: x[0])[1]


TREES = {f"{way}{kind}" for way in ("", "ind-", "d-") for kind in ("BT", "SBT", "DBT")}


def choose(name, free, rows, columns, size, **params):
    """Answer of the strategy called `name`, as a sorted list of node numbers, or None."""
    if size > len(free):
        return None
    ways = {
        "Paging": paging,
        "PLAS": plas,
        "MBS": mbs,
        "SCBT": scbt,
        "MC": mc,
        "MC-Elongated": mc_elongated,
    }
    if name in ("hilbert", "snake"):
        curve = hilbert if name == "hilbert" else snake
        cells = on_curve(free, rows, columns, size, curve=curve, **params)
    elif name in ways:
        cells = ways[name](free, rows, columns, size, **params)
    elif name not in TREES:
        raise KeyError(
            f"no naive strategy is called {name!r}: write it here, as its paper puts it, and enter "
            f"it in `ways`"
        )
    else:
        cells = tree(free, rows, columns, size, name=name, **params)
    return None if cells is None else sorted(r * columns + c for r, c in cells)
