"""Tables of runs as other people write them: other signs between fields, and other columns."""

from __future__ import annotations

import pytest

from qmodels.errors import ModelError, TraceFormatError
from qmodels.io.run_columns import minutes_note, unread_note
from qmodels.io.runs import read_runs
from qmodels.io.subjects import read_subject
from tests.command import called

TOTALS = "nprocs,nnodes,walltime_s\n" + "".join(
    f"{p},{nodes},{8 + 400 / p:.6g}\n"
    for p, nodes in ((16, 1), (16, 1), (32, 2), (64, 4), (128, 8), (256, 16))
)
MAP = {"p": "nprocs", "seconds": "walltime_s"}


@pytest.fixture
def totals(tmp_path):
    path = tmp_path / "total.csv"
    path.write_text(TOTALS)
    return path


@pytest.mark.parametrize("sign", [";", "\t"])
def test_semicolons_and_tabs_are_read_like_commas(tmp_path, sign):
    path = tmp_path / "runs.csv"
    lines = ["program,phase,kind,p,d,seconds", *(f"a,1,io,{p},1,{30 / p}" for p in (1, 2, 4))]
    path.write_text("\n".join(lines).replace(",", sign))
    assert read_runs(path).frame["seconds"].tolist() == [30.0, 15.0, 7.5]


def test_a_comma_in_a_number_between_semicolons_is_named(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("program;phase;kind;p;d;seconds\na;1;io;1;1;30,5\n")
    with pytest.raises(TraceFormatError, match=r"decimal point.*got '30,5'") as caught:
        read_runs(path)
    assert (caught.value.line, caught.value.field) == (2, "seconds")


class TestATableOfTotals:
    def test_without_a_map_is_told_of_it(self, totals):
        with pytest.raises(TraceFormatError, match="--columns p=nprocs,seconds=walltime_s"):
            read_runs(totals)

    def test_is_read_through_a_map_of_columns(self, totals):
        found = read_runs(totals, columns=MAP)
        assert found.programs == ("total",)
        assert found.frame["p"].tolist() == [16, 16, 32, 64, 128, 256]
        assert found.frame["repeat"].tolist() == [1, 2, 1, 1, 1, 1]
        assert set(found.frame["d"]) == {1}

    @pytest.mark.thorough
    def test_says_what_cannot_be_learnt_from_it(self, totals):
        """More disks were worth "+0", from runs that never had another number of them."""
        found = read_subject(str(totals), columns=MAP)
        said = " ".join(found.remarks)
        assert "cannot tell I/O from computation" in said
        assert "no disks" in said
        assert found.program is None
        assert not found.fit.predict(64.0, 1.0).time.mask.any()
        assert found.fit.predict(64.0, 2.0).time.mask.all()

    @pytest.mark.thorough
    def test_whose_disks_grew_with_its_processors_says_so(self, totals):
        found = read_subject(str(totals), columns={**MAP, "d": "nnodes"})
        assert any("processors and disks cannot be told apart" in x for x in found.fit.unidentified)

    @pytest.mark.parametrize(
        ("columns", "says"),
        [
            ({"p": "nprocs"}, "no column is named for the seconds"),
            ({"seconds": "walltime_s"}, "no column is named for the processors"),
            ({"p": "nproc", "seconds": "walltime_s"}, "did you mean nprocs"),
            ({"q": "nprocs"}, "unknown key 'q'"),
            ({"p": 3}, "must be the name of a column"),
            ([1], "must be a map such as p ="),
        ],
    )
    def test_with_another_map_is_refused_in_one_line(self, totals, columns, says):
        with pytest.raises(ModelError, match=says):
            read_runs(totals, columns=columns)


@pytest.mark.thorough
def test_the_command_takes_the_map_and_keeps_silent_of_disks(totals):
    asked = ("surface", totals, "--processors", "16,64,512", "--disks", "1,2")
    done = called(*asked, "--columns", "p=nprocs,seconds=walltime_s")
    assert done.returncode == 0, done.stderr
    assert "one more disk" not in done.stdout
    row = next(line for line in done.stdout.splitlines() if line.lstrip().startswith("64 "))
    assert row.split()[3] == "-"  # on two disks
    done = called(*asked, "--columns", "nprocs")
    assert (done.returncode, done.stdout) == (3, "")
    assert "--columns: 'nprocs' is no map such as p=nprocs,seconds=walltime_s" in done.stderr


@pytest.mark.parametrize(
    ("header", "offered"),
    [
        ("cores,wall_min", "p=cores,seconds=wall_min"),
        ("gpus,makespan,run", "p=gpus,seconds=makespan,repeat=run"),
        ("k,foo", "p=NAME,seconds=NAME"),
    ],
)
def test_a_table_of_other_columns_is_told_how_it_is_read(tmp_path, header, offered):
    path = tmp_path / "runs.csv"
    path.write_text(f"{header}\n1,9,1\n")
    with pytest.raises(TraceFormatError, match=f"--columns {offered}$"):
        read_runs(path)


@pytest.mark.parametrize("name", ["wall_min", "wall min", "wallMin"])
def test_times_that_may_be_minutes_are_read_with_a_remark(tmp_path, name):
    path = tmp_path / "runs.csv"
    path.write_text(f"cores,{name}\n1,62\n2,33\n4,18\n")
    read = read_runs(path, columns={"p": "cores", "seconds": name})
    assert any("If it is minutes, convert it" in each for each in read.notes)
    assert not minutes_note([name, name.replace("min", "max").replace("Min", "Max")], [name])


def test_runs_numbered_alike_are_told_what_may_part_them(tmp_path):
    """'Number repeated runs in a column repeat', where one was named."""
    path = tmp_path / "runs.csv"
    path.write_text("p,run,build,s\n1,1,gcc,9\n1,1,icc,8\n2,1,gcc,5\n4,1,gcc,3\n")
    named = {"p": "p", "seconds": "s", "repeat": "run"}
    with pytest.raises(
        TraceFormatError, match=r"of line 2 again, with the same 'run'; name .* program=NAME"
    ) as caught:
        read_runs(path, columns=named)
    assert caught.value.line == 3


def test_threads_that_part_runs_on_the_same_processors_are_said_not_to_be_read(tmp_path):
    """The nodes go with the processors, and a number of the run parts nothing."""
    path = tmp_path / "runs.csv"
    rows = [f"{p},{p // 16},{t},{run},{t + 400 / p}" for p in (16, 32, 64) for t in (1, 2) for run in (1, 2)]
    path.write_text("\n".join(["p,nodes,threads,run,s", *rows]))
    (said,) = (
        note for note in read_runs(path, columns={"p": "p", "seconds": "s"}).notes if "Not read" in note
    )
    assert said.startswith("Not read: threads (2 values). Runs on the same allotment count as repeats")
    named = {"p": "p", "seconds": "s", "program": "threads"}
    assert not any("Not read" in note for note in read_runs(path, columns=named).notes)


def test_a_phase_that_is_numbered_is_said_not_to_be_read():
    rows = [[phase, p, "5"] for phase in "12" for p in "12"]
    (note,) = unread_note(["phase", "p", "s"], rows, ["p", "s"])
    assert note.startswith("Not read: phase (2 values).")
    assert note.endswith("name it: phase=phase.")
