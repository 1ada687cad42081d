"""A file says what Python says: for each option the same answer from both."""

import pytest
import typer
from typer.testing import CliRunner

from phasefit import PhaseType, match_moments
from qmodels.commands import predict as predict_command
from qmodels.commands import recommend as recommend_command
from qmodels.errors import ScenarioError
from qmodels.io import load_scenario
from qmodels.policies import (
    DynamicPartitioning,
    SpaceSharing,
    System,
    TimeSharing,
    Workload,
    capacity,
    predict,
    recommend,
)
from qmodels.programs import Geometric, Phase, Program
from tests.command import result_of
from validation import crossvalidate, simulate
from validation.commands import simulate as simulate_command
from validation.study.run import run_study

PROGRAM = Program([Phase(io=4.0, cpu=12.0)], name="one")
MACHINE = System(processors=8, disks=4, min_processors=2)
BASE = """
seed = 3
[machine]
processors = 8
disks = 4
min_processors = 2
{machine}
[[program]]
name = "one"
io = {{ seconds = 4.0 }}
cpu = {{ seconds = 12.0 }}
{program}
{tables}
[[policy]]
{policy}
[surface]
processors = [1, 2]
disks = [1]
[study]
loads = [0.2]
{study}
[validation]
policies = ["{label}"]
capacity_fractions = [0.4]
replications = 2
jobs = 150
fastest = false
"""
HALF, ERLANG = PhaseType([1.0], [[-2.0]]), match_moments(0.5, 0.25 * 1.5)


def text_of(policy, label, **parts):
    empty = dict.fromkeys(("machine", "program", "tables", "study"), "")
    return BASE.format(policy=policy, label=label, **(empty | parts))


ONE = PhaseType.exponential(mean=1.0)
GEOMETRIC = Program([Phase(io=4.0, cpu=12.0)], name="one", phase_count=Geometric(3.0))
BURSTS = "[bursts]\nio = { scv = 1.0 }"
SP21 = 'kind = "SP"\nprocessor_partitions = 2\ndisk_partitions = 1'
#: What stands in the file; and the policy, machine, workload and model that it means.
CASES = {
    "disk discipline": (
        text_of(
            SP21,
            "SP(2,1)",
            machine='disk_discipline = "siro"',
            tables=BURSTS,
            study='model = "decomposition"',
        ),
        SpaceSharing(2, 1),
        System(8, 4, 2, disk_discipline="siro"),
        Workload(PROGRAM, io_bursts=match_moments(1.0, 2.0)),
        "decomposition",
    ),
    "sizes": (
        text_of(f"{SP21}\nsizes = [2, 6]", "SP(2,1;6+2)"),
        SpaceSharing(2, 1, sizes=(6, 2)),
        MACHINE,
        Workload(PROGRAM),
        "auto",
    ),
    "overhead by its mean": (
        text_of('kind = "DP"\ndisk_partitions = 2\noverhead = { mean = 0.5 }', "DP(2;overhead=0.5s)"),
        DynamicPartitioning(2, overhead=PhaseType.exponential(mean=0.5)),
        MACHINE,
        Workload(PROGRAM),
        "auto",
    ),
    "overhead by two moments": (
        text_of(
            'kind = "DP"\ndisk_partitions = 2\noverhead = { mean = 0.5, scv = 0.5 }', "DP(2;overhead=0.5s)"
        ),
        DynamicPartitioning(2, overhead=ERLANG),
        MACHINE,
        Workload(PROGRAM),
        "auto",
    ),
    "overheads by their rates": (
        text_of(
            'kind = "DP"\ndisk_partitions = 2\noverhead = [{ alpha = [1.0], T = [[-2.0]] }, '
            "{ mean = 1.0 }, { mean = 0.5 }, { mean = 2.0 }]",
            "DP(2;overhead=1s)",
        ),
        DynamicPartitioning(2, overhead=(HALF, ONE, ONE.scale(0.5), ONE.scale(2.0))),
        MACHINE,
        Workload(PROGRAM),
        "sized-bursts",
    ),
    "cap and turns of time sharing": (
        text_of(
            'kind = "TS"\nprocessor_partitions = 2\ndisk_partitions = 1\nmultiprogramming = 3\n'
            'ts_cap = "min"\ncpu_discipline = "ps"',
            "TS(2,1;M=3;cap=min;cpu=ps)",
        ),
        TimeSharing(2, 1, 3, ts_cap="min", cpu_discipline="ps"),
        MACHINE,
        Workload(PROGRAM),
        "auto",
    ),
    "laws of bursts, exact": (
        text_of(
            SP21,
            "SP(2,1)",
            tables="[bursts]\nio = { scv = 4.0 }\ncpu = { alpha = [1.0], T = [[-2.0]] }",
            study='model = "exact"',
        ),
        SpaceSharing(2, 1),
        MACHINE,
        Workload(PROGRAM, io_bursts=match_moments(1.0, 5.0), cpu_bursts=HALF),
        "exact",
    ),
    "a geometric number of phases": (
        text_of(
            SP21,
            "SP(2,1)",
            program="phase_count = { mean = 3.0 }",
            tables=BURSTS,
            study='model = "decomposition"',
        ),
        SpaceSharing(2, 1),
        MACHINE,
        Workload(GEOMETRIC, io_bursts=match_moments(1.0, 2.0)),
        "decomposition",
    ),
    "time sharing, exact": (
        text_of(
            'kind = "TS"\nprocessor_partitions = 1\ndisk_partitions = 1',
            "TS(1,1;M=2)",
            tables=BURSTS,
            study='model = "exact"',
        ),
        TimeSharing(1, 1),
        MACHINE,
        Workload(PROGRAM, io_bursts=match_moments(1.0, 2.0)),
        "exact",
    ),
}


