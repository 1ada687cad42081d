"""`simulate_checkpoints`: jobs that save their state to one storage, played event by event."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from phasefit import PhaseType
from phasefit.arrays import Array, Ints
from phasefit.checks import real_number, whole_number
from qmodels.checkpoints import Checkpointing, Storage
from qmodels.checkpoints.model import MODES, ORDERS
from qmodels.errors import ModelError
from qmodels.progress import Progress
from validation.analysis.estimates import estimate
from validation.analysis.seeding import stream
from validation.checkpoints import _kernels as kernels
from validation.checkpoints.results import CheckpointSimulation, ClassResult
from validation.sweeps.executors import replicated

#: Stalls kept of each replication, at most, for percentiles.
_STALLS = 400_000
#: Intervals measured at least, and failures of a class that a replication should see.
_INTERVALS, _FAILURES = 300, 30
#: Intervals of all jobs together beyond which a replication does not wait for its failures.
_MOST_INTERVALS = 500_000


def simulate_checkpoints(
    jobs: Checkpointing | Sequence[tuple[Checkpointing, int]],
    storage: Storage,
    number: int | None = None,
    *,
    intervals: int | None = None,
    warm_up: int = 50,
    replications: int = 10,
    confidence: float = 0.95,
    seed: int = 0,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> CheckpointSimulation:
    """Play jobs that write checkpoints to one storage.

    Parameters
    ----------
    jobs : Checkpointing or sequence of (Checkpointing, int)
        One class, with its `number` of jobs, or classes with theirs.
    storage : Storage
        Where they write; all modes and all orders of admission.
    number : int
        Jobs of the one class.
    intervals : int
        Length of the measured part of a replication, in intervals of the class whose interval
        and write are longest. By default 300, and at least so long that every class fails
        30 times, unless that takes more than half a million intervals of all jobs together: then
        failures are so rare that what they cost is lost in the noise.
    warm_up : int
        Intervals left out at the start.
    replications : int
        Independent runs; at least 2 for an interval of confidence.
    confidence : float
        Coverage of the Student t intervals.
    seed : int
        Replication r draws from ``stream(seed, "checkpoints", r)``.
    workers : int
        Threads; by default one per core. The result does not depend on it.
    executor : concurrent.futures.Executor
        Who runs the replications instead.
    progress : callable
        Called as ``progress("replications", done, replications)``.

    Returns
    -------
    CheckpointSimulation

    Raises
    ------
    ModelError
        If an argument is out of its range.

    Notes
    -----
    Jobs begin to work at time zero and write first at their offset (`Checkpointing.stagger`).
    A failure aborts a transfer and loses all work since the state of the last completed write.
    Work counts when the write that saves it ends.

    Examples
    --------
    >>> job = Checkpointing(1.0, interval=10.0, stagger="together")
    >>> found = simulate_checkpoints(job, Storage(1.0), 8, intervals=1800, replications=2)
    >>> round(found.goodput.mean, 4), round(found.classes[0].write.mean, 4)
    (0.5556, 8.0)
    """
    classes = _checked_classes(jobs, number)
    runs = whole_number("replications", replications, least=1)
    warm = whole_number("warm_up", warm_up, least=0)
    step = max(job.interval + job.write_alone(storage) for job, _ in classes)
    length = _length(classes, step, intervals)
    one = partial(_one, classes, storage, warm * step, length * step, seed)
    played = replicated(one, runs, workers=workers, executor=executor, progress=progress)
    return _summary(classes, storage, played, confidence, length * step)


@dataclass(frozen=True, eq=False)
class _Played:
    """What one replication counted; plain data, which a journal can keep."""

    tally: tuple[dict[str, Any], ...]  #: of each class of jobs
    time: float
    utilisation: float
    events: int
    stalls: Array
    stall_of: Ints  #: class of the job of each stall

    @classmethod
    def counted(cls, tally: Any, time: float, state: kernels.State) -> _Played:
        """Sum up what the kernel left."""
        storage = state.storage[0]
        seen = min(int(storage.stalls), state.stalls.size)
        stalls, stall_of = state.stalls[:seen].copy(), state.stall_of[:seen].copy()
        used = float(storage.used) / time
        rows = tuple(dict(zip(tally.dtype.names, row, strict=True)) for row in tally.tolist())
        return cls(rows, time, used, int(storage.events), stalls, stall_of)


def _one(
    classes: list[tuple[Checkpointing, int]],
    storage: Storage,
    warm: float,
    length: float,
    seed: int,
    run: int,
) -> _Played:
    rng = stream(seed, "checkpoints", run)
    state = _state(classes, storage, warm, length, rng)
    kernels.start(state, rng)
    kernels.play(state, warm + length, rng)
    return _Played.counted(state.tally, length, state)


def _state(
    classes: list[tuple[Checkpointing, int]],
    storage: Storage,
    warm: float,
    length: float,
    rng: np.random.Generator,
) -> kernels.State:
    total = sum(count for _, count in classes)
    jobs = np.zeros(total, kernels.JOB)
    table = np.zeros(len(classes), kernels.CLASS)
    first, expected = 0, 0.0
    for i, (job, count) in enumerate(classes):
        read = job.size if job.restore_size is None else job.restore_size
        table[i] = (
            MODES.index(job.mode),
            job.timer == "clock",
            job.nodes,
            job.interval,
            job.mtbf,
            job.snapshot,
            job.downtime,
            job.size,
            read,
            0.0,
            0.0,
            0,
            first,
            first + count,
        )
        here = slice(first, first + count)
        jobs["of"][here] = i
        jobs["offset"][here] = _offsets(job, storage, count, rng)
        first += count
        expected += count * (length / job.interval + 10.0)
    shared = np.zeros(1, kernels.STORAGE)
    shared["bandwidth"], shared["per_job"] = storage.bandwidth, storage.alone
    shared["writers"], shared["order"] = storage.admitted(total), ORDERS.index(storage.order)
    shared["from_"] = warm
    room = int(min(_STALLS, 2.0 * expected + 10.0))
    return kernels.State(
        jobs,
        table,
        shared,
        np.zeros(len(classes), kernels.TALLY),
        _laws([job for job, _ in classes]),
        np.zeros(total, np.int64),
        np.zeros(total, np.int64),
        np.zeros(total, np.int64),
        np.zeros(total),
        np.zeros(total, np.int64),
        np.zeros(total, np.int64),
        np.zeros(total),
        np.zeros(room),
        np.zeros(room, np.int64),
    )


def _offsets(job: Checkpointing, storage: Storage, count: int, rng: np.random.Generator) -> Array:
    """When the jobs of a class write first, seconds."""
    period = job.interval
    if job.timer == "work" and job.mode != "asynchronous":
        period += job.write_alone(storage)
    elif job.timer == "work":
        period += job.snapshot
    if job.stagger == "together":
        return np.full(count, job.interval)
    if job.stagger == "even":
        return np.arange(count) * period / count
    return rng.random(count) * period


def _laws(classes: list[Checkpointing]) -> kernels.Laws:
    given = [(job.jitter, job.size_law, job.downtime_law) for job in classes]
    laws = [law for row in given for law in row if isinstance(law, PhaseType)]
    most = max([1, *(law.order for law in laws)])
    shape = (len(classes), 3)
    kind, stages = np.zeros((2, *shape), np.int64)
    width, start = np.zeros(shape), np.zeros((*shape, most))
    hold, move = np.zeros((*shape, most)), np.zeros((*shape, most, most))
    for i, row in enumerate(given):
        for k, law in enumerate(row):
            if isinstance(law, PhaseType):
                m = law.order
                leaves = -np.diag(law.T)
                onward = law.T / leaves[:, None]
                np.fill_diagonal(onward, 0.0)
                kind[i, k], stages[i, k] = kernels.STAGED, m
                start[i, k, :m] = np.cumsum(law.alpha)
                hold[i, k, :m] = 1.0 / leaves / law.mean
                move[i, k, :m, :m] = np.cumsum(onward, axis=1)
            elif law:
                kind[i, k], width[i, k] = kernels.UNIFORM, law
    return kernels.Laws(kind, width, stages, start, hold, move)


def _checked_classes(
    jobs: Checkpointing | Sequence[tuple[Checkpointing, int]], number: int | None
) -> list[tuple[Checkpointing, int]]:
    if isinstance(jobs, Checkpointing):
        if number is None:
            raise ModelError("give the number of jobs: simulate_checkpoints(job, storage, 16)")
        return [(jobs, whole_number("number", number, least=1))]
    if number is not None:
        raise ModelError("classes come with their numbers of jobs: leave out number")
    classes = [(job, whole_number("jobs of a class", count, least=1)) for job, count in jobs]
    if not classes:
        raise ModelError("give at least one class of jobs")
    return classes


def _length(classes: list[tuple[Checkpointing, int]], step: float, intervals: int | None) -> float:
    if intervals is not None:
        return float(whole_number("intervals", intervals, least=1))
    failing = [_FAILURES * job.mtbf / count for job, count in classes if np.isfinite(job.mtbf)]
    most = _MOST_INTERVALS / sum(count for _, count in classes)
    wanted = max(_INTERVALS, min(most, max([seconds / step for seconds in failing], default=0.0)))
    return real_number("intervals", float(np.ceil(wanted)), above=0.0)


def _summary(
    classes: list[tuple[Checkpointing, int]],
    storage: Storage,
    played: list[_Played],
    confidence: float,
    seconds: float,
) -> CheckpointSimulation:
    def over(found: Sequence[float]) -> Any:
        return estimate(found, confidence=confidence)

    results = []
    for i, (job, count) in enumerate(classes):
        rows = [run.tally[i] for run in played]
        time = count * seconds
        results.append(
            ClassResult(
                job=job,
                jobs=count,
                goodput=over([float(row["work"]) / time for row in rows]),
                write=over([_mean(row, "write_seconds", "writes") for row in rows]),
                stall=over([_mean(row, "stall_seconds", "stalls") for row in rows]),
                writes=sum(int(row["writes"]) for row in rows),
                restores=sum(int(row["reads"]) for row in rows),
                failures=sum(int(row["failures"]) for row in rows),
                stalls=np.concatenate([run.stalls[run.stall_of == i] for run in played]),
            )
        )
    weights = np.array([job.nodes * count for job, count in classes], dtype=float)
    weights /= weights.sum()
    shares = [
        float(
            sum(
                weight * float(run.tally[i]["work"]) / (count * seconds)
                for i, (weight, (_, count)) in enumerate(zip(weights, classes, strict=True))
            )
        )
        for run in played
    ]
    values = {"goodput": tuple(shares), "utilisation": tuple(run.utilisation for run in played)}
    return CheckpointSimulation(
        storage=storage,
        classes=tuple(results),
        goodput=over(values["goodput"]),
        utilisation=over(values["utilisation"]),
        values=values,
        replications=len(played),
        events=sum(run.events for run in played),
        seconds=seconds,
    )


def _mean(row: Any, total: str, number: str) -> float:
    return float(row[total]) / max(int(row[number]), 1)
