"""The tables of a scenario file: which keys there are, of what type and range."""

from __future__ import annotations

import datetime
import difflib
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from qmodels.errors import ModelError, ScenarioError

MAX_BYTES = 1_000_000

Built = TypeVar("Built")

Seconds = Annotated[float, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=1)]
Fraction = Annotated[float, Field(gt=0, lt=1)]


class Table(BaseModel):
    """Strict: no unknown keys, no text for a number, nothing that is not finite."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


class MachineTable(Table):
    """The machine."""

    processors: Count
    disks: Count
    min_processors: Count = 1
    min_disks: Count = 1


class LogTable(Table):
    """A job log and which of its jobs."""

    path: str
    partition: int | list[int] | None = None
    status: str | int | list[int] | None = None
    start: datetime.datetime | str | None = None
    end: datetime.datetime | str | None = None
    user: int | list[int] | None = None


class LawTable(Table):
    """A law: its squared coefficient of variation, or alpha and T."""

    scv: Annotated[float, Field(ge=0.01, le=1e4)] | None = None
    alpha: list[float] | None = None
    T: list[list[float]] | None = None


class DemandTable(LawTable):
    """The law of demand, and whose scale it is on."""

    scale_to_log: bool = False


class SlowdownTable(Table):
    """A discontinuity in the number of processors."""

    up_to_processors: Positive
    factor: Positive


class BurstTable(Table):
    """One burst, of I/O or of computation."""

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


class RunsTable(Table):
    """Programs by measured runs."""

    path: str
    weights: dict[str, Positive] | None = None


class PolicyTable(Table):
    """Policies of one kind, every combination of partitions."""

    kind: Literal["SP", "DP", "TS"]
    disk_partitions: list[Count] = Field(min_length=1)
    processor_partitions: list[Count] | None = Field(default=None, min_length=1)
    multiprogramming: Count | None = None


class SurfaceTable(Table):
    """Where the speedup surface is drawn."""

    processors: list[Count] | None = Field(default=None, min_length=1)
    disks: list[Count] | None = Field(default=None, min_length=1)


class StudyTable(Table):
    """What is predicted."""

    loads: list[Fraction] = Field(min_length=1)


class ValidationTable(Table):
    """What is simulated."""

    policies: list[str] = Field(min_length=1)
    capacity_fractions: list[Fraction] = Field(default=[0.3, 0.6, 0.8], min_length=1)
    replications: Annotated[int, Field(ge=2, le=1000)] = 10
    jobs: Count | None = None
    replay_log: bool = False


class ScenarioFile(Table):
    """A whole file."""

    title: str = Field(default="A study", max_length=500)
    notes: str = Field(default="", max_length=5000)
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    machine: MachineTable
    log: LogTable | None = None
    arrivals: LawTable = LawTable()
    demand: DemandTable = DemandTable()
    program: list[ProgramTable] | None = Field(default=None, min_length=1)
    runs: RunsTable | None = None
    policy: list[PolicyTable] = Field(min_length=1)
    surface: SurfaceTable = SurfaceTable()
    study: StudyTable
    validation: ValidationTable | None = None


def read_tables(source: Path) -> ScenarioFile:
    """Read a scenario file and check it against the tables; ScenarioError lists every fault."""
    try:
        raw = source.read_bytes()
    except OSError as error:
        fail(source, "file", f"cannot be read: {error.strerror or error}")
    if len(raw) > MAX_BYTES:
        fail(source, "file", f"{len(raw)} bytes; a scenario may have {MAX_BYTES}")
    try:
        return ScenarioFile.model_validate(tomllib.loads(raw.decode("utf-8")))
    except UnicodeDecodeError as error:
        fail(source, "file", f"is not UTF-8 text (byte {error.start})")
    except RecursionError:
        fail(source, "file", "is nested too deeply")
    except tomllib.TOMLDecodeError as error:
        fail(source, "file", f"is not valid TOML: {error}")
    except ValidationError as error:
        raise ScenarioError(str(source), list(_findings(error))) from None


def _findings(error: ValidationError) -> Iterator[tuple[str, str]]:
    for item in error.errors(include_url=False):
        key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in item["loc"])
        key = key.removeprefix(".") or "file"
        if item["type"] == "missing":
            yield key, "this key is missing; add it"
        elif item["type"] == "extra_forbidden":
            name = str(item["loc"][-1])
            known = _known_keys(item["loc"][:-1])
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]}?" if close else f"known here: {', '.join(known)}"
            yield key, f"unknown key; {hint}"
        else:
            shown = repr(item["input"])
            shown = shown if len(shown) <= 60 else shown[:57] + "..."
            yield key, f"{item['msg'][0].lower()}{item['msg'][1:]}, got {shown}"


def _known_keys(where: tuple[int | str, ...]) -> list[str]:
    """Keys of the table at `where`, found by walking the declared tables."""
    table: Any = ScenarioFile
    for part in where:
        if isinstance(part, int) or part not in table.model_fields:
            continue
        table = next(iter(_tables_in(table.model_fields[part].annotation)), table)
    return list(table.model_fields)


def _tables_in(annotation: Any) -> Iterator[type[Table]]:
    if isinstance(annotation, type) and issubclass(annotation, Table):
        yield annotation
    for inner in getattr(annotation, "__args__", ()):
        yield from _tables_in(inner)


def fail(source: Path, key: str, text: str) -> NoReturn:
    """Raise ScenarioError for one key."""
    raise ScenarioError(str(source), [(key, text)])


def at_key(source: Path, key: str, build: Callable[..., Built], *args: Any, **kwargs: Any) -> Built:
    """Call `build`; a ModelError comes out naming the key that caused it."""
    try:
        return build(*args, **kwargs)
    except ScenarioError:
        raise
    except ModelError as error:
        raise ScenarioError(str(source), [(key, str(error))]) from None
