"""A job log by months: its jobs, what they waited, and how much of that beside idle processors."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from phasefit.arrays import Array, Ints
from phasefit.checks import whole_number
from phasefit.records import Record
from qmodels.errors import ModelError
from validation.rigid.model import MOST_PROCESSORS, RigidJobs

if TYPE_CHECKING:
    from qmodels.io import JobLog

DAY = 86_400.0
#: Seconds of a month, 28 days from the first submission, so that each has the same weekdays.
MONTH = 28 * DAY
#: Fewest jobs of a month, and of a class of sizes, of which a mean is given.
FEWEST_OF_MONTH, FEWEST_OF_CLASS = 200, 30
#: Largest sizes of all but the last class, as parts of the machine; the first class is of one processor.
_CLASSES = (0.04, 0.2)


@dataclass(frozen=True, eq=False)
class SiteLog(Record):
    """Jobs of a site that can be replayed, with what they waited.

    Parameters
    ----------
    jobs : RigidJobs
        The jobs, the first at 0.
    waits : (n,) ndarray
        Recorded waits, seconds.
    processors : int
        Of the machine.
    guessed : bool
        Whether `processors` is only the peak of what was used.
    has_limits : bool
        Whether the log has time limits; if not, run times stand in for them.
    has_users : bool
        Whether the log says whose a job is.
    left_out : dict
        Jobs of the log by what is wrong with them, in words.
    peak : int
        Most processors in use at once, by the recorded waits.
    """

    jobs: RigidJobs
    waits: Array
    processors: int
    guessed: bool
    has_limits: bool
    has_users: bool
    left_out: dict[str, int]
    peak: int

    @property
    def month(self) -> Ints:
        """Number of the month in which each job was submitted (n,), from 0."""
        return (self.jobs.submit // MONTH).astype(np.int64)

    @property
    def months(self) -> int:
        """Whole months."""
        return int(self.jobs.submit[-1] // MONTH)

    @property
    def size_class(self) -> Ints:
        """Class of sizes of each job (n,): see `class_names`."""
        return np.searchsorted(self.bounds, self.jobs.need, side="left").astype(np.int64)

    @property
    def class_names(self) -> list[str]:
        """Sizes of each class, in words, such as "2 to 4"."""
        bounds = [0, *self.bounds]
        names = [
            f"{low + 1}" if low + 1 == high else f"{low + 1} to {high}"
            for low, high in itertools.pairwise(bounds)
        ]
        return [*names, f"more than {bounds[-1]}"]

    @property
    def bounds(self) -> list[int]:
        """Largest size of each class but the last."""
        return sorted({1, *(max(int(part * self.processors), 1) for part in _CLASSES)})

    def means(self, waits: Array) -> Array:
        """Return the mean wait of each whole month; NaN where it has too few jobs.

        Parameters
        ----------
        waits : (n,) ndarray
            Seconds, recorded or simulated.
        """
        return _means(waits, self.month, self.months, FEWEST_OF_MONTH)

    def means_by_class(self, waits: Array) -> Array:
        """Return the mean wait by month and class of sizes; NaN where there are too few jobs.

        Parameters
        ----------
        waits : (n,) ndarray
            Seconds, recorded or simulated.
        """
        classes = len(self.class_names)
        cells = self.month * classes + self.size_class
        means = _means(waits, cells, self.months * classes, FEWEST_OF_CLASS).reshape(self.months, classes)
        means[np.isnan(self.means(waits))] = np.nan
        return means


def _means(waits: Array, of: Ints, count: int, fewest: int) -> Array:
    """Return the mean of each group; NaN where it is too small."""
    known = (of < count) & ~np.isnan(waits)
    jobs = np.bincount(of[known], minlength=count)[:count]
    sums = np.bincount(of[known], waits[known], count)[:count]
    means: Array = np.where(jobs >= fewest, sums / np.maximum(jobs, 1), np.nan)
    return means


def site_log(log: JobLog, *, processors: int | None = None) -> SiteLog:
    """Return the jobs of a log with their recorded waits, and count what cannot be used.

    Parameters
    ----------
    log : JobLog
        From `qmodels.io.read_jobs`, with all columns kept.
    processors : int, optional
        Of the machine; by default what the log says, or the most that it used at once.

    Returns
    -------
    SiteLog
        The usable jobs.

    Raises
    ------
    ModelError
        If the log has no recorded waits, or no usable job.

    Examples
    --------
    >>> from qmodels.io import JobLog
    >>> log = JobLog("made", {"submit": [0, 5], "wait": [0, 9], "run": [30, 40], "processors": [4, 8]})
    >>> site = site_log(log, processors=8)
    >>> site.waits, site.has_limits, site.peak
    (array([0., 9.]), False, 12)
    """
    table = log.jobs
    size, run, wait = (table[name].to_numpy(float) for name in ("size", "run", "wait"))
    if not (wait >= 0).any():
        raise ModelError(f"{log.path}: no job has a recorded wait; the start of every job is needed")
    if processors is not None:
        processors = whole_number("processors", processors, least=1)
    machine = processors or log.max_procs or MOST_PROCESSORS
    faults = {
        "without a size": size <= 0,
        "without a run time": run < 0,
        "with a run time of 0": run == 0,
        "without a recorded wait": wait < 0,
        f"larger than the machine's {machine:,} processors": size > machine,
    }
    good, left_out = np.ones(size.size, bool), {}
    for words, wrong in faults.items():
        if count := int((good & wrong).sum()):
            left_out[words] = count
        good &= ~wrong
    if not good.any():
        raise ModelError(f"{log.path}: no job has a size, a run time above 0 and a recorded wait")
    submit, limit = table["submit"].to_numpy(float)[good], table["requested_time"].to_numpy(float)[good]
    size, run, wait = size[good], run[good], wait[good]
    names = table["user"].to_numpy()[good]
    _, user = np.unique(names, return_inverse=True)
    jobs = RigidJobs(
        submit - submit[0],
        size.astype(np.int64),
        run,
        limit=np.where(limit > 0, limit, run),
        user=user,
    )
    _, busy = in_use(jobs, wait)
    peak = int(busy.max())
    guessed = processors is None and log.max_procs is None
    return SiteLog(
        jobs=jobs,
        waits=wait,
        processors=peak if guessed else machine,
        guessed=guessed,
        has_limits=bool((limit > 0).any()),
        has_users=bool(np.unique(names).size > 1),
        left_out=left_out,
        peak=peak,
    )


def in_use(jobs: RigidJobs, waits: Array) -> tuple[Array, Array]:
    """Return times at which jobs start or end, and the processors in use from each on.

    Parameters
    ----------
    jobs : RigidJobs
        The jobs.
    waits : (n,) ndarray
        Their waits, seconds; NaN of those that never started.
    """
    start = jobs.submit + waits
    ran = ~np.isnan(start)
    start, need = start[ran], jobs.need[ran].astype(float)
    times, where = np.unique(np.concatenate([start, start + jobs.run[ran]]), return_inverse=True)
    changes = np.bincount(where, np.concatenate([need, -need]), times.size)
    return times, np.cumsum(changes)


def waited_beside_idle(jobs: RigidJobs, waits: Array, processors: int) -> Array:
    """Return how long each job waited while as many processors as it needs were idle.

    Parameters
    ----------
    jobs : RigidJobs
        The jobs.
    waits : (n,) ndarray
        Their waits, seconds; NaN of those that never started.
    processors : int
        Of the machine.

    Returns
    -------
    (n,) ndarray
        Seconds, at most the wait; 0 of those that never started.

    Notes
    -----
    What is idle is the machine less what the jobs of the log hold. A job that waits so waits for
    something else than processors: a limit per user, a partition, a reservation, a licence.

    Examples
    --------
    The second job waits for ten seconds beside three idle processors of which it needs two:

    >>> jobs = RigidJobs([0, 0], [1, 2], [30, 5])
    >>> waited_beside_idle(jobs, np.array([0.0, 10.0]), 4)
    array([ 0., 10.])
    """
    times, busy = in_use(jobs, waits)
    idle, gaps = processors - np.round(busy), np.diff(times)
    beside = np.zeros(len(jobs))
    waited = np.nan_to_num(waits, nan=0.0) > 0.0
    for need in np.unique(jobs.need[waited]):
        mine = waited & (jobs.need == need)
        clock = np.concatenate([[0.0], np.cumsum(np.where(idle[:-1] >= need, gaps, 0.0))])
        begin = jobs.submit[mine]
        # Before the first start all is idle.
        early = np.clip(times[0] - begin, 0.0, waits[mine]) * (processors >= need)
        beside[mine] = np.interp(begin + waits[mine], times, clock) - np.interp(begin, times, clock) + early
    return beside
