"""A prediction held against whatever was measured of the same thing, and why they differ."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, Protocol, TypeVar

import numpy as np

from phasefit.records import Drawing, Record, Result
from qmodels.policies import AbstractPolicy, Prediction, System, Workload, predict
from qmodels.policies.labels import as_policy
from qmodels.policies.models.demand import demand_law
from qmodels.progress import Progress
from validation.analysis.comparison import compare
from validation.analysis.estimates import Estimate
from validation.jobs.renewal import AbstractJobs, RenewalJobs, ReplayedJobs, drawn_jobs
from validation.sharing import Simulation, simulate

if TYPE_CHECKING:
    import pandas as pd

Verdict = Literal["agrees", "differs", "undecided"]

#: Half-width of the simulator's interval, relative to its mean, up to which a prediction within it
#: is said to agree. A wider interval holds so many predictions that none is confirmed by it; 10 %
#: is of the order of the errors that are stated for approximate models.
DECISIVE_PRECISION: Final = 0.10
#: What each reason is called.
DISCIPLINE = "order of service at the disks"
DEPENDENCE = "dependence of arrivals and demands"
REDUCTION = "reduction of the law of demand"


class HasMeanResponse(Protocol):
    """Whatever has a mean response time with an interval: a job-level run, a mesh, a log."""

    @property
    def mean_response(self) -> Estimate:
        """Its mean response time."""


@dataclass(frozen=True)
class Measured(Record):
    """A mean response time from anywhere else, such as a log of a real machine."""

    mean_response: Estimate
    source: str = ""


@dataclass(frozen=True)
class Cause(Record):
    """One reason why a prediction differs, found by switching it off."""

    name: str  #: such as "link contention between jobs"
    #: mean response with it less the one without, in the unit of the responses
    effect: Estimate

    @property
    def verdict(self) -> Literal["slower", "faster", "undecided"]:
        """What it does to jobs, as far as the interval tells."""
        if self.effect.low > 0.0:
            return "slower"
        return "faster" if self.effect.high < 0.0 else "undecided"


Side = TypeVar("Side", bound=HasMeanResponse, covariant=True)


@dataclass(frozen=True, kw_only=True)
class Agreement(Result, Generic[Side]):
    """A prediction beside a simulation or measurement of the same system.

    Examples
    --------
    >>> from qmodels import Phase, Program, SpaceSharing, System, Workload
    >>> work = Workload(Program([Phase(io=4.0, cpu=12.0)]))
    >>> found = crossvalidate(
    ...     SpaceSharing(1, 1), System(4, 2), work, load=0.3, replications=4, jobs=400
    ... )
    >>> found.prediction.policy, found.covered
    ('SP(1,1)', True)
    """

    drawing = Drawing("source", "mean_response", half_width="half_width", labels=("", "mean response"))

    prediction: Prediction
    simulation: Side
    causes: tuple[Cause, ...] = ()  #: why they differ, where that was asked for

    def record(self) -> dict[str, Any]:
        """Both sides, how far they lie apart, the verdict and the causes."""
        return {
            "policy": self.prediction.policy,
            "load": self.prediction.load,
            "predicted": self.prediction.mean_response,
            "method": self.prediction.method,
            "simulated": self.simulation.mean_response,
            "gap": self.gap,
            "covered": self.covered,
            "verdict": self.verdict,
            "resolution": self.resolution,
            "z_score": self.z_score,
            "causes": {cause.name: cause.effect for cause in self.causes},
        }

    def to_frame(self) -> pd.DataFrame:
        """One row: the prediction, the interval of the simulation, and the verdict."""
        import pandas as pd

        known = self.record()
        simulated = known.pop("simulated")
        known |= {"simulated": simulated.mean, "half_width": simulated.half_width}
        known["causes"] = self.why()
        return pd.DataFrame([known])

    def drawn(self) -> pd.DataFrame:
        """Both sides, the simulated one with its interval."""
        import pandas as pd

        simulated = self.simulation.mean_response
        rows = [("predicted", self.prediction.mean_response, 0.0)]
        rows.append(("simulated", simulated.mean, simulated.half_width))
        return pd.DataFrame(rows, columns=["source", "mean_response", "half_width"])

    @property
    def unexplained(self) -> float:
        """What of the difference the causes do not account for, in the unit of the responses."""
        gap = self.simulation.mean_response.mean - self.prediction.mean_response
        return gap - sum(cause.effect.mean for cause in self.causes)

    def why(self) -> str:
        """The causes in plain words, the largest first; "" if none was looked for."""
        mean = self.simulation.mean_response.mean
        ordered = sorted(self.causes, key=lambda cause: -abs(cause.effect.mean))
        lines = [
            f"{cause.name}: {cause.effect.mean / mean:+.1%} ± {cause.effect.half_width / mean:.1%} "
            f"({cause.verdict})"
            for cause in ordered
        ]
        if lines:
            lines.append(f"the rest: {self.unexplained / mean:+.1%}")
        return "; ".join(lines)

    @property
    def gap(self) -> float:
        """Predicted over simulated mean response time, less one."""
        return self.prediction.mean_response / self.simulation.mean_response.mean - 1.0

    @property
    def covered(self) -> bool:
        """Whether the simulator's interval contains the predicted mean response time."""
        return self.simulation.mean_response.contains(self.prediction.mean_response)

    @property
    def z_score(self) -> float:
        """Predicted less simulated mean, a standard normal variate where the model is exact."""
        return self.simulation.mean_response.z_score(self.prediction.mean_response)

    @property
    def resolution(self) -> float:
        """Half-width of the simulator's interval relative to its mean: what it can tell apart."""
        return self.simulation.mean_response.half_width / self.simulation.mean_response.mean

    @property
    def verdict(self) -> Verdict:
        """Whether the prediction "agrees" with the simulation or "differs", or is "undecided".

        It agrees if it lies in the simulator's interval and that is known to
        `DECISIVE_PRECISION`, and differs if it lies outside, however wide the interval. It is
        undecided in a wider interval, and in any that reaches below zero: no time does, so the
        replications are too few or too skewed for Student's law, and its ends mean nothing.
        """
        if self.simulation.mean_response.low < 0.0:
            return "undecided"
        if not self.covered:
            return "differs"
        return "agrees" if self.resolution <= DECISIVE_PRECISION else "undecided"


