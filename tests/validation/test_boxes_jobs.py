"""Streams of boxes, their exchange with neighbours in space, and machines with three dimensions."""

import numpy as np
import pytest

from qmodels.errors import ModelError, ScenarioError
from tests.families import BOXES, SPACE
from tests.naive import boxes as naive
from validation.allocation import Request, nodes_affected, nodes_of_box
from validation.allocation.curves import hilbert_curve_in_space, snake_curve_in_space
from validation.allocation.plotting import job_stack, layer_maps
from validation.analysis.seeding import stream
from validation.jobs import BoxStreams, JobStream
from validation.jobs.boxes import DEMANDS, HEAVY_TAILED, SIDE_LAWS
from validation.machine import Machine, PatternTraffic, compare_strategies, play
from validation.machine.plotting import strategy_strips
from validation.machine.scenario import load_plan
from validation.mesh import Mesh, Occupancy, Sides, Traffic, TrafficPhase, expand

# Streams


def drawn(law, within, jobs=40_000):
    streams = BoxStreams(mean_interarrival=1.0, within=within, jobs=jobs, sides=law)
    return np.array(streams.draw(rng=stream(3, law)).shapes)


@pytest.mark.thorough
@pytest.mark.parametrize("law", SIDE_LAWS)
def test_sides_follow_their_law_along_each_axis(law):
    within = (8, 5, 3)
    sides = drawn(law, within)
    assert sides.min() == 1
    assert sides.max(axis=0).tolist() == ([4, 4, 3] if law == "near-cubic" else [8, 5, 3])
    for axis, most in enumerate(within):
        k = np.arange(1, most + 1)
        if law == "uniform":
            p = np.full(most, 1 / most)
        elif law == "exponential":
            p = np.exp(-2 * k / most)
            p /= p.sum()
        else:  # one of 1, 2, 3 plus one of -1, 0, 1, kept within the sides
            near = np.clip(np.add.outer([1, 2, 3], [-1, 0, 1]), 1, most).ravel()
            p = np.bincount(near, minlength=most + 1)[1:] / 9
        seen = np.bincount(sides[:, axis], minlength=most + 1)[1:] / len(sides)
        error = np.sqrt(p * (1 - p) / len(sides))
        assert (np.abs(seen - p) <= 4 * error).all()


@pytest.mark.thorough
def test_uniform_sides_have_nothing_to_do_with_each_other():
    sides = drawn("uniform", (8, 8, 8))
    bound = 4 / np.sqrt(len(sides))
    assert np.abs(np.corrcoef(sides.T)[np.triu_indices(3, 1)]).max() < bound
    assert np.ptp(drawn("near-cubic", (8, 8, 8)), axis=1).max() == 2


def test_demands_are_those_of_the_paper_and_of_equal_means():
    assert HEAVY_TAILED.mean == pytest.approx(84.97, abs=0.005)
    assert HEAVY_TAILED.scv == pytest.approx(7.811, abs=0.0005)
    assert DEMANDS["exponential"].mean == pytest.approx(HEAVY_TAILED.mean, rel=1e-12)
    jobs = BoxStreams(mean_interarrival=2.0, within=(4, 4, 4)).draw(rng=stream(0, "b"))
    assert jobs.jobs == 1000
    assert jobs.demands.min() >= 15
    assert jobs.demands.max() <= 4241
    assert jobs.sizes.tolist() == [int(np.prod(shape)) for shape in jobs.shapes]


def test_what_makes_up_a_stream_has_generators_of_its_own():
    slow, fast, other, fewer = (
        BoxStreams(mean_interarrival=gap, within=(8, 8, 8), jobs=jobs, demand=DEMANDS[demand]).draw(
            rng=stream(4, "s")
        )
        for gap, jobs, demand in (
            (10.0, 50, "pareto"),
            (1.0, 50, "pareto"),
            (10.0, 50, "exponential"),
            (10.0, 20, "pareto"),
        )
    )
    assert slow.shapes == fast.shapes == other.shapes
    assert np.array_equal(slow.demands, fast.demands)
    assert slow.arrivals == pytest.approx(10 * fast.arrivals)
    assert not np.array_equal(slow.demands, other.demands)
    assert fewer.shapes == slow.shapes[:20]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"within": (8,)}, "rows and columns, or x, y and z"),
        ({"within": (8, 0, 8)}, "a side"),
        ({"sides": "cubic"}, "sides"),
        ({"mean_interarrival": 0.0}, "mean_interarrival"),
        ({"jobs": 0}, "jobs"),
        ({"demand": 3.0}, "demand must be a law"),
    ],
)
def test_a_wrong_parameter_of_a_stream_is_named(given, words):
    with pytest.raises(ModelError, match=words):
        BoxStreams(**{"mean_interarrival": 1.0, "within": (8, 8, 8)} | given)


