"""Measured runs in tables with other columns: what each holds, and what is not known without it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from qmodels.errors import ModelError, TraceFormatError
from qmodels.io.column_maps import checked_map, name_column
from qmodels.io.run_table import COLUMNS, MAX_NAME, NODES, OPTIONAL, WORK, check_columns, is_name

KEYS = (*COLUMNS, OPTIONAL, NODES, WORK)

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
        "tasks",
        "processes",
        "threads",
        "cpus",
        "ncpus",
        "gpus",
        "workers",
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
        "makespan",
        "total",
        "secs",
        "wall",
    ),
    "phase": ("phase", "section", "region", "timer", "part"),
    "nodes": ("nodes", "nnodes", "numnodes"),
    "repeat": ("repeat", "run", "rep", "repetition", "trial"),
}

_SHORT = "[mµun]s|[mun]?secs?|[mu]secs?|mins?|h|hrs?|days?|d"
#: Names of columns that may hold minutes: ``wall_min``, ``wall min``, ``wallMin``.
_MINUTES = re.compile(r"(?P<what>.*?)((?i:[_ .-]min)|(?<=[a-z])Min)$")
#: Names beside which such a column holds the least, not minutes.
_SPREAD = ("max", "mean", "avg", "median")
#: Names of columns of times that are not in seconds: ``time_ms``, ``walltime [min]``, ``elapsed in hours``.
_OTHER_UNIT = re.compile(
    rf"[(\[] *(?!s(ec)?s? *[)\]])(m|{_SHORT}|\w+seconds|minutes|hours) *[)\]]| in ({_SHORT})$|/ *mins?$"
    r"|_([mun]s|[mun]secs?|hrs?)$|(milli|micro|nano)s|(^|[_ ])(minutes|hours|days)$",
    re.IGNORECASE,
)
#: Words that end such names otherwise (``time-ms``, ``wallMs``, ``t_us_mean``), those that follow a time
#: (``wall_h``), what names seconds, and what may stand behind a unit.
_UNIT = re.compile(r"[mnuµμ]s|[mnu]secs?|(milli|micro|nano)s|minutes?|mins|hours?|hrs?|days?")
_SHORT_UNIT = re.compile(r"[hd]")
_TIMES = frozenset({"t", "time", "wall", "walltime", "elapsed", "runtime", "duration"})
_SECONDS = frozenset({"s", "sec", "secs", "second", "seconds"})
_SUMMARIES = frozenset({"mean", "avg", "average", "median", "min", "max", "std", "total", "sum"})
#: Names of what grows as a program gets faster.
_RATE = re.compile(r"speed[ _-]?up|efficiency|flops|throughput|bandwidth", re.IGNORECASE)
_A_SECOND = re.compile(r"(/|per[ _-]?) *s(ec(ond)?)?$", re.IGNORECASE)
#: A time over its unit, as in tables of physics: ``t/s``.
_TIME_IN_SECONDS = re.compile(rf"(.*[^a-z])?({'|'.join(sorted(_TIMES))}) */ *s(ec)?", re.IGNORECASE)


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

    def says_kinds(self) -> bool:
        """Return whether the table says which bursts are I/O."""
        return not self.names or "kind" in self.names

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
        for key, name in self.names.items():
            for part in self.parts(header) if key == "seconds" else [name]:
                if part not in header:
                    raise name_column(file, part, header)
                if key == "seconds" and _is_no_second(part, alone=part == name):
                    raise TraceFormatError(
                        file,
                        f"the column {part!r:.60} is by its name not in seconds; convert it, and its name",
                        line=line,
                        field=part,
                    )
                if header.count(part) > 1:
                    raise TraceFormatError(file, f"has {header.count(part)} columns {part!r:.60}", line=line)

    def read(self, header: Sequence[str]) -> list[str]:
        """Return the columns that are read."""
        return [*self.names.values(), *self.parts(header)]

    def parts(self, header: Sequence[str]) -> list[str]:
        """Return the columns of seconds: one, or as many as are joined by plus signs."""
        name = self.names["seconds"]
        return [name] if name in header else [part.strip() for part in name.split("+")]

    def fields(
        self, file: str, header: Sequence[str], rows: Iterable[tuple[int, list[str]]]
    ) -> Iterator[tuple[int, dict[str, str]]]:
        """Yield the fields of each run by what they hold; what no column has is one burst's."""
        name = Path(file).stem[:MAX_NAME]
        known = {"program": name if is_name(name) else "program", "phase": "1", "kind": "io"}
        known["d"] = "1"
        times: Counter[tuple[str, ...]] = Counter()
        parts = self.parts(header) if self.names else []
        for line, row in rows:
            cells = dict(zip(header, row, strict=True))
            if not self.names:
                yield line, cells
                continue
            run = known | {key: cells[column] for key, column in self.names.items() if key != "seconds"}
            for part in parts:
                named = {"phase": part} if len(parts) > 1 else {}
                one = run | named | {"seconds": cells[part]}
                if OPTIONAL not in self.names:
                    which = tuple(one.get(key, "") for key in (*COLUMNS[:-1], NODES, WORK))
                    times[which] += 1
                    one[OPTIONAL] = str(times[which])
                yield line, one

    def notes(self, *, whole: bool) -> tuple[str, ...]:
        """Say what cannot be learnt from such a table, a sentence each.

        Parameters
        ----------
        whole : bool
            Whether its rows are whole runs as far as is known.
        """
        if not self.names:
            return ()
        found = []
        if "kind" not in self.names and whole:
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


