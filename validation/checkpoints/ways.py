"""Ways to write checkpoints, compared for the same jobs: predicted, played, and what they gain."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from phasefit.arrays import Array
from phasefit.checks import whole_number
from phasefit.records import Record, Result
from qmodels.checkpoints import (
    BestInterval,
    Checkpointing,
    CheckpointPrediction,
    Storage,
    best_interval,
    jobs_that_fit,
    predict_checkpoints,
)
from qmodels.errors import ModelError
from qmodels.progress import Progress, no_progress
from qmodels.words import in_words
from validation.analysis.alternatives import Alternatives, Quantity
from validation.analysis.comparison import Comparison
from validation.checkpoints.protocols import protocols_of
from validation.checkpoints.results import CheckpointSimulation
from validation.checkpoints.simulator import simulate_checkpoints

if TYPE_CHECKING:
    import pandas as pd


#: Goodput that jobs may lose by sharing before they no longer count as fitting.
TOLERATED = 0.05
#: Jobs beyond which nobody asks how many more fit.
MOST_THAT_FIT = 100_000
#: Points of the curve of goodput against the interval.
_POINTS = 41


@dataclass(frozen=True, eq=False)
class Way(Record):
    """One way to write: the same jobs, another mode or other turns."""

    name: str
    says: str  #: what happens, in words
    job: Checkpointing
    storage: Storage
    predicted: CheckpointPrediction
    best: BestInterval | None  #: None without failures
    curve: Array  #: goodput predicted at `CheckpointStudy.intervals`
    played: CheckpointSimulation


@dataclass(frozen=True, eq=False)
class CheckpointStudy(Result):
    """All ways for one kind of job."""

    job: Checkpointing
    storage: Storage
    jobs: int
    intervals: Array  #: seconds, of the curves
    ways: tuple[Way, ...]
    most: int | None  #: jobs that lose at most `TOLERATED` to each other, as the job writes now
    warnings: tuple[str, ...]

    @property
    def simulated(self) -> Alternatives[str, CheckpointSimulation]:
        """What was simulated of each way, replication by replication."""
        runs = {way.name: way.played for way in self.ways}
        return Alternatives(runs, {"goodput": Quantity(smaller_is_better=False)})

    def gain(self, way: Way) -> Comparison:
        """Compare the goodput of a way with that of the first, by paired differences."""
        return self.simulated.compare(way.name, self.ways[0].name)

    def plot(self, ax: Any = None) -> Any:
        """Draw goodput against the interval of every way; see `validation.checkpoints.plotting`."""
        from validation.checkpoints.plotting import goodput_against_interval

        return goodput_against_interval(self, ax)

    def record(self) -> dict[str, Any]:
        """How many jobs fit, and a row for each way."""
        return {
            "jobs": self.jobs,
            "jobs_that_fit": self.most,
            "ways": self.to_frame(),
            "warnings": self.warnings,
        }

    def to_frame(self) -> pd.DataFrame:
        """One row for each way: goodput predicted and simulated, stalls, the best interval.

        A gain is the paired difference of the simulated goodput to that of the first way.
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "way": way.name,
                "interval": way.job.interval,
                "predicted_goodput": way.predicted.goodput,
                "predicted_low": way.predicted.low,
                "predicted_high": way.predicted.high,
                "method": way.predicted.method,
                "simulated_goodput": way.played.goodput.mean,
                "half_width": way.played.goodput.half_width,
                "gain": gain.mean,
                "gain_half_width": gain.half_width,
                "gain_verdict": gain.verdict,
                "stall_mean": way.played.stall.mean,
                "stall_p50": way.played.percentile(0.5),
                "stall_p95": way.played.percentile(0.95),
                "stall_p99": way.played.percentile(0.99),
                "utilisation": way.played.utilisation.mean,
                "best_interval": way.best.interval if way.best else np.nan,
                "best_goodput": way.best.goodput if way.best else np.nan,
            }
            for way, gain in ((way, self.gain(way)) for way in self.ways)
        )


def compare_ways(
    job: Checkpointing,
    storage: Storage,
    jobs: int,
    *,
    snapshot: float = 0.0,
    replications: int = 8,
    seed: int = 0,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> CheckpointStudy:
    """Predict and play the ways in which these jobs could write.

    Parameters
    ----------
    job, storage, jobs
        As for `predict_checkpoints`; the job's own way comes first.
    snapshot : float
        Seconds to copy the state aside, for the asynchronous way.
    replications, seed, workers, executor, progress
        As for `simulate_checkpoints`.

    Returns
    -------
    CheckpointStudy
    """
    number = whole_number("jobs", jobs, least=1)
    report = no_progress if progress is None else progress
    ways = list(protocols_of(job, storage, number, snapshot))
    as_given = best_interval(job, storage, number) if np.isfinite(job.mtbf) else None
    middle = as_given.interval if as_given else job.interval
    intervals = np.geomspace(min(job.interval, middle) / 6, max(job.interval, middle) * 6, _POINTS)
    found = []
    for done, (name, says, way, disk) in enumerate(ways, start=1):
        played = simulate_checkpoints(
            way,
            disk,
            number,
            replications=replications,
            seed=seed,
            workers=workers,
            executor=executor,
        )
        if not played.classes[0].writes:
            raise ModelError(
                f"{name}: {number} jobs completed no checkpoint in {in_words(played.seconds)}, each failing "
                f"every {in_words(way.mtbf)}; let fewer jobs share the storage, or give it more bandwidth"
            )
        curve = [
            predict_checkpoints(replace(way, interval=float(x)), disk, number).goodput for x in intervals
        ]
        known = as_given is None or (way, disk) == (job, storage)
        found.append(
            Way(
                name,
                says,
                way,
                disk,
                predict_checkpoints(way, disk, number),
                as_given if known else best_interval(way, disk, number),
                np.array(curve),
                played,
            )
        )
        report("ways", done, len(ways))
    alone = predict_checkpoints(job, storage, 1).goodput
    most = None
    if np.isfinite(job.mtbf) or number > 1:
        most = jobs_that_fit(job, storage, goodput=alone * (1.0 - TOLERATED), at_most=MOST_THAT_FIT)
    return CheckpointStudy(
        job, storage, number, intervals, tuple(found), most, _warnings(job, storage, number)
    )


def _warnings(job: Checkpointing, storage: Storage, jobs: int) -> tuple[str, ...]:
    found = []
    if storage.writers is not None and storage.writers < min(jobs, storage.full_at):
        found.append(
            f"{storage.writers} at a time leave bandwidth idle: it takes {storage.full_at:.3g} "
            f"transfers to use all of it."
        )
    most = (job.interval + job.write_alone(storage)) * storage.bandwidth / job.size
    if jobs > most:
        found.append(
            f"{jobs} jobs ask for more than the storage can write: {most:.3g} of them keep it "
            f"busy all the time."
        )
    if job.timer == "clock" or (job.jitter == 0.0 and not np.isfinite(job.mtbf)):
        found.append(
            "Constant timers never forget how the jobs began: the played starts are random, "
            "others may stay better or worse for ever."
        )
    return tuple(found)
