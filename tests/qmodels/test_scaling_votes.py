"""Whether simple laws move a forecast beyond the runs, and no farther than they may."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from qmodels.io.runs import RunTable
from qmodels.programs import fit_runs
from qmodels.programs.scaling.pooling import pooled
from qmodels.programs.scaling.terms import Scale
from qmodels.programs.scaling.votes import BEND, FARTHEST, STEADY, voted

P = np.array([1.0, 2.0, 4.0, 8.0])
FAR = np.array([16.0, 64.0])


#: Nodes are not known; every run on whole nodes; every run on parts of one.
NO_NODES, WHOLE, PARTS = Scale(), Scale(1.0, 1.0, inside=False), Scale(1.0, 8.0, inside=True)
LOW, HIGH = np.full(2, -50.0), np.full(2, 50.0)  # what the average says


def said(seconds, middle, spread=1e6, scale=NO_NODES):
    """Return the log seconds on `FAR` that are agreed on, where the average law says `middle`."""
    runs = pooled(P, np.ones(P.size), seconds)
    return voted(np.asarray(middle), np.full(FAR.size, spread), FAR, runs, scale)


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
        plain, line = said(seconds, HIGH), said(seconds, LOW)
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
        assert voted(np.array([3.0]), np.ones(1), FAR[:1], runs, NO_NODES) == pytest.approx([3.0])

    def test_runs_on_one_node_have_no_vote_where_three_others_do(self):
        """Of several sizes of the problem: what they took is changed, and the answer is the same."""
        slow, one = np.array([7.0, 1.0, 1.0, 1.0]), Scale(1.0, 1.0)
        assert said(slow * 100 / P, LOW, scale=one) == pytest.approx(said(100 / P, LOW, scale=one))
        assert said(slow * 100 / P, LOW) != pytest.approx(said(100 / P, LOW))


class TestRunsOnWholeNodes:
    def test_are_asked_for_their_last_doubling(self):
        """One law is Amdahl's through it, the other bends as quickly as that does at its most."""
        seconds = 5.0 + 100.0 / P
        slope = np.log2(seconds[3] / seconds[2])
        doublings = np.log2(FAR / 8.0)
        bent = np.log(seconds[3]) + (slope + BEND * (doublings + 1) / 2) * doublings * math.log(2)
        expected = np.sort([bent, np.log(5.0 + 100.0 / FAR)], axis=0)
        assert said(seconds, LOW, scale=WHOLE) == pytest.approx(expected[0])
        assert said(seconds, HIGH, scale=WHOLE) == pytest.approx(expected[1])

    def test_before_that_have_no_vote(self):
        slow = np.array([7.0, 1.0, 1.0, 1.0])
        assert said(slow * 100 / P, LOW, scale=WHOLE) == pytest.approx(said(100 / P, LOW, scale=WHOLE))
        assert said(slow * 100 / P, LOW) != pytest.approx(said(100 / P, LOW))

    def test_that_gain_more_than_in_proportion_do_so_no_longer(self):
        assert said(100.0 / P**1.5, HIGH, scale=WHOLE)[0] == pytest.approx(math.log(100.0 / 8**1.5 / 2))

    def test_on_other_disks_are_taken_together(self):
        p, d = np.repeat(P, 2), np.tile([1.0, 2.0], P.size)
        seconds = np.repeat(5.0 + 100.0 / P, 2) * np.where(d == 1, 1.1, 1 / 1.1)
        found = voted(LOW, np.full(2, 1e6), FAR, pooled(p, d, seconds), WHOLE)
        assert found == pytest.approx(said(5.0 + 100.0 / P, LOW, scale=WHOLE))


class TestRunsOnPartsOfANode:
    def test_bend_by_what_is_the_nodes_own(self):
        """More nodes bring more of it: the time falls on by almost all that is proportional."""
        seconds = 5.0 + 100.0 / P
        assert said(seconds, LOW, scale=PARTS) == pytest.approx(np.log(seconds[3] * 8.0 / FAR))
        assert said(seconds, HIGH, scale=PARTS) == pytest.approx(np.log(seconds[3] * (8.0 / FAR) ** STEADY))

    def test_are_outvoted_by_runs_on_nodes_that_gain_little(self):
        seconds = np.array([100.0, 52.0, 50.0, 49.0])
        middle = np.log([48.5, 48.0])
        assert said(seconds, middle, scale=Scale(1.0, 2.0, inside=True)) == pytest.approx(middle)

    def test_are_asked_as_without_nodes_within_one(self):
        seconds = 5.0 + 100.0 / P
        assert said(seconds, LOW, scale=Scale(1.0, 64.0, inside=True)) == pytest.approx(said(seconds, LOW))


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


def test_whole_runs_on_one_number_of_disks_are_forecast_as_computation_is():
    """A table of times alone is read as I/O: its forecasts had no votes, and laws of disks never varied."""
    runs = pd.DataFrame(
        {"program": "p", "phase": 1, "p": P.astype(int), "d": 3, "seconds": 5.0 + 100.0 / P**0.9}
    )
    said = []
    for kind in ("io", "cpu"):
        (fitted,) = fit_runs(RunTable(runs.assign(kind=kind, repeat=1))).values()
        at = fitted.predict(FAR, 3.0, 0.9)
        said.append([at.time.data, at.time_low, at.time_high])
        assert ("d" in fitted.components[0].design.fixed) == (kind == "io")
    assert np.array_equal(*said)


def test_a_run_on_disks_that_were_never_varied_is_not_said_to_tell_anything():
    """Of two disks these runs tell nothing, so that what a run on them would tell is the prior's alone."""
    runs = pd.DataFrame({"program": "p", "phase": 1, "kind": "io", "p": P.astype(int), "d": 1})
    (fitted,) = fit_runs(RunTable(runs.assign(repeat=1, seconds=5.0 + 100.0 / P**0.9))).values()
    ranked = fitted.next_run([(16, 2), (16, 1)], targets=(64, 1))
    assert ranked.disks.tolist() == [1.0, 2.0]
    assert ranked.remaining.mask.tolist() == [False, True]
