"""Rules of the whole project: private names stay at home, every command says what it is for."""

import ast
import importlib
import inspect
from collections.abc import Iterator
from importlib.metadata import entry_points
from itertools import pairwise
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from tests.test_commands import CALLS, NOT_HERE

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("phasefit", "qmodels", "validation")
COMMANDS = (*CALLS, *NOT_HERE)


def room(module: str) -> str:
    """The package and its sub-package: `qmodels.io` of `qmodels.io.runs`."""
    return ".".join(module.split(".")[:2])


def imported(code: str) -> Iterator[str]:
    """Full names of what a module imports: `a.b.c` for ``from a.b import c``."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{name.name}" for name in node.names)


def borrowed(module: str, code: str) -> list[str]:
    """Private names of another room of this project that a module imports."""
    return [
        name
        for name in imported(code)
        if name.split(".")[0] in PACKAGES
        and any(part.startswith("_") and not part.startswith("__") for part in name.split("."))
        and room(name) != room(module)
        # A module of the package itself may take from its own folder, as phasefit's kernels.
        and name.rpartition("._")[0] != module.rpartition(".")[0]
    ]


@pytest.mark.thorough
@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_imports_a_private_name_of_another_room(package):
    found = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        if names := borrowed(module, path.read_text(encoding="utf-8")):
            found[module] = names
    assert found == {}


@pytest.mark.thorough
def test_pandas_is_imported_where_a_frame_is_made():
    """It takes longer to import than most answers take; only readers of logs and reports begin with it."""
    for path in (path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        code = path.read_text(encoding="utf-8")
        if "import pandas" not in code or path.parent.name == "io" or path.name == "report.py":
            continue
        body = ast.parse(code).body
        for_types = [
            node for node in body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        ]
        at_once = [node for node in body if isinstance(node, ast.Import | ast.If) and node not in for_types]
        assert "import pandas" not in "\n".join(map(ast.unparse, at_once)), path


@pytest.mark.parametrize(
    ("module", "code", "names"),
    [
        ("qmodels.io.runs", "from qmodels.io._swf_log import file_name", []),
        (
            "qmodels.pages.surface",
            "from qmodels.io._swf_log import file_name",
            ["qmodels.io._swf_log.file_name"],
        ),
        ("validation.study.run", "from qmodels.policies import _queue", ["qmodels.policies._queue"]),
        ("validation.study.run", "import qmodels.io._swf_log", ["qmodels.io._swf_log"]),
        ("phasefit.sampling", "from phasefit import _kernels", []),
        ("qmodels.io.runs", "from phasefit import _kernels", ["phasefit._kernels"]),
        ("qmodels.io.runs", "from __future__ import annotations", []),
    ],
)
def test_a_private_name_is_noticed_only_across_rooms(module, code, names):
    assert borrowed(module, code) == names


@pytest.fixture(scope="module")
def app():
    app = typer.Typer(rich_markup_mode=None)  # as qmodels.cli, whose own app other tests fill
    for plugin in entry_points(group="qmodels.commands"):
        plugin.load()(app)
    return app


@pytest.fixture(scope="module")
def commands(app):
    return typer.main.get_command(app).commands


@pytest.mark.thorough
@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_begins_with_what_it_does(app, commands, name):
    purpose, _, _ = (commands[name].help or "").partition("\n\n")
    purpose = " ".join(purpose.split())
    shown = " ".join(CliRunner().invoke(app, [name, "--help"]).output.split())
    assert purpose in shown
    assert len(purpose.split()) >= 4
    assert purpose[0].isupper()
    assert purpose.endswith(".")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_a_command_is_explained(commands, name):
    for parameter in commands[name].params:
        assert getattr(parameter, "help", None), f"{name}: {parameter.name}"


@pytest.mark.thorough
def test_no_text_names_an_extra_by_a_package_that_is_not_published():
    texts = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    texts += [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    assert [str(p) for p in texts if "qmodels-hpc[" in p.read_text(encoding="utf-8")] == []


def test_what_can_be_imported_from_the_packages_shows_how_it_is_used():
    """Results of longer runs are shown by what makes them, or by a page."""
    shown_elsewhere = {"Study", "WhatIf", "run_study"}
    without = []
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in module.__all__:
            thing = getattr(module, name)
            if not (inspect.isclass(thing) or inspect.isfunction(thing)):
                continue
            error = inspect.isclass(thing) and issubclass(thing, (Exception, Warning))
            if not error and ">>>" not in (inspect.getdoc(thing) or ""):
                without.append(name)
    assert set(without) <= shown_elsewhere


#: What embodies no published method: what is measured, held or handed on, and what is our own.
WITHOUT_A_SOURCE = {
    "AbsorptionSolution",
    "AbstractModel",
    "AbstractPolicy",
    "Agreement",
    "Arrangement",
    "BestInterval",
    "BlockTridiagonalSolution",
    "ChainSolution",
    "CheckpointPrediction",
    "ClosedSolution",
    "Comparison",
    "CustomerClass",
    "Estimate",
    "Extreme",
    "FitError",
    "FitReport",
    "FittedTo",
    "FlowEquivalent",
    "JobClass",
    "Machine",
    "MapFit",
    "MultiClassSolution",
    "NetworkBounds",
    "NetworkSolution",
    "Observations",
    "Occupancy",
    "Pod",
    "PolicyMap",
    "Prediction",
    "QBDSolution",
    "Recommendation",
    "RenewalJobs",
    "ReplayedJobs",
    "RunningJobs",
    "Simulation",
    "SliceMix",
    "Station",
    "Study",
    "Throughputs",
    "TimeLaw",
    "TransientSolution",
    "WasteBound",
    "WhatIf",
    "crossvalidate",
    "estimate_bytes",
    "export_prediction",
    "fcfs_node_pace",
    "find_policy",
    "goodput_behind",
    "jobs_that_fit",
    "parse_policy",
    "register",
    "residual",
    "run_study",
    "scale",
    "simulate_checkpoints",
    "simulate_slices",
    "single_class",
    "slice_availability",
    "what_if",
    "work_bound",
}
FACES = (*PACKAGES, "qmodels.markov", "qmodels.networks", "qmodels.checkpoints", "qmodels.policies")


def public_things() -> Iterator[tuple[str, object]]:
    """Classes and functions that can be imported from the packages, errors apart."""
    for face in FACES:
        module = importlib.import_module(face)
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isclass(thing) and issubclass(thing, (Exception, Warning)):
                continue
            if inspect.isclass(thing) or inspect.isroutine(thing):
                yield name, thing


def has(thing: object, section: str) -> bool:
    lines = (inspect.getdoc(thing) or "").splitlines()
    return any(a == section and b and not b.strip("-") for a, b in pairwise(lines))


def test_what_embodies_a_published_method_names_its_source():
    things = dict(public_things())
    without = {name for name, thing in things.items() if not has(thing, "References")}
    assert without - WITHOUT_A_SOURCE == set()
    assert WITHOUT_A_SOURCE - without == set()  # so that the list cannot hide what has one
    assert len(things) - len(without) >= 68


@pytest.mark.parametrize("section", ["Parameters", "Returns", "Examples"])
def test_a_public_function_says_what_it_takes_gives_and_how_it_is_used(section):
    shown_elsewhere = {"register"} | ({"run_study"} if section == "Examples" else set())
    functions = {name: one for name, one in public_things() if inspect.isroutine(one)}
    assert {name for name, one in functions.items() if not has(one, section)} <= shown_elsewhere


@pytest.mark.thorough
def test_random_state_is_the_name_of_scipys_protocol_alone():
    """Laws have it in `rvs`, as those of scipy.stats; all else takes `rng`."""
    found = set()
    for path in (path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        code = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(code if "random_state" in code else "")):
            if isinstance(node, ast.FunctionDef):
                names = [one.arg for one in (*node.args.args, *node.args.kwonlyargs)]
                found |= {node.name} if "random_state" in names else set()
    assert found == {"rvs"}
