"""Job logs of every format: the same jobs give the same log, the same prediction, the same errors.

Cases outside the model, written down before the first run: a text of no format, an empty file, a
damaged gzip file, a line without end, jobs in any order, one job, a class that the user wrote, and
mutations of everything.
"""

from __future__ import annotations

import gzip
import json
import re
import runpy
import secrets
import shlex
import tracemalloc
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from qmodels.commands import fit, predict, recommend
from qmodels.commands import jobs as describe
from qmodels.errors import ModelError, ScenarioError, TraceFormatError
from qmodels.io import JobLog, read_jobs, read_swf
from qmodels.io.job_logs import FORMATS, AbstractJobFormat, Choices, known_by
from qmodels.io.samples import read_samples
from qmodels.io.scenario import load_scenario
from tests.batch_logs import COLUMNS, SAID, WRITERS, some_jobs, written
from tests.command import invoked, result_of
from tests.mutations import processor_seconds, refusal, survived
from validation.commands import allocate

NAMES = list(WRITERS)
TEXTS = [name for name in NAMES if name != "swf"]  # read line by line


@pytest.fixture(scope="module")
def jobs():
    return some_jobs(300, np.random.default_rng(20261122))


# --- the same jobs, the same log -----------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("packed", [False, True])
def test_jobs_that_are_written_are_read_back_as_they_were(tmp_path, jobs, name, packed):
    file = written(tmp_path, name, jobs)
    if packed:
        file.write_bytes(gzip.compress(file.read_bytes()))
    log = read_jobs(file, **SAID[name])
    for column, values in jobs.items():
        if (name, column) == ("batsim", "wait"):  # a workload has none
            values = np.full(len(values), -1)
        np.testing.assert_array_equal(log.jobs[column].to_numpy(), values, err_msg=column)
    assert log.warnings[0].startswith(f"Read as {name} (")


def test_a_format_that_is_named_goes_before_the_content(tmp_path, jobs):
    file = written(tmp_path, "csv", jobs)
    file.write_text(file.read_text().replace(";", "|"), encoding="utf-8")
    assert len(read_jobs(file, "csv", columns=COLUMNS).jobs) == 300
    with pytest.raises(TraceFormatError, match="names no JobID"):
        read_jobs(file, "sacct", unit="cores")
    with pytest.raises(ModelError, match="no format of job logs is called 'sact'; did you mean"):
        read_jobs(file, "sact")


@pytest.mark.parametrize("name", NAMES)
def test_each_format_is_known_by_its_own_class_alone(tmp_path, jobs, name):
    lines = written(tmp_path, name, jobs).read_text().split("\n")
    choices = Choices(columns=SAID[name].get("columns"))
    assert [each for each, kind in FORMATS.items() if kind.recognises(lines, choices)] == [name]


def test_every_format_is_tested_here_and_says_what_it_is():
    assert set(FORMATS) == set(WRITERS), "tests/batch_logs.py has a writer for each format"
    assert all(kind.title for kind in FORMATS.values())


def test_jobs_in_any_order_are_sorted_and_their_time_begins_with_the_first(tmp_path, jobs):
    order = np.random.default_rng(1).permutation(len(jobs["submit"]))
    shuffled = {name: values[order] for name, values in jobs.items()}
    for name in NAMES:
        log = read_jobs(written(tmp_path, name, shuffled), **SAID[name])
        np.testing.assert_array_equal(log.jobs["submit"].to_numpy(), jobs["submit"])
        assert sorted(log.jobs["job"]) == sorted(jobs["job"])
        assert any("now sorted" in sentence for sentence in log.warnings)


def test_windows_line_ends_and_marks_of_utf_8_are_read(tmp_path, jobs):
    for name in NAMES:
        file = written(tmp_path, name, jobs)
        text = file.read_bytes().replace(b"\n", b"\r\n")
        file.write_bytes(b"\xef\xbb\xbf" + text)
        assert len(read_jobs(file, **SAID[name]).jobs) == 300


