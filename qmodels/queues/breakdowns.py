"""A queue whose server breaks down whether it works or not, and is repaired."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from phasefit import MAP, PhaseType
from phasefit.checks import instance_of, real_number
from phasefit.records import Record
from qmodels.errors import ModelError, UnstableError
from qmodels.markov import QBD, QBDSolution, solve_qbd


@dataclass(frozen=True, eq=False)
class BreakdownQueue(Record):
    """One server, jobs in order of arrival, failures at any time; a job goes on where it stopped.

    Where the server fails at work only, take `ManyServerQueue` with ``phasefit.interrupted(service, ...)``,
    which holds for any number of servers and has percentiles.

    Parameters
    ----------
    arrivals : PhaseType or MAP
        Law of the gaps in seconds, or a process.
    service : PhaseType
        Seconds of work, without interruptions.
    failure_rate : float
        Failures per second while the server is up.
    repair : PhaseType
        Seconds until it is up again.

    Raises
    ------
    ModelError
        If an argument is none of these, or a law has a part at zero.
    UnstableError
        If more work comes than a server that is sometimes down can do.

    References
    ----------
    .. [1] B. Avi-Itzhak, P. Naor, "Some queueing problems with the service station subject to breakdown",
       *Oper. Res.* 11 (1963) 303-320.

    Examples
    --------
    >>> one = PhaseType.exponential(mean=1.0)
    >>> queue = BreakdownQueue(one.scale(2.0), one, failure_rate=0.01, repair=one.scale(2.0))
    >>> round(queue.availability, 4), round(queue.mean_jobs, 6), round(queue.mean_response, 6)
    (0.9804, 1.080832, 2.161665)
    """

    arrivals: PhaseType | MAP
    service: PhaseType
    failure_rate: float
    repair: PhaseType

    def __post_init__(self) -> None:
        if not isinstance(self.arrivals, PhaseType | MAP):
            raise ModelError(f"arrivals must be a PhaseType or a MAP, got {self.arrivals!r:.60}")
        for name in ("arrivals", "service", "repair"):
            law = getattr(self, name)
            if isinstance(law, MAP):
                continue
            instance_of(name, law, PhaseType)
            if law.atom > 0.0:
                raise ModelError(
                    f"{name}: a part of the law lies at zero; take the law of the positive values"
                )
        real_number("failure_rate", self.failure_rate, least=0.0)
        rate = 1.0 / self.arrivals.mean
        if rate * self.service.mean >= self.availability:
            raise UnstableError("queue", rate, self.availability / self.service.mean)

    @property
    def availability(self) -> float:
        """Share of the time that the server is up."""
        return 1.0 / (1.0 + self.failure_rate * self.repair.mean)

    @property
    def chain(self) -> QBD:
        """Rates by number of jobs; a phase is one of arrivals, then of service, then up or of the repair."""
        process = (
            MAP.from_phase_type(self.arrivals) if isinstance(self.arrivals, PhaseType) else self.arrivals
        )
        r, n = self.repair.order, self.service.order
        server = np.zeros((1 + r, 1 + r))  # how it goes up and down
        server[0, 1:] = self.failure_rate * self.repair.alpha
        server[1:, 0], server[1:, 1:] = self.repair.exit, self.repair.jumps
        up = np.zeros((1 + r, 1 + r))
        up[0, 0] = 1.0
        ones, works, waits = np.eye(process.order), np.eye(n), np.eye(1 + r)
        begins = self.service.alpha[None, :]
        idle = np.kron(process.jumps, waits) + np.kron(ones, server)
        busy = (
            np.kron(process.jumps, np.kron(works, waits))
            + np.kron(ones, np.kron(works, server))
            + np.kron(ones, np.kron(self.service.jumps, up))
        )
        ends = np.kron(ones, np.kron(self.service.exit[:, None], up))
        following = np.kron(ones, np.kron(np.outer(self.service.exit, self.service.alpha), up))
        first = np.kron(process.D1, np.kron(begins, waits))
        more = np.kron(process.D1, np.kron(works, waits))
        return QBD(up=[first, more], local=[idle, busy], down=[ends, following])

    @cached_property
    def solution(self) -> QBDSolution:
        """Stationary law of the chain."""
        return solve_qbd(self.chain)

    @cached_property
    def mean_jobs(self) -> float:
        """Jobs there on average."""
        return float(self.solution.mean_level())

    @property
    def mean_response(self) -> float:
        """Seconds from arrival to departure."""
        return self.mean_jobs * float(self.arrivals.mean)

    @property
    def mean_wait(self) -> float:
        """Seconds of a response without the work: waiting for others and for repairs."""
        return self.mean_response - float(self.service.mean)

    def pmf(self, jobs: ArrayLike) -> Any:
        """Return the probability of so many jobs at a random time.

        Parameters
        ----------
        jobs : array_like of int
            Numbers of jobs, any shape.
        """
        return self.solution.pmf(jobs)
