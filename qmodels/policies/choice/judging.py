"""One candidate under a load, not yet compared with others: predicted, and held against limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product
from math import inf, nan
from typing import Final

from phasefit import PhaseType
from qmodels.errors import MemoryBudgetError, ModelError, NoLawError, UnstableError
from qmodels.policies.base import AbstractPolicy, running_jobs
from qmodels.policies.choice.candidates import ROUNDING
from qmodels.policies.choice.objectives import Constraint, Quantity
from qmodels.policies.choice.ranking import EXCEEDS, SATURATED, SLOWER, UNKNOWN, RankedPolicy
from qmodels.policies.methods import exact_for_its_laws
from qmodels.policies.models.demand import demand_law
from qmodels.policies.models.recorded_errors import MOST_BUSY
from qmodels.policies.models.response import percentile_of
from qmodels.policies.prediction import Prediction, predict
from qmodels.policies.system import System, Workload

#: What a note begins with where no error is stated; for what follows.
NOT_KNOWN: Final = "how far it may be off is not known for "
#: Bytes for the law of one candidate's response, of an exact model; more is needed only next to its capacity.
_MEMORY: Final = 5e8


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
    memory: float | None = None,
) -> RankedPolicy:
    """What is predicted of one candidate, not yet compared with others.

    `known` is its prediction, if there is one; `memory` as for `value_of`.
    """
    prediction = known or predicted(policy, system, workload, rate, model)
    if isinstance(prediction, RankedPolicy):
        return prediction
    asked = (objective, *(limit.quantity for limit in limits))
    try:
        quantities = {each.name: value_of(each, prediction, memory=memory) for each in asked}
    except MemoryBudgetError as error:
        return _unknown(policy, error)
    except NoLawError as error:  # but it has means
        return replace(
            _unknown(policy, error),
            error=inf,
            quantities=means_of(prediction),
            capacity=prediction.capacity,
            method=prediction.method,
        )
    return row_of(policy, prediction, quantities, system, workload, objective, limits)


def error_of(prediction: Prediction, objective: Quantity) -> float:
    """Stated relative error of a quantity of a prediction; infinite where none is known."""
    if exact_for_its_laws(prediction.method):
        return ROUNDING
    if objective.of_wait:
        return inf  # no law of a wait was recorded
    if objective.name == "mean_wait":
        recorded = prediction.recorded_wait_error()
    else:
        recorded = prediction.recorded_error(objective.share)
    return inf if recorded is None else recorded


def capacity_in_doubt(policy: AbstractPolicy, prediction: Prediction, workload: Workload) -> bool:
    """Whether a prediction is so near to a capacity in doubt that there may be no steady state."""
    doubt = policy.capacity_error(workload)
    return doubt > 0.0 and prediction.solved.load > MOST_BUSY


def saturated_row(policy: AbstractPolicy, most: float) -> RankedPolicy:
    """The row of a candidate whose capacity is too small, jobs per second."""
    return _without_answer(policy, SATURATED, most)


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


def _unknown(policy: AbstractPolicy, error: ModelError) -> RankedPolicy:
    return _without_answer(policy, UNKNOWN, nan, str(error))


def _without_answer(policy: AbstractPolicy, status: str, capacity: float, note: str = "") -> RankedPolicy:
    """Return the row of a candidate of which nothing was predicted."""
    return RankedPolicy(
        policy=policy,
        status=status,
        value=nan,
        error=nan,
        quantities={},
        capacity=capacity,
        method="",
        note=note,
    )


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
    error = error_of(prediction, objective)
    broken = [_broken(c, quantities[c.quantity.name]) for c in limits]
    broken = [text for text in broken if text]
    close = [
        str(c)
        for c in limits
        if _within_error(c, quantities[c.quantity.name], error_of(prediction, c.quantity))
    ]
    quantities |= means_of(prediction)
    note = broken[0] if broken else f"{close[0]} is nearer than the error" if close else ""
    doubtful = error == inf and capacity_in_doubt(policy, prediction, workload)
    if doubtful and not broken:
        doubt = policy.capacity_error(workload)
        note = f"at {prediction.solved.load:.0%} of a capacity known within {doubt:.0%}; simulate"
    elif error == inf and not broken:
        note = f"{NOT_KNOWN}{why_no_error(prediction, objective)}"
    return RankedPolicy(
        policy=policy,
        status=EXCEEDS if broken else SLOWER,
        value=quantities[objective.name],
        error=error,
        doubtful=doubtful,
        quantities=quantities,
        capacity=prediction.capacity,
        method=prediction.method,
        note=note,
        least=floor_of(prediction, system, workload, objective),
    )


def why_no_error(prediction: Prediction, objective: Quantity) -> str:
    """Say why no error of a quantity is stated, in a phrase."""
    if objective.of_wait:
        return "percentiles of waits"
    reasons = prediction.outside_record(objective.share)
    return reasons[0] if reasons else "a point like this: few were recorded"


def floor_of(prediction: Prediction, system: System, workload: Workload, objective: Quantity) -> float:
    """What an objective is no less than, however far off its prediction may be.

    A job at its fastest takes as long. Where only the load is beyond the recorded ones, it is no
    less than at the largest of these, for more load is never faster.
    """
    policy = prediction.solved.policy
    least = least_alone(policy, system, workload, objective)
    reasons = prediction.outside_record(objective.share)
    if prediction.half_width is not None or prediction.solved.load <= MOST_BUSY or len(reasons) != 1:
        return least
    before = predict(
        policy,
        system,
        workload,
        arrival_rate=MOST_BUSY * prediction.capacity,
        model=prediction.model,
    )
    error = error_of(before, objective)
    if error == inf:
        return least
    try:
        return max(least, value_of(objective, before) * (1.0 - error))
    except (MemoryBudgetError, NoLawError):
        return least


def least_alone(policy: AbstractPolicy, system: System, workload: Workload, objective: Quantity) -> float:
    """What an objective cannot be less than, whatever the model: that of a job at its fastest."""
    if objective.name != "mean_response" and (objective.share is None or objective.of_wait):
        return 0.0
    _, unshared = alone(policy, system, workload)
    if objective.share is None:
        return unshared
    return unshared * _percentile(demand_law(policy, system, workload)[0], objective.share)


# What is the same at every load of a map: some thousand numbers.


@lru_cache(maxsize=2048)
def alone(policy: AbstractPolicy, system: System, workload: Workload) -> tuple[float, float]:
    """Jobs per second with all partitions taken, and seconds of a mean job at its fastest."""
    running, at = running_jobs(policy, system, workload), policy.arrangement(system)
    least = 1.0 / float(running.speeds.max())
    if not at.repartitioned:  # on partitions as equal as can be some are larger than the mean
        sizes = product(at.size_classes, set(at.disk_sizes))
        least = min(least, *(float(workload.program.mean_time(*size)) for size in sizes))
    return float(running.throughput[-1]), least


@lru_cache(maxsize=256)
def _percentile(demand: PhaseType, share: float) -> float:
    return float(demand.ppf(share))


def value_of(quantity: Quantity, prediction: Prediction, *, memory: float | None = None) -> float:
    """The quantity of a prediction; MemoryBudgetError where its law would take more bytes.

    Without `memory` it is what `predict` says, which for an approximate model is no more than takes some
    seconds.
    """
    if quantity.share is None:
        return float(getattr(prediction, quantity.name))
    if quantity.of_wait:
        return float(prediction.wait.percentile(quantity.share))
    if memory is None and prediction.solved.built.exact:
        memory = _MEMORY
    return float(percentile_of(prediction.solved, quantity.share, memory=memory))


def _broken(limit: Constraint, value: float) -> str:
    """What is said of a limit that is not kept; "" where it is."""
    if limit.holds(value):
        return ""
    relation = "<" if limit.strict else "<="
    bound = limit.quantity.shown(limit.limit)
    return f"{limit.quantity.name} is {value:.4g}, not {relation} {bound}"


def _within_error(limit: Constraint, value: float, error: float) -> bool:
    return error < inf and abs(limit.limit - value) <= error * value
