"""Jobs of one burst of computation that wait for each other on processor partitions: without approximation.

On one partition such jobs wait as they would in front of it. On several each waits where it was placed.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from phasefit import PhaseType
from qmodels.errors import ModelError
from qmodels.networks.sizes import queue_seconds
from qmodels.policies.models.base import MODELS, AbstractModel, BuiltModel, Case
from qmodels.policies.models.demand import time_alone
from qmodels.policies.models.disk_counts import filled
from qmodels.policies.models.policy_queue import Behind
from qmodels.policies.models.state_search import explored
from qmodels.policies.system import Workload

#: Jobs of a processor partition, and the stage of the one that computes.
Held = tuple[int, int]
State = tuple[Held, ...]

#: States of all levels that are followed, and seconds that solving the queue may take, about.
MOST_STATES: Final = 6000
_SECONDS: Final = 1.0


@MODELS.register
class InOrder(AbstractModel):
    """On its partition, computing in a stage of its demand or behind those that came before."""

    name = "in-order"
    rank = 5
    placement = "idle-first"

    def suits(self, case: Case) -> bool:
        """See `AbstractModel.suits`: jobs of one burst of computation in turns, few enough to be followed."""
        return not case.given and _in_order(case) and _Partitions.of(case) is not None

    def family(self, *, turns: bool) -> str:
        """See `AbstractModel.family`: of the same systems, by another model."""
        return "time-sharing, turns"

    def build(self, case: Case) -> BuiltModel:
        """See `AbstractModel.build`.

        Raises
        ------
        ModelError
            If jobs transfer, have several bursts or are too many.
        """
        partitions = _Partitions.of(case) if _in_order(case) else None
        if partitions is None:
            raise ModelError(
                f'model="{self.name}" follows jobs of one burst of computation in turns, if they are few; '
                f'use model="time-sharing", or simulate'
            )
        case.check_size(
            f"the chain of {case.policy.label}",
            partitions.sizes,
            'use fewer partitions, or model="time-sharing"',
        )
        empty = ((0, 0),) * partitions.partitions
        running = explored(
            empty, case.arrangement.max_running, partitions.moves, partitions.busy, behind=partitions.behind
        )
        said = partitions.simplifications
        return BuiltModel(self, running, not said, running.capacity, said)


def _in_order(case: Case) -> bool:
    """Whether all jobs are one burst of computation, and take turns."""
    at, workload = case.arrangement, case.workload
    if at.multiprogramming == 1 or at.cpu_discipline != "fcfs" or workload.mix == "mean":
        return False
    if len(at.size_classes) > 1 or float(workload.program.mean_phases) != 1.0:
        return False
    p, d = at.size_classes[0], at.disks
    return float(workload.program.mean_io(p, d)) == 0.0 and time_alone(workload, p, d) is not None


def _law(workload: Workload, p: float, d: float) -> PhaseType:
    """Seconds of a job on a partition of p processors."""
    law = time_alone(workload, p, d)
    assert law is not None
    return law.scale(float(workload.program.mean_time(p, d)))


class _Partitions:
    """Processor partitions with jobs in order."""

    def __init__(self, case: Case, *, told_apart: bool) -> None:
        self.at, self.arrivals = case.arrangement, case.workload.arrivals
        self.partitions = self.at.processor_partitions
        (self.processors,) = self.at.size_classes
        self.law = _law(case.workload, self.processors, self.at.disks)
        self.told_apart = told_apart or self.partitions == 1

    @classmethod
    def of(cls, case: Case) -> _Partitions | None:
        """Partitions told apart by their order or, if these are too many, by their jobs; None: too many."""
        for told_apart in (True, False):
            found = cls(case, told_apart=told_apart)
            if found.fits:
                return found
        return None

    @property
    def simplifications(self) -> tuple[str, ...]:
        """What is not followed; () for nothing."""
        said = "among partitions with equally many jobs one is picked at random"
        return () if self.told_apart else (said,)

    @property
    def sizes(self) -> list[float]:
        """States with 0..c jobs running, at most."""
        levels = np.zeros(self.at.max_running + 1)
        levels[0] = 1.0
        ways = [1.0, *[float(self.law.order)] * self.at.multiprogramming]
        for alike in [1] * self.partitions if self.told_apart else [self.partitions]:
            levels = filled(levels, ways, alike)
        return [float(x) for x in levels]

    @property
    def fits(self) -> bool:
        """Whether the states are few enough."""
        states = np.multiply(self.sizes, self.arrivals.order)
        return bool(states.sum() <= MOST_STATES) and queue_seconds(states) <= _SECONDS

    def moves(self, state: State, k: int) -> list[tuple[int, State, float]]:
        """Jobs afterwards, state and rate of what may happen; of a start, its probability."""
        found: list[tuple[int, State, float]] = []
        law, alpha = self.law, list(enumerate(self.law.alpha.tolist()))
        for at, (jobs, stage) in enumerate(state):
            if not jobs:
                continue
            for after, rate in enumerate(law.jumps[stage].tolist()):
                found.append((k, self._put(state, at, (jobs, after)), rate))
            for after, chance in alpha if jobs > 1 else [(0, 1.0)]:
                rate = float(law.exit[stage]) * chance
                found.append((k - 1, self._put(state, at, (jobs - 1, after)), rate))
        if k < self.at.max_running:
            among = self._next(state)
            for at in among:
                jobs, stage = state[at]
                for after, chance in [(stage, 1.0)] if jobs else alpha:
                    found.append((k + 1, self._put(state, at, (jobs + 1, after)), chance / len(among)))
        return [each for each in found if each[2] > 0.0]

    def busy(self, state: State, k: int) -> tuple[float, float]:
        """Processors that compute and disks that transfer."""
        return self.processors * sum(jobs > 0 for jobs, _ in state), 0.0

    def behind(self, states: list[State]) -> Behind:
        """Return behind whom a job starts in each state."""
        most, order = self.at.multiprogramming, self.law.order
        ahead = np.zeros((len(states), most, order))
        for row, state in zip(ahead, states, strict=True):
            among = self._next(state)
            for jobs, stage in (state[at] for at in among):
                if jobs == 0:
                    row[0] += self.law.alpha / len(among)
                elif jobs < most:
                    row[jobs, stage] += 1.0 / len(among)
        return Behind(self.law, ahead)

    def _next(self, state: State) -> list[int]:
        """Where the next job starts: on the first partition with the fewest jobs, or on any."""
        fewest = min(jobs for jobs, _ in state)
        among = [at for at, (jobs, _) in enumerate(state) if jobs == fewest]
        return among[:1] if self.told_apart else among

    def _put(self, state: State, at: int, held: Held) -> State:
        changed = [*state]
        changed[at] = held
        return tuple(changed) if self.told_apart else tuple(sorted(changed, reverse=True))
