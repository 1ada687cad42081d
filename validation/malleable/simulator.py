"""Simulate malleable jobs, all replications side by side: each step is the next event of each."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from phasefit.arrays import Array, Ints
from phasefit.checks import real_number
from phasefit.records import Record
from qmodels.errors import ModelError
from validation.analysis.estimates import Estimate, estimate
from validation.malleable.base import AbstractMalleable, InSystem
from validation.malleable.jobs import RIGID, Jobs

#: Part of the jobs at the beginning, and at the end, that is not measured.
WARM_UP, COOL_DOWN = 0.2, 0.05
#: Work left, as a part of a phase's, that counts as none.
_NONE = 1e-12


@dataclass(frozen=True, eq=False)
class MalleableRun(Record):
    """Response times of a malleable policy."""

    policy: str  #: label
    mean_response: Estimate  #: seconds, over the measured jobs of each replication
    responses: tuple[float, ...]  #: that of each replication
    response: Array = field(repr=False)  #: (r, j) seconds of every job

    def record(self) -> dict[str, object]:
        """Return the label and the mean with its interval."""
        return {"policy": self.policy, "mean_response": self.mean_response}


def simulate_jobs(
    policy: AbstractMalleable, jobs: Jobs, processors: float, *, confidence: float = 0.95
) -> MalleableRun:
    """Simulate a malleable policy, event by event, until every job has left.

    Parameters
    ----------
    policy : AbstractMalleable
        Who gets how many processors.
    jobs : Jobs
        Of all replications.
    processors : float
        Of the machine.
    confidence : float
        Coverage of the interval of the mean, over replications.

    Returns
    -------
    MalleableRun
        Response times of every job, and their mean.

    Raises
    ------
    ModelError
        If a policy gives more processors than there are, or none to anybody for good.

    Notes
    -----
    The first fifth and the last twentieth of the jobs are not measured.

    Examples
    --------
    Two jobs at once on one processor that divide it equally:

    >>> from validation.malleable.policies.equal_shares import EqualShares
    >>> from validation.malleable.jobs import power
    >>> start, work = np.zeros((1, 2)), np.array([[[1.0], [3.0]]])
    >>> two = Jobs(start, work, np.zeros((1, 2, 1), int), (power(1.0),), start + 1.0)
    >>> simulate_jobs(EqualShares(), two, 1.0).response
    array([[2., 4.]])
    """
    processors = real_number("processors", processors, above=0.0)
    r, count = jobs.arrival.shape
    rows = np.arange(r)
    state = _Places(r, 8)
    now, coming, done = np.zeros(r), np.zeros(r, np.int64), np.zeros(r, np.int64)
    response = np.full((r, count), np.nan)
    while (done < count).any():
        system = InSystem(
            processors, state.here, state.job, state.left(), state.curve, state.need, jobs.curves
        )
        shares = np.where(state.here, policy.shares(system), 0.0)
        if (shares < 0.0).any() or (shares.sum(axis=1) > processors * (1.0 + 1e-9)).any():
            raise ModelError(
                f"{policy.label} gives out more than the {processors:g} processors, or less than none"
            )
        speed = _speeds(jobs, state, shares)
        with np.errstate(divide="ignore"):
            lasts = np.where(speed > 0.0, state.phase_left / np.where(speed > 0.0, speed, 1.0), np.inf)
        ends = lasts.min(axis=1)
        arrives = np.where(coming < count, jobs.arrival[rows, np.minimum(coming, count - 1)] - now, np.inf)
        step = np.minimum(ends, arrives)
        if not np.isfinite(step[done < count]).all():
            raise ModelError(f"{policy.label} serves nobody though jobs are there")
        step = np.where(done < count, step, 0.0)
        now += step
        state.phase_left -= speed * step[:, None]
        over = state.here & (lasts <= step[:, None] * (1.0 + _NONE)) & (speed > 0.0)
        over &= (done < count)[:, None]
        for at, job in state.finish(over, jobs):
            response[at, job] = now[at] - jobs.arrival[at, job]
            np.add.at(done, at, 1)
        new = np.flatnonzero((arrives <= ends) & (coming < count))
        if new.size:
            now[new] = jobs.arrival[new, coming[new]]
            state.add(new, coming[new], jobs)
            coming[new] += 1
    inside = slice(int(WARM_UP * count), max(count - int(COOL_DOWN * count), 1))
    means = response[:, inside].mean(axis=1)
    return MalleableRun(policy.label, estimate(means, confidence=confidence), tuple(means.tolist()), response)


class _Places:
    """Places for the jobs in the system, as many as any replication ever needs."""

    def __init__(self, replications: int, places: int) -> None:
        self.here = np.zeros((replications, places), np.bool_)
        self.job = np.zeros((replications, places), np.int64)
        self.phase = np.zeros((replications, places), np.int64)
        self.curve = np.zeros((replications, places), np.int64)
        self.phase_left = np.zeros((replications, places))
        self.later = np.zeros((replications, places))  #: work of the phases behind this one
        self.need = np.ones((replications, places))

    def left(self) -> Array:
        """Return the work that each job still asks for."""
        return np.asarray(self.phase_left + self.later)

    def add(self, at: Ints, job: Ints, jobs: Jobs) -> None:
        """Let jobs in, one in each of some replications."""
        if self.here[at].all(axis=1).any():
            for name, value in vars(self).items():
                setattr(self, name, np.concatenate([value, np.zeros_like(value)], axis=1))
        place = np.argmin(self.here[at], axis=1)
        self.here[at, place] = True
        self.job[at, place], self.phase[at, place] = job, -1
        self.need[at, place] = jobs.need[at, job]
        self.later[at, place] = jobs.work[at, job].sum(axis=1)
        self._next(at, place, jobs)

    def _next(self, at: Ints, place: Ints, jobs: Jobs) -> None:
        """Begin the next phase that has work; nothing where there is none left."""
        while at.size:
            self.phase[at, place] += 1
            job, phase = self.job[at, place], self.phase[at, place]
            work = jobs.work[at, job, phase]
            self.phase_left[at, place] = work
            self.later[at, place] = (
                jobs.work[at, job].sum(axis=1)
                - np.cumsum(jobs.work[at, job], axis=1)[np.arange(at.size), phase]
            )
            self.curve[at, place] = jobs.curve[at, job, phase]
            empty = (work <= 0.0) & (phase + 1 < jobs.work.shape[2])
            at, place = at[empty], place[empty]

    def finish(self, over: NDArray[np.bool_], jobs: Jobs) -> list[tuple[Ints, Ints]]:
        """End phases; return the jobs that leave, as numbers of replications and jobs."""
        at, place = np.nonzero(over)
        if not at.size:
            return []
        job, phase = self.job[at, place], self.phase[at, place]
        behind = np.cumsum(jobs.work[at, job][:, ::-1], axis=1)[:, ::-1]
        last = (phase + 1 >= jobs.work.shape[2]) | (
            behind[np.arange(at.size), np.minimum(phase + 1, behind.shape[1] - 1)] <= 0.0
        )
        self._next(at[~last], place[~last], jobs)
        gone, where = at[last], place[last]
        self.here[gone, where] = False
        self.phase_left[gone, where] = self.later[gone, where] = 0.0
        return [(gone, job[last])] if gone.size else []


def _speeds(jobs: Jobs, state: _Places, shares: Array) -> Array:
    """Work per second of each job on its processors."""
    speed = np.where(state.here & (state.curve == RIGID) & (shares >= state.need), 1.0, 0.0)
    for number, curve in enumerate(jobs.curves):
        follows = state.here & (state.curve == number)
        speed[follows] = curve(shares[follows])
    return speed
