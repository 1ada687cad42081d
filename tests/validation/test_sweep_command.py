"""`qmodels sweep`: axes, forecasts, tables, precision and budgets, and what is refused."""

import io
import json
import re

import pandas as pd
import pytest

from qmodels.errors import ModelError
from qmodels.io.scenario import load_scenario
from qmodels.policies import predict
from tests.command import invoked
from tests.validation.test_sweep_journal import ROOT
from validation import compare_strategies, simulate
from validation.commands import sweep
from validation.commands.axes import parsed_axes
from validation.commands.sweep import _budget, _share
from validation.machine.scenario import load_plan
from validation.study.sweep import plan_sweep, read_sweep, run_sweep
from validation.sweeps.journal_file import JournalReader

RUNS = ROOT / "docs" / "examples" / "measured-runs.toml"
STRATEGIES = """
seed = 5
[mesh]
rows = 4
columns = 4
[machine]
strategies = ["PLAS", "Random"]
[jobs]
count = 12
mean_interarrival = 40.0
mean_size = 3.0
[study]
replications = 3
"""
ONE = """
[machine]
processors = 4
disks = 4
[[program]]
name = "one"
io = { seconds = 1.0 }
cpu = { seconds = 9.0 }
[[policy]]
kind = "SP"
processor_partitions = 1
disk_partitions = 1
[study]
loads = [0.5]
"""


@pytest.fixture
def allocation(tmp_path):
    (tmp_path / "machine.toml").write_text(STRATEGIES)
    return tmp_path / "machine.toml"


def called(*words):
    found = invoked(sweep.register, "sweep", *words)
    if found.exception and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found


def table(found):
    return pd.read_csv(io.StringIO(found.stdout))


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.thorough
def test_predictions_are_those_of_predict_to_the_last_bit(tmp_path):
    found = table(called(RUNS, "--over", "machine.disks=4,8", "load=.2,.4", "policy=DP(1)", "-j", 1))
    assert found["machine.disks"].tolist() == [4, 4, 8, 8]
    plan = load_scenario(RUNS)
    [policy] = [each for each in plan.policies if each.label == "DP(1)"]
    right = predict(policy, plan.system, plan.workload, load=0.4)
    assert found.mean_response.iloc[3] == right.mean_response
    assert [file.name for file in tmp_path.iterdir()] == []


@pytest.mark.thorough
def test_a_policy_that_is_saturated_or_does_not_fit_has_a_row_that_says_so():
    found = table(called(RUNS, "machine.processors=4,64", "policy=SP(16,1),DP(1)", "load=.1,.99", "-j", 1))
    assert found.status.tolist()[:2] == ["refused", "refused"]
    assert "SP(16,1)" in found.note[0]
    assert "saturated" in found.status.tolist()
    assert found[found.status == "saturated"].capacity.gt(0).all()


def test_a_simulation_of_a_saturated_policy_or_one_that_does_not_fit_has_a_row_that_says_so(tmp_path):
    """On all four processors and disks a job takes (1 + 9) / 4 s: at most 0.4 a second."""
    (tmp_path / "one.toml").write_text(ONE)
    kind = ("--kind", "simulate", "--replications", 1, "-j", 1)
    found = table(called("one.toml", "policy=SP(8,1),SP(1,1)", "load=.99", *kind))
    assert found.status.tolist() == ["refused", "saturated"]
    assert "SP(8,1)" in found.note[0]
    assert found.capacity[1] == pytest.approx(0.4, rel=1e-12)


@pytest.mark.thorough
def test_simulations_are_those_of_simulate(tmp_path):
    found = table(called(RUNS, "load=.3", "policy=DP(1)", "--kind", "simulate", "--replications", 3, "-j", 1))
    plan = load_scenario(RUNS)
    [policy] = [each for each in plan.policies if each.label == "DP(1)"]
    means = [
        simulate(
            policy, plan.system, plan.workload, load=0.3, replications=1, seed=plan.seed, point=r
        ).mean_response.mean
        for r in range(3)
    ]
    assert found.mean_response[0] == pytest.approx(sum(means) / 3, rel=1e-15)
    assert found.replications[0] == 3


