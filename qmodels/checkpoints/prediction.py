"""The face: goodput and stalls of jobs that checkpoint to one storage, and what follows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy.optimize import minimize_scalar

from phasefit import PhaseType
from phasefit.checks import one_of, share, whole_number
from phasefit.records import Drawing, Result
from qmodels.checkpoints.chain import has_chain, solve_checkpoints
from qmodels.checkpoints.dilation import away_and_alone, dilation
from qmodels.checkpoints.formulas import best_alone, daly, goodput_alone, goodput_behind, young
from qmodels.checkpoints.model import Checkpointing, Storage
from qmodels.errors import ModelError
from qmodels.networks import ClosedNetwork
from qmodels.networks.sizes import most_that

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from qmodels.networks import SojournLaw

EXACT_ALONE: Final = "exact (closed form)"
EXACT_SHARED: Final = "exact (product form)"
EXACT_CHAIN: Final = "exact (chain)"
APPROXIMATE: Final = "approximate"
BY_START: Final = "depends on the start"
MODELS: Final = ("auto", "dilation")

#: Relative error of the goodput of "approximate", from simulations of 200 random systems: below and
#: from `_BUSY` of the admitted load on. Where a write behind the work takes so long that it often
#: meets a failure, only the order of magnitude is known.
_ERROR, _ERROR_BUSY, _BUSY, _HOPELESS = 0.025, 0.08, 0.85, 0.5
#: Orders of the Erlang laws from which percentiles of constant transfers are extrapolated.
_ORDERS = (3, 4)


@dataclass(frozen=True)
class CheckpointPrediction(Result):
    """What checkpoints cost; times in seconds.

    Where `method` is "depends on the start", constant timers never forget how the jobs began:
    `goodput` is the approximate mean over random starts, `low` and `high` are what starting all
    together and spread evenly give.
    """

    drawing = Drawing("", ("goodput", "low", "high", "utilisation"))

    job: Checkpointing
    storage: Storage
    jobs: int
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
        """Time that a share `q` of the checkpoints do not exceed as stalls, seconds.

        Parameters
        ----------
        q : float
            Between 0 and 1, such as 0.95.

        Returns
        -------
        float
            Exact where intervals and transfers are phase-type and nothing fails. With constant
            transfers under sharing it is extrapolated from Erlang laws of growing order (within
            15 % of simulations).

        Raises
        ------
        ModelError
            If no law of the stall is known: play it with `validation.simulate_checkpoints`.

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
        points = [float(law.ppf(level)) for law in self._stall_laws]
        if len(points) == 1:
            return points[0]
        few, many = _ORDERS
        return points[1] + (points[1] - points[0]) * few / (many - few)

    @cached_property
    def _stall_laws(self) -> list[SojournLaw]:
        return _stall_laws(self)

    def table(self) -> str:
        """The prediction in lines."""
        rows = self._row()
        return "\n".join(f"{name:<14}{value}" for name, value in rows.items())

    def record(self) -> dict[str, Any]:
        """What was asked and what was found; times in seconds."""
        return self._row() | {"job": self.job, "storage": self.storage, "notes": self.notes}

    def _row(self) -> dict[str, Any]:
        """Numbers and method, for a table or JSON."""
        return {
            "jobs": self.jobs,
            "mode": self.job.mode,
            "interval": self.job.interval,
            "goodput": self.goodput,
            "low": self.low,
            "high": self.high,
            "write": self.write,
            "stall": self.stall,
            "utilisation": self.utilisation,
            "method": self.method,
        }

    def to_frame(self) -> pd.DataFrame:
        """One row of `to_dict`."""
        import pandas as pd

        return pd.DataFrame([self._row()])


