"""`recommend`: the policy that answers soonest under a load, and how sure that is."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite, nan
from typing import TYPE_CHECKING, Any, Final

from phasefit.checks import real_number
from phasefit.records import Drawing, Record, Result
from qmodels.errors import MemoryBudgetError, ModelError, UnstableError
from qmodels.policies.base import AbstractPolicy, work_bound
from qmodels.policies.choice.candidates import ROUNDING, checked_candidates, stated_error
from qmodels.policies.choice.objectives import Constraint, Quantity, objective_of
from qmodels.policies.models.response import response_of
from qmodels.policies.prediction import Prediction, chosen_rate, predict
from qmodels.policies.system import System, Workload
from qmodels.progress import Progress, no_progress

if TYPE_CHECKING:
    import pandas as pd

#: Bytes for the law of one candidate's response; more is needed only next to its capacity.
MEMORY: Final = 5e8
#: What a row may be; those that are ranked first.
BEST, TIE, SLOWER, UNDECIDED, EXCEEDS, SATURATED, UNKNOWN = (
    "best", "tie", "slower", "undecided", "exceeds a limit", "saturated", "not computed",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False)
class RankedPolicy(Record):
    """A candidate with what was predicted of it."""

    policy: AbstractPolicy
    #: "best", "tie", "slower", "undecided", "exceeds a limit", "saturated" or "not computed"
    status: str
    value: float  #: of the objective; NaN where there is none
    #: relative error within which the predicted times are to be trusted; infinite for none
    error: float
    quantities: Mapping[str, float]  #: objective, limited quantities and means, by name
    capacity: float  #: largest stable arrival rate, jobs per second; NaN where not computed
    method: str  #: "exact" or "approximate"; "" where nothing was predicted
    note: str = ""  #: which limit is exceeded or is nearer than the error, or why not computed

    @property
    def label(self) -> str:
        """As the paper writes it."""
        return self.policy.label

    def record(self) -> dict[str, Any]:
        """What was predicted; None for what is not known or, of an error, cannot be stated."""

        def known(value: float) -> float | None:
            return real_number("value", value) if isfinite(value) else None

        return {
            "policy": self.label,
            "status": self.status,
            "method": self.method,
            "error": known(self.error),
            "capacity": known(self.capacity),
            **{name: known(value) for name, value in self.quantities.items()},
            "note": self.note,
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class Recommendation(Result):
    """Candidates ranked under a load, the best first.

    Undecided are those that may be the best, but next to a capacity that is itself in doubt.
    """

    drawing = Drawing("policy", "value", half_width="half_width")

    objective: Quantity
    constraints: tuple[Constraint, ...]
    arrival_rate: float  #: jobs per second
    load: float  #: arrival rate over the rate that no policy can exceed (`work_bound`)
    rows: tuple[RankedPolicy, ...]  #: every candidate: best, ties, slower ones, then the rest
    seconds: float  #: time it took

    @property
    def best(self) -> AbstractPolicy | None:
        """The policy to choose; None if no candidate keeps the limits or all are undecided."""
        return self.rows[0].policy if self.rows[0].status == BEST else None

    @property
    def value(self) -> float:
        """Objective of the best policy, NaN where there is none."""
        return self.rows[0].value if self.rows[0].status == BEST else nan

    @property
    def ties(self) -> tuple[AbstractPolicy, ...]:
        """Other policies that keep the limits and cannot be told from the best one."""
        return tuple(row.policy for row in self.rows if row.status == TIE)

    @property
    def method(self) -> str:
        """Of the best policy and all that could be as good: "exact" only if all of them are."""
        close = [row.method for row in self.rows if row.status in (BEST, TIE)]
        return "exact" if close and set(close) == {"exact"} else "approximate"

    @property
    def reason(self) -> str:
        """Why this policy, in one sentence."""
        return _reason(self)

    def table(self, most: int = 12) -> str:
        """The sentence and the first rows."""
        names = list(
            dict.fromkeys([self.objective.name, *(c.quantity.name for c in self.constraints)])
        )
        head = f"{'policy':<14}" + "".join(f"{_headed(name):>20}" for name in names)
        lines = [self.reason, "", f"{head}  {'error':>6}  status"]
        for row in self.rows[:most]:
            shown = "".join(
                f"{row.quantities[name]:>20.6g}" if name in row.quantities else f"{'-':>20}"
                for name in names
            )
            error = f"{row.error:>6.0%}" if row.method == "approximate" else f"{row.method:>6}"
            error = "  none" if row.error == inf else error
            note = f" ({row.note})" if row.note else ""
            lines.append(f"{row.label:<14}{shown}  {error}  {row.status}{note}")
        if len(self.rows) > most:
            lines.append(f"... and {len(self.rows) - most} more")
        return "\n".join(lines)

    def record(self) -> dict[str, object]:
        """Plain values, for JSON; what is not known is null."""
        return {
            "load": self.load,
            "arrival_rate": self.arrival_rate,
            "objective": self.objective.name,
            "constraints": [str(limit) for limit in self.constraints],
            "best": None if self.best is None else self.best.label,
            "value": None if self.best is None else self.value,
            "ties": [policy.label for policy in self.ties],
            "method": self.method,
            "reason": self.reason,
            "candidates": [row.record() for row in self.rows],
            "seconds": self.seconds,
        }

    def to_frame(self) -> pd.DataFrame:
        """One row per candidate."""
        import pandas as pd

        return pd.DataFrame([row.record() for row in self.rows])

    def drawn(self) -> pd.DataFrame:
        """The objective of the candidates that have one, with the errors of the predictions."""
        import pandas as pd

        known = [row for row in self.rows if isfinite(row.value)]
        return pd.DataFrame(
            {
                "policy": [row.label for row in known],
                "value": [row.value for row in known],
                "half_width": [row.value * row.error for row in known],
            }
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the candidates with the errors of the models; see `Result.plot`."""
        axes = super().plot(ax)
        axes.set_xlabel(self.objective.label)
        return axes


