"""PBS, LSF, Grid Engine, Batsim and plain tables: every trap of each by a file made by hand.

Written down before the readers first ran, as what breaks their assumptions: lists of hosts in every
form, fields that are missing, quotes that do not close, milliseconds, rows for parts of jobs,
profiles that contain themselves, numbers that no JSON has, columns under other names.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from qmodels.errors import ModelError, TraceFormatError
from qmodels.io import JobLog, read_jobs
from tests.mutations import processor_seconds

T0, T1, T2 = 1709280000, 1709280600, 1709284200  # submitted, started, ended


def made(folder: Path, *lines: str) -> Path:
    file = folder / "log.txt"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def first(log: JobLog) -> list[float]:
    return log.jobs.loc[0, ["job", "wait", "run", "processors"]].tolist()


# --- PBS and Torque ------------------------------------------------------------------------------


def pbs(job: str = "123.host", kind: str = "E", **keys: object) -> str:
    default = {"user": "ann", "queue": "batch", "ctime": T0, "qtime": T0 + 5, "start": T1}
    default |= {"end": T2, "exec_host": "n/0+n/1"}
    keys = {key: value for key, value in (default | keys).items() if value is not None}
    message = " ".join(f"{key.replace('__', '.')}={value}" for key, value in keys.items())
    return f"03/01/2024 09:10:00;{kind};{job};{message}"


@pytest.mark.parametrize(
    ("hosts", "cores", "nodes"),
    [
        ("n/7+n/6+n/5+n/4", 4, 1),
        ("n/0*13", 13, 1),
        ("a/0*13+b/0*13", 26, 2),
        ("a/0-7+b/0-3,9", 13, 2),
        ("a/0,2,4", 3, 1),
        ("a/0+b/0+a/1", 3, 2),
        ("a", 1, 1),
    ],
)
def test_processors_and_nodes_of_pbs_are_those_of_the_hosts_that_ran(tmp_path, hosts, cores, nodes):
    file = made(tmp_path, pbs(exec_host=hosts, Resource_List__ncpus=1, Resource_List__nodect=9))
    assert first(read_jobs(file, unit="cores")) == [123, 600, 3600, cores]
    assert first(read_jobs(file, unit="nodes")) == [123, 600, 3600, nodes]


@pytest.mark.parametrize(
    ("asked", "cores", "nodes", "gpus"),
    [
        ({"Resource_List__select": "5:ncpus=13:mem=4gb"}, 65, 5, 0),
        ({"Resource_List__select": "2:ncpus=4:ngpus=1+1:ncpus=2"}, 10, 3, 2),
        ({"Resource_List__select": "1:ncpus=4", "Resource_List__ncpus": 1}, 4, 1, 0),
        ({"Resource_List__nodes": "4:ppn=8", "Resource_List__nodect": 4}, 32, 4, 0),
        ({"Resource_List__nodes": "2:ppn=8:gpus=2+n17:ppn=4"}, 20, 3, 4),
        ({"Resource_List__nodes": "3#shared"}, 3, 3, 0),
        ({"Resource_List__ncpus": 6, "Resource_List__nodect": 1}, 6, 1, 0),
        ({"Resource_List__procs": 7, "Resource_List__nodect": 2}, 7, 2, 0),
    ],
)
def test_without_hosts_pbs_tells_what_was_asked_for(tmp_path, asked, cores, nodes, gpus):
    file = made(tmp_path, pbs(exec_host=None, **asked))
    assert read_jobs(file, unit="cores").jobs["processors"].tolist() == [cores]
    assert read_jobs(file, unit="nodes").jobs["processors"].tolist() == [nodes]
    if gpus:
        assert read_jobs(file, unit="gpus").jobs["processors"].tolist() == [gpus]
    else:
        with pytest.raises(TraceFormatError, match="jobs without gpus: 1"):
            read_jobs(file, unit="gpus")


def test_the_run_time_of_pbs_is_not_its_walltime(tmp_path):
    line = pbs(resources_used__walltime="00:00:00", Resource_List__walltime="120:00:00")
    log = read_jobs(made(tmp_path, line), unit="cores")
    assert first(log) == [123, 600, 3600, 2]
    assert log.jobs["requested_time"].tolist() == [432000]


@pytest.mark.parametrize(
    ("job", "number"), [("123.host", 123), ("123[4].host", 123), ("123-4.host", 123), ("123", 123)]
)
def test_jobs_of_pbs_bear_numbers_in_all_their_forms(tmp_path, job, number):
    assert first(read_jobs(made(tmp_path, pbs(job)), unit="cores"))[0] == number


def test_whole_arrays_and_other_events_of_pbs_are_no_jobs(tmp_path):
    file = made(
        tmp_path,
        pbs("1.h", "Q"),
        pbs("1.h", "S"),
        pbs("1.h"),
        pbs("2[].h"),
        pbs("2[1].h"),
        pbs("2[2].h"),
        "",
        pbs("3.h", "D"),
    )
    log = read_jobs(file, unit="cores")
    assert log.jobs["job"].tolist() == [1, 2, 2]
    assert "Rows for whole arrays of jobs, left out: 1." in log.warnings


def test_a_job_of_pbs_that_never_started_is_left_out(tmp_path):
    file = made(tmp_path, pbs(), pbs("2.h", start=None), pbs("3.h", start=0), pbs("4.h", end=None))
    log = read_jobs(file, unit="cores")
    assert "Jobs that never started, left out: 2." in log.warnings
    assert "Jobs that have not ended, left out: 1." in log.warnings


@pytest.mark.parametrize(("code", "status"), [("0", 1), ("1", 0), ("271", 0), ("-11", 0)])
def test_exit_codes_of_pbs_become_states(tmp_path, code, status):
    log = read_jobs(made(tmp_path, pbs(Exit_status=code)), unit="cores")
    assert log.jobs["status"].tolist() == [status]


@pytest.mark.parametrize(
    ("line", "field"),
    [
        (pbs(start="soon"), "start"),
        (pbs(exec_host="n/x"), "exec_host"),
        (pbs(exec_host="n/5-2"), "exec_host"),
        (pbs(exec_host="+n/1"), "exec_host"),
        (pbs(exec_host="n/0*9999999999"), "exec_host"),
        (pbs(exec_host="n/0-99999999999"), "exec_host"),
        (pbs(exec_host=None, Resource_List__select="2:ncpus=four"), "Resource_List.select"),
        (pbs(exec_host=None, Resource_List__nodect="1:ppn=24:gpu=4"), "Resource_List.nodect"),
        (pbs(Exit_status="ok"), "Exit_status"),
        (pbs("x.host"), "job"),
        ("garbage", None),
    ],
)
def test_what_is_wrong_in_pbs_is_named_by_line_and_field(tmp_path, line, field):
    with pytest.raises(TraceFormatError) as caught:
        read_jobs(made(tmp_path, pbs(), line), unit="cores")
    assert (caught.value.line, caught.value.field) == (2, field)


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("Resource_List.nodect", "1:ppn=24:gpu=4"),
        ("Resource_List.select", "2:ncpus=four"),
        ("Resource_List.nodes", "2:ppn=x"),
        ("Resource_List.walltime", "1day"),
    ],
)
def test_what_a_user_asked_for_of_pbs_is_not_needed_where_the_hosts_are_told(tmp_path, field, text):
    wrong = pbs("2.h", exec_host="n/0*28", **{field.replace(".", "__"): text})
    log = read_jobs(made(tmp_path, pbs("1.h"), wrong), unit="cores")
    assert log.jobs["processors"].tolist() == [2, 28]
    assert log.jobs["requested_processors"].tolist() == [-1, -1]
    assert log.jobs["requested_time"].tolist() == [-1, -1]
    (said,) = (sentence for sentence in log.warnings if field in sentence)
    assert said.startswith(f"Jobs whose {field} cannot be read and is not needed")
    assert f"taken as not known: 1 (line 2: '{text}'" in said


# Records that run together; `test_job_logs_cut` cuts and joins those of every format.


@pytest.mark.parametrize("between", ["", "\u2028", "\v", "\r", "\0\0", " "])
def test_a_record_of_pbs_cut_short_before_the_next_is_left_out_and_told(tmp_path, between):
    short = pbs("1.h", ctime=T0 - 50, start=T0 - 40, end=T0 - 10)
    file = made(tmp_path, short[: short.index("exec_host") - 4] + between + pbs("2.h"), pbs("3.h"))
    log = read_jobs(file, unit="cores")
    assert log.jobs[["job", "wait", "run"]].to_numpy().tolist() == [[2, 600, 3600], [3, 600, 3600]]
    said = "Records that were cut short, or hold values of two jobs, left out: 1 (line 1)."
    assert said in log.warnings


def test_a_record_of_pbs_with_two_values_of_a_key_is_no_job(tmp_path):
    file = made(tmp_path, pbs("1.h"), pbs("2.h") + f" start={T0 + 5}", pbs("3.h") + " user=ann")
    log = read_jobs(file, unit="cores")
    assert log.jobs["job"].tolist() == [1, 3]
    assert any("hold values of two jobs, left out: 1 (line 2)" in w for w in log.warnings)


def test_a_log_of_pbs_all_on_one_line_is_refused(tmp_path):
    with pytest.raises(TraceFormatError, match="does each record stand on a line of its own"):
        read_jobs(made(tmp_path, "\v".join(pbs(f"{i}.h") for i in range(1, 9))), unit="cores")


def test_the_unit_of_pbs_is_named(tmp_path):
    with pytest.raises(TraceFormatError, match="--unit cores or --unit nodes or --unit gpus"):
        read_jobs(made(tmp_path, pbs()))


# --- LSF -----------------------------------------------------------------------------------------


def lsf(
    job: int = 9,
    processors: int = 4,
    start: int = T1,
    hosts: tuple[str, ...] = ("n", "n"),
    asked: tuple[str, ...] = (),
    status: int = 64,
    command: str = "run",
    event: str = "JOB_FINISH",
    index: int | None = 0,
) -> str:
    names = " ".join(f'"{host}"' for host in asked)
    ran = " ".join(f'"{host}"' for host in hosts)
    return (
        f'"{event}" "10.1" {T2} {job} 500 33816627 {processors} {T0} 0 0 {start} "ann" "batch" '
        f'"select[mem > 4]" "" "" "login 1" "/home/ann" "" "" "" "17" {len(asked)} {names} '
        f'{len(hosts)} {ran} {status} 60.0 "my ""job""" "{command}" '
        + "0 " * 19
        + '"" "default" 0 8 "" ""'
        + (f" {index} 0 0" if index is not None else "")
    )


