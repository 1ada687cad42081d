"""Contiguous strategies: goldens, every state of tiny meshes, and what holds of any history."""

import itertools
import json
from dataclasses import dataclass

import numpy as np
import pytest

from qmodels.errors import ModelError
from tests.families import BOXES
from tests.naive import boxes as naive
from validation.allocation import (
    BF,
    BL,
    FF,
    TBL,
    TFF,
    BoxStrategy,
    Request,
    check_strategy,
    near_cubic,
    nodes_affected,
    nodes_of_box,
    orientations,
)
from validation.mesh import Mesh, Occupancy, Sides

EVERY = pytest.mark.parametrize("name", BOXES)
TURNING = [name for name in BOXES if name.startswith("T")]


def goldens(folder):
    for path in sorted(folder.glob("*.json")):
        sequence = json.loads(path.read_text())
        if isinstance(sequence, dict) and "W" in sequence.get("mesh", {}):
            yield path.stem, sequence


@pytest.mark.thorough(first=1)
@EVERY
def test_golden_sequences_come_out_node_for_node(cases, name):
    replayed = 0
    for stem, sequence in goldens(cases / "allocation"):
        if sequence["strategy"] != name:
            continue
        mesh = sequence["mesh"]
        place = Mesh.of_sides((mesh["W"], mesh["D"], mesh["H"]), torus=mesh.get("torus", False))
        strategy, held = BOXES[name](**sequence["params"]), Occupancy(place)
        for k, op in enumerate(sequence["ops"]):
            if op["op"] == "release":
                held.release(op["id"])
                continue
            nodes = strategy.choose(held, Request.of_shape(*op["shape"]))
            got = None if nodes is None else nodes.tolist()
            assert got == op["nodes"], f"{stem}, operation {k}"
            if nodes is not None:
                box = held.mesh, op["base"], Sides(*op["oriented"])
                assert nodes_of_box(*box).tolist() == op["nodes"]
                held.occupy(op["id"], nodes)
        replayed += 1
    assert replayed >= 2


# The order of the sides


def test_two_sides_are_rows_and_columns_and_three_are_x_y_and_z():
    assert Request.of_shape(2, 4).box == Request.of_shape(4, 2, 1).box == Sides(x=4, y=2, z=1)
    place = Mesh(rows=5, columns=6, depth=4)
    assert place.sides == Sides(x=6, y=5, z=4)
    assert Mesh.of_sides((6, 5, 4)) == Mesh.of_sides(place.sides) == place
    assert Mesh.of_sides((5, 6)) == Mesh(5, 6)
    for strategy in (FF(), BF(), BL()):
        # Two nodes along x have neighbouring numbers, two along y differ by the columns.
        assert strategy.choose(Mesh(5, 6), Request.of_shape(1, 2)).tolist() == [0, 1]
        assert strategy.choose(place, Request.of_shape(2, 1, 1)).tolist() == [0, 1]
        assert strategy.choose(place, Request.of_shape(1, 2, 1)).tolist() == [0, 6]
        assert strategy.choose(place, Request.of_shape(1, 1, 2)).tolist() == [0, 30]
    for wrong in ((), (3,), (1, 2, 3, 4), (0, 2), (2.5, 2), ("2", 2)):
        with pytest.raises(ModelError):
            Sides.of(*wrong)


def test_a_box_too_long_on_one_side_fits_only_when_it_is_turned():
    place = Mesh.of_sides((6, 5, 4))
    for name, cls in BOXES.items():
        for shape in ((4, 5, 6), (1, 6, 1), (5, 5, 5)):
            given = cls().choose(place, Request.of_shape(*shape))
            assert (given is None) == (not name.startswith("T") or shape == (5, 5, 5))


# Every state of tiny meshes


def boxes_of(busy, sides):
    """Busy cells as the boxes that an occupancy makes of one job with all of them, and that."""
    held = Occupancy(Mesh.of_sides(sides))
    nodes = sorted(x + sides[0] * (y + sides[1] * z) for x, y, z in busy)
    if nodes:
        held.occupy("all", nodes)
    return held, [(tuple(row[:3]), tuple(row[3:])) for row in held.boxes.tolist()]


