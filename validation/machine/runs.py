"""Replications of a machine: what it gives with intervals, and strategies held side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from typing import Any

from phasefit.checks import instance_of, whole_number
from phasefit.records import Drawing, Result
from qmodels.errors import ModelError
from qmodels.progress import Progress
from validation.allocation import AbstractStrategy
from validation.allocation.base import find_strategy
from validation.analysis.alternatives import Alternatives, Quantity, Replications
from validation.analysis.estimates import estimate
from validation.analysis.seeding import stream as random_stream
from validation.analysis.seeding import word
from validation.jobs import AbstractStreams, JobStream
from validation.machine.history import QUANTITIES, History
from validation.machine.machine import Machine
from validation.machine.play import play
from validation.sweeps.executors import parallel_map

#: What the streams below the seed of a study are for: the jobs of a replication, and what happens
#: to them. Numbers and no names, so that results keep the bits that they were published with.
_JOBS, _RUN = 0, 1
#: Quantities of which more is better; of all others less is.
_LARGER_IS_BETTER = ("throughput", "completed")


@dataclass(frozen=True, eq=False, kw_only=True)
class MachineRun(Replications, Result):
    """What a machine gives, from independent replications. Times are in the unit of the jobs.

    Estimates have Student intervals over the replications; the names are those of
    `History.summary`, for example ``run["service"]``.
    """

    drawing = Drawing("replication", "turnaround")

    label: str  #: strategy, discipline and network
    unit: str  #: of time: "cycles" with a network, "s" without
    seed: int
    first: History = field(repr=False)  #: what happened in the first replication

    def record(self) -> dict[str, Any]:
        """Return every quantity as an estimate."""
        return {"label": self.label, "unit": self.unit, "seed": self.seed} | super().record()

    def table(self) -> str:
        """Return name, mean, half-width of the interval and unit, one to a line."""
        runs = f"{self.replications} replications, {self.confidence:.0%} intervals"
        lines = [f"{self.label}; {runs if self.replications > 1 else 'one run, no intervals'}"]
        for name, unit in QUANTITIES.items():
            known = self[name]
            unit = "" if unit == "1" else unit.replace("T", self.unit)
            width = f"± {known.half_width:<9.2g} " if self.replications > 1 else ""
            lines.append(f"{name:<16} {known.mean:<12.6g} {width}{unit}".rstrip())
        return "\n".join(lines)


def _quantities() -> dict[str, Quantity]:
    return {name: Quantity(unit, name not in _LARGER_IS_BETTER) for name, unit in QUANTITIES.items()}


@dataclass(frozen=True, eq=False)
class StrategyComparison(Alternatives[str, MachineRun]):
    """Machines that differ in one thing, fed the same jobs."""

    kind = "strategy"
    shown = ("turnaround", "slowdown", "utilisation", "contention", "nodes_affected", "system_balance")

    quantities: Mapping[str, Quantity] = field(default_factory=_quantities, repr=False)

    def unit(self, quantity: str) -> str:
        """Return the unit of a quantity, with that of the jobs' times."""
        return super().unit(quantity).replace("T", next(iter(self.runs.values())).unit)

    def _notes(self, quantity: str) -> list[str]:
        some = next(iter(self.runs.values()))
        runs = f"one run of the same jobs, so no intervals; times in {some.unit}"
        if some.replications > 1:
            runs = (
                f"{some.replications} replications of the same jobs; times in {some.unit}, "
                f"{some.confidence:.0%} intervals of paired differences"
            )
        turned_away = {name: self.mean_of(name, "rejected") for name in self.ranked(quantity)}
        if len(set(turned_away.values())) == 1:
            return [runs]
        said = ", ".join(f"{name} rejected {n:g}" for name, n in turned_away.items() if n)
        return [runs, f"not the same jobs were done: {said} of a run as more than it could ever place"]


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
        instance_of(f"{label!r:.40}", machine, Machine)
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
