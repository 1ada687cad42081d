"""The Lublin-Feitelson model, held against its own laws and a file the authors' program wrote.

Each test of a hypothesis has the level LEVEL, the chance that it fails where all is right. Of
what is compared with the file, least likely is that its longest gaps are missing: its mean gap,
their variation and the longest of them have p = 0.015, 0.016 and 0.023 by rank among 1,999
streams of the model.
"""

import numpy as np
import pytest
from scipy import integrate, stats

from qmodels.errors import ModelError
from qmodels.io import read_swf
from validation.analysis.seeding import stream
from validation.jobs import LublinStreams

LEVEL = 0.001
DAY = 86400.0
GAMMAS = {  # of the logarithms: short and long run times, gap; and of the half hours of a day
    "all": ((4.2, 0.94), (312.0, 0.03), (10.2303 * 1.0225, 0.4871), (8.1737, 3.9631)),
    "batch": ((6.57, 0.823), (639.1, 0.0156), (6.0415 * 1.0519, 0.8531), (6.1271, 5.2740)),
    "interactive": ((3.8351, 0.6605), (7.073, 0.6856), (6.5510 * 0.9797, 0.6621), (8.9186, 3.6680)),
}
SHORT = {"all": (-0.0054, 0.78), "batch": (-0.003, 0.6986), "interactive": (-0.0118, 0.9156)}
SIZES = {  # serial, power of two, low, middle, high at 128 nodes, first stage
    "all": (0.244, 0.576, 0.8, 4.5, 7.0, 0.86),
    "batch": (0.2927, 0.6686, 1.2, 5.0, 7.0, 0.875),
    "interactive": (0.1541, 0.625, 1.0, 3.0, 5.5, 0.705),
}
kinds = pytest.mark.parametrize("kind", GAMMAS)


def law(shape_scale):
    return stats.gamma(shape_scale[0], scale=shape_scale[1])


def size_chances(kind):
    """Chances of 0, 1, ..., 128 nodes."""
    serial, power, low, middle, high, first = SIZES[kind]

    def below(x):
        left, right = (np.clip((x - a) / (b - a), 0, 1) for a, b in ((low, middle), (middle, high)))
        return first * left + (1 - first) * right

    chances = np.zeros(129)
    chances[1] = serial
    for k in range(8):
        chances[2**k] += power * (below(k + 0.5) - below(k - 0.5))
    edges = np.log2(np.arange(129) + 0.5)
    chances[1:] += (1 - serial - power) * np.diff(below(edges))
    return chances


def run_law(kind, size):
    """P(run time <= x) of jobs of one size, for whole seconds x."""
    (short, long, _, _), (slope, level) = GAMMAS[kind], SHORT[kind]
    chance = min(max(slope * size + level, 0.0), 1.0)

    def below(logs):
        return chance * law(short).cdf(logs) + (1 - chance) * law(long).cdf(logs)

    return lambda x: below(np.log(x + 1)) / below(12.0)


