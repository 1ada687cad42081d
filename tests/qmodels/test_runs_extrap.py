from __future__ import annotations

import json
import math

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qmodels.errors import ModelError, TraceFormatError
from qmodels.io.extrap import write_extrap
from qmodels.io.runs import COLUMNS, RunTable, read_runs
from qmodels.io.subjects import read_subject
from tests.examples import examples


def line(p=4, d=2, callpath="phase1->io", value=(12.5,), **more):
    params = {"p": p} if d is None else {"p": p, "d": d}
    return json.dumps({"params": params, "callpath": callpath, "metric": "time", "value": list(value)} | more)


GOOD = [line(1), line(2), line(4)]


@pytest.fixture
def write(tmp_path):
    def write(*lines):
        file = tmp_path / "solver.jsonl"
        file.write_text("\n".join(lines), encoding="utf-8")
        return file

    return write


def table(*rows):
    return RunTable(pd.DataFrame(rows, columns=[*COLUMNS, "repeat"]))


class TestReading:
    def test_takes_json_lines_by_what_they_hold_whatever_the_file_is_called(self, tmp_path):
        file = tmp_path / "runs.csv"
        file.write_text("\n".join(["", *GOOD]), encoding="utf-8")
        runs = read_runs(file)
        assert runs.frame["p"].tolist() == [1, 2, 4]
        assert runs.frame["seconds"].tolist() == [12.5] * 3
        assert runs.programs == ("runs",)

    def test_values_are_repeats_and_go_on_from_line_to_line(self, write):
        runs = read_runs(write(line(1, value=[3, 4]), line(2), line(4), line(1, value=[5])))
        assert runs.frame["repeat"].tolist() == [1, 2, 1, 1, 3]
        assert runs.frame["seconds"].tolist() == [3.0, 4.0, 12.5, 12.5, 5.0]

    def test_a_single_value_needs_no_list_and_metric_and_disks_may_be_left_out(self, write):
        lines = [f'{{"params": {{"p": {p}}}, "callpath": "phase1->cpu", "value": 7}}' for p in (1, 2, 4)]
        runs = read_runs(write(*lines))
        assert runs.frame["d"].tolist() == [1, 1, 1]
        assert runs.frame["kind"].tolist() == ["cpu"] * 3

    def test_a_name_before_the_phase_is_the_programs(self, write):
        lines = [line(p, callpath=f"{name}->phase1->io") for name in ("a", "main->b c") for p in (1, 2, 4)]
        assert read_runs(write(*lines)).programs == ("a", "main->b c")

    @pytest.mark.parametrize(
        ("wrong", "field"),
        [
            (line(value=[0]), "value"),
            (line(value=[-1.0]), "value"),
            (line(value=[]), "value"),
            (line(value=[True]), "value"),
            (line(value=["3"]), "value"),
            (line(value=[None]), "value"),
            (line(value=[1e300]), "value"),
            (line(p=0), "p"),
            (line(p=1.5), "p"),
            (line(p="4"), "p"),
            (line(p=True), "p"),
            (line(p=10**400), "p"),
            (line(d=0), "d"),
            (line(d=-2), "d"),
            (line(d=[2]), "d"),
            (line(callpath="phase0->io"), "callpath"),
            (line(callpath="phase1->disk"), "callpath"),
            (line(callpath="main"), "callpath"),
            (line(callpath=None), "callpath"),
            (line(callpath="\x1b[31m->phase1->io"), "callpath"),
            (line(callpath="a" * 300 + "->phase1->io"), "callpath"),
            (line(metric="flops"), "metric"),
            (line(metric=None), "metric"),
            (line(params={"p": 4, "q": 2}), "params"),
            (line(params={"d": 4}), "params"),
            (line(params=[4, 2]), "params"),
        ],
    )
    def test_names_file_line_and_field_of_a_wrong_value(self, write, wrong, field):
        file = write(*GOOD, "", wrong)
        with pytest.raises(TraceFormatError) as caught:
            read_runs(file)
        assert (caught.value.file, caught.value.line, caught.value.field) == (str(file), 5, field)
        assert len(str(caught.value)) < 400 + len(str(file))

    @pytest.mark.parametrize(
        "wrong",
        [
            "{",
            "[1, 2]",
            "12",
            "null",
            '{"params": {"p": 4}}',
            line(extra=1),
            line(value=[]).replace("[]", "[NaN]"),
            line(value=[]).replace("[]", "[Infinity]"),
            line(value=[]).replace("[]", "[" * 100_000),
            '{"p": 1, "p": 2}',
            line(value=[]).replace("[]", "[" + "9" * 5000 + "]"),
            "p,d,seconds",
        ],
        ids=lambda text: text[:30],
    )
    def test_names_the_line_of_what_is_no_measurement(self, write, wrong):
        with pytest.raises(TraceFormatError) as caught:
            read_runs(write(*GOOD, wrong))
        assert caught.value.line == 4

    def test_refuses_too_few_allotments_and_names_the_line_where_the_program_starts(self, write):
        few = [line(p, callpath="b->phase1->io") for p in (1, 2)]
        with pytest.raises(TraceFormatError, match="'b' was measured on 2 allotments") as caught:
            read_runs(write(*GOOD, *few))
        assert caught.value.line == 4

    @settings(max_examples=examples(200), suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        st.integers(1, 300),
        st.integers(0, 8),
        st.binary(max_size=6) | st.sampled_from([b"\n", b",", b'"', b"NaN", b"\0", b"-", b"e9"]),
    )
    def test_of_a_damaged_file_gives_runs_or_a_typed_error(self, tmp_path, at, cut, put):
        whole = "\n".join(GOOD).encode()
        file = tmp_path / "damaged.jsonl"
        file.write_bytes(whole[:at] + put + whole[at + cut :])
        try:
            seconds = read_runs(file).frame["seconds"].tolist()
        except TraceFormatError:
            return
        assert seconds
        assert all(math.isfinite(x) and x > 0 for x in seconds)


