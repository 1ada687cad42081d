"""How long a backlog of jobs takes to drain under a policy while others go on arriving."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike

from phasefit.arrays import Array
from phasefit.checks import real_vector, whole_number
from phasefit.records import Drawing, Result, data_frame
from qmodels.errors import ModelError
from qmodels.markov import transient
from qmodels.markov.descent import Descent
from qmodels.markov.truncation import cut_off, levels_above
from qmodels.policies.methods import exact_for_its_laws
from qmodels.policies.models.base import SolvedQueue
from qmodels.policies.models.described import described_times
from qmodels.words import in_words

if TYPE_CHECKING:
    import pandas as pd

#: Times at which the way back is drawn.
_TIMES: Final = 31


@dataclass(frozen=True, eq=False)
class Backlog(Result):
    """Time until nobody waits any more, after an outage or a burst of jobs."""

    drawing = Drawing("time", "mean_jobs", labels=("time", "mean number of jobs"))

    policy: str  #: label
    jobs: int  #: at hand at time zero, those that start then among them
    arrival_rate: float  #: jobs per second that go on arriving
    mean: float  #: seconds until no job waits
    std: float  #: standard deviation of that time, seconds
    method: str  #: that of the prediction
    solved: SolvedQueue = field(repr=False)  #: the queue
    seconds: float  #: time the solution took
    descent: Descent = field(repr=False, compare=False)  #: law of the time

    @property
    def sentence(self) -> str:
        """The answer in words, with the standard deviation behind ±."""
        most = in_words(float(self.percentile(0.95)), like=self.mean)
        said = "" if exact_for_its_laws(self.method) else ", by an approximate model"
        spread = in_words(self.std, like=self.mean)
        drawn = described_times(self.solved) is not None
        whose = ", if those that arrive are independent, as those of the log are not" if drawn else ""
        return (
            f"a backlog of {self.jobs} jobs drains in {in_words(self.mean)} (± {spread}), "
            f"with 95 % within {most}{said}{whose}"
        )

    def cdf(self, x: ArrayLike) -> Any:
        """P(drained within `x` seconds).

        Parameters
        ----------
        x : array_like
            Seconds.
        """
        return self.descent.cdf(x)

    def percentile(self, q: ArrayLike) -> Any:
        """Seconds within which the backlog is drained with probability `q`, such as 0.95.

        Parameters
        ----------
        q : array_like
            In [0, 1).

        Raises
        ------
        ModelError
            If `q` is not, or too near one.
        """
        return self.descent.percentile(q)

    def over_time(self, times: ArrayLike | None = None) -> pd.DataFrame:
        """Return what is expected at each time on the way back to the steady state.

        Parameters
        ----------
        times : (n,) array_like, optional
            Seconds; by default from zero to twice the mean time to drain.

        Returns
        -------
        pandas.DataFrame
            Columns time, mean_jobs (in the system) and mean_wait (seconds until the start, of a job
            that comes at that time).
        """
        when = np.linspace(0.0, 2.0 * self.mean, _TIMES) if times is None else real_vector("times", times)
        return data_frame({"time": when, **_on_the_way(self.solved, self.jobs, when)})

    def to_frame(self) -> pd.DataFrame:
        """Return the table of `over_time`."""
        return self.over_time()

    def plot(self, ax: Any = None) -> Any:
        """Draw the mean number of jobs on the way back; see `Result.plot`."""
        from phasefit.plotting import columns
        from qmodels.plotting.style import clock_unit

        table = self.over_time()
        unit, name = clock_unit(float(table["time"].iloc[-1]))
        title = f"a backlog of {self.jobs} jobs under {self.policy}"
        axes = columns(table.assign(time=table["time"] / unit), self.drawing, title=title, ax=ax)
        axes.set_xlabel(f"time [{name}]")
        return axes

    def record(self) -> dict[str, Any]:
        """Return mean, standard deviation and percentiles in seconds."""
        shares = (0.05, 0.5, 0.95)
        return {
            **self._by_name("policy", "jobs", "arrival_rate", "mean", "std"),
            "percentiles": {f"{q:g}": float(self.percentile(q)) for q in shares},
            "method": self.method,
        }


def backlog_of(solved: SolvedQueue, jobs: int) -> Backlog:
    """Return the law of the time until a backlog is drained while jobs go on arriving.

    Parameters
    ----------
    solved : SolvedQueue
        Such as ``predict(...).solved``.
    jobs : int
        At hand at time zero; as many as can start then, the others wait.

    Returns
    -------
    Backlog
        The time until no job waits.

    Raises
    ------
    ModelError
        If so many jobs can all start at once.
    MemoryBudgetError
        If one probability would take longer than about half a minute.

    Notes
    -----
    The time is that in which the chain of the prediction comes down, level by level, from a machine
    on which all jobs start afresh at time zero (arrivals are where they are at a random time) to no
    waiting job. Its mean is solved for; its law is the inverse of a transform: where it is smooth by a
    cosine series, one for all times, else by Euler's summation [1]_. That leaves an
    error of about 1e-8 in a probability. Uniformisation would take as many products as the chain
    jumps, hundreds of thousands next to the capacity. For the policy itself the law is as exact as
    the prediction, see `method`.

    References
    ----------
    .. [1] Abate and Whitt 2006.

    Examples
    --------
    Fifty jobs before a single server that is busy half of the time take 49 busy periods to drain:

    >>> from qmodels import Phase, Program, System, Workload, predict
    >>> work = Workload(Program([Phase(io=1.0, cpu=9.0)]))
    >>> left = predict("SP(1,1)", System(1, 1), work, load=0.45).backlog(50)
    >>> round(left.mean, 6), round(float(left.percentile(0.95)), 1)
    (980.0, 1420.3)
    """
    started = time.perf_counter()
    b = solved.queue.running.max_running
    jobs = whole_number("jobs", jobs, least=1)
    label = solved.policy.label
    if jobs <= b:
        raise ModelError(
            f"a backlog of {jobs} jobs is none under {label}, which runs {b} at once; give more than {b}"
        )
    descent = Descent(solved.queue.chain(), _fresh(solved), jobs - b, np.asarray(solved.chain.first_passage))
    return Backlog(
        policy=label,
        jobs=jobs,
        arrival_rate=solved.queue.arrival_rate,
        mean=descent.mean,
        std=descent.std,
        method=solved.method,
        descent=descent,
        solved=solved,
        seconds=time.perf_counter() - started,
    )


def _fresh(solved: SolvedQueue) -> Array:
    """Probability of each phase of the high levels while all that run have just started."""
    queue = solved.queue
    centre, states = queue.running.centre, np.ones(1)
    for k in range(queue.running.max_running):
        states = states @ centre.enter[centre.slice(k), centre.slice(k + 1)]
    return np.asarray(np.kron(queue.process.phases, states))


def _on_the_way(solved: SolvedQueue, jobs: int, times: Array) -> dict[str, Array]:
    """Mean number of jobs and mean wait of one that comes, at each time."""
    chain = solved.queue.chain()
    top = jobs + levels_above(solved.chain.decay_rate())
    rates, level = cut_off(chain, top)
    initial = np.zeros(level.size)
    initial[level == jobs] = _fresh(solved)
    solution = transient(rates, initial, times)
    return {
        "mean_jobs": solution.mean_of(level),
        "mean_wait": solution.mean_of(np.concatenate(_waits(solved, np.bincount(level).tolist(), top))),
    }


def _waits(solved: SolvedQueue, sizes: list[int], top: int) -> list[Array]:
    """Mean wait of a job that comes in each state of each level, seconds."""
    inner, followed = solved.queue.busy
    inner = inner - np.diag(np.diagonal(inner))
    until_one = np.diag(inner.sum(axis=1) + followed.sum(axis=1)) - inner
    solved_for = np.linalg.solve(until_one, np.column_stack([np.ones(len(inner)), followed]))
    once, then = solved_for[:, 0], solved_for[:, 1:]
    b, stages = solved.queue.running.max_running, solved.queue.arrivals.order
    waits, wait = [np.zeros(n) for n in sizes[:b]], np.zeros(len(inner))
    for _ in range(b, top + 1):
        wait = once + then @ wait
        waits.append(np.tile(wait, stages))
    return waits
