from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qmodels.errors import ModelError
from qmodels.io.darshan import read_darshan
from qmodels.programs import Geometric, Phase, Program, WorkingSet
from qmodels.programs.bursts import (
    find_bursts,
    find_phases,
    find_working_sets,
    gap_sensitivity,
    phase_of_totals,
    to_program,
)
from qmodels.programs.bursts.change_points import MOST_VALUES, Run, find_runs
from qmodels.programs.traces import IOTotals, Trace
from tests.examples import examples
from tests.naive import bursts as naive


def trace_of(*segments, processes=None, duration=None, **more):
    """Make a trace of (rank, start, end[, kind])."""
    rows = [(*segment, "read")[:4] for segment in segments]
    rank, start, end, kind = zip(*rows, strict=True) if rows else ([], [], [], [])
    return Trace(
        list(rank),
        list(start),
        list(end),
        list(kind),
        processes=processes or max([0, *rank]) + 1,
        duration=duration or max([1.0, *end]),
        **more,
    )


def trace_of_phases(io, cpu, lead=0.0):
    """Make a trace of one process with bursts and computation of these lengths."""
    io, cpu = np.asarray(io, dtype=float), np.asarray(cpu, dtype=float)
    end = lead + np.cumsum(io + cpu) - cpu
    start = np.maximum(end - io, 0.0)
    return Trace(np.zeros(io.size, int), start, end, ["write"] * io.size, 1, lead + float((io + cpu).sum()))


@st.composite
def traces(draw, most=25, ranks=3):
    """Any trace on a grid of quarter seconds, so that pauses equal to the gap do occur."""
    n = draw(st.integers(0, most))
    rows = []
    for _ in range(n):
        start = draw(st.integers(0, 60)) / 4
        length = draw(st.integers(0, 8)) / 4
        kind = draw(st.sampled_from(["read", "write", "io", "compute"]))
        rows.append((draw(st.integers(0, ranks - 1)), start, start + length, kind))
    return trace_of(*rows, processes=ranks, duration=20.0)


gaps = st.integers(0, 16).map(lambda k: k / 4)


def parts(trace, io=True):
    chosen = trace.is_io if io else ~trace.is_io
    columns = (trace.start[chosen], trace.end[chosen], trace.rank[chosen])
    return list(zip(*(column.tolist() for column in columns), strict=True))


