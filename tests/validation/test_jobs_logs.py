"""Streams played back from a log: what is kept, what is left out, and how it is sped up."""

import numpy as np
import pytest

from qmodels.errors import ModelError
from qmodels.io import JobLog, read_swf
from validation.analysis.seeding import stream
from validation.jobs import LogStreams

COLUMNS = {
    "submit": [100, 100, 160, 220, 400, 430],
    "run": [30.0, 0.0, 40.0, -1.0, 5.0, 7.5],
    "processors": [4, 8, -1, 16, 2, 300],
    "requested_processors": [4, 8, -1, 16, 2, 300],
    "requested_time": [60.0, -1.0, 9.0, 50.0, 0.0, 7.0],
}


def log(**changed):
    return JobLog("made", COLUMNS | changed)


def drawn(source, seed=1):
    return source.draw(rng=stream(seed))


def plain(jobs=5):
    """A log whose jobs can be told apart by their sizes."""
    submit = [0, 3, 10, 30, 100][:jobs]
    size = np.arange(1, jobs + 1)
    return JobLog("plain", {"submit": submit, "run": size * 10.0, "processors": size})


def test_a_log_is_played_in_its_own_order_with_its_own_gaps():
    jobs = drawn(LogStreams(log()))
    assert jobs.arrivals.tolist() == [0.0, 0.0, 300.0, 330.0]
    assert jobs.sizes.tolist() == [4, 8, 2, 300]
    assert jobs.demands.tolist() == [30.0, 1.0, 5.0, 7.5]
    assert jobs.estimates.tolist() == [60.0, 1.0, 5.0, 7.0]


def test_what_is_left_out_or_changed_is_said_and_counted():
    assert LogStreams(log(), largest=7).warnings == (
        "Jobs without a size, left out: 1.",
        "Jobs without a run time, left out: 1.",
        "Jobs larger than 7 nodes, cut down to it: 2.",
        "Jobs with a run time of 0, taken as one second: 1.",
        "Jobs without a requested time, whose estimate is the run time: 2.",
    )
    assert LogStreams(log(), largest=7, oversize="drop").warnings[2:] == (
        "Jobs larger than 7 nodes, left out: 2.",
        "Jobs without a requested time, whose estimate is the run time: 1.",
    )
    assert "requested time" in LogStreams(plain()).warnings[0]
    asked = JobLog("asked", {"submit": [0], "run": [1.0], "processors": [1], "requested_time": [2]})
    assert LogStreams(asked).warnings == ()


def test_jobs_that_are_too_large_are_cut_down_or_left_out():
    assert drawn(LogStreams(log(), largest=4)).sizes.tolist() == [4, 4, 2, 4]
    dropped = drawn(LogStreams(log(), largest=4, oversize="drop"))
    assert dropped.sizes.tolist() == [4, 2]
    assert dropped.arrivals.tolist() == [0.0, 300.0]


def test_a_log_without_run_times_has_no_demands():
    streams = LogStreams(log(run=[-1.0] * 6))
    jobs = drawn(streams)
    assert jobs.sizes.tolist() == [4, 8, 16, 2, 300]
    assert jobs.demands is None
    assert jobs.estimates is None
    assert streams.warnings[-1] == "No job has a run time; the streams have no demands."


def test_a_run_time_below_a_second_stays():
    short = JobLog("short", {"submit": [0, 1], "run": [0.25, 0.0], "processors": [1, 1]})
    assert drawn(LogStreams(short)).demands.tolist() == [0.25, 1.0]


def test_every_stream_that_begins_with_the_first_job_is_the_same():
    streams = LogStreams(plain(), jobs=3)
    for seed in range(5):
        jobs = drawn(streams, seed)
        assert jobs.sizes.tolist() == [1, 2, 3]
        assert jobs.arrivals.tolist() == [0.0, 3.0, 10.0]


def test_a_stream_that_begins_anywhere_goes_round_by_way_of_the_mean_gap():
    streams = LogStreams(plain(), start="random")
    expected = {
        first: np.cumsum([0.0, *np.roll([3.0, 7.0, 20.0, 70.0, 25.0], -first)[:-1]]).tolist()
        for first in range(5)
    }
    seen = set()
    for seed in range(60):
        jobs = drawn(streams, seed)
        first = int(jobs.sizes[0]) - 1
        assert jobs.sizes.tolist() == np.roll([1, 2, 3, 4, 5], -first).tolist()
        assert jobs.demands.tolist() == (10.0 * jobs.sizes).tolist()
        assert jobs.arrivals.tolist() == expected[first]
        seen.add(first)
    assert seen == set(range(5))


def test_arrivals_are_sped_up_by_a_factor_or_to_a_mean_gap():
    halved = LogStreams(plain(), arrival_factor=0.5)
    assert drawn(halved).arrivals.tolist() == [0.0, 1.5, 5.0, 15.0, 50.0]
    assert drawn(halved).demands.tolist() == drawn(LogStreams(plain())).demands.tolist()
    paced = LogStreams(plain(), mean_interarrival=5.0)
    assert paced.factor == 0.2
    assert np.diff(drawn(paced).arrivals).mean() == pytest.approx(5.0, rel=1e-14)
    assert drawn(paced).offered(8) == pytest.approx(5 * drawn(LogStreams(plain())).offered(8))


