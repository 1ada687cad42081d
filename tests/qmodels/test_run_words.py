"""Tables of runs with words where numbers are looked for: phases by name, disks, speedups without p = 1."""

from __future__ import annotations

import re

import numpy as np
import pytest

from qmodels.errors import ModelError, TraceFormatError
from qmodels.io.run_words import RunWords
from qmodels.io.runs import read_runs
from qmodels.io.subjects import read_subject
from qmodels.programs import fit_runs
from tests.command import called

CORES = (128, 256, 512, 1024, 2048)
PARTS = {"io": 10.0, "solve": 80.0, "halo": 5.0}
TOTAL = 100.0
LONG = {"p": "cores", "seconds": "s", "phase": "timer"}


def _wide(total=TOTAL, **parts):
    parts = parts or PARTS
    rows = [f"{p},{total * 128 / p:g}," + ",".join(f"{s * 128 / p:g}" for s in parts.values()) for p in CORES]
    return "\n".join([f"cores,total,{','.join(parts)}", *rows])


def _long(*timers):
    return "\n".join(["cores,timer,s", *(f"{p},{name},{s * 128 / p:g}" for p in CORES for name, s in timers)])


@pytest.fixture
def write(tmp_path):
    def written(text):
        path = tmp_path / "runs.csv"
        path.write_text(text, encoding="utf-8")
        return path

    return written


def _phases(table):
    frame = table.frame
    return dict(zip(frame["phase_name"], zip(frame["phase"], frame["kind"], strict=True), strict=True))


def test_a_column_for_each_phase_gives_the_parts_of_the_total_and_a_rest(write):
    table = read_runs(write(_wide()), columns={"p": "cores", "seconds": "total+io+solve+halo"})
    assert _phases(table) == {"io": (1, "io"), "solve": (2, "cpu"), "halo": (3, "cpu"), "rest": (4, "cpu")}
    assert table.frame.groupby("p")["seconds"].sum().tolist() == pytest.approx([12800 / p for p in CORES])
    assert any("'rest' is 'total' less io, solve, halo" in note for note in table.notes)


def test_a_row_for_each_phase_is_read_alike(write):
    wide = read_runs(write(_wide()), columns={"p": "cores", "seconds": "total+io+solve+halo"}).frame
    long = read_runs(write(_long(("total", TOTAL), *PARTS.items())), columns=LONG).frame
    keys = ["p", "phase"]
    assert long.sort_values(keys)["seconds"].tolist() == wide.sort_values(keys)["seconds"].tolist()


@pytest.mark.parametrize(
    ("parts", "total", "left", "says"),
    [
        ({"io": 10.0, "solve": 90.0}, 100.0, ["io", "solve"], "add up to 'total'"),
        (
            {"outer": 90.0, "inner": 80.0},
            100.0,
            ["total"],
            r"do not add up to 'total' \(line 2: they make 170",
        ),
    ],
)
def test_parts_take_the_place_of_a_total_only_where_they_add_up_to_it(write, parts, total, left, says):
    table = read_runs(
        write(_wide(total, **parts)), columns={"p": "cores", "seconds": f"total+{'+'.join(parts)}"}
    )
    assert list(_phases(table)) == left
    assert any(re.search(says, note) for note in table.notes)


def test_of_one_program_notes_on_the_others_are_not_told(write):
    rows = [f"{name},{line}" for name in ("a", "b") for line in _wide().splitlines()[1:]]
    path = write("\n".join(["code,cores,total,io,solve,halo", *rows]))
    columns = {"p": "cores", "program": "code", "seconds": "total+io+solve+halo"}
    assert sum("'rest' is 'total'" in note for note in read_runs(path, columns=columns).notes) == 2
    (note,) = (x for x in read_subject(str(path), program="b", columns=columns).remarks if "'rest'" in x)
    assert note.startswith("Program 'b': ")


