"""Slices played: against a slow twin, exact answers, the tables of the specification, bounds."""

import numpy as np
import pytest

from phasefit import PhaseType
from qmodels import ModelError
from tests.examples import examples
from tests.naive import slices as naive
from validation import Pod, allocation, simulate_machine, simulate_slices, slice_losses
from validation.allocation.curves import hilbert_curve_in_space
from validation.analysis.seeding import stream
from validation.jobs import JobStream
from validation.machine import Machine
from validation.mesh import Mesh, Occupancy
from validation.slices import SliceMix, slice_queue
from validation.slices import _kernels as kernels
from validation.slices.placement import DISCIPLINES, STRATEGIES, nothing_held, place_of
from validation.slices.simulator import _Work

CUBE = Pod((4, 4, 4))
CONTIGUOUS = ("TFF", "TBF", "aligned", "MFP")
#: Those that take slices whichever way they are written.
TURNING = [name for name, each in STRATEGIES.items() if each.turns is not False]


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
    jobs = kernels.Jobs(work.arrivals, work.of, work.demands, work.estimates, np.full(total, np.nan))
    classes, most = len(shapes), min(pod.chips, total)
    queue = kernels.Queue(
        np.full(classes, -1),
        np.full(classes, -1),
        np.full(total, -1),
        np.zeros(classes, bool),
        np.zeros(classes, int),
        np.zeros(classes, int),
        np.zeros(classes, bool),
        np.zeros(most, int),
        np.zeros(most),
        np.zeros(most),
        np.zeros(4, int),
    )
    tally = kernels.Tally(np.array([0.0, 1e9]), np.zeros(5), np.full(pod.count, -1), np.zeros(2, int))
    kernels.play(
        place,
        nothing_held(pod),
        nothing_held(pod),
        queue,
        jobs,
        tally,
        DISCIPLINES[discipline],
        0,
        0,
        total,
        1,
    )
    return jobs.starts


