"""What every stream of jobs is, and what every source of them promises."""

import pickle

import numpy as np
import pytest

from phasefit import PhaseType
from qmodels.errors import ModelError
from qmodels.io import JobLog
from validation.analysis.seeding import stream
from validation.jobs import (
    STREAMS,
    AbstractStreams,
    BatchStreams,
    BoxStreams,
    JobStream,
    LogStreams,
    LublinStreams,
    PoissonStreams,
    SurrogateStreams,
    register,
)
from validation.jobs.bounded_pareto import BoundedPareto


def a_log(jobs=40):
    own = np.random.default_rng(5)
    columns = {
        "submit": np.cumsum(own.integers(0, 90, size=jobs)),
        "run": own.integers(0, 500, size=jobs).astype(float),
        "processors": own.integers(1, 60, size=jobs),
    }
    return JobLog("made", columns)


SOURCES = {
    "poisson": PoissonStreams(mean_interarrival=5.0, jobs=50, demand=PhaseType.exponential(mean=2)),
    "boxes": BoxStreams(mean_interarrival=4.0, within=(3, 3, 3), jobs=50),
    "batch": BatchStreams(jobs=50),
    "surrogate": SurrogateStreams(mean_interarrival=5.0, jobs=50),
    "log": LogStreams(a_log(), start="random", largest=32),
    "lublin": LublinStreams(jobs=50),
}
LARGEST = {"poisson": 352, "batch": 256, "surrogate": 352, "log": 32, "lublin": 128, "boxes": 27}


def columns(jobs):
    return [jobs.arrivals, jobs.sizes, jobs.demands, jobs.estimates]


def same(one, other):
    return all(
        (a is None and b is None) or np.array_equal(a, b)
        for a, b in zip(columns(one), columns(other), strict=True)
    )


def test_every_source_has_its_place_in_the_registry():
    assert {name: type(source) for name, source in SOURCES.items()} == STREAMS


def test_a_second_source_of_a_name_is_refused():
    class Other(BatchStreams):
        name = "batch"

    with pytest.raises(ModelError, match="'batch' already"):
        register(Other)
    assert STREAMS["batch"] is BatchStreams


@pytest.mark.parametrize("name", SOURCES)
class TestEverySource:
    def test_gives_the_same_jobs_to_the_same_generator(self, name):
        first, again, other = (SOURCES[name].draw(rng=stream(3, i)) for i in (0, 0, 1))
        assert same(first, again)
        assert not same(first, other)

    def test_gives_jobs_that_fit_its_largest_size_in_order_of_arrival(self, name):
        jobs = SOURCES[name].draw(rng=stream(4))
        assert jobs.jobs == (40 if name == "log" else 50)
        assert jobs.sizes.min() >= 1
        assert jobs.sizes.max() <= LARGEST[name]
        assert (np.diff(jobs.arrivals) >= 0).all()
        assert jobs.arrivals[0] == 0 or name == "lublin"

    def test_survives_the_way_to_another_process(self, name):
        sent = pickle.loads(pickle.dumps(SOURCES[name]))
        assert same(sent.draw(rng=stream(5)), SOURCES[name].draw(rng=stream(5)))

    @pytest.mark.parametrize("rng", [None, 1, np.random.RandomState(1)])
    def test_wants_a_generator(self, name, rng):
        with pytest.raises(ModelError, match="rng"):
            SOURCES[name].draw(rng=rng)

    def test_says_so_where_its_generator_cannot_spawn(self, name):
        class Plain(np.random.bit_generator.ISeedSequence):
            def generate_state(self, n_words, dtype=np.uint32):
                return np.arange(1, n_words + 1, dtype=dtype)

        with pytest.raises(ModelError, match="cannot spawn"):
            SOURCES[name].draw(rng=np.random.Generator(np.random.PCG64(Plain())))


@pytest.mark.parametrize(
    ("slow", "fast"),
    [
        (PoissonStreams(mean_interarrival=8.0), PoissonStreams(mean_interarrival=2.0)),
        (
            SurrogateStreams(mean_interarrival=8.0, jobs=1000),
            SurrogateStreams(mean_interarrival=2.0, jobs=1000),
        ),
        (LublinStreams(mean_interarrival=8.0), LublinStreams(mean_interarrival=2.0)),
        (
            LogStreams(a_log(), mean_interarrival=8.0, start="random"),
            LogStreams(a_log(), mean_interarrival=2.0, start="random"),
        ),
    ],
    ids=["poisson", "surrogate", "lublin", "log"],
)
def test_another_mean_interarrival_gives_the_same_jobs_and_the_same_gaps_up_to_scale(slow, fast):
    one, other = slow.draw(rng=stream(6)), fast.draw(rng=stream(6))
    assert np.array_equal(one.sizes, other.sizes)
    assert one.arrivals == pytest.approx(4.0 * other.arrivals, rel=1e-12, abs=0)


