"""The law of the time that a checkpoint keeps a job from working, where one is known."""

from __future__ import annotations

import math
from typing import Final, Protocol

import numpy as np
from scipy.linalg import expm

from phasefit import PhaseType
from qmodels.checkpoints.dilation import away_and_alone
from qmodels.checkpoints.model import EqualJobs, of_mean
from qmodels.checkpoints.starts import from_start
from qmodels.errors import MemoryBudgetError, ModelError
from qmodels.networks import ClosedNetwork
from qmodels.networks.product_form import machine_repair

#: Orders of the Erlang laws from which constant transfers are extrapolated: the first pair whose
#: networks have not too many states, else the last.
_ORDERS: Final = ((8, 16), (4, 8), (3, 4))
#: States of a network beyond which it is not worth its time.
MOST_STATES: Final = 20_000


class StallLaw(Protocol):
    """Law of a stall, as far as it is asked for quantiles and the mean."""

    @property
    def mean(self) -> float:
        """Mean, seconds."""

    def ppf(self, q: float) -> float:
        """Time that a share of the checkpoints do not exceed as stalls, seconds."""


class _EqualValues:
    """Equally frequent values."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = np.sort(values)
        self.mean = float(values.mean())

    def ppf(self, q: float) -> float:
        """See `StallLaw.ppf`."""
        at = math.ceil(q * len(self.values) * (1.0 - 1e-12)) - 1
        return float(self.values[max(at, 0)])


class _ExtrapolatedLaw:
    """Constant services as Erlang laws of a growing order, whose quantities run like 1 / order."""

    def __init__(self, few: StallLaw, many: StallLaw, orders: tuple[int, int]) -> None:
        self.few, self.many = few, many
        self.share = orders[0] / (orders[1] - orders[0])

    @property
    def mean(self) -> float:
        """See `StallLaw.mean`."""
        return self._beyond(self.few.mean, self.many.mean)

    def ppf(self, q: float) -> float:
        """See `StallLaw.ppf`."""
        return self._beyond(float(self.few.ppf(q)), float(self.many.ppf(q)))

    def _beyond(self, few: float, many: float) -> float:
        return many + (many - few) * self.share


class _SharedLaw:
    """Constant transfers that share: those that meet nobody, and for the others an extrapolation.

    Whoever finds so few others that nobody is slowed, and is joined by no more meanwhile, is done
    after the transfer's own time. An arrival sees the others as if it were not there; they leave
    about as often as if their transfers were exponential, and if one alone fills the storage that
    does not matter. What the others take beyond their own time follows the extrapolated law,
    scaled so that the mean is right.
    """

    def __init__(self, law: StallLaw, network: ClosedNetwork, own: float, mean: float) -> None:
        self.law, self.own, self.mean = law, own, mean
        others, away = network.population - 1, network.delay.mean
        few = np.arange(min(network.servers, others + 1))
        joins, ends = (others - few) / away, few / self.own
        rates = np.diag(joins[:-1], 1) + np.diag(ends[1:], -1) - np.diag(joins + ends)
        seen = machine_repair(away, self.own, others, network.servers)[: few.size]
        self.alone = float((seen @ expm(rates * self.own)).sum())
        nodes, weights = np.polynomial.legendre.leggauss(20)
        left = 0.5 * (1.0 - nodes)  # denser towards the longest
        levels = 1.0 - (1.0 - self.alone) * left**2
        beyond = [max(0.0, law.ppf(float(q)) - self.own) for q in levels]
        extra = float((1.0 - self.alone) * weights @ (left * beyond))
        self.scale = (self.mean - self.own) / extra if extra > 0.0 else 0.0

    def ppf(self, q: float) -> float:
        """See `StallLaw.ppf`."""
        if q <= self.alone:
            return self.own
        return self.own + self.scale * max(0.0, self.law.ppf(q) - self.own)


def mean_in_turns(jobs: EqualJobs) -> tuple[float, bool] | None:
    """Return the mean seconds from request to the end of a write under turns, and if that is exact.

    Of the closed network of phase-type intervals and transfers. None where failures, other laws,
    another order or too many states leave it unknown.

    Parameters
    ----------
    jobs : EqualJobs
        The jobs and their storage.
    """
    if not (jobs.work_or_write and isinstance(jobs.job.jitter, PhaseType) and jobs.in_turns):
        return None
    networks, orders = _networks(jobs)
    if _state_count(networks) > MOST_STATES:
        return None
    return _sojourn_law(networks, orders).mean, jobs.job.size_law is not None


def stall_law(jobs: EqualJobs, mean: float) -> StallLaw:
    """Return the law of the stall, or an approximation of it.

    Parameters
    ----------
    jobs : EqualJobs
        The jobs and their storage.
    mean : float
        Predicted mean, seconds; a law that is only approximate may have another.

    Raises
    ------
    ModelError
        If none is known.
    """
    followed = from_start(jobs)
    if followed is not None and followed.stalls is not None:
        return _EqualValues(followed.stalls)
    job, turns, alone = jobs.job, jobs.in_turns, jobs.write
    constant, wait = jobs.constant and jobs.never_fail, not jobs.apart
    if job.mode == "asynchronous" or job.timer == "clock" or (constant and wait):
        raise ModelError(
            f"no law of the stall is known for mode {job.mode!r} with timer {job.timer!r}, "
            f"intervals and transfers that are {'constant' if constant else 'as given'}; simulate it "
            f"with validation.simulate_checkpoints"
        )
    if job.size_law is None and (not wait or (turns and job.mode == "waiting-works")):
        return _EqualValues(np.array([alone]))
    if turns and job.mode == "waiting-works":
        assert job.size_law is not None
        return _law_if_spared(of_mean(job.size_law, alone), job.failure_rate)
    if not (jobs.share and float(jobs.storage.full_at).is_integer()) and not turns:
        raise ModelError(
            "no law of the stall is known where transfers wait and share, or where the "
            "bandwidth is no whole multiple of a job's; simulate it with "
            "validation.simulate_checkpoints"
        )
    if job.size_law is None and not jobs.share:
        raise ModelError(
            "no law of the stall is known for constant transfers that take turns; simulate it "
            "with validation.simulate_checkpoints"
        )
    networks, orders = _networks(jobs)
    law = _sojourn_law(networks, orders)
    return law if job.size_law is not None else _SharedLaw(law, networks[0], alone, mean)


def _law_if_spared(law: PhaseType, rate: float) -> PhaseType:
    """A time, given that no failure of this rate came before its end."""
    if rate == 0.0:
        return law
    ends = -law.T.sum(axis=1)
    good = np.linalg.solve(rate * np.eye(law.order) - law.T, ends)  # chance to end, by phase
    T = (law.T - rate * np.eye(law.order)) * good[None, :] / good[:, None]
    return PhaseType(law.alpha * good / float(law.alpha @ good), T)


def _networks(jobs: EqualJobs) -> tuple[list[ClosedNetwork], tuple[int, int]]:
    """The closed network around the storage; of constant transfers one for each of two orders."""
    job = jobs.job
    away, alone = (job.interval, jobs.write) if jobs.never_fail else away_and_alone(jobs)
    delay = PhaseType.exponential(mean=away)
    if isinstance(job.jitter, PhaseType) and jobs.never_fail:
        delay = of_mean(job.jitter, job.interval)

    def network(disk: PhaseType) -> ClosedNetwork:
        return ClosedNetwork(
            jobs.number,
            delay=delay,
            disk=disk,
            discipline="ps" if jobs.share else "fcfs",
            servers=int(jobs.storage.full_at) if jobs.share else jobs.admitted,
        )

    if job.size_law is not None:
        return [network(of_mean(job.size_law, alone))], (1, 1)
    for orders in _ORDERS:
        networks = [network(PhaseType.erlang(phases=order, mean=alone)) for order in orders]
        if _state_count(networks) <= MOST_STATES:
            break
    return networks, orders


def _state_count(networks: list[ClosedNetwork]) -> float:
    try:
        return max(network.states for network in networks)
    except MemoryBudgetError:
        return math.inf


def _sojourn_law(networks: list[ClosedNetwork], orders: tuple[int, int]) -> StallLaw:
    laws = [network.solve().sojourn for network in networks]
    return laws[0] if len(laws) == 1 else _ExtrapolatedLaw(laws[0], laws[1], orders)