def curve_of(pod):
    x, y, _ = pod.blocks
    return [(n % x, n // x % y, n // (x * y)) for n in hilbert_curve_in_space(pod.sides).tolist()]


def as_dicts(shapes, work):
    rows = zip(work.arrivals, work.of, work.demands, work.estimates, strict=True)
    return [{"arrival": a, "box": shapes[c], "demand": d, "estimate": e} for a, c, d, e in rows]


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("discipline", DISCIPLINES)
@pytest.mark.parametrize("strategy", TURNING)
def test_the_kernel_starts_jobs_as_the_slow_twin_does(strategy, discipline):
    rng = stream(3, "slices", strategy, discipline)
    pods = [Pod((3, 2, 2)), Pod((3, 3, 2), wrap=False), Pod((5, 2, 1))]
    for pod in pods:
        shapes = [(1, 1, 1), (2, 1, 1), (2, 2, 1)]
        if pod.blocks[2] > 1:
            shapes += [(3, 2, 1), (1, 1, 3)]
        work = drawn_jobs(rng, shapes, 40, 0.9, pod.count)
        twin = naive.Whole(pod.blocks, pod.wrap, strategy, curve_of(pod))
        expected = naive.play(twin, as_dicts(shapes, work), discipline)
        found = started(pod, strategy, discipline, shapes, work)
        assert [None if np.isnan(at) else at for at in found] == expected


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("discipline", ["loss", "first-fit", "EASY-places"])
@pytest.mark.parametrize("strategy", TURNING)
def test_parts_of_blocks_lie_as_the_slow_twin_lays_them(strategy, discipline):
    pod = Pod((2, 2, 1), block=(2, 2, 2))
    shapes = [(1, 1, 1), (2, 1, 1), (2, 2, 2), (4, 2, 2), (2, 1, 2), (4, 4, 2)]
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
            busy = {
                (n % sides[0], n // sides[0] % sides[1], n // (sides[0] * sides[1]))
                for n in np.flatnonzero(held.busy).tolist()
            }
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


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize(
    ("pod", "strategy"),
    [
        (Pod((4, 1, 1)), "any-blocks"),
        (Pod((4, 1, 1)), "3d-torus"),
        (Pod((4, 1, 1)), "TFF"),
        (Pod((4, 1, 1), wrap=False), "TFF"),
        (Pod((4, 1, 1)), "block"),
    ],
)
def test_refusals_are_those_of_the_exact_chain(pod, strategy):
    shapes, loads = ((1, 1, 1), (2, 1, 1)), (1.0, 0.6)
    exact = slice_losses(pod, shapes, loads, strategy=strategy)
    found = simulate_slices(
        pod, SliceMix(shapes, loads), 2.2 / 4, strategy=strategy, discipline="loss", count=8_000
    )
    for shape, share in zip(found.shapes, exact.refused, strict=True):
        assert judged(shape.refused, share)
    assert judged(found.utilisation, exact.utilisation)


def test_nobody_is_refused_where_jobs_always_wait():
    found = simulate_slices(Pod((2, 2, 1)), "1x1x1", count=400, replications=2)
    assert found.refused is None
    assert found.to_frame()["refused"].isna().all()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("blocks", "mix", "load"),
    [((2, 1, 1), "1x1x1, 2x1x1", 0.5), ((8, 1, 1), "1x1x1:.8, 4x1x1:.2", 0.6)],
)
def test_waits_of_any_blocks_are_those_of_the_exact_queue(blocks, mix, load):
    pod = Pod(blocks, switch=True)
    exact = slice_queue(pod, mix, load)
    found = simulate_slices(pod, mix, load, count=10_000)
    assert judged(found.wait, exact.wait)
    assert judged(found.waiting, exact.waiting)
    full = simulate_slices(pod, mix, count=8_000)
    assert judged(full.utilisation, exact.largest_utilisation)


def test_one_block_is_the_queue_of_pollaczek_and_khinchine():
    law = PhaseType.erlang(phases=2, mean=3.0)
    found = simulate_slices(Pod((1, 1, 1)), "1x1x1", 0.6, law=law, count=12_000)
    assert judged(found.wait, 0.6 / 0.4 * (1 + 0.5) / 2)
    assert found.fits_by_count.mean == 0.0
    assert found.scatter is None or found.scatter.mean == 0.0


@pytest.mark.parametrize("discipline", ["FCFS", "first-fit", "EASY-places"])
def test_any_blocks_are_the_machine_that_counts_nodes(discipline):
    counting = discipline.removesuffix("-places")  # where any nodes do, a place is a number
    rng = stream(8, "machine", discipline)
    pod, shapes = Pod((4, 2, 1)), [(1, 1, 1), (2, 1, 1), (4, 1, 1), (3, 2, 1)]
    work = drawn_jobs(rng, shapes, 120, 0.95, 8)
    sizes = np.array([np.prod(shapes[c]) for c in work.of])
    estimates = work.demands * 2.0
    work = _Work(work.arrivals + np.arange(120) * 1e-3, work.of, work.demands, estimates)
    jobs = JobStream(arrivals=work.arrivals, sizes=sizes, demands=work.demands, estimates=estimates)
    machine = Machine(mesh=Mesh(2, 4), strategy="Random", discipline=counting, network="none")
    played = simulate_machine(machine, jobs, replications=1).first
    found = started(pod, "any-blocks", discipline, shapes, work)
    assert found + work.arrivals[0] - played.arrival[0] == pytest.approx(
        played.start + work.arrivals[0] - played.arrival[0], abs=1e-9
    )


# The tables of the specification: tolerance .01 of a utilisation, and the interval


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("strategy", "wrap", "share"),
    [
        ("any-blocks", True, 0.910),
        ("TFF", True, 0.674),
        ("TBF", True, 0.684),
        ("TFF", False, 0.650),
        ("aligned", True, 0.667),
    ],
)
def test_a_full_queue_in_order_keeps_busy_what_the_table_says(strategy, wrap, share):
    pod = Pod((4, 4, 4), wrap=wrap)
    found = simulate_slices(pod, "halving", strategy=strategy, count=4_000, replications=6)
    assert found.utilisation.mean == pytest.approx(share, abs=0.01 + found.utilisation.half_width)


@pytest.mark.thorough
def test_what_leaves_the_largest_box_keeps_busy_what_the_table_says():
    found = simulate_slices(CUBE, "halving", strategy="MFP", count=3000, replications=4)
    assert found.utilisation.mean == pytest.approx(0.666, abs=0.01 + found.utilisation.half_width)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("strategy", "smallest", "largest"),
    [("any-blocks", 0.0113, 0.597), ("TFF", 0.0003, 0.90), ("TBF", 0.001, 0.87)],
)
def test_refusals_are_those_of_the_table(strategy, smallest, largest):
    found = simulate_slices(
        CUBE, "halving", 0.7, strategy=strategy, discipline="loss", count=5_000, replications=5
    )
    for own, share in ((found.shapes[0], smallest), (found.shapes[-1], largest)):
        assert own.refused.mean == pytest.approx(share, abs=0.01 + own.refused.half_width)


