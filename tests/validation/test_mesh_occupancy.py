"""A mesh is a place, an occupancy says who is there and answers for the place, too."""

import copy
import pickle

import numpy as np
import pytest

from qmodels.errors import ModelError
from validation import Machine, Mesh, Occupancy
from validation.allocation import (
    MC,
    AbstractStrategy,
    check_strategy,
    dispersal,
    job_balance,
    nodes_affected,
    pairwise_distance,
    system_balance,
)
from validation.jobs import JobStream
from validation.machine import play
from validation.mesh import route

PLACES = [
    Mesh(3, 5),
    Mesh(3, 5, 2),
    Mesh(4, 4, torus=True),
    Mesh(4, 4, torus=True, virtual_channels=1),
    Mesh(4, 6, io_side="north"),
    Mesh(4, 6, io_side="north", io_places=[1, 4]),
]


def described_again(mesh):
    names = ("rows", "columns", "depth", "torus", "io_side", "io_places", "virtual_channels")
    return Mesh(**{name: getattr(mesh, name) for name in names})


class TestThePlace:
    def test_meshes_described_alike_are_equal_and_any_difference_tells_them_apart(self):
        assert [described_again(mesh) for mesh in PLACES] == PLACES
        assert [hash(described_again(mesh)) for mesh in PLACES] == [hash(mesh) for mesh in PLACES]
        assert len(set(PLACES)) == len(PLACES)

    def test_all_io_places_listed_are_the_same_place_as_none_listed(self):
        assert Mesh(4, 6, io_side="west", io_places=[3, 0, 1, 2]) == Mesh(4, 6, io_side="west")

    @pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
    @pytest.mark.parametrize("mesh", PLACES, ids=repr)
    def test_copies_and_pickles_are_the_same_place_and_still_read_only(self, mesh, again):
        other = again(mesh)
        assert other == mesh
        assert other.link_ends()[0].tolist() == mesh.link_ends()[0].tolist()
        assert not other.routers_of.flags.writeable
        assert not other.router_coordinates.flags.writeable

    def test_nothing_of_it_can_be_changed(self):
        mesh = Mesh(4, 4, io_side="west")
        with pytest.raises(AttributeError):
            mesh.rows = 5
        with pytest.raises(ValueError, match="read-only"):
            mesh.io_nodes[0] = 0

    @pytest.mark.parametrize("name", ["busy", "free", "jobs", "occupy", "release"])
    def test_whoever_asks_a_mesh_who_is_there_is_sent_to_an_occupancy(self, name):
        with pytest.raises(AttributeError, match=r"make `Occupancy\(mesh\)`.*" + name):
            getattr(Mesh(2, 2), name)
        assert not hasattr(Mesh(2, 2), name)

    def test_a_misspelled_attribute_is_an_ordinary_attribute_error(self):
        with pytest.raises(AttributeError, match="no attribute 'row'"):
            Mesh(2, 2).row  # noqa: B018


class TestWhoIsThere:
    def test_two_occupancies_of_one_mesh_know_nothing_of_each_other(self):
        mesh = Mesh(2, 3)
        one, other = Occupancy(mesh), Occupancy(mesh)
        one.occupy("a", [0, 5])
        assert (one.free, other.free) == (4, 6)
        assert one.busy.tolist() == [[True, False, False], [False, False, True]]
        assert not other.busy.any()
        assert one.mesh is other.mesh is mesh

    def test_it_answers_for_the_place_as_well(self):
        mesh = Mesh(4, 6, io_side="north", io_places=[1, 4])
        held = Occupancy(mesh)
        for name in (
            "rows",
            "columns",
            "depth",
            "nodes",
            "io_side",
            "io_places",
            "torus",
            "channels",
        ):
            assert getattr(held, name) == getattr(mesh, name)
        assert held.coordinates([7]).tolist() == mesh.coordinates([7]).tolist()
        assert held.rectangle(1, 1, 2, 2).tolist() == [7, 8, 13, 14]
        with pytest.raises(AttributeError, match="Mesh has no attribute 'row'"):
            held.row  # noqa: B018

    @pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o))])
    def test_a_copy_goes_its_own_way(self, again):
        held = Occupancy(Mesh(2, 3))
        held.occupy("a", [1, 2])
        held.occupy("b", [4])
        other = again(held)
        assert list(other.jobs) == ["a", "b"]
        assert other.release("a").tolist() == [1, 2]
        assert (held.free, other.free) == (3, 5)
        assert held.busy.tolist() == [[False, True, True], [False, True, False]]

    def test_what_it_shows_cannot_be_written(self):
        held = Occupancy(Mesh(2, 2))
        with pytest.raises(ValueError, match="read-only"):
            held.busy[0, 0] = True
        with pytest.raises(TypeError):
            held.jobs["a"] = [0]

    def test_it_is_of_a_mesh_and_of_nothing_else(self):
        for wrong in (None, 4, Occupancy(Mesh(2, 2))):
            with pytest.raises(ModelError, match="mesh must be a Mesh"):
                Occupancy(wrong)

    def test_measures_of_a_layout_take_the_place_or_the_occupancy(self):
        mesh, nodes = Mesh(4, 6, io_side="north"), [0, 3, 8]
        held = Occupancy(mesh)
        held.occupy("job", nodes)
        for measure in (nodes_affected, dispersal, pairwise_distance, job_balance):
            assert measure(held, nodes) == measure(mesh, nodes)
        assert system_balance(held) == job_balance(mesh, nodes) > 0
        assert system_balance(mesh) == 0


class NearTheLast(AbstractStrategy):
    """A strategy as users write them, which reads all that an occupancy can be asked."""

    name = "near the last"

    def choose(self, mesh, request):
        assert mesh.busy.shape == ((mesh.depth,) if mesh.depth > 1 else ()) + (
            mesh.rows,
            mesh.columns,
        )
        assert mesh.free == mesh.nodes - sum(nodes.size for nodes in mesh.jobs.values())
        if request.size > mesh.free:
            return None
        free = np.flatnonzero(~mesh.busy.ravel())
        # The nodes nearest to those of the job that came last, or to the first node.
        last = list(mesh.jobs.values())[-1] if mesh.jobs else [0]
        near = np.abs(mesh.coordinates(free) - mesh.coordinates(last)[0]).sum(axis=1)
        return np.sort(free[np.argsort(near, kind="stable")[: request.size]])


class TestStrategiesThatAskTheOccupancyForThePlace:
    @pytest.mark.thorough
    def test_they_keep_the_contract(self):
        assert check_strategy(NearTheLast, operations=100).failures == {}

    def test_they_run_on_a_machine(self):
        jobs = JobStream(arrivals=[0.0, 1.0, 2.0], sizes=[10, 6, 16], demands=[5.0, 5.0, 5.0])
        run = play(Machine(mesh=Mesh(4, 4), strategy=NearTheLast(), network="none"), jobs)
        assert run.start.tolist() == [0.0, 1.0, 6.0]
        assert sorted(np.concatenate(run.nodes[:2]).tolist()) == list(range(16))


class TestWords:
    def test_a_machine_has_its_strategy_and_its_discipline_and_not_their_names(self):
        machine = Machine(mesh=Mesh(4, 4), strategy="mc", discipline="easy", network="none")
        assert type(machine.strategy) is MC
        assert machine.discipline.needs == "estimate"
        assert machine.label == "MC, EASY, none"

    def test_a_route_is_one_of_the_place(self):
        mesh = Mesh(4, 4)
        assert route(mesh, 0, 3).tolist() == route(described_again(mesh), 0, 3).tolist()