# Non-contiguous strategies in three dimensions


@pytest.mark.parametrize("sides", [(2, 2, 2), (4, 4, 4), (8, 8, 8)])
def test_the_curve_through_a_cube_goes_from_neighbour_to_neighbour(sides):
    order = hilbert_curve_in_space(Sides(*sides)).tolist()
    assert sorted(order) == list(range(np.prod(sides)))
    assert naive.hilbert_neighbours(order, sides)
    # Every eighth is one eighth of the cube, and so on: that is what keeps jobs together.
    place = Mesh.of_sides(sides)
    for size in (8, 64):
        for start in range(0, len(order), size):
            if len(order) >= size:
                part = order[start : start + size]
                assert nodes_affected(place, part) == size


@pytest.mark.parametrize("sides", [(3, 5, 2), (4, 4, 4), (1, 6, 3), (5, 1, 2)])
def test_the_snake_goes_from_neighbour_to_neighbour_and_both_curves_see_all(sides):
    assert naive.hilbert_neighbours(snake_curve_in_space(Sides(*sides)).tolist(), sides)
    count = int(np.prod(sides))
    assert sorted(hilbert_curve_in_space(Sides(*sides)).tolist()) == list(range(count))


def test_a_curve_of_too_many_cells_is_refused():
    with pytest.raises(ModelError, match="are listed"):
        hilbert_curve_in_space(Sides(1000, 2, 2))


@pytest.mark.parametrize("sides", [(4, 4, 4), (5, 4, 3), (2, 7, 6), (8, 4, 2)])
def test_cubes_of_mbs_are_served_as_by_the_naive_twin(sides, rng):
    place, strategy = Mesh.of_sides(sides), SPACE["MBS"]()
    for _ in range(25):
        held = Occupancy(place)
        busy = np.flatnonzero(rng.random(place.nodes) < rng.uniform(0.0, 0.8))
        if busy.size:
            held.occupy("others", busy)
        if not held.free:
            continue
        free = set(map(tuple, held.coordinates(np.flatnonzero(~held.busy)).tolist()))
        size = int(rng.integers(1, held.free + 1))
        nodes = strategy.choose(held, size)
        assert set(map(tuple, held.coordinates(nodes).tolist())) == naive.mbs(free, sides, size)


def test_paging_gives_whole_cubes():
    place, pages = Mesh.of_sides((4, 6, 2)), SPACE["Paging"](s=1)
    assert pages.choose(place, 9).tolist() == sorted(nodes_of_box(place, (0, 0, 0), Sides(4, 2, 2)).tolist())
    with pytest.raises(ModelError, match="2 x 2 x 2 do not tile a mesh of 3 x 4 x 4"):
        pages.choose(Mesh.of_sides((4, 4, 3)), 1)


@pytest.mark.parametrize("name", SPACE)
def test_with_enough_nodes_free_nothing_is_refused_in_three_dimensions(name, rng):
    for sides in ((4, 4, 4), (5, 3, 2)):
        held = Occupancy(Mesh.of_sides(sides, torus=True))
        held.occupy("others", np.flatnonzero(rng.random(held.nodes) < 0.5))
        for size in range(1, held.free + 1):
            nodes = SPACE[name]().choose(held, size)
            assert nodes.size == np.unique(nodes).size == size
            assert not held.busy.ravel()[nodes].any()
        assert SPACE[name]().choose(held, held.free + 1) is None


# Exchanges with the neighbours in space


