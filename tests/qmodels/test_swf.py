"""The reader of job logs: strict about numbers, forgiving about quirks, right about statistics."""

from __future__ import annotations

import contextlib
import csv
import gzip
import itertools
import math
import os
import secrets
import subprocess
import sys
import tracemalloc
import zlib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from qmodels.errors import ModelError, TraceFormatError
from qmodels.io import JobLog, _swf_parse, read_swf, write_swf
from qmodels.io._swf_parse import FIELDS, WHOLE
from tests.examples import examples
from tests.mutations import processor_seconds, refusal, survived

HEADER = """\
; Version: 2.2
; Computer: Test Machine
; Information: http://one.example/
;              http://two.example/
; UnixStartTime: 820090437
; TimeZone: 0
; TimeZoneString: US/Pacific
; MaxNodes: 400 (48 interactive, 352 batch)
; MaxProcs: 1664 (72, 1368, 224)
; Queue:  0  interactive
; Queue:  1  q4t
;
; Note: made by hand
"""


def row(**given: object) -> str:
    """One line of a log; -1 for what is not given."""
    return " ".join(str(given.get(name, -1)) for name in FIELDS)


def a_log(folder: Path, *rows: str, header: str = HEADER, end: str = "\n") -> Path:
    file = folder / "log.swf"
    file.write_text(header + "\n".join(rows) + end)
    return file


def job(number: int, submit: float, **more: object) -> str:
    return row(**({"job": number, "submit": submit, "run": 10, "processors": 2, "status": 1} | more))


# --- what a log says ------------------------------------------------------------------------


def test_plain_and_gzip_are_told_apart_by_content_not_by_name(tmp_path):
    text = (HEADER + job(1, 0) + "\n" + job(2, 5.5) + "\n").encode()
    (tmp_path / "plain.gz").write_bytes(text)
    (tmp_path / "packed.swf").write_bytes(gzip.compress(text))
    for name in ("plain.gz", "packed.swf"):
        log = read_swf(tmp_path / name)
        assert log.jobs["submit"].tolist() == [0.0, 5.5]
        assert log.path.name == name


def test_columns_bear_the_names_of_the_format_in_its_order(tmp_path):
    log = read_swf(a_log(tmp_path, " ".join(str(i) for i in range(1, 19))))
    assert list(log.jobs.columns) == [*FIELDS, "size", "work"]
    assert log.jobs.loc[0, list(FIELDS)].tolist() == list(range(1, 19))


def test_header_lines_become_a_dict_with_lists_for_repeated_keys(tmp_path):
    log = read_swf(a_log(tmp_path, job(1, 0)))
    assert log.header["Computer"] == "Test Machine"
    assert log.header["Queue"] == ["0  interactive", "1  q4t"]
    assert log.header["Information"] == "http://one.example/ http://two.example/"
    assert (log.max_procs, log.max_nodes, log.unix_start_time) == (1664, 400, 820090437)
    assert str(log.timezone) == "US/Pacific"
    assert log.warnings == ()


def test_comments_may_stand_anywhere_and_blank_lines_do_no_harm(tmp_path):
    log = read_swf(a_log(tmp_path, job(1, 0), "; MaxRecords: 2", "", "  \t", "  ; Note: late", job(2, 3)))
    assert len(log.jobs) == 2
    assert log.header["MaxRecords"] == "2"
    assert log.header["Note"] == ["made by hand", "late"]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("UnixStartTime: abc", "UnixStartTime"),
        ("UnixStartTime: " + "9" * 5000, "UnixStartTime"),
        ("UnixStartTime: 1e9", "UnixStartTime"),
        ("MaxProcs: many", "MaxProcs"),
        ("MaxNodes: -1", "MaxNodes"),
        ("MaxRecords: ?", "MaxRecords"),
        ("TimeZoneString: Mars/Phobos", "TimeZoneString"),
        ("TimeZoneString: ../../etc/passwd", "TimeZoneString"),
        ("TimeZoneString: America", "TimeZoneString"),
        ("TimeZone: 999999999", "TimeZone"),
    ],
)
def test_a_useless_header_line_is_a_warning_not_an_error(tmp_path, line, name):
    header = f"; {line}\n"
    if len(header) > 4096:
        header = header[:200] + "\n"
    log = read_swf(a_log(tmp_path, job(1, 0), header=header))
    assert [w for w in log.warnings if name in w and "not usable" in w]
    assert log.unix_start_time is None
    assert log.max_procs is None
    assert log.max_nodes is None
    assert log.timezone is UTC


def test_the_offset_of_the_time_zone_is_the_second_choice(tmp_path):
    header = "; TimeZone: 3600\n; TimeZoneString: Mars/Phobos\n"
    log = read_swf(a_log(tmp_path, job(1, 0), header=header))
    assert log.timezone.utcoffset(None) == timedelta(hours=1)


def test_escapes_and_newlines_in_a_header_do_not_reach_the_terminal(tmp_path):
    log = read_swf(a_log(tmp_path, job(1, 0), header="; Computer: \x1b[31mred\x00\x85 one\n"))
    assert log.header["Computer"].isprintable()
    assert log.table().replace("\n", "").isprintable()


def test_a_latin_1_name_in_the_header_is_read(tmp_path):
    file = tmp_path / "log.swf"
    file.write_bytes("; Computer: Zürich\n".encode("latin-1") + job(1, 0).encode() + b"\n")
    assert read_swf(file).header["Computer"] == "Zürich"


def test_jobs_out_of_order_are_sorted_and_counted(tmp_path):
    log = read_swf(a_log(tmp_path, job(1, 9), job(2, 3), job(3, 9), job(4, 3)))
    assert log.jobs["job"].tolist() == [2, 4, 1, 3]
    assert log.interarrivals.tolist() == [0, 6, 0]
    assert "Rows submitted before the row above them, now sorted: 2." in log.warnings


def test_jobs_submitted_together_keep_the_order_of_the_file(tmp_path):
    rows = [job(i, -i % 7) for i in range(1, 1001)]
    log = read_swf(a_log(tmp_path, *rows))
    assert log.jobs["job"].tolist() == sorted(range(1, 1001), key=lambda i: -i % 7)


def test_a_header_that_promises_other_than_the_file_holds_is_told(tmp_path):
    log = read_swf(a_log(tmp_path, job(1, 0), header="; MaxRecords: 38719\n; MaxJobs: 1\n"))
    assert log.warnings == ("The header promises 38,719 records; the file holds 1.",)