def recommend(
    system: System,
    workload: Workload,
    *,
    load: float | None = None,
    arrival_rate: float | None = None,
    objective: str = "mean_response",
    constraint: str | Sequence[str] | None = None,
    candidates: Sequence[AbstractPolicy | str] | None = None,
    model: str = "auto",
    progress: Progress | None = None,
) -> Recommendation:
    """Rank policies by what they make of a load.

    Parameters
    ----------
    system, workload
        As for `predict`.
    load, arrival_rate : float
        As for `predict`; give one.
    objective : str
        What is to be small: mean_response, mean_wait, mean_jobs, a percentile of the response
        such as p95 or p99.9, or of the wait such as wait_p95. ``_s`` may follow a time.
    constraint : str or sequence of str, optional
        Upper limits such as ``"p95_s < 600"`` and ``"disk_utilisation <= 0.9"``.
    candidates : sequence of policies, optional
        By default all SP, DP and TS whose partition counts are powers of two that fit, TS with
        M = 2; see `default_candidates`.
    model : str
        As for `predict`; the decomposition and the exact chain have no percentiles.
    progress : callable
        Called as ``progress("candidates", done, candidates)``, also before the first.

    Returns
    -------
    Recommendation
        Whose `best` is None if every candidate that can carry the load exceeds a limit, or is
        undecided.

    Raises
    ------
    UnstableError
        If no candidate can carry the load; names the one that can carry most.
    ModelError
        If the arguments make no model.

    Notes
    -----
    Nothing is simulated. A candidate ties with the best one if their predicted values, each with
    its stated error, overlap: `Prediction.recorded_error` of the mean or the percentile, where
    such points were recorded; else 5 % where disks are shared; nothing where the model is exact.
    From 90 % of its capacity on, with a demand of scv 2 or more, a candidate that shares disks is
    trusted to 25 % only. Beyond 92 % one under time sharing with turns is not trusted at all, for
    its capacity is in doubt: it is "undecided" where it may be as good as the best. Jobs of
    several programs are trusted to 15 % at best. Which of them is better, `validation.simulate`
    can tell. A candidate next to its capacity, whose law of the response would take much memory,
    is listed as not computed.

    References
    ----------
    .. [1] E. Rosti, G. Serazzi, E. Smirni, M. S. Squillante, "The impact of I/O on program
       behavior and parallel scheduling", *Proc. ACM SIGMETRICS* 1998, sec. 4.

    Examples
    --------
    >>> from qmodels import Phase, Program
    >>> machine = System(processors=16, disks=4, min_processors=4)
    >>> work = Workload.from_scv(Program([Phase(io=16.0, cpu=64.0)]), demand_scv=4.0)
    >>> found = recommend(machine, work, load=0.5, constraint="p95_s < 200")
    >>> found.best.label, [policy.label for policy in found.ties][:3]
    ('TS(4,1;M=2)', ['TS(2,1;M=2)', 'DP(1)'])
    """
    started = time.perf_counter()
    wanted = objective_of(objective)
    limits = Constraint.read(constraint)
    policies = checked_candidates(system, candidates)
    if not isinstance(workload, Workload):
        raise ModelError(f"workload must be of type Workload, got {workload!r:.60}")
    bound = work_bound(system, workload.program)
    rate = chosen_rate(arrival_rate, load, bound)
    report = no_progress if progress is None else progress
    report("candidates", 0, len(policies))
    found = []
    for policy in policies:
        found.append(judged(policy, system, workload, rate, wanted, limits, model))
        report("candidates", len(found), len(policies))
    saturated = [row for row in found if row.status == SATURATED]
    if len(saturated) == len(found):
        most = max(saturated, key=lambda row: row.capacity)
        raise UnstableError(
            f"{most.label}, which of all {len(found)} candidates carries most",
            rate, most.capacity, load=rate / bound, largest_load=most.capacity / bound,
        )  # fmt: skip
    return Recommendation(
        objective=wanted,
        constraints=limits,
        arrival_rate=rate,
        load=rate / bound,
        rows=ranked(found),
        seconds=time.perf_counter() - started,
    )


