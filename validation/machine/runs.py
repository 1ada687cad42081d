"""Replications of a machine: what it gives with intervals, and strategies held side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from phasefit.checks import whole_number
from phasefit.records import Drawing, Result
from qmodels.errors import ModelError
from qmodels.progress import Progress
from validation.allocation import AbstractStrategy
from validation.allocation.base import find_strategy
from validation.analysis.comparison import Comparison, compare
from validation.analysis.estimates import Estimate, estimate, plus_minus
from validation.analysis.seeding import stream as random_stream
from validation.analysis.seeding import word
from validation.jobs import AbstractStreams, JobStream
from validation.machine.history import QUANTITIES, History
from validation.machine.machine import Machine
from validation.machine.play import play
from validation.sweeps.executors import parallel_map

if TYPE_CHECKING:
    import pandas as pd

#: What the streams below the seed of a study are for: the jobs of a replication, and what happens
#: to them. Numbers and no names, so that results keep the bits that they were published with.
_JOBS, _RUN = 0, 1
#: Quantities of which more is better; of all others less is.
_LARGER_IS_BETTER = ("throughput", "completed")


@dataclass(frozen=True, eq=False, kw_only=True)
class MachineRun(Result):
    """What a machine gives, from independent replications. Times are in the unit of the jobs.

    Estimates have Student intervals over the replications; the names are those of
    `History.summary`, for example ``run["service"]``.
    """

    drawing = Drawing("replication", "turnaround")

    label: str  #: strategy, discipline and network
    unit: str  #: of time: "cycles" with a network, "s" without
    values: Mapping[str, tuple[float, ...]] = field(repr=False)  #: of each replication, by name
    confidence: float
    seed: int
    first: History = field(repr=False)  #: what happened in the first replication

    @property
    def replications(self) -> int:
        """How many runs were made."""
        return len(self.values["service"])

    def record(self) -> dict[str, Any]:
        """Every quantity as an estimate."""
        about = {"label": self.label, "unit": self.unit, "seed": self.seed}
        return about | {name: self[name] for name in self.values}

    def __getitem__(self, name: str) -> Estimate:
        """The estimate of a quantity by its name."""
        if name not in self.values:
            raise ModelError(f"no quantity is called {name!r:.40}; there are {', '.join(QUANTITIES)}")
        return estimate(self.values[name], confidence=self.confidence)

    @property
    def service(self) -> Estimate:
        """Mean time from start to finish."""
        return self["service"]

    @property
    def turnaround(self) -> Estimate:
        """Mean time from arrival to finish."""
        return self["turnaround"]

    @property
    def slowdown(self) -> Estimate:
        """Mean turnaround over service."""
        return self["slowdown"]

    @property
    def utilisation(self) -> Estimate:
        """Share of the nodes that jobs hold, over time."""
        return self["utilisation"]

    @property
    def throughput(self) -> Estimate:
        """Jobs completed per unit of time."""
        return self["throughput"]

    @property
    def contention(self) -> Estimate:
        """Share of the messages' time in the network that headers waited for channels."""
        return self["contention"]

    def table(self) -> str:
        """Name, mean, half-width of the interval and unit, one to a line."""
        runs = f"{self.replications} replications, {self.confidence:.0%} intervals"
        lines = [f"{self.label}; {runs if self.replications > 1 else 'one run, no intervals'}"]
        for name, unit in QUANTITIES.items():
            known = self[name]
            unit = "" if unit == "1" else unit.replace("T", self.unit)
            width = f"± {known.half_width:<9.2g} " if self.replications > 1 else ""
            lines.append(f"{name:<16} {known.mean:<12.6g} {width}{unit}".rstrip())
        return "\n".join(lines)

    def to_frame(self) -> pd.DataFrame:
        """One row for each replication."""
        import pandas as pd

        return pd.DataFrame(dict(self.values)).rename_axis("replication").reset_index()