class TestBurstsOfTheProgram:
    def test_end_where_nothing_begins_within_the_gap_of_the_latest_end_so_far(self):
        # The second operation ends before the first: the pause counts from 5, not from 2.
        trace = trace_of((0, 0, 5), (1, 1, 2), (0, 5.5, 6), (1, 7.5, 8), duration=10)
        found = find_bursts(trace, gap=1.0)
        assert found.start.tolist() == [0, 7.5]
        assert found.end.tolist() == [6, 8]
        assert found.segments.tolist() == [3, 1]
        assert found.ranks.tolist() == [2, 1]

    def test_hold_together_over_a_pause_that_equals_the_gap(self):
        trace = trace_of((0, 0, 1), (0, 2, 3), duration=3)
        assert len(find_bursts(trace, gap=1.0)) == 1
        assert len(find_bursts(trace, gap=np.nextafter(1.0, 0))) == 2

    def test_report_pauses_and_other_processes_and_do_not_count_them_as_busy(self):
        trace = trace_of((0, 0, 4), (1, 2, 3), (0, 5, 6), processes=4, duration=20)
        found = find_bursts(trace, gap=2.0)
        assert found.seconds.tolist() == [6]
        assert found.busy.tolist() == [5]
        assert found.pauses.tolist() == [1]
        assert found.rank_seconds.tolist() == [6]
        assert found.others.tolist() == [4 * 5 - 6]
        assert found.io_share == pytest.approx(0.3)
        assert found.compute_overlap is None
        assert "pauses inside bursts, below the gap: 1 s" in found.table()
        assert "14 process-seconds of 20" in found.table()

    def test_do_not_count_the_operations_of_one_process_twice_where_they_overlap(self):
        found = find_bursts(trace_of((0, 0, 3), (0, 1, 2), (0, 2, 4)), gap=0)
        assert found.rank_seconds.tolist() == [4]

    def test_report_computation_that_was_recorded_while_they_were_busy(self):
        trace = trace_of(
            (0, 0, 2), (0, 3, 4), (1, 1, 3.5, "compute"), (2, 1, 2, "compute"), (1, 2, 3, "compute")
        )
        found = find_bursts(trace, gap=1.0)
        # Process 1 computes beside I/O for 1 + 0.5 s, process 2 for 1 s.
        assert found.compute_overlap.tolist() == [2.5]
        assert "of that recorded as computation: 2.5 process-seconds" in found.table()

    def test_add_up_bytes_where_every_operation_has_them(self):
        rows = [(0, 0, 1), (0, 1, 2), (0, 9, 10)]
        assert find_bursts(trace_of(*rows, bytes=[3, 4, 5]), 1).bytes.tolist() == [7, 5]
        assert find_bursts(trace_of(*rows, bytes=[3, -1, 5]), 1).bytes.tolist() == [-1, 5]

    def test_are_none_in_a_trace_without_operations(self):
        found = find_bursts(trace_of((0, 1, 2, "compute"), duration=4), gap=1)
        assert len(found) == 0
        assert found.compute_intervals().tolist() == [[0, 4]]
        assert found.io_share == 0
        assert len(find_bursts(trace_of(duration=4), gap=1)) == 0

    def test_leave_computation_before_between_and_after_them(self):
        found = find_bursts(trace_of((0, 1, 2), (0, 5, 6), duration=9), gap=1)
        assert found.compute_intervals().tolist() == [[0, 1], [2, 5], [6, 9]]
        at_the_edges = find_bursts(trace_of((0, 0, 2), (0, 5, 9), duration=9), gap=1)
        assert at_the_edges.compute_intervals().tolist() == [[2, 5]]

    def test_say_so_where_the_gap_is_finer_than_the_trace(self):
        trace = trace_of((0, 0, 2), resolution=2.0, duration=4)
        assert "width of a bin" in find_bursts(trace, gap=1.0).warnings[0]
        assert find_bursts(trace, gap=2.0).warnings == ()

    @given(trace=traces(), gap=gaps)
    @settings(max_examples=examples(100))
    def test_are_those_found_by_walking_along(self, trace, gap):
        found = find_bursts(trace, gap)
        slow = naive.bursts(parts(trace), gap)
        assert found.start.tolist() == [min(x[0] for x in group) for group in slow]
        assert found.end.tolist() == [max(x[1] for x in group) for group in slow]
        assert found.segments.tolist() == [len(group) for group in slow]
        assert found.ranks.tolist() == [len({x[2] for x in group}) for group in slow]
        assert found.busy.tolist() == pytest.approx([naive.covered(group) for group in slow])
        each = [sum(naive.covered([x for x in group if x[2] == rank]) for rank in range(3)) for group in slow]
        assert found.rank_seconds.tolist() == pytest.approx(each)
        computing = parts(trace, io=False)
        if computing:
            beside = [naive.overlap(computing, group) for group in slow]
            assert found.compute_overlap.tolist() == pytest.approx(beside)

    @given(trace=traces(), gap=gaps, factor=st.sampled_from([0.5, 4.0, 1024.0]))
    @settings(max_examples=examples(50))
    def test_do_not_depend_on_the_unit_of_time(self, trace, gap, factor):
        scaled = Trace(trace.rank, trace.start * factor, trace.end * factor, trace.kind, 3, 20.0 * factor)
        assert np.array_equal(find_bursts(scaled, gap * factor).start, find_bursts(trace, gap).start * factor)