def crossvalidate(
    policy: AbstractPolicy | str,
    system: System,
    workload: Workload,
    *,
    arrival_rate: float | None = None,
    load: float | None = None,
    model: str = "auto",
    memory: float | None = None,
    precision: float | None = None,
    replications: int | None = None,
    jobs: int | None = None,
    seed: int = 0,
    point: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
    **simulator_options: Any,
) -> Agreement[Simulation]:
    """Predict and simulate the same policy under the same workload.

    Parameters
    ----------
    policy, system, workload, arrival_rate, load, model, memory
        As for `qmodels.predict`.
    precision, replications, jobs, seed, point, workers, progress
        As for `validation.simulate`; so are further options.

    Returns
    -------
    Agreement

    Raises
    ------
    UnstableError
        If the load is at or beyond the policy's capacity.
    ModelError
        If the arguments make no model.

    Examples
    --------
    >>> from qmodels import Phase, Program, SpaceSharing
    >>> work = Workload(Program([Phase(io=16.0, cpu=1024.0)]))
    >>> machine = System(processors=16, disks=16)
    >>> crossvalidate(SpaceSharing(1, 1), machine, work, load=0.5, seed=1).verdict
    'agrees'
    """
    policy = as_policy(policy)
    # what is simulated is drawn from the laws
    by_laws = replace(workload, description="independent")
    prediction = predict(
        policy, system, by_laws, arrival_rate=arrival_rate, load=load, model=model, memory=memory
    )
    simulation = simulate(
        policy,
        system,
        workload,
        arrival_rate=prediction.arrival_rate,
        precision=precision,
        replications=replications,
        jobs=jobs,
        seed=seed,
        point=point,
        workers=workers,
        progress=progress,
        **simulator_options,
    )
    return Agreement(prediction=prediction, simulation=simulation)


def explain(
    policy: AbstractPolicy,
    system: System,
    workload: Workload,
    *,
    arrival_rate: float,
    stream_of_jobs: AbstractJobs | None = None,
    replications: int = 20,
    jobs: int = 2000,
    seed: int = 0,
    **options: Any,
) -> Agreement[Simulation]:
    """Predict, simulate, and say which simplification of the model costs how much.

    Parameters
    ----------
    policy, system, workload, arrival_rate
        As for `qmodels.predict`.
    stream_of_jobs : AbstractJobs, optional
        As for `validation.simulate`, such as a log replayed.
    replications, jobs, seed
        As for `validation.simulate`; so are further options.

    Returns
    -------
    Agreement
        With a cause for each of these that there is: the order of service at the disks, if it is
        not the model's processor sharing; dependence, if a log is replayed, against its gaps and
        demands drawn anew each by itself; the reduction of the law of demand, if the model had to
        simplify it. What is left is that running jobs are taken as spread evenly over the disks
        and in equilibrium at every number of them.

    Raises
    ------
    ModelError, UnstableError
        As `qmodels.predict` and `validation.simulate`.

    Examples
    --------
    >>> from qmodels import Phase, Program, SpaceSharing
    >>> work = Workload(Program([Phase(io=16.0, cpu=64.0)]))
    >>> machine = System(processors=16, disks=16, disk_discipline="fcfs")
    >>> found = explain(SpaceSharing(4, 1), machine, work, arrival_rate=0.1, jobs=300)
    >>> [cause.name for cause in found.causes]
    ['order of service at the disks']
    """
    by_laws = replace(workload, description="independent")
    prediction = predict(policy, system, by_laws, arrival_rate=arrival_rate)

    def play(system: System, workload: Workload, stream: AbstractJobs | None) -> Simulation:
        return simulate(
            policy,
            system,
            workload,
            arrival_rate=arrival_rate,
            replications=replications,
            jobs=jobs,
            seed=seed,
            stream_of_jobs=stream,
            **options,
        )

    whole = play(system, workload, stream_of_jobs)
    without: dict[str, Simulation] = {}
    if system.disk_discipline != "ps":
        sharing = replace(system, disk_discipline="ps")
        without[DISCIPLINE] = play(sharing, workload, stream_of_jobs)
    if isinstance(stream_of_jobs, ReplayedJobs):
        apart = RenewalJobs(np.asarray(stream_of_jobs.interarrivals), np.asarray(stream_of_jobs.demands))
        without[DEPENDENCE] = play(system, workload, apart)
    if not workload.has_bursts and stream_of_jobs is None:
        law, reduced = demand_law(policy, system, workload)
        if reduced:
            # A law of the whole job takes the place of that of its demand: the mix is in it.
            simple = drawn_jobs(workload.arrivals, law)
            without[REDUCTION] = play(system, replace(workload, mix="mean"), simple)
    causes = tuple(
        Cause(name, compare(whole.responses, other.responses).difference) for name, other in without.items()
    )
    return Agreement(prediction=prediction, simulation=whole, causes=causes)
