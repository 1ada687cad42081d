"""Measured runs in tables with other columns: what each holds, and what is not known without it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from qmodels.errors import ModelError, TraceFormatError
from qmodels.io.column_maps import checked_map, name_column
from qmodels.io.run_table import COLUMNS, MAX_NAME, NODES, OPTIONAL, check_columns, is_name

KEYS = (*COLUMNS, OPTIONAL, NODES)

_EXAMPLE = "p = 'nprocs', seconds = 'walltime_s'"
_NEEDED = {"p": "processors", "seconds": "seconds"}
#: What such columns are often called, without what is no letter.
_USUAL = {
    "p": (
        "p",
        "np",
        "nprocs",
        "procs",
        "processors",
        "ranks",
        "nranks",
        "cores",
        "ncores",
        "ntasks",
    ),
    "seconds": (
        "seconds",
        "walltimes",
        "walltime",
        "times",
        "time",
        "elapsed",
        "runtime",
        "wallclock",
        "elapseds",
        "runtimes",
        "duration",
    ),
}


@dataclass(frozen=True)
class RunColumns:
    """Which column of a table holds what of a run.

    Parameters
    ----------
    names : mapping
        From keys of a run, `KEYS`, to names of columns; empty where these are the same.
    """

    names: Mapping[str, str]

    @classmethod
    def given(cls, columns: object) -> RunColumns:
        """Return the map that was given; ModelError if it is none."""
        return cls(checked_map(columns, KEYS, _EXAMPLE))

    def looked_for(self) -> tuple[str, ...]:
        """Names that the header should have."""
        return tuple(self.names.values()) or KEYS

    def check(self, file: str, header: list[str], line: int) -> None:
        """Raise TraceFormatError unless the header has these columns."""
        if not self.names:
            try:
                check_columns(header)
            except ModelError as error:
                raise TraceFormatError(file, f"{error}{_offer(header)}", line=line) from None
            return
        for key, what in _NEEDED.items():
            if key not in self.names:
                raise TraceFormatError(
                    file, f"no column is named for the {what}: add {key}=NAME to the map of columns"
                )
        for name in self.names.values():
            if name not in header:
                raise name_column(file, name, header)

    def fields(
        self, file: str, header: Sequence[str], rows: Iterator[tuple[int, list[str]]]
    ) -> Iterator[tuple[int, dict[str, str]]]:
        """Yield the fields of each run by what they hold; what no column has is one burst's."""
        name = Path(file).stem[:MAX_NAME]
        known = {"program": name if is_name(name) else "program", "phase": "1", "kind": "io"}
        known["d"] = "1"
        times: Counter[tuple[str, ...]] = Counter()
        for line, row in rows:
            cells = dict(zip(header, row, strict=True))
            if not self.names:
                yield line, cells
                continue
            run = known | {key: cells[column] for key, column in self.names.items()}
            if OPTIONAL not in self.names:
                which = tuple(run[key] for key in COLUMNS[:-1])
                times[which] += 1
                run[OPTIONAL] = str(times[which])
            yield line, run

    def notes(self) -> tuple[str, ...]:
        """Say what cannot be learnt from such a table, a sentence each."""
        if not self.names:
            return ()
        found = []
        if "kind" not in self.names:
            found.append(
                "These are times of whole runs, which cannot tell I/O from computation: each is "
                "taken as one burst of I/O, which may need processors and disks both."
            )
        if "d" not in self.names:
            found.append(
                "The table has no disks: all runs are taken to have had the same, and what more "
                "of them would do cannot be learnt from it."
            )
        return tuple(found)


def _offer(header: Sequence[str]) -> str:
    """Say how another table is read, with its own columns where they can be guessed."""
    letters = {name: "".join(filter(str.isalpha, name.lower())) for name in header}
    chosen = {
        key: next((name for name in header if letters[name] in usual), None) for key, usual in _USUAL.items()
    }
    if None in chosen.values():
        return ""
    named = ",".join(f"{key}={name[:40]}" for key, name in chosen.items() if name)
    return f"; for a table of whole runs say which columns are which: --columns {named}"