def masks_of_boxes(sides, box):
    """Bits of the nodes of every box of these sides."""
    bits = []
    for base in naive.bases(box, sides, False):
        nodes = [x + sides[0] * (y + sides[1] * z) for x, y, z in naive.cells(base, box, sides)]
        bits.append(sum(1 << node for node in nodes))
    return bits


@pytest.mark.thorough
@pytest.mark.parametrize("sides", [(2, 2, 2), (3, 2, 2)])
def test_in_every_state_a_strategy_finds_a_box_just_where_there_is_one(sides):
    count = int(np.prod(sides))
    shapes = list(itertools.product(*(range(1, side + 1) for side in sides)))
    free_masks = {shape: masks_of_boxes(sides, shape) for shape in shapes}
    turned = {
        shape: [
            mask
            for order in orientations(Sides(*shape))
            if order.fit(Sides(*sides))
            for mask in free_masks[tuple(order)]
        ]
        for shape in shapes
    }
    requests = {shape: Request.of_shape(*shape) for shape in shapes}
    step = 1 if count == 8 else 3  # a third of the 4096 states for the turning ones
    for state in range(1 << count):
        held = Occupancy(Mesh.of_sides(sides))
        if state:
            held.occupy("all", [node for node in range(count) if state >> node & 1])
        for shape in shapes:
            there = any(not mask & state for mask in free_masks[shape])
            for strategy in (FF(), BL()):
                assert (strategy.choose(held, requests[shape]) is not None) == there
            if state % step == 0:
                there = any(not mask & state for mask in turned[shape])
                for strategy in (TFF(), TBL()):
                    assert (strategy.choose(held, requests[shape]) is not None) == there


@pytest.mark.thorough
@EVERY
@pytest.mark.parametrize("torus", [False, True])
def test_states_of_tiny_meshes_are_answered_as_by_the_naive_twin(name, torus):
    for sides, step in (((2, 2, 2), 3), ((3, 2, 2), 83)):
        assert_twin_agrees(name, sides, torus, range(0, 1 << int(np.prod(sides)), step))


@pytest.mark.slow
@EVERY
@pytest.mark.parametrize("torus", [False, True])
def test_every_state_of_tiny_meshes_is_answered_as_by_the_naive_twin(name, torus):
    for sides in ((2, 2, 2), (3, 2, 2)):
        assert_twin_agrees(name, sides, torus, range(1 << int(np.prod(sides))))


def assert_twin_agrees(name, sides, torus, states):
    shapes = list(itertools.product(range(1, max(sides) + 1), repeat=3))
    if not name.startswith("T"):
        shapes = [shape for shape in shapes if Sides(*shape).fit(Sides(*sides))]
    for state in states:
        held = Occupancy(Mesh.of_sides(sides, torus=torus))
        nodes = [node for node in range(held.nodes) if state >> node & 1]
        if nodes:
            held.occupy("all", nodes)
        busy = set(map(tuple, held.coordinates(nodes).tolist())) if nodes else set()
        rows = [(tuple(row[:3]), tuple(row[3:])) for row in held.boxes.tolist()]
        assert set().union(*(naive.cells(*row, sides) for row in rows)) == busy
        for shape in shapes:
            expected = naive.choose(name, busy, sides, shape, torus=torus, boxes=rows)
            same(held, BOXES[name]().choose(held, Request.of_shape(*shape)), expected)


def same(held, nodes, cells):
    """Whether nodes are these cells."""
    assert (nodes is None) == (cells is None)
    if cells is not None:
        assert set(map(tuple, held.coordinates(nodes).tolist())) == cells
        assert (np.diff(nodes) > 0).all()


# Histories


@dataclass
class History:
    """Jobs that come and go at random on a mesh; what each strategy says is compared."""

    sides: tuple
    torus: bool
    rng: np.random.Generator

    def requests(self, count, by):
        """Requests with the occupancy as it is then; the answers of `by` are booked."""
        held, jobs = Occupancy(Mesh.of_sides(self.sides, torus=self.torus)), []
        for job in range(count):
            while jobs and self.rng.random() < 0.5:
                held.release(jobs.pop(int(self.rng.integers(len(jobs)))))
            # Small ones more often than large ones, so that many jobs run at a time.
            most = np.ceil(np.array(self.sides) ** self.rng.random(3)).astype(int)
            request = Request.of_shape(*self.rng.integers(1, most + 1).tolist())
            yield held, request
            nodes = by.choose(held, request)
            if nodes is not None:
                held.occupy(job, nodes)
                jobs.append(job)