@pytest.mark.parametrize("kind", [PoissonStreams, SurrogateStreams, BatchStreams, LublinStreams])
def test_a_longer_stream_begins_with_the_shorter(kind):
    given = {} if kind in (BatchStreams, LublinStreams) else {"mean_interarrival": 3.0}
    short, long = (kind(jobs=n, **given).draw(rng=stream(7)) for n in (20, 300))
    assert same(short, long.head(20))


@pytest.mark.parametrize("kind", [PoissonStreams, SurrogateStreams])
def test_a_law_of_demand_leaves_gaps_and_sizes_alone(kind):
    laws = [None, PhaseType.exponential(mean=85.0), BoundedPareto(15.0, 4241.0, 1.0)]
    plain, light, heavy = (
        kind(mean_interarrival=3.0, jobs=60, demand=law).draw(rng=stream(8)) for law in laws
    )
    assert plain.demands is None
    assert not np.array_equal(light.demands, heavy.demands)
    for other in (light, heavy):
        assert np.array_equal(plain.arrivals, other.arrivals)
        assert np.array_equal(plain.sizes, other.sizes)


def test_a_source_of_ones_own_may_give_boxes_with_heavy_tailed_demands():
    class Boxes(AbstractStreams):
        name = "boxes"

        def draw(self, *, rng):
            sides = rng.integers(1, 9, size=(30, 3))
            return JobStream(
                arrivals=np.cumsum(rng.exponential(10.0, size=30)),
                sizes=sides.prod(axis=1),
                demands=BoundedPareto(15.0, 4241.0, 1.0).rvs(30, rng),
                shapes=[tuple(int(side) for side in row) for row in sides],
            )

    jobs = Boxes().draw(rng=stream(9))
    assert [int(np.prod(shape)) for shape in jobs.shapes] == jobs.sizes.tolist()
    assert jobs.head(3).shapes == jobs.shapes[:3]
    assert jobs.to_frame()["shape"].tolist() == list(jobs.shapes)
    assert Boxes not in STREAMS.values()


class TestAStream:
    jobs = JobStream(
        arrivals=[1.0, 3.0, 3.0, 9.0],
        sizes=[4, 1, 2, 6],
        demands=[3.0, 1.0, 5.0, 2.0],
        shapes=[(2, 2), None, None, (1, 2, 3)],
    )

    def test_offers_jobs_per_time_times_mean_work_over_the_nodes(self):
        # 3 gaps in 8; work 12 + 1 + 10 + 12 = 35 over 4 jobs; 16 nodes.
        assert self.jobs.offered(16) == pytest.approx(3 / 8 * 35 / 4 / 16, rel=1e-14)

    def test_offers_less_when_the_arrivals_are_spread(self):
        assert self.jobs.scaled(2.5).offered(16) == pytest.approx(self.jobs.offered(16) / 2.5)

    def test_takes_its_demands_for_estimates_unless_given_others(self):
        assert np.array_equal(self.jobs.estimates, self.jobs.demands)
        told = JobStream(arrivals=[0.0], sizes=[1], demands=[2.0], estimates=[7.0])
        assert told.estimates.tolist() == [7.0]
        assert JobStream(arrivals=[0.0], sizes=[1]).estimates is None

    def test_keeps_all_columns_in_its_head(self):
        head = self.jobs.head(3)
        assert head.arrivals.tolist() == [1.0, 3.0, 3.0]
        assert head.sizes.tolist() == [4, 1, 2]
        assert head.demands.tolist() == head.estimates.tolist() == [3.0, 1.0, 5.0]
        assert head.shapes == ((2, 2), None, None)
        assert self.jobs.head(4).jobs == self.jobs.jobs == 4

    def test_scales_its_arrivals_alone(self):
        scaled = self.jobs.scaled(0.5)
        assert scaled.arrivals.tolist() == [0.5, 1.5, 1.5, 4.5]
        assert same(scaled, JobStream(**(vars(self.jobs) | {"arrivals": scaled.arrivals})))
        assert scaled.shapes == self.jobs.shapes

    def test_gives_a_row_per_job(self):
        frame = self.jobs.to_frame()
        assert list(frame) == ["arrival", "size", "demand", "estimate", "shape"]
        assert frame["shape"].tolist() == [(2, 2), None, None, (1, 2, 3)]
        assert list(JobStream(arrivals=[0], sizes=[1]).to_frame()) == ["arrival", "size"]

    def test_cannot_be_edited_behind_a_machine_that_plays_it(self):
        given = np.array([0.0, 1.0])
        jobs = JobStream(arrivals=given, sizes=[1, 2], demands=given + 1, estimates=given + 2)
        given[0] = 0.5
        assert jobs.arrivals[0] == 0.0
        assert not any(column.flags.writeable for column in columns(jobs))

    def test_is_named_without_a_load_where_there_is_none(self):
        with pytest.raises(ModelError, match="needs demands"):
            JobStream(arrivals=[0, 1], sizes=[1, 1]).offered(4)
        with pytest.raises(ModelError, match="arrive at once"):
            BatchStreams(demand=PhaseType.exponential(mean=1)).draw(rng=stream(1)).offered(4)
        with pytest.raises(ModelError, match="too large"):
            JobStream(arrivals=[0, 1e-300], sizes=[1, 1], demands=[1e300, 1e300]).offered(1)

    def test_of_extreme_times_still_offers_its_load(self):
        jobs = JobStream(arrivals=[0, 1.5e308], sizes=[4, 4], demands=[1.5e308, 1.5e308])
        assert jobs.offered(8) == pytest.approx(0.5, rel=1e-12)


