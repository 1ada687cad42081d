"""Scheduling policies of a parallel machine, as queues that can be solved."""

from qmodels.policies.base import (
    POLICIES,
    AbstractPolicy,
    RunningJobs,
    find_policy,
    register,
    work_bound,
)
from qmodels.policies.choice.candidates import default_candidates
from qmodels.policies.choice.policy_map import PolicyMap, best_policies
from qmodels.policies.choice.recommendation import Recommendation, recommend
from qmodels.policies.dynamic_partitioning import DynamicPartitioning
from qmodels.policies.labels import parse_policy
from qmodels.policies.models.base import MODELS, AbstractModel
from qmodels.policies.models.build import capacity
from qmodels.policies.models.response import TimeLaw
from qmodels.policies.prediction import Prediction, predict
from qmodels.policies.space_sharing import SpaceSharing
from qmodels.policies.speed_table import SpeedTable
from qmodels.policies.system import Arrangement, System, Workload
from qmodels.policies.time_sharing import TimeSharing

__all__ = [
    "MODELS",
    "POLICIES",
    "AbstractModel",
    "AbstractPolicy",
    "Arrangement",
    "DynamicPartitioning",
    "PolicyMap",
    "Prediction",
    "Recommendation",
    "RunningJobs",
    "SpaceSharing",
    "SpeedTable",
    "System",
    "TimeLaw",
    "TimeSharing",
    "Workload",
    "best_policies",
    "capacity",
    "default_candidates",
    "find_policy",
    "parse_policy",
    "predict",
    "recommend",
    "register",
    "work_bound",
]