PLACES = [
    ((4, 3, 5), False),
    ((4, 3, 5), True),
    ((7, 2, 3), False),
    ((2, 5, 4), True),
    ((6, 4, 1), False),
    ((1, 9, 2), True),
]


@pytest.mark.thorough(first=1)
@EVERY
@pytest.mark.parametrize(("sides", "torus"), PLACES)
def test_histories_are_answered_as_by_the_naive_twin(name, sides, torus, rng):
    history = History(sides, torus, rng)
    for held, request in history.requests(40, BOXES[name]()):
        busy = np.flatnonzero(held.busy)
        cells = set(map(tuple, held.coordinates(busy).tolist())) if busy.size else set()
        rows = [(tuple(row[:3]), tuple(row[3:])) for row in held.boxes.tolist()]
        assert len(rows) == len(held.jobs)  # every job is one box, over an end or not
        expected = naive.choose(name, cells, sides, request.shape, torus=torus, boxes=rows)
        same(held, BOXES[name]().choose(held, request), expected)


def agreement(requests, rng):
    """How often a free box was found; FF and BL, TFF and TBL find one in the same cases."""
    found = done = 0
    for k in itertools.count():
        sides, torus = [
            *PLACES,
            ((8, 8, 8), False),
            ((8, 8, 8), True),
            ((70, 3, 3), False),
            ((3, 70, 3), True),
        ][k % 10]
        history = History(sides, torus, rng)
        for held, request in history.requests(500, [FF(), BL(), TFF(), TBL(), BF()][k % 5]):
            one, other = FF().choose(held, request), BL().choose(held, request)
            assert (one is None) == (other is None)
            turned, listed = TFF().choose(held, request), TBL().choose(held, request)
            assert (turned is None) == (listed is None)
            assert turned is not None or one is None
            if turned is not None and one is None:
                # Both take the first order for which there is a box.
                own = [Occupancy(held.mesh) for _ in range(2)]
                for at, nodes in zip(own, (turned, listed), strict=True):
                    at.occupy("it", nodes)
                assert own[0].boxes[0, 3:].tolist() == own[1].boxes[0, 3:].tolist()
            found += one is not None
            done += 1
        if done >= requests:
            return found
    raise AssertionError


@pytest.mark.thorough
def test_a_busy_list_finds_a_box_just_where_first_fit_does(rng):
    assert 2000 < agreement(8000, rng) < 8000


@pytest.mark.slow
def test_a_busy_list_finds_a_box_just_where_first_fit_does_a_million_times():
    agreement(1_000_000, np.random.default_rng(23))


@pytest.mark.thorough
def test_turning_the_whole_problem_turns_the_success_of_turning_strategies(rng):
    for _ in range(60):
        sides = rng.integers(1, 7, 3)
        busy = rng.random(sides) < rng.uniform(0.0, 0.6)  # (x, y, z)
        shape = rng.integers(1, 5, 3)
        for torus in (False, True):
            answers = set()
            for order in itertools.permutations(range(3)):
                held = Occupancy(Mesh.of_sides(sides[list(order)].tolist(), torus=torus))
                grid = busy.transpose(order).transpose(2, 1, 0)  # numbers grow along x first
                if grid.any():
                    held.occupy("others", np.flatnonzero(grid))
                request = Request.of_shape(*shape[list(order)].tolist())
                answers.add(tuple(BOXES[n]().choose(held, request) is None for n in TURNING))
                same_shape = Request.of_shape(*shape.tolist())
                answers.add(tuple(BOXES[n]().choose(held, same_shape) is None for n in TURNING))
            assert len(answers) == 1


