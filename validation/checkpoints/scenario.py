"""Files and options that describe jobs at one storage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field

from phasefit.checks import real_number
from phasefit.records import Record
from qmodels.checkpoints import Checkpointing, Storage, daly, young
from qmodels.checkpoints.presets import model_bytes, system
from qmodels.errors import ModelError
from qmodels.io.study_file import StudyFile, StudyTable
from qmodels.io.toml_tables import Count, Table
from qmodels.units import byte_count, bytes_per_second, quantity, seconds
from qmodels.words import in_words

Quantity = str | float | int

#: Seconds to copy the state aside where nothing is said.
_SNAPSHOT = 5.0
#: Jobs that are played, at most: more than share any storage, and minutes of computing.
_MOST_JOBS = 10_000
#: Mean times between failures that may pass until a state is kept: of such intervals one in
#: 22,000 is survived, and of longer ones a run of thousands sees none.
_HOPELESS = 10.0


class JobTable(Table):
    """What every job does; times and sizes as people write them, with their units."""

    instead: ClassVar = (("size",), ("model",))

    jobs: Annotated[int, Field(ge=1, le=_MOST_JOBS)] = 1
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


class CheckpointStudyTable(StudyTable):
    """How much to compute; all ways to write compete."""

    replications: Annotated[int, Field(ge=2, le=10_000)] = 8


class CheckpointFile(StudyFile):
    """The whole file."""

    job: JobTable = JobTable()
    storage: StorageTable = StorageTable()
    study: CheckpointStudyTable = CheckpointStudyTable()


@dataclass(frozen=True)
class CheckpointPlan(Record):
    """Jobs at one storage, ready to be compared: what `compare_ways` takes."""

    job: Checkpointing
    storage: Storage
    jobs: int
    snapshot: float  #: seconds, for writing behind the work
    replications: int
    seed: int


def checkpoint_plan(spec: CheckpointFile) -> CheckpointPlan:
    """The objects that the tables speak of; a bandwidth goes before that of a known system.

    Raises
    ------
    ModelError
        If something is missing or out of its range; names the option and what to write.
    """
    known = None if spec.storage.system is None else system(spec.storage.system)
    if spec.storage.bandwidth is not None:
        bandwidth = quantity("storage.bandwidth", bytes_per_second, spec.storage.bandwidth)
    elif known is not None:
        bandwidth = known.storage.bandwidth
    else:
        raise ModelError("give the bandwidth of the storage, such as --bandwidth 20GB/s")
    per_job = None
    if spec.storage.per_job is not None:
        per_job = quantity("storage.per_job", bytes_per_second, spec.storage.per_job)
    storage = Storage(bandwidth, per_job, spec.storage.writers, spec.storage.order)
    table = spec.job
    if table.size is not None and table.model is not None:
        raise ModelError("give either the size of a checkpoint or a model, not both")
    if table.size is not None:
        size = float(quantity("job.size", byte_count, table.size))
    elif table.model is not None:
        size = model_bytes(table.model)
    else:
        raise ModelError("give the size of a checkpoint, such as --size 5.29TB, or --model llama3-405b")
    if table.mtbf is not None:
        mtbf = real_number("mtbf", quantity("job.mtbf", seconds, table.mtbf), above=0.0)
    else:
        mtbf = known.mtbf if known is not None and known.mtbf is not None else float("inf")
    snapshot = _SNAPSHOT
    if table.snapshot is not None:
        snapshot = quantity("job.snapshot", seconds, table.snapshot)
    behind = table.mode == "asynchronous"
    write = size / storage.alone
    if table.interval is not None:
        interval = quantity("job.interval", seconds, table.interval)
    elif mtbf < float("inf"):
        stands = snapshot if behind else write
        interval = max(daly(stands, mtbf), write if behind else 0.0, 1e-3 * young(write, mtbf))
    else:
        raise ModelError("give the interval, such as --interval 2h, or failures: --mtbf 24.7h")
    restore = None
    if table.restore_size is not None:
        restore = float(quantity("job.restore_size", byte_count, table.restore_size))
    job = Checkpointing(
        size,
        interval,
        mtbf,
        quantity("job.downtime", seconds, table.downtime),
        table.mode,
        restore_size=restore,
        snapshot=snapshot if behind else 0.0,
        timer=table.timer,
        jitter=table.jitter,
        stagger=table.stagger,
    )
    _check_hope(job, write)
    study = spec.study
    return CheckpointPlan(job, storage, table.jobs, snapshot, study.replications, study.seed)


def _check_hope(job: Checkpointing, write: float) -> None:
    """Raise ModelError where hardly any state would ever be kept, by any way to write."""
    if job.interval + write > _HOPELESS * job.mtbf:
        raise ModelError(
            f"a job fails every {in_words(job.mtbf)}, but works for {in_words(job.interval)} and "
            f"writes for {in_words(write)} until a checkpoint is complete, so that hardly any "
            f"ever would be; both together may take {in_words(_HOPELESS * job.mtbf)}: give a "
            f"shorter interval, a smaller size, more bandwidth or a longer mtbf"
        )
