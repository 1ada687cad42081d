"""Streams replayed from a job log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

import numpy as np
from numpy.typing import NDArray

from phasefit.checks import one_of, real_number
from qmodels.errors import ModelError
from validation.jobs.stream import (
    LARGEST_SIZE,
    USUAL_UTILISATION,
    AbstractStreams,
    JobStream,
    Setting,
    TableError,
    arrivals_of,
    job_count,
    register,
    renamed,
    size_limit,
    spawned,
    wanted_utilisation,
)

if TYPE_CHECKING:
    from qmodels.io import JobLog

#: Keys that say how a log is read, as `read_jobs` takes them.
_OF_READING: Final = ("format", "unit", "columns", "timezone", "partition", "status", "start", "end")


@register
@dataclass(frozen=True, eq=False)
class LogStreams(AbstractStreams):
    """The jobs of a log in their own order, so that its dependence is kept.

    Times of submission become arrivals, the first at 0; run times become demands (a run time of
    0 becomes one second), requested times become estimates. Recorded waits and starts are not
    used. A row without a size or a run time is left out.

    Parameters
    ----------
    log : JobLog
        From `qmodels.io.read_jobs`, with the partition and the status that are wanted.
    jobs : int, optional
        Jobs of a stream; all usable jobs of the log if left out.
    mean_interarrival : float, optional
        Speeds up or slows down the arrivals so that the mean gap of all usable jobs is this, > 0,
        in the machine's unit.
    arrival_factor : float
        Or multiply all gaps by this, > 0; 0.5 brings the jobs twice as fast.
    largest : int, optional
        Nodes of the largest job that is wanted.
    oversize : {"clip", "drop"}
        Whether jobs larger than `largest` are cut down to it or left out.
    start : {"first", "random"}
        Whether every stream begins with the first job, so that all are the same; or each begins
        with a random job and goes round. The gap from the last job to the first is then the mean
        gap.

    Attributes
    ----------
    warnings : tuple of str
        What was left out or changed, each with its count.

    Raises
    ------
    ModelError
        If a parameter is out of its range, both scales are given, no row is usable, or `jobs` is
        more than the usable rows.

    Notes
    -----
    One factor scales all streams of a log, so that a stretch that is busier than the log stays
    so. If no row has a run time the streams have no demands. Where a requested time is not known
    the run time stands in for it.

    Examples
    --------
    >>> from qmodels.io import JobLog
    >>> log = JobLog("made", {"submit": [5, 65, 185], "run": [30, 0, 40], "processors": [4, 8, 2]})
    >>> streams = LogStreams(log, mean_interarrival=9.0)
    >>> stream = streams.draw(rng=np.random.default_rng(1))
    >>> stream.arrivals, stream.sizes, stream.demands
    (array([ 0.,  6., 18.]), array([4, 8, 2]), array([30.,  1., 40.]))
    >>> print(streams.warnings[0])
    Jobs with a run time of 0, taken as one second: 1.
    """

    name: ClassVar[str] = "log"
    keys: ClassVar[tuple[str, ...]] = (
        "count",
        "mean_interarrival",
        "utilisation",
        "arrival_factor",
        "path",
        *_OF_READING,
    )
    log: JobLog
    _: KW_ONLY
    jobs: int | None = None
    mean_interarrival: float | None = None
    arrival_factor: float = 1.0
    largest: int | None = None
    oversize: Literal["clip", "drop"] = "clip"
    start: Literal["first", "random"] = "first"

    def __post_init__(self) -> None:
        from qmodels.io import JobLog

        if not isinstance(self.log, JobLog):
            raise ModelError(f"log must be a JobLog, as read_jobs returns; got {self.log!r:.60}")
        one_of("oversize", self.oversize, ("clip", "drop"))
        one_of("start", self.start, ("first", "random"))
        checked: dict[str, Any] = {
            "arrival_factor": real_number("arrival_factor", self.arrival_factor, above=0.0)
        }
        if self.mean_interarrival is not None:
            if checked["arrival_factor"] != 1.0:
                raise ModelError("give mean_interarrival or arrival_factor, not both")
            checked["mean_interarrival"] = real_number("mean_interarrival", self.mean_interarrival, above=0.0)
        if self.largest is not None:
            checked["largest"] = size_limit(self.largest)
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        usable = self._usable_rows["sizes"].size
        jobs = usable if self.jobs is None else job_count(self.jobs)
        if jobs > usable:
            raise ModelError(f"jobs must be at most the {usable:,} usable jobs of the log, got {jobs}")
        object.__setattr__(self, "jobs", jobs)
        _ = self.factor

    @classmethod
    def from_table(cls, table: Mapping[str, Any], setting: Setting) -> tuple[AbstractStreams, float | None]:
        """See `AbstractStreams.from_table`; a log keeps its own times where they are seconds."""
        from qmodels.io.job_logs import read_jobs

        if "path" not in table:
            raise TableError("path", "this key is missing; name the job log")
        choice = {k: table[k] for k in _OF_READING if k in table}
        log = read_jobs(
            setting.folder / table["path"],
            **choice,
            max_bytes=setting.max_bytes,
            keep=["requested_time"],
        )
        arguments = renamed(
            table,
            count="jobs",
            mean_interarrival="mean_interarrival",
            arrival_factor="arrival_factor",
        )
        # Replications begin at other jobs of the log; a single one is the log as it is.
        start: Literal["first", "random"] = "first" if setting.replications == 1 else "random"
        streams = cls(log, largest=setting.largest, start=start, **arguments)
        return streams, wanted_utilisation(table, None if setting.timed else USUAL_UTILISATION)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences on what was left out or changed."""
        notes: tuple[str, ...] = self._usable_rows["notes"]
        return notes

    @cached_property
    def factor(self) -> float:
        """Factor that multiplies every gap of the log."""
        if self.mean_interarrival is None:
            return self.arrival_factor
        gaps = self._usable_rows["gaps"]
        if gaps[-1] <= 0:
            raise ModelError("a mean interarrival needs two usable jobs submitted apart in time")
        factor = self.mean_interarrival / float(gaps[-1])
        return real_number("mean_interarrival over that of the log", factor, above=0.0)

    def draw(self, *, rng: np.random.Generator) -> JobStream:
        """See `AbstractStreams.draw`."""
        (for_start,) = spawned(rng, 1)
        rows = self._usable_rows
        usable = rows["sizes"].size
        first = 0 if self.start == "first" else int(for_start.integers(usable))
        order = (first + np.arange(usable if self.jobs is None else self.jobs)) % usable
        has_demands = rows["demands"] is not None
        return JobStream(
            arrivals=arrivals_of(rows["gaps"][order[:-1]], self.factor),
            sizes=rows["sizes"][order],
            demands=rows["demands"][order] if has_demands else None,
            estimates=rows["estimates"][order] if has_demands else None,
        )

    @cached_property
    def _usable_rows(self) -> dict[str, Any]:
        """Usable jobs, the gap after each (the mean gap after the last), and what was noticed."""
        table = self.log.jobs
        size, run = table["size"].to_numpy(), table["run"].to_numpy(float)
        notes: list[str] = []

        def note(what: str, which: NDArray[np.bool_]) -> None:
            if which.any():
                notes.append(f"{what}: {np.count_nonzero(which):,}.")

        keep = size > 0
        note("Jobs without a size, left out", ~keep)
        timed = bool((run[keep] >= 0).any())
        if timed:
            note("Jobs without a run time, left out", keep & (run < 0))
            keep &= run >= 0
        limit = LARGEST_SIZE if self.largest is None else self.largest
        large = keep & (size > limit)
        if self.oversize == "drop":
            note(f"Jobs larger than {limit:,} nodes, left out", large)
            keep &= ~large
        else:
            note(f"Jobs larger than {limit:,} nodes, cut down to it", large)
        if not keep.any():
            raise ModelError(f"{self.log.path}: none of {len(table):,} jobs is usable. {' '.join(notes)}")
        submit = table["submit"].to_numpy(float)[keep]
        mean = (submit[-1] - submit[0]) / max(submit.size - 1, 1)
        rows: dict[str, Any] = {
            "sizes": np.minimum(size[keep], limit).astype(np.int64),
            "gaps": np.append(np.diff(submit), mean),
            "demands": None,
            "estimates": None,
        }
        if timed:
            asked = table["requested_time"].to_numpy(float)[keep]
            note("Jobs with a run time of 0, taken as one second", run[keep] == 0)
            note("Jobs without a requested time, whose estimate is the run time", asked <= 0)
            rows["demands"] = np.where(run[keep] == 0, 1.0, run[keep])
            rows["estimates"] = np.where(asked > 0, asked, rows["demands"])
        else:
            notes.append("No job has a run time; the streams have no demands.")
        return rows | {"notes": tuple(notes)}