class TestBurstsOfEachProcess:
    @given(trace=traces(), gap=gaps)
    @settings(max_examples=examples(60))
    def test_are_those_of_the_process_alone(self, trace, gap):
        found = find_bursts(trace, gap, by="rank")
        slow = [
            (rank, group)
            for rank in range(3)
            for group in naive.bursts([x for x in parts(trace) if x[2] == rank], gap)
        ]
        assert found.rank.tolist() == [rank for rank, _ in slow]
        assert found.start.tolist() == [min(x[0] for x in group) for _, group in slow]
        assert found.end.tolist() == [max(x[1] for x in group) for _, group in slow]
        assert found.busy.tolist() == pytest.approx([naive.covered(g) for _, g in slow])
        assert found.others.tolist() == pytest.approx([0.0] * len(slow))
        computing = parts(trace, io=False)
        if computing:
            beside = [naive.overlap([x for x in computing if x[2] == r], g) for r, g in slow]
            assert found.compute_overlap.tolist() == pytest.approx(beside)

    def test_make_no_phases_of_the_program(self):
        found = find_bursts(trace_of((0, 0, 1), (1, 0, 1)), 1, by="rank")
        with pytest.raises(ModelError, match="by='program'"):
            found.compute_intervals()
        with pytest.raises(ModelError, match="by='program'"):
            find_phases(found)


class TestArguments:
    @pytest.mark.parametrize("gap", [-1, np.nan, np.inf, None, True, "1", [1.0], 1e19, 1e-12])
    def test_a_gap_out_of_range_is_refused(self, gap):
        with pytest.raises(ModelError, match="gap"):
            find_bursts(trace_of((0, 0, 1)), gap)

    @pytest.mark.parametrize("by", ["node", None, 1, ["rank"]])
    def test_bursts_are_by_program_or_rank(self, by):
        with pytest.raises(ModelError, match="by must be"):
            find_bursts(trace_of((0, 0, 1)), 1, by=by)

    @pytest.mark.parametrize("function", [lambda t: find_bursts(t, 1), gap_sensitivity])
    def test_a_trace_without_a_timeline_has_no_bursts_to_find(self, function):
        totals = IOTotals([-1], [6.0], [1.0], [1.0], [10], [10], [0.0], [9.0])
        trace = trace_of(processes=4, duration=10, complete=False, totals=totals)
        with pytest.raises(ModelError, match="only totals"):
            function(trace)
        with pytest.raises(ModelError, match="must be a Trace"):
            function(None)

    @pytest.mark.parametrize("bad", [[], [-1.0], [np.nan], [[1.0]], "1", [1e19], None])
    def test_thresholds_out_of_range_are_refused(self, bad):
        if bad is None:
            assert gap_sensitivity(trace_of((0, 0, 1))).bursts.tolist() == [1] * 4
            return
        with pytest.raises(ModelError, match="gaps"):
            gap_sensitivity(trace_of((0, 0, 1)), bad)


class TestGapSensitivity:
    @given(trace=traces(), by=st.sampled_from(["program", "rank"]))
    @settings(max_examples=examples(40))
    def test_counts_what_find_bursts_finds(self, trace, by):
        thresholds = np.arange(0, 13, 2) / 4
        table = gap_sensitivity(trace, thresholds, by=by)
        found = [find_bursts(trace, gap, by=by) for gap in thresholds]
        assert table.bursts.tolist() == [len(bursts) for bursts in found]
        assert table.io_share.tolist() == pytest.approx([bursts.io_share for bursts in found])
        assert np.all(np.diff(table.bursts) <= 0)
        assert np.all(np.diff(table.io_share) >= -1e-12)

    def test_finds_the_widest_range_with_a_stable_count(self):
        # Operations of 0.1 s in groups of three, pauses of 0.2 s within and 100 s between.
        start = (np.arange(5)[:, None] * 100.7 + np.arange(3) * 0.3).ravel()
        trace = Trace([0] * 15, start, start + 0.1, ["read"] * 15, 1, 600.0)
        table = gap_sensitivity(trace)
        assert table.plateau_bursts == 5
        assert table.plateau == pytest.approx((0.2, 100.0), rel=1e-9)
        assert "widest plateau: 5 bursts from 0.2 to 100 s" in table.table()
        assert table.gaps[0] <= 0.2
        assert table.gaps[-1] >= 100.0

    def test_has_no_plateau_without_pauses(self):
        assert gap_sensitivity(trace_of((0, 0, 1))).plateau is None
        assert gap_sensitivity(trace_of(duration=2)).bursts.tolist() == [0] * 4

    def test_comes_as_a_frame_too(self):
        frame = gap_sensitivity(trace_of((0, 0, 1), (0, 3, 4)), [1, 2]).to_frame()
        assert frame.to_dict("list") == {"gap": [1, 2], "bursts": [2, 1], "io_share": [0.5, 1]}