@dataclass(frozen=True, eq=False)
class StrategyComparison(Result):
    """Machines that differ in one thing, fed the same jobs."""

    runs: Mapping[str, MachineRun]

    def compare(self, name: str, to: str, quantity: str = "service", *, relative: bool = False) -> Comparison:
        """Compare a quantity under `name` with that under `to`, replication by replication.

        Parameters
        ----------
        name, to : str
            Labels of two runs.
        quantity : str
            One of `QUANTITIES`.
        relative : bool
            Give the difference as a fraction of the mean under `to`.

        Returns
        -------
        Comparison
            "better" and "worse" are meant of `name`: less is better, but more throughput and more
            completed jobs are.

        Raises
        ------
        ModelError
            If there is no such run or quantity.
        """
        for run in (name, to):
            if run not in self.runs:
                raise ModelError(f"no run is called {run!r:.40}; there are {', '.join(self.runs)}")
        here, there = self.runs[name], self.runs[to]
        here[quantity]  # refuses an unknown one
        return compare(
            here.values[quantity],
            there.values[quantity],
            confidence=here.confidence,
            smaller_is_better=quantity not in _LARGER_IS_BETTER,
            relative=relative,
        )

    def difference(self, name: str, to: str, quantity: str = "service") -> Estimate:
        """Mean of a quantity under `name` less that under `to`; see `compare`."""
        return self.compare(name, to, quantity).difference

    def best(self, quantity: str = "service") -> str:
        """The run with the smallest mean of a quantity, the first of equals.

        It need not be better than the next beyond noise; see `leaders`.
        """
        return min(self.runs, key=lambda name: self.runs[name][quantity].mean)

    def leaders(self, quantity: str = "service") -> tuple[str, ...]:
        """The `best` run and those whose difference from it is undecided, smallest mean first."""
        best = self.best(quantity)
        return tuple(
            name
            for name in self._by_mean(quantity)
            if self.compare(name, best, quantity).verdict == "undecided"
        )

    def _by_mean(self, quantity: str) -> list[str]:
        return sorted(self.runs, key=lambda name: self.runs[name][quantity].mean)

    def _verdict(self, name: str, quantity: str) -> str:
        """Of a run against the one with the smallest mean, which leads alone or is undecided."""
        if self.leaders(quantity) == (name,):
            return "smallest" if quantity in _LARGER_IS_BETTER else "best"
        return self.compare(name, self.best(quantity), quantity).verdict

    def to_frame(self, quantity: str = "service") -> pd.DataFrame:
        """One row for each run: means, and the paired difference to the best in `quantity`.

        The verdict is on the run against the one with the smallest mean; that one itself is
        "best" if every other differs from it beyond noise ("smallest", of quantities of which more
        is better), and "undecided" otherwise.
        """
        import pandas as pd

        best = self.best(quantity)
        rows = []
        for name, run in self.runs.items():
            gap = self.difference(name, best, quantity)
            rows.append(
                {"strategy": name}
                | {key: run[key].mean for key in QUANTITIES}
                | {
                    f"{quantity}_half_width": run[quantity].half_width,
                    "difference": gap.mean,
                    "difference_half_width": 0.0 if name == best else gap.half_width,
                    "verdict": self._verdict(name, quantity),
                }
            )
        return pd.DataFrame(rows)

    def table(self, quantity: str = "service") -> str:
        """A line for each run, smallest mean first, and whether the first leads beyond noise."""
        best, order = self.best(quantity), self._by_mean(quantity)
        width = max(len(name) for name in order)
        some = next(iter(self.runs.values()))
        shown = (quantity, *(k for k in _SHOWN if k != quantity))
        lines = [f"{'':<{width}}  " + "".join(f"{key:>15}" for key in shown) + f"  {quantity} - {best}"]
        for name in order:
            run, gap = self.runs[name], self.compare(name, best, quantity)
            means = "".join(f"{run[key].mean:>15.5g}" for key in shown)
            within = plus_minus(gap.half_width)
            paired = "" if name == best else f"{gap.mean:+.4g}{within} {gap.verdict}"
            lines.append(f"{name:<{width}}  {means}  {paired}".rstrip())
        lines.append(
            f"one run of the same jobs, so no intervals; times in {some.unit}"
            if some.replications == 1
            else f"{some.replications} replications of the same jobs; times in {some.unit}, "
            f"{some.confidence:.0%} intervals of paired differences"
        )
        turned_away = {name: self.runs[name]["rejected"].mean for name in order}
        if len(set(turned_away.values())) > 1:
            lines.append(
                "not the same jobs were done: "
                + ", ".join(f"{name} rejected {n:g}" for name, n in turned_away.items() if n)
                + " of a run as more than it could ever place"
            )
        ties = [name for name in self.leaders(quantity) if name != best]
        if ties:
            lines.append(f"undecided: {best} cannot be told from {', '.join(ties)}")
        return "\n".join(lines)

    def plot(self, ax: Any = None, *, quantity: str = "service") -> Any:
        """Draw a quantity of every run, best on top, on matplotlib Axes.

        Two intervals each: of the mean, thin, and of the paired difference to the best, thick.
        The second says whether two runs differ, for they had the same jobs.
        """
        from validation.machine.plotting import comparison

        best, some = self.best(quantity), next(iter(self.runs.values()))
        unit, named = QUANTITIES[quantity].replace("T", some.unit), quantity.replace("_", " ")
        return comparison(
            {name: run[quantity] for name, run in self.runs.items()},
            {name: self.difference(name, best, quantity) for name in self.runs},
            best=best,
            quantity=named if unit in ("1", named) else f"{named} [{unit}]",
            ax=ax,
        )