def test_a_shifted_torus_has_room_for_the_same_boxes(rng):
    for _ in range(40):
        sides = rng.integers(1, 7, 3)
        busy = rng.random(sides[::-1]) < rng.uniform(0.0, 0.6)  # (z, y, x)
        request = Request.of_shape(*np.minimum(rng.integers(1, 5, 3), sides).tolist())
        answers = set()
        for _ in range(3):
            held = Occupancy(Mesh.of_sides(sides.tolist(), torus=True))
            shifted = np.roll(busy, rng.integers(0, 7, 3), axis=(0, 1, 2))
            if shifted.any():
                held.occupy("others", np.flatnonzero(shifted))
            answers.add(tuple(cls().choose(held, request) is None for cls in BOXES.values()))
        assert len(answers) == 1


# The rules by hand


def test_the_example_of_the_paper_is_allocated_when_it_is_turned():
    """Section 3 (E40): a free 3 x 3 x 2, jobs of 2 x 3 x 2 and 3 x 2 x 1."""
    held = Occupancy(Mesh.of_sides((3, 3, 2)))
    held.occupy("first", TFF().choose(held, Request.of_shape(2, 3, 2)))
    second = Request.of_shape(3, 2, 1)
    assert FF().choose(held, second) is None
    for name in TURNING:
        held.occupy("second", nodes := BOXES[name]().choose(held, second))
        assert held.coordinates(nodes)[:, 0].tolist() == [2] * 6
        assert held.boxes[-1].tolist() == [2, 0, 0, 1, 3, 2]
        held.release("second")


def test_best_fit_prefers_a_niche_to_the_corner_of_first_fit():
    held = Occupancy(Mesh.of_sides((4, 4, 1)))
    held.occupy("wall", [0, 2, 5])  # leaves node 1 with three busy neighbours or walls
    assert FF().choose(held, 1).tolist() == BF().choose(held, 1).tolist() == [1]
    held.occupy("more", [1])
    assert FF().choose(held, 1).tolist() == [3]
    # Node 4 lies between 0, 5 and the wall; node 3 between 2 and two walls.
    assert BF().choose(held, 1).tolist() == [3]
    held.occupy("right", [11])
    assert BF().choose(held, 1).tolist() == [3]


def test_a_busy_list_goes_through_its_planes_in_order_of_allocation():
    held = Occupancy(Mesh.of_sides((6, 1, 1)))
    for job, node in enumerate((0, 3, 1)):
        held.occupy(job, [node])
    # Right of node 0 is node 1, busy; right of node 3 comes before right of node 1.
    assert BL().choose(held, 1).tolist() == [4]
    assert FF().choose(held, 1).tolist() == [2]


def test_a_job_that_holds_no_box_is_cut_into_boxes_and_busy_lists_still_find_all(rng):
    held = Occupancy(Mesh.of_sides((4, 4, 4)))
    held.occupy("scattered", rng.choice(64, 20, replace=False))
    rows = held.boxes
    assert len(rows) > 1
    assert rows[:, 3:].prod(axis=1).sum() == 20
    assert not rows.flags.writeable
    for shape in itertools.product((1, 2, 3), repeat=3):
        request = Request.of_shape(*shape)
        assert (BL().choose(held, request) is None) == (FF().choose(held, request) is None)
    held.occupy("box", FF().choose(held, Request.of_shape(1, 2, 1)))
    held.release("scattered")
    assert len(held.boxes) == 1
    assert held.boxes[0, 3:].tolist() == [1, 2, 1]


def test_a_box_on_a_torus_goes_on_at_the_other_end():
    held = Occupancy(Mesh.of_sides((5, 4, 3), torus=True))
    held.occupy("middle", nodes_of_box(held.mesh, (1, 1, 1), Sides(3, 2, 1)))
    wide = Request.of_shape(2, 2, 3)
    for name, cls in BOXES.items():
        nodes = cls().choose(held, wide)
        assert nodes is not None, name
        assert nodes_affected(held, nodes) == 12
    assert FF().choose(Occupancy(Mesh.of_sides((5, 4, 3))), wide) is not None
    flat = Occupancy(Mesh.of_sides((5, 4, 3)))
    flat.occupy("middle", nodes_of_box(flat.mesh, (1, 1, 1), Sides(3, 2, 1)))
    assert TFF().choose(flat, wide) is None
    held.occupy("over the end", nodes_of_box(held.mesh, (4, 3, 2), Sides(2, 2, 2)))
    assert held.boxes[-1].tolist() == [4, 3, 2, 2, 2, 2]


