"""Strategies by name, and the tables that the compiled event loop works on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from phasefit.checks import suggestion
from qmodels.errors import ModelError
from validation.allocation.curves import hilbert_curve_in_space
from validation.allocation.searches import words_for_room
from validation.slices import _kernels as kernels
from validation.slices.pod import Pod, Shape

#: Strategies by name: what the kernel calls them, and what they do.
STRATEGIES: Final[dict[str, tuple[int, str]]] = {
    "any-blocks": (kernels.ANY, "any free blocks, joined by a switch"),
    "FF": (kernels.FIRST, "the first free box in scan order"),
    "BF": (kernels.BEST, "the free box that touches most busy blocks and walls"),
    "aligned": (kernels.ALIGNED, "the first free box at a multiple of its sides"),
    "MFP": (kernels.ROOMIEST, "the box that leaves the largest free box"),
    "3d-torus": (kernels.CURVE, "the shortest run of free blocks on Hilbert's curve, else the nearest ones"),
    "block": (kernels.RUNS, "free blocks of one aligned run of 2^m blocks"),
}
#: Disciplines by name.
DISCIPLINES: Final[dict[str, int]] = {
    "loss": kernels.LOSS,
    "fcfs": kernels.FCFS,
    "first-fit": kernels.FIRST_FIT,
    "EASY": kernels.EASY,
}
#: What leaves the largest free box is looked for at every base: at most in so many blocks.
_MOST_FOR_ROOM: Final = 512


def strategy_name(name: str) -> str:
    """A strategy as it is spelled here, from its name in any case.

    Raises
    ------
    ModelError
        If there is none.

    Examples
    --------
    >>> strategy_name("ANY-blocks"), strategy_name("mfp")
    ('any-blocks', 'MFP')
    """
    return _spelled("strategy", name, list(STRATEGIES))


def discipline_name(name: str) -> str:
    """A discipline as it is spelled here, from its name in any case."""
    return _spelled("discipline", name, list(DISCIPLINES))


def _spelled(what: str, name: str, known: Sequence[str]) -> str:
    if isinstance(name, str):
        for other in known:
            if other.lower() == name.strip().lower():
                return other
    raise ModelError(f"no {what} is called {name!r:.60}; {suggestion(str(name), known, 'known:')}")


def is_contiguous(strategy: str) -> bool:
    """Whether a strategy gives boxes."""
    return STRATEGIES[strategy][0] < kernels.ANY


def place_of(pod: Pod, shapes: Sequence[Shape], strategy: str) -> kernels.Place:
    """The tables of a pod, its strategy and its classes.

    Raises
    ------
    ModelError
        If a shape does not fit, or the pod is too large for the strategy.
    """
    code = STRATEGIES[strategy][0]
    if code == kernels.ROOMIEST and pod.count > _MOST_FOR_ROOM:
        raise ModelError(
            f"MFP looks for what is left at every base: at most in {_MOST_FOR_ROOM} blocks, this "
            f"pod has {pod.count:,}"
        )
    turns = np.ones((len(shapes), 6, 3), np.int64)
    ways, volume = np.zeros(len(shapes), np.int64), np.zeros(len(shapes), np.int64)
    small = np.array([pod.is_small(shape) for shape in shapes])
    for c, shape in enumerate(shapes):
        found = pod.turns(shape, anywhere=code >= kernels.ANY)
        ways[c], volume[c] = len(found), math.prod(found[0])
        turns[c, : len(found)] = found
    order = (hilbert_curve_in_space(pod.sides) if code == kernels.CURVE else np.arange(pod.count)).astype(
        np.int64
    )
    return kernels.Place(pod.blocks, pod.block, pod.wrap, code, order, small, volume, ways, turns)


def nothing_held(pod: Pod) -> kernels.Held:
    """An empty pod, with room for working."""
    chips = math.prod(pod.block)
    busy = np.zeros(pod.count, np.bool_)
    # Rows and sums of what a slice may reach over the ends; blocks themselves never wrap.
    x, y, z = (max(2 * a, b) for a, b in zip(pod.blocks, pod.block, strict=True))
    room = max(words_for_room(pod.blocks, pod.wrap), words_for_room(pod.block, False))
    return kernels.Held(
        busy,
        np.full(pod.count, -1, np.int64),
        np.zeros((pod.count, chips), np.bool_),
        np.full((pod.count, chips), -1, np.int64),
        np.zeros(pod.count, np.int64),
        np.array([pod.count, pod.chips], np.int64),
        np.zeros(6, np.int64),
        np.zeros((x + 63) // 64 * y * z, np.uint64),
        np.zeros((x + 3) * (y + 3) * (z + 3), np.int32),
        np.zeros(room, np.uint64),
        np.zeros(max(pod.count, chips), np.int64),
    )
