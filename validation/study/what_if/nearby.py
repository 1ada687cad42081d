"""What small changes of today's machine and jobs do, by the slopes of its best policy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from qmodels.errors import ModelError
from qmodels.io.scenario import Scenario
from qmodels.policies import predict
from validation.study.what_if.cells import Cell


def nearby(plan: Scenario, cells: Iterable[Cell]) -> Iterator[str]:
    """Yield what small changes do to the mean response, a sentence for each cell with a best policy.

    Parameters
    ----------
    plan : Scenario
        Today's machine and jobs.
    cells : iterable of Cell
        Of today's machine.
    """
    for cell in cells:
        if cell.best is None:
            continue
        answer = predict(cell.best.policy, plan.system, plan.workload, load=cell.load, model=plan.model)
        try:
            changes = "; ".join(answer.sensitivities.lines)
        except ModelError:  # a chain too large to be differentiated
            continue
        yield f"Next to today's machine, under {cell.best.label} at load {cell.load:.3g}: {changes}."
