"""The CPU-based balancer: numbers of tasks alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from validation.cluster.balancing.base import RuleBalancer, register


@register
@dataclass(frozen=True)
class CPUBased(RuleBalancer):
    """Starts by numbers of tasks alone."""

    name: ClassVar[str] = "CPU"
    balances_tasks: ClassVar[bool] = True
