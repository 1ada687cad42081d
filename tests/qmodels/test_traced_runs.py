"""Folders of traces as tables of runs: made logs, timelines and events of known programs."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from qmodels.errors import ModelError, TraceFormatError
from qmodels.io.runs import read_runs
from qmodels.io.subjects import TraceChoices, read_subject
from qmodels.io.trace_folders import NamedRun, find_runs
from qmodels.io.traced_runs import RunChoices, read_traced_runs
from tests.command import called, result_of

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "darshan-runs"

needs_darshan = pytest.mark.skipif(
    importlib.util.find_spec("darshan") is None, reason="the package darshan is not installed"
)


@pytest.fixture
def timelines(tmp_path):
    """Write timelines of a program: two bursts of 6/d s, each followed by 40/p s."""

    def timelines(allotments, *, folder=tmp_path / "traces", name="solver.p{p}d{d}", factor=1.0):
        folder.mkdir(parents=True, exist_ok=True)
        for p, d in allotments:
            rows, now = ["rank,start,end,kind"], 0.0
            for _ in range(2):
                rows += [f"{r},{now:.6f},{now + 6 / d:.6f},write" for r in range(p)]
                rows += [
                    f"{r},{now + 6 / d:.6f},{now + 6 / d + factor * 40 / p:.6f},compute" for r in range(p)
                ]
                now += 6 / d + factor * 40 / p
            (folder / (name.format(p=p, d=d) + ".csv")).write_text("\n".join(rows) + "\n")
        return folder

    return timelines


class TestNames:
    @pytest.mark.parametrize(
        ("name", "found"),
        [
            ("solver.p8d4.r1", ("solver", 8, 4, 1)),
            ("solver.p8.d4.r12", ("solver", 8, 4, 12)),
            ("my.solver2.d4p8", ("my.solver2", 8, 4, None)),
            ("p16", ("", 16, None, None)),
            ("a-p16_d2-r3", ("a", 16, 2, 3)),
            ("x.p8", ("x", 8, None, None)),
            ("p8r2", ("", 8, None, 2)),
        ],
    )
    def test_as_extra_p_writes_them_say_what_a_run_had(self, name, found):
        assert NamedRun.parse(name) == NamedRun(*found)

    @pytest.mark.parametrize(
        "name", ["solver", "", "p", "prep8", "x.p8p4", "x.p0d4", "x.d4", "loop8", "x.p8n100", "p8x"]
    )
    def test_of_other_kinds_say_nothing(self, name):
        assert NamedRun.parse(name) == NamedRun()


class TestTimelines:
    def test_of_several_allotments_make_a_table_of_runs(self, timelines):
        (found,) = read_traced_runs(timelines([(1, 1), (2, 1), (16, 2), (4, 2)]))
        frame = found.table.frame
        assert found.table.programs == ("solver",)
        assert frame.groupby(["p", "d"]).size().to_dict() == {(1, 1): 4, (2, 1): 4, (4, 2): 4, (16, 2): 4}
        for (kind, p, d), rows in frame.groupby(["kind", "p", "d"]):
            expected = 6 / d if kind == "io" else 40 / p
            assert rows["seconds"].tolist() == pytest.approx([expected] * 2, rel=1e-5)

    def test_that_repeat_an_allotment_are_numbered(self, timelines, tmp_path):
        folder = timelines([(1, 1), (2, 1), (4, 1)])
        timelines([(4, 1)], name="solver.p{p}d{d}.r1")
        timelines([(4, 1)], name="solver.p{p}d{d}.r7")
        (found,) = read_traced_runs(folder)
        frame = found.table.frame
        assert sorted(frame[frame["p"] == 4]["repeat"].unique()) == [1, 2, 7]

    def test_need_the_number_of_disks_and_say_how_to_give_it(self, timelines):
        folder = timelines([(1, 1), (2, 1), (4, 1)], name="p{p}")
        with pytest.raises(TraceFormatError, match=r"p1\.csv.*solver\.p8d4\.r1.*--on-disks"):
            read_traced_runs(folder)
        (found,) = read_traced_runs(folder, choices=RunChoices(disks=3))
        assert set(found.table.frame["d"]) == {3}
        assert found.table.programs == (folder.name,)

    def test_of_too_few_allotments_are_refused_with_their_list(self, timelines):
        with pytest.raises(TraceFormatError, match=r"'solver' ran on 2 allotments.*1 x 1, 2 x 1"):
            read_traced_runs(timelines([(1, 1), (2, 1)]))

    def test_of_another_program_with_too_few_allotments_are_left_out(self, timelines):
        folder = timelines([(1, 1), (2, 1), (4, 1)])
        timelines([(2, 1)], name="other.p{p}d{d}")
        (found,) = read_traced_runs(folder)
        assert found.table.programs == ("solver",)
        assert "left out: other (1)" in found.remarks[-1]

    def test_beside_other_files_are_found(self, timelines):
        folder = timelines([(1, 1), (2, 1), (4, 1)])
        (folder / "notes.txt").write_text("x")
        (folder / "runs.csv").write_text("program,phase,kind,p,d,seconds\n")
        (folder / ".hidden.darshan").write_text("x")
        (folder / "empty").mkdir()
        (folder / "settings.json").write_text('{"a": 1}')
        assert [Path(run.path).name for run in find_runs(str(folder))] == [
            "solver.p1d1.csv",
            "solver.p2d1.csv",
            "solver.p4d1.csv",
        ]

    @pytest.mark.thorough
    def test_of_two_releases_have_the_same_phases(self, timelines, tmp_path):
        """Seen by itself, the old release with its shorter pauses could be parted elsewhere."""
        allotments = [(1, 1), (2, 1), (4, 2), (8, 2)]
        old = timelines(allotments, folder=tmp_path / "old", name="a.p{p}d{d}.r1")
        timelines(allotments, folder=old, name="a.p{p}d{d}.r2")
        new = timelines(allotments, folder=tmp_path / "new", name="b.p{p}d{d}.r1", factor=1.2)
        timelines(allotments, folder=new, name="b.p{p}d{d}.r2", factor=1.21)
        both = read_traced_runs(old, new)
        assert [each.table.programs for each in both] == [("a",), ("b",)]
        parts = [set(zip(t.table.frame["phase"], t.table.frame["kind"], strict=True)) for t in both]
        assert parts[0] == parts[1]
        asked = ("compare", old, new, "--fail-if", "slowdown > 5% with 95%")
        assert "not two releases of one" in called(*asked).stderr  # unless that is said
        done = called(*asked, "--program", "a=b")
        assert done.returncode == 1
        assert "broken" in done.stdout
        assert called("compare", old, old).returncode == 3

    def test_go_with_a_table_in_a_comparison(self, timelines, tmp_path):
        folder = timelines([(1, 1), (2, 1), (4, 2)])
        (found,) = read_traced_runs(folder)
        table = tmp_path / "old.csv"
        found.table.frame.assign(seconds=lambda f: f["seconds"] * 1.5).to_csv(table, index=False)
        done = called("compare", table, folder)
        assert done.returncode == 0
        assert "faster" in done.stdout
        assert called("compare", table, table, "--on-disks", "2").returncode == 3

    @pytest.mark.thorough
    def test_are_a_subject_of_a_surface(self, timelines, tmp_path):
        folder = timelines([(1, 1), (2, 1), (4, 2), (8, 4)])
        with pytest.raises(ModelError, match="--on-disks says how many"):
            read_subject(str(folder), choices=TraceChoices(processors=2.0))
        with pytest.raises(ModelError, match="laws are learnt"):
            read_subject(str(folder), choices=TraceChoices(io_law="d"))
        done = called(
            "surface", folder, "--processors", "1,16", "--disks", "1", "--json", "-o", tmp_path / "out"
        )
        assert done.returncode == 0, done.stderr
        assert "2 bursts of I/O" in done.stderr
        said = result_of(done.stdout)
        assert (said["kind"], said["name"]) == ("runs", "solver")
        assert len(said["fit"]["forecast"]) == 2
        assert read_runs(tmp_path / "out" / "runs.csv").programs == ("solver",)


class TestAFolder:
    @pytest.mark.parametrize("files", [[], ["notes.txt"], ["table.csv"]])
    def test_without_a_trace_is_refused(self, tmp_path, files):
        for name in files:
            (tmp_path / name).write_text("a,b\n1,2\n")
        with pytest.raises(TraceFormatError, match="has no trace"):
            read_traced_runs(tmp_path)

    def test_of_a_table_says_why_that_is_no_trace(self, tmp_path):
        """It said that no file ends in .csv, in a folder that held one."""
        (tmp_path / "runs.csv").write_text("program,phase,kind,p,d,seconds\n")
        with pytest.raises(TraceFormatError, match=r"runs\.csv has no columns .*rank.*by its own"):
            read_traced_runs(tmp_path)

    def test_that_is_not_there_is_refused(self, tmp_path):
        with pytest.raises(TraceFormatError, match="cannot be read"):
            read_traced_runs(tmp_path / "none")

    def test_with_a_damaged_trace_names_the_file(self, timelines):
        folder = timelines([(1, 1), (2, 1), (4, 2)])
        (folder / "solver.p2d1.csv").write_text("rank,start,end,kind\n0,1,x,read\n")
        with pytest.raises(TraceFormatError) as caught:
            read_traced_runs(folder)
        assert Path(caught.value.file).name == "solver.p2d1.csv"
        assert (caught.value.line, caught.value.field) == (2, "end")

    @pytest.mark.parametrize(
        "wrong", [{"disks": 0}, {"disks": 10**12}, {"module": "NFS"}, {"events": (("a", "b"),)}]
    )
    def test_is_read_with_choices_in_range(self, wrong):
        with pytest.raises(ModelError):
            RunChoices(**wrong)


@needs_darshan
class TestDarshanLogs:
    @pytest.mark.thorough
    def test_of_the_example_make_a_table_with_processors_disks_and_phases(self):
        (found,) = read_traced_runs(EXAMPLE)
        frame = found.table.frame
        assert found.table.programs == ("solver",)
        assert sorted(set(zip(frame["p"], frame["d"], strict=True))) == [
            (1, 1),
            (2, 1),
            (2, 2),
            (4, 1),
            (4, 2),
            (4, 4),
            (8, 2),
            (8, 4),
            (16, 4),
        ]
        assert any("storage targets (OSTs) that hold a byte: 1, 2, 4" in x for x in found.remarks)
        # By hand: 8 turns of 1 + 80/p s and a checkpoint of 6/d s, after reading 40/min(d, p) s.
        mean = frame.groupby(["p", "d"])["seconds"].sum() / frame.groupby(["p", "d"])["repeat"].nunique()
        for (p, d), seconds in mean.items():
            expected = 40 / min(p, d) + 8 * (1 + 80 / p + 6 / d)
            assert seconds == pytest.approx(expected, rel=4 * 0.04 / np.sqrt(3))

    @pytest.mark.thorough
    def test_without_a_layout_of_the_storage_need_the_disks(self, maker, tmp_path):
        lib = maker.library()
        for p in (1, 2, 4):
            operations, seconds = maker.program(p, 1, [1.0] * 17)
            maker.write_log(
                lib,
                tmp_path / f"{p}.darshan",
                command="/x/solver -n 3",
                operations=operations,
                seconds=seconds,
                job=p,
            )
        with pytest.raises(TraceFormatError, match="no record of a Lustre layout"):
            read_traced_runs(tmp_path)
        (found,) = read_traced_runs(tmp_path, choices=RunChoices(disks=2))
        assert found.table.programs == ("solver",)

    def test_of_one_process_each_are_joined_by_job_where_they_overlap(self, maker, tmp_path):
        """Without MPI each process has a log of its own, of one process."""
        lib = maker.library()
        for job, p in ((7, 1), (8, 2), (9, 4)):
            for rank in range(p):
                begin = 100.0 * job + 0.25 * rank
                maker.write_log(
                    lib,
                    tmp_path / f"{job}-{rank}.darshan",
                    command="/x/serial",
                    operations=[[("write", 1.0, 2.0, 10), ("write", 12.0, 13.0, 10)]],
                    seconds=20.0,
                    targets=[[rank]],
                    job=job,
                    start=begin,
                )
        # The same program once more in job 9, later: a run of its own.
        maker.write_log(
            lib,
            tmp_path / "9-late.darshan",
            command="/x/serial",
            operations=[[("write", 1.0, 2.0, 10), ("write", 12.0, 13.0, 10)]],
            seconds=20.0,
            targets=[[0]],
            job=9,
            start=2000.0,
        )
        (found,) = read_traced_runs(tmp_path)
        frame = found.table.frame
        assert sorted(set(zip(frame["p"], frame["d"], frame["repeat"], strict=True))) == [
            (1, 1, 1),
            (1, 1, 2),
            (2, 2, 1),
            (4, 4, 1),
        ]
        assert sum("overlap in time" in remark for remark in found.remarks) == 2
        whole = frame.groupby(["p", "repeat"])["seconds"].sum()
        assert whole[4, 1] == pytest.approx(20.75)
        io = frame[(frame["p"] == 4) & (frame["kind"] == "io")]["seconds"]
        assert io.tolist() == pytest.approx([1.75, 1.75])

    def test_with_whole_seconds_say_how_wrong_they_may_be(self, maker, tmp_path):
        lib = maker.library()
        for p in (1, 2, 4):
            maker.write_log(
                lib,
                tmp_path / f"{p}.darshan",
                command="/x/s",
                seconds=20.0,
                job=p,
                targets=[[0]] * p,
                operations=[[("write", 1.0, 2.0, 10)]] * p,
                whole_seconds=True,
            )
        (found,) = read_traced_runs(tmp_path)
        (said,) = [x for x in found.remarks if "whole seconds" in x]
        assert said.endswith("(and 2 more runs like it)")

    def test_with_counters_only_are_one_phase_each_and_say_so(self, maker, tmp_path):
        lib = maker.library()
        for p in (1, 2, 4):
            operations, seconds = maker.program(p, 1, [1.0] * 17)
            maker.write_log(
                lib,
                tmp_path / f"{p}.darshan",
                command="/x/s",
                seconds=seconds,
                job=p,
                targets=[[3]] * p,
                operations=operations,
                timeline=False,
            )
        (found,) = read_traced_runs(tmp_path)
        frame = found.table.frame
        assert len(frame) == 6
        for (p, kind), rows in frame.groupby(["p", "kind"]):
            io = 40.0 + 8 * 6.0  # each process does I/O for as long as all together
            expected = io if kind == "io" else 8 * (1 + 80 / p) + 0.55
            assert rows["seconds"].tolist() == pytest.approx([expected], rel=0.03)
        assert any("counters but no timeline" in remark for remark in found.remarks)
        assert any("each run is one phase" in remark for remark in found.remarks)

    def test_are_read_by_the_layer_of_io_that_is_asked_for(self, tmp_path):
        for log in sorted(EXAMPLE.glob("*.darshan"))[:3]:
            (tmp_path / log.name).write_bytes(log.read_bytes())
        done = called("surface", tmp_path, "--module", "STDIO")
        assert done.returncode == 3
        assert "has no records of STDIO; it has POSIX" in done.stderr
        assert called("surface", tmp_path, "--module", "NFS").returncode == 3

    @pytest.mark.thorough
    def test_with_targets_unevenly_loaded_say_so(self, maker, tmp_path):
        lib = maker.library()
        for p in (2, 3, 4):
            big, small = [("write", 1.0, 2.0, 10**9)], [("write", 1.0, 2.0, 1000)]
            log = tmp_path / f"{p}.darshan"
            maker.write_log(
                lib,
                log,
                command="/x/s",
                seconds=5.0,
                job=p,
                targets=[[k] for k in range(p)],
                operations=[big] + [small] * (p - 1),
            )
        (found,) = read_traced_runs(tmp_path)
        assert found.table.frame.groupby("p")["d"].first().to_dict() == {2: 2, 3: 3, 4: 4}
        (said,) = [x for x in found.remarks if "unevenly" in x]
        assert "3.darshan: 1 of 3" in said
