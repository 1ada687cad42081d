"""A plain queue simulated: laws or the arrays of a trace in, waits and responses with intervals out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike

from phasefit import MAP, MarkedMAP, PhaseType
from phasefit.arrays import Array, Ints
from phasefit.checks import one_of, real_vector, share, whole_number
from phasefit.records import Drawing, Result
from qmodels.errors import ModelError, UnstableError
from validation.analysis.estimates import Estimate, estimate
from validation.analysis.seeding import stream
from validation.queues import _kernels

if TYPE_CHECKING:
    import pandas as pd

#: Who is served next, in words.
DISCIPLINES: Final = {
    "fcfs": "in order of arrival",
    "lcfs": "the last to arrive first, begun services are ended",
    "lcfs-pr": "the last to arrive first, at once",
    "siro": "in random order",
    "sjf": "the shortest first, begun services are ended",
    "srpt": "the one with the least work left first, at once",
    "ps": "all at once, in equal shares",
    "priority": "the most urgent class first, begun services are ended",
    "priority-pr": "the most urgent class first, at once",
}
_BY_CLASS: Final = ("priority", "priority-pr")
_AT_ONCE: Final = ("lcfs-pr", "srpt", "priority-pr")
#: Parts of a trace whose means stand in for replications.
_PARTS: Final = 10


@dataclass(frozen=True, eq=False)
class QueueRun(Result):
    """Waits and responses of the jobs of a simulated queue.

    Rows are replications, or parts of a trace side by side; jobs of the warm-up are left out. A wait
    ends when service first begins.
    """

    drawing = Drawing("quantity", "mean", half_width="half_width", labels=("", "seconds"))

    discipline: str  #: who was served next
    servers: int  #: at speed one
    wait: Array = field(repr=False)  #: seconds until service first begins, (replications, jobs)
    response: Array = field(repr=False)  #: seconds until departure, (replications, jobs)
    kind: Ints = field(repr=False)  #: class of each job, 0 the most urgent, (replications, jobs)
    utilisation: float  #: share of the servers' time that was asked for
    of_trace: bool = False  #: whether rows are parts of one trace, which are not quite independent

    @property
    def mean_wait(self) -> Estimate:
        """Mean seconds until service first begins, of all jobs."""
        return self._over_rows(self.wait, None, np.mean)

    def mean_wait_of(self, kind: int) -> Estimate:
        """Return the mean seconds until service first begins of a class.

        Parameters
        ----------
        kind : int
            Class, 0 the most urgent.
        """
        return self._over_rows(self.wait, kind, np.mean)

    @property
    def mean_response(self) -> Estimate:
        """Mean seconds from arrival to departure, of all jobs."""
        return self._over_rows(self.response, None, np.mean)

    def mean_response_of(self, kind: int) -> Estimate:
        """Return the mean seconds from arrival to departure of a class.

        Parameters
        ----------
        kind : int
            Class, 0 the most urgent.
        """
        return self._over_rows(self.response, kind, np.mean)

    def wait_percentile(self, q: float, kind: int | None = None) -> Estimate:
        """Return the time by which a share of the jobs has begun service.

        Parameters
        ----------
        q : float
            Share of the jobs, such as .95.
        kind : int, optional
            Class, 0 the most urgent; by default all.
        """
        q = share("q", q)
        return self._over_rows(self.wait, kind, lambda x: np.quantile(x, q))

    def response_percentile(self, q: float, kind: int | None = None) -> Estimate:
        """Return the time by which a share of the jobs has left.

        Parameters
        ----------
        q : float
            Share of the jobs, such as .95.
        kind : int, optional
            Class, 0 the most urgent; by default all.
        """
        q = share("q", q)
        return self._over_rows(self.response, kind, lambda x: np.quantile(x, q))

    def _over_rows(self, values: Array, kind: int | None, function: Any) -> Estimate:
        if kind is None:
            return estimate([float(function(row)) for row in values])
        chosen = [row[own == kind] for row, own in zip(values, self.kind, strict=True)]
        if any(row.size == 0 for row in chosen):
            raise ModelError(f"no jobs of class {kind} in one of the rows; simulate more jobs")
        return estimate([float(function(row)) for row in chosen])

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each quantity, with its interval."""
        import pandas as pd

        quantities = {
            "mean wait": self.mean_wait,
            "mean response": self.mean_response,
            "p95 of the response": self.response_percentile(0.95),
        }
        return pd.DataFrame([{"quantity": name, **known.record()} for name, known in quantities.items()])

    def drawn(self) -> pd.DataFrame:
        """Return the rows of the table."""
        return self.to_frame()

    def record(self) -> dict[str, Any]:
        """Return discipline, servers and the quantities."""
        return {
            "discipline": self.discipline,
            "servers": self.servers,
            "utilisation": self.utilisation,
            "mean_wait": self.mean_wait.record(),
            "mean_response": self.mean_response.record(),
        }


