"""The model of unlike bursts in turn at all processors: each job in a burst of its class."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from phasefit.arrays import Array
from qmodels.errors import ModelError
from qmodels.networks.occupancy import Occupancies
from qmodels.networks.sizes import occupancy_counts
from qmodels.policies.models.base import MODELS, AbstractModel, BuiltModel, Case
from qmodels.policies.models.bursts_in_service import affordable, served
from qmodels.policies.models.policy_queue import RunningChain
from qmodels.policies.models.sized_jobs import (
    StageTable,
    burst_stages,
    most_rounds,
    sized_classes,
    stages_of,
)
from qmodels.policies.models.stage_counts import StagedJobs
from qmodels.policies.models.time_sharing import at_played_capacity
from qmodels.policies.models.time_sharing_loads import TAKEN_AS_SHARED, VARIABLE
from qmodels.policies.system import Arrangement, Workload
from qmodels.programs.model import parts

#: States with all partitions taken, and of all levels, up to which jobs are followed by burst.
MOST_STATES: Final = 500
_ALL_STATES: Final = 8000
#: Bursts of a job of one program below which who computes decides, which "partition-classes" remembers.
_REMEMBERED: Final = 2.0


@MODELS.register
class BurstClasses(AbstractModel):
    """In a burst of its class, small or large and of one program, in turn with those beside it."""

    name = "burst-classes"
    rank = 24
    placement = "idle-first"

    def suits(self, case: Case) -> bool:
        """See `AbstractModel.suits`: jobs of several classes in turns at all processors."""
        at, workload = case.arrangement, case.workload
        if (
            case.given
            or at.multiprogramming == 1
            or at.cpu_discipline != "fcfs"
            or at.used_disk_partitions > 1
        ):
            return False
        several, bursts = len(parts(workload.program)) > 1, float(workload.program.mean_phases)
        allotment = case.policy.allotment(case.system)
        transfers = float(workload.program.mean_io(*allotment)) > 0.0
        if bursts < _REMEMBERED and transfers and not several and not workload.has_bursts:
            return False
        most = most_rounds(workload, *allotment)
        if workload.cpu_bursts is not None and workload.io_bursts is not None:
            if max(workload.cpu_bursts.scv, workload.io_bursts.scv) <= VARIABLE:
                return False
        elif workload.demand.scv <= VARIABLE and not several and bursts <= 1.0:
            return False  # of several bursts sizes last, which matters however little they vary
        found = _followed(case)
        if found is None:
            return False
        # jobs in one round that ask for several are another model's, which has fewer stages
        return workload.has_bursts or found.rounds > 1 or most == 1

    def build(self, case: Case) -> BuiltModel:
        """See `AbstractModel.build`.

        Raises
        ------
        ModelError
            If bursts have laws of their own, the demand is too regular for classes of exponential
            bursts, or there are too many jobs and classes.

        Notes
        -----
        A law of demand is cut into two sizes, a mix into its programs. A job of a class alternates
        between exponential bursts of I/O and of computation, a geometric number of them with the
        program's mean. At each processor partition bursts of unlike length take turns: given how
        many of each class are there, the one in service is as likely of each class as in the closed
        network of these jobs, see `bursts_in_service`. Exponential bursts complete less than those of
        one size each: see `at_played_capacity`.
        """
        followed = _followed(case)
        if followed is None:
            raise ModelError(
                f'model="{self.name}" follows mixes and variable demands of few jobs on partitions of '
                f'one size; use model="time-sharing" or "speed-scaled", or simulate'
            )
        case.check_stages(followed.order)
        running = at_played_capacity(case, followed.running())
        return BuiltModel(self, running, False, running.capacity, followed.simplifications, turns=True)


class _Followed:
    """The running jobs of a case by class and burst."""

    def __init__(self, arrangement: Arrangement, workload: Workload, table: StageTable, rounds: int) -> None:
        self.arrangement, self.workload, self.table, self.rounds = arrangement, workload, table, rounds
        self.order = table.stages.order

    @property
    def sizes(self) -> Array:
        """States with 0..c jobs running."""
        return occupancy_counts(self.arrangement.max_running, self.order)

    @property
    def fits(self) -> bool:
        """Whether the states are few enough."""
        full = self.sizes[-1] * self.workload.arrivals.order
        few = full <= MOST_STATES and sum(self.sizes) <= _ALL_STATES
        return few and affordable(self.arrangement.max_running, self.table.cpu.size)

    @property
    def simplifications(self) -> tuple[str, ...]:
        """What is not followed; () for nothing."""
        said = () if self.arrangement.sizes_hold else ("partitions taken at their mean size",)
        return (*said, TAKEN_AS_SHARED) if self.arrangement.disks_in_turn else said

    def running(self) -> RunningChain:
        """Return the chain of the running jobs."""
        c, table, at = self.arrangement.max_running, self.table, self.arrangement
        ways, kind, transfers = Occupancies.of(c, self.order), table.kind, table.stages.transfers
        there, elsewhere = (
            np.stack([ways.counts[:, here & (kind == r)].sum(axis=1) for r in range(means.size)], axis=1)
            for here, means in ((~transfers, table.cpu), (transfers, table.io))
        )
        others = elsewhere.sum(axis=1)
        speeds = np.empty((others.size, self.order))
        speeds[:, transfers] = 1.0 / np.maximum(others, 1)[:, None]
        speeds[:, ~transfers] = self._in_turn(there, elsewhere)[:, kind[~transfers]]
        staged = StagedJobs.of(ways, [table.stages] * (c + 1), speeds)
        served = np.asarray(there.sum(axis=1) > 0, dtype=float)
        moving = np.asarray(others > 0, dtype=float)
        return RunningChain(staged.centre(), served * at.mean_processors(1), moving * at.disks, staged=staged)

    def _in_turn(self, there: NDArray[np.int32], elsewhere: NDArray[np.int32]) -> Array:
        """Return the part of the processors that each job of a class has that is there, (states, S)."""
        bursts, away, drawn = self.table.cpu, self.table.io, self.table.drawn
        if drawn is not None:  # whatever the kind of its transfer, any burst may be next
            away = np.array([float(self.table.io_mean)])
        found = np.zeros(there.shape)
        no_io = away.max() == 0.0
        means = tuple(tuple(np.maximum(x, 1e-9 * bursts.max()).tolist()) for x in (bursts, away))
        for row, (here, gone) in enumerate(zip(there.tolist(), elsewhere.tolist(), strict=True)):
            if not any(here):
                continue
            if no_io:  # as many bursts of each class are begun as there are jobs
                found[row] = bursts * here / float(bursts @ here)
            else:
                jobs = (sum(here) + sum(gone),) if drawn is not None else _added(here, gone)
                asked = None if drawn is None else tuple(drawn.tolist())
                found[row] = served(jobs, *means, False, asked).given[tuple(here)]
        return np.asarray(found / np.maximum(there, 1))


def _added(first: list[int], second: list[int]) -> tuple[int, ...]:
    """Return the sums of counts by class."""
    return tuple(a + b for a, b in zip(first, second, strict=True))


def _followed(case: Case) -> _Followed | None:
    """Return the jobs of a case by class; None where they cannot be followed."""
    arrangement, workload = case.arrangement.at_mean_sizes(), case.workload
    if workload.mix == "mean" or arrangement.processor_partitions > 1:
        return None
    at = case.policy.allotment(case.system)
    for rounds in range(most_rounds(workload, *at), 0, -1):
        if workload.has_bursts:
            table = burst_stages(workload, *at, rounds)
        else:
            classes = sized_classes(workload, *at, rounds, turns=arrangement.multiprogramming)
            table = None if classes is None else stages_of(classes, workload, *at)
        found = None if table is None else _Followed(arrangement, workload, table, rounds)
        if found is not None and found.fits:
            return found
    return None