_SHOWN = ("turnaround", "slowdown", "utilisation", "contention", "nodes_affected", "system_balance")


def simulate_machine(
    machine: Machine,
    streams: AbstractStreams | JobStream,
    *,
    replications: int = 10,
    seed: int = 0,
    completions: int | None = None,
    confidence: float = 0.95,
    workers: int | None = 1,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> MachineRun:
    """Run a machine several times, each time on a stream of its own.

    Parameters
    ----------
    machine : Machine
    streams : AbstractStreams or JobStream
        Where jobs come from; a fixed `JobStream` is replayed, and only messages and random
        strategies differ between replications.
    replications : int
        Runs, at least one.
    seed : int
        Root of all randomness. Replication r of any machine gets the same jobs and messages.
    completions : int, optional
        Stop each run when so many jobs have ended; by default when all have.
    confidence : float
        Two-sided coverage of the intervals.
    workers : int, optional
        Processes; 1 works in this one, None takes one for each core.
    executor : concurrent.futures.Executor, optional
        Who makes the runs instead of processes of our own; it is left open.
    progress : callable
        Called as ``progress("runs", done, runs)``.

    Returns
    -------
    MachineRun

    Raises
    ------
    ModelError
        If an argument is out of range, or see `play`.

    References
    ----------
    .. [1] J. Mache, V. Lo, S. Garg, "Job scheduling that minimizes network contention due to both
       communication and I/O", *Proc. IPPS* 2000, sec. 4.1.

    Examples
    --------
    >>> from validation.mesh import Mesh
    >>> from validation.jobs import PoissonStreams
    >>> machine = Machine(mesh=Mesh(8, 8, io_side="west"), strategy="PLAS")
    >>> jobs = PoissonStreams(jobs=30, mean_interarrival=100.0, mean_size=6.0, largest=64)
    >>> run = simulate_machine(machine, jobs, replications=3)
    >>> run.replications, run["completed"].mean
    (3, 30.0)
    """
    compared = compare_machines(
        {"": machine},
        streams,
        replications=replications,
        seed=seed,
        completions=completions,
        confidence=confidence,
        workers=workers,
        executor=executor,
        progress=progress,
    )
    return compared.runs[""]


def compare_strategies(
    machine: Machine,
    strategies: Sequence[AbstractStrategy | str],
    streams: AbstractStreams | JobStream,
    *,
    replications: int = 10,
    seed: int = 0,
    completions: int | None = None,
    confidence: float = 0.95,
    workers: int | None = 1,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> StrategyComparison:
    """Run one machine under several strategies with common random numbers.

    Parameters
    ----------
    machine : Machine
        Its own strategy plays no part.
    strategies : sequence of AbstractStrategy or str
        Or their names, see `Machine`.
    streams, replications, seed, completions, confidence, workers, executor, progress
        See `simulate_machine`.

    Returns
    -------
    StrategyComparison

    Raises
    ------
    ModelError
        If two strategies have one name, or see `simulate_machine`.

    References
    ----------
    .. [1] A. M. Law, *Simulation Modeling and Analysis*, 5th ed., McGraw-Hill 2015, secs. 10.2.1
       (paired intervals) and 11.2 (common random numbers).

    Examples
    --------
    >>> from validation.mesh import Mesh
    >>> from validation.jobs import PoissonStreams
    >>> machine = Machine(mesh=Mesh(8, 8, io_side="west"))
    >>> jobs = PoissonStreams(jobs=50, mean_interarrival=60.0, mean_size=8.0, largest=64)
    >>> found = compare_strategies(machine, ["PLAS", "Paging"], jobs, replications=4)
    >>> found.best(), found.difference("Paging", "PLAS").mean > 0
    ('PLAS', True)
    """
    if isinstance(strategies, str | AbstractStrategy) or not strategies:
        raise ModelError(f"strategies must be at least one, in a list; got {strategies!r:.60}")
    machines: dict[str, Machine] = {}
    for strategy in strategies:
        found = find_strategy(strategy)
        name = found.name
        if name in machines:
            raise ModelError(f"strategy {name} is there twice; compare_machines takes own labels")
        machines[name] = replace(machine, strategy=found)
    return compare_machines(
        machines,
        streams,
        replications=replications,
        seed=seed,
        completions=completions,
        confidence=confidence,
        workers=workers,
        executor=executor,
        progress=progress,
    )


def compare_machines(
    machines: Mapping[str, Machine],
    streams: AbstractStreams | JobStream,
    *,
    replications: int = 10,
    seed: int = 0,
    completions: int | None = None,
    confidence: float = 0.95,
    workers: int | None = 1,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> StrategyComparison:
    """Run any machines, by labels of your own, on the same jobs; see `compare_strategies`."""
    replications = whole_number("replications", replications, least=1)
    seed = whole_number("seed", seed, least=0)
    if not isinstance(streams, AbstractStreams | JobStream):
        raise ModelError(f"streams must be streams of jobs or a JobStream, got {streams!r:.60}")
    for label, machine in machines.items():
        if not isinstance(machine, Machine):
            raise ModelError(f"{label!r:.40} must be a Machine, got {machine!r:.60}")
    estimate([0.0], confidence=confidence)  # refuses a wrong one before the work
    tasks = [
        _Task(machine, streams, seed, replication, completions)
        for replication in range(replications)
        for machine in machines.values()
    ]
    runs = parallel_map(_replicate, tasks, workers=workers, executor=executor, progress=progress, what="runs")
    found = {}
    for k, label in enumerate(machines):
        own = runs[k :: len(machines)]
        first = own[0][1]
        assert first is not None
        found[label] = MachineRun(
            label=first.label,
            unit=first.unit,
            values={name: tuple(run[0][name] for run in own) for name in QUANTITIES},
            confidence=confidence,
            seed=seed,
            first=first,
        )
    return StrategyComparison(found)


@dataclass(frozen=True, eq=False)
class _Task:
    machine: Machine
    streams: AbstractStreams | JobStream
    seed: int
    replication: int
    completions: int | None


def _replicate(task: _Task) -> tuple[dict[str, float], History | None]:
    """Means of one replication, and the whole history of the first."""
    history = one_run(
        task.machine,
        task.streams,
        seed=task.seed,
        replication=task.replication,
        completions=task.completions,
    )
    return history.summary, history if task.replication == 0 else None


def one_run(
    machine: Machine,
    streams: AbstractStreams | JobStream,
    *,
    seed: int,
    replication: int,
    completions: int | None = None,
) -> History:
    """One replication of `simulate_machine`: the same jobs and messages on any machine."""
    jobs = streams
    if not isinstance(jobs, JobStream):
        jobs = jobs.draw(rng=random_stream(seed, _JOBS, replication))
    return play(machine, jobs, seed=word(seed, _RUN, replication), completions=completions)
