import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qmodels.errors import MemoryBudgetError, ModelError
from validation.mesh import Mesh, Occupancy, route

MESHES = [
    Mesh(4, 5),
    Mesh(3, 4, 2),
    Mesh(1, 6),
    Mesh(4, 4, io_side="west"),
    Mesh(4, 5, io_side="east", io_places=[1, 3]),
    Mesh(3, 4, io_side="north"),
    Mesh(3, 4, 2, io_side="south", io_places=[0, 5]),
    Mesh(2, 3, 4, io_side="front"),
    Mesh(2, 3, 4, io_side="back"),
]
TORI = [Mesh(4, 5, torus=True), Mesh(3, 4, 2, torus=True), Mesh(1, 6, torus=True)]
NAMES = [f"{m.rows}x{m.columns}x{m.depth} {m.io_side or ''}{m.torus or ''}" for m in MESHES + TORI]


@pytest.mark.parametrize("mesh", MESHES + TORI, ids=NAMES)
def test_every_route_is_a_connected_shortest_path_in_the_graph(mesh):
    graph = mesh.to_networkx()
    ends = {key: (a, b) for a, b, key in graph.edges(keys=True)}
    lengths = dict(nx.all_pairs_shortest_path_length(graph))
    for source, target in itertools.product(range(mesh.routers_of.size), repeat=2):
        path = route(mesh, source, target).tolist()
        assert path[0] == mesh.routers_of[source]
        assert path[-1] == mesh.routers + mesh.routers_of[target]
        here = source
        for channel in path[1:-1]:
            begin, here_next = ends[channel]
            assert begin == here
            here = here_next
        assert here == target
        assert len(path) - 2 == lengths[source][target]


@pytest.mark.parametrize("mesh", MESHES + TORI, ids=NAMES)
def test_no_cycle_of_channels_can_wait_for_each_other(mesh):
    assert nx.is_directed_acyclic_graph(_dependencies(mesh))


def test_a_torus_with_one_virtual_channel_has_such_a_cycle():
    mesh = Mesh(4, 5, torus=True, virtual_channels=1)
    assert not nx.is_directed_acyclic_graph(_dependencies(mesh))


def _dependencies(mesh):
    graph = nx.DiGraph()
    for source, target in itertools.product(range(mesh.routers_of.size), repeat=2):
        path = route(mesh, source, target).tolist()
        graph.add_edges_from(itertools.pairwise(path))
    return graph


def test_rows_come_before_columns_and_columns_before_layers():
    mesh = Mesh(3, 4, 2)
    names = [mesh.channel_name(c) for c in route(mesh, 0, 23).tolist()[1:-1]]
    assert names[0] == "link (0, 0, 0) -> (1, 0, 0)"
    assert names[3] == "link (3, 0, 0) -> (3, 1, 0)"
    assert names[5] == "link (3, 2, 0) -> (3, 2, 1)"


def test_a_write_goes_along_its_row_and_then_along_the_io_column_a_read_along_its_own_row():
    mesh = Mesh(4, 4, io_side="west")
    write = [mesh.channel_name(c) for c in route(mesh, 2, 19).tolist()]
    assert write[1:-1] == [
        "link (0, 2) -> (0, 1)",
        "link (0, 1) -> (0, 0)",
        "link (0, 0) -> I/O (0, -1)",
        "link I/O (0, -1) -> I/O (1, -1)",
        "link I/O (1, -1) -> I/O (2, -1)",
        "link I/O (2, -1) -> I/O (3, -1)",
    ]
    read = [mesh.channel_name(c) for c in route(mesh, 19, 2).tolist()]
    assert read[1] == "link I/O (3, -1) -> (3, 0)"
    assert read[-2] == "link (1, 2) -> (0, 2)"


def test_numbers_follow_the_rows_and_busy_has_the_same_order():
    mesh = Occupancy(Mesh(2, 3, 2))
    mesh.occupy("a", [1 + 3 * (1 + 2 * 1)])
    assert mesh.busy[1, 1, 1]
    assert mesh.busy.sum() == 1
    assert mesh.coordinates([10, 0]).tolist() == [[1, 1, 1], [0, 0, 0]]


def test_both_halves_of_a_ring_carry_the_same_when_everybody_goes_half_way_round():
    mesh = Mesh(1, 8, torus=True)
    ups = [route(mesh, k, (k + 4) % 8)[1] % 4 < 2 for k in range(8)]
    assert sum(ups) == 4


@pytest.mark.thorough
@given(rows=st.integers(1, 6), columns=st.integers(1, 6), data=st.data())
def test_what_jobs_hold_is_busy_and_nothing_else(rows, columns, data):
    mesh = Occupancy(Mesh(rows, columns))
    held = {}
    for job in range(6):
        free = np.flatnonzero(~mesh.busy.ravel())
        if free.size and data.draw(st.booleans()):
            nodes = data.draw(st.lists(st.sampled_from(free.tolist()), min_size=1, unique=True))
            mesh.occupy(job, nodes)
            held[job] = set(nodes)
        elif held:
            job = data.draw(st.sampled_from(sorted(held)))
            assert set(mesh.release(job).tolist()) == held.pop(job)
        assert set(np.flatnonzero(mesh.busy)) == set().union(*held.values())
        assert mesh.free == mesh.nodes - sum(map(len, held.values()))
        assert list(mesh.jobs) == list(held)


def test_a_job_that_cannot_have_its_nodes_changes_nothing():
    mesh = Occupancy(Mesh(2, 2))
    mesh.occupy("a", [0, 1])
    for job, nodes in (
        ("a", [2]),
        ("b", [1, 2]),
        ("b", []),
        ("b", [2, 2]),
        ("b", [4]),
        ("b", [-1]),
    ):
        with pytest.raises(ModelError):
            mesh.occupy(job, nodes)
    with pytest.raises(ModelError, match="holds no nodes"):
        mesh.release("b")
    assert mesh.busy.tolist() == [[True, True], [False, False]]
    assert list(mesh.jobs) == ["a"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"rows": 0, "columns": 2}, "rows"),
        ({"rows": True, "columns": 2}, "rows"),
        ({"rows": 2, "columns": 2.0}, "columns"),
        ({"rows": 2, "columns": None}, "columns"),
        ({"rows": 2, "columns": 2, "torus": 1}, "torus"),
        ({"rows": 2, "columns": 2, "io_side": "up"}, "io_side"),
        ({"rows": 2, "columns": 2, "io_side": "front"}, "3-D"),
        ({"rows": 2, "columns": 2, "io_side": "west", "torus": True}, "no side"),
        ({"rows": 2, "columns": 2, "io_side": "west", "io_places": [2]}, "io_places"),
        ({"rows": 2, "columns": 2, "io_side": "west", "io_places": 1}, "io_places"),
        ({"rows": 2, "columns": 2, "io_places": [0]}, "io_side"),
        ({"rows": 2, "columns": 2, "virtual_channels": 2}, "virtual_channels"),
        ({"rows": 2, "columns": 2, "torus": True, "virtual_channels": 3}, "virtual_channels"),
    ],
)
def test_what_is_no_mesh_is_refused(arguments, words):
    with pytest.raises(ModelError, match=words):
        Mesh(**arguments)


def test_a_mesh_beyond_memory_is_refused_before_it_is_built():
    with pytest.raises(MemoryBudgetError):
        Mesh(10**6, 10**6)