def simulate_queue(
    arrivals: PhaseType | MAP | MarkedMAP | ArrayLike | Sequence[Any],
    service: PhaseType | ArrayLike | Sequence[Any],
    servers: int = 1,
    discipline: str = "fcfs",
    *,
    classes: ArrayLike | None = None,
    jobs: int = 20_000,
    replications: int = 10,
    warm_up: float = 0.1,
    seed: int = 0,
) -> QueueRun:
    """Simulate one queue; with laws several times from an empty start, with a trace once.

    Parameters
    ----------
    arrivals : PhaseType, MAP, MarkedMAP, or (n,) array_like
        Law of the gaps, a process, or the moments of a trace in seconds, not falling. Under "priority" and
        "priority-pr" with laws: a sequence of them, one for each class, the most urgent first, or one
        process whose kinds are the classes.
    service : PhaseType, or (n,) array_like
        Law of the work, or the work of each job of the trace, in seconds at speed one; a sequence of laws,
        one for each class, where `arrivals` is one.
    servers : int
        Servers at speed one.
    discipline : str
        One of `DISCIPLINES`.
    classes : (n,) array_like of int, optional
        Class of each job of a trace, 0 the most urgent.
    jobs : int
        Of a replication, all classes together.
    replications : int
        Independent runs, at least 2 for an interval.
    warm_up : float
        Part of a replication's jobs that is left out at the beginning; a trace is used whole.
    seed : int
        Replication i draws from `stream(seed, "queue", i)`.

    Returns
    -------
    QueueRun
        Of every job.

    Raises
    ------
    ModelError
        If an argument is out of range, or laws and a trace are mixed.
    UnstableError
        If laws ask for more than the servers have.

    References
    ----------
    .. [1] A. M. Law, *Simulation Modeling and Analysis*, 5th ed., McGraw-Hill 2015, ch. 9.

    Examples
    --------
    >>> one = PhaseType.exponential(mean=1.0)
    >>> run = simulate_queue(one.scale(0.5), one, servers=3, jobs=5000, replications=5, seed=1)
    >>> run.mean_response.contains(1.4444)
    True
    >>> simulate_queue([0.0, 1.0, 2.0], [5.0, 1.0, 1.0], discipline="ps").response.round(3).ravel().tolist()
    [7.0, 2.5, 2.5]
    """
    one_of("discipline", discipline, tuple(DISCIPLINES))
    servers = whole_number("servers", servers, least=1)
    together = arrivals if isinstance(arrivals, MarkedMAP) else None
    if together is not None:
        arrivals = [together.of_kind(k) for k in range(len(together.marks))]
    laws = _laws(arrivals, service, discipline)
    if laws is None:
        given = _trace(arrivals, service, classes, discipline)
        rows = [_played(*given, servers, discipline, stream(seed, "queue", 0))]
        parts = min(_PARTS, given[0].size)
        each = given[0].size // parts
        wait, response = (part[: each * parts].reshape(parts, each) for part in rows[0])
        kind = given[2][: each * parts].reshape(parts, each)
        span = max(float((given[0] + rows[0][1]).max() - given[0][0]), np.finfo(float).tiny)
        used = float(given[1].sum()) / (servers * span)
        return QueueRun(discipline, servers, wait, response, kind, used, of_trace=True)
    if classes is not None:
        raise ModelError("classes are for the jobs of a trace; give a law of arrivals for each class")
    load = sum(work.mean / gaps.mean for gaps, work in laws)
    if load >= servers:
        rate = sum(1.0 / gaps.mean for gaps, _ in laws)
        raise UnstableError("queue", rate, rate * servers / load)
    jobs = whole_number("jobs", jobs, least=20)
    cut = int(share("warm_up", warm_up, one=False) * jobs)
    whole_number("replications", replications, least=1)
    runs = []
    for number in range(replications):
        rng = stream(seed, "queue", number)
        drawn = _drawn(laws, jobs, rng, together)
        runs.append((*_played(*drawn, servers, discipline, rng), drawn[2]))
    wait, response = (np.array([run[k][cut:] for run in runs]) for k in range(2))
    kind = np.array([run[2][cut:] for run in runs])
    return QueueRun(discipline, servers, wait, response, kind, load / servers)


