import csv
import html
import os
import re
import resource
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
import typer

import qmodels.cli
import validation
from tests.command import called, result_of

DEMO = Path(validation.__file__).parent / "study" / "demo"
QMODELS = Path(sys.executable).parent / "qmodels"

QUICK = """
title = "quick <b>study</b>"
[machine]
processors = 16
disks = 4
min_processors = 4
[[program]]
name = "<script>alert(1)</script> $x_1$ =1+1"
repeat = 2
io = { total = 8.0, law = "min(d, p/4)" }
cpu = { total = 64.0 }
[[policy]]
kind = "SP"
processor_partitions = [1, 4]
disk_partitions = [1, 4]
[[policy]]
kind = "TS"
processor_partitions = [2]
disk_partitions = [1]
[study]
loads = [0.1, 0.4]
[validation]
policies = ["SP(4,4)", "SP(4,1)"]
capacity_fractions = [0.5]
replications = 4
"""


def run(*args, **kwargs):
    return subprocess.run(
        [str(QMODELS), *map(str, args)], capture_output=True, text=True, timeout=1200, **kwargs
    )


@pytest.fixture
def quick(tmp_path):
    path = tmp_path / "quick.toml"
    path.write_text(QUICK)
    return path


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.sources = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.sources += [value for name, value in attrs if name in ("src", "href")]


@pytest.mark.thorough
def test_a_study_writes_one_whole_page_a_table_and_its_figures(quick, tmp_path):
    out = tmp_path / "deep" / "out"
    done = called("study", quick, "-o", out, "--seed", 3, "--max-bytes", "1MB")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(out / "report.html")
    assert {f.name for f in out.iterdir()} == {
        "report.html",
        "report.json",
        "predictions.csv",
        "answer.png",
        "surface.png",
        "response.png",
        "agreement.png",
    }
    page = (out / "report.html").read_text()
    parser = Tags()
    parser.feed(page)
    assert "script" not in parser.tags
    assert parser.tags.count("figure") == 4
    # one answer, a map and a body, SP with 1 and 4 disk partitions and TS with 1, the checks
    assert parser.tags.count("img") == 1 + 2 + 3 + 1
    ways = ("data:image/svg+xml;base64,", "#")  # pictures within the page, places on it
    assert all(source.startswith(ways) for source in parser.sources)
    assert "quick &lt;b&gt;study&lt;/b&gt;" in page
    assert f"qmodels study {quick} -o {out} --max-bytes 1000000B --seed 3" in page
    assert not [f for f in out.parent.iterdir() if f.name.startswith(".qmodels")]

    rows = list(csv.DictReader((out / "predictions.csv").read_text().splitlines()))
    assert len(rows) == 5 * (2 + 4) + 2 + 2  # checks asked for, and the fastest at two loads
    checked = [row for row in rows if row["simulated_mean_response_s"]]
    assert [row["policy"] for row in checked] == ["SP(4,4)", "SP(4,1)", "SP(1,1)", "SP(1,1)"]
    assert [row["method"] for row in checked] == ["exact", "approximate", "exact", "exact"]
    for row in checked:
        low, high = float(row["simulated_low_s"]), float(row["simulated_high_s"])
        assert low < float(row["simulated_mean_response_s"]) < high


@pytest.mark.thorough
def test_a_machine_with_one_disk_is_studied_too(quick, tmp_path):
    text = QUICK.replace("disks = 4", "disks = 1").replace("[1, 4]\n[[", "[1]\n[[")
    quick.write_text(text.replace('"SP(4,4)", ', ""))
    done = called("study", quick, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "surface.png").stat().st_size > 5000


@pytest.mark.thorough
def test_the_same_seed_gives_the_same_table_for_any_number_of_workers(quick, tmp_path):
    for workers in ("1", "2"):
        assert called("study", quick, "-o", tmp_path / workers, "-j", workers).returncode == 0
    first, second = ((tmp_path / w / "predictions.csv").read_bytes() for w in ("1", "2"))
    assert first == second


