"""The CPU-based balancer: numbers of tasks alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from validation.cluster.balancing.base import RuleBalancer, register


@register
@dataclass(frozen=True)
class CPUBased(RuleBalancer):
    """Rule 3 alone, response times judged by numbers of tasks."""

    name: ClassVar[str] = "CPU"
    balances_tasks: ClassVar[bool] = True
