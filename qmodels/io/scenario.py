"""Scenario files: one TOML file says what machine, which jobs, which policies, what to compute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from phasefit import MAP, PhaseType, match_moments
from phasefit.checks import one_of
from qmodels.errors import ModelError, ScenarioError, TraceFormatError
from qmodels.io._scenario_arrivals import dependent_arrivals
from qmodels.io._scenario_file import (
    BurstLawsTable,
    BurstTable,
    DemandTable,
    LawTable,
    LogTable,
    PhaseCountTable,
    PhaseTable,
    ProgramTable,
    ScenarioFile,
    ValidationTable,
    WorkingSetTable,
)
from qmodels.io.job_logs import read_jobs
from qmodels.io.mesh_trial import TrialPlan, labelled, trial_plan
from qmodels.io.policy_tables import PolicyTable, TimeLawTable
from qmodels.io.runs import read_runs
from qmodels.io.settings import checked_with, dotted, laid_over, naming, told
from qmodels.io.swf import JobLog
from qmodels.io.toml_tables import at_key, checked_tables, fail, unchecked_tables
from qmodels.policies import MODELS, AbstractPolicy, System, Workload, find_policy
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
from qmodels.programs.model import parts


@dataclass(frozen=True, eq=False)
class ValidationPlan:
    """Which predictions are to be simulated."""

    policies: tuple[AbstractPolicy, ...]
    capacity_fractions: tuple[float, ...]  #: arrival rates, as fractions of each capacity
    replications: int
    jobs: int | None  #: jobs measured in each replication; None lets the simulator choose
    replay_log: bool  #: also play the log back in its own order


@dataclass(frozen=True, eq=False)
class Scenario:
    """A scenario file, read and checked, as the objects it speaks of."""

    path: Path
    title: str
    notes: str
    seed: int
    system: System
    program: Program | WorkloadMix
    fits: Mapping[str, FittedProgram]  #: what was learnt from measured runs, by program
    log: JobLog | None  #: its columns that predictions and simulations look at; see `read_jobs`
    arrivals: PhaseType | MAP  #: seconds, if from a log; else of mean one
    demand: PhaseType  #: processor-seconds, if from a log; else of mean one
    arrivals_from: str  #: where the interarrival law comes from, in words
    demand_from: str
    mix: str  #: "each" or "mean", what a job of several programs is; see `Workload`
    scaled_to_log: bool  #: whether the programs' times were scaled to the log's mean work
    time_scale: float  #: the factor, or 1
    policies: tuple[AbstractPolicy, ...]
    surface_processors: tuple[int, ...]
    surface_disks: tuple[int, ...]
    loads: tuple[float, ...]
    validation: ValidationPlan | None
    model: str = "auto"  #: how predictions are made, see `qmodels.predict`
    #: laws of single bursts, of I/O and of computation; None where bursts follow the demand
    burst_laws: tuple[PhaseType, PhaseType] | None = None
    trial: TrialPlan | None = None
    tables: Mapping[str, Any] = field(default_factory=dict)  #: of the file, settings over them
    settings: Mapping[str, Any] = field(default_factory=dict)  #: what was set instead, by key
    changes: tuple[str, ...] = ()  #: the same in words, a line each, and what followed from it

    @property
    def workload(self) -> Workload:
        """What the jobs ask for and how they arrive."""
        if self.burst_laws is None:
            return Workload(self.program, self.demand, self.arrivals, mix=self.mix)
        io, cpu = self.burst_laws
        return Workload(self.program, arrivals=self.arrivals, io_bursts=io, cpu_bursts=cpu)

    @property
    def dependent(self) -> bool:
        """Whether arrivals are a process whose gaps may depend on those before."""
        return isinstance(self.arrivals, MAP)

    def with_model(self, model: str) -> Scenario:
        """The same scenario with another model of its predictions.

        Raises
        ------
        ModelError
            If there is no such model, or the workload has no laws of bursts and the model needs
            them.
        """
        one_of("model", model, MODELS)
        if model == "decomposition" and self.burst_laws is None:
            raise ModelError(
                'model = "decomposition" follows single bursts, whose laws this scenario does not '
                "tell; add a [bursts] table such as io = { scv = 1.0 }, or use another model"
            )
        return replace(self, model=model)

    @property
    def mix_note(self) -> str:
        """What a job of several programs is taken for, where that is their mean; else ""."""
        if self.mix == "each" or self.burst_laws is not None or len(parts(self.program)) == 1:
            return ""
        return (
            "Every job is predicted and simulated as the mean of the programs, because the law of "
            f"demand ({self.demand_from}) is taken to hold the differences between jobs already. "
            'Where the programs do not scale alike this is approximate; [demand] mix = "each" '
            "draws a program for every job instead."
        )


def load_scenario(
    path: str | Path,
    *,
    max_bytes: int | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Scenario:
    """Read a scenario and everything it names.

    Parameters
    ----------
    path : str or Path
        A TOML file; relative paths in it are taken from its own folder. All keys are described
        in docs/reference/scenario.md.
    max_bytes : int, optional
        Largest size of the job log's text, as in `read_jobs`.
    settings : mapping, optional
        Values in place of what the file holds, by dotted key such as ``"machine.disks"``; see
        `qmodels.io.settings.laid_over`. Policies that do not fit a machine of another size are
        left out, and `Scenario.changes` says which; of policies that are no longer there nothing
        is simulated.

    Returns
    -------
    Scenario

    Raises
    ------
    ScenarioError
        If the file is missing, is no TOML, lacks a key, has an unknown one, or holds a value
        out of range; every fault found is listed, with its key and what would do.
    TraceFormatError
        If the job log or the table of runs is damaged.
    """
    source = Path(path)
    given = dict(settings or {})
    tables = unchecked_tables(source)
    spec = checked_with(source, ScenarioFile, tables, given)
    touched = {dotted(key).split(".")[0] for key in given}
    resized = "machine" in touched
    # What the file has simulated may be gone with the policies that it knew.
    others = "policy" in touched and "validation" not in touched
    with naming(given):
        plan = _scenario(source, spec, resized, only_known=others, max_bytes=max_bytes)
    if resized and not plan.policies:
        fail(source, "policy", f"no policy fits this machine: {', '.join(plan.changes)}")
    return replace(
        plan,
        tables=with_settings(tables, given),
        settings=given,
        changes=(*told(tables, given), *plan.changes),
    )


def make_scenario(
    source: Path,
    tables: Mapping[str, Any],
    *,
    only_fitting: bool = False,
    like: Scenario | None = None,
) -> Scenario:
    """The scenario of tables that are in memory, as if they had been read from `source`.

    Parameters
    ----------
    source : Path
        Named in errors; relative paths in the tables are taken from its folder.
    tables : mapping
        As `tomllib` reads them.
    only_fitting : bool
        Leave out policies that do not fit the machine instead of refusing them, as where the size
        of the machine is varied.
    like : Scenario, optional
        One with the same log and the same programs at their true times: its log is taken instead
        of read again, and so is the factor by which its programs were scaled to that log. The log
        tells of the machine that it was written on, not of one that is thought of.

    Raises
    ------
    ScenarioError, TraceFormatError
        As for `load_scenario`.
    """
    spec = checked_tables(source, ScenarioFile, tables)
    return replace(_scenario(source, spec, only_fitting, like=like), tables=tables)


def _scenario(
    source: Path,
    spec: ScenarioFile,
    only_fitting: bool = False,
    *,
    only_known: bool = False,
    max_bytes: int | None = None,
    like: Scenario | None = None,
) -> Scenario:
    places = {"mesh", "strategy"}
    system = at_key(source, "machine", System, **spec.machine.model_dump(exclude=places))
    log = like.log if like is not None else _read_log(source, spec.log, max_bytes)
    program, fits = _programs(source, spec, like)
    time_scale = 1.0
    if spec.demand.scale_to_log:
        if log is None:
            fail(source, "demand.scale_to_log", "there is no [log] to scale to; add one or drop it")
        time_scale = like.time_scale if like is not None else at_key(
            source, "demand.scale_to_log", _scale_to_log, log, system, program
        )  # fmt: skip
        program = program.scaled(time_scale)
    arrivals, arrivals_from = dependent_arrivals(source, spec.arrivals, log) or _law(
        source, "arrivals", spec.arrivals, log
    )
    demand, demand_from = _law(source, "demand", spec.demand, log)
    burst_laws = _burst_laws(source, spec)
    if burst_laws is not None:
        demand_from += "; predictions and simulations take the laws of [bursts] instead"
    policies, too_large = _policies(source, spec.policy, system, only_fitting)
    plan = Scenario(
        path=source,
        title=spec.title,
        notes=spec.notes,
        seed=spec.seed,
        system=system,
        program=program,
        fits=fits,
        log=log,
        arrivals=arrivals,
        demand=demand,
        arrivals_from=arrivals_from,
        demand_from=demand_from,
        mix=_mix(spec.demand, log),
        scaled_to_log=spec.demand.scale_to_log,
        time_scale=time_scale,
        policies=policies,
        surface_processors=_axis(
            source, "surface.processors", spec.surface.processors, system.processors, only_fitting
        ),
        surface_disks=_axis(
            source, "surface.disks", spec.surface.disks, system.disks, only_fitting
        ),
        loads=tuple(sorted(set(spec.study.loads))),
        validation=_validation(source, spec.validation, policies, log, only_fitting or only_known),
        burst_laws=burst_laws,
        # a machine whose size is varied has no mesh of its own
        trial=None if only_fitting else trial_plan(source, spec, policies),
        changes=(f"{', '.join(too_large)} left out: too many partitions for this machine",)
        if too_large
        else (),
    )
    plan = at_key(source, "study.model", plan.with_model, spec.study.model)
    _check_followed(source, plan)
    return plan


def _check_followed(source: Path, plan: Scenario) -> None:
    """ScenarioError for a policy that the model of the study cannot follow."""
    if plan.model == "auto":
        return
    for policy in plan.policies:
        if plan.model not in policy.models:
            fail(
                source,
                "study.model",
                f"{policy.label} has no {plan.model} model; use one of auto, "
                f"{', '.join(policy.models)}, or leave the policy out",
            )


def with_settings(tables: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Tables of a scenario with settings over them, not checked; see `laid_over`.

    Examples
    --------
    >>> with_settings({"machine": {"processors": 8, "disks": 8}}, {"machine.disks": 16})
    {'machine': {'processors': 8, 'disks': 16}}
    """
    return laid_over(ScenarioFile, tables, settings)