@pytest.fixture(params=CASES)
def case(request, tmp_path):
    text, *meant = CASES[request.param]
    path = tmp_path / "scenario.toml"
    path.write_text(text)
    return path, *meant


def command(module, *arguments):
    app = typer.Typer()
    app.callback()(lambda: None)
    module.register(app)
    done = CliRunner().invoke(app, [*map(str, arguments)])
    assert done.exit_code == 0, done.output
    found = result_of(done.stdout)
    return found[0] if isinstance(found, list) else found  # the first of several rows


@pytest.mark.thorough(first=1)
def test_a_file_predicts_what_python_predicts(case):
    path, policy, machine, work, model = case
    expected = predict(policy, machine, work, load=0.2, model=model)
    row = command(predict_command, "predict", path, "--json")
    assert row["policy"] == policy.label
    for name in ("mean_response", "capacity", "disk_utilisation", "model", "method", "reduction"):
        assert row[name] == getattr(expected, name)


@pytest.mark.thorough
def test_a_file_recommends_what_python_recommends(case):
    path, policy, machine, work, model = case
    expected = recommend(machine, work, load=0.2, candidates=[policy], model=model)
    said = command(recommend_command, "recommend", path, "--listed", "--json")
    assert said["recommendations"][0]["best"] == policy.label
    assert said["recommendations"][0]["value"] == expected.value


@pytest.mark.thorough
def test_a_file_simulates_what_python_simulates(case):
    path, policy, machine, work, _ = case
    expected = simulate(policy, machine, work, load=0.2, jobs=200, replications=2, seed=3)
    row = command(simulate_command, "simulate", path, "--jobs", 200, "--replications", 2, "--json")
    assert row["mean_response"] == expected.mean_response.mean


@pytest.mark.thorough(first=1)
def test_a_study_of_a_file_says_what_python_says(case):
    path, policy, machine, work, model = case
    study = run_study(load_scenario(path), workers=1)
    at_load = next(point for point in study.points if point.load == 0.2)
    assert at_load.prediction.mean_response == (
        predict(policy, machine, work, load=0.2, model=model).mean_response
    )
    (check,) = study.checks
    most = min(capacity(policy, machine, work), at_load.prediction.capacity)
    expected = crossvalidate(
        policy,
        machine,
        work,
        arrival_rate=0.4 * most,
        model=model,
        replications=2,
        jobs=150,
        seed=3,
        workers=1,
    )
    assert check.agreement.prediction.model == expected.prediction.model
    assert check.agreement.prediction.mean_response == expected.prediction.mean_response
    assert check.agreement.simulation.mean_response == expected.simulation.mean_response


@pytest.mark.thorough
def test_the_model_of_the_command_line_goes_before_that_of_the_file(tmp_path):
    path = tmp_path / "scenario.toml"
    path.write_text(text_of(SP21, "SP(2,1)", tables=BURSTS))
    work = Workload(PROGRAM, io_bursts=match_moments(1.0, 2.0))
    assert load_scenario(path).model == "auto"
    for model in ("speed-scaled", "decomposition", "exact"):
        expected = predict(SpaceSharing(2, 1), MACHINE, work, load=0.2, model=model)
        row = command(predict_command, "predict", path, "--json", "--model", model)
        assert (row["model"], row["mean_response"]) == (model, expected.mean_response)
    said = command(recommend_command, "recommend", path, "--json", "--model", "decomposition")
    labels = {row["policy"] for row in said["recommendations"][0]["candidates"]}
    assert "SP(2,1)" in labels
    assert not any(label.startswith("TS") for label in labels)  # no chain of this kind


DP = 'kind = "DP"\ndisk_partitions = 2'


