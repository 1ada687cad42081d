"""IOCM-RE: disks, memory and CPUs balanced by starting jobs elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from validation.cluster.balancing.base import RuleBalancer, register


@register
@dataclass(frozen=True)
class IOCMRE(RuleBalancer):
    """Starts where disks are least loaded; where nobody does I/O by memory, else by tasks."""

    name: ClassVar[str] = "IOCM-RE"
    balances_io: ClassVar[bool] = True
    balances_memory: ClassVar[bool] = True
    balances_tasks: ClassVar[bool] = True
    informed: ClassVar[bool] = True