def load_programs(
    path: str | Path, *, settings: Mapping[str, Any] | None = None
) -> Program | WorkloadMix:
    """Only the programs of a scenario, unscaled; its log need not exist.

    Raises
    ------
    ScenarioError, TraceFormatError
        As for `load_scenario`.
    """
    return _programs(Path(path), read_scenario_file(path, settings=settings))[0]


def read_scenario_file(
    path: str | Path, *, settings: Mapping[str, Any] | None = None
) -> ScenarioFile:
    """The tables of a scenario, checked, with settings over them.

    Raises
    ------
    ScenarioError, ModelError
        As for `load_scenario`.
    """
    source = Path(path)
    return checked_with(source, ScenarioFile, unchecked_tables(source), settings or {})


def _read_log(source: Path, spec: LogTable | None, max_bytes: int | None) -> JobLog | None:
    if spec is None:
        return None
    choice = spec.model_dump(exclude={"path", "available_at"}, exclude_none=True)
    path = source.parent / spec.path
    if not path.is_file():
        where = f"; it can be had at {spec.available_at}" if spec.available_at else ""
        kind = (
            "is a folder"
            if path.is_dir()
            else "is not there"
            if not path.exists()
            else "is no file"
        )
        fail(source, "log.path", f"{path} {kind}; put the job log there or name another{where}")
    try:
        return read_jobs(path, **choice, max_bytes=max_bytes, keep=())
    except TraceFormatError:
        raise
    except ModelError as error:
        fail(source, "log", str(error))


