"""Docstrings of the public names: a verb first, every parameter, what comes back and what is refused.

A room leaves `UNFINISHED` once its docstrings are in order and never comes back; a new room is
in order from its first day.
"""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from numpydoc.validate import validate

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("phasefit", "qmodels", "validation")
#: Rooms whose docstrings nobody has gone through yet. This list only gets shorter.
UNFINISHED = (
    "qmodels.commands",
    "qmodels.io",
    "qmodels.policies",
    "validation.allocation",
    "validation.analysis",
    "validation.checkpoints",
    "validation.cluster",
    "validation.commands",
    "validation.machine",
    "validation.papers",
    "validation.sharing",
    "validation.slices",
    "validation.study",
    "validation.trial",
)
#: Of numpydoc: no docstring or summary, parameters that are missing, unknown, without a type or a
#: description, in another order; no section Returns, or one without a description.
CODES = {
    *("GL08", "SS01", "SS02", "SS03", "SS06"),
    *("PR01", "PR02", "PR03", "PR04", "PR07", "RT01", "RT03"),
}
#: A docstring says what a thing is or does; it does not answer a question.
QUESTIONS = ("What", "How", "Whether", "Where", "Which", "When", "Who", "Why")
#: First words of public functions. Another verb is welcome here, a noun is not.
VERBS = frozenset(
    re.findall(
        r"\w+",
        """
    Add Answer Append Apply Begin Bring Build Call Cancel Carry Check Choose Climb Close Commit
    Compare Count Cut Do Draw Drop Eliminate End Enter Enumerate Estimate Export Factor Fill Find Fit
    Follow Give Have Hold Improve Iterate Join Keep Let List Lock Make Mark Move Open Order Place Plan
    Print Put Raise Read Record Refuse Register Release Remove Repeat Replace Report Return Run Save
    See Send Set Show Simulate Solve Sort Split Start Step Stop Sum Take Tell Time Use Wait Walk Warn
    Weigh Work Write Yield
        """,
    )
)


class Definition(NamedTuple):
    """A function, a method or a class of a module, with its place in the code."""

    name: str  #: within the module, such as ``PhaseType.cdf``
    node: ast.FunctionDef | ast.ClassDef
    owner: ast.ClassDef | None

    @property
    def public(self) -> bool:
        return not any(part.startswith("_") for part in self.name.split("."))

    @property
    def docstring(self) -> str:
        return ast.get_docstring(self.node) or ""

    @property
    def first_word(self) -> str:
        return self.docstring.partition("\n")[0].partition(" ")[0].rstrip(".,:;")

    @property
    def is_function(self) -> bool:
        decorators = [ast.unparse(each) for each in self.node.decorator_list]
        return isinstance(self.node, ast.FunctionDef) and not any(
            name.endswith(("property", ".setter")) for name in decorators
        )


def definitions(code: str) -> Iterator[Definition]:
    """Functions, classes and methods of a module; protocols only name what others have."""
    for node in ast.parse(code).body:
        if isinstance(node, ast.FunctionDef):
            yield Definition(node.name, node, None)
        elif isinstance(node, ast.ClassDef):
            yield Definition(node.name, node, None)
            if not is_protocol(node):
                for inner in node.body:
                    if isinstance(inner, ast.FunctionDef):
                        yield Definition(f"{node.name}.{inner.name}", inner, node)


def is_protocol(node: ast.ClassDef) -> bool:
    return any(ast.unparse(base).startswith("Protocol") for base in node.bases)


def raises_itself(node: ast.FunctionDef) -> bool:
    """True if the body raises a new error, functions inside it left out."""
    left: list[ast.AST] = list(node.body)
    while left:
        each = left.pop()
        if isinstance(each, ast.Raise) and each.exc is not None:
            return True
        if not isinstance(each, (ast.FunctionDef, ast.ClassDef, ast.Lambda)):
            left.extend(ast.iter_child_nodes(each))
    return False


def undocumented_fields(node: ast.ClassDef, code: str) -> set[str]:
    """Fields of a dataclass without a ``#:`` beside or above them and without an entry."""
    lines = code.split("\n")
    entries = {
        name.strip(" *")
        for line in (ast.get_docstring(node) or "").split("\n")
        if " : " in line and not line.startswith(" ")
        for name in line.split(" : ")[0].split(",")
    }
    return {
        each.target.id
        for each in node.body
        if isinstance(each, ast.AnnAssign)
        and isinstance(each.target, ast.Name)
        and each.target.id not in entries
        and not each.target.id.startswith("_")
        and "ClassVar" not in ast.unparse(each.annotation)
        and not (each.value is not None and "init=False" in ast.unparse(each.value))
        and "#:" not in lines[each.lineno - 2].strip()[:2] + lines[each.end_lineno - 1]
    }