@pytest.mark.parametrize(
    ("text", "key", "said"),
    [
        (
            text_of(SP21, "SP(2,1)", tables="[bursts]\nio = { scv = 2.0 }\n[demand]\nscv = 2.0"),
            "demand.scv",
            "drop this key, or drop [bursts]",
        ),
        (text_of(SP21, "SP(2,1)", tables="[bursts]"), "bursts", "give io, cpu or both"),
        (text_of(SP21, "SP(2,1)", tables="[bursts]\nIO = { scv = 2.0 }"), "bursts.IO", "known"),
        (text_of(SP21, "SP(2,1)", tables="[bursts]\nio = { T = [[-1.0]] }"), "bursts.io", "alpha and T"),
        (text_of(SP21, "SP(2,1)", study='model = "decomposition"'), "study.model", "[bursts]"),
        (text_of(SP21, "SP(2,1)", study='model = "decompose"'), "study.model", "'decomposition'"),
        (
            text_of(
                'kind = "TS"\nprocessor_partitions = 1\ndisk_partitions = 1',
                "TS(1,1;M=2)",
                tables=BURSTS,
                study='model = "decomposition"',
            ),
            "study.model",
            "leave the pol",
        ),
        (text_of(SP21, "SP(2,1)", machine='disk_discipline = "lifo"'), "machine.disk_discipline", "'siro'"),
        (
            text_of(SP21, "SP(2,1)", machine='disk_disciplin = "ps"'),
            "machine.disk_disciplin",
            "did you mean disk_discipline?",
        ),
        (text_of(f"{SP21}\nsizes = [4, 2, 2]", "SP(2,1)"), "policy[0]", "3 sizes for 2"),
        (text_of(f"{SP21}\nsizes = [4, 0]", "SP(2,1)"), "policy[0].sizes[1]", "greater than"),
        (text_of(f"{SP21}\nsize = [4, 4]", "SP(2,1)"), "policy[0].size", "did you mean sizes?"),
        (text_of(f"{SP21}\noverhead = {{ mean = 1.0 }}", "SP(2,1)"), "policy[0].overhead", "only DP has"),
        (text_of(f"{DP}\nsizes = [4, 4]", "DP(2)"), "policy[0].sizes", "only SP has"),
        (
            text_of(f"{DP}\nprocessor_partitions = 2", "DP(2)"),
            "policy[0].processor_partitions",
            "only SP, TS have",
        ),
        (text_of(f"{DP}\noverhead = {{ scv = 1.0 }}", "DP(2)"), "policy[0].overhead.mean", "missing"),
        (
            text_of(f"{DP}\noverhead = {{ mena = 1.0 }}", "DP(2)"),
            "policy[0].overhead[0].mena",
            "did you mean mean?",
        ),
        (
            text_of(f"{DP}\noverhead = [{{ mean = 1.0, scvs = 1.0 }}]", "DP(2)"),
            "policy[0].overhead[0].scvs",
            "did you mean scv?",
        ),
        (text_of(f"{DP}\noverhead = 0.5", "DP(2)"), "policy[0].overhead[0]", "dictionary"),
        (
            text_of(f"{DP}\noverhead = [{{ mean = 1.0 }}, {{ mean = 2.0 }}]", "DP(2)"),
            "policy[0]",
            "2 laws of the overhead for 1 to 4",
        ),
        (
            text_of(f"{DP}\noverhead = {{ mean = 1.0, alpha = [1.0], T = [[-1.0]] }}", "DP(2)"),
            "policy[0].overhead.mean",
            "drop one",
        ),
        (
            text_of(
                f"{DP}\noverhead = {{ mean = 1.0, scv = 2.0 }}\n[[policy]]\n{DP}\n"
                "overhead = { mean = 1.0 }",
                "DP(2)",
            ),
            "policy[1]",
            "labelled",
        ),
        (
            text_of(
                'kind = "TS"\nprocessor_partitions = 1\ndisk_partitions = 1\nts_cap = "sum"', "TS(1,1;M=2)"
            ),
            "policy[0].ts_cap",
            "'product' or 'min'",
        ),
        (text_of('kind = "nowhere:Policy"', "x"), "policy[0].kind", "cannot be loaded"),
        (text_of("disk_partitions = 1", "x"), "policy[0].kind", "missing"),
        (
            text_of(SP21, "SP(2,1)", program="phase_count = { mean = 0.5 }"),
            "program[0].phase_count.mean",
            "greater than or equal to 1",
        ),
        (text_of(SP21, "SP(2,1)", program="phase_count = {}"), "program[0].phase_count", "either"),
        (
            text_of(SP21, "SP(2,1)", program="phase_count = { probabilities = [0.5, 0.2] }"),
            "program[0]",
            "sum",
        ),
    ],
)
def test_a_wrong_option_is_named_with_its_key_and_what_would_do(tmp_path, text, key, said):
    path = tmp_path / "scenario.toml"
    path.write_text(text)
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path)
    problems = dict(caught.value.problems)
    assert key in problems
    assert said in problems[key]
    assert "\n" not in problems[key]


def test_faults_of_several_policies_come_at_once(tmp_path):
    path = tmp_path / "scenario.toml"
    path.write_text(
        text_of(f"{DP}\nmultiprogramming = 2\n[[policy]]\n{SP21}\nsizes = [0]", "DP(2)").replace(
            "loads = [0.2]", "loads = [2.0]"
        )
    )
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path)
    assert {key for key, _ in caught.value.problems} == {
        "policy[0].multiprogramming",
        "policy[1].sizes[0]",
        "study.loads[0]",
    }
