"""A point of a sweep over a scenario of policies: one prediction, or one replication."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from phasefit.checks import spelled, suggestion
from qmodels.errors import MemoryBudgetError, ModelError, UnstableError
from qmodels.io.scenario import Scenario, make_scenario, with_settings
from qmodels.policies import AbstractPolicy, Workload, parse_policy, predict
from qmodels.policies.choice.candidates import default_candidates
from validation.sharing.simulator import simulate
from validation.sweeps.plain import from_text
from validation.sweeps.points import Point, settings_text

#: Settings that are no keys of the scenario's tables.
APART: Final = ("load", "policy", "model")
_LEVELS: Final = tuple(range(2, 9))


def predict_one(point: Point, replication: int) -> Mapping[str, Any]:
    """What `qmodels.predict` says of a point; a saturated policy has its capacity only."""
    found: dict[str, Any]
    try:
        plan, policy, workload = _chosen(point)
        load = _load(point, plan)
        found = predict(policy, plan.system, workload, load=load, model=plan.model).record()
        found = {name: found[name] for name in _SHOWN if name in found}
        return {"status": "stable"} | found
    except UnstableError as error:
        return {"status": "saturated", "capacity": error.capacity}
    except (ModelError, MemoryBudgetError) as error:
        return {"status": "refused", "note": str(error)}


#: Quantities of a prediction, those of them that it has.
_SHOWN: Final = (
    "arrival_rate",
    "capacity",
    "mean_response",
    "mean_wait",
    "mean_jobs",
    "throughput",
    "processor_utilisation",
    "disk_utilisation",
    "method",
    "error_bound",
)


def run_one(point: Point, replication: int) -> Mapping[str, Any]:
    """One replication of `validation.simulate`, started empty.

    Replication r of every point draws from the same streams, so that points differ by what was
    set and not by their jobs.
    """
    try:
        plan, policy, workload = _chosen(point)
        run = simulate(
            policy,
            plan.system,
            workload,
            load=_load(point, plan),
            replications=1,
            seed=point.seed,
            point=replication,
            workers=1,
        )
    except UnstableError as error:
        return {"status": "saturated", "capacity": error.capacity}
    except (ModelError, MemoryBudgetError) as error:
        return {"status": "refused", "note": str(error)}
    kept = ("mean_response", "mean_wait", "mean_jobs", "processor_utilisation", "disk_utilisation")
    found: dict[str, Any] = {name: getattr(run, name).mean for name in kept}
    return found | {f"p{100 * q:g}": known.mean for q, known in run.percentiles.items()}


def scenario_of(point: Point) -> Scenario:
    """The scenario of a point, its settings in place; policies that do not fit are left out.

    Raises
    ------
    ScenarioError
        If they make none.
    """
    plan = _loaded(*_place(point))
    return plan if point["model"] is None else plan.with_model(point["model"])


def _place(point: Point) -> tuple[str, object, str, str]:
    """What the scenario of a point hangs on, and its neighbours share."""
    return point.tables, point.inputs, point.file, settings_text(point, APART)


@lru_cache(maxsize=32)  # neighbours in a sweep share theirs; a log of 10^5 jobs takes some 10 MB
def _loaded(tables: str, inputs: object, file: str, settings: str) -> Scenario:
    given = with_settings(from_text(tables), dict(from_text(settings)))
    for name in ("validation", "surface"):
        given.pop(name, None)
    return make_scenario(Path(file), given, only_fitting=True)


@lru_cache(maxsize=32)  # of what the scenarios above hold; models are kept by it, so it is one
def _workload(tables: str, inputs: object, file: str, settings: str) -> Workload:
    return _loaded(tables, inputs, file, settings).workload


def _chosen(point: Point) -> tuple[Scenario, AbstractPolicy, Workload]:
    plan = scenario_of(point)
    return plan, policy_of(plan, str(point["policy"])), _workload(*_place(point))


def policy_of(plan: Scenario, label: str) -> AbstractPolicy:
    """The policy of a label: one of the scenario's, or one that its machine could have.

    Raises
    ------
    ModelError
        If there is none; names the one that was probably meant.
    """
    known = {policy.label: policy for policy in plan.policies}
    found = spelled(label, known)
    if found is None:
        for policy in default_candidates(plan.system, multiprogramming=_LEVELS):
            known.setdefault(policy.label, policy)
        found = spelled(label, known)
    if found is None:
        raise ModelError(f"no policy {label} on this machine; {suggestion(label, known)}")
    return known[found]


def labels_of(plan: Scenario, given: Iterable[object]) -> list[str]:
    """The labels of policies as results print them, each once; one that names none as it was given."""
    known = [policy.label for policy in plan.policies]
    return list(dict.fromkeys(spelled(label, known) or _printed(str(label)) for label in given))


def _printed(label: str) -> str:
    try:
        return parse_policy(label).label
    except ModelError:  # said where it is asked for
        return label


def _load(point: Point, plan: Scenario) -> float:
    load = point["load"]
    return float(plan.loads[0] if load is None else load)
