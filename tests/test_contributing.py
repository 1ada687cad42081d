"""CONTRIBUTING followed to the letter: its examples stand where it says, and are found from there."""

import importlib
import json
import re
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import qmodels.cli
from qmodels import Phase, Program, SpaceSharing, System, Workload
from qmodels.commands import choices
from qmodels.entries import load_entries, names_of
from qmodels.errors import ModelError
from qmodels.io import load_scenario, read_jobs
from qmodels.io.job_logs import FORMATS
from qmodels.io.scenario_reference import model_section
from qmodels.policies import MODELS, predict
from tests.command import called, result_of
from tests.objects import SCENARIO
from tests.page_format import PAGE, examples, put
from validation.checkpoints.protocols import PROTOCOLS
from validation.jobs import QUEUE_DISCIPLINES


@pytest.fixture
def placed(tmp_path, monkeypatch):
    """Puts the example of a section into a file of a package; what it entered is gone afterwards."""
    registries = (MODELS, FORMATS, PROTOCOLS, QUEUE_DISCIPLINES)
    before, loaded = [dict(each) for each in registries], set(sys.modules)

    def place(heading, package, file):
        folder = tmp_path / package
        folder.mkdir()
        path = put(examples(heading)[0], package, file, folder)
        monkeypatch.setattr(importlib.import_module(package), "__path__", path)
        load_entries(package)

    yield place
    for registry, known in zip(registries, before, strict=True):
        registry.clear()
        registry.update(known)
    for module in set(sys.modules) - loaded:
        if str(getattr(sys.modules[module], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[module]


def test_a_model_of_a_policy_is_one_file(placed, tmp_path, monkeypatch):
    placed("Add a model of a policy", "qmodels.policies.models", "slowest.py")
    # in Python: two servers at the speed of two jobs on one disk, so the queue is M/M/2
    work, machine = Workload(Program([Phase(io=16.0, cpu=64.0)])), System(4, 2)
    found = predict(SpaceSharing(2, 1), machine, work, utilisation=0.5, model="slowest")
    speed = found.capacity / 2
    assert found.model == "slowest"
    assert found.mean_response == pytest.approx(1.0 / (1.0 - 0.25) / speed, rel=1e-9)
    assert found.method == "approximate"
    assert found.recorded_error() is None
    assert 'the model "slowest", of which no points were recorded' in found.outside_record()
    assert predict(SpaceSharing(2, 1), machine, work, utilisation=0.5).model == "speed-scaled"
    with pytest.raises(ModelError, match="did you mean 'slowest'"):
        predict(SpaceSharing(2, 1), machine, work, load=0.2, model="slow")
    # in a scenario and on the command line, in any spelling
    (tmp_path / "site.toml").write_text(SCENARIO.replace("[study]\n", '[study]\nmodel = "Slowest"\n'))
    assert load_scenario(tmp_path / "site.toml").model == "slowest"
    (tmp_path / "plain.toml").write_text(SCENARIO)
    by_file = called("predict", tmp_path / "site.toml", "--json")
    by_option = called("predict", tmp_path / "plain.toml", "--json", "--model", "slowest")
    rows = result_of(by_file.stdout)
    assert {row["model"] for row in rows} == {"slowest"}
    assert [r["mean_response"] for r in rows] == [r["mean_response"] for r in result_of(by_option.stdout)]
    # in the help and on the reference page
    assert "slowest" in names_of("qmodels.policies.models")
    try:
        assert "|slowest|" in importlib.reload(choices).Model.__metadata__[0].metavar
    finally:
        monkeypatch.undo()
        importlib.reload(choices)
    assert (
        '| `"slowest"` | in a stage of its demand, as slow as with all partitions taken |' in model_section()
    )


def test_a_log_format_is_one_file_that_commands_and_files_find(placed, tmp_path):
    placed("Add a log format", "qmodels.io.job_logs", "plain.py")
    log = tmp_path / "jobs.txt"
    log.write_text(
        "#plain\n7 1700000000 1700000030 1700003630 64 COMPLETED\n"
        "8 1700000010 1700000010 1700000110 8 FAILED\n"
    )
    jobs = read_jobs(log).jobs
    columns = jobs[["job", "wait", "run", "processors", "status"]]
    assert columns.to_numpy().tolist() == [[7, 30, 3600, 64, 1], [8, 0, 100, 8, 0]]
    for words in ((), ("--format", "Plain")):
        done = called("jobs", log, *words)
        assert "Read as plain (six fields on a line)" in done.stdout + done.stderr
    log.write_text("#plain\n7 1700000000 1700000030 noon 64 COMPLETED\n")
    done = called("jobs", log)
    assert done.returncode == 3
    assert "jobs.txt:2:end: 'noon'" in done.stderr
    assert "plain" in names_of("qmodels.io.job_logs")


@pytest.mark.thorough
def test_the_log_format_of_the_page_keeps_what_all_formats_promise():
    tests = [f"tests/qmodels/test_job_logs{part}.py" for part in ("", "_cut")]
    about = "plain or every_format or any_order or windows"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.page_format", "-p", "no:cacheprovider"]
    done = subprocess.run([*command, "-k", about, *tests], cwd=PAGE.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) >= 20


def test_two_files_of_one_name_are_refused(placed):
    placed("Add a log format", "qmodels.io.job_logs", "plain.py")
    folder = Path(sys.modules["qmodels.io.job_logs.plain"].__file__).parent
    (folder / "again.py").write_text(examples("Add a log format")[0])
    with pytest.raises(ModelError, match=r"two files .* enter 'plain': again\.py and plain\.py; rename"):
        load_entries("qmodels.io.job_logs")


@pytest.mark.thorough
def test_a_protocol_is_one_class_that_every_comparison_has(placed):
    placed("Add a protocol at a shared storage", "validation.checkpoints", "least_waste.py")
    words = "--jobs 3 --size 1TB --bandwidth 1GB/s --interval 2h --replications 2 -j 1 --json"
    done = called("checkpoint", *words.split())
    assert "least waste" in json.dumps(result_of(done.stdout))


def test_a_discipline_is_one_class_that_the_command_knows(placed, tmp_path):
    placed("Add a queue discipline", "validation.jobs", "lcfs.py")
    words = "--mesh 4x4 --network none --strategies ff --jobs 12 --replications 2 -j 1 --json"
    waits = {
        name: called("allocate", *words.split(), "--discipline", name).stdout for name in ("lcfs", "FCFS")
    }
    assert result_of(waits["lcfs"]) != result_of(waits["FCFS"])


def test_a_command_is_one_file_and_a_line(placed, monkeypatch):
    placed("Add a command", "qmodels.commands", "hello.py")
    line = re.search(r'`hello = "(.*)"`', PAGE.read_text(encoding="utf-8"))[1]
    hello = EntryPoint("hello", line, "qmodels.commands")
    monkeypatch.setattr(qmodels.cli, "entry_points", lambda group: [hello])
    assert called("hello", "Ada").stdout == "Hello, Ada.\n"
    assert result_of(called("hello", "--json").stdout) == {"greeted": "world"}
    assert "For example: qmodels hello Ada" in called("hello", "--help").stdout


def test_every_file_that_the_page_names_is_there():
    text = PAGE.read_text(encoding="utf-8")
    named = set(re.findall(r"\b(?:tests|docs|qmodels|validation|phasefit)/[\w/.-]+\.(?:py|md)\b", text))
    assert len(named) > 30
    assert [name for name in sorted(named) if not (PAGE.parent / name).is_file()] == []