def test_size_falls_back_on_the_processors_asked_for(tmp_path):
    log = read_swf(
        a_log(
            tmp_path,
            job(1, 0, processors=0, requested_processors=8, run=3),
            job(2, 1, processors=4, requested_processors=8, run=5),
            job(3, 2, processors=-1, requested_processors=-1, run=7),
            job(4, 3, processors=2, run=-1),
            job(5, 4, processors=2, run=0),
        )
    )
    assert log.jobs["size"].tolist() == [8, 4, 0, 2, 2]
    assert log.work_by_job.tolist() == [24, 20, 0, 0, 0]
    assert log.sizes.tolist() == [8, 4, 2]
    assert log.runtimes.tolist() == [3, 5, 0]
    assert log.work.tolist() == [24, 20, 0]
    assert log.interarrivals.size == 4  # all five count as arrivals
    assert any("usable size or run time: 2 of 5" in w for w in log.warnings)
    assert any(w.startswith("Jobs with a run time of 0: 1 of 5; they count") for w in log.warnings)
    busy = log.with_work
    assert busy.work_by_job.tolist() == [24, 20, 0]
    assert busy.interarrivals.tolist() == [1, 3]
    # gaps of 2 s in the mean, 44 / 3 processor-seconds
    assert log.offered_processors == pytest.approx(44 / 3 / 2)


def test_jobs_without_known_work_are_no_part_of_the_load(tmp_path, rng):
    submit = np.cumsum(rng.exponential(10.0, 4000)).round(2)
    run = np.where(rng.random(4000) < 0.12, -1, 30)
    write_swf(tmp_path / "log.swf", {"submit": submit, "run": run, "processors": np.full(4000, 4)})
    log = read_swf(tmp_path / "log.swf")
    work_over_span = float(log.work_by_job.sum()) / (submit[-1] - submit[0])
    assert log.offered_processors == pytest.approx(work_over_span, rel=2e-3)
    assert log.arrival_rate * log.work.mean() > 1.1 * work_over_span  # all arrivals, mean work
    assert log.with_work.with_work is log.with_work
    assert any("no part of its load" in sentence for sentence in log.warnings)
    with pytest.raises(ModelError, match="both a size and a run time"):
        JobLog("made", {"submit": [0, 1], "run": [0, -1], "processors": [1, 1]}).with_work  # noqa: B018


def test_jobs_of_less_than_a_second_count_and_their_mean_run_time_is_right(tmp_path, rng):
    """A run between two stamps that are cut to whole seconds has the mean of the true one.

    Half a second for every 0 would be too much by some forty standard errors.
    """
    count = 20_000
    begin = np.cumsum(rng.exponential(3.0, count))
    run = rng.exponential(0.7, count)
    written = np.floor(begin + run) - np.floor(begin)
    jobs = {"submit": np.floor(begin), "wait": np.zeros(count), "run": written}
    write_swf(tmp_path / "log.swf", jobs | {"processors": np.full(count, 2)})
    log = read_swf(tmp_path / "log.swf")
    zero = int((written == 0).sum())
    assert zero > 0.4 * count
    assert any(f"a run time of 0: {zero:,} of {count:,}; they count" in w for w in log.warnings)
    assert log.with_work is log
    error = written.std() / np.sqrt(count)
    assert abs(log.with_work.runtimes.mean() - 0.7) < 4 * error
    assert abs((log.runtimes + 0.5 * (log.runtimes == 0)).mean() - 0.7) > 30 * error


def test_jobs_that_were_cancelled_with_no_run_time_never_ran(tmp_path):
    rows = [job(i, i, run=0 if i % 2 else 9, processors=2, status=5) for i in range(8)]
    for columns in (None, ()):
        log = read_swf(a_log(tmp_path, *rows), columns=columns)
        assert any(w.startswith("Jobs cancelled with a run time of 0: 4 of 8") for w in log.warnings)
        assert log.with_work.work_by_job.tolist() == [18, 18, 18, 18]


def test_a_row_that_a_comment_has_swallowed_is_told(tmp_path):
    row = job(1, 0)
    lost = ("; Note: x " + row, "; Note: x\r" + row, ";\v" + row, "; Note: 5" + row)
    for comment in (*lost, "; " + row, "; Note: 1 2 3"):
        log = read_swf(a_log(tmp_path, comment, job(2, 5), header=""))
        assert any("Comments that end in a row" in w for w in log.warnings) == (comment in lost)


@pytest.mark.thorough
def test_comments_are_kept_within_bounds(tmp_path):
    packed = tmp_path / "bomb.swf.gz"
    packed.write_bytes(gzip.compress(b"; x\n" * 3_000_000))
    with pytest.raises(TraceFormatError, match="comment lines"):
        read_swf(packed)
    packed.write_bytes(gzip.compress((b";" + b"x" * 4000 + b"\n") * 2000))
    with pytest.raises(TraceFormatError, match="comment lines"):
        read_swf(packed)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "log.swf")
    with pytest.raises(TraceFormatError, match="pipe"):
        read_swf(tmp_path / "log.swf")


def test_waits_that_overfill_the_machine_are_noticed(tmp_path):
    header = "; MaxProcs: 8\n"
    fits = [job(1, 0, wait=0, processors=8), job(2, 0, wait=10, processors=8)]
    assert read_swf(a_log(tmp_path, *fits, header=header)).warnings == ()
    overlap = [*fits, job(3, 1, wait=8, processors=3)]
    (warning,) = read_swf(a_log(tmp_path, *overlap, header=header)).warnings
    assert "up to 11 processors" in warning
    large = read_swf(a_log(tmp_path, job(1, 0, processors=9), header=header))
    assert large.warnings == ("Jobs larger than the machine's 8 processors: 1.",)


def test_rows_without_a_time_of_submission_are_left_out_and_counted(tmp_path):
    log = read_swf(a_log(tmp_path, job(1, 0), job(2, -1), job(3, 5)))
    assert log.jobs["job"].tolist() == [1, 3]
    assert log.warnings == ("Rows without a time of submission, left out: 1.",)
    for rows in ([job(1, -1)], [job(1, -1), job(1, 0, status=2), job(1, -1, status=3)]):
        with pytest.raises(TraceFormatError, match="no job has a time of submission"):
            read_swf(a_log(tmp_path, *rows))


def test_bursts_of_a_swapped_job_are_not_jobs_of_their_own(tmp_path):
    rows = [job(1, 0), job(1, 0, status=2), job(1, -1, status=3), job(2, 7, status=3)]
    log = read_swf(a_log(tmp_path, *rows))
    assert log.jobs["job"].tolist() == [1, 2]
    assert len(log.warnings) == 1
    assert any("single bursts" in w and w.endswith(": 2.") for w in log.warnings)
    assert read_swf(a_log(tmp_path, *rows), status=[2, 3]).jobs["status"].tolist() == [2, 3]


