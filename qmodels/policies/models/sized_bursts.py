"""The model of jobs whose bursts scale unlike each other where processors are divided anew."""

from __future__ import annotations

from math import comb
from typing import Final

from qmodels.errors import ModelError
from qmodels.policies.models.base import MODELS, AbstractModel, BuiltModel, Case
from qmodels.policies.models.crowding import Disks, running_by_stage
from qmodels.policies.models.job_stages import JobStages
from qmodels.policies.models.policy_queue import RunningChain, check_blocks
from qmodels.policies.models.sized_jobs import sized_classes, stages_of

#: States with all partitions taken, and of all levels, up to which jobs are followed by burst.
MOST_STATES: Final = 400
_ALL_STATES: Final = 6000
#: Bursts of a job beyond which what it does now says little of how fast it gets on.
_MOST_BURSTS: Final = 16
#: Shares of I/O in a job's time that differ by less are one.
_SAME: Final = 1e-6


@MODELS.register
class SizedBursts(AbstractModel):
    """In a burst of I/O or computation of its size, each as fast as so many processors make it."""

    name = "sized-bursts"
    rank = 28
    placement = "fewest-at-disk"

    def suits(self, case: Case) -> bool:
        """See `AbstractModel.suits`: few bursts, which scale unlike each other with the processors."""
        program, at = case.workload.program, case.arrangement
        if case.given or not at.repartitioned or float(program.mean_phases) > _MOST_BURSTS:
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
        A law of demand is cut into two sizes whose jobs alternate between exponential bursts. When
        the processors are divided anew, what is left of the burst in progress scales as that kind
        of burst does, not as the whole job.
        """
        stages = _stages(case)
        if stages is None:
            raise ModelError(
                f'model="{self.name}" follows few jobs without laws of bursts on disks shared by '
                f'processor sharing; use model="speed-scaled", or simulate'
            )
        arrangement = case.arrangement.at_mean_sizes()
        check_blocks(
            f"the chain of {arrangement.max_running} jobs of {stages[0].order} stages",
            _sizes(arrangement.max_running, stages[0].order),
            case.workload.arrivals,
            case.memory,
            "use a demand law of lower order or fewer partitions",
        )
        disks = Disks(arrangement, case.workload)

        def made(arrival_rate: float | None) -> RunningChain:
            return running_by_stage(arrangement, stages, disks.at_work(arrival_rate))

        saturated = made(None)
        said = (*(x for x in case.approximation if "mix" in x), *disks.simplifications)
        at_rate = made if disks.depends_on_arrivals else None
        return BuiltModel(self, saturated, False, saturated.capacity, said, at_rate=at_rate)


def _sizes(jobs: int, stages: int) -> list[float]:
    """Return the number of states with 0..jobs jobs running."""
    return [float(comb(k + stages - 1, stages - 1)) for k in range(jobs + 1)]


def _stages(case: Case) -> list[JobStages] | None:
    """Return the stages of a job with 0..c running; None where they cannot be followed."""
    workload, at = case.workload, case.arrangement
    shared = case.system.disk_discipline == "ps" or at.private
    if workload.has_bursts or workload.mix == "mean" or not shared or len(set(at.sizes or ())) > 1:
        return None
    at = at.at_mean_sizes()
    classes = sized_classes(workload, *case.policy.allotment(case.system))
    if classes is None:
        return None
    c = at.max_running
    found = [
        stages_of(classes, workload, at.mean_processors(max(k, 1)), at.disks).stages for k in range(c + 1)
    ]
    sizes = _sizes(c, found[0].order)
    few = sizes[-1] * workload.arrivals.order <= MOST_STATES and sum(sizes) <= _ALL_STATES
    return found if few and len({each.order for each in found}) == 1 else None