@pytest.mark.thorough
def test_allocations_are_those_of_compare_strategies(allocation):
    found = table(called(allocation, "-j", 1)).set_index("strategy")
    plan = load_plan(allocation)
    right = compare_strategies(plan.machine, plan.strategies, plan.streams, replications=3, seed=plan.seed)
    for name, run in right.runs.items():
        assert found.service[name] == run["service"].mean
        assert found.service_half_width[name] == run["service"].half_width


def test_a_row_for_each_run_and_a_journal_that_is_kept(allocation, tmp_path):
    journal = tmp_path / "my.journal"
    runs = table(called(allocation, "traffic.io_share=0,1", "-j", 1, "--runs", "--journal", journal))
    assert len(runs) == 2 * 2 * 3
    assert runs.replication.tolist() == [0, 1, 2] * 4
    exported = called("results", journal)
    assert exported.exit_code == 0
    assert len(table(exported)) == 4
    out = tmp_path / "t.csv"
    again = called(allocation, "traffic.io_share=0,1", "-j", 1, "--journal", journal, "-o", out)
    assert again.exit_code == 0
    assert out.read_text() == exported.stdout
    with JournalReader(journal) as reader:
        assert (len(reader.results()), reader.repeated()) == (12, 0)
        assert len(reader.sessions()) == 2


def test_more_points_are_added_to_what_is_there(allocation, tmp_path):
    journal = tmp_path / "my.journal"
    called(allocation, "traffic.flits=2", "-j", 1, "--journal", journal)
    called(allocation, "traffic.flits=2,4", "-j", 1, "--journal", journal)
    with JournalReader(journal) as reader:
        assert (len(reader.results()), reader.repeated()) == (12, 0)


@pytest.mark.thorough
def test_a_budget_that_is_spent_is_said_and_the_same_command_goes_on(allocation, tmp_path):
    words = [allocation, "--precision", "2%", "--at-most", 40, "-j", 1, "-o", tmp_path / "t.csv"]
    first = called(*words, "--budget", "0.001s")
    assert first.exit_code == 4
    assert "the budget is spent" in first.stderr
    assert "the same command goes on" in first.stderr
    assert (tmp_path / "t.csv.journal").exists()
    partly = read_sweep(tmp_path / "t.csv.journal")
    assert not partly.complete
    last = called(*words)
    assert not (tmp_path / "t.csv.journal").exists()
    found = pd.read_csv(tmp_path / "t.csv")
    assert found.replications.between(10, 40).all()
    narrow = found.service_half_width <= 0.02 * found.service
    assert (last.exit_code == 4) == (not found.precise.all())
    assert narrow[found.precise].all()


def test_a_budget_without_a_precision_tells_what_is_begun_from_what_is_not(allocation, tmp_path):
    words = [allocation, "--replications", 3, "-j", 1, "-o", tmp_path / "t.csv"]
    found = called(*words, "--budget", "0.001s")
    assert found.exit_code == 4
    assert re.search(r"spent: \d points are not begun, [01] begun and not done; the same", found.stderr)
    begun = pd.read_csv(tmp_path / "t.csv").replications.between(1, 2).sum()
    assert f"{begun} begun and not done" in found.stderr


@pytest.mark.thorough
def test_a_dry_run_says_what_there_is_to_do_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {0, 1}, raising=False)
    found = called(RUNS, "load=.1:.7:.1", "policy=DP(1),DP(8)", "--dry-run", "-j", 2)
    assert found.stdout.startswith("14 points\n14 runs\n")
    assert "with 2 processes (from" in found.stdout
    assert "MB for each process" in found.stdout
    many = called(RUNS, "load=.1:.7:.1", "policy=DP(1),DP(8)", "--dry-run", "-j", 99)
    assert "with 99 processes on 2 cores (from" in many.stdout
    words = many.stdout.splitlines()[2].split()
    assert float(words[4]) == pytest.approx(float(words[0]) / 2, rel=0.02)  # and not a 99th
    assert [*tmp_path.iterdir()] == []


