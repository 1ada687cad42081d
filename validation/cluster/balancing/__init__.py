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
from validation.cluster.balancing.built_in import (
    IOCMPM,
    IOCMRE,
    Batch,
    CPUBased,
    MemoryBased,
    NoBalancing,
)

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