# --- selection ------------------------------------------------------------------------------


@pytest.fixture
def mixed(tmp_path) -> Path:
    return a_log(
        tmp_path,
        job(1, 0, partition=1, user=5),
        job(2, 3600, partition=2, user=5, status=0),
        job(3, 7200, partition=2, user=6, status=5),
        job(4, 10800, partition=2, user=7),
    )


@pytest.mark.parametrize(
    ("chosen", "jobs"),
    [
        ({"partition": 2}, [2, 3, 4]),
        ({"partition": [1, 2]}, [1, 2, 3, 4]),
        ({"partition": np.array([1])}, [1]),
        ({"status": "completed"}, [1, 4]),
        ({"status": "failed"}, [2]),
        ({"status": "cancelled"}, [3]),
        ({"status": ["failed", 5]}, [2, 3]),
        ({"status": 1, "partition": 2}, [4]),
        ({"user": (5, 7)}, [1, 2, 4]),
        ({"start": "1995-12-27 11:53:57"}, [2, 3, 4]),  # 820090437 is 10:53:57 in US/Pacific
        ({"end": "1995-12-27 11:53:57"}, [1]),
        ({"end": datetime(1995, 12, 27, 11, 53, 58)}, [1, 2]),
        ({"start": datetime.fromtimestamp(820090437 + 7200, UTC)}, [3, 4]),
        ({"start": "1995-12-27T19:53:57+00:00", "end": "1995-12-27 13:53:57"}, [2, 3]),
    ],
)
def test_selection_keeps_what_was_asked_for(mixed, chosen, jobs):
    assert read_swf(mixed, **chosen).jobs["job"].tolist() == jobs


@pytest.mark.parametrize(
    ("chosen", "says"),
    [
        ({"partition": 3}, r"partition 3 is not in the log; it has 1, 2"),
        ({"user": [5, 99]}, r"user 99 is not in the log; it has 5, 6, 7"),
        ({"status": 2}, r"none of 4 jobs meets all of: status 2 has 0"),
        ({"status": 10**5000}, r"status must be a whole number of at most 64 bits"),
        ({"partition": 1, "status": "failed"}, r"partition 1 has 1, status 0 has 1"),
        ({"start": "2001-01-01"}, r"none of 4 jobs meets all of: start 2001-01-01 has 0"),
        ({"start": "1996-01-01", "end": "1996-01-01"}, r"start must lie before end"),
        ({"partition": []}, r"partition is an empty list"),
    ],
)
def test_a_selection_that_keeps_nothing_says_what_there_is(mixed, chosen, says):
    with pytest.raises(ModelError, match=says):
        read_swf(mixed, **chosen)


HUGE = pytest.param(10**5000, id="huge")  # too long for str()
ODD = [True, 1.5, math.nan, math.inf, "two", b"2", object(), [None], [1, "x"], np.array(1.5), {}]


@pytest.mark.parametrize("name", ["partition", "user", "status"])
@pytest.mark.parametrize("odd", ODD, ids=lambda odd: type(odd).__name__)
def test_odd_codes_are_refused(mixed, name, odd):
    with pytest.raises(ModelError, match=name):
        read_swf(mixed, **{name: odd})


@pytest.mark.parametrize("name", ["start", "end"])
@pytest.mark.parametrize(
    "odd",
    [0, HUGE, 1.5, math.nan, "", "soon", "1996-13-01", pd.NaT, [], datetime(1996, 1, 1).date()],
)
def test_odd_dates_are_refused(mixed, name, odd):
    with pytest.raises(ModelError, match=name):
        read_swf(mixed, **{name: odd})


@pytest.mark.parametrize("odd", [0, -1, True, None, 1.5, math.nan, math.inf, "1", [1, 2]])
def test_odd_byte_limits_are_refused(mixed, odd):
    with pytest.raises(ModelError, match="max_bytes"):
        read_swf(mixed, max_bytes=odd)


@pytest.mark.parametrize("odd", [None, 5, HUGE, 1.5, "", b"", [], object()])
def test_odd_paths_are_refused(odd):
    with pytest.raises(ModelError, match="path"):
        read_swf(odd)
    with pytest.raises(ModelError, match="path"):
        write_swf(odd, {"submit": [0]})


def test_dates_need_the_start_of_the_log(tmp_path):
    file = a_log(tmp_path, job(1, 0), header="")
    with pytest.raises(ModelError, match="UnixStartTime"):
        read_swf(file, start="1996-01-01")


# --- strict numbers -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("submit", "NaN"),
        ("wait", "inf"),
        ("run", "1_000"),
        ("processors", "0x10"),
        ("cpu_time", "1e999"),
        ("cpu_time", "-1e999"),
        ("memory", "9007199254740992"),
        ("requested_time", "1,5"),
        ("status", "1.5"),
        ("user", "٣"),
        ("group", "--1"),
        ("executable", "1e"),
        ("queue", "."),
        ("partition", "1\x0b2"),
        ("preceding_job", "\x00"),
        ("think_time", "-"),
        ("think_time", "1;"),
        ("wait", "1\r2"),
    ],
)
def test_a_bad_number_is_named_by_line_and_field(tmp_path, field, value):
    assert_named(tmp_path, field, value, far_down=0)


@pytest.mark.thorough
@pytest.mark.parametrize(("field", "value"), [("submit", "NaN"), ("think_time", "1;")])
def test_a_bad_number_is_named_in_a_later_block_too(tmp_path, field, value):
    assert_named(tmp_path, field, value, far_down=30_000)


def assert_named(tmp_path, field, value, far_down):
    rows = [job(i, i) for i in range(far_down)] + [row(submit=1, job=1) for _ in range(2)]
    bad = row(**({"job": 1, "submit": 1} | {field: value}))
    file = tmp_path / "log.swf"
    file.write_text("\n".join([";", *rows, bad, *rows[:5]]) + "\n", newline="")
    with pytest.raises(TraceFormatError) as caught:
        read_swf(file)
    assert (caught.value.file, caught.value.line) == (str(file), far_down + 4)
    assert caught.value.field == field
    assert str(caught.value).startswith(f"{file}:{far_down + 4}:{field}: ")


@pytest.mark.parametrize(("count", "field"), [(17, "think_time"), (1, "submit"), (19, None)])
def test_missing_and_extra_fields_are_named(tmp_path, count, field):
    file = a_log(tmp_path, job(1, 0), " ".join(["1"] * count), header="")
    with pytest.raises(TraceFormatError, match=f"has {count} fields") as caught:
        read_swf(file)
    assert (caught.value.line, caught.value.field) == (2, field)


