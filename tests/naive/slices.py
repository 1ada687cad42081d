"""A pod and its queue, slow and obvious: sets of cells, one list of waiting jobs, no tables.

Boxes are found as `tests.naive.boxes` finds them. A job is a dictionary; `play` gives start times,
None where a job is refused. Slices are in blocks; `Small` is the pod with parts of blocks.
"""

from __future__ import annotations

import itertools
import math

from tests.naive import boxes


def turns(box, sides):
    """Every order of the sides that fits, the given one first."""
    a, b, c = box
    orders = [(a, b, c), (a, c, b), (b, a, c), (b, c, a), (c, a, b), (c, b, a)]
    fitting = [o for o in orders if all(p <= q for p, q in zip(o, sides, strict=True))]
    return list(dict.fromkeys(fitting))


def largest_free(busy, sides, wrap):
    """Cells of the largest free box."""
    best = 0
    for box in itertools.product(*(range(1, side + 1) for side in sides)):
        if math.prod(box) > best and boxes.first_fit(busy, sides, box, wrap, ()) is not None:
            best = math.prod(box)
    return best


def aligned(busy, sides, box, wrap):
    """The first base at multiples of the sides."""
    for base in boxes.bases(box, sides, wrap):
        if any(at % side for at, side in zip(base, box, strict=True)):
            continue
        if not boxes.cells(base, box, sides) & busy:
            return base
    return None


def place(strategy, busy, sides, box, wrap, curve):
    """Cells that a strategy gives, or None."""
    every = [(x, y, z) for z in range(sides[2]) for y in range(sides[1]) for x in range(sides[0])]
    free, size = [cell for cell in every if cell not in busy], math.prod(box)
    if size > len(free):
        return None
    if strategy == "any-blocks":
        return set(free[:size])
    if strategy == "3d-torus":
        return along(curve, busy, size)
    if strategy == "block":
        length = 1
        while length < size:
            length *= 2
        runs = [every[at : at + length] for at in range(0, len(every), length)]
        runs = [[cell for cell in run if cell not in busy] for run in runs]
        runs = [run for run in runs if len(run) >= size]
        return set(min(runs, key=len)[:size]) if runs else None
    best, most = None, -1
    orders = [o for o in turns(box, sides) if o == tuple(box) or strategy not in ("FF", "BF")]
    for order in orders:
        if strategy == "MFP":
            for base in boxes.bases(order, sides, wrap):
                own = boxes.cells(base, order, sides)
                if own & busy:
                    continue
                left = largest_free(busy | own, sides, wrap)
                if left > most:
                    best, most = own, left
            continue
        find = {"FF": boxes.first_fit, "BF": boxes.best_fit}.get(strategy.removeprefix("T"))
        base = aligned(busy, sides, order, wrap) if find is None else find(busy, sides, order, wrap, ())
        if base is not None:
            return boxes.cells(base, order, sides)
    return best


def along(curve, busy, size):
    """The shortest run of free cells on a curve that is long enough, else the nearest ones."""
    runs, run = [], []
    for cell in [*curve, None]:
        if cell is not None and cell not in busy:
            run.append(cell)
            continue
        if run:
            runs.append(run)
        run = []
    long = [run for run in runs if len(run) >= size]
    if long:
        return set(min(long, key=len)[:size])
    ranks = [i for i, cell in enumerate(curve) if cell not in busy]
    at = min(range(len(ranks) - size + 1), key=lambda i: ranks[i + size - 1] - ranks[i])
    return {curve[i] for i in ranks[at : at + size]}


class Whole:
    """Who holds which blocks."""

    def __init__(self, sides, wrap, strategy, curve):
        self.sides, self.wrap, self.strategy, self.curve = sides, wrap, strategy, curve
        self.held = {}
        self.promised = {}  # when the first of the queue was told that it can start, by job

    def find(self, box):
        """What a job would get, or None."""
        busy = set().union(*self.held.values()) if self.held else set()
        return place(self.strategy, busy, self.sides, box, self.wrap, self.curve)

    def copy(self):
        """The same, to try something on."""
        other = type(self)(self.sides, self.wrap, self.strategy, self.curve)
        other.held = dict(self.held)
        return other

    def counts(self, box):
        """Whether there is enough free, wherever it lies."""
        return math.prod(box) <= math.prod(self.sides) - sum(map(len, self.held.values()))


