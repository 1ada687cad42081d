from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from qmodels.errors import ModelError
from tests.examples import examples
from tests.families import GRID, PLANE
from validation.allocation import (
    DBT,
    MC,
    SBT,
    STRATEGIES,
    DependentBT,
    Hilbert,
    Paging,
    PlaneStrategy,
    Random,
    Request,
    check_strategy,
    load_strategy,
    register,
)
from validation.mesh import Mesh, Occupancy

EVERY = pytest.mark.parametrize("name", STRATEGIES)
POWERS = [(1, 1), (1, 8), (2, 2), (4, 4), (4, 8), (8, 4), (8, 8)]


@st.composite
def states(draw):
    """A mesh whose sides are powers of two, some of its nodes busy."""
    sides = draw(st.sampled_from(POWERS))
    return mesh_with(draw(arrays(bool, sides)))


def mesh_with(busy, **options):
    mesh = Occupancy(Mesh(*busy.shape, **options))
    if busy.any():
        mesh.occupy("others", np.flatnonzero(busy))
    return mesh


@pytest.mark.thorough(first=1)
@EVERY
@settings(max_examples=examples(40))
@given(mesh=states(), size=st.integers(1, 80))
def test_gives_different_free_nodes_exactly_as_many_as_asked(name, mesh, size):
    nodes = STRATEGIES[name]().choose(mesh, size)
    if nodes is not None:
        assert nodes.dtype == np.int64
        assert (np.diff(nodes) > 0).all()
        assert nodes.size == size
        assert not mesh.busy.flat[nodes].any()


@pytest.mark.thorough(first=1)
@EVERY
@settings(max_examples=examples(30))
@given(mesh=states(), size=st.integers(1, 80))
def test_exact_strategies_refuse_only_what_does_not_fit(name, mesh, size):
    strategy = STRATEGIES[name]()
    refused = strategy.choose(mesh, size) is None
    assert refused >= (size > mesh.free)
    if strategy.kind == "exact":
        assert refused == (size > mesh.free)


@pytest.mark.thorough(first=1)
@EVERY
@settings(max_examples=examples(20))
@given(mesh=states(), size=st.integers(1, 80))
def test_leaves_the_mesh_as_it_was_and_answers_the_same_again(name, mesh, size):
    busy, jobs = mesh.busy.copy(), list(mesh.jobs)
    first = STRATEGIES[name]().choose(mesh, Request(size))
    assert np.array_equal(mesh.busy, busy)
    assert list(mesh.jobs) == jobs
    again = STRATEGIES[name]().choose(mesh, Request(size))
    assert (first is None and again is None) or np.array_equal(first, again)


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize(
    "strategy",
    [
        *STRATEGIES.values(),
        partial(Paging, s=1),
        partial(SBT, alpha=np.inf),
        partial(DBT, ratio=0.0625),
        partial(DependentBT, anchor="last"),
        partial(Hilbert, fit="ss"),
    ],
    ids=lambda made: getattr(made, "name", str(made)),
)
def test_every_registered_strategy_keeps_the_contract(strategy):
    check = check_strategy(strategy, operations=60)
    assert check.passed, check.table()
    assert check.refused < check.requests
    assert check.to_frame().kept.all()


@EVERY
def test_the_order_of_releases_leaves_no_trace(name):
    rng = np.random.default_rng(6)
    answers = []
    for _ in range(4):
        mesh, filler = Occupancy(Mesh(8, 8)), STRATEGIES["MBS"]()
        for job in range(12):
            mesh.occupy(job, filler.choose(mesh, 1 + job % 7))
        for job in rng.permutation([0, 3, 4, 7, 10]).tolist():
            mesh.release(job)
        answers.append(STRATEGIES[name]().choose(mesh, 9).tolist())
    assert all(answer == answers[0] for answer in answers)


@pytest.mark.parametrize("name", GRID)
@pytest.mark.parametrize("side", ["east", "north", "south"])
def test_turning_the_mesh_turns_the_layout(name, side):
    turn = {"east": np.fliplr, "north": np.transpose, "south": lambda grid: np.flipud(grid.T)}
    rng = np.random.default_rng(12)
    for sides in ((8, 8), (4, 16)):
        busy = rng.random(sides) < 0.4
        numbers = turn[side](np.arange(busy.size).reshape(sides)).copy()
        west = mesh_with(busy, io_side="west")
        other = mesh_with(turn[side](busy).copy(), io_side=side)
        for size in (1, 5, 13):
            nodes = STRATEGIES[name]().choose(west, size)
            turned = STRATEGIES[name]().choose(other, size)
            assert (nodes is None) == (turned is None)
            if nodes is not None:
                assert np.array_equal(np.sort(numbers.flat[turned]), nodes)


