"""The speed-scaled model: every running job goes on at the speed that so many have in equilibrium."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from phasefit import PhaseType
from qmodels.networks.occupancy import sharing_centre
from qmodels.networks.sizes import check_queue
from qmodels.policies.models.base import MODELS, AbstractModel, BuiltModel, Case
from qmodels.policies.models.policy_queue import RunningChain
from qmodels.policies.models.time_shared import TAKEN_AS_SHARED
from qmodels.policies.models.unequal import unequal_running


@MODELS.register
class SpeedScaled(AbstractModel):
    """In a stage of its demand, at the speed that so many jobs have in equilibrium."""

    name = "speed-scaled"
    rank = 50
    takes_speeds = True

    def suits(self, case: Case) -> bool:
        """See `AbstractModel.suits`: where no other does."""
        return True

    def has_few_states(self, case: Case) -> bool:
        """See `AbstractModel.has_few_states`."""
        return case.has_few_states

    def known_capacity(self, case: Case) -> float:
        """See `AbstractModel.known_capacity`."""
        return float(case.jobs.throughput[-1])

    def build(self, case: Case) -> BuiltModel:
        """See `AbstractModel.build`."""
        arrangement, (demand, reduced) = case.arrangement, case.demand
        simplifications = (*case.approximation, *reduced)
        if len(set(arrangement.sizes or ())) > 1:
            running, exact = unequal_running(arrangement, case.workload, demand, case.memory)
            capacity = running.capacity
        else:
            running, exact = _at_one_speed(case, demand), case.jobs.exact
            capacity = self.known_capacity(case)
        built = BuiltModel(self, running, exact and not simplifications, capacity, simplifications)
        if arrangement.system.disk_discipline == "ps" or arrangement.private:
            return built
        return replace(built, simplifications=(*simplifications, TAKEN_AS_SHARED))


def _at_one_speed(case: Case, demand: PhaseType) -> RunningChain:
    """Return the chain of jobs that all get on at the same speed."""
    jobs = case.jobs
    max_running = jobs.throughput.size
    check_queue("demand", max_running, demand.order, case.workload.arrivals.order, case.memory)
    centre = sharing_centre(demand, max_running, np.concatenate([[0.0], jobs.speeds]))
    sizes = np.diff(centre.starts)
    return RunningChain(
        centre,
        np.repeat([0.0, *jobs.processors_busy], sizes),
        np.repeat([0.0, *jobs.disks_busy], sizes),
        at_one_speed=(demand, jobs.speeds),
    )
