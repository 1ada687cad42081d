from __future__ import annotations

import contextlib
import gzip
import json
import os
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qmodels.errors import ModelError, TraceFormatError
from qmodels.io import _trace_events, _trace_text
from qmodels.io.traces import read_trace
from qmodels.programs.traces import IOTotals, Trace
from tests.examples import examples

HEADER = "rank,start,end,kind"
ROWS = ["0,0,1.5,read", "1,2.5,.4e1,write", "1,0.25,2,compute"]

GOOD = {
    "rank": [0, 1],
    "start": [0.0, 1.0],
    "end": [1.0, 2.0],
    "kind": ["read", "write"],
    "processes": 2,
    "duration": 5.0,
}


def event(**changes):
    """Make a line of a DFTracer file."""
    given = {
        "id": 1,
        "name": "read",
        "cat": "POSIX",
        "pid": 7,
        "tid": 7,
        "ts": 10**15,
        "dur": 500_000,
        "ph": "X",
        "args": {"ret": 4096},
    }
    return {name: value for name, value in (given | changes).items() if value is not ...}


@pytest.fixture
def write(tmp_path):
    def write(*lines, name="run.csv", pack=False, encoding="utf-8"):
        raw = "\n".join(lines).encode(encoding)
        file = tmp_path / name
        file.write_bytes(gzip.compress(raw) if pack else raw)
        return file

    return write


class TestATrace:
    def test_keeps_segments_in_the_order_of_their_start_and_read_only(self):
        trace = Trace([2, 0, 1], [5, 1, 1], [6, 4, 2], ["io", "write", "read"], 3, 9, [1, -1, 7])
        assert trace.start.tolist() == [1, 1, 5]
        assert trace.rank.tolist() == [1, 0, 2]
        assert trace.kind.tolist() == ["read", "write", "io"]
        assert trace.bytes.tolist() == [7, -1, 1]
        for name in ("rank", "start", "end", "kind", "bytes"):
            with pytest.raises(ValueError, match="read-only"):
                getattr(trace, name)[0] = getattr(trace, name)[1]

    def test_does_not_change_when_the_given_arrays_do(self):
        start = np.array([0.0, 1.0])
        trace = Trace(**GOOD | {"start": start})
        start[0] = 99.0
        assert trace.start[0] == 0.0

    def test_may_be_empty(self):
        trace = Trace([], [], [], [], 4, 1.0)
        assert trace.start.size == trace.is_io.size == 0
        assert "0 segments of I/O" in trace.table()
        assert Trace([], [], [], [], 1, 1.0).table().startswith("1 process for 1 s")

    def test_comes_as_a_frame_and_as_text(self):
        trace = Trace(**GOOD, resolution=0.5, warnings=("Mind the gap.",))
        assert list(trace.to_frame().columns) == ["rank", "start", "end", "kind", "bytes"]
        assert trace.table().splitlines() == [
            "2 processes for 5 s",
            "2 segments of I/O by 2 of them, 0 of computation",
            "segments are bins of 0.5 s",
            "Mind the gap.",
        ]

    @pytest.mark.parametrize(
        "wrong",
        [
            {"rank": [0, 2]},
            {"rank": [-1, 0]},
            {"rank": [0.0, 1.0]},
            {"rank": [True, False]},
            {"rank": [0]},
            {"rank": ["a", "b"]},
            {"rank": [[0, 1]]},
            {"rank": [0, 2**70]},
            {"start": [0, np.nan]},
            {"start": [-1, 0]},
            {"start": [1.5, 1]},
            {"start": None},
            {"start": [True, False]},
            {"start": [0, [1]]},
            {"end": [1, np.inf]},
            {"end": [1, 6]},
            {"end": [1]},
            {"end": "12"},
            {"kind": ["read", "seek"]},
            {"kind": "read"},
            {"kind": [1, 2]},
            {"kind": ["read"]},
            {"kind": None},
            {"kind": ["read", None]},
            {"processes": 0},
            {"processes": 2.0},
            {"processes": True},
            {"processes": 10**10},
            {"duration": 0},
            {"duration": np.nan},
            {"duration": -1},
            {"duration": "5"},
            {"bytes": [1]},
            {"bytes": [-2, 0]},
            {"bytes": [1.5, 2]},
            {"bytes": [2**63, 1]},
            {"source": 3},
            {"warnings": "careful"},
            {"warnings": [1]},
            {"warnings": None},
            {"complete": 1},
            {"resolution": -1},
            {"resolution": True},
            {"resolution": np.inf},
            {"complete": False},
            {"totals": {}},
        ],
    )
    def test_refuses_what_no_run_can_have(self, wrong):
        with pytest.raises(ModelError):
            Trace(**GOOD | wrong)

    @pytest.mark.parametrize(
        ("at", "bad"),
        [
            (0, [-2]),
            (0, [0, 1]),
            (1, [-1.0]),
            (2, [np.nan]),
            (3, [np.inf]),
            (4, [-1]),
            (5, [0.5]),
            (6, None),
            (7, ["x"]),
        ],
    )
    def test_totals_refuse_what_no_counter_can_have(self, at, bad):
        columns = [[0], [1.0], [1.0], [1.0], [1], [1], [0.0], [1.0]]
        assert IOTotals(*columns).seconds == 3.0
        columns[at] = bad
        with pytest.raises(ModelError):
            IOTotals(*columns)


