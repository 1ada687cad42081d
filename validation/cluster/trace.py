"""What a cluster is asked to do: jobs with their CPU, memory and disk demands."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phasefit.arrays import Array, read_only
from phasefit.checks import real_vector
from phasefit.records import Drawing, Result
from qmodels.errors import ModelError, TraceFormatError
from qmodels.io.files import open_regular
from validation.cluster.node import TYPICAL_REQUEST, Cluster
from validation.jobs.stream import refuse_falling

if TYPE_CHECKING:
    import pandas as pd

#: Tasks of the longest trace.
MOST_TASKS = 20_000_000
#: Numbers beyond this lie outside of what arithmetic can still tell apart.
_LARGEST: Final = 1e12
#: Columns that may be left out, and what they are then.
_USUAL: Final = {
    "io_rates": 0.0,
    "requests": TYPICAL_REQUEST,
    "initial": 0.0,
    "writes": 0.0,
    "reaccess": 0.0,
    "fault_rates": 0.0,
}


@dataclass(frozen=True, eq=False, kw_only=True)
class ClusterTrace(Result):
    """Jobs in order of arrival. All tasks of a job are alike.

    Parameters
    ----------
    arrivals : (n,) array_like
        Seconds, >= 0, not decreasing.
    homes : (n,) array_like of int
        The node to which each job is sent; its task u has node (home + u) mod nodes by default.
    tasks : (n,) array_like of int
        Tasks of each job, at least one; those of a parallel job meet at barriers.
    demands : (n,) array_like
        CPU-seconds of each task on a node of speed 1, > 0.
    memory : (n,) array_like
        MB of each task, >= 0.
    io_rates : (n,) array_like, optional
        Disk accesses of a task for each CPU-millisecond, >= 0; it waits for each. 0 if left out.
    requests : (n,) array_like, optional
        Mean MB of an access, > 0.
    initial : (n,) array_like, optional
        MB that lie on the disk of the default node before a task begins, and go with it.
    writes : (n,) array_like, optional
        Share of the accesses that write, 0 to 1.
    reaccess : (n,) array_like, optional
        How often data is accessed again, >= 0.
    fault_rates : (n,) array_like, optional
        Page faults for each CPU-millisecond of a task on a node that lacks all of the memory it
        should have; where the memory asked for is M of n MB, (M - n) / M of them happen.

    Raises
    ------
    ModelError
        If there is no job, a column has another length than `arrivals`, or a value is out of its
        range.

    Examples
    --------
    >>> trace = ClusterTrace(arrivals=[0.0, 1.0], homes=[0, 1], tasks=[1, 2], demands=[2.0, 1.0],
    ...                      memory=[64.0, 32.0], io_rates=[0.5, 0.0])
    >>> trace.jobs, trace.parallel.tolist()
    (2, [False, True])
    """

    drawing = Drawing("arrival_s", "cpu_s", labels=("arrival [s]", "CPU demand [s]"), log="y")

    arrivals: ArrayLike
    homes: ArrayLike
    tasks: ArrayLike
    demands: ArrayLike
    memory: ArrayLike
    io_rates: ArrayLike | None = None
    requests: ArrayLike | None = None
    initial: ArrayLike | None = None
    writes: ArrayLike | None = None
    reaccess: ArrayLike | None = None
    fault_rates: ArrayLike | None = None

    def __post_init__(self) -> None:
        arrivals = real_vector("arrivals", self.arrivals)
        columns: dict[str, Any] = {"arrivals": arrivals}
        for field in fields(self):
            given = getattr(self, field.name)
            if field.name == "arrivals":
                continue
            if given is None:
                columns[field.name] = np.full(arrivals.size, _USUAL[field.name])
                continue
            column = real_vector(field.name, given)
            if column.size != arrivals.size:
                raise ModelError(
                    f"{field.name} has {column.size} entries, but there are {arrivals.size} jobs"
                )
            columns[field.name] = column
        _in_range(columns)
        for name in ("homes", "tasks"):
            columns[name] = columns[name].astype(np.int64)
        if columns["tasks"].sum() > MOST_TASKS:
            raise ModelError(f"a trace may have {MOST_TASKS:,} tasks, got {columns['tasks'].sum():,}")
        for name, column in columns.items():
            object.__setattr__(self, name, read_only(column))

    @property
    def jobs(self) -> int:
        """How many there are."""
        return int(np.size(self.arrivals))

    @property
    def parallel(self) -> NDArray[np.bool_]:
        """Which jobs have more than one task, (n,)."""
        found: NDArray[np.bool_] = np.asarray(self.tasks) > 1
        return found

    def fits(self, cluster: Cluster) -> None:
        """Do nothing, unless a job cannot run on this cluster.

        Raises
        ------
        ModelError
            If a home is no node of it, or a job has more tasks than it has nodes.
        """
        count = len(cluster.nodes)
        for name, column, what in (
            ("homes", np.asarray(self.homes) + 1, "nodes are numbered from 0 to"),
            ("tasks", np.asarray(self.tasks), "no two tasks of a job share a node, and there are"),
        ):
            bad = np.flatnonzero(column > count)
            if bad.size:
                value = np.asarray(getattr(self, name))[bad[0]]
                last = count - 1 if name == "homes" else count
                raise ModelError(f"{name}[{bad[0]}] is {value}, but {what} {last}")

    def offered(self, cluster: Cluster) -> tuple[float, float]:
        """Work that comes until the last arrival, over what the CPUs and the disks could do.

        Without page faults; infinite if all jobs come at once. On nodes that are not alike, jobs
        are taken to be spread in proportion to the speed of the CPUs, and of the disks.

        Returns
        -------
        tuple of float
            Of the CPUs and of the disks.
        """
        work = np.asarray(self.tasks) * np.asarray(self.demands)
        accesses = work * np.asarray(self.io_rates) * 1000.0
        requests = np.asarray(self.requests)
        disks = sum(
            1.0 / float((accesses @ (node.access / 1000.0 + requests / node.disk_rate)) or np.inf)
            for node in cluster.nodes
        )
        time = float(np.asarray(self.arrivals)[-1])
        need = (float(work.sum() / cluster.column("speed").sum()), 1.0 / disks if disks else 0.0)
        cpu, disk = (seconds / time if time > 0.0 else np.inf for seconds in need)
        return cpu, disk

    def to_frame(self) -> pd.DataFrame:
        """One row for each job; the columns that `read_cluster_trace` reads."""
        import pandas as pd

        return pd.DataFrame({column: getattr(self, name) for column, name in COLUMNS.items()})


#: Columns of a file, with their units, and the fields of a trace that they fill.
COLUMNS: Final = {
    "arrival_s": "arrivals",
    "home": "homes",
    "tasks": "tasks",
    "cpu_s": "demands",
    "memory_mb": "memory",
    "io_per_cpu_ms": "io_rates",
    "request_mb": "requests",
    "initial_mb": "initial",
    "write_share": "writes",
    "reaccess": "reaccess",
    "faults_per_cpu_ms": "fault_rates",
}


def read_cluster_trace(path: str | Path) -> ClusterTrace:
    """Read a job log with columns of I/O.

    Parameters
    ----------
    path : str or Path
        A CSV file whose header names some of `COLUMNS`; those without a usual value must be there.

    Returns
    -------
    ClusterTrace
        The jobs sorted by arrival, the first of which comes at time 0.

    Raises
    ------
    TraceFormatError
        If the file cannot be read, lacks a column, has an unknown one, or a field is no number in
        its range; the line and the column are named.
    """
    import pandas as pd

    with open_regular(str(path), what="a job log") as stream:
        try:
            table = pd.read_csv(stream, dtype=str, skipinitialspace=True, keep_default_na=False)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error).strip()
            raise TraceFormatError(str(path), f"cannot be read as CSV: {reason:.200}") from None
    missing = [c for c, name in COLUMNS.items() if name not in _USUAL and c not in table]
    unknown = [str(column) for column in table.columns if column not in COLUMNS]
    if missing or unknown:
        fault = f"lacks the column {missing[0]}" if missing else f"unknown column {unknown[0]!r:.40}"
        raise TraceFormatError(str(path), f"{fault}; columns are {', '.join(COLUMNS)}", line=1)
    if table.empty:
        raise TraceFormatError(str(path), "has no job", line=1)
    columns: dict[str, Any] = {}
    for column in table.columns:
        numbers = pd.to_numeric(table[column], errors="coerce").to_numpy(dtype=float)
        bad = np.flatnonzero(~np.isfinite(numbers))
        if bad.size:
            text = table[column].iloc[bad[0]]
            raise TraceFormatError(
                str(path), f"{text!r:.40} is no number", line=int(bad[0]) + 2, field=column
            )
        columns[COLUMNS[column]] = numbers
    for name, column in columns.items():
        where = _fault(name, column)
        if where is not None:
            field = next(key for key, value in COLUMNS.items() if value == name)
            place, what = where
            raise TraceFormatError(str(path), what, line=place + 2, field=field)
    order = np.argsort(columns["arrivals"], kind="stable")
    columns["arrivals"] = columns["arrivals"] - columns["arrivals"].min()
    return ClusterTrace(**{name: column[order] for name, column in columns.items()})


def _fault(name: str, column: Array) -> tuple[int, str] | None:
    """The first entry of a column that is out of its range, and what would do."""
    positive = name in ("demands", "requests")
    bad = (column <= 0.0) if positive else (column < 0.0)
    said = "> 0" if positive else ">= 0"
    if name == "writes":
        bad, said = bad | (column > 1.0), "from 0 to 1"
    if name in ("homes", "tasks"):
        least = 1 if name == "tasks" else 0
        bad = (column < least) | (column != np.floor(column))
        said = f"a whole number >= {least}"
    if not bad.any():
        bad, said = column > _LARGEST, f"at most {_LARGEST:g}"
    if not bad.any():
        return None
    place = int(np.flatnonzero(bad)[0])
    return place, f"must be {said}, got {column[place]:.6g}"


def _in_range(columns: dict[str, Any]) -> None:
    """Raise ModelError unless every column is in its range and the arrivals do not decrease."""
    for name, column in columns.items():
        found = _fault(name, column)
        if found is not None:
            raise ModelError(f"{name}[{found[0]}] {found[1]}")
    refuse_falling(columns["arrivals"])
