"""The face: goodput and stalls of jobs that checkpoint to one storage, and what follows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from phasefit import PhaseType
from phasefit.checks import one_of, share, whole_number
from phasefit.records import Drawing, Result, data_frame
from qmodels.checkpoints.chain import has_chain, solve_checkpoints
from qmodels.checkpoints.dilation import away_and_alone, dilation
from qmodels.checkpoints.formulas import goodput_alone, goodput_behind
from qmodels.checkpoints.model import Checkpointing, EqualJobs, Storage
from qmodels.checkpoints.stalls import mean_in_turns, stall_law
from qmodels.checkpoints.starts import FromStart, from_start, range_of_starts

if TYPE_CHECKING:
    import pandas as pd

    from qmodels.checkpoints.stalls import StallLaw

EXACT_ALONE: Final = "exact (closed form)"
EXACT_SHARED: Final = "exact (product form)"
EXACT_CHAIN: Final = "exact (chain)"
APPROXIMATE: Final = "approximate"
BY_START: Final = "depends on the start"
MODELS: Final = ("auto", "dilation")

#: Relative error of the goodput of "approximate", from simulations of 200 random systems: below and
#: from `_BUSY` of the admitted load on. The larger one where failures often hit a transfer, or sizes of
#: writes behind the work vary more than exponential ones, as 150 other systems showed. Where failures
#: often hit a write behind the work, only the order of magnitude is known.
_ERROR, _ERROR_BUSY, _BUSY = 0.025, 0.08, 0.85
#: Relative error of the wait for turns that is extrapolated from Erlang laws of the transfers.
_ERROR_STAGES = 0.01
#: Failures in the mean time of a transfer above which they shape who meets whom.
_OFTEN = 0.2
_SLOWLY_FORGET = (
    "constant timers that begin together may stay so where failures are rare, and fare as the low end says"
)
_NEVER_FORGET = "constant timers never forget how the jobs began: another start gives another mean"


@dataclass(frozen=True)
class CheckpointPrediction(Result):
    """Cost of checkpoints; times in seconds.

    Where `method` is "depends on the start", constant timers never forget how the jobs began:
    `goodput` is the approximate mean over random starts, `low` and `high` are what starting all
    together and spread evenly give. Of a start that is known, `Checkpointing.stagger`, the answer
    is exact wherever jobs stay in step.
    """

    drawing = Drawing("", ("goodput", "low", "high", "utilisation"))

    job: Checkpointing  #: each of them
    storage: Storage  #: where they write
    jobs: int  #: number that share it
    goodput: float  #: share of the jobs' time that is work kept
    low: float  #: least goodput that the method leaves possible
    high: float  #: and largest
    write: float  #: from request to completion of a checkpoint, mean
    stall: float  #: time that a checkpoint keeps the job from working, mean
    utilisation: float  #: used share of the bandwidth
    method: str  #: "exact (...)", "approximate" or "depends on the start"
    notes: tuple[str, ...] = field(default=())  #: what the method leaves out, in words

    @property
    def lost(self) -> float:
        """Share of time without work that is kept: ``1 - goodput``."""
        return 1.0 - self.goodput

    def percentile(self, q: float) -> float:
        """Return the stall, seconds, that a share `q` of the checkpoints do not exceed.

        Parameters
        ----------
        q : float
            Between 0 and 1, such as 0.95.

        Returns
        -------
        float
            Exact where intervals and transfers are phase-type and nothing fails, where no
            transfer meets another, and for constant times of a known start. With constant
            transfers under sharing it is exact where nobody is met, and beyond that extrapolated
            from Erlang laws of growing order: within 20 % of simulations of up to 12 jobs, within
            25 % of 16 that keep the storage full. Of a law whose mean is another than `stall`,
            with failures, it is that law's, scaled to the mean.

        Raises
        ------
        ModelError
            If no law of the stall is known: simulate it with `validation.simulate_checkpoints`.

        Examples
        --------
        >>> law = PhaseType.exponential(mean=1.0)
        >>> job = Checkpointing(1.0, interval=10.0, jitter=law, size_law=law)
        >>> round(predict_checkpoints(job, Storage(1.0), jobs=8).percentile(0.95), 6)
        6.995074
        """
        level = share("q", q, zero=False, one=False)
        if self.stall == 0.0:
            return 0.0
        law = self._stall_law
        return float(law.ppf(level)) * self.stall / law.mean

    @cached_property
    def _stall_law(self) -> StallLaw:
        return stall_law(EqualJobs(self.job, self.storage, self.jobs), self.stall)

    def table(self) -> str:
        """Return the prediction as lines of text."""
        rows = self._quantities()
        return "\n".join(f"{name:<14}{value}" for name, value in rows.items())

    def record(self) -> dict[str, Any]:
        """Return the job, the storage and the prediction; times in seconds."""
        return self._quantities() | {"job": self.job, "storage": self.storage, "notes": self.notes}

    def _quantities(self) -> dict[str, Any]:
        """Numbers and method, for a table or JSON."""
        return {
            "jobs": self.jobs,
            "mode": self.job.mode,
            "interval": self.job.interval,
            **self._by_name("goodput", "low", "high", "write", "stall", "utilisation", "method"),
        }

    def to_frame(self) -> pd.DataFrame:
        """Return one row of `to_dict`."""
        return data_frame([self._quantities()])


def predict_checkpoints(
    job: Checkpointing, storage: Storage, jobs: int = 1, *, model: str = "auto"
) -> CheckpointPrediction:
    """Return goodput, stalls and use of the storage by equal jobs.

    Parameters
    ----------
    job : Checkpointing
        What each of them does.
    storage : Storage
        Where they write.
    jobs : int
        How many share it.
    model : {"auto", "dilation"}
        ``auto`` takes an exact answer where there is one; ``dilation`` is the approximation for
        many jobs with failures.

    Returns
    -------
    CheckpointPrediction
        Means, and how they were computed.

    Raises
    ------
    ModelError
        If an argument is out of its range.

    References
    ----------
    .. [1] Young 1974.
    .. [2] Daly 2006.

    Examples
    --------
    Sixteen training jobs at one file system, alone and together:

    >>> job = Checkpointing(5.29e12, interval=6689.0, mtbf=89081.0, downtime=600.0)
    >>> alone, many = (predict_checkpoints(job, Storage(20e9), jobs=n) for n in (1, 16))
    >>> f"{alone.goodput:.3f} {many.goodput:.3f}", alone.method, many.method
    ('0.916 0.874', 'exact (closed form)', 'approximate')
    """
    these = EqualJobs(job, storage, whole_number("jobs", jobs, least=1))
    one_of("model", model, MODELS)
    if model == "auto":
        if these.undisturbed:
            return _predicted_alone(these)
        followed = from_start(these)
        if followed is not None:
            return _predicted_from_start(these, followed)
        if has_chain(these):
            return _predicted_by_chain(these)
        if _has_product_form(these):
            return _predicted_by_dilation(these, EXACT_SHARED)
        if _is_one_server(these):
            return _predicted_by_dilation(these, EXACT_ALONE)
        mean = mean_in_turns(these)
        if mean is not None:
            return _predicted_by_mean_write(these, mean[0], exact=mean[1])
        if _never_forgets(these):
            return _predicted_over_starts(these)
    return _predicted_by_dilation(these, APPROXIMATE)


def _has_product_form(jobs: EqualJobs) -> bool:
    """Without failures the means depend on means alone, but not if everything is constant."""
    law = jobs.job.size_law
    exponential = law is not None and law.order == 1 and jobs.storage.order == "fcfs"
    return jobs.work_or_write and not jobs.constant and (jobs.share or exponential)


def _is_one_server(jobs: EqualJobs) -> bool:
    """Return whether jobs that come back at random moments take turns at one server, known exactly."""
    jitter = jobs.job.jitter
    exponential = isinstance(jitter, PhaseType) and jitter.order == 1
    return jobs.work_or_write and exponential and jobs.admitted == 1 and jobs.storage.order == "fcfs"


def _never_forgets(jobs: EqualJobs) -> bool:
    """Return whether constant times keep what the start made of them."""
    return jobs.job.timer == "clock" or (jobs.never_fail and jobs.constant)


def _predicted_alone(jobs: EqualJobs) -> CheckpointPrediction:
    job, write, read = jobs.job, jobs.write, jobs.read
    if job.mode == "asynchronous":
        good = goodput_behind(job.interval, write, job.snapshot, read, job.mtbf, job.downtime)
        stall = job.snapshot
    else:
        good, stall = goodput_alone(job.interval, write, read, job.mtbf, job.downtime), write
    away, alone = away_and_alone(jobs._replace(number=1))
    used = min(1.0, jobs.number * alone / (away + alone) / jobs.storage.full_at)
    return CheckpointPrediction(*jobs, good, good, good, write, stall, used, EXACT_ALONE)


def _predicted_by_chain(jobs: EqualJobs) -> CheckpointPrediction:
    solution = solve_checkpoints(jobs)
    good = solution.goodput
    return CheckpointPrediction(
        *jobs,
        good,
        good,
        good,
        solution.write,
        solution.stall,
        solution.utilisation,
        EXACT_CHAIN,
    )


def _predicted_by_dilation(jobs: EqualJobs, method: str) -> CheckpointPrediction:
    job, solution = jobs.job, dilation(jobs)
    low = high = solution.goodput
    notes: tuple[str, ...] = ()
    if method == APPROXIMATE:
        hit = job.failure_rate * (solution.wait + solution.stretch * jobs.write)
        behind = job.mode == "asynchronous"
        wide = behind and job.size_law is not None and job.size_law.scv > 1.0
        error = _ERROR_BUSY if wide or hit > _OFTEN or solution.admitted_load >= _BUSY else _ERROR
        low, high = low * (1.0 - error), min(1.0, high * (1.0 + error))
        notes = _notes_on_left_out(jobs.storage)
        if job.stagger == "together" and jobs.constant and not jobs.never_fail and jobs.number > 1:
            calm = jobs._replace(job=replace(job, mtbf=math.inf))
            left = solution.goodput / dilation(calm).goodput
            low = min(low, left * range_of_starts(calm)[0] * (1.0 - error))
            notes = (*notes, _SLOWLY_FORGET)
        if behind and hit > _OFTEN:
            low, high = 0.0, min(1.0, 2.0 * solution.goodput + 0.01)
            notes = (*notes, "writes take so long that failures abort most of them")
    return CheckpointPrediction(
        *jobs,
        solution.goodput,
        low,
        high,
        solution.write,
        solution.stall,
        solution.utilisation,
        method,
        notes,
    )


def _notes_on_left_out(storage: Storage) -> tuple[str, ...]:
    if storage.order == "fcfs" or storage.writers is None:
        return ()
    return (f"admission in the order {storage.order!r} is predicted as in order of request",)


def _predicted_from_start(jobs: EqualJobs, lasting: FromStart) -> CheckpointPrediction:
    """Constant times, followed from their start."""
    write, method = lasting.write, EXACT_ALONE
    if math.isnan(write):  # how long a write behind the work takes hangs on the start
        write, method = _predicted_by_dilation(jobs, APPROXIMATE).write, BY_START
    any_start = range_of_starts(jobs)
    notes = () if any_start == (lasting.goodput, lasting.goodput) else (_NEVER_FORGET,)
    return CheckpointPrediction(
        *jobs,
        lasting.goodput,
        lasting.goodput,
        lasting.goodput,
        write,
        lasting.stall,
        lasting.utilisation,
        method,
        notes,
    )


def _predicted_over_starts(jobs: EqualJobs) -> CheckpointPrediction:
    """Constant timers: what the best and the worst start give, and about the mean of all."""
    job, about = jobs.job, _predicted_by_dilation(jobs, APPROXIMATE)
    low, high = range_of_starts(jobs)
    mean = min(max(about.goodput, low), high)
    works_on = job.mode == "waiting-works" and not jobs.share
    constant = jobs.constant and jobs.never_fail
    if job.timer == "work" and constant and not works_on:
        # Where they get out of step, jobs that began together fare about as ill as any can.
        mean = {"together": low, "even": high}.get(job.stagger, mean)
    prediction = replace(
        about,
        goodput=mean,
        low=low,
        high=high,
        method=BY_START,
        notes=(*about.notes, _NEVER_FORGET),
    )
    if job.timer == "clock" or works_on or not constant:
        return prediction
    # What is not work stands still: nothing else of the cycle varies with the start.
    cycle = job.interval / mean
    stall = cycle - job.interval
    write = about.write if job.mode == "asynchronous" else stall
    return replace(prediction, stall=stall, write=write, utilisation=jobs.used(cycle))


def _predicted_by_mean_write(jobs: EqualJobs, write: float, *, exact: bool) -> CheckpointPrediction:
    """Turns without failures, from the mean time of a write."""
    job, alone, tau = jobs.job, jobs.write, jobs.job.interval
    stall = alone if job.mode == "waiting-works" else write

    def goodput(wait: float) -> float:
        cycle = tau + alone + wait
        return 1.0 - (alone if job.mode == "waiting-works" else alone + wait) / cycle

    wait, off = write - alone, 0.0 if exact else _ERROR_STAGES
    ends = sorted((goodput(wait * (1.0 - off)), goodput(wait * (1.0 + off))))
    return CheckpointPrediction(
        *jobs,
        goodput(wait),
        ends[0],
        ends[1],
        write,
        stall,
        jobs.used(tau + write),
        EXACT_CHAIN if exact else APPROXIMATE,
    )