@pytest.mark.parametrize(
    ("hosts", "cores", "nodes"),
    [
        (("n",) * 4, 4, 1),
        (("a", "b", "a", "b"), 4, 2),
        (("4*n",), 4, 1),
        (("16*a", "16*b"), 32, 2),
        (("a", "b"), 4, 2),
        ((), 4, 0),
    ],
)
@pytest.mark.parametrize("asked", [(), ("all", "some more")])
def test_processors_of_lsf_are_told_or_more_by_its_hosts(tmp_path, hosts, cores, nodes, asked):
    file = made(tmp_path, lsf(hosts=hosts, asked=asked))
    log = read_jobs(file, unit="cores")
    assert first(log) == [9, 600, 3600, cores]
    assert log.jobs["requested_processors"].tolist() == [4]
    assert any("more processors than numProcessors" in w for w in log.warnings) == (cores > 4)
    if nodes:
        assert first(read_jobs(file, unit="nodes")) == [9, 600, 3600, nodes]


def test_jobs_of_lsf_that_never_ran_and_other_events_are_left_out(tmp_path):
    file = made(
        tmp_path,
        lsf(),
        lsf(10, start=0, hosts=()),
        lsf(11, event="JOB_NEW"),
        lsf(12, status=32),
        lsf(13, status=192),
    )
    log = read_jobs(file, unit="cores")
    assert log.jobs["job"].tolist() == [9, 12, 13]
    assert log.jobs["status"].tolist() == [1, 0, 1]
    assert "Jobs that never started, left out: 1." in log.warnings
    assert log.header["Queue"] == "1 batch"


