"""`recommend`: the policy that answers soonest under a load, and how sure that is."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite, nan
from typing import TYPE_CHECKING, Any

from phasefit.records import Drawing, Result, data_frame
from qmodels.errors import ModelError
from qmodels.networks.replay import FitError
from qmodels.policies.base import AbstractPolicy, work_bounds
from qmodels.policies.choice.against_data import TURNED, against_data
from qmodels.policies.choice.candidates import checked_candidates
from qmodels.policies.choice.contest import Contest
from qmodels.policies.choice.judging import NOT_KNOWN, row_of, saturated_row, value_of
from qmodels.policies.choice.objectives import Constraint, Quantity, objective_of
from qmodels.policies.choice.overload import unstable_under_all
from qmodels.policies.choice.ranking import (
    BEST,
    EXCEEDS,
    SATURATED,
    SLOWER,
    TIE,
    UNDECIDED,
    UNKNOWN,
    RankedPolicy,
    ranked,
)
from qmodels.policies.methods import APPROXIMATE, EXACT, EXACT_FOR_FITTED
from qmodels.policies.prediction import Prediction, chosen_rate, predict
from qmodels.policies.system import System, Workload
from qmodels.progress import Progress, no_progress
from qmodels.words import first_names, label_width

if TYPE_CHECKING:
    import pandas as pd


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
    #: of the best one's objective, where laws were fitted to data; common to all in kind
    fit: FitError | None = None

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
        """Of the best policy and all that could be as good: exact only if all of them are."""
        close = {row.method for row in self.rows if row.status in (BEST, TIE)}
        for method in (EXACT, EXACT_FOR_FITTED):
            if close == {method}:
                return method
        return APPROXIMATE

    @property
    def reason(self) -> str:
        """Why this policy, in one sentence."""
        return _reason(self)

    def table(self, most: int = 12) -> str:
        """The sentence and the first rows."""
        names = list(dict.fromkeys([self.objective.name, *(c.quantity.name for c in self.constraints)]))
        wide = label_width(row.label for row in self.rows[:most])
        columns = {name: max(20, len(_headed(name)) + 2) for name in names}
        head = f"{'policy':<{wide}}" + "".join(f"{_headed(name):>{w}}" for name, w in columns.items())
        lines = [self.reason, "", f"{head}  {'error':>7}  status"]
        for row in self.rows[:most]:
            shown = "".join(f"{_cell(row, name, self.objective.name):>{w}}" for name, w in columns.items())
            note = f" ({row.note})" if row.note and not row.note.startswith(NOT_KNOWN) else ""
            lines.append(f"{row.label:<{wide}}{shown}  {row.error_in_words:>7}  {row.status}{note}")
        if len(self.rows) > most:
            lines.append(f"... and {len(self.rows) - most} more")
        notes = dict.fromkeys(row.note for row in self.rows[:most])
        lines += [f"unknown: {note.removeprefix(NOT_KNOWN)}" for note in notes if note.startswith(NOT_KNOWN)]
        if self.fit is not None:
            lines += ["", self.fit.sentence(f"{self.rows[0].label} at load {self.load:.3g}")]
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
            "fit_error": None if self.fit is None else self.fit.record(),
            "candidates": [row.record() for row in self.rows],
            "seconds": self.seconds,
        }

    def to_frame(self) -> pd.DataFrame:
        """One row per candidate."""
        return data_frame([row.record() for row in self.rows])

    def drawn(self) -> pd.DataFrame:
        """The objective of the candidates that have one, with the errors of the predictions."""
        known = [row for row in self.rows if isfinite(row.value)]
        return data_frame(
            {
                "policy": [row.label for row in known],
                "value": [row.value for row in known],
                "half_width": [row.value * row.error for row in known],
            }
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the candidates with the errors of the models; see `Result.plot`."""
        from phasefit.plotting import columns
        from qmodels.plotting.style import clock_unit

        told = self.drawn()
        label = self.objective.label
        if self.objective.unit == "s":
            unit, name = clock_unit(float(told["value"].max()) if len(told) else 0.0)
            told = told.assign(value=told["value"] / unit, half_width=told["half_width"] / unit)
            label = f"{label} [{name}]"
        axes = columns(told, self.drawing, title=f"policies at load {self.load:.3g}", ax=ax)
        axes.set_xlabel(label)
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
    every: bool = False,
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
        As for `predict`; the decomposition and the exact chain have no percentiles. A candidate
        without a law of the response is "not computed" beside others, and refused alone.
    every : bool
        Compute percentiles of the response of every candidate. By default those that cannot be
        among the best have none: of them it is said what theirs cannot be less than.
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
        If no candidate can carry the load; names the one that can carry most, and what limits it.
        `overload` says what would do.
    ModelError
        If the arguments make no model.

    Notes
    -----
    Nothing is simulated. A candidate ties with the best one if their predicted values, each with
    its stated error, overlap: see `Prediction.recorded_error`, which is nothing where the model
    is exact. Where a prediction lies outside of the points that were recorded
    (`Prediction.outside_record`) no error is stated: it is a tie unless even a job alone at its
    fastest would be too slow, and where it has the least value so are all others that may be as
    good. Beyond 92 % of the capacity one under time sharing with turns may have no steady state:
    it is "undecided" where it may be as good as the best. Which of them is better,
    `validation.simulate` can tell. What laws fitted to a log leave out of it is common to all
    candidates, and widens no error; a candidate that the log's own jobs in their own order make
    no slower than the best one ties with it, see `against_data`. A candidate next to its capacity,
    whose law of the response is exact and would take much memory, is listed as not computed.

    Percentiles of the response take longer than means. A candidate whose jobs would be too slow
    even if each ran at its greatest speed after its wait is slower, see `Contest`; its row has
    `RankedPolicy.least`, and no more is computed of it unless `every` one is asked for. Of slower
    ones the first dozen rows have their percentiles nevertheless, where these take little.

    References
    ----------
    .. [1] Rosti et al. 1998, sec. 4.

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
    bounds = work_bounds(system, workload.program)
    bound = min(bounds.values())
    rate = chosen_rate(arrival_rate, load, bound)
    report = no_progress if progress is None else progress
    report("candidates", 0, len(policies))
    contest = Contest(
        system=system, workload=workload, rate=rate, objective=wanted, limits=limits, model=model
    )
    rows = contest.rows(policies, every=every, done=lambda count: report("candidates", count, len(policies)))
    if all(row.status == SATURATED for row in rows):
        raise unstable_under_all({row.policy: row.capacity for row in rows}, rate, bounds)
    rows, fit = against_data(
        rows,
        lambda policy: predict(policy, system, workload, arrival_rate=rate, model=model),
        wanted,
        limits,
    )
    return Recommendation(
        objective=wanted,
        constraints=limits,
        arrival_rate=rate,
        load=rate / bound if load is None else float(load),
        rows=rows,
        seconds=time.perf_counter() - started,
        fit=fit,
    )


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
        row_of(policy, each, {wanted.name: value_of(wanted, each)}, system, workload, wanted, ())
        for policy, each in predictions.items()
    ]
    rows += [saturated_row(policy, most) for policy, most in saturated.items()]
    if not rows:
        raise ModelError("there are no policies to compare")
    found, fit = against_data(ranked(rows), predictions.__getitem__, wanted)
    return Recommendation(
        objective=wanted,
        constraints=(),
        arrival_rate=arrival_rate,
        load=load,
        rows=found,
        seconds=time.perf_counter() - started,
        fit=fit,
    )