@pytest.mark.parametrize("name", NAMES)
def test_a_single_job_is_a_log(tmp_path, name):
    log = read_jobs(written(tmp_path, name, some_jobs(1, np.random.default_rng(3))), **SAID[name])
    assert log.jobs["submit"].tolist() == [0]


@pytest.mark.parametrize("name", NAMES)
def test_selections_mean_the_same_in_every_format(tmp_path, jobs, name):
    file = written(tmp_path, name, jobs)
    log = read_jobs(file, status="failed", **SAID[name])
    assert log.jobs["job"].tolist() == jobs["job"][jobs["status"] == 0].tolist()
    if not name.startswith("batsim"):  # has no date
        log = read_jobs(file, start="2024-03-01 09:00", end="2024-03-01 10:00", **SAID[name])
        inside = (jobs["submit"] >= 3600) & (jobs["submit"] < 7200)
        assert log.jobs["job"].tolist() == jobs["job"][inside].tolist()
    else:
        with pytest.raises(ModelError, match="UnixStartTime"):
            read_jobs(file, start="2024-03-01 09:00", **SAID[name])


def test_a_partition_and_a_user_of_the_standard_format_are_their_numbers_also_as_words(tmp_path):
    rows = [f"{i} {i} 0 9 1 {'-1 ' * 6}{i % 3} -1 -1 -1 {i % 2} -1 -1\n" for i in range(1, 7)]
    file = tmp_path / "two.swf"
    file.write_text("".join(rows))
    assert read_jobs(file, partition="1").jobs["job"].tolist() == [1, 3, 5]
    assert read_jobs(file, partition=["1"], user=("2", 1)).jobs["job"].tolist() == [1, 5]
    done = invoked(describe.register, "jobs", file, "--partition", "0")
    assert "two.swf: 3 jobs" in done.stdout
    with pytest.raises(ModelError, match="partition must be a whole number; got 'batch'"):
        read_jobs(file, partition="batch")


def test_columns_that_are_not_asked_for_take_no_memory(tmp_path, jobs):
    log = read_jobs(written(tmp_path, "sacct", jobs), unit="cores", keep=())
    assert (log.jobs["status"] == -1).all()
    assert log.jobs["run"].tolist() == jobs["run"].tolist()
    with pytest.raises(ModelError, match="keep"):
        read_jobs(tmp_path / "sacct.log", unit="cores", keep=["time"])


@pytest.mark.thorough
@pytest.mark.parametrize("name", TEXTS)
def test_memory_of_reading_is_some_columns_and_a_block(tmp_path, name):
    """Within 400 bytes for each job and 8 MB of blocks; Batsim's JSON is an object for each job."""
    read_jobs(
        written(tmp_path, name, some_jobs(50, np.random.default_rng(5))), **SAID[name]
    )  # what is loaded once
    file = written(tmp_path, name, some_jobs(5_000, np.random.default_rng(5)))
    tracemalloc.start()
    try:
        read_jobs(file, keep=(), **SAID[name])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 5_000 * (3000 if name == "batsim" else 400) + 8e6


@pytest.mark.slow
def test_a_million_rows_of_sacct_take_seconds(tmp_path):
    """Half of them steps, as sacct prints them: within 30 s of processor time."""
    file = written(tmp_path, "sacct", some_jobs(500_000, np.random.default_rng(5)))
    with processor_seconds(30.0):
        assert len(read_jobs(file, unit="cores").jobs) == 500_000


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("sign", ["\r", "\v", "\u2028"])
def test_a_file_whose_lines_end_oddly_is_read_or_refused_for_that(tmp_path, jobs, name, sign):
    file = written(tmp_path, name, jobs)
    file.write_bytes(file.read_bytes().replace(b"\n", sign.encode()))
    if name == "batsim" and sign == "\r":  # which parts the words of JSON as well as a newline
        assert len(read_jobs(file, **SAID[name]).jobs) == 300
        return
    with pytest.raises(TraceFormatError, match=r"where lines should end|is not JSON"):
        read_jobs(file, **SAID[name])