@pytest.mark.thorough
def test_waits_of_any_blocks_are_those_of_the_table():
    found = simulate_slices(CUBE, "halving", 0.5, strategy="any-blocks", count=5_000)
    assert found.wait.mean == pytest.approx(0.085, abs=0.05)


# What holds of every stream of jobs


def random_case(number, *, parts=False):
    """A pod, its shapes and jobs, by a rule fixed beforehand."""
    rng = stream(21, "streams of slices", number, str(parts))
    sides = [(4, 4, 4), (3, 3, 2), (4, 2, 2), (5, 3, 1), (8, 1, 1), (2, 2, 2)]
    blocks = sides[int(rng.integers(len(sides)))]
    pod = Pod(blocks, wrap=bool(rng.random() < 0.5), block=(2, 2, 2) if parts else (1, 1, 1))
    step = 2 if parts else 1
    shapes = [(1, 1, 1), (2, 1, 1), (2, 2, 1)] if parts else []
    for _ in range(5):
        shape = tuple(step * int(rng.integers(1, side + 1)) for side in blocks)
        if sorted(shape) not in map(sorted, shapes) and np.prod(shape) <= pod.chips / 2:
            shapes.append(shape)
    shapes = shapes or [(1, 1, 1)]
    count = 60
    of = rng.integers(0, len(shapes), count)
    law = int(rng.integers(3))
    demands = (rng.exponential(1.0, count), rng.uniform(0.9, 1.1, count), rng.pareto(1.5, count) + 0.1)[law]
    work = float(np.mean([np.prod(shapes[c]) for c in of]) * demands.mean())
    gaps = rng.exponential(1.0, count) * work / (pod.chips * rng.uniform(0.3, 1.5))
    return pod, shapes, _Work(np.cumsum(gaps), of, demands, demands)


def never_later(numbers):
    others = ("TFF", "TBF", "aligned", "MFP", "block", "3d-torus")
    for number in numbers:
        pod, shapes, work = random_case(number)
        anywhere = started(pod, "any-blocks", "FCFS", shapes, work)
        for strategy in others:
            at = started(pod, strategy, "FCFS", shapes, work)
            assert not np.isnan(at).any()
            assert (anywhere <= at).all(), f"stream {number}, {strategy}"


@pytest.mark.thorough
def test_in_order_of_arrival_no_job_starts_later_with_any_blocks():
    never_later(range(examples(200)))


@pytest.mark.slow
def test_in_order_of_arrival_no_job_of_ten_thousand_streams_starts_later_with_any_blocks():
    never_later(range(10_000))


def some_later(discipline, *, parts):
    """In how many of sixty streams some job starts later with any blocks than with TFF."""
    found = 0
    for number in range(60):
        pod, shapes, work = random_case(number, parts=parts)
        anywhere = started(pod, "any-blocks", discipline, shapes, work)
        found += bool((anywhere > started(pod, "TFF", discipline, shapes, work)).any())
    return found


@pytest.mark.thorough
def test_where_jobs_overtake_some_do_start_later_with_any_blocks():
    """Outside what is promised: the order of starts differs, so the bound need not hold."""
    assert some_later("first-fit", parts=False) > 0
    assert some_later("EASY-places", parts=False) > 0


