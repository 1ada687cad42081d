"""Slices played: against a slow twin, exact answers, the tables of the specification, bounds."""

import numpy as np
import pytest

from phasefit import PhaseType
from qmodels import ModelError
from tests.naive import slices as naive
from validation import Pod, simulate_machine, simulate_slices, slice_losses
from validation.allocation.curves import hilbert_curve_in_space
from validation.analysis.seeding import stream
from validation.jobs import JobStream
from validation.machine import Machine
from validation.mesh import Mesh
from validation.slices import SliceMix, slice_queue
from validation.slices import _kernels as kernels
from validation.slices.placement import DISCIPLINES, STRATEGIES, nothing_held, place_of
from validation.slices.simulator import _one, _Work

CUBE = Pod((4, 4, 4))
CONTIGUOUS = ("FF", "BF", "aligned", "MFP")


def drawn_jobs(rng, shapes, count, load, blocks):
    """Jobs at random times, whose whole times make some of them fall together."""
    of = rng.integers(0, len(shapes), count)
    demands = np.ceil(rng.exponential(6.0, count))
    work = np.mean([np.prod(shapes[c]) for c in of]) * demands.mean()
    arrivals = np.floor(np.cumsum(rng.exponential(work / (load * blocks), count)))
    estimates = np.ceil(demands * rng.choice([1.0, 0.5, 2.0], count))
    return _Work(arrivals, of, demands, estimates)


def started(pod, strategy, discipline, shapes, work):
    """Start times that the compiled loop gives; NaN where a job is refused."""
    place = place_of(pod, shapes, strategy)
    total = work.of.size
    jobs = kernels.Jobs(work.arrivals, work.of, work.demands, work.estimates,
                        np.full(total, np.nan))  # fmt: skip
    classes, most = len(shapes), min(pod.chips, total)
    queue = kernels.Queue(
        np.full(classes, -1), np.full(classes, -1), np.full(total, -1), np.zeros(classes, bool),
        np.zeros(classes, int), np.zeros(classes, int), np.zeros(classes, bool),
        np.zeros(most, int), np.zeros(most), np.zeros(most), np.zeros(4, int),
    )  # fmt: skip
    tally = kernels.Tally(np.array([0.0, 1e9]), np.zeros(5), np.full(pod.count, -1),
                          np.zeros(2, int))  # fmt: skip
    kernels.play(place, nothing_held(pod), nothing_held(pod), queue, jobs, tally,
                 DISCIPLINES[discipline], 0, 0, total, 1)  # fmt: skip
    return jobs.starts


