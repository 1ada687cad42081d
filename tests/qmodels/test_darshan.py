from __future__ import annotations

import importlib.util
import inspect
import io
import json
import os
import random
import subprocess
import sys
import textwrap
import zlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from qmodels.errors import ModelError, TraceFormatError
from qmodels.io import _darshan_child as child
from qmodels.io import darshan
from qmodels.io._darshan_origin import program_name
from qmodels.io.darshan import read_darshan
from qmodels.io.traces import read_trace
from qmodels.programs.traces import StorageTargets

needs_darshan = pytest.mark.skipif(
    importlib.util.find_spec("darshan") is None, reason="the package darshan is not installed"
)

DXT = "pyd_dxt.darshan"
DIAGONAL = "runtime_and_dxt_heatmaps_diagonal_write_only.darshan"
HEATMAP = "dlio_snyder_python3_id3116902-2110483_12-19-66980-15861026832475351160_1.darshan"
COUNTERS = "pyd_example.darshan"
LOGS = (DXT, DIAGONAL, HEATMAP, COUNTERS)

SECONDS = 10.0  #: within which a damaged log is refused


@pytest.fixture(scope="session")
def logs(shared_data):
    return {name: shared_data / "darshan" / name for name in LOGS}


@pytest.fixture
def log_of(tmp_path):
    """Write a file that begins like a log."""

    def log_of(rest=b"", name="made.darshan"):
        file = tmp_path / name
        file.write_bytes(b"3.41\0\0\0\0" + darshan.MAGIC.to_bytes(8, "little") + rest)
        return file

    return log_of