def test_no_exception_is_known_for_parts_of_blocks():
    """Outside what is proved: where a part lies decides which blocks are opened."""
    assert some_later("FCFS", parts=True) == 0


@pytest.mark.thorough
def test_losses_of_boxes_depend_on_the_law_and_those_of_any_blocks_on_its_mean_alone():
    """Outside the chain of placed boxes, whose times are exponential."""
    shapes, loads = ((1, 1, 1), (2, 1, 1)), (1.0, 0.6)
    pod, law = Pod((4, 1, 1)), PhaseType.erlang(phases=20, mean=1.0)
    away = {}
    for name in ("any-blocks", "TFF"):
        found = simulate_slices(
            pod,
            SliceMix(shapes, loads),
            2.2 / 4,
            strategy=name,
            discipline="loss",
            law=law,
            count=30_000,
            replications=10,
        )
        exact = slice_losses(pod, shapes, loads, strategy=name).refused[1]
        away[name] = abs(found.shapes[1].refused.z_score(exact))
    assert away["any-blocks"] < 3.7 < away["TFF"]


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("strategy", ["any-blocks", "TFF", "TBF", "aligned", "block"])
def test_with_exact_estimates_the_first_starts_when_easy_promised_or_before(strategy):
    promised = 0
    for number in range(6):
        pod, shapes, work = random_case(number)
        if pod.count > 20:
            continue
        twin = naive.Whole(pod.blocks, pod.wrap, strategy, curve_of(pod))
        starts = naive.play(twin, as_dicts(shapes, work), "EASY-places")
        found = started(pod, strategy, "EASY-places", shapes, work)
        assert found.tolist() == starts
        for j, moment in twin.promised.items():
            assert starts[j] <= moment + 1e-9
        promised += len(twin.promised)
    assert promised > 10


def test_any_blocks_and_the_curve_refuse_alike_and_never_by_shape():
    found = {
        name: simulate_slices(CUBE, "halving", 0.8, strategy=name, count=3000, replications=2)
        for name in ("any-blocks", "3d-torus")
    }
    assert found["any-blocks"].runs == found["3d-torus"].runs
    assert found["any-blocks"].fits_by_count.mean == 0.0


@pytest.mark.thorough
def test_littles_law_holds_for_every_discipline():
    for discipline in ("FCFS", "first-fit", "EASY-places"):
        found = simulate_slices(CUBE, "halving", 0.45, discipline=discipline, count=5000, replications=4)
        rate = SliceMix.of("halving", CUBE).arrival_rate(CUBE, 0.45)
        assert found.waiting.mean == pytest.approx(rate * found.wait.mean, rel=0.15)
        assert found.utilisation.mean == pytest.approx(0.45, abs=0.03)


@pytest.mark.thorough
def test_a_load_beyond_what_boxes_carry_is_said_to_grow():
    assert simulate_slices(CUBE, "halving", 0.8, count=4000, replications=4).growing
    assert not simulate_slices(CUBE, "halving", 0.5, count=4000, replications=4).growing


def test_a_pod_with_a_switch_takes_any_blocks_and_workers_change_nothing():
    found = simulate_slices(Pod((4, 4, 4), switch=True), count=1000, replications=2, workers=1)
    other = simulate_slices(Pod((4, 4, 4), switch=True), count=1000, replications=2, workers=2)
    assert found.strategy == "any-blocks"
    assert found.runs == other.runs
    held = found.occupancy()
    assert held.free == 64 - sum(map(len, held.jobs.values()))


def test_slices_of_chips_are_those_of_blocks():
    """A mix of whole blocks plays the same, however many chips a block has."""
    one = simulate_slices(CUBE, "halving", 0.5, count=2000, replications=2)
    chips = simulate_slices(Pod((4, 4, 4), block=(4, 4, 4)), "halving", 0.5, count=2000, replications=2)
    assert one.runs == chips.runs
    assert chips.shapes[-1].shape == (8, 16, 16)