def overrides(module: str, definition: Definition) -> bool:
    """True if a base class has a method of this name, whose contract it keeps."""
    if definition.owner is None:
        return False
    owner = getattr(importlib.import_module(module), definition.owner.name)
    return any(definition.node.name in vars(base) for base in owner.__mro__[1:])


def faults(module: str, code: str) -> list[str]:
    """Everything that is wrong with the docstrings of a module, a line each."""
    wrong = []
    if (opening := (ast.get_docstring(ast.parse(code)) or "").partition(" ")[0]) in QUESTIONS:
        wrong.append(f"the module begins with {opening}")
    for each in definitions(code):
        if each.first_word in QUESTIONS:
            wrong.append(f"{each.name}: begins with {each.first_word}")
        if not each.public or any(part.startswith("_") for part in module.split(".")):
            continue
        inherits = overrides(module, each)
        if isinstance(each.node, ast.ClassDef):
            if fields := undocumented_fields(each.node, code):
                wrong.append(f"{each.name}: fields {', '.join(sorted(fields))} say nothing")
        elif each.is_function:
            if each.first_word not in VERBS:
                wrong.append(f"{each.name}: {each.first_word!r} is no verb of the list")
            if raises_itself(each.node) and "Raises\n---" not in each.docstring and not inherits:
                wrong.append(f"{each.name}: raises, and has no section Raises")
        for code_of_rule, message in validate(f"{module}.{each.name}")["errors"]:
            if code_of_rule not in CODES or (inherits and code_of_rule[:2] in ("PR", "RT")):
                continue
            if code_of_rule == "PR01" and isinstance(each.node, ast.ClassDef) and not made_by_init(each.node):
                continue  # fields of a dataclass: above
            if code_of_rule.startswith("RT") and not each.is_function:
                continue
            if code_of_rule == "RT01" and each.first_word == "Return":
                continue  # its first line says what comes back
            wrong.append(f"{each.name}: {message}")
    return wrong


def made_by_init(node: ast.ClassDef) -> bool:
    return any(isinstance(each, ast.FunctionDef) and each.name == "__init__" for each in node.body)


def modules() -> Iterator[str]:
    """Modules of the finished rooms."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            module = ".".join(part for part in parts if part != "__init__")
            if not any(part.startswith("_kernels") or part == "__main__" for part in parts) and not any(
                module == room or module.startswith(f"{room}.") for room in UNFINISHED
            ):
                yield module


def code_of(module: str) -> str:
    path = ROOT / module.replace(".", "/")
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return file.read_text(encoding="utf-8")


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("module", list(modules()))
def test_docstrings_of_a_finished_room_are_in_order(module):
    assert faults(module, code_of(module)) == []


def test_sources_cited_by_names_and_year_alone_are_told_in_full_once():
    listed = dict(re.findall(r"^(\w.* \d{4})\n((?:    .*\n)+)", code_of("qmodels"), re.M))
    full = {name: " ".join(text.split()).removesuffix(".") for name, text in listed.items()}
    assert len(full) > 20
    cited = set()
    for path in (ROOT / "qmodels").rglob("*.py"):
        code = path.read_text(encoding="utf-8")
        said = re.findall(r"^( *)\.\. \[\d\] (.*(?:\n\1   \S.*)*)", code, re.M)
        for source in (" ".join(text.split()) for _, text in said):
            assert not [name for name in full if source.startswith(full[name])], path
            if not re.search(r'["*]|arXiv', source):
                cited.add(re.match(r"\D* \d{4}", source)[0])
    assert cited == set(full)


@pytest.mark.parametrize("room", UNFINISHED)
def test_a_room_that_is_not_finished_exists(room):
    path = ROOT / room.replace(".", "/")
    assert path.is_dir() or path.with_suffix(".py").is_file()


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        ('"""What there is."""', "the module begins with What"),
        ('def f():\n    """Whether it is so."""', "f: begins with Whether"),
        ('def _f():\n    """What it is."""', "_f: begins with What"),
        (
            'def real_number(x):\n    """Number."""\n    raise ValueError(x)',
            "real_number: raises, and has no section Raises",
        ),
        ('def real_number(x):\n    """A number."""', "real_number: 'A' is no verb of the list"),
        (
            'class ModelError:\n    """Error."""\n    left: int\n    right: int  #: said',
            "ModelError: fields left say nothing",
        ),
    ],
)
def test_what_is_wrong_is_found(code, fault, monkeypatch):
    monkeypatch.setitem(globals(), "validate", lambda name: {"errors": []})
    assert fault in faults("phasefit.checks", code)


def test_a_parameter_without_an_entry_is_found(monkeypatch):
    from phasefit import checks

    monkeypatch.setattr(checks.real_number, "__doc__", "Return a number.")
    assert "real_number: Parameters {" in "\n".join(faults("phasefit.checks", code_of("phasefit.checks")))
