"""Checkpoints found in made traces, whose interval, size and duration are known.

Outside what the search assumes, listed before the first run: writes at random times, two periodic
kinds at once, checkpoints in many small pieces, an interval that grows, a log written all the time,
a run that only reads, a heatmap's bins, and checkpoints written behind the work.
"""

from __future__ import annotations

import numpy as np
import pytest

from qmodels.errors import ModelError
from qmodels.programs.bursts import find_checkpoints
from qmodels.programs.traces import IOTotals, Trace


class Made:
    """Segments of a run, added kind by kind."""

    def __init__(self, duration, ranks=2):
        self.duration, self.ranks = duration, ranks
        self.segments = []

    def put(self, start, length, size, *, pieces=4, pause=0.0, kind="write"):
        """A burst of so many pieces of each rank, pauses in between."""
        each = (length - (pieces - 1) * pause) / pieces
        for rank in range(self.ranks):
            for k in range(pieces):
                begin = start + k * (each + pause)
                self.segments.append((rank, begin, begin + each, kind, size // self.ranks // pieces))

    def trace(self, **more):
        rank, start, end, kind, moved = zip(*self.segments, strict=True)
        return Trace(
            rank, start, np.minimum(end, self.duration), kind, self.ranks, self.duration, bytes=moved, **more
        )


def checkpoints(rng, *, work=600.0, length=40.0, size=8 * 10**9, count=15, jitter=0.0, missing=0.0, **how):
    made = Made((count + 1.5) * (work * 1.3 + length))
    now, true = 0.0, []
    for k in range(count):
        now += work * (1 + jitter * rng.uniform(-1, 1))
        if k in (0, count - 1) or rng.random() >= missing:
            made.put(now, length, size, **how)
            true.append(now)
            now += length
    made.duration = now + work
    return made, np.array(true)


@pytest.fixture
def rng():
    return np.random.default_rng(20261122)


@pytest.mark.thorough
@pytest.mark.parametrize("jitter", [0.0, 0.1, 0.2])
@pytest.mark.parametrize("missing", [0.0, 0.1, 0.2])
def test_periodic_checkpoints_are_found_with_jitter_gaps_and_other_writes(rng, jitter, missing):
    """Of 25 runs of each kind all are found; the middle interval is off by its own error.

    Where each comes up to 20 % early or late and a fifth is missing, chance could do as well in
    some: up to two may be refused.
    """
    refused = 0
    for _ in range(25):
        work, length = rng.uniform(300, 3000), rng.uniform(10, 60)
        size = int(10 ** rng.uniform(9, 12))
        made, true = checkpoints(
            rng, work=work, length=length, size=size, jitter=jitter, missing=missing, count=20
        )
        for start in rng.uniform(0, made.duration - 10, 100):  # a log, and output at odd times
            made.put(start, 0.1, size // 10**5, pieces=1)
        for start in rng.uniform(0, made.duration - 100, 3):
            made.put(start, 20.0, size // 7, pieces=2)
        try:
            found = find_checkpoints(made.trace())
        except ModelError:
            refused += 1
            continue
        # Uniform jitter has a deviation of jitter/sqrt(3), the median of n values 1.25/sqrt(n).
        error = 4 * 1.25 * jitter / np.sqrt(3 * (len(found) - 1)) + 0.02
        assert found.interval == pytest.approx(work, rel=error)
        assert found.size == pytest.approx(size, rel=0.02)
        assert found.duration == pytest.approx(length, rel=0.05, abs=2.5)
        assert abs(len(found) - true.size) <= 2
    assert refused <= (2 if jitter == missing == 0.2 else 0)


def test_missing_checkpoints_are_counted_and_told(rng):
    made = Made(10_000.0)
    for k in range(1, 15):
        if k not in (4, 9):
            made.put(600.0 * k, 30.0, 10**9)
    found = find_checkpoints(made.trace())
    assert (found.missing, len(found)) == (2, 12)
    assert found.interval == pytest.approx(570.0)
    assert "2 checkpoints are missing" in found.remarks[0]


def test_what_is_written_beside_the_checkpoints_is_told_as_a_share():
    made = Made(10_000.0)
    for k in range(1, 16):
        made.put(600.0 * k, 30.0, 10**9)
    made.put(300.0, 30.0, 5 * 10**9)  # 5 of 20
    found = find_checkpoints(made.trace())
    assert found.size == pytest.approx(1e9)
    assert "25% of the bytes written are not theirs, and are taken for other output." in found.remarks


def test_four_writes_at_equal_intervals_are_checkpoints():
    made = Made(3_000.0)
    for k in range(1, 5):
        made.put(600.0 * k, 30.0, 10**9)
    found = find_checkpoints(made.trace())
    assert (len(found), found.interval) == (4, pytest.approx(570.0))


def test_checkpoints_in_many_pieces_are_one_each(rng):
    made, true = checkpoints(rng, pieces=25, pause=1.0, length=100.0, work=400.0)
    found = find_checkpoints(made.trace())
    assert found.start == pytest.approx(true)
    assert (found.size, found.duration) == (pytest.approx(8e9, rel=1e-3), pytest.approx(100.0))


def test_of_two_periodic_kinds_the_one_that_writes_more_is_taken_and_the_other_told(rng):
    made = Made(40_000.0)
    for k in range(1, 13):
        made.put(3000.0 * k, 100.0, 10**11)
    for k in range(1, 70):
        made.put(530.0 * k + 150, 2.0, 10**8)
    found = find_checkpoints(made.trace())
    assert found.interval == pytest.approx(2900.0, rel=0.01)
    assert found.size == pytest.approx(1e11, rel=0.01)


def test_an_interval_that_grows_is_told_or_refused(rng):
    made, now = Made(80_000.0), 0.0
    for k in range(10):
        now += 200.0 * 1.5**k
        made.put(now, 20.0, 10**9)
    with pytest.raises(ModelError, match="no 4 writes of like size recur"):
        find_checkpoints(made.trace())
    made, now = Made(20_000.0), 0.0
    for k in range(10):
        now += 500.0 * 1.04**k
        made.put(now, 20.0, 10**9)
    assert any("vary by" in remark for remark in find_checkpoints(made.trace()).remarks)


@pytest.mark.thorough
def test_writes_at_random_times_are_seldom_taken_for_checkpoints(rng):
    """Of 100 runs of 12 equal writes at random times, at most a tenth, at 12 thresholds."""
    taken = 0
    for _ in range(100):
        made = Made(12_000.0)
        for start in np.sort(rng.uniform(0, 11_900, 12)):
            made.put(start, 5.0, 10**9, pieces=1)
        try:
            found = find_checkpoints(made.trace())
        except ModelError:
            continue
        taken += 1
        assert found.remarks
    assert taken <= 10


def test_a_run_without_checkpoints_is_refused_with_what_to_give():
    made = Made(1000.0)
    for k in range(8):
        made.put(100.0 * k, 5.0, 10**9, kind="read")
    with pytest.raises(ModelError, match="no writes of a known size"):
        find_checkpoints(made.trace())
    made.put(500.0, 5.0, 10**9)
    with pytest.raises(ModelError, match="--interval and --size"):
        find_checkpoints(made.trace())
    totals = IOTotals([-1], [6.0], [1.0], [1.0], [10], [10], [0.0], [9.0])
    bare = Trace([], [], [], [], 4, 10.0, complete=False, totals=totals)
    with pytest.raises(ModelError, match="DXT_ENABLE_IO_TRACE=1"):
        find_checkpoints(bare)
    with pytest.raises(ModelError, match="must be a Trace"):
        find_checkpoints([1, 2])


def test_bins_of_a_heatmap_and_writing_behind_the_work_are_told(rng):
    made, _ = checkpoints(rng)
    for rank in range(2):
        made.segments.append((rank, 0.0, made.duration, "compute", -1))
    said = " ".join(find_checkpoints(made.trace(resolution=0.5)).remarks)
    assert "bins of 0.5 s" in said
    assert "behind the work" in said


def test_few_checkpoints_are_told(rng):
    made, _ = checkpoints(rng, count=5)
    assert "5 checkpoints only" in find_checkpoints(made.trace()).remarks[0]
