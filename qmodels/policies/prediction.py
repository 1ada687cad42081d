"""`predict`: what a policy will do under a workload, and how far the answer can be trusted."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike

from phasefit.checks import one_of, real_number, real_vector, share
from phasefit.records import Result, data_frame
from qmodels.errors import ModelError
from qmodels.networks.replay import FitError
from qmodels.policies.backlog import Backlog, backlog_of
from qmodels.policies.base import AbstractPolicy, work_bound
from qmodels.policies.labels import as_policy
from qmodels.policies.methods import exact_for_its_laws, method_of
from qmodels.policies.models.base import SolvedQueue
from qmodels.policies.models.build import built_model, solved_queue
from qmodels.policies.models.described import described_as, described_times
from qmodels.policies.models.fitted import error_of_fit
from qmodels.policies.models.recorded_errors import SHARES
from qmodels.policies.models.response import (
    TimeLaw,
    has_exact_percentiles,
    percentile_of,
    response_of,
    wait_of,
)
from qmodels.policies.sensitivities import Sensitivities, sensitivities_of
from qmodels.policies.speed_table import SpeedTable
from qmodels.policies.system import System, Workload

if TYPE_CHECKING:
    import pandas as pd

#: Recorded errors from which on they are said in words.
LARGE: Final = 0.1
#: Coverage of the interval that a prediction from uncertain speeds states.
CONFIDENCE: Final = 0.95


@dataclass(frozen=True, kw_only=True)
class Prediction(Result):
    """Long-run averages of a policy under a workload.

    Examples
    --------
    >>> from qmodels import Phase, Program, SpaceSharing
    >>> work = Workload(Program([Phase(io=16.0, cpu=1024.0)]))
    >>> found = predict(SpaceSharing(1, 1), System(16, 16), work, load=0.5)
    >>> found.policy, round(found.mean_response, 2), round(float(found.percentile(0.95)), 1)
    ('SP(1,1)', 132.06, 395.6)
    """

    policy: str  #: such as SP(4,16)
    arrival_rate: float  #: jobs per second
    load: float  #: arrival rate over the rate that no policy can exceed (`work_bound`)
    capacity: float  #: largest stable arrival rate of this policy, jobs per second
    mean_response: float  #: seconds from arrival to departure
    mean_wait: float  #: seconds from arrival to the start
    mean_jobs: float  #: jobs in the system
    mean_running: float  #: jobs running
    throughput: float  #: jobs per second
    processor_utilisation: float  #: fraction of the processors in a computation burst
    disk_utilisation: float  #: fraction of the disks transferring
    #: "exact" for the model as stated, "exact for the fitted laws" where laws of it are not those
    #: of their data (see `fit_error`), else "approximate"
    method: str
    error_bound: float | None  #: relative numerical error of the means where exact, else None
    states: int  #: phases of a level of the chain once all partitions are taken
    model: str  #: name of the model, one of `MODELS`
    reduction: str = ""  #: what the model simplifies, and how; "" for nothing
    seconds: float  #: time the solution took
    #: seconds on either side of `mean_response` that the uncertainty of given speeds leaves at
    #: 95 %; infinite where they do not say for sure that the queue is stable, None without them
    half_width: float | None = None
    #: what the jobs of a log were taken for, and by which error of held-out halves; "" without one
    description: str = ""
    speeds: str = ""  #: where given speeds come from; "" for the policy's own model
    solved: SolvedQueue = field(repr=False, compare=False)  #: the queue itself

    @cached_property
    def wait(self) -> TimeLaw:
        """Law of the time from arrival to the start; see `wait_of`."""
        return wait_of(self.solved)

    @cached_property
    def response(self) -> TimeLaw:
        """Law of the time from arrival to departure; see `response_of`."""
        return response_of(self.solved)

    def percentile(self, q: ArrayLike) -> Any:
        """Response time in seconds that a share `q` of the jobs do not exceed, such as 0.95.

        Computed when first asked for. ModelError if `q` is not in [0, 1), or the model does not
        follow single jobs.
        """
        return percentile_of(self.solved, q)

    @cached_property
    def sensitivities(self) -> Sensitivities:
        """What other jobs, bursts, processors and disks would do to the mean response.

        ModelError where the speeds of the running jobs were given; see `sensitivities_of`.
        """
        if self.speeds:
            raise ModelError(
                f"the speeds of the running jobs were {self.speeds}, which does not say how they "
                f"would change; predict without them"
            )
        return sensitivities_of(self.solved)

    def backlog(self, jobs: int) -> Backlog:
        """Law of the time until so many jobs at hand are worked off; see `backlog_of`."""
        return backlog_of(self.solved, jobs)

    def outside_record(self, q: float | None = None) -> tuple[str, ...]:
        """Say in what the prediction lies outside of the points whose errors were recorded.

        Parameters
        ----------
        q : float, optional
            Of that percentile of the response; by default of the mean.

        Returns
        -------
        tuple of str
            Phrases such as "a demand of scv 100 (recorded: 0.1 to 12)"; () where the model is
            exact, and where an error is stated.

        Examples
        --------
        >>> from qmodels import Phase, Program, TimeSharing
        >>> work = Workload.from_scv(Program([Phase(io=1.0, cpu=2.0)]), demand_scv=100.0)
        >>> answer = predict(TimeSharing(2, 1, 4), System(8, 2), work, load=0.3)
        >>> answer.recorded_error() is None, answer.outside_record()[0].split(" (")[0]
        (True, 'a demand of scv 100')
        """
        if exact_for_its_laws(self.method):
            return () if self._exact_for(q) else ("percentiles of an exact model, which another way finds",)
        if self.half_width is not None:
            return (f"speeds of the running jobs that were {self.speeds}",)
        reasons = self.solved.outside_record
        if q is not None and not SHARES[0] <= q <= SHARES[-1]:
            ends = f"{SHARES[0]:.0%} to {SHARES[-1]:.0%}"
            reasons = (*reasons, f"the time that {q:.6%} of the jobs keep to (recorded: {ends})")
        return reasons

    def recorded_error(self, q: float | None = None) -> float | None:
        """Relative error that nine in ten fresh simulated points like this one keep to.

        Parameters
        ----------
        q : float, optional
            Of that percentile of the response; by default of the mean.

        Returns
        -------
        float or None
            0 where the model is exact; None where the point lies outside of those that were
            recorded, see `outside_record`, or where too few are like it. What fitted laws leave
            out of their data is apart, in `fit_error`.
        """
        if self._exact_for(q):
            return 0.0
        if self.outside_record(q):
            return None
        return self.solved.stated_error(q=q)

    def _exact_for(self, q: float | None) -> bool:
        """Whether the mean, or this percentile, is exact."""
        return exact_for_its_laws(self.method) and (q is None or has_exact_percentiles(self.solved))

    def recorded_wait_error(self) -> float | None:
        """Relative error of the mean wait, as `recorded_error` is of the mean response."""
        if exact_for_its_laws(self.method):
            return 0.0
        error = None if self.outside_record() else self.solved.stated_error("wait")
        if error is None or not self.mean_wait > 0.0:
            return None
        return error * self.mean_response / self.mean_wait

    @property
    def doubts(self) -> tuple[str, ...]:
        """What to know before the mean response is relied on; () for nothing."""
        if exact_for_its_laws(self.method):
            return ()
        if reasons := self.outside_record():
            return tuple(f"how far it may be off is not known for {reason}" for reason in reasons)
        error, worst = (self.solved.stated_error(name) for name in ("mean", "worst"))
        if error is None or worst is None:
            return ("how far it may be off is not known: few points like it were recorded",)
        if max(error, worst) < LARGE:
            return ()
        return (f"points like it were off by up to {worst:.0%}",)

    def fit_error(self, of: str = "response", q: float | None = None) -> FitError | None:
        """How far an answer is from the data that laws of the workload were fitted to.

        Parameters
        ----------
        of : {"response", "wait"}
            The time from arrival to departure, or to the start.
        q : float, optional
            Of that percentile; by default of the mean.

        Returns
        -------
        FitError or None
            None where all laws were given. The jobs of the data are played at this load, see
            `qmodels.policies.models.fitted.error_of_fit`.

        Raises
        ------
        ModelError
            If `of` is neither, or as for `percentile`.

        Examples
        --------
        >>> from qmodels import Phase, Program, SpaceSharing
        >>> from phasefit import fit
        >>> sizes = np.random.default_rng(1).lognormal(sigma=1.0, size=5000)
        >>> law = fit(sizes, family="moments").distribution
        >>> work = Workload(Program([Phase(io=16.0, cpu=1024.0)]), law)
        >>> found = predict(SpaceSharing(1, 1), System(16, 16), work, load=0.5)
        >>> found.method, found.fit_error().error < 1.0
        ('exact for the fitted laws', True)
        """
        one_of("of", of, ("response", "wait"))
        if not self.solved.workload.fitted:
            return None
        if q is None:
            predicted = self.mean_wait if of == "wait" else self.mean_response
        else:
            q = share("q", q, zero=False, one=False)
            predicted = float(self.wait.percentile(q) if of == "wait" else self.percentile(q))
        return error_of_fit(self.solved, of, q, predicted, described=self.drawn_as)

    @property
    def drawn_as(self) -> str:
        """What the jobs were drawn as from a log; "" where laws say the times."""
        return "" if described_times(self.solved) is None else self.description

    @cached_property
    def _of_the_data(self) -> dict[str, float | str | None]:
        """What the data say of the mean response, where laws were fitted to some."""
        error = self.fit_error()
        if error is None:
            return {}
        told = error.record()
        return {
            "mean_response_of_data": told["on_data"],
            "mean_response_low": told["low"],
            "mean_response_high": told["high"],
            "fit_error": told["error"],
            "interval_of": told["interval_of"],
        }

    def table(self) -> str:
        """Name, value and unit, one to a line."""
        units = {
            "arrival_rate": "jobs/s",
            "capacity": "jobs/s",
            "throughput": "jobs/s",
            "mean_response": "s",
            "mean_response_of_data": "s",
            "mean_response_low": "s",
            "mean_response_high": "s",
            "mean_wait": "s",
            "seconds": "s",
        }
        lines = []
        for name, value in self.record().items():
            if value in ("", None) and name != "error_bound":
                continue
            shown = f"{value:.6g}" if isinstance(value, float) else str(value)
            lines.append(f"{name:<22} {shown} {units.get(name, '')}".rstrip())
        if not exact_for_its_laws(self.method):
            error = self.recorded_error()
            lines.append(f"{'stated_error':<22} {'unknown' if error is None else f'{error:.3g}'}")
            lines += [f"{'doubt':<22} {doubt}" for doubt in self.doubts]
        return "\n".join(lines)

    def to_frame(self) -> pd.DataFrame:
        """One row with a column per quantity."""
        return data_frame([self.record()])

    def plot(self, ax: Any = None) -> Any:
        """Draw P(response > t); of a model that does not follow single jobs, the jobs' number."""
        try:
            law = self.response
        except ModelError:
            return self.solved.chain.plot(ax)
        axes = law.plot(ax)
        axes.set_title(self._heading(), fontsize=10, parse_math=False)
        axes.set_xlabel("response time [s]")
        return axes

    def _heading(self) -> str:
        return f"{self.policy} at load {self.load:.3g}"

    def record(self) -> dict[str, Any]:
        """Every quantity by its name; the queue itself is in `solved`."""
        known = self._by_name(*self._shown())
        stated = {"stated_error": self.recorded_error(), "doubts": "; ".join(self.doubts)}
        return known | stated | self._of_the_data

    def _shown(self) -> list[str]:
        """Names of the quantities that have a value to print."""
        hidden = {"solved"} if self.half_width is not None else {"solved", "half_width", "speeds"}
        return [f.name for f in fields(self) if f.name not in hidden]