def test_elements_of_an_array_of_lsf_that_ran_together_are_not_one_job(tmp_path):
    log = read_jobs(made(tmp_path, lsf(index=1), lsf(index=2), lsf(index=2)), unit="cores")
    assert log.jobs["job"].tolist() == [9, 9]
    assert "Rows that repeat another one, left out: 1." in log.warnings
    # Of older versions, whose records are shorter, nothing tells them apart.
    log = read_jobs(made(tmp_path, lsf(index=None), lsf(index=None)), unit="cores")
    assert log.jobs["job"].tolist() == [9, 9]


def test_text_of_lsf_may_hold_blanks_quotes_and_newlines(tmp_path):
    file = made(tmp_path, lsf(command='for i in ""a b"" c; do\n  echo $i 1 2 3\ndone'), lsf(10))
    assert read_jobs(file, unit="cores").jobs["job"].tolist() == [9, 10]


def test_a_record_of_lsf_that_is_cut_is_named(tmp_path):
    whole = lsf()
    for cut, field in (('"ann"', "numAskedHosts"), (f"{T0} 0 0", "submitTime")):
        with pytest.raises(TraceFormatError) as caught:
            read_jobs(made(tmp_path, whole, whole[: whole.index(cut)], whole), unit="cores")
        assert (caught.value.line, caught.value.field) == (2, field)
    with pytest.raises(TraceFormatError, match="quote that is not closed") as caught:
        read_jobs(made(tmp_path, whole, whole[:-8] + '"', whole), unit="cores")
    assert caught.value.line == 2
    with pytest.raises(TraceFormatError, match=r"jStatus.*is no status"):
        read_jobs(made(tmp_path, whole.replace(' 0  2 "n"', ' 7 2 "n"')), unit="cores")