def _programs(
    source: Path, spec: ScenarioFile, like: Scenario | None = None
) -> tuple[Program | WorkloadMix, Mapping[str, FittedProgram]]:
    if (spec.program is None) == (spec.runs is None):
        fail(source, "program", "give either [[program]] tables or one [runs] table")
    if spec.runs is not None:
        # the runs are those of `like`, and fitting them takes seconds
        fits = dict(like.fits) if like else fit_runs(read_runs(source.parent / spec.runs.path))
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
    programs = [_program(source, f"program[{i}]", table) for i, table in enumerate(tables)]
    if len(programs) == 1:
        return programs[0], {}
    return WorkloadMix(programs, [table.weight for table in tables]), {}


def _program(source: Path, key: str, table: ProgramTable) -> Program:
    if table.working_sets is not None:
        if table.io is not None or table.cpu is not None:
            fail(source, key, "give either io and cpu, or working_sets, not both")
        sets = table.working_sets
    elif table.io is None or table.cpu is None:
        fail(source, key, "give io and cpu (one phase, repeated), or working_sets")
    else:
        sets = [
            WorkingSetTable(repeat=table.repeat, phases=[PhaseTable(io=table.io, cpu=table.cpu)])
        ]

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


def _phase_count(
    source: Path, key: str, table: PhaseCountTable | None
) -> Geometric | list[float] | None:
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


