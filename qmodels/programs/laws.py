"""Scaling laws h(p, d): how many times faster the parallel part runs on p processors and d disks.

A law has a text and can be read back from it, so that a scenario file can name it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from phasefit.arrays import Array
from phasefit.checks import real_array
from qmodels.errors import ModelError
from qmodels.programs.quantities import positive
from qmodels.words import cut

LEAST_UNITS, MOST_UNITS = 1e-6, 1e12  #: processors or disks of an allotment


@dataclass(frozen=True)
class OverProcessors:
    """Scaling law h = p: the work divides over the processors. Text ``p``."""

    def __call__(self, p: Array, d: Array) -> Array:
        """Return h(p, d)."""
        return p + 0.0 * d

    def __str__(self) -> str:
        return "p"


@dataclass(frozen=True)
class OverDisks:
    """Scaling law h = d: the work divides over the disks. Text ``d``."""

    def __call__(self, p: Array, d: Array) -> Array:
        """Return h(p, d)."""
        return d + 0.0 * p

    def __str__(self) -> str:
        return "d"


@dataclass(frozen=True)
class OverFedDisks:
    """Scaling law h = min(d, p/R): as many disks as the processors can feed. Text ``min(d, p/R)``.

    Parameters
    ----------
    processors_per_disk : float
        R, how many processors it takes to keep one disk busy.
    """

    processors_per_disk: float

    def __post_init__(self) -> None:
        r = positive("processors per disk R", self.processors_per_disk, least=1e-6, most=1e6)
        object.__setattr__(self, "processors_per_disk", r)

    def __call__(self, p: Array, d: Array) -> Array:
        """Return h(p, d)."""
        return np.minimum(d, p / self.processors_per_disk)

    def __str__(self) -> str:
        return f"min(d, p/{_text(self.processors_per_disk)})"


@dataclass(frozen=True)
class WithContention:
    """Scaling law h = p/(1 + C (p - 1)): one processor at a time does a share C of the work.

    Text ``p/(1+C*(p-1))``; C = 0 is ``p``, C = 1 does not scale.
    """

    contention: float  #: C, from 0 to 1

    def __post_init__(self) -> None:
        if isinstance(self.contention, bool) or self.contention != 0:
            positive("contention C", self.contention, least=1e-18, most=1.0, why=" or 0")
        object.__setattr__(self, "contention", float(self.contention))

    def __call__(self, p: Array, d: Array) -> Array:
        """Return h(p, d)."""
        return p / (1.0 + self.contention * (p - 1.0)) + 0.0 * d

    def __str__(self) -> str:
        return f"p/(1+{_text(self.contention)}*(p-1))"


@dataclass(frozen=True)
class Unscaled:
    """Scaling law h = 1: no allotment makes it faster. Text ``1``."""

    def __call__(self, p: Array, d: Array) -> Array:
        """Return h(p, d)."""
        return 1.0 + 0.0 * p + 0.0 * d

    def __str__(self) -> str:
        return "1"


ScalingLaw = OverProcessors | OverDisks | OverFedDisks | WithContention | Unscaled
AnyLaw = ScalingLaw | Callable[[Any, Any], Any]

GRAMMAR = ("p", "d", "min(d, p/R)", "p/(1+C*(p-1))", "1")

_NUMBER = r"((?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?)"
_FED = re.compile(rf"min\( *d *, *p */ *{_NUMBER} *\)", re.ASCII)
_CONTENDED = re.compile(rf"p */ *\( *1 *\+ *{_NUMBER} *\* *\( *p *- *1 *\) *\)", re.ASCII)
_PLAIN: dict[str, ScalingLaw] = {"p": OverProcessors(), "d": OverDisks(), "1": Unscaled()}
_LONGEST = 80


def parse_law(text: str) -> ScalingLaw:
    """Read a scaling law from its text.

    Parameters
    ----------
    text : str
        One of ``p``, ``d``, ``min(d, p/R)``, ``p/(1+C*(p-1))``, ``1``, with a decimal number
        for R (processors per disk) or C (contention, 0 to 1). Blanks do not matter.

    Returns
    -------
    law : ScalingLaw
        Callable h(p, d); ``str(law)`` is its text.

    Raises
    ------
    ModelError
        If the text is none of these, or its number is out of range.

    Notes
    -----
    Matched by regular expressions; nothing is ever evaluated. ``p/(1+C*(p-1))`` is Amdahl's
    law with C the sequential fraction [1]_.

    References
    ----------
    .. [1] Amdahl 1967.

    Examples
    --------
    >>> law = parse_law("min(d,p/4)")
    >>> str(law), float(law(p=6, d=2))
    ('min(d, p/4)', 1.5)
    """
    if not isinstance(text, str):
        raise ModelError(f"a scaling law is a text like {GRAMMAR[2]!r}, got {type(text).__name__}")
    bare = text.strip(" ")
    if bare in _PLAIN:
        return _PLAIN[bare]
    if len(bare) <= _LONGEST:
        if match := _FED.fullmatch(bare):
            return OverFedDisks(float(match[1]))
        if match := _CONTENDED.fullmatch(bare):
            return WithContention(float(match[1]))
    shown = repr(cut(text, _LONGEST))
    raise ModelError(f"unknown scaling law {shown}; write one of: {'; '.join(GRAMMAR)}")


def checked_law(name: str, law: object) -> AnyLaw:
    """Return a law given as text or as a callable h(p, d).

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    law : str or callable
        The scaling law.

    Raises
    ------
    ModelError
        If it is neither.
    """
    if isinstance(law, str):
        return parse_law(law)
    if not callable(law) or isinstance(law, type):
        raise ModelError(f"{name} must be a text like {GRAMMAR[2]!r} or h(p, d), got {law!r:.60}")
    return law


def evaluate(law: AnyLaw, p: Array, d: Array) -> Array:
    """Return h(p, d), checked: a caller's own function may answer nonsense.

    Parameters
    ----------
    law : callable
        The scaling law h(p, d).
    p, d : ndarray
        Processors and disks, of shapes that broadcast.

    Raises
    ------
    ModelError
        If it answers nonsense.
    """
    h = function_values(f"the scaling law {law}", law, p, d)
    if np.any(h < 1e-30) or np.any(h > 1e30):
        worst = h.min() if h.min() < 1e-30 else h.max()
        raise ModelError(f"the scaling law {law} answered {worst:.6g}; it must be from 1e-30 to 1e30")
    return h


def function_values(what: str, function: Callable[[Array, Array], object], p: Array, d: Array) -> Array:
    """Return the values of a caller's own function on allotments, in their common shape.

    Parameters
    ----------
    what : str
        Name of the function, as the subject of the message.
    function : callable
        Of processors and disks.
    p, d : ndarray
        Processors and disks, of shapes that broadcast.

    Raises
    ------
    ModelError
        If it is no function of them, or answers something of another shape or no numbers.
    """
    try:
        answer = function(p, d)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise ModelError(f"{what} is no function of p and d: {error}") from error
    values = real_array(what, answer)  # type: ignore[arg-type]
    shape = np.broadcast_shapes(p.shape, d.shape)
    try:
        return np.broadcast_to(values, shape)
    except ValueError:
        raise ModelError(f"{what} answered shape {values.shape} for allotments {shape}") from None


def checked_allotment(p: ArrayLike, d: ArrayLike) -> tuple[Array, Array]:
    """Return processors and disks as finite positive arrays that broadcast together.

    Parameters
    ----------
    p, d : array_like
        Processors and disks, of shapes that broadcast.

    Raises
    ------
    ModelError
        If a number is out of range, or the shapes do not broadcast.
    """
    checked = []
    for name, units in (("processors p", p), ("disks d", d)):
        array = real_array(name, units)
        outside = (array < LEAST_UNITS) | (array > MOST_UNITS)
        if np.any(outside):
            worst = array[outside].flat[0]
            raise ModelError(
                f"{name} must be from {LEAST_UNITS:g} to {MOST_UNITS:g}, got {worst:.6g}; ask for at least 1"
            )
        checked.append(array)
    try:
        np.broadcast_shapes(checked[0].shape, checked[1].shape)
    except ValueError:
        raise ModelError(
            f"p has shape {checked[0].shape} and d {checked[1].shape}: they do not broadcast; "
            f"give p as a column (n, 1) and d as a row (1, m)"
        ) from None
    return checked[0], checked[1]


def checked_point(p: float, d: float) -> tuple[float, float]:
    """Return one allotment as two floats.

    Parameters
    ----------
    p, d : float
        Processors and disks.

    Raises
    ------
    ModelError
        If they are not two numbers in range.
    """
    one_p, one_d = checked_allotment(p, d)
    if one_p.ndim or one_d.ndim:
        raise ModelError(f"p and d must be single numbers, got shapes {one_p.shape}, {one_d.shape}")
    return float(one_p), float(one_d)


def _text(number: float) -> str:
    return repr(number).removesuffix(".0")
