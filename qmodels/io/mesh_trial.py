"""The trial in a scenario file: the machine's mesh, and which predictions are held against it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from phasefit.checks import suggestion
from qmodels.io._scenario_file import ScenarioFile, TrialTable
from qmodels.io.toml_tables import fail
from qmodels.policies import AbstractPolicy


@dataclass(frozen=True, eq=False)
class TrialPlan:
    """Which predictions are held against a mesh, and how long that is simulated."""

    rows: int
    columns: int
    strategy: str  #: which processors a job gets, by the name of a strategy
    policies: tuple[AbstractPolicy, ...]
    capacity_fraction: float  #: arrival rate, as a fraction of the capacity that was measured
    replications: int
    jobs: int  #: measured in each replication
    packets: int  #: of a node to each of its I/O nodes in a phase of a mean job


def trial_plan(source: Path, spec: ScenarioFile, policies: tuple[AbstractPolicy, ...]) -> TrialPlan | None:
    """The trial of a scenario; None where its machine has no mesh."""
    machine, table = spec.machine, spec.trial or TrialTable()
    if machine.mesh is None:
        if machine.strategy is not None or spec.trial is not None:
            key = "machine.strategy" if machine.strategy is not None else "trial"
            fail(source, key, "there is no mesh; add [machine] mesh = [rows, columns], or drop it")
        return None
    if machine.strategy is None:
        fail(source, "machine.mesh", 'say which nodes jobs get, such as strategy = "MC"')
    rows, columns = machine.mesh
    if rows * columns != machine.processors:
        fail(
            source,
            "machine.mesh",
            f"{rows} rows of {columns} are {rows * columns} nodes, and the machine has "
            f"{machine.processors} processors; give sides whose product that is",
        )
    by_label = {policy.label: policy for policy in policies}
    checked = spec.validation.policies if spec.validation else list(by_label)
    chosen = checked[:1] if table.policies is None else table.policies
    return TrialPlan(
        rows,
        columns,
        machine.strategy,
        labelled(source, "trial", chosen, by_label),
        table.capacity_fraction,
        table.replications,
        table.jobs,
        table.packets,
    )


def labelled(
    source: Path, table: str, labels: list[str], known: Mapping[str, AbstractPolicy]
) -> tuple[AbstractPolicy, ...]:
    """The policies of a study that a table names."""
    for i, label in enumerate(labels):
        if label not in known:
            hint = suggestion(label, known)
            fail(source, f"{table}.policies[{i}]", f"no policy {label!r} in this study; {hint}")
    return tuple(known[label] for label in dict.fromkeys(labels))