def test_every_row_may_not_have_a_field_too_many(tmp_path):
    for count in (17, 19):
        with pytest.raises(TraceFormatError, match=f"has {count} fields"):
            read_swf(a_log(tmp_path, *[" ".join(["1"] * count)] * 3))


def test_a_last_line_that_is_cut_is_refused_and_one_without_newline_noticed(tmp_path):
    whole = job(1, 0) + "\n" + job(2, 5)
    for kept in range(len(job(1, 0)) + 2, len(whole)):
        with pytest.raises(TraceFormatError, match="cut short"):
            read_swf(a_log(tmp_path, whole[:kept], end=""))
    log = read_swf(a_log(tmp_path, whole, end=""))
    assert len(log.jobs) == 2
    assert any("no newline" in w for w in log.warnings)


def test_lines_up_to_the_limit_are_read_and_longer_ones_refused(tmp_path):
    for extra, content in ((0, job(1, 0)), (0, ";"), (1, job(1, 0)), (1, ";")):
        line = content + " " * (4096 + extra - len(content))
        file = a_log(tmp_path, line, job(2, 0), header="")
        if extra:
            with pytest.raises(TraceFormatError, match="longer than 4,096 bytes") as caught:
                read_swf(file)
            assert caught.value.line == 1
        else:
            assert read_swf(file).jobs["job"].iloc[-1] == 2


def test_windows_line_ends_are_read(tmp_path):
    file = tmp_path / "log.swf"
    file.write_bytes((HEADER + job(1, 0) + "\n" + job(2, 1) + "\n").replace("\n", "\r\n").encode())
    log = read_swf(file)
    assert log.jobs["job"].tolist() == [1, 2]
    assert log.header["Computer"] == "Test Machine"


@pytest.mark.parametrize("content", [b"", b"\n\n", b"; Version: 2\n", gzip.compress(b"", mtime=0)])
def test_an_empty_log_is_refused(tmp_path, content):
    (tmp_path / "empty.swf").write_bytes(content)
    with pytest.raises(TraceFormatError, match="holds no jobs"):
        read_swf(tmp_path / "empty.swf")


def test_what_cannot_be_opened_is_told_in_a_sentence(tmp_path):
    for path in (tmp_path, tmp_path / "absent.swf", "a\0b"):
        with pytest.raises(TraceFormatError, match=r"cannot be read|not a file but a folder"):
            read_swf(path)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads all")
def test_a_file_without_permission_is_told_in_a_sentence(tmp_path):
    file = a_log(tmp_path, job(1, 0))
    file.chmod(0)
    with pytest.raises(TraceFormatError, match="cannot be read"):
        read_swf(file)


@pytest.mark.parametrize("magic", [b"BZh9", b"\xfd7zXZ\x00", b"PK\x03\x04", b"\x1f\x9d\x90"])
def test_other_packers_are_named(tmp_path, magic):
    (tmp_path / "log.swf").write_bytes(magic + b"rest")
    with pytest.raises(TraceFormatError, match="is packed with"):
        read_swf(tmp_path / "log.swf")


@pytest.mark.thorough
def test_a_bomb_stops_at_the_limit_and_the_message_names_it(tmp_path):
    line = (job(1, 0) + "\n").encode()
    packer = zlib.compressobj(9, wbits=31)
    packed = b"".join(packer.compress(line * 20_000) for _ in range(30))  # 28 MB from 0.07 MB
    bomb = tmp_path / "bomb.swf.gz"
    # Damaged from there on: who reads so far says so instead of naming the limit.
    bomb.write_bytes(packed + bytes(range(256)) * 100)
    with pytest.raises(TraceFormatError, match=r"max_bytes = 3,000,000; raise it"):
        read_swf(bomb, max_bytes=3_000_000)
    with pytest.raises(TraceFormatError, match="damaged"):
        read_swf(bomb)
    zeros = zlib.compressobj(6, wbits=31).compress(bytes(10_000_000))
    (tmp_path / "zeros.gz").write_bytes(zeros + bytes(range(256)) * 100)
    with pytest.raises(TraceFormatError, match="longer than 4,096 bytes"):
        read_swf(tmp_path / "zeros.gz")


