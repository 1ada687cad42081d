"""Queues with many servers whose speed depends on how many are busy, PH/PH/c among them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property, partial
from math import fsum
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, eye_array, issparse, kron, kronsum

from phasefit import MAP, PhaseType, convolve
from phasefit.arrays import Array, read_only
from phasefit.checks import one_of, real_array, share, whole_number
from phasefit.records import Drawing, Record, Result, data_frame
from qmodels.errors import MemoryBudgetError, ModelError, UnstableError
from qmodels.markov import QBD, QBDSolution, solve_qbd
from qmodels.markov.sparse_rates import Block
from qmodels.networks.occupancy import Centre, dense_kron, kron_sum, sharing_centre
from qmodels.networks.replay import (
    Asked,
    FitError,
    fit_error,
    is_fitted,
    mean_stay,
    mean_wait,
    percentile,
)
from qmodels.networks.sizes import check_queue, occupancy_counts, queue_memory
from qmodels.networks.waiting import waiting_rates
from qmodels.words import named_values

if TYPE_CHECKING:
    import pandas as pd


#: Probability of a wait below which its law cannot be followed: its masses lose their digits.
_LEAST_CHANCE: Final = 1e-290
#: More servers than any chain of jobs one by one could be solved for in time.
_MOST_SERVERS: Final = 100_000
#: Phases of a level from which on its rates are kept sparse: zeros take memory, and memory time.
_SPARSE: Final = 256


@dataclass(frozen=True, eq=False)
class ManyServerQueue(Record):
    """Jobs that arrive one by one, at most c of them in service, the rest waiting in order.

    Parameters
    ----------
    arrivals : PhaseType or MAP
        Time between arrivals, in seconds, without an atom at zero; or arrivals that depend on
        those before.
    service : PhaseType
        Time of a service at speed one, in seconds, without an atom at zero.
    servers : int, optional
        c servers at speed one. Give this or `speeds`.
    speeds : (c,) array_like, optional
        Speed of each busy server while k = 1..c are busy.

    Raises
    ------
    ModelError
        If a law has an atom at zero, a speed is not positive, or not just one of `servers` and
        `speeds` is given.
    MemoryBudgetError
        If the servers are more than any chain can follow.

    References
    ----------
    .. [1] Squillante 1998.

    Examples
    --------
    >>> one = PhaseType.exponential(mean=1.0)
    >>> queue = ManyServerQueue(one.scale(0.5), one, servers=3).solve()
    >>> round(queue.mean_response, 12), round(queue.wait_probability, 12)
    (1.444444444444, 0.444444444444)
    >>> round(queue.wait.ppf(0.99), 6)
    3.79424
    """

    arrivals: PhaseType | MAP
    service: PhaseType
    servers: int | None = None
    speeds: ArrayLike | None = None

    def __post_init__(self) -> None:
        for name, law in (("arrivals", self.arrivals), ("service", self.service)):
            if name == "arrivals" and isinstance(law, MAP):
                continue
            if not isinstance(law, PhaseType):
                kind = "a PhaseType or a MAP" if name == "arrivals" else "a PhaseType"
                raise ModelError(f"{name} must be {kind}, got {law!r:.60}")
            if law.atom > 0.0:
                raise ModelError(
                    f"{name}: {law.atom:.3g} of the law lies at zero; take the law of the positive values"
                )
        if (self.servers is None) == (self.speeds is None):
            raise ModelError("give servers (how many, at speed one) or speeds, and not both")
        if self.speeds is None:
            count = whole_number("servers", self.servers, least=1)  # type: ignore[arg-type]
            if count > _MOST_SERVERS:
                raise MemoryBudgetError(
                    f"{count:,} servers are more than the {_MOST_SERVERS:,} that a chain can follow"
                )
            speeds = np.ones(count)
        else:
            speeds = real_array("speeds", self.speeds)
        if speeds.ndim != 1 or speeds.size == 0 or speeds.min() <= 0.0:
            raise ModelError(f"speeds must be positive and finite, one for each k = 1..c; got {speeds}")
        object.__setattr__(self, "speeds", read_only(speeds))
        object.__setattr__(self, "servers", speeds.size)

    @property
    def arrival_rate(self) -> float:
        """Jobs per second that arrive."""
        return 1.0 / self.arrivals.mean

    @property
    def capacity(self) -> float:
        """Jobs per second that can be served while all servers are busy."""
        return float(self._speeds.size * self._speeds[-1] / self.service.mean)

    @cached_property
    def process(self) -> MAP:
        """The arrivals as a process, renewal where `arrivals` is a law."""
        return arrival_process(self.arrivals)

    @property
    def fitted(self) -> bool:
        """True if arrivals or service were fitted to data."""
        return is_fitted(self.arrivals, self.service)

    @property
    def memory_needed(self) -> float:
        """Bytes that solving takes, to within a factor of two."""
        return queue_memory(self._sizes)

    @property
    def _sizes(self) -> Array:
        """Phases of the levels 0..c."""
        return self.arrivals.order * occupancy_counts(self._speeds.size, self.service.order)

    def chain(self, *, memory: float | None = None) -> QBD:
        """Return the rates of the chain whose levels count jobs.

        A phase is an arrival stage and how many jobs in service are in each stage.

        Parameters
        ----------
        memory : float, optional
            Bytes that solving may take. By default half of the machine's memory, and then no more
            than about half a minute of computing.

        Raises
        ------
        MemoryBudgetError
            If that would not do; nothing has been allocated then. It names sizes that would.
        """
        check_queue("service", self._speeds.size, self.service.order, self.arrivals.order, memory)
        return queue_chain(self.process, self._centre, self._busy[1])

    def solve(self, *, memory: float | None = None) -> ManyServerSolution:
        """Solve for the steady state.

        Parameters
        ----------
        memory : float, optional
            Bytes that the solution may take. By default half of the machine's memory, and then no
            more than about half a minute of computing.

        Returns
        -------
        ManyServerSolution
            The steady state.

        Raises
        ------
        UnstableError
            If jobs arrive at least as fast as they can be served.
        MemoryBudgetError
            If the chain would not fit or take longer.
        """
        started = time.perf_counter()
        if self.arrival_rate >= self.capacity:
            raise UnstableError("the queue", self.arrival_rate, self.capacity)
        chain = solve_qbd(self.chain(memory=memory))
        return ManyServerSolution(self, chain, time.perf_counter() - started)

    @property
    def _speeds(self) -> Array:
        return np.asarray(self.speeds)

    @cached_property
    def _centre(self) -> Centre:
        """The jobs in service, 0..c of them, by their stages."""
        speeds = np.concatenate([[0.0], self._speeds])
        return sharing_centre(self.service, self._speeds.size, speeds)

    @cached_property
    def _busy(self) -> tuple[Array, Array]:
        """Rates among the stages of c jobs in service, without a completion and with one."""
        c, centre = self._speeds.size, self._centre
        full, fewer = centre.slice(c), centre.slice(c - 1)
        completions = dense_block(centre.leave, full, fewer)
        followed = completions @ dense_block(centre.enter, fewer, full)
        return dense_block(centre.local, full, full), followed


@dataclass(frozen=True, eq=False)
class ManyServerSolution(Result):
    """Steady state of a `ManyServerQueue`.

    References
    ----------
    .. [1] Sengupta 1989.
    .. [2] Asmussen and O'Cinneide 1998.

    Examples
    --------
    One job in ten thousand is a giant; the others notice:

    >>> giants = PhaseType.hyperexponential(weights=[0.9999, 0.0001], means=[0.9, 1000.9])
    >>> found = ManyServerQueue(PhaseType.exponential(mean=0.5), giants, servers=4).solve()
    >>> round(found.wait_probability, 4), round(found.positive_wait.mean, 2)
    (0.1789, 3.7)
    """

    drawing = Drawing("jobs", "probability")

    queue: ManyServerQueue  #: that was solved
    chain: QBDSolution  #: the level counts jobs
    seconds: float  #: time the solution took

    @property
    def mean_jobs(self) -> float:
        """Mean number of jobs in the system."""
        return self.chain.mean_level()

    @property
    def mean_waiting(self) -> float:
        """Mean number of jobs that wait."""
        return self.chain.mean_excess()

    @property
    def mean_response(self) -> float:
        """Mean time from arrival to departure, in seconds."""
        return self.mean_jobs * self.queue.arrivals.mean

    @property
    def mean_wait(self) -> float:
        """Mean time from arrival to the start of service, in seconds."""
        return self.mean_waiting * self.queue.arrivals.mean

    @property
    def wait_probability(self) -> float:
        """Probability that an arriving job has to wait."""
        return fsum(self._arrivals_that_wait)

    def pmf(self, jobs: ArrayLike) -> Any:
        """Return the probability of so many jobs in the system, at a random time.

        Parameters
        ----------
        jobs : array_like of int
            Not negative, any shape.
        """
        return self.chain.pmf(jobs)

    def sf(self, jobs: ArrayLike) -> Any:
        """Return the probability of more jobs than that in the system.

        Parameters
        ----------
        jobs : array_like of int
            Not negative, any shape.
        """
        return self.chain.sf(jobs)

    @property
    def method(self) -> str:
        """Name of the method; nothing is cut off or approximated.

        For laws that were fitted to data it says so: they are not the data, see `fit_error`.
        """
        return self.chain.method + (", for the fitted laws" if self.queue.fitted else "")

    @property
    def error_bound(self) -> float:
        """Relative error to expect of a mean; for waits see `wait_error_bound`.

        That of the computing. What fitted laws leave out of their data is in `fit_error`.
        """
        return self.chain.error_bound

    def fit_error(self, of: str = "wait", q: float | None = None) -> FitError | None:
        """Return the distance of an answer from the data that the laws were fitted to.

        Parameters
        ----------
        of : {"wait", "response"}
            The time from arrival to the start, or to departure.
        q : float, optional
            Of the percentile that a share `q` of the jobs do not exceed; by default of the mean.

        Returns
        -------
        FitError or None
            None where all laws were given. Its interval is of another period, or of the process
            behind the data, see `qmodels.networks.replay.fit_error`.

        Raises
        ------
        ModelError
            If `of` is neither, or `q` is not above 0 and below 1.

        Examples
        --------
        Waves on two time scales, of which a process of two phases follows neither:

        >>> from phasefit import match_map
        >>> slow = MAP.modulated([[0.0, 0.01], [0.01, 0.0]], rates=[1.3, 0.1])
        >>> waves = slow.superpose(MAP.modulated([[0.0, 0.5], [0.5, 0.0]], rates=[0.5, 0.1]))
        >>> gaps = waves.rvs(20_000, random_state=1)
        >>> two = match_map(*[np.mean(gaps**k) for k in (1, 2, 3)], 0.1).with_data(gaps)
        >>> queue = ManyServerQueue(two, PhaseType.exponential(mean=0.7), servers=1).solve()
        >>> error = queue.fit_error()
        >>> error.low > 2.0 * queue.mean_wait, error.ratio > 5.0
        (True, True)
        """
        one_of("of", of, ("wait", "response"))
        if not self.queue.fitted:
            return None
        waits = of == "wait"
        if q is None:
            asked: Asked = mean_wait if waits else mean_stay
            predicted = self.mean_wait if waits else self.mean_response
            words = f"mean {of}"
        else:
            q = share("q", q, zero=False, one=False)
            asked = partial(percentile, waits, q)
            predicted = float((self.wait if waits else self.response).ppf(q))
            words = f"p{100.0 * q:g} of the {of}"
        return fit_error(
            self.queue.arrivals,
            self.queue.service,
            self.queue._speeds,
            of=words,
            asked=asked,
            predicted=predicted,
        )

    @property
    def wait_error_bound(self) -> float:
        """Relative error to expect of the probability and the mean of a wait, however small.

        A level follows from the one below by a ratio, so that the probability of c busy servers
        is a product of c of them, each with its own rounding.
        """
        steps = self.queue._speeds.size + self.queue.service.order
        return self.chain.error_bound + 8.0 * float(np.finfo(float).eps) * steps

    @property
    def residual(self) -> float:
        """Imbalance of the flows between the states, relative to their sum."""
        return self.chain.residual

    @property
    def states(self) -> int:
        """States with no job waiting."""
        return self.chain.states

    @property
    def wait(self) -> PhaseType:
        """Law of the time from arrival to the start of service, first come first served.

        Of as many phases as there are occupancies of c servers, for each way in which arrivals
        go on after one (one way if they are renewal); its atom is the probability of starting at
        once.
        """
        start, jumps, exits = self._wait_rates
        # next to a capacity less than rounding is left to those that start at once
        return PhaseType.from_rates(start, jumps, exits, atom=max(1.0 - self._chance_in_range(), 0.0))

    @property
    def positive_wait(self) -> PhaseType:
        """Law of the wait of the jobs that wait; as accurate where hardly any job does."""
        start, jumps, exits = self._wait_rates
        return PhaseType.from_rates(start / self._chance_in_range(), jumps, exits, atom=0.0)

    @property
    def response(self) -> PhaseType:
        """Law of the time from arrival to departure: the wait and then a service.

        The two are independent: who is first in line starts the moment a server is free, whatever
        its own service will be. Where the servers have speeds, how fast a job goes on depends on
        who else is there, so no such law is known.

        Raises
        ------
        ModelError
            If `ManyServerQueue.speeds` differ; its mean is `mean_response`.

        Examples
        --------
        >>> one = PhaseType.exponential(mean=1.0)
        >>> queue = ManyServerQueue(one.scale(2.0), one, servers=1).solve()
        >>> round(queue.response.mean, 9), round(queue.response.sf(4.0), 9)
        (2.0, 0.135335283)
        """
        speeds = self.queue._speeds
        if (speeds != speeds[0]).any():
            raise ModelError(
                "with speeds that differ, how long a service takes depends on who else is in "
                "service, so that the law of the response is not known; ask mean_response"
            )
        service = self.queue.service if speeds[0] == 1.0 else self.queue.service.scale(1 / speeds[0])
        return service if self.wait_probability < _LEAST_CHANCE else convolve(self.wait, service)

    def _chance_in_range(self) -> float:
        """P(wait), unless it is too small for the masses of a law to keep their digits."""
        chance = fsum(self._arrivals_that_wait)
        if chance < _LEAST_CHANCE:
            raise ModelError(
                f"the probability of a wait, {chance:.3g}, is too small for a float to follow its "
                f"law; to all purposes every job starts at once"
            )
        return chance

    @property
    def _arrivals_that_wait(self) -> Array:
        """Share of the arrivals that wait, by the phase of the wait."""
        return self._wait_rates[0]

    @cached_property
    def _wait_rates(self) -> tuple[Array, Array, Array]:
        return waiting_rates(self.chain, self.queue._busy, self.queue.process)

    def table(self) -> str:
        """Return name, value and unit as text, one to a line."""
        units = {"mean_response": "s", "mean_wait": "s", "arrival_rate": "jobs/s"}
        units |= {"capacity": "jobs/s", "seconds": "s", "mean_wait_of_data": "s"}
        units |= {"mean_wait_low": "s", "mean_wait_high": "s"}
        return named_values(self.record(), units, width=16)

    def to_frame(self) -> pd.DataFrame:
        """Return one row with a column per quantity."""
        return data_frame([self.record()])

    def drawn(self) -> pd.DataFrame:
        """Return the probability of each number of jobs in the system; see `QBDSolution.drawn`."""
        return self.chain.drawn().rename(columns={"level": "jobs"})

    def record(self) -> dict[str, Any]:
        """Return means, probabilities and accuracy, times in seconds."""
        return {
            "servers": int(self.queue._speeds.size),
            "arrival_rate": self.queue.arrival_rate,
            "capacity": self.queue.capacity,
            **self._by_name("mean_response", "mean_wait", "wait_probability", "mean_jobs", "mean_waiting"),
            **self._of_the_data(),
            **self._by_name("method", "error_bound", "residual", "states", "seconds"),
        }

    def _of_the_data(self) -> dict[str, float | str]:
        """Return the mean wait by the data, where the laws were fitted to some."""
        error = self._mean_wait_error
        if error is None:
            return {}
        return {
            "mean_wait_of_data": error.on_data,
            "mean_wait_low": error.low,
            "mean_wait_high": error.high,
            "interval_of": error.interval_of,
        }

    @cached_property
    def _mean_wait_error(self) -> FitError | None:
        return self.fit_error()


def speed_scaled_queue(
    arrivals: PhaseType | MAP, demand: PhaseType, speeds: ArrayLike, *, memory_budget: float = 2e9
) -> QBD:
    """Return the queue in which each of k running jobs proceeds at ``speeds[k - 1]``.

    Parameters
    ----------
    arrivals : PhaseType or MAP
        Time between arrivals, in seconds, without an atom at zero; or a process of arrivals.
    demand : PhaseType
        Work of a job, without an atom at zero; at speed v its rates are multiplied by v.
    speeds : (c,) array_like
        Work done per second on each job while k = 1..c jobs run; with more in the system the
        rest wait in order of arrival.
    memory_budget : float
        Bytes that the blocks may take.

    Returns
    -------
    QBD
        The level counts jobs; a phase is an arrival stage and how many running jobs are in each
        stage of their demand.

    Raises
    ------
    ModelError
        If a law has an atom at zero or a speed is not positive.
    MemoryBudgetError
        If the blocks would not fit; nothing has been allocated then.

    References
    ----------
    .. [1] Squillante 1998.

    Examples
    --------
    >>> one = PhaseType.exponential(mean=1.0)
    >>> queue = speed_scaled_queue(one.scale(2.0), one, [1.0, 0.8])
    >>> [block.shape for block in queue.local]
    [(1, 1), (1, 1), (1, 1)]
    """
    return ManyServerQueue(arrivals, demand, speeds=speeds).chain(memory=memory_budget)


def arrival_process(arrivals: PhaseType | MAP) -> MAP:
    """Return arrivals as a process, renewal where a law of the times between them is given.

    Parameters
    ----------
    arrivals : PhaseType or MAP
        In seconds.
    """
    return arrivals if isinstance(arrivals, MAP) else MAP.from_phase_type(arrivals)


def queue_chain(arrivals: MAP, centre: Centre, followed: Array) -> QBD:
    """Return the rates of a queue in front of a centre that holds at most c jobs.

    Parameters
    ----------
    arrivals : MAP
        Arrivals, in seconds.
    centre : Centre
        What 0..c jobs in service do.
    followed : (n, n) ndarray
        Rates among its n states with c jobs of completions after which a waiting job starts.

    Returns
    -------
    QBD
        The level counts jobs; a phase is an arrival stage, and for each of these a state of
        the centre.
    """
    c = centre.starts.size - 2
    same: Array = np.eye(arrivals.order)
    here = [centre.slice(k) for k in range(c + 1)]
    up: list[Block] = []
    local: list[Block] = []
    down: list[Block] = []
    sparse = [arrivals.order * centre.size(min(k + 1, c)) >= _SPARSE for k in range(c + 1)]
    # A Kronecker product with an identity moves one of the two parts and leaves the other alone.
    for k in range(c + 1):
        if sparse[k]:
            moves = centre.local[here[k], here[k]]
            local.append(csr_array(kronsum(moves, arrivals.jumps)))
            # beyond c an arrival waits and leaves the jobs in service as they are
            same_states = eye_array(centre.size(k))
            starts = centre.enter[here[k], here[k + 1]] if k < c else same_states
            up.append(csr_array(kron(arrivals.D1, starts)))
            continue
        states: Array = np.eye(centre.size(k))
        moves = dense_block(centre.local, here[k], here[k])
        local.append(kron_sum(arrivals.jumps, moves))
        # beyond c an arrival waits and leaves the jobs in service as they are
        starts = dense_block(centre.enter, here[k], here[k + 1]) if k < c else states
        up.append(dense_kron(arrivals.D1, starts))
    for k in range(1, c + 1):
        if sparse[k - 1]:
            leave = centre.leave[here[k], here[k - 1]]
            down.append(csr_array(kron(eye_array(arrivals.order), leave)))
        else:
            down.append(dense_kron(same, dense_block(centre.leave, here[k], here[k - 1])))
    down.append(csr_array(kron(same, followed)) if sparse[c] else dense_kron(same, followed))
    for block in (*up, *local, *down):  # nobody else has them: the chain need not copy them
        for each in (block.data,) if issparse(block) else (block, block.base):
            if each is not None:
                read_only(each)
    return QBD(up, local, down)


def dense_block(matrix: csr_array, rows: slice, columns: slice) -> Array:
    """Return the dense part of a sparse matrix, none of whose entries in these rows lies elsewhere.

    Parameters
    ----------
    matrix : sparse array
        With sorted columns.
    rows, columns : slice
        The part.
    """
    dense = np.zeros((rows.stop - rows.start, columns.stop - columns.start))
    ends = matrix.indptr[rows.start : rows.stop + 1]
    row = np.repeat(np.arange(len(dense)), np.diff(ends))
    held = slice(int(ends[0]), int(ends[-1]))
    dense[row, matrix.indices[held] - columns.start] = matrix.data[held]
    return dense
