"""What holds for every dataclass of the three packages, told from the classes themselves."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
import re

import pytest

PACKAGES = ("phasefit", "qmodels", "validation")
#: Types whose ``==`` is not one truth value.
NO_VALUE = {"Array", "NDArray", "Ints", "Indices", "Series", "DataFrame"}
#: Modules whose private records are filled in step by step.
IN_PROGRESS = ("phasefit.em.erlang", "qmodels.commands.answers", "validation.mesh.job_flows")


def records():
    """Every dataclass defined in the packages."""
    found = {}
    for package in PACKAGES:
        top = importlib.import_module(package)
        for module in pkgutil.walk_packages(top.__path__, f"{package}."):
            if module.name.endswith("_darshan_child"):  # for a process of its own
                continue
            for value in vars(importlib.import_module(module.name)).values():
                if isinstance(value, type) and dataclasses.is_dataclass(value):
                    found[f"{value.__module__}.{value.__qualname__}"] = value
    return found


RECORDS = {name: cls for name, cls in records().items() if name.startswith(PACKAGES)}


def changing(name):
    """Whether a record is private, of a module where such are filled in step by step."""
    module, _, kind = name.rpartition(".")
    return module in IN_PROGRESS and kind.startswith("_")


def test_there_are_records_to_look_at():
    assert len(RECORDS) > 150
    assert {"phasefit.phase_type.PhaseType", "qmodels.policies.system.System"} <= set(RECORDS)


@pytest.mark.parametrize("name", [name for name in RECORDS if not changing(name)])
def test_a_record_cannot_be_changed_once_it_exists(name):
    assert RECORDS[name].__dataclass_params__.frozen


@pytest.mark.parametrize("name", [name for name in RECORDS if not changing(name)])
def test_a_record_that_holds_arrays_is_compared_by_identity(name):
    """Comparing arrays gives arrays: ``==`` would raise, and a hash as well."""
    cls = RECORDS[name]
    words = {word for f in dataclasses.fields(cls) if f.compare for word in re.findall(r"\w+", str(f.type))}
    if words & NO_VALUE:
        assert not cls.__dataclass_params__.eq