def predict(
    policy: AbstractPolicy | str,
    system: System,
    workload: Workload,
    *,
    arrival_rate: float | None = None,
    load: float | None = None,
    utilisation: float | None = None,
    model: str = "auto",
    memory: float | None = None,
    running: SpeedTable | ArrayLike | None = None,
) -> Prediction:
    """Predict the steady state of a policy under a workload.

    Parameters
    ----------
    policy : SpaceSharing, DynamicPartitioning, TimeSharing or another that was registered; or str
        A text is a label such as "SP(4,4)", see `qmodels.policies.parse_policy`.
    system : System
    workload : Workload
    arrival_rate : float
        Jobs per second. Give this, `load` or `utilisation`.
    load : float
        Arrival rate as a fraction of `work_bound`, the rate that no policy can exceed.
    utilisation : float
        Arrival rate as a fraction of this policy's own capacity, between 0 and 1. Policies at the
        same utilisation meet different jobs: compare policies at the same load.
    model : str
        "auto", or a model of `MODELS` by its name. "speed-scaled": every running job proceeds at
        the speed that k jobs have in equilibrium. "crowding", of SP and DP: jobs pass through their
        bursts, those of I/O as fast as disk partitions are at work. "time-sharing", of TS: by what
        the partitions hold and what turns make of it. "decomposition", the paper's: I/O bursts last
        as long as in equilibrium with so many jobs at the disk. "exact": every running job in a
        stage of a burst, on disks shared by processor sharing. Crowding, decomposition and exact
        need a workload with laws of its bursts. "auto" takes the first model that suits: crowding
        where bursts have laws and the speed-scaled model is not exact, time-sharing where
        partitions hold several jobs, crowded-speeds where several disk partitions are shared, models of
        classes where jobs are unlike, else speed-scaled. A class of your own is "module:Class".
    memory : float, optional
        Bytes that the chain may take. By default half of the machine's memory, and then no more
        than about half a minute of computing.
    running : SpeedTable or (c,) array_like, optional
        X(k), the jobs per second that k = 1..c running jobs complete together, in place of what
        the policy's own model says; measured on a machine or by a simulator, or from any other
        model. What is uncertain about them is carried into `half_width`. Under TS the model
        "time-sharing" still says who of the running jobs gets on how fast; elsewhere all get on
        alike, whatever laws bursts have.

    Returns
    -------
    Prediction
        `method` is "exact" where the model is that of the policy without approximation ("exact for
        the fitted laws" where the workload has laws that were fitted to data): under "exact", and
        where no disk partition is ever shared (and, under dynamic partitioning,
        every burst gains alike from processors); "approximate" otherwise. `reduction` tells what
        was simplified, because the chain would have been too large or because programs that do
        not scale alike have no common law of demand.

    Raises
    ------
    UnstableError
        If the load is at or beyond the policy's capacity; names the largest stable load.
    MemoryBudgetError
        If the chain would not fit in memory, or take longer.
    ModelError
        If the arguments make no model.

    Notes
    -----
    Arrivals and demand are phase-type; the chain is a quasi-birth-death process whose level is
    the number of jobs, solved by `solve_qbd`. "Exact" means exact for that model: jobs of one
    demand law whose bursts all scale with it, each job of a mix one of its programs.

    How far approximate answers are off is in docs/explanation/policies.md, and that of one like
    this in `Prediction.recorded_error`. The decomposition, asked for by name, predicted up to 26 %
    too fast (DP(1), one phase, I/O bursts of scv 4). Under time sharing with turns the capacity
    was within about 1 % of simulated machines, so that a load that near to it may have no steady
    state; of bursts with laws of their own it is off by -10 to +14 %.

    References
    ----------
    .. [1] Rosti et al. 1998, secs. 3.2-3.5.

    Examples
    --------
    Jobs that compute for 64 s and transfer for 1 s on the whole machine:

    >>> from qmodels import Phase, Program, SpaceSharing
    >>> program = Program([Phase(io=16.0, cpu=1024.0)])
    >>> machine = System(processors=16, disks=16)
    >>> whole = predict(SpaceSharing(1, 1), machine, Workload(program), load=0.5)
    >>> round(whole.mean_response, 6), whole.method
    (132.063492, 'exact')

    The same with a label, at half of what that policy can do, which is less than half of the load:

    >>> own = predict("SP(1,1)", machine, Workload(program), utilisation=0.5)
    >>> round(own.load, 4), round(own.arrival_rate / own.capacity, 6)
    (0.4923, 0.5)
    """
    started = time.perf_counter()
    if running is not None and not isinstance(running, SpeedTable):
        running = SpeedTable(real_vector("running", running))
    policy = as_policy(policy)
    given = {"arrival_rate": arrival_rate, "load": load, "utilisation": utilisation}
    check_one_given(given)
    built = built_model(policy, system, workload, model, memory, running)
    bound = work_bound(system, workload.program)
    if utilisation is None:
        rate = chosen_rate(arrival_rate, load, bound)
    else:
        rate = share("utilisation", utilisation, zero=False, one=False) * built.capacity
    solved = solved_queue(built, policy, system, workload, rate)
    solution, at_work = solved.chain, solved.queue.running
    drawn = described_times(solved)
    mean_wait, mean_response = solution.mean_excess() / rate, solution.mean_level() / rate
    if drawn is not None:
        mean_wait, mean_response = drawn.means
    return Prediction(
        policy=policy.label,
        arrival_rate=rate,
        load=rate / bound if load is None else float(load),
        capacity=built.capacity,
        mean_response=mean_response,
        mean_wait=mean_wait,
        mean_jobs=mean_response * rate,
        mean_running=solution.mean_of(np.arange(at_work.max_running + 1)),
        throughput=rate,
        processor_utilisation=solved.mean_of_states(at_work.processors_busy) / system.processors,
        disk_utilisation=solved.mean_of_states(at_work.disks_busy) / system.disks,
        method=method_of(exact=built.exact, fitted=workload.fitted, drawn=drawn is not None),
        error_bound=solution.error_bound if built.exact and drawn is None else None,
        states=at_work.sizes[-1] * workload.arrivals.order,
        model=built.name,
        reduction=built.reduction,
        description=described_as(solved),
        half_width=None if running is None else _half_width(running, policy, system, workload, model, rate),
        speeds="" if running is None else (running.source or "given by hand"),
        seconds=time.perf_counter() - started,
        solved=solved,
    )