@pytest.mark.parametrize("name", TEXTS)
def test_carriage_returns_before_a_newline_are_no_part_of_a_line(tmp_path, jobs, name):
    file = written(tmp_path, name, jobs)
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\r\n"))
    assert len(read_jobs(file, **SAID[name]).jobs) == 300


# --- what is no log ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty"),
        (b"\n \n", "empty"),
        (b"Dear reader,\n", "begins like no job log .* with 'Dear reader,'"),
        (b"\x00\xff" * 500, "begins like no job log"),
        (b"\x1f\x8b\x08\x00damaged", "gzip data are damaged"),
        (b"BZh91AY&SY", "packed with bzip2"),
        (b"a,b,c\n1,2,3\n", "looks like a table; .*it has a, b, c"),
    ],
)
def test_what_is_no_log_is_refused_in_a_sentence(tmp_path, content, says):
    (tmp_path / "log").write_bytes(content)
    with pytest.raises(TraceFormatError, match=says):
        read_jobs(tmp_path / "log")


@pytest.mark.parametrize("name", NAMES)
def test_no_more_text_is_read_than_allowed(tmp_path, jobs, name):
    file = written(tmp_path, name, jobs)
    size = len(file.read_bytes())
    file.write_bytes(gzip.compress(file.read_bytes()))
    assert len(read_jobs(file, max_bytes=size, **SAID[name]).jobs) == 300
    with pytest.raises(TraceFormatError, match="max_bytes"):
        read_jobs(file, max_bytes=size - 1, **SAID[name])


@pytest.mark.parametrize("name", TEXTS)
def test_a_line_without_end_is_refused(tmp_path, jobs, name):
    file = written(tmp_path, name, jobs)
    text = file.read_bytes()
    file.write_bytes(gzip.compress(text + text[-30:-1] + b"x" * 3_000_000))
    with pytest.raises(TraceFormatError, match="longer than 1,000,000 bytes"):
        read_jobs(file, **SAID[name])


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"unit": "threads"}, "unit"),
        ({"unit": 4}, "unit"),
        ({"columns": "submit"}, "columns must be a map"),
        ({"columns": ["JobID"]}, "tells no|no column|names no"),
        ({"columns": {"submit": "x"}}, "columns must be a list"),
        ({"timezone": "Nowhere"}, "timezone"),
        ({"timezone": 2}, "timezone"),
        ({"max_bytes": 0}, "max_bytes"),
        ({"status": "odd"}, "status"),
        ({"user": 1.5}, "user"),
        ({"start": "soon"}, "start"),
    ],
)
def test_odd_arguments_are_refused_by_name(tmp_path, jobs, given, says):
    with pytest.raises(ModelError, match=says):
        read_jobs(written(tmp_path, "sacct", jobs), "sacct", **({"unit": "cores"} | given))


def test_the_standard_format_names_its_columns_itself(tmp_path, jobs):
    with pytest.raises(ModelError, match="names its columns"):
        read_jobs(written(tmp_path, "swf", jobs), columns={"submit": "x"}, format="swf")


class Minutes(AbstractJobFormat):
    """A format of a user's own: submission and run time in minutes."""

    name, title = "minutes", "minutes"

    @classmethod
    def recognises(cls, lines, choices):
        return False

    @classmethod
    def read(cls, file, choices):
        rows = [line.split() for line in Path(file).read_text().splitlines()]
        submit, run, size = np.array(rows, dtype=float).T
        return JobLog(file, {"submit": 60 * submit, "run": 60 * run, "processors": size})


def test_a_format_of_ones_own_is_named_by_its_class(tmp_path):
    (tmp_path / "log").write_text("0 1 4\n2 3 4\n")
    log = read_jobs(tmp_path / "log", f"{__name__}:Minutes")
    assert log.work.tolist() == [240, 720]
    assert known_by(["0 1 4"]) is None


# --- the same jobs, the same predictions ---------------------------------------------------------

