from __future__ import annotations

import math

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qmodels.errors import ModelError, TraceFormatError
from qmodels.io.runs import COLUMNS, MAX_BYTES, RunTable, read_runs
from tests.examples import examples

HEADER = "program,phase,kind,p,d,seconds"
GOOD = ["solver,1,io,1,1,30", "solver,1,cpu,2,1,15.5", "solver,1,cpu,4,1,.75e1"]


@pytest.fixture
def write(tmp_path):
    def write(*lines, encoding="utf-8"):
        file = tmp_path / "runs.csv"
        file.write_bytes("\n".join(lines).encode(encoding))
        return file

    return write


class TestReading:
    def test_returns_the_runs_in_their_order(self, write):
        runs = read_runs(write(HEADER, *GOOD))
        assert runs.frame.to_dict("list") == {
            "program": ["solver"] * 3,
            "phase": [1, 1, 1],
            "kind": ["io", "cpu", "cpu"],
            "p": [1, 2, 4],
            "d": [1, 1, 1],
            "seconds": [30.0, 15.5, 7.5],
            "repeat": [1, 1, 1],
        }
        assert runs.programs == ("solver",)

    def test_does_not_mind_the_order_of_columns_blanks_or_a_byte_order_mark(self, write):
        file = write(
            "\ufeffseconds, d, p, kind, phase, program",
            "",
            "3,1,1,io,1,a",
            "2, 1, 2, io, 1, a",
            " ",
            "1,1,4,io,1,a",
            "",
        )
        assert read_runs(file).frame["seconds"].tolist() == [3.0, 2.0, 1.0]

    def test_understands_line_ends_of_windows_and_quoted_names(self, tmp_path):
        file = tmp_path / "runs.csv"
        lines = [HEADER, *(f'"a, b ""c""",1,io,{p},1,3' for p in (1, 2, 4))]
        file.write_bytes("\r\n".join(lines).encode())
        assert read_runs(file).programs == ('a, b "c"',)

    def test_keeps_repeated_runs_that_are_numbered(self, write):
        rows = [f"a,1,io,{p},1,3,{k}" for p in (1, 2, 4) for k in (1, 2)]
        assert read_runs(write(HEADER + ",repeat", *rows)).frame["repeat"].tolist() == [1, 2] * 3

    def test_of_hostile_names_keeps_them_as_they_are(self, write):
        names = ["<script>alert(1)</script>", "=cmd|'/c calc'!A0", "../../etc", "$x^2$", "Ω"]
        rows = [f"{name},1,io,{p},1,3" for name in names for p in (1, 2, 4)]
        assert read_runs(write(HEADER, *rows)).programs == tuple(names)

    @pytest.mark.parametrize(
        ("row", "field"),
        [
            ("a,1,io,2,1,0", "seconds"),
            ("a,1,io,2,1,-3", "seconds"),
            ("a,1,io,2,1,nan", "seconds"),
            ("a,1,io,2,1,inf", "seconds"),
            ("a,1,io,2,1,1e999", "seconds"),
            ("a,1,io,2,1,", "seconds"),
            ("a,1,io,2,1,1_000", "seconds"),
            ("a,1,io,2,1,\u0663", "seconds"),
            ("a,1,io,2,1,0x10", "seconds"),
            ("a,1,io,2,1,1e-300", "seconds"),
            ("a,1,io,0,1,3", "p"),
            ("a,1,io,-2,1,3", "p"),
            ("a,1,io,2.5,1,3", "p"),
            ("a,1,io,2,1_0,3", "d"),
            ("a,1,io,2,\u0661,3", "d"),
            ("a,1,io,2,0,3", "d"),
            ("a,1,io,2,9999999999,3", "d"),
            ("a,0,io,2,1,3", "phase"),
            ("a,one,io,2,1,3", "phase"),
            ("a,1,disk,2,1,3", "kind"),
            ("a,1,IO,2,1,3", "kind"),
            (",1,io,2,1,3", "program"),
            ("a\x1b[31m,1,io,2,1,3", "program"),
            ("a" * 201 + ",1,io,2,1,3", "program"),
        ],
    )
    def test_names_file_line_and_field_of_a_wrong_value(self, write, row, field):
        file = write(HEADER, *GOOD, row)
        with pytest.raises(TraceFormatError) as caught:
            read_runs(file)
        assert (caught.value.file, caught.value.line, caught.value.field) == (str(file), 5, field)
        assert len(str(caught.value)) < 400 + len(str(file))

    @pytest.mark.parametrize("row", ["a,1,io,2,1", "a,1,io,2,1,3,4", '"a,1,io,2,1,3', 'a"b"c,"d"e'])
    def test_names_the_line_of_a_row_that_is_none(self, write, row):
        with pytest.raises(TraceFormatError) as caught:
            read_runs(write(HEADER, *GOOD, row))
        assert caught.value.line == 5

    @pytest.mark.parametrize(
        ("header", "says"),
        [
            ("program,phase,kind,p,d", "column seconds is missing"),
            ("program,phase,kind,p,d,second", "did you mean seconds"),
            ("Program,phase,kind,p,d,seconds", "did you mean program"),
            ("program,phase,kind,p,d,seconds,qqq", "known are program"),
            ("program,phase,kind,p,d,seconds,p", "p is there 2 times"),
        ],
    )
    def test_helps_with_a_wrong_header(self, write, header, says):
        with pytest.raises(TraceFormatError, match=says) as caught:
            read_runs(write(header, *GOOD))
        assert caught.value.line == 1

    def test_refuses_a_run_that_is_there_twice_and_names_both_lines(self, write):
        with pytest.raises(TraceFormatError, match="run of line 3 again") as caught:
            read_runs(write(HEADER, *GOOD, "solver,1,cpu,2,1,16"))
        assert caught.value.line == 5

    def test_refuses_too_few_allotments_of_any_program(self, write):
        rows = ["b,1,io,1,1,3", "b,1,io,2,1,3", "b,1,cpu,2,1,3"]
        with pytest.raises(TraceFormatError, match="'b' was measured on 2 allotments") as caught:
            read_runs(write(HEADER, *GOOD, *rows))
        assert caught.value.line == 5

    def test_refuses_phases_with_a_gap(self, write):
        with pytest.raises(TraceFormatError, match="phase 3 but no phase 2"):
            read_runs(write(HEADER, *GOOD, "solver,3,io,1,1,3"))

    @pytest.mark.parametrize("lines", [[], [""], [HEADER], [HEADER, "", " "]])
    def test_refuses_a_table_without_runs(self, write, lines):
        with pytest.raises(TraceFormatError, match=r"is empty|no run"):
            read_runs(write(*lines))

    def test_refuses_text_that_is_not_utf_8_and_names_the_line(self, write):
        with pytest.raises(TraceFormatError, match="UTF-8") as caught:
            read_runs(write(HEADER, *GOOD, "é,1,io,1,1,3", encoding="latin-1"))
        assert caught.value.line == 5

    def test_refuses_a_file_that_is_too_large_or_none(self, tmp_path):
        big = tmp_path / "big.csv"
        with open(big, "wb") as stream:
            stream.truncate(MAX_BYTES + 1)
        for file, says in (
            (big, "larger than"),
            (tmp_path, "not a file"),
            ("x\0y", "cannot be read"),
        ):
            with pytest.raises(TraceFormatError, match=says):
                read_runs(file)

    @pytest.mark.parametrize("path", [None, 3, "", ["runs.csv"]])
    def test_refuses_what_is_no_path(self, path):
        with pytest.raises(ModelError, match="path"):
            read_runs(path)

    def test_refuses_a_field_of_a_million_letters(self, write):
        with pytest.raises(TraceFormatError):
            read_runs(write(HEADER, *GOOD, "a" * 10**6 + ",1,io,1,1,3"))

    @pytest.mark.thorough
    @settings(max_examples=examples(300), suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        st.integers(0, 200),
        st.integers(0, 8),
        st.binary(max_size=6) | st.sampled_from([b"\n", b",", b'"', b"nan", b"\0", b"-", b"e9"]),
    )
    def test_of_a_damaged_file_gives_runs_or_a_typed_error(self, tmp_path, at, cut, put):
        whole = "\n".join([HEADER, *GOOD]).encode()
        file = tmp_path / "damaged.csv"
        file.write_bytes(whole[:at] + put + whole[at + cut :])
        try:
            seconds = read_runs(file).frame["seconds"].tolist()
        except TraceFormatError:
            return
        assert seconds
        assert all(math.isfinite(x) and x > 0 for x in seconds)