def _half_width(
    running: SpeedTable,
    policy: AbstractPolicy,
    system: System,
    workload: Workload,
    model: str,
    rate: float,
) -> float:
    """Half-width of the mean response that the uncertainty of the speeds leaves, at 95 %.

    By the delta method, with central differences, and of arrangements by the jackknife. Where the
    interval of the capacity reaches the arrival rate there may be no steady state, and no finite
    width is honest.
    """
    spread, speeds = running.covariance, running.throughput
    if spread is None:
        return 0.0

    def response(table: SpeedTable) -> float:
        built = built_model(policy, system, workload, model, running=table)
        return float(solved_queue(built, policy, system, workload, rate).chain.mean_level()) / rate

    slowest = float(running.factors.min())
    if rate >= slowest * (speeds[-1] - running.half_widths(CONFIDENCE)[-1]):
        return float("inf")
    slopes = np.zeros(speeds.size)
    for k in range(speeds.size):
        # No nearer to the edge of stability than half the way.
        step = min(1e-4 * speeds[k], 0.5 * (speeds[-1] - rate / slowest))
        moved = [speeds.copy(), speeds.copy()]
        moved[0][k] += step
        moved[1][k] -= step
        more, less = (response(replace(running, throughput=each)) for each in moved)
        slopes[k] = (more - less) / (2.0 * step)
    variance = max(float(slopes @ spread @ slopes), 0.0) + _drawn_variance(running, response)
    return running.quantile(CONFIDENCE, slopes**2 * np.diag(spread)) * math.sqrt(variance)