SCENARIO = """
machine = {{ processors = 64, disks = 8, min_processors = 4 }}
log = {log}
program = [{{ name = "solver", repeat = 4, io = {{ total = 20 }}, cpu = {{ total = 300 }} }}]
policy = [{{ kind = "SP", processor_partitions = [2, 4], disk_partitions = 2 }}]
demand = {{ scale_to_log = true }}
study = {{ loads = [0.4, 0.6] }}
"""


def log_table(name: str, **more: object) -> str:
    """A [log] table in one line; TOML writes text and lists as JSON does."""

    def toml(value: object) -> str:
        if isinstance(value, dict):
            return "{ " + ", ".join(f"{k} = {toml(v)}" for k, v in value.items()) + " }"
        return json.dumps(value)

    return toml({"path": f"{name}.log"} | SAID[name] | more)


@pytest.mark.thorough
def test_the_same_jobs_give_the_same_prediction_in_every_format(tmp_path, jobs):
    found = {}
    for name in NAMES:
        written(tmp_path, name, jobs)
        (tmp_path / "study.toml").write_text(SCENARIO.format(log=log_table(name)))
        done = invoked(predict.register, "predict", tmp_path / "study.toml", "--json")
        assert done.exit_code == 0, done.output
        assert f"- Read as {name} (" in done.stderr
        rows = result_of(done.stdout)
        found[name] = [{key: row[key] for key in row if key != "seconds"} for row in rows]
    assert len(found["swf"]) == 4
    for name in NAMES:
        assert found[name] == found["swf"], name


def test_predictions_count_jobs_of_less_than_a_second_and_say_so(tmp_path, jobs):
    short = {name: values[:200] for name, values in jobs.items()}
    short["run"] = np.where(np.arange(200) < 44, 0, short["run"])
    written(tmp_path, "sacct", short)
    source = tmp_path / "study.toml"
    source.write_text(SCENARIO.format(log=log_table("sacct")))
    plan = load_scenario(source)
    work = short["run"] * short["processors"]
    assert plan.demand.mean == pytest.approx(work.mean())
    assert plan.arrivals.mean == pytest.approx(short["submit"][-1] / 199)
    assert "without" not in plan.demand_from
    done = invoked(predict.register, "predict", source, "--load", "0.4")
    assert done.exit_code == 0, done.output
    assert "- Jobs with a run time of 0: 44 of 200; they count" in done.stderr


