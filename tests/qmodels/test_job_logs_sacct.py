"""sacct: every trap of its output by a file made by hand, and what comes of it.

Written down before the reader first ran, as what breaks its assumptions: bars and newlines in
names, rows that are cut, here-documents that hold whole rows, states of other versions, two rows of
one job, clocks that are put back, counts with letters, columns that are missing or there twice.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from qmodels.errors import ModelError, TraceFormatError
from qmodels.io import JobLog, read_jobs
from tests.mutations import processor_seconds

HEADER = "JobID|JobName|Submit|Start|End|State|NCPUS|NNodes|Elapsed"
#: 08:00 to 09:00 and an hour's run, as fields.
TIMES = "2024-03-01T08:00:00|2024-03-01T08:10:00|2024-03-01T09:10:00"


def a_log(folder: Path, *lines: str, header: str = HEADER) -> Path:
    file = folder / "sacct.txt"
    file.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return file


def row(
    job: object = 7,
    name: str = "run",
    times: str = TIMES,
    state: str = "COMPLETED",
    cpus: object = 64,
    nodes: object = 2,
    elapsed: str = "01:00:00",
) -> str:
    return f"{job}|{name}|{times}|{state}|{cpus}|{nodes}|{elapsed}"


def read(folder: Path, *lines: str, header: str = HEADER, unit: str = "cores", **more) -> JobLog:
    return read_jobs(a_log(folder, *lines, header=header), unit=unit, **more)


def left_out(log: JobLog) -> dict[str, int]:
    """Counts by reason, as the warnings tell them."""
    found = {}
    for sentence in log.warnings:
        why, comma, count = sentence.rstrip(".").partition(", left out: ")
        if comma:
            found[why] = int(count.split(" ")[0].replace(",", ""))
    return found


# --- columns -------------------------------------------------------------------------------------


def test_names_of_columns_may_come_in_any_case_and_order(tmp_path):
    header = "state|END|start|nnodes|SUBMIT|ncpus|jobid"
    line = "COMPLETED|2024-03-01T09:10:00|2024-03-01T08:10:00|2|2024-03-01T08:00:00|64|7"
    log = read(tmp_path, line, header=header)
    assert log.jobs.loc[0, ["job", "wait", "run", "processors", "status"]].tolist() == [
        7,
        600,
        3600,
        64,
        1,
    ]


def test_a_bar_at_the_end_of_every_line_is_that_of_sacct_p(tmp_path):
    log = read(tmp_path, row() + "|", row(8) + "|", header=HEADER + "|")
    assert log.jobs["job"].tolist() == [7, 8]


@pytest.mark.parametrize("sign", [",", ";", "\t", "^"])
def test_another_sign_may_part_the_fields_as_by_delimiter(tmp_path, sign):
    lines = [row(), row("7.0"), row(8, name="a|b".replace("|", sign))]
    log = read(tmp_path, *(line.replace("|", sign) for line in lines), header=HEADER.replace("|", sign))
    assert log.jobs["job"].tolist() == [7, 8]
    assert log.warnings[0].startswith("Read as sacct (")


def test_a_map_of_columns_makes_a_table_of_it(tmp_path):
    file = a_log(tmp_path, row())
    columns = {"submit": "Submit", "start": "Start", "end": "End", "nodes": "NNodes"}
    assert read_jobs(file, columns=columns).jobs["processors"].tolist() == [2]


def test_without_a_header_row_the_columns_are_named(tmp_path):
    file = tmp_path / "n.txt"
    file.write_text(row() + "\n" + row(8) + "\n")
    with pytest.raises(TraceFormatError, match="without its header row") as caught:
        read_jobs(file, unit="cores")
    assert "--log-columns" in str(caught.value)
    assert len(read_jobs(file, unit="cores", columns=HEADER.split("|")).jobs) == 2
    # A header that is there after all is no row.
    assert len(read(tmp_path, row(), row(8), columns=HEADER.split("|")).jobs) == 2


@pytest.mark.parametrize("name", ["JobID", "Submit", "Start", "End", "State"])
def test_a_column_that_is_missing_is_named(tmp_path, name):
    header = HEADER.replace(name, "Other", 1)
    with pytest.raises(TraceFormatError) as caught:
        read_jobs(a_log(tmp_path, row(), header=header), "sacct", unit="cores")
    assert caught.value.field == name
    assert caught.value.line == 1


def test_columns_that_are_named_without_a_number_of_jobs_are_refused(tmp_path):
    with pytest.raises(TraceFormatError, match="no column 'JobID'"):
        read(tmp_path, row(), columns=HEADER.replace("JobID", "Id").split("|"))


def test_a_file_without_sizes_says_which_columns_to_add(tmp_path):
    with pytest.raises(TraceFormatError, match="AllocCPUS, NCPUS, AllocNodes, NNodes, AllocTRES"):
        read(tmp_path, f"7|{TIMES}|COMPLETED", header="JobID|Submit|Start|End|State")


def test_a_column_that_is_there_twice_is_refused(tmp_path):
    with pytest.raises(TraceFormatError, match="two columns 'NCPUS'"):
        read(tmp_path, row(), header=HEADER.replace("NNodes", "NCPUS"))


def test_the_table_for_people_is_refused_with_the_command_that_helps(tmp_path):
    file = tmp_path / "t.txt"
    file.write_text("JobID           JobName      State\n------------ ---------- ----------\n")
    with pytest.raises(TraceFormatError, match="--parsable2"):
        read_jobs(file)


# --- units ---------------------------------------------------------------------------------------


def test_units_are_named_and_never_guessed(tmp_path):
    file = a_log(tmp_path, row())
    with pytest.raises(TraceFormatError, match=r"--unit cores or --unit nodes") as caught:
        read_jobs(file)
    assert caught.value.field == "unit"
    assert read_jobs(file, unit="cores").jobs["processors"].tolist() == [64]
    assert read_jobs(file, unit="nodes").jobs["processors"].tolist() == [2]
    with pytest.raises(TraceFormatError, match=r"not tell of gpus, only of cores .* and nodes"):
        read_jobs(file, unit="gpus")
    with pytest.raises(ModelError, match="unit"):
        read_jobs(file, unit="core")


def test_a_file_that_tells_of_one_unit_has_named_it(tmp_path):
    header = "JobID|Submit|Start|End|State|NNodes"
    log = read_jobs(a_log(tmp_path, f"7|{TIMES}|COMPLETED|5", header=header))
    assert log.jobs["processors"].tolist() == [5]
    assert "sizes are nodes, from NNodes" in log.warnings[0]
    assert log.header["Unit"] == "nodes"


@pytest.mark.parametrize(("unit", "size"), [("cores", 256), ("nodes", 32), ("gpus", 2)])
def test_sizes_come_from_the_resources_where_no_column_has_them(tmp_path, unit, size):
    header = "JobID|Submit|Start|End|State|AllocTRES"
    tres = "billing=256,cpu=256,mem=3000M,node=32,gres/gpu=2,gres/gpu:a100=2"
    log = read(tmp_path, f"7|{TIMES}|COMPLETED|{tres}", header=header, unit=unit)
    assert log.jobs["processors"].tolist() == [size]


def test_gpus_of_several_kinds_are_added_and_a_job_without_any_is_left_out(tmp_path):
    header = "JobID|Submit|Start|End|State|AllocTRES"
    kinds = "cpu=8,gres/gpu:a100=3,gres/gpu:v100=1"
    log = read(
        tmp_path,
        f"7|{TIMES}|COMPLETED|{kinds}",
        f"8|{TIMES}|COMPLETED|cpu=8,node=1",
        header=header,
        unit="gpus",
    )
    assert log.jobs["processors"].tolist() == [4]
    assert left_out(log) == {"Jobs without gpus": 1}


def test_counts_that_sacct_shortens_are_read_in_full(tmp_path):
    log = read(tmp_path, row(nodes="2K"), row(8, nodes="1.5K"), unit="nodes")
    assert log.jobs["processors"].tolist() == [2048, 1536]
    with pytest.raises(TraceFormatError, match="no whole number") as caught:
        read(tmp_path, row(nodes="1.0001K"), unit="nodes")
    assert (caught.value.line, caught.value.field) == (2, "NNodes")


def test_allocated_processors_go_before_those_of_the_older_name(tmp_path):
    header = HEADER.replace("Elapsed", "AllocCPUS")
    log = read(tmp_path, row(elapsed="32"), header=header)
    assert log.jobs["processors"].tolist() == [32]


# --- bars and newlines in names ------------------------------------------------------------------


def test_a_bar_in_the_name_of_a_job_is_given_back_to_it(tmp_path):
    log = read(tmp_path, row(name="job_0||0002|"), row(8, name="a|b"), row(9))
    assert log.jobs["job"].tolist() == [7, 8, 9]
    assert log.jobs["processors"].tolist() == [64] * 3
    assert any("put together: 2" in sentence for sentence in log.warnings)


SUBMIT_LINE = HEADER + "|SubmitLine"


def test_a_command_line_with_pipes_at_the_end_is_no_trouble(tmp_path):
    log = read(tmp_path, row() + "|sbatch x | tee log | cat", row(8) + "|sbatch y", header=SUBMIT_LINE)
    assert log.jobs["job"].tolist() == [7, 8]


def test_a_here_document_at_the_end_of_a_row_goes_on_with_it(tmp_path):
    document = "|sbatch <<EOF\n#!/bin/bash\n\nsrun a | b | c\n|\nEOF"
    log = read(tmp_path, row() + document, row(8) + "|sbatch y", row(9) + document, header=SUBMIT_LINE)
    assert log.jobs["job"].tolist() == [7, 8, 9]
    assert left_out(log) == {}


def test_a_line_of_text_that_begins_like_a_row_is_told_and_is_none(tmp_path):
    log = read(tmp_path, row() + "|sbatch <<EOF\n12|x\nEOF", row(8) + "|y", header=SUBMIT_LINE)
    assert log.jobs["job"].tolist() == [7, 8]
    assert any("left out: 1 (line 3)" in sentence for sentence in log.warnings)


def test_a_row_whose_beginning_is_damaged_is_no_text_of_the_row_before(tmp_path):
    with pytest.raises(TraceFormatError) as caught:
        read(tmp_path, row() + "|x", row("8#") + "|y", row(9) + "|z", header=SUBMIT_LINE)
    assert (caught.value.line, caught.value.field) == (3, "JobID")


def test_a_header_that_does_not_go_with_the_rows_is_noticed_soon(tmp_path):
    """All rows lack a field, so that any two of them together have too many."""
    lines = [row(i, name="a").rpartition("|")[0] for i in range(1, 20_000)]
    with processor_seconds(20.0), pytest.raises(TraceFormatError, match="9 fields of the other"):
        read(tmp_path, *lines)


def test_a_here_document_of_many_lines_is_read_in_a_moment(tmp_path):
    document = "|sbatch <<EOF\n" + "a | b\n" * 20_000 + "EOF"
    with processor_seconds(20.0):
        log = read(tmp_path, row() + document, row(8) + "|x", header=SUBMIT_LINE)
    assert log.jobs["job"].tolist() == [7, 8]


def test_a_here_document_in_the_middle_of_a_row_is_joined(tmp_path):
    header = HEADER.replace("JobName", "SubmitLine")
    text = "sbatch <<EOF\n#!/bin/bash\n\nsrun a | b\n\nEOF"
    log = read(tmp_path, row(name=text), row(8), row(9, name=text), header=header)
    assert log.jobs["job"].tolist() == [7, 8, 9]
    assert any("put together: 2" in sentence for sentence in log.warnings)


def test_steps_repeat_the_text_of_their_job_and_are_left_out_with_it(tmp_path):
    text = "a|b\nc"
    log = read(tmp_path, row(name=text), row("7.batch", name=text), row("7.0", name=text), row(8))
    assert log.jobs["job"].tolist() == [7, 8]
    assert left_out(log) == {"Rows for steps of jobs": 2}


def test_text_in_two_columns_is_shared_out_where_that_changes_nothing(tmp_path):
    header = "JobID|JobName|Comment|Submit|Start|End|State|NCPUS"
    log = read(tmp_path, f"7|a|b|c|{TIMES}|COMPLETED|64", f"8|x|y|{TIMES}|COMPLETED|4", header=header)
    assert log.jobs["processors"].tolist() == [64, 4]


def test_a_row_that_can_be_read_in_two_ways_is_left_out_by_its_line(tmp_path):
    header = "JobID|JobName|NCPUS|Comment|NNodes|Submit|Start|End|State"
    log = read(tmp_path, f"7|x|4|8||2|{TIMES}|COMPLETED", f"8|x|8||2|{TIMES}|COMPLETED", header=header)
    assert log.jobs["job"].tolist() == [8]
    assert any("cannot be told apart, left out: 1 (line 2)" in s for s in log.warnings)


@pytest.mark.parametrize("cut", ["ru", "2024-03-01T08:1", "COMPL", "01:00:00"])
@pytest.mark.parametrize("between", ["", "\u2028", "\v", "\r"])
def test_a_row_cut_short_before_the_next_gives_no_job_its_times(tmp_path, cut, between):
    """The fields that are too many would else be taken for the name of the job."""
    later = TIMES.replace("T08", "T10").replace("T09", "T11")
    first = row(4007)
    short = first[: first.index(cut) + len(cut)]
    log = read(tmp_path, row(4006), short + between + row(4008, times=later), row(4009))
    assert log.jobs["job"].tolist() == [4006, 4009]
    assert any("cannot be told apart, left out: 1 (line 3)" in w for w in log.warnings)


def test_a_header_whose_line_end_is_lost_is_refused(tmp_path):
    file = tmp_path / "sacct.txt"
    file.write_text(HEADER + "\u2028" + "\n".join(row(i) for i in (7, 8, 9)) + "\n")
    with pytest.raises(TraceFormatError, match=r"U.2028: is its line end lost"):
        read_jobs(file, unit="cores")


def test_lines_are_joined_within_free_text_alone(tmp_path):
    """A row that is short goes on in a name or a command, never in the name of a user."""
    header = HEADER.replace("JobName", "User")
    log = read(tmp_path, row(7), "8|an", f"n|{TIMES}|COMPLETED|64|2|01:00:00", row(9), header=header)
    assert log.jobs["job"].tolist() == [7, 9]


def test_a_short_row_swallows_none_of_the_next(tmp_path):
    log = read(tmp_path, row(), "8|run|2024-03-01T08:00:00|2024", row(9), row(10))
    assert log.jobs["job"].tolist() == [7, 9, 10]
    assert any("left out: 1 (line 3)" in sentence for sentence in log.warnings)


def test_a_file_that_is_cut_tells_of_its_last_row(tmp_path):
    file = a_log(tmp_path, row(), row(8), row(9))
    file.write_text(file.read_text()[:-30])
    log = read_jobs(file, unit="cores")
    assert log.jobs["job"].tolist() == [7, 8]
    assert any("left out: 1 (line 4)" in sentence for sentence in log.warnings)


def test_a_file_most_of_whose_rows_are_short_is_refused(tmp_path):
    with pytest.raises(TraceFormatError, match="9 fields of the other rows") as caught:
        read(tmp_path, row(), "8|a", "9|b", "10|c")
    assert caught.value.line == 3


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        (row(times=TIMES.replace("08:10", "08:61")), "Start"),
        (row(times=TIMES.replace("08:10:00", "08:10:60")), "Start"),
        (row(times=TIMES.replace("2024-03-01T09", "yesterday T9")), "End"),
        (row(times=TIMES.replace("2024-03-01T08:00:00", "1709280000000")), "Submit"),
        (row(cpus="many"), "NCPUS"),
        (row(cpus="-4"), "NCPUS"),
        (row(cpus="٣"), "NCPUS"),
        (row("x7"), "JobID"),
        (row(elapsed="1 hour"), "Elapsed"),
    ],
)
def test_a_field_that_is_wrong_is_named_with_its_line(tmp_path, wrong, field):
    with pytest.raises(TraceFormatError) as caught:
        read(tmp_path, row(1), wrong, row(2))
    assert (caught.value.line, caught.value.field) == (3, field)


# --- times ---------------------------------------------------------------------------------------


def test_seconds_of_the_epoch_are_times_too(tmp_path):
    log = read(
        tmp_path,
        row(times="1709280000|1709280600|1709284200"),
        row(8, times="1709280007|1709280600|1709284200"),
    )
    assert log.jobs[["submit", "wait", "run"]].to_numpy().tolist() == [
        [0, 600, 3600],
        [7, 593, 3600],
    ]
    assert log.unix_start_time == 1709280000
    assert not any("local" in sentence for sentence in log.warnings)


@pytest.mark.parametrize("word", ["Unknown", "None", "", "unknown", "N/A"])
def test_unknown_times_are_no_times(tmp_path, word):
    never = TIMES.replace("2024-03-01T08:10:00", word).replace("2024-03-01T09:10:00", word)
    running = TIMES.replace("2024-03-01T09:10:00", word)
    nowhere = TIMES.replace("2024-03-01T08:00:00", word)
    log = read(
        tmp_path,
        row(),
        row(8, times=never, state="PENDING", elapsed="00:00:00"),
        row(9, times=running, state="RUNNING"),
        row(10, times=nowhere),
    )
    assert log.jobs["job"].tolist() == [7]
    assert left_out(log) == {
        "Jobs that never started": 1,
        "Jobs that have not ended": 1,
        "Jobs without a time of submission": 1,
    }


def test_a_job_cancelled_while_it_waited_has_requested_sizes_and_is_no_job(tmp_path):
    never = "2024-03-01T08:00:00|2024-03-01T08:30:00|2024-03-01T08:30:00"
    log = read(
        tmp_path,
        row(),
        row(8, times=never, state="CANCELLED by 1000", elapsed="00:00:00"),
        row(9, times=never, state="FAILED", elapsed="00:00:00"),
        row(10, times=never, state="DEADLINE", elapsed="00:00:00"),
    )
    assert log.jobs["job"].tolist() == [7, 9]  # a program may fail within a second
    assert log.jobs["run"].tolist() == [3600, 0]
    assert left_out(log) == {"Jobs that never started": 2}


@pytest.mark.parametrize("state", ["RUNNING", "SUSPENDED", "PENDING", "RESIZING", "RUNNIN+"])
def test_a_job_that_has_not_ended_is_none_though_an_end_is_written(tmp_path, state):
    """As by sacct --truncate: 4 rows, of which one ended."""
    lines = [row(job, state=state) for job in (7, 8, 9)]
    log = read(tmp_path, *lines, row(10))
    assert log.jobs["job"].tolist() == [10]
    why = "Jobs that never started" if state == "PENDING" else "Jobs that have not ended"
    assert left_out(log) == {why: 3}
    (said,) = (w for w in log.warnings if "--truncate" in w)
    assert "Jobs that still wait or run though an end is written for them" in said
    assert "not taken for ended: 3." in said


def test_a_job_cancelled_while_it_ran_is_one(tmp_path):
    assert read(tmp_path, row(state="CANCELLED by 0")).jobs["status"].tolist() == [5]


def test_times_that_run_backwards_are_left_out_and_the_clock_is_named(tmp_path):
    back = "2024-10-27T01:00:00|2024-10-27T02:50:00|2024-10-27T02:10:00"
    early = "2024-10-27T02:50:00|2024-10-27T02:10:00|2024-10-27T03:10:00"
    lines = [row(), row(8, times=back), row(9, times=early, elapsed="02:00:00")]
    log = read(tmp_path, *lines)
    assert left_out(log) == {
        "Jobs that end before they start": 1,
        "Jobs that start before they are submitted": 1,
    }
    assert any("timezone" in sentence for sentence in log.warnings)
    known = read(tmp_path, *lines, timezone="Europe/Berlin")
    assert known.jobs["run"].tolist() == [3600, 20 * 60, 3600]
    assert known.jobs["wait"].tolist() == [600, 110 * 60, 20 * 60]
    assert not any("local" in sentence for sentence in known.warnings)


def test_a_zone_takes_out_the_hour_of_a_clock_that_is_put_forward(tmp_path):
    over = "2024-03-31T01:00:00|2024-03-31T01:30:00|2024-03-31T03:30:00"
    log = read(tmp_path, row(times=over))
    assert log.jobs["run"].tolist() == [7200]
    assert any("Elapsed differs from End - Start, which is used: 1" in s for s in log.warnings)
    zoned = read(tmp_path, row(times=over), timezone="Europe/Berlin")
    assert zoned.jobs["run"].tolist() == [3600]
    assert zoned.warnings[1:] == ()
    with pytest.raises(ModelError, match="Mars/Phobos"):
        read(tmp_path, row(), timezone="Mars/Phobos")


def test_a_zone_with_half_an_hour_of_summer_time_is_right_to_the_minute(tmp_path):
    """On Lord Howe the clock goes from 02:00 to 02:30 in October."""
    over = "2024-10-06T01:00:00|2024-10-06T01:50:00|2024-10-06T02:40:00"
    log = read(tmp_path, row(times=over), timezone="Australia/Lord_Howe")
    assert log.jobs["run"].tolist() == [20 * 60]


def test_selection_by_date_is_on_the_clock_of_the_log(tmp_path):
    late = TIMES.replace("08:00:00", "08:05:00")
    lines = [row(), row(8, times=late)]
    for zone in (None, "Europe/Berlin"):
        log = read(tmp_path, *lines, start="2024-03-01 08:01", timezone=zone)
        assert log.jobs["job"].tolist() == [8]


@pytest.mark.parametrize(
    ("column", "text", "seconds"),
    [
        ("Timelimit", "1-02:03:04", 93784),
        ("Timelimit", "00:30:00", 1800),
        ("Timelimit", "UNLIMITED", -1),
        ("Timelimit", "Partition_Limit", -1),
        ("Timelimit", "", -1),
        ("TimelimitRaw", "30", 1800),  # minutes
        ("TimelimitRaw", "UNLIMITED", -1),
    ],
)
def test_limits_are_read_in_all_their_forms(tmp_path, column, text, seconds):
    log = read(tmp_path, row(elapsed=text), header=HEADER.replace("Elapsed", column))
    assert log.jobs["requested_time"].tolist() == [seconds]


@pytest.mark.parametrize(
    ("text", "seconds"), [("02:08.000", 2.0), ("1-00:00:00", 1350.0), ("", -1), ("00:01:04", 1.0)]
)
def test_processor_time_under_an_hour_has_minutes_first(tmp_path, text, seconds):
    """It is the time of all processors; the log holds that of one."""
    log = read(tmp_path, row(elapsed=text), header=HEADER.replace("Elapsed", "TotalCPU"))
    assert log.jobs["cpu_time"].tolist() == [seconds]


@pytest.mark.parametrize(("column", "text"), [("ElapsedRaw", "3000"), ("Elapsed", "00:50:00")])
def test_run_times_are_those_of_the_stamps_and_others_are_told(tmp_path, column, text):
    log = read(tmp_path, row(elapsed=text), header=HEADER.replace("Elapsed", column))
    assert log.jobs["run"].tolist() == [3600]
    assert any("Elapsed differs" in sentence for sentence in log.warnings)


# --- states, arrays, components, requeues --------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "code"),
    [
        ("COMPLETED", 1),
        ("FAILED", 0),
        ("TIMEOUT", 0),
        ("NODE_FAIL", 0),
        ("OUT_OF_MEMORY", 0),
        ("OUT_OF_ME+", 0),
        ("BOOT_FAIL", 0),
        ("DEADLINE", 0),
        ("PREEMPTED", 0),
        ("REQUEUED", 0),
        ("CANCELLED", 5),
        ("CANCELLED+", 5),
        ("CANCELLED by 1000", 5),
        ("REVOKED", 5),
    ],
)
def test_states_become_codes(tmp_path, state, code):
    log = read(tmp_path, row(state=state))
    assert log.jobs["status"].tolist() == [code]
    assert not any("not known" in sentence for sentence in log.warnings)


@pytest.mark.parametrize("state", ["SPECIAL_EXIT", "R+", "weird", ""])
def test_other_states_are_counted_and_do_no_harm(tmp_path, state):
    log = read(tmp_path, row(state=state), row(8))
    assert log.jobs["status"].tolist() == [-1, 1]
    assert (f"'{state.upper()}' 1" in " ".join(log.warnings)) == bool(state)


def test_every_element_of_an_array_is_a_job_and_its_waiting_bundle_none(tmp_path):
    never = "2024-03-01T08:00:00|Unknown|Unknown"
    log = read(
        tmp_path,
        row("123_7"),
        row("123_8"),
        row("123_7.batch"),
        row("123_[1-3,9%2]", times=never, state="PENDING"),
        row("123_[1-3,11,13,15...", times=never, state="PENDING"),
    )
    assert log.jobs["job"].tolist() == [123, 123]
    assert left_out(log) == {"Rows for steps of jobs": 1, "Jobs that never started": 2}


def test_the_raw_number_tells_elements_of_an_array_apart(tmp_path):
    header = HEADER.replace("Elapsed", "JobIDRaw")
    log = read(tmp_path, row("123_7", elapsed="130"), row("123_8", elapsed="123"), header=header)
    assert sorted(log.jobs["job"]) == [123, 130]


def test_components_of_a_heterogeneous_job_are_one_job(tmp_path):
    longer = TIMES.replace("09:10", "10:10")
    log = read(
        tmp_path,
        row("123+0", cpus=64),
        row("123+1", cpus=32, times=longer, elapsed="02:00:00"),
        row("123+0.0"),
        row(124, cpus=8),
        row("125+0", cpus=4),
    )
    assert log.jobs["job"].tolist() == [123, 124, 125]
    assert log.jobs["processors"].tolist() == [96, 8, 4]
    assert log.jobs["run"].tolist() == [7200, 3600, 3600]
    assert any(": 3 to 2." in sentence for sentence in log.warnings)


def test_a_job_that_was_requeued_ran_twice(tmp_path):
    """As sacct -D tells it: both runs held the machine."""
    first = "2024-03-01T07:00:00|2024-03-01T07:10:00|2024-03-01T08:00:00"
    log = read(tmp_path, row(times=first, state="NODE_FAIL", elapsed="00:50:00"), row(), row(8))
    assert log.jobs["job"].tolist() == [7, 7, 8]
    assert any("as after a requeue, each kept as a job: 1" in s for s in log.warnings)


def test_extracts_that_overlap_do_not_count_a_job_twice(tmp_path):
    log = read(tmp_path, row(), row(8), row(7), row(9))
    assert sorted(log.jobs["job"]) == [7, 8, 9]
    assert left_out(log) == {"Rows that repeat another one": 1}


def test_a_job_without_processors_is_left_out(tmp_path):
    log = read(tmp_path, row(), row(8, cpus=0))
    assert left_out(log) == {"Jobs without cores": 1}


def test_a_file_without_a_job_that_ended_says_what_it_holds(tmp_path):
    never = "2024-03-01T08:00:00|Unknown|Unknown"
    with pytest.raises(TraceFormatError, match=r"jobs that never started: 1; rows for steps"):
        read(tmp_path, row(times=never, state="PENDING"), row("7.batch"))


def test_partitions_and_users_are_chosen_by_name(tmp_path):
    header = HEADER + "|User|Partition"
    lines = [row() + "|ann|batch", row(8) + "|bob|gpu", row(9) + "|ann|gpu"]
    assert read(tmp_path, *lines, header=header, user="ann").jobs["job"].tolist() == [7, 9]
    log = read(tmp_path, *lines, header=header, partition=["gpu"])
    assert log.jobs["job"].tolist() == [8, 9]
    assert log.header["Queue"] == ["1 batch", "2 gpu"]
    with pytest.raises(ModelError, match="partition 'gup' is not in the log; did you mean gpu"):
        read(tmp_path, *lines, header=header, partition="gup")
    with pytest.raises(ModelError, match="empty list"):
        read(tmp_path, *lines, header=header, user=[])


def test_names_in_other_encodings_are_no_trouble(tmp_path):
    file = tmp_path / "latin.txt"
    file.write_bytes((HEADER + "\n" + row(name="Größe") + "\n").encode("latin-1"))
    assert len(read_jobs(file, unit="cores").jobs) == 1
    file.write_text((HEADER + "\n" + row() + "\n"), encoding="utf-16")
    with pytest.raises(TraceFormatError, match="UTF-16"):
        read_jobs(file, unit="cores")
