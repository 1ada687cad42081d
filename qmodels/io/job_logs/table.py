"""Jobs as they are read of any format: what is kept, what is left out and why, the log made of it.

Wait and run time are differences of time stamps, never what a batch system reports of them.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from phasefit.checks import suggestion
from qmodels.errors import ModelError, TraceFormatError
from qmodels.io._swf_log import STATUS, JobLog, read_log
from qmodels.io._swf_parse import FIELDS, LARGEST, one_line
from qmodels.io.job_logs.formats import Choices, chosen_unit, said_name
from qmodels.io.job_logs.lines import Lines
from qmodels.io.job_logs.stamps import Clock, zone_of
from qmodels.io.swf import _codes, _keep_arrivals, _keep_selected

NEVER_STARTED = "Jobs that never started"
STILL_RUNNING = "Jobs that have not ended"
NO_SUBMISSION = "Jobs without a time of submission"
EARLY_START = "Jobs that start before they are submitted"
EARLY_END = "Jobs that end before they start"
STEPS = "Rows for steps of jobs"
REPEATED = "Rows that repeat another one"

T = TypeVar("T")

_MOST_NAMES = 100_000  #: different users, or queues; beyond it their codes are not known
_MOST_PROCESSORS = 2**31


class Names:
    """Codes of names, from 1 in the order in which they come."""

    def __init__(self) -> None:
        self.codes: dict[str, int] = {}

    def code(self, name: str) -> int:
        """The code of a name; -1 for none, and for those beyond the first hundred thousand."""
        found = self.codes.get(name)
        if found is None:
            if not name or len(self.codes) >= _MOST_NAMES:
                return -1
            found = self.codes[name] = len(self.codes) + 1
        return found


class JobTable:
    """Jobs that were read so far, in typed columns.

    Parameters
    ----------
    file : str
    choices : Choices
    unit : str
        What sizes count, in the plural: "cores".

    Attributes
    ----------
    left_out : Counter
        Rows that are no usable jobs, by reason.
    notes : list of str
        Sentences for the log's warnings.
    numbered : bool
        Whether job, task and part tell all jobs apart, so that a row with those of another and
        the same times is that row again. Elements of an array may well begin and end together.
    """

    def __init__(self, file: str, choices: Choices, unit: str) -> None:
        self.file, self.choices, self.unit = file, choices, unit
        self.left_out: Counter[str] = Counter()
        self.notes: list[str] = []
        self.numbered = False
        self._spared: Counter[str] = Counter()
        self._first_spared: dict[str, str] = {}
        self.users, self.queues = Names(), Names()
        self.no_size = f"Jobs without {unit}"
        whole = ("job", "task", "part", "processors", "requested_processors", "status", "user")
        times = ("submit", "wait", "run", "requested_time", "cpu_time")
        self._whole: dict[str, array[int]] = {name: array("q") for name in (*whole, "queue")}
        self._times: dict[str, array[float]] = {name: array("d") for name in times}
        # Looked up once: a method of each column is called for every job.
        self._add: list[Callable[[Any], None]] = [
            *(column.append for column in self._whole.values()),
            *(column.append for column in self._times.values()),
        ]

    def add(
        self,
        submit: float | None,
        start: float | None,
        end: float | None,
        processors: int,
        *,
        job: int = -1,
        task: int = -1,
        part: int = -1,
        requested_processors: int = -1,
        requested_time: float = -1.0,
        cpu_time: float = -1.0,
        status: int = -1,
        user: str = "",
        queue: str = "",
    ) -> None:
        """Enter a job that has begun and ended; any other is counted by what it lacks.

        Parameters
        ----------
        submit, start, end : float or None
            Seconds on one clock; None where not known.
        processors : int
            Of the unit.
        job, task, part : int
            Number of the job, of it in an array, and of a component of a heterogeneous job.
        """
        if submit is None:
            self.left_out[NO_SUBMISSION] += 1
        elif start is None:
            self.left_out[NEVER_STARTED] += 1
        elif end is None:
            self.left_out[STILL_RUNNING] += 1
        elif start < submit:
            self.left_out[EARLY_START] += 1
        elif end < start:
            self.left_out[EARLY_END] += 1
        elif processors <= 0:
            self.left_out[self.no_size] += 1
        else:
            self._enter(
                job,
                task,
                part,
                processors,
                requested_processors,
                status,
                self.users.code(user),
                self.queues.code(queue),
                submit,
                start - submit,
                end - start,
                requested_time,
                cpu_time,
            )

    def add_run(self, submit: float, run: float, processors: int, **more: Any) -> None:
        """Enter a job whose run time is known and whose start is not."""
        if processors <= 0 or submit < 0 or run < 0:
            self.add(submit, submit, submit + run, processors)
            return
        of: dict[str, Any] = {"job": -1, "requested_time": -1.0, "status": -1}
        of |= {"user": "", "queue": ""} | more
        self._enter(
            of["job"],
            -1,
            -1,
            processors,
            -1,
            of["status"],
            self.users.code(of["user"]),
            self.queues.code(of["queue"]),
            submit,
            -1.0,
            run,
            of["requested_time"],
            -1.0,
        )

    def spared(self, how: Callable[[], T], unknown: T) -> T:
        """What `how` reads of fields that a job can be told without; `unknown` where it cannot."""
        try:
            return how()
        except TraceFormatError as error:
            field = error.field or ""
            self._spared[field] += 1
            if self._spared[field] == 1:
                self._first_spared[field] = f"line {error.line}: {error.what}"
            return unknown

    def _of_spared(self) -> list[str]:
        """A sentence for each field that could not be read and was not needed."""
        return [
            f"Jobs whose {field} cannot be read and is not needed, taken as not known: {count:,} "
            f"({self._first_spared[field]})."
            for field, count in self._spared.most_common(5)
        ]

    def _enter(self, *values: Any) -> None:
        for add, value in zip(self._add, values, strict=True):
            add(value)

    def log(self, clock: Clock, *, known_as: str, header: dict[str, Any] | None = None) -> JobLog:
        """The log of the jobs that were entered, selected as was asked.

        Parameters
        ----------
        clock : Clock
            That read the times; it says what they count from.
        known_as : str
            The first sentence of the warnings: which format and unit.
        header : dict, optional
            Further header lines.

        Raises
        ------
        TraceFormatError
            If no job was entered.
        """
        columns: dict[str, NDArray[Any]] = {
            name: np.frombuffer(column, np.int64) for name, column in self._whole.items()
        }
        columns |= {name: np.frombuffer(column) for name, column in self._times.items()}
        if not len(self._times["submit"]):
            raise TraceFormatError(self.file, f"holds no job that began and ended{self._reasons()}")
        columns = self._joined(self._distinct(columns))
        lines = {"Unit": self.unit} | (header or {}) | self._origin(columns, clock)
        notes = [
            known_as,
            *self._sentences(),
            *self.notes,
            *self._of_spared(),
            *_of_clock(self, clock),
        ]
        return _selected(self, columns, lines, notes)

    def _reasons(self) -> str:
        told = "; ".join(f"{why[0].lower()}{why[1:]}: {n:,}" for why, n in self.left_out.items())
        return f" ({told})" if told else ""

    def _sentences(self) -> list[str]:
        return [f"{why}, left out: {count:,}." for why, count in self.left_out.items() if count]

    def _distinct(self, columns: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Without rows that say the same of the same job again, as overlapping extracts hold."""
        job, task = columns["job"], columns["task"]
        if not self.numbered or (np.diff(job) > 0).all():
            return columns
        keys = [columns[name] for name in ("run", "wait", "submit", "part")]
        order = np.lexsort((*keys, task, job))
        same = (np.diff(job[order]) == 0) & (np.diff(task[order]) == 0)
        same &= np.diff(columns["part"][order]) == 0
        again = same.copy()
        for name in ("submit", "wait", "run", "processors"):
            again &= np.diff(columns[name][order]) == 0
        if (others := np.count_nonzero(same & ~again)) > 0:
            self.notes.append(
                f"Rows of a job that is there before with other times, as after a requeue, each "
                f"kept as a job: {others:,}."
            )
        if again.any():
            self.left_out[REPEATED] += int(np.count_nonzero(again))
            keep = np.ones(job.size, dtype=bool)
            keep[order[1:][again]] = False
            columns = {name: column[keep] for name, column in columns.items()}
        return columns

    def _joined(self, columns: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """The components of each heterogeneous job as one job: they hold their sizes together."""
        if not (columns["part"] >= 0).any():
            return columns
        order = np.lexsort((columns["submit"], columns["task"], columns["job"]))
        of = {name: columns[name][order] for name in columns}
        first = np.ones(order.size, dtype=bool)
        alike = (of["part"][1:] >= 0) & (of["part"][:-1] >= 0)
        for name in ("job", "task", "submit"):
            alike &= np.diff(of[name]) == 0
        first[1:] = ~alike
        begins = np.flatnonzero(first)
        start, end = of["submit"] + of["wait"], of["submit"] + of["wait"] + of["run"]
        began = np.minimum.reduceat(start, begins)
        joined = {name: column[begins] for name, column in of.items()}
        joined["processors"] = np.add.reduceat(of["processors"], begins)
        joined["wait"] = began - joined["submit"]
        joined["run"] = np.maximum.reduceat(end, begins) - began
        components = np.count_nonzero(of["part"] >= 0)
        jobs = np.count_nonzero(joined["part"] >= 0)
        self.notes.append(
            f"Components of heterogeneous jobs, joined to jobs that hold all of their {self.unit} "
            f"from the first start to the last end: {components:,} to {jobs:,}."
        )
        back = np.argsort(order[begins], kind="stable")
        return {name: column[back] for name, column in joined.items()}

    def _origin(self, columns: dict[str, NDArray[Any]], clock: Clock) -> dict[str, str]:
        """Let submissions count from the first; header lines that say which second that is."""
        if not (clock.local or clock.absolute):
            return {}
        first = float(np.floor(columns["submit"].min()))
        if clock.zero and clock.absolute and not clock.local and first < 1e8:
            return {}  # numbers that count from the start of the log already
        columns["submit"] = columns["submit"] - first
        lines = {"UnixStartTime": f"{first:.0f}"}
        zone = self.choices.timezone
        return lines if zone is None else lines | {"TimeZoneString": zone}


def begun(file: str, choices: Choices, units: Mapping[str, str]) -> tuple[Lines, JobTable, Clock]:
    """The lines of a file, the table of its jobs and their clock, for sizes of one of `units`."""
    unit = chosen_unit(file, choices.unit, units)
    lines = Lines(file, choices.max_bytes)
    return lines, JobTable(file, choices, unit), Clock(zone_of(choices.timezone))


def _of_clock(table: JobTable, clock: Clock) -> list[str]:
    """What to say of time stamps without a zone."""
    if not clock.local or clock.zone is not None:
        return []
    told = "Times are local and name no zone: "
    if clock.absolute:
        told += "beside them stand seconds of the epoch, which are UTC; name the zone (timezone)."
    elif table.left_out[EARLY_END] or table.left_out[EARLY_START]:
        told += (
            "where the clock was put back they run backwards, so jobs may be missing above; name "
            "the zone (timezone, such as 'Europe/Berlin')."
        )
    else:
        told += "a job that runs while the clock is changed is an hour off (name the timezone)."
    return [told]


def _selected(
    table: JobTable, columns: dict[str, NDArray[Any]], header: dict[str, Any], notes: list[str]
) -> JobLog:
    """Name, sort and select the columns, and make a log of them."""
    file, choices = table.file, table.choices
    wanted = {
        "partition": _named(file, "partition", choices.partition, table.queues),
        "user": _named(file, "user", choices.user, table.users),
        "status": _codes("status", choices.status, STATUS),
    }
    del columns["task"], columns["part"]
    columns["partition"] = columns["queue"]
    if (columns["job"] < 0).any():
        columns["job"] = np.arange(1, columns["job"].size + 1)
    names = frozenset(FIELDS) if choices.keep is None else frozenset(choices.keep)
    if table.queues.codes:
        queues = [f"{code} {one_line(q)}" for q, code in table.queues.codes.items()]
        header["Queue"] = queues if queues[1:] else queues[0]
    # As for the other formats; a swapped job's bursts are known to the Standard format alone.
    _keep_arrivals(file, columns, (), notes)
    _keep_selected(file, columns, header, wanted, choices.start, choices.end)
    return read_log(Path(file), columns, header, notes, names)


def _named(file: str, what: str, given: object, names: Names) -> tuple[int, ...] | None:
    """Codes of the names that are asked for."""
    if given is None:
        return None
    several = [given] if isinstance(given, str | bytes | int) else given
    if not isinstance(several, Iterable):
        raise ModelError(f"{what} must be a name or a list of names, got {given!r:.60}")
    codes = []
    for name in several:
        if str(name) not in names.codes:
            hint = suggestion(str(name), list(names.codes)[:1000], "it has")
            raise ModelError(f"{said_name(file)}: {what} {name!r:.60} is not in the log; {hint}")
        codes.append(names.codes[str(name)])
    if not codes:
        raise ModelError(f"{what} is an empty list; give at least one name, or leave it out")
    return tuple(codes)


def whole_number(text: str, *, most: int = _MOST_PROCESSORS) -> int:
    """A plain decimal number below `most`.

    Raises
    ------
    ValueError
        If the text is none.
    """
    if not (text.isascii() and text.isdigit() and len(text) <= 15) or int(text) >= most:
        raise ValueError(f"must be a whole number from 0 to {most - 1:,}")
    return int(text)


def numbers_between(text: str) -> int:
    """How many whole numbers ``3-7`` are; 3 alone is one."""
    first, dash, last = text.partition("-")
    low = job_number(first)
    high = job_number(last) if dash else low
    if high < low:
        raise ValueError("has a range that ends below its start")
    return high - low + 1


def number_in(text: str) -> int:
    """The number of a job out of whatever it is called by; -1 where that is no number."""
    name = text.rpartition("!")[2]  # Batsim names the workload before it
    return int(name) if name.isascii() and name.isdecimal() and len(name) < 16 else -1


def number_in_cell(text: str) -> int:
    """The same of a cell of a table; ValueError where a row was cut before the next one in it."""
    if not text.isprintable():
        raise ValueError("holds what does not print; is a line end lost?")
    return number_in(text)


def job_number(text: str) -> int:
    """The number of a job, below 2^53."""
    return whole_number(text, most=int(LARGEST))