def test_a_log_of_a_scenario_is_read_as_its_table_says(tmp_path, jobs):
    written(tmp_path, "sacct", jobs)
    source = tmp_path / "study.toml"
    source.write_text(SCENARIO.format(log=log_table("sacct", unit="nodes", user=["ann"])))
    plan = load_scenario(source)
    assert plan.log.sizes.tolist() == (jobs["processors"] // 4).tolist()
    source.write_text(SCENARIO.format(log='{ path = "sacct.log" }'))
    with pytest.raises(TraceFormatError, match="--unit cores or --unit nodes"):
        load_scenario(source)
    source.write_text(SCENARIO.format(log=log_table("sacct", user="eve")))
    with pytest.raises(ScenarioError, match="user 'eve' is not in the log"):
        load_scenario(source)
    source.write_text(SCENARIO.format(log=log_table("sacct", unit="threads")))
    with pytest.raises(ScenarioError, match=r"log\.unit"):
        load_scenario(source)


def words(name: str) -> list[object]:
    """The options of a command that read a file of this format."""
    said = SAID[name]
    columns = ",".join(f"{key}={name}" for key, name in said.get("columns", {}).items())
    return [
        *(["--unit", said["unit"]] if "unit" in said else []),
        *(["--log-columns", columns] if columns else []),
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_column_of_any_log_is_fitted(tmp_path, jobs, name):
    file = written(tmp_path, name, jobs)
    done = invoked(
        fit.register,
        "fit",
        file,
        "--column",
        "work",
        *words(name),
        "--family",
        "moments",
        "--json",
        "--status",
        "completed",
    )
    assert done.exit_code == 0, done.output
    done_well = jobs["status"] == 1
    work = (jobs["run"] * jobs["processors"])[done_well]
    assert result_of(done.stdout)["mean"] == pytest.approx(work.mean(), rel=1e-9)


def test_a_table_stays_a_table_unless_a_log_is_asked_for(tmp_path, jobs):
    file = written(tmp_path, "batsim-csv", jobs)
    values, name, _ = read_samples(file, column="execution_time")
    assert (values.tolist(), name) == (jobs["run"].tolist(), "execution_time")
    assert read_samples(file, column="runtime")[0].tolist() == jobs["run"].tolist()
    assert read_samples(file, column="work", unit="nodes")[2][0].startswith("Read as batsim-csv")


@pytest.mark.parametrize("name", ["sacct", "csv"])
def test_strategies_are_compared_on_the_jobs_of_any_log(tmp_path, jobs, name):
    found = {}
    for each in ("swf", name):
        done = invoked(
            allocate.register,
            "allocate",
            written(tmp_path, each, jobs),
            "--mesh",
            "8x8",
            "--network",
            "none",
            "--strategies",
            "MBS",
            "--jobs",
            "40",
            "--replications",
            "2",
            "-j",
            "1",
            "--json",
            *words(each),
        )
        assert done.exit_code == 0, done.output
        assert f"- Read as {each} (" in done.stderr
        found[each] = result_of(done.stdout)
    assert found[name] == found["swf"]


@pytest.mark.thorough
def test_one_command_leads_from_a_raw_sacct_file_to_a_policy(tmp_path, jobs):
    slower = jobs | {"submit": jobs["submit"] * 12}
    found = {}
    for name in ("sacct", "swf"):
        done = invoked(
            recommend.register,
            "recommend",
            written(tmp_path, name, slower),
            *words(name),
            "--machine",
            "32,4",
            "--min-processors",
            "8",
            "--program",
            "QCRD-2",
            "--json",
        )
        assert done.exit_code == 0, done.output
        (found[name],) = result_of(done.stdout)["recommendations"]
    log = read_swf(tmp_path / "swf.log")
    assert found["swf"]["arrival_rate"] == pytest.approx(log.arrival_rate, rel=1e-9)
    assert found["swf"]["best"]
    for name, value in found["swf"].items():
        if name not in ("candidates", "seconds"):  # which hold the time that it took
            if name == "fit_error":
                value = value | {"source": "sacct.log"}
            assert found["sacct"][name] == value, name


@pytest.mark.parametrize("name", NAMES)
def test_a_log_is_described_and_written_again(tmp_path, jobs, name):
    file, again = written(tmp_path, name, jobs), tmp_path / "again.swf.gz"
    done = invoked(describe.register, "jobs", file, *words(name), "--json", "-o", again)
    assert done.exit_code == 0, done.output
    told = result_of(done.stdout)
    assert (told["format"], told["jobs"]) == (name, 300)
    assert told["warnings"][0].startswith(f"Read as {name} (")
    work = float((jobs["run"] * jobs["processors"]).mean())
    assert told["summary"]["work [processor-s]"]["mean"] == pytest.approx(work, rel=1e-12)
    rate = 299 / (jobs["submit"][-1] - jobs["submit"][0])
    assert told["offered_processors"] == pytest.approx(rate * work, rel=1e-12)
    before, after = read_jobs(file, **SAID[name]), read_jobs(again)
    pd.testing.assert_frame_equal(after.jobs, before.jobs)
    assert dict(after.header) == dict(before.header)


def test_every_element_of_an_array_has_a_number_of_its_own_in_swf(tmp_path, jobs):
    some = {name: values[:5] for name, values in jobs.items()}
    file, again = written(tmp_path, "sacct", some), tmp_path / "again.swf"
    text = file.read_text()
    for job, element in ((102, "101_2"), (104, "101_7")):
        text = text.replace(f"\n{job}|", f"\n{element}|").replace(f"\n{job}.", f"\n{element}.")
    file.write_text(text)
    assert read_jobs(file, unit="cores").jobs["job"].tolist() == [101, 101, 103, 101, 105]
    done = invoked(describe.register, "jobs", file, "--unit", "cores", "-o", again)
    assert done.exit_code == 0, done.output
    assert read_swf(again).jobs["job"].tolist() == [101, 106, 103, 107, 105]
    assert "written under numbers of their own: 2." in done.stderr


def test_the_description_of_a_log_says_its_load_in_its_unit(tmp_path, jobs):
    file = written(tmp_path, "sacct", jobs)
    done = invoked(describe.register, "jobs", file, "--unit", "nodes")
    assert "- Rows for steps of jobs, left out: 300." in done.stdout
    assert re.search(r"Load: 0\.0\d+ jobs/s of known work keep \d+\.\d nodes busy", done.stdout)
    one = written(tmp_path, "sge", some_jobs(1, np.random.default_rng(1)))
    assert "Load" not in invoked(describe.register, "jobs", one).stdout
    done = invoked(describe.register, "jobs", file, "--unit", "nodes", "-o", file)
    assert "is the log itself" in str(done.exception)


def test_what_can_be_asked_next_reads_the_log_in_the_same_way(tmp_path, jobs):
    file = written(tmp_path, "csv", jobs)
    how = [*words("csv"), "--timezone", "UTC", "--status", "failed", "--max-bytes", "1MB"]
    done = invoked(describe.register, "jobs", file, *how)
    site, law = (shlex.split(line) for line in done.stdout.splitlines() if line.startswith("Next: "))
    assert site[1:3] == ["qmodels", "site"]
    assert law[1:3] == ["qmodels", "fit"]
    given = law[3 : law.index("says")]
    assert given[-2:] == ["--column", "runtime"]
    assert site[3 : site.index("says")] == given[:-2]
    done = invoked(fit.register, "fit", *given, "--order", "1", "--json")
    assert result_of(done.stdout)["n"] == (jobs["status"] == 0).sum()


def test_of_waits_that_are_not_there_nothing_is_asked_next(tmp_path, jobs):
    file = tmp_path / "t.csv"
    file.write_text("submit,run,cores,partition\n0,9,1,a\n5,7,2,a\n")
    map_ = "submit=submit,run=run,cores=cores,partition=partition"
    done = invoked(describe.register, "jobs", file, "--log-columns", map_)
    assert "qmodels site" not in done.stdout
    assert "qmodels fit" in done.stdout
    done = invoked(describe.register, "jobs", file, "--log-columns", map_, "--partition", "a")
    assert "Next" not in done.stdout  # fit takes all partitions
    done = invoked(
        describe.register,
        "jobs",
        file,
        "--log-columns",
        "submit=submit,run=run,cores=cores",
        "--partition",
        "a",
    )
    assert "partition 'a' is not in the log; it has none" in str(done.exception)


def test_jobs_that_do_not_fit_the_machine_ask_whether_units_agree(tmp_path, jobs):
    file = written(tmp_path, "sacct", jobs | {"submit": jobs["submit"] * 100})
    done = invoked(
        recommend.register,
        "recommend",
        file,
        "--unit",
        "cores",
        "--machine",
        "16,2",
        "--min-processors",
        "16",
        "--program",
        "QCRD-2",
    )
    assert done.exit_code == 0, done.output
    larger = np.count_nonzero(jobs["processors"] > 16)
    said = f"machine's 16 processors: {larger} of 300; do both count the same (cores)?"
    assert said in done.stderr


@pytest.mark.thorough
def test_the_program_of_a_log_may_be_a_table_with_other_columns(tmp_path, jobs):
    file = written(tmp_path, "sacct", jobs | {"submit": jobs["submit"] * 100})
    plain = Path(__file__).parents[2] / "docs/examples/runs.csv"
    text = plain.read_text(encoding="utf-8").replace(",p,d,seconds,", ",cores,disks,t,")
    (tmp_path / "runs.csv").write_text(text, encoding="utf-8")
    named = "program=program,phase=phase,kind=kind,p=cores,d=disks,seconds=t,repeat=repeat"
    found = []
    for program in ((plain,), (tmp_path / "runs.csv", "--columns", named)):
        given = ("--unit", "cores", "--machine", "32,4", "--min-processors", "8")
        done = invoked(recommend.register, "recommend", file, *given, "--program", *program, "--json")
        assert done.exit_code == 0, done.output
        found.append(result_of(done.stdout)["recommendations"][0]["candidates"])
    of = [[(row["policy"], row["mean_response"]) for row in rows] for rows in found]
    assert of[0] == of[1]


def test_the_log_of_the_example_is_what_its_script_writes(tmp_path):
    folder = Path(__file__).parents[2] / "docs/examples/site-log"
    script = runpy.run_path(str(folder / "make_sacct.py"))
    script["main"](tmp_path / "sacct.txt")
    assert (tmp_path / "sacct.txt").read_bytes() == (folder / "sacct.txt").read_bytes()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ((), "tells of cores"),
        (("--unit", "cores"), "--machine PROCESSORS,DISKS"),
        (("--unit", "cores", "--machine", "64,8"), "--program FILE"),
        (("--unit", "cores", "--machine", "64"), "--machine must be processors,disks"),
        (("--unit", "cores", "--machine", "64,8", "--program", "QCRD"), "no such file, nor a"),
        (("--unit", "cores", "--listed"), "--listed keeps"),
        (("--log-columns", "a=b,c"), "--log-columns"),
    ],
)
def test_what_a_log_does_not_tell_is_asked_for(tmp_path, jobs, given, says):
    done = invoked(recommend.register, "recommend", written(tmp_path, "sacct", jobs), *given)
    assert says in str(done.exception)


