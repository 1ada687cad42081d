"""What an experiment is: one published figure or table, run again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from qmodels.progress import Progress

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Finding:
    """A sentence of the source or of our own, and whether this run bears it out."""

    claim: str  #: row of docs/claims.md, such as R-49
    sentence: str
    holds: bool
    detail: str  #: the figures that decided it

    def __str__(self) -> str:
        return f"{self.claim} {'holds' if self.holds else 'FAILS'}: {self.sentence} ({self.detail})"


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one run of an experiment found."""

    table: pd.DataFrame  #: one row for each point; predictions and simulations in columns
    findings: tuple[Finding, ...]
    figure: Callable[[], Any]  #: draws `table`, on a matplotlib Figure


@dataclass(frozen=True)
class RunOptions:
    """How an experiment is to be run.

    A quick run goes through every part of the experiment and loosens only the intervals and the
    number of simulated points, so that a test can afford it.
    """

    seed: int = 0
    quick: bool = False
    workers: int | None = None
    progress: Progress = lambda what, done, total: None


@dataclass(frozen=True)
class Experiment:
    """One figure or table: where it was published and how to run it again."""

    name: str  #: argument of ``qmodels validate``
    source: str  #: paper, figure or section
    claim: str  #: the sentence this figure supports, in the authors' sense
    run: Callable[[RunOptions], Outcome]
