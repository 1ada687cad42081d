"""Strategies answered for many states at once, written from the rules and for nothing else.

`free` is (states, nodes); the answer is what is taken, of the same shape, and who is served,
(states,). Slower than a strategy for one state, much faster for all states of a small mesh. Nothing
is shared with the strategies, nor with the twins of `tests.naive.allocation`.
"""

from functools import cache, lru_cache

import numpy as np


def every_state(nodes):
    """All choices of free nodes, (2 ** nodes, nodes)."""
    return (np.arange(2**nodes)[:, None] >> np.arange(nodes) & 1).astype(bool)


def first_in(order, free, size):
    """The first `size` free nodes in an order that has some or all of the nodes."""
    taken, ranked = np.zeros_like(free), free[:, order]
    taken[:, order] = ranked & (np.cumsum(ranked, axis=1) <= size)
    return taken


# Fixed orders


def plas_order(rows, columns):
    """Columns from the west; rows by |2 r - (k - 1)|, the upper first."""
    order = [(c, abs(2 * r - (rows - 1)), r) for r in range(rows) for c in range(columns)]
    return [r * columns + c for c, _, r in sorted(order)]


def pages(free, rows, columns, size, s):
    """The first ceil(size / 4^s) wholly free pages."""
    side, wanted = 2**s, -(-size // 4**s)
    taken, given = np.zeros_like(free), np.zeros(len(free), dtype=np.int64)
    grid = np.arange(rows * columns).reshape(rows, columns)
    for r in range(0, rows, side):
        for c in range(0, columns, side):
            page = grid[r : r + side, c : c + side].ravel()
            use = free[:, page].all(axis=1) & (given < wanted)
            taken[np.ix_(use, page)] = True
            given += use
    served = given == wanted
    return taken & served[:, None], served


# Trees


@lru_cache
def bisection(rows, columns):
    """Rectangles of the tree, the children of p being 2 p and 2 p + 1; the first is unused."""
    heap = [np.zeros((0, 0), dtype=np.int64), np.arange(rows * columns).reshape(rows, columns)]
    for p in range(1, rows * columns):
        height, width = heap[p].shape
        heap += np.split(heap[p], 2, axis=1 if width >= height else 0)
    return heap


def leaf_order(rows, columns):
    """Leaves from left to right."""
    heap, order = bisection(rows, columns), []

    def walk(p):
        if heap[p].size == 1:
            order.append(int(heap[p][0, 0]))
        else:
            walk(2 * p)
            walk(2 * p + 1)

    walk(1)
    return order


def visit(counts, heap, block, amount, tolerance):
    """What a visit of each tree node finds, (states, tree nodes): a node of size `block`, or 0."""
    found = np.zeros(counts.shape, dtype=np.int64)
    for p in reversed(range(1, len(heap))):
        if heap[p].size == block:
            found[counts[:, p] >= amount, p] = p
        elif heap[p].size > block:
            left, right = counts[:, 2 * p], counts[:, 2 * p + 1]
            left_first = np.ones(len(counts), dtype=bool)
            if tolerance is not None:
                light, heavy = np.maximum(left, right), np.minimum(left, right)
                heavy_first = light - heavy + amount <= tolerance(heap[p].size)
                left_first = (left == right) | (heavy_first == (left < right))
            one, other = found[:, 2 * p], found[:, 2 * p + 1]
            found[:, p] = np.where(left_first, np.where(one > 0, one, other), np.where(other > 0, other, one))
    return found


def counted(free, heap):
    return np.stack([free[:, block.ravel()].sum(axis=1) for block in heap], axis=1)


def in_rectangle(free, rows, columns, size, tolerance):
    heap, block = bisection(rows, columns), 1
    while block < size:
        block *= 2
    if block > rows * columns:
        return np.zeros_like(free), np.zeros(len(free), dtype=bool)
    chosen = visit(counted(free, heap), heap, block, size, tolerance)[:, 1]
    taken = np.zeros_like(free)
    for p in np.unique(chosen[chosen > 0]):
        taken[chosen == p] = first_in(heap[p].T.ravel(), free[chosen == p], size)
    return taken, chosen > 0


def in_pieces(free, rows, columns, size, tolerance, climb):
    """`climb` is None, "first" or "last": round which piece later ones are looked for."""
    heap, left = bisection(rows, columns), free.copy()
    served = free.sum(axis=1) >= size
    anchor, pieces = np.zeros(len(free), dtype=np.int64), np.where(served, 0, -1)
    piece = 2 ** (rows * columns).bit_length()
    while piece > 1:
        piece //= 2
        pieces = np.where(served, 2 * pieces + bool(size & piece), -1)
        looking = pieces > 0
        while looking.any():
            some = np.flatnonzero(looking)
            found = visit(counted(left[some], heap), heap, piece, piece, tolerance)
            at = found[:, 1]
            if climb is not None:
                q = anchor[some]
                at = np.where(q == 0, at, 0)
                while (q > 1).any():
                    beside = found[np.arange(some.size), np.maximum(q ^ 1, 0)]
                    at = np.where((at == 0) & (q > 1), beside, at)
                    q //= 2
            for p in np.unique(at[at > 0]):
                left[np.ix_(some[at == p], heap[p].ravel())] = False
            anchor[some] = np.where((at > 0) & ((anchor[some] == 0) | (climb == "last")), at, anchor[some])
            pieces[some[at > 0]] -= 1
            looking[some[at == 0]] = False
            looking &= pieces > 0
    return free & ~left, served


def tree(free, rows, columns, size, name, alpha=16.0, ratio=0.25, anchor="first"):
    tolerance = None
    if name.endswith("SBT"):
        tolerance = lambda size: alpha  # noqa: E731
    elif name.endswith("DBT"):
        tolerance = lambda size: ratio * size  # noqa: E731
    if "-" not in name:
        return in_rectangle(free, rows, columns, size, tolerance)
    climb = anchor if name.startswith("d-") else None
    return in_pieces(free, rows, columns, size, tolerance, climb)


# Squares


def initial_squares(r, c, height, width):
    """(side, row, column): the largest square, then the strip to its right, then that below."""
    if height == 0 or width == 0:
        return []
    side = 2 ** (min(height, width).bit_length() - 1)
    right = initial_squares(r, c + side, height, width - side)
    return [(side, r, c), *right, *initial_squares(r + side, c, height - side, side)]


@lru_cache
def squares(rows, columns):
    """Initial squares and all their quarters with the place of the parent, by side, row, column."""
    todo = [(square, None) for square in initial_squares(0, 0, rows, columns)]
    found = []
    while todo:
        (side, r, c), parent = todo.pop()
        found.append(((side, r, c), parent))
        h = side // 2
        if h:
            todo += [((h, r + i, c + k), (side, r, c)) for i in (0, h) for k in (0, h)]
    found.sort(key=lambda pair: pair[0])
    places = {square: i for i, (square, _) in enumerate(found)}
    return [(square, places.get(parent)) for square, parent in found]


def maximal_squares(free, rows, columns):
    """Which squares are free and their parent is not, (states, squares)."""
    grid, every = np.arange(rows * columns).reshape(rows, columns), squares(rows, columns)
    whole = np.stack(
        [free[:, grid[r : r + s, c : c + s].ravel()].all(axis=1) for (s, r, c), _ in every], axis=1
    )
    lone = whole.copy()
    for i, (_, parent) in enumerate(every):
        if parent is not None:
            lone[:, i] &= ~whole[:, parent]
    return lone


def mbs(free, rows, columns, size):
    grid, every = np.arange(rows * columns).reshape(rows, columns), squares(rows, columns)
    sides = np.array([square[0] for square, _ in every])
    left, served = free.copy(), free.sum(axis=1) >= size
    side = int(sides.max())
    need = np.where(served, size // side**2, 0)
    while side:
        looking = need > 0
        while looking.any():
            some = np.flatnonzero(looking)
            fit = maximal_squares(left[some], rows, columns) & (sides >= side)
            at = np.where(fit.any(axis=1), fit.argmax(axis=1), -1)
            for i in np.unique(at[at >= 0]):
                _, r, c = every[i][0]
                block = grid[r : r + side, c : c + side].ravel()
                left[np.ix_(some[at == i], block)] = False
            need[some[at >= 0]] -= 1
            looking[some[at < 0]] = False
            looking &= need > 0
        side //= 2
        if side:
            need = np.where(served, 4 * need + size // side**2 % 4, 0)
    return free & ~left, served


# Curves


def hilbert_order(rows, columns):
    """Cells by the digits of their rank: quarters top left, top right, bottom right, bottom left.

    The first quarter is mirrored at the main diagonal, the last at the other.
    """
    side = 1
    while side < max(rows, columns):
        side *= 2
    order = []
    for rank in range(side * side):
        r = c = 0
        s, rest = 1, rank
        while s < side:
            quarter, rest = rest % 4, rest // 4
            if quarter == 0:
                r, c = c, r
            elif quarter == 1:
                c += s
            elif quarter == 2:
                r, c = r + s, c + s
            else:
                r, c = 2 * s - 1 - c, s - 1 - r
            s *= 2
        if columns < rows:
            r, c = c, r
        if r < rows and c < columns:
            order.append(r * columns + c)
    return order


def snake_order(rows, columns):
    grid = np.arange(rows * columns).reshape(rows, columns)
    return [int(n) for r in range(rows) for n in (grid[r, ::-1] if r % 2 else grid[r])]


def on_curve(free, order, size, fit):
    n, states = len(order), np.arange(len(free))
    ranked = free[:, order]
    runs = np.zeros((len(free), n + 1), dtype=np.int64)  # free ranks from here on
    for i in reversed(range(n)):
        runs[:, i] = np.where(ranked[:, i], runs[:, i + 1] + 1, 0)
    begins = ranked.copy()
    begins[:, 1:] &= ~ranked[:, :-1]
    lengths = np.stack([((runs[:, :n] == g) & begins).sum(axis=1) for g in range(n + 1)], axis=1)
    key = np.full((len(free), n), 10**6)
    for i in range(n):
        fits = begins[:, i] & (runs[:, i] >= size)
        if fit == "ss":
            after = lengths.copy()
            after[states, runs[:, i]] -= 1
            after[states, np.maximum(runs[:, i] - size, 0)] += 1
            value = (after[:, 1:] ** 2).sum(axis=1)
        else:
            value = runs[:, i] if fit == "bf" else np.zeros(len(free), dtype=np.int64)
        key[fits, i] = value[fits]
    start, none = key.argmin(axis=1), key.min(axis=1) == 10**6
    upto = np.cumsum(ranked, axis=1)
    spans = np.full((len(free), n), 10**6)
    for i in range(n - size + 1):
        from_i = upto - upto[:, [i]] + 1  # free ranks from i to each
        exact = (ranked[:, [i]] & ranked & (from_i == size))[:, i:]
        some = exact.any(axis=1)
        spans[some, i] = exact[some].argmax(axis=1)
    start = np.where(none, spans.argmin(axis=1), start)
    later = np.arange(n) >= start[:, None]
    served = upto[:, -1] >= size
    taken = np.zeros_like(free)
    taken[:, order] = ranked & later & (np.cumsum(ranked & later, axis=1) <= size) & served[:, None]
    return taken, served


# Shells


def compact_sides(size):
    fits = [
        (h * w - size, w - h, h, w) for h in range(1, size + 1) for w in range(h, 2 * h + 1) if h * w >= size
    ]
    return min(fits)[2:]


@cache  # of a few hundred rows of numbers
def outwards(first, last):
    """Numbers from the middle outwards, the smaller of two first."""
    return sorted(range(first, last + 1), key=lambda x: (abs(2 * x - first - last), x))


def ring_by_ring(row, column, h, w, rows, columns):
    """Nodes with their rings round the window, as they are taken."""
    cells = [(0, r, c) for c in range(column, column + w) for r in range(row, row + h)]
    last = max(row, rows - row - h, column, columns - column - w)
    for s in range(1, last + 1):
        top, bottom, left, right = row - s, row + h - 1 + s, column - s, column + w - 1 + s
        upright = [(s, r, c) for c in (left, right) for r in outwards(top + 1, bottom - 1)]
        lying = [(s, r, c) for r in (top, bottom) for c in outwards(left + 1, right - 1)]
        cells += upright + lying if h <= w else lying + upright
        cells += [(s, r, c) for c in (left, right) for r in (top, bottom)]
    inside = [(s, r * columns + c) for s, r, c in cells if 0 <= r < rows and 0 <= c < columns]
    return [s for s, _ in inside], [node for _, node in inside]


def cheapest(free, size, candidates):
    """Least cost over (who may, rings, order) in turn, the first of equals."""
    best, taken = np.full(len(free), 10**9), np.zeros_like(free)
    for allowed, rings, order in candidates:
        layout = first_in(order, free, size)
        cost = np.where(allowed, layout[:, order] @ np.array(rings), 10**9)
        better = cost < best
        best[better], taken[better] = cost[better], layout[better]
    served = free.sum(axis=1) >= size
    return taken & served[:, None], served


def mc(free, rows, columns, size, shape=None):
    h, w = shape or compact_sides(size)
    shapes = [(h, w)] if shape or h == w else [(h, w), (w, h)]

    def candidates():
        for c in range(columns):
            for r in range(rows):
                for h, w in shapes:
                    at = r - (h - 1) // 2, c - (w - 1) // 2
                    yield free[:, r * columns + c], *ring_by_ring(*at, h, w, rows, columns)

    return cheapest(free, size, candidates())


def mc_elongated(free, rows, columns, size):
    width, row = max(1, size // rows), np.arange(rows * columns) // columns
    busy_above = (~free[:, 2 * row < rows - 1]).sum(axis=1)
    busy_below = (~free[:, 2 * row > rows - 1]).sum(axis=1)

    def candidates(sign):
        for i in range(columns):
            first = i - (width - 1) // 2
            window = range(first, first + width)
            cells = sorted(
                (min(abs(c - x) for x in window), abs(2 * r - (rows - 1)), c, sign * r, r * columns + c)
                for r in range(rows)
                for c in range(columns)
            )
            yield np.ones(len(free), bool), [cell[0] for cell in cells], [cell[4] for cell in cells]

    upper, served = cheapest(free, size, candidates(1))
    lower, _ = cheapest(free, size, candidates(-1))
    return np.where((busy_above > busy_below)[:, None], lower, upper), served


def answers(name, free, rows, columns, size, **params):
    """What the strategy called `name` takes in each state, and which states are served."""
    enough = free.sum(axis=1) >= size
    if name == "Paging":
        return pages(free, rows, columns, size, params.get("s", 0))
    if name in ("PLAS", "SCBT"):
        order = plas_order(rows, columns) if name == "PLAS" else leaf_order(rows, columns)
        return first_in(order, free, size) & enough[:, None], enough
    if name in ("hilbert", "snake"):
        order = (hilbert_order if name == "hilbert" else snake_order)(rows, columns)
        return on_curve(free, order, size, params.get("fit", "ff"))
    rule = {"MBS": mbs, "MC": mc, "MC-Elongated": mc_elongated}.get(name)
    if rule is not None:
        return rule(free, rows, columns, size, **params)
    return tree(free, rows, columns, size, name, **params)