def test_a_phase_that_not_every_run_has_stays_in_the_rest(write):
    text = _wide().replace("\n2048,6.25,0.625,", "\n2048,6.25,0,")
    table = read_runs(write(text), columns={"p": "cores", "seconds": "total+io+solve+halo"})
    assert list(_phases(table)) == ["solve", "halo", "rest"]
    assert any("with io, which not every run has" in note for note in table.notes)


def test_runs_that_the_order_of_rows_mixes_need_their_numbers(write):
    """Of each run the parts add up; the first total in the table is that of the second run."""
    rows = [
        f"{p},{run},{timer},{run * s * 128 / p:g}"
        for p in CORES
        for run in (1, 2)
        for timer, s in PARTS.items()
    ]
    rows += [f"{p},{run},total,{run * TOTAL * 128 / p:g}" for p in CORES for run in (2, 1)]
    path = write("\n".join(["cores,run,timer,s", *rows]))
    mixed, told = (read_runs(path, columns=LONG | more) for more in ({}, {"repeat": "run"}))
    assert list(_phases(mixed)) == ["total"]
    assert any("name the column of their numbers: repeat=NAME" in note for note in mixed.notes)
    assert list(_phases(told)) == [*PARTS, "rest"]
    assert not any("repeat=NAME" in note for note in told.notes)


def test_phases_are_chosen_by_name_and_wrong_ones_named(write):
    path = write(_long(("total", TOTAL), *PARTS.items()))
    assert list(_phases(read_runs(path, columns=LONG, phases=["halo"]))) == ["halo"]
    with pytest.raises(TraceFormatError, match="has no phase 'hallo'; did you mean halo"):
        read_runs(path, columns=LONG, phases=["hallo"])


@pytest.mark.parametrize("phases", [[], "io", [3]])
def test_phases_are_chosen_by_names(write, phases):
    with pytest.raises(ModelError, match="phases must be names"):
        read_runs(write(_long(*PARTS.items())), columns=LONG, phases=phases)


def test_a_phase_that_few_allotments_have_is_named_with_the_one_that_is_meant(write):
    with pytest.raises(TraceFormatError, match=r"'sovle' .* on 1 of 5 allotments; .* did you mean solve"):
        read_runs(write(_long(("io", 1.0), ("solve", 9.0)).replace("solve", "sovle", 1)), columns=LONG)


def test_phases_by_number_and_by_name_are_not_mixed(write):
    with pytest.raises(TraceFormatError, match="'3' here and 'io' elsewhere") as caught:
        read_runs(write(_long(("io", 1.0), ("solve", 9.0)) + "\n4096,3,1"), columns=LONG)
    assert caught.value.line == 12


STRIPES = "np,where,s\n" + "".join(
    f"{p},{word},{t * (1 + 4 / p):g}\n"
    for word, t in (("striped", 2), ("burst buffer", 1))
    for p in (4, 8, 16)
)
WHERE = {"p": "np", "d": "where", "seconds": "s"}