def judged(
    policy: AbstractPolicy,
    system: System,
    workload: Workload,
    rate: float,
    objective: Quantity,
    limits: Sequence[Constraint],
    model: str,
    predicted: Prediction | None = None,
) -> RankedPolicy:
    """What is predicted of one candidate, not yet compared with others; `predicted` if it is."""
    quantities: dict[str, float] = {}
    try:
        prediction = predicted or predict(policy, system, workload, arrival_rate=rate, model=model)
        for quantity in (objective, *(limit.quantity for limit in limits)):
            quantities[quantity.name] = value_of(quantity, prediction)
    except UnstableError as error:
        return _saturated(policy, error.capacity)
    except MemoryBudgetError as error:
        return RankedPolicy(
            policy=policy, status=UNKNOWN, value=nan, error=nan, quantities={}, capacity=nan,
            method="", note=str(error),
        )  # fmt: skip
    return _row(policy, prediction, quantities, system, workload, objective, limits)


def compared(
    predictions: Mapping[AbstractPolicy, Prediction],
    saturated: Mapping[AbstractPolicy, float],
    system: System,
    workload: Workload,
    *,
    load: float,
    arrival_rate: float,
) -> Recommendation:
    """Rank policies by mean response times that are predicted already; see `recommend`.

    Parameters
    ----------
    predictions : mapping of policies to Prediction
        All at the same arrival rate.
    saturated : mapping of policies to float
        Capacities, jobs per second, of those that cannot carry it.
    system : System
    workload : Workload
    load, arrival_rate : float
        As for `predict`, both.

    Returns
    -------
    Recommendation

    Raises
    ------
    ModelError
        If there is no policy.
    """
    started = time.perf_counter()
    wanted = objective_of("mean_response")
    rows = [
        _row(policy, each, {wanted.name: value_of(wanted, each)}, system, workload, wanted, ())
        for policy, each in predictions.items()
    ]
    rows += [_saturated(policy, most) for policy, most in saturated.items()]
    if not rows:
        raise ModelError("there are no policies to compare")
    return Recommendation(
        objective=wanted, constraints=(), arrival_rate=arrival_rate, load=load,
        rows=ranked(rows), seconds=time.perf_counter() - started,
    )  # fmt: skip


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


def _saturated(policy: AbstractPolicy, most: float) -> RankedPolicy:
    return RankedPolicy(
        policy=policy, status=SATURATED, value=nan, error=nan, quantities={}, capacity=most,
        method="",
    )  # fmt: skip


