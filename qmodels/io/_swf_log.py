"""A job log that was read: its jobs, their statistics, and what speaks against using them."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from phasefit.arrays import Array, read_only
from phasefit.checks import nearest
from phasefit.empirical import dependence, lag1
from phasefit.records import Drawing, Result
from qmodels.errors import ModelError
from qmodels.io._swf_parse import FIELDS, LARGEST, WHOLE, Header, count, timezone, whole
from qmodels.io.files import file_name
from qmodels.words import plural

#: How a job ended, as the format has it.
STATUS = {"failed": 0, "completed": 1, "cancelled": 5}
#: What `size` and `work` are made of, and what tells jobs apart.
_OF_LOAD = frozenset({"job", "submit", "run", "processors", "requested_processors"})


class _Owned(dict[str, NDArray[Any]]):
    """Columns that nobody else holds, so that a log may keep them without copying them."""


@dataclass(frozen=True, eq=False)
class JobLog(Result):
    """The jobs of a log, or those selected from it, in order of submission.

    Parameters
    ----------
    path : path_like
        Where the log came from; used in messages.
    jobs : pandas.DataFrame
        A row per job, sorted by `submit`. Columns as in the format: job, submit [s], wait [s],
        run [s], processors, cpu_time [s], memory [KB], requested_processors, requested_time [s],
        requested_memory [KB], status, user, group, executable, queue, partition, preceding_job,
        think_time [s]; -1 where not known. Missing columns but `submit` are filled in. Two are
        derived: `size`, the processors of the job (those requested where those used are not
        known; 0 where neither is), and `work` = size x run [processor-seconds] (0 where not known).
    header : mapping
        Header lines; a key that comes more than once holds a list.
    warnings : sequence of str
        What the reader noticed, in sentences.

    Raises
    ------
    ModelError
        If there is no job, a column is unknown or of another length, a value is not a finite
        number below 2^53, or the submit times are negative or fall.

    Notes
    -----
    `runtimes`, `sizes` and `work` hold the jobs whose size is positive and whose run time is not
    negative; the submit times of all jobs count as arrivals. A run time of 0 is that of a job which
    ended in the second in which it began. It stays 0: where both stamps are cut to whole seconds, a
    run of x seconds is written as 0 or more with the mean x, so the mean of all is right as it
    stands, and half a second for each 0 would make it too large. Recorded waits are not used.

    Examples
    --------
    >>> log = JobLog("made", {"submit": [0, 60, 180], "run": [30, 20, 40], "processors": [4, 8, 2]})
    >>> log.work, round(log.offered_processors, 6)
    (array([120., 160.,  80.]), 1.333333)
    """

    drawing = Drawing("run time [s]", "share that runs longer", log="xy")

    path: Path
    jobs: pd.DataFrame
    header: Header = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        columns = checked_columns(self.jobs)
        falls = np.flatnonzero(np.diff(columns["submit"]) < 0)
        if falls.size:
            raise ModelError(
                f"submit times must not fall, but row {falls[0] + 1} is earlier than the row "
                f"above it; sort the jobs by submit"
            )
        used, asked = columns["processors"], columns["requested_processors"]
        size = np.maximum(np.where(used > 0, used, asked), 0)
        columns |= {"size": size, "work": size * np.maximum(columns["run"], 0.0)}
        object.__setattr__(self, "path", Path(file_name(self.path)))
        object.__setattr__(self, "jobs", pd.DataFrame(columns, copy=False))
        object.__setattr__(self, "header", _header(self.header))
        object.__setattr__(self, "warnings", _sentences(self.warnings))

    @property
    def max_procs(self) -> int | None:
        """Processors of the machine by its header; None where it does not say."""
        return count(self.header, "MaxProcs")

    @property
    def max_nodes(self) -> int | None:
        """Nodes of the machine by its header; None where it does not say."""
        return count(self.header, "MaxNodes")

    @property
    def unix_start_time(self) -> int | None:
        """Second of the Unix epoch at which `submit` is 0; None where the header is silent."""
        return whole(self.header, "UnixStartTime")

    @property
    def timezone(self) -> datetime.tzinfo:
        """Time zone of the machine: TimeZoneString, else TimeZone (seconds), else UTC."""
        return timezone(self.header)

    @cached_property
    def interarrivals(self) -> Array:
        """Times between submissions (n - 1,), seconds."""
        return read_only(np.diff(self.jobs["submit"].to_numpy(float)))

    @cached_property
    def runtimes(self) -> Array:
        """Run times (m,) of the jobs of known size and run time, seconds."""
        return self._of_usable("run")

    @cached_property
    def sizes(self) -> Array:
        """Processors (m,) of the jobs of known size and run time."""
        return self._of_usable("size")

    @cached_property
    def work(self) -> Array:
        """Size times run time (m,) of the jobs where both are known, processor-seconds."""
        return self._of_usable("work")

    @cached_property
    def work_by_job(self) -> Array:
        """Size times run time (n,) of every job, processor-seconds; 0 where not known."""
        return read_only(self.jobs["work"].to_numpy(float, copy=True))

    @property
    def arrival_rate(self) -> float:
        """Jobs per second, from the first submission to the last."""
        span = float(self.interarrivals.sum())
        if span < 1e-9:
            raise ModelError(f"{self.path}: an arrival rate needs two jobs submitted apart in time")
        return self.interarrivals.size / span

    @cached_property
    def with_work(self) -> JobLog:
        """The jobs of known work alone: those that a queue is made of.

        A job without a size or a run time, or one that was cancelled with a run time of 0, brings
        no work that is known. If it counted as an arrival and was given the mean work of the
        others, the load would be too high by the share of such jobs. Any other job with a run time
        of 0 ran, for less than a second.

        Raises
        ------
        ModelError
            If no such job has a run time above 0.
        """
        known = self._known_work
        if not (self.work_by_job > 0).any():
            raise ModelError(f"{self.path}: no job has both a size and a run time above 0")
        if known.all():
            return self
        # What nothing is known of is filled in again without taking memory.
        jobs = _Owned()
        for name in FIELDS:
            column = self.jobs[name].to_numpy()
            if name == "job" or column.max() > -1 or column.min() < -1:
                jobs[name] = column[known]
        return JobLog(self.path, jobs, self.header, self.warnings)  # type: ignore[arg-type]

    @property
    def _known_work(self) -> NDArray[np.bool_]:
        size, run = self.jobs["size"].to_numpy(), self.jobs["run"].to_numpy()
        known: NDArray[np.bool_] = (size > 0) & (run >= 0)
        return known & ~_cancelled(self.jobs, run == 0)

    @property
    def offered_processors(self) -> float:
        """Processors the jobs keep busy on average: work over time, of `with_work`."""
        busy = self.with_work
        return busy.arrival_rate * float(busy.work.mean())

    def summary(self) -> pd.DataFrame:
        """Moments of interarrival time, run time, size and work, a row each.

        Returns
        -------
        pandas.DataFrame
            Columns n, mean, cv, scv, skewness, lag1 (autocorrelation of successive jobs), min,
            max; moments are those of the sample itself (divisor n). NaN where a quantity is not
            defined: no values, or for skewness and lag1 values all equal.
        """
        samples = {
            "interarrival [s]": self.interarrivals,
            "run time [s]": self.runtimes,
            "size [processors]": self.sizes,
            "work [processor-s]": self.work,
        }
        return pd.DataFrame({name: _moments(x) for name, x in samples.items()}).T.astype({"n": int})

    def doubts(self) -> list[str]:
        """Sentences on why a fit of independent values (a renewal fit) is doubtful.

        Returns
        -------
        list of str
            One for each series, interarrival time and work, whose lag-1 autocorrelation, plain or
            of ranks, lies outside the 99 % band of an independent series; one where more than 1 %
            of the interarrival times are 0. Empty where there is no such sign.

        Notes
        -----
        The band is -1/n +- 2.576/sqrt(n) [1]_. Under heavy tails a few long values rule the plain
        figure; that of the ranks [2]_ has the same law for every independent series without ties.

        References
        ----------
        .. [1] M. S. Bartlett, "On the theoretical specification and sampling properties of
           autocorrelated time-series", *Suppl. J. R. Stat. Soc.* 8 (1946) 27-41.
        .. [2] A. Wald, J. Wolfowitz, "An exact test for randomness in the non-parametric case
           based on serial correlation", *Ann. Math. Stat.* 14 (1943) 378-388.
        """
        found = [
            dependence(series, what, "a fit of independent values leaves this out")
            for what, series in (
                ("The interarrival times are", self.interarrivals),
                ("The work of successive jobs is", self.work),
            )
        ]
        zero = np.count_nonzero(self.interarrivals == 0) / max(self.interarrivals.size, 1)
        if zero > 0.01:
            found.append(
                f"{zero:.1%} of the interarrival times are 0: jobs come in batches, or the log's "
                f"clock is coarse; a phase-type law has no such atom."
            )
        return [sentence for sentence in found if sentence]

    def record(self) -> dict[str, Any]:
        """What is known of the log; the jobs themselves are in `jobs`."""
        return {
            "file": str(self.path),
            "format": self.header.get("Format", "swf"),
            "unit": self.header.get("Unit", "processors"),
            "jobs": len(self.jobs),
            "arrival_rate": self._known("arrival_rate"),
            "offered_processors": self._known("offered_processors"),
            "summary": self.summary().to_dict(orient="index"),
            "warnings": self.warnings,
            "doubts": self.doubts(),
        }

    def _known(self, name: str) -> float | None:
        """A number of the jobs whose work is known; None where it is not defined."""
        try:
            rate = self.with_work.arrival_rate  # no load without a rate
            return rate if name == "arrival_rate" else self.offered_processors
        except ModelError:  # no two jobs of known work apart in time
            return None

    def to_frame(self) -> pd.DataFrame:
        """A row for each job; the same as `jobs`."""
        return self.jobs

    def drawn(self) -> pd.DataFrame:
        """Run times above 0 and the share of the jobs that run longer, thinned to 300 of them."""
        times = np.sort(self.runtimes[self.runtimes > 0])
        places = np.unique(np.linspace(0, times.size - 1, min(times.size, 300)).astype(int))
        longer = 1.0 - (places + 0.5) / max(times.size, 1)
        return pd.DataFrame({"run time [s]": times[places], "share that runs longer": longer})

    def table(self) -> str:
        """Give the summary as text, with the number of jobs above and the warnings below."""
        numbers = self.summary().to_string(float_format=lambda value: f"{value:,.4g}")
        remarks = [f"- {sentence}" for sentence in (*self.warnings, *self.doubts())]
        jobs = len(self.jobs)
        return "\n".join([f"{self.path.name}: {jobs:,} {plural('job', jobs)}", numbers, *remarks])

    def _of_usable(self, column: str) -> Array:
        known = (self.jobs["size"] > 0) & (self.jobs["run"] >= 0)
        return read_only(self.jobs.loc[known, column].to_numpy(float, copy=True))


def read_log(
    path: Path,
    columns: dict[str, NDArray[Any]],
    header: Header,
    notes: list[str],
    names: Collection[str],
) -> JobLog:
    """Make a log of columns that were read and that nobody else holds.

    `notes` come before its own; of the columns those of `names` are kept, and what the load is.
    """
    log = JobLog(path, _Owned(columns), header)  # type: ignore[arg-type]
    object.__setattr__(log, "warnings", (*notes, *_noticed(log)))  # not yet seen by anybody
    kept = {*names, *_OF_LOAD, "size", "work"}
    if _cancelled(log.jobs, log.jobs["run"].to_numpy() == 0).any():
        kept.add("status")  # tells which of them ran
    jobs = {
        name: log.jobs[name].to_numpy() if name in kept else _unknown(name, len(log.jobs))
        for name in (*FIELDS, "size", "work")
    }
    object.__setattr__(log, "jobs", pd.DataFrame(jobs, copy=False))
    return log


def _noticed(log: JobLog) -> list[str]:
    """Sentences on the selected jobs: what is not known, what exceeds the machine."""
    notes, count = [], len(log.jobs)
    run, size = log.jobs["run"].to_numpy(), log.jobs["size"].to_numpy()
    usable = (size > 0) & (run >= 0)
    unknown = count - np.count_nonzero(usable)
    if unknown:
        notes.append(
            f"Jobs without a usable size or run time: {unknown:,} of {count:,}; they are "
            f"arrivals of the log, but no part of its load."
        )
    zero = usable & (run == 0)
    never = _cancelled(log.jobs, zero)
    if never.any():
        notes.append(
            f"Jobs cancelled with a run time of 0: {np.count_nonzero(never):,} of {count:,}; they "
            f"are arrivals of the log, but no part of its load."
        )
    if (short := np.count_nonzero(zero & ~never)) > 0:
        notes.append(
            f"Jobs with a run time of 0: {short:,} of {count:,}; they count as jobs that ran for "
            f"less than a second. What is cut from the run times of these, where times are whole "
            f"seconds, is added to those of others: with the 0s the mean is right."
        )
    machine = log.max_procs
    if machine is None:
        return notes
    larger = np.count_nonzero(usable & (size > machine))
    if larger:
        notes.append(f"Jobs larger than the machine's {machine:,} processors: {larger:,}.")
    busiest = _busiest(log.jobs)
    if busiest > machine:
        notes.append(
            f"By the recorded waits up to {busiest:,} processors are busy at once, more than the "
            f"machine's {machine:,}: some waits or sizes are not what the machine did."
        )
    return notes


def _cancelled(jobs: pd.DataFrame, which: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Those of these jobs that were cancelled."""
    if not which.any():
        return which
    found: NDArray[np.bool_] = which & (jobs["status"].to_numpy() == STATUS["cancelled"])
    return found


