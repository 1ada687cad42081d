"""Traces of many runs, in folders, as tables of measured runs."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phasefit.checks import one_of, whole_number
from phasefit.records import Record
from qmodels.errors import ModelError, TraceFormatError
from qmodels.io._trace_text import beginning
from qmodels.io.darshan import MODULES, POSIX, is_darshan
from qmodels.io.event_kinds import EventKinds
from qmodels.io.run_table import (
    LEAST_ALLOTMENTS,
    MAX_NAME,
    MOST,
    MeasuredRun,
    RunTable,
    allotments_of,
    is_name,
    make_table,
)
from qmodels.io.trace_folders import RunFiles, find_runs
from qmodels.io.traces import read_trace
from qmodels.programs.bursts import common_phases
from qmodels.programs.traces import IOTotals, RunOrigin, StorageTargets, Trace
from qmodels.progress import Progress, no_progress
from qmodels.words import first_names

_MOST_SAID = 3  # runs named in a remark, and warnings of single runs shown
_UNEVEN = 0.8  # effective targets over distinct ones, below which it is told


@dataclass(frozen=True)
class TracedRuns(Record):
    """A table of runs made of traces, and how.

    Parameters
    ----------
    table : RunTable
    remarks : tuple of str
        What was taken for granted or left out, a sentence each.
    """

    table: RunTable
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class RunChoices(Record):
    """What a folder of traces does not tell and has to be said.

    Parameters
    ----------
    disks : int, optional
        That every run had, before what a log says of its storage; a name that says d decides.
    gap : float, optional
        Threshold between two bursts for all runs, as in `common_phases`.
    module : str
        Layer of Darshan logs, as in `read_darshan`.
    events : tuple of (str, str)
        Pattern and kind of trace events, as in `read_trace`.
    max_bytes : int, optional
        Of each trace's text, as in `read_trace`.
    """

    disks: int | None = None
    gap: float | None = None
    module: str = POSIX
    events: tuple[tuple[str, str], ...] = ()
    max_bytes: int | None = None

    def __post_init__(self) -> None:
        if self.disks is not None and whole_number("disks", self.disks, least=1) > MOST:
            raise ModelError(f"disks must be at most {MOST}, got {self.disks}")
        one_of("module", self.module, MODULES)
        EventKinds(dict(self.events))


@dataclass(frozen=True, eq=False)
class _Run:
    """A trace that was read, and what it ran on."""

    files: RunFiles
    trace: Trace
    program: str
    processors: int
    disks: int
    repeat: int | None
    by_log: bool  #: whether the log decided the disks


def read_traced_runs(
    *folders: str | os.PathLike[str],
    choices: RunChoices | None = None,
    progress: Progress = no_progress,
) -> tuple[TracedRuns, ...]:
    r"""Make tables of measured runs of folders of traces, one table for each folder.

    Parameters
    ----------
    *folders : path_like
        See `find_runs`. Those of several folders, such as of two releases, are parted into the
        same phases.
    choices : RunChoices, optional
    progress : callable, optional
        See `qmodels.progress`.

    Returns
    -------
    tables : tuple of TracedRuns

    Raises
    ------
    TraceFormatError
        If a folder or a trace in it cannot be read, or does not tell what its run had.
    ModelError
        If there are fewer than three allotments of every program.

    Notes
    -----
    The processors of a run are its processes. Disks are what the name of the run says
    (``solver.p8d4.r1``), else `RunChoices.disks`, else the storage targets of a Darshan log that
    hold a byte. Programs are told apart by the name, else by the executable. Darshan writes a log
    for each process of a program without MPI: such logs of one job that overlap in time are
    joined to one run. Phases are those of `common_phases`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for p in (1, 2, 4):
    ...         rows = [f"{r},{t},{t + 2 / p},write" for r in range(p) for t in (0, 20 / p)]
    ...         text = "\n".join(["rank,start,end,kind", *rows])
    ...         _ = (Path(folder) / f"solver.p{p}d1.csv").write_text(text)
    ...     (found,) = read_traced_runs(folder)
    >>> found.table.frame.groupby("p")["seconds"].sum().tolist()
    [22.0, 11.0, 5.5]
    """
    chosen = choices or RunChoices()
    listed = [[(i, run) for run in find_runs(os.fspath(f))] for i, f in enumerate(folders)]
    todo = [entry for entries in listed for entry in entries]
    names = [os.path.abspath(os.fspath(folder)) for folder in folders]
    remarks: list[list[str]] = [[] for _ in folders]
    read: list[list[tuple[RunFiles, Trace]]] = [[] for _ in folders]
    for number, (i, files) in enumerate(todo):
        progress("traces", number, len(todo))
        read[i].append((files, _read(files, chosen)))
    progress("traces", len(todo), len(todo))
    runs = []
    for i, found in enumerate(read):
        joined = list(_joined(found, remarks[i]))
        remarks[i] += _warned(joined)
        runs.append([_settled(*one, os.path.basename(names[i]), chosen) for one in joined])
        remarks[i] += _about_storage(runs[-1])
    rows = _rows(runs, chosen, remarks)
    tables = []
    for i, folder in enumerate(folders):
        kept = _enough(os.fspath(folder), rows[i], remarks[i])
        table = make_table(kept, os.fspath(folder))
        tables.append(TracedRuns(table, tuple(dict.fromkeys(remarks[i]))))
    return tuple(tables)


def _read(files: RunFiles, chosen: RunChoices) -> Trace:
    rules = dict(chosen.events)
    if os.path.isdir(files.path) or not is_darshan(beginning(files.path, 16, unpacked=False)):
        return read_trace(files.path, events=rules, max_bytes=chosen.max_bytes)
    return read_trace(files.path, module=chosen.module)


def _joined(found: list[tuple[RunFiles, Trace]], remarks: list[str]) -> Iterator[tuple[RunFiles, Trace]]:
    """Give runs; logs of single processes of one job that ran at the same time make one."""
    parts: dict[tuple[str, str], list[tuple[RunFiles, Trace]]] = {}
    for files, trace in found:
        origin = trace.origin
        if origin is None or not origin.job or trace.processes > 1 or not origin.start:
            yield files, trace
            continue
        parts.setdefault((origin.job, origin.program), []).append((files, trace))
    for (job, program), logs in parts.items():
        for together in _overlapping(logs):
            if len(together) == 1:
                yield together[0]
                continue
            remarks.append(
                f"{len(together)} logs of one process each of {program or 'a program'} in job "
                f"{job} overlap in time and are taken for one run on {len(together)} processors; "
                f"their clocks are taken to agree."
            )
            yield together[0][0], _one_run([trace for _, trace in together])


def _overlapping(
    logs: list[tuple[RunFiles, Trace]],
) -> Iterator[list[tuple[RunFiles, Trace]]]:
    """Part logs of one job into those that ran side by side, half of the shorter at least."""
    logs = sorted(logs, key=lambda log: _began(log[1]))
    group: list[tuple[RunFiles, Trace]] = []
    end = 0.0
    for log in logs:
        begin, seconds = _began(log[1]), log[1].duration
        if group and end - begin < 0.5 * min(seconds, end - _began(group[0][1])):
            yield group
            group = []
        end = max(end, begin + seconds) if group else begin + seconds
        group.append(log)
    if group:
        yield group


def _began(trace: Trace) -> float:
    return 0.0 if trace.origin is None else trace.origin.start


def _one_run(traces: Sequence[Trace]) -> Trace:
    """Join the traces of processes that ran side by side."""
    first = min(_began(trace) for trace in traces)
    shifts = [_began(trace) - first for trace in traces]
    totals = [trace.totals for trace in traces]
    joined = None
    if all(each is not None for each in totals):
        columns = {
            name: np.concatenate([getattr(each, name) for each in totals])
            for name in IOTotals.__dataclass_fields__
        }
        ranks = [np.full(each.rank.size, k) for k, each in enumerate(totals) if each is not None]
        joined = IOTotals(**(columns | {"rank": np.concatenate(ranks)}))
    timed = all(trace.complete for trace in traces)
    if not timed and joined is None:
        raise TraceFormatError(traces[0].source, "has neither a timeline nor counters")

    def segments(parts: Iterable[NDArray[Any]]) -> NDArray[Any]:
        return np.concatenate(list(parts))[: None if timed else 0]

    pairs = list(zip(traces, shifts, strict=True))
    origin = traces[0].origin
    assert origin is not None
    return Trace(
        segments(np.full(trace.start.size, k) for k, trace in enumerate(traces)),
        segments(trace.start + shift for trace, shift in pairs),
        segments(trace.end + shift for trace, shift in pairs),
        segments(trace.kind for trace in traces),
        processes=len(traces),
        duration=max(trace.duration + shift for trace, shift in pairs),
        bytes=segments(trace.bytes for trace in traces),
        source=traces[0].source,
        warnings=tuple(dict.fromkeys(w for trace in traces for w in trace.warnings)),
        resolution=max(trace.resolution for trace in traces),
        complete=timed,
        totals=joined,
        origin=replace(origin, targets=_all_targets(traces)),
    )


def _all_targets(traces: Sequence[Trace]) -> StorageTargets | None:
    found = [t.origin.targets for t in traces if t.origin is not None and t.origin.targets]
    if not found:
        return None
    return StorageTargets(
        np.concatenate([each.number for each in found]),
        np.concatenate([each.bytes for each in found]),
        sum(each.elsewhere for each in found),
    )


def _settled(files: RunFiles, trace: Trace, folder: str, chosen: RunChoices) -> _Run:
    """Decide what a run had, by its name, by what was said, by its log."""
    named = files.named
    origin = trace.origin or RunOrigin()
    disks = named.disks or chosen.disks
    by_log = disks is None
    if disks is None and origin.targets is not None:
        disks = origin.targets.distinct or None
    if disks is None:
        raise TraceFormatError(
            files.path,
            "does not tell how many disks (storage targets, OSTs) the run had: it has no record of "
            "a Lustre layout; name it like solver.p8d4.r1 for 8 processors, 4 disks and the first "
            "repeat, or say by --on-disks (RunChoices.disks) how many all runs had",
        )
    program = named.program or origin.program or folder
    program = program[:MAX_NAME] if is_name(program[:MAX_NAME]) else "program"
    processors = named.processors or files.ranks or trace.processes
    return _Run(files, trace, program, processors, disks, named.repeat, by_log)


def _warned(runs: list[tuple[RunFiles, Trace]]) -> Iterator[str]:
    """What the readers of single traces noticed, the same sentence once for all runs."""
    said: Counter[str] = Counter()
    first: dict[str, str] = {}
    for files, trace in runs:
        for warning in trace.warnings:
            kind = "".join(c for c in warning if not c.isdigit())  # one sentence, other numbers
            said[kind] += 1
            first.setdefault(kind, f"{os.path.basename(files.path)}: {warning}")
    for kind, count in said.items():
        others = count - 1
        more = f" (and {others} more run{'s' if others > 1 else ''} like it)" if others else ""
        yield first[kind] + more


def _about_storage(runs: list[_Run]) -> Iterator[str]:
    """Where the number of disks comes from, and what speaks against it."""
    by_log: list[int] = []
    uneven, other, processes = [], [], []
    for run in runs:
        name = os.path.basename(run.files.path)
        targets = None if run.trace.origin is None else run.trace.origin.targets
        if targets is not None and targets.distinct:
            if run.by_log:
                by_log.append(run.disks)
            elif run.disks != targets.distinct:
                other.append(f"{name}: {run.disks}, where its log has {targets.distinct}")
            if targets.effective < _UNEVEN * targets.distinct:
                uneven.append(f"{name}: {targets.effective:.3g} of {targets.distinct}")
        if run.processors != run.trace.processes:
            processes.append(f"{name}: {run.processors}, where its trace shows {run.trace.processes}")
    if by_log:
        counts = ", ".join(map(str, sorted(set(by_log))))
        yield f"Disks are the storage targets (OSTs) that hold a byte: {counts}."
    if other:
        yield f"Disks are not those of the logs ({_some(other)})."
    if uneven:
        yield (f"The bytes lie unevenly, as if on fewer disks ({_some(uneven)}); d counts all of them.")
    if processes:
        yield f"Processors are by the name, not by the processes with events ({_some(processes)})."


def _some(names: list[str]) -> str:
    return first_names(names, _MOST_SAID)


def _rows(runs: list[list[_Run]], chosen: RunChoices, remarks: list[list[str]]) -> list[list[MeasuredRun]]:
    """Times of each phase of each run, the phases of a program being the same in all folders."""
    rows: list[list[MeasuredRun]] = [[] for _ in runs]
    named = [{run.program for run in each} for each in runs]
    one = all(len(names) == 1 for names in named)  # of whatever name in each folder
    programs = dict.fromkeys(run.program for each in runs for run in each)
    several = len(programs) > 1 and not one
    for program in list(programs)[:1] if one else programs:
        mine = [(i, run) for i, each in enumerate(runs) for run in each if one or run.program == program]
        common = common_phases([run.trace for _, run in mine], chosen.gap)
        places = {i for i, _ in mine}
        for i in places:
            remarks[i] += [f"{program}: {said}" if several else said for said in common.remarks]
        repeats: Counter[tuple[int, int, int]] = Counter()
        taken: set[tuple[int, int, int, int]] = set()
        for k, (i, run) in enumerate(mine):
            where = i, run.processors, run.disks
            repeats[where] += 1
            number = run.repeat or repeats[where]
            while (*where, number) in taken:  # a repeat that was numbered twice
                number += 1
            taken.add((*where, number))
            for j in range(common.io.shape[1]):
                for kind, column in (("io", common.io), ("cpu", common.cpu)):
                    if column[:, j].any():
                        rows[i].append(
                            MeasuredRun(
                                run.program,
                                j + 1,
                                kind,
                                run.processors,
                                run.disks,
                                float(column[k, j]),
                                number,
                            )
                        )
    return rows


def _enough(folder: str, rows: list[MeasuredRun], remarks: list[str]) -> list[MeasuredRun]:
    """Leave programs out that ran on too few allotments, unless all did."""
    allotments = allotments_of(rows)
    few = {name: found for name, found in allotments.items() if len(found) < LEAST_ALLOTMENTS}
    if len(few) == len(allotments):
        name, found = max(few.items(), key=lambda item: len(item[1]))
        listed = ", ".join(f"{p} x {d}" for p, d in sorted(found))
        raise TraceFormatError(
            folder,
            f"program {name!r} ran on {len(found)} allotment{'s' if len(found) > 1 else ''} "
            f"(processors x disks: {listed}); at least {LEAST_ALLOTMENTS} distinct ones are needed",
        )
    if few:
        names = _some([f"{name} ({len(found)})" for name, found in sorted(few.items())])
        remarks.append(
            f"Programs that ran on fewer than {LEAST_ALLOTMENTS} allotments are left out: {names}."
        )
    return [row for row in rows if row.program not in few]