def test_the_factor_is_that_of_the_whole_log_for_part_of_it_as_well():
    part = drawn(LogStreams(plain(), jobs=3, mean_interarrival=5.0))
    assert part.arrivals == pytest.approx([0.0, 0.6, 2.0], rel=1e-14)


def test_the_mean_gap_is_that_of_the_jobs_that_are_kept():
    kept = LogStreams(log(), largest=8, oversize="drop", mean_interarrival=30.0)
    assert drawn(kept).arrivals.tolist() == [0.0, 0.0, 60.0]


def test_a_log_of_one_job_is_a_stream_of_one_job():
    for start in ("first", "random"):
        assert drawn(LogStreams(plain(1), start=start)).arrivals.tolist() == [0.0]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"log": None}, "JobLog"),
        ({"log": "a.swf"}, "JobLog"),
        ({"log": log().jobs}, "JobLog"),
        ({"jobs": 0}, "jobs"),
        ({"jobs": 5}, "at most the 4 usable"),
        ({"jobs": 2.0}, "jobs"),
        ({"jobs": True}, "jobs"),
        ({"mean_interarrival": 0.0}, "mean_interarrival"),
        ({"mean_interarrival": np.nan}, "mean_interarrival"),
        ({"mean_interarrival": "2"}, "mean_interarrival"),
        ({"mean_interarrival": True}, "mean_interarrival"),
        ({"mean_interarrival": 1e-322}, "over that of the log"),
        ({"arrival_factor": 0.0}, "arrival_factor"),
        ({"arrival_factor": None}, "arrival_factor"),
        ({"arrival_factor": np.inf}, "arrival_factor"),
        ({"arrival_factor": 0.5, "mean_interarrival": 3.0}, "not both"),
        ({"largest": 0}, "largest"),
        ({"largest": 2**31}, "largest"),
        ({"largest": 8.0}, "largest"),
        ({"largest": 1, "oversize": "drop"}, "none of 6 jobs is usable"),
        ({"log": log(processors=[0] * 6, requested_processors=[0] * 6)}, "size, left out: 6"),
        ({"log": plain(1), "mean_interarrival": 3.0}, "submitted apart"),
        ({"oversize": "keep"}, "one of clip, drop, got 'keep'"),
        ({"oversize": None}, "oversize"),
        ({"start": "last"}, "one of first, random, got 'last'"),
        ({"start": 0}, "start"),
        ({"start": ["first"]}, "start"),
    ],
)
def test_bad_input_is_refused(given, words):
    with pytest.raises(ModelError, match=words):
        LogStreams(**({"log": log()} | given))


def cv(values):
    return values.std() / values.mean()


def shape(streams):
    jobs = drawn(streams)
    gaps = np.diff(jobs.arrivals)
    return gaps.mean(), cv(gaps), jobs.sizes.mean(), cv(jobs.sizes)


def test_the_paragon_as_streams_is_that_of_its_description(shared_data):
    quarter = shared_data / "swf" / "derived_SDSC-Par-1996Q4-batch-completed.swf.gz"
    streams = LogStreams(read_swf(quarter))
    assert streams.jobs == 4787
    gap, gap_cv, size, size_cv = shape(streams)
    assert (round(gap), round(gap_cv, 2), round(size, 1), round(size_cv, 2)) == (
        1657,
        3.54,
        18.2,
        1.26,
    )
    # Sped up or not, the shape of the gaps is that of the log.
    assert shape(LogStreams(read_swf(quarter), mean_interarrival=20.0))[:2] == pytest.approx(
        (20.0, gap_cv), rel=1e-9
    )


def test_the_batch_partition_of_the_paragon_fits_its_352_nodes(shared_data):
    read = read_swf(shared_data / "swf" / "SDSC-Par-1996-3.1-cln.swf.gz", partition=2)
    streams = LogStreams(read, largest=352)
    jobs = drawn(streams)
    assert jobs.jobs == streams.jobs == len(read.jobs)
    assert not any("larger" in sentence for sentence in streams.warnings)
    submit = read.jobs["submit"].to_numpy(float)
    assert np.array_equal(jobs.arrivals, submit - submit[0])
    assert np.array_equal(jobs.sizes, read.jobs["size"])


def test_a_log_larger_than_the_machine_keeps_its_estimates(shared_data):
    read = read_swf(shared_data / "swf" / "KTH-SP2-1996-2.1-cln.swf.gz")
    streams = LogStreams(read, largest=64)
    rows = read.jobs[read.jobs["size"] > 0]
    large = int((rows["size"] > 64).sum())
    assert f"Jobs larger than 64 nodes, cut down to it: {large}." in streams.warnings
    assert streams.jobs == len(rows)
    assert np.array_equal(drawn(streams).estimates, rows["requested_time"])
