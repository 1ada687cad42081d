"""Slowdown of a stage while n programs are in it: the queue at the storage, and what else they share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from phasefit.arrays import Array
from phasefit.checks import check_fields, real_number, share, whole_number
from phasefit.records import Drawing, Result, data_frame
from qmodels.errors import ModelError
from qmodels.networks.product_form import birth_death_weights

if TYPE_CHECKING:
    import pandas as pd

#: Programs up to which a slowdown is computed; beyond it there is an asymptote.
MOST_PROGRAMS: Final = 100_000
#: Numbers of programs by curves that are computed at a time.
_AT_ONCE: Final = 2_000_000


class Curves(NamedTuple):
    """Parameters of many curves at once, (k,) each; the fields are those of `StageCurve`."""

    io_share: Array  #: share of the time alone at the storage
    streams: Array  #: that fill it
    loss: Array  #: by contention
    creep: Array  #: by each further program, of the rest
    level: Array  #: others at which that has come to half of its end

    def slowdown(self, programs: int) -> Array:
        """Return the time of the stage with so many programs in it, over that alone, (k,).

        Parameters
        ----------
        programs : int
            At least one.
        """
        private = (1.0 - self.io_share) * self._private(programs)
        return private + self._residence(programs, private)

    def _private(self, programs: int) -> Array:
        """Stretch of what is not storage."""
        return np.asarray(stretch(self, programs - 1))

    def _residence(self, programs: int, private: Array) -> Array:
        """Time at the storage over that of the stage alone: a closed network, by the arrival theorem."""
        if programs == 1:
            return self.io_share
        found = np.zeros(self.io_share.size)
        users = np.flatnonzero(self.io_share > 0.0)
        for some in np.array_split(users, max(1, users.size * programs // _AT_ONCE)):
            fields = (each[some] for each in (private, self.io_share, self.streams, self.loss))
            found[some] = _residence(programs, *fields)
        return found


def stretch(curve: Curves | StageCurve, others: Any) -> Any:
    """Return by how much longer what is not storage takes, with so many others in the stage.

    Parameters
    ----------
    curve : Curves or StageCurve
        Whose `creep` and `level` tell it.
    others : float or ndarray
        How many there are.
    """
    return 1.0 + curve.creep * others / (1.0 + others / curve.level)


def _residence(programs: int, private: Array, io_share: Array, streams: Array, loss: Array) -> Array:
    """Residence of `Curves` for some curves that use the storage."""
    here = np.arange(1.0, programs + 1.0)
    speed = storage_speed(here, streams[:, None], loss[:, None])
    # A stage that is all storage has no think time: then all are there, all the time.
    think = np.maximum(private, 1e-12)[:, None]
    climb = np.log((programs - here[:-1]) / speed[:, :-1] * io_share[:, None] / think)
    weights = birth_death_weights(climb)
    seen = weights / weights.sum(axis=1, keepdims=True)  # by an arrival, who is not among them
    return np.asarray(io_share * (seen * (here / speed)).sum(axis=1))


def storage_speed(programs: Array, streams: Array | float, loss: Array | float = 0.0) -> Array:
    """Return how much a storage gets done with so many programs at it, in streams.

    Parameters
    ----------
    programs : ndarray
        Programs at the storage.
    streams : ndarray or float
        So many streams at full speed use the whole storage.
    loss : ndarray or float
        What contention takes at most, 0 to 1: with twice as many programs as `streams` half of that.

    Returns
    -------
    ndarray
        ``min(n, c) * (1 - loss * max(1 - c / n, 0))``.

    Examples
    --------
    >>> storage_speed(np.array([1.0, 4.0, 8.0]), 4.0, 0.25)
    array([1. , 4. , 3.5])
    """
    beyond = np.maximum(1.0 - streams / programs, 0.0)
    return np.asarray(np.minimum(programs, streams) * (1.0 - loss * beyond))


@dataclass(frozen=True)
class StageCurve(Result):
    """A stage of a program, alone and with others in the same stage on one storage.

    Parameters
    ----------
    name : str
        Of the stage.
    seconds : float
        Its time alone, above zero.
    io_share : float
        Share of that time in which the program uses the storage, 0 to 1.
    streams : float
        So many streams at their full speed use the whole storage: its total limit over the limit of one
        stream, at least 1; infinite where no number of programs fills it.
    loss : float
        What contention takes beyond that at most, 0 to 1, see `storage_speed`; zero for a storage that only
        fills up.
    creep : float
        By how much each further program stretches what is not storage (memory, caches, clocks).
    level : float
        The stretch ends: with n others it is ``creep * n / (1 + n / level)``.

    Raises
    ------
    ModelError
        If a number is out of its range.

    Notes
    -----
    Programs in the stage alternate between work of their own and the storage, a flow-equivalent server
    that gives each of i streams full speed up to `streams` and shares its total limit beyond. Its mean
    residence is that of a closed network in product form: the same in order of arrival for exponential
    transfers and under processor sharing for any. The time of one stage is taken as the steady state's,
    which is right where a stage has many transfers.

    References
    ----------
    .. [1] Chandy et al. 1975.

    Examples
    --------
    A stage that uses the storage half of the time, which eight streams fill:

    >>> stage = StageCurve("combine", 20.0, io_share=0.5, streams=8.0)
    >>> [round(stage.time(n), 1) for n in (1, 8, 16, 32)]
    [20.0, 20.0, 21.7, 40.0]
    >>> stage.full_at
    16.0
    """

    drawing = Drawing("programs", "seconds", log="x")

    name: str
    seconds: float
    io_share: float = 0.0
    streams: float = math.inf
    loss: float = 0.0
    creep: float = 0.0
    level: float = math.inf

    def __post_init__(self) -> None:
        check_fields(self, real_number, "seconds", above=0.0)
        check_fields(self, share, "io_share")
        check_fields(self, share, "loss", one=False)
        for field, least in (("streams", 1.0), ("level", 0.0)):
            value = getattr(self, field)
            if not (isinstance(value, (int, float)) and value == math.inf):
                object.__setattr__(self, field, real_number(field, value, least=least))
        check_fields(self, real_number, "creep", least=0.0)
        if self.level == 0.0:
            raise ModelError("level must be above zero; set creep to 0 for no stretch")

    @property
    def full_at(self) -> float:
        """So many programs of this stage fill the storage; need not be whole."""
        return math.inf if self.io_share == 0.0 else self.streams / self.io_share

    @property
    def demand(self) -> float:
        """Seconds of the whole storage that the stage asks for."""
        return 0.0 if math.isinf(self.streams) else self.seconds * self.io_share / self.streams

    def slowdown(self, programs: int) -> float:
        """Return the time with so many programs in the stage, over that alone.

        Parameters
        ----------
        programs : int
            At least one, all in this stage.

        Raises
        ------
        ModelError
            If it is out of its range.
        """
        n = whole_number("programs", programs, least=1, most=MOST_PROGRAMS)
        fields = (self.io_share, self.streams, self.loss, self.creep, self.level)
        return float(Curves(*(np.array([x]) for x in fields)).slowdown(n)[0])

    def time(self, programs: int) -> float:
        """Return the mean time of the stage in seconds with so many programs in it.

        Parameters
        ----------
        programs : int
            At least one.
        """
        return self.seconds * self.slowdown(programs)

    def to_frame(self) -> pd.DataFrame:
        """Return the time of the stage for 1, 2, 4, ..., 64 programs."""
        numbers = [2**k for k in range(7)]
        return data_frame({"programs": numbers, "seconds": [self.time(n) for n in numbers]})
