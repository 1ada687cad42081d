"""Files that describe a comparison of strategies: a mesh, jobs, what they send, who competes."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from phasefit.records import Record
from qmodels.errors import ModelError, TraceFormatError
from qmodels.io.study_file import StudyFile, StudyTable, made_once
from qmodels.io.toml_tables import Count, Fraction, Positive, Table, at_key, fail
from validation.allocation import AbstractStrategy, Request, load_strategy
from validation.allocation.base import answer
from validation.jobs import STREAMS, AbstractStreams, LogStreams
from validation.jobs.stream import Setting, TableError
from validation.machine.machine import Machine
from validation.machine.traffic import AbstractJobTraffic, Alternating, MixedTraffic
from validation.mesh import Mesh, Occupancy, Router


class MeshTable(Table):
    """The place."""

    rows: Count = 16
    columns: Count = 22
    depth: Count = 1
    torus: bool = False
    io_side: str | None = "west"


def sides_table(numbers: Sequence[Any]) -> dict[str, Any]:
    """Keys of `MeshTable` for two or three numbers, in the order of `validation.mesh.Sides`.

    Examples
    --------
    >>> sides_table([16, 22])
    {'depth': 1, 'rows': 16, 'columns': 22}
    """
    names = ("rows", "columns") if len(numbers) == 2 else ("columns", "rows", "depth")
    return {"depth": 1} | dict(zip(names, numbers, strict=True))


class MachineTable(Table):
    """Who is let in, where, and what ends a job."""

    discipline: str = "FCFS"
    network: Literal["none", "fluid", "worm"] = "worm"
    hop: Count = 1
    buffer: Count = 1
    cut_through: bool = False
    disk_pace: Annotated[float, Field(ge=1)] = 1.0


class JobsTable(Table):
    """What arrives when."""

    instead: ClassVar = (("mean_interarrival",), ("utilisation",), ("arrival_factor",))

    source: str = "poisson"  #: a name in `STREAMS`
    count: Count | None = None
    mean_size: Positive | None = None
    sides: Literal["uniform", "exponential", "near-cubic"] | None = None
    demand: Literal["pareto", "exponential"] | None = None
    mean_interarrival: Positive | None = None
    utilisation: Fraction | None = None
    arrival_factor: Positive | None = None
    path: str | None = None
    format: str | None = None
    unit: Literal["cores", "nodes", "gpus"] | None = None
    columns: dict[str, str] | list[str] | None = None
    timezone: str | None = None
    partition: int | str | list[int | str] | None = None
    status: str | int | list[int] | None = None
    start: datetime.datetime | str | None = None
    end: datetime.datetime | str | None = None


class TrafficTable(Table):
    """What every job sends."""

    kind: Literal["mixed", "alternating"] = "mixed"
    io_share: Annotated[float, Field(ge=0, le=1)] | None = None
    slots: Count | None = None
    flits: Count = 5
    communications: Annotated[int, Field(ge=0)] | None = None
    pattern: str | None = None
    io: Literal["write", "read"] | None = None
    io_flits: Count | None = None
    repeat: Count | None = None
    by_demand: bool = False


class ComparisonTable(StudyTable):
    """Who competes, and how much to compute."""

    strategies: list[str] = Field(
        default=["MC-Elongated", "PLAS", "MC", "Random", "MBS", "Paging"], min_length=1
    )
    completions: Count | None = None
    times: Annotated[list[Positive], Field(max_length=6)] | None = None


class AllocationFile(StudyFile):
    """The whole file.

    In short, ``mesh = [8, 8, 4]`` and ``torus = true`` before the tables stand for a table of the
    mesh: two sides are rows and columns, three are x, y and z, and such a mesh has no I/O nodes.
    """

    short: ClassVar = {**StudyFile.short, "machine.strategies": "study.strategies"}

    title: str = "Strategies compared"
    mesh: MeshTable = MeshTable()
    machine: MachineTable = MachineTable()
    jobs: JobsTable = JobsTable()
    traffic: TrafficTable | None = None
    study: ComparisonTable = ComparisonTable()

    @classmethod
    def written_out(cls, tables: Mapping[str, Any]) -> Mapping[str, Any]:
        """See `Table.written_out`: two or three sides stand for a table of the mesh."""
        tables = super().written_out(tables)
        given = tables.get("mesh")
        # Anything else is not the short form; sides out of range are found where all sides are.
        if not isinstance(given, list | tuple) or len(given) not in (2, 3):
            return tables
        rest = {key: value for key, value in tables.items() if key != "torus"}
        place = sides_table(given) | {"io_side": None, "torus": tables.get("torus", False)}
        return rest | {"mesh": place}


@dataclass(frozen=True, eq=False)
class AllocationPlan(Record):
    """A comparison of strategies, ready to run."""

    title: str
    seed: int
    machine: Machine  #: with the first strategy
    strategies: tuple[AbstractStrategy, ...]
    streams: AbstractStreams
    utilisation: float | None  #: to be reached by the first strategy; None: as the jobs come
    replications: int
    completions: int | None
    times: tuple[float, ...] | None  #: of the pictures of the mesh
    warnings: tuple[str, ...]  #: about the log


def load_plan(path: str | Path, *, settings: Mapping[str, Any] | None = None) -> AllocationPlan:
    """Read a comparison from a TOML file.

    Parameters
    ----------
    path : str or Path
        Its keys are described in docs/reference/allocation-scenario.md; relative paths in it are
        taken from its own folder.
    settings : mapping, optional
        Values in place of what the file holds, by dotted key; see `qmodels.io.settings`.

    Returns
    -------
    AllocationPlan

    Raises
    ------
    ScenarioError
        If the file is missing, is no TOML, has an unknown key, or holds a value out of range;
        every fault found is listed.
    TraceFormatError
        If the job log is damaged.
    """
    source = Path(path)
    return make_plan(source, AllocationFile.read(source, settings))


def make_plan(source: Path, spec: AllocationFile, *, max_bytes: int | None = None) -> AllocationPlan:
    """The objects that the tables speak of; errors name `source` and the key.

    `max_bytes` is the most text that is read of a job log.
    """
    mesh = at_key(
        source,
        "mesh",
        Mesh,
        spec.mesh.rows,
        spec.mesh.columns,
        spec.mesh.depth,
        torus=spec.mesh.torus,
        io_side=None if spec.mesh.torus else spec.mesh.io_side,
    )
    traffic = None
    if spec.machine.network == "none":
        if spec.traffic is not None:
            fail(source, "traffic", "with network 'none' jobs send nothing; drop this table")
    else:
        share = 0.5 if mesh.io_nodes.size else 0.0
        traffic = _traffic(source, spec.traffic or TrafficTable(io_share=share), share)
    strategies = _strategies(source, mesh, spec.study.strategies)
    machine = at_key(
        source,
        "machine",
        Machine,
        mesh=mesh,
        strategy=strategies[0],
        discipline=spec.machine.discipline,
        network=spec.machine.network,
        traffic=traffic,
        router=at_key(
            source,
            "machine",
            Router,
            hop=spec.machine.hop,
            buffer=spec.machine.buffer,
            cut_through=spec.machine.cut_through,
        ),
        disk_pace=spec.machine.disk_pace,
    )
    streams, utilisation = _streams(source, spec, mesh, machine, max_bytes)
    warnings: tuple[str, ...] = ()
    if isinstance(streams, LogStreams):
        warnings = (*streams.log.warnings, *streams.warnings)
    return AllocationPlan(
        title=spec.title,
        seed=spec.study.seed,
        machine=machine,
        strategies=strategies,
        streams=streams,
        utilisation=utilisation,
        replications=spec.study.replications,
        completions=spec.study.completions,
        times=None if spec.study.times is None else tuple(spec.study.times),
        warnings=warnings,
    )


def _strategies(source: Path, mesh: Mesh, names: list[str]) -> tuple[AbstractStrategy, ...]:
    def make(name: str) -> AbstractStrategy:
        strategy = load_strategy(name)()
        answer(strategy, Occupancy(mesh), Request(1))
        return strategy

    return made_once(source, "study.strategies", "strategy", names, make)


def _traffic(source: Path, spec: TrafficTable, share: float) -> AbstractJobTraffic:
    other = {
        "mixed": ("communications", "pattern", "io", "io_flits", "repeat"),
        "alternating": ("io_share", "slots"),
    }[spec.kind]
    for key in other:
        if getattr(spec, key) is not None:
            fail(source, f"traffic.{key}", f"is not for kind {spec.kind!r}; drop it")
    given = spec.model_dump(exclude={"kind"}, exclude_none=True)
    if spec.kind == "mixed":
        return at_key(source, "traffic", MixedTraffic, **({"io_share": share} | given))
    given.setdefault("io_flits", spec.flits)
    return at_key(source, "traffic", Alternating, **given)


def _streams(
    source: Path, file: AllocationFile, mesh: Mesh, machine: Machine, max_bytes: int | None
) -> tuple[AbstractStreams, float | None]:
    """Where jobs come from, and the utilisation that is to be reached."""
    given = file.jobs.model_dump(exclude={"source"}, exclude_none=True)
    kind = at_key(source, "jobs.source", STREAMS.find, file.jobs.source)
    for key in given:
        if key not in kind.keys:
            fail(source, f"jobs.{key}", f"is not for source {kind.name!r}; drop it")
    rates = [key for key in ("mean_interarrival", "utilisation", "arrival_factor") if key in given]
    if len(rates) > 1:
        fail(source, f"jobs.{rates[1]}", f"give either this or {rates[0]}")
    setting = Setting(
        largest=mesh.nodes,
        sides=mesh.sides,
        timed=machine.network == "none",
        folder=source.parent,
        replications=file.study.replications,
        max_bytes=max_bytes,
    )
    try:
        return kind.from_table(given, setting)
    except TraceFormatError:  # says where in the log
        raise
    except TableError as error:
        fail(source, f"jobs.{error.key}", str(error))
    except ModelError as error:
        fail(source, "jobs", str(error))