def test_a_record_of_lsf_cut_short_before_the_next_is_left_out_and_told(tmp_path):
    for cut in ("33816627", '"/home/ann"', "echo 1 2"):  # before its times, in text, in a script
        short = lsf(8, command="for i in x; do\n  echo 1 2\ndone")
        file = made(tmp_path, lsf(7), short[: short.index(cut) + 4] + lsf(9), lsf(10))
        log = read_jobs(file, unit="cores")
        assert log.jobs["job"].tolist() == [7, 9, 10]
        assert any("with the next one on their line, left out: 1" in w for w in log.warnings)


def test_text_of_lsf_may_speak_of_its_own_events(tmp_path):
    said = 'grep ""JOB_FINISH"" ""10.1"" 1709284200 9 lsb.acct'
    log = read_jobs(made(tmp_path, lsf(8, command=said), lsf(9)), unit="cores")
    assert log.jobs["job"].tolist() == [8, 9]
    assert not any("left out" in sentence for sentence in log.warnings)


def test_lsf_does_not_tell_of_gpus(tmp_path):
    with pytest.raises(TraceFormatError, match="does not tell of gpus"):
        read_jobs(made(tmp_path, lsf()), unit="gpus")


# --- Grid Engine ---------------------------------------------------------------------------------


def sge(job: int = 5, times: tuple[object, ...] = (T0, T1, T2), slots: object = 8, **more: object) -> str:
    f = ["0"] * 45
    f[0], f[1], f[2], f[3], f[4], f[5], f[6] = "all.q", "n1", "users", "ann", "run", str(job), "sge"
    f[8:11] = map(str, times)
    f[31:36] = "NONE", "default", "mpi", str(slots), str(more.get("task", 0))
    f[11], f[12] = str(more.get("failed", 0)), str(more.get("code", 0))
    f[39], f[41] = "-l h_rt=3600 -pe mpi 8", str(more.get("part", "NONE"))
    return ":".join(f)


def test_seconds_of_sge_and_milliseconds_of_uge_are_told_apart(tmp_path):
    ms = tuple(1000 * t + 250 for t in (T0, T1, T2))
    for times in ((T0, T1, T2), ms):
        log = read_jobs(made(tmp_path, "# Version: 8", sge(times=times), sge(6, times=times)))
        assert first(log) == [5, 600, 3600, 8]
        assert log.unix_start_time == T0
        assert "sizes are cores: its slots" in log.warnings[0]


def test_jobs_of_sge_that_never_started_and_parts_of_jobs_are_left_out(tmp_path):
    file = made(
        tmp_path,
        sge(),
        sge(6, (T0, 0, 0)),
        sge(5, part="1.n2", slots=1),
        sge(7, task=1),
        sge(7, task=2),
        sge(7, task=2),
    )
    log = read_jobs(file, unit="cores")
    assert log.jobs["job"].tolist() == [5, 7, 7]
    assert "Jobs that never started, left out: 1." in log.warnings
    assert "Rows for the parts of parallel jobs on single hosts, left out: 1." in log.warnings
    assert "Rows that repeat another one, left out: 1." in log.warnings


@pytest.mark.parametrize(("failed", "code", "status"), [(0, 0, 1), (0, 1, 0), (100, 137, 0)])
def test_failures_of_sge_become_states(tmp_path, failed, code, status):
    log = read_jobs(made(tmp_path, sge(failed=failed, code=code)))
    assert log.jobs["status"].tolist() == [status]


