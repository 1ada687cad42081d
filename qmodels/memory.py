"""Memory and time that a solver will take, known before any of it is spent, and what was."""

from __future__ import annotations

import os
import resource
import sys
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
    """Return the bytes that may be taken.

    Parameters
    ----------
    memory : float, optional
        Bytes; by default half of the machine's.
    """
    if memory is not None:
        return real_number("memory", memory, above=0.0)
    return _SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def check_memory(what: str, needed: float, limit: float, fix: str = "raise memory") -> None:
    """Check that what is needed is allowed.

    Parameters
    ----------
    what : str
        Subject of the message.
    needed : float
        Bytes.
    limit : float
        Bytes allowed.
    fix : str
        Advice at the end of the message.

    Raises
    ------
    MemoryBudgetError
        If more is needed than allowed.
    """
    if not needed <= limit:
        raise MemoryBudgetError(
            f"{what} would take {needed / 1e9:.3g} GB, more than the {limit / 1e9:.3g} GB allowed; {fix}"
        )


def check_seconds(
    what: str, needed: float, memory: float | None, fix: str, most: float = MOST_SECONDS
) -> None:
    """Check that computing does not take longer than is begun unasked.

    Whoever gives `memory` has chosen how large a chain may be, and is not held up.

    Parameters
    ----------
    what : str
        Subject of the message.
    needed : float
        About the seconds of computing.
    memory : float or None
        As the caller's user gave it.
    fix : str
        Advice at the end of the message.
    most : float
        Seconds that are begun unasked.

    Raises
    ------
    MemoryBudgetError
        If it takes longer, and `memory` is None.
    """
    if memory is None and not needed <= most:
        raise MemoryBudgetError(
            f"{what} would take some {needed:,.0f} s of computing, more than the "
            f"{most:g} s that are begun unasked; {fix}, or give memory, the bytes that it "
            f"may take, and wait"
        )


def peak_memory() -> int:
    """Return the most bytes that this process, or one that it waited for, has held so far."""
    used = max(
        resource.getrusage(whose).ru_maxrss for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return used if sys.platform == "darwin" else 1024 * used


def spent_in_words() -> str:
    """Return a sentence on what this process and those that it started have spent so far.

    Examples
    --------
    >>> spent_in_words().startswith("By then the process had spent ")
    True
    """
    used = os.times()
    seconds = used.user + used.system + used.children_user + used.children_system
    return (
        f"By then the process had spent {seconds:.3g} s of processor time and held at most "
        f"{peak_memory() / 1e6:.3g} MB of memory."
    )
