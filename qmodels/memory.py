"""How much memory a solver will take, known before any of it is allocated."""

from __future__ import annotations

import os
from typing import Final

from phasefit.checks import real_number
from qmodels.errors import MemoryBudgetError

#: Share of the machine's memory that a solver may take by default.
_SHARE: Final = 0.5
#: What helps where laws and a population decide the size of a chain.
FEWER_STATES: Final = "take laws of fewer phases, a smaller population, or raise memory"


def memory_limit(memory: float | None = None) -> float:
    """Bytes that may be taken: `memory`, or half of the machine's."""
    if memory is not None:
        return real_number("memory", memory, above=0.0)
    return _SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def check_memory(what: str, needed: float, limit: float, fix: str = "raise memory") -> None:
    """MemoryBudgetError if the bytes `needed` exceed the `limit`."""
    if not needed <= limit:
        raise MemoryBudgetError(
            f"{what} would take {needed / 1e9:.3g} GB, more than the {limit / 1e9:.3g} GB allowed; "
            f"{fix}"
        )
