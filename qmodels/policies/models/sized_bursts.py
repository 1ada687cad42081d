"""The model of jobs whose bursts scale unlike each other where processors are divided anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from phasefit.arrays import Array
from qmodels.errors import ModelError
from qmodels.networks.sizes import occupancy_counts
from qmodels.policies.models.base import MODELS, AbstractModel, BuiltModel, Case
from qmodels.policies.models.crowding import Disks, running_by_stage
from qmodels.policies.models.job_stages import JobStages
from qmodels.policies.models.policy_queue import RunningChain
from qmodels.policies.models.sized_jobs import sized_classes, stages_of
from qmodels.programs import AbstractProgram
from qmodels.programs.model import parts

#: States with all partitions taken, and of all levels, up to which jobs are followed by burst.
MOST_STATES: Final = 400
_ALL_STATES: Final = 6000
#: Bursts of a job beyond which what it does now says little of how fast it gets on.
_MOST_BURSTS: Final = 16
#: Bursts of a job from which on it may end anywhere: with fewer, jobs without any I/O would show.
_SEVERAL: Final = 4
#: Shares of I/O in a job's time that differ by less are one.
_SAME: Final = 1e-6


@MODELS.register
class SizedBursts(AbstractModel):
    """In a burst of I/O or computation of its size, each as fast as so many processors make it."""

    name = "sized-bursts"
    rank = 28
    placement = "fewest-at-disk"

    def suits(self, case: Case) -> bool:
        """See `AbstractModel.suits`: few bursts, which scale unlike each other, on equal disk partitions."""
        program, at = case.workload.program, case.arrangement
        if (
            case.given
            or not (at.repartitioned and at.whole_disks)
            or float(program.mean_phases) > _MOST_BURSTS
        ):
            return False
        shares = []
        for k in (1, at.max_running):
            p, d = at.mean_processors(k), at.disks
            shares.append(float(program.mean_io(p, d)) / float(program.mean_time(p, d)))
        return abs(shares[0] - shares[1]) > _SAME and _stages(case) is not None

    def build(self, case: Case) -> BuiltModel:
        """See `AbstractModel.build`.

        Raises
        ------
        ModelError
            If bursts have laws of their own, the demand is too regular, disks are not shared by
            processor sharing, or there are too many jobs and stages.

        Notes
        -----
        Jobs alternate between exponential bursts, those of a branch of the demand, or of a size that
        it is cut into where it has none. When the processors are divided anew, what is left of the
        burst in progress scales as that kind of burst does, not as the whole job.
        """
        stages = _stages(case)
        if stages is None:
            raise ModelError(
                f'model="{self.name}" follows few jobs without laws of bursts on disks shared by '
                f'processor sharing; use model="speed-scaled", or simulate'
            )
        arrangement = case.arrangement.at_mean_sizes()
        case.check_stages(stages[0].order)
        disks = Disks(arrangement, case.workload)

        def made(arrival_rate: float | None) -> RunningChain:
            return running_by_stage(arrangement, stages, disks.at_work(arrival_rate))

        saturated = made(None)
        said = (*(x for x in case.approximation if "mix" in x), *disks.simplifications)
        at_rate = made if disks.depends_on_arrivals else None
        return BuiltModel(self, saturated, False, saturated.capacity, said, at_rate=at_rate)


def _stages(case: Case) -> list[JobStages] | None:
    """Return the stages of a job with 0..c running; None where they cannot be followed."""
    workload, at = case.workload, case.arrangement
    if workload.has_bursts or workload.mix == "mean" or at.disks_in_turn or at.unequal_sizes:
        return None
    at = at.at_mean_sizes()
    for made in (_by_size, _without_memory):
        found = made(case)
        if not found or len({each.order for each in found}) > 1:
            continue
        sizes = occupancy_counts(at.max_running, found[0].order)
        if sizes[-1] * workload.arrivals.order <= MOST_STATES and sum(sizes) <= _ALL_STATES:
            return found
    return None


def _by_size(case: Case) -> list[JobStages]:
    """Return the stages of jobs cut into sizes, with 0..c running; none where they are too regular."""
    classes = sized_classes(case.workload, *case.policy.allotment(case.system))
    at = case.arrangement.at_mean_sizes()
    if classes is None:
        return []
    numbers = [at.mean_processors(max(k, 1)) for k in range(at.max_running + 1)]
    return [stages_of(classes, case.workload, p, at.disks).stages for p in numbers]


def _without_memory(case: Case) -> list[JobStages]:
    """Return the stages of jobs of one program whose time has branches; none for other jobs.

    A job of a branch goes back and forth between I/O and computation, as long in a burst as its own
    are, and may end anywhere: its whole time is exponential, and so many processors as it has with
    all partitions taken spend the right part of it on either.
    """
    law, program, at = case.workload.demand, case.workload.program, case.arrangement.at_mean_sizes()
    if law.jumps.any() or len(parts(program)) > 1 or float(program.mean_phases) < _SEVERAL:
        return []
    whole = np.array([float(time(*case.policy.allotment(case.system))) for time in _times(program)])
    if whole.min() == 0.0:
        return []
    share, turns = whole / whole.sum(), max(1.0, float(program.mean_phases)) - 0.5
    found = []
    for k in range(at.max_running + 1):
        p = at.mean_processors(max(k, 1))
        here = np.array([float(time(p, at.disks)) for time in _times(program)])
        if here.min() == 0.0:
            return []
        on = np.array([[0.0, turns / here[0]], [turns / here[1], 0.0]])
        found.append(
            JobStages(
                np.kron(law.alpha, share),
                np.kron(np.diag(law.exit), on),
                np.kron(law.exit, share / here),
                np.tile([True, False], law.order),
            )
        )
    return found


def _times(program: AbstractProgram) -> tuple[Callable[..., Array], Callable[..., Array]]:
    """Return what says a job's mean I/O and its mean computation."""
    return program.mean_io, program.mean_cpu
