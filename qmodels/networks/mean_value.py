"""Approximate mean value analysis: what an arriving customer finds is estimated, not computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from phasefit.arrays import Array
from qmodels.errors import ConvergenceError
from qmodels.networks._kernels import estimated_queues

_TOLERANCE: Final = 1e-11
_MOST_STEPS: Final = 100_000
#: Rounds of the linearizer, and the change of a share at which it has settled.
_ROUNDS, _SETTLED = 60, 1e-7
#: Part of a round's correction that is kept. Three full rounds, as published, swing between two states
#: where two stations have nearly the same work: responses were off by up to 66 % where half steps err by 1 %.
_KEPT: Final = 0.5


def approximate(
    demands: Array,
    services: Array,
    populations: Array,
    rates: Array,
    think: Array,
    servers: Array,
    in_turn: Array,
    *,
    linearized: bool,
) -> tuple[Array, Array]:
    """Return throughputs and mean queues by Bard and Schweitzer, or by the linearizer.

    Parameters
    ----------
    demands, services : (classes, stations) array
        Seconds of a passage, and of a visit.
    populations : (classes,) int array
        Customers of closed classes, zero for open ones.
    rates : (classes,) array
        Customers of open classes per second, zero for closed ones.
    think : (classes,) array
        Seconds outside between two passages.
    servers : (stations,) array
        Infinite for a delay.
    in_turn : (stations,) bool array
        Whether unlike services are served in order of arrival: a customer waits for each one ahead
        by that one's service.
    linearized : bool
        Whether to correct the estimate by what one customer less of each class sees.

    Returns
    -------
    throughput : (classes,) ndarray
        Passages per second.
    queues : (classes, stations) ndarray
        Mean customers.
    """
    delays = np.isinf(servers)
    at_once = np.where(delays, 1.0, servers)
    # Seidmann: c servers are one of c times the speed, behind a delay that takes the rest of the service
    queued = np.where(delays, 0.0, demands / at_once)
    away = think + (demands - queued).sum(axis=1)
    visit = np.where(delays, 0.0, services / at_once)
    load, other_work = rates @ queued, rates @ (queued * visit)
    closed = np.flatnonzero(populations > 0)
    fixed = _Fixed(queued[closed], visit[closed], away[closed], 1.0 - load, other_work, in_turn)
    full = populations[closed].astype(float)
    used = queued[closed] > 0.0
    start = used * (full / np.maximum(used.sum(axis=1), 1))[:, None]
    shares = np.zeros(
        (closed.size, closed.size, queued.shape[1])
    )  # change of share of s at k with one r less
    flow, queues = fixed.solved(full, shares, start)
    if linearized:
        fewer = [np.maximum(full - one, 0.0) for one in np.eye(closed.size)]
        there = [queues * (jobs / full)[:, None] for jobs in fewer]
        for _ in range(_ROUNDS):
            new = np.zeros_like(shares)
            for r, jobs in enumerate(fewer):
                there[r] = fixed.solved(jobs, shares, there[r])[1]
                some = jobs > 0.0
                new[r, some] = there[r][some] / jobs[some, None] - queues[some] / full[some, None]
            moved = float(np.abs(new - shares).max(initial=0.0))
            shares = _KEPT * shares + (1.0 - _KEPT) * new
            flow, queues = fixed.solved(full, shares, queues)
            if moved <= _SETTLED:
                break
    throughput, at = rates.astype(float), np.zeros_like(demands)
    throughput[closed], at[closed] = flow, queues
    ahead, work = at.sum(axis=0), (at * visit).sum(axis=0) + other_work
    for r in np.flatnonzero(rates > 0.0).tolist():
        with np.errstate(divide="ignore", invalid="ignore"):
            by_turn = np.where(queued[r] > 0.0, queued[r] * (1.0 + work / (1.0 - load) / visit[r]), 0.0)
        at[r] = rates[r] * np.where(in_turn, by_turn, queued[r] * (1.0 + ahead) / (1.0 - load))
    return throughput, at + throughput[:, None] * (demands - queued)


@dataclass(frozen=True, eq=False)
class _Fixed:
    """Figures that stay the same while populations and estimates change."""

    demands: Array
    service: Array
    away: Array
    left: Array
    other_work: Array
    in_turn: Array

    def solved(self, jobs: Array, shares: Array, start: Array) -> tuple[Array, Array]:
        """Return throughputs and queues with so many customers, from a guess of the queues."""
        queues, flow = start.copy(), np.zeros(jobs.size)
        limits = np.array([_MOST_STEPS, _TOLERANCE * max(1.0, float(jobs.max(initial=0.0)))])
        moved = estimated_queues(
            jobs,
            shares,
            self.demands,
            self.service,
            self.away,
            self.left,
            self.other_work,
            self.in_turn,
            limits,
            flow,
            queues,
        )
        if jobs.size and not moved <= limits[1]:
            raise ConvergenceError("approximate mean value analysis", _MOST_STEPS, moved, queues)
        return flow, queues
