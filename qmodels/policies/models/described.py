"""Policies whose jobs are those of a log: times of jobs like these, by the description of the log."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike

from phasefit import MAP, PhaseType, match_moments
from phasefit.arrays import Array
from phasefit.records import Law, Record
from qmodels.errors import ModelError
from qmodels.networks.histories import DESCRIPTIONS, Choice, chosen_description, history_of
from qmodels.networks.replay import replayed
from qmodels.policies.models.base import SolvedQueue
from qmodels.policies.models.fitted import is_all_of_the_job, queue_alike
from qmodels.policies.system import Workload


@dataclass(frozen=True, eq=False)
class DrawnTimes(Law):
    """Law of times that jobs drawn from a log had, each as likely as the others.

    Examples
    --------
    >>> law = DrawnTimes(np.array([1.0, 2.0, 6.0]))
    >>> law.mean, float(law.ppf(0.5)), float(law.sf(2.0))
    (3.0, 2.0, 0.33333333333333337)
    """

    times: Array  #: seconds, in rising order

    @property
    def mean(self) -> float:
        """Mean in seconds."""
        return float(self.times.mean())

    @property
    def std(self) -> float:
        """Standard deviation in seconds."""
        return float(self.times.std())

    @property
    def scv(self) -> float:
        """Squared coefficient of variation; 0 where no job waits."""
        return (self.std / self.mean) ** 2 if self.mean > 0.0 else 0.0

    def moment(self, k: int) -> float:
        """Raw moment E[X^k] in seconds^k."""
        return float((self.times**k).mean())

    def cdf(self, x: ArrayLike) -> Array:
        """P(X <= x) at `x` (seconds)."""
        return np.asarray(np.searchsorted(self.times, x, side="right") / self.times.size)

    def sf(self, x: ArrayLike) -> Array:
        """P(X > x) at `x` (seconds)."""
        return 1.0 - self.cdf(x)

    def ppf(self, q: ArrayLike) -> Array:
        """Seconds that a share `q` does not exceed."""
        return np.asarray(np.quantile(self.times, np.asarray(q, dtype=float), method="hazen"))


@dataclass(frozen=True, eq=False)
class DescribedTimes(Record):
    """Times of jobs like those of a log under a policy, and how the log was described."""

    choice: Choice
    wait: DrawnTimes  #: from arrival to start
    response: DrawnTimes  #: from arrival to departure

    @cached_property
    def means(self) -> tuple[float, float]:
        """Mean wait and mean response, seconds."""
        return self.wait.mean, self.response.mean


def choice_of(workload: Workload) -> Choice | None:
    """Return the description of the log that a workload was fitted to; None where there is none.

    Parameters
    ----------
    workload : Workload
        One whose `description` names another gets that.

    Raises
    ------
    ModelError
        If days of a log are asked for that has too few.
    """
    history = None if workload.has_bursts else history_of(workload.arrivals, workload.demand)
    if history is None:
        return None
    if workload.description == "days" and not history.block_days:
        raise ModelError(
            f"a log of {history.times[-1] / 86_400.0:.3g} days has too few to put them in random order; it "
            f'takes eight: use description "auto" or "sessions", or a longer part of the log'
        )
    if workload.description == "auto":
        return chosen_description(workload.arrivals, workload.demand)
    return Choice(workload.description, {})


def arrivals_at(workload: Workload, load: float) -> PhaseType | MAP:
    """Return the arrivals of a workload at a load of a policy's capacity, of the same mean.

    Parameters
    ----------
    workload : Workload
    load : float
        Between 0 and 1.
    """
    choice = choice_of(workload)
    if choice is None or choice.name != "dispersion":
        return workload.arrivals
    history = history_of(workload.arrivals, workload.demand)
    assert history is not None
    mean = workload.arrivals.mean
    law = match_moments(mean, (1.0 + history.arrival_scv(load)) * mean**2)
    return law._with_origin(workload.arrivals.fitted_to)


def described_as(solved: SolvedQueue) -> str:
    """Return what the jobs of a log are taken for in a queue, and why; "" where laws were given.

    Parameters
    ----------
    solved : SolvedQueue
    """
    choice = choice_of(solved.workload)
    if choice is None:
        return ""
    if choice.name in ("sessions", "days") and described_times(solved) is None:
        return f"{DESCRIPTIONS['independent']} (jobs of a mix, or of too large a chain, are not drawn)"
    return str(choice)


@lru_cache(maxsize=4)
def described_times(solved: SolvedQueue) -> DescribedTimes | None:
    """Return the times of jobs like the log's in a queue; None where its laws say them.

    Parameters
    ----------
    solved : SolvedQueue

    Notes
    -----
    Histories drawn by the description are played through a queue in which each of k running jobs
    gets on at the speed v(k) of the policy. Where the model is another than that queue, its answer
    is multiplied by what the description changes in the queue.
    """
    choice = choice_of(solved.workload)
    if choice is None or choice.name not in ("sessions", "days") or not is_all_of_the_job(solved):
        return None
    history = history_of(solved.workload.arrivals, solved.workload.demand)
    alike = queue_alike(solved)
    if history is None or alike is None:
        return None
    speeds, wait, response = alike
    per_gap = solved.queue.arrivals.mean / history.gaps.mean()
    times = [
        replayed(gaps * per_gap, work / history.work.mean(), speeds)
        for gaps, work in history.drawn(choice.name)
    ]
    waits, stays = (np.sort(np.concatenate([pair[i] for pair in times])) for i in (0, 1))
    if wait is not None and response is not None:
        rate = solved.queue.arrival_rate
        waits *= solved.chain.mean_excess() / rate / wait if wait > 0.0 else 1.0
        stays *= solved.chain.mean_level() / rate / response
    return DescribedTimes(choice, DrawnTimes(waits), DrawnTimes(stays))
