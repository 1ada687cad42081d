import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.families import GRID
from tests.naive import allocation as naive
from validation.allocation import Random, Request
from validation.allocation.metrics import (
    free_squares,
    free_tree_blocks,
    has_nested_free_blocks,
    is_spatially_compact,
    least_free_squares,
)
from validation.mesh import Mesh, Occupancy

TREES = [name for name in GRID if name.endswith("BT")]
CASES = [
    *((name, {}) for name in GRID if name != "Random"),
    ("Paging", {"s": 1}),
    *((name, {"alpha": alpha}) for name in TREES if "SBT" in name for alpha in (0.0, 4.0, np.inf)),
    *((name, {"ratio": ratio}) for name in TREES if "DBT" in name for ratio in (0.0625, 0.5)),
    *((name, {"anchor": "last"}) for name in TREES if name.startswith("d-")),
    *((name, {"fit": fit}) for name in ("hilbert", "snake") for fit in ("bf", "ss")),
]
IDS = [name + "".join(f"-{key}{value}" for key, value in params.items()) for name, params in CASES]


def mesh_with(busy):
    """Return a mesh whose nodes are busy where `busy` (rows, columns) says so."""
    mesh = Occupancy(Mesh(*busy.shape))
    if busy.any():
        mesh.occupy("others", np.flatnonzero(busy))
    return mesh


def free_cells(busy):
    return {(int(r), int(c)) for r, c in np.argwhere(~busy)}


def same_answer(name, params, busy, size):
    nodes = GRID[name](**params).choose(mesh_with(busy), size)
    expected = naive.choose(name, free_cells(busy), *busy.shape, size, **params)
    got = None if nodes is None else nodes.tolist()
    assert got == expected, f"{size} nodes, busy {np.flatnonzero(busy).tolist()}"


def every_state(rows, columns):
    for bits in itertools.product((False, True), repeat=rows * columns):
        yield np.array(bits).reshape(rows, columns)


def sides_for(name, params):
    """Small meshes that the strategy accepts."""
    if name in TREES:
        return [(1, 1), (1, 4), (2, 2), (2, 4), (4, 2)]
    return [(2, 2), (2, 4), (4, 2)] if params.get("s") else [(1, 3), (2, 3), (3, 2), (3, 3), (4, 2)]


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize(("name", "params"), CASES, ids=IDS)
def test_every_state_of_a_tiny_mesh_is_answered_as_by_brute_force(name, params):
    for rows, columns in sides_for(name, params):
        step = 1 if rows * columns < 8 else 11  # a share of 256 or 512 states; all of them below
        for busy in itertools.islice(every_state(rows, columns), 0, None, step):
            for size in range(1, rows * columns - int(busy.sum()) + 1):
                same_answer(name, params, busy, size)


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize(("name", "params"), CASES, ids=IDS)
def test_random_states_of_larger_meshes_are_answered_as_by_brute_force(name, params):
    rng = np.random.default_rng(8)
    power = name in TREES or "s" in params
    sides = [(4, 4), (8, 8), (8, 4), (4, 16)] if power else [(4, 4), (5, 7), (7, 9), (6, 4), (4, 11)]
    for k in range(12):
        rows, columns = sides[k % len(sides)]
        busy = rng.random((rows, columns)) < rng.uniform(0.0, 0.9)
        free = busy.size - int(busy.sum())
        if free:
            same_answer(name, params, busy, int(rng.integers(1, free + 1)))


@given(
    rows=st.integers(1, 6),
    columns=st.integers(1, 6),
    seed=st.integers(0, 10**6),
    sides=st.tuples(st.integers(1, 3), st.integers(1, 3)),
)
def test_mc_keeps_a_shape_that_is_asked_for(rows, columns, seed, sides):
    busy = np.random.default_rng(seed).random((rows, columns)) < 0.4
    request = Request.of_shape(*sides)
    nodes = GRID["MC"]().choose(mesh_with(busy), request)
    expected = naive.choose("MC", free_cells(busy), rows, columns, request.size, shape=sides)
    assert (None if nodes is None else nodes.tolist()) == expected


def test_random_draws_from_the_free_nodes_in_row_major_order():
    busy = np.random.default_rng(5).random((6, 7)) < 0.5
    nodes = Random(rng=np.random.default_rng(11)).choose(mesh_with(busy), 9)
    drawn = np.random.default_rng(11).choice(np.flatnonzero(~busy), 9, replace=False)
    assert nodes.tolist() == sorted(drawn.tolist())


def test_random_takes_every_free_node_equally_often():
    strategy, mesh = Random(rng=np.random.default_rng(3)), Occupancy(Mesh(4, 4))
    mesh.occupy("others", [0, 5])
    draws = 4000
    counts = np.bincount(np.concatenate([strategy.choose(mesh, 7) for _ in range(draws)]), minlength=16)
    assert counts[[0, 5]].tolist() == [0, 0]
    rest = np.delete(counts, [0, 5])
    assert np.abs(rest - draws / 2).max() < 5 * (draws / 4) ** 0.5


@pytest.mark.parametrize("sides", [(2, 4), (4, 2), (3, 3), (1, 5)])
def test_free_squares_are_counted_as_by_brute_force(sides):
    for busy in every_state(*sides):
        expected = len(naive.free_squares(free_cells(busy), *sides))
        assert free_squares(mesh_with(busy)) == expected


@pytest.mark.thorough
@pytest.mark.parametrize("sides", [(2, 2), (2, 4), (4, 2), (2, 6)])
def test_the_least_number_of_free_squares_is_the_least_over_all_states(sides):
    least = {}
    for busy in every_state(*sides):
        mesh = mesh_with(busy)
        least[mesh.free] = min(least.get(mesh.free, 99), free_squares(mesh))
        assert least_free_squares(mesh) <= free_squares(mesh)
    for free, fewest in least.items():
        mesh = Occupancy(Mesh(*sides))
        if free < mesh.nodes:
            mesh.occupy("others", range(mesh.nodes - free))
        assert least_free_squares(mesh) == fewest


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("sides", [(1, 1), (2, 2), (2, 4), (4, 2)])
def test_spatial_compactness_is_the_definition_and_lemma_1_in_every_state(sides):
    for busy in every_state(*sides):
        free, mesh = free_cells(busy), mesh_with(busy)
        blocks = naive.free_tree_blocks(free, *sides)
        assert free_tree_blocks(mesh).tolist() == sorted(naive.Tree.size(b) for b in blocks)
        assert is_spatially_compact(mesh) == naive.spatially_compact(free, *sides)
        assert has_nested_free_blocks(mesh) == naive.lemma_1(free, *sides)
        assert is_spatially_compact(mesh) == has_nested_free_blocks(mesh)
