"""What a speedup surface is drawn of: a scenario, measured runs, a trace or a named profile."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NoReturn

import numpy as np

from phasefit.arrays import Array
from phasefit.checks import suggestion
from qmodels.errors import ModelError
from qmodels.io._scenario_programs import programs_of, runs_of
from qmodels.io._trace_text import beginning
from qmodels.io.darshan import POSIX
from qmodels.io.extrap_files import is_experiment
from qmodels.io.run_words import RunWords
from qmodels.io.runs import RunTable, read_runs
from qmodels.io.scenario import read_scenario_file
from qmodels.io.settings import told
from qmodels.io.toml_tables import unchecked_tables
from qmodels.io.trace_folders import is_one_run
from qmodels.io.traced_runs import RunChoices, read_traced_runs
from qmodels.io.traces import read_trace
from qmodels.programs import FittedProgram, Program, WorkloadMix, fit_runs
from qmodels.programs.bursts import (
    Bursts,
    GapSensitivity,
    TracedProgram,
    find_bursts,
    gap_sensitivity,
    to_program,
)
from qmodels.programs.profiles import PROFILES, profile
from qmodels.programs.traces import Trace
from qmodels.progress import Progress, no_progress
from qmodels.words import allotment_in_words

Kind = Literal["scenario", "runs", "trace", "profile"]

PROCESSORS, DISKS = 128, 32  #: largest allotment of a surface, where the input names no machine
GAP = 1.0  #: seconds, where the pauses of a trace suggest none

_SNIFFED = 4096


@dataclass(frozen=True)
class TraceChoices:
    """What a trace does not tell and has to be said or assumed.

    Parameters
    ----------
    gap : float, optional
        Threshold in seconds that parts two bursts; the middle of the widest plateau by default.
    processors, disks : float, optional
        Allotment of the traced run; a processor per process and one disk by default.
    io_law, cpu_law : str, optional
        How I/O and computation are assumed to scale, ``d`` and ``p`` by default; see
        `qmodels.programs.parse_law`.
    module : str, optional
        Layer of a Darshan log, as in `read_darshan`.
    events : tuple of (str, str)
        Patterns of trace events and what they count as, see `read_trace`.
    """

    gap: float | None = None
    processors: float | None = None
    disks: float | None = None
    io_law: str | None = None
    cpu_law: str | None = None
    module: str | None = None
    events: tuple[tuple[str, str], ...] = ()

    def of_many(self, where: str, max_bytes: int | None) -> RunChoices:
        """Return what of this goes with a folder of traces; ModelError if something does not."""
        if self.processors is not None:
            raise ModelError(
                f"{where} holds several runs: --run-on does not go with it, for each has its own "
                f"processors; --on-disks says how many disks all had"
            )
        if self.io_law is not None or self.cpu_law is not None:
            raise ModelError(
                f"{where} holds several runs, of which laws are learnt: --io-law and --cpu-law do "
                f"not go with it"
            )
        if self.disks is not None and self.disks != int(self.disks):
            raise ModelError(f"--on-disks must be a whole number, got {self.disks:g}")
        disks = None if self.disks is None else int(self.disks)
        return RunChoices(disks, self.gap, self.module or POSIX, self.events, max_bytes)


@dataclass(frozen=True, eq=False)
class TracedRun:
    """A trace, the bursts found in it and the program made of them."""

    trace: Trace
    bursts: Bursts | None  #: None where there is no timeline
    sensitivity: GapSensitivity | None
    traced: TracedProgram


@dataclass(frozen=True, eq=False)
class Subject:
    """What was read, and what there is to say about where it comes from.

    Parameters
    ----------
    kind : str
        ``"scenario"``, ``"runs"``, ``"trace"`` or ``"profile"``.
    name : str
        Of the program, or of the file of several.
    program : Program or WorkloadMix or None
        None where the runs cannot tell how it scales.
    remarks : tuple of str
        Where it comes from and what was assumed, a sentence each.
    processors, disks : int
        Largest allotment that a surface of it shows unless asked for another.
    fit : FittedProgram, optional
        Of measured runs.
    measured : (k, 3) ndarray, optional
        Processors, disks and mean seconds of the runs of which every burst was timed.
    run : TracedRun, optional
    table : RunTable, optional
        Made of a folder of traces.
    """

    kind: Kind
    name: str
    program: Program | WorkloadMix | None
    remarks: tuple[str, ...]
    processors: int = PROCESSORS
    disks: int = DISKS
    fit: FittedProgram | None = None
    measured: Array | None = None
    run: TracedRun | None = None
    table: RunTable | None = None
    changes: tuple[str, ...] = ()  #: what was set in place of what a scenario holds

    @property
    def base(self) -> tuple[float, float]:
        """Processors and disks over whose time speedup stands."""
        return (1.0, 1.0) if self.fit is None else self.fit.base


def read_subject(
    given: str,
    *,
    program: str | None = None,
    choices: TraceChoices | None = None,
    max_bytes: int | None = None,
    mixed: bool = False,
    progress: Progress = no_progress,
    settings: Mapping[str, Any] | None = None,
    columns: Mapping[str, str] | None = None,
    cores_per_node: float | None = None,
    words: RunWords | None = None,
    work: float | None = None,
) -> Subject:
    """Read whatever a speedup surface can be drawn of.

    Parameters
    ----------
    given : str
        Path of a scenario (TOML), of measured runs (CSV or JSON lines), of a trace (Darshan
        log, trace events, CSV, a folder of the trace events of its processes) or of a folder of
        traces of several runs, told apart by name and content; or the name of a profile.
    program : str, optional
        Which one, where there are several.
    choices : TraceChoices, optional
        For a trace only.
    max_bytes : int, optional
        Largest size of a trace's text, as in `read_trace`.
    mixed : bool
        Take all programs of measured runs in equal parts, where there are several and none is
        named, instead of refusing.
    progress : callable, optional
        See `qmodels.progress`; told of the traces of a folder.
    settings : mapping, optional
        Values in place of what a scenario holds, as in `load_scenario`.
    columns : mapping, optional
        For a CSV table of measured runs with other columns, as in `read_runs`.
    cores_per_node : float, optional
        For measured runs whose table has no nodes, as in `fit_runs`.
    words : RunWords, optional
        For measured runs whose phases or disks are words.
    work : float, optional
        For measured runs of several sizes: the size of the problem, as in `fit_runs`.

    Returns
    -------
    subject : Subject

    Raises
    ------
    ModelError
        If there is no such file or profile, or no such program in it, or an option does not go
        with the input.
    ScenarioError, TraceFormatError
        If the file is damaged.

    Examples
    --------
    >>> read_subject("QCRD-2").remarks[0]
    'QCRD-2 is a synthetic profile, not a measurement.'
    """
    if not isinstance(given, str):
        raise ModelError(f"give a file or the name of a profile, got {given!r:.60}")
    path = Path(given)
    chosen, words = choices or TraceChoices(), words or RunWords()
    if os.path.isdir(path) and not is_one_run(given):
        words.check_unused(given)
        (found,) = read_traced_runs(path, choices=chosen.of_many(given, max_bytes), progress=progress)
        one = _of_runs(found.table, program, cores_per_node, work)
        remarks = (*found.remarks, *one.remarks)
        return replace(one, remarks=remarks, table=found.table)
    kind = _kind(path) if os.path.lexists(path) else "profile"
    if columns is not None:
        kind = "runs"
    if kind != "trace" and chosen != TraceChoices():
        raise ModelError(
            f"{given} is no trace: --gap, --run-on, --on-disks, --io-law, --cpu-law, --module "
            f"and --event do not go with it"
        )
    for option, said in (("--cores-per-node", cores_per_node), ("--work", work)):
        if kind != "runs" and said is not None:
            raise ModelError(f"{given} is no table of measured runs: {option} does not go with it")
    if kind != "runs":
        words.check_unused(given)
    if kind == "scenario":
        return _of_scenario(path, program, settings or {})
    if settings:
        raise ModelError(f"{given} is no scenario: there are no keys to set in it")
    if kind == "runs":
        table = read_runs(path, columns=columns, phases=words.phases, disks=words.disks)
        if mixed and program is None and len(table.programs) > 1:
            return _of_all_runs(table, cores_per_node)
        return _of_runs(table, program, cores_per_node, work)
    if program is not None:
        raise ModelError(f"{given} is one program; leave --program out")
    if kind == "trace":
        return _of_trace(path, chosen, max_bytes)
    return _of_profile(given)


def read_tables_of_runs(
    *given: Path,
    choices: TraceChoices,
    max_bytes: int | None = None,
    progress: Progress = no_progress,
    columns: Mapping[str, str] | None = None,
    words: RunWords | None = None,
) -> tuple[list[RunTable], list[str]]:
    """Read measured runs out of tables or folders of traces, and what there is to say about them.

    Folders are read together, so that all their runs have the same phases.

    Raises
    ------
    ModelError
        If the choices do not go with the input: a table says all by itself.
    """
    folders = [path for path in given if os.path.isdir(path)]
    words = words or RunWords()
    for path in folders:
        words.check_unused(str(path))
    if choices != TraceChoices() and not folders:
        raise ModelError("--gap, --on-disks, --module and --event go with folders of traces only")
    traced = dict(
        zip(
            folders,
            read_traced_runs(
                *dict.fromkeys(folders),
                choices=choices.of_many("a folder", max_bytes),
                progress=progress,
            ),
            strict=False,
        )
    )
    if len(set(folders)) < len(folders):
        raise ModelError(f"{folders[0]} is given twice; there is nothing to compare")
    tables = [
        traced[path].table
        if path in traced
        else read_runs(path, columns=columns, phases=words.phases, disks=words.disks)
        for path in given
    ]
    several = len(given) > 1
    remarks = [
        f"{path}: {said}" if several else said for path, each in traced.items() for said in each.remarks
    ]
    remarks += [f"{path}: {said}" for path, each in zip(given, tables, strict=True) for said in each.notes]
    return tables, remarks


def _kind(path: Path) -> Kind:
    if os.path.isdir(path):
        return "trace"  # of which the files are the processes
    name = path.name.lower()
    if name.endswith(".toml"):
        return "scenario"
    if name.endswith((".darshan", ".pfw", ".pfw.gz")):
        return "trace"
    start = beginning(str(path), _SNIFFED).decode("utf-8-sig", errors="replace").lstrip()
    if start.startswith("["):
        return "trace"
    if start.startswith("{"):
        return "runs" if '"params"' in start or is_experiment(start) else "trace"
    header = start.partition("\n")[0]
    return "trace" if "rank" in header and "program" not in header else "runs"


def _of_profile(name: str) -> Subject:
    if name not in PROFILES:
        hint = suggestion(name, PROFILES, "profiles are")
        raise ModelError(f"{name[:200]}: no such file, nor a profile; {hint}")
    said = f"{name} is a synthetic profile, not a measurement."
    return Subject("profile", name, profile(name), (said,))


def _of_scenario(path: Path, name: str | None, settings: Mapping[str, Any]) -> Subject:
    found = _named_in(path, name, settings)
    return replace(found, changes=told(unchecked_tables(path), settings))


def _named_in(path: Path, name: str | None, settings: Mapping[str, Any]) -> Subject:
    spec = read_scenario_file(path, settings=settings)
    processors, disks = spec.machine.processors, spec.machine.disks
    if spec.runs is not None:
        table = runs_of(path, spec.runs)
        if name is not None or len(table.programs) == 1:
            return replace(_of_runs(table, name, None), processors=processors, disks=disks)
    found, fits = programs_of(path, spec)
    if isinstance(found, Program):
        if name not in (None, found.name):
            _no_program(path, name, [found.name])
        return Subject("scenario", found.name, found, (), processors, disks)
    if name is None:
        said = [f"This is the mixture of {len(found.programs)} programs; --program names one."]
        said += [f"{fit.name}: {text}" for fit in fits.values() for text in fit.warnings]
        return Subject("scenario", path.stem, found, tuple(said), processors, disks)
    for each in found.programs:
        if each.name == name:
            return Subject("scenario", name, each, (), processors, disks)
    return _no_program(path, name, [each.name for each in found.programs])


def _of_runs(
    table: RunTable, name: str | None, cores_per_node: float | None, work: float | None = None
) -> Subject:
    names = table.programs
    if name is None:
        if len(names) > 1:
            raise ModelError(
                f"{table.source} has {len(names)} programs; name one by --program: {', '.join(names)}"
            )
        name = names[0]
    if name not in names:
        _no_program(table.source, name, names)
    table = table.of(name)
    runs = table.frame
    fit = fit_runs(table, cores_per_node=cores_per_node, work=work)[name]
    remarks = [f"{name} was learnt from {len(runs)} timed bursts.", *table.notes]
    if fit.size is not None:
        remarks += fit.size.sentences()
    if fit.base != (1.0, 1.0):
        remarks.append(
            f"No run had one processor: speedups stand over {allotment_in_words(fit.base)}, the smallest run."
        )
    program: Program | None
    try:
        program = fit.program
    except ModelError as error:
        program = None
        remarks.append(str(error))
    largest = runs[["p", "d"]].max()
    further = 4 if runs["d"].nunique() > 1 else 1  # where disks never differed, more of them say nothing
    whole = np.column_stack([fit.measured.processors, fit.measured.disks, fit.measured.seconds])
    return Subject(
        "runs",
        name,
        program,
        tuple(remarks),
        4 * int(largest["p"]),
        further * int(largest["d"]),
        fit,
        whole if len(whole) else None,
    )


def _of_all_runs(table: RunTable, cores_per_node: float | None) -> Subject:
    """All measured programs in equal parts."""
    fits = fit_runs(table, cores_per_node=cores_per_node)
    said = [
        f"{table.source} has {len(fits)} programs, taken in equal parts: {', '.join(fits)}.",
        *table.notes,
    ]
    said += [f"{fit.name}: {text}" for fit in fits.values() for text in fit.warnings]
    mix = WorkloadMix([fit.program for fit in fits.values()], [1.0] * len(fits))
    return Subject("runs", str(table.source), mix, tuple(said))


def _of_trace(path: Path, chosen: TraceChoices, max_bytes: int | None) -> Subject:
    trace = read_trace(path, max_bytes=max_bytes, events=dict(chosen.events), module=chosen.module or POSIX)
    gap, bursts, sensitivity = chosen.gap, None, None
    remarks = list(trace.warnings)
    if trace.complete:
        sensitivity = gap_sensitivity(trace)
        if gap is None:
            gap = GAP if sensitivity.plateau is None else _middle(*sensitivity.plateau)
        bursts = find_bursts(trace, gap)
        remarks.append(
            f"Pauses over {gap:g} s part two bursts, which gives {len(bursts)} of them: the "
            f"threshold decides (--gap), nothing in a trace does."
        )
    elif gap is not None:
        raise ModelError(f"{path} has no timeline, only totals, so no gap parts its bursts")
    made = to_program(
        trace,
        gap,
        disks=1.0 if chosen.disks is None else chosen.disks,
        processors=chosen.processors,
        io_law=chosen.io_law or "d",
        cpu_law=chosen.cpu_law or "p",
        name=path.name,
    )
    if chosen.disks is None:
        remarks.append("The run is taken to have had one disk; --run-on or --on-disks says otherwise.")
    run = TracedRun(trace, bursts, sensitivity, made)
    measured = np.array([[made.processors, made.disks, trace.duration]])
    return Subject(
        "trace",
        path.name,
        made.program,
        (*remarks, *made.assumed),
        max(PROCESSORS, int(made.processors)),
        max(DISKS, int(made.disks)),
        measured=measured,
        run=run,
    )


def _middle(low: float, high: float) -> float:
    """Return a short number about the geometric middle of a range."""
    middle = float(np.sqrt(low * high))
    short = float(f"{middle:.1g}")
    return short if low < short < high else middle


def _no_program(where: object, name: object, known: Sequence[str]) -> NoReturn:
    hint = suggestion(name, known, "it has")
    raise ModelError(f"{where} has no program {str(name)[:100]!r}; {hint}")