def predict_checkpoints(
    job: Checkpointing, storage: Storage, jobs: int = 1, *, model: str = "auto"
) -> CheckpointPrediction:
    """Goodput, stalls and use of the storage by `jobs` equal jobs.

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

    Raises
    ------
    ModelError
        If an argument is out of its range.

    References
    ----------
    .. [1] J. W. Young, "A first order approximation to the optimum checkpoint interval",
       *Comm. ACM* 17 (1974) 530-531.
    .. [2] J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart
       dumps", *Future Generation Computer Systems* 22 (2006) 303-312.

    Examples
    --------
    Sixteen training jobs at one file system, alone and together:

    >>> job = Checkpointing(5.29e12, interval=6689.0, mtbf=89081.0, downtime=600.0)
    >>> alone, many = (predict_checkpoints(job, Storage(20e9), jobs=n) for n in (1, 16))
    >>> f"{alone.goodput:.3f} {many.goodput:.3f}", alone.method, many.method
    ('0.916 0.874', 'exact (closed form)', 'approximate')
    """
    number = whole_number("jobs", jobs, least=1)
    one_of("model", model, MODELS)
    if model == "auto":
        if _undisturbed(job, storage, number):
            return _alone(job, storage, number)
        if has_chain(job, storage, number):
            return _by_chain(job, storage, number)
        if _in_product_form(job, storage, number):
            return _by_dilation(job, storage, number, EXACT_SHARED)
        if _never_forgets(job):
            return _by_start(job, storage, number)
    return _by_dilation(job, storage, number, APPROXIMATE)


@dataclass(frozen=True)
class BestInterval(Result):
    """The interval of the largest goodput, beside the classical ones, in seconds."""

    drawing = Drawing("", ("interval", "young", "daly"), labels=("", "interval [s]"))

    interval: float
    goodput: float
    young: float
    daly: float
    method: str  #: of the prediction at the best interval
    low: float  #: from here ...
    high: float  #: ... to here the goodput is within a thousandth of the best


def best_interval(job: Checkpointing, storage: Storage, jobs: int = 1) -> BestInterval:
    """The interval at which `jobs` equal jobs get most work done.

    Parameters
    ----------
    job : Checkpointing
        Its own interval does not count.
    storage : Storage
    jobs : int
        How many share the storage.

    Returns
    -------
    BestInterval
        In seconds, beside the classical intervals of a job by itself.

    Raises
    ------
    ModelError
        If nothing fails: then a longer interval is always better.

    Notes
    -----
    One job by itself has ``M (1 + W0(-e^{-C/M-1}))``, which depends neither on the downtime nor
    on the restore. More jobs write more seldom, because they wait for each other.

    References
    ----------
    .. [1] J. W. Young, "A first order approximation to the optimum checkpoint interval", *Comm.
       ACM* 17 (1974) 530-531.
    .. [2] J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart
       dumps", *Future Generation Computer Systems* 22 (2006) 303-312.

    Examples
    --------
    >>> job = Checkpointing(300.0, interval=1.0, mtbf=10800.0)
    >>> found = best_interval(job, Storage(1.0))
    >>> round(found.interval, 3), round(found.daly, 3)
    (2349.638, 2349.513)
    """
    if math.isinf(job.mtbf):
        raise ModelError("without failures a longer interval is always better: give mtbf")
    number = whole_number("jobs", jobs, least=1)
    write = job.write_alone(storage)
    stands = job.snapshot if job.mode == "asynchronous" else write
    first, second = young(stands, job.mtbf), daly(stands, job.mtbf)

    def goodput(logarithm: float) -> float:
        trial = replace(job, interval=math.exp(logarithm))
        if _undisturbed(trial, storage, number):
            return _alone(trial, storage, number).goodput
        return dilation(trial, storage, number).goodput

    constant = not isinstance(job.jitter, PhaseType) and job.jitter == 0.0
    by_formula = constant and job.timer == "work" and _apart(storage, number)
    if by_formula and job.mode != "asynchronous":
        best = best_alone(write, job.mtbf)
    elif by_formula:
        best = max(write, best_alone(job.snapshot, job.mtbf) if job.snapshot else 0.0)
    else:
        low = math.log(max(min(first, write) * 1e-2, 1e-9 * job.mtbf))
        high = math.log(max(job.mtbf, first, write) * (4.0 + number / storage.full_at))
        best = math.exp(_maximum(goodput, low, high))
    found = predict_checkpoints(replace(job, interval=best), storage, number)
    top, near = goodput(math.log(best)), 1e-3
    below = _edge(goodput, math.log(best), -1, top * (1.0 - near))
    above = _edge(goodput, math.log(best), +1, top * (1.0 - near))
    return BestInterval(best, found.goodput, first, second, found.method, below, above)


