"""One candidate under a load, not yet compared with others: predicted, and held against limits."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nan
from typing import Final

from qmodels.errors import MemoryBudgetError, UnstableError
from qmodels.policies.base import AbstractPolicy
from qmodels.policies.choice.candidates import stated_error
from qmodels.policies.choice.objectives import Constraint, Quantity
from qmodels.policies.choice.ranking import EXCEEDS, SATURATED, SLOWER, UNKNOWN, RankedPolicy
from qmodels.policies.models.response import percentile_of
from qmodels.policies.prediction import Prediction, predict
from qmodels.policies.system import System, Workload

#: Bytes for the law of one candidate's response; more is needed only next to its capacity.
MEMORY: Final = 5e8


def predicted(
    policy: AbstractPolicy, system: System, workload: Workload, rate: float, model: str
) -> Prediction | RankedPolicy:
    """The prediction of a candidate, or its row where there is none."""
    try:
        return predict(policy, system, workload, arrival_rate=rate, model=model)
    except UnstableError as error:
        return saturated_row(policy, error.capacity)
    except MemoryBudgetError as error:
        return _unknown(policy, error)


def judged(
    policy: AbstractPolicy,
    system: System,
    workload: Workload,
    rate: float,
    objective: Quantity,
    limits: Sequence[Constraint],
    model: str,
    known: Prediction | None = None,
    *,
    memory: float = MEMORY,
) -> RankedPolicy:
    """What is predicted of one candidate, not yet compared with others.

    `known` is its prediction, if there is one; `memory` are bytes for the law of its response.
    """
    prediction = known or predicted(policy, system, workload, rate, model)
    if isinstance(prediction, RankedPolicy):
        return prediction
    asked = (objective, *(limit.quantity for limit in limits))
    try:
        quantities = {each.name: value_of(each, prediction, memory=memory) for each in asked}
    except MemoryBudgetError as error:
        return _unknown(policy, error)
    return row_of(policy, prediction, quantities, system, workload, objective, limits)


def error_of(
    policy: AbstractPolicy,
    prediction: Prediction,
    system: System,
    workload: Workload,
    objective: Quantity,
) -> float:
    """Stated relative error of a quantity of a prediction; infinite next to a doubtful capacity."""
    recorded = prediction.recorded_error(None if objective.of_wait else objective.share)
    return stated_error(
        policy, prediction.method, workload, system=system,
        utilisation=prediction.arrival_rate / prediction.capacity, recorded=recorded,
    )  # fmt: skip


def saturated_row(policy: AbstractPolicy, most: float) -> RankedPolicy:
    """The row of a candidate whose capacity is too small, jobs per second."""
    return RankedPolicy(
        policy=policy, status=SATURATED, value=nan, error=nan, quantities={}, capacity=most,
        method="",
    )  # fmt: skip


def left_out(
    policy: AbstractPolicy,
    prediction: Prediction,
    error: float,
    objective: Quantity,
    limits: Sequence[Constraint],
    least: float,
) -> RankedPolicy:
    """The row of a candidate that is known to be slower, without what would be costly to know."""
    asked = dict.fromkeys([objective, *(limit.quantity for limit in limits)])
    missing = " and ".join(each.name for each in asked if each.costly)
    return RankedPolicy(
        policy=policy,
        status=SLOWER,
        value=nan if objective.costly else least,
        error=error,
        quantities=({} if objective.costly else {objective.name: least}) | means_of(prediction),
        capacity=prediction.capacity,
        method=prediction.method,
        note=f"{missing} not computed: cannot be among the best",
        least=least,
    )


def _unknown(policy: AbstractPolicy, error: MemoryBudgetError) -> RankedPolicy:
    return RankedPolicy(
        policy=policy, status=UNKNOWN, value=nan, error=nan, quantities={}, capacity=nan,
        method="", note=str(error),
    )  # fmt: skip


def means_of(prediction: Prediction) -> dict[str, float]:
    """What every row has, by name."""
    names = ("mean_response", "mean_wait", "processor_utilisation", "disk_utilisation")
    return {name: float(getattr(prediction, name)) for name in names}


def row_of(
    policy: AbstractPolicy,
    prediction: Prediction,
    quantities: dict[str, float],
    system: System,
    workload: Workload,
    objective: Quantity,
    limits: Sequence[Constraint],
) -> RankedPolicy:
    """A prediction as a row, not yet compared with others."""
    share = prediction.arrival_rate / prediction.capacity
    accuracy = error_of(policy, prediction, system, workload, objective)
    broken = [_broken(c, quantities[c.quantity.name]) for c in limits]
    broken = [text for text in broken if text]
    close = [str(c) for c in limits if _within_error(c, quantities[c.quantity.name], accuracy)]
    quantities |= means_of(prediction)
    note = broken[0] if broken else f"{close[0]} is nearer than the error" if close else ""
    if accuracy == inf and not broken:
        doubt = policy.capacity_error(workload)
        note = f"at {share:.0%} of a capacity known within {doubt:.0%}; simulate"
    return RankedPolicy(
        policy=policy,
        status=EXCEEDS if broken else SLOWER,
        value=quantities[objective.name],
        error=accuracy,
        quantities=quantities,
        capacity=prediction.capacity,
        method=prediction.method,
        note=note,
    )


def value_of(quantity: Quantity, prediction: Prediction, *, memory: float = MEMORY) -> float:
    """The quantity of a prediction; MemoryBudgetError where its law would take more bytes."""
    if quantity.share is None:
        return float(getattr(prediction, quantity.name))
    if quantity.of_wait:
        return float(prediction.wait.percentile(quantity.share))
    return float(percentile_of(prediction.solved, quantity.share, memory=memory))


def _broken(limit: Constraint, value: float) -> str:
    """What is said of a limit that is not kept; "" where it is."""
    if limit.holds(value):
        return ""
    relation = "<" if limit.strict else "<="
    bound = limit.quantity.shown(limit.limit)
    return f"{limit.quantity.name} is {value:.4g}, not {relation} {bound}"


def _within_error(limit: Constraint, value: float, error: float) -> bool:
    return abs(limit.limit - value) <= error * value
