"""A point of a sweep over a comparison of strategies: one run of a machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from qmodels.errors import ModelError
from qmodels.io.settings import laid_over
from qmodels.io.toml_tables import checked_tables
from validation.allocation.base import find_strategy
from validation.machine.history import QUANTITIES
from validation.machine.loads import interarrival_for
from validation.machine.runs import one_run
from validation.machine.scenario import AllocationFile, AllocationPlan, make_plan
from validation.sweeps.plain import from_text
from validation.sweeps.points import Point, settings_text

#: Settings that are no keys of the file's tables.
APART: Final = ("strategy",)


def run_one(point: Point, replication: int) -> Mapping[str, Any]:
    """Means of one run; replication r has the same jobs and messages under every strategy."""
    try:
        plan = plan_of(point)
        strategy = point["strategy"]
        machine = plan.machine
        if strategy is not None:
            machine = replace(machine, strategy=find_strategy(strategy))
        history = one_run(
            machine,
            plan.streams,
            seed=point.seed,
            replication=replication,
            completions=plan.completions,
        )
    except ModelError as error:
        return {"status": "refused", "note": str(error)}
    return {name: history.summary[name] for name in QUANTITIES}


def plan_of(point: Point) -> AllocationPlan:
    """The comparison of a point, its settings in place.

    Raises
    ------
    ScenarioError
        If they make none.
    """
    return _planned(point.tables, point.inputs, point.file, settings_text(point, APART), point.seed)


@lru_cache(maxsize=32)  # neighbours in a sweep share theirs
def _planned(tables: str, inputs: object, file: str, settings: str, seed: int) -> AllocationPlan:
    source = Path(file)
    given = laid_over(AllocationFile, from_text(tables), dict(from_text(settings)))
    plan = make_plan(source, checked_tables(source, AllocationFile, given))
    if plan.utilisation is None:
        return plan
    mean = interarrival_for(plan.machine, plan.streams, plan.utilisation, seed=seed, workers=1)
    return replace(plan, streams=plan.streams.spaced(mean))