def _reason(found: Recommendation) -> str:
    wanted = found.objective
    at = f"at load {found.load:.3g}"
    undecided = [row for row in found.rows if row.status == UNDECIDED]
    if found.best is None and undecided:
        nearest = undecided[0]
        return (
            f"Undecided {at}: {nearest.label} is predicted to have the least {wanted.label}, "
            f"{wanted.shown(nearest.value)}, but it runs {nearest.note}."
        )
    if found.best is None:
        nearest = next(row for row in found.rows if row.status in (EXCEEDS, UNKNOWN))
        if nearest.status == UNKNOWN:
            return f"No candidate could be computed {at}: {nearest.note}."
        held = ", ".join(str(limit) for limit in found.constraints)
        return (
            f"No candidate keeps {held} {at}; the one with the least {wanted.label}, "
            f"{nearest.label}, has {wanted.shown(nearest.value)}; {nearest.note}."
        )
    best = found.rows[0]
    said = f"{best.label} has the least {wanted.label} {at}, {wanted.shown(best.value)}"
    if found.constraints:
        said += f", of those that keep {', '.join(str(limit) for limit in found.constraints)}"
    said += (
        f" (on average {best.quantities['mean_wait']:.3g} s of waiting and "
        f"{best.quantities['mean_response'] - best.quantities['mean_wait']:.3g} s of running)"
    )
    if undecided:
        said += f", as far as can be told: {_named(undecided)} may be better or have no steady state"
    ties = [row for row in found.rows if row.status == TIE]
    if best.error == inf:
        said = said.replace(" has the least", " is predicted to have the least")
        why = f"{said}, but {best.note}"
        return f"{why}; {_named(ties)} may be as good: simulate them." if ties else f"{why}."
    if ties:
        told = [row for row in ties if row.error < inf or row.note == TURNED]
        untold = [row for row in ties if row not in told]
        parts = [f"{within_what([best, *told])} {_named(told)} may be as good"] if told else []
        if untold:
            parts.append(f"how far {_named(untold)} may be off is not known here: simulate to tell")
        return f"{said}; {'; '.join(parts)}."
    after = next((row for row in found.rows if row.status == SLOWER), None)
    if after is None:
        return f"{said}; no other candidate comes into question."
    if best.value == 0.0:  # such as a percentile of the wait where hardly any job waits
        return f"{said}; the next, {after.label}, has {wanted.shown(after.value)}."
    return f"{said}; the next, {after.label}, has {after.value / best.value - 1.0:.0%} more."


def _named(rows: Sequence[RankedPolicy]) -> str:
    """The first three labels, and how many there are besides."""
    return first_names([row.label for row in rows], 3)


def within_what(rows: Sequence[RankedPolicy], error: str = "") -> str:
    """What makes the ties of a ranking: errors of the models, known (told) or not, or the data."""
    ties = [row for row in rows if row.status == TIE]
    sure = all(row.error < inf for row in rows if row.status == BEST)
    turned = [row.note == TURNED for row in ties]
    known = [sure and row.error < inf for row in ties]
    causes = []
    if any(told and not data for told, data in zip(known, turned, strict=True)):
        causes.append(f"within the error of the models{error}")
    if not all(known):
        causes.append("with errors of the models that are not known here")
    if any(turned):
        causes.append("with the jobs of the log in their own order")
    return ", or ".join(causes) + ("," if len(causes) > 1 else "")


def _cell(row: RankedPolicy, name: str, objective: str) -> str:
    if name in row.quantities:
        return f"{row.quantities[name]:.6g}"
    return f">= {row.least:.6g}" if name == objective and isfinite(row.least) else "-"


def _headed(name: str) -> str:
    unit = Quantity.read(name).unit
    return f"{name} [{unit}]" if unit else name