def _is_no_second(name: str, *, alone: bool) -> bool:
    """Return whether a column is by its name not in seconds; of several that are joined, not by one word."""
    if _TIME_IN_SECONDS.fullmatch(name):
        return False
    if _OTHER_UNIT.search(name) or _A_SECOND.search(name):
        return True
    words = re.findall(r"[^\W_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())
    if _SECONDS.intersection(words):
        return False
    if "per" in words:  # seconds a nanosecond are seconds, nanoseconds a day are none
        words = words[: words.index("per")]
    while len(words) > 1 and words[-1] in _SUMMARIES:
        words.pop()
    if _RATE.search(name):
        return True
    if not words or (len(words) == 1 and not alone):
        return False
    of_a_time = bool(_TIMES.intersection(words[:-1]))
    return bool(_UNIT.fullmatch(words[-1]) or (of_a_time and _SHORT_UNIT.fullmatch(words[-1])))


def unread_note(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    read: Collection[str],
    allotment: Collection[str] = (),
) -> tuple[str, ...]:
    """Say which columns that are not read part runs on the same allotment: they may be other programs.

    Parameters
    ----------
    header : sequence of str
        Names of the columns.
    rows : sequence of sequence of str
        Their cells.
    read : collection of str
        Columns that are read.
    allotment : collection of str
        Those of them by which runs are told apart; columns of whole numbers that differ where these do not
        (threads, but no number of the repeat) are named as well.

    Returns
    -------
    notes : tuple of str
        A sentence, or none.

    Examples
    --------
    >>> rows = [["1", "9", "gcc"], ["1", "4", "icc"], ["2", "5", "gcc"], ["2", "3", "icc"]]
    >>> unread_note(["p", "s", "build"], rows, ["p", "s"])[0][:38]
    'Not read: build (2 values). Runs on th'
    """
    values = {name: [row[place] for row in rows] for place, name in enumerate(header) if name not in read}
    places = [place for place, name in enumerate(header) if name in allotment]
    runs = [tuple(row[place] for place in places) for row in rows]
    parting = {
        name: kinds
        for name, cells in values.items()
        if 1 < (kinds := len(set(cells))) <= len(rows) // 2
        and (
            name in COLUMNS
            or any(not _is_number(cell) for cell in cells)
            or (
                all(map(str.isdecimal, cells))
                and _letters(name) not in _USUAL["repeat"]
                and len(set(zip(runs, cells, strict=True))) > len(set(runs)) > 1
            )
        )
    }
    if not parting:
        return ()
    shown = ", ".join(f"{name[:40]} ({kinds} values)" for name, kinds in list(parting.items())[:4])
    first = next(iter(parting))
    return (
        f"Not read: {shown}. Runs on the same allotment count as repeats; where such a column parts programs "
        f"or settings, name it: {first if first in COLUMNS else 'program'}={first[:40]}.",
    )


def minutes_note(header: Sequence[str], read: Sequence[str]) -> tuple[str, ...]:
    """Return a remark on columns that are read as seconds and by their names may be minutes.

    Parameters
    ----------
    header : sequence of str
        Names of all columns.
    read : sequence of str
        Those that are read.

    Examples
    --------
    >>> minutes_note(["np", "wall_min"], ["np", "wall_min"])
    ('wall_min is taken for seconds, the least of several runs. If it is minutes, convert it, and its name.',)
    >>> minutes_note(["np", "t_min", "t_max"], ["np", "t_min"])
    ()
    """
    others = {_letters(name) for name in header}
    unsure = [
        name
        for name in read
        if (found := _MINUTES.match(name))
        and not any(_letters(found["what"]) + end in others for end in _SPREAD)
    ]
    return tuple(
        f"{name[:40]} is taken for seconds, the least of several runs. If it is minutes, convert it, and its "
        f"name."
        for name in unsure
    )


def _letters(name: str) -> str:
    return "".join(filter(str.isalpha, name.lower()))


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return not cell
    return True


def _offer(header: Sequence[str]) -> str:
    """Say how another table is read, with its own columns where they can be guessed."""
    letters = {name: _letters(name) for name in header}
    chosen = {
        key: next((name for name in header if letters[name] in usual), None) for key, usual in _USUAL.items()
    }
    if chosen["seconds"] is None:  # a unit may follow, which `--columns` then asks about
        long = tuple(word for word in _USUAL["seconds"] if len(word) >= 4)
        chosen["seconds"] = next((name for name in header if letters[name].startswith(long)), None)
    chosen["p"], chosen["seconds"] = chosen["p"] or "NAME", chosen["seconds"] or "NAME"
    named = ",".join(f"{key}={name[:40]}" for key, name in chosen.items() if name)
    return f"; for a table of whole runs say which columns are which: --columns {named}"
