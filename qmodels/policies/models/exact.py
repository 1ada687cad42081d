"""The exact model: every running job in a stage of a burst, on the disk partition where it is."""

from __future__ import annotations

from qmodels.policies.models.base import MODELS, AbstractModel, BuiltModel, Case
from qmodels.policies.models.exact_chain import exact_running
from qmodels.policies.models.speed_scaled import SpeedScaled
from qmodels.policies.models.time_sharing_chain import time_sharing_running


@MODELS.register
class Exact(AbstractModel):
    """In a stage of a burst, on disks that are shared by processor sharing, job by job."""

    name = "exact"
    rank = 10

    def substitute(self, case: Case) -> AbstractModel:
        """See `AbstractModel.substitute`: where nothing about it is approximate, the same chain."""
        return self if case.workload.has_bursts or not case.speeds_exact else SpeedScaled()

    def build(self, case: Case) -> BuiltModel:
        """See `AbstractModel.build`."""
        arrangement = case.arrangement
        left_out: tuple[str, ...] = ()
        if arrangement.placement == "idle-first":
            running = time_sharing_running(case.policy.label, arrangement, case.workload, case.memory)
        else:
            running, left_out = exact_running(arrangement, case.workload, case.memory)
        return BuiltModel(self, running, not left_out, running.capacity, left_out)