def _busiest(jobs: pd.DataFrame) -> int:
    """Most processors in use at once by the recorded waits; who ends makes room for who begins."""
    wait, work = jobs["wait"].to_numpy(), jobs["work"].to_numpy()
    ran = (wait >= 0) & (work > 0)
    size = jobs["size"].to_numpy()[ran]
    if not size.size:
        return 0
    times = jobs["submit"].to_numpy()[ran]
    times += wait[ran]
    # Of ten million jobs each of these takes 80 MB: what is no longer needed goes at once.
    begins, begun = _sorted(times, size)
    times += jobs["run"].to_numpy()[ran]
    times, ended = _sorted(times, size)
    del size, ran
    before = np.searchsorted(times, begins, side="right")
    del times, begins
    begun -= np.where(before > 0, ended[before - 1], 0)
    return int(begun.max())


def _sorted(times: Array, sizes: NDArray[np.int64]) -> tuple[Array, NDArray[np.int64]]:
    """Times in order, and the sum of the sizes up to each."""
    order = np.argsort(times, kind="stable")
    summed = sizes[order]
    np.cumsum(summed, out=summed)
    return times[order], summed


def checked_columns(jobs: object) -> dict[str, NDArray[Any]]:
    """All columns of the format as arrays of one length."""
    if not isinstance(jobs, pd.DataFrame | Mapping):
        raise ModelError(f"jobs must be a DataFrame or a mapping of columns, got {jobs!r:.60}")
    for name in jobs:
        if name not in (*FIELDS, "size", "work"):
            near = nearest(name, FIELDS, most=2) or FIELDS
            raise ModelError(f"unknown column {name!r}; did you mean {' or '.join(near)}?")
    if "submit" not in jobs:
        raise ModelError("jobs must have a column submit: seconds since the start of the log")
    n = _array("submit", jobs["submit"]).size
    if not n:
        raise ModelError("there are no jobs; a log needs at least one")
    copy = not isinstance(jobs, _Owned)
    found = {
        name: _column(name, jobs[name], n, copy=copy) if name in jobs else _unknown(name, n)
        for name in FIELDS
    }
    if "job" not in jobs:
        found["job"] = np.arange(1, n + 1)
    return found


