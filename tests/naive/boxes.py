"""Strategies for boxes as their paper tells them: cell by cell, busy lists by set subtraction.

A cell is (x, y, z), `busy` a set of cells, `sides` and `box` are (x, y, z). Nothing here is fast.
On a torus every coordinate counts modulo its side.
"""

from __future__ import annotations

import itertools


def cells(base, box, sides):
    """Cells of a box, over the ends of the sides if it must be."""
    spans = [range(at, at + long) for at, long in zip(base, box, strict=True)]
    return {tuple(p % s for p, s in zip(cell, sides, strict=True)) for cell in itertools.product(*spans)}


def bases(box, sides, torus):
    """Where a box may begin: z outermost, then y, x innermost."""
    room = [s if torus else s - long + 1 for s, long in zip(sides, box, strict=True)]
    return [(x, y, z) for z in range(room[2]) for y in range(room[1]) for x in range(room[0])]


def first_fit(busy, sides, box, torus, boxes):
    """The first base whose box is free."""
    for base in bases(box, sides, torus):
        if not cells(base, box, sides) & busy:
            return base
    return None


def touching(busy, base, box, sides, torus):
    """Pairs of a cell of the box and a busy cell, or a wall, beside one of its six faces."""
    own, count = cells(base, box, sides), 0
    for axis in range(3):
        for end in (-1, box[axis]):
            face = list(box)
            face[axis] = 1
            at = list(base)
            at[axis] += end
            for step in itertools.product(*map(range, face)):
                cell = tuple(p + q for p, q in zip(at, step, strict=True))
                if torus:
                    cell = tuple(p % s for p, s in zip(cell, sides, strict=True))
                inside = all(0 <= p < s for p, s in zip(cell, sides, strict=True))
                count += (cell in busy and cell not in own) if inside else True
    return count


def best_fit(busy, sides, box, torus, boxes):
    """Of the free boxes the one that touches most, the first of equals."""
    found = [base for base in bases(box, sides, torus) if not cells(base, box, sides) & busy]
    return max(found, key=lambda base: touching(busy, base, box, sides, torus), default=None)


def busy_list(busy, sides, box, torus, boxes):
    """Candidate planes, less every prohibited region: sets of cells instead of rectangles.

    `boxes` are the (base, sides) of the running jobs in order of allocation.
    """
    allowed = set(bases(box, sides, torus))
    prohibited = set()
    for base, own in boxes:
        start = [at - long + 1 for at, long in zip(base, box, strict=True)]
        reach = [one + long - 1 for one, long in zip(own, box, strict=True)]
        if not torus:  # cells of negative coordinates are no bases
            spans = [range(at, at + long) for at, long in zip(start, reach, strict=True)]
            prohibited |= set(itertools.product(*spans))
        else:
            reach = [min(long, s) for long, s in zip(reach, sides, strict=True)]
            prohibited |= cells(start, reach, sides)
    planes = [{cell for cell in allowed if cell[0] == 0}]
    for base, own in boxes:
        at = base[0] + own[0], base[1] - box[1] + 1, base[2] - box[2] + 1
        reach = 1, own[1] + box[1] - 1, own[2] + box[2] - 1
        if torus:
            reach = tuple(min(long, s) for long, s in zip(reach, sides, strict=True))
            planes.append(cells(at, reach, sides) & allowed)
        else:
            spans = [range(p, p + long) for p, long in zip(at, reach, strict=True)]
            planes.append(set(itertools.product(*spans)) & allowed)
    for plane in planes:
        left = plane - prohibited
        if left:
            return min(left, key=lambda cell: (cell[2], cell[1]))
    return None


RULES = {"FF": first_fit, "BF": best_fit, "BL": busy_list}


def choose(name, busy, sides, box, *, torus=False, boxes=()):
    """Cells that a strategy gives, or None."""
    found = chosen(name, busy, sides, box, torus=torus, boxes=boxes)
    return None if found is None else cells(*found, sides)


def chosen(name, busy, sides, box, *, torus=False, boxes=()):
    """Base and sides of the box that a strategy gives, or None; a name with T turns the box."""
    a, b, c = box
    orders = [(a, b, c), (a, c, b), (b, a, c), (b, c, a), (c, a, b), (c, b, a)]
    for order in orders if name.startswith("T") else orders[:1]:
        if any(long > s for long, s in zip(order, sides, strict=True)):
            continue
        base = RULES[name[-2:]](busy, sides, order, torus, boxes)
        if base is not None:
            return base, order
    return None


def hilbert_neighbours(order, sides):
    """Whether successive nodes of a curve are neighbours on the mesh."""
    wide, deep, _ = sides
    places = [(n % wide, n // wide % deep, n // (wide * deep)) for n in order]
    return all(
        sum(abs(p - q) for p, q in zip(one, other, strict=True)) == 1
        for one, other in itertools.pairwise(places)
    )


def cubes(free, sides):
    """Maximal free cubes of the octrees of MBS in space, by way of initial cubes, as lists."""
    found, todo = [], _initial((0, 0, 0), sides)
    while todo:
        side, base = todo.pop()
        if cells(base, (side,) * 3, (10**9,) * 3) <= free:
            found.append((side, base))
        elif side > 1:
            todo += _eighths(side, base)
    return found


def _initial(base, sides):
    """The largest cube at the corner, then what is right of it, below it, behind it, alike."""
    if 0 in sides:
        return []
    side = 1
    while 2 * side <= min(sides):
        side *= 2
    (x, y, z), (a, b, c) = base, sides
    return [
        (side, base),
        *_initial((x + side, y, z), (a - side, b, c)),
        *_initial((x, y + side, z), (side, b - side, c)),
        *_initial((x, y, z + side), (side, side, c - side)),
    ]


def _eighths(side, base):
    half = side // 2
    return [
        (half, tuple(at + half * bit for at, bit in zip(base, bits, strict=True)))
        for bits in itertools.product((0, 1), repeat=3)
    ]


def mbs(free, sides, size):
    """Digits of `size` in base 8, each served by free cubes in order of z, y, x."""
    blocks = cubes(free, sides)
    side = max(cube[0] for cube in _initial((0, 0, 0), sides))
    wanted, rest = [], size
    while side:
        wanted += [side] * (rest // side**3)
        rest %= side**3
        side //= 2
    taken = set()
    while wanted:
        side = wanted.pop(0)
        larger = [cube for cube in blocks if cube[0] >= side]
        if not larger:
            wanted = sorted([side // 2] * 8 + wanted, reverse=True)
            continue
        cube = min(larger, key=lambda cube: (cube[0], cube[1][::-1]))
        blocks.remove(cube)
        while cube[0] > side:
            parts = sorted(_eighths(*cube), key=lambda part: part[1][::-1])
            cube, others = parts[0], parts[1:]
            blocks += others
        taken |= cells(cube[1], (cube[0],) * 3, (10**9,) * 3)
    return taken