@pytest.mark.thorough
def test_each_load_that_is_asked_for_is_predicted(quick):
    loads = ("--load", "0.2", "--load", "0.1", "--load", "0.2")
    found = result_of(called("predict", quick, "--json", *loads).stdout)
    assert [each["load"] for each in found if each["policy"] == "SP(1,1)"] == [0.2, 0.1]


def test_a_load_that_no_policy_carries_is_said_beside_the_others(quick):
    done = called("predict", quick, "--load", "0.1", "--load", "0.999")
    assert done.returncode == 0
    assert "they need 0.999; the processors limit" in done.stderr


def test_predictions_come_as_a_table_or_as_json(quick):
    table = called("predict", quick, "--all")
    assert table.returncode == 0
    assert "SP(4,4)" in table.stdout
    found = result_of(called("predict", quick, "--json", "--load", "0.2").stdout)
    assert [f["policy"] for f in found] == [
        "SP(1,1)",
        "SP(4,1)",
        "SP(1,4)",
        "SP(4,4)",
        "TS(2,1;M=2)",
    ]
    assert all(f["load"] == pytest.approx(0.2) for f in found)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("processors = 16", "", "machine.processors: this key is missing"),
        ("disks = 4", "diskss = 4", "machine.diskss: unknown key; did you mean disks?"),
        ("total = 64.0", "total = nan", "program[0].cpu.total"),
        ("processor_partitions = [1, 4]", "processor_partitions = [1, 8]", "use 1 to 4"),
        (
            "loads = [0.1, 0.4]",
            "loads = [0.1, 0.999]",
            "study.loads[1]: load 0.999 is unstable under every policy of this study; the largest "
            "stable load is just below",
        ),
    ],
)
def test_bad_scenarios_are_one_line_on_stderr_and_leave_nothing_behind(quick, tmp_path, old, new, said):
    quick.write_text(QUICK.replace(old, new, 1))
    out = tmp_path / "out"
    done = called("study", quick, "-o", out)
    assert done.returncode == 3
    assert done.stdout == ""
    assert all(line.startswith("qmodels: ") for line in done.stderr.splitlines())
    assert said in done.stderr
    assert [f.name for f in tmp_path.iterdir()] == ["quick.toml"]


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda raw: raw[: len(raw) // 2], "jobs.swf.gz"),
        (lambda raw: raw[:3000] + b"\x00\xff" * 40 + raw[3080:], "jobs.swf.gz"),
        (lambda raw: b"not a log", "jobs.swf.gz:1"),
    ],
    ids=["truncated", "corrupt", "not a log"],
)
def test_a_damaged_log_is_one_line_on_stderr_and_leaves_nothing_behind(tmp_path, damage, said):
    shutil.copyfile(DEMO / "scenario.toml", tmp_path / "scenario.toml")
    (tmp_path / "jobs.swf.gz").write_bytes(damage((DEMO / "jobs.swf.gz").read_bytes()))
    done = called("study", tmp_path / "scenario.toml", "-o", tmp_path / "out")
    assert done.returncode == 3
    assert len(done.stderr.splitlines()) == 1
    assert said in done.stderr
    assert not (tmp_path / "out").exists()


def test_an_unstable_load_asked_for_is_refused_with_the_largest_that_is_not(quick):
    done = called("predict", quick, "--load", "0.9999")
    assert done.returncode == 3
    said = done.stderr.splitlines()[-1]
    assert "No policy can carry these jobs: the best of 5, TS(2,1;M=2), manages load 0.9" in said
    assert "they need 0.9999; the " in said


@pytest.mark.thorough
def test_an_unstable_load_is_answered_for_the_policies_asked_for(quick):
    done = called("predict", quick, "--load", "0.9999")
    assert done.returncode == 3
    assert "the best of 5, TS(2,1;M=2), manages load 0." in done.stderr
    for command in (["predict"], ["simulate", "--replications", "2", "--jobs", "100"]):
        asked = ["--policy", "SP(1,1)", "--policy", "SP(4,4)"]
        done = called(*command[:1], quick, *command[1:], "--load", "0.9999", *asked)
        assert done.returncode == 3
        assert "the best of 2, SP(1,1), manages load 0." in done.stderr
        assert "TS(" not in done.stderr
    alone = called("predict", quick, "--load", "0.9999", "--policy", "SP(1,1)").stderr
    assert "SP(1,1): no steady state at load 0.9999" in alone