@needs_darshan
class TestALog:
    def test_with_single_operations_gives_them_all(self, logs):
        trace = read_darshan(logs[DXT])
        assert trace.start.size == 7623
        assert (trace.processes, trace.duration, trace.resolution) == (1, 1469.0, 0.0)
        assert set(trace.kind.tolist()) == {"read", "write"}
        assert trace.bytes.min() >= 0
        assert trace.complete

    def test_keeps_the_process_of_each_operation(self, logs):
        trace = read_darshan(logs[DIAGONAL])
        assert trace.processes == 32
        assert trace.rank.tolist() == list(range(32))
        assert trace.bytes.tolist() == [1] * 32
        assert trace.kind.tolist() == ["write"] * 32

    @pytest.mark.thorough
    def test_agrees_with_the_python_package_of_the_darshan_project(self, logs):
        """In a process of its own, since that package loads the library into its caller."""
        script = """
            import sys, warnings
            warnings.simplefilter("ignore")
            import darshan
            for log in sys.argv[1:]:
                report = darshan.DarshanReport(log, read_all=False)
                report.mod_read_all_dxt_records("DXT_POSIX", dtype="dict")
                rows = [
                    (record["rank"], s["start_time"], s["end_time"], kind, s["length"])
                    for record in report.records["DXT_POSIX"]
                    for kind in ("write", "read")
                    for s in record[kind + "_segments"]
                ]
                for row in sorted(rows, key=lambda r: (r[1], r[2], r[0], r[3], r[4])):
                    print(*row)
        """
        chosen = [logs[DXT], logs[DIAGONAL]]
        answer = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script), *map(str, chosen)],
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        expected = [line.split() for line in answer.stdout.splitlines() if line[0].isdigit()]
        got = []
        for log in chosen:
            trace = read_darshan(log)
            columns = (trace.rank, trace.start, trace.end, trace.kind, trace.bytes)
            rows = zip(*(column.tolist() for column in columns), strict=True)
            got += sorted(rows, key=lambda r: (r[1], r[2], r[0], r[3], r[4]))
        assert [[str(x) for x in row] for row in got] == expected

    @pytest.mark.parametrize("name", LOGS)
    def test_is_read_in_this_process_as_in_one_of_its_own(self, logs, name):
        out, library = io.BytesIO(), child._load(darshan._libraries())
        rows, said = child._read(library, os.fsencode(logs[name]), "POSIX", out, 2**30)
        known = darshan._answer(str(logs[name]), "POSIX", 60.0, 2**30)
        assert (out.getvalue(), said) == (known.data, known.said)
        assert rows.tolist() == known.rows.ravel().tolist()

    def test_with_a_heatmap_gives_its_bins_and_says_so(self, logs):
        trace = read_darshan(logs[HEATMAP])
        assert trace.resolution == pytest.approx(0.8)
        assert trace.start.size == 39
        places = trace.start / trace.resolution
        assert places == pytest.approx(places.round())
        assert trace.end.max() <= trace.duration
        assert any("heatmap" in warning for warning in trace.warnings)
        # Every byte that the counters know is in a bin.
        counted = trace.totals.bytes_read.sum() + trace.totals.bytes_written.sum()
        assert trace.bytes.sum() == counted

    def test_with_counters_only_gives_totals_and_a_warning(self, logs):
        trace = read_darshan(logs[COUNTERS])
        assert not trace.complete
        assert trace.start.size == 0
        assert trace.processes == 2048
        assert trace.totals.rank.tolist() == [-1]
        assert 0 < trace.totals.seconds < trace.processes * trace.duration
        assert any("DXT_ENABLE_IO_TRACE=1" in warning for warning in trace.warnings)

    # Fourteen files of 160 stripes of a mebibyte each are of 96 to 215 mebibytes.
    @pytest.mark.parametrize(
        ("name", "distinct", "effective"), [(COUNTERS, 24, 24.0), (HEATMAP, 160, 151.53978)]
    )
    def test_with_the_layout_of_a_parallel_file_system_gives_its_targets(
        self, logs, name, distinct, effective
    ):
        targets = read_darshan(logs[name]).origin.targets
        assert (targets.distinct, targets.elsewhere) == (distinct, 0)
        assert targets.effective == pytest.approx(effective, rel=1e-6)

    def test_has_bytes_only_on_the_targets_of_stripes_that_a_file_reaches(self, maker, tmp_path):
        """A file of ten bytes is on the first of its four targets, whatever its layout allows."""
        lib = maker.library()
        for size, filled in ((10, 1), (1 << 20, 1), ((1 << 20) + 1, 2), (1 << 30, 4)):
            log = tmp_path / f"{size}.darshan"
            operations = [[("write", 0.0, 1.0, size)]]
            maker.write_log(
                lib, log, command="/x/solver", operations=operations, seconds=2.0, targets=[[7, 2, 9, 4]]
            )
            targets = read_darshan(log).origin.targets
            assert set(targets.number.tolist()) == set([7, 2, 9, 4][:filled])

    def test_spreads_files_of_one_stripe_each_over_all_targets(self):
        """2,048 files of one stripe on 24 targets: the number of stripes is not that of disks."""
        folder = Path(importlib.util.find_spec("darshan").submodule_search_locations[0])
        log = folder / "examples" / "example_logs" / "sample-badost.darshan"
        if not log.exists():
            pytest.skip("this release of the package darshan has no example logs")
        targets = read_darshan(log).origin.targets
        assert targets.distinct == 24
        assert 23.9 < targets.effective < 24

    def test_names_the_program_and_the_job(self, logs):
        origin = read_darshan(logs[COUNTERS]).origin
        assert (origin.program, origin.job) == ("vpicio_uni", "4478544")
        assert origin.start == 1490000867.0

    def test_with_whole_seconds_of_run_time_says_so(self, logs):
        assert any("117 s may be wrong by 0.85 %" in w for w in read_darshan(logs[COUNTERS]).warnings)
        assert not any("whole seconds" in w for w in read_darshan(logs[HEATMAP]).warnings)

    def test_of_another_layer_of_io_is_read_on_demand(self, logs):
        assert read_darshan(logs[COUNTERS], module="MPI-IO").totals.seconds > 0
        with pytest.raises(TraceFormatError, match="no records of MPI-IO; it has POSIX, STDIO"):
            read_darshan(logs[DXT], module="MPI-IO")

    def test_is_read_by_the_reader_of_any_trace(self, logs):
        assert read_trace(logs[DIAGONAL]).start.size == 32
        with pytest.raises(ModelError, match="tells processes and duration itself"):
            read_trace(logs[DIAGONAL], processes=3)

    @pytest.mark.thorough
    def test_has_a_name_of_any_letters(self, logs, tmp_path):
        for name in ("-v", "a b;c$(x)`", "\u03a9.darshan", os.fsdecode(b"\xff.log")):
            file = tmp_path / name
            file.write_bytes(logs[DIAGONAL].read_bytes())
            assert read_darshan(file).start.size == 32

    def test_may_be_named_relative_to_the_working_folder(self, logs, tmp_path, monkeypatch):
        (tmp_path / "a.darshan").write_bytes(logs[DIAGONAL].read_bytes())
        monkeypatch.chdir(tmp_path)
        assert read_darshan("a.darshan").start.size == 32