@pytest.mark.parametrize("wrap", [True, False])
def test_strategies_of_the_same_name_put_boxes_where_those_of_meshes_do(rng, wrap):
    shapes = [(1, 1, 3), (2, 1, 1), (2, 2, 1), (3, 2, 2)]
    pod = Pod((3, 4, 3), wrap=wrap)
    for name in ("FF", "TFF", "BF", "TBF"):
        place, held = place_of(pod, shapes, name), nothing_held(pod)
        for _ in range(40):
            held.busy[:] = rng.random(pod.count) < 0.4
            held.free[0] = held.free[1] = np.count_nonzero(~held.busy)
            occupancy = Occupancy(pod.mesh)
            occupancy.occupy("others", np.flatnonzero(held.busy))
            for c, shape in enumerate(shapes):
                nodes = allocation.STRATEGIES[name]().choose(occupancy, allocation.Request.of_shape(*shape))
                assert kernels.finds(place, held, c, True) == (nodes is not None)
                if nodes is not None:
                    kernels.listed(place, held, c)
                    assert sorted(held.nodes[: place.volume[c]]) == nodes.tolist()


def test_documented_slices_of_a_large_pod_fit():
    pod = Pod((4, 5, 7), block=(4, 4, 4), switch=True)  # 8,960 chips
    assert pod.chips == 8960
    for shape in (
        (4, 4, 4),
        (4, 4, 8),
        (4, 8, 8),
        (8, 8, 8),
        (8, 8, 16),
        (8, 16, 16),
        (16, 16, 16),
        (16, 16, 24),
    ):
        assert np.prod(pod.turns(shape)[0]) * 64 == np.prod(shape)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Pod((0, 1, 1)), "side of blocks must be >= 1"),
        (lambda: Pod((4, 4)), "three sides"),
        (lambda: Pod("4x4"), "three sides such as"),
        (lambda: Pod((4, 4, 2.5)), "side of blocks must be"),
        (lambda: Pod((100, 100, 100)), "1,000,000 blocks; at most 4,096"),
        (lambda: Pod((1, 1, 1), block=(9, 9, 9)), "729 chips; at most 512"),
        (lambda: Pod((4, 4, 4), wrap="yes"), "wrap must be"),
        (lambda: Pod((4, 4, 4), block=(4, 4, 4)).turns((2, 4, 8)), "next larger one is 4x4x8"),
        (lambda: CUBE.turns((5, 1, 1)), "does not fit into a pod of 4x4x4 in any direction"),
        (lambda: CUBE.slice_of(65), "65 chips are more than the 64"),
        (lambda: SliceMix(()), "at least one shape"),
        (lambda: SliceMix(((1, 1, 2), (2, 1, 1))), "comes twice"),
        (lambda: SliceMix(((1, 1, 1),), (-1.0,)), "weights"),
        (lambda: SliceMix.of("halfing", CUBE), "did you mean halving"),
        (lambda: SliceMix.of("1x1x1:many", CUBE), "is no weight"),
        (lambda: SliceMix.of("halving", Pod((2, 2, 2))), "2x2x4 is larger than a pod of 2x2x2"),
        (lambda: simulate_slices(CUBE, strategy="best"), "no strategy of slices is called"),
        (lambda: simulate_slices(CUBE, discipline="lifo"), "no discipline of slices is called"),
        (lambda: simulate_slices(CUBE, discipline="EASY"), "did you mean 'EASY-places'"),
        (lambda: simulate_slices(Pod((4, 4, 4), turning=False), strategy="TFF"), "use FF"),
        (lambda: simulate_slices(CUBE, "halving", 0.0), "load must be > 0"),
        (lambda: simulate_slices(CUBE, "halving", float("nan")), "not a finite number"),
        (lambda: simulate_slices(CUBE, "halving", discipline="loss"), "give a load"),
        (lambda: simulate_slices(CUBE, "halving", count=300), "count must be at least 400"),
        (lambda: simulate_slices(Pod((16, 16, 16)), "1x1x1", 0.5, strategy="MFP"), "512 blocks"),
        (lambda: simulate_slices(CUBE, "64x1x1", 0.5, strategy="TFF"), "does not fit"),
    ],
)
def test_hostile_units_and_sizes_are_refused_in_words(call, message):
    with pytest.raises(ModelError, match=message):
        call()
