"""Every strategy and metric in every state of every mesh up to 4 x 4, against rules written twice.

The gate looks at all states of meshes of up to six nodes and at a sample of the larger ones.
"""

import itertools

import numpy as np
import pytest

from tests.examples import examples
from tests.families import GRID
from tests.naive import allocation_states as states
from validation.allocation import (
    Random,
    Request,
    free_squares,
    free_tree_blocks,
    has_nested_free_blocks,
    is_compact,
    is_spatially_compact,
    job_balance,
    least_free_squares,
    system_balance,
)
from validation.mesh import Mesh, Occupancy

TREES = [name for name in GRID if name.endswith("BT")]
RULED = [name for name in TREES if name != "SCBT"]
CASES = [
    *((name, {}) for name in GRID if name != "Random"),
    ("Paging", {"s": 1}),
    ("Paging", {"s": 2}),
    *((name, {"alpha": a}) for name in RULED if "SBT" in name for a in (0.0, 4.0, 7.5, np.inf)),
    *((name, {"ratio": r}) for name in RULED if "DBT" in name for r in (0.0, 0.0625, 0.5, 1.0)),
    *((name, {"anchor": "last"}) for name in RULED if name.startswith("d-")),
    *((name, {"fit": fit}) for name in ("hilbert", "snake") for fit in ("bf", "ss")),
]
IDS = [name + "".join(f"-{key}{value}" for key, value in params.items()) for name, params in CASES]
SIDES = list(itertools.product(range(1, 5), repeat=2))
BEYOND = [
    (8, 8),
    (32, 8),
    (8, 32),
    (1, 16),
    (16, 1),
    (3, 5),
    (5, 3),
    (1, 7),
    (7, 1),
    (9, 4),
    (6, 6),
]
POWERS = (1, 2, 4, 8, 16, 32)


def accepts(name, params, sides):
    page = 2 ** params.get("s", 0)
    return (name not in TREES or set(sides) <= set(POWERS)) and all(x % page == 0 for x in sides)


def compare(name, params, sides, free, sizes):
    """Ask the strategy in each of the states `free` (states, nodes) for each of the sizes."""
    strategy, mesh = GRID[name](**params), Occupancy(Mesh(*sides))
    got = np.zeros((len(sizes), *free.shape), dtype=bool)
    refused = np.zeros((len(sizes), len(free)), dtype=bool)
    for i, state in enumerate(free):
        if not state.all():
            mesh.occupy("others", np.flatnonzero(~state))
        for k, size in enumerate(sizes):
            nodes = strategy.choose(mesh, size)
            if nodes is None:
                refused[k, i] = True
            else:
                got[k, i, nodes] = True
        if mesh.jobs:
            mesh.release("others")
    for k, size in enumerate(sizes):
        taken, served = states.answers(name, free, *sides, size, **params)
        wrong = (taken != got[k]).any(axis=1) | (served == refused[k])
        assert not wrong.any(), (
            f"{size} of {sides}, free {np.flatnonzero(free[wrong][0]).tolist()}: "
            f"{np.flatnonzero(got[k][wrong][0])}, not {np.flatnonzero(taken[wrong][0])}"
        )


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize(("name", "params"), CASES, ids=IDS)
def test_small_states_all_and_larger_ones_sampled_are_answered_as_the_rules_say(name, params):
    rng = np.random.default_rng(17)
    for sides in SIDES:
        nodes = sides[0] * sides[1]
        if accepts(name, params, sides):
            count = examples(40)
            some = rng.random((count, nodes)) < rng.random((count, 1))
            free = states.every_state(nodes) if nodes <= 6 else some
            compare(name, params, sides, free, range(1, nodes + 2))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "params"), CASES, ids=IDS)
def test_every_state_and_every_size_up_to_4_by_4_is_answered_as_the_rules_say(name, params):
    for sides in SIDES:
        if accepts(name, params, sides):
            nodes = sides[0] * sides[1]
            compare(name, params, sides, states.every_state(nodes), range(1, nodes + 2))


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize(("name", "params"), CASES, ids=IDS)
def test_meshes_with_odd_long_and_narrow_sides_are_answered_as_the_rules_say(name, params):
    rng = np.random.default_rng(18)
    for sides in BEYOND:
        if accepts(name, params, sides):
            nodes = sides[0] * sides[1]
            count = examples(8, least=2 if nodes > 200 else 5)
            free = rng.random((count, nodes)) < rng.uniform(0.2, 1.0, (count, 1))
            free[0] = True
            several = {1, 2, nodes, *rng.integers(1, nodes, 2).tolist()}
            compare(name, params, sides, free, [5, 19] if nodes > 200 else sorted(several))