@pytest.mark.parametrize(
    ("line", "field"),
    [
        (sge(slots="many"), "slots"),
        (sge(times=(T0, T1, "x")), "end_time"),
        (sge(times=(T0, 10**15, T2)), "start_time"),
        (":".join(sge().split(":")[:34]), "slots"),
    ],
)
def test_what_is_wrong_in_sge_is_named_by_line_and_field(tmp_path, line, field):
    with pytest.raises(TraceFormatError) as caught:
        read_jobs(made(tmp_path, sge(), line))
    assert (caught.value.line, caught.value.field) == (2, field)


def test_records_of_sge_on_one_line_are_named(tmp_path):
    whole = sge(8)
    for first in (whole, whole[: whole.index(":NONE:")], "# Version: 8", whole[:-9] + "\u2028"):
        with pytest.raises(TraceFormatError, match="holds a second record") as caught:
            read_jobs(made(tmp_path, sge(7), first + sge(9), sge(10)))
        assert caught.value.line == 2


def test_times_of_sge_are_not_seen_in_its_measured_resources(tmp_path):
    """ru_maxrss in bytes, and two that are 0 behind it, look like a job that never started."""
    f = sge(7).split(":")
    f[13:19] = "3600", "10", "0", "1709280000", "0", "0"
    assert len(read_jobs(made(tmp_path, sge(6), ":".join(f) + ":x")).jobs) == 2


def test_slots_of_sge_that_end_a_line_are_cut(tmp_path):
    with pytest.raises(TraceFormatError, match="task_number: is missing"):
        read_jobs(made(tmp_path, sge(7), ":".join(sge(8, slots=12).split(":")[:35])))


def test_sge_tells_of_slots_alone(tmp_path):
    with pytest.raises(TraceFormatError, match="does not tell of nodes, only of cores"):
        read_jobs(made(tmp_path, sge()), unit="nodes")


# --- Batsim --------------------------------------------------------------------------------------


def batsim(*jobs: dict, profiles: dict | None = None, **more) -> str:
    known = {"d": {"type": "DelayProfile", "delay": 20.5}, "old": {"type": "delay", "delay": 7}}
    return json.dumps({"nb_res": 32, "jobs": jobs, "profiles": known | (profiles or {})} | more)


def bjob(number: object, subtime: float = 0, profile: str = "d", **more: object) -> dict:
    return {"id": number, "subtime": subtime, "res": 4, "profile": profile} | more


def test_a_workload_of_batsim_is_read_with_jobs_in_any_order(tmp_path):
    log = read_jobs(made(tmp_path, batsim(bjob("w0!7", 9.5), bjob("8", 3, "old"), bjob(9, 3))))
    assert log.jobs["job"].tolist() == [8, 9, 7]
    assert log.jobs["submit"].tolist() == [3, 3, 9.5]
    assert log.jobs["run"].tolist() == [7, 20.5, 20.5]
    assert (log.jobs["wait"] == -1).all()
    assert log.max_procs == 32
    assert "Batsim's resources" in log.warnings[0]


@pytest.mark.parametrize(("limit", "run", "status"), [(10, 10, 0), (20.5, 20.5, 1), (99, 20.5, 1)])
def test_a_job_of_batsim_ends_with_its_limit(tmp_path, limit, run, status):
    log = read_jobs(made(tmp_path, batsim(bjob(1, walltime=limit))))
    assert log.jobs[["run", "requested_time", "status"]].iloc[0].tolist() == [run, limit, status]


def test_sequences_of_delays_have_a_run_time(tmp_path):
    profiles = {
        "s": {"type": "SequentialCompositionProfile", "repeat": 3, "seq": ["d", "old"]},
        "t": {"type": "composed", "seq": ["s", "d"]},
    }
    log = read_jobs(made(tmp_path, batsim(bjob(1, 0, "s"), bjob(2, 1, "t"), profiles=profiles)))
    assert log.jobs["run"].tolist() == [82.5, 103]