def jobs_that_fit(
    job: Checkpointing, storage: Storage, *, goodput: float, at_most: int = 100_000
) -> int:
    """The largest number of equal jobs that all keep at least this goodput.

    Parameters
    ----------
    job, storage
        As for `predict_checkpoints`.
    goodput : float
        Share of the time, between 0 and 1.
    at_most : int
        Jobs beyond which the search ends.

    Returns
    -------
    int
        Zero where even one job does not reach it.

    Notes
    -----
    Goodput falls with the number of jobs. ``(tau + C) B / V`` jobs keep the storage busy all
    the time.

    Examples
    --------
    >>> job = Checkpointing(5.29e12, interval=6689.0, mtbf=89081.0, downtime=600.0)
    >>> jobs_that_fit(job, Storage(20e9), goodput=0.85)
    19
    """
    wanted = share("goodput", goodput, zero=False, one=False)
    most = whole_number("at_most", at_most, least=1)

    def reaches(number: int) -> bool:
        return predict_checkpoints(job, storage, number).goodput >= wanted

    return most_that(reaches, most)


def _apart(storage: Storage, jobs: int) -> bool:
    """Whether no transfer ever feels another one."""
    return jobs == 1 or (storage.full_at >= jobs and storage.admitted(jobs) == jobs)


def _constant(job: Checkpointing) -> bool:
    return job.jitter == 0.0 and job.size_law is None


def _undisturbed(job: Checkpointing, storage: Storage, jobs: int) -> bool:
    """Whether the closed forms of one job hold."""
    if not (_apart(storage, jobs) and _constant(job) and job.timer == "work"):
        return False
    return job.mode != "asynchronous" or job.write_alone(storage) <= job.interval


def _in_product_form(job: Checkpointing, storage: Storage, jobs: int) -> bool:
    """Without failures the means depend on means alone, but not if everything is constant."""
    shares = storage.admitted(jobs) == jobs
    exponential = job.size_law is not None and job.size_law.order == 1 and storage.order == "fcfs"
    return (
        math.isinf(job.mtbf)
        and job.mode != "asynchronous"
        and job.timer == "work"
        and not _constant(job)
        and (shares or (exponential and job.mode == "blocking"))
    )


def _never_forgets(job: Checkpointing) -> bool:
    """Whether constant times keep what the start made of them."""
    return job.timer == "clock" or (math.isinf(job.mtbf) and _constant(job))


def _alone(job: Checkpointing, storage: Storage, jobs: int) -> CheckpointPrediction:
    write, read = job.write_alone(storage), job.read_alone(storage)
    if job.mode == "asynchronous":
        good = goodput_behind(job.interval, write, job.snapshot, read, job.mtbf, job.downtime)
        stall = job.snapshot
    else:
        good, stall = goodput_alone(job.interval, write, read, job.mtbf, job.downtime), write
    away, alone = away_and_alone(job, storage)
    used = min(1.0, jobs * alone / (away + alone) / storage.full_at)
    return CheckpointPrediction(
        job, storage, jobs, good, good, good, write, stall, used, EXACT_ALONE
    )


def _by_chain(job: Checkpointing, storage: Storage, jobs: int) -> CheckpointPrediction:
    found = solve_checkpoints(job, storage, jobs)
    return CheckpointPrediction(
        job, storage, jobs, found.goodput, found.goodput, found.goodput, found.write, found.stall,
        found.utilisation, EXACT_CHAIN,
    )  # fmt: skip


def _by_dilation(
    job: Checkpointing, storage: Storage, jobs: int, method: str
) -> CheckpointPrediction:
    found = dilation(job, storage, jobs)
    write = found.wait + found.stretch * job.write_alone(storage)
    stall = found.stall
    low = high = found.goodput
    notes: tuple[str, ...] = ()
    if method == APPROXIMATE:
        error = _ERROR if found.admitted_load < _BUSY else _ERROR_BUSY
        low, high = low * (1.0 - error), min(1.0, high * (1.0 + error))
        notes = _left_out(storage)
        if job.mode == "asynchronous" and write * job.failure_rate > _HOPELESS:
            low, high = 0.0, min(1.0, 2.0 * found.goodput + 0.01)
            notes = (*notes, "writes take so long that failures abort most of them")
    return CheckpointPrediction(
        job, storage, jobs, found.goodput, low, high, write, stall, found.utilisation, method, notes
    )


