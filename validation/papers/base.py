"""What an experiment is: one published figure or table, run again."""

from __future__ import annotations

import io
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from phasefit.checks import one_of
from phasefit.records import Record
from qmodels.progress import Progress, no_progress
from validation.analysis.comparison import Comparison
from validation.analysis.estimates import Estimate
from validation.sweeps.executors import parallel_map

if TYPE_CHECKING:
    import pandas as pd

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")
_Cell = TypeVar("_Cell", bound=Hashable)

Verdict = Literal["holds", "fails", "undecided"]
HOLDS: Final = "holds"
FAILS: Final = "fails"
UNDECIDED: Final = "undecided"
VERDICTS: Final = (HOLDS, FAILS, UNDECIDED)
#: What a comparison says of the sentence that its first side is better.
_BORNE_OUT: Final[dict[str, Verdict]] = {
    "better": HOLDS,
    "worse": FAILS,
    "undecided": UNDECIDED,
}


@dataclass(frozen=True)
class Finding(Record):
    """A sentence of the source or of our own, and whether this run bears it out.

    A sentence that compares simulated alternatives is decided by the intervals of their paired
    differences, and is undecided where one contains zero. A bound that is set on a figure of a
    table, such as a rank correlation, and a sentence on predictions, which have no noise, either
    holds or fails.

    Raises
    ------
    ModelError
        If the verdict is none of the three words.
    """

    claim: str  #: row of docs/claims.md, such as R-49
    sentence: str
    verdict: Verdict
    detail: str  #: the figures that decided it

    def __post_init__(self) -> None:
        one_of("verdict", self.verdict, VERDICTS)

    @property
    def holds(self) -> bool:
        """Whether the sentence is borne out; an undecided one is not, but does not fail either."""
        return self.verdict == HOLDS

    @property
    def fails(self) -> bool:
        """Whether the sentence is contradicted."""
        return self.verdict == FAILS

    def __str__(self) -> str:
        return f"{self.claim} {self.verdict}: {self.sentence} ({self.detail})"


def whether(holds: bool) -> Verdict:
    """The verdict on a sentence that is plainly true or false.

    Examples
    --------
    >>> whether(2 < 3)
    'holds'
    """
    return HOLDS if holds else FAILS