class TestPhases:
    def test_are_a_burst_and_the_computation_until_the_next(self):
        phases = find_phases(find_bursts(trace_of((0, 0, 1), (0, 5, 7), duration=10), 1))
        assert phases.io.tolist() == [1, 2]
        assert phases.cpu.tolist() == [4, 3]

    def test_begin_with_computation_where_the_run_does(self):
        phases = find_phases(find_bursts(trace_of((0, 2, 3), duration=3), 1))
        assert phases.io.tolist() == [0, 1]
        assert phases.cpu.tolist() == [2, 0]

    def test_say_what_was_recorded_as_computation_beside_io(self):
        trace = trace_of((0, 0, 2), (0, 3, 4), (1, 1, 3.5, "compute"), duration=6)
        said = find_phases(find_bursts(trace, 1)).table()
        assert "of that recorded as computation: 1.5 process-seconds" in said

    def test_are_one_where_there_is_no_io(self):
        phases = find_phases(find_bursts(trace_of(duration=3), 1))
        assert (phases.io.tolist(), phases.cpu.tolist()) == ([0], [3])

    @given(trace=traces(), gap=gaps)
    @settings(max_examples=examples(50))
    def test_take_as_long_as_the_run(self, trace, gap):
        phases = find_phases(find_bursts(trace, gap))
        assert phases.io.sum() + phases.cpu.sum() == pytest.approx(trace.duration, rel=1e-12)
        assert phases.io.min() >= 0
        assert phases.cpu.min() >= 0
        assert np.all(phases.pauses <= phases.io)

    def test_say_what_was_taken_for_computation(self):
        trace = trace_of((0, 0, 1), (1, 1, 3, "compute"), duration=9)
        said = find_phases(find_bursts(trace, 0)).assumed
        assert said[1].endswith("8 s, of which 6 s without any on record.")
        silent = find_phases(find_bursts(trace_of((0, 0, 1), duration=9), 0)).assumed
        assert "whatever was done in it" in silent[1]

    def test_of_totals_are_one(self):
        totals = IOTotals([0, 1], [2.0, 1], [1.0, 1], [0.5, 0.5], [1, 1], [1, 1], [0, 0], [9, 9])
        trace = trace_of(processes=2, duration=10, complete=False, totals=totals)
        phase = phase_of_totals(trace)
        assert (phase.io.tolist(), phase.cpu.tolist()) == ([3.0], [7.0])
        assert len(phase.assumed) == 2

    def test_of_impossible_totals_are_refused(self):
        totals = IOTotals([0], [25.0], [0.0], [0.0], [1], [1], [0], [9])
        trace = trace_of(processes=2, duration=10, complete=False, totals=totals)
        with pytest.raises(ModelError, match=r"12\.5 s of I/O in a run of 10 s"):
            phase_of_totals(trace)
        with pytest.raises(ModelError, match="no totals"):
            phase_of_totals(trace_of((0, 0, 1)))