class TestATable:
    def test_holds_the_segments(self, write):
        trace = read_trace(write(HEADER, *ROWS))
        assert trace.to_frame().to_dict("list") == {
            "rank": [0, 1, 1],
            "start": [0.0, 0.25, 2.5],
            "end": [1.5, 2.0, 4.0],
            "kind": ["read", "compute", "write"],
            "bytes": [-1, -1, -1],
        }
        assert (trace.processes, trace.duration) == (2, 4.0)
        assert trace.source.endswith("run.csv")

    def test_may_have_columns_in_any_order_blanks_quotes_bytes_and_a_byte_order_mark(self, write):
        file = write("\ufeffbytes, kind,end,start,rank", "", ' 5 ,"io",2,1,0', ",read,3,2,0", "")
        trace = read_trace(file)
        assert trace.bytes.tolist() == [5, -1]
        assert trace.kind.tolist() == ["io", "read"]

    def test_may_be_packed_and_have_line_ends_of_windows(self, write):
        file = write(HEADER + "\r", *(row + "\r" for row in ROWS), name="run.csv.gz", pack=True)
        assert read_trace(file).start.tolist() == [0.0, 0.25, 2.5]

    def test_takes_processes_and_duration_from_the_caller(self, write):
        trace = read_trace(write(HEADER, *ROWS), processes=64, duration=100)
        assert (trace.processes, trace.duration) == (64, 100.0)

    @pytest.mark.parametrize(
        "wrong",
        [{"processes": 1}, {"duration": 3.0}],
    )
    def test_must_go_with_processes_and_duration(self, write, wrong):
        with pytest.raises(TraceFormatError, match=r"run\.csv"):
            read_trace(write(HEADER, *ROWS), **wrong)

    @pytest.mark.parametrize(
        "wrong",
        [
            {"processes": 0},
            {"processes": True},
            {"processes": "4"},
            {"duration": np.nan},
            {"duration": -1},
            {"duration": None, "processes": 1e30},
            {"processes": 2.5},
        ],
    )
    def test_refuses_options_out_of_range(self, write, wrong):
        with pytest.raises(ModelError):
            read_trace(write(HEADER, *ROWS), **wrong)

    @pytest.mark.parametrize(
        ("row", "field"),
        [
            ("-1,0,1,read", "rank"),
            ("1.0,0,1,read", "rank"),
            ("1_0,0,1,read", "rank"),
            (",0,1,read", "rank"),
            ("\u0661,0,1,read", "rank"),
            ("9999999999,0,1,read", "rank"),
            ("0,nan,1,read", "start"),
            ("0,-1,1,read", "start"),
            ("0,1_000,2000,read", "start"),
            ("0,1e999,2,read", "start"),
            ("0,0x1,2,read", "start"),
            ("0,,2,read", "start"),
            ("0,0,inf,read", "end"),
            ("0,2,1,read", "end"),
            ("0,0,\u0663,read", "end"),
            ("0,0,1e19,read", "end"),
            ("0,0,1,", "kind"),
            ("0,0,1,READ", "kind"),
            ("0,0,1,seek", "kind"),
        ],
    )
    def test_names_file_line_and_field_of_a_wrong_value(self, write, row, field):
        file = write(HEADER, *ROWS, row)
        with pytest.raises(TraceFormatError) as caught:
            read_trace(file)
        assert (caught.value.file, caught.value.line, caught.value.field) == (str(file), 5, field)

    def test_of_times_by_a_clock_are_refused(self, write):
        with pytest.raises(TraceFormatError, match="start: begins at 1700000000 s, by a clock"):
            read_trace(write(HEADER, "0,1700000000.0,1700000001.0,read", "0,1700000005,1700000006,write"))

    @pytest.mark.parametrize("size", ["-2", "1.5", "1_0", "9" * 19, "x"])
    def test_names_wrong_bytes(self, write, size):
        with pytest.raises(TraceFormatError) as caught:
            read_trace(write(HEADER + ",bytes", f"0,0,1,read,{size}"))
        assert (caught.value.line, caught.value.field) == (2, "bytes")

    @pytest.mark.parametrize(
        ("lines", "what"),
        [
            ([], "is empty"),
            (["", " "], "is empty"),
            ([HEADER], "no entry"),
            (["rank,start,end"], "column kind is missing"),
            ([HEADER + ",kind"], "2 times"),
            (["rank,start,stop,kind"], "unknown column 'stop'"),
            (["ranc,start,end,kind"], "rank?"),
            ([HEADER, "0,0,1"], "3 fields"),
            ([HEADER, "0,0,1,read,2"], "5 fields"),
            ([HEADER, '0,0,1,"read'], "not CSV"),
            ([HEADER, "0,0,0,read"], "covers no time"),
            ([HEADER, "x" * 1_000_001], "longer than"),
            ([HEADER, "0,0,1,read\x00"], "kind"),
        ],
    )
    def test_says_what_is_wrong_with_it(self, write, lines, what):
        with pytest.raises(TraceFormatError, match=what.replace("?", r"\?")):
            read_trace(write(*lines))

    def test_must_be_utf8(self, write):
        with pytest.raises(TraceFormatError, match="UTF-8") as caught:
            read_trace(write(HEADER, "0,0,1,r\xe9ad", encoding="latin-1"))
        assert caught.value.line == 2


