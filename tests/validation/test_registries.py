"""A strategy and a queue discipline of the user's own: one class each, found wherever one looks."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from qmodels.errors import ModelError, ScenarioError
from tests.command import called, result_of
from tests.naive.allocation import choose as naive_choose
from tests.naive.machine import starts as naive_starts
from validation import QUEUE_DISCIPLINES, STRATEGIES
from validation.allocation import PlaneStrategy, check_strategy
from validation.allocation import register as register_strategy
from validation.commands.allocate import register as register_command
from validation.jobs import STREAMS, AbstractStreams, JobStream, PoissonStreams
from validation.jobs import register as register_streams
from validation.jobs.disciplines import AbstractDiscipline, disciplines_by_number, find_discipline
from validation.jobs.disciplines import register as register_discipline
from validation.jobs.stream import TableError
from validation.machine.scenario import load_plan

DOCS = Path(__file__).parents[2] / "docs"


# The whole of a new strategy, of a new discipline and of a new source of jobs. The discipline and
# the source are known ones under another name, so their answers are known.


class OwnDiagonal(PlaneStrategy):
    """The first free nodes in order of row + column."""

    name = "own-diagonal"

    def places(self, free, request):
        row, column = np.nonzero(free)
        order = np.argsort(row + column, kind="stable")[: request.size]
        return row[order] * free.shape[1] + column[order]


@dataclass(frozen=True)
class OwnOrder(AbstractDiscipline):
    """First come, first served, once more."""

    name = "own-order"

    def key(self, job):
        return 0.0


class OwnStreams(PoissonStreams):
    """Poisson arrivals, once more."""

    name = "own-streams"


@pytest.fixture
def own():
    register_strategy(OwnDiagonal)
    register_discipline(OwnOrder)
    register_streams(OwnStreams)
    yield
    del STRATEGIES["own-diagonal"], QUEUE_DISCIPLINES["own-order"], STREAMS["own-streams"]


SCENARIO = """
seed = 2
[mesh]
rows = 4
columns = 4
[machine]
strategies = ["{strategy}"]
discipline = "{discipline}"
network = "none"
[jobs]
source = "{source}"
count = 40
mean_interarrival = 0.8
[study]
replications = 2
"""
OWN = {"strategy": "own-diagonal", "discipline": "own-order", "source": "own-streams"}
KNOWN = {"strategy": "Random", "discipline": "FCFS", "source": "poisson"}


def command(path):
    app = typer.Typer()
    app.callback()(lambda: None)
    register_command(app)
    done = CliRunner().invoke(app, ["allocate", str(path), "--json", "-j", "1"])
    assert done.exit_code == 0, done.output
    return result_of(done.stdout)


def test_the_scenario_reader_finds_all_three(own, tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(SCENARIO.format(**OWN))
    plan = load_plan(path)
    assert isinstance(plan.strategies[0], OwnDiagonal)
    assert find_discipline("OWN-ORDER") == OwnOrder()
    assert type(plan.streams) is OwnStreams


def test_the_command_plays_them_and_says_what_it_says_of_their_likes(own, tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(SCENARIO.format(**OWN))
    said = command(path)
    assert list(said) == ["own-diagonal"]
    path.write_text(SCENARIO.format(**(OWN | {"discipline": "FCFS", "source": "poisson"})))
    assert command(path) == said


def test_the_help_of_the_command_names_it(own):
    app = typer.Typer()
    app.callback()(lambda: None)
    register_command(app)
    done = CliRunner().invoke(app, ["allocate", "--help"], env={"COLUMNS": "300"})
    assert done.exit_code == 0
    for name in disciplines_by_number():
        assert name in done.output
    assert "own-order; module:Class" in done.output


def test_a_discipline_can_be_named_by_its_module(tmp_path):
    path = tmp_path / "own.toml"
    named = f"{OwnOrder.__module__}:OwnOrder"
    path.write_text(SCENARIO.format(**(KNOWN | {"discipline": named})))
    assert load_plan(path).machine.discipline == OwnOrder()


def test_a_strategy_or_discipline_without_a_twin_is_not_taken_for_another():
    with pytest.raises(KeyError, match="own-diagonal"):
        naive_choose("own-diagonal", {(0, 0)}, 1, 1, 1)
    with pytest.raises(KeyError, match="own-order"):
        naive_starts([0], [1], [1], 1, "own-order")


@pytest.mark.thorough
def test_the_strategy_keeps_the_contract(own):
    assert check_strategy(STRATEGIES["own-diagonal"]).passed


def test_what_is_not_registered_is_refused_with_the_names_there_are(tmp_path):
    path = tmp_path / "own.toml"
    for name in KNOWN:
        path.write_text(SCENARIO.format(**(KNOWN | {name: OWN[name]})))
        with pytest.raises(ScenarioError, match=KNOWN[name]):
            load_plan(path)


def test_the_reference_lists_every_discipline_and_every_source_of_jobs():
    page = (DOCS / "reference" / "allocation-scenario.md").read_text(encoding="utf-8")
    for name in (*disciplines_by_number(), *STREAMS):
        assert f'"{name}"' in page


def test_the_reference_lists_every_strategy():
    page = (DOCS / "reference" / "strategies.md").read_text(encoding="utf-8")
    for name in STRATEGIES:
        assert f"`{name}`" in page, f"docs/reference/strategies.md has no row with `{name}`"


def test_two_classes_cannot_have_one_name():
    for register, base, name, registry in (
        (register_strategy, OwnDiagonal, "Random", STRATEGIES),
        (register_discipline, OwnOrder, "FCFS", QUEUE_DISCIPLINES),
        (register_streams, OwnStreams, "poisson", STREAMS),
    ):
        known = registry[name]
        impostor = type("Impostor", (base,), {"name": name})
        with pytest.raises(ModelError, match="already"):
            register(impostor)
        assert registry[name] is known


def test_a_source_reads_its_own_table(tmp_path):
    """One that is not like the Poisson stream: nothing but its class has to know its keys."""

    @dataclass(frozen=True)
    class Three(AbstractStreams):
        name = "three"
        keys = ("count", "mean_size")
        size: int

        def draw(self, *, rng):
            return JobStream(arrivals=[0, 1, 2], sizes=[self.size] * 3, demands=[1.0] * 3)

        @classmethod
        def from_table(cls, table, setting):
            if table.get("mean_size", 0) > setting.largest:
                raise TableError("mean_size", "more than the machine has")
            return cls(int(table.get("mean_size", 1))), None

    register_streams(Three)
    try:
        path = tmp_path / "own.toml"
        text = SCENARIO.format(**(KNOWN | {"source": "three"}))
        text = text.replace("mean_interarrival = 0.8", "mean_size = 4")
        path.write_text(text)
        plan = load_plan(path)
        assert (plan.streams, plan.utilisation) == (Three(4), None)
        for line, key in (("mean_size = 40", "jobs.mean_size"), ("utilisation = 0.5", "jobs.util")):
            path.write_text(text.replace("mean_size = 4", line))
            with pytest.raises(ScenarioError, match=key):
                load_plan(path)
    finally:
        del STREAMS["three"]


@pytest.mark.thorough
def test_a_class_in_the_current_folder_is_found_and_hides_no_module(tmp_path, monkeypatch):
    code = (DOCS / "examples/diagonal.py").read_text(encoding="utf-8")
    for name in ("nearby", "tabnanny"):  # the second is one of Python's own
        (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
    away = called("allocate", "--check", "nearby:Diagonal")
    assert away.returncode == 3
    assert "nearby" in away.stderr
    monkeypatch.chdir(tmp_path)
    assert called("allocate", "--check", "nearby:Diagonal").returncode == 0
    assert called("allocate", "--check", "tabnanny:Diagonal").returncode == 3
