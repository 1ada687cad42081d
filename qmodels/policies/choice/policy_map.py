"""Which policy is best where: recommendations over load and variability, as a map."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from math import nan
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from phasefit import match_moments
from phasefit.arrays import Array
from phasefit.checks import positive_vector
from phasefit.records import Result, data_frame
from qmodels.errors import ModelError
from qmodels.policies.base import POLICIES, AbstractPolicy, work_bound
from qmodels.policies.choice.candidates import checked_candidates
from qmodels.policies.choice.contest import Contest
from qmodels.policies.choice.objectives import Constraint, Quantity, objective_of
from qmodels.policies.choice.ranking import BEST, TIE
from qmodels.policies.system import System, Workload
from qmodels.progress import Progress

if TYPE_CHECKING:
    import pandas as pd


LOADS: Final = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
SCVS: Final = (0.5, 1.0, 2.0, 4.0, 8.0)
_MOST_CELLS: Final = 10_000


@dataclass(frozen=True, kw_only=True, eq=False)
class PolicyMap(Result):
    """Best policy at every load and every variability of the demand."""

    loads: Array  #: (n,) fractions of the work bound, rising
    scvs: Array  #: (m,) squared coefficients of variation of the demand, rising
    best: NDArray[np.str_]  #: (m, n) labels; "" where no candidate will do
    value: Array  #: (m, n) objective of the best policy; NaN where there is none
    ties: tuple[tuple[tuple[str, ...], ...], ...]  #: labels that may be as good, (m, n) of them
    objective: Quantity
    constraints: tuple[Constraint, ...]

    def table(self) -> str:
        """Labels by scv down and load across; a + where others may be as good, a - for none."""
        head = f"best {self.objective.label} by load (across) and scv of the demand (down)"
        if self.constraints:
            head += f", keeping {', '.join(str(limit) for limit in self.constraints)}"
        width = max(len(label) for label in self.best.ravel().tolist()) + 3
        lines = [head, " " * 6 + "".join(f"{load:>{width}.3g}" for load in self.loads)]
        for scv, labels, ties in zip(self.scvs, self.best.tolist(), self.ties, strict=True):
            cells = "".join(
                f"{(label or '-') + ('+' if tied else ' '):>{width}}"
                for label, tied in zip(labels, ties, strict=True)
            )
            lines.append(f"{scv:>6.3g}{cells}".rstrip())
        if any(tied for row in self.ties for tied in row):
            lines.append("+ others cannot be told from it within the error of the models")
        return "\n".join(lines)

    def to_frame(self) -> pd.DataFrame:
        """One row per cell."""
        return data_frame(self.records())

    def records(self) -> list[dict[str, Any]]:
        """Plain values, one cell each; what is not known is null."""
        return [
            {
                "demand_scv": scv,
                "load": load,
                "best": str(self.best[i, j]) or None,
                self.objective.name: float(self.value[i, j]) if self.best[i, j] else None,
                "ties": " ".join(self.ties[i][j]),
            }
            for i, scv in enumerate(self.scvs.tolist())
            for j, load in enumerate(self.loads.tolist())
        ]

    @property
    def meanings(self) -> tuple[str, ...]:
        """What the labels of each kind of policy on the map say, a sentence each."""
        kinds = dict.fromkeys(label.partition("(")[0] for label in self.best.ravel().tolist())
        return tuple(POLICIES[kind].legend for kind in kinds if kind in POLICIES)

    def plot(self, ax: Any = None) -> Any:
        """Draw the map on matplotlib Axes; see `qmodels.plotting.maps.policy_map`."""
        from qmodels.plotting.maps import policy_map

        return policy_map(self, ax=ax)


def best_policies(
    system: System,
    workload: Workload,
    *,
    loads: Sequence[float] = LOADS,
    scvs: Sequence[float] = SCVS,
    objective: str = "mean_response",
    constraint: str | Sequence[str] | None = None,
    candidates: Sequence[AbstractPolicy | str] | None = None,
    model: str = "auto",
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> PolicyMap:
    """Recommend a policy for every load and every variability of the demand.

    Parameters
    ----------
    system, workload
        As for `predict`; the workload's demand is replaced by laws of the given `scvs`.
    loads : sequence of float
        Fractions of `work_bound`, above 0.
    scvs : sequence of float
        Squared coefficients of variation of the demand, above 0. Below 0.5 the laws have so many
        phases that policies with many running jobs take long or do not fit.
    objective, constraint, candidates, model
        As for `recommend`.
    executor : concurrent.futures.Executor, optional
        Who works on the cells instead of this thread; it is left open.
    progress : callable
        Called as ``progress("map", done, cells)`` after each cell.

    Returns
    -------
    PolicyMap
        A cell is empty where all candidates are saturated or exceed a limit.

    Raises
    ------
    ModelError
        If the arguments make no model, or the workload has laws of its bursts.

    Notes
    -----
    Candidates that even alone on the machine would be slower than the best one are not solved, nor
    are percentiles of those whose jobs would be slower even if they ran at their greatest speed;
    see `Contest`.

    References
    ----------
    .. [1] Rosti et al. 1998, sec. 4.

    Examples
    --------
    >>> from qmodels import Phase, Program
    >>> machine = System(processors=16, disks=4, min_processors=4)
    >>> work = Workload(Program([Phase(io=16.0, cpu=64.0)]))
    >>> print(best_policies(machine, work, loads=[0.2, 0.6, 0.99], scvs=[1.0, 8.0]).table())
    best mean response by load (across) and scv of the demand (down)
                     0.2           0.6          0.99
         1  TS(1,1;M=2)+  TS(2,1;M=2)+            -
         8        DP(1)   TS(4,1;M=2)             -
    + others cannot be told from it within the error of the models
    """
    wanted, limits = objective_of(objective), Constraint.read(constraint)
    policies = checked_candidates(system, candidates)
    if not isinstance(workload, Workload):
        raise ModelError(f"workload must be of type Workload, got {workload!r:.60}")
    if workload.has_bursts:
        raise ModelError("a map needs a workload with a law of demand; its bursts have their own")
    across, down = (
        np.unique(positive_vector("loads", loads)),
        np.unique(positive_vector("scvs", scvs)),
    )
    if across.size * down.size > _MOST_CELLS:
        raise ModelError(f"a map of {across.size * down.size} cells; at most {_MOST_CELLS}")
    bound = work_bound(system, workload.program)
    best = np.full((down.size, across.size), "", dtype=np.dtype("U60"))
    value = np.full(best.shape, nan)
    works = [replace(workload, demand=match_moments(1.0, 1.0 + scv)) for scv in down.tolist()]
    of_cell = partial(_cell, policies, system, objective=wanted, limits=limits, model=model)
    calls = [(work, load * bound) for work in works for load in across.tolist()]
    found = (
        (of_cell(*call) for call in calls)
        if executor is None
        else (future.result() for future in [executor.submit(of_cell, *call) for call in calls])
    )
    others: list[tuple[str, ...]] = []
    for place, (label, least, tied) in enumerate(found):
        best.flat[place], value.flat[place] = label, least
        others.append(tied)
        if progress is not None:
            progress("map", place + 1, best.size)
    width = across.size
    ties = [tuple(others[i * width : (i + 1) * width]) for i in range(down.size)]
    return PolicyMap(
        loads=across,
        scvs=down,
        best=best,
        value=value,
        ties=tuple(ties),
        objective=wanted,
        constraints=limits,
    )


def _cell(
    policies: Sequence[AbstractPolicy],
    system: System,
    workload: Workload,
    rate: float,
    *,
    objective: Quantity,
    limits: tuple[Constraint, ...],
    model: str,
) -> tuple[str, float, tuple[str, ...]]:
    """Best policy of a cell, its value, and what ties with it; "" and NaN where there is none."""
    contest = Contest(
        system=system, workload=workload, rate=rate, objective=objective, limits=limits, model=model
    )
    found = contest.contenders(policies)
    ties = tuple(each.label for each in found if each.status == TIE)
    if found and found[0].status == BEST:
        return found[0].label, found[0].value, ties
    return "", nan, ties
