"""What is to be varied, as it is typed: ``load=.1:.9:.1 machine.disks=8,16,32``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Any, Final

import typer

from qmodels.errors import ModelError

Varied = Annotated[list[str] | None, typer.Option("--over", help="The same; further ones may follow it.")]
#: Keys whose values are names, whatever stands in them.
_NAMES: Final = ("policy", "strategy", "model")
_MOST_VALUES: Final = 100_000


def parsed_axes(words: Iterable[str]) -> dict[str, list[Any]]:
    """Axes as they are typed: a key, =, and values or ranges between commas.

    ``first:last:step`` is a range; ``first:last`` doubles from the first on, and ends with the
    last.

    Raises
    ------
    ModelError
        If a word is none, a key is there twice, or a range is none.

    Examples
    --------
    >>> parsed_axes(["load=.1:.3:.1", "disks=8:64", "policy=DP(1),SP(4,4)"])
    {'load': [0.1, 0.2, 0.3], 'disks': [8, 16, 32, 64], 'policy': ['DP(1)', 'SP(4,4)']}
    """
    axes: dict[str, list[Any]] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name or not text:
            raise ModelError(f"{word!r:.60} is no axis; write one such as load=.1:.9:.1")
        if name in axes:
            raise ModelError(f"{name} is there twice; give all its values at once")
        values: list[Any] = []
        for part in re.split(r",(?![^()]*\))", text):  # commas within brackets belong to a name
            values += _values(name, part)
        axes[name] = list(dict.fromkeys(values))
    return axes


def _values(name: str, part: str) -> list[Any]:
    """One value, or those of a range."""
    from qmodels.io.settings import parse_value

    if name in _NAMES:
        return [part]
    if ":" not in part:
        return [parse_value(part, name)]
    try:
        first, last, *step = (float(each) for each in part.split(":"))
        if len(step) > 1:
            raise ValueError
    except ValueError:
        raise ModelError(
            f"{name}: {part!r:.40} is no range; write first:last:step, or first:last to double"
        ) from None
    whole = all(re.fullmatch(r"\d+", each) for each in part.split(":"))
    found = _stepped(name, part, first, last, step[0]) if step else _doubled(name, part, first, last)
    return [int(each) for each in found] if whole else found


def _stepped(name: str, part: str, first: float, last: float, step: float) -> list[float]:
    if not (step > 0 and first <= last and last - first < _MOST_VALUES * step):
        raise ModelError(f"{name}: {part!r:.40} must rise by a step above 0, at most {_MOST_VALUES:,} times")
    count = int((last - first) / step * (1 + 1e-12) + 1e-9)
    return [round(first + k * step, 12) for k in range(count + 1)]


def _doubled(name: str, part: str, first: float, last: float) -> list[float]:
    if not 0 < first <= last < float("inf"):
        raise ModelError(f"{name}: {part!r:.40} must rise from above 0 to be doubled")
    found = [first]
    while 2.0 * found[-1] < last:
        found.append(2.0 * found[-1])
    return found if found[-1] == last else [*found, last]