HOSTILE = [float("nan"), float("inf"), None, "many", [1], -1, 0, True, 1e400, 2.5, b"3", object()]


def ids(value):
    return f"{value!r:.12}"


class TestBadInputIsRefused:
    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ({"arrivals": []}, "non-empty"),
            ({"arrivals": [[0, 1]]}, "vector"),
            ({"arrivals": [-1, 0]}, ">= 0"),
            ({"arrivals": [1, 0]}, "must not decrease"),
            ({"arrivals": [0, np.nan]}, "finite"),
            ({"arrivals": [0, np.inf]}, "finite"),
            ({"arrivals": [0, None]}, "real numbers"),
            ({"arrivals": ["a", "b"]}, "real numbers"),
            ({"arrivals": [True, True]}, "real numbers"),
            ({"arrivals": None}, "real numbers"),
            ({"arrivals": [[0], [1, 2]]}, "array of numbers"),
            ({"sizes": [1]}, "1 sizes but 2"),
            ({"sizes": [1, 0]}, r"sizes\[1\] must be a whole"),
            ({"sizes": [1, -3]}, r"sizes\[1\]"),
            ({"sizes": [1, 1.5]}, r"sizes\[1\]"),
            ({"sizes": [1, 2**31]}, r"sizes\[1\]"),
            ({"sizes": [1, np.nan]}, "finite"),
            ({"sizes": ["1", "2"]}, "real numbers"),
            ({"demands": [1.0]}, "1 demands but 2"),
            ({"demands": [1.0, 0.0]}, r"demands\[1\] must be > 0"),
            ({"demands": [1.0, np.nan]}, "finite"),
            ({"demands": 3.0}, "vector"),
            ({"estimates": [1.0, -2.0]}, r"estimates\[1\] must be > 0"),
            ({"estimates": [1.0, 2.0, 3.0]}, "3 estimates but 2"),
            ({"shapes": [None]}, "2 shapes"),
            ({"shapes": 5}, "2 shapes"),
            ({"shapes": "ab"}, "2 shapes"),
            ({"shapes": [None, (1, 1)]}, r"shapes\[1\] is 1 x 1, 1 nodes"),
            ({"shapes": [None, (2,)]}, "2 or 3 sides"),
            ({"shapes": [None, (2, 1, 1, 1)]}, "2 or 3 sides"),
            ({"shapes": [None, (-2, -1)]}, r"shapes\[1\] must be >= 1"),
            ({"shapes": [None, (2.0, 1)]}, r"shapes\[1\] must be a whole"),
            ({"shapes": [None, 2]}, "2 or 3 sides"),
        ],
    )
    def test_by_a_stream(self, given, words):
        with pytest.raises(ModelError, match=words):
            JobStream(**({"arrivals": [0, 1], "sizes": [1, 2]} | given))

    @pytest.mark.parametrize("count", [*HOSTILE, 3, 2.0, 10**30], ids=ids)
    def test_by_the_head_of_a_stream(self, count):
        with pytest.raises(ModelError, match="count"):
            JobStream(arrivals=[0, 1], sizes=[1, 2]).head(count)

    @pytest.mark.parametrize("factor", [v for v in HOSTILE if v not in (2.5,)] + [1e308], ids=ids)
    def test_by_the_scale_of_a_stream(self, factor):
        with pytest.raises(ModelError, match=r"factor|arrivals\[1\] is inf"):
            JobStream(arrivals=[0, 10], sizes=[1, 2]).scaled(factor)

    @pytest.mark.parametrize("nodes", HOSTILE, ids=ids)
    def test_by_the_load_of_a_stream(self, nodes):
        with pytest.raises(ModelError, match="nodes"):
            JobStream(arrivals=[0, 10], sizes=[1, 2], demands=[1, 1]).offered(nodes)

    @pytest.mark.parametrize("kind", [PoissonStreams, BatchStreams, SurrogateStreams, LublinStreams])
    @pytest.mark.parametrize("field", ["jobs", "largest"])
    @pytest.mark.parametrize("value", [*HOSTILE, 10**12], ids=ids)
    def test_by_the_counts_of_a_source(self, kind, field, value):
        given = {} if kind in (BatchStreams, LublinStreams) else {"mean_interarrival": 3.0}
        with pytest.raises(ModelError, match=field):
            kind(**given, **{field: value})

    @pytest.mark.parametrize(
        ("kind", "field"),
        [
            (PoissonStreams, "mean_interarrival"),
            (PoissonStreams, "mean_size"),
            (BatchStreams, "mean_size"),
            (SurrogateStreams, "mean_interarrival"),
            (SurrogateStreams, "mean_size"),
            (SurrogateStreams, "cv_size"),
            (SurrogateStreams, "cv_interarrival"),
            (LublinStreams, "mean_interarrival"),
        ],
    )
    @pytest.mark.parametrize("value", [v for v in HOSTILE if v != 2.5], ids=ids)
    def test_by_the_numbers_of_a_source(self, kind, field, value):
        if kind is LublinStreams and value is None:
            assert kind(**{field: value}).mean_interarrival is None
            return
        given = {} if kind in (BatchStreams, LublinStreams) else {"mean_interarrival": 3.0}
        with pytest.raises(ModelError, match=field):
            kind(**(given | {field: value}))

    @pytest.mark.parametrize("field", ["cv_size", "cv_interarrival"])
    def test_where_a_variation_is_beyond_what_a_sample_shows(self, field):
        with pytest.raises(ModelError, match="at most 1000"):
            SurrogateStreams(mean_interarrival=1.0, **{field: 1001.0})

    @pytest.mark.parametrize("law", ["exponential", 3.0, [1.0, 2.0], dict, object()], ids=ids)
    @pytest.mark.parametrize("kind", [PoissonStreams, BatchStreams, SurrogateStreams])
    def test_by_the_demand_of_a_source(self, kind, law):
        given = {} if kind is BatchStreams else {"mean_interarrival": 3.0}
        with pytest.raises(ModelError, match="demand must be a law"):
            kind(demand=law, **given)

    @pytest.mark.parametrize("values", [-1.0, 0.0, np.nan, np.inf, "a"], ids=ids)
    def test_from_a_law_of_demand_that_gives_nonsense(self, values):
        class Law:
            def rvs(self, size, random_state):
                return np.full(size, values)

        with pytest.raises(ModelError, match="demands"):
            BatchStreams(demand=Law()).draw(rng=stream(1))

    @pytest.mark.parametrize(
        "source",
        [
            PoissonStreams(mean_interarrival=1.7e308),
            SurrogateStreams(mean_interarrival=1.7e308),
            LublinStreams(mean_interarrival=1.7e308),
            LogStreams(a_log(), arrival_factor=1.7e308),
        ],
        ids=lambda source: source.name,
    )
    def test_where_the_times_leave_the_floats(self, source):
        with pytest.raises(ModelError, match=r"too late|is inf"):
            source.draw(rng=stream(2))
