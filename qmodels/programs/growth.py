"""Growth laws g(p, d): how the sequential part of a burst grows with processors and disks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from phasefit.arrays import Array
from qmodels.errors import ModelError
from qmodels.programs.laws import function_values
from qmodels.words import cut

_GROWTHS: dict[str, Callable[[Array, Array], Array]] = {
    "p-1": lambda p, d: p - 1.0,
    "log2(p)": lambda p, d: np.log2(p),
    "sqrt(p)-1": lambda p, d: np.sqrt(p) - 1.0,
    "d-1": lambda p, d: d - 1.0,
}

GROWTHS = tuple(_GROWTHS)  #: texts of the growth laws that have one

_ROUNDING = 1e-12  # by which a caller's g(1, 1) may miss zero
_LONGEST = 80


@dataclass(frozen=True)
class NamedGrowth:
    """A growth law that has a text, one of `GROWTHS`; see `parse_growth`."""

    text: str  #: one of `GROWTHS`

    def __post_init__(self) -> None:
        if not isinstance(self.text, str) or self.text not in _GROWTHS:
            raise ModelError(f"unknown growth law {cut(repr(self.text), _LONGEST)}; {_CHOICE}")

    def __call__(self, p: Array, d: Array) -> Array:
        """Return g(p, d)."""
        return _GROWTHS[self.text](p, d)

    def __str__(self) -> str:
        return self.text


AnyGrowth = NamedGrowth | Callable[[Any, Any], Any]

_CHOICE = f"write one of: {'; '.join(GROWTHS)}"


def parse_growth(text: str) -> NamedGrowth:
    """Read a growth law from its text.

    Parameters
    ----------
    text : str
        One of ``p-1`` (point-to-point messages in turn), ``log2(p)`` (a reduction tree),
        ``sqrt(p)-1`` (the edges of a square mesh), ``d-1`` (opening one disk after the other).
        Blanks do not matter.

    Returns
    -------
    growth : NamedGrowth
        Callable g(p, d) >= 0 for p, d >= 1, with g(1, 1) = 0; ``str(growth)`` is its text.

    Raises
    ------
    ModelError
        If the text is none of these.

    Examples
    --------
    >>> growth = parse_growth("log2( p )")
    >>> str(growth), float(growth(8.0, 1.0))
    ('log2(p)', 3.0)
    """
    if not isinstance(text, str):
        raise ModelError(f"a growth law is a text like 'p-1', got {type(text).__name__}")
    bare = text.replace(" ", "") if len(text) <= _LONGEST else text
    return NamedGrowth(bare)


def checked_growth(name: str, growth: object) -> AnyGrowth:
    """Return a growth law given as text or as a callable g(p, d) with g(1, 1) = 0.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    growth : str or callable
        The growth law.

    Raises
    ------
    ModelError
        If it is neither, or not 0 at (1, 1).
    """
    if isinstance(growth, str):
        return parse_growth(growth)
    if not callable(growth) or isinstance(growth, type):
        raise ModelError(f"{name} must be a text like 'p-1' or g(p, d), got {cut(repr(growth), _LONGEST)}")
    at_one = evaluate_growth(growth, np.asarray(1.0), np.asarray(1.0))
    if at_one > _ROUNDING:
        raise ModelError(
            f"{name} must be 0 on one processor and one disk, where sequential is all there is; "
            f"got g(1, 1) = {float(at_one):.6g}; subtract it"
        )
    return growth


def evaluate_growth(growth: AnyGrowth, p: Array, d: Array) -> Array:
    """Return g(p, d), checked; an allotment of less than one counts as one.

    Fewer than one processor only occurs as a mean partition; overhead does not shrink there.

    Parameters
    ----------
    growth : callable
        The growth law g(p, d).
    p, d : ndarray
        Processors and disks, of shapes that broadcast.

    Raises
    ------
    ModelError
        If it answers nonsense.
    """
    at_least_one = np.maximum(p, 1.0), np.maximum(d, 1.0)
    g = function_values(f"the growth law {growth}", growth, *at_least_one)
    if np.any(g < -_ROUNDING) or np.any(g > 1e30):
        worst = g.min() if g.min() < -_ROUNDING else g.max()
        raise ModelError(f"the growth law {growth} answered {worst:.6g}; it must be from 0 to 1e30")
    return np.maximum(g, 0.0)