@pytest.mark.thorough
@kinds
def test_sizes_have_the_chances_of_the_model(kind):
    chances = size_chances(kind)
    assert chances.sum() == pytest.approx(1.0, rel=1e-12)
    sizes = LublinStreams(jobs=200_000, kind=kind).draw(rng=stream(21)).sizes
    expected = chances * sizes.size
    cell = (np.cumsum(expected) // 20).astype(int)
    seen = np.bincount(cell, np.bincount(sizes, minlength=129))
    wanted = np.bincount(cell, expected)
    seen, wanted = seen[wanted > 0], wanted[wanted > 0]
    statistic = ((seen - wanted) ** 2 / wanted).sum()
    assert statistic < stats.chi2.isf(LEVEL, wanted.size - 1)


@pytest.mark.thorough
@kinds
@pytest.mark.parametrize("size", [1, 8, 32])
def test_run_times_have_the_law_of_the_model_at_each_size(kind, size):
    jobs = LublinStreams(jobs=100_000, kind=kind).draw(rng=stream(22))
    runs = jobs.demands[jobs.sizes == size]
    assert runs.min() >= 1
    assert (runs == np.floor(runs)).all()
    # Whole seconds: the largest distance is at the jumps.
    at = np.unique(runs)
    distance = np.abs(np.searchsorted(np.sort(runs), at, "right") / runs.size - run_law(kind, size)(at))
    assert distance.max() < stats.kstwo.isf(LEVEL, runs.size)


def test_runs_that_are_drawn_again_leave_the_chance_of_a_long_one_to_the_law_that_is_kept():
    # The short law exceeds two days more often: where it does, both are drawn again.
    grid = (np.arange(100_000) + 0.5) / 100_000
    u = np.column_stack([grid, np.full(grid.size, 0.5)])
    runs = LublinStreams(kind="batch")._drawn_run_times(np.ones(grid.size, dtype=np.int64), u)
    (short, long, _, _), chance = GAMMAS["batch"], 0.6986 - 0.003
    kept = [c * law(gamma).cdf(12.0) for c, gamma in ((chance, short), (1 - chance, long))]
    assert np.mean(runs == runs.min()) == pytest.approx(kept[0] / sum(kept), abs=1e-5)
    assert abs(kept[0] / sum(kept) - chance) > 1e-4


@pytest.mark.thorough
@kinds
def test_gaps_on_the_clock_of_the_day_have_the_law_of_the_model(kind):
    streams = LublinStreams(jobs=50_000, kind=kind)
    arrivals = streams.draw(rng=stream(23)).arrivals
    logs = np.log(np.diff(on_the_cycle(arrivals, streams.daily_cycle)))
    gap = law(GAMMAS[kind][2])
    assert stats.kstest(logs, lambda x: gap.cdf(x) / gap.cdf(13.0)).pvalue > LEVEL
    assert stats.spearmanr(logs[1:], logs[:-1]).pvalue > LEVEL


@kinds
def test_the_mean_gap_is_the_integral_over_the_law(kind):
    gap = law(GAMMAS[kind][2])
    area, _ = integrate.quad(lambda x: np.exp(x) * gap.pdf(x), 0, 13, epsrel=1e-11)
    expected = area / gap.cdf(13.0)
    assert LublinStreams(kind=kind).model_interarrival == pytest.approx(expected, rel=1e-9)


@kinds
def test_the_cycle_of_the_day_is_a_gamma_law_that_begins_at_dawn(kind):
    cycle = LublinStreams(kind=kind).daily_cycle
    half_hours = law(GAMMAS[kind][3])
    # Half hours count from 1 at midnight; those before the 11th belong to the night after.
    numbers = np.array([n if n >= 11 else n + 48 for n in range(1, 49)])
    expected = half_hours.cdf(numbers + 0.5) - half_hours.cdf(numbers - 0.5)
    assert cycle == pytest.approx(expected / expected.mean(), rel=1e-9)
    assert cycle.sum() == pytest.approx(48.0, rel=1e-12)
    assert 12 <= cycle.argmax() / 2 <= 16  # busiest in the afternoon
    assert not cycle.flags.writeable


def test_arrivals_are_those_of_the_step_by_step_rule():
    streams = LublinStreams(jobs=3000)
    cycle = streams.daily_cycle
    arrivals = streams.draw(rng=stream(24)).arrivals
    # Twin: the rule as told, that pays for each half hour in turn out of what the gap holds.
    gaps = np.diff(on_the_cycle(arrivals, cycle), prepend=0.0)
    paid, slot, clock = 0.0, 0, []
    for gap in gaps:
        paid += gap / 1800.0
        while paid > cycle[slot % 48]:
            paid -= cycle[slot % 48]
            slot += 1
        clock.append(1800.0 * (slot + paid / cycle[slot % 48]))
    assert arrivals == pytest.approx(np.array(clock), rel=1e-9)


def test_sizes_never_exceed_a_machine_that_is_no_power_of_two():
    sizes = LublinStreams(jobs=20_000, largest=100).draw(rng=stream(25)).sizes
    assert sizes.max() <= 100
    assert np.mean(sizes == 64) > np.mean(sizes == 100)
    assert LublinStreams(jobs=20_000, kind="interactive").draw(rng=stream(25)).sizes.max() == 45


def test_a_scale_of_time_leaves_the_run_times_alone():
    plain = LublinStreams()
    slow = LublinStreams(mean_interarrival=10 * plain.model_interarrival)
    one, other = (streams.draw(rng=stream(26)) for streams in (plain, slow))
    assert other.arrivals == pytest.approx(10 * one.arrivals, rel=1e-12)
    assert np.array_equal(one.demands, other.demands)


def test_a_larger_machine_leaves_the_arrivals_alone():
    small, large = (LublinStreams(largest=n).draw(rng=stream(27)) for n in (16, 1024))
    assert np.array_equal(small.arrivals, large.arrivals)
    assert (small.sizes <= large.sizes).all()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"largest": 15}, ">= 16"),
        ({"kind": "serial"}, "all, batch, interactive"),
        ({"kind": None}, "kind"),
        ({"kind": ["all"]}, "kind"),
        ({"kind": 1}, "kind"),
    ],
)
def test_bad_input_is_refused(given, words):
    with pytest.raises(ModelError, match=words):
        LublinStreams(**given)


def on_the_cycle(times, cycle):
    """Times of day stretched so that arrivals are as dense by night as by day."""
    clock = np.concatenate([[0.0], np.cumsum(cycle)]) * 1800.0
    days = np.floor(times / DAY)
    return days * DAY + np.interp(times - days * DAY, np.arange(49) * 1800.0, clock)


def cv(values):
    return values.std() / values.mean()


def first_harmonic(times):
    return np.exp(2j * np.pi * (times % DAY) / DAY).mean()


def as_the_program(jobs):
    """Columns as the authors' program prints them: each gap cut to whole seconds."""
    submit = np.cumsum(np.floor(np.diff(jobs.arrivals, prepend=0.0)))
    return submit, jobs.sizes, jobs.demands