def test_a_halo_goes_to_the_neighbours_of_the_box_wherever_it_lies():
    for torus, base in ((False, (1, 0, 1)), (True, (4, 3, 2)), (True, (3, 1, 2))):
        place = Mesh.of_sides((5, 4, 3), torus=torus)
        nodes = nodes_of_box(place, base, Sides(3 if torus else 4, 2, 2))
        members, traffic = PatternTraffic("halo").placed(place, nodes, 1.0)
        assert sorted(members.tolist()) == nodes.tolist()
        sent = expand(place, members, traffic)
        apart = np.abs(place.coordinates(sent.source) - place.coordinates(sent.target))
        if torus:
            apart = np.minimum(apart, np.array([5, 4, 3]) - apart)
        assert (apart.sum(axis=1) == 1).all()
        a, b, c = 3 if torus else 4, 2, 2
        assert len(sent.source) == 2 * (3 * a * b * c - a * b - b * c - a * c)


def test_a_halo_over_scattered_nodes_is_that_of_the_box_nearest_to_a_cube():
    place = Mesh.of_sides((4, 4, 4))
    nodes = np.array([0, 3, 10, 21, 33, 40, 50, 63])
    members, traffic = PatternTraffic("halo", rounds=3).placed(place, nodes, 1.0)
    assert traffic.phases[0].grid == (2, 2)
    sent = expand(place, members, traffic)
    rank = {node: k for k, node in enumerate(members.tolist())}
    pairs = {(rank[s], rank[t]) for s, t in zip(sent.source.tolist(), sent.target.tolist(), strict=True)}
    assert len(sent.source) == 3 * 24
    assert pairs == {(p, p ^ bit) for p in range(8) for bit in (1, 2, 4)}


def test_a_halo_without_a_grid_takes_the_one_nearest_to_a_cube():
    place = Mesh.of_sides((5, 5, 5))
    for count, pairs in ((27, 108), (1, 0), (2, 2), (28, None)):
        sent = expand(place, np.arange(count), Traffic.of(TrafficPhase(pattern="halo")))
        assert pairs is None or len(sent.source) == pairs
        assert set(zip(sent.source.tolist(), sent.target.tolist(), strict=True)) == {
            (t, s) for s, t in zip(sent.source.tolist(), sent.target.tolist(), strict=True)
        }
    for wrong in ((3,), (0, 2), "2x2"):
        with pytest.raises(ModelError, match="grid"):
            TrafficPhase(pattern="halo", grid=wrong)
    with pytest.raises(ModelError, match="grid is for the pattern 'halo'"):
        TrafficPhase(pattern="ring", grid=(2, 2))


def test_a_pattern_follows_the_demand_where_it_is_told_to():
    place = Mesh.of_sides((4, 4, 4))
    assert PatternTraffic("ring", rounds=4, by_demand=True).of(place, 8, 2.0).phases[0].rounds == 8
    assert PatternTraffic("ring", rounds=4).of(place, 8, 2.0).phases[0].rounds == 4
    with pytest.raises(ModelError, match="pattern"):
        PatternTraffic("rings")


# Machines


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("torus", [False, True])
@pytest.mark.parametrize("network", ["none", "fluid", "worm"])
def test_every_box_strategy_runs_a_machine_in_three_dimensions(torus, network):
    streams = BoxStreams(mean_interarrival=20.0, within=(3, 3, 3), jobs=25)
    machine = Machine(
        mesh=Mesh.of_sides((4, 3, 5), torus=torus),
        network=network,
        strategy="FF",
        traffic=None if network == "none" else PatternTraffic("halo"),
    )
    found = compare_strategies(machine, [*BOXES, *SPACE], streams, replications=2)
    for name, run in found.runs.items():
        assert run["completed"].mean == 25, name
        assert run["rejected"].mean == 0
        affected, size = run.first.affected, run.first.size
        if name in BOXES:
            assert np.array_equal(affected, size)


def test_the_mean_number_of_boxes_is_what_is_counted_along_the_way():
    jobs = JobStream(
        arrivals=[0.0, 1.0, 2.0],
        sizes=[8, 8, 8],
        demands=[4.0, 4.0, 2.0],
        shapes=((2, 2, 2),) * 3,
    )
    run = play(Machine(mesh=Mesh.of_sides((2, 2, 4)), strategy="TBL", network="none"), jobs)
    # One job from 0, two from 1, the third in the place of the first from 4 to 6.
    assert run.start.tolist() == [0.0, 1.0, 4.0]
    assert run.mean_running == pytest.approx((4 + 4 + 2) / 6)


