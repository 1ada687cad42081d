"""The search for interarrival times, on made machines whose utilisation is known at every place."""

import math
from dataclasses import dataclass, field

import numpy as np
import pytest

from validation.papers.mache.search import cells, find

TARGET, TOLERANCE, STREAMS, STRATEGIES = 0.65, 0.01, 16, 6
SEEDS = range(30)


def bent(x):
    """Falls as an open queue's share of busy servers that grow slower as more are."""
    return 1.0 / (0.35 + np.exp(x))


def steep(x):
    """Saturated above, and within a tenth of the logarithm most of the way down."""
    return 0.2 + 0.77 / (1.0 + np.exp(20.0 * x))


def flat(x):
    """Hardly falls."""
    return 0.67 - 0.08 * x


def low(x):
    """Never near the target."""
    return 0.5 / (1.0 + np.exp(x))


@dataclass
class Made:
    """Utilisations of cells by a curve in log(interarrival / 100), with differences between them.

    `level` is the deviation of streams, a fifth of it that of strategies and of cells; `slopes`
    that of the streams' slopes about the curve's; `fresh` that of noise which is new at each place.
    """

    curve: object
    seed: int = 0
    level: float = 0.1
    slopes: float = 0.0
    fresh: float = 0.0
    runs: list = field(default_factory=list)

    def at(self, interarrival, wanted):
        x = math.log(interarrival / 100.0)
        rng = np.random.default_rng(self.seed)
        of_stream = rng.normal(0, self.level, STREAMS)[:, None]
        of_strategy = rng.normal(0, self.level / 5, STRATEGIES)
        of_strategy -= of_strategy.mean()  # these strategies are all that there are
        of_cell = rng.normal(0, self.level / 5, (STREAMS, STRATEGIES))
        tilt = rng.normal(0, self.slopes, STREAMS)[:, None] * x
        new = np.random.default_rng([self.seed, int(abs(x) * 1e12)])
        noise = new.normal(0, self.fresh, (STREAMS, STRATEGIES))
        every = self.curve(x) + of_stream + of_strategy + of_cell + tilt + noise
        return [float(every[cell]) for cell in wanted]

    def __call__(self, interarrival, wanted):
        self.runs += [(interarrival, cell) for cell in wanted]
        return self.at(interarrival, wanted)

    def whole(self, interarrival):
        """The mean over all cells: what is to be found out."""
        return float(np.mean(self.at(interarrival, cells(STREAMS, STRATEGIES))))


def searched(made, targets=(TARGET,), first=300.0):
    return find(made, targets, streams=STREAMS, strategies=STRATEGIES, tolerance=TOLERANCE, first=first)


def by_bisection(made):
    """The obvious search: all cells at each place."""
    low, high = math.log(1.0), math.log(10_000.0)
    for _ in range(60):
        middle = (low + high) / 2
        use = np.mean(made(math.exp(middle), cells(STREAMS, STRATEGIES)))
        if abs(use - TARGET) <= TOLERANCE:
            break
        low, high = (middle, high) if use > TARGET else (low, middle)
    return math.exp(middle)


CASES = {
    "bent": {"curve": bent},
    "steep": {"curve": steep},
    "flat": {"curve": flat, "level": 0.02},
    "a jitter at each place": {"curve": bent, "fresh": 0.01},
    # Outside what the search assumes: streams fall as differently as they fall on average, ...
    "streams of different slopes": {"curve": bent, "slopes": 0.5},
    # ... and places have nothing in common.
    "nothing shared": {"curve": bent, "level": 0.0, "fresh": 0.1},
}