class TestArguments:
    @pytest.mark.parametrize(
        "wrong",
        [
            {"module": "LUSTRE"},
            {"module": None},
            {"module": ["POSIX"]},
            {"timeout": 0},
            {"timeout": np.nan},
            {"timeout": None},
            {"timeout": True},
            {"memory": 10},
            {"memory": np.inf},
            {"memory": "1G"},
        ],
    )
    def test_out_of_range_are_refused(self, log_of, wrong):
        with pytest.raises(ModelError, match=next(iter(wrong))):
            read_darshan(log_of(), **wrong)

    def test_a_missing_library_is_named_with_what_installs_it(self, log_of, monkeypatch):
        monkeypatch.setitem(sys.modules, "darshan", None)
        with pytest.raises(ModelError, match=r"pip install -e '\.\[darshan\]'"):
            read_darshan(log_of())

    def test_a_library_that_does_not_load_is_named_too(self, log_of, monkeypatch):
        monkeypatch.setattr(darshan, "_libraries", lambda: ["/nowhere/libdarshan-util.so"])
        with pytest.raises(ModelError, match=r"pip install -e '\.\[darshan\]'"):
            read_darshan(log_of())


class TestNoLog:
    @pytest.mark.parametrize(
        ("content", "what"),
        [
            (b"", "is empty"),
            (b"3.41", "no log of Darshan 3"),
            (b"\x1f\x8b" * 50, "no log"),
            (b"<html>" * 20, "no log"),
            (b"\0" * 4096, "no log"),
        ],
    )
    def test_is_told_by_its_beginning(self, tmp_path, content, what):
        (tmp_path / "a.darshan").write_bytes(content)
        with pytest.raises(TraceFormatError, match=what):
            read_darshan(tmp_path / "a.darshan")

    def test_is_no_file(self, tmp_path):
        loop = tmp_path / "loop.darshan"
        loop.symlink_to(loop)
        os.mkfifo(tmp_path / "pipe.darshan")
        for path in (tmp_path, loop, tmp_path / "pipe.darshan", tmp_path / "none", "/dev/zero"):
            with pytest.raises(TraceFormatError):
                read_darshan(path)

    @pytest.mark.thorough
    @needs_darshan
    def test_begins_like_one(self, log_of):
        for rest in (b"", b"\0" * 2000, b"\xff" * 2000, random.Random(1).randbytes(5000)):
            with pytest.raises(TraceFormatError, match="is damaged"):
                read_darshan(log_of(rest))


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("/apps/bin/solver -n 4 in.cfg", "solver"),
        ("solver", "solver"),
        ("", ""),
        ("/usr/bin/python3.11 -u train.py --epochs 3", "train.py"),
        ("python3", "python3"),
        ("python3 -c from x import y; y()", "python3"),
        ("python -m train --x", "train"),
        ("/opt/julia ./run.jl x", "run.jl"),
        ("pythonic a.py", "pythonic"),
        ("bad\0name x", ""),
    ],
)
def test_a_program_is_called_like_its_executable_or_its_script(command, name):
    found = program_name(command.split())
    assert found == name


def test_storage_targets_weigh_by_bytes():
    assert StorageTargets([1, 2, 3], [6, 2, 0]).distinct == 2
    assert StorageTargets([1, 2, 3], [6, 2, 0]).effective == pytest.approx(64 / 40)
    assert StorageTargets([1, 1, 2], [2, 2, 4]).effective == pytest.approx(2.0)
    assert StorageTargets([], []).effective == 0.0
    assert StorageTargets([1, 2], [2**61, 2**61]).effective == pytest.approx(2.0)
    for wrong in (([1], [2, 3]), ([-1], [2]), ([1], [-2])):
        with pytest.raises(ModelError):
            StorageTargets(*wrong)


