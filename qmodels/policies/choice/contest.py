"""Which candidates can be the best: costly percentiles are computed of those that still may be.

Of every candidate something is known with little work that its objective cannot be less than. The
one of which that is least is looked at next, until what the others cannot be less than is more
than the best one may be, each within its stated error. They are then known to be slower.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from heapq import heapify, heappop, heappush
from math import inf, isfinite
from typing import Final

from qmodels.errors import ModelError
from qmodels.policies.base import AbstractPolicy
from qmodels.policies.choice.candidates import ROUNDING
from qmodels.policies.choice.judging import (
    alone,
    capacity_in_doubt,
    error_of,
    floor_of,
    judged,
    least_alone,
    left_out,
    predicted,
    value_of,
)
from qmodels.policies.choice.objectives import Constraint, Quantity
from qmodels.policies.choice.ranking import BEST, SLOWER, TIE, UNKNOWN, RankedPolicy, ranked
from qmodels.policies.models.build import capacity
from qmodels.policies.models.response import least_percentile
from qmodels.policies.prediction import Prediction
from qmodels.policies.system import System, Workload

#: Rows that are shown with their values where these take little work, though they are slower.
LEADERS: Final = 12
#: Bytes for the law of the response of one of these.
_LITTLE: Final = 3e7


@dataclass(frozen=True, kw_only=True)
class Contest:
    """What candidates are compared by: a machine, its jobs, their rate, what is to be small."""

    system: System
    workload: Workload
    rate: float  #: jobs per second
    objective: Quantity
    limits: tuple[Constraint, ...]
    model: str

    @property
    def costly(self) -> bool:
        """Whether some quantity takes longer than the means."""
        return self.objective.costly or any(limit.quantity.costly for limit in self.limits)

    def judged(
        self, policy: AbstractPolicy, known: Prediction | None = None, *, memory: float | None = None
    ) -> RankedPolicy:
        """See `judging.judged`."""
        return judged(
            policy,
            self.system,
            self.workload,
            self.rate,
            self.objective,
            self.limits,
            self.model,
            known,
            memory=memory,
        )

    def rows(
        self,
        policies: Sequence[AbstractPolicy],
        *,
        every: bool,
        done: Callable[[int], None] = lambda count: None,
    ) -> tuple[RankedPolicy, ...]:
        """A row for each candidate, ranked; `done` is told of how many there is one.

        Unless `every` one is to have its quantities, those that cannot be among the best go
        without what is costly, and without the objective have `RankedPolicy.least`. The one next
        to the best is never among these, where nothing ties with the best.
        """
        found: list[RankedPolicy] = []
        if every or not self.costly:
            for policy in policies:
                found.append(self.judged(policy))
                done(len(found))
            return _answered(found, policies)
        todo: list[_Candidate] = []
        for policy in policies:
            answer = predicted(policy, self.system, self.workload, self.rate, self.model)
            if isinstance(answer, RankedPolicy):
                found.append(answer)
            else:
                todo.append(self._candidate(policy, len(todo), answer))
        done(len(found))
        left = self._best_first(todo, found, lambda: done(len(found)))
        left.sort(key=lambda each: each.least)
        self._next_to_best(left, found)
        for each in left[: max(0, LEADERS - sum(isfinite(row.value) for row in found))]:
            row = self.judged(each.policy, each.prediction, memory=_LITTLE)
            if row.status != UNKNOWN:
                left.remove(each)
                found.append(row)
        done(len(policies))
        return _answered([*found, *(self._left_out(each) for each in left)], policies)

    def contenders(self, policies: Sequence[AbstractPolicy]) -> tuple[RankedPolicy, ...]:
        """Rows of those candidates that could be the best or tie with it, and perhaps of more."""
        todo: list[_Candidate] = []
        found: list[RankedPolicy] = []
        for place, policy in enumerate(policies):
            if self.model == "auto" and self.rate >= _capacity(policy, self.system, self.workload):
                continue  # `predict` would refuse it
            todo.append(_Candidate(self._least_alone(policy), place, policy))
        self._best_first(todo, found)
        return _answered(found, policies)

    def _best_first(
        self,
        todo: list[_Candidate],
        found: list[RankedPolicy],
        done: Callable[[], None] = lambda: None,
    ) -> list[_Candidate]:
        """Judge candidates until the others are beaten, which are returned; rows go to `found`."""
        left = []
        heapify(todo)
        while todo:
            each = heappop(todo)
            if _beaten(each, found):
                left.append(each)
            elif each.prediction is not None:
                found.append(self.judged(each.policy, each.prediction))
                done()
            else:
                self._look_at(each, todo, found)
        return left

    def _look_at(self, each: _Candidate, todo: list[_Candidate], found: list[RankedPolicy]) -> None:
        """Predict a candidate, and have it wait for its turn with what is known of it then."""
        answer = predicted(each.policy, self.system, self.workload, self.rate, self.model)
        if isinstance(answer, RankedPolicy):
            found.append(answer)
            return
        known = self._candidate(each.policy, each.place, answer)
        if not known.doubtful:  # else it is neither the best nor a tie
            heappush(todo, replace(known, least=max(each.least, known.least)))

    def _candidate(self, policy: AbstractPolicy, place: int, answer: Prediction) -> _Candidate:
        """A candidate that is predicted, with what its objective cannot be less than."""
        error = error_of(answer, self.objective)
        if error < inf:
            return _Candidate(self._least(answer), place, policy, error, answer)
        if capacity_in_doubt(policy, answer, self.workload):
            # jobs take longer there than predicted, not less
            return _Candidate(self._least(answer), place, policy, 0.0, answer, doubtful=True)
        floor = floor_of(answer, self.system, self.workload, self.objective)
        return _Candidate(floor, place, policy, 0.0, answer)

    def _next_to_best(self, left: list[_Candidate], found: list[RankedPolicy]) -> None:
        """Judge more of those left, in order, until the first slower one is known."""
        while left:
            best, *others = ranked(found)
            slower = next((row.value for row in others if row.status == SLOWER), inf)
            if best.status != BEST or (others[:1] and others[0].status == TIE):
                return
            if slower <= left[0].least:
                return
            each = left.pop(0)
            found.append(self.judged(each.policy, each.prediction))

    def _left_out(self, each: _Candidate) -> RankedPolicy:
        assert each.prediction is not None
        error = error_of(each.prediction, self.objective)
        return left_out(each.policy, each.prediction, error, self.objective, self.limits, each.least)

    def _least(self, answer: Prediction) -> float:
        """What the objective of a prediction cannot be less than; itself where that is cheap."""
        if not self.objective.costly:
            return value_of(self.objective, answer)
        assert self.objective.share is not None
        return least_percentile(answer.solved, self.objective.share)

    def _least_alone(self, policy: AbstractPolicy) -> float:
        """What the objective of a policy cannot be less than: that of a job alone on the machine.

        Not of the other models, whose jobs may be of another law.
        """
        if self.model not in ("auto", "speed-scaled"):
            return 0.0
        if self.rate >= alone(policy, self.system, self.workload)[0]:
            return 0.0  # saturated, which costs nothing to find out
        return least_alone(policy, self.system, self.workload, self.objective)


@dataclass(frozen=True, order=True)
class _Candidate:
    """A candidate as far as it is known."""

    least: float  #: what its objective cannot be less than, but for the error
    place: int  #: among the candidates, which decides where that is the same
    policy: AbstractPolicy = field(compare=False)
    error: float = field(compare=False, default=0.0)  #: by which the objective may be below it
    prediction: Prediction | None = field(compare=False, default=None)
    doubtful: bool = field(compare=False, default=False)  #: see `RankedPolicy.doubtful`


def _answered(found: Sequence[RankedPolicy], policies: Sequence[AbstractPolicy]) -> tuple[RankedPolicy, ...]:
    """The rows in order; ModelError where all policies carry the load and none has the law asked for."""
    without = [row for row in found if row.status == UNKNOWN and row.method]
    if without and len(without) == len(policies):
        raise ModelError(f"{without[0].label}: {without[0].note}")
    return ranked(found)


def _beaten(each: _Candidate, found: Sequence[RankedPolicy]) -> bool:
    """Whether a candidate is sure to be neither the best, nor to tie with it or be undecided.

    No other that is not in `found` may have a lower `least`.
    """
    sure = [row for row in found if row.status == SLOWER and row.error < inf]
    smallest = min((row.value for row in sure), default=inf)
    if each.least <= smallest * (1.0 + ROUNDING):
        return False
    # `smallest` is the least of all: the others' values are above
    reach = max(row.value * (1.0 + row.error) for row in sure if row.value <= smallest * (1.0 + ROUNDING))
    return each.least * (1.0 - each.error) > reach


@lru_cache(maxsize=2048)  # the same at every load of a map
def _capacity(policy: AbstractPolicy, system: System, workload: Workload) -> float:
    return capacity(policy, system, workload)
