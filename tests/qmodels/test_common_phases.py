"""Phases that several runs of one program share: made runs, whose phases are known."""

from __future__ import annotations

import numpy as np
import pytest

from qmodels.errors import ModelError
from qmodels.programs.bursts import common_phases, find_bursts, find_phases
from qmodels.programs.traces import IOTotals, Trace


def run(p, pattern, *, lead=0.0, operations=3, compute=None, processes=None, noise=None):
    """A run of bursts (seconds of I/O, then of computation); each burst of several operations."""
    segments, now = [], lead
    for number, (io, cpu) in enumerate(pattern):
        if noise is not None:
            io, cpu = io * noise[number, 0], cpu * noise[number, 1]
        each = io / operations
        for rank in range(p):
            for k in range(operations):
                # Short pauses within the burst.
                segments.append((rank, now + k * each, now + (k + 0.98) * each, "write"))
            segments[-1] = (rank, segments[-1][1], now + io, "write")
            if compute is not None:
                segments.append((rank, now + io, now + io + compute(cpu), "compute"))
        now += io + cpu
    rank, start, end, kind = zip(*segments, strict=True)
    return Trace(rank, start, end, kind, processes or p, max(now, *end))


def scaled(p, *, turns=2):
    return [(2.0 / p, 16.0 / p), (1.0, 30.0 / p + 1)] * turns


def test_runs_on_several_allotments_have_the_same_phases():
    found = common_phases([run(p, scaled(p)) for p in (1, 2, 4, 16)])
    assert found.io.shape == (4, 4)
    for row, p in zip(range(4), (1, 2, 4, 16), strict=True):
        assert found.io[row] == pytest.approx([2 / p, 1.0] * 2, rel=1e-9)
        assert found.cpu[row] == pytest.approx([16 / p, 30 / p + 1] * 2, rel=1e-9)
    assert "4 bursts" in found.remarks[0]


def test_pauses_that_a_longer_run_has_within_its_bursts_do_not_part_a_shorter_one():
    """At 64 processors the computation is shorter than a pause within a burst at one."""
    runs = [run(p, [(20.0 / p, 90.0 / p)] * 3, operations=4) for p in (1, 8, 64)]
    within = 0.02 * 20 / 4
    assert within < 90 / 64  # a common threshold exists here, but not below:
    slow = run(1, [(400.0, 900.0)] * 3, operations=4)
    assert 0.02 * 100 > 90 / 64
    found = common_phases([slow, *runs])
    assert found.io[:, 0] == pytest.approx([400, 20, 20 / 8, 20 / 64], rel=1e-9)


@pytest.mark.parametrize("lead", [0.1, 40.0])
def test_what_precedes_the_first_burst_is_a_phase_only_if_it_is_long(lead):
    found = common_phases([run(p, scaled(p), lead=lead / p) for p in (1, 4)])
    if lead < 1:
        assert found.cpu.shape == (2, 4)
        assert found.cpu[:, 0] == pytest.approx([16 + lead, (16 + lead) / 4])
    else:
        assert found.cpu.shape == (2, 5)
        assert found.io[:, 0].tolist() == [0, 0]
        assert found.cpu[:, 0] == pytest.approx([lead, lead / 4])


def test_many_like_phases_are_added_up_by_their_place_in_a_working_set():
    rng = np.random.default_rng(20261122)
    runs = [run(p, scaled(p, turns=20), noise=1 + 0.03 * rng.standard_normal((40, 2))) for p in (1, 2, 8)]
    found = common_phases(runs)
    assert found.io.shape == (3, 2)
    for row, p in zip(range(3), (1, 2, 8), strict=True):
        # Of 20 turns with 3 % noise each, four standard errors are 2.7 %.
        assert found.io[row] == pytest.approx([20 * 2 / p, 20.0], rel=0.027)
        assert found.cpu[row] == pytest.approx([20 * 16 / p, 20 * (30 / p + 1)], rel=0.027)
    assert "40 phases of a run are added up" in found.remarks[1]


def test_whatever_is_found_adds_up_to_the_duration_of_each_run():
    rng = np.random.default_rng(3)
    for turns in (1, 2, 9):
        for lead in (0.0, 5.0):
            runs = [
                run(
                    p,
                    scaled(p, turns=turns),
                    lead=lead,
                    compute=lambda c: 0.9 * c,
                    noise=1 + 0.1 * rng.random((2 * turns, 2)),
                )
                for p in (1, 3)
            ]
            found = common_phases(runs)
            total = (found.io + found.cpu).sum(axis=1)
            assert total == pytest.approx([x.duration for x in runs], rel=1e-6)


def test_runs_whose_bursts_do_not_agree_are_one_phase_each():
    runs = [run(1, scaled(1)), run(2, [(1.0, 5.0)] * 3), run(4, [(1.0, 5.0), (2.0, 0.001)])]
    found = common_phases(runs, gap=0.5)
    assert found.io.shape == (3, 1)
    assert found.io[:, 0] == pytest.approx([6.0, 3.0, 3.0], rel=1e-6)
    assert "one phase" in found.remarks[0]


