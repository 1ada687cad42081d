"""Many jobs and failures: how much longer a transfer takes because others transfer too."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from phasefit import PhaseType
from phasefit.arrays import Array
from qmodels.checkpoints.intervals import (
    kept_work,
    kept_write,
    log_survived,
    log_write_survived,
    overrun,
    size_share,
    timer_share,
)
from qmodels.checkpoints.model import Checkpointing, EqualJobs
from qmodels.errors import ConvergenceError
from qmodels.networks.product_form import repair_law

#: A fixed point is reached when a step changes times by less than this share of a transfer.
#: A storage that is just full lets the last ones shrink without end: half of all steps are enough there.
_SETTLED, _NEARLY, _STEPS, _STEP = 1e-10, 1e-8, 20_000, 0.3
#: Steps after which the rest of the way is guessed from the last two, and again after so many.
_PATIENCE, _AGAIN = 2_000, 20
_LARGE = 300.0  #: exponents above this mean that no interval is ever survived


@dataclass(frozen=True)
class Dilation:
    """The fixed point: seconds that a transfer waits, and by how much sharing stretches it."""

    goodput: float  #: share of kept work in the time
    wait: float  #: mean seconds before a transfer is admitted
    stretch: float  #: mean time of an admitted transfer over its time alone, >= 1
    utilisation: float  #: used share of the bandwidth
    admitted_load: float  #: used share of what the admitted transfers can use
    write: float  #: mean seconds of a write that failures spare, from its request on
    stall: float  #: mean seconds that a checkpoint keeps the job from working


def dilation(jobs: EqualJobs) -> Dilation:
    """Return the goodput of equal jobs with failures, approximate.

    Parameters
    ----------
    jobs : EqualJobs
        The jobs and their storage.

    Raises
    ------
    ConvergenceError
        If the fixed point is not reached.

    Notes
    -----
    A job by itself is a renewal process: closed forms give its time per kept interval, the time
    that it spends in transfers, and the number of its transfers, as functions of a transfer's
    length. The closed network of such jobs around the storage gives that length, by the
    machine-repair model with the mean times away and in transfer. The two are solved together.
    Transfers whose sizes vary are spared by failures as the transform of their law says, however
    much longer sharing makes them; those that are spared are shorter than the mean.

    Waiting for admission is less than that model says. Where transfers are not exponential, it
    is scaled by what services of their law save at one server as fast as the storage, which is
    known exactly [1]_. And where intervals and transfers hardly vary, only restores come at a
    random moment: a checkpoint meets, one interval later, the neighbours that it met before, and
    stands in file with them. Of a share ``r`` of random arrivals, pairs of which one is random
    make up ``1 - (1 - r)^2``; intervals and transfers that vary bring back their shares
    (`timer_share`, `size_share`). Only so much remains of the wait beyond what a full storage
    forces on everybody. An asynchronous job, and a clock, keep their period when they wait, so
    that no file forms.

    References
    ----------
    .. [1] L. Takacs, *Introduction to the Theory of Queues*, Oxford 1962, ch. 5: the machine
       interference problem with general repairs.
    """
    (job, storage, number), write = jobs, jobs.write
    single = _Renewal(job, write, jobs.read)
    full, writers = storage.full_at, jobs.admitted
    most = min(full, float(writers))
    wait, stretch = 0.0, 1.0
    before, part = np.zeros(2), np.full(2, _STEP)
    for count in range(_STEPS):
        visit = single.visits(wait, stretch)
        if visit is None:
            return Dilation(0.0, wait, stretch, 1.0, 1.0, *single.of_writes(wait, stretch))
        waits, moves = _wait_and_stretch(number, visit.away, visit.alone, full, writers)
        if writers < number:
            service, cycle = visit.alone / min(full, float(writers)), visit.away + moves
            waits *= _law_of_wait(number, cycle - service, service, job.size_law)
            if job.mode != "asynchronous" and job.timer == "work":
                forced = max(0.0, number * service - cycle)
                timer = timer_share(job, service, number * service / cycle)
                kept = (1.0 - visit.reads) ** 2 * (1.0 - timer) * (1.0 - size_share(job))
                waits = forced + (1.0 - kept) * max(waits - forced, 0.0)
        hit = min(job.failure_rate * waits, 1.0 - 1e-12)
        target = waits if math.isinf(job.mtbf) else -job.mtbf * math.log1p(-hit)
        off = abs(target - wait) + abs(moves / visit.alone - stretch) * write
        gaps = np.array([target - wait, moves / visit.alone - stretch])
        ratios = np.divide(gaps, before, out=np.zeros(2), where=before != 0.0)
        # Where waits are as long as the time between failures, whole steps lead past the end and back.
        if count > _PATIENCE:
            part = np.where(ratios < 0.0, 0.5 * part, part)
        steps = part * gaps
        # At a storage that is just full, steps shrink slowly: go on as their geometric series.
        if count > _PATIENCE and count % _AGAIN == 0:
            steps = np.divide(steps, 1.0 - ratios, out=steps, where=(ratios > 0.0) & (ratios < 1.0))
            gaps = np.zeros(2)
        before = gaps
        wait, stretch = wait + float(steps[0]), stretch + float(steps[1])
        if off <= (_SETTLED if count < _STEPS // 2 else _NEARLY) * (write + wait):
            used = min(most, number * visit.alone / (visit.away + waits + moves))
            return Dilation(
                single.goodput(wait, stretch),
                wait,
                stretch,
                used / full,
                used / most,
                *single.of_writes(wait, stretch),
            )
    raise ConvergenceError(
        f"the time of a transfer among {number} jobs", _STEPS, off, np.array([wait, stretch])
    )


def away_and_alone(jobs: EqualJobs) -> tuple[float, float]:
    """Return the mean seconds between transfers, and of a transfer at full speed, when jobs share.

    Parameters
    ----------
    jobs : EqualJobs
        The jobs and their storage.
    """
    single = _Renewal(jobs.job, jobs.write, jobs.read)
    solution = dilation(jobs) if jobs.number > 1 else None
    visit = single.visits(solution.wait, solution.stretch) if solution else single.visits(0.0, 1.0)
    return (visit.away, visit.alone) if visit else (1e-9 * jobs.job.interval, single.write)


@dataclass(frozen=True)
class _Visits:
    """Needs of a job for the closed network: per transfer, in seconds."""

    away: float
    alone: float  #: bandwidth used, as time alone at full speed, aborted transfers included
    reads: float  #: share of transfers that are restores


class _Renewal:
    """A job between two kept states, in closed form."""

    def __init__(self, job: Checkpointing, write: float, read: float) -> None:
        self.job, self.write, self.read = job, write, read
        self.spared = log_survived(job, job.failure_rate)
        self.work = kept_work(job, job.failure_rate)

    def _cycle_means(self, wait: float, stretch: float, saved: float) -> tuple[float, float, float]:
        """Work kept of a cycle, its mean length, and the logarithm of its chance to be spared.

        `saved` is that of its write and of the wait for it.
        """
        job, held = self.job, stretch * self.write
        if job.mode == "asynchronous":
            beside = self.overrun(wait, held) + job.snapshot
            worked, still = 0.0, beside
        elif job.mode == "waiting-works":
            worked, still = wait, held
        else:
            worked, still = 0.0, wait + held
        work, length = self.work + worked, job.interval + worked + still
        if job.timer == "clock":
            # The cycle ends at a multiple of the interval: the first one, or, after a longer
            # time still, one that comes half an interval later in the mean.
            over = max(0.0, (still + worked) / job.interval - 1.0)
            length = max(job.interval, still + worked) + 0.5 * job.interval * min(1.0, over)
            work = max(length - still, 0.0)
            return work, length, -job.failure_rate * length
        if job.mode == "asynchronous":
            return work, length, self.spared - job.failure_rate * still
        return work, length, self.spared + saved

    def _survived(self, transfer: float) -> float:
        """Logarithm of the chance that failures spare a transfer of this mean."""
        return log_write_survived(self.job, self.job.failure_rate * transfer)

    def of_writes(self, wait: float, stretch: float) -> tuple[float, float]:
        """Mean time of a write that failures spare, and that it keeps the job from working, seconds."""
        held = stretch * self.write
        kept = kept_write(self.job, held)
        if self.job.mode == "asynchronous":
            return wait + kept, self.job.snapshot + self.overrun(wait, held)
        return wait + kept, kept if self.job.mode == "waiting-works" else wait + kept

    def overrun(self, wait: float, held: float) -> float:
        """Mean time for which a job stands still because its last write is not done yet."""
        of_size = 0.0 if self.job.size_law is None else self.job.size_law.scv * self.write**2
        extra = max(0.0, wait + held - self.write)  # what others add, about exponential
        return overrun(self.job, wait + held, math.sqrt(of_size + extra * extra))

    def goodput(self, wait: float, stretch: float) -> float:
        job, hits = self.job, self.job.failure_rate * wait
        saved = self._survived(stretch * self.write) - hits
        work, length, spared = self._cycle_means(wait, stretch, saved)
        if math.isinf(job.mtbf):
            return work / length
        restore = hits - self._survived(stretch * self.read)
        if restore > _LARGE or spared < -_LARGE:
            return 0.0
        segment = math.expm1(-spared) * math.exp(restore) * (job.downtime + job.mtbf)
        return work * (math.exp(saved) if job.mode == "asynchronous" else 1.0) / segment

    def visits(self, wait: float, stretch: float) -> _Visits | None:
        """Means per transfer; None where no interval is ever survived."""
        job, hits = self.job, self.job.failure_rate * wait
        write_kept = self._survived(stretch * self.write)
        saved = write_kept - hits
        _, length, spared = self._cycle_means(wait, stretch, saved)
        if math.isinf(job.mtbf):
            away = length - wait - stretch * self.write
            return _Visits(max(away, 1e-9 * job.interval), self.write, 0.0)
        mtbf = job.mtbf
        read_kept = self._survived(stretch * self.read)
        restored = read_kept - hits
        if spared < -_LARGE or min(saved, restored) < -_LARGE:
            return None
        failed = math.expm1(-spared)
        segment = failed * math.exp(-restored) * (job.downtime + mtbf)
        # Writes begun per kept interval, and restores; a write is begun behind the work only
        # after a cycle that was survived.
        writes = 1.0 if job.mode == "asynchronous" else math.exp(-saved)
        reads = failed * math.exp(-restored)
        waiting = -mtbf * math.expm1(-hits)
        ended = writes * math.expm1(write_kept) + reads * math.expm1(read_kept)
        moving = -math.exp(-hits) * mtbf * ended / (writes + reads)
        away = segment / (writes + reads) - waiting - moving
        return _Visits(max(away, 1e-9 * job.interval), moving / stretch, reads / (writes + reads))


def _wait_and_stretch(jobs: int, away: float, alone: float, full: float, writers: int) -> tuple[float, float]:
    """Mean wait and mean time admitted of a transfer in a closed network.

    Exponential times, transfers admitted in order of request; `i` transfers at work take
    bandwidth as ``min(i, full)`` alone would, with `full` not necessarily whole.
    """
    most = min(full, float(writers))
    served, behind, admitted = _who_is_where(jobs, most, writers)
    p = repair_law(away, alone, jobs, most)
    rate = float(p @ served) / alone
    return float(p @ behind) / rate, float(p @ admitted) / rate


@lru_cache(maxsize=4)  # every step of the fixed point asks for the same
def _who_is_where(jobs: int, most: float, writers: int) -> tuple[Array, Array, Array]:
    """Of 0, 1, ..., `jobs` transfers: served at full speed, waiting, and admitted."""
    at = np.arange(jobs + 1)
    return np.minimum(at, most), np.maximum(at - writers, 0), np.minimum(at, writers)


def _law_of_wait(jobs: int, away: float, alone: float, law: PhaseType | None) -> float:
    """Mean wait of services of a law, or constant ones, over that of exponential ones.

    At one server, to which `jobs` come back after exponential times. A busy period serves
    ``sum_j C(n - 1, j) prod_{i <= j} (1 / phi(i / away) - 1)`` of them, ``phi`` the transform of
    a service.
    """
    if law is not None and law.order == 1:
        return 1.0
    i, choose = _who_comes_back(jobs)
    x = i * (alone / max(away, 1e-9 * alone))

    def wait(factors: Array) -> float:
        served = np.zeros(jobs)
        np.add(choose, factors.cumsum(), out=served[1:])
        top = served.max()
        # Seconds of a cycle per job served: a busy period and the idle time before it.
        cycle = alone + away / jobs * math.exp(-top) / float(np.exp(served - top).sum())
        return jobs * cycle - away - alone

    of_law, exponential = wait(_log_odds(x, law)), wait(np.log(x))
    if exponential > 1e-12 * alone:
        return max(of_law, 0.0) / exponential
    return 0.5 if law is None else 0.5 * (1.0 + law.scv)


@lru_cache(maxsize=4)
def _who_comes_back(jobs: int) -> tuple[Array, Array]:
    """The numbers 1, ..., `jobs` - 1, and the logarithms of C(jobs - 1, j)."""
    i = np.arange(1, jobs, dtype=np.float64)
    return i, np.cumsum(np.log((jobs - i) / i))


def _log_odds(x: Array, law: PhaseType | None) -> Array:
    """``log(1 / phi(x) - 1)`` for the transform of a law of mean one, without overflow."""
    if law is None:
        return np.asarray(x + np.log(-np.expm1(-x)))
    s = x / law.mean
    # The transform itself, for one less what is near one leaves nothing where `x` is large.
    sides = np.stack([np.ones(law.order), -law.T.sum(axis=1)], axis=1)
    still, ended = (law.alpha @ np.linalg.solve(s[:, None, None] * np.eye(law.order) - law.T, sides)).T
    return np.asarray(np.log(s * still) - np.log(ended))