def all_hold(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict on a sentence with several parts: fails with one of them, holds with all.

    Examples
    --------
    >>> all_hold(["holds", "undecided"]), all_hold(["fails", "undecided"]), all_hold([])
    ('undecided', 'fails', 'undecided')
    """
    known = list(verdicts)
    if FAILS in known:
        return FAILS
    return HOLDS if known and set(known) == {HOLDS} else UNDECIDED


def within(known: Estimate, low: float, high: float) -> Verdict:
    """The verdict on a sentence that a mean lies in [low, high], as far as its interval tells.

    Examples
    --------
    >>> within(Estimate(0.5, 0.1, 0.95, 9), 0.3, 0.7)
    'holds'
    >>> [within(Estimate(0.5, 0.1, 0.95, 9), 0.45, high) for high in (0.7, 0.46)]
    ['undecided', 'undecided']
    >>> within(Estimate(0.5, 0.1, 0.95, 9), 0.7, 0.9)
    'fails'
    """
    if low <= known.low and known.high <= high:
        return HOLDS
    return FAILS if known.high < low or known.low > high else UNDECIDED


def all_better(comparisons: Iterable[Comparison]) -> Verdict:
    """The verdict on a sentence that the first of each comparison is better."""
    return all_hold(_BORNE_OUT[each.verdict] for each in comparisons)


def all_below_zero(*differences: Estimate) -> Verdict:
    """Whether all of some differences are negative, as far as their intervals tell.

    Examples
    --------
    >>> faster, unclear = Estimate(-2.0, 1.0, 0.95, 9), Estimate(-0.5, 1.0, 0.95, 9)
    >>> all_below_zero(faster), all_below_zero(faster, unclear)
    ('holds', 'undecided')
    """
    return all_better(Comparison(x, smaller_is_better=True) for x in differences)


def all_above_zero(*differences: Estimate) -> Verdict:
    """Whether all of some differences are positive; see `all_below_zero`."""
    return all_better(Comparison(x, smaller_is_better=False) for x in differences)


@dataclass(frozen=True, eq=False)
class Outcome(Record):
    """What one run of an experiment found."""

    table: pd.DataFrame  #: one row for each point; predictions and simulations in columns
    findings: tuple[Finding, ...]
    figure: Callable[[], Any]  #: draws `table`, on a matplotlib Figure


def published_table(name: str, **reading: Any) -> pd.DataFrame:
    """A table that a paper prints, from `published`, without the comments above it.

    Parameters
    ----------
    name : str
        Of the file. Written out where it is read: the version of the code counts the tables so named.
    **reading : object
        As for `pandas.read_csv`.
    """
    import pandas as pd

    file = files("validation.papers") / "published" / name
    table: pd.DataFrame = pd.read_csv(io.StringIO(file.read_text(encoding="utf-8")), comment="#", **reading)
    return table


class SharedRuns:
    """Results that the experiments of one command share, each computed once.

    Figures of one paper often show the same simulations. Whoever runs several experiments gives
    them one of these, and what one has simulated the next finds; nothing outlives it.

    Examples
    --------
    >>> shared = SharedRuns()
    >>> shared.keep(("cell", 1), 5.0)
    >>> shared.known(("cell", 1)), shared.known(("cell", 2))
    (5.0, None)
    """

    def __init__(self) -> None:
        self._results: dict[Hashable, Any] = {}

    def known(self, key: Hashable) -> Any:
        """The result kept under `key`, or None."""
        return self._results.get(key)

    def keep(self, key: Hashable, result: Any) -> None:
        """Keep a result under a key that holds everything it depends on, the seed included."""
        self._results[key] = result

    def all_of(
        self, keys: Mapping[_Cell, Hashable], make: Callable[[list[_Cell]], Iterable[Any]]
    ) -> dict[_Cell, Any]:
        """Return the results of all cells, those that are not known made and kept.

        Parameters
        ----------
        keys : mapping
            The key of each cell, see `keep`.
        make : callable
            Makes the results of some cells, in their order.

        Examples
        --------
        >>> shared = SharedRuns()
        >>> shared.keep("two", 4)
        >>> shared.all_of({2: "two", 3: "three"}, lambda missing: [k * k for k in missing])
        {2: 4, 3: 9}
        """
        missing = [cell for cell, key in keys.items() if self.known(key) is None]
        for cell, result in zip(missing, make(missing), strict=True):
            self.keep(keys[cell], result)
        return {cell: self.known(key) for cell, key in keys.items()}


@dataclass(frozen=True)
class RunOptions:
    """How an experiment is to be run.

    A quick run goes through every part of the experiment and loosens only the intervals and the
    number of simulated points, so that a test can afford it.
    """

    seed: int = 0
    quick: bool = False
    workers: int | None = None
    progress: Progress = no_progress
    #: Who works instead of threads and processes of the experiment's own, such as executors that
    #: remember what an earlier run has done; results do not depend on them.
    threads: Executor | None = field(default=None, compare=False, repr=False)
    processes: Executor | None = field(default=None, compare=False, repr=False)
    #: What experiments run with the same options share; options of their own share nothing.
    shared: SharedRuns = field(default_factory=SharedRuns, compare=False, repr=False)

    @property
    def by_processes(self) -> dict[str, Any]:
        """Who does what is written in Python, as keywords; a quick run is too short for processes."""
        return {"workers": 1 if self.quick else self.workers, "executor": self.processes}

    @property
    def by_threads(self) -> dict[str, Any]:
        """Who does what is compiled, as keywords."""
        return {"workers": self.workers, "executor": self.threads}

    def spread(
        self, function: Callable[[_Task], _Result], tasks: Sequence[_Task], what: str
    ) -> list[_Result]:
        """Call a function on every task and report progress under `what`; see `parallel_map`."""
        return parallel_map(function, tasks, **self.by_processes, progress=self.progress, what=what)


@dataclass(frozen=True)
class Experiment(Record):
    """One figure or table: where it was published and how to run it again."""

    name: str  #: argument of ``qmodels validate``
    source: str  #: paper, figure or section
    claim: str  #: the sentence this figure supports, in the authors' sense
    run: Callable[[RunOptions], Outcome]

    @property
    def module(self) -> str:
        """Name of the module that runs it, on whose source its results hang."""
        return str(getattr(self.run, "func", self.run).__module__)