STATISTICS = {
    "mean gap": lambda submit, sizes, runs: submit[-1],
    "variation of the gaps": lambda submit, sizes, runs: cv(np.diff(submit)),
    "median gap": lambda submit, sizes, runs: np.median(np.diff(submit)),
    "noon against midnight": lambda submit, sizes, runs: first_harmonic(submit).real,
    "morning against evening": lambda submit, sizes, runs: first_harmonic(submit).imag,
    "share of the night": lambda submit, sizes, runs: np.mean(submit % DAY < 7 * 3600),
    "mean size": lambda submit, sizes, runs: sizes.mean(),
    "variation of the sizes": lambda submit, sizes, runs: cv(sizes),
    "mean run time": lambda submit, sizes, runs: runs.mean(),
    "variation of the run times": lambda submit, sizes, runs: cv(runs),
    "median run time": lambda submit, sizes, runs: np.median(runs),
    "size with run time": lambda submit, sizes, runs: stats.spearmanr(sizes, runs).statistic,
}

MODEL = LublinStreams(jobs=10_000, largest=256)


@pytest.fixture(scope="module")
def file(shared_data):
    jobs = read_swf(shared_data / "swf" / "lublin_256.swf.gz").jobs
    return jobs["submit"].to_numpy(float), jobs["size"].to_numpy(), jobs["run"].to_numpy(float)


@pytest.fixture(scope="module")
def drawn():
    return [MODEL.draw(rng=stream(28, i)) for i in range(100)]


@pytest.mark.thorough
class TestAFileOfTheAuthorsProgram:
    """10,000 jobs on 256 nodes that the program of the model's authors wrote."""

    def test_has_sizes_of_the_same_law(self, file, drawn):
        _, sizes, _ = file
        mine = np.concatenate([jobs.sizes for jobs in drawn[:20]])
        edges = np.unique(np.concatenate([2 ** np.arange(9), 2 ** np.arange(9) + 1, [3, 6, 7, 12]]))
        table = [
            np.bincount(np.searchsorted(edges, x, side="right"), minlength=edges.size + 1)[1:]
            for x in (sizes, mine)
        ]
        cells = np.array(table)[:, np.sum(table, axis=0) > 100]
        assert stats.chi2_contingency(cells).pvalue > LEVEL

    @pytest.mark.parametrize(
        ("what", "chance"),
        [
            (lambda sizes: sizes == 1, 0.244),
            (lambda sizes: (sizes > 1) & ((sizes & (sizes - 1)) == 0), None),
        ],
        ids=["one node", "powers of two"],
    )
    def test_has_as_many_jobs_of_a_marked_size(self, file, drawn, what, chance):
        sizes = file[1]
        if chance is None:
            chance = np.mean(what(np.concatenate([jobs.sizes for jobs in drawn])))
        assert stats.binomtest(int(what(sizes).sum()), sizes.size, chance).pvalue > LEVEL

    @pytest.mark.parametrize(("low", "high"), [(1, 1), (2, 8), (9, 32), (33, 64), (65, 256)])
    def test_has_run_times_of_the_same_law_at_each_size(self, file, drawn, low, high):
        _, sizes, runs = file
        mine = [jobs.demands[(jobs.sizes >= low) & (jobs.sizes <= high)] for jobs in drawn[:20]]
        theirs = runs[(sizes >= low) & (sizes <= high)]
        assert stats.ks_2samp(theirs, np.concatenate(mine)).pvalue > LEVEL

    def test_has_gaps_of_the_same_law_on_the_clock_of_the_day(self, file):
        # The program cuts gaps to whole seconds but not its clock: half a second a job is missing.
        submit = file[0] + 0.5 * np.arange(1, 10_001)
        logs = np.log(np.maximum(np.diff(on_the_cycle(submit, MODEL.daily_cycle)), 1.0))
        gap = law(GAMMAS["all"][2])
        assert stats.kstest(logs, lambda x: gap.cdf(x) / gap.cdf(13.0)).pvalue > LEVEL
        assert stats.spearmanr(logs[1:], logs[:-1]).pvalue > LEVEL

    @pytest.mark.parametrize("name", STATISTICS)
    def test_lies_among_streams_of_the_model(self, file, drawn, name):
        values = [STATISTICS[name](*as_the_program(jobs)) for jobs in drawn]
        # Student's prediction interval: for sums of 10,000 terms, close to normal.
        n = len(values)
        width = stats.t.isf(LEVEL / 2, n - 1) * np.std(values, ddof=1) * (1 + 1 / n) ** 0.5
        assert abs(STATISTICS[name](*file) - np.mean(values)) < width

    @pytest.mark.slow
    def test_is_not_the_extreme_one_among_two_thousand(self, file):
        # Of 1,999 streams and the file each is first or last with chance 1 in 1,000.
        streams = (as_the_program(MODEL.draw(rng=stream(29, i))) for i in range(1999))
        values = [[of(*columns) for of in STATISTICS.values()] for columns in streams]
        told = np.array([of(*file) for of in STATISTICS.values()])
        assert (np.min(values, axis=0) < told).all()
        assert (told < np.max(values, axis=0)).all()