def curve_of(pod):
    x, y, _ = pod.blocks
    return [(n % x, n // x % y, n // (x * y)) for n in hilbert_curve_in_space(pod.sides).tolist()]


def as_dicts(shapes, work):
    rows = zip(work.arrivals, work.of, work.demands, work.estimates, strict=True)
    return [
        {"arrival": a, "box": shapes[c], "demand": d, "estimate": e} for a, c, d, e in rows
    ]  # fmt: skip


@pytest.mark.parametrize("discipline", DISCIPLINES)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_kernel_starts_jobs_as_the_slow_twin_does(strategy, discipline):
    rng = stream(3, "slices", strategy, discipline)
    pods = [Pod((3, 2, 2)), Pod((3, 3, 2), wrap=False), Pod((5, 2, 1))]
    for pod in pods:
        shapes = [(1, 1, 1), (2, 1, 1), (1, 2, 1), (2, 2, 1)] + [(3, 2, 1), (1, 2, 2)][
            : 2 if pod.blocks[2] > 1 else 0
        ]
        shapes = [s for i, s in enumerate(shapes) if sorted(s) not in map(sorted, shapes[:i])]
        work = drawn_jobs(rng, shapes, 40, 0.9, pod.count)
        twin = naive.Whole(pod.blocks, pod.wrap, strategy, curve_of(pod))
        expected = naive.play(twin, as_dicts(shapes, work), discipline)
        found = started(pod, strategy, discipline, shapes, work)
        assert [None if np.isnan(at) else at for at in found] == expected


@pytest.mark.parametrize("discipline", ["loss", "first-fit", "EASY"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_parts_of_blocks_lie_as_the_slow_twin_lays_them(strategy, discipline):
    pod = Pod((2, 2, 1), block=(2, 2, 2))
    shapes = [(1, 1, 1), (2, 1, 1), (2, 2, 2), (4, 2, 2), (2, 1, 2), (4, 4, 2)]
    shapes = [s for i, s in enumerate(shapes) if sorted(s) not in map(sorted, shapes[:i])]
    work = drawn_jobs(stream(4, "parts", strategy, discipline), shapes, 40, 0.9, pod.chips)
    twin = naive.Small(pod.blocks, pod.wrap, strategy, curve_of(pod))
    expected = naive.play(twin, as_dicts(shapes, work), discipline)
    found = started(pod, strategy, discipline, shapes, work)
    assert [None if np.isnan(at) else at for at in found] == expected


@pytest.mark.parametrize("wrap", [True, False])
def test_the_largest_free_box_and_the_roomiest_place_are_those_of_brute_force(wrap):
    rng = stream(5, "room", str(wrap))
    for sides in ((3, 2, 2), (4, 3, 1), (1, 1, 1), (5, 1, 2)):
        pod = Pod(sides, wrap=wrap)
        held = nothing_held(pod)
        for share in (0.0, 0.3, 0.6, 1.0):
            held.busy[:] = rng.random(pod.count) < share
            busy = {(n % sides[0], n // sides[0] % sides[1], n // (sides[0] * sides[1]))
                    for n in np.flatnonzero(held.busy).tolist()}  # fmt: skip
            found = kernels.largest_free_box(held.busy, sides, wrap, held.room)
            assert found == naive.largest_free(busy, sides, wrap)


def test_long_rows_of_bits_have_the_same_largest_box():
    rng = stream(6, "long rows")
    for wrap in (True, False):
        pod = Pod((70, 2, 1), wrap=wrap)
        held = nothing_held(pod)
        held.busy[:] = rng.random(pod.count) < 0.1
        line = ~held.busy.reshape(2, 70)
        best = 0
        for rows, free in ((1, line[0]), (1, line[1]), (2, line[0] & line[1])):
            text = "".join("x" if f else " " for f in (np.tile(free, 2) if wrap else free))
            best = max(best, rows * min(70, max(map(len, text.split(" ")))))
        assert kernels.largest_free_box(held.busy, pod.blocks, wrap, held.room) == best


# Exact answers


def judged(found, exact):
    return abs(found.z_score(exact)) < 3.7


@pytest.mark.parametrize(
    ("pod", "strategy"),
    [
        (Pod((4, 1, 1)), "any-blocks"), (Pod((4, 1, 1)), "3d-torus"), (Pod((4, 1, 1)), "FF"),
        (Pod((4, 1, 1), wrap=False), "FF"), (Pod((4, 1, 1)), "block"),
    ],
)  # fmt: skip
def test_refusals_are_those_of_the_exact_chain(pod, strategy):
    shapes, loads = ((1, 1, 1), (2, 1, 1)), (1.0, 0.6)
    exact = slice_losses(pod, shapes, loads, strategy=strategy)
    found = simulate_slices(
        pod, SliceMix(shapes, loads), 2.2 / 4, strategy=strategy, discipline="loss", count=30_000
    )
    for shape, share in zip(found.shapes, exact.refused, strict=True):
        assert judged(shape.refused, share)
    assert judged(found.utilisation, exact.utilisation)


@pytest.mark.parametrize(
    ("blocks", "mix", "load"),
    [((2, 1, 1), "1x1x1, 2x1x1", 0.5), ((8, 1, 1), "1x1x1:.8, 4x1x1:.2", 0.6)],
)
def test_waits_of_any_blocks_are_those_of_the_exact_queue(blocks, mix, load):
    pod = Pod(blocks, switch=True)
    exact = slice_queue(pod, mix, load)
    found = simulate_slices(pod, mix, load, count=100_000)
    assert judged(found.wait, exact.wait)
    assert judged(found.waiting, exact.waiting)
    full = simulate_slices(pod, mix, count=50_000)
    assert judged(full.utilisation, exact.largest_utilisation)


def test_one_block_is_the_queue_of_pollaczek_and_khinchine():
    law = PhaseType.erlang(phases=2, mean=3.0)
    found = simulate_slices(Pod((1, 1, 1)), "1x1x1", 0.6, law=law, count=60_000)
    assert judged(found.wait, 0.6 / 0.4 * (1 + 0.5) / 2)
    assert found.fits_by_count.mean == 0.0
    assert found.scatter is None or found.scatter.mean == 0.0


@pytest.mark.parametrize("discipline", ["fcfs", "first-fit", "EASY"])
def test_any_blocks_are_the_machine_that_counts_nodes(discipline):
    rng = stream(8, "machine", discipline)
    pod, shapes = Pod((4, 2, 1)), [(1, 1, 1), (2, 1, 1), (4, 1, 1), (3, 2, 1)]
    work = drawn_jobs(rng, shapes, 120, 0.95, 8)
    sizes = np.array([np.prod(shapes[c]) for c in work.of])
    estimates = work.demands * 2.0
    work = _Work(work.arrivals + np.arange(120) * 1e-3, work.of, work.demands, estimates)
    jobs = JobStream(work.arrivals, sizes, demands=work.demands, estimates=estimates)
    machine = Machine(
        mesh=Mesh(2, 4), strategy="Random", discipline=discipline, network="none"
    )
    played = simulate_machine(machine, jobs, replications=1).first
    found = started(pod, "any-blocks", discipline, shapes, work)
    assert found + work.arrivals[0] - played.arrival[0] == pytest.approx(
        played.start + work.arrivals[0] - played.arrival[0], abs=1e-9
    )