def _drawn_variance(running: SpeedTable, response: Callable[[SpeedTable], float]) -> float:
    """Variance of the mean response that comes of which arrangements happened to be drawn.

    By the jackknife: without each of them in turn, the others as fast as they are.
    """
    if running.frozen is None or running.frozen.size < 2:
        return 0.0
    speeds = running.throughput[-1] * running.factors
    values, counts = np.unique(speeds, return_counts=True)
    found = []
    for value in values:
        left = np.delete(speeds, np.flatnonzero(speeds == value)[0])
        throughput = running.throughput.copy()
        throughput[-1] = 1.0 / np.mean(1.0 / left)
        found.append(response(replace(running, throughput=throughput, frozen=left)))
    mean = float(np.average(found, weights=counts))
    n = speeds.size
    squares = (np.array(found) - mean) ** 2
    return float((n - 1) / n * (counts @ squares))


def check_one_given(given: Mapping[str, float | None]) -> None:
    """ModelError unless just one of the ways to say a rate is used."""
    if sum(value is not None for value in given.values()) != 1:
        names = list(given)
        raise ModelError(
            f"give either {', '.join(names[:-1])} or {names[-1]}: jobs/s, a fraction of the work "
            f"bound, or of the policy's own capacity"
        )


def chosen_rate(arrival_rate: float | None, load: float | None, bound: float) -> float:
    """Jobs per second from whichever of the two was given; ModelError for neither or both."""
    if (arrival_rate is None) == (load is None):
        raise ModelError("give either arrival_rate (jobs/s) or load (fraction of the work bound)")
    if load is not None:
        return real_number("load", load, above=0.0) * bound
    return real_number("arrival_rate", arrival_rate, above=0.0)  # type: ignore[arg-type]
