"""Scheduling policies of a parallel machine, as queues that can be solved."""

from qmodels.policies.base import (
    AbstractPolicy,
    RunningJobs,
    System,
    Workload,
    capacity,
    work_bound,
)
from qmodels.policies.choice.candidates import default_candidates
from qmodels.policies.choice.policy_map import PolicyMap, best_policies
from qmodels.policies.choice.recommendation import Recommendation, recommend
from qmodels.policies.dynamic_partitioning import DynamicPartitioning
from qmodels.policies.models.response import TimeLaw
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
    "PolicyMap",
    "Prediction",
    "Recommendation",
    "RunningJobs",
    "SpaceSharing",
    "System",
    "TimeLaw",
    "TimeSharing",
    "Workload",
    "best_policies",
    "capacity",
    "default_candidates",
    "predict",
    "recommend",
    "work_bound",
]
