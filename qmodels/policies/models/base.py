"""What a model of a policy answers for itself, what it is asked about, and all models by name."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Final

import numpy as np
from numpy.typing import ArrayLike

from phasefit import PhaseType
from phasefit.checks import named
from qmodels.markov import QBDSolution
from qmodels.networks.sizes import occupancy_counts
from qmodels.policies.base import AbstractPolicy, RunningJobs
from qmodels.policies.methods import method_of
from qmodels.policies.models.demand import demand_law, mixed_approximately
from qmodels.policies.models.policy_queue import PolicyQueue, RunningChain, check_blocks
from qmodels.policies.models.recorded_domain import of_another_kind, outside, traits
from qmodels.policies.models.recorded_errors import percentile_error, recorded_error, regime
from qmodels.policies.system import Arrangement, Placement, System, Workload
from qmodels.registry import Registry

#: The name by which the first model that suits is taken.
AUTO: Final = "auto"
#: States with all partitions taken up to which a model is small.
_FEW: Final = 200
#: Part of a capacity at which jobs are alone but for rounding.
_NEVER_MEET: Final = 1e-20


@dataclass(frozen=True, eq=False)
class Case:
    """A policy on a machine under a workload, and what models ask of the three."""

    policy: AbstractPolicy
    system: System
    workload: Workload
    jobs: RunningJobs  #: how the running jobs get on in equilibrium
    memory: float | None = None  #: bytes that the chain may take
    given: bool = False  #: whether the speeds of `jobs` are not the policy's own

    @cached_property
    def arrangement(self) -> Arrangement:
        """Who may run where."""
        return self.policy.arrangement(self.system)

    @cached_property
    def approximation(self) -> tuple[str, ...]:
        """What is approximate about one law of demand for all jobs; () for nothing."""
        return mixed_approximately(self.arrangement, self.workload)

    @property
    def speeds_exact(self) -> bool:
        """Whether all jobs get on at the speeds of `jobs` without approximation."""
        return self.jobs.exact and not self.approximation

    @cached_property
    def demand(self) -> tuple[PhaseType, tuple[str, ...]]:
        """See `demand_law`."""
        return demand_law(self.policy, self.system, self.workload, self.memory)

    @property
    def capacity(self) -> float:
        """Jobs per second that the running jobs complete with all partitions taken."""
        return float(self.jobs.throughput[-1])

    def check_size(self, what: str, sizes: Sequence[float], fix: str) -> None:
        """See `check_blocks`: of a chain of the running jobs that has so many states at each level."""
        check_blocks(what, sizes, self.workload.arrivals, self.memory, fix)

    def check_stages(
        self, order: int, fix: str = "use a demand law of lower order or fewer partitions"
    ) -> None:
        """See `check_size`: of a chain of jobs that are counted by their stage."""
        c = self.arrangement.max_running
        self.check_size(f"the chain of {c} jobs of {order} stages", occupancy_counts(c, order).tolist(), fix)

    @property
    def has_few_states(self) -> bool:
        """Whether a chain that counts running jobs by their stage of demand is sure to be small."""
        arrangement = self.arrangement
        if self.workload.has_bursts or arrangement.overheads or arrangement.unequal_sizes:
            return False
        order = max(2, self.demand[0].order)
        return bool(occupancy_counts(self.jobs.throughput.size, order)[-1] <= _FEW)


@dataclass(frozen=True, eq=False)
class BuiltModel:
    """A model of a policy before any job arrives, and how far it is the policy itself."""

    model: AbstractModel  #: whose it is
    running: RunningChain
    exact: bool  #: whether the model is that of the policy without approximation
    capacity: float  #: jobs per second that are completed while jobs always wait
    simplifications: tuple[str, ...] = ()  #: what was left out to keep it small, and how
    #: the running jobs at an arrival rate, jobs per second, where they depend on it; `running`
    #: is then what they do while jobs always wait
    at_rate: Callable[[float], RunningChain] | None = None
    arrivals_followed: bool = False  #: whether `at_rate` knows how jobs arrive, not only how often
    #: mean seconds for which few jobs are held up, which makes the mean longer than that of the followed
    #: ones; 0: all of these are as much slower as the mean is
    held_up: float = 0.0
    #: whether jobs take turns, so that percentiles are those of jobs that are played
    turns: bool = False

    @property
    def name(self) -> str:
        """Name of the model."""
        return self.model.name

    def running_at(self, arrival_rate: float) -> RunningChain:
        """Return what the running jobs do while so many jobs per second arrive."""
        # so few jobs never meet; of fewer the probabilities would leave the floats
        least = _NEVER_MEET * self.capacity
        return self.running if self.at_rate is None else self.at_rate(max(arrival_rate, least))

    @property
    def reduction(self) -> str:
        """All simplifications in one text; "" for none."""
        return "; ".join(self.simplifications)


class AbstractModel(abc.ABC):
    """A way to make a chain of a policy's running jobs, for the queue in front of them.

    A subclass has a name, says which policies it follows and builds the chain; the first line of
    its docstring says what a running job is in it. Enter the class in `MODELS`, and it is in
    `qmodels.predict`, in scenarios, on the command line and on the reference page.

    Examples
    --------
    >>> [name for name, model in MODELS.items() if model().takes_speeds]
    ['time-sharing', 'speed-scaled']
    """

    name: ClassVar[str]  #: as `model` in scenarios and on the command line
    #: How near it is to the policy: "auto" asks the models in ascending order.
    rank: ClassVar[int] = 100
    #: Whether it follows single bursts, whose laws the workload must tell then.
    needs_bursts: ClassVar[bool] = False
    #: Whether it can take speeds of whole jobs that are given in place of the policy's own.
    takes_speeds: ClassVar[bool] = False
    #: Whether it counts the running jobs by their stage of demand, so that its size is known.
    by_demand: ClassVar[bool] = False
    #: Whether it carries as much as the running jobs in equilibrium do with all partitions taken.
    carries_all: ClassVar[bool] = False
    #: How the policies that it follows place a job that starts; None for any.
    placement: ClassVar[Placement | None] = None

    #: Models whose followed jobs stand for its own in percentiles, the first that can be built.
    followed_by: ClassVar[tuple[str, ...]] = ()

    def follows(self, policy: AbstractPolicy, arrangement: Arrangement, workload: Workload) -> bool:
        """Return whether the policy is of a kind that the model can follow.

        What else keeps it from being built, `build` says in words. With one job on each partition
        the rules of placement differ by a few per cent at most.

        Parameters
        ----------
        policy, workload
            As for `qmodels.predict`.
        arrangement : Arrangement
            Of the policy on the machine.
        """
        return self.placement in (None, arrangement.placement) or arrangement.one_job_each

    def suits(self, case: Case) -> bool:
        """Return whether "auto" takes it for a case that it follows and no earlier one suits.

        Parameters
        ----------
        case : Case
            What is asked.
        """
        return False

    @abc.abstractmethod
    def build(self, case: Case) -> BuiltModel:
        """Build the chain of the running jobs.

        Parameters
        ----------
        case : Case
            What is asked.

        Returns
        -------
        BuiltModel
            The chain, whether it is exact, and what it leaves out.

        Raises
        ------
        MemoryBudgetError
            If the queue in front of it would not fit; nothing has been allocated then.
        ModelError
            If the model cannot follow the case.
        """

    def substitute(self, case: Case) -> AbstractModel:
        """Return the model that gives the same for less; by default the model itself.

        Parameters
        ----------
        case : Case
            What is asked.
        """
        return self

    def family(self, *, turns: bool) -> str:
        """Return the name under which errors of the model are recorded.

        Parameters
        ----------
        turns : bool
            Whether jobs take turns at processors.
        """
        return self.name

    def outside_record(self, solved: SolvedQueue) -> tuple[str, ...]:
        """Return in what a point lies outside of those whose errors were recorded; () for nothing.

        Parameters
        ----------
        solved : SolvedQueue
            The point.
        """
        policy, system, workload = solved.policy, solved.system, solved.workload
        values = traits(policy, system, workload, solved.load)
        arrangement = policy.arrangement(system)
        return (*of_another_kind(arrangement, workload), *outside(solved.family, values))

    def stated_error(
        self, solved: SolvedQueue, quantity: str = "mean", q: float | None = None
    ) -> float | None:
        """Return the relative error that nine in ten fresh points keep to; None for none stated.

        Parameters
        ----------
        solved : SolvedQueue
            The point.
        quantity : str
            As for `recorded_error`.
        q : float, optional
            Of that percentile of the response.
        """
        if q is None:
            return recorded_error(solved.regime, quantity)
        return percentile_error(solved.regime, q)


#: Every model by its name, the nearest to the policy first. Predictions, scenarios, the command
#: line and the reference page read this.
MODELS: Registry[AbstractModel] = Registry(AbstractModel, "model of a policy", order=lambda model: model.rank)


def model_name(text: str) -> str:
    """Return "auto" or the name of a model as it is spelled in `MODELS`; "module:Class" as it is.

    Parameters
    ----------
    text : str
        What a user wrote.

    Raises
    ------
    ModelError
        If no model is called so.

    Examples
    --------
    >>> model_name("Speed_Scaled")
    'speed-scaled'
    """
    if isinstance(text, str) and ":" in text:
        MODELS.find(text)
        return text
    return named("model", text, (AUTO, *MODELS))


def followers(policy: AbstractPolicy, system: System, workload: Workload) -> list[str]:
    """Return the names of the models that can follow a policy, the nearest to it first.

    Parameters
    ----------
    policy, system, workload
        As for `qmodels.predict`.
    """
    arrangement = policy.arrangement(system)
    return [name for name, each in MODELS.items() if each().follows(policy, arrangement, workload)]


@dataclass(frozen=True, eq=False)
class SolvedQueue:
    """Steady state of a policy's queue, and which model of the policy it is the queue of."""

    policy: AbstractPolicy
    system: System
    workload: Workload
    queue: PolicyQueue
    chain: QBDSolution  #: the level counts jobs
    built: BuiltModel  #: which model it is the queue of

    @property
    def load(self) -> float:
        """Arrival rate over the capacity."""
        return self.queue.arrival_rate / self.built.capacity

    @property
    def method(self) -> str:
        """How answers are found, one of the words of `qmodels.policies.methods`."""
        return method_of(exact=self.built.exact, fitted=self.workload.fitted)

    @property
    def family(self) -> str:
        """Under which name errors are recorded."""
        arrangement = self.policy.arrangement(self.system)
        turns = arrangement.cpu_discipline == "fcfs" and arrangement.placement == "idle-first"
        return self.built.model.family(turns=turns)

    @property
    def regime(self) -> str:
        """What kind of prediction it is, for the errors that were recorded; see `regime`."""
        return regime(
            self.family,
            reduction=self.built.reduction,
            arrival_scv=self.workload.arrivals.scv,
            load=self.load,
            scv=None if self.workload.has_bursts else self.workload.demand.scv,
        )

    @cached_property
    def outside_record(self) -> tuple[str, ...]:
        """In what the point lies outside of those whose errors were recorded; () for nothing."""
        return self.built.model.outside_record(self)

    def stated_error(self, quantity: str = "mean", q: float | None = None) -> float | None:
        """Return the error that the model states; see `AbstractModel.stated_error`."""
        return self.built.model.stated_error(self, quantity, q)

    def mean_of_states(self, values: ArrayLike) -> float:
        """Mean of a quantity given for each state of the running jobs, (states,)."""
        given = np.asarray(values, dtype=float)
        stages = self.queue.arrivals.order
        levels = self.queue.running.by_level(given)
        laws = [*self.chain.boundary[:-1], self.chain.tail]
        return float(
            sum(pi.reshape(stages, -1).sum(axis=0) @ value for pi, value in zip(laws, levels, strict=True))
        )