def calls_made(function, *arguments):
    """Python and C functions called by the way: a count of work that no busy machine changes."""
    count = 0

    def called(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(called)
    try:
        function(*arguments)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.thorough
def test_the_work_of_reading_grows_no_faster_than_the_log(tmp_path):
    """Four times the rows, at most four times the calls, whether the log is sound or not."""
    for damage in ("", "1 2 3\n"):
        counts = []
        for jobs in (500, 2000):
            text = "\n".join(job(i, i * 7.5, wait=i % 3, user=i % 4) for i in range(1, jobs + 1))
            file = tmp_path / "log.swf"
            file.write_text(f"{HEADER}{text}\n{damage}", encoding="ascii")

            def read(file=file):
                with contextlib.suppress(TraceFormatError):
                    read_swf(file)

            read()  # what is imported or remembered at the first time does not count
            counts.append(calls_made(read))
        assert 0 < counts[0] <= counts[1] <= 4.2 * counts[0]


def test_a_limit_of_exactly_the_size_is_enough(tmp_path):
    file = a_log(tmp_path, job(1, 0))
    assert len(read_swf(file, max_bytes=file.stat().st_size).jobs) == 1
    with pytest.raises(TraceFormatError, match="max_bytes"):
        read_swf(file, max_bytes=file.stat().st_size - 1)


def test_columns_that_are_not_asked_for_are_not_known_and_take_no_memory(tmp_path):
    rows = [job(i, i * 7.5, wait=i % 3, user=i % 4, status=i % 2) for i in range(200)]
    file = a_log(tmp_path, *rows)
    whole = read_swf(file)
    some = read_swf(file, columns=["user"])
    kept = ["job", "submit", "run", "processors", "requested_processors", "user", "size", "work"]
    pd.testing.assert_frame_equal(some.jobs[kept], whole.jobs[kept])
    assert list(some.jobs) == list(whole.jobs)
    for name in set(whole.jobs) - set(kept):
        column = some.jobs[name].to_numpy()
        assert set(column) == {-1}
        assert column.dtype == whole.jobs[name].dtype
        assert column.strides == (0,)
    assert some.warnings == whole.warnings  # which look at waits
    chosen = read_swf(file, columns=[], status=1)
    assert len(chosen.jobs) == 100
    pd.testing.assert_frame_equal(some.with_work.jobs[kept], whole.with_work.jobs[kept], check_exact=True)
    for odd in ("user", ["usr"], [3], 5):
        with pytest.raises(ModelError, match="columns"):
            read_swf(file, columns=odd)


def many_jobs(file, count, *, at_once=100_000):
    """Write a log of so many random jobs: blocks of them one after the other in time."""
    rng = np.random.default_rng(14)
    run = rng.lognormal(6.0, 2.0, at_once).astype(int)
    columns = [
        *(rng.integers(0, 1000, at_once), run, 2 ** rng.integers(0, 8, at_once)),
        *(run / 4, [-1] * at_once, 2 ** rng.integers(0, 8, at_once), run * 2, [-1] * at_once),
        *(rng.integers(0, 2, at_once), rng.integers(1, 500, at_once), rng.integers(1, 50, at_once)),
    ]
    rest = [" ".join(map(str, row)) + " -1 -1 -1 -1 -1" for row in zip(*columns, strict=True)]
    gaps = rng.integers(0, 60, at_once).cumsum().tolist()
    opened = gzip.open if file.suffix == ".gz" else open
    with opened(file, "wt", encoding="ascii") as stream:
        stream.write(HEADER)
        for first in range(0, count, at_once):
            start = first // at_once * (gaps[-1] + 30)
            stream.writelines(
                f"{first + i + 1} {start + gap} {row}\n"
                for i, (gap, row) in enumerate(zip(gaps, rest, strict=True))
            )


@pytest.mark.thorough
def test_memory_of_reading_is_some_bytes_for_each_job_and_column(tmp_path):
    """Of 18 columns of 8 bytes, 144 a job; the numbers as text or objects take several."""
    file = tmp_path / "many.swf"
    many_jobs(file, 100_000)
    read_swf(file)
    for columns, most in ((None, 400), ((), 200)):
        tracemalloc.start()
        try:
            log = read_swf(file, columns=columns)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert len(log.jobs) == 100_000
        assert peak < most * 100_000 + 20_000_000  # and a block of the file


@pytest.mark.slow
@pytest.mark.parametrize("name", ["many.swf", "many.swf.gz"])
def test_ten_million_jobs_are_predicted_in_a_minute_and_two_gigabytes(tmp_path, name):
    many_jobs(tmp_path / name, 10_000_000)
    scenario = tmp_path / "many.toml"
    scenario.write_text(
        f"""title = "many"
        machine = {{ processors = 128, disks = 16 }}
        log = {{ path = "{name}" }}
        demand = {{ scale_to_log = true }}
        study = {{ loads = [0.3, 0.5] }}
        [[program]]
        name = "one"
        io = {{ total = 10.0 }}
        cpu = {{ total = 100.0 }}
        [[policy]]
        kind = "SP"
        processor_partitions = 4
        disk_partitions = 2
        """,
        encoding="utf-8",
    )
    measured = (
        "import resource, sys; from qmodels.cli import main\n"
        "try: main()\n"
        "finally: used = resource.getrusage(resource.RUSAGE_SELF); "
        "print(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", measured, "predict", str(scenario), "--max-bytes", "4GB"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "SP(4,2)" in done.stdout
    seconds, most = map(float, done.stderr.split()[-2:])
    assert seconds < 60.0
    assert most < 2e9


def test_every_truncation_of_a_gzip_file_is_refused(tmp_path):
    packed = gzip.compress("\n".join(job(i, i) for i in range(50)).encode() + b"\n", mtime=0)
    file = tmp_path / "log.swf.gz"
    for length in range(1, len(packed)):
        file.write_bytes(packed[:length])
        with pytest.raises(TraceFormatError):
            read_swf(file)


def test_blocks_of_any_size_give_the_same_rows(tmp_path, monkeypatch):
    file = a_log(tmp_path, *[job(i, i / 4) for i in range(40)], "; Note: end", job(40, 99))
    whole = read_swf(file)
    for size in (1, 7, 100, 4096):
        monkeypatch.setattr(_swf_parse, "_BLOCK", size)
        again = read_swf(file)
        pd.testing.assert_frame_equal(again.jobs, whole.jobs)
        assert again.header == whole.header


# --- the fast way and the slow way ------------------------------------------------------------

tokens = st.one_of(
    st.integers(-3, 10**7).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(["+1", "1.", ".5", "1e5", "1E+3", "-0", "1e-400", "007", "nan", "1e999", ".", "-", "e5"]),
    st.text("0123456789+-.eE_xnaif;\t\r\x0b\x85", min_size=1, max_size=6),
)
lines = st.one_of(
    st.lists(tokens, min_size=17, max_size=19).map(" ".join),
    st.lists(st.integers(-1, 10**6).map(str), min_size=18, max_size=18).map("  ".join),
    st.sampled_from(["", " ", "\t", ";", " ; Note: x", "\r", "; a\rb", "-1 " * 18, "0\x0c" * 18]),
)


@pytest.mark.thorough
@given(st.lists(lines, max_size=6))
@example(["1" + " -1" * 17, "1" + " -1" * 17 + "\r"])
@example(["1e999" + " -1" * 17])
@example(["1" + " -1" * 17 + "\r" + "2" + " -1" * 17])
def test_the_fast_way_accepts_nothing_that_the_slow_way_refuses(content):
    text = "".join(f"{line}\n" for line in content).encode("latin-1")
    comments: list[bytes] = []
    try:
        slow = _swf_parse._slow(text, comments, 1)
    except _swf_parse._Fault:
        slow = None
    parted = _swf_parse._without_comments(text)
    fast = _swf_parse._fast(text, parted[0]) if parted else None
    if fast is not None:
        assert slow is not None
        np.testing.assert_array_equal(fast, slow)
        assert [c.rstrip() for c in parted[1]] == [c.rstrip() for c in comments]


@given(st.lists(st.lists(st.integers(-1, 10**9), min_size=18, max_size=18), min_size=1))
def test_the_fast_way_takes_all_ordinary_rows(numbers):
    text = "".join(" ".join(map(str, line)) + "\n" for line in numbers).encode()
    fast = _swf_parse._fast(text, text)
    assert fast is not None
    np.testing.assert_array_equal(fast, numbers)


def outcome(file: Path) -> str:
    """Read; only a log that is sound or a typed error may come of it, and no endless loop."""
    try:
        log = read_swf(file)
    except TraceFormatError as error:
        return refusal(error, file)
    assert np.isfinite(log.jobs.to_numpy(float)).all()
    assert (np.diff(log.jobs["submit"]) >= 0).all()
    log.doubts(), log.table()
    return "read"


def test_an_endless_loop_would_be_noticed():
    def endless():
        while True:
            pass

    with pytest.raises(RuntimeError, match="not ended"), processor_seconds(0.05):
        endless()


def campaign(folder: Path, rounds: int, seed: int) -> dict[str, int]:
    """Read mutated logs, plain ones and packed ones; `seed` makes each of them again."""
    rng = np.random.default_rng(seed)
    rows = [job(i, i * 7.5, wait=i % 3, user=i % 4, cpu_time=2.25) for i in range(1, 25)]
    text = (HEADER + "\n".join(rows) + "\n").encode()
    seen: dict[str, int] = {}
    for kind, content in (("plain", text), ("gzip", gzip.compress(text, mtime=0))):
        note = f"{kind} logs of seed {seed}"
        found = survived(folder / "mutated.swf", content, outcome, rounds, rng, note)
        seen |= {f"{kind} {name}": count for name, count in found.items()}
    for kind in ("plain read", "plain refused with its line", "gzip refused"):
        assert seen[kind] > rounds / 20, f"the mutations hardly ever give a {kind}: {seen}"
    return seen


@pytest.mark.thorough
def test_mutated_logs_give_a_log_or_a_typed_error(tmp_path):
    campaign(tmp_path, 600, seed=20261121)


@pytest.mark.slow
def test_a_million_mutated_logs_give_a_log_or_a_typed_error(tmp_path, record_property):
    """Fresh ones each time; the seed is on record, and stands in the note of an error."""
    seed = secrets.randbits(32)
    record_property("seed", seed)
    for name, count in campaign(tmp_path, 500_000, seed).items():
        record_property(name, count)


# --- statistics -----------------------------------------------------------------------------


def naive_moments(x: list[float]) -> dict[str, float]:
    n, mean = len(x), math.fsum(x) / len(x)
    d = [v - mean for v in x]
    second = math.fsum(v**2 for v in d) / n
    return {
        "n": n,
        "mean": mean,
        "cv": second**0.5 / mean,
        "scv": second / mean**2,
        "skewness": math.fsum(v**3 for v in d) / n / second**1.5,
        "lag1": math.fsum(a * b for a, b in itertools.pairwise(d)) / (n * second),
        "min": min(x),
        "max": max(x),
    }


def test_the_summary_agrees_with_sums_written_out(rng):
    n = 500
    submit = np.cumsum(rng.exponential(60, n))
    run, size = rng.lognormal(5, 2, n), rng.integers(1, 64, n)
    log = JobLog(Path("made"), pd.DataFrame({"submit": submit, "run": run, "processors": size}))
    table = log.summary()
    samples = [np.diff(submit), run, size.astype(float), run * size]
    names = ["interarrival [s]", "run time [s]", "size [processors]", "work [processor-s]"]
    assert list(table.index) == names
    for name, x in zip(names, samples, strict=True):
        expected = naive_moments(x.tolist())
        assert list(table.columns) == list(expected)
        for column, value in expected.items():
            assert table.loc[name, column] == pytest.approx(value, rel=1e-10, abs=1e-12)
    assert log.arrival_rate == pytest.approx((n - 1) / (submit[-1] - submit[0]))
    mean_work = math.fsum((run * size).tolist()) / n
    assert log.offered_processors == pytest.approx(mean_work * log.arrival_rate)
    assert names[0] in log.table()
    assert "500 jobs" in log.table()


def test_what_is_not_defined_is_nan_and_the_rest_is_not():
    one = JobLog(Path("one"), pd.DataFrame({"submit": [3.0], "run": [5.0], "processors": [2]}))
    table = one.summary()
    assert table["n"].tolist() == [0, 1, 1, 1]
    assert np.isnan(table.loc["interarrival [s]", "mean"])
    assert table.loc["run time [s]", ["mean", "cv", "scv", "min", "max"]].tolist() == [
        5,
        0,
        0,
        5,
        5,
    ]
    assert table.loc["run time [s]", ["skewness", "lag1"]].isna().all()
    assert one.doubts() == []
    with pytest.raises(ModelError, match="two jobs"):
        _ = one.arrival_rate
    none = JobLog(Path("none"), pd.DataFrame({"submit": [0.0, 1.0]}))
    with pytest.raises(ModelError, match="size and a run time"):
        _ = none.offered_processors


positive = st.floats(0, 1e15, allow_subnormal=True)


@pytest.mark.thorough
@given(st.lists(st.tuples(positive, positive, st.integers(1, 2**53 - 1)), min_size=1, max_size=40))
@example([(0.0, 1e-300, 1), (1e-300, 1e-320, 1), (3e-300, 1e-300, 1)] * 10)
def test_any_numbers_have_a_summary_without_warnings(numbers):
    submit, run, size = zip(*sorted(numbers), strict=True)
    log = JobLog(Path("any"), {"submit": submit, "run": run, "processors": size})
    table = log.summary()
    assert (table.loc[:, ["mean", "min", "max"]].iloc[1:] >= 0).all(axis=None)
    assert not np.isinf(table.to_numpy(float)).any()
    assert (table["lag1"].dropna().abs() <= 1 + 1e-9).all()
    assert log.table().startswith(f"any: {len(numbers)} job")
    assert len(log.doubts()) <= 3


@pytest.mark.thorough
@given(st.lists(st.tuples(*[st.integers(0, 10**6)] * 2), min_size=2, max_size=40))
def test_another_unit_of_time_leaves_all_but_the_times_as_they_were(numbers):
    submit, run = zip(*sorted(numbers), strict=True)
    jobs = pd.DataFrame({"submit": submit, "run": run, "processors": 3})
    table = JobLog(Path("s"), jobs).summary()
    faster = jobs.assign(submit=jobs["submit"] / 64, run=jobs["run"] / 64)  # exact in binary
    other = JobLog(Path("min"), faster).summary()
    free, timed = ["n", "cv", "scv", "skewness", "lag1"], ["mean", "min", "max"]
    np.testing.assert_allclose(other[free].to_numpy(), table[free].to_numpy(), rtol=1e-12)
    units = np.array([64, 64, 1, 64])[:, None]
    np.testing.assert_allclose(other[timed].to_numpy() * units, table[timed].to_numpy())


def log_of(gaps: np.ndarray, work: np.ndarray | None = None) -> JobLog:
    submit = np.concatenate([[0.0], np.cumsum(gaps)])
    run = np.ones(submit.size) if work is None else work
    jobs = pd.DataFrame({"submit": submit, "run": run, "processors": np.ones(submit.size, int)})
    return JobLog(Path("made"), jobs)


@pytest.mark.thorough
@pytest.mark.parametrize("draw", ["exponential", "pareto"])
def test_an_independent_series_is_doubted_about_as_seldom_as_promised(rng, draw):
    """Two figures, each outside its 99 % band in about 1 % of the cases; at most 2 % together."""
    rounds, doubted = 4 * examples(250), 0
    for _ in range(rounds):
        gaps = rng.exponential(1.0, 300) if draw == "exponential" else rng.pareto(2.5, 300)
        doubted += bool(log_of(gaps).doubts())
    assert 0 < doubted < 0.02 * rounds + 4 * (rounds * 0.02 * 0.98) ** 0.5


def test_a_dependent_series_is_doubted_with_figure_and_band(rng):
    noise = rng.normal(size=2001)
    gaps = np.exp(0.5 * noise[1:] + 0.5 * noise[:-1])
    log = log_of(gaps)
    (sentence,) = log.doubts()
    lag1 = naive_moments(log.interarrivals.tolist())["lag1"]
    reach = NormalDist().inv_cdf(0.995) / 2000**0.5
    assert lag1 > reach
    assert f"{lag1:.3f}" in sentence
    assert f"{-1 / 2000 - reach:.3f} and {-1 / 2000 + reach:.3f}" in sentence
    ranks = np.argsort(np.argsort(log.interarrivals)).astype(float)
    assert f"{naive_moments(ranks.tolist())['lag1']:.3f} by ranks" in sentence


def test_dependence_that_one_long_gap_hides_is_found_by_ranks(rng):
    noise = rng.normal(size=2001)
    gaps = np.exp(0.5 * noise[1:] + 0.5 * noise[:-1])
    gaps[1000] = 1e6
    log = log_of(gaps)
    assert abs(naive_moments(log.interarrivals.tolist())["lag1"]) < 2.576 / 2000**0.5 - 1 / 2000
    assert any("interarrival" in sentence for sentence in log.doubts())


def test_dependent_work_is_doubted_as_well(rng):
    noise = rng.normal(size=2002)
    log = log_of(rng.exponential(1.0, 2000), np.exp(noise[1:] + noise[:-1]))
    assert [s for s in log.doubts() if "work" in s]
    assert not [s for s in log.doubts() if "interarrival" in s]


def test_many_zero_interarrivals_are_doubted(rng):
    gaps = rng.exponential(1.0, 1000)
    gaps[:10] = 0
    assert not [s for s in log_of(rng.permutation(gaps)).doubts() if "are 0" in s]
    gaps[:11] = 0
    (sentence,) = [s for s in log_of(rng.permutation(gaps)).doubts() if "are 0" in s]
    assert sentence.startswith("1.1%")


# --- writing --------------------------------------------------------------------------------

whole_numbers = st.integers(-1, 2**53 - 1)
seconds = st.one_of(whole_numbers, st.floats(0, 1e15, allow_subnormal=True))
columns = {
    name: whole_numbers if name in WHOLE else seconds
    for name in FIELDS
    if name not in ("job", "submit", "status")
}
job_tables = st.lists(
    st.fixed_dictionaries(
        {"submit": st.floats(0, 2.0**52), "status": st.sampled_from([-1, 0, 1, 5])},
        optional=columns,
    ),
    min_size=1,
    max_size=8,
).map(lambda rows: pd.DataFrame(rows).fillna(-1).sort_values("submit", ignore_index=True))
texts = st.text(st.characters(exclude_categories=("C", "Z")), max_size=30)
values = st.one_of(texts, st.lists(texts, min_size=2, max_size=3))
headers = st.dictionaries(st.from_regex(r"[A-Z][A-Za-z]{0,9}", fullmatch=True), values, max_size=4)


@pytest.mark.thorough
@given(jobs=job_tables, header=headers, packed=st.booleans())
def test_a_log_written_is_read_back_as_it_was(tmp_path_factory, jobs, header, packed):
    folder = tmp_path_factory.mktemp("swf")
    file = folder / ("log.swf.gz" if packed else "log.swf")
    for name in WHOLE & set(jobs):
        jobs[name] = jobs[name].astype(np.int64)
    write_swf(file, jobs, header=header)
    log = read_swf(file)
    for name in FIELDS:
        default = range(1, len(jobs) + 1) if name == "job" else [-1] * len(jobs)
        assert log.jobs[name].tolist() == list(jobs.get(name, default))
    assert log.header == header
    write_swf(file, log.jobs, header=log.header)
    assert read_swf(file).jobs.equals(log.jobs)
    assert [f.name for f in folder.iterdir()] == [file.name]


def test_gzip_output_is_the_same_bytes_each_time(tmp_path):
    for name in ("a.swf.gz", "b.swf.gz"):
        write_swf(tmp_path / name, {"submit": [0, 1]}, header={"MaxProcs": 4})
    content = (tmp_path / "a.swf.gz").read_bytes()
    assert content == (tmp_path / "b.swf.gz").read_bytes()
    assert content[4:8] == bytes(4)  # no time of writing
    assert b"a.swf" not in content


def test_jobs_are_written_in_order_of_submission(tmp_path):
    jobs = {"submit": [5, 1, 5], "job": [1, 2, 3], "run": [1, 1, 1], "processors": [1, 1, 1]}
    write_swf(tmp_path / "log.swf", jobs)
    log = read_swf(tmp_path / "log.swf")
    assert log.jobs["job"].tolist() == [2, 1, 3]
    assert log.warnings == ()


def test_a_header_value_cannot_smuggle_in_a_line(tmp_path):
    smuggled = "x\n1 0 0 5\r; MaxProcs: 9\x1b[0m"
    write_swf(tmp_path / "log.swf", {"submit": [0]}, header={"Computer": smuggled, "Size": 1.5})
    log = read_swf(tmp_path / "log.swf")
    assert len(log.jobs) == 1
    assert log.header == {"Computer": "x 1 0 0 5 ; MaxProcs: 9 [0m", "Size": "1.5"}


@pytest.mark.parametrize(
    ("jobs", "says"),
    [
        (None, "DataFrame or a mapping"),
        (5, "DataFrame or a mapping"),
        ([1, 2], "DataFrame or a mapping"),
        ({}, "column submit"),
        ({"run": [1]}, "column submit"),
        ({"submit": []}, "no jobs"),
        ({"submit": 5}, "column submit"),
        ({"submit": None}, "column submit"),
        ({"submit": [[1, 2], [3]]}, "column submit"),
        ({"submit": [[1.0]]}, "column submit"),
        ({"submit": ["0"]}, "column submit"),
        ({"submit": [True]}, "column submit"),
        ({"submit": [0, math.nan]}, "submit of row 1 is nan"),
        ({"submit": [math.inf]}, "submit of row 0 is inf"),
        ({"submit": [-1]}, "submit of row 0 is -1"),
        ({"submit": [0], "run": [2.0**53]}, "run of row 0"),
        ({"submit": [0], "processors": [1.5]}, "processors of row 0 is 1.5; it must be a whole"),
        ({"submit": [0], "run": [1, 2]}, "column run must be 1 plain numbers"),
        ({"submit": [0], "runtime": [1]}, r"did you mean \w+ or run\?"),
        ({"submit": [0], 7: [1]}, "unknown column 7"),
    ],
)
def test_columns_that_no_log_can_hold_are_refused(tmp_path, jobs, says):
    with pytest.raises(ModelError, match=says):
        write_swf(tmp_path / "log.swf", jobs)
    with pytest.raises(ModelError, match=says):
        JobLog(Path("made"), jobs)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "header",
    [
        5,
        {"": "x"},
        {"two words": "x"},
        {"a:b": "x"},
        {"a\nb": "x"},
        {1: "x"},
        {"Key": None},
        {"Key": [[1]]},
        {"Key": 10**5000},
        {"Key": "x" * 4096},
    ],
    ids=lambda header: f"{str(header)[:20] if header != {'Key': 10**5000} else 'huge'}",
)
def test_headers_that_cannot_be_read_back_are_refused(tmp_path, header):
    with pytest.raises(ModelError, match="header"):
        write_swf(tmp_path / "log.swf", {"submit": [0]}, header=header)
    assert not list(tmp_path.iterdir())


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    file = tmp_path / "log.swf"
    write_swf(file, {"submit": [0]})
    before = file.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ModelError, match="No space left"):
        write_swf(file, {"submit": [0, 1]})
    assert file.read_bytes() == before
    assert [f.name for f in tmp_path.iterdir()] == ["log.swf"]
    for path in (tmp_path / "nowhere" / "log.swf", file / "log.swf", "a\0b", tmp_path, "/"):
        with pytest.raises(ModelError, match="cannot be written"):
            write_swf(path, {"submit": [0]})
    assert [f.name for f in tmp_path.iterdir()] == ["log.swf"]


