"""No balancing at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from validation.cluster.balancing.base import RuleBalancer, register


@register
@dataclass(frozen=True)
class NoBalancing(RuleBalancer):
    """No balancing: every task runs where its job was sent."""

    name: ClassVar[str] = "NLB"
