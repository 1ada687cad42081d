"""Folders of traces: which files are one run, and what their names say it ran on."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from qmodels.errors import TraceFormatError
from qmodels.io._trace_text import beginning
from qmodels.io.traces import COLUMNS, EVENT_FILES

LOGS = (".darshan",)
TIMELINES = (".csv", ".csv.gz")

_MOST_FILES = 10_000
_ALLOTMENT = re.compile(
    r"(?:(?P<program>.*?)[._-])??(?P<sizes>[pd][0-9]{1,9}(?:[._-]?[pd][0-9]{1,9})?)"
    r"(?:[._-]?r(?P<repeat>[0-9]{1,9}))?",
    re.ASCII,
)
_RANKS = re.compile(r"-of-([0-9]{1,9})(?![0-9])", re.ASCII)


@dataclass(frozen=True)
class NamedRun:
    """What the name of a file or folder says of a run, as Extra-P writes it: `prefix.p8d4.r1`.

    Parameters
    ----------
    program : str
        The prefix; empty where there is none.
    processors, disks, repeat : int, optional

    Examples
    --------
    >>> NamedRun.parse("solver.p8d4.r1")
    NamedRun(program='solver', processors=8, disks=4, repeat=1)
    """

    program: str = ""
    processors: int | None = None
    disks: int | None = None
    repeat: int | None = None

    @classmethod
    def parse(cls, name: str) -> NamedRun:
        """Read a name, without the ending of a file; one that says nothing gives nothing."""
        match = _ALLOTMENT.fullmatch(name)
        if match is None:
            return cls()
        sizes = re.findall(r"([pd])([0-9]+)", match["sizes"])
        found = {letter: int(number) for letter, number in sizes}
        # A name like `p8p4` says two things of one; p without d is what most names say.
        if len(found) < len(sizes) or "p" not in found or 0 in found.values():
            return cls()
        repeat = match["repeat"]
        return cls(match["program"] or "", found["p"], found.get("d"), int(repeat) if repeat else None)


@dataclass(frozen=True)
class RunFiles:
    """One trace in a folder: a file, or the folder of the files of its processes.

    Parameters
    ----------
    path : str
    named : NamedRun
        What its name says.
    ranks : int, optional
        Processes by the names of the files, such as ``trace-0-of-4.pfw``.
    """

    path: str
    named: NamedRun
    ranks: int | None = None


def find_runs(folder: str) -> list[RunFiles]:
    """List the traces of a folder, in the order of their names.

    Parameters
    ----------
    folder : str
        With Darshan logs, or timelines (CSV), one for each run; or with a folder for each run, of
        such a file or of the trace events of its processes. Trace events beside each other are
        taken for runs only where their names say so (`solver.p8d4.r1.pfw`), for DFTracer writes
        a file for each process.

    Raises
    ------
    TraceFormatError
        If it cannot be read, has no trace, or more than 10,000 files.
    """
    top, below = _listed(folder)
    runs = [run for name in top for run in _of_file(folder, name)]
    events = [name for name in top if _holds_events(folder, name)]
    named = {name: NamedRun.parse(_stem(name)) for name in events}
    if events and any(each.processors is None for each in named.values()):
        raise TraceFormatError(
            folder,
            f"has {len(events)} file{'s' if len(events) > 1 else ''} of trace events side by side, "
            f"which are the processes of one run; give each run a folder of its own, such as "
            f"solver.p8d4.r1 for 8 processors, 4 disks and the first of its repeats",
        )
    runs += [RunFiles(os.path.join(folder, name), named[name]) for name in events]
    for name in below:
        runs += _of_folder(os.path.join(folder, name), name)
    if not runs:
        raise TraceFormatError(folder, _without_trace(top))
    return sorted(runs, key=lambda run: _natural(run.path))


def _without_trace(files: list[str]) -> str:
    """Say why none of these files is a trace."""
    tables = [name for name in files if name.lower().endswith(TIMELINES)]
    if tables:
        return (
            f"has no trace: {tables[0][:60]} has no columns {', '.join(sorted(COLUMNS))}; a table "
            f"of measured runs is given by its own name, not by that of its folder"
        )
    endings = ", ".join((*LOGS, *EVENT_FILES, *TIMELINES))
    return f"has no trace: no file that ends in {endings}"


def is_one_run(folder: str) -> bool:
    """Whether a folder holds trace events of the processes of one run, and not several runs."""
    events = [name for name in _listed(folder)[0] if _holds_events(folder, name)]
    return any(NamedRun.parse(_stem(name)).processors is None for name in events)


def _of_folder(folder: str, name: str) -> Iterator[RunFiles]:
    """The run of a folder, or its runs where it holds several Darshan logs."""
    files, _ = _listed(folder)
    named = NamedRun.parse(name)
    events = [file for file in files if _holds_events(folder, file)]
    if events:
        declared = {int(n) for file in events for n in _RANKS.findall(file)}
        ranks = declared.pop() if len(declared) == 1 else None
        yield RunFiles(folder, named, ranks or None)
    for file in files:
        for run in _of_file(folder, file):
            known = run.named if run.named.processors is not None else named
            yield RunFiles(run.path, known)


def _of_file(folder: str, name: str) -> Iterator[RunFiles]:
    path = os.path.join(folder, name)
    lower = name.lower()
    if lower.endswith(LOGS) or (lower.endswith(TIMELINES) and _is_timeline(path)):
        yield RunFiles(path, NamedRun.parse(_stem(name)))


def _holds_events(folder: str, name: str) -> bool:
    """Whether a file has trace events; JSON may be anything else as well."""
    lower = name.lower()
    if not lower.endswith(EVENT_FILES):
        return False
    if not lower.endswith((".json", ".json.gz")):
        return True
    start = beginning(os.path.join(folder, name), 4096)
    return b'"ph"' in start or b'"traceEvents"' in start


def _is_timeline(path: str) -> bool:
    """Whether a CSV file has the columns of a timeline; others may lie beside the traces."""
    header = beginning(path, 1000).decode("utf-8-sig", errors="replace").partition("\n")[0]
    return set(COLUMNS) <= {field.strip(' "\r') for field in header.split(",")}


def _listed(folder: str) -> tuple[list[str], list[str]]:
    """Files and folders in a folder, hidden ones left out."""
    files: list[str] = []
    folders: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for number, entry in enumerate(entries):
                if number > _MOST_FILES:
                    raise TraceFormatError(folder, f"has more than {_MOST_FILES} files")
                if not entry.name.startswith("."):
                    (folders if entry.is_dir() else files).append(entry.name)
    except OSError as error:
        raise TraceFormatError.unreadable(folder, error) from None
    return sorted(files), sorted(folders)


def _stem(name: str) -> str:
    for ending in (*LOGS, *EVENT_FILES, *TIMELINES):
        if name.lower().endswith(ending):
            return name[: -len(ending)]
    return name


def _natural(path: str) -> list[tuple[bool, int, str]]:
    """Order in which p8 comes before p16."""
    pieces = re.split(r"([0-9]{1,18})", path)
    return [(x.isdigit(), int(x) if x.isdigit() else 0, x) for x in pieces]
