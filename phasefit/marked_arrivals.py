"""Arrivals of several kinds from one process, so that kinds may come together or by turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phasefit import sampling
from phasefit.arrays import Array
from phasefit.arrival_process import MAP
from phasefit.checks import real_array, whole_number, within_order
from phasefit.errors import ModelError
from phasefit.phase_type import PhaseType
from phasefit.records import Record
from phasefit.sampling import RandomState


@dataclass(frozen=True, eq=False)
class MarkedMAP(Record):
    """Markovian arrival process whose events have one of several kinds: MMAP(D0; D1, ..., DK).

    Parameters
    ----------
    D0 : (n, n) array_like
        Rates of the jumps without an event, per second; the diagonal makes all rows sum to zero.
    marks : sequence of (n, n) array_like
        Rates of the jumps with an event of the first, second, ... kind, per second.

    Raises
    ------
    ModelError
        If these are no such matrices, or a kind never comes.

    References
    ----------
    .. [1] Q.-M. He, M. F. Neuts, "Markov chains with marked transitions", *Stoch. Process. Appl.* 74
       (1998) 37-52.

    Examples
    --------
    Urgent jobs come while others do not:

    >>> turns = MarkedMAP([[-2.0, 1.0], [1.0, -3.0]], [[[1.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 2.0]]])
    >>> turns.rates
    array([0.5, 1. ])
    >>> round(turns.of_kind(1).scv, 3)
    2.0
    """

    D0: Array
    marks: tuple[Array, ...]

    def __post_init__(self) -> None:
        marks = tuple(real_array(f"marks[{k}]", each) for k, each in enumerate(self.marks))
        D0 = real_array("D0", self.D0)
        if not marks:
            raise ModelError("marks must be one or more matrices, one for each kind")
        for k, each in enumerate(marks):
            if each.shape != D0.shape:
                raise ModelError(f"marks[{k}] must have the shape of D0, {D0.shape}, got {each.shape}")
            if each.size and each.min() < 0.0:
                raise ModelError(f"marks[{k}] must be >= 0, got {each.min():.6g}")
        whole = MAP(D0, np.sum(marks, axis=0))
        for array in marks:
            array.flags.writeable = False
        object.__setattr__(self, "D0", whole.D0)
        object.__setattr__(self, "marks", marks)
        object.__setattr__(self, "_whole", whole)
        if self.rates.min() <= 0.0:
            raise ModelError(f"events of kind {int(self.rates.argmin())} never come; leave the kind out")

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for array in self.marks:  # copies made by pickle can be written
            array.flags.writeable = False

    @classmethod
    def separate(cls, processes: Sequence[MAP | PhaseType]) -> MarkedMAP:
        """Return independent processes side by side, the kind of an event being whose it is.

        Parameters
        ----------
        processes : sequence of MAP or PhaseType
            One for each kind; a law is that of the gaps, in seconds. The order is the product of theirs.

        Raises
        ------
        ModelError
            If one of them is neither, or the order would exceed 4000.
        """
        maps = []
        for each in processes:
            if not isinstance(each, MAP | PhaseType):
                raise ModelError(f"processes must be MAPs or laws of gaps, got {each!r:.60}")
            maps.append(MAP.from_phase_type(each) if isinstance(each, PhaseType) else each)
        if not maps:
            raise ModelError("processes must be one or more, one for each kind")
        sizes = [each.order for each in maps]
        within_order("the processes side by side", int(np.prod(sizes)))
        jumps, marks = np.zeros((1, 1)), []
        for k, each in enumerate(maps):
            before, after = np.eye(int(np.prod(sizes[:k]))), np.eye(int(np.prod(sizes[k + 1 :])))
            marks.append(np.kron(np.kron(before, each.D1), after))
            jumps = np.kron(jumps, np.eye(each.order)) + np.kron(before, each.jumps)
        exits = jumps.sum(axis=1) + np.sum(marks, axis=(0, 2))
        return cls(jumps - np.diag(exits), tuple(marks))

    @property
    def order(self) -> int:
        """Number of phases."""
        return len(self.D0)

    @property
    def all_events(self) -> MAP:
        """Events of all kinds as one process."""
        whole: MAP = self.__dict__["_whole"]
        return whole

    @cached_property
    def rates(self) -> Array:
        """Events per second by kind, in the long run; (kinds,)."""
        return np.array([float(self.all_events.phases @ each.sum(axis=1)) for each in self.marks])

    def of_kind(self, k: int) -> MAP:
        """Return the events of one kind alone.

        Parameters
        ----------
        k : int
            Kind, 0 the first.

        Raises
        ------
        ModelError
            If there is no such kind.
        """
        if whole_number("k", k, least=0) >= len(self.marks):
            raise ModelError(f"there are {len(self.marks)} kinds, 0 the first; got {k}")
        silent = self.all_events.jumps + np.sum(self.marks, axis=0) - self.marks[k]
        np.fill_diagonal(silent, 0.0)
        return MAP.from_rates(silent, self.marks[k])

    def rvs(self, size: int, random_state: RandomState = None) -> tuple[Array, NDArray[np.int64]]:
        """Draw successive gaps and the kinds of the events that end them.

        Parameters
        ----------
        size : int
            Number of events.
        random_state : None, int, numpy Generator or RandomState
            Where randomness comes from; None takes fresh entropy.

        Returns
        -------
        (size,) ndarray
            Gaps in seconds, the first one after an event of the long run.
        (size,) ndarray of int
            Kind of each event, 0 the first.
        """
        count = whole_number("size", size, least=0)
        rng = sampling.generator("random_state", random_state)
        whole = self.all_events
        return sampling.draw_events(whole.jumps, list(self.marks), whole.after_event, count, rng)

    def record(self) -> dict[str, Any]:
        """Return kinds, order and rates."""
        return {"kinds": len(self.marks), "order": self.order, "rates": self.rates}