def test_a_log_is_not_written_in_place_of_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelError, match="is a pipe or a device"):
        write_swf(tmp_path / "pipe", {"submit": [0]})
    assert (tmp_path / "pipe").is_fifo()


def test_a_job_log_is_valid_once_it_exists():
    with pytest.raises(ModelError, match="row 1 is earlier"):
        JobLog(Path("made"), {"submit": [1, 0]})
    for header in (None, {"MaxProcs": 4}, {"MaxProcs": []}, {"MaxProcs": [4]}, {4: "MaxProcs"}):
        with pytest.raises(ModelError, match="header"):
            JobLog(Path("made"), {"submit": [0]}, header)
    with pytest.raises(ModelError, match="warnings"):
        JobLog(Path("made"), {"submit": [0]}, {}, None)
    log = JobLog(Path("made"), {"submit": [0, 1], "run": [1, 2], "processors": [1, 1]})
    for series in (log.interarrivals, log.runtimes, log.sizes, log.work, log.work_by_job):
        with pytest.raises(ValueError, match="read-only"):
            series[0] = 5.0


# --- public logs ----------------------------------------------------------------------------

KTH, SDSC = "KTH-SP2-1996-2.1-cln.swf.gz", "SDSC-Par-1996-3.1-cln.swf.gz"