class TestRunsOfLikeValues:
    def test_find_the_working_sets_of_the_published_example(self):
        """Figure 2 of Rosti et al.: working sets 1, 2, 3 to 5, 6 and 7, 8."""
        share = np.array([0, 0.67, 0.33, 0.33, 0.33, 0.5, 0.5, 0.8])
        length = np.array([0.5, 1, 1, 1, 1, 1, 1, 1])
        trace = trace_of_phases((share * length)[1:], ((1 - share) * length)[1:], lead=0.5)
        found = find_working_sets(find_phases(find_bursts(trace, 1e-3)))
        assert [(run.first + 1, run.period, run.repeat) for run in found.runs] == [
            (1, 1, 1),
            (2, 1, 1),
            (3, 1, 3),
            (6, 1, 2),
            (8, 1, 1),
        ]

    @pytest.mark.thorough
    @pytest.mark.parametrize("scatter", [0.0, 0.05, 0.2, 0.5])
    def test_are_one_where_nothing_changes(self, rng, scatter):
        """No theory gives the rate of false changes; more than one in ten would be of no use."""
        split = sum(len(find_runs(rng.normal(0, scatter, (50, 2)))) > 1 for _ in range(20))
        assert split <= 2

    @pytest.mark.thorough
    def test_end_where_the_times_change(self, rng):
        """Changes by a factor of e beside 10 % of scatter are found to the phase."""
        means = np.repeat([0.0, 1.0, 0.0, -1.0], [20, 35, 10, 15])
        for _ in range(10):
            found = find_runs(means[:, None] + rng.normal(0, 0.1, (80, 2)))
            assert found == [Run(0, 1, 20), Run(20, 1, 35), Run(55, 1, 10), Run(65, 1, 15)]

    def test_end_where_one_component_changes(self, rng):
        values = rng.normal(0, 0.1, (60, 2))
        values[30:, 1] += 1.0
        assert find_runs(values) == [Run(0, 1, 30), Run(30, 1, 30)]

    def test_know_sets_of_phases_that_repeat(self, rng):
        pattern = np.tile([[0.0, 1.0], [2.0, 1.0], [2.0, -1.0]], (12, 1))
        assert find_runs(pattern + rng.normal(0, 0.1, (36, 2))) == [Run(0, 3, 12)]

    def test_take_the_shortest_set_that_repeats(self):
        assert find_runs(np.tile([[0.0], [3.0]], (8, 1))) == [Run(0, 2, 8)]

    def test_part_a_pattern_from_what_precedes_and_follows(self, rng):
        pattern = np.concatenate([np.full(9, 4.0), np.tile([0.0, 2.0], 8), np.full(7, -3.0)])
        found = find_runs(pattern[:, None] + rng.normal(0, 0.1, (32, 1)))
        assert found == [Run(0, 1, 9), Run(9, 2, 8), Run(25, 1, 7)]

    def test_are_the_most_probable_of_all_partitions(self, rng):
        """Against every partition of seven values into runs, by the same density written out."""
        for _ in range(3):
            values = rng.normal(0, 1, (7, 1)).round(1)
            best = min(partitions(7, 3), key=lambda runs: minus_log_posterior(values, runs, 3))
            assert find_runs(values, longest_period=3) == best

    def test_too_many_phases_are_refused(self):
        with pytest.raises(ModelError, match="larger gap"):
            find_runs(np.zeros((MOST_VALUES + 1, 2)))


