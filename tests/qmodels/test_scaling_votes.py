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


class TestBeyondTheRuns:
    def test_an_average_between_the_simple_laws_stays(self):
        seconds = 5.0 + 100.0 / P  # by a + b/p more than by a straight line
        slope, level = np.polyfit(np.log(P), np.log(seconds), 1)
        line, plain = level + slope * np.log(FAR), np.log(5.0 + 100.0 / FAR)
        between = 0.5 * (line + plain)
        assert np.all(line < plain)
        assert said(seconds, between) == pytest.approx(between, abs=1e-12)

    def test_an_average_outside_of_both_gives_way_to_the_nearer(self):
        seconds = 100.0 / P**0.9 + 0.1  # near to a line, so that both votes count
        plain = said(seconds, np.full(2, 50.0), spread=1e6)
        line = said(seconds, np.full(2, -50.0), spread=1e6)
        slope, level = np.polyfit(np.log(P), np.log(seconds), 1)
        assert line == pytest.approx(level + slope * np.log(FAR), abs=1e-9)
        assert np.all(plain > line)

    def test_no_vote_leads_farther_than_the_laws_leave_open(self):
        middle = np.log(100.0 / FAR) + 1.0
        moved = said(100.0 / P, middle, spread=0.1) - middle
        assert moved == pytest.approx(-0.1 * FARTHEST)

    def test_laws_that_the_runs_contradict_are_outvoted(self):
        """A time that grows with p is neither simple law: the average, which has growth, decides."""
        middle = np.log(100.0 / FAR + 20.0 * FAR)
        assert said(100.0 / P + 20.0 * P, middle) == pytest.approx(middle, abs=1e-12)

    def test_two_numbers_of_processors_draw_no_law(self):
        runs = pooled(P[:2], np.ones(2), 100.0 / P[:2])
        assert voted(np.array([3.0]), np.ones(1), FAR[:1], runs, math.inf) == pytest.approx([3.0])

    def test_runs_on_one_node_have_no_vote_where_three_others_do(self):
        """What they took is changed and nothing else: the answer is the same."""
        slow = np.array([7.0, 1.0, 1.0, 1.0])
        low = np.full(2, -50.0)
        assert said(slow * 100 / P, low, node=1.0) == pytest.approx(said(100 / P, low, node=1.0))
        assert said(slow * 100 / P, low) != pytest.approx(said(100 / P, low))


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
