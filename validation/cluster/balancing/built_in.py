"""The balancers of Qin and others, of those that they are compared with, and of a batch system."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from validation.cluster.balancing.base import RuleBalancer, register


@register
@dataclass(frozen=True)
class Batch(RuleBalancer):
    """A batch system: first come, first served, on nodes of one's own."""

    name: ClassVar[str] = "BS"
    dedicated: ClassVar[bool] = True


@register
@dataclass(frozen=True)
class CPUBased(RuleBalancer):
    """Starts by numbers of tasks alone."""

    name: ClassVar[str] = "CPU"
    balances_tasks: ClassVar[bool] = True


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


@register
@dataclass(frozen=True)
class IOCMRE(RuleBalancer):
    """Starts where disks are least loaded; where nobody does I/O by memory, else by tasks."""

    name: ClassVar[str] = "IOCM-RE"
    balances_io: ClassVar[bool] = True
    balances_memory: ClassVar[bool] = True
    balances_tasks: ClassVar[bool] = True
    informed: ClassVar[bool] = True


@register
@dataclass(frozen=True)
class MemoryBased(RuleBalancer):
    """Starts by memory, else by numbers of tasks; blind to disk accesses."""

    name: ClassVar[str] = "memory"
    balances_memory: ClassVar[bool] = True
    balances_tasks: ClassVar[bool] = True


@register
@dataclass(frozen=True)
class NoBalancing(RuleBalancer):
    """No balancing: every task runs where its job was sent."""

    name: ClassVar[str] = "NLB"
