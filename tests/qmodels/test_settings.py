"""Values laid over a file's tables: `--set machine.disks=64`."""

from __future__ import annotations

import pytest

from qmodels.commands import predict, surface
from qmodels.errors import ModelError, ScenarioError
from qmodels.io.scenario import ScenarioFile, load_scenario
from qmodels.io.settings import both, laid_over, parse_settings, parse_value, told, value_at
from qmodels.policies import predict as predicted
from tests.command import invoked, result_of
from validation.machine.scenario import AllocationFile, load_plan

SCENARIO = """
[machine]
processors = 16
disks = 4
[demand]
scv = 2.0
[[program]]
name = "one"
io = { seconds = 16.0 }
cpu = { seconds = 64.0 }
[[policy]]
kind = "SP"
processor_partitions = [1, 4]
disk_partitions = [1, 4]
[[policy]]
kind = "DP"
disk_partitions = 1
[surface]
processors = [1, 16]
[study]
loads = [0.2, 0.4]
[validation]
policies = ["SP(4,4)", "DP(1)"]
"""


@pytest.fixture
def scenario(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(SCENARIO)
    return file


class TestAWord:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("64", 64),
            ("6.4e1", 64.0),
            (".5", 0.5),
            ("true", True),
            ('"64"', "64"),
            ("[1, 2]", [1, 2]),
            ("{ scv = 2.0 }", {"scv": 2.0}),
            ("min(d, p/4)", "min(d, p/4)"),
            ("SP(4,4)", "SP(4,4)"),
            ("064", 64.0),  # no TOML: a number all the same, and no whole one
            ("a = b", "a = b"),
        ],
    )
    def test_is_typed_as_in_a_file(self, text, value):
        found = parse_value(text)
        assert found == value
        assert type(found) is type(value)

    @pytest.mark.parametrize(
        "text", ["", "   ", '"open', "[1, 2", "{a = 1", "64\nb = 2", "\x1b[31m", "[" * 5000]
    )
    def test_that_is_no_value_is_refused(self, text):
        with pytest.raises(ModelError, match="is no value"):
            parse_value(text)

    @pytest.mark.parametrize("word", ["machine.disks", "=3", "a..b=3", "a b=3", "a[x]=1", ".a=1"])
    def test_without_a_key_and_a_value_sets_nothing(self, word):
        with pytest.raises(ModelError, match="sets nothing"):
            parse_settings([word])

    def test_may_not_set_what_is_set_already(self):
        with pytest.raises(ModelError, match="set twice"):
            parse_settings(["policy[0].kind=SP", "policy.0.kind=DP"])
        with pytest.raises(ModelError, match="by an option and by --set"):
            both({"seed": 1}, {"seed": 2})