SAY = "say = lambda x, before=b'': sys.stdout.buffer.write(before + x + struct.pack('<q', len(x)))"
SAID = {
    "nprocs": 4,
    "run_time": "9.0",
    "modules": {"POSIX": False},
    "timeline": "dxt",
    "records": 0,
    "counters": 0,
}


class TestTheReadingProcess:
    """Whatever it does, this process lives and gives a typed error."""

    @pytest.fixture
    def behaving(self, tmp_path, monkeypatch, log_of):
        def read(*lines, **limits):
            script = tmp_path / "child.py"
            script.write_text("import os, sys, struct, json\n" + "\n".join(lines))
            monkeypatch.setattr(darshan, "_libraries", list)
            monkeypatch.setattr(darshan.child, "__file__", str(script))
            return read_darshan(log_of(), **limits)

        return read

    @pytest.fixture
    def answered(self, monkeypatch, log_of):
        """Read an answer as one of a process that ended well; it takes a while to start one."""

        def read(said, before=b""):
            text = json.dumps(said).encode()

            def started(command, *, stdout, **options):
                stdout.write(before + text + child.LENGTH.pack(len(text)))
                return SimpleNamespace(wait=lambda timeout: 0, poll=lambda: 0)

            monkeypatch.setattr(darshan, "_libraries", list)
            monkeypatch.setattr(darshan.subprocess, "Popen", started)
            return read_darshan(log_of())

        return read

    def test_may_answer(self, behaving):
        trace = behaving(SAY, f"say(json.dumps({SAID}).encode())")
        assert (trace.processes, trace.duration, trace.start.size) == (4, 9.0, 0)

    def test_says_the_same_whether_it_is_started_or_its_answer_is_read_alone(self, behaving, answered):
        started, alone = behaving(SAY, f"say(json.dumps({SAID}).encode())"), answered(SAID)
        assert (started.processes, started.duration) == (alone.processes, alone.duration)
        assert started.warnings == alone.warnings
        assert started.start.size == alone.start.size == 0

    @pytest.mark.thorough(first=1)
    @pytest.mark.parametrize(
        "lines",
        [
            ["os.kill(os.getpid(), 11)"],
            ["os.abort()"],
            ["os._exit(3)"],
            ["raise MemoryError"],
            ["os.kill(os.getpid(), 9)"],
            [""],
            ["print('hello')"],
            ["print('x' * 100_000)"],
            ["os.write(1, b'\\xff' * 8)"],
            ["os.write(1, b'{}' + struct.pack('<q', 2**62))"],
            ["say = 0; os.write(1, b'[]' + struct.pack('<q', 2))"],
            ["os.write(1, b'{' * 9000 + struct.pack('<q', 9000))"],
            ["os.write(1, b'[' * 200_000 + struct.pack('<q', 200_000))"],
            ["os.write(1, b'{}' + struct.pack('<q', 10))"],
            ["os.ftruncate(1, 10**12)"],
        ],
    )
    def test_may_die_or_talk_nonsense(self, behaving, lines):
        with pytest.raises(TraceFormatError, match="is damaged"):
            behaving(*lines)

    @pytest.mark.parametrize(
        "changes",
        [
            {"nprocs": 0},
            {"nprocs": -1},
            {"nprocs": 1e3},
            {"nprocs": 10**30},
            {"nprocs": None},
            {"nprocs": True},
            {"run_time": "nan"},
            {"run_time": "-1"},
            {"run_time": "1e300"},
            {"run_time": 3},
            {"run_time": "x"},
            {"run_time": "0"},
            {"modules": 3},
            {"modules": {"POSIX": "yes"}},
            {"records": 3},
            {"records": -1},
            {"records": 10**15},
            {"targets": [[1, 2, 3]], "elsewhere": 0},
            {"targets": [[-1, 2]], "elsewhere": 0},
            {"targets": [[1, -2]], "elsewhere": 0},
            {"targets": "x", "elsewhere": 0},
            {"targets": [["a", 2]], "elsewhere": 0},
            {"targets": [[1, 2]], "elsewhere": None},
            {"targets": [[10**30, 2]], "elsewhere": 0},
            {"targets": [[1, 2]], "elsewhere": -1},
            {"targets": {"a": 1}, "elsewhere": 0},
            {"targets": [[2**40, 1]], "elsewhere": 0},
            {"counters": 1},
            {"counters": None},
            {"error": "x" * 10_000},
            {"error": ["a"]},
        ],
    )
    def test_is_not_believed(self, answered, changes):
        with pytest.raises(TraceFormatError):
            answered(SAID | changes)

    @pytest.mark.parametrize("timeline", ["dxt", "heatmap"])
    @pytest.mark.parametrize(
        "row",
        [
            [0, 1, 0],
            [7, 1, 0],
            [0, 1e9, 0],
            [0, -1, 2],
            [0, np.nan, 1],
            [np.nan, 1, 0],
            [0, 1, np.inf],
            [-1, 1, 0],
            [0, 4, 0.0],
            [0, 2, -1.0],
        ],
    )
    @pytest.mark.parametrize(
        "data",
        [
            [0, 0, 2.0, 1.0],
            [0, -9, np.nan, 3.0],
            [0, 5, 1.0, np.inf],
            [0, 5, -1.0, 2.0],
            [0, 5, 1.0, 25.0],
        ],
    )
    def test_is_not_believed_in_its_numbers(self, answered, timeline, row, data):
        said = SAID | {"records": 1, "timeline": timeline}
        raw = np.array([*data, *row, 0, 0, 0, 0, 0]).tobytes()
        with pytest.raises(TraceFormatError):
            answered(said, raw)

    def test_may_tell_of_an_operation_just_after_the_run(self, behaving):
        said = SAID | {"records": 1}
        raw = np.array([0, 0, 1.0, 9.5, 0, 1, 0, 0, 0, 0, 0, 0]).tobytes()
        trace = behaving(SAY, f"say(json.dumps({said}).encode(), {raw!r})")
        assert trace.duration == 9.5
        assert "ends 0.5 s after the run" in trace.warnings[0]

    def test_is_not_started_where_there_is_no_room(self, behaving, monkeypatch, tmp_path):
        def full():
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(darshan.tempfile, "TemporaryFile", full)
        with pytest.raises(TraceFormatError, match="No space left"):
            behaving("")

    @pytest.mark.thorough
    def test_is_ended_in_time(self, behaving, tmp_path):
        started = tmp_path / "pid"
        lines = [f"open({str(started)!r}, 'w').write(str(os.getpid()))", "while True: pass"]
        for seconds in (1, 4, 16, 64):  # a child may take long to start on a busy machine
            with pytest.raises(TraceFormatError, match=f"longer than {seconds} s"):
                behaving(*lines, timeout=float(seconds))
            if started.exists():
                break
        with pytest.raises(ProcessLookupError):
            os.kill(int(started.read_text()), 0)

    def test_limits_itself(self, tmp_path):
        """Checked in the process, for the limits go before everything else there."""
        script = textwrap.dedent(f"""
            import resource, runpy, signal, sys
            child = runpy.run_path({child.__file__!r}, run_name="child")
            child["_limit"](2**28, 5.0)
            assert resource.getrlimit(resource.RLIMIT_AS) == (2**28, 2**28)
            assert resource.getrlimit(resource.RLIMIT_CPU) == (6, 6)
            assert resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)
            assert resource.getrlimit(resource.RLIMIT_FSIZE) == (2**26, 2**26)
            assert 5 < signal.getitimer(signal.ITIMER_REAL)[0] <= 6
            bytearray(2**29)
        """)
        ended = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True)
        assert ended.stderr.decode().strip().endswith("MemoryError")

    def test_needs_the_standard_library_only(self):
        script = f"import runpy, sys; runpy.run_path({child.__file__!r}, run_name='child')"
        script += "\nassert not {'numpy', 'pandas', 'qmodels'} & set(sys.modules)"
        subprocess.run([sys.executable, "-I", "-S", "-c", script], check=True)


