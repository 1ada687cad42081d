"""Recording of programs: made counters with known answers, then real processes.

Outside what recording assumes, listed before the first run: I/O through memory maps, a thread that
reads while another computes, a daemon that outlives its parent, hundreds of children that live for
less than an interval, a run shorter than one, a program that sleeps, one that moves bytes through
pipes only, one that is killed, and a machine that is busy with other things.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from qmodels.commands.record import register
from qmodels.errors import ModelError
from qmodels.io.traces import read_trace
from qmodels.recording import process_tree, sampling
from qmodels.recording.process_tree import Counters, Sample
from qmodels.recording.timeline import (
    record_command,
    recording_of,
    segments_of,
    timeline,
    write_timeline,
)
from qmodels.whole_files import write_whole
from tests.command import invoked

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc of Linux")

STEP = 0.1
RATE = 200e6


class MadeTree:
    """Counters of made processes, as functions of time."""

    def waits_for_disk(self, pid):
        return False


def played(processes, seconds, step=STEP):
    """Look at made processes; each gives a `Sample` for a time, or None where it is not there."""
    log = sampling.Log(MadeTree())
    for k in range(1, round(seconds / step) + 1):
        now = k * step
        found = {(pid, 1): one(now) for pid, one in processes.items()}
        log.look(now, {process: sample for process, sample in found.items() if sample})
    return log, timeline(log, seconds, "made", step)


def worker(plan, *, parent=0, born=0.0, dies=np.inf):
    """A process that goes through (kind, start, end); computing and I/O fill their time."""

    def one(now):
        if not born < now <= dies:
            return None
        spent = dict.fromkeys(("compute", "read", "write"), 0.0)
        for kind, start, end in plan:
            spent[kind] += min(max(now - start, 0.0), end - start)
        busy = spent["compute"]
        return Sample(
            parent, "S", Counters(busy, 0.0, int(RATE * spent["read"]), int(RATE * spent["write"])), busy
        )

    return one


def stretches(trace, kind):
    mine = (trace.kind == kind) & (trace.end > trace.start)
    return np.column_stack([trace.start[mine], trace.end[mine]])


class TestMadeCounters:
    @pytest.mark.parametrize("shift", [0.0, 0.03, 0.05, 0.09])
    def test_give_the_times_of_bursts_within_the_interval(self, shift):
        plan = [
            ("read", 0.2 + shift, 1.2 + shift),
            ("compute", 1.2 + shift, 3.0 + shift),
            ("write", 3.0 + shift, 3.7 + shift),
        ]
        _, trace = played({7: worker(plan)}, 5.0)
        for kind, start, end in plan:
            found = stretches(trace, kind)
            assert found[0, 0] == pytest.approx(start, abs=0.03)
            assert found[:, 1].max() == pytest.approx(end, abs=0.03)
        assert trace.duration == 5.0
        assert trace.bytes[trace.kind == "read"].sum() == pytest.approx(RATE, rel=1e-6)

    def test_of_two_processes_at_once_give_two_ranks_and_of_one_after_the_other_one(self):
        plan = [("compute", 0.0, 2.0)]
        later = [("compute", 2.0, 4.0)]
        assert played({7: worker(plan), 8: worker(plan)}, 5.0)[1].processes == 2
        assert played({7: worker(plan), 8: worker(later)}, 5.0)[1].processes == 1

    def test_of_a_launcher_that_waits_give_no_rank(self):
        launcher = worker([("compute", 0.0, 0.3)])
        workers = {8 + k: worker([("compute", 0.3, 4.0)], parent=7, born=0.2) for k in range(3)}
        assert played({7: launcher, **workers}, 5.0)[1].processes == 3

    def test_of_a_child_that_ended_are_not_counted_again_with_its_parents(self):
        """The parent's counters grow by its child's when it has waited for it."""
        child = worker([("write", 0.0, 2.0)], parent=7, dies=2.05)

        def parent(now):
            inherited = Counters(0.0, 0.0, 0, int(2.0 * RATE)) if now > 2.05 else Counters(0, 0, 0, 0)
            return Sample(1, "S", inherited)

        log, trace = played({7: parent, 8: child}, 4.0)
        assert log.moved == int(2.0 * RATE)
        assert stretches(trace, "write")[-1, 1] == pytest.approx(2.0, abs=0.02)

    def test_of_children_that_no_look_saw_are_their_parents(self):
        def parent(now):
            return Sample(1, "S", Counters(0.0, 0.0, 0, int(RATE * min(now, 1.0))))

        log, trace = played({7: parent}, 2.0)
        assert log.moved == int(RATE)
        assert stretches(trace, "write").tolist() == [[0.0, pytest.approx(1.0)]]

    def test_that_go_back_count_nothing(self):
        """As when the number of a process is given out again within an interval."""

        def strange(now):
            return Sample(1, "S", Counters(0.0, 0.0, int(1e9 / now), 0))

        assert played({7: strange}, 2.0)[0].moved == int(1e9 / STEP)

    def test_below_a_megabyte_per_second_are_no_io(self):
        def chatty(now):
            return Sample(1, "S", Counters(now, 0.0, int(1e5 * now), 0), now)

        _, trace = played({7: chatty}, 2.0)
        assert set(trace.kind.tolist()) == {"compute"}

    def test_of_reading_and_computing_mixed_within_an_interval_give_both_shares(self):
        def mixed(now):
            return Sample(1, "S", Counters(0.4 * now, 0.0, int(RATE * now), 0), 0.4 * now)

        _, trace = played({7: mixed}, 4.0)
        for kind, share in (("read", 0.6), ("compute", 0.4)):
            found = stretches(trace, kind)
            assert (found[:, 1] - found[:, 0]).sum() == pytest.approx(4 * share, rel=0.05)

    def test_of_an_interval_that_the_clock_calls_all_computation_keep_their_bytes(self):
        """A read from the page cache; every tick of the clock fell on the program's code."""

        def fast(now):
            return Sample(1, "S", Counters(now, 0.0, int(RATE * min(now, 1.0)), 0), now)

        log, trace = played({7: fast}, 2.0)
        assert trace.bytes.sum() == log.moved == int(RATE)
        assert stretches(trace, "compute")[-1, 1] == pytest.approx(2.0)

    def test_of_a_program_that_waits_for_a_processor_count_that_as_computing(self):
        """Half of a processor, but always ready to run: a busy machine."""

        def starved(now):
            return Sample(1, "R", Counters(0.5 * now, 0.0, 0, 0), now)

        _, trace = played({7: starved}, 2.0)
        assert stretches(trace, "compute").tolist() == [[0.0, pytest.approx(2.0)]]

    def test_of_nothing_give_a_trace_that_is_as_long_as_the_run(self):
        _, trace = played({}, 3.0)
        assert (trace.duration, trace.end.max()) == (3.0, 3.0)