class TestWriting:
    ROWS = (
        ("a", 1, "io", 1, 1, 3.0, 2),
        ("a", 1, "io", 1, 1, 0.1 + 0.2, 1),
        ("a", 1, "cpu", 2, 1, 1e-18, 1),
        ("b \u03a9", 1, "io", 4, 2, 1e18, 1),
    )

    def test_gives_one_line_a_burst_and_allotment_repeats_by_number(self, tmp_path):
        file = tmp_path / "runs.jsonl"
        write_extrap(table(*self.ROWS), file)
        lines = [json.loads(text) for text in file.read_text(encoding="utf-8").splitlines()]
        assert lines[0] == {
            "params": {"p": 1, "d": 1},
            "callpath": "a->phase1->io",
            "metric": "time",
            "value": [0.1 + 0.2, 3.0],
        }
        assert [x["callpath"] for x in lines[1:]] == ["a->phase1->cpu", "b \u03a9->phase1->io"]

    @pytest.mark.thorough
    @settings(max_examples=examples(50), suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.lists(st.floats(1e-18, 1e18), min_size=3, max_size=8))
    def test_loses_no_digit_on_the_way_back(self, tmp_path, seconds):
        file = tmp_path / "runs.jsonl"
        runs = table(*[("a", 1, "io", i + 1, 1, y, 1) for i, y in enumerate(seconds)])
        write_extrap(runs, file)
        assert read_runs(file).frame.equals(runs.frame)

    def test_leaves_the_old_file_when_it_cannot_write(self, tmp_path, monkeypatch):
        file = tmp_path / "runs.jsonl"
        file.write_text("before")
        with pytest.raises(ModelError, match="rename it"):
            write_extrap(table(("a->b", 1, "io", 1, 1, 3.0, 1)), file)

        def fail(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("os.replace", fail)
        with pytest.raises(ModelError, match="No space left"):
            write_extrap(table(*self.ROWS), file)
        assert file.read_text() == "before"
        assert [each.name for each in tmp_path.iterdir()] == ["runs.jsonl"]

    def test_refuses_nodes_for_which_a_call_path_has_no_place(self, tmp_path):
        runs = table(*self.ROWS)
        with pytest.raises(ModelError, match="column nodes"):
            write_extrap(RunTable(runs.frame.assign(nodes=1)), tmp_path / "runs.jsonl")

    @pytest.mark.parametrize("path", [None, 3, "", "no/such/folder/runs.jsonl", ".", "x\0y"])
    def test_refuses_what_cannot_be_written_to(self, path, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        with pytest.raises(ModelError):
            write_extrap(table(*self.ROWS), path)
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("runs", [None, 3, "runs.csv", pd.DataFrame()])
    def test_refuses_what_is_no_table(self, runs, tmp_path):
        with pytest.raises(ModelError, match="RunTable"):
            write_extrap(runs, tmp_path / "runs.jsonl")


POINTS = [(1, 1), (2, 1), (4, 2)]


def experiment(**changes):
    """A JSON experiment of one program with two bursts, and a metric that is no time."""
    measured = {
        f"solver->phase1->{kind}": {
            "time": [{"point": [p, d], "values": [c / p, 1.1 * c / p]} for p, d in POINTS],
            "visits": [{"point": [p, d], "values": [3]} for p, d in POINTS],
        }
        for kind, c in (("io", 6.0), ("cpu", 40.0))
    }
    return {"parameters": ["p", "d"], "measurements": measured} | changes


TEXT = """# made by hand
PARAMETER p
PARAMETER d
POINTS (1 1) ( 2 1 ) (4, 2)

METRIC visits
REGION solver->phase1->io
DATA 3
DATA 3
DATA 3
METRIC time
REGION solver->phase1->io
DATA 6.0 6.6
DATA 3.0 3.3
DATA 1.5 1.65
REGION solver->phase1->cpu
DATA 40 44
DATA 20 22
DATA 10 11
"""


class TestAnExperiment:
    @pytest.mark.thorough
    @pytest.mark.parametrize("content", [json.dumps(experiment(), indent=1), TEXT])
    def test_of_extra_p_holds_its_times(self, tmp_path, content):
        file = tmp_path / "experiment"
        file.write_text(content)
        frame = read_runs(file).frame
        assert len(frame) == 12
        assert set(frame["program"]) == {"solver"}
        for (kind, p, repeat), rows in frame.groupby(["kind", "p", "repeat"]):
            expected = (6.0 if kind == "io" else 40.0) / p * (1.1 if repeat == 2 else 1.0)
            assert rows["seconds"].tolist() == pytest.approx([expected])
        assert read_subject(str(file)).kind == "runs"

    @pytest.mark.parametrize(
        ("changes", "what"),
        [
            ({"parameters": "p"}, "list of names"),
            ({"parameters": ["p", "n"]}, "params"),
            ({"parameters": ["p"]}, "one for each parameter"),
            ({"measurements": []}, "call paths"),
            ({"measurements": {}}, "no measurement"),
            ({"measurements": {"a": {"visits": []}}}, "no measurement"),
            ({"measurements": {"phase1->io": {"time": [{"point": [1, 1]}]}}}, "values"),
            ({"measurements": {"phase1->io": {"time": 3}}}, "list of points"),
            ({"measurements": {"phase1->io": 3}}, "object of metrics"),
            ({"measurements": {"main->f": {"time": [{"point": [1, 1], "values": [1]}]}}}, "phaseN"),
        ],
    )
    def test_in_json_names_what_is_wrong(self, tmp_path, changes, what):
        file = tmp_path / "experiment.json"
        file.write_text(json.dumps(experiment(**changes)))
        with pytest.raises(TraceFormatError, match=what):
            read_runs(file)

    @pytest.mark.parametrize(
        ("old", "new", "line", "what"),
        [
            ("POINTS", "POINT", 4, "did you mean POINTS"),
            ("DATA 6.0", "DATA six", 13, "decimal"),
            ("(4, 2)", "(4)", 10, "point 3 has 1 numbers"),
            ("(4, 2)", "", 10, "line 3 of DATA"),
            ("REGION solver->phase1->io", "", 8, "REGION and POINTS"),
            ("d\n", "n\n", 13, "params"),
            ("DATA 40 44", "DATA -40", 17, "decimal"),
            ("DATA 40 44", "DATA nan", 17, "decimal"),
            ("METRIC time", "METRIC bytes", None, "no DATA of the metric"),
        ],
    )
    def test_in_text_names_the_line_of_what_is_wrong(self, tmp_path, old, new, line, what):
        file = tmp_path / "experiment.txt"
        file.write_text(TEXT.replace(old, new))
        with pytest.raises(TraceFormatError, match=what) as caught:
            read_runs(file)
        assert caught.value.line == line

    def test_that_is_packed_says_what_to_do(self, tmp_path):
        (tmp_path / "a.extra-p").write_bytes(b"PK\x03\x04 and so on")
        with pytest.raises(TraceFormatError, match="save it as JSON"):
            read_runs(tmp_path / "a.extra-p")