@pytest.mark.parametrize("name", [KTH, SDSC])
def test_published_moments_are_reproduced_to_every_digit(shared_data, name):
    """They take all submissions, and runs and work of jobs that ran on processors for a while."""
    with open(shared_data / "swf" / "moments.csv", newline="") as stream:
        published = next(line for line in csv.DictReader(stream) if line["file"] == name)
    log = read_swf(shared_data / "swf" / name)
    ran = log.jobs[(log.jobs["run"] > 0) & (log.jobs["processors"] > 0)]
    strict = JobLog(log.path, ran).summary()
    table = log.summary()
    found = {
        "n": len(log.jobs),
        "n_ok": len(ran),
        "frac_ia0": np.mean(log.interarrivals == 0),
        "frac_run0": np.mean(log.jobs["run"] == 0),
        "frac_procs<=0": np.mean(log.jobs["processors"] <= 0),
    }
    rows = {
        "ia": table.loc["interarrival [s]"],
        "run": strict.loc["run time [s]"],
        "work": strict.loc["work [processor-s]"],
    }
    for key, moments in rows.items():
        for short, column in (("mean",) * 2, ("scv",) * 2, ("skew", "skewness"), ("acf1", "lag1")):
            found[f"{key}_{short}"] = moments[column]
    for key, value in found.items():
        said = published[key]
        form = "d" if key in ("n", "n_ok") else ".3f" if key.startswith("frac") else ".4g"
        assert float(format(value, form)) == float(said), key


