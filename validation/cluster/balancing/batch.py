"""The batch system: jobs wait for nodes of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from validation.cluster.balancing.base import RuleBalancer, register


@register
@dataclass(frozen=True)
class Batch(RuleBalancer):
    """First come, first served; the free nodes of lowest number, at no cost."""

    name: ClassVar[str] = "BS"
    dedicated: ClassVar[bool] = True
