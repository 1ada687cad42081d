"""Scenario files: one TOML file says what machine, which jobs, which policies, what to compute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from phasefit import MAP, PhaseType
from phasefit.records import Record
from qmodels.errors import ModelError, TraceFormatError
from qmodels.io._scenario_arrivals import dependent_arrivals
from qmodels.io._scenario_file import (
    DemandTable,
    LogTable,
    ScenarioFile,
    ValidationTable,
)
from qmodels.io._scenario_laws import burst_laws_of, law_of
from qmodels.io._scenario_policies import policies_of
from qmodels.io._scenario_programs import programs_of, scale_to_log
from qmodels.io.job_logs import read_jobs
from qmodels.io.mesh_trial import TrialPlan, labelled, trial_plan
from qmodels.io.settings import checked_with, dotted, laid_over, naming, told
from qmodels.io.swf import JobLog
from qmodels.io.toml_tables import at_key, checked_tables, fail, unchecked_tables
from qmodels.policies import MODELS, AbstractPolicy, System, Workload, work_bound
from qmodels.policies.models.base import AUTO, followers, model_name
from qmodels.programs import (
    FittedProgram,
    Program,
    WorkloadMix,
)
from qmodels.programs.model import parts

#: Allotments of a surface, which is drawn and written row by row.
_MOST_ALLOTMENTS = 1_000_000


@dataclass(frozen=True, eq=False)
class ValidationPlan(Record):
    """Which predictions are to be simulated."""

    policies: tuple[AbstractPolicy, ...]
    capacity_fractions: tuple[float, ...]  #: arrival rates, as fractions of each capacity
    replications: int
    jobs: int | None  #: jobs measured in each replication; None lets the simulator choose
    replay_log: bool  #: also play the log back in its own order
    fastest: bool  #: also those that the findings name fastest, at their loads
    beside: tuple[str, ...] = ()  #: labels of malleable policies, which no site runs today


@dataclass(frozen=True, eq=False)
class Scenario(Record):
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
    description: str = "auto"  #: what the jobs of a log are taken for, see `Workload`
    tables: Mapping[str, Any] = field(default_factory=dict)  #: of the file, settings over them
    settings: Mapping[str, Any] = field(default_factory=dict)  #: what was set instead, by key
    changes: tuple[str, ...] = ()  #: the same in words, a line each, and what followed from it

    @property
    def workload(self) -> Workload:
        """What the jobs ask for and how they arrive."""
        if self.burst_laws is None:
            return Workload(
                self.program, self.demand, self.arrivals, mix=self.mix, description=self.description
            )
        io, cpu = self.burst_laws
        return Workload(self.program, arrivals=self.arrivals, io_bursts=io, cpu_bursts=cpu)

    @property
    def log_load(self) -> float | None:
        """Load of the log's own arrivals on this machine; None where they have no rate."""
        try:
            rate = self.log.with_work.arrival_rate if self.log else None
        except ModelError:  # no two jobs of known work apart in time
            return None
        return None if rate is None else rate / work_bound(self.system, self.program)

    @property
    def dependent(self) -> bool:
        """Whether arrivals are a process whose gaps may depend on those before."""
        return isinstance(self.arrivals, MAP)

    def with_model(self, model: str | None) -> Scenario:
        """The same scenario with another model of its predictions; None for the one that it has.

        Raises
        ------
        ModelError
            If there is no such model, or the workload has no laws of bursts and the model needs
            them.
        """
        name = self.model if model is None else model_name(model)
        if name != AUTO and MODELS.find(name).needs_bursts and self.burst_laws is None:
            raise ModelError(
                f'model = "{name}" follows single bursts, whose laws this scenario does not '
                "tell; add a [bursts] table such as io = { scv = 1.0 }, or use another model"
            )
        return replace(self, model=name)

    def follows(self, policy: AbstractPolicy) -> bool:
        """Return whether the model of the predictions can follow a policy.

        Parameters
        ----------
        policy : AbstractPolicy
            One that fits the machine.
        """
        if self.model == AUTO:
            return True
        model = MODELS.made(self.model)
        return model.follows(policy, policy.arrangement(self.system), self.workload)

    @property
    def mix_note(self) -> str:
        """What a job of several programs is taken for, where that is their mean; else ""."""
        if self.mix == "each" or self.burst_laws is not None or len(parts(self.program)) == 1:
            return ""
        return (
            f"All jobs are given the average program; differences in size come from the law of "
            f"demand ({self.demand_from}). Where the programs do not scale alike this is "
            f'approximate; [demand] mix = "each" draws a program for every job instead.'
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
    program, fits = programs_of(source, spec, None if like is None else like.fits)
    time_scale = 1.0
    if spec.demand.scale_to_log:
        if log is None:
            fail(source, "demand.scale_to_log", "there is no [log] to scale to; add one or drop it")
        time_scale = (
            like.time_scale
            if like is not None
            else at_key(source, "demand.scale_to_log", scale_to_log, log, system, program)
        )
        program = program.scaled(time_scale)
    arrivals, arrivals_from = dependent_arrivals(source, spec.arrivals, log) or law_of(
        source, "arrivals", spec.arrivals, log
    )
    demand, demand_from = law_of(source, "demand", spec.demand, log)
    burst_laws = burst_laws_of(source, spec)
    if burst_laws is not None:
        demand_from += "; predictions and simulations take the laws of [bursts] instead"
    policies, too_large = policies_of(source, spec.policy, system, only_fitting)
    sides = [
        _axis(source, f"surface.{name}", given, most, only_fitting)
        for name, given, most in (
            ("processors", spec.surface.processors, system.processors),
            ("disks", spec.surface.disks, system.disks),
        )
    ]
    if len(sides[0]) * len(sides[1]) > _MOST_ALLOTMENTS:
        what = f"{len(sides[0]):,} numbers of processors times {len(sides[1]):,} of disks"
        fail(source, "surface", f"{what} are too many to draw; name {_MOST_ALLOTMENTS:,} in all")
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
        surface_processors=sides[0],
        surface_disks=sides[1],
        loads=tuple(sorted(set(spec.study.loads))),
        validation=_validation(source, spec.validation, policies, log, only_fitting or only_known),
        burst_laws=burst_laws,
        description=_description(spec.arrivals.dependence),
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
    for policy in plan.policies:
        if not plan.follows(policy):
            fail(
                source,
                "study.model",
                f"{policy.label} has no {plan.model} model; use one of auto, "
                f"{', '.join(followers(policy, plan.system, plan.workload))}, or leave the policy out",
            )


def with_settings(tables: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Tables of a scenario with settings over them, not checked; see `laid_over`.

    Examples
    --------
    >>> with_settings({"machine": {"processors": 8, "disks": 8}}, {"machine.disks": 16})
    {'machine': {'processors': 8, 'disks': 16}}
    """
    return laid_over(ScenarioFile, tables, settings)


def load_programs(path: str | Path, *, settings: Mapping[str, Any] | None = None) -> Program | WorkloadMix:
    """Only the programs of a scenario, unscaled; its log need not exist.

    Raises
    ------
    ScenarioError, TraceFormatError
        As for `load_scenario`.
    """
    return programs_of(Path(path), read_scenario_file(path, settings=settings))[0]


def read_scenario_file(path: str | Path, *, settings: Mapping[str, Any] | None = None) -> ScenarioFile:
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
        kind = "is a folder" if path.is_dir() else "is not there" if not path.exists() else "is no file"
        fail(source, "log.path", f"{path} {kind}; put the job log there or name another{where}")
    try:
        return read_jobs(path, **choice, max_bytes=max_bytes, keep=("user",))
    except TraceFormatError:
        raise
    except ModelError as error:
        fail(source, "log", str(error))


def _description(dependence: str) -> str:
    """What a workload calls the dependence of a scenario's arrivals."""
    if dependence in ("none", "counts", "work"):
        return "independent"
    return dependence


def _mix(spec: DemandTable, log: JobLog | None) -> str:
    """Whether a job is one of the programs, or their mean: a log's work holds who differs."""
    if spec.mix is not None:
        return spec.mix
    from_log = log is not None and spec.scv is None and spec.alpha is None
    return "mean" if from_log else "each"


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
        spec.fastest,
        tuple(dict.fromkeys(spec.beside)),
    )