def _laws(arrivals: Any, service: Any, discipline: str) -> list[tuple[Any, PhaseType]] | None:
    """Return the laws of each class, or nothing for a trace."""
    several = isinstance(arrivals, list | tuple) and any(isinstance(e, PhaseType | MAP) for e in arrivals)
    gaps = list(arrivals) if several else [arrivals]
    work = list(service) if several and isinstance(service, list | tuple) else [service]
    is_law = [isinstance(e, PhaseType | MAP) for e in gaps] + [isinstance(e, PhaseType) for e in work]
    if not any(is_law):
        return None
    if not all(is_law) or len(gaps) != len(work):
        raise ModelError("give laws for both arrivals and service, as many of each, or the arrays of a trace")
    if (len(gaps) > 1) and discipline not in _BY_CLASS:
        raise ModelError(f'several classes are for "priority" and "priority-pr", not for "{discipline}"')
    return list(zip(gaps, work, strict=True))


def _trace(
    arrivals: Any, service: Any, classes: ArrayLike | None, discipline: str
) -> tuple[Array, Array, Ints]:
    times, work = real_vector("arrivals", arrivals), real_vector("service", service)
    if times.size != work.size:
        raise ModelError(f"{times.size} arrivals and {work.size} services: one of each for a job")
    if (np.diff(times) < 0.0).any():
        raise ModelError("arrivals must not fall: moments in seconds, in order")
    if work.min() < 0.0:
        raise ModelError(f"service must be >= 0, got {work.min():.6g}")
    if classes is None:
        if discipline in _BY_CLASS:
            raise ModelError(f'"{discipline}" needs classes: a number for each job, 0 the most urgent')
        return times, work, np.zeros(times.size, dtype=np.int64)
    kinds = np.asarray(classes)
    if kinds.shape != times.shape or not np.issubdtype(kinds.dtype, np.integer) or kinds.min() < 0:
        raise ModelError("classes must be a whole number for each job, 0 the most urgent")
    return times, work, kinds.astype(np.int64)


def _drawn(
    laws: list[tuple[Any, PhaseType]], jobs: int, rng: np.random.Generator, together: MarkedMAP | None
) -> tuple[Array, Array, Ints]:
    """Return moments, work and classes of one replication: what comes first of all classes."""
    if together is not None:
        gaps, kinds = together.rvs(jobs, rng)
        times = np.cumsum(gaps)
    else:
        times, kinds = _side_by_side([gaps for gaps, _ in laws], jobs, rng)
    work = np.empty(jobs)
    for k, (_, law) in enumerate(laws):
        own = np.flatnonzero(kinds == k)
        work[own] = law.rvs(own.size, rng)
    return times, work, kinds


def _side_by_side(
    processes: Sequence[PhaseType | MAP], jobs: int, rng: np.random.Generator
) -> tuple[Array, Ints]:
    """Return moments and classes of the first so many jobs of independent processes."""
    rates = np.array([1.0 / gaps.mean for gaps in processes])
    # Of a class no more can be among the first jobs than there are jobs, and far more than expected is rare.
    counts = np.minimum(jobs, np.ceil(1.2 * jobs * rates / rates.sum() + 100.0)).astype(int)
    while True:
        moments = [np.cumsum(gaps.rvs(int(n), rng)) for gaps, n in zip(processes, counts, strict=True)]
        kinds = np.repeat(np.arange(len(processes)), counts)
        times = np.concatenate(moments)
        order = np.argsort(times, kind="stable")[:jobs]
        last = times[order[-1]]
        if order.size == jobs and all(
            m[-1] >= last or n == jobs for m, n in zip(moments, counts, strict=True)
        ):
            return times[order], kinds[order]
        counts = np.minimum(jobs, 2 * counts)


def _played(
    times: Array, work: Array, kinds: Ints, servers: int, discipline: str, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return wait and response of each job."""
    end = np.empty(times.size)
    if discipline == "ps":
        _kernels.shared(times, work, servers, end)
        return np.zeros(times.size), end - times
    number, start = np.arange(times.size, dtype=float), np.full(times.size, np.nan)
    keys = {
        "fcfs": number,
        "lcfs": -number,
        "lcfs-pr": -number,
        "siro": rng.random(times.size),
        "sjf": work.copy(),
        "srpt": work.copy(),
    }.get(discipline)
    if keys is None:
        keys = kinds * float(times.size) + number
    _kernels.in_order(times, work, keys, servers, discipline in _AT_ONCE, discipline == "srpt", start, end)
    return start - times, end - times
