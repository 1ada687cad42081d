"""Programs of two tables of measured runs that are two releases of one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from phasefit.checks import suggestion
from qmodels.errors import ModelError
from qmodels.programs.phase_names import burst_names

if TYPE_CHECKING:
    import pandas as pd


class MeasuredRuns(Protocol):
    """Table of runs as a comparison needs it: a `qmodels.io.runs.RunTable`."""

    @property
    def frame(self) -> pd.DataFrame:
        """Columns program, phase, kind, p, d, seconds, repeat."""

    @property
    def source(self) -> str:
        """File or folder that it was read from; empty where there is none."""


def matched_programs(
    old: MeasuredRuns, new: MeasuredRuns, program: str | None
) -> Iterator[tuple[str, pd.DataFrame, pd.DataFrame]]:
    """Yield the name of each program of both tables, and its runs in each.

    Parameters
    ----------
    old, new : MeasuredRuns
        Programs are matched by name. One in each that is called like its file or folder, because
        nothing else named it, is matched whatever the files are called.
    program : str or None
        Only this one; ``"OLD=NEW"`` where the releases have different names.

    Raises
    ------
    ModelError
        If the tables have no such program in common.
    """
    sides = [
        {str(name): runs for name, runs in table.frame.groupby("program", sort=False)} for table in (old, new)
    ]
    if program is not None and not all(program in side for side in sides):
        was, renamed, now = program.partition("=")
        if renamed and was in sides[0] and now in sides[1]:
            yield now, sides[0][was], sides[1][now]
            return
        common = sorted(set(sides[0]) & set(sides[1]))
        hint = suggestion(program, common)
        if renamed or not common:
            hint = "; ".join(
                f"the {which} one has {', '.join(side)}"
                for which, side in zip(("old", "new"), sides, strict=True)
            )
        raise ModelError(f"no program {program[:60]!r} in both tables; {hint}")
    names = [name for name in sides[1] if name in sides[0] and program in (None, name)]
    if not names and len(sides[0]) == len(sides[1]) == 1:
        (was,), (now,) = sides
        if not (_is_file_name(was, old) and _is_file_name(now, new)):
            raise ModelError(
                f"the old table has program {was[:60]!r} and the new one {now[:60]!r}: two "
                f"programs are not two releases of one; if these are, say --program OLD=NEW with "
                f"the two names"
            )
        yield now, sides[0][was], sides[1][now]
        return
    if not names:
        raise ModelError("the tables have no program in common; name them alike")
    for name in names:
        yield str(name), sides[0][name], sides[1][name]


def with_common_phases(
    name: str, before: pd.DataFrame, after: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame, dict[tuple[Any, Any], str]]:
    """Return runs whose phases have the same numbers where they have the same names, and the names.

    Parameters
    ----------
    name : str
        Of the program.
    before, after : DataFrame
        Its runs in both tables.

    Raises
    ------
    ModelError
        If only one table has names, or the runs are of several sizes.
    """
    sizes = {size for runs in (before, after) for size in runs.get("work", [1.0])}
    if len(sizes) > 1:
        raise ModelError(
            f"the runs of {name!r} are of {len(sizes)} sizes (column work); compare tables of one size each"
        )
    named = ["phase_name" in runs for runs in (before, after)]
    if not any(named):
        return before, after, {}
    if not all(named):
        which = "old" if named[0] else "new"
        raise ModelError(f"only the {which} table has names for the phases of {name!r}; name those of both")
    numbers: dict[str, int] = {}
    for runs in (before, after):
        for phase in runs["phase_name"]:
            numbers.setdefault(str(phase), len(numbers) + 1)
    before, after = (runs.assign(phase=runs["phase_name"].map(numbers)) for runs in (before, after))
    return before, after, burst_names(before) | burst_names(after)


def _is_file_name(program: str, table: MeasuredRuns) -> bool:
    """Return whether a program is called like its file, because nothing else named it."""
    path = Path(table.source)
    return program in (path.name, path.stem)
