"""Whether simple laws move a forecast beyond the runs, and no farther than they may."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from qmodels.io.runs import RunTable
from qmodels.programs import fit_runs
from qmodels.programs.scaling.pooling import pooled
from qmodels.programs.scaling.votes import FARTHEST, voted

P = np.array([1.0, 2.0, 4.0, 8.0])
FAR = np.array([16.0, 64.0])


def said(seconds, middle, spread=10.0, node=math.inf):
    """Return the log seconds on `FAR` that are agreed on, where the average law says `middle`."""
    runs = pooled(P, np.ones(P.size), seconds)
    return voted(np.asarray(middle), np.full(FAR.size, spread), FAR, runs, node)


#: Seconds that bend down from a straight line of logarithms: what p processors work on grows ever less.
BENDING_DOWN = (106.0 - 6.0 / P) / P


def line(seconds):
    """Return the log seconds on `FAR` by a straight line."""
    slope, level = np.polyfit(np.log(P), np.log(seconds), 1)
    return level + slope * np.log(FAR)


class TestBeyondTheRuns:
    def test_an_average_outside_of_both_simple_laws_gives_way_to_the_nearer(self):
        low, high = (said(BENDING_DOWN, np.full(2, size), spread=1e6) for size in (-50.0, 50.0))
        assert np.all(low < high)
        assert np.min(np.abs(np.stack([low, high]) - line(BENDING_DOWN)), axis=0) == pytest.approx(
            0, abs=1e-9
        )

    def test_an_average_between_them_stays(self):
        low, high = (said(BENDING_DOWN, np.full(2, size), spread=1e6) for size in (-50.0, 50.0))
        between = 0.3 * low + 0.7 * high
        assert said(BENDING_DOWN, between) == pytest.approx(between, abs=1e-12)

    def test_times_that_bend_up_from_the_line_leave_the_average_alone(self):
        middle = np.full(2, 50.0)
        assert said(5.0 + 100.0 / P, middle) == pytest.approx(middle, abs=1e-12)

    def test_no_vote_leads_farther_than_the_laws_leave_open(self):
        middle = line(BENDING_DOWN) + 1.0
        moved = said(BENDING_DOWN, middle, spread=0.1) - middle
        assert moved == pytest.approx(-0.1 * FARTHEST)

    def test_two_numbers_of_processors_draw_no_law(self):
        runs = pooled(P[:2], np.ones(2), 100.0 / P[:2])
        assert voted(np.array([3.0]), np.ones(1), FAR[:1], runs, math.inf) == pytest.approx([3.0])

    def test_runs_on_one_node_have_no_vote_where_three_others_do(self):
        """What they took is changed and nothing else: the answer is the same."""
        slow = np.array([1.2, 1.0, 1.0, 1.0])
        low = np.full(2, -50.0)
        one, other = (said(each * BENDING_DOWN, low, spread=1e6, node=1.0) for each in (slow, 1.0))
        assert one == pytest.approx(other)
        assert said(slow * BENDING_DOWN, low, spread=1e6) != pytest.approx(other)


def test_the_interval_lies_about_the_law_in_the_middle():
    """What simple laws move is moved with its interval: the single value lies in it."""
    p = np.array([1.0, 2, 3, 4, 5, 6, 7, 8])
    work = np.array([7.37, 7.64, 7.96, 8.05, 20.5, 21.2, 20.2, 28.1])  # p T: a step beyond one node of four
    rows = [("one", 1, "cpu", int(k), 1, w / k) for k, w in zip(p, work, strict=True)]
    frame = pd.DataFrame(rows, columns=["program", "phase", "kind", "p", "d", "seconds"])
    (fitted,) = fit_runs(RunTable(frame), discrepancy=0, cores_per_node=4).values()
    found = fitted.predict([16, 32, 64], 1, of="mean")
    assert np.all(found.time_low <= found.time.data)
    assert np.all(found.time.data <= found.time_high)