class TestTraceEvents:
    def test_are_read_as_dftracer_writes_them(self, write):
        file = write(
            "[",
            json.dumps(event(name="start", cat="dftracer", ts=10**15 - 10**6, dur=0)),
            json.dumps({"name": "thread_name", "ph": "M", "pid": 7, "args": {"name": "x"}}),
            json.dumps(event()) + ",",
            json.dumps(event(pid=9, name="pwrite64", ts=10**15 + 10**6, args={"ret": 10})),
            json.dumps(event(name="open64", dur=10, args={"ret": 3})),
            json.dumps(event(name="fread", cat="STDIO", ts=10**15 + 2, args={"ret": 1})),
            json.dumps(event(name="train.compute", cat="COMPUTE", ts=10**15 + 2 * 10**6)),
            json.dumps({"name": "memory", "ph": "C", "pid": 7, "ts": 3}),
            "]",
            name="app.pfw",
        )
        trace = read_trace(file)
        assert trace.kind.tolist() == ["io", "read", "read", "write", "compute"]
        assert trace.start.tolist() == pytest.approx([1, 1, 1.000002, 2, 3], rel=1e-9)
        assert trace.rank.tolist() == [0, 0, 0, 1, 0]
        assert trace.bytes.tolist() == [-1, 4096, -1, 10, -1]
        assert (trace.processes, trace.duration) == (2, pytest.approx(3.5))
        assert trace.warnings == (
            "1 events of other categories ('dftracer') count neither as I/O nor as computation.",
        )

    @pytest.mark.parametrize("indent", [None, 1])
    @pytest.mark.parametrize("wrap", [lambda e: e, lambda e: {"traceEvents": e, "otherData": {}}])
    @pytest.mark.parametrize("pack", [False, True])
    def test_may_be_a_list_in_one_piece(self, write, indent, wrap, pack):
        events = [event(), event(ts=10**15 + 10**6, name="write")]
        file = write(json.dumps(wrap(events), indent=indent), name="trace.json", pack=pack)
        assert read_trace(file).end.tolist() == pytest.approx([0.5, 1.5])

    def test_may_be_one_per_line_in_a_list_that_was_never_closed(self, write):
        lines = ["[" + json.dumps(event()) + ",", json.dumps(event(ts=10**15 + 10**6)) + ","]
        assert read_trace(write(*lines, name="unknown")).end.tolist() == pytest.approx([0.5, 1.5])

    def test_of_several_files_may_be_joined(self, write):
        one = ["[", json.dumps(event(pid=1)), "]"]
        two = ["[", json.dumps(event(pid=2)), "]"]
        assert read_trace(write(*one, *two, name="all.pfw")).processes == 2

    def test_a_failed_call_moved_nothing(self, write):
        trace = read_trace(write(json.dumps(event(args={"ret": -1})), name="a.pfw"))
        assert trace.bytes.tolist() == [0]

    @pytest.mark.parametrize(
        ("changes", "field"),
        [
            ({"ts": -1}, "ts"),
            ({"ts": "5x"}, "ts"),
            ({"ts": ""}, "ts"),
            ({"ts": "-5"}, "ts"),
            ({"ts": "1_0"}, "ts"),
            ({"dur": "nan"}, "dur"),
            ({"ts": ...}, "ts"),
            ({"ts": True}, "ts"),
            ({"ts": 10**30}, "ts"),
            ({"ts": 10**400}, "ts"),
            ({"dur": -5}, "dur"),
            ({"dur": ...}, "dur"),
            ({"dur": None}, "dur"),
            ({"dur": [1]}, "dur"),
            ({"pid": 1.5}, None),
            ({"pid": "x" * 65}, None),
            ({"pid": [1]}, None),
            ({"ph": ...}, None),
            ({"ph": 3}, None),
        ],
    )
    def test_name_the_line_and_field_of_a_wrong_value(self, write, changes, field):
        file = write("[", json.dumps(event()), json.dumps(event(**changes)), name="a.pfw")
        with pytest.raises(TraceFormatError) as caught:
            read_trace(file)
        assert (caught.value.line, caught.value.field) == (3, field)

    @pytest.mark.parametrize(
        "line",
        [
            '{"ph":"M","args":{"x":NaN}}',
            '{"ph":"X","ts":NaN,"dur":1}',
            '{"ph":"X","ts":Infinity,"dur":1}',
            '{"ph":"X","ts":1_000,"dur":1}',
            '{"ph":"X","ts":1,"dur":1',
            "[" * 100_000,
            "3",
            "null",
            '{"a":' * 100_000,
            '{"ph":"X","ts":1e999,"dur":1}',
            '{"ph":"X","ts":\u0663,"dur":1}',
            "x" * 1_000_001,
            '{"ph":"X","ts":' + "9" * 5000 + ',"dur":1}',
            "}",
            "\x00",
        ],
    )
    def test_a_damaged_line_is_named(self, write, line):
        file = write(json.dumps(event()), line, json.dumps(event()), name="a.pfw")
        with pytest.raises(TraceFormatError) as caught:
            read_trace(file)
        assert caught.value.line == 2

    @pytest.mark.parametrize(
        ("text", "what"),
        [
            ("[" * 100_000, "nested"),
            ('{"traceEvents": 3}', "no list of events"),
            ("[]", "no c"),
            ("[3]", "not an event"),
            ('[{"a": 1}, {"a": 2}]', 'no type "ph"'),
            ("", "no complete"),
            ('{"traceEvents": [' + json.dumps(event(ts=-1)) + "]}", r"traceEvents\[0\]\.ts"),
            ("[{\n", "not JSON"),
            (json.dumps(event(dur=0)), "duration"),
        ],
    )
    def test_a_file_without_events_says_so(self, write, text, what):
        with pytest.raises(TraceFormatError, match=what):
            read_trace(write(text, name="a.json"))


