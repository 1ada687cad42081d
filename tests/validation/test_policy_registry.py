"""A policy is one file and a line in the registry; everything else finds it there."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
import typer
from typer.testing import CliRunner

from qmodels.commands import predict as predict_command
from qmodels.commands import recommend as recommend_command
from qmodels.errors import ModelError, ScenarioError
from qmodels.io import load_scenario
from qmodels.io.scenario_reference import MARKERS, MODEL_MARKERS, declared_keys, model_section, policy_section
from qmodels.policies import (
    POLICIES,
    AbstractPolicy,
    Arrangement,
    DynamicPartitioning,
    RunningJobs,
    SpaceSharing,
    TimeSharing,
    default_candidates,
    find_policy,
    predict,
    register,
)
from qmodels.policies.base import check_processor_partitions, groups_at_work
from tests.command import result_of
from tests.qmodels.policy_contract import CONTRACT, MACHINE, WORK
from validation import simulate
from validation.commands import simulate as simulate_command

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "scenario.md"


# The whole of a new policy. It is SP(k, 1) under another name, so its answers are known.


@dataclass(frozen=True)
class OneDisk(AbstractPolicy):
    """Equal processor partitions that all work on one disk partition.

    Parameters
    ----------
    parts : int
        How many processor partitions.
    """

    parts: int
    name: ClassVar[str] = "one-disk"

    @property
    def label(self):
        return f"one-disk({self.parts})"

    def check(self, system):
        check_processor_partitions(self.label, self.parts, system)

    def arrangement(self, system):
        return Arrangement(system, self.parts, 1, max_running=self.parts)

    def running(self, system, program):
        p, d = system.processors / self.parts, float(system.disks)
        rows = [groups_at_work([[1] * k], program, p, d) for k in range(1, self.parts + 1)]
        return RunningJobs.of(rows, exact=self.parts == 1)

    @classmethod
    def candidates(cls, system, *, multiprogramming=(2,)):
        return (cls(1), cls(2))


SCENARIO = """
[machine]
processors = 8
disks = 4
[[program]]
name = "one"
io = { seconds = 4.0 }
cpu = { seconds = 12.0 }
[[policy]]
kind = "one-disk"
parts = [1, 2, 4]
[[policy]]
kind = "SP"
processor_partitions = [1, 2, 4]
disk_partitions = 1
[study]
loads = [0.2]
"""


@pytest.fixture
def one_disk():
    register(OneDisk)
    yield OneDisk
    del POLICIES["one-disk"]


@pytest.fixture
def scenario(tmp_path, one_disk):
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO)
    return path


def command(module, *arguments):
    app = typer.Typer()
    app.callback()(lambda: None)
    module.register(app)
    done = CliRunner().invoke(app, [*map(str, arguments)])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
@pytest.mark.parametrize("name", POLICIES)
def test_every_registered_policy_keeps_the_contract(name, promise):
    promise(POLICIES[name])


@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
def test_a_policy_of_the_users_own_keeps_the_contract(one_disk, promise):
    promise(one_disk)


def test_a_policy_that_breaks_its_promise_is_caught(one_disk, monkeypatch):
    def too_many(self, system):
        return Arrangement(system, self.parts, 1, max_running=self.parts + 1)

    monkeypatch.setattr(OneDisk, "arrangement", too_many)
    caught = 0
    for promise in CONTRACT:
        try:
            promise(one_disk)
        except AssertionError:
            caught += 1
    assert caught >= 1


def test_the_scenario_reader_finds_it(scenario):
    plan = load_scenario(scenario)
    assert plan.policies[:3] == (OneDisk(1), OneDisk(2), OneDisk(4))
    scenario.write_text(SCENARIO.replace("parts =", "part ="))
    with pytest.raises(ScenarioError) as caught:
        load_scenario(scenario)
    assert dict(caught.value.problems)["policy[0].part"] == "unknown key; did you mean parts?"


def test_the_commands_find_it_and_say_what_is_known_of_it(scenario):
    lines = command(predict_command, "predict", scenario, "--json")
    rows = result_of(lines)
    for mine, known in zip(rows[:3], rows[3:], strict=True):
        assert mine["policy"].startswith("one-disk")
        assert mine["mean_response"] == known["mean_response"]
    said = result_of(command(recommend_command, "recommend", scenario, "--listed", "--json"))
    (listed,) = (each["candidates"] for each in said["recommendations"])
    found = {row["policy"]: row["mean_response"] for row in listed}
    for parts in (1, 2, 4):
        assert found[f"one-disk({parts})"] == found[f"SP({parts},1)"]
    lines = command(simulate_command, "simulate", scenario, "--json", "--jobs", 200, "--replications", 2)
    played = {row["policy"]: row["mean_response"] for row in result_of(lines)}
    for parts in (1, 2, 4):
        assert played[f"one-disk({parts})"] == played[f"SP({parts},1)"]


def test_it_is_recommended_where_it_proposes_itself(one_disk):
    assert OneDisk(2) in default_candidates(MACHINE)
    assert default_candidates(MACHINE)[0] == SpaceSharing(1, 1)
    # among equals the kinds that are known to be simple come first
    assert SpaceSharing(8, 8).simplicity < DynamicPartitioning(1).simplicity
    assert DynamicPartitioning(8).simplicity < TimeSharing(1, 1).simplicity
    assert TimeSharing(8, 8).simplicity < OneDisk(1).simplicity


def test_the_reference_page_lists_it(one_disk):
    section = policy_section()
    assert "Equal processor partitions that all work on one disk partition." in section
    assert "| `[[policy]] parts` | number >= 1 or list of them | required | How many" in section
    assert "[[policy]] parts" in declared_keys()


def test_a_class_can_be_named_by_its_module():
    here = f"{OneDisk.__module__}:OneDisk"
    assert find_policy(here) is OneDisk
    for odd in ("nowhere:At", "json:JSONDecoder", "os:path", "qmodels.policies:AbstractPolicy"):
        with pytest.raises(ModelError):
            find_policy(odd)


def test_two_classes_cannot_have_one_name():
    @dataclass(frozen=True)
    class Impostor(OneDisk):
        name: ClassVar[str] = "SP"

    with pytest.raises(ModelError, match="there is a policy 'SP' already"):
        register(Impostor)
    assert POLICIES["SP"] is SpaceSharing
    assert register(SpaceSharing) is SpaceSharing  # the same class again changes nothing


def test_what_is_no_complete_policy_is_refused():
    before = list(POLICIES)

    class Nameless(OneDisk):
        name = None

    class Unfinished(AbstractPolicy):
        name = "unfinished"

    for odd, said in (
        (Nameless, "lacks name"),
        (Unfinished, "lacks arrangement, check"),
        (int, "no subclass"),
        ("SP", "no subclass"),
    ):
        with pytest.raises(ModelError, match=said):
            register(odd)
    assert list(POLICIES) == before
    assert before[:3] == ["SP", "DP", "TS"]  # the simplest first, those of the paper before others


def test_an_arrangement_that_does_not_go_together_is_refused():
    for odd, said in (
        ({"multiprogramming": 2}, "idle-first"),
        ({"placement": "anywhere"}, "placement"),
        ({"sizes": (4, 2, 2)}, "3 sizes for 2"),
        ({"overheads": (WORK.demand,) * 2}, "repartitioned"),
        ({"repartitioned": True, "overheads": (WORK.demand,)}, "1 overheads for 1 to 2"),
        ({"max_running": 0}, "max_running"),
    ):
        with pytest.raises(ModelError, match=said):
            Arrangement(
                **(
                    {"system": MACHINE, "processor_partitions": 2, "disk_partitions": 1, "max_running": 2}
                    | odd
                )
            )


def test_a_simulation_of_it_agrees_with_its_prediction(one_disk):
    policy = OneDisk(1)
    found = simulate(policy, MACHINE, WORK, load=0.1, jobs=2000, seed=4)
    assert found.mean_response.contains(predict(policy, MACHINE, WORK, load=0.1).mean_response)


@pytest.mark.parametrize(("markers", "section"), [(MARKERS, policy_section), (MODEL_MARKERS, model_section)])
def test_the_page_has_the_sections_that_policies_and_models_make(markers, section):
    text = PAGE.read_text(encoding="utf-8")
    made = text.partition(markers[0])[2].partition(markers[1])[0]
    assert made.strip() == section().strip(), "run python docs/write_policies.py"


def test_every_key_stands_on_the_page_and_nothing_else():
    found = set()
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        row = re.match(r"\| `((\[\[?\w+\]\]?) )?([\w, `]+)` \|", line)
        if row is None or line.startswith(("| `seconds` or", "| `sequential`")):
            continue
        heading = row[2] or ""
        names = [name.strip(" `") for name in row[3].split(",")]
        if not heading and set(names) - {"title", "notes", "seed"}:
            continue  # a table of bursts, further down
        found |= {f"{heading} {name}".strip() for name in names}
    assert found == declared_keys()
