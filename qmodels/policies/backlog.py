"""How long a backlog of jobs takes to drain under a policy while others go on arriving."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.sparse import block_array, csr_array
from scipy.special import gammaincinv

from phasefit.arrays import Array
from phasefit.checks import probabilities, real_vector, shaped, whole_number
from phasefit.records import Drawing, Result
from qmodels.errors import MemoryBudgetError, ModelError
from qmodels.markov import transient
from qmodels.markov.sparse_rates import as_dense
from qmodels.memory import MOST_SECONDS
from qmodels.policies.models.base import SolvedQueue
from qmodels.words import in_words

if TYPE_CHECKING:
    import pandas as pd

#: Damping of the inversion: its error is about exp(-18.4), 1e-8.
_DAMPED: Final = 18.4
_REAL: Final = np.full(32, _DAMPED / 2.0)
#: Weights of the last partial sums of the alternating series.
_AVERAGED: Final = np.array([math.comb(11, k) / 2.0**11 for k in range(12)])
#: What may be left of the reduction, and how much a processor does in a second at least.
_CONVERGED, _FLOPS = 1e-15, 3e9
#: Probability of a longer queue that is left out of the way back.
_NOTHING: Final = 1e-12
#: Times at which the way back is drawn.
_TIMES: Final = 31


@dataclass(frozen=True, eq=False)
class Backlog(Result):
    """Time until nobody waits any more, after an outage or a burst of jobs."""

    drawing = Drawing("time", "mean_jobs", labels=("time [s]", "mean number of jobs"))

    policy: str  #: label
    jobs: int  #: at hand at time zero, those that start then among them
    arrival_rate: float  #: jobs per second that go on arriving
    mean: float  #: seconds until no job waits
    std: float  #: standard deviation of that time, seconds
    method: str  #: that of the prediction
    solved: SolvedQueue = field(repr=False)  #: the queue
    seconds: float  #: time the solution took
    descent: _Descent = field(repr=False, compare=False)  #: transform of the time

    @property
    def sentence(self) -> str:
        """The answer in words, with the standard deviation behind +-."""
        most = in_words(float(self.percentile(0.95)), like=self.mean)
        spread = in_words(self.std, like=self.mean)
        return (
            f"a backlog of {self.jobs} jobs drains in {in_words(self.mean)} (+- {spread}), "
            f"with 95 % within {most}"
        )

    def cdf(self, x: ArrayLike) -> Any:
        """P(drained within `x` seconds).

        Parameters
        ----------
        x : array_like
            Seconds.
        """
        times = np.asarray(x, dtype=float)
        values = [1.0 - self.descent.later(t) if t > 0.0 else 0.0 for t in times.ravel().tolist()]
        return shaped(np.clip(values, 0.0, 1.0).reshape(times.shape))

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
        share = probabilities("q", q)
        if share.size and share.max() > 1.0 - 1e-6:
            raise ModelError(f"q must be at most {1.0 - 1e-6}, got {share.max():.12g}")
        return shaped(np.array([self._within(q) for q in share.ravel().tolist()]).reshape(share.shape))

    def _within(self, q: float) -> float:
        """Return the percentile of one share."""
        if q == 0.0:
            return 0.0
        shape = (self.mean / self.std) ** 2
        guess = self.mean * float(gammaincinv(shape, q)) / shape  # a gamma law of the same moments
        low, high = max(guess - 0.2 * self.std, 0.5 * guess), guess + 0.2 * self.std
        while self.cdf(low) > q:
            low /= 2.0
        while self.cdf(high) < q:
            high += self.std
        return float(brentq(lambda x: self.cdf(x) - q, low, high, xtol=1e-6 * self.std))

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
        import pandas as pd

        when = np.linspace(0.0, 2.0 * self.mean, _TIMES) if times is None else real_vector("times", times)
        return pd.DataFrame({"time": when, **_on_the_way(self.solved, self.jobs, when)})

    def to_frame(self) -> pd.DataFrame:
        """Return the table of `over_time`."""
        return self.over_time()

    def record(self) -> dict[str, Any]:
        """Return mean, standard deviation and percentiles in seconds."""
        shares = (0.05, 0.5, 0.95)
        return {
            "policy": self.policy,
            "jobs": self.jobs,
            "arrival_rate": self.arrival_rate,
            "mean": self.mean,
            "std": self.std,
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
    waiting job. Its mean is solved for; its law is the inverse of a transform, ``v G(s)^n 1`` with
    G(s) by logarithmic reduction [1]_ and n the levels, by Euler's summation [2]_, which leaves an
    error of about 1e-8 in a probability. Uniformisation would take as many products as the chain
    jumps, hundreds of thousands next to the capacity. For the policy itself the law is as exact as
    the prediction, see `method`.

    References
    ----------
    .. [1] G. Latouche, V. Ramaswami, "A logarithmic reduction algorithm for quasi-birth-death
       processes", *J. Appl. Probab.* 30 (1993) 650-674.
    .. [2] J. Abate, W. Whitt, "Numerical inversion of Laplace transforms of probability
       distributions", *ORSA J. Computing* 7 (1995) 36-43.

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
    descent = _Descent(solved, jobs - b)
    mean = descent.mean(np.asarray(solved.chain.first_passage))
    # The second cumulant from the transform near zero; what is left of the fourth is extrapolated away.
    steps = np.array([0.02, 0.01]) / mean
    squares = 2.0 * (1.0 - (descent.transform(1j * steps) * np.exp(1j * steps * mean)).real) / steps**2
    return Backlog(
        policy=label,
        jobs=jobs,
        arrival_rate=solved.queue.arrival_rate,
        mean=mean,
        std=math.sqrt((4.0 * squares[1] - squares[0]) / 3.0),
        method=solved.method,
        descent=descent,
        solved=solved,
        seconds=time.perf_counter() - started,
    )


class _Descent:
    """Transform of the time that the chain takes to come down so many homogeneous levels."""

    def __init__(self, solved: SolvedQueue, waiting: int) -> None:
        chain = solved.queue.chain()
        self.up, local, self.down = (as_dense(each[-1]) for each in (chain.up, chain.local, chain.down))
        local = local - np.diag(np.diagonal(local))
        out = self.up.sum(axis=1) + local.sum(axis=1) + self.down.sum(axis=1)
        self.inside = np.diag(out) - local
        self.start, self.waiting = _fresh(solved), waiting
        seconds = _REAL.size * len(out) ** 3 * (400.0 + 12.0 * math.log2(waiting)) / _FLOPS
        if seconds > MOST_SECONDS:
            raise MemoryBudgetError(
                f"a probability of a backlog before {len(out):,} states a level would take some "
                f"{seconds:,.0f} s of computing; use a demand law of lower order"
            )

    def mean(self, returns: Array) -> float:
        """Return the mean time; `returns` says in which state the next lower level is entered."""
        step = np.linalg.solve(self.inside - self.up @ returns - self.up, np.ones(len(returns)))
        total, state = 0.0, self.start
        for _ in range(self.waiting):
            total += float(state @ step)
            state = state @ returns
        return total

    def transform(self, s: NDArray[np.complexfloating]) -> NDArray[np.complexfloating]:
        """Return E[exp(-s T)] for each s, (n,), by logarithmic reduction for all of them at once."""
        same = np.eye(len(self.inside))
        rise, fall = (
            np.linalg.solve(self.inside + s[:, None, None] * same, block) for block in (self.up, self.down)
        )
        returns, reach = fall, rise  # of all numbers at once
        while np.abs(reach).max() > _CONVERGED:
            left = same - rise @ fall - fall @ rise
            rise, fall = np.linalg.solve(left, rise @ rise), np.linalg.solve(left, fall @ fall)
            returns = returns + reach @ fall
            reach = reach @ rise
        return np.asarray((self.start @ np.linalg.matrix_power(returns, self.waiting)).sum(axis=-1))

    def later(self, x: float) -> float:
        """Return P(T > x) by inversion of its transform [Abate and Whitt, Euler's summation]."""
        s = (_REAL + 1j * math.pi * np.arange(_REAL.size)) / x
        values = ((1.0 - self.transform(s)) / s).real * np.where(np.arange(_REAL.size) % 2, -1.0, 1.0)
        values[0] *= 0.5
        sums = np.cumsum(values)[-_AVERAGED.size :]
        return float(math.exp(_DAMPED / 2.0) / x * (_AVERAGED @ sums))


def _more_levels(decay: float) -> int:
    """Levels above the first that are reached with hardly any probability."""
    return 2 if decay == 0.0 else math.ceil(math.log(_NOTHING) / math.log(decay)) + 2


def _fresh(solved: SolvedQueue) -> Array:
    """Probability of each phase of the high levels while all that run have just started."""
    queue = solved.queue
    centre, states = queue.running.centre, np.ones(1)
    for k in range(queue.running.max_running):
        states = states @ centre.enter[centre.slice(k), centre.slice(k + 1)]
    return np.asarray(np.kron(queue.process.phases, states))


def _on_the_way(solved: SolvedQueue, jobs: int, times: Array) -> dict[str, Array]:
    """Mean number of jobs and mean wait of one that comes, at each time."""
    chain, b = solved.queue.chain(), solved.queue.running.max_running
    top = jobs + _more_levels(solved.chain.decay_rate())
    at = [min(k, b) for k in range(top + 1)]
    blocks = [[None] * (top + 1) for _ in range(top + 1)]
    for k in range(top + 1):
        blocks[k][k] = csr_array(chain.local[at[k]])
        if k < top:
            blocks[k][k + 1] = csr_array(chain.up[at[k]])
            blocks[k + 1][k] = csr_array(chain.down[at[k]])
    rates = csr_array(block_array(blocks))
    sizes = [chain.local[k].shape[0] for k in at]
    initial = np.zeros(rates.shape[0])
    first = sum(sizes[:jobs])
    initial[first : first + sizes[jobs]] = _fresh(solved)
    solution = transient(rates, initial, times)
    level = np.repeat(np.arange(top + 1), sizes)
    return {
        "mean_jobs": solution.mean_of(level),
        "mean_wait": solution.mean_of(np.concatenate(_waits(solved, sizes, top))),
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
