"""The parts of the scenario's reference page that follow from the code: policies and models."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any, Final, get_args

from qmodels.io._scenario_file import ScenarioFile
from qmodels.io.policy_tables import keys, required, written
from qmodels.io.toml_tables import ChosenTable, Table
from qmodels.policies import MODELS, POLICIES, AbstractPolicy

#: Where the sections on policies and on models begin and end on the page.
MARKERS: Final = ("<!-- policies: made by docs/write_policies.py -->", "<!-- end of policies -->")
MODEL_MARKERS: Final = ("<!-- models: made by docs/write_policies.py -->", "<!-- end of models -->")


def policy_section() -> str:
    """Markdown that lists every registered policy with the keys of its table.

    Names, types and defaults are those of the policy's fields, meanings those of its docstring.

    Examples
    --------
    >>> print(policy_section().splitlines()[2][:39])
    | `[[policy]] kind` | "SP", "DP", "TS"
    """
    names = ", ".join(f'"{name}"' for name in POLICIES)
    lines = [
        "| table, key | type, range | default | meaning |",
        "|---|---|---|---|",
        f"| `[[policy]] kind` | {names} | required | which policy; "
        f'"module:Class" names a class of your own |',
    ]
    for name, policy in POLICIES.items():
        summary = (inspect.getdoc(policy) or "").partition("\n")[0]
        lines += ["", f'`kind = "{name}"`: {summary}', ""]
        lines += ["| table, key | type, range | default | meaning |", "|---|---|---|---|"]
        lines += _rows(policy)
    return "\n".join(lines) + "\n"


def model_section() -> str:
    """Markdown that lists every registered model, by the first sentence of its docstring.

    Examples
    --------
    >>> print(model_section().splitlines()[2][:50])
    | `"in-order"` | on its partition, computing in a
    """
    lines = ["| `[study] model` | a running job is |", "|---|---|"]
    lines += [f'| `"{name}"` | {running_job(name)} |' for name in MODELS]
    return "\n".join(lines) + "\n"


def running_job(model: str) -> str:
    """What a running job is in a registered model, by the first sentence of its docstring.

    Examples
    --------
    >>> running_job("exact")
    'in a stage of a burst, on disks that are shared by processor sharing, job by job'
    """
    summary = (inspect.getdoc(MODELS[model]) or "").partition("\n")[0].removesuffix(".")
    return f"{summary[:1].lower()}{summary[1:]}"


def _rows(policy: type[AbstractPolicy]) -> Iterator[str]:
    meanings = _documented(policy)
    for field in keys(policy):
        _, words = written(policy, field)
        default = "required" if required(field) else _shown(field.default)
        meaning = meanings.get(field.name, "")
        yield f"| `[[policy]] {field.name}` | {words} | {default} | {meaning} |"


def _shown(default: Any) -> str:
    if default is None:
        return "none"
    return f'"{default}"' if isinstance(default, str) else str(default)


def _documented(policy: type[AbstractPolicy]) -> dict[str, str]:
    """What the numpydoc section Parameters of a class says of each of them."""
    text = inspect.getdoc(policy) or ""
    _, _, section = text.partition("Parameters\n----------\n")
    section = re.split(r"\n\n[A-Z][a-z ]+\n---+\n", section)[0]
    found: dict[str, str] = {}
    for entry in re.split(r"\n(?=\S)", section):
        head, _, body = entry.partition("\n")
        meaning = " ".join(body.split())
        found |= dict.fromkeys((name.strip() for name in head.partition(" : ")[0].split(",")), meaning)
    return found


def declared_keys() -> set[str]:
    """Every key that a scenario may hold, such as ``[machine] disks``, those of policies too.

    Tables inside tables count as a key of the table that holds them.
    """
    found = {f"[[policy]] {name}" for name in ("kind",)}
    for policy in POLICIES.values():
        found |= {f"[[policy]] {field.name}" for field in keys(policy)}
    for name, field in ScenarioFile.model_fields.items():
        if any(isinstance(mark, ChosenTable) for mark in field.metadata):
            continue
        table, several = _table_in(field.annotation, False)
        if table is None:
            found.add(name)
            continue
        heading = f"[[{name}]]" if several else f"[{name}]"
        found |= {f"{heading} {key}" for key in table.model_fields}
    return found


def _table_in(annotation: Any, several: bool) -> tuple[type[Table] | None, bool]:
    """The table that an annotation speaks of, and whether it is a list of them."""
    if isinstance(annotation, type) and issubclass(annotation, Table):
        return annotation, several
    for inner in get_args(annotation):
        table, many = _table_in(inner, several or getattr(annotation, "__origin__", None) is list)
        if table is not None:
            return table, many
    return None, several
