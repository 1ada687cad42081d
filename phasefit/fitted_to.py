"""Data that a law was fitted to, kept beside it, so that its user can tell how far it is from them.

A law of given numbers is what it says. A fitted one stands for data, and what is computed of it,
however exactly, is off by as much as the law is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from phasefit.arrays import Array, Ints, read_only
from phasefit.checks import real_vector
from phasefit.errors import ModelError
from phasefit.records import Record


@dataclass(frozen=True, eq=False)
class FittedTo(Record):
    """Data that a law, or a process of arrivals, was fitted to.

    Parameters
    ----------
    values : (n,) array_like or None
        In the order of time, not negative; None where they are not known any more.
    how : str
        What was fitted to them, in words.
    source : str
        Where they come from. Laws of one source with as many values are of the same jobs: the
        first gap is that before the job of the first size.
    unit : float
        What a value of 1 is in the unit of the law.
    labels : (n,) ndarray of int, optional
        Whose each value is, such as the number of the user who submitted a job.

    Raises
    ------
    ModelError
        If a value is negative or no finite number, or there is another number of labels.

    Examples
    --------
    >>> data = FittedTo([1.0, 2.0, 6.0], how="two moments", source="jobs.swf")
    >>> data.size, data.scaled(60.0).times
    (3, array([ 60., 120., 360.]))
    """

    values: Array | None
    how: str = ""
    source: str = ""
    unit: float = 1.0
    labels: Ints | None = field(default=None, repr=False)
    #: what was computed of the values, by name; one for all units
    kept: dict[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.values is None:
            return
        values = real_vector("values", self.values, least=0.0)
        if self.labels is not None and self.labels.shape != values.shape:
            raise ModelError(f"{self.labels.size} labels for {values.size} values; give one each")
        object.__setattr__(self, "values", read_only(values))

    @property
    def size(self) -> int:
        """Number of values; 0 where they are not known."""
        return 0 if self.values is None else self.values.size

    @property
    def times(self) -> Array:
        """Return the values in the unit of the law.

        Raises
        ------
        ModelError
            If they are not known.
        """
        if self.values is None:
            raise ModelError("the data that the law was fitted to are not known any more")
        return self.values if self.unit == 1.0 else self.values * self.unit

    def scaled(self, c: float) -> FittedTo:
        """Return the same data in a unit in which all values are `c` times as large.

        Parameters
        ----------
        c : float
            Above zero.
        """
        return self._replaced(self.values, self.unit * c)

    def forgotten(self) -> FittedTo:
        """Return the origin without its values, as a law made of fitted laws keeps it."""
        return self._replaced(None, 1.0)

    def _replaced(self, values: Array | None, unit: float) -> FittedTo:
        """The same with other fields; the values, which have been checked, are not copied."""
        made = object.__new__(FittedTo)
        kept = {} if values is None else self.kept
        labels = None if values is None else self.labels
        made.__dict__.update(
            values=values, how=self.how, source=self.source, unit=unit, labels=labels, kept=kept
        )
        return made

    def record(self) -> dict[str, Any]:
        """Return the number of values, their source and the fit; the values are in `values`."""
        return {"how": self.how, "source": self.source, "size": self.size}


class FromData:
    """A law or a process that may have been fitted to data, and then remembers to which."""

    #: Fields that a pickle holds, beside the data; all else follows from them.
    _pickled: ClassVar[tuple[str, ...]]

    def __getstate__(self) -> dict[str, Any]:
        names = (*self._pickled, "_fitted_to")
        return {name: self.__dict__[name] for name in names if name in self.__dict__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for value in state.values():
            if isinstance(value, np.ndarray):  # copies made by pickle can be written
                value.flags.writeable = False

    @property
    def fitted_to(self) -> FittedTo | None:
        """Data that it was fitted to; None of one that was given by its numbers."""
        origin: FittedTo | None = self.__dict__.get("_fitted_to")
        return origin

    def with_data(
        self, values: ArrayLike, *, how: str = "", source: str = "", labels: Ints | None = None
    ) -> Self:
        """Return the same, marked as fitted to data; what is predicted of it then says so.

        Parameters
        ----------
        values : (n,) array_like
            In the unit of the law and in the order of time.
        how, source : str
            See `FittedTo`.
        labels : (n,) ndarray of int, optional
            See `FittedTo`.

        Raises
        ------
        ModelError
            As for `FittedTo`.
        """
        return self._with_origin(FittedTo(values, how=how, source=source, labels=labels))  # type: ignore[arg-type]

    def _with_origin(self, origin: FittedTo | None) -> Self:
        """The same with these data, or this very one where there are none."""
        if origin is None:
            return self
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        made.__dict__["_fitted_to"] = origin
        return made


def origin_of(*parts: FromData) -> FittedTo | None:
    """Return the origin of a law made of others: forgotten data, or None where none was fitted.

    Parameters
    ----------
    *parts : FromData
        The laws and processes that it was made of.
    """
    for part in parts:
        if part.fitted_to is not None:
            return part.fitted_to.forgotten()
    return None