class TestTablesWithSettings:
    def test_are_the_file_with_other_values(self, scenario):
        other = scenario.with_name("other.toml")
        other.write_text(
            SCENARIO.replace("disks = 4\n", "disks = 8\n")
            .replace('"DP"\ndisk_partitions = 1', '"DP"\ndisk_partitions = 2')
            .replace('"DP(1)"', '"DP(2)"')
        )
        settings = {"machine.disks": 8, "policy.1.disk_partitions": 2}
        by_set = load_scenario(scenario, settings=settings)
        by_file = load_scenario(other)
        assert by_set.policies == by_file.policies
        assert by_set.system == by_file.system
        for policy in by_file.policies:
            one, two = (predicted(policy, s.system, s.workload, load=0.3) for s in (by_set, by_file))
            assert one.mean_response == two.mean_response

    def test_leave_the_tables_that_were_read_alone(self):
        tables = {"machine": {"disks": 4}, "policy": [{"kind": "SP"}]}
        found = laid_over(ScenarioFile, tables, {"machine.disks": 8, "policy.0.kind": "DP"})
        assert tables == {"machine": {"disks": 4}, "policy": [{"kind": "SP"}]}
        assert found["machine"]["disks"] == 8
        assert found["policy"][0]["kind"] == "DP"

    @pytest.mark.parametrize(
        ("settings", "said"),
        [
            ({"disks": 64}, "did you mean machine.disks"),
            ({"machin.disks": 64}, "did you mean machine.disks"),
            ({"machine.disk": 64}, "did you mean disks"),
            ({"machine.disks": 64.0}, r"valid integer, got 64\.0 \(set here"),
            ({"machine.disks": 0}, "greater than or equal to 1"),
            ({"machine.disks": float("nan")}, "integer"),
            ({"demand.scv": float("inf")}, "finite"),
            ({"machine.disks.x": 1}, "disks is a value, not a table"),
            ({"policy.7.kind": "SP"}, "none of the 2 tables"),
            ({"policy.x.kind": "SP"}, "none of the 2 tables"),
            ({"policy.0.multiprogramming": 2}, "only TS has"),
            ({"policy.0.kind": "XP"}, "should be 'SP'"),
            ({"policy": []}, "at least 1 item"),
            ({"study.loads": [0.2, 1.5]}, r"study.loads\[1\].*set here"),
            ({"study.model": "exactly"}, "set here"),
            ({"program.0.io.total": 3.0, "program.0.io.seconds": 3.0}, "give either seconds"),
            ({"seed": -1}, "greater than or equal to 0"),
        ],
    )
    def test_are_checked_as_a_file_is(self, scenario, settings, said):
        with pytest.raises(ModelError, match=said):
            load_scenario(scenario, settings=settings)

    def test_name_a_fault_of_the_file_as_the_file_s(self, scenario):
        scenario.write_text(SCENARIO.replace("disks = 4\n", "disks = 0\n"))
        with pytest.raises(ScenarioError) as caught:
            load_scenario(scenario, settings={"machine.processors": 32})
        assert "set here" not in str(caught.value)
        assert load_scenario(scenario, settings={"machine.disks": 4}).system.disks == 4

    def test_replace_another_way_to_say_the_same(self):
        tables = {"demand": {"alpha": [1.0], "T": [[-1.0]]}, "program": [{"io": {"seconds": 1.0}}]}
        found = laid_over(ScenarioFile, tables, {"demand.scv": 4.0, "program.0.io.total": 9.0})
        assert found["demand"] == {"scv": 4.0}
        assert found["program"] == [{"io": {"total": 9.0}}]
        jobs = {"jobs": {"utilisation": 0.5, "count": 9}}
        found = laid_over(AllocationFile, jobs, {"jobs.mean_interarrival": 3.0})
        assert found == {"jobs": {"count": 9, "mean_interarrival": 3.0}}

    def test_that_make_the_machine_smaller_leave_out_what_does_not_fit(self, scenario):
        found = load_scenario(scenario, settings={"machine.disks": 2, "machine.processors": 8})
        assert [policy.label for policy in found.policies] == ["SP(1,1)", "SP(4,1)", "DP(1)"]
        assert found.changes[-1].startswith("SP(1,4), SP(4,4) left out")
        assert [policy.label for policy in found.validation.policies] == ["DP(1)"]
        assert found.surface_processors == (1,)
        with pytest.raises(ModelError, match="no policy fits"):
            load_scenario(
                scenario, settings={"machine.disks": 2, "policy": [{"kind": "DP", "disk_partitions": 4}]}
            )

    def test_of_policies_have_only_those_simulated_that_are_left(self, scenario):
        found = load_scenario(scenario, settings={"policy.1.disk_partitions": 2})
        assert [policy.label for policy in found.validation.policies] == ["SP(4,4)"]

    def test_reach_the_short_form_of_a_mesh(self, tmp_path):
        file = tmp_path / "mesh.toml"
        file.write_text(
            'mesh = [4, 4, 2]\n[machine]\nstrategies = ["Random"]\n[jobs]\nmean_interarrival = 5.0\n'
        )
        plan = load_plan(file, settings={"mesh.depth": 4})
        assert plan.machine.mesh.shape == (4, 4, 4)


def test_what_was_set_is_told_beside_what_the_file_holds():
    tables = {"machine": {"disks": 4}, "policy": [{"kind": "SP"}], "flag": True}
    settings = {"machine.disks": 8, "policy.0.kind": "DP", "seed": 1, "flag": False}
    assert told(tables, settings) == (
        "machine.disks = 8 (4 in the file)",
        "policy.0.kind = DP (SP in the file)",
        "seed = 1 (nothing in the file)",
        "flag = false (true in the file)",
    )
    assert value_at(tables, "policy.3.kind") is None


class TestCommands:
    @pytest.mark.thorough
    def test_say_what_was_set_with_the_answer(self, scenario):
        done = invoked(predict.register, "predict", scenario, "--set", "machine.disks=8")
        assert done.exit_code == 0
        assert done.stdout.splitlines()[0] == "set: machine.disks = 8 (4 in the file)"
        done = invoked(predict.register, "predict", scenario, "--set", "machine.disks=8", "--json")
        rows = result_of(done.stdout)
        assert {tuple(row["set"]) for row in rows} == {("machine.disks = 8 (4 in the file)",)}
        plain = invoked(predict.register, "predict", scenario, "--json")
        assert "set" not in result_of(plain.stdout)[0]

    def test_lay_them_over_the_programs_of_a_surface(self, scenario):
        words = ("--set", "program.0.io.seconds=32", "--json")
        found = result_of(invoked(surface.register, "surface", scenario, *words).stdout)
        plain = result_of(invoked(surface.register, "surface", scenario, "--json").stdout)
        assert found["set"] == ["program.0.io.seconds = 32 (16.0 in the file)"]
        assert found["seconds_on_one"] - plain["seconds_on_one"] == pytest.approx(16.0)

    def test_refuse_settings_of_what_is_no_scenario(self):
        done = invoked(surface.register, "surface", "QCRD-2", "--set", "machine.disks=8")
        assert isinstance(done.exception, ModelError)
        assert "no keys to set" in str(done.exception)
