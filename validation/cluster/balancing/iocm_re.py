"""IOCM-RE: disks, memory and CPUs balanced by starting jobs elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from validation.cluster.balancing.base import RuleBalancer, register


@register
@dataclass(frozen=True)
class IOCMRE(RuleBalancer):
    """All three rules, each task where its response time is shortest by all resources."""

    name: ClassVar[str] = "IOCM-RE"
    balances_io: ClassVar[bool] = True
    balances_memory: ClassVar[bool] = True
    balances_tasks: ClassVar[bool] = True
    informed: ClassVar[bool] = True