def partitions(n, longest, first=0):
    """Every way to part n values into runs."""
    if first == n:
        return [[]]
    found = []
    for period in range(1, longest + 1):
        for repeat in range(1 if period == 1 else 2, (n - first) // period + 1):
            run = Run(first, period, repeat)
            found += [[run, *rest] for rest in partitions(n, longest, first + period * repeat)]
    return found


def minus_log_posterior(values, runs, longest, scatter=0.1):
    """Normal with unknown means and variance, as a multivariate Student t density."""
    from scipy.stats import multivariate_t

    centred, total = (values - np.median(values, axis=0))[:, 0], 0.0
    for first, period, repeat in runs:
        n = period * repeat
        same = np.equal.outer(np.arange(n) % period, np.arange(n) % period)
        shape = scatter**2 * (np.eye(n) + same * (2.0 / scatter) ** 2)
        total -= multivariate_t.logpdf(centred[first : first + n], shape=shape, df=2)
        total += np.log(len(values)) + np.log(longest)
    return total


class TestWorkingSets:
    def test_come_as_text_and_as_a_frame(self):
        found = find_working_sets(
            find_phases(find_bursts(trace_of_phases([1] * 4 + [8] * 4, [9] * 4 + [32] * 4), 0.5))
        )
        assert len(found) == 2
        frame = found.to_frame()
        assert frame["repeat"].tolist() == [4, 4]
        assert frame["io"].tolist() == pytest.approx([1, 8])
        assert frame["cpu_cv"].tolist() == pytest.approx([0, 0], abs=1e-9)
        assert found.table().count("\n") == 1

    @pytest.mark.parametrize(
        "wrong",
        [
            {"longest_period": 0},
            {"longest_period": 2.0},
            {"longest_period": True},
            {"longest_period": 65},
            {"scatter": 0},
            {"scatter": np.nan},
            {"scatter": 2},
        ],
    )
    def test_options_out_of_range_are_refused(self, wrong):
        phases = find_phases(find_bursts(trace_of((0, 0, 1)), 1))
        with pytest.raises(ModelError, match=next(iter(wrong))):
            find_working_sets(phases, **wrong)


class TestToProgram:
    def test_gives_working_sets_of_mean_phases_on_one_processor_and_one_disk(self):
        trace = trace_of_phases([1.0, 3.0] * 6, [10.0, 20.0] * 6)
        traced = to_program(trace, 0.5, processors=4, disks=2, name="solver")
        (working_set,) = traced.program.working_sets
        assert isinstance(working_set, WorkingSet)
        assert (working_set.repeat, len(working_set.phases)) == (6, 2)
        io = [float(phase.burst("io").mean_time(1, 1)) for phase in working_set.phases]
        cpu = [float(phase.burst("cpu").mean_time(1, 1)) for phase in working_set.phases]
        assert io == pytest.approx([2.0, 6.0])
        assert cpu == pytest.approx([40.0, 80.0])
        assert traced.program.name == "solver"

    @pytest.mark.parametrize("samples", [False, True])
    @pytest.mark.parametrize("io_law", ["d", "min(d, p/8)", "1", lambda p, d: (p * d) ** 0.3])
    @pytest.mark.parametrize("cpu_law", ["p", "p/(1+0.1*(p-1))"])
    def test_takes_as_long_as_the_run_on_the_allotment_of_the_run(self, rng, io_law, cpu_law, samples):
        io, cpu = rng.lognormal(0, 1, (2, 40))
        trace = trace_of_phases(io, cpu + 0.1, lead=0.7)
        traced = to_program(
            trace, 1e-3, processors=24, disks=5, io_law=io_law, cpu_law=cpu_law, samples=samples
        )
        assert traced.program.mean_time(24, 5) == pytest.approx(trace.duration, rel=1e-9)
        assert traced.program.mean_io(24, 5) == pytest.approx(io.sum(), rel=1e-9)

    @given(trace=traces(), gap=gaps)
    @settings(max_examples=examples(40))
    def test_takes_as_long_as_any_run(self, trace, gap):
        program = to_program(trace, gap, disks=2).program
        assert program.mean_time(3, 2) == pytest.approx(trace.duration, rel=1e-9)

    def test_says_that_scaling_was_assumed(self):
        traced = to_program(trace_of((0, 0, 1), duration=3), 1, disks=1, io_law="min(d, p/4)")
        assert "assumed, not measured" in traced.assumed[0]
        assert "min(d, p/4)" in traced.assumed[0]
        assert "a processor per process" in traced.assumed[1]
        assert traced.method == "approximate"
        assert traced.assumed[0] in traced.table()

    def test_leaves_out_a_burst_of_no_length_at_the_very_end(self):
        trace = trace_of((0, 0, 1), (0, 3, 3), duration=3)
        assert to_program(trace, 1, disks=1).program.mean_time(1, 1) == pytest.approx(3.0)

    def test_of_totals_has_one_phase(self):
        totals = IOTotals([-1], [6.0], [1.0], [1.0], [10], [10], [0.0], [9.0])
        trace = trace_of(processes=4, duration=10, complete=False, totals=totals)
        program = to_program(trace, None, disks=2).program
        assert program.mean_phases == 1
        assert program.mean_io(4, 2) == pytest.approx(2.0)
        assert program.mean_time(4, 2) == pytest.approx(10.0)

    def test_keeps_samples_that_jobs_are_drawn_from(self, rng):
        trace = trace_of_phases([1.0, 1.2, 1.1], [5.0, 5.5, 5.2])
        phase = to_program(trace, 0.5, disks=1, samples=True).program.phases[0]
        one = np.ones(1)
        drawn = phase.burst("io").draw(one, one, rng=rng, size=200)
        assert set(drawn.ravel().round(9).tolist()) == {1.0, 1.2, 1.1}

    @pytest.mark.parametrize(
        "wrong",
        [
            {"disks": 0},
            {"disks": None},
            {"disks": 1, "processors": -1},
            {"disks": 1, "name": 3},
            {"disks": 1, "io_law": "d**2"},
            {"disks": 1, "samples": 1},
            {"disks": np.nan},
        ],
    )
    def test_refuses_arguments_out_of_range(self, wrong):
        with pytest.raises(ModelError):
            to_program(trace_of((0, 0, 1)), 1, **wrong)

    def test_undoes_a_program_that_was_written_out_as_a_trace(self):
        """From a program to its times on (8, 2), to a trace, and back."""
        program = Program([WorkingSet(5, [Phase(2.0, 40.0)]), WorkingSet(3, [Phase(24.0, 16.0)])])
        trace = trace_of_phases(*program.phase_times(8, 2))
        again = to_program(trace, 1e-3, processors=8, disks=2).program
        assert [s.repeat for s in again.working_sets] == [5, 3]
        for p, d in [(1, 1), (8, 2), (64, 16)]:
            assert again.mean_time(p, d) == pytest.approx(program.mean_time(p, d), rel=1e-12)
        assert isinstance(again, Program)
        assert not isinstance(again.phase_count, Geometric)


@pytest.mark.skipif(find_spec("darshan") is None, reason="the package darshan is not installed")
class TestRealLogs:
    def test_one_process_falls_into_47_13_9_or_5_bursts(self, shared_data):
        trace = read_darshan(shared_data / "darshan" / "pyd_dxt.darshan")
        thresholds = [0.01, 0.1, 1.0, 5.0]
        assert [len(find_bursts(trace, gap)) for gap in thresholds] == [47, 13, 9, 5]
        assert gap_sensitivity(trace, thresholds).bursts.tolist() == [47, 13, 9, 5]
        for gap in thresholds:
            program = to_program(trace, gap, disks=1).program
            assert program.mean_time(1, 1) == pytest.approx(trace.duration, rel=1e-9)

    def test_thirty_two_processes_have_a_burst_each(self, shared_data):
        name = "runtime_and_dxt_heatmaps_diagonal_write_only.darshan"
        trace = read_darshan(shared_data / "darshan" / name)
        found = find_bursts(trace, 1.0, by="rank")
        assert found.rank.tolist() == list(range(32))
        assert found.bytes.tolist() == [1] * 32
        assert gap_sensitivity(trace).plateau_bursts == 32


def test_bursts_and_thresholds_and_traces_draw_themselves():
    trace = trace_of((0, 0, 1), (1, 3, 4, "write"), duration=9)
    assert "2 bursts" in find_bursts(trace, 1).plot().get_title()
    assert trace.plot().get_xlabel() == "execution time [s]"
    assert gap_sensitivity(trace, [0.5, 5]).plot().get_ylabel() == "bursts"


@pytest.mark.parametrize(
    ("pauses", "first", "last"),
    [
        ((0.02, 3.0), -2, 1),  # from the power of ten below the shortest to that above the longest
        ((1.0,), 0, 1),  # at least one power of ten
        ((1.0, 100.0), 0, 2),
        ((1e-12,), -9, -8),  # nothing below a nanosecond is told apart
    ],
)
def test_thresholds_are_chosen_two_to_a_power_of_ten_around_the_pauses(pauses, first, last):
    busy = min(pauses)  # short enough that the pauses come out to the last digit
    edges = np.cumsum([0.0, *(x for pause in pauses for x in (busy, pause)), busy])
    trace = trace_of(*((0, begin, end) for begin, end in edges.reshape(-1, 2).tolist()))
    expected = 10.0 ** (np.arange(2 * first, 2 * last + 1) / 2)
    assert gap_sensitivity(trace).gaps == pytest.approx(expected, rel=1e-12)
