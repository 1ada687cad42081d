"""Malleable policies by name: how many processors each job gets, and what a site must know for it."""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from phasefit.arrays import Array, Ints
from phasefit.records import Record
from qmodels.errors import ModelError
from qmodels.registry import Registry


@dataclass(frozen=True, eq=False)
class InSystem:
    """The jobs in the system of many replications at once, r replications of n places each."""

    processors: float  #: of the machine
    here: NDArray[np.bool_]  #: (r, n) whether a place holds a job
    order: Ints  #: (r, n) number of the job by arrival; any where there is none
    left: Array  #: (r, n) work that the job still asks for, seconds on one processor
    curve: Ints  #: (r, n) which of the speed curves its phase follows
    need: Array  #: (r, n) processors of a rigid job
    curves: tuple[Callable[[Array], Array], ...] = ()  #: the speed curves

    @property
    def count(self) -> Array:
        """(r, 1) jobs in the system."""
        return np.asarray(self.here.sum(axis=1, keepdims=True), dtype=float)

    def ranks(self, *keys: Array, among: NDArray[np.bool_] | None = None) -> Array:
        """Return the place of each job, 0 for the first, by keys of which the last counts most.

        Parameters
        ----------
        *keys : (r, n) ndarray
            Smaller comes first; equal ones go by arrival.
        among : (r, n) ndarray of bool, optional
            Those that are ranked, all in the system by default; others come behind them.
        """
        chosen = self.here if among is None else among
        by = np.lexsort((self.order, *keys, ~chosen), axis=1)
        ranks = np.empty_like(by)
        np.put_along_axis(ranks, by, np.arange(by.shape[1])[None, :], axis=1)
        return np.asarray(np.where(chosen, ranks, by.shape[1]), dtype=float)


class AbstractMalleable(Record, abc.ABC):
    """A rule by which processors move among the jobs in the system, at any moment and without cost.

    A subclass is a frozen dataclass in a file of its own; enter it with `register`.
    """

    name: ClassVar[str]  #: by which files and commands call it
    #: What a site must know or be able to do before it can run the policy.
    needs: ClassVar[str]
    #: What it does, in a sentence for a reader who has never heard of it.
    legend: ClassVar[str]

    @property
    def label(self) -> str:
        """Name and parameters."""
        return self.name

    @abc.abstractmethod
    def shares(self, jobs: InSystem) -> Array:
        """Return the processors of each job, (r, n), zero or more, at most all of them together.

        Parameters
        ----------
        jobs : InSystem
            The jobs in the system of each replication.
        """


def _check(kind: type[AbstractMalleable]) -> None:
    if not is_dataclass(kind):
        raise ModelError(f"malleable policy {kind.__qualname__} must be a frozen dataclass")


#: Every malleable policy by its name.
MALLEABLE: Final[Registry[AbstractMalleable]] = Registry(AbstractMalleable, "malleable policy", check=_check)

register = MALLEABLE.register