PROGRAM = """
    import json, os, sys, time
    times, folder = [], sys.argv[1]
    def burst(kind, step):
        start = time.monotonic(); step(); times.append((kind, start, time.monotonic()))
    def write():
        with open(folder + "/data", "wb") as f:
            for _ in range(120): f.write(b"x" * (1 << 20))
            f.flush(); os.fsync(f.fileno())
    def compute():
        until = time.process_time() + 0.6
        while time.process_time() < until: sum(range(1000))
    def read():
        with open(folder + "/data", "rb") as f:
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            while f.read(1 << 20): pass
    burst("write", write); burst("compute", compute); burst("read", read); burst("compute", compute)
    open(folder + "/times", "w").write(json.dumps(times))
"""


@pytest.fixture
def looks(monkeypatch):
    """When a recorder looked at its program, by the clock of its timeline."""
    when, look = [0.0], sampling.Log.look

    def noted(self, now, found):
        when.append(now)
        look(self, now, found)

    monkeypatch.setattr(sampling.Log, "look", noted)
    return when


@linux
class TestARealProgram:
    @pytest.mark.thorough
    def test_is_recorded_as_it_timed_itself(self, tmp_path, looks):
        script = tmp_path / "program.py"
        script.write_text(textwrap.dedent(PROGRAM))
        sampled = sampling.sample_command([sys.executable, str(script), str(tmp_path)])
        found = recording_of(sampled)
        assert found.exit_code == 0
        assert found.bytes_moved >= 240 << 20
        assert found.overhead <= 0.01
        # Both read one clock, so no time of starting or ending lies between the two.
        own = json.loads((tmp_path / "times").read_text())
        own = [(kind, start - sampled.began, end - sampled.began) for kind, start, end in own]
        # On a busy machine a transfer may pause, so what was moved is added up on both sides of
        # the middle of the computation between.
        early = found.trace.end < (own[1][1] + own[1][2]) / 2
        moved = [int(found.trace.bytes[part].sum()) for part in (early, ~early)]
        assert moved == pytest.approx([120 << 20] * 2, rel=0.2)
        # An end is known to lie between two looks, and each may have come as late as the next;
        # what a slow disk does after the last byte need not show as waiting.
        tolerance = 0.3 + 2 * max(after - before for before, after in pairwise(looks))
        for kind, start, end in own[:3:2]:
            mine = stretches(found.trace, kind)
            mine = mine[(mine[:, 1] - mine[:, 0]) > 0.01]
            assert abs(mine[:, 1].max() - end) <= tolerance, (kind, mine, start, end)
        computed = stretches(found.trace, "compute")
        assert (computed[:, 1] - computed[:, 0]).sum() >= 1.0

    def test_gives_a_timeline_that_reads_back(self, tmp_path):
        found = record_command(["sh", "-c", "sleep 0.2"])
        write_timeline(found.trace, tmp_path / "run.csv")
        again = read_trace(tmp_path / "run.csv")
        assert again.duration == pytest.approx(found.trace.duration, abs=1e-5)
        assert again.start.size == found.trace.start.size

    @pytest.mark.parametrize(
        ("command", "code"),
        [("exit 7", 7), ("true", 0), ("kill -9 $$", 137), ("kill -TERM $$", 143)],
    )
    def test_gives_its_exit_code(self, tmp_path, command, code):
        result = invoked(register, "record", "-o", tmp_path / "a.csv", "--", "sh", "-c", command)
        assert result.exit_code == code
        assert read_trace(tmp_path / "a.csv").duration > 0

    @pytest.mark.thorough
    def test_with_hundreds_of_short_children_loses_none_of_their_bytes(self, tmp_path):
        """Each lives for less than an interval; their parent waits for them."""
        loop = "for i in $(seq 60); do head -c 4000000 /dev/zero > f; done"
        found = record_command(["sh", "-c", f"cd {tmp_path} && {loop}"], interval=0.2)
        assert found.bytes_moved >= 60 * 2 * 4_000_000  # read and written
        assert found.trace.processes == 1

    def test_with_a_daemon_is_recorded_to_its_own_end(self, tmp_path):
        """The daemon's parent ends at once; it becomes a child of the recorder."""
        done = tmp_path / "done"
        daemon = f"head -c 50000000 /dev/zero > {tmp_path}/d; touch {done}; sleep 0.4"
        waits = f"while [ ! -e {done} ]; do sleep 0.05; done; sleep 0.4"
        found = record_command(["sh", "-c", f"( ( {daemon} ) & ) ; {waits}"])
        assert found.bytes_moved >= 50_000_000

    def test_may_be_recorded_from_any_thread(self):
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(record_command, ["sh", "-c", "exit 4"]).result().exit_code == 4

    def test_that_maps_files_or_sleeps_has_no_io_by_calls(self, tmp_path):
        found = record_command(["sleep", "0.3"])
        assert found.trace.end.max() == pytest.approx(found.trace.duration)
        assert found.bytes_moved < 10_000_000

    @pytest.mark.parametrize("listed", [True, False])
    def test_is_recorded_without_other_children_of_whoever_records(self, tmp_path, monkeypatch, listed):
        """A daemon of the program before counted as the next one's, and children were reaped."""
        if not listed:  # as where Linux keeps no lists of children
            monkeypatch.setattr(process_tree.ProcessTree, "_list_of", lambda *_: "/nowhere")
        go = tmp_path / "go"
        os.mkfifo(go)
        script = f"cat {go}; head -c 50000000 /dev/zero > {tmp_path}/d; exit 7"
        with subprocess.Popen(["sh", "-c", script], stdout=subprocess.DEVNULL) as other:
            ended = f"grep -q Z /proc/{other.pid}/stat"
            words = f"echo > {go}; while [ -d /proc/{other.pid} ] && ! {ended}; do sleep .05; done"
            found = record_command(["sh", "-c", words])
            assert other.wait(60) == 7
        assert found.exit_code == 0
        assert found.bytes_moved < 10_000_000

    @pytest.mark.thorough
    def test_through_pipes_counts_unless_storage_is_asked_for(self):
        pipe = ["sh", "-c", "head -c 200000000 /dev/zero | cat > /dev/null"]
        assert record_command(pipe).bytes_moved >= 600_000_000
        assert record_command(pipe, storage=True).bytes_moved < 50_000_000