def _scale_to_log(log: JobLog, system: System, program: Program | WorkloadMix) -> float:
    """Factor that gives the programs the log's mean work, on the sizes that its jobs had."""
    busy = log.with_work
    sizes, counts = np.unique(busy.sizes, return_counts=True)
    on_time = float(np.average(sizes * program.mean_time(sizes, system.disks), weights=counts))
    if on_time <= 0:
        raise ModelError("the programs take no time, so they cannot be scaled to the log")
    return float(busy.work.mean()) / on_time


def _given_law(
    source: Path, key: str, spec: LawTable | TimeLawTable, mean: float = 1.0
) -> tuple[PhaseType, str] | None:
    """The law that a table holds, and where it comes from; None where it holds none."""
    given = [name for name in ("scv", "alpha", "T") if getattr(spec, name) is not None]
    if given not in ([], ["scv"], ["alpha", "T"]):
        fail(source, key, f"give scv, or alpha and T, or neither; got {', '.join(given)}")
    if given == ["alpha", "T"]:
        law = at_key(source, key, PhaseType, spec.alpha, spec.T)
        return law, f"phase-type law of order {law.order} given in the scenario"
    if given == ["scv"]:
        scv = float(spec.scv or 0.0)
        law = at_key(source, f"{key}.scv", match_moments, mean, mean**2 * (1.0 + scv))
        return law, f"squared coefficient of variation {spec.scv:g} given in the scenario"
    return None


def _burst_laws(source: Path, spec: ScenarioFile) -> tuple[PhaseType, PhaseType] | None:
    """Laws of the bursts of I/O and computation; exponential where only the other is given."""
    tables: BurstLawsTable | None = spec.bursts
    if tables is None:
        return None
    if tables.io is None and tables.cpu is None:
        fail(source, "bursts", "give io, cpu or both, such as io = { scv = 1.0 }")
    given = [name for name in ("scv", "alpha", "T") if getattr(spec.demand, name) is not None]
    given += ["mix"] * (spec.demand.mix == "mean")
    if given:
        fail(
            source,
            f"demand.{given[0]}",
            "with [bursts] every burst has its own law and the demand follows from these; drop "
            "this key, or drop [bursts]",
        )
    laws = []
    for name, table in (("io", tables.io), ("cpu", tables.cpu)):
        found = None if table is None else _given_law(source, f"bursts.{name}", table)
        laws.append(PhaseType.exponential(mean=1.0) if found is None else found[0])
    return laws[0], laws[1]


def _time_law(source: Path, key: str, table: TimeLawTable) -> PhaseType:
    """A law of a time in seconds; exponential where only its mean is given."""
    if table.alpha is not None or table.T is not None:
        if table.mean is not None:
            fail(source, f"{key}.mean", "alpha and T say the mean already; drop one of them")
    elif table.mean is None:
        fail(source, f"{key}.mean", "this key is missing; add it (seconds), or give alpha and T")
    found = _given_law(source, key, table, table.mean or 1.0)
    return PhaseType.exponential(mean=table.mean or 1.0) if found is None else found[0]