class TestATable:
    def frame(self, **changes):
        rows = [("a", 1, "io", p, 1, 3.0 / p) for p in (1, 2, 4)]
        frame = pd.DataFrame(rows, columns=list(COLUMNS)).astype(object)
        for column, value in changes.items():
            frame[column] = [frame.get(column, [1])[0], value, frame.get(column, [1] * 3)[2]]
        return frame

    def test_keeps_a_copy_of_its_frame(self):
        frame = self.frame()
        runs = RunTable(frame)
        frame.at[0, "seconds"] = -1.0
        assert runs.frame.at[0, "seconds"] == 3.0
        assert "repeat" not in frame

    @pytest.mark.parametrize(
        "change",
        [
            {"seconds": 0.0},
            {"seconds": math.nan},
            {"seconds": math.inf},
            {"seconds": None},
            {"seconds": "3"},
            {"seconds": True},
            {"p": 0},
            {"p": 1.5},
            {"p": math.nan},
            {"d": None},
            {"d": math.inf},
            {"phase": -1},
            {"kind": "disk"},
            {"kind": None},
            {"program": ""},
            {"program": 3},
            {"program": "a\n"},
            {"repeat": 0},
        ],
    )
    def test_refuses_a_value_that_no_run_can_have(self, change):
        with pytest.raises(ModelError, match=next(iter(change))):
            RunTable(self.frame(**change))

    def test_may_hold_a_single_run_for_a_verdict_on_it(self):
        assert RunTable(self.frame().iloc[:1]).programs == ("a",)

    def test_refuses_a_run_that_is_there_twice(self):
        with pytest.raises(ModelError, match="repeats a run"):
            RunTable(pd.concat([self.frame(), self.frame()]))

    @pytest.mark.parametrize("frame", [None, [], {"p": [1]}, "runs.csv"])
    def test_refuses_what_is_no_frame(self, frame):
        with pytest.raises(ModelError, match=r"pandas\.DataFrame"):
            RunTable(frame)

    def test_refuses_a_frame_without_rows_or_columns(self):
        with pytest.raises(ModelError, match="no run"):
            RunTable(self.frame().iloc[:0])
        with pytest.raises(ModelError, match="missing"):
            RunTable(self.frame().drop(columns="p"))