OWN = """
    import json, sys
    sys.path.insert(0, sys.argv[1])
    import measure
    from pathlib import Path
    measure.min = lambda starts: 0.0  # times by the system's clock, not since the first burst
    print(json.dumps(measure.run(int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))))
"""


def own_bursts(spans):
    """Start and end of each burst of the program by its own clock: from the first to the last."""
    found = {}
    for phase, kind, _, start, end in spans:
        low, high = found.get((phase, kind), (np.inf, -np.inf))
        found[phase, kind] = min(low, start), max(high, end)
    return found


def seen(trace, kinds, low, high):
    """From the first to the last of what was recorded of these kinds between two times."""
    mine = np.isin(trace.kind, kinds) & (trace.end > low) & (trace.start < high)
    mine &= trace.end - trace.start > 0.02
    return max(trace.start[mine].min(), low), min(trace.end[mine].max(), high)


@pytest.mark.slow
@linux
@pytest.mark.parametrize(("p", "d"), [(1, 1), (1, 4), (2, 1), (2, 2)])
def test_in_full_the_program_of_the_examples_is_recorded_as_it_timed_itself(
    tmp_path, capfd, p, d, record_property
):
    """Each burst as long as by the program's own clock, within the interval and a tenth."""
    folder = Path(__file__).parents[2] / "docs" / "examples" / "own-machine"
    script = tmp_path / "own.py"
    script.write_text(textwrap.dedent(OWN))
    words = [sys.executable, script, folder, p, d, tmp_path]
    sampled = sampling.sample_command([str(word) for word in words])
    found = recording_of(sampled)
    spans = json.loads(capfd.readouterr().out)
    figures = {
        "p": p,
        "d": d,
        "interval": round(found.interval, 4),
        "overhead": round(found.overhead, 5),
        "ranks": found.trace.processes,
    }
    ratios = []
    for (phase, kind), (start, end) in sorted(own_bursts(spans).items()):
        kinds = ["compute"] if kind == "compute" else ["read", "write", "io"]
        margin = 2 * found.interval
        low, high = seen(found.trace, kinds, start - sampled.began - margin, end - sampled.began + margin)
        figures[f"{phase} {kind}"] = round(end - start, 3)
        figures[f"{phase} {kind} recorded"] = round(high - low, 3)
        ratios.append((abs(high - low - (end - start)) - 2 * margin) / (end - start))
    for name, value in figures.items():
        record_property(name, value)
    assert found.overhead <= 0.01
    assert found.trace.processes == p
    assert max(ratios) <= 0.1


