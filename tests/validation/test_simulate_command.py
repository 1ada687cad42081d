import pandas as pd
import pytest

from qmodels import SpaceSharing
from qmodels.errors import ModelError, UnstableError
from qmodels.io.scenario import load_scenario
from tests.command import called, invoked, result_of
from validation import simulate
from validation.commands.simulate import NOT_PRECISE, register

SCENARIO = """
seed = 5
[machine]
processors = 8
disks = 4
[[program]]
name = "one"
io = { seconds = 4.0 }
cpu = { seconds = 12.0 }
[[policy]]
kind = "SP"
processor_partitions = [1, 4]
disk_partitions = [1, 4]
[study]
loads = [0.1, 0.2]
"""


@pytest.fixture
def scenario(tmp_path):
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO)
    return path


def command(*arguments):
    return invoked(register, "simulate", *arguments)


def test_prints_what_simulate_says_at_every_load_of_the_scenario(scenario):
    done = command(scenario, "--policy", "SP(4,4)", "--jobs", 300, "--json")
    assert done.exit_code == 0, done.output
    rows = result_of(done.stdout)
    plan = load_scenario(scenario)
    for place, (row, load) in enumerate(zip(rows, (0.1, 0.2), strict=True)):
        run = simulate(
            SpaceSharing(4, 4), plan.system, plan.workload, load=load, jobs=300, seed=5, point=place
        )
        assert row["mean_response"] == run.mean_response.mean
        assert row["percentiles"]["95"] == run.percentile(0.95).mean


def test_writes_a_table_with_intervals(scenario, tmp_path):
    out = tmp_path / "out"
    done = command(scenario, "--jobs", 200, "--load", 0.1, "-o", out)
    assert done.exit_code == 0, done.output
    table = pd.read_csv(out / "simulations.csv")
    assert len(table) == 4
    assert (table.mean_response_low < table.mean_response).all()


def test_a_policy_without_a_steady_state_is_said_to_be_saturated_beside_the_others(scenario):
    done = command(scenario, "--load", 0.7, "--jobs", 200)
    assert done.exit_code == 0, done.output
    assert "saturated" in done.stdout


def test_a_load_beyond_all_policies_is_refused_with_the_largest_that_is_not(scenario):
    done = command(scenario, "--load", 0.99)
    assert isinstance(done.exception, UnstableError)


def test_an_unknown_policy_is_refused_with_a_suggestion(scenario):
    done = command(scenario, "--policy", "SP(4,3)")
    assert isinstance(done.exception, ModelError)
    assert "SP(4," in str(done.exception)


@pytest.mark.thorough
def test_a_precision_that_is_not_reached_is_told_by_the_exit_code(scenario, monkeypatch):
    from validation import sharing

    def few(*arguments, **options):
        return simulate(*arguments, **options | {"at_most": 3, "replications": 2})

    monkeypatch.setattr(sharing, "simulate", few)
    done = command(scenario, "--load", 0.1, "--policy", "SP(1,1)", "--jobs", 5, "--precision", 1e-6)
    assert done.exit_code == NOT_PRECISE


def test_a_policy_that_no_site_runs_is_in_the_table_too_alone_or_beside_others(scenario, tmp_path):
    few = ("--load", 0.1, "--jobs", 20, "--replications", 2)
    alone = command(scenario, "--policy", "EQUI", *few, "-o", tmp_path / "alone", "--json")
    both = command(scenario, "--policy", "EQUI", "--policy", "SP(1,1)", *few, "-o", tmp_path / "both")
    assert (alone.exit_code, both.exit_code) == (0, 0)
    (row,) = result_of(alone.stdout)
    table = pd.read_csv(tmp_path / "both" / "simulations.csv").set_index("policy")
    assert list(table.index) == ["SP(1,1)", "EQUI"]
    for told in (table.loc["EQUI"], pd.read_csv(tmp_path / "alone" / "simulations.csv").iloc[0]):
        assert told.mean_response == pytest.approx(row["mean_response"])
        assert told.mean_response_high - told.mean_response == pytest.approx(row["half_width"])


def test_a_policy_or_load_that_is_named_twice_is_simulated_once(scenario):
    words = [("--policy", name) for name in ("sp(4,4)", "equi", "SP(4,4)", "EQUI")]
    words += [("--load", 0.1), ("--load", 0.1), ("--jobs", 20), ("--json",)]
    done = command(scenario, *(part for pair in words for part in pair))
    assert [row["policy"] for row in result_of(done.stdout)] == ["SP(4,4)", "EQUI"]


def test_a_precision_is_said_not_to_be_of_policies_that_no_site_runs(scenario):
    few = ("--load", 0.1, "--jobs", 20, "--replications", 2, "--precision", 0.5)
    done = command(scenario, "--policy", "EQUI", *few)
    assert "EQUI: simulated in replications of a fixed number" in done.stderr


@pytest.mark.parametrize(
    "words",
    [("predict", "--all"), ("recommend", "--listed"), ("simulate", "--jobs", 20, "--replications", 2)],
)
def test_columns_stand_under_their_heads_however_long_a_label_is(tmp_path, words):
    site = tmp_path / "site.toml"
    long = '[[policy]]\nkind = "TS"\nprocessor_partitions = 2\ndisk_partitions = 1\n'
    site.write_text(f'{SCENARIO}{long}ts_cap = "min"\ncpu_discipline = "ps"\n')
    lines = called(words[0], site, "--load", 0.1, *words[1:]).stdout.splitlines()
    head = next(line for line in lines if line.startswith("policy"))
    end = head.index("[s]") + 3
    rows = [line for line in lines if line.startswith(("SP(1,1)  ", "TS(2,1;M=2;cap=min;cpu=ps) "))]
    assert len(rows) == 2
    assert all(row[end - 1].isdigit() and row[end] == " " for row in rows)