def test_a_run_that_agrees_with_no_other_is_parted_at_its_own_widest_step():
    """Halfway, in logarithms, between its pauses of seconds and those within a burst, a 150th of one."""
    runs = [run(1, [(1.0, 9.0)] * 3 + [(1.0, 0.0)]), run(2, [(1.0, 4.0)] * 5 + [(1.0, 0.0)])]
    found = common_phases(runs)
    low, high = np.sqrt(np.array([4.0, 9.0]) / 150.0)
    assert f"4 to 6 bursts of I/O at a gap of {low:.3g} to {high:.3g} s" in found.remarks[0]
    assert found.io[:, 0] == pytest.approx([4.0, 6.0], rel=1e-6)


def test_recorded_computation_is_what_is_recorded_and_the_rest_a_phase_of_its_own():
    """25 bursts of 1.362 s with 2 to 8 % of other work around them."""
    extra = np.linspace(0.02, 0.08, 25)

    def one(p):
        segments, now = [], 0.0
        for k in range(25):
            for rank in range(p):
                segments.append((rank, now, now + 0.4 / p, "read"))
                begin = now + 0.4 / p + extra[k] / 2 * 1.362
                segments.append((rank, begin, begin + 1.362, "compute"))
            now += 0.4 / p + (1 + extra[k]) * 1.362
        rank, start, end, kind = zip(*segments, strict=True)
        return Trace(rank, start, end, kind, p, now)

    phases = find_phases(find_bursts(one(2), gap=0.1))
    assert len(phases) == 25
    assert phases.recorded == pytest.approx(np.full(25, 1.362), rel=1e-9)
    assert phases.cpu == pytest.approx(1.362 * (1 + extra), rel=1e-9)
    found = common_phases([one(p) for p in (1, 2, 4)])
    assert found.io.shape == (3, 2)
    assert found.io[:, 0] == pytest.approx([10.0, 5.0, 2.5])
    assert found.cpu[:, 0] == pytest.approx(25 * 1.362, rel=1e-9)
    assert found.cpu[:, 1] == pytest.approx(25 * 1.362 * 0.05, rel=1e-9)
    assert "phase 2 of the table" in found.remarks[-1]


def test_recorded_computation_is_that_of_the_mean_process_that_computes():
    trace = Trace([0, 0, 1, 2], [0, 1, 1, 0], [1, 5, 3, 1.0], ["read", "compute", "compute", "read"], 3, 6.0)
    assert find_phases(find_bursts(trace, gap=0.1)).recorded.tolist() == [3.0]


def test_a_run_without_a_timeline_makes_each_one_phase():
    totals = IOTotals([-1], [6.0], [1.0], [1.0], [10], [10], [0.0], [9.0])
    bare = Trace([], [], [], [], processes=4, duration=10.0, complete=False, totals=totals)
    found = common_phases([bare, run(2, scaled(2))])
    assert found.io.shape == (2, 1)
    assert (found.io[0, 0], found.cpu[0, 0]) == (2.0, 8.0)
    assert "no timeline" in found.remarks[0]
    wrong = Trace([], [], [], [], 1, 2.0, source="x.log", complete=False, totals=totals)
    with pytest.raises(ModelError, match=r"x\.log.*no phase can be made"):
        common_phases([wrong])


def test_a_component_that_takes_next_to_nothing_is_not_followed():
    """The run ends with its last burst: nothing follows it, in no run."""
    runs = []
    for p in (1, 2):
        t = run(p, [*scaled(p), (3.0, 0.0)])
        runs.append(t)
    found = common_phases(runs)
    assert found.cpu[:, -1].tolist() == [0, 0]
    assert found.io[:, -1] == pytest.approx([3.0, 3.0])


@pytest.mark.parametrize(
    ("gaps", "kept"),
    [
        ((0.02, 0.02), False),  # next to nothing of 49 and 25 s, in both runs: it counts as I/O
        ((0.02, 2.0), True),  # of one run only: it is followed
    ],
)
def test_a_component_is_left_out_only_if_it_is_next_to_nothing_in_every_run(gaps, kept):
    patterns = [[*scaled(p), (3.0, last), (2.0, 1.0)] for p, last in zip((1, 2), gaps, strict=True)]
    runs = [run(p, each, operations=1) for p, each in zip((1, 2), patterns, strict=True)]
    found = common_phases(runs, gap=0.01)
    cpu = found.cpu[:, -2]
    assert cpu == pytest.approx(gaps if kept else (0.0, 0.0), abs=1e-9)
    assert found.io[:, -2] == pytest.approx([3.0, 3.0] if kept else [3.02, 3.02], abs=1e-9)


def test_runs_without_any_io_or_any_pause_are_one_phase():
    idle = Trace([], [], [], [], 2, 5.0)
    found = common_phases([idle, idle])
    assert (found.io.tolist(), found.cpu.tolist()) == ([[0], [0]], [[5], [5]])
    touched = Trace([0, 0], [0.0, 3.0], [0.0, 4.0], ["read"] * 2, 1, 5.0)  # the first took no time
    assert common_phases([touched], gap=1.0).io.tolist() == [[0, 1]]
    busy = Trace([0], [0.0], [5.0], ["read"], 1, 5.0)
    assert common_phases([busy]).io.tolist() == [[5.0]]


@pytest.mark.parametrize("wrong", [[], [3]])
def test_common_phases_are_those_of_traces(wrong):
    with pytest.raises(ModelError):
        common_phases(wrong)