def _unknown(name: str, n: int) -> NDArray[Any]:
    """So many times -1, read-only, in the memory of one."""
    return np.broadcast_to(np.array(-1, np.int64 if name in WHOLE else float), (n,))


def _array(name: str, given: ArrayLike) -> NDArray[Any]:
    try:
        return np.asarray(given)
    except (TypeError, ValueError) as error:
        raise ModelError(f"column {name} is not a list of numbers: {error}") from error


def _column(name: str, given: ArrayLike, n: int, *, copy: bool) -> NDArray[Any]:
    x = _array(name, given)
    if x.dtype.kind not in "iuf" or x.shape != (n,):
        raise ModelError(
            f"column {name} must be {n} plain numbers, as many as submit has; got shape {x.shape} "
            f"of {x.dtype}"
        )
    wrong = ~(np.abs(x.astype(float)) < LARGEST)
    if name == "submit":
        wrong |= x < 0
    if name in WHOLE:
        wrong[~wrong] |= x[~wrong] != np.floor(x[~wrong])
    if wrong.any():
        row = int(wrong.argmax())
        kind = "a whole number" if name in WHOLE else "a finite number"
        least = " and not negative" if name == "submit" else ""
        raise ModelError(f"{name} of row {row} is {x[row]}; it must be {kind} below 2^53{least}")
    return x.astype(np.int64 if name in WHOLE else float, copy=copy)


