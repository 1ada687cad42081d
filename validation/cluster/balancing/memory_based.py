"""The memory-based balancer: memory first, then numbers of tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from validation.cluster.balancing.base import RuleBalancer, register


@register
@dataclass(frozen=True)
class MemoryBased(RuleBalancer):
    """Starts by memory, else by numbers of tasks; blind to disk accesses."""

    name: ClassVar[str] = "memory"
    balances_memory: ClassVar[bool] = True
    balances_tasks: ClassVar[bool] = True