# A suite in the background has the keyboard's signal ignored, and its children inherit that.
RECORDER = """
    import signal, sys
    signal.signal(signal.SIGINT, signal.default_int_handler)
    from qmodels import cli
    from qmodels.commands.record import register
    register(cli.app)
    cli.main()
"""


@linux
class TestSignals:
    @pytest.mark.thorough
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
    def test_reach_the_program_once_and_the_timeline_is_written(self, tmp_path, number):
        name = number.name.removeprefix("SIG")
        script = (
            f"trap 'echo got >> {tmp_path}/got' {name}; echo ready; i=0; "
            f"while [ ! -s {tmp_path}/got ]; do sleep 0.05; done; sleep 0.3; exit 5"
        )
        with subprocess.Popen(
            [
                sys.executable,
                "-c",
                textwrap.dedent(RECORDER),
                "record",
                "-o",
                str(tmp_path / "a.csv"),
                "--",
                "sh",
                "-c",
                script,
            ],
            stdout=subprocess.PIPE,
            start_new_session=True,
        ) as process:
            try:
                assert process.stdout.readline() == b"ready\n"
                process.send_signal(number)
                assert process.wait(60) == 5
            finally:
                process.kill()  # else leaving the block waits for it
        assert (tmp_path / "got").read_text() == "got\n"
        assert read_trace(tmp_path / "a.csv").duration > 0.3

    def test_of_the_keyboard_are_not_passed_on_a_second_time(self, monkeypatch):
        sent = []
        monkeypatch.setattr(sampling.os, "kill", lambda pid, number: sent.append(number))
        monkeypatch.setattr(sampling, "_in_foreground", lambda: True)
        with sampling._passing_on() as started:
            signal.raise_signal(signal.SIGUSR1)  # before there is anybody to tell
            assert not sent
            started(12345)
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGTERM)
        assert sent == [signal.SIGUSR1, signal.SIGTERM]


