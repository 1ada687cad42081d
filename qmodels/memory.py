"""How much memory and time a solver will take, known before any of it is spent."""

from __future__ import annotations

import os
from typing import Final

from phasefit.checks import real_number
from qmodels.errors import MemoryBudgetError

#: Share of the machine's memory that a solver may take by default.
_SHARE: Final = 0.5
#: Seconds of computing that are begun unasked; with `memory` given any number.
MOST_SECONDS: Final = 30.0
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


def check_seconds(what: str, needed: float, memory: float | None, fix: str) -> None:
    """MemoryBudgetError if some `needed` seconds of computing are more than are begun unasked.

    Whoever gives `memory` has chosen how large a chain may be, and is not held up.
    """
    if memory is None and not needed <= MOST_SECONDS:
        raise MemoryBudgetError(
            f"{what} would take some {needed:,.0f} s of computing, more than the "
            f"{MOST_SECONDS:g} s that are begun unasked; {fix}, or give memory, the bytes that it "
            f"may take, and wait"
        )