class Small(Whole):
    """A pod whose jobs may ask for a part of a block: cells are chips, boxes are in chips."""

    block = (2, 2, 2)

    def find(self, box):
        """A part of a block lies in an opened block if it can; whole blocks are free ones."""
        chips = set().union(*self.held.values()) if self.held else set()
        opened = {tuple(p // q for p, q in zip(cell, self.block, strict=True)) for cell in chips}
        if not turns(box, self.block) or box == self.block:
            orders = [
                o for o in turns(box, (99,) * 3) if not any(p % q for p, q in zip(o, self.block, strict=True))
            ]
            whole = tuple(p // q for p, q in zip(orders[0], self.block, strict=True))
            found = place(self.strategy, opened, self.sides, whole, self.wrap, self.curve)
            return None if found is None else set().union(*map(self.chips_of, found))
        every = [
            (x, y, z)
            for z in range(self.sides[2])
            for y in range(self.sides[1])
            for x in range(self.sides[0])
        ]
        whole = {
            tuple(p // q for p, q in zip(cell, self.block, strict=True))
            for own in self.held.values()
            if len(own) >= math.prod(self.block)
            for cell in own
        }
        shared = [b for b in every if b in opened and b not in whole]
        inside = self.strategy if self.strategy in ("FF", "BF", "TBF", "aligned", "MFP") else "TFF"
        for b in [*shared, *(b for b in every if b not in opened)]:
            own = self.chips_of(b) & chips
            local = {tuple(p % q for p, q in zip(cell, self.block, strict=True)) for cell in own}
            found = place(inside, local, self.block, box, False, None)
            if found is not None:
                return {
                    tuple(p + q * r for p, q, r in zip(cell, b, self.block, strict=True)) for cell in found
                }
        return None

    def chips_of(self, b):
        """The chips of a block."""
        start = tuple(p * q for p, q in zip(b, self.block, strict=True))
        return boxes.cells(start, self.block, (10**9,) * 3)


def play(pod, jobs, discipline):
    """Start times of jobs, each with its arrival, box, demand and estimate; None where refused."""
    starts, ends, expected, waiting = [None] * len(jobs), {}, {}, []
    coming = list(range(len(jobs)))

    def run(j, now):
        pod.held[j] = pod.find(jobs[j]["box"])
        starts[j] = now
        ends[j] = now + jobs[j]["demand"]
        expected[j] = now + jobs[j]["estimate"]
        waiting.remove(j)

    while coming or ends:
        arrival = jobs[coming[0]]["arrival"] if coming else math.inf
        end = min(ends.values(), default=math.inf)
        now = min(arrival, end)
        if end <= arrival:
            for j in [j for j, at in ends.items() if at == now]:
                del ends[j], expected[j], pod.held[j]
        else:
            j = coming.pop(0)
            waiting.append(j)
        if discipline in ("first-fit", "loss"):
            for j in list(waiting):
                if pod.find(jobs[j]["box"]) is not None:
                    run(j, now)
            if discipline == "loss":
                waiting.clear()
            continue
        while waiting and pod.find(jobs[waiting[0]]["box"]) is not None:
            run(waiting[0], now)
        if discipline == "EASY-places" and waiting:
            backfill(pod, jobs, waiting, expected, now, run)
    return starts


def backfill(pod, jobs, waiting, expected, now, run):
    """Start, in order of arrival, what leaves the first its place at the time reserved for it."""
    head = jobs[waiting[0]]["box"]
    later, reserved = pod.copy(), None
    for moment in sorted({max(at, now) for at in expected.values()}):
        for j, at in expected.items():
            if max(at, now) == moment:
                del later.held[j]
        if later.find(head) is not None:
            reserved = moment
            break
    pod.promised.setdefault(waiting[0], reserved)
    for j in waiting[1:]:
        own = pod.find(jobs[j]["box"])
        if own is None:
            continue
        if now + jobs[j]["estimate"] > reserved:
            later.held[j] = own
            if later.find(head) is None:
                del later.held[j]
                continue
        run(j, now)