def test_a_strategy_that_rejects_jobs_is_said_to():
    jobs = JobStream(arrivals=[0.0, 1.0], sizes=[4, 5], demands=[1.0, 1.0])
    machine = Machine(mesh=Mesh.of_sides((2, 4, 2)), network="none")
    table = compare_strategies(machine, ["TFF", "MBS"], jobs, replications=2).table()
    assert "not the same jobs were done: TFF rejected 1 of a run" in table
    assert "not the same" not in compare_strategies(machine, ["MBS"], jobs).table()


# Files and pictures


def plan_of(folder, text):
    path = folder / "boxes.toml"
    path.write_text(text, encoding="utf-8")
    return load_plan(path)


def test_a_mesh_is_named_by_its_sides_in_short(tmp_path):
    jobs = '[machine]\nnetwork = "none"\nstrategies = ["TFF"]\n[jobs]\nsource = "boxes"\n'
    plan = plan_of(tmp_path, "mesh = [6, 5, 4]\ntorus = true\n" + jobs)
    assert plan.machine.mesh == Mesh.of_sides((6, 5, 4), torus=True)
    assert plan.streams.within == Sides(6, 5, 4)
    assert plan.streams.demand is DEMANDS["pareto"]
    flat = '[machine]\nnetwork = "none"\n'
    assert plan_of(tmp_path, "mesh = [4, 6]\n" + flat).machine.mesh == Mesh(4, 6)
    exponential = jobs + 'demand = "exponential"\nsides = "near-cubic"\n'
    plan = plan_of(tmp_path, "mesh = [6, 5, 4]\n" + exponential)
    assert plan.streams.demand is DEMANDS["exponential"]
    assert plan.streams.sides == "near-cubic"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("mesh = [6, 5, 0]", "mesh.depth"),
        ("mesh = [6]", "mesh"),
        ("torus = true", "torus"),
        ('mesh = [6, "5", 4]', "mesh.rows"),
        ("mesh = [6, 5, 4]\ntorus = 1", "mesh.torus"),
        ('[jobs]\nsource = "boxes"\nmean_size = 3.0', "jobs.mean_size"),
        ('[jobs]\nsource = "boxes"\nsides = "cubes"', "jobs.sides"),
        ('[jobs]\nsides = "uniform"', "jobs.sides"),
    ],
)
def test_a_fault_of_the_short_form_is_named_with_its_key(tmp_path, text, key):
    with pytest.raises(ScenarioError) as caught:
        plan_of(tmp_path, text + "\n")
    assert f"{key}:" in str(caught.value)


def test_a_stack_shows_every_node_once_and_the_layers_one_by_one():
    held = Occupancy(Mesh.of_sides((4, 3, 2)))
    held.occupy(1, nodes_of_box(held.mesh, (0, 0, 0), Sides(2, 1, 2)))
    held.occupy(2, nodes_of_box(held.mesh, (2, 1, 0), Sides(1, 1, 1)))
    tiles, frames = job_stack(held).collections
    assert len(tiles.get_paths()) == 24
    assert len(frames.get_paths()) == 1
    centres = np.array([path.vertices[:4].mean(axis=0) for path in tiles.get_paths()])
    assert len({tuple(centre) for centre in centres.round(6).tolist()}) == 24
    shades = tiles.get_facecolors()
    assert len({tuple(shade) for shade in shades[[0, 1, 12, 13]].tolist()}) == 1
    assert tuple(shades[0]) != tuple(shades[6])
    panels = layer_maps(held).axes
    assert [ax.get_title() for ax in panels] == ["z = 0", "z = 1"]
    streams = BoxStreams(mean_interarrival=20.0, within=(2, 2, 2), jobs=5)
    run = play(Machine(mesh=held.mesh, strategy="TFF", network="none"), streams.draw(rng=stream(0, "p")))
    assert len(strategy_strips([run], [10.0, 20.0]).axes) == 2


def test_requests_are_told_by_their_sides_in_errors():
    with pytest.raises(ModelError, match="2 x 3 x 4 has 24 nodes"):
        Request(23, (2, 3, 4))