def _left_out(storage: Storage) -> tuple[str, ...]:
    if storage.order == "fcfs" or storage.writers is None:
        return ()
    return (f"admission in the order {storage.order!r} is predicted as in order of request",)


def _by_start(job: Checkpointing, storage: Storage, jobs: int) -> CheckpointPrediction:
    """Constant timers: what the best and the worst start give, and about the mean of all."""
    about = _by_dilation(job, storage, jobs, APPROXIMATE)
    notes = (*about.notes, "constant timers never forget how the jobs began")
    if not math.isinf(job.mtbf) or job.timer == "clock":
        return replace(about, low=0.0, high=1.0, method=BY_START, notes=notes)
    write = job.write_alone(storage)
    shares = storage.admitted(jobs) == jobs
    # Whoever waits once stands in file from then on; then only a full storage holds jobs up.
    busy = jobs * write / min(storage.full_at, float(storage.admitted(jobs)))
    cycle = max(job.interval + write, busy)
    if job.mode == "asynchronous":
        low = high = job.interval / (max(job.interval, busy) + job.snapshot)
    elif job.mode == "waiting-works" and not shares:  # where all share, nobody waits
        low = high = (cycle - write) / cycle
    else:
        low = high = job.interval / cycle
        if shares:
            together = job.interval + write * max(1.0, jobs / storage.full_at)
            low = job.interval / max(together, cycle)
    mean = min(max(about.goodput, low), high)
    return replace(about, goodput=mean, low=low, high=high, method=BY_START, notes=notes)


def _stall_laws(found: CheckpointPrediction) -> list[SojournLaw]:
    """The law of the stall, or Erlang approximations of it."""
    job, storage, jobs = found.job, found.storage, found.jobs
    shares = storage.admitted(jobs) == jobs
    whole = float(storage.full_at).is_integer()
    fits = job.mode == "blocking" or (job.mode == "waiting-works" and shares)
    turns = not shares and storage.full_at >= storage.admitted(jobs) and storage.order == "fcfs"
    if not fits or found.method == BY_START or job.timer == "clock":
        raise ModelError(
            f"no law of the stall is known for mode {job.mode!r} with timer {job.timer!r} "
            f"({found.method}); play it with validation.simulate_checkpoints"
        )
    if not (shares and whole) and not turns:
        raise ModelError(
            "no law of the stall is known where transfers wait and share, or where the "
            "bandwidth is no whole multiple of a job's; play it with "
            "validation.simulate_checkpoints"
        )
    if job.size_law is None and not shares:
        raise ModelError(
            "no law of the stall is known for constant transfers that take turns; play it "
            "with validation.simulate_checkpoints"
        )
    away, alone = away_and_alone(job, storage, jobs)
    delay = PhaseType.exponential(mean=away)
    if isinstance(job.jitter, PhaseType) and math.isinf(job.mtbf):
        delay = job.jitter.scale(job.interval / job.jitter.mean)
    if job.size_law is None:
        disks = [PhaseType.erlang(phases=order, mean=alone) for order in _ORDERS]
    else:
        disks = [job.size_law.scale(alone / job.size_law.mean)]
    discipline = "ps" if shares else "fcfs"
    servers = int(storage.full_at) if shares else storage.admitted(jobs)
    networks = [
        ClosedNetwork(jobs, delay=delay, disk=disk, discipline=discipline, servers=servers)
        for disk in disks
    ]
    return [network.solve().sojourn for network in networks]


def _maximum(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function with one maximum has it: a grid first, then Brent's method."""
    grid = np.linspace(low, high, 60)
    values = [function(x) for x in grid]
    top = int(np.argmax(values))
    inside = (float(grid[max(top - 1, 0)]), float(grid[min(top + 1, len(grid) - 1)]))
    found = minimize_scalar(
        lambda x: -function(x), bounds=inside, method="bounded", options={"xatol": 1e-7}
    )
    return float(found.x)


def _edge(function: Callable[[float], float], top: float, side: int, level: float) -> float:
    """Where the function falls to `level` on one side of its maximum; arguments are logarithms."""
    far = 1e-3
    while function(top + side * far) > level and far < 30.0:
        far *= 2.0
    near = far / 2.0 if far > 1e-3 else 0.0
    for _ in range(40):
        middle = 0.5 * (near + far)
        near, far = (middle, far) if function(top + side * middle) > level else (near, middle)
    return math.exp(top + side * far)
