"""IOCM-PM: as IOCM-RE, and running tasks leave nodes that are overloaded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from validation.cluster.balancing.base import RuleBalancer, register


@register
@dataclass(frozen=True)
class IOCMPM(RuleBalancer):
    """As IOCM-RE; when a job comes, tasks that gain leave its nodes where these are overloaded."""

    name: ClassVar[str] = "IOCM-PM"
    balances_io: ClassVar[bool] = True
    balances_memory: ClassVar[bool] = True
    balances_tasks: ClassVar[bool] = True
    informed: ClassVar[bool] = True
    preempts: ClassVar[bool] = True