def test_a_scenario_names_its_log_and_machine_itself(tmp_path):
    (tmp_path / "study.toml").write_text(SCENARIO.format(log='{ path = "x.log" }'))
    done = invoked(recommend.register, "recommend", tmp_path / "study.toml", "--machine", "4,4")
    assert "is a scenario, which names machine" in str(done.exception)


# --- mutations -----------------------------------------------------------------------------------


def outcome(file: Path, said: dict[str, object]) -> str:
    """Read; only a sound log or a typed error that names the file may come of it."""
    try:
        log = read_jobs(file, **said)
    except TraceFormatError as error:
        return refusal(error, file)
    table = log.jobs.to_numpy(float)
    assert np.isfinite(table).all()
    assert (np.diff(log.jobs["submit"]) >= 0).all()
    assert (log.jobs["size"] > 0).all() or said.get("format") == "swf"
    assert (log.jobs["run"] >= 0).all()
    return "read"


def campaign(folder: Path, name: str, rounds: int, seed: int) -> Counter[str]:
    """Read mutated files of one format; `seed` makes each of them again."""
    rng = np.random.default_rng([seed, NAMES.index(name)])
    file, said = written(folder, name, some_jobs(6, rng)), {"format": name} | SAID[name]
    note = f"{name} logs of seed {seed}"
    seen = survived(file, file.read_bytes(), lambda it: outcome(it, said), rounds, rng, note)
    # A table has a fixed number of fields and little text: most accidents show. Of Batsim's JSON
    # one damaged copy in forty is sound, 6 +- 2.5 in 250.
    assert min(seen["read"], rounds - seen["read"]) > rounds / 100, seen
    return seen


@pytest.mark.thorough
@pytest.mark.parametrize("name", TEXTS)
def test_mutated_logs_give_a_log_or_a_typed_error(tmp_path, name):
    campaign(tmp_path, name, 250, seed=20261122)


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTS)
def test_a_hundred_thousand_mutated_logs_give_a_log_or_a_typed_error(tmp_path, name, record_property):
    """Fresh ones each time; the seed is on record, and stands in the note of an error."""
    seed = secrets.randbits(32)
    record_property("seed", seed)
    for what, count in campaign(tmp_path, name, 100_000, seed).items():
        record_property(what, count)