@pytest.mark.parametrize(
    ("text", "says", "field"),
    [
        (
            batsim(bjob(1, 0, "m"), profiles={"m": {"type": "ParallelProfile", "cpu": [1]}}),
            "'ParallelProfile', whose run time only a simulation tells",
            "profiles.m",
        ),
        (
            batsim(
                bjob(1, 0, "a"),
                profiles={"a": {"type": "composed", "seq": ["b"]}, "b": {"type": "composed", "seq": ["a"]}},
            ),
            "contains itself",
            "profiles.b",
        ),
        (batsim(bjob(1, 0, "none")), "names no profile", "jobs[0].profile"),
        (batsim(bjob(1, "soon")), "number of seconds", "jobs[0].subtime"),
        (batsim(bjob(1, -1)), "not negative", "jobs[0].subtime"),
        (batsim(bjob(1, res=2**31)), "below 2.31", "jobs[0].res"),
        (batsim(bjob(1, res=1.5)), "whole number", "jobs[0].res"),
        (batsim(bjob(1, res=True)), "whole number", "jobs[0].res"),
        (batsim({"id": 1, "res": 1, "profile": "d"}), "is missing", "jobs[0].subtime"),
        (batsim(3), "must be a job", "jobs[0]"),
        (batsim(bjob(1), jobs={}), "must be a list of jobs", "jobs"),
        (batsim(bjob(1), profiles={"d": {"type": "delay", "delay": 1e12}}), "below 1e11", "profiles.d.delay"),
        ('{"jobs": [{"subtime": NaN}]}', "NaN is no number", None),
        (
            '{"jobs": [{"id": 1, "subtime": 5, "id": 2, "subtime": 9}]}',
            "the key 'id' is there twice in one object",
            None,
        ),
        ('{"jobs": [', "is not JSON", None),
        ('{"jobs": ' + "[" * 100000, "is not JSON", None),
    ],
)
def test_what_is_wrong_in_a_workload_is_named(tmp_path, text, says, field):
    with pytest.raises(TraceFormatError, match=says.replace("[", r"\[")) as caught:
        read_jobs(made(tmp_path, text))
    assert caught.value.field == field


def test_the_size_of_the_platform_of_batsim_is_not_needed(tmp_path):
    log = read_jobs(made(tmp_path, batsim(bjob(1), nb_res="many")))
    assert (len(log.jobs), log.max_procs) == (1, None)
    assert any("whose nb_res cannot be read and is not needed" in w for w in log.warnings)


def test_a_workload_is_held_in_memory_and_so_bounded(tmp_path):
    file = made(tmp_path, batsim(bjob(1)))
    with pytest.raises(TraceFormatError, match="max_bytes = 50"):
        read_jobs(file, max_bytes=50)


JOBS_CSV = (
    "allocated_resources,job_id,submission_time,requested_number_of_resources,requested_time,"
    "success,final_state,starting_time,execution_time,finish_time,waiting_time"
)


def test_the_table_of_batsim_is_read_by_the_names_of_its_columns(tmp_path):
    file = made(
        tmp_path,
        JOBS_CSV,
        "0-3 7,w0!1,10,5,100,1,COMPLETED_SUCCESSFULLY,12.5,30,42.5,2.5",
        "0-3,2,11,4,-1,0,COMPLETED_WALLTIME_REACHED,12.5,30,42.5,1.5",
        ",3,12,40,-1,0,REJECTED,,,,",
    )
    log = read_jobs(file, unit="nodes")
    assert log.jobs[["submit", "wait", "run", "processors", "status"]].to_numpy().tolist() == [
        [10, 2.5, 30, 5, 1],
        [11, 1.5, 30, 4, 0],
    ]
    assert log.jobs["requested_time"].tolist() == [100, -1]
    assert "Jobs that never started, left out: 1." in log.warnings
    assert log.header["Unit"] == "nodes"


# --- tables with a map of columns ----------------------------------------------------------------

MAP = {"submit": "Created", "start": "Began", "end": "Ended", "cores": "CPUs"}


def test_a_table_is_read_by_its_map(tmp_path):
    file = made(
        tmp_path,
        'Id,Ended,Began,Created,CPUs,"A, B"',
        '1,2024-03-01 09:10:00,2024-03-01T08:10:00,2024-03-01T08:00:00,4.0,"x, ""y"""',
        "2,,,2024-03-01T08:00:00,4,",
    )
    log = read_jobs(file, columns=MAP | {"job": "Id"})
    assert first(log) == [1, 600, 3600, 4]
    assert "sizes are cores, from CPUs" in log.warnings[0]
    assert "Jobs that never started, left out: 1." in log.warnings