def compare_shape(sides, free, shape):
    strategy, mesh, request = GRID["MC"](), Occupancy(Mesh(*sides)), Request.of_shape(*shape)
    taken, served = states.mc(free, *sides, request.size, shape)
    for state, expected, fits in zip(free, taken, served, strict=True):
        if not state.all():
            mesh.occupy("others", np.flatnonzero(~state))
        nodes = strategy.choose(mesh, request)
        assert (nodes is not None) == fits
        assert nodes is None or nodes.tolist() == np.flatnonzero(expected).tolist(), (shape, state)
        if mesh.jobs:
            mesh.release("others")


SHAPES = [(h, w) for h in range(1, 17) for w in range(1, 17) if h * w <= 16]


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("sides", [(4, 4), (3, 4), (4, 1), (5, 3)])
def test_shapes_asked_of_mc_upright_lying_and_larger_than_the_mesh_are_laid_as_the_rules_say(sides):
    rng = np.random.default_rng(19)
    for shape in SHAPES:
        free = rng.random((12, sides[0] * sides[1])) < rng.uniform(0.3, 1.1, (12, 1))
        compare_shape(sides, free, shape)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_asked_of_mc_is_laid_as_the_rules_say_in_every_state_of_4_by_4(shape):
    compare_shape((4, 4), states.every_state(16), shape)


def test_random_is_the_draw_of_its_generator_in_every_state():
    for sides in ((2, 3), (3, 2), (1, 5)):
        for state in states.every_state(sides[0] * sides[1])[1:]:
            mesh, idle = Occupancy(Mesh(*sides)), np.flatnonzero(state)
            if not state.all():
                mesh.occupy("others", np.flatnonzero(~state))
            for size in range(1, idle.size + 1):
                nodes = Random(rng=np.random.default_rng(size)).choose(mesh, size)
                drawn = np.random.default_rng(size).choice(idle, size, replace=False)
                assert nodes.tolist() == sorted(drawn.tolist())


def compare_metrics(sides, free):
    """Every measure of what is free, or of how the busy nodes lie, against its definition."""
    rows, columns = sides
    heap = states.bisection(rows, columns) if set(sides) <= set(POWERS) else None
    row = np.arange(rows * columns) // columns
    above, below = ~free[:, 2 * row < rows - 1], ~free[:, 2 * row > rows - 1]
    imbalance = np.abs(above.sum(axis=1) - below.sum(axis=1))
    squares = states.maximal_squares(free, rows, columns).sum(axis=1)
    counts = None if heap is None else states.counted(free, heap)
    for i, state in enumerate(free):
        mesh, busy = Occupancy(Mesh(*sides)), np.flatnonzero(~state)
        if busy.size:
            mesh.occupy("job", busy)
            assert job_balance(mesh, busy) == imbalance[i]
        assert system_balance(mesh) == imbalance[i]
        assert free_squares(mesh) == squares[i]
        if counts is not None:
            of_trees(mesh, heap, counts[i])
    if max(sides) % min(sides) == 0 and min(sides) in POWERS:
        for count in range(rows * columns + 1):
            some = np.flatnonzero(free.sum(axis=1) == count)
            if some.size:
                mesh = Occupancy(Mesh(*sides))
                if count < rows * columns:
                    mesh.occupy("job", np.flatnonzero(~free[some[0]]))
                assert least_free_squares(mesh) <= squares[some].min()
                if len(free) == 2 ** (rows * columns):
                    assert least_free_squares(mesh) == squares[some].min()
                assert is_compact(mesh) == (squares[some[0]] == least_free_squares(mesh))


def of_trees(mesh, heap, counts):
    whole = [p for p in range(1, len(heap)) if counts[p] == heap[p].size]
    alone = [p for p in whole if p // 2 not in whole]
    assert free_tree_blocks(mesh).tolist() == sorted(heap[p].size for p in alone)
    partly = {p for p in range(1, len(heap)) if 0 < counts[p] < heap[p].size}
    compact = not any(p ^ 1 in partly for p in partly)
    assert is_spatially_compact(mesh) == compact
    sizes = [heap[p].size for p in alone]
    nested = len(set(sizes)) == len(sizes) and all(
        set(heap[q].flat) <= set(heap[p // 2].flat)
        for p, q in itertools.permutations(alone, 2)
        if heap[p].size > heap[q].size
    )
    assert has_nested_free_blocks(mesh) == nested == compact


@pytest.mark.parametrize("sides", [*SIDES, (3, 5), (8, 8), (5, 12), (1, 16)])
def test_metrics_are_their_definitions(sides):
    nodes, rng = sides[0] * sides[1], np.random.default_rng(20)
    some = rng.random((60, nodes)) < rng.random((60, 1))
    compare_metrics(sides, states.every_state(nodes) if nodes <= 6 else some)


@pytest.mark.slow
@pytest.mark.parametrize("sides", SIDES)
def test_metrics_are_their_definitions_in_every_state_up_to_4_by_4(sides):
    compare_metrics(sides, states.every_state(sides[0] * sides[1]))
