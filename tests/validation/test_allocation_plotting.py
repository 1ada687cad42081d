import numpy as np
import pytest

from qmodels.errors import ModelError
from validation.allocation import MBS, PLAS, STRATEGIES, PlaneStrategy
from validation.allocation.plotting import HISTORY, gallery, job_map, replay
from validation.mesh import Mesh, Occupancy


def test_every_node_has_the_colour_of_its_job_and_free_ones_are_white():
    mesh = Occupancy(Mesh(4, 5))
    mesh.occupy("a", [0, 1])
    mesh.occupy("b", [7])
    [image] = job_map(mesh).get_images()
    colours = np.asarray(image.get_array()).reshape(20, 3)
    assert np.array_equal(colours[0], colours[1])
    assert not np.array_equal(colours[0], colours[7])
    assert (np.delete(colours, [0, 1, 7], axis=0) == 1.0).all()


@pytest.mark.parametrize("side", ["west", "east", "north", "south"])
def test_the_io_nodes_stand_beside_the_mesh_on_their_side(side):
    ax = job_map(Mesh(4, 6, io_side=side))
    x, y = ax.get_lines()[0].get_data()
    assert len(x) == (4 if side in ("west", "east") else 6)
    outside = {"west": x == -1, "east": x == 6, "north": y == -1, "south": y == 4}
    assert outside[side].all()


def test_the_job_that_came_last_is_framed():
    mesh = Occupancy(Mesh(4, 4))
    mesh.occupy("a", [0, 1, 2])
    mesh.occupy("b", [8, 9])
    corners = {patch.get_xy() for patch in job_map(mesh).patches}
    assert corners == {(-0.5, 1.5), (0.5, 1.5)}


def test_a_layer_is_one_of_the_mesh():
    assert job_map(Mesh(2, 2, 2), layer=1).get_images()
    with pytest.raises(ModelError, match="layer must be <= 0"):
        job_map(Mesh(2, 2), layer=1)


@pytest.mark.thorough
def test_the_gallery_has_a_panel_for_every_strategy():
    drawn = [ax for ax in gallery().axes if ax.get_images()]
    titles = [ax.get_title() for ax in drawn]
    assert len(titles) == len(STRATEGIES)
    assert titles == list(STRATEGIES)


def test_the_gallery_says_how_many_jobs_were_refused():
    figure = gallery({"plas": PLAS()}, history=[9, 8], rows=4, columns=4)
    assert figure.axes[0].get_xlabel() == "balance 1, 1 refused"
    for wrong in ({}, [MBS()]):
        with pytest.raises(ModelError, match="strategies must map"):
            gallery(wrong)
    with pytest.raises(ModelError, match="history"):
        gallery({"plas": PLAS()}, history=[3, -2])


def test_a_title_is_text_and_no_markup():
    figure = gallery({"$x^2$ <b>": PLAS()}, history=[3], rows=2, columns=2)
    figure.canvas.draw()
    assert isinstance(figure.axes[0].get_title(), str)


def test_the_history_ends_jobs_that_run():
    mesh = Occupancy(Mesh(16, 16))
    assert replay(MBS(), mesh, HISTORY) == 0
    assert sorted(mesh.jobs) == [1, 3, 4, 7, 9, 10, 11, 12]
    assert issubclass(MBS, PlaneStrategy)
