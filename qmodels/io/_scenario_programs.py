"""Programs of a scenario: written as phases, or learnt from measured runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from qmodels.errors import ModelError
from qmodels.io._scenario_file import (
    BurstTable,
    PhaseCountTable,
    PhaseTable,
    ProgramTable,
    RunsTable,
    ScenarioFile,
    WorkingSetTable,
)
from qmodels.io._swf_log import JobLog
from qmodels.io.runs import RunTable, read_runs
from qmodels.io.toml_tables import at_key, fail
from qmodels.policies import System
from qmodels.programs import (
    Burst,
    FittedProgram,
    Geometric,
    Phase,
    Program,
    WorkingSet,
    WorkloadMix,
    fit_runs,
)


def programs_of(
    source: Path, spec: ScenarioFile, known: Mapping[str, FittedProgram] | None = None
) -> tuple[Program | WorkloadMix, Mapping[str, FittedProgram]]:
    """The program or the mix, and what was learnt from runs; `known` spares learning it again."""
    if (spec.program is None) == (spec.runs is None):
        fail(source, "program", "give either [[program]] tables or one [runs] table")
    if spec.runs is not None:
        fits = dict(known) if known else fit_runs(runs_of(source, spec.runs))
        weights = spec.runs.weights or dict.fromkeys(fits, 1.0)
        if set(weights) != set(fits):
            fail(
                source,
                "runs.weights",
                f"give one weight for each measured program: {', '.join(sorted(fits))}",
            )
        programs = [at_key(source, "runs.path", getattr, fit, "program") for fit in fits.values()]
        return WorkloadMix(programs, [weights[n] for n in fits]), fits
    tables = spec.program or []
    names = [table.name for table in tables]
    for i, name in enumerate(names):
        if name in names[:i]:
            fail(
                source,
                f"program[{i}].name",
                f"another program of this study is called {name} too, and programs are told apart by "
                f"names; give it another",
            )
    programs = [_program(source, f"program[{i}]", table) for i, table in enumerate(tables)]
    if len(programs) == 1:
        return programs[0], {}
    return WorkloadMix(programs, [table.weight for table in tables]), {}


def runs_of(source: Path, given: RunsTable) -> RunTable:
    """The measured runs that a scenario names."""
    return read_runs(source.parent / given.path, columns=given.columns)


def _program(source: Path, key: str, table: ProgramTable) -> Program:
    if table.working_sets is not None:
        if table.io is not None or table.cpu is not None:
            fail(source, key, "give either io and cpu, or working_sets, not both")
        sets = table.working_sets
    elif table.io is None or table.cpu is None:
        fail(source, key, "give io and cpu (one phase, repeated), or working_sets")
    else:
        sets = [WorkingSetTable(repeat=table.repeat, phases=[PhaseTable(io=table.io, cpu=table.cpu)])]

    def build() -> Program:
        return Program(
            [
                WorkingSet(
                    group.repeat,
                    [
                        Phase(
                            io=_burst(source, f"{key}.io", phase.io, "d", group.repeat),
                            cpu=_burst(source, f"{key}.cpu", phase.cpu, "p", group.repeat),
                        )
                        for phase in group.phases
                    ],
                )
                for group in sets
            ],
            name=table.name,
            phase_count=_phase_count(source, f"{key}.phase_count", table.phase_count),
        )

    return at_key(source, key, build)


def _phase_count(source: Path, key: str, table: PhaseCountTable | None) -> Geometric | list[float] | None:
    if table is None:
        return None
    if (table.mean is None) == (table.probabilities is None):
        fail(source, key, "give either mean (geometric) or probabilities (of 1, 2, ... phases)")
    if table.mean is not None:
        return at_key(source, key, Geometric, table.mean)
    return table.probabilities


def _burst(source: Path, key: str, table: BurstTable, default_law: str, repeat: int) -> Burst:
    if table.total is not None and table.seconds is None:
        seconds, each = table.total, 1.0 / repeat
    elif table.seconds is not None and table.total is None:
        seconds, each = table.seconds, 1.0
    else:
        fail(source, key, "give either seconds (of each phase) or total (over all repeats)")
    slow = table.slowdown
    return at_key(
        source,
        key,
        Burst,
        seconds * each,
        sequential=table.sequential * each,
        per_processor=table.per_processor * each,
        growth=table.growth,
        law=table.law or default_law,
        slowdown=None if slow is None else (slow.up_to_processors, slow.factor),
    )


def scale_to_log(log: JobLog, system: System, program: Program | WorkloadMix) -> float:
    """Factor that gives the programs the log's mean work, on the sizes that its jobs had."""
    busy = log.with_work
    sizes, counts = np.unique(busy.sizes, return_counts=True)
    on_time = float(np.average(sizes * program.mean_time(sizes, system.disks), weights=counts))
    if on_time <= 0:
        raise ModelError("the programs take no time, so they cannot be scaled to the log")
    return float(busy.work.mean()) / on_time