def test_the_batch_jobs_of_the_last_quarter_are_those_of_the_mesh_studies(shared_data):
    log = read_swf(shared_data / "swf" / SDSC, partition=2, status="completed", start="1996-10-01 00:00")
    table = log.summary()
    assert len(log.jobs) == 4787
    assert f"{table.loc['interarrival [s]', 'mean']:.0f}" == "1657"
    assert f"{table.loc['interarrival [s]', 'cv']:.2f}" == "3.54"
    assert f"{table.loc['size [processors]', 'mean']:.1f}" == "18.2"
    assert f"{table.loc['size [processors]', 'cv']:.2f}" == "1.26"
    derived = read_swf(shared_data / "swf" / "derived_SDSC-Par-1996Q4-batch-completed.swf.gz")
    pd.testing.assert_frame_equal(log.jobs, derived.jobs)
    assert any("promises 38,719 records" in w for w in log.warnings)


def test_real_logs_are_doubted_and_the_model_only_for_its_daily_cycle(shared_data):
    for name in (KTH, SDSC):
        doubts = read_swf(shared_data / "swf" / name).doubts()
        assert [s for s in doubts if "interarrival times are not independent" in s]
        assert [s for s in doubts if "work" in s]
    model = read_swf(shared_data / "swf" / "lublin_256.swf.gz")
    assert (len(model.jobs), model.max_nodes, model.unix_start_time) == (10_000, 256, None)
    assert model.timezone is UTC
    (doubt,) = model.doubts()
    ranks = np.asarray(pd.Series(model.interarrivals).rank())
    plain = naive_moments(model.interarrivals.tolist())["lag1"]
    assert abs(plain) < 2.576 / 9999**0.5 < naive_moments(ranks.tolist())["lag1"]
    assert doubt.startswith("The interarrival times are not independent")


@pytest.mark.thorough
def test_real_logs_survive_being_written_again(shared_data, tmp_path):
    log = read_swf(shared_data / "swf" / KTH)
    write_swf(tmp_path / "again.swf.gz", log.jobs, header=log.header)
    again = read_swf(tmp_path / "again.swf.gz")
    pd.testing.assert_frame_equal(again.jobs, log.jobs)
    assert again.header == log.header
    assert again.warnings == log.warnings