def test_a_box_that_leaves_the_mesh_is_an_error():
    with pytest.raises(ModelError, match="leaves the mesh of 4 x 3 x 2"):
        nodes_of_box(Mesh.of_sides((4, 3, 2)), (3, 0, 0), Sides(2, 1, 1))
    with pytest.raises(ModelError, match="leaves the mesh"):
        nodes_of_box(Mesh.of_sides((4, 3, 2), torus=True), (0, 0, 0), Sides(5, 1, 1))
    with pytest.raises(ModelError, match="turning must be"):
        FF(turning="yes")


def test_turning_is_a_parameter():
    place, tall = Mesh.of_sides((2, 2, 6)), Request.of_shape(6, 1, 1)
    for plain, turned in (("FF", "TFF"), ("BF", "TBF"), ("BL", "TBL")):
        assert BOXES[plain]().choose(place, tall) is None
        assert BOXES[turned](turning=False).choose(place, tall) is None
        expected = BOXES[turned]().choose(place, tall).tolist()
        assert BOXES[plain](turning=True).choose(place, tall).tolist() == expected


def test_a_request_without_a_shape_asks_for_the_box_nearest_to_a_cube():
    within = Sides(8, 8, 8)
    assert near_cubic(64, within) == Sides(4, 4, 4)
    assert near_cubic(12, Sides(2, 8, 3)) == Sides(2, 3, 2)
    assert near_cubic(7, within) == Sides(7, 1, 1)
    assert near_cubic(17, within) is None
    assert near_cubic(10**30, within) is None
    for size in range(1, 200):
        box = near_cubic(size, within)
        boxes = [
            (a * b + b * c + a * c)
            for a, b, c in itertools.product(range(1, 9), repeat=3)
            if a * b * c == size
        ]
        assert (box is None) == (not boxes)
        if box is not None:
            a, b, c = box
            assert box.nodes == size
            assert a * b + b * c + a * c == min(boxes)
    assert FF().choose(Mesh(8, 8), 6).tolist() == [0, 1, 2, 8, 9, 10]


# A strategy of the user's own


class LastFit(BoxStrategy):
    """The last free box in the order of first fit."""

    name = "last-fit"

    def base(self, held, box):
        sides, torus = held.mesh.sides, held.mesh.torus
        room = [s if torus else s - long + 1 for s, long in zip(sides, box, strict=True)]
        for z, y, x in itertools.product(*(range(k - 1, -1, -1) for k in room[::-1])):
            nodes = nodes_of_box(held.mesh, (x, y, z), box)
            if not held.busy.ravel()[nodes].any():
                return np.array([x, y, z])
        return None


@pytest.mark.thorough
def test_a_strategy_of_ones_own_is_one_method_and_keeps_the_contract_in_three_dimensions():
    check = check_strategy(LastFit, operations=40)
    assert check.passed, check.table()
    assert {"4 x 4 x 4", "6 x 5 x 4", "6 x 5 x 4 (torus)"} <= set(check.meshes)


@pytest.mark.parametrize(
    ("wrong", "promise", "words"),
    [
        (lambda base: base * 0, "free nodes", "busy"),
        (lambda base: base + 1, "defined", "refuses every mesh"),
    ],
)
def test_a_box_strategy_that_is_wrong_is_found_out(wrong, promise, words):
    class Wrong(LastFit):
        def base(self, held, box):
            base = super().base(held, box)
            return None if base is None else wrong(base)

    assert words in check_strategy(Wrong, operations=40).failures[promise]


@pytest.mark.thorough
def test_a_box_of_other_sides_than_were_asked_for_breaks_the_contract():
    class Flat(FF):
        """Gives a row wherever it can, whatever the shape."""

        name = "flat"

        def base(self, held, box):
            return super().base(held, box)

    class Lies(type(FF()).__mro__[2]):  # AbstractStrategy
        """Answers a request for a shape as if it had none."""

        name, kind = "lies", "contiguous"

        def choose(self, mesh, request):
            return TFF().choose(mesh, request.size)

    assert check_strategy(Flat, operations=40).passed
    assert "gave" in check_strategy(Lies, operations=40).failures["amount"]