def mutated(log, chance):
    """Return a log with a random injury of a random kind."""
    raw = bytearray(log)
    kind = chance.randrange(7)
    extreme = (
        b"\xff" * 8,
        b"\0" * 8,
        (2**31 - 1).to_bytes(8, "little"),
        (2**63 - 1).to_bytes(8, "little"),
        (10**12).to_bytes(8, "little"),
        chance.randbytes(8),
    )
    if kind == 0:
        return bytes(raw[: chance.randrange(len(raw))])
    if kind == 1:
        for _ in range(chance.randrange(1, 10)):
            raw[chance.randrange(len(raw))] ^= 1 << chance.randrange(8)
    elif kind == 2:
        at = chance.randrange(len(raw))
        raw[at : at + chance.randrange(200)] = chance.randbytes(chance.randrange(200))
    elif kind == 3:  # the header: where modules lie and how long they are
        raw[chance.randrange(1400)] = chance.randrange(256)
    elif kind == 4:
        at = 8 * chance.randrange(2, 171)
        raw[at : at + 8] = chance.choice(extreme)
    elif kind == 5:
        at = chance.randrange(len(raw) - 8)
        raw[at : at + 8] = chance.choice(extreme)
    else:
        first, second = sorted(chance.randrange(len(raw)) for _ in range(2))
        raw[first:second] = raw[first:second][::-1]
    return bytes(raw)


