"""Balancers: which node of a cluster a job goes to."""

from validation.cluster.balancing.base import (
    BALANCERS,
    AbstractBalancer,
    ClusterView,
    Job,
    Move,
    RuleBalancer,
    RunningTask,
    find_balancer,
    register,
)
from validation.cluster.balancing.batch import Batch
from validation.cluster.balancing.cpu_based import CPUBased
from validation.cluster.balancing.iocm_pm import IOCMPM
from validation.cluster.balancing.iocm_re import IOCMRE
from validation.cluster.balancing.memory_based import MemoryBased
from validation.cluster.balancing.no_balancing import NoBalancing

__all__ = [
    "BALANCERS",
    "IOCMPM",
    "IOCMRE",
    "AbstractBalancer",
    "Batch",
    "CPUBased",
    "ClusterView",
    "Job",
    "MemoryBased",
    "Move",
    "NoBalancing",
    "RuleBalancer",
    "RunningTask",
    "find_balancer",
    "register",
]