def _moments(x: Array) -> dict[str, float]:
    """Describe a sample; NaN where a quantity is not defined."""
    row = dict.fromkeys(("n", "mean", "cv", "scv", "skewness", "lag1", "min", "max"), np.nan)
    row["n"] = x.size
    if not x.size:
        return row
    low, high = float(x.min()), float(x.max())
    d = x / high if high > 0 else x  # squares of seconds may underflow, of fractions they do not
    mean = float(d.mean())
    row |= {"mean": mean * high, "min": low, "max": high}
    d = d - mean
    spread = float((d**2).mean()) if high > low else 0.0
    if mean > 0:
        row |= {"cv": spread**0.5 / mean, "scv": spread / mean**2}
    if spread > 0:
        row |= {"skewness": float((d**3).mean()) / spread**1.5, "lag1": lag1(x)}
    return row


def _header(header: object) -> Header:
    if not isinstance(header, Mapping):
        raise ModelError(f"header must be a mapping of keys to text, got {header!r:.60}")
    for key, value in header.items():
        several = value if isinstance(value, list) else [value]
        if not several or not all(isinstance(text, str) for text in [key, *several]):
            raise ModelError(f"header {key!r:.60} must be text or a list of text")
    return dict(header)


def _sentences(warnings: object) -> tuple[str, ...]:
    if not isinstance(warnings, list | tuple) or not all(isinstance(w, str) for w in warnings):
        raise ModelError(f"warnings must be a list of sentences, got {warnings!r:.60}")
    return tuple(warnings)