def _row(
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
    quantities |= {
        name: getattr(prediction, name)
        for name in ("mean_response", "mean_wait", "processor_utilisation", "disk_utilisation")
    }
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


def value_of(quantity: Quantity, prediction: Prediction) -> float:
    """The quantity of a prediction."""
    if quantity.share is None:
        return float(getattr(prediction, quantity.name))
    if quantity.of_wait:
        return float(prediction.wait.percentile(quantity.share))
    return float(response_of(prediction.solved, memory=MEMORY).percentile(quantity.share))


def ranked(found: Sequence[RankedPolicy]) -> tuple[RankedPolicy, ...]:
    """The rows in order, the best one and what ties with it marked."""
    in_doubt = [row for row in found if row.status == SLOWER and row.error == inf]
    sure = [row for row in found if row.status == SLOWER and row.error < inf]
    fit = sorted(sure, key=lambda row: row.value)
    # Near capacity jobs take longer than predicted, not less: one predicted above all that the
    # best may be is slower, one predicted below may be anything.
    reach = fit[0].value * (1.0 + fit[0].error) if fit else inf
    undecided = [
        replace(row, status=UNDECIDED if row.value <= reach else SLOWER) for row in in_doubt
    ]
    fit = sorted([*fit, *(r for r in undecided if r.status == SLOWER)], key=lambda row: row.value)
    rest = sorted(
        [
            *(row for row in found if row.status != SLOWER),
            *(row for row in undecided if row.status == UNDECIDED),
        ],
        key=lambda row: (
            (UNDECIDED, EXCEEDS, SATURATED, UNKNOWN).index(row.status),
            row.value
            if row.status in (UNDECIDED, EXCEEDS)
            else -row.capacity
            if row.capacity > 0
            else inf,
        ),
    )
    if not fit:
        return tuple(rest)
    least = fit[0].value
    equals = [row for row in fit if row.value <= least * (1.0 + ROUNDING)]
    best = min(equals, key=lambda row: row.policy.simplicity)
    first, *others = [best, *(row for row in fit if row is not best)]
    return (
        replace(first, status=BEST),
        *(
            replace(row, status=TIE if overlap(row, best) else SLOWER)
            for row in _ties_first(others, best)
        ),
        *rest,
    )


def _ties_first(rows: Sequence[RankedPolicy], best: RankedPolicy) -> list[RankedPolicy]:
    return sorted(rows, key=lambda row: (not overlap(row, best), row.value))


def overlap(row: RankedPolicy, best: RankedPolicy) -> bool:
    """Whether a predicted value could be as small as the best one, each within its error."""
    return row.error < inf and row.value * (1.0 - row.error) <= best.value * (1.0 + best.error)


def _broken(limit: Constraint, value: float) -> str:
    """What is said of a limit that is not kept; "" where it is."""
    if limit.holds(value):
        return ""
    relation = "<" if limit.strict else "<="
    bound = _shown(limit.limit, limit.quantity.unit)
    return f"{limit.quantity.name} is {value:.4g}, not {relation} {bound}"


def _within_error(limit: Constraint, value: float, error: float) -> bool:
    return abs(limit.limit - value) <= error * value


def _reason(found: Recommendation) -> str:
    wanted = found.objective
    at = f"at load {found.load:.3g}"
    undecided = [row for row in found.rows if row.status == UNDECIDED]
    if found.best is None and undecided:
        nearest = undecided[0]
        return (
            f"Undecided {at}: {nearest.label} is predicted to have the least {wanted.label}, "
            f"{_shown(nearest.value, wanted.unit)}, but it runs {nearest.note}."
        )
    if found.best is None:
        nearest = found.rows[0]
        if nearest.status != EXCEEDS:
            return f"No candidate could be computed {at}: {nearest.note}."
        held = ", ".join(str(limit) for limit in found.constraints)
        return (
            f"No candidate keeps {held} {at}; the one with the least {wanted.label}, "
            f"{nearest.label}, has {_shown(nearest.value, wanted.unit)}; {nearest.note}."
        )
    best = found.rows[0]
    said = f"{best.label} has the least {wanted.label} {at}, {_shown(best.value, wanted.unit)}"
    if found.constraints:
        said += f", of those that keep {', '.join(str(limit) for limit in found.constraints)}"
    said += (
        f" (on average {best.quantities['mean_wait']:.3g} s of waiting and "
        f"{best.quantities['mean_response'] - best.quantities['mean_wait']:.3g} s of running)"
    )
    if undecided:
        names = ", ".join(row.label for row in undecided[:3])
        more = f" and {len(undecided) - 3} more" if len(undecided) > 3 else ""
        said += f", as far as can be told: {names}{more} may be better or have no steady state"
    ties = [row.label for row in found.rows if row.status == TIE]
    if ties:
        more = f" and {len(ties) - 3} more" if len(ties) > 3 else ""
        return f"{said}; within the error of the models {', '.join(ties[:3])}{more} may be as good."
    after = next((row for row in found.rows if row.status == SLOWER), None)
    if after is None:
        return f"{said}; no other candidate comes into question."
    return f"{said}; the next, {after.label}, has {after.value / best.value - 1.0:.0%} more."


def _shown(value: float, unit: str) -> str:
    return f"{value:.4g} {unit}".rstrip()


def _headed(name: str) -> str:
    unit = Quantity.read(name).unit
    return f"{name} [{unit}]" if unit else name
