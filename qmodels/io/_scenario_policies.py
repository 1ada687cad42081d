"""Policies of a scenario: what its tables stand for, on a machine that they must fit."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Final

from qmodels.errors import ScenarioError
from qmodels.io._scenario_laws import time_law
from qmodels.io.policy_tables import PolicyTable, TimeLawTable
from qmodels.io.toml_tables import at_key, fail
from qmodels.policies import AbstractPolicy, System, find_policy

#: Of a scenario, those that are there twice too: they are put together when it is read.
MOST_POLICIES: Final = 10_000


def policies_of(
    source: Path, tables: list[PolicyTable], system: System, only_fitting: bool
) -> tuple[tuple[AbstractPolicy, ...], tuple[str, ...]]:
    """The policies, and the labels of those that were left out."""
    found: dict[str, AbstractPolicy] = {}
    too_large: list[str] = []
    count = 0
    for i, table in enumerate(tables):
        key = f"policy[{i}]"
        lists = (getattr(table, name) for name in table.model_fields_set)
        count += math.prod(len(values) for values in lists if isinstance(values, list))
        if count > MOST_POLICIES:
            what = f"the tables up to this one stand for {count:,} policies"
            fail(source, key, f"{what}; a scenario may have {MOST_POLICIES:,}: name fewer values")
        for policy in at_key(source, key, _stands_for, source, key, table):
            try:
                at_key(source, key, policy.check, system)
            except ScenarioError:
                if only_fitting:
                    too_large.append(policy.label)
                    continue
                raise
            known = found.setdefault(policy.label, policy)
            if known != policy:
                fail(
                    source,
                    key,
                    f"another policy of this study is labelled {policy.label} too, and results "
                    f"are told apart by labels; drop one of them",
                )
    return tuple(found.values()), tuple(dict.fromkeys(too_large))


def _stands_for(source: Path, key: str, table: PolicyTable) -> list[AbstractPolicy]:
    """The policies of one table, its laws read."""
    values: dict[str, Any] = {}
    for name in table.model_fields_set - {"kind"}:
        value = getattr(table, name)
        if isinstance(value, list) and value and isinstance(value[0], TimeLawTable):
            where = [f"{key}.{name}" + (f"[{n}]" if value[1:] else "") for n in range(len(value))]
            laws = [time_law(source, at, law) for at, law in zip(where, value, strict=True)]
            value = tuple(laws) if laws[1:] else laws[0]
        values[name] = value
    return list(find_policy(table.kind).from_table(values))  # type: ignore[attr-defined]