class TestAnyFile:
    @pytest.mark.parametrize("name", ["trace.csv", "trace.pfw", "trace.pfw.gz", "trace.darshan"])
    def test_that_is_none_is_refused(self, tmp_path, name):
        with pytest.raises(TraceFormatError, match="cannot be read"):
            read_trace(tmp_path / name)
        (tmp_path / name).mkdir()
        with pytest.raises(TraceFormatError):
            read_trace(tmp_path / name)
        loop = tmp_path / f"loop.{name}"
        loop.symlink_to(loop)
        with pytest.raises(TraceFormatError, match="cannot be read"):
            read_trace(loop)

    @pytest.mark.parametrize("suffix", [".csv", ".pfw", ".darshan"])
    def test_that_never_ends_or_never_begins_is_refused(self, tmp_path, suffix):
        os.mkfifo(tmp_path / f"pipe{suffix}")
        (tmp_path / f"zero{suffix}").symlink_to("/dev/zero")
        for name in ("pipe", "zero"):
            with pytest.raises(TraceFormatError, match="is not a file"):
                read_trace(tmp_path / f"{name}{suffix}")

    @pytest.mark.parametrize("bad", [None, 3, "", True, "a\x00b"])
    def test_must_be_named(self, bad):
        with pytest.raises(ModelError):
            read_trace(bad)

    @pytest.mark.thorough
    @pytest.mark.parametrize("name", ["bomb.csv", "bomb.pfw", "bomb.json"])
    def test_is_unpacked_up_to_a_limit_only(self, tmp_path, name, monkeypatch):
        monkeypatch.setattr(_trace_text, "MAX_BYTES", 500_000)
        monkeypatch.setattr(_trace_events, "MAX_WHOLE", 200_000)
        first, again = {
            "bomb.csv": (HEADER + "\n", "0,0,1,read\n"),
            "bomb.pfw": ("[\n", json.dumps(event()) + "\n"),
            "bomb.json": ("[", '{"ph": "M"},'),
        }[name]
        text = first + again * (1_000_000 // len(again))
        (tmp_path / name).write_bytes(gzip.compress(text.encode(), 1))
        with pytest.raises(TraceFormatError, match="bytes of text"):
            read_trace(tmp_path / name)

    def test_whose_packing_is_cut_is_refused(self, tmp_path):
        packed = gzip.compress("\n".join([HEADER, *ROWS * 1000]).encode())
        for cut in (3, 12, len(packed) // 2, len(packed) - 2):
            (tmp_path / "run.csv.gz").write_bytes(packed[:cut])
            with pytest.raises(TraceFormatError):
                read_trace(tmp_path / "run.csv.gz")

    @given(cells=st.lists(st.text(max_size=12), max_size=8), seed=st.integers(0, 10**6))
    @settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_with_damage_is_read_or_refused(self, tmp_path, cells, seed):
        chance = random.Random(seed)
        lines = [HEADER, *ROWS]
        if chance.random() < 0.5:
            lines = [json.dumps(event()), json.dumps(event(ts=10**15 + 1))]
        text = "\n".join(lines)
        for cell in cells:
            at = chance.randrange(len(text))
            text = text[:at] + cell + text[at + chance.randrange(4) :]
        name = chance.choice(["run.csv", "run.pfw", "run.json", "run"])
        file = Path(tmp_path) / name
        file.write_bytes(text.encode(errors="surrogatepass"))
        with contextlib.suppress(TraceFormatError):
            trace = read_trace(file)
            assert np.isfinite(trace.end).all()
            assert trace.duration > 0