class TestDisksInWords:
    def test_are_refused_until_one_is_chosen_or_all_are_counted(self, write):
        with pytest.raises(
            TraceFormatError, match=r"striped \(3 rows\), burst buffer \(3 rows\); choose one"
        ):
            read_runs(write(STRIPES), columns=WHERE)

    def test_one_stands_for_one_disk_and_the_notes_say_so(self, write):
        table = read_runs(write(STRIPES), columns=WHERE, disks="burst buffer")
        assert table.frame["seconds"].tolist() == [2.0, 1.5, 1.25]
        assert any("'1 disk' stands for it" in note for note in table.notes)

    def test_may_be_counted(self, write):
        table = read_runs(write(STRIPES), columns=WHERE, disks={"striped": 48, "burst buffer": 1})
        assert sorted(set(table.frame["d"])) == [1, 48]

    @pytest.mark.parametrize(
        ("text", "disks", "says"),
        [
            (STRIPES, "stripped", "did you mean striped"),
            (STRIPES, {"striped": 4}, "disks 'burst buffer' are not counted"),
            (STRIPES + "32,4,1\n", "striped", "disks are '4' here and the word 'striped' elsewhere"),
            (STRIPES.replace("striped", "nan"), "burst buffer", "disks are 'nan' here"),
            ("np,where,s\n1,1,3\n2,1,2\n4,1,1\n", "striped", "no words for disks"),
        ],
    )
    def test_that_cannot_be_counted_are_refused_in_words(self, write, text, disks, says):
        with pytest.raises(TraceFormatError, match=says):
            read_runs(write(text), columns=WHERE, disks=disks)

    @pytest.mark.parametrize("disks", [{"a": 0}, {"a": True}, 4])
    def test_have_whole_counts(self, write, disks):
        with pytest.raises(ModelError, match="disks"):
            read_runs(write(STRIPES), columns=WHERE, disks=disks)

    @pytest.mark.thorough
    def test_are_understood_by_the_command_line(self, write):
        columns = ("--columns", "p=np,d=where,seconds=s")
        done = called("surface", write(STRIPES), *columns, "--target", "32,burst buffer")
        assert done.returncode == 0
        assert "Disks are the word 'burst buffer'" in done.stderr
        done = called("surface", write(STRIPES), *columns, "--disks", "striped,burst buffer")
        assert done.returncode != 0
        assert "words have no order" in done.stderr

    def test_go_with_measured_runs_only(self):
        with pytest.raises(ModelError, match="QCRD-2 is no table of measured runs"):
            read_subject("QCRD-2", words=RunWords(disks="striped"))


class TestSpeedupWithoutARunOnOneProcessor:
    """It stood over an extrapolated T(1,1), 128 times fewer processors than any run had."""

    def test_stands_over_the_smallest_run(self, write):
        table = read_runs(write(_long(("solve", 100.0))), columns=LONG)
        fitted = fit_runs(table, draws=100)["runs"]
        told = fitted.predict([128.0, 1024.0], 1.0)
        assert fitted.base == told.base == (128.0, 1.0)
        assert told.measured_speedup.tolist() == pytest.approx([1.0, 8.0])
        assert (told.speedup_low[0], told.speedup_high[0]) == (1.0, 1.0)
        assert "over 128 processors and 1 disk" in told.table()
        surface = fitted.surface([128, 1024], [1, 2])
        assert surface[1024, 1] == pytest.approx(float(told.speedup[1]))
        assert surface.efficiency("p")[0, 0] == pytest.approx(1.0)
        assert "over 128 processors and 1 disk" in surface.table()

    @pytest.mark.thorough
    def test_is_said_on_every_surface(self, write, tmp_path):
        text = "program,phase,kind,p,d,seconds\n" + "".join(
            f"a,1,{kind},{p},{d},{t * (1 + 1 / p) / d}\n"
            for kind, t in (("io", 2), ("cpu", 9))
            for p in (4, 8, 16)
            for d in (1, 2)
        )
        folder = tmp_path / "out"
        done = called("surface", write(text), "-o", folder)
        assert done.returncode == 0
        over = "over 4 processors and 1 disk"
        assert f"speedup {over} with 90 % intervals" in done.stdout
        assert f"the speedup {over} is" in done.stdout
        assert f"speedups stand {over}, the smallest run" in done.stderr
        assert (folder / "surface.html").read_text().count(over.capitalize()) == 1
        assert np.isfinite(float((folder / "surface.csv").read_text().splitlines()[1].split(",")[3]))


@pytest.mark.thorough
def test_programs_in_equal_parts_keep_what_was_said_of_their_table(write):
    rows = [
        f"{name},{phase},cpu,{p},1,{s / p}"
        for name in ("a", "b")
        for phase, s in (("solve", 80.0), ("total", 100.0))
        for p in CORES
    ]
    path = write("\n".join(["program,phase,kind,p,d,seconds", *rows]))
    said = read_subject(str(path), mixed=True).remarks
    assert any("taken in equal parts: a, b" in each for each in said)
    assert any("Program 'a': 'rest' is 'total' less solve." in each for each in said)