BAD_NUMBERS = [0, -1, 2.0, np.nan, np.inf, None, True, "3", [4]]


@pytest.mark.parametrize("size", BAD_NUMBERS)
def test_a_request_is_a_whole_number_of_nodes(size):
    with pytest.raises(ModelError, match="size must be"):
        Request(size)
    with pytest.raises(ModelError, match="shape must be"):
        Request.of_shape(2, size)
    with pytest.raises(ModelError, match="size must be"):
        MC().choose(Mesh(4, 4), size)


def test_a_shape_has_as_many_nodes_as_the_request():
    with pytest.raises(ModelError, match=r"2 x 3 has 6 nodes, the request 7"):
        Request(7, (2, 3))
    with pytest.raises(ModelError, match="2 or 3 sides"):
        Request(4, (4,))
    with pytest.raises(ModelError, match="MC needs a shape of 2 sides"):
        MC().choose(Mesh(4, 4), Request.of_shape(1, 2, 2))


@EVERY
def test_an_impossible_request_is_refused(name):
    assert STRATEGIES[name]().choose(Mesh(4, 4), 17) is None
    assert STRATEGIES[name]().choose(Mesh(4, 4), 10**30) is None


@pytest.mark.parametrize("name", PLANE)
def test_a_mesh_with_layers_is_an_error_that_says_so(name):
    with pytest.raises(ModelError, match="works on 2-D meshes"):
        STRATEGIES[name]().choose(Mesh(4, 4, 2), 3)


@pytest.mark.parametrize("name", [name for name in STRATEGIES if name.endswith("BT")])
def test_trees_refuse_sides_that_are_no_powers_of_two(name):
    with pytest.raises(ModelError, match="powers of two, got 16 x 22"):
        STRATEGIES[name]().choose(Mesh(16, 22), 1000)


def test_pages_must_tile_the_mesh():
    with pytest.raises(ModelError, match=r"2 x 2 do not tile a mesh of 5 x 8"):
        Paging(s=1).choose(Mesh(5, 8), 1)
    assert Paging(s=1).kind == "pages"
    assert Paging().kind == "exact"


@pytest.mark.parametrize("wrong", [-1, np.nan, None, "4", -np.inf])
def test_parameters_are_checked(wrong):
    for make in (partial(SBT, alpha=wrong), partial(DBT, ratio=wrong), partial(Paging, s=wrong)):
        with pytest.raises(ModelError):
            make()
    for make in (partial(Hilbert, fit=wrong), partial(DependentBT, anchor=wrong)):
        with pytest.raises(ModelError, match="must be"):
            make()
    with pytest.raises(ModelError, match="rng must be"):
        Random(rng=3)
    with pytest.raises(ModelError, match="ratio"):
        DBT(ratio=np.inf)


def test_a_strategy_is_loaded_by_name_or_by_module_and_class():
    assert load_strategy("d-BT") is DependentBT
    assert load_strategy("validation.allocation.mc:MC") is MC


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dbt2", "did you mean 'DBT'"),
        ("", "no strategy"),
        ("no_such:A", "cannot be loaded"),
        ("math:pi", "no subclass"),
        ("json:Nothing", "cannot be loaded"),
        (":", "cannot be loaded"),
        ("validation.allocation:PlaneStrategy", "lacks places"),
        (3, "named by text"),
        ("..:A", "cannot be loaded"),
        ("a b\x1b:C", "cannot be loaded"),
    ],
)
def test_a_strategy_that_cannot_be_loaded_is_an_error_that_says_why(text, message):
    with pytest.raises(ModelError, match=message):
        load_strategy(text)


def test_a_name_is_registered_once():
    class Other(PlaneStrategy):
        name = "MC"

        def places(self, free, request):
            return None

    with pytest.raises(ModelError, match="'MC' already"):
        register(Other)
    Other.__qualname__ = "MC"  # as at the top of a user's module
    with pytest.raises(ModelError, match="'MC' already"):
        register(Other)
    assert STRATEGIES["MC"] is MC
    assert register(MC) is MC