def survived(file, name, log, copies, seed):
    """Read damaged copies; return how many were read or refused, each in time."""
    chance = random.Random(f"{name} {seed}")
    read = 0
    for _ in range(copies):
        file.write_bytes(mutated(log, chance))
        try:
            trace = read_darshan(file)
        except TraceFormatError as error:
            if "took longer" in str(error):
                pytest.fail(str(error))
        else:
            assert np.isfinite(trace.end).all()
            assert 0 < trace.duration < np.inf
            read += 1
    return read, copies - read


@needs_darshan
class TestDamagedLogs:
    @pytest.mark.thorough
    @pytest.mark.parametrize("name", LOGS)
    def test_are_read_or_refused_in_time(self, logs, tmp_path, name):
        log = logs[name].read_bytes()
        assert inspect.signature(read_darshan).parameters["timeout"].default < SECONDS
        _, refused = survived(tmp_path / "x.darshan", name, log, copies=8, seed=0)
        assert refused > 0

    @pytest.mark.slow
    @pytest.mark.parametrize("name", LOGS)
    def test_ten_thousand_of_them_are_read_or_refused_in_time(self, logs, tmp_path, name, record_property):
        log = logs[name].read_bytes()
        read, refused = survived(tmp_path / "x.darshan", name, log, copies=2500, seed=1)
        record_property("read", read)
        record_property("refused", refused)
        assert refused > 0

    @pytest.mark.thorough
    @pytest.mark.parametrize("name", LOGS)
    def test_that_are_cut_are_refused_unless_all_that_counts_is_there(self, logs, tmp_path, name):
        log, file = logs[name].read_bytes(), tmp_path / "x.darshan"
        whole, refused = read_darshan(logs[name]), 0
        for share in np.arange(1, 10) / 10:
            file.write_bytes(log[: int(share * len(log))])
            try:
                trace = read_darshan(file)
            except TraceFormatError:
                refused += 1
            else:
                assert np.array_equal(trace.start, whole.start)
                assert np.array_equal(trace.bytes, whole.bytes)
                assert trace.duration == whole.duration
        assert refused > 0

    @pytest.mark.thorough
    def test_that_unpack_to_far_more_than_they_hold_are_refused(self, logs, tmp_path):
        """The operations are replaced by empty records, or by one record without an end."""
        log = bytearray(logs[DXT].read_bytes())
        place = 40 + 16 * 8  # where a log of Darshan 3.1 says where its operations lie
        at, size = (int.from_bytes(log[place + k : place + k + 8], "little") for k in (0, 8))
        records = zlib.decompressobj().decompress(log[at : at + size])
        endless = bytearray(records[:112])
        endless[96:104] = (10**9).to_bytes(8, "little")
        for content in (bytes(50_000_000), bytes(endless) + bytes(160_000_000)):
            bomb = zlib.compress(content, 1)
            assert len(bomb) < len(content) / 100
            made = bytearray(log + bomb)
            made[place : place + 8] = len(log).to_bytes(8, "little")
            made[place + 8 : place + 16] = len(bomb).to_bytes(8, "little")
            (tmp_path / "bomb.darshan").write_bytes(made)
            with pytest.raises(TraceFormatError):
                read_darshan(tmp_path / "bomb.darshan", timeout=2.0, memory=2**27)