@pytest.mark.parametrize("sign", [";", "\t", "|", ","])
def test_a_table_is_parted_by_the_sign_that_gives_its_columns(tmp_path, sign):
    lines = [["Created", "Began", "Ended", "CPUs"], ["0", "5", "9.5", "2"], ["3", "5", "9", "1"]]
    log = read_jobs(made(tmp_path, *(sign.join(line) for line in lines)), columns=MAP)
    assert log.jobs[["submit", "wait", "run"]].to_numpy().tolist() == [[0, 5, 4.5], [3, 2, 4]]


@pytest.mark.thorough
def test_a_header_of_very_many_columns_is_refused_in_a_moment(tmp_path):
    with processor_seconds(20.0), pytest.raises(TraceFormatError, match="no column"):
        read_jobs(made(tmp_path, ",".join(f"c{i}" for i in range(100_000))), columns=MAP)


def test_a_run_time_stands_in_for_start_and_end(tmp_path):
    file = made(tmp_path, "t,secs,gpu,who", "10,30,2,ann", "12,01:00:00,1,bob", "13,,1,bob")
    log = read_jobs(file, columns={"submit": "t", "run": "secs", "gpus": "gpu", "user": "who"})
    assert log.jobs[["submit", "wait", "run", "processors"]].to_numpy().tolist() == [
        [10, -1, 30, 2],
        [12, -1, 3600, 1],
    ]
    assert log.header["Unit"] == "gpus"


@pytest.mark.parametrize("run", ["10.05", "0.001", "12.009", "7.", "0.30000000000000004"])
def test_run_times_of_a_table_keep_the_zeros_behind_their_point(tmp_path, run):
    file = made(tmp_path, "t,secs,L,gpu", f"10.012345678901234,{run},{run},2")
    log = read_jobs(file, columns={"submit": "t", "run": "secs", "gpus": "gpu", "requested_time": "L"})
    assert log.jobs[["submit", "run", "requested_time"]].to_numpy().tolist() == [
        [10.012345678901234, float(run), float(run)]
    ]


def test_words_for_states_are_known_in_any_case_and_others_counted(tmp_path):
    rows = [f"0,1,2,3,{word}" for word in ("Success", "KILLED", "failed", "TIMEOUT", "odd")]
    file = made(tmp_path, "Created,Began,Ended,CPUs,S", *rows)
    log = read_jobs(file, columns=MAP | {"status": "S"})
    assert log.jobs["status"].tolist() == [1, 5, 0, 0, -1]
    assert any("'ODD' 1" in sentence for sentence in log.warnings)


def test_what_still_runs_or_waits_has_not_ended_in_a_table_either(tmp_path):
    rows = [f"0,1,2,3,{word}" for word in ("done", "RUNNING", "suspended", "Pending", "queued")]
    file = made(tmp_path, "Created,Began,Ended,CPUs,S", *rows, "0,2,2,3,cancelled")
    log = read_jobs(file, columns=MAP | {"status": "S"})
    assert log.jobs["status"].tolist() == [1]
    assert "Jobs that never started, left out: 3." in log.warnings
    assert "Jobs that have not ended, left out: 2." in log.warnings
    assert any("though an end is written for them, not taken for ended: 4." in w for w in log.warnings)


def test_a_limit_that_cannot_be_read_in_a_table_is_not_needed(tmp_path):
    file = made(tmp_path, "Created,Began,Ended,CPUs,L", "0,1,2,3,1 day", "0,1,2,3,60")
    log = read_jobs(file, columns=MAP | {"requested_time": "L"})
    assert log.jobs["requested_time"].tolist() == [-1, 60]
    assert any("Jobs whose L cannot be read and is not needed" in w for w in log.warnings)


@pytest.mark.parametrize("sign", ["\v", "\u2028", "\x85"])
def test_odd_line_ends_of_a_table_are_named(tmp_path, sign):
    lines = ["Created,Began,Ended,CPUs", "0,1,2,3", "0,1,2,3"]
    for at in (1, 2):
        text = "\n".join(lines[:at]) + sign + "\n".join(lines[at:])
        with pytest.raises(TraceFormatError, match=r"line end lost|fields where the header has 4"):
            read_jobs(made(tmp_path, text), columns=MAP)


