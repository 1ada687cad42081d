"""How much memory a solver will take, known before any of it is allocated."""

from __future__ import annotations

import os
from typing import Final

from phasefit.checks import real_number, whole_number
from qmodels.errors import MemoryBudgetError, ModelError

#: Share of the machine's memory that a solver may take unless told otherwise.
_SHARE: Final = 0.5
#: Bytes for a rate that is stored: the value and an index of four bytes.
_RATE: Final = 12.0
#: Vectors over the states that an iteration holds at its peak.
_VECTORS: Final = 16.0


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


def estimate_bytes(states: int, transitions: int, *, method: str = "iterative") -> float:
    """Bytes that `solve_chain` takes beside the rates it is given, at its peak.

    Parameters
    ----------
    states, transitions : int
        Size of the chain and number of its rates above zero.
    method : {"iterative", "gth"}
        What a "direct" solution takes depends on the levels; see `solve_block_tridiagonal`.

    Returns
    -------
    float
        Within a factor of two of what is measured from ten thousand states on.

    Raises
    ------
    ModelError
        If a number is negative or the method is another one.

    Examples
    --------
    A chain of 1.2 million states and 14 million rates:

    >>> print(f"{estimate_bytes(1_200_000, 14_000_000) / 1e9:.2f} GB")
    0.32 GB
    """
    n = whole_number("states", states, least=0)
    rates = whole_number("transitions", transitions, least=0)
    if method == "iterative":
        return _RATE * rates + 8.0 * _VECTORS * n
    if method == "gth":
        return 24.0 * float(n) * n + 24.0 * rates
    raise ModelError(f'method must be "iterative" or "gth", got {method!r:.60}')