class TestBadInput:
    def test_a_program_that_is_not_there_is_named(self, tmp_path):
        with pytest.raises(ModelError, match="no-such-program cannot be started: No such file"):
            record_command(["no-such-program"])

    @pytest.mark.parametrize("wrong", [0.001, 100.0, float("nan"), "x"])
    def test_an_interval_out_of_range_is_refused(self, wrong):
        with pytest.raises(ModelError):
            record_command(["true"], interval=wrong)

    def test_no_program_is_refused(self):
        with pytest.raises(ModelError, match="give the command"):
            record_command([])

    def test_a_file_that_cannot_be_written_is_told_before_the_program_runs(self, tmp_path):
        (tmp_path / "file").touch()
        for output in (tmp_path / "file" / "a.csv", "/proc/none/a.csv", tmp_path):
            result = invoked(register, "record", "-o", output, "--", "touch", tmp_path / "ran")
            assert isinstance(result.exception, ModelError)
        assert not (tmp_path / "ran").exists()

    def test_a_folder_that_is_not_there_is_made(self, tmp_path):
        output = tmp_path / "runs" / "of today" / "a.csv"
        assert invoked(register, "record", "-o", output, "--", "true").exit_code == 0
        assert read_trace(output).duration > 0

    def test_a_pipe_or_a_device_is_not_taken_away(self, tmp_path):
        """The timeline was renamed over it: for root, over /dev/null."""
        os.mkfifo(tmp_path / "pipe")
        for output in (tmp_path / "pipe", "/dev/null"):
            result = invoked(register, "record", "-o", output, "--", "touch", tmp_path / "ran")
            assert isinstance(result.exception, ModelError)
            with pytest.raises(ModelError, match="is a pipe or a device"):
                write_whole(output, b"")
        assert (tmp_path / "pipe").is_fifo()
        assert not (tmp_path / "ran").exists()

    def test_other_systems_are_named(self, monkeypatch):
        monkeypatch.setattr(sampling.sys, "platform", "darwin")
        with pytest.raises(ModelError, match="this system is darwin"):
            record_command(["true"])
        monkeypatch.setattr(sampling.sys, "platform", "linux")
        monkeypatch.setattr(process_tree, "PROC", "/nowhere")
        with pytest.raises(ModelError, match="needs the counters of Linux"):
            record_command(["true"])


@linux
def test_a_system_without_lists_of_children_is_searched(monkeypatch):
    tree = process_tree.ProcessTree()
    monkeypatch.setattr(tree, "_children_listed", False)
    with subprocess.Popen(["sleep", "5"]) as child:
        try:
            deadline = time.monotonic() + 20
            while child.pid not in {pid for pid, _ in tree.look()}:
                assert time.monotonic() < deadline
            assert all(pid != os.getpid() for pid, _ in tree.look())
        finally:
            child.kill()


def test_stretches_of_one_process_do_not_overlap():
    rng = np.random.default_rng(5)
    for _ in range(20):
        n = 40
        begins = np.arange(n) * 0.1
        keep = rng.random(n) < 0.8
        rows = np.array(
            [
                begins,
                begins + 0.1,
                0.1 * rng.random(n),
                0.1 * rng.random(n),
                rng.integers(0, 10**8, n),
                rng.integers(0, 10**8, n),
                rng.random(n) < 0.2,
            ]
        )[:, keep]
        found = list(segments_of(rows))
        assert all(a[1] <= b[0] + 1e-9 for a, b in pairwise(found))
        assert found[-1][1] <= n * 0.1 + 1e-9
