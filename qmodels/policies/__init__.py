"""Scheduling policies of a parallel machine, as queues that can be solved."""

from qmodels.policies.base import (
    AbstractPolicy,
    RunningJobs,
    System,
    Workload,
    capacity,
    work_bound,
)
from qmodels.policies.dynamic_partitioning import DynamicPartitioning
from qmodels.policies.prediction import Prediction, predict
from qmodels.policies.space_sharing import SpaceSharing
from qmodels.policies.time_sharing import TimeSharing

#: Every policy, by the short name used in scenarios, tables and figure legends.
POLICIES: dict[str, type[AbstractPolicy]] = {
    cls.name: cls for cls in (SpaceSharing, DynamicPartitioning, TimeSharing)
}

__all__ = [
    "POLICIES",
    "AbstractPolicy",
    "DynamicPartitioning",
    "Prediction",
    "RunningJobs",
    "SpaceSharing",
    "System",
    "TimeSharing",
    "Workload",
    "capacity",
    "predict",
    "work_bound",
]