@pytest.mark.thorough
def test_an_unstable_load_is_said_once_by_recommend_too(quick):
    loads = ["--load", "0.998", "--load", "0.999"]
    done = called("recommend", quick, "--listed", *loads)
    assert done.returncode == 1
    said = done.stdout + done.stderr
    assert [said.count(f"they need {load}; ") for load in loads[1::2]] == [1, 1]


@pytest.mark.thorough
def test_the_three_best_of_each_load_are_printed_unless_more_are_asked_for(quick):
    def printed(*options):
        done = called("predict", quick, *options)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    default = printed()
    rows = [line.split() for line in default[1:] if line.startswith(("SP", "TS"))]
    assert [row[1] for row in rows] == ["0.1"] * 3 + ["0.4"] * 3
    for load in ("0.1", "0.4"):
        here = result_of("\n".join(printed("--json", "--load", load)))
        assert len(here) == 5
        least = sorted((x for x in here if "method" in x), key=lambda x: x["mean_response"])[:3]
        assert [row[0] for row in rows if row[1] == load] == [x["policy"] for x in least]
    assert default[-1].startswith("4 more rows with --all")
    assert len([line for line in printed("--all") if line.startswith(("SP", "TS"))]) == 10
    only = printed("--policy", "SP(4,1)", "--policy", "SP(1,1)")[1:3]
    assert [line.split()[0] for line in only] == ["SP(4,1)", "SP(4,1)"]
    for options, count in ((), 10), (("--all",), 10), (("--best", 2), 4):
        assert len(result_of("\n".join(printed("--json", *options)))) == count
    assert len(result_of("\n".join(printed("--json", "--policy", "SP(1,1)")))) == 2
    assert called("predict", quick, "--all", "--best", "2").returncode == 3
    assert "did you mean" in called("predict", quick, "--policy", "SP(4,44)").stderr


@pytest.mark.thorough
def test_the_table_marks_what_ties_with_the_least_of_a_load(quick):
    from qmodels.io.scenario import load_scenario
    from qmodels.policies import recommend

    plan = load_scenario(quick)
    table = called("predict", quick, "--all").stdout.splitlines()
    for load in plan.loads:
        found = recommend(plan.system, plan.workload, load=load, candidates=plan.policies)
        tied = {policy.label for policy in (found.best, *found.ties)} if found.ties else set()
        rows = [line for line in table if line.split()[1:2] == [f"{load:g}"]]
        assert {line.split()[0] for line in rows if line.endswith(" =")} == tied


def test_an_earlier_report_survives_a_run_that_fails(quick, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "report.html").write_text("earlier")
    quick.write_text(QUICK.replace("disks = 4", "disks = 0", 1))
    assert called("study", quick, "-o", out).returncode == 3
    assert (out / "report.html").read_text() == "earlier"


def test_an_output_that_is_a_file_is_refused_before_the_work(quick, tmp_path):
    taken = tmp_path / "taken"
    taken.write_text("mine")
    done = called("study", quick, "-o", taken)
    assert done.returncode == 3
    assert "name a folder" in done.stderr
    assert taken.read_text() == "mine"


def test_words_that_are_not_understood_are_a_usage_error(quick):
    assert called("study").returncode == 2
    assert called("frobnicate").returncode == 2
    assert called("predict", quick, "--load", "much").returncode == 2


def test_the_demos_inputs_can_be_had_to_start_from(tmp_path):
    done = called("demo", "--save-inputs", tmp_path / "mine")
    assert done.returncode == 0
    assert {f.name for f in (tmp_path / "mine").iterdir()} == {"scenario.toml", "jobs.swf.gz"}
    assert called("demo", "--save-inputs", tmp_path / "mine").returncode == 0  # the same again


