"""Trace events as DFTracer and Chrome's tracing write them: made files whose content is known."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from qmodels.errors import ModelError, TraceFormatError
from qmodels.io.subjects import read_subject
from qmodels.io.traced_runs import read_traced_runs
from qmodels.io.traces import read_trace
from tests.command import called


def dlio(rank, turns=25, *, read=0.2, compute=1.362, strings=True, extra=None):
    """Lines of a DFTracer file of one process of DLIO: wrappers around reads, then compute."""
    text = str if strings else int
    now = 1_700_000_000_000_000 + rank * 37
    lines = ["["]

    def put(name, category, start, length, **args):
        lines.append(
            json.dumps(
                {
                    "id": text(len(lines)),
                    "name": name,
                    "cat": category,
                    "pid": text(1000 + rank),
                    "tid": text(1),
                    "ts": text(start),
                    "dur": text(length),
                    "ph": "X",
                    "args": {"hhash": 2**63 + 12345, **args},
                },
                separators=(",", ":"),
            )
        )

    lines.append(
        json.dumps(
            {
                "name": "HH",
                "cat": "dftracer",
                "ph": "M",
                "pid": text(1000 + rank),
                "tid": text(1),
                "args": {"hhash": 2**63 + 12345, "name": "node1"},
            }
        )
    )
    extra = np.linspace(0.02, 0.08, turns) if extra is None else extra
    for k in range(turns):
        length = round(read * 1e6)
        around = round(extra[k] * compute * 1e6)
        put("TorchDataLoader.__iter__", "data_loader", now, length + 200)
        put("NPZReader.open", "reader", now + 5, length + 100)
        put("open64", "POSIX", now + 10, 40, ret="5", fhash=str(2**64 - 1))
        put("read", "POSIX", now + 60, length - 60, ret="1048576", fhash=2**64 - 1)
        put("TorchFramework.compute", "ai_framework", now + length + around // 2, round(compute * 1e6))
        now += length + around + round(compute * 1e6)
    return lines


class TestDFTracer:
    @pytest.fixture
    def folder(self, tmp_path):
        def folder(p, d=None, **changes):
            made = tmp_path / "runs" / (f"dlio.p{p}d{d}.r1" if d else f"run-{p}")
            made.mkdir(parents=True)
            for rank in range(p):
                lines = dlio(rank, read=0.4 / p, **changes)
                if rank == 0:
                    lines.append(lines[-1][:60])  # torn, and the list is never closed
                content = ("\n".join(lines) + "\n").encode()
                name = f"trace-{rank}-of-{p}.pfw"
                if rank == 1:
                    name, content = name + ".gz", gzip.compress(content)
                (made / name).write_bytes(content)
            return made

        return folder

    @pytest.mark.parametrize("strings", [True, False])
    def test_a_folder_of_files_is_one_run(self, folder, strings):
        made = folder(3, strings=strings)
        # DFTracer may leave a file and its packed form.
        (made / "trace-0-of-3.pfw.gz").write_bytes(gzip.compress((made / "trace-0-of-3.pfw").read_bytes()))
        trace = read_trace(made)
        assert trace.processes == 3
        assert np.bincount(trace.rank[trace.kind == "compute"]).tolist() == [25] * 3
        lengths = (trace.end - trace.start)[trace.kind == "compute"]
        assert lengths == pytest.approx(np.full(75, 1.362), abs=2e-6)
        assert np.count_nonzero(trace.kind == "read") == 75
        assert set(trace.bytes[trace.kind == "read"].tolist()) == {1048576}
        said = " ".join(trace.warnings)
        assert "150 events of other categories" in said
        assert "torn" in said

    def test_bursts_of_computation_are_as_long_as_the_framework_recorded(self, folder):
        """They came out 2 to 8 % too long, as all time between reads."""
        for p in (1, 2, 4):
            folder(p, 1)
        (found,) = read_traced_runs(folder(8, 1).parent)
        frame = found.table.frame
        cpu = frame[(frame["kind"] == "cpu") & (frame["phase"] == 1)]["seconds"]
        assert cpu.to_numpy() == pytest.approx(25 * 1.362, rel=1e-4)
        whole = frame.groupby("p")["seconds"].sum()
        # The last event is a computation, so that half of the last pause is not in the trace.
        expected = 25 * 1.362 * 1.05 - 0.04 * 1.362
        assert whole[1] == pytest.approx(10.0 + expected, rel=1e-3)

    def test_processes_are_those_of_the_files_names(self, tmp_path):
        """A rank may leave no file, or the readers of a rank files of their own."""
        for p in (1, 2, 4):
            made = tmp_path / f"x.p{p}d1"
            made.mkdir()
            for rank in range(p):
                for reader in (0, 500):
                    lines = dlio(rank + reader, 3, read=0.4 / p)
                    (made / f"trace-{rank}-of-{p}-{reader}.pfw").write_text("\n".join(lines))
        (found,) = read_traced_runs(tmp_path)
        assert sorted(set(found.table.frame["p"])) == [1, 2, 4]
        assert any("not by the processes with events" in remark for remark in found.remarks)

    def test_files_side_by_side_are_one_run_and_not_a_set(self, folder):
        subject = read_subject(str(folder(3)))
        assert (subject.kind, len(subject.run.bursts)) == ("trace", 25)
        with pytest.raises(TraceFormatError, match="processes of one run; give each run a folder"):
            read_traced_runs(folder(2))

    def test_what_counts_as_computation_may_be_said(self, tmp_path):
        (tmp_path / "a.pfw").write_text("\n".join(dlio(0, 3)))
        none = read_trace(tmp_path / "a.pfw", events={"ai_framework": "none"})
        assert not (none.kind == "compute").any()
        loader = read_trace(tmp_path / "a.pfw", events={"data_loader:Torch*": "compute"})
        assert np.count_nonzero(loader.kind == "compute") == 6
        for wrong in ({"": "io"}, {"x": "cpu"}, {3: "io"}):
            with pytest.raises(ModelError):
                read_trace(tmp_path / "a.pfw", events=wrong)
        assert called("surface", tmp_path / "a.pfw", "--event", "oops").returncode == 3

    def test_processes_of_one_number_on_two_hosts_are_two(self, tmp_path):
        lines = dlio(0, 3)
        other = [line.replace(str(2**63 + 12345), '"node2"') for line in lines]
        (tmp_path / "a.pfw").write_text("\n".join([*lines, *other]))
        assert read_trace(tmp_path / "a.pfw").processes == 2

    def test_lines_damaged_in_the_middle_are_not_taken_for_torn_ones(self, tmp_path):
        lines = dlio(0, 3)
        lines[4] = lines[4][:30]
        (tmp_path / "a.pfw").write_text("\n".join(lines))
        with pytest.raises(TraceFormatError) as caught:
            read_trace(tmp_path / "a.pfw")
        assert caught.value.line == 5


class TestChromeEvents:
    def write(self, tmp_path, events, *, close=True, indent=None):
        text = json.dumps(events, indent=indent)
        file = tmp_path / "trace.json"
        file.write_text(text if close else text[:-1])
        return file

    @staticmethod
    def pair(ph, ts, name="read", tid=1, **more):
        return {"ph": ph, "ts": ts, "name": name, "cat": "POSIX", "pid": 1, "tid": tid, **more}

    def test_with_begin_and_end_apart_nest_within_a_thread(self, tmp_path):
        events = [
            self.pair("B", 0.5, "compute", cat="x"),
            self.pair("B", 10.25),
            self.pair("E", 20.75),
            self.pair("B", 5, "write", tid=2),
            self.pair("E", 40, "write", tid=2),
            self.pair("E", 100.5, "compute", cat="x"),
        ]
        trace = read_trace(self.write(tmp_path, events))
        found = sorted(zip(trace.kind.tolist(), trace.start, trace.end, strict=True))
        expected = [("compute", 0, 1e-4), ("read", 9.75e-6, 20.25e-6), ("write", 4.5e-6, 39.5e-6)]
        for one, other in zip(found, expected, strict=True):
            assert one[0] == other[0]
            assert one[1:] == pytest.approx(other[1:], abs=1e-12)

    def test_may_be_in_any_order_of_time_and_lack_an_end_or_a_begin(self, tmp_path):
        events = [
            self.pair("E", 30),
            self.pair("B", 10),
            self.pair("E", 5),
            self.pair("B", 50, "write"),
            self.pair("B", 12, "never"),
            {"ph": "E", "ts": 200, "pid": 1, "tid": 9},
        ]
        trace = read_trace(self.write(tmp_path, events))
        assert trace.kind.tolist() == ["read"]
        assert trace.duration == pytest.approx(20e-6)
        assert "4 events have a begin or an end only" in trace.warnings[0]

    @pytest.mark.parametrize("indent", [None, 1])
    @pytest.mark.parametrize("cut", [1, 2, 30])
    def test_in_a_list_that_was_never_closed_are_read(self, tmp_path, indent, cut):
        events = [
            {"ph": "X", "ts": i * 100, "dur": 9, "name": "read", "cat": "POSIX", "pid": 1} for i in range(4)
        ]
        file = tmp_path / "trace.json"
        file.write_text(json.dumps(events, indent=indent)[:-cut])
        trace = read_trace(file)
        assert trace.start.size == (4 if cut == 1 or (cut == 2 and indent) else 3)
        assert "never closed" in trace.warnings[0]

    def test_a_list_damaged_in_the_middle_is_refused(self, tmp_path):
        text = json.dumps([self.pair("X", 5, dur=1)] * 3, indent=1).replace('"ph"', "ph", 1)
        (tmp_path / "trace.json").write_text(text)
        with pytest.raises(TraceFormatError, match="not JSON"):
            read_trace(tmp_path / "trace.json")

    @pytest.mark.thorough
    def test_deep_stacks_take_no_longer_than_long_ones(self, tmp_path):
        """Ends of no begin do not walk through all that is open."""
        events = [self.pair("B", k, f"a{k}") for k in range(20_000)]
        events += [self.pair("E", 20_000 + k, f"b{k}") for k in range(20_000)]
        with pytest.raises(TraceFormatError, match="no complete event"):
            read_trace(self.write(tmp_path, events))
