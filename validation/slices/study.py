"""What contiguity costs a pod, and what letting jobs overtake gives: strategies side by side."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from phasefit.records import Record, Result
from qmodels.errors import ModelError
from qmodels.progress import Progress, no_progress
from validation.analysis.alternatives import Alternatives, Quantity
from validation.jobs.stream import AbstractStreams
from validation.slices.placement import discipline_name, is_contiguous, strategy_name, usual_strategies
from validation.slices.pod import Pod, SliceMix
from validation.slices.results import SliceSimulation
from validation.slices.simulator import simulate_slices

if TYPE_CHECKING:
    import pandas as pd

#: Disciplines that are compared where none are named.
USUAL_DISCIPLINES: Final = ("FCFS", "first-fit", "EASY-places")
#: Jobs that wait in a full queue: about what a pod of 64 blocks shows at a time.
_BACKLOG: Final = 50


@dataclass(frozen=True)
class Ways(Record):
    """One strategy under one discipline."""

    strategy: str
    discipline: str
    full: SliceSimulation | None  #: with a full queue; None for streams, and where nobody waits
    loaded: SliceSimulation  #: at the load

    @property
    def name(self) -> tuple[str, str]:
        """Strategy and discipline."""
        return self.strategy, self.discipline


@dataclass(frozen=True)
class SliceStudy(Result):
    """All strategies under all disciplines, on the same jobs."""

    pod: Pod
    jobs: str  #: what they are, in words
    unit: str  #: of time: "s", or "holding times" where they have mean one
    load: float
    strategies: tuple[str, ...]
    disciplines: tuple[str, ...]
    ways: tuple[Ways, ...]
    refusing: tuple[SliceSimulation, ...]  #: of each strategy, where nobody waits
    notes: tuple[str, ...] = ()

    def of(self, strategy: str, discipline: str) -> Ways:
        """The strategy under the discipline."""
        return next(way for way in self.ways if way.name == (strategy, discipline))

    @property
    def full(self) -> Alternatives[tuple[str, str], SliceSimulation]:
        """Strategies and disciplines with a full queue, by what they keep busy."""
        runs = {way.name: way.full for way in self.ways if way.full is not None}
        return Alternatives(runs, {"utilisation": Quantity(smaller_is_better=False)})

    @property
    def loaded(self) -> Alternatives[tuple[str, str], SliceSimulation]:
        """Strategies and disciplines at the load, by the mean wait; where queues grow it is none."""
        return Alternatives({way.name: way.loaded for way in self.ways}, {"wait": Quantity(self.unit)})

    @property
    def contiguous(self) -> tuple[str, ...]:
        """Strategies that give boxes."""
        return tuple(name for name in self.strategies if is_contiguous(name))

    def plot(self, ax: Any = None) -> Any:
        """Draw what each strategy keeps busy; see `validation.slices.plotting`."""
        from validation.slices.plotting import largest_utilisation

        return largest_utilisation(self, ax)

    def record(self) -> dict[str, Any]:
        """A row for each strategy, discipline and slice."""
        return {"load": self.load, "slices": self.to_frame(), "notes": self.notes}

    def to_frame(self) -> pd.DataFrame:
        """Rows of `SliceSimulation.to_frame` for all of it; `queue` says how jobs came."""
        import pandas as pd

        frames = []
        for way in self.ways:
            if way.full is not None:
                frames.append(way.full.to_frame().assign(queue="full"))
            frames.append(way.loaded.to_frame().assign(queue="at the load"))
        frames += [run.to_frame().assign(queue="at the load") for run in self.refusing]
        # Columns of nothing have no type of their own.
        return pd.concat([frame.astype(object) for frame in frames], ignore_index=True)


def compare_slices(
    pod: Pod,
    jobs: SliceMix | AbstractStreams | str = "halving",
    load: float | None = 0.5,
    *,
    strategies: Sequence[str] | None = None,
    disciplines: Sequence[str] = USUAL_DISCIPLINES,
    count: int = 4000,
    replications: int = 8,
    processors: int = 1,
    unit: str = "holding times",
    title: str | None = None,
    notes: Sequence[str] = (),
    seed: int = 0,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> SliceStudy:
    """Play the same jobs under several strategies and disciplines.

    Parameters
    ----------
    pod, jobs, load, count, replications, processors, seed, workers, executor
        As for `simulate_slices`; streams take no load.
    strategies, disciplines : sequence of str
        Each strategy under each discipline; where nobody waits ("loss") is played besides. By
        default `usual_strategies` and `USUAL_DISCIPLINES`.
    unit : str
        Of the times of the jobs.
    title : str, optional
        What the jobs are, in words.
    notes : sequence of str
        What a reader should know of the jobs.
    progress : callable
        Called as ``progress("simulations", done, all)``.

    Returns
    -------
    SliceStudy

    Raises
    ------
    ModelError
        If a name is none, comes twice, or an argument is out of its range.
    """
    asked = usual_strategies(pod) if strategies is None else strategies
    names, orders = _names("strategies", asked), _names("disciplines", disciplines)
    streams = isinstance(jobs, AbstractStreams)
    if not streams and load is None:
        raise ModelError("give a load")
    report = no_progress if progress is None else progress
    every = len(names) * (len(orders) * (1 if streams else 2) + 1)
    done = 0

    def played(strategy: str, discipline: str, at: float | None) -> SliceSimulation:
        nonlocal done
        found = simulate_slices(
            pod,
            jobs,
            at,
            strategy=strategy,
            discipline=discipline,
            count=count,
            backlog=_BACKLOG,
            replications=replications,
            processors=processors,
            seed=seed,
            workers=workers,
            executor=executor,
        )
        done += 1
        report("simulations", done, every)
        return found

    at = None if streams else load
    ways = [
        Ways(
            strategy,
            discipline,
            None if streams else played(strategy, discipline, None),
            played(strategy, discipline, at),
        )
        for strategy in names
        for discipline in orders
    ]
    refusing = [played(strategy, "loss", at) for strategy in names]
    own = ways[0].loaded.load
    assert own is not None
    if title is None:
        title = jobs.name if isinstance(jobs, SliceMix) else str(jobs)
    return SliceStudy(pod, title, unit, own, names, orders, tuple(ways), tuple(refusing), tuple(notes))


def _names(what: str, given: Sequence[str]) -> tuple[str, ...]:
    spell = strategy_name if what == "strategies" else discipline_name
    names = tuple(spell(name) for name in given)
    if not names:
        raise ModelError(f"{what}: name at least one")
    for at, name in enumerate(names):
        if name in names[:at]:
            raise ModelError(f"{what}: {name} is named twice; drop one")
    if "loss" in names:
        raise ModelError("disciplines: where nobody waits (loss) is played anyway; leave it out")
    return names