def test_inputs_of_the_demo_for_which_there_is_no_room_leave_no_half_of_a_file(tmp_path):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))  # the log is larger
    try:
        done = called("demo", "--save-inputs", tmp_path / "mine")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (done.returncode, "jobs.swf.gz cannot be written" in done.stderr) == (3, True)
    assert [file.name for file in (tmp_path / "mine").iterdir()] == ["scenario.toml"]
    assert called("demo", "--save-inputs", tmp_path / "mine").returncode == 0


def test_inputs_that_were_edited_are_not_overwritten(tmp_path):
    edited = tmp_path / "scenario.toml"
    edited.write_text("mine")
    done = called("demo", "--save-inputs", tmp_path)
    assert done.returncode == 3
    assert "scenario.toml: is there already and differs" in done.stderr
    assert edited.read_text() == "mine"
    assert not (tmp_path / "jobs.swf.gz").exists()


@pytest.mark.thorough
def test_a_second_run_into_one_folder_is_told_at_once_and_harms_nothing(quick, tmp_path):
    from qmodels.io.outputs import claim_output, release_outputs

    out = tmp_path / "out"
    claim_output(out)
    done = run("study", quick, "-o", out)
    release_outputs()
    assert done.returncode == 3
    assert "another run is writing" in done.stderr
    assert not out.exists()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "child"),
    [
        (b"it's my $HOME `x` esc\x1b[31m\x07.toml", False),
        (b"caf\xe9.toml", True),
    ],
)
def test_the_command_of_a_report_can_be_typed_again_whatever_the_names(tmp_path, name, child):
    scenario = os.fsencode(tmp_path) + b"/" + name
    with open(scenario, "w") as file:
        file.write(QUICK.replace("replications = 4", "replications = 2").replace("[1, 4]", "[4]", 1))
    out = tmp_path / "o ut"
    done = (run if child else called)("study", os.fsdecode(scenario), "-o", out)
    assert done.returncode == 0, done.stderr
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "\x1b" not in page
    assert "\x07" not in page
    line = html.unescape(re.search(r"<pre[^>]*>(.*?)</pre>", page, re.DOTALL)[1])
    echoed = subprocess.run(["bash", "-c", line.replace("qmodels", "printf '%s\\0'", 1)], capture_output=True)
    assert echoed.stdout.split(b"\0")[:4] == [b"study", scenario, b"-o", os.fsencode(out)]


@pytest.mark.thorough
def test_help_names_every_subcommand_and_loads_nothing_heavy():
    environment = os.environ | {"PYTHONPROFILEIMPORTTIME": "1"}
    done = run("--help", env=environment)
    assert done.returncode == 0
    for command in ("study", "demo", "predict"):
        assert command in done.stdout
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "typer" in loaded
    assert not loaded & {"numpy", "scipy", "numba", "pandas", "matplotlib", "pydantic"}


def test_only_the_command_that_is_asked_for_is_laid_out(monkeypatch):
    def names(*words):
        monkeypatch.setattr(sys, "argv", ["qmodels", *words])
        return [each.name for each in qmodels.cli._with_what_is_asked().registered_commands]

    several = typer.Typer()
    for name in ("study", "demo", "demonstrate"):
        several.command(name)(lambda: None)
    monkeypatch.setattr(qmodels.cli, "app", several)
    assert names("demo", "--help") == ["demo"]
    every = ["study", "demo", "demonstrate"]
    for words in ([], ["--help"], ["--version", "demo"], ["dem"], ["Demo"]):
        assert names(*words) == every
    assert [each.name for each in several.registered_commands] == every  # as before


@pytest.mark.thorough
def test_a_shell_completes_commands_and_options():
    for words, at, completed in (("qmodels pre", 1, "predict"), ("qmodels fit --see", 2, "--seed")):
        shell = {"_QMODELS_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(at)}
        done = subprocess.run(
            [Path(sys.executable).with_name("qmodels")],
            env=os.environ | shell,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout.split() == [completed], done.stderr


@pytest.mark.thorough
def test_the_package_runs_as_a_module_where_its_script_is_not_on_the_path():
    done = subprocess.run(
        [sys.executable, "-m", "qmodels", "--version"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == called("--version").stdout
