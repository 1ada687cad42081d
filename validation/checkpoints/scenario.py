"""Files and options that describe jobs at one storage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from qmodels.checkpoints import Checkpointing, Storage, daly, young
from qmodels.checkpoints.presets import model_bytes, system
from qmodels.commands.byte_counts import byte_count
from qmodels.commands.quantities import bytes_per_second, seconds
from qmodels.errors import ModelError
from qmodels.io.toml_tables import Count, Table, checked_tables, read_tables

Quantity = str | float | int

#: Seconds to copy the state aside where nothing is said.
_SNAPSHOT = 5.0


class JobTable(Table):
    """What every job does; times and sizes as people write them or in seconds and bytes."""

    jobs: Count = 1
    size: Quantity | None = None
    model: str | None = None
    restore_size: Quantity | None = None
    interval: Quantity | None = None
    mtbf: Quantity | None = None
    downtime: Quantity = 0.0
    mode: str = "blocking"
    snapshot: Quantity | None = None
    timer: str = "work"
    jitter: Annotated[float, Field(ge=0, lt=1)] = 0.0
    stagger: str = "random"


class StorageTable(Table):
    """Where they write."""

    bandwidth: Quantity | None = None
    per_job: Quantity | None = None
    system: str | None = None
    writers: Count | None = None
    order: str = "fcfs"


class CheckpointFile(Table):
    """The whole file."""

    job: JobTable = JobTable()
    storage: StorageTable = StorageTable()


@dataclass(frozen=True)
class CheckpointPlan:
    """Jobs at one storage, ready to be compared."""

    job: Checkpointing
    storage: Storage
    jobs: int
    snapshot: float  #: seconds, for writing behind the work


def checkpoint_plan(
    source: Path | None,
    *,
    job: Mapping[str, Any],
    storage: Mapping[str, Any],
    found: Mapping[str, Mapping[str, Any]] | None = None,
) -> CheckpointPlan:
    """Read a file, with what was given as options over it.

    Parameters
    ----------
    source : Path or None
        A TOML file with the tables ``[job]`` and ``[storage]``.
    job, storage : mapping
        Options of the same names; None for what was not given.
    found : mapping, optional
        Values by table that were found in a trace: over the file, and under the options.

    Raises
    ------
    ModelError
        If something is missing or out of its range; names the option and what to write.
    """
    spec = CheckpointFile() if source is None else read_tables(source, CheckpointFile)
    tables: dict[str, dict[str, Any]] = spec.model_dump(exclude_unset=True)
    traced = [(name, values) for name, values in (found or {}).items()]
    for name, given in (*traced, ("job", job), ("storage", storage)):
        kept = {key: value for key, value in given.items() if value is not None}
        table = tables.setdefault(name, {})
        # One way to say a number takes the place of the other.
        for one, other in (("size", "model"), ("bandwidth", "system")):
            if one in kept:
                table.pop(other, None)
            if other in kept and (other == "model" or one in (found or {}).get(name, {})):
                table.pop(one, None)
        table |= kept
    spec = checked_tables(source or Path("options"), CheckpointFile, tables)
    return _plan(spec)


def _plan(spec: CheckpointFile) -> CheckpointPlan:
    known = None if spec.storage.system is None else system(spec.storage.system)
    if spec.storage.bandwidth is not None:
        bandwidth = bytes_per_second(spec.storage.bandwidth)
    elif known is not None:
        bandwidth = known.storage.bandwidth
    else:
        raise ModelError("give the bandwidth of the storage, such as --bandwidth 20GB/s")
    per_job = None if spec.storage.per_job is None else bytes_per_second(spec.storage.per_job)
    storage = Storage(bandwidth, per_job, spec.storage.writers, spec.storage.order)
    table = spec.job
    if table.size is not None and table.model is not None:
        raise ModelError("give either the size of a checkpoint or a model, not both")
    if table.size is not None:
        size = float(byte_count(str(table.size)))
    elif table.model is not None:
        size = model_bytes(table.model)
    else:
        raise ModelError(
            "give the size of a checkpoint, such as --size 5.29TB, or --model llama3-405b"
        )
    if table.mtbf is not None:
        mtbf = seconds(table.mtbf)
    else:
        mtbf = known.mtbf if known is not None and known.mtbf is not None else float("inf")
    snapshot = _SNAPSHOT if table.snapshot is None else seconds(table.snapshot)
    behind = table.mode == "asynchronous"
    write = size / storage.alone
    if table.interval is not None:
        interval = seconds(table.interval)
    elif mtbf < float("inf"):
        stands = snapshot if behind else write
        interval = max(daly(stands, mtbf), write if behind else 0.0, 1e-3 * young(write, mtbf))
    else:
        raise ModelError("give the interval, such as --interval 2h, or failures: --mtbf 24.7h")
    job = Checkpointing(
        size, interval, mtbf, seconds(table.downtime), table.mode,
        restore_size=(
            None if table.restore_size is None else float(byte_count(str(table.restore_size)))
        ),
        snapshot=snapshot if behind else 0.0,
        timer=table.timer, jitter=table.jitter, stagger=table.stagger,
    )  # fmt: skip
    return CheckpointPlan(job, storage, table.jobs, snapshot)
