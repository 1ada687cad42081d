"""The batch system: jobs wait for nodes of their own."""

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
