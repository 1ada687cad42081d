"""One measured run: its fields, what they may hold, and what a file of runs is read into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from qmodels.errors import TraceFormatError

COLUMNS = ("program", "phase", "kind", "p", "d", "seconds")
OPTIONAL = "repeat"
KINDS = ("io", "cpu")

MAX_NAME = 200
LEAST_ALLOTMENTS = 3
SHORTEST, LONGEST = 1e-18, 1e18
MOST = 999_999_999


class MeasuredRun(NamedTuple):
    """A line of a table of runs: one burst timed on one allotment."""

    program: str
    phase: int
    kind: str
    p: int
    d: int
    seconds: float
    repeat: int


def is_name(value: object) -> bool:
    """Whether a program may be called so."""
    return isinstance(value, str) and 0 < len(value) <= MAX_NAME and value.isprintable()


def check_allotments(file: str, runs: Sequence[MeasuredRun], lines: Mapping[str, int]) -> None:
    """Raise TraceFormatError for a program measured on too few allotments to learn from.

    `lines` has the line of each program's first run.
    """
    allotments: dict[str, set[tuple[int, int]]] = {}
    for run in runs:
        allotments.setdefault(run.program, set()).add((run.p, run.d))
    for name, found in allotments.items():
        if len(found) < LEAST_ALLOTMENTS:
            raise TraceFormatError(
                file,
                f"program {name!r} was measured on {len(found)} allotments (p, d); at least "
                f"{LEAST_ALLOTMENTS} distinct ones are needed",
                line=lines[name],
            )