def test_a_table_may_be_parquet_or_the_extra_is_named(allocation, tmp_path):
    out = tmp_path / "t.parquet"
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        with pytest.raises(ModelError, match=r"'\.\[parquet\]'"):
            called(allocation, "-o", out)
        return
    assert called(allocation, "-j", 1, "-o", out).exit_code == 0
    assert pd.read_parquet(out).strategy.tolist() == ["PLAS", "Random"]


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([RUNS, "load"], "is no axis"),
        ([RUNS, "load=.1", "load=.2"], "load is there twice"),
        ([RUNS, "load=.9:.1:.1"], "must rise"),
        ([RUNS, "load=0:1:1e-9"], "must rise"),
        ([RUNS, "load=a:b"], "is no range"),
        ([RUNS, "machine.dsks=8"], f"^{RUNS}: machine.*did you mean disks"),
        ([RUNS, "machine.disks.x=8"], "disks is a value, not a table"),
        ([RUNS, "program.0.io=8"], "program"),
        ([RUNS, "--kind", "allocate"], "is a scenario of policies"),
        ([RUNS, "--kind", "guess"], "kind"),
        ([RUNS, "--precision", "200%"], "between 0 and 100 %"),
        ([RUNS, "--budget", "soon"], "--budget: 'soon' is no time"),
        ([RUNS, "--budget", "2"], "--budget: 2 what. say 2h or 2min"),
        ([RUNS, "--budget", "0s"], "--budget must be > 0"),
        ([RUNS, "-o", "t.txt"], r"ends in \.csv or \.parquet"),
        (["results"], "takes one journal"),
        (["results", "no.journal"], "there is no journal"),
        (["no.toml"], "cannot be read"),
    ],
)
def test_what_cannot_be_is_refused_before_the_work(words, said, tmp_path):
    with pytest.raises(ModelError, match=said):
        called(*words)
    assert [*tmp_path.iterdir()] == []


def test_axes_are_read_as_they_are_meant():
    assert parsed_axes(["load=.1:.9:.1"]) == {"load": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]}
    assert parsed_axes(["a.b=8:32:8,64", "c=true,x"]) == {
        "a.b": [8, 16, 24, 32, 64],
        "c": [True, "x"],
    }
    assert parsed_axes(["policy=SP(4,16),TS(2,1;M=2),DP(1)"]) == {
        "policy": ["SP(4,16)", "TS(2,1;M=2)", "DP(1)"]
    }
    assert (_share("1%"), _share("0.05"), _budget("1h30min"), _budget("45s")) == (
        0.01,
        0.05,
        5400.0,
        45.0,
    )


def test_a_scenario_that_has_moved_keeps_its_results(allocation, tmp_path):
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "machine.toml").write_text(STRATEGIES)
    journal = tmp_path / "j"
    run_sweep(plan_sweep(allocation), journal, workers=1)
    run_sweep(plan_sweep(other / "machine.toml"), journal, workers=1)
    with JournalReader(journal) as reader:
        assert (len(reader.results()), reader.repeated()) == (6, 0)


def test_a_log_that_has_changed_is_another_scenario(tmp_path):
    from validation.study import demo

    source = ROOT / "validation" / "study" / "demo"
    assert demo
    text = (source / "scenario.toml").read_text()
    (tmp_path / "scenario.toml").write_text(text)
    (tmp_path / "jobs.swf.gz").write_bytes((source / "jobs.swf.gz").read_bytes())
    one = plan_sweep(tmp_path / "scenario.toml").points[0]
    import gzip

    log = gzip.decompress((source / "jobs.swf.gz").read_bytes()).splitlines(keepends=True)
    (tmp_path / "jobs.swf.gz").write_bytes(gzip.compress(b"".join(log[:-10])))
    two = plan_sweep(tmp_path / "scenario.toml").points[0]
    assert one.key(0) != two.key(0)


def test_the_journal_of_another_command_is_not_exported(tmp_path):
    from validation.sweeps.journal import Journal

    Journal(tmp_path / "other.journal", version="1").close()
    with pytest.raises(ModelError, match="belongs to another command"):
        called("results", tmp_path / "other.journal")


def test_numbers_in_a_journal_are_plain_json(allocation, tmp_path):
    called(allocation, "-j", 1, "--journal", tmp_path / "j")
    with JournalReader(tmp_path / "j") as reader:
        for text in reader.results().values():
            assert json.loads(text)["completed"] == 12.0


@pytest.mark.thorough
def test_a_policy_typed_twice_is_one_point_under_its_label(tmp_path):
    (tmp_path / "one.toml").write_text(ONE)
    plan = plan_sweep(tmp_path / "one.toml", {"policy": ["SP(1,1)", "sp( 1, 1 )", "ts(2,2)", "XP(1)"]})
    assert [point["policy"] for point in plan.points] == ["SP(1,1)", "TS(2,2;M=2)", "XP(1)"]
