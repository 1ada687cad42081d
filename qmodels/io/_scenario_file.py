"""The tables of a scenario file: which keys there are, of what type and range."""

from __future__ import annotations

import datetime
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from qmodels.io.policy_tables import CHOSEN_POLICY, PolicyTable
from qmodels.io.toml_tables import Count, Fraction, Positive, Seconds, Table


class MachineTable(Table):
    """The machine."""

    processors: Count
    disks: Count
    min_processors: Count = 1
    min_disks: Count = 1
    disk_discipline: Literal["ps", "fcfs", "siro"] = "ps"
    mesh: list[Count] | None = Field(default=None, min_length=2, max_length=2)
    strategy: str | None = Field(default=None, max_length=200)


class LogTable(Table):
    """A job log and which of its jobs."""

    path: str
    available_at: str | None = Field(default=None, max_length=500)
    format: str | None = None
    unit: Literal["cores", "nodes", "gpus"] | None = None
    columns: dict[str, str] | list[str] | None = None
    timezone: str | None = None
    partition: int | str | list[int | str] | None = None
    status: str | int | list[int] | None = None
    start: datetime.datetime | str | None = None
    end: datetime.datetime | str | None = None
    user: int | str | list[int | str] | None = None


class LawTable(Table):
    """A law: its squared coefficient of variation, or alpha and T."""

    instead: ClassVar = (("scv",), ("alpha", "T"))

    scv: Annotated[float, Field(ge=0.01, le=1e4)] | None = None
    alpha: list[float] | None = None
    T: list[list[float]] | None = None


class ArrivalsTable(LawTable):
    """How jobs come: independent gaps of a law, or a process whose gaps depend on each other."""

    D0: list[list[float]] | None = None
    D1: list[list[float]] | None = None
    dependence: Literal["auto", "none", "counts", "work", "days", "sessions", "dispersion"] = "auto"


class DemandTable(LawTable):
    """The law of demand, whose scale it is on, and whether it holds the mix of programs."""

    scale_to_log: bool = False
    mix: Literal["each", "mean"] | None = None


class BurstLawsTable(Table):
    """Laws of single bursts, relative to their means in the program."""

    io: LawTable | None = None
    cpu: LawTable | None = None


class PhaseCountTable(Table):
    """The law of the number of phases: geometric with a mean, or probabilities of 1, 2, ..."""

    instead: ClassVar = (("mean",), ("probabilities",))

    mean: Annotated[float, Field(ge=1)] | None = None
    probabilities: list[float] | None = Field(default=None, min_length=1)


class SlowdownTable(Table):
    """A discontinuity in the number of processors."""

    up_to_processors: Positive
    factor: Positive


class BurstTable(Table):
    """One burst, of I/O or of computation."""

    instead: ClassVar = (("seconds",), ("total",))

    seconds: Seconds | None = None
    total: Seconds | None = None
    sequential: Seconds = 0.0
    per_processor: Seconds = 0.0
    growth: str = "p-1"
    law: str | None = None
    slowdown: SlowdownTable | None = None


class PhaseTable(Table):
    """An I/O burst and a computation burst."""

    io: BurstTable
    cpu: BurstTable


class WorkingSetTable(Table):
    """Phases that are repeated."""

    repeat: Count = 1
    phases: list[PhaseTable] = Field(min_length=1)


class ProgramTable(Table):
    """One program of the mix."""

    name: str = Field(min_length=1, max_length=200)
    weight: Positive = 1.0
    repeat: Count = 1
    io: BurstTable | None = None
    cpu: BurstTable | None = None
    working_sets: list[WorkingSetTable] | None = Field(default=None, min_length=1)
    phase_count: PhaseCountTable | None = None


class RunsTable(Table):
    """Programs by measured runs."""

    path: str
    columns: dict[str, str] | None = None
    weights: dict[str, Positive] | None = None


class SurfaceTable(Table):
    """Where the speedup surface is drawn."""

    processors: list[Count] | None = Field(default=None, min_length=1)
    disks: list[Count] | None = Field(default=None, min_length=1)


class StudyTable(Table):
    """What is predicted."""

    loads: list[Fraction] = Field(min_length=1)
    model: str = Field(default="auto", max_length=500)


class ValidationTable(Table):
    """What is simulated."""

    policies: list[str] = Field(min_length=1)
    capacity_fractions: list[Fraction] = Field(default=[0.3, 0.6, 0.8], min_length=1)
    replications: Annotated[int, Field(ge=2, le=1000)] = 10
    jobs: Count | None = None
    replay_log: bool = False
    fastest: bool = True
    beside: list[str] = Field(default=[], max_length=10)


class TrialTable(Table):
    """How the predictions are held against the mesh of the machine."""

    policies: list[str] | None = Field(default=None, min_length=1)
    capacity_fraction: Fraction = 0.6
    replications: Annotated[int, Field(ge=4, le=1000)] = 8
    jobs: Annotated[int, Field(ge=10)] = 120
    packets: Annotated[int, Field(ge=1, le=1000)] = 2


class ScenarioFile(Table):
    """A whole file."""

    instead: ClassVar = (("program",), ("runs",))

    title: str = Field(default="A study", max_length=500)
    notes: str = Field(default="", max_length=5000)
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    machine: MachineTable
    log: LogTable | None = None
    arrivals: ArrivalsTable = ArrivalsTable()
    demand: DemandTable = DemandTable()
    bursts: BurstLawsTable | None = None
    program: list[ProgramTable] | None = Field(default=None, min_length=1)
    runs: RunsTable | None = None
    policy: Annotated[list[PolicyTable], CHOSEN_POLICY] = Field(min_length=1)
    surface: SurfaceTable = SurfaceTable()
    study: StudyTable
    validation: ValidationTable | None = None
    trial: TrialTable | None = None