@pytest.mark.parametrize("sign", ["\0", "\u2028"])
def test_a_row_of_a_table_cut_in_its_number_before_the_next_is_named(tmp_path, sign):
    file = made(tmp_path, "Id,Created,Began,Ended,CPUs", "3,0,1,2,3", f"4{sign}5,0,1,2,3")
    with pytest.raises(TraceFormatError, match=r"Id: .*is a line end lost"):
        read_jobs(file, columns=MAP | {"job": "Id"})


def test_text_in_quotes_that_swallows_a_row_is_refused(tmp_path):
    file = made(tmp_path, "Created,Began,Ended,CPUs,Note", '0,1,2,3,"cut', "0,1,2,3,x", '4,1",x,3,4')
    with pytest.raises(TraceFormatError, match="text in quotes holds a row, '0,1,2,3,x'"):
        read_jobs(file, columns=MAP)


@pytest.mark.parametrize("run", ["1e3", "5,5", "5 s", "inf", "0x10"])
def test_a_run_time_that_is_none_says_what_would_do(tmp_path, run):
    file = made(tmp_path, "t;secs;cpu", "10;30;2", f"10;{run};2")
    with pytest.raises(TraceFormatError, match="is no number of seconds such as 90 or") as caught:
        read_jobs(file, columns={"submit": "t", "run": "secs", "cores": "cpu"})
    assert (caught.value.line, caught.value.field) == (3, "secs")


def test_names_of_our_own_need_no_map(tmp_path):
    log = read_jobs(made(tmp_path, "job,submit,start,end,cores", "3,0,1,2,4"))
    assert first(log) == [3, 1, 1, 4]


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        (None, "say which of its columns hold what.*it has Created, Began, Ended, CPUs"),
        ({"submit": "Created"}, "no column is named for the size"),
        (MAP | {"submit": "Creatd"}, "no column 'Creatd'; did you mean Created"),
        (MAP | {"submitted": "Created"}, "unknown key 'submitted'; did you mean submit"),
        (MAP | {"cores": 4}, r"columns.cores must be the name of a column, got 4"),
        ({k: MAP[k] for k in ("start", "end", "cores")}, "no column is named for the time of sub"),
        ({k: MAP[k] for k in ("submit", "end", "cores")}, "no column is named for the start"),
        ({k: MAP[k] for k in ("submit", "start", "cores")}, "no column is named for the end"),
        ("submit=Created", "columns must be a map"),
    ],
)
def test_a_map_that_does_not_do_says_what_would(tmp_path, columns, says):
    with pytest.raises(ModelError, match=says):
        read_jobs(made(tmp_path, "Created,Began,Ended,CPUs", "0,1,2,3"), columns=columns)


@pytest.mark.parametrize("sign", [";", "\t"])
def test_a_table_of_any_sign_asks_for_a_map(tmp_path, sign):
    with pytest.raises(TraceFormatError, match=r"--log-columns .*it has Created, Began, Ended, CPUs"):
        read_jobs(made(tmp_path, sign.join(["Created", "Began", "Ended", "CPUs"]), sign.join("0123")))


def test_two_units_in_a_map_ask_for_one(tmp_path):
    file = made(tmp_path, "Created,Began,Ended,CPUs,N", "0,1,2,8,2")
    with pytest.raises(TraceFormatError, match="--unit cores or --unit nodes"):
        read_jobs(file, columns=MAP | {"nodes": "N"})
    assert first(read_jobs(file, columns=MAP | {"nodes": "N"}, unit="nodes"))[3] == 2


@pytest.mark.parametrize(
    ("line", "field", "says"),
    [
        ("0,1,2,x", "CPUs", "whole number"),
        ("0,1,2,2.5", "CPUs", "whole number"),
        ("0,soon,2,3", "Began", "not a time"),
        ("0,1,1709280000000,3", "Ended", "milliseconds"),
        ("0,1,2", None, "3 fields where the header has 4"),
        ('0,1,2,"3', None, "not CSV"),
        ("03/02/2026 08:00,1,2,3", "Created", "such as 2026-02-03 08:00:00, or"),
        ("0,1,-2,3", "Ended", "not a time"),
        ("nan,1,2,inf", "CPUs", "whole number"),
    ],
)
def test_what_is_wrong_in_a_table_is_named_by_line_and_field(tmp_path, line, field, says):
    with pytest.raises(TraceFormatError, match=says) as caught:
        read_jobs(made(tmp_path, "Created,Began,Ended,CPUs", "0,1,2,3", line), columns=MAP)
    assert (caught.value.line, caught.value.field) == (3, field)