@pytest.mark.thorough
@pytest.mark.parametrize("case", CASES)
def test_the_place_found_is_as_busy_as_asked_up_to_the_noise_of_the_streams(case):
    runs = {"found": 0, "bisection": 0}
    z, missed = [], []
    for seed in SEEDS:
        made = Made(seed=seed, **CASES[case])
        [found] = searched(made)
        # No cell is run twice at a place.
        assert len(made.runs) == len(set(made.runs))
        missed.append(abs(found.utilisation - TARGET) > TOLERANCE)
        assert found.error <= TOLERANCE / 3
        # What is stated is known of all cells: exactly, or with the error that is stated too.
        gap = found.utilisation - made.whole(found.interarrival)
        if found.error < 1e-12:
            assert abs(gap) < 1e-12
        else:
            z.append(gap / found.error)
        # The law behind the streams: their mean is as far from it as the mean of 16 is.
        x = math.log(found.interarrival / 100.0)
        own = made.level**2 + (made.slopes * x) ** 2
        own += ((made.level / 5) ** 2 + made.fresh**2) / STRATEGIES
        off = abs(found.utilisation - TARGET) + 4 * math.sqrt(own / STREAMS + found.error**2)
        assert abs(made.curve(x) - TARGET) <= off
        runs["found"] += len(made.runs)
        made.runs.clear()
        by_bisection(made)
        runs["bisection"] += len(made.runs)
    # Where nothing is shared, a place on the wrong side by its noise ends a bracket now and then,
    # and all cells are needed at each place near the target.
    assert sum(missed) <= (len(SEEDS) // 10 if case == "nothing shared" else 0)
    assert runs["found"] < (0.5 if case == "nothing shared" else 0.3) * runs["bisection"]
    # The stated error is that of a random sample, and this one has every stream: never too small.
    if len(z) >= 5:
        assert np.mean(np.square(z)) <= 1.0 + 4.0 * math.sqrt(2.0 / len(z))


@pytest.mark.thorough
def test_the_stated_error_is_met_where_cells_differ_at_random():
    """Only noise that is new at each place: then a sample of cells is a simple random one."""
    z = []
    for seed in range(200):
        made = Made(bent, seed=seed, level=0.05, fresh=0.012)
        # From the first, which has all cells, the second is told by paired differences.
        found = searched(made, (0.65, 0.62))[1]
        if found.error > 0.0:
            z.append((found.utilisation - made.whole(found.interarrival)) / found.error)
    assert len(z) >= 100
    # Four standard errors of a mean square of normal values.
    assert np.mean(np.square(z)) == pytest.approx(1.0, abs=4.0 * math.sqrt(2.0 / len(z)))


@pytest.mark.parametrize("curve", [low, lambda x: 0.9 + 0.0 * x])
def test_a_target_out_of_reach_ends_at_the_nearest_place_with_all_cells(curve):
    made = Made(curve, level=0.02)
    [found] = searched(made)
    assert found.utilisation == pytest.approx(made.whole(found.interarrival), abs=4 * found.error)
    places = {place for place, _ in made.runs}
    assert abs(found.utilisation - TARGET) > TOLERANCE
    assert len(places) <= 1 + 3 * 12
    assert len(made.runs) <= 13 * (4 + 18 + 18) + 2 * 96


def test_several_targets_are_found_from_what_is_known_already():
    made = Made(bent, seed=4, level=0.05, fresh=0.003)
    targets = (0.2, 0.4, 0.6, 0.8)
    found = searched(made, targets)
    for one, target in zip(found, targets, strict=True):
        assert abs(one.utilisation - target) <= TOLERANCE
        assert abs(made.whole(one.interarrival) - target) <= TOLERANCE + 4 * one.error
    # No more than two are known from all cells that are run anew for each place.
    assert len(made.runs) < len(targets) * 2 * STREAMS * STRATEGIES
    assert [one.interarrival for one in found] == sorted(o.interarrival for o in found)[::-1]


@pytest.mark.parametrize(("streams", "strategies"), [(3, 1), (1, 6), (1, 1), (4, 1)])
def test_with_few_cells_every_look_has_all_of_them(streams, strategies):
    looked = []

    def trials(interarrival, wanted):
        looked.append(list(wanted))
        return [30.0 / interarrival + 0.01 * stream for stream, _ in wanted]

    found = find(trials, [0.2, 0.5], streams=streams, strategies=strategies, tolerance=0.02, first=100.0)
    assert all(wanted == cells(streams, strategies) for wanted in looked)
    for one, target in zip(found, (0.2, 0.5), strict=True):
        assert one.error == 0.0
        assert 30.0 / one.interarrival + 0.005 * (streams - 1) == pytest.approx(target, abs=0.02)


@pytest.mark.parametrize(
    ("streams", "strategies"), [(16, 6), (3, 6), (4, 6), (6, 6), (6, 4), (16, 1), (1, 6), (1, 1)]
)
def test_the_first_cells_leave_out_no_stream_and_no_strategy(streams, strategies):
    order = cells(streams, strategies)
    assert len(order) == len(set(order)) == streams * strategies
    first = np.array(order[: strategies * math.ceil(streams / strategies)])
    often = np.bincount(first[:, 1], minlength=strategies)
    assert len(set(often)) == 1
    often = np.bincount(first[:, 0], minlength=streams)
    assert 1 <= often.min() <= often.max() <= often.min() + 1


@pytest.mark.parametrize(("slope", "fine"), [(-0.3, 2), (-3.0, 3), (-0.05, 5)])
def test_the_fine_search_goes_as_far_as_the_rough_one_found_the_utilisation_to_fall(slope, fine):
    # Utilisation falls straight with the logarithm of the gap, from 6.21 on; the four streams of
    # rough looks see .03 less than all. So the second look is there (.1 away); or beyond (.01, and
    # no step is below .015), and the third there by interpolation; or, as the first rough look was
    # near enough to tell no slope, .06 further and then .12, the most that is gone at once, and .39
    # after five.
    looked = []

    def trials(interarrival, wanted):
        looked.append((interarrival, len(wanted)))
        line = 0.3 + slope * (math.log(interarrival) - 6.0)
        return [line + (0.04 if stream >= 4 else 0.0) for stream, _ in wanted]

    [found] = find(trials, [0.3], streams=16, strategies=1, tolerance=0.002, first=500.0)
    assert found.utilisation == pytest.approx(0.3, abs=0.002)
    at = 6.0 - 0.03 / slope
    assert math.log(found.interarrival) == pytest.approx(at, abs=0.002 / abs(slope) + 1e-9)
    assert len({place for place, count in looked if count > 4}) == fine


def test_strategies_that_differ_by_more_than_streams_do_not_mislead_the_sample():
    """As without I/O: MC leaves most of the machine idle where Random has all of it busy."""
    of_strategy = (-0.1, 0.24, -0.47, 0.28, -0.07, 0.12)
    looks = []

    def trials(interarrival, wanted):
        looks.append(len(wanted))
        common = bent(math.log(interarrival / 100.0)) + 0.03
        return [common + of_strategy[k] + 0.001 * (r - 7.5) for r, k in wanted]

    [found] = searched(trials)
    # The first place with all of them is near enough at once.
    assert looks[-1] == STREAMS * STRATEGIES - 18
    assert (found.utilisation, found.error) == (pytest.approx(TARGET, abs=TOLERANCE), 0.0)