def _law(source: Path, key: str, spec: LawTable, log: JobLog | None) -> tuple[PhaseType, str]:
    given = _given_law(source, key, spec)
    if given is not None:
        return given
    if log is None:
        return PhaseType.exponential(mean=1.0), "exponential, since nothing else was given"
    # Jobs without work are thinned out: a fit of all arrivals and of the work of some would give
    # each of them the mean work of the others.
    busy = at_key(source, "log", lambda: log.with_work)
    sample = busy.interarrivals if key == "arrivals" else busy.work
    if sample.size < 2 or sample.max() <= 0:
        fail(source, "log", f"too few jobs are selected to fit {key}: {sample.size}; select more")
    mean = float(sample.mean())
    squares = sample / mean
    squares *= squares
    second = float(squares.mean()) * mean**2
    law = at_key(source, key, match_moments, mean, second)
    thinned = len(log.jobs) - len(busy.jobs)
    without = f", without {thinned:,} jobs of no known work" if thinned else ""
    return law, f"first two moments of {sample.size:,} values in {log.path.name}{without}"


def _mix(spec: DemandTable, log: JobLog | None) -> str:
    """Whether a job is one of the programs, or their mean: a log's work holds who differs."""
    if spec.mix is not None:
        return spec.mix
    from_log = log is not None and spec.scv is None and spec.alpha is None
    return "mean" if from_log else "each"


def _policies(
    source: Path, tables: list[PolicyTable], system: System, only_fitting: bool
) -> tuple[tuple[AbstractPolicy, ...], tuple[str, ...]]:
    """The policies, and the labels of those that were left out."""
    found: dict[str, AbstractPolicy] = {}
    too_large: list[str] = []
    for i, table in enumerate(tables):
        key = f"policy[{i}]"
        for policy in at_key(source, key, _stands_for, source, key, table):
            try:
                at_key(source, key, policy.check, system)
            except ScenarioError:
                if only_fitting:
                    too_large.append(policy.label)
                    continue
                raise
            known = found.setdefault(policy.label, policy)
            if known != policy:
                fail(
                    source,
                    key,
                    f"another policy of this study is labelled {policy.label} too, and results "
                    f"are told apart by labels; drop one of them",
                )
    return tuple(found.values()), tuple(dict.fromkeys(too_large))


def _stands_for(source: Path, key: str, table: PolicyTable) -> list[AbstractPolicy]:
    """The policies of one table, its laws read."""
    values: dict[str, Any] = {}
    for name in table.model_fields_set - {"kind"}:
        value = getattr(table, name)
        if isinstance(value, list) and value and isinstance(value[0], TimeLawTable):
            where = [f"{key}.{name}" + (f"[{n}]" if value[1:] else "") for n in range(len(value))]
            laws = [_time_law(source, at, law) for at, law in zip(where, value, strict=True)]
            value = tuple(laws) if laws[1:] else laws[0]
        values[name] = value
    return list(find_policy(table.kind).from_table(values))  # type: ignore[attr-defined]


def _axis(
    source: Path, key: str, given: list[int] | None, most: int, only_fitting: bool = False
) -> tuple[int, ...]:
    if only_fitting and given is not None:
        given = [number for number in given if number <= most] or None
    if given is None:
        powers = [2**i for i in range(most.bit_length()) if 2**i < most]
        return (*powers, most)
    if max(given) > most:
        fail(source, key, f"{max(given)} is more than the machine has ({most})")
    return tuple(sorted(set(given)))


def _validation(
    source: Path,
    spec: ValidationTable | None,
    policies: tuple[AbstractPolicy, ...],
    log: JobLog | None,
    only_known: bool,
) -> ValidationPlan | None:
    if spec is None:
        return None
    by_label = {policy.label: policy for policy in policies}
    wanted = spec.policies
    if only_known:
        wanted = [label for label in wanted if label in by_label]
        if not wanted:
            return None
    chosen = labelled(source, "validation", wanted, by_label)
    if spec.replay_log and log is None:
        fail(source, "validation.replay_log", "there is no [log] to replay; add one or drop it")
    return ValidationPlan(
        chosen,
        tuple(sorted(set(spec.capacity_fractions))),
        spec.replications,
        spec.jobs,
        spec.replay_log,
    )
